//! The memory on either side of a copy: a pointer and a length. Unlike a slice, a region may have gaps that belong to
//! others, so only the bytes that are copied are accessed.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use crate::pages;

/// Bytes to copy from.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    pointer: *const u8,
    len: usize,
    memory: PhantomData<&'a [u8]>,
}

// SAFETY: the region is only read through it, for a lifetime in which nobody writes the bytes. A shared slice, which
// it stands for, can be sent to and shared with other threads for the same reason.
unsafe impl Send for Source<'_> {}
// SAFETY: as for `Send`.
unsafe impl Sync for Source<'_> {}

/// From so many bytes on glibc's `malloc` takes memory from the system that nothing else is in, so the advice on its
/// pages ends when it is freed.
const LARGE_REGION: usize = 32 << 20;

/// Bytes to copy to. They need not be initialised.
pub struct Destination<'a> {
    pointer: *mut u8,
    len: usize,
    memory: PhantomData<&'a mut [MaybeUninit<u8>]>,
}

// SAFETY: nobody else accesses the bytes for the lifetime. An exclusive slice, which it stands for, can be sent to
// another thread for the same reason.
unsafe impl Send for Destination<'_> {}
// SAFETY: the bytes can be accessed only through an exclusive reference to it.
unsafe impl Sync for Destination<'_> {}

impl<'a> Source<'a> {
    /// The region of `len` bytes that begins at `pointer`.
    ///
    /// # Safety
    /// The region is part of one allocation. Those of its bytes that are copied are readable and initialised, and
    /// nobody writes them, for the lifetime.
    pub unsafe fn from_raw(pointer: *const u8, len: usize) -> Self {
        Source { pointer, len, memory: PhantomData }
    }

    pub(super) fn pointer(&self) -> *const u8 {
        self.pointer
    }

    /// Length in bytes, gaps included.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// A part of the region as a slice; `None` if the part does not lie within the region.
    ///
    /// # Safety
    /// What `from_raw` requires of the bytes that are copied holds for all bytes of the part: none is in a gap.
    pub unsafe fn piece(&self, offset: usize, len: usize) -> Option<&'a [u8]> {
        let fits = offset.checked_add(len).is_some_and(|end| end <= self.len);
        // SAFETY: the part lies within the region. The caller promises that its bytes are readable, initialised and
        // not written to for the lifetime, which is what the slice requires.
        fits.then(|| unsafe { std::slice::from_raw_parts(self.pointer.add(offset), len) })
    }
}

impl<'a> From<&'a [u8]> for Source<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Source { pointer: bytes.as_ptr(), len: bytes.len(), memory: PhantomData }
    }
}

impl<'a> Destination<'a> {
    /// The region of `len` bytes that begins at `pointer`.
    ///
    /// # Safety
    /// The region is part of one allocation. Those of its bytes that are copied to are writable, and nobody else
    /// accesses them, for the lifetime.
    pub unsafe fn from_raw(pointer: *mut u8, len: usize) -> Self {
        Destination { pointer, len, memory: PhantomData }
    }

    /// The same region again, for another thread or another part of the work.
    ///
    /// # Safety
    /// No byte is accessed through two of them at the same time.
    pub(crate) unsafe fn alias(&self) -> Self {
        Destination { pointer: self.pointer, len: self.len, memory: PhantomData }
    }

    pub(super) fn pointer(&self) -> *mut u8 {
        self.pointer
    }

    /// Tells the system that all of a large region is going to be written, if so, so that memory which is used for the
    /// first time comes in large pages.
    #[inline]
    pub(crate) fn expect_all_if(&self, is_all: impl FnOnce() -> bool) {
        if self.len >= LARGE_REGION && is_all() {
            if let Some(pointer) = NonNull::new(self.pointer) {
                pages::ask_for_large(pointer, self.len);
            }
        }
    }

    /// Length in bytes, gaps included.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// A part of the region as a slice; `None` if the part does not lie within the region.
    ///
    /// # Safety
    /// What `from_raw` requires of the bytes that are copied to holds for all bytes of the part: none is in a gap.
    pub unsafe fn piece(&mut self, offset: usize, len: usize) -> Option<&mut [MaybeUninit<u8>]> {
        let fits = offset.checked_add(len).is_some_and(|end| end <= self.len);
        // SAFETY: the part lies within the region. The caller promises that its bytes are writable and accessed by
        // nobody else, and `self` remains borrowed for as long as the slice is.
        fits.then(|| unsafe { std::slice::from_raw_parts_mut(self.pointer.add(offset).cast(), len) })
    }
}

impl<'a> From<&'a mut [MaybeUninit<u8>]> for Destination<'a> {
    fn from(bytes: &'a mut [MaybeUninit<u8>]) -> Self {
        Destination { pointer: bytes.as_mut_ptr().cast(), len: bytes.len(), memory: PhantomData }
    }
}

impl<'a> From<&'a mut [u8]> for Destination<'a> {
    fn from(bytes: &'a mut [u8]) -> Self {
        Destination { pointer: bytes.as_mut_ptr(), len: bytes.len(), memory: PhantomData }
    }
}
