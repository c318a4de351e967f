//! Kernels with instructions of this processor, chosen at run time: gathers by permutation, and stores past the cache.

use std::arch::x86_64::*;

use super::kernel::{self, Kernel, Word};
use super::lines::{self, Row};
use super::{Axis, LINE, Rows};

/// The kernel for such rows, if there is one better than the portable ones.
#[inline]
pub(super) fn choose(unit: usize, swap: bool, row: Option<&Axis>, stream: bool) -> Option<Kernel> {
    // Miri does not know such stores.
    if stream && unit >= STREAM_UNIT && !cfg!(miri) {
        return Some(if has_avx512() { copy_past_cache } else { copy_past_cache_sse2 });
    }
    let (size, row) = (unit as isize, row?);
    let stream = stream && unit * row.count >= STREAM_UNIT;
    let is_contiguous = row.source == size && row.destination == size;
    if swap && is_contiguous && stream && has_avx512() {
        return match unit {
            2 => Some(swap_past_cache::<u16>),
            4 => Some(swap_past_cache::<u32>),
            8 => Some(swap_past_cache::<u64>),
            _ => None,
        };
    }
    if stream && row.source == 0 && row.destination == size && !cfg!(miri) {
        return match (unit, swap) {
            (1, _) => Some(fill_past_cache::<u8>),
            (2, false) => Some(fill_past_cache::<u16>),
            (4, false) => Some(fill_past_cache::<u32>),
            (8, false) => Some(fill_past_cache::<u64>),
            _ => None,
        };
    }
    if unit >= NEAR_UNIT && !swap && has_avx512() {
        return Some(copy_near);
    }
    // Up to this distance the permutation was measured to be faster than loading word by word, by 1.4 to 2.5 times.
    let is_gather = row.destination == size && row.source > size && row.source % size == 0;
    if is_gather && row.source <= if stream { 4 * size } else { 8 } && row.count >= 4 && has_avx512() {
        match (unit, swap, stream) {
            (2, false, false) => return Some(gather16::near::<false>),
            (2, true, false) => return Some(gather16::near::<true>),
            (4, false, false) => return Some(gather32::near::<false>),
            (4, true, false) => return Some(gather32::near::<true>),
            (2, false, true) => return Some(gather16::past_cache::<false>),
            (2, true, true) => return Some(gather16::past_cache::<true>),
            (4, false, true) => return Some(gather32::past_cache::<false>),
            (4, true, true) => return Some(gather32::past_cache::<true>),
            (8, false, true) => return Some(gather64::past_cache::<false>),
            (8, true, true) => return Some(gather64::past_cache::<true>),
            _ => {}
        }
    }
    let is_apart = row.destination == size && row.source % size == 0 && (5..=16).contains(&(row.source / size));
    if is_apart && !cfg!(miri) {
        match (unit, swap) {
            (4, false) => return Some(words_apart::<u32, false>),
            (4, true) => return Some(words_apart::<u32, true>),
            (8, false) => return Some(words_apart::<u64, false>),
            (8, true) => return Some(words_apart::<u64, true>),
            _ => {}
        }
    }
    if !is_x86_feature_detected!("avx2") {
        return None;
    }
    // Of the others, words of 4 and 8 bytes that are not swapped were measured to be slower so.
    match (unit, swap) {
        (1, _) => Some(words_avx2::<u8, false>),
        (2, false) => Some(words_avx2::<u16, false>),
        (2, true) => Some(words_avx2::<u16, true>),
        (4, true) => Some(words_avx2::<u32, true>),
        (8, true) => Some(words_avx2::<u64, true>),
        _ => None,
    }
}

/// What is chosen for units past the cache by a processor without such vectors; tests ask, because it is seldom chosen.
#[cfg(test)]
pub(super) fn past_cache_sse2(unit: usize) -> Option<Kernel> {
    (unit >= STREAM_UNIT && !cfg!(miri)).then_some(copy_past_cache_sse2 as Kernel)
}

/// Whether the processor has what kernels with 64-byte vectors need.
#[inline]
fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw")
}

/// The portable kernel, for a compiler that knows of these instructions.
///
/// # Safety
/// See [`Kernel`]; the processor has the feature.
#[target_feature(enable = "avx2")]
unsafe fn words_avx2<W: Word, const SWAP: bool>(source: *const u8, destination: *mut u8, unit: usize, rows: Rows) {
    // SAFETY: the caller's promise.
    unsafe { kernel::words::<W, SWAP>(source, destination, unit, rows) };
}

/// Makes kernels that gather words that are 2 to 4 words apart, through the cache and past it.
///
/// A line of LANES results lies in `stride` vectors of the source, one after another. Lane `i` of the result is lane
/// `i*stride % LANES` of vector `i*stride / LANES`: one permutation, the same for all vectors, of which each contributes the
/// lanes that are its own. Less than a line is done with masks, which touch nothing beyond the row.
macro_rules! gather {
    ($module:ident, $word:ty, $mask:ty, $load:ident, $permute:ident, $store:ident, $order:expr) => {
        mod $module {
            use super::*;

            const SIZE: usize = size_of::<$word>();
            const LANES: usize = LINE / SIZE;

            /// By stride: for each result the lane it comes from, and for each vector the results that it has.
            const TABLES: [([$word; LANES], [$mask; 4]); 5] = {
                let mut tables = [([0; LANES], [0; 4]); 5];
                let mut stride = 1;
                while stride < tables.len() {
                    let mut i = 0;
                    while i < LANES {
                        tables[stride].0[i] = (i * stride % LANES) as $word;
                        tables[stride].1[i * stride / LANES] |= 1 << i;
                        i += 1;
                    }
                    stride += 1;
                }
                tables
            };

            /// The gather of one stride.
            struct Gather<const SWAP: bool> {
                stride: usize,
                permutation: __m512i,
                masks: &'static [$mask; 4],
            }

            /// The first words of a vector.
            fn first(n: usize) -> $mask {
                if n >= LANES { <$mask>::MAX } else { (1 << n) - 1 }
            }

            impl<const SWAP: bool> Gather<SWAP> {
                #[inline]
                #[target_feature(enable = "avx512f,avx512bw")]
                fn new(row: Axis) -> Self {
                    let stride = row.source as usize / SIZE;
                    let (lanes, masks) = &TABLES[stride];
                    // SAFETY: the array has the size of a vector.
                    let permutation = unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) };
                    Gather { stride, permutation, masks }
                }

                /// How many words of the source so many results span.
                #[inline]
                fn span(&self, count: usize) -> usize {
                    (count - 1) * self.stride + 1
                }

                #[inline]
                #[target_feature(enable = "avx512f,avx512bw")]
                fn finish(vector: __m512i) -> __m512i {
                    if SWAP { _mm512_shuffle_epi8(vector, _mm512_broadcast_i32x4($order)) } else { vector }
                }

                /// A line of results.
                ///
                /// # Safety
                /// There are as many words at `from`, and one after them.
                #[inline]
                #[target_feature(enable = "avx512f,avx512bw")]
                unsafe fn line(&self, from: *const u8) -> __m512i {
                    let mut result = _mm512_setzero_si512();
                    for (v, &mask) in self.masks[..self.stride].iter().enumerate() {
                        // SAFETY: a word follows the line, so its vectors lie within the row.
                        let vector = unsafe { _mm512_loadu_si512(from.add(v * LINE).cast()) };
                        result = $permute(result, mask, self.permutation, vector);
                    }
                    Self::finish(result)
                }

                /// Up to a line of results. `loads` tells which words of each of the source's vectors to load.
                ///
                /// # Safety
                /// There are such words at `from`.
                #[inline]
                #[target_feature(enable = "avx512f,avx512bw")]
                unsafe fn part(&self, from: *const u8, vectors: usize, loads: impl Fn(usize) -> $mask) -> __m512i {
                    let mut result = _mm512_setzero_si512();
                    for v in 0..vectors {
                        // SAFETY: the mask leaves out what lies beyond the part.
                        let vector = unsafe { $load(loads(v), from.wrapping_add(v * LINE).cast()) };
                        result = $permute(result, self.masks[v], self.permutation, vector);
                    }
                    Self::finish(result)
                }
            }

            /// Through the cache.
            ///
            /// # Safety
            /// See [`Kernel`]; rows are as in `choose`, and the processor has the features.
            #[target_feature(enable = "avx512f,avx512bw")]
            pub(super) unsafe fn near<const SWAP: bool>(source: *const u8, destination: *mut u8, _: usize, rows: Rows) {
                let gather = Gather::<SWAP>::new(rows.row);
                // All lines but the last have a word that follows them.
                let lines = (rows.row.count - 1) / LANES;
                let rest = rows.row.count - lines * LANES;
                let (span, stores) = (gather.span(rest), first(rest));
                let loads: [$mask; 4] = std::array::from_fn(|v| first(span.saturating_sub(v * LANES)));
                let vectors = span.div_ceil(LANES);
                rows.for_each(source, destination, |mut from, mut to| {
                    for _ in 0..lines {
                        // SAFETY: the caller's promise, of a part of the row.
                        unsafe { _mm512_storeu_si512(to.cast(), gather.line(from)) };
                        from = from.wrapping_add(LINE * gather.stride);
                        to = to.wrapping_add(LINE);
                    }
                    // SAFETY: as above.
                    unsafe { $store(to.cast(), stores, gather.part(from, vectors, |v| loads[v])) };
                });
            }

            /// Past the cache.
            ///
            /// # Safety
            /// See [`near`].
            #[target_feature(enable = "avx512f,avx512bw")]
            pub(super) unsafe fn past_cache<const SWAP: bool>(
                source: *const u8,
                destination: *mut u8,
                unit: usize,
                rows: Rows,
            ) {
                if !are_words(destination, rows, SIZE) {
                    // SAFETY: the caller's promise.
                    return unsafe { near::<SWAP>(source, destination, unit, rows) };
                }
                let gather = Gather::<SWAP>::new(rows.row);
                let row = Row { len: rows.row.count * SIZE, stride: gather.stride, word: SIZE };
                // SAFETY: `lines::write` sees to that a word follows, and that the line is one of the memory's.
                let line = |from, to: *mut u8| unsafe { _mm512_stream_si512(to.cast(), gather.line(from)) };
                let part = |from, to: *mut u8, bytes| {
                    let span = gather.span(bytes / SIZE);
                    // SAFETY: the row has as many words, and room for as many bytes; a whole line is one of the memory's.
                    unsafe {
                        let result = gather.part(from, span.div_ceil(LANES), |v| first(span - v * LANES));
                        if bytes == LINE {
                            _mm512_stream_si512(to.cast(), result);
                        } else {
                            $store(to.cast(), first(bytes / SIZE), result);
                        }
                    }
                };
                // SAFETY: the caller's promise; all rows begin between words.
                unsafe { lines::write(source, destination, rows.along, row, line, part) };
            }
        }
    };
}

gather!(
    gather16,
    u16,
    u32,
    _mm512_maskz_loadu_epi16,
    _mm512_mask_permutexvar_epi16,
    _mm512_mask_storeu_epi16,
    _mm_set_epi8(14, 15, 12, 13, 10, 11, 8, 9, 6, 7, 4, 5, 2, 3, 0, 1)
);
gather!(
    gather32,
    u32,
    u16,
    _mm512_maskz_loadu_epi32,
    _mm512_mask_permutexvar_epi32,
    _mm512_mask_storeu_epi32,
    _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3)
);
gather!(
    gather64,
    u64,
    u8,
    _mm512_maskz_loadu_epi64,
    _mm512_mask_permutexvar_epi64,
    _mm512_mask_storeu_epi64,
    _mm_set_epi8(8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7)
);

/// Orders what was stored past the cache before all that is stored later.
#[inline]
pub(super) fn fence() {
    // SAFETY: every x86-64 has it.
    unsafe { _mm_sfence() };
}

/// Words further apart, in rows on pages of their own.
///
/// # Safety
/// See [`Kernel`]; words are contiguous in the destination and whole words apart in the source.
unsafe fn words_apart<W: Word, const SWAP: bool>(source: *const u8, destination: *mut u8, size: usize, rows: Rows) {
    let row = Row { len: rows.row.count * size, stride: rows.row.source as usize / size, word: size };
    if !are_words(destination, rows, size) || !row.is_in_lanes(rows.along) {
        // SAFETY: the caller's promise.
        return unsafe { kernel::words::<W, SWAP>(source, destination, size, rows) };
    }
    let part = |from: *const u8, to: *mut u8, bytes: usize| {
        for i in 0..bytes / size_of::<W>() {
            // SAFETY: within the row, as the caller promised.
            unsafe {
                let word = from.cast::<W>().wrapping_add(i * row.stride).read_unaligned();
                to.cast::<W>().add(i).write_unaligned(if SWAP { word.swapped() } else { word });
            }
        }
    };
    // SAFETY: the caller's promise; the rows begin between words.
    unsafe { lines::write(source, destination, rows.along, row, |from, to| part(from, to, LINE), part) };
}

/// Whether all rows begin at multiples of the word.
fn are_words(destination: *mut u8, rows: Rows, word: usize) -> bool {
    (destination.addr() | rows.along.destination as usize).is_multiple_of(word)
}

/// Units shorter than this gain nothing, unless they are whole lines close to each other: lines here and there take longer
/// past the cache than through it.
const STREAM_UNIT: usize = LINE;

const FEW_LINES: usize = 4 * LINE;

/// The first bytes of a vector.
#[inline]
fn first_bytes(n: usize) -> u64 {
    if n >= LINE { u64::MAX } else { (1 << n) - 1 }
}

/// Long units and units of whole lines, past the cache: lines that a store would fetch only to overwrite them are not fetched.
///
/// # Safety
/// See [`Kernel`]; the processor has the features.
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn copy_past_cache(source: *const u8, destination: *mut u8, unit: usize, rows: Rows) {
    // SAFETY: the row has room for the line, which is one of the memory's.
    let line =
        |from: *const u8, to: *mut u8| unsafe { _mm512_stream_si512(to.cast(), _mm512_loadu_si512(from.cast())) };
    let part = |from: *const u8, to: *mut u8, bytes: usize| {
        // SAFETY: the masks leave out what lies beyond the row.
        unsafe {
            _mm512_mask_storeu_epi8(
                to.cast(),
                first_bytes(bytes),
                _mm512_maskz_loadu_epi8(first_bytes(bytes), from.cast()),
            )
        };
    };
    // SAFETY: the caller's promise.
    unsafe { copy_lines(source, destination, unit, rows, line, part) };
}

/// [`copy_past_cache`] for any x86-64.
///
/// # Safety
/// See [`Kernel`].
unsafe fn copy_past_cache_sse2(source: *const u8, destination: *mut u8, unit: usize, rows: Rows) {
    // SAFETY: every x86-64 has these; the row has room for the line, which is one of the memory's.
    let line = |from: *const u8, to: *mut u8| unsafe {
        let (from, to) = (from.cast::<__m128i>(), to.cast::<__m128i>());
        let (a, b) = (_mm_loadu_si128(from), _mm_loadu_si128(from.add(1)));
        let (c, d) = (_mm_loadu_si128(from.add(2)), _mm_loadu_si128(from.add(3)));
        _mm_stream_si128(to, a);
        _mm_stream_si128(to.add(1), b);
        _mm_stream_si128(to.add(2), c);
        _mm_stream_si128(to.add(3), d);
    };
    // SAFETY: the row has room for as many bytes.
    let part = |from: *const u8, to: *mut u8, bytes: usize| unsafe { to.copy_from_nonoverlapping(from, bytes) };
    // SAFETY: the caller's promise.
    unsafe { copy_lines(source, destination, unit, rows, line, part) };
}

/// Copies units line by line.
///
/// # Safety
/// See [`Kernel`] and [`lines::write`].
#[inline(always)]
unsafe fn copy_lines(
    source: *const u8,
    destination: *mut u8,
    unit: usize,
    rows: Rows,
    line: impl Fn(*const u8, *mut u8),
    part: impl Fn(*const u8, *mut u8, usize),
) {
    if unit <= FEW_LINES && unit.is_multiple_of(LINE) && starts_lines(destination, rows) {
        return rows.for_each_unit(source, destination, |from, to| {
            for at in (0..unit).step_by(LINE) {
                line(from.wrapping_add(at), to.wrapping_add(at));
            }
        });
    }
    let row = Row { len: unit, stride: 1, word: 1 };
    rows.for_each(source, destination, |source, destination| {
        // SAFETY: the caller's promise.
        unsafe { lines::write(source, destination, rows.row, row, &line, &part) };
    });
}

/// Units from here on are copied so; those of fewer bytes were slower.
const NEAR_UNIT: usize = 512;

/// How many units ahead of the one that is copied lines are asked for, on either side.
const NEXT: isize = 2;

/// Units of a few lines, through the cache.
///
/// # Safety
/// See [`Kernel`]; units have a line at least, and the processor has the features.
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn copy_near(source: *const u8, destination: *mut u8, unit: usize, rows: Rows) {
    rows.for_each_unit(source, destination, |from, to| {
        let copy_line = |at: usize| {
            let next = from.wrapping_offset(NEXT * rows.row.source).wrapping_add(at);
            let next_to = to.wrapping_offset(NEXT * rows.row.destination).wrapping_add(at);
            _mm_prefetch::<_MM_HINT_T0>(next.cast());
            _mm_prefetch::<_MM_HINT_ET0>(next_to.cast());
            // SAFETY: within the unit.
            unsafe { _mm512_storeu_si512(to.add(at).cast(), _mm512_loadu_si512(from.add(at).cast())) };
        };
        (0..unit - LINE).step_by(LINE).for_each(copy_line);
        copy_line(unit - LINE);
    });
}

/// Whether every unit begins at the beginning of a line.
fn starts_lines(destination: *mut u8, rows: Rows) -> bool {
    let strides = rows.row.destination | rows.along.destination;
    (destination.addr() | strides as usize).is_multiple_of(LINE)
}

/// Contiguous rows of words, swapped on their way past the cache.
///
/// # Safety
/// See [`Kernel`]; words are contiguous on both sides, and the processor has the features.
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn swap_past_cache<W: Word>(source: *const u8, destination: *mut u8, size: usize, rows: Rows) {
    if !are_words(destination, rows, size) {
        // SAFETY: the caller's promise.
        return unsafe { words_avx2::<W, true>(source, destination, size, rows) };
    }
    // Where each byte of a vector's 16-byte lane comes from.
    let order: [u8; 16] = std::array::from_fn(|i| (i / size * size + size - 1 - i % size) as u8);
    // SAFETY: the array has the size of a vector.
    let order = _mm512_broadcast_i32x4(unsafe { _mm_loadu_si128(order.as_ptr().cast()) });
    let line = |from: *const u8, to: *mut u8| {
        // SAFETY: the row has room for the line, which is one of the memory's.
        unsafe { _mm512_stream_si512(to.cast(), _mm512_shuffle_epi8(_mm512_loadu_si512(from.cast()), order)) };
    };
    let part = |from: *const u8, to: *mut u8, bytes: usize| {
        // SAFETY: the masks leave out what lies beyond the row.
        unsafe {
            let vector = _mm512_maskz_loadu_epi8(first_bytes(bytes), from.cast());
            _mm512_mask_storeu_epi8(to.cast(), first_bytes(bytes), _mm512_shuffle_epi8(vector, order));
        }
    };
    let row = Row { len: rows.row.count * size, stride: 1, word: size };
    // SAFETY: the caller's promise; the rows begin between words.
    unsafe { lines::write(source, destination, rows.along, row, line, part) };
}

/// Rows of one word over and over, written past the cache.
///
/// # Safety
/// See [`Kernel`]; words are contiguous in the destination and one in the source.
unsafe fn fill_past_cache<W: Word>(source: *const u8, destination: *mut u8, size: usize, rows: Rows) {
    if !are_words(destination, rows, size) {
        // SAFETY: the caller's promise.
        return unsafe { kernel::words::<W, false>(source, destination, size, rows) };
    }
    let line = |from: *const u8, to: *mut u8| {
        // SAFETY: the caller's promise: there is a word.
        let words = [unsafe { from.cast::<W>().read_unaligned() }; 16];
        for i in 0..LINE / 16 {
            // SAFETY: every x86-64 has these, and the array is no shorter than a vector; the row has room for the line, which is
            // one of the memory's.
            unsafe { _mm_stream_si128(to.cast::<__m128i>().add(i), _mm_loadu_si128(words.as_ptr().cast())) };
        }
    };
    let part = |from: *const u8, to: *mut u8, bytes: usize| {
        let words = Axis { count: bytes / size, ..rows.row };
        // SAFETY: a part of the row, as the caller promised.
        unsafe { kernel::word_row::<W, false>(from, to, words) };
    };
    let row = Row { len: rows.row.count * size, stride: 0, word: size };
    // SAFETY: the caller's promise; the rows begin between words.
    unsafe { lines::write(source, destination, rows.along, row, line, part) };
}
