//! Moving the box of one chunk after another between the chunk's own layout and the memory's.

use super::piece::Piece;
use crate::copy::{Axis, Destination, Source, StridedCopy};
use crate::error::{ErrorKind, Result};
use crate::hyperslab::Access;
use crate::store::{Reader, Store};
use crate::variable::Variable;

/// A transfer of this many bytes does not pass through the cache: what it would push out is worth more than what it leaves.
const STREAM_BYTES: usize = 16 << 20;

/// Chunks smaller than this do: what passes by the cache is waited for at the end of each chunk.
const STREAM_CHUNK: usize = 64 << 10;

/// The copies for boxes of one shape, prepared once for all boxes that have it.
pub(super) struct Mover<'a> {
    variable: &'a Variable,
    access: Access,
    /// Between a stored chunk and memory and, once needed, from the fill value to memory.
    copy: StridedCopy,
    fill: Option<StridedCopy>,
}

impl<'a> Mover<'a> {
    /// A mover for boxes of `bytes` in all.
    #[inline]
    pub(super) fn new(variable: &'a Variable, store: &Store<'_>, access: Access, bytes: usize) -> Self {
        let mut copy = StridedCopy::default();
        // A chunk that is written to a buffer is used there at once.
        let is_kept = access == Access::Read || matches!(store.reader, Reader::Lending(_));
        copy.set_streaming(is_kept && bytes >= STREAM_BYTES && variable.chunk_bytes() >= STREAM_CHUNK);
        Mover { variable, access, copy, fill: None }
    }

    /// Gets ready for the piece.
    #[inline]
    pub(super) fn aim(&mut self, piece: &Piece<'_>) -> Result<()> {
        if !piece.has_new_shape() {
            return Ok(());
        }
        self.fill = None;
        let (size, swap) = (self.variable.element_size(), self.variable.swapped_word());
        match self.access {
            Access::Read => self.copy.prepare(size, swap, piece.axes()),
            Access::Write => self.copy.prepare(size, swap, piece.axes().map(Axis::reversed)),
        }
    }

    /// Where the whole chunk begins in memory, if the box is the whole chunk and lies there in one piece.
    pub(super) fn whole_chunk(&self, piece: &Piece<'_>) -> Option<usize> {
        (self.copy.is_one_piece(self.variable.chunk_bytes()) && self.variable.copier().is_none())
            .then_some(piece.memory_offset())
    }

    /// Copies the box from a stored chunk to memory.
    #[inline]
    pub(super) fn read_chunk(&self, piece: &Piece<'_>, chunk: &[u8], memory: &mut Destination<'_>) -> Result<()> {
        self.check_length(chunk.len())?;
        self.run(&self.copy, chunk.into(), piece.chunk_offset(), memory, piece.memory_offset())
    }

    /// Copies the box from a chunk of fill values, which are in native byte order, to memory.
    pub(super) fn read_fill_chunk(&self, piece: &Piece<'_>, chunk: &[u8], memory: &mut Destination<'_>) -> Result<()> {
        self.check_length(chunk.len())?;
        let copy = self.copy.like(self.variable.element_size(), None, piece.axes())?;
        self.run(&copy, chunk.into(), piece.chunk_offset(), memory, piece.memory_offset())
    }

    /// Copies the box from memory to a chunk that is to be stored.
    pub(super) fn write_chunk(&self, piece: &Piece<'_>, memory: Source<'_>, chunk: &mut Destination<'_>) -> Result<()> {
        self.check_length(chunk.len())?;
        self.run(&self.copy, memory, piece.memory_offset(), chunk, piece.chunk_offset())
    }

    /// Fills the box in memory with the fill value.
    pub(super) fn read_fill_value(&mut self, piece: &Piece<'_>, memory: &mut Destination<'_>) -> Result<()> {
        let fill = match self.fill.take() {
            Some(fill) => fill,
            None => self.prepare_fill(None, piece.axes().map(|axis| Axis { source: 0, ..axis }))?,
        };
        self.run_fill(&fill, memory, piece.memory_offset())?;
        self.fill = Some(fill);
        Ok(())
    }

    /// Fills a whole chunk that is to be stored with the fill value.
    pub(super) fn fill_chunk(&self, chunk: &mut Destination<'_>) -> Result<()> {
        self.check_length(chunk.len())?;
        let size = self.variable.element_size();
        let axis = Axis { count: chunk.len() / size, source: 0, destination: size as isize };
        let fill = self.prepare_fill(self.variable.swapped_word(), std::iter::once(axis))?;
        self.run_fill(&fill, chunk, 0)
    }

    /// The same one element for all axes or, without a fill value, the same byte of 0 for all bytes of every element.
    fn prepare_fill(&self, swap: Option<usize>, axes: impl Iterator<Item = Axis>) -> Result<StridedCopy> {
        let element_size = self.variable.element_size();
        match self.variable.fill_value() {
            Some(_) => self.copy.like(element_size, swap, axes),
            None => {
                let element = Axis { count: element_size, source: 0, destination: 1 };
                self.copy.like(1, None, std::iter::once(element).chain(axes))
            }
        }
    }

    /// Runs a copy that was prepared by `prepare_fill`. Zeros stand for no fill value and are not for a copier.
    fn run_fill(&self, fill: &StridedCopy, destination: &mut Destination<'_>, offset: usize) -> Result<()> {
        match self.variable.fill_value() {
            Some(value) => self.run(fill, value.into(), 0, destination, offset),
            None => fill.run([0].as_slice().into(), 0, destination, offset),
        }
    }

    /// Runs a copy with the variable's copier, if it has one.
    #[inline]
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

    fn check_length(&self, found: usize) -> Result<()> {
        let expected = self.variable.chunk_bytes();
        if found == expected { Ok(()) } else { Err(ErrorKind::ChunkLength { found, expected }.into()) }
    }
}
