//! The plan of a transfer: which chunks a hyperslab touches and which box of each goes to which box of memory. No I/O.
//!
//! Every dimension has its [`Projections`]; the touched chunks are their product. Chunk `i` of the plan, in row-major order
//! of chunk indices, is found by writing `i` in the mixed radix of the projections' numbers. A plan takes memory for its
//! rank, not for its chunks.

use crate::dims::{self, Dims};
use crate::error::{ErrorKind, Result};
use crate::hyperslab::Hyperslab;
use crate::projection::{Projection, Projections};
use crate::variable::Variable;

/// A hyperslab laid over a variable's chunks.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    dimensions: Dims<Projections>,
    num_chunks: usize,
    num_elements: usize,
    element_size: usize,
    chunk_bytes: usize,
}

impl Plan {
    /// The plan for a hyperslab that was checked against this variable.
    ///
    /// # Errors
    /// `Argument` if the selection has more than `isize::MAX` bytes.
    pub fn new(variable: &Variable, hyperslab: &Hyperslab) -> Result<Self> {
        let mut plan = Plan::default();
        plan.lay(variable, hyperslab)?;
        Ok(plan)
    }

    /// [`new`](Self::new), in place of what the plan was.
    #[inline]
    pub(crate) fn lay(&mut self, variable: &Variable, hyperslab: &Hyperslab) -> Result<()> {
        let slices = hyperslab.slices();
        dims::reserve(&mut self.dimensions, slices.len())?;
        // Nothing is selected as soon as one count is 0, however large the others are.
        let is_empty = hyperslab.is_empty();
        let (mut num_elements, mut num_chunks) = (usize::from(!is_empty), usize::from(!is_empty));
        for (&dimension, &slice) in variable.dimensions().iter().zip(slices) {
            let projections = Projections::new(dimension, slice);
            if !is_empty {
                num_elements = num_elements.saturating_mul(slice.count());
                num_chunks = num_chunks.saturating_mul(projections.len());
            }
            self.dimensions.push(projections);
        }
        let selected_bytes = num_elements.checked_mul(variable.element_size());
        if selected_bytes.is_none_or(|bytes| isize::try_from(bytes).is_err()) {
            return Err(ErrorKind::Argument("the selection is larger than memory can hold").into());
        }
        // Every touched chunk holds a selected element, so there are no more chunks than elements.
        self.num_elements = num_elements;
        self.num_chunks = num_chunks;
        self.element_size = variable.element_size();
        self.chunk_bytes = variable.chunk_bytes();
        Ok(())
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.dimensions.len()
    }

    /// Bytes in an element.
    pub fn element_size(&self) -> usize {
        self.element_size
    }

    /// How many chunks are touched.
    pub fn num_chunks(&self) -> usize {
        self.num_chunks
    }

    /// How many elements are selected.
    pub fn num_elements(&self) -> usize {
        self.num_elements
    }

    /// How many bytes are asked for: those of the selected elements.
    pub fn selected_bytes(&self) -> usize {
        self.num_elements * self.element_size
    }

    /// How many bytes the touched chunks have, each at full size; `usize::MAX` where that is more than a `usize` holds.
    pub fn chunk_bytes(&self) -> usize {
        self.num_chunks.saturating_mul(self.chunk_bytes)
    }

    /// How many chunks the whole variable has, stored or absent; `usize::MAX` where that is more than a `usize` holds.
    pub fn grid_chunks(&self) -> usize {
        let lens = self.dimensions.iter().map(|dimension| dimension.dimension().num_chunks());
        // A dimension without chunks leaves none, however many the others have.
        lens.clone().min().map_or(1, |least| if least == 0 { 0 } else { lens.fold(1, usize::saturating_mul) })
    }

    /// The projections of each dimension.
    pub fn dimensions(&self) -> &[Projections] {
        &self.dimensions
    }

    /// The i-th chunk: its projection in every dimension, into `projections`, which has one entry per dimension.
    ///
    /// # Errors
    /// `Index` beyond the last chunk, `Argument` if `projections` is not one per dimension.
    pub fn chunk(&self, i: usize, projections: &mut [Projection]) -> Result<()> {
        if i >= self.num_chunks {
            return Err(ErrorKind::Index { index: i, len: self.num_chunks }.into());
        }
        if projections.len() != self.rank() {
            return Err(ErrorKind::Argument("one projection per dimension is needed").into());
        }
        let mut rest = i;
        for (dimension, projection) in self.dimensions.iter().zip(projections).rev() {
            *projection = dimension.get(rest % dimension.len()).unwrap_or_default();
            rest /= dimension.len();
        }
        Ok(())
    }

    /// Whether the chunk with these projections is covered: every element of it that lies inside the dimensions is selected.
    /// A clipped chunk at the edge, and one of length 1 under any stride, are covered too.
    pub fn covers(&self, projections: &[Projection]) -> bool {
        self.dimensions.iter().zip(projections).all(|(dimension, projection)| dimension.covers(projection))
    }

    /// How many chunks are covered: a write needs no read of them.
    pub fn num_covered(&self) -> usize {
        if self.num_chunks == 0 { 0 } else { self.dimensions.iter().map(Projections::num_covered).product() }
    }

    /// Whether this plan and another for the same variable touch a chunk in common. They do if they share a chunk index in
    /// every dimension, because each touches all combinations of its indices.
    ///
    /// # Errors
    /// `Argument` if the plans are for different grids of chunks.
    pub fn shares_chunks(&self, other: &Plan) -> Result<bool> {
        let pairs = || self.dimensions.iter().zip(&other.dimensions);
        let grid = |dimension: &Projections| (dimension.dimension().chunklen(), dimension.dimension().origin());
        if self.rank() != other.rank() || pairs().any(|(mine, others)| grid(mine) != grid(others)) {
            return Err(ErrorKind::Argument("the plans are for different variables").into());
        }
        // A scalar has no dimension to tell: both touch its one chunk.
        Ok(pairs().all(|(mine, others)| mine.shares_chunk(others)))
    }
}

/// A position in the list of touched chunks, in row-major order of chunk indices.
pub(crate) struct Walk<'p> {
    plan: &'p Plan,
    more: bool,
    /// The number of the current projection in each dimension.
    positions: Dims<usize>,
    projections: Dims<Projection>,
    chunk_indices: Dims<isize>,
}

impl<'p> Walk<'p> {
    /// A walk that has not begun.
    #[inline]
    pub(crate) fn new(plan: &'p Plan) -> Self {
        let (positions, projections, chunk_indices) = (Dims::new(), Dims::new(), Dims::new());
        Walk { plan, more: false, positions, projections, chunk_indices }
    }

    /// Goes to the first chunk.
    #[inline]
    pub(crate) fn begin(&mut self) -> Result<()> {
        let rank = self.plan.rank();
        dims::reserve(&mut self.positions, rank)?;
        dims::reserve(&mut self.projections, rank)?;
        dims::reserve(&mut self.chunk_indices, rank)?;
        self.more = self.plan.num_chunks > 0;
        if self.more {
            for dimension in &self.plan.dimensions {
                let projection = dimension.get(0).unwrap_or_default();
                self.positions.push(0);
                self.projections.push(projection);
                self.chunk_indices.push(projection.chunk_index);
            }
        }
        Ok(())
    }

    /// Whether there is a current chunk; false once the last one is passed.
    pub(crate) fn more(&self) -> bool {
        self.more
    }

    /// Goes to the next chunk. Only dimensions that move are projected anew.
    #[inline]
    pub(crate) fn advance(&mut self) {
        let dimensions = self.plan.dimensions.as_slice();
        let positions = self.positions.as_mut_slice();
        let mut places = positions.iter().zip(dimensions);
        let Some(outermost) = places.rposition(|(position, dimension)| position + 1 < dimension.len()) else {
            self.more = false;
            return;
        };
        let (projections, chunk_indices) = (self.projections.as_mut_slice(), self.chunk_indices.as_mut_slice());
        for d in outermost..dimensions.len() {
            let position = if d == outermost { positions[d] + 1 } else { 0 };
            if position != positions[d] {
                let projection = dimensions[d].get(position).unwrap_or_default();
                positions[d] = position;
                projections[d] = projection;
                chunk_indices[d] = projection.chunk_index;
            }
        }
    }

    /// The current chunk's projections, one per dimension.
    pub(crate) fn projections(&self) -> &[Projection] {
        &self.projections
    }

    /// The current chunk's indices.
    pub(crate) fn chunk_indices(&self) -> &[isize] {
        &self.chunk_indices
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hyperslab::Access;

    fn plan(
        dimlens: &[usize],
        chunklens: &[usize],
        start: &[usize],
        count: &[usize],
        stride: &[isize],
    ) -> Result<Plan> {
        let variable = Variable::new(dimlens, chunklens, 4)?;
        let slab = Hyperslab::new(variable.dimlens(), Some(start), Some(count), Some(stride), Access::Read)?;
        Plan::new(&variable, &slab)
    }

    #[test]
    fn the_walk_and_random_access_agree() {
        let plan = plan(&[10, 9], &[4, 2], &[1, 0], &[3, 5], &[3, 2]).unwrap();
        assert_eq!((plan.num_chunks(), plan.selected_bytes(), plan.chunk_bytes()), (10, 60, 10 * 32));
        assert_eq!(plan.grid_chunks(), 15);
        let mut walk = Walk::new(&plan);
        walk.begin().unwrap();
        let mut projections = [Projection::default(); 2];
        for i in 0..plan.num_chunks() {
            plan.chunk(i, &mut projections).unwrap();
            assert_eq!(walk.projections(), projections);
            walk.advance();
        }
        assert!(!walk.more());
        assert!(plan.chunk(10, &mut projections).is_err());
    }

    #[test]
    fn a_scalar_is_one_covered_chunk() {
        let plan = plan(&[], &[], &[], &[], &[]).unwrap();
        assert_eq!((plan.num_chunks(), plan.selected_bytes(), plan.grid_chunks()), (1, 4, 1));
        assert!(plan.chunk(0, &mut []).is_ok() && plan.covers(&[]) && plan.num_covered() == 1);
    }

    #[test]
    fn a_selection_beyond_memory_is_refused() {
        let huge = 1 << 40;
        let refused = plan(&[huge, huge], &[1, 1], &[0, 0], &[huge, huge], &[1, 1]);
        assert_eq!(refused.unwrap_err().status(), crate::status::EINVAL);
        assert_eq!(plan(&[huge, huge], &[1, 1], &[0, 0], &[huge, 0], &[1, 1]).unwrap().num_chunks(), 0);
    }
}
