//! What is kept of the index of an array's chunks: the nodes that were used last, of which no more than 8 MiB, and the
//! filters that chunks have not been through, of all chunks that have been found.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::ptr;
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::alloc::try_box;
use crate::error::{ErrorKind, Result};
use crate::lock::Lock;
use crate::shared::Shared;

/// How many bytes of nodes are kept.
const BYTES: usize = 8 << 20;

/// What each process keeps. A forked child does not reach what its parent keeps, and begins with nothing.
pub(super) struct Kept {
    own: Lock<Known>,
    /// What a child keeps; NULL before it keeps anything, and in the process that has made this.
    of_child: AtomicPtr<Kept>,
}

/// What one process keeps.
#[derive(Default)]
pub(super) struct Known {
    pub nodes: Nodes,
    pub skipped: Skipped,
}

impl Kept {
    pub(super) fn new() -> Self {
        Kept { own: Lock::new(Known::default()), of_child: AtomicPtr::new(ptr::null_mut()) }
    }

    /// What this process keeps.
    pub(super) fn lock(&self) -> Result<MutexGuard<'_, Known>> {
        let mut kept = self;
        loop {
            match kept.own.lock() {
                Some(known) => return Ok(known),
                None => kept = kept.of_child()?,
            }
        }
    }

    /// What is kept by a child of the process that has made this, or by a child of that child.
    fn of_child(&self) -> Result<&Kept> {
        let mut child = self.of_child.load(Ordering::Acquire);
        if child.is_null() {
            let new = Box::into_raw(try_box(Kept::new())?);
            let others = self.of_child.compare_exchange(ptr::null_mut(), new, Ordering::AcqRel, Ordering::Acquire);
            child = others.err().unwrap_or(new);
            if child != new {
                // SAFETY: it comes from a box, and another thread was quicker, so nobody knows of it.
                drop(unsafe { Box::from_raw(new) });
            }
        }
        // SAFETY: it comes from a box, and stays what it is until this is dropped.
        Ok(unsafe { &*child })
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let child = *self.of_child.get_mut();
        if !child.is_null() {
            // SAFETY: it comes from a box, and nobody uses it any more.
            drop(unsafe { Box::from_raw(child) });
        }
    }
}

/// The nodes that were used last. They are in two halves: when the new one is full it becomes the old one, and what was
/// in that is forgotten.
#[derive(Default)]
pub(super) struct Nodes {
    new: HashMap<u64, Shared<Vec<u8>>>,
    old: HashMap<u64, Shared<Vec<u8>>>,
    /// How many bytes the new half has.
    bytes: usize,
}

impl Nodes {
    /// A node of at least so many bytes.
    pub(super) fn get(&mut self, begin: u64, len: usize) -> Option<Shared<Vec<u8>>> {
        if let Some(node) = self.new.get(&begin) {
            return (node.len() >= len).then(|| node.clone());
        }
        let node = self.old.get(&begin).filter(|node| node.len() >= len)?.clone();
        // If there is no memory to keep it, it is forgotten.
        let _ = self.keep(begin, node.clone());
        Some(node)
    }

    pub(super) fn keep(&mut self, begin: u64, node: Shared<Vec<u8>>) -> Result<()> {
        /// What an entry takes beside its bytes, about.
        const ENTRY: usize = 64;
        if self.bytes > BYTES / 2 {
            self.old = std::mem::take(&mut self.new);
            self.bytes = 0;
        }
        self.new.try_reserve(1).map_err(|_| ErrorKind::OutOfMemory)?;
        self.bytes += node.len() + ENTRY;
        self.new.insert(begin, node);
        Ok(())
    }
}

/// The filters that chunks have not been through, by the chunks' numbers. None is forgotten, for the nodes that tell
/// it may be when a chunk is decoded. So they take little: about a bit for each chunk and filter where chunks follow
/// one another, and at most some ten bytes.
#[derive(Default)]
pub(super) struct Skipped {
    /// The filters that some chunk has not been through.
    any: u32,
    /// Of a filter and 64 chunks, which of these have not been through it.
    chunks: HashMap<(u64, u32), u64>,
}

impl Skipped {
    /// The filters that a chunk has not been through.
    pub(super) fn get(&self, number: u64) -> u32 {
        let of = |filter: u32| self.chunks.get(&(number / 64, filter)).copied().unwrap_or(0);
        filters(self.any).filter(|filter| of(*filter) & bit(number) != 0).fold(0, |mask, filter| mask | 1 << filter)
    }

    /// Notes the filters that a chunk has not been through, and no others.
    pub(super) fn set(&mut self, number: u64, mask: u32) -> Result<()> {
        for filter in filters(self.any | mask) {
            let of = (number / 64, filter);
            match self.chunks.get_mut(&of) {
                Some(all) if mask & 1 << filter != 0 => *all |= bit(number),
                Some(all) => *all &= !bit(number),
                None if mask & 1 << filter != 0 => {
                    self.chunks.try_reserve(1).map_err(|_| ErrorKind::OutOfMemory)?;
                    self.chunks.insert(of, bit(number));
                }
                None => {}
            }
        }
        self.any |= mask;
        Ok(())
    }
}

/// A chunk among the 64 that are noted together.
fn bit(number: u64) -> u64 {
    1 << (number % 64)
}

/// The filters of a mask.
fn filters(mask: u32) -> impl Iterator<Item = u32> {
    (0..u32::BITS).filter(move |filter| mask & 1 << filter != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_chunk_has_the_filters_that_were_noted_last() {
        let mut skipped = Skipped::default();
        let masks = [(0, 1), (63, 1 << 31 | 2), (64, u32::MAX), (1 << 40, 3), (u64::MAX, 1 << 31)];
        for (number, mask) in masks {
            skipped.set(number, mask).unwrap();
        }
        assert_eq!(masks.map(|(number, _)| skipped.get(number)), masks.map(|(_, mask)| mask));
        assert_eq!([1, 62, 65, 128, 1 << 39].map(|number| skipped.get(number)), [0; 5]);
        skipped.set(64, 4).unwrap();
        skipped.set(63, 0).unwrap();
        assert_eq!([0, 63, 64].map(|number| skipped.get(number)), [1, 0, 4]);
    }

    #[test]
    fn chunks_that_follow_one_another_take_little() {
        let mut skipped = Skipped::default();
        for number in 0..6400 {
            skipped.set(number, 1).unwrap();
        }
        assert_eq!(skipped.chunks.len(), 100);
    }
}
