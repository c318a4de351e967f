//! What a transfer may use, and whom it tells.

use super::progress::ProgressFunction;

/// What a transfer may use, and whom it tells.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    pub(super) threads: usize,
    pub(super) progress: Option<ProgressFunction<'a>>,
}

impl Default for Options<'_> {
    /// One thread, which is the caller's, and nobody who is told.
    fn default() -> Self {
        Options { threads: 1, progress: None }
    }
}

impl<'a> Options<'a> {
    #[inline]
    pub(super) fn is_default(&self) -> bool {
        self.threads <= 1 && self.progress.is_none()
    }

    /// The same with up to so many threads, the caller's included and never more than 256. They are spawned if the
    /// store is [concurrent](crate::ChunkStore::is_concurrent), the variable has no copier, no two elements that are
    /// read share memory, and there is enough work for them.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        Options { threads, ..self }
    }

    /// The same with a function that is told how far the transfer has come, and may end it.
    #[must_use]
    pub fn with_progress(self, progress: ProgressFunction<'a>) -> Self {
        Options { progress: Some(progress), ..self }
    }
}
