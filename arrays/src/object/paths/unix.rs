//! Paths by the system's own calls: see [`calls`].

use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::object::syscalls::{self, Terminated, WORKING_DIRECTORY};
use crate::{alloc, error::Result};

fn named(path: &Path) -> io::Result<Terminated> {
    Terminated::new(path.as_os_str().as_bytes())
}

/// Opens what may be a file, or something else, to read it.
pub(in crate::object) fn open(path: &Path) -> io::Result<File> {
    syscalls::open_to_read(WORKING_DIRECTORY, &named(path)?)
}

pub(in crate::object) fn open_directory(path: &Path) -> io::Result<File> {
    syscalls::open(WORKING_DIRECTORY, &named(path)?, libc::O_RDONLY | libc::O_DIRECTORY)
}

/// Opens a directory that need not be one that may be read, to use what is in it.
pub(in crate::object) fn open_directory_unread(path: &Path) -> io::Result<File> {
    #[cfg(target_os = "linux")]
    const HOW: std::ffi::c_int = libc::O_PATH;
    #[cfg(not(target_os = "linux"))]
    const HOW: std::ffi::c_int = libc::O_RDONLY;
    syscalls::open(WORKING_DIRECTORY, &named(path)?, HOW | libc::O_DIRECTORY)
}

/// The path from the root on.
pub(crate) fn whole(path: &Path) -> Result<std::path::PathBuf> {
    if path.is_absolute() {
        return Ok(alloc::path(&[path])?);
    }
    Ok(alloc::path(&[&syscalls::working_directory()?, path])?)
}

/// Whether a path leads to a directory; an error if it leads nowhere.
pub(crate) fn is_directory(path: &Path) -> io::Result<bool> {
    Ok(syscalls::is_a(libc::S_IFDIR, &syscalls::status(WORKING_DIRECTORY, &named(path)?, 0)?))
}

/// Whether there is something at a path, be it a symbolic link that leads nowhere.
pub(crate) fn is_there(path: &Path) -> io::Result<bool> {
    match syscalls::status(WORKING_DIRECTORY, &named(path)?, libc::AT_SYMLINK_NOFOLLOW) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        status => status.map(|_| true),
    }
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
    match syscalls::make_directory(WORKING_DIRECTORY, &named(path)?) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(_) if is_directory(path).unwrap_or(false) => Ok(()),
        made => made,
    }
}
