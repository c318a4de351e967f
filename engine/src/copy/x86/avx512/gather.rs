//! Gathers words that are 2 to 4 words apart, by permutations.
//!
//! A vector of results is taken from as many vectors of the source as the words are apart (the stride). The lanes of
//! a vector are its words. Lane `i` of the result is word `i * stride` of the source, which is lane `i * stride %
//! LANES` of vector `i * stride / LANES`. For words of 8 bytes, of which a vector has 8, and stride 3:
//!
//! ```text
//! lane of the result       0   1   2   3   4   5   6   7
//! word of the source       0   3   6   9  12  15  18  21
//! vector of the source     0   0   0   1   1   1   2   2
//! lane in that vector      0   3   6   1   4   7   2   5    the permutation
//!
//! mask of vector 0         x   x   x
//! mask of vector 1                     x   x   x
//! mask of vector 2                                 x   x
//! ```
//!
//! The same permutation serves for all vectors. Each vector is permuted, and its mask merges those lanes into the
//! result that are its own. Words before and after the row are never touched: loads and stores at its end are masked.

use std::arch::x86_64::*;
use std::marker::PhantomData;

use super::vectors::{first_bytes, reversed_words};
use crate::copy::rows::{Kernel, LINE, Rows, Shape, Word};
use crate::copy::x86::lines::{self, Row, are_aligned};
use crate::copy::x86::non_temporal::has_whole_lines;

/// The largest stride, in words.
const MAX_STRIDE: usize = 4;

/// The largest distance, in bytes, at which the gather was measured to be faster (1.4 to 2.5 times) than loads word
/// by word if source and destination are in the cache.
const MAX_CACHED_DISTANCE: isize = 8;

/// The instance of a kernel for a stride.
macro_rules! of_stride {
    ($kernel:ident::<$word:ty, $swap:literal>, $stride:expr) => {
        match $stride {
            2 => Some($kernel::<$word, 2, $swap>),
            3 => Some($kernel::<$word, 3, $swap>),
            4 => Some($kernel::<$word, 4, $swap>),
            _ => None,
        }
    };
}

/// The kernel for such rows, if there is one.
pub(super) fn choose(shape: &Shape<'_>) -> Option<Kernel> {
    let row = shape.row?;
    let size = shape.unit as isize;
    let is_gather = row.destination == size && row.source > size && row.source % size == 0;
    let furthest = if shape.volume.streams() { MAX_STRIDE as isize * size } else { MAX_CACHED_DISTANCE };
    if shape.is_transposed || !is_gather || row.source > furthest || row.count < 4 {
        return None;
    }
    let stride = (row.source / size) as usize;
    match (shape.unit, shape.swap, shape.volume.streams() && has_whole_lines(shape)) {
        (2, false, false) => of_stride!(gather::<u16, false>, stride),
        (2, true, false) => of_stride!(gather::<u16, true>, stride),
        (4, false, false) => of_stride!(gather::<u32, false>, stride),
        (4, true, false) => of_stride!(gather::<u32, true>, stride),
        (2, false, true) => of_stride!(gather_streaming::<u16, false>, stride),
        (2, true, true) => of_stride!(gather_streaming::<u16, true>, stride),
        (4, false, true) => of_stride!(gather_streaming::<u32, false>, stride),
        (4, true, true) => of_stride!(gather_streaming::<u32, true>, stride),
        (8, false, true) => of_stride!(gather_streaming::<u64, false>, stride),
        (8, true, true) => of_stride!(gather_streaming::<u64, true>, stride),
        _ => None,
    }
}

/// How words of one size and stride are gathered.
struct Table {
    /// For each lane of the result, the lane of the source that it is copied from: little-endian words.
    permutation: [u8; LINE],
    /// For each vector of the source, the lanes of the result that come from it.
    masks: [u32; MAX_STRIDE],
}

/// The table for words of `size` bytes.
const fn table(size: usize, stride: usize) -> Table {
    let mut table = Table { permutation: [0; LINE], masks: [0; MAX_STRIDE] };
    let lanes = LINE / size;
    let mut i = 0;
    while i < lanes {
        // No vector has more than 32 lanes, so the index of a lane is a byte.
        table.permutation[i * size] = (i * stride % lanes) as u8;
        table.masks[i * stride / lanes] |= 1 << i;
        i += 1;
    }
    table
}

/// A word that is a lane of a vector.
trait Lane: Word {
    /// Copies to the lanes of `result` that are in the mask the lanes of `vector` that the permutation has there.
    ///
    /// # Safety
    /// The processor has AVX-512F and AVX-512BW.
    unsafe fn merge(result: __m512i, mask: u32, permutation: __m512i, vector: __m512i) -> __m512i;
}

macro_rules! lanes {
    ($($word:ty, $permute:ident;)*) => {
        $(impl Lane for $word {
            #[inline(always)]
            unsafe fn merge(result: __m512i, mask: u32, permutation: __m512i, vector: __m512i) -> __m512i {
                // SAFETY: the caller promises the features.
                unsafe { $permute(result, mask as _, permutation, vector) }
            }
        })*
    };
}

lanes! {
    u16, _mm512_mask_permutexvar_epi16;
    u32, _mm512_mask_permutexvar_epi32;
    u64, _mm512_mask_permutexvar_epi64;
}

/// The gather of words that are `STRIDE` words apart, with the constants in registers.
struct Gather<W: Lane, const STRIDE: usize, const SWAP: bool> {
    permutation: __m512i,
    /// The order of bytes if words are swapped.
    order: __m512i,
    word: PhantomData<W>,
}

impl<W: Lane, const STRIDE: usize, const SWAP: bool> Gather<W, STRIDE, SWAP> {
    const TABLE: Table = table(size_of::<W>(), STRIDE);

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn new() -> Self {
        // SAFETY: the array has the size of a vector.
        let permutation = unsafe { _mm512_loadu_si512(Self::TABLE.permutation.as_ptr().cast()) };
        Gather { permutation, order: reversed_words(size_of::<W>()), word: PhantomData }
    }

    /// Gathers a whole vector.
    ///
    /// # Safety
    /// `STRIDE` vectors are readable at `from`. This is so if one more word of the row follows those that are gathered.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn line(&self, from: *const u8) -> __m512i {
        let mut result = _mm512_setzero_si512();
        for v in 0..STRIDE {
            // SAFETY: the vectors are readable as the caller promises, and this function is compiled for the features.
            unsafe {
                let vector = _mm512_loadu_si512(from.add(v * LINE).cast());
                result = W::merge(result, Self::TABLE.masks[v], self.permutation, vector);
            }
        }
        self.swapped(result)
    }

    /// Gathers a part of a vector, from the bytes of the source that the masks have.
    ///
    /// # Safety
    /// These bytes are readable.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn part(&self, from: *const u8, load_masks: [u64; STRIDE]) -> __m512i {
        let mut result = _mm512_setzero_si512();
        for (v, load_mask) in load_masks.into_iter().enumerate() {
            // A load with an empty mask does not fault, but it is slow where no memory is mapped.
            if load_mask != 0 {
                // SAFETY: the mask leaves out what is not readable, and this function is compiled for the features.
                unsafe {
                    let vector = _mm512_maskz_loadu_epi8(load_mask, from.wrapping_add(v * LINE).cast());
                    result = W::merge(result, Self::TABLE.masks[v], self.permutation, vector);
                }
            }
        }
        self.swapped(result)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn swapped(&self, words: __m512i) -> __m512i {
        if SWAP { _mm512_shuffle_epi8(words, self.order) } else { words }
    }

    /// For each vector of the source, the mask of the bytes that are needed for so many bytes of results: up to the
    /// end of the last word.
    #[inline]
    fn load_masks(bytes: usize) -> [u64; STRIDE] {
        let span = (bytes - size_of::<W>()) * STRIDE + size_of::<W>();
        std::array::from_fn(|v| first_bytes(span.saturating_sub(v * LINE)))
    }
}

/// Gathers with ordinary stores.
///
/// # Safety
/// See [`Kernel`]; a unit is a `W`, words are contiguous in the destination and `STRIDE` words apart in the source,
/// and the processor has the features.
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn gather<W: Lane, const STRIDE: usize, const SWAP: bool>(
    source: *const u8,
    destination: *mut u8,
    size: usize,
    rows: &Rows,
) {
    let gather = Gather::<W, STRIDE, SWAP>::new();
    // All vectors but the last, which may be a part of one, are followed by another word.
    let len = rows.row.count * size;
    let lines = (len - size) / LINE;
    let rest = len - lines * LINE;
    let (load_masks, store_mask) = (Gather::<W, STRIDE, SWAP>::load_masks(rest), first_bytes(rest));
    rows.for_each_row(source, destination, |mut from, mut to| {
        for _ in 0..lines {
            // SAFETY: these are words of the row, and another one follows; in the destination there is room for them.
            unsafe { _mm512_storeu_si512(to.cast(), gather.line(from)) };
            from = from.wrapping_add(LINE * STRIDE);
            to = to.wrapping_add(LINE);
        }
        // SAFETY: these are the last words of the row, and the masks leave out what lies beyond them.
        unsafe { _mm512_mask_storeu_epi8(to.cast(), store_mask, gather.part(from, load_masks)) };
    });
}

/// Gathers with non-temporal stores.
///
/// # Safety
/// As for [`gather`].
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn gather_streaming<W: Lane, const STRIDE: usize, const SWAP: bool>(
    source: *const u8,
    destination: *mut u8,
    size: usize,
    rows: &Rows,
) {
    if !are_aligned(destination, rows, size) {
        // SAFETY: the kernel asks for nothing but what the caller promises.
        return unsafe { gather::<W, STRIDE, SWAP>(source, destination, size, rows) };
    }
    let gather = Gather::<W, STRIDE, SWAP>::new();
    let write_line = |from: *const u8, to: *mut u8| {
        // SAFETY: `lines::write` passes words of a row that are followed by another one. In the destination they are
        // a cache line, which is writable and has the alignment that the store requires.
        unsafe { _mm512_stream_si512(to.cast(), gather.line(from)) };
    };
    let write_part = |from: *const u8, to: *mut u8, bytes: usize| {
        // SAFETY: `lines::write` passes words of a row, and the masks leave out what lies beyond them. The tail of a
        // row may be `LINE` bytes; it then begins with a cache line and has the alignment that the store requires.
        unsafe {
            let result = gather.part(from, Gather::<W, STRIDE, SWAP>::load_masks(bytes));
            if bytes == LINE {
                _mm512_stream_si512(to.cast(), result);
            } else {
                _mm512_mask_storeu_epi8(to.cast(), first_bytes(bytes), result);
            }
        }
    };
    let row = Row { len: rows.row.count * size, stride: STRIDE, word: size };
    // SAFETY: the rows are as the caller promises, and they begin at multiples of the word.
    unsafe { lines::write(source, destination, rows.along, row, write_line, write_part) };
}
