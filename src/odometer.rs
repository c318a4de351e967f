//! # Odometer: walking a box
//!
//! Step through an n-dimensional box in row-major order, with a stride, as netCDF-C's odometer (nczodom_*) does.
//!
//! ```c
//! for (; nczchunk_odometer_more(odometer); nczchunk_odometer_next(odometer))
//!     use(nczchunk_odometer_indices(odometer), nczchunk_odometer_offset(odometer));
//! ```
//!
//! Unlike netCDF-C's odometer, it has no positions if any dimension is empty, the first or another, and one position at
//! rank 0.

use super::prelude::*;
use nczchunk_engine::odometer::Odometer;

/// An odometer. One thread at a time may use it.
pub struct nczchunk_odometer(Odometer);

/// Creates an odometer at its first position. Along dimension d it runs through start[d], start[d] + stride[d], ...
/// below stop[d], the last dimension fastest. len[d] is the extent of the array in which nczchunk_odometer_offset
/// counts. All four lists have rank entries and are copied. Free the odometer with nczchunk_odometer_free.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument), NCZCHUNK_EMAXDIMS (rank above NCZCHUNK_MAX_RANK), NCZCHUNK_ESTRIDE (a
/// stride of 0), NCZCHUNK_EINVALCOORDS (start above stop), NCZCHUNK_EEDGE (a last index of len or more),
/// NCZCHUNK_ENOMEM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_odometer_new(
    rank: usize,
    start: *const usize,
    stop: *const usize,
    stride: *const usize,
    len: *const usize,
    odometer: *mut *mut nczchunk_odometer,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report_computed(context, || hand_over(odometer, || {
        check_rank(rank)?;
        let list = |pointer| required(pointer, rank, "start, stop, stride or len is NULL");
        Ok(nczchunk_odometer(Odometer::new(list(start)?, list(stop)?, list(stride)?, list(len)?)?))
    })))
}

/// Returns 1 while there is a current position, and 0 after the last one; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_odometer_more(odometer: *const nczchunk_odometer) -> c_int {
    by_promise!(odometer.as_ref().is_some_and(|odometer| odometer.0.more()).into())
}

/// Moves to the next position. Past the last one it does nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_odometer_next(odometer: *mut nczchunk_odometer) {
    by_promise!(drop(guard(|| Ok(odometer.as_mut().map(|odometer| odometer.0.advance())))));
}

/// Returns the current position: one index per dimension. It belongs to the odometer and changes with it. Returns NULL
/// for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_odometer_indices(odometer: *const nczchunk_odometer) -> *const usize {
    by_promise!(odometer.as_ref().map_or(std::ptr::null(), |odometer| odometer.0.indices().as_ptr()))
}

/// Returns the current position's row-major offset in an array of the extents len, in elements; SIZE_MAX if the offset
/// is larger than that. Returns 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_odometer_offset(odometer: *const nczchunk_odometer) -> usize {
    by_promise!(odometer.as_ref().map_or(0, |odometer| odometer.0.offset()))
}

/// Returns the length of a row: stop - start of the last dimension, for any position of the odometer. With a stride of
/// 1 that is the number of positions in a row. Returns 1 at rank 0, and 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_odometer_avail(odometer: *const nczchunk_odometer) -> usize {
    by_promise!(odometer.as_ref().map_or(0, |odometer| odometer.0.avail()))
}

/// Skips the rest of the current row: the next nczchunk_odometer_next moves to the beginning of the following row.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_odometer_skipavail(odometer: *mut nczchunk_odometer) {
    by_promise!(drop(guard(|| Ok(odometer.as_mut().map(|odometer| odometer.0.skip_avail())))));
}

/// Returns to the first position.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_odometer_reset(odometer: *mut nczchunk_odometer) {
    by_promise!(drop(guard(|| Ok(odometer.as_mut().map(|odometer| odometer.0.reset())))));
}

/// Frees an odometer. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_odometer_free(odometer: *mut nczchunk_odometer) {
    by_promise!(take_back(odometer))
}
