//! What is done to a storage that answers later, and keeps its promises. Only unsafe Rust can be such a storage; safe
//! Rust can stand in front of one, and read there while other reads are in flight.
#![forbid(unsafe_code)]

use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, OnceLock, Weak};

use nczchunk::object::{Flight, ObjectStore, PrefixedStorage, Storage};
use nczchunk::{Array, Buffer, Codec, Description, ElementType, ErrorKind, Result, pass_on};

use super::far::Far;
use super::*;

/// Stands in front of two storages and says something else each time it is asked.
struct Front {
    storages: [Far; 2],
    asked: AtomicUsize,
    wavers: Wavers,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Wavers {
    /// In which storage reads are in flight.
    Storage,
    /// Whether there are any.
    Latency,
    /// What names begin with.
    Prefix,
    /// Which gap there is between ranges.
    Gap,
}

impl Front {
    fn turn(&self, wavers: Wavers) -> usize {
        if self.wavers == wavers { self.asked.fetch_add(1, SeqCst) } else { 0 }
    }
}

impl ObjectStore for Front {
    pass_on! { self => self.storages[0]; read list }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.storages.iter().try_for_each(|storage| storage.write(name, bytes))
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.storages.iter().try_for_each(|storage| storage.remove(name))
    }

    fn is_writable(&self) -> bool {
        true
    }

    fn gap(&self) -> usize {
        [1, 5, 0, usize::MAX][self.turn(Wavers::Gap) % 4]
    }

    fn flight(&self) -> Option<&dyn Flight> {
        if self.turn(Wavers::Latency) % 3 == 2 {
            return None;
        }
        self.storages[self.turn(Wavers::Storage) % 2].flight()
    }

    fn flight_prefix(&self) -> &str {
        ["", "..", "/", "\0", "x", "x/../"][self.turn(Wavers::Prefix) % 6]
    }
}

/// An array in chunks or in shards, which are encoded by the codec `own` if there is one.
fn create(storage: &Storage, is_sharded: bool, has_own: bool) -> Array {
    let fill = FILL.to_ne_bytes();
    let codecs: &[_] = if has_own { &[("own", "")] } else { &[] };
    let mut description = Description::new(&SHAPE, ElementType::UShort)
        .with_chunk_shape(&CHUNK)
        .with_fill_value(&fill)
        .with_codecs(codecs);
    if is_sharded {
        description = description.with_shard_shape(&[4, 6]);
    }
    let array = Array::create_in(storage, "", &description).unwrap();
    array.write(&Hyperslab::all(), &places(&SELECTIONS[0]).map(value).collect::<Vec<_>>()).unwrap();
    array
}

#[test]
fn a_storage_that_wavers() {
    for wavers in [Wavers::Storage, Wavers::Latency, Wavers::Prefix, Wavers::Gap] {
        for is_sharded in [false, true] {
            let storages = [Far::new(), Far::new()];
            let front = Arc::new(Front { storages, asked: AtomicUsize::new(0), wavers });
            let beside = create(&Storage::new(front.clone()).unwrap(), is_sharded, false);
            let below = Storage::new(PrefixedStorage::new(front.clone(), "g/h").unwrap()).unwrap();
            let within = create(&below, is_sharded, false);
            for array in [beside, within] {
                for _ in 0..if cfg!(miri) { 1 } else { 7 } {
                    let what = format!("{wavers:?}, shards {is_sharded}");
                    read_in_all_ways(&what, array.variable(), array.store(), false);
                    front.asked.fetch_add(1, SeqCst);
                }
            }
            assert!(front.storages.iter().all(|storage| storage.num_under_way() == 0));
        }
    }
}

/// Reads of an array while others of the same array are in flight: they are refused, or read what is there. The first
/// ones are not disturbed.
#[test]
fn progress_functions_that_read() {
    for is_sharded in [false, true] {
        let far = Arc::new(Far::new());
        let array = create(&Storage::new(far.clone()).unwrap(), is_sharded, false);
        let (num_refused, num_read) = (Cell::new(0), Cell::new(0));
        let progress = |_: nczchunk::Progress| {
            let is_first = far.num_under_way() == 0;
            match array.read::<u16>(&Hyperslab::all()) {
                Ok(values) => {
                    assert!(values.into_iter().eq(places(&SELECTIONS[0]).map(value)));
                    num_read.set(num_read.get() + 1);
                }
                Err(error) => {
                    assert!(!is_first && matches!(error.kind(), ErrorKind::Argument(_)), "{error}");
                    num_refused.set(num_refused.get() + 1);
                }
            }
            0
        };
        let options = Options::default().with_progress(&progress);
        let plan = Plan::new(array.variable(), &Hyperslab::all(), Access::Read).unwrap();
        let mut out = vec![0; plan.memory_bytes()];
        plan.read_chunks(array.store(), 0..plan.num_chunks(), &mut out, options).unwrap();
        assert!(out.as_chunks().0.iter().map(|&bytes| u16::from_ne_bytes(bytes)).eq(places(&SELECTIONS[0]).map(value)));
        // Chunks of shards are all asked for before the first of them is read.
        assert!(num_read.get() > 0 && (num_refused.get() > 0 || is_sharded));
        assert_eq!(far.num_under_way(), 0);
    }
}

/// A panic, or an end, at every call of a progress function: no read is left in flight.
#[test]
fn progress_functions_that_end_it() {
    for is_sharded in [false, true] {
        let far = Arc::new(Far::new());
        let array = create(&Storage::new(far.clone()).unwrap(), is_sharded, false);
        for panics in [false, true] {
            for at in all_or_some(0..=CHUNKS, 4) {
                let turn = Turn::new(Some(at));
                let progress = |_: nczchunk::Progress| {
                    let has_come = turn.has_come();
                    assert!(!has_come || !panics, "the adversary panics");
                    has_come.into()
                };
                let options = Options::default().with_progress(&progress);
                let plan = Plan::new(array.variable(), &Hyperslab::all(), Access::Read).unwrap();
                let mut out = vec![0; plan.memory_bytes()];
                let read = outcome(|| plan.read_chunks(array.store(), 0..plan.num_chunks(), &mut out, options));
                assert_eq!(read.is_err(), panics);
                assert_eq!(far.num_under_way(), 0);
                assert!(array.read::<u16>(&Hyperslab::all()).is_ok());
            }
        }
    }
}

/// A codec that panics, fails, or reads the array that it decodes, while other reads are in flight.
#[derive(Clone)]
struct Own {
    does: Does,
    turn: Arc<Turn>,
    storage: Arc<OnceLock<Weak<Far>>>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Does {
    Panics,
    Fails,
    Reads,
}

impl Codec for Own {
    fn name(&self) -> &str {
        "own"
    }

    fn encoded_bound(&self, decoded_size: usize) -> usize {
        decoded_size
    }

    fn decode(&self, encoded: &[u8], _: Range<usize>, decoded: &mut Buffer<'_>) -> Result<()> {
        if self.turn.has_come() {
            match self.does {
                Does::Panics => panic!("the adversary panics"),
                Does::Fails => return Err(ErrorKind::Callback(-7).into()),
                Does::Reads => {
                    let storage = Storage::new(self.storage.get().unwrap().upgrade().unwrap())?;
                    let raw = Array::open_in(&storage, "raw", Access::Read)?;
                    match raw.read::<u16>(&Hyperslab::all()) {
                        Ok(values) => assert!(values.into_iter().eq(places(&SELECTIONS[0]).map(value))),
                        Err(error) => return Err(error),
                    }
                }
            }
        }
        decoded.write(encoded);
        Ok(())
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Buffer<'_>) -> Result<()> {
        encoded.write(decoded);
        Ok(())
    }
}

#[test]
fn codecs_that_read_or_end_it() {
    for does in [Does::Panics, Does::Fails, Does::Reads] {
        let all = [false, true].into_iter().flat_map(|is| Turn::all().map(move |at| (is, at)));
        for (is_sharded, at) in all_or_some(all, 7) {
            let far = Arc::new(Far::new());
            let own = Own { does, turn: Arc::new(Turn::new(at)), storage: Arc::default() };
            let _ = own.storage.set(Arc::downgrade(&far));
            create(&Storage::new(PrefixedStorage::new(far.clone(), "raw").unwrap()).unwrap(), is_sharded, false);
            let mut storage = Storage::new(far.clone()).unwrap();
            storage.add_codec("own", move |_| Ok(Box::new(own.clone()))).unwrap();
            let array = create(&storage, is_sharded, true);
            let what = format!("{does:?} at {at:?}, shards {is_sharded}");
            read_in_all_ways(&what, array.variable(), array.store(), does == Does::Panics);
            assert_eq!(far.num_under_way(), 0, "{what}");
        }
    }
}
