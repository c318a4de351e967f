//! `list` and `info`.

use nczchunk::{Array, ArrayFormat, Description, ElementType, Hyperslab};

use super::copy::hdf5;
use super::{Temporary, run, run_at};

#[test]
fn a_file_is_listed() {
    let text = run(&["list", "data/coads_sst.nc"]).text();
    assert_eq!(
        text,
        "/       group    1 attribute\n\
         TIME    float64  TIME=12 (unlimited)                           in chunks of 12\n\
         COADSY  float64  COADSY=90                                     in chunks of 90\n\
         COADSX  float64  COADSX=180                                    in chunks of 180\n\
         SST     float32  TIME=12 (unlimited) x COADSY=90 x COADSX=180  in chunks of 12 x 90 x 180\n"
    );
    let text = run(&["list", "-a", "data/coads_sst.nc", "COADSY"]).text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "COADSY  float64  COADSY=90  in chunks of 90");
    assert_eq!(lines[1..], ["    units = \"degrees_north\"", "    point_spacing = \"even\""]);
}

#[test]
fn groups_are_listed_with_what_is_in_them() {
    let directory = Temporary::new();
    let sharded = Description::new(&[4, 6], ElementType::Short).with_chunk_shape(&[1, 2]).with_shard_shape(&[2, 6]);
    Array::create(&*directory, "ocean/deep/t", &sharded).unwrap();
    Array::create(&*directory, "n", &Description::new(&[], ElementType::Char)).unwrap();
    std::fs::create_dir(directory.join("broken")).unwrap();
    std::fs::write(directory.join("broken/zarr.json"), r#"{"zarr_format":3,"node_type":"array","shape":[1]}"#).unwrap();
    let text = run_at(&directory, &["list", "@"]).text();
    let names: Vec<&str> = text.lines().map(|line| line.split("  ").next().unwrap()).collect();
    assert_eq!(names, ["/", "broken", "n", "ocean", "ocean/deep", "ocean/deep/t"]);
    assert!(text.contains("ocean/deep/t  int16  4 x 6"), "{text}");
    assert!(text.contains("in chunks of 1 x 2 in shards of 2 x 6"), "{text}");
    assert!(text.contains("broken        ?      "), "{text}");
    let text = run_at(&directory, &["list", "@", "ocean", "--shallow"]).text();
    assert_eq!(text, "ocean       group  0 attributes\nocean/deep  group  0 attributes\n");
    assert!(run_at(&directory, &["list", "@", "no"]).message(1).contains("no such group"));
}

/// What no array can be called may be one all the same, of a program that has written it otherwise.
#[cfg(target_os = "linux")]
#[test]
fn what_no_array_can_be_called_is_noted() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let directory = Temporary::new();
    Array::create(&*directory, "g/a", &Description::new(&[1], ElementType::Byte)).unwrap();
    let names: [&[u8]; 2] = [b"g/r\xe9s", b"g/back\\slash"];
    for name in names {
        std::fs::create_dir(directory.join(OsStr::from_bytes(name))).unwrap();
    }
    std::os::unix::fs::symlink("nowhere", directory.join("g/link")).unwrap();
    let path = directory.display();
    let why = "this is left out, because no array or group can have such a name";
    let notes = format!("nczchunk: note: {path}: g/back\\slash: {why}\nnczchunk: note: {path}: g/r\u{fffd}s: {why}\n");
    let copied = Temporary::new();
    let copy = copied.join("copied").display().to_string();
    for arguments in [&["list", "@"][..], &["check", "@"], &["copy", "@", &copy]] {
        let ran = run_at(&directory, arguments);
        assert_eq!((ran.code, &*ran.err), (Some(0), &*notes), "{arguments:?}");
    }
    run_at(&directory, &["list", "@", "--shallow"]).text();
}

#[test]
fn all_is_told_of_an_array() {
    let text = run(&["info", "data/coads_sst.zarr"]).text();
    assert_eq!(
        text,
        "data/coads_sst.zarr\n  \
         format      Zarr v2\n  \
         type        float32, little-endian\n  \
         shape       TIME=12 x COADSY=90 x COADSX=180: 194400 elements, 759.4 KiB\n  \
         chunks      5 x 40 x 50, 39.1 KiB each: 36 chunks in a grid of 3 x 3 x 4\n  \
         codecs      zstd (level 3)\n  \
         fill value  -1e34\n  \
         stored      368.3 KiB in 34 chunks, 2 absent, 48.5 % of the elements' bytes\n  \
         attributes\n    \
         long_name = \"SEA SURFACE TEMPERATURE\"\n    \
         units = \"Deg C\"\n    \
         missing_value = -1e34\n"
    );
    let stored: u64 = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../data/coads_sst.zarr"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| !entry.file_name().to_string_lossy().starts_with(".z"))
        .map(|entry| entry.metadata().unwrap().len())
        .sum();
    assert!(text.contains(&format!("{:.1} KiB in 34", stored as f64 / 1024.0)), "{stored}");
}

#[test]
fn attributes_that_are_left_out_are_told() {
    let directory = Temporary::new();
    std::fs::write(directory.join("a.h5"), hdf5("attributes.h5")).unwrap();
    std::fs::write(directory.join(".zgroup"), r#"{"zarr_format":2}"#).unwrap();
    Array::create(&*directory, "a", &Description::new(&[2], ElementType::Int).with_format(ArrayFormat::ZarrV2))
        .unwrap();
    std::fs::write(directory.join("a/.zattrs"), "[1]").unwrap();
    let opaque = "opaque: not supported: attributes of compound, array and opaque types";
    for arguments in [["info", "@/a.h5", "x"], ["list", "-a", "@/a.h5"]] {
        let text = run_at(&directory, &arguments).text();
        assert!(text.contains("    units = \"K\"\n"), "{text}");
        assert!(text.contains(&format!("\n    {opaque}\n")), "{text}");
        assert!(!text.contains("REFERENCE_LIST"), "{text}");
    }
    for arguments in [["info", "@", "a"], ["list", "-a", "@"]] {
        let text = run_at(&directory, &arguments).text();
        assert!(text.contains("\n    .zattrs: $: "), "{text}");
    }
    let of_info = json(&run_at(&directory, &["info", "@/a.h5", "x", "--json"]).text());
    let of_list = json(&run_at(&directory, &["list", "@/a.h5", "x", "--json"]).text());
    for document in [&of_info, &of_list["nodes"][0]] {
        let left_out = document["left_out"].as_array().unwrap();
        assert!(left_out.len() == 7 && left_out.contains(&opaque.into()), "{document}");
    }
    let document = json(&run_at(&directory, &["info", "@", "a", "--json"]).text());
    assert!(document["left_out"][0].as_str().unwrap().starts_with(".zattrs: $: "), "{document}");
    assert_eq!(run_at(&directory, &["dump", "@/a.h5", "x"]).text(), " x =\n  1, 2 ;\n");
}

#[test]
fn records_shards_and_texts_are_told() {
    let text = run(&["info", "data/coads_sst.nc", "SST"]).text();
    assert!(text.contains("  type        float32, big-endian\n"), "{text}");
    assert!(text.contains("TIME=12 (unlimited) x COADSY=90"), "{text}");
    assert!(text.contains("  stored      759.4 KiB in 1 chunk, 100.0 %"), "{text}");

    let directory = Temporary::new();
    let sharded = Description::new(&[4, 6], ElementType::Double)
        .with_chunk_shape(&[2, 3])
        .with_shard_shape(&[4, 6])
        .with_codecs(&[("shuffle", ""), ("gzip", r#"{"level": 2}"#)]);
    Array::create(&*directory, "s", &sharded).unwrap();
    let text = run_at(&directory, &["info", "@", "s"]).text();
    assert!(text.contains("  shards      4 x 6\n  codecs      shuffle (elementsize 8), gzip (level 2)\n"), "{text}");
    assert!(text.contains("  stored      0 bytes in 0 chunks, 4 absent, 0.0 %"), "{text}");

    let texts = Description::new(&[2], ElementType::String).with_format(ArrayFormat::ZarrV2).with_fill_value(b"a\"b");
    let array = Array::create(directory.join("v2"), "t", &texts).unwrap();
    array.write_strings(&Hyperslab::all(), &["x", "y"]).unwrap();
    let text = run_at(&directory, &["info", "@/v2"]).text();
    assert!(text.contains("  type        string\n  shape       2: 2 elements\n"), "{text}");
    assert!(text.contains("  fill value  \"a\\\"b\"\n"), "{text}");
}

#[test]
fn cfdb_files_are_told() {
    let text = run(&["list", "tests/vectors/small.cfdb"]).text();
    let name = text.lines().nth(1).unwrap().split("  ").next().unwrap();
    let text = run(&["info", "tests/vectors/small.cfdb", name]).text();
    assert!(text.contains("  format      cfdb\n"), "{text}");
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_listing_is_one_document() {
    let document = json(&run(&["list", "data/coads_sst.nc", "--json"]).text());
    assert_eq!(document["path"], "data/coads_sst.nc");
    let nodes = document["nodes"].as_array().unwrap();
    assert_eq!((nodes.len(), &nodes[0]["kind"], &nodes[0]["name"]), (5, &"group".into(), &"".into()));
    assert!(nodes[0]["attributes"]["title"].is_string());
    let expected = serde_json::json!({
        "name": "SST", "kind": "array", "type": "float32", "shape": [12, 90, 180],
        "dimensions": ["TIME", "COADSY", "COADSX"], "unlimited": [true, false, false], "chunks": [12, 90, 180],
        "shards": null, "attributes": nodes[4]["attributes"], "left_out": [],
    });
    assert_eq!((&nodes[4], &nodes[4]["attributes"]["units"]), (&expected, &"Deg C".into()));
    let directory = Temporary::new();
    std::fs::write(directory.join(".zgroup"), r#"{"zarr_format":2}"#).unwrap();
    std::fs::create_dir(directory.join("a")).unwrap();
    std::fs::write(directory.join("a/zarr.json"), r#"{"zarr_format":3,"node_type":"array","shape":[1]}"#).unwrap();
    let document = json(&run_at(&directory, &["list", "@", "--json"]).text());
    let node = &document["nodes"][1];
    assert_eq!((&node["kind"], node["error"].is_string()), (&"unreadable".into(), true));
}

#[test]
fn all_of_an_array_is_one_document() {
    let document = json(&run(&["info", "data/coads_sst.zarr", "--json"]).text());
    let stored = document["stored"]["bytes"].as_u64().unwrap();
    let expected = serde_json::json!({
        "path": "data/coads_sst.zarr", "name": "", "format": "Zarr v2", "type": "float32", "byte_order": "little",
        "shape": [12, 90, 180], "dimensions": ["TIME", "COADSY", "COADSX"], "unlimited": [false, false, false],
        "chunks": [5, 40, 50], "chunk_lengths": null, "shards": null,
        "codecs": [{"name": "zstd", "configuration": {"level": 3}}],
        "fill_value": -1e34, "stored": {"bytes": stored, "present": 34, "absent": 2},
        "attributes": document["attributes"], "left_out": [],
    });
    assert_eq!(document, expected);
    assert_eq!(document["attributes"]["units"], "Deg C");
    let directory = Temporary::new();
    let fill_value = f64::NAN.to_ne_bytes();
    let nan = Description::new(&[2], ElementType::Double).with_fill_value(&fill_value);
    let nan = nan.with_attributes_json(r#"{"valid":[NaN,1]}"#);
    Array::create(&*directory, "a", &nan).unwrap();
    let document = json(&run_at(&directory, &["info", "@", "a", "--json"]).text());
    assert_eq!(document["attributes"]["valid"], serde_json::json!(["NaN", 1]));
    assert!(document["fill_value"].is_string());
}
