//! The data of the arrays: numbers that every program of `scripts/bench` can make for itself, whole and cut into
//! chunks.
#![allow(unsafe_code)]

use super::workloads::{Array, Content, Kind, Workload};

/// Memory that begins with a cache line, as 64-byte stores like it.
pub struct Aligned {
    lines: Vec<Line>,
    len: usize,
}

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

impl Aligned {
    /// So many bytes, each of them written, so that no page is new to whoever uses them.
    pub fn new(len: usize) -> Self {
        Aligned { lines: vec![Line([0xA5; 64]); len.div_ceil(64)], len }
    }
}

impl std::ops::Deref for Aligned {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the lines are bytes without gaps, and len is at most as many as they are.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }
}

impl std::ops::DerefMut for Aligned {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.len) }
    }
}

/// Scatters the numbers of elements over 32 bits.
fn hash(number: usize) -> u32 {
    (number as u32).wrapping_mul(2_654_435_761)
}

/// The values of the elements from number `first` on, in this machine's byte order. The programs in other languages
/// have the same three formulas.
pub fn fill(kind: Kind, first: usize, out: &mut [u8]) {
    match kind {
        Kind::F32 => fill_words(out, |i| ((hash(first + i) >> 8) as f32).to_ne_bytes()),
        Kind::F64 => fill_words(out, |i| f64::from(hash(first + i)).to_ne_bytes()),
        Kind::I16Big => fill_words(out, |i| ((hash(first + i) >> 16) as u16).to_ne_bytes()),
        Kind::Bytes(size) => fill_words(out, |i| [(hash(first * size + i) >> 24) as u8]),
    }
}

fn fill_words<const N: usize>(out: &mut [u8], value: impl Fn(usize) -> [u8; N]) {
    for (i, word) in out.as_chunks_mut().0.iter_mut().enumerate() {
        *word = value(i);
    }
}

/// A field as models put it out, float32: smooth, with noise in the lower bits. zstd makes a quarter less of it or, of
/// one that is rounded, a sixth.
fn fill_field(array: &Array, rounded: bool, out: &mut [u8]) {
    let wave = |i: usize| if i & 512 == 0 { i & 511 } else { 511 - (i & 511) };
    let columns = array.dimlens[1];
    fill_words(out, |i| {
        let smooth = ((wave(i / columns) * wave(i % columns)) >> 9) as u32;
        let noise = hash(hash(i) as usize ^ i) >> 23;
        let value = ((1 << 23) + (smooth << 13) + noise) as f32;
        let bits = if rounded { value.to_bits().wrapping_add(1 << 6) & !0x7F } else { value.to_bits() };
        bits.to_le_bytes()
    });
}

/// Reverses the bytes of every element.
fn swap(kind: Kind, bytes: &mut [u8]) {
    bytes.chunks_exact_mut(kind.size()).for_each(<[u8]>::reverse);
}

/// The values to write to a hyperslab: those of elements that the array does not have there.
pub fn new_values(kind: Kind, bytes: usize) -> Aligned {
    let mut values = Aligned::new(bytes);
    fill(kind, 12_345_677, &mut values);
    values
}

/// An array in memory, as stored: in one piece, and cut into chunks.
pub struct Data {
    /// Row-major without gaps; empty if there are absent chunks.
    pub whole: Aligned,
    pub chunks: Chunks,
}

/// Chunks in memory.
pub struct Chunks {
    /// How many chunks there are along each dimension, absent ones included.
    pub grid: Vec<usize>,
    /// Every how many-th chunk is there; 0 if none is.
    pub every: usize,
    /// The chunks that are there, one after the other.
    pub bytes: Aligned,
    /// The size of a chunk that is not compressed.
    size: usize,
    /// Where each frame begins in the bytes and, at the end, where the last one ends; empty if chunks are not
    /// compressed.
    offsets: Vec<usize>,
}

impl Chunks {
    /// Where the chunk is; `None` if it is absent.
    #[inline]
    pub fn place(&self, indices: &[isize]) -> Option<std::ops::Range<usize>> {
        let number = indices.iter().zip(&self.grid).fold(0, |number, (&i, &len)| number * len + i as usize);
        let stored = match self.every {
            1 => number,
            0 => return None,
            every if number.is_multiple_of(every) => number / every,
            _ => return None,
        };
        if self.offsets.is_empty() {
            Some(stored * self.size..(stored + 1) * self.size)
        } else {
            Some(self.offsets[stored]..self.offsets[stored + 1])
        }
    }

    /// Which of the compressed chunks, counted as they lie, have elements that are selected.
    pub fn touched_frames(&self, workload: &Workload) -> Vec<usize> {
        let mut touched = vec![0];
        for (d, grid) in self.grid.iter().enumerate() {
            let (start, stride) = (workload.start[d], workload.stride[d] as usize);
            let mut indices: Vec<usize> =
                (0..workload.count[d]).map(|k| (start + k * stride) / workload.array.chunklens[d]).collect();
            indices.dedup();
            touched = touched.iter().flat_map(|number| indices.iter().map(move |i| number * grid + i)).collect();
        }
        touched
    }

    /// One compressed chunk.
    pub fn frame(&self, number: usize) -> &[u8] {
        &self.bytes[self.offsets[number]..self.offsets[number + 1]]
    }

    /// The compressed chunks, one after the other.
    pub fn frames(&self) -> impl Iterator<Item = &[u8]> {
        self.offsets.windows(2).map(|ends| &self.bytes[ends[0]..ends[1]])
    }
}

impl Data {
    pub fn new(array: &Array) -> Self {
        let grid: Vec<usize> = array.dimlens.iter().zip(array.chunklens).map(|(len, chunk)| len / chunk).collect();
        let number: usize = grid.iter().product();
        let size = array.chunk_bytes();
        let every = match array.content {
            Content::EveryNth(n) => n,
            Content::Nothing => 0,
            Content::Compressed { .. } => 1,
        };
        let present = if every == 0 { 0 } else { number.div_ceil(every) };
        let mut bytes = Aligned::new(present * size);
        let mut whole = Aligned::new(if every == 1 { number * size } else { 0 });
        match array.content {
            Content::Compressed { rounded } => fill_field(array, rounded, &mut whole),
            _ => fill(array.kind, 0, &mut whole),
        }
        if array.kind.is_swapped() {
            swap(array.kind, &mut whole);
        }
        if every == 1 {
            cut(array, &grid, &whole, &mut bytes);
        } else {
            // Only lines have absent chunks, so a chunk is one piece of the array.
            assert!(array.dimlens.len() == 1 || every == 0);
            for (i, chunk) in bytes.chunks_exact_mut(size).enumerate() {
                fill(array.kind, i * every * array.chunklens[0], chunk);
            }
        }
        let chunks = Chunks { grid, every, bytes, size, offsets: Vec::new() };
        match array.content {
            Content::Compressed { .. } => Data { whole, chunks: compressed(chunks) },
            _ => Data { whole, chunks },
        }
    }
}

/// Cuts an array into chunks of whole rows of their own, one after the other.
fn cut(array: &Array, grid: &[usize], whole: &[u8], bytes: &mut [u8]) {
    let rank = grid.len();
    let row = array.chunklens[rank - 1] * array.kind.size();
    for (number, piece) in bytes.chunks_exact_mut(row).enumerate() {
        // The piece's number is its row in the chunk, then the chunk's indices: peel off both, last dimension first.
        let (mut rest, mut at, mut weight) = (number, 0, array.kind.size());
        let mut inside = vec![0; rank];
        for d in (0..rank - 1).rev() {
            inside[d] = rest % array.chunklens[d];
            rest /= array.chunklens[d];
        }
        for d in (0..rank).rev() {
            let index = rest % grid[d] * array.chunklens[d] + inside[d];
            rest /= grid[d];
            at += index * weight;
            weight *= array.dimlens[d];
        }
        piece.copy_from_slice(&whole[at..at + row]);
    }
}

/// The same chunks as zstd frames of level 1.
fn compressed(chunks: Chunks) -> Chunks {
    let mut frames = Vec::new();
    let mut offsets = vec![0];
    // SAFETY: takes a number.
    let mut frame = vec![0_u8; unsafe { zstd_sys::ZSTD_compressBound(chunks.size) }];
    for chunk in chunks.bytes.chunks_exact(chunks.size) {
        let (to, room) = (frame.as_mut_ptr().cast(), frame.len());
        // SAFETY: both buffers are given with their lengths.
        let len = unsafe { zstd_sys::ZSTD_compress(to, room, chunk.as_ptr().cast(), chunk.len(), 1) };
        // SAFETY: takes a number.
        assert_eq!(unsafe { zstd_sys::ZSTD_isError(len) }, 0);
        frames.extend_from_slice(&frame[..len]);
        offsets.push(frames.len());
    }
    let mut bytes = Aligned::new(frames.len());
    bytes.copy_from_slice(&frames);
    Chunks { bytes, offsets, ..chunks }
}
