//! A storage in memory that answers later, by a clock of its own: what the tests of requests in flight read from.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::ffi::{CStr, c_int};
use std::sync::{Mutex, MutexGuard};

use super::{ByteRange, Entry, Flight, Limits, Memory, ObjectRequest, ObjectStore, read_by_flight, write_by_flight};
use crate::buffer::Buffer;
use crate::error::{ErrorKind, Result};
use crate::open_object::{ObjectState, Versions};
use crate::status::{ENOOBJECT, NOERR};

/// A storage in memory that answers later.
pub(crate) struct DelayedStorage {
    memory: Memory,
    pub(crate) gap: usize,
    pub(crate) limits: Limits,
    pub(crate) is_concurrent: bool,
    pub(crate) is_writable: bool,
    /// Whether it is known that it answers later; else one read is waited for after the other.
    pub(crate) has_latency: bool,
    /// Whether reads of objects that are not there do not begin.
    pub(crate) knows_absent: bool,
    /// Whether what is read comes with its version.
    pub(crate) has_versions: bool,
    /// Whether writes are in flight, too.
    pub(crate) writes: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    requests_in_flight: Vec<Read>,
    now: u64,
    seed: u64,
    most: usize,
    most_bytes: usize,
    most_writes: usize,
    written: Vec<String>,
    cancelled: usize,
    log: Vec<(String, u64, usize)>,
    failing: HashMap<String, c_int>,
    /// Objects of which a read does not begin: with this status, or because it is known that they are absent.
    not_begun: HashMap<String, c_int>,
    shortened: Vec<String>,
    /// What becomes of an object once it has been asked for so many times more.
    changes: Vec<(String, usize, Option<Vec<u8>>)>,
    broken_after: Option<usize>,
}

struct Read {
    request: *mut ObjectRequest,
    due: u64,
    is_write: bool,
}

// SAFETY: the tests use a storage by one thread.
unsafe impl Send for Read {}

impl DelayedStorage {
    pub(crate) fn new() -> Self {
        let (memory, limits) = (Memory::new(), Limits::default());
        let state = Mutex::default();
        let (is_concurrent, is_writable, has_latency, knows_absent) = (true, true, true, false);
        let has_versions = true;
        DelayedStorage {
            memory,
            gap: 1,
            limits,
            is_concurrent,
            is_writable,
            has_latency,
            knows_absent,
            has_versions,
            writes: false,
            state,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub(crate) fn put(&self, name: &str, bytes: &[u8]) {
        self.memory.write(name, bytes).unwrap();
    }

    pub(crate) fn take(&self, name: &str) {
        self.memory.remove(name).unwrap();
    }

    /// Has reads of an object end with this status.
    pub(crate) fn fail(&self, name: &str, status: c_int) {
        self.state().failing.insert(name.into(), status);
    }

    /// Has all reads succeed again.
    pub(crate) fn heal(&self) {
        let mut state = self.state();
        state.failing.clear();
        state.not_begun.clear();
    }

    /// Has reads of an object not begin: with this status or, if it is 0, because it is known that it is absent.
    pub(crate) fn begin_not(&self, name: &str, status: c_int) {
        self.state().not_begun.insert(name.into(), status);
    }

    /// Has reads of an object bring one byte less than they should.
    pub(crate) fn shorten(&self, name: &str) {
        self.state().shortened.push(name.into());
    }

    /// Changes an object, or removes it, once so many reads of it have ended.
    pub(crate) fn change_after(&self, name: &str, reads: usize, bytes: Option<&[u8]>) {
        self.state().changes.push((name.into(), reads, bytes.map(<[u8]>::to_vec)));
    }

    /// Has waiting fail once so many reads have been started.
    pub(crate) fn break_after(&self, reads: usize) {
        self.state().broken_after = Some(reads);
    }

    pub(crate) fn requests_in_flight(&self) -> usize {
        self.state().requests_in_flight.len()
    }

    pub(crate) fn cancelled(&self) -> usize {
        self.state().cancelled
    }

    /// Forgets what has been read so far.
    pub(crate) fn reset(&self) {
        let mut state = self.state();
        (state.most, state.most_bytes, state.cancelled) = (0, 0, 0);
        state.most_writes = 0;
        state.log.clear();
        state.written.clear();
    }

    /// How many writes were under way at the same time.
    pub(crate) fn most_writes(&self) -> usize {
        self.state().most_writes
    }

    /// The objects that were written by writes in flight since the last time, in the order in which these were started.
    pub(crate) fn written(&self) -> Vec<String> {
        std::mem::take(&mut self.state().written)
    }

    /// Puts a request under way.
    fn begin(&self, state: &mut State, request: *mut ObjectRequest, is_write: bool) {
        state.seed = state.seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let due = state.now + 50 + (state.seed >> 33) % 50;
        state.requests_in_flight.push(Read { request, due, is_write });
        state.most = state.most.max(state.requests_in_flight.len());
        // SAFETY: the requests stay as they are until they are given back.
        let bytes = state.requests_in_flight.iter().map(|read| unsafe { (*read.request).size }).sum();
        state.most_bytes = state.most_bytes.max(bytes);
        let writes = state.requests_in_flight.iter().filter(|read| read.is_write).count();
        state.most_writes = state.most_writes.max(writes);
    }

    /// How many reads were in flight at the same time, and how many bytes they had room for together.
    pub(crate) fn most(&self) -> (usize, usize) {
        let state = self.state();
        (state.most, state.most_bytes)
    }

    /// What the clock says: each read takes 50 to 99.
    pub(crate) fn now(&self) -> u64 {
        self.state().now
    }

    /// The reads since the last time: names, offsets (from the end: less than 0, wrapped) and sizes.
    pub(crate) fn log(&self) -> Vec<(String, u64, usize)> {
        std::mem::take(&mut self.state().log)
    }
}

// SAFETY: a read is given back once, after its answer has been written, and not touched afterwards.
unsafe impl Flight for DelayedStorage {
    fn limits(&self) -> Limits {
        self.limits
    }

    unsafe fn start(&self, request: *mut ObjectRequest) -> Result<bool> {
        let mut state = self.state();
        // SAFETY: the request stays as it is until it is given back.
        let asked = unsafe { &*request };
        // SAFETY: as above.
        let name = unsafe { CStr::from_ptr(asked.name) }.to_str().unwrap().to_owned();
        let offset = if asked.from_end == 1 { asked.offset.wrapping_neg() } else { asked.offset };
        match state.not_begun.get(&name) {
            Some(&NOERR) => return Ok(false),
            Some(&status) => return Err(ErrorKind::Callback(status).into()),
            None if self.knows_absent
                && self.memory.read(&name, ByteRange::At(0), &mut Buffer::new(&mut []))?.is_none() =>
            {
                return Ok(false);
            }
            None => state.log.push((name, offset, asked.size)),
        }
        self.begin(&mut state, request, false);
        Ok(true)
    }

    fn writes(&self) -> bool {
        self.writes
    }

    unsafe fn start_write(&self, request: *mut ObjectRequest) -> Result<()> {
        let mut state = self.state();
        // SAFETY: the request stays as it is until it is given back.
        let name = unsafe { CStr::from_ptr((*request).name) }.to_str().unwrap().to_owned();
        if let Some(&status) = state.not_begun.get(&name) {
            return Err(ErrorKind::Callback(status).into());
        }
        state.written.push(name);
        self.begin(&mut state, request, true);
        Ok(())
    }

    unsafe fn wait(&self) -> Result<*mut ObjectRequest> {
        let mut state = self.state();
        if state.broken_after.is_some_and(|after| state.log.len() + state.written.len() >= after) {
            state.requests_in_flight.clear();
            return Err(ErrorKind::Callback(-299).into());
        }
        let next = (0..state.requests_in_flight.len())
            .min_by_key(|&i| state.requests_in_flight[i].due)
            .expect("a read is in flight");
        let Read { request, due, is_write } = state.requests_in_flight.swap_remove(next);
        state.now = state.now.max(due);
        if is_write {
            // SAFETY: the request is in flight, and its bytes stay as they are until it is given back.
            let (answer, name, bytes) = unsafe {
                let ObjectRequest { name, buffer, size, .. } = *request;
                let bytes = if size == 0 { &[] } else { std::slice::from_raw_parts(buffer.cast::<u8>(), size) };
                (&mut *request, CStr::from_ptr(name).to_str().unwrap(), bytes)
            };
            match state.failing.get(name) {
                Some(status) => answer.status = *status as isize,
                None => self.memory.write(name, bytes)?,
            }
            return Ok(request);
        }
        // SAFETY: the request is in flight, and stays as it is until it is given back; the buffer has so much room.
        let (answer, name, mut buffer) = unsafe {
            let answer = &mut *request;
            let name = CStr::from_ptr(answer.name).to_str().unwrap();
            let room: *mut [std::mem::MaybeUninit<u8>] = match answer.size {
                0 => &mut [],
                size => std::ptr::slice_from_raw_parts_mut(answer.buffer.cast(), size),
            };
            (answer, name, Buffer::new(&mut *room))
        };
        let begin = answer.begin();
        if let Some(status) = state.failing.get(name) {
            answer.status = *status as isize;
        } else if let Some((len, version)) = self.memory.read_version(name, begin, &mut buffer)? {
            answer.object_size = len;
            answer.version = version.filter(|_| self.has_versions).unwrap_or(0) as u64;
            answer.nbytes = buffer.filled().len() - usize::from(state.shortened.iter().any(|short| short == name));
            answer.status = NOERR as isize;
        } else {
            answer.status = ENOOBJECT as isize;
        }
        let mut changes = std::mem::take(&mut state.changes);
        changes.retain_mut(|(changed, reads, bytes)| {
            *reads -= usize::from(changed == name);
            match bytes {
                _ if *reads > 0 => return true,
                Some(bytes) => self.memory.write(changed, bytes).unwrap(),
                None => self.memory.remove(changed).unwrap(),
            }
            false
        });
        state.changes = changes;
        Ok(request)
    }

    unsafe fn cancel(&self, request: *mut ObjectRequest) {
        let mut state = self.state();
        let is_it = |read: &Read| std::ptr::eq(read.request, request) && !read.is_write;
        assert!(state.requests_in_flight.iter().any(is_it));
        state.cancelled += 1;
    }
}

impl ObjectStore for DelayedStorage {
    fn read(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<u64>> {
        Ok(self.read_version(name, begin, buffer)?.map(|(len, _)| len))
    }

    fn read_version(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<ObjectState>> {
        assert_eq!(self.requests_in_flight(), 0, "wait was called from within a read that is in flight");
        read_by_flight((self, ""), name, begin, buffer)
    }

    fn versions(&self) -> Versions {
        if self.has_versions { Versions::Told } else { Versions::Unknown }
    }

    fn list(&self, prefix: &str, one: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
        self.memory.list(prefix, one)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        if self.writes { write_by_flight((self, ""), name, bytes) } else { self.memory.write(name, bytes) }
    }

    fn is_writable(&self) -> bool {
        self.is_writable
    }

    fn is_concurrent(&self) -> bool {
        self.is_concurrent
    }

    fn gap(&self) -> usize {
        self.gap
    }

    fn flight(&self) -> Option<&dyn Flight> {
        self.has_latency.then_some(self)
    }
}
