//! A place that counts what is read of another one.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use nczchunk::object::{Begin, Entry, Objects, Place};
use nczchunk::{Buffer, ObjectState, Result, Versions};

/// A place and what has been read of it.
pub(super) struct Counting {
    place: Place,
    requests: AtomicU64,
    bytes: AtomicU64,
}

impl Counting {
    /// The place, of which nothing has been read yet.
    pub(super) fn new(place: Place) -> Self {
        Counting { place, requests: AtomicU64::new(0), bytes: AtomicU64::new(0) }
    }

    /// The requests and the bytes so far.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.requests.load(Relaxed), self.bytes.load(Relaxed))
    }

    fn add(&self, buffer: &Buffer<'_>) {
        self.requests.fetch_add(1, Relaxed);
        self.bytes.fetch_add(buffer.filled().len() as u64, Relaxed);
    }
}

impl Objects for Counting {
    fn read(&self, name: &str, begin: Begin, buffer: &mut Buffer<'_>) -> Result<Option<u64>> {
        let read = self.place.read(name, begin, buffer);
        self.add(buffer);
        read
    }

    fn read_part(&self, name: &str, offset: u64, buffer: &mut Buffer<'_>) -> Result<bool> {
        let read = self.place.read_part(name, offset, buffer);
        self.add(buffer);
        read
    }

    fn read_version(&self, name: &str, begin: Begin, buffer: &mut Buffer<'_>) -> Result<Option<ObjectState>> {
        let read = self.place.read_version(name, begin, buffer);
        self.add(buffer);
        read
    }

    fn versions(&self) -> Versions {
        self.place.versions()
    }

    fn list(&self, prefix: &str, one: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
        self.place.list(prefix, one)
    }

    fn is_concurrent(&self) -> bool {
        self.place.is_concurrent()
    }

    fn gap(&self) -> usize {
        self.place.gap()
    }
}
