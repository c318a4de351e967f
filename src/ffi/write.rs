//! # Writing a hyperslab

use std::ffi::{c_int, c_void};

use super::context::report_transfer;
use super::objects::{nczchunk_chunk_store, nczchunk_context, nczchunk_var};
use super::pointers::{handle, hyperslab, source};
use crate::transfer;

/// Writes a hyperslab, as nc_put_vars does: along each dimension, count elements from start on, stride apart, from
/// data.
///
/// The arguments are those of nczchunk_read_vars. data is only read: it stays as it is whatever the variable's byte
/// order. It must not overlap what callbacks lend.
///
/// A chunk that the write covers is one of which every element inside the dimensions is replaced; a chunk clipped by
/// the end of a dimension, and a chunk of one element under any stride, can be covered too. It is stored without being
/// read. Any other is fetched, or filled with the fill value if it is absent, changed, and stored. Each is stored once,
/// in row-major order of chunk indices if one thread does it. What lies outside the dimensions, in a chunk that is
/// covered or was absent, becomes fill value.
///
/// Errors found before any callback runs are those of nczchunk_read_vars, in the same order; but if any count is 0, no
/// NCZCHUNK_EEDGE: then nothing is written. Then NCZCHUNK_EPERM (the store cannot be written to). Errors of a chunk are
/// those of reading it and what a callback for writing returned. The chunks before it have been written, it has not
/// (unless its callback did), those after it were not tried or, with several threads, may have been written:
/// nczchunk_context_chunks_done tells how many came before. The same call again, once the fault is gone, writes all of
/// it.
///
/// Several threads may write to different chunks of one store at the same time, if its callbacks may be called so; see
/// nczchunk_plan_shares_chunks. Of two that write to the same chunk, one may undo what the other did to it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_write_vars(
    var: *const nczchunk_var,
    store: *const nczchunk_chunk_store,
    start: *const usize,
    count: *const usize,
    stride: *const isize,
    data: *const c_void,
    context: *mut nczchunk_context,
) -> c_int {
    // SAFETY: the handles are NULL or alive, the lists NULL or with an entry per dimension, and data is NULL or holds
    // what is selected, which nobody changes meanwhile: as documented, and by the header's general promise.
    unsafe {
        report_transfer(context, |options, done| {
            let (var, store) = (handle(var, "var is NULL")?, handle(store, "store is NULL")?);
            let slab = hyperslab(&var.0, start, count, stride)?;
            transfer::write(&var.0, &store.0, &slab, |len| source(data.cast(), len), options, done)
        })
    }
}
