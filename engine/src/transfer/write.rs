//! Writing one piece: fetch the chunk unless all of it is replaced, move the box from memory, store the chunk.
#![allow(unsafe_code)]

use super::piece::{self, Mover, Piece};
use super::single::Single;
use crate::buffer::Buffer;
use crate::cache::Write;
use crate::copy::{Destination, Fence, Source, StridedCopy};
use crate::dims;
use crate::error::Result;
use crate::grid::Access;
use crate::store::{self, BorrowedChunkMut, Change, ChunkStore, Workspace, ZeroCopyReader};
use crate::threads::Threads;
use crate::variable::Variable;

/// What one thread needs to write pieces of a variable's chunks.
pub(super) struct Writing<'a> {
    variable: &'a Variable,
    store: &'a ChunkStore<'a>,
    /// The reader, if it lends chunks of such a variable as they are.
    lender: Option<&'a dyn ZeroCopyReader>,
    mover: Mover<'a>,
    workspace: Option<Workspace<'a>>,
    /// How many threads may encode one chunk.
    threads: Threads<'a>,
}

impl<'a> Writing<'a> {
    pub(super) fn new(variable: &'a Variable, store: &'a ChunkStore<'a>, threads: Threads<'a>) -> Self {
        let lender = store.lender_of(variable);
        Writing { variable, store, lender, mover: Mover::new(variable, Access::Write), workspace: None, threads }
    }

    /// Writes a piece.
    pub(super) fn piece(&mut self, piece: &Piece<'_>, data: Source<'_>) -> Result<()> {
        match self.lender {
            Some(lender) => self.change_chunk(piece, lender, data),
            None => self.store_chunk(piece, data),
        }
    }

    /// The memory of the caller's that the piece's chunk is stored from as it is, if it is.
    pub(super) fn as_is<'d>(&self, piece: &Piece<'_>, data: Source<'d>) -> Option<&'d [u8]> {
        if self.store.has_codecs(Access::Write) { None } else { whole(self.variable, &self.mover, piece, data) }
    }

    /// Compares what the chunk is stored in with the checksum that there is of it, before it is changed.
    pub(super) fn verify_stored(&self, piece: &Piece<'_>) -> Result<()> {
        self.store.verify_stored(&self.mover.request(piece))
    }

    /// Writes a request that touches one chunk.
    pub(super) fn single(&mut self, single: &Single, data: Source<'_>) -> Result<()> {
        let (is_lending, bytes) = (self.lender.is_some(), single.selected_bytes());
        let volume = piece::volume(self.variable, Access::Write, is_lending, bytes);
        let mut copy = StridedCopy::unprepared(volume);
        self.piece(&single.piece(self.variable, Access::Write, &mut copy)?, data)
    }

    fn change_chunk(&self, piece: &Piece<'_>, lender: &dyn ZeroCopyReader, data: Source<'_>) -> Result<()> {
        let request = self.mover.request(piece);
        let mut change = |borrowed: BorrowedChunkMut<'_>| {
            // The lender gets the chunk back after this, and may tell another thread.
            let _fence = Fence::new(piece.copy.volume());
            let has_copier = self.variable.copier().is_some();
            let (bytes, is_blank) = match borrowed {
                // Elements with a copier hold something that is to be freed; those outside the dimensions are left
                // alone.
                BorrowedChunkMut::Chunk(bytes) => (bytes, piece.is_covered && !has_copier),
                BorrowedChunkMut::New(bytes) => (bytes, true),
            };
            let mut bytes = Destination::from(store::due_mut(lender, bytes, piece.chunk_bytes)?);
            // What the box leaves of a chunk without contents of its own is fill value.
            if is_blank && !piece.is_whole {
                self.mover.fill_chunk(piece, &mut bytes)?;
            }
            self.mover.write_chunk(piece, data, &mut bytes)
        };
        lender.change(&request, piece.is_covered, Change::new(&mut change)).map(|_| ())
    }

    fn store_chunk(&mut self, piece: &Piece<'_>, data: Source<'_>) -> Result<()> {
        let (request, variable, store) = (self.mover.request(piece), self.variable, self.store);
        let bytes = self.encode(piece, data, Before::Unknown)?;
        let _write = begin_write(variable, store, piece)?;
        store.put(&request, bytes)
    }

    /// What is to be stored of the piece's chunk.
    pub(super) fn encode<'w>(
        &'w mut self,
        piece: &Piece<'_>,
        data: Source<'w>,
        before: Before<'_>,
    ) -> Result<&'w [u8]> {
        let (store, chunk_bytes) = (self.store, piece.chunk_bytes);
        let request = self.mover.request(piece);
        let Workspace { chunk, encoded } = store.workspace_in(&mut self.workspace)?;
        if let Some(bytes) = whole(self.variable, &self.mover, piece, data) {
            return store.encode(Access::Write, bytes, encoded, self.threads);
        }
        store.check_room(chunk_bytes)?;
        let room = chunk.room(chunk_bytes)?;
        let mut buffer = Buffer::new(&mut *room);
        let is_filled = match before {
            // What is stored now, not what a cache remembers: others may have written to the chunk.
            Before::Unknown if !piece.is_covered => {
                store.fetch(&request, 0..chunk_bytes, &mut buffer, encoded)?.fill(&mut buffer)?
            }
            Before::Stored(stored) if !store.has_codecs(Access::Write) => buffer.write(stored),
            Before::Stored(stored) => {
                store.decode(&request, stored, 0..chunk_bytes, &mut buffer, encoded.between())?.fill(&mut buffer)?
            }
            Before::Unknown | Before::Absent => false,
        };
        let mut bytes = Destination::from(&mut *room);
        if !is_filled && !piece.is_whole {
            self.mover.fill_chunk(piece, &mut bytes)?;
        }
        self.mover.write_chunk(piece, data, &mut bytes)?;
        // SAFETY: every byte was written: by the fetch, by the fill or, where the box is the whole chunk, by the copy.
        let bytes = unsafe { chunk.filled(chunk_bytes) };
        store.encode(Access::Write, bytes, encoded, self.threads)
    }
}

/// What is known of a chunk that is going to be changed.
pub(super) enum Before<'b> {
    /// Nothing: it is fetched, unless all of it is replaced.
    Unknown,
    Absent,
    /// As it is stored.
    Stored(&'b [u8]),
}

/// The bytes of a whole chunk, if they lie in memory as they are stored, but for codecs.
fn whole<'d>(variable: &Variable, mover: &Mover<'_>, piece: &Piece<'_>, data: Source<'d>) -> Option<&'d [u8]> {
    let offset = if variable.swapped_word().is_none() { mover.whole_chunk(piece)? } else { return None };
    // SAFETY: the whole chunk lies there in one piece, so all of its bytes are selected ones.
    unsafe { data.piece(offset, piece.chunk_bytes) }
}

/// Has the store's cache forget what a piece is written to: a chunk, or all chunks of the write grid's. Until the
/// result is dropped, however the write ends, nothing of that is kept.
pub(super) fn begin_write<'s>(
    variable: &Variable,
    store: &'s ChunkStore<'_>,
    piece: &Piece<'_>,
) -> Result<Option<Write<'s>>> {
    let Some(cache) = store.cache() else { return Ok(None) };
    let mut write = cache.write();
    let ratio = |d: usize| variable.write_ratio(d).unwrap_or(1) as isize;
    let first = |d: usize| piece.indices[d] * ratio(d);
    let rank = piece.indices.len();
    let mut chunk = dims::copied((0..rank).map(first))?;
    loop {
        write.add(&chunk)?;
        // The next one: the last dimension that is not at its end steps on, and those behind it begin anew.
        let Some(d) = (0..rank).rev().find(|&d| chunk[d] - first(d) + 1 < ratio(d)) else { return Ok(Some(write)) };
        chunk[d] += 1;
        (d + 1..rank).for_each(|d| chunk[d] = first(d));
    }
}
