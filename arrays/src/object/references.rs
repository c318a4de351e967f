//! Objects that are parts of others: what a file of references says.
#![allow(unsafe_code)]

use std::ffi::CStr;

use super::byte_range::ByteRange;
use super::flight::{Answer, Flight, Limits, ObjectRequest};
use super::names;
use super::relay::{Next, Part, Passed, Relay, Relays};
use super::traits::{Entry, ObjectStore, check_name, check_prefix};
use crate::alloc;
use crate::buffer::Buffer;
use crate::error::{Error, ErrorKind, Result};

/// What an object is.
#[derive(Debug)]
pub(crate) enum Reference {
    /// These bytes.
    Bytes(Vec<u8>),
    /// The target of this number: so many bytes from an offset on, or all of it.
    Target(usize, Option<(u64, u64)>),
}

/// What references lead to: an object of the store of this number.
#[derive(Debug)]
pub(crate) struct Target {
    pub store: usize,
    pub name: String,
}

/// Objects that are parts of others, which are only read.
pub(crate) struct References {
    /// By name, ascending.
    objects: Vec<(String, Reference)>,
    targets: Vec<Target>,
    stores: Vec<Box<dyn ObjectStore>>,
    relay: Relay,
}

impl References {
    /// These objects, of which several of one name are not there. Of the stores where reads are in flight, any one
    /// waits for the reads of all.
    pub(crate) fn new(
        mut objects: Vec<(String, Reference)>,
        targets: Vec<Target>,
        stores: Vec<Box<dyn ObjectStore>>,
    ) -> Self {
        objects.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        References { objects, targets, stores, relay: Relay::new() }
    }

    fn find(&self, name: &str) -> Result<Option<&Reference>> {
        check_name(name).map_err(|error| error.in_object(name))?;
        let at = self.objects.binary_search_by(|(other, _)| other.as_str().cmp(name));
        Ok(at.ok().and_then(|at| self.objects.get(at)).map(|(_, reference)| reference))
    }

    /// The store that a target is in, and the target's name there.
    fn target(&self, target: usize) -> Result<(&dyn ObjectStore, &str)> {
        let target = self.targets.get(target).ok_or(ErrorKind::Internal)?;
        let store = self.stores.get(target.store).ok_or(ErrorKind::Internal)?;
        Ok((store, &target.name))
    }

    /// What waits for the reads that are in flight, if they can be so anywhere.
    fn waits(&self) -> Option<&dyn Flight> {
        self.stores.iter().find_map(|store| store.flight())
    }
}

/// What is known of a read that was passed on: the target, and of a part of it how many bytes are due, and how many the
/// object has.
pub(super) struct Lead {
    target: usize,
    part: Option<(usize, u64)>,
}

/// What is said if there is nothing where a reference leads to. The object is there, so that it is no absent one.
fn nowhere(target: &str) -> Error {
    Error::from(ErrorKind::NotFound("file that a reference leads to")).in_object(target)
}

impl ObjectStore for References {
    fn read(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<u64>> {
        match self.find(name)? {
            None => Ok(None),
            Some(Reference::Bytes(bytes)) => {
                let offset = begin.offset(bytes.len() as u64) as usize;
                let rest = bytes.get(offset..).unwrap_or_default();
                buffer.write(&rest[..rest.len().min(buffer.capacity())]);
                Ok(Some(bytes.len() as u64))
            }
            Some(Reference::Target(target, None)) => {
                let (store, target) = self.target(*target)?;
                store.read(target, begin, buffer)?.map(Some).ok_or_else(|| nowhere(target))
            }
            Some(Reference::Target(target, Some((first, len)))) => {
                let (store, target) = self.target(*target)?;
                let offset = begin.offset(*len);
                let due = usize::try_from(*len - offset).unwrap_or(usize::MAX).min(buffer.capacity());
                if due > 0 {
                    let at = first.checked_add(offset).ok_or(ErrorKind::Truncated)?;
                    let mut part = buffer.rest_up_to(due);
                    if !store.read_part(target, at, &mut part)? {
                        return Err(nowhere(target));
                    }
                    if part.filled().len() < due {
                        return Err(Error::from(ErrorKind::Truncated).in_object(target));
                    }
                    // SAFETY: the part is where the buffer begins, which was empty; so many bytes of it were written.
                    unsafe { buffer.set_filled(due) };
                }
                Ok(Some(*len))
            }
        }
    }

    fn tell_name(&self, name: &str, one: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
        check_name(name).map_err(|error| error.in_object(name))?;
        one(name)
    }

    fn list(&self, prefix: &str, one: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
        check_prefix(prefix).map_err(|error| error.in_object(prefix))?;
        names::list(self.objects.len(), |i| &self.objects[i].0, prefix, one)
    }

    fn is_concurrent(&self) -> bool {
        self.stores.iter().all(|store| store.is_concurrent())
    }

    fn gap(&self) -> usize {
        self.stores.iter().map(|store| store.gap()).max().unwrap_or(256)
    }

    fn flight(&self) -> Option<&dyn Flight> {
        self.waits().map(|_| self as &dyn Flight)
    }
}

// SAFETY: `wait` gives back what `Relay` says has ended; a read that ends at once has been made by `read`.
unsafe impl Flight for References {
    fn limits(&self) -> Limits {
        self.waits().map_or_else(Limits::default, Flight::limits)
    }

    unsafe fn start(&self, outer: *mut ObjectRequest) -> Result<bool> {
        // SAFETY: the request and its name are valid, and its memory is used by nobody else until it is given back.
        let (name, begin, buffer, size) = unsafe {
            let ObjectRequest { name, offset, from_end, buffer, size, .. } = *outer;
            let begin = if from_end == 1 { ByteRange::BeforeEnd(offset) } else { ByteRange::At(offset) };
            (CStr::from_ptr(name).to_str().map_err(|_| ErrorKind::Internal)?, begin, buffer.cast(), size)
        };
        let passed = match self.find(name)? {
            None => return Ok(false),
            Some(Reference::Target(target, None)) => Some((*target, begin, size, None)),
            Some(Reference::Target(target, Some((first, len)))) => {
                let offset = begin.offset(*len);
                let due = usize::try_from(*len - offset).unwrap_or(usize::MAX).min(size);
                let at = first.checked_add(offset).ok_or(ErrorKind::Truncated)?;
                (due > 0).then_some((*target, ByteRange::At(at), due, Some((due, *len))))
            }
            Some(Reference::Bytes(_)) => None,
        };
        if let Some((target, begin, size, part)) = passed {
            let (store, name) = self.target(target)?;
            if let Some(flight) = store.flight() {
                let to = Part { name, begin, buffer, size };
                // SAFETY: the caller's promise.
                let is_there = unsafe { Relay::pass(flight, outer, &to, Lead { target, part }) };
                return if is_there.map_err(|error| error.in_object(name))? { Ok(true) } else { Err(nowhere(name)) };
            }
        }
        // SAFETY: there is room for so many bytes, which nobody else uses.
        let mut buffer = Buffer::new(unsafe { alloc::room_at(buffer, size) });
        let outcome = self.read(name, begin, &mut buffer).map(|len| {
            let nbytes = buffer.filled().len();
            len.map(|object_size| Answer { nbytes, object_size, version: None, is_lasting: false })
        });
        self.relay.end(outer, outcome).map(|()| true)
    }

    unsafe fn wait(&self) -> Result<*mut ObjectRequest> {
        // SAFETY: the caller's promise.
        unsafe { self.relay.wait(self, self.waits().ok_or(ErrorKind::Internal)?) }
    }

    unsafe fn cancel(&self, request: *mut ObjectRequest) {
        // SAFETY: the caller's promise.
        unsafe { Relay::cancel(self, request) };
    }

    unsafe fn take_error(&self, request: *mut ObjectRequest) -> Option<Error> {
        // SAFETY: the caller's promise.
        unsafe { ObjectRequest::take_error(request) }
    }
}

impl Relays for References {
    type Own = Lead;

    fn to(&self, lead: &Lead) -> Result<&dyn Flight> {
        Ok(self.target(lead.target)?.0.flight().ok_or(ErrorKind::Internal)?)
    }

    unsafe fn next(
        &self,
        passed: &mut Passed<Lead>,
        _outer: *mut ObjectRequest,
        answer: Result<Option<Answer>>,
    ) -> Next<'_> {
        let Lead { target, part } = passed.own;
        let name = self.target(target).map_or("", |(_, name)| name);
        Next::Ended(match (answer, part) {
            (Err(error), _) => Err(error.in_object(name)),
            (Ok(None), _) => Err(nowhere(name)),
            (Ok(Some(answer)), Some((due, _))) if answer.nbytes < due => {
                Err(Error::from(ErrorKind::Truncated).in_object(name))
            }
            (Ok(Some(answer)), part) => {
                let object_size = part.map_or(answer.object_size, |(_, len)| len);
                // As for what is read at once, versions of parts are not known.
                Ok(Some(Answer { object_size, version: None, is_lasting: false, ..answer }))
            }
        })
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
        let target = |number, part| Reference::Target(number, part);
        let objects = [
            ("x/0.1", target(0, Some((3, 4)))),
            ("x/.zarray", Reference::Bytes(b"{}".to_vec())),
            ("x/0.0", target(0, None)),
            ("x/0.2", target(0, Some((8, 3)))),
            ("x/0.3", target(1, Some((0, 3)))),
            ("x/0.4", target(0, Some((u64::MAX, 3)))),
            ("z", Reference::Bytes(Vec::new())),
        ];
        let objects = objects.map(|(name, reference)| (name.to_owned(), reference)).into();
        let targets = ["file", "other"].map(|name| Target { store: 0, name: name.to_owned() });
        References::new(objects, targets.into(), vec![Box::new(memory)])
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
