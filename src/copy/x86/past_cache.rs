//! Copies, swaps and fills past the cache: the lines that a store would fetch only to overwrite them are not fetched.

use std::arch::x86_64::*;

use super::lines::{self, Row};
use super::{are_words, has_avx512, words_avx2};
use crate::copy::kernel::{self, Kernel, Word};
use crate::copy::{Axis, LINE, Rows};

/// The kernel for such rows, if there is one.
#[inline]
pub(super) fn choose(unit: usize, swap: bool, row: Option<&Axis>) -> Option<Kernel> {
    if unit >= LINE {
        return Some(if has_avx512() { copy } else { copy_sse2 });
    }
    let (size, row) = (unit as isize, row?);
    if row.destination != size || unit.saturating_mul(row.count) < LINE {
        return None;
    }
    match (unit, swap) {
        (2, true) if row.source == size && has_avx512() => Some(swap_words::<u16>),
        (4, true) if row.source == size && has_avx512() => Some(swap_words::<u32>),
        (8, true) if row.source == size && has_avx512() => Some(swap_words::<u64>),
        (1, _) if row.source == 0 => Some(fill::<u8>),
        (2, false) if row.source == 0 => Some(fill::<u16>),
        (4, false) if row.source == 0 => Some(fill::<u32>),
        (8, false) if row.source == 0 => Some(fill::<u64>),
        _ => None,
    }
}

/// What [`choose`] gives for units on a processor without AVX-512; tests ask, because theirs may have it.
#[cfg(test)]
pub(in super::super) fn sse2(unit: usize) -> Option<Kernel> {
    (unit >= LINE && !cfg!(miri)).then_some(copy_sse2 as Kernel)
}

/// Units of up to so many whole lines are simply copied one after the other.
const FEW_LINES: usize = 4 * LINE;

/// The first bytes of a vector.
#[inline]
fn first_bytes(n: usize) -> u64 {
    if n >= LINE { u64::MAX } else { (1 << n) - 1 }
}

/// Units of a line and more.
///
/// # Safety
/// See [`Kernel`]; the processor has the features.
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn copy(source: *const u8, destination: *mut u8, unit: usize, rows: Rows) {
    // SAFETY: the row has room for the line, which is one of the memory's.
    let line =
        |from: *const u8, to: *mut u8| unsafe { _mm512_stream_si512(to.cast(), _mm512_loadu_si512(from.cast())) };
    let part = |from: *const u8, to: *mut u8, bytes: usize| {
        let mask = first_bytes(bytes);
        // SAFETY: the mask leaves out what lies beyond the row.
        unsafe { _mm512_mask_storeu_epi8(to.cast(), mask, _mm512_maskz_loadu_epi8(mask, from.cast())) };
    };
    // SAFETY: the caller's promise.
    unsafe { copy_lines(source, destination, unit, rows, line, part) };
}

/// [`copy`] for any x86-64.
///
/// # Safety
/// See [`Kernel`].
unsafe fn copy_sse2(source: *const u8, destination: *mut u8, unit: usize, rows: Rows) {
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

/// Whether every unit begins at the beginning of a line.
fn starts_lines(destination: *mut u8, rows: Rows) -> bool {
    let strides = rows.row.destination | rows.along.destination;
    (destination.addr() | strides as usize).is_multiple_of(LINE)
}

/// Contiguous rows of words, swapped on their way.
///
/// # Safety
/// See [`Kernel`]; words are contiguous on both sides, and the processor has the features.
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn swap_words<W: Word>(source: *const u8, destination: *mut u8, size: usize, rows: Rows) {
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
        let mask = first_bytes(bytes);
        // SAFETY: the mask leaves out what lies beyond the row.
        unsafe {
            let vector = _mm512_shuffle_epi8(_mm512_maskz_loadu_epi8(mask, from.cast()), order);
            _mm512_mask_storeu_epi8(to.cast(), mask, vector);
        }
    };
    let row = Row { len: rows.row.count * size, stride: 1, word: size };
    // SAFETY: the caller's promise; the rows begin between words.
    unsafe { lines::write(source, destination, rows.along, row, line, part) };
}

/// Rows of one word over and over.
///
/// # Safety
/// See [`Kernel`]; words are contiguous in the destination and one in the source.
unsafe fn fill<W: Word>(source: *const u8, destination: *mut u8, size: usize, rows: Rows) {
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
