//! The reads of one transfer: in flight in a storage that answers later, or made at once, one by one, in any other. In
//! the former its writes, too.
#![allow(unsafe_code)]

use super::pending::Read;
use super::routed::Routed;
use crate::alloc;
use crate::buffer::Buffer;
use crate::error::{Error, ErrorKind, Result};
use crate::grid::Access;
use crate::object::{self, Answer, BYTES_TO_WRITE, ByteRange, Limits, RequestsInFlight, Storage};
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
        let Some(mut limits) = object::latency(&**storage) else {
            let limits = Limits { requests: 1, bytes: None, largest: LARGEST, excess: None };
            return (Reads::AtOnce(AtOnce { storage, opened: None, ended: None, sharing }), limits);
        };
        if sharing.access == Access::Write {
            limits.bytes.get_or_insert(BYTES_TO_WRITE);
        }
        if sharing.bytes < limits.bytes.unwrap_or(usize::MAX) {
            limits.bytes = Some(sharing.bytes);
            limits.largest = limits.largest.min(sharing.bytes / sharing.of.max(1));
        }
        let reads = match storage.flight() {
            Some(flight) => Reads::DelayedStorage(RequestsInFlight::new(flight, storage.flight_prefix())),
            None => Reads::Routed(Routed::new(storage)),
        };
        (reads, limits.shared(sharing.of))
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
    pub(super) fn cancel_if(&mut self, is_over: impl FnMut(&mut Read) -> bool) {
        match self {
            Reads::DelayedStorage(requests_in_flight) => requests_in_flight.cancel_if(is_over),
            Reads::Routed(reads) => reads.cancel_if(is_over),
            Reads::AtOnce(_) => {}
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
                    return Ok(Some(Answer::new(nbytes, (object_size, version))));
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
pub(super) fn read_of(object_size: u64, begin: ByteRange, buffer: &Buffer<'_>) -> Result<usize> {
    let there = usize::try_from(object_size - begin.offset(object_size)).unwrap_or(usize::MAX);
    let (found, expected) = (buffer.filled().len(), there.min(buffer.capacity()));
    if found == expected { Ok(found) } else { Err(ErrorKind::StoredLength { found, expected }.into()) }
}
