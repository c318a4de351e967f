//! HDF5 files as h5py and netCDF-C write them: all that they hold is what h5py reads of it; and what is left of them
//! when they are cut or changed ends with an error.

#![cfg(all(feature = "hdf5", feature = "codecs"))]
#![cfg(not(miri))]

use std::io::Read;

use nczchunk::object::{Memory, Storage};
use nczchunk::{
    Access, Array, AttributeValues, ChunkState, ElementType, Error, ErrorKind, Hyperslab, Node, Plan, UnlimitedLengths,
    concat, concat_document, group_dimensions, list, open_storage,
};

/// A file, and what is due of its arrays.
struct File {
    name: String,
    bytes: Vec<u8>,
    arrays: Vec<Due>,
    /// The names of arrays that are refused, and a word of what is said.
    refused: Vec<(String, String)>,
}

/// What h5py reads of an array.
struct Due {
    name: String,
    type_name: String,
    shape: Vec<usize>,
    dimensions: Vec<String>,
    values: Vec<u8>,
}

/// The files of `tests/vectors/hdf5.py` and `tests/vectors/hdf5_rules.py`.
fn files() -> Vec<File> {
    let mut data = Vec::new();
    for packed in [&include_bytes!("vectors/hdf5.bin.gz")[..], include_bytes!("vectors/hdf5_rules.bin.gz")] {
        flate2::read::GzDecoder::new(packed).read_to_end(&mut data).unwrap();
    }
    let (mut files, mut rest) = (Vec::<File>::new(), data.as_slice());
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == b'\n').unwrap();
        let line = std::str::from_utf8(&rest[..end]).unwrap();
        rest = &rest[end + 1..];
        let mut take = |len: &str| {
            let taken;
            (taken, rest) = rest.split_at(len.parse().unwrap());
            taken.to_vec()
        };
        let fields: Vec<&str> = line.trim_start().split('\t').collect();
        match (line.starts_with(' '), fields.as_slice()) {
            (false, [name, len]) => {
                let (name, bytes) = ((*name).to_owned(), take(len));
                files.push(File { name, bytes, arrays: Vec::new(), refused: Vec::new() });
            }
            (true, [name, "refused", word]) => {
                files.last_mut().unwrap().refused.push(((*name).to_owned(), (*word).to_owned()));
            }
            (true, [name, type_name, shape, dimensions, len]) => {
                let list = |text: &str| text.split(',').filter(|part| !part.is_empty()).map(str::to_owned).collect();
                let shape: Vec<String> = list(shape);
                let due = Due {
                    name: (*name).to_owned(),
                    type_name: (*type_name).to_owned(),
                    shape: shape.iter().map(|len| len.parse().unwrap()).collect(),
                    dimensions: list(dimensions),
                    values: take(len),
                };
                files.last_mut().unwrap().arrays.push(due);
            }
            _ => panic!("{line}"),
        }
    }
    files
}

fn file(name: &str) -> File {
    files().into_iter().find(|file| file.name == name).unwrap()
}

fn place(bytes: &[u8]) -> Storage {
    let place = Storage::new(Memory::new()).unwrap();
    place.write("file", bytes).unwrap();
    place.file("file").unwrap()
}

/// The values of a hyperslab, little-endian.
fn values(array: &Array, slab: &Hyperslab<'_>) -> nczchunk::Result<Vec<u8>> {
    if *array.element_type() == ElementType::String {
        let texts = array.read_strings(slab)?;
        return Ok(texts.iter().flat_map(|text| text.bytes().chain([0])).collect());
    }
    let plan = Plan::new(array.variable(), slab, Access::Read)?;
    let mut bytes = vec![0; plan.memory_bytes()];
    plan.read(array.store(), &mut bytes)?;
    let word = array.element_type().word_size();
    if cfg!(target_endian = "big") && word > 1 {
        bytes.chunks_exact_mut(word).for_each(<[u8]>::reverse);
    }
    Ok(bytes)
}

#[test]
fn all_values_are_those_that_h5py_reads() {
    let directory = std::env::temp_dir().join(format!("nczchunk-hdf5-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let mut num_arrays = 0;
    for file in files() {
        let path = directory.join(&file.name);
        std::fs::write(&path, &file.bytes).unwrap();
        for place in [place(&file.bytes), open_storage(&path).unwrap()] {
            for due in &file.arrays {
                check(&place, due, &format!("{}: {}", file.name, due.name));
                num_arrays += 1;
            }
        }
    }
    std::fs::remove_dir_all(directory).unwrap();
    assert!(num_arrays > 400, "{num_arrays}");
}

fn check(place: &Storage, due: &Due, about: &str) {
    let array = Array::open_in(place, &due.name, Access::Read).unwrap_or_else(|error| panic!("{about}: {error}"));
    assert_eq!(array.format(), "HDF5");
    assert_eq!(array.element_type().to_string(), due.type_name, "{about}");
    let shape: Vec<usize> = array.variable().dimensions().iter().map(|dimension| dimension.len()).collect();
    assert_eq!(shape, due.shape, "{about}");
    let found = values(&array, &Hyperslab::all()).unwrap_or_else(|error| panic!("{about}: {error}"));
    assert!(found == due.values, "{about}: {found:?} instead of {:?}", due.values);
    let names: Vec<_> = (0..shape.len()).filter_map(|d| array.dimension_name(d)).collect();
    assert_eq!(names, due.dimensions, "{about}");
    check_parts(&array, due, about);
}

/// Each element alone, of those at the ends of the first dimension.
fn check_parts(array: &Array, due: &Due, about: &str) {
    let size = array.element_type().size();
    if due.shape.is_empty() || due.values.is_empty() || size == 0 {
        return;
    }
    let row = due.values.len() / due.shape[0];
    for first in [0, due.shape[0] / 2, due.shape[0] - 1] {
        let (mut start, mut count) = (vec![0; due.shape.len()], due.shape.clone());
        (start[0], count[0]) = (first, 1);
        let found = values(array, &Hyperslab::new(&start, &count)).unwrap();
        assert!(found == due.values[row * first..row * (first + 1)], "{about}: {start:?}");
    }
}

#[test]
fn what_cannot_be_read_is_refused_by_name() {
    for file in files() {
        let place = place(&file.bytes);
        let nodes = list(&place, "", true).unwrap();
        for (name, word) in &file.refused {
            let error = Array::open_in(&place, name, Access::Read).err().unwrap().to_string();
            assert!(error.contains(word.as_str()), "{name}: {error}");
            let node = nodes.iter().find(|node| node.name() == name).unwrap();
            let listed = node.error().unwrap_or_else(|| panic!("{name} is listed")).to_string();
            assert!(listed.contains(word.as_str()), "{name}: {listed}");
        }
    }
}

/// Decodes to ones, whatever is stored.
struct Ones;

impl nczchunk::Codec for Ones {
    fn name(&self) -> &str {
        "ones"
    }

    fn encoded_bound(&self, decoded_size: usize) -> usize {
        decoded_size
    }

    fn decode(&self, _: &[u8], _: std::ops::Range<usize>, decoded: &mut nczchunk::Buffer<'_>) -> nczchunk::Result<()> {
        while decoded.write(&1f32.to_le_bytes()) {}
        Ok(())
    }

    fn encode(&self, _: &[u8], _: &mut nczchunk::Buffer<'_>) -> nczchunk::Result<()> {
        Err(ErrorKind::ReadOnly.into())
    }
}

#[test]
fn filters_may_be_the_callers_own() {
    let mut place = place(&file("filters.h5").bytes);
    place
        .add_codec("hdf5.32028", |of| {
            assert!(of.configuration.starts_with(r#"{"parameters":["#) && of.configuration.ends_with("]}"));
            assert_eq!((of.name, of.type_name, of.element_size), ("hdf5.32028", "float32", 4));
            Ok(Box::new(Ones))
        })
        .unwrap();
    let array = Array::open_in(&place, "sperr", Access::Read).unwrap();
    assert_eq!(values(&array, &Hyperslab::all()).unwrap(), 1f32.to_le_bytes().repeat(1600));
    // It comes before one of the library's.
    place.add_codec("hdf5.307", |_| Err(ErrorKind::Stopped(7).into())).unwrap();
    let error = Array::open_in(&place, "bzip2", Access::Read).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Stopped(7));
}

#[test]
fn all_that_can_be_read_is_listed() {
    for file in files() {
        let nodes = list(&place(&file.bytes), "", true).unwrap();
        let node = |name: &str| nodes.iter().find(|node| node.name() == name);
        for due in &file.arrays {
            let Some(node) = node(&due.name) else {
                // What another link leads to is listed there.
                assert!(due.name.contains("back"), "{}: {}", file.name, due.name);
                continue;
            };
            assert!(node.error().is_none(), "{}: {:?}", due.name, node.error());
            assert_eq!(
                (node.shape(), node.element_type().unwrap().to_string()),
                (&due.shape[..], due.type_name.clone())
            );
        }
    }
}

fn text(node: &Node, name: &str) -> Option<String> {
    let attribute = node.attributes().iter().find(|attribute| attribute.name() == name)?;
    Some(match attribute.values() {
        AttributeValues::Bytes(bytes) => format!("{} {}", attribute.element_type(), bytes.len()),
        AttributeValues::Texts(texts) => texts.join("|"),
    })
}

#[test]
fn attributes_are_of_netcdfs_types() {
    for name in ["groups-earliest.h5", "groups-latest.h5"] {
        let nodes = list(&place(&file(name).bytes), "", true).unwrap();
        for node in [&nodes[0], nodes.iter().find(|node| node.name() == "a/few/x").unwrap()] {
            let json = r#""int":-5,"#;
            assert!(node.attributes_json().contains(json), "{}", node.attributes_json());
            for (attribute, due) in [
                ("int", "int32 4"),
                ("ints", "int16 6"),
                ("float", "float32 4"),
                ("half", "float32 4"),
                ("text", "b\u{e4}r"),
                ("texts", "a|bc|"),
                ("fixed", "char 3"),
                ("many_fixed", "ab|c"),
                ("bool", "int8 1"),
            ] {
                assert_eq!(text(node, attribute).as_deref(), Some(due), "{name} {attribute}");
            }
            assert!(text(node, "structure").is_none() && node.attributes_error().is_none());
            let mut left_out: Vec<_> = node.left_out().iter().map(Error::to_string).collect();
            left_out.sort();
            assert_eq!(
                left_out,
                [
                    "bool: not supported: the names of an enumeration's values",
                    "structure: not supported: attributes of compound, array and opaque types"
                ]
            );
        }
        let many = nodes.iter().find(|node| node.name() == "many").unwrap();
        assert_eq!(many.attributes().len(), 40);
    }
    let nodes = list(&place(&file("NETCDF4.nc").bytes), "", true).unwrap();
    let names: Vec<_> = nodes.iter().map(Node::name).collect();
    assert_eq!(names, ["", "time", "lat", "t", "station", "lonlat", "names", "inner", "inner/x", "inner/u"]);
    let t = &nodes[3];
    assert!(t.is_unlimited(0) && !t.is_unlimited(1));
    assert_eq!(t.attributes_json(), r#"{"_FillValue":-99,"units":"K","valid_range":[0,90]}"#);
    assert_eq!(nodes[0].attributes_json(), r#"{"title":"a file of netCDF-C"}"#);
}

/// Strings of a fixed length lose what fills them up and nothing else; names that dimension scales keep for themselves
/// are only hidden there.
#[test]
fn attributes_lose_no_bytes_and_no_names() {
    let storage = place(&file("conventions.h5").bytes);
    let nodes = list(&storage, "", true).unwrap();
    let node = |name: &str| nodes.iter().find(|node| node.name() == name).unwrap();
    let bytes = |node: &Node, name: &str| {
        let attribute = node.attributes().iter().find(|attribute| attribute.name() == name)?;
        match attribute.values() {
            AttributeValues::Bytes(bytes) => Some(bytes.to_vec()),
            AttributeValues::Texts(_) => None,
        }
    };
    for (name, due) in [
        ("terminated", &b"a"[..]),
        ("terminated_end", b"a \n  "),
        ("terminated_one", b""),
        ("zeros", b"a\0b\n "),
        ("zeros_end", b"a \n  "),
        ("zeros_one", b""),
        ("spaces", b"a\0b\n \0\0"),
        ("spaces_end", b"a \n"),
        ("spaces_one", b"\0"),
    ] {
        assert_eq!(bytes(node(""), name).as_deref(), Some(due), "{name}");
    }
    for name in ["", "v"] {
        let own = ["CLASS", "NAME"].map(|attribute| text(node(name), attribute));
        assert_eq!(own, ["own", "name"].map(|text| Some(text.to_owned())), "{name}");
    }
    assert_eq!(text(node(""), "REFERENCE_LIST").as_deref(), Some("int32 4"));
    assert_eq!((node("x").attributes().len(), node("v").attributes().len()), (1, 2));
    assert!(node("x").left_out().is_empty() && node("v").left_out().is_empty());
    // Two numbers with a gap between them are no complex number.
    let of = |name| Array::open_in(&storage, name, Access::Read).unwrap();
    assert_eq!(of("gap").element_type().to_string(), "V16");
    let numbers = [1f32, 4., 2., 5., 3., 6.];
    let gap: Vec<u8> = numbers.iter().flat_map(|number| [number.to_le_bytes(), [0; 4]].concat()).collect();
    assert_eq!(values(&of("gap"), &Hyperslab::all()).unwrap(), gap);
    // A fill value of a char is one byte, whatever it is.
    let nodes = list(&place(&file("char.nc").bytes), "c", true).unwrap();
    assert_eq!(bytes(&nodes[0], "_FillValue"), Some(vec![0]));
}

#[test]
fn texts_of_attributes_do_not_depend_on_the_sizes_of_addresses() {
    for file in files().iter().filter(|file| file.name.starts_with("sizes")) {
        let nodes = list(&place(&file.bytes), "", true).unwrap();
        let found = ["text", "texts"].map(|name| text(&nodes[0], name));
        assert_eq!(found, ["b\u{e4}r", "one|two22|three"].map(|text| Some(text.to_owned())), "{}", file.name);
        assert!(nodes.iter().any(|node| node.name() == "g/soft" && node.error().is_none()), "{}", file.name);
    }
}

#[test]
fn parts_of_a_file_are_listed() {
    let place = place(&file("NETCDF4.nc").bytes);
    let names = |name, recursive| -> Vec<String> {
        list(&place, name, recursive).unwrap().iter().map(|node| node.name().to_owned()).collect()
    };
    assert_eq!(names("inner", true), ["inner", "inner/x", "inner/u"]);
    assert_eq!(names("/inner/u", true), ["inner/u"]);
    assert_eq!(names("", false).last().unwrap(), "inner");
    assert_eq!(list(&place, "outer", true).unwrap_err().kind(), ErrorKind::NotFound("variable"));
    assert_eq!(Array::open_in(&place, "inner", Access::Read).err().unwrap().kind(), ErrorKind::NotAnArray);
    assert_eq!(Array::open_in(&place, "/inner/u", Access::Write).err().unwrap().kind(), ErrorKind::ReadOnly);
}

#[test]
fn groups_define_dimensions() {
    let place = place(&file("NETCDF4.nc").bytes);
    let of = |group| group_dimensions(&place, group);
    let told = |group| -> Vec<_> { of(group).unwrap().into_iter().map(|d| (d.name, d.len, d.is_unlimited)).collect() };
    let dimension = |name: &str, len, is_unlimited| (name.to_owned(), len, is_unlimited);
    let all = [dimension("time", 3, true), dimension("lat", 3, false), dimension("alone", 4, false)];
    assert_eq!(told(""), [&all[..], &[dimension("station", 2, false), dimension("lonlat", 2, false)]].concat());
    assert_eq!(told("/inner/"), [dimension("x", 5, false)]);
    assert_eq!(of("inner/u").unwrap_err().kind(), ErrorKind::NotFound("group"));
    assert_eq!(of("outer").unwrap_err().kind(), ErrorKind::NotFound("variable"));
}

/// Another array may be the longest, in a group below, too.
#[test]
fn unlimited_dimensions_are_as_long_as_the_longest_array_that_has_them() {
    let place = place(include_bytes!("vectors/short_variables.nc"));
    for (group, due) in [("", ("r", 3)), ("n", ("t", 7)), ("n/g/own", ("t", 3))] {
        let all = group_dimensions(&place, group).unwrap();
        let unlimited: Vec<_> = all.iter().filter(|d| d.is_unlimited).map(|d| (d.name.as_str(), d.len)).collect();
        assert_eq!(unlimited, [due], "{group}");
    }
}

/// A variable may have a dimension of an outer group although its own group has one of the same name.
#[test]
fn of_dimensions_that_are_called_alike_the_one_of_the_scale_counts() {
    let place = place(include_bytes!("vectors/shadowed.nc"));
    let nodes = list(&place, "", true).unwrap();
    let lengths = UnlimitedLengths::of(&place, &nodes).unwrap();
    let arrays = nodes.iter().filter(|node| !node.is_group());
    let found: Vec<_> = arrays.map(|node| (node.name(), node.shape()[0], lengths.len(node, 0))).collect();
    assert_eq!(found, [("r", 5, 5), ("g/v", 9, 9), ("g/w", 4, 5)]);
}

/// netCDF-C writes an empty fill value for strings without another one, h5py writes none.
#[test]
fn strings_have_the_fill_value_that_was_written() {
    let fill_value = |name: &str, array: &str| {
        let array = Array::open_in(&place(&file(name).bytes), array, Access::Read).unwrap();
        array.fill_value().map(<[u8]>::to_owned)
    };
    assert_eq!(fill_value("NETCDF4.nc", "names"), Some(Vec::new()));
    assert_eq!(fill_value("types-latest.h5", "strings"), None);
}

/// netCDF-C can be told to list no scales. Then the numbers of dimensions say which they are, in groups above, too.
#[test]
fn dimensions_have_names_by_their_numbers() {
    let place = place(include_bytes!("vectors/unattached.nc"));
    let nodes = list(&place, "", true).unwrap();
    for (name, due) in [("t", "t"), ("v", "t y"), ("g/x", "x"), ("g/w", "y t x"), ("g/long", "t")] {
        let array = Array::open_in(&place, name, Access::Read).unwrap();
        let node = nodes.iter().find(|node| node.name() == name).unwrap();
        let rank = node.shape().len();
        let opened: Vec<_> = (0..rank).filter_map(|d| array.dimension_name(d)).collect();
        let listed: Vec<_> = (0..rank).filter_map(|d| node.dimension_name(d)).collect();
        assert_eq!([opened.join(" "), listed.join(" ")], [due; 2], "{name}");
    }
    let told: Vec<_> = group_dimensions(&place, "").unwrap().into_iter().map(|d| (d.name, d.len)).collect();
    assert_eq!(told, [("t".to_owned(), 5), ("y".to_owned(), 3)]);
}

/// What follows a shorter one would be at the wrong place.
#[test]
fn of_joined_files_only_the_last_may_have_shorter_arrays() {
    const FILE: &str = "tests/vectors/short_variables.nc";
    let open = |paths: &[&str], name| Array::open_in(&concat(paths, "t").unwrap(), name, Access::Read);
    for (name, len) in [("n/g/longest", 14), ("n/g/own/v", 6)] {
        assert_eq!(open(&[FILE, FILE], name).unwrap().variable().dimensions()[0].len(), len, "{name}");
    }
    for name in ["n/long", "n/short", "n/never", "n/t", "n/g/own/w"] {
        let kind = open(&[FILE, FILE], name).err().unwrap().kind();
        assert_eq!(kind, ErrorKind::Unsupported("joining an array that is shorter than its unlimited dimension"));
    }
    assert_eq!(open(&[FILE], "n/short").unwrap().variable().dimensions()[0].len(), 3);
    // Also if what it is in is joined itself.
    let document = std::env::temp_dir().join(format!("nczchunk-hdf5-shorter-{}.json", std::process::id()));
    std::fs::write(&document, concat_document(&[std::path::absolute(FILE).unwrap()], "t").unwrap()).unwrap();
    let document = document.to_str().unwrap();
    assert_eq!(open(&[FILE, document], "n/g/longest").unwrap().variable().dimensions()[0].len(), 14);
    let kind = open(&[document, FILE], "n/short").map(drop).unwrap_err().kind();
    assert_eq!(kind, ErrorKind::Unsupported("joining an array that is shorter than its unlimited dimension"));
    std::fs::remove_file(document).unwrap();
}

/// Arrays whose chunks end where they do are as long as their dimensions; in another, a chunk would say what is behind.
#[test]
fn references_to_short_variables_have_the_lengths_of_dimensions() {
    let place = place(include_bytes!("vectors/short_variables.nc"));
    let text = nczchunk::references(&place, "n", "short.nc").unwrap();
    let all: serde_json::Value = serde_json::from_str(&text).unwrap();
    let shape = |name: &str| {
        let document = all["refs"][format!("{name}/.zarray")].as_str().unwrap();
        serde_json::from_str::<serde_json::Value>(document).unwrap()["shape"].to_string()
    };
    for (name, due) in [("long", "[5,2]"), ("short", "[3,2]"), ("t", "[7]"), ("never", "[7,2]"), ("g/longest", "[7,2]")]
    {
        assert_eq!(shape(&format!("n/{name}")), due, "{name}");
    }
}

#[test]
fn chunks_are_located_in_the_file() {
    let file = file("layouts-earliest.h5");
    let place = place(&file.bytes);
    for name in ["contiguous", "fixed", "fixed_filtered"] {
        let array = Array::open_in(&place, name, Access::Read).unwrap();
        let (mut stored, mut absent) = (0, 0);
        array
            .locate(&Hyperslab::all(), &mut |chunk| {
                match chunk.state {
                    ChunkState::Stored { offset, len } => {
                        assert!(len > 0 && offset + len <= file.bytes.len() as u64);
                        let chunk_len = array.stored_chunk_len(chunk.indices)?;
                        assert_eq!(chunk_len, Some(len as usize));
                        stored += 1;
                    }
                    _ => absent += 1,
                }
                Ok(())
            })
            .unwrap();
        assert_eq!((stored, absent), if name == "contiguous" { (1, 0) } else { (5, 7) }, "{name}");
    }
}

/// What references say is read as what they lead to; what numcodecs does not have is refused by name.
#[test]
fn references_lead_to_the_same_values() {
    let directory = std::env::temp_dir().join(format!("nczchunk-references-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let (mut num_arrays, mut refused) = (0, Vec::new());
    for file in files().iter().filter(|file| !file.name.starts_with("tiny")) {
        std::fs::write(directory.join(&file.name), &file.bytes).unwrap();
        let place = open_storage(directory.join(&file.name).as_path()).unwrap();
        for due in &file.arrays {
            // A path that is relative leads on from the directory of the references.
            let text = match nczchunk::references(&place, &due.name, &file.name) {
                Ok(text) => text,
                Err(error) => {
                    refused.push(format!("{}: {error}", due.name));
                    continue;
                }
            };
            let path = directory.join("references.json");
            std::fs::write(&path, text).unwrap();
            let again = open_storage(&path).unwrap();
            let array = Array::open_in(&again, &due.name, Access::Read).unwrap();
            let found = values(&array, &Hyperslab::all()).unwrap_or_else(|error| panic!("{}: {error}", due.name));
            assert!(found == due.values, "{}: {}", file.name, due.name);
            num_arrays += 1;
        }
    }
    std::fs::remove_dir_all(directory).unwrap();
    assert!(num_arrays > 200, "{num_arrays}");
    for (name, word) in [("skipped", "left out"), ("strings", "variable-length"), ("lzf", "lzf")] {
        assert!(refused.iter().any(|words| words.starts_with(name) && words.contains(word)), "{refused:?}");
    }
}

#[test]
fn fill_values_of_strings_are_texts() {
    let place = place(&file("types-latest.h5").bytes);
    let fill_value = |name| Array::open_in(&place, name, Access::Read).unwrap().fill_value().map(<[u8]>::to_vec);
    assert_eq!(fill_value("strings_chunked"), Some(b"none".to_vec()));
    assert_eq!(fill_value("strings"), None);
}

/// The files of `tests/vectors/links.py`, which have links to each other.
const LINKED: [(&str, &[u8]); 4] = [
    ("main.h5", include_bytes!("vectors/links/main.h5")),
    ("other.h5", include_bytes!("vectors/links/other.h5")),
    ("sub/third.h5", include_bytes!("vectors/links/sub/third.h5")),
    ("text", include_bytes!("vectors/links/text")),
];

/// The main one of them as an object of a storage that has all.
fn linked_in_memory(main: &[u8]) -> Storage {
    let storage = Storage::new(Memory::new()).unwrap();
    LINKED.iter().for_each(|(name, bytes)| storage.write(&format!("d/{name}"), bytes).unwrap());
    storage.write("d/main.h5", main).unwrap();
    let mut file = storage.file("d/main.h5").unwrap();
    file.allow_external_links(true);
    file
}

/// The main one of them by its path.
fn linked_at_a_path() -> Storage {
    let mut file = open_storage("tests/vectors/links/main.h5".as_ref()).unwrap();
    file.allow_external_links(true);
    file
}

#[test]
fn links_to_other_files_are_followed_where_that_is_allowed() {
    for storage in [linked_in_memory(LINKED[0].1), linked_at_a_path()] {
        let open = |name: &str| Array::open_in(&storage, name, Access::Read).unwrap_or_else(|e| panic!("{name}: {e}"));
        let floats: Vec<u8> = (0..12).flat_map(|i| (i as f32).to_le_bytes()).collect();
        let y: Vec<u8> = (0..5i64).flat_map(i64::to_le_bytes).collect();
        let own: Vec<u8> = (0..3i32).flat_map(i32::to_le_bytes).collect();
        for (name, due) in [
            ("own", &own),
            ("array", &floats),
            ("soft", &floats),
            ("group/x", &floats),
            ("group/same", &floats),
            ("whole/g/x", &floats),
            ("whole/y", &y),
            ("group/root", &y),
            ("up", &y),
            ("group/back", &own),
            ("group/again/group/again/own", &own),
            ("deep/array", &(0..7).collect()),
        ] {
            let found = values(&open(name), &Hyperslab::all()).unwrap();
            // Big-endian numbers are read in the machine's order.
            assert!(&found == due, "{name}: {found:?}");
        }
        // Dimensions are called as in the file that has them.
        assert_eq!((open("array").dimension_name(0), open("group/t").dimension_name(0)), (Some("t"), Some("t")));
        assert_eq!(open("array").attributes_json(), "{}");
        let told: Vec<_> = group_dimensions(&storage, "group").unwrap().into_iter().map(|d| (d.name, d.len)).collect();
        assert_eq!(told, [("t".to_owned(), 3)]);
    }
}

/// A group is listed with the first link that leads there, whatever the file.
#[test]
fn what_links_lead_to_in_other_files_is_listed() {
    for storage in [linked_in_memory(LINKED[0].1), linked_at_a_path()] {
        let nodes = list(&storage, "", true).unwrap();
        let is_readable = |node: &&Node| node.error().is_none();
        let names: Vec<_> = nodes.iter().filter(is_readable).map(Node::name).collect();
        for name in ["array", "deep/array", "group/x", "group/same", "group/root", "soft", "up", "whole", "whole/y"] {
            assert!(names.contains(&name), "{name}: {names:?}");
        }
        assert!(nodes.len() < 60, "{names:?}");
        let node = |name: &str| nodes.iter().find(|node| node.name() == name).unwrap();
        assert_eq!((node("array").shape(), node("array").dimension_name(0)), (&[3, 4][..], Some("t")));
        assert_eq!((node("group/x").chunk_shape(), node("group/x").dimension_name(0)), (&[2, 3][..], Some("t")));
        // What can be listed can be opened.
        for node in nodes.iter().filter(|node| node.error().is_none() && !node.is_group()) {
            Array::open_in(&storage, node.name(), Access::Read).unwrap();
        }
        let part: Vec<_> = list(&storage, "group", false).unwrap().iter().map(|node| node.name().to_owned()).collect();
        assert_eq!(part, ["group", "group/again", "group/back", "group/root", "group/same", "group/t", "group/x"]);
    }
}

#[test]
fn links_that_cannot_be_followed_are_refused_by_name() {
    for (storage, is_path) in [(linked_in_memory(LINKED[0].1), false), (linked_at_a_path(), true)] {
        let nodes = list(&storage, "", true).unwrap();
        let missing = is_path.then_some(ErrorKind::NotFound("file"));
        for (name, words, kind) in [
            ("no_file", "no_file: link to /x in none.h5", Some(ErrorKind::NotFound("file"))),
            ("no_object", "no_object: link to /none in other.h5", Some(ErrorKind::NotFound("variable"))),
            ("no_hdf5", "no_hdf5: link to /x in text", Some(ErrorKind::UnknownFormat)),
            ("absolute", "absolute: link to /y in /no/such/other.h5", missing),
            ("above", "above: link to /y in ../../../other.h5", missing),
            ("circle", "links to other files form a cycle", None),
            ("ring", "links to other files form a cycle", None),
        ] {
            let error = Array::open_in(&storage, name, Access::Read).err().unwrap();
            assert!(error.to_string().contains(words), "{error}");
            assert!(kind.is_none_or(|kind| kind == error.kind()), "{error:?}");
            if kind.is_none() && name != "circle" && name != "ring" {
                assert!(error.to_string().contains("out of the storage that the file is in"), "{error}");
            }
            let node = nodes.iter().find(|node| node.name() == name).unwrap();
            assert!(node.error().is_some(), "{name}");
        }
    }
    // Unless the caller allows it, none is followed.
    let mut storage = linked_at_a_path();
    storage.allow_external_links(false);
    let words = "array: link to /g/x in other.h5: not supported: an HDF5 link to another file, unless the caller \
                 allows external links";
    assert_eq!(Array::open_in(&storage, "array", Access::Read).err().unwrap().to_string(), words);
    assert!(Array::open_in(&storage, "group/x", Access::Read).is_err() && list(&storage, "group", true).is_err());
    let nodes = list(&storage, "", true).unwrap();
    let is_refused = |name: &str| nodes.iter().any(|node| node.name() == name && node.error().is_some());
    assert!(["array", "soft", "group", "whole", "circle"].into_iter().all(is_refused));
    assert!(nodes.iter().any(|node| node.name() == "own" && node.error().is_none()));
    // Files that are joined have each its own objects.
    let mut joined = concat(&["tests/vectors/links/main.h5"; 2], "t").unwrap();
    joined.allow_external_links(true);
    let error = Array::open_in(&joined, "array", Access::Read).err().unwrap().to_string();
    assert!(error.ends_with("array: not supported: joining arrays to which links of HDF5 files lead in other files"));
}

/// References name the file that chunks are in.
#[test]
fn references_lead_to_where_links_lead() {
    let directory = std::env::temp_dir().join(format!("nczchunk-links-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join("references.json");
    for name in ["own", "array", "group/x", "deep/array", "up"] {
        let storage = linked_at_a_path();
        let main = std::fs::canonicalize("tests/vectors/links/main.h5").unwrap();
        let text = nczchunk::references(&storage, name, main.to_str().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        let again = Array::open_in(&open_storage(&path).unwrap(), name, Access::Read).unwrap();
        let due = Array::open_in(&storage, name, Access::Read).unwrap();
        assert!(values(&again, &Hyperslab::all()).unwrap() == values(&due, &Hyperslab::all()).unwrap(), "{name}");
    }
    std::fs::remove_dir_all(&directory).unwrap();
}

/// Links are followed in a file of which one bit is another one, and in one that is cut.
#[test]
fn links_that_are_changed_end_with_an_error_or_other_values() {
    let bytes = LINKED[0].1;
    for len in (0..bytes.len()).step_by(7) {
        read_all_of(&linked_in_memory(&bytes[..len]));
    }
    let mut changed = bytes.to_vec();
    for bit in (0..8 * bytes.len()).filter(|bit| bytes[bit / 8] != 0).step_by(3) {
        changed[bit / 8] ^= 1 << (bit % 8);
        read_all_of(&linked_in_memory(&changed));
        changed[bit / 8] ^= 1 << (bit % 8);
    }
}

/// Lists a file and reads what is small of it: what comes of it need only end.
fn read_everything(bytes: &[u8]) {
    read_all_of(&place(bytes));
}

fn read_all_of(place: &Storage) {
    let Ok(nodes) = list(place, "", true) else { return };
    for node in nodes.iter().take(50) {
        let Ok(array) = Array::open_in(place, node.name(), Access::Read) else { continue };
        let count = array.variable().dimensions().iter().try_fold(1usize, |count, d| count.checked_mul(d.len()));
        if array.variable().chunk_bytes() < 1 << 16 && count.is_some_and(|count| count < 1 << 14) {
            let _ = values(&array, &Hyperslab::all());
        }
    }
}

/// Files that are cut at every byte, of larger ones at some.
#[test]
fn files_that_are_cut_end_with_an_error() {
    for File { name, bytes, .. } in files() {
        let step = if name.starts_with("tiny") { 1 } else { bytes.len() / 40 };
        for len in (0..bytes.len()).step_by(step) {
            read_everything(&bytes[..len]);
        }
    }
}

/// Files of which one bit is another one: of small ones every bit, of others some.
#[test]
fn bits_that_are_changed_end_with_an_error_or_other_values() {
    for File { name, bytes, .. } in files() {
        let mut changed = bytes.clone();
        let mut read_with = |bit: usize| {
            changed[bit / 8] ^= 1 << (bit % 8);
            read_everything(&changed);
            changed[bit / 8] ^= 1 << (bit % 8);
        };
        if name.starts_with("tiny") {
            // What is not in use is zeros, mostly.
            (0..8 * bytes.len()).filter(|bit| bytes[bit / 8] != 0 || bit % 64 == 0).for_each(read_with);
        } else {
            let mut rng = fastrand::Rng::with_seed(7);
            (0..60).for_each(|_| read_with(rng.usize(..8 * bytes.len())));
        }
    }
}

/// Files that are joined, one of which is cut or changed, and the document that joins them.
#[test]
fn joined_files_that_are_cut_or_changed_end_with_an_error_or_other_values() {
    let directory = std::env::temp_dir().join(format!("nczchunk-hdf5-joined-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let [first, second, all] = ["first.nc", "second.nc", "all.json"].map(|name| directory.join(name));
    let bytes = file("NETCDF4.nc").bytes;
    std::fs::write(&first, &bytes).unwrap();
    std::fs::write(&second, &bytes).unwrap();
    let joined = concat(&[&first, &second], "time").unwrap();
    let steps = |place: &Storage| Array::open_in(place, "time", Access::Read).unwrap().variable().dimensions()[0].len();
    assert_eq!(steps(&joined), 2 * steps(&place(&bytes)));
    // They are opened when they are read, so that is what has changed.
    let mut rng = fastrand::Rng::with_seed(5);
    for number in 0..150 {
        let mut changed = bytes.clone();
        match number % 3 {
            0 => changed.truncate(rng.usize(..bytes.len())),
            _ => changed[rng.usize(..bytes.len())] ^= 1 << rng.usize(..8),
        }
        let hostile = if number % 2 == 0 { &first } else { &second };
        std::fs::write(hostile, &changed).unwrap();
        read_all_of(&joined);
        if let Ok(joined) = concat(&[&first, &second], "time") {
            read_all_of(&joined);
        }
        std::fs::write(hostile, &bytes).unwrap();
    }
    let document = concat_document(&["first.nc", "second.nc"], "time").unwrap().into_bytes();
    let read_with = |document: &[u8]| {
        std::fs::write(&all, document).unwrap();
        open_storage(&all).map(|joined| read_all_of(&joined))
    };
    assert!(read_with(&document).is_ok());
    for len in 0..document.len() {
        assert!(read_with(&document[..len]).is_err(), "{len}");
    }
    for bit in 0..8 * document.len() {
        let mut changed = document.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        let _ = read_with(&changed);
    }
    std::fs::remove_dir_all(&directory).unwrap();
}
