//! The requests of one transfer for chunks in a storage that answers later: first the indices that are needed are read,
//! then the chunks, several by one read where they are neighbours. A chunk that is written is an object as a whole, and
//! so is one that is read to be changed.
//!
//! ```text
//!   start -> ask --- it is known where it is --------> queue -- send: sorted, merged --> a read of the object
//!              \                                          ^                                       |
//!               `- by an index: to_open -- send --> a read of the index               landed -> wait, one by one
//! ```
//!
//! Of an object that is [read at once](Policy::is_whole) the read of the index is longer. The object's length is not
//! known then: the read is as long as others were, and the chunks that it does not reach are read after it.
//!
//! What is started is sent when something has to be waited for, so that there are neighbours to be found. An object
//! whose version is not the one that its index was read from has been written anew: then the index is read once more.
//! So it is for a chunk that is absent by an index that was kept from an earlier call. Where no version is known, an
//! index serves one transfer only, and is read again after the chunks, to be compared.
#![allow(unsafe_code)]

use std::collections::{HashMap, VecDeque};
use std::ffi::c_int;
use std::mem::MaybeUninit;

use super::coalesce::Policy;
use super::indices::{Indices, Opened};
use super::locate::{ATTEMPTS, LONG_STEP, Learned, Locate, Location, NODES, Part, Step};
use super::pending::{Chunks, IndexRead, Landed, Parts, Pending, Range, Read};
use super::reads::Reads;
use crate::alloc::{Scratch, try_box};
use crate::dims::{self, Dims};
use crate::error::{Error, ErrorKind, Result};
use crate::grid::{Access, Dimension};
use crate::lock::Lock;
use crate::object::{Answer, ByteRange, Limits, Storage};
use crate::open_object::ObjectState;
use crate::shared::Shared;
use crate::store::{Filled, Flight, RawRequest, ReadCost, Sharing};

/// For each read that may be in flight, so many chunks are looked at to find neighbours.
const AHEAD: usize = 16;

/// And for so many objects that have an index.
const OBJECTS_AHEAD: usize = 8;

/// No more chunks are looked at.
const MOST_AHEAD: usize = 4096;

/// And of a storage that answers at once.
const MOST_AHEAD_AT_ONCE: usize = 1024;

/// How many indices whose object is not there are remembered.
const ABSENT_OBJECTS: usize = 64;

/// The requests of one transfer.
pub(super) struct ChunkFlight<'s, 'f> {
    locate: &'s dyn Locate,
    /// The indices that are kept from call to call, and those that were read in this transfer.
    indices: &'s Indices,
    own: Indices,
    access: Access,
    limits: Limits,
    policy: Policy,
    /// How many requests for chunks have been decided on.
    num_runs: u64,
    /// The most bytes that a chunk was asked for with.
    chunk_bytes: usize,
    /// The most bytes that are stored of a chunk which was asked for as a whole.
    whole_bytes: usize,
    /// How many chunks the array has along each dimension.
    counts: Dims<usize>,
    /// How many chunks have been asked for and not been given back: each is in one of the lists below, or part of a
    /// read. All lists of chunks have room for as many.
    num_asked: usize,
    /// Those that wait for an index, in the order in which they were asked for, with gaps where some have gone on.
    waiting: VecDeque<Option<Box<Pending>>>,
    queue: VecDeque<Box<Pending>>,
    is_sorted: bool,
    ended: Vec<(*mut RawRequest, Result<Filled>)>,
    /// Indices that are needed and have not been asked for yet; and for how many chunks those are needed that have not
    /// come.
    to_open: VecDeque<Dims<isize>>,
    opening: HashMap<Dims<isize>, Needed>,
    absent: VecDeque<Dims<isize>>,
    /// The memory of the reads that are in flight. What has landed is let go before others are started.
    bytes: usize,
    landed: Option<Landed>,
    /// Memory of what has landed, for the next read.
    spare: Scratch,
    /// How the request that was given back last has ended.
    outcome: Option<Result<Filled>>,
    reads: Reads<'s, 'f>,
    /// Where reads of chunks are counted, which then are not made, and those of which it is known what they would
    /// bring. Of an object that is a chunk, the length is asked for instead.
    counted: Option<&'f Lock<ReadCost>>,
    unmade: VecDeque<Chunks>,
}

impl<'s, 'f> ChunkFlight<'s, 'f> {
    pub(super) fn new(
        locate: &'s dyn Locate,
        indices: &'s Indices,
        storage: &'f Storage,
        sharing: &'s Sharing<'f>,
    ) -> Result<Self> {
        let counts = dims::copied(sharing.grid.dimensions().iter().map(Dimension::num_chunks))?;
        let (reads, limits) = Reads::new(storage, sharing);
        let gap = if locate.reads_no_gaps() { 0 } else { storage.gap() };
        let policy = Policy { gap, largest: limits.largest, excess: limits.excess };
        Ok(ChunkFlight {
            locate,
            indices,
            own: Indices::new(locate.index_len()),
            access: sharing.access,
            limits,
            policy,
            num_runs: 0,
            chunk_bytes: 0,
            whole_bytes: 0,
            counts,
            num_asked: 0,
            waiting: VecDeque::new(),
            queue: VecDeque::new(),
            is_sorted: true,
            ended: Vec::new(),
            to_open: VecDeque::new(),
            opening: HashMap::new(),
            absent: VecDeque::new(),
            bytes: 0,
            landed: None,
            spare: Scratch::EMPTY,
            outcome: None,
            reads,
            counted: sharing.counted,
            unmade: VecDeque::new(),
        })
    }

    /// Makes room for one more chunk in every list.
    fn reserve(&mut self) -> Result<()> {
        let num = self.num_asked + 1;
        let room = |len: usize| num - len.min(num);
        let no_memory = |_| ErrorKind::OutOfMemory;
        if self.waiting.len() == self.waiting.capacity() {
            self.waiting.retain(Option::is_some);
        }
        self.waiting.try_reserve(room(self.waiting.len())).map_err(no_memory)?;
        self.queue.try_reserve(room(self.queue.len())).map_err(no_memory)?;
        self.ended.try_reserve(room(self.ended.len())).map_err(no_memory)?;
        Ok(())
    }

    /// Puts a chunk where it has to wait; `false` if it is absent.
    fn ask(&mut self, mut asked: Box<Pending>) -> Result<bool> {
        let (skipped, size) = (asked.skipped, asked.size);
        let (index, number) = match &asked.location.part {
            Part::Whole => {
                asked.range = Range { begin: skipped, len: size, ..Range::default() };
                self.enqueue(asked);
                return Ok(true);
            }
            Part::Span { begin, end } => {
                let begin = begin.checked_add(skipped).ok_or(ErrorKind::Internal)?;
                let len = usize::try_from(end.saturating_sub(begin)).unwrap_or(usize::MAX).min(size);
                asked.range = Range { begin, len, stored: Some(size), zeros: size - len, ..Range::default() };
                self.enqueue(asked);
                return Ok(true);
            }
            Part::Known(None) => return Ok(false),
            Part::Known(Some((begin, len))) => {
                let skipped = skipped.min(*len);
                let stored = usize::try_from(len - skipped).unwrap_or(usize::MAX);
                let begin = begin.checked_add(skipped).ok_or(ErrorKind::Internal)?;
                asked.range = Range { begin, len: stored.min(size), stored: Some(stored), ..Range::default() };
                self.enqueue(asked);
                return Ok(true);
            }
            Part::Unknown => return self.wait_for_index(asked).map(|()| true),
            Part::Indexed { number } => (&asked.location.object, *number),
        };
        if let Some(opened) = self.own.get(index) {
            return self.resolve(asked, &opened);
        }
        // That a chunk is there is found to be wrong when it is read, but not that it is absent.
        if let Some(opened) = self.indices.get(index).filter(|opened| opened.index.has(number)) {
            return self.resolve(asked, &opened);
        }
        if self.absent.contains(index) {
            return match self.locate.missing(index)? {
                Filled::Absent => Ok(false),
                Filled::Stored(_) => Err(ErrorKind::Internal.into()),
            };
        }
        self.wait_for_index(asked).map(|()| true)
    }

    /// Has a chunk wait for the index that it needs.
    fn wait_for_index(&mut self, mut asked: Box<Pending>) -> Result<()> {
        let index = &asked.location.object;
        let whole = usize::from(asked.is_whole);
        self.waiting.try_reserve(1).map_err(|_| ErrorKind::OutOfMemory)?;
        asked.is_late = false;
        match self.opening.get_mut(index) {
            Some(needed) => {
                (needed.chunks, needed.whole) = (needed.chunks + 1, needed.whole + whole);
                asked.is_late = needed.is_sent;
            }
            None => {
                let (one, other) = (copied(index)?, copied(index)?);
                self.to_open.try_reserve(1).map_err(|_| ErrorKind::OutOfMemory)?;
                self.opening.try_reserve(1).map_err(|_| ErrorKind::OutOfMemory)?;
                self.opening.insert(one, Needed { chunks: 1, whole, is_sent: false });
                self.to_open.push_back(other);
            }
        }
        self.waiting.push_back(Some(asked));
        Ok(())
    }

    /// Puts a chunk in the queue, by its index; `false` if it is absent.
    fn resolve(&mut self, mut asked: Box<Pending>, opened: &Opened) -> Result<bool> {
        let (object, number) = asked.index().ok_or(ErrorKind::Internal)?;
        let Some((offset, len)) = self.locate.span(object, &opened.index, number, opened.state.0)? else {
            return Ok(false);
        };
        let skipped = asked.skipped.min(len);
        let stored = usize::try_from(len - skipped).unwrap_or(usize::MAX);
        let (begin, len, state) = (offset + skipped, stored.min(asked.size), Some(opened.state));
        asked.range = Range { begin, len, stored: Some(stored), state, ..Range::default() };
        self.enqueue(asked);
        Ok(true)
    }

    fn enqueue(&mut self, asked: Box<Pending>) {
        let is_one = self.locate.is_one_object();
        self.is_sorted &= self.queue.back().is_none_or(|last| last.key(is_one) <= asked.key(is_one));
        self.queue.push_back(asked);
    }

    /// The chunk has ended so.
    fn end(&mut self, request: *mut RawRequest, outcome: Result<Filled>) {
        self.ended.push((request, outcome));
    }

    /// The chunk has been asked for, as far as it is there.
    fn asked(&mut self, request: *mut RawRequest, is_there: Result<bool>) {
        match is_there {
            Ok(true) => {}
            Ok(false) => self.end(request, Ok(Filled::Absent)),
            Err(error) => self.end(request, Err(error)),
        }
    }

    fn fail(&mut self, parts: Parts, error: &Error) {
        for part in parts {
            self.end(part.request, Err(error.clone()));
        }
    }

    // --- What is sent.

    /// Whether another read of so many bytes may be in flight. A single one always may.
    fn has_room(&self, len: usize) -> bool {
        let num = self.num_reads();
        num == 0 || num < self.limits.requests && self.bytes.saturating_add(len) <= self.most_bytes()
    }

    /// How many reads are in flight, or count as such.
    fn num_reads(&self) -> usize {
        self.reads.len() + self.unmade.len()
    }

    /// How many bytes may be in flight.
    fn most_bytes(&self) -> usize {
        let chunks = self.limits.requests.saturating_mul(self.chunk_bytes);
        self.limits.bytes.unwrap_or(chunks.max(self.limits.largest))
    }

    /// How many bytes of an object are read with its index: none besides it or, if the object is read at once, as many
    /// as it is likely to have.
    fn reach(&self, index: &Dims<isize>, step: &Step) -> usize {
        let most = if self.reads.are_at_once() { None } else { self.locate.most_chunks(index, &self.counts) };
        let Some(most) = most.filter(|_| step.len <= LONG_STEP) else { return step.len };
        let whole = self.opening.get(index).map_or(0, |needed| needed.whole);
        let bytes = |num: usize| num.saturating_mul(self.whole_bytes);
        if whole == 0 || !self.policy.is_whole(bytes(whole), bytes(most.saturating_sub(whole))) {
            return step.len;
        }
        // As long as none has been seen, those that are read next share what there is room for.
        let share = || {
            let num = self.to_open.len().min(self.limits.requests.saturating_sub(self.num_reads())).max(1);
            self.most_bytes().saturating_sub(self.bytes) / num
        };
        let likely = self.indices.likely_len().map_or_else(share, |len| usize::try_from(len).unwrap_or(usize::MAX));
        likely.min(bytes(most).saturating_add(step.len)).min(self.policy.largest).max(step.len)
    }

    /// Starts reads, as many as may be in flight.
    fn send(&mut self) {
        self.sort();
        // What is read at once is read while its object is open; an index that others need of that object, too.
        if let Some(object) = self.queue.front().map(|first| &first.location.object) {
            if self.reads.are_at_once() {
                let needed = if self.locate.is_one_object() { None } else { self.opening.get(object) };
                let place = needed.and_then(|_| self.to_open.iter().position(|index| index == object));
                match place.and_then(|place| self.to_open.remove(place)) {
                    Some(index) => self.to_open.push_front(index),
                    None => return self.send_chunks(),
                }
            }
        }
        while let Some(index) = self.to_open.front() {
            let step = self.locate.first_step(index).map(|step| (step, self.reach(index, &step)));
            if !self.has_room(step.as_ref().map_or(0, |(_, reach)| *reach)) {
                break;
            }
            let Some(index) = self.to_open.pop_front() else { break };
            match step {
                Ok(step) => self.open(index, step),
                Err(error) => self.opened(&index, Err(error)),
            }
        }
        self.send_chunks();
    }

    /// Starts reads of chunks.
    fn send_chunks(&mut self) {
        if !self.has_room(0) {
            return;
        }
        loop {
            // What is answered at once may have to be read again, elsewhere.
            self.sort();
            let Some((count, range)) = self.next_run() else { break };
            let len = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
            if !self.has_room(len) {
                break;
            }
            self.read(count, range, len);
        }
    }

    /// Sorts the queue by objects, and by where chunks are in them.
    fn sort(&mut self) {
        if !self.is_sorted {
            let is_one = self.locate.is_one_object();
            self.queue.make_contiguous().sort_unstable_by(|one, other| one.key(is_one).cmp(&other.key(is_one)));
            self.is_sorted = true;
        }
    }

    /// How many chunks, from the first of the queue on, are read by one request, and what it brings.
    fn next_run(&mut self) -> Option<(usize, std::ops::Range<u64>)> {
        while !self.is_decided()? {
            self.decide();
        }
        let first = self.queue.front()?;
        let run = self.queue.iter().take_while(|pending| pending.range.run == first.range.run);
        let (count, end) = run.fold((0, 0), |(count, end), pending| (count + 1, pending.range.end().max(end)));
        Some((count, first.range.begin..end))
    }

    /// Whether it is decided with which others the first of the queue is read; `None` if there is none.
    fn is_decided(&self) -> Option<bool> {
        let (is_one, first) = (self.locate.is_one_object(), self.queue.front()?);
        let behind = self.queue.iter().find(|pending| pending.range.run != first.range.run);
        // What came later may be read with the last ones of its object.
        let is_more =
            behind.is_some_and(|behind| behind.range.run == 0 && behind.object(is_one) == first.object(is_one));
        Some(first.range.run != 0 && !is_more)
    }

    /// Decides by which requests the chunks are read that are in the same object as the first. Without memory for that
    /// they end.
    fn decide(&mut self) {
        let is_one = self.locate.is_one_object();
        let Some(first) = self.queue.front() else { return };
        let object = first.object(is_one);
        let count = self.queue.iter().take_while(|pending| pending.object(is_one) == object).count();
        let ranges = self.queue.iter().take(count).map(|pending| pending.range.begin..pending.range.end());
        let joined = if count > 1 { self.policy.joined(ranges) } else { Ok(Vec::new()) };
        let joined = match joined {
            Ok(joined) => joined,
            Err(error) => {
                let parts = self.queue.drain(..count);
                self.ended.extend(parts.map(|part| (part.request, Err(error.clone()))));
                return;
            }
        };
        for (i, pending) in self.queue.iter_mut().take(count).enumerate() {
            self.num_runs += u64::from(!joined.get(i).copied().unwrap_or(false));
            pending.range.run = self.num_runs;
        }
    }

    /// Starts to read an index, by a step that reaches so far.
    fn open(&mut self, index: Dims<isize>, (step, reach): (Step, usize)) {
        if let Some(needed) = self.opening.get_mut(&index) {
            needed.is_sent = true;
        }
        let forgotten = self.indices.forgotten();
        match copied(&index).and_then(|index| step_of(index, (step, reach), forgotten)) {
            Ok(read) => self.start_step(read, step.len <= LONG_STEP),
            Err(error) => self.opened(&index, Err(error)),
        }
    }

    /// Starts a step of an index, or to read the length of its object first.
    fn start_step(&mut self, mut read: Box<IndexRead>, is_read: bool) {
        // Where reads of chunks are counted, none is read with its index.
        let (begin, len) = match (is_read, self.counted) {
            (false, _) => (ByteRange::At(0), 0),
            (true, None) => (read.begin(), read.reach),
            (true, Some(_)) => (read.step.begin, read.step.len),
        };
        if read.has_chunks() {
            read.memory = std::mem::replace(&mut self.spare, Scratch::EMPTY);
        }
        read.len = if is_read { read.reach } else { 0 };
        let room = read.memory.room(len).map(|room| (room.as_mut_ptr().cast(), room.len()));
        let name = self.locate.name(&read.index);
        match (room, name) {
            (Ok(room), Ok(name)) => self.start_read(Read::Index(read), &name, begin, room),
            (Err(failed), _) => self.step_failed(read, &failed.into()),
            (_, Err(error)) => self.step_failed(read, &error),
        }
    }

    /// Starts to read the first `count` chunks of the queue, which lie within these bytes of their object.
    fn read(&mut self, count: usize, range: std::ops::Range<u64>, len: usize) {
        let (mut parts, mut memory) = (Vec::new(), std::mem::replace(&mut self.spare, Scratch::EMPTY));
        let count = count.min(self.queue.len());
        let has_room = parts.try_reserve_exact(count).is_ok();
        // What reaches beyond all that is stored ends with zeros.
        let zeros = self.queue.iter().take(count).map(|part| part.range.zeros).max().unwrap_or(0);
        let room = memory.room(len.saturating_add(zeros)).map(|room| {
            room[len..].fill(MaybeUninit::new(0));
            (room.as_mut_ptr().cast(), len)
        });
        let (true, Ok(room)) = (has_room, room) else {
            for part in self.queue.drain(..count) {
                self.ended.push((part.request, Err(ErrorKind::OutOfMemory.into())));
            }
            return;
        };
        parts.extend(self.queue.drain(..count));
        let Some(name) = parts.first().map(|part| self.locate.name(&part.location.object)) else { return };
        let name = match name {
            Ok(name) => name,
            Err(error) => return self.fail(parts, &error),
        };
        let read = Read::Chunks(Chunks { parts, begin: range.start, memory, len });
        self.start_read(read, &name, ByteRange::At(range.start), room);
    }

    /// Starts a read, to which the memory belongs.
    fn start_read(&mut self, read: Read, name: &str, begin: ByteRange, room: (*mut u8, usize)) {
        self.bytes += read.bytes();
        let (read, room) = match (self.counted, read) {
            (None, read) => (read, room),
            (Some(counted), Read::Chunks(chunks)) => {
                let is_known = chunks.parts.iter().all(|part| part.range.stored.is_some());
                add(counted, (if is_known { chunks.len } else { 0 }, 0), false);
                if is_known && self.unmade.try_reserve(1).is_err() {
                    return self.arrive(Read::Chunks(chunks), Err(ErrorKind::OutOfMemory.into()));
                }
                if is_known {
                    return self.unmade.push_back(chunks);
                }
                (Read::Chunks(chunks), (room.0, 0))
            }
            (Some(counted), read) => {
                let has_chunks = matches!(&read, Read::Index(read) if read.has_chunks());
                // How much comes with it is known when it is there.
                add(counted, (if has_chunks { 0 } else { room.1 }, room.1), !has_chunks);
                (read, room)
            }
        };
        // SAFETY: the memory belongs to the read, and nobody else uses it.
        match unsafe { self.reads.start(read, name, begin, room) } {
            Ok(None) => {}
            Ok(Some(read)) => self.arrive(read, Ok(None)),
            Err((read, error)) => self.arrive(read, Err(error)),
        }
    }

    // --- What arrives.

    /// Takes up what has become of a read.
    fn arrive(&mut self, read: Read, answer: Result<Option<Answer>>) {
        self.bytes -= read.bytes();
        match (read, answer) {
            (Read::Chunks(chunks), answer) => self.chunks_arrive(chunks, answer),
            (Read::Write { request, .. }, answer) => {
                // SAFETY: the request is in flight, and does not change.
                let (chunk, ..) = unsafe { RawRequest::asked_for(request) };
                self.indices.forget(chunk);
                self.end(request, answer.map(|_| Filled::Stored(0)));
            }
            (Read::Index(read), Ok(Some(answer))) => self.step_arrives(read, answer),
            (Read::Index(read), Ok(None)) => match read.check {
                Some(chunks) => self.changed(chunks.parts),
                None => self.opened(&read.index, Ok(Arrived::Absent)),
            },
            (Read::Index(read), Err(error)) => self.step_failed(read, &error),
        }
    }

    fn step_arrives(&mut self, mut read: Box<IndexRead>, answer: Answer) {
        let state = answer.state();
        if read.len < read.step.len && state.0 >= read.step.len as u64 {
            // The length alone was asked for.
            return self.start_step(read, true);
        }
        if read.state.is_some_and(|before| before != state) {
            // The steps are of two objects.
            return self.begin_again(read);
        }
        read.state = Some(state);
        // SAFETY: so many bytes of the memory have been written.
        let bytes = unsafe { read.memory.filled(answer.nbytes) };
        match self.locate.learn(&read.index, &read.step, read.of_step(bytes), state.0) {
            Ok(Learned::Next(step)) => {
                (read.step, read.reach) = (step, step.len);
                self.start_step(read, step.len <= LONG_STEP);
            }
            Ok(Learned::Kept) => self.opened(&read.index, Ok(Arrived::Kept)),
            Ok(Learned::Index(index)) => match read.check.take() {
                Some(chunks) if chunks.parts.iter().all(|part| part.is_in(&index, state)) => self.land(chunks, state),
                Some(chunks) => self.changed(chunks.parts),
                None => {
                    let opened = Shared::new(Opened { index, state }).map_err(Error::from).and_then(|opened| {
                        self.keep(&read.index, &opened, read.forgotten, answer.is_lasting).map(|()| opened)
                    });
                    self.opened(&read.index, opened.clone().map(Arrived::Index));
                    self.indices.note_len(state.0);
                    if let Ok(opened) = opened {
                        self.land_with_index(*read, &opened);
                    }
                }
            },
            // What is none any more was replaced.
            Err(error) if error.kind() != ErrorKind::OutOfMemory && read.check.is_some() => self.begin_again(read),
            Err(error) => self.step_failed(read, &error),
        }
    }

    /// The object was replaced while its index was read.
    fn begin_again(&mut self, mut read: Box<IndexRead>) {
        if let Some(chunks) = read.check.take() {
            return self.changed(chunks.parts);
        }
        (read.state, read.attempts) = (None, read.attempts + 1);
        if read.attempts == ATTEMPTS {
            return self.opened(&read.index, Err(self.locate.changed()));
        }
        match self.locate.first_step(&read.index) {
            Ok(step) => {
                (read.step, read.reach) = (step, step.len);
                self.start_step(read, step.len <= LONG_STEP);
            }
            Err(error) => self.opened(&read.index, Err(error)),
        }
    }

    fn step_failed(&mut self, read: Box<IndexRead>, error: &Error) {
        match read.check {
            Some(chunks) => self.fail(chunks.parts, error),
            None => self.opened(&read.index, Err(error.clone())),
        }
    }

    /// Keeps an index that has been read, for later calls if it will be known whether the object is the same then.
    fn keep(&self, index: &Dims<isize>, opened: &Shared<Opened>, forgotten: u64, is_lasting: bool) -> Result<()> {
        self.own.keep(copied(index)?, opened, self.own.forgotten())?;
        if is_lasting { self.indices.keep(copied(index)?, opened, forgotten) } else { Ok(()) }
    }

    /// An index is there, or there is no such object: the chunks that have waited for that go on.
    fn opened(&mut self, index: &Dims<isize>, opened: Result<Arrived>) {
        let mut needed = self.opening.remove(index).map_or(0, |needed| needed.chunks);
        if let (Ok(Arrived::Absent), Ok(index)) = (&opened, copied(index)) {
            self.absent.truncate(ABSENT_OBJECTS - 1);
            if self.absent.try_reserve(1).is_ok() {
                self.absent.push_front(index);
            }
        }
        let mut i = 0;
        while needed > 0 && i < self.waiting.len() {
            i += 1;
            let waiting = self.waiting.get_mut(i - 1);
            let Some(asked) = waiting.and_then(|waiting| waiting.take_if(|asked| asked.needs(index))) else { continue };
            needed -= 1;
            let request = asked.request;
            match &opened {
                Ok(Arrived::Index(opened)) => {
                    let is_there = self.resolve(asked, opened);
                    self.asked(request, is_there);
                }
                Ok(Arrived::Kept) => {
                    let is_there = self.ask_again(asked);
                    self.asked(request, is_there);
                }
                Ok(Arrived::Absent) => self.end(request, self.locate.missing(index)),
                Err(error) => self.end(request, Err(error.clone())),
            }
        }
        while self.waiting.front().is_some_and(Option::is_none) {
            self.waiting.pop_front();
        }
    }

    /// An index is there, and with it chunks: those that are there with all their bytes are not read any more. A chunk
    /// that was asked for after the index had been sent is read by a request of its own: these bytes may be older than
    /// that call allows. So is one that another index has placed, for the object was replaced since.
    fn land_with_index(&mut self, read: IndexRead, opened: &Opened) {
        let state = opened.state;
        if !read.has_chunks() {
            return;
        }
        let begin = read.begin().offset(state.0);
        let len = usize::try_from(state.0 - begin).unwrap_or(usize::MAX).min(read.reach);
        if let Some(mut cost) = self.counted.and_then(Lock::lock) {
            cost.bytes += len as u64;
        }
        let (end, mut parts) = (begin.saturating_add(len as u64), Vec::new());
        let is_there = |pending: &Pending| {
            let is_within = pending.range.begin >= begin && pending.range.end() <= end;
            is_within && !pending.is_late && pending.needs(&read.index) && pending.is_in(&opened.index, state)
        };
        let num = self.queue.iter().filter(|pending| is_there(pending)).count();
        let has_memory = parts.try_reserve_exact(num).is_ok();
        for _ in 0..self.queue.len() {
            let Some(pending) = self.queue.pop_front() else { break };
            match is_there(&pending) {
                true if has_memory => parts.push(pending),
                true => self.end(pending.request, Err(ErrorKind::OutOfMemory.into())),
                false => self.queue.push_back(pending),
            }
        }
        let chunks = Chunks { parts, begin, memory: read.memory, len };
        self.land(chunks, state);
    }

    /// Asks once more where a chunk is, of which the format knows more than before.
    fn ask_again(&mut self, mut asked: Box<Pending>) -> Result<bool> {
        asked.nodes += 1;
        if asked.nodes == NODES {
            return Err(self.locate.changed());
        }
        // SAFETY: the request is in flight, and does not change.
        let (chunk, ..) = unsafe { RawRequest::asked_for(asked.request) };
        asked.location = self.locate.locate(chunk)?;
        self.ask(asked)
    }

    fn chunks_arrive(&mut self, chunks: Chunks, mut answer: Result<Option<Answer>>) {
        if let (Some(counted), Ok(Some(answer))) = (self.counted, &mut answer) {
            if chunks.parts.iter().any(|part| part.range.stored.is_none()) {
                // What the read would bring of an object of this length.
                let there = answer.object_size.saturating_sub(chunks.begin);
                answer.nbytes = usize::try_from(there).unwrap_or(usize::MAX).min(chunks.len);
                if let Some(mut cost) = counted.lock() {
                    cost.bytes += answer.nbytes as u64;
                }
            }
        }
        let due = chunks.parts.first().and_then(|part| part.range.state);
        match (answer, due) {
            (Ok(Some(answer)), Some(due)) if answer.state() != due => self.changed(chunks.parts),
            (Ok(Some(answer)), Some(_)) if answer.version.is_none() && !self.locate.is_constant() => self.check(chunks),
            (Ok(Some(answer)), _) => self.parts_arrive(chunks, answer),
            (Ok(None), Some(_)) => self.changed(chunks.parts),
            (Ok(None), None) => {
                for part in chunks.parts {
                    self.end(part.request, self.locate.missing(&part.location.object));
                }
            }
            (Err(error), _) => self.fail(chunks.parts, &error),
        }
    }

    /// Chunks are there, as far as the object has their bytes.
    fn parts_arrive(&mut self, mut chunks: Chunks, answer: Answer) {
        if answer.nbytes == chunks.len {
            return self.land(chunks, answer.state());
        }
        // What tells the object's length may be short; else the object is.
        let end = chunks.begin.saturating_add(answer.nbytes as u64);
        let mut i = 0;
        while let Some(part) = chunks.parts.get(i) {
            if part.range.stored.is_none() || part.range.end() <= end {
                i += 1;
                continue;
            }
            let part = chunks.parts.swap_remove(i);
            self.end(part.request, Err(self.locate.too_short(&part.location.object)));
        }
        let filled = if self.counted.is_some() { 0 } else { answer.nbytes };
        // SAFETY: so many bytes have been written.
        self.landed = Some(unsafe { Landed::new(chunks, filled, answer.state()) });
    }

    /// Chunks are there with all their bytes.
    fn land(&mut self, chunks: Chunks, state: ObjectState) {
        let zeros = chunks.parts.iter().map(|part| part.range.zeros).max().unwrap_or(0);
        let filled = if self.counted.is_some() { 0 } else { chunks.len.saturating_add(zeros) };
        // SAFETY: an answer has all bytes that there are, and the object is as long as it should be; the zeros behind
        // them were written before.
        self.landed = Some(unsafe { Landed::new(chunks, filled, state) });
    }

    /// Starts to read an index once more, by which chunks have been read.
    fn check(&mut self, chunks: Chunks) {
        let Some(asked) = chunks.parts.first() else { return };
        let Some((index, _)) = asked.index() else { return };
        let read = copied(index).and_then(|index| {
            let step = self.locate.first_step(&index)?;
            step_of(index, (step, step.len), 0)
        });
        match read {
            Ok(mut read) => {
                read.check = Some(chunks);
                self.start_step(read, true);
            }
            Err(error) => self.fail(chunks.parts, &error),
        }
    }

    /// The object is not any more what its index was read from.
    fn changed(&mut self, parts: Parts) {
        for mut asked in parts {
            if let Some((index, _)) = asked.index() {
                for indices in [&self.own, self.indices] {
                    if indices.get(index).is_some_and(|opened| Some(opened.state) == asked.range.state) {
                        indices.forget(index);
                    }
                }
            }
            asked.attempts += 1;
            let request = asked.request;
            if asked.attempts == ATTEMPTS {
                self.end(request, Err(self.locate.changed()));
                continue;
            }
            let is_there = self.ask(asked);
            self.asked(request, is_there);
        }
    }

    /// The next chunk of what has landed; what has none left is let go.
    fn next_landed(&mut self) -> Option<(*mut RawRequest, Result<Filled>)> {
        let landed = self.landed.as_mut()?;
        let next = landed.next();
        if next.is_none() {
            self.spare = self.landed.take().map_or(Scratch::EMPTY, |landed| landed.chunks.memory);
        }
        next
    }
}

/// For how many chunks an index is needed, and how many of them as a whole.
struct Needed {
    chunks: usize,
    whole: usize,
    /// Whether its read has begun.
    is_sent: bool,
}

/// What has become of an index that was asked for.
enum Arrived {
    Index(Shared<Opened>),
    /// The format keeps it.
    Kept,
    /// There is no object.
    Absent,
}

/// Counts a request for so many bytes, of which so many are those of an index.
fn add(counted: &Lock<ReadCost>, (bytes, of_index): (usize, usize), is_index: bool) {
    let Some(mut cost) = counted.lock() else { return };
    cost.requests += 1;
    cost.bytes += bytes as u64;
    cost.index_requests += u64::from(is_index);
    cost.index_bytes += of_index as u64;
}

/// A step of an index that is going to be read.
fn step_of(index: Dims<isize>, (step, reach): (Step, usize), forgotten: u64) -> Result<Box<IndexRead>> {
    let (memory, len, state, attempts, check) = (Scratch::EMPTY, 0, None, 0, None);
    Ok(try_box(IndexRead { index, step, reach, memory, len, state, forgotten, attempts, check })?)
}

fn copied(numbers: &Dims<isize>) -> Result<Dims<isize>> {
    dims::copied(numbers.iter().copied())
}

// SAFETY: each request comes back once, when it has ended, and none of them has a buffer.
unsafe impl Flight for ChunkFlight<'_, '_> {
    fn limit(&self, size: usize) -> usize {
        if self.reads.are_at_once() {
            return MOST_AHEAD_AT_ONCE;
        }
        if self.locate.has_neighbours() {
            // All chunks of some objects, so that it is seen whether these are read at once.
            let of_objects = self.locate.index_len().saturating_mul(OBJECTS_AHEAD);
            let num = self.limits.requests.saturating_mul(AHEAD).max(of_objects);
            return num.clamp(1, MOST_AHEAD.max(self.limits.requests));
        }
        let within = self.limits.bytes.map_or(usize::MAX, |bytes| bytes / size.max(1));
        self.limits.requests.min(within).max(1)
    }

    fn has_memory(&self) -> bool {
        true
    }

    fn is_in_batches(&self) -> bool {
        self.reads.are_at_once()
    }

    unsafe fn start(&mut self, request: *mut RawRequest) -> Result<bool> {
        // SAFETY: the request is not in flight yet, and does not change.
        let (chunk, offset, (_, size)) = unsafe { RawRequest::asked_for(request) };
        // SAFETY: as above.
        let chunk_bytes = unsafe { (*request).chunk_bytes };
        self.chunk_bytes = self.chunk_bytes.max(size).max(chunk_bytes);
        let is_whole = offset == 0 && size >= chunk_bytes;
        self.whole_bytes = self.whole_bytes.max(if is_whole { size } else { 0 });
        let location = match self.access {
            Access::Read => self.locate.locate(chunk)?,
            Access::Write => Location { object: dims::copied(chunk.iter().copied())?, part: Part::Whole },
        };
        self.reserve()?;
        let (skipped, range) = (offset as u64, Range::default());
        let (attempts, nodes, is_cancelled, is_late) = (0, 0, false, false);
        let asked =
            Pending { request, location, skipped, size, attempts, nodes, is_cancelled, is_whole, is_late, range };
        let is_there = self.ask(try_box(asked)?)?;
        self.num_asked += usize::from(is_there);
        Ok(is_there)
    }

    fn store_limits(&self) -> (usize, usize) {
        (self.limits.requests, self.limits.bytes.unwrap_or(usize::MAX))
    }

    unsafe fn start_store(&mut self, request: *mut RawRequest) -> Result<()> {
        // SAFETY: the request is not in flight yet, and does not change.
        let (chunk, _, (bytes, len)) = unsafe { RawRequest::asked_for(request) };
        let name = self.locate.name(chunk)?;
        self.reserve()?;
        // SAFETY: the bytes stay as they are, by the caller's promise.
        let started = unsafe { self.reads.start_write(Read::Write { request, len }, &name, (bytes, len)) };
        started.map_err(|(_, error)| error)?;
        self.num_asked += 1;
        self.bytes += len;
        Ok(())
    }

    fn wait(&mut self) -> Result<*mut RawRequest> {
        loop {
            let (request, outcome) = if let Some(next) = self.next_landed() {
                next
            } else if let Some(ended) = self.ended.pop() {
                ended
            } else {
                self.send();
                // What could not be sent has ended.
                if self.ended.is_empty() {
                    if let Some(chunks) = self.unmade.pop_front() {
                        let state = chunks.parts.first().and_then(|part| part.range.state).unwrap_or((u64::MAX, None));
                        let answer = Answer::new(chunks.len, state);
                        self.arrive(Read::Chunks(chunks), Ok(Some(answer)));
                    } else if self.reads.len() > 0 {
                        let (read, answer) = self.reads.wait()?;
                        self.arrive(read, answer);
                    } else if self.queue.is_empty() && self.to_open.is_empty() {
                        return Err(ErrorKind::Internal.into());
                    }
                }
                continue;
            };
            self.num_asked -= 1;
            self.outcome = Some(outcome);
            return Ok(request);
        }
    }

    fn outcome(&mut self, _status: c_int, _nbytes: usize) -> Result<Filled> {
        self.outcome.take().unwrap_or_else(|| Err(ErrorKind::Internal.into()))
    }

    fn version(&self) -> Option<u128> {
        self.landed.as_ref().and_then(Landed::version)
    }

    fn bytes(&self) -> &[u8] {
        self.landed.as_ref().map_or(&[], Landed::bytes)
    }

    fn take_bytes(&mut self) -> Option<Scratch> {
        self.landed.as_mut().and_then(Landed::take_bytes)
    }

    unsafe fn cancel(&mut self, request: *mut RawRequest) {
        let is_it = |asked: &Pending| std::ptr::eq(asked.request, request);
        let waiting = self.waiting.iter_mut().find_map(|waiting| waiting.take_if(|asked| is_it(asked)));
        let queued = self.queue.iter().position(|placed| is_it(placed));
        if let Some(asked) = waiting {
            self.end(request, Ok(Filled::Absent));
            // An index that is in flight already may serve another chunk; else it is cancelled at the end.
            let Some((index, _)) = asked.index() else { return };
            let Some(needed) = self.opening.get_mut(index) else { return };
            (needed.chunks, needed.whole) = (needed.chunks - 1, needed.whole - usize::from(asked.is_whole));
            if needed.chunks == 0 {
                if let Some(unsent) = self.to_open.iter().position(|other| other == index) {
                    self.to_open.remove(unsent);
                    self.opening.remove(index);
                }
            }
        } else if let Some(i) = queued {
            self.queue.remove(i);
            self.end(request, Ok(Filled::Absent));
        } else {
            self.reads.cancel_if(|read| {
                let Read::Chunks(Chunks { parts, .. }) = read else { return false };
                let Some(part) = parts.iter_mut().find(|part| is_it(part)) else {
                    return false;
                };
                part.is_cancelled = true;
                parts.iter().all(|part| part.is_cancelled)
            });
        }
    }
}

#[cfg(test)]
mod tests;
