//! One file that is opened anew for each read, as a storage with one object.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::byte_range::ByteRange;
use super::directory::version_of;
use super::file::OneFile;
use super::name::Name;
use super::retry_eintr::retry_eintr;
use super::traits::{Entry, ObjectStore};
use super::{paths, positioned};
use crate::alloc;
use crate::buffer::Buffer;
use crate::error::{Error, ErrorKind, Result};
use crate::open_object::{Opening, Versions};

/// A file that is not kept open: a storage whose only object is called [`OneFile::NAME`]. There may be more of them
/// than a process may have open files.
///
/// Each time it is opened, its inode and the time of its last change are compared with what they were at first, and if
/// they are others that is an error. Without inodes (Windows) these are its length and the time of its modification.
pub(crate) struct ReopenedFile {
    path: PathBuf,
    version: Option<u128>,
}

impl ReopenedFile {
    /// The file at a path from the root on, which is `opened` now.
    pub(crate) fn new(path: &Path, opened: &OneFile) -> Result<Self> {
        Ok(ReopenedFile { path: alloc::path(&[path])?, version: opened.lasting_version(OneFile::NAME) })
    }

    /// The file and its length; `None` if it is not there.
    fn open_again(&self) -> Result<Option<(File, u64)>> {
        let file = match paths::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file.map_err(|error| Error::from(error).in_object(self.path.display()))?,
        };
        if version_of(&file) != self.version {
            return Err(ErrorKind::Changed.in_object(self.path.display()));
        }
        let len = retry_eintr(|| file.metadata())?.len();
        Ok(Some((file, len)))
    }
}

impl ObjectStore for ReopenedFile {
    fn read(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<u64>> {
        if name != OneFile::NAME {
            return Ok(None);
        }
        let Some((file, len)) = self.open_again()? else { return Ok(None) };
        positioned::read(&file, len, begin, buffer)?;
        Ok(Some(len))
    }

    fn open(&self, name: &str) -> Result<Opening<'_>> {
        if name != OneFile::NAME {
            return Ok(Opening::Absent);
        }
        let opened = self.open_again()?;
        Ok(opened.map_or(Opening::Absent, |(file, len)| Opening::owned(file, (len, self.version))))
    }

    fn lasting_version(&self, _: &str) -> Option<u128> {
        self.version
    }

    fn versions(&self) -> Versions {
        Versions::Constant
    }

    fn tell_name(&self, _: &str, one: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
        one(&Name::of(format_args!("{}", self.path.display()))?)
    }

    fn list(&self, prefix: &str, one: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
        if prefix.is_empty() { one(OneFile::NAME, Entry::Object) } else { Ok(()) }
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use crate::object::testing::{Temporary, list, read};

    #[test]
    fn a_file_that_replaces_it_or_a_change_is_an_error() {
        let directory = Temporary::new("reopened-file");
        let (path, other) = (directory.0.join("one"), directory.0.join("other"));
        std::fs::write(&path, b"0123456789").unwrap();
        let open = || ReopenedFile::new(&path, &OneFile::open(&path).unwrap()).unwrap();
        let file = open();
        let last = || read(&file, OneFile::NAME, ByteRange::BeforeEnd(3), 2);
        let is_open = || matches!(file.open(OneFile::NAME).unwrap(), Opening::Object(_));
        assert_eq!((list(&file, ""), list(&file, OneFile::NAME)), (vec![OneFile::NAME.to_owned()], vec![]));
        assert_eq!(read(&file, "one", ByteRange::At(0), 2).unwrap(), None);
        assert!(matches!(file.open("one").unwrap(), Opening::Absent));
        assert_eq!(last().unwrap(), Some((b"78".to_vec(), 10)));
        assert!(is_open());

        std::thread::sleep(std::time::Duration::from_millis(20));
        std::fs::write(&other, b"abcdefghij").unwrap();
        std::fs::rename(&path, directory.0.join("kept")).unwrap();
        assert!(last().unwrap().is_none() && matches!(file.open(OneFile::NAME).unwrap(), Opening::Absent));
        std::fs::rename(&other, &path).unwrap();
        let is_changed = |error: Option<crate::Error>| assert_eq!(error.unwrap().kind(), ErrorKind::Changed);
        is_changed(last().err());
        is_changed(file.open(OneFile::NAME).err());
        // Also if it is the same file with other bytes.
        let file = open();
        std::thread::sleep(std::time::Duration::from_millis(20));
        std::fs::write(&path, b"0123456789").unwrap();
        is_changed(read(&file, OneFile::NAME, ByteRange::At(0), 2).err());
    }
}
