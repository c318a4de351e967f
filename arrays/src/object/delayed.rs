//! A storage in memory that answers later, by a clock of its own: what the tests of requests in flight read from.

use std::collections::HashMap;
use std::ffi::c_int;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use super::asynchronous::{AsyncRequests, AsyncStore, ReadRequest, WriteRequest};
use super::{ByteRange, Entry, Flight, Limits, Memory, ObjectStore, read_by_flight, write_by_flight};
use crate::buffer::Buffer;
use crate::error::{ErrorKind, Result};
use crate::open_object::{ObjectState, Versions};
use crate::status::NOERR;

/// A storage in memory that answers later.
pub(crate) struct DelayedStorage(AsyncRequests<Delayed>);

/// The storage, and what the tests want of it.
pub(crate) struct Delayed {
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
    cancelled: Arc<AtomicUsize>,
}

#[derive(Default)]
struct State {
    requests_in_flight: Vec<(u64, Request)>,
    now: u64,
    seed: u64,
    most: usize,
    most_bytes: usize,
    most_writes: usize,
    written: Vec<String>,
    log: Vec<(String, u64, usize)>,
    failing: HashMap<String, c_int>,
    /// Objects of which a read does not begin: with this status, or because it is known that they are absent.
    not_begun: HashMap<String, c_int>,
    shortened: Vec<String>,
    /// What becomes of an object once it has been asked for so many times more.
    changes: Vec<(String, usize, Option<Vec<u8>>)>,
    broken_after: Option<usize>,
}

enum Request {
    Read(ReadRequest),
    Write(WriteRequest),
}

impl Request {
    fn size(&self) -> usize {
        match self {
            Request::Read(read) => read.size(),
            Request::Write(write) => write.bytes().len(),
        }
    }
}

impl Deref for DelayedStorage {
    type Target = Delayed;

    fn deref(&self) -> &Delayed {
        self.0.store()
    }
}

impl DerefMut for DelayedStorage {
    fn deref_mut(&mut self) -> &mut Delayed {
        self.0.store_mut()
    }
}

impl DelayedStorage {
    pub(crate) fn new() -> Self {
        let delayed = Delayed {
            memory: Memory::new(),
            gap: 1,
            limits: Limits::default(),
            is_concurrent: true,
            is_writable: true,
            has_latency: true,
            knows_absent: false,
            has_versions: true,
            writes: false,
            state: Mutex::default(),
            cancelled: Arc::default(),
        };
        DelayedStorage(AsyncRequests::new(delayed).unwrap())
    }
}

impl Delayed {
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
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Forgets what has been read so far.
    pub(crate) fn reset(&self) {
        let mut state = self.state();
        (state.most, state.most_bytes) = (0, 0);
        self.cancelled.store(0, Ordering::Relaxed);
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
    fn begin(&self, state: &mut State, request: Request) {
        state.seed = state.seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let due = state.now + 50 + (state.seed >> 33) % 50;
        state.requests_in_flight.push((due, request));
        let requests = state.requests_in_flight.iter().map(|(_, request)| request);
        state.most = state.most.max(requests.len());
        state.most_bytes = state.most_bytes.max(requests.clone().map(Request::size).sum());
        let writes = requests.filter(|request| matches!(request, Request::Write(_))).count();
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

impl AsyncStore for Delayed {
    fn limits(&self) -> Limits {
        self.limits
    }

    fn start_read(&self, mut read: ReadRequest) {
        let mut state = self.state();
        let name = read.name().to_owned();
        let is_absent = || self.memory.read(&name, ByteRange::At(0), &mut Buffer::new(&mut [])).unwrap().is_none();
        match state.not_begun.get(&name) {
            Some(&NOERR) => return read.answer(Ok(None)),
            Some(&status) => return read.answer(Err(ErrorKind::Callback(status).into())),
            None if self.knows_absent && is_absent() => return read.answer(Ok(None)),
            None => {}
        }
        let offset = match read.begin() {
            ByteRange::At(offset) => offset,
            ByteRange::BeforeEnd(offset) => offset.wrapping_neg(),
        };
        state.log.push((name, offset, read.size()));
        let cancelled = self.cancelled.clone();
        let count = move || _ = cancelled.fetch_add(1, Ordering::Relaxed);
        read.on_cancel(count).unwrap();
        self.begin(&mut state, Request::Read(read));
    }

    fn writes(&self) -> bool {
        self.writes
    }

    fn start_write(&self, write: WriteRequest) {
        let mut state = self.state();
        if let Some(&status) = state.not_begun.get(write.name()) {
            return write.answer(Err(ErrorKind::Callback(status).into()));
        }
        state.written.push(write.name().to_owned());
        self.begin(&mut state, Request::Write(write));
    }

    /// Time goes on until the next request is due.
    fn wait(&self) -> Result<()> {
        let mut state = self.state();
        if state.broken_after.is_some_and(|after| state.log.len() + state.written.len() >= after) {
            state.requests_in_flight.clear();
            return Err(ErrorKind::Callback(-299).into());
        }
        let next = (0..state.requests_in_flight.len())
            .min_by_key(|&i| state.requests_in_flight[i].0)
            .expect("a read is in flight");
        let (due, request) = state.requests_in_flight.swap_remove(next);
        state.now = state.now.max(due);
        let mut read = match request {
            Request::Read(read) => read,
            Request::Write(write) => {
                let failed = state.failing.get(write.name()).map(|status| ErrorKind::Callback(*status).into());
                let written = failed.map_or_else(|| self.memory.write(write.name(), write.bytes()), Err);
                write.answer(written);
                return Ok(());
            }
        };
        let (name, begin) = (read.name().to_owned(), read.begin());
        let is_short = state.shortened.contains(&name);
        let found = match state.failing.get(&name) {
            Some(status) => Err(ErrorKind::Callback(*status).into()),
            None => read.fill(|buffer| {
                let found = self.memory.read_version(&name, begin, buffer);
                buffer.truncate(buffer.filled().len().saturating_sub(usize::from(is_short)));
                found
            }),
        };
        let version = |version: Option<u128>| version.filter(|_| self.has_versions);
        read.answer(found.map(|found| found.map(|(len, known)| (len, version(known)))));
        let mut changes = std::mem::take(&mut state.changes);
        changes.retain_mut(|(changed, reads, bytes)| {
            *reads -= usize::from(*changed == name);
            match bytes {
                _ if *reads > 0 => return true,
                Some(bytes) => self.memory.write(changed, bytes).unwrap(),
                None => self.memory.remove(changed).unwrap(),
            }
            false
        });
        state.changes = changes;
        Ok(())
    }
}

impl ObjectStore for DelayedStorage {
    fn read(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<u64>> {
        Ok(self.read_version(name, begin, buffer)?.map(|(len, _)| len))
    }

    fn read_version(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<ObjectState>> {
        assert_eq!(self.requests_in_flight(), 0, "wait was called from within a read that is in flight");
        read_by_flight((&self.0, ""), name, begin, buffer)
    }

    fn versions(&self) -> Versions {
        if self.has_versions { Versions::Told } else { Versions::Unknown }
    }

    fn list(&self, prefix: &str, one: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
        self.memory.list(prefix, one)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        if self.writes { write_by_flight((&self.0, ""), name, bytes) } else { self.memory.write(name, bytes) }
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
        self.has_latency.then_some(&self.0)
    }
}
