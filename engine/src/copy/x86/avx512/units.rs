//! Contiguous units: copied, or swapped word by word.

use std::arch::x86_64::*;

use super::vectors::{first_bytes, reversed_words};
use crate::copy::rows::{Kernel, LINE, Rows, Shape, Volume, Word};
use crate::copy::x86::cached::words_avx2;
use crate::copy::x86::lines::{self, Row, are_aligned, prefetch};
use crate::copy::x86::non_temporal::{copy_lines, has_whole_lines};

/// The kernel for such units, if there is one.
pub(super) fn choose(shape: &Shape<'_>) -> Option<Kernel> {
    if shape.volume.streams() && shape.unit >= LINE {
        return Some(copy_streaming);
    }
    let row = shape.row?;
    if shape.unit >= PREFETCHED && !shape.is_transposed {
        return Some(copy_prefetching::<2, true>);
    }
    if shape.unit >= PREFETCHED_IF_LARGE && shape.volume == Volume::Large && !shape.is_transposed {
        return Some(copy_prefetching::<8, false>);
    }
    match shape.unit {
        64 => return Some(copy_whole_lines::<1>),
        128 => return Some(copy_whole_lines::<2>),
        _ => {}
    }
    let size = shape.unit as isize;
    let is_contiguous = row.source == size && row.destination == size;
    if !shape.volume.streams() || !shape.swap || !is_contiguous || !has_whole_lines(shape) {
        return None;
    }
    match shape.unit {
        2 => Some(swap_streaming::<u16>),
        4 => Some(swap_streaming::<u32>),
        8 => Some(swap_streaming::<u64>),
        _ => None,
    }
}

/// Units of at least this length are copied with prefetching. For shorter ones it was measured to be slower.
const PREFETCHED: usize = 512;

/// And of a transfer that writes more than the nearest caches hold, units of at least this length.
const PREFETCHED_IF_LARGE: usize = 256;

/// Copies units of a few lines with ordinary stores, while lines of the unit so far ahead are prefetched, in the
/// destination or on both sides.
///
/// # Safety
/// See [`Kernel`]; a unit has at least `LINE` bytes, and the processor has the features.
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn copy_prefetching<const AHEAD: isize, const BOTH: bool>(
    source: *const u8,
    destination: *mut u8,
    unit: usize,
    rows: &Rows,
) {
    let next_source = rows.row.source.wrapping_mul(AHEAD);
    let next_destination = rows.row.destination.wrapping_mul(AHEAD);
    rows.for_each_unit(source, destination, |from, to| {
        let copy_line = |at: usize| {
            if BOTH {
                prefetch(from.wrapping_offset(next_source).wrapping_add(at));
            }
            prefetch(to.wrapping_offset(next_destination).wrapping_add(at));
            // SAFETY: `at` is at most `unit - LINE`, so the line lies within the unit, which is readable and writable.
            unsafe { _mm512_storeu_si512(to.add(at).cast(), _mm512_loadu_si512(from.add(at).cast())) };
        };
        (0..unit - LINE).step_by(LINE).for_each(copy_line);
        // The last line overlaps the one before unless the unit is a multiple.
        copy_line(unit - LINE);
    });
}

/// Copies units of so many lines with ordinary stores, one for each line: the processor has so many places only for
/// stores that wait.
///
/// # Safety
/// See [`Kernel`]; a unit has `LINES` times `LINE` bytes, and the processor has the features.
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn copy_whole_lines<const LINES: usize>(source: *const u8, destination: *mut u8, _: usize, rows: &Rows) {
    rows.for_each_unit(source, destination, |from, to| {
        for at in (0..LINES).map(|i| i * LINE) {
            // SAFETY: the line lies within the unit, which is readable and writable.
            unsafe { _mm512_storeu_si512(to.add(at).cast(), _mm512_loadu_si512(from.add(at).cast())) };
        }
    });
}

/// Copies units of a line or more with non-temporal stores.
///
/// # Safety
/// See [`Kernel`]; a unit has at least `LINE` bytes, and the processor has the features.
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn copy_streaming(source: *const u8, destination: *mut u8, unit: usize, rows: &Rows) {
    let write_line = |from: *const u8, to: *mut u8| {
        // SAFETY: `copy_lines` passes a line of a unit, which is readable and writable, and in the destination it is
        // a cache line, so it has the alignment that the store requires.
        unsafe { _mm512_stream_si512(to.cast(), _mm512_loadu_si512(from.cast())) };
    };
    let write_part = |from: *const u8, to: *mut u8, bytes: usize| {
        let mask = first_bytes(bytes);
        // SAFETY: `copy_lines` passes a part of a unit, and the mask leaves out all bytes after it.
        unsafe { _mm512_mask_storeu_epi8(to.cast(), mask, _mm512_maskz_loadu_epi8(mask, from.cast())) };
    };
    // SAFETY: the units are as the caller promises.
    unsafe { copy_lines(source, destination, unit, rows, write_line, write_part) };
}

/// Copies rows of contiguous words with non-temporal stores, the bytes of each word reversed.
///
/// # Safety
/// See [`Kernel`]; a unit is a `W`, words are contiguous on both sides, and the processor has the features.
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn swap_streaming<W: Word>(source: *const u8, destination: *mut u8, size: usize, rows: &Rows) {
    if !are_aligned(destination, rows, size) {
        // SAFETY: the kernel asks for nothing but what the caller promises; AVX-512 includes AVX2.
        return unsafe { words_avx2::<W, true>(source, destination, size, rows) };
    }
    let order = reversed_words(size_of::<W>());
    let write_line = |from: *const u8, to: *mut u8| {
        // SAFETY: `lines::write` passes a line of a row, which is readable and writable, and in the destination it is
        // a cache line, so it has the alignment that the store requires.
        unsafe { _mm512_stream_si512(to.cast(), _mm512_shuffle_epi8(_mm512_loadu_si512(from.cast()), order)) };
    };
    let write_part = |from: *const u8, to: *mut u8, bytes: usize| {
        let mask = first_bytes(bytes);
        // SAFETY: `lines::write` passes a part of a row, and the mask leaves out all bytes after it.
        unsafe {
            let words = _mm512_shuffle_epi8(_mm512_maskz_loadu_epi8(mask, from.cast()), order);
            _mm512_mask_storeu_epi8(to.cast(), mask, words);
        }
    };
    let row = Row { len: rows.row.count * size, stride: 1, word: size };
    // SAFETY: the rows are as the caller promises, and they begin at multiples of the word.
    unsafe { lines::write(source, destination, rows.along, row, write_line, write_part) };
}
