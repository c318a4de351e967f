//! Where the selected elements are in memory.

use crate::dims::{self, Dims};
use crate::error::{ErrorKind, Result};
use crate::plan::Plan;

/// A layout: the distance in bytes, of either sign, from an element to the next along each dimension.
#[derive(Debug, Clone, Default)]
pub struct Layout {
    strides: Dims<isize>,
    /// The first element's place in the memory, in bytes.
    first: usize,
    /// How much memory there is, in bytes.
    len: usize,
}

impl Layout {
    /// Row-major, without gaps.
    pub fn dense(plan: &Plan) -> Result<Self> {
        let mut layout = Layout::default();
        layout.make_dense(plan)?;
        Ok(layout)
    }

    /// [`dense`](Self::dense), in place of what the layout was.
    #[inline]
    pub(crate) fn make_dense(&mut self, plan: &Plan) -> Result<()> {
        let counts = plan.dimensions().iter().map(|dimension| dimension.slice().count());
        row_major(&mut self.strides, plan.element_size(), counts)?;
        self.first = 0;
        self.len = plan.selected_bytes();
        Ok(())
    }

    /// Any strides, in memory of `len` bytes with the first element at `first`.
    ///
    /// # Errors
    /// `Argument` if there is not one stride per dimension; `Memory` if an element lies outside of the memory.
    pub fn strided(plan: &Plan, strides: &[isize], first: usize, len: usize) -> Result<Self> {
        if plan.num_elements() > 0 {
            let (low, high) = reach(plan, strides)?;
            let is_inside = first.checked_sub(low).is_some()
                && first.checked_add(high).is_some_and(|end| end <= len)
                && isize::try_from(len).is_ok();
            if !is_inside {
                return Err(ErrorKind::Memory { len }.into());
            }
        }
        Ok(Layout { strides: dims::copied(strides)?, first, len })
    }

    /// Any strides, in just as much memory as they reach; the first element's place in it is [`first`](Self::first).
    pub fn reaching(plan: &Plan, strides: &[isize]) -> Result<Self> {
        if plan.num_elements() == 0 {
            return Layout::strided(plan, strides, 0, 0);
        }
        let (low, high) = reach(plan, strides)?;
        Layout::strided(plan, strides, low, low.saturating_add(high))
    }

    /// The same memory with a dimension's elements in the opposite order.
    pub(crate) fn flip(&mut self, plan: &Plan, dimension: usize) {
        let stride = self.strides[dimension];
        let steps = plan.dimensions()[dimension].slice().count().saturating_sub(1);
        // Within the memory, as the layout's elements are.
        self.first = self.first.wrapping_add_signed(stride.wrapping_mul(steps as isize));
        self.strides[dimension] = stride.wrapping_neg();
    }

    /// Strides in bytes, one per dimension.
    pub fn strides(&self) -> &[isize] {
        &self.strides
    }

    /// The first element's place in the memory, in bytes.
    pub fn first(&self) -> usize {
        self.first
    }

    /// How much memory there is, in bytes.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn check_len(&self, len: usize) -> Result<()> {
        if len == self.len { Ok(()) } else { Err(ErrorKind::Memory { len }.into()) }
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

/// The strides in bytes of a row-major array that is known to fit in memory.
#[inline]
pub(super) fn row_major(
    strides: &mut Dims<isize>,
    element_size: usize,
    lens: impl DoubleEndedIterator<Item = usize> + ExactSizeIterator,
) -> Result<()> {
    dims::reserve(strides, lens.len())?;
    let mut stride = element_size;
    for len in lens.rev() {
        strides.push(stride as isize);
        stride = stride.wrapping_mul(len);
    }
    strides.reverse();
    Ok(())
}
