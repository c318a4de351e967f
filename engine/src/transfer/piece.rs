//! The piece of a hyperslab that lies in one chunk, and how it is moved between the chunk and memory.

use std::ops::Range;

use crate::copy::{self, Axis, Destination, List, Source, StridedCopy, Volume};
use crate::dims;
use crate::error::{ErrorKind, Result};
use crate::grid::Access;
use crate::store::{ChunkStore, Request};
use crate::variable::Variable;

/// A box of one chunk's elements, and where they are on either side. Offsets and strides are in bytes. With lists it is
/// such a box for each combination of their places.
#[derive(Clone, Copy)]
pub(super) struct Piece<'p> {
    /// The chunk's indices.
    pub indices: &'p [isize],
    /// The box's axes from chunk to memory, slowest first. Axes of length 1 may be left out.
    pub axes: &'p [Axis],
    /// Where boxes are, if there are several; the first list is the innermost.
    pub lists: &'p [List<'p>],
    /// The copy of the box, in the direction of the transfer.
    pub copy: &'p StridedCopy,
    /// Pieces with the same number have the same axes.
    pub shape: usize,
    /// Where the box's first element is in the chunk.
    pub chunk_offset: usize,
    /// Where it is in memory.
    pub memory_offset: usize,
    /// How many bytes the chunk has.
    pub chunk_bytes: usize,
    /// For a write: whether the box is all of the chunk that lies inside the dimensions.
    pub is_covered: bool,
    /// For a write: whether the box is the whole chunk.
    pub is_whole: bool,
}

impl Piece<'_> {
    /// How many elements there are.
    pub(super) fn num_elements(&self) -> usize {
        let lens = self.lists.iter().map(|list| list.places().len());
        self.axes.iter().map(|axis| axis.count).chain(lens).product()
    }

    /// The bytes of the chunk from the box's first to its last; for a read.
    #[inline]
    pub(super) fn needed(&self) -> Range<usize> {
        // Within a chunk no stride is negative, so the box reaches up from its first element only.
        let mut needed = self.chunk_offset..self.chunk_offset.saturating_add_signed(self.copy.source_reach().1);
        for list in self.lists {
            let (least, most) = list.reach();
            needed = needed.start + least..needed.end + most;
        }
        needed
    }
}

/// Moves pieces of one variable's chunks.
pub(super) struct Mover<'v> {
    variable: &'v Variable,
    access: Access,
    /// The copy from the fill value to memory for pieces of the shape with this number.
    fill: Option<(usize, StridedCopy)>,
}

impl<'v> Mover<'v> {
    #[inline]
    pub(super) fn new(variable: &'v Variable, access: Access) -> Self {
        Mover { variable, access, fill: None }
    }

    /// The piece's chunk, as a store is asked for it.
    #[inline(always)]
    pub(super) fn request<'p>(&self, piece: &Piece<'p>) -> Request<'p> {
        // The slice's pointer is loaded without its length. To load both at once, the processor would have to wait
        // until they are stored to its cache, behind all that the last piece has stored.
        let indices = piece.indices.get(..self.variable.rank()).unwrap_or_default();
        Request::new(indices, self.access, piece.chunk_bytes)
    }

    /// Where the whole chunk begins in memory, if the box is the whole chunk and lies there in one piece.
    pub(super) fn whole_chunk(&self, piece: &Piece<'_>) -> Option<usize> {
        let is_box = piece.lists.is_empty() && self.variable.copier().is_none();
        (is_box && piece.copy.is_one_piece(piece.chunk_bytes)).then_some(piece.memory_offset)
    }

    /// Copies the box to memory from the bytes of a chunk that begin at `begin` and reach as far as the box needs.
    #[inline(always)]
    pub(super) fn read_chunk(
        &self,
        piece: &Piece<'_>,
        bytes: &[u8],
        begin: usize,
        memory: &mut Destination<'_>,
    ) -> Result<()> {
        if !piece.lists.is_empty() {
            return self.run_lists::<false>(piece, bytes.into(), memory, piece.chunk_offset.wrapping_sub(begin));
        }
        self.run(piece.copy, bytes.into(), piece.chunk_offset - begin, memory, piece.memory_offset)
    }

    /// Copies the box to memory from a chunk of fill values, which are in native byte order.
    pub(super) fn read_fill_chunk(&self, piece: &Piece<'_>, chunk: &[u8], memory: &mut Destination<'_>) -> Result<()> {
        let axes = piece.axes.iter().rev().copied();
        let copy = piece.copy.like(self.variable.element_size(), None, axes)?;
        copy::for_each(piece.lists, (piece.chunk_offset, piece.memory_offset), &mut |in_chunk, in_memory| {
            self.run(&copy, chunk.into(), in_chunk, memory, in_memory)
        })
    }

    /// Copies the box from memory to a chunk that is to be stored.
    #[inline(always)]
    pub(super) fn write_chunk(&self, piece: &Piece<'_>, memory: Source<'_>, chunk: &mut Destination<'_>) -> Result<()> {
        if !piece.lists.is_empty() {
            return self.run_lists::<true>(piece, memory, chunk, piece.chunk_offset);
        }
        self.run(piece.copy, memory, piece.memory_offset, chunk, piece.chunk_offset)
    }

    /// Copies the boxes of lists, whose chunk begins there in the source or, with `TO_CHUNK`, in the destination. Of
    /// those that are written to the same place, the last one comes last.
    #[inline(never)]
    fn run_lists<const TO_CHUNK: bool>(
        &self,
        piece: &Piece<'_>,
        source: Source<'_>,
        destination: &mut Destination<'_>,
        chunk_offset: usize,
    ) -> Result<()> {
        let (at, element) =
            ((chunk_offset, piece.memory_offset), (self.variable.element_size(), self.variable.swapped_word()));
        let (inner, outer) = piece.lists.split_first().ok_or(ErrorKind::Internal)?;
        // Where the list's elements are closer together than those of the box, it is gone through for each of those.
        let is_wider = |axis: &Axis| axis.count == 1 || axis.source.unsigned_abs() > inner.chunk_step();
        if self.variable.copier().is_none() && piece.axes.iter().all(is_wider) {
            return copy::for_each(outer, at, &mut |in_chunk, in_memory| {
                copy::for_each_of_box(piece.axes, (in_chunk, in_memory), &mut |in_chunk, in_memory| {
                    let (from, to) = if TO_CHUNK { (in_memory, in_chunk) } else { (in_chunk, in_memory) };
                    copy::elements::<TO_CHUNK>(inner, element, (source, from), (destination, to))
                })
            });
        }
        copy::for_each(piece.lists, at, &mut |in_chunk, in_memory| {
            let (from, to) = if TO_CHUNK { (in_memory, in_chunk) } else { (in_chunk, in_memory) };
            self.run(piece.copy, source, from, destination, to)
        })
    }

    /// Fills the box in memory with the fill value.
    pub(super) fn read_fill_value(&mut self, piece: &Piece<'_>, memory: &mut Destination<'_>) -> Result<()> {
        let fill = match self.fill.take() {
            Some((shape, fill)) if shape == piece.shape => fill,
            _ => {
                let axes = piece.axes.iter().rev().map(|&axis| Axis { source: 0, ..axis });
                self.prepare_fill(piece.copy, None, axes)?
            }
        };
        copy::for_each(piece.lists, (0, piece.memory_offset), &mut |_, offset| self.run_fill(&fill, memory, offset))?;
        self.fill = Some((piece.shape, fill));
        Ok(())
    }

    /// Fills a whole chunk that is to be stored with the fill value.
    pub(super) fn fill_chunk(&self, piece: &Piece<'_>, chunk: &mut Destination<'_>) -> Result<()> {
        let size = self.variable.element_size();
        let axis = Axis { count: chunk.len() / size, source: 0, destination: size as isize };
        let fill = self.prepare_fill(piece.copy, self.variable.swapped_word(), std::iter::once(axis))?;
        self.run_fill(&fill, chunk, 0)
    }

    /// The same one element for all axes or, without a fill value, the same byte of 0 for all bytes of every element.
    fn prepare_fill(
        &self,
        like: &StridedCopy,
        swap: Option<usize>,
        axes: impl Iterator<Item = Axis>,
    ) -> Result<StridedCopy> {
        let element_size = self.variable.element_size();
        match self.variable.fill_value() {
            Some(_) => like.like(element_size, swap, axes),
            None => {
                let element = Axis { count: element_size, source: 0, destination: 1 };
                like.like(1, None, std::iter::once(element).chain(axes))
            }
        }
    }

    /// Runs a copy that was prepared by `prepare_fill`. Zeros, which stand for no fill value, are not given to a
    /// copier.
    fn run_fill(&self, fill: &StridedCopy, destination: &mut Destination<'_>, offset: usize) -> Result<()> {
        match self.variable.fill_value() {
            Some(value) => self.run(fill, value.into(), 0, destination, offset),
            None => fill.run([0].as_slice().into(), 0, destination, offset),
        }
    }

    /// Runs a copy with the variable's copier, if it has one. Each read from a store that lends comes by here.
    #[inline(always)]
    pub(super) fn run(
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
                let mut one = |count, from, to| copier.copy(self.access, count, from, to);
                copy.run_with(source, source_offset, destination, destination_offset, &mut one)
            }
        }
    }
}

/// A transfer of this many bytes uses non-temporal stores: what it would push out of the cache is worth more than what
/// it would leave there.
const STREAM_BYTES: usize = 16 << 20;

/// What a transfer of this many bytes writes to is not in the processor's nearest caches. Measured: in smaller
/// transfers prefetching it costs more than it saves, in larger ones less.
const LARGE_BYTES: usize = 512 << 10;

/// Smaller chunks are stored as usual, except that they are read so if their rows are whole lines of the processor's
/// cache, each of which it stores at once. A write waits for its non-temporal stores at the end of each chunk, which
/// the lender gets back.
const STREAM_CHUNK: usize = 64 << 10;

/// A core's cache holds a chunk up to this many bytes, and what it is decoded from and with.
const CACHED_CHUNK: usize = 1 << 20;

/// Whether a chunk that lands whole in memory is decoded in the processor's cache first and copied past the cache from
/// there: on some processors a decoder's stores take long to memory that is not in the cache, because they fetch what
/// they overwrite.
pub(super) fn decodes_in_cache(copy: &StridedCopy, chunk_bytes: usize) -> bool {
    copy.volume().streams() && chunk_bytes <= CACHED_CHUNK && copy::copies_past_cache()
}

/// What the copies of a transfer of so many bytes know of it.
#[inline]
pub(super) fn volume(variable: &Variable, access: Access, is_lending: bool, bytes: usize) -> Volume {
    if bytes < LARGE_BYTES {
        return Volume::Small;
    }
    let grid = variable.grid(access);
    let is_long = grid.chunk_bytes() >= STREAM_CHUNK;
    let has_lines = || {
        let row = grid.dimensions().last().map_or(1, |dimension| dimension.chunklen()) * variable.element_size();
        row % copy::LINE == 0 && copy::stores_lines()
    };
    match access {
        Access::Read if bytes >= STREAM_BYTES && (is_long || has_lines()) => Volume::Streaming,
        Access::Read => Volume::Large,
        // A chunk that is written to a buffer is used there at once.
        Access::Write if bytes >= STREAM_BYTES && is_long && is_lending => Volume::Streaming,
        // One chunk at a time.
        Access::Write => Volume::Small,
    }
}

/// Prepares the copy of a box, whose axes lead from chunk to memory and are given slowest first.
#[inline]
pub(super) fn prepare(copy: &mut StridedCopy, variable: &Variable, access: Access, axes: &[Axis]) -> Result<()> {
    if variable.chunk_order().is_some() {
        return prepare_ordered(copy, variable, access, axes);
    }
    let (size, swap) = (variable.element_size(), variable.swapped_word());
    match access {
        Access::Read => copy.prepare(size, swap, axes.iter().rev().copied()),
        Access::Write => copy.prepare(size, swap, axes.iter().rev().map(|axis| axis.reversed())),
    }
}

/// [`prepare`] for chunks whose axes have another order: axes are merged as they come, so they come in that order.
#[cold]
fn prepare_ordered(copy: &mut StridedCopy, variable: &Variable, access: Access, axes: &[Axis]) -> Result<()> {
    let (size, swap) = (variable.element_size(), variable.swapped_word());
    let mut axes = dims::copied(axes.iter().copied())?;
    axes.sort_unstable_by_key(|axis| axis.source);
    match access {
        Access::Read => copy.prepare(size, swap, axes.iter().copied()),
        Access::Write => copy.prepare(size, swap, axes.iter().map(|axis| axis.reversed())),
    }
}

/// Whether the store does with a variable what a transfer asks of it.
#[inline]
pub(super) fn check_store(variable: &Variable, store: &ChunkStore<'_>, access: Access) -> Result<()> {
    if variable.has_texts() != store.has_texts() {
        return Err(ErrorKind::Argument(
            "variable-length strings need the variable and the chunk store of the same array",
        )
        .into());
    }
    // Elements with a copier own what they point to, so they can only be copied where they are: in a chunk on loan.
    if variable.copier().is_some() && store.lender_of(variable).is_none() {
        return Err(ErrorKind::Argument("elements with a copier need a zero-copy store without codecs").into());
    }
    if access == Access::Write { store.check_writable() } else { Ok(()) }
}
