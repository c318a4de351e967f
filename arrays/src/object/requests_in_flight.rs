//! The reads and writes that one transfer has in flight in a storage: where their requests are, and what each is for.
#![allow(unsafe_code)]

use std::ffi::c_int;
use std::ptr::{self, NonNull};

use smallvec::SmallVec;

use super::byte_range::ByteRange;
use super::flight::{Answer, Flight, ObjectRequest};
use super::traits::check_name;
use crate::alloc::try_box;
use crate::buffer::Buffer;
use crate::error::{Error, ErrorKind, Result};
use crate::open_object::ObjectState;
use crate::status::NOERR;
use crate::store::NOT_IN_FLIGHT;
use crate::waiter::Waiter;

/// Reads and writes that are in flight, each with what it is for. None outlives this: what is left is waited for, and
/// reads are cancelled before.
pub struct RequestsInFlight<'p, T> {
    flight: &'p dyn Flight,
    /// What all names begin with.
    prefix: &'p str,
    slots: Vec<Slot<T>>,
    /// The slots without a request. There is room for all of them.
    free: Vec<usize>,
    waiter: Option<Waiter>,
}

/// A place for one request.
struct Slot<T> {
    /// It is reached by this pointer only: while the request is in flight the storage uses it too.
    told: NonNull<Told>,
    purpose: Option<T>,
    is_cancelled: bool,
}

/// What the storage receives for a request.
struct Told {
    request: ObjectRequest,
    /// Where the read begins, `None` for a write, and how many bytes there is room for. The storage does not see these.
    begin: Option<ByteRange>,
    size: usize,
    /// With a NUL at its end.
    name: SmallVec<[u8; 128]>,
}

impl<'p, T> RequestsInFlight<'p, T> {
    /// No requests, for objects in a storage in which names begin with this.
    pub(crate) fn new(flight: &'p dyn Flight, prefix: &'p str) -> Self {
        RequestsInFlight { flight, prefix, slots: Vec::new(), free: Vec::new(), waiter: None }
    }

    /// How many requests are in flight.
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Starts a read of an object into memory of so many bytes. If the object is absent at once, or the read cannot
    /// begin, what it is for comes back.
    ///
    /// # Safety
    /// Nobody else uses the memory until `wait` gives back what it is for, or this is dropped.
    pub(crate) unsafe fn start(
        &mut self,
        purpose: T,
        name: &str,
        begin: ByteRange,
        room: (*mut u8, usize),
    ) -> Result<Option<T>, (T, Error)> {
        // SAFETY: the caller's promise.
        unsafe { self.start_request(purpose, name, Some(begin), room) }
    }

    /// Starts to write a whole object, of these bytes. If the write cannot begin, what it is for comes back.
    ///
    /// # Safety
    /// The bytes stay as they are until `wait` gives back what it is for, or this is dropped.
    pub(crate) unsafe fn start_write(
        &mut self,
        purpose: T,
        name: &str,
        (bytes, len): (*const u8, usize),
    ) -> Result<(), (T, Error)> {
        // SAFETY: the caller's promise; the storage only reads the bytes.
        match unsafe { self.start_request(purpose, name, None, (bytes.cast_mut(), len)) } {
            Ok(None) => Ok(()),
            Ok(Some(purpose)) => Err((purpose, ErrorKind::Internal.into())),
            Err(error) => Err(error),
        }
    }

    /// Starts a read, or a write if it begins nowhere.
    ///
    /// # Safety
    /// That of `start` or `start_write`.
    unsafe fn start_request(
        &mut self,
        purpose: T,
        name: &str,
        begin: Option<ByteRange>,
        (buffer, size): (*mut u8, usize),
    ) -> Result<Option<T>, (T, Error)> {
        let number = match self.prepare(name) {
            Ok(number) => number,
            Err(error) => return Err((purpose, error)),
        };
        let slot = &mut self.slots[number];
        let (offset, from_end) = match begin {
            Some(ByteRange::At(offset)) => (offset, 0),
            Some(ByteRange::BeforeEnd(offset)) => (offset, 1),
            None => (0, 0),
        };
        let told = slot.told.as_ptr();
        // SAFETY: what the storage received lives as long as the slot, and the request is not in flight. From now on
        // it stays as it is, and so does the memory by the caller's promise, until the request is given back.
        let started = unsafe {
            ((*told).begin, (*told).size) = (begin, size);
            (*told).request = ObjectRequest {
                name: (*told).name.as_ptr().cast(),
                offset,
                from_end,
                buffer: buffer.cast(),
                size,
                ..ObjectRequest::NONE
            };
            match begin {
                Some(_) => self.flight.start(&raw mut (*told).request),
                None => self.flight.start_write(&raw mut (*told).request).map(|()| true),
            }
        };
        match started {
            Ok(true) => {
                (slot.purpose, slot.is_cancelled) = (Some(purpose), false);
                self.waiter.iter().for_each(Waiter::started);
                Ok(None)
            }
            Ok(false) => {
                self.free.push(number);
                Ok(Some(purpose))
            }
            Err(error) => {
                self.free.push(number);
                Err((purpose, error.in_object(name)))
            }
        }
    }

    /// Takes a free slot, and writes down the name there.
    fn prepare(&mut self, name: &str) -> Result<usize> {
        match &self.waiter {
            Some(waiter) => waiter.check()?,
            None => self.waiter.insert(Waiter::new(self.flight)?).check()?,
        }
        if self.free.is_empty() {
            self.free.try_reserve(self.slots.len() + 1).map_err(|_| ErrorKind::OutOfMemory)?;
            self.slots.try_reserve(1).map_err(|_| ErrorKind::OutOfMemory)?;
            let told = NonNull::from(Box::leak(try_box(Told::new())?));
            self.slots.push(Slot { told, purpose: None, is_cancelled: false });
            self.free.push(self.slots.len() - 1);
        }
        let number = *self.free.last().ok_or(ErrorKind::Internal)?;
        // SAFETY: it is there as long as the slot, and no read is in flight that uses it.
        let told = unsafe { self.slots[number].told.as_mut() };
        told.name.clear();
        let prefix = self.prefix;
        told.name.try_reserve(prefix.len() + name.len() + 1).map_err(|_| ErrorKind::OutOfMemory)?;
        told.name.extend_from_slice(prefix.as_bytes());
        told.name.extend_from_slice(name.as_bytes());
        told.name.push(0);
        check_name(told.name()).map_err(|error| error.in_object(name))?;
        self.free.pop();
        Ok(number)
    }

    /// Waits until a request has ended: what it was for, and its answer, or `None` if the object is absent.
    ///
    /// # Errors
    /// Those of waiting itself; then none is in flight any more.
    pub(crate) fn wait(&mut self) -> Result<(T, Result<Option<Answer>>)> {
        if self.len() == 0 {
            return Err(ErrorKind::Internal.into());
        }
        // SAFETY: there are requests in flight, and none of another transfer: `start` has made sure of that.
        let ended = unsafe { self.flight.wait() }.and_then(|request| {
            let is_it = |slot: &Slot<T>| slot.purpose.is_some() && ptr::eq(slot.request(), request);
            Ok(self.slots.iter().position(is_it).ok_or(NOT_IN_FLIGHT)?)
        });
        let number = match ended {
            Ok(number) => number,
            Err(error) => {
                self.abandon();
                return Err(error);
            }
        };
        let slot = &mut self.slots[number];
        let purpose = slot.purpose.take().ok_or(ErrorKind::Internal)?;
        // SAFETY: the request has been given back, so that nobody else uses what the storage was told.
        let told = unsafe { slot.told.as_mut() };
        let answer = told.answer().map_err(|error| {
            // SAFETY: the request has just been given back, and if this is its status it has failed.
            let known = matches!(error.kind(), ErrorKind::Callback(_))
                .then(|| unsafe { self.flight.take_error(&raw mut told.request) });
            known.flatten().unwrap_or(error).in_object(told.name())
        });
        self.free.push(number);
        self.waiter.iter().for_each(Waiter::ended);
        Ok((purpose, answer))
    }

    /// Cancels those reads for which `is_over` says so. They still come back.
    pub(crate) fn cancel_if(&mut self, mut is_over: impl FnMut(&mut T) -> bool) {
        for slot in &mut self.slots {
            let Some(purpose) = &mut slot.purpose else { continue };
            // SAFETY: it is there as long as the slot, and the storage does not know of this field.
            let is_read = unsafe { (*slot.told.as_ptr()).begin.is_some() };
            if is_read && is_over(purpose) && !slot.is_cancelled {
                slot.is_cancelled = true;
                // SAFETY: the read is in flight.
                unsafe { self.flight.cancel(slot.request()) };
            }
        }
    }

    /// Notes that nothing is in flight any more.
    fn abandon(&mut self) {
        self.free.clear();
        self.free.extend(0..self.slots.len());
        self.slots.iter_mut().for_each(|slot| slot.purpose = None);
        self.waiter.iter().for_each(Waiter::all_ended);
    }
}

impl<T> Drop for RequestsInFlight<'_, T> {
    fn drop(&mut self) {
        self.cancel_if(|_| true);
        while self.len() > 0 {
            // If that fails there is none any more.
            let _ = self.wait();
        }
        for slot in &self.slots {
            // SAFETY: it came from a box, and no read uses it any more.
            drop(unsafe { Box::from_raw(slot.told.as_ptr()) });
        }
    }
}

impl<T> Slot<T> {
    /// Where the request is.
    fn request(&self) -> *mut ObjectRequest {
        // SAFETY: it is there as long as the slot.
        unsafe { &raw mut (*self.told.as_ptr()).request }
    }
}

impl Told {
    fn new() -> Self {
        Told { request: ObjectRequest::NONE, begin: None, size: 0, name: SmallVec::new() }
    }

    fn name(&self) -> &str {
        std::str::from_utf8(self.name.split_last().map_or(&[], |(_, name)| name)).unwrap_or_default()
    }

    /// What the storage answered.
    fn answer(&self) -> Result<Option<Answer>> {
        let status = self.request.status as c_int;
        match self.begin {
            Some(begin) => self.request.answer(status, begin, self.size),
            None if status == NOERR => Ok(Some(Answer::new(0, (self.size as u64, None)))),
            None => Err(ErrorKind::Callback(status).into()),
        }
    }
}

/// [`ObjectStore::read_version`](super::ObjectStore::read_version), by a read that is started and waited for.
///
/// # Errors
/// Those of the storage.
pub fn read(
    (flight, prefix): (&dyn Flight, &str),
    name: &str,
    begin: ByteRange,
    buffer: &mut Buffer<'_>,
) -> Result<Option<ObjectState>> {
    let mut requests_in_flight = RequestsInFlight::new(flight, prefix);
    let room = (buffer.as_mut_ptr(), buffer.capacity());
    // SAFETY: the buffer is not used before the read has been given back.
    match unsafe { requests_in_flight.start((), name, begin, room) } {
        Ok(None) => {}
        Ok(Some(())) => return Ok(None),
        Err(((), error)) => return Err(error),
    }
    let ((), answer) = requests_in_flight.wait()?;
    let Some(answer) = answer? else { return Ok(None) };
    // SAFETY: the storage has written so many bytes, and there was room for them.
    unsafe { buffer.set_filled(answer.nbytes) };
    Ok(Some(answer.state()))
}

/// [`ObjectStore::write`](super::ObjectStore::write), by a write that is started and waited for.
///
/// # Errors
/// Those of the storage.
pub fn write((flight, prefix): (&dyn Flight, &str), name: &str, bytes: &[u8]) -> Result<()> {
    let mut requests_in_flight = RequestsInFlight::new(flight, prefix);
    // SAFETY: the bytes are borrowed until the write has been given back.
    unsafe { requests_in_flight.start_write((), name, (bytes.as_ptr(), bytes.len())) }.map_err(|((), error)| error)?;
    requests_in_flight.wait()?.1.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alloc::Scratch;
    use crate::object::ObjectStore;
    use crate::object::testing::DelayedStorage;

    const NAMES: [&str; 4] = ["a/0", "a/1", "no", "a/2"];

    fn later() -> DelayedStorage {
        let later = DelayedStorage::new();
        (0..3).for_each(|i| later.put(&format!("a/{i}"), &[i; 10]));
        later
    }

    fn flight(later: &DelayedStorage) -> &dyn Flight {
        later.flight().unwrap()
    }

    #[test]
    fn reads_come_back_with_what_they_are_for() {
        let (later, mut memory) = (later(), [0u8; 40]);
        let mut requests_in_flight = RequestsInFlight::new(flight(&later), "");
        let begin = memory.as_mut_ptr();
        for round in 0..3 {
            for (i, name) in NAMES.iter().enumerate() {
                // SAFETY: each has a part of the memory of its own.
                let room = (unsafe { begin.add(10 * i) }, 8);
                // SAFETY: as above.
                assert_eq!(unsafe { requests_in_flight.start(i, name, ByteRange::At(4), room) }, Ok(None));
            }
            let mut found = [None; 4];
            while requests_in_flight.len() > 0 {
                let (i, answer) = requests_in_flight.wait().unwrap();
                found[i] = answer.unwrap();
            }
            let answer =
                |version| Some(Answer { nbytes: 6, object_size: 10, version: Some(version), is_lasting: true });
            assert_eq!((found, round < 3), ([answer(1), answer(2), None, answer(3)], true));
        }
        drop(requests_in_flight);
        assert_eq!((memory[29], memory[30], memory[35], memory[36]), (0, 2, 2, 0));
    }

    #[test]
    fn no_read_outlives_the_transfer() {
        let (later, mut memory) = (later(), Scratch::EMPTY);
        let mut requests_in_flight = RequestsInFlight::new(flight(&later), "");
        let room = (memory.room(8).unwrap().as_mut_ptr().cast(), 4);
        // SAFETY: the memory lives longer, and what is written to it twice is not looked at.
        unsafe {
            requests_in_flight.start(7, NAMES[0], ByteRange::At(0), room).unwrap();
            requests_in_flight.start(8, NAMES[1], ByteRange::At(0), room).unwrap();
        }
        requests_in_flight.cancel_if(|purpose| *purpose == 8);
        drop(requests_in_flight);
        assert_eq!((later.requests_in_flight(), later.cancelled()), (0, 2));
    }

    #[test]
    fn errors_name_the_object() {
        let later = later();
        let mut buffer = Buffer::new(&mut []);
        assert_eq!(read((flight(&later), ""), "a/0", ByteRange::At(0), &mut buffer), Ok(Some((10, Some(1)))));
        assert_eq!(read((flight(&later), ""), "no", ByteRange::At(0), &mut buffer), Ok(None));
        assert_eq!(read((flight(&later), ""), "../a", ByteRange::At(0), &mut buffer).unwrap_err().about(), "../a");
        later.fail("a/0", 5);
        let error = read((flight(&later), ""), "a/0", ByteRange::At(0), &mut buffer).unwrap_err();
        assert_eq!((error.about(), error.status()), ("a/0", 5));
        later.shorten("a/1");
        let mut room = [std::mem::MaybeUninit::uninit(); 4];
        let error = read((flight(&later), ""), "a/1", ByteRange::At(0), &mut Buffer::new(&mut room)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StoredLength { found: 3, expected: 4 });
    }

    #[test]
    fn what_does_not_begin_is_absent_or_an_error() {
        let later = later();
        let mut buffer = Buffer::new(&mut []);
        later.begin_not("a/0", 0);
        later.begin_not("a/1", 5);
        assert_eq!(read((flight(&later), ""), "a/0", ByteRange::At(0), &mut buffer), Ok(None));
        let error = read((flight(&later), ""), "a/1", ByteRange::At(0), &mut buffer).unwrap_err();
        assert_eq!((error.about(), error.status(), later.log().len()), ("a/1", 5, 0));
        later.heal();
        assert_eq!(read((flight(&later), ""), "a/0", ByteRange::At(0), &mut buffer), Ok(Some((10, Some(1)))));
    }

    /// The request is the storage's while the read is in flight, and so are its fields.
    #[test]
    fn there_is_no_more_room_than_there_was() {
        struct Liar(std::cell::Cell<*mut ObjectRequest>);
        // SAFETY: for the test.
        unsafe impl Flight for Liar {
            fn limits(&self) -> crate::object::Limits {
                crate::object::Limits::default()
            }
            unsafe fn start(&self, request: *mut ObjectRequest) -> Result<bool> {
                self.0.set(request);
                Ok(true)
            }
            unsafe fn wait(&self) -> Result<*mut ObjectRequest> {
                // SAFETY: the read has been started, and is given back by this call only.
                let request = unsafe { &mut *self.0.get() };
                (request.size, request.offset, request.nbytes, request.object_size) = (1000, 0, 1000, 1000);
                Ok(request)
            }
        }
        let mut room = [std::mem::MaybeUninit::uninit(); 10];
        let mut buffer = Buffer::new(&mut room);
        let error =
            read((&Liar(ptr::null_mut::<ObjectRequest>().into()), ""), "a", ByteRange::At(4), &mut buffer).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StoredLength { found: 1000, expected: 10 });
        assert_eq!(buffer.filled(), [0; 0]);
    }

    /// What is cancelled below a prefix is cancelled in the storage itself; a storage that cannot cancel reads it all.
    #[test]
    fn reads_are_cancelled_in_the_storage_where_they_are_under_way() {
        use crate::object::{Limits, PrefixedStorage};

        struct Uncancelled(DelayedStorage);
        // SAFETY: as the storage that it has.
        unsafe impl Flight for Uncancelled {
            fn limits(&self) -> Limits {
                flight(&self.0).limits()
            }
            unsafe fn start(&self, request: *mut ObjectRequest) -> Result<bool> {
                // SAFETY: the caller's promise is the same.
                unsafe { flight(&self.0).start(request) }
            }
            unsafe fn wait(&self) -> Result<*mut ObjectRequest> {
                // SAFETY: the caller's promise is the same.
                unsafe { flight(&self.0).wait() }
            }
        }
        impl ObjectStore for Uncancelled {
            crate::pass_on! { self => self.0; read list }
            fn flight(&self) -> Option<&dyn Flight> {
                Some(self)
            }
        }
        fn cancelled(objects: &impl ObjectStore, later: &DelayedStorage) -> (usize, [u8; 2]) {
            let below = PrefixedStorage::new(objects, "a").unwrap();
            let mut memory = [9; 2];
            let mut requests_in_flight = RequestsInFlight::new(below.flight().unwrap(), below.flight_prefix());
            let begin = memory.as_mut_ptr();
            for i in 0..2 {
                // SAFETY: each has a byte of the memory of its own, which lives longer.
                let started =
                    unsafe { requests_in_flight.start(i, ["1", "2"][i], ByteRange::At(0), (begin.add(i), 1)) };
                assert_eq!(started, Ok(None));
            }
            requests_in_flight.cancel_if(|purpose| *purpose == 1);
            let cancelled = later.cancelled();
            while requests_in_flight.len() > 0 {
                requests_in_flight.wait().unwrap().1.unwrap();
            }
            drop(requests_in_flight);
            (cancelled, memory)
        }
        let plain = later();
        assert_eq!(cancelled(&plain, &plain), (1, [1, 2]));
        let uncancelled = Uncancelled(later());
        assert_eq!(cancelled(&uncancelled, &uncancelled.0), (0, [1, 2]));
    }
}
