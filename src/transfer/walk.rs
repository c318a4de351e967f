//! Going through the chunks of a plan, piece by piece.

use super::layout::Layout;
use super::piece::Piece;
use crate::copy::Axis;
use crate::dims::{self, Dims};
use crate::error::Result;
use crate::plan::Plan;
use crate::projection::Projection;
use crate::variable::Variable;

/// A position in a plan, and the piece there. A step to the next one costs only what the dimensions cost that move.
pub(super) struct Walk<'a> {
    piece: Piece<'a>,
    plan: &'a Plan,
    layout: &'a Layout,
    projections: Dims<Projection>,
}

impl<'a> Walk<'a> {
    /// A walk that has not begun.
    #[inline]
    pub(super) fn new(variable: &'a Variable, plan: &'a Plan, layout: &'a Layout) -> Self {
        Walk { piece: Piece::new(variable), plan, layout, projections: Dims::new() }
    }

    /// The current piece.
    pub(super) fn piece(&self) -> &Piece<'a> {
        &self.piece
    }

    /// Goes to the piece of the i-th chunk, which is one of the plan's.
    #[inline]
    pub(super) fn begin(&mut self, i: usize) -> Result<()> {
        let dimensions = self.plan.dimensions();
        self.piece.reserve()?;
        dims::fill(&mut self.projections, dimensions.len(), Projection::default())?;
        self.plan.chunk(i, &mut self.projections)?;

        let piece = &mut self.piece;
        (piece.chunk_offset, piece.memory_offset) = (0, self.layout.first());
        piece.has_new_shape = true;
        let strides = piece.variable().chunk_strides();
        for (d, (dimension, projection)) in dimensions.iter().zip(&self.projections).enumerate() {
            let source = strides[d].wrapping_mul(dimension.slice().stride() as isize);
            let destination = self.layout.strides().map_or(0, |strides| strides[d]);
            piece.axes[d] = Axis { count: projection.iocount, source, destination };
            piece.chunk_indices[d] = projection.chunk_index;
        }
        if self.layout.strides().is_none() {
            let mut stride = piece.variable().element_size() as isize;
            for (axis, dimension) in piece.axes.iter_mut().zip(dimensions).rev() {
                axis.destination = stride;
                // It fits, or belongs to a dimension in which no step is taken.
                stride = stride.wrapping_mul(dimension.slice().count() as isize);
            }
        }
        for (d, projection) in self.projections.iter().enumerate() {
            self.piece.shift(d, projection.first, projection.iopos);
        }
        Ok(())
    }

    /// Goes to the next chunk's piece. After the last one comes the first.
    #[inline]
    pub(super) fn advance(&mut self) {
        self.piece.has_new_shape = false;
        for (d, (dimension, current)) in self.plan.dimensions().iter().zip(&mut self.projections).enumerate().rev() {
            let has_next = current.iopos + current.iocount < dimension.slice().count();
            if has_next {
                let next = dimension.after(current);
                self.piece.change(d, current, &next);
                *current = next;
                return;
            }
            if current.iopos > 0 {
                let first = dimension.get(0).unwrap_or_default();
                self.piece.change(d, current, &first);
                *current = first;
            }
        }
    }
}
