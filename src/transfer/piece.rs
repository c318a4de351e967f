//! The piece of a hyperslab that lies in one chunk: a box of elements, with its place in the chunk and in memory.

use crate::copy::Axis;
use crate::dims::{self, Dims};
use crate::error::Result;
use crate::hyperslab::{Access, Hyperslab};
use crate::projection::Projection;
use crate::variable::Variable;

/// A box of one chunk's elements, and where they are on either side. Offsets and strides are in bytes.
pub struct Piece<'a> {
    variable: &'a Variable,
    /// Along each dimension, from chunk to memory.
    pub(super) axes: Dims<Axis>,
    pub(super) chunk_indices: Dims<isize>,
    pub(super) chunk_offset: usize,
    pub(super) memory_offset: usize,
    selected_bytes: usize,
    pub(super) has_new_shape: bool,
}

impl<'a> Piece<'a> {
    /// A piece that is yet to be found.
    #[inline]
    pub fn new(variable: &'a Variable) -> Self {
        let (axes, chunk_indices) = (Dims::new(), Dims::new());
        let (chunk_offset, memory_offset, selected_bytes, has_new_shape) = (0, 0, 0, true);
        Piece { variable, axes, chunk_indices, chunk_offset, memory_offset, selected_bytes, has_new_shape }
    }

    /// Checks a request, and says whether all of it is one piece: then this is it, row-major and without gaps in memory, and
    /// no plan is needed. What is to be known of it is found in one go.
    ///
    /// # Errors
    /// Those of [`Plan::new`](crate::plan::Plan::new).
    #[inline]
    pub fn find(&mut self, hyperslab: &Hyperslab<'_>, access: Access) -> Result<bool> {
        // The same for all, but a rank that the compiler knows saves it a quarter of the instructions.
        match self.variable.rank() {
            1 => self.find_in(1, hyperslab, access),
            2 => self.find_in(2, hyperslab, access),
            3 => self.find_in(3, hyperslab, access),
            4 => self.find_in(4, hyperslab, access),
            rank => self.find_in(rank, hyperslab, access),
        }
    }

    #[inline(always)]
    fn find_in(&mut self, rank: usize, hyperslab: &Hyperslab<'_>, access: Access) -> Result<bool> {
        let variable = self.variable;
        let selection = hyperslab.check(&variable.dimensions()[..rank], access)?;
        self.reserve()?;
        let (mut is_one, mut chunk_offset) = (true, 0isize);
        let (axes, chunk_indices) = (&mut self.axes[..rank], &mut self.chunk_indices[..rank]);
        let places = axes.iter_mut().zip(chunk_indices).zip(&variable.chunk_strides()[..rank]);
        for ((dimension, slice), ((axis, chunk_index), &stride)) in selection.slices().zip(places) {
            let (lead, chunklen) = (dimension.lead(), dimension.chunklen());
            let start = lead + slice.start();
            let chunk = start / chunklen;
            let base = chunk * chunklen;
            let first = start - base;
            let reach = slice.count().wrapping_sub(1).wrapping_mul(slice.stride());
            is_one &= slice.count() > 0 && reach < chunklen - first && !slice.descends();
            // What overflows belongs to a dimension in which no step is taken, or to no piece.
            chunk_offset = chunk_offset.wrapping_add((first as isize).wrapping_mul(stride));
            *chunk_index = dimension.first_chunk().wrapping_add_unsigned(chunk);
            axis.count = slice.count();
            axis.source = stride.wrapping_mul(slice.stride() as isize);
        }
        if is_one {
            let mut stride = variable.element_size() as isize;
            for axis in self.axes[..rank].iter_mut().rev() {
                axis.destination = stride;
                stride *= axis.count as isize;
            }
            (self.chunk_offset, self.selected_bytes) = (chunk_offset as usize, stride as usize);
        }
        Ok(is_one)
    }

    /// Makes room for the dimensions.
    #[inline]
    pub(super) fn reserve(&mut self) -> Result<()> {
        let rank = self.variable.rank();
        dims::fill(&mut self.axes, rank, Axis { count: 1, source: 0, destination: 0 })?;
        dims::fill(&mut self.chunk_indices, rank, 0)
    }

    /// The variable whose chunk it is.
    pub(super) fn variable(&self) -> &'a Variable {
        self.variable
    }

    /// The chunk's indices.
    pub(super) fn chunk_indices(&self) -> &[isize] {
        &self.chunk_indices
    }

    /// Where the box's first element is in the chunk.
    pub(super) fn chunk_offset(&self) -> usize {
        self.chunk_offset
    }

    /// Where it is in memory.
    pub(super) fn memory_offset(&self) -> usize {
        self.memory_offset
    }

    /// How many bytes are asked for, if this is all of a request.
    pub fn selected_bytes(&self) -> usize {
        self.selected_bytes
    }

    /// Whether the box is all of the chunk that lies inside the dimensions.
    pub(super) fn is_covered(&self) -> bool {
        let places = self.chunk_indices.iter().zip(&self.axes);
        self.variable
            .dimensions()
            .iter()
            .zip(places)
            .all(|(dimension, (&chunk, axis))| axis.count == dimension.inside(chunk))
    }

    /// Whether the box is the whole chunk.
    pub(super) fn is_whole(&self) -> bool {
        self.variable.dimensions().iter().zip(&self.axes).all(|(dimension, axis)| dimension.chunklen() == axis.count)
    }

    /// Whether the box has another shape than the one before.
    pub(super) fn has_new_shape(&self) -> bool {
        self.has_new_shape
    }

    /// The box's axes from chunk to memory, innermost first.
    #[inline]
    pub(super) fn axes(&self) -> impl Iterator<Item = Axis> {
        // A single element has none to go along; that is seen here faster than axis by axis.
        let is_one_element = self.selected_bytes == self.variable.element_size();
        let axes = if is_one_element { &[] } else { self.axes.as_slice() };
        axes.iter().rev().copied()
    }

    /// Moves the box by so many elements along a dimension, on either side.
    #[inline]
    pub(super) fn shift(&mut self, d: usize, in_chunk: usize, in_memory: usize) {
        let in_chunk = (in_chunk as isize).wrapping_mul(self.variable.chunk_strides()[d]);
        let in_memory = (in_memory as isize).wrapping_mul(self.axes[d].destination);
        // The sums over all dimensions stay within what was checked to fit, though a part of one may not.
        self.chunk_offset = self.chunk_offset.wrapping_add_signed(in_chunk);
        self.memory_offset = self.memory_offset.wrapping_add_signed(in_memory);
    }

    /// Puts another projection in the place of a dimension's current one.
    #[inline]
    pub(super) fn change(&mut self, d: usize, from: &Projection, to: &Projection) {
        self.shift(d, to.first.wrapping_sub(from.first), to.iopos.wrapping_sub(from.iopos));
        self.has_new_shape |= from.iocount != to.iocount;
        self.axes[d].count = to.iocount;
        self.chunk_indices[d] = to.chunk_index;
    }
}
