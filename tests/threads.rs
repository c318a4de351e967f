//! One transfer by several threads, for the tools that see data races: ThreadSanitizer and Miri (scripts/check).
//!
//! The stores here lock nothing. If two threads were given the same chunk, or a chunk's place in memory twice, nothing but
//! the library would keep them from using it at the same time, and the tools would say so. All threads begin together:
//! the first chunk that each asks for is given to none before all have asked.

// Chunks are shared without a lock.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use nczchunk::error::{ErrorKind, Result};
use nczchunk::hyperslab::{Access, Hyperslab};
use nczchunk::plan::Plan;
use nczchunk::store::{Borrowed, Buffer, Fill, Filled, Lend, Lent, Store};
use nczchunk::transfer::{Layout, Transfer};
use nczchunk::variable::{ByteOrder, Variable};

const THREADS: usize = 4;
const DIMLENS: [usize; 2] = if cfg!(miri) { [9, 8] } else { [230, 170] };
const CHUNKLENS: [usize; 2] = if cfg!(miri) { [2, 4] } else { [11, 40] };
const GRID: [usize; 2] = [DIMLENS[0].div_ceil(CHUNKLENS[0]), DIMLENS[1].div_ceil(CHUNKLENS[1])];
const CHUNK_BYTES: usize = CHUNKLENS[0] * CHUNKLENS[1] * 4;

/// The stored chunks; an empty one is absent.
struct Chunks {
    bytes: Vec<UnsafeCell<Vec<u8>>>,
    /// The chunk that cannot be had, or none.
    failing: Option<usize>,
    threads: usize,
    asked: AtomicUsize,
    begin: Barrier,
}

// SAFETY: this is what is under test: no two threads use the same chunk.
unsafe impl Sync for Chunks {}

impl Chunks {
    fn new(bytes: Vec<Vec<u8>>, threads: usize) -> Self {
        let bytes = bytes.into_iter().map(UnsafeCell::new).collect();
        Chunks { bytes, failing: None, threads, asked: AtomicUsize::new(0), begin: Barrier::new(threads) }
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
    fn get(&self, indices: &[isize]) -> Result<&mut Vec<u8>> {
        if self.asked.fetch_add(1, Relaxed) < self.threads {
            self.begin.wait();
        }
        let number = indices[0] as usize * GRID[1] + indices[1] as usize;
        if self.failing.is_some_and(|failing| number >= failing) {
            return Err(ErrorKind::Callback(100 + number as i32).into());
        }
        // SAFETY: as said above.
        Ok(unsafe { &mut *self.bytes[number].get() })
    }

    /// The next transfer is of so many threads.
    fn start_over(&mut self, threads: usize) {
        self.threads = threads;
        (self.asked, self.begin) = (AtomicUsize::new(0), Barrier::new(threads));
    }
}

fn value(i: usize, j: usize) -> i32 {
    (3 * i * DIMLENS[1] + j) as i32
}

/// What the full chunks read as, row-major.
fn expected(plan: &Plan) -> Vec<u8> {
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

impl Lend for &Chunks {
    fn lend(&self, indices: &[isize]) -> Result<Lent<'_>> {
        let bytes = self.get(indices)?;
        Ok(if bytes.is_empty() { Lent::Absent } else { Lent::Chunk(bytes) })
    }

    fn is_writable(&self) -> bool {
        true
    }

    fn change(&self, indices: &[isize], _: bool, change: &mut dyn FnMut(Borrowed<'_>) -> Result<()>) -> Result<()> {
        let bytes = self.get(indices)?;
        if bytes.is_empty() {
            bytes.resize(CHUNK_BYTES, 0xDD);
            return change(Borrowed::New(bytes));
        }
        change(Borrowed::Chunk(bytes))
    }
}

impl Fill for &Chunks {
    fn fill(&self, indices: &[isize], buffer: &mut Buffer<'_>) -> Result<Filled> {
        let bytes = self.get(indices)?;
        if bytes.is_empty() {
            return Ok(Filled::Absent);
        }
        buffer.write(bytes);
        Ok(Filled::Stored(bytes.len()))
    }

    fn is_writable(&self) -> bool {
        true
    }

    fn store(&self, indices: &[isize], bytes: &[u8]) -> Result<()> {
        let stored = self.get(indices)?;
        stored.clear();
        stored.extend_from_slice(bytes);
        Ok(())
    }
}

fn variable() -> Variable {
    let mut variable = Variable::new(&DIMLENS, &CHUNKLENS, 4).unwrap();
    variable.set_byte_order(ByteOrder::Big).unwrap();
    variable.set_fill_value(Some(&(-1i32).to_ne_bytes())).unwrap();
    variable
}

/// What is asked for: all, and a part of every chunk.
fn slabs() -> [Hyperslab<'static>; 2] {
    const COUNT: [usize; 2] = [(DIMLENS[0] - 1).div_ceil(2), DIMLENS[1].div_ceil(3)];
    let all = Hyperslab { start: Some(&[0; 2]), ..Hyperslab::default() };
    let part = Hyperslab { start: Some(&[1, 0]), count: Some(&COUNT), stride: Some(&[2, 3]), both_ways: false };
    [all, part]
}

/// The layouts a plan is tried with: row-major, and transposed.
fn layouts(plan: &Plan) -> [Layout; 2] {
    let rows = plan.dimensions()[0].slice().count() as isize;
    [Layout::dense(plan).unwrap(), Layout::reaching(plan, &[4, 4 * rows]).unwrap()]
}

fn read(plan: &Plan, layout: &Layout, store: &Store<'_>, threads: usize) -> Result<Vec<u8>> {
    let variable = &variable();
    let mut out = vec![0; plan.selected_bytes()];
    let mut done = 0;
    Transfer { variable, plan, layout, store, threads }.read(out.as_mut_slice().into(), &mut done)?;
    assert_eq!(done, plan.num_chunks());
    Ok(out)
}

/// Makes a store of chunks.
type Open = for<'c> fn(&'c Chunks) -> Store<'c>;

fn lending(chunks: &Chunks) -> Store<'_> {
    Store::lending(chunks).unwrap()
}

fn filling(chunks: &Chunks) -> Store<'_> {
    Store::filling(chunks).unwrap()
}

/// zstd is not written in Rust, so it is not for Miri.
#[cfg(not(miri))]
fn compressed(chunks: &Chunks) -> Store<'_> {
    let mut store = Store::filling(chunks).unwrap();
    store.wrap_zstd(nczchunk::store::Compression::default()).unwrap();
    store
}

#[test]
fn threads_read_what_one_reads() {
    for open in [lending, filling] as [Open; 2] {
        let mut chunks = Chunks::full(1);
        for slab in slabs() {
            let plan = Plan::new(&variable(), &slab, Access::Read).unwrap();
            for (layout, is_dense) in layouts(&plan).into_iter().zip([true, false]) {
                chunks.start_over(1);
                let alone = read(&plan, &layout, &open(&chunks), 1).unwrap();
                chunks.start_over(THREADS);
                let together = read(&plan, &layout, &open(&chunks), THREADS).unwrap();
                assert!(together == alone);
                assert!(!is_dense || together == expected(&plan));
            }
        }
    }
}

/// A chunk that is the whole width of its array lies in memory in one piece, and is filled in there.
#[test]
fn threads_fill_in_the_callers_memory() {
    let variable = Variable::new(&[GRID[0] * GRID[1], CHUNK_BYTES], &[1, CHUNK_BYTES], 1).unwrap();
    struct Rows(Barrier, AtomicUsize);
    impl Fill for Rows {
        fn fill(&self, indices: &[isize], buffer: &mut Buffer<'_>) -> Result<Filled> {
            if self.1.fetch_add(1, Relaxed) < THREADS {
                self.0.wait();
            }
            buffer.zeroed().fill(indices[0] as u8);
            Ok(Filled::Stored(buffer.capacity()))
        }
    }
    let store = Store::filling(Rows(Barrier::new(THREADS), AtomicUsize::new(0))).unwrap();
    let plan = Plan::new(&variable, &slabs()[0], Access::Read).unwrap();
    let mut out = vec![0xA7; plan.selected_bytes()];
    let layout = Layout::dense(&plan).unwrap();
    let transfer = Transfer { variable: &variable, plan: &plan, layout: &layout, store: &store, threads: THREADS };
    transfer.read(out.as_mut_slice().into(), &mut 0).unwrap();
    assert!(out.chunks_exact(CHUNK_BYTES).enumerate().all(|(row, bytes)| bytes.iter().all(|&byte| byte == row as u8)));
}

/// Writes all from several threads, then a part, and reads it with several threads.
fn threads_write_what_one_writes(open: Open) {
    let variable = &variable();
    let mut chunks = [Chunks::empty(1), Chunks::empty(THREADS)];
    for (round, slab) in slabs().iter().enumerate() {
        let plan = &Plan::new(variable, slab, Access::Write).unwrap();
        let data: Vec<u8> = (0..plan.selected_bytes()).map(|place| (place * 7 / 3 + round) as u8).collect();
        for layout in &layouts(plan) {
            for (chunks, threads) in chunks.iter_mut().zip([1, THREADS]) {
                chunks.start_over(threads);
                let (store, mut done) = (&open(chunks), 0);
                let transfer = Transfer { variable, plan, layout, store, threads };
                transfer.write(data.as_slice().into(), &mut done).unwrap();
                assert_eq!(done, plan.num_chunks());
            }
            let [alone, together] = &mut chunks;
            assert!(
                alone.bytes.iter_mut().zip(&mut together.bytes).all(|(one, other)| one.get_mut() == other.get_mut())
            );
            together.start_over(THREADS);
            assert!(read(plan, layout, &open(together), THREADS).unwrap() == data);
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

#[cfg(not(miri))]
#[test]
fn threads_compress_and_decompress() {
    threads_write_what_one_writes(compressed);
}

/// Every chunk from one on fails: that one is named, and the memory of a store that failed is used again.
#[test]
fn the_first_failure_in_order_is_told() {
    let plan = Plan::new(&variable(), &slabs()[0], Access::Read).unwrap();
    let layout = Layout::dense(&plan).unwrap();
    for open in [lending, filling] as [Open; 2] {
        for failing in [0, 1, GRID[1], GRID[0] * GRID[1] - 1] {
            let mut chunks = Chunks::full(THREADS);
            chunks.failing = Some(failing);
            let store = open(&chunks);
            for _ in 0..2 {
                let error = read(&plan, &layout, &store, THREADS).unwrap_err();
                assert_eq!(error.status(), 100 + failing as i32);
                assert_eq!(error.chunk().unwrap(), [(failing / GRID[1]) as isize, (failing % GRID[1]) as isize]);
            }
        }
    }
}
