//! The indices of shards that were read last. A chunk is read by one only if the shard has the same version still.

use std::collections::HashMap;
use std::mem::size_of;

use super::layout::{Index, Layout};
use crate::dims::Dims;
use crate::error::{ErrorKind, Result};
use crate::lock::Lock;
use crate::open_object::ObjectState;
use crate::shared::Shared;

/// The index of a shard, and the shard's state when it was read.
pub(super) struct Opened {
    pub index: Index,
    pub state: ObjectState,
}

/// How many bytes the indices take that are kept, unless a single one takes more.
const BYTES: usize = 4 << 20;

/// The indices of shards that were read last: as many as fit in 4 MiB, and at least one.
///
/// They are in two halves. What is used comes to the new half; when that is full it becomes the old one, and what was
/// in the old half is forgotten.
pub(super) struct Indices {
    kept: Lock<Halves>,
    /// How many indices a half has room for.
    most: usize,
}

#[derive(Default)]
struct Halves {
    new: HashMap<Dims<isize>, Shared<Opened>>,
    old: HashMap<Dims<isize>, Shared<Opened>>,
    /// How often an index was forgotten.
    forgotten: u64,
}

impl Halves {
    fn keep(&mut self, shard: Dims<isize>, opened: Shared<Opened>, most: usize) -> Result<()> {
        if self.new.len() >= most && !self.new.contains_key(&shard) {
            self.old = std::mem::take(&mut self.new);
        }
        self.new.try_reserve(1).map_err(|_| ErrorKind::OutOfMemory)?;
        self.new.insert(shard, opened);
        Ok(())
    }
}

impl Indices {
    pub(super) fn new(layout: &Layout) -> Self {
        let places = layout.num_chunks().saturating_mul(size_of::<(u64, u64)>());
        // A map has up to twice the room that it needs.
        let one = places.saturating_add(2 * size_of::<(Dims<isize>, Shared<Opened>, Opened)>());
        Indices { kept: Lock::new(Halves::default()), most: BYTES / 2 / one }
    }

    pub(super) fn get(&self, shard: &[isize]) -> Option<Shared<Opened>> {
        let mut kept = self.kept.lock()?;
        if let Some(opened) = kept.new.get(shard) {
            return Some(opened.clone());
        }
        let (shard, opened) = kept.old.remove_entry(shard)?;
        // If there is no memory to keep it, it is forgotten.
        let _ = kept.keep(shard, opened.clone(), self.most);
        Some(opened)
    }

    /// How often an index was forgotten so far: to be told to [`keep`](Self::keep) by who is about to read one.
    pub(super) fn forgotten(&self) -> u64 {
        self.kept.lock().map_or(0, |kept| kept.forgotten)
    }

    /// Keeps an index, unless one was forgotten since it was asked for: then it may be that of a shard which has been
    /// replaced.
    pub(super) fn keep(&self, shard: Dims<isize>, opened: &Shared<Opened>, forgotten: u64) -> Result<()> {
        let Some(mut kept) = self.kept.lock().filter(|kept| kept.forgotten == forgotten) else { return Ok(()) };
        kept.old.remove(&shard);
        kept.keep(shard, opened.clone(), self.most)?;
        // Of indices that take more than a half each, one is enough.
        if self.most == 0 {
            kept.old.clear();
        }
        Ok(())
    }

    pub(super) fn forget(&self, shard: &[isize]) {
        if let Some(mut kept) = self.kept.lock() {
            kept.new.remove(shard);
            kept.old.remove(shard);
            kept.forgotten += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::layout::IndexFormat;
    use super::*;
    use crate::variable::Endian;

    /// How many of so many indices are kept, of shards with so many chunks, and whether the last one is.
    fn kept(num_chunks: usize, num_shards: isize) -> (usize, bool) {
        let format = IndexFormat { at_start: false, endian: Endian::Little, has_checksum: false };
        let layout = Layout::new(&[num_chunks], None, format).unwrap();
        let (indices, bytes) = (Indices::new(&layout), vec![0xff; layout.index_bytes()]);
        let shard = |i| crate::dims::copied([i].into_iter()).unwrap();
        for i in 0..num_shards {
            let opened = Opened { index: layout.decode(&bytes).unwrap(), state: (0, Some(0)) };
            indices.keep(shard(i), &Shared::new(opened).unwrap(), 0).unwrap();
            // What is used stays.
            assert_eq!(indices.get(&shard(0)).is_some(), num_chunks < 100_000 || i == 0);
        }
        let last = indices.get(&shard(num_shards - 1)).is_some();
        let kept = indices.kept.lock().unwrap();
        (kept.new.len() + kept.old.len(), last)
    }

    #[test]
    fn indices_are_kept_up_to_so_many_bytes() {
        assert_eq!(kept(4, 500), (500, true));
        let (small, last) = kept(1000, 1000);
        assert!((125..=260).contains(&small) && last, "{small}");
        assert_eq!(kept(1 << 20, 3), (1, true));
    }

    #[test]
    fn what_is_forgotten_is_gone() {
        let format = IndexFormat { at_start: false, endian: Endian::Little, has_checksum: false };
        let layout = Layout::new(&[1], None, format).unwrap();
        let indices = Indices::new(&layout);
        let opened = Opened { index: layout.decode(&[0xff; 16]).unwrap(), state: (7, Some(0)) };
        let opened = Shared::new(opened).unwrap();
        let keep = |forgotten| {
            indices.keep(crate::dims::copied([1isize, 2].into_iter()).unwrap(), &opened, forgotten).unwrap();
        };
        let asked = indices.forgotten();
        keep(asked);
        assert_eq!(indices.get(&[1, 2]).unwrap().state.0, 7);
        indices.forget(&[1, 2]);
        assert!(indices.get(&[1, 2]).is_none());
        // What was asked for before that is not kept any more.
        keep(asked);
        assert!(indices.get(&[1, 2]).is_none());
        keep(indices.forgotten());
        assert!(indices.get(&[1, 2]).is_some());
    }
}
