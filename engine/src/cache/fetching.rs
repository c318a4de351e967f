//! Which threads fetch chunks that a cache is to keep. They wait for nobody.
//!
//! What fetches a chunk is the caller's code, which may read by this library itself, by the same store, too. If it
//! waited there for a chunk that another thread fetches, or for its own, that could go on for ever. So a chunk that is
//! being fetched is waited for only by threads that fetch none.

use std::cell::Cell;
use std::marker::PhantomData;

// loom's macro, which takes the place of this one in the models, knows no constants.
#[allow(clippy::missing_const_for_thread_local)]
mod local {
    use std::cell::Cell;

    std::thread_local! {
        /// How many chunks this thread fetches: more than one if it does so while it fetches another.
        pub(super) static CHUNKS: Cell<usize> = Cell::new(0);
    }
}
use local::CHUNKS;

/// A chunk that this thread fetches, or another one for which this thread works.
pub struct Fetching(PhantomData<*const ()>);

impl Fetching {
    pub(super) fn new() -> Self {
        CHUNKS.with(|chunks| chunks.set(chunks.get() + 1));
        Fetching(PhantomData)
    }

    /// Whether this thread fetches a chunk.
    pub(crate) fn is_under_way() -> bool {
        CHUNKS.with(Cell::get) > 0
    }

    /// For a thread that works for one which fetches a chunk, if `is_under_way` there.
    pub(crate) fn inherited(is_under_way: bool) -> Option<Self> {
        is_under_way.then(Fetching::new)
    }
}

impl Drop for Fetching {
    fn drop(&mut self) {
        CHUNKS.with(|chunks| chunks.set(chunks.get() - 1));
    }
}
