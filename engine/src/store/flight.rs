//! Requests in flight: a store that is asked first and gives the answer later, so that many chunks may be on their way.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use super::request::Filled;
use crate::error::{ErrorKind, Result};
use crate::open_object::OpenObjects;

/// One chunk that a store is asked for: the chunk, a buffer to fill, and what became of it. Callbacks get a pointer to
/// it.
///
/// The library sets all fields but those that are said to be the callback's. They are valid, and the buffer with them,
/// until the callback returns or, for a request that was started, until it is given back.
#[repr(C)]
#[derive(Debug)]
pub struct RawRequest {
    /// sizeof(nczchunk_request) as the library knows it: fields beyond it do not exist.
    pub struct_size: usize,
    /// The number of chunk_indices.
    pub rank: usize,
    /// The chunk's indices, one per dimension; aligned as ptrdiff_t. NULL is possible only if rank is 0.
    pub chunk_indices: *const isize,
    /// NCZCHUNK_READ; or NCZCHUNK_WRITE for a chunk that is fetched to be changed, or stored. A variable with a write
    /// grid is written by that grid: then the indices count its chunks.
    pub access: usize,
    /// The length of the whole chunk in bytes: decoded, if the store has codecs.
    pub chunk_bytes: usize,
    /// The first byte of the stored chunk that is asked for. It is 0, unless the callbacks serve ranges.
    pub offset: usize,
    /// To fetch: where the bytes go. To store: the bytes, which are only read. A buffer of the library's begins at a
    /// multiple of 64 bytes; where it is the caller's own memory it has the alignment of that.
    pub buffer: *mut c_void,
    /// To fetch: how many bytes the buffer has room for. To store: how many bytes there are.
    pub size: usize,
    /// The callback's, to fetch: how many bytes the stored chunk has from offset on, even if they are more than size.
    /// In an answer to a part of a chunk any number from size on will do if at least size bytes are there. 0 at first.
    pub nbytes: usize,
    /// The callback's, for a request that was started: how it ended, as fill would return it. 0 at first.
    pub status: isize,
    /// The callback's: whatever it wants to remember from start to wait. NULL at first.
    pub handle: *mut c_void,
}

impl RawRequest {
    /// What a request asks for: the chunk's indices, from which byte on, and where as many bytes go.
    ///
    /// # Safety
    /// The request is one of the library's, which does not change it as long as the indices are used.
    #[doc(hidden)]
    pub unsafe fn asked_for<'r>(request: *mut RawRequest) -> (&'r [isize], usize, (*mut u8, usize)) {
        // SAFETY: the caller's promise; a list of no indices may be NULL.
        unsafe {
            let RawRequest { rank, chunk_indices, offset, buffer, size, .. } = *request;
            let indices = if rank == 0 { &[] } else { std::slice::from_raw_parts(chunk_indices, rank) };
            (indices, offset, (buffer.cast(), size))
        }
    }
}

/// What is wrong with a reader that gives back what it was not asked for.
pub const NOT_IN_FLIGHT: ErrorKind = ErrorKind::Argument("wait gave back a request that is not in flight");

/// What the flights of one transfer share, each of which is in a thread of its own.
pub struct Sharing<'f> {
    /// How many there are. Each has its share of what may be in flight.
    #[doc(hidden)]
    pub of: usize,
    #[doc(hidden)]
    pub opened: OpenObjects<'f>,
}

impl Sharing<'_> {
    /// So many flights, which share so many open objects.
    pub(crate) fn new(of: usize, num_opened: usize) -> Self {
        Sharing { of, opened: OpenObjects::new(num_opened) }
    }
}

/// The requests of one transfer, to a reader that is asked first and gives the answer later. They are those of one
/// thread.
pub trait Flight {
    /// How many requests may be in flight at the same time, each for up to `size` bytes; at least 1.
    fn limit(&self, size: usize) -> usize;

    /// Whether the reader has memory of its own for what arrives: then requests have no buffers.
    fn has_memory(&self) -> bool {
        false
    }

    /// Whether requests are best started together, as many as may be in flight, and all waited for before the next.
    fn is_in_batches(&self) -> bool {
        false
    }

    /// Starts a request; `false` if the chunk is known to be absent: then the request has not begun.
    ///
    /// # Safety
    /// The request and what it points to stay where they are, and nobody else uses them, until `wait` gives the request
    /// back or the flight is dropped.
    unsafe fn start(&mut self, request: *mut RawRequest) -> Result<bool>;

    /// Waits until a request has ended, and gives it back. There is at least one in flight. After an error there is
    /// none any more.
    fn wait(&mut self) -> Result<*mut RawRequest>;

    /// How the request that `wait` gave back last has ended, as the result of
    /// [`ChunkReader::fill`](crate::ChunkReader::fill). The request says this status and number of bytes.
    fn outcome(&mut self, status: c_int, nbytes: usize) -> Result<Filled>;

    /// The version of the chunk that the request which `wait` gave back last was read from, if it is known.
    fn version(&self) -> Option<u128> {
        None
    }

    /// What the request that `wait` gave back last has brought, if the reader has memory of its own.
    fn bytes(&self) -> &[u8] {
        &[]
    }

    /// Says that a request, which is in flight, is not needed any more. It is still given back by `wait`.
    ///
    /// # Safety
    /// The request is in flight.
    unsafe fn cancel(&mut self, request: *mut RawRequest);
}
