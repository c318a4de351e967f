//! The C interface: one file per section of the header, in the header's order.
//!
//! Every function does three things: turn pointers into slices and references, call the core, turn the result into a
//! status. `include/nczchunk.h` is generated from these files, so their documentation is written for C readers.
//!
//! Unsafe code is allowed here because C callers hand over raw pointers; what each function requires of them is in its
//! documentation and in the header's introduction. NULL is looked for wherever it can be, and a panic ends at `guard`.
// The documentation is C: start[d] is no link there.
#![allow(rustdoc::broken_intra_doc_links)]
#![allow(unsafe_code, non_camel_case_types, clippy::missing_safety_doc)]

pub mod chunkshape;
pub mod classic;
pub mod context;
pub mod key;
pub mod layout;
pub mod odometer;
pub mod plan;
pub mod projection;
pub mod read;
pub mod status;
pub mod store;
pub mod var;
pub mod version;
pub mod write;

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::alloc::try_box;
use crate::dims::check_rank;
use crate::error::{ErrorKind, Result};

/// Runs the body of a C function, with a panic as an error.
fn guard<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(Err(ErrorKind::Internal.into()))
}

/// Runs the body of a C function that returns a status.
fn status(body: impl FnOnce() -> Result<()>) -> c_int {
    guard(body).map_or_else(|error| error.status(), |()| crate::status::NOERR)
}

/// The slice behind a pointer, or `None` for NULL. A length of 0 is the empty slice, whatever the pointer.
///
/// # Safety
/// A pointer that is not NULL points to `len` readable elements that nobody changes while the slice is used.
unsafe fn optional<'a, T>(pointer: *const T, len: usize) -> Option<&'a [T]> {
    if len == 0 {
        return Some(&[]);
    }
    // SAFETY: that it is not NULL is checked; the rest is the caller's promise.
    (!pointer.is_null()).then(|| unsafe { std::slice::from_raw_parts(pointer, len) })
}

/// The slice behind a pointer that may be NULL only if the length is 0.
///
/// # Safety
/// As for [`optional`].
unsafe fn required<'a, T>(pointer: *const T, len: usize, message: &'static str) -> Result<&'a [T]> {
    // SAFETY: the caller's promise.
    unsafe { optional(pointer, len) }.ok_or(ErrorKind::Argument(message).into())
}

/// The slice to write to behind a pointer that may be NULL only if the length is 0.
///
/// # Safety
/// A pointer that is not NULL points to `len` writable elements that nobody else uses while the slice is used.
unsafe fn required_mut<'a, T>(pointer: *mut T, len: usize, message: &'static str) -> Result<&'a mut [T]> {
    if len == 0 {
        return Ok(&mut []);
    }
    if pointer.is_null() {
        return Err(ErrorKind::Argument(message).into());
    }
    // SAFETY: that it is not NULL is checked; the rest is the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts_mut(pointer, len) })
}

/// What a pointer points to, unless it is NULL.
///
/// # Safety
/// A pointer that is not NULL points to a live `T` that nobody changes while it is used.
unsafe fn handle<'a, T>(pointer: *const T, message: &'static str) -> Result<&'a T> {
    // SAFETY: the caller's promise.
    unsafe { pointer.as_ref() }.ok_or(ErrorKind::Argument(message).into())
}

/// What a pointer points to, to be changed, unless it is NULL.
///
/// # Safety
/// A pointer that is not NULL points to a live `T` that nobody else uses meanwhile.
unsafe fn handle_mut<'a, T>(pointer: *mut T, message: &'static str) -> Result<&'a mut T> {
    // SAFETY: the caller's promise.
    unsafe { pointer.as_mut() }.ok_or(ErrorKind::Argument(message).into())
}

/// Hands a new object over to the caller.
///
/// # Safety
/// `out` is NULL or points to a place for a pointer.
unsafe fn hand_over<T>(out: *mut *mut T, make: impl FnOnce() -> Result<T>) -> Result<()> {
    if out.is_null() {
        return Err(ErrorKind::Argument("there is no place for the new object").into());
    }
    let object = Box::into_raw(try_box(make()?)?);
    // SAFETY: not NULL, and the rest is the caller's promise.
    unsafe { out.write(object) };
    Ok(())
}

/// Takes an object back and drops it; NULL is nothing.
///
/// # Safety
/// The pointer is NULL or came from [`hand_over`] and was not taken back before.
unsafe fn take_back<T>(object: *mut T) {
    if !object.is_null() {
        let _ = guard(|| {
            // SAFETY: the caller's promise; `hand_over` made it from a box.
            drop(unsafe { Box::from_raw(object) });
            Ok(())
        });
    }
}
