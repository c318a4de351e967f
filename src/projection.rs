//! One dimension: which chunks a slice touches, and which of their elements.
//!
//! Of a dimension of `D` elements in chunks of `C`, a slice selects the elements `s + k*t` for `k` in `0..n`; the last one
//! is `L = s + (n-1)*t`, less than `D`. Chunk `c` begins at `base = c*C`, and the `k` that land in it are
//!
//! ```text
//! k0 = max(0, ceil((base - s) / t))        k1 = min(n - 1, floor((base + C - 1 - s) / t))
//! ```
//!
//! - `t <= C`: no chunk from `s/C` to `L/C` is left out, so there are `L/C - s/C + 1` projections and the p-th is that of
//!   chunk `s/C + p`.
//! - `t > C`: no two elements share a chunk, so there are `n` projections and the p-th holds the one element `s + p*t`.
//!
//! Either way the p-th projection is found at once, and chunks that are not touched cost nothing.

use crate::hyperslab::Slice;
use crate::variable::Dimension;

/// What a slice selects of one chunk, along one dimension. All lengths and positions are in elements.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Projection {
    /// Which chunk, counted along the dimension. Signed, because a dimension that grew at its front has chunks below 0.
    pub chunk_index: isize,
    /// Where the chunk begins along the dimension: chunk_index * chunklen.
    pub offset: isize,
    /// The first selected element, counted from the beginning of the chunk.
    pub first: usize,
    /// The last selected element, counted from the beginning of the chunk.
    pub last: usize,
    /// How much of the chunk lies inside the dimension: chunklen, or less in the last chunk.
    pub limit: usize,
    /// Where the first selected element goes in memory, along this dimension.
    pub iopos: usize,
    /// How many elements are selected: first, first + stride, ... last.
    pub iocount: usize,
}

impl Projection {
    /// Whether every element of the chunk that lies inside the dimension is selected.
    pub fn is_covered(&self) -> bool {
        self.iocount == self.limit
    }
}

/// The projections of one slice onto the chunks it touches, in ascending order: a list that is computed, not stored.
#[derive(Debug, Clone, Copy)]
pub struct Projections {
    dimension: Dimension,
    slice: Slice,
    first_chunk: usize,
    len: usize,
}

impl Projections {
    /// The projections of a slice that was checked against the dimension.
    pub fn new(dimension: Dimension, slice: Slice) -> Self {
        let chunklen = dimension.chunklen();
        let first_chunk = slice.start() / chunklen;
        let len = match slice.last() {
            None => 0,
            Some(last) if slice.stride() <= chunklen => last / chunklen - first_chunk + 1,
            Some(_) => slice.count(),
        };
        Projections { dimension, slice, first_chunk, len }
    }

    /// How many chunks are touched.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The dimension these are projections onto the chunks of.
    pub fn dimension(&self) -> Dimension {
        self.dimension
    }

    /// The slice these are the projections of.
    pub fn slice(&self) -> Slice {
        self.slice
    }

    /// The p-th projection, or `None` beyond the last.
    #[inline]
    pub fn get(&self, p: usize) -> Option<Projection> {
        if p >= self.len {
            return None;
        }
        let (start, stride) = (self.slice.start(), self.slice.stride());
        let (len, chunklen) = (self.dimension.len(), self.dimension.chunklen());
        let (chunk, k0, k1);
        if stride <= chunklen {
            chunk = self.first_chunk + p;
            let base = chunk * chunklen;
            k0 = if base <= start { 0 } else { div_ceil(base - start, stride) };
            let end = base.saturating_add(chunklen - 1);
            k1 = (self.slice.count() - 1).min(div(end - start, stride));
        } else {
            chunk = (start + p * stride) / chunklen;
            k0 = p;
            k1 = p;
        }
        let base = chunk * chunklen;
        let first = start + k0 * stride - base;
        Some(Projection {
            chunk_index: chunk as isize,
            offset: base as isize,
            first,
            last: first + (k1 - k0) * stride,
            limit: chunklen.min(len - base),
            iopos: k0,
            iocount: k1 - k0 + 1,
        })
    }

    /// All projections, in order.
    pub fn iter(&self) -> impl Iterator<Item = Projection> + '_ {
        (0..self.len).map_while(|p| self.get(p))
    }
}

/// Division where the divisor is most often 1.
#[inline]
fn div(a: usize, b: usize) -> usize {
    if b == 1 { a } else { a / b }
}

#[inline]
fn div_ceil(a: usize, b: usize) -> usize {
    if b == 1 { a } else { a.div_ceil(b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn projections(len: usize, chunklen: usize, start: usize, count: usize, stride: isize) -> Projections {
        let dimension = Dimension::new(len, chunklen).unwrap();
        Projections::new(dimension, Slice::read(len, start, count, stride).unwrap())
    }

    #[test]
    fn a_dense_slice_touches_every_chunk_between_its_ends() {
        let all = projections(10, 4, 1, 3, 4);
        assert_eq!(all.len(), 3);
        let last = all.get(2).unwrap();
        assert_eq!(last, Projection { chunk_index: 2, offset: 8, first: 1, last: 1, limit: 2, iopos: 2, iocount: 1 });
        assert_eq!(all.get(3), None);
    }

    #[test]
    fn a_sparse_slice_touches_one_chunk_an_element() {
        let all = projections(1 << 62, 1, 0, 2, (1 << 62) - 1);
        assert_eq!(all.len(), 2);
        assert_eq!(all.get(1).unwrap().chunk_index, (1 << 62) - 1);
    }

    #[test]
    fn the_largest_sizes_do_not_overflow() {
        let len = 1 << 63;
        assert_eq!(projections(len, len, 0, len, 1).get(0).unwrap().iocount, len);
        assert_eq!(projections(len, usize::MAX, len - 1, 1, isize::MAX).get(0).unwrap().first, len - 1);
        assert_eq!(projections(len, 1, len - 1, 1, 1).get(0).unwrap().chunk_index, isize::MAX);
        let two = projections(len, 3, 0, 2, isize::MAX);
        assert_eq!(two.get(1).unwrap().offset, isize::MAX - isize::MAX % 3);
    }

    #[test]
    fn nothing_selected_touches_nothing() {
        assert_eq!(projections(10, 4, 10, 0, 1).len(), 0);
        assert_eq!(projections(0, 4, 0, 0, 1).len(), 0);
    }
}
