//! Which worker does which chunk, and what became of it.
//!
//! Chunks are handed out in the plan's order, a block of them at a time. When one fails, those after it are not begun any
//! more, but all before it are, so the first in order that fails is always found, however many workers there are.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, Result};

/// Blocks per worker: the more, the less a worker waits in the end for another's last block.
const BLOCKS: usize = 16;

pub(super) struct Queue {
    workers: usize,
    block: usize,
    next: AtomicUsize,
    /// Chunks from this one on are not to be begun: at first the number of chunks, then the first that failed.
    end: AtomicUsize,
    failure: Mutex<Option<Error>>,
}

impl Queue {
    #[inline]
    pub(super) fn new(num_chunks: usize, workers: usize) -> Self {
        let block = if workers == 1 { num_chunks } else { num_chunks.div_ceil(workers.saturating_mul(BLOCKS)) };
        let (next, end) = (AtomicUsize::new(0), AtomicUsize::new(num_chunks));
        Queue { workers, block, next, end, failure: Mutex::new(None) }
    }

    /// The next block of chunks to do.
    #[inline]
    pub(super) fn take(&self) -> Option<Range<usize>> {
        let begin = if self.workers == 1 {
            let begin = self.next.load(Relaxed);
            self.next.store(begin.saturating_add(self.block), Relaxed);
            begin
        } else {
            self.next.fetch_add(self.block, Relaxed)
        };
        let end = self.end.load(Relaxed);
        (begin < end).then(|| begin..end.min(begin.saturating_add(self.block)))
    }

    /// Whether a chunk of the block is still to be done.
    #[inline]
    pub(super) fn wants(&self, chunk: usize) -> bool {
        chunk < self.end.load(Relaxed)
    }

    /// Notes that a chunk failed.
    #[cold]
    pub(super) fn fail(&self, chunk: usize, error: Error) {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        if chunk < self.end.load(Relaxed) {
            self.end.store(chunk, Relaxed);
            *failure = Some(error);
        }
    }

    /// When all workers have returned: how many chunks, from the first on, were done, and the failure after them.
    #[inline]
    pub(super) fn finish(self, done: &mut usize) -> Result<()> {
        *done = self.end.into_inner();
        self.failure.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }
}
