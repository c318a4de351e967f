//! Plans that are kept to be executed again and again: their pieces are found once, and their copies prepared once.

use std::ops::{Deref, Range};

use super::element::SingleElement;
use super::piece::{self, Mover, Piece};
use super::read::Reading;
use super::walk::Walk;
use crate::copy::{Axis, Destination, StridedCopy, Volume};
use crate::dims::{self, Dims};
use crate::error::{ErrorKind, Result};
use crate::grid::Access;
use crate::plan::Plan;
use crate::store::{self, BorrowedChunk, Request, Take, ZeroCopyReader};

/// Plans of more chunks are walked through at every execution, of which the preparation is then a small part.
const MAX_CHUNKS: usize = 64;

/// Plans of more bytes are too: their copies depend on the store. So are those of points and lists of indices.
const MAX_BYTES: usize = 1 << 20;

/// A plan that owns all its data and is prepared for repeated execution. Several threads may execute it at the same
/// time.
pub struct Prepared {
    plan: Plan<'static>,
    shapes: Vec<Shape>,
    /// Empty for plans that are walked through.
    places: Vec<Place>,
    /// Whether the plan is to read a single element of a variable without a copier whose chunks have the same layout.
    is_element: bool,
}

/// What pieces of the same shape have in common.
struct Shape {
    axes: Dims<Axis>,
    copy: StridedCopy,
}

/// Where a piece is.
struct Place {
    indices: Dims<isize>,
    shape: usize,
    chunk_offset: usize,
    memory_offset: usize,
    chunk_bytes: usize,
    is_covered: bool,
    is_whole: bool,
}

impl Prepared {
    /// Prepares a plan.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(plan: Plan<'_>) -> Result<Self> {
        let plan = plan.into_owned()?;
        let is_element = plan.num_elements() == 1
            && plan.access() == Access::Read
            && plan.variable().copier().is_none()
            && plan.grid().is_regular();
        let mut prepared = Prepared { plan, shapes: Vec::new(), places: Vec::new(), is_element };
        let Prepared { plan, shapes, places, .. } = &mut prepared;
        let num_chunks = plan.num_chunks();
        if num_chunks == 0 || num_chunks > MAX_CHUNKS || plan.selected_bytes() > MAX_BYTES || plan.is_listed() {
            return Ok(prepared);
        }
        places.try_reserve_exact(num_chunks).map_err(|_| ErrorKind::OutOfMemory)?;
        let volume = piece::volume(plan.variable(), plan.access(), false, plan.selected_bytes());
        let mut walk = Walk::new(plan, volume);
        for i in 0..num_chunks {
            walk.go_to(i)?;
            let piece = walk.piece()?;
            let shape = match shapes.iter().position(|shape| shape.axes.as_slice() == piece.axes) {
                Some(shape) => shape,
                None => {
                    let axes = dims::copied(piece.axes.iter().copied())?;
                    let mut copy = StridedCopy::unprepared(Volume::Small);
                    piece::prepare(&mut copy, plan.variable(), plan.access(), &axes)?;
                    shapes.try_reserve(1).map_err(|_| ErrorKind::OutOfMemory)?;
                    shapes.push(Shape { axes, copy });
                    shapes.len() - 1
                }
            };
            places.push(Place {
                indices: dims::copied(piece.indices.iter().copied())?,
                shape,
                chunk_offset: piece.chunk_offset,
                memory_offset: piece.memory_offset,
                chunk_bytes: piece.chunk_bytes,
                is_covered: piece.is_covered,
                is_whole: piece.is_whole,
            });
        }
        drop(walk);
        Ok(prepared)
    }

    /// The element, if the plan is to read a single one of such a variable.
    #[inline]
    pub(super) fn element(&self) -> Option<SingleElement<'_>> {
        match self.places.as_slice() {
            [Place { indices, chunk_offset, memory_offset, .. }] if self.is_element => {
                Some(SingleElement { indices, chunk_offset: *chunk_offset, memory_offset: *memory_offset })
            }
            _ => None,
        }
    }

    /// Whether all pieces are prepared, and may be moved without asking for a copier.
    #[inline]
    pub(super) fn is_ready(&self) -> bool {
        !self.places.is_empty() && self.plan.variable().copier().is_none()
    }

    /// Reads the pieces of some chunks, which are all prepared, from a store that lends, and counts those that are
    /// done.
    pub(super) fn read_lent(
        &self,
        lender: &dyn ZeroCopyReader,
        chunks: Range<usize>,
        out: &mut Destination<'_>,
        done: &mut usize,
    ) -> Result<()> {
        let variable = self.plan.variable();
        for place in self.places.get(chunks).ok_or(ErrorKind::Internal)? {
            let shape = &self.shapes[place.shape];
            let request = Request::new(&place.indices, Access::Read, place.chunk_bytes);
            let mut take = |lent: BorrowedChunk<'_>| match lent {
                BorrowedChunk::Chunk(bytes) => {
                    let bytes = store::due(lender, bytes, place.chunk_bytes)?;
                    shape.copy.run(bytes.into(), place.chunk_offset, out, place.memory_offset)
                }
                _ => Reading::lent(&mut Mover::new(variable, Access::Read), &place.piece(shape), lender, lent, out),
            };
            lender.lend(&request, Take::new(&mut take)).map_err(|error| error.in_chunk(&place.indices))?;
            *done += 1;
        }
        Ok(())
    }

    /// The i-th chunk's piece, if it is prepared.
    #[inline]
    pub(super) fn piece(&self, i: usize) -> Option<Piece<'_>> {
        let place = self.places.get(i)?;
        Some(place.piece(self.shapes.get(place.shape)?))
    }
}

impl Place {
    #[inline]
    fn piece<'p>(&'p self, shape: &'p Shape) -> Piece<'p> {
        Piece {
            indices: &self.indices,
            axes: &shape.axes,
            lists: &[],
            copy: &shape.copy,
            shape: self.shape,
            chunk_offset: self.chunk_offset,
            memory_offset: self.memory_offset,
            chunk_bytes: self.chunk_bytes,
            is_covered: self.is_covered,
            is_whole: self.is_whole,
        }
    }
}

impl Deref for Prepared {
    type Target = Plan<'static>;

    fn deref(&self) -> &Plan<'static> {
        &self.plan
    }
}
