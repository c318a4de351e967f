//! Going through the chunks of a plan, piece by piece.

use std::hint::black_box;

use super::piece::{self, Piece};
use crate::copy::{Axis, List, StridedCopy, Volume};
use crate::dims::{self, Dims};
use crate::error::{ErrorKind, Result};
use crate::grid::{Access, ChunkLayout, Grid};
use crate::plan::Plan;
use crate::projection::Projection;

/// A position in a plan, and the piece there. A step to the next piece costs only what the dimensions cost that move.
///
/// The fields have this order in memory: where an empty list would lie before a field that begins as zero, the compiler
/// makes both elsewhere, with the list's room, and copies all of it.
#[repr(C)]
pub(super) struct Walk<'a> {
    plan: &'a Plan<'a>,
    grid: &'a Grid,
    projections: Dims<Projection>,
    indices: Dims<isize>,
    axes: Dims<Axis>,
    /// The chunk to which the walk advances from the current one; none if it has not begun, for no plan has so many,
    /// nor where chunks have layouts of their own, or lists.
    next: usize,
    copy: StridedCopy,
    chunk_offset: usize,
    memory_offset: usize,
    /// Of lists of indices and points, where what the copy moves is, innermost first.
    lists: Vec<List<'a>>,
    /// How many shapes there have been, and whether the copy is for the current one.
    shape: usize,
    is_prepared: bool,
    /// Whether boxes of the current shape are whole chunks.
    is_whole: bool,
    /// The layout of the current chunk, if it is not that of all.
    layout: Option<ChunkLayout>,
    chunk_bytes: usize,
}

impl<'a> Walk<'a> {
    /// A walk that has not begun. Its copies are of a transfer that writes so much.
    #[inline]
    pub(super) fn new(plan: &'a Plan<'a>, volume: Volume) -> Self {
        Walk {
            plan,
            grid: plan.grid(),
            projections: Dims::new(),
            indices: Dims::new(),
            axes: Dims::new(),
            chunk_offset: 0,
            memory_offset: 0,
            lists: Vec::new(),
            shape: 0,
            is_prepared: false,
            copy: StridedCopy::unprepared(volume),
            is_whole: false,
            layout: None,
            chunk_bytes: plan.grid().chunk_bytes(),
            next: usize::MAX,
        }
    }

    /// Goes to the piece of the i-th chunk, which is one of the plan's. It is found quickest if the chunk is the one
    /// after the last.
    #[inline(always)]
    pub(super) fn go_to(&mut self, i: usize) -> Result<()> {
        if self.next == i {
            self.advance();
            self.next = i + 1;
            return Ok(());
        }
        self.begin(i)?;
        self.next = if self.layout.is_none() && self.lists.is_empty() { i + 1 } else { usize::MAX };
        Ok(())
    }

    /// Goes to the piece of the i-th chunk, which is one of the plan's.
    #[inline]
    pub(super) fn begin(&mut self, i: usize) -> Result<()> {
        if self.plan.is_listed() { self.begin_in::<true>(i) } else { self.begin_in::<false>(i) }
    }

    /// The same in a plan that is one of lists or points, or neither.
    #[inline]
    fn begin_in<const LISTED: bool>(&mut self, i: usize) -> Result<()> {
        let dimensions = self.plan.dimensions();
        let rank = if LISTED { self.plan.rank() } else { dimensions.len() };
        dims::fill(&mut self.projections, rank, Projection::default())?;
        dims::fill(&mut self.indices, rank, 0)?;
        dims::fill(&mut self.axes, rank, Axis { count: 1, source: 0, destination: 0 })?;
        self.plan.chunk(i, &mut self.projections)?;
        for (index, projection) in self.indices.iter_mut().zip(&self.projections) {
            *index = projection.chunk_index;
        }
        if !self.grid.is_regular() {
            self.layout = self.plan.variable().chunk_layout_of(self.plan.access(), &self.indices)?;
            self.chunk_bytes = self.layout.as_ref().map_or(0, |layout| layout.bytes);
        }
        let strides = self.layout.as_ref().map_or(self.grid.strides(), |layout| &layout.strides);

        let layout = self.plan.layout();
        (self.chunk_offset, self.memory_offset) = (0, layout.first());
        self.is_prepared = false;
        self.shape += 1;
        let mut dense = self.plan.variable().element_size() as isize;
        self.lists.clear();
        if let (true, Some(places)) = (LISTED, self.plan.places(i)) {
            self.lists.try_reserve(1).map_err(|_| ErrorKind::OutOfMemory)?;
            let step = layout.strides().map_or(dense, |strides| strides[0]);
            self.lists.push(List::new(places, 1, step));
            return Ok(());
        }
        for d in (0..rank).rev() {
            let (slice, projection) = (dimensions[d].slice(), &self.projections[d]);
            let source = strides[d].wrapping_mul(slice.stride() as isize);
            let destination = layout.strides().map_or(dense, |strides| strides[d]);
            // It fits, or belongs to a dimension in which no step is taken.
            dense = dense.wrapping_mul(slice.count() as isize);
            if let (true, Some(places)) = (LISTED, dimensions[d].places(projection)) {
                self.lists.try_reserve(1).map_err(|_| ErrorKind::OutOfMemory)?;
                self.lists.push(List::new(places, strides[d], destination));
                continue;
            }
            self.axes[d] = Axis { count: projection.iocount, source, destination };
            // As in `advance`.
            let (in_chunk, in_memory) = (projection.first as isize, projection.iopos as isize);
            self.chunk_offset = self.chunk_offset.wrapping_add_signed(in_chunk.wrapping_mul(strides[d]));
            self.memory_offset = self.memory_offset.wrapping_add_signed(in_memory.wrapping_mul(destination));
        }
        Ok(())
    }

    /// Goes to the next chunk's piece, where all chunks have the same layout. After the last one comes the first.
    #[inline]
    fn advance(&mut self) {
        let (dimensions, strides) = (self.plan.dimensions(), self.grid.strides());
        let projections = self.projections.as_mut_slice();
        let (indices, axes) = (self.indices.as_mut_slice(), self.axes.as_mut_slice());
        for (d, dimension) in dimensions.iter().enumerate().rev() {
            let (current, axis) = (&mut projections[d], &mut axes[d]);
            let has_next = current.iopos + current.iocount < dimension.slice().count();
            if !has_next && current.iopos == 0 {
                continue;
            }
            let next = if has_next { dimension.after(current) } else { dimension.get(0).unwrap_or_default() };
            if next.iocount != current.iocount {
                self.is_prepared = false;
                self.shape += 1;
                axis.count = next.iocount;
            }
            let elements = [next.first.wrapping_sub(current.first), next.iopos.wrapping_sub(current.iopos)];
            // The sums over all dimensions stay within what was checked to fit, though a part of one may not.
            let [in_chunk, in_memory] = elements.map(|n| n as isize);
            self.chunk_offset = self.chunk_offset.wrapping_add_signed(in_chunk.wrapping_mul(strides[d]));
            self.memory_offset = self.memory_offset.wrapping_add_signed(in_memory.wrapping_mul(axis.destination));
            indices[d] = next.chunk_index;
            *current = next;
            if has_next {
                return;
            }
        }
    }

    /// The current chunk's indices.
    pub(super) fn indices(&self) -> &[isize] {
        &self.indices
    }

    /// Bytes in the current chunk.
    pub(super) fn chunk_bytes(&self) -> usize {
        self.chunk_bytes
    }

    /// The current piece.
    ///
    /// # Errors
    /// `OutOfMemory`.
    #[inline(always)]
    pub(super) fn piece(&mut self) -> Result<Piece<'_>> {
        if !self.is_prepared {
            self.prepare()?;
        }
        let is_write = self.plan.access() == Access::Write;
        let is_whole = is_write && self.is_whole;
        // Before the rest is loaded, which would not all stay in registers.
        let is_covered = is_write && (is_whole || self.plan.covers(&self.projections));
        Ok(Piece {
            indices: &self.indices,
            axes: &self.axes,
            lists: &self.lists,
            copy: &self.copy,
            shape: self.shape,
            // Each is loaded by itself. To load both at once, the processor would have to wait until `advance` has
            // stored them to its cache, behind all that the last piece has stored.
            chunk_offset: black_box(self.chunk_offset),
            memory_offset: black_box(self.memory_offset),
            chunk_bytes: self.chunk_bytes,
            is_covered,
            is_whole,
        })
    }

    #[cold]
    fn prepare(&mut self) -> Result<()> {
        piece::prepare(&mut self.copy, self.plan.variable(), self.plan.access(), &self.axes)?;
        let mut lengths = self.grid.dimensions().iter().zip(&self.indices).zip(&self.axes);
        self.is_whole = self.lists.is_empty()
            && lengths.all(|((dimension, &index), axis)| dimension.encoded_len(index) == axis.count);
        self.is_prepared = true;
        Ok(())
    }
}
