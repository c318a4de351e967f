//! # Plan: a read before it is done
//!
//! A plan tells what a read will do without doing it: how many chunks it touches, which, how much of each, how many bytes
//! it delivers and how many it asks for at most. It takes memory for the rank, not for the chunks, and finds any chunk at
//! once.

use std::ffi::c_int;

use super::context::{nczchunk_context, report};
use super::var::nczchunk_var;
use super::{hand_over, handle, handle_mut, optional, status, take_back};
use crate::error::{ErrorKind, Result};
use crate::hyperslab::{Access, Hyperslab};
use crate::plan::{self, Plan};
use crate::projection::Projection;
use crate::variable::Variable;

/// A plan. It does not refer to the variable it was made from, and any number of threads may use it at the same time.
pub struct nczchunk_plan(Plan);

/// What a plan adds up to.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nczchunk_plan_totals {
    /// Chunks touched.
    pub chunks: usize,
    /// Elements selected.
    pub elements: usize,
    /// Bytes selected: what a read delivers.
    pub selected_bytes: usize,
    /// Bytes of the touched chunks at full size: before compression, and as if none were absent. SIZE_MAX if they are more.
    pub chunk_bytes: usize,
    /// Chunks that the whole variable has, touched or not, stored or absent. SIZE_MAX if they are more.
    pub grid_chunks: usize,
}

/// A plan to read a hyperslab, with the arguments of nczchunk_read_vars. Free it with nczchunk_plan_free.
///
/// Errors: those which nczchunk_read_vars finds before any callback runs, data aside; NCZCHUNK_EINVAL (plan is NULL),
/// NCZCHUNK_ENOMEM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_plan_new(
    var: *const nczchunk_var,
    start: *const usize,
    count: *const usize,
    stride: *const isize,
    plan: *mut *mut nczchunk_plan,
    context: *mut nczchunk_context,
) -> c_int {
    let make = || {
        // SAFETY: the header's general promise.
        let var = unsafe { handle(var, "var is NULL") }?;
        // SAFETY: the three are NULL or have an entry per dimension, as documented.
        Ok(nczchunk_plan(unsafe { checked_plan(&var.0, start, count, stride, Access::Read) }?))
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
            *covered = plan::is_covered(projections).into();
        }
        Ok(())
    })
}

/// The plan for a request from C.
///
/// # Safety
/// `start`, `count` and `stride` are NULL or have one entry per dimension.
pub(super) unsafe fn checked_plan(
    variable: &Variable,
    start: *const usize,
    count: *const usize,
    stride: *const isize,
    access: Access,
) -> Result<Plan> {
    let rank = variable.rank();
    // SAFETY: the caller's promise.
    let (start, count, stride) = unsafe { (optional(start, rank), optional(count, rank), optional(stride, rank)) };
    Plan::new(variable, &Hyperslab::new(variable.dimlens(), start, count, stride, access)?)
}
