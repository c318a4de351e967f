//! `check`: chunks that are whole, absent and broken.

use std::path::Path;

use nczchunk::key::Separator;
use nczchunk::object::{Storage, ZipWriter};
use nczchunk::{Array, ArrayFormat, Description, ElementType, Hyperslab};

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
fn the_report_is_one_document() {
    let directory = Temporary::new();
    create(&directory, "a", &[("crc32c", "")]);
    create(&directory, "b", &[("zstd", "")]);
    spoil(&directory.join("a/c/0/1"), 3);
    std::fs::create_dir(directory.join("n")).unwrap();
    std::fs::write(directory.join("n/zarr.json"), r#"{"zarr_format":3,"node_type":"array","shape":[1]}"#).unwrap();
    let ran = run_at(&directory, &["check", "@", "--json"]);
    assert_eq!((ran.code, &*ran.err), (Some(1), ""));
    let document: serde_json::Value = serde_json::from_slice(&ran.out).unwrap();
    let arrays = &document["arrays"];
    let counts = |name: &str| {
        ["chunks", "whole", "absent", "num_broken", "not_checked"].map(|key| {
            let found = arrays.as_array().unwrap().iter().find(|array| array["name"] == name).unwrap();
            found[key].as_u64().unwrap()
        })
    };
    assert_eq!((counts("a"), counts("b")), ([6, 3, 2, 1, 0], [6, 4, 2, 0, 0]));
    let broken = &arrays[0]["broken"][0];
    assert_eq!((&broken["chunk"], &broken["name"]), (&serde_json::json!([0, 1]), &"a/c/0/1, chunk (0, 1)".into()));
    assert!(broken["reason"].as_str().unwrap().contains("crc32c") && arrays[2]["error"].is_string(), "{document}");
    assert_eq!(document["unfinished"], serde_json::json!([]));
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
        assert!(lines[1].starts_with("  broken a/c/0/1, chunk (0, 1): the chunk is corrupt: crc32c: "), "{text}");
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
    assert!(text.contains("broken a/c/0/1, chunk (0, 1): the stored chunk has 28 bytes, expected 32"), "{text}");
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

/// Chunks without codecs have no checksum but that of the entry of the zip file that they are in.
#[test]
fn entries_of_zip_files_are_compared_with_their_checksums() {
    let directory = Temporary::new();
    let path = directory.join("all.zip");
    let zip = Storage::new(ZipWriter::create(&path).unwrap()).unwrap();
    let plain = Description::new(&[8], ElementType::Int).with_chunk_shape(&[4]).with_codecs(&[]);
    for (name, description) in [("plain", plain), ("sharded", plain.with_shard_shape(&[8]))] {
        let array = Array::create_in(&zip, name, &description).unwrap();
        array.write(&Hyperslab::all(), &[1_000_001, 1_000_002, 3, 4, 5, 6, 7, 8]).unwrap();
    }
    zip.finish().unwrap();
    let text = run_at(&directory, &["check", "@/all.zip"]).text();
    assert!(text.contains("plain: 2 chunks") && text.contains("sharded: 2 chunks"), "{text}");
    // One bit of an element of each.
    let mut bytes = std::fs::read(&path).unwrap();
    for at in 0..bytes.len() {
        if bytes[at..].starts_with(&1_000_002i32.to_le_bytes()) {
            bytes[at] ^= 1;
        }
    }
    std::fs::write(&path, bytes).unwrap();
    let ran = run_at(&directory, &["check", "@/all.zip"]);
    let text = String::from_utf8(ran.out).unwrap();
    assert_eq!(ran.code, Some(1));
    assert!(text.contains("plain: 2 chunks, 32 bytes: 1 whole, 0 absent, 1 broken"), "{text}");
    assert_eq!(text.matches("broken sharded/c/0, chunk (").count(), 2, "{text}");
    assert_eq!(text.matches("checksum").count(), 3, "{text}");
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
    assert!(run_at(&empty, &["check", "@"]).message(1).contains("the format is unknown"));
}

/// What takes too much memory, or what the system refuses to read, says nothing of what is stored.
#[cfg(all(unix, target_pointer_width = "64"))]
#[test]
fn chunks_that_cannot_be_read_are_not_broken() {
    let directory = Temporary::new();
    create(&directory, "a", &[("crc32c", "")]);
    spoil(&directory.join("a/c/0/1"), 3);
    // 5 GiB, of which the file system stores nothing; the limit is 4 GiB.
    let large = Description::new(&[8], ElementType::UByte).with_chunk_shape(&[5 << 30]).with_codecs(&[("zstd", "")]);
    Array::create(&*directory, "b", &large).unwrap();
    std::fs::create_dir(directory.join("b/c")).unwrap();
    std::fs::File::create(directory.join("b/c/0")).unwrap().set_len(5 << 30).unwrap();
    let ran = run_at(&directory, &["check", "@"]);
    let text = String::from_utf8(ran.out).unwrap();
    assert_eq!((ran.code, &*ran.err), (Some(1), ""), "{text}");
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].ends_with("3 whole, 2 absent, 1 broken"), "{text}");
    assert!(lines[1].starts_with("  broken a/c/0/1, chunk (0, 1): the chunk is corrupt"), "{text}");
    assert!(lines[2].ends_with("0 whole, 0 absent, 0 broken, 1 not read"), "{text}");
    assert!(lines[3].starts_with("  not read b/c/0, chunk (0): ") && lines[3].contains("chunk_bytes"), "{text}");
    let ran = run_at(&directory, &["check", "@", "--json"]);
    assert_eq!(ran.code, Some(1));
    let document: serde_json::Value = serde_json::from_slice(&ran.out).unwrap();
    let [a, b] = [&document["arrays"][0], &document["arrays"][1]];
    let counts = |array: &serde_json::Value| ["whole", "num_broken", "num_not_read"].map(|key| array[key].as_u64());
    assert_eq!((counts(a), counts(b)), ([Some(3), Some(1), Some(0)], [Some(0), Some(0), Some(1)]), "{document}");
    assert_eq!((&a["not_read"], &b["broken"]), (&serde_json::json!([]), &serde_json::json!([])));
    let not_read = &b["not_read"][0];
    assert_eq!((&not_read["chunk"], &not_read["name"]), (&serde_json::json!([0]), &"b/c/0, chunk (0)".into()));
    assert!(not_read["reason"].as_str().unwrap().contains("chunk_bytes"), "{document}");
    // An array of which nothing is broken is not well either.
    assert_eq!(run_at(&directory, &["check", "@", "b"]).code, Some(1));
}

/// Three numbers, far from each other.
fn write_three(array: &Array) {
    for at in [[0, 0], [(1 << 41) - 1, 70], [77, 127]] {
        array.write(&Hyperslab::new(&at, &[1, 1]), &[7i32]).unwrap();
    }
}

/// The time follows what is stored. Chunk by chunk none of these would be done.
#[test]
fn large_grids_of_few_chunks_are_checked_at_once() {
    let directory = Temporary::new();
    let grid = Description::new(&[1 << 41, 128], ElementType::Int).with_chunk_shape(&[1, 64]);
    let shards = grid.with_shard_shape(&[16, 128]);
    let v2 = Temporary::new();
    for separator in [Separator::Dot, Separator::Slash] {
        let create = |directory: &Path, name: &str, description: &Description<'_>| {
            let name = format!("{name}{}", separator as u8);
            write_three(&Array::create(directory, &name, &description.with_separator(separator)).unwrap());
        };
        create(&v2, "v", &grid.with_format(ArrayFormat::ZarrV2));
        for (name, description) in [("v", grid), ("s", shards), ("x", shards)] {
            create(&directory, name, &description);
        }
    }
    let zip = directory.join("a.zip");
    let storage = Storage::new(ZipWriter::create(&zip).unwrap()).unwrap();
    write_three(&Array::create_in(&storage, "z", &grid).unwrap());
    storage.finish().unwrap();
    // A shard that cannot have an index.
    std::fs::write(directory.join("x0/c.0.0"), "short").unwrap();
    let ran = run_at(&directory, &["check", "@", "x0"]);
    let text = String::from_utf8(ran.out).unwrap();
    assert_eq!(ran.code, Some(1));
    assert!(text.contains(": 2 whole, 4398046511070 absent, 32 broken\n"), "{text}");
    let words = "broken x0/c.0.0, chunk (0, 0) and 31 others: the shard has 5 bytes, less than the 512 of its index";
    assert!(text.contains(words), "{text}");
    std::fs::remove_file(directory.join("x0/c.0.0")).unwrap();
    let text = run_at(&directory, &["check", "@"]).text();
    assert_eq!(text.matches(": 4398046511104 chunks, ").count(), 6, "{text}");
    assert_eq!(text.matches(": 3 whole, 4398046511101 absent, 0 broken\n").count(), 5, "{text}");
    let text = run_at(&v2, &["check", "@"]).text();
    assert_eq!(text.matches(": 3 whole, 4398046511101 absent, 0 broken\n").count(), 2, "{text}");
    let text = run_at(&zip, &["check", "@"]).text();
    assert!(text.contains(": 3 whole, 4398046511101 absent, 0 broken\n"), "{text}");
    assert!(run_at(&v2, &["info", "@", "v1", "--stored"]).text().contains("in 3 chunks, 4398046511101 absent"));
    // Chunks of one that is broken are named.
    std::fs::write(v2.join("v0/77.1"), "short").unwrap();
    let ran = run_at(&v2, &["check", "@", "v0"]);
    assert_eq!(ran.code, Some(1));
    assert!(String::from_utf8(ran.out).unwrap().contains("broken v0/77.1, chunk (77, 1): "));
}

/// A grid of so many elements that no plan can have them all.
#[test]
fn the_largest_grids_are_checked() {
    let directory = Temporary::new();
    std::fs::create_dir(directory.join("a")).unwrap();
    let text = r#"{"zarr_format":3,"node_type":"array","shape":[4611686018427387904,4611686018427387904],
        "data_type":"uint8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[1048576,1]}},
        "chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":[{"name":"bytes"}]}"#;
    std::fs::write(directory.join("a/zarr.json"), text).unwrap();
    let all = (1u128 << 42) * (1 << 62);
    let text = run_at(&directory, &["check", "@/a"]).text();
    assert!(text.ends_with(&format!("{all} chunks, 0 bytes: 0 whole, {all} absent, 0 broken\n")), "{text}");
    assert!(run_at(&directory, &["info", "@/a", "--stored"]).text().contains("0 bytes in 0 chunks, "));
}

/// What a killed writer has left is reported, and removed if that is wished; what is being written is not.
#[cfg(any(target_os = "linux", target_os = "macos", target_os = "freebsd"))]
#[test]
fn what_killed_writers_have_left_is_removed() {
    let directory = Temporary::new();
    create(&directory, "a", &[]);
    // A copy that is killed.
    let mut copy = super::command()
        .args(["copy", "data/coads_sst.zarr", "--chunks", "1,1,1", "--codec", "none", "--name", "b/c"])
        .arg(&*directory)
        .spawn()
        .unwrap();
    let left = directory.join(format!(".b.{}.0.partial", copy.id()));
    while !left.join("b/c/c").exists() {
        assert!(copy.try_wait().unwrap().is_none(), "it was done before it could be killed");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    copy.kill().unwrap();
    copy.wait().unwrap();
    // Files of a process that is there, of one that is gone, and of another library.
    let mut process = std::process::Command::new("sleep").arg("100").spawn().unwrap();
    let written = directory.join(format!("a/c/0/.1.{}.12.partial", process.id()));
    let other = directory.join("a/c/0/zarr.0123456789abcdef0123456789abcdef.partial");
    for path in [&written, &other] {
        std::fs::write(path, "").unwrap();
    }
    // Where links lead others may look.
    let elsewhere = Temporary::new();
    std::os::unix::fs::symlink(&*elsewhere, directory.join("link")).unwrap();
    let linked = elsewhere.join(format!(".x.{}.0.partial", copy.id()));
    std::fs::write(&linked, "").unwrap();

    let text = run_at(&directory, &["check", "@"]).text();
    let report =
        format!("unfinished .b.{0}.0.partial: temporary file of process {0}, which has ended; --clean", copy.id());
    assert!(text.contains(&report) && !text.contains(".12.partial"), "{text}");
    let unknown = "unfinished a/c/0/zarr.0123456789abcdef0123456789abcdef.partial: temporary file of an unknown";
    assert!(text.contains(unknown), "{text}");
    assert!(left.exists() && written.exists());
    let text = run_at(&directory, &["check", "@", "--clean"]).text();
    assert!(text.contains(&format!("removed .b.{0}.0.partial: temporary file of process {0}", copy.id())), "{text}");
    assert!(!left.exists() && written.exists() && other.exists() && linked.exists());
    process.kill().unwrap();
    process.wait().unwrap();
    // Another array has none of it.
    create(&directory, "d", &[]);
    assert_eq!(run_at(&directory, &["check", "@", "d", "--clean"]).text().lines().count(), 1);
    assert!(run_at(&directory, &["check", "@", "a", "--clean"]).text().contains("removed a/c/0/.1."));
    assert!(!written.exists() && other.exists());
    assert_eq!(directory.names(), ["a", "d", "link", "zarr.json"]);
}
