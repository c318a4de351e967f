//! What a progress function is told.

use super::growing::assert_can_grow;

/// How far a call has come.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nczchunk_progress {
    /// sizeof(nczchunk_progress) as the library knows it: fields beyond it do not exist.
    pub struct_size: usize,
    /// Chunks that are done.
    pub chunks_done: usize,
    /// All chunks of the call.
    pub num_chunks: usize,
    /// Bytes of your memory that have been read or written.
    pub bytes_done: usize,
    /// All bytes of your memory that the call reads or writes.
    pub num_bytes: usize,
}
assert_can_grow!(nczchunk_progress, num_bytes: usize);
