//! One file that must not change, as a storage with one object.
#![allow(unsafe_code)]

use std::fs::{File, Metadata};
use std::path::Path;
use std::time::SystemTime;

use super::byte_range::ByteRange;
use super::directory::version_of;
use super::file::OneFile;
use super::retry_eintr::retry_eintr;
use super::traits::{Entry, ObjectStore};
use super::{paths, positioned};
use crate::buffer::Buffer;
use crate::error::{ErrorKind, Result};

/// A file that others may read meanwhile, and not write: a storage whose only object is called [`OneFile::NAME`].
///
/// It is kept open with a shared advisory lock (`flock`), where the system and the file system have these, and nothing
/// waits for the lock. A program that writes without asking for it is found out: after each read the file's length and
/// time of modification are compared with what they were when it was opened, and if they are others that is an error,
/// then and ever after. A file that is put in its place under the same name is another one, and is not read.
pub(crate) struct LockedFile {
    file: File,
    len: u64,
    modified: Option<SystemTime>,
}

impl LockedFile {
    /// Opens a file.
    ///
    /// # Errors
    /// The system's; `Unsupported` for what is not a file; `Busy` for one that another program has locked to write.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let file = paths::open(path)?;
        if !retry_eintr(|| file.metadata())?.is_file() {
            return Err(ErrorKind::Unsupported("this is not a file").into());
        }
        lock(&file)?;
        let metadata = retry_eintr(|| file.metadata())?;
        Ok(LockedFile { file, len: metadata.len(), modified: modified(&metadata) })
    }
}

impl ObjectStore for LockedFile {
    fn read(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<u64>> {
        if name != OneFile::NAME {
            return Ok(None);
        }
        positioned::read(&self.file, self.len, begin, buffer)?;
        let metadata = retry_eintr(|| self.file.metadata())?;
        if (metadata.len(), modified(&metadata)) != (self.len, self.modified) {
            return Err(ErrorKind::Changed.into());
        }
        Ok(Some(self.len))
    }

    fn lasting_version(&self, _: &str) -> Option<u128> {
        version_of(&self.file)
    }

    fn tell_name(&self, _: &str, one: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
        one("")
    }

    fn list(&self, prefix: &str, one: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
        if prefix.is_empty() { one(OneFile::NAME, Entry::Object) } else { Ok(()) }
    }
}

/// When the file was last modified, where the system tells.
fn modified(metadata: &Metadata) -> Option<SystemTime> {
    metadata.modified().ok()
}

/// Locks a file against those who lock it to write, until it is closed.
#[cfg(unix)]
fn lock(file: &File) -> Result<()> {
    use std::io::{Error as SystemError, ErrorKind as SystemErrorKind};
    use std::os::fd::AsRawFd;

    loop {
        // SAFETY: the descriptor is open; the function touches no memory of ours.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_SH | libc::LOCK_NB) } == 0 {
            return Ok(());
        }
        let error = SystemError::last_os_error();
        match error.kind() {
            SystemErrorKind::Interrupted => {}
            SystemErrorKind::WouldBlock => return Err(ErrorKind::Busy.into()),
            // Some file systems have no locks; then the comparison of each read remains.
            _ => return Ok(()),
        }
    }
}

/// Elsewhere a lock keeps others from reading, too, and the system tells them.
#[cfg(not(unix))]
fn lock(_: &File) -> Result<()> {
    Ok(())
}

#[cfg(all(test, unix, not(miri)))]
mod tests {
    use super::*;
    use crate::object::testing::{Temporary, read};
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::time::Duration;

    #[test]
    fn a_file_that_changes_is_an_error_ever_after() {
        let directory = Temporary::new("locked-file");
        let path = directory.0.join("x");
        std::fs::write(&path, b"0123456789").unwrap();
        let first = |file: &LockedFile| read(file, OneFile::NAME, ByteRange::At(0), 2);
        let changes: [fn(&Path); 3] = [
            |path| File::options().append(true).open(path).unwrap().write_all(b"x").unwrap(),
            |path| File::options().write(true).open(path).unwrap().set_len(5).unwrap(),
            |path| {
                let file = File::options().write(true).open(path).unwrap();
                file.set_modified(SystemTime::now() + Duration::from_secs(2)).unwrap();
            },
        ];
        for change in changes {
            let file = LockedFile::open(&path).unwrap();
            assert_eq!(first(&file).unwrap().unwrap().0, b"01");
            change(&path);
            assert_eq!(first(&file).unwrap_err().kind(), ErrorKind::Changed);
            assert_eq!(first(&file).unwrap_err().kind(), ErrorKind::Changed);
        }
        // Another file of the same name is another one.
        let file = LockedFile::open(&path).unwrap();
        std::fs::write(directory.0.join("y"), b"another").unwrap();
        std::fs::rename(directory.0.join("y"), &path).unwrap();
        assert_eq!(first(&file).unwrap().unwrap().0, b"01");
    }

    #[test]
    fn a_file_that_is_locked_to_write_is_busy() {
        let directory = Temporary::new("busy-file");
        let path = directory.0.join("x");
        std::fs::write(&path, b"0123456789").unwrap();
        let lock = |file: &File, how| {
            // SAFETY: the descriptor is open.
            unsafe { libc::flock(file.as_raw_fd(), how | libc::LOCK_NB) }
        };
        let writer = File::open(&path).unwrap();
        assert_eq!(lock(&writer, libc::LOCK_EX), 0);
        let error = LockedFile::open(&path).err().unwrap();
        assert_eq!((error.kind(), error.status()), (ErrorKind::Busy, libc::EBUSY));
        assert_eq!(lock(&writer, libc::LOCK_UN), 0);
        let files = [LockedFile::open(&path).unwrap(), LockedFile::open(&path).unwrap()];
        assert_ne!(lock(&writer, libc::LOCK_EX), 0);
        drop(files);
        assert_eq!(lock(&writer, libc::LOCK_EX), 0);
        assert!(LockedFile::open(&directory.0).is_err());
    }

    #[test]
    fn a_file_is_one_object() {
        let directory = Temporary::new("one-locked-file");
        let path = directory.0.join("x");
        std::fs::write(&path, b"0123456789").unwrap();
        let file = LockedFile::open(&path).unwrap();
        assert_eq!(crate::object::testing::list(&file, ""), [OneFile::NAME]);
        assert_eq!(crate::object::testing::list(&file, OneFile::NAME), [""; 0]);
        assert_eq!(read(&file, "x", ByteRange::At(0), 2).unwrap(), None);
        assert_eq!(read(&file, OneFile::NAME, ByteRange::BeforeEnd(3), 2).unwrap(), Some((b"78".to_vec(), 10)));
    }
}
