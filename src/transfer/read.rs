//! Reading: fetch a chunk, move its box to memory.
#![allow(unsafe_code)]

use super::Transfer;
use super::mover::Mover;
use super::piece::Piece;
use crate::alloc::{self, Scratch};
use crate::copy::{self, Destination};
use crate::error::Result;
use crate::hyperslab::Access;
use crate::store::{self, Buffer, Fill, Lend, Lent, Loan, Reader, Store};

#[inline]
pub(super) fn chunks(transfer: &Transfer<'_>, out: Destination<'_>, done: &mut usize) -> Result<()> {
    // SAFETY: workers have different chunks, whose boxes share no memory: where two elements may, there is one worker.
    let out = || unsafe { out.alias() };
    match &transfer.store.reader {
        Reader::Lending(lender) => transfer.run(Access::Read, done, |queue| {
            let mut out = out();
            transfer.for_each_chunk(Access::Read, queue, |mover, piece| {
                from_lender(mover, piece, lender.as_ref(), &mut out)
            });
        }),
        Reader::Filling(filler) => transfer.run(Access::Read, done, |queue| {
            let mut out = out();
            transfer.store.with_scratch(|scratch| {
                transfer.for_each_chunk(Access::Read, queue, |mover, piece| {
                    from_filler(mover, piece, filler.as_ref(), scratch, &mut out)
                });
            });
        }),
    }
}

/// A request that is one piece.
#[inline]
pub(super) fn piece(piece: &Piece<'_>, store: &Store<'_>, mut out: Destination<'_>) -> Result<()> {
    let mut mover = Mover::new(piece.variable(), store, Access::Read, out.len());
    mover.aim(piece)?;
    match &store.reader {
        Reader::Lending(lender) => from_lender(&mut mover, piece, lender.as_ref(), &mut out),
        Reader::Filling(filler) => {
            store.with_scratch(|scratch| from_filler(&mut mover, piece, filler.as_ref(), scratch, &mut out))
        }
    }
}

#[inline]
fn from_lender(mover: &mut Mover<'_>, piece: &Piece<'_>, lender: &dyn Lend, out: &mut Destination<'_>) -> Result<()> {
    match Loan::take(lender, piece.chunk_indices())?.lent {
        Lent::Chunk(bytes) => mover.read_chunk(piece, bytes, out),
        Lent::FillValues(bytes) => mover.read_fill_chunk(piece, bytes, out),
        Lent::Absent => mover.read_fill_value(piece, out),
    }
}

fn from_filler(
    mover: &mut Mover<'_>,
    piece: &Piece<'_>,
    filler: &dyn Fill,
    scratch: &mut Scratch,
    out: &mut Destination<'_>,
) -> Result<()> {
    let (variable, chunk) = (piece.variable(), piece.chunk_indices());
    let chunk_bytes = variable.chunk_bytes();
    // SAFETY: the whole chunk lands here in one piece, so all of its bytes are selected ones.
    let in_place = mover.whole_chunk(piece).and_then(|offset| unsafe { out.piece(offset, chunk_bytes) });
    if let Some(room) = in_place {
        let mut buffer = Buffer::new(room);
        if store::fetch(filler, chunk, &mut buffer)? {
            if let Some(word) = variable.swapped_word() {
                copy::swap_in_place(buffer.filled_mut(), word);
            }
            return Ok(());
        }
    } else {
        let mut buffer = Buffer::new(alloc::room(scratch, chunk_bytes)?);
        if store::fetch(filler, chunk, &mut buffer)? {
            return mover.read_chunk(piece, buffer.filled(), out);
        }
    }
    mover.read_fill_value(piece, out)
}
