//! netCDF classic files, CDF-1, CDF-2 and CDF-5, that nobody should write: the input is one. All its variables are
//! listed, opened and read.

#![no_main]

use libfuzzer_sys::fuzz_target;
use nczchunk::object::{Memory, Storage};
use nczchunk_fuzz::read_everything;

fuzz_target!(|bytes: &[u8]| {
    let storage = Storage::new(Memory::new()).unwrap();
    // Whatever else begins the input, it is one of these formats.
    let mut bytes = bytes.to_vec();
    if let Some([c, d, f, version]) = bytes.get_mut(..4) {
        (*c, *d, *f) = (b'C', b'D', b'F');
        if ![1, 2, 5].contains(version) {
            *version = [1, 2, 5][usize::from(*version) % 3];
        }
    }
    storage.write("file.nc", &bytes).unwrap();
    read_everything(&storage.file("file.nc").unwrap());
});
