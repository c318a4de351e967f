//! A buffer that a reader or a codec fills: memory that need not be initialised, and how much of it is.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

/// A buffer for a chunk, filled from the front.
pub struct Buffer<'b> {
    bytes: &'b mut [MaybeUninit<u8>],
    filled: usize,
    has_gaps: bool,
}

impl<'b> Buffer<'b> {
    /// An empty buffer over this memory. Only the library makes buffers: a reader that could put one of its own in the
    /// place of the one it is given would leave that unfilled.
    #[doc(hidden)]
    pub fn new(bytes: &'b mut [MaybeUninit<u8>]) -> Self {
        Buffer { bytes, filled: 0, has_gaps: false }
    }

    /// Its size in bytes, filled or not.
    pub fn capacity(&self) -> usize {
        self.bytes.len()
    }

    /// Appends bytes. Returns `false`, and appends nothing, if there is too little room.
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

    /// Skips bytes that are not needed: appends `len` zeros, or as many as fit.
    pub fn skip(&mut self, len: usize) {
        let room = &mut self.bytes[self.filled..];
        let len = len.min(room.len());
        room[..len].fill(MaybeUninit::new(0));
        self.filled += len;
        self.has_gaps |= len > 0;
    }

    /// The next `len` bytes, zeroed and from now on filled, to be changed: for decoders that write into a slice. `None`
    /// if there is no room for them.
    #[allow(dead_code, reason = "codecs and places use it, and all of them can be left out")]
    pub(crate) fn zeros(&mut self, len: usize) -> Option<&mut [u8]> {
        let begin = self.filled;
        if len > self.bytes.len() - begin {
            return None;
        }
        self.bytes[begin..begin + len].fill(MaybeUninit::new(0));
        self.filled += len;
        Some(&mut self.filled_mut()[begin..])
    }

    /// The room that is left behind what has been filled, as memory that need not be initialised. What is written there
    /// counts once [`set_filled`](Self::set_filled) says so.
    #[doc(hidden)]
    pub fn room(&mut self) -> &mut [MaybeUninit<u8>] {
        &mut self.bytes[self.filled..]
    }

    /// Whether bytes were [passed over](Self::skip), here or in what this was made from.
    pub(crate) fn has_gaps(&self) -> bool {
        self.has_gaps
    }

    /// Says that it was made from something that [has gaps](Self::has_gaps), if so.
    pub(crate) fn set_gaps(&mut self, has_gaps: bool) {
        self.has_gaps |= has_gaps;
    }

    /// The whole buffer as a slice, for readers that write into one. Bytes that were not filled become 0, and the whole
    /// buffer counts as filled.
    pub fn zeroed(&mut self) -> &mut [u8] {
        for byte in &mut self.bytes[self.filled..] {
            byte.write(0);
        }
        self.filled = self.bytes.len();
        self.filled_mut()
    }

    /// Takes back all but the first `len` bytes.
    pub fn truncate(&mut self, len: usize) {
        self.filled = self.filled.min(len);
    }

    /// The bytes that are filled.
    pub fn filled(&self) -> &[u8] {
        // SAFETY: the first `filled` bytes, at most all there are, were written: by `write`, by `zeroed`, or by whoever
        // called `set_filled`, whose promise that is.
        unsafe { std::slice::from_raw_parts(self.bytes.as_ptr().cast(), self.filled) }
    }

    /// What has been filled, to be changed.
    #[doc(hidden)]
    pub fn filled_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `filled`.
        unsafe { std::slice::from_raw_parts_mut(self.bytes.as_mut_ptr().cast(), self.filled) }
    }

    /// The address of the buffer, for a reader that is not written in Rust.
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.bytes.as_mut_ptr().cast()
    }

    /// Declares that the first `filled` bytes have been written through [`as_mut_ptr`](Self::as_mut_ptr).
    ///
    /// # Safety
    /// They have been, and `filled` is no more than [`capacity`](Self::capacity).
    pub unsafe fn set_filled(&mut self, filled: usize) {
        self.filled = filled;
    }

    /// Room for the next `len` bytes, or as many as there are, as a buffer of its own. What is filled there counts here
    /// once [`set_filled`](Self::set_filled) says so.
    #[doc(hidden)]
    pub fn rest_up_to(&mut self, len: usize) -> Buffer<'_> {
        let room = &mut self.bytes[self.filled..];
        let len = len.min(room.len());
        Buffer { bytes: &mut room[..len], filled: 0, has_gaps: false }
    }
}
