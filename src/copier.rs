//! Elements that are more than their bytes: they are copied by a function of the caller's.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use crate::error::{ErrorKind, Result};
use crate::grid::Access;
use crate::status;

/// A caller's function that copies `count` elements, which are contiguous on both sides; `writing` is 1 from memory to
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
    /// with pointers to as many elements as it is told.
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
