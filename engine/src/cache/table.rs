//! Which chunks are kept, and which of them has not been used for the longest time.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Place;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use super::entry::{Entry, Memory};
use super::slab::{self, Slab};
use crate::alloc;
use crate::dims::{self, Dims};
use crate::error::{ErrorKind, Result};
use crate::shared::Shared;

/// The name of a chunk: the store it is of, and its indices.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub store: u64,
    pub chunk: Dims<isize>,
}

impl Key {
    pub(super) fn new(store: u64, chunk: &[isize]) -> Result<Self> {
        Ok(Key { store, chunk: dims::copied(chunk.iter().copied())? })
    }

    fn try_clone(&self) -> Result<Self> {
        Key::new(self.store, &self.chunk)
    }
}

pub(super) enum State {
    /// Somebody is about to fetch it. If it is `stale` it was written to meanwhile, and will not be kept.
    Loading {
        stale: bool,
    },
    Ready(Entry),
}

/// A chunk that is kept or being fetched.
pub(super) struct Slot {
    pub key: Key,
    pub state: State,
    /// The bytes that it is counted with.
    pub size: usize,
    /// The transfer that has fetched it, as long as no other has used it.
    pub loaded_by: u64,
    /// Whether a transfer has used it that did not fetch it, or not all of it.
    pub is_reused: bool,
    newer: usize,
    older: usize,
}

const NONE: usize = usize::MAX;

/// Chunks of all stores are divided into so many groups, by a hash, and writes are counted by the group: a write to a
/// chunk looks like one to each of its group, which then may not be kept.
const GROUPS: u64 = u64::BITS as u64;

/// All chunks, in the order of their last use.
pub(super) struct Table {
    places: HashMap<Key, usize, BuildHasherDefault<DefaultHasher>>,
    /// How many writes have ended, and which of them was the last of each group.
    num_writes: u64,
    last_writes: [u64; GROUPS as usize],
    /// How many writes to chunks of a group are in flight.
    writing: [usize; GROUPS as usize],
    slots: Vec<Slot>,
    free: Vec<usize>,
    newest: usize,
    oldest: usize,
    bytes: usize,
    pub evictions: u64,
    /// Whether more of a chunk is likely to be needed than what is needed first.
    pub wants_whole: bool,
    /// Memory for chunks of which more was needed, or is likely to be.
    slabs: Vec<Shared<Slab>>,
}

impl Table {
    pub(super) fn new() -> Self {
        Table {
            places: HashMap::default(),
            num_writes: 0,
            last_writes: [0; GROUPS as usize],
            writing: [0; GROUPS as usize],
            slots: Vec::new(),
            free: Vec::new(),
            newest: NONE,
            oldest: NONE,
            bytes: 0,
            evictions: 0,
            wants_whole: false,
            slabs: Vec::new(),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// The number of a chunk's slot.
    pub(super) fn find(&self, key: &Key) -> Option<usize> {
        self.places.get(key).copied()
    }

    /// How many writes have ended.
    pub(super) fn num_writes(&self) -> u64 {
        self.num_writes
    }

    /// The last write to a chunk's group that has ended, by how many had ended then. The chunk need not be there.
    pub(super) fn last_write(&self, key: &Key) -> u64 {
        self.last_writes[self.group(key)]
    }

    /// Whether a chunk of a chunk's group is being written to.
    pub(super) fn is_written(&self, key: &Key) -> bool {
        self.writing[self.group(key)] > 0
    }

    fn group(&self, key: &Key) -> usize {
        (self.places.hasher().hash_one(key) % GROUPS) as usize
    }

    /// Takes out a chunk that is about to be written to, and adds its group to those that the writer writes to, one bit
    /// for each.
    pub(super) fn begin_write(&mut self, key: &Key, groups: &mut u64) {
        let group = self.group(key);
        if *groups & 1 << group == 0 {
            *groups |= 1 << group;
            self.writing[group] += 1;
        }
        if let Some(number) = self.find(key) {
            self.forget(number);
        }
    }

    /// Notes that the writer of these groups has ended.
    pub(super) fn end_write(&mut self, groups: u64) {
        self.num_writes += 1;
        for group in (0..GROUPS as usize).filter(|group| groups & 1 << group != 0) {
            self.writing[group] -= 1;
            self.last_writes[group] = self.num_writes;
        }
    }

    pub(super) fn slot(&mut self, number: usize) -> &mut Slot {
        &mut self.slots[number]
    }

    /// Adds a chunk that is about to be fetched, as the newest.
    pub(super) fn add(&mut self, key: &Key, size: usize, loaded_by: u64) -> Result<()> {
        let no_memory = |_| ErrorKind::OutOfMemory;
        self.places.try_reserve(1).map_err(no_memory)?;
        self.slots.try_reserve(1).map_err(no_memory)?;
        // Every slot may be free one day; then nothing may fail.
        self.free.try_reserve((self.slots.len() + 1).saturating_sub(self.free.len())).map_err(no_memory)?;
        let slot = Slot {
            key: key.try_clone()?,
            state: State::Loading { stale: false },
            size,
            loaded_by,
            is_reused: false,
            newer: NONE,
            older: NONE,
        };
        let name = key.try_clone()?;
        let number = match self.free.pop() {
            Some(number) => {
                self.slots[number] = slot;
                number
            }
            None => {
                self.slots.push(slot);
                self.slots.len() - 1
            }
        };
        if let Place::Vacant(place) = self.places.entry(name) {
            place.insert(number);
        }
        self.bytes += size;
        self.link(number);
        Ok(())
    }

    /// Makes a chunk the newest.
    pub(super) fn touch(&mut self, number: usize) {
        if self.newest != number {
            self.unlink(number);
            self.link(number);
        }
    }

    /// Makes a chunk the newest that a transfer has found here.
    pub(super) fn reuse(&mut self, number: usize, transfer: u64) {
        let slot = &mut self.slots[number];
        if slot.loaded_by != transfer {
            (slot.loaded_by, slot.is_reused) = (0, true);
        }
        self.touch(number);
    }

    /// Takes a chunk out.
    pub(super) fn remove(&mut self, number: usize) -> State {
        self.unlink(number);
        let slot = &mut self.slots[number];
        self.bytes -= slot.size;
        self.places.remove(&slot.key);
        let state = std::mem::replace(&mut slot.state, State::Loading { stale: true });
        self.free.push(number);
        state
    }

    /// Takes out the chunks that have not been used for the longest time, until there is room for `size` bytes within
    /// `limit`; but none that this transfer has fetched itself. If that is not enough, nothing is taken out. The result
    /// is memory that one of them had, that suits and that nobody else uses, or a place in a slab, if the chunk will be
    /// decoded to its end, as is known if `to_end`; if there is neither, it is empty.
    pub(super) fn make_room(&mut self, size: usize, limit: usize, transfer: u64, to_end: bool) -> Option<Memory> {
        let may_go = |slot: &Slot| matches!(slot.state, State::Ready(_)) && slot.loaded_by != transfer;
        // To look further than this for a chunk that may go is not worth it.
        const PASSED_OVER: usize = 64;
        let mut due = self.bytes.saturating_add(size).saturating_sub(limit);
        let (mut number, mut num_passed_over) = (self.oldest, 0);
        while due > 0 {
            if number == NONE || num_passed_over > PASSED_OVER {
                return None;
            }
            let slot = &self.slots[number];
            match may_go(slot) {
                true => due = due.saturating_sub(slot.size),
                false => num_passed_over += 1,
            }
            number = slot.newer;
        }
        // Before this one, all go that may.
        let (end, mut memory) = (number, None);
        number = self.oldest;
        while number != end {
            let (this, slot) = (number, &self.slots[number]);
            number = slot.newer;
            if !may_go(slot) {
                continue;
            }
            self.evictions += 1;
            self.wants_whole &= slot.is_reused;
            if let State::Ready(entry) = self.remove(this) {
                memory = entry.into_memory().filter(|memory| memory.suits(size)).or(memory);
            }
        }
        let place = || if self.wants_whole || to_end { self.place(size, limit) } else { None };
        Some(memory.or_else(place).unwrap_or(Memory::EMPTY))
    }

    /// A place in a slab for a chunk of so many bytes, if they are kept in slabs and there is memory.
    pub(super) fn place(&mut self, size: usize, limit: usize) -> Option<Memory> {
        // A small cache would take more for one slab than for its chunks.
        if !Slab::suits(size) || slab::BYTES > limit / 4 {
            return None;
        }
        let mut suitable = self.slabs.iter().rev().filter(|slab| slab.is_for(size));
        let place = suitable.find_map(Slab::take).or_else(|| {
            self.slabs.retain(|slab| !slab.is_empty());
            let slab = Slab::new(size).ok()?;
            let place = Slab::take(&slab);
            alloc::push(&mut self.slabs, slab).ok()?;
            place
        });
        place.map(Memory::Place)
    }

    #[cfg(test)]
    pub(super) fn num_slabs(&self) -> usize {
        self.slabs.len()
    }

    /// Takes out a chunk. One that is being fetched goes when it is there.
    fn forget(&mut self, number: usize) {
        match &mut self.slots[number].state {
            State::Loading { stale } => *stale = true,
            State::Ready(_) => drop(self.remove(number)),
        }
    }

    /// Takes out all chunks of a store.
    pub(super) fn forget_store(&mut self, store: u64) {
        let mut number = self.oldest;
        while number != NONE {
            let (next, is_due) = (self.slots[number].newer, self.slots[number].key.store == store);
            if is_due {
                self.forget(number);
            }
            number = next;
        }
        self.slabs.retain(|slab| !slab.is_empty());
    }

    fn link(&mut self, number: usize) {
        let before = std::mem::replace(&mut self.newest, number);
        (self.slots[number].older, self.slots[number].newer) = (before, NONE);
        match before {
            NONE => self.oldest = number,
            before => self.slots[before].newer = number,
        }
    }

    fn unlink(&mut self, number: usize) {
        let Slot { newer, older, .. } = self.slots[number];
        match newer {
            NONE => self.newest = older,
            newer => self.slots[newer].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.slots[older].newer = newer,
        }
    }
}
