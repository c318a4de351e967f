//! Chunks that are objects: each has a name, which follows from its indices.
#![allow(unsafe_code)]

use std::ffi::c_int;

use crate::alloc::{self, try_box};
use crate::buffer::Buffer;
use crate::error::{Error, ErrorKind, Result};
use crate::key::KeyStyle;
use crate::object::{self, Answer, Begin, Limits, Name, Place, UnderWay};
use crate::open_object::{Opening, Versions};
use crate::store::{Fill, Filled, Flight, RawRequest, Request};

/// How the objects of an array are named.
pub(crate) struct Names {
    /// What all names begin with: nothing, or the array's own name and a slash.
    prefix: String,
    style: KeyStyle<'static>,
}

impl Names {
    pub(crate) fn new(prefix: &str, style: KeyStyle<'static>) -> Result<Self> {
        Ok(Names { prefix: alloc::text(prefix)?, style })
    }

    /// The name of the object with these indices.
    pub(crate) fn name(&self, indices: &[isize]) -> Result<Name> {
        Name::of(format_args!("{}{}", self.prefix, self.style.key(indices)?))
    }
}

/// The chunks of an array, each of which is an object.
pub(crate) struct Chunks {
    pub place: Place,
    pub names: Names,
}

impl Chunks {
    /// Reads an object from this byte on.
    pub(super) fn read(&self, indices: &[isize], offset: u64, buffer: &mut Buffer<'_>) -> Result<Filled> {
        let name = self.names.name(indices)?;
        Ok(self.place.read(&name, Begin::At(offset), buffer)?.map_or(Filled::Absent, |len| stored(len, offset)))
    }
}

/// How many bytes an object of so many has from an offset on.
fn stored(len: u64, offset: u64) -> Filled {
    Filled::Stored(usize::try_from(len.saturating_sub(offset)).unwrap_or(usize::MAX))
}

impl Fill for Chunks {
    fn fill(&self, request: &Request<'_>, buffer: &mut Buffer<'_>) -> Result<Filled> {
        self.read(request.chunk(), request.offset() as u64, buffer)
    }

    fn open(&self, request: &Request<'_>) -> Result<Opening<'_>> {
        self.place.open(&self.names.name(request.chunk())?)
    }

    fn range_gap(&self) -> Option<usize> {
        Some(self.place.gap())
    }

    fn versions(&self) -> Versions {
        self.place.versions()
    }

    fn tells_len(&self) -> bool {
        true
    }

    fn verify(&self, request: &Request<'_>) -> Result<()> {
        self.place.verify(&self.names.name(request.chunk())?)
    }

    fn is_concurrent(&self) -> bool {
        self.place.is_concurrent()
    }

    fn is_writable(&self) -> bool {
        self.place.is_writable()
    }

    fn store(&self, request: &Request<'_>, bytes: &[u8]) -> Result<()> {
        let name = self.names.name(request.chunk())?;
        self.place.write(&name, bytes)
    }

    fn has_latency(&self) -> bool {
        self.place.flight().is_some()
    }

    fn flight(&self) -> Result<Box<dyn Flight + '_>> {
        let flight = self.place.flight().ok_or(ErrorKind::Internal)?;
        Ok(try_box(ChunkFlight::new(&self.names, (flight, self.place.flight_prefix())))?)
    }
}

/// The requests of one transfer for chunks that are objects: each is a read of one object.
struct ChunkFlight<'c> {
    names: &'c Names,
    limits: Limits,
    under_way: UnderWay<'c, *mut RawRequest>,
    /// How the last request has ended, and the version of what it was read from.
    outcome: Option<Result<Filled>>,
    version: Option<u128>,
}

impl<'c> ChunkFlight<'c> {
    fn new(names: &'c Names, (flight, prefix): (&'c dyn object::Flight, &'c str)) -> Self {
        let under_way = UnderWay::new(flight, prefix);
        ChunkFlight { names, limits: flight.limits(), under_way, outcome: None, version: None }
    }
}

impl Flight for ChunkFlight<'_> {
    fn limit(&self, size: usize) -> usize {
        let within = self.limits.bytes.map_or(usize::MAX, |bytes| bytes / size.max(1));
        self.limits.requests.min(within).max(1)
    }

    unsafe fn start(&mut self, request: *mut RawRequest) -> Result<bool> {
        // SAFETY: the request is not in flight yet, and does not change.
        let (indices, offset, room) = unsafe { RawRequest::asked_for(request) };
        let name = self.names.name(indices)?;
        // SAFETY: nobody else uses the buffer until the request is given back, or this is dropped.
        match unsafe { self.under_way.start(request, &name, Begin::At(offset as u64), room) } {
            Ok(absent) => Ok(absent.is_none()),
            Err((_, error)) => Err(error),
        }
    }

    fn wait(&mut self) -> Result<*mut RawRequest> {
        let (request, answer) = self.under_way.wait()?;
        // SAFETY: the request has ended.
        let (_, offset, _) = unsafe { RawRequest::asked_for(request) };
        let filled = |Answer { object_size, .. }| stored(object_size, offset as u64);
        self.version = answer.as_ref().ok().and_then(|answer| answer.as_ref()?.version);
        self.outcome = Some(answer.map(|answer| answer.map_or(Filled::Absent, filled)));
        Ok(request)
    }

    fn outcome(&mut self, _status: c_int, _nbytes: usize) -> Result<Filled> {
        self.outcome.take().unwrap_or_else(|| Err(Error::from(ErrorKind::Internal)))
    }

    fn version(&self) -> Option<u128> {
        self.version
    }

    unsafe fn cancel(&mut self, request: *mut RawRequest) {
        self.under_way.cancel_if(|started| std::ptr::eq(*started, request));
    }
}
