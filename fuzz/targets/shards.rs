//! Shards: an index and chunks that nobody should write.
//!
//! The first byte says what the metadata are; what follows is the shard. It is read, in parts and whole, and a chunk of
//! it is written: where that succeeds, the rest is what it was and the chunk is the new one.

#![no_main]

use libfuzzer_sys::fuzz_target;
use nczchunk::object::{Memory, Storage};
use nczchunk::{Access, Array, Hyperslab};
use nczchunk_fuzz::{Input, read_all};

const METADATA: &str = r#"{"zarr_format":3,"node_type":"array","shape":[6,8],"data_type":"int16","chunk_grid":{"name":
    "regular","configuration":{"chunk_shape":[6,8]}},"chunk_key_encoding":"default","fill_value":-7,"codecs":[{"name":
    "sharding_indexed","configuration":{"chunk_shape":[2,4],"codecs":[{"name":"bytes","configuration":{"endian":
    "little"}}INNER],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}INDEX],"index_location":
    "LOCATION"}}]}"#;

fuzz_target!(|bytes: &[u8]| {
    let mut input = Input::new(bytes);
    let kind = input.byte();
    let metadata = METADATA
        .replace("INNER", ["", r#","crc32c""#, r#","zstd""#, r#","gzip""#][usize::from(kind >> 2) % 4])
        .replace("INDEX", ["", r#","crc32c""#][usize::from(kind & 1)])
        .replace("LOCATION", ["end", "start"][usize::from(kind >> 1 & 1)]);
    let storage = Storage::new(Memory::new()).unwrap();
    storage.write("zarr.json", metadata.as_bytes()).unwrap();
    storage.write("c/0/0", input.rest()).unwrap();

    let mut array = Array::open_in(&storage, "", Access::Write).unwrap();
    let _ = read_all(&array);
    for chunk in [[0, 0], [2, 1]] {
        let _ = array.stored_chunk_len(&chunk);
    }
    array.set_cache(None);
    let before = array.read::<i16>(&Hyperslab::all());
    if array.write(&Hyperslab::new(&[2, 3], &[1, 2]), &[1000i16, 1001]).is_err() {
        return;
    }
    let after = array.read::<i16>(&Hyperslab::all()).expect("a shard that was written can be read");
    assert_eq!(after[2 * 8 + 3..][..2], [1000, 1001]);
    if let Ok(mut expected) = before {
        expected[2 * 8 + 3..][..2].copy_from_slice(&[1000, 1001]);
        assert_eq!(after, expected);
    }
});
