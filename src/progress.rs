//! The argument of a progress callback.

use super::growing::assert_can_grow;

/// The progress of a call.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nczchunk_progress {
    /// sizeof(nczchunk_progress) as the library knows it. There are no fields beyond it.
    pub struct_size: usize,
    /// Chunks done.
    pub chunks_done: usize,
    /// Chunks in total.
    pub num_chunks: usize,
    /// Bytes of your memory that have been read or written.
    pub bytes_done: usize,
    /// Bytes of your memory that the call reads or writes, in total.
    pub num_bytes: usize,
}
assert_can_grow!(nczchunk_progress, num_bytes: usize);
