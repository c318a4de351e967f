//! Kernels with instructions of this processor, chosen at run time.

mod gather;
mod lines;
mod past_cache;
mod transposed;

use std::arch::x86_64::*;

use super::kernel::{self, Kernel, Word};
use super::{Axis, LINE, Rows};
use lines::Row;
#[cfg(test)]
pub(super) use past_cache::sse2 as past_cache_sse2;

/// The kernel for such rows, if there is one better than the portable ones. With `stream`, what is written is too much for the
/// cache.
#[inline]
pub(super) fn choose(unit: usize, swap: bool, is_transposed: bool, row: Option<&Axis>, stream: bool) -> Option<Kernel> {
    // Miri does not know stores past the cache.
    let stream = stream && !cfg!(miri);
    let past_cache = || match is_transposed && unit < LINE {
        true => transposed::choose(unit, swap),
        false => past_cache::choose(unit, swap, row),
    };
    if stream && let Some(kernel) = past_cache() {
        return Some(kernel);
    }
    if is_transposed {
        return None;
    }
    let row = row?;
    gather::choose(unit, swap, row, stream).or_else(|| near(unit, swap, row))
}

/// The kernel for such rows that stores as usual, if there is one.
#[inline]
fn near(unit: usize, swap: bool, row: &Axis) -> Option<Kernel> {
    if unit >= NEAR_UNIT && !swap && has_avx512() {
        return Some(copy_near);
    }
    let size = unit as isize;
    let is_apart = row.destination == size && row.source % size == 0 && APART.contains(&(row.source / size));
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

/// Orders what was stored past the cache before all that is stored later.
#[inline]
pub(super) fn fence() {
    // Nothing is stored so under Miri.
    if !cfg!(miri) {
        // SAFETY: every x86-64 has it.
        unsafe { _mm_sfence() };
    }
}

/// How many words apart they are to be copied so: closer ones are gathered, and of those further apart each has a line.
const APART: std::ops::RangeInclusive<isize> = 5..=16;

/// Words further apart, in rows on pages of their own. From memory it was measured to be 1.2 times as fast as row by row.
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
            let next = from.wrapping_offset(rows.row.source.wrapping_mul(NEXT)).wrapping_add(at);
            let next_to = to.wrapping_offset(rows.row.destination.wrapping_mul(NEXT)).wrapping_add(at);
            _mm_prefetch::<_MM_HINT_T0>(next.cast());
            _mm_prefetch::<_MM_HINT_T0>(next_to.cast());
            // SAFETY: within the unit.
            unsafe { _mm512_storeu_si512(to.add(at).cast(), _mm512_loadu_si512(from.add(at).cast())) };
        };
        (0..unit - LINE).step_by(LINE).for_each(copy_line);
        copy_line(unit - LINE);
    });
}
