//! The models, a file for each of the library's files.

mod cache;
mod lock;
mod pool;
mod queue;
mod shared;
mod threads;
mod transfer;

use loom::cell::UnsafeCell;

use crate::Model;

pub(crate) const ALL: &[&[Model]] =
    &[shared::MODELS, pool::MODELS, lock::MODELS, cache::MODELS, queue::MODELS, threads::MODELS, transfer::MODELS];

/// Something that only one thread may use at a time. If two do, or one does before what another has done to it has
/// reached it, the model fails.
pub(crate) struct Exclusive(UnsafeCell<usize>);

// SAFETY: loom finds out whether two threads use the cell at the same time, and ends the model before they do.
unsafe impl Sync for Exclusive {}

impl Exclusive {
    pub(crate) fn new() -> Self {
        Exclusive(UnsafeCell::new(0))
    }

    /// Uses it, and tells how often it was used before.
    pub(crate) fn change(&self) -> usize {
        // SAFETY: as said above, no other thread uses the cell.
        self.0.with_mut(|uses| unsafe {
            *uses += 1;
            *uses - 1
        })
    }

    /// Looks at it, which several threads may do at the same time if none changes it; tells how often it was changed.
    pub(crate) fn look(&self) -> usize {
        // SAFETY: as said above, no other thread changes the cell.
        self.0.with(|uses| unsafe { *uses })
    }
}
