//! What the caller learns while a transfer runs, and how it may end it.

use std::ffi::c_int;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::copy;
use crate::error::{ErrorKind, Result};
use crate::plan::Plan;

/// The progress of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Chunks done.
    pub chunks_done: usize,
    /// Chunks in total.
    pub num_chunks: usize,
    /// Bytes of memory that have been read or written.
    pub bytes_done: usize,
    /// Bytes of memory that the transfer reads or writes, in total.
    pub num_bytes: usize,
}

impl Progress {
    /// What a call that consists of several transfers has done.
    #[doc(hidden)]
    pub fn new((chunks_done, num_chunks): (usize, usize), (bytes_done, num_bytes): (usize, usize)) -> Self {
        Progress { chunks_done, num_chunks, bytes_done, num_bytes }
    }
}

/// A progress callback. The calling thread calls it before each chunk that it transfers and after the last one. If it
/// returns anything but 0 before that last call, the transfer ends with that status.
pub type ProgressFunction<'a> = &'a dyn Fn(Progress) -> c_int;

/// Counts what is done of a transfer, for its progress function.
pub(super) struct Tracker {
    is_used: bool,
    chunks_done: AtomicUsize,
    bytes_done: AtomicUsize,
    num_chunks: usize,
    num_bytes: usize,
}

impl Tracker {
    /// A tracker for chunks and bytes of memory, or one that counts nothing because nobody asks.
    pub(super) fn new(is_used: bool, num_chunks: usize, num_bytes: usize) -> Self {
        let (chunks_done, bytes_done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Tracker { is_used, chunks_done, bytes_done, num_chunks, num_bytes }
    }

    /// A tracker for some chunks of a plan.
    pub(super) fn of_plan(is_used: bool, plan: &Plan<'_>, chunks: &Range<usize>) -> Self {
        if !is_used {
            return Tracker::new(false, 0, 0);
        }
        let elements = plan.elements_before(chunks.end) - plan.elements_before(chunks.start);
        Tracker::new(true, chunks.len(), elements * plan.variable().element_size())
    }

    /// Notes that a chunk is done, of which so many bytes of memory were read or written.
    #[inline]
    pub(super) fn add(&self, bytes: impl FnOnce() -> usize) {
        if self.is_used {
            self.bytes_done.fetch_add(bytes(), Relaxed);
            self.chunks_done.fetch_add(1, Relaxed);
        }
    }

    fn progress(&self) -> Progress {
        Progress {
            chunks_done: self.chunks_done.load(Relaxed),
            num_chunks: self.num_chunks,
            bytes_done: self.bytes_done.load(Relaxed),
            num_bytes: self.num_bytes,
        }
    }

    fn tell(&self, progress: ProgressFunction<'_>) -> c_int {
        // The callback that learns that chunks are done may notify another thread.
        copy::fence();
        progress(self.progress())
    }

    /// Asks whether to go on.
    #[inline]
    pub(super) fn ask(&self, progress: Option<ProgressFunction<'_>>) -> Result<()> {
        match progress.map_or(0, |progress| self.tell(progress)) {
            0 => Ok(()),
            status => Err(ErrorKind::Stopped(status).into()),
        }
    }

    /// Tells that all is done.
    #[inline]
    pub(super) fn finish(&self, progress: Option<ProgressFunction<'_>>) {
        // There is nothing left that the answer could end.
        if let Some(progress) = progress {
            self.tell(progress);
        }
    }
}
