//! Chunks that one thread has received and others decode: where there are fewer objects than threads, or too few chunks
//! for each thread to have requests of its own.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::alloc::Scratch;
use crate::cache::Turn;
use crate::error::{ErrorKind, Result};

/// What is stored of a chunk.
pub(super) struct StoredChunk {
    /// The number of the chunk in the plan.
    pub chunk: usize,
    /// When it was asked for, as far as the store's cache is concerned.
    pub turn: Option<Turn>,
    /// It begins with so many bytes, which are the chunk's.
    pub memory: Scratch,
    pub len: usize,
}

/// The chunks that have been handed over and not been taken, a few at most.
pub(super) struct Handed {
    state: Mutex<State>,
    changed: Condvar,
    helpers: usize,
}

struct State {
    chunks: VecDeque<StoredChunk>,
    /// How many threads may still hand over chunks.
    receivers: usize,
    /// Memory of chunks that have been decoded.
    spare: Vec<Scratch>,
}

impl Handed {
    /// For so many threads that receive chunks, and so many that only decode.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(super) fn new(receivers: usize, helpers: usize) -> Result<Self> {
        let (mut chunks, mut spare) = (VecDeque::new(), Vec::new());
        if helpers > 0 {
            // Each receiver may have found that there is room for one more.
            chunks.try_reserve(helpers + receivers).map_err(|_| ErrorKind::OutOfMemory)?;
            spare.try_reserve(helpers + receivers).map_err(|_| ErrorKind::OutOfMemory)?;
        }
        let state = State { chunks, receivers: 0, spare };
        Ok(Handed { state: Mutex::new(state), changed: Condvar::new(), helpers })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No panic leaves the state half-changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As long as it lives this thread may hand over chunks.
    pub(super) fn receiver(&self) -> Receiver<'_> {
        self.state().receivers += 1;
        Receiver(self)
    }

    /// How many threads only decode.
    pub(super) fn helpers(&self) -> usize {
        self.helpers
    }

    /// Memory for another chunk, if one may be handed over.
    pub(super) fn room(&self) -> Option<Scratch> {
        if self.helpers == 0 {
            return None;
        }
        let mut state = self.state();
        (state.chunks.len() < self.helpers).then(|| state.spare.pop().unwrap_or(Scratch::EMPTY))
    }

    /// Hands over a chunk, for which there was [room](Self::room).
    pub(super) fn push(&self, chunk: StoredChunk) {
        self.state().chunks.push_back(chunk);
        self.changed.notify_one();
    }

    /// The next chunk, which is waited for; `None` if no more come.
    pub(super) fn next(&self) -> Option<StoredChunk> {
        let mut state = self.state();
        loop {
            match state.chunks.pop_front() {
                None if state.receivers > 0 => {
                    state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                next => return next,
            }
        }
    }

    /// Gives back the memory of a chunk.
    pub(super) fn recycle(&self, memory: Scratch) {
        let mut state = self.state();
        if state.spare.len() < state.spare.capacity() {
            state.spare.push(memory);
        }
    }
}

/// A thread that may hand over chunks.
#[must_use]
pub(super) struct Receiver<'h>(&'h Handed);

impl Drop for Receiver<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.receivers -= 1;
        if state.receivers == 0 {
            self.0.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    fn stored(chunk: usize) -> StoredChunk {
        StoredChunk { chunk, turn: None, memory: Scratch::EMPTY, len: 0 }
    }

    #[test]
    fn what_is_handed_over_is_taken_once_and_in_order_until_no_receiver_is_left() {
        let handed = Handed::new(2, 2).unwrap();
        let (one, other) = (handed.receiver(), handed.receiver());
        let taken = thread::scope(|scope| {
            let helper = || std::iter::from_fn(|| handed.next()).map(|chunk| chunk.chunk).collect::<Vec<_>>();
            let helpers = [scope.spawn(helper), scope.spawn(helper)];
            for chunk in 0..100 {
                while handed.room().is_none() {
                    thread::yield_now();
                }
                handed.push(stored(chunk));
            }
            drop(one);
            handed.push(stored(100));
            drop(other);
            helpers.map(|helper| helper.join().unwrap())
        });
        assert!(taken.iter().all(|taken| taken.is_sorted()));
        let mut all = taken.concat();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..=100));
    }

    #[test]
    fn no_more_wait_than_there_are_helpers() {
        let handed = Handed::new(1, 0).unwrap();
        assert!(handed.room().is_none() && handed.next().is_none());
        let handed = Handed::new(1, 2).unwrap();
        let receiver = handed.receiver();
        (0..2).for_each(|chunk| handed.push(stored(chunk)));
        assert!(handed.room().is_none());
        assert!(handed.next().is_some_and(|chunk| chunk.chunk == 0) && handed.room().is_some());
        drop(receiver);
        assert!(handed.next().is_some() && handed.next().is_none());
    }
}
