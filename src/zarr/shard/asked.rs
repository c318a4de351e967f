//! Chunks within shards that have been asked for, from then until they are given back.
#![allow(unsafe_code)]

use super::layout::Index;
use crate::alloc::Scratch;
use crate::dims::Dims;
use crate::open_object::ObjectState;
use crate::store::{Filled, RawRequest};

/// A chunk that was asked for.
pub(super) struct Asked {
    pub request: *mut RawRequest,
    pub shard: Dims<isize>,
    /// The chunk's number in the shard's index.
    pub number: usize,
    /// Which part of the stored chunk is wanted.
    pub skipped: u64,
    pub size: usize,
    /// How often the shard had changed when it was read.
    pub attempts: usize,
}

/// A chunk whose place is known.
pub(super) struct Placed {
    pub asked: Asked,
    /// The shard's state when its index was read.
    pub shard: ObjectState,
    /// What is to be read of the shard.
    pub begin: u64,
    pub len: usize,
    /// How many bytes the stored chunk has from there on.
    pub stored: usize,
    pub is_cancelled: bool,
}

impl Placed {
    /// What the queue is sorted by.
    pub(super) fn key(&self) -> (&Dims<isize>, u64) {
        (&self.asked.shard, self.begin)
    }

    /// Whether an index has the chunk in the same place of a shard in the same state.
    pub(super) fn is_in(&self, index: &Index, state: ObjectState) -> bool {
        let Asked { number, skipped, .. } = self.asked;
        index.places.get(number).is_some_and(|&(offset, len)| {
            let skipped = skipped.min(len);
            let place = (offset.checked_add(skipped), usize::try_from(len - skipped).unwrap_or(usize::MAX));
            state == self.shard && place == (Some(self.begin), self.stored)
        })
    }
}

/// What a read is for.
pub(super) enum Read {
    /// The length of a shard whose index is long.
    Length(Dims<isize>),
    /// An index, its memory and its length, and how often an index had been forgotten when it was asked for.
    Index(Dims<isize>, Scratch, usize, u64),
    Chunks(Chunks),
    /// The index once more, for chunks that have been read from a shard of unknown version.
    Check(Chunks, Scratch, usize),
}

impl Read {
    /// How many bytes its memory has.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Read::Length(_) => 0,
            Read::Index(_, _, len, _) => *len,
            Read::Chunks(chunks) => chunks.len,
            Read::Check(chunks, _, len) => chunks.len + *len,
        }
    }
}

/// Neighbouring chunks of one shard.
pub(super) struct Chunks {
    pub parts: Vec<Placed>,
    pub begin: u64,
    pub memory: Scratch,
    pub len: usize,
}

/// Chunks that have been read, and are given back one by one.
pub(super) struct Landed {
    pub chunks: Chunks,
    /// Which bytes are those of the chunk that was given back last.
    current: std::ops::Range<usize>,
    /// The version of the shard.
    version: Option<u128>,
}

impl Landed {
    /// # Safety
    /// All bytes of the chunks' memory have been written, and nobody writes to it any more.
    pub(super) unsafe fn new(chunks: Chunks) -> Self {
        Landed { chunks, current: 0..0, version: None }
    }

    /// The next chunk.
    pub(super) fn next(&mut self) -> Option<(*mut RawRequest, Filled)> {
        let part = self.chunks.parts.pop()?;
        // The chunk lies within what was read.
        let begin = (part.begin - self.chunks.begin) as usize;
        self.version = part.shard.1;
        self.current = begin..begin + part.len;
        Some((part.asked.request, Filled::Stored(part.stored)))
    }

    /// The version of the shard that the chunk was read from which was given back last.
    pub(super) fn version(&self) -> Option<u128> {
        self.version
    }

    /// The bytes of the chunk that was given back last.
    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: they have been written, by the promise of the caller of `new`.
        let all = unsafe { self.chunks.memory.filled(self.chunks.len) };
        all.get(self.current.clone()).unwrap_or_default()
    }
}
