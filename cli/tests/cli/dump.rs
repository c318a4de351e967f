//! `dump`: text, CSV, npy and bytes.

use nczchunk::{Access, Array, ArrayFormat, Description, ElementType, Endian, Hyperslab, Plan, TimeUnit};

use super::{Temporary, classic, run, run_at, sst, sst_of, stored};

/// The header's dictionary and the elements' bytes of a file of numpy's.
fn npy(bytes: &[u8]) -> (String, &[u8]) {
    assert_eq!(bytes[..8], *b"\x93NUMPY\x01\x00");
    let len = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    assert_eq!((10 + len) % 64, 0);
    let header = std::str::from_utf8(&bytes[10..10 + len]).unwrap();
    assert!(header.ends_with('\n'));
    (header.trim_end().to_owned(), &bytes[10 + len..])
}

fn header(descr: &str, shape: &str) -> String {
    format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}")
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|bytes| f32::from_ne_bytes(bytes.try_into().unwrap())).collect()
}

#[test]
fn bytes_are_those_of_the_array() {
    // Little-endian in chunks, and big-endian in records.
    for arguments in [&["data/coads_sst.zarr"][..], &["data/coads_sst.nc", "SST"]] {
        let ran = run(&[&["dump", "--format", "raw"], arguments].concat());
        assert_eq!((ran.code, &*ran.err), (Some(0), ""));
        assert!(floats(&ran.out) == sst());
    }
}

#[test]
fn numpy_loads_a_hyperslab() {
    for arguments in [&["data/coads_sst.zarr"][..], &["data/coads_sst.nc", "SST"]] {
        let ran = run(&[&["dump", "-f", "npy", "-s", "-1,10:30,::3"], arguments].concat());
        let (found, bytes) = npy(&ran.out);
        assert_eq!(found, header("<f4", "(20, 60)"));
        assert_eq!(floats(bytes), sst_of([(11, 12, 1), (10, 30, 1), (0, 180, 3)]));
    }
}

#[test]
fn numpy_loads_other_types() {
    let time = ElementType::Time { unit: TimeUnit::Day, count: 1, is_delta: false };
    let description = Description::new(&[3], time).with_format(ArrayFormat::ZarrV2).with_endian(Endian::Big);
    let days = stored(&description, &[0i64, 18_321, i64::MIN]);
    let ran = run_at(&days, &["dump", "@", "--format=npy"]);
    let (found, bytes) = npy(&ran.out);
    assert_eq!((found, bytes.len()), (header("<M8[D]", "(3,)"), 24));
    assert_eq!(bytes[8..16], 18_321i64.to_ne_bytes());

    let directory = Temporary::new();
    let array = Array::create(&*directory, "", &Description::new(&[3], ElementType::String)).unwrap();
    array.write_strings(&Hyperslab::all(), &["a", "\u{e4}\u{20ac}x", ""]).unwrap();
    let ran = run_at(&directory, &["dump", "@", "--format=npy"]);
    let (found, bytes) = npy(&ran.out);
    assert_eq!(found, header("<U3", "(3,)"));
    let words: Vec<u32> = bytes.chunks_exact(4).map(|word| u32::from_ne_bytes(word.try_into().unwrap())).collect();
    assert_eq!(words, [0x61, 0, 0, 0xe4, 0x20ac, 0x78, 0, 0, 0]);
}

#[test]
fn an_index_alone_drops_its_dimension() {
    for (slab, shape) in [("0,1,2", "()"), ("0:1,1,2", "(1,)"), (":,1,2", "(12,)")] {
        let ran = run(&["dump", "data/coads_sst.zarr", "-f", "npy", "-s", slab]);
        assert_eq!(npy(&ran.out).0, header("<f4", shape));
    }
}

#[test]
fn text_is_in_rows_with_planes() {
    let text = run(&["dump", "data/coads_sst.zarr", "-s", "0:2,40:42,::30"]).text();
    assert_eq!(
        text,
        " coads_sst =\n  \
         // TIME = 0\n  \
         _, 28.279472, 28.791428, 28.560999, 24.149534, _,\n  \
         _, 28.096071, 29.55, 28.509998, 24.157316, _,\n  \
         // TIME = 1\n  \
         _, 28.433626, 28.155117, 28.514286, 25.325613, _,\n  \
         _, 28.044397, _, 28.818325, 25.557884, _ ;\n"
    );
    // What is shown is read as what it was.
    let text = run(&["dump", "data/coads_sst.zarr"]).text();
    let lines = text.lines().filter(|line| !line.contains("//")).skip(1);
    let values: Vec<f32> = lines
        .flat_map(|line| line.split([',', ';', ' ']).filter(|word| !word.is_empty()))
        .map(|word| if word == "_" { -1e34 } else { word.parse().unwrap() })
        .collect();
    assert!(values == sst());
    assert!(text.lines().all(|line| line.len() <= 80));
}

#[test]
fn characters_are_texts_and_texts_are_quoted() {
    let characters =
        stored(&Description::new(&[2, 4], ElementType::Char).with_format(ArrayFormat::ZarrV2), b"ab\0\0\"c\n\0");
    let text = run_at(&characters, &["dump", "@"]).text();
    assert_eq!(text, " a =\n  \"ab\", \"\\\"c\\n\" ;\n");
    let texts = stored(&Description::new(&[2], ElementType::Text { len: 3 }), &[*b"a,b", *b"x\0\0"]);
    assert_eq!(run_at(&texts, &["dump", "@"]).text(), " a =\n  \"a,b\", \"x\" ;\n");
    assert_eq!(run_at(&texts, &["dump", "@", "-f", "csv"]).text(), "dim_0,a\n0,\"a,b\"\n1,x\n");
    assert!(run_at(&texts, &["dump", "@", "-s", "0,0"]).message(2).contains("the array has one dimension"));
}

#[test]
fn csv_has_a_line_for_each_element() {
    let text = run(&["dump", "data/coads_sst.nc", "SST", "--format", "csv", "--slab", "3,-2:,1:180:100"]).text();
    let expected = sst_of([(3, 4, 1), (88, 90, 1), (1, 180, 100)]);
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("TIME,COADSY,COADSX,SST"));
    let found: Vec<&str> = lines.collect();
    let value = |value: f32| if value == -1e34 { String::new() } else { value.to_string() };
    for (i, (line, expected)) in found.iter().zip(&expected).enumerate() {
        assert_eq!(*line, format!("3,{},{},{}", 88 + i / 2, 1 + i % 2 * 100, value(*expected)));
    }
    assert_eq!(found.len(), 4);
}

#[test]
fn zeros_are_values_unless_they_are_said_to_be_none() {
    let zeros = Description::new(&[3], ElementType::Int);
    assert_eq!(run_at(&stored(&zeros, &[0, 1, 0]), &["dump", "@"]).text(), " a =\n  0, 1, 0 ;\n");
    let none = zeros.with_attributes_json(r#"{"missing_value": 0.0}"#);
    assert_eq!(run_at(&stored(&none, &[0, 1, 0]), &["dump", "@"]).text(), " a =\n  _, 1, _ ;\n");
    let nan = Description::new(&[2], ElementType::Double).with_fill_value(const { &f64::NAN.to_ne_bytes() });
    assert_eq!(run_at(&stored(&nan, &[f64::NAN, 0.5]), &["dump", "@"]).text(), " a =\n  _, 0.5 ;\n");
}

#[test]
fn scalars_and_what_is_empty() {
    let scalar = stored(&Description::new(&[], ElementType::Short), &[7i16]);
    assert_eq!(run_at(&scalar, &["dump", "@"]).text(), " a =\n  7 ;\n");
    assert_eq!(run_at(&scalar, &["dump", "@", "-f", "csv"]).text(), "a\n7\n");
    assert_eq!(npy(&run_at(&scalar, &["dump", "@", "-f", "npy"]).out).0, header("<i2", "()"));
    let empty = stored(&Description::new(&[0, 3], ElementType::Short).with_chunk_shape(&[1, 3]), &[0i16; 0]);
    assert_eq!(run_at(&empty, &["dump", "@"]).text(), " a =\n  ;\n");
    assert_eq!(npy(&run_at(&empty, &["dump", "@", "-f", "npy"]).out).0, header("<i2", "(0, 3)"));
}

#[test]
fn a_file_is_there_when_it_is_complete() {
    let directory = Temporary::new();
    let text = run_at(&directory, &["dump", "data/coads_sst.zarr", "-f", "raw", "-o", "@/x"]).text();
    let printed = run(&["dump", "data/coads_sst.zarr", "-f", "raw"]).out;
    assert!(text.is_empty() && std::fs::read(directory.join("x")).unwrap() == printed, "{text}");
    std::fs::remove_file(directory.join("x")).unwrap();
    // A chunk that is broken is found while the file is written.
    let array = directory.join("a");
    std::fs::create_dir(&array).unwrap();
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../data/coads_sst.zarr")).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), array.join(entry.file_name())).unwrap();
    }
    std::fs::write(array.join("2.1.1"), "no zstd").unwrap();
    let message = run_at(&directory, &["dump", "@/a", "-f", "raw", "-o", "@/x"]).message(1);
    assert!(message.starts_with("nczchunk: ") && message.contains("chunk (2, 1, 1)"), "{message}");
    assert_eq!(directory.names(), ["a"]);
    assert!(run_at(&directory, &["dump", "@/a", "-o", "@/no/x"]).message(1).contains("/no/x: No such file"));
}

#[test]
fn texts_of_any_length_have_no_bytes() {
    let directory = Temporary::new();
    let array = Array::create(&*directory, "", &Description::new(&[2], ElementType::String)).unwrap();
    array.write_strings(&Hyperslab::all(), &["a\"b", "two\nlines"]).unwrap();
    assert!(run_at(&directory, &["dump", "@", "-f", "raw"]).message(2).contains("another format"));
    let text = run_at(&directory, &["dump", "@"]).text();
    assert!(text.ends_with(" =\n  \"a\\\"b\", \"two\\nlines\" ;\n"), "{text}");
    let text = run_at(&directory, &["dump", "@", "-f", "csv"]).text();
    assert!(text.ends_with("\n0,\"a\"\"b\"\n1,\"two\nlines\"\n"), "{text}");
}

/// An array of 16-bit integers that stand for other values, with an attribute for each of CF's.
fn packed(attributes: &str, values: &[i16]) -> Temporary {
    let shape = [values.len()];
    stored(&Description::new(&shape, ElementType::Short).with_attributes_json(attributes), values)
}

#[test]
fn values_are_unpacked() {
    let array = packed(r#"{"scale_factor":0.1,"add_offset":273.15,"_FillValue":-999}"#, &[0, 3, -999, 100]);
    assert_eq!(run_at(&array, &["dump", "@"]).text(), " a =\n  273.15, 273.45, _, 283.15 ;\n");
    assert_eq!(run_at(&array, &["dump", "@", "--raw"]).text(), " a =\n  0, 3, -999, 100 ;\n");
    let csv = run_at(&array, &["dump", "@", "-f", "csv"]).text();
    assert_eq!(csv, "dim_0,a\n0,273.15\n1,273.45\n2,\n3,283.15\n");
    // Files for programs have what is stored.
    let ran = run_at(&array, &["dump", "@", "-f", "npy"]);
    assert_eq!(npy(&ran.out).0, header("<i2", "(4,)"));
    // Values of 4 bytes, as the attributes.
    let single = Description::new(&[1], ElementType::Short);
    let scale = [("scale_factor", (&0.1f32).into())];
    let directory = Temporary::new();
    let single = single.with_format(ArrayFormat::NcZarr).with_dimension_names(&["x"]).with_attributes(&scale);
    Array::create(&*directory, "a", &single).unwrap().write(&Hyperslab::all(), &[7i16]).unwrap();
    assert_eq!(run_at(&directory, &["dump", "@"]).text(), " a =\n  0.7 ;\n");
}

#[test]
fn times_of_fine_units_have_all_their_digits() {
    for (units, values, dates) in [
        ("microseconds", [1.0, 1500.0], ["00:00:00.000001", "00:00:00.0015"]),
        ("milliseconds", [0.25, 1500.0], ["00:00:00.00025", "00:00:01.5"]),
        ("seconds", [0.25, 1.0004], ["00:00:00.25", "00:00:01.0004"]),
    ] {
        let json = format!(r#"{{"units":"{units} since 1970-01-01"}}"#);
        let array = stored(&Description::new(&[2], ElementType::Double).with_attributes_json(&json), &values);
        let text = run_at(&array, &["dump", "@"]).text();
        assert_eq!(text, format!(" a =\n  1970-01-01T{}, 1970-01-01T{} ;\n", dates[0], dates[1]), "{units}");
    }
}

/// Their numbers of days have no date, and none is computed.
#[test]
fn times_far_away_are_shown_as_numbers() {
    for calendar in ["standard", "proleptic_gregorian", "noleap", "360_day"] {
        let json = format!(r#"{{"units":"days since 1970-01-01","calendar":"{calendar}"}}"#);
        let description = Description::new(&[2], ElementType::Int64).with_attributes_json(&json);
        let array = stored(&description, &[i64::MAX, i64::MIN + 1]);
        let text = run_at(&array, &["dump", "@"]).text();
        assert_eq!(text, " a =\n  9223372036854775807, -9223372036854775807 ;\n", "{calendar}");
    }
}

#[test]
fn times_are_dates() {
    let array = packed(r#"{"units":"days since 2000-02-28","calendar":"noleap"}"#, &[0, 1, -59]);
    assert_eq!(run_at(&array, &["dump", "@"]).text(), " a =\n  2000-02-28, 2000-03-01, 1999-12-31 ;\n");
    assert_eq!(run_at(&array, &["dump", "@", "--raw"]).text(), " a =\n  0, 1, -59 ;\n");
    let array = packed(r#"{"units":"hours since 1970-01-01","scale_factor":0.5}"#, &[0, 25]);
    assert_eq!(run_at(&array, &["dump", "@", "-f", "csv"]).text(), "dim_0,a\n0,1970-01-01\n1,1970-01-01T12:30\n");
    // What is no date is said, and shown as it is.
    let array = packed(r#"{"units":"days since 2000-01-01","calendar":"julian"}"#, &[1]);
    let ran = run_at(&array, &["dump", "@"]);
    assert_eq!((ran.code, String::from_utf8(ran.out).unwrap()), (Some(0), " a =\n  1 ;\n".to_owned()));
    let note = "nczchunk: note: a: times are shown as stored numbers: the calendar 'julian' is unknown\n";
    assert_eq!(ran.err, note);
    assert_eq!(run_at(&array, &["dump", "@", "--raw"]).text(), " a =\n  1 ;\n");
}

/// The sign of integers is that of the stored type, unless `_Unsigned` says something else.
#[test]
fn integers_have_the_sign_that_an_attribute_says() {
    let directory = Temporary::new();
    let file = classic(ElementType::Byte, &[("_Unsigned", b"true\0")], &[0, 127, 128, 255]);
    std::fs::write(directory.join("x.nc"), file).unwrap();
    assert_eq!(run_at(&directory, &["dump", "@/x.nc"]).text(), " v =\n  0, 127, 128, 255 ;\n");
    assert_eq!(run_at(&directory, &["dump", "@/x.nc", "--raw"]).text(), " v =\n  0, 127, -128, -1 ;\n");
    // Missing values are numbers of either type, and are no others when they are unpacked.
    for missing in ["-2", "65534", "65534.0"] {
        let json = format!(r#"{{"_Unsigned":"True","scale_factor":0.5,"missing_value":{missing}}}"#);
        let array = packed(&json, &[1, -1, -2]);
        assert_eq!(run_at(&array, &["dump", "@"]).text(), " a =\n  0.5, 32767.5, _ ;\n", "{missing}");
    }
    let shown = |array: Temporary| run_at(&array, &["dump", "@"]).text();
    let unsigned = |element| Description::new(&[1], element).with_attributes_json(r#"{"_Unsigned":"true"}"#);
    assert_eq!(shown(stored(&unsigned(ElementType::Int), &[-1i32])), " a =\n  4294967295 ;\n");
    assert_eq!(shown(stored(&unsigned(ElementType::Int64), &[-1i64])), " a =\n  18446744073709551615 ;\n");
    assert_eq!(shown(stored(&unsigned(ElementType::Float), &[-1f32])), " a =\n  -1 ;\n");
    let signed = Description::new(&[3], ElementType::UByte);
    let json = r#"{"_Unsigned":"false","missing_value":-2}"#;
    assert_eq!(shown(stored(&signed.with_attributes_json(json), &[1u8, 255, 254])), " a =\n  1, -1, _ ;\n");
    let other = r#"{"_Unsigned":"maybe"}"#;
    assert_eq!(shown(stored(&signed.with_attributes_json(other), &[1u8, 255, 254])), " a =\n  1, 255, 254 ;\n");
}

#[test]
fn attributes_that_end_with_zeros_are_known() {
    let directory = Temporary::new();
    let attributes: [(&str, &[u8]); 2] = [("units", b"days since 2000-02-28\0"), ("calendar", b"noleap\0\0")];
    let file = classic(ElementType::Int, &attributes, &[0, 0, 0, 0, 0, 0, 0, 1]);
    std::fs::write(directory.join("x.nc"), file).unwrap();
    assert_eq!(run_at(&directory, &["dump", "@/x.nc"]).text(), " v =\n  2000-02-28, 2000-03-01 ;\n");
    let text = run_at(&directory, &["info", "@/x.nc"]).text();
    assert!(text.ends_with("    units = \"days since 2000-02-28\"\n    calendar = \"noleap\"\n"), "{text}");
}

#[test]
fn missing_values_have_2_bytes() {
    let description =
        Description::new(&[3], ElementType::Half).with_attributes_json(r#"{"missing_value":-9999.0,"_FillValue":-1}"#);
    let directory = Temporary::new();
    let array = Array::create(&*directory, "a", &description).unwrap();
    // 1, the number that is nearest to -9999, and -1.
    let bytes: Vec<u8> = [0x3c00u16, 0xf0e2, 0xbc00].iter().flat_map(|bits| bits.to_ne_bytes()).collect();
    Plan::new(array.variable(), &Hyperslab::all(), Access::Write).unwrap().write(array.store(), &bytes).unwrap();
    assert_eq!(run_at(&directory, &["dump", "@"]).text(), " a =\n  1, _, _ ;\n");
}

/// Names in files may have control characters. Those of a terminal begin lines and change colours.
#[test]
fn names_are_shown_on_one_line() {
    let directory = Temporary::new();
    let description = Description::new(&[1, 1, 1], ElementType::Int)
        .with_dimension_names(&["t\x1b[31m", "y\n", "x<\u{9b}"])
        .with_attributes_json(r#"{"one\nline":1,"units":"K\u001b[1m","n\r":[true,{}]}"#);
    let name = "a\x1b[2J\nb";
    Array::create(&*directory, name, &description).unwrap().write(&Hyperslab::all(), &[7i32]).unwrap();
    let is_printable = |text: &str| !text.chars().any(|character| character.is_control() && character != '\n');
    for (arguments, words, lines) in [
        (&["list", "@", "--attributes"][..], r#"a\u001b[2J\nb  int32  t\u001b[31m=1 x y\n=1 x x<\u009b=1"#, 5),
        (&["info", "@", name], r#"a\u001b[2J\nb"#, 12),
        (&["dump", "@", name], "a\\u001b[2J\\nb =\n  // t\\u001b[31m = 0\n", 3),
        (&["map", "@", name, "-s", "0"], r"K\u001b[1m", 7),
        (&["plan", "@", name], r"down: y\n, length 1", 15),
        (&["locate", "@", name], r"a\u001b[2J\nb/c/0/0/0", 2),
        (&["check", "@"], r"a\u001b[2J\nb: 1 chunk", 1),
        (&["copy", "@", name, "@/copy", "-f", "nczarr", "--name", "b"], r"not kept: attribute n\r, which has", 3),
        (&["plan", "@", name, "--svg", "@/x.svg"], "drawn", 6),
    ] {
        let text = run_at(&directory, arguments).text();
        assert!(is_printable(&text) && text.contains(words), "{arguments:?} {text:?}");
        assert_eq!(text.lines().count(), lines, "{arguments:?} {text}");
    }
    let text = std::fs::read_to_string(directory.join("x.svg")).unwrap();
    assert!(is_printable(&text) && text.contains(r">x&lt;\u009b</text>"), "{text:?}");
    let message = run_at(&directory, &["info", "@", "none"]).message(1);
    assert!(is_printable(&message) && message.ends_with("the arrays are: a\\u001b[2J\\nb, copy/b\n"), "{message:?}");
}
