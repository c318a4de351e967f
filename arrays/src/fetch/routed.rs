//! Reads of objects that are in other storages, by whatever way leads there: what references lead to, the entries of
//! zip files, the objects of storages that are joined. They are in flight where these storages answer later.
//!
//! ```text
//!   start -> route, until a storage reads it by itself -> in flight there, or read at once
//!   wait  <- what was read, for the one before: the same bytes, or unpacked; or more is read for it
//! ```
#![allow(unsafe_code)]

use std::collections::VecDeque;

use super::pending::Read;
use super::reads::read_of;
use crate::alloc::{self, Scratch};
use crate::buffer::Buffer;
use crate::error::{Error, ErrorKind, Result};
use crate::object::{self, Answer, ByteRange, Found, ObjectStore, RequestsInFlight, Route, Storage};
use crate::open_object::ObjectState;

/// How a read has ended; `None` if the object is absent.
type Outcome = Result<Option<Answer>>;

/// The reads of one transfer.
pub(super) struct Routed<'f> {
    storage: &'f Storage,
    /// The requests in flight of each storage, by the address of who answers them.
    flights: Vec<(*const (), RequestsInFlight<'f, Passed<'f>>)>,
    /// What nothing else may be in flight beside.
    alone: VecDeque<Passed<'f>>,
    ended: VecDeque<(Read, Outcome)>,
}

/// A read, and who was asked for what because of it: the one who was asked last reads it.
struct Passed<'f> {
    read: Read,
    asked: Vec<Asked<'f>>,
}

struct Asked<'f> {
    store: &'f dyn ObjectStore,
    name: String,
    begin: ByteRange,
    room: (*mut u8, usize),
    /// What the object that is read for it is to it, and the memory for that, if it is another one.
    found: Found,
    memory: Scratch,
}

impl<'f> Routed<'f> {
    pub(super) fn new(storage: &'f Storage) -> Self {
        Routed { storage, flights: Vec::new(), alone: VecDeque::new(), ended: VecDeque::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.ended.len() + self.alone.len() + self.flights.iter().map(|(_, flight)| flight.len()).sum::<usize>()
    }

    /// See [`RequestsInFlight::start`].
    ///
    /// # Safety
    /// Nobody else uses the memory until `wait` gives back what it is for, or this is dropped.
    pub(super) unsafe fn start(
        &mut self,
        read: Read,
        name: &str,
        begin: ByteRange,
        room: (*mut u8, usize),
    ) -> Result<Option<Read>, (Read, Error)> {
        let mut passed = Passed { read, asked: Vec::new() };
        let storage: &'f Storage = self.storage;
        let begun = alloc::text(name).and_then(|name| passed.push(&**storage, name, begin, room));
        if begun.is_err() || self.ended.try_reserve(1).is_err() {
            return Err((passed.read, ErrorKind::OutOfMemory.into()));
        }
        match self.go_on(passed, None) {
            None => Ok(None),
            Some((read, Ok(None))) => Ok(Some(read)),
            Some((read, Err(error))) => Err((read, error)),
            Some(ended) => {
                self.ended.push_back(ended);
                Ok(None)
            }
        }
    }

    /// See [`RequestsInFlight::wait`].
    pub(super) fn wait(&mut self) -> Result<(Read, Outcome)> {
        if let Some(ended) = self.ended.pop_front() {
            return Ok(ended);
        }
        loop {
            let next = self.flights.iter_mut().map(|(_, flight)| flight).find(|flight| flight.len() > 0);
            let (passed, answer) = match next.map(RequestsInFlight::wait) {
                Some(Ok((passed, answer))) => (passed, Some(answer)),
                Some(Err(error)) => {
                    // None of any is in flight any more then.
                    self.flights.clear();
                    self.alone.clear();
                    return Err(error);
                }
                None => (self.alone.pop_front().ok_or(ErrorKind::Internal)?, None),
            };
            if let Some(ended) = self.go_on(passed, answer) {
                return Ok(ended);
            }
        }
    }

    /// See [`RequestsInFlight::cancel_if`].
    pub(super) fn cancel_if(&mut self, mut is_over: impl FnMut(&mut Read) -> bool) {
        self.flights.iter_mut().for_each(|(_, flight)| flight.cancel_if(|passed| is_over(&mut passed.read)));
    }

    /// Goes on with a read that has been answered, or begins it: how it has ended, unless it has to be waited for.
    fn go_on(&mut self, mut passed: Passed<'f>, mut answer: Option<Outcome>) -> Option<(Read, Outcome)> {
        loop {
            if let Some(outcome) = answer.take().and_then(|answer| passed.answered(answer)) {
                return Some((passed.read, outcome));
            }
            let outcome;
            (passed, outcome) = self.ask(passed)?;
            answer = Some(outcome);
        }
    }

    /// Asks for what is to be read next, and passes that on; `None` if it has to be waited for.
    fn ask(&mut self, mut passed: Passed<'f>) -> Option<(Passed<'f>, Outcome)> {
        let routed = passed.route().and_then(|is_alone| {
            let Asked { store, name, begin, room, .. } = passed.asked.last().ok_or(ErrorKind::Internal)?;
            // Several storages may have parts of what answers later, each with a prefix of its own.
            let mut full = alloc::text(store.flight().map_or("", |_| store.flight_prefix()))?;
            alloc::push_text(&mut full, name)?;
            Ok((is_alone, *store, full, *begin, *room))
        });
        let (is_alone, store, name, begin, room) = match routed {
            Ok(routed) => routed,
            Err(error) => return Some((passed, Err(error))),
        };
        if is_alone && self.flights.iter().any(|(_, flight)| flight.len() > 0) {
            if self.alone.try_reserve(1).is_err() {
                return Some((passed, Err(ErrorKind::OutOfMemory.into())));
            }
            self.alone.push_back(passed);
            return None;
        }
        let Some(flight) = store.flight() else {
            // SAFETY: there is room for so many bytes, and nobody else uses it.
            let mut buffer = Buffer::new(unsafe { alloc::room_at(room.0, room.1) });
            let found = store.read_version(&name, begin, &mut buffer);
            let answer = |state: ObjectState| match read_of(state.0, begin, &buffer) {
                Ok(nbytes) => Ok(Answer::new(nbytes, state)),
                Err(error) => Err(error.in_object(&name)),
            };
            return Some((passed, found.and_then(|found| found.map(answer).transpose())));
        };
        let address = std::ptr::from_ref(flight).cast::<()>();
        let number = self.flights.iter().position(|(other, _)| *other == address).unwrap_or(self.flights.len());
        if number == self.flights.len() {
            let requests = RequestsInFlight::new(flight, "");
            if alloc::push(&mut self.flights, (address, requests)).is_err() {
                return Some((passed, Err(ErrorKind::OutOfMemory.into())));
            }
        }
        // SAFETY: the memory is that of the one who started the read or of one who was asked, which is in `passed`.
        match unsafe { self.flights[number].1.start(passed, &name, begin, room) } {
            Ok(None) => None,
            Ok(Some(passed)) => Some((passed, Ok(None))),
            Err((passed, error)) => Some((passed, Err(error))),
        }
    }
}

impl<'f> Passed<'f> {
    fn push(
        &mut self,
        store: &'f dyn ObjectStore,
        name: String,
        begin: ByteRange,
        room: (*mut u8, usize),
    ) -> Result<(), alloc::Failed> {
        let asked = Asked { store, name, begin, room, found: Found::Same, memory: Scratch::EMPTY };
        alloc::push(&mut self.asked, asked)
    }

    /// Looks for who reads by itself what was asked for last; whether nothing else may be in flight meanwhile.
    fn route(&mut self) -> Result<bool> {
        loop {
            let last = self.asked.last_mut().ok_or(ErrorKind::Internal)?;
            let of: &'f dyn ObjectStore = last.store;
            match of.route(&last.name, last.begin, last.room.1)? {
                Route::Own => return Ok(false),
                Route::Alone => return Ok(true),
                Route::To { store, name, begin, size, found } => {
                    let room = match found {
                        Found::Packed => (last.memory.room(size)?.as_mut_ptr().cast(), size),
                        _ => (last.room.0, size.min(last.room.1)),
                    };
                    last.found = found;
                    self.push(store, name, begin, room)?;
                }
            }
        }
    }

    /// What an answer to the one who was asked last is to the first; `None` if more has to be read for one of them, who
    /// is the last then.
    fn answered(&mut self, mut answer: Outcome) -> Option<Outcome> {
        let mut target = self.asked.pop()?;
        while let Some(mut asked) = self.asked.pop() {
            answer = match answer.and_then(|answer| asked.take(&target, answer)) {
                Ok(Some(answer)) => Ok(answer),
                Ok(None) => {
                    // It was there before.
                    self.asked.push(asked);
                    return None;
                }
                Err(error) if matches!(asked.found, Found::Packed) => Err(error.in_object(&asked.name)),
                Err(error) => Err(error),
            };
            target = asked;
        }
        Some(answer)
    }
}

impl Asked<'_> {
    /// What an answer to the one who was asked instead is to this one; `None` if more has to be read.
    fn take(&mut self, target: &Asked<'_>, answer: Option<Answer>) -> Result<Option<Option<Answer>>> {
        let answer = match (answer, self.found) {
            (answer, Found::Same) => return Ok(Some(answer)),
            (None, Found::Packed) => return Err(ErrorKind::NotFound("archive").in_object(&target.name)),
            (None, _) => return Err(object::nowhere(&target.name)),
            (Some(answer), _) => answer,
        };
        Ok(match self.found {
            Found::Same | Found::Due => Some(Some(answer)),
            Found::Part { len } if answer.nbytes == target.room.1 => Some(Some(Answer { object_size: len, ..answer })),
            Found::Part { .. } => return Err(ErrorKind::Truncated.in_object(&target.name)),
            Found::Packed => {
                // SAFETY: so many bytes have been written to this memory, which `target` had.
                let bytes = unsafe { self.memory.filled(answer.nbytes) };
                // SAFETY: there is room for so many bytes, and nobody else uses it.
                let mut buffer = Buffer::new(unsafe { alloc::room_at(self.room.0, self.room.1) });
                let at = target.begin.offset(answer.object_size);
                let found = self.store.unpack(&self.name, self.begin, (at, bytes), &mut buffer)?;
                found.map(|state| Some(Answer::new(buffer.filled().len(), state)))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;
    use crate::object::Entry;

    /// An object of 8 bytes in a storage that fills one byte less than it says, if it fills any.
    struct Short;

    impl ObjectStore for Short {
        fn read(&self, _name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<u64>> {
            let there = 8 - begin.offset(8) as usize;
            buffer.write(&[1; 8][..there.min(buffer.capacity()).saturating_sub(1)]);
            Ok(Some(8))
        }

        fn list(&self, _prefix: &str, _one: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_storage_that_fills_less_than_it_says_is_refused() {
        let storage = Storage::new(Short).unwrap();
        for (begin, size, filled) in [
            (ByteRange::At(0), 8, None),
            (ByteRange::At(0), 3, None),
            (ByteRange::At(6), 8, None),
            (ByteRange::BeforeEnd(4), 4, None),
            (ByteRange::At(8), 8, Some(0)),
            (ByteRange::At(0), 0, Some(0)),
        ] {
            let (mut reads, mut memory) = (Routed::new(&storage), [0; 8]);
            let purpose = Read::Write { request: ptr::null_mut(), len: 0 };
            // SAFETY: nobody else uses the memory.
            let started = unsafe { reads.start(purpose, "x", begin, (memory.as_mut_ptr(), size)) };
            match (started, filled) {
                (Err((_, error)), None) => {
                    assert!(matches!(error.kind(), ErrorKind::StoredLength { .. }), "{error}");
                    assert!(error.to_string().contains('x'), "{error}");
                }
                (Ok(None), Some(filled)) => {
                    let (_, answer) = reads.wait().unwrap();
                    assert_eq!(answer.unwrap().unwrap().nbytes, filled);
                }
                _ => panic!("{size}"),
            }
            assert_eq!(reads.len(), 0);
        }
    }
}
