//! A new array in a group that is there: nothing of the group is changed before the array is complete.
//!
//! The library creates the array among the objects of the group, but what it writes goes elsewhere, and what it removes
//! is only taken note of.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use nczchunk::object::{ByteRange, Entry, Memory, ObjectStore, Storage, read_whole};
use nczchunk::{Array, ArrayFormat, Buffer, Description, ElementType, Result, pass_on};

/// The most bytes of a metadata document.
const LARGEST: usize = 1 << 30;

/// The objects of a group without those of one name, under others that are written here.
pub(super) struct Staging {
    group: Storage,
    written: Storage,
    /// What is there by this name, and below it, is to be replaced.
    name: String,
    removed: Mutex<BTreeSet<String>>,
}

impl Staging {
    pub(super) fn new(group: Storage, written: Storage, name: &str) -> Self {
        Staging { group, written, name: name.to_owned(), removed: Mutex::default() }
    }

    fn removed(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        self.removed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_new(&self, name: &str) -> bool {
        name.strip_prefix(&*self.name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Whether the group's object is not to be seen.
    fn is_hidden(&self, name: &str) -> bool {
        self.is_new(name) || self.removed().contains(name)
    }
}

impl ObjectStore for Staging {
    fn read(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<u64>> {
        match self.written.read(name, begin, buffer)? {
            None if !self.is_hidden(name) => self.group.read(name, begin, buffer),
            read => Ok(read),
        }
    }

    fn list(&self, prefix: &str, one: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
        let mut listed = BTreeSet::new();
        self.written.list(prefix, &mut |last, entry| {
            listed.insert(last.to_owned());
            one(last, entry)
        })?;
        if self.is_new(prefix) {
            return Ok(());
        }
        self.group.list(prefix, &mut |last, entry| {
            let name = if prefix.is_empty() { last.to_owned() } else { format!("{prefix}/{last}") };
            if listed.contains(last) || self.is_hidden(&name) { Ok(()) } else { one(last, entry) }
        })
    }

    pass_on! { self => self.written; write remove_empty }

    fn remove(&self, name: &str) -> Result<()> {
        self.removed().insert(name.to_owned());
        self.written.remove(name)
    }

    fn is_writable(&self) -> bool {
        true
    }

    fn is_concurrent(&self) -> bool {
        self.group.is_concurrent() && self.written.is_concurrent()
    }
}

/// What has been changed of a group, which is undone unless it is kept.
pub(super) struct Changes {
    group: Storage,
    /// What was there before, if anything was.
    before: Vec<(String, Option<Vec<u8>>)>,
}

impl Changes {
    /// Changes the documents of groups as a new array of this name has it: those that are missing are written, and
    /// consolidated metadata are removed. Those below a name that has no directory yet are left out.
    pub(super) fn make(group: &Storage, name: &str, format: ArrayFormat, missing: &str) -> Result<Changes> {
        let written = Storage::new(Memory::new())?;
        let staging = std::sync::Arc::new(Staging::new(group.clone(), written.clone(), name));
        // Groups are the same whatever array is in them, and whether netCDF-C reads it.
        let version = if format == ArrayFormat::ZarrV3 { format } else { ArrayFormat::ZarrV2 };
        let any = Description::new(&[1], ElementType::Byte).with_format(version).with_codecs(&[]);
        Array::create_in(&Storage::new(staging.clone())?, name, &any)?;
        let mut changes = Changes { group: group.clone(), before: Vec::new() };
        for removed in staging.removed().iter() {
            changes.change(removed, |group| group.remove(removed))?;
        }
        let groups = name.match_indices('/').map(|(slash, _)| &name[..slash]);
        for above in [""].into_iter().chain(groups).filter(|above| above.len() < missing.len()) {
            let mut documents = Vec::new();
            written.list(above, &mut |last, entry| {
                if entry == Entry::Object {
                    documents.push(if above.is_empty() { last.to_owned() } else { format!("{above}/{last}") });
                }
                Ok(())
            })?;
            for document in documents {
                if let Some(bytes) = read_whole(&*written, &document, LARGEST)? {
                    changes.change(&document, |group| group.write(&document, &bytes))?;
                }
            }
        }
        Ok(changes)
    }

    fn change(&mut self, name: &str, change: impl FnOnce(&Storage) -> Result<()>) -> Result<()> {
        self.before.push((name.to_owned(), read_whole(&*self.group, name, LARGEST)?));
        change(&self.group)
    }

    /// Says that they stay.
    pub(super) fn keep(mut self) {
        self.before.clear();
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        for (name, before) in self.before.iter().rev() {
            // There is an error already that says more.
            let _ = match before {
                Some(bytes) => self.group.write(name, bytes),
                None => self.group.remove(name),
            };
        }
    }
}

/// A storage that can be written to as far as anybody knows, and is not changed.
struct Unchanged(Storage);

impl ObjectStore for Unchanged {
    pass_on! { self => self.0; read is_link list list_all is_concurrent }

    fn remove(&self, _name: &str) -> Result<()> {
        Ok(())
    }

    fn is_writable(&self) -> bool {
        true
    }
}

/// Refuses to replace a storage in which something belongs to no array or group, as the library refuses to overwrite
/// it.
pub(super) fn check_owned(storage: Storage) -> Result<()> {
    let unchanged = Storage::new(Unchanged(storage))?;
    let any = Description::new(&[1], ElementType::Byte).with_codecs(&[]).with_overwrite(true);
    Array::unwritten(&unchanged, "", &any)?.make_room(&unchanged, "")
}
