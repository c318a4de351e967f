//! Writing: fetch a chunk unless all of it is replaced, move its box from memory, store it.
#![allow(unsafe_code)]

use super::Transfer;
use super::mover::Mover;
use super::piece::Piece;
use crate::alloc::{self, Scratch};
use crate::copy::{Destination, Source};
use crate::error::Result;
use crate::hyperslab::Access;
use crate::store::{self, Borrowed, Buffer, Fill, Lend, Reader, Store};

pub(super) fn chunks(transfer: &Transfer<'_>, data: Source<'_>, done: &mut usize) -> Result<()> {
    match &transfer.store.reader {
        Reader::Lending(lender) => transfer.run(Access::Write, done, |queue| {
            transfer
                .for_each_chunk(Access::Write, queue, |mover, piece| to_lender(mover, piece, lender.as_ref(), data));
        }),
        Reader::Filling(filler) => transfer.run(Access::Write, done, |queue| {
            transfer.store.with_scratch(|scratch| {
                transfer.for_each_chunk(Access::Write, queue, |mover, piece| {
                    to_filler(mover, piece, filler.as_ref(), scratch, data)
                });
            });
        }),
    }
}

/// A request that is one piece.
pub(super) fn piece(piece: &Piece<'_>, store: &Store<'_>, data: Source<'_>) -> Result<()> {
    let mut mover = Mover::new(piece.variable(), store, Access::Write, data.len());
    mover.aim(piece)?;
    match &store.reader {
        Reader::Lending(lender) => to_lender(&mut mover, piece, lender.as_ref(), data),
        Reader::Filling(filler) => {
            store.with_scratch(|scratch| to_filler(&mut mover, piece, filler.as_ref(), scratch, data))
        }
    }
}

fn to_lender(mover: &mut Mover<'_>, piece: &Piece<'_>, lender: &dyn Lend, data: Source<'_>) -> Result<()> {
    let covered = piece.is_covered();
    lender.change(piece.chunk_indices(), covered, &mut |borrowed| {
        let has_copier = piece.variable().copier().is_some();
        let (bytes, is_blank) = match borrowed {
            // Elements with a copier hold something that is to be freed, and what lies outside the dimensions is left alone.
            Borrowed::Chunk(bytes) => (bytes, covered && !has_copier),
            Borrowed::New(bytes) => (bytes, true),
        };
        let mut bytes = Destination::from(bytes);
        // What the box leaves of a chunk without contents of its own is fill value.
        if is_blank && !piece.is_whole() {
            mover.fill_chunk(&mut bytes)?;
        }
        mover.write_chunk(piece, data, &mut bytes)
    })
}

fn to_filler(
    mover: &mut Mover<'_>,
    piece: &Piece<'_>,
    filler: &dyn Fill,
    scratch: &mut Scratch,
    data: Source<'_>,
) -> Result<()> {
    let (variable, chunk) = (piece.variable(), piece.chunk_indices());
    let chunk_bytes = variable.chunk_bytes();
    if variable.swapped_word().is_none() {
        // SAFETY: the whole chunk lies there in one piece, so all of its bytes are selected ones.
        if let Some(bytes) = mover.whole_chunk(piece).and_then(|offset| unsafe { data.piece(offset, chunk_bytes) }) {
            return filler.store(chunk, bytes);
        }
    }
    let room = alloc::room(scratch, chunk_bytes)?;
    let must_fetch = !piece.is_covered();
    let is_filled = must_fetch && store::fetch(filler, chunk, &mut Buffer::new(room))?;
    let mut bytes = Destination::from(&mut *room);
    if !is_filled && !piece.is_whole() {
        mover.fill_chunk(&mut bytes)?;
    }
    mover.write_chunk(piece, data, &mut bytes)?;
    // SAFETY: every byte was written: by the fetch, by the fill or, where the box is the whole chunk, by the copy.
    filler.store(chunk, unsafe { std::slice::from_raw_parts(room.as_ptr().cast(), chunk_bytes) })
}
