//! Arrays that are rechunked in every way, compared with what they were.

use std::cell::Cell;
use std::ffi::c_int;
use std::sync::atomic::AtomicBool;

use super::apart::{AROUND, WITHIN};
use super::place::WORK;
use super::*;
use crate::array::ArrayFormat;
use crate::chunk_list::ChunkRun;
use crate::object::delayed::DelayedStorage;
use crate::object::{Entry, read_whole};
use crate::pass_on;
use crate::transfer::Progress;

fn memory() -> Storage {
    Storage::new(Memory::new()).unwrap()
}

/// An array with a different value in each element, except for a fill value here and there.
fn source(storage: &Storage, shape: &[usize], chunks: &[usize]) -> (Array, Vec<i32>) {
    let fill = (-1i32).to_ne_bytes();
    let description = Description::new(shape, ElementType::Int).with_chunk_shape(chunks).with_codecs(&[]);
    let description = description.with_fill_value(&fill);
    let array = Array::create_in(storage, "source", &description).unwrap();
    let elements = shape.iter().product::<usize>() as i32;
    let values: Vec<i32> = (0..elements).map(|i| if i % 5 == 0 || i < elements / 4 { -1 } else { i }).collect();
    array.write(&Hyperslab::all(), &values).unwrap();
    (array, values)
}

fn values(array: &Array) -> Vec<i32> {
    array.read(&Hyperslab::all()).unwrap()
}

fn objects(storage: &Storage, prefix: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut below = Vec::new();
    storage
        .list(prefix, &mut |last, entry| {
            let name = if prefix.is_empty() { last.to_owned() } else { format!("{prefix}/{last}") };
            if entry == Entry::Object {
                found.push(name)
            } else {
                below.push(name)
            }
            Ok(())
        })
        .unwrap();
    below.iter().for_each(|prefix| found.extend(objects(storage, prefix)));
    found.sort();
    found
}

/// The least memory that rechunking takes, as its error says.
fn least(array: &Array, description: &Description<'_>) -> usize {
    let none = RechunkOptions::default().with_memory(1);
    match rechunk_plan(array, description, &none).unwrap_err().kind() {
        ErrorKind::RechunkMemory { needed, limit: 1 } => needed,
        other => panic!("{other:?}"),
    }
}

#[test]
fn elements_are_the_same_whatever_the_chunks_the_memory_and_the_threads() {
    let chunkings: [&[usize]; 4] = [&[7, 11, 13], &[1, 11, 13], &[7, 2, 2], &[3, 4, 5]];
    let storage = memory();
    let (array, expected) = source(&storage, &[7, 11, 13], &[2, 5, 4]);
    for chunks in chunkings {
        for (threads, shards) in [(1, false), (3, true), (3, false)] {
            let shard: Vec<usize> = chunks.iter().map(|len| len * 2).collect();
            array
                .describe(|same| {
                    let mut description = same.with_chunk_shape(chunks);
                    if shards {
                        description = description.with_shard_shape(&shard);
                    }
                    for more in [0, 1000, 64 << 20] {
                        let to = memory();
                        let options = RechunkOptions::default()
                            .with_memory(least(&array, &description) + more)
                            .with_transfer(Options::default().with_threads(threads));
                        let done = rechunk_in(&array, &to, "a/b", &description, &options)?;
                        assert_eq!((values(&done.array), done.boxes_resumed), (expected.clone(), 0));
                        let again = Array::open_in(&to, "a/b", Access::Read)?;
                        assert_eq!(values(&again), expected, "{chunks:?} {threads} {more}");
                        assert!(done.plan.passes.iter().all(|pass| pass.memory <= least(&array, &description) + more));
                        let names = objects(&to, "");
                        assert!(!names.iter().any(|name| name.contains(WORK)));
                        // The first map is fill values only, so that it is not stored.
                        let has_first = names.iter().any(|name| name == "a/b/c/0/0/0");
                        assert_eq!(has_first, chunks != [1, 11, 13] || shards, "{names:?}");
                    }
                    Ok(())
                })
                .unwrap();
        }
    }
}

/// Little memory for so many maps: half of them fit.
const LITTLE: usize = 9 << 20;

/// An array of maps that is so large that its series are better made in two passes.
fn maps(storage: &Storage) -> (Array, Vec<i32>) {
    source(storage, &[240, 40, 40], &[1, 40, 40])
}

fn in_two_passes(array: &Array) -> RechunkOptions<'static> {
    let options = RechunkOptions::default().with_memory(LITTLE);
    let plan = array.describe(|same| rechunk_plan(array, &same.with_chunk_shape(&[240, 10, 10]), &options)).unwrap();
    assert_eq!(plan.passes.len(), 2, "{plan:?}");
    assert_eq!((plan.passes[0].chunks_read, plan.passes[1].chunks_written), (240, 16));
    // Each chunk between the passes is written once, and read once.
    assert_eq!(plan.passes[0].chunks_written, plan.passes[1].chunks_read);
    assert!(plan.passes.iter().all(|pass| pass.memory <= LITTLE && pass.bytes_read == plan.num_bytes));
    options
}

#[test]
#[cfg_attr(miri, ignore = "it takes too long")]
fn a_new_array_that_is_longer_ends_in_fill_values() {
    for (shape, chunks) in [([7, 11], [2, 5]), ([0, 11], [2, 5]), ([60, 80], [1, 80])] {
        let (array, values_of_source) = source(&memory(), &shape, &chunks);
        let (longer, new_chunks) = ([shape[0] + 8, shape[1] + 3], [shape[0].max(3), 5]);
        let mut expected = vec![-1; longer[0] * longer[1]];
        for (row, from) in expected.chunks_exact_mut(longer[1]).zip(values_of_source.chunks_exact(shape[1])) {
            row[..shape[1]].copy_from_slice(from);
        }
        let fill = (-1i32).to_ne_bytes();
        for shards in [new_chunks, [new_chunks[0], 15]] {
            let description = Description::new(&longer, ElementType::Int).with_chunk_shape(&new_chunks);
            let description = description.with_shard_shape(&shards).with_fill_value(&fill);
            let refused = rechunk_plan(&array, &description, &RechunkOptions::default()).unwrap_err();
            assert!(matches!(refused.kind(), ErrorKind::Argument(_)), "{refused}");
            let options = RechunkOptions::default().with_longer_target();
            for (threads, more) in [(1, 0), (3, 4 << 20)] {
                let least = rechunk_plan(&array, &description, &options).unwrap().least_memory;
                let options = options.with_memory(least + more).with_transfer(Options::default().with_threads(threads));
                let to = memory();
                let done = rechunk_in(&array, &to, "", &description, &options).unwrap();
                assert!(values(&done.array) == expected, "{shape:?} {shards:?} {threads}");
                assert!(values(&Array::open_in(&to, "", Access::Read).unwrap()) == expected);
                assert_eq!(done.plan.num_bytes, 4 * values_of_source.len() as u64);
            }
        }
    }
    // In two passes.
    let (array, expected) = maps(&memory());
    let description = Description::new(&[250, 45, 40], ElementType::Int).with_chunk_shape(&[240, 10, 10]);
    let options = RechunkOptions::default().with_memory(LITTLE + (1 << 20)).with_longer_target();
    let done = rechunk_in(&array, &memory(), "", &description, &options).unwrap();
    assert_eq!(done.plan.passes.len(), 2);
    let first = Hyperslab::new(&[0; 3], &[240, 40, 40]);
    assert!(done.array.read::<i32>(&first).unwrap() == expected);
    let behind = [(&[240, 0, 0], &[10, 45, 40]), (&[0, 40, 0], &[250, 5, 40])];
    for (start, count) in behind {
        let values: Vec<i32> = done.array.read(&Hyperslab::new(start, count)).unwrap();
        assert!(values.iter().all(|value| *value == 0));
    }
    // Shorter it cannot be.
    let (array, _) = source(&memory(), &[4, 4], &[2, 2]);
    let options = RechunkOptions::default().with_longer_target();
    for shape in [&[4, 3][..], &[3, 9], &[4, 4, 4], &[4]] {
        let refused = rechunk_plan(&array, &Description::new(shape, ElementType::Int), &options).unwrap_err();
        assert!(matches!(refused.kind(), ErrorKind::Argument(_)), "{refused}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "it takes too long")]
fn two_passes_leave_nothing_behind() {
    let storage = memory();
    let (array, expected) = maps(&storage);
    let (options, elsewhere) = (in_two_passes(&array), memory());
    for temporary in [None, Some(&elsewhere)] {
        let to = memory();
        let options = temporary.map_or(options, |storage| options.with_temporary(storage));
        let done = array
            .describe(|same| rechunk_in(&array, &to, "", &same.with_chunk_shape(&[240, 10, 10]), &options))
            .unwrap();
        assert!(values(&done.array) == expected);
        // All series, and the metadata.
        assert_eq!((objects(&to, "").len(), objects(&elsewhere, "").len()), (17, 0));
    }
}

#[test]
#[cfg_attr(miri, ignore = "it takes too long")]
fn a_call_that_was_ended_is_continued_and_does_nothing_twice() {
    let storage = memory();
    let (array, expected) = maps(&storage);
    let options = in_two_passes(&array);
    let to = memory();
    let (mut ended, mut highest) = (0, 0);
    let array_of = || Array::open_in(&to, "x/y", Access::Read);
    let done = loop {
        let boxes = Cell::new((0, 0));
        // It ends after each few boxes.
        let stop = |at: Progress| {
            let (first, _) = boxes.get();
            let first = if first == 0 { at.chunks_done + 1 } else { first };
            boxes.set((first, at.chunks_done));
            if at.chunks_done >= first && at.chunks_done < at.num_chunks { 77 } else { 0 }
        };
        let options = options.with_transfer(Options::default().with_progress(&stop));
        let result =
            array.describe(|same| rechunk_in(&array, &to, "x/y", &same.with_chunk_shape(&[240, 10, 10]), &options));
        match result {
            Ok(done) => break done,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Stopped(77));
                assert!(array_of().is_err());
                // What was done before counts as done.
                assert!(boxes.get().0 > highest, "{boxes:?} {highest}");
                highest = boxes.get().1;
                ended += 1;
            }
        }
        // Another array is not made of what there is.
        let other =
            array.describe(|same| rechunk_in(&array, &to, "x/y", &same.with_chunk_shape(&[240, 9, 9]), &options));
        let error = other.err().unwrap();
        assert!(error.to_string().contains("an unfinished rechunking"), "{error}");
        // Nor within less memory than what was begun with takes.
        let less = RechunkOptions::default().with_memory((8 << 20) + 5000);
        let error = array
            .describe(|same| rechunk_in(&array, &to, "x/y", &same.with_chunk_shape(&[240, 10, 10]), &less))
            .err()
            .unwrap();
        assert!(matches!(error.kind(), ErrorKind::RechunkMemory { .. }), "{error}");
    };
    assert!(ended > 3 && done.boxes_resumed >= highest, "{ended} {} {highest}", done.boxes_resumed);
    assert!(values(&done.array) == expected && values(&array_of().unwrap()) == expected);
    assert!(!objects(&to, "").iter().any(|name| name.contains(WORK)));
    // Once it is there it is an array like others.
    let again = array.describe(|same| rechunk_in(&array, &to, "x/y", &same, &options));
    assert_eq!(again.err().unwrap().kind(), ErrorKind::NotOverwritten);
}

/// What was begun from one array is not continued from another, though that has the same shape.
#[test]
#[cfg_attr(miri, ignore = "it takes too long")]
fn another_source_of_the_same_shape_is_refused() {
    for has_versions in [true, false] {
        continued_from_another(has_versions);
    }
}

/// Without versions two arrays of a storage are told apart by their names.
fn continued_from_another(has_versions: bool) {
    let to = memory();
    let mut objects = DelayedStorage::new();
    (objects.has_versions, objects.has_latency) = (has_versions, false);
    let storage = Storage::new(objects).unwrap();
    let (one, expected) = maps(&storage);
    let same = |name: &str| {
        let of_one = one.describe(|same| Array::create_in(&storage, name, &same)).unwrap();
        of_one.write(&Hyperslab::all(), &expected).unwrap();
        of_one
    };
    let other = same("other");
    let options = in_two_passes(&one);
    let go = |source: &Array, options: &RechunkOptions<'_>| {
        source.describe(|same| rechunk_in(source, &to, "a", &same.with_chunk_shape(&[240, 10, 10]), options))
    };
    let stop = |at: Progress| if at.chunks_done > 1 { 77 } else { 0 };
    let ended = options.with_transfer(Options::default().with_progress(&stop));
    assert_eq!(go(&one, &ended).err().unwrap().kind(), ErrorKind::Stopped(77));
    let error = go(&other, &options).err().unwrap();
    assert!(error.to_string().contains("an unfinished rechunking from or to another array"), "{error}");
    assert!(go(&one, &options).unwrap().boxes_resumed > 0);
}

/// Elements are copied, and not converted.
#[test]
fn elements_of_another_type_of_the_same_size_are_refused() {
    let to = memory();
    let array = Array::create_in(&to, "a", &Description::new(&[4], ElementType::Float)).unwrap();
    for element in [ElementType::Int, ElementType::UInt, ElementType::Text { len: 4 }] {
        let description = Description::new(&[4], element);
        let error = rechunk_in(&array, &to, "b", &description, &RechunkOptions::default()).err().unwrap();
        assert!(error.to_string().contains("elements of the source's type"), "{error}");
    }
    assert_eq!(objects(&to, "b"), [""; 0]);
}

/// A call that was killed while it wrote the first of what is temporary has left a file that no storage lists.
#[test]
#[cfg(all(target_os = "linux", not(miri), feature = "zip"))]
fn a_call_that_was_killed_at_once_is_begun_again() {
    let scratch = crate::object::testing::Temporary::new("killed");
    let storage = create_storage(&scratch).unwrap();
    let (array, expected) = maps(&storage);
    let mut dead = std::process::Command::new("true").spawn().unwrap();
    dead.wait().unwrap();
    for left in ["mark", "journal.json", "1.2.3/begun"] {
        let left = scratch.join("x").join(WORK).join(left);
        let (directory, last) = (left.parent().unwrap(), left.file_name().unwrap().to_str().unwrap());
        std::fs::create_dir_all(directory).unwrap();
        std::fs::write(directory.join(format!(".{last}.{}.1.partial", dead.id())), b"").unwrap();
        let options = in_two_passes(&array);
        let new =
            array.describe(|same| rechunk_in(&array, &storage, "x", &same.with_chunk_shape(&[240, 10, 10]), &options));
        assert!(values(&new.unwrap().array) == expected);
        std::fs::remove_dir_all(scratch.join("x")).unwrap();
    }
}

/// Nor is it continued from a file, a zip file or several files that have been replaced since.
#[test]
#[cfg(all(unix, not(miri), feature = "zip"))]
fn sources_in_files_are_told_from_what_replaces_them() {
    let scratch = crate::object::testing::Temporary::new("sources");
    let at = |name: &str| scratch.join(name);
    let create = |storage: &Storage| {
        let names = ["t", "y", "x"];
        let description = Description::new(&[8, 4, 4], ElementType::Int).with_dimension_names(&names);
        Array::create_in(storage, "v", &description.with_chunk_shape(&[1, 4, 4])).unwrap();
    };
    let classic = |path: &Path| assert!(std::fs::copy("../data/coads_sst.nc", path).unwrap() > 0);
    let zipped = |path: &Path| {
        let storage = Storage::new(crate::object::ZipWriter::create(path).unwrap()).unwrap();
        create(&storage);
        storage.finish().unwrap();
    };
    let plain = |path: &Path| create(&create_storage(path).unwrap());
    let open = |name: &str, array: &str| Array::open(at(name), array, Access::Read);
    let joined = || Array::open_in(&crate::array::concat(&[at("one"), at("two")], "t")?, "v", Access::Read);
    plain(&at("one"));
    for (name, make, open) in [
        ("a.nc", &classic as &dyn Fn(&Path), &(|| open("a.nc", "SST")) as &dyn Fn() -> Result<Array>),
        ("a.zip", &zipped, &|| open("a.zip", "v")),
        ("a", &plain, &|| open("a", "v")),
        ("two", &plain, &joined),
    ] {
        let replace = || {
            make(&at("new"));
            let _ = std::fs::remove_dir_all(at(name));
            std::fs::rename(at("new"), at(name)).unwrap();
        };
        let to = memory();
        let go = |options: &RechunkOptions<'_>| {
            let source = open().unwrap();
            let last = source.variable().dimensions()[2].len();
            source.describe(|same| rechunk_in(&source, &to, "", &same.with_chunk_shape(&[1, 1, last]), options))
        };
        let (stop, options) = (|_: Progress| 77, RechunkOptions::default());
        let ended = options.with_transfer(Options::default().with_progress(&stop));
        replace();
        assert_eq!(go(&ended).err().unwrap().kind(), ErrorKind::Stopped(77), "{name}");
        replace();
        let error = go(&options).err().unwrap();
        assert!(error.to_string().contains("an unfinished rechunking from or to another array"), "{name}: {error}");
    }
}

/// Where nothing is continued nothing that is temporary stays.
#[test]
#[cfg(all(not(miri), feature = "zip"))]
fn what_ends_in_a_zip_file_leaves_nothing_elsewhere() {
    let (storage, temporary) = (memory(), memory());
    let scratch = crate::object::testing::Temporary::new("zip");
    let (array, _) = maps(&storage);
    let to = Storage::new(crate::object::ZipWriter::create(scratch.join("a.zip")).unwrap()).unwrap();
    let most = Cell::new(0);
    let stop = |at: Progress| {
        most.set(objects(&temporary, "").len().max(most.get()));
        if at.chunks_done > 2 { 77 } else { 0 }
    };
    let options = in_two_passes(&array).with_temporary(&temporary);
    let options = options.with_transfer(Options::default().with_progress(&stop));
    let ended = array.describe(|same| rechunk_in(&array, &to, "", &same.with_chunk_shape(&[240, 10, 10]), &options));
    assert_eq!(ended.err().unwrap().kind(), ErrorKind::Stopped(77));
    assert!(most.get() > 1);
    assert_eq!(objects(&temporary, "").len(), 0);
    drop(to);
}

/// Storages of temporary arrays are for any number of rechunkings: each finds its own there, or says that it does not.
#[test]
#[cfg_attr(miri, ignore = "it takes too long")]
fn what_is_temporary_is_of_one_rechunking() {
    let (storage, scratch) = (memory(), memory());
    let (one, expected) = maps(&storage);
    let negative: Vec<i32> = expected.iter().map(|value| -1 - value).collect();
    let other = one.describe(|same| Array::create_in(&storage, "other", &same)).unwrap();
    other.write(&Hyperslab::all(), &negative).unwrap();
    let options = in_two_passes(&one).with_temporary(&scratch);
    let go = |source: &Array, to: &Storage, options: &RechunkOptions<'_>| {
        source.describe(|same| rechunk_in(source, to, "", &same.with_chunk_shape(&[240, 10, 10]), options))
    };
    let boxes = {
        let plan = one.describe(|same| rechunk_plan(&one, &same.with_chunk_shape(&[240, 10, 10]), &options)).unwrap();
        plan.passes.iter().map(|pass| pass.num_boxes).sum::<usize>()
    };
    for after in 1..boxes {
        let (to_one, to_other) = (memory(), memory());
        let stop = |at: Progress| if at.chunks_done >= after && at.chunks_done < boxes { 77 } else { 0 };
        let ended = options.with_transfer(Options::default().with_progress(&stop));
        assert_eq!(go(&one, &to_one, &ended).err().unwrap().kind(), ErrorKind::Stopped(77));
        // Another one uses the same storage meanwhile, and leaves what is not its own.
        assert!(values(&go(&other, &to_other, &options).unwrap().array) == negative, "{after}");
        // Without what was done in the first pass there is no second.
        for elsewhere in [in_two_passes(&one), in_two_passes(&one).with_temporary(&to_other)] {
            let error = go(&one, &to_one, &elsewhere).err().unwrap();
            assert!(error.to_string().contains("is not in this storage"), "{error}");
        }
        let done = go(&one, &to_one, &options).unwrap();
        assert!(values(&done.array) == expected && done.boxes_resumed >= after, "{after}");
        assert_eq!(objects(&scratch, "").len(), 0);
    }
    // One within another.
    let (to_one, to_other, is_begun) = (memory(), memory(), Cell::new(false));
    let also = |at: Progress| {
        if at.chunks_done == 1 && !is_begun.replace(true) {
            assert!(values(&go(&other, &to_other, &options).unwrap().array) == negative);
        }
        0
    };
    let both = options.with_transfer(Options::default().with_progress(&also));
    assert!(values(&go(&one, &to_one, &both).unwrap().array) == expected);
    assert_eq!((is_begun.get(), objects(&scratch, "").len()), (true, 0));
}

/// Another call completes the array meanwhile, and removes the temporary one: nothing wrong is written after that.
#[test]
#[cfg_attr(miri, ignore = "it takes too long")]
fn a_call_that_is_overtaken_ends_and_spoils_nothing() {
    let storage = memory();
    let (array, expected) = maps(&storage);
    let options = in_two_passes(&array);
    let num_boxes = array
        .describe(|same| rechunk_plan(&array, &same.with_chunk_shape(&[240, 10, 10]), &options))
        .map(|plan| plan.passes.iter().map(|pass| pass.num_boxes).sum::<usize>())
        .unwrap();
    for overtaken_at in 0..num_boxes {
        let to = memory();
        let go = |options: &RechunkOptions<'_>| {
            array.describe(|same| rechunk_in(&array, &to, "a", &same.with_chunk_shape(&[240, 10, 10]), options))
        };
        let is_overtaken = Cell::new(false);
        let overtake = |at: Progress| {
            if at.chunks_done == overtaken_at && !is_overtaken.replace(true) {
                assert!(go(&options).is_ok());
            }
            0
        };
        let slow = options.with_transfer(Options::default().with_progress(&overtake));
        assert_eq!(go(&slow).err().unwrap().kind(), ErrorKind::Conflict, "{overtaken_at}");
        assert!(is_overtaken.get());
        assert!(values(&Array::open_in(&to, "a", Access::Read).unwrap()) == expected, "{overtaken_at}");
    }
}

/// A storage that fails at the n-th write or removal, as if the process ended there.
struct Ending {
    memory: Memory,
    left: AtomicUsize,
    /// Whether what is half written has been removed.
    is_clean: AtomicBool,
}

impl Ending {
    fn count(&self) -> Result<()> {
        match self.left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)) {
            Ok(_) => Ok(()),
            Err(_) => Err(ErrorKind::System(5).into()),
        }
    }
}

impl crate::object::ObjectStore for std::sync::Arc<Ending> {
    pass_on! { self => self.memory; read list is_writable }
    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.count()?;
        self.memory.write(name, bytes)
    }
    fn write_over(&self, name: &str, before: Option<crate::ObjectState>, bytes: &[u8]) -> Result<()> {
        self.count()?;
        self.memory.write_over(name, before, bytes)
    }
    fn compares(&self) -> bool {
        true
    }
    fn remove(&self, name: &str) -> Result<()> {
        self.count()?;
        // Nobody would come back for anything after this.
        assert!(!name.ends_with("journal.json") || self.is_clean.load(Relaxed));
        self.memory.remove(name)
    }
    fn remove_unfinished(&self, prefix: &str) -> Result<()> {
        self.is_clean.store(prefix == "g/a", Relaxed);
        Ok(())
    }
}

/// Wherever it ends, the array is absent or complete, and the same call completes it.
#[test]
#[cfg_attr(miri, ignore = "it takes too long")]
fn wherever_it_ends_it_is_continued() {
    let storage = memory();
    let (array, expected) = maps(&storage);
    let options = in_two_passes(&array);
    // One document, and several.
    for (format, fewest) in [(ArrayFormat::ZarrV3, 40), (ArrayFormat::NcZarr, 42)] {
        let number = endings(&array, &expected, &options, format);
        assert!(number > fewest, "{number}");
    }
}

/// How often it can end until it does not.
fn endings(array: &Array, expected: &[i32], options: &RechunkOptions<'_>, format: ArrayFormat) -> usize {
    let (mut number, mut is_complete) = (0, false);
    while !is_complete {
        let ending = std::sync::Arc::new(Ending {
            memory: Memory::new(),
            left: AtomicUsize::new(number),
            is_clean: AtomicBool::new(false),
        });
        let to = Storage::new(ending.clone()).unwrap();
        let go = || {
            array.describe(|same| {
                let names = ["t", "y", "x"];
                let same = same.with_chunk_shape(&[240, 10, 10]).with_format(format).with_dimension_names(&names);
                rechunk_in(array, &to, "g/a", &same, options)
            })
        };
        is_complete = go().is_ok();
        if let Ok(there) = Array::open_in(&to, "g/a", Access::Read) {
            assert!(values(&there) == expected, "{number}");
        }
        ending.left.store(usize::MAX, Relaxed);
        if !is_complete {
            let done = go().map_err(|error| format!("{number}: {error}")).unwrap();
            assert!(values(&done.array) == expected, "{number}");
        }
        assert!(!objects(&to, "").iter().any(|name| name.contains(WORK)), "{number}");
        assert!(Array::open_in(&to, "g/a", Access::Read).is_ok());
        number += 1;
    }
    number
}

/// A call goes on with another one's boxes only if it is for the same elements.
#[test]
fn another_selection_is_another_rechunking() {
    let storage = memory();
    let (array, _) = source(&storage, &[8, 8], &[1, 8]);
    let to = memory();
    let rechunk = |slab: Hyperslab<'_>, kept: &[usize], shape: &[usize], most: usize| {
        let count = AtomicUsize::new(0);
        let stop = |_: Progress| i32::from(count.fetch_add(1, Relaxed) >= most);
        let description = Description::new(shape, ElementType::Int).with_chunk_shape(&[1, 8][..shape.len()]);
        let options = RechunkOptions::default()
            .with_selection(slab, kept)
            .with_longer_target()
            .with_transfer(Options::default().with_progress(&stop));
        rechunk_in(&array, &to, "a", &description, &options).map(drop).map_err(|error| error.kind())
    };
    let (column, row) = (Hyperslab::new(&[0, 0], &[8, 1]), Hyperslab::new(&[0, 0], &[1, 8]));
    assert_eq!(rechunk(column, &[0], &[8], 9), Err(ErrorKind::Stopped(1)));
    assert_eq!(rechunk(row, &[1], &[8], usize::MAX), Err(ErrorKind::Argument(OTHER)));
    assert_eq!(rechunk(Hyperslab::new(&[0, 0], &[7, 1]), &[0], &[8], usize::MAX), Err(ErrorKind::Argument(OTHER)));
    assert_eq!(rechunk(column, &[0], &[8], usize::MAX), Ok(()));
}

#[test]
fn a_selection_is_rechunked() {
    let storage = memory();
    let (array, expected) = source(&storage, &[9, 8, 7], &[4, 3, 2]);
    let slab = Hyperslab::new(&[8, 5, 0], &[4, 1, 7]).with_signed_stride(&[-2, 1, 1]);
    let options = RechunkOptions::default().with_selection(slab, &[0, 2]);
    let description = Description::new(&[4, 7], ElementType::Int).with_chunk_shape(&[3, 3]);
    let done = rechunk_in(&array, &memory(), "", &description, &options).unwrap();
    let at = |i: usize, k: usize| expected[(8 - 2 * i) * 56 + 5 * 7 + k];
    assert_eq!(values(&done.array), (0..28).map(|n| at(n / 7, n % 7)).collect::<Vec<_>>());
    for kept in [&[2, 0][..], &[0], &[0, 1], &[0, 3]] {
        let options = RechunkOptions::default().with_selection(slab, kept);
        assert!(rechunk_in(&array, &memory(), "", &description, &options).is_err(), "{kept:?}");
    }
}

#[test]
fn formats_and_shapes_of_all_kinds_are_rechunked() {
    let storage = memory();
    let (array, expected) = source(&storage, &[5, 4], &[2, 3]);
    let fill = 3i32.to_ne_bytes();
    let plain = Description::new(&[5, 4], ElementType::Int).with_dimension_names(&["x", "y"]);
    let lists: [&[ChunkRun]; 2] = [&[ChunkRun::new(1, 2), ChunkRun::new(1, 3)], &[]];
    for description in [
        plain.with_format(ArrayFormat::ZarrV2),
        plain.with_format(ArrayFormat::NcZarr),
        plain.with_chunk_shape(&[1, 1]).with_fill_value(&fill),
        plain.with_chunk_shape(&[100, 100]),
        plain.with_chunk_shape(&[3, 2]).with_chunk_runs(&lists),
        plain.with_endian(crate::variable::Endian::Big),
    ] {
        let done = rechunk_in(&array, &memory(), "a", &description, &RechunkOptions::default()).unwrap();
        assert_eq!(values(&done.array), expected);
    }
    // Nothing, and a single element.
    for (shape, expected) in [(&[0, 3][..], 0), (&[], 1)] {
        let array = Array::create_in(&memory(), "", &Description::new(shape, ElementType::Int)).unwrap();
        let done = array.describe(|same| rechunk_in(&array, &memory(), "", &same, &RechunkOptions::default())).unwrap();
        assert_eq!(values(&done.array).len(), expected);
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let storage = memory();
    let (array, _) = source(&storage, &[5, 4], &[2, 3]);
    let options = RechunkOptions::default();
    let refused =
        |description: &Description<'_>| rechunk_in(&array, &memory(), "", description, &options).err().unwrap();
    assert!(refused(&Description::new(&[4, 5], ElementType::Int)).to_string().contains("the shape"));
    for element in [ElementType::Double, ElementType::Byte, ElementType::String] {
        assert!(refused(&Description::new(&[5, 4], element)).to_string().contains("type"), "{element}");
    }
    let texts = Array::create_in(&memory(), "", &Description::new(&[2], ElementType::String)).unwrap();
    let error = texts.describe(|same| rechunk_in(&texts, &memory(), "", &same, &options)).err().unwrap();
    assert!(matches!(error.kind(), ErrorKind::Unsupported(_)));
    let error = rechunk_in(&array, &storage, "source", &Description::new(&[5, 4], ElementType::Int), &options);
    assert_eq!(error.err().unwrap().kind(), ErrorKind::NotOverwritten);
}

#[test]
fn the_error_of_too_little_memory_names_what_is_enough() {
    let storage = memory();
    let (array, expected) = source(&storage, &[64, 64], &[64, 1]);
    array
        .describe(|same| {
            let description = same.with_chunk_shape(&[1, 64]);
            let least = least(&array, &description);
            let with = |memory| {
                let options = RechunkOptions::default().with_memory(memory);
                rechunk_in(&array, &super::tests::memory(), "", &description, &options)
            };
            assert!(values(&with(least)?.array) == expected);
            let error = with(least - 1).err().unwrap();
            let words = format!("rechunking needs at least {least} bytes of memory, and the limit is {}", least - 1);
            assert_eq!((error.to_string(), error.status()), (words, crate::status::ENOMEM));
            Ok(())
        })
        .unwrap();
}

/// Does something once, before one of its operations.
struct Interrupted {
    memory: Memory,
    left: AtomicUsize,
    meanwhile: std::sync::Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl Interrupted {
    fn counted<T>(&self, name: &str, body: impl FnOnce(&Memory, &str) -> Result<T>) -> Result<T> {
        if self.left.fetch_sub(1, Relaxed) == 0 {
            let meanwhile = self.meanwhile.lock().unwrap().take();
            meanwhile.into_iter().for_each(|does| does());
        }
        body(&self.memory, name)
    }
}

impl crate::object::ObjectStore for std::sync::Arc<Interrupted> {
    pass_on! { self.counted; read list write write_new remove }
    pass_on! { self => self.memory; is_writable }
}

/// Whenever another call begins, works, ends or completes the array: what is there is right, or can be made complete.
#[test]
#[cfg_attr(miri, ignore = "it takes too long")]
fn calls_that_race_spoil_nothing() {
    // The other one makes the same array or another, and all of it or a part.
    let (array, expected) = source(&memory(), &[12, 12], &[1, 12]);
    let little = array.describe(|same| Ok(least(&array, &same.with_chunk_shape(&[12, 4])))).unwrap();
    for (others, most) in [([12, 4], usize::MAX), ([4, 12], usize::MAX), ([4, 12], 1), ([12, 4], 1)] {
        race((&array, &expected), &[[12, 4], others], most, little, 1);
    }
}

#[test]
#[cfg_attr(miri, ignore = "it takes too long")]
fn calls_that_race_in_two_passes_spoil_nothing() {
    let (array, expected) = maps(&memory());
    for (others, most) in [([240, 10, 10], usize::MAX), ([240, 10, 10], 3), ([240, 9, 9], usize::MAX)] {
        race((&array, &expected), &[[240, 10, 10], others], most, LITTLE, 11);
    }
}

/// A call with the first of the chunk shapes, and before each so many-th of its operations one with the other, which
/// ends after so many boxes.
fn race<const N: usize>(
    (array, expected): (&Array, &[i32]),
    chunks: &[[usize; N]; 2],
    most: usize,
    memory_limit: usize,
    each: usize,
) {
    let &[own, others] = chunks;
    let go = |to: &Storage, chunks: &[usize], most: usize| {
        let stop = |at: Progress| if at.chunks_done >= most { 77 } else { 0 };
        let options = RechunkOptions::default().with_transfer(Options::default().with_progress(&stop));
        let options = options.with_memory(memory_limit);
        let done = array.describe(|same| rechunk_in(array, to, "g/a", &same.with_chunk_shape(chunks), &options));
        assert!(done.as_ref().map_or(true, |done| done.plan.passes.iter().all(|pass| pass.num_boxes > 1)));
        done.map(drop).map_err(|error| error.kind())
    };
    let (mut number, mut has_ended) = (0, false);
    while !has_ended {
        std::thread::scope(|scope| {
            // The other call is made by another thread while this one waits.
            let (ask, asked) = std::sync::mpsc::channel::<()>();
            let (answer, answered) = std::sync::mpsc::channel();
            let answered = std::sync::Mutex::new(answered);
            let meanwhile = move || {
                ask.send(()).unwrap();
                answered.lock().unwrap().recv().unwrap();
            };
            let interrupted = std::sync::Arc::new(Interrupted {
                memory: Memory::new(),
                left: AtomicUsize::new(number),
                meanwhile: std::sync::Mutex::new(Some(Box::new(meanwhile))),
            });
            let to = Storage::new(interrupted.clone()).unwrap();
            let its_storage = to.clone();
            let other = scope.spawn(move || {
                asked.recv().ok().map(|()| {
                    let done = go(&its_storage, &others, most);
                    answer.send(()).unwrap();
                    done
                })
            });
            let first = go(&to, &own, usize::MAX);
            // If nothing was left to be interrupted, the other has nothing to do.
            drop(interrupted.meanwhile.lock().unwrap().take());
            let second = other.join().unwrap();
            interrupted.left.store(usize::MAX, Relaxed);
            has_ended = second.is_none();
            let case = format!("{others:?} {most} {number}: {first:?} {second:?}");
            assert!(!(first.is_ok() && second == Some(Ok(()))) || own == others, "{case}");
            if first.is_err() && second != Some(Ok(())) {
                // Each was ended or refused, and one of them can go on.
                let done = go(&to, &own, usize::MAX).or_else(|_| go(&to, &others, usize::MAX));
                assert!(done.is_ok(), "{case}");
            }
            let there = Array::open_in(&to, "g/a", Access::Read).unwrap();
            assert!(values(&there) == expected, "{case}");
            let chunks: Vec<usize> = there.variable().dimensions().iter().map(|d| d.chunklen()).collect();
            assert!(first.is_err() || chunks == own, "{case}");
            assert!(second != Some(Ok(())) || chunks == others, "{case}");
            let names = objects(&to, "");
            assert!(!names.iter().any(|name| name.contains(WORK)), "{case}: {names:?}");
        });
        number += each;
    }
    assert!(number > 40, "{number}");
}

/// A call that begins leaves what another has in the same storage.
#[test]
#[cfg_attr(miri, ignore = "it takes too long")]
fn what_is_temporary_of_another_stays_where_a_new_array_begins() {
    let (array, expected) = maps(&memory());
    let options = in_two_passes(&array);
    let go = |to: &Storage, options: &RechunkOptions<'_>| {
        array.describe(|same| rechunk_in(&array, to, "", &same.with_chunk_shape(&[240, 10, 10]), options))
    };
    for after in 1..8 {
        let (to, also, is_begun) = (memory(), memory(), Cell::new(false));
        let begin = |at: Progress| {
            if at.chunks_done == after && !is_begun.replace(true) {
                assert!(values(&go(&also, &options).unwrap().array) == expected);
            }
            0
        };
        let elsewhere = options.with_temporary(&also).with_transfer(Options::default().with_progress(&begin));
        assert!(values(&go(&to, &elsewhere).unwrap().array) == expected, "{after}");
        assert!(is_begun.get() && objects(&also, "").len() == 17);
    }
}

/// Without the temporary array nothing is made of it, whoever has removed it.
#[test]
#[cfg_attr(miri, ignore = "it takes too long")]
fn a_temporary_array_that_is_removed_is_missed() {
    let (array, expected) = maps(&memory());
    let (to, elsewhere) = (memory(), memory());
    let options = in_two_passes(&array).with_temporary(&elsewhere);
    let num_first = |at: Progress| at.chunks_done > 0 && at.bytes_done * 2 > at.num_bytes + at.num_bytes / 8;
    let is_removed = Cell::new(false);
    let remove = |at: Progress| {
        if num_first(at) && !is_removed.replace(true) {
            remove_rechunk_remains(&elsewhere, "a").unwrap();
        }
        0
    };
    let go = |options: &RechunkOptions<'_>| {
        array.describe(|same| rechunk_in(&array, &to, "a", &same.with_chunk_shape(&[240, 10, 10]), options))
    };
    let error = go(&options.with_transfer(Options::default().with_progress(&remove))).err().unwrap();
    assert_eq!((error.kind(), is_removed.get()), (ErrorKind::NotFound("temporary array"), true));
    assert!(Array::open_in(&to, "a", Access::Read).is_err());
    // It is to be begun anew.
    assert!(go(&options).err().unwrap().to_string().contains("is not in this storage"));
    objects(&to, "").iter().for_each(|name| to.remove(name).unwrap());
    assert!(values(&go(&options).unwrap().array) == expected);
}

/// What another program has put there is not taken for the result, nor replaced by it.
#[test]
fn an_array_of_another_program_is_not_taken_for_the_new_one() {
    let (array, expected) = source(&memory(), &[8, 8], &[1, 8]);
    for format in [ArrayFormat::ZarrV3, ArrayFormat::ZarrV2] {
        let to = memory();
        let go = |stop: c_int| {
            let progress = |at: Progress| if at.chunks_done > 0 { stop } else { 0 };
            let options = RechunkOptions::default().with_transfer(Options::default().with_progress(&progress));
            let options = options.with_memory((8 << 20) + (256 << 10) + 300);
            array.describe(|same| {
                rechunk_in(&array, &to, "a", &same.with_chunk_shape(&[8, 1]).with_format(format), &options)
            })
        };
        assert_eq!(go(77).err().unwrap().kind(), ErrorKind::Stopped(77));
        let other = Description::new(&[2], ElementType::Int).with_format(format);
        let elsewhere = memory();
        Array::create_in(&elsewhere, "a", &other).unwrap();
        let document = if format == ArrayFormat::ZarrV3 { "a/zarr.json" } else { "a/.zarray" };
        let text = read_whole(&*elsewhere, document, 10_000).unwrap().unwrap();
        to.write(document, &text).unwrap();
        assert_eq!(go(0).err().unwrap().kind(), ErrorKind::NotOverwritten);
        assert_eq!(read_whole(&*to, document, 10_000).unwrap().unwrap(), text);
        to.remove(document).unwrap();
        // It comes at the last moment.
        let late = |at: Progress| {
            if at.chunks_done + 1 == at.num_chunks {
                to.write(document, &text).unwrap();
            }
            0
        };
        let options = RechunkOptions::default().with_transfer(Options::default().with_progress(&late));
        let ended = array.describe(|same| {
            rechunk_in(&array, &to, "a", &same.with_chunk_shape(&[8, 1]).with_format(format), &options)
        });
        assert_eq!(ended.err().unwrap().kind(), ErrorKind::Conflict);
        assert_eq!(read_whole(&*to, document, 10_000).unwrap().unwrap(), text);
        to.remove(document).unwrap();
        assert_eq!(values(&go(0).unwrap().array), expected);
    }
}

/// Nothing is overwritten, the source least of all.
#[test]
fn what_is_there_is_not_overwritten() {
    let storage = memory();
    let (array, expected) = source(&storage, &[8, 8], &[1, 8]);
    let description = |same: Description<'_>| {
        rechunk_in(&array, &storage, "source", &same.with_overwrite(true), &RechunkOptions::default())
    };
    assert_eq!(array.describe(description).err().unwrap().kind(), ErrorKind::NotOverwritten);
    assert_eq!(values(&Array::open_in(&storage, "source", Access::Read).unwrap()), expected);
    assert!(!objects(&storage, "").iter().any(|name| name.contains(WORK)));
}

/// Neither at the source nor below it nor around it, by whatever path.
#[test]
#[cfg(all(unix, not(miri), feature = "zip"))]
fn the_new_array_is_apart_from_the_source() {
    let scratch = crate::object::testing::Temporary::new("apart");
    let storage = create_storage(&scratch).unwrap();
    let (array, expected) = source(&storage, &[8, 8], &[1, 8]);
    let of_its_own = Array::open(scratch.join("source"), "", Access::Read).unwrap();
    std::os::unix::fs::symlink(scratch.join("source"), scratch.join("link")).unwrap();
    let before = files(&scratch);
    let options = RechunkOptions::default();
    for array in [&array, &of_its_own] {
        for (path, name) in [
            ("source", ""),
            ("source", "x"),
            ("source/c", ""),
            ("source/x/y", ""),
            ("source/c", "7"),
            ("link", "x"),
            ("link/x", ""),
            ("", "source/x"),
            ("", ""),
        ] {
            let path = scratch.join(path);
            let refused = array.describe(|same| rechunk(array, &path, name, &same.with_chunk_shape(&[8, 1]), &options));
            let error = refused.err().unwrap();
            let kinds = [ErrorKind::Argument(WITHIN), ErrorKind::Argument(AROUND), ErrorKind::Exists];
            assert!(kinds.contains(&error.kind()), "{path:?} {name}: {error}");
        }
        let beside = array.describe(|same| rechunk(array, &scratch, "beside", &same, &options)).unwrap();
        assert_eq!(values(&beside.array), expected);
        std::fs::remove_dir_all(scratch.join("beside")).unwrap();
    }
    assert_eq!(files(&scratch), before);
}

#[cfg(all(unix, not(miri), feature = "zip"))]
fn files(path: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path).unwrap().flatten() {
        found.push(entry.path());
        if entry.file_type().unwrap().is_dir() {
            found.extend(files(&entry.path()));
        }
    }
    found.sort();
    found
}

/// A storage that removes nothing, as one of callbacks may be.
struct Kept(Memory);

impl crate::object::ObjectStore for Kept {
    pass_on! { self => self.0; read list write is_writable }
}

/// Where nothing can be removed nothing is left behind, and nothing is continued.
#[test]
#[cfg_attr(miri, ignore = "it takes too long")]
fn a_storage_that_removes_nothing_has_the_array_alone() {
    let (array, expected) = maps(&memory());
    let kept = || Storage::new(Kept(Memory::new())).unwrap();
    let (options, to) = (in_two_passes(&array), kept());
    let go = |to: &Storage, options: &RechunkOptions<'_>| {
        array.describe(|same| rechunk_in(&array, to, "a", &same.with_chunk_shape(&[240, 10, 10]), options))
    };
    let done = go(&to, &options).unwrap();
    assert!(values(&done.array) == expected && done.plan.passes.len() == 1);
    assert_eq!(objects(&to, "").len(), 18);
    let elsewhere = memory();
    let done = go(&kept(), &options.with_temporary(&elsewhere)).unwrap();
    assert!(values(&done.array) == expected && done.plan.passes.len() == 2 && objects(&elsewhere, "").is_empty());
    // What is temporary has to go.
    let error = go(&memory(), &options.with_temporary(&to)).err().unwrap();
    assert!(error.to_string().contains("cannot remove"), "{error}");
}

/// A journal by which nothing would be left to do, though nothing is done, is none.
#[test]
fn journals_without_boxes_are_refused() {
    let (array, expected) = source(&memory(), &[8, 8], &[1, 8]);
    let to = memory();
    let go = |status: c_int| {
        let stop = |_: Progress| status;
        let options = RechunkOptions::default().with_transfer(Options::default().with_progress(&stop));
        array.describe(|same| rechunk_in(&array, &to, "a", &same.with_chunk_shape(&[8, 1]), &options))
    };
    assert_eq!(go(77).err().unwrap().kind(), ErrorKind::Stopped(77));
    let journal = format!("a/{WORK}/journal.json");
    let text = String::from_utf8(read_whole(&*to, &journal, 10_000).unwrap().unwrap()).unwrap();
    for (from, wrong) in [(r#""pass":0"#, r#""pass":1"#), (r#""passes":[[1,8]]"#, r#""passes":[]"#)] {
        assert!(text.contains(from), "{text}");
        to.write(&journal, text.replace(from, wrong).as_bytes()).unwrap();
        let error = go(0).err().unwrap();
        assert!(error.to_string().contains("journal.json"), "{error}");
    }
    to.write(&journal, text.as_bytes()).unwrap();
    assert_eq!(values(&go(0).unwrap().array), expected);
}

/// What is kept of the index of an HDF5 file's chunks counts.
#[test]
#[cfg(all(not(miri), feature = "hdf5"))]
fn the_index_of_chunks_counts() {
    let array = Array::open("../tests/vectors/unattached.nc", "v", Access::Read).unwrap();
    let storage = memory();
    let least_of = |array: &Array| {
        let description = |same: Description<'_>| Ok(least(array, &same.with_chunk_shape(&[4, 1]).with_codecs(&[])));
        array.describe(description).unwrap()
    };
    let options = RechunkOptions::default();
    let same = |same: Description<'_>| {
        rechunk_in(&array, &storage, "", &same.with_chunk_shape(&[1, 3]).with_codecs(&[]), &options)
    };
    let same = array.describe(same).unwrap().array;
    // An entry for each of the four chunks, twice; and what small reads of the file are merged to.
    assert_eq!(least_of(&array), least_of(&same) + 4 * 2 * (3 * 8 + 24) + (1 << 20));
}
