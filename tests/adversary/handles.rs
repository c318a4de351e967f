//! Progress functions that panic, end the call, or use what is in flight; handles that are forgotten without being
//! dropped; types of elements that fit no variable.
#![forbid(unsafe_code)]

#[cfg(not(miri))]
use std::mem::forget;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use nczchunk::{Buffer, Cache, ChunkStore, Filled, Hyperslab, Progress, Request, Result};

use super::*;

fn fill(request: &Request<'_>, buffer: &mut Buffer<'_>) -> Result<Filled> {
    let bytes = chunk(request.chunk(), false);
    buffer.write(&bytes[..bytes.len().min(buffer.capacity())]);
    Ok(Filled::Stored(bytes.len()))
}

fn cached() -> ChunkStore<'static> {
    let mut store = ChunkStore::new(fill).unwrap();
    store.add_codec(super::zero_copy::AsTheyAre).unwrap();
    store.set_cache(Some(&Cache::new(5 * CHUNK_BYTES).unwrap()));
    store
}

#[test]
fn progress_functions() {
    let variable = variable(false);
    let store = cached();
    let expected: Vec<u16> = places(&SELECTIONS[0]).map(value).collect();
    for threads in [1, THREADS] {
        for at in all_or_some(Turn::all().chain([Some(CHUNKS)]), 5) {
            for does in ["ends", "panics", "reads"] {
                let turn = Turn::new(at);
                let progress = |progress: Progress| {
                    assert!(progress.chunks_done <= progress.num_chunks && progress.bytes_done <= progress.num_bytes);
                    if !turn.has_come() {
                        return 0;
                    }
                    match does {
                        "ends" => return 7,
                        "panics" => panic!("the adversary panics"),
                        _ => assert_eq!(nczchunk::read::<u16>(&variable, &store, &Hyperslab::all()).unwrap(), expected),
                    }
                    0
                };
                let plan = Plan::new(&variable, &Hyperslab::all(), Access::Read).unwrap();
                let options = Options::default().with_threads(threads).with_progress(&progress);
                let mut out = BEFORE.to_ne_bytes().repeat(expected.len());
                let read = outcome(|| plan.read_chunks(&store, 0..plan.num_chunks(), &mut out, options));
                if let Ok(Ok(())) = read {
                    let values = out.as_chunks().0.iter().map(|&bytes| u16::from_ne_bytes(bytes));
                    assert!(values.eq(expected.iter().copied()), "{does} at {at:?}");
                }
                assert_eq!(nczchunk::read::<u16>(&variable, &store, &Hyperslab::all()).unwrap(), expected);
            }
        }
    }
}

/// A cache lives as long as anybody uses it, however many of those who do are forgotten. (Miri would call what is never
/// dropped a leak, which it is.)
#[test]
#[cfg(not(miri))]
fn what_is_forgotten_is_not_freed() {
    let variable = variable(false);
    let cache = Cache::new(1 << 20).unwrap();
    (0..1000).for_each(|_| forget(cache.clone()));
    let mut store = cached();
    store.set_cache(Some(&cache));
    drop(cache);
    read_in_all_ways("a forgotten cache", &variable, &store, false);
    let mut other = cached();
    other.set_cache(None);
    let plan = Prepared::new(Plan::new(&variable, &Hyperslab::all(), Access::Read).unwrap()).unwrap();
    plan.read(&store, &mut vec![0; plan.memory_bytes()]).unwrap();
    forget((store, plan));
    read_in_all_ways("no cache", &variable, &other, false);
}

/// One store and one cache, used by threads that all misbehave in their own way.
#[test]
fn threads_share_a_store() {
    let variable = variable(false);
    let calls = AtomicUsize::new(0);
    let fill = |request: &Request<'_>, buffer: &mut Buffer<'_>| match calls.fetch_add(1, SeqCst) % 5 {
        1 => panic!("the adversary panics"),
        2 => Ok(Filled::Stored(CHUNK_BYTES)),
        3 => Ok(Filled::Stored(buffer.zeroed().len())),
        _ => fill(request, buffer),
    };
    let mut store = ChunkStore::new(fill).unwrap();
    store.add_codec(super::zero_copy::AsTheyAre).unwrap();
    store.set_cache(Some(&Cache::new(5 * CHUNK_BYTES).unwrap()));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| (0..2).for_each(|_| read_in_all_ways("threads", &variable, &store, true)));
        }
    });
}

#[test]
fn elements_have_the_size_of_the_variables() {
    let (variable, store) = (variable(false), cached());
    assert!(nczchunk::read::<[u16; 0]>(&variable, &store, &Hyperslab::all()).is_err());
    assert!(nczchunk::read::<[[u8; 0]; 1000]>(&variable, &store, &Hyperslab::all()).is_err());
    assert!(nczchunk::read::<u8>(&variable, &store, &Hyperslab::all()).is_err());
    assert!(nczchunk::read::<[u8; 1 << 20]>(&variable, &store, &Hyperslab::all()).is_err());
    assert!(nczchunk::read_into::<[u8; 0]>(&variable, &store, &Hyperslab::all(), &mut [[]; 35]).is_err());
    assert!(nczchunk::write::<[u8; 0]>(&variable, &store, &Hyperslab::all(), &[[]; 35]).is_err());
    assert_eq!(nczchunk::read::<[u8; 2]>(&variable, &store, &Hyperslab::all()).unwrap().len(), 35);
    assert_eq!(nczchunk::read::<[[u8; 1]; 2]>(&variable, &store, &Hyperslab::new(&[1, 1], &[1, 0])).unwrap().len(), 0);
}
