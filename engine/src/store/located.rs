//! Where a chunk is stored: what a reader says that has its chunks in the objects of a storage.

/// Where a chunk is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChunkLocation<'l> {
    /// The chunk's indices.
    pub indices: &'l [isize],
    /// The name of the object in its storage: of a file below the path of a directory, of an entry in a zip file. Empty
    /// if the path that was opened is the file itself, such as a netCDF classic file. Of an absent chunk it is the
    /// object that it would be in.
    pub object: &'l str,
    /// Whether it is stored, and which bytes of the object it is then.
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
    /// There is no such chunk: it reads as the fill value.
    Absent,
    /// The chunk as its codecs encode it is `len` bytes of the object, of which the first is byte `offset`. In a netCDF
    /// classic file these are the bytes up to the last element inside of the dimensions, or those before the file's
    /// end.
    Stored {
        /// The first byte, counted from 0.
        offset: u64,
        /// How many bytes.
        len: u64,
    },
}
