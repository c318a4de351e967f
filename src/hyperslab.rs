//! The request: `(start, count, stride)`, checked against the dimensions once, here and nowhere else.
//!
//! Element `k` along a dimension is `start + k*stride`, for `k` in `0..count`. The last one is `start + (count-1)*stride`;
//! `start + count*stride` bounds nothing and is never computed.
//!
//! The checks and their order are netCDF's: every stride first, then start and end, dimension by dimension.

use crate::dims::{self, Dims};
use crate::error::{Error, ErrorKind, Result};

/// What a hyperslab is for. netCDF checks writes a little less than reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reading.
    Read,
    /// Writing: when any count is 0, the far end of no dimension is checked.
    Write,
}

/// One dimension of a hyperslab, known to fit its dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    start: usize,
    count: usize,
    stride: usize,
}

impl Slice {
    /// A slice to read from a dimension of `dimlen` elements.
    pub fn read(dimlen: usize, start: usize, count: usize, stride: isize) -> Result<Self> {
        check_stride(stride)?;
        Slice::check(dimlen, start, count, stride, true)
    }

    /// Start and end against the dimension; the stride is positive.
    fn check(dimlen: usize, start: usize, count: usize, stride: isize, check_edge: bool) -> Result<Self> {
        if start > dimlen || (start == dimlen && count > 0) {
            return Err(ErrorKind::Start { start, dimlen }.into());
        }
        // Where the edge is not checked another count is 0: nothing is selected, here or elsewhere.
        let count = if check_edge { count } else { 0 };
        let slice = Slice { start, count, stride: stride.unsigned_abs() };
        if count > 0 {
            let last = (count - 1).checked_mul(slice.stride).and_then(|reach| reach.checked_add(start));
            if last.is_none_or(|last| last >= dimlen) {
                return Err(ErrorKind::Edge { start, count, stride, dimlen }.into());
            }
        }
        Ok(slice)
    }

    /// The slice of the elements start, start + step, ... for a negative step, in ascending order.
    fn check_backwards(dimlen: usize, start: usize, count: usize, step: isize, check_edge: bool) -> Result<Self> {
        // That start lies inside the dimension is checked as for one element.
        Slice::check(dimlen, start, count.min(1), 1, check_edge)?;
        let (count, stride) = (if check_edge { count } else { 0 }, step.unsigned_abs());
        let reach = count.saturating_sub(1).checked_mul(stride);
        match reach.and_then(|reach| start.checked_sub(reach)) {
            Some(start) => Ok(Slice { start, count, stride }),
            None => Err(ErrorKind::Edge { start, count, stride: step, dimlen }.into()),
        }
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

    /// The last selected element, or `None` if none is.
    pub fn last(&self) -> Option<usize> {
        Some(self.start + self.count.checked_sub(1)? * self.stride)
    }
}

fn check_stride(stride: isize) -> Result<()> {
    if stride > 0 { Ok(()) } else { Err(ErrorKind::Stride(stride).into()) }
}

/// A checked hyperslab: one slice per dimension.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hyperslab {
    slices: Dims<Slice>,
}

impl Hyperslab {
    /// Checks a request against the dimension lengths, as `nc_get_vars` and `nc_put_vars` do.
    ///
    /// `start`, `count` and `stride`, where given, have one entry per dimension. A count left out is the whole dimension,
    /// whatever the start; a stride left out is 1 everywhere. A scalar (no dimensions) is always selected.
    ///
    /// # Errors
    /// `NoStart`, `Stride`, `Start` and `Edge`, the latter three with their dimension.
    pub fn new(
        dimlens: impl ExactSizeIterator<Item = usize> + Clone,
        start: Option<&[usize]>,
        count: Option<&[usize]>,
        stride: Option<&[isize]>,
        access: Access,
    ) -> Result<Self> {
        let mut slab = Hyperslab::default();
        slab.check(dimlens, start, count, stride, access)?;
        Ok(slab)
    }

    /// [`new`](Self::new), in place of what the hyperslab was.
    #[inline]
    pub(crate) fn check(
        &mut self,
        dimlens: impl ExactSizeIterator<Item = usize> + Clone,
        start: Option<&[usize]>,
        count: Option<&[usize]>,
        stride: Option<&[isize]>,
        access: Access,
    ) -> Result<()> {
        let rank = dimlens.len();
        dims::reserve(&mut self.slices, rank)?;
        if rank == 0 {
            return Ok(());
        }
        let start = start.ok_or(ErrorKind::NoStart)?;
        if [start.len(), count.map_or(rank, <[_]>::len), stride.map_or(rank, <[_]>::len)] != [rank; 3] {
            return Err(ErrorKind::Argument("start, count and stride need one entry per dimension").into());
        }
        for (d, &stride) in stride.unwrap_or_default().iter().enumerate() {
            check_stride(stride).map_err(|e| e.in_dimension(d))?;
        }
        let counts = |d: usize, dimlen: usize| count.map_or(dimlen, |count| count[d]);
        let check_edge =
            access == Access::Read || !dimlens.clone().enumerate().any(|(d, dimlen)| counts(d, dimlen) == 0);
        for (d, dimlen) in dimlens.enumerate() {
            let stride = stride.map_or(1, |stride| stride[d]);
            let slice = Slice::check(dimlen, start[d], counts(d, dimlen), stride, check_edge);
            self.slices.push(slice.map_err(|e| e.in_dimension(d))?);
        }
        Ok(())
    }

    /// Checks a request whose steps may be negative: along a dimension the elements are `start + k*step`. The hyperslab has
    /// the same elements in ascending order; with it comes, per dimension, whether the request has them in descending order.
    ///
    /// # Errors
    /// Those of [`new`](Self::new): `Stride` for a step of 0 only, `Edge` for a last element beyond either end.
    pub fn with_steps(
        dimlens: impl ExactSizeIterator<Item = usize> + Clone,
        start: Option<&[usize]>,
        count: &[usize],
        step: Option<&[isize]>,
        access: Access,
    ) -> Result<(Self, Dims<bool>)> {
        let rank = dimlens.len();
        let start = match start {
            None if rank > 0 => return Err(ErrorKind::NoStart.into()),
            start => start.unwrap_or_default(),
        };
        if [start.len(), count.len(), step.map_or(rank, <[_]>::len)] != [rank; 3] {
            return Err(ErrorKind::Argument("start, count and step need one entry per dimension").into());
        }
        let step = |d: usize| step.map_or(1, |step| step[d]);
        for d in 0..rank {
            if step(d) == 0 {
                return Err(Error::from(ErrorKind::Stride(step(d))).in_dimension(d));
            }
        }
        let check_edge = access == Access::Read || !count.contains(&0);
        let slices = dimlens.enumerate().map(|(d, dimlen)| {
            let (start, count, step) = (start[d], count[d], step(d));
            let slice = if step > 0 {
                Slice::check(dimlen, start, count, step, check_edge)
            } else {
                Slice::check_backwards(dimlen, start, count, step, check_edge)
            };
            slice.map_err(|e| e.in_dimension(d))
        });
        let slices = dims::try_collect(rank, slices)?;
        let descends = dims::try_collect(rank, (0..rank).map(|d| Ok(step(d) < 0)))?;
        Ok((Hyperslab { slices }, descends))
    }

    /// One slice per dimension.
    pub fn slices(&self) -> &[Slice] {
        &self.slices
    }

    /// Whether nothing is selected.
    pub fn is_empty(&self) -> bool {
        self.slices.iter().any(|slice| slice.count == 0)
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
            let slab = Hyperslab::new([10, 10].into_iter(), Some(&[0, 5]), Some(&[0, 9]), None, access);
            slab.map_or_else(|e| (e.status(), e.dimension()), |_| (NOERR, None))
        };
        assert_eq!(check(Access::Read), (EEDGE, Some(1)));
        assert_eq!(check(Access::Write), (NOERR, None));
        let huge =
            Hyperslab::new([9, 9].into_iter(), Some(&[0, 0]), Some(&[0, usize::MAX]), Some(&[1, 2]), Access::Write);
        assert!(huge.is_ok_and(|slab| slab.slices()[1].count() == 0));
    }
}
