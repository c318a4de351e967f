//! The indices that were read last. A chunk is read by one only if its object has the same version still.

use std::collections::HashMap;
use std::mem::size_of;

use super::locate::Index;
use crate::dims::Dims;
use crate::error::{ErrorKind, Result};
use crate::lock::Lock;
use crate::open_object::ObjectState;
use crate::shared::Shared;

/// An index, and the state of its object when it was read.
pub(super) struct Opened {
    pub index: Index,
    pub state: ObjectState,
}

/// How many bytes the indices take that are kept, unless a single one takes more.
const BYTES: usize = 4 << 20;

/// The indices that were read last: as many as fit in 4 MiB, and at least one.
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
    /// About how long the objects are of which one was read.
    len: Option<u64>,
}

impl Halves {
    fn keep(&mut self, index: Dims<isize>, opened: Shared<Opened>, most: usize) -> Result<()> {
        if self.new.len() >= most && !self.new.contains_key(&index) {
            self.old = std::mem::take(&mut self.new);
        }
        self.new.try_reserve(1).map_err(|_| ErrorKind::OutOfMemory)?;
        self.new.insert(index, opened);
        Ok(())
    }
}

impl Indices {
    /// Of indices of so many chunks each.
    pub(super) fn new(num_chunks: usize) -> Self {
        let spans = num_chunks.saturating_mul(size_of::<(u64, u64)>());
        // A map has up to twice the room that it needs.
        let one = spans.saturating_add(2 * size_of::<(Dims<isize>, Shared<Opened>, Opened)>());
        Indices { kept: Lock::new(Halves::default()), most: BYTES / 2 / one }
    }

    pub(super) fn get(&self, index: &[isize]) -> Option<Shared<Opened>> {
        let mut kept = self.kept.lock()?;
        if let Some(opened) = kept.new.get(index) {
            return Some(opened.clone());
        }
        let (index, opened) = kept.old.remove_entry(index)?;
        // If there is no memory to keep it, it is forgotten.
        let _ = kept.keep(index, opened.clone(), self.most);
        Some(opened)
    }

    /// How often an index was forgotten so far: to be told to [`keep`](Self::keep) by who is about to read one.
    pub(super) fn forgotten(&self) -> u64 {
        self.kept.lock().map_or(0, |kept| kept.forgotten)
    }

    /// Keeps an index, unless one was forgotten since it was asked for: then it may be that of an object which has been
    /// replaced.
    pub(super) fn keep(&self, index: Dims<isize>, opened: &Shared<Opened>, forgotten: u64) -> Result<()> {
        let Some(mut kept) = self.kept.lock().filter(|kept| kept.forgotten == forgotten) else { return Ok(()) };
        kept.old.remove(&index);
        kept.keep(index, opened.clone(), self.most)?;
        // Of indices that take more than a half each, one is enough.
        if self.most == 0 {
            kept.old.clear();
        }
        Ok(())
    }

    /// Notes how long an object is that has an index.
    pub(super) fn note_len(&self, len: u64) {
        if let Some(mut kept) = self.kept.lock() {
            // That of the longest, which is forgotten if all that follow are shorter.
            kept.len = Some(len.max(kept.len.map_or(0, |before| before - before / 16)));
        }
    }

    /// How long another one is likely to be at most, if any is known.
    pub(super) fn likely_len(&self) -> Option<u64> {
        let len = self.kept.lock()?.len?;
        Some(len.saturating_add(len / 8))
    }

    pub(super) fn forget(&self, index: &[isize]) {
        if let Some(mut kept) = self.kept.lock() {
            kept.new.remove(index);
            kept.old.remove(index);
            kept.forgotten += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(num_chunks: usize) -> Shared<Opened> {
        Shared::new(Opened { index: Index { spans: vec![(0, 0); num_chunks] }, state: (7, Some(0)) }).unwrap()
    }

    fn name(i: isize) -> Dims<isize> {
        crate::dims::copied([i].into_iter()).unwrap()
    }

    /// How many of so many indices are kept, of so many chunks, and whether the last one is.
    fn kept(num_chunks: usize, num_indices: isize) -> (usize, bool) {
        let indices = Indices::new(num_chunks);
        for i in 0..num_indices {
            indices.keep(name(i), &opened(num_chunks), 0).unwrap();
            // What is used stays.
            assert_eq!(indices.get(&name(0)).is_some(), num_chunks < 100_000 || i == 0);
        }
        let last = indices.get(&name(num_indices - 1)).is_some();
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
        let indices = Indices::new(1);
        let keep = |forgotten| indices.keep(name(1), &opened(1), forgotten).unwrap();
        let asked = indices.forgotten();
        keep(asked);
        assert_eq!(indices.get(&[1]).unwrap().state.0, 7);
        indices.forget(&[1]);
        assert!(indices.get(&[1]).is_none());
        // What was asked for before that is not kept any more.
        keep(asked);
        assert!(indices.get(&[1]).is_none());
        keep(indices.forgotten());
        assert!(indices.get(&[1]).is_some());
    }
}
