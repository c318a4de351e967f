//! How much memory reads take, whatever is claimed by what is stored.
//!
//! Before each scene the process is allowed so much more memory than it has, touched or not. What would take memory by
//! what metadata claim fails then.
#![allow(unsafe_code)]
#![cfg(all(target_os = "linux", target_pointer_width = "64", feature = "codecs"))]

use std::fs::File;

use nczchunk::object::{Memory, Storage};
use nczchunk::{Access, Array, Description, ElementType, ErrorKind, Hyperslab, MemoryLimits};

/// So much more memory there is for each scene: what the library takes before it knows how long a chunk is, and the
/// memory of the heap that is not given back.
const MORE: u64 = 160 << 20;

/// The memory of the process, in bytes.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmSize:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

/// Runs a scene with so much more memory.
fn within<T>(more: u64, scene: impl FnOnce() -> T) -> T {
    let set = |bytes: libc::rlim_t| {
        let limit = libc::rlimit { rlim_cur: bytes, rlim_max: libc::RLIM_INFINITY };
        // SAFETY: the limit is one.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) }, 0);
    };
    set(memory() + more);
    let result = scene();
    set(libc::RLIM_INFINITY);
    result
}

/// How many bytes a block of zstd has at most.
const BLOCK: usize = 128 << 10;

/// A frame of zstd that decodes to so many blocks of the same byte, of which each takes 4 bytes, and then to these.
fn frame(num_blocks: usize, byte: u8, end: &[u8]) -> Vec<u8> {
    // The magic number, a descriptor that says nothing, and a window of 128 KiB.
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 7 << 3];
    let header = |is_last: bool, kind: usize, len: usize| (len << 3 | kind << 1 | usize::from(is_last)).to_le_bytes();
    for _ in 0..num_blocks {
        frame.extend_from_slice(&header(false, 1, BLOCK)[..3]);
        frame.push(byte);
    }
    frame.extend_from_slice(&header(true, 0, end.len())[..3]);
    frame.extend_from_slice(end);
    frame
}

/// An array of one chunk with these codecs, and what is stored of it.
fn array(element: ElementType, len: usize, codecs: &[(&str, &str)], stored: &[u8], limits: MemoryLimits) -> Array {
    let mut storage = Storage::new(Memory::new()).unwrap();
    storage.set_memory_limits(limits);
    let shape = [len];
    let description = Description::new(&shape, element).with_chunk_shape(&shape).with_codecs(codecs);
    Array::create_in(&storage, "", &description).unwrap();
    nczchunk::object::ObjectStore::write(&&*storage, "c/0", stored).unwrap();
    Array::open_in(&storage, "", Access::Read).unwrap()
}

fn at<T: nczchunk::Element>(array: &Array, place: usize) -> nczchunk::Result<T> {
    array.read::<T>(&Hyperslab::new(&[place], &[1])).map(|values| values[0])
}

/// A chunk of 1 GiB that is stored in 32 KiB.
fn a_chunk_that_is_far_longer_than_what_is_stored() {
    let (blocks, len) = ((1 << 30) / BLOCK - 1, 1 << 30);
    let mut end = vec![7; BLOCK];
    *end.last_mut().unwrap() = 9;
    let zstd = array(ElementType::UByte, len, &[("zstd", "")], &frame(blocks, 7, &end), MemoryLimits::default());
    within(MORE, || {
        for (storage, value) in [(0, 7), (len / 2, 7), (len - 2, 7), (len - 1, 9)] {
            assert_eq!(at::<u8>(&zstd, storage), Ok(value), "{storage}");
        }
    });
    // The bytes of an element lie far from one another.
    let shuffled = array(
        ElementType::UShort,
        len / 2,
        &[("shuffle", ""), ("zstd", "")],
        &frame(blocks, 7, &end),
        MemoryLimits::default(),
    );
    within(MORE, || {
        assert_eq!(at::<u16>(&shuffled, 5), Ok(0x0707));
        assert_eq!(at::<u16>(&shuffled, len / 2 - 1), Ok(0x0907));
    });
}

/// A chunk of 2^50 bytes, of which 10 are stored.
fn a_chunk_that_is_not_as_long_as_it_claims_to_be() {
    let len = 1 << 50;
    let stored = frame(0, 0, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    for codecs in [&[("zstd", "")][..], &[("shuffle", "{\"elementsize\": 4}"), ("zstd", "")]] {
        let array = array(ElementType::UByte, len, codecs, &stored, MemoryLimits::default());
        within(MORE, || {
            if codecs.len() == 1 {
                assert_eq!(at::<u8>(&array, 9), Ok(10));
            }
            let short = ErrorKind::DecodedLength { found: Some(10), expected: len };
            assert_eq!(at::<u8>(&array, len - 1).unwrap_err().kind(), short);
        });
    }
}

/// What a user sets is kept, and named.
fn a_chunk_is_limited() {
    let limits = MemoryLimits::default().with_chunk_bytes(1 << 20);
    let limit = |needed| ErrorKind::Limit { name: "chunk_bytes", needed, limit: 1 << 20 };
    let blocks = (32 << 20) / BLOCK;
    let array = array(ElementType::UByte, 32 << 20, &[("zstd", "")], &frame(blocks, 7, &[]), limits);
    within(MORE, || {
        // Of what is selected the first and the last byte are far apart.
        let ends = |len: usize| array.read::<u8>(&Hyperslab::new(&[7], &[2]).with_stride(&[len as isize]));
        assert_eq!(ends((1 << 20) - 1), Ok(vec![7; 2]));
        assert_eq!(ends(1 << 20).unwrap_err().kind(), limit(Some((1 << 20) + 1)));
        // What lands in the caller's memory takes none.
        assert_eq!(array.read::<u8>(&Hyperslab::all()).unwrap(), vec![7; 32 << 20]);
    });
}

/// A chunk of strings of 1 GiB that is stored in 32 KiB.
fn a_chunk_of_strings_is_limited() {
    // 2^28 - 1 strings without a byte.
    let count = (1 << 28) - 1;
    let mut stored = frame(0, 0, &(count as u32).to_le_bytes());
    stored.extend(frame((1 << 30) / BLOCK - 1, 0, &[0; BLOCK - 4]));
    let codecs = [("zstd", "")];
    let claims = array(ElementType::String, count, &codecs, &stored, MemoryLimits::default());
    let bomb = array(ElementType::String, 1000, &codecs, &stored, MemoryLimits::default());
    let limit = |needed| ErrorKind::Limit { name: "string_chunk_bytes", needed, limit: 256 << 20 };
    within(400 << 20, || {
        let one = |array: &Array| array.read_strings(&Hyperslab::new(&[1], &[1])).unwrap_err().kind();
        assert_eq!(one(&claims), limit(Some(1 << 30)));
        assert_eq!(one(&bomb), limit(None));
    });
    // Two of them, of which the first is long.
    let text = [&2u32.to_le_bytes()[..], &(10u32 << 20).to_le_bytes()].concat();
    let mut stored = frame(0, 0, &text);
    stored.extend(frame((10 << 20) / BLOCK, b'x', &[1, 0, 0, 0, b'y']));
    for (limit, is_enough) in [(10 << 20, false), (11 << 20, true)] {
        let limits = MemoryLimits::default().with_string_chunk_bytes(limit);
        let strings = array(ElementType::String, 2, &codecs, &stored, limits);
        let last = within(MORE, || strings.read_strings(&Hyperslab::new(&[1], &[1])));
        assert_eq!(last.is_ok_and(|found| found == ["y"]), is_enough);
    }
}

/// Files that are far longer than what is in them.
fn a_sparse_file_is_not_read() {
    let path = std::env::temp_dir().join(format!("nczchunk-memory-{}", std::process::id()));
    for (name, len) in [("small", 1 << 20), ("large", 5 << 30), ("strings", 100)] {
        let element = if name == "strings" { ElementType::String } else { ElementType::UByte };
        let (shape, codecs) = ([len], [("zstd", "")]);
        let description = Description::new(&shape, element).with_chunk_shape(&shape).with_codecs(&codecs);
        Array::create(&path, name, &description).unwrap();
        std::fs::create_dir_all(path.join(name).join("c")).unwrap();
        File::create(path.join(name).join("c/0")).unwrap().set_len((4 << 30) + 1).unwrap();
        let array = Array::open(&path, name, Access::Read).unwrap();
        let (found, limit) = ((4 << 30) + 1, 4 << 30);
        let error = within(MORE, || match name {
            "strings" => array.read_strings(&Hyperslab::new(&[1], &[1])).unwrap_err(),
            _ => at::<u8>(&array, 0).unwrap_err(),
        });
        let due = match name {
            "small" => ErrorKind::StoredTooLong { found, most: 17_891_328 },
            "large" => ErrorKind::Limit { name: "chunk_bytes", needed: Some(found), limit },
            _ => ErrorKind::Limit { name: "string_chunk_bytes", needed: Some(found), limit: 256 << 20 },
        };
        assert_eq!(error.kind(), due);
        assert_eq!(error.chunk(), Some(&[0][..]));
    }
    std::fs::remove_dir_all(path).unwrap();
}

/// All in one test, for the limit is the process's.
#[test]
fn memory_follows_what_is_stored_and_selected() {
    a_chunk_that_is_far_longer_than_what_is_stored();
    a_chunk_that_is_not_as_long_as_it_claims_to_be();
    a_chunk_is_limited();
    a_chunk_of_strings_is_limited();
    a_sparse_file_is_not_read();
}
