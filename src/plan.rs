//! The plan of a transfer: which chunks a hyperslab touches and which box of each goes to which box of memory. No I/O.
//!
//! Every dimension has its [`Projections`]; the touched chunks are their product. Chunk `i` of the plan, in row-major order
//! of chunk indices, is found by writing `i` in the mixed radix of the projections' numbers. A plan takes memory for its
//! rank, not for its chunks.

use crate::dims::{self, Dims};
use crate::error::{ErrorKind, Result};
use crate::hyperslab::Hyperslab;
use crate::odometer::Odometer;
use crate::projection::{Projection, Projections};
use crate::variable::Variable;

/// A hyperslab laid over a variable's chunks.
#[derive(Debug, Clone)]
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
        let slices = hyperslab.slices();
        let dimensions = dims::try_collect(
            slices.len(),
            variable.dimensions().iter().zip(slices).map(|(&dimension, &slice)| Ok(Projections::new(dimension, slice))),
        )?;
        let element_size = variable.element_size();
        let num_elements = if hyperslab.is_empty() {
            0
        } else {
            slices
                .iter()
                .try_fold(1usize, |elements, slice| elements.checked_mul(slice.count()))
                .filter(|elements| {
                    elements.checked_mul(element_size).is_some_and(|bytes| isize::try_from(bytes).is_ok())
                })
                .ok_or(ErrorKind::Argument("the selection is larger than memory can hold"))?
        };
        // Every touched chunk holds a selected element, so there are no more chunks than elements.
        let num_chunks = if num_elements == 0 { 0 } else { dimensions.iter().map(Projections::len).product() };
        Ok(Plan { dimensions, num_chunks, num_elements, element_size, chunk_bytes: variable.chunk_bytes() })
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
        let is_empty = self.num_chunks == 0 || other.num_chunks == 0;
        Ok(!is_empty && pairs().all(|(mine, others)| mine.shares_chunk(others)))
    }

    /// A walk over all chunks, in row-major order of chunk indices.
    pub(crate) fn walk(&self) -> Result<Walk<'_>> {
        let odometer = Odometer::over(self.dimensions.iter().map(Projections::len))?;
        let projections = dims::filled(self.rank(), Projection::default())?;
        let chunk_indices = dims::filled(self.rank(), 0)?;
        let mut walk = Walk { plan: self, odometer, projections, chunk_indices };
        if walk.more() {
            walk.project(0);
        }
        Ok(walk)
    }
}

/// A position in the list of touched chunks.
pub(crate) struct Walk<'p> {
    plan: &'p Plan,
    odometer: Odometer,
    projections: Dims<Projection>,
    chunk_indices: Dims<isize>,
}

impl Walk<'_> {
    pub(crate) fn more(&self) -> bool {
        self.odometer.more()
    }

    pub(crate) fn advance(&mut self) {
        if let Some(outermost) = self.odometer.advance() {
            self.project(outermost);
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

    /// Projects the dimensions from `outermost` on; those before it have not moved.
    fn project(&mut self, outermost: usize) {
        for d in outermost..self.plan.rank() {
            let projection = self.plan.dimensions[d].get(self.odometer.indices()[d]).unwrap_or_default();
            self.projections[d] = projection;
            self.chunk_indices[d] = projection.chunk_index;
        }
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
        let mut walk = plan.walk().unwrap();
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
