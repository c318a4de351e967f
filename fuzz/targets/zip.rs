//! Zip files that nobody should write: the input is one. What is in it is listed, read to its end, and opened as
//! arrays.

#![no_main]

use libfuzzer_sys::fuzz_target;
use nczchunk::object::{Entry, Memory, ObjectStore, PrefixedStorage, Storage, Zip, only_prefix, read_whole};
use nczchunk_fuzz::read_everything;

fuzz_target!(|bytes: &[u8]| {
    let memory = Memory::new();
    memory.write("a.zip", bytes).unwrap();
    let Ok(zip) = Zip::within(memory, "a.zip") else { return };
    let mut prefixes = vec![String::new()];
    let mut num_read = 0;
    while let Some(prefix) = prefixes.pop() {
        let mut names = Vec::new();
        let listed = zip.list(&prefix, &mut |name, entry| {
            let name = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}/{name}") };
            names.push((name, entry));
            Ok(())
        });
        if listed.is_err() {
            continue;
        }
        for (name, entry) in names {
            if entry == Entry::Prefix {
                prefixes.push(name);
            } else if num_read < 64 {
                num_read += 1;
                if let Ok(object) = read_whole(&zip, &name, 1 << 16) {
                    assert!(object.expect("what is listed is there").len() <= 1 << 16);
                }
            }
        }
    }
    let storage = match only_prefix(&zip) {
        Ok(Some(prefix)) => Storage::new(PrefixedStorage::new(zip, &prefix).unwrap()).unwrap(),
        _ => Storage::new(zip).unwrap(),
    };
    read_everything(&storage);
});
