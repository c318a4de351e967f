//! A cache of decoded chunks, for one store or for several under one limit.
//!
//! A chunk is looked up by its store and all of its indices. While one thread fetches a chunk, others that need it wait
//! for it, unless they fetch one themselves. A chunk that is in use is never overwritten: the cache may drop it, but
//! whoever has it keeps its memory alive.
//!
//! Chunks are dropped in the order of their last use, except that a transfer does not push out what it has fetched
//! itself. So of a transfer that is larger than the cache the first chunks are kept, and doing it again finds them.
//!
//! Of a chunk that was decoded in part that part is kept. When more of it is needed the chunk is decoded to its end, so
//! no chunk that stays in the cache is decoded more than twice, and one that is used once costs no more than without a
//! cache. Once that has happened the next chunks are decoded to their end at once, as suits slabs that are read one
//! after another, until a chunk is dropped that one transfer only has used. A chunk of which three quarters would have
//! to be decoded is decoded to its end the first time: that takes a third longer at most, and saves all of the second
//! time. So is any chunk whose request takes longer than decoding it, so that it is requested once. Of a chunk that
//! need not be decoded nothing is kept the first time: to copy it would take longer than to use it.
//!
//! A cache that [waits](Cache::from_second_use) keeps nothing of any chunk the first time, unless the next chunks are
//! decoded to their end at once: new memory for a chunk that is used once takes up to a third of the time that decoding
//! it takes. Of a chunk whose request takes longer than decoding it, it keeps what is stored, in the memory in which
//! that has come, and decodes it the second time.
//!
//! ```text
//!   slab.rs     memory for several chunks
//!   entry.rs    a decoded chunk
//!   table.rs    which chunks there are, and in which order they were used
//!   fetching.rs which threads fetch chunks, and so wait for nobody
//! ```
#![allow(unsafe_code)]

mod entry;
mod fetching;
mod slab;
mod table;

use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

pub use entry::Entry;
pub use fetching::Fetching;

use crate::alloc::Scratch;
use crate::error::{ErrorKind, Result};
use crate::lock::Lock;
use crate::shared::Shared;
use entry::{Block, Memory};
use table::{Key, State, Table};

/// A cache of decoded chunks. Clones are the same cache. It lives as long as a clone, or a store that uses it.
///
/// Any number of threads may use a cache at the same time. In a forked child process it is empty and keeps nothing.
#[derive(Clone)]
pub struct Cache(Shared<Inner>);

struct Inner {
    limit: usize,
    /// Whether a chunk is kept from its second use on, and not at once.
    waits: bool,
    table: Lock<Table>,
    next_store: AtomicU64,
    next_transfer: AtomicU64,
    hits: AtomicU64,
    misses: AtomicU64,
}

/// The statistics of a cache: its requests and its contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheStatistics {
    /// The number of times that a chunk was found.
    pub hits: u64,
    /// The number of times that a chunk had to be decoded, in part or as a whole, most often after it was fetched.
    pub misses: u64,
    /// The number of chunks that were dropped to make room.
    pub evictions: u64,
    /// The number of chunks in the cache.
    pub chunks: usize,
    /// The number of bytes that they take, all of them decoded.
    pub bytes: usize,
    /// The largest number of bytes that they may take.
    pub limit: usize,
}

impl Cache {
    /// A cache that keeps up to `limit` bytes of decoded chunks. A cache of 32 MiB or more may take some MiB in
    /// addition, if the system has large pages.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(limit: usize) -> Result<Self> {
        Cache::with(limit, false)
    }

    /// The same for chunks that may be used once: it keeps a chunk from its second use on. Then it keeps the chunks
    /// that are used next at once, as [`new`](Self::new) does, until it drops one that was used once. What is stored
    /// of a chunk is kept at once if its request takes longer than decoding it.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn from_second_use(limit: usize) -> Result<Self> {
        Cache::with(limit, true)
    }

    fn with(limit: usize, waits: bool) -> Result<Self> {
        Ok(Cache(Shared::new(Inner {
            limit,
            waits,
            table: Lock::new(Table::new()),
            next_store: AtomicU64::new(1),
            next_transfer: AtomicU64::new(1),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        })?))
    }

    /// The statistics of the cache: its requests and its contents.
    pub fn statistics(&self) -> CacheStatistics {
        let (evictions, chunks, bytes) =
            self.0.table.lock().map_or((0, 0, 0), |table| (table.evictions, table.len(), table.bytes()));
        CacheStatistics {
            hits: self.0.hits.load(Ordering::Relaxed),
            misses: self.0.misses.load(Ordering::Relaxed),
            evictions,
            chunks,
            bytes,
            limit: self.0.limit,
        }
    }

    /// A part of the cache for one store.
    pub(crate) fn part(&self) -> Part {
        let store = self.0.next_store.fetch_add(1, Ordering::Relaxed);
        Part { cache: self.clone(), store }
    }
}

/// The part of a cache that one store has.
pub struct Part {
    cache: Cache,
    store: u64,
}

/// A transfer, as far as a cache is concerned.
#[derive(Clone, Copy)]
pub struct Turn {
    transfer: u64,
    /// For chunks that are asked for before the cache knows of it: how many writes had ended then.
    num_writes: Option<u64>,
}

/// What a cache has of a chunk.
pub enum Found<'c> {
    /// It has what is needed.
    Ready(Entry),
    /// The caller is to fetch it; all of it, if `all` says so.
    Load { loading: Loading<'c>, all: bool },
    /// The cache does not want it.
    Nothing,
}

/// A chunk that the caller fetches, while others that need it wait. If it is dropped, another may try.
pub struct Loading<'c> {
    part: &'c Part,
    key: Key,
    /// The bytes of the whole chunk, decoded, with which it is counted.
    size: usize,
    block: Option<Block>,
    /// Whether the table has been told what became of it. What is being fetched under this name is another's then.
    is_over: bool,
    _fetching: Fetching,
}

impl Part {
    /// Whether a chunk that is used for the first time is used without the cache, unless all of it is to be fetched.
    pub(crate) fn waits(&self) -> bool {
        self.cache.0.waits
    }

    /// Begins a transfer.
    pub(crate) fn begin(&self) -> Turn {
        Turn { transfer: self.cache.0.next_transfer.fetch_add(1, Ordering::Relaxed), num_writes: None }
    }

    /// Begins a transfer that may read several chunks from one version of an object, which it opens from now on. None
    /// of them is kept if another has written to it since, or to another chunk of its group: its request may be
    /// started after the write, and yet bring what there was before.
    pub(crate) fn begin_with_objects(&self) -> Turn {
        self.request(self.begin())
    }

    /// The same transfer for a request to read a chunk that is started now, and which reports to the cache when it has
    /// ended. What it brings is not kept if another wrote to the chunk meanwhile, for it may be
    /// older, or to another chunk of its group.
    pub(crate) fn request(&self, turn: Turn) -> Turn {
        let now = || self.cache.0.table.lock().map(|table| table.num_writes());
        Turn { num_writes: turn.num_writes.or_else(now), ..turn }
    }

    fn key(&self, chunk: &[isize]) -> Result<Key> {
        Key::new(self.store, chunk)
    }

    /// Looks for bytes of a chunk, which has `size` bytes in all. If they are not there, they are to be fetched, if
    /// `keep` asks for it and there is room; all of the chunk if `to_end` says so, or what has been read lately does.
    pub(crate) fn find(
        &self,
        chunk: &[isize],
        needed: &Range<usize>,
        size: usize,
        mut keep: bool,
        to_end: impl FnOnce() -> Result<bool>,
        turn: Turn,
    ) -> Result<Found<'_>> {
        let transfer = turn.transfer;
        let inner = &*self.cache.0;
        let key = self.key(chunk)?;
        // From here on, whoever makes a chunk one that is being fetched returns a `Loading`, which ends that.
        keep &= size <= inner.limit;
        let Some(mut table) = inner.table.lock() else { return Ok(Found::Nothing) };
        let (mut to_end, mut is_to_end) = (Some(to_end), false);
        let (number, partial) = loop {
            keep &= turn.num_writes.is_none_or(|before| table.last_write(&key) <= before);
            keep &= !table.is_written(&key);
            let Some(number) = table.find(&key) else {
                if let Some(to_end) = to_end.take().filter(|_| keep) {
                    // It may ask a codec of the caller's, which may use the cache: nothing is locked meanwhile.
                    drop(table);
                    is_to_end = to_end()?;
                    let Some(again) = inner.table.lock() else { return Ok(Found::Nothing) };
                    table = again;
                    continue;
                }
                break (None, None);
            };
            let slot = table.slot(number);
            let is_same_size = slot.size == size;
            match &slot.state {
                State::Loading { .. } if Fetching::is_under_way() => {
                    keep = false;
                    break (None, None);
                }
                State::Loading { .. } => table = inner.table.wait(table),
                // Another variable, with chunks of another size, has used the store.
                State::Ready(_) if !is_same_size => {
                    table.remove(number);
                }
                State::Ready(entry) if entry.has(needed) => {
                    let entry = entry.clone();
                    table.reuse(number, transfer);
                    inner.hits.fetch_add(1, Ordering::Relaxed);
                    return Ok(Found::Ready(entry));
                }
                State::Ready(_) if !keep => break (Some(number), None),
                State::Ready(_) => {
                    let before = std::mem::replace(&mut table.slot(number).state, State::Loading { stale: false });
                    break (Some(number), Some(before));
                }
            }
        };
        inner.misses.fetch_add(1, Ordering::Relaxed);
        if !keep {
            return Ok(Found::Nothing);
        }
        let (memory, all) = match (number, partial) {
            (Some(number), Some(before)) => {
                let slot = table.slot(number);
                (slot.loaded_by, slot.is_reused) = (transfer, true);
                table.touch(number);
                table.wants_whole = true;
                let State::Ready(entry) = before else { return Err(ErrorKind::Internal.into()) };
                let memory = match entry.into_memory() {
                    Some(memory @ Memory::Place(_)) => memory,
                    // What there is of it is little, or it would have been decoded to its end.
                    own => table.place(size, inner.limit).or(own).unwrap_or(Memory::EMPTY),
                };
                (memory, true)
            }
            _ => {
                let Some(memory) = table.make_room(size, inner.limit, transfer, is_to_end) else {
                    return Ok(Found::Nothing);
                };
                table.add(&key, size, transfer)?;
                (memory, table.wants_whole || is_to_end)
            }
        };
        let block = Some(Block::new(memory));
        Ok(Found::Load {
            loading: Loading { part: self, key, size, block, is_over: false, _fetching: Fetching::new() },
            all,
        })
    }

    /// Bytes of a chunk, which has `size` bytes in all, if they are there, or [what is stored](Entry::is_stored) of it.
    /// Nobody is waited for, so one who fetches many chunks at a time may ask.
    pub fn ready(&self, chunk: &[isize], needed: &Range<usize>, size: usize, turn: Turn) -> Result<Option<Entry>> {
        let inner = &*self.cache.0;
        let key = self.key(chunk)?;
        let Some(mut table) = inner.table.lock() else { return Ok(None) };
        let Some(number) = table.find(&key) else { return Ok(None) };
        let slot = table.slot(number);
        let entry = match &slot.state {
            State::Ready(entry) if slot.size == size && entry.has(needed) => entry.clone(),
            State::Ready(entry) if slot.size == size && entry.is_stored() => {
                let entry = entry.clone();
                table.touch(number);
                return Ok(Some(entry));
            }
            _ => return Ok(None),
        };
        table.reuse(number, turn.transfer);
        inner.hits.fetch_add(1, Ordering::Relaxed);
        Ok(Some(entry))
    }

    /// Whether there is anything of a chunk, or is soon. Nobody is waited for, and that is no use of the chunk.
    pub(crate) fn has_any_of(&self, chunk: &[isize]) -> Result<bool> {
        let key = self.key(chunk)?;
        Ok(self.cache.0.table.lock().is_some_and(|table| table.find(&key).is_some()))
    }

    /// A whole chunk of so many bytes that has been read, to be kept; `None` if there is no room.
    pub(crate) fn keep(&self, chunk: &[isize], bytes: usize, turn: Turn) -> Result<Option<Loading<'_>>> {
        let found = self.find(chunk, &(0..bytes), bytes, true, || Ok(true), turn)?;
        Ok(if let Found::Load { loading, .. } = found { Some(loading) } else { None })
    }

    /// A write of chunks, none so far.
    pub(crate) fn write(&self) -> Write<'_> {
        Write { part: self, groups: 0 }
    }
}

/// A write of chunks that is in flight: until this is dropped they are not in the cache, and what is read of them is
/// not kept. Else one could read a chunk as it is stored, and then as it was, from the cache.
pub struct Write<'c> {
    part: &'c Part,
    /// The groups of the chunks, one bit for each.
    groups: u64,
}

impl Write<'_> {
    /// Drops a chunk that is about to be written to.
    ///
    /// # Errors
    /// `OutOfMemory`; then the chunk must not be written to.
    pub(crate) fn add(&mut self, chunk: &[isize]) -> Result<()> {
        let key = self.part.key(chunk)?;
        if let Some(mut table) = self.part.cache.0.table.lock() {
            table.begin_write(&key, &mut self.groups);
        }
        Ok(())
    }
}

impl Drop for Write<'_> {
    fn drop(&mut self) {
        if let Some(mut table) = self.part.cache.0.table.lock() {
            table.end_write(self.groups);
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if let Some(mut table) = self.cache.0.table.lock() {
            table.forget_store(self.store);
        }
    }
}

impl Loading<'_> {
    /// Memory for the chunk, to be filled from its beginning.
    pub(crate) fn room(&mut self, size: usize) -> Result<&mut [MaybeUninit<u8>]> {
        let block = self.block.as_mut().ok_or(ErrorKind::Internal)?;
        Ok(block.room(size)?)
    }

    /// Whether so many bytes are at most a quarter more than what the chunk is counted with.
    pub(crate) fn suits(&self, bytes: usize) -> bool {
        entry::suits(bytes, self.size)
    }

    /// Keeps nothing of the chunk but that it was needed: when it is needed again, all of it is to be fetched and kept.
    pub(crate) fn pass(mut self) -> Result<()> {
        self.block = Some(Block::new(Memory::EMPTY));
        // SAFETY: these are no bytes.
        unsafe { self.finish(0, 0..0) }.map(|_| ())
    }

    /// Keeps what is stored of the chunk, so many bytes: when it is needed again, it is to be decoded from there.
    ///
    /// # Safety
    /// The first `len` bytes of the memory have been written.
    pub(crate) unsafe fn pass_stored(self, memory: Scratch, len: usize) -> Result<()> {
        // SAFETY: the caller's promise is the same.
        let entry = unsafe { Block::keep_stored(memory, len) }?;
        self.end(entry).map(|_| ())
    }

    /// Has the chunk be in this memory.
    pub(crate) fn take(&mut self, memory: Scratch) {
        self.block = Some(Block::new(Memory::Own(memory)));
    }

    /// Keeps the chunk, of which the `valid` bytes are there.
    ///
    /// # Safety
    /// The first `filled` bytes of the room have been written.
    pub(crate) unsafe fn finish(mut self, filled: usize, valid: Range<usize>) -> Result<Entry> {
        let block = self.block.take().ok_or(ErrorKind::Internal)?;
        // SAFETY: the caller's promise is the same.
        let entry = unsafe { block.keep(filled, valid) }?;
        self.end(entry)
    }

    /// Has others find it, unless it was written to.
    fn end(mut self, entry: Entry) -> Result<Entry> {
        let inner = &*self.part.cache.0;
        if let Some(mut table) = inner.table.lock() {
            if let Some(number) = table.find(&self.key) {
                match table.slot(number).state {
                    State::Loading { stale: false } => table.slot(number).state = State::Ready(entry.clone()),
                    // What was read may be older than what was written meanwhile.
                    State::Loading { stale: true } => drop(table.remove(number)),
                    State::Ready(_) => {}
                }
            }
            self.is_over = true;
        }
        Ok(entry)
    }
}

impl Drop for Loading<'_> {
    fn drop(&mut self) {
        let inner = &*self.part.cache.0;
        if !self.is_over {
            if let Some(mut table) = inner.table.lock() {
                if let Some(number) = table.find(&self.key) {
                    table.remove(number);
                }
            }
        }
        inner.table.notify();
    }
}

#[cfg(test)]
mod tests;
