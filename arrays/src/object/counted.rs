//! A storage that counts what is read of another one.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::byte_range::ByteRange;
use super::flight::{Flight, Limits, ObjectRequest};
use super::storage::Storage;
use super::traits::ObjectStore;
use crate::buffer::Buffer;
use crate::error::{Error, ErrorKind, Result};
use crate::open_object::ObjectState;
use crate::pass_on;

/// A storage that counts what is read of another one. It is read-only, and reads are in flight where the other's are.
pub struct Counted {
    storage: Storage,
    requests: AtomicU64,
    bytes: AtomicU64,
}

impl Counted {
    /// The storage, of which nothing has been read yet.
    pub fn new(storage: Storage) -> Self {
        Counted { storage, requests: AtomicU64::new(0), bytes: AtomicU64::new(0) }
    }

    /// The requests and the bytes so far.
    pub fn counts(&self) -> (u64, u64) {
        (self.requests.load(Relaxed), self.bytes.load(Relaxed))
    }

    fn add(&self, requests: u64, bytes: usize) {
        self.requests.fetch_add(requests, Relaxed);
        self.bytes.fetch_add(bytes as u64, Relaxed);
    }

    fn inner(&self) -> Result<&dyn Flight> {
        Ok(self.storage.flight().ok_or(ErrorKind::Internal)?)
    }
}

impl ObjectStore for Counted {
    fn read(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<u64>> {
        let read = self.storage.read(name, begin, buffer);
        self.add(1, buffer.filled().len());
        read
    }

    fn read_part(&self, name: &str, offset: u64, buffer: &mut Buffer<'_>) -> Result<bool> {
        let read = self.storage.read_part(name, offset, buffer);
        self.add(1, buffer.filled().len());
        read
    }

    fn read_version(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<ObjectState>> {
        let read = self.storage.read_version(name, begin, buffer);
        self.add(1, buffer.filled().len());
        read
    }

    pass_on! { self => self.storage; lasting_version versions list is_concurrent gap flight_prefix }

    fn flight(&self) -> Option<&dyn Flight> {
        self.storage.flight().map(|_| self as &dyn Flight)
    }
}

// SAFETY: each request is passed on to the other storage as it is, and comes back from it.
unsafe impl Flight for Counted {
    fn limits(&self) -> Limits {
        self.storage.flight().map_or(Limits::default(), |flight| flight.limits())
    }

    unsafe fn start(&self, request: *mut ObjectRequest) -> Result<bool> {
        // SAFETY: the caller's promise is the same.
        let is_there = unsafe { self.inner()?.start(request) }?;
        self.add(u64::from(is_there), 0);
        Ok(is_there)
    }

    unsafe fn wait(&self) -> Result<*mut ObjectRequest> {
        // SAFETY: the caller's promise is the same. A request that was given back is the caller's, and valid.
        unsafe {
            let request = self.inner()?.wait()?;
            self.add(0, (*request).nbytes);
            Ok(request)
        }
    }

    unsafe fn cancel(&self, request: *mut ObjectRequest) {
        if let Some(flight) = self.storage.flight() {
            // SAFETY: the caller's promise is the same.
            unsafe { flight.cancel(request) }
        }
    }

    unsafe fn take_error(&self, request: *mut ObjectRequest) -> Option<Error> {
        // SAFETY: the caller's promise is the same.
        self.storage.flight().and_then(|flight| unsafe { flight.take_error(request) })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::array::Array;
    use crate::grid::Access;
    use crate::hyperslab::Hyperslab;
    use crate::object::delayed::DelayedStorage;

    #[test]
    fn what_is_read_is_counted_and_as_many_reads_are_in_flight() {
        for has_latency in [true, false] {
            let mut later = DelayedStorage::new();
            later.has_latency = has_latency;
            let later = Arc::new(later);
            let storage = Storage::new(later.clone()).unwrap();
            let description = crate::Description::new(&[40], crate::ElementType::UByte).with_chunk_shape(&[10]);
            let array = Array::create_in(&storage, "a", &description.with_codecs(&[])).unwrap();
            array.write(&Hyperslab::all(), &[7u8; 40]).unwrap();
            let counted = Arc::new(Counted::new(storage));
            let array = Array::open_in(&Storage::new(counted.clone()).unwrap(), "a", Access::Read).unwrap();
            later.reset();
            let (requests, bytes) = counted.counts();
            assert_eq!(array.read::<u8>(&Hyperslab::all()).unwrap(), [7; 40]);
            let now = counted.counts();
            assert_eq!((now.0 - requests, now.1 - bytes), (4, 40));
            assert_eq!((later.most().0, later.requests_in_flight()), (if has_latency { 4 } else { 1 }, 0));
        }
    }
}
