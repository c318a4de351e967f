//! A plain transpose, in blocks: of the lines that a block begins with, all elements are used while they are in the
//! cache.
#![allow(unsafe_code)]

use super::workloads::Kind;

/// Elements along a block's edge. Shorter ones write memory in pieces too short for it, longer ones need more pages at
/// a time.
const BLOCK: usize = 64;

/// Elements along the edge of what compilers transpose in registers.
const TILE: usize = 8;

/// Rows and columns, in whole blocks, of which element (i, j) becomes element (j, i) of memory. Rows are `step` bytes
/// apart in the source and `out_step` in memory, which is large, begins with a cache line and is written past the
/// cache.
pub fn transpose(kind: Kind, shape: [usize; 2], from: &[u8], step: usize, out: &mut [u8], out_step: usize) {
    match kind {
        Kind::F32 => words(shape, from, step, out, out_step, |word: [u8; 4]| word),
        Kind::F64 => words(shape, from, step, out, out_step, |word: [u8; 8]| word),
        Kind::I16Big => words(shape, from, step, out, out_step, |word| u16::from_be_bytes(word).to_ne_bytes()),
        Kind::Bytes(_) => unreachable!("no workload transposes such elements"),
    }
}

fn words<const N: usize>(
    shape: [usize; 2],
    from: &[u8],
    step: usize,
    out: &mut [u8],
    out_step: usize,
    load: impl Fn([u8; N]) -> [u8; N],
) {
    assert!(shape.iter().all(|count| count.is_multiple_of(BLOCK)));
    let (from, out) = (from.as_chunks().0, out.as_chunks_mut().0);
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vl") {
        assert!(out.as_ptr().cast::<u8>().align_offset(64) == 0 && out_step.is_multiple_of(64));
        // SAFETY: the processor has them, and every row of a block is whole lines of memory.
        return unsafe { blocks_avx512(shape, from, step / N, out, out_step / N, load) };
    }
    blocks(shape, from, step / N, out, out_step / N, load, |to, row| *to = *row);
}

/// The same loops, compiled for vectors of 64 bytes.
///
/// # Safety
/// `out` and each of its rows begin with a cache line.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn blocks_avx512<const N: usize>(
    shape: [usize; 2],
    from: &[[u8; N]],
    step: usize,
    out: &mut [[u8; N]],
    out_step: usize,
    load: impl Fn([u8; N]) -> [u8; N],
) {
    use std::arch::x86_64::{_mm_sfence, _mm512_loadu_si512, _mm512_stream_si512};
    blocks(shape, from, step, out, out_step, load, |to, row| {
        let (to, row) = (to.as_flattened_mut(), row.as_flattened());
        for at in (0..row.len()).step_by(64) {
            // SAFETY: both have a line there, and the caller says that those of memory are aligned.
            unsafe {
                _mm512_stream_si512(to.as_mut_ptr().add(at).cast(), _mm512_loadu_si512(row.as_ptr().add(at).cast()))
            };
        }
    });
    _mm_sfence();
}

#[inline(always)]
fn blocks<const N: usize>(
    shape: [usize; 2],
    from: &[[u8; N]],
    step: usize,
    out: &mut [[u8; N]],
    out_step: usize,
    load: impl Fn([u8; N]) -> [u8; N],
    store: impl Fn(&mut [[u8; N]; BLOCK], &[[u8; N]; BLOCK]),
) {
    let mut block = [[[0; N]; BLOCK]; BLOCK];
    for i in (0..shape[0]).step_by(BLOCK) {
        for j in (0..shape[1]).step_by(BLOCK) {
            gather_block(&from[i * step + j..], step, &mut block, &load);
            for (k, row) in block.iter().enumerate() {
                store(out[(j + k) * out_step + i..].first_chunk_mut().expect("a block's row"), row);
            }
        }
    }
}

/// Transposes a block, tile by tile.
#[inline(always)]
fn gather_block<const N: usize>(
    from: &[[u8; N]],
    step: usize,
    block: &mut [[[u8; N]; BLOCK]; BLOCK],
    load: &impl Fn([u8; N]) -> [u8; N],
) {
    for i in (0..BLOCK).step_by(TILE) {
        for j in (0..BLOCK).step_by(TILE) {
            let mut tile = [[[0; N]; TILE]; TILE];
            for (k, row) in tile.iter_mut().enumerate() {
                *row = from[(i + k) * step + j..].first_chunk::<TILE>().expect("a tile's row").map(load);
            }
            for k in 0..TILE {
                for (to, row) in block[j + k][i..i + TILE].iter_mut().zip(&tile) {
                    *to = row[k];
                }
            }
        }
    }
}
