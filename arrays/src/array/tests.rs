//! Arrays that are created, written, made smaller and larger, and opened again.

use super::*;
use crate::buffer::Buffer;
use crate::key::Separator;
use crate::object::{ByteRange, Entry, Memory, ObjectStore, check_name, read_whole};
use crate::open_object::ObjectState;
use crate::pass_on;
use crate::variable::Endian;

fn storage() -> Storage {
    Storage::new(Memory::new()).unwrap()
}

fn document(storage: &Storage, name: &str) -> Option<String> {
    read_whole(&**storage, name, 1 << 20).unwrap().map(|text| String::from_utf8(text).unwrap())
}

fn document_of(storage: &Storage, name: &str) -> String {
    document(storage, name).unwrap()
}

/// The names of an array's objects, directly below a prefix.
fn objects(storage: &Storage, prefix: &str) -> Vec<String> {
    let mut names = Vec::new();
    let one = &mut |name: &str, entry| {
        if entry == Entry::Object {
            names.push(name.to_owned());
        }
        Ok(())
    };
    storage.list(prefix, one).unwrap();
    names.sort();
    names
}

/// Descriptions of 10 x 12 shorts of every kind, with fill value -1.
fn each(mut one: impl FnMut(&Description<'_>)) {
    let plain = Description::new(&[10, 12], ElementType::Short)
        .with_chunk_shape(&[3, 5])
        .with_dimension_names(&["y", "x"])
        .with_fill_value(const { &(-1i16).to_ne_bytes() });
    let big = plain.with_endian(crate::Endian::Big);
    for separator in [Separator::Dot, Separator::Slash] {
        for description in [
            plain,
            plain.with_codecs(&[]),
            plain.with_format(ArrayFormat::ZarrV2),
            big.with_format(ArrayFormat::ZarrV2),
            plain.with_format(ArrayFormat::NcZarr).with_codecs(&[("shuffle", ""), ("zlib", r#"{"level": 1}"#)]),
            big.with_chunk_shape(&[3, 2]).with_shard_shape(&[6, 4]),
            plain.with_codecs(&[]).with_chunk_shape(&[2, 2]).with_shard_shape(&[4, 12]),
        ] {
            one(&description.with_separator(separator));
        }
    }
}

#[test]
fn what_is_created_is_opened_as_it_was_described() {
    each(|description| {
        let storage = storage();
        let array = Array::create_in(&storage, "/a/b/", description).unwrap();
        let values: Vec<i16> = (0..120).collect();
        array.write(&Hyperslab::all(), &values).unwrap();
        let array = Array::open_in(&storage, "a/b", Access::Read).unwrap();
        assert_eq!(array.read::<i16>(&Hyperslab::all()).unwrap(), values);
        assert_eq!(array.name(), "a/b");
        assert_eq!((array.dimension_name(0), array.dimension_name(1)), (Some("y"), Some("x")));
        assert_eq!(array.variable().fill_value(), Some(&(-1i16).to_ne_bytes()[..]));
        let error = Array::create_in(&storage, "a/b", description).err().unwrap();
        assert_eq!((error.kind(), error.about()), (ErrorKind::NotOverwritten, "a/b"));
        assert_eq!(error.to_string(), "a/b: an array or group exists here; pass overwrite to replace it");
        let array = Array::create_in(&storage, "a/b", &description.with_overwrite(true)).unwrap();
        assert_eq!(array.read::<i16>(&Hyperslab::all()).unwrap(), [-1; 120]);
        assert!(Array::create_in(&storage, "a/b/c", description).is_err());
    });
}

#[test]
fn texts_of_any_length_are_written_and_read() {
    let texts = Description::new(&[2], ElementType::String);
    assert!(created(&texts).1.store().is_concurrent());
    let texts: Vec<String> = (0..120).map(|i| "\u{e4}".repeat(i)).collect();
    let plain = Description::new(&[10, 12], ElementType::String).with_chunk_shape(&[3, 5]).with_fill_value(b"none");
    let shuffled = plain.with_codecs(&[("shuffle", r#"{"elementsize": 4}"#), ("zlib", "")]);
    for description in [plain, plain.with_codecs(&[]), shuffled, plain.with_format(ArrayFormat::ZarrV2)] {
        let storage = storage();
        let array = Array::create_in(&storage, "texts", &description).unwrap();
        array.write_strings(&Hyperslab::new(&[0, 0], &[5, 12]), &texts[..60]).unwrap();
        let part = array.read_strings(&Hyperslab::new(&[1, 2], &[2, 3]).with_stride(&[4, 4])).unwrap();
        assert_eq!(part, [&texts[14], &texts[18], &texts[22], "none", "none", "none"]);
        array.write_strings(&Hyperslab::all(), &texts).unwrap();
        let array = Array::open_in(&storage, "texts", Access::Read).unwrap();
        assert_eq!(array.read_strings(&Hyperslab::all()).unwrap(), texts);
        assert!(array.read::<u64>(&Hyperslab::all()).is_err());
        assert_eq!(array.write_strings(&Hyperslab::all(), &texts).unwrap_err().kind(), ErrorKind::OpenedToRead);
    }
    let array = Array::create_in(&storage(), "x", &Description::new(&[2], ElementType::String)).unwrap();
    assert!(array.write_strings(&Hyperslab::all(), &["a", "b\0"]).is_err());
    assert!(array.write_strings(&Hyperslab::all(), &["a"]).is_err());
    let numbers = Array::create_in(&storage(), "x", &Description::new(&[2], ElementType::Int)).unwrap();
    assert_eq!(numbers.read_strings(&Hyperslab::all()).unwrap_err().kind(), ErrorKind::ElementType);
}

/// A chunk is decoded to far more bytes than it is stored with.
#[test]
fn texts_are_decoded_whatever_their_length() {
    let storage = storage();
    let array = Array::create_in(&storage, "x", &Description::new(&[2], ElementType::String)).unwrap();
    let long = "x".repeat(3 << 20);
    array.write_strings(&Hyperslab::all(), &[long.as_str(), "y"]).unwrap();
    assert_eq!(array.read_strings(&Hyperslab::all()).unwrap(), [long.as_str(), "y"]);
}

/// The same chunk in an array of 9 words, in chunks of 12: as an object, and within a shard that has it alone. `bytes`
/// are those that are stored of it.
fn with_chunk(storage: &Storage, codecs: &[(&str, &str)], bytes: impl Fn(&mut Vec<u8>)) -> [Array; 2] {
    ["plain", "sharded"].map(|name| {
        let description = Description::new(&[9], ElementType::Int).with_chunk_shape(&[12]).with_codecs(codecs);
        let sharded = description.with_shard_shape(&[12]);
        let description = if name == "sharded" { &sharded } else { &description };
        let array = Array::create_in(storage, name, description).unwrap();
        array.write(&Hyperslab::all(), &[1i32, 2, 3, 4, 5, 6, 7, 8, 9]).unwrap();
        let object = format!("{name}/c/0");
        let mut stored = read_whole(&**storage, &object, 1 << 20).unwrap().unwrap();
        if name == "sharded" {
            stored.truncate(stored.len() - 20);
        }
        bytes(&mut stored);
        if name == "sharded" {
            let index = [0u64.to_le_bytes(), (stored.len() as u64).to_le_bytes()].concat();
            stored.extend_from_slice(&index);
            stored.extend_from_slice(&crate::codec::built_in::crc32c(&index).unwrap().to_le_bytes());
        }
        storage.write(&object, &stored).unwrap();
        Array::open_in(storage, name, Access::Read).unwrap()
    })
}

#[cfg(feature = "codecs")]
#[test]
fn a_stored_length_that_cannot_be_right_is_an_error_whatever_is_needed() {
    let codecs: [(&[(&str, &str)], usize); 13] = [
        (&[], 48),
        (&[("crc32c", "")], 52),
        (&[("crc32c", r#"{"location":"start"}"#)], 52),
        (&[("crc32", "")], 52),
        (&[("crc32", r#"{"location":"end"}"#)], 52),
        (&[("adler32", "")], 52),
        (&[("adler32", r#"{"location":"end"}"#)], 52),
        (&[("fletcher32", "")], 52),
        (&[("delta", r#"{"astype":"<i2"}"#)], 24),
        (&[("packbits", r#"{"last_bit":9}"#)], 15),
        (&[("packbits", r#"{"last_bit":9,"padding_encoding":"first_byte"}"#), ("crc32", "")], 20),
        (&[("shuffle", "")], 48),
        (&[("shuffle", ""), ("crc32c", "")], 52),
    ];
    for has_latency in [false, true] {
        for (codecs, expected) in codecs {
            let read = |len: usize, verify: bool| {
                let later = || Storage::new(crate::object::delayed::DelayedStorage::new()).unwrap();
                let storage = if has_latency { later() } else { storage() };
                let arrays = with_chunk(&storage, codecs, |bytes| bytes.resize(len, 0));
                arrays.map(|mut array| {
                    array.set_verify(verify);
                    array.read::<i32>(&Hyperslab::new(&[1], &[2]))
                })
            };
            for (len, verify) in [37, 47, 49, 51, 53].into_iter().flat_map(|len| [(len, false), (len, true)]) {
                for found in read(len, verify) {
                    let error = found.unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::StoredLength { found: len, expected }, "{codecs:?}");
                    assert_eq!(error.chunk(), Some(&[0][..]));
                }
            }
            for found in read(expected, false) {
                assert_eq!(found.unwrap(), [2, 3], "{codecs:?}");
            }
        }
    }
}

/// Chunks without codecs, in shards and as they are, have no checksum but that of the zip file.
#[cfg(all(feature = "zip", not(miri)))]
#[test]
fn what_is_in_a_zip_file_is_compared_with_its_checksum() {
    let directory = crate::object::testing::Temporary::new("zip-verify");
    let path = directory.join("a.zip");
    let plain = Description::new(&[4000], ElementType::Int).with_chunk_shape(&[2000]).with_codecs(&[]);
    let sharded = plain.with_shard_shape(&[4000]);
    let strings = Description::new(&[4], ElementType::String).with_chunk_shape(&[4]).with_codecs(&[]);
    let zip = Storage::new(crate::object::ZipWriter::create(&path).unwrap()).unwrap();
    let values: Vec<i32> = (1_000_000..1_004_000).collect();
    for (name, description) in [("plain", &plain), ("sharded", &sharded)] {
        Array::create_in(&zip, name, description).unwrap().write(&Hyperslab::all(), &values).unwrap();
    }
    let text = Array::create_in(&zip, "strings", &strings).unwrap();
    text.write_strings(&Hyperslab::all(), &["a-text", "b", "c", "d"]).unwrap();
    zip.finish().unwrap();
    let read = |name: &str, verify| {
        let mut array = Array::open(&path, name, Access::Read).unwrap();
        array.set_verify(verify);
        array.read::<i32>(&Hyperslab::new(&[3], &[2]).with_stride(&[7]))
    };
    for name in ["plain", "sharded"] {
        assert_eq!([false, true].map(|verify| read(name, verify).unwrap()), [[1_000_003, 1_000_010]; 2]);
    }
    // An element that is read is another one, in each of the two arrays, and so is a text.
    let mut bytes = std::fs::read(&path).unwrap();
    let (element, another) = (1_000_010i32.to_ne_bytes(), 1_000_011i32.to_ne_bytes());
    for at in 0..bytes.len() {
        if bytes[at..].starts_with(&element) {
            bytes[at..at + 4].copy_from_slice(&another);
        }
        if bytes[at..].starts_with(b"a-text") {
            bytes[at] = b'x';
        }
    }
    std::fs::write(&path, bytes).unwrap();
    // Of several chunks, too, which are asked for together.
    let all = |name: &str, verify| {
        let mut array = Array::open(&path, name, Access::Read).unwrap();
        array.set_verify(verify);
        array.read::<i32>(&Hyperslab::new(&[10], &[2]).with_stride(&[3000])).map(|found| found[0])
    };
    assert_eq!(all("sharded", false), Ok(1_000_011));
    for name in ["plain", "sharded"] {
        assert!(all(name, true).is_err());
        assert_eq!(read(name, false).unwrap(), [1_000_003, 1_000_011]);
        let error = read(name, true).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Corrupt { .. }) && error.chunk() == Some(&[0]), "{error}");
    }
    let mut array = Array::open(&path, "strings", Access::Read).unwrap();
    array.set_verify(true);
    assert!(array.read_strings(&Hyperslab::new(&[1], &[1])).is_err());
}

#[cfg(feature = "codecs")]
#[test]
fn a_codec_that_only_decodes_is_named() {
    for format in [ArrayFormat::ZarrV2, ArrayFormat::ZarrV3] {
        let storage = storage();
        let zstd = [("blosc", r#"{"cname": "zstd"}"#)];
        let description = Description::new(&[4], ElementType::Int).with_format(format).with_codecs(&zstd);
        let created = Array::create_in(&storage, "v", &description).unwrap();
        created.write(&Hyperslab::all(), &[1, 2, 3, 4]).unwrap();
        for (cname, words) in [("blosclz", "blosclz can only be decoded"), ("snappy", "snappy is not supported")] {
            let refused = |error: Error| {
                let words = format!("blosc: {words}; lz4, lz4hc, zlib and zstd can be encoded");
                assert!(error.to_string().ends_with(&words), "{error}");
            };
            let setting = format!(r#"{{"cname": "{cname}"}}"#);
            let codecs = [("blosc", setting.as_str())];
            let description = Description::new(&[4], ElementType::Int).with_format(format).with_codecs(&codecs);
            refused(Array::create_in(&storage, "w", &description).err().unwrap());
            // An array of another writer's, whose chunks have headers that rule.
            let name = if format == ArrayFormat::ZarrV2 { "v/.zarray" } else { "v/zarr.json" };
            let text = document_of(&storage, name).replace("zstd", cname);
            storage.write(name, text.as_bytes()).unwrap();
            let array = Array::open_in(&storage, "v", Access::Write).unwrap();
            assert_eq!(array.read::<i32>(&Hyperslab::all()).unwrap(), [1, 2, 3, 4]);
            refused(array.write(&Hyperslab::all(), &[1, 2, 3, 5]).unwrap_err());
            storage.write(name, text.replace(cname, "zstd").as_bytes()).unwrap();
        }
    }
}

/// Several ranges of a file are read from one that is opened once.
#[cfg(not(miri))]
#[test]
fn a_file_of_another_length_is_refused_before_ranges_of_it_are_read() {
    let path = crate::object::testing::Temporary::new("file-length");
    let description = Description::new(&[8, 8192], ElementType::Int).with_chunk_shape(&[8, 8192]).with_codecs(&[]);
    let array = Array::create(&path, "", &description).unwrap();
    array.write(&Hyperslab::all(), &vec![7i32; 8 * 8192]).unwrap();
    let column = || array.read::<i32>(&Hyperslab::new(&[0, 3], &[4, 1]));
    assert_eq!(column().unwrap(), [7; 4]);
    let file = std::fs::OpenOptions::new().write(true).open(path.join("c/0/0")).unwrap();
    for len in [8 * 8192 * 4 - 1, 8 * 8192 * 4 + 1] {
        file.set_len(len as u64).unwrap();
        let kind = ErrorKind::StoredLength { found: len, expected: 8 * 8192 * 4 };
        assert_eq!(column().unwrap_err().kind(), kind);
    }
}

#[test]
fn an_array_with_broken_attributes_is_opened_and_they_are_told() {
    let v3 = Description::new(&[4], ElementType::Int).with_attributes_json(r#"{"units":"m"}"#);
    let v2 = v3.with_format(ArrayFormat::ZarrV2);
    let limit = crate::MemoryLimits::default().with_metadata_bytes(20_000);
    for (description, which, broken, about) in [
        (v2, ".zattrs", "{\"units\": ", ".zattrs: line 1, column 11"),
        (v2, ".zattrs", "[]", ".zattrs: $"),
        (v2, ".zattrs", &"[".repeat(20_000), "v/.zattrs"),
        (v3, "zarr.json", "", "zarr.json: $.attributes"),
    ] {
        let mut storage = storage();
        storage.set_memory_limits(limit);
        Array::create_in(&storage, "v", &description).unwrap().write(&Hyperslab::all(), &[1, 2, 3, 4]).unwrap();
        let document = format!("v/{which}");
        let text = match broken {
            "" => document_of(&storage, &document).replace(
                r#"{
    "units": "m"
  }"#,
                "7",
            ),
            broken => broken.to_owned(),
        };
        storage.write(&document, text.as_bytes()).unwrap();
        let mut array = Array::open_in(&storage, "v", Access::Write).unwrap();
        assert_eq!(array.read::<i32>(&Hyperslab::all()).unwrap(), [1, 2, 3, 4]);
        assert_eq!(array.attributes_error().unwrap().about(), about);
        assert_eq!((array.attributes().len(), array.attributes_json()), (0, "{}"));
        // What is there is not lost by writing to it.
        assert!(array.set_attribute("x", "y").is_err() && array.remove_attribute("units").is_err());
        assert_eq!(document_of(&storage, &document), text);
        let nodes = list(&storage, "", true).unwrap();
        assert_eq!((nodes[1].shape(), nodes[1].attributes_error().unwrap().about()), (&[4][..], about));
    }
}

/// Zarr has a fill value beside the attribute, netCDF has one fill value.
#[test]
fn the_fill_value_of_nczarr_is_its_attribute_and_stays_what_it_is() {
    let storage = storage();
    let description = Description::new(&[4], ElementType::Float)
        .with_chunk_shape(&[2])
        .with_dimension_names(&["x"])
        .with_format(ArrayFormat::NcZarr)
        .with_codecs(&[]);
    let nan = description.with_attributes_json(r#"{"_FillValue":"NaN"}"#);
    let array = Array::create_in(&storage, "nan", &nan).unwrap();
    assert!(array.read::<f32>(&Hyperslab::all()).unwrap().iter().all(|value| value.is_nan()));
    // Those who do not know the attribute read the same.
    let text = String::from_utf8(read_whole(&*storage, "nan/.zarray", 10_000).unwrap().unwrap()).unwrap();
    assert!(text.replace(' ', "").contains(r#""fill_value":"NaN""#), "{text}");

    let minus = (-1f32).to_ne_bytes();
    let mut array = Array::create_in(&storage, "minus", &description.with_fill_value(&minus)).unwrap();
    array.write(&Hyperslab::new(&[0], &[1]), &[5f32]).unwrap();
    array.set_attribute("_FillValue", &-1f32).unwrap();
    array.set_attribute("units", "K").unwrap();
    for refused in [array.set_attribute("_FillValue", &7f32), array.set_attributes_json(r#"{"_FillValue":7}"#)] {
        assert!(matches!(refused.unwrap_err().kind(), ErrorKind::Argument(_)));
    }
    // What the array's own document says is the same.
    array.remove_attribute("_FillValue").unwrap();
    array.refresh().unwrap();
    assert_eq!(array.read::<f32>(&Hyperslab::all()).unwrap(), [5.0, -1.0, -1.0, -1.0]);
}

/// A fill value comes back as what it was, or the array is not created.
#[test]
fn fill_values_that_a_format_cannot_hold_are_refused() {
    let create = |element, format, fill_value: &[u8]| {
        let description = Description::new(&[4], element).with_format(format).with_fill_value(fill_value);
        Array::create_in(&storage(), "v", &description).map(|array| array.fill_value().unwrap().to_vec())
    };
    for (element, fill_value) in [
        (ElementType::Char, &[0xff][..]),
        (ElementType::Double, &9.969_21e36f64.to_ne_bytes()),
        (ElementType::Unicode { len: 2 }, &[0u32.to_ne_bytes(), 97u32.to_ne_bytes()].concat()),
    ] {
        let error = create(element, ArrayFormat::ZarrV2, fill_value).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Unsupported(_)), "{element}: {error}");
    }
    // Any NaN is one.
    let nan = f64::from_bits(0x7ff8_0000_0000_0007).to_ne_bytes();
    let v2 = create(ElementType::Double, ArrayFormat::ZarrV2, &nan).unwrap();
    assert!(f64::from_ne_bytes(v2.try_into().unwrap()).is_nan());
    assert_eq!(create(ElementType::Double, ArrayFormat::ZarrV3, &nan).unwrap(), nan);
}

/// Another handle has cut something off, which is in the cache of this one.
#[test]
fn what_another_has_cut_off_is_fill_value_when_the_array_grows() {
    let storage = storage();
    let description = Description::new(&[4], ElementType::Short).with_chunk_shape(&[4]).with_codecs(&[("gzip", "")]);
    let mut array = Array::create_in(&storage, "v", &description).unwrap();
    array.set_cache(Some(&Cache::new(1 << 20).unwrap()));
    array.write(&Hyperslab::all(), &[1i16, 2, 3, 4]).unwrap();
    assert_eq!(array.read::<i16>(&Hyperslab::all()).unwrap(), [1, 2, 3, 4]);
    let mut other = Array::open_in(&storage, "v", Access::Write).unwrap();
    other.resize(&[2]).unwrap();
    other.resize(&[4]).unwrap();
    array.resize(&[5]).unwrap();
    assert_eq!(array.read::<i16>(&Hyperslab::all()).unwrap(), [1, 2, 0, 0, 0]);
}

#[test]
fn what_is_cut_off_is_fill_value_ever_after() {
    each(|description| {
        for shape in [[10, 12], [7, 7], [10, 5], [3, 12], [4, 0], [20, 9]] {
            let storage = storage();
            let mut array = Array::create_in(&storage, "v", description).unwrap();
            let values: Vec<i16> = (0..120).collect();
            array.write(&Hyperslab::all(), &values).unwrap();
            // What is in the cache is not what is stored any more.
            array.read::<i16>(&Hyperslab::new(&[0, 0], &[10, 7])).unwrap();
            array.resize(&shape).unwrap();
            assert_eq!(array.variable().dimensions()[1].len(), shape[1]);
            assert_eq!(array.read::<i16>(&Hyperslab::all()).unwrap().len(), shape[0] * shape[1]);
            array.resize(&[10, 12]).unwrap();
            let expected: Vec<i16> =
                (0..120).map(|i| if i / 12 < shape[0] as i16 && i % 12 < shape[1] as i16 { i } else { -1 }).collect();
            assert_eq!(array.read::<i16>(&Hyperslab::all()).unwrap(), expected, "{shape:?} {description:?}");
            let again = Array::open_in(&storage, "v", Access::Read).unwrap();
            assert_eq!(again.read::<i16>(&Hyperslab::all()).unwrap(), expected);
        }
    });
}

#[test]
fn chunks_outside_are_removed() {
    let storage = storage();
    let description = Description::new(&[10, 12], ElementType::Short).with_chunk_shape(&[5, 6]);
    let mut array = Array::create_in(&storage, "v", &description.with_separator(Separator::Dot)).unwrap();
    array.write(&Hyperslab::all(), &[7i16; 120]).unwrap();
    array.resize(&[3, 12]).unwrap();
    assert_eq!(objects(&storage, "v"), ["c.0.0", "c.0.1", "zarr.json"]);
    array.resize(&[3, 0]).unwrap();
    assert_eq!(objects(&storage, "v"), ["zarr.json"]);
    assert!(matches!(array.resize(&[3]).unwrap_err().kind(), ErrorKind::Argument(_)));
    let mut reader = Array::open_in(&storage, "v", Access::Read).unwrap();
    assert_eq!(reader.resize(&[3, 3]).unwrap_err().kind(), ErrorKind::OpenedToRead);
    assert_eq!(reader.set_attribute("a", "x").unwrap_err().kind(), ErrorKind::OpenedToRead);
}

/// Others may have left objects that are called like chunks which the array does not have. Those that it gets are cut,
/// and others stay.
#[test]
fn stray_chunks_are_cut_like_others() {
    let storage = storage();
    let description = Description::new(&[4, 6], ElementType::Short).with_chunk_shape(&[2, 3]);
    let description = description.with_format(ArrayFormat::ZarrV2).with_codecs(&[]);
    let mut array = Array::create_in(&storage, "v", &description).unwrap();
    array.write(&Hyperslab::all(), &[7i16; 24]).unwrap();
    let beyond_all = format!("v/1.{}", isize::MAX);
    for stray in ["v/1.2", "v/1.100", "v/100.0", &beyond_all] {
        storage.write(stray, &[1; 12]).unwrap();
    }
    // Along the second dimension it becomes longer, so that one of them is within.
    array.resize(&[3, 9]).unwrap();
    for stray in ["v/1.100", "v/100.0", &beyond_all] {
        assert!(storage.object_len(stray).unwrap().is_some());
        storage.remove(stray).unwrap();
    }
    assert_eq!(objects(&storage, "v"), [".zarray", ".zattrs", "0.0", "0.1", "1.0", "1.1", "1.2"]);
    array.resize(&[4, 9]).unwrap();
    let ones = i16::from_ne_bytes([1; 2]);
    let expected = [[7, 7, 7, 7, 7, 7, ones, ones, ones], [0; 9]].concat();
    assert_eq!(array.read::<i16>(&Hyperslab::new(&[2, 0], &[2, 9])).unwrap(), expected);
}

/// A storage that counts what is listed.
struct Listed(Memory, std::sync::atomic::AtomicUsize);

impl ObjectStore for Listed {
    fn list(&self, prefix: &str, one: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
        self.0.list(prefix, &mut |name, entry| {
            self.1.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            one(name, entry)
        })
    }
    pass_on! { self => self.0; read write remove is_writable }
}

/// What is cut is found by its names in an array of many chunks, and by a list in a large grid of few.
#[test]
fn what_is_cut_off_is_found_the_shorter_way() {
    for separator in [Separator::Dot, Separator::Slash] {
        let listed = std::sync::Arc::new(Listed(Memory::new(), 0.into()));
        let storage = Storage::new(listed.clone()).unwrap();
        let chunks = |shape| Description::new(shape, ElementType::UByte).with_codecs(&[]).with_separator(separator);
        let many = chunks(&[40, 40]).with_chunk_shape(&[2, 2]);
        let mut array = Array::create_in(&storage, "many", &many).unwrap();
        array.write(&Hyperslab::all(), &[7u8; 1600]).unwrap();
        listed.1.store(0, std::sync::atomic::Ordering::Relaxed);
        array.resize(&[37, 40]).unwrap();
        let num_listed = listed.1.load(std::sync::atomic::Ordering::Relaxed);
        assert!(num_listed <= 2 * 20 + 20, "{num_listed}");
        array.resize(&[40, 40]).unwrap();
        let expected = [[7u8; 37 * 40].as_slice(), &[0; 3 * 40]].concat();
        assert_eq!(array.read::<u8>(&Hyperslab::all()).unwrap(), expected);
        assert_eq!(array.stored_chunk_len(&[18, 0]).unwrap(), Some(4));
        assert!((0..20).all(|i| array.stored_chunk_len(&[19, i]).unwrap().is_none()));

        let few = chunks(&[1 << 20, 1 << 20]).with_chunk_shape(&[2, 2]);
        let mut array = Array::create_in(&storage, "few", &few).unwrap();
        for at in [[0, 0], [12, 7], [999_999, 5]] {
            array.write(&Hyperslab::new(&at, &[1, 1]), &[7u8]).unwrap();
        }
        let stored = |array: &Array| {
            let mut found = Vec::new();
            let mut one = |indices: &[isize]| Ok(alloc::push(&mut found, indices.to_vec())?);
            assert!(array.each_stored_object(&mut one).unwrap());
            found.sort();
            found
        };
        assert_eq!(stored(&array), [[0, 0], [6, 3], [499_999, 2]]);
        array.resize(&[1 << 20, 7]).unwrap();
        assert_eq!(stored(&array), [[0, 0], [6, 3], [499_999, 2]]);
        array.resize(&[15, 1 << 20]).unwrap();
        assert_eq!(stored(&array), [[0, 0], [6, 3]]);
        assert_eq!(array.read::<u8>(&Hyperslab::new(&[12, 6], &[1, 2])).unwrap(), [0, 0]);
    }
}

/// What a symbolic link leads to stays where a shorter array does not have the link any more.
#[cfg(all(unix, not(miri)))]
#[test]
fn links_that_are_cut_off_are_removed_as_links() {
    let path = crate::object::testing::Temporary::new("cut");
    // A list is the shorter way, or the names are.
    for (num_rows, num_columns) in [(3, 20), (30, 2)] {
        let _ = std::fs::remove_dir_all(&path);
        let shape = [num_rows, num_columns];
        let description = Description::new(&shape, ElementType::UByte).with_chunk_shape(&[1, 1]);
        let mut array = Array::create(&path, "", &description.with_codecs(&[])).unwrap();
        array.write(&Hyperslab::all(), &vec![7u8; num_rows * num_columns]).unwrap();
        let last = path.join(format!("c/{}", num_rows - 1));
        std::fs::remove_dir_all(&last).unwrap();
        std::os::unix::fs::symlink("0", &last).unwrap();
        array.resize(&[num_rows - 1, num_columns]).unwrap();
        assert!(last.symlink_metadata().is_err());
        assert_eq!(array.read::<u8>(&Hyperslab::all()).unwrap(), vec![7u8; (num_rows - 1) * num_columns]);
    }
}

/// A storage that tells of names which no object can have, as object stores do of keys with two slashes, or one at the
/// end.
struct OddNames(Memory);

impl ObjectStore for OddNames {
    fn list(&self, prefix: &str, one: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
        for odd in ["", ".", "..", "a/b", "a\\b"] {
            one(odd, Entry::Prefix)?;
            one(odd, Entry::Object)?;
        }
        self.0.list(prefix, one)
    }
    fn remove(&self, name: &str) -> Result<()> {
        check_name(name)?;
        self.0.remove(name)
    }
    pass_on! { self => self.0; read write is_writable }
}

#[test]
fn names_that_no_object_can_have_are_passed_over() {
    let description = Description::new(&[4], ElementType::Short).with_chunk_shape(&[2]);
    for description in [description, description.with_format(ArrayFormat::ZarrV2).with_separator(Separator::Slash)] {
        let storage = Storage::new(OddNames(Memory::new())).unwrap();
        let description = description.with_overwrite(true);
        for _ in 0..2 {
            let mut array = Array::create_in(&storage, "g/v", &description).unwrap();
            array.write(&Hyperslab::all(), &[7i16; 4]).unwrap();
            array.resize(&[2]).unwrap();
            assert_eq!(array.read::<i16>(&Hyperslab::all()).unwrap(), [7; 2]);
        }
        assert_eq!(list(&storage, "", true).unwrap().len(), 3);
    }
}

#[test]
fn elements_are_read_and_written_as_their_own_type_only() {
    let (storage, array) = created(&Description::new(&[2], ElementType::Float));
    let all = Hyperslab::all();
    array.write(&all, &[1.0f32, 2.0]).unwrap();
    for error in [
        array.write(&all, &[1i32, 2]).unwrap_err(),
        array.read::<i32>(&all).unwrap_err(),
        array.read_into(&all, &mut [0i32; 2]).unwrap_err(),
    ] {
        let message = "x: the elements are float32 and cannot be read or written as i32: values are not converted";
        assert_eq!((error.to_string().as_str(), error.status()), (message, crate::status::EBADTYPE));
    }
    assert!(matches!(array.read::<f64>(&all).unwrap_err().kind(), ErrorKind::RustType { .. }));
    assert_eq!(array.read::<f32>(&all).unwrap(), [1.0, 2.0]);
    assert_eq!(array.read::<[u8; 4]>(&all).unwrap(), [1.0f32.to_ne_bytes(), 2.0f32.to_ne_bytes()]);
    let error = Array::open_in(&storage, "x", Access::Read).unwrap().write(&all, &[1.0f32, 2.0]).unwrap_err();
    assert!(error.to_string().starts_with("x: opened read-only; open it with Access::Write"), "{error}");
}

/// What an array lends is no way round the way in which it was opened.
#[test]
fn an_array_that_was_opened_to_be_read_is_not_written_to_by_its_store() {
    let storage = storage();
    Array::create_in(&storage, "v", &Description::new(&[2], ElementType::Int)).unwrap();
    let reader = Array::open_in(&storage, "v", Access::Read).unwrap();
    let written = crate::write(reader.variable(), reader.store(), &Hyperslab::all(), &[1i32, 2]);
    assert_eq!(written.unwrap_err().kind(), ErrorKind::ReadOnly);
    assert_eq!(objects(&storage, "v"), ["zarr.json"]);
}

#[test]
fn unknown_members_and_consolidated_metadata() {
    let storage = storage();
    let text = r#"{"shape":[4],"chunks":[2],"dtype":"<i2","fill_value":0,"order":"C","filters":null,
        "compressor":null,"zarr_format":2,"of_others":{"x":[1]}}"#;
    storage.write("g/.zgroup", br#"{"zarr_format":2}"#).unwrap();
    storage.write("g/v/.zarray", text.as_bytes()).unwrap();
    let consolidated = br#"{"zarr_consolidated_format":1,"metadata":{}}"#;
    for change in [
        |array: &mut Array| array.resize(&[6]),
        |array: &mut Array| array.set_attribute("units", "m"),
        |array: &mut Array| array.remove_attribute("units"),
    ] {
        storage.write("g/.zmetadata", consolidated).unwrap();
        storage.write(".zmetadata", consolidated).unwrap();
        change(&mut Array::open_in(&storage, "g/v", Access::Write).unwrap()).unwrap();
        assert_eq!((document(&storage, "g/.zmetadata"), document(&storage, ".zmetadata")), (None, None));
    }
    let array = document(&storage, "g/v/.zarray").unwrap();
    assert!(array.contains("\"shape\": [6]") && array.contains("\"of_others\": {"), "{array}");
    assert_eq!(document(&storage, "g/v/.zattrs").unwrap(), "{}\n");
}

/// The time is that of what is stored, not of the shape.
#[test]
#[cfg(target_pointer_width = "64")]
fn references_to_a_huge_array_are_those_of_its_stored_chunks() {
    let huge = Description::new(&[1 << 50, 3], ElementType::Short).with_codecs(&[]);
    for (name, huge) in [("v3", huge), ("v2", huge.with_format(ArrayFormat::ZarrV2))] {
        let storage = storage();
        let array = Array::create_in(&storage, name, &huge.with_chunk_shape(&[1, 3])).unwrap();
        for row in [1 << 40, 7] {
            array.write(&Hyperslab::new(&[row, 0], &[1, 3]), &[1i16, 2, 3]).unwrap();
        }
        let text = crate::references(&storage, name, "u").unwrap();
        let keys: Vec<_> = text.match_indices(".0\":[").map(|(at, _)| text[..at].rsplit('"').next().unwrap()).collect();
        assert_eq!(keys, [format!("{name}/7"), format!("{name}/1099511627776")], "{text}");
    }
}

/// The fill value of Zarr v2 is what `_FillValue` is elsewhere, for kerchunk, xarray and netCDF-C.
#[test]
fn what_marks_missing_elements_is_where_others_look_for_it() {
    let storage = storage();
    let described = |element, json| {
        let v2 = Description::new(&[4], element).with_chunk_shape(&[2]).with_format(ArrayFormat::ZarrV2);
        v2.with_attributes_json(json)
    };
    let told = |text: &str, name: &str| {
        let references = crate::json::read(text.as_bytes()).unwrap();
        let refs = references.get("refs").unwrap_or(&references);
        refs.get(name).and_then(crate::json::Value::as_str).unwrap().to_owned()
    };
    let fill = [("_FillValue", "AAAAAAAA+L8=".into()), ("units", "K".into())];
    let v3 = Description::new(&[4], ElementType::Float).with_chunk_shape(&[2]).with_attributes(&fill);
    let array = Array::create_in(&storage, "f", &v3).unwrap();
    array.write(&Hyperslab::new(&[0], &[2]), &[1f32, 2.0]).unwrap();
    // An absent chunk reads as zeros, so these are the fill value.
    let text = crate::references(&storage, "f", "u").unwrap();
    assert!(told(&text, "f/.zarray").contains(r#""fill_value":0.0"#), "{text}");
    assert!(told(&text, "f/.zattrs").contains("_FillValue"), "{text}");
    array.write(&Hyperslab::all(), &[1f32, 2.0, 3.0, 4.0]).unwrap();
    let text = crate::references(&storage, "f", "u").unwrap();
    assert!(told(&text, "f/.zarray").contains(r#""fill_value":-1.5"#), "{text}");
    assert!(!told(&text, "f/.zattrs").contains("_FillValue") && told(&text, "f/.zattrs").contains("units"), "{text}");
    // Integers are read by all where they are.
    let storage = self::storage();
    let array = Array::create_in(&storage, "i", &described(ElementType::Int, r#"{"_FillValue": -1}"#)).unwrap();
    array.write(&Hyperslab::all(), &[1i32, 2, 3, 4]).unwrap();
    let text = crate::references(&storage, "i", "u").unwrap();
    assert!(told(&text, "i/.zattrs").contains("_FillValue"), "{text}");
    // In Zarr v3 it is an attribute: as xarray has it, of numbers in base64 and of integers as it is.
    let (half, seven) = (0.5f32.to_ne_bytes(), (-7i16).to_ne_bytes());
    let filled = |element, value| described(element, "{}").with_dimension_names(&["x"]).with_fill_value(value);
    let source = Array::create_in(&storage, "g", &filled(ElementType::Float, &half)).unwrap();
    let copied = |source: &Array, name: &str, format| {
        let to = self::storage();
        source.describe_as(format, |as_it_is| Array::create_in(&to, name, &as_it_is)).unwrap();
        document(&to, &format!("{name}/{}", if format == ArrayFormat::ZarrV3 { "zarr.json" } else { ".zattrs" }))
    };
    let found = copied(&source, "g", ArrayFormat::ZarrV3).unwrap();
    assert!(found.contains(r#""_FillValue": "AAAAAAAA4D8=""#), "{found}");
    assert!(!copied(&source, "g", ArrayFormat::ZarrV2).unwrap_or_default().contains("_FillValue"));
    let source = Array::create_in(&storage, "h", &filled(ElementType::Short, &seven)).unwrap();
    let found = copied(&source, "h", ArrayFormat::ZarrV3).unwrap();
    assert!(found.contains(r#""_FillValue": -7"#), "{found}");
    // xarray reads no array whose dimensions have no names.
    let unnamed = described(ElementType::Short, "{}").with_fill_value(&seven);
    let source = Array::create_in(&storage, "u", &unnamed).unwrap();
    assert!(!copied(&source, "u", ArrayFormat::ZarrV3).unwrap().contains("_FillValue"));
}

#[test]
fn attributes_are_written_at_once() {
    for format in [ArrayFormat::ZarrV2, ArrayFormat::ZarrV3, ArrayFormat::NcZarr] {
        let storage = storage();
        let attributes = [("scale", (&0.5f32).into()), ("units", "m".into())];
        let description = Description::new(&[4], ElementType::Short)
            .with_dimension_names(&["x"])
            .with_format(format)
            .with_attributes_json(r#"{"title": "t", "units": "K"}"#)
            .with_attributes(&attributes);
        let mut array = Array::create_in(&storage, "v", &description).unwrap();
        let names = |array: &Array| array.attributes().iter().map(|one| one.name().to_owned()).collect::<Vec<_>>();
        assert_eq!(names(&array), ["title", "units", "scale"]);
        array.set_attribute("range", &[1i16, 2]).unwrap();
        array.set_attribute("title", &["a", "b"][..]).unwrap();
        array.remove_attribute("units").unwrap();
        assert_eq!(array.remove_attribute("units").unwrap_err().kind(), ErrorKind::NoAttribute);
        assert!(array.set_attribute("_ARRAY_DIMENSIONS", "x").is_err());
        let again = Array::open_in(&storage, "v", Access::Read).unwrap();
        for array in [&array, &again] {
            assert_eq!(names(array), ["title", "scale", "range"]);
            let expected = if format == ArrayFormat::NcZarr { ElementType::Short } else { ElementType::Int };
            assert_eq!(*array.attributes()[2].element_type(), expected);
            assert_eq!(array.dimension_name(0), Some("x"));
        }
    }
}

/// A member that cannot be read is listed with its status, and so are those behind it.
#[cfg(not(miri))]
#[test]
fn a_member_that_cannot_be_read_does_not_end_a_listing() {
    let path = crate::object::testing::Temporary::new("members");
    let description = Description::new(&[2], ElementType::Short);
    ["g/a", "g/z"].iter().for_each(|name| drop(Array::create(&path, name, &description).unwrap()));
    let listed = || -> Vec<(String, bool)> {
        let nodes = list(&crate::open_storage(&path).unwrap(), "g", true).unwrap();
        nodes.iter().map(|node| (node.name().to_owned(), node.error().is_some())).collect()
    };
    let expected = ["g", "g/a", "g/m", "g/z"].map(|name| (name.to_owned(), name == "g/m"));
    std::fs::create_dir_all(path.join("g/m/zarr.json")).unwrap();
    assert_eq!(listed(), expected);
    std::fs::remove_dir(path.join("g/m/zarr.json")).unwrap();
    std::fs::write(path.join("g/m/.zgroup"), r#"{"zarr_format": 9}"#).unwrap();
    assert_eq!(listed(), expected);
}

#[test]
fn arrays_are_created_by_path() {
    let temporary = crate::object::testing::Temporary::new("create");
    let directory = temporary.join("new");
    let description = Description::new(&[], ElementType::Double);
    let snappy = [("blosc", r#"{"cname": "snappy"}"#)];
    for wrong in [description.with_fill_value(&[0]), description.with_codecs(&snappy)] {
        assert!(Array::create(&directory, "", &wrong).is_err() && !directory.exists());
    }
    let no_zip = Array::create(directory.with_extension("zip"), "", &description).err().unwrap();
    assert!(matches!(no_zip.kind(), ErrorKind::Unsupported(_)));
    let array = Array::create(&directory, "", &description).unwrap();
    array.write(&Hyperslab::all(), &[2.5f64]).unwrap();
    let array = Array::open(&directory, "", Access::Read).unwrap();
    assert_eq!(array.read::<f64>(&Hyperslab::all()).unwrap(), [2.5]);
    // What were directories become files.
    for shape in [&[4usize, 4, 4][..], &[4, 4], &[4], &[], &[4, 4]] {
        let description = Description::new(shape, ElementType::Double).with_chunk_shape(&[2, 2, 2][..shape.len()]);
        let array = Array::create(&directory, "", &description.with_overwrite(true)).unwrap();
        let values = vec![2.5f64; shape.iter().product()];
        array.write(&Hyperslab::all(), &values).unwrap();
        assert_eq!(array.read::<f64>(&Hyperslab::all()).unwrap(), values);
    }
}

#[test]
fn an_array_that_is_gone_is_not_half_made_again() {
    for format in [ArrayFormat::ZarrV2, ArrayFormat::ZarrV3] {
        let storage = storage();
        let description = Description::new(&[4], ElementType::Short).with_format(format);
        let mut array = Array::create_in(&storage, "v", &description).unwrap();
        for document in ["v/.zarray", "v/.zattrs", "v/zarr.json"] {
            storage.remove(document).unwrap();
        }
        assert_eq!(array.resize(&[5]).unwrap_err().kind(), ErrorKind::NotFound("array"));
        assert_eq!(array.set_attribute("a", "x").unwrap_err().kind(), ErrorKind::NotFound("array"));
        assert_eq!((objects(&storage, "v"), array.variable().dimensions()[0].len()), (vec![], 4));
    }
}

#[cfg(feature = "zip")]
#[test]
fn arrays_are_created_in_a_new_zip_file() {
    let directory = crate::object::testing::Temporary::new("created");
    let path = directory.join("a.zip");
    let storage = Storage::new(crate::object::ZipWriter::create(&path).unwrap()).unwrap();
    for name in ["a/b", "c"] {
        let array = Array::create_in(&storage, name, &Description::new(&[6], ElementType::Short)).unwrap();
        array.write(&Hyperslab::all(), &[1i16, 2, 3, 4, 5, 6]).unwrap();
    }
    storage.finish().unwrap();
    let array = Array::open(&path, "a/b", Access::Read).unwrap();
    assert_eq!(array.read::<i16>(&Hyperslab::new(&[2], &[2])).unwrap(), [3, 4]);
    assert_eq!(list(&open_storage(&path).unwrap(), "", true).unwrap().len(), 4);
    // A zip file is known by its end, too: other bytes may be before it.
    let zip = std::fs::read(&path).unwrap();
    std::fs::write(&path, [b"#!/bin/sh\n", zip.as_slice()].concat()).unwrap();
    assert_eq!(list(&open_storage(&path).unwrap(), "", true).unwrap().len(), 4);
    std::fs::write(&path, b"#!/bin/sh\n").unwrap();
    assert_eq!(open_storage(&path).err().unwrap().kind(), ErrorKind::UnknownFormat);
}

/// A directory that is packed with its name before all others is a storage as if it were not.
#[cfg(feature = "zip")]
#[test]
fn a_directory_within_a_zip_file_is_the_storage() {
    let directory = crate::object::testing::Temporary::new("packed");
    let path = directory.join("a.zip");
    let writer = crate::object::ZipWriter::create(&path).unwrap();
    let storage = Storage::new(crate::object::PrefixedStorage::new(writer, "v.zarr").unwrap()).unwrap();
    let array = Array::create_in(&storage, "", &Description::new(&[3], ElementType::Short)).unwrap();
    array.write(&Hyperslab::all(), &[1i16, 2, 3]).unwrap();
    storage.finish().unwrap();
    // Its name may be given, too.
    for name in ["", "v.zarr", "/v.zarr/"] {
        let array = Array::open(&path, name, Access::Read).unwrap();
        assert_eq!(array.read::<i16>(&Hyperslab::all()).unwrap(), [1, 2, 3]);
        let nodes = list(&open_storage(&path).unwrap(), name, true).unwrap();
        assert_eq!((nodes.len(), nodes[0].name()), (1, name.trim_matches('/')));
    }
    for name in ["v", "v.zarr/x", "v.zarr/v.zarr", "v.zarrs"] {
        assert_eq!(Array::open(&path, name, Access::Read).err().unwrap().kind(), ErrorKind::NotFound("array"));
    }
}

/// What other readers open in a packed directory by its name and the array's is found by both names.
#[cfg(feature = "zip")]
#[test]
fn names_in_a_zip_file_may_begin_with_its_one_directory() {
    let directory = crate::object::testing::Temporary::new("top");
    let path = directory.join("a.zip");
    let create = |names: &[&str]| {
        let writer = crate::object::ZipWriter::create(&path).unwrap();
        let storage = Storage::new(crate::object::PrefixedStorage::new(writer, "data").unwrap()).unwrap();
        for (i, name) in names.iter().enumerate() {
            let array = Array::create_in(&storage, name, &Description::new(&[1], ElementType::Short)).unwrap();
            array.write(&Hyperslab::all(), &[i as i16]).unwrap();
        }
        storage.finish().unwrap();
    };
    let read = |name: &str| Array::open(&path, name, Access::Read)?.read::<i16>(&Hyperslab::all());
    let names = |group: &str| -> Vec<String> {
        let nodes = list(&open_storage(&path).unwrap(), group, true).unwrap();
        nodes.iter().map(|node| node.name().to_owned()).collect()
    };
    create(&["f4", "g/f4"]);
    for (name, value) in [("f4", 0), ("g/f4", 1), ("data/f4", 0), ("data/g/f4", 1)] {
        assert_eq!(read(name).unwrap(), [value], "{name}");
    }
    assert_eq!(read("data/g").unwrap_err().kind(), ErrorKind::NotAnArray);
    assert_eq!(names(""), ["", "f4", "g", "g/f4"]);
    assert_eq!(names("data"), ["data", "data/f4", "data/g", "data/g/f4"]);
    // The names are not clear.
    create(&["f4", "data/f4"]);
    assert_eq!((read("f4").unwrap(), read("data/f4").unwrap()), (vec![0], vec![1]));
}

/// A storage with the array `x` that is described.
fn created(description: &Description<'_>) -> (Storage, Array) {
    let storage = storage();
    let array = Array::create_in(&storage, "x", description).unwrap();
    (storage, array)
}

#[test]
fn it_is_told_how_an_array_is_stored() {
    let shape = Description::new(&[10, 12], ElementType::Short).with_dimension_names(&["y", "x"]);
    let (_, array) = created(&shape.with_codecs(&[("shuffle", ""), ("zlib", r#"{"level": 4}"#)]));
    let named = |name: &str, configuration: &str| (name.to_owned(), configuration.to_owned());
    let codecs = [named("shuffle", r#"{"elementsize":2}"#), named("zlib", r#"{"level":4}"#)];
    assert_eq!((array.format(), array.codecs().unwrap()), ("Zarr v3", codecs.to_vec()));
    // What is told is what describes an array like it.
    let codecs: Vec<_> = codecs.iter().map(|(name, configuration)| (&**name, &**configuration)).collect();
    let (_, again) = created(&shape.with_codecs(&codecs).with_format(ArrayFormat::NcZarr));
    assert_eq!((again.format(), again.codecs().unwrap()), ("NCZarr", array.codecs().unwrap()));
    let (_, sharded) = created(&shape.with_codecs(&[]).with_chunk_shape(&[2, 3]).with_shard_shape(&[4, 6]));
    assert_eq!(sharded.codecs().unwrap(), []);
    assert_eq!(created(&shape.with_format(ArrayFormat::ZarrV2)).1.format(), "Zarr v2");
}

#[test]
fn codec_settings_are_checked_before_anything_is_written() {
    for (name, settings, words) in [
        ("zstd", r#"{"level":99}"#, "zstd: $.level: expected an integer from -131072 to 22, found 99"),
        ("zstd", r#"{"levl":3}"#, "zstd: $.levl: unknown setting; the codec has: level, checksum"),
        #[cfg(feature = "codecs")]
        ("gzip", r#"{"level":99}"#, "gzip: $.level: expected an integer from 0 to 9, found 99"),
        #[cfg(feature = "codecs")]
        ("blosc", r#"{"clevel":42}"#, "blosc: $.clevel: expected an integer from 0 to 9, found 42"),
    ] {
        let codecs = [(name, settings)];
        let usual = Description::new(&[4], ElementType::Int);
        for format in [ArrayFormat::ZarrV2, ArrayFormat::ZarrV3, ArrayFormat::NcZarr] {
            let storage = storage();
            // One that is there stays as it is.
            Array::create_in(&storage, "x", &usual).unwrap().write(&Hyperslab::all(), &[1, 2, 3, 4]).unwrap();
            let wrong = usual.with_codecs(&codecs).with_overwrite(true);
            let wrong = if format == ArrayFormat::NcZarr { wrong.with_dimension_names(&["x"]) } else { wrong };
            let error = Array::create_in(&storage, "x", &wrong.with_format(format)).err().unwrap();
            assert!(error.to_string().ends_with(words), "{error}");
            assert_eq!(error.status(), crate::status::EINVAL);
            let there = Array::open_in(&storage, "x", Access::Read).unwrap();
            assert_eq!(there.read::<i32>(&Hyperslab::all()).unwrap(), [1, 2, 3, 4]);
        }
    }
}

#[test]
fn attributes_of_formats_are_not_the_users_own() {
    let json = r#"{"units":"K","nested":{"a":[1,NaN]}}"#;
    let description = Description::new(&[4], ElementType::Int).with_dimension_names(&["x"]).with_attributes_json(json);
    for format in [ArrayFormat::ZarrV2, ArrayFormat::ZarrV3, ArrayFormat::NcZarr] {
        let (_, array) = created(&description.with_format(format));
        assert_eq!(array.attributes_json() == json, format == ArrayFormat::ZarrV3);
        assert_eq!(array.own_attributes_json().unwrap(), json);
    }
}

#[test]
fn fill_values_are_bytes_or_texts() {
    let value = (-1i16).to_ne_bytes();
    let short = Description::new(&[4], ElementType::Short);
    assert_eq!(created(&short.with_fill_value(&value)).1.fill_value(), Some(&value[..]));
    let texts = Description::new(&[4], ElementType::String).with_fill_value(b"none");
    assert_eq!(created(&texts).1.fill_value(), Some(&b"none"[..]));
}

#[test]
fn stored_chunks_have_lengths_and_names() {
    let all = Description::new(&[5, 6], ElementType::Short).with_chunk_shape(&[2, 4]);
    let first = Hyperslab::new(&[0, 0], &[2, 4]);
    let (storage, array) = created(&all.with_codecs(&[("zstd", "")]).with_format(ArrayFormat::ZarrV2));
    array.write(&first, &[7i16; 8]).unwrap();
    assert_eq!(array.chunk_object(&[0, 0]).unwrap().as_deref(), Some("x/0.0"));
    let stored = read_whole(&*storage, "x/0.0", 1 << 20).unwrap().unwrap();
    assert_eq!(array.stored_chunk_len(&[0, 0]).unwrap(), Some(stored.len()));
    assert_eq!(array.stored_chunk_len(&[2, 1]).unwrap(), None);
    for wrong in [&[3, 0][..], &[0, 2], &[-1, 0], &[0]] {
        assert!(matches!(array.stored_chunk_len(wrong).unwrap_err().kind(), ErrorKind::Argument(_)));
        assert!(matches!(array.chunk_object(wrong).unwrap_err().kind(), ErrorKind::Argument(_)));
    }
    // A chunk of a shard has the bytes that the shard's index tells.
    let (_, array) = created(&all.with_codecs(&[]).with_chunk_shape(&[1, 2]).with_shard_shape(&[2, 4]));
    array.write(&first, &[7i16; 8]).unwrap();
    assert_eq!(array.stored_chunk_len(&[1, 1]).unwrap(), Some(4));
    assert_eq!((array.stored_chunk_len(&[0, 2]).unwrap(), array.stored_chunk_len(&[2, 0]).unwrap()), (None, None));
    assert_eq!(array.chunk_object(&[3, 2]).unwrap().as_deref(), Some("x/c/1/1"));
    // Of texts it is what is stored, and not what they are in memory.
    let (storage, array) = created(&Description::new(&[2], ElementType::String).with_codecs(&[]));
    array.write_strings(&Hyperslab::all(), &["a", "bc"]).unwrap();
    let stored = read_whole(&*storage, "x/c/0", 1 << 20).unwrap().unwrap();
    assert_eq!(array.stored_chunk_len(&[0]).unwrap(), Some(stored.len()));
}

#[test]
fn a_file_tells_how_an_array_is_stored() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../data/coads_sst.nc");
    let array = Array::open(path, "SST", Access::Read).unwrap();
    assert_eq!((array.format(), array.codecs().unwrap().len()), ("netCDF classic", 0));
    // Records lie between those of other variables, whose bytes are not its own.
    assert_eq!(array.stored_chunk_len(&[0, 0, 0]).unwrap(), Some(12 * 90 * 180 * 4));
    assert_eq!(array.chunk_object(&[0, 0, 0]).unwrap(), None);
    assert_eq!(array.fill_value(), Some(&(-1e34f32).to_ne_bytes()[..]));
}

/// Chunks that land whole in the memory of a large read, where they are decoded in the processor's cache first, or not.
#[cfg(all(feature = "codecs", not(miri)))]
#[test]
fn large_reads_of_whole_chunks() {
    // 18 MiB in chunks of 256 KiB, of which the fourth is absent.
    const LENS: [usize; 3] = [72, 256, 256];
    const PLANE: usize = 256 * 256;
    for endian in [crate::Endian::Native, crate::Endian::Big] {
        let description = Description::new(&LENS, ElementType::UInt)
            .with_chunk_shape(&[1, 256, 256])
            .with_endian(endian)
            .with_fill_value(const { &9u32.to_ne_bytes() })
            .with_codecs(&[("shuffle", r#"{"elementsize": 4}"#), ("zstd", "")])
            .with_format(ArrayFormat::ZarrV2);
        let (storage, mut array) = created(&description);
        let mut values: Vec<u32> = (0..72 * PLANE as u32).map(|i| i.wrapping_mul(2_654_435_761) >> 12).collect();
        array.write(&Hyperslab::all(), &values).unwrap();
        storage.remove("x/3.0.0").unwrap();
        values[3 * PLANE..4 * PLANE].fill(9);
        array.set_cache(None);
        assert!(array.read::<u32>(&Hyperslab::all()).unwrap() == values);
    }
}

/// What is kept of a chunk by reads of which the first needs a part of it: how often it has to be decoded.
#[cfg(all(feature = "codecs", not(miri)))]
#[test]
fn chunks_that_are_nearly_all_decoded_are_kept_whole() {
    const LEN: usize = 300_000;
    let values: Vec<i32> = (0..LEN as i32).map(|i| i.wrapping_mul(i) >> 7).collect();
    let zstd: &[(&str, &str)] = &[("zstd", "")];
    let shuffled: &[(&str, &str)] = &[("shuffle", r#"{"elementsize": 4}"#), ("zstd", "")];
    let blosc: &[(&str, &str)] = &[("blosc", r#"{"cname": "lz4", "blocksize": 4096}"#)];
    let only_shuffled: &[(&str, &str)] = &[("shuffle", r#"{"elementsize": 4}"#)];
    let [crc32c, fletcher32] = [("crc32c", ""), ("fletcher32", "")];
    // The codecs, which elements are read first, and how often the chunk is decoded if its last and its first are read
    // after them.
    for (codecs, begin, end, expected) in [
        (zstd, 0, LEN / 2, 2),
        (zstd, LEN / 2, LEN * 7 / 10, 2),
        (zstd, LEN * 7 / 10, LEN * 8 / 10, 1),
        (shuffled, 0, 10, 1),
        (blosc, LEN * 7 / 10, LEN * 8 / 10, 2),
        (blosc, 0, LEN * 8 / 10, 1),
        (only_shuffled, LEN * 7 / 10, LEN * 8 / 10, 2),
        (only_shuffled, 0, LEN * 8 / 10, 1),
        // What has to be decoded decides, not what is summed up.
        (&[crc32c], LEN * 7 / 10, LEN * 8 / 10, 2),
        (&[zstd[0], crc32c], 0, LEN / 2, 2),
        (&[zstd[0], fletcher32], 0, LEN / 2, 2),
        (&[blosc[0], crc32c], LEN * 7 / 10, LEN * 8 / 10, 2),
        (&[zstd[0], crc32c], LEN * 7 / 10, LEN * 8 / 10, 1),
    ] {
        let description = Description::new(&[LEN], ElementType::Int).with_codecs(codecs);
        let (_, mut array) = created(&description.with_format(ArrayFormat::ZarrV2));
        array.write(&Hyperslab::all(), &values).unwrap();
        let cache = Cache::new(4 << 20).unwrap();
        array.set_cache(Some(&cache));
        for (begin, end) in [(begin, end), (LEN - 1, LEN), (0, 1)] {
            let read = array.read::<i32>(&Hyperslab::new(&[begin], &[end - begin])).unwrap();
            assert_eq!(read, values[begin..end]);
        }
        let statistics = cache.statistics();
        assert_eq!((statistics.misses, statistics.hits), (expected, 3 - expected), "{codecs:?} from {begin} to {end}");
    }
}

/// Of each chunk: how often it was decoded and found when it is read three times, one part after the other.
#[test]
fn an_arrays_own_cache_keeps_chunks_from_their_second_use_on() {
    const LEN: usize = 1000;
    let values: Vec<i32> = (0..2 * LEN as i32).collect();
    let description = Description::new(&[2 * LEN], ElementType::Int).with_chunk_shape(&[LEN]);
    let (storage, written) = created(&description.with_codecs(&[("zstd", r#"{"level": 1}"#)]));
    written.write(&Hyperslab::all(), &values).unwrap();
    let array = Array::open_in(&storage, "x", Access::Read).unwrap();
    for (begin, end, misses, hits) in [
        // Nothing is kept, not even the part.
        (0, LEN - 1, 1, 0),
        (0, LEN - 1, 2, 0),
        (0, LEN - 1, 2, 1),
        (5, 7, 2, 2),
        // One was used again, so the next is kept at once.
        (LEN, LEN + 5, 3, 2),
        (2 * LEN - 5, 2 * LEN, 3, 3),
    ] {
        let read = array.read::<i32>(&Hyperslab::new(&[begin], &[end - begin])).unwrap();
        assert_eq!(read, values[begin..end]);
        let statistics = array.cache.as_ref().unwrap().statistics();
        assert_eq!((statistics.misses, statistics.hits), (misses, hits), "from {begin} to {end}");
    }
}

/// A shard that another one takes the place of is not read by the index of the one before, even if both are as long.
#[cfg(not(miri))]
#[test]
fn a_shard_that_is_replaced_has_an_index_of_its_own() {
    let directory = crate::object::testing::Temporary::new("shard");
    let description = Description::new(&[8], ElementType::UByte)
        .with_chunk_shape(&[2])
        .with_shard_shape(&[8])
        .with_fill_value(&[0])
        .with_codecs(&[]);
    let writer = Array::create(&directory, "", &description).unwrap();
    let mut reader = Array::open(&directory, "", Access::Read).unwrap();
    reader.set_cache(None);
    // The chunks that are all fill values are not stored: so the shards have the same length, and others in them.
    let [first, second] = [[1u8, 2, 0, 0, 5, 6, 0, 0], [0, 0, 3, 4, 0, 0, 7, 8]];
    for values in [first, second, first] {
        writer.write(&Hyperslab::all(), &values).unwrap();
        assert_eq!(reader.read::<u8>(&Hyperslab::all()).unwrap(), values);
        assert_eq!(reader.read::<u8>(&Hyperslab::new(&[2], &[2])).unwrap(), values[2..4]);
    }
    drop((writer, reader));
}

/// A storage that can be written to, and does not tell what it has.
struct Unlisted(Memory);

impl ObjectStore for Unlisted {
    pass_on! { self => self.0; read write is_writable }

    fn list(&self, _: &str, _: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
        Ok(())
    }
}

/// Without a list of the objects nobody knows which of them are to be removed.
#[test]
fn nothing_is_cut_off_or_overwritten_where_objects_are_not_listed() {
    let storage = Storage::new(Unlisted(Memory::new())).unwrap();
    let description = Description::new(&[10], ElementType::Short).with_chunk_shape(&[4]);
    let mut array = Array::create_in(&storage, "v", &description).unwrap();
    array.write(&Hyperslab::all(), &[7i16; 10]).unwrap();
    let words = |error: crate::Error| error.to_string();
    assert!(words(array.resize(&[3]).unwrap_err()).contains("needs a storage that can list"));
    assert_eq!(array.read::<i16>(&Hyperslab::all()).unwrap(), [7; 10]);
    array.resize(&[11]).unwrap();
    assert_eq!(array.read::<i16>(&Hyperslab::all()).unwrap()[9..], [7, 0]);
    let again = Array::create_in(&storage, "v", &description.with_overwrite(true));
    assert!(words(again.err().unwrap()).contains("needs a storage that can list"));
}

#[test]
fn attributes_are_set_where_there_were_none() {
    let storage = storage();
    Array::create_in(&storage, "v", &Description::new(&[2], ElementType::Short)).unwrap();
    let mut metadata = crate::json::read(document(&storage, "v/zarr.json").unwrap().as_bytes()).unwrap();
    for attributes in [None, Some(crate::json::Value::Null)] {
        while metadata.take("attributes").is_some() {}
        if let Some(null) = attributes {
            metadata.set("attributes", null).unwrap();
        }
        storage.write("v/zarr.json", crate::json::compact(&metadata).unwrap().as_bytes()).unwrap();
        Array::open_in(&storage, "v", Access::Write).unwrap().set_attribute("units", "m").unwrap();
        let array = Array::open_in(&storage, "v", Access::Read).unwrap();
        assert_eq!(array.attributes_json(), r#"{"units":"m"}"#);
    }
}

/// JSON can hold surrogates that are no characters. Who sets one attribute does not change another.
#[test]
fn attributes_that_no_text_can_hold_stay_as_they_are() {
    let others = r#""lone":"a\ud800","\udfff":["\uDC00\n"],"number":1e999"#;
    let json = format!("{{{others}}}");
    let description = Description::new(&[2], ElementType::Short).with_attributes_json(&json);
    for (format, which) in [(ArrayFormat::ZarrV3, "v/zarr.json"), (ArrayFormat::ZarrV2, "w/.zattrs")] {
        let storage = storage();
        let (name, _) = which.split_once('/').unwrap();
        let mut array = Array::create_in(&storage, name, &description.with_format(format)).unwrap();
        array.set_attribute("units", "m").unwrap();
        array.set_attribute("\u{fffd}", "m").unwrap();
        array.remove_attribute("units").unwrap();
        let again = Array::open_in(&storage, name, Access::Write).unwrap();
        for text in [array.attributes_json(), again.attributes_json(), &again.own_attributes_json().unwrap()] {
            assert_eq!(text, format!("{{{others},\"\u{fffd}\":\"m\"}}"));
        }
        assert!(document(&storage, which).unwrap().contains(r#""lone": "a\ud800""#));
    }
}

/// A scalar of netCDF-C's has one element and no dimensions, and keeps its shape.
#[test]
fn a_scalar_of_netcdf_has_no_dimensions() {
    let storage = storage();
    let description = Description::new(&[], ElementType::Int).with_format(ArrayFormat::NcZarr);
    let mut array = Array::create_in(&storage, "g/v", &description).unwrap();
    array.write(&Hyperslab::all(), &[7]).unwrap();
    let before = document(&storage, "g/v/.zarray");
    array.resize(&[]).unwrap();
    assert_eq!(array.resize(&[1]).unwrap_err().to_string(), "there must be one length for each dimension");
    assert_eq!((document(&storage, "g/v/.zarray"), array.read::<i32>(&Hyperslab::all()).unwrap()), (before, vec![7]));
    let nodes = list(&storage, "g/v", true).unwrap();
    assert_eq!((nodes[0].shape(), nodes[0].chunk_shape()), (&[][..], &[][..]));
}

/// The lengths of dimensions that netCDF-C has in a group are those of other arrays, too.
#[test]
fn dimensions_of_a_group_keep_their_lengths() {
    let storage = storage();
    let array = r#"{"shape":[4],"chunks":[2],"dtype":"<i2","fill_value":null,"order":"C","filters":null,
        "compressor":null,"zarr_format":2,"_nczarr_array":{"dimension_references":["/x"],"storage":"chunked"}}"#;
    storage.write(".zgroup", br#"{"zarr_format":2,"_nczarr_group":{"dimensions":{"x":4}}}"#).unwrap();
    storage.write("v/.zarray", array.as_bytes()).unwrap();
    let mut opened = Array::open_in(&storage, "v", Access::Write).unwrap();
    let error = opened.resize(&[3]).unwrap_err().to_string();
    assert_eq!(error, "not supported: resizing a dimension whose length netCDF-C keeps in its group");
    assert_eq!(document(&storage, "v/.zarray").unwrap(), array);
}

/// What Zarr v3 does not have is kept where it can be: characters, and types of attributes.
#[test]
fn an_array_is_described_for_a_format() {
    let storage = storage();
    let attributes = [("valid", (&[-1i16, 1]).into()), ("scale", (&0.1f32).into())];
    let description = Description::new(&[4], ElementType::Char)
        .with_format(ArrayFormat::NcZarr)
        .with_dimension_names(&["t"])
        .with_attributes(&attributes);
    let array = Array::create_in(&storage, "a", &description).unwrap();
    for (format, element, types) in [
        (ArrayFormat::NcZarr, ElementType::Char, [ElementType::Short, ElementType::Float]),
        (ArrayFormat::ZarrV2, ElementType::Char, [ElementType::Int, ElementType::Double]),
        (ArrayFormat::ZarrV3, ElementType::Text { len: 1 }, [ElementType::Int, ElementType::Double]),
    ] {
        let name = format!("{format:?}");
        let same = array.describe_as(format, |same| Array::create_in(&self::storage(), &name, &same)).unwrap();
        let of =
            |name: &str| *same.attributes().iter().find(|attribute| attribute.name() == name).unwrap().element_type();
        assert_eq!((*same.element_type(), ["valid", "scale"].map(of)), (element, types));
        assert!(same.attributes_json().contains(r#""scale":0.10000000149011612"#), "{}", same.attributes_json());
    }
}

/// Types in the configurations of codecs have the byte order of the elements, which may be another one in a copy.
#[cfg(feature = "codecs")]
#[test]
fn codecs_of_another_array_are_for_the_byte_order_of_the_new_one() {
    let ints: Vec<i32> = (0..6).map(|i| 1000 + i * i * 50 - i).collect();
    let floats: Vec<f64> = ints.iter().copied().map(f64::from).collect();
    let filters = |order: char| {
        let scaled = format!(r#"{{"offset":900,"scale":1,"dtype":"{order}i4","astype":"{order}i2"}}"#);
        [
            ("delta", format!(r#"{{"dtype":"{order}i4","astype":"{order}i2"}}"#), ElementType::Int),
            ("fixedscaleoffset", scaled, ElementType::Int),
            ("quantize", format!(r#"{{"digits":1,"dtype":"{order}f8","astype":"{order}f4"}}"#), ElementType::Double),
        ]
    };
    let described = |element| Description::new(&[6], element).with_format(ArrayFormat::ZarrV2);
    for (from, order, other) in [(Endian::Big, '>', '<'), (Endian::Little, '<', '>')] {
        for (name, configuration, element) in filters(order) {
            let codecs = [(name, configuration.as_str()), ("zlib", "1")];
            let source =
                Array::create_in(&storage(), "", &described(element).with_endian(from).with_codecs(&codecs)).unwrap();
            let write = |array: &Array| match element {
                ElementType::Int => array.write(&Hyperslab::all(), &ints).unwrap(),
                _ => array.write(&Hyperslab::all(), &floats).unwrap(),
            };
            write(&source);
            for to in [Endian::Little, Endian::Big, Endian::Native] {
                for format in [ArrayFormat::ZarrV2, ArrayFormat::ZarrV3] {
                    let storage = storage();
                    let same = |same: Description<'_>| Array::create_in(&storage, "", &same.with_endian(to));
                    write(&source.describe_as(format, same).unwrap());
                    let found = Array::open_in(&storage, "", Access::Read).unwrap();
                    assert_eq!(found.codecs().unwrap().len(), 2);
                    match element {
                        ElementType::Int => assert_eq!(found.read::<i32>(&Hyperslab::all()).unwrap(), ints),
                        _ => assert_eq!(found.read::<f64>(&Hyperslab::all()).unwrap(), floats),
                    }
                }
            }
        }
        for (name, configuration, element) in filters(other) {
            let codecs = [(name, configuration.as_str())];
            let error = Array::create_in(&storage(), "", &described(element).with_endian(from).with_codecs(&codecs));
            let error = error.err().unwrap();
            let words = "$.dtype: the type is not that of the elements, byte order included";
            assert!(error.to_string().ends_with(words), "{error}");
        }
    }
    // Numbers stand for times and for what is true, as numcodecs has it.
    let time = ElementType::Time { unit: crate::element::TimeUnit::Second, count: 1, is_delta: false };
    for (element, dtype, is_right) in [
        (time, "<i8", true),
        (time, ">i8", false),
        (ElementType::Bool, "|u1", true),
        (ElementType::Float, "<i4", false),
    ] {
        let configuration = format!(r#"{{"dtype":"{dtype}"}}"#);
        let codecs = [("delta", configuration.as_str())];
        let description = described(element).with_endian(Endian::Little).with_codecs(&codecs);
        assert_eq!(Array::create_in(&storage(), "", &description).is_ok(), is_right, "{element} {dtype}");
    }
}

/// Without a fill value what is cut off of a chunk becomes zeros.
#[test]
fn what_is_cut_off_without_a_fill_value_is_zeros() {
    let storage = storage();
    let array = br#"{"shape":[4],"chunks":[4],"dtype":"<i2","fill_value":null,"order":"C","filters":null,
        "compressor":null,"zarr_format":2}"#;
    storage.write("v/.zarray", array).unwrap();
    let mut array = Array::open_in(&storage, "v", Access::Write).unwrap();
    array.write(&Hyperslab::all(), &[1i16, 2, 3, 4]).unwrap();
    array.resize(&[1]).unwrap();
    array.resize(&[4]).unwrap();
    assert_eq!(array.read::<i16>(&Hyperslab::all()).unwrap(), [1, 0, 0, 0]);
}

/// Parts of a chunk that is stored as it is are read from the file, which is opened once for them.
#[cfg(not(miri))]
#[test]
fn distant_parts_of_a_chunk_in_a_directory_are_read() {
    let directory = crate::object::testing::Temporary::new("parts");
    let description = Description::new(&[8, 20_000], ElementType::Short)
        .with_chunk_shape(&[4, 20_000])
        .with_fill_value(const { &(-1i16).to_ne_bytes() })
        .with_codecs(&[]);
    let array = Array::create(&directory, "", &description).unwrap();
    let value = |row: usize, column: usize| (row * 100 + column % 97) as i16;
    let values: Vec<i16> = (0..4).flat_map(|row| (0..20_000).map(move |column| value(row, column))).collect();
    array.write(&Hyperslab::new(&[0, 0], &[4, 20_000]), &values).unwrap();
    let found = array.read::<i16>(&Hyperslab::new(&[0, 5], &[8, 3])).unwrap();
    let due = |row| (5..8).map(move |column| if row < 4 { value(row, column) } else { -1 });
    assert_eq!(found, (0..8).flat_map(due).collect::<Vec<_>>());
}

/// The elements of inner chunks may be in another order than those of the array.
#[test]
fn inner_chunks_are_transposed() {
    let storage = storage();
    let bytes = r#"{"name":"bytes","configuration":{"endian":"little"}}"#;
    let text = format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":[4,6],"data_type":"int16","fill_value":0,"chunk_grid":{{
        "name":"regular","configuration":{{"chunk_shape":[4,6]}}}},"chunk_key_encoding":{{"name":"default"}},"codecs":[
        {{"name":"sharding_indexed","configuration":{{"chunk_shape":[2,3],"codecs":[{{"name":"transpose",
        "configuration":{{"order":[1,0]}}}},{bytes}],"index_codecs":[{bytes}]}}}}],"attributes":{{}}}}"#
    );
    storage.write("zarr.json", text.as_bytes()).unwrap();
    let array = Array::open_in(&storage, "", Access::Write).unwrap();
    let values: Vec<i16> = (1..25).collect();
    array.write(&Hyperslab::all(), &values).unwrap();
    // The first inner chunk, by columns.
    let shard = read_whole(&*storage, "c/0/0", 1000).unwrap().unwrap();
    let first: Vec<u8> = [1i16, 7, 2, 8, 3, 9].iter().flat_map(|value| value.to_le_bytes()).collect();
    assert_eq!(shard[..12], first);
    array.write(&Hyperslab::new(&[1, 1], &[1, 1]), &[100i16]).unwrap();
    let array = Array::open_in(&storage, "", Access::Read).unwrap();
    let read = array.read::<i16>(&Hyperslab::all()).unwrap();
    assert!(read.iter().zip(values).enumerate().all(|(e, (&read, value))| read == if e == 7 { 100 } else { value }));
}

/// A storage in which every object has just been replaced by another one like it.
struct Replaced(Memory, std::sync::atomic::AtomicU64);

impl ObjectStore for Replaced {
    pass_on! { self => self.0; read list write is_writable }

    fn read_version(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<ObjectState>> {
        let version = self.1.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Ok(self.read(name, begin, buffer)?.map(|len| (len, Some(version.into()))))
    }
}

#[test]
fn a_shard_that_changes_all_the_time_cannot_be_read() {
    let storage = Storage::new(Replaced(Memory::new(), Default::default())).unwrap();
    let description =
        Description::new(&[4], ElementType::UByte).with_chunk_shape(&[2]).with_shard_shape(&[4]).with_codecs(&[]);
    let array = Array::create_in(&storage, "v", &description).unwrap();
    array.write(&Hyperslab::all(), &[1u8, 2, 3, 4]).unwrap();
    let error = array.read::<u8>(&Hyperslab::all()).unwrap_err();
    assert!(error.to_string().contains("the shard was replaced during each attempt"), "{error}");
    assert_eq!(error.chunk(), Some(&[0][..]));
}

#[test]
fn a_storage_that_is_only_read_is_not_written_to() {
    let mut later = crate::object::delayed::DelayedStorage::new();
    later.is_writable = false;
    let memory = storage();
    Array::create_in(&memory, "", &Description::new(&[2], ElementType::Short)).unwrap();
    later.put("zarr.json", document(&memory, "zarr.json").unwrap().as_bytes());
    let storage = Storage::new(later).unwrap();
    assert_eq!(Array::open_in(&storage, "", Access::Write).err().unwrap().kind(), ErrorKind::ReadOnly);
    assert_eq!(Array::open_in(&storage, "", Access::Read).unwrap().read::<i16>(&Hyperslab::all()).unwrap(), [0, 0]);
}

#[test]
fn chunks_that_differ_in_length_are_created_written_cut_and_read() {
    use crate::chunk_list::ChunkRun;
    let (months, storage) = ([ChunkRun::new(1, 31), ChunkRun::new(1, 28), ChunkRun::new(2, 31)], storage());
    let lists: [&[ChunkRun]; 2] = [&months, &[]];
    let description = Description::new(&[100, 5], ElementType::Short)
        .with_chunk_shape(&[1, 3])
        .with_chunk_runs(&lists)
        .with_fill_value(const { &(-1i16).to_ne_bytes() });
    let mut array = Array::create_in(&storage, "a", &description).unwrap();
    let values: Vec<i16> = (0..500).collect();
    array.write(&Hyperslab::all(), &values).unwrap();
    assert_eq!(objects(&storage, "a/c/1").len(), 2);
    let all: Vec<i16> = Array::open_in(&storage, "a", Access::Read).unwrap().read(&Hyperslab::all()).unwrap();
    assert_eq!(all, values);

    // Within February; what is cut off is fill values when the array grows again, up to the end of the last chunk.
    array.resize(&[40, 5]).unwrap();
    assert!(objects(&storage, "a/c/2").is_empty() && !objects(&storage, "a/c/1").is_empty());
    array.resize(&[121, 5]).unwrap();
    let all: Vec<i16> = array.read(&Hyperslab::all()).unwrap();
    assert_eq!((&all[..200], all[200..].iter().all(|&value| value == -1)), (&values[..200], true));
    let error = array.resize(&[122, 5]).unwrap_err();
    assert_eq!((error.dimension(), error.status()), (Some(0), crate::status::EINVAL));
    array.refresh().unwrap();
    assert_eq!(array.variable().dimensions()[0].num_chunks(), 4);

    let padded = [ChunkRun { num_chunks: 4, len: 25, encoded_len: 31 }];
    for wrong in [
        description.with_chunk_runs(&[&padded, &[]]),
        description.with_shard_shape(&[31, 3]),
        description.with_format(ArrayFormat::ZarrV2),
    ] {
        let error = Array::create_in(&storage, "b", &wrong).err().unwrap();
        assert!(matches!(error.kind(), ErrorKind::Unsupported(_)), "{error}");
    }
    let argument = |runs: &[&[ChunkRun]]| {
        let error = Array::create_in(&storage, "b", &description.with_chunk_runs(runs)).err().unwrap();
        matches!(error.kind(), ErrorKind::Argument(_))
    };
    assert!(argument(&[&months[..2], &[]]) && argument(&[&months]) && argument(&[&[ChunkRun::new(1, 0)], &[]]));

    // Texts have as many elements in a chunk as the chunk has.
    let lists: [&[ChunkRun]; 1] = [&[ChunkRun::new(1, 3), ChunkRun::new(1, 2)]];
    let texts = Description::new(&[5], ElementType::String).with_chunk_runs(&lists);
    let array = Array::create_in(&storage, "t", &texts).unwrap();
    array.write_strings(&Hyperslab::all(), &["a", "", "ccc", "d", "e"]).unwrap();
    let read = Array::open_in(&storage, "t", Access::Read).unwrap().read_strings(&Hyperslab::all()).unwrap();
    assert_eq!(read, ["a", "", "ccc", "d", "e"]);
}
