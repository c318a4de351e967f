//! A storage that counts what is read of another one.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use nczchunk::object::{ByteRange, Entry, ObjectStore, Storage};
use nczchunk::{Buffer, ObjectState, Result, Versions};

/// A storage and what has been read of it.
pub(super) struct Counting {
    storage: Storage,
    requests: AtomicU64,
    bytes: AtomicU64,
}

impl Counting {
    /// The storage, of which nothing has been read yet.
    pub(super) fn new(storage: Storage) -> Self {
        Counting { storage, requests: AtomicU64::new(0), bytes: AtomicU64::new(0) }
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

impl ObjectStore for Counting {
    fn read(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<u64>> {
        let read = self.storage.read(name, begin, buffer);
        self.add(buffer);
        read
    }

    fn read_part(&self, name: &str, offset: u64, buffer: &mut Buffer<'_>) -> Result<bool> {
        let read = self.storage.read_part(name, offset, buffer);
        self.add(buffer);
        read
    }

    fn read_version(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<ObjectState>> {
        let read = self.storage.read_version(name, begin, buffer);
        self.add(buffer);
        read
    }

    fn versions(&self) -> Versions {
        self.storage.versions()
    }

    fn list(&self, prefix: &str, one: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
        self.storage.list(prefix, one)
    }

    fn is_concurrent(&self) -> bool {
        self.storage.is_concurrent()
    }

    fn gap(&self) -> usize {
        self.storage.gap()
    }
}
