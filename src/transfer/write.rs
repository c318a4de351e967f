//! Writing: fetch a chunk unless all of it is replaced, move its box from memory, store it.
#![allow(unsafe_code)]

use super::layout::Layout;
use super::mover::Mover;
use crate::alloc::{self, Scratch};
use crate::copy::{Destination, Source};
use crate::error::Result;
use crate::hyperslab::Access;
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
            mover.for_each_chunk(done, |mover, chunk| to_lender(mover, lender.as_ref(), chunk, data))
        }
        Reader::Filling(filler) => store.with_scratch(|scratch| {
            mover.for_each_chunk(done, |mover, chunk| to_filler(mover, filler.as_ref(), chunk, scratch, data))
        }),
    }
}

fn to_lender(mover: &mut Mover<'_>, lender: &dyn Lend, chunk: &[isize], data: Source<'_>) -> Result<()> {
    let covered = mover.is_covered();
    lender.change(chunk, covered, &mut |borrowed| {
        let has_copier = mover.variable().copier().is_some();
        let (bytes, is_blank) = match borrowed {
            // Elements with a copier hold something that is to be freed, and what lies outside the dimensions is left alone.
            Borrowed::Chunk(bytes) => (bytes, covered && !has_copier),
            Borrowed::New(bytes) => (bytes, true),
        };
        let mut bytes = Destination::from(bytes);
        // What the box leaves of a chunk without contents of its own is fill value.
        if is_blank && !mover.is_whole() {
            mover.fill_chunk(&mut bytes)?;
        }
        mover.write_chunk(data, &mut bytes)
    })
}

fn to_filler(
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
    let room = alloc::room(scratch, chunk_bytes)?;
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
