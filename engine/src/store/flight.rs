//! Requests in flight: a store that is asked first and gives the answer later, so that many chunks may be on their way.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use super::request::Filled;
use crate::alloc::Scratch;
use crate::error::{ErrorKind, Result};
use crate::grid::{Access, Grid};
use crate::lock::Lock;
use crate::open_object::OpenObjects;

/// A request for one chunk: the chunk, a buffer, and the result. Callbacks receive a pointer to it.
///
/// The library sets all fields except nbytes, status and handle, which the callback sets. The fields and the buffer are
/// valid until the callback returns or, for a request that start began, until wait returns it.
#[repr(C)]
#[derive(Debug)]
pub struct RawRequest {
    /// sizeof(nczchunk_request) as the library knows it. There are no fields beyond it.
    pub struct_size: usize,
    /// The number of chunk_indices.
    pub rank: usize,
    /// The chunk's indices, one per dimension; aligned as ptrdiff_t. NULL is possible only if rank is 0.
    pub chunk_indices: *const isize,
    /// NCZCHUNK_READ; or NCZCHUNK_WRITE for a chunk that is stored, or fetched to be changed. A variable with a write
    /// grid is written by that grid: then the indices count the chunks of that grid.
    pub access: usize,
    /// The length of the whole chunk in bytes; decoded if the store has codecs.
    pub chunk_bytes: usize,
    /// The first requested byte of the stored chunk. It is 0 unless the callbacks serve ranges.
    pub offset: usize,
    /// Fetching: the memory for the bytes. Storing: the bytes, which are only read. A buffer of the library is aligned
    /// to 64 bytes. If the buffer is memory of the caller, it has the alignment of that memory.
    pub buffer: *mut c_void,
    /// Fetching: the size of the buffer in bytes. Storing: the number of bytes to store.
    pub size: usize,
    /// Set by the callback when fetching: the number of bytes that the stored chunk has from offset on, even if it is
    /// more than size. For a part of a chunk with at least size bytes, any number from size on is accepted. 0 at first.
    pub nbytes: usize,
    /// Set by the callback for a request that start began: its outcome, as fill would return it. 0 at first.
    pub status: isize,
    /// Set by the callback: a value of its choice, kept from start to wait. NULL at first.
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
pub const NOT_IN_FLIGHT: ErrorKind = ErrorKind::Argument("wait returned a request that is not in flight");

/// What it takes to read something from a storage: requests, and the bytes that they ask for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadCost {
    /// All requests.
    pub requests: u64,
    /// The bytes that they return, gaps between chunks that are read together included.
    pub bytes: u64,
    /// Those of them that read only indices: of shards, or of chunks in a file.
    pub index_requests: u64,
    /// The bytes of indices, also where one comes together with chunks.
    pub index_bytes: u64,
}

/// What the flights of one transfer share, each of which is in a thread of its own.
pub struct Sharing<'f> {
    /// The number of flights. Each has its share of the requests that may be in flight.
    pub of: usize,
    /// What chunks are requested for: to be read, or by the write grid to be changed and stored.
    pub access: Access,
    /// How the array is divided into the chunks that are requested.
    #[doc(hidden)]
    pub grid: &'f Grid,
    /// The most bytes that all of them have in flight, unless a single chunk has more.
    pub bytes: usize,
    /// Objects that are open, which the flights of local storages share.
    #[doc(hidden)]
    pub opened: OpenObjects<'f>,
    /// Where reads of chunks are counted, which then are not made.
    pub counted: Option<&'f Lock<ReadCost>>,
}

impl<'f> Sharing<'f> {
    /// So many flights, which share so many open objects.
    pub(crate) fn new(
        of: usize,
        (access, grid): (Access, &'f Grid),
        num_opened: usize,
        bytes: usize,
        counted: Option<&'f Lock<ReadCost>>,
    ) -> Self {
        Sharing { of, access, grid, bytes, opened: OpenObjects::new(num_opened), counted }
    }
}

/// Many requests in flight, for a [`ChunkReader`](crate::ChunkReader).
pub trait InFlight: Sync {
    /// Whether requests take long. If not, they are in flight only because several chunks are read at once.
    fn has_latency(&self) -> bool {
        true
    }

    /// Whether chunks are stored in flight, too: then several are stored at the same time.
    fn stores(&self) -> bool {
        false
    }

    /// Begins the requests of one thread of a transfer.
    ///
    /// # Errors
    /// Any error; it ends the call.
    fn begin<'s, 'f: 's>(&'f self, sharing: &'s Sharing<'f>) -> Result<Box<dyn Flight + 's>>;
}

/// The requests of one transfer, to a reader that is asked first and gives the answer later. They are those of one
/// thread.
///
/// # Safety
/// `wait` returns a request that was started and was not returned before; from then on the reader does not touch the
/// request or its buffer, and after an error of `wait` it touches none of them. If the outcome of a request that has a
/// buffer is [`Filled::Stored`], as many bytes of the buffer have been written, or all of them if they are fewer. The
/// buffer of a chunk that is stored is only read.
pub unsafe trait Flight {
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

    /// How many requests may be in flight in a transfer that writes, and how many bytes of memory they may have
    /// together.
    fn store_limits(&self) -> (usize, usize) {
        (1, 0)
    }

    /// Starts to store a chunk: the bytes in the request's buffer, which are only read.
    ///
    /// # Errors
    /// Any error; then the request has not begun.
    ///
    /// # Safety
    /// That of [`start`](Self::start).
    unsafe fn start_store(&mut self, request: *mut RawRequest) -> Result<()> {
        let _ = request;
        Err(ErrorKind::Internal.into())
    }

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

    /// The memory of these [bytes](Self::bytes), at whose beginning they are, if nothing else is in it. It is the
    /// caller's from now on.
    fn take_bytes(&mut self) -> Option<Scratch> {
        None
    }

    /// Says that a request, which is in flight, is not needed any more. It is still given back by `wait`.
    ///
    /// # Safety
    /// The request is in flight.
    unsafe fn cancel(&mut self, request: *mut RawRequest);
}
