//! The library used by adversaries: every public trait is implemented by one who breaks all that its description asks
//! for, in safe Rust. Whatever they do, nothing is read that nobody wrote, nothing is used after it was freed, the
//! library does not panic by itself, and no call waits for ever. Miri runs it, too: `scripts/check miri`.
//!
//! ```text
//!   zero_copy.rs  readers that lend chunks
//!   fill.rs       readers that fill chunks into buffers, with a cache and without
//!   codec.rs      codecs, alone and among the library's, and functions that make them
//!   objects.rs    places for objects, under arrays of all kinds
//!   flight.rs     what is done to a place that answers later, and keeps its promises (far.rs)
//!   strings.rs    elements that are more than bytes
//!   handles.rs    progress functions; what is forgotten without being dropped; types of elements
//! ```
//!
//! A fault is something that an adversary does. It is done at the n-th call, for every n, and at every call; each way
//! to read or write is tried with it.

/// The faults of an adversary, and the list of them.
macro_rules! faults {
    ($($(#[$words:meta])* $fault:ident,)*) => {
        #[derive(Debug, Clone, Copy, PartialEq)]
        enum Fault {
            $($(#[$words])* $fault,)*
        }

        const FAULTS: [Fault; [$(Fault::$fault),*].len()] = [$(Fault::$fault),*];
    };
}

#[path = "adversary/chunk_reader.rs"]
mod chunk_reader;
#[path = "adversary/codec.rs"]
mod codec;
#[cfg(feature = "arrays")]
#[path = "adversary/far.rs"]
mod far;
#[cfg(feature = "arrays")]
#[path = "adversary/flight.rs"]
mod flight;
#[path = "adversary/handles.rs"]
mod handles;
#[cfg(feature = "arrays")]
#[path = "adversary/objects.rs"]
mod objects;
#[cfg(feature = "arrays")]
#[path = "adversary/strings.rs"]
mod strings;
#[path = "adversary/zero_copy.rs"]
mod zero_copy;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use nczchunk::{Access, ChunkStore, Endian, Hyperslab, Options, Plan, Prepared, Result, Variable};

/// 5 x 7 elements of two bytes in chunks of 2 x 3, the last of which reach beyond the ends.
const SHAPE: [usize; 2] = [5, 7];
const CHUNK: [usize; 2] = [2, 3];
const CHUNK_BYTES: usize = 2 * CHUNK[0] * CHUNK[1];
const CHUNKS: usize = 9;

/// What is read where nothing is stored, and what an adversary gives instead of what is stored: each of its bytes is
/// `LIE`.
const FILL: u16 = 0xEEEE;
const LIE: u8 = 0xDD;
/// What memory holds before it is read into, and what no read may leave there.
const BEFORE: u16 = 0x7777;

fn value([i, j]: [usize; 2]) -> u16 {
    (100 * i + j + 1) as u16
}

/// Elements in the machine's order or the other one, in which they are swapped on the way.
fn variable(is_foreign: bool) -> Variable {
    let mut variable = Variable::new(&SHAPE, &CHUNK, 2).unwrap();
    if is_foreign {
        variable.set_endian(if cfg!(target_endian = "little") { Endian::Big } else { Endian::Little }).unwrap();
    }
    variable.set_fill_value(Some(&FILL.to_ne_bytes())).unwrap();
    variable
}

/// The bytes of a chunk as it should be.
fn chunk(indices: &[isize], is_foreign: bool) -> Vec<u8> {
    let bytes = |k: usize| {
        let at = [0, 1].map(|d| indices[d] as usize * CHUNK[d] + if d == 0 { k / CHUNK[1] } else { k % CHUNK[1] });
        let value = value(at);
        if is_foreign { value.swap_bytes().to_ne_bytes() } else { value.to_ne_bytes() }
    };
    (0..CHUNK[0] * CHUNK[1]).flat_map(bytes).collect()
}

fn number(indices: &[isize]) -> usize {
    indices[0] as usize * 3 + indices[1] as usize
}

/// When a fault happens: at a call with this number, or at every one.
struct Turn {
    calls: AtomicUsize,
    at: Option<usize>,
}

impl Turn {
    fn new(at: Option<usize>) -> Self {
        Turn { calls: AtomicUsize::new(0), at }
    }

    /// Counts a call; tells whether the fault happens at this one.
    fn has_come(&self) -> bool {
        let call = self.calls.fetch_add(1, SeqCst);
        self.at.is_none_or(|at| at == call)
    }

    /// Takes long enough, if the fault happens at every call, for other threads to take part.
    fn take_time(&self) {
        if self.at.is_none() && !cfg!(miri) {
            std::thread::sleep(Duration::from_micros(50));
        }
    }

    /// Every turn that a call may have which asks for each chunk once, and every one at once.
    fn all() -> impl Iterator<Item = Option<usize>> {
        (0..CHUNKS).map(Some).chain([None])
    }
}

/// All cases; for Miri, which takes a tenth of a second for each call, one in so many.
fn all_or_some<T>(cases: impl Iterator<Item = T>, one_in: usize) -> impl Iterator<Item = T> {
    cases.step_by(if cfg!(miri) { one_in } else { 1 })
}

/// A selection: start, count and stride.
type Selection = ([usize; 2], [usize; 2], [isize; 2]);

/// All; a part of every chunk; a part of some; a row; one chunk, a part of it, and one element.
static SELECTIONS: [Selection; 7] = [
    ([0, 0], SHAPE, [1, 1]),
    ([1, 0], [2, 4], [2, 2]),
    ([1, 1], [2, 5], [1, 1]),
    ([2, 0], [1, 7], [1, 1]),
    ([2, 3], CHUNK, [1, 1]),
    ([2, 3], [2, 2], [1, 1]),
    ([3, 4], [1, 1], [1, 1]),
];

fn slab((start, count, stride): &Selection) -> Hyperslab<'_> {
    Hyperslab::new(start, count).with_stride(stride)
}

/// The places of the elements of a selection, row-major.
fn places((start, count, stride): &Selection) -> impl Iterator<Item = [usize; 2]> {
    let at = |d: usize, k: usize| start[d] + k * stride[d] as usize;
    (0..count[0] * count[1]).map(move |k| [at(0, k / count[1]), at(1, k % count[1])])
}

/// How a call has ended: with a result, or with a panic, which is the adversary's.
type Outcome<T> = std::thread::Result<Result<T>>;

fn outcome<T>(call: impl FnOnce() -> Result<T>) -> Outcome<T> {
    catch_unwind(AssertUnwindSafe(call))
}

/// Threads that are to be used, whatever there is to do.
const THREADS: usize = 3;

/// A way to read; memory is given back as numbers.
type Read = fn(&Variable, &ChunkStore<'_>, &Selection) -> Result<Vec<u16>>;

static READS: [(&str, Read); 7] = [
    ("read", |variable, store, selection| {
        // What the memory that is read into held before is not looked at by accident.
        drop(vec![BEFORE; selection.1.iter().product()]);
        nczchunk::read(variable, store, &slab(selection))
    }),
    ("read_into", |variable, store, selection| {
        let mut out = vec![BEFORE; selection.1.iter().product()];
        nczchunk::read_into(variable, store, &slab(selection), &mut out)?;
        Ok(out)
    }),
    ("a plan", |variable, store, selection| {
        let plan = Plan::new(variable, &slab(selection), Access::Read)?;
        with_memory(&plan, |out| plan.read(store, out))
    }),
    ("a plan by threads", |variable, store, selection| {
        let plan = Plan::new(variable, &slab(selection), Access::Read)?;
        let options = Options::default().with_threads(THREADS);
        with_memory(&plan, |out| plan.read_chunks(store, 0..plan.num_chunks(), out, options))
    }),
    ("parts of a plan", |variable, store, selection| {
        let plan = Plan::new(variable, &slab(selection), Access::Read)?;
        with_memory(&plan, |out| {
            (0..plan.num_chunks()).try_for_each(|i| plan.read_chunks(store, i..i + 1, out, Options::default()))
        })
    }),
    ("a prepared plan", |variable, store, selection| {
        let plan = Prepared::new(Plan::new(variable, &slab(selection), Access::Read)?)?;
        with_memory(&plan, |out| plan.read(store, out))
    }),
    // Every element lies behind a gap, which stays as it was.
    ("a plan with gaps", |variable, store, selection| {
        let count = selection.1;
        let plan = Plan::new(variable, &slab(selection), Access::Read)?;
        let plan = plan.with_memory(&[4 * count[1] as isize, 4], 2, 4 * count[0] * count[1])?;
        let all = with_memory(&plan, |out| plan.read(store, out))?;
        assert!(all.iter().step_by(2).all(|&gap| gap == BEFORE));
        Ok(all.into_iter().skip(1).step_by(2).collect())
    }),
];

fn with_memory(plan: &Plan<'_>, read: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<Vec<u16>> {
    let mut out = BEFORE.to_ne_bytes().repeat(plan.memory_bytes() / 2);
    read(&mut out)?;
    Ok(out.as_chunks().0.iter().map(|&bytes| u16::from_ne_bytes(bytes)).collect())
}

/// A way to write.
type Write = fn(&Variable, &ChunkStore<'_>, &Selection, &[u16]) -> Result<()>;

static WRITES: [(&str, Write); 3] = [
    ("write", |variable, store, selection, values| nczchunk::write(variable, store, &slab(selection), values)),
    ("a plan by threads", |variable, store, selection, values| {
        let plan = Plan::new(variable, &slab(selection), Access::Write)?;
        let options = Options::default().with_threads(THREADS);
        let data: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
        plan.write_chunks(store, 0..plan.num_chunks(), &data, options)
    }),
    ("a prepared plan", |variable, store, selection, values| {
        let plan = Prepared::new(Plan::new(variable, &slab(selection), Access::Write)?)?;
        let data: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
        plan.write(store, &data)
    }),
];

/// What was read is what is stored, a fill value, or what an adversary has given or passed over, and nothing else.
fn check_read(what: &str, selection: &Selection, outcome: Outcome<Vec<u16>>, may_panic: bool) {
    let Ok(result) = outcome else {
        return assert!(may_panic, "{what}: a panic of the library's");
    };
    let Ok(values) = result else { return };
    assert_eq!(values.len(), selection.1.iter().product::<usize>(), "{what}");
    for (place, found) in places(selection).zip(values) {
        let known = [value(place), written(place), FILL, u16::from_ne_bytes([LIE; 2]), 0];
        assert!(known.contains(&found), "{what}: {found:#x} at {place:?}");
    }
}

/// What tests write at a place.
fn written(place: [usize; 2]) -> u16 {
    value(place) + 5000
}

/// All ways with all selections. Miri tries a few of them, and others the next time.
fn all_ways<W: Copy>(ways: &'static [W]) -> impl Iterator<Item = (W, &'static Selection)> {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    const FEW: usize = 20;
    let (first, step) = if cfg!(miri) { (NEXT.fetch_add(1, SeqCst) % FEW, FEW) } else { (0, 1) };
    ways.iter().flat_map(|way| SELECTIONS.iter().map(|selection| (*way, selection))).skip(first).step_by(step)
}

/// Reads in every way. What comes out has to be true whatever the store is.
fn read_in_all_ways(what: &str, variable: &Variable, store: &ChunkStore<'_>, may_panic: bool) {
    for ((way, read), selection) in all_ways(&READS) {
        let outcome = outcome(|| read(variable, store, selection));
        check_read(&format!("{what}, {way}, {selection:?}"), selection, outcome, may_panic);
    }
}

/// Writes in every way.
fn write_in_all_ways(what: &str, variable: &Variable, store: &ChunkStore<'_>, may_panic: bool) {
    for ((way, write), selection) in all_ways(&WRITES) {
        let values: Vec<u16> = places(selection).map(written).collect();
        let outcome = outcome(|| write(variable, store, selection, &values));
        assert!(outcome.is_ok() || may_panic, "{what}, {way}, {selection:?}: a panic of the library's");
    }
}
