//! A single element, from a chunk on loan: what many small reads do has the shortest way.

use super::piece::{self, Mover, Piece};
use crate::copy::{self, Destination, StridedCopy, Volume};
use crate::error::Result;
use crate::grid::Access;
use crate::store::{self, BorrowedChunk, Request, Take, ZeroCopyReader};
use crate::variable::Variable;

/// An element that is to be read, of a variable without a copier whose chunks have the same layout. Offsets are in
/// bytes.
pub(super) struct SingleElement<'e> {
    /// The indices of the chunk that it is in.
    pub indices: &'e [isize],
    /// Where it is in the chunk.
    pub chunk_offset: usize,
    /// Where it goes in memory.
    pub memory_offset: usize,
}

impl SingleElement<'_> {
    /// Reads it. An error names the chunk.
    #[inline]
    pub(super) fn read(
        &self,
        variable: &Variable,
        lender: &dyn ZeroCopyReader,
        out: &mut Destination<'_>,
    ) -> Result<()> {
        let (size, chunk_bytes) = (variable.element_size(), variable.chunk_bytes());
        let request = Request::new(self.indices, Access::Read, chunk_bytes);
        let mut take = move |lent: BorrowedChunk<'_>| {
            let (bytes, swap) = match lent {
                BorrowedChunk::Chunk(bytes) => (bytes, variable.swapped_word()),
                BorrowedChunk::FillValues(bytes) => (bytes, None),
                BorrowedChunk::Absent => return self.read_fill_value(variable, out),
            };
            let chunk = store::due(lender, bytes, chunk_bytes)?.into();
            copy::element(size, swap, (chunk, self.chunk_offset), (out, self.memory_offset))
        };
        match lender.lend(&request, Take::new(&mut take)) {
            Ok(_) => Ok(()),
            Err(error) => Err(error.in_chunk(self.indices)),
        }
    }

    fn read_fill_value(&self, variable: &Variable, out: &mut Destination<'_>) -> Result<()> {
        let mut copy = StridedCopy::unprepared(Volume::Small);
        piece::prepare(&mut copy, variable, Access::Read, &[])?;
        let piece = Piece {
            indices: self.indices,
            axes: &[],
            lists: &[],
            copy: &copy,
            shape: 0,
            chunk_offset: self.chunk_offset,
            memory_offset: self.memory_offset,
            chunk_bytes: variable.chunk_bytes(),
            is_covered: false,
            is_whole: false,
        };
        Mover::new(variable, Access::Read).read_fill_value(&piece, out)
    }
}
