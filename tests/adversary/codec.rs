//! Codecs, alone and among the library's; the library's, which anybody may call; and functions that make codecs.
#![forbid(unsafe_code)]

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};

use nczchunk::{Buffer, Cache, ChunkStore, Codec, ErrorKind, Filled, Request, Result};

use super::zero_copy::AsTheyAre;
use super::*;

faults! {
    Fails,
    /// It does what it should, and then fails.
    FailsLate,
    Panics,
    PanicsLate,
    Nothing,
    Half,
    /// More than there is room for.
    More,
    Zeros,
    Gaps,
    Lies,
    /// It says that nothing is needed to decode, or what does not exist.
    NeedsNothing,
    NeedsBeyond,
    NeedsBackwards,
    /// It says that nothing can take so much, or that it takes nothing.
    BoundsToAll,
    BoundsToNothing,
    /// It says something else each time it is asked.
    Wavers,
}

#[derive(Clone)]
struct Adversary {
    fault: Fault,
    turn: Arc<Turn>,
    asked: Arc<AtomicUsize>,
}

impl Adversary {
    fn new(fault: Fault, at: Option<usize>) -> Self {
        Adversary { fault, turn: Arc::new(Turn::new(at)), asked: Arc::default() }
    }

    fn wavers(&self) -> Option<usize> {
        (self.fault == Fault::Wavers).then(|| self.asked.fetch_add(1, SeqCst))
    }

    /// Gives bytes as they are, or with a fault.
    fn give(&self, bytes: &[u8], buffer: &mut Buffer<'_>) -> Result<()> {
        let fault = self.turn.has_come().then_some(self.fault);
        let failure = || Err(ErrorKind::Callback(-7).into());
        match fault {
            Some(Fault::Fails) => return failure(),
            Some(Fault::Panics) => panic!("the adversary panics"),
            Some(Fault::Nothing) => return Ok(()),
            Some(Fault::Half) => {
                buffer.write(&bytes[..bytes.len() / 2]);
            }
            Some(Fault::More) => {
                assert!(!buffer.write(&vec![LIE; buffer.capacity() + 1]));
                buffer.skip(usize::MAX);
            }
            Some(Fault::Zeros) => {
                buffer.zeroed();
            }
            Some(Fault::Gaps) => {
                buffer.skip(2);
                buffer.write(bytes.get(2..).unwrap_or_default());
            }
            Some(Fault::Lies) => {
                buffer.write(&vec![LIE; buffer.capacity()]);
            }
            _ => {
                buffer.write(&bytes[..bytes.len().min(buffer.capacity())]);
            }
        }
        assert!(fault != Some(Fault::PanicsLate), "the adversary panics");
        if fault == Some(Fault::FailsLate) { failure() } else { Ok(()) }
    }
}

impl Codec for Adversary {
    fn name(&self) -> &str {
        "\u{1F608}\0"
    }

    fn encoded_bound(&self, decoded_size: usize) -> usize {
        match (self.fault, self.wavers()) {
            (Fault::BoundsToAll, _) => usize::MAX,
            (Fault::BoundsToNothing, _) => 0,
            (_, Some(asked)) => decoded_size.saturating_sub(asked % 3),
            _ => decoded_size,
        }
    }

    fn needed_encoded(&self, needed: Range<usize>, decoded_size: usize) -> Range<usize> {
        match (self.fault, self.wavers()) {
            (Fault::NeedsNothing, _) => 0..0,
            (Fault::NeedsBeyond, _) => usize::MAX - 1..usize::MAX,
            #[allow(clippy::reversed_empty_ranges)]
            (Fault::NeedsBackwards, _) => 7..1,
            (_, Some(asked)) => asked % 3..decoded_size,
            _ => needed,
        }
    }

    fn decoded_for(&self, needed: Range<usize>) -> usize {
        self.wavers().map_or(needed.end, |asked| if asked % 2 == 0 { usize::MAX } else { 0 })
    }

    fn decode(&self, encoded: &[u8], _: Range<usize>, decoded: &mut Buffer<'_>) -> Result<()> {
        self.turn.take_time();
        self.give(encoded, decoded)
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Buffer<'_>) -> Result<()> {
        self.give(decoded, encoded)
    }

    fn can_encode(&self) -> bool {
        self.wavers().is_none_or(|asked| asked % 2 == 0)
    }

    fn is_concurrent(&self) -> bool {
        self.wavers().is_none_or(|asked| asked % 2 == 0)
    }
}

/// Where the adversary stands in the chain, in the order of encoding.
#[derive(Debug, Clone, Copy)]
enum Position {
    Alone,
    First,
    Last,
    /// It is there twice.
    Twice,
}

/// Chunks in memory, encoded by nobody but the adversary, who changes nothing.
fn store(adversary: &Adversary, position: Position, is_verified: bool, has_cache: bool) -> ChunkStore<'static> {
    let chunks = Mutex::new((0..CHUNKS as isize).map(|i| chunk(&[i / 3, i % 3], false)).collect::<Vec<_>>());
    let mut store = ChunkStore::new(Chunks(chunks)).unwrap();
    let add_honest = |store: &mut ChunkStore<'static>| store.add_codec(AsTheyAre).unwrap();
    match position {
        Position::Alone => store.add_codec(adversary.clone()).unwrap(),
        Position::First => {
            store.add_codec(adversary.clone()).unwrap();
            add_honest(&mut store);
        }
        Position::Last => {
            add_honest(&mut store);
            store.add_codec(adversary.clone()).unwrap();
        }
        Position::Twice => {
            store.add_codec(adversary.clone()).unwrap();
            add_honest(&mut store);
            store.add_codec(adversary.clone()).unwrap();
        }
    }
    store.set_verify(is_verified);
    if has_cache {
        store.set_cache(Some(&Cache::new(4 * CHUNK_BYTES).unwrap()));
    }
    store
}

struct Chunks(Mutex<Vec<Vec<u8>>>);

impl nczchunk::ChunkReader for Chunks {
    fn fill(&self, request: &Request<'_>, buffer: &mut Buffer<'_>) -> Result<Filled> {
        let bytes = &self.0.lock().unwrap_or_else(PoisonError::into_inner)[number(request.chunk())];
        buffer.write(&bytes[..bytes.len().min(buffer.capacity())]);
        Ok(Filled::Stored(bytes.len()))
    }

    fn is_writable(&self) -> bool {
        true
    }

    fn store(&self, request: &Request<'_>, bytes: &[u8]) -> Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)[number(request.chunk())] = bytes.to_vec();
        Ok(())
    }
}

fn may_panic(fault: Fault) -> bool {
    matches!(fault, Fault::Panics | Fault::PanicsLate)
}

fn all() -> impl Iterator<Item = (Position, bool, bool, Fault, Option<usize>)> {
    let positions = [Position::Alone, Position::First, Position::Last, Position::Twice];
    let setups = positions.into_iter().flat_map(|position| {
        [(false, false), (true, false), (false, true)]
            .map(|(is_verified, has_cache)| (position, is_verified, has_cache))
    });
    let all = setups.flat_map(|(position, is_verified, has_cache)| {
        let with = move |fault, at| (position, is_verified, has_cache, fault, at);
        FAULTS.into_iter().flat_map(move |fault| Turn::all().step_by(3).map(move |at| with(fault, at)))
    });
    all_or_some(all, 11)
}

#[test]
fn reads() {
    for (position, is_verified, has_cache, fault, at) in all() {
        let store = store(&Adversary::new(fault, at), position, is_verified, has_cache);
        let what = format!("{fault:?} at {at:?}, {position:?} {is_verified} {has_cache}");
        read_in_all_ways(&what, &variable(false), &store, may_panic(fault));
    }
}

#[test]
fn writes() {
    for (position, is_verified, has_cache, fault, at) in all() {
        let store = store(&Adversary::new(fault, at), position, is_verified, has_cache);
        let what = format!("{fault:?} at {at:?}, {position:?} {is_verified} {has_cache}");
        write_in_all_ways(&what, &variable(false), &store, may_panic(fault));
        read_in_all_ways(&what, &variable(false), &store, may_panic(fault));
    }
}

/// The library's codecs are called with buffers that are not empty, ranges that do not exist, and any bytes: what they
/// say is filled has been written.
#[test]
fn codecs_of_the_librarys_are_called_in_any_way() {
    #[allow(unused_mut, reason = "all of the library's codecs can be left out")]
    let mut codecs: Vec<Box<dyn Codec>> = vec![Box::new(AsTheyAre)];
    #[cfg(feature = "codecs")]
    codecs.extend([1, 2, 3, 8].map(|size| Box::new(nczchunk::Shuffle::new(size)) as Box<dyn Codec>));
    #[cfg(feature = "codecs")]
    codecs.push(Box::new(nczchunk::Lz4));
    #[cfg(feature = "codecs")]
    codecs.push(Box::new(nczchunk::Fletcher32));
    #[cfg(feature = "codecs")]
    codecs.push(Box::new(nczchunk::Crc32c));
    #[cfg(feature = "codecs")]
    codecs.extend(
        ["lz4", "blosclz"].map(|inner| {
            Box::new(nczchunk::Blosc::new(inner, 5, nczchunk::BloscShuffle::Byte, 2, 0)) as Box<dyn Codec>
        }),
    );
    #[cfg(all(feature = "codecs", not(miri)))]
    codecs.push(Box::new(nczchunk::Zlib::new(1)));
    #[cfg(all(feature = "codecs", not(miri)))]
    codecs.push(Box::new(nczchunk::Gzip::new(1)));
    #[cfg(all(feature = "codecs", not(miri)))]
    codecs.push(Box::new(nczchunk::Zstd::default()));

    let bytes: Vec<u8> = (0..40u8).map(|i| i / 3).collect();
    for codec in &codecs {
        let encoded = with_buffer(codec.encoded_bound(bytes.len()), |buffer| codec.encode(&bytes, buffer));
        let encoded = encoded.unwrap_or_else(|| bytes.clone());
        for filled in [0, 1, 7, 39, 40, 41] {
            for needed in [0..40, 0..1, 39..40, 5..17, 0..0, 40..40, 100..200, 0..usize::MAX, usize::MAX..usize::MAX] {
                for len in (0..=encoded.len()).rev().step_by(if cfg!(miri) { 17 } else { 1 }) {
                    with_buffer(40, |buffer| {
                        buffer.write(&vec![LIE; filled]);
                        codec.decode(&encoded[..len], needed.clone(), buffer)
                    });
                }
            }
            with_buffer(60, |buffer| {
                buffer.write(&vec![LIE; filled]);
                codec.encode(&bytes, buffer)
            });
        }
    }
}

/// What `body` puts into a buffer of so many bytes; `None` if it fails. Only the library makes buffers, and gives them
/// to readers.
fn with_buffer(size: usize, body: impl Fn(&mut Buffer<'_>) -> Result<()> + Send + Sync) -> Option<Vec<u8>> {
    let found = Mutex::new(None);
    let fill = |_: &Request<'_>, buffer: &mut Buffer<'_>| {
        body(buffer)?;
        // All of it is looked at.
        *found.lock().unwrap() = Some(buffer.filled().iter().map(|&byte| std::hint::black_box(byte)).collect());
        Ok(Filled::Stored(buffer.zeroed().len()))
    };
    let variable = Variable::new(&[size], &[size], 1).unwrap();
    let store = ChunkStore::new(fill).unwrap();
    let _ = nczchunk::read::<u8>(&variable, &store, &Hyperslab::all());
    drop(store);
    found.into_inner().unwrap()
}

#[cfg(feature = "arrays")]
mod made {
    use super::*;
    use nczchunk::object::{Memory, Storage};
    use nczchunk::{Array, Description, ElementType};

    /// Functions that make codecs for an array, which they use while it is opened, or that do not make any.
    #[test]
    fn codecs_that_are_made_for_metadata() {
        let all = FAULTS.into_iter().flat_map(|fault| Turn::all().step_by(3).map(move |at| (fault, at)));
        for (fault, at) in all_or_some(all, 7) {
            for shard in [None, Some([4, 6])] {
                let adversary = Adversary::new(fault, at);
                let memory = Arc::new(Memory::new());
                let mut storage = Storage::new(memory.clone()).unwrap();
                let inner = storage.clone();
                let makes = AtomicUsize::new(0);
                let made = adversary.clone();
                storage
                    .add_codec("own", move |of| {
                        match makes.fetch_add(1, SeqCst) % 4 {
                            // The array that is being opened cannot be opened without the codec.
                            1 => assert!(Array::open_in(&inner, "", Access::Read).is_err()),
                            2 => return Err(ErrorKind::Callback(-7).into()),
                            _ => assert_eq!(of.name, "own"),
                        }
                        Ok(Box::new(made.clone()))
                    })
                    .unwrap();
                let codecs = [("own", "")];
                let fill = FILL.to_ne_bytes();
                let mut description = Description::new(&SHAPE, ElementType::UShort)
                    .with_chunk_shape(&CHUNK)
                    .with_fill_value(&fill)
                    .with_codecs(&codecs);
                if let Some(shard) = &shard {
                    description = description.with_shard_shape(shard);
                }
                let what = format!("{fault:?} at {at:?}, shards {shard:?}");
                for _ in 0..4 {
                    let array = outcome(|| Array::create_in(&storage, "", &description.with_overwrite(true)));
                    let Ok(Ok(array)) = array else {
                        assert!(array.is_ok() || may_panic(fault), "{what}: a panic of the library's");
                        continue;
                    };
                    write_in_all_ways(&what, array.variable(), array.store(), may_panic(fault));
                    read_in_all_ways(&what, array.variable(), array.store(), may_panic(fault));
                }
            }
        }
    }
}
