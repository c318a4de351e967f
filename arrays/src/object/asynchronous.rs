//! Requests in flight in safe Rust: the storage is given each request, and answers it when it can, from any thread.
//!
//! ```text
//!   Flight::start -> AsyncStore::start_read(ReadRequest)      the storage keeps it
//!                    ReadRequest::answer, or it is dropped    in any thread: it becomes one of those that have ended
//!   Flight::wait  <- the first of this thread's that has ended
//! ```
#![allow(unsafe_code)]

use std::ffi::{CStr, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::{self, Thread, ThreadId};
use std::{mem, ptr, slice};

use super::byte_range::ByteRange;
use super::flight::{Answer, Flight, Limits, ObjectRequest};
use crate::alloc::{self, room_at};
use crate::buffer::Buffer;
use crate::error::{Error, ErrorKind, Result};
use crate::lock::Lock;
use crate::open_object::ObjectState;
use crate::shared::Shared;
use crate::status::{ENOOBJECT, NOERR};

pub(super) const FORKED: ErrorKind = ErrorKind::Argument(
    "a forked process cannot use storages that answer later, such as those at URLs, if its parent has used them; fork \
     earlier, or start a new program",
);

/// A storage that answers later: what [`AsyncRequests`] needs to keep requests of it in flight.
///
/// Each request is answered once, by the thread that starts it or by any other. A request that is dropped has failed.
/// That an object is absent, or that a request fails, may be answered before `start_read` or `start_write` returns.
/// One that is neither answered nor dropped is waited for without end, as a server would be that never answers. No
/// thread of the library's is started for any of this.
pub trait AsyncStore: Send + Sync {
    /// The limits on the requests in flight at the same time. The library observes them in each transfer.
    fn limits(&self) -> Limits {
        Limits::default()
    }

    /// Starts a read of an object.
    fn start_read(&self, read: ReadRequest);

    /// Called by a thread that waits, and of whose requests none has been answered, until one is. By default the thread
    /// sleeps until another one answers. A storage whose requests go on only as long as somebody sees to them, such as
    /// one with a loop of events that is run by whoever waits, does so here.
    ///
    /// # Errors
    /// Any error: then none of this thread's requests is needed any more, and the call returns once they have been
    /// answered or dropped.
    fn wait(&self) -> Result<()> {
        thread::park();
        Ok(())
    }

    /// Whether writes may be in flight, too.
    fn writes(&self) -> bool {
        false
    }

    /// Starts to write a whole object in place of the one there was. As for
    /// [`ObjectStore::write`](super::ObjectStore::write), a reader finds the old bytes or the new ones, and after an
    /// error what there was is there still.
    fn start_write(&self, write: WriteRequest) {
        write.answer(Err(ErrorKind::ReadOnly.into()));
    }
}

/// The requests in flight of a storage that answers later. An [`ObjectStore`](super::ObjectStore) that has one returns
/// it from [`flight`](super::ObjectStore::flight).
pub struct AsyncRequests<S> {
    store: S,
    queue: Shared<Queue>,
}

/// A read of an object, to be answered.
pub struct ReadRequest {
    begin: ByteRange,
    filled: usize,
    pending: Pending,
}

/// A write of a whole object, to be answered.
pub struct WriteRequest(Pending);

/// A request that is not answered yet. Its memory is this value's until then.
struct Pending {
    request: *mut ObjectRequest,
    thread: Thread,
    queue: Shared<Queue>,
    outcome: Option<Result<Option<Answer>>>,
}

// SAFETY: until it is answered nobody else touches the request or its memory but for the handle, which is touched under
// the lock of the queue alone; that lock also orders the answer before whatever the request's own thread does with it
// afterwards.
unsafe impl Send for Pending {}
// SAFETY: what is shared is only read.
unsafe impl Sync for Pending {}

/// What is done when a request is cancelled. The handle of a request that has not ended points to one, or is NULL.
type Then = Box<dyn FnOnce() + Send>;

/// The requests of all threads that have not been given back, those that have ended in the order in which they did.
struct Queue(Lock<Vec<Entry>>);

struct Entry {
    thread: ThreadId,
    request: *mut ObjectRequest,
    has_ended: bool,
    is_cancelled: bool,
}

// SAFETY: the pointer is only used by the thread that started the request, and by others under the lock.
unsafe impl Send for Entry {}

impl ReadRequest {
    /// The object's name.
    pub fn name(&self) -> &str {
        self.pending.name()
    }

    /// Where the read begins.
    pub fn begin(&self) -> ByteRange {
        self.begin
    }

    /// How many bytes are wanted; 0 if it is only the object's length. Where the object ends before, the bytes up to
    /// there are the answer.
    pub fn size(&self) -> usize {
        // SAFETY: the request stays where it is until it is given back, which is when its `Pending` is dropped.
        unsafe { (*self.pending.request).size }
    }

    /// Whether nobody needs the answer any more. The request is answered or dropped all the same.
    pub fn is_cancelled(&self) -> bool {
        let entries = self.pending.queue.0.lock();
        entries.is_some_and(|entries| self.pending.entry(&entries).is_some_and(|at| entries[at].is_cancelled))
    }

    /// Has `then` called as soon as nobody needs the answer any more, in the thread that says so, or at once if that is
    /// so already. It is not called once the request has been answered or dropped, unless that happens meanwhile.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn on_cancel(&mut self, then: impl FnOnce() + Send + 'static) -> Result<()> {
        let then: Then = alloc::try_box(then)?;
        let then = alloc::try_box(then)?;
        let Some(entries) = self.pending.queue.0.lock() else { return Ok(()) };
        if self.pending.entry(&entries).is_some_and(|at| entries[at].is_cancelled) {
            drop(entries);
            then();
            return Ok(());
        }
        // SAFETY: the request has not ended, and the lock is held.
        let before = unsafe { swap_then(self.pending.request, Some(then)) };
        drop((entries, before));
        Ok(())
    }

    /// Adds bytes to those that were read before: `read` puts them into the buffer, which has room for
    /// [`size`](Self::size) bytes in all.
    pub fn fill<T>(&mut self, read: impl FnOnce(&mut Buffer<'_>) -> T) -> T {
        // SAFETY: as in `size`.
        let (buffer, size) = unsafe { ((*self.pending.request).buffer, (*self.pending.request).size) };
        // In a child that was forked the memory may belong to others.
        let size = if self.pending.queue.0.lock().is_some() { size } else { 0 };
        // SAFETY: there is room for so many bytes, which are this request's until it is answered.
        let mut buffer = Buffer::new(unsafe { room_at(buffer.cast(), size) });
        // SAFETY: so many have been written by earlier calls.
        unsafe { buffer.set_filled(self.filled.min(size)) };
        let result = read(&mut buffer);
        self.filled = buffer.filled().len();
        result
    }

    /// Answers the request: the object's length and, if it is known, its version, a number other than 0, of 64 bits,
    /// that changes whenever the bytes change. `None` stands for an object that does not exist.
    pub fn answer(mut self, found: Result<Option<ObjectState>>) {
        let nbytes = self.filled;
        self.pending.outcome = Some(found.map(|found| found.map(|state| Answer::new(nbytes, state))));
    }
}

impl WriteRequest {
    /// The object's name.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// All bytes of the object.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: as in `ReadRequest::size`.
        let (buffer, size) = unsafe { ((*self.0.request).buffer, (*self.0.request).size) };
        match size {
            0 => &[],
            // SAFETY: there are so many bytes, which stay as they are until the request is answered.
            _ => unsafe { slice::from_raw_parts(buffer.cast(), size) },
        }
    }

    /// Answers the request: the object has been written, or is what it was.
    pub fn answer(mut self, result: Result<()>) {
        self.0.outcome = Some(result.map(|()| Some(Answer::new(0, (0, None)))));
    }
}

/// Replaces what is done when a request is cancelled.
///
/// # Safety
/// It is one of the queue's that has not ended, and the queue's lock is held.
unsafe fn swap_then(request: *mut ObjectRequest, then: Option<Box<Then>>) -> Option<Box<Then>> {
    let then = then.map_or(ptr::null_mut(), |then| Box::into_raw(then).cast());
    // SAFETY: the caller's promise: nobody else uses the handle meanwhile, which is NULL or what `on_cancel` has put
    // there by this function.
    unsafe {
        let before = mem::replace(&mut (*request).handle, then).cast::<Then>();
        (!before.is_null()).then(|| Box::from_raw(before))
    }
}

impl Pending {
    /// Which of the queue's entries is this one's.
    fn entry(&self, entries: &[Entry]) -> Option<usize> {
        entries.iter().rposition(|entry| entry.request == self.request)
    }

    fn name(&self) -> &str {
        // SAFETY: a request's name ends with a NUL and stays where it is, as the request does.
        unsafe { CStr::from_ptr((*self.request).name) }.to_str().unwrap_or_default()
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        let unanswered = || Err(ErrorKind::Network("the storage did not answer the request").into());
        let outcome = self.outcome.take().unwrap_or_else(unanswered);
        // In a child that was forked the request may not be there any more.
        let Some(mut requests) = self.queue.0.lock() else { return };
        // SAFETY: the request is in flight until it is said to have ended, which takes the lock.
        let then = unsafe { swap_then(self.request, None) };
        // SAFETY: as above.
        unsafe { (*self.request).set_outcome(outcome) };
        if let Some(at) = self.entry(&requests) {
            requests[at..].rotate_left(1);
            requests.last_mut().into_iter().for_each(|entry| entry.has_ended = true);
        }
        drop((requests, then));
        self.thread.unpark();
    }
}

impl<S: AsyncStore> AsyncRequests<S> {
    /// Of this storage.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(store: S) -> Result<Self> {
        Ok(AsyncRequests { store, queue: Shared::new(Queue(Lock::new(Vec::new())))? })
    }

    /// The storage.
    pub fn store(&self) -> &S {
        &self.store
    }

    #[cfg(test)]
    pub(super) fn store_mut(&mut self) -> &mut S {
        &mut self.store
    }

    /// Has the storage start a request; `false` if it is a read of an object that is absent by what is known already.
    ///
    /// # Errors
    /// `OutOfMemory`, `Argument` in a child that was forked, and what the storage answers at once; then it has not
    /// begun.
    ///
    /// # Safety
    /// That of [`Flight::start`].
    unsafe fn begin(&self, request: *mut ObjectRequest, start: impl FnOnce(Pending)) -> Result<bool> {
        let (thread, queue) = (thread::current(), self.queue.clone());
        let entry = Entry { thread: thread.id(), request, has_ended: false, is_cancelled: false };
        alloc::push(&mut *self.queue.0.lock().ok_or(FORKED)?, entry)?;
        // SAFETY: the request is the caller's, who does not use it until it is given back.
        unsafe { (*request).handle = ptr::null_mut() };
        let pending = Pending { request, thread, queue, outcome: None };
        // If the storage panics, the request has failed, unless it keeps it.
        let _ = catch_unwind(AssertUnwindSafe(|| start(pending)));
        let mut requests = self.queue.0.lock().ok_or(FORKED)?;
        let at = requests.iter().rposition(|entry| entry.request == request && entry.has_ended);
        // SAFETY: the request has ended, and is this thread's.
        let Some((at, status)) = at.map(|at| (at, unsafe { (*request).status } as c_int)) else { return Ok(true) };
        if status == NOERR {
            return Ok(true);
        }
        requests.remove(at);
        // SAFETY: it has ended, and its error is taken once.
        match unsafe { ObjectRequest::take_error(request) } {
            Some(error) => Err(error),
            None if status == ENOOBJECT => Ok(false),
            None => Err(ErrorKind::Callback(status).into()),
        }
    }

    /// Takes a request of a thread's that has ended; `None` if others are in flight.
    ///
    /// # Errors
    /// `Argument` in a child that was forked; `Internal` if none is in flight.
    fn take(&self, this: ThreadId) -> Result<Option<*mut ObjectRequest>> {
        let mut requests = self.queue.0.lock().ok_or(FORKED)?;
        match requests.iter().position(|entry| entry.thread == this && entry.has_ended) {
            Some(at) => Ok(Some(requests.remove(at).request)),
            None if requests.iter().any(|entry| entry.thread == this) => Ok(None),
            None => Err(ErrorKind::Internal.into()),
        }
    }
}

// SAFETY: only a `Pending` touches a request and its buffer, of which there is one for each, and it does so no more
// once the request is among those that have ended; `wait` takes it from there. Of the buffer of a read `fill` says how
// many bytes have been written; that of a write is lent to be read. `wait` fails when no request of the thread's is
// left, or in a child that was forked, where `fill` and the end of a `Pending` touch nothing.
unsafe impl<S: AsyncStore> Flight for AsyncRequests<S> {
    fn limits(&self) -> Limits {
        self.store.limits()
    }

    unsafe fn start(&self, request: *mut ObjectRequest) -> Result<bool> {
        // SAFETY: the request is the caller's until this function passes it on.
        let begin = unsafe { (*request).begin() };
        // SAFETY: the caller's promise.
        unsafe { self.begin(request, |pending| self.store.start_read(ReadRequest { begin, filled: 0, pending })) }
    }

    fn writes(&self) -> bool {
        self.store.writes()
    }

    unsafe fn start_write(&self, request: *mut ObjectRequest) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.begin(request, |pending| self.store.start_write(WriteRequest(pending))) }.map(drop)
    }

    unsafe fn wait(&self) -> Result<*mut ObjectRequest> {
        let this = thread::current().id();
        let mut failed = None;
        loop {
            match (self.take(this), &mut failed) {
                (Ok(Some(request)), None) => return Ok(request),
                // SAFETY: it has ended, and is given back by nobody else.
                (Ok(Some(request)), Some(_)) => drop(unsafe { ObjectRequest::take_error(request) }),
                // Whoever answers a request of this thread's wakes it afterwards, so that this returns.
                (Ok(None), Some(_)) => thread::park(),
                (Ok(None), None) => {
                    let waited = catch_unwind(AssertUnwindSafe(|| self.store.wait()));
                    failed = waited.unwrap_or_else(|_| Err(ErrorKind::Internal.into())).err();
                }
                (Err(error), _) => return Err(failed.unwrap_or(error)),
            }
        }
    }

    unsafe fn cancel(&self, request: *mut ObjectRequest) {
        let Some(mut requests) = self.queue.0.lock() else { return };
        let is_it = |entry: &&mut Entry| entry.request == request && !entry.has_ended;
        let Some(entry) = requests.iter_mut().find(is_it) else { return };
        entry.is_cancelled = true;
        // SAFETY: it has not ended, and the lock is held.
        let then = unsafe { swap_then(request, None) };
        // It may answer the request.
        drop(requests);
        let _ = catch_unwind(AssertUnwindSafe(|| then.into_iter().for_each(|then| then())));
    }

    unsafe fn take_error(&self, request: *mut ObjectRequest) -> Option<Error> {
        // SAFETY: `set_outcome` has said how the request has ended, and nobody has changed the handle since.
        unsafe { ObjectRequest::take_error(request) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::super::requests_in_flight::{RequestsInFlight, read, write};
    use super::super::traits::ObjectStore;
    use super::super::{Memory, read_whole};
    use super::*;
    use crate::open_object::ObjectState;

    /// What becomes of the requests of a test.
    enum Then {
        Answer,
        AnswerElsewhere,
        Keep,
        Drop,
        Panic,
        PanicInWait,
        Fail,
    }

    struct Store {
        memory: Memory,
        then: Then,
        kept: Mutex<Vec<ReadRequest>>,
    }

    fn answer(memory: &Memory, mut read: ReadRequest) {
        let (name, begin) = (read.name().to_owned(), read.begin());
        let found = read.fill(|buffer| memory.read(&name, begin, buffer));
        read.answer(found.map(|len| len.map(|len| (len, Some(7)))));
    }

    impl AsyncStore for Store {
        fn start_read(&self, read: ReadRequest) {
            match self.then {
                Then::Answer => answer(&self.memory, read),
                Then::AnswerElsewhere => {
                    std::thread::scope(|scope| scope.spawn(|| answer(&self.memory, read)).join()).unwrap()
                }
                Then::Keep | Then::PanicInWait => self.kept.lock().unwrap().push(read),
                Then::Drop => drop(read),
                Then::Panic => panic!("by intention"),
                Then::Fail => read.answer(Err(ErrorKind::Refused.into())),
            }
        }

        fn wait(&self) -> Result<()> {
            if let Then::PanicInWait = self.then {
                self.kept.lock().unwrap().drain(..).for_each(|read| read.answer(Ok(None)));
                panic!("by intention");
            }
            std::thread::park();
            Ok(())
        }

        fn writes(&self) -> bool {
            true
        }

        fn start_write(&self, write: WriteRequest) {
            let result = self.memory.write(write.name(), write.bytes());
            write.answer(result);
        }
    }

    fn storage(then: Then) -> AsyncRequests<Store> {
        let memory = Memory::new();
        memory.write("a/b", b"0123456789").unwrap();
        AsyncRequests::new(Store { memory, then, kept: Mutex::default() }).unwrap()
    }

    fn read_five(
        storage: &AsyncRequests<Store>,
        name: &str,
        begin: ByteRange,
    ) -> Result<Option<(Vec<u8>, ObjectState)>> {
        let mut memory = [std::mem::MaybeUninit::uninit(); 5];
        let mut buffer = Buffer::new(&mut memory);
        let found = read((storage, "a/"), name, begin, &mut buffer)?;
        Ok(found.map(|state| (buffer.filled().to_vec(), state)))
    }

    #[test]
    fn requests_are_answered_at_once_or_by_other_threads() {
        for then in [Then::Answer, Then::AnswerElsewhere] {
            let storage = storage(then);
            let five = |name, begin| read_five(&storage, name, begin).unwrap();
            assert_eq!(five("b", ByteRange::At(2)), Some((b"23456".to_vec(), (10, Some(7)))));
            assert_eq!(five("b", ByteRange::BeforeEnd(3)), Some((b"789".to_vec(), (10, Some(7)))));
            assert_eq!(five("c", ByteRange::At(0)), None);
            for bytes in [&b"new"[..], b""] {
                write((&storage, "a/"), "c", bytes).unwrap();
                assert_eq!(read_whole(&storage.store().memory, "a/c", 9).unwrap().unwrap(), bytes);
            }
        }
    }

    #[test]
    fn a_request_without_an_answer_has_failed() {
        for (then, message) in [
            (Then::Drop, "b: the storage did not answer the request"),
            (Then::Panic, "b: the storage did not answer the request"),
            (Then::Fail, "b: the server refuses access"),
            (Then::PanicInWait, "internal error"),
        ] {
            let error = read_five(&storage(then), "b", ByteRange::At(0)).unwrap_err();
            assert!(error.to_string().ends_with(message), "{error}");
        }
    }

    /// As many as are in flight come back to the thread that started them, in the order in which they are answered.
    #[test]
    fn what_is_kept_is_waited_for_and_knows_that_it_is_cancelled() {
        let storage = &storage(Then::Keep);
        std::thread::scope(|scope| {
            for thread in 0..2 {
                scope.spawn(move || {
                    let mut memory = [[0u8; 4]; 3];
                    let mut requests = RequestsInFlight::new(storage, "a/");
                    for (number, room) in memory.iter_mut().enumerate() {
                        let begin = ByteRange::At((thread * 3 + number) as u64);
                        // SAFETY: the memory is not used before the reads have been given back.
                        let started = unsafe { requests.start(number, "b", begin, (room.as_mut_ptr(), 4)) };
                        assert!(matches!(started, Ok(None)));
                    }
                    requests.cancel_if(|&mut number| number == 1);
                    let own = |read: &ReadRequest| matches!(read.begin(), ByteRange::At(at) if at / 3 == thread as u64);
                    while requests.len() > 0 {
                        let mut kept = storage.store().kept.lock().unwrap();
                        let at = kept.iter().rposition(own).unwrap();
                        let read = kept.remove(at);
                        drop(kept);
                        let last = requests.len() - 1;
                        assert_eq!((read.name(), read.size(), read.is_cancelled()), ("a/b", 4, last == 1));
                        answer(&storage.store().memory, read);
                        let (number, answer) = requests.wait().unwrap();
                        assert_eq!((number, answer.unwrap().unwrap().nbytes), (last, 4));
                    }
                    drop(requests);
                    let expected = |i: usize| b"0123456789"[thread * 3 + i..][..4].to_vec();
                    assert!((0..3).all(|i| memory[i].to_vec() == expected(i)));
                });
            }
        });
    }

    /// The storage is told of it, once, before the request has ended or after that never.
    #[test]
    fn a_storage_is_told_what_is_cancelled() {
        let storage = &storage(Then::Keep);
        let mut memory = [[0u8; 4]; 3];
        let mut requests = RequestsInFlight::new(storage, "a/");
        for (number, room) in memory.iter_mut().enumerate() {
            // SAFETY: the memory is not used before the reads have been given back.
            let started = unsafe { requests.start(number, "b", ByteRange::At(0), (room.as_mut_ptr(), 4)) };
            assert!(matches!(started, Ok(None)));
        }
        let told = std::sync::Arc::new(Mutex::new(Vec::new()));
        let mut reads: Vec<_> = storage.store().kept.lock().unwrap().drain(..).enumerate().collect();
        for (number, read) in &mut reads[..2] {
            let (number, told) = (*number, told.clone());
            read.on_cancel(move || told.lock().unwrap().push(number)).unwrap();
        }
        let (_, first) = reads.remove(0);
        answer(&storage.store().memory, first);
        requests.cancel_if(|_| true);
        assert_eq!(*told.lock().unwrap(), [1]);
        // What asks only then is told at once.
        let (_, mut last) = reads.pop().unwrap();
        let also = told.clone();
        last.on_cancel(move || also.lock().unwrap().push(2)).unwrap();
        assert_eq!(*told.lock().unwrap(), [1, 2]);
        drop((reads, last));
        let mut ended: Vec<_> =
            (0..3).map(|_| requests.wait().unwrap()).map(|(i, answer)| (i, answer.is_ok())).collect();
        ended.sort_unstable();
        assert_eq!((ended, requests.len()), (vec![(0, true), (1, false), (2, false)], 0));
        assert_eq!(std::sync::Arc::strong_count(&told), 1);
    }

    #[test]
    fn bytes_are_added_piece_by_piece_and_never_beyond() {
        struct Pieces;
        impl AsyncStore for Pieces {
            fn start_read(&self, mut read: ReadRequest) {
                let fits: Vec<bool> =
                    [&b"01"[..], b"23", b"45", b"4"].iter().map(|piece| read.fill(|b| b.write(piece))).collect();
                assert_eq!(fits, [true, true, false, true]);
                read.answer(Ok(Some((9, None))));
            }
        }
        let mut memory = [std::mem::MaybeUninit::uninit(); 5];
        let mut buffer = Buffer::new(&mut memory);
        let requests = AsyncRequests::new(Pieces).unwrap();
        assert_eq!(read((&requests, ""), "b", ByteRange::At(0), &mut buffer).unwrap(), Some((9, None)));
        assert_eq!(buffer.filled(), b"01234");
        let error = write((&requests, ""), "b", b"x").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ReadOnly);
    }
}
