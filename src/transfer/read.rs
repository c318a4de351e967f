//! Reading: fetch a chunk, move its box to memory.
#![allow(unsafe_code)]

use super::layout::Layout;
use super::mover::Mover;
use crate::alloc::{self, Scratch};
use crate::copy::{self, Destination};
use crate::error::Result;
use crate::hyperslab::Access;
use crate::plan::Plan;
use crate::store::{self, Buffer, Fill, Lend, Lent, Loan, Reader, Store};
use crate::variable::Variable;

pub(super) fn chunks(
    variable: &Variable,
    plan: &Plan,
    layout: &Layout,
    store: &Store<'_>,
    out: &mut Destination<'_>,
    done: &mut usize,
) -> Result<()> {
    let mover = Mover::new(variable, plan, layout, Access::Read);
    match &store.reader {
        Reader::Lending(lender) => {
            mover.for_each_chunk(done, |mover, chunk| from_lender(mover, lender.as_ref(), chunk, out))
        }
        Reader::Filling(filler) => store.with_scratch(|scratch| {
            mover.for_each_chunk(done, |mover, chunk| from_filler(mover, filler.as_ref(), chunk, scratch, out))
        }),
    }
}

fn from_lender(mover: &mut Mover<'_>, lender: &dyn Lend, chunk: &[isize], out: &mut Destination<'_>) -> Result<()> {
    match Loan::take(lender, chunk)?.lent {
        Lent::Chunk(bytes) => mover.read_chunk(bytes, out),
        Lent::FillValues(bytes) => mover.read_fill_chunk(bytes, out),
        Lent::Absent => mover.read_fill_value(out),
    }
}

fn from_filler(
    mover: &mut Mover<'_>,
    filler: &dyn Fill,
    chunk: &[isize],
    scratch: &mut Scratch,
    out: &mut Destination<'_>,
) -> Result<()> {
    let chunk_bytes = mover.variable().chunk_bytes();
    // SAFETY: the whole chunk lands here in one piece, so all of its bytes are selected ones.
    let in_place = mover.whole_chunk().and_then(|offset| unsafe { out.piece(offset, chunk_bytes) });
    if let Some(room) = in_place {
        let mut buffer = Buffer::new(room);
        if store::fetch(filler, chunk, &mut buffer)? {
            if let Some(word) = mover.variable().swapped_word() {
                copy::swap_in_place(buffer.filled_mut(), word);
            }
            return Ok(());
        }
    } else {
        let mut buffer = Buffer::new(alloc::room(scratch, chunk_bytes)?);
        if store::fetch(filler, chunk, &mut buffer)? {
            return mover.read_chunk(buffer.filled(), out);
        }
    }
    mover.read_fill_value(out)
}
