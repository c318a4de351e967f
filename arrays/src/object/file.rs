//! One file, kept open, as a storage with one object.

use std::fs::File;
use std::path::Path;

use super::byte_range::ByteRange;
use super::directory::version_of;
use super::retry_eintr::retry_eintr;
use super::traits::{Entry, ObjectStore};
use super::{paths, positioned};
use crate::buffer::Buffer;
use crate::error::{Error, ErrorKind, Result};
use crate::open_object::{Opening, read_at};

/// What is found where a file has to be.
pub(super) const NO_FILE: ErrorKind =
    ErrorKind::Unsupported("a pipe, socket, device or directory where a file is expected");

/// One file that is kept open: a storage whose only object is called [`NAME`](OneFile::NAME). To read a part of it is
/// one system call. [`read`](ObjectStore::read) has another one that asks for its length, so that a file which grows is
/// read as it is.
pub struct OneFile(File);

impl OneFile {
    /// What the one object is called, whatever the file's name is.
    pub const NAME: &'static str = "file";

    /// Opens a file.
    ///
    /// # Errors
    /// The system's; that it is not a file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let file = paths::open(path).map_err(|error| Error::from(error).in_object(path.display()))?;
        let metadata = retry_eintr(|| file.metadata()).map_err(|error| Error::from(error).in_object(path.display()))?;
        if !metadata.is_file() {
            return Err(Error::from(NO_FILE).in_object(path.display()));
        }
        Ok(OneFile(file))
    }

    /// What tells the file from all others as long as it is open; `None` where the system has no such thing.
    pub(crate) fn identity(&self) -> Option<u128> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let metadata = retry_eintr(|| self.0.metadata()).ok()?;
            Some(u128::from(metadata.dev()) << 64 | u128::from(metadata.ino()))
        }
        #[cfg(not(unix))]
        None
    }
}

impl ObjectStore for OneFile {
    fn read(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<u64>> {
        if name != Self::NAME {
            return Ok(None);
        }
        let len = retry_eintr(|| self.0.metadata())?.len();
        positioned::read(&self.0, len, begin, buffer)?;
        Ok(Some(len))
    }

    fn read_part(&self, name: &str, offset: u64, buffer: &mut Buffer<'_>) -> Result<bool> {
        if name != Self::NAME {
            return Ok(false);
        }
        read_at(&self.0, offset, buffer.capacity(), buffer)?;
        Ok(true)
    }

    fn open(&self, name: &str) -> Result<Opening<'_>> {
        Ok(if name == Self::NAME { Opening::borrowed(&self.0) } else { Opening::Absent })
    }

    fn lasting_version(&self, _: &str) -> Option<u128> {
        version_of(&self.0)
    }

    fn tell_name(&self, _: &str, one: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
        one("")
    }

    fn list(&self, prefix: &str, one: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
        if prefix.is_empty() { one(Self::NAME, Entry::Object) } else { Ok(()) }
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use crate::object::testing::{Temporary, list, read};

    #[test]
    fn a_file_is_one_object() {
        let directory = Temporary::new("one-file");
        let path = directory.0.join("any name");
        std::fs::write(&path, b"0123456789").unwrap();
        let file = OneFile::open(&path).unwrap();
        assert_eq!(list(&file, ""), [OneFile::NAME]);
        let last = read(&file, OneFile::NAME, ByteRange::BeforeEnd(3), 2).unwrap();
        assert_eq!(last, Some((b"78".to_vec(), 10)));
        assert_eq!(read(&file, "any name", ByteRange::At(0), 2).unwrap(), None);
        let mut scratch = crate::alloc::Scratch::EMPTY;
        for (offset, part) in [(3, &b"3456"[..]), (8, b"89"), (10, b""), (u64::MAX - 1, b""), (u64::MAX, b"")] {
            let mut buffer = Buffer::new(scratch.room(4).unwrap());
            assert!(file.read_part(OneFile::NAME, offset, &mut buffer).unwrap());
            assert_eq!(buffer.filled(), part);
        }
        assert!(!file.read_part("any name", 0, &mut Buffer::new(&mut [])).unwrap());
        let Opening::Object(opened) = file.open(OneFile::NAME).unwrap() else { panic!("this is a file") };
        let mut buffer = Buffer::new(scratch.room(4).unwrap());
        assert!(opened.fill(6, &mut buffer).unwrap() && buffer.filled() == b"6789");
        assert!(matches!(file.open("any name").unwrap(), Opening::Absent));
        // It is told from another one, and from what it is after a change.
        let other = directory.0.join("other");
        std::fs::write(&other, b"0123456789").unwrap();
        let version = file.lasting_version(OneFile::NAME);
        assert!(version.is_some() && version == OneFile::open(&path).unwrap().lasting_version(OneFile::NAME));
        assert_ne!(version, OneFile::open(&other).unwrap().lasting_version(OneFile::NAME));
        std::thread::sleep(std::time::Duration::from_millis(20));
        std::fs::write(&path, b"0123456789").unwrap();
        assert_ne!(version, file.lasting_version(OneFile::NAME));
        std::fs::remove_file(&path).unwrap();
        assert!(read(&file, OneFile::NAME, ByteRange::At(0), 2).unwrap().is_some());
        // Windows may keep the name until the file is closed.
        drop(opened);
        drop(file);
        assert_eq!(OneFile::open(&path).err().unwrap().status(), libc::ENOENT);
        assert!(OneFile::open(&directory.0).is_err());
    }
}
