//! Arrays of HDF5 files in a storage that answers later: what is read of their indices, and how often.

use std::io::Read;
use std::sync::Arc;

use crate::array::{Array, list};
use crate::element::ElementType;
use crate::grid::Access;
use crate::hyperslab::Hyperslab;
use crate::object::delayed::DelayedStorage;
use crate::object::{Memory, Storage};
use crate::plan::Plan;

/// The files of tests/vectors/hdf5.py.
fn files() -> Vec<(String, Vec<u8>)> {
    let packed = include_bytes!("../../../tests/vectors/hdf5.bin.gz");
    let mut data = Vec::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut data).unwrap();
    let (mut files, mut rest) = (Vec::new(), data.as_slice());
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == b'\n').unwrap();
        let line = std::str::from_utf8(&rest[..end]).unwrap();
        rest = &rest[end + 1..];
        if line.contains("\trefused\t") {
            continue;
        }
        let (bytes, behind) = rest.split_at(line.rsplit('\t').next().unwrap().parse().unwrap());
        rest = behind;
        if !line.starts_with(' ') {
            files.push((line.split('\t').next().unwrap().to_owned(), bytes.to_vec()));
        }
    }
    files
}

fn of(name: &str) -> Vec<u8> {
    files().into_iter().find(|(other, _)| other == name).unwrap().1
}

fn values(array: &Array) -> Vec<u8> {
    if *array.element_type() == ElementType::String {
        return array.read_strings(&Hyperslab::all()).unwrap().join("|").into_bytes();
    }
    let plan = Plan::new(array.variable(), &Hyperslab::all(), Access::Read).unwrap();
    let mut bytes = vec![0; plan.memory_bytes()];
    plan.read(array.store(), &mut bytes).unwrap();
    bytes
}

/// A file in a storage that answers later, so many requests at once.
fn later(bytes: &[u8], requests: usize) -> (Arc<DelayedStorage>, Storage) {
    let mut later = DelayedStorage::new();
    later.limits.requests = requests;
    later.put("f", bytes);
    let later = Arc::new(later);
    let storage = Storage::new(later.clone()).unwrap().file("f").unwrap();
    (later, storage)
}

#[test]
fn arrays_in_flight_are_those_in_memory() {
    for (name, bytes) in files().iter().filter(|(name, _)| !name.starts_with("groups")) {
        let memory = Storage::new(Memory::new()).unwrap();
        memory.write("f", bytes).unwrap();
        let memory = memory.file("f").unwrap();
        for requests in [1, 5, 64] {
            let (later, storage) = later(bytes, requests);
            for node in list(&memory, "", true).unwrap() {
                let open = |storage| Array::open_in(storage, node.name(), Access::Read);
                let Ok(array) = open(&memory) else { continue };
                let found = values(&open(&storage).unwrap());
                assert!(found == values(&array), "{name}: {} with {requests} requests", node.name());
            }
            assert_eq!(later.requests_in_flight(), 0);
        }
    }
}

/// The reads of a storage that answers later, after the array was opened.
fn reads(file: &str, name: &str, slab: &Hyperslab<'_>) -> Vec<(u64, usize)> {
    let (later, storage) = later(&of(file), 64);
    let array = Array::open_in(&storage, name, Access::Read).unwrap();
    later.reset();
    let before = later.log().len();
    array.read::<i8>(slab).unwrap();
    later.log()[before..].iter().map(|(_, begin, len)| (*begin, *len)).collect()
}

#[test]
fn a_chunk_takes_a_few_reads_and_all_take_no_node_twice() {
    let arrays = [
        ("fixed", 4100, 3),
        ("extensible", 20000, 4),
        ("extensible", 0, 2),
        ("million", 500_001, 4),
        ("million", 999_999, 4),
        ("million", 777_777, 3),
    ];
    for (name, at, most) in arrays {
        let one = reads("pages.h5", name, &Hyperslab::new(&[at], &[1]));
        assert!(one.len() <= most, "{name}: {one:?}");
        let mut all = reads("pages.h5", name, &Hyperslab::all());
        let num = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), num, "{name}");
    }
}
