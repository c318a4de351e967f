//! The request: `(start, count, stride)`, checked against the dimensions once, here and nowhere else.
//!
//! Element `k` along a dimension is `start + k*stride`, for `k` in `0..count`. The last one is `start + (count-1)*stride`;
//! `start + count*stride` bounds nothing and is never computed.
//!
//! The checks and their order are netCDF's: every stride first, then start and end, dimension by dimension.

use crate::error::{Error, ErrorKind, Result};
use crate::variable::Dimension;

/// What a hyperslab is for. netCDF checks writes a little less than reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reading.
    Read,
    /// Writing: when any count is 0, the far end of no dimension is checked.
    Write,
}

/// One dimension of a hyperslab, known to fit its dimension: elements in ascending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    start: usize,
    count: usize,
    stride: usize,
    descends: bool,
}

impl Slice {
    /// A slice to read from a dimension of `dimlen` elements.
    pub fn read(dimlen: usize, start: usize, count: usize, stride: isize) -> Result<Self> {
        if stride < 1 {
            return Err(ErrorKind::Stride(stride).into());
        }
        Slice::check(dimlen, start, count, stride, true)?;
        Ok(Slice::fitting(start, count, stride))
    }

    /// Start and, if asked for, end against the dimension; the stride is not 0.
    #[inline]
    fn check(dimlen: usize, start: usize, count: usize, stride: isize, check_edge: bool) -> Result<()> {
        if start > dimlen || (start == dimlen && count > 0) {
            return Err(ErrorKind::Start { start, dimlen }.into());
        }
        if check_edge && count > 1 {
            let other_end = match (count - 1).checked_mul(stride.unsigned_abs()) {
                None => None,
                Some(reach) if stride < 0 => start.checked_sub(reach),
                Some(reach) => start.checked_add(reach).filter(|&last| last < dimlen),
            };
            if other_end.is_none() {
                return Err(ErrorKind::Edge { start, count, stride, dimlen }.into());
            }
        }
        Ok(())
    }

    /// A slice that is known to fit.
    #[inline]
    fn fitting(start: usize, count: usize, stride: isize) -> Self {
        let (step, descends) = (stride.unsigned_abs(), stride < 0);
        let start = if descends { start - count.saturating_sub(1) * step } else { start };
        Slice { start, count, stride: step, descends }
    }

    /// The first element, if any is selected.
    pub fn start(&self) -> usize {
        self.start
    }

    /// How many elements are selected.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The distance between selected elements, at least 1.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// Whether the request has these elements in descending order.
    pub fn descends(&self) -> bool {
        self.descends
    }

    /// The last selected element, or `None` if none is.
    pub fn last(&self) -> Option<usize> {
        Some(self.start + self.count.checked_sub(1)? * self.stride)
    }
}

/// A request as it is made, not checked yet: each part, where given, has one entry per dimension. A scalar (no dimensions)
/// needs none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hyperslab<'a> {
    /// The first element along each dimension. Only a scalar has none.
    pub start: Option<&'a [usize]>,
    /// How many elements. Left out, it is the whole dimension, whatever the start.
    pub count: Option<&'a [usize]>,
    /// The step from one element to the next. Left out, it is 1 everywhere.
    pub stride: Option<&'a [isize]>,
    /// Whether strides may be negative, for elements in descending order.
    pub both_ways: bool,
}

impl<'a> Hyperslab<'a> {
    /// Checks the request as `nc_get_vars` and `nc_put_vars` do.
    ///
    /// # Errors
    /// `NoStart`; with their dimension `Stride`, for 0 and, unless both ways are allowed, below; `Start` and `Edge`.
    #[inline(always)]
    pub(crate) fn check(&self, dimensions: &'a [Dimension], access: Access) -> Result<Selection<'a>> {
        let rank = dimensions.len();
        if rank == 0 {
            return Ok(Selection { dimensions, start: &[], count: None, stride: None, is_nothing: false });
        }
        let start = self.start.ok_or(ErrorKind::NoStart)?;
        if [start.len(), self.count.map_or(rank, <[_]>::len), self.stride.map_or(rank, <[_]>::len)] != [rank; 3] {
            return Err(ErrorKind::Argument("start, count and stride need one entry per dimension").into());
        }
        let mut selection = Selection { dimensions, start, count: self.count, stride: self.stride, is_nothing: false };
        for (d, &stride) in self.stride.unwrap_or_default().iter().enumerate() {
            if stride == 0 || (stride < 0 && !self.both_ways) {
                return Err(Error::from(ErrorKind::Stride(stride)).in_dimension(d));
            }
        }
        if access == Access::Write {
            selection.is_nothing = (0..rank).any(|d| selection.count(d) == 0);
        }
        for d in 0..rank {
            let (count, stride, check_edge) = (selection.count(d), selection.stride(d), !selection.is_nothing);
            if let Err(error) = Slice::check(dimensions[d].len(), start[d], count, stride, check_edge) {
                return Err(error.in_dimension(d));
            }
        }
        Ok(selection)
    }
}

/// A hyperslab that was checked against these dimensions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Selection<'a> {
    dimensions: &'a [Dimension],
    start: &'a [usize],
    count: Option<&'a [usize]>,
    stride: Option<&'a [isize]>,
    /// Whether a count is 0 and edges were not checked.
    is_nothing: bool,
}

impl<'a> Selection<'a> {
    #[inline]
    fn count(&self, d: usize) -> usize {
        self.count.map_or(self.dimensions[d].len(), |count| count[d])
    }

    #[inline]
    fn stride(&self, d: usize) -> isize {
        self.stride.map_or(1, |stride| stride[d])
    }

    /// Each dimension and the slice of it.
    #[inline]
    pub(crate) fn slices(self) -> impl ExactSizeIterator<Item = (&'a Dimension, Slice)> {
        self.dimensions.iter().enumerate().map(move |(d, dimension)| {
            let count = if self.is_nothing { 0 } else { self.count(d) };
            (dimension, Slice::fitting(self.start[d], count, self.stride(d)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::*;

    fn read(dimlen: usize, start: usize, count: usize, stride: isize) -> i32 {
        Slice::read(dimlen, start, count, stride).map_or_else(|e| e.status(), |_| NOERR)
    }

    #[test]
    fn the_last_element_is_the_bound() {
        assert_eq!(read(10, 0, 4, 3), NOERR);
        assert_eq!(read(10, 0, 4, 4), EEDGE);
        assert_eq!(read(10, 9, 1, isize::MAX), NOERR);
        assert_eq!(read(10, 0, 5, 1 << 62), EEDGE);
        assert_eq!(read(10, 0, (1 << 63) + 1, 2), EEDGE);
        assert_eq!(read(10, 10, 0, 1), NOERR);
        assert_eq!(read(10, 10, 1, 1), EINVALCOORDS);
        assert_eq!(read(10, 11, 1, 0), ESTRIDE);
    }

    #[test]
    fn writes_skip_the_far_end_when_nothing_is_selected() {
        let check = |access| {
            let dimensions = [Dimension::new(10, 1).unwrap(); 2];
            let slab = Hyperslab { start: Some(&[0, 5]), count: Some(&[0, 9]), ..Default::default() };
            let selection = slab.check(&dimensions, access);
            selection.map_or_else(
                |e| (e.status(), e.dimension()),
                |selection| (selection.slices().map(|(_, slice)| slice.count() as i32).sum(), None),
            )
        };
        assert_eq!(check(Access::Read), (EEDGE, Some(1)));
        assert_eq!(check(Access::Write), (0, None));
    }

    #[test]
    fn a_descending_request_is_an_ascending_slice() {
        let dimensions = [Dimension::new(10, 1).unwrap()];
        let check = |start, count, stride, both_ways| -> Result<_> {
            let slab = Hyperslab { start: Some(&[start]), count: Some(&[count]), stride: Some(&[stride]), both_ways };
            let selection = slab.check(&dimensions, Access::Read)?;
            let (_, slice) = selection.slices().next().unwrap();
            Ok((slice.start(), slice.stride(), slice.descends()))
        };
        assert_eq!(check(9, 4, -3, true), Ok((0, 3, true)));
        assert_eq!(check(8, 4, -3, true).unwrap_err().status(), EEDGE);
        assert_eq!(check(9, 4, -3, false).unwrap_err().status(), ESTRIDE);
        assert_eq!(check(9, 4, 0, true).unwrap_err().status(), ESTRIDE);
        assert_eq!(check(9, 2, isize::MIN, true).unwrap_err().status(), EEDGE);
    }
}
