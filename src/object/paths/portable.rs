//! Paths by the standard library, which aborts if memory for a copy of one lacks.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// A path of its own.
pub(in crate::object) type Named = PathBuf;

pub(in crate::object) fn named(path: &Path) -> io::Result<Named> {
    Ok(path.to_path_buf())
}

/// Opens a file to read it.
pub(in crate::object) fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Makes a file, to read and to write it.
pub(in crate::object) fn create_new(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).open(path)
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

pub(in crate::object) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)
}

/// Removes a file.
pub(in crate::object) fn remove(path: &Path) -> io::Result<()> {
    fs::remove_file(path)
}

/// Waits until the names in a directory are on the disk. Windows has no such thing: it writes names with the files.
pub(in crate::object) fn sync_directory(path: &Path) -> io::Result<()> {
    if cfg!(windows) { Ok(()) } else { File::open(path)?.sync_all() }
}

/// Makes a directory and those that it is in, as far as they are missing.
pub(in crate::object) fn make_directories(path: &Path) -> io::Result<()> {
    match fs::create_dir_all(path) {
        // What is there and is no directory is found out when it is used; unless it is one that this should be in.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_there(path)? => Ok(()),
        made => made,
    }
}
