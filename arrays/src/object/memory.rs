//! Objects in memory.
#![allow(unsafe_code)]

use std::mem::ManuallyDrop;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};

use super::byte_range::ByteRange;
use super::names::Listed;
use super::sorted_names::SortedNames;
use super::traits::{Entry, ObjectStore, check_name, check_prefix};
use crate::alloc;
use crate::buffer::Buffer;
use crate::error::{Error, ErrorKind, Result};
use crate::open_object::{ObjectState, Opening, Versions};
use crate::shared::Shared;

/// The objects, and how often one was written.
#[derive(Default)]
struct List {
    objects: SortedNames<Stored>,
    num_writes: u64,
}

/// An object's bytes, and the number of the write that they came with.
struct Stored {
    bytes: Shared<Vec<u8>>,
    write: u64,
}

impl Stored {
    fn state(&self) -> ObjectState {
        (self.bytes.len() as u64, Some(self.write.into()))
    }
}

/// A storage in memory. Any number of threads may read it at the same time; a write waits for the reads in progress. If
/// a process is forked while another thread writes, the child cannot use the storage. It can drop it, which frees
/// nothing.
#[derive(Default)]
pub struct Memory(ManuallyDrop<RwLock<List>>);

impl Memory {
    /// An empty storage.
    pub fn new() -> Self {
        Memory::default()
    }

    // Nothing that is done under the lock leaves the list half changed, so that a panic meanwhile does no harm.
    fn shared(&self) -> RwLockReadGuard<'_, List> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn exclusive(&self) -> RwLockWriteGuard<'_, List> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes an object, in place of another or only where there is none.
    fn put(&self, name: &str, bytes: &[u8], is_new: bool) -> Result<()> {
        check_name(name).map_err(|error| error.in_object(name))?;
        let failed = |failed| Error::from(failed).in_object(name);
        let bytes = alloc::copied(bytes).and_then(Shared::new).map_err(failed)?;
        let name_kept = alloc::text(name).map_err(failed)?;
        let old = {
            let List { objects, num_writes } = &mut *self.exclusive();
            if is_new && objects.get(name).is_some() {
                return Err(Error::from(ErrorKind::Conflict).in_object(name));
            }
            // Not even a failed write has a number that another one has.
            *num_writes += 1;
            objects.insert(name_kept, Stored { bytes, write: *num_writes }).map_err(failed)?
        };
        // What there was is freed after others can go on.
        drop(old);
        Ok(())
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // As with `Lock`: only a thread that the process does not have can hold the lock now.
        let is_held = matches!(self.0.try_write(), Err(TryLockError::WouldBlock));
        if !is_held {
            // SAFETY: the list is dropped once, and not used after this.
            unsafe { ManuallyDrop::drop(&mut self.0) };
        }
    }
}

impl ObjectStore for Memory {
    fn read(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<u64>> {
        Ok(self.read_version(name, begin, buffer)?.map(|(len, _)| len))
    }

    fn read_version(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<ObjectState>> {
        check_name(name).map_err(|error| error.in_object(name))?;
        let list = self.shared();
        let Some(stored) = list.objects.get(name) else { return Ok(None) };
        begin.copy(&stored.bytes, buffer);
        Ok(Some(stored.state()))
    }

    fn versions(&self) -> Versions {
        Versions::Told
    }

    fn open(&self, name: &str) -> Result<Opening<'_>> {
        check_name(name).map_err(|error| error.in_object(name))?;
        let list = self.shared();
        Ok(list
            .objects
            .get(name)
            .map_or(Opening::Absent, |stored| Opening::memory(stored.bytes.clone(), stored.state())))
    }

    fn list(&self, prefix: &str, one: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
        check_prefix(prefix).map_err(|error| error.in_object(prefix))?;
        // `one` may use the storage, so the lock is not held meanwhile.
        let mut listed = Listed::NOTHING;
        self.shared().objects.list(prefix, &mut |name, entry| listed.push(name, entry))?;
        listed.tell(one)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.put(name, bytes, false)
    }

    fn write_new(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.put(name, bytes, true)
    }

    fn remove(&self, name: &str) -> Result<()> {
        check_name(name).map_err(|error| error.in_object(name))?;
        let removed = self.exclusive().objects.remove(name);
        drop(removed);
        Ok(())
    }

    fn is_writable(&self) -> bool {
        true
    }

    /// Another read costs a lookup.
    fn gap(&self) -> usize {
        256
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::testing::{keeps_the_contract, list, whole};

    #[test]
    fn memory_keeps_the_contract() {
        keeps_the_contract(&Memory::new());
        keeps_the_contract(&std::sync::Arc::new(Memory::new()));
    }

    #[test]
    fn a_list_may_use_the_storage() {
        let memory = Memory::new();
        memory.write("a", b"1").unwrap();
        let double = &mut |name: &str, _| memory.write(&format!("{name}{name}"), &whole(&memory, name).unwrap());
        memory.list("", double).unwrap();
        assert_eq!(list(&memory, ""), ["a", "aa"]);
    }

    #[test]
    fn a_reader_finds_the_old_bytes_or_the_new_ones() {
        let memory = Memory::new();
        memory.write("x", &[0; 500]).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| (1..=if cfg!(miri) { 5 } else { 200 }).for_each(|i| memory.write("x", &[i; 500]).unwrap()));
            for _ in 0..if cfg!(miri) { 5 } else { 200 } {
                let bytes = whole(&memory, "x").unwrap();
                assert!(bytes.len() == 500 && bytes.iter().all(|byte| *byte == bytes[0]));
            }
        });
    }
}
