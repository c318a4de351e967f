//! The objects whose names begin with a prefix, as a place of its own: an array within a group, or what is stored in a
//! zip file below one directory.

use super::contract::{Begin, Entry, Objects, check_name, check_prefix};
use super::names::{Text, concatenated};
use crate::alloc;
use crate::buffer::Buffer;
use crate::error::{ErrorKind, Result};

/// The objects below a prefix of another place, by what follows the prefix and a `/`. What writes, removes or finishes
/// does so in that place.
pub struct Below<O> {
    objects: O,
    prefix: String,
}

impl<O: Objects> Below<O> {
    /// The objects below a prefix, which may be empty and need not exist.
    ///
    /// # Errors
    /// The prefix is not a name; a failed allocation.
    pub fn new(objects: O, prefix: &str) -> Result<Self> {
        check_prefix(prefix).map_err(|error| error.in_object(prefix))?;
        Ok(Below { objects, prefix: alloc::text(prefix)? })
    }

    /// The prefix.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Calls `body` with the name that an object, or what is listed, has in the place itself.
    fn full<T>(&self, name: &str, body: impl FnOnce(&str) -> Result<T>) -> Result<T> {
        match (self.prefix.is_empty(), name.is_empty()) {
            (true, _) => body(name),
            (_, true) => body(&self.prefix),
            _ => {
                let full: Text = concatenated(&[&self.prefix, "/", name])?;
                body(std::str::from_utf8(&full).map_err(|_| ErrorKind::Internal)?)
            }
        }
    }

    /// The same for an object, whose name is checked before it is joined to the prefix.
    fn object<T>(&self, name: &str, body: impl FnOnce(&str) -> Result<T>) -> Result<T> {
        check_name(name).map_err(|error| error.in_object(name))?;
        self.full(name, body)
    }
}

impl<O: Objects> Objects for Below<O> {
    fn read(&self, name: &str, begin: Begin, buffer: &mut Buffer<'_>) -> Result<Option<u64>> {
        self.object(name, |full| self.objects.read(full, begin, buffer))
    }

    fn read_part(&self, name: &str, offset: u64, buffer: &mut Buffer<'_>) -> Result<bool> {
        self.object(name, |full| self.objects.read_part(full, offset, buffer))
    }

    fn list(&self, prefix: &str, one: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
        check_prefix(prefix).map_err(|error| error.in_object(prefix))?;
        self.full(prefix, |full| self.objects.list(full, one))
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.object(name, |full| self.objects.write(full, bytes))
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.object(name, |full| self.objects.remove(full))
    }

    fn remove_empty(&self, prefix: &str) -> Result<()> {
        self.object(prefix, |full| self.objects.remove_empty(full))
    }

    fn finish(&self) -> Result<()> {
        self.objects.finish()
    }

    fn is_writable(&self) -> bool {
        self.objects.is_writable()
    }

    fn is_concurrent(&self) -> bool {
        self.objects.is_concurrent()
    }

    fn gap(&self) -> usize {
        self.objects.gap()
    }
}

/// The prefix that all objects of a place are below, if there is nothing beside it: the directory in a zip file of
/// netCDF-C's, or of one that was made from a directory. Of nested prefixes this is the first part.
///
/// # Errors
/// Those of [`Objects::list`]; a failed allocation.
pub fn only_prefix(objects: &(impl Objects + ?Sized)) -> Result<Option<String>> {
    let mut only = None;
    let mut found = 0usize;
    objects.list("", &mut |name, entry| {
        found = found.saturating_add(1);
        only = match entry {
            Entry::Prefix if found == 1 => Some(alloc::text(name)?),
            _ => None,
        };
        Ok(())
    })?;
    Ok(only)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Memory;
    use crate::object::testing::{keeps_the_contract, list, whole};

    #[test]
    fn below_a_prefix_is_a_place_of_its_own() {
        let memory = Memory::new();
        memory.write("a/z", b"1").unwrap();
        memory.write("g/h-i", b"2").unwrap();
        keeps_the_contract(&Below::new(&memory, "g/h").unwrap());
        assert_eq!(list(&memory, "g/h"), ["a/", "z"]);
        assert_eq!(whole(&memory, "g/h/z").unwrap(), b"z");
        keeps_the_contract(&Below::new(Memory::new(), "").unwrap());
        assert!(Below::new(&memory, "g/").is_err() && Below::new(&memory, "..").is_err());
        let long = "x".repeat(300);
        memory.write(&format!("g/{long}"), b"3").unwrap();
        assert_eq!(whole(&Below::new(&memory, "g").unwrap(), &long).unwrap(), b"3");
    }

    #[test]
    fn one_directory_that_holds_all_is_found() {
        let memory = Memory::new();
        assert_eq!(only_prefix(&memory).unwrap(), None);
        memory.write("data.zarr/a/b", b"").unwrap();
        memory.write("data.zarr/c", b"").unwrap();
        assert_eq!(only_prefix(&memory).unwrap().as_deref(), Some("data.zarr"));
        memory.write("x", b"").unwrap();
        assert_eq!(only_prefix(&memory).unwrap(), None);
    }
}
