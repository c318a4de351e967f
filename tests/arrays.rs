//! Arrays that cannot be read, by way of the interface that users have.
//!
//! Those whose bytes are not what a writer made of them: every truncation, and every other value of every byte, of
//! metadata, chunks, shards and zip files. What is read is an error or some bytes, nothing panics, and memory stays
//! bounded. And those that ask for what the library does not have: they are refused by its name.

// The allocator that counts.
#![allow(unsafe_code)]
#![cfg(all(feature = "arrays", feature = "zip", feature = "codecs"))]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use nczchunk::object::{Memory, ObjectStore, PrefixedStorage, Storage, Zip, ZipWriter, only_prefix, read_whole};
use nczchunk::status::{EBADTYPE, ENOTBUILT};
use nczchunk::{Access, Array, Description, ElementType, Hyperslab, Result};

thread_local! {
    /// The largest allocation of this thread since it was set to 0.
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

fn note(size: usize) {
    // The thread may be at its end.
    let _ = LARGEST.try_with(|largest| largest.set(largest.get().max(size)));
}

// SAFETY: all is done by the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most that may be allocated at once. The arrays have some hundred bytes; a changed byte may well make a chunk ten
/// times as long.
const MOST: usize = 1 << 20;

const V2: &str = r#"{"zarr_format":2,"shape":[9,8],"chunks":[4,3],"dtype":">i4","fill_value":-7,"order":"F","filters":
    [{"id":"shuffle","elementsize":4}],"compressor":{"id":"gzip","level":1},"dimension_separator":"."}"#;
const BLOSC: &str = r#"{"zarr_format":2,"shape":[90],"chunks":[70],"dtype":"<i4","fill_value":0,"order":"C","filters":
    null,"compressor":{"id":"blosc","cname":"lz4","clevel":5,"shuffle":1,"blocksize":0}}"#;
const ATTRIBUTES: &str = r#"{"units":"K","x":[NaN,1e5],"_ARRAY_DIMENSIONS":["y","x"],"_nczarr_attr":{"types":
    {"units":">S1","x":"<f4"}},"_nczarr_array":{"dimrefs":["/y","/x"]}}"#;
const GROUP: &str = r#"{"zarr_format":2,"_nczarr_group":{"dims":{"x":8,"y":{"size":9,"unlimited":1}}}}"#;
const V3: &str = r#"{"zarr_format":3,"node_type":"array","shape":[9,8],"data_type":"int32","chunk_grid":{"name":
    "regular","configuration":{"chunk_shape":[6,8]}},"chunk_key_encoding":"default","fill_value":1,"codecs":[{"name":
    "sharding_indexed","configuration":{"chunk_shape":[2,4],"codecs":[{"name":"bytes","configuration":{"endian":
    "little"}},"INNER"],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}INDEX],"index_location":
    "LOCATION"}}OUTER],"attributes":{"a":NaN}}"#;

fn v3(inner: &str, index: &str, location: &str, outer: &str) -> String {
    V3.replace("INNER", inner).replace("INDEX", index).replace("LOCATION", location).replace("OUTER", outer)
}

/// An array `x` in memory with values in all but its last elements, and the names of its objects.
fn written(documents: &[(&str, &str)], len: usize, chunks: &[&str]) -> (Arc<Memory>, Vec<String>) {
    let memory = Arc::new(Memory::new());
    for (name, text) in documents {
        memory.write(name, text.as_bytes()).unwrap();
    }
    let array = Array::open_in(&Storage::new(memory.clone()).unwrap(), "x", Access::Write).unwrap();
    let values: Vec<i32> = (0..len as i32).map(|i| i * i / 7).collect();
    array.write(&Hyperslab::all(), &values).unwrap();
    assert_eq!(array.read::<i32>(&Hyperslab::all()).unwrap(), values);
    let names = documents.iter().map(|(name, _)| *name).chain(chunks.iter().copied()).map(str::to_owned);
    (memory, names.collect())
}

/// Opens the array and reads all of it, or what is left of a shape that has grown beyond this.
fn read(storage: &Storage) -> Result<()> {
    let array = Array::open_in(storage, "x", Access::Read)?;
    // Attributes that cannot be read are no obstacle to the elements.
    array.attributes_error().map_or(Ok(()), |error| Err(error.clone()))?;
    let variable = array.variable();
    let lengths: Vec<usize> = variable.dimensions().iter().map(|dimension| dimension.len().min(100)).collect();
    let starts = vec![0; lengths.len()];
    let slab = Hyperslab::new(&starts, &lengths);
    if lengths.iter().product::<usize>() > 10_000 {
        return Ok(());
    }
    match variable.element_size() {
        1 => array.read::<[u8; 1]>(&slab).map(drop),
        2 => array.read::<[u8; 2]>(&slab).map(drop),
        4 => array.read::<[u8; 4]>(&slab).map(drop),
        8 => array.read::<[u8; 8]>(&slab).map(drop),
        _ => Ok(()),
    }
}

/// Reads, and says what must not be.
fn check(about: &dyn Fn() -> String, read: impl FnOnce() -> Result<()>) -> bool {
    LARGEST.set(0);
    let read = catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| panic!("{}", about()));
    assert!(LARGEST.get() <= MOST, "{}: {} bytes were allocated", about(), LARGEST.get());
    read.is_ok()
}

/// Which values a changed byte takes.
#[derive(Clone, Copy)]
enum Values {
    All,
    /// Those with one bit changed, none and all of them.
    Few,
}

impl Values {
    fn of(self, byte: u8) -> impl Iterator<Item = u8> {
        let is_one = move |value: &u8| match self {
            Values::All => *value != byte,
            Values::Few => (*value ^ byte).count_ones() == 1 || (*value != byte && matches!(*value, 0 | 255)),
        };
        (0..=255).filter(is_one)
    }
}

/// Changes the object in all ways and reads what comes of it by `read`; how many changes are errors, and how many are
/// not.
fn spoil(memory: &Memory, name: &str, values: Values, read: impl Fn() -> Result<()>) -> (usize, usize) {
    let kept = read_whole(memory, name, 1 << 20).unwrap().unwrap();
    let mut found = (0, 0);
    let mut count = |is_ok: bool| if is_ok { found.1 += 1 } else { found.0 += 1 };
    assert!(check(&|| format!("{name} as it was"), &read));
    for end in 0..kept.len() {
        memory.write(name, &kept[..end]).unwrap();
        count(check(&|| format!("{name}, {end} bytes of it"), &read));
    }
    let mut bytes = kept.clone();
    for at in 0..kept.len() {
        for byte in values.of(kept[at]) {
            bytes[at] = byte;
            memory.write(name, &bytes).unwrap();
            count(check(&|| format!("{name}, byte {at} is {byte}"), &read));
        }
        bytes[at] = kept[at];
    }
    memory.write(name, &kept).unwrap();
    found
}

#[test]
fn what_the_library_does_not_have_is_refused_by_name() {
    let v2 = r#"{"zarr_format":2,"shape":[2],"chunks":[2],"dtype":"|O","fill_value":"","order":"C","filters":
        [{"id":"vlen-bytes"}],"compressor":null}"#;
    let v3 = r#"{"zarr_format":3,"node_type":"array","shape":[2],"data_type":"binary","chunk_grid":{"name":"regular",
        "configuration":{"chunk_shape":[2]}},"chunk_key_encoding":"default","fill_value":"","codecs":["vlen-bytes"]}"#;
    let draft = r#"{"zarr_format":"https://purl.org/zarr/spec/protocol/core/3.0","metadata_key_suffix":".json"}"#;
    for (name, text, status, word) in [
        ("x/.zarray", v2, EBADTYPE, "|O"),
        ("x/zarr.json", v3, EBADTYPE, "binary"),
        ("zarr.json", draft, ENOTBUILT, "2021"),
    ] {
        let memory = Memory::new();
        memory.write(name, text.as_bytes()).unwrap();
        let error = Array::open_in(&Storage::new(memory).unwrap(), "x", Access::Read).err().unwrap();
        assert_eq!(error.status(), status, "{error}");
        assert!(error.to_string().contains(word), "{error}");
    }
}

#[test]
fn chunks_of_texts() {
    let memory = Arc::new(Memory::new());
    let storage = Storage::new(memory.clone()).unwrap();
    let description = Description::new(&[4], ElementType::String).with_codecs(&[]);
    let array = Array::create_in(&storage, "", &description).unwrap();
    array.write_strings(&Hyperslab::all(), &["a", "", "\u{e4}\u{20ac}", "end"]).unwrap();
    let read = || array.read_strings(&Hyperslab::all()).map(drop);
    let (errors, others) = spoil(&memory, "c/0", Values::All, read);
    // What is changed to another character of a text is not noticed.
    assert!(errors > others && others > 0, "{errors} {others}");
}

fn spoil_all(documents: &[(&str, &str)], len: usize, chunks: &[&str], values: Values) {
    let (memory, names) = written(documents, len, chunks);
    let storage = Storage::new(memory.clone()).unwrap();
    for name in &names {
        let (errors, others) = spoil(&memory, name, values, || read(&storage));
        // Most of what a chunk is changed to is noticed where it has a checksum, some of it elsewhere.
        assert!(errors > 0, "{name}: none of {others} changes is an error");
    }
}

#[test]
fn metadata_and_chunks_of_v2() {
    spoil_all(
        &[(".zgroup", GROUP), ("x/.zattrs", ATTRIBUTES), ("x/.zarray", V2)],
        72,
        &["x/0.0", "x/2.2"],
        Values::All,
    );
}

#[test]
fn chunks_of_blosc() {
    for (cname, shuffle) in [("lz4", 1), ("zlib", 2), ("zstd", 0)] {
        let text = BLOSC.replace("lz4", cname).replace("\"shuffle\":1", &format!("\"shuffle\":{shuffle}"));
        spoil_all(&[("x/.zarray", &text)], 90, &["x/0"], Values::All);
    }
}

#[test]
fn metadata_and_shards_of_v3() {
    let text = v3("crc32c", r#","crc32c""#, "end", "");
    spoil_all(&[("x/zarr.json", &text)], 72, &["x/c/0/0", "x/c/1/0"], Values::All);
    let text = v3("zstd", "", "start", "");
    spoil_all(&[("x/zarr.json", &text)], 72, &["x/c/0/0"], Values::Few);
    let text = v3("gzip", "", "end", r#","zstd""#);
    spoil_all(&[("x/zarr.json", &text)], 72, &["x/c/1/0"], Values::Few);
}

/// Spoils a zip file that is an object in memory.
fn spoil_zip(bytes: &[u8], values: Values) {
    let memory = Arc::new(Memory::new());
    memory.write("a.zip", bytes).unwrap();
    let (errors, _) = spoil(&memory, "a.zip", values, || {
        let zip = Zip::within(memory.clone(), "a.zip")?;
        let storage = match only_prefix(&zip)? {
            Some(prefix) if prefix != "x" => Storage::new(PrefixedStorage::new(zip, &prefix)?)?,
            _ => Storage::new(zip)?,
        };
        read(&storage)
    });
    assert!(errors > bytes.len());
}

#[test]
fn zip_files() {
    let (memory, names) = written(&[(".zgroup", GROUP), ("x/.zarray", BLOSC)], 90, &["x/0", "x/1"]);
    let path = std::env::temp_dir().join(format!("nczchunk-arrays-{}.zip", std::process::id()));
    let writer = ZipWriter::create(&path).unwrap();
    for name in &names {
        writer.write(name, &read_whole(&*memory, name, 1 << 20).unwrap().unwrap()).unwrap();
    }
    writer.finish().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    spoil_zip(&bytes, Values::Few);
    spoil_zip(&deflated(&memory, &names), Values::All);
}

/// The objects in a zip file whose entries are deflated.
fn deflated(memory: &Memory, names: &[String]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for name in names {
        let object = read_whole(memory, name, 1 << 20).unwrap().unwrap();
        let mut data = flate2::Compress::new(flate2::Compression::fast(), false);
        let mut stored = Vec::with_capacity(object.len() + 100);
        data.compress_vec(&object, &mut stored, flate2::FlushCompress::Finish).unwrap();
        let mut crc = flate2::Crc::new();
        crc.update(&object);
        let mut common = vec![20, 0, 0, 0, 8, 0, 0, 0, 0x21, 0];
        for number in [crc.sum(), stored.len() as u32, object.len() as u32, name.len() as u32] {
            common.extend(number.to_le_bytes());
        }
        directory.extend([&b"PK\x01\x02\x14\0"[..], &common, &[0; 10]].concat());
        directory.extend((bytes.len() as u32).to_le_bytes());
        directory.extend(name.as_bytes());
        bytes.extend([b"PK\x03\x04", &common[..], name.as_bytes(), &stored].concat());
    }
    let end = [directory.len() as u32, bytes.len() as u32].map(u32::to_le_bytes).concat();
    bytes.extend(&directory);
    let count = (names.len() as u16).to_le_bytes();
    bytes.extend([&b"PK\x05\x06\0\0\0\0"[..], &count, &count, &end, &[0, 0]].concat());
    bytes
}
