//! `check`: chunks that are whole, absent and broken.

use std::path::Path;

use nczchunk::{Array, Description, ElementType, Hyperslab};

use super::{Temporary, run, run_at};

/// An array `name` of 5 x 6 numbers, of which the last chunk is absent.
fn create(directory: &Path, name: &str, codecs: &[(&str, &str)]) {
    let description = Description::new(&[5, 6], ElementType::Int).with_chunk_shape(&[2, 4]).with_codecs(codecs);
    let array = Array::create(directory, name, &description).unwrap();
    let values: Vec<i32> = (0..24).map(|i| i * i * 77).collect();
    array.write(&Hyperslab::new(&[0, 0], &[4, 6]), &values).unwrap();
}

/// Changes a byte of an object.
fn spoil(path: &Path, at: usize) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[at] ^= 0x40;
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn whole_arrays_are_found_whole() {
    let text = run(&["check", "data/coads_sst.zarr"]).text();
    assert_eq!(text, "data/coads_sst.zarr: 36 chunks, 368.3 KiB: 34 whole, 2 absent, 0 broken\n");
    let text = run(&["check", "data/coads_sst.nc"]).text();
    assert_eq!(text.lines().count(), 4);
    assert!(text.ends_with("SST: 1 chunk, 759.4 KiB: 1 whole, 0 absent, 0 broken\n"), "{text}");
    let text = run(&["check", "tests/vectors/small.cfdb", "temperature"]).text();
    assert_eq!(text, "temperature: 9 chunks, 350 bytes: 9 whole, 0 absent, 0 broken\n");
}

#[test]
fn broken_chunks_are_named() {
    for threads in ["1", "3"] {
        let directory = Temporary::new();
        create(&directory, "a", &[("crc32c", "")]);
        create(&directory, "b", &[("zstd", "")]);
        // A value within the array, a value beyond it, and bytes that are missing.
        spoil(&directory.join("a/c/0/1"), 3);
        spoil(&directory.join("a/c/1/1"), 30);
        std::fs::write(directory.join("b/c/0/0"), "").unwrap();
        let ran = run_at(&directory, &["check", "@", "--threads", threads]);
        let text = String::from_utf8(ran.out).unwrap();
        assert_eq!((ran.code, &*ran.err), (Some(1), ""), "{text}");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 5, "{text}");
        assert!(lines[0].starts_with("a: 6 chunks, ") && lines[0].ends_with("2 whole, 2 absent, 2 broken"), "{text}");
        assert!(lines[1].starts_with("  broken a/c/0/1, chunk (0, 1): the chunk is corrupt: crc32c says"), "{text}");
        assert!(lines[2].starts_with("  broken a/c/1/1, chunk (1, 1): ") && lines[2].contains("crc32c"), "{text}");
        assert!(lines[3].ends_with("3 whole, 2 absent, 1 broken"), "{text}");
        assert!(lines[4].starts_with("  broken b/c/0/0, chunk (0, 0): "), "{text}");
        // One array alone.
        assert_eq!(run_at(&directory, &["check", "@", "b"]).code, Some(1));
    }
}

#[test]
fn lengths_are_tested_where_nothing_is_encoded() {
    let directory = Temporary::new();
    create(&directory, "a", &[]);
    // The array ends before what is missing.
    let chunk = directory.join("a/c/0/1");
    let bytes = std::fs::read(&chunk).unwrap();
    std::fs::write(&chunk, &bytes[..28]).unwrap();
    let ran = run_at(&directory, &["check", "@"]);
    let text = String::from_utf8(ran.out).unwrap();
    assert_eq!(ran.code, Some(1));
    assert!(text.contains("broken a/c/0/1, chunk (0, 1): the stored chunk has 28 bytes where 32 are due"), "{text}");
}

#[test]
fn shards_and_texts_are_checked() {
    let directory = Temporary::new();
    let shards = Description::new(&[4, 4], ElementType::Int).with_chunk_shape(&[2, 2]).with_shard_shape(&[4, 4]);
    let codecs = [("zstd", r#"{"checksum": true}"#)];
    let array = Array::create(&*directory, "s", &shards.with_codecs(&codecs)).unwrap();
    let values: Vec<i32> = (0..16).map(|i| i * i * 77).collect();
    array.write(&Hyperslab::all(), &values).unwrap();
    let array = Array::create(&*directory, "t", &Description::new(&[2], ElementType::String)).unwrap();
    array.write_strings(&Hyperslab::all(), &["a", "b"]).unwrap();
    let text = run_at(&directory, &["check", "@"]).text();
    assert!(text.contains("s: 4 chunks") && text.contains("t: 1 chunk, "), "{text}");
    // The index of the shard, which is at its end, is that of all its chunks.
    let shard = directory.join("s/c/0/0");
    let len = std::fs::metadata(&shard).unwrap().len() as usize;
    spoil(&shard, len - 5);
    std::fs::write(directory.join("t/c/0"), "no texts").unwrap();
    let ran = run_at(&directory, &["check", "@"]);
    let text = String::from_utf8(ran.out).unwrap();
    assert_eq!(ran.code, Some(1));
    assert_eq!(text.matches("broken s/c/0/0, chunk (").count(), 4, "{text}");
    assert_eq!(text.matches("broken t/c/0, chunk (0): ").count(), 1, "{text}");
}

#[test]
fn arrays_that_cannot_be_opened_are_findings() {
    let directory = Temporary::new();
    create(&directory, "a", &[]);
    std::fs::create_dir(directory.join("b")).unwrap();
    std::fs::write(directory.join("b/zarr.json"), r#"{"zarr_format":3,"node_type":"array","shape":[1]}"#).unwrap();
    let ran = run_at(&directory, &["check", "@"]);
    let text = String::from_utf8(ran.out).unwrap();
    assert_eq!(ran.code, Some(1));
    assert!(text.contains("4 whole, 2 absent, 0 broken\nb: cannot be opened: "), "{text}");
    assert!(run_at(&directory, &["check", "@", "b"]).message(1).contains("malformed metadata"));
    let empty = Temporary::new();
    assert!(run_at(&empty, &["check", "@"]).message(1).contains("none of the formats that are known"));
}
