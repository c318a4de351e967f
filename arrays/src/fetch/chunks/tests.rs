//! Where chunks are: what is told of every format is compared with what these bytes are, read from the storage as `dd`
//! reads them, and decoded by the codecs.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::array::{Array, ArrayFormat, Description};
use crate::codec::public::{Gzip, Shuffle, Zstd};
use crate::codec::{Codec, Lz4Frame};
use crate::element::ElementType;
use crate::error::Error;
use crate::hyperslab::Hyperslab;
use crate::object::testing::Temporary;
use crate::object::{Memory, ObjectStore, PrefixedStorage, Zip, ZipWriter, read_whole};
use crate::pass_on;
use crate::variable::Endian;

/// What is told of a chunk.
type Located = (Vec<isize>, String, ChunkState);

fn located(array: &Array, slab: &Hyperslab<'_>) -> Result<Vec<Located>> {
    let mut all = Vec::new();
    array.locate(slab, &mut |chunk| {
        all.push((chunk.indices.to_vec(), chunk.object.to_owned(), chunk.state));
        Ok(())
    })?;
    Ok(all)
}

fn memory() -> Storage {
    Storage::new(Memory::new()).unwrap()
}

/// The bytes of a whole object.
fn object(objects: &dyn ObjectStore, name: &str) -> Vec<u8> {
    read_whole(objects, name, 1 << 24).unwrap().unwrap_or_else(|| panic!("there is no {name}"))
}

fn decoded(codecs: &[&dyn Codec], stored: &[u8], len: usize) -> Vec<u8> {
    codecs.iter().rev().fold(stored.to_vec(), |bytes, codec| {
        let mut decoded = Vec::with_capacity(len);
        let mut buffer = Buffer::new(&mut decoded.spare_capacity_mut()[..len]);
        codec.decode(&bytes, 0..len, &mut buffer).unwrap();
        buffer.filled().to_vec()
    })
}

/// The first element of a chunk in the array, and how many of its elements are inside, along each dimension.
fn inside(array: &Array, chunk: &[isize]) -> (Vec<usize>, Vec<usize>) {
    let of = |(dimension, &index): (&crate::Dimension, &isize)| {
        let begin = index * dimension.chunklen() as isize - dimension.origin();
        let end = (begin + dimension.chunklen() as isize).min(dimension.len() as isize);
        (begin.max(0) as usize, (end - begin.max(0)) as usize)
    };
    array.variable().dimensions().iter().zip(chunk).map(of).unzip()
}

/// Compares all chunks of an array of 16-bit numbers with the bytes that `read` gives of an object, decoded by the
/// codecs; returns how many are stored and how many are not.
fn compare(array: &Array, codecs: &[&dyn Codec], read: impl Fn(&str) -> Vec<u8>) -> (usize, usize) {
    let (variable, mut counts) = (array.variable(), (0, 0));
    let dimensions = variable.dimensions();
    let all = located(array, &Hyperslab::all()).unwrap();
    assert_eq!(all.len(), dimensions.iter().map(crate::Dimension::num_chunks).product::<usize>());
    for (chunk, name, state) in all {
        let (start, count) = inside(array, &chunk);
        let read_by_library: Vec<i16> = array.read(&Hyperslab::new(&start, &count)).unwrap();
        let ChunkState::Stored { offset, len } = state else {
            let fill = variable.fill_value().map_or(0, |fill| i16::from_ne_bytes([fill[0], fill[1]]));
            assert!(read_by_library.iter().all(|value| *value == fill), "{chunk:?}");
            counts.1 += 1;
            continue;
        };
        let bytes = read(&name);
        let bytes = decoded(codecs, &bytes[offset as usize..][..len as usize], variable.chunk_bytes());
        // The elements of a row-major chunk that lie inside, one after another.
        let mut picked = Vec::new();
        for number in 0..count.iter().product() {
            let (mut rest, mut at) = (number, 0);
            let mut in_chunk = vec![0; count.len()];
            for d in (0..count.len()).rev() {
                // Before the first chunk's part that is inside there may be some that is not.
                let before = (chunk[d] * dimensions[d].chunklen() as isize - dimensions[d].origin()).min(0);
                in_chunk[d] = rest % count[d] + before.unsigned_abs();
                rest /= count[d];
            }
            for (position, dimension) in in_chunk.iter().zip(dimensions) {
                at = at * dimension.chunklen() + position;
            }
            let bytes = [bytes[2 * at], bytes[2 * at + 1]];
            let is_big = variable.endian() == Endian::Big;
            picked.push(if is_big { i16::from_be_bytes(bytes) } else { i16::from_le_bytes(bytes) });
        }
        assert_eq!(picked, read_by_library, "{chunk:?}");
        counts.0 += 1;
    }
    counts
}

/// 10 x 12 numbers, in chunks of 3 x 5.
fn plain() -> Description<'static> {
    Description::new(&[10, 12], ElementType::Short)
        .with_chunk_shape(&[3, 5])
        .with_fill_value(const { &(-1i16).to_ne_bytes() })
        .with_endian(Endian::Little)
}

/// Writes all but the last rows of the array and the last columns of the others.
fn write(array: &Array) {
    let values: Vec<i16> = (0..60).map(|i| i * 7).collect();
    array.write(&Hyperslab::new(&[0, 0], &[6, 10]), &values).unwrap();
}

#[test]
fn an_object_that_is_a_chunk_is_told_with_its_length() {
    let (zstd, gzip, shuffle) = (Zstd::default(), Gzip::default(), Shuffle::new(2));
    let both = [("shuffle", ""), ("gzip", "")];
    let of: [(Description<'_>, &[&dyn Codec]); 5] = [
        (plain().with_codecs(&[]), &[]),
        (plain().with_codecs(&[("zstd", "")]), &[&zstd]),
        (plain().with_codecs(&[]).with_endian(Endian::Big).with_format(ArrayFormat::ZarrV2), &[]),
        (plain().with_codecs(&both).with_format(ArrayFormat::ZarrV2), &[&shuffle, &gzip]),
        (
            plain().with_codecs(&[("zstd", "")]).with_format(ArrayFormat::NcZarr).with_dimension_names(&["y", "x"]),
            &[&zstd],
        ),
    ];
    for (description, codecs) in of {
        let storage = memory();
        let array = Array::create_in(&storage, "a/b", &description).unwrap();
        write(&array);
        assert_eq!(compare(&array, codecs, |name| object(&*storage, name)), (4, 8));
        for (chunk, name, state) in located(&array, &Hyperslab::all()).unwrap() {
            assert_eq!(Some(&name), array.chunk_object(&chunk).unwrap().as_ref());
            let len = array.stored_chunk_len(&chunk).unwrap().map(|len| len as u64);
            assert_eq!(state, len.map_or(ChunkState::Absent, |len| ChunkState::Stored { offset: 0, len }));
        }
    }
}

#[test]
fn the_chunks_of_a_hyperslab_are_told_in_the_order_of_its_plan() {
    let storage = memory();
    let array = Array::create_in(&storage, "", &plain()).unwrap();
    write(&array);
    let slab = Hyperslab::new(&[2, 0], &[2, 2]).with_stride(&[7, 11]);
    let all = located(&array, &slab).unwrap();
    let chunks: Vec<&[isize]> = all.iter().map(|(chunk, ..)| chunk.as_slice()).collect();
    assert_eq!(chunks, [[0, 0], [0, 2], [3, 0], [3, 2]]);
    assert!(located(&array, &Hyperslab::new(&[0, 0], &[0, 12])).unwrap().is_empty());
    assert_eq!(located(&array, &Hyperslab::new(&[8, 0], &[3, 1])).unwrap_err().status(), crate::status::EEDGE);
    // An error of the caller's ends it, as it is.
    let mut calls = 0;
    let stop = array.locate(&Hyperslab::all(), &mut |_| {
        calls += 1;
        if calls == 3 { Err(ErrorKind::Callback(77).into()) } else { Ok(()) }
    });
    assert_eq!((stop.unwrap_err().to_string(), calls), (Error::from(ErrorKind::Callback(77)).to_string(), 3));
}

#[test]
fn a_scalar_is_one_chunk() {
    let array = Array::create_in(&memory(), "s", &Description::new(&[], ElementType::Int).with_codecs(&[])).unwrap();
    assert_eq!(located(&array, &Hyperslab::all()).unwrap(), [(vec![], "s/c".to_owned(), ChunkState::Absent)]);
    array.write(&Hyperslab::all(), &[7i32]).unwrap();
    let stored = ChunkState::Stored { offset: 0, len: 4 };
    assert_eq!(located(&array, &Hyperslab::all()).unwrap(), [(vec![], "s/c".to_owned(), stored)]);
}

#[test]
fn texts_are_told_as_they_are_encoded() {
    let storage = memory();
    let description = Description::new(&[5], ElementType::String).with_chunk_shape(&[2]).with_codecs(&[("zstd", "")]);
    let array = Array::create_in(&storage, "t", &description).unwrap();
    array.write_strings(&Hyperslab::new(&[0], &[2]), &["one", "two"]).unwrap();
    let all = located(&array, &Hyperslab::all()).unwrap();
    let len = object(&*storage, "t/c/0").len() as u64;
    assert_eq!(all[0], (vec![0], "t/c/0".to_owned(), ChunkState::Stored { offset: 0, len }));
    assert_eq!(all[2], (vec![2], "t/c/2".to_owned(), ChunkState::Absent));
    let bytes = decoded(&[&Zstd::default()], &object(&*storage, "t/c/0"), 18);
    assert_eq!(bytes, b"\x02\0\0\0\x03\0\0\0one\x03\0\0\0two");
}

/// A storage that counts how often its objects are read.
struct Counting(Memory, AtomicUsize);

impl ObjectStore for Counting {
    fn read(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<u64>> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.read(name, begin, buffer)
    }

    pass_on! { self => self.0; list write is_writable }
}

/// The metadata of an array of 10 x 12 numbers in shards.
fn sharded(location: &str) -> String {
    format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":[10,12],"data_type":"int16","fill_value":-1,"chunk_grid":
        {{"name":"regular","configuration":{{"chunk_shape":[6,4]}}}},"chunk_key_encoding":"default","codecs":[{{"name":
        "sharding_indexed","configuration":{{"chunk_shape":[3,2],"index_location":"{location}","codecs":[{{"name":
        "bytes","configuration":{{"endian":"big"}}}},{{"name":"zstd","configuration":{{"level":1,"checksum":false}}}}],
        "index_codecs":[{{"name":"bytes","configuration":{{"endian":"little"}}}}]}}}}]}}"#
    )
}

/// 24 inner chunks in 6 shards; of the first shard all are stored, of the next one half, and the others are not there.
#[test]
fn chunks_within_shards_are_told_with_their_ranges() {
    for location in ["start", "end"] {
        let counting = std::sync::Arc::new(Counting(Memory::new(), AtomicUsize::new(0)));
        let storage = Storage::new(counting.clone()).unwrap();
        storage.write("s/zarr.json", sharded(location).as_bytes()).unwrap();
        let array = Array::open_in(&storage, "s", Access::Write).unwrap();
        let values: Vec<i16> = (0..36).collect();
        array.write(&Hyperslab::new(&[0, 0], &[6, 6]), &values).unwrap();
        assert_eq!(compare(&array, &[&Zstd::default()], |name| object(&counting.0, name)), (6, 18));
        let all = located(&array, &Hyperslab::all()).unwrap();
        let names: Vec<&str> = all.iter().take(6).map(|(_, name, _)| name.as_str()).collect();
        assert_eq!(names, ["s/c/0/0", "s/c/0/0", "s/c/0/1", "s/c/0/1", "s/c/0/2", "s/c/0/2"]);
        let has_begin = |begin| {
            all.iter().any(|(.., state)| matches!(state, ChunkState::Stored { offset, .. } if *offset == begin))
        };
        // The index of four chunks has 64 bytes.
        assert_eq!((has_begin(0), has_begin(64)), (location == "end", location == "start"));
        // Each of the six shards is asked for once.
        counting.1.store(0, Ordering::Relaxed);
        located(&array, &Hyperslab::all()).unwrap();
        assert_eq!(counting.1.load(Ordering::Relaxed), 6);
    }
}

#[test]
fn an_index_that_cannot_be_right_is_an_error() {
    let storage = memory();
    storage.write("s/zarr.json", sharded("end").as_bytes()).unwrap();
    let array = Array::open_in(&storage, "s", Access::Write).unwrap();
    array.write(&Hyperslab::new(&[0, 0], &[6, 4]), &[5i16; 24]).unwrap();
    let good = object(&*storage, "s/c/0/0");
    let mut beyond = good.clone();
    let at = good.len() - 64 + 8;
    beyond[at..at + 8].copy_from_slice(&(good.len() as u64 + 1).to_le_bytes());
    let mut wrapping = good.clone();
    wrapping[at - 8..at].copy_from_slice(&(u64::MAX - 3).to_le_bytes());
    for bad in [&beyond, &wrapping, &good[..63].to_vec()] {
        storage.write("s/c/0/0", bad).unwrap();
        let error = located(&array, &Hyperslab::all()).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Corrupt { codec: "sharding_indexed", .. }), "{error}");
        assert_eq!(error.chunk(), Some(&[0, 0][..]));
    }
    storage.write("s/c/0/0", &good).unwrap();
    assert!(located(&array, &Hyperslab::all()).is_ok());
}

/// In a directory objects are files below the path, for one that is opened there, too.
#[test]
fn objects_of_a_directory_are_files_below_its_path() {
    let path = Temporary::new("locate");
    for description in [plain(), plain().with_chunk_shape(&[2, 2]).with_shard_shape(&[6, 4])] {
        let array = Array::create(&path, "g/a", &description.with_overwrite(true).with_codecs(&[])).unwrap();
        write(&array);
        let (stored, _) = compare(&array, &[], |name| std::fs::read(path.join(name)).unwrap());
        assert!(stored >= 4);
    }
}

/// The name of an entry is told as it is in the zip file, whatever of it the path or the storage leaves out.
#[test]
fn objects_of_a_zip_file_are_its_entries() {
    for top in ["", "top"] {
        let directory = Temporary::new("locate");
        let path = directory.join("a.zip");
        let name = if top.is_empty() { "a" } else { "top/a" };
        let zip = Storage::new(PrefixedStorage::new(ZipWriter::create(&path).unwrap(), top).unwrap()).unwrap();
        write(&Array::create_in(&zip, "beside", &plain()).unwrap());
        write(&Array::create_in(&zip, "a", &plain().with_codecs(&[])).unwrap());
        zip.finish().unwrap();
        let entries = Zip::open(&path).unwrap();
        for name in ["a", name] {
            let array = Array::open(&path, name, Access::Read).unwrap();
            assert_eq!(compare(&array, &[], |name| object(&entries, name)), (4, 8));
        }
        let below = PrefixedStorage::new(Zip::open(&path).unwrap(), top).unwrap();
        let array = Array::open_in(&Storage::new(below).unwrap(), "a", Access::Read).unwrap();
        assert_eq!(compare(&array, &[], |name| object(&entries, name)), (4, 8));
    }
}

#[cfg(feature = "cfdb")]
#[test]
fn chunks_of_a_cfdb_file_are_ranges_of_it() {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/vectors/small.cfdb"));
    let bytes = std::fs::read(path).unwrap();
    let (shuffle, lz4) = (Shuffle::new(2), Lz4Frame);
    let y = Array::open(path, "y", Access::Read).unwrap();
    let codecs: [&dyn Codec; 2] = [&shuffle, &lz4];
    let read = |name: &str| {
        assert_eq!(name, "");
        bytes.clone()
    };
    assert_eq!(compare(&y, &codecs, read), (3, 0));
    assert!(y.variable().dimensions()[0].origin() != 0);
    // As an object of a storage it has the object's name.
    let storage = memory();
    storage.write("ocean/small.cfdb", &bytes).unwrap();
    let y = Array::open_in(&storage.file("ocean/small.cfdb").unwrap(), "y", Access::Read).unwrap();
    assert_eq!(compare(&y, &codecs, |name| object(&*storage, name)), (3, 0));
    // A file that has become another one is an error.
    storage.write("ocean/small.cfdb", &[&bytes[..], &[0]].concat()).unwrap();
    assert_eq!(located(&y, &Hyperslab::all()).unwrap_err().kind(), ErrorKind::Changed);
}

/// A netCDF classic file with two variables of so many records of so many 16-bit numbers, `a` and `b`, of which that
/// with an element of `b` is `i`.
fn classic(num_records: u32, num_elements: u32) -> Vec<u8> {
    let name = |letter| u32::from_be_bytes([letter, 0, 0, 0]);
    let size = (2 * num_elements).next_multiple_of(4);
    let variable = |letter, begin| [1, name(letter), 2, 0, 1, 0, 0, 3, size, begin];
    let dimensions = [num_records, 10, 2, 1, name(b't'), 0, 1, name(b'x'), num_elements, 0, 0, 11, 2];
    let begin = 4 + 4 * (dimensions.len() as u32 + 20);
    let (a, b) = (variable(b'a', begin), variable(b'b', begin + size));
    let mut bytes = b"CDF\x01".to_vec();
    bytes.extend(dimensions.into_iter().chain(a).chain(b).flat_map(u32::to_be_bytes));
    for i in 0..2 * num_records * num_elements {
        bytes.extend((i as i16).to_be_bytes());
        if (i + 1) % num_elements == 0 {
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
    }
    bytes
}

/// The bytes of a variable from the first to the last one that is told lie behind one another in the file: one record,
/// or several with what is between them.
#[test]
fn chunks_of_a_classic_file_are_ranges_of_it_without_what_is_beyond_the_dimensions() {
    // Few records at once with others between them, of which the last chunk has fewer; and records that are cut.
    for (num_records, num_elements) in [(5, 3), (5, 100_000), (3, 40)] {
        let bytes = classic(num_records, num_elements);
        let storage = memory();
        storage.write("f", &bytes).unwrap();
        let array = Array::open_in(&storage.file("f").unwrap(), "b", Access::Read).unwrap();
        let dimensions = array.variable().dimensions();
        let all = located(&array, &Hyperslab::all()).unwrap();
        assert_eq!(all.len(), dimensions[0].num_chunks() * dimensions[1].num_chunks());
        let record = 2 * u64::from((2 * num_elements).next_multiple_of(4));
        let end = |state| if let ChunkState::Stored { offset, len } = state { offset + len } else { 0 };
        for (chunk, name, state) in &all {
            let ChunkState::Stored { offset, len } = *state else { panic!("{chunk:?} is absent") };
            let (start, count) = inside(&array, chunk);
            assert_eq!(name, "f");
            assert_eq!(len, (count[0] as u64 - 1) * record + 2 * count[1] as u64);
            let read: Vec<i16> = array.read(&Hyperslab::new(&start, &count)).unwrap();
            for (i, value) in read.iter().enumerate() {
                let (i, j) = (i / count[1], i % count[1]);
                let at = (offset + i as u64 * record) as usize + 2 * j;
                assert!(at + 2 <= (offset + len) as usize);
                assert_eq!(bytes[at..at + 2], value.to_be_bytes());
            }
        }
        // The last element of the file is the last of the last chunk.
        let padding = u64::from(num_elements % 2) * 2;
        assert_eq!(all.iter().map(|(.., state)| end(*state)).max(), Some(bytes.len() as u64 - padding));
    }
}

#[test]
fn of_a_classic_file_that_is_cut_short_is_told_what_there_is() {
    let bytes = classic(1, 4);
    let begin = bytes.len() as u64 - 8;
    let storage = memory();
    for (missing, len) in [(0, 8), (1, 7), (8, 0), (9, 0)] {
        storage.write("f", &bytes[..bytes.len() - missing]).unwrap();
        let array = Array::open_in(&storage.file("f").unwrap(), "b", Access::Read).unwrap();
        let all = located(&array, &Hyperslab::all()).unwrap();
        assert_eq!(all, [(vec![0, 0], "f".to_owned(), ChunkState::Stored { offset: begin, len })]);
        storage.remove("f").unwrap();
        assert_eq!(located(&array, &Hyperslab::all()).unwrap_err().kind(), ErrorKind::NotFound("file"));
    }
}

#[test]
fn a_classic_file_by_its_path_is_the_object_itself() {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../data/coads_sst.nc"));
    let array = Array::open(path, "COADSY", Access::Read).unwrap();
    let all = located(&array, &Hyperslab::all()).unwrap();
    let ChunkState::Stored { offset, len } = all[0].2 else { panic!("a chunk of a classic file is there") };
    assert_eq!((all.len(), all[0].1.as_str()), (1, ""));
    let bytes = std::fs::read(path).unwrap();
    let values: Vec<f64> = array.read(&Hyperslab::all()).unwrap();
    let due: Vec<u8> = values.iter().flat_map(|value| value.to_be_bytes()).collect();
    assert_eq!(bytes[offset as usize..][..len as usize], due);
}

/// Whoever fills chunks from elsewhere has no objects.
#[test]
fn a_store_without_objects_says_so() {
    let reader = |_: &Request<'_>, _: &mut Buffer<'_>| Ok(Filled::Absent);
    let variable = crate::Variable::new(&[4], &[2], 1).unwrap();
    let store = crate::ChunkStore::new(reader).unwrap();
    let plan = Plan::new(&variable, &Hyperslab::all(), Access::Read).unwrap();
    assert!(matches!(store.locate(&plan, &mut |_| Ok(())).unwrap_err().kind(), ErrorKind::Unsupported(_)));
}
