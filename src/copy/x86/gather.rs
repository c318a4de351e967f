//! Gathers by permutation of vectors.

use std::arch::x86_64::*;

use super::lines::{self, Row};
use super::{are_words, has_avx512};
use crate::copy::kernel::Kernel;
use crate::copy::{Axis, LINE, Rows};

/// The kernel for such rows, if there is one.
#[inline]
pub(super) fn choose(unit: usize, swap: bool, row: &Axis, stream: bool) -> Option<Kernel> {
    let size = unit as isize;
    let is_gather = row.destination == size && row.source > size && row.source % size == 0;
    // In the cache the permutation was measured to be 1.4 to 2.5 times as fast as loading word by word, up to this distance.
    let furthest = if stream { 4 * size } else { 8 };
    if !is_gather || row.source > furthest || row.count < 4 || !has_avx512() {
        return None;
    }
    match (unit, swap, stream && unit.saturating_mul(row.count) >= LINE) {
        (2, false, false) => Some(gather16::near::<false>),
        (2, true, false) => Some(gather16::near::<true>),
        (4, false, false) => Some(gather32::near::<false>),
        (4, true, false) => Some(gather32::near::<true>),
        (2, false, true) => Some(gather16::past_cache::<false>),
        (2, true, true) => Some(gather16::past_cache::<true>),
        (4, false, true) => Some(gather32::past_cache::<false>),
        (4, true, true) => Some(gather32::past_cache::<true>),
        (8, false, true) => Some(gather64::past_cache::<false>),
        (8, true, true) => Some(gather64::past_cache::<true>),
        _ => None,
    }
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
                        // SAFETY: a word follows the line, so its vectors lie within the row; what is between words is dropped.
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
