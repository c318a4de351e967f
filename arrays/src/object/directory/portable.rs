//! What a directory's files take, by their paths, with the standard library alone. Paths are joined, and directories
//! are listed, with allocations that abort if they fail, for the library has no others.
//!
//! Functions take names that [`check_name`](crate::object::check_name) allows.

use std::fs::{self, File, Metadata, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

use crate::buffer::Buffer;
use crate::object::byte_range::ByteRange;
use crate::object::positioned;
use crate::object::traits::Entry;
use crate::open_object::ObjectState;

/// A directory.
pub(in crate::object) struct Root(PathBuf);

/// A name of its own.
pub(in crate::object) type Named = String;

pub(in crate::object) fn named(name: &str) -> io::Result<Named> {
    Ok(name.to_owned())
}

/// What differs from file to file, as far as lengths and times of changes do.
pub(in crate::object) fn version_of(file: &File) -> Option<u128> {
    let metadata = file.metadata().ok()?;
    let changed = metadata.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(u128::from(metadata.len()) << 64 | changed.as_nanos() & u128::from(u64::MAX))
}

/// A number that a directory has alone, as far as hashes have.
fn location(path: &Path) -> u128 {
    let half = |seed: u8| {
        let mut hasher = DefaultHasher::new();
        (seed, path).hash(&mut hasher);
        u128::from(hasher.finish())
    };
    half(0) << 64 | half(1)
}

impl Root {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let path = std::path::absolute(path)?;
        fs::read_dir(&path)?;
        Ok(Root(path))
    }

    /// Opens a directory that need not be one that may be read.
    #[cfg_attr(not(feature = "zip"), allow(dead_code, reason = "for new zip files"))]
    pub(in crate::object) fn open_unread(path: &Path) -> io::Result<Self> {
        let path = std::path::absolute(path)?;
        fs::metadata(&path)?;
        Ok(Root(path))
    }

    /// A file's path. On Windows a `:` would lead to another drive or stream, and a dot or a space at the end is left
    /// out.
    fn path(&self, name: &str) -> io::Result<PathBuf> {
        if cfg!(windows) && (name.contains(':') || name.split('/').any(|part| part.ends_with(['.', ' ']))) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Ok(self.0.join(name))
    }

    /// That there is no file of that name; an error if that is because a file is where a directory should be, which
    /// Windows does not tell, or because the directory itself is not there.
    fn absent(&self, path: &Path) -> io::Result<()> {
        for above in path.ancestors().skip(1) {
            match fs::metadata(above) {
                Ok(metadata) if metadata.is_dir() => break,
                Ok(_) => return Err(io::ErrorKind::NotADirectory.into()),
                Err(error) if error.kind() == io::ErrorKind::NotFound && above != self.0 => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// A file's path and what is known of it.
    fn find(&self, name: &str) -> io::Result<Option<(PathBuf, Metadata)>> {
        let path = self.path(name)?;
        // Windows does not open directories.
        let metadata = match fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return self.absent(&path).map(|()| None),
            metadata => metadata?,
        };
        if !metadata.is_file() {
            let is_directory = metadata.is_dir();
            let kind = if is_directory { io::ErrorKind::IsADirectory } else { io::ErrorKind::Unsupported };
            return Err(kind.into());
        }
        Ok(Some((path, metadata)))
    }

    /// Reads from a file, and tells its length. The standard library knows no number of a file that never comes back.
    pub(super) fn read(&self, name: &str, at: ByteRange, buffer: &mut Buffer<'_>) -> io::Result<Option<ObjectState>> {
        if buffer.capacity() == 0 {
            return Ok(self.find(name)?.map(|(_, metadata)| (metadata.len(), None)));
        }
        let Some((file, state)) = self.open_file(name)? else { return Ok(None) };
        positioned::read(&file, state.0, at, buffer)?;
        Ok(Some(state))
    }

    /// Opens a file to read it, and tells of it what [`read`](Self::read) does.
    pub(super) fn open_file(&self, name: &str) -> io::Result<Option<(File, ObjectState)>> {
        let Some((path, _)) = self.find(name)? else { return Ok(None) };
        let file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let len = file.metadata()?.len();
        Ok(Some((file, (len, None))))
    }

    /// Makes a file, to read and to write it.
    pub(in crate::object) fn create_new(&self, name: &str) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).create_new(true).open(self.path(name)?)
    }

    pub(in crate::object) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path(from)?, self.path(to)?)
    }

    /// Whether anything has a name.
    pub(super) fn is_taken(&self, name: &str) -> bool {
        self.path(name).is_ok_and(|path| fs::symlink_metadata(path).is_ok())
    }

    /// Gives a file another name, which nothing has.
    pub(super) fn link(&self, from: &str, to: &str) -> io::Result<()> {
        fs::hard_link(self.path(from)?, self.path(to)?)
    }

    pub(in crate::object) fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path(name)?)
    }

    pub(super) fn remove_directory(&self, name: &str) -> io::Result<()> {
        fs::remove_dir(self.path(name)?)
    }

    /// Makes a directory. If there is a file, that it is none: what comes next does not say so on Windows.
    pub(super) fn make_directory(&self, name: &str) -> io::Result<()> {
        let path = self.path(name)?;
        let made = fs::create_dir(&path);
        if made.is_err() && fs::metadata(&path).is_ok_and(|metadata| metadata.is_file()) {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        made
    }

    /// Windows has no such thing: it writes names with the files.
    pub(in crate::object) fn sync_directory(&self, name: &str) -> io::Result<()> {
        if cfg!(windows) { Ok(()) } else { File::open(self.path(name)?)?.sync_all() }
    }

    /// Waits until the directory's own name is on the disk, and those of the directories that it is in: as far up as
    /// that can be.
    pub(in crate::object) fn sync_above(&self) -> io::Result<()> {
        if !cfg!(windows) {
            let above = self.0.ancestors().skip(1);
            let _ = above.map(|path| File::open(path)?.sync_all()).take_while(io::Result::is_ok).count();
        }
        Ok(())
    }

    /// Whether a name is a symbolic link.
    pub(super) fn is_link(&self, name: &str) -> io::Result<bool> {
        Ok(fs::symlink_metadata(self.path(name)?)?.is_symlink())
    }

    /// A number that the directory which a name leads to has alone, as far as hashes have.
    pub(super) fn location(&self, name: &str) -> io::Result<u128> {
        Ok(location(&self.path(name)?.canonicalize()?))
    }

    /// Whether a directory that this one is in has this location.
    pub(super) fn is_below(&self, other: u128) -> io::Result<bool> {
        Ok(self.0.canonicalize()?.ancestors().skip(1).any(|above| location(above) == other))
    }

    /// Calls `one` for each name below a directory until it returns `false`. A directory that does not exist has none.
    pub(super) fn list(&self, name: &str, one: &mut dyn FnMut(&str, Option<Entry>) -> bool) -> io::Result<()> {
        let path = self.path(name)?;
        let entries = match fs::read_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return fs::metadata(&self.0).map(drop),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Ok(()),
            // Windows has several errors for it.
            Err(_) if fs::metadata(&path).is_ok_and(|metadata| metadata.is_file()) => return Ok(()),
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let last = entry.file_name();
            // Of a link, what it leads to.
            let found = match fs::metadata(entry.path()) {
                _ if last.to_str().is_none() => None,
                Ok(metadata) if metadata.is_file() => Some(Entry::Object),
                Ok(metadata) if metadata.is_dir() => Some(Entry::Prefix),
                Ok(_) => None,
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(error) => return Err(error),
            };
            if !one(&last.to_string_lossy(), found) {
                break;
            }
        }
        Ok(())
    }
}
