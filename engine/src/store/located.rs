//! The locations of stored chunks, for readers whose chunks are in the objects of a storage.

/// The location of a stored chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChunkLocation<'l> {
    /// The chunk's indices.
    pub indices: &'l [isize],
    /// The name of the object in its storage: a file below the path of a directory, or an entry of a zip file. Empty if
    /// the opened path is the file itself, such as a netCDF classic file. For a missing chunk it is the object that
    /// would hold the chunk.
    pub object: &'l str,
    /// Whether the chunk is stored, and in which bytes of the object.
    pub state: ChunkState,
}

impl<'l> ChunkLocation<'l> {
    #[doc(hidden)]
    pub fn new(indices: &'l [isize], object: &'l str, state: ChunkState) -> Self {
        ChunkLocation { indices, object, state }
    }
}

/// Whether a chunk is stored, and where in its object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChunkState {
    /// The chunk is missing: it reads as the fill value.
    Absent,
    /// The encoded chunk is `len` bytes of the object, from byte `offset` on. In a netCDF classic file the bytes end
    /// with the last element inside the dimensions, or at the end of the file.
    Stored {
        /// The first byte, counted from 0.
        offset: u64,
        /// The number of bytes.
        len: u64,
    },
}
