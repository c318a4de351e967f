use super::slab::Slab;
use super::*;

const SIZE: usize = 100;

/// Looks for a chunk of 100 bytes, and fetches what is needed; tells whether it had to be fetched.
fn use_chunk(part: &Part, chunk: isize, needed: Range<usize>, turn: Turn) -> bool {
    match part.find(&[chunk], &needed, SIZE, true, || Ok(false), turn).unwrap() {
        Found::Ready(entry) => {
            assert_eq!(entry.bytes()[needed.start], chunk as u8);
            false
        }
        Found::Load { mut loading, all } => {
            let needed = if all { 0..SIZE } else { needed };
            loading.room(SIZE).unwrap()[..needed.end].fill(MaybeUninit::new(chunk as u8));
            // SAFETY: so many bytes have just been written.
            unsafe { loading.finish(needed.end, needed) }.unwrap();
            true
        }
        Found::Nothing => true,
    }
}

/// The whole chunk, if it is kept.
fn kept(part: &Part, chunk: isize, size: usize) -> Option<Entry> {
    part.ready(&[chunk], &(0..size), size, part.begin()).unwrap()
}

/// A whole chunk has been read.
fn keep(part: &Part, chunk: &[isize], bytes: &[u8], turn: Turn) -> Result<()> {
    let Some(mut loading) = part.keep(chunk, bytes.len(), turn)? else { return Ok(()) };
    for (to, from) in loading.room(bytes.len())?.iter_mut().zip(bytes) {
        to.write(*from);
    }
    // SAFETY: so many bytes have just been written.
    unsafe { loading.finish(bytes.len(), 0..bytes.len()) }.map(|_| ())
}

/// A chunk is written to.
fn written(part: &Part, chunk: isize) {
    part.write().add(&[chunk]).unwrap();
}

fn fetched(part: &Part, chunks: impl Iterator<Item = isize>) -> usize {
    let turn = part.begin();
    chunks.filter(|&chunk| use_chunk(part, chunk, 0..SIZE, turn)).count()
}

#[test]
fn the_chunk_that_was_used_last_is_kept_longest() {
    let cache = Cache::new(3 * SIZE + 50).unwrap();
    let part = cache.part();
    assert_eq!(fetched(&part, [1, 2, 3].into_iter()), 3);
    assert_eq!(fetched(&part, [1, 4].into_iter()), 1);
    // 4 has taken the place of 2.
    assert_eq!(fetched(&part, [1, 3, 4].into_iter()), 0);
    assert_eq!(fetched(&part, [2].into_iter()), 1);
    let statistics = cache.statistics();
    assert_eq!((statistics.chunks, statistics.bytes, statistics.evictions), (3, 3 * SIZE, 2));
    assert_eq!((statistics.hits, statistics.misses), (4, 5));
}

#[test]
fn a_transfer_keeps_the_first_of_what_it_fetches() {
    let part = Cache::new(4 * SIZE).unwrap().part();
    assert_eq!(fetched(&part, 0..10), 10);
    assert_eq!(fetched(&part, 0..4), 0);
    // Slabs of which each begins where the one before ended find that, and make room for what follows.
    assert_eq!(fetched(&part, 0..8), 4);
    assert_eq!(fetched(&part, 4..8), 0);
}

/// Nothing goes for a chunk for which there would be no room then either.
#[test]
fn what_makes_no_room_stays() {
    let cache = Cache::new(4 * SIZE).unwrap();
    let part = cache.part();
    let bytes = |num: usize| vec![7; num * SIZE];
    keep(&part, &[0], &bytes(1), part.begin()).unwrap();
    let turn = part.begin();
    keep(&part, &[1], &bytes(1), turn).unwrap();
    keep(&part, &[2], &bytes(1), turn).unwrap();
    // There is room for one, and the oldest could go.
    keep(&part, &[3], &bytes(3), turn).unwrap();
    let is_kept = |chunk, num: usize| kept(&part, chunk, num * SIZE).is_some();
    assert_eq!([is_kept(0, 1), is_kept(1, 1), is_kept(2, 1), is_kept(3, 3)], [true, true, true, false]);
    assert_eq!(cache.statistics().evictions, 0);
    keep(&part, &[3], &bytes(2), part.begin()).unwrap();
    assert!(is_kept(3, 2) && cache.statistics().evictions == 1);
}

#[test]
fn more_of_a_chunk_is_fetched_to_its_end() {
    let part = Cache::new(SIZE).unwrap().part();
    let turn = part.begin();
    assert!(use_chunk(&part, 7, 10..20, turn));
    assert!(!use_chunk(&part, 7, 12..20, turn));
    assert!(use_chunk(&part, 7, 12..21, turn));
    assert!(!use_chunk(&part, 7, 0..SIZE, turn));
}

#[test]
fn chunks_are_fetched_to_their_end_when_more_of_the_last_ones_was_needed() {
    let part = Cache::new(2 * SIZE).unwrap().part();
    assert!(use_chunk(&part, 1, 0..10, part.begin()));
    assert!(use_chunk(&part, 1, 10..20, part.begin()));
    assert!(use_chunk(&part, 2, 0..10, part.begin()));
    assert!(!use_chunk(&part, 2, 10..20, part.begin()));
    // Of 3 and 4 no more is needed than was at first, and of 5 no more is fetched once one of them is dropped.
    for chunk in 3..6 {
        assert!(use_chunk(&part, chunk, 0..10, part.begin()));
    }
    assert!(use_chunk(&part, 5, 10..20, part.begin()));
}

#[test]
fn what_is_in_use_stays_when_the_cache_drops_it() {
    let part = Cache::new(SIZE).unwrap().part();
    fetched(&part, 1..2);
    let Found::Ready(entry) = part.find(&[1], &(0..SIZE), SIZE, true, || Ok(false), part.begin()).unwrap() else {
        panic!()
    };
    fetched(&part, 2..3);
    assert_eq!(entry.bytes(), [1; SIZE]);
}

#[test]
fn memory_is_not_used_again_for_chunks_that_are_much_smaller() {
    let cache = Cache::new(4 * SIZE).unwrap();
    let (large, small) = (cache.part(), cache.part());
    let memory_of = |part: &Part, size: usize| {
        keep(part, &[1], &vec![3; size], part.begin()).unwrap();
        let entry = kept(part, 1, size).unwrap();
        written(part, 1);
        match entry.into_memory().unwrap() {
            Memory::Own(scratch) => scratch.capacity(),
            Memory::Place(_) => panic!("chunks in slabs are larger"),
        }
    };
    // Each has to make room for itself, and the first finds memory that is a little larger than it has to be.
    for (size, capacity) in [(4 * SIZE - 10, 4 * SIZE), (SIZE, SIZE)] {
        keep(&large, &[0], &[3; 4 * SIZE], large.begin()).unwrap();
        assert_eq!(memory_of(&small, size), capacity);
    }
}

#[test]
fn one_store_does_not_find_the_chunks_of_another_and_takes_its_own_away() {
    let cache = Cache::new(10 * SIZE).unwrap();
    let (one, other) = (cache.part(), cache.part());
    assert_eq!((fetched(&one, 0..3), fetched(&other, 0..3)), (3, 3));
    drop(one);
    assert_eq!((cache.statistics().chunks, fetched(&other, 0..3)), (3, 0));
}

#[test]
fn what_is_written_is_not_found_as_it_was_read() {
    let part = Cache::new(10 * SIZE).unwrap().part();
    fetched(&part, 5..6);
    assert_eq!(kept(&part, 5, SIZE).unwrap().bytes(), [5; SIZE]);
    written(&part, 5);
    assert!(kept(&part, 5, SIZE).is_none());
    // What is being read while it is written to may be the old chunk, and is not kept.
    let Found::Load { loading, .. } = part.find(&[6], &(0..0), SIZE, true, || Ok(false), part.begin()).unwrap() else {
        panic!()
    };
    written(&part, 6);
    // SAFETY: no byte is said to be written.
    unsafe { loading.finish(0, 0..0) }.unwrap();
    assert_eq!(fetched(&part, 6..7), 1);
}

#[test]
fn what_a_request_brings_is_kept_unless_the_chunk_was_written_to_meanwhile() {
    let part = Cache::new(10 * SIZE).unwrap().part();
    for is_written in [false, true] {
        let request = part.request(part.begin());
        if is_written {
            written(&part, 5);
        }
        keep(&part, &[5], &[9; SIZE], request).unwrap();
        assert_eq!(kept(&part, 5, SIZE).is_none(), is_written);
    }
}

/// A shard that stays open is as it was when it was opened, for requests that start later, too.
#[test]
fn what_comes_of_an_open_object_is_kept_unless_it_was_written_to_since_the_transfer_began() {
    let part = Cache::new(10 * SIZE).unwrap().part();
    for is_written in [false, true] {
        let transfer = part.begin_with_objects();
        if is_written {
            written(&part, 5);
        }
        keep(&part, &[5], &[9; SIZE], part.request(transfer)).unwrap();
        assert_eq!(kept(&part, 5, SIZE).is_none(), is_written);
    }
}

/// Of other chunks most belong to other groups, whose writes do not count.
#[test]
fn what_a_request_brings_is_kept_though_other_chunks_were_written_to_meanwhile() {
    let part = Cache::new(10 * SIZE).unwrap().part();
    let is_kept = |other: isize| {
        let request = part.request(part.begin());
        written(&part, other);
        keep(&part, &[5], &[1; SIZE], request).unwrap();
        let is_kept = kept(&part, 5, SIZE).is_some();
        written(&part, 5);
        is_kept
    };
    assert!((6..70).filter(|&other| is_kept(other)).count() > 32);
}

/// Else who reads the chunk as it is stored now could find it in the cache as it was.
#[test]
fn nothing_is_kept_of_a_chunk_while_it_is_written_to() {
    let part = Cache::new(10 * SIZE).unwrap().part();
    fetched(&part, 5..6);
    let before = part.request(part.begin());
    let mut write = part.write();
    write.add(&[5]).unwrap();
    assert!(kept(&part, 5, SIZE).is_none());
    let meanwhile = part.request(part.begin());
    for turn in [before, meanwhile, part.begin()] {
        keep(&part, &[5], &[1; SIZE], turn).unwrap();
        assert!(kept(&part, 5, SIZE).is_none());
    }
    drop(write);
    for (turn, is_kept) in [(before, false), (meanwhile, false), (part.begin(), true)] {
        keep(&part, &[5], &[1; SIZE], turn).unwrap();
        assert_eq!(kept(&part, 5, SIZE).is_some(), is_kept);
    }
}

#[test]
fn chunks_of_another_size_are_other_chunks() {
    let part = Cache::new(10 * SIZE).unwrap().part();
    for _ in 0..2 {
        for size in [SIZE, 5 * SIZE, 20 * SIZE] {
            assert!(kept(&part, 1, size).is_none());
            match part.find(&[1], &(0..size), size, true, || Ok(false), part.begin()).unwrap() {
                Found::Ready(_) => panic!("this is a chunk of another size"),
                Found::Load { mut loading, .. } => {
                    loading.room(size).unwrap().fill(MaybeUninit::new(1));
                    // SAFETY: so many bytes have just been written.
                    unsafe { loading.finish(size, 0..size) }.unwrap();
                    assert_eq!(kept(&part, 1, size).unwrap().bytes().len(), size);
                }
                Found::Nothing => assert_eq!(size, 20 * SIZE),
            }
        }
    }
}

#[test]
fn many_threads_fetch_a_chunk_once() {
    let part = Cache::new(1000 * SIZE).unwrap().part();
    let count = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let turn = part.begin();
                for chunk in 0..100 {
                    count.fetch_add(u64::from(use_chunk(&part, chunk, 0..SIZE, turn)), Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(count.load(Ordering::Relaxed), 100);
}

#[test]
fn a_chunk_that_could_not_be_fetched_is_left_to_the_next() {
    let part = Cache::new(SIZE).unwrap().part();
    let Found::Load { loading, .. } = part.find(&[1], &(0..9), SIZE, true, || Ok(false), part.begin()).unwrap() else {
        panic!()
    };
    drop(loading);
    assert_eq!((part.cache.statistics().chunks, fetched(&part, 1..2)), (0, 1));
}

/// It asks a codec of the caller's, which may use the cache.
#[test]
fn nothing_is_locked_while_it_is_asked_whether_all_is_decoded() {
    let part = Cache::new(SIZE).unwrap().part();
    let to_end = || part.has_any_of(&[1]).map(|is_there| !is_there);
    let Found::Load { all, .. } = part.find(&[1], &(0..9), SIZE, true, to_end, part.begin()).unwrap() else { panic!() };
    assert!(all);
}

#[test]
fn what_is_ready_is_found_without_waiting_for_what_is_not() {
    let cache = Cache::new(10 * SIZE).unwrap();
    let part = cache.part();
    fetched(&part, 1..2);
    let turn = part.begin();
    assert_eq!(part.ready(&[1], &(5..9), SIZE, turn).unwrap().unwrap().bytes()[5], 1);
    let Found::Load { loading, .. } = part.find(&[2], &(0..9), SIZE, true, || Ok(false), turn).unwrap() else {
        panic!()
    };
    assert!(
        part.ready(&[2], &(0..9), SIZE, turn).unwrap().is_none()
            && part.ready(&[3], &(0..9), SIZE, turn).unwrap().is_none()
    );
    drop(loading);
    keep(&part, &[3], &[7; SIZE], turn).unwrap();
    assert_eq!(part.ready(&[3], &(0..SIZE), SIZE, turn).unwrap().unwrap().bytes(), [7; SIZE]);
    // What was not there is counted by whoever fetches it.
    assert_eq!((cache.statistics().hits, cache.statistics().misses), (2, 3));
}

/// Fills what is needed of a chunk of a mebibyte with a value; tells whether that had to be done.
fn use_large_chunk(part: &Part, chunk: isize, needed: Range<usize>) -> bool {
    const SIZE: usize = 1 << 20;
    let entry = match part.find(&[chunk], &needed, SIZE, true, || Ok(false), part.begin()).unwrap() {
        Found::Ready(entry) => return entry.bytes()[needed].iter().any(|&byte| byte != chunk as u8),
        Found::Load { mut loading, all } => {
            let filled = if all { SIZE } else { needed.end };
            loading.room(SIZE).unwrap()[..filled].fill(MaybeUninit::new(chunk as u8));
            // SAFETY: so many bytes have just been written.
            unsafe { loading.finish(filled, 0..filled) }.unwrap()
        }
        Found::Nothing => panic!("there is room"),
    };
    assert!(entry.bytes()[needed].iter().all(|&byte| byte == chunk as u8));
    true
}

#[test]
#[cfg_attr(miri, ignore = "so many bytes take too long")]
fn chunks_of_which_more_is_needed_are_kept_in_slabs() {
    let num_slabs = |cache: &Cache| cache.0.table.lock().unwrap().num_slabs();
    let cache = Cache::new(32 << 20).unwrap();
    let part = cache.part();
    let slabs_of = |chunks: usize| if Slab::suits(1 << 20) { chunks.div_ceil(8) } else { 0 };
    // What is needed once has memory of its own.
    assert!((0..20).all(|chunk| use_large_chunk(&part, chunk, 0..10)));
    assert_eq!(num_slabs(&cache), 0);
    assert!((0..20).all(|chunk| use_large_chunk(&part, chunk, 10..30)));
    assert!((0..20).all(|chunk| !use_large_chunk(&part, chunk, 0..1 << 20)));
    assert_eq!(num_slabs(&cache), slabs_of(20));
    // Further ones take the places that are left, more slabs, and then the places of those that were not used last.
    assert!((20..40).all(|chunk| use_large_chunk(&part, chunk, 0..10)));
    assert!((8..40).all(|chunk| !use_large_chunk(&part, chunk, 0..1 << 20)));
    assert_eq!((num_slabs(&cache), cache.statistics().bytes), (slabs_of(32), 32 << 20));
    // What is in use keeps its slab, and the others go with the store.
    let Found::Ready(entry) = part.find(&[39], &(0..10), 1 << 20, true, || Ok(false), part.begin()).unwrap() else {
        panic!()
    };
    drop(part);
    assert_eq!(num_slabs(&cache), slabs_of(1));
    assert!(entry.bytes().iter().all(|&byte| byte == 39));
    drop(cache);
    assert!(entry.bytes().iter().all(|&byte| byte == 39));
}

#[test]
#[cfg_attr(miri, ignore = "so many bytes take too long")]
fn small_caches_have_no_slabs() {
    let cache = Cache::new(31 << 20).unwrap();
    let part = cache.part();
    assert!(use_large_chunk(&part, 1, 0..10) && use_large_chunk(&part, 1, 10..30));
    assert_eq!(cache.0.table.lock().unwrap().num_slabs(), 0);
}

/// The memory of a chunk that is dropped serves the next one, if it is large enough; else there is other memory.
#[test]
#[cfg_attr(miri, ignore = "so many bytes take too long")]
fn a_place_in_a_slab_is_not_used_for_a_chunk_that_is_larger() {
    const SMALL: usize = 1 << 20;
    const LARGE: usize = SMALL + (1 << 18);
    let cache = Cache::new(32 << 20).unwrap();
    let (small, large) = (cache.part(), cache.part());
    // Parts of chunks first, then more of each, so that they lie in slabs and fill the cache.
    assert!((0..32).all(|chunk| use_large_chunk(&small, chunk, 0..10)));
    assert!((0..32).all(|chunk| use_large_chunk(&small, chunk, 10..30)));
    for chunk in 0..8 {
        keep(&large, &[chunk], &vec![chunk as u8 + 100; LARGE], large.begin()).unwrap();
    }
    for chunk in 0..8 {
        let entry = kept(&large, chunk, LARGE).unwrap();
        assert!(entry.bytes().len() == LARGE && entry.bytes().iter().all(|&byte| byte == chunk as u8 + 100));
    }
    assert!((20..32).all(|chunk| !use_large_chunk(&small, chunk, 0..SMALL)));
}

/// More is needed of a chunk whose beginning has been decoded into a place in a slab: that place takes all of it.
#[test]
#[cfg_attr(miri, ignore = "so many bytes take too long")]
fn a_place_in_a_slab_serves_the_whole_chunk() {
    let cache = Cache::new(32 << 20).unwrap();
    let part = cache.part();
    // The first chunk of which more is needed has those after it kept whole, until one is dropped that one transfer
    // only has used.
    assert!((0..32).all(|chunk| use_large_chunk(&part, chunk, 0..10)));
    assert!((0..32).all(|chunk| use_large_chunk(&part, chunk, 10..30)));
    // A chunk of another store takes the place of a dropped one and has only its beginning decoded.
    let other = cache.part();
    let turn = other.begin();
    let find = |needed: Range<usize>| match other.find(&[7], &needed, 1 << 20, true, || Ok(false), turn).unwrap() {
        Found::Load { loading, .. } => loading,
        _ => panic!("it is not there"),
    };
    for needed in [0..10, 10..1 << 20] {
        let mut loading = find(needed.clone());
        loading.room(1 << 20).unwrap()[..needed.end].fill(MaybeUninit::new(7));
        // SAFETY: so many bytes have just been written.
        unsafe { loading.finish(needed.end, 0..needed.end) }.unwrap();
    }
    let entry = kept(&other, 7, 1 << 20).unwrap();
    assert!(entry.bytes().iter().all(|&byte| byte == 7));
    drop(entry);
    let in_slab = Slab::suits(1 << 20);
    written(&other, 7);
    assert_eq!(cache.0.table.lock().unwrap().num_slabs() > 0, in_slab);
}

#[test]
fn a_chunk_that_was_passed_is_fetched_to_its_end_the_next_time() {
    let part = Cache::new(1000).unwrap().part();
    let Found::Load { loading, all } = part.find(&[1], &(0..5), 100, true, || Ok(false), part.begin()).unwrap() else {
        panic!()
    };
    assert!(!all);
    loading.pass().unwrap();
    let Found::Load { loading, all } = part.find(&[1], &(0..5), 100, true, || Ok(false), part.begin()).unwrap() else {
        panic!()
    };
    assert!(all);
    drop(loading);
    assert_eq!(part.cache.statistics().hits, 0);
}

/// Memory with these bytes, and room for some more.
fn memory(bytes: &[u8], room: usize) -> Scratch {
    let mut memory = Scratch::EMPTY;
    for (to, from) in memory.room(room).unwrap().iter_mut().zip(bytes) {
        to.write(*from);
    }
    memory
}

#[test]
fn what_is_stored_of_a_chunk_is_there_until_it_is_decoded() {
    let cache = Cache::from_second_use(250).unwrap();
    let part = cache.part();
    let load = |turn| match part.find(&[1], &(0..5), 100, true, || Ok(false), turn).unwrap() {
        Found::Load { loading, all } => (loading, all),
        Found::Ready(_) | Found::Nothing => panic!(),
    };
    let (loading, all) = load(part.begin());
    assert!(!all && loading.suits(125) && !loading.suits(126));
    // SAFETY: so many bytes of the memory have been written.
    unsafe { loading.pass_stored(memory(b"stored", 110), 6) }.unwrap();
    assert_eq!(cache.statistics().bytes, 100);
    let ready = |size| part.ready(&[1], &(0..5), size, part.begin()).unwrap();
    let entry = ready(100).unwrap();
    assert!(entry.is_stored() && entry.bytes() == b"stored" && !entry.has(&(0..1)));
    // Not for a variable with chunks of another size.
    assert!(ready(99).is_none());
    assert_eq!(cache.statistics().hits, 0);
    let (mut loading, all) = load(part.begin());
    assert!(all && ready(100).is_none());
    loading.take(memory(&[7; 100], 100));
    // SAFETY: as above.
    unsafe { loading.finish(100, 0..100) }.unwrap();
    let decoded = ready(100).unwrap();
    assert!(!decoded.is_stored() && decoded.bytes() == [7; 100] && entry.bytes() == b"stored");
    assert_eq!((cache.statistics().hits, cache.statistics().misses, cache.statistics().chunks), (1, 2, 1));
}

#[test]
fn what_was_stored_before_a_write_is_not_there_after_it() {
    let part = Cache::from_second_use(1000).unwrap().part();
    let request = part.request(part.begin());
    let pass = |turn| {
        if let Found::Load { loading, .. } = part.find(&[1], &(0..5), 100, true, || Ok(false), turn).unwrap() {
            // SAFETY: so many bytes of the memory have been written.
            unsafe { loading.pass_stored(memory(b"old", 3), 3) }.unwrap();
        }
        part.ready(&[1], &(0..5), 100, part.begin()).unwrap().is_some()
    };
    assert!(pass(request));
    written(&part, 1);
    assert!(!pass(request));
    assert!(pass(part.request(part.begin())));
}
