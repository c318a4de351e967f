//! What reads cost, each beside what the same bytes cost by memcpy or by a plain loop.
//!
//! `cargo bench` runs them all; `cargo bench -- sparse` those whose name has the word.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use nczchunk::error::Result;
use nczchunk::hyperslab::{Access, Hyperslab};
use nczchunk::plan::Plan;
use nczchunk::store::{Lend, Lent, Store};
use nczchunk::transfer;
use nczchunk::variable::Variable;

/// Float32 chunks in memory, in row-major order of their indices.
struct Chunks {
    grid: Vec<usize>,
    chunk_bytes: usize,
    bytes: Vec<u8>,
}

impl Lend for Chunks {
    fn lend(&self, chunk: &[isize]) -> Result<Lent<'_>> {
        let number = chunk.iter().zip(&self.grid).fold(0, |number, (&index, len)| number * len + index as usize);
        Ok(Lent::Chunk(&self.bytes[number * self.chunk_bytes..][..self.chunk_bytes]))
    }
}

/// The same chunk, whichever is asked for.
struct OneChunk([u8; 4]);

impl Lend for OneChunk {
    fn lend(&self, _: &[isize]) -> Result<Lent<'_>> {
        Ok(Lent::Chunk(&self.0))
    }
}

fn array(dimlens: &[usize], chunklens: &[usize]) -> (Variable, Store<'static>) {
    let grid: Vec<usize> = dimlens.iter().zip(chunklens).map(|(len, chunklen)| len.div_ceil(*chunklen)).collect();
    let chunk_bytes = chunklens.iter().product::<usize>() * 4;
    let bytes = (0..grid.iter().product::<usize>() * chunk_bytes).map(|i| (i % 251) as u8).collect();
    let store = Store::lending(Chunks { grid, chunk_bytes, bytes }).unwrap();
    (Variable::new(dimlens, chunklens, 4).unwrap(), store)
}

fn read(variable: &Variable, store: &Store<'_>, request: (&[usize], &[usize], &[isize]), out: &mut [u8]) {
    let (start, count, stride) = request;
    let slab = Hyperslab { start: Some(start), count: Some(count), stride: Some(stride), both_ways: false };
    let plan = Plan::new(variable, &slab, Access::Read).unwrap();
    transfer::read(variable, &plan, store, out).unwrap();
}

/// Two elements, first and last, of 2^62 chunks: what lies between costs nothing.
fn sparse(criterion: &mut Criterion) {
    let variable = Variable::new(&[1 << 62], &[1], 4).unwrap();
    let store = Store::lending(OneChunk([7; 4])).unwrap();
    let mut out = [0; 8];
    criterion.bench_function("sparse: 2 elements of 2^62 chunks", |bencher| {
        bencher.iter(|| read(&variable, &store, (&[0], &[2], &[(1 << 62) - 1]), black_box(&mut out)));
    });
}

/// One element of a chunk that is in memory.
fn single(criterion: &mut Criterion) {
    let (variable, store) = array(&[73, 90, 180], &[73, 90, 180]);
    let mut out = [0; 4];
    criterion.bench_function("single: 1 element of a lent chunk", |bencher| {
        bencher.iter(|| read(&variable, &store, (&[5, 50, 100], &[1; 3], &[1; 3]), black_box(&mut out)));
    });
}

/// All of 4096 x 4096 in large and in tiny chunks, and every second element both ways, beside memcpy of as many bytes.
fn planes(criterion: &mut Criterion) {
    for (name, chunklen, stride) in [("full", 512, 1), ("full, tiny chunks", 16, 1), ("strided", 512, 2)] {
        let (variable, store) = array(&[4096, 4096], &[chunklen, chunklen]);
        let count = 4096 / stride as usize;
        let mut out = vec![0_u8; count * count * 4];
        let copy = vec![1_u8; out.len()];
        let mut group = criterion.benchmark_group(name);
        group.sample_size(20).throughput(Throughput::Bytes(out.len() as u64));
        group.bench_function(BenchmarkId::new("nczchunk", chunklen), |bencher| {
            let request = (&[0, 0][..], &[count, count][..], &[stride, stride][..]);
            bencher.iter(|| read(&variable, &store, request, black_box(&mut out)));
        });
        group.bench_function(BenchmarkId::new("memcpy", chunklen), |bencher| {
            bencher.iter(|| out.copy_from_slice(black_box(&copy)));
        });
        group.finish();
    }
}

criterion_group!(benches, sparse, single, planes);
criterion_main!(benches);
