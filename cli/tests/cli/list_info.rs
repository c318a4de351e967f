//! `list` and `info`.

use nczchunk::{Array, ArrayFormat, Description, ElementType, Hyperslab};

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
    assert!(run_at(&directory, &["list", "@", "no"]).message(1).contains("there is no such group"));
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
