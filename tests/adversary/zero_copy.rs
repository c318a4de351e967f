//! Readers that lend chunks.
#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use nczchunk::{
    BorrowedChunk, BorrowedChunkMut, Buffer, Cache, Change, ChunkStore, Codec, ErrorKind, Hyperslab, Request, Result,
    Take, Taken, ZeroCopyReader,
};

use super::*;

faults! {
    /// It fails, and has given nothing.
    Fails,
    /// It forgets whom it should give the chunk to.
    Forgets,
    /// It gives the chunk, and then fails.
    FailsLate,
    Panics,
    PanicsLate,
    /// The chunk has another length than it should have.
    Empty,
    Short,
    Long,
    Huge,
    /// A chunk that is there is not.
    Absent,
    FillValues,
    ShortFillValues,
    Lies,
    /// It reads and writes by the same store itself.
    Enters,
    /// It says something else each time it is asked what it can do.
    Wavers,
}

struct Adversary {
    is_foreign: bool,
    fault: Fault,
    turn: Turn,
    chunks: Vec<Mutex<Vec<u8>>>,
    /// How often it was asked what it can do.
    asked: AtomicUsize,
    /// The store that it is the reader of.
    own: OnceLock<ChunkStore<'static>>,
    depth: AtomicUsize,
}

impl Adversary {
    fn new(is_foreign: bool, fault: Fault, at: Option<usize>) -> Arc<Self> {
        let chunks = (0..CHUNKS as isize).map(|i| Mutex::new(chunk(&[i / 3, i % 3], is_foreign))).collect();
        let (asked, depth) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let own = OnceLock::new();
        let adversary = Arc::new(Adversary { is_foreign, fault, turn: Turn::new(at), chunks, asked, own, depth });
        let _ = adversary.own.set(ChunkStore::zero_copy(Reader(Arc::downgrade(&adversary))).unwrap());
        adversary
    }

    fn store(&self) -> &ChunkStore<'static> {
        self.own.get().unwrap()
    }

    /// The fault that happens now, if there is one.
    fn fault(&self) -> Option<Fault> {
        let fault = self.turn.has_come().then_some(self.fault);
        match fault {
            Some(Fault::Panics) => panic!("the adversary panics"),
            Some(Fault::Enters) => self.enter(),
            _ => {}
        }
        fault
    }

    fn enter(&self) {
        if self.depth.fetch_add(1, SeqCst) == 0 {
            let (variable, store) = (variable(self.is_foreign), self.store());
            for (way, read) in [READS[0], READS[3]] {
                check_read(way, &SELECTIONS[0], outcome(|| read(&variable, store, &SELECTIONS[0])), false);
            }
            let values: Vec<u16> = places(&SELECTIONS[1]).map(written).collect();
            nczchunk::write(&variable, store, &slab(&SELECTIONS[1]), &values).unwrap();
        }
        self.depth.fetch_sub(1, SeqCst);
    }

    fn waver(&self, honest: bool) -> bool {
        if self.fault == Fault::Wavers { self.asked.fetch_add(1, SeqCst) % 2 == 0 } else { honest }
    }

    fn chunk(&self, request: &Request<'_>) -> Vec<u8> {
        self.chunks[number(request.chunk())].lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What became of a chunk that was given, with a fault that comes late.
fn late<'t>(fault: Option<Fault>, given: Result<Taken<'t>>) -> Result<Taken<'t>> {
    match fault {
        Some(Fault::FailsLate) => Err(ErrorKind::Callback(-7).into()),
        Some(Fault::PanicsLate) => panic!("the adversary panics"),
        _ => given,
    }
}

struct Reader(Weak<Adversary>);

impl Reader {
    fn adversary(&self) -> Arc<Adversary> {
        self.0.upgrade().unwrap()
    }
}

impl ZeroCopyReader for Reader {
    fn lend<'t>(&self, request: &Request<'_>, take: Take<'t>) -> Result<Taken<'t>> {
        let adversary = self.adversary();
        adversary.turn.take_time();
        let fault = adversary.fault();
        let mut bytes = adversary.chunk(request);
        let given = match fault {
            Some(Fault::Fails) => return Err(ErrorKind::Callback(-7).into()),
            Some(Fault::Forgets) => {
                let _untaken = take;
                return Err(ErrorKind::Callback(-7).into());
            }
            Some(Fault::Empty) => take.give(BorrowedChunk::Chunk(&[])),
            Some(Fault::Short) => take.give(BorrowedChunk::Chunk(&bytes[..CHUNK_BYTES - 1])),
            Some(Fault::Long | Fault::Huge) => {
                bytes = vec![LIE; if fault == Some(Fault::Long) { CHUNK_BYTES + 1 } else { 1 << 20 }];
                take.give(BorrowedChunk::Chunk(&bytes))
            }
            Some(Fault::Absent) => take.give(BorrowedChunk::Absent),
            Some(Fault::FillValues) => take.give(BorrowedChunk::FillValues(&[LIE; CHUNK_BYTES])),
            Some(Fault::ShortFillValues) => take.give(BorrowedChunk::FillValues(&[LIE; CHUNK_BYTES - 1])),
            Some(Fault::Lies) => take.give(BorrowedChunk::Chunk(&[LIE; CHUNK_BYTES])),
            _ => take.give(BorrowedChunk::Chunk(&bytes)),
        };
        late(fault, given)
    }

    fn is_concurrent(&self) -> bool {
        self.adversary().waver(true)
    }

    fn takes_time(&self) -> bool {
        self.adversary().waver(true)
    }

    fn accepts_longer(&self) -> bool {
        self.adversary().waver(false)
    }

    fn is_writable(&self) -> bool {
        self.adversary().waver(true)
    }

    fn change<'t>(&self, request: &Request<'_>, _: bool, change: Change<'t>) -> Result<Taken<'t>> {
        let adversary = self.adversary();
        adversary.turn.take_time();
        let fault = adversary.fault();
        let mut chunk = adversary.chunks[number(request.chunk())].lock().unwrap_or_else(PoisonError::into_inner);
        let given = match fault {
            Some(Fault::Fails) => return Err(ErrorKind::Callback(-7).into()),
            Some(Fault::Forgets) => {
                let _unchanged = change;
                return Err(ErrorKind::Callback(-7).into());
            }
            Some(Fault::Empty) => change.give(BorrowedChunkMut::Chunk(&mut [])),
            Some(Fault::Short) => change.give(BorrowedChunkMut::Chunk(&mut chunk[1..])),
            Some(Fault::Long | Fault::Huge) => {
                let mut bytes = vec![LIE; if fault == Some(Fault::Long) { CHUNK_BYTES + 1 } else { 1 << 20 }];
                change.give(BorrowedChunkMut::Chunk(&mut bytes))
            }
            Some(Fault::Absent | Fault::FillValues) => change.give(BorrowedChunkMut::New(&mut chunk)),
            Some(Fault::ShortFillValues) => change.give(BorrowedChunkMut::New(&mut chunk[1..])),
            Some(Fault::Lies) => change.give(BorrowedChunkMut::Chunk(&mut [LIE; CHUNK_BYTES])),
            _ => change.give(BorrowedChunkMut::Chunk(&mut chunk)),
        };
        drop(chunk);
        late(fault, given)
    }
}

/// Keeps the bytes as they are: with it chunks are not used where they are lent.
pub(super) struct AsTheyAre;

impl Codec for AsTheyAre {
    fn name(&self) -> &str {
        "as they are"
    }

    fn encoded_bound(&self, decoded_size: usize) -> usize {
        decoded_size
    }

    fn decode(&self, encoded: &[u8], _: std::ops::Range<usize>, decoded: &mut Buffer<'_>) -> Result<()> {
        if decoded.write(encoded) { Ok(()) } else { Err(ErrorKind::DecodedLength { found: None, expected: 0 }.into()) }
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Buffer<'_>) -> Result<()> {
        if encoded.write(decoded) { Ok(()) } else { Err(ErrorKind::OutOfMemory.into()) }
    }
}

fn all() -> impl Iterator<Item = (bool, Fault, Option<usize>)> {
    let faults = || FAULTS.into_iter().flat_map(|fault| Turn::all().map(move |at| (fault, at)));
    let all = [false, true].into_iter().flat_map(move |is| faults().map(move |(fault, at)| (is, fault, at)));
    all_or_some(all, 7)
}

fn may_panic(fault: Fault) -> bool {
    matches!(fault, Fault::Panics | Fault::PanicsLate)
}

#[test]
fn reads() {
    for (is_foreign, fault, at) in all() {
        let adversary = Adversary::new(is_foreign, fault, at);
        for has_codec in [false, true] {
            let mut store = ChunkStore::zero_copy(Reader(Arc::downgrade(&adversary))).unwrap();
            if has_codec {
                store.add_codec(AsTheyAre).unwrap();
                store.set_cache(Some(&Cache::new(4 * CHUNK_BYTES).unwrap()));
            }
            let what = format!("{fault:?} at {at:?}");
            read_in_all_ways(&what, &variable(is_foreign), &store, may_panic(fault));
        }
    }
}

#[test]
fn writes() {
    for (is_foreign, fault, at) in all() {
        let adversary = Adversary::new(is_foreign, fault, at);
        let (what, variable) = (format!("{fault:?} at {at:?}"), variable(is_foreign));
        write_in_all_ways(&what, &variable, adversary.store(), may_panic(fault));
        read_in_all_ways(&what, &variable, adversary.store(), may_panic(fault));
    }
}

/// What fails is said to have failed, and only what has been read or written is said to be.
#[test]
fn no_chunk_counts_that_was_not_taken() {
    let variable = variable(false);
    for fault in [Fault::Fails, Fault::Forgets, Fault::FailsLate, Fault::Empty, Fault::Short, Fault::Long] {
        let adversary = Adversary::new(false, fault, None);
        let store = adversary.store();
        for (way, read) in READS {
            assert!(read(&variable, store, &SELECTIONS[0]).is_err(), "{way} {fault:?}");
        }
        for (way, write) in WRITES {
            assert!(write(&variable, store, &SELECTIONS[0], &[0; SHAPE[0] * SHAPE[1]]).is_err(), "{way} {fault:?}");
        }
    }
    let adversary = Adversary::new(false, Fault::Forgets, Some(0));
    assert!(nczchunk::read::<u16>(&variable, adversary.store(), &Hyperslab::all()).is_err());
    let values = nczchunk::read::<u16>(&variable, adversary.store(), &Hyperslab::all()).unwrap();
    assert!(values.into_iter().eq(places(&SELECTIONS[0]).map(value)));
}
