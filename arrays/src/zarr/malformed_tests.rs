//! Documents that nobody should write: an error or a value, never a panic.

use super::attributes::attribute;
use super::*;
use crate::error::Result;

const V2: &str = r#"{"shape":[4,5],"chunks":[2,9],"dtype":"<M8[10s]","fill_value":"NaT","order":"F","filters":
    [{"id":"shuffle","elementsize":0}],"dimension_separator":"/","compressor":{"id":"blosc","cname":"lz4","clevel":5,
    "shuffle":1,"blocksize":0},"zarr_format":2,"_nczarr_array":{"dimrefs":["/a/x","/y"]}}"#;
const V3: &str = r#"{"shape":[8,9],"data_type":"complex64","chunk_grid":{"name":"regular","configuration":
    {"chunk_shape":[4,6]}},"chunk_key_encoding":{"name":"default"},"fill_value":["0x7fc00000",-1e3],"codecs":[{"name":
    "transpose",
    "configuration":{"order":[1,0]}},{"name":"sharding_indexed","configuration":{"chunk_shape":[3,2],"codecs":[
    {"name":"bytes","configuration":{"endian":"big"}}],"index_codecs":["crc32c"],"index_location":"start"}},"zstd"],
    "attributes":{"a":"\u00e4"},"dimension_names":["x",null],"zarr_format":3,"node_type":"array"}"#;
const GROUP: &str = r#"{"zarr_format":3,"node_type":"group","attributes":{"_nczarr_group":{"dimensions":{"x":4,"t":
    {"size":2,"unlimited":1}}}},"consolidated_metadata":{"kind":"inline","must_understand":false,"metadata":
    {"a":{}}}}"#;

const CONSOLIDATED: &str = r#"{"zarr_consolidated_format":1,"metadata":{".zgroup":{"zarr_format":2},"a/.zattrs":
    {"_ARRAY_DIMENSIONS":["x"]},"a/.zarray":{"shape":[4],"chunks":[2],"dtype":"<f4"}}}"#;
const TEXTS: [&str; 4] = [V2, V3, GROUP, CONSOLIDATED];

/// Reads a document in all ways, and what has been read back and forth.
fn read_all(text: &[u8]) -> bool {
    let again = |array: Result<Metadata>| {
        array.inspect(|array| {
            let _ = (write_array_v2(array), write_attributes_v2(array), write_v3(array));
            for (name, _) in array.attributes.members() {
                let _ = attribute(&array.attributes, Some(array.element), name);
            }
        })
    };
    let group = read_group_v2(text, Some(text));
    let v2 = again(read_v2(text, Some(text)));
    let v3 = again(read_v3(text));
    let _ = read_v2(V2.as_bytes(), Some(text));
    let (consolidated, node) = (consolidated_v2(text), read_node_v3(text));
    group.is_ok() || v2.is_ok() || v3.is_ok() || node.is_ok() || consolidated.is_ok()
}

#[test]
fn documents_that_end_anywhere_are_refused() {
    for text in TEXTS {
        assert!(read_all(text.as_bytes()), "{text}");
        for end in 0..text.len() {
            assert!(!read_all(&text.as_bytes()[..end]));
        }
    }
}

#[test]
fn a_changed_byte_is_an_error_or_a_value() {
    for text in TEXTS {
        let mut bytes = text.as_bytes().to_vec();
        for at in 0..bytes.len() {
            let kept = bytes[at];
            let values = *b"\0\"\\-09[},e\x7f\xff";
            for byte in values.into_iter().chain((0..8).map(|bit| kept ^ 1 << bit)) {
                bytes[at] = byte;
                let _ = read_all(&bytes);
            }
            bytes[at] = kept;
        }
    }
}

#[test]
fn huge_numbers_are_an_error_or_a_value() {
    let digits = "9".repeat(1000);
    for number in ["18446744073709551615", "9223372036854775807", "1e999", "-1", "1e-999", "NaN", "0.5", &digits] {
        for text in TEXTS {
            for (at, _) in text.match_indices(|c: char| c.is_ascii_digit()) {
                let _ = read_all(format!("{}{number}{}", &text[..at], &text[at + 1..]).as_bytes());
            }
        }
    }
    let deep = format!("{{\"zarr_format\":{}", "[".repeat(100_000));
    assert!(!read_all(deep.as_bytes()));
}
