//! Arrays of HDF5 files in a storage that answers later: what is read of their indices, and how often.
#![allow(unsafe_code)]

use std::io::{Read, Write};
use std::sync::Arc;
#[cfg(unix)]
use std::{
    panic::AssertUnwindSafe,
    sync::Mutex,
    sync::atomic::{AtomicUsize, Ordering},
};

use super::btree::Tree;
use super::bytes::checksum;
use super::dataset::{ChunkedLayout, Dataspace, IndexMessage};
use super::file::File;
use super::header::Header;
use super::index::{Found, Index, Record};
use crate::array::{Array, list};
use crate::cache::Cache;
use crate::dataset::{AttributeValues, Head, Node};
use crate::element::ElementType;
use crate::error::{ErrorKind, Result};
use crate::grid::Access;
use crate::hyperslab::Hyperslab;
use crate::limits::MemoryLimits;
use crate::object::delayed::DelayedStorage;
use crate::object::{Memory, Storage};
use crate::plan::Plan;
#[cfg(unix)]
use crate::{
    buffer::Buffer,
    object::{ByteRange, Entry, Flight, Limits, ObjectRequest, ObjectStore, read_by_flight},
};

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

/// What is read of a file before its arrays is read once for all of them.
#[test]
fn references_to_many_arrays_read_their_groups_once() {
    let num_begun = |name: &str| {
        let (later, storage) = later(&of("tiny-heap-latest.h5"), 64);
        let text = crate::references(&storage, name, "f").unwrap();
        let num_arrays = text.matches(".zarray").count();
        // What asks for no bytes asks how many the file has.
        (num_arrays, later.log().iter().filter(|(_, begin, len)| *begin == 0 && *len > 0).count())
    };
    let ((one, begun), (all, all_begun)) = (num_begun("g/x0"), num_begun(""));
    assert_eq!((one, all), (1, 9));
    assert_eq!(begun, all_begun);
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

/// How many pages the index of the array `x` of [`masked`] has, together more than what is kept, how many chunks a page
/// has, and how many elements a chunk.
const PAGES: usize = 32;
const CHUNKS: usize = 1 << 14;
const CHUNK: usize = 100;

/// How many bytes the index has for each chunk and for each page, and where the first page is.
const ENTRY: usize = 20;
const PAGE: usize = CHUNKS * ENTRY + 4;
const FIRST_PAGE: usize = 1024 + 14 + PAGES / 8 + 4;

/// An address that stands for nothing.
const NOWHERE: [u8; 8] = [0xff; 8];

/// A structure with its checksum.
fn summed(parts: &[&[u8]]) -> Vec<u8> {
    let bytes = parts.concat();
    let sum = checksum(&bytes).to_le_bytes();
    [&bytes[..], &sum].concat()
}

fn number(number: usize) -> [u8; 8] {
    (number as u64).to_le_bytes()
}

fn message(kind: u8, flags: u8, parts: &[&[u8]]) -> Vec<u8> {
    let bytes = parts.concat();
    let len = (bytes.len() as u16).to_le_bytes();
    [&[kind, len[0], len[1], flags], &bytes[..]].concat()
}

fn header(messages: &[Vec<u8>]) -> Vec<u8> {
    let messages = messages.concat();
    summed(&[b"OHDR\x02\x02", &(messages.len() as u32).to_le_bytes(), &messages])
}

/// A part of a file: its address, and its bytes.
type Part = (usize, Vec<u8>);

/// A file with these parts, in order. The superblock has the addresses of its extension and of
/// the root group.
fn file_of(extension: &[u8; 8], root: usize, parts: &[Part]) -> Vec<u8> {
    let len = parts.last().map_or(0, |(begin, bytes)| begin + bytes.len());
    let mut file = summed(&[b"\x89HDF\r\n\x1a\n\x03\x08\x08\0", &number(0), extension, &number(len), &number(root)]);
    for (begin, bytes) in parts {
        assert!(file.len() <= *begin);
        file.resize(*begin, 0);
        file.extend(bytes);
    }
    file
}

/// A file with an array that goes through deflate, but for every other chunk of those that are stored, which are the
/// first ones of the pages.
fn masked() -> Vec<u8> {
    // Where the headers are of the group, the array and its index, and where the index and the chunks are.
    let (group, array, index, data, first_chunk) = (48, 256, 512, 1024, FIRST_PAGE + PAGES * PAGE);
    let (mut pages, mut chunks) = (Vec::new(), Vec::new());
    for i in 0..PAGES {
        let plain = [i as i16; CHUNK].map(i16::to_le_bytes).concat();
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(&plain).unwrap();
        let stored = if i % 2 == 1 { plain } else { encoder.finish().unwrap() };
        let mut entries = vec![0xff; CHUNKS * ENTRY];
        entries[..8].copy_from_slice(&number(first_chunk + chunks.len()));
        entries[8..16].copy_from_slice(&number(stored.len()));
        entries[16..ENTRY].copy_from_slice(&(i as u32 % 2).to_le_bytes());
        pages.extend(summed(&[&entries]));
        chunks.extend(stored);
    }
    let links = message(2, 0, &[&[0, 0], &NOWHERE, &NOWHERE]);
    let link = message(6, 0, &[&[1, 0, 1], b"x", &number(array)]);
    let space = message(1, 0, &[&[2, 1, 0, 1], &number(PAGES * CHUNKS * CHUNK)]);
    let kind = message(3, 0, &[&[0x10, 8, 0, 0, 2, 0, 0, 0, 0, 0, 16, 0]]);
    let filters = message(11, 0, &[&[2, 1, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0]]);
    let bits = CHUNKS.ilog2() as u8;
    let layout = message(8, 0, &[&[4, 2, 0, 2, 1, CHUNK as u8, 2, 3, bits], &number(index)]);
    file_of(
        &NOWHERE,
        group,
        &[
            (group, header(&[links, link])),
            (array, header(&[space, kind, filters, layout])),
            (index, summed(&[b"FAHD\0", &[1, ENTRY as u8, bits], &number(PAGES * CHUNKS), &number(data)])),
            (data, summed(&[b"FADB\0", &[1], &number(index), &[0xff; PAGES / 8]])),
            (FIRST_PAGE, pages),
            (first_chunk, chunks),
        ],
    )
}

#[test]
fn nodes_of_an_index_are_within_the_limit() {
    let memory = Storage::new(Memory::new()).unwrap();
    memory.write("f", &masked()).unwrap();
    let mut storage = memory.file("f").unwrap();
    let is_refused = |storage: &Storage| {
        let array = Array::open_in(storage, "x", Access::Read).unwrap();
        let found = array.read::<i16>(&Hyperslab::new(&[0], &[1]));
        found.is_err_and(|error| matches!(error.kind(), ErrorKind::Limit { name: "metadata_bytes", .. }))
    };
    storage.set_memory_limits(MemoryLimits::default().with_metadata_bytes(2 * PAGE));
    assert!(!is_refused(&storage));
    storage.set_memory_limits(MemoryLimits::default().with_metadata_bytes(2 * PAGE - 1));
    assert!(is_refused(&storage));
}

/// A few bytes of a file may be many messages or many records, each with memory of its own.
#[test]
fn messages_and_records_are_within_the_limit() {
    const COUNT: usize = 10_000;
    let messages = |kind| header(&vec![message(kind, 0, &[]); COUNT]);
    let leaf = summed(&[b"BTLF\0\x05", &[7; COUNT]]);
    let tree = summed(&[
        b"BTHD\0\x05",
        &(leaf.len() as u32).to_le_bytes(),
        &[1, 0, 0, 0, 100, 40],
        &number(200_000),
        &(COUNT as u16).to_le_bytes(),
        &number(COUNT),
    ]);
    let parts = [(64, messages(0)), (100_000, messages(0x17)), (180_000, tree), (200_000, leaf)];
    let memory = Storage::new(Memory::new()).unwrap();
    memory.write("f", &file_of(&NOWHERE, 64, &parts)).unwrap();
    for (bytes, is_enough) in [(120_000, false), (1 << 20, true)] {
        let mut storage = memory.clone();
        storage.set_memory_limits(MemoryLimits::default().with_metadata_bytes(bytes));
        let file = File::open(&storage, &Head::read(&*storage, "f").unwrap(), 0).unwrap();
        // What says nothing takes nothing.
        assert_eq!(Header::read(&file, 64).map(|header| header.messages.len()), Ok(0));
        let found = Header::read(&file, 100_000).map(|header| header.messages.len());
        let records = Tree::read(&file, 180_000).unwrap().records(&file, 0).map(|records| records.len());
        for count in [found, records] {
            match count {
                Ok(count) => assert!(is_enough && count == COUNT),
                Err(error) => {
                    assert!(!is_enough && matches!(error.kind(), ErrorKind::Limit { name: "metadata_bytes", .. }))
                }
            }
        }
    }
}

/// A file of a few bytes may claim more chunks than can be looked for.
#[test]
#[cfg(target_pointer_width = "64")]
fn references_to_more_chunks_than_can_be_are_refused() {
    let (group, array) = (48, 256);
    let links = message(2, 0, &[&[0, 0], &NOWHERE, &NOWHERE]);
    let link = message(6, 0, &[&[1, 0, 1], b"x", &number(array)]);
    let space = message(1, 0, &[&[2, 1, 0, 1], &number(1 << 50)]);
    let kind = message(3, 0, &[&[0x10, 8, 0, 0, 2, 0, 0, 0, 0, 0, 16, 0]]);
    let layout = message(8, 0, &[&[4, 2, 0, 2, 1, 1, 2, 5, 0, 8, 0, 0, 100, 40], &NOWHERE]);
    let file = file_of(&NOWHERE, group, &[(group, header(&[links, link])), (array, header(&[space, kind, layout]))]);
    let memory = Storage::new(Memory::new()).unwrap();
    memory.write("f", &file).unwrap();
    let storage = memory.file("f").unwrap();
    assert_eq!(Array::open_in(&storage, "x", Access::Read).unwrap().variable().dimensions()[0].num_chunks(), 1 << 50);
    let error = crate::references(&storage, "x", "u").unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Unsupported(_)) && error.to_string().contains("one by one"), "{error}");
}

/// A node is verified when it is kept, for all chunks that it tells of: else each of these would take as long as all.
#[test]
fn nodes_of_an_index_are_verified_once() {
    const COUNT: usize = 1000;
    let record = |i: usize| [number(100 + i), number(i)].concat();
    let leaf = summed(&[b"BTLF\0\x0a", &(0..COUNT).flat_map(|i| record(2 * i)).collect::<Vec<_>>()]);
    let tree = summed(&[
        b"BTHD\0\x0a",
        &(leaf.len() as u32).to_le_bytes(),
        &[16, 0, 0, 0, 100, 40],
        &number(256),
        &(COUNT as u16).to_le_bytes(),
        &number(COUNT),
    ]);
    let memory = Storage::new(Memory::new()).unwrap();
    memory.write("f", &file_of(&NOWHERE, 48, &[(64, tree), (256, leaf.clone())])).unwrap();
    let file = File::open(&memory, &Head::read(&*memory, "f").unwrap(), 0).unwrap();
    let layout =
        ChunkedLayout { shape: vec![1], index: IndexMessage::Tree2, address: Some(64), edges_are_plain: false };
    let space = Dataspace { shape: vec![2 * COUNT], most: vec![Some(2 * COUNT as u64)], is_null: false };
    let index = Index::read(&file, &layout, &space, 1).unwrap();
    let Ok(Found::Node(wanted)) = index.first(&[0]) else { panic!("there is a node") };
    assert_eq!((wanted.begin, wanted.len), (256, leaf.len()));
    let mut node = leaf;
    assert!(index.verify(&node).is_ok());
    *node.last_mut().unwrap() ^= 1;
    assert!(index.verify(&node).is_err());
    for i in 0..2 * COUNT {
        let record = Record { begin: 100 + i as u64, len: 1, skipped: 0 };
        let due = Found::Chunk((i % 2 == 0).then_some(record));
        assert_eq!(index.next(&[i as isize], &wanted, &node), Ok(due), "{i}");
    }
}

/// A link with a name to what has a path, in another file if one is named.
fn path_link(name: &str, file: Option<&str>, path: &str) -> Vec<u8> {
    let to = match file {
        Some(file) => [b"\0", file.as_bytes(), b"\0", path.as_bytes(), b"\0"].concat(),
        None => path.as_bytes().to_vec(),
    };
    let kind = if file.is_some() { 64 } else { 1 };
    let len = (to.len() as u16).to_le_bytes();
    [&[1, 1 << 3, kind, name.len() as u8], name.as_bytes(), &len, &to].concat()
}

fn hard_link(name: &str, address: usize) -> Vec<u8> {
    [&[1, 0, name.len() as u8], name.as_bytes(), &number(address)].concat()
}

/// A file whose root group has these links in its header. At 64 is a group without any.
fn linked(links: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let none = message(2, 0, &[&[0, 0], &NOWHERE, &NOWHERE]);
    let mut messages = vec![none.clone()];
    messages.extend(links.map(|link| message(6, 0, &[&link])));
    file_of(&NOWHERE, 256, &[(64, header(&[none])), (256, header(&messages))])
}

/// A file in memory.
fn in_memory(bytes: &[u8]) -> Storage {
    let memory = Storage::new(Memory::new()).unwrap();
    memory.write("f", bytes).unwrap();
    memory.file("f").unwrap()
}

/// What a listing of a file says.
fn listed(bytes: &[u8]) -> Result<Vec<Node>> {
    list(&in_memory(bytes), "", true)
}

/// Thousands of links to paths, in a group or to another file: each finds its object in a group of thousands.
#[test]
fn many_links_are_followed() {
    const COUNT: usize = 3000;
    let name = |kind: char, i: usize| format!("{kind}{i}");
    let hard = |i| hard_link(&name('x', i), 64);
    let soft = linked((0..COUNT).map(hard).chain((0..COUNT).map(|i| path_link(&name('y', i), None, &name('x', i)))));
    let other = linked((0..COUNT).map(hard));
    let outside = linked((0..COUNT).map(|i| path_link(&name('y', i), Some("other"), &name('x', i))));
    let memory = Storage::new(Memory::new()).unwrap();
    for (file, bytes) in [("soft", soft), ("other", other), ("outside", outside)] {
        memory.write(file, &bytes).unwrap();
    }
    for (file, count) in [("soft", 2 * COUNT), ("outside", COUNT)] {
        let mut storage = memory.file(file).unwrap();
        storage.allow_external_links(true);
        let nodes = list(&storage, "", true).unwrap();
        assert_eq!(nodes.len(), 1 + count, "{file}");
        let wrong = nodes.iter().find(|node| !node.is_group() || node.error().is_some());
        assert!(wrong.is_none(), "{file}: {} {:?}", wrong.unwrap().name(), wrong.unwrap().error());
    }
}

/// What netCDF calls by a name comes before what only has the name; of several links the first one is it.
#[test]
fn names_of_netcdf_come_first() {
    let links = [("b", 1), ("_nc4_non_coord_b", 64), ("a", 64), ("a", 1), ("_nc4_non_coord_", 64), ("", 1), ("c", 1)];
    let file = linked(links.into_iter().map(|(name, address)| hard_link(name, address)));
    let memory = Storage::new(Memory::new()).unwrap();
    memory.write("f", &file).unwrap();
    let storage = memory.file("f").unwrap();
    for name in ["a", "b", "_nc4_non_coord_b"] {
        assert!(list(&storage, name, true).is_ok_and(|nodes| nodes.len() == 1), "{name}");
    }
    assert!(list(&storage, "c", true).is_err_and(|error| !matches!(error.kind(), ErrorKind::NotFound(_))));
    assert!(list(&storage, "d", true).is_err_and(|error| error.kind() == ErrorKind::NotFound("variable")));
}

/// A file whose root group is an old one with a tree that leads to one table so many times. The table has so many links
/// of the same name to the same path.
fn old_links(tables: usize, count: usize, path: &str) -> Vec<u8> {
    const TREE: usize = 512;
    let (tables, count) = (tables as u16, count as u16);
    let heap = TREE + 32 + 16 * usize::from(tables);
    let names = [&b"\0\0\0\0\0\0\0\0x\0\0\0\0\0\0\0"[..], path.as_bytes(), &[0; 8]].concat();
    let table = heap + 32 + names.len();
    let child = [number(0), number(table)].concat();
    let tree = [&b"TREE\0\0"[..], &tables.to_le_bytes(), &NOWHERE, &NOWHERE, &child.repeat(tables.into()), &number(8)];
    let link = [&number(8)[..], &[0; 8], b"\x02\0\0\0\0\0\0\0\x10\0\0\0", &[0; 12]].concat();
    file_of(
        &NOWHERE,
        256,
        &[
            (256, header(&[message(17, 0, &[&number(TREE), &number(heap)])])),
            (TREE, tree.concat()),
            (heap, [&b"HEAP\0\0\0\0"[..], &number(names.len()), &NOWHERE, &number(heap + 32), &names].concat()),
            (table, [&b"SNOD\x01\0"[..], &count.to_le_bytes(), &link.repeat(count.into())].concat()),
        ],
    )
}

/// What links take of memory counts, however little of the file they are.
#[test]
fn links_of_old_groups_take_no_more_memory_than_a_file_may_need() {
    let found = |file: &[u8]| Array::open_in(&in_memory(file), "x", Access::Read).err().unwrap().kind();
    let used_up = ErrorKind::Metadata("the file refers to the same structures in a cycle");
    assert_eq!(found(&old_links(1, 20_000, "none")), ErrorKind::NotFound("variable"));
    assert_eq!(found(&old_links(1, 2000, &"a".repeat(60_000))), used_up);
    assert_eq!(found(&old_links(150, 5000, "none")), used_up);
}

/// The blocks of a heap, how long each is, and where the heap and the first block are.
const BLOCKS: usize = 16;
const BLOCK: usize = 1 << 20;
const HEAP: usize = 2048;
const FIRST_BLOCK: usize = 4096;

/// The parts of a heap with these objects, of which the blocks get one each in turn, and the objects' numbers.
fn heap(objects: &[Vec<u8>]) -> ([Part; 3], Vec<Vec<u8>>) {
    let mut blocks = vec![0; BLOCKS * BLOCK];
    let starts = (0..BLOCKS).map(|i| i * BLOCK);
    for start in starts.clone() {
        let begin = [b"FHDB\0", &number(HEAP)[..], &(start as u32).to_le_bytes()].concat();
        blocks[start..start + begin.len()].copy_from_slice(&begin);
    }
    let mut ids = Vec::new();
    for (i, object) in objects.iter().enumerate() {
        let at = i % BLOCKS * BLOCK + 64 + i / BLOCKS * 64;
        blocks[at..at + object.len()].copy_from_slice(object);
        ids.push([&[0], &(at as u32).to_le_bytes()[..], &(object.len() as u16).to_le_bytes()].concat());
    }
    let children: Vec<_> = starts.flat_map(|start| number(FIRST_BLOCK + start)).collect();
    let size = number(BLOCK);
    let head = summed(&[
        b"FRHP\0\x07\0\0\0\0\0\x10\0\0",
        &[number(0), NOWHERE, number(0), NOWHERE].concat(),
        &[0; 64],
        &[BLOCKS as u8, 0],
        &[size, size].concat(),
        b"\x20\0\0\0",
        &number(HEAP + 512),
        b"\x01\0",
    ]);
    let block = summed(&[b"FHIB\0", &number(HEAP), &[0; 4], &children]);
    ([(HEAP, head), (HEAP + 512, block), (FIRST_BLOCK, blocks)], ids)
}

/// An attribute that is an integer of a byte.
fn attribute(name: &str) -> Vec<u8> {
    attribute_of(name, &[0x10, 8, 0, 0, 1, 0, 0, 0, 0, 0, 8, 0], &[7])
}

/// An attribute that is one element of a type.
fn attribute_of(name: &str, kind: &[u8], value: &[u8]) -> Vec<u8> {
    let space = [2, 0, 0, 0];
    let lens = [name.len() as u8 + 1, 0, kind.len() as u8, 0, space.len() as u8, 0, 0];
    [&[3, 0][..], &lens, name.as_bytes(), &[0], kind, &space, value].concat()
}

/// A file whose root group has links or attributes in a heap, two in each block, which the records of the tree name in
/// turn.
fn dense(has_links: bool) -> Vec<u8> {
    let object = |i| if has_links { hard_link(&format!("x{i}"), 64) } else { attribute(&format!("x{i}")) };
    let (parts, ids) = heap(&(0..2 * BLOCKS).map(object).collect::<Vec<_>>());
    let (before, behind, kind) = if has_links { (&[0; 4][..], &[][..], 5) } else { (&[][..], &[0; 10][..], 8) };
    let records: Vec<_> = ids.iter().map(|id| [before, id, behind].concat()).collect();
    let (count, size) = (records.len() as u8, records[0].len() as u8);
    let sizes = [kind, 0, 4, 0, 0, size, 0, 0, 0, 100, 40];
    let tree = summed(&[b"BTHD\0", &sizes, &number(768), &[count, 0], &number(records.len())]);
    let leaf = summed(&[b"BTLF\0", &[kind], &records.concat()]);
    let none = message(2, 0, &[&[0, 0], &NOWHERE, &NOWHERE]);
    let info = |kind| message(kind, 0, &[&[0, 0], &number(HEAP), &number(512)]);
    let root = if has_links { header(&[info(2)]) } else { header(&[none.clone(), info(21)]) };
    let [head, block, blocks] = parts;
    let parts = [(64, header(&[none])), (256, root), (512, tree), (768, leaf), head, block, blocks];
    file_of(&NOWHERE, 256, &parts)
}

/// A heap that is longer than what is kept of it is read once, whatever the order of the records.
#[test]
fn blocks_of_a_heap_are_read_once() {
    for has_links in [true, false] {
        let (later, storage) = later(&dense(has_links), 1);
        let nodes = list(&storage, "", true).unwrap();
        let mut names: Vec<_> = match has_links {
            true => nodes[1..].iter().map(|node| node.name().to_owned()).collect(),
            false => nodes[0].attributes().iter().map(|attribute| attribute.name().to_owned()).collect(),
        };
        names.sort();
        let mut due: Vec<_> = (0..2 * BLOCKS).map(|i| format!("x{i}")).collect();
        due.sort();
        assert_eq!(names, due);
        let mut blocks: Vec<_> = later.log().into_iter().filter(|(.., len)| *len == BLOCK).collect();
        let count = blocks.len();
        blocks.sort();
        blocks.dedup();
        assert_eq!((blocks.len(), count), (BLOCKS, BLOCKS), "{has_links}");
    }
}

/// A file that shares an attribute `x`, where `root` makes the header of the root group with the message that leads to
/// it. The message that leads to the table may be shared itself, which is against the rules.
fn sharing(root: impl FnOnce(Vec<u8>) -> Vec<u8>, is_table_shared: bool) -> Vec<u8> {
    let (parts, ids) = heap(&[attribute("x")]);
    let root = root(message(12, 2, &[&[3, 1], &ids[0], &[0]]));
    let extension = match is_table_shared {
        true => message(15, 2, &[&[3, 1], &ids[0], &[0]]),
        false => message(15, 0, &[&[0], &number(256), &[1]]),
    };
    let table = summed(&[b"SMTB\0\0", &(1u16 << 12).to_le_bytes(), &[0; 10], &NOWHERE, &number(HEAP)]);
    let [head, block, (blocks, bytes)] = parts;
    let behind = blocks + bytes.len();
    let parts = [(64, header(&[extension])), (256, table), head, block, (blocks, bytes), (behind, root)];
    file_of(&number(64), behind, &parts)
}

/// The header of a group without links that has a message so often.
fn repeated(repeated: Vec<u8>, count: usize) -> Vec<u8> {
    let none = message(2, 0, &[&[0, 0], &NOWHERE, &NOWHERE]);
    header(&[vec![none], vec![repeated; count]].concat())
}

/// Messages that objects share are found by a table and in a heap that are read once.
#[test]
fn many_messages_are_shared() {
    let nodes = listed(&sharing(|shared| repeated(shared, 2000), false)).unwrap();
    assert_eq!((nodes[0].attributes().len(), nodes[0].attributes_error().map(ToString::to_string)), (2000, None));
}

/// A header may record in which order its attributes were made, of shared ones, too.
#[test]
fn attributes_of_a_header_have_the_order_that_it_records() {
    let file = sharing(
        |shared| {
            let none = message(2, 0, &[&[0, 0], &NOWHERE, &NOWHERE]);
            let [a, b] = ["a", "b"].map(|name| message(12, 0, &[&attribute(name)]));
            let messages = [(0, none), (2, a), (1, shared), (0, b)];
            let messages = messages.map(|(order, of)| [&of[..4], &[order, 0], &of[4..]].concat()).concat();
            summed(&[b"OHDR\x02\x06", &(messages.len() as u32).to_le_bytes(), &messages])
        },
        false,
    );
    let nodes = listed(&file).unwrap();
    let names: Vec<_> = nodes[0].attributes().iter().map(|attribute| attribute.name()).collect();
    assert_eq!(names, ["b", "x", "a"]);
}

#[test]
fn the_table_of_shared_messages_is_not_shared() {
    let nodes = listed(&sharing(|shared| repeated(shared, 1), true)).unwrap();
    let error = nodes[0].attributes_error().unwrap().to_string();
    assert!(error.contains("no table of the messages that objects share"), "{error}");
}

#[test]
fn files_with_an_image_of_the_metadata_cache_are_refused() {
    let none = message(2, 0, &[&[0, 0], &NOWHERE, &NOWHERE]);
    let with = |kind| {
        let extension = message(kind, 1 << 7, &[&[0], &number(0), &number(0)]);
        file_of(&number(64), 256, &[(64, header(&[extension])), (256, header(std::slice::from_ref(&none)))])
    };
    assert_eq!(listed(&with(0x17)).unwrap().len(), 1);
    let error = listed(&with(0x18)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported("an HDF5 file with an image of the metadata cache"));
}

/// Only superblocks of version 3 have flags that say so.
#[test]
fn files_that_are_open_for_writing_are_refused() {
    let mut file = linked(std::iter::empty());
    for (version, flags, is_refused) in
        [(3, 0, false), (3, 2, false), (3, 1, true), (3, 4, true), (3, 5, true), (2, 5, false)]
    {
        (file[8], file[11]) = (version, flags);
        let sum = checksum(&file[..44]).to_le_bytes();
        file[44..48].copy_from_slice(&sum);
        let error = listed(&file).err().map(|error| error.to_string());
        assert_eq!(error.is_some(), is_refused, "{version} {flags}");
        assert!(error.is_none_or(|words| words.contains("h5clear -s")));
    }
}

/// Attributes whose texts are in one collection, which has more bytes than may be read for each of them again.
#[test]
fn a_collection_of_texts_is_read_once() {
    const COUNT: usize = 1500;
    const COLLECTION: usize = 1 << 16;
    let kind = [&[0x19, 1, 0, 0, 16, 0, 0, 0], &[0x13, 0, 0, 0, 1, 0, 0, 0][..]].concat();
    let value = [&[3, 0, 0, 0], &number(64)[..], &[1, 0, 0, 0]].concat();
    let attribute = |i| message(12, 0, &[&attribute_of(&format!("x{i}"), &kind, &value)]);
    let none = message(2, 0, &[&[0, 0], &NOWHERE, &NOWHERE]);
    let root = header(&std::iter::once(none).chain((0..COUNT).map(attribute)).collect::<Vec<_>>());
    let object = [&[1, 0, 1, 0, 0, 0, 0, 0], &number(3)[..], b"abc\0\0\0\0\0"].concat();
    let mut collection = [&b"GCOL\x01\0\0\0"[..], &number(COLLECTION), &object].concat();
    collection.resize(COLLECTION, 0);
    let nodes = listed(&file_of(&NOWHERE, 1 << 17, &[(64, collection), (1 << 17, root)])).unwrap();
    assert_eq!(nodes[0].attributes_error().map(ToString::to_string), None);
    let is_right = |values: &AttributeValues<'_>| matches!(values, AttributeValues::Texts(texts) if texts == &["abc"]);
    assert_eq!(nodes[0].attributes().iter().filter(|attribute| is_right(&attribute.values())).count(), COUNT);
}

/// Where the names of dimensions are not found because no more may be read, that is said; the array has no others.
#[test]
fn names_that_are_not_found_because_no_more_may_be_read_are_an_error() {
    let int = [0x10, 8, 0, 0, 4, 0, 0, 0, 0, 0, 32, 0];
    let array = header(&[
        message(1, 0, &[&[2, 1, 0, 1], &number(5)]),
        message(3, 0, &[&int]),
        message(8, 0, &[&[3, 1], &NOWHERE, &number(0)]),
        message(12, 0, &[&attribute_of("_Netcdf4Coordinates", &int, &[7, 0, 0, 0])]),
    ]);
    // A header without a checksum, of one message of nothing, to which all other links lead.
    let long = [&b"\x01\0\x01\0\x01\0\0\0\x08\xf0\0\0\0\0\0\0\0\0\0\xf0\0\0\0\0"[..], &[0; 0xf000]].concat();
    let with = |count: usize| {
        let mut root = vec![message(2, 0, &[&[0, 0], &NOWHERE, &NOWHERE])];
        root.push(message(6, 0, &[&hard_link("x", 64)]));
        root.extend((0..count).map(|i| message(6, 0, &[&hard_link(&format!("y{i}"), 256)])));
        let file = file_of(&NOWHERE, 1 << 16, &[(64, array.clone()), (256, long.clone()), (1 << 16, header(&root))]);
        let array = Array::open_in(&in_memory(&file), "x", Access::Read);
        array.map(|array| array.dimension_name(0).map(str::to_owned))
    };
    assert_eq!(with(10).unwrap(), None);
    assert!(with(2000).unwrap_err().to_string().contains("the same structures in a cycle"));
}

/// Whether an element of each chunk that is stored in [`masked`] is what it should be.
fn is_right(array: &Array) -> bool {
    let slab = Hyperslab::new(&[1], &[PAGES]).with_stride(&[(CHUNKS * CHUNK) as isize]);
    array.read::<i16>(&slab).unwrap().into_iter().eq(0..PAGES as i16)
}

/// When a chunk is decoded the node may be forgotten that says which filters it has not been through, and others are
/// in flight, so that nothing can be read.
#[test]
fn chunks_whose_nodes_are_forgotten_are_decoded_without_a_read() {
    let bytes = masked();
    for requests in [1, 5, 64] {
        let (later, storage) = later(&bytes, requests);
        let mut array = Array::open_in(&storage, "x", Access::Read).unwrap();
        array.set_cache(None);
        assert!(is_right(&array), "{requests}");
        let cache = Cache::from_second_use(1 << 20).unwrap();
        array.set_cache(Some(&cache));
        for pass in 0..3 {
            later.log();
            assert!(is_right(&array), "{requests}");
            let log = later.log();
            assert_eq!(later.requests_in_flight(), 0);
            // What has been through all filters is kept as it is stored, and decoded when it is used again.
            let pages = log.iter().filter(|(.., len)| *len == PAGE).map(|(_, begin, _)| *begin as usize - FIRST_PAGE);
            let mut pages: Vec<_> = pages.map(|begin| begin / PAGE).collect();
            pages.sort_unstable();
            match pass {
                0 => assert!(pages.len() > PAGES / 2),
                1 => assert!(!pages.is_empty() && pages.iter().all(|page| page % 2 == 1), "{pages:?}"),
                _ => assert!(log.is_empty(), "{log:?}"),
            }
        }
    }
}

/// A file that answers later, but to any process: a child has no part in what [`AsyncRequests`] keeps.
///
/// [`AsyncRequests`]: crate::object::AsyncRequests
#[cfg(unix)]
struct Stack {
    file: Vec<u8>,
    started: Mutex<Vec<usize>>,
    /// How many reads have been started.
    count: AtomicUsize,
}

// SAFETY: a request is used before it is given back, and never after. There is one thread.
#[cfg(unix)]
unsafe impl Flight for Stack {
    fn limits(&self) -> Limits {
        Limits::default()
    }

    unsafe fn start(&self, request: *mut ObjectRequest) -> Result<bool> {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.started.lock().unwrap().push(request as usize);
        Ok(true)
    }

    unsafe fn wait(&self) -> Result<*mut ObjectRequest> {
        let request = self.started.lock().unwrap().pop().unwrap() as *mut ObjectRequest;
        // SAFETY: the request is in flight, and there is room for so many bytes.
        unsafe {
            let begin = (*request).begin().offset(self.file.len() as u64) as usize;
            let bytes = &self.file[begin..];
            let bytes = &bytes[..bytes.len().min((*request).size)];
            (*request).buffer.cast::<u8>().copy_from(bytes.as_ptr(), bytes.len());
            ((*request).nbytes, (*request).object_size) = (bytes.len(), self.file.len() as u64);
        }
        Ok(request)
    }
}

#[cfg(unix)]
impl ObjectStore for Stack {
    fn read(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<u64>> {
        Ok(read_by_flight((self, ""), name, begin, buffer)?.map(|(len, _)| len))
    }

    fn list(&self, _prefix: &str, _one: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
        Ok(())
    }

    fn flight(&self) -> Option<&dyn Flight> {
        Some(self)
    }
}

/// A child does not reach the nodes that its parent keeps. It keeps its own, and so does a child of the child.
#[cfg(unix)]
#[test]
fn a_forked_child_reads_in_flight_as_well() {
    fn in_child(depth: usize, is_right: &dyn Fn() -> bool) {
        // SAFETY: the child only reads, allocates, as it may with glibc, and ends.
        match unsafe { libc::fork() } {
            0 => {
                let found = std::panic::catch_unwind(AssertUnwindSafe(|| {
                    if depth > 1 {
                        in_child(depth - 1, is_right);
                    }
                    is_right()
                }));
                // SAFETY: nothing of the parent's is run at the end.
                unsafe { libc::_exit(if matches!(found, Ok(true)) { 0 } else { 1 }) }
            }
            child => {
                let mut status = -1;
                // SAFETY: there is a place for the status.
                assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
                assert_eq!(status, 0);
            }
        }
    }

    let file = Arc::new(Stack { file: masked(), started: Mutex::default(), count: AtomicUsize::new(0) });
    let storage = Storage::new(file.clone()).unwrap().file("f").unwrap();
    let array = Array::open_in(&storage, "x", Access::Read).unwrap();
    let read = || {
        let before = file.count.load(Ordering::Relaxed);
        let is_right = is_right(&array);
        // The index, its pages, and the chunks, of which all are neighbours.
        is_right && file.count.load(Ordering::Relaxed) - before <= 2 * PAGES + 1
    };
    in_child(2, &read);
    assert!(read());
    in_child(2, &read);
    assert!(read());
}

/// How many collections [`texts`] has, and how long each is: together they are more than what is kept.
const COLLECTIONS: usize = 20;
const COLLECTION: usize = 1 << 19;

/// A file with an array of texts, whose elements are those of the collections in turn. The first collection is at 4096,
/// and each other begins so many bytes behind the one before. Each is so long that the last one ends the file.
fn texts(rounds: usize, distance: usize, len: usize) -> Vec<u8> {
    let (group, array, data, first) = (48, 256, 512, 4096);
    let mut collections = vec![0; (COLLECTIONS - 1) * distance + len];
    let mut elements = Vec::new();
    for i in 0..COLLECTIONS {
        // An object of one byte with the number 1, and one with the rest.
        let begin = [&b"GCOL\x01\0\0\0"[..], &number(len), &[1, 0, 1, 0, 0, 0, 0, 0], &number(1)].concat();
        let text = [b'a' + i as u8, 0, 0, 0, 0, 0, 0, 0];
        let rest = [&[2, 0, 1, 0, 0, 0, 0, 0], &number(len - 56)[..]].concat();
        let begin = [begin, text.to_vec(), rest].concat();
        collections[i * distance..][..begin.len()].copy_from_slice(&begin);
    }
    for i in 0..rounds * COLLECTIONS {
        let address = number(first + i * 7 % COLLECTIONS * distance);
        elements.extend([&[1, 0, 0, 0], &address[..], &[1, 0, 0, 0]].concat());
    }
    assert!(data + elements.len() <= first);
    let links = message(2, 0, &[&[0, 0], &NOWHERE, &NOWHERE]);
    let link = message(6, 0, &[&[1, 0, 1], b"x", &number(array)]);
    let space = message(1, 0, &[&[2, 1, 0, 1], &number(rounds * COLLECTIONS)]);
    let kind = message(3, 0, &[&[0x19, 1, 1, 0, 16, 0, 0, 0, 0x10, 0, 0, 0, 1, 0, 0, 0, 0, 0, 8, 0]]);
    let layout = message(8, 0, &[&[3, 1], &number(data), &number(elements.len())]);
    let array = (array, header(&[space, kind, layout]));
    file_of(&NOWHERE, group, &[(group, header(&[links, link])), array, (data, elements), (first, collections)])
}

/// Elements may name the collections in any order.
#[test]
fn collections_of_texts_are_read_once() {
    const ROUNDS: usize = 8;
    let (later, storage) = later(&texts(ROUNDS, COLLECTION, COLLECTION), 1);
    let array = Array::open_in(&storage, "x", Access::Read).unwrap();
    later.log();
    let found = array.read_strings(&Hyperslab::all()).unwrap().concat().into_bytes();
    assert!(found.into_iter().eq((0..ROUNDS * COLLECTIONS).map(|i| b'a' + (i * 7 % COLLECTIONS) as u8)));
    let mut read: Vec<_> = later.log().into_iter().filter(|(.., len)| *len == COLLECTION).collect();
    let count = read.len();
    read.sort();
    read.dedup();
    assert_eq!((read.len(), count), (COLLECTIONS, COLLECTIONS));
}

/// Collections within others would take more time than any file of this length should.
#[test]
fn collections_of_texts_do_not_overlap() {
    let memory = Storage::new(Memory::new()).unwrap();
    memory.write("f", &texts(1, 64, COLLECTION)).unwrap();
    let array = Array::open_in(&memory.file("f").unwrap(), "x", Access::Read).unwrap();
    let error = array.read_strings(&Hyperslab::all()).unwrap_err().to_string();
    assert!(error.contains("the collections of a global heap overlap"), "{error}");
}
