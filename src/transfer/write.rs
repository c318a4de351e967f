//! Writing one piece: fetch the chunk unless all of it is replaced, move the box from memory, store the chunk.
#![allow(unsafe_code)]

use super::piece::{self, Mover, Piece};
use super::single::Single;
use crate::buffer::Buffer;
use crate::cache::Turn;
use crate::copy::{Destination, Fence, Source, StridedCopy};
use crate::dims;
use crate::error::Result;
use crate::grid::Access;
use crate::store::{self, Borrowed, Lend, Store, Workspace};
use crate::variable::Variable;

/// What one thread needs to write pieces of a variable's chunks.
pub(super) struct Writing<'a> {
    variable: &'a Variable,
    store: &'a Store<'a>,
    mover: Mover<'a>,
    workspace: Option<Workspace<'a>>,
    /// This transfer, as far as the store's cache is concerned.
    turn: Option<Turn>,
}

impl<'a> Writing<'a> {
    pub(super) fn new(variable: &'a Variable, store: &'a Store<'a>) -> Self {
        Writing { variable, store, mover: Mover::new(variable, Access::Write), workspace: None, turn: None }
    }

    /// Writes a piece.
    pub(super) fn piece(&mut self, piece: &Piece<'_>, data: Source<'_>) -> Result<()> {
        match self.store.lender() {
            Some(lender) => self.change_chunk(piece, lender, data),
            None => self.store_chunk(piece, data),
        }
    }

    /// Writes a request that touches one chunk.
    pub(super) fn single(&mut self, single: &Single, data: Source<'_>) -> Result<()> {
        let mut copy = StridedCopy::default();
        let (is_lending, bytes) = (self.store.lender().is_some(), single.selected_bytes());
        copy.set_volume(piece::volume(self.variable, Access::Write, is_lending, bytes));
        self.piece(&single.piece(self.variable, Access::Write, &mut copy)?, data)
    }

    fn change_chunk(&self, piece: &Piece<'_>, lender: &dyn Lend, data: Source<'_>) -> Result<()> {
        let request = self.mover.request(piece);
        lender.change(&request, piece.is_covered, &mut |borrowed| {
            // The lender gets the chunk back after this, and may tell another thread.
            let _fence = Fence::new(piece.copy.volume());
            let has_copier = self.variable.copier().is_some();
            let (bytes, is_blank) = match borrowed {
                // Elements with a copier hold something that is to be freed; those outside the dimensions are left
                // alone.
                Borrowed::Chunk(bytes) => (bytes, piece.is_covered && !has_copier),
                Borrowed::New(bytes) => (bytes, true),
            };
            let mut bytes = Destination::from(store::due_mut(lender, bytes, self.mover.chunk_bytes())?);
            // What the box leaves of a chunk without contents of its own is fill value.
            if is_blank && !piece.is_whole {
                self.mover.fill_chunk(piece, &mut bytes)?;
            }
            self.mover.write_chunk(piece, data, &mut bytes)
        })
    }

    fn store_chunk(&mut self, piece: &Piece<'_>, data: Source<'_>) -> Result<()> {
        let (store, chunk_bytes) = (self.store, self.mover.chunk_bytes());
        let request = self.mover.request(piece);
        let Workspace { chunk, encoded } = store.workspace_in(&mut self.workspace)?;
        if self.variable.swapped_word().is_none() {
            let whole_chunk = self.mover.whole_chunk(piece);
            // SAFETY: the whole chunk lies there in one piece, so all of its bytes are selected ones.
            if let Some(bytes) = whole_chunk.and_then(|offset| unsafe { data.piece(offset, chunk_bytes) }) {
                let stored = store.put(&request, bytes, encoded);
                self.forget(piece);
                return stored;
            }
        }
        store.check_room(chunk_bytes)?;
        let room = chunk.room(chunk_bytes)?;
        let mut is_filled = false;
        if !piece.is_covered {
            let mut buffer = Buffer::new(&mut *room);
            let cached = match store.cache() {
                Some(cache) if self.variable.write_ratio(0).is_none() => cache.get(piece.indices, chunk_bytes)?,
                _ => None,
            };
            is_filled = match cached {
                Some(entry) => buffer.write(entry.bytes()),
                None => store.fetch(&request, 0..chunk_bytes, &mut buffer, encoded)?,
            };
        }
        let mut bytes = Destination::from(&mut *room);
        if !is_filled && !piece.is_whole {
            self.mover.fill_chunk(piece, &mut bytes)?;
        }
        self.mover.write_chunk(piece, data, &mut bytes)?;
        // SAFETY: every byte was written: by the fetch, by the fill or, where the box is the whole chunk, by the copy.
        let bytes = unsafe { chunk.filled(chunk_bytes) };
        // The rest of the chunk is likely to be written next.
        let keeper = store.cache().filter(|_| !piece.is_covered && self.variable.write_ratio(0).is_none());
        let turn = keeper.map(|cache| {
            let turn = *self.turn.get_or_insert_with(|| cache.begin());
            cache.requests(piece.indices, turn)
        });
        let turn = turn.transpose()?;
        let stored = store.put(&request, bytes, encoded);
        match keeper.zip(turn) {
            Some((cache, turn)) if stored.is_ok() => cache.replace(piece.indices, bytes, turn),
            _ => {
                self.forget(piece);
                stored
            }
        }
    }

    /// Has the store's cache forget what a piece has been written to: a chunk, or all chunks of the write grid's.
    fn forget(&self, piece: &Piece<'_>) {
        let Some(cache) = self.store.cache() else { return };
        let ratio = |d: usize| self.variable.write_ratio(d).unwrap_or(1) as isize;
        let first = |d: usize| piece.indices[d] * ratio(d);
        let rank = piece.indices.len();
        let Ok(mut chunk) = dims::copied((0..rank).map(first)) else { return cache.forget_all() };
        loop {
            cache.forget(&chunk);
            // The next one: the last dimension that is not at its end steps on, and those behind it begin anew.
            let Some(d) = (0..rank).rev().find(|&d| chunk[d] + 1 < first(d) + ratio(d)) else { return };
            chunk[d] += 1;
            (d + 1..rank).for_each(|d| chunk[d] = first(d));
        }
    }
}
