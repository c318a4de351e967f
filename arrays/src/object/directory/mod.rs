//! The files below a directory.
//!
//! A read of an object opens its file, gets its length, reads and closes: four system calls, and no allocation for
//! names up to 255 bytes. Nothing is locked, so that any number of threads and forked processes use a directory.

#[cfg(any(test, not(any(target_os = "linux", target_os = "macos", target_os = "freebsd"))))]
mod portable;
#[cfg(any(target_os = "linux", target_os = "macos", target_os = "freebsd"))]
mod unix;

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

#[cfg(not(any(target_os = "linux", target_os = "macos", target_os = "freebsd")))]
pub(super) use portable::{Named, Root, named, version_of};
#[cfg(any(target_os = "linux", target_os = "macos", target_os = "freebsd"))]
pub(super) use unix::{Named, Root, named, version_of};

use super::byte_range::ByteRange;
use super::close::close;
use super::file::NO_FILE;
use super::paths;
use super::temp_name::{self, Unfinished};
use super::traits::{Entry, ObjectStore, check_name, check_prefix};
use crate::alloc;
use crate::buffer::Buffer;
use crate::error::{Error, ErrorKind, Result};
use crate::open_object::{ObjectState, Opening, Versions};

/// The files below a directory, by their paths relative to it.
///
/// - A file that does not exist is a missing object, and so is a symbolic link without a target. Anything else is an
///   error with the system's number: a name that is a directory, is below a file, or may not be read; or a directory
///   that has been removed. A pipe, a socket or a device is not read: it is `Unsupported`.
/// - Symbolic links are followed, also out of the directory.
/// - An object is written to a file `.<name>.<process>.<number>.partial` beside the object's file, and then replaces
///   that file. The new file has the permissions of a new file, and replaces a symbolic link. Missing directories are
///   created. They remain when their last object is removed.
/// - Listings leave out such temporary files and zarr-python's, and names that no object can have; `list_all` tells of
///   these names.
/// - On Windows a name with a `:`, or with a part that ends with a dot or a space, is an error, and names that differ
///   in case alone are one object. A write may fail with `EACCES` while another has the object's file open, where the
///   file system cannot replace such a file.
pub struct Directory {
    root: Root,
    is_synced: bool,
    /// Whether the directory's own name is known to be on the disk.
    is_above_synced: AtomicBool,
}

impl Directory {
    /// Opens a directory.
    ///
    /// # Errors
    /// Those of the system, for example if the directory does not exist.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let root = Root::open(path).map_err(|error| Error::from(error).in_object(path.display()))?;
        Ok(Directory { root, is_synced: false, is_above_synced: AtomicBool::new(false) })
    }

    /// Opens a directory, and creates it and the directories above it if they do not exist.
    ///
    /// # Errors
    /// Those of the system.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        paths::make_directories(path).map_err(|error| Error::from(error).in_object(path.display()))?;
        // If that is no directory, this says so.
        Self::open(path)
    }

    /// Opens a file to read it, and tells of it what [`ObjectStore::read_version`] does; `None` if there is none.
    fn opened(&self, name: &str) -> Result<Option<(File, ObjectState)>> {
        check_name(name).map_err(|error| error.in_object(name))?;
        self.root.open_file(name).map_err(|error| unread(error).in_object(name))
    }

    /// Sets whether a write waits until the object and its name are on the disk (fsync), so that they survive a power
    /// failure. By default it does not. If waiting for the name fails, the write fails, and the object is the new one.
    ///
    /// The name includes every directory that leads to the object, whoever has created it. Directories below this one
    /// are synced with every write. This directory itself and those above it are synced with the first write, as far up
    /// as they are on the same file system and this process may read them.
    pub fn set_sync(&mut self, is_synced: bool) {
        self.is_synced = is_synced;
    }

    /// Calls `one` for each file that is being written below a directory, and for each that a killed writer has left.
    /// `prefix` is empty or the name of the directory. Symbolic links are not followed, and directories without read
    /// permission are skipped.
    ///
    /// A file that a writer on this machine has left is one that [is not written](Unfinished::is_written) any more.
    ///
    /// # Errors
    /// Those of `one`, `OutOfMemory`, and those of the system.
    pub fn each_unfinished(&self, prefix: &str, one: &mut dyn FnMut(Unfinished) -> Result<()>) -> Result<()> {
        check_prefix(prefix).map_err(|error| error.in_object(prefix))?;
        let mut directories = Vec::new();
        alloc::push(&mut directories, alloc::text(prefix)?)?;
        while let Some(directory) = directories.pop() {
            let (mut failed, mut below) = (None, Vec::new());
            let mut found = |last: &str, entry: Option<Entry>| {
                let Some(entry) = entry.filter(|_| check_name(last).is_ok()) else { return Ok(()) };
                let slash = if directory.is_empty() { "" } else { "/" };
                let mut name = alloc::text(&directory)?;
                alloc::push_text(&mut name, slash)?;
                alloc::push_text(&mut name, last)?;
                if temp_name::is_partial(last) {
                    return one(Unfinished { name, process: Unfinished::process(last) });
                }
                // What is gone meanwhile is no directory.
                if entry == Entry::Prefix && !self.root.is_link(&name).unwrap_or(true) {
                    alloc::push(&mut below, name)?;
                }
                Ok(())
            };
            let listed = self.root.list(&directory, &mut |last, entry| {
                failed = found(last, entry).err();
                failed.is_none()
            });
            failed.map_or(Ok(()), Err)?;
            below.into_iter().try_for_each(|name| alloc::push(&mut directories, name))?;
            match listed {
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
                listed => listed.map_err(|error| Error::from(error).in_object(&directory))?,
            }
        }
        Ok(())
    }

    /// Removes a file, a link, or a directory with all that is in it.
    fn remove_all(&self, name: String) -> Result<()> {
        let mut left = Vec::new();
        alloc::push(&mut left, (name, None))?;
        while let Some((name, error)) = left.pop() {
            if let Some(error) = error {
                // What was in the directory is gone, if it is one.
                match self.root.remove_directory(&name) {
                    Err(own) if own.kind() == io::ErrorKind::NotADirectory => return Err(error),
                    removed => removed.map_err(|own| Error::from(own).in_object(&name))?,
                }
                continue;
            }
            let Err(error) = self.remove(&name) else { continue };
            if self.root.is_link(&name).unwrap_or(true) {
                return Err(error);
            }
            let mut below = Vec::new();
            let mut add = |last: &str| {
                let mut name = alloc::text(&name)?;
                alloc::push_text(&mut name, "/")?;
                alloc::push_text(&mut name, last)?;
                Ok::<_, Error>(alloc::push(&mut below, name)?)
            };
            let mut added = Ok(());
            let listed = self.root.list(&name, &mut |last, _| {
                added = if check_name(last).is_ok() { add(last) } else { Ok(()) };
                added.is_ok()
            });
            added?;
            listed.map_err(|error| Error::from(error).in_object(&name))?;
            alloc::push(&mut left, (name, Some(error)))?;
            below.into_iter().try_for_each(|name| alloc::push(&mut left, (name, None)))?;
        }
        Ok(())
    }

    /// Writes a file under a temporary name, and then gives it its own: in place of another file, or where there is
    /// none.
    fn put(&self, name: &str, bytes: &[u8], is_new: bool) -> Result<()> {
        let (mut file, mut temporary) = self.create_temporary(name)?;
        file.write_all(bytes)?;
        if self.is_synced {
            file.sync_all()?;
        }
        close(file)?;
        if !(is_new && self.link(&temporary.name, name)?) {
            self.root.rename(&temporary.name, name)?;
            temporary.is_renamed = true;
        }
        if self.is_synced { Ok(self.sync_name(name)?) } else { Ok(()) }
    }

    /// Gives a file another name, which nothing may have: unlike a renamed file, a link takes nothing's place. Returns
    /// `false` if the file system has no links.
    fn link(&self, from: &Named, to: &str) -> Result<bool> {
        match self.root.link(from, to) {
            Ok(()) => Ok(true),
            // Also if what had the name is gone by now: yet another may have it by then, and would be replaced.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists || self.root.is_taken(to) => {
                Err(ErrorKind::Conflict.into())
            }
            Err(_) => Ok(false),
        }
    }

    /// Waits until a name is on the disk. Directories are names in those above them, and who has made them need not
    /// have waited: another call that failed, another process.
    fn sync_name(&self, name: &str) -> io::Result<()> {
        let mut directory = name;
        while !directory.is_empty() {
            directory = parent(directory);
            self.root.sync_directory(directory)?;
        }
        if !self.is_above_synced.load(Relaxed) {
            self.root.sync_above()?;
            self.is_above_synced.store(true, Relaxed);
        }
        Ok(())
    }

    /// A new file under a temporary name for an object.
    fn create_temporary(&self, name: &str) -> Result<(File, Temporary<'_>)> {
        let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
        for _ in 0..temp_name::ATTEMPTS {
            let temporary = named(&temp_name::name(name)?)?;
            match self.root.create_new(&temporary) {
                Ok(file) => {
                    return Ok((file, Temporary { root: &self.root, name: temporary, is_renamed: false }));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
                // Another may remove an empty directory meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => match self.make_directories(parent(name)) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
                    _ => last = error,
                },
                Err(error) => return Err(error.into()),
            }
        }
        Err(last.into())
    }

    /// Makes a directory and those above it, as far as they are missing.
    fn make_directories(&self, directory: &str) -> io::Result<()> {
        let ends = directory.match_indices('/').map(|(slash, _)| slash).chain([directory.len()]);
        for end in ends.filter(|&end| end > 0) {
            match self.root.make_directory(&directory[..end]) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

/// What a name has before its last part, without the `/` between; empty if it has one part.
fn parent(name: &str) -> &str {
    &name[..name.rfind('/').unwrap_or(0)]
}

/// A file under a temporary name, removed unless it was renamed.
struct Temporary<'r> {
    root: &'r Root,
    name: Named,
    is_renamed: bool,
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.is_renamed {
            // There is an error already that says more.
            let _ = self.root.remove(&self.name);
        }
    }
}

/// Why a file is not read.
fn unread(error: io::Error) -> Error {
    match error.raw_os_error() {
        None if error.kind() == io::ErrorKind::Unsupported => NO_FILE.into(),
        _ => error.into(),
    }
}

impl ObjectStore for Directory {
    fn read(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<u64>> {
        Ok(self.read_version(name, begin, buffer)?.map(|(len, _)| len))
    }

    fn read_version(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<ObjectState>> {
        check_name(name).map_err(|error| error.in_object(name))?;
        self.root.read(name, begin, buffer).map_err(|error| unread(error).in_object(name))
    }

    fn lasting_version(&self, name: &str) -> Option<u128> {
        self.opened(name).ok().flatten().and_then(|(file, _)| version_of(&file))
    }

    fn versions(&self) -> Versions {
        Versions::Told
    }

    fn open(&self, name: &str) -> Result<Opening<'_>> {
        Ok(self.opened(name)?.map_or(Opening::Absent, |(file, state)| Opening::owned(file, state)))
    }

    fn is_link(&self, prefix: &str) -> Result<bool> {
        check_name(prefix).map_err(|error| error.in_object(prefix))?;
        self.root.is_link(prefix).map_err(|error| Error::from(error).in_object(prefix))
    }

    fn location(&self, prefix: &str) -> Result<Option<u128>> {
        check_prefix(prefix).map_err(|error| error.in_object(prefix))?;
        self.root.location(prefix).map(Some).map_err(|error| Error::from(error).in_object(prefix))
    }

    fn is_below(&self, location: u128) -> Result<bool> {
        Ok(self.root.is_below(location)?)
    }

    fn list(&self, prefix: &str, one: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
        self.list_all(prefix, &mut |name, entry| entry.map_or(Ok(()), |entry| one(name, entry)))
    }

    fn list_all(&self, prefix: &str, one: &mut dyn FnMut(&str, Option<Entry>) -> Result<()>) -> Result<()> {
        check_prefix(prefix).map_err(|error| error.in_object(prefix))?;
        let mut of_one = None;
        let listed = self.root.list(prefix, &mut |name, entry| {
            if temp_name::is_partial(name) {
                return true;
            }
            let is_name = check_name(name).is_ok() && !name.contains('/');
            of_one = one(name, entry.filter(|_| is_name)).err();
            of_one.is_none()
        });
        of_one.map_or(Ok(()), Err)?;
        listed.map_err(|error| Error::from(error).in_object(prefix))
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        check_name(name).and_then(|()| self.put(name, bytes, false)).map_err(|error| error.in_object(name))
    }

    fn write_new(&self, name: &str, bytes: &[u8]) -> Result<()> {
        check_name(name).and_then(|()| self.put(name, bytes, true)).map_err(|error| error.in_object(name))
    }

    fn remove(&self, name: &str) -> Result<()> {
        check_name(name).map_err(|error| error.in_object(name))?;
        match named(name).and_then(|name| self.root.remove(&name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed.map_err(|error| Error::from(error).in_object(name)),
        }
    }

    fn remove_empty(&self, prefix: &str) -> Result<()> {
        use io::ErrorKind::{DirectoryNotEmpty, NotADirectory, NotFound};
        check_name(prefix).map_err(|error| error.in_object(prefix))?;
        match self.root.remove_directory(prefix) {
            Err(error) if matches!(error.kind(), DirectoryNotEmpty | NotADirectory | NotFound) => Ok(()),
            removed => removed.map_err(|error| Error::from(error).in_object(prefix)),
        }
    }

    fn remove_unfinished(&self, prefix: &str) -> Result<()> {
        let mut left = Vec::new();
        self.each_unfinished(prefix, &mut |unfinished| match unfinished.is_written() {
            Some(false) => Ok(alloc::push(&mut left, unfinished.name)?),
            _ => Ok(()),
        })?;
        // Each is tried, and the first failure told.
        left.into_iter().map(|name| self.remove_all(name)).fold(Ok(()), Result::and)
    }

    fn is_writable(&self) -> bool {
        true
    }
}

#[cfg(all(test, not(miri)))]
mod tests;
