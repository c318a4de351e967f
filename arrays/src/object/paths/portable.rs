//! Paths by the standard library, which aborts if memory for a copy of one lacks.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Opens a file to read it.
pub(in crate::object) fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// The path from the root on.
pub(crate) fn whole(path: &Path) -> crate::error::Result<std::path::PathBuf> {
    Ok(std::path::absolute(path)?)
}

/// Whether a path leads to a directory; an error if it leads nowhere.
pub(crate) fn is_directory(path: &Path) -> io::Result<bool> {
    Ok(fs::metadata(path)?.is_dir())
}

/// Whether there is something at a path, be it a symbolic link that leads nowhere.
pub(crate) fn is_there(path: &Path) -> io::Result<bool> {
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        metadata => metadata.map(|_| true),
    }
}

/// Makes a directory and those that it is in, as far as they are missing.
pub(in crate::object) fn make_directories(path: &Path) -> io::Result<()> {
    match fs::create_dir_all(path) {
        // What is there and is no directory is found out when it is used; unless it is one that this should be in.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_there(path)? => Ok(()),
        made => made,
    }
}
