//! Kernels with instructions of this processor, chosen at run time: gathers by permutation, and stores past the cache.

use std::arch::x86_64::*;

use super::kernel::{self, Kernel, Word};
use super::{Axis, Rows};

/// The kernel for such rows, if there is one better than the portable ones.
#[inline]
pub(super) fn choose(unit: usize, swap: bool, row: Option<&Axis>, stream: bool) -> Option<Kernel> {
    // Miri does not know such stores.
    let are_lines = |row: &Axis| unit > 0 && unit.is_multiple_of(LINE) && row.destination.unsigned_abs() <= 4 * unit;
    if stream && (unit >= STREAM_UNIT || row.is_some_and(are_lines)) && !cfg!(miri) {
        return Some(if is_x86_feature_detected!("avx512f") { copy_past_cache_64 } else { copy_past_cache_16 });
    }
    let (size, row) = (unit as isize, row?);
    let has_avx512 = || is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw");
    let is_contiguous = row.source == size && row.destination == size;
    if swap && is_contiguous && stream && unit * row.count >= STREAM_UNIT && has_avx512() {
        return match unit {
            2 => Some(swap_past_cache::<u16>),
            4 => Some(swap_past_cache::<u32>),
            8 => Some(swap_past_cache::<u64>),
            _ => None,
        };
    }
    if stream && row.source == 0 && row.destination == size && unit * row.count >= STREAM_UNIT && !cfg!(miri) {
        return match (unit, swap) {
            (1, _) => Some(fill_past_cache::<u8>),
            (2, false) => Some(fill_past_cache::<u16>),
            (4, false) => Some(fill_past_cache::<u32>),
            (8, false) => Some(fill_past_cache::<u64>),
            _ => None,
        };
    }
    // Up to this distance the permutation was measured to be faster than loading word by word, by 1.4 to 2.5 times.
    let is_gather = row.destination == size && row.source > size && row.source <= 8 && row.source % size == 0;
    if is_gather && row.count >= 4 && has_avx512() {
        match (unit, swap) {
            (2, false) => return Some(gather16::<false>),
            (2, true) => return Some(gather16::<true>),
            (4, false) => return Some(gather32::<false>),
            (4, true) => return Some(gather32::<true>),
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

/// The portable kernel, for a compiler that knows of these instructions.
///
/// # Safety
/// See [`Kernel`]; the processor has the feature.
#[target_feature(enable = "avx2")]
unsafe fn words_avx2<W: Word, const SWAP: bool>(source: *const u8, destination: *mut u8, unit: usize, rows: Rows) {
    // SAFETY: the caller's promise.
    unsafe { kernel::words::<W, SWAP>(source, destination, unit, rows) };
}

/// Makes a kernel that gathers words that are 2 to 4 words apart.
///
/// A block of LANES results lies in `stride` vectors of the source, one after another. Lane `i` of the result is lane
/// `i*stride % LANES` of vector `i*stride / LANES`: one permutation, the same for all vectors, of which each contributes the
/// lanes that are its own. A block that the row does not fill is done with masks, which touch nothing beyond the row.
macro_rules! gather {
    ($name:ident, $word:ty, $mask:ty, $load:ident, $permute:ident, $store:ident, $swap:expr) => {
        /// # Safety
        /// See [`Kernel`]; rows are as in `choose`, and the processor has the features.
        #[target_feature(enable = "avx512f,avx512bw")]
        unsafe fn $name<const SWAP: bool>(source: *const u8, destination: *mut u8, _: usize, rows: Rows) {
            const LANES: usize = 64 / size_of::<$word>();
            // By stride: for each result the lane it comes from, and for each vector the results that it has.
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
            let row = rows.row;
            let stride = row.source as usize / size_of::<$word>();
            let (lanes, masks) = &TABLES[stride];
            let first = |n: usize| if n >= LANES { <$mask>::MAX } else { (1 << n) - 1 };
            // A row of n words spans (n - 1) * stride + 1 of the source, of which a block needs LANES * stride.
            let span = (row.count - 1) * stride + 1;
            let blocks = span / (LANES * stride);
            let (rest, rest_span) = (row.count - blocks * LANES, span - blocks * LANES * stride);
            let rest_masks: [$mask; 4] = std::array::from_fn(|v| first(rest_span.saturating_sub(v * LANES)));
            let rest_vectors = rest_span.div_ceil(LANES);
            // SAFETY: the array has the size of a vector.
            let permutation = unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) };
            let finish = |vector| {
                if SWAP { _mm512_shuffle_epi8(vector, _mm512_broadcast_i32x4($swap)) } else { vector }
            };
            rows.for_each(source, destination, |mut from, mut to| {
                for _ in 0..blocks {
                    let mut result = _mm512_setzero_si512();
                    for (v, &mask) in masks[..stride].iter().enumerate() {
                        // SAFETY: the block's vectors lie within the row.
                        let vector = unsafe { _mm512_loadu_si512(from.add(v * 64).cast()) };
                        result = $permute(result, mask, permutation, vector);
                    }
                    // SAFETY: the destination has room for the row, of which this is a block.
                    unsafe { _mm512_storeu_si512(to.cast(), finish(result)) };
                    from = from.wrapping_add(LANES * stride * size_of::<$word>());
                    to = to.wrapping_add(64);
                }
                if rest > 0 {
                    let mut result = _mm512_setzero_si512();
                    for v in 0..rest_vectors {
                        // SAFETY: the mask leaves out what lies beyond the row.
                        let vector = unsafe { $load(rest_masks[v], from.wrapping_add(v * 64).cast()) };
                        result = $permute(result, masks[v], permutation, vector);
                    }
                    // SAFETY: as above.
                    unsafe { $store(to.cast(), first(rest), finish(result)) };
                }
            });
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

/// Units shorter than this gain nothing, unless they are whole lines close to each other: lines here and there take longer
/// past the cache than through it.
const STREAM_UNIT: usize = 512;

/// How many units ahead the lines are asked for that a unit shares with its neighbours: they do go through the cache, and
/// what is written after them waits for them.
const AHEAD: isize = 8;

/// The bytes that memory and caches exchange at a time.
const LINE: usize = 64;

/// Where the whole lines of `len` bytes from `to` on begin and end; without any, both are 0. They can be written line by line
/// only if they begin between words.
#[inline(always)]
fn lines(to: *mut u8, len: usize, word: usize) -> (usize, usize) {
    let head = to.align_offset(LINE);
    if head > len || !head.is_multiple_of(word) { (0, 0) } else { (head, head + (len - head) / LINE * LINE) }
}

/// Makes a kernel for long units, written past the cache: the lines that a store would fetch only to overwrite them are not
/// fetched. `$line` copies one line to an aligned place.
macro_rules! copy_past_cache {
    ($name:ident, $feature:literal, $line:expr) => {
        /// # Safety
        /// See [`Kernel`]; the processor has the feature.
        #[target_feature(enable = $feature)]
        unsafe fn $name(source: *const u8, destination: *mut u8, unit: usize, rows: Rows) {
            if unit < STREAM_UNIT && !starts_lines(destination, rows) {
                // SAFETY: the caller's promise.
                return unsafe { kernel::short(source, destination, unit, rows) };
            }
            rows.for_each_unit(source, destination, |source, destination| {
                let later = destination.wrapping_offset(rows.row.destination.wrapping_mul(AHEAD));
                for shared in [later, later.wrapping_add(unit)] {
                    if !shared.addr().is_multiple_of(LINE) {
                        _mm_prefetch::<_MM_HINT_T0>(shared.cast());
                    }
                }
                // What comes before and after the lines is copied the ordinary way.
                let (head, tail) = lines(destination, unit, 1);
                // SAFETY: head, lines and tail make up the unit, and the lines are aligned.
                unsafe {
                    if head > 0 {
                        destination.copy_from_nonoverlapping(source, head);
                    }
                    for at in (head..tail).step_by(LINE) {
                        $line(source.add(at), destination.add(at));
                    }
                    if tail < unit {
                        destination.add(tail).copy_from_nonoverlapping(source.add(tail), unit - tail);
                    }
                }
            });
            // Such stores are not ordered with others until they are told to be.
            _mm_sfence();
        }
    };
}

copy_past_cache!(copy_past_cache_64, "avx512f", |from: *const u8, to: *mut u8| {
    _mm512_stream_si512(to.cast(), _mm512_loadu_si512(from.cast()));
});

copy_past_cache!(copy_past_cache_16, "sse2", |from: *const u8, to: *mut u8| {
    let (from, to) = (from.cast::<__m128i>(), to.cast::<__m128i>());
    let (a, b) = (_mm_loadu_si128(from), _mm_loadu_si128(from.add(1)));
    let (c, d) = (_mm_loadu_si128(from.add(2)), _mm_loadu_si128(from.add(3)));
    _mm_stream_si128(to, a);
    _mm_stream_si128(to.add(1), b);
    _mm_stream_si128(to.add(2), c);
    _mm_stream_si128(to.add(3), d);
});

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
    // Where each byte of a vector's 16-byte lane comes from.
    let order: [u8; 16] = std::array::from_fn(|i| (i / size * size + size - 1 - i % size) as u8);
    // SAFETY: the array has the size of a vector.
    let order = _mm512_broadcast_i32x4(unsafe { _mm_loadu_si128(order.as_ptr().cast()) });
    rows.for_each(source, destination, |from, to| {
        let len = rows.row.count * size;
        let (head, tail) = lines(to, len, size);
        // What comes before and after the lines is swapped the ordinary way.
        for (begin, end) in [(0, head), (tail, len)] {
            let words = Axis { count: (end - begin) / size, ..rows.row };
            // SAFETY: a part of the row, as the caller promised.
            unsafe { kernel::word_row::<W, true>(from.add(begin), to.add(begin), words) };
        }
        for at in (head..tail).step_by(LINE) {
            // SAFETY: within the row; the destination is the beginning of a line.
            unsafe {
                let line = _mm512_shuffle_epi8(_mm512_loadu_si512(from.add(at).cast()), order);
                _mm512_stream_si512(to.add(at).cast(), line);
            }
        }
    });
    _mm_sfence();
}

/// Rows of one and the same word, written past the cache.
///
/// # Safety
/// See [`Kernel`]; words are contiguous in the destination and one in the source.
unsafe fn fill_past_cache<W: Word>(source: *const u8, destination: *mut u8, size: usize, rows: Rows) {
    // SAFETY: the caller's promise: there is a word.
    let words = [unsafe { source.cast::<W>().read_unaligned() }; 16];
    // SAFETY: the array is no shorter than a vector.
    let vector = unsafe { _mm_loadu_si128(words.as_ptr().cast()) };
    rows.for_each(source, destination, |from, to| {
        let len = rows.row.count * size;
        let (head, tail) = lines(to, len, size);
        for (begin, end) in [(0, head), (tail, len)] {
            let words = Axis { count: (end - begin) / size, ..rows.row };
            // SAFETY: a part of the row, as the caller promised.
            unsafe { kernel::word_row::<W, false>(from, to.add(begin), words) };
        }
        for at in (head..tail).step_by(16) {
            // SAFETY: within the row, and aligned.
            unsafe { _mm_stream_si128(to.add(at).cast(), vector) };
        }
    });
    // SAFETY: every x86-64 has it.
    unsafe { _mm_sfence() };
}
