//! The options of a transfer: threads and progress.

use super::progress::ProgressFunction;

/// The options of a transfer: threads and progress.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    pub(super) threads: usize,
    pub(super) progress: Option<ProgressFunction<'a>>,
}

impl Default for Options<'_> {
    /// One thread, which is the caller's, and no progress callback.
    fn default() -> Self {
        Options { threads: 1, progress: None }
    }
}

impl<'a> Options<'a> {
    #[inline]
    pub(super) fn is_default(&self) -> bool {
        self.threads <= 1 && self.progress.is_none()
    }

    /// The same with up to this many threads, including the caller's, and never more than 256. They are spawned if the
    /// store is [concurrent](crate::ChunkStore::is_concurrent), the variable has no copier, no two elements that are
    /// read share memory, and there is enough work for them.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        Options { threads, ..self }
    }

    /// The same with a progress callback, which may end the transfer.
    #[must_use]
    pub fn with_progress(self, progress: ProgressFunction<'a>) -> Self {
        Options { progress: Some(progress), ..self }
    }
}
