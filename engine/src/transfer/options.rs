//! The options of a transfer: threads and progress.

use super::progress::ProgressFunction;
use crate::threads::{Team, Threads};

/// No transfer uses more threads, because each takes a stack.
pub(super) const MAX_THREADS: usize = 256;

/// What a transfer may use, and whom it tells.
///
/// Beside the caller's memory a transfer that writes takes, for each thread, a decoded chunk of the write grid (such as
/// a shard) and what it is encoded to, as often as it has codecs but twice at most. Where writes are in flight, the
/// chunks on their way take the bytes that they are stored with, together up to the limit of the storage, or 256 MiB if
/// it names none; a single larger one is not refused.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    pub(super) threads: usize,
    team: Option<&'a Team>,
    pub(super) progress: Option<ProgressFunction<'a>>,
    pub(super) bytes_in_flight: usize,
    pub(super) uses_cache: bool,
}

impl Default for Options<'_> {
    /// One thread, which is the caller's, and no progress callback.
    fn default() -> Self {
        Options { threads: 1, team: None, progress: None, bytes_in_flight: usize::MAX, uses_cache: true }
    }
}

impl<'a> Options<'a> {
    /// The threads that a transfer may use.
    #[doc(hidden)]
    pub fn threads(&self) -> Threads<'a> {
        Threads::new(self.threads.min(MAX_THREADS), self.team)
    }

    #[inline]
    pub(super) fn is_default(&self) -> bool {
        self.threads <= 1 && self.progress.is_none() && self.uses_cache
    }

    /// The progress callback.
    #[doc(hidden)]
    pub fn progress(&self) -> Option<ProgressFunction<'a>> {
        self.progress
    }

    /// The same with at most so many bytes on their way from or to a storage with latency, unless a single chunk has
    /// more. The limit of the storage applies, too.
    #[must_use]
    pub fn with_bytes_in_flight(self, bytes: usize) -> Self {
        Options { bytes_in_flight: bytes, ..self }
    }

    /// The same without the store's cache: nothing is looked for there, and nothing that is read is kept.
    #[must_use]
    pub fn without_cache(self) -> Self {
        Options { uses_cache: false, ..self }
    }

    /// The same with up to this many threads, including the caller's, and never more than 256. They are spawned if the
    /// store is [concurrent](crate::ChunkStore::is_concurrent), the variable has no copier, no two elements that are
    /// read share memory, and there is enough work for them.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        Options { threads, ..self }
    }

    /// The same with a team, where the threads stay for the next transfer: to wake one takes a fraction of the time to
    /// spawn one.
    ///
    /// ```
    /// use nczchunk::{Access, ChunkStore, Hyperslab, Options, Plan, Team, Variable};
    ///
    /// let variable = Variable::new(&[4], &[2], 1)?;
    /// let chunks = |request: &nczchunk::Request<'_>, buffer: &mut nczchunk::Buffer<'_>| {
    ///     buffer.write(&[request.chunk()[0] as u8; 2]);
    ///     Ok(nczchunk::Filled::Stored(2))
    /// };
    /// let store = ChunkStore::new(chunks)?;
    /// let team = Team::new();
    /// let options = Options::default().with_threads(4).with_team(&team);
    /// let plan = Plan::new(&variable, &Hyperslab::all(), Access::Read)?;
    /// let mut out = [9; 4];
    /// plan.read_chunks(&store, 0..plan.num_chunks(), &mut out, options)?;
    /// assert_eq!(out, [0, 0, 1, 1]);
    /// # Ok::<(), nczchunk::Error>(())
    /// ```
    #[must_use]
    pub fn with_team(self, team: &'a Team) -> Self {
        Options { team: Some(team), ..self }
    }

    /// The same with a progress callback, which may end the transfer.
    #[must_use]
    pub fn with_progress(self, progress: ProgressFunction<'a>) -> Self {
        Options { progress: Some(progress), ..self }
    }
}
