//! Masks and orders of bytes for 64-byte vectors.

use std::arch::x86_64::*;

use crate::copy::rows::LINE;

/// The mask of the first `n` bytes of a vector; of all if there are fewer.
#[inline(always)]
pub(super) fn first_bytes(n: usize) -> u64 {
    if n >= LINE { u64::MAX } else { (1 << n) - 1 }
}

/// The order of bytes that reverses every word of `size` bytes, for [`_mm512_shuffle_epi8`]: for each byte of a
/// 16-byte lane, the byte of the lane that it is copied from. For words of 4 bytes: 3 2 1 0 7 6 5 4 11 10 9 8 15 14
/// 13 12.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn reversed_words(size: usize) -> __m512i {
    let lane: [u8; 16] = std::array::from_fn(|i| (i / size * size + size - 1 - i % size) as u8);
    // SAFETY: the array has the 16 bytes that are loaded.
    _mm512_broadcast_i32x4(unsafe { _mm_loadu_si128(lane.as_ptr().cast()) })
}
