//! The memory on either side of a copy: a pointer and a length, so that a region may have gaps that belong to others.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// Bytes to copy from.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    pointer: *const u8,
    len: usize,
    memory: PhantomData<&'a [u8]>,
}

// SAFETY: as a shared slice, which it stands for.
unsafe impl Send for Source<'_> {}
// SAFETY: as above.
unsafe impl Sync for Source<'_> {}

/// Bytes to copy to. They need not be initialised.
pub struct Destination<'a> {
    pointer: *mut u8,
    len: usize,
    memory: PhantomData<&'a mut [MaybeUninit<u8>]>,
}

// SAFETY: as an exclusive slice, which it stands for.
unsafe impl Send for Destination<'_> {}
// SAFETY: as above; through a shared reference there is no access to the bytes.
unsafe impl Sync for Destination<'_> {}

impl<'a> Source<'a> {
    /// The region from `pointer` on, `len` bytes.
    ///
    /// # Safety
    /// The bytes of it that are copied are readable and initialised, and nobody writes them, for the lifetime.
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

    /// A part without gaps, as a slice; `None` if it does not lie within the region.
    ///
    /// # Safety
    /// All of its bytes are the copier's, not in a gap.
    pub unsafe fn piece(&self, offset: usize, len: usize) -> Option<&'a [u8]> {
        let fits = offset.checked_add(len).is_some_and(|end| end <= self.len);
        // SAFETY: within the region, and the rest is what `from_raw` and the caller promise.
        fits.then(|| unsafe { std::slice::from_raw_parts(self.pointer.add(offset), len) })
    }
}

impl<'a> From<&'a [u8]> for Source<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Source { pointer: bytes.as_ptr(), len: bytes.len(), memory: PhantomData }
    }
}

impl<'a> Destination<'a> {
    /// The region from `pointer` on, `len` bytes.
    ///
    /// # Safety
    /// The bytes of it that are copied to are writable, and nobody else uses them, for the lifetime.
    pub unsafe fn from_raw(pointer: *mut u8, len: usize) -> Self {
        Destination { pointer, len, memory: PhantomData }
    }

    /// The same region once more, for another thread or another part of the work.
    ///
    /// # Safety
    /// No byte is used through two of them at the same time.
    pub(crate) unsafe fn alias(&self) -> Self {
        Destination { pointer: self.pointer, len: self.len, memory: PhantomData }
    }

    pub(super) fn pointer(&self) -> *mut u8 {
        self.pointer
    }

    /// Length in bytes, gaps included.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// A part without gaps, as a slice; `None` if it does not lie within the region.
    ///
    /// # Safety
    /// All of its bytes are the copier's, not in a gap.
    pub unsafe fn piece(&mut self, offset: usize, len: usize) -> Option<&mut [MaybeUninit<u8>]> {
        let fits = offset.checked_add(len).is_some_and(|end| end <= self.len);
        // SAFETY: within the region, exclusive through `self`, and the rest is what `from_raw` and the caller promise.
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
