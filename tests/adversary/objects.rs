//! Storages, under arrays of all kinds: opened, listed, read, written, made smaller and larger, given an
//! attribute, and made again.
#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, OnceLock, Weak};

use nczchunk::object::{ByteRange, Entry, Memory, ObjectStore, PrefixedStorage, Storage, only_prefix, read_whole};
use nczchunk::{Array, ArrayFormat, Buffer, Cache, Description, ElementType, ErrorKind, Result, list};

use super::*;

faults! {
    Fails,
    /// It does what it should, and then fails.
    FailsLate,
    Panics,
    PanicsLate,
    Absent,
    /// It does nothing: an object is empty, or longer than can be, or as long as it is; nothing is written, removed or
    /// listed.
    Nothing,
    NothingOfMore,
    NothingOfAll,
    /// It does half of it, and says that it has done all.
    Half,
    /// It reads all, and says that the object is shorter or longer.
    AllOfLess,
    AllOfMore,
    /// It fills more than there is room for.
    More,
    Zeros,
    Lies,
    /// It lists names that no object has, each twice, and goes on after an error, which it does not tell.
    ListsAnything,
    /// It reads and lists by the library itself.
    Enters,
    /// It says something else each time it is asked what it can do.
    Wavers,
}

struct Adversary {
    memory: Memory,
    fault: Fault,
    turn: Turn,
    asked: AtomicUsize,
    own: OnceLock<Weak<Adversary>>,
    depth: AtomicUsize,
}

impl Adversary {
    fn new(fault: Fault, at: Option<usize>) -> Arc<Self> {
        let (asked, depth) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let own = OnceLock::new();
        let adversary = Arc::new(Adversary { memory: Memory::new(), fault, turn: Turn::new(at), asked, own, depth });
        let _ = adversary.own.set(Arc::downgrade(&adversary));
        adversary
    }

    fn fault(&self) -> Option<Fault> {
        let fault = self.turn.has_come().then_some(self.fault);
        match fault {
            Some(Fault::Panics) => panic!("the adversary panics"),
            Some(Fault::Enters) => {
                if self.depth.fetch_add(1, SeqCst) == 0 {
                    let storage = Storage::new(self.own.get().unwrap().upgrade().unwrap()).unwrap();
                    let _ = list(&storage, "", true);
                    if let Ok(array) = Array::open_in(&storage, "", Access::Read) {
                        let result = outcome(|| READS[0].1(array.variable(), array.store(), &SELECTIONS[1]));
                        check_read("from within", &SELECTIONS[1], result, false);
                    }
                }
                self.depth.fetch_sub(1, SeqCst);
            }
            _ => {}
        }
        fault
    }

    fn wavers(&self) -> Option<usize> {
        (self.fault == Fault::Wavers).then(|| self.asked.fetch_add(1, SeqCst))
    }

    /// What becomes of a change that has been made.
    fn done(fault: Option<Fault>) -> Result<()> {
        assert!(fault != Some(Fault::PanicsLate), "the adversary panics");
        if fault == Some(Fault::FailsLate) { Err(ErrorKind::Callback(-7).into()) } else { Ok(()) }
    }
}

impl ObjectStore for Adversary {
    fn read(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<u64>> {
        let fault = self.fault();
        let Some(object) = read_whole(&self.memory, name, 1 << 20)? else { return Ok(None) };
        let len = object.len() as u64;
        let rest = &object[begin.offset(len) as usize..];
        let wanted = &rest[..rest.len().min(buffer.capacity())];
        match fault {
            Some(Fault::Fails) => return Err(ErrorKind::Callback(-7).into()),
            Some(Fault::Absent) => return Ok(None),
            Some(Fault::Nothing) => return Ok(Some(0)),
            Some(Fault::NothingOfMore) => return Ok(Some(u64::MAX)),
            Some(Fault::NothingOfAll) => return Ok(Some(len)),
            Some(Fault::Half) => {
                buffer.write(&wanted[..wanted.len() / 2]);
            }
            Some(Fault::More) => {
                assert!(!buffer.write(&vec![LIE; buffer.capacity() + 1]));
                buffer.skip(usize::MAX);
            }
            Some(Fault::Zeros) => {
                buffer.zeroed();
            }
            Some(Fault::Lies) => {
                buffer.write(&vec![LIE; wanted.len()]);
            }
            _ => {
                buffer.write(wanted);
            }
        }
        Adversary::done(fault)?;
        Ok(Some(match fault {
            Some(Fault::AllOfLess) => len.saturating_sub(1),
            Some(Fault::AllOfMore) => len + 1,
            _ => len,
        }))
    }

    fn list(&self, prefix: &str, one: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
        let fault = self.fault();
        match fault {
            Some(Fault::Fails) => return Err(ErrorKind::Callback(-7).into()),
            Some(Fault::Absent | Fault::Nothing) => return Ok(()),
            Some(Fault::ListsAnything) => {
                let mut names: Vec<String> = ["", "..", "a/b", "\0", "c\\d"].map(String::from).into();
                // A tree without an end would be walked through without an end.
                names.extend((prefix.split('/').count() < 2).then(|| "no".to_owned()));
                self.memory.list(prefix, &mut |name, _| {
                    names.push(name.to_owned());
                    Ok(())
                })?;
                for name in &names {
                    for entry in [Entry::Object, Entry::Prefix, Entry::Object] {
                        let _ = one(name, entry);
                    }
                }
                return Ok(());
            }
            _ => self.memory.list(prefix, one)?,
        }
        Adversary::done(fault)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let fault = self.fault();
        match fault {
            Some(Fault::Fails) => return Err(ErrorKind::Callback(-7).into()),
            Some(Fault::Nothing) => return Ok(()),
            Some(Fault::Half) => self.memory.write(name, &bytes[..bytes.len() / 2])?,
            _ => self.memory.write(name, bytes)?,
        }
        Adversary::done(fault)
    }

    fn remove(&self, name: &str) -> Result<()> {
        let fault = self.fault();
        match fault {
            Some(Fault::Fails) => return Err(ErrorKind::Callback(-7).into()),
            Some(Fault::Nothing) => return Ok(()),
            _ => self.memory.remove(name)?,
        }
        Adversary::done(fault)
    }

    fn is_writable(&self) -> bool {
        self.wavers().is_none_or(|asked| asked % 5 != 0)
    }

    fn is_concurrent(&self) -> bool {
        self.wavers().is_none_or(|asked| asked % 2 == 0)
    }

    fn gap(&self) -> usize {
        self.wavers().map_or(1, |asked| [0, 1, usize::MAX][asked % 3])
    }
}

fn may_panic(fault: Fault) -> bool {
    matches!(fault, Fault::Panics | Fault::PanicsLate)
}

/// How an array is stored.
#[derive(Debug, Clone, Copy)]
enum Kind {
    V2,
    V3,
    Shards,
}

const KINDS: [Kind; 3] = [Kind::V2, Kind::V3, Kind::Shards];

fn description(kind: Kind) -> Description<'static> {
    const FILL_BYTES: [u8; 2] = FILL.to_ne_bytes();
    let description = Description::new(&SHAPE, ElementType::UShort)
        .with_chunk_shape(&CHUNK)
        .with_fill_value(&FILL_BYTES)
        .with_codecs(&[])
        .with_attributes_json(r#"{"units":"K"}"#);
    match kind {
        Kind::V2 => description.with_format(ArrayFormat::ZarrV2),
        Kind::V3 => description,
        Kind::Shards => description.with_shard_shape(&[4, 6]),
    }
}

/// Does everything that can be done to an array of this kind in the adversary's storage.
fn use_array(what: &str, adversary: &Arc<Adversary>, kind: Kind, may_panic: bool) {
    let all: Vec<u16> = places(&SELECTIONS[0]).map(value).collect();
    let is_fine = |outcome: std::thread::Result<()>| assert!(outcome.is_ok() || may_panic, "{what}: a panic");
    let storage = Storage::new(adversary.clone()).unwrap();
    is_fine(outcome(|| list(&storage, "", true)).map(drop));
    is_fine(outcome(|| only_prefix(adversary)).map(drop));
    is_fine(outcome(|| read_whole(adversary, "zarr.json", 100)).map(drop));
    for access in [Access::Read, Access::Write] {
        let opened = outcome(|| Array::open_in(&storage, "", access));
        let Ok(Ok(mut array)) = opened else {
            is_fine(opened.map(drop));
            continue;
        };
        if access == Access::Write {
            array.set_cache(Some(&Cache::new(3 * CHUNK_BYTES).unwrap()));
        }
        // Metadata may be anything, as long as they are metadata.
        if array.variable().element_size() != 2 || array.variable().rank() != 2 {
            continue;
        }
        for (way, read) in all_or_some(READS.into_iter(), 4) {
            for selection in &SELECTIONS[..2] {
                let result = outcome(|| read(array.variable(), array.store(), selection));
                check_read(&format!("{what}, {way}"), selection, result, may_panic);
            }
        }
        is_fine(outcome(|| array.stored_chunk_len(&[1, 1])).map(drop));
        for (_, write) in WRITES {
            let values: Vec<u16> = places(&SELECTIONS[1]).map(written).collect();
            is_fine(outcome(|| write(array.variable(), array.store(), &SELECTIONS[1], &values)).map(drop));
        }
        is_fine(outcome(|| array.set_attribute("units", "m")).map(drop));
        for shape in [[3, 4], SHAPE] {
            is_fine(outcome(|| array.resize(&shape)).map(drop));
        }
        let read = outcome(|| array.read::<u16>(&Hyperslab::all())).map(drop);
        is_fine(read);
    }
    let below = PrefixedStorage::new(adversary.clone(), "g").unwrap();
    for storage in [storage, Storage::new(below).unwrap()] {
        for overwrite in [false, true] {
            let description = description(kind).with_overwrite(overwrite);
            let created = outcome(|| Array::create_in(&storage, "", &description)?.write(&Hyperslab::all(), &all));
            is_fine(created.map(drop));
        }
        is_fine(outcome(|| storage.finish()).map(drop));
    }
}

#[test]
fn arrays() {
    for kind in KINDS {
        for fault in all_or_some(FAULTS.into_iter(), 3) {
            // At each call there is, and at every one.
            let mut at = Some(0);
            loop {
                let adversary = Adversary::new(fault, at);
                let honest = Arc::new(Memory::new());
                let array = Array::create_in(&Storage::new(honest.clone()).unwrap(), "", &description(kind)).unwrap();
                let all: Vec<u16> = places(&SELECTIONS[0]).map(value).collect();
                array.write(&Hyperslab::all(), &all).unwrap();
                copy(&honest, &adversary.memory, "");
                use_array(&format!("{kind:?}, {fault:?} at {at:?}"), &adversary, kind, may_panic(fault));
                let calls = adversary.turn.calls.load(SeqCst);
                at = match at {
                    Some(at) if at < calls => Some(at + if cfg!(miri) { 101 } else { 5 }),
                    Some(_) => None,
                    None => break,
                };
            }
        }
    }
}

/// Copies all objects below a prefix.
fn copy(from: &Memory, to: &Memory, prefix: &str) {
    let mut found = Vec::new();
    from.list(prefix, &mut |name, entry| {
        found.push((if prefix.is_empty() { name.to_owned() } else { format!("{prefix}/{name}") }, entry));
        Ok(())
    })
    .unwrap();
    for (name, entry) in found {
        match entry {
            Entry::Prefix => copy(from, to, &name),
            Entry::Object => to.write(&name, &read_whole(from, &name, 1 << 20).unwrap().unwrap()).unwrap(),
        }
    }
}

/// An error that ends a listing is told, whatever the storage makes of it, and nothing is listed after it.
#[test]
fn an_error_ends_a_listing() {
    let adversary = Adversary::new(Fault::ListsAnything, None);
    adversary.memory.write("a", b"").unwrap();
    let storage = Storage::new(adversary).unwrap();
    let mut calls = 0;
    let error = storage.list("", &mut |_, _| {
        calls += 1;
        Err(ErrorKind::Stopped(7).into())
    });
    assert_eq!((error.unwrap_err().kind(), calls), (ErrorKind::Stopped(7), 1));
}

/// A netCDF classic file of two records of a variable `b`, each of three short numbers.
fn classic() -> Vec<u8> {
    let name = |letter| u32::from_be_bytes([letter, 0, 0, 0]);
    let header = [2, 10, 2, 1, name(b't'), 0, 1, name(b'x'), 3, 0, 0, 11, 1];
    let variable = [1, name(b'b'), 2, 0, 1, 0, 0, 3, 8, 4 * (header.len() as u32 + 10) + 4];
    let numbers = header.into_iter().chain(variable).chain([0x0001_0002, 0x0003_0000, 0x0004_0005, 0x0006_0000]);
    b"CDF\x01".iter().copied().chain(numbers.flat_map(u32::to_be_bytes)).collect()
}

/// Whole files that hold arrays, in the adversary's storage.
#[test]
fn files() {
    #[allow(unused_mut)]
    let mut files = vec![classic()];
    #[cfg(all(feature = "zip", not(miri)))]
    files.push(zip());
    for bytes in files {
        let is_zip = bytes.starts_with(b"PK");
        for fault in FAULTS {
            for at in all_or_some((0..12).map(Some).chain([None]), 6) {
                let adversary = Adversary::new(fault, at);
                adversary.memory.write("f", &bytes).unwrap();
                let read = outcome(|| {
                    let (storage, name) = if is_zip {
                        #[cfg(all(feature = "zip", not(miri)))]
                        {
                            (Storage::new(nczchunk::object::Zip::within(adversary.clone(), "f")?)?, "")
                        }
                        #[cfg(not(all(feature = "zip", not(miri))))]
                        unreachable!()
                    } else {
                        (Storage::new(adversary.clone())?.file("f")?, "b")
                    };
                    drop(list(&storage, "", true));
                    let array = Array::open_in(&storage, name, Access::Read)?;
                    let read = array.read::<u16>(&Hyperslab::all());
                    array.stored_chunk_len(&[0; 2])?;
                    read
                });
                match read {
                    Err(_) => assert!(may_panic(fault), "{fault:?} at {at:?}: a panic of the library's"),
                    Ok(Err(_)) => {}
                    Ok(Ok(values)) => {
                        let known = |found: &u16| (1..=700).contains(found) || [0, FILL, 0xDDDD].contains(found);
                        assert!(values.iter().all(known), "{fault:?} at {at:?}: {values:x?}");
                    }
                }
            }
        }
    }
}

/// A zip file with an array.
#[cfg(all(feature = "zip", not(miri)))]
fn zip() -> Vec<u8> {
    let path = std::env::temp_dir().join(format!("nczchunk-adversary-{}.zip", std::process::id()));
    let storage = Storage::new(nczchunk::object::ZipWriter::create(&path).unwrap()).unwrap();
    let array = Array::create_in(&storage, "", &description(Kind::V3)).unwrap();
    array.write(&Hyperslab::all(), &places(&SELECTIONS[0]).map(value).collect::<Vec<_>>()).unwrap();
    storage.finish().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    bytes
}
