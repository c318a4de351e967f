//! The yardstick: the same selection, gathered from one contiguous array that needs no chunks and no plan.
//!
//! The loops are the plain ones anybody would write, compiled for the processor at hand. Where the output is too large
//! for the cache it is written past it, as libc's memcpy does with such outputs.
#![allow(unsafe_code)]

use super::workloads::{Access, FILL_VALUE, Kind, Workload};

/// From how many bytes of output on it is written past the cache.
const STREAM: usize = 16 << 20;

/// Rows shorter than this are not.
const STREAM_ROW: usize = 512;

/// How many bytes are gathered before they are written past the cache.
const PIECE: usize = 4096;

/// One dimension of the selection: how many, and how many bytes apart in the array.
#[derive(Clone, Copy)]
struct Axis {
    count: usize,
    step: usize,
}

/// How rows are moved.
#[derive(Clone, Copy)]
pub struct Moves {
    kind: Kind,
    stream: bool,
}

impl Moves {
    pub fn new(workload: &Workload) -> Self {
        Moves { kind: workload.array.kind, stream: workload.bytes() >= STREAM }
    }

    /// Gathers a row of elements that are `step` bytes apart.
    #[inline(always)]
    pub fn row(&self, row: &mut [u8], from: &[u8], step: usize) {
        let (size, swap) = (self.kind.size(), self.kind.is_swapped());
        let contiguous = step == size;
        if contiguous && self.stream && row.len() >= STREAM_ROW {
            return copy_past_cache(row, &from[..row.len()], swap);
        }
        if contiguous && !swap {
            return row.copy_from_slice(&from[..row.len()]);
        }
        if !self.stream || row.len() < STREAM_ROW {
            return gather(self.kind, row, from, step);
        }
        let mut piece = [0_u8; PIECE];
        let elements = PIECE / size;
        for (i, to) in row.chunks_mut(elements * size).enumerate() {
            gather(self.kind, &mut piece[..to.len()], &from[i * elements * step..], step);
            copy_past_cache(to, &piece[..to.len()], false);
        }
    }
}

/// A selection of a contiguous array: where it begins, its rows, and the axes that lead from row to row, outermost
/// first. Axes of one element are gone, and those that continue each other are one.
pub struct Selection {
    moves: Moves,
    first: usize,
    row: Axis,
    outer: Vec<Axis>,
    bytes: usize,
}

impl Selection {
    pub fn new(workload: &Workload) -> Self {
        let size = workload.array.kind.size();
        let mut axes: Vec<Axis> = Vec::new();
        let (mut first, mut weight) = (0, size);
        for d in (0..workload.count.len()).rev() {
            first += workload.start[d] * weight;
            let axis = Axis { count: workload.count[d], step: workload.stride[d] as usize * weight };
            weight *= workload.array.dimlens[d];
            match axes.last_mut() {
                _ if axis.count == 1 => {}
                Some(inner) if inner.step * inner.count == axis.step => inner.count *= axis.count,
                _ => axes.push(axis),
            }
        }
        let row = if axes.is_empty() { Axis { count: 1, step: size } } else { axes.remove(0) };
        axes.reverse();
        Selection { moves: Moves::new(workload), first, row, outer: axes, bytes: workload.bytes() }
    }

    /// Calls `one` with the place of every row, in order.
    #[inline(always)]
    fn for_each_row(&self, mut one: impl FnMut(usize)) {
        fn walk(axes: &[Axis], at: usize, one: &mut impl FnMut(usize)) {
            match axes {
                [] => one(at),
                [axis] => (0..axis.count).for_each(|i| one(at + i * axis.step)),
                [axis, rest @ ..] => (0..axis.count).for_each(|i| walk(rest, at + i * axis.step, one)),
            }
        }
        walk(&self.outer, self.first, &mut one);
    }

    /// Gathers the selection into `out`.
    pub fn read(&self, whole: &[u8], out: &mut [u8]) {
        assert_eq!(out.len(), self.bytes);
        let mut rows = out.chunks_exact_mut(self.row.count * self.moves.kind.size());
        self.for_each_row(|at| {
            self.moves.row(rows.next().expect("as many rows"), &whole[at..], self.row.step);
        });
    }

    /// Scatters `data` over the selection. Whoever writes whole rows of a large output does so past the cache.
    pub fn write(&self, whole: &mut [u8], data: &[u8]) {
        assert_eq!(data.len(), self.bytes);
        let kind = self.moves.kind;
        let size = kind.size();
        let bytes = self.row.count * size;
        let stream = self.moves.stream && bytes >= STREAM_ROW;
        let mut rows = data.chunks_exact(bytes);
        self.for_each_row(|at| {
            let row = rows.next().expect("as many rows");
            if self.row.step != size {
                scatter(kind, &mut whole[at..], row, self.row.step);
            } else if stream {
                copy_past_cache(&mut whole[at..at + bytes], row, false);
            } else {
                whole[at..at + bytes].copy_from_slice(row);
            }
        });
    }
}

/// The places of single elements in a box, scattered all over it: their indices, one element after the other.
pub fn positions(workload: &Workload) -> Vec<usize> {
    let Access::ReadElements(calls) = workload.access else { return Vec::new() };
    let total: usize = workload.count.iter().product();
    let rank = workload.count.len();
    let mut positions = vec![0; calls * rank];
    for (k, position) in positions.chunks_exact_mut(rank).enumerate() {
        let hash = (k as u32).wrapping_mul(2_654_435_761);
        let mut number = (hash as usize * total) >> 32;
        for d in (0..rank).rev() {
            position[d] = workload.start[d] + number % workload.count[d];
            number /= workload.count[d];
        }
    }
    positions
}

/// Reads the elements at these positions.
pub fn read_elements(workload: &Workload, positions: &[usize], whole: &[u8], out: &mut [u8]) {
    let size = workload.array.kind.size();
    for (position, element) in positions.chunks_exact(workload.count.len()).zip(out.chunks_exact_mut(size)) {
        let number = position.iter().zip(workload.array.dimlens).fold(0, |number, (&i, &len)| number * len + i);
        element.copy_from_slice(&whole[number * size..][..size]);
    }
}

/// What an array reads as that has no chunk.
pub fn fill_values(out: &mut [u8]) {
    for word in out.as_chunks_mut().0 {
        *word = FILL_VALUE.to_ne_bytes();
    }
}

/// Copies elements that are `step` bytes apart to a row, swapping them if they are stored the other way round.
fn gather(kind: Kind, row: &mut [u8], from: &[u8], step: usize) {
    let step = step / kind.size();
    match kind {
        Kind::F32 => gather_words(row, from, step, |word: [u8; 4]| word),
        Kind::F64 => gather_words(row, from, step, |word: [u8; 8]| word),
        Kind::I16Big => gather_words(row, from, step, |word| u16::from_be_bytes(word).to_ne_bytes()),
        Kind::Bytes(3) => gather_words(row, from, step, |word: [u8; 3]| word),
        Kind::Bytes(6) => gather_words(row, from, step, |word: [u8; 6]| word),
        Kind::Bytes(12) => gather_words(row, from, step, |word: [u8; 12]| word),
        Kind::Bytes(20) => gather_words(row, from, step, |word: [u8; 20]| word),
        Kind::Bytes(24) => gather_words(row, from, step, |word: [u8; 24]| word),
        Kind::Bytes(size) => unreachable!("no workload has elements of {size} bytes"),
    }
}

fn gather_words<const N: usize>(row: &mut [u8], from: &[u8], step: usize, load: impl Fn([u8; N]) -> [u8; N]) {
    let (row, from) = (row.as_chunks_mut().0, from.as_chunks().0);
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vl") {
        // SAFETY: the processor has them; the one feature that both need comes with them.
        return unsafe { gather_avx512(row, from, step, load) };
    }
    gather_steps(row, from, step, load);
}

/// The same loops, compiled for vectors of 64 bytes.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn gather_avx512<const N: usize>(
    row: &mut [[u8; N]],
    from: &[[u8; N]],
    step: usize,
    load: impl Fn([u8; N]) -> [u8; N],
) {
    gather_steps(row, from, step, load);
}

/// Steps that compilers can turn into permutations are constants.
#[inline(always)]
fn gather_steps<const N: usize>(row: &mut [[u8; N]], from: &[[u8; N]], step: usize, load: impl Fn([u8; N]) -> [u8; N]) {
    match step {
        1 => gather_loop(row, from, 1, load),
        2 => gather_loop(row, from, 2, load),
        7 => gather_loop(row, from, 7, load),
        _ => gather_loop(row, from, step, load),
    }
}

#[inline(always)]
fn gather_loop<const N: usize>(row: &mut [[u8; N]], from: &[[u8; N]], step: usize, load: impl Fn([u8; N]) -> [u8; N]) {
    let from = &from[..(row.len() - 1) * step + 1];
    for (i, to) in row.iter_mut().enumerate() {
        // SAFETY: i is below the number of rows, so i * step is below the length.
        *to = load(unsafe { *from.get_unchecked(i * step) });
    }
}

/// Copies a row to elements that are `step` bytes apart. No workload writes swapped elements.
fn scatter(kind: Kind, to: &mut [u8], row: &[u8], step: usize) {
    fn words<const N: usize>(to: &mut [u8], row: &[u8], step: usize) {
        let (to, row) = (to.as_chunks_mut::<N>().0, row.as_chunks::<N>().0);
        if step == 2 * N {
            to.chunks_mut(2).zip(row).for_each(|(to, word)| to[0] = *word);
        } else {
            to.iter_mut().step_by(step / N).zip(row).for_each(|(to, word)| *to = *word);
        }
    }
    match kind {
        Kind::F32 => words::<4>(to, row, step),
        Kind::F64 => words::<8>(to, row, step),
        Kind::I16Big | Kind::Bytes(_) => unreachable!("no workload writes such elements"),
    }
}

/// Copies a row past the cache: whole cache lines, and what comes before and after them as usual. Two-byte words are
/// swapped on the way if `swap` says so.
fn copy_past_cache(to: &mut [u8], from: &[u8], swap: bool) {
    assert_eq!(to.len(), from.len());
    let head = to.as_ptr().align_offset(64).min(to.len());
    let lines = (to.len() - head) / 64 * 64;
    let (to_head, to) = to.split_at_mut(head);
    let (to, to_tail) = to.split_at_mut(lines);
    let (from_head, from) = from.split_at(head);
    let (from, from_tail) = from.split_at(lines);
    for (to, from) in [(to_head, from_head), (to_tail, from_tail)] {
        copy_swapping(to, from, swap);
    }
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512bw") {
        // SAFETY: the processor has it; the bytes are as many whole lines, and begin with a cache line.
        return unsafe { if swap { copy_lines::<true>(to, from) } else { copy_lines::<false>(to, from) } };
    }
    copy_swapping(to, from, swap);
}

fn copy_swapping(to: &mut [u8], from: &[u8], swap: bool) {
    if swap {
        let (to, from) = (to.as_chunks_mut::<2>().0, from.as_chunks::<2>().0);
        to.iter_mut().zip(from).for_each(|(to, from)| *to = [from[1], from[0]]);
    } else {
        to.copy_from_slice(from);
    }
}

/// Copies whole lines past the cache. With several pages under way at a time, memory is read faster.
///
/// # Safety
/// `to` is aligned to 64 bytes and no longer than `from`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512bw")]
unsafe fn copy_lines<const SWAP: bool>(to: &mut [u8], from: &[u8]) {
    use std::arch::x86_64::{
        _mm_sfence, _mm512_add_epi8, _mm512_loadu_si512, _mm512_set1_epi16, _mm512_set4_epi32, _mm512_shuffle_epi8,
        _mm512_stream_si512,
    };
    const PAGES: usize = 4;
    const PAGE: usize = 4096;
    let pairs = _mm512_set4_epi32(0x0E0E_0C0C, 0x0A0A_0808, 0x0606_0404, 0x0202_0000);
    let other_byte_first = _mm512_add_epi8(pairs, _mm512_set1_epi16(0x0001));
    let mut copy = |at: usize| {
        // SAFETY: a line begins there in both, and the caller says that those of `to` are aligned.
        unsafe {
            let mut line = _mm512_loadu_si512(from.as_ptr().add(at).cast());
            if SWAP {
                line = _mm512_shuffle_epi8(line, other_byte_first);
            }
            _mm512_stream_si512(to.as_mut_ptr().add(at).cast(), line);
        }
    };
    let together = from.len() - from.len() % (PAGES * PAGE);
    for first in (0..together).step_by(PAGES * PAGE) {
        for at in (first..first + PAGE).step_by(64) {
            (0..PAGES).for_each(|page| copy(at + page * PAGE));
        }
    }
    (together..from.len()).step_by(64).for_each(&mut copy);
    _mm_sfence();
}

/// Decodes the frames of a workload as a whole into one scratch buffer, which is what reading compressed chunks cannot
/// do without, unless it stops early.
pub struct Decoder {
    context: *mut zstd_sys::ZSTD_DCtx,
    scratch: Vec<u8>,
    touched: Vec<usize>,
}

impl Decoder {
    pub fn new(workload: &Workload, chunks: &super::data::Chunks) -> Self {
        // SAFETY: takes nothing.
        let context = unsafe { zstd_sys::ZSTD_createDCtx() };
        assert!(!context.is_null());
        let touched = chunks.touched_frames(workload);
        Decoder { context, scratch: vec![0xA5; workload.array.chunk_bytes()], touched }
    }

    pub fn run(&mut self, chunks: &super::data::Chunks) {
        for &number in &self.touched {
            let frame = chunks.frame(number);
            let (to, size) = (self.scratch.as_mut_ptr().cast(), self.scratch.len());
            let (from, len) = (frame.as_ptr().cast(), frame.len());
            // SAFETY: the context was made, and both buffers are given with their lengths.
            let decoded = unsafe { zstd_sys::ZSTD_decompressDCtx(self.context, to, size, from, len) };
            assert_eq!(decoded, size);
        }
    }
}

impl Drop for Decoder {
    fn drop(&mut self) {
        // SAFETY: it was made by ZSTD_createDCtx and is freed once.
        unsafe { zstd_sys::ZSTD_freeDCtx(self.context) };
    }
}
