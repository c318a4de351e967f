//! A buffer to be filled by a reader or a codec: memory that need not be initialised, and how much of it has been.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

/// Room for a chunk, filled from the front.
pub struct Buffer<'b> {
    bytes: &'b mut [MaybeUninit<u8>],
    filled: usize,
}

impl<'b> Buffer<'b> {
    /// An empty buffer over this memory. Only the library makes buffers: a reader that could put one of its own in the
    /// place of the one it is given would leave that unfilled.
    pub(crate) fn new(bytes: &'b mut [MaybeUninit<u8>]) -> Self {
        Buffer { bytes, filled: 0 }
    }

    /// Its size in bytes, filled or not.
    pub fn capacity(&self) -> usize {
        self.bytes.len()
    }

    /// Adds bytes behind those that are there; `false`, and nothing is added, if there is no room.
    pub fn write(&mut self, bytes: &[u8]) -> bool {
        let Some(room) = self.bytes[self.filled..].get_mut(..bytes.len()) else {
            return false;
        };
        for (to, from) in room.iter_mut().zip(bytes) {
            to.write(*from);
        }
        self.filled += bytes.len();
        true
    }

    /// The whole buffer, zeroed where it was not filled, and from now on filled: for readers that write into a slice.
    pub fn zeroed(&mut self) -> &mut [u8] {
        for byte in &mut self.bytes[self.filled..] {
            byte.write(0);
        }
        self.filled = self.bytes.len();
        self.filled_mut()
    }

    /// What has been filled.
    pub fn filled(&self) -> &[u8] {
        // SAFETY: the first `filled` bytes, at most all there are, were written: by `write`, by `zeroed`, or by whoever
        // called `set_filled`, whose promise that is.
        unsafe { std::slice::from_raw_parts(self.bytes.as_ptr().cast(), self.filled) }
    }

    /// What has been filled, to be changed.
    pub(crate) fn filled_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `filled`.
        unsafe { std::slice::from_raw_parts_mut(self.bytes.as_mut_ptr().cast(), self.filled) }
    }

    /// Where the buffer begins, for a reader that is not written in Rust.
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.bytes.as_mut_ptr().cast()
    }

    /// Says that the first `filled` bytes have been written through [`as_mut_ptr`](Self::as_mut_ptr).
    ///
    /// # Safety
    /// They have, and they are no more than [`capacity`](Self::capacity).
    pub unsafe fn set_filled(&mut self, filled: usize) {
        self.filled = filled;
    }
}
