//! The requests of one transfer for chunks within shards: first the shards' indices are read, then the chunks, several
//! by one read where they are neighbours.
//!
//! ```text
//!   start -> ask --- the index is known --------------> queue -- send: sorted, merged --> a read of the shard
//!              \                                          ^                                       |
//!               `- it is not: to_open -- send --> a read of the index               landed -> wait, one by one
//! ```
//!
//! What is started is sent when something has to be waited for, so that there are neighbours to be found. A shard whose
//! version is not the one that its index was read from has been written anew: then the index is read once more. So it
//! is for a chunk that is absent by an index that was kept from an earlier call. Where no version is known, an index
//! serves one transfer only, and is read again after the chunks, to be compared.
#![allow(unsafe_code)]

use std::collections::VecDeque;
use std::ffi::c_int;

use super::asked::{Asked, Chunks, Landed, Placed, Read};
use super::indices::{Indices, Opened};
use super::layout::{ABSENT, ATTEMPTS, CHANGED, Layout, corrupt};
use super::merge::{Range, run};
use crate::alloc::{Scratch, push};
use crate::dims::{self, Dims};
use crate::error::{Error, ErrorKind, Result};
use crate::object::{self, Answer, Begin, Limits, UnderWay};
use crate::shared::Shared;
use crate::store::{Filled, Flight, RawRequest};
use crate::zarr::chunks::Names;

/// A longer index is not read before it is known that the shard is as long.
pub(super) const LONG_INDEX: usize = 1 << 20;

/// For each read that may be under way, so many chunks are looked at to find neighbours.
const AHEAD: usize = 16;

/// No more chunks are looked at.
const MOST_AHEAD: usize = 4096;

/// How many shards that are not there are remembered.
const ABSENT_SHARDS: usize = 64;

/// The requests of one transfer for chunks within shards.
pub(super) struct ShardFlight<'s> {
    names: &'s Names,
    layout: &'s Layout,
    /// The indices that are kept from call to call, and those that were read in this transfer.
    indices: &'s Indices,
    own: Indices,
    gap: usize,
    limits: Limits,
    chunk_bytes: usize,
    /// How many chunks have been asked for and not been given back: each is in one of the lists below, or part of a
    /// read. All lists of chunks have room for as many.
    num_asked: usize,
    waiting: Vec<Asked>,
    queue: VecDeque<Placed>,
    is_sorted: bool,
    ended: Vec<(*mut RawRequest, Result<Filled>)>,
    /// Shards whose index is needed and has not been asked for yet, and those for which that is under way.
    to_open: VecDeque<Dims<isize>>,
    opening: Vec<Dims<isize>>,
    absent: VecDeque<Dims<isize>>,
    /// The memory of the reads that are under way. What has landed is let go before others are started.
    bytes: usize,
    landed: Option<Landed>,
    /// How the request that was given back last has ended.
    outcome: Option<Result<Filled>>,
    under_way: UnderWay<'s, Read>,
}

impl<'s> ShardFlight<'s> {
    pub(super) fn new(
        (names, layout, indices): (&'s Names, &'s Layout, &'s Indices),
        (flight, prefix): (&'s dyn object::Flight, &'s str),
        (gap, of): (usize, usize),
    ) -> Self {
        ShardFlight {
            names,
            layout,
            indices,
            own: Indices::new(layout),
            gap,
            limits: flight.limits().shared(of),
            chunk_bytes: 0,
            num_asked: 0,
            waiting: Vec::new(),
            queue: VecDeque::new(),
            is_sorted: true,
            ended: Vec::new(),
            to_open: VecDeque::new(),
            opening: Vec::new(),
            absent: VecDeque::new(),
            bytes: 0,
            landed: None,
            outcome: None,
            under_way: UnderWay::new(flight, prefix),
        }
    }

    /// Makes room for one more chunk in every list.
    fn reserve(&mut self) -> Result<()> {
        let num = self.num_asked + 1;
        let room = |len: usize| num - len.min(num);
        let no_memory = |_| ErrorKind::OutOfMemory;
        self.waiting.try_reserve(room(self.waiting.len())).map_err(no_memory)?;
        self.queue.try_reserve(room(self.queue.len())).map_err(no_memory)?;
        self.ended.try_reserve(room(self.ended.len())).map_err(no_memory)?;
        Ok(())
    }

    /// Puts a chunk where it has to wait; `false` if it is absent.
    fn ask(&mut self, asked: Asked) -> Result<bool> {
        if let Some(opened) = self.own.get(&asked.shard) {
            return self.place(asked, &opened);
        }
        // That a chunk is there is found to be wrong when it is read, but not that it is absent.
        let has_it =
            |opened: &Shared<Opened>| opened.index.places.get(asked.number).is_some_and(|&place| place != ABSENT);
        if let Some(opened) = self.indices.get(&asked.shard).filter(has_it) {
            return self.place(asked, &opened);
        }
        if self.absent.contains(&asked.shard) {
            return Ok(false);
        }
        if !self.opening.contains(&asked.shard) {
            let (one, other) = (copied(&asked.shard)?, copied(&asked.shard)?);
            self.to_open.try_reserve(1).map_err(|_| ErrorKind::OutOfMemory)?;
            push(&mut self.opening, one)?;
            self.to_open.push_back(other);
        }
        self.waiting.push(asked);
        Ok(true)
    }

    /// Keeps an index that has been read.
    fn keep(&self, shard: &Dims<isize>, opened: &Shared<Opened>, forgotten: u64) -> Result<()> {
        self.own.keep(copied(shard)?, opened, self.own.forgotten())?;
        match opened.state.1 {
            Some(_) => self.indices.keep(copied(shard)?, opened, forgotten),
            None => Ok(()),
        }
    }

    /// Puts a chunk in the queue, by the index of its shard; `false` if it is absent.
    fn place(&mut self, asked: Asked, opened: &Opened) -> Result<bool> {
        let Some((offset, len)) = opened.index.place(self.layout, asked.number, opened.state.0)? else {
            return Ok(false);
        };
        let skipped = asked.skipped.min(len);
        let stored = usize::try_from(len - skipped).unwrap_or(usize::MAX);
        let (begin, len) = (offset + skipped, stored.min(asked.size));
        let placed = Placed { asked, shard: opened.state, begin, len, stored, is_cancelled: false };
        self.is_sorted &= self.queue.back().is_none_or(|last| last.key() <= placed.key());
        self.queue.push_back(placed);
        Ok(true)
    }

    /// The chunk has ended so.
    fn end(&mut self, request: *mut RawRequest, outcome: Result<Filled>) {
        self.ended.push((request, outcome));
    }

    /// Asks for a chunk once more, or for the first time now that the index of its shard is there.
    fn ask_again(&mut self, asked: Asked) {
        let request = asked.request;
        match self.ask(asked) {
            Ok(true) => {}
            Ok(false) => self.end(request, Ok(Filled::Absent)),
            Err(error) => self.end(request, Err(error)),
        }
    }

    fn fail(&mut self, parts: Vec<Placed>, error: &Error) {
        for part in parts {
            self.end(part.asked.request, Err(error.clone()));
        }
    }

    // --- What is sent.

    /// Whether another read of so many bytes may be under way. A single one always may.
    fn has_room(&self, len: usize) -> bool {
        let chunks = self.limits.requests.saturating_mul(self.chunk_bytes);
        let most = self.limits.bytes.unwrap_or(chunks.max(self.limits.largest));
        let num = self.under_way.len();
        num == 0 || num < self.limits.requests && self.bytes.saturating_add(len) <= most
    }

    /// Starts reads, as many as may be under way.
    fn send(&mut self) {
        let is_long = self.layout.index_bytes() > LONG_INDEX;
        while self.has_room(self.layout.index_bytes()) {
            let Some(shard) = self.to_open.pop_front() else { break };
            self.open(shard, is_long);
        }
        if !self.has_room(0) {
            return;
        }
        if !self.is_sorted {
            self.queue.make_contiguous().sort_unstable_by(|one, other| one.key().cmp(&other.key()));
            self.is_sorted = true;
        }
        loop {
            let ranges = self.queue.iter().map(|placed| Range {
                object: (&placed.asked.shard, placed.shard),
                begin: placed.begin,
                len: placed.len as u64,
            });
            let Some((count, range)) = run(ranges, self.gap as u64, self.limits.largest as u64) else { break };
            let len = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
            if !self.has_room(len) {
                break;
            }
            self.read(count, range.start, len);
        }
    }

    /// Starts to read the index of a shard, or its length first.
    fn open(&mut self, shard: Dims<isize>, by_length: bool) {
        let len = self.layout.index_bytes();
        let mut memory = Scratch::EMPTY;
        let room = match memory.room(if by_length { 0 } else { len }) {
            Ok(room) => (room.as_mut_ptr().cast(), room.len()),
            Err(failed) => return self.opened(&shard, Err(failed.into())),
        };
        let name = match self.names.name(&shard) {
            Ok(name) => name,
            Err(error) => return self.opened(&shard, Err(error)),
        };
        let begin = if by_length { Begin::At(0) } else { self.layout.index_begin() };
        let read = match by_length {
            true => Read::Length(shard),
            false => Read::Index(shard, memory, len, self.indices.forgotten()),
        };
        self.start_read(read, &name, begin, room);
    }

    /// Starts to read the first `count` chunks of the queue, which lie within these bytes of their shard.
    fn read(&mut self, count: usize, begin: u64, len: usize) {
        let (mut parts, mut memory) = (Vec::new(), Scratch::EMPTY);
        let count = count.min(self.queue.len());
        let has_room = parts.try_reserve_exact(count).is_ok();
        let room = memory.room(len).map(|room| (room.as_mut_ptr().cast(), room.len()));
        let (true, Ok(room)) = (has_room, room) else {
            for placed in self.queue.drain(..count) {
                self.ended.push((placed.asked.request, Err(ErrorKind::OutOfMemory.into())));
            }
            return;
        };
        parts.extend(self.queue.drain(..count));
        let Some(name) = parts.first().map(|part| self.names.name(&part.asked.shard)) else { return };
        let name = match name {
            Ok(name) => name,
            Err(error) => return self.fail(parts, &error),
        };
        let read = Read::Chunks(Chunks { parts, begin, memory, len });
        self.start_read(read, &name, Begin::At(begin), room);
    }

    /// Starts a read, to which the memory belongs.
    fn start_read(&mut self, read: Read, name: &str, begin: Begin, room: (*mut u8, usize)) {
        self.bytes += read.bytes();
        // SAFETY: the memory belongs to the read, and nobody else uses it.
        match unsafe { self.under_way.start(read, name, begin, room) } {
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
            (Read::Length(shard), Ok(Some(answer))) => {
                if answer.object_size < self.layout.index_bytes() as u64 {
                    return self.opened(&shard, Err(corrupt("the shard is shorter than its index")));
                }
                self.open(shard, false);
            }
            (Read::Index(shard, memory, _, forgotten), Ok(Some(answer))) => {
                // SAFETY: so many bytes of the memory have been written.
                let bytes = unsafe { memory.filled(answer.nbytes) };
                let index = self.layout.decode(bytes);
                let opened = index.and_then(|index| {
                    let opened = Shared::new(Opened { index, state: answer.state() })?;
                    self.keep(&shard, &opened, forgotten)?;
                    Ok(Some(opened))
                });
                self.opened(&shard, opened);
            }
            (Read::Check(chunks, memory, _), Ok(Some(answer))) => {
                // SAFETY: so many bytes of the memory have been written.
                let index = self.layout.decode(unsafe { memory.filled(answer.nbytes) });
                match index {
                    Err(error) if error.kind() == ErrorKind::OutOfMemory => self.fail(chunks.parts, &error),
                    Ok(index) if chunks.parts.iter().all(|part| part.is_in(&index, answer.state())) => {
                        // SAFETY: the shard was as long as it should be when all bytes that there are were read.
                        self.landed = Some(unsafe { Landed::new(chunks) });
                    }
                    _ => self.changed(chunks.parts),
                }
            }
            (Read::Check(chunks, ..), Ok(None)) => self.changed(chunks.parts),
            (Read::Check(chunks, ..), Err(error)) => self.fail(chunks.parts, &error),
            (Read::Length(shard) | Read::Index(shard, ..), Ok(None)) => self.opened(&shard, Ok(None)),
            (Read::Length(shard) | Read::Index(shard, ..), Err(error)) => self.opened(&shard, Err(error)),
        }
    }

    /// The index of a shard is there, or there is no such shard: the chunks that have waited for that go on.
    fn opened(&mut self, shard: &Dims<isize>, opened: Result<Option<Shared<Opened>>>) {
        self.opening.retain(|other| other != shard);
        if let (Ok(None), Ok(shard)) = (&opened, copied(shard)) {
            self.absent.truncate(ABSENT_SHARDS - 1);
            if self.absent.try_reserve(1).is_ok() {
                self.absent.push_front(shard);
            }
        }
        let mut i = 0;
        while let Some(asked) = self.waiting.get(i) {
            if asked.shard != *shard {
                i += 1;
                continue;
            }
            let asked = self.waiting.swap_remove(i);
            let request = asked.request;
            let is_there = match &opened {
                Ok(Some(opened)) => self.place(asked, opened),
                Ok(None) => Ok(false),
                Err(error) => Err(error.clone()),
            };
            match is_there {
                Ok(true) => {}
                Ok(false) => self.end(request, Ok(Filled::Absent)),
                Err(error) => self.end(request, Err(error)),
            }
        }
    }

    fn chunks_arrive(&mut self, chunks: Chunks, answer: Result<Option<Answer>>) {
        let shard = chunks.parts.first().map(|part| part.shard);
        match answer {
            Ok(Some(answer)) if Some(answer.state()) != shard => self.changed(chunks.parts),
            Ok(Some(Answer { version: None, .. })) => self.check(chunks),
            Ok(Some(_)) => {
                // SAFETY: an answer has all bytes that there are, and the shard is as long as it should be.
                self.landed = Some(unsafe { Landed::new(chunks) });
            }
            Ok(None) => self.changed(chunks.parts),
            Err(error) => self.fail(chunks.parts, &error),
        }
    }

    /// Starts to read the index of a shard once more, from which chunks have been read.
    fn check(&mut self, chunks: Chunks) {
        let len = self.layout.index_bytes();
        let mut memory = Scratch::EMPTY;
        let room = memory.room(len).map(|room| (room.as_mut_ptr().cast(), room.len()));
        let name = chunks.parts.first().map(|part| self.names.name(&part.asked.shard));
        match (room, name) {
            (_, None) => {}
            (Err(failed), _) => self.fail(chunks.parts, &failed.into()),
            (_, Some(Err(error))) => self.fail(chunks.parts, &error),
            (Ok(room), Some(Ok(name))) => {
                self.start_read(Read::Check(chunks, memory, len), &name, self.layout.index_begin(), room);
            }
        }
    }

    /// The shard is not any more what its index was read from.
    fn changed(&mut self, parts: Vec<Placed>) {
        for Placed { mut asked, shard, .. } in parts {
            for indices in [&self.own, self.indices] {
                if indices.get(&asked.shard).is_some_and(|opened| opened.state == shard) {
                    indices.forget(&asked.shard);
                }
            }
            asked.attempts += 1;
            if asked.attempts == ATTEMPTS {
                self.end(asked.request, Err(corrupt(CHANGED)));
                continue;
            }
            self.ask_again(asked);
        }
    }

    /// The next chunk of what has landed; what has none left is let go.
    fn next_landed(&mut self) -> Option<(*mut RawRequest, Filled)> {
        let landed = self.landed.as_mut()?;
        let next = landed.next();
        if next.is_none() {
            self.landed = None;
        }
        next
    }
}

fn copied(shard: &Dims<isize>) -> Result<Dims<isize>> {
    dims::copied(shard.iter().copied())
}

impl Flight for ShardFlight<'_> {
    fn limit(&self, _size: usize) -> usize {
        self.limits.requests.saturating_mul(AHEAD).clamp(1, MOST_AHEAD.max(self.limits.requests))
    }

    fn has_memory(&self) -> bool {
        true
    }

    unsafe fn start(&mut self, request: *mut RawRequest) -> Result<bool> {
        // SAFETY: the request is not in flight yet, and does not change.
        let (chunk, offset, (_, size)) = unsafe { RawRequest::asked_for(request) };
        // SAFETY: as above.
        self.chunk_bytes = unsafe { (*request).chunk_bytes };
        let (shard, number) = self.layout.locate(chunk)?;
        self.reserve()?;
        let is_there = self.ask(Asked { request, shard, number, skipped: offset as u64, size, attempts: 0 })?;
        self.num_asked += usize::from(is_there);
        Ok(is_there)
    }

    fn wait(&mut self) -> Result<*mut RawRequest> {
        loop {
            let (request, outcome) = if let Some((request, filled)) = self.next_landed() {
                (request, Ok(filled))
            } else if let Some(ended) = self.ended.pop() {
                ended
            } else {
                self.send();
                // What could not be sent has ended.
                if self.ended.is_empty() {
                    if self.under_way.len() == 0 {
                        return Err(ErrorKind::Internal.into());
                    }
                    let (read, answer) = self.under_way.wait()?;
                    self.arrive(read, answer);
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

    unsafe fn cancel(&mut self, request: *mut RawRequest) {
        let waiting = self.waiting.iter().position(|asked| std::ptr::eq(asked.request, request));
        let queued = self.queue.iter().position(|placed| std::ptr::eq(placed.asked.request, request));
        if let Some(i) = waiting {
            let Asked { shard, .. } = self.waiting.swap_remove(i);
            self.end(request, Ok(Filled::Absent));
            // An index that is under way already may serve another chunk; else it is cancelled at the end.
            if !self.waiting.iter().any(|other| other.shard == shard) {
                if let Some(unsent) = self.to_open.iter().position(|other| *other == shard) {
                    self.to_open.remove(unsent);
                    self.opening.retain(|other| *other != shard);
                }
            }
        } else if let Some(i) = queued {
            self.queue.remove(i);
            self.end(request, Ok(Filled::Absent));
        } else {
            self.under_way.cancel_if(|read| {
                let Read::Chunks(Chunks { parts, .. }) = read else { return false };
                let Some(part) = parts.iter_mut().find(|part| std::ptr::eq(part.asked.request, request)) else {
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
