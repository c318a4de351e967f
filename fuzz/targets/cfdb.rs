//! cfdb files that nobody should write: the input is one. All its variables are listed, opened and read, also where
//! the file says that it holds only a part of them.

#![no_main]

use libfuzzer_sys::fuzz_target;
use nczchunk::object::{Memory, Storage};
use nczchunk_fuzz::read_everything;

fuzz_target!(|bytes: &[u8]| {
    let mut storage = Storage::new(Memory::new()).unwrap();
    storage.write("file.cfdb", bytes).unwrap();
    storage.allow_partial(true);
    read_everything(&storage.file("file.cfdb").unwrap());
});
