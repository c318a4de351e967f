//! The objects whose names begin with a prefix, as a storage of its own: an array within a group, or what is stored in
//! a zip file below one directory.

use super::names::{Text, concatenated};
use super::traits::{Entry, ObjectStore, check_name, check_prefix};
use crate::alloc;
use crate::error::{ErrorKind, Result};
use crate::pass_on;

/// The objects below a prefix of another storage, named by the rest of their names after the prefix and a `/`. Writing,
/// removing and finishing apply to that storage.
pub struct PrefixedStorage<O> {
    objects: O,
    prefix: String,
    /// What the names of reads in flight begin with, in the storage that starts them.
    flight_prefix: String,
    /// Whether names that begin with the prefix are those in the other storage.
    takes_whole_names: bool,
    /// Whether all objects are below the prefix.
    has_all: bool,
}

impl<O: ObjectStore> PrefixedStorage<O> {
    /// The objects below a prefix, which may be empty and need not exist.
    ///
    /// # Errors
    /// `Argument` if the prefix is not a name; `OutOfMemory`.
    pub fn new(objects: O, prefix: &str) -> Result<Self> {
        check_prefix(prefix).map_err(|error| error.in_object(prefix))?;
        let mut flight_prefix = alloc::text(objects.flight_prefix())?;
        if !prefix.is_empty() {
            alloc::push_text(&mut flight_prefix, prefix)?;
            alloc::push_text(&mut flight_prefix, "/")?;
        }
        let prefix = alloc::text(prefix)?;
        Ok(PrefixedStorage { prefix, flight_prefix, objects, takes_whole_names: false, has_all: false })
    }

    /// The same objects, which are all that the other storage has, also by their names there, so that both names lead
    /// to them, unless there is something below the prefix that has its name once more. What stands beside them and is
    /// no object is in this storage, too.
    ///
    /// # Errors
    /// Those of [`ObjectStore::list`].
    #[cfg(feature = "zip")]
    pub(crate) fn with_whole_names(mut self) -> Result<Self> {
        let mut is_there_again = false;
        self.list("", &mut |last, _| {
            is_there_again |= last == self.prefix;
            Ok(())
        })?;
        self.takes_whole_names = !is_there_again;
        self.has_all = true;
        Ok(self)
    }

    /// Whether a name is one in the other storage.
    fn is_whole(&self, name: &str) -> bool {
        let rest = if self.takes_whole_names { name.strip_prefix(&*self.prefix) } else { None };
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// The prefix.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Calls `body` with the storage itself, and the name that an object, or what is listed, has there.
    fn full<'s, T>(&'s self, name: &str, body: impl FnOnce(&'s O, &str) -> Result<T>) -> Result<T> {
        let objects = &self.objects;
        match (self.prefix.is_empty(), name.is_empty()) {
            (true, _) => body(objects, name),
            _ if self.is_whole(name) => body(objects, name),
            (_, true) => body(objects, &self.prefix),
            _ => {
                let full: Text = concatenated(&[&self.prefix, "/", name])?;
                body(objects, std::str::from_utf8(&full).map_err(|_| ErrorKind::Internal)?)
            }
        }
    }

    /// The same for an object, whose name is checked before it is joined to the prefix.
    fn object<'s, T>(&'s self, name: &str, body: impl FnOnce(&'s O, &str) -> Result<T>) -> Result<T> {
        check_name(name).map_err(|error| error.in_object(name))?;
        self.full(name, body)
    }

    /// The same for what is listed.
    fn listed<'s, T>(&'s self, prefix: &str, body: impl FnOnce(&'s O, &str) -> Result<T>) -> Result<T> {
        check_prefix(prefix).map_err(|error| error.in_object(prefix))?;
        self.full(prefix, body)
    }
}

impl<O: ObjectStore> ObjectStore for PrefixedStorage<O> {
    pass_on! { self => self.objects;
        versions compares finish is_writable is_archive is_concurrent gap flight routed_limits
    }
    pass_on! { self.object;
        read read_part read_version open verify is_link tell_name write write_over write_new remove remove_empty route
        unpack
    }
    pass_on! { self.listed; location list remove_unfinished }

    fn lasting_version(&self, name: &str) -> Option<u128> {
        self.object(name, |objects, name| Ok(objects.lasting_version(name))).ok().flatten()
    }

    fn is_below(&self, location: u128) -> Result<bool> {
        let is_there = |prefix: &str| self.objects.location(prefix).map(|found| found == Some(location));
        if self.prefix.is_empty() {
            return self.objects.is_below(location);
        }
        for (slash, _) in self.prefix.match_indices('/') {
            // What does not exist has no location.
            if is_there(&self.prefix[..slash]).unwrap_or(false) {
                return Ok(true);
            }
        }
        Ok(is_there("")? || self.objects.is_below(location)?)
    }

    fn list_all(&self, prefix: &str, one: &mut dyn FnMut(&str, Option<Entry>) -> Result<()>) -> Result<()> {
        self.listed(prefix, |objects, prefix| objects.list_all(prefix, one))?;
        if !prefix.is_empty() || !self.has_all {
            return Ok(());
        }
        let is_below = |name: &str| name.strip_prefix(&*self.prefix).is_some_and(|rest| rest.starts_with('/'));
        self.objects.list_all("", &mut |name, entry| match entry {
            None if !is_below(name) => one(name, None),
            _ => Ok(()),
        })
    }

    fn flight_prefix(&self) -> &str {
        &self.flight_prefix
    }
}

/// The prefix that all objects of a storage share, if there is one, such as the single directory in a zip file that
/// netCDF-C has written or that was packed from a directory. Of nested prefixes this is the first part.
///
/// # Errors
/// Those of [`ObjectStore::list`]; `OutOfMemory`.
pub fn only_prefix(objects: &(impl ObjectStore + ?Sized)) -> Result<Option<String>> {
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
#[allow(unsafe_code)]
mod tests {
    use super::*;
    use crate::object::testing::{DelayedStorage, keeps_the_contract, list, whole};
    use crate::object::{Answer, ByteRange, Memory, RequestsInFlight};
    use crate::{Buffer, ObjectState, Opening};

    #[test]
    fn below_a_prefix_is_a_storage_of_its_own() {
        let memory = Memory::new();
        memory.write("a/z", b"1").unwrap();
        memory.write("g/h-i", b"2").unwrap();
        keeps_the_contract(&PrefixedStorage::new(&memory, "g/h").unwrap());
        assert_eq!(list(&memory, "g/h"), ["a/", "z"]);
        assert_eq!(whole(&memory, "g/h/z").unwrap(), b"z");
        keeps_the_contract(&PrefixedStorage::new(Memory::new(), "").unwrap());
        assert!(PrefixedStorage::new(&memory, "g/").is_err() && PrefixedStorage::new(&memory, "..").is_err());
        let long = "x".repeat(300);
        memory.write(&format!("g/{long}"), b"3").unwrap();
        assert_eq!(whole(&PrefixedStorage::new(&memory, "g").unwrap(), &long).unwrap(), b"3");
    }

    /// Also below a storage that is below another one. All reads are in flight at the same time.
    #[test]
    fn reads_are_in_flight_in_the_storage_itself() {
        let later = DelayedStorage::new();
        (0..3u8).for_each(|i| later.put(&format!("a/b/x/{i}"), &[i; 4]));
        later.put("x/0", b"another");
        let below = PrefixedStorage::new(PrefixedStorage::new(&later, "a/b").unwrap(), "x").unwrap();
        let mut memory = [[9u8; 4]; 4];
        let mut requests_in_flight = RequestsInFlight::new(below.flight().unwrap(), below.flight_prefix());
        for (i, room) in memory.iter_mut().enumerate() {
            // SAFETY: the memory is not used before all reads have come back.
            let started =
                unsafe { requests_in_flight.start(i, &i.to_string(), ByteRange::At(0), (room.as_mut_ptr(), 4)) };
            assert_eq!(started, Ok(None));
        }
        let mut found = [false; 4];
        while requests_in_flight.len() > 0 {
            let (i, answer) = requests_in_flight.wait().unwrap();
            found[i] = {
                let version = Some(i as u128 + 1);
                answer.unwrap() == Some(Answer { nbytes: 4, object_size: 4, version, is_lasting: true })
            };
        }
        assert_eq!((found, later.most().0), ([true, true, true, false], 4));
        drop(requests_in_flight);
        assert_eq!(memory, [[0; 4], [1; 4], [2; 4], [9; 4]]);
        assert!(PrefixedStorage::new(Memory::new(), "a").unwrap().flight().is_none());
        assert_eq!((PrefixedStorage::new(&later, "").unwrap().flight_prefix(), below.flight_prefix()), ("", "a/b/x/"));
    }

    /// An array below a prefix is read with many requests in flight, too.
    #[test]
    fn an_array_below_a_prefix_is_read_in_flight() {
        use crate::object::Storage;
        use crate::{Access, Array, Description, ElementType, Hyperslab};
        let later = std::sync::Arc::new(DelayedStorage::new());
        let memory = std::sync::Arc::new(Memory::new());
        let description = Description::new(&[16], ElementType::Int).with_chunk_shape(&[2]);
        let values: Vec<i32> = (0..16).collect();
        let array = Array::create_in(&Storage::new(memory.clone()).unwrap(), "g/x", &description).unwrap();
        array.write(&Hyperslab::all(), &values).unwrap();
        later.put("top/g/x/zarr.json", &whole(&*memory, "g/x/zarr.json").unwrap());
        (0..8).for_each(|i| {
            let name = format!("g/x/c/{i}");
            later.put(&format!("top/{name}"), &whole(&*memory, &name).unwrap());
        });
        let storage = Storage::new(PrefixedStorage::new(later.clone(), "top").unwrap()).unwrap();
        let array = Array::open_in(&storage, "g/x", Access::Read).unwrap();
        assert_eq!(array.read::<i32>(&Hyperslab::all()).unwrap(), values);
        assert_eq!(later.most().0, 8);
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

    #[test]
    fn what_is_new_below_a_prefix_is_new_in_the_storage() {
        let memory = Memory::new();
        let below = PrefixedStorage::new(&memory, "g/h").unwrap();
        below.write_new("x", b"1").unwrap();
        assert_eq!(whole(&memory, "g/h/x").unwrap(), b"1");
        assert_eq!(below.write_new("x", b"2").unwrap_err().kind(), ErrorKind::Conflict);
        assert_eq!(whole(&memory, "g/h/x").unwrap(), b"1");
    }

    #[cfg(all(unix, not(miri)))]
    #[test]
    fn a_storage_below_a_prefix_is_below_the_directories_above() {
        let top = crate::object::testing::Temporary::new("below");
        std::fs::create_dir_all(top.join("a/b/c")).unwrap();
        let at = |path: &str| crate::object::Directory::open(top.join(path)).unwrap();
        let location = |path: &str| at(path).location("").unwrap().unwrap();
        let (root, below) = (at("a"), PrefixedStorage::new(at("a"), "b/c").unwrap());
        let is_below = |path: &str| (root.is_below(location(path)).unwrap(), below.is_below(location(path)).unwrap());
        assert_eq!(
            ["", "a", "a/b", "a/b/c"].map(is_below),
            [(true, true), (false, true), (false, true), (false, false)]
        );
        let nowhere = PrefixedStorage::new(at("a"), "x/y").unwrap();
        assert!(nowhere.is_below(location("a")).unwrap() && !nowhere.is_below(location("a/b")).unwrap());
        assert!(!PrefixedStorage::new(Memory::new(), "x").unwrap().is_below(location("a")).unwrap());
    }

    /// A storage that has nothing, and keeps what it was asked for.
    #[derive(Default)]
    struct Asked(std::sync::Mutex<Vec<String>>);

    impl Asked {
        fn add(&self, what: &str, name: &str) {
            self.0.lock().unwrap().push(format!("{what} {name}"));
        }
    }

    impl ObjectStore for Asked {
        fn read(&self, name: &str, _: ByteRange, _: &mut Buffer<'_>) -> Result<Option<u64>> {
            self.add("read", name);
            Ok(None)
        }

        fn read_part(&self, name: &str, _: u64, _: &mut Buffer<'_>) -> Result<bool> {
            self.add("read_part", name);
            Ok(false)
        }

        fn read_version(&self, name: &str, _: ByteRange, _: &mut Buffer<'_>) -> Result<Option<ObjectState>> {
            self.add("read_version", name);
            Ok(None)
        }

        fn open(&self, name: &str) -> Result<Opening<'_>> {
            self.add("open", name);
            Ok(Opening::Absent)
        }

        fn location(&self, prefix: &str) -> Result<Option<u128>> {
            self.add("location", prefix);
            Ok(Some(1))
        }

        fn list(&self, prefix: &str, _: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
            self.add("list", prefix);
            Ok(())
        }

        fn remove_empty(&self, prefix: &str) -> Result<()> {
            self.add("remove_empty", prefix);
            Ok(())
        }

        fn remove_unfinished(&self, prefix: &str) -> Result<()> {
            self.add("remove_unfinished", prefix);
            Ok(())
        }

        fn finish(&self) -> Result<()> {
            self.add("finish", "");
            Ok(())
        }

        fn is_concurrent(&self) -> bool {
            false
        }

        fn gap(&self) -> usize {
            7
        }
    }

    /// What is asked of a storage below another one, and of what points to it, is asked of that one by the full name.
    #[test]
    fn all_is_asked_of_the_storage_itself() {
        let asked = std::sync::Arc::new(Asked::default());
        let below = Box::new(PrefixedStorage::new(asked.clone(), "g/h").unwrap());
        let mut buffer = Buffer::new(&mut []);
        assert_eq!(below.prefix(), "g/h");
        assert_eq!(below.read("x", ByteRange::At(0), &mut buffer), Ok(None));
        assert_eq!(below.read_part("x", 0, &mut buffer), Ok(false));
        assert_eq!(below.read_version("x", ByteRange::At(0), &mut buffer), Ok(None));
        assert!(matches!(below.open("x"), Ok(Opening::Absent)));
        let mut one = |_: &str, _| Ok(());
        assert_eq!((below.list("", &mut one), below.list_all("x", &mut |_, _| Ok(()))), (Ok(()), Ok(())));
        assert_eq!((below.remove_empty("x"), below.remove_unfinished("")), (Ok(()), Ok(())));
        assert_eq!(below.finish(), Ok(()));
        assert_eq!((below.location(""), below.location("x")), (Ok(Some(1)), Ok(Some(1))));
        let all = ["read g/h/x", "read_part g/h/x", "read_version g/h/x", "open g/h/x", "list g/h", "list g/h/x"];
        assert_eq!(asked.0.lock().unwrap()[..6], all);
        let changed = ["remove_empty g/h/x", "remove_unfinished g/h", "finish "];
        assert_eq!(asked.0.lock().unwrap()[6..9], changed);
        assert_eq!(asked.0.lock().unwrap()[9..], ["location g/h", "location g/h/x"]);
        assert_eq!((below.is_concurrent(), below.gap(), below.is_writable()), (false, 7, false));
        // It neither writes nor removes, unless it says how.
        let refused = [below.write("x", b""), below.remove("x")].map(|result| result.unwrap_err().kind());
        assert_eq!(refused, [ErrorKind::ReadOnly; 2]);
        assert_eq!(below.read("../x", ByteRange::At(0), &mut buffer).unwrap_err().status(), crate::status::EINVAL);
    }
}
