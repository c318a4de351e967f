//! Variables of files in storages, that are read at once and with requests in flight.

use std::sync::Arc;

use crate::array::Array;
use crate::error::ErrorKind;
use crate::grid::Access;
use crate::hyperslab::Hyperslab;
use crate::object::delayed::DelayedStorage;
use crate::object::{Directory, Memory, Storage};

/// The elements of a record of a variable, and its bytes. With another variable they are too many for two records
/// to be read at once.
const ELEMENTS: u32 = 1 << 17;
const CHUNK: usize = 4 * ELEMENTS as usize;

/// A file with six records of two variables, `a` and `b`, in a storage that `change` is made to.
fn made(change: impl FnOnce(&mut DelayedStorage)) -> (Arc<DelayedStorage>, Array) {
    let name = |letter| u32::from_be_bytes([letter, 0, 0, 0]);
    let variable = |letter, begin| [1, name(letter), 2, 0, 1, 0, 0, 4, CHUNK as u32, begin];
    let dimensions = [6, 10, 2, 1, name(b't'), 0, 1, name(b'x'), ELEMENTS, 0, 0, 11, 2];
    let begin = 4 + 4 * (dimensions.len() as u32 + 20);
    let (a, b) = (variable(b'a', begin), variable(b'b', begin + CHUNK as u32));
    let numbers = dimensions.into_iter().chain(a).chain(b).chain((0..12).flat_map(|i| i * 1000..i * 1000 + ELEMENTS));
    let bytes: Vec<u8> = b"CDF\x01".iter().copied().chain(numbers.flat_map(u32::to_be_bytes)).collect();
    let mut later = DelayedStorage::new();
    change(&mut later);
    later.put("f", &bytes);
    let later = Arc::new(later);
    let storage = Storage::new(later.clone()).unwrap().file("f").unwrap();
    let array = Array::open_in(&storage, "b", Access::Read).unwrap();
    later.reset();
    (later, array)
}

#[test]
fn reads_under_way_stay_within_their_limits() {
    for (requests, bytes, most) in
        [(1, None, 1), (4, None, 4), (64, None, 6), (64, Some(3 * CHUNK + 1), 3), (64, Some(1), 1)]
    {
        let (later, array) = made(|later| (later.limits.requests, later.limits.bytes) = (requests, bytes));
        let values = array.read::<i32>(&Hyperslab::all()).unwrap();
        assert!((0..6).all(|record| {
            let first = 1000 * (2 * record + 1);
            values[(record * ELEMENTS) as usize..].iter().zip(first..first + ELEMENTS).all(|(v, i)| *v == i as i32)
        }));
        assert_eq!((later.most(), later.requests_in_flight()), ((most, most * CHUNK), 0));
    }
}

#[test]
fn threads_share_a_variable_if_they_may_share_its_storage() {
    for is_concurrent in [false, true] {
        let (_, array) = made(|later| later.is_concurrent = is_concurrent);
        assert_eq!(array.store().is_concurrent(), is_concurrent);
    }
}

#[test]
fn a_read_that_fails_ends_the_others() {
    let (later, array) = made(|later| later.limits.requests = 6);
    later.fail("f", 5);
    assert_eq!(array.read::<i32>(&Hyperslab::all()).unwrap_err().status(), 5);
    assert_eq!((later.requests_in_flight(), later.most().0), (0, 6));
    assert!(later.cancelled() > 0);
    later.heal();
    let words = || array.read::<i32>(&Hyperslab::all()).unwrap_err().to_string();
    later.begin_not("f", 7);
    assert!(array.read::<i32>(&Hyperslab::all()).is_err_and(|error| error.status() == 7));
    later.begin_not("f", 0);
    assert!(words().ends_with("no such file"), "{}", words());
    later.heal();
    later.take("f");
    assert!(words().ends_with("no such file"), "{}", words());
    assert_eq!(later.requests_in_flight(), 0);
}

#[test]
fn a_file_that_is_gone_is_an_error() {
    let bytes = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../data/coads_sst.nc")).unwrap();
    let directory = crate::object::testing::Temporary::new("gone");
    // The one is asked for parts of the file, and of the other it is opened.
    for storage in [Storage::new(Memory::new()), Storage::new(Directory::create(&directory).unwrap())] {
        let storage = storage.unwrap();
        storage.write("f", &bytes).unwrap();
        let array = Array::open_in(&storage.file("f").unwrap(), "SST", Access::Read).unwrap();
        assert!(array.read::<f32>(&Hyperslab::all()).is_ok());
        storage.remove("f").unwrap();
        for slab in [Hyperslab::all(), Hyperslab::new(&[0, 0, 0], &[12, 1, 1])] {
            let error = array.read::<f32>(&slab).unwrap_err();
            assert_eq!((error.kind(), error.chunk()), (ErrorKind::NotFound("file"), Some(&[0, 0, 0][..])));
        }
    }
}
