//! Requests in flight in safe Rust: the storage is given each request, and answers it when it can, from any thread.
//!
//! ```text
//!   Flight::start -> AsyncStore::start_read(ReadRequest)      the storage keeps it
//!                    ReadRequest::answer, or it is dropped    in any thread: it becomes one of those that have ended
//!   Flight::wait  <- the first of this thread's that has ended
//! ```
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ThreadId;

use super::byte_range::ByteRange;
use super::flight::{Answer, Flight, Limits, ObjectRequest};
use crate::alloc::{self, room_at};
use crate::buffer::Buffer;
use crate::error::{Error, ErrorKind, Result};
use crate::lock::Lock;
use crate::open_object::ObjectState;
use crate::shared::Shared;

/// A storage that answers later: what [`AsyncRequests`] needs to keep requests of it in flight.
///
/// Each request is answered once, by the thread that starts it or by any other. A request that is dropped has failed.
/// One that is neither answered nor dropped is waited for without end, as a server would be that never answers. No
/// thread of the library's is started for any of this.
pub trait AsyncStore: Send + Sync {
    /// The limits on the requests in flight at the same time. The library observes them in each transfer.
    fn limits(&self) -> Limits {
        Limits::default()
    }

    /// Starts a read of an object.
    fn start_read(&self, read: ReadRequest);

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
    thread: ThreadId,
    queue: Shared<Queue>,
    is_cancelled: Shared<AtomicBool>,
    outcome: Option<Result<Option<Answer>>>,
}

// SAFETY: until it is answered nobody else touches the request or its memory but for the handle, which the lock of the
// queue guards; that lock also orders the answer before whatever the request's own thread does with it afterwards.
unsafe impl Send for Pending {}
// SAFETY: what is shared is only read.
unsafe impl Sync for Pending {}

/// The requests of all threads.
struct Queue(Lock<Ended>);

#[derive(Default)]
struct Ended {
    /// Those that have ended, and whose they are.
    requests: Vec<(ThreadId, *mut ObjectRequest)>,
    /// How many there are besides, for each of which there is room.
    in_flight: usize,
}

// SAFETY: the pointers are only used by the threads that started the requests, and by others under the lock.
unsafe impl Send for Ended {}

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
        self.pending.request().size
    }

    /// Whether nobody needs the answer any more. The request is answered or dropped all the same.
    pub fn is_cancelled(&self) -> bool {
        self.pending.is_cancelled.load(Ordering::Relaxed)
    }

    /// Adds bytes to those that were read before: `read` puts them into the buffer, which has room for
    /// [`size`](Self::size) bytes in all.
    pub fn fill<T>(&mut self, read: impl FnOnce(&mut Buffer<'_>) -> T) -> T {
        let ObjectRequest { buffer, size, .. } = *self.pending.request();
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
        let answer = |(object_size, version): ObjectState| {
            let is_lasting = version.is_some();
            Answer { nbytes, object_size, version, is_lasting }
        };
        self.pending.outcome = Some(found.map(|found| found.map(answer)));
    }
}

impl WriteRequest {
    /// The object's name.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// All bytes of the object.
    pub fn bytes(&self) -> &[u8] {
        let ObjectRequest { buffer, size, .. } = *self.0.request();
        match size {
            0 => &[],
            // SAFETY: there are so many bytes, which stay as they are until the request is answered.
            _ => unsafe { slice::from_raw_parts(buffer.cast(), size) },
        }
    }

    /// Answers the request: the object has been written, or is what it was.
    pub fn answer(mut self, result: Result<()>) {
        let written = Answer { nbytes: 0, object_size: 0, version: None, is_lasting: false };
        self.0.outcome = Some(result.map(|()| Some(written)));
    }
}

impl Pending {
    fn request(&self) -> &ObjectRequest {
        // SAFETY: the request stays where it is until it is given back, which is when `self` is dropped.
        unsafe { &*self.request }
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
        let Some(mut ended) = self.queue.0.lock() else { return };
        // SAFETY: the request is in flight until it is among those that have ended, which takes the lock. Its handle is
        // the box that `begin` has made, which is taken back once.
        unsafe {
            drop(Box::from_raw((*self.request).handle.cast::<Shared<AtomicBool>>()));
            (*self.request).set_outcome(outcome);
        }
        ended.in_flight -= 1;
        // There is room.
        ended.requests.push((self.thread, self.request));
        drop(ended);
        self.queue.0.notify();
    }
}

impl<S: AsyncStore> AsyncRequests<S> {
    /// Of this storage.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(store: S) -> Result<Self> {
        Ok(AsyncRequests { store, queue: Shared::new(Queue(Lock::new(Ended::default())))? })
    }

    /// The storage.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// Has the storage start a request.
    ///
    /// # Errors
    /// `OutOfMemory`, and `Internal` in a child that was forked; then it has not begun.
    ///
    /// # Safety
    /// That of [`Flight::start`].
    unsafe fn begin(&self, request: *mut ObjectRequest, start: impl FnOnce(Pending)) -> Result<()> {
        let is_cancelled = Shared::new(AtomicBool::new(false))?;
        let handle = alloc::try_box(is_cancelled.clone())?;
        let mut ended = self.queue.0.lock().ok_or(ErrorKind::Internal)?;
        let num_in_flight = ended.in_flight + 1;
        ended.requests.try_reserve(num_in_flight).map_err(|_| ErrorKind::OutOfMemory)?;
        ended.in_flight = num_in_flight;
        drop(ended);
        // SAFETY: the request is the caller's, who does not use it until it is given back.
        unsafe { (*request).handle = Box::into_raw(handle).cast() };
        let (thread, queue) = (std::thread::current().id(), self.queue.clone());
        let pending = Pending { request, thread, queue, is_cancelled, outcome: None };
        // If the storage panics, the request has failed, unless it keeps it.
        let _ = catch_unwind(AssertUnwindSafe(|| start(pending)));
        Ok(())
    }
}

// SAFETY: only a `Pending` touches a request and its buffer, of which there is one for each, and it does so no more
// once the request is among those that have ended; `wait` takes it from there. Of the buffer of a read `fill` says how
// many bytes have been written; that of a write is lent to be read. `wait` fails in a child that was forked only, where
// `fill` and the end of a `Pending` touch nothing.
unsafe impl<S: AsyncStore> Flight for AsyncRequests<S> {
    fn limits(&self) -> Limits {
        self.store.limits()
    }

    unsafe fn start(&self, request: *mut ObjectRequest) -> Result<bool> {
        // SAFETY: the request is the caller's until this function passes it on.
        let begin = unsafe { (*request).begin() };
        // SAFETY: the caller's promise.
        unsafe { self.begin(request, |pending| self.store.start_read(ReadRequest { begin, filled: 0, pending })) }?;
        Ok(true)
    }

    fn writes(&self) -> bool {
        self.store.writes()
    }

    unsafe fn start_write(&self, request: *mut ObjectRequest) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.begin(request, |pending| self.store.start_write(WriteRequest(pending))) }
    }

    unsafe fn wait(&self) -> Result<*mut ObjectRequest> {
        let mut ended = self.queue.0.lock().ok_or(ErrorKind::Internal)?;
        let this = std::thread::current().id();
        loop {
            if let Some(at) = ended.requests.iter().position(|(thread, _)| *thread == this) {
                return Ok(ended.requests.remove(at).1);
            }
            ended = self.queue.0.wait(ended);
        }
    }

    unsafe fn cancel(&self, request: *mut ObjectRequest) {
        let Some(ended) = self.queue.0.lock() else { return };
        if !ended.requests.iter().any(|(_, other)| *other == request) {
            // SAFETY: the request has not ended, so that its handle is the box that `begin` has made; the lock keeps it
            // there.
            unsafe { (*(*request).handle.cast::<Shared<AtomicBool>>()).store(true, Ordering::Relaxed) };
        }
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
                Then::Keep => self.kept.lock().unwrap().push(read),
                Then::Drop => drop(read),
                Then::Panic => panic!("by intention"),
                Then::Fail => read.answer(Err(ErrorKind::Refused.into())),
            }
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
