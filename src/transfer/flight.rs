//! Reading with many requests in flight, by the calling thread alone.
//!
//! The thread starts requests up to the store's limit, waits until any of them has ended, decodes and moves that chunk
//! while the others are under way, and starts the next. When one fails, those after it in the plan's order are
//! cancelled and those before it are completed, so the first in order that fails is always found. No request outlives
//! the call.
#![allow(unsafe_code)]

use std::ops::Range;
use std::ptr::{self, NonNull};

use super::piece;
use super::progress::{ProgressFunction, Tracker};
use super::read::Reading;
use super::walk::Walk;
use crate::alloc::{Scratch, try_box};
use crate::buffer::Buffer;
use crate::copy::Destination;
use crate::dims::{self, Dims};
use crate::error::{Error, ErrorKind, Result};
use crate::grid::Access;
use crate::plan::Plan;
use crate::pool::Lease;
use crate::store::{Filled, Flight, NOT_IN_FLIGHT, RawRequest, Store, Workspace, check_filled};

/// What the store is told of a request.
struct Told {
    request: RawRequest,
    indices: Dims<isize>,
}

/// A place for one request in flight.
struct Slot<'s> {
    /// It is reached by this pointer only: while the request is in flight the store uses it too, so that no reference
    /// to it may be made, nor to what contains it.
    told: NonNull<Told>,
    memory: Lease<'s, Scratch>,
    /// The number of the chunk in the plan.
    chunk: usize,
    /// Where the bytes that were asked for begin in the stored chunk, and whether they are all of it.
    begin: usize,
    is_whole: bool,
    is_in_flight: bool,
    is_cancelled: bool,
    /// Whether the chunk was longer than expected and is asked for once more.
    is_second: bool,
}

/// Reads some chunks of a plan from a store that answers later.
pub(super) fn read(
    (plan, store, chunks): (&Plan<'_>, &Store<'_>, Range<usize>),
    progress: Option<ProgressFunction<'_>>,
    flight: &dyn Flight,
    out: Destination<'_>,
    done: &mut usize,
) -> Result<()> {
    let mut slots: Vec<Slot<'_>> = Vec::new();
    let num_slots = flight.limit().clamp(1, chunks.len().max(1));
    slots.try_reserve_exact(num_slots).map_err(|_| ErrorKind::OutOfMemory)?;
    for _ in 0..num_slots {
        slots.push(Slot::new(plan, store)?);
    }
    let stream = piece::streams(plan.variable(), Access::Read, false, plan.selected_bytes());
    let tracker = Tracker::of_plan(progress.is_some(), plan, &chunks);
    let mut state = State {
        plan,
        store,
        flight,
        slots,
        walk: Walk::new(plan, stream),
        reading: Reading::new(plan.variable(), store),
        next: chunks.start,
        end: chunks.end,
        num_in_flight: 0,
        failure: None,
    };
    loop {
        while state.num_in_flight < state.slots.len() && state.next < state.end {
            if let Err(error) = tracker.ask(progress) {
                // What is under way is not waited for: the chunks that count as done end before the first of them.
                state.fail(state.first_in_flight().unwrap_or(state.next), error);
                break;
            }
            match state.start_next(&out) {
                Ok(true) => {}
                Ok(false) => tracker.add(|| state.piece_bytes()),
                Err((chunk, error)) => state.fail(chunk, error),
            }
        }
        if state.num_in_flight == 0 {
            break;
        }
        match state.wait() {
            Ok(slot) => {
                let chunk = state.slots[slot].chunk;
                if chunk < state.end {
                    match state.complete(slot, &out) {
                        Ok(true) => tracker.add(|| state.piece_bytes()),
                        Ok(false) => {}
                        Err(error) => {
                            let error = error.in_chunk(state.slots[slot].indices());
                            state.fail(chunk, error);
                        }
                    }
                }
            }
            Err(error) => {
                let first = state.first_in_flight().unwrap_or(state.next);
                state.abandon();
                state.fail(first, error);
            }
        }
    }
    *done = state.end - chunks.start;
    match state.failure {
        Some(error) => Err(error),
        None => {
            tracker.finish(progress);
            Ok(())
        }
    }
}

impl<'s> Slot<'s> {
    fn new(plan: &Plan<'_>, store: &'s Store<'_>) -> Result<Self> {
        let Workspace { chunk: memory, .. } = store.workspace();
        let mut indices = Dims::new();
        dims::reserve(&mut indices, plan.rank())?;
        let request = RawRequest {
            struct_size: size_of::<RawRequest>(),
            rank: plan.rank(),
            chunk_indices: ptr::null(),
            access: 0,
            chunk_bytes: plan.grid().chunk_bytes(),
            offset: 0,
            buffer: ptr::null_mut(),
            size: 0,
            nbytes: 0,
            status: 0,
            handle: ptr::null_mut(),
        };
        let told = NonNull::from(Box::leak(try_box(Told { request, indices })?));
        let (chunk, begin) = (0, 0);
        Ok(Slot {
            told,
            memory,
            chunk,
            begin,
            is_whole: true,
            is_in_flight: false,
            is_cancelled: false,
            is_second: false,
        })
    }

    /// Where the request is.
    fn request(&self) -> *mut RawRequest {
        // SAFETY: it is there as long as the slot.
        unsafe { &raw mut (*self.told.as_ptr()).request }
    }

    /// The chunk's indices.
    fn indices(&self) -> &[isize] {
        // SAFETY: it is there as long as the slot, and nobody writes to the indices but `set_indices`.
        unsafe { &(*self.told.as_ptr()).indices }
    }

    /// Sets the chunk's indices. There is room for them, and the request is not in flight.
    fn set_indices(&mut self, indices: &[isize]) {
        // SAFETY: it is there as long as the slot, and the store does not use it now.
        let told = unsafe { self.told.as_mut() };
        told.indices.clear();
        told.indices.extend_from_slice(indices);
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        // SAFETY: it came from a box, and no request outlives the call.
        drop(unsafe { Box::from_raw(self.told.as_ptr()) });
    }
}

struct State<'a> {
    plan: &'a Plan<'a>,
    store: &'a Store<'a>,
    flight: &'a dyn Flight,
    slots: Vec<Slot<'a>>,
    walk: Walk<'a>,
    reading: Reading<'a>,
    /// The next chunk to start.
    next: usize,
    /// Chunks from this one on are not needed.
    end: usize,
    num_in_flight: usize,
    failure: Option<Error>,
}

impl State<'_> {
    fn first_in_flight(&self) -> Option<usize> {
        self.slots.iter().filter(|slot| slot.is_in_flight && slot.chunk < self.end).map(|slot| slot.chunk).min()
    }

    /// Bytes of memory of the piece that the walk is at.
    fn piece_bytes(&mut self) -> usize {
        let size = self.plan.variable().element_size();
        self.walk.piece().map_or(0, |piece| piece.num_elements() * size)
    }

    /// Notes that a chunk failed, and cancels what comes after it.
    fn fail(&mut self, chunk: usize, error: Error) {
        if chunk < self.end {
            self.end = chunk;
            self.failure = Some(error);
        }
        for slot in &mut self.slots {
            if slot.is_in_flight && slot.chunk >= self.end && !slot.is_cancelled {
                slot.is_cancelled = true;
                // SAFETY: the request is in flight.
                unsafe { self.flight.cancel(slot.request()) };
            }
        }
    }

    /// Starts the request for the next chunk; `false` if that was absent at once, and is read.
    fn start_next(&mut self, out: &Destination<'_>) -> Result<bool, (usize, Error)> {
        let chunk = self.next;
        self.next += 1;
        let Some(slot) = self.slots.iter().position(|slot| !slot.is_in_flight) else {
            return Err((chunk, ErrorKind::Internal.into()));
        };
        let walk = &mut self.walk;
        let result = walk.begin(chunk).and_then(|()| {
            let needed = walk.piece()?.needed();
            let chunk_bytes = self.plan.grid().chunk_bytes();
            // Nothing between the first and the last needed byte is left out; what lies between chunks' parts stays
            // theirs.
            let (begin, size) = match self.store.ranged() {
                Some((_, gap)) if chunk_bytes - needed.len() >= gap.max(1) => (needed.start, needed.len()),
                _ => (0, self.store.stored_bound(chunk_bytes)),
            };
            let slot = &mut self.slots[slot];
            slot.set_indices(walk.indices());
            (slot.chunk, slot.begin, slot.is_second) = (chunk, begin, false);
            slot.is_whole = begin == 0 && size >= chunk_bytes;
            Ok(size)
        });
        let started = result.and_then(|size| {
            let is_there = self.start(slot, size)?;
            if !is_there {
                // SAFETY: no other reference to the output is used meanwhile.
                let mut out = unsafe { out.alias() };
                self.reading.read_fill_value(&self.walk.piece()?, &mut out)?;
            }
            Ok(is_there)
        });
        started.map_err(|error| (chunk, error.in_chunk(self.walk.indices())))
    }

    /// Starts a slot's request for so many bytes; `false` if the chunk is absent.
    fn start(&mut self, slot: usize, size: usize) -> Result<bool> {
        let slot = &mut self.slots[slot];
        let buffer = slot.memory.room(size)?.as_mut_ptr();
        let chunk_indices = slot.indices().as_ptr();
        let request = slot.request();
        // SAFETY: the request is there and not in flight. It, its list and its memory stay where they are until it has
        // been given back: `read` does not return before that, and `is_in_flight` keeps the slot from being used.
        let is_there = unsafe {
            (*request).chunk_indices = chunk_indices;
            (*request).offset = slot.begin;
            (*request).buffer = buffer.cast();
            (*request).size = size;
            (*request).nbytes = 0;
            (*request).status = 0;
            (*request).handle = ptr::null_mut();
            self.flight.start(request)
        }?;
        (slot.is_in_flight, slot.is_cancelled) = (is_there, false);
        self.num_in_flight += usize::from(is_there);
        Ok(is_there)
    }

    /// Waits for a request, and tells its slot.
    fn wait(&mut self) -> Result<usize> {
        let request = self.flight.wait()?;
        let slot = self.slots.iter().position(|slot| ptr::eq(slot.request(), request) && slot.is_in_flight);
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

    /// Moves what a request brought to memory; `false` if it has to be asked for once more.
    fn complete(&mut self, slot_index: usize, out: &Destination<'_>) -> Result<bool> {
        let store = self.store;
        let slot = &mut self.slots[slot_index];
        // SAFETY: the request has been given back.
        let (size, nbytes, status) = unsafe {
            let request = &*slot.request();
            (request.size, request.nbytes, request.status)
        };
        let outcome = self.flight.outcome(status as _, nbytes)?;
        self.walk.begin(slot.chunk)?;
        let piece = self.walk.piece()?;
        // SAFETY: no other reference to the output is used meanwhile: this thread moves one piece after the other.
        let mut out = unsafe { out.alias() };
        let Filled::Stored(stored) = outcome else {
            self.reading.read_fill_value(&piece, &mut out)?;
            return Ok(true);
        };
        let has_codecs = store.has_codecs();
        if has_codecs && stored > size && !slot.is_second {
            slot.is_second = true;
            if !self.start(slot_index, stored)? {
                self.reading.read_fill_value(&self.walk.piece()?, &mut out)?;
                return Ok(true);
            }
            return Ok(false);
        }
        let mut buffer = Buffer::new(slot.memory.room(size)?);
        // SAFETY: by its contract the store has written what it says it has, up to the size of the buffer.
        unsafe { buffer.set_filled(stored.min(size)) };
        if has_codecs {
            if stored > size {
                return Err(ErrorKind::StoredLength { found: stored, expected: size }.into());
            }
            self.reading.read_stored(&piece, buffer.filled(), &mut out)?;
        } else {
            check_filled(stored, &buffer, slot.is_whole, store.accepts_longer())?;
            self.reading.read_bytes(&piece, buffer.filled(), slot.begin, &mut out)?;
        }
        Ok(true)
    }
}
