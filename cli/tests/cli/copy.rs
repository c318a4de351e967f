//! `copy`: formats, codecs, hyperslabs, and what is left behind when it fails.

use std::io::Read;
use std::path::Path;

use nczchunk::object::{Storage, ZipWriter};
use nczchunk::{
    Access, Array, ArrayFormat, AttributeValues, Description, ElementType, Endian, GroupDimension, Hyperslab, Plan,
    list, open_storage,
};

use super::{Temporary, classic, run, run_at, sst, sst_of, stored};

fn open(path: &Path, name: &str) -> Array {
    Array::open(path, name, Access::Read).unwrap()
}

#[test]
fn every_format_and_codec_has_the_same_values() {
    for format in ["zarr2", "zarr3", "nczarr"] {
        for codecs in [
            &["none"][..],
            &["zstd:3"],
            &["blosc:cname=zstd,clevel=3,shuffle=bitshuffle"],
            &["shuffle", "zlib:4"],
            &["gzip"],
            &["lz4"],
            &["fletcher32"],
            &["crc32c"],
        ] {
            if format == "nczarr" && ["gzip", "lz4", "crc32c"].contains(&codecs[0]) {
                continue; // netCDF-C does not read them.
            }
            let directory = Temporary::new();
            let mut arguments =
                vec!["copy", "data/coads_sst.nc", "SST", "@/x", "--format", format, "--chunks", "7,40,70"];
            codecs.iter().for_each(|codec| arguments.extend(["--codec", *codec]));
            let text = run_at(&directory, &arguments).text();
            assert!(text.starts_with("copied 194400 elements, 759.4 KiB, to "), "{text}");
            let array = open(&directory.join("x"), if format == "nczarr" { "SST" } else { "" });
            let names: Vec<String> = array.codecs().unwrap().into_iter().map(|(name, _)| name).collect();
            let expected: Vec<&str> = codecs.iter().map(|codec| codec.split(':').next().unwrap()).collect();
            assert_eq!(names, if codecs == ["none"] { Vec::new() } else { expected });
            let expected = [("zarr2", "Zarr v2"), ("zarr3", "Zarr v3"), ("nczarr", "NCZarr")];
            assert!(expected.contains(&(format, array.format())));
            assert!(array.read::<f32>(&Hyperslab::all()).unwrap() == sst(), "{format} {codecs:?}");
        }
    }
}

#[test]
fn whole_files_are_copied() {
    for (format, separator) in [("zarr2", ""), ("zarr3", ""), ("nczarr", ""), ("zarr3", ".zip"), ("nczarr", ".zip")] {
        let directory = Temporary::new();
        let copy = format!("@/all{separator}");
        let text = run_at(&directory, &["copy", "data/coads_sst.nc", &copy, "--format", format]).text();
        assert!(text.starts_with("copied 4 arrays, 194682 elements, 761.6 KiB, to "), "{text}");
        // Zarr has no unlimited dimensions, and JSON no types of numbers; netCDF-C's own metadata have both.
        let how = "copy the whole group with --format nczarr to keep it (in TIME, SST)";
        let lost =
            [format!("\nnot kept: unlimited dimension TIME; {how}"), "\nnot kept: types of attributes".to_owned()];
        assert!(lost.iter().all(|lost| text.contains(lost) == (format != "nczarr")), "{text}");
        let path = directory.join(format!("all{separator}"));
        let nodes = list(&open_storage(&path).unwrap(), "", true).unwrap();
        assert_eq!(nodes.iter().map(nczchunk::Node::name).collect::<Vec<_>>(), ["", "COADSX", "COADSY", "SST", "TIME"]);
        assert_eq!(nodes[0].attributes().iter().map(|attribute| attribute.name()).collect::<Vec<_>>(), ["title"]);
        for node in &nodes {
            let unlimited = |d| node.dimension_name(d) == Some("TIME") && format == "nczarr";
            assert!((0..node.shape().len()).all(|d| node.is_unlimited(d) == unlimited(d)), "{}", node.name());
        }
        assert!(open(&path, "SST").read::<f32>(&Hyperslab::all()).unwrap() == sst());
        for name in ["TIME", "COADSX", "COADSY"] {
            let source = open(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../data/coads_sst.nc")), name);
            let array = open(&path, name);
            let all = Hyperslab::all();
            assert_eq!(array.read::<f64>(&all).unwrap(), source.read::<f64>(&all).unwrap());
            assert_eq!(array.dimension_name(0), Some(name));
            let names = |array: &Array| array.attributes().iter().map(|a| a.name().to_owned()).collect::<Vec<_>>();
            assert_eq!(names(&array), names(&source));
        }
        assert!(run_at(&directory, &["check", &copy]).text().lines().all(|line| line.ends_with(" 0 broken")));
        assert_eq!(directory.names(), [format!("all{separator}")]);
        // A whole file does not replace anything, unless it is a zip file and the user says so.
        let message = run_at(&directory, &["copy", "data/coads_sst.nc", &copy]).message(1);
        assert!(message.contains("this exists; "), "{message}");
    }
}

/// A file in tests/vectors/hdf5.bin.gz, which has lines with a name and a length, each followed by the bytes.
pub(super) fn hdf5(name: &str) -> Vec<u8> {
    let mut packed = Vec::new();
    let file = include_bytes!("../../../tests/vectors/hdf5.bin.gz");
    flate2::read::GzDecoder::new(&file[..]).read_to_end(&mut packed).unwrap();
    let line = format!("{name}\t").into_bytes();
    let begin = packed.windows(line.len()).position(|bytes| bytes == line).unwrap() + line.len();
    let end = begin + packed[begin..].iter().position(|byte| *byte == b'\n').unwrap();
    let len: usize = std::str::from_utf8(&packed[begin..end]).unwrap().parse().unwrap();
    packed[end + 1..][..len].to_vec()
}

/// The stored values of an array; texts end with a NUL each.
fn values(array: &Array) -> Vec<u8> {
    if *array.element_type() == ElementType::String {
        let texts = array.read_strings(&Hyperslab::all()).unwrap();
        return texts.iter().flat_map(|text| text.bytes().chain([0])).collect();
    }
    let plan = Plan::new(array.variable(), &Hyperslab::all(), Access::Read).unwrap();
    let mut bytes = vec![0; plan.memory_bytes()];
    plan.read(array.store(), &mut bytes).unwrap();
    bytes
}

#[test]
fn netcdf_4_files_are_copied_whole() {
    let directory = Temporary::new();
    std::fs::write(directory.join("model.nc"), hdf5("NETCDF4.nc")).unwrap();
    let text = run_at(&directory, &["copy", "@/model.nc", "@/out.zarr"]).text();
    assert!(!text.contains("not kept: attribute "), "{text}");
    assert!(text.contains("not kept: unlimited dimension time; "), "{text}");
    let storages = ["model.nc", "out.zarr"].map(|name| open_storage(&directory.join(name)).unwrap());
    let [source, copy] = storages.each_ref().map(|storage| list(storage, "", true).unwrap());
    let about = |node: &nczchunk::Node| {
        let names: Vec<_> = (0..node.shape().len()).map(|d| node.dimension_name(d).map(str::to_owned)).collect();
        (node.name().to_owned(), node.shape().to_vec(), names, node.attributes_json().to_owned())
    };
    let sorted = |nodes: &[nczchunk::Node]| {
        let mut all: Vec<_> = nodes.iter().map(about).collect();
        all.sort();
        all
    };
    let mut due = sorted(&source);
    for (name, shape, ..) in &mut due {
        // Of this one netCDF-C has written two elements along a dimension of three.
        if name == "t" {
            assert_eq!(*shape, [2, 3, 4]);
            shape[0] = 3;
        }
    }
    assert_eq!(sorted(&copy), due);
    let arrays: Vec<_> = source.iter().filter(|node| !node.is_group()).map(nczchunk::Node::name).collect();
    assert!(arrays.contains(&"inner/u") && arrays.contains(&"names") && arrays.len() > 7, "{arrays:?}");
    for name in arrays {
        let [source, copy] = storages.each_ref().map(|storage| Array::open_in(storage, name, Access::Read).unwrap());
        let (mut due, filled) = (values(&source), if name == "t" { 12 } else { 0 });
        due.extend(source.fill_value().unwrap_or_default().repeat(filled));
        assert!(values(&copy) == due, "{name}");
    }
}

/// What dimension scales keep among the attributes for themselves is not told.
#[test]
fn attributes_that_cannot_be_kept_are_told() {
    let directory = Temporary::new();
    std::fs::write(directory.join("a.h5"), hdf5("attributes.h5")).unwrap();
    let reasons = [
        ("array", "attributes of compound, array and opaque types"),
        ("complex", "attributes that are complex numbers"),
        ("opaque", "attributes of compound, array and opaque types"),
        ("ragged", "HDF5's variable-length sequences"),
        ("reference", "references to objects of an HDF5 file"),
        ("region", "HDF5's region and other references"),
        ("structure", "attributes of compound, array and opaque types"),
    ];
    let told = |text: &str| -> Vec<String> {
        text.lines().filter(|line| line.starts_with("not kept: attribute ")).map(str::to_owned).collect()
    };
    let enumeration = "not kept: attribute enum: not supported: the names of an enumeration's values (in /)".to_owned();
    let due =
        |of: &str| reasons.map(|(name, why)| format!("not kept: attribute {name}: not supported: {why} (in {of})"));
    for format in ["zarr2", "zarr3", "nczarr"] {
        let copy = format!("@/{format}");
        let mut told = told(&run_at(&directory, &["copy", "@/a.h5", &copy, "-f", format]).text());
        assert!(told.contains(&enumeration), "{format} {told:?}");
        told.retain(|line| *line != enumeration);
        assert_eq!(told, due("/, x"), "{format}");
        let nodes = list(&open_storage(&directory.join(format)).unwrap(), "", true).unwrap();
        let json: Vec<_> = nodes.iter().map(|node| (node.name(), node.attributes_json().to_owned())).collect();
        // netCDF-C's own metadata say that it is a string.
        let units = if format == "nczarr" { r#""units":["K"]"# } else { r#""units":"K""# };
        assert!(json[0].1.contains(&format!(r#""enum":2,"bits":[5,-7,2047],{units}"#)), "{json:?}");
        let x = &json.iter().find(|(name, _)| *name == "x").unwrap().1;
        assert!(x.contains(units) && !x.contains("NAME"), "{x}");
    }
    for command in ["copy", "rechunk"] {
        let text = run_at(&directory, &[command, "@/a.h5", "x", &format!("@/{command}")]).text();
        assert_eq!(told(&text), due("x"), "{command}");
    }
    assert_eq!(told(&run_at(&directory, &["copy", "@/a.h5", "x2", "@/x2"]).text()), [""; 0]);
}

/// What the types of elements say besides their bytes.
#[test]
fn types_that_cannot_be_kept_are_told() {
    let directory = Temporary::new();
    std::fs::write(directory.join("a.h5"), hdf5("types-latest.h5")).unwrap();
    let text = run_at(&directory, &["copy", "@/a.h5", "@/copy", "--skip-unreadable"]).text();
    for (names, lost) in [
        ("bool, enum", "the names of an enumeration's values"),
        ("structure", "the names and types of a structure's members"),
    ] {
        let line = format!("\nnot kept: type of the elements: not supported: {lost} (in {names})\n");
        assert!(text.contains(&line), "{names}: {text}");
    }
    let text = run_at(&directory, &["info", "@/a.h5", "enum"]).text();
    assert!(text.contains("\n    type of the elements: not supported: the names of"), "{text}");
}

/// Nothing is left out of a copy unless that is wished, and then it is told.
#[test]
fn arrays_that_cannot_be_read_are_left_out_by_request_alone() {
    let directory = Temporary::new();
    std::fs::write(directory.join("a.h5"), hdf5("filters.h5")).unwrap();
    let words = run_at(&directory, &["copy", "@/a.h5", "@/copy"]).message(1);
    assert!(words.contains("external: not supported: ") && words.contains("--skip-unreadable"), "{words}");
    assert!(!directory.join("copy").exists());
    let text = run_at(&directory, &["copy", "@/a.h5", "@/copy", "--skip-unreadable"]).text();
    let lost: Vec<_> = text.lines().filter(|line| line.starts_with("not kept: ")).collect();
    assert_eq!(lost.len(), 3, "{text}");
    for name in ["external", "sperr", "virtual"] {
        assert!(lost.iter().any(|line| line.ends_with(&format!("(in {name})"))), "{name}: {text}");
    }
    let names = |path: &str| -> Vec<String> {
        let nodes = list(&open_storage(&directory.join(path)).unwrap(), "", true).unwrap();
        nodes.iter().filter(|node| !node.is_group()).map(|node| node.name().to_owned()).collect()
    };
    let mut due = names("a.h5");
    due.retain(|name| !["external", "sperr", "virtual"].contains(&name.as_str()));
    due.sort();
    let mut copied = names("copy");
    copied.sort();
    assert!(copied == due && due.len() > 5, "{copied:?} {due:?}");
    for name in due {
        let open = |path: &str| Array::open(directory.join(path), &name, Access::Read).unwrap();
        assert!(values(&open("copy")) == values(&open("a.h5")), "{name}");
    }
}

#[test]
fn attributes_that_cannot_be_read_are_not_lost() {
    let directory = stored(&Description::new(&[2], ElementType::Int).with_format(ArrayFormat::ZarrV2), &[1i32, 2]);
    std::fs::write(directory.join("a/.zattrs"), "[1]").unwrap();
    for arguments in [&["copy", "@", "a", "@/b"][..], &["copy", "@", "@/b"], &["rechunk", "@", "a", "@/b"]] {
        let words = run_at(&directory, arguments).message(1);
        assert!(words.contains(".zattrs: $: malformed metadata") && !directory.join("b").exists(), "{words}");
    }
}

#[test]
fn unlimited_dimensions_are_kept_where_the_format_has_them() {
    let directory = Temporary::new();
    let text = run_at(&directory, &["copy", "data/coads_sst.nc", "@/a", "-f", "nczarr"]).text();
    assert!(!text.contains("not kept"), "{text}");
    // A copy of that is the same, and nothing is added to what netCDF-C has listed.
    let text = run_at(&directory, &["copy", "@/a", "@/b", "-f", "nczarr"]).text();
    assert!(!text.contains("not kept"), "{text}");
    for name in ["a", "b"] {
        let listed = run_at(&directory, &["list", &format!("@/{name}")]).text();
        assert!(listed.contains("TIME=12 (unlimited) x COADSY=90 x COADSX=180"), "{listed}");
        let attributes = std::fs::read_to_string(directory.join(name).join(".zattrs")).unwrap();
        let attributes: serde_json::Value = serde_json::from_str(&attributes).unwrap();
        let group = serde_json::json!({
            "dimensions": {"COADSX": 180, "COADSY": 90, "TIME": {"size": 12, "unlimited": 1}},
            "arrays": ["COADSX", "COADSY", "SST", "TIME"], "groups": [],
        });
        assert_eq!(attributes["_nczarr_group"], group);
    }
    let message = run_at(&directory, &["copy", "data/coads_sst.zarr", "@/a", "-f", "nczarr", "-n", "x"]).message(1);
    assert!(message.contains("netCDF-C keeps a list of this group's arrays"), "{message}");
    // Zarr has none, and an array alone cannot say it.
    let single = ["copy", "data/coads_sst.nc", "TIME", "@/c", "-f", "nczarr"];
    for arguments in [&["copy", "@/a", "@/d"][..], &single] {
        let text = run_at(&directory, arguments).text();
        let lost = "not kept: unlimited dimension TIME; copy the whole group with --format nczarr";
        assert!(text.contains(lost), "{text}");
    }
}

#[test]
fn variables_that_are_shorter_than_their_unlimited_dimensions_end_in_fill_values() {
    const FILE: &str = "tests/vectors/short_variables.nc";
    let directory = Temporary::new();
    run_at(&directory, &["copy", FILE, "@/all"]).text();
    run_at(&directory, &["copy", FILE, "n", "@/n", "-f", "nczarr"]).text();
    run_at(&directory, &["copy", FILE, "n", "@/v2", "-f", "zarr2", "--chunks", "t=3"]).text();
    let ints = |name: &str, array: &Array| -> (Vec<usize>, Vec<i32>) {
        let shape = array.variable().dimensions().iter().map(nczchunk::Dimension::len).collect();
        (shape, array.read(&Hyperslab::all()).unwrap_or_else(|error| panic!("{name}: {error}")))
    };
    // The group n, which has t = 7 by an array in the group g in it, and g/own, which has t = 3.
    for (name, len, written) in [
        ("long", 14, 10),
        ("short", 14, 6),
        ("never", 14, 0),
        ("g/longest", 14, 14),
        ("g/own/v", 3, 3),
        ("g/own/w", 3, 1),
    ] {
        let due: Vec<i32> = (0..len).map(|i| if i < written { i } else { -2_147_483_647 }).collect();
        for (copy, name) in [("all", format!("n/{name}")), ("n", name.to_owned()), ("v2", name.to_owned())] {
            let array = open(&directory.join(copy), &name);
            let shape = if array.variable().rank() == 2 { vec![7, 2] } else { vec![3] };
            assert_eq!(ints(&name, &array), (shape, due.clone()), "{copy}: {name}");
            assert_eq!(array.is_unlimited(0), copy == "n");
        }
    }
    let texts = open(&directory.join("all"), "texts").read_strings(&Hyperslab::all()).unwrap();
    assert_eq!(texts.iter().collect::<Vec<_>>(), ["0", "1", ""]);
    let dimensions = |group| nczchunk::group_dimensions(&open_storage(&directory.join("n")).unwrap(), group).unwrap();
    let dimension = |name: &str, len| GroupDimension { name: name.to_owned(), len, is_unlimited: name == "t" };
    assert_eq!(dimensions(""), [dimension("t", 7), dimension("x", 2)]);
    assert_eq!((dimensions("g").len(), dimensions("g/own")), (0, vec![dimension("t", 3)]));
    // Lengths of chunks and shards are those of the copy.
    let shards = ["copy", FILE, "n", "@/shards", "--chunks", "t=2,x=100", "--shards", "t=4"];
    run_at(&directory, &shards).text();
    for (name, shape, shard) in [("never", [2, 2], [4, 2]), ("short", [2, 2], [4, 2])] {
        let node = list(&open_storage(&directory.join("shards")).unwrap(), name, false).unwrap();
        assert_eq!((node[0].chunk_shape(), node[0].shard_shape()), (&shape[..], Some(&shard[..])));
    }
    run_at(&directory, &["copy", FILE, "n", "@/one-shard", "--chunks", "t=3", "--shards", "t=300"]).text();
    let node = list(&open_storage(&directory.join("one-shard")).unwrap(), "short", false).unwrap();
    assert_eq!((node[0].chunk_shape(), node[0].shard_shape()), (&[3, 2][..], Some(&[9, 2][..])));
    // Of joined files only the last may end early: what follows would be at the wrong place.
    let message = run_at(&directory, &["concat", "t", FILE, FILE, "-o", "@/joined.json"]).message(1);
    assert!(message.contains("joining an array that is shorter than its unlimited dimension"), "{message}");
    run_at(&directory, &["concat", "t", FILE, "-o", "@/last.json"]).text();
    run_at(&directory, &["copy", "@/last.json", "n", "@/last"]).text();
    let due: Vec<i32> = (0..14).map(|i| if i < 6 { i } else { -2_147_483_647 }).collect();
    assert_eq!(ints("short", &open(&directory.join("last"), "short")), (vec![7, 2], due));
    // One array has the shape that it has in the file.
    run_at(&directory, &["copy", FILE, "n/short", "@/one"]).text();
    assert_eq!(ints("short", &open(&directory.join("one"), "")), (vec![3, 2], (0..6).collect()));
}

#[test]
fn dimensions_that_no_array_has_are_kept_where_the_format_has_them() {
    let directory = Temporary::new();
    let storage = nczchunk::create_storage(&directory.join("a")).unwrap();
    let description = Description::new(&[2], ElementType::Int).with_format(ArrayFormat::NcZarr);
    Array::create_in(&storage, "g/v", &description.with_dimension_names(&["x"])).unwrap();
    let dimension = |name: &str, len| GroupDimension { name: name.to_owned(), len, is_unlimited: false };
    let dimensions = vec![("", dimension("x", 2)), ("", dimension("y", 3)), ("g", dimension("z", 4))];
    nczchunk::write_netcdf_groups(&storage, &|_, _| false, dimensions).unwrap();

    let text = run_at(&directory, &["copy", "@/a", "@/b", "-f", "nczarr"]).text();
    assert!(!text.contains("not kept"), "{text}");
    let copy = nczchunk::open_storage(&directory.join("b")).unwrap();
    // The one of the array, too, is in the group that defines it.
    assert_eq!(nczchunk::group_dimensions(&copy, "").unwrap(), [dimension("x", 2), dimension("y", 3)]);
    assert_eq!(nczchunk::group_dimensions(&copy, "g").unwrap(), [dimension("z", 4)]);

    let text = run_at(&directory, &["copy", "@/a", "@/c"]).text();
    for lost in ["y = 3, which no array has; --format nczarr keeps it (in /)", "z = 4, which no array has"] {
        assert!(text.contains(&format!("not kept: dimension {lost}")), "{text}");
    }
    assert!(!text.contains("dimension x"), "{text}");
}

#[test]
fn groups_are_copied_with_what_is_in_them() {
    let directory = Temporary::new();
    let small =
        Description::new(&[2, 3], ElementType::Short).with_chunk_shape(&[1, 2]).with_dimension_names(&["y", "x"]);
    let storage = nczchunk::create_storage(&directory.join("all")).unwrap();
    let attributes = r#"{"title":"deep","nested":{"a":[1,NaN]}}"#;
    nczchunk::create_group(&storage, "ocean/deep", ArrayFormat::ZarrV3, attributes, &[]).unwrap();
    for (i, name) in ["land", "ocean/a", "ocean/deep/b"].into_iter().enumerate() {
        let shards = [2, 4];
        let description = if i == 1 { small.with_shard_shape(&shards) } else { small };
        let array = Array::create_in(&storage, name, &description).unwrap();
        array.write(&Hyperslab::all(), &[i as i16 + 1; 6]).unwrap();
    }
    run_at(&directory, &["copy", "@/all", "ocean", "@/ocean", "--codec", "gzip"]).text();
    let nodes = list(&open_storage(&directory.join("ocean")).unwrap(), "", true).unwrap();
    assert_eq!(nodes.iter().map(nczchunk::Node::name).collect::<Vec<_>>(), ["", "a", "deep", "deep/b"]);
    assert_eq!(nodes[2].attributes_json(), attributes);
    assert_eq!((nodes[1].chunk_shape(), nodes[1].shard_shape()), (&[1, 2][..], Some(&[2, 4][..])));
    let array = open(&directory.join("ocean"), "deep/b");
    assert_eq!((array.read::<i16>(&Hyperslab::all()).unwrap(), array.dimension_name(1)), (vec![3; 6], Some("x")));
    assert_eq!(array.codecs().unwrap()[0].0, "gzip");
    // All of it, as another version.
    let text = run_at(&directory, &["copy", "@/all", "@/v2", "--format", "zarr2"]).text();
    assert_eq!(text.lines().next().unwrap().split(", to ").next(), Some("copied 3 arrays, 18 elements, 36 bytes"));
    assert_eq!(list(&open_storage(&directory.join("v2")).unwrap(), "", true).unwrap().len(), 6);
    assert!(
        run_at(&directory, &["copy", "@/all", "@/x", "-s", "0"]).message(2).contains("name the array; the arrays are")
    );
    // One that cannot be copied leaves nothing of the others.
    std::fs::write(directory.join("all/land/c/1/1"), "no zstd").unwrap();
    let message = run_at(&directory, &["copy", "@/all", "@/x"]).message(1);
    assert!(message.contains("chunk (1, 1)"), "{message}");
    assert_eq!(directory.names(), ["all", "ocean", "v2"]);
}

#[test]
fn characters_are_texts_of_one_byte_in_zarr_v3() {
    let directory = Temporary::new();
    let description = Description::new(&[2, 3], ElementType::Char).with_format(ArrayFormat::ZarrV2);
    let array = Array::create(directory.join("a"), "", &description).unwrap();
    array.write(&Hyperslab::all(), b"abcdef").unwrap();
    let text = run_at(&directory, &["copy", "@/a", "@/b"]).text();
    assert!(text.ends_with("not kept: characters, which are strings of 1 byte in Zarr v3 (in /)\n"), "{text}");
    let array = open(&directory.join("b"), "");
    assert_eq!(*array.element_type(), ElementType::Text { len: 1 });
    assert_eq!(array.read::<u8>(&Hyperslab::all()).unwrap(), b"abcdef");
    assert!(!run_at(&directory, &["copy", "@/a", "@/c", "-f", "zarr2"]).text().contains("not kept"));
}

#[test]
fn no_directory_is_called_like_a_file_of_netcdf_unless_it_is_wished() {
    let directory = Temporary::new();
    for name in ["a.nc", "a.NC4", "a.h5", "a.cfdb"] {
        for source in [&["data/coads_sst.nc"][..], &["data/coads_sst.nc", "SST"]] {
            let destination = format!("@/{name}");
            let message = run_at(&directory, &[&["copy"], source, &[destination.as_str()]].concat()).message(2);
            assert!(message.contains("a.zarr") && message.contains("--format"), "{message}");
        }
    }
    assert_eq!(directory.names(), [""; 0]);
    run_at(&directory, &["copy", "data/coads_sst.nc", "TIME", "@/a.nc", "--format", "zarr2"]).text();
    assert_eq!(directory.names(), ["a.nc"]);
}

#[test]
fn lengths_are_taken_as_they_are_printed() {
    let directory = Temporary::new();
    run_at(&directory, &["copy", "data/coads_sst.nc", "SST", "@/x", "--chunks", "1 x 30x60"]).text();
    assert!(run_at(&directory, &["info", "@/x"]).text().contains("chunks      1 x 30 x 60, "));
    let message = run_at(&directory, &["copy", "data/coads_sst.nc", "SST", "@/y", "--chunks", "1,0,60"]).message(2);
    for words in ["'--chunks <LENGTHS>': expected lengths of at least 1", "'0'"] {
        assert!(message.contains(words), "{message}");
    }
}

#[test]
fn settings_that_a_codec_does_not_have_are_refused() {
    for (codec, words) in [
        ("zstd:99", "--codec: zstd: level: expected an integer from -131072 to 22, found 99"),
        ("zstd:levl=3", "--codec: zstd: levl: unknown setting; the codec has: level, checksum"),
        ("gzip:99", "--codec: gzip: level: expected an integer from 0 to 9, found 99"),
        ("blosc:clevel=42", "--codec: blosc: clevel: expected an integer from 0 to 9, found 42"),
        ("blosc:cname=zst", "--codec: blosc: cname: zst: "),
        ("crc32c:3", "--codec: crc32c: the codec has no setting that is a number"),
    ] {
        for format in ["zarr2", "zarr3"] {
            let directory = Temporary::new();
            let ran = run_at(&directory, &["copy", "data/coads_sst.nc", "SST", "@/x", "-f", format, "--codec", codec]);
            let message = ran.message(2);
            assert!(message.contains(words), "{codec}: {message}");
            assert_eq!(directory.names(), [""; 0]);
        }
    }
}

#[test]
fn attributes_names_and_the_fill_value_are_copied() {
    for format in ["zarr2", "zarr3", "nczarr"] {
        let directory = Temporary::new();
        run_at(&directory, &["copy", "data/coads_sst.nc", "SST", "@/x", "-n", "sea/sst", "-f", format]).text();
        let array = open(&directory.join("x"), "sea/sst");
        let names: Vec<_> = (0..3).map(|d| array.dimension_name(d).unwrap()).collect();
        assert_eq!(names, ["TIME", "COADSY", "COADSX"]);
        assert_eq!(array.fill_value(), Some(&(-1e34f32).to_ne_bytes()[..]));
        let found = |name: &str| array.attributes().iter().find(|attribute| attribute.name() == name).unwrap();
        assert_eq!(array.attributes().len(), 5);
        assert_eq!(found("units").values(), AttributeValues::Bytes(b"Deg C"));
        assert_eq!(*found("_FillValue").element_type(), ElementType::Float);
        assert_eq!(found("_FillValue").values(), AttributeValues::Bytes(&(-1e34f32).to_ne_bytes()));
        // What xarray expects there is another thing in Zarr v3.
        assert_eq!(array.attributes_json().contains(r#""_FillValue":"AAAA4JvQ/sY=""#), format == "zarr3");
        // JSON has no types of numbers; netCDF-C keeps them beside the attributes.
        let is_kept = *found("missing_value").element_type() == ElementType::Float;
        assert_eq!(is_kept, format == "nczarr", "{format}");
    }
}

#[test]
fn what_json_has_is_copied_as_json() {
    let json = r#"{"nested":{"a":[1,2.5,"x"]},"nan":NaN}"#;
    let description =
        Description::new(&[2], ElementType::Int).with_format(ArrayFormat::ZarrV2).with_dimension_names(&["x"]);
    let directory = stored(&description.with_attributes_json(json), &[1i32, 2]);
    run_at(&directory, &["copy", "@", "a", "@/b"]).text();
    assert!(run_at(&directory, &["list", "@"]).text().contains("b  int32  x=2"));
    let array = open(&directory, "b");
    // What marks missing elements in Zarr v2 is an attribute in Zarr v3.
    let copied = json.replace("NaN}", r#"NaN,"_FillValue":0}"#);
    assert_eq!((array.attributes_json(), array.dimension_name(0)), (&*copied, Some("x")));
    // netCDF-C has no attributes that are objects, but the text of them.
    run_at(&directory, &["copy", "@", "a", "@/c", "--format", "nczarr"]).text();
    let array = open(&directory.join("c"), "a");
    assert_eq!(array.attributes()[0].values(), AttributeValues::Bytes(br#"{"a":[1,2.5,"x"]}"#));
}

#[test]
fn hyperslabs_become_arrays() {
    let directory = Temporary::new();
    run_at(&directory, &["copy", "data/coads_sst.zarr", "@/x", "-s", "3, -60:, 1::7", "-f", "zarr2"]).text();
    let array = open(&directory.join("x"), "");
    let lens: Vec<_> = array.variable().dimensions().iter().map(|d| (d.len(), d.chunklen())).collect();
    assert_eq!(lens, [(60, 40), (26, 26)]);
    assert_eq!((array.dimension_name(0), array.dimension_name(1)), (Some("COADSY"), Some("COADSX")));
    let values = array.read::<f32>(&Hyperslab::all()).unwrap();
    assert_eq!(values, sst_of([(3, 4, 1), (30, 90, 1), (1, 180, 7)]));
    run_at(&directory, &["copy", "data/coads_sst.zarr", "@/y", "-s", "5,6,7"]).text();
    let array = open(&directory.join("y"), "");
    assert_eq!(array.variable().rank(), 0);
    assert_eq!(array.read::<f32>(&Hyperslab::all()).unwrap(), [sst()[(5 * 90 + 6) * 180 + 7]]);
}

#[test]
fn shards_are_written_and_kept() {
    let directory = Temporary::new();
    run_at(&directory, &["copy", "data/coads_sst.zarr", "@/x", "--chunks", "2,30,60", "--shards", "6,90,60"]).text();
    let text = run_at(&directory, &["info", "@/x"]).text();
    assert!(text.contains("chunks      2 x 30 x 60, ") && text.contains("shards      6 x 90 x 60\n"), "{text}");
    assert!(open(&directory.join("x"), "").read::<f32>(&Hyperslab::all()).unwrap() == sst());
    assert_eq!(std::fs::read_dir(directory.join("x/c")).unwrap().count(), 2);
    run_at(&directory, &["copy", "@/x", "@/y", "-s", "0:4"]).text();
    let text = run_at(&directory, &["info", "@/y"]).text();
    assert!(text.contains("chunks      2 x 30 x 60, ") && text.contains("shards      4 x 90 x 60\n"), "{text}");
    // Zarr v2 has none.
    run_at(&directory, &["copy", "@/x", "@/z", "-f", "zarr2"]).text();
    assert!(!run_at(&directory, &["info", "@/z"]).text().contains("shards"));
    let message = run_at(&directory, &["copy", "@/x", "@/w", "--chunks", "2x30x60", "--shards", "3x90x60"]).message(2);
    let words = "--shards: the length 3 of dimension 0 must be a multiple of the chunk length 2";
    assert!(message.contains(words), "{message}");
    assert!(run_at(&directory, &["copy", "@/x", "@/w", "--chunks", "2,30"]).message(2).contains("has rank 3"));
    assert_eq!(directory.names(), ["x", "y", "z"]);
}

#[test]
fn chunks_of_nothing_are_left_out() {
    let directory = Temporary::new();
    run_at(&directory, &["copy", "data/coads_sst.zarr", "@/x", "--format", "zarr2", "--separator", "/"]).text();
    assert!(run_at(&directory, &["info", "@/x"]).text().contains("in 34 chunks, 2 absent"));
    assert!(directory.join("x/0/2/0").exists() && !directory.join("x/0/2/1").exists());
}

#[test]
fn big_words_and_texts_are_copied() {
    let directory = Temporary::new();
    run_at(&directory, &["copy", "data/coads_sst.zarr", "@/x", "--endian", "big", "--codec", "none"]).text();
    assert!(run_at(&directory, &["info", "@/x"]).text().contains("float32, big-endian"));
    let bytes = std::fs::read(directory.join("x/c/0/0/0")).unwrap();
    let all = sst();
    assert_eq!(bytes[..4], all[0].to_be_bytes());
    assert!(open(&directory.join("x"), "").read::<f32>(&Hyperslab::all()).unwrap() == all);

    let texts = Description::new(&[5], ElementType::String).with_chunk_shape(&[2]).with_fill_value(b"-");
    let array = Array::create(directory.join("t"), "", &texts).unwrap();
    array.write_strings(&Hyperslab::all(), &["a", "\u{e4}", "", "-", "e"]).unwrap();
    run_at(&directory, &["copy", "@/t", "@/u", "-f", "zarr2", "-s", "::-1"]).message(2);
    run_at(&directory, &["copy", "@/t", "@/u", "-f", "zarr2", "-s", "1:"]).text();
    let array = open(&directory.join("u"), "");
    assert_eq!(array.read_strings(&Hyperslab::all()).unwrap(), ["\u{e4}", "", "-", "e"]);
    assert_eq!(array.fill_value(), Some(&b"-"[..]));
}

#[test]
fn groups_and_zip_files_are_destinations() {
    let directory = Temporary::new();
    for name in ["SST", "COADSX", "TIME"] {
        run_at(&directory, &["copy", "data/coads_sst.nc", name, "@/nc", "--format", "nczarr"]).text();
    }
    let nodes = list(&open_storage(&directory.join("nc")).unwrap(), "", true).unwrap();
    assert_eq!(nodes.iter().map(nczchunk::Node::name).collect::<Vec<_>>(), ["", "COADSX", "SST", "TIME"]);
    assert!(run_at(&directory, &["copy", "data/coads_sst.zarr", "@/nc", "-f", "zarr2"]).message(1).contains("--name"));
    let message = run_at(&directory, &["copy", "data/coads_sst.nc", "TIME", "@/nc", "-n", "T/T"]).message(1);
    assert!(message.contains("another version of Zarr"), "{message}");

    run_at(&directory, &["copy", "data/coads_sst.zarr", "@/x.zip"]).text();
    assert!(open(&directory.join("x.zip"), "").read::<f32>(&Hyperslab::all()).unwrap() == sst());
    assert!(run_at(&directory, &["copy", "data/coads_sst.zarr", "@/x.zip"]).message(1).contains("--force"));
    run_at(&directory, &["copy", "data/coads_sst.zarr", "@/x.zip", "--force", "-s", "0"]).text();
    assert_eq!(open(&directory.join("x.zip"), "").variable().rank(), 2);
    assert_eq!(directory.names(), ["nc", "x.zip"]);
}

/// What is in no storage would be lost with the file.
#[test]
fn a_zip_file_is_not_replaced_if_something_stands_beside_its_only_directory() {
    use nczchunk::object::{ObjectStore, PrefixedStorage, Storage, ZipWriter};
    let directory = Temporary::new();
    let path = directory.join("x.zip");
    let zip = std::sync::Arc::new(ZipWriter::create(&path).unwrap());
    let below = Storage::new(PrefixedStorage::new(zip.clone(), "top").unwrap()).unwrap();
    nczchunk::Array::create_in(&below, "", &nczchunk::Description::new(&[2], nczchunk::ElementType::Int)).unwrap();
    zip.write("notesX", b"mine").unwrap();
    zip.finish().unwrap();
    // No object can have this name, so the writer does not write it.
    let mut bytes = std::fs::read(&path).unwrap();
    for at in 0..bytes.len() - 6 {
        if bytes[at..].starts_with(b"notesX") {
            bytes[at + 5] = b'\\';
        }
    }
    std::fs::write(&path, &bytes).unwrap();
    let message = run_at(&directory, &["copy", "data/coads_sst.zarr", "@/x.zip", "--force"]).message(1);
    assert!(message.contains("notes\\"), "{message}");
    assert!(std::fs::read(&path).unwrap() == bytes);
}

#[test]
fn what_is_there_is_replaced_by_force_only() {
    let directory = Temporary::new();
    run_at(&directory, &["copy", "data/coads_sst.zarr", "@/x"]).text();
    assert!(run_at(&directory, &["copy", "data/coads_sst.zarr", "@/x"]).message(1).contains("an array exists here"));
    // An array can replace itself.
    run_at(&directory, &["copy", "@/x", "@/x", "--force", "-s", "1", "-c", "gzip"]).text();
    let array = open(&directory.join("x"), "");
    assert_eq!(array.read::<f32>(&Hyperslab::all()).unwrap(), sst_of([(1, 2, 1), (0, 90, 1), (0, 180, 1)]));
    run_at(&directory, &["copy", "data/coads_sst.nc", "TIME", "@/g", "-n", "a/t"]).text();
    run_at(&directory, &["copy", "data/coads_sst.nc", "TIME", "@/g", "-n", "a/t"]).message(1);
    run_at(&directory, &["copy", "data/coads_sst.nc", "COADSX", "@/g", "-n", "a/t", "--force"]).text();
    assert_eq!(open(&directory.join("g"), "a/t").variable().dimensions()[0].len(), 180);
    // What is no array is never removed.
    std::fs::write(directory.join("file"), "x").unwrap();
    for (destination, words) in [("@", "not empty"), ("@/file", "a file"), ("@/g/a", "--name")] {
        let message = run_at(&directory, &["copy", "data/coads_sst.zarr", destination, "--force"]).message(1);
        assert!(message.contains(words), "{message}");
    }
    let message = run_at(&directory, &["copy", "data/coads_sst.zarr", "@/g", "-n", "a", "--force"]).message(1);
    assert!(message.contains("something other than an array"), "{message}");
    assert_eq!(directory.names(), ["file", "g", "x"]);
}

#[test]
fn nothing_is_left_of_what_fails() {
    let directory = Temporary::new();
    run_at(&directory, &["copy", "data/coads_sst.zarr", "@/x", "-c", "gzip"]).text();
    std::fs::write(directory.join("x/c/2/1/1"), "no gzip").unwrap();
    for destination in ["@/y", "@/y.zip"] {
        let message = run_at(&directory, &["copy", "@/x", destination]).message(1);
        assert!(message.contains("chunk (2, 1, 1)"), "{message}");
    }
    run_at(&directory, &["copy", "@/x", "@/g", "-n", "a", "-s", ":10"]).text();
    run_at(&directory, &["copy", "@/x", "@/g", "-n", "a", "--force"]).message(1);
    assert_eq!(open(&directory.join("g"), "a").variable().dimensions()[0].len(), 10);
    let message =
        run_at(&directory, &["copy", "data/coads_sst.nc", "SST", "@/y", "-f", "nczarr", "-c", "lz4"]).message(2);
    assert!(message.contains("--codec: lz4: not supported: "), "{message}");
    assert_eq!(directory.names(), ["g", "x"]);
    let names: Vec<_> = std::fs::read_dir(directory.join("g")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(run(&["copy", "data/coads_sst.zarr", "no/such/storage/x"]).message(1).contains("No such file"));
}

/// Copies many small chunks, which takes long enough to be interrupted while they are written.
#[cfg(unix)]
fn interrupted(directory: &Path, arguments: &[&str]) {
    use std::process::{Command, Stdio};
    let mut child = super::command()
        .args(["copy", "data/coads_sst.zarr", "--chunks", "1,1,1", "--codec", "none"])
        .arg(directory)
        .args(arguments)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let is_written = |path: &std::path::PathBuf| path.parent().is_some_and(|above| above.ends_with("c"));
    while !tree(directory.parent().unwrap()).keys().any(is_written) {
        assert!(child.try_wait().unwrap().is_none(), "it was done before it could be interrupted");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), &output.stderr[..]), (Some(130), &b"nczchunk: interrupted\n"[..]));
}

#[cfg(unix)]
#[test]
fn nothing_is_left_of_what_is_interrupted() {
    let directory = Temporary::new();
    interrupted(&directory.join("x"), &[]);
    assert_eq!(directory.names(), [""; 0]);
    // A group that is there is as it was.
    groups(&directory);
    let before = tree(&directory);
    for name in ["y", "deep/er/y", "in/deep/y"] {
        interrupted(&directory.join("v3"), &["--name", name]);
        assert!(tree(&directory) == before, "{name}: {:?}", tree(&directory).keys());
    }
}

/// What the program waits for may never come: here nobody opens the pipe.
#[cfg(target_os = "linux")]
#[test]
fn the_third_signal_ends_the_program_wherever_it_is() {
    use std::process::{Command, Stdio};
    use std::time::Duration;
    let directory = Temporary::new();
    let pipe = directory.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let dump = super::command().args(["dump", "data/coads_sst.zarr", "-o"]).arg(&pipe).stderr(Stdio::piped()).spawn();
    let mut dump = dump.unwrap();
    let status = format!("/proc/{}/status", dump.id());
    // SIGTERM is number 15.
    let is_caught = || {
        let status = std::fs::read_to_string(&status).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        u64::from_str_radix(caught.trim(), 16).unwrap() & 1 << 14 != 0
    };
    while !is_caught() {
        assert!(dump.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(1));
    }
    let signal = |dump: &mut std::process::Child| {
        assert!(Command::new("kill").args(["-TERM", &dump.id().to_string()]).status().unwrap().success());
        std::thread::sleep(Duration::from_millis(200));
        dump.try_wait().unwrap()
    };
    assert_eq!([signal(&mut dump), signal(&mut dump)], [None, None]);
    let mut ended = None;
    // Signals that come too fast count as one.
    for _ in 0..50 {
        ended = ended.or_else(|| signal(&mut dump));
    }
    if ended.is_none() {
        dump.kill().unwrap();
    }
    assert_eq!(ended.and_then(|status| status.code()), Some(130));
}

/// All files below a directory, with what is in them, and all directories.
fn tree(directory: &Path) -> std::collections::BTreeMap<std::path::PathBuf, Option<Vec<u8>>> {
    let mut tree = std::collections::BTreeMap::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            tree.extend(self::tree(&path));
            tree.insert(path, None);
        } else {
            // Files that are being written come and go.
            let bytes = std::fs::read(&path).ok();
            tree.insert(path, bytes);
        }
    }
    tree
}

/// Groups of both versions, with consolidated metadata: `v2` and `v3`, each with a group `in`.
fn groups(directory: &Path) {
    for (name, text) in [
        ("v2/.zgroup", r#"{"zarr_format":2}"#),
        ("v2/in/.zgroup", r#"{"zarr_format":2}"#),
        ("v2/.zmetadata", r#"{"zarr_consolidated_format":1,"metadata":{}}"#),
        (
            "v3/zarr.json",
            r#"{"zarr_format":3,"node_type":"group","attributes":{"a":1},"consolidated_metadata":{"kind":"inline",
            "must_understand":false,"metadata":{}}}"#,
        ),
        ("v3/in/zarr.json", r#"{"zarr_format":3,"node_type":"group"}"#),
    ] {
        std::fs::create_dir_all(directory.join(name).parent().unwrap()).unwrap();
        std::fs::write(directory.join(name), text).unwrap();
    }
}

#[test]
fn groups_are_as_they_were_after_a_copy_that_fails() {
    let directory = Temporary::new();
    let groups_path = directory.join("g");
    groups(&groups_path);
    run_at(&directory, &["copy", "data/coads_sst.zarr", "@/x", "-c", "gzip"]).text();
    std::fs::write(directory.join("x/c/2/1/1"), "no gzip").unwrap();
    let before = tree(&groups_path);
    for (group, format) in [("@/g/v2", "zarr2"), ("@/g/v2", "nczarr"), ("@/g/v3", "zarr3")] {
        for name in ["y", "in/y", "deep/er/y", "in/deep/er/y"] {
            let arguments = ["copy", "@/x", group, "-n", name, "-f", format, "-c", "zlib"];
            let message = run_at(&directory, &arguments).message(1);
            assert!(message.contains("chunk (2, 1, 1)"), "{message}");
            assert!(tree(&groups_path) == before, "{group} {name} {format}: {:?}", tree(&groups_path).keys());
        }
    }
    // One that cannot be created.
    run_at(&directory, &["copy", "data/coads_sst.zarr", "@/g/v3", "-n", "deep/y", "-f", "zarr2"]).message(1);
    assert!(tree(&groups_path) == before);
}

#[test]
fn groups_get_what_is_complete() {
    for (group, format) in [("v2", "zarr2"), ("v2", "nczarr"), ("v3", "zarr3")] {
        let directory = Temporary::new();
        groups(&directory);
        // A directory that is no group yet.
        std::fs::create_dir(directory.join(group).join("plain")).unwrap();
        let at = format!("@/{group}");
        let names = ["y", "in/y", "deep/er/y", "in/deep/er/y", "plain/y"];
        for name in names.into_iter().chain(["in/y"]) {
            let mut arguments = vec!["copy", "data/coads_sst.nc", "TIME", &at, "-n", name, "-f", format, "-c", "zlib"];
            arguments.extend(directory.join(group).join(name).exists().then_some("--force"));
            run_at(&directory, &arguments).text();
        }
        let path = directory.join(group);
        let nodes = list(&open_storage(&path).unwrap(), "", true).unwrap();
        let all = [
            "",
            "deep",
            "deep/er",
            "deep/er/y",
            "in",
            "in/deep",
            "in/deep/er",
            "in/deep/er/y",
            "in/y",
            "plain",
            "plain/y",
            "y",
        ];
        assert_eq!(nodes.iter().map(nczchunk::Node::name).collect::<Vec<_>>(), all);
        assert!(names.iter().all(|name| open(&path, name).variable().dimensions()[0].len() == 12));
        // The consolidated metadata do not have them, and are gone; attributes are kept.
        assert!(!path.join(".zmetadata").exists());
        let text = std::fs::read_to_string(path.join("zarr.json")).unwrap_or_default();
        assert!(!text.contains("consolidated") && (format != "zarr3" || text.contains("\"a\"")), "{text}");
        let others = std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let others: Vec<String> = others.filter(|name| name.ends_with(".partial") || name.ends_with(".old")).collect();
        assert_eq!(others, [""; 0]);
    }
}

/// Begins to copy many small chunks, waits until some of the copy is there, and lets `appear` make something meanwhile;
/// returns what the program says.
#[cfg(unix)]
fn copied_while(directory: &Path, arguments: &[&str], appear: impl FnOnce()) -> super::Ran {
    let before = tree(directory);
    let arguments: Vec<String> =
        arguments.iter().map(|argument| argument.replace('@', directory.to_str().unwrap())).collect();
    let mut child = super::command()
        .args(arguments)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    while tree(directory).keys().all(|path| before.contains_key(path)) {
        assert!(child.try_wait().unwrap().is_none(), "it was done before anything could be made");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    appear();
    assert!(child.try_wait().unwrap().is_none(), "it was done before something was made");
    super::Ran::of(child.wait_with_output().unwrap())
}

#[cfg(unix)]
#[test]
fn what_appears_while_a_copy_is_made_is_not_replaced() {
    let array = ["copy", "data/coads_sst.zarr", "--codec", "none"];
    let group = ["copy", "data/coads_sst.nc", "--codec", "none"];
    for (arguments, destination, made) in [
        (&array[..], &["@/x"][..], "x"),
        (&array, &["@/x", "--force"], "x"),
        (&array, &["@/x.zip"], "x.zip"),
        (&array, &["@/x.zip", "--force"], "x.zip"),
        (&array, &["@/v3", "--name", "y"], "v3/y"),
        (&array, &["@/v3", "--name", "in/deep/y"], "v3/in/deep/y"),
        (&group, &["@/x"], "x"),
        (&group, &["@/x.zip"], "x.zip"),
    ] {
        let directory = Temporary::new();
        groups(&directory);
        let mut expected = tree(&directory);
        let path = directory.join(made);
        let of = if made.ends_with(".zip") { path.clone() } else { path.join("notes.txt") };
        // Entries of a zip file are written faster than files.
        let chunks = match (arguments == array, made.ends_with(".zip")) {
            (true, is_zip) => ["--chunks", if is_zip { "1,2,2" } else { "1,8,8" }],
            (false, is_zip) => {
                ["--chunks", if is_zip { "TIME=1,COADSY=2,COADSX=2" } else { "TIME=1,COADSY=8,COADSX=8" }]
            }
        };
        let ran = copied_while(&directory, &[arguments, destination, &chunks].concat(), || {
            std::fs::create_dir_all(of.parent().unwrap()).unwrap();
            std::fs::write(&of, "mine").unwrap();
        });
        let message = ran.message(1);
        assert!(message.contains("while the copy was made"), "{destination:?} {message}");
        expected.insert(of, Some(b"mine".to_vec()));
        if !made.ends_with(".zip") {
            expected.insert(path, None);
            expected.extend((made == "v3/in/deep/y").then(|| (directory.join("v3/in/deep"), None)));
        }
        assert!(tree(&directory) == expected, "{destination:?} {:?}", tree(&directory).keys());
    }
}

/// As the library does not overwrite them.
#[test]
fn what_belongs_to_no_array_is_not_replaced_with_it() {
    for other in ["notes.txt", "sub/f", "c/x", "c/0/0/x"] {
        let directory = Temporary::new();
        run_at(&directory, &["copy", "data/coads_sst.zarr", "@/x"]).text();
        run_at(&directory, &["copy", "data/coads_sst.nc", "SST", "@/g", "-n", "a/x"]).text();
        for (above, destination) in [("x", &["@/x"][..]), ("g/a/x", &["@/g", "-n", "a/x"])] {
            let path = directory.join(above).join(other);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "mine").unwrap();
            let before = tree(&directory);
            let arguments = [&["copy", "data/coads_sst.zarr", "--force"], destination].concat();
            let message = run_at(&directory, &arguments).message(1);
            let first = if other == "sub/f" { "sub" } else { other };
            assert!(message.contains(above) && message.contains(first), "{message}");
            assert!(tree(&directory) == before, "{above} {other}");
            std::fs::remove_file(&path).unwrap();
            if other == "sub/f" {
                std::fs::remove_dir(path.parent().unwrap()).unwrap();
            }
            run_at(&directory, &arguments).text();
        }
    }
}

/// Neither is what has a name that no object can have.
#[cfg(target_os = "linux")]
#[test]
fn what_has_another_name_is_not_replaced_with_an_array() {
    use std::os::unix::ffi::OsStrExt;
    let directory = Temporary::new();
    let force = ["copy", "data/coads_sst.zarr", "@/x", "--force"];
    run_at(&directory, &["copy", "data/coads_sst.zarr", "@/x"]).text();
    std::fs::write(directory.join("x/c/.0.17.3.partial"), "killed").unwrap();
    for (other, shown) in [(&b"r\xe9s.txt"[..], "r\u{fffd}s.txt"), (b"a\\b.txt", "a\\b.txt"), (b"d\xe9/f", "d\u{fffd}")]
    {
        let path = directory.join("x").join(std::ffi::OsStr::from_bytes(other));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "mine").unwrap();
        let before = tree(&directory);
        let message = run_at(&directory, &force).message(1);
        assert!(message.contains(shown), "{message}");
        assert!(tree(&directory) == before, "{shown}");
        std::fs::remove_file(&path).unwrap();
        if !path.parent().unwrap().ends_with("x") {
            std::fs::remove_dir(path.parent().unwrap()).unwrap();
        }
    }
    run_at(&directory, &force).text();
}

#[test]
fn zip_files_are_replaced_if_they_have_an_array() {
    let directory = Temporary::new();
    let force = ["copy", "data/coads_sst.zarr", "@/x.zip", "--force"];
    let array = directory.join("x.zip");
    run_at(&directory, &["copy", "data/coads_sst.zarr", "@/x.zip"]).text();
    run_at(&directory, &["copy", "data/coads_sst.nc", "TIME", "@/named.zip", "-f", "nczarr"]).text();
    let whole = std::fs::read(&array).unwrap();
    // A group without arrays, and an array with something else beside it.
    let group = Storage::new(ZipWriter::create(directory.join("group.zip")).unwrap()).unwrap();
    nczchunk::create_group(&group, "", ArrayFormat::ZarrV3, "", &[]).unwrap();
    group.finish().unwrap();
    let notes = Storage::new(ZipWriter::create(directory.join("notes.zip")).unwrap()).unwrap();
    Array::create_in(&notes, "", &Description::new(&[2], ElementType::Int)).unwrap();
    notes.write("notes.txt", b"mine").unwrap();
    notes.finish().unwrap();
    // The same where the file itself is no group.
    let loose = Storage::new(ZipWriter::create(directory.join("loose.zip")).unwrap()).unwrap();
    let document = r#"{"zarr_format":2,"shape":[2],"chunks":[2],"dtype":"<i4","compressor":null,"fill_value":0,
        "order":"C","filters":null}"#;
    loose.write("a/.zarray", document.as_bytes()).unwrap();
    loose.write("notes.txt", b"mine").unwrap();
    loose.finish().unwrap();
    std::fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/../data/coads_sst.nc"), directory.join("netcdf.zip")).unwrap();
    std::fs::write(directory.join("photos.zip"), "mine").unwrap();
    std::fs::create_dir(directory.join("directory.zip")).unwrap();
    let before = tree(&directory);
    for (name, words) in [
        ("group.zip", "no array"),
        ("notes.zip", "notes.txt"),
        ("loose.zip", "no array"),
        ("netcdf.zip", "no array"),
        ("photos.zip", "no array"),
        ("directory.zip", "no array"),
    ] {
        let path = format!("@/{name}");
        let message = run_at(&directory, &[&force[..2], &[&path, "--force"]].concat()).message(1);
        assert!(message.contains(name) && message.contains(words), "{message}");
    }
    // A whole group replaces none.
    let message = run_at(&directory, &["copy", "data/coads_sst.nc", "@/x.zip", "--force"]).message(1);
    assert!(message.contains("x.zip: this exists"), "{message}");
    assert!(tree(&directory) == before, "{:?}", tree(&directory).keys());
    run_at(&directory, &[&force[..], &["-s", "0"]].concat()).text();
    assert!(std::fs::read(&array).unwrap() != whole);
    run_at(&directory, &["copy", "data/coads_sst.zarr", "@/named.zip", "--force"]).text();
    assert_eq!(open(&directory.join("named.zip"), "").variable().rank(), 3);
}

/// The grid has more chunks than a number of 64 bits counts, and two of them are stored.
#[test]
fn strings_of_a_huge_grid_are_copied() {
    let directory = Temporary::new();
    let description = Description::new(&[1 << 33, 1 << 33], ElementType::String).with_chunk_shape(&[2, 2]);
    let array = Array::create(&*directory, "a", &description).unwrap();
    let (first, far) = ([[5, 7], [1, 1]], [[1 << 32, 3 << 31], [1, 2]]);
    array.write_strings(&Hyperslab::new(&first[0], &first[1]), &["one"]).unwrap();
    array.write_strings(&Hyperslab::new(&far[0], &far[1]), &["two", "three"]).unwrap();
    for (name, arguments) in [("b", &[][..]), ("c", &["-f", "zarr2"]), ("d", &["--chunks", "3,1"])] {
        let text = run_at(&directory, &[&["copy", "@", "a", &format!("@/{name}")], arguments].concat()).text();
        assert!(text.starts_with("copied "), "{text}");
        let copy = open(&directory, name);
        let read = |[start, count]: [[usize; 2]; 2]| copy.read_strings(&Hyperslab::new(&start, &count)).unwrap();
        assert_eq!((read(first), read(far)), (vec!["one".to_owned()], vec!["two".to_owned(), "three".to_owned()]));
    }
    // Every other element along the first dimension, from the first one that is there.
    run_at(&directory, &["copy", "@", "a", "@/e", "-s", "5::3,7:"]).text();
    let copy = open(&directory, "e");
    assert_eq!(copy.read_strings(&Hyperslab::new(&[0, 0], &[1, 1])).unwrap(), ["one"]);
    assert_eq!(copy.read_strings(&Hyperslab::new(&[((1 << 32) - 4) / 3, 3 << 31], &[1, 1])).unwrap().len(), 1);
}

#[test]
fn names_of_dimensions_that_are_lost_are_told() {
    let names = ["x", ""];
    let description = Description::new(&[1, 2], ElementType::Int).with_dimension_names(&names);
    let directory = stored(&description, &[1i32, 2]);
    let text = run_at(&directory, &["copy", "@", "a", "@/b", "--format", "zarr2"]).text();
    assert!(text.ends_with("\nnot kept: name of dimension x; --format zarr3 keeps it (in a)\n"), "{text}");
    let text = run_at(&directory, &["copy", "@", "a", "@/c"]).text();
    assert!(!text.contains("not kept"), "{text}");
}

/// Of many arrays the one that cannot be is named.
#[test]
fn an_array_of_a_group_that_is_refused_is_named() {
    let description = Description::new(&[2], ElementType::Int).with_dimension_names(&["x"]);
    let directory = stored(&description.with_codecs(&[("gzip", "")]), &[1i32, 2]);
    let message = run_at(&directory, &["copy", "@", "@/c", "--format", "nczarr"]).message(1);
    assert!(message.starts_with("nczchunk: a cannot be created: gzip: not supported: "), "{message}");
}

/// In Zarr v3 `_FillValue` is what xarray reads of the array's type, and what becomes of it otherwise is told.
#[test]
fn fill_values_are_those_of_the_array_in_zarr_v3() {
    let copied = |element: ElementType, value: &str| {
        let json = format!(r#"{{"a":1,"_FillValue":{value}}}"#);
        let description = Description::new(&[2], element).with_format(ArrayFormat::ZarrV2).with_attributes_json(&json);
        let directory = Temporary::new();
        Array::create(directory.join("x"), "a", &description.with_fill_value(&[b'x'; 8][..element.size()])).unwrap();
        let text = run_at(&directory, &["copy", "@/x", "a", "@/y"]).text();
        let json = open(&directory.join("y"), "").attributes_json().to_owned();
        (json, text.lines().find(|line| line.starts_with("not kept: attribute")).map(str::to_owned))
    };
    for (element, value, due) in [
        (ElementType::Short, "-9999.0", "-9999"),
        (ElementType::Short, "-9999.5", "-9999.5"),
        (ElementType::Short, "1e20", "1e20"),
        (ElementType::Short, "-7", "-7"),
        (ElementType::UInt64, "18446744073709551615", "18446744073709551615"),
        (ElementType::Float, "-9999", r#""AAAAAICHw8A=""#),
        (ElementType::Double, "0.5", r#""AAAAAAAA4D8=""#),
        (ElementType::Double, "NaN", r#""AAAAAAAA+H8=""#),
        (ElementType::Half, "0.5", r#""AAAAAAAA4D8=""#),
        (ElementType::Double, "[]", "[]"),
        (ElementType::Float, "[1.5,2.5]", "[1.5,2.5]"),
    ] {
        assert_eq!(copied(element, value), (format!(r#"{{"a":1,"_FillValue":{due}}}"#), None), "{element} {value}");
    }
    // The fill value in the metadata is that of texts.
    let text = ElementType::Text { len: 1 };
    let lost = "not kept: attribute _FillValue, which the copy does not have (in a)".to_owned();
    assert_eq!(copied(text, r#""x""#), (r#"{"a":1}"#.to_owned(), None));
    assert_eq!(copied(text, r#""y""#), (r#"{"a":1}"#.to_owned(), Some(lost)));
}

/// The types in a filter's configuration get the byte order of the copy.
#[test]
fn filters_of_another_byte_order_keep_their_values() {
    let values: Vec<i32> = (0..6).map(|i| i * i * 50 - i).collect();
    for (order, from, to) in [(">", Endian::Big, "native"), ("<", Endian::Little, "big")] {
        let filter = format!(r#"{{"dtype":"{order}i4","astype":"{order}i2"}}"#);
        let codecs = [("delta", filter.as_str())];
        let description = Description::new(&[6], ElementType::Int).with_format(ArrayFormat::ZarrV2);
        let source = stored(&description.with_endian(from).with_codecs(&codecs), &values);
        for command in ["copy", "rechunk"] {
            for format in ["zarr2", "zarr3"] {
                let copy = format!("@/{command}-{format}");
                let arguments = [command, "@", "a", &copy, "--format", format, "--endian", to, "--chunks", "4"];
                run_at(&source, &arguments).text();
                let copied = open(&source.join(format!("{command}-{format}")), "");
                assert_eq!(copied.codecs().unwrap()[0].0.rsplit('.').next(), Some("delta"));
                assert_eq!(copied.read::<i32>(&Hyperslab::all()).unwrap(), values, "{command} {format} {to}");
            }
        }
    }
}

#[test]
fn attributes_that_change_are_told() {
    let json =
        r#"{"flag":true,"nested":{"a":[1]},"mixed":[1,"x"],"none":null,"n":1.50,"one":[7],"list":[1,2.5],"s":"a,\"b"}"#;
    let description = Description::new(&[2], ElementType::Int).with_dimension_names(&["x"]);
    let directory = stored(&description.with_attributes_json(json), &[1i32, 2]);
    let storage = nczchunk::create_storage(&directory.join("g")).unwrap();
    nczchunk::create_group(&storage, "", ArrayFormat::ZarrV3, r#"{"flag":false,"title":"x"}"#, &[]).unwrap();
    let told = |arguments: &[&str]| -> Vec<String> {
        let text = run_at(&directory, arguments).text();
        text.lines().filter(|line| line.starts_with("not kept: ")).map(str::to_owned).collect()
    };
    let changed =
        |name: &str, of: &str| format!("not kept: attribute {name}, which has another value in the copy (in {of})");
    let due = ["flag", "mixed", "nested", "none"].map(|name| changed(name, "a"));
    assert_eq!(told(&["copy", "@", "a", "@/n", "-f", "nczarr"]), due);
    assert_eq!(told(&["copy", "@/g", "@/h", "-f", "nczarr"]), [changed("flag", "/")]);
    for format in ["zarr2", "zarr3"] {
        assert_eq!(told(&["copy", "@", "a", &format!("@/{format}"), "-f", format]), [""; 0]);
    }
    // A file of netCDF classic with the attribute `place` of a variable `v` in Latin-1.
    let file = classic(ElementType::Int, &[("place", b"K\xf6ln")], &[0, 0, 0, 1, 0, 0, 0, 2]);
    std::fs::write(directory.join("latin.nc"), file).unwrap();
    for format in ["zarr2", "zarr3", "nczarr"] {
        let told = told(&["copy", "@/latin.nc", "v", &format!("@/latin.{format}"), "-f", format]);
        assert_eq!(told, ["not kept: attribute place, a text that is not UTF-8 (in v)"], "{format}");
    }
}

/// Links of HDF5 files to other files are followed where the user allows it.
#[test]
fn links_to_other_files_are_copied_if_that_is_allowed() {
    let directory = Temporary::new();
    let copy = ["copy", "tests/vectors/links/sub/third.h5", "@/out.zarr"];
    let message = run_at(&directory, &copy).message(1);
    let words = "up: link to /y in ../other.h5: not supported: an HDF5 link to another file, unless";
    assert!(message.contains(words), "{message}");
    assert!(directory.names().is_empty());
    run_at(&directory, &[&["--external-links"], &copy[..]].concat()).text();
    let storage = open_storage(&directory.join("out.zarr")).unwrap();
    let read = |name: &str| Array::open_in(&storage, name, Access::Read).unwrap().read::<i64>(&Hyperslab::all());
    assert_eq!(read("up").unwrap(), [0, 1, 2, 3, 4]);
    let text = run_at(&directory, &["list", "tests/vectors/links/main.h5", "group", "--external-links"]).text();
    assert!(text.contains("group/x") && text.contains("float32"), "{text}");
}
