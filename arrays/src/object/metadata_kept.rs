//! A storage whose metadata documents are read once.

use super::byte_range::ByteRange;
use super::storage::Storage;
use super::traits::ObjectStore;
use super::whole::read_whole;
use crate::alloc;
use crate::buffer::Buffer;
use crate::error::{ErrorKind, Result};
use crate::lock::Lock;
use crate::pass_on;

/// The objects of another storage. A document of Zarr's metadata is read there once, and then from memory, and so is
/// that there is none. The storage is read-only, so what is kept is what was stored when it was first asked for. A
/// forked child does not reach what its parent keeps, and keeps nothing.
pub(super) struct MetadataKept {
    objects: Storage,
    /// By name, in ascending order.
    documents: Lock<Documents>,
}

type Documents = Vec<(String, Option<Vec<u8>>)>;

/// Of an absent document is not kept that it is, if this many are known: whoever asks for names without an end would
/// take memory without an end.
const MOST_ABSENT: usize = 1 << 16;

/// Whether an object of this name has metadata: chunks have other names.
fn is_document(name: &str) -> bool {
    let last = name.rsplit('/').next().unwrap_or(name);
    last == "zarr.json" || last.starts_with(".z") || last.starts_with(".ncz")
}

impl MetadataKept {
    pub(super) fn new(objects: Storage) -> Self {
        MetadataKept { objects, documents: Lock::new(Vec::new()) }
    }
}

/// Reads a document that was read before; the inner `None` if there is none.
fn read_kept(all: &Documents, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<u64>, usize> {
    let at = all.binary_search_by(|(kept, _)| kept.as_str().cmp(name))?;
    Ok(all[at].1.as_ref().map(|bytes| begin.copy(bytes, buffer)))
}

impl ObjectStore for MetadataKept {
    fn read(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<u64>> {
        let kept = match self.documents.lock() {
            Some(documents) if is_document(name) => read_kept(&documents, name, begin, buffer),
            _ => return self.objects.read(name, begin, buffer),
        };
        if let Ok(kept) = kept {
            return Ok(kept);
        }
        let document = match read_whole(&*self.objects, name, self.objects.memory_limits().metadata().bytes / 2) {
            // Its reader says what the limit is.
            Err(error) if matches!(error.kind(), ErrorKind::Capacity { .. }) => {
                return self.objects.read(name, begin, buffer);
            }
            document => document?,
        };
        let name_kept = alloc::text(name)?;
        let mut documents = self.documents.lock().ok_or(ErrorKind::Internal)?;
        match read_kept(&documents, name, begin, buffer) {
            Err(_) if document.is_none() && documents.len() >= MOST_ABSENT => Ok(None),
            Err(at) => {
                alloc::insert(&mut documents, at, (name_kept, document))?;
                read_kept(&documents, name, begin, buffer).map_err(|_| ErrorKind::Internal.into())
            }
            // Another thread was faster.
            Ok(kept) => Ok(kept),
        }
    }

    pass_on! { self => self.objects;
        read_part read_version lasting_version versions open verify is_link location is_below tell_name list list_all
        is_archive is_concurrent gap flight flight_prefix routed_limits route unpack
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::object::Memory;
    use crate::object::testing::{list, whole};

    #[test]
    fn documents_are_read_once_and_chunks_each_time() {
        let memory = Arc::new(Memory::new());
        let write = |name: &str, bytes: &[u8]| memory.write(name, bytes).unwrap();
        write("a/zarr.json", b"first");
        write("a/c/0", b"one");
        let mut storage = Storage::new(memory.clone()).unwrap();
        storage.keep_metadata().unwrap();
        assert_eq!((whole(&*storage, "a/zarr.json"), whole(&*storage, ".zgroup")), (Some(b"first".to_vec()), None));
        write("a/zarr.json", b"second");
        write(".zgroup", b"{}");
        write("a/c/0", b"two");
        assert_eq!((whole(&*storage, "a/zarr.json"), whole(&*storage, ".zgroup")), (Some(b"first".to_vec()), None));
        assert_eq!(whole(&*storage, "a/c/0").unwrap(), b"two");
        // Parts are read from memory, too.
        let mut room = [std::mem::MaybeUninit::uninit(); 3];
        for (begin, expected) in [
            (ByteRange::At(0), &b"fir"[..]),
            (ByteRange::At(3), b"st"),
            (ByteRange::At(9), b""),
            (ByteRange::BeforeEnd(1), b"t"),
        ] {
            let mut buffer = Buffer::new(&mut room);
            assert_eq!(storage.read("a/zarr.json", begin, &mut buffer).unwrap(), Some(5));
            assert_eq!(buffer.filled(), expected);
        }
        assert!(!storage.is_writable());
        assert_eq!(storage.write("a/zarr.json", b"").unwrap_err().kind(), ErrorKind::ReadOnly);
        assert_eq!(list(&*storage, "a"), ["c/", "zarr.json"]);
    }

    #[cfg(all(unix, not(miri)))]
    #[test]
    fn what_is_no_object_is_told_of() {
        let directory = crate::object::testing::Temporary::new("metadata-kept");
        std::os::unix::fs::symlink("nowhere", directory.join("link")).unwrap();
        let mut storage = Storage::new(crate::object::Directory::open(&directory).unwrap()).unwrap();
        storage.keep_metadata().unwrap();
        let mut told = Vec::new();
        storage
            .list_all("", &mut |name, entry| {
                told.push((name.to_owned(), entry));
                Ok(())
            })
            .unwrap();
        assert_eq!(told, [("link".to_owned(), None)]);
    }

    /// A document that nobody may keep is still its reader's to refuse.
    #[test]
    fn a_document_beyond_the_limit_is_not_kept() {
        let memory = Memory::new();
        memory.write("zarr.json", &[b' '; 100]).unwrap();
        let mut storage = Storage::new(memory).unwrap();
        let mut limits = crate::MemoryLimits::default();
        limits.metadata_bytes = 100;
        storage.set_memory_limits(limits);
        storage.keep_metadata().unwrap();
        let nodes = crate::list(&storage, "", true).unwrap();
        let error = nodes[0].error().unwrap().to_string();
        assert!(error.contains("metadata_bytes"), "{error}");
    }
}
