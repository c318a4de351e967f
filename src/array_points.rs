//! # Lists of indices and points of an array
//!
//! nczchunk_read_points, nczchunk_read_lists and the functions that write, with the array's variable and store. Arrays
//! of variable-length strings are read and written as by nczchunk_array_read and nczchunk_array_write.

use super::array::{nczchunk_array_store, nczchunk_array_var, read_texts};
use super::points::{self, Chosen};
use super::prelude::*;

/// Reads single elements of an array: see nczchunk_read_points, which has the same errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_read_points(
    array: *const nczchunk_array,
    num_points: usize,
    points: *const usize,
    data: *mut c_void,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(read(array, Chosen::Points { num_points, points }, data, context))
}

/// Writes single elements of an array that was opened with NCZCHUNK_WRITE: see nczchunk_write_points, which has the
/// same errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_write_points(
    array: *const nczchunk_array,
    num_points: usize,
    points: *const usize,
    data: *const c_void,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(write(array, Chosen::Points { num_points, points }, data, context))
}

/// Reads a hyperslab of an array that has a list of indices along some dimensions: see nczchunk_read_lists, which has
/// the same errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_read_lists(
    array: *const nczchunk_array,
    start: *const usize,
    count: *const usize,
    stride: *const isize,
    lists: *const *const usize,
    data: *mut c_void,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(read(array, Chosen::Lists { start, count, stride, lists }, data, context))
}

/// Writes a hyperslab of an array that was opened with NCZCHUNK_WRITE, and that has a list of indices along some
/// dimensions: see nczchunk_write_lists, which has the same errors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_write_lists(
    array: *const nczchunk_array,
    start: *const usize,
    count: *const usize,
    stride: *const isize,
    lists: *const *const usize,
    data: *const c_void,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(write(array, Chosen::Lists { start, count, stride, lists }, data, context))
}

/// Reads what is named one by one.
///
/// # Safety
/// As for [`points::read`], and array is NULL or alive.
unsafe fn read(
    array: *const nczchunk_array,
    chosen: Chosen,
    data: *mut c_void,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(match array.as_ref() {
        Some(of_texts) if *of_texts.array.element_type() == ElementType::String => {
            read_texts(&of_texts.array, chosen, data, context)
        }
        _ => points::read(nczchunk_array_var(array), nczchunk_array_store(array), chosen, data, context),
    })
}

/// Writes what is named one by one.
///
/// # Safety
/// As for [`points::write`], and array is NULL or alive.
unsafe fn write(
    array: *const nczchunk_array,
    chosen: Chosen,
    data: *const c_void,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(match array.as_ref().map(|array| array.array.check_writable()) {
        Some(Err(error)) => report(context, || Err(error)),
        _ => points::write(nczchunk_array_var(array), nczchunk_array_store(array), chosen, data, context),
    })
}
