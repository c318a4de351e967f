//! Every row of the facts observed from other software, in tests/facts/. Each test counts the rows it has checked.

use nczchunk::chunkshape::{self, NETCDF_TARGET_BYTES, RECHUNKIT_TARGET_BYTES};
use nczchunk::classic::{self, ClassicVariable};
use nczchunk::key::{KeyStyle, Separator};
use nczchunk::{Dimension, Projections, Slice};
use serde_json::Value;

fn facts(name: &str) -> Value {
    let path = format!("{}/tests/facts/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn list<T: TryFrom<i64, Error: std::fmt::Debug>>(value: &Value) -> Vec<T> {
    value.as_array().unwrap().iter().map(|n| T::try_from(n.as_i64().unwrap()).unwrap()).collect()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

fn rows(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

#[test]
fn chunk_keys() {
    let facts = facts("chunk_keys");
    let mut checked = 0;
    for row in rows(&facts["rows"]) {
        if row["style"] == "cfdb" {
            cfdb_keys(row);
        } else {
            let chunk: Vec<isize> = list(&row["chunk"]);
            let key = zarr_style(row["style"].as_str().unwrap()).key(&chunk).unwrap();
            assert_eq!(key.to_string(), row["key"], "{row}");
        }
        checked += 1;
    }
    assert_eq!((checked, rows(&facts["rows"]).len()), (11, 11));
}

fn zarr_style(words: &str) -> KeyStyle<'static> {
    let (style, rest) = words.split_once(", ").unwrap();
    // A row of rank 0 names no separator, and needs none.
    let separator = if rest.contains('.') { Separator::Dot } else { Separator::Slash };
    match style {
        "zarr v2" | "zarr v3 with v2 encoding" => KeyStyle::ZarrV2(separator),
        "zarr v3 default" => KeyStyle::ZarrV3(separator),
        _ => panic!("{style}"),
    }
}

/// A cfdb row tells the key of one chunk, of the chunk with element (0, 0), or of all chunks that a slab touches.
fn cfdb_keys(row: &Value) {
    let chunklens: Vec<usize> = list(&row["chunklens"]);
    let key = |chunk: &[isize]| {
        let style = KeyStyle::Cfdb { var: row["var"].as_str().unwrap(), chunklens: &chunklens };
        style.key(chunk).unwrap().to_string()
    };
    let chunk_of = |d: usize, element: i64| {
        let global = element + row["origin"][d].as_i64().unwrap();
        isize::try_from(global.div_euclid(chunklens[d] as i64)).unwrap()
    };

    if let Some(expected) = row.get("key") {
        assert_eq!(key(&list::<isize>(&row["chunk"])), *expected, "{row}");
    } else if let Some(expected) = row.get("first chunk of row 0") {
        assert_eq!(key(&[chunk_of(0, 0), chunk_of(1, 0)]), *expected, "{row}");
    } else {
        assert_eq!(row["slab"], "[2:9,1:5]");
        let mut keys = Vec::new();
        for i in chunk_of(0, 2)..=chunk_of(0, 8) {
            for j in chunk_of(1, 1)..=chunk_of(1, 4) {
                keys.push(key(&[i, j]));
            }
        }
        let expected: Vec<&str> = rows(&row["chunks"]).iter().map(|chunk| chunk[0].as_str().unwrap()).collect();
        assert_eq!(keys, expected, "{row}");
    }
}

#[test]
fn chunkshape_netcdf() {
    let facts = facts("chunkshape_netcdf");
    let (mut checked, mut left_out) = (0, 0);
    let is_mingw = cfg!(all(windows, target_env = "gnu"));
    for row in rows(&facts["rows"]) {
        // One has 2^32 elements, which a machine with 32 bits cannot count. Another one needs exact powers, which MinGW
        // does not have in threads other than the first one.
        if usize::BITS < 64 && row[0] == serde_json::json!([1u64 << 32])
            || is_mingw && row[0] == serde_json::json!([0, 0, 0])
        {
            left_out += 1;
            continue;
        }
        let (dimlens, expected): (Vec<usize>, Vec<usize>) = (list(&row[0]), list(&row[2]));
        let mut chunklens = vec![0; dimlens.len()];
        chunkshape::netcdf(&dimlens, number(&row[1]) as usize, NETCDF_TARGET_BYTES, &mut chunklens).unwrap();
        assert_eq!(chunklens, expected, "{row}");
        checked += 1;
    }
    let due = if usize::BITS < 64 || is_mingw { (16, 1) } else { (17, 0) };
    assert_eq!(((checked, left_out), rows(&facts["rows"]).len()), (due, 17));
}

#[test]
fn chunkshape_h5py() {
    let facts = facts("chunkshape_h5py");
    let mut checked = 0;
    for row in rows(&facts["rows"]) {
        let dimlens: Vec<usize> = list(&row[0]);
        let mut chunklens = vec![0; dimlens.len()];
        chunkshape::h5py(&dimlens, number(&row[1]) as usize, &mut chunklens).unwrap();
        assert_eq!(chunklens, list::<usize>(&row[2]), "{row}");
        checked += 1;
    }
    assert_eq!((checked, rows(&facts["rows"]).len()), (195, 195));
}

#[test]
fn chunkshape_rechunkit() {
    let facts = facts("chunkshape_rechunkit");
    let check = |row: &Value, target_bytes: usize, expected: &Value| {
        let dimlens: Vec<usize> = list(&row[0]);
        let mut chunklens = vec![0; dimlens.len()];
        chunkshape::rechunkit(&dimlens, number(&row[1]) as usize, target_bytes, &mut chunklens).unwrap();
        assert_eq!(chunklens, list::<usize>(expected), "{row}");
    };
    let mut checked = 0;
    for row in rows(&facts["rows"]) {
        check(row, RECHUNKIT_TARGET_BYTES, &row[2]);
        checked += 1;
    }
    for row in rows(&facts["rows_with_target"]) {
        check(row, number(&row[2]) as usize, &row[3]);
        checked += 1;
    }
    assert_eq!((checked, rows(&facts["rows"]).len() + rows(&facts["rows_with_target"]).len()), (18, 18));
}

#[test]
fn classic_offsets() {
    let facts = facts("classic_offsets");
    let (mut files, mut offsets) = (0, 0);
    for file in rows(&facts["files"]) {
        offsets += classic_file(file);
        files += 1;
    }
    assert_eq!((files, rows(&facts["files"]).len(), offsets), (5, 5, 36));
}

/// Checks the record size, the sizes, the offsets and the end of a file; says how many offsets there were.
fn classic_file(file: &Value) -> usize {
    let shapes: Vec<Vec<usize>> = rows(&file["vars"]).iter().map(|var| list(&var["dimlens"])).collect();
    let variables: Vec<ClassicVariable> = rows(&file["vars"])
        .iter()
        .zip(&shapes)
        .map(|(var, dimlens)| ClassicVariable::new(dimlens, number(&var["typesize"]) as usize).unwrap())
        .collect();
    let sizes: Vec<u64> = variables.iter().filter(|v| v.is_record()).map(|v| v.size()).collect();
    let recsize = classic::record_size(&sizes).unwrap();
    assert_eq!(recsize, number(&file["recsize"]), "{file}");

    let mut checked = 0;
    for (var, variable) in rows(&file["vars"]).iter().zip(&variables) {
        assert_eq!(variable.is_record(), var["record"].as_bool().unwrap(), "{var}");
        assert_eq!(variable.padded_size(), number(&var["vsize"]), "{var}");
        for row in rows(&var["offsets"]) {
            let offset = variable.offset(number(&var["begin"]), recsize, &list::<usize>(&row[0])).unwrap();
            assert_eq!(offset, number(&row[1]), "{var}");
            checked += 1;
        }
    }
    let begin_of_records =
        rows(&file["vars"]).iter().filter(|var| var["record"] == true).map(|var| number(&var["begin"]));
    assert_eq!(begin_of_records.min().unwrap() + number(&file["numrecs"]) * recsize, number(&file["length"]), "{file}");
    checked
}

/// The two large files are described in words, so their shapes stand here.
#[test]
fn classic_offsets_above_4_gib() {
    let facts = facts("classic_offsets");
    let [fixed, record] = rows(&facts["large"]) else { panic!("two large files") };

    assert_eq!(fixed["var"], "f8[700000000], fixed, begin 152, stored vsize 4294967295");
    let variable = ClassicVariable::new(&[700_000_000], 8).unwrap();
    let [row] = rows(&fixed["offsets"]) else { panic!("one offset") };
    assert_eq!(variable.offset(152, 0, &list::<usize>(&row[0])).unwrap(), number(&row[1]));

    assert_eq!(record["var"], "record vars tm:f8 (begin 140) and h:f8(t,600000000) (begin 148); recsize 4800000008");
    let (tm, h) = (ClassicVariable::new(&[0], 8).unwrap(), ClassicVariable::new(&[0, 600_000_000], 8).unwrap());
    let recsize = classic::record_size(&[tm.size(), h.size()]).unwrap();
    assert_eq!(recsize, 4_800_000_008);
    assert_eq!(record["offsets"].as_object().unwrap().len(), 2);
    assert_eq!(tm.offset(140, recsize, &[1]).unwrap(), number(&record["offsets"]["tm(1)"]));
    assert_eq!(h.offset(148, recsize, &[1, 7]).unwrap(), number(&record["offsets"]["h(1,7)"]));
}

/// zarr-python calls a chunk complete only under a step of 1; here a chunk is covered when nothing of it is left out,
/// so a chunk with one element is covered under any stride. That is the one difference.
#[test]
fn projections_zarr() {
    let facts = facts("projections_zarr");
    let rows = rows(&facts["rows"]);
    assert_eq!(rows.len(), 9);
    for row in rows {
        let [len, chunklen, start, stop, step] = *list::<usize>(&row[0]) else { panic!("{row}") };
        let count = (stop - start).div_ceil(step);
        let dimension = Dimension::new(len, chunklen).unwrap();
        let slice = Slice::read(len, start, count, step as isize).unwrap();
        let all = Projections::new(&dimension, slice).unwrap();
        let expected = self::rows(&row[1]);
        assert_eq!(all.len(), expected.len(), "{row}");
        for (projection, expected) in all.iter().zip(expected) {
            let [chunk, first, chunk_stop, iopos, iocount, complete] = *list::<usize>(expected) else {
                panic!("{expected}")
            };
            let got = (projection.chunk_index as usize, projection.first, projection.iopos, projection.iocount);
            assert_eq!(got, (chunk, first, iopos, iocount), "{row}");
            assert!((projection.last + 1..=projection.last + step).contains(&chunk_stop), "{row}");
            assert_eq!(all.covers(&projection), complete == 1 || projection.limit == 1, "{row}");
        }
    }
}
