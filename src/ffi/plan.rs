//! # Plan: a transfer before it is done
//!
//! A plan tells what a read or a write will do without doing it: how many chunks it touches, which, how much of each, how many bytes
//! it delivers and how many it asks for at most. It takes memory for the rank, not for the chunks, and finds any chunk at
//! once.

use std::ffi::c_int;

use super::context::{nczchunk_context, report};
use super::var::nczchunk_var;
use super::{hand_over, handle, handle_mut, optional, status, take_back};
use crate::error::ErrorKind;
use crate::hyperslab::{Access, Hyperslab};
use crate::plan::Plan;
use crate::projection::Projection;
use crate::variable::Variable;

/// For a plan to read.
pub const NCZCHUNK_READ: c_int = 0;
/// For a plan to write. The one difference: if any count is 0, the far end of no dimension is checked.
pub const NCZCHUNK_WRITE: c_int = 1;

/// A plan. It does not refer to the variable it was made from, and any number of threads may use it at the same time.
pub struct nczchunk_plan(Plan);

/// What a plan adds up to.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nczchunk_plan_totals {
    /// Chunks touched.
    pub chunks: usize,
    /// Chunks of those that are covered: a write replaces every element inside the dimensions and needs no read.
    pub covered_chunks: usize,
    /// Elements selected.
    pub elements: usize,
    /// Bytes selected: what a read delivers.
    pub selected_bytes: usize,
    /// Bytes of the touched chunks at full size: before compression, and as if none were absent. SIZE_MAX if they are more.
    pub chunk_bytes: usize,
    /// Chunks that the whole variable has, touched or not, stored or absent. SIZE_MAX if they are more.
    pub grid_chunks: usize,
}

/// A plan for a hyperslab, with the arguments of nczchunk_read_vars and nczchunk_write_vars; access is NCZCHUNK_READ or
/// NCZCHUNK_WRITE. Free it with nczchunk_plan_free.
///
/// Errors: those which these functions find before any callback runs, data aside; NCZCHUNK_EINVAL (plan is NULL; no such
/// access), NCZCHUNK_ENOMEM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_plan_new(
    var: *const nczchunk_var,
    start: *const usize,
    count: *const usize,
    stride: *const isize,
    access: c_int,
    plan: *mut *mut nczchunk_plan,
    context: *mut nczchunk_context,
) -> c_int {
    let make = || {
        // SAFETY: the header's general promise.
        let var = unsafe { handle(var, "var is NULL") }?;
        let access = match access {
            NCZCHUNK_READ => Access::Read,
            NCZCHUNK_WRITE => Access::Write,
            _ => return Err(ErrorKind::Argument("access is neither NCZCHUNK_READ nor NCZCHUNK_WRITE").into()),
        };
        // SAFETY: the three are NULL or have an entry per dimension, as documented.
        let slab = unsafe { hyperslab(&var.0, start, count, stride) };
        Ok(nczchunk_plan(Plan::new(&var.0, &slab, access)?))
    };
    // SAFETY: the header's general promise.
    unsafe { report(context, || hand_over(plan, make)) }
}

/// Frees a plan. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_plan_free(plan: *mut nczchunk_plan) {
    // SAFETY: the header's general promise.
    unsafe { take_back(plan) }
}

/// What the plan adds up to.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_plan_get_totals(
    plan: *const nczchunk_plan,
    totals: *mut nczchunk_plan_totals,
) -> c_int {
    status(|| {
        // SAFETY: the header's general promise.
        let (plan, totals) = unsafe { (handle(plan, "plan is NULL")?, handle_mut(totals, "totals is NULL")?) };
        *totals = nczchunk_plan_totals {
            chunks: plan.0.num_chunks(),
            covered_chunks: plan.0.num_covered(),
            elements: plan.0.num_elements(),
            selected_bytes: plan.0.selected_bytes(),
            chunk_bytes: plan.0.chunk_bytes(),
            grid_chunks: plan.0.grid_chunks(),
        };
        Ok(())
    })
}

/// The i-th chunk of the plan, counted from 0 in row-major order of chunk indices, which is the order of reading.
///
/// projections has room for one entry per dimension and receives, for each, the chunk's index, the elements selected in
/// the chunk (first, last, iocount: a box, stride apart) and the place they take in memory (iopos, iocount: a box without
/// gaps). covered (NULL: not wanted) receives 1 if every element of the chunk that lies inside the dimensions is selected,
/// else 0.
///
/// Errors: NCZCHUNK_EINVAL (plan is NULL; projections is NULL and the rank is not 0), NCZCHUNK_EINVALCOORDS (i is beyond
/// the last chunk).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_plan_chunk(
    plan: *const nczchunk_plan,
    i: usize,
    projections: *mut Projection,
    covered: *mut c_int,
) -> c_int {
    status(|| {
        // SAFETY: the header's general promise.
        let plan = unsafe { handle(plan, "plan is NULL") }?;
        let rank = plan.0.rank();
        let projections = match rank {
            0 => &mut [],
            _ if projections.is_null() => return Err(ErrorKind::Argument("projections is NULL").into()),
            // SAFETY: not NULL, and with room for one projection per dimension, as documented.
            _ => unsafe { std::slice::from_raw_parts_mut(projections, rank) },
        };
        plan.0.chunk(i, projections)?;
        // SAFETY: NULL, or a place for a number, by the header's general promise.
        if let Some(covered) = unsafe { covered.as_mut() } {
            *covered = plan.0.covers(projections).into();
        }
        Ok(())
    })
}

/// Whether two plans, made for the same variable, touch a chunk in common: shared receives 1 if so, else 0. Writes whose
/// plans do not may be done at the same time. Takes as long as the smaller number of chunks that the two touch along a
/// dimension.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument; plans for different ranks, chunk lengths or origins).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_plan_shares_chunks(
    plan: *const nczchunk_plan,
    other: *const nczchunk_plan,
    shared: *mut c_int,
) -> c_int {
    status(|| {
        // SAFETY: the header's general promise.
        let (plan, other) = unsafe { (handle(plan, "plan is NULL")?, handle(other, "other is NULL")?) };
        // SAFETY: the header's general promise.
        *unsafe { handle_mut(shared, "shared is NULL") }? = plan.0.shares_chunks(&other.0)?.into();
        Ok(())
    })
}

/// The request from C.
///
/// # Safety
/// `start`, `count` and `stride` are NULL or have one entry per dimension, which nobody changes meanwhile.
#[inline]
pub(super) unsafe fn hyperslab<'a>(
    variable: &Variable,
    start: *const usize,
    count: *const usize,
    stride: *const isize,
) -> Hyperslab<'a> {
    let rank = variable.rank();
    // SAFETY: the caller's promise.
    let (start, count, stride) = unsafe { (optional(start, rank), optional(count, rank), optional(stride, rank)) };
    Hyperslab { start, count, stride, both_ways: false }
}
