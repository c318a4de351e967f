//! Requests to a store for a chunk, and their results.

use crate::grid::Access;

/// A request for a chunk.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    chunk: &'a [isize],
    access: Access,
    chunk_bytes: usize,
    offset: usize,
}

impl<'a> Request<'a> {
    /// A whole chunk of `chunk_bytes` bytes.
    #[doc(hidden)]
    pub fn new(chunk: &'a [isize], access: Access, chunk_bytes: usize) -> Self {
        Request { chunk, access, chunk_bytes, offset: 0 }
    }

    /// The part of the same chunk that begins at this byte.
    pub(crate) fn starting_at(self, offset: usize) -> Self {
        Request { offset, ..self }
    }

    /// The chunk's indices.
    pub fn chunk(&self) -> &'a [isize] {
        self.chunk
    }

    /// Whether the chunk is read, or fetched and stored by a write. A variable with a
    /// [write grid](crate::Variable::set_write_grid) is written by that grid: then the indices count its chunks.
    pub fn access(&self) -> Access {
        self.access
    }

    /// The length of the whole chunk in bytes, decoded.
    pub fn chunk_bytes(&self) -> usize {
        self.chunk_bytes
    }

    /// The first requested byte of the chunk: 0 unless the store serves
    /// [ranges](crate::ChunkReader::range_gap).
    pub fn offset(&self) -> usize {
        self.offset
    }
}

/// The result of a request to a reader that fills buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filled {
    /// The chunk is missing: it reads as the fill value.
    Absent,
    /// The stored chunk has this many bytes from the request's offset on. They are in the buffer, or as many of them as
    /// fit.
    Stored(usize),
}
