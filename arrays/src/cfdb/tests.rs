//! Files of cfdb that are made here, and every way to spoil one. tests/judges/cfdb_.py has those that cfdb makes.

use std::sync::Arc;

use super::booklet::POINTER;
use super::open::METADATA;
use super::testing::{Writer, storage};
use crate::codec::testing::encoded;
use crate::error::{ErrorKind, Result};
use crate::object::delayed::DelayedStorage;
use crate::object::{Memory, Storage};
use crate::{Access, Array, AttributeValues, ElementType, Hyperslab, Node, list};

const COMPRESSIONS: [&str; 4] = ["zstd", "lz4", "zstd_shuffle", "lz4_shuffle"];

fn compressed(compression: &str, size: usize, chunk: &[u8]) -> Vec<u8> {
    let shuffled = if compression.ends_with("shuffle") && size > 1 {
        encoded(&crate::Shuffle::new(size), chunk)
    } else {
        chunk.to_vec()
    };
    match compression.starts_with("zstd") {
        true => encoded(&crate::Zstd::new(1, false), &shuffled),
        false => crate::codec::testing::lz4_frame(&shuffled, false),
    }
}

/// Elements of `v` by their global indices, packed in 2 bytes.
fn v(y: i64, x: i64) -> u16 {
    (100 * (y + 20) + x) as u16
}

/// A file with the coordinates y of -3 to 3 and x of 0 to 4, and 7 x 5 packed elements of v, of which the chunk of
/// y = 0 and x = 3 is absent.
fn file(compression: &str, remote: bool) -> Writer {
    let mut writer = Writer::new(5, true);
    let metadata = format!(
        r#"{{"dataset_type":"grid","compression":"{compression}","compression_level":1,"variables":{{
        "y":{{"type":"coord","shape":[7],"chunk_shape":[4],"dtype":{{"name":"int16"}},"origin":-3,"step":1,"axis":"y"}},
        "x":{{"type":"coord","shape":[5],"chunk_shape":[5],"dtype":{{"name":"datetime64[D]"}},"origin":0}},
        "v":{{"type":"data_var","chunk_shape":[2,3],"coords":["y","x"],"units":"K","dtype":{{"name":"float32",
        "precision":1,"dtype_encoded":"uint16","offset":-1.5,"fillvalue":0}}}},
        "name":{{"type":"data_var","chunk_shape":[4],"coords":["y"],"dtype":{{"name":"str"}}}}
        }},"crs":"EPSG:4326","remote":{remote},"format_version":1}}"#
    );
    writer.set(METADATA, metadata.as_bytes());
    writer.set("__.attrs", br#"{"title":"t"}"#);
    writer.set("_v.attrs", br#"{"long_name":"n","scale_factor":7}"#);
    for begin in [-4i64, 0] {
        let chunk: Vec<u8> = (begin..begin + 4).flat_map(|y| (y as i16).to_le_bytes()).collect();
        writer.set(&format!("y!{begin}"), &compressed(compression, 2, &chunk));
        for y in [begin, begin + 2] {
            for x in [0, 3] {
                let chunk: Vec<u8> = (0..6).flat_map(|i| v(y + i / 3, x + i % 3).to_le_bytes()).collect();
                if (y, x) != (0, 3) {
                    writer.set(&format!("v!{y}.{x}"), &compressed(compression, 2, &chunk));
                }
            }
        }
    }
    writer
}

fn expected(y: usize, x: usize) -> u16 {
    let is_absent = (3..5).contains(&y) && x >= 3;
    if is_absent { 0 } else { v(y as i64 - 3, x as i64) }
}

fn open(bytes: &[u8], name: &str) -> Result<Array> {
    Array::open_in(&storage(bytes).file("f").unwrap(), name, Access::Read)
}

fn nodes(bytes: &[u8]) -> Result<Vec<Node>> {
    list(&storage(bytes).file("f").unwrap(), "", true)
}

#[test]
fn variables_are_read_from_their_origins_on() {
    for compression in COMPRESSIONS {
        let bytes = file(compression, false).bytes();
        let array = open(&bytes, "v").unwrap();
        let dimensions = array.variable().dimensions();
        assert_eq!((dimensions[0].origin(), dimensions[0].len(), dimensions[1].origin()), (-3, 7, 0));
        let all: Vec<u16> = (0..35).map(|i| expected(i / 5, i % 5)).collect();
        assert_eq!(array.read::<u16>(&Hyperslab::all()).unwrap(), all, "{compression}");
        for (start, count, stride) in [([1, 1], [3, 2], [2, 3]), ([6, 4], [1, 1], [1, 1]), ([0, 0], [2, 5], [5, 1])] {
            let slab = Hyperslab::new(&start, &count).with_stride(&stride);
            let [sy, sx] = stride.map(|stride| stride as usize);
            let due = (0..count[0]).flat_map(|i| (0..count[1]).map(move |j| (i, j)));
            let due: Vec<u16> = due.map(|(i, j)| expected(start[0] + i * sy, start[1] + j * sx)).collect();
            assert_eq!(array.read::<u16>(&slab).unwrap(), due, "{start:?}");
        }
        let y = open(&bytes, "y").unwrap();
        assert_eq!(y.read::<i16>(&Hyperslab::all()).unwrap(), [-3, -2, -1, 0, 1, 2, 3]);
        // No chunk of x is there: times that are none.
        assert_eq!(open(&bytes, "x").unwrap().read::<i64>(&Hyperslab::all()).unwrap(), [i64::MIN; 5]);
    }
}

#[test]
fn what_is_said_of_variables_is_told() {
    let bytes = file("zstd", false).bytes();
    let array = open(&bytes, "v").unwrap();
    assert_eq!((array.dimension_name(0), array.dimension_name(1)), (Some("y"), Some("x")));
    let stored = |compression: &str| {
        let array = open(&file(compression, false).bytes(), "v").unwrap();
        let codecs = array.codecs().unwrap();
        assert!(codecs.iter().all(|(_, configuration)| configuration.is_empty()));
        (array.format(), codecs.into_iter().map(|(name, _)| name).collect::<Vec<_>>())
    };
    assert_eq!(stored("zstd"), ("cfdb", vec!["zstd".to_owned()]));
    assert_eq!(stored("zstd_shuffle"), ("cfdb", vec!["shuffle".to_owned(), "zstd".to_owned()]));
    let packing = r#""scale_factor":0.1,"add_offset":-1.5,"_FillValue":0,"dtype_decoded":"float32""#;
    assert_eq!(array.attributes_json(), format!(r#"{{"long_name":"n",{packing},"units":"K"}}"#));
    let fill_value = array.attributes().iter().find(|attribute| attribute.name() == "_FillValue").unwrap();
    assert_eq!(*fill_value.element_type(), ElementType::UShort);
    assert_eq!(fill_value.values(), AttributeValues::Bytes(&[0, 0]));
    let nodes = nodes(&bytes).unwrap();
    assert_eq!(nodes.iter().map(Node::name).collect::<Vec<_>>(), ["", "y", "x", "v", "name"]);
    assert!(nodes[0].is_group());
    assert_eq!(nodes[0].attributes_json(), r#"{"title":"t","crs":"EPSG:4326"}"#);
    assert_eq!(nodes[1].attributes_json(), r#"{"axis":"Y"}"#);
    assert_eq!(nodes[2].attributes_json(), r#"{"units":"days since 1970-01-01","calendar":"proleptic_gregorian"}"#);
    assert_eq!((nodes[3].shape(), nodes[3].chunk_shape()), (&[7, 5][..], &[2, 3][..]));
    assert_eq!(nodes[3].element_type(), Some(ElementType::UShort));
    assert!(nodes[4].error().unwrap().to_string().contains("(str)"));
    let file = storage(&bytes).file("f").unwrap();
    let one = list(&file, "v", true).unwrap();
    assert_eq!((one.len(), one[0].name()), (1, "v"));
    assert_eq!(list(&file, "none", true).unwrap_err().to_string(), "none: no such variable");
}

#[test]
fn what_cannot_be_opened_is_refused() {
    let bytes = file("zstd", false).bytes();
    let kind = |bytes: &[u8], name: &str| open(bytes, name).err().unwrap().kind();
    assert_eq!(kind(&bytes, "none"), ErrorKind::NotFound("variable"));
    assert_eq!(kind(&bytes, ""), ErrorKind::NotAnArray);
    assert!(matches!(kind(&bytes, "name"), ErrorKind::Unsupported(_)));
    let mut other = Writer::new(3, false);
    other.set("key", b"value");
    assert!(matches!(kind(&other.bytes(), "v"), ErrorKind::Unsupported(_)));

    let partial = file("zstd", true).bytes();
    assert!(matches!(kind(&partial, "v"), ErrorKind::Unsupported(_)));
    assert_eq!(nodes(&partial).unwrap().len(), 5);
    let mut file = storage(&partial).file("f").unwrap();
    file.allow_partial(true);
    let array = Array::open_in(&file, "v", Access::Read).unwrap();
    assert_eq!(array.read::<u16>(&Hyperslab::new(&[3, 2], &[1, 2])).unwrap(), [expected(3, 2), 0]);
}

#[test]
fn a_file_that_is_replaced_is_an_error() {
    let bytes = file("zstd", false).bytes();
    let storage = storage(&bytes);
    let array = Array::open_in(&storage.file("f").unwrap(), "v", Access::Read).unwrap();
    storage.write("f", &[&bytes[..], &[0]].concat()).unwrap();
    assert_eq!(array.read::<u16>(&Hyperslab::all()).unwrap_err().kind(), ErrorKind::Changed);
    storage.remove("f").unwrap();
    assert_eq!(array.read::<u16>(&Hyperslab::all()).unwrap_err().kind(), ErrorKind::Changed);
}

#[test]
fn threads_share_a_variable_if_they_may_share_its_storage() {
    for is_concurrent in [false, true] {
        let mut later = DelayedStorage::new();
        later.is_concurrent = is_concurrent;
        later.put("f", &file("zstd", false).bytes());
        let file = Storage::new(later).unwrap().file("f").unwrap();
        let array = Array::open_in(&file, "v", Access::Read).unwrap();
        assert_eq!(array.store().is_concurrent(), is_concurrent);
    }
}

#[test]
fn chunks_are_read_many_at_a_time() {
    for compression in COMPRESSIONS {
        let bytes = file(compression, false).bytes();
        let due: Vec<u16> = open(&bytes, "v").unwrap().read(&Hyperslab::all()).unwrap();
        for has_versions in [true, false] {
            let mut later = DelayedStorage::new();
            (later.has_versions, later.limits.requests) = (has_versions, 5);
            later.put("f", &bytes);
            let later = Arc::new(later);
            let file = Storage::new(later.clone()).unwrap().file("f").unwrap();
            let mut array = Array::open_in(&file, "v", Access::Read).unwrap();
            array.set_cache(None);
            later.reset();
            assert_eq!(array.read::<u16>(&Hyperslab::all()), Ok(due.clone()));
            assert_eq!((later.most().0, later.requests_in_flight()), (5, 0));
            // Where the file is known to be the same, nothing is looked for again but the chunk that is absent.
            let pointers = || later.log().iter().filter(|(_, _, size)| *size == POINTER).count();
            assert_eq!(pointers(), 8);
            later.reset();
            assert_eq!(array.read::<u16>(&Hyperslab::all()), Ok(due.clone()));
            assert_eq!(pointers(), if has_versions { 1 } else { 8 });
            // A file of another length is another file.
            later.reset();
            later.put("f", &[bytes.as_slice(), b"more"].concat());
            assert_eq!(array.read::<u16>(&Hyperslab::all()).unwrap_err().kind(), ErrorKind::Changed);
            later.take("f");
            assert!(array.read::<u16>(&Hyperslab::all()).is_err());
            assert_eq!(later.requests_in_flight(), 0);
        }
    }
}

/// Whatever a spoilt file says: an error, or as many elements as its shape has.
fn read_all(bytes: &[u8]) {
    let _ = nodes(bytes);
    for name in ["v", "y", "x"] {
        let Ok(array) = open(bytes, name) else { continue };
        let dimensions = array.variable().dimensions();
        let num_elements = dimensions.iter().try_fold(1usize, |product, d| product.checked_mul(d.len()));
        let bytes_due = num_elements.and_then(|n| n.checked_mul(array.variable().element_size()));
        if bytes_due.is_none_or(|bytes| bytes > 1 << 20) || array.variable().chunk_bytes() > 1 << 20 {
            continue;
        }
        let mut out = vec![0; bytes_due.unwrap()];
        let _ = array.read_into::<u8>(&Hyperslab::all(), &mut out);
    }
}

#[test]
fn truncated_files_are_errors() {
    let bytes = file("lz4_shuffle", false).bytes();
    for len in 0..bytes.len() {
        read_all(&bytes[..len]);
        assert!(nodes(&bytes[..len]).is_err() || len > 0);
    }
    // Without its last block, a chunk of v, the file is not whole, but all else can be read.
    let short = &bytes[..bytes.len() - 1];
    assert_eq!(open(short, "y").unwrap().read::<i16>(&Hyperslab::all()).unwrap().len(), 7);
    let error = open(short, "v").unwrap().read::<u16>(&Hyperslab::all()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Corrupt { .. }));
}

/// The bytes of values, in a file whose blocks begin behind an index of 5 buckets and have times.
fn values(bytes: &[u8]) -> Vec<std::ops::Range<usize>> {
    let (mut values, mut at) = (Vec::new(), 200 + 5 * 6);
    while at < bytes.len() {
        let number = |from: usize, len: usize| (0..len).rev().fold(0, |n, i| n << 8 | usize::from(bytes[from + i]));
        let begin = at + 25 + 7 + number(at + 19, 2);
        values.push(begin..begin + number(at + 21, 4));
        at = values[values.len() - 1].end;
    }
    values
}

#[test]
fn spoilt_files_are_errors_or_arrays() {
    for compression in ["zstd_shuffle", "lz4"] {
        let bytes = file(compression, false).bytes();
        for at in 0..bytes.len() {
            for change in [1, 2, 4, 8, 16, 32, 64, 128, 255] {
                let mut bad = bytes.clone();
                bad[at] ^= change;
                read_all(&bad);
            }
        }
    }
}

/// Where booklet's own bytes are spoilt, a chunk is an error, right, or not found.
#[test]
fn spoilt_chains_lead_to_no_other_values() {
    let bytes = file("zstd", false).bytes();
    let values = values(&bytes);
    assert_eq!(values.len(), 12);
    for at in (0..bytes.len()).filter(|at| !values.iter().any(|value| value.contains(at))) {
        for bit in 0..8 {
            let mut bad = bytes.clone();
            bad[at] ^= 1 << bit;
            let Ok(array) = open(&bad, "v") else { continue };
            let Ok(found) = array.read::<u16>(&Hyperslab::all()) else { continue };
            let is_due = |(i, found): (usize, &u16)| *found == 0 || *found == expected(i / 5, i % 5);
            assert!(found.len() == 35 && found.iter().enumerate().all(is_due), "{at} {bit}");
        }
    }
}

/// Integers that are packed have no factor, and need no fill value.
#[test]
fn packed_integers_have_an_offset() {
    let mut writer = Writer::new(5, true);
    let metadata = br#"{"dataset_type":"grid","compression":"zstd","compression_level":1,"variables":{
        "x":{"type":"coord","shape":[2],"chunk_shape":[2],"dtype":{"name":"int32","dtype_encoded":"uint8","offset":7},
        "origin":0}},"format_version":1}"#;
    writer.set(METADATA, metadata);
    writer.set("x!0", &compressed("zstd", 1, &[1, 2]));
    let array = open(&writer.bytes(), "x").unwrap();
    assert_eq!(array.attributes_json(), r#"{"add_offset":7,"dtype_decoded":"int32"}"#);
    assert_eq!(array.read::<u8>(&Hyperslab::all()).unwrap(), [1, 2]);
}

/// Zarr's chunks begin with the first element, so that other chunks would have the keys.
#[test]
fn references_to_an_array_with_an_origin_are_refused() {
    let storage = Storage::new(Memory::new()).unwrap();
    storage.write("f", &file("zstd", false).bytes()).unwrap();
    let storage = storage.file("f").unwrap();
    assert!(Array::open_in(&storage, "v", Access::Read).unwrap().variable().dimensions()[0].origin() != 0);
    let error = crate::references(&storage, "v", "f").unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Unsupported(_)) && error.to_string().contains("beginning"), "{error}");
}

#[test]
fn attributes_that_are_no_object_are_told() {
    let mut writer = file("zstd", false);
    let array = open(&writer.bytes(), "v").unwrap();
    assert!(array.attributes_error().is_none());
    writer.set("_v.attrs", b"[1]");
    let array = open(&writer.bytes(), "v").unwrap();
    let error = array.attributes_error().unwrap();
    assert_eq!((error.kind(), error.about()), (ErrorKind::Metadata("expected an object"), "_v.attrs: $"));
    assert_eq!(array.read::<u16>(&Hyperslab::all()).unwrap().len(), 35);
}
