//! Which worker does which chunk, and what became of it.
//!
//! Chunks are handed out in the plan's order, a block of them at a time. When one fails, those after it are not begun
//! any more, but all before it are, so the first in order that fails is always found, however many workers there are.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, Result};

/// For each worker a block is one of so many equal parts of what is not handed out yet. So blocks become ever smaller,
/// and at the end no worker waits for more than another's last chunk.
const BLOCKS: usize = 16;

pub struct Queue {
    begin: usize,
    /// Where the chunks end.
    last: usize,
    next: AtomicUsize,
    /// Chunks from this one on are not to be begun: at first the end of the chunks, then the first that failed.
    end: AtomicUsize,
    failure: Mutex<Option<Error>>,
}

impl Queue {
    #[inline]
    pub fn new(chunks: Range<usize>) -> Self {
        let (next, end) = (AtomicUsize::new(chunks.start), AtomicUsize::new(chunks.end));
        Queue { begin: chunks.start, last: chunks.end, next, end, failure: Mutex::new(None) }
    }

    /// How many chunks there are.
    pub(super) fn num_chunks(&self) -> usize {
        self.last - self.begin
    }

    /// How many chunks are not handed out yet.
    pub(super) fn num_waiting(&self) -> usize {
        self.end.load(Relaxed).saturating_sub(self.next.load(Relaxed))
    }

    /// How many chunks one of so many workers should take next.
    pub(super) fn block(&self, workers: usize) -> usize {
        if workers == 1 { self.num_waiting() } else { self.num_waiting().div_ceil(workers.saturating_mul(BLOCKS)) }
    }

    /// The next chunks to do, at most so many.
    #[inline]
    pub fn take(&self, block: usize) -> Option<Range<usize>> {
        // There are at most isize::MAX chunks, and each worker adds to the number once after the last: it does not
        // wrap.
        let begin = self.next.fetch_add(block, Relaxed);
        let end = self.end.load(Relaxed);
        (begin < end).then(|| begin..end.min(begin.saturating_add(block)))
    }

    /// Whether a chunk that was handed out is still to be done.
    #[inline]
    pub(super) fn wants(&self, chunk: usize) -> bool {
        chunk < self.end.load(Relaxed)
    }

    /// Notes that a chunk failed, or that it is the first that is not to be done.
    #[cold]
    pub fn fail(&self, chunk: usize, error: Error) {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        if chunk < self.end.load(Relaxed) {
            self.end.store(chunk, Relaxed);
            *failure = Some(error);
        }
    }

    /// Notes that no chunk can be done, and why.
    #[cold]
    pub fn fail_all(&self, error: Error) {
        self.fail(self.begin, error);
    }

    /// Whether some chunks are not to be done any more.
    pub(super) fn has_failed(&self) -> bool {
        self.end.load(Relaxed) < self.last
    }

    /// When all workers have returned: how many chunks, from the first on, were done, and the failure after them.
    #[inline]
    pub fn finish(self, done: &mut usize) -> Result<()> {
        *done = self.end.into_inner() - self.begin;
        self.failure.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_become_smaller_until_the_last_are_of_one_chunk() {
        let (queue, mut lens) = (Queue::new(5..1005), Vec::new());
        while let Some(block) = queue.take(queue.block(2)) {
            lens.push(block.len());
        }
        assert_eq!((lens.iter().sum::<usize>(), lens[0]), (1000, 32));
        assert!(lens.is_sorted_by(|a, b| a >= b) && lens[lens.len() - 32..].iter().all(|&len| len == 1));
    }
}
