//! Arrays that are read from a storage which answers later, with shards and without.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::LONG_STEP;
use crate::array::Array;
use crate::buffer::Buffer;
use crate::cache::Cache;
use crate::codec::built_in::crc32c;
use crate::error::{Error, ErrorKind, Result};
use crate::grid::Access;
use crate::hyperslab::Hyperslab;
use crate::object::delayed::DelayedStorage;
use crate::object::{ByteRange, Memory, ObjectStore, Reference, References, Storage, Target, read_whole};
use crate::open_object::Opening;
use crate::pass_on;
use crate::plan::Plan;
use crate::shared::Shared;
use crate::transfer::{Options, Transfer};

const ELEMENTS: usize = 320;

/// Chunks of 4 x 5 elements; shards, if there are any, of 2 x 2 chunks. So there are 4 x 4 chunks and 2 x 2 shards.
fn metadata(is_sharded: bool, at_start: bool) -> String {
    let bytes = r#"{"name": "bytes", "configuration": {"endian": "little"}}"#;
    let (location, grid) = (if at_start { "start" } else { "end" }, if is_sharded { "[8, 10]" } else { "[4, 5]" });
    let codecs = match is_sharded {
        false => bytes.to_owned(),
        true => format!(
            r#"{{"name": "sharding_indexed", "configuration": {{"chunk_shape": [4, 5], "codecs": [{bytes}],
                "index_codecs": [{bytes}], "index_location": "{location}"}}}}"#
        ),
    };
    format!(
        r#"{{"zarr_format": 3, "node_type": "array", "shape": [16, 20], "data_type": "int32", "fill_value": -1,
            "chunk_grid": {{"name": "regular", "configuration": {{"chunk_shape": {grid}}}}},
            "chunk_key_encoding": {{"name": "default"}}, "attributes": {{}}, "codecs": [{codecs}]}}"#
    )
}

const INDEX: usize = 4 * 16;
const CHUNK: usize = 80;
const SHARD: usize = 4 * CHUNK + INDEX;

fn storage(later: &Arc<DelayedStorage>) -> Storage {
    Storage::new(later.clone()).unwrap()
}

/// A storage with an array whose elements are their numbers; `change` comes before it is used.
fn made(is_sharded: bool, at_start: bool, change: impl FnOnce(&mut DelayedStorage)) -> (Arc<DelayedStorage>, Array) {
    let mut later = DelayedStorage::new();
    change(&mut later);
    later.put("zarr.json", metadata(is_sharded, at_start).as_bytes());
    let later = Arc::new(later);
    let array = Array::open_in(&storage(&later), "", Access::Write).unwrap();
    array.write(&Hyperslab::all(), &numbers()).unwrap();
    later.reset();
    (later, array)
}

fn numbers() -> Vec<i32> {
    (0..ELEMENTS as i32).collect()
}

/// Reads all: the elements, or how far they have come before it failed.
fn read_all(array: &Array) -> Result<Vec<i32>> {
    array.read(&Hyperslab::all())
}

/// The names of what was read, sorted, with where and how much.
fn log(later: &DelayedStorage) -> Vec<(String, u64, usize)> {
    assert_eq!(later.requests_in_flight(), 0);
    let mut log = later.log();
    log.sort();
    log
}

#[test]
fn chunks_are_read_many_at_a_time() {
    for (requests, bytes, most) in [(1, None, 1), (5, None, 5), (64, None, 16), (64, Some(3 * CHUNK + 1), 3)] {
        let (later, array) = made(false, false, |later| {
            (later.limits.requests, later.limits.bytes) = (requests, bytes);
        });
        assert_eq!(read_all(&array).unwrap(), numbers());
        let log = log(&later);
        assert!(log.len() == 16 && log.windows(2).all(|pair| pair[0].0 != pair[1].0));
        assert_eq!(later.most(), (most, most * CHUNK));
    }
}

const SHARDS: [&str; 4] = ["c/0/0", "c/0/1", "c/1/0", "c/1/1"];

/// Of shards that are needed in part, the index is read first.
#[test]
fn neighbours_in_a_shard_are_read_at_once_after_its_index() {
    for at_start in [false, true] {
        let (later, array) = made(true, at_start, |_| {});
        let (slab, rows) = (Hyperslab::new(&[4, 0], &[8, 20]), numbers()[4 * 20..12 * 20].to_vec());
        assert_eq!(array.read::<i32>(&slab).unwrap(), rows);
        let first = if at_start { INDEX as u64 } else { 0 };
        let index = if at_start { 0 } else { (INDEX as u64).wrapping_neg() };
        let mut expected = Vec::new();
        for (name, chunk) in SHARDS.into_iter().zip([2, 2, 0, 0]) {
            let chunks = (name.to_owned(), first + chunk * CHUNK as u64, 2 * CHUNK);
            expected.extend([chunks, (name.to_owned(), index, INDEX)]);
        }
        expected.sort();
        assert_eq!(log(&later), expected);
        // The indices are known now.
        assert_eq!(array.read::<i32>(&slab).unwrap(), rows);
        assert_eq!(log(&later).len(), 4);
    }
}

/// A shard of which all is needed is read with its index by one request, whether there are versions or not.
#[test]
fn a_shard_that_is_needed_is_read_at_once() {
    for (at_start, has_versions) in [(false, true), (true, true), (false, false), (true, false)] {
        let (later, array) = made(true, at_start, |later| later.has_versions = has_versions);
        assert_eq!(read_all(&array).unwrap(), numbers());
        let begin = if at_start { 0 } else { (SHARD as u64).wrapping_neg() };
        let whole = |name: &str| (name.to_owned(), begin, SHARD);
        assert_eq!(log(&later), SHARDS.map(whole));
        // Where the indices are kept, they are known now.
        assert_eq!(read_all(&array).unwrap(), numbers());
        let first = if at_start { INDEX as u64 } else { 0 };
        let chunks = |name: &str| (name.to_owned(), first, 4 * CHUNK);
        assert_eq!(log(&later), if has_versions { SHARDS.map(chunks) } else { SHARDS.map(whole) });
    }
}

/// An array of bytes in shards of so many chunks, each of 100 bytes, of a storage in which `change` comes first.
fn row_of_shards([len, of_shard]: [usize; 2], with: impl FnOnce(&mut DelayedStorage)) -> (Arc<DelayedStorage>, Array) {
    let mut later = DelayedStorage::new();
    with(&mut later);
    let later = Arc::new(later);
    let (len, of_shard) = ([100 * len], [100 * of_shard]);
    let description = crate::Description::new(&len, crate::ElementType::UByte)
        .with_chunk_shape(&[100])
        .with_shard_shape(&of_shard)
        .with_codecs(&[]);
    let array = Array::create_in(&storage(&later), "", &description).unwrap();
    array.write(&Hyperslab::all(), &bytes(len[0] / 100)).unwrap();
    let array = Array::open_in(&storage(&later), "", Access::Write).unwrap();
    later.reset();
    (later, array)
}

fn bytes(len: usize) -> Vec<u8> {
    (0..100 * len).map(|i| (i / 100 + i % 7) as u8).collect()
}

/// A chunk or two that are not needed do not count if they are a tenth of the others, and no wider than a gap may be.
/// What lies outside of the array is not stored.
#[test]
fn a_shard_is_read_at_once_if_nearly_all_of_it_is_needed() {
    for (gap, chunks, num) in [(201, 21, 1), (200, 21, 1), (201, 20, 1), (200, 20, 2), (1000, 19, 2), (201, 11, 2)] {
        let (later, array) = row_of_shards([31, 22], |later| later.gap = gap);
        let read = |first: usize, chunks: usize| {
            let slab = [[100 * first], [100 * chunks]];
            let found = array.read::<u8>(&Hyperslab::new(&slab[0], &slab[1])).unwrap();
            assert_eq!(found, bytes(31)[100 * first..][..100 * chunks]);
            log(&later).len()
        };
        assert_eq!((read(0, chunks), read(22, 9)), (num, 1), "{gap} {chunks}");
    }
}

/// How long a shard is, is guessed: what the guess does not reach is read next, and the next guess is better. No bytes
/// are read twice, but those of a chunk that a read ends within.
#[test]
fn a_shard_that_is_longer_than_it_was_taken_to_be_is_read_in_two() {
    let shard = 1000 + 16 * 10 + 4;
    for (in_flight, in_two) in [(10 * shard, 0), (10 * 600, 10), (1, 1)] {
        let (later, array) = row_of_shards([100, 10], |later| later.limits.bytes = Some(in_flight));
        assert_eq!(array.read::<u8>(&Hyperslab::all()).unwrap(), bytes(100));
        let log = log(&later);
        let of_shards = log.iter().filter(|(_, begin, _)| *begin > u64::MAX / 2);
        assert_eq!((of_shards.count(), log.len()), (10, 10 + in_two), "{in_flight} {log:?}");
        let all: usize = log.iter().map(|(.., len)| len).sum();
        assert!(all <= 10 * shard + in_two * 100 && later.most().1 <= in_flight.max(shard), "{in_flight} {all}");
    }
}

#[test]
fn what_lies_between_is_read_below_the_gap() {
    // The first and the third of a shard's chunks, with one between them that is not needed.
    let slab = Hyperslab::new(&[0, 0], &[8, 5]);
    for (gap, reads) in [(1, 2), (CHUNK, 2), (CHUNK + 1, 1)] {
        let (later, array) = made(true, false, |later| later.gap = gap);
        let values: Vec<i32> = array.read(&slab).unwrap();
        assert_eq!((values[0], values[5], values[39]), (0, 20, 144));
        assert_eq!(log(&later).len(), 1 + reads);
    }
}

#[test]
fn no_merged_read_is_larger_than_it_may_be() {
    let (later, array) = made(true, false, |later| later.limits.largest = 2 * CHUNK + 1);
    assert_eq!(read_all(&array).unwrap(), numbers());
    // With the index comes the last chunk.
    let mut sizes: Vec<usize> = log(&later).into_iter().map(|(.., size)| size).collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [CHUNK, 2 * CHUNK, 2 * CHUNK + 1].map(|size| [size; 4]).concat());
    let (later, array) = made(true, false, |later| later.limits.largest = 1);
    assert_eq!(read_all(&array).unwrap(), numbers());
    assert_eq!(log(&later).len(), 4 + 16);
}

#[test]
fn memory_and_reads_stay_within_their_limits() {
    for (requests, bytes) in [(1, None), (2, Some(1)), (3, Some(2 * CHUNK)), (3, Some(4 * CHUNK))] {
        let (later, array) = made(true, false, |later| {
            (later.limits.requests, later.limits.bytes, later.limits.largest) = (requests, bytes, CHUNK);
        });
        read_all(&array).unwrap();
        let (most, most_bytes) = later.most();
        // Indices are read beside.
        let most_expected = bytes.unwrap_or(requests * CHUNK).max(CHUNK) + requests * INDEX;
        assert!(most <= requests && most_bytes <= most_expected);
        assert_eq!(read_all(&array).unwrap(), numbers());
    }
}

#[test]
fn what_is_absent_is_fill_value() {
    for (is_sharded, hole, rows, columns) in [(false, "c/2/1", 8..12, 5..10), (true, "c/1/0", 8..16, 0..10)] {
        let (later, array) = made(is_sharded, false, |_| {});
        later.take("c/0/3");
        later.take(hole);
        // A shard leaves out a chunk of fill values.
        array.write(&Hyperslab::new(&[0, 5], &[4, 5]), &[-1; 20]).unwrap();
        let is_hole = |row: i32, column: i32| {
            let is_other = !is_sharded && row < 4 && column >= 15 || row < 4 && (5..10).contains(&column);
            is_other || rows.contains(&row) && columns.contains(&column)
        };
        let expected: Vec<i32> = (0..ELEMENTS as i32).map(|e| if is_hole(e / 20, e % 20) { -1 } else { e }).collect();
        for _ in 0..2 {
            assert_eq!(read_all(&array).unwrap(), expected);
            assert_eq!(later.requests_in_flight(), 0);
        }
    }
}

/// The first shard, with other values in it and, if it `is_longer`, another length.
fn other_shard(is_longer: bool) -> Vec<u8> {
    let (other, array) = made(true, false, |_| {});
    array.write(&Hyperslab::new(&[0, 0], &[8, 10]), &[1000; 80]).unwrap();
    let mut buffer = [std::mem::MaybeUninit::uninit(); SHARD];
    let mut buffer = Buffer::new(&mut buffer);
    ObjectStore::read(&*other, "c/0/0", ByteRange::At(0), &mut buffer).unwrap();
    let mut shard = buffer.filled().to_vec();
    if is_longer {
        shard.splice(320..320, [0; 10]);
    }
    shard
}

/// Objects in memory, of which something happens when one has been opened.
struct Watched<F> {
    memory: Memory,
    opened: F,
}

impl<F: Fn(&Memory, &str) + Send + Sync> ObjectStore for Watched<F> {
    pass_on! { self => self.memory; read read_version versions list write remove is_writable }

    fn open(&self, name: &str) -> Result<Opening<'_>> {
        let opening = self.memory.open(name);
        (self.opened)(&self.memory, name);
        opening
    }
}

/// A chunk that is absent by a kept index needs the index that is stored now, and the shard's other chunks, too.
#[test]
fn a_shard_that_is_replaced_while_others_are_read_is_read_old_or_new() {
    let new = Storage::new(Memory::new()).unwrap();
    new.write("zarr.json", metadata(true, false).as_bytes()).unwrap();
    Array::open_in(&new, "", Access::Write).unwrap().write(&Hyperslab::all(), &[7; ELEMENTS]).unwrap();
    let shard = read_whole(&*new, "c/0/0", usize::MAX).unwrap().unwrap();
    let is_watched = Arc::new(AtomicBool::new(false));
    let watched = is_watched.clone();
    let opened = move |memory: &Memory, name: &str| {
        if watched.load(Relaxed) && name == "c/0/1" {
            memory.write("c/0/0", &shard).unwrap();
        }
    };
    let storage = Storage::new(Watched { memory: Memory::new(), opened }).unwrap();
    storage.write("zarr.json", metadata(true, false).as_bytes()).unwrap();
    let mut array = Array::open_in(&storage, "", Access::Write).unwrap();
    array.set_cache(None);
    for column in [0, 10] {
        array.write(&Hyperslab::new(&[0, column], &[4, 5]), &[5; 20]).unwrap();
    }
    let rows = || array.read::<i32>(&Hyperslab::new(&[0, 0], &[8, 20])).unwrap();
    let before = rows();
    is_watched.store(true, Relaxed);
    let during = rows();
    let of_first = |all: &[i32]| all.chunks(20).flat_map(|row| row[..10].to_vec()).collect::<Vec<_>>();
    assert!(of_first(&during) == of_first(&before) || of_first(&during) == [7; 80], "{:?}", of_first(&during));
    assert_eq!(of_first(&rows()), [7; 80]);
}

#[test]
fn a_shard_that_was_written_anew_is_read_anew() {
    // Between two reads; and between the index and the chunks.
    for is_between in [false, true] {
        let (later, array) = made(true, false, |later| later.limits.largest = INDEX);
        if is_between {
            later.change_after("c/0/0", 1, Some(&other_shard(true)));
        } else {
            read_all(&array).unwrap();
            later.put("c/0/0", &other_shard(true));
        }
        let values = read_all(&array).unwrap();
        assert!(values.iter().zip(0..).all(|(value, e)| {
            let is_changed = e / 20 < 8 && e % 20 < 10;
            *value == if is_changed { 1000 } else { e }
        }));
        assert_eq!(later.requests_in_flight(), 0);
    }
    // One that vanishes is absent.
    let (later, array) = made(true, false, |_| {});
    read_all(&array).unwrap();
    later.take("c/1/1");
    assert!(read_all(&array).unwrap()[8 * 20..].chunks(20).all(|row| row[10..] == [-1; 10] && row[9] > 0));
    // One that changes all the time cannot be read.
    let (later, array) = made(true, false, |later| later.limits.largest = INDEX);
    for i in 0..super::ATTEMPTS {
        later.change_after("c/0/0", 1 + 5 * i, Some(&other_shard(i % 2 == 0)));
    }
    let error = read_all(&array).unwrap_err();
    assert!(error.to_string().contains("was replaced during each attempt"));
    assert_eq!((error.chunk(), later.requests_in_flight()), (Some(&[0, 0][..]), 0));
}

/// One chunk of two in a shard, the first or the second.
fn half_empty(is_first: bool) -> Vec<u8> {
    let (other, array) = made(true, false, |_| {});
    let fill = if is_first { [0, 5] } else { [0, 0] };
    array.write(&Hyperslab::new(&fill, &[8, 5]), &[-1; 40]).unwrap();
    crate::object::read_whole(&*other as &dyn crate::object::ObjectStore, "c/0/0", 1 << 20).unwrap().unwrap()
}

/// Two shards of the same length with other chunks in other storages, where versions are known and where they are not:
/// one takes the place of the other between two calls, between its index and its chunks, and after them.
#[test]
fn a_shard_of_the_same_length_is_not_read_by_the_index_of_another() {
    let elements = |is_first: bool| -> Vec<i32> {
        let is_empty = |e: i32| e / 20 < 8 && e % 20 < 10 && (e % 20 < 5) != is_first;
        (0..ELEMENTS as i32).map(|e| if is_empty(e) { -1 } else { e }).collect()
    };
    for (has_versions, largest) in [true, false].into_iter().flat_map(|is| [(is, SHARD), (is, INDEX + CHUNK)]) {
        for has_latency in [true, false] {
            let make = |later: &mut DelayedStorage| {
                (later.has_versions, later.has_latency) = (has_versions, has_latency);
                later.limits.largest = largest;
            };
            let (later, array) = made(true, false, make);
            for is_first in [true, false, true] {
                later.put("c/0/0", &half_empty(is_first));
                assert_eq!(read_all(&array).unwrap(), elements(is_first));
                let part: Vec<i32> = array.read(&Hyperslab::new(&[2, 0], &[1, 10])).unwrap();
                assert_eq!(part, elements(is_first)[40..50]);
            }
            // Each chunk is an old one or a new one.
            for after in 1..6 {
                later.put("c/0/0", &half_empty(true));
                later.change_after("c/0/0", after, Some(&half_empty(false)));
                let found = read_all(&array).unwrap();
                assert!(
                    found.iter().zip(0..).all(|(&found, e)| found == e || (found == -1 && e / 20 < 8 && e % 20 < 10))
                );
                later.log();
            }
        }
    }
}

/// A shard of chunks of 100 bytes with its chunks in the opposite order: it has the same elements, and the same length.
fn turned(shard: &[u8]) -> Vec<u8> {
    let num = (shard.len() - 4) / 116;
    let offsets = (0..num as u64).rev().map(|place| 100 * place);
    let index: Vec<u8> = offsets.flat_map(|offset| [offset, 100].map(u64::to_le_bytes)).flatten().collect();
    let chunks: Vec<u8> = shard[..100 * num].chunks(100).rev().flatten().copied().collect();
    [&chunks[..], &index, &crc32c(&index).unwrap().to_le_bytes()].concat()
}

/// Without versions a shard that is replaced by one of the same length is told by its index alone.
#[test]
#[cfg_attr(miri, ignore = "it takes too long")]
fn chunks_of_a_shard_are_never_placed_by_the_index_of_another() {
    const NUM: usize = 24;
    let whole = NUM * 116 + 4;
    for requests in [1, 2, 4] {
        for largest in [whole, whole - 150, 23 * 100, 20 * 100, 700] {
            for bytes in [None, Some(whole), Some(whole / 2), Some(500)] {
                let (later, _) = row_of_shards([3 * NUM, NUM], |later| {
                    // A chunk that is read later is less than a gap, so that the others are read with the index.
                    (later.has_versions, later.gap) = (false, 201);
                    (later.limits.requests, later.limits.largest, later.limits.bytes) = (requests, largest, bytes);
                });
                let shards = ["c/0", "c/1", "c/2"];
                let old = shards.map(|name| read_whole(&*later as &dyn ObjectStore, name, 1 << 20).unwrap().unwrap());
                for (i, after) in (0..3).flat_map(|i| (1..12).map(move |after| (i, after))) {
                    (0..3).for_each(|i| later.put(shards[i], &old[i]));
                    // With a guess of their length, and without.
                    let array = Array::open_in(&storage(&later), "", Access::Read).unwrap();
                    if after % 2 == 0 {
                        array.read::<u8>(&Hyperslab::new(&[0], &[100 * NUM])).unwrap();
                    }
                    later.change_after(shards[i], after, Some(&turned(&old[i])));
                    let found = array.read::<u8>(&Hyperslab::all()).unwrap();
                    assert!(found == self::bytes(3 * NUM), "{requests} {largest} {bytes:?} {i} {after}");
                    assert_eq!(later.requests_in_flight(), 0);
                }
            }
        }
    }
}

/// What an index that is on its way brings along is of the time when that was sent: a chunk that is asked for later is
/// read later, or what a write of this handle has replaced meanwhile would be kept.
#[test]
#[cfg_attr(miri, ignore = "it takes too long")]
fn a_chunk_that_is_asked_for_later_is_read_later() {
    let later = Arc::new({
        let mut later = DelayedStorage::new();
        (later.gap, later.limits.requests) = (1000, 64);
        later
    });
    let description = crate::Description::new(&[11 * 10_300], crate::ElementType::UByte)
        .with_chunk_shape(&[100])
        .with_shard_shape(&[10_300])
        .with_codecs(&[("crc32c", "")]);
    let array = Array::create_in(&storage(&later), "", &description).unwrap();
    array.write(&Hyperslab::all(), &bytes(11 * 103)).unwrap();
    let array = Array::open_in(&storage(&later), "", Access::Read).unwrap();
    later.reset();
    // A point in each chunk: 1024 of them are asked for before anything is waited for, of the tenth shard all but 6.
    let points: Vec<usize> = (0..11 * 103).map(|chunk| 100 * chunk).collect();
    let found = array.read::<u8>(&Hyperslab::points(points.len(), &points)).unwrap();
    assert!(found.iter().zip(&points).all(|(&found, &point)| found == bytes(11 * 103)[point]));
    let log = log(&later);
    let num = |shard: &str| log.iter().filter(|(name, ..)| name == shard).count();
    assert_eq!((num("c/8"), num("c/9")), (1, 2));
}

/// One chunk that is stored as it is, and is replaced while ranges of it are on their way.
#[test]
fn ranges_of_a_chunk_are_of_one_version() {
    for (is_sharded, name) in [(false, "c/0/0"), (true, "c/0/0")] {
        for has_versions in [true, false] {
            for after in 1..8 {
                let (later, array) = made(is_sharded, false, |later| later.has_versions = has_versions);
                let all = read_all(&array).unwrap();
                let other = crate::object::read_whole(&*later as &dyn crate::object::ObjectStore, name, 1 << 20);
                let mut other = other.unwrap().unwrap();
                // The elements of the first chunk, in another way.
                other[..CHUNK].chunks_exact_mut(4).for_each(|element| element[1] = 1);
                later.change_after(name, after, Some(&other));
                later.log();
                let column: Vec<i32> = array.read(&Hyperslab::new(&[0, 1], &[4, 1])).unwrap();
                let old: Vec<i32> = (0..4).map(|row| all[20 * row + 1]).collect();
                let new: Vec<i32> = old.iter().map(|element| element + 256).collect();
                assert!(column == old || column == new, "{is_sharded} {has_versions} {after} {column:?}");
            }
        }
    }
}

#[test]
fn the_first_error_in_order_is_told_and_nothing_stays_under_way() {
    for is_sharded in [false, true] {
        for requests in [1, 3, 64] {
            let (later, array) = made(is_sharded, false, |later| later.limits.requests = requests);
            let (one, other) = if is_sharded { ("c/0/1", "c/1/0") } else { ("c/0/2", "c/0/3") };
            later.fail(other, 6);
            assert_eq!(read_all(&array).unwrap_err().status(), 6);
            later.fail(one, 5);
            let error = read_all(&array).unwrap_err();
            assert_eq!((error.status(), error.chunk(), error.about()), (5, Some(&[0, 2][..]), one));
            assert_eq!(later.requests_in_flight(), 0);
        }
    }
}

#[test]
fn a_short_answer_is_an_error() {
    for is_sharded in [false, true] {
        let (later, array) = made(is_sharded, false, |_| {});
        read_all(&array).unwrap();
        later.shorten("c/1/1");
        assert!(matches!(read_all(&array).unwrap_err().kind(), ErrorKind::StoredLength { .. }));
    }
}

#[test]
fn a_wait_that_fails_ends_the_read() {
    for is_sharded in [false, true] {
        for after in (1..10).step_by(if cfg!(miri) { 4 } else { 1 }) {
            let (later, array) = made(is_sharded, false, |later| later.limits.requests = 2);
            later.break_after(after);
            match read_all(&array) {
                Ok(values) => assert!(is_sharded && after > 4 && values == numbers()),
                Err(error) => assert_eq!(error.status(), -299),
            }
            assert_eq!(later.requests_in_flight(), 0);
        }
    }
}

#[test]
fn a_read_that_is_ended_leaves_nothing_behind() {
    for is_sharded in [false, true] {
        for end_at in if cfg!(miri) { 7..8 } else { 0..16 } {
            let (later, array) = made(is_sharded, false, |later| later.limits.requests = 3);
            let plan = Plan::new(array.variable(), &Hyperslab::all(), Access::Read).unwrap();
            let (asked, mut out) = (Cell::new(0), vec![0; 4 * ELEMENTS]);
            let progress = |_: crate::transfer::Progress| {
                asked.set(asked.get() + 1);
                if asked.get() > end_at { 77 } else { 0 }
            };
            let options = Options::default().with_progress(&progress);
            let error = plan.read_chunks(array.store(), 0..16, &mut out, options).unwrap_err();
            assert_eq!((error.kind(), later.requests_in_flight()), (ErrorKind::Stopped(77), 0));
        }
    }
}

/// What is in flight when the program panics is cancelled, and its memory is there as long as it is in flight.
#[test]
fn a_panic_cancels_what_is_in_flight() {
    let (later, array) = made(false, false, |later| later.limits.requests = 5);
    let asked = Cell::new(0);
    let panics = |_| {
        asked.set(asked.get() + 1);
        if asked.get() == 9 { std::panic::resume_unwind(Box::new(())) } else { 0 }
    };
    let plan = Plan::new(array.variable(), &Hyperslab::all(), Access::Read).unwrap();
    let mut out = vec![0; plan.selected_bytes()];
    let options = Options::default().with_progress(&panics);
    let read = || plan.read_chunks(array.store(), 0..plan.num_chunks(), &mut out, options);
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(read)).is_err());
    assert_eq!((later.cancelled(), later.requests_in_flight()), (4, 0));
    assert_eq!(read_all(&array).unwrap(), numbers());
}

#[test]
fn what_the_cache_has_is_not_asked_for() {
    for is_sharded in [false, true] {
        let (later, array) = made(is_sharded, false, |later| later.gap = 1000);
        for c in 0..20 {
            let (start, count) = ([0, c], [16, 1]);
            let values: Vec<i32> = array.read(&Hyperslab::new(&start, &count)).unwrap();
            assert!(values.iter().zip(0..).all(|(value, row)| *value == 20 * row + c as i32));
            // Two shards have an index each, and two neighbours that are needed.
            let expected = match (is_sharded, c % 10) {
                (false, 0 | 5) | (true, 0) => 4,
                (true, 5) => 2,
                _ => 0,
            };
            assert_eq!(log(&later).len(), expected, "{c}");
        }
        // Without a cache they are.
        let mut array = Array::open_in(&storage(&later), "", Access::Read).unwrap();
        array.set_cache(None);
        for _ in 0..2 {
            later.log();
            let _: Vec<i32> = array.read(&Hyperslab::new(&[0, 3], &[16, 1])).unwrap();
            assert!(log(&later).len() >= 2);
        }
        let cache = Cache::new(1 << 20).unwrap();
        array.set_cache(Some(&cache));
        let _: Vec<i32> = array.read(&Hyperslab::new(&[0, 3], &[16, 1])).unwrap();
        let _: Vec<i32> = array.read(&Hyperslab::new(&[0, 4], &[16, 1])).unwrap();
        assert_eq!((cache.statistics().hits, cache.statistics().misses), (4, 4));
    }
}

#[test]
fn ranges_of_one_chunk_are_read_many_at_a_time() {
    // One chunk, of which a column is needed; and two of which each has a part of that.
    for (chunk, chunks) in [("[16, 20]", 1), ("[8, 20]", 2)] {
        for (requests, name) in [(1, ""), (5, ""), (64, ""), (3, "c/0/0"), (64, "c/0/0")] {
            let mut later = DelayedStorage::new();
            later.limits.requests = requests;
            later.put("zarr.json", metadata(false, false).replace("[4, 5]", chunk).as_bytes());
            let later = Arc::new(later);
            let array = Array::open_in(&storage(&later), "", Access::Write).unwrap();
            array.write(&Hyperslab::all(), &numbers()).unwrap();
            if !name.is_empty() {
                later.take(name);
            }
            later.reset();
            let values: Vec<i32> = array.read(&Hyperslab::new(&[0, 7], &[16, 2]).with_stride(&[1, 3])).unwrap();
            let rows_absent = if name.is_empty() { 0 } else { 16 / chunks };
            for (e, value) in values.into_iter().enumerate() {
                let (row, column) = (e / 2, 7 + 3 * (e % 2));
                assert_eq!(value, if row < rows_absent { -1 } else { (20 * row + column) as i32 });
            }
            if name.is_empty() {
                let log = log(&later);
                assert!(log.len() == 32 && log.iter().all(|(_, _, size)| *size == 4));
                assert_eq!(later.most(), (requests.min(32), 4 * requests.min(32)));
            }
            // A failure, and an end by the caller, leave nothing behind.
            later.fail("c/0/0", 5);
            let error = array.read::<i32>(&Hyperslab::new(&[0, 7], &[16, 1])).unwrap_err();
            assert_eq!((error.status(), error.chunk(), later.requests_in_flight()), (5, Some(&[0, 0][..]), 0));
            later.heal();
            let plan = Plan::new(array.variable(), &Hyperslab::new(&[0, 7], &[16, 1]), Access::Read).unwrap();
            let (asked, mut out) = (Cell::new(0), vec![0; 4 * 16]);
            let progress = |_: crate::transfer::Progress| {
                asked.set(asked.get() + 1);
                if asked.get() == chunks { 77 } else { 0 }
            };
            let options = Options::default().with_progress(&progress);
            let error = plan.read_chunks(array.store(), 0..chunks, &mut out, options).unwrap_err();
            assert_eq!((error.status(), later.requests_in_flight()), (77, 0));
        }
    }
}

/// Shards in memory with more chunks than are asked for at a time: some chunks of the second come before others of the
/// first.
#[test]
fn the_first_chunk_that_fails_is_found_in_any_shard() {
    const COLUMNS: usize = 2600;
    let storage = Storage::new(Memory::new()).unwrap();
    let lengths = [("[16, 20]", "[2, 2600]"), ("[8, 10]", "[2, 1300]"), ("[4, 5]", "[1, 1]")];
    let json = lengths.iter().fold(metadata(true, false), |json, (old, new)| json.replace(old, new));
    storage.write("zarr.json", json.as_bytes()).unwrap();
    let array = Array::open_in(&storage, "", Access::Write).unwrap();
    array.write(&Hyperslab::all(), &[7; 2 * COLUMNS]).unwrap();
    // By its index, a chunk in the second row of the first shard is too short, and one in the first row of the second.
    for (name, number) in [("c/0/0", COLUMNS / 2), ("c/0/1", 5)] {
        let mut shard = read_whole(&*storage, name, usize::MAX).unwrap().unwrap().to_vec();
        let index = shard.len() - 16 * COLUMNS;
        shard[index + 16 * number + 8] = 3;
        storage.write(name, &shard).unwrap();
    }
    let array = Array::open_in(&storage, "", Access::Read).unwrap();
    let plan = Plan::new(array.variable(), &Hyperslab::all(), Access::Read).unwrap();
    let first = COLUMNS / 2 + 5;
    for threads in [1, 2] {
        let (mut out, mut done) = (vec![0; 4 * 2 * COLUMNS], 0);
        let options = Options::default().with_threads(threads);
        let transfer = Transfer::new(&plan, None, array.store(), 0..2 * COLUMNS, &options).unwrap();
        let error = transfer.read(out.as_mut_slice().into(), &mut done).unwrap_err();
        assert_eq!((error.chunk(), done), (Some(&[0, first as isize][..]), first));
        assert!(out[..4 * first].chunks(4).all(|value| value == 7i32.to_ne_bytes()));
    }
}

/// One thread asks for the chunks of a shard, and others decode them: what is read, what is kept and which error comes
/// first is the same with any number of them.
#[cfg(feature = "codecs")]
#[test]
fn the_chunks_of_a_shard_are_decoded_by_all_threads() {
    const LEN: usize = 32;
    let values: Vec<u64> = (0..(16 * LEN * 8 * LEN) as u64).map(|i| i / 3 * i).collect();
    let (shape, chunk) = ([16 * LEN, 8 * LEN], [LEN, LEN]);
    let mut later = DelayedStorage::new();
    later.gap = LEN;
    let later = Arc::new(later);
    let description = crate::Description::new(&shape, crate::ElementType::UInt64)
        .with_chunk_shape(&chunk)
        .with_shard_shape(&shape)
        .with_codecs(&[("zstd", r#"{"level": 1}"#)]);
    let mut array = Array::create_in(&storage(&later), "", &description).unwrap();
    array.write(&Hyperslab::all(), &values).unwrap();
    let read = |array: &Array, threads: usize, [start, count]: [[usize; 2]; 2]| {
        let plan = Plan::new(array.variable(), &Hyperslab::new(&start, &count), Access::Read).unwrap();
        let (mut out, mut done) = (vec![0; plan.selected_bytes()], 0);
        let options = Options::default().with_threads(threads);
        let transfer = Transfer::new(&plan, None, array.store(), 0..plan.num_chunks(), &options).unwrap();
        let result = transfer.read(out.as_mut_slice().into(), &mut done).map_err(|error| error.to_string());
        assert_eq!(later.requests_in_flight(), 0);
        (result, done, out)
    };
    let boxes = [[[0, 0], shape], [[1, 1], [16 * LEN - 2, 8 * LEN - 2]], [[LEN, 0], [9 * LEN, 8 * LEN]]];
    let caches = [None, Some(crate::Cache::new(1 << 22)), Some(crate::Cache::from_second_use(1 << 20))];
    for cache in caches.map(|cache| cache.map(|cache| cache.unwrap())) {
        array.set_cache(cache.as_ref());
        for slab in boxes.into_iter().cycle().take(6) {
            let [[i, j], [rows, columns]] = slab;
            let of_row = |row: usize| &values[row * shape[1] + j..][..columns];
            let due: Vec<u8> = (i..i + rows).flat_map(of_row).flat_map(|value| value.to_ne_bytes()).collect();
            for threads in [4, 2, 1, 8] {
                let (result, _, out) = read(&array, threads, slab);
                result.unwrap();
                assert!(out == due, "{threads} {slab:?}");
            }
        }
    }
    array.set_cache(None);
    // Chunks whose frames begin with other bytes. The first of them is in all boxes.
    let mut shard = read_whole(&*later as &dyn ObjectStore, "c/0/0", usize::MAX).unwrap().unwrap().to_vec();
    let index = shard.len() - 16 * 128 - 4;
    for number in [121, 77, 100] {
        let offset: [u8; 8] = shard[index + 16 * number..][..8].try_into().unwrap();
        shard[u64::from_le_bytes(offset) as usize] ^= 0xFF;
    }
    later.put("c/0/0", &shard);
    for slab in boxes {
        let (result, done, _) = read(&array, 1, slab);
        assert!(result.is_err());
        for threads in [2, 3, 8] {
            let (other, other_done, _) = read(&array, threads, slab);
            assert_eq!((&result, done), (&other, other_done));
        }
    }
}

#[test]
fn places_that_lie_outside_of_a_shard_are_errors() {
    let (later, array) = made(true, false, |_| {});
    let mut shard = other_shard(false);
    shard[SHARD - INDEX..][..8].fill(0xEE);
    later.put("c/0/0", &shard);
    let error: Error = read_all(&array).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Corrupt { .. }));
    assert_eq!((error.chunk(), later.requests_in_flight()), (Some(&[0, 0][..]), 0));
    // A shard that is shorter than its index.
    later.put("c/0/0", &[0; INDEX - 1]);
    assert!(matches!(read_all(&array).unwrap_err().kind(), ErrorKind::Corrupt { .. }));
}

#[test]
fn as_many_reads_are_under_way_as_may_be() {
    for (requests, bytes, most) in
        [(1, None, 1), (3, None, 3), (8, Some(2 * CHUNK + CHUNK / 2), 2), (8, Some(1), 1), (64, None, 16)]
    {
        let (later, array) = made(true, false, |later| {
            (later.limits.requests, later.limits.bytes, later.limits.largest) = (requests, bytes, CHUNK);
        });
        // From then on the indices are known.
        read_all(&array).unwrap();
        later.reset();
        let begin = later.now();
        assert_eq!(read_all(&array).unwrap(), numbers());
        assert_eq!(later.most(), (most, most * CHUNK));
        assert!(later.now() - begin <= 100 * 16usize.div_ceil(most) as u64);
    }
}

#[test]
fn the_index_of_a_shard_is_read_once() {
    // More chunks than are looked at ahead, and shards that those end within.
    for requests in 1..=6 {
        let mut later = DelayedStorage::new();
        later.limits.requests = requests;
        later.put("zarr.json", metadata(true, false).replace("[16, 20]", "[80, 100]").as_bytes());
        let later = Arc::new(later);
        let array = Array::open_in(&storage(&later), "", Access::Write).unwrap();
        let values: Vec<i32> = (0..8000).collect();
        array.write(&Hyperslab::all(), &values).unwrap();
        later.reset();
        assert_eq!(read_all(&array).unwrap(), values);
        // Some with all that they have.
        let is_index = |begin: u64| begin > u64::MAX / 2;
        assert_eq!(log(&later).iter().filter(|(_, begin, _)| is_index(*begin)).count(), 100, "{requests}");
    }
}

#[test]
fn parts_of_chunks_are_read() {
    for (at_start, has_latency) in [(false, false), (false, true), (true, false), (true, true)] {
        let (later, array) = made(true, at_start, |later| later.has_latency = has_latency);
        for (row, column) in [(1, 2), (5, 7)] {
            later.log();
            let values: Vec<i32> = array.read(&Hyperslab::new(&[row, column], &[1, 1])).unwrap();
            assert_eq!(values, [(20 * row + column) as i32]);
            let chunk = 2 * (row / 4) + column / 5;
            let offset = CHUNK * chunk + 4 * (row % 4 * 5 + column % 5) + if at_start { INDEX } else { 0 };
            assert!(log(&later).contains(&("c/0/0".to_owned(), offset as u64, 4)));
        }
    }
    // A chunk that is shorter than it should be is refused, whatever is needed of it.
    for has_latency in [false, true] {
        let (later, array) = made(true, false, |later| later.has_latency = has_latency);
        let mut shard = other_shard(false);
        shard[SHARD - INDEX + 8..][..8].copy_from_slice(&20u64.to_le_bytes());
        later.put("c/0/0", &shard);
        for ((row, column), found, expected) in [((0, 4), 20, CHUNK), ((1, 0), 0, CHUNK - 20), ((1, 2), 0, CHUNK - 28)]
        {
            let error = array.read::<i32>(&Hyperslab::new(&[row, column], &[1, 1])).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::StoredLength { found, expected });
        }
    }
}

/// The length of a part is known without a request, and the version of the object that it is in is not.
#[test]
fn a_long_index_is_read_of_a_part_of_an_object() {
    let chunks = LONG_STEP / 16 + 1;
    let text = r#"{"zarr_format":3,"node_type":"array","shape":[9],"data_type":"uint8","fill_value":3,"chunk_grid":
        {"name":"regular","configuration":{"chunk_shape":[CHUNKS]}},"chunk_key_encoding":"default","codecs":[{
        "name":"sharding_indexed","configuration":{"chunk_shape":[1],"codecs":["bytes"],"index_codecs":[
        {"name":"bytes","configuration":{"endian":"little"}}]}}]}"#;
    let shard = [&[7][..], &[0; 8], &1u64.to_le_bytes(), &vec![0xff; 16 * (chunks - 1)]].concat();
    let later = DelayedStorage::new();
    later.put("tar", &[b"..", &shard[..], b"."].concat());
    let store = Shared::new(Box::new(Arc::new(later)) as Box<dyn ObjectStore>).unwrap();
    let target = Shared::new(Target { store: store.clone(), name: "tar".to_owned() }).unwrap();
    let text = text.replace("CHUNKS", &chunks.to_string()).into_bytes();
    let objects = [
        ("zarr.json".to_owned(), Reference::Bytes(Shared::new(text).unwrap())),
        ("c/0".to_owned(), Reference::Target(target, Some((2, shard.len() as u64)))),
    ];
    let storage = Storage::new(References::new(objects.into(), None, vec![store])).unwrap();
    let array = Array::open_in(&storage, "", Access::Read).unwrap();
    assert_eq!(array.read::<u8>(&Hyperslab::new(&[0], &[2])).unwrap(), [7, 3]);
}

#[test]
fn a_long_index_is_read_once_the_shard_is_long_enough() {
    for (chunks, is_long) in [(LONG_STEP / 16, false), (LONG_STEP / 16 + 1, true)] {
        let text = r#"{"zarr_format":3,"node_type":"array","shape":[9],"data_type":"uint8","fill_value":3,"chunk_grid":
            {"name":"regular","configuration":{"chunk_shape":[CHUNKS]}},"chunk_key_encoding":"default","codecs":[{
            "name":"sharding_indexed","configuration":{"chunk_shape":[1],"codecs":["bytes"],"index_codecs":[
            {"name":"bytes","configuration":{"endian":"little"}}]}}]}"#;
        let (index, text) = (16 * chunks, text.replace("CHUNKS", &chunks.to_string()));
        let empty = vec![0xff; index];
        let with_chunk = [&[7][..], &[0; 8], &1u64.to_le_bytes(), &empty[16..]].concat();
        for (shard, due) in
            [(None, Some(3)), (Some(&empty[1..]), None), (Some(&empty[..]), Some(3)), (Some(&with_chunk), Some(7))]
        {
            for has_latency in [true, false] {
                let mut later = DelayedStorage::new();
                later.has_latency = has_latency;
                later.put("zarr.json", text.as_bytes());
                shard.inspect(|shard| later.put("c/0", shard));
                let later = Arc::new(later);
                let array = Array::open_in(&storage(&later), "", Access::Read).unwrap();
                later.reset();
                let read = array.read::<u8>(&Hyperslab::new(&[0], &[1]));
                let log = later.log();
                // Of what has no room for its index nothing is read but how long it is.
                assert_eq!((log[0].1 == 0, log[0].2), if is_long { (true, 0) } else { (false, index) });
                let is_index_read = log.iter().any(|(_, _, size)| *size == index);
                assert_eq!(is_index_read, !is_long || shard.is_some_and(|shard| shard.len() >= index));
                match due {
                    Some(due) => assert_eq!(read.unwrap(), [due]),
                    None => {
                        let reason = "the shard is shorter than its index";
                        assert_eq!(read.unwrap_err().kind(), ErrorKind::Corrupt { codec: "sharding_indexed", reason });
                    }
                }
            }
        }
    }
}

/// More chunks than are asked for at a time: of a shard that was found absent the others are known to be.
#[test]
fn a_shard_that_is_absent_is_asked_for_once() {
    let mut later = DelayedStorage::new();
    later.limits.requests = 1;
    let later = Arc::new(later);
    let description = crate::Description::new(&[128], crate::ElementType::UByte)
        .with_chunk_shape(&[1])
        .with_shard_shape(&[64])
        .with_fill_value(&[7])
        .with_codecs(&[]);
    let array = Array::create_in(&storage(&later), "", &description).unwrap();
    array.write(&Hyperslab::new(&[64], &[64]), &(0..64).collect::<Vec<u8>>()).unwrap();
    later.reset();
    let values = array.read::<u8>(&Hyperslab::all()).unwrap();
    assert!(values[..64] == [7; 64] && values[64..].iter().copied().eq(0..64));
    assert_eq!(log(&later).iter().filter(|(name, ..)| name == "c/0").count(), 1);
}

/// A shard that is written anew while reads of several of its chunks wait: those after the first find the new index,
/// in which a chunk may be absent, or lie outside of the shard.
#[test]
fn chunks_that_wait_are_looked_up_in_the_new_index() {
    let entry = 4 * CHUNK + 10 + 3 * 16;
    for (number, is_absent) in [([0xff; 16], true), ([0x0f; 16], false)] {
        let (later, array) = made(true, false, |later| (later.limits.requests, later.limits.largest) = (1, CHUNK));
        read_all(&array).unwrap();
        let mut shard = other_shard(true);
        shard[entry..].copy_from_slice(&number);
        later.put("c/0/0", &shard);
        let read = read_all(&array);
        assert_eq!(later.requests_in_flight(), 0);
        if !is_absent {
            let error = read.unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Corrupt { .. }));
            assert_eq!(error.chunk(), Some(&[1, 1][..]));
            continue;
        }
        assert!(read.unwrap().into_iter().zip(0..).all(|(value, e)| {
            value
                == match (e / 20 < 8 && e % 20 < 10, e / 20 >= 4 && e % 20 >= 5) {
                    (true, true) => -1,
                    (true, false) => 1000,
                    (false, _) => e,
                }
        }));
    }
}

/// What does not begin is absent or an error, of whole chunks and of ranges of them.
#[test]
fn a_request_that_does_not_begin_is_absent_or_an_error() {
    for slab in [Hyperslab::all(), Hyperslab::new(&[0, 0], &[16, 10]).with_stride(&[1, 2])] {
        let (later, array) = made(false, false, |_| {});
        let all = array.read::<i32>(&slab).unwrap();
        later.begin_not("c/1/1", 0);
        let holes = array.read::<i32>(&slab).unwrap();
        let is_hole = |e: i32| (4..8).contains(&(e / 20)) && (5..10).contains(&(e % 20));
        assert!(all.iter().zip(&holes).all(|(&e, &found)| found == if is_hole(e) { -1 } else { e }));
        later.begin_not("c/1/1", 5);
        let error = array.read::<i32>(&slab).unwrap_err();
        assert_eq!((error.status(), error.chunk(), later.requests_in_flight()), (5, Some(&[1, 1][..]), 0));
    }
}

/// A chunk that is longer than it was expected to be is asked for once more, and may be another one then.
#[cfg(feature = "codecs")]
#[test]
fn a_chunk_that_is_longer_is_asked_for_again() {
    use crate::object::ObjectStore;

    let mut later = DelayedStorage::new();
    writing(64, None)(&mut later);
    later.knows_absent = true;
    let later = Arc::new(later);
    let description = crate::Description::new(&[5], crate::ElementType::UByte)
        .with_chunk_shape(&[4])
        .with_fill_value(&[9])
        .with_codecs(&[("gzip", "")]);
    let array = Array::create_in(&storage(&later), "", &description).unwrap();
    array.write(&Hyperslab::all(), &[1u8, 2, 3, 4, 5]).unwrap();
    let read = || array.read::<u8>(&Hyperslab::all());
    let mut stored = crate::object::read_whole(&*later as &dyn ObjectStore, "c/0", 1 << 20).unwrap().unwrap();
    // Zeros may follow.
    stored.resize(100_000, 0);
    later.put("c/0", &stored);
    assert_eq!(read().unwrap(), [1, 2, 3, 4, 5]);
    later.change_after("c/0", 1, None);
    assert_eq!(read().unwrap(), [9, 9, 9, 9, 5]);
    // It may be longer still, to be read or to be changed, but not each time.
    for (num_longer, is_read) in [(1, true), (6, true), (10, false)] {
        for is_changed in [false, true] {
            later.put("c/0", &stored);
            let mut longer = stored.clone();
            for i in 1..=num_longer {
                longer.resize(longer.len() / 5 * 6, 0);
                later.change_after("c/0", i, Some(&longer));
            }
            let result = if is_changed {
                array.write(&Hyperslab::new(&[1], &[4]), &[2u8, 3, 4, 5])
            } else {
                read().map(|found| assert_eq!(found, [1, 2, 3, 4, 5]))
            };
            assert_eq!(result.map_err(|error| error.kind()), if is_read { Ok(()) } else { Err(ErrorKind::Changed) });
            assert_eq!(later.requests_in_flight(), 0);
            later.reset();
        }
    }
}

/// What was stored of chunks is kept by the array's own cache when it comes, and decoded when it is needed again: alone
/// in the memory of its request, or among others.
#[cfg(feature = "codecs")]
#[test]
fn what_a_request_has_brought_is_kept_as_it_is_stored() {
    const LEN: usize = 4000;
    let values = |added: u32| (0..8 * LEN as u32).map(|i| i / 3 + added).collect::<Vec<_>>();
    for (codecs, shard, decoded) in [
        (&[("zstd", r#"{"level": 1}"#)][..], LEN, 4),
        (&[("gzip", "")], 4 * LEN, 4),
        // What need not be decoded is there at once.
        (&[], LEN, 0),
        (&[], 4 * LEN, 0),
    ] {
        let mut later = DelayedStorage::new();
        later.gap = 4 * LEN;
        let later = Arc::new(later);
        let (chunk, shard) = ([LEN], [shard]);
        let description = crate::Description::new(&[8 * LEN], crate::ElementType::UInt).with_chunk_shape(&chunk);
        let description = if shard == chunk { description } else { description.with_shard_shape(&shard) };
        let writer = Array::create_in(&storage(&later), "", &description.with_codecs(codecs)).unwrap();
        writer.write(&Hyperslab::all(), &values(0)).unwrap();
        let mut array = Array::open_in(&storage(&later), "", Access::Write).unwrap();
        let cache = crate::Cache::from_second_use(1 << 20).unwrap();
        array.set_cache(Some(&cache));
        // Parts of three chunks, one of them twice.
        let read = |begin: usize, num_bytes: usize, due: &[u32]| {
            later.reset();
            for (offset, end) in [(begin, begin + num_bytes), (2 * LEN + begin, 3 * LEN + 10)] {
                let found = array.read::<u32>(&Hyperslab::new(&[LEN + offset], &[end - offset])).unwrap();
                assert_eq!(found, due[LEN + offset..LEN + end]);
            }
            let found = array.read::<u32>(&Hyperslab::new(&[LEN], &[2])).unwrap();
            assert_eq!(found, due[LEN..LEN + 2]);
            (!log(&later).is_empty(), cache.statistics())
        };
        let (before, statistics) = read(1, LEN / 2, &values(0));
        assert!(before);
        let misses = statistics.misses;
        let (again, statistics) = read(1, LEN - 1, &values(0));
        assert!(!again, "{codecs:?} {shard:?}");
        assert!(statistics.misses <= misses + decoded && statistics.bytes <= 8 * 4 * LEN);
        let (again, last) = read(5, LEN - 6, &values(0));
        assert!(!again && last.misses == statistics.misses && last.hits > statistics.hits);
        // What was written is read anew.
        array.write(&Hyperslab::all(), &values(7)).unwrap();
        assert!(read(1, LEN / 2, &values(7)).0 && !read(1, LEN - 1, &values(7)).0);
    }
}

/// What was stored of a chunk is not kept if the chunk cannot be decoded, and nothing else is kept in its place.
#[cfg(feature = "codecs")]
#[test]
fn what_cannot_be_decoded_is_not_kept() {
    const LEN: usize = 1000;
    let values: Vec<u32> = (0..6 * LEN as u32).map(|i| i / 3).collect();
    // The chunks come in any order, by one request after the other or all together.
    for requests in [1, 2, 16] {
        let mut later = DelayedStorage::new();
        later.limits.requests = requests;
        let later = Arc::new(later);
        let description = crate::Description::new(&[6 * LEN], crate::ElementType::UInt)
            .with_chunk_shape(&[LEN])
            .with_codecs(&[("zstd", r#"{"level": 1}"#)]);
        let mut array = Array::create_in(&storage(&later), "", &description).unwrap();
        array.write(&Hyperslab::all(), &values).unwrap();
        let cache = crate::Cache::from_second_use(1 << 20).unwrap();
        array.set_cache(Some(&cache));
        let last = crate::object::read_whole(&*later as &dyn crate::object::ObjectStore, "c/5", 1 << 20);
        let last = last.unwrap().unwrap();
        later.put("c/5", &last[..last.len() / 2]);
        let end = 6 * LEN - 1;
        assert!(array.read::<u32>(&Hyperslab::new(&[0], &[end])).is_err());
        later.put("c/5", &last);
        for begin in [5 * LEN + 1, 5 * LEN, 0] {
            let found = array.read::<u32>(&Hyperslab::new(&[begin], &[end - begin])).unwrap();
            assert_eq!(found, values[begin..end], "{requests}");
        }
    }
}

/// What a read of several chunks has kept is there for one of a single chunk, and the reverse.
#[cfg(feature = "codecs")]
#[test]
fn a_chunk_is_requested_once_however_it_is_read() {
    const LEN: usize = 1000;
    let values: Vec<u32> = (0..3 * LEN as u32).map(|i| i / 3).collect();
    let later = Arc::new(DelayedStorage::new());
    let description = crate::Description::new(&[3 * LEN], crate::ElementType::UInt)
        .with_chunk_shape(&[LEN])
        .with_codecs(&[("zstd", r#"{"level": 1}"#)]);
    let mut array = Array::create_in(&storage(&later), "", &description).unwrap();
    array.write(&Hyperslab::all(), &values).unwrap();
    for several_first in [true, false] {
        array.set_cache(Some(&crate::Cache::from_second_use(1 << 20).unwrap()));
        later.reset();
        let read = |begin: usize, count: usize| {
            let found = array.read::<u32>(&Hyperslab::new(&[begin], &[count])).unwrap();
            assert_eq!(found, values[begin..][..count]);
        };
        let several = || read(1, 2 * LEN - 2);
        if several_first {
            several();
        }
        // A part of a chunk, and all of it.
        for (begin, count) in [(LEN + 5, 7), (5, 9), (LEN, LEN), (3, 5)] {
            read(begin, count);
        }
        several();
        assert_eq!(log(&later).len(), 2, "{several_first}");
    }
}

/// All objects of the array, as they are stored.
fn stored(later: &DelayedStorage) -> Vec<Option<Vec<u8>>> {
    let names = (0..4).flat_map(|i| (0..4).map(move |j| format!("c/{i}/{j}")));
    names.map(|name| crate::object::read_whole(later, &name, 1 << 20).unwrap()).collect()
}

/// Writes to what a slab selects, with an element less than its number each, and tells how many chunks are done.
fn write_less(array: &Array, slab: &Hyperslab<'_>) -> (Result<()>, usize) {
    let plan = Plan::new(array.variable(), slab, Access::Write).unwrap();
    let data: Vec<u8> = (0..plan.selected_bytes() as i32 / 4).flat_map(|i| (-i).to_ne_bytes()).collect();
    let mut done = usize::MAX;
    let options = Options::default();
    let transfer = Transfer::new(&plan, None, array.store(), 0..plan.num_chunks(), &options).unwrap();
    (transfer.write(data[..].into(), &mut done), done)
}

fn writing(requests: usize, bytes: Option<usize>) -> impl FnOnce(&mut DelayedStorage) {
    move |later| (later.writes, later.limits.requests, later.limits.bytes) = (true, requests, bytes)
}

#[test]
fn chunks_are_written_many_at_a_time() {
    for (is_sharded, size, num) in [(false, CHUNK, 16), (true, SHARD, 4)] {
        let (one, array) = made(is_sharded, false, |_| {});
        write_less(&array, &Hyperslab::all()).0.unwrap();
        let expected = stored(&one);
        for (requests, bytes, most) in [
            (1, None, 1),
            (3, None, 3),
            (64, None, num),
            (64, Some(3 * size), 3),
            (64, Some(3 * size - 1), 2),
            (64, Some(0), 1),
        ] {
            let (later, array) = made(is_sharded, false, writing(requests, bytes));
            let begun = later.now();
            assert_eq!(write_less(&array, &Hyperslab::all()), (Ok(()), num));
            assert_eq!((later.requests_in_flight(), later.most_writes()), (0, most));
            assert_eq!((later.most(), later.written().len(), later.log().len()), ((most, most * size), num, 0));
            // In lines of requests, each of which takes up to 99.
            assert!(later.now() - begun <= 99 * num.div_ceil(most) as u64);
            assert_eq!(stored(&later), expected);
        }
    }
}

#[test]
fn what_is_not_replaced_is_read_in_flight_before_it_is_written() {
    for (is_sharded, size, num, covered) in [(false, CHUNK, 16, 4), (true, SHARD, 4, 0)] {
        // The chunks at the edge are written in part.
        for slab in [Hyperslab::new(&[1, 1], &[14, 18]), Hyperslab::new(&[0, 3], &[16, 12]).with_stride(&[1, 1])] {
            let (one, array) = made(is_sharded, false, |_| {});
            // One of the objects is not there.
            one.take("c/1/1");
            let num_chunks = write_less(&array, &slab).1;
            let expected = stored(&one);
            for (requests, bytes) in [(1, None), (3, None), (64, None), (64, Some(2 * size)), (64, Some(0))] {
                let (later, array) = made(is_sharded, false, writing(requests, bytes));
                later.take("c/1/1");
                assert_eq!(write_less(&array, &slab), (Ok(()), num_chunks));
                let most = requests.min(bytes.map_or(usize::MAX, |bytes| (bytes / size).max(1)));
                assert!(later.most().0 <= most && later.most().1 <= most * size, "{:?}", later.most());
                assert!(requests < 64 || bytes.is_some() || later.most().0 > num / 2);
                let (read, written) = (later.log(), later.written());
                assert_eq!(written.len(), num_chunks);
                assert!(read.len() <= num_chunks && num_chunks - read.len() >= covered);
                assert!(read.iter().all(|(_, offset, len)| (*offset, *len) == (0, size)));
                assert_eq!((later.requests_in_flight(), stored(&later) == expected), (0, true));
            }
        }
    }
}

#[test]
fn a_write_that_fails_ends_the_call_and_leaves_nothing_in_flight() {
    let slab = || Hyperslab::new(&[1, 1], &[14, 18]);
    for is_sharded in [false, true] {
        let (name, number) = if is_sharded { ("c/1/0", 2) } else { ("c/1/2", 6) };
        for is_begun in [true, false] {
            let (later, array) = made(is_sharded, false, writing(64, None));
            let before = stored(&later);
            if is_begun {
                later.fail(name, 77)
            } else {
                later.begin_not(name, 77)
            }
            for slab in [Hyperslab::all(), slab()] {
                let (result, done) = write_less(&array, &slab);
                let error = result.unwrap_err();
                assert_eq!((error.status(), error.about(), done), (77, name, number));
                assert_eq!(later.requests_in_flight(), 0);
            }
            later.heal();
            let after = stored(&later);
            // Each object is what it was or what was written: all before the one that failed, and not this one.
            let (one, array) = made(is_sharded, false, |_| {});
            write_less(&array, &Hyperslab::all()).0.unwrap();
            write_less(&array, &slab()).0.unwrap();
            let width = if is_sharded { 2 } else { 4 };
            let at = |i: usize| i / width * 4 + i % width;
            assert_eq!(after[at(number)], before[at(number)]);
            assert!((0..number).all(|i| after[at(i)] == stored(&one)[at(i)]));
        }
    }
}

#[test]
fn a_write_ends_when_the_program_or_the_storage_says_so() {
    for slab in [Hyperslab::all(), Hyperslab::new(&[1, 1], &[14, 18])] {
        let (later, array) = made(false, false, writing(5, None));
        let plan = Plan::new(array.variable(), &slab, Access::Write).unwrap();
        let data = vec![0; plan.selected_bytes()];
        let asked = Cell::new(0);
        let stop = |_| {
            asked.set(asked.get() + 1);
            if asked.get() == 9 { 33 } else { 0 }
        };
        let options = Options::default().with_progress(&stop);
        let result = plan.write_chunks(array.store(), 0..plan.num_chunks(), &data, options);
        assert_eq!(result.unwrap_err().kind(), ErrorKind::Stopped(33));
        assert_eq!((later.requests_in_flight(), asked.get()), (0, 9));
        // Waiting fails: the storage has ended all of them.
        let (later, array) = made(false, false, writing(5, None));
        later.break_after(7);
        let (result, done) = write_less(&array, &slab);
        assert_eq!((result.unwrap_err().kind(), later.requests_in_flight()), (ErrorKind::Callback(-299), 0));
        assert!(done <= 7);
    }
}

#[test]
fn progress_of_writes_in_flight_counts_what_is_stored() {
    let (later, array) = made(true, false, writing(64, None));
    let plan = Plan::new(array.variable(), &Hyperslab::new(&[1, 1], &[14, 18]), Access::Write).unwrap();
    let last = Cell::new((0, 0));
    let told = |progress: crate::transfer::Progress| {
        assert!(progress.chunks_done >= last.get().0 && progress.bytes_done >= last.get().1);
        last.set((progress.chunks_done, progress.bytes_done));
        0
    };
    let options = Options::default().with_progress(&told);
    plan.write_chunks(array.store(), 0..4, &vec![0; plan.selected_bytes()], options).unwrap();
    assert_eq!((last.get(), later.requests_in_flight()), ((4, 14 * 18 * 4), 0));
}

/// What one handle writes the other one finds, whatever its cache has, and changes no more than it writes to.
#[test]
fn handles_lose_no_writes_in_flight() {
    for is_sharded in [false, true] {
        let (later, one) = made(is_sharded, false, writing(64, None));
        let mut other = Array::open_in(&storage(&later), "", Access::Write).unwrap();
        other.set_cache(Some(&Cache::new(1 << 20).unwrap()));
        let mut expected = read_all(&other).unwrap();
        for round in 0..12usize {
            let (row, column, value) = (round % 5, round % 7, -(round as i32));
            let (start, count) = ([row, column], [11, 13]);
            let slab = Hyperslab::new(&start, &count);
            let array = if round % 2 == 0 { &one } else { &other };
            array.write(&slab, &[value; 11 * 13]).unwrap();
            (row..row + 11).for_each(|i| expected[20 * i + column..][..13].fill(value));
            // The handle that has written, by its cache, and one that has none.
            assert_eq!((read_all(array).unwrap() == expected, read_all(&one).unwrap() == expected), (true, true));
        }
        assert!(later.written().len() > 12);
    }
}

/// How long a chunk without codecs is, is known, so it is asked for at once, however long it is.
#[cfg(not(miri))]
#[test]
fn a_part_of_a_very_large_chunk_is_written() {
    const LEN: usize = (64 << 20) + 1;
    let mut later = DelayedStorage::new();
    writing(1, None)(&mut later);
    let later = Arc::new(later);
    let description = crate::Description::new(&[LEN + 1], crate::ElementType::UByte).with_chunk_shape(&[LEN]);
    let array = Array::create_in(&storage(&later), "", &description.with_codecs(&[])).unwrap();
    let mut expected = vec![0u8; 8];
    for (start, value) in [(LEN - 6, 1), (LEN - 3, 2)] {
        let count = LEN + 1 - start;
        array.write(&Hyperslab::new(&[start], &[count]), &vec![value; count]).unwrap();
        expected[8 - count..].fill(value);
        assert_eq!(array.read::<u8>(&Hyperslab::new(&[LEN - 7], &[8])).unwrap(), expected);
    }
}

/// A chunk without codecs takes as much memory as it has bytes, unless it lands in the caller's.
#[test]
fn chunks_without_codecs_are_limited() {
    let part = || Hyperslab::new(&[1, 1], &[14, 18]);
    for is_sharded in [false, true] {
        let (later, _) = made(is_sharded, false, writing(64, None));
        let objects = Arc::new(Memory::new());
        objects.write("zarr.json", metadata(is_sharded, false).as_bytes()).unwrap();
        let array = Array::open_in(&Storage::new(objects.clone()).unwrap(), "", Access::Write).unwrap();
        array.write(&Hyperslab::all(), &numbers()).unwrap();
        for (is_enough, bytes) in [(true, CHUNK), (false, CHUNK - 1)] {
            let limits = crate::MemoryLimits::default().with_chunk_bytes(bytes);
            let (mut far, mut near) = (storage(&later), Storage::new(objects.clone()).unwrap());
            far.set_memory_limits(limits);
            near.set_memory_limits(limits);
            let [far, near] = [far, near].map(|storage| Array::open_in(&storage, "", Access::Write).unwrap());
            let due = || if is_enough { Ok(()) } else { Err(()) };
            let of = |result: Result<Vec<i32>>| {
                result.map(|_| ()).map_err(|error| {
                    let limit = ErrorKind::Limit { name: "chunk_bytes", needed: Some(CHUNK), limit: bytes };
                    assert_eq!((error.kind(), later.requests_in_flight()), (limit, 0));
                })
            };
            assert_eq!((of(read_all(&far)), of(read_all(&near))), (due(), due()));
            // From the first element of a chunk to the last.
            let ends = || Hyperslab::new(&[0, 0], &[2, 2]).with_stride(&[3, 4]);
            assert_eq!((of(far.read(&ends())), of(near.read(&ends()))), (due(), due()));
            assert_eq!(near.read::<i32>(&Hyperslab::new(&[4, 5], &[4, 5])).unwrap()[..2], [85, 86]);
            if !is_sharded {
                let written = write_less(&far, &part()).0.map(|()| Vec::new());
                assert_eq!(of(written), due());
            }
        }
    }
}

/// An object that is longer than any that the library would write is asked for once more, within the bound.
#[test]
#[cfg(feature = "codecs")]
fn a_chunk_that_was_stored_longer_is_changed_within_the_bound() {
    let mut later = DelayedStorage::new();
    writing(64, Some(1000))(&mut later);
    let codecs = r#""codecs": [{"name": "bytes", "configuration": {"endian": "little"}},
        {"name": "zstd", "configuration": {"level": 1, "checksum": false}}]"#;
    let metadata = metadata(false, false);
    let begin = metadata.rfind(r#""codecs""#).unwrap();
    later.put("zarr.json", format!("{}{codecs}}}", &metadata[..begin]).as_bytes());
    let later = Arc::new(later);
    let array = Array::open_in(&storage(&later), "", Access::Write).unwrap();
    array.write(&Hyperslab::all(), &numbers()).unwrap();
    // A frame that is skipped in front of the chunk.
    for i in 0..4 {
        let name = format!("c/{i}/1");
        let chunk = crate::object::read_whole(&*later, &name, 1 << 20).unwrap().unwrap();
        let mut longer = [0x50, 0x2a, 0x4d, 0x18, 0x58, 0x02, 0, 0].to_vec();
        longer.resize(8 + 600, 0);
        longer.extend_from_slice(&chunk);
        later.put(&name, &longer);
    }
    later.reset();
    array.write(&Hyperslab::new(&[0, 1], &[16, 18]), &[5; 16 * 18]).unwrap();
    let mut expected = numbers();
    expected.chunks_exact_mut(20).for_each(|row| row[1..19].fill(5));
    assert!(later.most().1 <= 1000, "{:?}", later.most());
    assert_eq!(read_all(&array).unwrap(), expected);
}
