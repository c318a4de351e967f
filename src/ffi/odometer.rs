//! # Odometer: walking a box
//!
//! netCDF-C's odometer (nczodom_*): it steps through an n-dimensional box in row-major order, with a stride.
//!
//! ```c
//! for (; nczchunk_odometer_more(odometer); nczchunk_odometer_next(odometer))
//!     use(nczchunk_odometer_indices(odometer), nczchunk_odometer_offset(odometer));
//! ```
//!
//! Unlike netCDF-C's it has no positions if any dimension is empty, the first or another, and one position at rank 0.

use std::ffi::c_int;

use super::context::report_computed;
use super::objects::nczchunk_context;
use super::pointers::{guard, hand_over, required, take_back};
use crate::dims::check_rank;
use crate::odometer::Odometer;

/// An odometer. One thread at a time may use it.
pub struct nczchunk_odometer(Odometer);

/// A new odometer at its first position. Along dimension d it runs through start[d], start[d] + stride[d], ... below
/// stop[d], the last dimension fastest; len[d] is the extent of the array that nczchunk_odometer_offset counts in. All
/// four have rank entries and are copied. Free it with nczchunk_odometer_free.
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
    let make = || {
        check_rank(rank)?;
        // SAFETY: all four are NULL or have rank entries, as documented.
        let list = |pointer| unsafe { required(pointer, rank, "start, stop, stride or len is NULL") };
        Ok(nczchunk_odometer(Odometer::new(list(start)?, list(stop)?, list(stride)?, list(len)?)?))
    };
    // SAFETY: the header's general promise.
    unsafe { report_computed(context, || hand_over(odometer, make)) }
}

/// 1 while there is a current position, 0 once the last one is passed; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_odometer_more(odometer: *const nczchunk_odometer) -> c_int {
    // SAFETY: the header's general promise.
    unsafe { odometer.as_ref() }.is_some_and(|odometer| odometer.0.more()).into()
}

/// Moves to the next position. Past the last one it does nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_odometer_next(odometer: *mut nczchunk_odometer) {
    // SAFETY: the header's general promise.
    let _ = guard(|| Ok(unsafe { odometer.as_mut() }.map(|odometer| odometer.0.advance())));
}

/// The current position: one index per dimension. It belongs to the odometer and changes with it. NULL for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_odometer_indices(odometer: *const nczchunk_odometer) -> *const usize {
    // SAFETY: the header's general promise.
    unsafe { odometer.as_ref() }.map_or(std::ptr::null(), |odometer| odometer.0.indices().as_ptr())
}

/// The current position's row-major place in an array of the extents len, in elements; SIZE_MAX if it is larger than
/// that. 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_odometer_offset(odometer: *const nczchunk_odometer) -> usize {
    // SAFETY: the header's general promise.
    unsafe { odometer.as_ref() }.map_or(0, |odometer| odometer.0.offset())
}

/// How far a row reaches: stop - start of the last dimension, wherever the odometer is. With a stride of 1 that is the
/// number of positions in a row. 1 at rank 0; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_odometer_avail(odometer: *const nczchunk_odometer) -> usize {
    // SAFETY: the header's general promise.
    unsafe { odometer.as_ref() }.map_or(0, |odometer| odometer.0.avail())
}

/// Skips what is left of the current row: the next nczchunk_odometer_next moves to the beginning of the following row.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_odometer_skipavail(odometer: *mut nczchunk_odometer) {
    // SAFETY: the header's general promise.
    let _ = guard(|| Ok(unsafe { odometer.as_mut() }.map(|odometer| odometer.0.skip_avail())));
}

/// Back to the first position.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_odometer_reset(odometer: *mut nczchunk_odometer) {
    // SAFETY: the header's general promise.
    let _ = guard(|| Ok(unsafe { odometer.as_mut() }.map(|odometer| odometer.0.reset())));
}

/// Frees an odometer. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_odometer_free(odometer: *mut nczchunk_odometer) {
    // SAFETY: the header's general promise.
    unsafe { take_back(odometer) }
}
