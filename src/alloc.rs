//! Memory that may not be had: allocation that answers instead of aborting.
#![allow(unsafe_code)]

use std::alloc::Layout;
use std::mem::MaybeUninit;

use crate::error::{ErrorKind, Result};

/// A box to be: memory for a `T`, had before there is one.
pub(crate) struct Slot<T>(Box<MaybeUninit<T>>);

impl<T> Slot<T> {
    pub(crate) fn new() -> Result<Self> {
        let layout = Layout::new::<T>();
        if layout.size() == 0 {
            return Ok(Slot(Box::new(MaybeUninit::uninit())));
        }
        // SAFETY: the layout's size is not 0. The pointer, if not NULL, is of a `T`'s layout from the global allocator,
        // which is what a box of `MaybeUninit<T>` frees.
        unsafe {
            let pointer = std::alloc::alloc(layout).cast::<MaybeUninit<T>>();
            if pointer.is_null() { Err(ErrorKind::OutOfMemory.into()) } else { Ok(Slot(Box::from_raw(pointer))) }
        }
    }

    pub(crate) fn fill(self, value: T) -> Box<T> {
        Box::write(self.0, value)
    }
}

/// A box, if memory for it can be had.
pub(crate) fn try_box<T>(value: T) -> Result<Box<T>> {
    Ok(Slot::new()?.fill(value))
}

/// Memory to be filled, kept between uses.
pub(crate) type Scratch = Vec<MaybeUninit<u8>>;

/// The first `len` bytes of scratch memory, which grows if it must.
pub(crate) fn room(scratch: &mut Scratch, len: usize) -> Result<&mut [MaybeUninit<u8>]> {
    if let Some(more) = len.checked_sub(scratch.len()) {
        scratch.try_reserve_exact(more).map_err(|_| ErrorKind::OutOfMemory)?;
        // SAFETY: the capacity is at least `len`, and such elements need no initialising.
        unsafe { scratch.set_len(len) };
    }
    Ok(&mut scratch[..len])
}

/// The same bytes, as memory to be written to.
///
/// # Safety
/// Nothing but initialised bytes is written to it.
pub(crate) unsafe fn as_uninit(bytes: &mut [u8]) -> &mut [MaybeUninit<u8>] {
    // SAFETY: both have the same layout, and the caller keeps the bytes initialised.
    unsafe { &mut *(std::ptr::from_mut(bytes) as *mut [MaybeUninit<u8>]) }
}
