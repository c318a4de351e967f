//! Where the selected elements are in memory.

use crate::dims::{self, Dims};
use crate::error::{ErrorKind, Result};
use crate::plan::Plan;

/// A layout: the distance in bytes, of either sign, from an element to the next along each dimension.
#[derive(Debug, Clone)]
pub struct Layout {
    /// `None` stands for row-major without gaps.
    strides: Option<Dims<isize>>,
    /// The place of the first element, in ascending order, in bytes.
    first: usize,
    /// How much memory there is, in bytes.
    len: usize,
}

impl Layout {
    /// Row-major, without gaps.
    #[inline]
    pub fn dense(plan: &Plan) -> Result<Self> {
        let len = plan.selected_bytes();
        if plan.descends() {
            let mut strides =
                dims::copied(plan.dimensions().iter().map(|dimension| dimension.slice().count() as isize))?;
            let mut next = plan.element_size() as isize;
            for stride in strides.iter_mut().rev() {
                next = next.wrapping_mul(std::mem::replace(stride, next));
            }
            return Layout::strided(plan, &strides, 0, len);
        }
        Ok(Layout { strides: None, first: 0, len })
    }

    /// Any strides, in memory of `len` bytes with the request's first element at `first`.
    ///
    /// # Errors
    /// `Argument` if there is not one stride per dimension; `Memory` if an element lies outside of the memory.
    pub fn strided(plan: &Plan, strides: &[isize], first: usize, len: usize) -> Result<Self> {
        let mut layout = Layout { strides: None, first, len };
        let mut strides = dims::copied(strides.iter().copied())?;
        if plan.num_elements() > 0 {
            let (low, high) = reach(plan, &strides)?;
            let is_inside = first.checked_sub(low).is_some()
                && first.checked_add(high).is_some_and(|end| end <= len)
                && isize::try_from(len).is_ok();
            if !is_inside {
                return Err(ErrorKind::Memory { len }.into());
            }
            for (stride, dimension) in strides.iter_mut().zip(plan.dimensions()) {
                if dimension.slice().descends() {
                    let steps = dimension.slice().count() - 1;
                    // Within the memory, as all elements are.
                    layout.first = layout.first.wrapping_add_signed(stride.wrapping_mul(steps as isize));
                    *stride = stride.wrapping_neg();
                }
            }
        }
        layout.strides = Some(strides);
        Ok(layout)
    }

    /// Any strides, in just as much memory as they reach; the first element's place in it is [`first`](Self::first).
    pub fn reaching(plan: &Plan, strides: &[isize]) -> Result<Self> {
        if plan.num_elements() == 0 {
            return Layout::strided(plan, strides, 0, 0);
        }
        let (low, high) = reach(plan, strides)?;
        Layout::strided(plan, strides, low, low.saturating_add(high))
    }

    /// Strides in bytes, one per dimension and in the order of the slices; `None` stands for row-major without gaps.
    pub(super) fn strides(&self) -> Option<&[isize]> {
        self.strides.as_deref()
    }

    /// The place of the first element, in ascending order, in bytes.
    pub fn first(&self) -> usize {
        self.first
    }

    /// How much memory there is, in bytes.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether no two elements of the plan, which the layout was made for, share a byte, so that they can be read at the same
    /// time: each stride steps over all that the smaller ones reach. It may say no where that is not so.
    pub(super) fn is_disjoint(&self, plan: &Plan) -> bool {
        let Some(strides) = &self.strides else { return true };
        let axes = || {
            let counts = plan.dimensions().iter().map(|dimension| dimension.slice().count());
            let axes = strides.iter().map(|stride| stride.unsigned_abs()).zip(counts).enumerate();
            axes.filter(|(_, (_, count))| *count > 1).map(|(d, (stride, count))| (stride, d, count))
        };
        let (mut end, mut done) = (plan.element_size(), None);
        // The next one each time: by stride, and by dimension where strides are equal.
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

/// How many bytes the elements reach below the first one, and above its beginning.
fn reach(plan: &Plan, strides: &[isize]) -> Result<(usize, usize)> {
    if strides.len() != plan.rank() {
        return Err(ErrorKind::Argument("the memory needs one stride per dimension").into());
    }
    let (mut low, mut high) = (0usize, plan.element_size());
    for (dimension, stride) in plan.dimensions().iter().zip(strides) {
        let reach = stride.unsigned_abs().saturating_mul(dimension.slice().count() - 1);
        let side = if *stride < 0 { &mut low } else { &mut high };
        *side = side.saturating_add(reach);
    }
    Ok((low, high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hyperslab::{Access, Hyperslab};
    use crate::variable::Variable;

    #[test]
    fn elements_that_may_share_bytes_are_found() {
        let variable = Variable::new(&[4, 3, 1], &[2, 2, 1], 4).unwrap();
        let slab = Hyperslab { start: Some(&[0; 3]), ..Default::default() };
        let plan = Plan::new(&variable, &slab, Access::Read).unwrap();
        let disjoint = |strides: [isize; 3]| Layout::reaching(&plan, &strides).unwrap().is_disjoint(&plan);
        assert!(disjoint([12, 4, 0]) && disjoint([4, 16, 0]) && disjoint([-100, 8, 1]));
        assert!(!disjoint([8, 4, 0]) && !disjoint([0, 4, 4]) && !disjoint([4, 4, 0]) && !disjoint([12, 3, 0]));
    }
}
