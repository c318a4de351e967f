//! Moving the box of one chunk after another between the chunk's own layout and the memory's.

use super::layout::{Layout, row_major};
use crate::copy::{Axis, Destination, Source, StridedCopy};
use crate::dims::{self, Dims};
use crate::error::{ErrorKind, Result};
use crate::hyperslab::Access;
use crate::plan::{Plan, Walk};
use crate::variable::Variable;

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
    pub(super) fn new(variable: &'a Variable, plan: &'a Plan, layout: &'a Layout, access: Access) -> Result<Self> {
        let size = variable.element_size();
        Ok(Mover {
            variable,
            plan,
            layout,
            access,
            chunk_strides: row_major(size, variable.dimensions().iter().map(|dimension| dimension.chunklen()))?,
            // No box has this shape, but that of a scalar, for which the copy is prepared.
            shape: dims::filled(variable.rank(), 0)?,
            chunk_offset: 0,
            memory_offset: layout.first(),
            is_covered: false,
            copy: StridedCopy::new(size, variable.swapped_word(), std::iter::empty())?,
            fill: None,
        })
    }

    /// Does `one` for each chunk, in order, with the mover pointing at its box and the chunk's indices. Counts those done.
    pub(super) fn for_each_chunk(
        mut self,
        done: &mut usize,
        mut one: impl FnMut(&mut Self, &[isize]) -> Result<()>,
    ) -> Result<()> {
        let mut walk = self.plan.walk()?;
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
        (self.chunk_offset, self.memory_offset) = (0, self.layout.first());
        let mut same_shape = true;
        for (d, projection) in walk.projections().iter().enumerate() {
            // Both stay within what was checked to fit, though a part of the sum may not.
            let in_chunk = (projection.first as isize).wrapping_mul(self.chunk_strides[d]);
            let in_memory = (projection.iopos as isize).wrapping_mul(self.layout.strides()[d]);
            self.chunk_offset = self.chunk_offset.wrapping_add_signed(in_chunk);
            self.memory_offset = self.memory_offset.wrapping_add_signed(in_memory);
            same_shape &= self.shape[d] == projection.iocount;
            self.shape[d] = projection.iocount;
        }
        self.is_covered = self.plan.covers(walk.projections());
        if !same_shape {
            self.copy = self.prepare(self.variable.swapped_word())?;
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
        self.run(&self.prepare(None)?, chunk.into(), self.chunk_offset, memory, self.memory_offset)
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
            None => self.prepare_fill(None, self.axes(|_| 0))?,
        };
        match self.variable.fill_value() {
            Some(value) => self.run(&fill, value.into(), 0, memory, self.memory_offset)?,
            None => fill.run([0].as_slice().into(), 0, memory, self.memory_offset)?,
        }
        self.fill = Some(fill);
        Ok(())
    }

    /// Fills a whole chunk that is to be stored with the fill value.
    pub(super) fn fill_chunk(&self, chunk: &mut Destination<'_>) -> Result<()> {
        self.check_length(chunk.len())?;
        let size = self.variable.element_size();
        let axis = Axis { count: chunk.len() / size, source: 0, destination: size as isize };
        let fill = self.prepare_fill(self.variable.swapped_word(), std::iter::once(axis))?;
        fill.run(self.variable.fill_value().unwrap_or(&[0]).into(), 0, chunk, 0)
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

    /// The copy between a chunk and memory, in the direction of the access.
    fn prepare(&self, swap: Option<usize>) -> Result<StridedCopy> {
        let axes = self.axes(|d| {
            // Where the product overflows, the box has one element along this dimension and the axis is dropped.
            let stride = isize::try_from(self.plan.dimensions()[d].slice().stride()).unwrap_or(0);
            self.chunk_strides[d].checked_mul(stride).unwrap_or(0)
        });
        let axes = axes.map(|axis| match self.access {
            Access::Read => axis,
            Access::Write => Axis { source: axis.destination, destination: axis.source, ..axis },
        });
        StridedCopy::new(self.variable.element_size(), swap, axes)
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

    /// The axes of the current box, innermost first: from the given strides to the memory's.
    fn axes(&self, source: impl Fn(usize) -> isize) -> impl Iterator<Item = Axis> {
        (0..self.shape.len()).rev().map(move |d| Axis {
            count: self.shape[d],
            source: source(d),
            destination: self.layout.strides()[d],
        })
    }

    fn check_length(&self, found: usize) -> Result<()> {
        let expected = self.variable.chunk_bytes();
        if found == expected { Ok(()) } else { Err(ErrorKind::ChunkLength { found, expected }.into()) }
    }
}
