//! Decoding deflated data, piece by piece.
//!
//! The state of a decoder, about 50 KiB, is kept between entries. flate2 has no way to report that the allocation of it
//! failed: zlib-rs panics then, which is caught here and is `OutOfMemory`. To raise the panic Rust allocates a few
//! dozen bytes; if not even these can be had the process aborts. After a decoder is made nothing is allocated.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::ptr::NonNull;

use flate2::{Decompress, FlushDecompress, Status};

use crate::alloc::{OnePointer, Slot};
use crate::buffer::Buffer;
use crate::error::{ErrorKind, Result};
use crate::quiet;

/// A decoder, to be kept between uses.
pub(super) struct Inflater(Box<Decompress>);

// SAFETY: the pointer to the box is all there is of a decoder.
unsafe impl OnePointer for Inflater {
    fn into_pointer(self) -> Option<NonNull<u8>> {
        NonNull::new(Box::into_raw(self.0).cast())
    }

    unsafe fn from_pointer(pointer: NonNull<u8>) -> Self {
        // SAFETY: `into_pointer` made the pointer from a box, and this is called once for it.
        Inflater(unsafe { Box::from_raw(pointer.as_ptr().cast()) })
    }
}

/// What a step has done.
pub(super) struct Step {
    /// How many bytes it has taken.
    pub(super) taken: usize,
    /// Whether the data have ended.
    pub(super) is_end: bool,
}

impl Inflater {
    pub(super) fn new() -> Result<Self> {
        let slot = Slot::new()?;
        Ok(Inflater(slot.fill(quiet::catch(|| Decompress::new(false)).ok_or(ErrorKind::OutOfMemory)?)))
    }

    /// Begins with other data.
    pub(super) fn begin(&mut self) {
        self.0.reset(false);
    }

    /// Decodes into an empty buffer until it is full, or the input is used up.
    pub(super) fn step(&mut self, input: &[u8], output: &mut Buffer<'_>) -> Result<Step> {
        let before = (self.0.total_in(), self.0.total_out());
        let (begin, capacity) = (output.as_mut_ptr().cast::<MaybeUninit<u8>>(), output.capacity());
        // SAFETY: this is the buffer's memory, which need not be initialised and is borrowed by way of `output`. The
        // decoder writes nothing but initialised bytes to it.
        let room = unsafe { std::slice::from_raw_parts_mut(begin, capacity) };
        let status = self.0.decompress_uninit(input, room, FlushDecompress::None);
        let status = status.map_err(|_| super::records::corrupt("the entry's deflated data do not decode"))?;
        // Both are lengths of parts of slices.
        let (taken, written) = (self.0.total_in() - before.0, self.0.total_out() - before.1);
        // SAFETY: the decoder has written so many bytes, at most what there is room for.
        unsafe { output.set_filled(written as usize) };
        Ok(Step { taken: taken as usize, is_end: status == Status::StreamEnd })
    }
}
