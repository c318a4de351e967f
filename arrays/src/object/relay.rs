//! Reads in flight that are passed on to another storage: an object there, or a part of one, stands for the one that is
//! asked for.
//!
//! ```text
//!   start(outer) -> Relay::pass: a request of its own -> Flight::start of the other storage
//!   wait()       <- the caller's function: what came, as an answer to outer, or what is read next for it
//!                <- Flight::wait of the other storage
//! ```
#![allow(unsafe_code)]

use std::ptr;
use std::thread::ThreadId;

use super::byte_range::ByteRange;
use super::flight::{Answer, Flight, ObjectRequest};
use crate::alloc::{self, Scratch};
use crate::error::{ErrorKind, Result};
use crate::lock::Lock;

/// What is read of the other storage.
pub(super) struct Part<'p> {
    pub name: &'p str,
    pub begin: ByteRange,
    /// Where the bytes go: to the memory of the one who asks or, if this is NULL, to memory of the relay's.
    pub buffer: *mut u8,
    pub size: usize,
}

/// A request that was passed on, and what the storage knows of it that did so.
#[repr(C)]
pub(super) struct Passed<T> {
    /// What the other storage receives; the first field, for `wait` finds the others by its address.
    request: ObjectRequest,
    outer: *mut ObjectRequest,
    name: Vec<u8>,
    begin: ByteRange,
    size: usize,
    memory: Scratch,
    /// Whether the bytes go to this memory.
    is_own: bool,
    pub own: T,
}

/// What becomes of a request when the other storage has answered.
pub(super) enum Next<'n> {
    Ended(Result<Option<Answer>>),
    /// This is read for it as well.
    Pass(Part<'n>),
}

/// A storage that passes reads on.
pub(super) trait Relays {
    /// What it knows of each.
    type Own;

    /// Where a read was passed on to. Whoever waits for one of these flights waits for all of them.
    fn to(&self, own: &Self::Own) -> Result<&dyn Flight>;

    /// What becomes of a request of which a part was read.
    ///
    /// # Safety
    /// `outer` is the request that was passed on, and the caller's to use.
    unsafe fn next(
        &self,
        passed: &mut Passed<Self::Own>,
        outer: *mut ObjectRequest,
        answer: Result<Option<Answer>>,
    ) -> Next<'_>;
}

/// A request that has ended without the other storage.
struct Ended(ThreadId, *mut ObjectRequest, Result<Option<Answer>>);

// SAFETY: the pointer is only used by the thread that started the request.
unsafe impl Send for Ended {}

/// The requests that a storage passes on.
pub(super) struct Relay(Lock<Vec<Ended>>);

impl<T> Passed<T> {
    /// What came, where it went to memory of the relay's.
    pub(super) fn bytes(&self, answer: Answer) -> &[u8] {
        // SAFETY: the answer was checked: so many bytes have been written to the memory of this size.
        if self.is_own { unsafe { self.memory.filled(answer.nbytes) } } else { &[] }
    }

    /// Fills in the request for a part.
    fn set(&mut self, part: &Part<'_>) -> Result<()> {
        self.name.clear();
        alloc::extend(&mut self.name, part.name.as_bytes())?;
        alloc::push(&mut self.name, 0)?;
        let buffer = match part.buffer.is_null() {
            true => self.memory.room(part.size)?.as_mut_ptr().cast(),
            false => part.buffer,
        };
        let (offset, from_end) = match part.begin {
            ByteRange::At(offset) => (offset, 0),
            ByteRange::BeforeEnd(offset) => (offset, 1),
        };
        (self.begin, self.size, self.is_own) = (part.begin, part.size, part.buffer.is_null());
        self.request = ObjectRequest {
            name: self.name.as_ptr().cast(),
            offset,
            from_end,
            buffer: buffer.cast(),
            size: part.size,
            ..ObjectRequest::NONE
        };
        Ok(())
    }
}

impl Relay {
    pub(super) fn new() -> Self {
        Relay(Lock::new(Vec::new()))
    }

    /// Passes a request on; `false` if the object is known to be absent there.
    ///
    /// # Errors
    /// Those of the other storage, and `OutOfMemory`; then the read has not begun.
    ///
    /// # Safety
    /// That of [`Flight::start`], and the part's memory is the request's.
    pub(super) unsafe fn pass<T>(
        flight: &dyn Flight,
        outer: *mut ObjectRequest,
        part: &Part<'_>,
        own: T,
    ) -> Result<bool> {
        let request = ObjectRequest::NONE;
        let (begin, size, memory, is_own) = (part.begin, part.size, Scratch::EMPTY, false);
        let mut passed = alloc::try_box(Passed { request, outer, name: Vec::new(), begin, size, memory, is_own, own })?;
        passed.set(part)?;
        let passed = Box::into_raw(passed);
        // SAFETY: the request and its memory stay where they are until `wait` has taken the box back, which is not
        // touched before. The outer one is the caller's, whose promise it is.
        unsafe {
            (*outer).handle = passed.cast();
            let started = flight.start(&raw mut (*passed).request);
            if !matches!(started, Ok(true)) {
                (*outer).handle = ptr::null_mut();
                drop(Box::from_raw(passed));
            }
            started
        }
    }

    /// Notes that a request has ended without the other storage.
    ///
    /// # Errors
    /// `OutOfMemory`; then the read has not begun.
    pub(super) fn end(&self, outer: *mut ObjectRequest, outcome: Result<Option<Answer>>) -> Result<()> {
        let mut ended = self.0.lock().ok_or(ErrorKind::Internal)?;
        Ok(alloc::push(&mut ended, Ended(std::thread::current().id(), outer, outcome))?)
    }

    /// Waits until a request of this thread's has ended, and gives it back: see [`Flight::wait`].
    ///
    /// # Errors
    /// Those of the flight; then none of this thread's is in flight any more.
    ///
    /// # Safety
    /// That of `Flight::wait`, and all requests were passed on for this storage.
    pub(super) unsafe fn wait<R: Relays>(&self, relays: &R, flight: &dyn Flight) -> Result<*mut ObjectRequest> {
        loop {
            if let Some(Ended(_, outer, outcome)) = self.take()? {
                // SAFETY: the request was started by this thread, and is given back once.
                return Ok(unsafe { give_back(outer, outcome) });
            }
            // SAFETY: the caller's promise: with none ended, what this thread has in flight is there.
            let inner = unsafe { flight.wait() }.inspect_err(|_| self.forget())?;
            // SAFETY: it is the first field of what `pass` has made a box of, which is touched by nobody else now.
            let mut passed = unsafe { Box::from_raw(inner.cast::<Passed<R::Own>>()) };
            let outer = passed.outer;
            let status = passed.request.status as _;
            let answer = passed.request.answer(status, passed.begin, passed.size).map_err(|error| {
                let known = match (error.kind(), relays.to(&passed.own)) {
                    // SAFETY: the request has been given back with the status of an error, and is asked once.
                    (ErrorKind::Callback(_), Ok(to)) => unsafe { to.take_error(&raw mut passed.request) },
                    _ => None,
                };
                known.unwrap_or(error)
            });
            // SAFETY: the outer request is this thread's, and in flight.
            match unsafe { relays.next(&mut passed, outer, answer) } {
                // SAFETY: as above; it is given back once.
                Next::Ended(outcome) => return Ok(unsafe { give_back(outer, outcome) }),
                Next::Pass(part) => {
                    let begun = passed.set(&part).and_then(|()| {
                        let to = relays.to(&passed.own)?;
                        let passed = Box::into_raw(passed);
                        // SAFETY: as in `pass`.
                        unsafe {
                            let started = to.start(&raw mut (*passed).request);
                            if !matches!(started, Ok(true)) {
                                drop(Box::from_raw(passed));
                            }
                            started
                        }
                    });
                    match begun {
                        Ok(true) => {}
                        // SAFETY: as above.
                        Ok(false) => return Ok(unsafe { give_back(outer, Ok(None)) }),
                        // SAFETY: as above.
                        Err(error) => return Ok(unsafe { give_back(outer, Err(error)) }),
                    }
                }
            }
        }
    }

    /// What this thread has started and has ended without the other storage.
    fn take(&self) -> Result<Option<Ended>> {
        let mut ended = self.0.lock().ok_or(ErrorKind::Internal)?;
        let thread = std::thread::current().id();
        let at = ended.iter().position(|Ended(other, ..)| *other == thread);
        Ok(at.map(|at| ended.swap_remove(at)))
    }

    /// Notes that nothing of this thread's is in flight any more.
    fn forget(&self) {
        let thread = std::thread::current().id();
        if let Some(mut ended) = self.0.lock() {
            ended.retain(|Ended(other, ..)| *other != thread);
        }
    }

    /// Says that a read is not needed any more: see [`Flight::cancel`].
    ///
    /// # Safety
    /// That of `Flight::cancel`, and the request was passed on for this storage.
    pub(super) unsafe fn cancel<R: Relays>(relays: &R, outer: *mut ObjectRequest) {
        // SAFETY: the request is in flight, so that its handle is the box that `pass` has made, of which the other
        // storage uses the request only; or NULL, if it has ended without.
        unsafe {
            let passed = (*outer).handle.cast::<Passed<R::Own>>();
            if !passed.is_null() {
                if let Ok(to) = relays.to(&(*passed).own) {
                    to.cancel(&raw mut (*passed).request);
                }
            }
        }
    }
}

/// Tells in a request how it has ended.
///
/// # Safety
/// The request is this thread's, and nobody else uses it.
unsafe fn give_back(outer: *mut ObjectRequest, outcome: Result<Option<Answer>>) -> *mut ObjectRequest {
    // SAFETY: the caller's promise.
    unsafe { (*outer).set_outcome(outcome) };
    outer
}
