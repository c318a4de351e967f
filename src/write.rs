//! # Writing a hyperslab
//!
//! Write any hyperslab of a variable from memory of yours. Chunks that the write covers are stored without being read.

use super::prelude::*;
use nczchunk_engine::transfer;

/// Writes a hyperslab, as nc_put_vars does. Along each dimension, writes count elements from start on, stride apart,
/// from data.
///
/// The arguments are those of nczchunk_read_vars. data is only read: it stays as it is for any byte order of the
/// variable. It must not overlap memory that callbacks lend.
///
/// A chunk is covered if the write replaces every element of it inside the dimensions. A chunk clipped by the end of a
/// dimension can be covered, too, and so can a chunk of one element with any stride. A covered chunk is stored without
/// being read. Any other chunk is fetched (or filled with the fill value if it is missing), changed, and stored. Each
/// chunk is stored once; one thread stores them in row-major order of chunk indices. Elements outside the dimensions,
/// in a chunk that is covered or was missing, become the fill value.
///
/// Errors found before any callback runs: those of nczchunk_read_vars, in the same order; but if any count is 0,
/// nothing is written and NCZCHUNK_EEDGE is not returned. Then NCZCHUNK_EPERM (the store is read-only). Errors of a
/// chunk: those of reading it, and the status that a callback for writing returned. The chunks before the failed chunk
/// have been written. The failed chunk has not been written (unless its callback wrote it). The chunks after it were
/// not tried or, with several threads, may have been written. nczchunk_context_chunks_done returns the number of chunks
/// before it. Once the fault is gone, repeat the same call to write everything.
///
/// Several threads may write to different chunks of one store at the same time if its callbacks may run in several
/// threads; see nczchunk_plan_shares_chunks. If two threads write to the same chunk, one may undo the change of the
/// other.
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
    by_promise!(report_transfer(context, move |options, done| {
        let (var, store) = (handle(var, "var is NULL")?, handle(store, "store is NULL")?);
        let slab = hyperslab(&var.0, start, count, stride)?;
        transfer::write(&var.0, &store.0, &slab, |len| source(data.cast(), len), options, done)
    }))
}
