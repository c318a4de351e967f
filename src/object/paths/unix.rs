//! Paths by the system's own calls: see [`calls`].

use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::object::calls::{self, Terminated, WORKING_DIRECTORY};

/// A path as the system takes it: what is done with it takes no memory any more.
pub(in crate::object) type Named = Terminated;

pub(in crate::object) fn named(path: &Path) -> io::Result<Named> {
    Terminated::new(path.as_os_str().as_bytes())
}

/// Opens what may be a file, or something else, to read it.
pub(in crate::object) fn open(path: &Path) -> io::Result<File> {
    calls::open_to_read(WORKING_DIRECTORY, &named(path)?)
}

pub(in crate::object) fn open_directory(path: &Path) -> io::Result<File> {
    calls::open(WORKING_DIRECTORY, &named(path)?, libc::O_RDONLY | libc::O_DIRECTORY)
}

/// Makes a file, to read and to write it.
pub(in crate::object) fn create_new(path: &Named) -> io::Result<File> {
    calls::open(WORKING_DIRECTORY, path, libc::O_RDWR | libc::O_CREAT | libc::O_EXCL)
}

/// Whether a path leads to a directory; an error if it leads nowhere.
pub(crate) fn is_directory(path: &Path) -> io::Result<bool> {
    Ok(calls::is_a(libc::S_IFDIR, &calls::status(WORKING_DIRECTORY, &named(path)?, 0)?))
}

/// Whether there is something at a path, be it a symbolic link that leads nowhere.
pub(crate) fn is_there(path: &Path) -> io::Result<bool> {
    match calls::status(WORKING_DIRECTORY, &named(path)?, libc::AT_SYMLINK_NOFOLLOW) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        status => status.map(|_| true),
    }
}

pub(in crate::object) fn rename(from: &Named, to: &Path) -> io::Result<()> {
    calls::rename(WORKING_DIRECTORY, from, &named(to)?)
}

/// Removes a file.
pub(in crate::object) fn remove(path: &Named) -> io::Result<()> {
    calls::remove(WORKING_DIRECTORY, path, 0)
}

/// Waits until the names in a directory are on the disk.
pub(in crate::object) fn sync_directory(path: &Path) -> io::Result<()> {
    open_directory(path)?.sync_all()
}

/// Makes a directory and those that it is in, as far as they are missing. What is there and is no directory is found
/// out when one of them is used.
pub(in crate::object) fn make_directories(path: &Path) -> io::Result<()> {
    // Upwards until one can be made or is there; the directories below that are made on the way back.
    let mut missing = 0;
    for directory in path.ancestors() {
        match make_directory(directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => missing += 1,
            made => {
                made?;
                break;
            }
        }
    }
    (0..missing).rev().try_for_each(|above| path.ancestors().nth(above).map_or(Ok(()), make_directory))
}

/// Makes a directory unless it is there. On some file systems it is known only by a second look that it is.
fn make_directory(path: &Path) -> io::Result<()> {
    match calls::make_directory(WORKING_DIRECTORY, &named(path)?) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(_) if is_directory(path).unwrap_or(false) => Ok(()),
        made => made,
    }
}
