//! Metadata: JSON that nobody should write, of both versions of Zarr, of NCZarr and of groups.
//!
//! The first byte says which document the input is, or that it has two of them with a NUL between. An array that can
//! be opened tells what its attributes are; written anew they are the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use nczchunk::object::{Memory, Storage};
use nczchunk::{Access, Array, Description, ElementType};
use nczchunk_fuzz::{Input, read_all, read_everything};

const V2: &str = r#"{"zarr_format":2,"shape":[4,5],"chunks":[2,9],"dtype":"<f4","fill_value":"NaN","order":"F",
    "filters":null,"compressor":null}"#;

fuzz_target!(|bytes: &[u8]| {
    let mut input = Input::new(bytes);
    let kind = input.byte();
    let text = input.rest();
    let at = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
    let (first, second) = (&text[..at], text.get(at + 1..).unwrap_or_default());

    let storage = Storage::new(Memory::new()).unwrap();
    let write = |name: &str, bytes: &[u8]| storage.write(name, bytes).unwrap();
    match kind % 6 {
        0 => write("x/zarr.json", first),
        1 => (write("x/.zarray", first), write("x/.zattrs", second)).1,
        2 => (write("x/.zarray", V2.as_bytes()), write("x/.zattrs", first), write(".zgroup", second)).2,
        3 => (write(".zmetadata", first), write("x/.zarray", V2.as_bytes())).1,
        4 => (write("zarr.json", first), write("x/zarr.json", second)).1,
        _ => return created(&storage, first, second),
    }
    read_everything(&storage);
    let Ok(mut array) = Array::open_in(&storage, "x", Access::Write) else { return };
    let _ = read_all(&array);
    if array.set_attribute("added", "here").is_err() {
        return;
    }
    let again = Array::open_in(&storage, "x", Access::Write).expect("what was opened can be opened with an attribute");
    assert_eq!(again.attributes_json(), array.attributes_json());
    assert_eq!(again.variable().chunk_bytes(), array.variable().chunk_bytes());
    array.remove_attribute("added").expect("it is there");
});

/// An array that is created with the input as its attributes and its codec's configuration.
fn created(storage: &Storage, attributes: &[u8], configuration: &[u8]) {
    let (Ok(attributes), Ok(configuration)) = (std::str::from_utf8(attributes), std::str::from_utf8(configuration))
    else {
        return;
    };
    let (name, configuration) = configuration.split_once('\n').unwrap_or(("", configuration));
    let codecs = [(name, configuration)];
    let description = Description::new(&[4, 5], ElementType::Short)
        .with_attributes_json(attributes)
        .with_codecs(if name.is_empty() { &[] } else { &codecs });
    if let Ok(array) = Array::create_in(storage, "x", &description) {
        let again = Array::open_in(storage, "x", Access::Read).expect("what was created can be opened");
        assert_eq!(again.attributes_json(), array.attributes_json());
        read_all(&again).unwrap();
    }
}
