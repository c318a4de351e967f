//! A decoded chunk, or a part of one, or what is stored of it, in memory that does not change any more.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::ops::Range;

use super::slab::Place;
use crate::alloc::{Failed, Scratch};
use crate::shared::Shared;

/// A decoded chunk that a cache keeps. It stays valid as long as somebody has it, even if the cache drops it.
#[derive(Clone)]
pub struct Entry(Shared<Block>);

/// Where the bytes of a chunk are.
pub(super) enum Memory {
    /// In memory of its own.
    Own(Scratch),
    /// In a slab.
    Place(Place),
}

/// Memory for a chunk that is being decoded.
pub struct Block {
    memory: Memory,
    filled: usize,
    /// Which of the chunk's bytes are there.
    valid: Range<usize>,
    /// Whether none are there, but what is stored of the chunk.
    is_stored: bool,
}

/// Whether so many bytes are at most a quarter more than a chunk has, which is what the cache counts.
pub(super) fn suits(bytes: usize, chunk_bytes: usize) -> bool {
    bytes.saturating_sub(chunk_bytes) <= chunk_bytes / 4
}

impl Memory {
    pub(super) const EMPTY: Memory = Memory::Own(Scratch::EMPTY);

    /// Whether it is at most a quarter larger than a chunk of so many bytes, which is what the cache counts.
    pub(super) fn suits(&self, chunk_bytes: usize) -> bool {
        let len = match self {
            Memory::Own(scratch) => scratch.capacity(),
            Memory::Place(place) => place.len(),
        };
        suits(len, chunk_bytes)
    }

    /// The first `len` bytes. If there are fewer, it becomes memory of its own, and what it held is lost.
    fn room(&mut self, len: usize) -> Result<&mut [MaybeUninit<u8>], Failed> {
        if matches!(self, Memory::Place(place) if place.len() < len) {
            *self = Memory::EMPTY;
        }
        match self {
            Memory::Own(scratch) => scratch.room(len),
            Memory::Place(place) => Ok(place.room(len)),
        }
    }

    /// The first `len` bytes.
    ///
    /// # Safety
    /// They have been written since [`room`](Self::room) last gave them.
    unsafe fn filled(&self, len: usize) -> &[u8] {
        match self {
            // SAFETY: the caller's promise is the same.
            Memory::Own(scratch) => unsafe { scratch.filled(len) },
            // SAFETY: as above.
            Memory::Place(place) => unsafe { place.filled(len) },
        }
    }
}

impl Block {
    /// Memory that may have been used for another chunk before.
    pub(super) fn new(memory: Memory) -> Self {
        Block { memory, filled: 0, valid: 0..0, is_stored: false }
    }

    /// The memory, to be filled from its beginning.
    pub(super) fn room(&mut self, len: usize) -> Result<&mut [MaybeUninit<u8>], Failed> {
        self.memory.room(len)
    }

    /// The block of so many bytes that are stored of a chunk.
    ///
    /// # Safety
    /// The first `len` bytes of the memory have been written.
    pub(super) unsafe fn keep_stored(memory: Scratch, len: usize) -> Result<Entry, Failed> {
        Ok(Entry(Shared::new(Block { memory: Memory::Own(memory), filled: len, valid: 0..0, is_stored: true })?))
    }

    /// The block as it will be kept.
    ///
    /// # Safety
    /// The first `filled` bytes have been written since [`room`](Self::room) gave them.
    pub(super) unsafe fn keep(mut self, filled: usize, valid: Range<usize>) -> Result<Entry, Failed> {
        (self.filled, self.valid) = (filled, valid.start..valid.end.min(filled));
        Ok(Entry(Shared::new(self)?))
    }
}

impl Entry {
    /// The bytes from the chunk's first one on. Only those that it [has](Self::has) are the chunk's.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: by its promise the caller of `keep` had written so many bytes, and since then nobody writes.
        unsafe { self.0.memory.filled(self.0.filled) }
    }

    /// Whether the [bytes](Self::bytes) are what is stored of the chunk, which is to be decoded.
    pub(crate) fn is_stored(&self) -> bool {
        self.0.is_stored
    }

    /// Whether these bytes are there.
    pub(crate) fn has(&self, needed: &Range<usize>) -> bool {
        needed.is_empty() || (self.0.valid.start <= needed.start && needed.end <= self.0.valid.end)
    }

    /// The memory, if nobody else has the entry.
    pub(super) fn into_memory(self) -> Option<Memory> {
        self.0.into_only().map(|block| block.memory)
    }
}
