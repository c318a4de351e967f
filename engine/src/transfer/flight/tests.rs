//! Reads that fail or are ended, by shards and in the plan's order: what counts as done has been read.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ffi::c_int;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use super::*;
use crate::buffer::Buffer;
use crate::codec::Codec;
use crate::hyperslab::Hyperslab;
use crate::store::{RawRequest, Request};
use crate::threads::Threads;
use crate::transfer::progress::Progress;
use crate::variable::Variable;

const ROWS: usize = 2;
const COLUMNS: usize = 6;
const CHUNKS: usize = ROWS * COLUMNS;

/// What an element of a chunk that is absent reads as.
const FILL: u8 = 99;

/// A store of chunks in two rows, whose elements are the chunk's number and 1.
#[derive(Debug, Clone, Copy)]
struct Chunks {
    has_latency: bool,
    is_in_batches: bool,
    /// Whether there is a codec, which has the errors then.
    is_encoded: bool,
    /// Whether each flight gives back last what was started first.
    is_reversed: bool,
    /// How many requests each flight has.
    limit: usize,
    /// These chunks have errors, with this status and their numbers.
    faults: [usize; 2],
    /// Waiting fails in a flight when it has given back so many.
    waits: usize,
    absent: usize,
}

const STATUS: c_int = 1000;

/// No chunk.
const NONE: usize = usize::MAX;

impl ChunkReader for Chunks {
    fn fill(&self, _: &Request<'_>, _: &mut Buffer<'_>) -> Result<Filled> {
        Err(ErrorKind::Internal.into())
    }

    fn range_gap(&self) -> Option<usize> {
        Some(1)
    }

    fn in_flight(&self) -> Option<&dyn InFlight> {
        Some(self)
    }
}

impl InFlight for Chunks {
    fn has_latency(&self) -> bool {
        self.has_latency
    }

    fn begin<'s, 'f: 's>(&'f self, _: &'s Sharing<'f>) -> Result<Box<dyn Flight + 's>> {
        Ok(Box::new(ChunkFlight { chunks: self, requests: VecDeque::new(), waits: 0 }))
    }
}

struct ChunkFlight<'f> {
    chunks: &'f Chunks,
    requests: VecDeque<*mut RawRequest>,
    waits: usize,
}

fn number(request: *mut RawRequest) -> usize {
    // SAFETY: the request is the library's.
    let (indices, ..) = unsafe { RawRequest::asked_for(request) };
    indices[0] as usize * COLUMNS + indices[1] as usize
}

// SAFETY: requests come back once each, with a buffer that has been written.
unsafe impl Flight for ChunkFlight<'_> {
    fn limit(&self, _: usize) -> usize {
        self.chunks.limit
    }

    fn is_in_batches(&self) -> bool {
        self.chunks.is_in_batches
    }

    unsafe fn start(&mut self, request: *mut RawRequest) -> Result<bool> {
        if number(request) == self.chunks.absent {
            return Ok(false);
        }
        self.requests.push_back(request);
        assert!(self.requests.len() <= self.chunks.limit);
        Ok(true)
    }

    fn wait(&mut self) -> Result<*mut RawRequest> {
        self.waits += 1;
        if self.waits > self.chunks.waits {
            self.requests.clear();
            return Err(ErrorKind::Callback(STATUS - 1).into());
        }
        let next = if self.chunks.is_reversed { self.requests.pop_back() } else { self.requests.pop_front() };
        let (request, number) = next.map(|request| (request, number(request))).unwrap();
        // SAFETY: the request is in flight.
        unsafe {
            let RawRequest { buffer, size, offset, chunk_bytes, .. } = *request;
            buffer.cast::<u8>().write_bytes(number as u8 + 1, size);
            (*request).nbytes = size.min(chunk_bytes - offset);
            if self.chunks.faults.contains(&number) && !self.chunks.is_encoded {
                (*request).status = STATUS as isize + number as isize;
            }
        }
        Ok(request)
    }

    fn outcome(&mut self, status: c_int, nbytes: usize) -> Result<Filled> {
        if status == 0 { Ok(Filled::Stored(nbytes)) } else { Err(ErrorKind::Callback(status).into()) }
    }

    unsafe fn cancel(&mut self, request: *mut RawRequest) {
        assert!(self.requests.contains(&request));
    }
}

/// A codec that leaves chunks as they are.
struct Same<'d> {
    faults: [usize; 2],
    /// Is called for each chunk that is decoded.
    decoding: &'d (dyn Fn() + Sync),
}

impl Codec for Same<'_> {
    fn name(&self) -> &str {
        "same"
    }

    fn encoded_bound(&self, decoded_size: usize) -> usize {
        decoded_size
    }

    fn decode(&self, encoded: &[u8], _: Range<usize>, decoded: &mut Buffer<'_>) -> Result<()> {
        (self.decoding)();
        let number = encoded.first().map_or(NONE, |&byte| usize::from(byte) - 1);
        if self.faults.contains(&number) {
            return Err(ErrorKind::Callback(STATUS + number as c_int).into());
        }
        decoded.write(encoded);
        Ok(())
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Buffer<'_>) -> Result<()> {
        encoded.write(decoded);
        Ok(())
    }
}

/// What has become of a read.
struct Outcome {
    status: c_int,
    done: usize,
    /// How many of the first chunks have been read.
    read: usize,
    /// The number of calls of the progress function, which ends the read at one of them.
    calls: usize,
}

/// Reads with so many threads that have requests, and so many that only decode.
fn read(variable: &Variable, chunks: Chunks, threads: (usize, usize), end_at: usize) -> Outcome {
    read_and(variable, chunks, threads, end_at, &|| {})
}

fn read_and(
    variable: &Variable,
    chunks: Chunks,
    (workers, helpers): (usize, usize),
    end_at: usize,
    decoding: &(dyn Fn() + Sync),
) -> Outcome {
    // Of each chunk a part that is in two ranges, or one.
    let of_chunk = variable.grid(Access::Read).chunk_bytes();
    let stride = if of_chunk == 4 { 2 } else { 1 };
    let (count, strides) = ([ROWS, COLUMNS * of_chunk / stride], [1, stride as isize]);
    let slab = Hyperslab::new(&[0, 0], &count).with_stride(&strides);
    let plan = Plan::new(variable, &slab, Access::Read).unwrap();
    let (mut store, mut out) = (ChunkStore::new(chunks).unwrap(), vec![0; plan.selected_bytes()]);
    if chunks.is_encoded {
        store.add_codec(Same { faults: chunks.faults, decoding }).unwrap();
    }
    let (calls, done) = (Cell::new(0), RefCell::new(Vec::new()));
    let progress = |at: Progress| {
        calls.set(calls.get() + 1);
        done.borrow_mut().push(at.chunks_done);
        c_int::from(calls.get() == end_at)
    };
    let tracker = Tracker::of_plan(true, &plan, &(0..CHUNKS));
    let (of, options) = ((&plan, &store, 0..CHUNKS), (Options::default(), None));
    let job = Job::new(of, store.in_flight().unwrap(), tracker, (workers, helpers), None, options).unwrap();
    let destination = Destination::from(out.as_mut_slice());
    job.run_by(Threads::new(workers + helpers, None), Some(&progress), &destination);
    let mut num_done = 0;
    let status = job.queue.finish(&mut num_done).map_or_else(|error| error.status(), |()| 0);
    assert!(done.borrow().is_sorted());
    let of_one = out.len() / CHUNKS;
    let is_read = |number: usize| {
        let value = if number == chunks.absent { FILL } else { number as u8 + 1 };
        out[number * of_one..][..of_one].iter().all(|&byte| byte == value)
    };
    let read = (0..CHUNKS).position(|number| !is_read(number)).unwrap_or(CHUNKS);
    Outcome { status, done: num_done, read, calls: calls.get() }
}

/// Miri takes a thousand times as long: for it there are few kinds of stores, and every so many-th case.
const STEP: usize = if cfg!(miri) { 7 } else { 1 };

/// How many threads there are with requests, and how many that only decode.
const THREADS: &[(usize, usize)] = if cfg!(miri) { &[ALONE, (2, 1)] } else { &[ALONE, (3, 0), (1, 2), (2, 2)] };
const ALONE: (usize, usize) = (1, 0);

/// Calls a function for stores of all kinds, with shards and without, and with chunks that are read in ranges.
fn for_all(mut check: impl FnMut(&Variable, Chunks)) {
    for &(of_chunk, columns_of_shard) in if cfg!(miri) { &[(1, 3)][..] } else { &[(1, 0), (1, 2), (1, 3), (4, 2)] } {
        let mut variable = Variable::new(&[ROWS, COLUMNS * of_chunk], &[1, of_chunk], 1).unwrap();
        variable.set_fill_value(Some(&[FILL])).unwrap();
        if columns_of_shard > 0 {
            variable.set_write_grid(Some(&[ROWS, columns_of_shard * of_chunk])).unwrap();
        }
        for &limit in if cfg!(miri) { &[4][..] } else { &[1, 2, 3, 4, 5, 7, CHUNKS, 30] } {
            for (has_latency, is_in_batches, is_encoded) in
                [(true, false, false), (true, false, true), (false, true, false), (false, false, false)]
            {
                for &is_reversed in if cfg!(miri) { &[true][..] } else { &[false, true] } {
                    let (faults, waits, absent) = ([NONE; 2], NONE, if limit % 2 == 0 { 4 } else { NONE });
                    let chunks =
                        Chunks { has_latency, is_in_batches, is_encoded, is_reversed, limit, faults, waits, absent };
                    check(&variable, chunks);
                }
            }
        }
    }
}

#[test]
fn the_first_chunk_that_fails_is_found() {
    for &threads in THREADS {
        for_all(|variable, chunks| {
            for (one, other) in (0..CHUNKS).flat_map(|one| (0..one).map(move |other| (one, other))).step_by(STEP) {
                if [one, other].contains(&chunks.absent) || threads != ALONE && (one + other) % 5 > 0 {
                    continue;
                }
                let chunks = Chunks { faults: [one, other], ..chunks };
                let Outcome { status, done, read, .. } = read(variable, chunks, threads, 0);
                assert_eq!((status, done, read), (STATUS + other as c_int, other, other), "{chunks:?}, {one}");
            }
        });
    }
}

#[test]
fn what_is_done_has_been_read_when_waiting_fails() {
    for &threads in THREADS {
        for_all(|variable, chunks| {
            for waits in (0..CHUNKS - 1).step_by(STEP) {
                let chunks = Chunks { waits, ..chunks };
                let Outcome { status, done, read, .. } = read(variable, chunks, threads, 0);
                if threads == ALONE {
                    assert_eq!((status, done), (STATUS - 1, read), "{chunks:?}");
                }
                assert!(done <= read && (status == 0) == (done == CHUNKS), "{chunks:?}");
            }
        });
    }
}

#[test]
fn progress_is_asked_once_for_each_chunk_and_never_after_the_end() {
    for &threads in THREADS {
        for_all(|variable, chunks| {
            for end_at in (1..=CHUNKS + 1).step_by(STEP) {
                let Outcome { status, done, read, calls } = read(variable, chunks, threads, end_at);
                if threads == ALONE {
                    assert_eq!((done, calls), (read, end_at.min(CHUNKS)), "{chunks:?}, {end_at}");
                }
                assert!(done <= read && calls <= end_at.min(CHUNKS), "{chunks:?}, {end_at}");
                assert_eq!(status, c_int::from(calls == end_at), "{chunks:?}, {end_at}");
                assert_eq!(status == 0, done == CHUNKS, "{chunks:?}, {end_at}");
            }
        });
    }
}

/// A chunk is being decoded by one thread while another decodes the next.
#[test]
fn what_one_thread_receives_others_decode() {
    let (entered, changed) = (Mutex::new(0), Condvar::new());
    let meet = || {
        let mut entered = entered.lock().unwrap();
        *entered += 1;
        changed.notify_all();
        let (_entered, timeout) = changed.wait_timeout_while(entered, Duration::from_secs(60), |n| *n < 3).unwrap();
        assert!(!timeout.timed_out());
    };
    for_all(|variable, chunks| {
        if chunks.is_encoded && variable.write_ratio(1).is_some_and(|ratio| ratio > 1) {
            *entered.lock().unwrap() = 0;
            let Outcome { status, done, read, .. } = read_and(variable, chunks, (1, 2), 0, &meet);
            assert_eq!((status, done, read), (0, CHUNKS, CHUNKS), "{chunks:?}");
        }
    });
}
