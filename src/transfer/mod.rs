//! Carrying out a plan: for each chunk of it, fetch the chunk, move its box, and store the chunk if it was written to.
//!
//! Reading and writing differ in the direction of the copy, and in that a write needs the rest of a chunk that it does not
//! cover.
//!
//! ```text
//!   Queue   which chunks are whose: all of them one worker's, or blocks of them any worker's
//!     |
//!   Walk    from one Piece to the next: the chunk's indices, and the box on either side
//!     |
//!   Mover   the copy prepared for boxes of that shape
//! ```

mod layout;
mod mover;
mod piece;
mod queue;
mod read;
mod team;
mod walk;
mod write;

use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};

pub use layout::Layout;
pub use piece::Piece;

use crate::alloc;
use crate::copy::{Destination, Source};
use crate::error::{ErrorKind, Result};
use crate::hyperslab::Access;
use crate::plan::Plan;
use crate::store::{Reader, Store};
use crate::variable::Variable;
use mover::Mover;
use queue::Queue;
use walk::Walk;

/// Reads what the plan selects into `out`, row-major without gaps and in native byte order; `out` has
/// `plan.selected_bytes()` bytes.
///
/// Every touched chunk is asked for once, in the plan's order, and no other. After an error the bytes of `out` are
/// unspecified.
///
/// # Errors
/// `Memory` if `out` has another length, before any chunk is asked for. Otherwise the first error of a chunk, with its
/// indices: the reader's own (`Callback`), `ChunkLength`, `NoData`, `Zstd`, `DecodedLength`, `OutOfMemory`.
pub fn read(variable: &Variable, plan: &Plan, store: &Store<'_>, out: &mut [u8]) -> Result<()> {
    // SAFETY: reading writes the bytes of chunks and fill values, which are initialised.
    #[allow(unsafe_code)]
    let out: &mut [MaybeUninit<u8>] = unsafe { alloc::as_uninit(out) };
    let layout = Layout::dense(plan)?;
    Transfer { variable, plan, layout: &layout, store, threads: 1 }.read(out.into(), &mut 0)
}

/// Writes `data` to what the plan selects, row-major without gaps and in native byte order; `data` has
/// `plan.selected_bytes()` bytes.
///
/// A chunk that the plan covers is written without being read; any other is read, or filled if it is absent, changed and
/// written, each once and in the plan's order.
///
/// # Errors
/// `Memory` if `data` has another length, before anything is written. Otherwise the first error of a chunk, with its
/// indices: those of [`read`], the writer's own, and `ReadOnly`.
pub fn write(variable: &Variable, plan: &Plan, store: &Store<'_>, data: &[u8]) -> Result<()> {
    let layout = Layout::dense(plan)?;
    Transfer { variable, plan, layout: &layout, store, threads: 1 }.write(data.into(), &mut 0)
}

/// No transfer uses more threads. Each takes a stack, and a system's are not for one call to use up.
const MAX_THREADS: usize = 256;

/// A transfer to be done: which elements of what, from or to where.
#[derive(Clone, Copy)]
pub struct Transfer<'a> {
    /// What the plan was made for.
    pub variable: &'a Variable,
    /// Which elements.
    pub plan: &'a Plan,
    /// Where they are in memory.
    pub layout: &'a Layout,
    /// Where chunks come from and go to.
    pub store: &'a Store<'a>,
    /// How many threads may work at the same time, this one included; above 256 as many as 256. More than one do if the
    /// store is [concurrent](Store::is_concurrent), the variable has no copier and, for a read, no two elements share memory.
    pub threads: usize,
}

impl Transfer<'_> {
    /// [`read()`], into memory of any layout, which need not be initialised. `done` receives the number of chunks that were
    /// read, in the plan's order.
    #[inline]
    pub fn read(&self, out: Destination<'_>, done: &mut usize) -> Result<()> {
        *done = 0;
        self.check(Access::Read, out.len())?;
        read::chunks(self, out, done)
    }

    /// [`write()`], from memory of any layout. `done` receives the number of chunks that were written, in the plan's order;
    /// the one after them failed. With one thread those after that were not tried.
    pub fn write(&self, data: Source<'_>, done: &mut usize) -> Result<()> {
        *done = 0;
        self.check(Access::Write, data.len())?;
        write::chunks(self, data, done)
    }

    fn check(&self, access: Access, len: usize) -> Result<()> {
        check(self.variable, self.store, access, len, self.layout.len(), self.plan.num_chunks())
    }

    /// How many threads are to work.
    fn workers(&self, access: Access) -> usize {
        let may_share = self.threads > 1
            && self.store.is_concurrent()
            && self.variable.copier().is_none()
            && (access == Access::Write || self.layout.is_disjoint(self.plan));
        if may_share { self.threads.min(MAX_THREADS).min(self.plan.num_chunks()).max(1) } else { 1 }
    }

    /// Has `work` done by each worker: it takes chunks from the queue until there are no more, by way of
    /// [`for_each_chunk`](Self::for_each_chunk). Counts the chunks done.
    #[inline]
    fn run(&self, access: Access, done: &mut usize, work: impl Fn(&Queue) + Sync) -> Result<()> {
        let workers = self.workers(access);
        let queue = Queue::new(self.plan.num_chunks(), workers);
        if workers == 1 {
            work(&queue);
        } else {
            team::run(workers, &|| {
                if catch_unwind(AssertUnwindSafe(|| work(&queue))).is_err() {
                    queue.fail(0, ErrorKind::Internal.into());
                }
            });
        }
        queue.finish(done)
    }

    /// Does `one` for each chunk that the queue has for this worker, with the mover ready for its piece. An error names the chunk.
    #[inline]
    fn for_each_chunk(
        &self,
        access: Access,
        queue: &Queue,
        mut one: impl FnMut(&mut Mover<'_>, &Piece<'_>) -> Result<()>,
    ) {
        let mut walk = Walk::new(self.variable, self.plan, self.layout);
        let mut mover = Mover::new(self.variable, self.store, access, self.plan.selected_bytes());
        while let Some(block) = queue.take() {
            if let Err(error) = walk.begin(block.start) {
                return queue.fail(block.start, error);
            }
            for chunk in block.clone() {
                if chunk > block.start {
                    walk.advance();
                }
                if !queue.wants(chunk) {
                    return;
                }
                if let Err(error) = mover.aim(walk.piece()).and_then(|()| one(&mut mover, walk.piece())) {
                    return queue.fail(chunk, error.in_chunk(walk.piece().chunk_indices()));
                }
            }
        }
    }
}

impl Piece<'_> {
    /// Reads the piece, if it is all of a request, into `out`, row-major without gaps. `done` receives 1, or 0 after an
    /// error, which names the chunk.
    #[inline]
    pub fn read(&self, store: &Store<'_>, out: Destination<'_>, done: &mut usize) -> Result<()> {
        self.transfer(store, Access::Read, out.len(), done, || read::piece(self, store, out))
    }

    /// Writes the piece, if it is all of a request, from `data`, row-major without gaps. `done` is as for `read`.
    pub fn write(&self, store: &Store<'_>, data: Source<'_>, done: &mut usize) -> Result<()> {
        self.transfer(store, Access::Write, data.len(), done, || write::piece(self, store, data))
    }

    #[inline]
    fn transfer(
        &self,
        store: &Store<'_>,
        access: Access,
        len: usize,
        done: &mut usize,
        one: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        *done = 0;
        check(self.variable(), store, access, len, self.selected_bytes(), 1)?;
        one().map_err(|error| error.in_chunk(self.chunk_indices()))?;
        *done = 1;
        Ok(())
    }
}

/// What has to hold before a chunk is asked for: that the memory has the length expected of it, and that the store can do what
/// is asked of it.
#[inline]
fn check(
    variable: &Variable,
    store: &Store<'_>,
    access: Access,
    len: usize,
    expected: usize,
    num_chunks: usize,
) -> Result<()> {
    if len != expected {
        return Err(ErrorKind::Memory { len }.into());
    }
    // Elements with a copier own what they point to, so they can only be copied where they are: in a chunk on loan.
    if variable.copier().is_some() && matches!(store.reader, Reader::Filling(_)) {
        return Err(ErrorKind::Argument("elements with a copier need a store that lends").into());
    }
    if access == Access::Write && num_chunks > 0 && !store.reader.is_writable() {
        return Err(ErrorKind::ReadOnly.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests;
