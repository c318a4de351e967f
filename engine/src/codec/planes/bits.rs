//! Bit planes: what the bitshuffle library makes, and blosc with it.
//!
//! Of `count` elements of `size` bytes, a multiple of 8 of them, bit `b` of byte `k` of element `i` is stored as bit
//! `i % 8` of byte `(8 * k + b) * (count / 8) + i / 8`. Seen differently, for each `k` there are 8 byte planes of words
//! of 8 bytes, and each word is a square of 8 x 8 bits that has to be transposed. So the kernels for byte planes do
//! most of the work, and squares are transposed as in Warren, Hacker's Delight, 2nd edition, section 7-3.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

use super::bytes;

/// Words that are worked on at a time: those of 8 elements each that fit the nearest cache.
const WORDS: usize = 128;

/// Elements above this size are gathered byte by byte.
const LARGEST: usize = 16;

/// Transposes 8 x 8 bits: bit `j` of byte `i` becomes bit `i` of byte `j`.
#[inline(always)]
fn transposed(mut square: u64) -> u64 {
    let mut swap = (square ^ (square >> 7)) & 0x00AA_00AA_00AA_00AA;
    square ^= swap ^ (swap << 7);
    swap = (square ^ (square >> 14)) & 0x0000_CCCC_0000_CCCC;
    square ^= swap ^ (swap << 14);
    swap = (square ^ (square >> 28)) & 0x0000_0000_F0F0_F0F0;
    square ^ swap ^ (swap << 28)
}

/// Transposes the bits of each word of 8 bytes.
fn transpose(words: &mut [u8]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        unsafe { transpose_avx2(words) };
        return;
    }
    transpose_any(words);
}

/// `transpose_any` with AVX2.
///
/// # Safety
/// The processor has AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn transpose_avx2(words: &mut [u8]) {
    transpose_any(words);
}

#[inline(always)]
fn transpose_any(words: &mut [u8]) {
    for word in words.chunks_exact_mut(8) {
        if let Some(word) = word.first_chunk_mut() {
            *word = transposed(u64::from_le_bytes(*word)).to_le_bytes();
        }
    }
}

/// Gathers all elements from their bit planes. Returns `false` if `planes` does not hold a multiple of 8 elements, or
/// `to` has another length. If it returns `true`, all of `to` is written.
#[must_use]
pub(in crate::codec) fn gather(size: usize, planes: &[u8], to: &mut [MaybeUninit<u8>]) -> bool {
    if size == 0 || planes.len() % (8 * size) != 0 || planes.len() != to.len() {
        return false;
    }
    // Bytes of a bit plane, which is also how many words there are.
    let row = planes.len() / (8 * size);
    let mut tile = [0; 8 * WORDS * LARGEST];
    for first in (0..row).step_by(WORDS) {
        let words = WORDS.min(row - first);
        let elements = 8 * words;
        let to = &mut to[8 * first * size..][..elements * size];
        for k in 0..size {
            let rows = &planes[8 * k * row..][..8 * row];
            let plane = &mut tile[k % LARGEST * elements..][..elements];
            if !bytes::gather(8, rows, row, first..first + words, as_uninit(plane)) {
                return false;
            }
            transpose(plane);
            if size > LARGEST {
                to[k..].iter_mut().step_by(size).zip(&*plane).for_each(|(to, byte)| {
                    to.write(*byte);
                });
            }
        }
        if size <= LARGEST && !bytes::gather(size, &tile[..elements * size], elements, 0..elements, to) {
            return false;
        }
    }
    true
}

/// Scatters all elements to their bit planes. Returns `false` if `from` does not hold a multiple of 8 elements, or `to`
/// has another length. If it returns `true`, all of `to` is written.
#[must_use]
pub(in crate::codec) fn scatter(size: usize, from: &[u8], to: &mut [MaybeUninit<u8>]) -> bool {
    if size == 0 || from.len() % (8 * size) != 0 || from.len() != to.len() {
        return false;
    }
    let row = from.len() / (8 * size);
    let (mut words_of_plane, mut rows) = ([0; 8 * WORDS], [0; 8 * WORDS]);
    for first in (0..row).step_by(WORDS) {
        let words = WORDS.min(row - first);
        let from = &from[8 * first * size..][..8 * words * size];
        for k in 0..size {
            let plane = &mut words_of_plane[..8 * words];
            plane.iter_mut().zip(from[k..].iter().step_by(size)).for_each(|(to, byte)| *to = *byte);
            transpose(plane);
            if !bytes::scatter(8, plane, as_uninit(&mut rows[..8 * words])) {
                return false;
            }
            for (b, part) in rows[..8 * words].chunks_exact(words).enumerate() {
                bytes::copy(part, &mut to[(8 * k + b) * row + first..][..words]);
            }
        }
    }
    true
}

/// Memory to be written to by functions that write only initialised bytes.
fn as_uninit(bytes: &mut [u8]) -> &mut [MaybeUninit<u8>] {
    // SAFETY: the functions of `bytes`, for which this is, write nothing but bytes.
    unsafe { crate::alloc::as_uninit(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_where_the_format_says_and_come_back() {
        let sizes: &[usize] = if cfg!(miri) { &[1, 4, 17] } else { &[1, 2, 3, 4, 8, 16, 17, 255] };
        let counts: &[usize] = if cfg!(miri) { &[0, 72] } else { &[0, 8, 16, 72, 1024, 1032, 2080] };
        for &size in sizes {
            for &count in counts {
                let elements: Vec<u8> =
                    (0..size * count).map(|i| ((i as u32).wrapping_mul(2_654_435_761) >> 13) as u8).collect();
                let mut planes = vec![0; elements.len()];
                assert!(scatter(size, &elements, as_uninit(&mut planes)));
                for i in 0..count {
                    for bit in 0..8 * size {
                        let stored = planes[bit * (count / 8) + i / 8] >> (i % 8) & 1;
                        assert_eq!(stored, elements[i * size + bit / 8] >> (bit % 8) & 1, "{size} {count} {i} {bit}");
                    }
                }
                let mut back = vec![0; elements.len()];
                assert!(gather(size, &planes, as_uninit(&mut back)));
                assert!(back == elements, "{size} {count}");
            }
        }
        assert!(!gather(2, &[0; 24], as_uninit(&mut [0; 24])) && !scatter(2, &[0; 24], as_uninit(&mut [0; 24])));
    }
}
