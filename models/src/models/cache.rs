//! A chunk that several threads need is fetched by one of them, or by the next if that one could not; what was found is
//! never overwritten; the limit is kept; and nothing stays that is older than what was written.

use std::mem::MaybeUninit;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU8, Ordering::SeqCst};
use loom::thread;

use crate::Model;
use crate::cache::{Cache, Entry, Found, Part};

pub(super) const MODELS: &[Model] = &[
    Model("cache/one-fetches", Some(3), one_fetches),
    Model("cache/next-tries", Some(3), the_next_tries),
    Model("cache/lent-stays", Some(3), what_is_lent_stays),
    Model("cache/more-of-it", Some(3), more_of_it),
    Model("cache/sizes", Some(3), chunks_of_several_sizes),
    Model("cache/stale-forgotten", None, nothing_forgotten_is_stale),
    Model("cache/stale-in-flight", None, nothing_from_a_request_is_stale),
    Model("cache/new-then-old", None, nothing_old_after_the_new),
    Model("cache/stale-readers", Some(4), nothing_stale_beside_readers),
];

const SIZE: usize = 8;

/// Looks for the first bytes of a chunk, and fetches them if they are not there, with the value that `get` tells then.
/// Tells whether it had to; no entry if there is no room.
fn look_for(part: &Part, chunk: isize, needed: usize, get: impl FnOnce() -> u8) -> (Option<Entry>, bool) {
    match part.find(&[chunk], &(0..needed), SIZE, true, || Ok(false), part.begin()).unwrap() {
        Found::Ready(entry) => (Some(entry), false),
        Found::Load { mut loading, all } => {
            let needed = if all { SIZE } else { needed };
            let value = get();
            loading.room(SIZE).unwrap()[..needed].fill(MaybeUninit::new(value));
            // SAFETY: so many bytes have just been written.
            (Some(unsafe { loading.finish(needed, 0..needed) }.unwrap()), true)
        }
        Found::Nothing => (None, true),
    }
}

/// Writes another value to a chunk.
fn write(part: &Part, stored: &AtomicU8) {
    let mut write = part.write();
    write.add(&[7]).unwrap();
    stored.store(2, SeqCst);
}

/// The whole chunk, if it is kept.
fn kept(part: &Part) -> Option<Entry> {
    part.ready(&[7], &(0..SIZE), SIZE, part.begin()).unwrap()
}

/// Has the body run by so many threads, this one included, with numbers from 0 on.
fn together<T: 'static>(threads: usize, cache: &Cache, part: &Arc<Part>, body: fn(&Cache, &Part, u8) -> T) -> Vec<T> {
    let others: Vec<_> = (1..threads)
        .map(|number| {
            let (cache, part) = (cache.clone(), part.clone());
            thread::spawn(move || body(&cache, &part, number as u8))
        })
        .collect();
    let own = body(cache, part, 0);
    std::iter::once(own).chain(others.into_iter().map(|thread| thread.join().unwrap())).collect()
}

fn new(limit: usize) -> (Cache, Arc<Part>) {
    let cache = Cache::new(limit).unwrap();
    let part = Arc::new(cache.part());
    (cache, part)
}

fn one_fetches() {
    let (cache, part) = new(10 * SIZE);
    let fetched = together(3, &cache, &part, |_, part, _| {
        let (entry, is_fetched) = look_for(part, 7, SIZE, || 7);
        assert_eq!(entry.unwrap().bytes(), [7; SIZE]);
        is_fetched
    });
    let statistics = cache.statistics();
    assert_eq!(fetched.into_iter().filter(|&is_fetched| is_fetched).count(), 1);
    assert_eq!((statistics.misses, statistics.hits), (1, 2));
}

/// One thread does not get what it begins to fetch. The other may be waiting for it, and has to fetch it then.
fn the_next_tries() {
    let (cache, part) = new(10 * SIZE);
    together(2, &cache, &part, |_, part, number| {
        if number == 0 {
            drop(part.find(&[7], &(0..SIZE), SIZE, true, || Ok(false), part.begin()).unwrap());
        } else {
            assert_eq!(look_for(part, 7, SIZE, || 7).0.unwrap().bytes(), [7; SIZE]);
        }
    });
}

/// There is room for one chunk. Each thread uses the one that is there, and then another, for which the memory of the
/// first is used if nobody has that any more.
fn what_is_lent_stays() {
    let (cache, part) = new(2 * SIZE - 1);
    look_for(&part, 5, SIZE, || 5);
    together(2, &cache, &part, |cache, part, number| {
        for chunk in [5, 10 + number] {
            let (entry, _) = look_for(part, isize::from(chunk), SIZE, || chunk);
            let statistics = cache.statistics();
            assert!(statistics.bytes <= statistics.limit && statistics.bytes == statistics.chunks * SIZE);
            assert!(entry.is_none_or(|entry| entry.bytes() == [chunk; SIZE]));
        }
    });
}

/// Threads need ever more of a chunk. Whoever has the first bytes goes on having them while the others are fetched.
fn more_of_it() {
    let (cache, part) = new(10 * SIZE);
    let fetched = together(3, &cache, &part, |_, part, number| {
        let needed = [2, SIZE, 2][usize::from(number)];
        let (entry, is_fetched) = look_for(part, 7, needed, || 7);
        assert_eq!(entry.unwrap().bytes()[..needed], [7; SIZE][..needed]);
        is_fetched
    });
    assert!((1..=2).contains(&fetched.into_iter().filter(|&is_fetched| is_fetched).count()));
    assert!(kept(&part).is_some());
}

/// Variables with chunks of several sizes use one store: none finds another's chunk, none waits for ever, whether its
/// chunks fit into the cache or not, and what is begun and not ended is not waited for.
fn chunks_of_several_sizes() {
    let (cache, part) = new(3 * SIZE);
    together(2, &cache, &part, |_, part, number| {
        for size in [SIZE, [2, 4][usize::from(number)] * SIZE] {
            match part.find(&[7], &(0..size), size, true, || Ok(false), part.begin()).unwrap() {
                Found::Ready(entry) => assert_eq!(entry.bytes().len(), size),
                Found::Load { mut loading, .. } => {
                    loading.room(size).unwrap().fill(MaybeUninit::new(1));
                    // SAFETY: so many bytes have just been written.
                    unsafe { loading.finish(size, 0..size) }.unwrap();
                }
                Found::Nothing => assert_eq!(size, 4 * SIZE),
            }
        }
    });
    look_for(&part, 7, SIZE, || 7);
}

/// One thread reads a chunk while another writes it, to where it is stored, and has the cache forget it.
fn nothing_forgotten_is_stale() {
    let (_, part) = new(10 * SIZE);
    let stored = Arc::new(AtomicU8::new(1));
    let (other, from) = (part.clone(), stored.clone());
    let reader = thread::spawn(move || {
        look_for(&other, 7, SIZE, || from.load(SeqCst));
    });
    write(&part, &stored);
    reader.join().unwrap();
    assert!(kept(&part).is_none_or(|entry| entry.bytes() == [2; SIZE]));
}

/// A thread reads a chunk by a request, of which the cache is told when it has ended, while another writes the chunk.
fn nothing_from_a_request_is_stale() {
    let (_, part) = new(10 * SIZE);
    let stored = Arc::new(AtomicU8::new(1));
    let (other, from) = (part.clone(), stored.clone());
    let reader = thread::spawn(move || {
        let request = other.request(other.begin());
        let value = from.load(SeqCst);
        let Some(mut loading) = other.keep(&[7], SIZE, request).unwrap() else { return };
        loading.room(SIZE).unwrap().fill(MaybeUninit::new(value));
        // SAFETY: so many bytes have just been written.
        unsafe { loading.finish(SIZE, 0..SIZE) }.unwrap();
    });
    write(&part, &stored);
    reader.join().unwrap();
    assert!(kept(&part).is_none_or(|entry| entry.bytes() == [2; SIZE]));
}

/// A chunk is written while a thread reads it as it is stored, and then by the cache, which has it: it finds the new
/// value and then the old one in no order.
fn nothing_old_after_the_new() {
    let (_, part) = new(10 * SIZE);
    let stored = Arc::new(AtomicU8::new(1));
    look_for(&part, 7, SIZE, || 1);
    let (other, from) = (part.clone(), stored.clone());
    let reader = thread::spawn(move || {
        let first = from.load(SeqCst);
        let second = match look_for(&other, 7, SIZE, || from.load(SeqCst)) {
            (Some(entry), _) => entry.bytes()[0],
            (None, _) => from.load(SeqCst),
        };
        assert!(first <= second);
    });
    write(&part, &stored);
    reader.join().unwrap();
}

/// Two threads read ever more of a chunk while a third writes it, and then reads it again.
fn nothing_stale_beside_readers() {
    let (_, part) = new(10 * SIZE);
    let stored = Arc::new(AtomicU8::new(1));
    let readers = [2, SIZE].map(|needed| {
        let (part, stored) = (part.clone(), stored.clone());
        thread::spawn(move || {
            look_for(&part, 7, needed, || stored.load(SeqCst));
        })
    });
    write(&part, &stored);
    assert_eq!(look_for(&part, 7, SIZE, || stored.load(SeqCst)).0.unwrap().bytes(), [2; SIZE]);
    readers.into_iter().for_each(|reader| reader.join().unwrap());
    assert!(kept(&part).is_none_or(|entry| entry.bytes() == [2; SIZE]));
}
