//! HDF5 files that nobody should write: the input is one. All its arrays are listed, opened and read.

#![no_main]

use libfuzzer_sys::fuzz_target;
use nczchunk::object::{Memory, Storage};
use nczchunk_fuzz::read_everything;

fuzz_target!(|bytes: &[u8]| {
    let storage = Storage::new(Memory::new()).unwrap();
    storage.write("file.h5", bytes).unwrap();
    read_everything(&storage.file("file.h5").unwrap());
});
