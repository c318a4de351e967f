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
//!
//! In a dimension with an origin, element `i` lies at `lead + i`, counted from the beginning of the first chunk, where
//! `lead` is how much of that chunk lies before the dimension. All of the above holds with `lead + s` for `s`, and the
//! chunks so counted are the dimension's first chunk and those after it.

use crate::hyperslab::Slice;
use crate::variable::Dimension;

/// What a slice selects of one chunk, along one dimension. All lengths and positions are in elements.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Projection {
    /// Which chunk, counted along the dimension. Signed, because a dimension that grew at its front has chunks below 0.
    pub chunk_index: isize,
    /// Where the chunk begins, in the index space that the origin refers to: chunk_index * chunklen.
    pub offset: isize,
    /// The first selected element, counted from the beginning of the chunk.
    pub first: usize,
    /// The last selected element, counted from the beginning of the chunk.
    pub last: usize,
    /// Where the dimension ends, counted from the beginning of the chunk: chunklen, or less in the last chunk.
    pub limit: usize,
    /// Where the first selected element goes in memory, along this dimension.
    pub iopos: usize,
    /// How many elements are selected: first, first + stride, ... last.
    pub iocount: usize,
}

/// The projections of one slice onto the chunks it touches, in ascending order: a list that is computed, not stored.
#[derive(Debug, Clone, Copy)]
pub struct Projections {
    dimension: Dimension,
    slice: Slice,
    /// The slice's start, counted from the beginning of the dimension's first chunk.
    start: usize,
    /// The first touched chunk, counted from the dimension's first.
    first_chunk: usize,
    len: usize,
}

impl Projections {
    /// The projections of a slice that was checked against the dimension.
    pub fn new(dimension: Dimension, slice: Slice) -> Self {
        let (lead, chunklen) = (dimension.lead(), dimension.chunklen());
        let start = lead + slice.start();
        let first_chunk = start / chunklen;
        let len = match slice.last() {
            None => 0,
            Some(last) if slice.stride() <= chunklen => (lead + last) / chunklen - first_chunk + 1,
            Some(_) => slice.count(),
        };
        Projections { dimension, slice, start, first_chunk, len }
    }

    /// How many chunks are touched.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len == 0
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
        let (start, stride, chunklen) = (self.start, self.slice.stride(), self.dimension.chunklen());
        let (chunk, k0, k1);
        if stride <= chunklen {
            chunk = self.first_chunk + p;
            let base = chunk * chunklen;
            k0 = if base <= start { 0 } else { div_ceil(base - start, stride) };
            let last = base.saturating_add(chunklen - 1);
            k1 = (self.slice.count() - 1).min(div(last - start, stride));
        } else {
            chunk = (start + p * stride) / chunklen;
            k0 = p;
            k1 = p;
        }
        let base = chunk * chunklen;
        let first = start + k0 * stride - base;
        let chunk_index = self.dimension.first_chunk().wrapping_add_unsigned(chunk);
        Some(Projection {
            chunk_index,
            offset: chunk_index.wrapping_mul(chunklen as isize),
            first,
            last: first + (k1 - k0) * stride,
            limit: self.limit(base),
            iopos: k0,
            iocount: k1 - k0 + 1,
        })
    }

    /// The projection after this one, which is one of these and not the last.
    #[inline]
    pub(crate) fn after(&self, previous: &Projection) -> Projection {
        let (stride, chunklen) = (self.slice.stride(), self.dimension.chunklen());
        let iopos = previous.iopos + previous.iocount;
        // The next element, counted from the beginning of the next chunk.
        let beyond = previous.last + stride - chunklen;
        let (chunks, first, iocount);
        if stride <= chunklen {
            chunks = 1;
            first = beyond;
            iocount = (self.slice.count() - iopos).min(div(chunklen - 1 - first, stride) + 1);
        } else {
            chunks = 1 + beyond / chunklen;
            first = beyond % chunklen;
            iocount = 1;
        }
        let chunk_index = previous.chunk_index.wrapping_add_unsigned(chunks);
        Projection {
            chunk_index,
            offset: chunk_index.wrapping_mul(chunklen as isize),
            first,
            last: first + (iocount - 1) * stride,
            limit: self.limit(self.start + iopos * stride - first),
            iopos,
            iocount,
        }
    }

    /// Where the dimension ends, counted from the beginning of a chunk of it, which is counted as `start` is.
    #[inline]
    fn limit(&self, base: usize) -> usize {
        self.dimension.chunklen().min(self.dimension.lead() + self.dimension.len() - base)
    }

    /// Whether a projection of these covers its chunk: every element of the chunk that lies inside the dimension is
    /// selected.
    pub fn covers(&self, projection: &Projection) -> bool {
        projection.iocount == self.dimension.inside(projection.chunk_index)
    }

    /// How many of the chunks are covered.
    ///
    /// Between the first touched chunk and the last, a chunk lies inside the dimension as a whole, so it is covered if
    /// every element is selected: the stride is 1, or a chunk has one element.
    pub fn num_covered(&self) -> usize {
        let covers = |p| self.get(p).is_some_and(|projection| self.covers(&projection));
        let between =
            if self.slice.stride() == 1 || self.dimension.chunklen() == 1 { self.len.saturating_sub(2) } else { 0 };
        between + usize::from(covers(0)) + usize::from(self.len > 1 && covers(self.len - 1))
    }

    /// Whether the chunk with this index is among the touched ones.
    fn touches(&self, chunk_index: isize) -> bool {
        let Some(chunk) = chunk_index.checked_sub(self.dimension.first_chunk()).and_then(|c| usize::try_from(c).ok())
        else {
            return false;
        };
        let (stride, chunklen) = (self.slice.stride(), self.dimension.chunklen());
        if stride <= chunklen {
            return (self.first_chunk..self.first_chunk + self.len).contains(&chunk);
        }
        // The first selected element at or after the chunk's beginning: is it there, and in the chunk?
        let base = chunk.saturating_mul(chunklen);
        let k = base.saturating_sub(self.start).div_ceil(stride);
        k < self.len && (self.start + k * stride) / chunklen == chunk
    }

    /// Whether these and others of the same dimension touch a chunk in common. Goes through the shorter list.
    pub fn shares_chunk(&self, others: &Projections) -> bool {
        let (short, long) = if self.len <= others.len { (self, others) } else { (others, self) };
        if short.is_empty() {
            return false;
        }
        if short.slice.stride() <= short.dimension.chunklen() && long.slice.stride() <= long.dimension.chunklen() {
            return short.first_chunk < long.first_chunk + long.len && long.first_chunk < short.first_chunk + short.len;
        }
        short.iter().any(|projection| long.touches(projection.chunk_index))
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
        assert_eq!(two.after(&two.get(0).unwrap()), two.get(1).unwrap());
    }

    #[test]
    fn a_prepended_dimension_has_chunks_below_zero() {
        let dimension = Dimension::new(12, 4).unwrap().with_origin(-5).unwrap();
        let all = Projections::new(dimension, Slice::read(12, 0, 12, 1).unwrap());
        let seen: Vec<_> = all.iter().map(|p| (p.chunk_index, p.offset, p.first, p.last, p.limit, p.iopos)).collect();
        assert_eq!(seen, [(-2, -8, 3, 3, 4, 0), (-1, -4, 0, 3, 4, 1), (0, 0, 0, 3, 4, 5), (1, 4, 0, 2, 3, 9)]);
        assert!(all.iter().all(|projection| all.covers(&projection)));
        assert_eq!(all.num_covered(), 4);
    }

    #[test]
    fn lists_in_order_and_what_two_of_them_share() {
        let all = |chunklen: usize, origin: isize| -> Vec<Projections> {
            let dimension = Dimension::new(9, chunklen).unwrap().with_origin(origin).unwrap();
            let requests = (0..9).flat_map(|start| (0..5).flat_map(move |n| (1..7).map(move |t| (start, n, t))));
            requests
                .filter_map(|(start, count, stride)| Slice::read(9, start, count, stride).ok())
                .map(|slice| Projections::new(dimension, slice))
                .collect()
        };
        for (chunklen, origin) in [(1, 0), (2, 0), (3, -4), (4, 1)] {
            let step = if cfg!(miri) { 17 } else { 1 }; // Miri has little patience
            let all: Vec<Projections> = all(chunklen, origin).into_iter().step_by(step).collect();
            for one in &all {
                let each = (1..one.len()).map(|p| (one.get(p - 1).unwrap(), one.get(p).unwrap()));
                each.for_each(|(previous, next)| assert_eq!(one.after(&previous), next, "{one:?}"));
            }
            for (one, other) in all.iter().flat_map(|one| all.iter().map(move |other| (one, other))) {
                let expected = one.iter().any(|mine| other.iter().any(|theirs| mine.chunk_index == theirs.chunk_index));
                assert_eq!(one.shares_chunk(other), expected, "{one:?} and {other:?}");
            }
        }
    }

    #[test]
    fn nothing_selected_touches_nothing() {
        assert_eq!(projections(10, 4, 10, 0, 1).len(), 0);
        assert_eq!(projections(0, 4, 0, 0, 1).len(), 0);
    }
}
