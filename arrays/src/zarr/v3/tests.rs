//! Documents as zarr-python and TensorStore write them.

use super::super::codecs::testing::all_shown;
use super::*;

const PLAIN: &str = r#"{"shape":[8,9],"data_type":"int32","chunk_grid":{"name":"regular","configuration":{"chunk_shape":
    [2,4]}},"chunk_key_encoding":{"name":"default","configuration":{"separator":"/"}},"fill_value":0,"codecs":[{"name":
    "bytes","configuration":{"endian":"little"}},{"name":"zstd","configuration":{"level":0,"checksum":false}}],
    "attributes":{"x":NaN},"dimension_names":["x",null],"zarr_format":3,"node_type":"array",
    "storage_transformers":[]}"#;

/// An array of shape (8, 9, 3) and chunks of (8, 6, 3) with these codecs.
fn with_codecs(codecs: &str) -> Result<Metadata> {
    let text = r#"{"chunk_grid":{"configuration":{"chunk_shape":[8,6,3]},"name":"regular"},"chunk_key_encoding":{"name":
        "default"},"codecs":CODECS,"data_type":"float32","fill_value":"NaN","node_type":"array","shape":[8,9,3],
        "zarr_format":3}"#;
    let metadata = read_v3(text.replace("CODECS", codecs).as_bytes())?;
    metadata.check_codecs(&crate::codec::CodecRegistry::default()).map(|()| metadata)
}

fn sharded(before: &str, inner: &str, index: &str, rest: &str, after: &str) -> Result<Metadata> {
    with_codecs(&format!(
        r#"[{before}{{"configuration":{{"chunk_shape":[2,3,4],"codecs":[{inner}{{"configuration":{{"endian":"big"}},
        "name":"bytes"}},{{"configuration":{{"level":6}},"name":"gzip"}}],"index_codecs":[{index}]{rest}}},
        "name":"sharding_indexed"}}{after}]"#
    ))
}

const LITTLE: &str = r#"{"name":"bytes","configuration":{"endian":"little"}}"#;
const CYCLE: &str = r#"{"name":"transpose","configuration":{"order":[1,2,0]}}"#;

#[test]
fn an_array_of_zarr_python_is_read() {
    let array = read_v3(PLAIN.as_bytes()).unwrap();
    assert_eq!((&array.shape, &array.chunk_shape, &array.order), (&vec![8, 9], &vec![2, 4], &None));
    assert_eq!((array.element, array.endian), (ElementType::Int, Endian::Little));
    assert_eq!(all_shown(&array.codecs), ["zstd level=0 checksum=0"]);
    assert_eq!(array.keys, Keys { style: KeyEncoding::V3, separator: Separator::Slash });
    assert_eq!(array.dimension_names, [Some("x".to_owned()), None]);
    assert_eq!((array.fill_value, array.shards.is_none()), (Some(vec![0; 4]), true));
    assert_eq!(array.attributes.get("x").and_then(Value::as_number), Some("NaN"));
}

#[test]
fn names_may_stand_for_extensions() {
    let text = PLAIN
        .replace(r#"{"name":"default","configuration":{"separator":"/"}}"#, r#""v2""#)
        .replace("\"int32\"", "\"uint8\"");
    let start = text.find("\"codecs\"").unwrap();
    let end = text.find("\"attributes\"").unwrap();
    let text = format!("{}\"codecs\":[\"bytes\",\"crc32c\"],{}", &text[..start], &text[end..]);
    let array = read_v3(text.as_bytes()).unwrap();
    assert_eq!(array.keys, Keys { style: KeyEncoding::V2, separator: Separator::Dot });
    assert_eq!((array.endian, all_shown(&array.codecs)), (Endian::Native, vec!["crc32c location=end".to_owned()]));
}

#[test]
fn a_transposition_names_the_axes_from_the_slowest() {
    let array = with_codecs(&format!("[{CYCLE},{LITTLE}]")).unwrap();
    assert_eq!(array.order, Some(vec![1, 2, 0]));
    // Twice a cycle of three is its inverse, three times it is nothing.
    let array = with_codecs(&format!("[{CYCLE},{CYCLE},{LITTLE}]")).unwrap();
    assert_eq!(array.order, Some(vec![2, 0, 1]));
    let array = with_codecs(&format!("[{CYCLE},{CYCLE},{CYCLE},{LITTLE}]")).unwrap();
    assert_eq!(array.order, None);
    let swap = r#"{"name":"transpose","configuration":{"order":[1,0,2]}}"#;
    let array = with_codecs(&format!("[{CYCLE},{swap},{LITTLE}]")).unwrap();
    assert_eq!(array.order, Some(vec![2, 1, 0]));
    let array = with_codecs(&format!(r#"[{{"name":"transpose","configuration":{{"order":"F"}}}},{LITTLE}]"#)).unwrap();
    assert_eq!(array.order, Some(vec![2, 1, 0]));
    for order in ["[0,1]", "[0,1,1]", "[0,1,3]", "[0,1,2,0]", "\"A\"", "[-1,0,1]"] {
        let codecs = format!(r#"[{{"name":"transpose","configuration":{{"order":{order}}}}},{LITTLE}]"#);
        assert!(with_codecs(&codecs).unwrap_err().about().contains("$.codecs[0].configuration.order"), "{order}");
    }
}

#[test]
fn shards_are_read_in_the_axes_of_the_array() {
    // The shard is (6, 3, 8) when it is sharded, into chunks of (2, 3, 4).
    let crc = format!("{LITTLE},{{\"name\":\"crc32c\"}}");
    let array = sharded(&format!("{CYCLE},"), "", &crc, "", "").unwrap();
    let shards = array.shards.unwrap();
    let cycle = Some(vec![1, 2, 0]);
    assert_eq!((shards.inner, &shards.index_order, &array.order), (vec![4, 2, 3], &cycle, &cycle));
    assert_eq!((all_shown(&shards.codecs), array.endian), (vec!["gzip level=6".to_owned()], Endian::Big));
    assert!(array.codecs.is_empty());
    let index = (shards.index_at_start, shards.index_endian, shards.index_checksum);
    assert_eq!(index, (false, Endian::Little, true));
    let error = sharded("", "", &crc, "", "").unwrap_err();
    assert!(error.about().ends_with("$.codecs[0].configuration.chunk_shape"), "{error}");
}

#[test]
fn transpositions_within_shards_change_the_elements_order_only() {
    let inner = r#"{"name":"transpose","configuration":{"order":[2,0,1]}},"#;
    let big = r#"{"name":"bytes","configuration":{"endian":"big"}}"#;
    let array = sharded(&format!("{CYCLE},"), inner, big, r#","index_location":"start""#, ",\"crc32c\"").unwrap();
    let shards = array.shards.unwrap();
    // Axis 0 of the inner chunk as it is stored is axis 2 of the shard, which is axis 0 of the array.
    assert_eq!((array.order, shards.index_order), (None, Some(vec![1, 2, 0])));
    let index = (shards.index_at_start, shards.index_endian, shards.index_checksum);
    assert_eq!(index, (true, Endian::Big, false));
    assert_eq!(all_shown(&array.codecs), ["crc32c location=end"]);
    let swap = r#"{"name":"transpose","configuration":{"order":[1,0,2]}},"#;
    let array = sharded(&format!("{CYCLE},"), swap, "", "", "").unwrap();
    assert_eq!((array.order, array.shards.unwrap().index_order), (Some(vec![2, 1, 0]), Some(vec![1, 2, 0])));
}

#[test]
fn what_shards_cannot_have_is_refused_by_name() {
    let error = sharded(&format!("{CYCLE},"), "", "\"gzip\"", "", "").unwrap_err();
    assert_eq!(error.about(), "zarr.json: $.codecs[1].configuration.index_codecs[0]: gzip");
    for index in ["\"bytes\"", "\"crc32c\",\"crc32c\"", &format!("\"crc32c\",{LITTLE}")] {
        assert!(sharded(&format!("{CYCLE},"), "", index, "", "").is_err(), "{index}");
    }
}

#[test]
fn chains_of_codecs_have_their_order() {
    let native = if cfg!(target_endian = "big") { LITTLE.replace("little", "big") } else { LITTLE.to_owned() };
    for (codecs, about) in [
        ("[]", "$.codecs"),
        ("[\"bytes\"]", "$.codecs[0]"),
        ("[\"gzip\"]", "$.codecs[0]"),
        (&format!("[{LITTLE},{LITTLE}]"), "$.codecs[1]: bytes"),
        (&format!("[{LITTLE},\"gzip\",\"vlen-utf8\"]"), "$.codecs[2]: vlen-utf8"),
        (&format!("[{LITTLE},{CYCLE}]"), "$.codecs[1]: transpose"),
        (&format!("[{LITTLE},\"pcodec\"]"), "$.codecs[1]: pcodec"),
        (&format!("[\"numcodecs.xor\",{native}]"), "$.codecs[0]: numcodecs.xor"),
        (&format!("[{CYCLE}]"), "$.codecs"),
        ("[\"transpose\"]", "$.codecs[0]"),
        ("[\"vlen-utf8\"]", "$.codecs[0]: vlen-utf8"),
        (
            &format!(r#"[{LITTLE},{{"name":"gzip","configuration":{{"level":"x"}}}}]"#),
            "$.codecs[1].configuration.level",
        ),
    ] {
        assert_eq!(with_codecs(codecs).unwrap_err().about(), format!("zarr.json: {about}"), "{codecs}");
    }
}

#[test]
fn a_second_codec_that_makes_bytes_is_named() {
    for name in ["bytes", "vlen-utf8", "packbits", "sharding_indexed"] {
        if name != "packbits" || cfg!(feature = "codecs") {
            let second = format!(r#"{{"name":"{name}","configuration":{{"endian":"little"}}}}"#);
            let error = with_codecs(&format!("[{LITTLE},{second}]")).unwrap_err();
            let words = "a second array-to-bytes codec; a list of codecs has exactly one";
            assert_eq!(error.kind(), ErrorKind::Metadata(words));
            assert_eq!(error.about(), format!("zarr.json: $.codecs[1]: {name}"));
        }
    }
}

/// Elements that a codec of the caller's makes of elements are bytes in this machine's order.
#[test]
fn codecs_of_the_callers_come_before_bytes_too() {
    let mut own = crate::codec::CodecRegistry::default();
    own.add("xor", || |_: &crate::codec::CodecUse<'_>| Err(ErrorKind::Internal.into())).unwrap();
    let with = |codecs: &str, endian: &str| {
        let bytes = format!(r#""codecs":[{codecs}{{"name":"bytes","configuration":{{"endian":"{endian}"}}}},"#);
        let begin = PLAIN.find(r#""codecs":["#).unwrap();
        let end = PLAIN.find(r#"{"name":"zstd""#).unwrap();
        let array = read_v3(format!("{}{bytes}{}", &PLAIN[..begin], &PLAIN[end..]).as_bytes())?;
        array.check_codecs(&own).map(|()| array)
    };
    let (native, foreign) = if cfg!(target_endian = "big") { ("big", "little") } else { ("little", "big") };
    let of = |codecs: &str| with(codecs, native);
    let xor = r#"{"name":"numcodecs.xor","configuration":{"with":7}},"#;
    let array = of(xor).unwrap();
    let [CodecSpec::Own(codec), CodecSpec::Known(_)] = array.codecs.as_slice() else { panic!("{array:?}") };
    assert_eq!((codec.name.as_str(), codec.configuration.members().len()), ("numcodecs.xor", 1));
    let transposed = r#"{"name":"transpose","configuration":{"order":[1,0]}},"#;
    assert!(of(&format!("{transposed}{xor}")).is_ok());
    assert_eq!(of(&format!("{xor}{transposed}")).unwrap_err().about(), "zarr.json: $.codecs[0]: numcodecs.xor");
    assert!(of(r#""numcodecs.other","#).is_err());
    assert!(matches!(with(xor, foreign).unwrap_err().kind(), ErrorKind::Unsupported(_)));
}

#[test]
fn codecs_of_numcodecs_are_read() {
    let codecs = r#",{"name":"numcodecs.shuffle","configuration":{"elementsize":4}},{"name":"numcodecs.zlib",
        "configuration":{}},{"name":"numcodecs.lz4","configuration":{}},{"name":"numcodecs.blosc","configuration":{}},
        {"name":"numcodecs.fletcher32","configuration":{}}"#;
    let array = with_codecs(&format!("[{LITTLE}{codecs}]")).unwrap();
    let expected = [
        "shuffle elementsize=4",
        "zlib level=1",
        "lz4 acceleration=1",
        "blosc cname=lz4 clevel=5 shuffle=shuffle blocksize=0 typesize=4",
        "fletcher32",
    ];
    assert_eq!(all_shown(&array.codecs), expected);
}

#[test]
fn what_is_malformed_or_unknown_has_a_place() {
    for (from, to, about) in [
        (r#""zarr_format":3"#, r#""zarr_format":2"#, "$.zarr_format"),
        (r#""zarr_format":3"#, r#""zarr_format":"https://purl.org/zarr/spec/protocol/core/3.0""#, "$.zarr_format"),
        (r#""node_type":"array""#, r#""node_type":"x""#, "$.node_type"),
        (r#""name":"regular""#, r#""name":"rectangular""#, "$.chunk_grid: rectangular"),
        (r#""name":"default""#, r#""name":"suffix""#, "$.chunk_key_encoding: suffix"),
        (r#""separator":"/""#, r#""separator":"x""#, "$.chunk_key_encoding.configuration.separator"),
        (r#""fill_value":0,"#, "", "$.fill_value"),
        (r#""fill_value":0"#, r#""fill_value":"0""#, "$.fill_value"),
        (r#""storage_transformers":[]"#, r#""storage_transformers":["x"]"#, "$.storage_transformers"),
        (r#""storage_transformers":[]"#, r#""other":{}"#, "$.other"),
        (r#"["x",null]"#, r#"["x"]"#, "$.dimension_names"),
        (r#"["x",null]"#, r#"["x",1]"#, "$.dimension_names[1]"),
        (r#""data_type":"int32""#, r#""data_type":"int3""#, "$.data_type: int3"),
    ] {
        let text = PLAIN.replace(from, to);
        assert_ne!(text, PLAIN, "{from}");
        assert_eq!(read_v3(text.as_bytes()).unwrap_err().about(), format!("zarr.json: {about}"), "{to}");
    }
    // Attributes that cannot be read are told, and the array has none.
    let array = read_v3(PLAIN.replace(r#"{"x":NaN}"#, "[]").as_bytes()).unwrap();
    assert_eq!(array.attributes_error.unwrap().about(), "zarr.json: $.attributes");
    assert!(array.attributes.members().is_empty());
    let text = PLAIN.replace(r#""storage_transformers":[]"#, r#""other":{"must_understand":false}"#);
    assert!(read_v3(text.as_bytes()).is_ok());
    let group = PLAIN.replace(r#""node_type":"array""#, r#""node_type":"group""#);
    assert_eq!(read_v3(group.as_bytes()).unwrap_err().kind(), ErrorKind::NotAnArray);
}

#[test]
fn structures_and_texts_need_no_byte_order() {
    let structured = r#"{"name":"structured","configuration":{"fields":[["a","int32"],["b","float64"]]}}"#;
    let text = |codec: &str| {
        let text = PLAIN.replace("\"int32\"", structured).replace("\"fill_value\":0", "\"fill_value\":null");
        let start = text.find("[{\"name\":\n").unwrap();
        let end = text.find("\n    \"attributes\"").unwrap();
        format!("{}[{codec}],{}", &text[..start], &text[end..])
    };
    let array = read_v3(text("\"bytes\"").as_bytes()).unwrap();
    assert_eq!((array.element, array.fill_value), (ElementType::Opaque { len: 12 }, None));
    let big = r#"{"name":"bytes","configuration":{"endian":"big"}}"#;
    assert_eq!(read_v3(text(big).as_bytes()).unwrap_err().kind(), ErrorKind::ElementType);
    let strings = PLAIN.replace("\"int32\"", "\"string\"").replace("\"fill_value\":0", "\"fill_value\":\"\"");
    let error = read_v3(strings.as_bytes()).unwrap_err();
    assert_eq!(error.about(), "zarr.json: $.codecs[0]");
    let strings = strings.replace("\"bytes\",\"configuration\":{\"endian\":\"little\"}", "\"vlen-utf8\"");
    let strings = strings.replace("\n    \"bytes\",\"configuration\":{\"endian\":\"little\"}", "\"vlen-utf8\"");
    assert_eq!(read_v3(strings.as_bytes()).unwrap().element, ElementType::String);
}

#[test]
fn transpositions_of_an_early_draft_have_names() {
    let of = |order: &str| {
        let codec = format!(r#"{{"name":"transpose","configuration":{{"order":"{order}"}}}}"#);
        with_codecs(&format!("[{codec},{LITTLE}]")).map(|array| array.order)
    };
    assert_eq!((of("C"), of("F")), (Ok(None), Ok(Some(vec![2, 1, 0]))));
    assert_eq!(of("A").unwrap_err().about(), "zarr.json: $.codecs[0].configuration.order");
}

/// An array of shape (8, 9) on such a rectilinear grid.
fn rectilinear(configuration: &str, codecs: &str) -> Result<Metadata> {
    let text = PLAIN
        .replace(r#""regular""#, r#""rectilinear""#)
        .replace("{\"chunk_shape\":\n    [2,4]}", &format!("{{{configuration}}}"));
    let start = text.find(r#"[{"name":"#).unwrap_or(0);
    assert!(text.contains("rectilinear") && !text.contains("chunk_shape\":\n") && start > 0);
    let begin = "[{\"name\":\n    \"bytes\"";
    read_v3(text.replace(begin, &format!("[{codecs}{}", &begin[1..])).as_bytes())
}

#[test]
fn a_rectilinear_grid_has_lengths_and_how_often_they_are_repeated() {
    let array = rectilinear(r#""kind":"inline","chunk_shapes":[[[2,3],1,[4,2]],3]"#, "").unwrap();
    let runs = [(3, 2), (1, 1), (2, 4)].map(|(num_chunks, len)| ChunkRun::new(num_chunks, len));
    assert_eq!((array.chunk_runs, array.chunk_shape), (vec![runs.to_vec(), Vec::new()], vec![4, 3]));
    // However many there are, they take no more room.
    let count = 1 << (usize::BITS - 2);
    let many = rectilinear(&format!(r#""kind":"inline","chunk_shapes":[[[1,{count}]],3]"#), "").unwrap();
    assert_eq!((many.num_chunks(0), many.num_chunks(1)), (count, 3));
}

#[test]
fn rectilinear_grids_that_make_no_sense_are_refused_where_they_do_not() {
    let words =
        |lists: &str| rectilinear(&format!(r#""kind":"inline","chunk_shapes":{lists}"#), "").unwrap_err().to_string();
    for (lists, place, rule) in [
        ("[[4],3]", "chunk_shapes[0]", "the list of chunk lengths ends before the dimension does"),
        ("[3,[[4,2]]]", "chunk_shapes[1]", "the list of chunk lengths ends before the dimension does"),
        ("[[],3]", "chunk_shapes[0]", "a list of chunk lengths is empty"),
        ("[[8,0],3]", "chunk_shapes[0]", "the chunk length is 0"),
        ("[0,3]", "chunk_shapes[0]", "the chunk length is 0"),
        ("[[[4,0],8],3]", "chunk_shapes[0][0]", "a length is repeated 0 times"),
        ("[[[4,2,1]],3]", "chunk_shapes[0][0]", "how often it is repeated"),
        (&format!("[[[{},2]],3]", usize::MAX / 4 + 1), "chunk_shapes[0]", "more than can be counted"),
        (&format!("[[[1,{}],1],3]", isize::MAX), "chunk_shapes[0]", "more than can be counted"),
        ("[[8]]", "chunk_shapes", "expected chunk lengths for each dimension"),
        ("[[-1,9],3]", "chunk_shapes[0][0]", "expected a non-negative integer"),
    ] {
        let error = words(lists);
        assert!(error.contains(place) && error.contains(rule), "{lists}: {error}");
    }
    let other = rectilinear(r#""kind":"reference","chunk_shapes":[8,9]"#, "").unwrap_err();
    assert!(matches!(other.kind(), ErrorKind::Unsupported(_)), "{other}");
    let reshaped = r#"{"name":"reshape","configuration":{"shape":[-1]}},"#;
    let error = rectilinear(r#""kind":"inline","chunk_shapes":[[8],9]"#, reshaped).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported("this codec for chunks of a rectilinear grid"));
}
