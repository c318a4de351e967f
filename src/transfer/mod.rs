//! Carrying out a plan: for each chunk of it, fetch the chunk, move its box, and store the chunk if it was written to.
//!
//! Reading and writing differ in the direction of the copy, and in that a write needs the rest of a chunk that it does not
//! cover. Both walk the plan in its order and stop at the first error, so the chunks before it are done and those after it
//! untried.

mod layout;
mod mover;
mod read;
mod write;

use std::mem::MaybeUninit;

pub use layout::Layout;

use crate::alloc;
use crate::copy::{Destination, Source};
use crate::error::{ErrorKind, Result};
use crate::plan::Plan;
use crate::store::{Reader, Store};
use crate::variable::Variable;

/// Reads what the plan selects into `out`, row-major without gaps and in native byte order; `out` has
/// `plan.selected_bytes()` bytes.
///
/// Every touched chunk is asked for once, in the plan's order, and no other. After an error the bytes of `out` are
/// unspecified.
///
/// # Errors
/// `Argument` if `out` has another length, before any chunk is asked for. Otherwise the first error of a chunk, with its
/// indices: the reader's own (`Callback`), `ChunkLength`, `NoData`, `Zstd`, `DecodedLength`, `OutOfMemory`.
pub fn read(variable: &Variable, plan: &Plan, store: &Store<'_>, out: &mut [u8]) -> Result<()> {
    // SAFETY: reading writes the bytes of chunks and fill values, which are initialised.
    #[allow(unsafe_code)]
    let out: &mut [MaybeUninit<u8>] = unsafe { alloc::as_uninit(out) };
    read_to(variable, plan, &Layout::dense(plan)?, store, &mut out.into(), &mut 0)
}

/// [`read`], into memory of any layout, which need not be initialised. `done` receives the number of chunks that were
/// read, in the plan's order.
pub fn read_to(
    variable: &Variable,
    plan: &Plan,
    layout: &Layout,
    store: &Store<'_>,
    out: &mut Destination<'_>,
    done: &mut usize,
) -> Result<()> {
    *done = 0;
    layout.check_len(out.len())?;
    check_copier(variable, store)?;
    read::chunks(variable, plan, layout, store, out, done)
}

/// Writes `data` to what the plan selects, row-major without gaps and in native byte order; `data` has
/// `plan.selected_bytes()` bytes.
///
/// A chunk that the plan covers is written without being read; any other is read, or filled if it is absent, changed and
/// written, each once and in the plan's order.
///
/// # Errors
/// `Argument` if `data` has another length, before anything is written. Otherwise the first error of a chunk, with its
/// indices: those of [`read`], the writer's own, and `ReadOnly`.
pub fn write(variable: &Variable, plan: &Plan, store: &Store<'_>, data: &[u8]) -> Result<()> {
    write_from(variable, plan, &Layout::dense(plan)?, store, data.into(), &mut 0)
}

/// [`write()`], from memory of any layout. `done` receives the number of chunks that were written, in the plan's order; the
/// one after them failed, and those after that were not tried.
pub fn write_from(
    variable: &Variable,
    plan: &Plan,
    layout: &Layout,
    store: &Store<'_>,
    data: Source<'_>,
    done: &mut usize,
) -> Result<()> {
    *done = 0;
    layout.check_len(data.len())?;
    check_copier(variable, store)?;
    if plan.num_chunks() > 0 && !store.reader.is_writable() {
        return Err(ErrorKind::ReadOnly.into());
    }
    write::chunks(variable, plan, layout, store, data, done)
}

/// Elements with a copier own what they point to, so they can only be copied where they are: in a chunk on loan.
fn check_copier(variable: &Variable, store: &Store<'_>) -> Result<()> {
    match (variable.copier(), &store.reader) {
        (Some(_), Reader::Filling(_)) => {
            Err(ErrorKind::Argument("elements with a copier need a store that lends").into())
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
