//! A million random points, and lists of indices, of chunks in memory: beside a plain loop that gathers the same
//! elements from one array, which needs no chunks.
//!
//!     cargo bench --bench points
#![allow(unsafe_code)]

use std::hint::black_box;
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

use nczchunk::{
    Access, BorrowedChunk, BorrowedChunkMut, Change, ChunkStore, Hyperslab, Options, Plan, Request, Result, Take,
    Taken, Variable, ZeroCopyReader,
};

/// 128 Mi elements, in chunks of 64 Ki.
const DIMLENS: [usize; 3] = [512, 512, 512];
const CHUNKLENS: [usize; 3] = [32, 32, 64];
const POINTS: usize = 1_000_000;
const TIMES: usize = 5;

/// Chunks in memory, in row-major order.
struct Chunks(Vec<Mutex<Vec<u8>>>);

impl Chunks {
    fn of(&self, request: &Request<'_>) -> MutexGuard<'_, Vec<u8>> {
        let number = request
            .chunk()
            .iter()
            .zip(DIMLENS.iter().zip(CHUNKLENS))
            .fold(0, |number, (&index, (&len, chunk))| number * (len / chunk) + index as usize);
        self.0[number].lock().unwrap()
    }
}

impl ZeroCopyReader for Chunks {
    fn lend<'t>(&self, request: &Request<'_>, take: Take<'t>) -> Result<Taken<'t>> {
        take.give(BorrowedChunk::Chunk(&self.of(request)))
    }

    fn change<'t>(&self, request: &Request<'_>, _: bool, change: Change<'t>) -> Result<Taken<'t>> {
        change.give(BorrowedChunkMut::Chunk(&mut self.of(request)))
    }

    fn is_writable(&self) -> bool {
        true
    }
}

/// The least nanoseconds that something takes.
fn least(mut run: impl FnMut()) -> f64 {
    let once = |run: &mut dyn FnMut()| {
        let begun = Instant::now();
        run();
        begun.elapsed().as_secs_f64() * 1e9
    };
    (0..TIMES).map(|_| once(&mut run)).fold(f64::INFINITY, f64::min)
}

/// An element for each point, by the loop that anybody would write.
fn gather<T: Copy>(whole: &[T], points: &[[usize; 3]], out: &mut [T]) {
    for (to, &[z, y, x]) in out.iter_mut().zip(points) {
        *to = whole[(z * DIMLENS[1] + y) * DIMLENS[2] + x];
    }
}

fn scatter<T: Copy>(whole: &mut [T], points: &[[usize; 3]], data: &[T]) {
    for (from, &[z, y, x]) in data.iter().zip(points) {
        whole[(z * DIMLENS[1] + y) * DIMLENS[2] + x] = *from;
    }
}

fn product<T: Copy>(whole: &[T], [zs, ys, xs]: [&[usize]; 3], out: &mut [T]) {
    let mut to = out.iter_mut();
    for z in zs {
        for y in ys {
            let row = &whole[(z * DIMLENS[1] + y) * DIMLENS[2]..][..DIMLENS[2]];
            xs.iter().zip(&mut to).for_each(|(&x, to)| *to = row[x]);
        }
    }
}

fn measure<T: Copy + Default + PartialEq + From<u8>>() -> Result<()> {
    let size = size_of::<T>();
    let mut rng = fastrand::Rng::with_seed(1);
    let mut whole: Vec<T> = (0..DIMLENS.iter().product()).map(|_| T::from(rng.u8(..))).collect();
    let bytes = |values: &[T]| {
        // SAFETY: the values are integers, whose bytes are initialised.
        unsafe { std::slice::from_raw_parts(values.as_ptr().cast::<u8>(), size_of_val(values)) }.to_vec()
    };
    let grid: [usize; 3] = std::array::from_fn(|d| DIMLENS[d] / CHUNKLENS[d]);
    let mut chunks = Vec::new();
    for number in 0..grid.iter().product() {
        let at = [number / grid[2] / grid[1], number / grid[2] % grid[1], number % grid[2]];
        let first: [usize; 3] = std::array::from_fn(|d| at[d] * CHUNKLENS[d]);
        let mut chunk = Vec::with_capacity(CHUNKLENS.iter().product::<usize>() * size);
        for z in 0..CHUNKLENS[0] {
            for y in 0..CHUNKLENS[1] {
                let row = ((first[0] + z) * DIMLENS[1] + first[1] + y) * DIMLENS[2] + first[2];
                chunk.extend(bytes(&whole[row..row + CHUNKLENS[2]]));
            }
        }
        chunks.push(Mutex::new(chunk));
    }
    let (variable, store) = (Variable::new(&DIMLENS, &CHUNKLENS, size)?, ChunkStore::zero_copy(Chunks(chunks))?);
    let points: Vec<[usize; 3]> = (0..POINTS).map(|_| std::array::from_fn(|d| rng.usize(0..DIMLENS[d]))).collect();
    let slab = Hyperslab::points(POINTS, points.as_flattened());
    let (mut out, mut expected) = (vec![0; POINTS * size], vec![T::default(); POINTS]);
    let row = |what: &str, ideal: f64, planned: f64, one: f64, two: f64, num: usize| {
        let each = |nanoseconds: f64| nanoseconds / num as f64;
        println!(
            "| {what} of {size} bytes | {:.1} | {:.1} | {:.1} ({:.1}) | {:.1} ({:.1}) |",
            each(ideal),
            each(planned),
            each(one),
            one / ideal,
            each(two),
            two / ideal
        );
    };
    let read = |slab: &Hyperslab<'_>, out: &mut [u8], threads: usize| {
        let plan = Plan::new(&variable, slab, Access::Read).unwrap();
        plan.read_chunks(&store, 0..plan.num_chunks(), out, Options::default().with_threads(threads)).unwrap();
    };
    let write = |data: &[u8], threads: usize| {
        let plan = Plan::new(&variable, &slab, Access::Write).unwrap();
        plan.write_chunks(&store, 0..plan.num_chunks(), data, Options::default().with_threads(threads)).unwrap();
    };
    let planned = least(|| _ = black_box(Plan::new(&variable, &slab, Access::Read).unwrap()));
    let ideal = least(|| gather(&whole, black_box(&points), &mut expected));
    let [one, two] = [1, 2].map(|threads| least(|| read(&slab, black_box(&mut out), threads)));
    assert!(bytes(&expected) == out);
    row("points", ideal, planned, one, two, POINTS);

    let data = out.clone();
    let ideal = least(|| scatter(&mut whole, black_box(&points), &expected));
    let [one, two] = [1, 2].map(|threads| least(|| write(black_box(&data), threads)));
    row("written points", ideal, planned, one, two, POINTS);

    let lists: [Vec<usize>; 3] = std::array::from_fn(|d| (0..100).map(|_| rng.usize(0..DIMLENS[d])).collect());
    let lists = lists.each_ref().map(Vec::as_slice);
    let indices = lists.map(Some);
    let slab = Hyperslab::all().with_indices(&indices);
    let planned = least(|| _ = black_box(Plan::new(&variable, &slab, Access::Read).unwrap()));
    let ideal = least(|| product(&whole, black_box(lists), &mut expected));
    let [one, two] = [1, 2].map(|threads| least(|| read(&slab, black_box(&mut out), threads)));
    assert!(bytes(&expected) == out);
    row("3 lists of 100", ideal, planned, one, two, POINTS);
    Ok(())
}

fn main() -> Result<()> {
    // Tests of everything there is run it, too.
    if !std::env::args().any(|argument| argument == "--bench") {
        return Ok(());
    }
    println!("| 1 000 000 elements | loop, ns each | plan | one thread (times the loop) | two threads |");
    println!("| --- | --: | --: | --: | --: |");
    measure::<u8>()?;
    measure::<u32>()?;
    measure::<u64>()
}
