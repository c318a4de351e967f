//! Moving the box of one chunk after another between the chunk's own layout and the memory's.

use super::layout::{Layout, row_major};
use crate::copy::{Axis, Destination, Source, StridedCopy};
use crate::dims::{self, Dims};
use crate::error::{ErrorKind, Result};
use crate::hyperslab::Access;
use crate::plan::{Plan, Walk};
use crate::variable::Variable;

/// A read of this many bytes does not pass through the cache: what it would push out is worth more than what it leaves.
const STREAM_BYTES: usize = 16 << 20;

/// What is known of a box: its shape, where its first element is on either side, and the copies prepared for its shape.
pub(super) struct Mover<'a> {
    variable: &'a Variable,
    plan: &'a Plan,
    layout: &'a Layout,
    access: Access,
    /// Bytes from an element of a chunk to the next, along each dimension.
    chunk_strides: Dims<isize>,
    shape: Dims<usize>,
    chunk_offset: usize,
    memory_offset: usize,
    is_covered: bool,
    /// Between a stored chunk and memory and, once needed, from the fill value to memory.
    copy: StridedCopy,
    fill: Option<StridedCopy>,
}

impl<'a> Mover<'a> {
    #[inline]
    pub(super) fn new(variable: &'a Variable, plan: &'a Plan, layout: &'a Layout, access: Access) -> Self {
        Mover {
            variable,
            plan,
            layout,
            access,
            chunk_strides: Dims::new(),
            shape: Dims::new(),
            chunk_offset: 0,
            memory_offset: layout.first(),
            is_covered: false,
            copy: StridedCopy::default(),
            fill: None,
        }
    }

    /// Gets ready for the first chunk.
    #[inline]
    fn begin(&mut self) -> Result<()> {
        let dimensions = self.variable.dimensions();
        let chunklens = dimensions.iter().map(|dimension| dimension.chunklen());
        row_major(&mut self.chunk_strides, self.variable.element_size(), chunklens)?;
        self.copy.set_streaming(self.access == Access::Read && self.layout.len() >= STREAM_BYTES);
        // No box has this shape, but that of a scalar, for which the copy is prepared.
        dims::reserve(&mut self.shape, dimensions.len())?;
        self.shape.resize(dimensions.len(), 0);
        if dimensions.is_empty() {
            self.prepare()?;
        }
        Ok(())
    }

    /// Does `one` for each chunk, in order, with the mover pointing at its box and the chunk's indices. Counts those done.
    pub(super) fn for_each_chunk(
        mut self,
        done: &mut usize,
        mut one: impl FnMut(&mut Self, &[isize]) -> Result<()>,
    ) -> Result<()> {
        let mut walk = Walk::new(self.plan);
        walk.begin()?;
        if walk.more() {
            self.begin()?;
        }
        while walk.more() {
            let result = self.aim(&walk).and_then(|()| one(&mut self, walk.chunk_indices()));
            result.map_err(|error| error.in_chunk(walk.chunk_indices()))?;
            *done += 1;
            walk.advance();
        }
        Ok(())
    }

    pub(super) fn variable(&self) -> &'a Variable {
        self.variable
    }

    /// Points at the box of the walk's current chunk. Boxes of the same shape share their prepared copies.
    fn aim(&mut self, walk: &Walk<'_>) -> Result<()> {
        let (mut chunk_offset, mut memory_offset) = (0usize, self.layout.first());
        let (mut same_shape, mut is_covered) = (true, true);
        let strides = self.chunk_strides.iter().zip(self.layout.strides());
        let dimensions = self.plan.dimensions().iter().zip(walk.projections());
        for (((dimension, projection), (chunk, memory)), count) in dimensions.zip(strides).zip(self.shape.iter_mut()) {
            // Both sums stay within what was checked to fit, though a part of one may not.
            chunk_offset = chunk_offset.wrapping_add_signed((projection.first as isize).wrapping_mul(*chunk));
            memory_offset = memory_offset.wrapping_add_signed((projection.iopos as isize).wrapping_mul(*memory));
            is_covered &= dimension.covers(projection);
            same_shape &= *count == projection.iocount;
            *count = projection.iocount;
        }
        (self.chunk_offset, self.memory_offset, self.is_covered) = (chunk_offset, memory_offset, is_covered);
        if !same_shape {
            self.prepare()?;
            self.fill = None;
        }
        Ok(())
    }

    /// Where the whole chunk begins in memory, if the box is the whole chunk and lies there in one piece.
    pub(super) fn whole_chunk(&self) -> Option<usize> {
        (self.copy.is_one_piece(self.variable.chunk_bytes()) && self.variable.copier().is_none())
            .then_some(self.memory_offset)
    }

    /// Whether the box is all of the chunk that lies inside the dimensions.
    pub(super) fn is_covered(&self) -> bool {
        self.is_covered
    }

    /// Whether the box is the whole chunk.
    pub(super) fn is_whole(&self) -> bool {
        self.variable.dimensions().iter().zip(&self.shape).all(|(dimension, &count)| dimension.chunklen() == count)
    }

    /// Copies the box from a stored chunk to memory.
    pub(super) fn read_chunk(&self, chunk: &[u8], memory: &mut Destination<'_>) -> Result<()> {
        self.check_length(chunk.len())?;
        self.run(&self.copy, chunk.into(), self.chunk_offset, memory, self.memory_offset)
    }

    /// Copies the box from a chunk of fill values, which are in native byte order, to memory.
    pub(super) fn read_fill_chunk(&self, chunk: &[u8], memory: &mut Destination<'_>) -> Result<()> {
        self.check_length(chunk.len())?;
        let copy = StridedCopy::new(self.variable.element_size(), None, self.chunk_axes())?;
        self.run(&copy, chunk.into(), self.chunk_offset, memory, self.memory_offset)
    }

    /// Copies the box from memory to a chunk that is to be stored.
    pub(super) fn write_chunk(&self, memory: Source<'_>, chunk: &mut Destination<'_>) -> Result<()> {
        self.check_length(chunk.len())?;
        self.run(&self.copy, memory, self.memory_offset, chunk, self.chunk_offset)
    }

    /// Fills the box in memory with the fill value.
    pub(super) fn read_fill_value(&mut self, memory: &mut Destination<'_>) -> Result<()> {
        let fill = match self.fill.take() {
            Some(fill) => fill,
            None => self.prepare_fill(None, self.fill_axes())?,
        };
        self.run_fill(&fill, memory, self.memory_offset)?;
        self.fill = Some(fill);
        Ok(())
    }

    /// Runs a copy that was prepared by `prepare_fill`. Zeros stand for no fill value and are not for a copier.
    fn run_fill(&self, fill: &StridedCopy, destination: &mut Destination<'_>, offset: usize) -> Result<()> {
        match self.variable.fill_value() {
            Some(value) => self.run(fill, value.into(), 0, destination, offset),
            None => fill.run([0].as_slice().into(), 0, destination, offset),
        }
    }

    /// Fills a whole chunk that is to be stored with the fill value.
    pub(super) fn fill_chunk(&self, chunk: &mut Destination<'_>) -> Result<()> {
        self.check_length(chunk.len())?;
        let size = self.variable.element_size();
        let axis = Axis { count: chunk.len() / size, source: 0, destination: size as isize };
        let fill = self.prepare_fill(self.variable.swapped_word(), std::iter::once(axis))?;
        self.run_fill(&fill, chunk, 0)
    }

    /// Runs a copy with the variable's copier, if it has one.
    fn run(
        &self,
        copy: &StridedCopy,
        source: Source<'_>,
        source_offset: usize,
        destination: &mut Destination<'_>,
        destination_offset: usize,
    ) -> Result<()> {
        match self.variable.copier() {
            None => copy.run(source, source_offset, destination, destination_offset),
            Some(copier) => {
                copy.run_with(source, source_offset, destination, destination_offset, &mut |count, from, to| {
                    copier.copy(self.access, count, from, to)
                })
            }
        }
    }

    /// Prepares the copy between a stored chunk and memory.
    #[inline]
    fn prepare(&mut self) -> Result<()> {
        let mut copy = std::mem::take(&mut self.copy);
        let swap = self.variable.swapped_word();
        let result = copy.prepare(self.variable.element_size(), swap, self.chunk_axes());
        self.copy = copy;
        result
    }

    /// The axes of the current box between a chunk and memory, in the direction of the access, innermost first.
    #[inline]
    fn chunk_axes(&self) -> impl Iterator<Item = Axis> {
        let is_read = self.access == Access::Read;
        let chunk = self.chunk_strides.iter().zip(self.plan.dimensions());
        let sides = chunk.zip(self.layout.strides()).zip(self.shape.iter());
        sides.rev().map(move |(((stride, dimension), &memory), &count)| {
            // Where the product overflows, the box has one element along this dimension and the axis is dropped.
            let chunk = stride.wrapping_mul(dimension.slice().stride() as isize);
            let (source, destination) = if is_read { (chunk, memory) } else { (memory, chunk) };
            Axis { count, source, destination }
        })
    }

    /// The same one element for all axes or, without a fill value, the same byte of 0 for all bytes of every element.
    fn prepare_fill(&self, swap: Option<usize>, axes: impl Iterator<Item = Axis>) -> Result<StridedCopy> {
        let element_size = self.variable.element_size();
        match self.variable.fill_value() {
            Some(_) => StridedCopy::new(element_size, swap, axes),
            None => {
                let element = Axis { count: element_size, source: 0, destination: 1 };
                StridedCopy::new(1, None, std::iter::once(element).chain(axes))
            }
        }
    }

    /// The axes of the current box from one element to memory, innermost first.
    fn fill_axes(&self) -> impl Iterator<Item = Axis> {
        let sides = self.layout.strides().iter().zip(self.shape.iter());
        sides.rev().map(|(&destination, &count)| Axis { count, source: 0, destination })
    }

    fn check_length(&self, found: usize) -> Result<()> {
        let expected = self.variable.chunk_bytes();
        if found == expected { Ok(()) } else { Err(ErrorKind::ChunkLength { found, expected }.into()) }
    }
}
