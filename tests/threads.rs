//! One transfer by several threads, for the tools that see data races: ThreadSanitizer and Miri (scripts/check).
//!
//! The stores here lock nothing. If two threads were given the same chunk, or a chunk's place in memory twice, nothing
//! but the library would keep them from using it at the same time, and the tools would say so. All threads begin
//! together: once the library has found out that there is work for them, a chunk is given to none before all have
//! asked.

// Chunks are shared without a lock.
#![allow(unsafe_code)]

use std::cell::{Cell, UnsafeCell};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use nczchunk::{
    Access, BorrowedChunk, BorrowedChunkMut, Buffer, Cache, Change, ChunkReader, ChunkStore, Codec, Endian, ErrorKind,
    Filled, Hyperslab, Options, Plan, Prepared, Request, Result, Take, Taken, Variable, ZeroCopyReader,
};

const THREADS: usize = 4;
/// How many threads call at the same time, each for a transfer by `THREADS`.
const CALLERS: usize = if cfg!(miri) { 2 } else { 8 };
/// So many chunks that there is work for all threads also in a store that lends.
const DIMLENS: [usize; 2] = if cfg!(miri) { [9, 8] } else { [231, 905] };
const CHUNKLENS: [usize; 2] = if cfg!(miri) { [2, 4] } else { [2, 10] };
const GRID: [usize; 2] = [DIMLENS[0].div_ceil(CHUNKLENS[0]), DIMLENS[1].div_ceil(CHUNKLENS[1])];
const CHUNK_BYTES: usize = CHUNKLENS[0] * CHUNKLENS[1] * 4;

/// Where threads wait for each other. It is made of relaxed atomics, so it does not order what the threads do.
struct Gate {
    threads: usize,
    /// The chunk that was asked for first. It takes long and waits for nobody: by it the library finds out how much
    /// work there is.
    first: AtomicUsize,
    come: AtomicUsize,
    patience: Duration,
}

impl Gate {
    fn new(threads: usize) -> Self {
        let (first, come) = (AtomicUsize::new(usize::MAX), AtomicUsize::new(0));
        Gate { threads, first, come, patience: Duration::from_secs(30) }
    }

    fn pass(&self, number: usize) {
        if self.threads == 1 {
            return;
        }
        match self.first.compare_exchange(usize::MAX, number, Relaxed, Relaxed) {
            Ok(_) => return std::thread::sleep(Duration::from_millis(2)),
            Err(first) if first == number => return,
            Err(_) => {}
        }
        if !self.have_met() {
            self.come.fetch_add(1, Relaxed);
            self.wait();
        }
    }

    fn wait(&self) {
        let begun = Instant::now();
        while !self.have_met() && begun.elapsed() < self.patience {
            std::thread::yield_now();
        }
    }

    /// Whether all threads were there at the same time.
    fn have_met(&self) -> bool {
        self.threads == 1 || self.come.load(Relaxed) >= self.threads
    }
}

/// The stored chunks; an empty one is absent.
struct Chunks {
    bytes: Vec<UnsafeCell<Vec<u8>>>,
    /// The chunk that cannot be had, or none.
    failing: Option<usize>,
    gate: Gate,
}

// SAFETY: this is what is under test: no two threads use the same chunk.
unsafe impl Sync for Chunks {}

impl Chunks {
    fn new(bytes: Vec<Vec<u8>>, threads: usize) -> Self {
        let bytes = bytes.into_iter().map(UnsafeCell::new).collect();
        Chunks { bytes, failing: None, gate: Gate::new(threads) }
    }

    fn empty(threads: usize) -> Self {
        Chunks::new(vec![Vec::new(); GRID[0] * GRID[1]], threads)
    }

    /// Elements 3*i*n + j for element (i, j), big-endian, and junk outside the array; every fifth chunk is absent.
    fn full(threads: usize) -> Self {
        let element = |i: usize, j: usize| {
            if i < DIMLENS[0] && j < DIMLENS[1] { value(i, j).to_be_bytes() } else { [0xEE; 4] }
        };
        let chunk = |c: usize| -> Vec<u8> {
            let (row, column) = (c / GRID[1] * CHUNKLENS[0], c % GRID[1] * CHUNKLENS[1]);
            if c % 5 == 2 {
                return Vec::new();
            }
            (row..row + CHUNKLENS[0])
                .flat_map(|i| (column..column + CHUNKLENS[1]).flat_map(move |j| element(i, j)))
                .collect()
        };
        Chunks::new((0..GRID[0] * GRID[1]).map(chunk).collect(), threads)
    }

    /// The chunk to use, once all threads have come for one.
    #[expect(clippy::mut_from_ref, reason = "no two threads use the same chunk, as is under test")]
    fn get(&self, request: &Request<'_>) -> Result<&mut Vec<u8>> {
        let number = request.chunk()[0] as usize * GRID[1] + request.chunk()[1] as usize;
        self.gate.pass(number);
        if self.failing.is_some_and(|failing| number >= failing) {
            return Err(ErrorKind::Callback(100 + number as i32).into());
        }
        // SAFETY: as said above.
        Ok(unsafe { &mut *self.bytes[number].get() })
    }

    /// The next transfer is of so many threads.
    fn start_over(&mut self, threads: usize) {
        self.gate = Gate::new(threads);
    }
}

fn value(i: usize, j: usize) -> i32 {
    (3 * i * DIMLENS[1] + j) as i32
}

/// What the full chunks read as, row-major.
fn expected(plan: &Plan<'_>) -> Vec<u8> {
    let [rows, columns] = [0, 1].map(|d| {
        let slice = plan.dimensions()[d].slice();
        (0..slice.count()).map(move |k| slice.start() + k * slice.stride())
    });
    let element = |i: usize, j: usize| {
        let is_absent = (i / CHUNKLENS[0] * GRID[1] + j / CHUNKLENS[1]) % 5 == 2;
        if is_absent { (-1i32).to_ne_bytes() } else { value(i, j).to_ne_bytes() }
    };
    rows.flat_map(|i| columns.clone().flat_map(move |j| element(i, j))).collect()
}

impl ZeroCopyReader for &Chunks {
    fn lend<'t>(&self, request: &Request<'_>, take: Take<'t>) -> Result<Taken<'t>> {
        let bytes = self.get(request)?;
        take.give(if bytes.is_empty() { BorrowedChunk::Absent } else { BorrowedChunk::Chunk(bytes) })
    }

    fn is_writable(&self) -> bool {
        true
    }

    fn change<'t>(&self, request: &Request<'_>, _: bool, change: Change<'t>) -> Result<Taken<'t>> {
        let bytes = self.get(request)?;
        if bytes.is_empty() {
            bytes.resize(CHUNK_BYTES, 0xDD);
            return change.give(BorrowedChunkMut::New(bytes));
        }
        change.give(BorrowedChunkMut::Chunk(bytes))
    }
}

impl ChunkReader for &Chunks {
    fn fill(&self, request: &Request<'_>, buffer: &mut Buffer<'_>) -> Result<Filled> {
        let bytes = self.get(request)?;
        if bytes.is_empty() {
            return Ok(Filled::Absent);
        }
        buffer.write(bytes);
        Ok(Filled::Stored(bytes.len()))
    }

    fn is_writable(&self) -> bool {
        true
    }

    fn store(&self, request: &Request<'_>, bytes: &[u8]) -> Result<()> {
        let stored = self.get(request)?;
        stored.clear();
        stored.extend_from_slice(bytes);
        Ok(())
    }
}

fn variable() -> Variable {
    let mut variable = Variable::new(&DIMLENS, &CHUNKLENS, 4).unwrap();
    variable.set_endian(Endian::Big).unwrap();
    variable.set_fill_value(Some(&(-1i32).to_ne_bytes())).unwrap();
    variable
}

/// What is asked for: all, and a part of every chunk.
fn slabs() -> [Hyperslab<'static>; 2] {
    const COUNT: [usize; 2] = [(DIMLENS[0] - 1).div_ceil(2), DIMLENS[1].div_ceil(3)];
    [Hyperslab::all(), Hyperslab::new(&[1, 0], &COUNT).with_stride(&[2, 3])]
}

/// The plans for a request: row-major, and transposed.
fn plans<'v>(variable: &'v Variable, slab: &Hyperslab<'_>, access: Access) -> [Plan<'v>; 2] {
    let plan = || Plan::new(variable, slab, access).unwrap();
    let rows = plan().dimensions()[0].slice().count() as isize;
    [plan(), plan().with_imap(&[1, rows]).unwrap()]
}

/// Reads by a plan; another time by the same plan as one that is kept.
fn read(plan: &Plan<'_>, prepared: Option<&Prepared>, store: &ChunkStore<'_>, threads: usize) -> Result<Vec<u8>> {
    let (mut out, done) = (vec![0; plan.memory_bytes()], Cell::new(0));
    let note = |at: nczchunk::Progress| {
        done.set(at.chunks_done);
        0
    };
    let (all, options) = (0..plan.num_chunks(), Options::default().with_threads(threads).with_progress(&note));
    match prepared {
        None => plan.read_chunks(store, all, &mut out, options)?,
        Some(prepared) => prepared.read_chunks(store, all, &mut out, options)?,
    }
    assert_eq!(done.get(), plan.num_chunks());
    Ok(out)
}

/// Makes a store of chunks.
type Open = for<'c> fn(&'c Chunks) -> ChunkStore<'c>;

fn lending(chunks: &Chunks) -> ChunkStore<'_> {
    ChunkStore::zero_copy(chunks).unwrap()
}

fn filling(chunks: &Chunks) -> ChunkStore<'_> {
    ChunkStore::new(chunks).unwrap()
}

/// zstd is not written in Rust, so it is not for Miri.
#[cfg(all(not(miri), feature = "codecs"))]
fn compressed(chunks: &Chunks) -> ChunkStore<'_> {
    let mut store = ChunkStore::new(chunks).unwrap();
    store.add_codec(nczchunk::Zstd::default()).unwrap();
    store
}

#[test]
fn threads_read_what_one_reads() {
    let variable = variable();
    for open in [lending, filling] as [Open; 2] {
        let mut chunks = Chunks::full(1);
        for slab in slabs() {
            for (plan, is_dense) in plans(&variable, &slab, Access::Read).into_iter().zip([true, false]) {
                chunks.start_over(1);
                let alone = read(&plan, None, &open(&chunks), 1).unwrap();
                assert!(!is_dense || alone == expected(&plan));
                let prepared = Prepared::new(plan).unwrap();
                for kept in [None, Some(&prepared)] {
                    chunks.start_over(THREADS);
                    let together = read(&prepared, kept, &open(&chunks), THREADS).unwrap();
                    assert!(together == alone && chunks.gate.have_met());
                }
            }
        }
    }
}

/// A chunk that is the whole width of its array lies in memory in one piece, and is filled in there.
#[test]
fn threads_fill_in_the_callers_memory() {
    let variable = Variable::new(&[GRID[0] * GRID[1], CHUNK_BYTES], &[1, CHUNK_BYTES], 1).unwrap();
    let gate = Gate::new(THREADS);
    let store = ChunkStore::new(|request: &Request<'_>, buffer: &mut Buffer<'_>| {
        gate.pass(request.chunk()[0] as usize);
        buffer.zeroed().fill(request.chunk()[0] as u8);
        Ok(Filled::Stored(buffer.capacity()))
    })
    .unwrap();
    let plan = Plan::new(&variable, &slabs()[0], Access::Read).unwrap();
    let mut out = vec![0xA7; plan.selected_bytes()];
    plan.read_chunks(&store, 0..plan.num_chunks(), &mut out, Options::default().with_threads(THREADS)).unwrap();
    assert!(gate.have_met());
    assert!(out.chunks_exact(CHUNK_BYTES).enumerate().all(|(row, bytes)| bytes.iter().all(|&byte| byte == row as u8)));
}

/// Writes all from several threads, then a part, and reads it with several threads.
fn threads_write_what_one_writes(open: Open) {
    let variable = &variable();
    let mut chunks = [Chunks::empty(1), Chunks::empty(THREADS)];
    for (round, slab) in slabs().iter().enumerate() {
        let (writes, reads) = (plans(variable, slab, Access::Write), plans(variable, slab, Access::Read));
        for (write, plan) in writes.into_iter().zip(&reads) {
            let data: Vec<u8> = (0..write.memory_bytes()).map(|storage| (storage * 7 / 3 + round) as u8).collect();
            for (chunks, threads) in chunks.iter_mut().zip([1, THREADS]) {
                chunks.start_over(threads);
                let options = Options::default().with_threads(threads);
                write.write_chunks(&open(chunks), 0..write.num_chunks(), &data, options).unwrap();
                assert!(chunks.gate.have_met());
            }
            let [alone, together] = &mut chunks;
            assert!(
                alone.bytes.iter_mut().zip(&mut together.bytes).all(|(one, other)| one.get_mut() == other.get_mut())
            );
            together.start_over(THREADS);
            assert!(read(plan, None, &open(together), THREADS).unwrap() == data && together.gate.have_met());
        }
    }
}

#[test]
fn threads_write_to_lent_chunks() {
    threads_write_what_one_writes(lending);
}

#[test]
fn threads_write_and_store_chunks() {
    threads_write_what_one_writes(filling);
}

#[cfg(all(not(miri), feature = "codecs"))]
#[test]
fn threads_compress_and_decompress() {
    threads_write_what_one_writes(compressed);
}

/// Every chunk from one on fails: that one is named, and the memory of a store that failed is used again.
#[test]
fn the_first_failure_in_order_is_told() {
    let variable = variable();
    let plan = Plan::new(&variable, &slabs()[0], Access::Read).unwrap();
    for open in [lending, filling] as [Open; 2] {
        for failing in [0, 1, GRID[1], GRID[0] * GRID[1] - 1] {
            let mut chunks = Chunks::full(THREADS);
            chunks.failing = Some(failing);
            // Whoever comes when it is over is not waited for.
            chunks.gate.patience = Duration::from_millis(50);
            let store = open(&chunks);
            for _ in 0..2 {
                let error = read(&plan, None, &store, THREADS).unwrap_err();
                assert_eq!(error.status(), 100 + failing as i32);
                assert_eq!(error.chunk().unwrap(), [(failing / GRID[1]) as isize, (failing % GRID[1]) as isize]);
            }
        }
    }
}

/// Stored chunks that nobody changes, and how many threads have asked for any.
struct Stored {
    chunks: Vec<Vec<u8>>,
    threads: AtomicUsize,
}

impl ChunkReader for &Stored {
    fn fill(&self, request: &Request<'_>, buffer: &mut Buffer<'_>) -> Result<Filled> {
        thread_local! {
            static IS_COUNTED: Cell<bool> = const { Cell::new(false) };
        }
        if !IS_COUNTED.replace(true) {
            self.threads.fetch_add(1, Relaxed);
        }
        // So that the threads that are begun find something left to do, however busy the machine is.
        std::thread::sleep(Duration::from_micros(100));
        let bytes = &self.chunks[request.chunk()[0] as usize * GRID[1] + request.chunk()[1] as usize];
        if bytes.is_empty() {
            return Ok(Filled::Absent);
        }
        buffer.write(bytes);
        Ok(Filled::Stored(bytes.len()))
    }
}

/// Many read from one store at the same time, each with several threads. They share the store's memory, the contexts of
/// its codec, and its cache, which has room for some of the chunks. `NCZCHUNK_ROUNDS=n` has each read n times
/// (scripts/soak).
fn callers_share_a_store(chunks: Chunks, prepare: fn(&mut ChunkStore<'_>)) {
    let variable = variable();
    let chunks = chunks.bytes.into_iter().map(UnsafeCell::into_inner).collect();
    let stored = Stored { chunks, threads: AtomicUsize::new(0) };
    let mut store = ChunkStore::new(&stored).unwrap();
    prepare(&mut store);
    store.set_cache(Some(&Cache::new(GRID[0] * GRID[1] * CHUNK_BYTES / 3).unwrap()));
    let plans = slabs().map(|slab| Plan::new(&variable, &slab, Access::Read).unwrap());
    let expected = [expected(&plans[0]), expected(&plans[1])];
    let rounds = std::env::var("NCZCHUNK_ROUNDS").map_or(3, |rounds| rounds.parse().unwrap());
    std::thread::scope(|scope| {
        for caller in 0..CALLERS {
            let (store, plans, expected) = (&store, &plans, &expected);
            scope.spawn(move || {
                for round in caller..caller + rounds {
                    assert!(read(&plans[round % 2], None, store, THREADS).unwrap() == expected[round % 2]);
                }
            });
        }
    });
    // Every transfer begins threads of its own, but some of them find nothing left to do.
    let least = if cfg!(miri) { CALLERS + 1 } else { CALLERS * THREADS };
    assert!(stored.threads.load(Relaxed) >= least);
}

#[test]
fn callers_share_chunks_as_they_are() {
    callers_share_a_store(Chunks::full(1), |_| {});
}

#[cfg(all(not(miri), feature = "codecs"))]
#[test]
fn callers_share_compressed_chunks() {
    let (variable, chunks) = (variable(), Chunks::empty(1));
    let [plan, _] = plans(&variable, &slabs()[0], Access::Write);
    let data = expected(&plan);
    plan.write(&compressed(&chunks), &data).unwrap();
    callers_share_a_store(chunks, |store| store.add_codec(nczchunk::Zstd::default()).unwrap());
}

/// Chunks of which each caller has some rows. Its threads go on when those of all callers have met.
struct Shares<'c> {
    chunks: &'c Chunks,
    gates: [Gate; CALLERS],
}

impl<'c> Shares<'c> {
    fn new(chunks: &'c Chunks) -> Self {
        Shares { chunks, gates: std::array::from_fn(|_| Gate::new(THREADS)) }
    }

    /// All elements of a caller's chunks.
    fn slab(caller: usize) -> ([usize; 2], [usize; 2]) {
        let begin = |caller: usize| (caller * GRID[0]).div_ceil(CALLERS) * CHUNKLENS[0];
        let end = begin(caller + 1).min(DIMLENS[0]);
        ([begin(caller), 0], [end - begin(caller), DIMLENS[1]])
    }

    fn pass(&self, request: &Request<'_>) {
        let [row, column] = [0, 1].map(|d| request.chunk()[d] as usize);
        let gate = &self.gates[row * CALLERS / GRID[0]];
        gate.pass(row * GRID[1] + column);
        if gate.have_met() {
            self.gates.iter().for_each(Gate::wait);
        }
    }
}

impl ChunkReader for &Shares<'_> {
    fn fill(&self, request: &Request<'_>, buffer: &mut Buffer<'_>) -> Result<Filled> {
        self.pass(request);
        self.chunks.fill(request, buffer)
    }

    fn is_writable(&self) -> bool {
        true
    }

    fn store(&self, request: &Request<'_>, bytes: &[u8]) -> Result<()> {
        self.pass(request);
        self.chunks.store(request, bytes)
    }
}

/// Many write to one store at the same time, each with several threads, and each reads what it has written.
#[cfg(not(miri))] // it has too few chunks for so many
fn callers_write_to_a_store(prepare: fn(&mut ChunkStore<'_>)) {
    let (variable, chunks) = (variable(), Chunks::empty(1));
    let shares = Shares::new(&chunks);
    let mut store = ChunkStore::new(&shares).unwrap();
    prepare(&mut store);
    store.set_cache(Some(&Cache::new(GRID[0] * GRID[1] * CHUNK_BYTES / 3).unwrap()));
    std::thread::scope(|scope| {
        for caller in 0..CALLERS {
            let (store, variable) = (&store, &variable);
            scope.spawn(move || {
                let (start, count) = Shares::slab(caller);
                let slab = Hyperslab::new(&start, &count);
                let plans = [Access::Write, Access::Read].map(|access| Plan::new(variable, &slab, access).unwrap());
                let data = expected(&plans[0]);
                let options = Options::default().with_threads(THREADS);
                plans[0].write_chunks(store, 0..plans[0].num_chunks(), &data, options).unwrap();
                assert!(read(&plans[1], None, store, THREADS).unwrap() == data);
            });
        }
    });
    assert!(shares.gates.iter().all(Gate::have_met));
    let [plan, _] = plans(&variable, &slabs()[0], Access::Read);
    assert!(read(&plan, None, &store, 1).unwrap() == expected(&plan));
}

#[cfg(not(miri))]
#[test]
fn callers_write_chunks_as_they_are() {
    callers_write_to_a_store(|_| {});
}

#[cfg(all(not(miri), feature = "codecs"))]
#[test]
fn callers_write_compressed_chunks() {
    callers_write_to_a_store(|store| store.add_codec(nczchunk::Zstd::default()).unwrap());
}

/// The rows of a chunk of 256 KiB, each full of one value; it decodes only what is needed.
struct Rows;

impl Rows {
    const DIMLENS: [usize; 2] = [64, 160 * 1024];
    const CHUNKLENS: [usize; 2] = [64, 1024];
    const ROW_BYTES: usize = Self::CHUNKLENS[1] * 4;

    fn value(chunk: usize, row: usize) -> u32 {
        (chunk * Self::CHUNKLENS[0] + row) as u32
    }
}

impl Codec for Rows {
    fn name(&self) -> &str {
        "rows"
    }

    fn encoded_bound(&self, _: usize) -> usize {
        1
    }

    fn decode(&self, encoded: &[u8], needed: Range<usize>, decoded: &mut Buffer<'_>) -> Result<()> {
        for row in 0..needed.end.div_ceil(Self::ROW_BYTES) {
            let value = Self::value(encoded[0].into(), row).to_ne_bytes();
            assert!((0..Self::CHUNKLENS[1]).all(|_| decoded.write(&value)));
        }
        Ok(())
    }

    fn encode(&self, _: &[u8], _: &mut Buffer<'_>) -> Result<()> {
        unreachable!("nothing is written")
    }

    fn can_encode(&self) -> bool {
        false
    }
}

/// Many read row after row. On Linux the chunks are kept in memory that they share with others. The cache has room for
/// four of five, so it drops chunks that some still read.
#[test]
#[cfg_attr(miri, ignore = "so many bytes take too long")]
fn callers_share_memory_of_many_chunks() {
    let variable = Variable::new(&Rows::DIMLENS, &Rows::CHUNKLENS, 4).unwrap();
    let mut store = ChunkStore::new(|request: &Request<'_>, buffer: &mut Buffer<'_>| {
        assert!(buffer.write(&[request.chunk()[1] as u8]));
        Ok(Filled::Stored(1))
    })
    .unwrap();
    store.add_codec(Rows).unwrap();
    let cache = Cache::new(32 << 20).unwrap();
    store.set_cache(Some(&cache));
    std::thread::scope(|scope| {
        for caller in 0..CALLERS {
            let (variable, store) = (&variable, &store);
            scope.spawn(move || {
                for row in [3, 20, 50].map(|row| row + caller) {
                    let (start, count) = ([row, 0], [1, Rows::DIMLENS[1]]);
                    let plan = Plan::new(variable, &Hyperslab::new(&start, &count), Access::Read).unwrap();
                    let bytes = read(&plan, None, store, 2).unwrap();
                    assert!(bytes.chunks_exact(Rows::ROW_BYTES).enumerate().all(|(chunk, bytes)| {
                        let value = Rows::value(chunk, row).to_ne_bytes();
                        bytes.chunks_exact(4).all(|element| element == value)
                    }));
                }
            });
        }
    });
    assert!(cache.statistics().hits > 0 && cache.statistics().evictions > 0);
}
