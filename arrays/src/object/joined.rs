//! Several storages whose arrays are joined along a dimension: an object is called by the number of its storage, a
//! slash, and its name there.

use super::byte_range::ByteRange;
use super::flight::Limits;
use super::name::Name;
use super::storage::Storage;
use super::traits::{Entry, Found, ObjectStore, Route, latency};
use crate::alloc;
use crate::error::{ErrorKind, Result};
use crate::lock::Lock;
use crate::open_object::Versions;
use crate::pass_on;
use crate::shared::Shared;

/// The storages, of which there is at least one, and the name of the dimension along which their arrays are joined.
pub(crate) struct Joined {
    pub dimension: String,
    pub parts: Vec<Part>,
}

/// One of the storages, and its path or URL.
pub(crate) struct Part {
    pub path: String,
    pub storage: Storage,
    /// How long the joined dimension is that a group defines, by the group; `None` if it defines none.
    lens: Lock<Vec<(String, Option<usize>)>>,
}

impl Part {
    pub(super) fn new(path: String, storage: Storage) -> Self {
        Part { path, storage, lens: Lock::new(Vec::new()) }
    }

    /// How long the joined dimension is that a group defines. What `find` has found is kept.
    pub(crate) fn len_in(&self, group: &str, find: &mut dyn FnMut() -> Result<Option<usize>>) -> Result<Option<usize>> {
        let kept = |lens: &[(String, Option<usize>)]| lens.iter().find(|(of, _)| of == group).map(|(_, len)| *len);
        if let Some(len) = self.lens.lock().and_then(|lens| kept(&lens)) {
            return Ok(len);
        }
        let len = find()?;
        if let Some(mut lens) = self.lens.lock().filter(|lens| kept(lens).is_none()) {
            alloc::push(&mut lens, (alloc::text(group)?, len))?;
        }
        Ok(len)
    }
}

/// The objects of all storages.
pub(super) struct JoinedObjects(pub Shared<Joined>);

impl JoinedObjects {
    /// The storage that an object is in, and its name there.
    fn find<'n>(&self, name: &'n str) -> Result<(&Part, &'n str)> {
        let no_part = || ErrorKind::Argument("there is no such storage among those joined").in_object(name);
        let (number, rest) = name.split_once('/').unwrap_or((name, ""));
        let part = number.parse().ok().and_then(|number: usize| self.0.parts.get(number));
        Ok((part.ok_or_else(no_part)?, rest))
    }

    /// Calls `body` with the storage that an object is in, and its name there.
    fn part<'s, T>(&'s self, name: &str, body: impl FnOnce(&'s Storage, &str) -> Result<T>) -> Result<T> {
        let (part, name) = self.find(name)?;
        body(&part.storage, name).map_err(|error| error.in_object(&part.path))
    }

    fn all(&self, is: impl Fn(&Storage) -> bool) -> bool {
        self.0.parts.iter().all(|part| is(&part.storage))
    }
}

impl ObjectStore for JoinedObjects {
    pass_on! { self.part; read read_part read_version open verify }

    /// That of all files, or of the objects of that name in all storages.
    fn lasting_version(&self, name: &str) -> Option<u128> {
        self.0.parts.iter().try_fold(0, |all: u128, part| {
            let version = part.storage.lasting_version(part.storage.file_name().unwrap_or(name))?;
            // Any odd number of many digits: the order of the parts counts.
            Some(all.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835).wrapping_add(version))
        })
    }

    fn versions(&self) -> Versions {
        let is = |versions| self.all(|storage| storage.versions() == versions);
        [Versions::Constant, Versions::Told].into_iter().find(|versions| is(*versions)).unwrap_or(Versions::Unknown)
    }

    fn tell_name(&self, name: &str, one: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
        let (part, name) = self.find(name)?;
        // The path is that of the file, whatever the storage that it is in.
        let is_file = part.storage.file_name().is_some();
        part.storage.tell_name(name, &mut |name| match name {
            _ if is_file => one(&part.path),
            "" => one(&part.path),
            name => one(&Name::of(format_args!("{}/{name}", part.path))?),
        })
    }

    fn list(&self, prefix: &str, one: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
        if prefix.is_empty() {
            let mut numbers = 0..self.0.parts.len();
            return numbers.try_for_each(|number| one(&Name::of(format_args!("{number}"))?, Entry::Prefix));
        }
        let (part, prefix) = self.find(prefix)?;
        part.storage.list(prefix, one)
    }

    fn is_archive(&self) -> bool {
        !self.all(|storage| !storage.is_archive())
    }

    fn is_concurrent(&self) -> bool {
        self.all(|storage| storage.is_concurrent())
    }

    fn routed_limits(&self) -> Option<Limits> {
        self.0.parts.iter().find_map(|part| latency(&*part.storage))
    }

    fn route(&self, name: &str, begin: ByteRange, size: usize) -> Result<Route<'_>> {
        let (part, name) = self.find(name)?;
        Ok(Route::To { store: &*part.storage, name: alloc::text(name)?, begin, size, found: Found::Same })
    }

    fn gap(&self) -> usize {
        self.0.parts.iter().map(|part| part.storage.gap()).max().unwrap_or(0)
    }
}
