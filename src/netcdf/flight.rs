//! The requests of one transfer for chunks that are parts of a file, in a place that answers later.
#![allow(unsafe_code)]

use std::ffi::c_int;

use super::layout::Layout;
use crate::error::{Error, ErrorKind, Result};
use crate::object::{self, Begin, Limits, UnderWay};
use crate::store::{Filled, Flight, RawRequest};

/// What is said of a file that ends before a chunk of a variable does, or the part of it that is needed.
pub(super) fn truncated(variable: &str) -> Error {
    Error::from(ErrorKind::Truncated).in_object(variable)
}

/// The requests of one transfer: each is a read of a part of the file.
pub(super) struct PartFlight<'c> {
    /// The names of the file in the place, and of the variable in the file.
    names: (&'c str, &'c str),
    layout: &'c Layout,
    limits: Limits,
    under_way: UnderWay<'c, Asked>,
    /// How the last request has ended.
    outcome: Option<Result<Filled>>,
}

/// A request that is under way.
struct Asked {
    request: *mut RawRequest,
    /// How many bytes are read for it. A chunk at the end of a dimension has less than it should have.
    len: usize,
}

impl<'c> PartFlight<'c> {
    pub(super) fn new(names: (&'c str, &'c str), layout: &'c Layout, flight: &'c dyn object::Flight) -> Self {
        PartFlight { names, layout, limits: flight.limits(), under_way: UnderWay::new(flight), outcome: None }
    }
}

impl Flight for PartFlight<'_> {
    fn limit(&self, size: usize) -> usize {
        let within = self.limits.bytes.map_or(usize::MAX, |bytes| bytes / size.max(1));
        self.limits.requests.min(within).max(1)
    }

    unsafe fn start(&mut self, request: *mut RawRequest) -> Result<bool> {
        // SAFETY: the request is not in flight yet, and does not change.
        let (chunk, offset, (buffer, size)) = unsafe { RawRequest::asked_for(request) };
        let begin = self.layout.offset(chunk, offset)?;
        let behind = usize::try_from(self.layout.end.saturating_sub(begin)).unwrap_or(usize::MAX);
        let len = size.min(behind);
        // SAFETY: there is room for `size` bytes, and nobody else uses it.
        unsafe { buffer.add(len).write_bytes(0, size - len) };
        let asked = Asked { request, len };
        // SAFETY: nobody else uses the buffer until the request is given back, or this is dropped.
        match unsafe { self.under_way.start(asked, self.names.0, Begin::At(begin), (buffer, len)) } {
            Ok(None) => Ok(true),
            Ok(Some(_)) => Err(ErrorKind::NotFound("file").into()),
            Err((_, error)) => Err(error),
        }
    }

    fn wait(&mut self) -> Result<*mut RawRequest> {
        let (Asked { request, len }, answer) = self.under_way.wait()?;
        // SAFETY: the request has ended.
        let (_, _, (_, size)) = unsafe { RawRequest::asked_for(request) };
        self.outcome = Some(answer.and_then(|answer| match answer {
            Some(answer) if answer.nbytes == len => Ok(Filled::Stored(size)),
            Some(_) => Err(truncated(self.names.1)),
            None => Err(ErrorKind::NotFound("file").into()),
        }));
        Ok(request)
    }

    fn outcome(&mut self, _status: c_int, _nbytes: usize) -> Result<Filled> {
        self.outcome.take().unwrap_or_else(|| Err(Error::from(ErrorKind::Internal)))
    }

    unsafe fn cancel(&mut self, request: *mut RawRequest) {
        self.under_way.cancel_if(|asked| std::ptr::eq(asked.request, request));
    }
}
