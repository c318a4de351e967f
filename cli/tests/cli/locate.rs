//! `locate`, beside what `dd` reads.

use std::path::Path;
use std::process::Command;

use nczchunk::{Array, Description, ElementType, Hyperslab};

use super::{run, run_at, stored};

/// The lines below the heading: the chunk, the offset, the bytes and the object.
fn lines(text: &str) -> Vec<[String; 4]> {
    let mut lines = text.lines();
    let columns = |line: &str| {
        let columns: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        columns.try_into().unwrap_or_else(|line| panic!("{line:?}"))
    };
    assert_eq!(columns(lines.next().unwrap()), ["chunk", "offset", "bytes", "object"]);
    lines.map(columns).collect()
}

/// What `dd` reads of a file.
fn dd(path: &Path, offset: &str, bytes: &str) -> Vec<u8> {
    let file = format!("if={}", path.display());
    let (skip, count) = (format!("skip={offset}"), format!("count={bytes}"));
    let read = Command::new("dd").args([file, skip, count, "bs=1".to_owned()]).output().unwrap();
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    read.stdout
}

#[test]
fn chunks_are_told_with_their_objects() {
    let lines = lines(&run(&["locate", "data/coads_sst.zarr", "--slab", "0,80:,40:150"]).text());
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../data/coads_sst.zarr"));
    let names: Vec<&str> = lines.iter().map(|[_, _, _, object]| object.as_str()).collect();
    assert_eq!(names, ["0.2.0", "0.2.1", "0.2.2"]);
    for [chunk, offset, bytes, object] in &lines {
        assert_eq!(chunk.replace(',', "."), *object);
        let file = path.join(object);
        if bytes == "absent" {
            assert!(offset == "-" && !file.exists());
            continue;
        }
        let bytes = dd(&file, offset, bytes);
        assert_eq!(bytes, std::fs::read(&file).unwrap());
    }
    assert_eq!(lines.iter().filter(|[_, _, bytes, _]| bytes == "absent").count(), 1);
}

#[test]
fn what_dd_reads_of_a_shard_is_a_chunk_once_it_is_decoded() {
    let values: Vec<i16> = (0..64).collect();
    let description = Description::new(&[8, 8], ElementType::Short)
        .with_chunk_shape(&[2, 4])
        .with_shard_shape(&[8, 4])
        .with_codecs(&[("zstd", "")]);
    let directory = stored(&description, &values);
    let one = Description::new(&[2, 4], ElementType::Short).with_codecs(&[("zstd", "")]);
    let lines = lines(&run_at(&directory, &["locate", "@", "a"]).text());
    assert_eq!(lines.len(), 8);
    for [chunk, offset, bytes, object] in lines {
        let (i, j) = chunk.split_once(',').unwrap();
        let (i, j): (usize, usize) = (i.parse().unwrap(), j.parse().unwrap());
        assert_eq!(object, format!("a/c/0/{j}"));
        let encoded = dd(&directory.join(object), &offset, &bytes);
        // The same bytes as the only chunk of another array, which has the same codec and no shards.
        let alone = Array::create(directory.join(format!("{i}{j}")), "", &one).unwrap();
        std::fs::create_dir_all(directory.join(format!("{i}{j}/c/0"))).unwrap();
        std::fs::write(directory.join(format!("{i}{j}/c/0/0")), encoded).unwrap();
        let due: Vec<i16> = (0..8).map(|k| values[8 * (2 * i + k / 4) + 4 * j + k % 4]).collect();
        assert_eq!(alone.read::<i16>(&Hyperslab::all()).unwrap(), due);
    }
}

/// A file that is the storage itself is told by its path, whatever the name of the array in it is.
#[test]
fn what_dd_reads_of_a_file_is_a_chunk() {
    let lines = lines(&run(&["locate", "data/coads_sst.nc", "COADSY"]).text());
    let [[chunk, offset, bytes, object]] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!((chunk.as_str(), bytes.as_str(), object.as_str()), ("0", "720", "data/coads_sst.nc"));
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join(object);
    let due: Vec<u8> = (0..90).flat_map(|i| (f64::from(i) * 2.0 - 89.0).to_be_bytes()).collect();
    assert_eq!(dd(&path, offset, bytes), due);
    let text = run(&["locate", "tests/vectors/small.cfdb", "y"]).text();
    assert_eq!(text.lines().skip(1).filter(|line| line.ends_with("  tests/vectors/small.cfdb")).count(), 3);
}

#[test]
fn what_cannot_be_located_is_refused() {
    assert!(run(&["locate", "data/coads_sst.zarr", "--slab", "12"]).message(2).contains("out of range"));
    assert!(run(&["locate", "data/coads_sst.nc", "none"]).message(1).contains("no such variable"));
}

/// What is read by way of references is what the file has.
#[test]
fn references_are_another_way_to_the_same_values() {
    let directory = std::env::temp_dir().join(format!("nczchunk-cli-references-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let refs = directory.join("refs.json");
    let refs = refs.to_str().unwrap();
    run(&["references", "data/coads_sst.nc", "-o", refs]);
    assert_eq!(run(&["dump", refs, "SST"]).text(), run(&["dump", "data/coads_sst.nc", "SST"]).text());
    let text =
        run(&["references", "data/coads_sst.nc", "COADSY", "-o", "-", "--url", "https://example.org/a.nc"]).text();
    assert!(text.contains(r#""COADSY/0":["https://example.org/a.nc","#), "{text}");
    assert!(!text.contains("SST"), "{text}");
    std::fs::remove_dir_all(directory).unwrap();
}
