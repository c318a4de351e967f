//! Two handles of one array: what one writes while, or before, the other reads and writes.
//!
//! Each handle has its own cache, as arrays have that are opened by different programs. Small tests of what is promised
//! are here; those at random try all operations over all storages:
//!
//! ```text
//!   turns.rs       handles that take turns, compared with a model
//!   together.rs    threads that write and read at the same time
//!   processes.rs   processes that do
//!   model.rs       what is stored, and what a handle may find
//!   storages.rs    directories, memory, a new zip file, objects of a program's own
//! ```
//!
//! They take some seconds, or as many each as `NCZCHUNK_SHARING_SECONDS` says (scripts/check has it). A failure prints
//! its seed, and `NCZCHUNK_SEED=n` repeats it.
#![cfg(all(feature = "arrays", not(miri)))]

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use nczchunk::key::Separator;
use nczchunk::object::{Memory, Storage};
use nczchunk::{Access, Array, Description, Dimension, ElementType, Endian, Hyperslab, Options, Plan};

mod model;
#[cfg(unix)]
mod processes;
mod storages;
mod together;
mod turns;

use storages::Temporary;

/// The seed of the tests at random: `NCZCHUNK_SEED`, or one that is printed.
fn seed() -> u64 {
    let seed = std::env::var("NCZCHUNK_SEED").map_or_else(|_| fastrand::u64(..1 << 48), |seed| seed.parse().unwrap());
    println!("NCZCHUNK_SEED={seed}");
    seed
}

/// How long one of the tests at random takes: `NCZCHUNK_SHARING_SECONDS`, or so many seconds.
fn seconds(short: u64) -> Duration {
    let long = std::env::var("NCZCHUNK_SHARING_SECONDS").map(|seconds| seconds.parse().expect("a number of seconds"));
    Duration::from_secs(long.unwrap_or(short))
}

/// Both kinds of storage that need nothing else: a directory and memory.
fn storages(test: &str) -> [(Temporary, Storage); 2] {
    let (one, other) = (Temporary::new(&format!("{test}-directory")), Temporary::new(&format!("{test}-memory")));
    let (directory, memory) = (one.storage(), Storage::new(Memory::new()).unwrap());
    [(one, directory), (other, memory)]
}

/// One handle replaces all elements again and again, by ones and by twos, while the other is read for some time; a read
/// tells what is wrong with it.
fn while_it_is_replaced(writer: &Array, mut read: impl FnMut() -> Result<(), String>) {
    let num = writer.variable().dimensions().iter().map(Dimension::len).product();
    let versions = [1, 2].map(|value: i32| vec![value; num]);
    let write = |version: &Vec<i32>| writer.write(&Hyperslab::all(), version).unwrap();
    write(&versions[0]);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| versions.iter().cycle().take_while(|_| !is_over.load(Relaxed)).for_each(write));
        let (begun, mut wrong) = (Instant::now(), Ok(()));
        while wrong.is_ok() && begun.elapsed() < Duration::from_millis(400) {
            wrong = read();
        }
        is_over.store(true, Relaxed);
        wrong.unwrap();
    });
}

/// A column of a chunk, which is read in many ranges, is of one version.
#[test]
fn a_chunk_is_read_old_or_new() {
    const SHAPE: [usize; 2] = [64, 1024];
    for is_sharded in [false, true] {
        for (_temporary, storage) in storages(&format!("mixed-{is_sharded}")) {
            let plain = Description::new(&SHAPE, ElementType::Int).with_chunk_shape(&SHAPE).with_codecs(&[]);
            let description = if is_sharded { plain.with_shard_shape(&SHAPE) } else { plain };
            let writer = Array::create_in(&storage, "x", &description).unwrap();
            let reader = Array::open_in(&storage, "x", Access::Read).unwrap();
            while_it_is_replaced(&writer, || {
                let column: Vec<i32> = reader.read(&Hyperslab::new(&[0, 5], &[SHAPE[0], 1])).unwrap();
                let is_one = column.iter().all(|value| *value == column[0]);
                if is_one { Ok(()) } else { Err(format!("{column:?}")) }
            });
        }
    }
}

/// Each shard is of one version, whether its chunks are looked at together or are too many for that, and whether one
/// thread reads them or several.
#[test]
fn a_shard_is_read_old_or_new() {
    const SHAPE: [usize; 2] = [16, 1024];
    for (chunk, shard) in [([1, 8], [8, 512]), ([1, 4], [16, 1024]), ([1, 8], [2, 128])] {
        for (_temporary, storage) in storages(&format!("generations-{}", shard[0])) {
            let description = Description::new(&SHAPE, ElementType::Int)
                .with_chunk_shape(&chunk)
                .with_shard_shape(&shard)
                .with_codecs(&[]);
            let writer = Array::create_in(&storage, "x", &description).unwrap();
            let mut reader = Array::open_in(&storage, "x", Access::Read).unwrap();
            reader.set_cache(None);
            let plan = Plan::new(reader.variable(), &Hyperslab::all(), Access::Read).unwrap();
            let mut bytes = vec![0; plan.memory_bytes()];
            let mut threads = [1, 2, 3].into_iter().cycle();
            while_it_is_replaced(&writer, || {
                let options = Options::default().with_threads(threads.next().unwrap());
                plan.read_chunks(reader.store(), 0..plan.num_chunks(), &mut bytes, options).unwrap();
                for row in (0..SHAPE[0]).step_by(shard[0]) {
                    for column in (0..SHAPE[1]).step_by(shard[1]) {
                        let element = |i: usize, j: usize| &bytes[4 * ((row + i) * SHAPE[1] + column + j)..][..4];
                        let first = element(0, 0);
                        if !(0..shard[0]).all(|i| (0..shard[1]).all(|j| element(i, j) == first)) {
                            return Err(format!("the shard at {row}, {column} is of two versions"));
                        }
                    }
                }
                Ok(())
            });
        }
    }
}

/// Handles take turns: what one has replaced, the other does not look for where it was before. The shards have the same
/// length, and other chunks in them.
#[test]
fn the_index_of_a_shard_is_that_of_the_shard_that_is_read() {
    for (_temporary, storage) in storages("stale") {
        let description = Description::new(&[4], ElementType::Int)
            .with_chunk_shape(&[2])
            .with_shard_shape(&[4])
            .with_fill_value(&[0; 4])
            .with_codecs(&[]);
        let reader = Array::create_in(&storage, "x", &description).unwrap();
        let writer = Array::open_in(&storage, "x", Access::Write).unwrap();
        let all = Hyperslab::all();
        for i in 1..300 {
            writer.write(&all, &[i, i + 1, 0, 0]).unwrap();
            assert_eq!(reader.read::<i32>(&all).unwrap(), [i, i + 1, 0, 0]);
            // Twice, so that a file may get the inode of the one that was read.
            writer.write(&all, &[0, 0, 7, 8]).unwrap();
            writer.write(&all, &[0, 0, 7, 8]).unwrap();
            assert_eq!(reader.read::<i32>(&all).unwrap(), [0, 0, 7, 8]);
        }
    }
}

/// What a cache remembers is read until the handle is told to look: chunks, the shape and the attributes.
#[test]
fn a_handle_sees_what_another_has_written_once_it_is_refreshed() {
    for is_sharded in [false, true] {
        for (_temporary, storage) in storages(&format!("refresh-{is_sharded}")) {
            let codecs: &[(&str, &str)] = if cfg!(feature = "codecs") { &[("zstd", "")] } else { &[] };
            let plain = Description::new(&[6], ElementType::Int).with_chunk_shape(&[6]).with_codecs(codecs);
            let description = if is_sharded { plain.with_shard_shape(&[6]) } else { plain };
            let mut writer = Array::create_in(&storage, "x", &description).unwrap();
            let mut reader = Array::open_in(&storage, "x", Access::Read).unwrap();
            let read = |reader: &Array| reader.read::<i32>(&Hyperslab::new(&[0], &[3])).unwrap();
            for i in 1..50 {
                writer.write(&Hyperslab::all(), &[i; 6]).unwrap();
                reader.refresh().unwrap();
                // Twice, so that it is in the cache.
                assert_eq!((read(&reader), read(&reader)), (vec![i; 3], vec![i; 3]));
            }
            writer.resize(&[12]).unwrap();
            writer.set_attribute("units", "K").unwrap();
            assert_eq!((reader.variable().dimensions()[0].len(), reader.attributes().len()), (6, 0));
            reader.refresh().unwrap();
            assert_eq!((reader.variable().dimensions()[0].len(), reader.attributes().len()), (12, 1));
            // An array that is another one has to be opened again, and the handle is what it was.
            let other = Description::new(&[6], ElementType::Int).with_chunk_shape(&[3]).with_overwrite(true);
            Array::create_in(&storage, "x", &other).unwrap();
            assert!(reader.refresh().unwrap_err().to_string().contains("open it again"));
            assert_eq!(reader.variable().dimensions()[0].len(), 12);
        }
    }
}

/// Handles take turns at parts of one chunk. Each starts from what is stored, not from what it remembers.
#[test]
fn a_part_is_written_to_what_is_stored() {
    let codecs: &[&[(&str, &str)]] = if cfg!(feature = "codecs") { &[&[], &[("zstd", "")]] } else { &[&[]] };
    for codecs in codecs {
        for is_sharded in [false, true] {
            for (_temporary, storage) in storages(&format!("turns-{is_sharded}-{}", codecs.len())) {
                let plain = Description::new(&[6], ElementType::Int).with_chunk_shape(&[6]).with_codecs(codecs);
                let description = if is_sharded { plain.with_shard_shape(&[6]) } else { plain };
                let a = Array::create_in(&storage, "x", &description).unwrap();
                let b = Array::open_in(&storage, "x", Access::Write).unwrap();
                let stored = || {
                    let array = Array::open_in(&storage, "x", Access::Read).unwrap();
                    array.read::<i32>(&Hyperslab::all()).unwrap()
                };
                a.write(&Hyperslab::new(&[0], &[2]), &[1, 1]).unwrap();
                b.read::<i32>(&Hyperslab::new(&[0], &[1])).unwrap();
                a.read::<i32>(&Hyperslab::new(&[0], &[1])).unwrap();
                b.write(&Hyperslab::new(&[2], &[2]), &[2, 2]).unwrap();
                assert_eq!(stored()[..4], [1, 1, 2, 2]);
                // Parts of one chunk are not some from the cache and some from where it is stored.
                let (whole, part) =
                    (a.read::<i32>(&Hyperslab::all()).unwrap(), a.read::<i32>(&Hyperslab::new(&[1], &[4])).unwrap());
                assert_eq!(whole[1..5], part);
                a.write(&Hyperslab::new(&[4], &[2]), &[3, 3]).unwrap();
                assert_eq!(stored(), [1, 1, 2, 2, 3, 3]);
            }
        }
    }
}

/// One with the same chunks and type that is stored otherwise: with other bytes, and under other names.
#[test]
fn a_shape_is_changed_of_the_array_that_is_stored() {
    for (_temporary, storage) in storages("resize-replaced") {
        let [old_fill, fill] = [11i32, 22].map(i32::to_ne_bytes);
        let plain = Description::new(&[8], ElementType::Int).with_chunk_shape(&[4]);
        Array::create_in(&storage, "x", &plain.with_codecs(&[]).with_fill_value(&old_fill)).unwrap();
        let mut a = Array::open_in(&storage, "x", Access::Write).unwrap();
        let other = plain.with_endian(Endian::Big).with_separator(Separator::Dot).with_fill_value(&fill);
        let b = Array::create_in(&storage, "x", &other.with_overwrite(true)).unwrap();
        b.write(&Hyperslab::all(), &[1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
        a.resize(&[3]).unwrap();
        a.resize(&[8]).unwrap();
        assert_eq!(a.read::<i32>(&Hyperslab::all()).unwrap(), [1, 2, 3, 22, 22, 22, 22, 22]);
        a.write(&Hyperslab::new(&[4], &[2]), &[5, 6]).unwrap();
        assert_eq!(b.read::<i32>(&Hyperslab::all()).unwrap(), [1, 2, 3, 22, 5, 6, 22, 22]);
    }
}

/// Who makes an array smaller that another has made larger meanwhile cuts off what the other has written.
#[test]
fn a_shape_is_changed_from_the_one_that_is_stored() {
    for is_sharded in [false, true] {
        for (_temporary, storage) in storages(&format!("resize-{is_sharded}")) {
            let plain = Description::new(&[4], ElementType::Int).with_chunk_shape(&[2]).with_codecs(&[]);
            let description = if is_sharded { plain.with_shard_shape(&[4]) } else { plain };
            let mut a = Array::create_in(&storage, "x", &description).unwrap();
            let mut b = Array::open_in(&storage, "x", Access::Write).unwrap();
            b.resize(&[12]).unwrap();
            b.write(&Hyperslab::all(), &[1; 12]).unwrap();
            b.set_attribute("units", "K").unwrap();
            a.resize(&[5]).unwrap();
            a.resize(&[12]).unwrap();
            assert_eq!(a.read::<i32>(&Hyperslab::all()).unwrap(), [1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0]);
            // It is that array's shape, not that of one which has taken its place.
            let other = Description::new(&[6], ElementType::Int).with_chunk_shape(&[3]).with_overwrite(true);
            let other = Array::create_in(&storage, "x", &other).unwrap();
            other.write(&Hyperslab::all(), &[2; 6]).unwrap();
            assert!(a.resize(&[2]).unwrap_err().to_string().contains("open it again"));
            assert_eq!(other.read::<i32>(&Hyperslab::all()).unwrap(), [2; 6]);
        }
    }
}
