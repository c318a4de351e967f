//! Requests that touch one chunk only: the piece is found in one go, without a plan. Where chunks have a list of
//! lengths a plan finds it.

use super::element::SingleElement;
use super::piece::{self, Piece};
use crate::copy::{Axis, StridedCopy};
use crate::dims::{Dims, INLINE_RANK};
use crate::error::Result;
use crate::grid::Access;
use crate::hyperslab::{Chosen, Hyperslab, Lists};
use crate::variable::Variable;

/// A request that is one piece of one chunk, row-major and without gaps in memory.
pub(super) struct Single {
    rank: usize,
    indices: [isize; INLINE_RANK],
    /// The axes of more than one element.
    axes: Dims<Axis>,
    chunk_offset: usize,
    selected_bytes: usize,
    is_covered: bool,
    is_whole: bool,
}

impl Single {
    /// A request that is yet to be found.
    #[inline]
    pub(super) fn new() -> Self {
        Single {
            rank: 0,
            indices: [0; INLINE_RANK],
            axes: Dims::new(),
            chunk_offset: 0,
            selected_bytes: 0,
            is_covered: true,
            is_whole: true,
        }
    }

    /// Whether the request, for writing if `WRITE` is set, is valid and touches just one chunk; then this is it. If
    /// not, a plan tells what is wrong with it, or which chunks they are.
    #[inline(always)]
    pub(super) fn find<const WRITE: bool>(&mut self, variable: &Variable, hyperslab: &Hyperslab<'_>) -> bool {
        // The same for all, but a rank that the compiler knows saves it a quarter of the instructions.
        match variable.rank() {
            1 => self.find_in::<WRITE>(1, variable, hyperslab),
            2 => self.find_in::<WRITE>(2, variable, hyperslab),
            3 => self.find_in::<WRITE>(3, variable, hyperslab),
            4 => self.find_in::<WRITE>(4, variable, hyperslab),
            rank => self.find_in::<WRITE>(rank, variable, hyperslab),
        }
    }

    #[inline(always)]
    fn find_in<const WRITE: bool>(&mut self, rank: usize, variable: &Variable, hyperslab: &Hyperslab<'_>) -> bool {
        let grid = variable.grid(if WRITE { Access::Write } else { Access::Read });
        let Some(Lists { start, count, stride }) = hyperslab.lists(rank) else { return false };
        if rank > INLINE_RANK || !grid.is_regular() || hyperslab.chosen() != Chosen::Nothing {
            return false;
        }
        let mut offset = 0isize;
        let places = grid.dimensions()[..rank].iter().zip(&grid.strides()[..rank]).zip(&mut self.indices[..rank]);
        for (d, ((dimension, &chunk_stride), index)) in places.enumerate() {
            let start = start.map_or(0, |start| start[d]);
            let count = count.map_or(dimension.len(), |count| count[d]);
            let stride = stride.map_or(1, |stride| stride[d]);
            if stride < 1 || count == 0 || start >= dimension.len() {
                return false;
            }
            let (chunk, first) = dimension.regular_locate(dimension.position(start));
            *index = dimension.chunk_index(chunk);
            offset += first as isize * chunk_stride;
            if count > 1 {
                let reach = (count - 1).checked_mul(stride as usize);
                if reach.is_none_or(|reach| reach >= dimension.regular_limit(chunk) - first) {
                    return false;
                }
                self.axes.push(Axis { count, source: chunk_stride * stride, destination: 0 });
            }
            if WRITE {
                self.is_covered &= count == dimension.inside(chunk, dimension.regular_limit(chunk));
                self.is_whole &= count == dimension.regular_chunklen();
            }
        }
        (self.rank, self.chunk_offset, self.selected_bytes) = (rank, offset as usize, variable.element_size());
        for axis in self.axes.iter_mut().rev() {
            axis.destination = self.selected_bytes as isize;
            // The box lies within a chunk, whose size fits.
            self.selected_bytes *= axis.count;
        }
        true
    }

    /// How many bytes the request asks for.
    #[inline]
    pub(super) fn selected_bytes(&self) -> usize {
        self.selected_bytes
    }

    /// The chunk's indices.
    #[inline]
    pub(super) fn indices(&self) -> &[isize] {
        &self.indices[..self.rank]
    }

    /// The element, if the request is a single one.
    #[inline]
    pub(super) fn element(&self) -> Option<SingleElement<'_>> {
        let (indices, chunk_offset) = (self.indices(), self.chunk_offset);
        self.axes.is_empty().then_some(SingleElement { indices, chunk_offset, memory_offset: 0 })
    }

    /// The piece, ready to be moved by `copy`, which is prepared for it.
    ///
    /// # Errors
    /// `OutOfMemory`.
    #[inline]
    pub(super) fn piece<'p>(
        &'p self,
        variable: &Variable,
        access: Access,
        copy: &'p mut StridedCopy,
    ) -> Result<Piece<'p>> {
        piece::prepare(copy, variable, access, &self.axes)?;
        Ok(Piece {
            indices: self.indices(),
            axes: &self.axes,
            lists: &[],
            copy,
            shape: 0,
            chunk_offset: self.chunk_offset,
            memory_offset: 0,
            chunk_bytes: variable.grid(access).chunk_bytes(),
            is_covered: self.is_covered,
            is_whole: self.is_whole,
        })
    }
}
