//! Elements that are more than their bytes: they are copied by a function.
//!
//! Such a function takes what it is given for elements, whatever the bytes are. So only C gives one of its own to a
//! variable, and answers for what the variable is used with. A variable of texts has the library's, and is used with
//! stores of texts and memory for texts alone.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};

use crate::error::{ErrorKind, Result};
use crate::grid::Access;
use crate::shared::Shared;
use crate::status;

/// A function that copies `count` elements, which are contiguous on both sides; `writing` is 1 from memory to
/// a chunk and 0 from a chunk to memory. It returns 0 or a status, which ends the call.
pub type CopyFunction = unsafe extern "C" fn(
    user: *mut c_void,
    writing: c_int,
    count: usize,
    source: *const c_void,
    destination: *mut c_void,
) -> c_int;

/// A copier: a function and what is passed to it.
#[derive(Debug, Clone, Copy)]
pub struct Copier {
    function: CopyFunction,
    user: *mut c_void,
}

// SAFETY: `new` requires that every thread that uses the copier may call the function with this pointer.
unsafe impl Send for Copier {}
// SAFETY: as above.
unsafe impl Sync for Copier {}

impl Copier {
    /// A copier.
    ///
    /// # Safety
    /// As long as the copier is in use, the function may be called with `user` from every thread that uses the copier,
    /// with pointers to as many elements as its count says.
    pub unsafe fn new(function: CopyFunction, user: *mut c_void) -> Self {
        Copier { function, user }
    }

    pub(crate) fn copy(&self, access: Access, count: usize, source: *const u8, destination: *mut u8) -> Result<()> {
        let writing = (access == Access::Write).into();
        // SAFETY: `new` was promised that the function may be called so; the copy that calls this has checked that both
        // pointers have `count` elements.
        match unsafe { (self.function)(self.user, writing, count, source.cast(), destination.cast()) } {
            0 => Ok(()),
            status::ENOMEM => Err(ErrorKind::OutOfMemory.into()),
            status => Err(ErrorKind::Callback(status).into()),
        }
    }
}

/// What elements of a variable are.
#[derive(Debug, Clone)]
pub enum Elements {
    /// Their bytes, and no more.
    Bytes,
    /// What a copier of C's copies.
    Copied(Copier),
    /// Pointers to texts, which this copier copies; and the one that absent elements read as.
    Texts(Copier, TextElement),
}

/// An element that is a pointer to a text of C's. It and its copies own the text together.
#[derive(Debug, Clone)]
pub struct TextElement {
    pointer: *const c_char,
    text: Option<Shared<Vec<u8>>>,
}

// SAFETY: the text is owned by lists of bytes that threads may share, and nobody changes it.
unsafe impl Send for TextElement {}
// SAFETY: as above.
unsafe impl Sync for TextElement {}

impl TextElement {
    /// An element for a text, which has a NUL at its end; `None` stands for an empty one.
    pub fn new(text: Option<Vec<u8>>) -> Result<Self> {
        let Some(text) = text else { return Ok(TextElement { pointer: c"".as_ptr(), text: None }) };
        if text.last() != Some(&0) {
            return Err(ErrorKind::Internal.into());
        }
        let text = Shared::new(text)?;
        Ok(TextElement { pointer: text.as_ptr().cast(), text: Some(text) })
    }

    /// The text without its NUL; `None` for an empty one that nobody gave.
    pub(crate) fn text(&self) -> Option<&[u8]> {
        self.text.as_ref().map(|text| text.strip_suffix(b"\0").unwrap_or(text))
    }

    /// The bytes of the pointer.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        // SAFETY: a pointer has so many bytes, none of them padding.
        unsafe { std::slice::from_raw_parts((&raw const self.pointer).cast(), size_of::<*const c_char>()) }
    }
}
