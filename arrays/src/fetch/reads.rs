//! The reads of one transfer: in flight in a storage that answers later, or made at once, one by one, in any other. In
//! the former its writes, too.
#![allow(unsafe_code)]

use std::collections::VecDeque;

use super::pending::Read;
use crate::alloc;
use crate::buffer::Buffer;
use crate::error::{Error, ErrorKind, Result};
use crate::grid::Access;
use crate::object::{self, Answer, BYTES_TO_WRITE, ByteRange, Limits, RequestsInFlight, Route, Storage};
use crate::open_object::{Found, NamedObject, Opening};
use crate::shared::Shared;
use crate::store::Sharing;

/// What reads that are made at once are merged to: more would not stay in the processor's cache until it is decoded.
const LARGEST: usize = 1 << 20;

/// The reads of one transfer.
pub(super) enum Reads<'s, 'f> {
    DelayedStorage(RequestsInFlight<'f, Read>),
    Routed(Routed<'f>),
    AtOnce(AtOnce<'s, 'f>),
}

impl<'s, 'f> Reads<'s, 'f> {
    /// Of a storage, and how much may be in flight.
    pub(super) fn new(storage: &'f Storage, sharing: &'s Sharing<'f>) -> (Self, Limits) {
        match storage.flight() {
            Some(flight) => {
                let mut limits = flight.limits();
                if sharing.access == Access::Write {
                    limits.bytes.get_or_insert(BYTES_TO_WRITE);
                }
                if sharing.bytes < limits.bytes.unwrap_or(usize::MAX) {
                    limits.bytes = Some(sharing.bytes);
                    limits.largest = limits.largest.min(sharing.bytes / sharing.of.max(1));
                }
                let limits = limits.shared(sharing.of);
                (Reads::DelayedStorage(RequestsInFlight::new(flight, storage.flight_prefix())), limits)
            }
            None if storage.routed_flight().is_some() => {
                let limits = storage.routed_flight().map_or(Limits::default(), |flight| flight.limits());
                (
                    Reads::Routed(Routed { storage, flights: Vec::new(), ended: VecDeque::new() }),
                    limits.shared(sharing.of),
                )
            }
            None => {
                let limits = Limits { requests: 1, bytes: None, largest: LARGEST, excess: None };
                (Reads::AtOnce(AtOnce { storage, opened: None, ended: None, sharing }), limits)
            }
        }
    }

    /// Whether each read is made before the next is started.
    pub(super) fn are_at_once(&self) -> bool {
        matches!(self, Reads::AtOnce(_))
    }

    /// How many have been started and not been given back.
    pub(super) fn len(&self) -> usize {
        match self {
            Reads::DelayedStorage(requests_in_flight) => requests_in_flight.len(),
            Reads::Routed(reads) => reads.len(),
            Reads::AtOnce(reads) => usize::from(reads.ended.is_some()),
        }
    }

    /// See [`RequestsInFlight::start`].
    ///
    /// # Safety
    /// Nobody else uses the memory until `wait` gives back what it is for, or this is dropped.
    pub(super) unsafe fn start(
        &mut self,
        purpose: Read,
        name: &str,
        begin: ByteRange,
        room: (*mut u8, usize),
    ) -> Result<Option<Read>, (Read, Error)> {
        match self {
            // SAFETY: the caller's promise is the same.
            Reads::DelayedStorage(requests_in_flight) => unsafe {
                requests_in_flight.start(purpose, name, begin, room)
            },
            // SAFETY: the same.
            Reads::Routed(reads) => unsafe { reads.start(purpose, name, begin, room) },
            Reads::AtOnce(reads) => {
                // SAFETY: there is room for so many bytes, and nobody else uses it.
                let room = unsafe { alloc::room_at(room.0, room.1) };
                match reads.read(name, begin, &mut Buffer::new(room)) {
                    Ok(None) => Ok(Some(purpose)),
                    Ok(answer) => {
                        reads.ended = Some((purpose, answer));
                        Ok(None)
                    }
                    Err(error) => Err((purpose, error)),
                }
            }
        }
    }

    /// See [`RequestsInFlight::start_write`].
    ///
    /// # Safety
    /// The bytes stay as they are until `wait` gives back what it is for, or this is dropped.
    pub(super) unsafe fn start_write(
        &mut self,
        purpose: Read,
        name: &str,
        bytes: (*const u8, usize),
    ) -> Result<(), (Read, Error)> {
        match self {
            // SAFETY: the caller's promise is the same.
            Reads::DelayedStorage(requests_in_flight) => unsafe {
                requests_in_flight.start_write(purpose, name, bytes)
            },
            Reads::AtOnce(_) | Reads::Routed(_) => Err((purpose, ErrorKind::Internal.into())),
        }
    }

    /// See [`RequestsInFlight::wait`].
    pub(super) fn wait(&mut self) -> Result<(Read, Result<Option<Answer>>)> {
        match self {
            Reads::DelayedStorage(requests_in_flight) => requests_in_flight.wait(),
            Reads::Routed(reads) => reads.wait(),
            Reads::AtOnce(reads) => {
                let (purpose, answer) = reads.ended.take().ok_or(ErrorKind::Internal)?;
                Ok((purpose, Ok(answer)))
            }
        }
    }

    /// See [`RequestsInFlight::cancel_if`].
    pub(super) fn cancel_if(&mut self, mut is_over: impl FnMut(&mut Read) -> bool) {
        match self {
            Reads::DelayedStorage(requests_in_flight) => requests_in_flight.cancel_if(is_over),
            Reads::Routed(reads) => {
                reads.flights.iter_mut().for_each(|(_, flight)| flight.cancel_if(|part| is_over(&mut part.read)));
            }
            Reads::AtOnce(_) => {}
        }
    }
}

/// Reads of objects that are parts of others in several storages: in flight in those that answer later.
pub(super) struct Routed<'f> {
    storage: &'f Storage,
    /// The requests in flight of each, by the address of who answers them.
    flights: Vec<(*const (), RequestsInFlight<'f, PartRead>)>,
    /// What was read at once.
    ended: VecDeque<(Read, Result<Option<Answer>>)>,
}

/// What a read of a part of an object is for.
struct PartRead {
    read: Read,
    part: Part,
}

/// A part of an object that is read.
struct Part {
    /// How many bytes the part has, if it is not all of the object, and how many of them are read.
    len: Option<u64>,
    due: usize,
    /// The object's name, if it has to be there.
    name: Option<String>,
}

impl Part {
    /// What an answer of the object says of the part.
    fn answer(self, answer: Option<Answer>) -> Result<Option<Answer>> {
        match (answer, self.len, self.name) {
            (None, _, Some(name)) => Err(object::nowhere(&name)),
            (Some(answer), Some(len), name) => match answer.nbytes == self.due {
                true => Ok(Some(Answer { object_size: len, ..answer })),
                false => Err(Error::from(ErrorKind::Truncated).in_object(name.as_deref().unwrap_or_default())),
            },
            (answer, ..) => Ok(answer),
        }
    }
}

impl<'f> Routed<'f> {
    fn len(&self) -> usize {
        self.ended.len() + self.flights.iter().map(|(_, flight)| flight.len()).sum::<usize>()
    }

    /// See [`RequestsInFlight::start`].
    ///
    /// # Safety
    /// Nobody else uses the memory until `wait` gives back what it is for, or this is dropped.
    unsafe fn start(
        &mut self,
        read: Read,
        name: &str,
        begin: ByteRange,
        room: (*mut u8, usize),
    ) -> Result<Option<Read>, (Read, Error)> {
        let Route { store, name, part, is_due } = match self.route(name) {
            Ok(route) => route,
            Err(error) => return Err((read, error)),
        };
        let (mut begin, (memory, mut size)) = (begin, room);
        if let Some((first, len)) = part {
            let offset = begin.offset(len);
            size = usize::try_from(len - offset).unwrap_or(usize::MAX).min(size);
            match first.checked_add(offset) {
                Some(at) => begin = ByteRange::At(at),
                None => return Err((read, Error::from(ErrorKind::Truncated).in_object(name))),
            }
        }
        let of_name = match is_due.then(|| alloc::text(&name)).transpose() {
            Ok(name) => name,
            Err(failed) => return Err((read, failed.into())),
        };
        let part = Part { len: part.map(|(_, len)| len), due: size, name: of_name };
        if self.ended.try_reserve(1).is_err() {
            return Err((read, ErrorKind::OutOfMemory.into()));
        }
        if let (0, Some(object_size)) = (size, part.len) {
            let answer = Answer { nbytes: 0, object_size, version: None, is_lasting: false };
            self.ended.push_back((read, Ok(Some(answer))));
            return Ok(None);
        }
        let Some(flight) = store.flight() else {
            // SAFETY: there is room for so many bytes, and nobody else uses it.
            let room = unsafe { alloc::room_at(memory, size) };
            let mut buffer = Buffer::new(room);
            let answer = store.read_version(&name, begin, &mut buffer).and_then(|found| {
                let nbytes = buffer.filled().len();
                let answer = |(object_size, version)| Answer { nbytes, object_size, version, is_lasting: false };
                part.answer(found.map(answer))
            });
            return match answer {
                Ok(None) => Ok(Some(read)),
                Err(error) => Err((read, error)),
                answer => {
                    self.ended.push_back((read, answer));
                    Ok(None)
                }
            };
        };
        let address = std::ptr::from_ref(flight).cast::<()>();
        let number = match self.flights.iter().position(|(other, _)| *other == address) {
            Some(number) => number,
            None => {
                let requests = RequestsInFlight::new(flight, store.flight_prefix());
                if self.flights.try_reserve(1).is_err() {
                    return Err((read, ErrorKind::OutOfMemory.into()));
                }
                self.flights.push((address, requests));
                self.flights.len() - 1
            }
        };
        let requests = &mut self.flights[number].1;
        // SAFETY: the caller's promise is the same, and there is room for no fewer bytes.
        match unsafe { requests.start(PartRead { read, part }, &name, begin, (memory, size)) } {
            Ok(None) => Ok(None),
            Ok(Some(PartRead { read, part })) => match part.answer(None) {
                Ok(_) => Ok(Some(read)),
                Err(error) => Err((read, error)),
            },
            Err((PartRead { read, .. }, error)) => Err((read, error)),
        }
    }

    /// Where an object is in the end.
    fn route(&self, name: &str) -> Result<Route<'f>> {
        let storage: &'f Storage = self.storage;
        let mut whole = Route { store: &**storage, name: alloc::text(name)?, part: None, is_due: false };
        while let Some(route) = whole.store.route(&whole.name)? {
            if whole.part.is_some() && route.part.is_some() {
                return Err(ErrorKind::Internal.into());
            }
            whole = Route { part: whole.part.or(route.part), is_due: whole.is_due || route.is_due, ..route };
        }
        Ok(whole)
    }

    fn wait(&mut self) -> Result<(Read, Result<Option<Answer>>)> {
        if let Some(ended) = self.ended.pop_front() {
            return Ok(ended);
        }
        let next = self.flights.iter_mut().map(|(_, flight)| flight).find(|flight| flight.len() > 0);
        match next.ok_or(ErrorKind::Internal)?.wait() {
            Ok((PartRead { read, part }, answer)) => Ok((read, answer.and_then(|answer| part.answer(answer)))),
            Err(error) => {
                // None of any is in flight any more then.
                self.flights.clear();
                Err(error)
            }
        }
    }
}

/// Reads that are made at once. The object that was read last stays open, for what is read next is often of it, too.
pub(super) struct AtOnce<'s, 'f> {
    storage: &'f Storage,
    sharing: &'s Sharing<'f>,
    opened: Option<Shared<NamedObject<'f>>>,
    ended: Option<(Read, Option<Answer>)>,
}

impl AtOnce<'_, '_> {
    fn read(&mut self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<Answer>> {
        if self.opened.as_ref().is_none_or(|opened| opened.name != name) {
            // What stays open anyway, and does not tell its length, is as well read by its name.
            let open = || match self.storage.open(name)? {
                Opening::Object(object) if object.state().is_none() => Ok(Opening::Nothing),
                opening => Ok(opening),
            };
            self.opened = match self.sharing.opened.get(name, open)? {
                Found::Absent => return Ok(None),
                Found::Object(opened) => Some(opened),
                Found::Nothing => {
                    let Some((object_size, version)) = self.storage.read_version(name, begin, buffer)? else {
                        return Ok(None);
                    };
                    let nbytes = read_of(object_size, begin, buffer).map_err(|error| error.in_object(name))?;
                    return Ok(Some(Answer { nbytes, object_size, version, is_lasting: version.is_some() }));
                }
            };
        }
        let NamedObject { object, version, .. } = &**self.opened.as_ref().ok_or(ErrorKind::Internal)?;
        let (object_size, lasting) =
            object::read_opened(object, begin, buffer).map_err(|error| error.in_object(name))?;
        let nbytes = read_of(object_size, begin, buffer).map_err(|error| error.in_object(name))?;
        let version = Some(lasting.unwrap_or(*version));
        Ok(Some(Answer { nbytes, object_size, version, is_lasting: lasting.is_some() }))
    }
}

/// How many bytes have been read of an object of so many: all that there are from there on, or that there is room for.
///
/// # Errors
/// `StoredLength` if they are others.
fn read_of(object_size: u64, begin: ByteRange, buffer: &Buffer<'_>) -> Result<usize> {
    let there = usize::try_from(object_size - begin.offset(object_size)).unwrap_or(usize::MAX);
    let (found, expected) = (buffer.filled().len(), there.min(buffer.capacity()));
    if found == expected { Ok(found) } else { Err(ErrorKind::StoredLength { found, expected }.into()) }
}
