//! Reads and writes in flight: each is asked for at once, and given back to the thread that started it when it has
//! ended.
#![allow(unsafe_code)]

use std::collections::VecDeque;
use std::future::Future;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::ThreadId;
use std::time::Duration;

use object_store::path::Path;
use tokio::task::AbortHandle;

use super::read::{Answer, Room, Source};
use super::service::{Service, within};
use crate::alloc;
use crate::error::{ErrorKind, Result};
use crate::lock::Lock;
use crate::object::flight::ObjectRequest;
use crate::store::NOT_IN_FLIGHT;

/// What becomes of a read; of a write nothing but an error counts.
pub(super) type Outcome = Result<Option<Answer>>;

/// The reads of one thread that have ended and were not given back yet.
#[derive(Default)]
struct Mailbox {
    ended: Mutex<VecDeque<(Asked, Outcome)>>,
    told: Condvar,
}

/// A request that was started. It is the same for whoever started it, and used by nobody else.
#[derive(Clone, Copy)]
struct Asked(*mut ObjectRequest);

// SAFETY: the pointer is only looked at by the thread that started the request.
unsafe impl Send for Asked {}

/// The threads that have reads in flight, and how many.
pub(super) struct Mailboxes(Lock<Vec<(ThreadId, Arc<Mailbox>, usize)>>);

impl Default for Mailboxes {
    fn default() -> Self {
        Mailboxes(Lock::new(Vec::new()))
    }
}

impl Mailboxes {
    /// This thread's, which has one read more in flight from now on.
    fn begin(&self) -> Result<Arc<Mailbox>> {
        let mut all = self.0.lock().ok_or(ErrorKind::Internal)?;
        let thread = std::thread::current().id();
        if let Some((_, mailbox, count)) = all.iter_mut().find(|(other, ..)| *other == thread) {
            *count += 1;
            return Ok(mailbox.clone());
        }
        let mailbox = Arc::new(Mailbox::default());
        alloc::push(&mut all, (thread, mailbox.clone(), 1))?;
        Ok(mailbox)
    }

    /// This thread's, if it has reads in flight.
    fn get(&self) -> Result<Arc<Mailbox>> {
        let all = self.0.lock().ok_or(ErrorKind::Internal)?;
        let thread = std::thread::current().id();
        let found = all.iter().find(|(other, ..)| *other == thread);
        Ok(found.map(|(_, mailbox, _)| mailbox.clone()).ok_or(NOT_IN_FLIGHT)?)
    }

    /// Notes that this thread has one read less in flight.
    fn end(&self) {
        let Some(mut all) = self.0.lock() else { return };
        let thread = std::thread::current().id();
        if let Some(at) = all.iter().position(|(other, ..)| *other == thread) {
            all[at].2 -= 1;
            if all[at].2 == 0 {
                all.swap_remove(at);
            }
        }
    }
}

impl Mailbox {
    fn tell(&self, asked: Asked, outcome: Outcome) {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).push_back((asked, outcome));
        self.told.notify_one();
    }

    fn wait(&self) -> (Asked, Outcome) {
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(first) = ended.pop_front() {
                return first;
            }
            ended = self.told.wait(ended).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A read that is being made. Whatever ends it tells of it, be it cancelled or a fault.
struct Reading {
    asked: Asked,
    mailbox: Arc<Mailbox>,
    outcome: Option<Outcome>,
}

impl Drop for Reading {
    fn drop(&mut self) {
        let outcome =
            self.outcome.take().unwrap_or_else(|| Err(ErrorKind::Network("the request was cancelled").into()));
        self.mailbox.tell(self.asked, outcome);
    }
}

/// Starts a read: see [`Flight::start`](crate::object::Flight).
///
/// # Errors
/// Those of the service, and `OutOfMemory`; then the read has not begun.
///
/// # Safety
/// That of `Flight::start`.
pub(super) unsafe fn start(
    mailboxes: &Mailboxes,
    (service, source, time): (&Service, Source, Duration),
    path: Path,
    request: *mut ObjectRequest,
) -> Result<()> {
    // SAFETY: the request is valid, and nobody else uses it before the end of this function. The buffer is used by
    // nobody else until the read has been given back.
    let (begin, room) = unsafe {
        let ObjectRequest { buffer, size, .. } = *request;
        ((*request).begin(), Room::new(buffer.cast(), size))
    };
    let what = async move {
        let mut room = room;
        source.read(&path, begin, &mut room).await
    };
    // SAFETY: the caller's promise.
    unsafe { spawn(mailboxes, (service, time), request, what) }
}

/// Has the service do what a request asks for, and then tell this thread.
///
/// # Errors
/// Those of the service, and `OutOfMemory`; then nothing has begun.
///
/// # Safety
/// That of `Flight::start`.
pub(super) unsafe fn spawn(
    mailboxes: &Mailboxes,
    (service, time): (&Service, Duration),
    request: *mut ObjectRequest,
    what: impl Future<Output = Outcome> + Send + 'static,
) -> Result<()> {
    service.check()?;
    let mailbox = mailboxes.begin()?;
    let reading = Reading { asked: Asked(request), mailbox, outcome: None };
    let task = async move {
        let mut reading = reading;
        // What uses the request's memory is dropped at the end of this statement.
        let outcome = within(time, what).await;
        reading.outcome = Some(outcome);
    };
    let handle = service.spawn(task)?;
    // SAFETY: the request is valid, and the service's thread does not touch it.
    unsafe { (*request).handle = Box::into_raw(Box::new(handle)).cast() };
    Ok(())
}

/// Waits for one of this thread's reads: see [`Flight::wait`](crate::object::Flight).
///
/// # Errors
/// Those of the service, in a process that was forked; that none is in flight.
///
/// # Safety
/// That of `Flight::wait`.
pub(super) unsafe fn wait(mailboxes: &Mailboxes) -> Result<*mut ObjectRequest> {
    let (Asked(request), outcome) = mailboxes.get()?.wait();
    mailboxes.end();
    // SAFETY: the request was started by this thread, is valid until it is given back, and its handle is the box that
    // `start` has made, which is taken back once.
    let answer = unsafe {
        drop(Box::from_raw((*request).handle.cast::<AbortHandle>()));
        &mut *request
    };
    answer.set_outcome(outcome.map(|read| read.map(|read| read.in_flight())));
    Ok(request)
}

/// Has a read end soon.
///
/// # Safety
/// The read is in flight.
pub(super) unsafe fn cancel(request: *mut ObjectRequest) {
    // SAFETY: the request is in flight, so its handle is the one that `start` has made.
    unsafe { (*(*request).handle.cast::<AbortHandle>()).abort() };
}
