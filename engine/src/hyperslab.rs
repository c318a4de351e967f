//! The request: `(start, count, stride)`, checked against the dimensions here and nowhere else.
//!
//! Element `k` along a dimension is `start + k*stride`, for `k` in `0..count`. The last one is `start +
//! (count-1)*stride`; `start + count*stride` bounds nothing and is never computed.
//!
//! The checks and their order are netCDF's: every stride first, then start and end, dimension by dimension. Where a
//! dimension has a list of indices, each of them is checked in place of start and end. Points are checked where they
//! are sorted, in `points`.

use std::ops::Range;

use crate::error::{Error, ErrorKind, Result};
use crate::grid::{Access, Dimension};

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

    /// Checks the start and, if asked to, the end against the dimension. The stride is not 0.
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

    /// A slice that is known to fit its dimension.
    #[inline]
    fn fitting(start: usize, count: usize, stride: isize) -> Self {
        let (step, descends) = (stride.unsigned_abs(), stride < 0);
        let start = if descends { start - count.saturating_sub(1) * step } else { start };
        Slice { start, count, stride: step, descends }
    }

    /// What stands for a list of so many indices.
    fn of_list(count: usize) -> Self {
        Slice { start: 0, count, stride: 1, descends: false }
    }

    /// Those of its elements that lie in such a part of the dimension, counted from where the part begins; and how many
    /// are before them.
    pub(crate) fn within(&self, part: Range<usize>) -> (Slice, usize) {
        let before = |end: usize| end.saturating_sub(self.start).div_ceil(self.stride).min(self.count);
        let (first, end) = (before(part.start), before(part.end));
        let start = if end > first { self.start + first * self.stride - part.start } else { 0 };
        (Slice { start, count: end - first, ..*self }, first)
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

/// A request that is not checked yet. Each list that is given has one entry per dimension; a scalar needs none.
///
/// ```
/// use nczchunk::Hyperslab;
///
/// let all = Hyperslab::all();
/// let box_of_six = Hyperslab::new(&[1, 0], &[2, 3]);
/// let every_other = Hyperslab::new(&[1, 0], &[2, 3]).with_stride(&[1, 2]);
/// # let _ = (all, box_of_six, every_other);
/// ```
///
/// Lists of indices, along some dimensions, select what follows no stride; points select single elements.
///
/// ```
/// use nczchunk::{Access, Hyperslab, Plan, Variable};
///
/// let variable = Variable::new(&[10, 20], &[4, 5], 4)?;
/// // Rows 7, 0 and 7 again, and of each every other element: 3 x 10 elements.
/// let rows = [Some(&[7, 0, 7][..]), None];
/// let of_rows = Hyperslab::new(&[0, 0], &[0, 10]).with_stride(&[1, 2]).with_indices(&rows);
/// assert_eq!(Plan::new(&variable, &of_rows, Access::Read)?.num_elements(), 30);
/// // The elements (9, 19) and (3, 2).
/// let points = Hyperslab::points(2, &[9, 19, 3, 2]);
/// assert_eq!(Plan::new(&variable, &points, Access::Read)?.num_elements(), 2);
/// # Ok::<(), nczchunk::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hyperslab<'a> {
    start: Option<&'a [usize]>,
    count: Option<&'a [usize]>,
    stride: Option<&'a [isize]>,
    both_ways: bool,
    chosen: Chosen<'a>,
}

/// What of a request follows no rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Chosen<'a> {
    #[default]
    Nothing,
    /// For each dimension its indices, unless it has a start, a count and a stride.
    Indices(&'a [Option<&'a [usize]>]),
    /// So many points, one after another: each has an index for each dimension.
    Points(usize, &'a [usize]),
}

/// The lists of a request, each of which has one entry per dimension if it is given.
#[derive(Clone, Copy)]
pub struct Lists<'a> {
    pub start: Option<&'a [usize]>,
    pub count: Option<&'a [usize]>,
    pub stride: Option<&'a [isize]>,
}

impl<'a> Hyperslab<'a> {
    /// Every element of the variable.
    #[inline]
    pub fn all() -> Self {
        Hyperslab::default()
    }

    /// `count` elements from `start` on along each dimension.
    #[inline]
    pub fn new(start: &'a [usize], count: &'a [usize]) -> Self {
        Hyperslab { start: Some(start), count: Some(count), ..Hyperslab::default() }
    }

    /// All the lists as C gives them: no start stands for 0, no count for the whole dimension whatever the start, and
    /// no stride for 1.
    #[inline]
    pub fn from_lists(start: Option<&'a [usize]>, count: Option<&'a [usize]>, stride: Option<&'a [isize]>) -> Self {
        Hyperslab { start, count, stride, ..Hyperslab::default() }
    }

    /// Single elements, in any order, each as often as it is named: `coordinates` has an index for each dimension of
    /// the first point, then of the second, and so on. In memory they are a list of `num_points` elements, in this
    /// order. If points that are written are the same element, the last one is.
    #[must_use]
    #[inline]
    pub fn points(num_points: usize, coordinates: &'a [usize]) -> Self {
        Hyperslab { chosen: Chosen::Points(num_points, coordinates), ..Hyperslab::default() }
    }

    /// The same with strides: the distance from each element to the next, at least 1.
    #[must_use]
    #[inline]
    pub fn with_stride(self, stride: &'a [isize]) -> Self {
        Hyperslab { stride: Some(stride), both_ways: false, ..self }
    }

    /// The same with strides that may be negative, for elements in descending order; the start is then the last of
    /// these elements in the variable. No stride is 0.
    #[must_use]
    #[inline]
    pub fn with_signed_stride(self, stride: &'a [isize]) -> Self {
        Hyperslab { stride: Some(stride), both_ways: true, ..self }
    }

    /// The same with a list of indices instead of start, count and stride for each dimension that is given one: the
    /// elements with these indices along the dimension, in any order, each as often as it is named. What is selected is
    /// the product of all dimensions' elements. If what is written has an index twice, the last one is written.
    #[must_use]
    #[inline]
    pub fn with_indices(self, indices: &'a [Option<&'a [usize]>]) -> Self {
        Hyperslab { chosen: Chosen::Indices(indices), ..self }
    }

    /// What follows no rule.
    #[inline(always)]
    pub(crate) fn chosen(&self) -> Chosen<'a> {
        self.chosen
    }

    /// The list of indices along a dimension, if it has one.
    pub(crate) fn indices(&self, d: usize) -> Option<&'a [usize]> {
        match self.chosen {
            Chosen::Indices(lists) => lists.get(d).copied().flatten(),
            _ => None,
        }
    }

    /// The same, with negative strides allowed.
    #[doc(hidden)]
    #[inline]
    pub fn both_ways(self) -> Self {
        Hyperslab { both_ways: true, ..self }
    }

    /// The first element along a dimension.
    #[inline]
    pub(crate) fn start(&self, d: usize) -> usize {
        self.start.map_or(0, |start| start[d])
    }

    /// How many elements along a dimension of this length.
    #[inline]
    pub(crate) fn count(&self, d: usize, dimlen: usize) -> usize {
        self.count.map_or(dimlen, |count| count[d])
    }

    /// The distance between elements along a dimension.
    #[inline]
    pub(crate) fn stride(&self, d: usize) -> isize {
        self.stride.map_or(1, |stride| stride[d])
    }

    /// The lists that are given, if each has this many entries.
    #[inline(always)]
    pub(crate) fn lists(&self, rank: usize) -> Option<Lists<'a>> {
        fn of_rank<T>(list: Option<&[T]>, rank: usize) -> Option<Option<&[T]>> {
            match list {
                Some(list) if list.len() == rank => Some(Some(&list[..rank])),
                Some(_) => None,
                None => Some(None),
            }
        }
        let (start, count) = (of_rank(self.start, rank)?, of_rank(self.count, rank)?);
        Some(Lists { start, count, stride: of_rank(self.stride, rank)? })
    }

    /// Checks the request as `nc_get_vars` and `nc_put_vars` do, and gives the slice of each dimension; of one with a
    /// list of indices, how many these are. Without `LISTED` there is no list, which is quicker to check.
    ///
    /// # Errors
    /// `Argument` if a list has not one entry per dimension, unless there are none; with their dimension
    /// `Stride`, for 0 and, unless both ways are allowed, below; `Start`, `Edge` and `Beyond`.
    pub(crate) fn slices<const LISTED: bool>(
        &self,
        dimensions: &[Dimension],
        access: Access,
    ) -> Result<impl Fn(usize) -> Slice> {
        let rank = dimensions.len();
        if rank > 0 && self.lists(rank).is_none() {
            return Err(ErrorKind::Argument("start, count and stride must have one entry for each dimension").into());
        }
        if LISTED && rank > 0 && matches!(self.chosen, Chosen::Indices(lists) if lists.len() != rank) {
            return Err(ErrorKind::Argument("there must be an entry for each dimension, a list or none").into());
        }
        let indices = move |d: usize| if LISTED { self.indices(d) } else { None };
        let is_slice = move |d: &usize| indices(*d).is_none();
        let is_refused = |d: &usize| self.stride(*d) == 0 || (self.stride(*d) < 0 && !self.both_ways);
        if let Some(d) = (0..rank).filter(is_slice).find(is_refused) {
            return Err(Error::from(ErrorKind::Stride(self.stride(d))).in_dimension(d));
        }
        let count = move |d: usize| match indices(d) {
            Some(indices) => indices.len(),
            None => self.count(d, dimensions[d].len()),
        };
        // A write of nothing is not checked against the far end of any dimension, so none of its counts is looked at
        // later.
        let is_nothing = access == Access::Write && (0..rank).any(|d| count(d) == 0);
        for (d, dimension) in dimensions.iter().enumerate() {
            let checked = match indices(d) {
                Some(indices) => check_indices(dimension.len(), indices),
                None => Slice::check(dimension.len(), self.start(d), count(d), self.stride(d), !is_nothing),
            };
            checked.map_err(|error| error.in_dimension(d))?;
        }
        Ok(move |d: usize| {
            let count = if is_nothing { 0 } else { count(d) };
            if is_slice(&d) { Slice::fitting(self.start(d), count, self.stride(d)) } else { Slice::of_list(count) }
        })
    }
}

fn check_indices(dimlen: usize, indices: &[usize]) -> Result<()> {
    match indices.iter().find(|&&index| index >= dimlen) {
        Some(&index) => Err(ErrorKind::Beyond { index, dimlen }.into()),
        None => Ok(()),
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
        assert_eq!(read(10, 0, 3, 5), EEDGE);
        assert_eq!(read(10, 0, 4, 4), EEDGE);
        assert_eq!(read(10, 9, 1, isize::MAX), NOERR);
        assert_eq!(read(10, 0, 5, isize::MAX / 2 + 1), EEDGE);
        assert_eq!(read(10, 0, usize::MAX / 2 + 2, 2), EEDGE);
        assert_eq!(read(20, 10, 3, isize::MAX), EEDGE);
        assert_eq!(read(10, 10, 0, 1), NOERR);
        assert_eq!(read(10, 10, 1, 1), EINVALCOORDS);
        assert_eq!(read(10, 11, 1, 0), ESTRIDE);
    }

    #[test]
    fn writes_skip_the_far_end_when_nothing_is_selected() {
        let check = |access| {
            let dimensions = [0; 2].map(|_| Dimension::new(10, 1).unwrap());
            let slab = Hyperslab::new(&[0, 5], &[0, 9]);
            slab.slices::<false>(&dimensions, access).map_or_else(
                |e| (e.status(), e.dimension()),
                |slice| (slice(0).count() as i32 + slice(1).count() as i32, None),
            )
        };
        assert_eq!(check(Access::Read), (EEDGE, Some(1)));
        assert_eq!(check(Access::Write), (0, None));
    }

    #[test]
    fn a_descending_request_is_an_ascending_slice() {
        let dimensions = [Dimension::new(10, 1).unwrap()];
        let check = |start, count, stride, both_ways| -> Result<_> {
            let (start, count, stride) = ([start], [count], [stride]);
            let slab = Hyperslab::new(&start, &count);
            let slab = if both_ways { slab.with_signed_stride(&stride) } else { slab.with_stride(&stride) };
            let of_lists = Hyperslab::from_lists(Some(&start), Some(&count), Some(&stride));
            let of_lists = if both_ways { of_lists.both_ways() } else { of_lists };
            let slice = |slab: Hyperslab<'_>| slab.slices::<false>(&dimensions, Access::Read).map(|slice| slice(0));
            assert_eq!(slice(slab), slice(of_lists));
            let slice = slice(slab)?;
            Ok((slice.start(), slice.stride(), slice.descends()))
        };
        assert_eq!(check(9, 4, -3, true), Ok((0, 3, true)));
        assert_eq!(check(8, 4, -3, true).unwrap_err().status(), EEDGE);
        assert_eq!(check(9, 4, -3, false).unwrap_err().status(), ESTRIDE);
        assert_eq!(check(9, 4, 0, true).unwrap_err().status(), ESTRIDE);
        assert_eq!(check(9, 2, isize::MIN, true).unwrap_err().status(), EEDGE);
        // The last stride that is given is the one that counts, with what it allows.
        let ascending = Hyperslab::new(&[9], &[4]).with_signed_stride(&[-3]).with_stride(&[-3]);
        assert_eq!(ascending.slices::<false>(&dimensions, Access::Read).map(|_| ()).unwrap_err().status(), ESTRIDE);
    }

    #[test]
    fn lists_of_another_rank_are_refused() {
        let dimensions = [0; 2].map(|_| Dimension::new(10, 1).unwrap());
        let status =
            |slab: Hyperslab<'_>| slab.slices::<false>(&dimensions, Access::Read).map(|_| ()).unwrap_err().status();
        assert_eq!(status(Hyperslab::new(&[0], &[1, 1])), EINVAL);
        assert_eq!(status(Hyperslab::new(&[0, 0], &[1])), EINVAL);
        assert_eq!(status(Hyperslab::all().with_stride(&[1, 1, 1])), EINVAL);
        assert!(Hyperslab::new(&[1, 2, 3], &[]).slices::<false>(&[], Access::Read).is_ok());
    }
}
