//! Reading and writing with many requests in flight.
//!
//! A thread starts requests up to its share of the store's limit, waits until any of them has ended, decodes and moves
//! that chunk while the others are in flight, and starts the next: so do all threads of a transfer, each with chunks of
//! its own. Other threads may have no requests and decode what these [hand over](super::handed). A chunk that the cache
//! of the store has is not asked for, and what is decoded is kept there as in any other read. Of a chunk that is stored
//! as it is, several ranges may be on their way. When one fails, those after it in the plan's order are cancelled and
//! those before it are completed, so the first in order that fails is always found. No request outlives the call.
//!
//! A chunk that is written is asked for first, unless all of it is replaced, and then encoded and stored while others
//! are under way. What is on its way to the store is waited for whatever fails, so that nothing is written any more
//! after the call. Memory is bounded: a chunk is begun only if there is room for the most bytes that it can take
//! encoded, and what is on its way counts with the bytes that it has.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::divided::{Begun, DividedChunks, Ended};
use super::handed::{Handed, StoredChunk};
use super::options::Options;
use super::piece;
use super::progress::{ProgressFunction, Tracker};
use super::queue::Queue;
use super::ranges::Ranges;
use super::read::Reading;
use super::shards::{Shard, Shards, part};
use super::slot::Slot;
use super::walk::Walk;
use super::write::{Before, Writing, begin_write};
use crate::alloc::Scratch;
use crate::cache::{Fetching, Loading, Part, Turn};
use crate::copy::{Destination, Fence, Source, Volume};
use crate::error::{Error, ErrorKind, Result};
use crate::grid::Access;
use crate::lock::Lock;
use crate::open_object::Versions;
use crate::plan::Plan;
use crate::store::{
    ChunkReader, ChunkStore, Filled, Flight, InFlight, NOT_IN_FLIGHT, ReadCost, Sharing, check_part, room_again,
};
use crate::threads::Threads;

/// For a chunk that is read in ranges there is use for more requests than there are chunks.
const MOST_RANGES: usize = 1024;

/// What all threads of a transfer share.
pub(super) struct Job<'a> {
    pub plan: &'a Plan<'a>,
    pub store: &'a ChunkStore<'a>,
    pub reader: &'a dyn ChunkReader,
    in_flight: &'a dyn InFlight,
    pub queue: Queue,
    /// The order in which the chunks are read, if it is not the plan's.
    shards: Option<Shards<'a>>,
    /// What is to be decoded by threads that have no requests.
    pub handed: Handed,
    pub tracker: Tracker,
    /// The transfer, as far as the store's cache is concerned.
    pub turn: Option<Turn>,
    /// What the requests of all threads share.
    sharing: Sharing<'a>,
    pub volume: Volume,
    /// For a transfer that writes: from where, and how many threads may encode one chunk.
    data: Option<(Source<'a>, Threads<'a>)>,
    /// Whether reads are counted and not made: then nothing is written to the destination.
    is_counted: bool,
}

impl<'a> Job<'a> {
    /// The reading of some chunks of a plan, from a store that answers later, or the writing of data there: by so many
    /// threads with requests, and so many that only decode.
    pub(super) fn new(
        (plan, store, chunks): (&'a Plan<'a>, &'a ChunkStore<'a>, Range<usize>),
        in_flight: &'a dyn InFlight,
        tracker: Tracker,
        (workers, helpers): (usize, usize),
        data: Option<(Source<'a>, Threads<'a>)>,
        (options, counted): (Options<'_>, Option<&'a Lock<ReadCost>>),
    ) -> Result<Self> {
        let reader = store.filler().ok_or(ErrorKind::Internal)?;
        let access = plan.access();
        // With latency a shard is one thread's, so that neighbours are read at once.
        let has_latency = in_flight.has_latency();
        let is_by_shards = || !plan.is_of_points() && (!has_latency || Shards::are_there(plan));
        let shards = match chunks == (0..plan.num_chunks()) && data.is_none() && is_by_shards() {
            true => Some(Shards::new(plan, if has_latency { 1 } else { workers })?),
            false => None,
        };
        let num_opened = shards.as_ref().map_or(0, Shards::num_opened);
        let sharing = Sharing::new(workers, (access, plan.grid()), num_opened, options.bytes_in_flight, counted);
        let volume = piece::volume(plan.variable(), access, false, plan.selected_bytes());
        let begin = |cache: &'a Part| if has_latency { cache.begin() } else { cache.begin_with_objects() };
        let is_counted = counted.is_some();
        let uses_cache = access == Access::Read && options.uses_cache && !is_counted;
        let turn = store.cache().filter(|_| uses_cache).map(begin);
        Ok(Job {
            plan,
            store,
            reader,
            in_flight,
            queue: Queue::new(chunks),
            shards,
            handed: Handed::new(workers, helpers)?,
            tracker,
            turn,
            sharing,
            volume,
            data,
            is_counted,
        })
    }

    /// Reads or writes the chunks by as many threads as it was made for, of which the calling one tells the program how
    /// far all have come. What is written to the destination is what is read.
    pub(super) fn run_by(&self, threads: Threads<'_>, progress: Option<ProgressFunction<'_>>, out: &Destination<'_>) {
        let (workers, is_fetching) = (self.sharing.of, Fetching::is_under_way());
        if workers + self.handed.helpers() == 1 {
            return self.run(progress, out);
        }
        // The calling thread is one of those with requests.
        let (others, receiver) = (AtomicUsize::new(1), self.handed.receiver());
        threads.run(
            workers + self.handed.helpers(),
            &|| {
                let _fetching = Fetching::inherited(is_fetching);
                if others.fetch_add(1, Relaxed) < workers {
                    let _receiver = self.handed.receiver();
                    self.run(None, out);
                }
                self.help(out);
            },
            || {
                self.run(progress, out);
                drop(receiver);
                self.help(out);
            },
            &|| self.queue.fail_all(ErrorKind::Internal.into()),
        );
    }

    /// Reads or writes the chunks that the queue has for this thread.
    fn run(&self, progress: Option<ProgressFunction<'_>>, out: &Destination<'_>) {
        match State::new(self, progress) {
            Ok(mut state) => state.run(out),
            Err(error) => self.queue.fail_all(error),
        }
    }

    /// Has another thread decode the first `len` bytes that a slot's request has brought; `false` if there is no use or
    /// no memory for that.
    fn hand_over(&self, flight: &mut dyn Flight, slot: &mut Slot<'_>, len: usize) -> bool {
        let Some(mut room) = self.handed.room() else { return false };
        let memory = match Brought::take(flight, slot) {
            Brought::Own(memory) => memory,
            Brought::Others(bytes) => {
                let Ok(copy) = room.room(len) else { return false };
                copy_to(copy, bytes);
                room
            }
        };
        self.handed.push(StoredChunk { chunk: slot.chunk, turn: slot.turn, memory, len });
        true
    }

    /// Decodes what other threads have received, until they have handed over all.
    fn help(&self, out: &Destination<'_>) {
        if self.handed.helpers() == 0 {
            return;
        }
        let Job { plan, store, turn, volume, .. } = *self;
        let (mut walk, mut reading) =
            (Walk::new(plan, volume), Reading::new(plan.variable(), store, turn, Threads::ONE));
        let _fence = Fence::new(volume);
        while let Some(handed) = self.handed.next() {
            let chunk = handed.chunk;
            if !self.queue.wants(chunk) {
                continue;
            }
            if let Err(error) = self.decode(handed, &mut walk, &mut reading, out) {
                self.queue.fail(chunk, error.in_chunk(walk.indices()));
            }
        }
    }

    fn decode(
        &self,
        handed: StoredChunk,
        walk: &mut Walk<'a>,
        reading: &mut Reading<'a>,
        out: &Destination<'_>,
    ) -> Result<()> {
        let StoredChunk { chunk, turn, memory, len } = handed;
        walk.begin(chunk)?;
        let piece = walk.piece()?;
        reading.brought_by(turn);
        // SAFETY: no other reference to this piece of the output is used meanwhile: each chunk is one thread's.
        let mut out = unsafe { out.alias() };
        // SAFETY: by its promise the memory begins with so many bytes.
        match reading.read_stored(&piece, unsafe { memory.filled(len) }, &mut out)? {
            Some(loading) => self.keep(loading, piece.indices, Brought::Own(memory), len, true)?,
            None => self.handed.recycle(memory),
        }
        self.tracker.add(|| piece.num_elements() * self.plan.variable().element_size());
        Ok(())
    }

    /// Has the store's cache keep the first `len` bytes that a request has brought: a chunk, or what is stored of it.
    /// The cache gets the memory that they are in, unless that is much larger than the chunk, or others are there, too.
    fn keep(
        &self,
        mut loading: Loading<'a>,
        indices: &[isize],
        brought: Brought<'_>,
        len: usize,
        is_stored: bool,
    ) -> Result<()> {
        // Which codecs were skipped is not asked once more without a request.
        let has_skipped = is_stored && self.reader.skipped_codecs(indices)? != 0;
        if has_skipped || !loading.suits(len) {
            return loading.pass();
        }
        let memory = match brought {
            Brought::Own(own) if loading.suits(own.capacity()) => own,
            brought => {
                let mut copy = Scratch::EMPTY;
                copy_to(copy.room(len)?, brought.bytes(len)?);
                copy
            }
        };
        if is_stored {
            // SAFETY: so many bytes were read into the memory, or have just been copied there.
            return unsafe { loading.pass_stored(memory, len) };
        }
        loading.take(memory);
        // SAFETY: as above.
        unsafe { loading.finish(len, 0..len) }.map(|_| ())
    }
}

/// What a request has brought.
enum Brought<'b> {
    /// The bytes at the beginning of this memory, in which nothing else is.
    Own(Scratch),
    Others(&'b [u8]),
}

impl<'b> Brought<'b> {
    /// What the slot's request has brought, which has just been given back, with its memory if that is possible.
    fn take(flight: &'b mut dyn Flight, slot: &mut Slot<'_>) -> Self {
        let own = match flight.has_memory() {
            true => flight.take_bytes(),
            false => Some(std::mem::replace(&mut *slot.memory, Scratch::EMPTY)),
        };
        own.map_or_else(|| Brought::Others(flight.bytes()), Brought::Own)
    }

    /// The first `len` bytes.
    fn bytes(&self, len: usize) -> Result<&[u8]> {
        match self {
            // SAFETY: at least so many bytes were brought into the memory.
            Brought::Own(memory) => Ok(unsafe { memory.filled(len) }),
            Brought::Others(bytes) => Ok(bytes.get(..len).ok_or(ErrorKind::Internal)?),
        }
    }
}

/// What a slot's request has brought, of so many bytes that are stored.
fn brought<'b>(flight: &'b dyn Flight, slot: &'b Slot<'_>, stored: usize) -> &'b [u8] {
    match flight.has_memory() {
        true => flight.bytes(),
        // SAFETY: by its contract the store has written what it says it has, up to the size of the buffer.
        false => unsafe { slot.memory.filled(stored.min(slot.size)) },
    }
}

/// Copies bytes to as much memory.
fn copy_to(memory: &mut [MaybeUninit<u8>], bytes: &[u8]) {
    // SAFETY: bytes that are initialised may be read as ones that need not be.
    memory.copy_from_slice(unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len()) });
}

/// What one thread has in flight.
struct State<'j, 'a> {
    job: &'j Job<'a>,
    plan: &'a Plan<'a>,
    store: &'a ChunkStore<'a>,
    /// What the program is asked by, until it ends the transfer; and, in batches, whether it has been asked since the
    /// last chunk was done.
    progress: Option<ProgressFunction<'j>>,
    is_asked: bool,
    /// Whether requests take long.
    has_latency: bool,
    /// Below what distance two ranges of a chunk are read as one; `None` if whole chunks are read.
    gap: Option<usize>,
    /// It is dropped before the slots, whose memory its requests use.
    flight: Box<dyn Flight + 'j>,
    /// What is known of chunks that are replaced.
    versions: Versions,
    /// How many slots there may be. They are made when there is use for them.
    most: usize,
    slots: Vec<Slot<'a>>,
    /// Where the slots' requests are, ascending, and the slots' numbers.
    addresses: Vec<(usize, usize)>,
    /// The slots that are not in use.
    free: Vec<usize>,
    walk: Walk<'a>,
    reading: Reading<'a>,
    writing: Option<(Writing<'a>, Source<'a>)>,
    /// How many bytes of memory the slots of a transfer that writes have together, and how many they may have.
    held: usize,
    most_held: usize,
    /// The next chunks to start, and how many the queue is asked for at most when there are none; or the shard that
    /// they are in.
    next: Range<usize>,
    most_of_queue: usize,
    shard: Option<Shard>,
    /// How many chunks of shards it takes at a time at most, but those of one, so that other threads have some, too.
    fair: usize,
    /// Whether there was no room for all chunks of the shard.
    is_continued: bool,
    divided: DividedChunks,
    num_in_flight: usize,
}

impl<'j, 'a> State<'j, 'a> {
    fn new(job: &'j Job<'a>, progress: Option<ProgressFunction<'j>>) -> Result<Self> {
        let Job { plan, store, reader, in_flight, ref queue, ref sharing, turn, volume, data, .. } = *job;
        let flight = in_flight.begin(sharing)?;
        // It is asked once, and what follows from it goes together, whatever it would say later.
        let gap = store.ranged().map(|(_, gap)| gap).filter(|_| data.is_none());
        let num_chunks = queue.num_waiting();
        let useful = if gap.is_some() { num_chunks.max(MOST_RANGES) } else { num_chunks };
        let (limit, most_held) = match data {
            None => (flight.limit(store.stored_bound(Access::Read, plan.grid().chunk_bytes())), usize::MAX),
            Some(_) => flight.store_limits(),
        };
        let most = limit.clamp(1, useful.max(1));
        let has_latency = in_flight.has_latency();
        let fair = if has_latency { most.min(queue.num_chunks().div_ceil(sharing.of.max(1))) } else { most };
        // Chunks that are all on their way at once would be decoded by the thread that has begun first.
        let is_first_served = has_latency && job.shards.is_none() && gap.is_none() && data.is_none();
        let most = if is_first_served { fair.max(1) } else { most };
        let most_of_queue = if sharing.of == 1 { num_chunks } else { most.div_ceil(4) };
        Ok(State {
            job,
            plan,
            store,
            progress,
            is_asked: false,
            has_latency,
            gap,
            flight,
            versions: reader.versions(),
            most,
            slots: Vec::new(),
            addresses: Vec::new(),
            free: Vec::new(),
            walk: Walk::new(plan, volume),
            reading: Reading::new(plan.variable(), store, turn, Threads::ONE),
            writing: data.map(|(data, threads)| (Writing::new(plan.variable(), store, threads), data)),
            held: 0,
            most_held,
            next: 0..0,
            most_of_queue,
            shard: None,
            fair,
            is_continued: false,
            divided: DividedChunks::default(),
            num_in_flight: 0,
        })
    }

    /// Reads or writes the chunks that the queue has for this thread.
    fn run(&mut self, out: &Destination<'_>) {
        let _fence = Fence::new(self.job.volume);
        loop {
            self.cancel_unwanted();
            let is_in_batches = self.flight.is_in_batches();
            if !is_in_batches || self.num_in_flight == 0 {
                self.start_chunks(out);
            }
            if self.num_in_flight == 0 {
                return;
            }
            // All of a batch have been started before the first of them is there.
            if is_in_batches {
                self.ask();
            }
            match self.wait() {
                Ok(slot) => {
                    let chunk = self.slots[slot].chunk;
                    if self.job.queue.wants(chunk) {
                        let completed = match self.writing {
                            None => self.complete(slot, out),
                            Some(_) => self.complete_write(slot),
                        };
                        match completed {
                            Ok(true) => self.count_done(),
                            Ok(false) => {}
                            Err(error) => {
                                let error = error.in_chunk(self.slots[slot].indices());
                                self.fail(chunk, error);
                            }
                        }
                    }
                    self.release(slot);
                }
                Err(error) => {
                    let first = self.first_left();
                    self.abandon();
                    self.end_at(first, error);
                }
            }
        }
    }

    /// Starts requests, as many as may be in flight.
    fn start_chunks(&mut self, out: &Destination<'_>) {
        loop {
            if self.divided.begun.is_none() {
                match self.has_next() {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(error) => {
                        self.end_at(None, error);
                        break;
                    }
                }
            }
            match self.has_slot() {
                Ok(true) => {}
                Ok(false) => {
                    self.is_continued = self.shard.is_some();
                    break;
                }
                Err(error) => {
                    let chunk = self.divided.begun.as_ref().map_or(self.next.start, |begun| begun.chunk);
                    self.fail(chunk, error);
                    // There may be chunks before it in shards that have not been begun.
                    continue;
                }
            }
            if !self.ask() {
                break;
            }
            if let Some(begun) = self.divided.begun.take() {
                match self.start_range(begun, out) {
                    Ok(true) => self.count_done(),
                    Ok(false) => {}
                    Err((chunk, error)) => self.fail(chunk, error),
                }
                continue;
            }
            match self.start_next(out) {
                Ok(true) => {}
                Ok(false) => self.count_done(),
                Err((chunk, error)) => self.fail(chunk, error),
            }
        }
    }

    /// Asks the program whether to go on: before each chunk is started or, in batches, before each is done. If it says
    /// no, it is not asked again, and what is in flight is not waited for.
    fn ask(&mut self) -> bool {
        // Of a chunk in ranges the first asks for all.
        let is_asked = if self.flight.is_in_batches() { self.is_asked } else { self.divided.begun.is_some() };
        if is_asked {
            return true;
        }
        self.is_asked = true;
        let Err(error) = self.job.tracker.ask(self.progress) else { return true };
        self.progress = None;
        self.end_at(self.first_left(), error);
        false
    }

    /// Notes that the chunk that the walk is at is done.
    fn count_done(&mut self) {
        self.is_asked = false;
        self.job.tracker.add(|| self.piece_bytes());
    }

    /// Whether there is a chunk to start, which is the first of `next` then.
    fn has_next(&mut self) -> Result<bool> {
        let queue = &self.job.queue;
        if let Some(shards) = &self.job.shards {
            while self.next.is_empty() || !queue.wants(self.next.start) {
                let Some(shard) = &mut self.shard else {
                    // After a failure only those shards are opened that have chunks before it.
                    if shards.first().is_none_or(|first| !queue.wants(first)) {
                        return Ok(false);
                    }
                    // As long as not all of a shard has been read, no other one is opened.
                    let (begun, fair, of) = (self.num_in_flight, self.fair, self.job.sharing.of);
                    let (is_first, is_continued, has_latency) = (begun == 0, self.is_continued, self.has_latency);
                    let suits = |len: usize, left: usize| {
                        // What is there at once is taken in parts, so that no thread waits for another at the end.
                        let fair = if has_latency { fair } else { fair.min(part(left, of)) };
                        is_first || !is_continued && begun + len <= fair
                    };
                    self.shard = shards.take_if(suits)?;
                    self.is_continued &= !is_first;
                    if self.shard.is_none() {
                        return Ok(false);
                    }
                    continue;
                };
                match shard.chunk(self.plan) {
                    Some(chunk) if queue.wants(chunk) => self.next = chunk..chunk + 1,
                    _ => self.shard = None,
                }
                if let Some(shard) = &mut self.shard {
                    shard.advance();
                }
            }
            return Ok(true);
        }
        if self.next.is_empty() {
            // What waits here for a slot another thread could have started.
            if self.free.is_empty() && self.slots.len() >= self.most {
                return Ok(false);
            }
            let block = queue.block(self.job.sharing.of).min(self.most_of_queue);
            let Some(next) = queue.take(block) else { return Ok(false) };
            self.next = next;
        }
        Ok(queue.wants(self.next.start))
    }

    /// The first chunk of those that are not done and that no other thread has taken. What waits in the queue, and not
    /// in shards, comes after those that this thread has. All of them may be unwanted.
    fn first_left(&self) -> Option<usize> {
        let in_flight = self.slots.iter().filter(|slot| slot.is_in_flight).map(|slot| slot.chunk).min();
        let begun = self.divided.begun.as_ref().map(|begun| begun.chunk);
        let next = (!self.next.is_empty()).then_some(self.next.start);
        let in_shard = self.shard.as_ref().and_then(|shard| shard.chunk(self.plan));
        let untaken = self.job.shards.as_ref().and_then(Shards::first);
        [in_flight, begun, next, in_shard, untaken].into_iter().flatten().min()
    }

    /// Bytes of memory of the piece that the walk is at.
    fn piece_bytes(&mut self) -> usize {
        let size = self.plan.variable().element_size();
        self.walk.piece().map_or(0, |piece| piece.num_elements() * size)
    }

    /// Notes that a chunk failed, and cancels what comes after it.
    fn fail(&mut self, chunk: usize, error: Error) {
        self.job.queue.fail(chunk, error);
        self.cancel_unwanted();
    }

    /// Notes that no chunk from this one on is done any more, and none at all without one.
    fn end_at(&mut self, first: Option<usize>, error: Error) {
        match first {
            Some(first) => self.job.queue.fail(first, error),
            None => self.job.queue.fail_all(error),
        }
        self.cancel_unwanted();
    }

    /// Cancels what comes after a chunk that failed, in this thread or in another.
    fn cancel_unwanted(&mut self) {
        let queue = &self.job.queue;
        if !queue.has_failed() {
            return;
        }
        self.divided.begun.take_if(|begun| !queue.wants(begun.chunk));
        for slot in &mut self.slots {
            if slot.is_in_flight && !slot.is_stored && !queue.wants(slot.chunk) && !slot.is_cancelled {
                slot.is_cancelled = true;
                // SAFETY: the request is in flight.
                unsafe { self.flight.cancel(slot.request()) };
            }
        }
    }

    /// How many bytes a chunk takes at most that is written, before it is known how many it has.
    fn most_of_chunk(&self) -> usize {
        self.store.stored_bound(Access::Write, self.plan.grid().chunk_bytes())
    }

    /// Whether there is a slot for another request and, in a transfer that writes, memory for its chunk.
    fn has_slot(&mut self) -> Result<bool> {
        if self.writing.is_some()
            && self.num_in_flight > 0
            && self.held.saturating_add(self.most_of_chunk()) > self.most_held
        {
            return Ok(false);
        }
        let number = self.slots.len();
        if self.free.is_empty() && number < self.most {
            self.free.try_reserve(number + 1).map_err(|_| ErrorKind::OutOfMemory)?;
            self.addresses.try_reserve(1).map_err(|_| ErrorKind::OutOfMemory)?;
            self.slots.try_reserve(1).map_err(|_| ErrorKind::OutOfMemory)?;
            let slot = Slot::new(self.plan, self.store)?;
            let address = slot.request().addr();
            let place = self.addresses.partition_point(|&(other, _)| other < address);
            self.addresses.insert(place, (address, number));
            self.slots.push(slot);
            self.free.push(number);
        }
        Ok(!self.free.is_empty())
    }

    /// Makes a slot that is not in flight any more free for another chunk.
    fn release(&mut self, slot: usize) {
        if !self.slots[slot].is_in_flight {
            if self.writing.is_some() {
                self.hold(slot, 0);
                (*self.slots[slot].memory, self.slots[slot].write) = (Scratch::EMPTY, None);
            }
            // There is room for all slots, each of which is there once.
            self.free.push(slot);
        }
    }

    /// Starts the request for the next chunk, or begins to start several; `false` if the chunk was absent at once or in
    /// the cache, and is read.
    fn start_next(&mut self, out: &Destination<'_>) -> Result<bool, (usize, Error)> {
        let chunk = self.next.start;
        self.next.start += 1;
        let Some(slot) = self.free.pop() else { return Err((chunk, ErrorKind::Internal.into())) };
        let started = match self.writing {
            None => self.start_chunk(chunk, slot, out),
            Some(_) => self.start_write(chunk, slot),
        };
        self.release(slot);
        started.map_err(|error| (chunk, error.in_chunk(self.walk.indices())))
    }

    /// The same with a slot for it.
    fn start_chunk(&mut self, chunk: usize, slot: usize, out: &Destination<'_>) -> Result<bool> {
        let walk = &mut self.walk;
        walk.begin(chunk)?;
        let piece = walk.piece()?;
        if !self.job.is_counted {
            // SAFETY: no other reference to the output is used meanwhile.
            let mut out = unsafe { out.alias() };
            if self.reading.read_cached(&piece, &mut out)? {
                return Ok(false);
            }
            self.reading.verify_stored(&piece)?;
            // Other objects are opened once for all of their chunks.
            let is_constant = !self.has_latency && self.versions == Versions::Constant;
            if let Some(gap) = self.gap.filter(|_| is_constant) {
                if self.reading.at_once(&piece, self.job.reader, gap, &mut out) {
                    return Ok(false);
                }
            }
        }
        let (needed, chunk_bytes) = (piece.needed(), piece.chunk_bytes);
        let (begin, size) = match self.gap {
            Some(_) if !piece.lists.is_empty() => (needed.start, needed.len()),
            Some(gap) if chunk_bytes - needed.len() >= gap.max(1) => {
                let ranges = Ranges::new(piece.axes, self.plan.variable().element_size(), gap)?;
                // Of what can be replaced between two reads without a trace, one range is read.
                if ranges.count() > 1 && self.versions != Versions::Unknown {
                    self.divided.begin(chunk, ranges)?;
                    return Ok(true);
                }
                (needed.start, needed.len())
            }
            _ if self.flight.has_memory() => (0, self.store.stored_bound(Access::Read, chunk_bytes)),
            _ => (0, self.store.first_size(Access::Read, chunk_bytes)),
        };
        let waiting = &mut self.slots[slot];
        waiting.set_chunk(walk.indices(), chunk_bytes);
        (waiting.chunk, waiting.begin, waiting.num_asked, waiting.range) = (chunk, begin, 1, None);
        let is_there = self.start(slot, size)?;
        if !is_there {
            self.read_absent(out)?;
        }
        Ok(is_there)
    }

    /// Moves the fill value to memory for the chunk that the walk is at.
    fn read_absent(&mut self, out: &Destination<'_>) -> Result<()> {
        if self.job.is_counted {
            return Ok(());
        }
        // SAFETY: no other reference to the output is used meanwhile.
        let mut out = unsafe { out.alias() };
        self.reading.read_fill_value(&self.walk.piece()?, &mut out)
    }

    /// Starts the request for the next range of a chunk; `true` if with it the chunk is complete, for it is absent.
    fn start_range(&mut self, begun: Begun, out: &Destination<'_>) -> Result<bool, (usize, Error)> {
        let chunk = begun.chunk;
        let Some(slot) = self.free.pop() else { return Err((chunk, ErrorKind::Internal.into())) };
        let started = self.start_range_in(begun, slot, out);
        self.release(slot);
        started.map_err(|error| (chunk, error.in_chunk(self.walk.indices())))
    }

    /// The same with a slot for it.
    fn start_range_in(&mut self, begun: Begun, slot: usize, out: &Destination<'_>) -> Result<bool> {
        let Begun { chunk, ranges, next } = begun;
        self.walk.begin(chunk)?;
        let piece = self.walk.piece()?;
        let (in_chunk, in_memory) = ranges.at(next);
        let waiting = &mut self.slots[slot];
        waiting.set_chunk(piece.indices, piece.chunk_bytes);
        (waiting.chunk, waiting.num_asked) = (chunk, 1);
        waiting.begin = piece.chunk_offset.wrapping_add_signed(in_chunk);
        waiting.range = Some(piece.memory_offset.wrapping_add_signed(in_memory));
        if !self.start(slot, ranges.len)? {
            return Ok(self.range_absent(chunk, ranges.count() - next, out)? != Ended::NotAll);
        }
        if next + 1 < ranges.count() {
            self.divided.begun = Some(Begun { chunk, ranges, next: next + 1 });
        }
        Ok(false)
    }

    /// A range of a chunk is absent: so is the chunk as a whole, even if it vanished on the way. So many of its ranges
    /// have ended or will not be started.
    fn range_absent(&mut self, chunk: usize, num_ended: usize, out: &Destination<'_>) -> Result<Ended> {
        self.read_absent(out)?;
        self.divided.absent(chunk, num_ended)
    }

    /// Moves a range that a request brought to memory; `true` if with it the chunk is complete. If its ranges are of
    /// several versions of the chunk, all that is needed of it is asked for at once.
    fn complete_range(
        &mut self,
        slot: usize,
        outcome: Filled,
        memory_offset: usize,
        out: &Destination<'_>,
    ) -> Result<bool> {
        let chunk = self.slots[slot].chunk;
        self.walk.begin(chunk)?;
        match self.take_range(slot, outcome, memory_offset, out)? {
            Ended::NotAll => Ok(false),
            Ended::All => Ok(true),
            Ended::Mixed => {
                let needed = self.walk.piece()?.needed();
                (self.slots[slot].begin, self.slots[slot].range) = (needed.start, None);
                let is_there = self.start(slot, needed.len())?;
                if !is_there {
                    self.read_absent(out)?;
                }
                Ok(!is_there)
            }
        }
    }

    fn take_range(
        &mut self,
        slot: usize,
        outcome: Filled,
        memory_offset: usize,
        out: &Destination<'_>,
    ) -> Result<Ended> {
        let chunk = self.slots[slot].chunk;
        if self.divided.is_absent(chunk) {
            return self.divided.ended(chunk, 1);
        }
        let Filled::Stored(stored) = outcome else {
            let unstarted = self.divided.stop(chunk);
            return self.range_absent(chunk, 1 + unstarted, out);
        };
        if self.versions == Versions::Told {
            self.divided.read_from(chunk, self.flight.version());
        }
        if self.job.is_counted {
            return self.divided.ended(chunk, 1);
        }
        let slot = &self.slots[slot];
        let bytes = brought(&*self.flight, slot, stored);
        let (reader, _) = self.store.ranged().ok_or(ErrorKind::Internal)?;
        let gap = self.gap.ok_or(ErrorKind::Internal)?;
        let part = slot.begin..slot.begin + slot.size;
        let piece = self.walk.piece()?;
        check_part(reader, part, piece.chunk_bytes, (stored, bytes.len()))?;
        let ranges = Ranges::new(piece.axes, self.plan.variable().element_size(), gap)?;
        // SAFETY: no other reference to the output is used meanwhile: this thread moves one piece after the other.
        let mut out = unsafe { out.alias() };
        self.reading.read_range((&piece, &ranges), bytes, &mut out, memory_offset)?;
        self.divided.ended(chunk, 1)
    }

    /// Starts a slot's request for so many bytes; `false` if the chunk is absent.
    fn start(&mut self, slot: usize, size: usize) -> Result<bool> {
        if !self.job.is_counted {
            self.store.check_room(size)?;
        }
        let slot = &mut self.slots[slot];
        slot.turn = self.reading.request();
        let buffer = match self.flight.has_memory() {
            true => ptr::null_mut(),
            false => slot.memory.room(size)?.as_mut_ptr(),
        };
        slot.size = size;
        // SAFETY: the request is not in flight. It, its list and its memory stay where they are until it has been given
        // back: `read` does not return before that, and `is_in_flight` keeps the slot from being used.
        let is_there = unsafe { self.flight.start(slot.prepare(slot.begin, buffer.cast(), size)) }?;
        (slot.is_in_flight, slot.is_cancelled, slot.is_stored) = (is_there, false, false);
        self.num_in_flight += usize::from(is_there);
        Ok(is_there)
    }

    /// Waits for a request, and tells its slot.
    fn wait(&mut self) -> Result<usize> {
        let request = self.flight.wait()?;
        let place = self.addresses.binary_search_by_key(&request.addr(), |&(address, _)| address);
        let slot = place.ok().map(|place| self.addresses[place].1).filter(|&slot| self.slots[slot].is_in_flight);
        let slot = slot.ok_or(NOT_IN_FLIGHT)?;
        self.slots[slot].is_in_flight = false;
        self.num_in_flight -= 1;
        Ok(slot)
    }

    /// Gives up on what is in flight, when waiting failed.
    fn abandon(&mut self) {
        self.slots.iter_mut().for_each(|slot| slot.is_in_flight = false);
        self.num_in_flight = 0;
    }

    /// Moves what a request brought to memory; `false` if the chunk is not complete, because it has to be asked for
    /// once more, or other ranges of it are missing.
    fn complete(&mut self, slot_index: usize, out: &Destination<'_>) -> Result<bool> {
        let store = self.store;
        let slot = &self.slots[slot_index];
        // SAFETY: the request has been given back.
        let (nbytes, status) = unsafe {
            let request = &*slot.request();
            (request.nbytes, request.status)
        };
        let outcome = self.flight.outcome(status as _, nbytes)?;
        if let Some(memory_offset) = slot.range {
            return self.complete_range(slot_index, outcome, memory_offset, out);
        }
        self.walk.begin(slot.chunk)?;
        self.reading.brought_by(slot.turn);
        let Filled::Stored(stored) = outcome else { return self.read_absent(out).map(|()| true) };
        let piece = self.walk.piece()?;
        let (has_codecs, size) = (store.has_codecs(Access::Read), slot.size);
        if has_codecs && stored > size {
            let check = |len| store.check_stored(Access::Read, piece.chunk_bytes, len);
            let room = room_again(slot.num_asked, stored, check)?;
            self.slots[slot_index].num_asked += 1;
            if !self.start(slot_index, room)? {
                return self.read_absent(out).map(|()| true);
            }
            return Ok(false);
        }
        if self.job.is_counted {
            return Ok(true);
        }
        let bytes = brought(&*self.flight, slot, stored);
        // SAFETY: no other reference to the output is used meanwhile: this thread moves one piece after the other.
        let mut out = unsafe { out.alias() };
        if has_codecs {
            if bytes.len() != stored {
                return Err(ErrorKind::StoredLength { found: stored, expected: size }.into());
            }
            if self.job.hand_over(&mut *self.flight, &mut self.slots[slot_index], stored) {
                return Ok(false);
            }
            let bytes = brought(&*self.flight, &self.slots[slot_index], stored);
            if let Some(loading) = self.reading.read_stored(&piece, bytes, &mut out)? {
                self.keep(loading, slot_index, stored, true)?;
            }
        } else {
            let (part, chunk_bytes) = (slot.begin..slot.begin + size, piece.chunk_bytes);
            check_part(self.job.reader, part, chunk_bytes, (stored, bytes.len()))?;
            if let Some(loading) = self.reading.read_bytes(&piece, bytes, slot.begin, &mut out)? {
                self.keep(loading, slot_index, chunk_bytes, false)?;
            }
        }
        Ok(true)
    }

    /// Has the store's cache keep the first `len` bytes that a request has brought.
    fn keep(&mut self, loading: Loading<'a>, slot: usize, len: usize, is_stored: bool) -> Result<()> {
        let slot = &mut self.slots[slot];
        let brought = Brought::take(&mut *self.flight, slot);
        self.job.keep(loading, slot.indices(), brought, len, is_stored)
    }

    /// Notes that a slot takes so many bytes of memory.
    fn hold(&mut self, slot: usize, bytes: usize) {
        let before = std::mem::replace(&mut self.slots[slot].held, bytes);
        self.held = (self.held - before).saturating_add(bytes);
    }

    /// Begins to write a chunk: asks for it, unless all of it is replaced, or stores it; always `true`, for no chunk is
    /// written at once.
    fn start_write(&mut self, chunk: usize, slot: usize) -> Result<bool> {
        self.walk.begin(chunk)?;
        self.hold(slot, self.most_of_chunk());
        let piece = self.walk.piece()?;
        let waiting = &mut self.slots[slot];
        waiting.set_chunk(piece.indices, piece.chunk_bytes);
        (waiting.chunk, waiting.begin, waiting.num_asked, waiting.range) = (chunk, 0, 1, None);
        if !piece.is_covered {
            let size = self.store.first_size(Access::Write, piece.chunk_bytes);
            if let Some((writing, _)) = &self.writing {
                writing.verify_stored(&piece)?;
            }
            // What is stored now, not what a cache remembers: others may have written to the chunk.
            if self.start(slot, size)? {
                return Ok(true);
            }
        }
        self.start_store(slot, Filled::Absent).map(|()| true)
    }

    /// Goes on with a chunk of which a request has ended; `true` if it is stored.
    fn complete_write(&mut self, slot_index: usize) -> Result<bool> {
        let (store, slot) = (self.store, &self.slots[slot_index]);
        // SAFETY: the request has been given back.
        let (nbytes, status) = unsafe {
            let request = &*slot.request();
            (request.nbytes, request.status)
        };
        self.walk.begin(slot.chunk)?;
        let outcome = self.flight.outcome(status as _, nbytes)?;
        let (size, num_asked) = (slot.size, slot.num_asked);
        let chunk_bytes = self.walk.piece()?.chunk_bytes;
        match outcome {
            _ if slot.is_stored => return Ok(true),
            Filled::Stored(stored) if store.has_codecs(Access::Write) => {
                if stored > size {
                    let check = |len| store.check_stored(Access::Write, chunk_bytes, len);
                    let room = room_again(num_asked, stored, check)?;
                    self.slots[slot_index].num_asked += 1;
                    self.hold(slot_index, room.max(self.most_of_chunk()));
                    if self.start(slot_index, room)? {
                        return Ok(false);
                    }
                    return self.start_store(slot_index, Filled::Absent).map(|()| false);
                }
                if self.flight.bytes().len() != stored {
                    return Err(ErrorKind::StoredLength { found: stored, expected: size }.into());
                }
            }
            Filled::Stored(stored) => {
                let found = (stored, self.flight.bytes().len());
                check_part(self.job.reader, 0..chunk_bytes, chunk_bytes, found)?;
            }
            Filled::Absent => {}
        }
        self.start_store(slot_index, outcome).map(|()| false)
    }

    /// Encodes the chunk that the walk is at, which was stored as the last request has brought it, and starts to store
    /// it.
    fn start_store(&mut self, slot_index: usize, before: Filled) -> Result<()> {
        let piece = self.walk.piece()?;
        let (writing, data) = self.writing.as_mut().ok_or(ErrorKind::Internal)?;
        let slot = &mut self.slots[slot_index];
        let (bytes, len, held) = match writing.as_is(&piece, *data) {
            Some(bytes) => (bytes.as_ptr(), bytes.len(), 0),
            None => {
                let before = match before {
                    Filled::Absent => Before::Absent,
                    Filled::Stored(_) => Before::Stored(self.flight.bytes()),
                };
                let encoded = writing.encode(&piece, *data, before)?;
                let room = slot.memory.room(encoded.len())?;
                copy_to(room, encoded);
                (room.as_ptr().cast(), encoded.len(), encoded.len())
            }
        };
        slot.write = begin_write(self.plan.variable(), self.store, &piece)?;
        // SAFETY: the request is not in flight. It, its list and the bytes, which are the slot's or the caller's of the
        // transfer, stay as they are until it has been given back: `run` does not return before that, and
        // `is_in_flight` keeps the slot from being used.
        unsafe { self.flight.start_store(slot.prepare(0, bytes.cast_mut(), len)) }?;
        (slot.is_in_flight, slot.is_cancelled, slot.is_stored) = (true, false, true);
        self.num_in_flight += 1;
        self.hold(slot_index, held);
        Ok(())
    }
}

impl Drop for State<'_, '_> {
    /// What is in flight after a panic is not needed any more. The flight, which is dropped next, waits for its end.
    fn drop(&mut self) {
        for slot in self.slots.iter().filter(|slot| slot.is_in_flight && !slot.is_stored && !slot.is_cancelled) {
            // SAFETY: the request is in flight.
            unsafe { self.flight.cancel(slot.request()) };
        }
    }
}

#[cfg(test)]
mod tests;
