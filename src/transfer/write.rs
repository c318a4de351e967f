//! Writing: fetch a chunk unless all of it is replaced, move its box from memory, store it.
#![allow(unsafe_code)]

use super::layout::Layout;
use super::mover::Mover;
use crate::copy::{Destination, Source};
use crate::error::Result;
use crate::hyperslab::Access;
use crate::memory::{self, Scratch};
use crate::plan::Plan;
use crate::store::{self, Borrowed, Buffer, Fill, Lend, Reader, Store};
use crate::variable::Variable;

pub(super) fn chunks(
    variable: &Variable,
    plan: &Plan,
    layout: &Layout,
    store: &Store<'_>,
    data: Source<'_>,
    done: &mut usize,
) -> Result<()> {
    let mover = Mover::new(variable, plan, layout, Access::Write);
    match &store.reader {
        Reader::Lending(lender) => {
            mover.for_each_chunk(done, |mover, chunk| write_lent(mover, lender.as_ref(), chunk, data))
        }
        Reader::Filling(filler) => store.with_scratch(|scratch| {
            mover.for_each_chunk(done, |mover, chunk| write_filled(mover, filler.as_ref(), chunk, scratch, data))
        }),
    }
}

fn write_lent(mover: &mut Mover<'_>, lender: &dyn Lend, chunk: &[isize], data: Source<'_>) -> Result<()> {
    let covered = mover.is_covered();
    lender.change(chunk, covered, &mut |borrowed| {
        let (bytes, is_blank) = match borrowed {
            Borrowed::Chunk(bytes) => (bytes, covered),
            Borrowed::New(bytes) => (bytes, true),
        };
        let mut bytes = Destination::from(bytes);
        // What the box leaves of a chunk without contents of its own is fill value. Elements with a copier are left as they
        // were lent: what they point to is the lender's.
        if is_blank && !mover.is_whole() && mover.variable().copier().is_none() {
            mover.fill_chunk(&mut bytes)?;
        }
        mover.write_chunk(data, &mut bytes)
    })
}

fn write_filled(
    mover: &mut Mover<'_>,
    filler: &dyn Fill,
    chunk: &[isize],
    scratch: &mut Scratch,
    data: Source<'_>,
) -> Result<()> {
    let chunk_bytes = mover.variable().chunk_bytes();
    if mover.variable().swapped_word().is_none() {
        // SAFETY: the whole chunk lies there in one piece, so all of its bytes are selected ones.
        if let Some(bytes) = mover.whole_chunk().and_then(|offset| unsafe { data.piece(offset, chunk_bytes) }) {
            return filler.store(chunk, bytes);
        }
    }
    let room = memory::room(scratch, chunk_bytes)?;
    let must_fetch = !mover.is_covered();
    let is_filled = must_fetch && store::fetch(filler, chunk, &mut Buffer::new(room))?;
    let mut bytes = Destination::from(&mut *room);
    if !is_filled && !mover.is_whole() {
        mover.fill_chunk(&mut bytes)?;
    }
    mover.write_chunk(data, &mut bytes)?;
    // SAFETY: every byte was written: by the fetch, by the fill or, where the box is the whole chunk, by the copy.
    filler.store(chunk, unsafe { std::slice::from_raw_parts(room.as_ptr().cast(), chunk_bytes) })
}
