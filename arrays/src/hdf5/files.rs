//! The files of a call: the one that is read and, where that is allowed, those that its links lead to.
//!
//! libhdf5 looks for a file in several directories. Here it is in one place: where the path leads from the directory of
//! the file that has the link. That is the first place where libhdf5 looks unless a program or the environment says
//! otherwise, and no other file of the same name is read instead.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;

use super::bytes::malformed;
use super::file::{File, STEP};
use super::group::Group;
use crate::alloc;
use crate::dataset::Head;
use crate::error::{Error, ErrorKind, Result};
use crate::object::{OneFile, ReopenedFile, Storage};
use crate::shared::Shared;

/// Links lead to no more files than so many in a call, and blocks of so many are kept.
const MOST_FILES: usize = 1 << 16;
const MOST_KEPT: usize = 16;

/// Those groups are kept that were used last, as many as have so many links together, and one more.
const MOST_KEPT_LINKS: usize = 1 << 18;

/// The files.
#[derive(Default)]
pub(super) struct Files {
    /// By their whole paths or, in a storage of objects, their names there.
    opened: RefCell<HashMap<String, Shared<File>>>,
    groups: RefCell<Groups>,
}

/// The groups that were used last. They are in two halves: when the new one is full it becomes the old one, and what
/// was in that is forgotten.
#[derive(Default)]
struct Groups {
    /// By the numbers of their files and their addresses.
    new: HashMap<(usize, u64), Shared<Group>>,
    old: HashMap<(usize, u64), Shared<Group>>,
    /// How many links those of the new half have.
    num_links: usize,
}

impl Groups {
    fn get(&mut self, key: (usize, u64)) -> Result<Option<Shared<Group>>> {
        if let Some(group) = self.new.get(&key) {
            return Ok(Some(group.clone()));
        }
        let Some(group) = self.old.get(&key).cloned() else { return Ok(None) };
        self.keep(key, group.clone())?;
        Ok(Some(group))
    }

    fn keep(&mut self, key: (usize, u64), group: Shared<Group>) -> Result<()> {
        if self.num_links > MOST_KEPT_LINKS / 2 {
            self.old = std::mem::take(&mut self.new);
            self.num_links = 0;
        }
        self.new.try_reserve(1).map_err(|_| ErrorKind::OutOfMemory)?;
        // A group without links takes memory, too.
        self.num_links += group.links.len() + 1;
        self.new.insert(key, group);
        Ok(())
    }
}

impl Files {
    /// Opens the first one.
    pub(super) fn open(storage: &Storage, head: &Head<'_>) -> Result<(Files, Shared<File>)> {
        let files = Files::default();
        // No link leads to it unless links are followed.
        let path = storage.path().filter(|_| storage.follows_links());
        let full = path.and_then(|path| std::fs::canonicalize(path).ok());
        let file = files.add(full.as_deref().and_then(Path::to_str).unwrap_or(head.name), storage, head)?;
        Ok((files, file))
    }

    /// The file that a link of a file leads to.
    ///
    /// # Errors
    /// `Unsupported` unless that is allowed, `Argument` for a path that leads out of the storage, `NotFound`, and those
    /// of [`File::open`].
    pub(super) fn linked(&self, from: &File, path: &str) -> Result<Shared<File>> {
        if !from.storage.follows_links() {
            let reason = "an HDF5 link to another file, unless the caller allows external links";
            return Err(ErrorKind::Unsupported(reason).into());
        }
        let Some(directory) = from.storage.path().and_then(Path::parent) else {
            let name = below(&from.name, path)?;
            return self.find(&name).map_or_else(|| self.read(&name, &from.storage.file(&name)?), Ok);
        };
        let path = alloc::path(&[directory, Path::new(path)])?;
        let full = std::fs::canonicalize(&path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => ErrorKind::NotFound("file").into(),
            _ => Error::from(error),
        })?;
        let key = full.to_str().ok_or(ErrorKind::Unsupported("a path that is not UTF-8"))?;
        if let Some(file) = self.find(key) {
            return Ok(file);
        }
        // It is not kept open, for there may be many of them.
        let file = ReopenedFile::new(&full, &OneFile::open(&full)?)?;
        // Links of that file lead on from where the path says that it is, as libhdf5 has it.
        self.read(key, &Storage::new(file)?.like(&from.storage).file(OneFile::NAME)?.at_path(&path, None)?)
    }

    /// The group at an address of a file. Links lead to the same groups again and again, which are read once.
    pub(super) fn group(&self, file: &File, address: u64) -> Result<Shared<Group>> {
        let key = (file.number, address);
        let mut groups = self.groups.borrow_mut();
        if let Some(group) = groups.get(key)? {
            file.charge(STEP)?;
            return Ok(group);
        }
        let group = Shared::new(Group::read(file, address)?)?;
        groups.keep(key, group.clone())?;
        Ok(group)
    }

    fn find(&self, key: &str) -> Option<Shared<File>> {
        self.opened.borrow().get(key).cloned()
    }

    fn read(&self, key: &str, storage: &Storage) -> Result<Shared<File>> {
        let name = storage.file_name().ok_or(ErrorKind::Internal)?;
        self.add(key, storage, &Head::read(&**storage, name)?)
    }

    fn add(&self, key: &str, storage: &Storage, head: &Head<'_>) -> Result<Shared<File>> {
        let number = self.opened.borrow().len();
        if number == MOST_FILES {
            return Err(malformed("links lead to more than 65536 other files"));
        }
        if number % MOST_KEPT == 0 {
            self.opened.borrow().values().for_each(|file| file.forget());
        }
        let file = Shared::new(File::open(storage, head, number)?)?;
        let mut opened = self.opened.borrow_mut();
        opened.try_reserve(1).map_err(|_| ErrorKind::OutOfMemory)?;
        opened.insert(alloc::text(key)?, file.clone());
        Ok(file)
    }
}

/// The name of the object that a path leads to from an object.
fn below(from: &str, path: &str) -> Result<String> {
    let mut parts = Vec::new();
    if path.starts_with('/') {
        return Err(ErrorKind::Argument("an absolute path, which leads out of the storage that the file is in").into());
    }
    let above = from.rsplit_once('/').map_or("", |(above, _)| above);
    for part in above.split('/').chain(path.split('/')).filter(|part| !matches!(*part, "" | ".")) {
        if part != ".." {
            alloc::push(&mut parts, part)?;
        } else if parts.pop().is_none() {
            return Err(ErrorKind::Argument("a path that leads out of the storage that the file is in").into());
        }
    }
    let mut name = String::new();
    for part in parts {
        let slash = if name.is_empty() { "" } else { "/" };
        alloc::push_text(&mut name, slash)?;
        alloc::push_text(&mut name, part)?;
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However many links a group has, it stays where others are looked up between.
    #[test]
    fn groups_that_are_used_again_stay() {
        let mut groups = Groups::default();
        let group = |num_links| Shared::new(Group::of_links(num_links)).unwrap();
        groups.keep((0, 0), group(MOST_KEPT_LINKS + 1)).unwrap();
        for address in 1..100 {
            groups.keep((0, address), group(1)).unwrap();
            assert!(groups.get((0, 0)).unwrap().is_some(), "{address}");
        }
        assert!(groups.get((0, 1)).unwrap().is_none() && groups.get((0, 99)).unwrap().is_some());
    }

    #[test]
    fn paths_lead_on_from_the_file() {
        for (from, path, due) in [
            ("a.h5", "b.h5", "b.h5"),
            ("d/a.h5", "./e//b.h5", "d/e/b.h5"),
            ("d/e/a.h5", "../b.h5", "d/b.h5"),
            ("d/a.h5", "e/../../b.h5", "b.h5"),
        ] {
            assert_eq!(below(from, path).unwrap(), due);
        }
        for (from, path) in [("a.h5", "../b.h5"), ("d/a.h5", "../../d/b.h5"), ("d/a.h5", "/d/b.h5")] {
            assert_eq!(below(from, path).unwrap_err().status(), crate::status::EINVAL, "{path}");
        }
    }
}
