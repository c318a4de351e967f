//! Readers that fill chunks into buffers, with a cache and without, alone and below codecs.
#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use nczchunk::in_flight::{Flight, InFlight, Sharing};
use nczchunk::{Buffer, Cache, ChunkReader, ChunkStore, ErrorKind, Filled, Hyperslab, Request, Result};

use super::zero_copy::AsTheyAre;
use super::*;

faults! {
    Fails,
    /// It fills the buffer, or stores the chunk, and then fails.
    FailsLate,
    Panics,
    /// It fills the buffer, or stores the chunk, and then panics; or only if it stores it.
    PanicsLate,
    PanicsStored,
    Absent,
    /// It fills nothing, and says that it has filled all, more, or nothing.
    Nothing,
    NothingOfMore,
    NothingOfAll,
    /// It fills a half, and says that it has filled all, or a half.
    HalfOfAll,
    Half,
    /// It fills all, and says that there is less or more.
    AllOfLess,
    AllOfMore,
    /// It fills more than there is room for.
    More,
    Zeros,
    Gaps,
    Lies,
    /// It reads by the same store itself: the same chunk, too.
    Enters,
    /// So do other threads, for which it waits.
    EntersByThreads,
    /// It writes to the same chunk by the same store.
    Writes,
    /// It says something else each time it is asked what it can do.
    Wavers,
    /// It says that it answers later, and cannot.
    SaysLater,
}

/// How a store is set up.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Setup {
    /// Whether ranges of chunks are asked for.
    has_ranges: bool,
    has_codec: bool,
    has_cache: bool,
    is_foreign: bool,
}

/// Chunks are asked for as a whole, in ranges, and encoded; the last with a cache.
const SETUPS: [Setup; 5] = [
    Setup { has_ranges: false, has_codec: false, has_cache: false, is_foreign: false },
    Setup { has_ranges: true, has_codec: false, has_cache: false, is_foreign: false },
    Setup { has_ranges: true, has_codec: false, has_cache: true, is_foreign: true },
    Setup { has_ranges: false, has_codec: true, has_cache: false, is_foreign: true },
    Setup { has_ranges: false, has_codec: true, has_cache: true, is_foreign: false },
];

struct Adversary {
    setup: Setup,
    fault: Fault,
    turn: Turn,
    chunks: Vec<Mutex<Option<Vec<u8>>>>,
    asked: AtomicUsize,
    own: OnceLock<ChunkStore<'static>>,
    depth: AtomicUsize,
}

impl Adversary {
    fn new(setup: Setup, fault: Fault, at: Option<usize>) -> Arc<Self> {
        let chunk = |i: usize| (i != 4).then(|| chunk(&[i as isize / 3, i as isize % 3], setup.is_foreign));
        let adversary = Arc::new(Adversary {
            setup,
            fault,
            turn: Turn::new(at),
            chunks: (0..CHUNKS).map(|i| Mutex::new(chunk(i))).collect(),
            asked: AtomicUsize::new(0),
            own: OnceLock::new(),
            depth: AtomicUsize::new(0),
        });
        let mut store = ChunkStore::new(Reader(Arc::downgrade(&adversary))).unwrap();
        if setup.has_codec {
            store.add_codec(AsTheyAre).unwrap();
        }
        if setup.has_cache {
            store.set_cache(Some(&Cache::new(5 * CHUNK_BYTES).unwrap()));
        }
        let _ = adversary.own.set(store);
        adversary
    }

    fn store(&self) -> &ChunkStore<'static> {
        self.own.get().unwrap()
    }

    fn fault(&self, request: &Request<'_>) -> Option<Fault> {
        let fault = self.turn.has_come().then_some(self.fault);
        match fault {
            Some(Fault::Panics) => panic!("the adversary panics"),
            Some(Fault::Enters) => self.once(|| self.read(&READS[0])),
            Some(Fault::EntersByThreads) => self.once(|| self.read(&READS[3])),
            Some(Fault::Writes) => self.once(|| {
                let start = [0, 1].map(|d| request.chunk()[d] as usize * CHUNK[d]);
                let selection = (start, [1, 1], [1, 1]);
                nczchunk::write(&variable(self.setup.is_foreign), self.store(), &slab(&selection), &[written(start)])
                    .unwrap();
            }),
            _ => {}
        }
        fault
    }

    fn read(&self, (way, read): &(&str, Read)) {
        for selection in &SELECTIONS {
            let result = outcome(|| read(&variable(self.setup.is_foreign), self.store(), selection));
            check_read(&format!("from within, {way}"), selection, result, false);
        }
    }

    /// Does it unless this is within it.
    fn once(&self, body: impl FnOnce()) {
        if self.depth.fetch_add(1, SeqCst) == 0 {
            body();
        }
        self.depth.fetch_sub(1, SeqCst);
    }

    fn wavers(&self) -> Option<usize> {
        (self.fault == Fault::Wavers).then(|| self.asked.fetch_add(1, SeqCst))
    }
}

struct Reader(Weak<Adversary>);

impl Reader {
    fn adversary(&self) -> Arc<Adversary> {
        self.0.upgrade().unwrap()
    }
}

impl ChunkReader for Reader {
    fn fill(&self, request: &Request<'_>, buffer: &mut Buffer<'_>) -> Result<Filled> {
        let adversary = self.adversary();
        adversary.turn.take_time();
        let fault = adversary.fault(request);
        let chunk = adversary.chunks[number(request.chunk())].lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(chunk) = chunk else { return Ok(Filled::Absent) };
        let bytes = &chunk[request.offset()..];
        let wanted = &bytes[..bytes.len().min(buffer.capacity())];
        let stored = bytes.len();
        Ok(Filled::Stored(match fault {
            Some(Fault::Fails) => return Err(ErrorKind::Callback(-7).into()),
            Some(Fault::FailsLate | Fault::PanicsLate) => {
                buffer.write(wanted);
                assert!(fault == Some(Fault::FailsLate), "the adversary panics");
                return Err(ErrorKind::Callback(-7).into());
            }
            Some(Fault::Absent) => {
                buffer.write(&wanted[1..]);
                return Ok(Filled::Absent);
            }
            Some(Fault::Nothing) => 0,
            Some(Fault::NothingOfMore) => usize::MAX,
            Some(Fault::NothingOfAll) => stored,
            Some(Fault::HalfOfAll | Fault::Half) => {
                buffer.write(&wanted[..wanted.len() / 2]);
                if fault == Some(Fault::Half) { wanted.len() / 2 } else { stored }
            }
            Some(Fault::AllOfLess | Fault::AllOfMore) => {
                buffer.write(wanted);
                if fault == Some(Fault::AllOfLess) { wanted.len() - 1 } else { usize::MAX }
            }
            Some(Fault::More) => {
                assert!(!buffer.write(&vec![LIE; buffer.capacity() + 1]));
                buffer.skip(usize::MAX);
                assert!(!buffer.write(&[LIE]));
                stored
            }
            Some(Fault::Zeros) => {
                buffer.zeroed();
                stored
            }
            Some(Fault::Gaps) => {
                buffer.skip(2);
                buffer.write(wanted.get(2..).unwrap_or_default());
                stored
            }
            Some(Fault::Lies) => {
                buffer.write(&vec![LIE; wanted.len()]);
                stored
            }
            _ => {
                buffer.write(wanted);
                stored
            }
        }))
    }

    fn range_gap(&self) -> Option<usize> {
        match self.adversary().wavers() {
            Some(asked) => [None, Some(0), Some(1), Some(usize::MAX)][asked % 4],
            None => self.adversary().setup.has_ranges.then_some(1),
        }
    }

    fn swapped_part(&self) -> Option<usize> {
        match self.adversary().wavers() {
            Some(asked) => [None, Some(0), Some(1), Some(3), Some(4), Some(usize::MAX)][asked % 6],
            None => self.adversary().setup.has_ranges.then_some(4),
        }
    }

    fn is_concurrent(&self) -> bool {
        self.adversary().wavers().is_none_or(|asked| asked % 2 == 0)
    }

    fn accepts_longer(&self) -> bool {
        self.adversary().wavers().is_some_and(|asked| asked % 2 == 0)
    }

    fn is_writable(&self) -> bool {
        self.adversary().wavers().is_none_or(|asked| asked % 2 == 0)
    }

    fn store(&self, request: &Request<'_>, bytes: &[u8]) -> Result<()> {
        let adversary = self.adversary();
        let fault = adversary.fault(request);
        if fault == Some(Fault::Fails) {
            return Err(ErrorKind::Callback(-7).into());
        }
        let mut chunk = adversary.chunks[number(request.chunk())].lock().unwrap_or_else(PoisonError::into_inner);
        *chunk = Some(bytes.to_vec());
        assert!(!matches!(fault, Some(Fault::PanicsLate | Fault::PanicsStored)), "the adversary panics");
        if fault == Some(Fault::FailsLate) { Err(ErrorKind::Callback(-7).into()) } else { Ok(()) }
    }

    fn in_flight(&self) -> Option<&dyn InFlight> {
        (self.adversary().fault == Fault::SaysLater).then_some(self)
    }
}

impl InFlight for Reader {
    fn stores(&self) -> bool {
        true
    }

    fn begin<'s, 'f: 's>(&'f self, _: &'s Sharing<'f>) -> Result<Box<dyn Flight + 's>> {
        Err(ErrorKind::Callback(-7).into())
    }
}

fn may_panic(fault: Fault) -> bool {
    matches!(fault, Fault::Panics | Fault::PanicsLate | Fault::PanicsStored)
}

fn all() -> impl Iterator<Item = (Setup, Fault, Option<usize>)> {
    let faults = || FAULTS.into_iter().flat_map(|fault| Turn::all().map(move |at| (fault, at)));
    let all = SETUPS.into_iter().flat_map(move |setup| faults().map(move |(fault, at)| (setup, fault, at)));
    all_or_some(all, 13)
}

#[test]
fn reads() {
    for (setup, fault, at) in all() {
        let adversary = Adversary::new(setup, fault, at);
        let what = format!("{fault:?} at {at:?}, {setup:?}");
        read_in_all_ways(&what, &variable(setup.is_foreign), adversary.store(), may_panic(fault));
    }
}

/// Whatever happens, afterwards the store gives what is stored, and its cache nothing that is older.
#[test]
fn writes() {
    for (setup, fault, at) in all() {
        let adversary = Adversary::new(setup, fault, at);
        let (variable, store) = (variable(setup.is_foreign), adversary.store());
        let what = format!("{fault:?} at {at:?}, {setup:?}");
        write_in_all_ways(&what, &variable, store, may_panic(fault));
        if at.is_none() || fault == Fault::Wavers || fault == Fault::SaysLater {
            continue;
        }
        let stored = |[i, j]: [usize; 2]| {
            let chunk =
                adversary.chunks[i / CHUNK[0] * 3 + j / CHUNK[1]].lock().unwrap_or_else(PoisonError::into_inner);
            let k = (i % CHUNK[0] * CHUNK[1] + j % CHUNK[1]) * 2;
            chunk.as_ref().map_or(FILL, |bytes| {
                let value = u16::from_ne_bytes([bytes[k], bytes[k + 1]]);
                if setup.is_foreign { value.swap_bytes() } else { value }
            })
        };
        for selection in &SELECTIONS {
            let found = nczchunk::read::<u16>(&variable, store, &slab(selection)).unwrap();
            assert!(found.into_iter().eq(places(selection).map(stored)), "{what}, {selection:?}");
        }
    }
}

/// A reader that stores a chunk and panics leaves no older one in the cache.
#[test]
fn a_panic_after_a_chunk_was_stored_leaves_no_older_one_in_the_cache() {
    let setup = Setup { has_ranges: false, has_codec: true, has_cache: true, is_foreign: false };
    for count in [[2, 3], [1, 1]] {
        let adversary = Adversary::new(setup, Fault::PanicsStored, None);
        let (variable, store) = (variable(false), adversary.store());
        let one = Hyperslab::new(&[0, 0], &[1, 1]);
        assert_eq!(nczchunk::read::<u16>(&variable, store, &one).unwrap(), [1]);
        let sevens = vec![7u16; count[0] * count[1]];
        assert!(outcome(|| nczchunk::write(&variable, store, &Hyperslab::new(&[0, 0], &count), &sevens)).is_err());
        assert_eq!(nczchunk::read::<u16>(&variable, store, &one).unwrap(), [7], "{count:?}");
    }
}

/// Of what nobody has filled nothing is read.
#[test]
fn no_byte_counts_that_was_not_filled() {
    for setup in SETUPS {
        for fault in [Fault::Nothing, Fault::NothingOfAll, Fault::NothingOfMore, Fault::HalfOfAll, Fault::Half] {
            let adversary = Adversary::new(setup, fault, None);
            for (way, read) in all_or_some(READS.into_iter(), 3) {
                let error = read(&variable(setup.is_foreign), adversary.store(), &SELECTIONS[0]);
                assert!(error.is_err(), "{way} {fault:?} {setup:?}");
            }
        }
    }
}
