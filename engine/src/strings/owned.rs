//! Texts with an owner: each is memory of C's `malloc`, with a NUL at its end.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

use crate::alloc;
use crate::copier::Copier;
use crate::error::{ErrorKind, Result};
use crate::status;

/// Bytes in an element: a pointer.
pub const ELEMENT: usize = size_of::<*const c_char>();

/// A list of texts, each of them its own. NULL stands for none.
pub struct OwnedTexts(Vec<*mut c_char>);

// SAFETY: the texts belong to the one value that points to them.
unsafe impl Send for OwnedTexts {}

impl OwnedTexts {
    /// A list of `len` NULLs.
    pub(crate) fn new(len: usize) -> Result<Self> {
        let mut list = alloc::room(len)?;
        list.resize(len, ptr::null_mut());
        Ok(OwnedTexts(list))
    }

    /// The elements as bytes, for a copy by the [copier].
    pub(crate) fn as_bytes_mut(&mut self) -> &mut [u8] {
        let bytes = size_of_val(self.0.as_slice());
        // SAFETY: a pointer has no padding. Only copies write here: of pointers, by the copier.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), bytes) }
    }

    /// Duplicates texts into the list, of which there are as many.
    pub(crate) fn duplicate(&mut self, texts: &[*const c_char]) -> Result<()> {
        for (to, from) in self.0.iter_mut().zip(texts) {
            // SAFETY: the pointer is to a text, and what was there is not used any more.
            unsafe { replace(to, *from) }?;
        }
        Ok(())
    }

    /// The texts; an empty one for NULL.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &CStr> {
        // SAFETY: what is not NULL is a text that lives as long as the list.
        self.0.iter().map(|text| if text.is_null() { c"" } else { unsafe { CStr::from_ptr(*text) } })
    }

    /// Hands the texts over to whoever owns `to`, which has room for them.
    ///
    /// # Safety
    /// `to` has room for as many pointers, aligned or not.
    pub unsafe fn hand_over(mut self, to: *mut c_void) {
        // SAFETY: the caller's promise. The list is empty afterwards, so that nothing is freed twice.
        unsafe {
            ptr::copy_nonoverlapping(self.0.as_ptr().cast::<u8>(), to.cast(), size_of_val(self.0.as_slice()));
            self.0.set_len(0);
        }
    }
}

impl Drop for OwnedTexts {
    fn drop(&mut self) {
        // SAFETY: each is NULL or came from `malloc`, and is freed once.
        unsafe { free(&mut self.0) };
    }
}

/// Frees texts, and leaves NULL in their places.
///
/// # Safety
/// Each is NULL or came from the [copier], and nobody uses it.
pub unsafe fn free(texts: &mut [*mut c_char]) {
    for text in texts {
        // SAFETY: the caller's promise.
        unsafe { libc::free(std::mem::replace(text, ptr::null_mut()).cast()) };
    }
}

/// The copier of texts: a read gives the reader texts of its own, a write replaces those of the chunk. A NULL that is
/// written stands for an empty text.
pub fn copier() -> Copier {
    // SAFETY: the function needs no pointer of its own, and any thread may call it.
    unsafe { Copier::new(copy, ptr::null_mut()) }
}

unsafe extern "C" fn copy(
    _: *mut c_void,
    writing: c_int,
    count: usize,
    source: *const c_void,
    destination: *mut c_void,
) -> c_int {
    let (source, destination) = (source.cast::<*const c_char>(), destination.cast::<*mut c_char>());
    for i in 0..count {
        // SAFETY: both have so many elements, which need not be aligned. Those of a chunk that is written to are NULL
        // or owned by it; those of memory that is read into may be anything.
        let result = unsafe {
            let (from, to) = (source.add(i).read_unaligned(), destination.add(i));
            let mut text = if writing == 0 { ptr::null_mut() } else { to.read_unaligned() };
            replace(&mut text, from).map(|()| to.write_unaligned(text))
        };
        if result.is_err() {
            return status::ENOMEM;
        }
    }
    status::NOERR
}

/// Puts a duplicate of a text in the place of another, which is freed. If the allocation fails, it stays.
///
/// # Safety
/// `from` is NULL or a text; `to` is NULL or came from `malloc`, and nobody else uses it.
unsafe fn replace(to: &mut *mut c_char, from: *const c_char) -> Result<()> {
    // SAFETY: the caller's promise.
    let from = if from.is_null() { c"" } else { unsafe { CStr::from_ptr(from) } }.to_bytes_with_nul();
    // SAFETY: the size is not 0. What is written has that size; what is freed came from `malloc`.
    unsafe {
        let copy = libc::malloc(from.len()).cast::<c_char>();
        if copy.is_null() {
            return Err(ErrorKind::OutOfMemory.into());
        }
        ptr::copy_nonoverlapping(from.as_ptr().cast(), copy, from.len());
        libc::free(std::mem::replace(to, copy).cast());
    }
    Ok(())
}
