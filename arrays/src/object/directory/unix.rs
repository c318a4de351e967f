//! The system calls that a directory's files take, relative to a descriptor of the directory, so that the system does
//! not look for the directory again each time.
//!
//! Functions take names that [`check_name`](crate::object::check_name) allows.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_int};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::ptr::NonNull;
use std::time::{SystemTime, UNIX_EPOCH};

#[cfg(not(target_os = "linux"))]
use libc::readdir;
#[cfg(target_os = "linux")]
use libc::readdir64 as readdir;

use crate::buffer::Buffer;
use crate::object::byte_range::ByteRange;
use crate::object::retry_eintr::retry_eintr;
use crate::object::syscalls::{self, Terminated, is_a, stat, status_of};
use crate::object::traits::Entry;
use crate::object::{paths, positioned};
use crate::open_object::ObjectState;

/// A directory that is kept open.
pub(in crate::object) struct Root(File);

/// A name as the system takes it: what is done with it takes no memory any more.
pub(in crate::object) type Named = Terminated;

/// The empty name stands for the directory itself.
pub(in crate::object) fn named(name: &str) -> io::Result<Named> {
    Terminated::new(if name.is_empty() { b"." } else { name.as_bytes() })
}

impl Root {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        paths::open_directory(path).map(Root)
    }

    /// Opens a directory that need not be one that may be read.
    #[cfg_attr(not(feature = "zip"), allow(dead_code, reason = "for new zip files"))]
    pub(in crate::object) fn open_unread(path: &Path) -> io::Result<Self> {
        paths::open_directory_unread(path).map(Root)
    }

    fn descriptor(&self) -> c_int {
        self.0.as_raw_fd()
    }

    fn open_at(&self, name: &str, flags: c_int) -> io::Result<File> {
        syscalls::open(self.descriptor(), &named(name)?, flags)
    }

    /// What a name leads to.
    fn status(&self, name: &str) -> io::Result<stat> {
        syscalls::status(self.descriptor(), &named(name)?, 0)
    }

    /// Reads from a file, and tells its length and [version].
    pub(super) fn read(&self, name: &str, at: ByteRange, buffer: &mut Buffer<'_>) -> io::Result<Option<ObjectState>> {
        if buffer.capacity() == 0 {
            let status = self.status(name);
            return self.unless_absent(status.and_then(|status| Ok((length(&status)?, version(&status)))));
        }
        let Some((file, state)) = self.open_file(name)? else { return Ok(None) };
        positioned::read(&file, state.0, at, buffer)?;
        Ok(Some(state))
    }

    /// Opens a file to read it, and tells of it what [`read`](Self::read) does.
    pub(super) fn open_file(&self, name: &str) -> io::Result<Option<(File, ObjectState)>> {
        let opened = self.open_to_read(name);
        self.unless_absent(opened.and_then(|(file, status)| Ok((file, (length(&status)?, version(&status))))))
    }

    /// `None` if the result is that there is no such file.
    fn unless_absent<T>(&self, result: io::Result<T>) -> io::Result<Option<T>> {
        match result {
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => self.is_there().map(|()| None),
            result => result.map(Some),
        }
    }

    /// Opens what is a file, and asks for its status.
    fn open_to_read(&self, name: &str) -> io::Result<(File, stat)> {
        let file = syscalls::open_to_read(self.descriptor(), &named(name)?)?;
        let status = status_of(&file)?;
        length(&status)?;
        Ok((file, status))
    }

    /// An error if the directory has been removed: then nothing is there, but not because it never was.
    fn is_there(&self) -> io::Result<()> {
        match retry_eintr(|| self.0.metadata())?.nlink() {
            0 => Err(io::Error::from_raw_os_error(libc::ENOENT)),
            _ => Ok(()),
        }
    }

    /// Makes a file, to read and to write it.
    pub(in crate::object) fn create_new(&self, name: &Named) -> io::Result<File> {
        syscalls::open(self.descriptor(), name, libc::O_RDWR | libc::O_CREAT | libc::O_EXCL)
    }

    pub(in crate::object) fn rename(&self, from: &Named, to: &str) -> io::Result<()> {
        syscalls::rename(self.descriptor(), from, &named(to)?)
    }

    /// Whether anything has a name.
    pub(super) fn is_taken(&self, name: &str) -> bool {
        named(name).and_then(|name| syscalls::status(self.descriptor(), &name, libc::AT_SYMLINK_NOFOLLOW)).is_ok()
    }

    /// Gives a file another name, which nothing has. A client of a file server that has lost the answer asks once more,
    /// and finds the name taken: by this file.
    pub(super) fn link(&self, from: &Named, to: &str) -> io::Result<()> {
        let to = named(to)?;
        let file = |name: &Named| {
            syscalls::status(self.descriptor(), name, libc::AT_SYMLINK_NOFOLLOW).map(|status| location(&status))
        };
        syscalls::link(self.descriptor(), from, &to).or_else(|error| match (file(from), file(&to)) {
            (Ok(one), Ok(other)) if one == other => Ok(()),
            _ => Err(error),
        })
    }

    pub(in crate::object) fn remove(&self, name: &Named) -> io::Result<()> {
        syscalls::remove(self.descriptor(), name, 0)
    }

    /// Removes a directory, which is empty.
    pub(super) fn remove_directory(&self, name: &str) -> io::Result<()> {
        syscalls::remove(self.descriptor(), &named(name)?, libc::AT_REMOVEDIR)
    }

    pub(super) fn make_directory(&self, name: &str) -> io::Result<()> {
        syscalls::make_directory(self.descriptor(), &named(name)?)
    }

    /// Waits until the names in a directory are on the disk.
    pub(in crate::object) fn sync_directory(&self, name: &str) -> io::Result<()> {
        self.open_at(name, libc::O_RDONLY | libc::O_DIRECTORY)?.sync_all()
    }

    /// Waits until the directory's own name is on the disk, and those of the directories that it is in: as far up as
    /// they are on one file system and may be read.
    pub(in crate::object) fn sync_above(&self) -> io::Result<()> {
        let above = named("..")?;
        let mut last = status_of(&self.0)?;
        let mut opened = syscalls::open(self.descriptor(), &above, libc::O_RDONLY | libc::O_DIRECTORY);
        loop {
            let directory = match opened {
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(()),
                opened => opened?,
            };
            let status = status_of(&directory)?;
            // The root of the file system, or that of all.
            if status.st_dev != last.st_dev || status.st_ino == last.st_ino {
                return Ok(());
            }
            directory.sync_all()?;
            opened = syscalls::open(directory.as_raw_fd(), &above, libc::O_RDONLY | libc::O_DIRECTORY);
            last = status;
        }
    }

    /// Whether a name is a symbolic link.
    pub(super) fn is_link(&self, name: &str) -> io::Result<bool> {
        let status = syscalls::status(self.descriptor(), &named(name)?, libc::AT_SYMLINK_NOFOLLOW)?;
        Ok(is_a(libc::S_IFLNK, &status))
    }

    /// A number that the directory which a name leads to has alone.
    pub(super) fn location(&self, name: &str) -> io::Result<u128> {
        self.status(name).map(|status| location(&status))
    }

    /// Whether a directory that this one is in has this location. Those above one that may not be read are not known.
    pub(super) fn is_below(&self, other: u128) -> io::Result<bool> {
        let above = named("..")?;
        let mut last = location(&status_of(&self.0)?);
        let mut directory = syscalls::open(self.descriptor(), &above, libc::O_RDONLY | libc::O_DIRECTORY);
        loop {
            let opened = match directory {
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(false),
                opened => opened?,
            };
            let here = location(&status_of(&opened)?);
            // The root of all is its own parent.
            if here == other || here == last {
                return Ok(here == other && here != last);
            }
            directory = syscalls::open(opened.as_raw_fd(), &above, libc::O_RDONLY | libc::O_DIRECTORY);
            last = here;
        }
    }

    /// Calls `one` for each name below a directory until it returns `false`. A directory that does not exist has none.
    /// There is no entry for what is neither a file nor a directory, nor for a name that is not Unicode, which is then
    /// told as well as a text can.
    pub(super) fn list(&self, name: &str, one: &mut dyn FnMut(&str, Option<Entry>) -> bool) -> io::Result<()> {
        if name.is_empty() {
            // A directory that has been removed can be opened by way of its descriptor.
            self.is_there()?;
        }
        let directory = match self.open_at(name, libc::O_RDONLY | libc::O_DIRECTORY) {
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => return self.is_there(),
            // An object, or below one.
            Err(error) if error.raw_os_error() == Some(libc::ENOTDIR) => return Ok(()),
            directory => Stream::new(directory?.into())?,
        };
        while let Some((last, kind)) = directory.next()? {
            if last == c"." || last == c".." {
                continue;
            }
            let entry = match (last.to_str(), kind) {
                (Ok(_), libc::DT_REG) => Some(Entry::Object),
                (Ok(_), libc::DT_DIR) => Some(Entry::Prefix),
                (Ok(last), libc::DT_LNK | libc::DT_UNKNOWN) => directory.entry(last)?,
                _ => None,
            };
            if !one(&last.to_string_lossy(), entry) {
                break;
            }
        }
        Ok(())
    }
}

/// A number that a directory or file has alone.
#[allow(clippy::unnecessary_cast, reason = "some systems have another type for one of these")]
fn location(status: &stat) -> u128 {
    u128::from(status.st_dev as u64) << 64 | u128::from(status.st_ino as u64)
}

/// The length of a file, if it is one. What is neither that nor a directory is `Unsupported`.
fn length(status: &stat) -> io::Result<u64> {
    match status.st_mode & libc::S_IFMT {
        libc::S_IFREG => u64::try_from(status.st_size).map_err(|_| io::Error::from_raw_os_error(libc::EIO)),
        libc::S_IFDIR => Err(io::Error::from_raw_os_error(libc::EISDIR)),
        _ => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// A file's version is known only once it was last changed, replaced or renamed so many seconds ago. The coarsest times
/// of a file system that there are count in steps of two seconds.
const SETTLED: i64 = 3;

/// A file's inode and the time of its last change, which the system sets and nobody can choose; `None` as long as
/// another file, or other bytes, can still get the same ones. An inode is used again once its file has been replaced,
/// but then the time is a later one: a change that comes after this call has a time that is later than any that lies
/// so far back as [`SETTLED`] says. This assumes that the file system's clock and this machine's do not differ by more
/// than a second, and are not set back.
fn version(status: &stat) -> Option<u128> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs();
    let is_settled = changed_at(status).0.checked_add(SETTLED)? < i64::try_from(now).ok()?;
    is_settled.then_some(changed(status))
}

/// When a file was last changed, in seconds and nanoseconds.
#[allow(clippy::unnecessary_cast, reason = "they are shorter on machines with 32 bits")]
fn changed_at(status: &stat) -> (i64, i64) {
    (status.st_ctime as i64, status.st_ctime_nsec as i64)
}

/// A file's inode and the time of its last change. Where these differ, so does the file.
fn changed(status: &stat) -> u128 {
    let (seconds, nanoseconds) = changed_at(status);
    let time = seconds.wrapping_mul(1_000_000_000).wrapping_add(nanoseconds) as u64;
    u128::from(status.st_ino) << 64 | u128::from(time)
}

/// What differs from file to file, and whenever one is changed; in rare cases within [`SETTLED`] not.
pub(in crate::object) fn version_of(file: &File) -> Option<u128> {
    status_of(file).ok().as_ref().map(changed)
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    /// A time that has not passed yet may be that of another file with the same inode.
    #[test]
    fn a_version_is_known_once_no_other_file_can_get_it() {
        let directory = std::env::temp_dir();
        let mut status = status_of(&File::open(&directory).unwrap()).unwrap();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64;
        let mut at = |seconds: i64, inode: u8| {
            status.st_ctime = (now + seconds) as _;
            status.st_ino = inode.into();
            version(&status)
        };
        for seconds in [0, -1, -2, 1, 1000] {
            assert_eq!(at(seconds, 7), None, "{seconds}");
        }
        let settled = at(-100, 7);
        assert!(settled.is_some() && settled == at(-100, 7));
        assert!(at(-99, 7) != settled && at(-100, 8) != settled);
    }
}

/// A directory that is being listed.
struct Stream {
    pointer: NonNull<libc::DIR>,
    /// The same directory, for what is known by name only.
    root: Root,
}

impl Stream {
    fn new(descriptor: OwnedFd) -> io::Result<Self> {
        let root = Root(File::from(descriptor.try_clone()?));
        // SAFETY: the descriptor is that of a directory.
        let stream = unsafe { libc::fdopendir(descriptor.as_raw_fd()) };
        let pointer = NonNull::new(stream).ok_or_else(io::Error::last_os_error)?;
        // It is the stream's now, which closes it.
        let _ = descriptor.into_raw_fd();
        Ok(Stream { pointer, root })
    }

    /// The next name, and of what kind the directory says that it is.
    fn next(&self) -> io::Result<Option<(&CStr, u8)>> {
        let entry = retry_eintr(|| {
            // Only the error's number tells the end from a failure. SAFETY: the place is this thread's.
            unsafe { *errno() = 0 };
            // SAFETY: the stream is open, and used by one thread.
            let entry = unsafe { readdir(self.pointer.as_ptr()) };
            let error = io::Error::last_os_error();
            if entry.is_null() && error.raw_os_error() != Some(0) { Err(error) } else { Ok(entry) }
        })?;
        if entry.is_null() {
            return Ok(None);
        }
        // SAFETY: the entry's name ends with a NUL. It stays valid until the next call, and the caller is done with it
        // then: this function is private to the loop in `list`.
        let name = unsafe { CStr::from_ptr((&raw const (*entry).d_name).cast()) };
        // SAFETY: the entry is valid as above.
        Ok(Some((name, unsafe { (*entry).d_type })))
    }

    /// What a name below the directory leads to; `None` for what is neither a file nor a directory, or not there.
    fn entry(&self, last: &str) -> io::Result<Option<Entry>> {
        match self.root.status(last) {
            Ok(status) if is_a(libc::S_IFREG, &status) => Ok(Some(Entry::Object)),
            Ok(status) if is_a(libc::S_IFDIR, &status) => Ok(Some(Entry::Prefix)),
            Ok(_) => Ok(None),
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ELOOP)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: the stream is open, and closed once.
        unsafe { libc::closedir(self.pointer.as_ptr()) };
    }
}

/// Where the number of this thread's last error is.
fn errno() -> *mut c_int {
    #[cfg(target_os = "linux")]
    use libc::__errno_location as location;
    #[cfg(not(target_os = "linux"))]
    use libc::__error as location;
    // SAFETY: the function has no requirements.
    unsafe { location() }
}
