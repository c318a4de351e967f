//! The plan of a transfer: which chunks a hyperslab touches and which box of each goes to which box of memory. No I/O.
//!
//! Every dimension has its [`Projections`]; the touched chunks are their product. Chunk `i` of the plan, in row-major order
//! of chunk indices, is found by writing `i` in the mixed radix of the projections' numbers. A plan takes memory for its
//! rank, not for its chunks.

use crate::dims::{self, Dims};
use crate::error::{ErrorKind, Result};
use crate::hyperslab::{Access, Hyperslab};
use crate::projection::{Projection, Projections};
use crate::variable::Variable;

/// A hyperslab laid over a variable's chunks.
#[derive(Debug, Clone)]
pub struct Plan {
    dimensions: Dims<Projections>,
    num_chunks: usize,
    num_elements: usize,
    descends: bool,
    element_size: usize,
    chunk_bytes: usize,
}

impl Plan {
    /// The plan for a request, which is checked against the variable: see [`Hyperslab`].
    ///
    /// # Errors
    /// `NoStart`, `Stride`, `Start`, `Edge`; `Argument` if the selection has more than `isize::MAX` bytes.
    pub fn new(variable: &Variable, hyperslab: &Hyperslab<'_>, access: Access) -> Result<Self> {
        let mut dimensions = Dims::new();
        dims::reserve(&mut dimensions, variable.rank())?;
        // A count of 0 leaves nothing, however large the others are.
        let (mut num_elements, mut num_chunks, mut descends) = (1usize, 1usize, false);
        for (&dimension, slice) in hyperslab.check(variable.dimensions(), access)?.slices() {
            let projections = Projections::new(dimension, slice);
            num_elements = num_elements.saturating_mul(slice.count());
            num_chunks = num_chunks.saturating_mul(projections.len());
            descends |= slice.descends();
            dimensions.push(projections);
        }
        let element_size = variable.element_size();
        let selected_bytes = num_elements.checked_mul(element_size);
        if selected_bytes.is_none_or(|bytes| isize::try_from(bytes).is_err()) {
            return Err(ErrorKind::Argument("the selection is larger than memory can hold").into());
        }
        // Every touched chunk holds a selected element, so there are no more chunks than elements.
        Ok(Plan { dimensions, num_chunks, num_elements, descends, element_size, chunk_bytes: variable.chunk_bytes() })
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

    /// Whether the request has the elements of a dimension in descending order.
    pub fn descends(&self) -> bool {
        self.descends
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

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(
        dimlens: &[usize],
        chunklens: &[usize],
        start: &[usize],
        count: &[usize],
        stride: &[isize],
    ) -> Result<Plan> {
        let variable = Variable::new(dimlens, chunklens, 4)?;
        let slab = Hyperslab { start: Some(start), count: Some(count), stride: Some(stride), both_ways: false };
        Plan::new(&variable, &slab, Access::Read)
    }

    #[test]
    fn chunks_come_in_row_major_order() {
        let plan = plan(&[10, 9], &[4, 2], &[1, 0], &[3, 5], &[3, 2]).unwrap();
        assert_eq!((plan.num_chunks(), plan.selected_bytes(), plan.chunk_bytes()), (10, 60, 10 * 32));
        assert_eq!(plan.grid_chunks(), 15);
        let mut projections = [Projection::default(); 2];
        let mut indices = |i| plan.chunk(i, &mut projections).map(|()| projections.map(|p| p.chunk_index));
        assert_eq!([0, 1, 4, 5, 9].map(|i| indices(i).unwrap()), [[0, 0], [0, 1], [0, 4], [1, 0], [1, 4]]);
        assert!(indices(10).is_err());
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
