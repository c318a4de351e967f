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
    pub(super) fn new(
        names: (&'c str, &'c str),
        layout: &'c Layout,
        (flight, prefix): (&'c dyn object::Flight, &'c str),
        of: usize,
    ) -> Self {
        let (limits, under_way) = (flight.limits().shared(of), UnderWay::new(flight, prefix));
        PartFlight { names, layout, limits, under_way, outcome: None }
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

#[cfg(all(test, not(miri)))]
mod tests {
    use std::sync::Arc;

    use crate::array::Array;
    use crate::grid::Access;
    use crate::hyperslab::Hyperslab;
    use crate::object::Place;
    use crate::object::later::Later;

    /// The elements of a record of a variable, and its bytes. With another variable they are too many for two records
    /// to be read at once.
    const ELEMENTS: u32 = 1 << 17;
    const CHUNK: usize = 4 * ELEMENTS as usize;

    /// A file with six records of two variables, `a` and `b`, in a place that `change` is made to.
    fn made(change: impl FnOnce(&mut Later)) -> (Arc<Later>, Array) {
        let name = |letter| u32::from_be_bytes([letter, 0, 0, 0]);
        let variable = |letter, begin| [1, name(letter), 2, 0, 1, 0, 0, 4, CHUNK as u32, begin];
        let dimensions = [6, 10, 2, 1, name(b't'), 0, 1, name(b'x'), ELEMENTS, 0, 0, 11, 2];
        let begin = 4 + 4 * (dimensions.len() as u32 + 20);
        let (a, b) = (variable(b'a', begin), variable(b'b', begin + CHUNK as u32));
        let numbers =
            dimensions.into_iter().chain(a).chain(b).chain((0..12).flat_map(|i| i * 1000..i * 1000 + ELEMENTS));
        let bytes: Vec<u8> = b"CDF\x01".iter().copied().chain(numbers.flat_map(u32::to_be_bytes)).collect();
        let mut later = Later::new();
        change(&mut later);
        later.put("f", &bytes);
        let later = Arc::new(later);
        let place = Place::new(later.clone()).unwrap().file("f").unwrap();
        let array = Array::open_in(&place, "b", Access::Read).unwrap();
        later.reset();
        (later, array)
    }

    #[test]
    fn reads_under_way_stay_within_their_limits() {
        for (requests, bytes, most) in
            [(1, None, 1), (4, None, 4), (64, None, 6), (64, Some(3 * CHUNK + 1), 3), (64, Some(1), 1)]
        {
            let (later, array) = made(|later| (later.limits.requests, later.limits.bytes) = (requests, bytes));
            let values = array.read::<i32>(&Hyperslab::all()).unwrap();
            assert!((0..6).all(|record| {
                let first = 1000 * (2 * record + 1);
                values[(record * ELEMENTS) as usize..].iter().zip(first..first + ELEMENTS).all(|(v, i)| *v == i as i32)
            }));
            assert_eq!((later.most(), later.under_way()), ((most, most * CHUNK), 0));
        }
    }

    #[test]
    fn threads_share_a_variable_if_they_may_share_its_place() {
        for is_concurrent in [false, true] {
            let (_, array) = made(|later| later.is_concurrent = is_concurrent);
            assert_eq!(array.store().is_concurrent(), is_concurrent);
        }
    }

    #[test]
    fn a_read_that_fails_ends_the_others() {
        let (later, array) = made(|later| later.limits.requests = 6);
        later.fail("f", 5);
        assert_eq!(array.read::<i32>(&Hyperslab::all()).unwrap_err().status(), 5);
        assert_eq!((later.under_way(), later.most().0), (0, 6));
        assert!(later.cancelled() > 0);
        later.heal();
        let words = || array.read::<i32>(&Hyperslab::all()).unwrap_err().to_string();
        later.begin_not("f", 7);
        assert!(array.read::<i32>(&Hyperslab::all()).is_err_and(|error| error.status() == 7));
        later.begin_not("f", 0);
        assert!(words().ends_with("there is no such file"), "{}", words());
        later.heal();
        later.take("f");
        assert!(words().ends_with("there is no such file"), "{}", words());
        assert_eq!(later.under_way(), 0);
    }
}
