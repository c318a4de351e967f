//! Objects that are parts of others: what a file of references says.
#![allow(unsafe_code)]

use std::sync::OnceLock;

use super::byte_range::ByteRange;
use super::flight::Limits;
use super::names;
use super::traits::{Entry, Found, ObjectStore, Route, check_name, check_prefix, latency};
use crate::alloc;
use crate::buffer::Buffer;
use crate::error::{Error, ErrorKind, Result};
use crate::shared::Shared;

/// What an object is.
#[derive(Clone)]
pub(crate) enum Reference {
    /// These bytes.
    Bytes(Shared<Vec<u8>>),
    /// So many bytes of a target from an offset on, or all of it.
    Target(Shared<Target>, Option<(u64, u64)>),
}

/// What references lead to: an object of a store.
pub(crate) struct Target {
    pub store: Shared<Box<dyn ObjectStore>>,
    pub name: String,
}

/// References that are read when they are needed.
#[cfg_attr(not(feature = "parquet"), allow(dead_code, reason = "only references in Parquet are read later"))]
pub(crate) trait Records: Send + Sync {
    /// The reference that an object is.
    fn find(&self, name: &str) -> Result<Option<Reference>>;

    /// The stores that objects were found to be in: the first ones, if there are many.
    fn stores(&self) -> &[OnceLock<Shared<Box<dyn ObjectStore>>>];

    /// Calls `one` with the last parts of the names of those that are directly below a prefix.
    fn list(&self, prefix: &str, one: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()>;
}

/// Objects that are parts of others, which are only read.
pub(crate) struct References {
    /// By name, ascending.
    objects: Vec<(String, Reference)>,
    /// Those that are not among them.
    records: Option<Box<dyn Records>>,
    /// The stores that objects are in, but those of `records`.
    stores: Vec<Shared<Box<dyn ObjectStore>>>,
}

impl References {
    /// These objects, of which several of one name are not there, others, and the stores that they are in.
    pub(crate) fn new(
        mut objects: Vec<(String, Reference)>,
        records: Option<Box<dyn Records>>,
        stores: Vec<Shared<Box<dyn ObjectStore>>>,
    ) -> Self {
        objects.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        References { objects, records, stores }
    }

    /// The stores that objects are in, as far as they are known.
    fn stores(&self) -> impl Iterator<Item = &dyn ObjectStore> {
        let later = self.records.iter().flat_map(|records| records.stores()).map_while(OnceLock::get);
        self.stores.iter().chain(later).map(|store| &***store)
    }

    fn find(&self, name: &str) -> Result<Option<Reference>> {
        check_name(name).map_err(|error| error.in_object(name))?;
        let at = self.objects.binary_search_by(|(other, _)| other.as_str().cmp(name));
        match (at.ok().and_then(|at| self.objects.get(at)), &self.records) {
            (Some((_, reference)), _) => Ok(Some(reference.clone())),
            (None, Some(records)) => records.find(name),
            (None, None) => Ok(None),
        }
    }
}

/// What is said if there is nothing where a reference leads to. The object is there, so that it is no absent one.
pub(crate) fn nowhere(target: &str) -> Error {
    ErrorKind::NotFound("file that a reference leads to").in_object(target)
}

/// The way to a target, or to a part of it.
fn to<'r>(
    store: &'r dyn ObjectStore,
    name: &str,
    part: Option<(u64, u64)>,
    begin: ByteRange,
    size: usize,
) -> Result<Route<'r>> {
    let (begin, size, found) = match part {
        None => (begin, size, Found::Due),
        Some((first, len)) => {
            let offset = begin.offset(len);
            let size = usize::try_from(len - offset).unwrap_or(usize::MAX).min(size);
            if size == 0 {
                return Ok(Route::Own);
            }
            let at = first.checked_add(offset).ok_or_else(|| ErrorKind::Truncated.in_object(name))?;
            (ByteRange::At(at), size, Found::Part { len })
        }
    };
    Ok(Route::To { store, name: alloc::text(name)?, begin, size, found })
}

impl ObjectStore for References {
    fn read(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<u64>> {
        match self.find(name)? {
            None => Ok(None),
            Some(Reference::Bytes(bytes)) => Ok(Some(begin.copy(&bytes, buffer))),
            Some(Reference::Target(target, None)) => {
                let Target { store, name } = &*target;
                store.read(name, begin, buffer)?.map(Some).ok_or_else(|| nowhere(name))
            }
            Some(Reference::Target(target, Some((first, len)))) => {
                let Target { store, name: target } = &*target;
                let offset = begin.offset(len);
                let due = usize::try_from(len - offset).unwrap_or(usize::MAX).min(buffer.capacity());
                if due > 0 {
                    let at = first.checked_add(offset).ok_or(ErrorKind::Truncated)?;
                    let mut part = buffer.rest_up_to(due);
                    if !store.read_part(target, at, &mut part)? {
                        return Err(nowhere(target));
                    }
                    if part.filled().len() < due {
                        return Err(ErrorKind::Truncated.in_object(target));
                    }
                    // SAFETY: the part is where the buffer begins, which was empty; so many bytes of it were written.
                    unsafe { buffer.set_filled(due) };
                }
                Ok(Some(len))
            }
        }
    }

    fn tell_name(&self, name: &str, one: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
        check_name(name).map_err(|error| error.in_object(name))?;
        one(name)
    }

    fn list(&self, prefix: &str, one: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
        check_prefix(prefix).map_err(|error| error.in_object(prefix))?;
        names::list(self.objects.len(), |i| &self.objects[i].0, prefix, one)?;
        self.records.as_ref().map_or(Ok(()), |records| records.list(prefix, one))
    }

    fn is_archive(&self) -> bool {
        true
    }

    fn routed_limits(&self) -> Option<Limits> {
        self.stores().find_map(latency)
    }

    fn route(&self, name: &str, begin: ByteRange, size: usize) -> Result<Route<'_>> {
        check_name(name).map_err(|error| error.in_object(name))?;
        let at = self.objects.binary_search_by(|(other, _)| other.as_str().cmp(name));
        let known = at.ok().and_then(|at| self.objects.get(at)).map(|(_, reference)| reference);
        if let Some(Reference::Target(target, part)) = known {
            return to(&**target.store, &target.name, *part, begin, size);
        }
        let (None, Some(records)) = (known, &self.records) else { return Ok(Route::Own) };
        let Some(Reference::Target(target, part)) = records.find(name)? else { return Ok(Route::Own) };
        let is_it = |store: &&dyn ObjectStore| std::ptr::addr_eq(*store, &**target.store);
        let Some(store) = self.stores().find(is_it) else { return Ok(Route::Own) };
        to(store, &target.name, part, begin, size)
    }

    fn gap(&self) -> usize {
        self.stores().map(|store| store.gap()).max().unwrap_or(256)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Memory;
    use crate::object::testing::{list, read, whole};

    fn references() -> References {
        let memory = Memory::new();
        memory.write("file", b"0123456789").unwrap();
        let store = Shared::new(Box::new(memory) as Box<dyn ObjectStore>).unwrap();
        let targets = ["file", "other"].map(|name| Target { store: store.clone(), name: name.to_owned() });
        let targets = targets.map(|target| Shared::new(target).unwrap());
        let target = |number: usize, part| Reference::Target(targets[number].clone(), part);
        let bytes = |bytes: &[u8]| Reference::Bytes(Shared::new(bytes.to_vec()).unwrap());
        let objects = [
            ("x/0.1", target(0, Some((3, 4)))),
            ("x/.zarray", bytes(b"{}")),
            ("x/0.0", target(0, None)),
            ("x/0.2", target(0, Some((8, 3)))),
            ("x/0.3", target(1, Some((0, 3)))),
            ("x/0.4", target(0, Some((u64::MAX, 3)))),
            ("z", bytes(b"")),
        ];
        let objects = objects.map(|(name, reference)| (name.to_owned(), reference)).into();
        References::new(objects, None, vec![store])
    }

    #[test]
    fn objects_are_parts_of_others() {
        let references = references();
        let part = |name: &str, begin, room| read(&references, name, begin, room).unwrap().unwrap();
        assert_eq!(whole(&references, "x/0.0").unwrap(), b"0123456789");
        assert_eq!(whole(&references, "x/.zarray").unwrap(), b"{}");
        assert_eq!(part("x/0.1", ByteRange::At(0), 9), (b"3456".to_vec(), 4));
        assert_eq!(part("x/0.1", ByteRange::At(1), 2), (b"45".to_vec(), 4));
        assert_eq!(part("x/0.1", ByteRange::BeforeEnd(1), 9), (b"6".to_vec(), 4));
        assert_eq!(part("x/0.1", ByteRange::At(7), 9), (vec![], 4));
        assert_eq!(part("x/0.3", ByteRange::At(0), 0), (vec![], 3));
        assert_eq!(whole(&references, "z"), Some(vec![]));
        assert_eq!((whole(&references, "x/1"), whole(&references, "y")), (None, None));
        assert_eq!(list(&references, ""), ["x/", "z"]);
        assert_eq!(list(&references, "x"), [".zarray", "0.0", "0.1", "0.2", "0.3", "0.4"]);
        assert!(!references.is_writable() && references.is_concurrent());
        assert_eq!(references.write("z", b"").unwrap_err().kind(), ErrorKind::ReadOnly);
    }

    /// References that are found when they are needed.
    #[cfg(feature = "codecs")]
    struct Later {
        objects: Vec<(String, Reference)>,
        stores: [OnceLock<Shared<Box<dyn ObjectStore>>>; 1],
    }

    #[cfg(feature = "codecs")]
    impl Records for Later {
        fn find(&self, name: &str) -> Result<Option<Reference>> {
            Ok(self.objects.iter().find(|(other, _)| other == name).map(|(_, reference)| reference.clone()))
        }

        fn stores(&self) -> &[OnceLock<Shared<Box<dyn ObjectStore>>>] {
            &self.stores
        }

        fn list(&self, _: &str, _: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
            Ok(())
        }
    }

    /// Parts of files that answer later are read together, with those that are there at once.
    #[cfg(feature = "codecs")]
    #[test]
    fn parts_are_in_flight_together() {
        use crate::object::{Storage, testing::DelayedStorage};
        use crate::{Access, Array, Hyperslab};
        let later = std::sync::Arc::new(DelayedStorage::new());
        later.put("file", &(0..40).collect::<Vec<u8>>());
        let store = Shared::new(Box::new(later.clone()) as Box<dyn ObjectStore>).unwrap();
        let target = |name: &str| Shared::new(Target { store: store.clone(), name: name.to_owned() }).unwrap();
        let bytes = |bytes: &[u8]| Reference::Bytes(Shared::new(bytes.to_vec()).unwrap());
        let document = br#"{"zarr_format":2,"shape":[12],"chunks":[2],"dtype":"|u1","fill_value":99,"order":"C",
            "filters":null,"compressor":null}"#;
        let file = target("file");
        let part = |first| Reference::Target(file.clone(), Some((first, 2)));
        let read = |last: Reference, is_later: bool| {
            let objects = [
                ("x/.zarray", bytes(document)),
                ("x/0", part(30)),
                ("x/1", bytes(&[7, 8])),
                ("x/2", part(4)),
                ("x/3", part(20)),
                ("x/5", last),
            ];
            let mut objects = objects.map(|(name, reference)| (name.to_owned(), reference)).to_vec();
            let references = if is_later {
                let later = Later { objects: objects.split_off(1), stores: [store.clone().into()] };
                References::new(objects, Some(Box::new(later)), Vec::new())
            } else {
                References::new(objects, None, vec![store.clone()])
            };
            let storage = Storage::new(references).unwrap();
            Array::open_in(&storage, "x", Access::Read)?.read::<u8>(&Hyperslab::all())
        };
        for is_later in [false, true] {
            later.reset();
            assert_eq!(read(part(0), is_later).unwrap(), [30, 31, 7, 8, 4, 5, 20, 21, 99, 99, 0, 1]);
            assert!(later.most().0 > 1 && later.requests_in_flight() == 0);
            for (last, kind, about) in [
                (part(39), ErrorKind::Truncated, "file"),
                (part(u64::MAX), ErrorKind::Truncated, "file"),
                (Reference::Target(target("no"), None), ErrorKind::NotFound("file that a reference leads to"), "no"),
            ] {
                let error = read(last, is_later).unwrap_err();
                assert_eq!((error.kind(), error.about()), (kind, about));
                assert_eq!(later.requests_in_flight(), 0);
            }
        }
    }

    /// What is not where a reference says is an error, and not an absent object.
    #[test]
    fn references_that_lead_nowhere_are_errors() {
        let references = references();
        let failed = |name| {
            let error = read(&references, name, ByteRange::At(0), 9).unwrap_err();
            (error.kind(), error.about().to_owned())
        };
        assert_eq!(failed("x/0.2"), (ErrorKind::Truncated, "file".to_owned()));
        assert_eq!(failed("x/0.3"), (ErrorKind::NotFound("file that a reference leads to"), "other".to_owned()));
        assert_eq!(failed("x/0.4").0, ErrorKind::Truncated);
        assert!(matches!(failed("../x").0, ErrorKind::Argument(_)));
    }
}
