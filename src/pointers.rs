//! What C gives and what it gets: pointers become slices and references, objects are handed over and taken back. Panics
//! end here.

use std::ffi::{c_char, c_int};

use nczchunk_engine::alloc::try_box;
use nczchunk_engine::cancel::CancelGuard;
use nczchunk_engine::copy::{Destination, Source};
use nczchunk_engine::error::{ErrorKind, Result};
use nczchunk_engine::hyperslab::Hyperslab;
use nczchunk_engine::panic_guard;
use nczchunk_engine::status::NOERR;
use nczchunk_engine::variable::Variable;

/// The body of an unsafe function, or a part of it, in which all that is unsafe is allowed by what the function's
/// caller has promised: of a C function, the header's general promise and what its description says of its arguments;
/// of another one, what it says under *Safety*. In a function that is not unsafe itself such a body does not compile.
macro_rules! by_promise {
    ($body:expr) => {{
        #[allow(unsafe_op_in_unsafe_fn, clippy::let_and_return)]
        let result = $body;
        result
    }};
}
pub(super) use by_promise;

/// Runs the body of a C function: a panic is an error.
#[inline]
pub(super) fn guard<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    panic_guard::catch(body).unwrap_or_else(|| Err(ErrorKind::Internal.into()))
}

/// What it means that a callback of the caller's has returned this status.
#[inline]
pub(super) fn called(status: c_int) -> Result<()> {
    if status == NOERR { Ok(()) } else { Err(ErrorKind::Callback(status).into()) }
}

/// The slice behind a pointer, or `None` for NULL. A length of 0 is the empty slice, whatever the pointer.
///
/// # Safety
/// A pointer that is not NULL points to `len` readable elements that nobody changes while the slice is used.
#[inline]
pub(super) unsafe fn optional<'a, T>(pointer: *const T, len: usize) -> Option<&'a [T]> {
    if len == 0 {
        return Some(&[]);
    }
    // SAFETY: the pointer is not NULL, and so has `len` elements by the caller's promise.
    (!pointer.is_null()).then(|| unsafe { std::slice::from_raw_parts(pointer, len) })
}

/// The slice behind a pointer that may be NULL only if the length is 0.
///
/// # Safety
/// As for [`optional`].
pub(super) unsafe fn required<'a, T>(pointer: *const T, len: usize, message: &'static str) -> Result<&'a [T]> {
    by_promise!(optional(pointer, len)).ok_or_else(|| ErrorKind::Argument(message).into())
}

/// The slice to write to behind a pointer that may be NULL only if the length is 0.
///
/// # Safety
/// A pointer that is not NULL points to `len` writable elements that nobody else uses while the slice is used.
pub(super) unsafe fn required_mut<'a, T>(pointer: *mut T, len: usize, message: &'static str) -> Result<&'a mut [T]> {
    if len == 0 {
        return Ok(&mut []);
    }
    if pointer.is_null() {
        return Err(ErrorKind::Argument(message).into());
    }
    // SAFETY: the pointer is not NULL, and so has `len` elements by the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts_mut(pointer, len) })
}

/// What a pointer points to, unless it is NULL.
///
/// # Safety
/// A pointer that is not NULL points to a live `T` that nobody changes while it is used.
#[inline]
pub(super) unsafe fn handle<'a, T>(pointer: *const T, message: &'static str) -> Result<&'a T> {
    by_promise!(pointer.as_ref()).ok_or_else(|| ErrorKind::Argument(message).into())
}

/// What a pointer points to, to be changed, unless it is NULL.
///
/// # Safety
/// A pointer that is not NULL points to a live `T` that nobody else uses meanwhile.
pub(super) unsafe fn handle_mut<'a, T>(pointer: *mut T, message: &'static str) -> Result<&'a mut T> {
    by_promise!(pointer.as_mut()).ok_or_else(|| ErrorKind::Argument(message).into())
}

/// The string behind a pointer.
///
/// # Safety
/// A pointer that is not NULL points to a string with a NUL at its end that nobody changes while it is used.
pub(super) unsafe fn text<'a>(pointer: *const c_char, message: &'static str) -> Result<&'a std::ffi::CStr> {
    if pointer.is_null() {
        return Err(ErrorKind::Argument(message).into());
    }
    // SAFETY: the pointer is not NULL, and so points to a text by the caller's promise.
    Ok(unsafe { std::ffi::CStr::from_ptr(pointer) })
}

/// Hands a new object over to the caller.
///
/// # Safety
/// `out` is NULL or points to a place for a pointer.
pub(super) unsafe fn hand_over<T>(out: *mut *mut T, make: impl FnOnce() -> Result<T>) -> Result<()> {
    by_promise!(hand_over_boxed(out, || Ok(try_box(make()?)?)))
}

/// Hands a new object over to the caller that is in memory of its own already, so that nothing fails once it is made.
///
/// # Safety
/// As of [`hand_over`].
pub(super) unsafe fn hand_over_boxed<T>(out: *mut *mut T, make: impl FnOnce() -> Result<Box<T>>) -> Result<()> {
    if out.is_null() {
        return Err(ErrorKind::Argument("the pointer to the new object is NULL").into());
    }
    let object = Box::into_raw(make()?);
    // SAFETY: `out` is not NULL, and so is a place for a pointer by the caller's promise.
    unsafe { out.write(object) };
    Ok(())
}

/// Takes an object back and drops it; NULL is nothing.
///
/// # Safety
/// The pointer is NULL or came from [`hand_over`] and was not taken back before.
pub(super) unsafe fn take_back<T>(object: *mut T) {
    if !object.is_null() {
        let _ = guard(|| {
            // What is dropped may call a function of the caller's.
            let _held = CancelGuard::hold();
            // SAFETY: `hand_over` made the pointer from a box, and it comes back only once by the caller's promise.
            drop(unsafe { Box::from_raw(object) });
            Ok(())
        });
    }
}

/// The request from C, whose start is not left out unless the variable is a scalar.
///
/// # Safety
/// `start`, `count` and `stride` are NULL or have one entry per dimension, which nobody changes meanwhile.
#[inline]
pub(super) unsafe fn hyperslab<'a>(
    variable: &Variable,
    start: *const usize,
    count: *const usize,
    stride: *const isize,
) -> Result<Hyperslab<'a>> {
    let rank = variable.rank();
    if rank > 0 && start.is_null() {
        return Err(ErrorKind::NoStart.into());
    }
    by_promise!(Ok(Hyperslab::from_lists(optional(start, rank), optional(count, rank), optional(stride, rank))))
}

/// For data that is NULL: an error unless nothing is selected.
#[cold]
fn check_nothing(len: usize) -> Result<()> {
    if len > 0 { Err(ErrorKind::Argument("data is NULL").into()) } else { Ok(()) }
}

/// The caller's memory, to be read into.
///
/// # Safety
/// A pointer that is not NULL points to `len` bytes, of which nobody else uses those that are selected meanwhile.
#[inline]
pub(super) unsafe fn destination<'a>(data: *mut u8, len: usize) -> Result<Destination<'a>> {
    if data.is_null() {
        check_nothing(len)?;
    }
    // SAFETY: the pointer has `len` bytes that are ours to write, by the caller's promise.
    Ok(unsafe { Destination::from_raw(data, len) })
}

/// The caller's memory, to be written from.
///
/// # Safety
/// A pointer that is not NULL points to `len` bytes, of which nobody changes those that are selected meanwhile.
#[inline]
pub(super) unsafe fn source<'a>(data: *const u8, len: usize) -> Result<Source<'a>> {
    if data.is_null() {
        check_nothing(len)?;
    }
    // SAFETY: the pointer has `len` bytes that nobody changes, by the caller's promise.
    Ok(unsafe { Source::from_raw(data, len) })
}
