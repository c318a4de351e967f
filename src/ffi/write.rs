//! # Writing a hyperslab

use std::ffi::{c_int, c_void};

use super::context::{nczchunk_context, report_chunks};
use super::handle;
use super::plan::hyperslab;
use super::store::nczchunk_store;
use super::var::nczchunk_var;
use crate::copy::Source;
use crate::error::{ErrorKind, Result};
use crate::hyperslab::Access;
use crate::plan::Plan;
use crate::transfer::{Layout, Piece, Transfer};

/// Writes a hyperslab, as nc_put_vars does: along each dimension, count elements from start on, stride apart, from data.
///
/// The arguments are those of nczchunk_read_vars. data is only read: it stays as it is whatever the variable's byte order. It
/// must not overlap what callbacks lend.
///
/// A chunk that the write covers, which is one of which every element inside the dimensions is replaced, is stored without
/// being read; a chunk clipped by the end of a dimension, and a chunk of one element under any stride, can be covered too. Any
/// other is fetched, or filled with the fill value if it is absent, changed, and stored. Each is stored once, in row-major
/// order of chunk indices if one thread does it. What lies outside the dimensions, in a chunk that is covered or was absent, becomes fill value.
///
/// Errors found before any callback runs are those of nczchunk_read_vars, in the same order; but if any count is 0, no
/// NCZCHUNK_EEDGE: then nothing is written. Then NCZCHUNK_EPERM (the store cannot be written to). Errors of a chunk are those
/// of reading it and what a callback for writing returned. The chunks before it have been written, it has not (unless its
/// callback did), those after it were not tried or, with several threads, may have been written:
/// nczchunk_context_chunks_done tells how many came before. The same call again, once the fault is gone, writes all of it.
///
/// Several threads may write to different chunks of one store at the same time, if its callbacks may be called so; see
/// nczchunk_plan_shares_chunks. Of two that write to the same chunk, one may undo what the other did to it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_write_vars(
    var: *const nczchunk_var,
    store: *const nczchunk_store,
    start: *const usize,
    count: *const usize,
    stride: *const isize,
    data: *const c_void,
    context: *mut nczchunk_context,
) -> c_int {
    let write = |threads, done: &mut usize| {
        // SAFETY: the header's general promise.
        let (var, store) = unsafe { (handle(var, "var is NULL")?, handle(store, "store is NULL")?) };
        // SAFETY: the three are NULL or have an entry per dimension, as documented.
        let slab = unsafe { hyperslab(&var.0, start, count, stride) };
        // SAFETY: data is NULL or holds what is selected, as documented, and nobody changes it meanwhile.
        let data = |len| unsafe { source(data.cast(), len) };
        let mut piece = Piece::new(&var.0);
        if piece.find(&slab, Access::Write)? {
            return piece.write(&store.0, data(piece.selected_bytes())?, done);
        }
        let plan = Plan::new(&var.0, &slab, Access::Write)?;
        let data = data(plan.selected_bytes())?;
        let layout = Layout::dense(&plan)?;
        Transfer { variable: &var.0, plan: &plan, layout: &layout, store: &store.0, threads }.write(data, done)
    };
    // SAFETY: the header's general promise.
    unsafe { report_chunks(context, write) }
}

/// The caller's memory, to be written from.
///
/// # Safety
/// A pointer that is not NULL points to `len` bytes, of which nobody changes those that are selected meanwhile.
pub(super) unsafe fn source<'a>(data: *const u8, len: usize) -> Result<Source<'a>> {
    if data.is_null() && len > 0 {
        return Err(ErrorKind::Argument("data is NULL").into());
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { Source::from_raw(data, len) })
}
