//! Where the selected elements are in memory.

use crate::dims::{self, Dims};
use crate::error::{ErrorKind, Result};
use crate::projection::Projections;

/// A layout: the distance in bytes, of either sign, from an element to the next along each dimension.
#[derive(Debug)]
pub struct Layout {
    /// `None` stands for row-major without gaps.
    strides: Option<Dims<isize>>,
    /// The place of the first element in ascending order, in bytes from the beginning of the memory.
    first: usize,
    /// The place that a caller's pointer points to, in bytes from the beginning of the memory.
    pointer: usize,
    /// How much memory there is, in bytes.
    len: usize,
}

/// What the layout is for: the slices of all dimensions and what an element takes.
#[derive(Clone, Copy)]
pub struct Elements<'a> {
    pub dimensions: &'a [Projections],
    pub num_elements: usize,
    pub element_size: usize,
}

impl Layout {
    /// That of nothing.
    pub(crate) const EMPTY: Self = Layout { strides: None, first: 0, pointer: 0, len: 0 };

    /// Row-major, without gaps. A dimension whose elements the request has in descending order is reversed.
    pub(crate) fn dense(elements: Elements<'_>) -> Result<Self> {
        let len = elements.num_elements * elements.element_size;
        if elements.dimensions.iter().any(|dimension| dimension.slice().descends()) {
            let counts = elements.dimensions.iter().map(|dimension| dimension.slice().count() as isize);
            let mut strides = dims::copied(counts)?;
            let mut next = elements.element_size as isize;
            for stride in strides.iter_mut().rev() {
                next = next.wrapping_mul(std::mem::replace(stride, next));
            }
            return Layout::strided(elements, &strides, 0, len);
        }
        Ok(Layout { len, ..Layout::EMPTY })
    }

    /// Any strides, in memory of `len` bytes with the request's first element at `first`.
    ///
    /// # Errors
    /// `Argument` if there is not one stride per dimension; `Memory` if an element lies outside of the memory.
    pub(crate) fn strided(elements: Elements<'_>, strides: &[isize], first: usize, len: usize) -> Result<Self> {
        check_rank(elements, strides)?;
        let mut layout = Layout { strides: None, first, pointer: 0, len };
        let mut strides = dims::copied(strides.iter().copied())?;
        if elements.num_elements > 0 {
            let (low, high) = reach(elements, &strides);
            let is_inside = first.checked_sub(low).is_some()
                && first.checked_add(high).is_some_and(|end| end <= len)
                && isize::try_from(len).is_ok();
            if !is_inside {
                return Err(ErrorKind::Memory { len }.into());
            }
            for (stride, dimension) in strides.iter_mut().zip(elements.dimensions) {
                if dimension.slice().descends() {
                    let steps = dimension.slice().count() - 1;
                    // The last element of the request lies within the memory, as all do.
                    layout.first = layout.first.wrapping_add_signed(stride.wrapping_mul(steps as isize));
                    *stride = stride.wrapping_neg();
                }
            }
        }
        layout.strides = Some(strides);
        Ok(layout)
    }

    /// netCDF's imap: strides in elements from where the caller's pointer points to, in as much memory as they reach.
    ///
    /// # Errors
    /// `Argument` if there is not one stride per dimension, or if they reach beyond the address space.
    pub(crate) fn mapped(elements: Elements<'_>, imap: &[isize]) -> Result<Self> {
        check_rank(elements, imap)?;
        let size = elements.element_size as isize;
        let refused = ErrorKind::Argument("imap reaches beyond the address space");
        let strides = imap.iter().zip(elements.dimensions).map(|(&stride, dimension)| {
            // Where there is no next element it does not matter how far it is.
            let is_used = elements.num_elements > 0 && dimension.slice().count() > 1;
            if is_used { stride.checked_mul(size).ok_or_else(|| refused.into()) } else { Ok(0) }
        });
        let strides = dims::try_collect(imap.len(), strides)?;
        let (low, high) = if elements.num_elements > 0 { reach(elements, &strides) } else { (0, 0) };
        let layout = Layout::strided(elements, &strides, low, low.saturating_add(high))?;
        Ok(Layout { pointer: low, ..layout })
    }

    /// Strides in bytes, one per dimension and in the order of the slices; `None` stands for row-major without gaps.
    pub(crate) fn strides(&self) -> Option<&[isize]> {
        self.strides.as_deref()
    }

    /// The place of the first element in ascending order, in bytes from the beginning of the memory.
    pub(crate) fn first(&self) -> usize {
        self.first
    }

    /// The place that a caller's pointer points to, in bytes from the beginning of the memory.
    pub fn pointer(&self) -> usize {
        self.pointer
    }

    /// How much memory there is, in bytes.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether no two elements share a byte, so that several threads may write to them: each stride steps over all that
    /// the smaller ones reach. It may say no where that is not so.
    #[inline]
    pub(crate) fn is_disjoint(&self, elements: Elements<'_>) -> bool {
        self.strides.as_ref().is_none_or(|strides| Self::are_disjoint(strides, elements))
    }

    #[inline(never)]
    fn are_disjoint(strides: &[isize], elements: Elements<'_>) -> bool {
        let axes = || {
            let counts = elements.dimensions.iter().map(|dimension| dimension.slice().count());
            let axes = strides.iter().map(|stride| stride.unsigned_abs()).zip(counts).enumerate();
            axes.filter(|(_, (_, count))| *count > 1).map(|(d, (stride, count))| (stride, d, count))
        };
        let (mut end, mut done) = (elements.element_size, None);
        // The axes in ascending order of strides, found one after another; where strides are equal, by dimension.
        while let Some((stride, d, count)) = axes().filter(|&(stride, d, _)| Some((stride, d)) > done).min() {
            if stride < end {
                return false;
            }
            end = end.saturating_add(stride.saturating_mul(count - 1));
            done = Some((stride, d));
        }
        true
    }
}

fn check_rank(elements: Elements<'_>, strides: &[isize]) -> Result<()> {
    if strides.len() == elements.dimensions.len() {
        return Ok(());
    }
    Err(ErrorKind::Argument("there must be one memory stride for each dimension").into())
}

/// How many bytes the elements reach below the beginning of the first one, and above it. Something is selected.
fn reach(elements: Elements<'_>, strides: &[isize]) -> (usize, usize) {
    let (mut low, mut high) = (0usize, elements.element_size);
    for (dimension, stride) in elements.dimensions.iter().zip(strides) {
        let reach = stride.unsigned_abs().saturating_mul(dimension.slice().count() - 1);
        let side = if *stride < 0 { &mut low } else { &mut high };
        *side = side.saturating_add(reach);
    }
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Dimension;
    use crate::hyperslab::Slice;

    #[test]
    fn elements_that_may_share_bytes_are_found() {
        let dimensions = [4, 3, 1].map(|len| {
            Projections::new(&Dimension::new(len, 2).unwrap(), Slice::read(len, 0, len, 1).unwrap()).unwrap()
        });
        let elements = Elements { dimensions: &dimensions, num_elements: 12, element_size: 4 };
        let disjoint = |strides: [isize; 3]| {
            let (low, high) = reach(elements, &strides);
            Layout::strided(elements, &strides, low, low + high).unwrap().is_disjoint(elements)
        };
        assert!(disjoint([12, 4, 0]) && disjoint([4, 16, 0]) && disjoint([-100, 8, 1]));
        assert!(!disjoint([8, 4, 0]) && !disjoint([0, 4, 4]) && !disjoint([4, 4, 0]) && !disjoint([12, 3, 0]));
    }

    #[test]
    fn there_is_one_stride_a_dimension() {
        let dimension = Projections::new(&Dimension::new(4, 2).unwrap(), Slice::read(4, 0, 4, 1).unwrap()).unwrap();
        let elements = Elements { dimensions: &[dimension], num_elements: 4, element_size: 4 };
        for strides in [&[][..], &[4, 4]] {
            for layout in [Layout::strided(elements, strides, 0, 16), Layout::mapped(elements, strides)] {
                assert_eq!(layout.unwrap_err().to_string(), "there must be one memory stride for each dimension");
            }
        }
    }
}
