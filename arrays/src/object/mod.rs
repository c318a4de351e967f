//! Storages: maps from object names to bytes, such as the files of a directory or the entries of a zip file.
//!
//! ```text
//!   traits.rs              what a storage does
//!   flight.rs              requests that are started first and waited for later
//!   asynchronous.rs        the same in safe Rust, for a storage that answers from any thread
//!   requests_in_flight.rs  the reads and writes that a transfer has in flight there
//!   storage.rs             a storage that several arrays share
//!   name.rs                a name that is put together
//!   directory/             the files below a directory
//!     unix.rs              by system calls relative to a descriptor of the directory
//!     portable.rs          by paths and the standard library, where there are no such calls
//!   file.rs                one file, kept open
//!   locked_file.rs         one file that must not change
//!   reopened_file.rs       one file that is opened anew for each read, and must not change either
//!   memory.rs              objects in memory
//!   url.rs                 URLs of object stores and HTTP servers
//!   network/               the objects below one
//!   zip/                   zip files
//!     mod.rs               reading the entries of one
//!     end.rs               where its directory is
//!     records.rs           what the directory and the local headers say of an entry
//!     index.rs             which entries there are, by name
//!     writer.rs            making a new one
//!   prefixed.rs            the objects whose names begin with a prefix, without it
//!   metadata_kept.rs       objects whose metadata are read once
//!   counted.rs             a storage that counts what is read of another one
//!   references.rs          objects that are parts of others, as a file of references says
//!   whole.rs               whole objects, such as metadata
//!
//!   byte_range.rs          where a read begins
//!   syscalls.rs            system calls that take the names of files
//!   close.rs               closing files that were written
//!   sorted_names.rs        names that are kept in order, however many there are
//!   names.rs               what names have in common: sorted lists of them, and names with a NUL at their end
//!   temp_name.rs           names of files that are being written
//!   paths/                 files and directories by their paths
//!     unix.rs              by those calls
//!     portable.rs          by the standard library, where there are no such calls
//!   positioned.rs          reading and writing a file at a position
//!   retry_eintr.rs         system calls that are made again when a signal interrupts them
//! ```

mod asynchronous;
mod byte_range;
mod close;
mod counted;
mod directory;
mod file;
mod flight;
mod joined;
#[cfg(feature = "cfdb")]
mod locked_file;
mod memory;
mod metadata_kept;
mod name;
mod names;
#[cfg(feature = "network")]
mod network;
pub(crate) mod paths;
mod positioned;
mod prefixed;
mod references;
mod reopened_file;
mod requests_in_flight;
mod retry_eintr;
mod sorted_names;
mod storage;
#[cfg(any(target_os = "linux", target_os = "macos", target_os = "freebsd"))]
mod syscalls;
mod temp_name;
mod traits;
mod url;
mod whole;
#[cfg(feature = "zip")]
mod zip;

pub use asynchronous::{AsyncRequests, AsyncStore, ReadRequest, WriteRequest};
pub use byte_range::ByteRange;
pub use counted::Counted;
pub use directory::Directory;
pub use file::OneFile;
pub(crate) use flight::BYTES_TO_WRITE;
pub use flight::{Flight, Limits, ObjectRequest};
pub(crate) use joined::{Joined, Part};
#[cfg(feature = "cfdb")]
pub(crate) use locked_file::LockedFile;
pub use memory::Memory;
#[cfg(feature = "network")]
pub(crate) use network::Network;
pub(crate) use positioned::read_opened;
pub use prefixed::{PrefixedStorage, only_prefix};
#[cfg(feature = "parquet")]
pub(crate) use references::Records;
pub(crate) use references::{Reference, References, Target, nowhere};
pub(crate) use reopened_file::ReopenedFile;
pub use storage::Storage;
pub use temp_name::Unfinished;
pub(crate) use traits::latency;
pub use traits::{Entry, Found, ObjectStore, Route, check_name};
pub(crate) use url::Url;
#[cfg(feature = "network")]
pub(crate) use url::{Content, Service};
pub use whole::read_whole;
pub(crate) use whole::{filled, read_more, read_text};
#[cfg(feature = "zip")]
pub use zip::{Zip, ZipWriter};

// For the C interface.
#[doc(hidden)]
pub use {
    flight::Answer,
    name::Name,
    requests_in_flight::{RequestsInFlight, read as read_by_flight, write as write_by_flight},
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_lead_anywhere_else() {
        for name in ["a", "a/b", "c/0/1", ".zarray", "a/..b", "\u{e4}/ "] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        for name in ["", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "a/./b", "a\0", "a\\b"] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }

    #[cfg(not(miri))]
    #[test]
    fn a_test_has_a_directory_of_its_own() {
        let [one, other] = [(); 2].map(|()| testing::Temporary::new("own"));
        std::fs::write(one.join("x"), b"").unwrap();
        drop(other);
        assert!(one.join("x").exists());
    }
}

#[cfg(test)]
pub(crate) mod delayed;

/// What the tests of storages have in common.
#[cfg(test)]
#[cfg_attr(miri, allow(dead_code))]
pub(crate) mod testing {
    pub(crate) use super::delayed::DelayedStorage;
    use super::*;
    use crate::alloc::Scratch;
    use crate::buffer::Buffer;
    use crate::error::ErrorKind;

    /// A directory for a test, removed with it.
    pub(crate) struct Temporary(pub(super) std::path::PathBuf);

    impl Temporary {
        pub(crate) fn new(test: &str) -> Self {
            use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
            // Several tests may be called the same, and run at the same time.
            static NUMBER: AtomicUsize = AtomicUsize::new(0);
            let (process, number) = (std::process::id(), NUMBER.fetch_add(1, Relaxed));
            let path = std::env::temp_dir().join(format!("nczchunk-{test}-{process}-{number}"));
            let _ = std::fs::remove_dir_all(&path);
            std::fs::create_dir_all(&path).unwrap();
            Temporary(path)
        }
    }

    impl std::ops::Deref for Temporary {
        type Target = std::path::Path;

        fn deref(&self) -> &std::path::Path {
            &self.0
        }
    }

    impl AsRef<std::path::Path> for Temporary {
        fn as_ref(&self) -> &std::path::Path {
            self
        }
    }

    impl Drop for Temporary {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    /// The bytes that a read with so much room gives, and the length of the object.
    pub(super) fn read(
        objects: &dyn ObjectStore,
        name: &str,
        begin: ByteRange,
        room: usize,
    ) -> crate::Result<Option<(Vec<u8>, u64)>> {
        let mut scratch = Scratch::EMPTY;
        let mut buffer = Buffer::new(scratch.room(room).unwrap());
        Ok(objects.read(name, begin, &mut buffer)?.map(|len| (buffer.filled().to_vec(), len)))
    }

    /// A whole object.
    pub(super) fn whole(objects: &dyn ObjectStore, name: &str) -> Option<Vec<u8>> {
        read(objects, name, ByteRange::At(0), 1 << 20).unwrap().map(|(bytes, _)| bytes)
    }

    /// What is directly below a prefix, sorted, prefixes with a `/` at their end.
    pub(super) fn list(objects: &dyn ObjectStore, prefix: &str) -> Vec<String> {
        let mut found = Vec::new();
        let one = &mut |name: &str, entry| {
            found.push(format!("{name}{}", if entry == Entry::Prefix { "/" } else { "" }));
            Ok(())
        };
        objects.list(prefix, one).unwrap();
        found.sort();
        found
    }

    /// What every storage that can be written to does.
    pub(super) fn keeps_the_contract(objects: &dyn ObjectStore) {
        assert!(objects.is_writable());
        assert_eq!(whole(objects, "a/b"), None);
        assert_eq!(list(objects, "a"), [""; 0]);
        let bytes: Vec<u8> = (0..100).collect();
        objects.write("a/b", &[1; 200]).unwrap();
        objects.write("a/b", &bytes).unwrap();
        objects.write("a/b-c", b"").unwrap();
        objects.write("a/d/0.0", b"x").unwrap();
        objects.write("a/d/0.1", b"y").unwrap();
        objects.write("z", b"z").unwrap();
        let part = |begin, room| read(objects, "a/b", begin, room).unwrap().unwrap();
        assert_eq!(part(ByteRange::At(0), 1000), (bytes.clone(), 100));
        assert_eq!(part(ByteRange::At(10), 5), (bytes[10..15].to_vec(), 100));
        assert_eq!(part(ByteRange::At(98), 5), (bytes[98..].to_vec(), 100));
        assert_eq!(part(ByteRange::At(100), 5), (vec![], 100));
        assert_eq!(part(ByteRange::At(u64::MAX), 5), (vec![], 100));
        assert_eq!(part(ByteRange::BeforeEnd(7), 5), (bytes[93..98].to_vec(), 100));
        assert_eq!(part(ByteRange::BeforeEnd(u64::MAX), 5), (bytes[..5].to_vec(), 100));
        assert_eq!(part(ByteRange::At(3), 0), (vec![], 100));
        assert_eq!(whole(objects, "a/b-c"), Some(vec![]));
        assert_eq!(list(objects, ""), ["a/", "z"]);
        assert_eq!(list(objects, "a"), ["b", "b-c", "d/"]);
        assert_eq!(list(objects, "a/d"), ["0.0", "0.1"]);
        assert_eq!(list(objects, "a/x"), [""; 0]);
        assert_eq!(list(objects, "z"), [""; 0]);
        let stops = objects.list("a", &mut |_, _| Err(ErrorKind::Stopped(7).into()));
        assert_eq!(stops.unwrap_err().kind(), ErrorKind::Stopped(7));
        objects.remove("a/d/0.0").unwrap();
        objects.remove("a/d/0.0").unwrap();
        objects.remove("no/such").unwrap();
        objects.remove_empty("a/d").unwrap();
        assert_eq!(list(objects, "a/d"), ["0.1"]);
        assert_eq!(read(objects, "a/d/0.0", ByteRange::At(0), 0).unwrap(), None);
        // Only where there is nothing.
        objects.write_new("a/new", b"x").unwrap();
        assert_eq!(objects.write_new("a/new", b"y").unwrap_err().kind(), ErrorKind::Conflict);
        assert_eq!(whole(objects, "a/new"), Some(b"x".to_vec()));
        assert!(objects.write_new("../new", b"").is_err());
        objects.remove("a/new").unwrap();
        // What was a prefix may become an object.
        objects.write("a/e/0", b"x").unwrap();
        objects.remove("a/e/0").unwrap();
        objects.remove_empty("a/e").unwrap();
        objects.remove_empty("no/such").unwrap();
        objects.write("a/e", b"x").unwrap();
        objects.remove("a/e").unwrap();
        for name in ["../z", "", "/z", "a/"] {
            assert!(read(objects, name, ByteRange::At(0), 1).is_err() && objects.write(name, b"").is_err());
            assert!(
                objects.remove(name).is_err() && (name.is_empty() || objects.list(name, &mut |_, _| Ok(())).is_err())
            );
        }
        let error = objects.write("../z", b"").unwrap_err();
        assert_eq!((error.about(), error.status()), ("../z", crate::status::EINVAL));
    }
}
