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
use crate::variable::Variable;

/// What one thread needs to write pieces of a variable's chunks.
pub(super) struct Writing<'a> {
    variable: &'a Variable,
    store: &'a ChunkStore<'a>,
    mover: Mover<'a>,
    workspace: Option<Workspace<'a>>,
}

impl<'a> Writing<'a> {
    pub(super) fn new(variable: &'a Variable, store: &'a ChunkStore<'a>) -> Self {
        Writing { variable, store, mover: Mover::new(variable, Access::Write), workspace: None }
    }

    /// Writes a piece.
    pub(super) fn piece(&mut self, piece: &Piece<'_>, data: Source<'_>) -> Result<()> {
        match self.store.lender_of(self.variable) {
            Some(lender) => self.change_chunk(piece, lender, data),
            None => self.store_chunk(piece, data),
        }
    }

    /// Writes a request that touches one chunk.
    pub(super) fn single(&mut self, single: &Single, data: Source<'_>) -> Result<()> {
        let mut copy = StridedCopy::default();
        let (is_lending, bytes) = (self.store.lender_of(self.variable).is_some(), single.selected_bytes());
        copy.set_volume(piece::volume(self.variable, Access::Write, is_lending, bytes));
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
        let (store, chunk_bytes) = (self.store, piece.chunk_bytes);
        let request = self.mover.request(piece);
        let Workspace { chunk, encoded } = store.workspace_in(&mut self.workspace)?;
        if self.variable.swapped_word().is_none() {
            let whole_chunk = self.mover.whole_chunk(piece);
            // SAFETY: the whole chunk lies there in one piece, so all of its bytes are selected ones.
            if let Some(bytes) = whole_chunk.and_then(|offset| unsafe { data.piece(offset, chunk_bytes) }) {
                let _write = begin_write(self.variable, store, piece)?;
                return store.put(&request, bytes, encoded);
            }
        }
        store.check_room(chunk_bytes)?;
        let room = chunk.room(chunk_bytes)?;
        let mut is_filled = false;
        if !piece.is_covered {
            // What is stored now, not what a cache remembers: others may have written to the chunk.
            let mut buffer = Buffer::new(&mut *room);
            is_filled = store.fetch(&request, 0..chunk_bytes, &mut buffer, encoded)?.fill(&mut buffer)?;
        }
        let mut bytes = Destination::from(&mut *room);
        if !is_filled && !piece.is_whole {
            self.mover.fill_chunk(piece, &mut bytes)?;
        }
        self.mover.write_chunk(piece, data, &mut bytes)?;
        // SAFETY: every byte was written: by the fetch, by the fill or, where the box is the whole chunk, by the copy.
        let bytes = unsafe { chunk.filled(chunk_bytes) };
        let _write = begin_write(self.variable, store, piece)?;
        store.put(&request, bytes, encoded)
    }
}

/// Has the store's cache forget what a piece is written to: a chunk, or all chunks of the write grid's. Until the
/// result is dropped, however the write ends, nothing of that is kept.
fn begin_write<'s>(variable: &Variable, store: &'s ChunkStore<'_>, piece: &Piece<'_>) -> Result<Option<Write<'s>>> {
    let Some(cache) = store.cache() else { return Ok(None) };
    let mut write = cache.write();
    let ratio = |d: usize| variable.write_ratio(d).unwrap_or(1) as isize;
    let first = |d: usize| piece.indices[d] * ratio(d);
    let rank = piece.indices.len();
    let mut chunk = dims::copied((0..rank).map(first))?;
    loop {
        write.add(&chunk)?;
        // The next one: the last dimension that is not at its end steps on, and those behind it begin anew.
        let Some(d) = (0..rank).rev().find(|&d| chunk[d] + 1 < first(d) + ratio(d)) else { return Ok(Some(write)) };
        chunk[d] += 1;
        (d + 1..rank).for_each(|d| chunk[d] = first(d));
    }
}
