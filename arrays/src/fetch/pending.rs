//! Chunks that have been asked for, from then until they are given back, and what is read for them.
#![allow(unsafe_code)]

use super::locate::{Index, Location, Part, Step};
use crate::alloc::Scratch;
use crate::dims::Dims;
use crate::error::Result;
use crate::object::ByteRange;
use crate::open_object::ObjectState;
use crate::store::{Filled, RawRequest};

/// A chunk that was asked for. It is allocated once, and goes from list to list.
pub(super) struct Pending {
    pub request: *mut RawRequest,
    pub location: Location,
    /// Which part of the stored chunk is wanted.
    pub skipped: u64,
    pub size: usize,
    /// How often the object had changed when it was read.
    pub attempts: usize,
    /// How many nodes of an index have been read to find it.
    pub nodes: usize,
    pub is_cancelled: bool,
    /// Whether all of the chunk is wanted.
    pub is_whole: bool,
    /// Whether the read of the index that it waited for had begun before.
    pub is_late: bool,
    pub range: Range,
}

/// What is to be read for a chunk, as soon as that is known.
#[derive(Default)]
pub(super) struct Range {
    /// The object's state when its index was read, if it has one.
    pub state: Option<ObjectState>,
    /// What is to be read of the object.
    pub begin: u64,
    pub len: usize,
    /// How many bytes the stored chunk has from there on; `None` if that follows from the object's length.
    pub stored: Option<usize>,
    /// How many zeros follow the bytes that are read.
    pub zeros: usize,
    /// The number of the request that it is to be read by; 0 if that is not decided.
    pub run: u64,
}

impl Pending {
    /// The index that is needed, and the chunk's number in it.
    pub(super) fn index(&self) -> Option<(&Dims<isize>, usize)> {
        match self.location.part {
            Part::Indexed { number } => Some((&self.location.object, number)),
            Part::Unknown => Some((&self.location.object, 0)),
            _ => None,
        }
    }

    /// Whether this index is needed.
    pub(super) fn needs(&self, index: &Dims<isize>) -> bool {
        self.index().is_some_and(|(other, _)| other == index)
    }

    /// What it is read of: the object, unless there is only one, in which state.
    pub(super) fn object(&self, is_one_object: bool) -> (Option<&Dims<isize>>, Option<ObjectState>) {
        ((!is_one_object).then_some(&self.location.object), self.range.state)
    }

    /// What the queue is sorted by: the object, unless there is only one, and where it is read.
    pub(super) fn key(&self, is_one_object: bool) -> (Option<&Dims<isize>>, u64) {
        ((!is_one_object).then_some(&self.location.object), self.range.begin)
    }

    /// Whether an index has the chunk in the same span of an object in the same state.
    pub(super) fn is_in(&self, index: &Index, state: ObjectState) -> bool {
        let Some((_, number)) = self.index() else { return false };
        index.spans.get(number).is_some_and(|&(offset, len)| {
            let skipped = self.skipped.min(len);
            let span = (offset.checked_add(skipped), usize::try_from(len - skipped).ok());
            Some(state) == self.range.state && span == (Some(self.range.begin), self.range.stored)
        })
    }
}

impl Range {
    /// Where what is read ends.
    pub(super) fn end(&self) -> u64 {
        self.begin.saturating_add(self.len as u64)
    }
}

/// What is read or, of a chunk that is stored as an object of its own, written.
pub(super) enum Read {
    Index(Box<IndexRead>),
    Chunks(Chunks),
    Write { request: *mut RawRequest, len: usize },
}

impl Read {
    /// How many bytes its memory has.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Read::Index(read) => read.len + read.check.as_ref().map_or(0, |chunks| chunks.len),
            Read::Chunks(chunks) => chunks.len,
            Read::Write { len, .. } => *len,
        }
    }
}

/// A step of an index that is read.
pub(super) struct IndexRead {
    pub index: Dims<isize>,
    pub step: Step,
    /// How many bytes of the object's beginning or end are read, which are those of the step and, if there are more,
    /// chunks.
    pub reach: usize,
    pub memory: Scratch,
    /// How many bytes are read: none to learn the object's length, before much is read.
    pub len: usize,
    /// The object's state at the step before.
    pub state: Option<ObjectState>,
    /// How often an index had been forgotten when the first step was begun.
    pub forgotten: u64,
    /// How often the object was another one at a later step than at the first.
    pub attempts: usize,
    /// The chunks that have been read already, if the index is read once more to see whether the object is the same.
    pub check: Option<Chunks>,
}

impl IndexRead {
    /// Whether chunks are read with the index.
    pub(super) fn has_chunks(&self) -> bool {
        self.reach > self.step.len
    }

    /// Where all that is read begins.
    pub(super) fn begin(&self) -> ByteRange {
        match self.step.begin {
            ByteRange::BeforeEnd(_) if self.has_chunks() => ByteRange::BeforeEnd(self.reach as u64),
            begin => begin,
        }
    }

    /// Those of the bytes that were read that the step asks for.
    pub(super) fn of_step<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        let len = self.step.len.min(bytes.len());
        match self.step.begin {
            ByteRange::At(_) => &bytes[..len],
            ByteRange::BeforeEnd(_) => &bytes[bytes.len() - len..],
        }
    }
}

/// Chunks that are read together, in the boxes in which they were asked for.
pub(super) type Parts = Vec<Box<Pending>>;

/// Neighbouring chunks of one object.
pub(super) struct Chunks {
    pub parts: Parts,
    pub begin: u64,
    pub memory: Scratch,
    /// How many bytes are read, and how many the memory has.
    pub len: usize,
}

/// Chunks that have been read, and are given back one by one.
pub(super) struct Landed {
    pub chunks: Chunks,
    /// How many bytes of the memory have been written.
    filled: usize,
    /// Whether there is one chunk.
    is_single: bool,
    /// Which bytes are those of the chunk that was given back last.
    current: std::ops::Range<usize>,
    object: ObjectState,
}

impl Landed {
    /// # Safety
    /// So many bytes of the chunks' memory have been written, and nobody writes to it any more.
    pub(super) unsafe fn new(chunks: Chunks, filled: usize, object: ObjectState) -> Self {
        let is_single = chunks.parts.len() == 1;
        Landed { chunks, filled, is_single, current: 0..0, object }
    }

    /// The next chunk.
    pub(super) fn next(&mut self) -> Option<(*mut RawRequest, Result<Filled>)> {
        let Pending { request, range, .. } = *self.chunks.parts.pop()?;
        // The chunk lies within what was read.
        let begin = usize::try_from(range.begin - self.chunks.begin).unwrap_or(usize::MAX).min(self.filled);
        let end = begin.saturating_add(range.len.saturating_add(range.zeros)).min(self.filled);
        self.current = begin..end;
        let of_object = || usize::try_from(self.object.0.saturating_sub(range.begin)).unwrap_or(usize::MAX);
        Some((request, Ok(Filled::Stored(range.stored.unwrap_or_else(of_object)))))
    }

    /// The memory of the chunk that was given back last, if it is there alone.
    pub(super) fn take_bytes(&mut self) -> Option<Scratch> {
        let is_alone = self.is_single && self.current.start == 0;
        is_alone.then(|| std::mem::replace(&mut self.chunks.memory, Scratch::EMPTY))
    }

    /// The version of the object.
    pub(super) fn version(&self) -> Option<u128> {
        self.object.1
    }

    /// The bytes of the chunk that was given back last.
    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: they have been written, by the promise of the caller of `new`.
        let all = unsafe { self.chunks.memory.filled(self.filled) };
        all.get(self.current.clone()).unwrap_or_default()
    }
}
