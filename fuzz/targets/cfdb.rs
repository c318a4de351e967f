//! cfdb files that nobody should write: the input is one. All its variables are listed, opened and read, also where
//! the file says that it holds only a part of them.

#![no_main]

use libfuzzer_sys::fuzz_target;
use nczchunk::object::{Memory, Place};
use nczchunk_fuzz::read_everything;

fuzz_target!(|bytes: &[u8]| {
    let mut place = Place::new(Memory::new()).unwrap();
    place.write("file.cfdb", bytes).unwrap();
    place.allow_partial(true);
    read_everything(&place.file("file.cfdb").unwrap());
});
