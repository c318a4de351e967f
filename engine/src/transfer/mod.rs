//! Executing a plan: for each chunk of it, fetch the chunk, move its box, and store the chunk if it was written to.
//!
//! Reading and writing differ in the direction of the copy, and in that a write needs the rest of a chunk that it does
//! not cover.
//!
//! ```text
//!   Transfer   a plan or a part of it, executed by one thread or more (`execute`)
//!     |
//!   Queue      which chunks are whose: all of them one thread's, or blocks of them any thread's
//!     |
//!   Walk       from one Piece to the next; in a Prepared plan, pieces that were found before
//!     |
//!   Reading,   one piece: between the store and memory
//!   Writing
//! ```
//!
//! How many threads there is use for follows from what the first chunks take: `pace`.
//!
//! A request that touches one chunk only needs no plan: `single` finds its piece. A store that is asked first and gives
//! the answer later is read by `flight`.

mod divided;
mod element;
mod execute;
mod flight;
mod handed;
mod options;
mod pace;
mod piece;
mod prepared;
mod progress;
mod queue;
mod ranges;
mod read;
mod shards;
mod single;
mod slot;
mod walk;
mod write;

use std::mem::MaybeUninit;
use std::ops::Range;

pub use execute::Transfer;
pub use options::Options;
pub use prepared::Prepared;
pub use progress::{Progress, ProgressFunction};
pub use queue::Queue;

use crate::alloc;
use crate::copy::{Destination, Source, Volume};
use crate::error::{ErrorKind, Result};
use crate::grid::Access;
use crate::hyperslab::Hyperslab;
use crate::plan::Plan;
use crate::store::{ChunkStore, ReadCost};
use crate::threads::Threads;
use crate::variable::Variable;
use execute::{check_access, check_memory};
use piece::{Mover, check_store};
use progress::Tracker;
use read::Reading;
use single::Single;
use walk::Walk;
use write::Writing;

impl Plan<'_> {
    /// Reads what the plan selects into `out`, which has [`memory_bytes`](Self::memory_bytes) bytes, in native byte
    /// order.
    ///
    /// Every touched chunk is requested once, in the plan's order, and no other chunk is. After an error, the selected
    /// bytes of `out` are unspecified.
    ///
    /// # Errors
    /// Before any chunk is requested: `Memory` if `out` has another length, `Argument` if the plan is for writing, or
    /// for an array of variable-length strings. Otherwise the first error of a chunk, with its indices.
    pub fn read(&self, store: &ChunkStore<'_>, out: &mut [u8]) -> Result<()> {
        self.read_chunks(store, 0..self.num_chunks(), out, Options::default())
    }

    /// [`read`](Self::read) for some of the plan's chunks. Several threads may do so at the same time with ranges that
    /// do not overlap, each into memory of its own.
    ///
    /// # Errors
    /// Those of `read`; `Index` and `ChunkRange` if the plan has no such chunks.
    pub fn read_chunks(
        &self,
        store: &ChunkStore<'_>,
        chunks: Range<usize>,
        out: &mut [u8],
        options: Options<'_>,
    ) -> Result<()> {
        self.variable().check_bytes()?;
        read_chunks(Transfer::new(self, None, store, chunks, &options)?, out)
    }

    /// What it takes to [`read`](Self::read) what the plan selects with one thread, where chunks are in objects of a
    /// storage. No chunk is read: the storage is asked for indices, and for the lengths of objects that are chunks.
    /// What the store knows of indices already is not counted. Its cache of chunks is not considered.
    ///
    /// # Errors
    /// `Unsupported` for variable-length strings and for chunks of a callback; those of reading indices.
    pub fn read_cost(&self, store: &ChunkStore<'_>) -> Result<ReadCost> {
        Transfer::new(self, None, store, 0..self.num_chunks(), &Options::default())?.read_cost()
    }

    /// Writes `data`, which has [`memory_bytes`](Self::memory_bytes) bytes in native byte order, to what the plan
    /// selects.
    ///
    /// A chunk that the plan covers is written without being read. Any other chunk is read (or filled with the fill
    /// value if it is missing), changed and written. Each is written once, in the plan's order.
    ///
    /// # Errors
    /// Before anything is written: `Memory` if `data` has another length, `Argument` if the plan is for reading, or for
    /// an array of variable-length strings; `ReadOnly`. Otherwise the first error of a chunk, with its indices.
    pub fn write(&self, store: &ChunkStore<'_>, data: &[u8]) -> Result<()> {
        self.write_chunks(store, 0..self.num_chunks(), data, Options::default())
    }

    /// [`write`](Self::write) for some of the plan's chunks. Several threads may do so at the same time with ranges
    /// that do not overlap.
    ///
    /// # Errors
    /// Those of `write`; `Index` and `ChunkRange` if the plan has no such chunks.
    pub fn write_chunks(
        &self,
        store: &ChunkStore<'_>,
        chunks: Range<usize>,
        data: &[u8],
        options: Options<'_>,
    ) -> Result<()> {
        self.variable().check_bytes()?;
        Transfer::new(self, None, store, chunks, &options)?.write(data.into(), &mut 0)
    }

    /// Moves the box of the i-th chunk from the chunk's bytes, decoded and in stored byte order, to memory.
    ///
    /// # Errors
    /// `Index`, `Memory` if `out` has another length than the plan's memory, `StoredLength` if `chunk` has not the
    /// length of a chunk; `Argument` if the plan is for writing.
    #[doc(hidden)]
    pub fn copy_from_chunk(&self, i: usize, chunk: &[u8], mut out: Destination<'_>) -> Result<()> {
        let mut walk = self.at_chunk(i, Access::Read, chunk.len(), out.len())?;
        Mover::new(self.variable(), Access::Read).read_chunk(&walk.piece()?, chunk, 0, &mut out)
    }

    /// Moves the box of the i-th chunk from memory to the chunk; for a plan for writing.
    ///
    /// # Errors
    /// Those of [`copy_from_chunk`](Self::copy_from_chunk), for a plan for reading.
    #[doc(hidden)]
    pub fn copy_to_chunk(&self, i: usize, data: Source<'_>, mut chunk: Destination<'_>) -> Result<()> {
        let mut walk = self.at_chunk(i, Access::Write, chunk.len(), data.len())?;
        Mover::new(self.variable(), Access::Write).write_chunk(&walk.piece()?, data, &mut chunk)
    }

    fn at_chunk(&self, i: usize, access: Access, chunk_len: usize, memory_len: usize) -> Result<Walk<'_>> {
        check_access(self, access)?;
        check_memory(self, memory_len)?;
        let mut walk = Walk::new(self, Volume::Small);
        walk.begin(i)?;
        let expected = walk.chunk_bytes();
        if chunk_len != expected {
            return Err(ErrorKind::StoredLength { found: chunk_len, expected }.into());
        }
        Ok(walk)
    }
}

/// Execution from what was prepared.
impl Prepared {
    /// [`Plan::read`], from what was prepared.
    ///
    /// # Errors
    /// Those of [`Plan::read`].
    pub fn read(&self, store: &ChunkStore<'_>, out: &mut [u8]) -> Result<()> {
        self.read_chunks(store, 0..self.num_chunks(), out, Options::default())
    }

    /// [`Plan::read_chunks`], from what was prepared.
    ///
    /// # Errors
    /// Those of [`Plan::read_chunks`].
    pub fn read_chunks(
        &self,
        store: &ChunkStore<'_>,
        chunks: Range<usize>,
        out: &mut [u8],
        options: Options<'_>,
    ) -> Result<()> {
        self.variable().check_bytes()?;
        check_memory(self, out.len())?;
        // SAFETY: reading writes bytes of chunks and fill values, which are initialised.
        #[allow(unsafe_code)]
        let out = unsafe { alloc::as_uninit(out) };
        read_prepared((self, store), chunks, out.into(), &options, &mut 0)
    }

    /// [`Plan::write`], from what was prepared.
    ///
    /// # Errors
    /// Those of [`Plan::write`].
    pub fn write(&self, store: &ChunkStore<'_>, data: &[u8]) -> Result<()> {
        self.write_chunks(store, 0..self.num_chunks(), data, Options::default())
    }

    /// [`Plan::write_chunks`], from what was prepared.
    ///
    /// # Errors
    /// Those of [`Plan::write_chunks`].
    pub fn write_chunks(
        &self,
        store: &ChunkStore<'_>,
        chunks: Range<usize>,
        data: &[u8],
        options: Options<'_>,
    ) -> Result<()> {
        self.variable().check_bytes()?;
        Transfer::new(self, Some(self), store, chunks, &options)?.write(data.into(), &mut 0)
    }
}

/// Reads some chunks of a prepared plan, as [`Transfer::read`] does.
#[inline]
pub fn read_prepared(
    (prepared, store): (&Prepared, &ChunkStore<'_>),
    chunks: Range<usize>,
    mut out: Destination<'_>,
    options: &Options<'_>,
    done: &mut usize,
) -> Result<()> {
    match (prepared.element(), store.lender()) {
        // There is one chunk.
        (Some(element), Some(lender)) if chunks == (0..1) && options.progress.is_none() => {
            element.read(prepared.variable(), lender, &mut out)?;
            *done = 1;
            Ok(())
        }
        _ => read_some_chunks((prepared, store), chunks, out, options, done),
    }
}

#[inline(never)]
fn read_some_chunks(
    (prepared, store): (&Prepared, &ChunkStore<'_>),
    chunks: Range<usize>,
    out: Destination<'_>,
    options: &Options<'_>,
    done: &mut usize,
) -> Result<()> {
    Transfer::new(prepared, Some(prepared), store, chunks, options)?.read(out, done)
}

/// Reads what a transfer is for into memory that is in use.
fn read_chunks(transfer: Transfer<'_>, out: &mut [u8]) -> Result<()> {
    // SAFETY: reading writes bytes of chunks and fill values, which are initialised.
    #[allow(unsafe_code)]
    let out: &mut [MaybeUninit<u8>] = unsafe { alloc::as_uninit(out) };
    transfer.read(out.into(), &mut 0)
}

/// Reads a hyperslab into the memory that `out` gives for so many bytes, row-major and without gaps. `done` receives
/// the number of chunks that were read.
#[inline]
pub fn read<'o>(
    variable: &Variable,
    store: &ChunkStore<'_>,
    hyperslab: &Hyperslab<'_>,
    out: impl FnOnce(usize) -> Result<Destination<'o>>,
    options: &Options<'_>,
    done: &mut usize,
) -> Result<()> {
    let mut single = Single::new();
    if !single.find::<false>(variable, hyperslab) {
        return read_plan(variable, store, hyperslab, out, options, done);
    }
    let mut out = out(single.selected_bytes())?;
    match (single.element(), store.lender()) {
        (Some(element), Some(lender)) if options.progress.is_none() && variable.copier().is_none() => {
            element.read(variable, lender, &mut out)?;
            *done = 1;
            Ok(())
        }
        _ => read_one_chunk((variable, store, hyperslab), &single, out, options, done),
    }
}

/// Reads a hyperslab that touches one chunk.
#[inline(never)]
fn read_one_chunk(
    (variable, store, hyperslab): (&Variable, &ChunkStore<'_>, &Hyperslab<'_>),
    single: &Single,
    mut out: Destination<'_>,
    options: &Options<'_>,
    done: &mut usize,
) -> Result<()> {
    if store.with_latency().is_some() && store.ranged().is_some() {
        // Several ranges of the chunk can be on their way at the same time.
        return read_plan(variable, store, hyperslab, |_| Ok(out), options, done);
    }
    out.expect_all_if(|| true);
    one_chunk(variable, store, single, Access::Read, options, done, || {
        let turn = store.cache().filter(|_| options.uses_cache).map(|cache| cache.begin());
        let mut reading = Reading::new(variable, store, turn, Threads::ONE);
        if store.is_concurrent() && variable.copier().is_none() {
            reading.threads = options.threads();
        }
        reading.single(single, &mut out)
    })
}

/// Reads a hyperslab by a plan: see [`read`].
#[inline(never)]
fn read_plan<'o>(
    variable: &Variable,
    store: &ChunkStore<'_>,
    hyperslab: &Hyperslab<'_>,
    out: impl FnOnce(usize) -> Result<Destination<'o>>,
    options: &Options<'_>,
    done: &mut usize,
) -> Result<()> {
    let mut plan = Plan::of_nothing(variable, Access::Read);
    plan.select(hyperslab)?;
    let out = out(plan.selected_bytes())?;
    Transfer::new(&plan, None, store, 0..plan.num_chunks(), options)?.read(out, done)
}

/// Writes a hyperslab from the memory that `data` gives for so many bytes, row-major and without gaps. `done` receives
/// the number of chunks that were written.
pub fn write<'d>(
    variable: &Variable,
    store: &ChunkStore<'_>,
    hyperslab: &Hyperslab<'_>,
    data: impl FnOnce(usize) -> Result<Source<'d>>,
    options: &Options<'_>,
    done: &mut usize,
) -> Result<()> {
    let mut single = Single::new();
    if single.find::<true>(variable, hyperslab) {
        let data = data(single.selected_bytes())?;
        return one_chunk(variable, store, &single, Access::Write, options, done, || {
            Writing::new(variable, store, options.threads()).single(&single, data)
        });
    }
    let mut plan = Plan::of_nothing(variable, Access::Write);
    plan.select(hyperslab)?;
    let data = data(plan.selected_bytes())?;
    Transfer::new(&plan, None, store, 0..plan.num_chunks(), options)?.write(data, done)
}

/// Transfers a request that touches one chunk.
#[inline(never)]
fn one_chunk(
    variable: &Variable,
    store: &ChunkStore<'_>,
    single: &Single,
    access: Access,
    options: &Options<'_>,
    done: &mut usize,
    one: impl FnOnce() -> Result<()>,
) -> Result<()> {
    check_store(variable, store, access)?;
    let bytes = single.selected_bytes();
    let tracker = Tracker::new(options.progress.is_some(), 1, bytes);
    tracker.ask(options.progress)?;
    one().map_err(|error| error.in_chunk(single.indices()))?;
    *done = 1;
    tracker.add(|| bytes);
    tracker.finish(options.progress);
    Ok(())
}

#[cfg(test)]
mod tests;
