//! Which entries a zip file has, by name.
//!
//! The directory is kept as it is in the file, with where each record begins in the order of the names: its size and 16
//! bytes for each entry are all the memory that a file takes.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use super::end;
use super::records::{Record, corrupt};
use crate::alloc;
use crate::error::Result;
use crate::object::names;
use crate::object::traits::{Entry, check_name};

pub(super) struct Index {
    directory: Vec<u8>,
    /// Ascending by name, each once.
    entries: Vec<EntryPosition>,
    /// Where the records of files are whose names objects cannot have.
    left_out: Vec<usize>,
}

/// Where an entry is.
pub(super) struct EntryPosition {
    /// Where its record begins in the directory.
    record: usize,
    /// How many bytes the header before the data has; 0 until it has been read. Whoever reads it finds the same.
    header_len: AtomicU32,
    /// Whether all of the entry's data have been compared with its checksum.
    is_verified: AtomicBool,
}

impl EntryPosition {
    pub(super) fn is_verified(&self) -> bool {
        self.is_verified.load(Ordering::Relaxed)
    }

    pub(super) fn set_verified(&self) {
        self.is_verified.store(true, Ordering::Relaxed);
    }

    pub(super) fn header_len(&self) -> Option<u32> {
        Some(self.header_len.load(Ordering::Relaxed)).filter(|&len| len > 0)
    }

    pub(super) fn set_header_len(&self, len: u32) {
        self.header_len.store(len, Ordering::Relaxed);
    }
}

impl Index {
    /// The index of a directory. Where a name is there several times, the last one counts. Entries whose names objects
    /// cannot have, such as those of directories, which end with a `/`, are left out.
    pub(super) fn new(directory: Vec<u8>, said: &end::Directory) -> Result<Self> {
        let (mut entries, mut left_out): (Vec<EntryPosition>, _) = Default::default();
        let (mut at, mut found) = (0, 0u64);
        while let Some((record, next)) = Record::read(&directory, at)? {
            found += 1;
            if as_name(record.name).is_some() {
                let (header_len, is_verified) = (AtomicU32::new(0), AtomicBool::new(false));
                alloc::push(&mut entries, EntryPosition { record: at, header_len, is_verified })?;
            } else if !record.name.ends_with(b"/") {
                alloc::push(&mut left_out, at)?;
            }
            at = next;
        }
        let is_said = if said.is_zip64 { found == said.num_entries } else { found & 0xffff == said.num_entries };
        if !is_said {
            return Err(corrupt("the number of entries in its central directory does not match the end record"));
        }
        let name = |entry: &EntryPosition| name_at(&directory, entry.record);
        entries.sort_unstable_by(|a, b| name(a).cmp(name(b)).then(a.record.cmp(&b.record)));
        // Of those that are kept, the last is compared with the next; it gives way to one of the same name.
        entries.dedup_by(|next, kept| {
            let is_same = name(next) == name(kept);
            if is_same {
                kept.record = next.record;
            }
            is_same
        });
        Ok(Index { directory, entries, left_out })
    }

    /// The entry of a name.
    pub(super) fn find(&self, name: &str) -> Result<Option<(&EntryPosition, Record<'_>)>> {
        let found = self.entries.binary_search_by(|entry| name_at(&self.directory, entry.record).cmp(name));
        let Some(entry) = found.ok().and_then(|at| self.entries.get(at)) else { return Ok(None) };
        Ok(Record::read(&self.directory, entry.record)?.map(|(record, _)| (entry, record)))
    }

    pub(super) fn list(&self, prefix: &str, one: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
        let name = |i: usize| self.entries.get(i).map_or("", |entry| name_at(&self.directory, entry.record));
        names::list(self.entries.len(), name, prefix, one)
    }

    /// Calls `one` with what the names of the files that are left out have after a prefix, as well as a text can.
    pub(super) fn list_left_out(&self, prefix: &str, one: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
        for &at in &self.left_out {
            let name = Record::read(&self.directory, at)?.map(|(record, _)| record.name).unwrap_or_default();
            let below = name.strip_prefix(prefix.as_bytes()).and_then(|rest| rest.strip_prefix(b"/"));
            if let Some(rest) = if prefix.is_empty() { Some(name) } else { below } {
                one(&String::from_utf8_lossy(rest))?;
            }
        }
        Ok(())
    }
}

/// An entry's name, if an object can have it.
fn as_name(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok().filter(|name| check_name(name).is_ok())
}

/// The name of a record that was read before.
fn name_at(directory: &[u8], record: usize) -> &str {
    let record = Record::read(directory, record).ok().flatten();
    record.and_then(|(record, _)| std::str::from_utf8(record.name).ok()).unwrap_or_default()
}
