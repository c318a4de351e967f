//! Which chunks a transfer has wanted that was too large for the cache: a second one that wants them has them kept.

/// How many chunks are remembered, which takes 16 bytes each.
const CAPACITY: usize = 1024;

/// Chunks that were wanted and not kept, by their hashes. If two chunks have the same hash, one of them may be kept
/// early.
pub(super) struct Marks(Vec<Mark>);

#[derive(Clone, Copy)]
struct Mark {
    hash: u64,
    transfer: u64,
}

impl Marks {
    /// No marks, and no memory.
    pub(super) const NONE: Marks = Marks(Vec::new());

    /// Whether an earlier transfer has marked a chunk, which this one marks now. `None` if there is no room for a mark:
    /// of many chunks that one transfer wants the first are marked.
    pub(super) fn find_or_mark(&mut self, hash: u64, transfer: u64) -> Option<bool> {
        if self.0.is_empty() {
            self.0.try_reserve_exact(CAPACITY).ok()?;
            self.0.resize(CAPACITY, Mark { hash: 0, transfer: 0 });
        }
        let mark = self.0.get_mut(hash as usize % CAPACITY).filter(|mark| mark.transfer != transfer)?;
        let is_found = mark.hash == hash && mark.transfer != 0;
        *mark = Mark { hash, transfer };
        Some(is_found)
    }
}
