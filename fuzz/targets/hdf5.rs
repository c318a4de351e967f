//! HDF5 files that nobody should write: the input is one. All its arrays are listed, opened and read, also those in
//! other files to which its links lead.

#![no_main]

use libfuzzer_sys::fuzz_target;
use nczchunk::object::{Memory, Storage};
use nczchunk_fuzz::read_everything;

fuzz_target!(|bytes: &[u8]| {
    let storage = Storage::new(Memory::new()).unwrap();
    storage.write("main.h5", bytes).unwrap();
    storage.write("other.h5", include_bytes!("../../tests/vectors/links/other.h5")).unwrap();
    storage.write("sub/third.h5", include_bytes!("../../tests/vectors/links/sub/third.h5")).unwrap();
    let mut file = storage.file("main.h5").unwrap();
    file.allow_external_links(true);
    read_everything(&file);
});
