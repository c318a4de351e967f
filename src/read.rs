//! # Reading a hyperslab
//!
//! Read any hyperslab of a variable into memory of yours:
//!
//! ```c
//! size_t start[2] = {10, 0}, count[2] = {20, 60};
//! ptrdiff_t stride[2] = {1, 3};
//! float data[20][60];
//! int status = nczchunk_read_vars(var, store, start, count, stride, data, NULL);
//! ```

use super::prelude::*;
use nczchunk_engine::transfer;

/// Reads a hyperslab, as nc_get_vars does. Along each dimension, reads count elements from start on, stride apart, into
/// data.
///
/// start, count and stride have one entry per dimension. A NULL count stands for the length of each dimension, whatever
/// the start; a NULL stride stands for 1 everywhere. For a scalar all three are ignored. data has room for the product
/// of the counts, in elements of element_size bytes, row-major and without gaps. The result is in native byte order.
/// data needs no alignment, and must not overlap memory that callbacks lend.
///
/// Every touched chunk is asked for once (nczchunk_reader_callbacks lists the exceptions); no other chunk is asked for.
/// One thread asks in row-major order of chunk indices. If any count is 0, nothing is asked for.
///
/// Errors found before any callback runs, with data untouched, in this order: NCZCHUNK_EINVAL (var or store is NULL),
/// NCZCHUNK_EINVALCOORDS (start is NULL), NCZCHUNK_ESTRIDE (a stride below 1, in any dimension). Then, dimension by
/// dimension, NCZCHUNK_EINVALCOORDS (start beyond the dimension, or at its end with count above 0) and NCZCHUNK_EEDGE
/// (the last element, start + (count - 1) * stride, beyond the dimension). Then NCZCHUNK_EINVAL (data is NULL although
/// elements are selected; more than PTRDIFF_MAX bytes).
///
/// Errors of a chunk: the status that a callback returned, NCZCHUNK_EBADCHUNK (a chunk of the wrong length),
/// NCZCHUNK_EIO (a chunk that does not decode), NCZCHUNK_ENOMEM. The first of them in the order of chunks is returned,
/// and the contents of data are unspecified.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_read_vars(
    var: *const nczchunk_var,
    store: *const nczchunk_chunk_store,
    start: *const usize,
    count: *const usize,
    stride: *const isize,
    data: *mut c_void,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report_transfer(context, move |options, done| {
        let (var, store) = (handle(var, "var is NULL")?, handle(store, "store is NULL")?);
        let slab = hyperslab(&var.0, start, count, stride)?;
        transfer::read(&var.0, &store.0, &slab, |len| destination(data.cast(), len), options, done)
    }))
}
