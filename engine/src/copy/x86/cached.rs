//! Kernels with ordinary stores, which leave in the cache what they write.

use super::lines::{self, Row, are_aligned};
use crate::copy::portable;
use crate::copy::rows::{Kernel, LINE, Rows, Shape, Word, maybe_swapped};

/// The kernel for such rows, if there is one.
pub(super) fn choose(shape: &Shape<'_>) -> Option<Kernel> {
    let row = shape.row?;
    if shape.is_transposed {
        return None;
    }
    let size = shape.unit as isize;
    let is_dense = row.destination == size;
    let is_distant = is_dense && row.source % size == 0 && DISTANT.contains(&(row.source / size));
    if is_distant && !cfg!(miri) {
        match (shape.unit, shape.swap) {
            (4, false) => return Some(distant_words::<u32, false>),
            (4, true) => return Some(distant_words::<u32, true>),
            (8, false) => return Some(distant_words::<u64, false>),
            (8, true) => return Some(distant_words::<u64, true>),
            _ => {}
        }
    }
    if !is_x86_feature_detected!("avx2") {
        return None;
    }
    match (shape.unit, shape.swap) {
        (32, _) => Some(words_avx2::<[u8; 32], false>),
        (64, _) => Some(words_avx2::<[u8; 64], false>),
        (128, _) => Some(words_avx2::<[u8; 128], false>),
        _ if !is_dense => None,
        (1, _) => Some(words_avx2::<u8, false>),
        (2, false) => Some(words_avx2::<u16, false>),
        (2, true) => Some(words_avx2::<u16, true>),
        (4, false) => Some(words_avx2::<u32, false>),
        (8, false) => Some(words_avx2::<u64, false>),
        (4, true) => Some(words_avx2::<u32, true>),
        (8, true) => Some(words_avx2::<u64, true>),
        _ => None,
    }
}

/// The portable kernel, compiled for AVX2.
///
/// # Safety
/// See [`Kernel`]; a unit is a `W`, and the processor has the feature.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn words_avx2<W: Word, const SWAP: bool>(
    source: *const u8,
    destination: *mut u8,
    unit: usize,
    rows: &Rows,
) {
    // SAFETY: the portable kernel asks for nothing but what the caller promises.
    unsafe { portable::words::<W, SWAP>(source, destination, unit, rows) };
}

/// The distances, in words of the source, at which [`distant_words`] is used. Closer words are gathered by
/// permutations; more distant ones have a cache line each.
const DISTANT: std::ops::RangeInclusive<isize> = 5..=16;

/// Copies words one by one, in four rows at once if these lie on different pages. From memory this was measured to be
/// 1.2 times as fast as row after row.
///
/// # Safety
/// See [`Kernel`]; a unit is a `W`, words are contiguous in the destination, and their distance in the source is a
/// multiple of their size.
unsafe fn distant_words<W: Word, const SWAP: bool>(source: *const u8, destination: *mut u8, size: usize, rows: &Rows) {
    let row = Row { len: rows.row.count * size, stride: rows.row.source as usize / size, word: size };
    if !are_aligned(destination, rows, size) || !row.can_interleave(rows.along) {
        // SAFETY: the portable kernel asks for nothing but what the caller promises.
        return unsafe { portable::words::<W, SWAP>(source, destination, size, rows) };
    }
    let copy = |from: *const u8, to: *mut u8, bytes: usize| {
        for i in 0..bytes / size_of::<W>() {
            // SAFETY: `lines::write` asks for no more than a row has, so these are words of the row, of which the
            // caller promises that they are readable and writable. No alignment is assumed.
            unsafe {
                let word = from.cast::<W>().wrapping_add(i * row.stride).read_unaligned();
                to.cast::<W>().add(i).write_unaligned(maybe_swapped::<W, SWAP>(word));
            }
        }
    };
    // SAFETY: the rows are as the caller promises, and they begin at multiples of the word.
    unsafe { lines::write(source, destination, rows.along, row, |from, to| copy(from, to, LINE), copy) };
}
