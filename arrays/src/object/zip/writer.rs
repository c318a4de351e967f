//! Writing a new zip file: objects are appended as stored entries to a temporary file, which is renamed after its
//! central directory has been written.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::MutexGuard;

use super::end;
use super::records::{New, corrupt};
use crate::alloc;
use crate::buffer::Buffer;
use crate::error::{Error, ErrorKind, Result};
use crate::lock::Lock;
use crate::object::byte_range::ByteRange;
use crate::object::close::close;
use crate::object::directory::{Named, Root, named};
use crate::object::name::Name;
use crate::object::names::Listed;
use crate::object::sorted_names::SortedNames;
use crate::object::traits::{Entry, ObjectStore, check_name, check_prefix};
use crate::object::{positioned, temp_name};
use crate::open_object::{ObjectState, Opening, Versions, read_at};
use crate::zstream::crc32;

/// A new zip file that is being written. Objects that were written can be read. An object that is written again is
/// appended again; its former bytes remain in the file, unused.
///
/// [`finish`](ObjectStore::finish) puts the file at its path, where it replaces an existing file; from then on it
/// cannot be written to. If the writer is dropped before, no file remains. Several threads may write at the same time.
/// A forked child process can only drop the writer, without effect on the file.
pub struct ZipWriter {
    file: File,
    /// The directory that the file is in. It stays the same one where the process goes to another one, or it is moved.
    root: Root,
    /// Where that was when the file was begun, to be told of in errors.
    path: Name,
    /// What the file is called there.
    name: String,
    /// What it is called until it is finished. To remove it takes no memory.
    partial: Named,
    is_synced: bool,
    /// Out of reach in a process that was forked.
    state: Lock<State>,
}

struct State {
    entries: SortedNames<Written>,
    /// Where the next entry begins.
    end: u64,
    /// Whether the file has its name, and is not written to any more.
    is_finished: bool,
    /// Whether that name is on the disk, if the caller has asked for it.
    is_name_synced: bool,
}

/// An entry that has been written.
#[derive(Clone, Copy)]
struct Written {
    header: u64,
    data: u64,
    len: u64,
    crc: u32,
}

impl ZipWriter {
    /// Begins a new file. Until it is finished it has the name `.<name>.<process>.<number>.partial` beside the path.
    ///
    /// # Errors
    /// `Argument` for a path that does not end with a name in UTF-8; `OutOfMemory`, and those of the system.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::new(path).map_err(|error| error.in_object(path.display()))
    }

    fn new(path: &Path) -> Result<Self> {
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.ok_or(ErrorKind::Argument("this path is not valid for a file"))?;
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let root = Root::open_unread(directory.unwrap_or(Path::new(".")))?;
        let (path, name) = (Name::of(format_args!("{}", path.display()))?, alloc::text(name)?);
        let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
        for _ in 0..temp_name::ATTEMPTS {
            let partial = named(&temp_name::name(&name)?)?;
            match root.create_new(&partial) {
                Ok(file) => {
                    let state = Lock::new(State {
                        entries: SortedNames::default(),
                        end: 0,
                        is_finished: false,
                        is_name_synced: false,
                    });
                    return Ok(ZipWriter { file, root, path, name, partial, is_synced: false, state });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
                Err(error) => return Err(error.into()),
            }
        }
        Err(last.into())
    }

    /// Sets whether `finish` waits until the file and its name are on the disk (fsync), so that they survive a power
    /// failure: see [`Directory::set_sync`](crate::object::Directory::set_sync). By default it does not.
    pub fn set_sync(&mut self, is_synced: bool) {
        self.is_synced = is_synced;
    }

    fn state(&self) -> Result<MutexGuard<'_, State>> {
        const FORKED: &str = "a forked process cannot use the zip file that its parent is writing";
        self.state.lock().ok_or_else(|| ErrorKind::Argument(FORKED).into())
    }

    /// Where an object is that has been written.
    fn written(&self, name: &str) -> Result<Option<Written>> {
        check_name(name).map_err(|error| error.in_object(name))?;
        let state = self.state()?;
        Ok(state.entries.get(name).copied())
    }

    fn append(&self, name: &str, bytes: &[u8]) -> Result<()> {
        check_name(name)?;
        if name.len() > u16::MAX.into() {
            return Err(ErrorKind::Argument("a name in a zip file must have at most 65535 bytes").into());
        }
        let owned = alloc::text(name)?;
        let (len, crc) = (bytes.len() as u64, crc32(bytes));
        let mut header = Vec::new();
        New { name, crc, len, header: 0 }.add_local(&mut header)?;
        // The place is taken under the lock, and written to without it. If that fails, nothing refers to the place.
        let begin = {
            let mut state = self.state()?;
            if state.is_finished {
                return Err(ErrorKind::ReadOnly.into());
            }
            let begin = state.end;
            let end = begin.checked_add(header.len() as u64).and_then(|end| end.checked_add(len));
            state.end = end.ok_or(ErrorKind::Argument("the zip file would be too large"))?;
            begin
        };
        let data = begin + header.len() as u64;
        positioned::write_at(&self.file, begin, &header)?;
        positioned::write_at(&self.file, data, bytes)?;
        let written = Written { header: begin, data, len, crc };
        let mut state = self.state()?;
        if state.is_finished {
            return Err(ErrorKind::ReadOnly.into());
        }
        state.keep(owned, written)
    }

    /// Writes the directory behind the entries, and gives the file its name.
    fn complete(&self, state: &State) -> Result<()> {
        const PIECE: usize = 64 << 10;
        let mut piece = Vec::new();
        let mut end = state.end;
        let mut num_entries = 0;
        for (name, written) in state.entries.iter() {
            let &Written { header, len, crc, .. } = written;
            num_entries += 1;
            New { name, crc, len, header }.add_record(&mut piece)?;
            if piece.len() >= PIECE {
                positioned::write_at(&self.file, end, &piece)?;
                end += piece.len() as u64;
                piece.clear();
            }
        }
        positioned::write_at(&self.file, end, &piece)?;
        end += piece.len() as u64;
        let (zip64, is_zip64, record) = end::write(state.end, end, num_entries);
        if is_zip64 {
            positioned::write_at(&self.file, end, &zip64)?;
            end += zip64.len() as u64;
        }
        positioned::write_at(&self.file, end, &record)?;
        // A write that failed may have left bytes beyond, or an earlier try to finish.
        self.file.set_len(end + record.len() as u64)?;
        if self.is_synced {
            self.file.sync_all()?;
        }
        // The file stays open to be read. To close a second descriptor tells of writes that have failed, too.
        close(self.file.try_clone()?)?;
        Ok(self.root.rename(&self.partial, &self.name)?)
    }

    /// Waits until the file's name is on the disk.
    fn sync_name(&self) -> Result<()> {
        self.root.sync_directory("")?;
        Ok(self.root.sync_above()?)
    }
}

impl State {
    /// Takes up an entry that has been written. Of several threads that write an object at the same time, the last one
    /// that began counts.
    fn keep(&mut self, name: String, written: Written) -> Result<()> {
        match self.entries.get(&name) {
            Some(other) if other.header > written.header => Ok(()),
            _ => Ok(self.entries.insert(name, written).map(drop)?),
        }
    }
}

impl ObjectStore for ZipWriter {
    fn read(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<u64>> {
        Ok(self.read_version(name, begin, buffer)?.map(|(len, _)| len))
    }

    /// The version is where an entry's bytes begin, for what was written once stays in the file.
    fn read_version(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<ObjectState>> {
        let Some(Written { data, len, .. }) = self.written(name)? else { return Ok(None) };
        let begin = begin.offset(len);
        let wanted = usize::try_from(len - begin).unwrap_or(usize::MAX).min(buffer.capacity());
        read_at(&self.file, data + begin, wanted, buffer).map_err(|error| Error::from(error).in_object(name))?;
        if buffer.filled().len() < wanted {
            return Err(corrupt("another program has made the new file shorter").in_object(name));
        }
        Ok(Some((len, Some(data.into()))))
    }

    fn versions(&self) -> Versions {
        Versions::Told
    }

    fn open(&self, name: &str) -> Result<Opening<'_>> {
        let within = |Written { data, len, .. }| Opening::within(&self.file, data, (len, Some(data.into())));
        Ok(self.written(name)?.map_or(Opening::Absent, within))
    }

    fn list(&self, prefix: &str, one: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
        check_prefix(prefix).map_err(|error| error.in_object(prefix))?;
        // `one` may use the storage, so the lock is not held meanwhile.
        let mut listed = Listed::NOTHING;
        self.state()?.entries.list(prefix, &mut |name, entry| listed.push(name, entry))?;
        listed.tell(one)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.append(name, bytes).map_err(|error| error.in_object(name))
    }

    fn remove(&self, name: &str) -> Result<()> {
        check_name(name).map_err(|error| error.in_object(name))?;
        let mut state = self.state()?;
        if state.is_finished && state.entries.get(name).is_some() {
            return Err(ErrorKind::ReadOnly.in_object(name));
        }
        state.entries.remove(name);
        Ok(())
    }

    fn finish(&self) -> Result<()> {
        let mut state = self.state()?;
        let about = |error: Error| error.in_object(&*self.path);
        if !state.is_finished {
            self.complete(&state).map_err(about)?;
            state.is_finished = true;
        }
        if self.is_synced && !state.is_name_synced {
            self.sync_name().map_err(about)?;
            state.is_name_synced = true;
        }
        Ok(())
    }

    fn is_archive(&self) -> bool {
        true
    }

    fn is_writable(&self) -> bool {
        self.state().is_ok_and(|state| !state.is_finished)
    }
}

impl Drop for ZipWriter {
    fn drop(&mut self) {
        if self.state().is_ok_and(|state| !state.is_finished) {
            // Nobody is there to be told of an error.
            let _ = self.root.remove(&self.partial);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_writes_of_an_object_the_one_that_began_last_counts() {
        let mut state = State { entries: SortedNames::default(), end: 0, is_finished: false, is_name_synced: false };
        for (name, header, due) in [("b", 100, 100), ("b", 50, 100), ("a", 70, 70), ("b", 150, 150), ("a", 60, 70)] {
            state.keep(name.to_owned(), Written { header, data: header + 31, len: 1, crc: 0 }).unwrap();
            assert_eq!(state.entries.get(name).unwrap().header, due);
        }
        assert_eq!(state.entries.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["a", "b"]);
    }
}
