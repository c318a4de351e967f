//! # Stores of your own
//!
//! Give the library functions that fetch and store chunks, wherever you keep them. A chunk store asks its callbacks
//! only for chunks with at least one selected element, one chunk at a time unless you allow more. Along each dimension,
//! chunk i begins at element i * chunklen (less the origin, in a dimension that has one). There are two ways to provide
//! a chunk:
//!
//! - Zero-copy: lend the library a pointer to a chunk that is in memory already; for writing, a chunk that it may
//!   change.
//! - Reading: fill in a buffer of the library's; for writing, take the chunk from such a buffer. If the chunk is
//!   contiguous in the caller's memory, the buffer is that memory, and nothing is copied.
//!
//! A callback returns 0. One that provides a chunk may return NCZCHUNK_EEMPTY or NCZCHUNK_ENOOBJECT instead: the chunk
//! is missing and reads as the fill value. Any other status ends the call, which returns that status. A callback must
//! not leave by a C++ exception, longjmp or pthread_exit. In a process that has several threads when the call begins,
//! the library holds off pthread_cancel while it runs. So a callback that starts the first other thread must not let
//! that thread cancel the thread of the callback. A callback may call the library, but must not change or free objects
//! that the running call uses. It may query the context of the running call, but not use it for another call.
//!
//! A store whose callbacks for writing are NULL is read-only.
//!
//! Structures of callbacks begin with their own size, so that they can grow. Set struct_size to sizeof the structure
//! and every field that you do not use to 0, as NCZCHUNK_ZERO_COPY_CALLBACKS_INIT and NCZCHUNK_READER_CALLBACKS_INIT
//! do. The arguments of a callback are valid until it returns, unless their description says otherwise.

use std::ptr;

use super::callbacks::Callbacks;
use super::prelude::*;
use nczchunk_engine::alloc::{Slot, try_box};
use nczchunk_engine::buffer::Buffer;
use nczchunk_engine::status::{EEMPTY, ENOOBJECT};
pub use nczchunk_engine::store::RawRequest as nczchunk_request;
use nczchunk_engine::store::{
    BorrowedChunk, BorrowedChunkMut, Change, ChunkReader, ChunkStore, Filled, Flight, InFlight, Memory, NOT_IN_FLIGHT,
    RawRequest, Reader, Request, Sharing, Take, Taken, ZeroCopyReader,
};
use nczchunk_engine::waiter::Waiter;

/// A borrowed chunk: the chunk that the library asks for, and the lender's answer. The library sets the fields up to
/// covered; the callback sets the others. release gets the same fields, possibly at another address.
#[repr(C)]
pub struct nczchunk_borrowed_chunk {
    /// sizeof(nczchunk_borrowed_chunk) as the library knows it. There are no fields beyond it.
    pub struct_size: usize,
    /// The number of chunk_indices.
    pub rank: usize,
    /// The chunk's indices, one per dimension. Aligned as ptrdiff_t and valid until the callback returns. NULL is
    /// possible only if rank is 0.
    pub chunk_indices: *const isize,
    /// NCZCHUNK_READ, or NCZCHUNK_WRITE for a chunk that is borrowed to be changed. A variable with a write grid is
    /// written by that grid: then the indices count the chunks of that grid.
    pub access: usize,
    /// The length of the whole chunk in bytes; decoded if the store has codecs.
    pub chunk_bytes: usize,
    /// For writing: 1 if every element of the chunk inside the dimensions will be replaced, else 0.
    pub covered: usize,
    /// The chunk's first byte. The library only reads the chunk unless access is NCZCHUNK_WRITE. The library needs no
    /// alignment; a copier gets the elements with the alignment that they have there. NULL at first.
    pub data: *mut c_void,
    /// The chunk's length in bytes. 0 at first.
    pub nbytes: usize,
    /// A value of the lender's choice, which release finds here: the lender's own name for the chunk. NULL at first.
    pub handle: *mut c_void,
}
assert_can_grow!(nczchunk_borrowed_chunk, handle: *mut c_void);
assert_can_grow!(RawRequest, handle: *mut c_void);

/// Callbacks for zero-copy access, which lend chunks.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nczchunk_zero_copy_callbacks {
    /// sizeof(nczchunk_zero_copy_callbacks).
    pub struct_size: usize,
    /// Passed to every callback.
    pub user: *mut c_void,
    /// Lends a chunk. Sets data to its first byte, nbytes to its length in bytes, and handle to any value. The length
    /// must be that of a full chunk; in a store with codecs it is that of the encoded chunk. The chunk must stay valid
    /// and unchanged until release is called for it. Without release it must stay valid and unchanged until lend or
    /// lend_to_write is called again, in any thread.
    ///
    /// With NCZCHUNK_EEMPTY, data may be set, too. Then it is a chunk of fill values in native byte order, which the
    /// library uses instead of the variable's fill value. (A store with codecs does not use it.) A cache that keeps
    /// such a chunk returns NCZCHUNK_EEMPTY for it each time until the chunk has been written. Afterwards its data are
    /// in stored byte order.
    pub lend: Option<unsafe extern "C" fn(user: *mut c_void, loan: *mut nczchunk_borrowed_chunk) -> c_int>,
    /// For writing; may be NULL. Lends a chunk to be changed, as lend does. If covered is 1, the chunk need not be read
    /// first, and its contents do not matter. With NCZCHUNK_EEMPTY or NCZCHUNK_ENOOBJECT it is a new chunk, and its
    /// contents do not matter either: the library fills it with the fill value where it is not written.
    ///
    /// Elements with a copier are the exception, because the copier frees their old contents. A chunk with status 0
    /// must hold elements, and a new chunk must hold zero bytes, covered or not.
    pub lend_to_write: Option<unsafe extern "C" fn(user: *mut c_void, loan: *mut nczchunk_borrowed_chunk) -> c_int>,
    /// Takes a chunk back; may be NULL. It is called once for every borrowed chunk: when lend set data and returned 0
    /// or NCZCHUNK_EEMPTY, or lend_to_write set data and returned 0, NCZCHUNK_EEMPTY or NCZCHUNK_ENOOBJECT. It is
    /// called before the same thread of that call asks for another chunk. status is the outcome. It is 0 if the whole
    /// chunk was read or, with access NCZCHUNK_WRITE, changed. Any other status is a failure; then the contents of a
    /// chunk that was to be changed are unspecified. If release itself returns a status other than 0 (for example
    /// because the change cannot be kept), the call ends with that status, unless it has failed already.
    pub release:
        Option<unsafe extern "C" fn(user: *mut c_void, loan: *mut nczchunk_borrowed_chunk, status: c_int) -> c_int>,
    /// Called once when the store is freed; may be NULL.
    pub destroy: Option<unsafe extern "C" fn(user: *mut c_void)>,
    /// 1 if the callbacks may run in several threads at the same time. A borrowed chunk must then stay valid until it
    /// is released or, without release, until the library's call ends, whatever else is borrowed meanwhile. The call
    /// may use threads (nczchunk_context_set_threads), which are not the program's own. They have a stack of the
    /// system's default size, but at least 2 MiB, and thread-local variables as in any new thread. 0 restricts a call
    /// to its own thread; you must then ensure that no two of your threads call at the same time. 2 is as 1, for
    /// callbacks that may take any time to fetch or decode a chunk: the library then measures on the first chunks how
    /// many threads are worthwhile.
    pub concurrent: usize,
    /// 1 if a chunk may be longer than a full one: then only its first bytes count, as in netCDF-C. 0 refuses a longer
    /// chunk.
    pub accept_longer: usize,
}
growing!(nczchunk_zero_copy_callbacks, accept_longer: usize);

/// Callbacks that read chunks into a buffer.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nczchunk_reader_callbacks {
    /// sizeof(nczchunk_reader_callbacks).
    pub struct_size: usize,
    /// Passed to every callback.
    pub user: *mut c_void,
    /// Fetches a stored chunk into the request's buffer, which has room for size bytes. Sets nbytes to the length of
    /// the stored chunk in bytes. size is the length of a full chunk; in a store with codecs, it is the most bytes that
    /// such a chunk takes if it is encoded in one go. May be NULL if start and wait are not.
    ///
    /// For a longer chunk, do not write beyond size, but set nbytes to its length. A longer chunk is an error. In a
    /// store with codecs, a chunk that was encoded in many small pieces can be longer; it is asked for again with room
    /// for that length.
    pub fill: Option<unsafe extern "C" fn(user: *mut c_void, request: *mut RawRequest) -> c_int>,
    /// For writing; may be NULL. Stores a chunk: the size bytes of the request's buffer, which it only reads. The
    /// callback decides whether a reader may see a half-written chunk. If it replaces the chunk atomically (by renaming
    /// a file), a reader finds the old chunk or the new one.
    pub store: Option<unsafe extern "C" fn(user: *mut c_void, request: *mut RawRequest) -> c_int>,
    /// Called once when the store is freed; may be NULL.
    pub destroy: Option<unsafe extern "C" fn(user: *mut c_void)>,
    /// 1 if the callbacks may run in several threads at the same time: see nczchunk_zero_copy_callbacks.
    pub concurrent: usize,
    /// 1 if a chunk may be longer than a full one: see nczchunk_zero_copy_callbacks.
    pub accept_longer: usize,
    /// 1 if fill serves ranges. Then it may be asked for any part of a stored chunk, size bytes from byte offset on,
    /// unless the store has codecs. So only the needed parts of a large unencoded chunk are fetched, in one or more
    /// requests. When only a part is fetched, the library does not check whether the stored chunk is too long.
    pub ranges: usize,
    /// With ranges: two parts of a chunk are fetched by one request if fewer bytes than this lie between them. 0 stands
    /// for 16384.
    pub gap: usize,
    /// For stores with latency, such as object stores; used together with wait. Starts to fetch a chunk, as fill does,
    /// but returns immediately. A read keeps up to in_flight requests in flight, and starts the next ones while it
    /// decodes. If the read may use threads and concurrent is not 0, each thread starts its share of the requests and
    /// waits for them. The request, its indices and its buffer stay valid until wait returns the request. If start
    /// returns a status other than 0, the request has not begun and wait does not return it. start may report a missing
    /// chunk in this way.
    pub start: Option<unsafe extern "C" fn(user: *mut c_void, request: *mut RawRequest) -> c_int>,
    /// Waits until a request that the calling thread started has ended, and sets done to it. Requests may end in any
    /// order. The fields status and nbytes of the request report the outcome, as the result of fill and its nbytes
    /// would. If wait itself returns a status other than 0, no request is in flight any more: the callback has ended
    /// all of them, and does not touch their buffers again. While requests are in flight, a callback may not call the
    /// library in the same thread to read from the store: NCZCHUNK_EINVAL.
    pub wait: Option<unsafe extern "C" fn(user: *mut c_void, done: *mut *mut RawRequest) -> c_int>,
    /// Called when a request in flight is no longer needed, because the call is about to fail; may be NULL. wait still
    /// returns the request, with any status.
    pub cancel: Option<unsafe extern "C" fn(user: *mut c_void, request: *mut RawRequest)>,
    /// With start: the largest number of requests in flight at the same time. Each has a buffer of its own. 0 stands
    /// for 64.
    pub in_flight: usize,
}
growing!(nczchunk_reader_callbacks, in_flight: usize);

/// Creates a store of borrowed chunks. The callbacks are copied. Free it with nczchunk_chunk_store_free.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument; lend is NULL; a struct_size of 0; a newer structure with fields in use
/// that this library does not know), NCZCHUNK_ENOMEM. After an error destroy is not called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_chunk_store_new_zero_copy(
    callbacks: *const nczchunk_zero_copy_callbacks,
    store: *mut *mut nczchunk_chunk_store,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        let callbacks = read_growing(callbacks)?;
        let lend = callbacks.lend.ok_or(ErrorKind::Argument("the lend callback is NULL"))?;
        let slot = Slot::new()?;
        hand_over(store, None, || {
            let callbacks = Callbacks::new(callbacks, callbacks.user, callbacks.destroy);
            Reader::Lending(slot.fill(Lending { callbacks, lend }))
        })
    }))
}

/// Creates a store whose callbacks read chunks into a buffer. The callbacks are copied. Free it with
/// nczchunk_chunk_store_free.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument; both fill and start are NULL; only one of start and wait is NULL; a
/// struct_size of 0; a newer structure with fields in use that this library does not know), NCZCHUNK_ENOMEM. After an
/// error destroy is not called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_chunk_store_new(
    callbacks: *const nczchunk_reader_callbacks,
    store: *mut *mut nczchunk_chunk_store,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        let callbacks = read_growing(callbacks)?;
        if callbacks.start.is_some() != callbacks.wait.is_some() {
            return Err(ErrorKind::Argument("start and wait must be given together").into());
        }
        if callbacks.fill.is_none() && callbacks.start.is_none() {
            return Err(ErrorKind::Argument("the fill callback is NULL").into());
        }
        let (slot, memory) = (Slot::new()?, Memory::new()?);
        hand_over(store, Some(memory), || {
            let callbacks = Callbacks::new(callbacks, callbacks.user, callbacks.destroy);
            Reader::Filling(slot.fill(Filling { callbacks }))
        })
    }))
}

/// Sets whether a store's codecs decode every chunk completely: 1 for yes; 0, the default, for no. With 0, decoding
/// stops after the last needed byte if the codec can do that. That is faster, but verifies neither the rest of the
/// chunk nor a checksum after it. A chunk whose last element is needed is always decoded completely.
///
/// For an array in a zip file, 1 also verifies the checksums of the zip entries that hold the chunks or shards that are
/// read, each once while the file is open. With 0, only entries that are read whole are verified. A part of an entry,
/// such as a chunk of a shard or some elements of an unencoded chunk, is not verified.
///
/// Errors: NCZCHUNK_EINVAL (store is NULL).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_chunk_store_set_verify(
    store: *mut nczchunk_chunk_store,
    verify: c_int,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        handle_mut(store, "store is NULL")?.0.set_verify(verify != 0);
        Ok(())
    }))
}

/// Frees a store and calls destroy. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_chunk_store_free(store: *mut nczchunk_chunk_store) {
    by_promise!(take_back(store))
}

/// Hands a store over. The reader, which runs `destroy` when dropped, is made only once nothing can fail any more.
///
/// # Safety
/// `out` is NULL or points to a place for a pointer.
unsafe fn hand_over(
    out: *mut *mut nczchunk_chunk_store,
    memory: Option<Box<Memory>>,
    make: impl FnOnce() -> Reader<'static>,
) -> Result<()> {
    let out = by_promise!(handle_mut(out, "store is NULL"))?;
    let slot = Slot::new()?;
    *out = Box::into_raw(slot.fill(nczchunk_chunk_store(ChunkStore::of(make(), memory))));
    Ok(())
}

fn code(access: Access) -> usize {
    match access {
        Access::Read => super::plan::NCZCHUNK_READ as usize,
        Access::Write => super::plan::NCZCHUNK_WRITE as usize,
    }
}

struct Lending {
    callbacks: Callbacks<nczchunk_zero_copy_callbacks>,
    lend: unsafe extern "C" fn(*mut c_void, *mut nczchunk_borrowed_chunk) -> c_int,
}

impl nczchunk_borrowed_chunk {
    /// A chunk that is asked for.
    #[inline]
    fn new(request: &Request<'_>, covered: bool) -> Self {
        nczchunk_borrowed_chunk {
            struct_size: size_of::<nczchunk_borrowed_chunk>(),
            rank: request.chunk().len(),
            chunk_indices: request.chunk().as_ptr(),
            access: code(request.access()),
            chunk_bytes: request.chunk_bytes(),
            covered: covered.into(),
            data: ptr::null_mut(),
            nbytes: 0,
            handle: ptr::null_mut(),
        }
    }
}

impl Lending {
    /// Calls release, if there is one, and returns the outcome.
    #[inline(always)]
    fn give_back<'t>(&self, loan: &mut nczchunk_borrowed_chunk, outcome: Result<Taken<'t>>) -> Result<Taken<'t>> {
        let Some(release) = self.callbacks.release else { return outcome };
        let status = outcome.as_ref().map_or_else(|error| error.status(), |_| NOERR);
        // SAFETY: the loan is one that the callbacks gave and have not been given back, as documented.
        let released = called(unsafe { release(self.callbacks.user, &raw mut *loan, status) });
        let taken = outcome?;
        released?;
        Ok(taken)
    }
}

impl ZeroCopyReader for Lending {
    #[inline]
    fn lend<'t>(&self, request: &Request<'_>, take: Take<'t>) -> Result<Taken<'t>> {
        let mut loan = nczchunk_borrowed_chunk::new(request, false);
        // SAFETY: the callback gets what is documented: its own pointer, and a loan with the fields that are the
        // library's.
        let status = unsafe { (self.lend)(self.callbacks.user, &raw mut loan) };
        match status {
            NOERR if loan.data.is_null() => return Err(ErrorKind::NoData.into()),
            EEMPTY if loan.data.is_null() => return take.give(BorrowedChunk::Absent),
            NOERR | EEMPTY => {}
            ENOOBJECT => return take.give(BorrowedChunk::Absent),
            status => called(status)?,
        }
        let outcome = if isize::try_from(loan.nbytes).is_err() {
            Err(ErrorKind::LentLength(loan.nbytes).into())
        } else {
            // SAFETY: the callback has lent `nbytes` bytes, as documented, which stay valid and unchanged until they
            // are released or, without release, until the next chunk is asked for: both happen later.
            let bytes = unsafe { std::slice::from_raw_parts(loan.data.cast(), loan.nbytes) };
            take.give(if status == EEMPTY { BorrowedChunk::FillValues(bytes) } else { BorrowedChunk::Chunk(bytes) })
        };
        self.give_back(&mut loan, outcome)
    }

    fn is_concurrent(&self) -> bool {
        self.callbacks.concurrent != 0
    }

    fn takes_time(&self) -> bool {
        self.callbacks.concurrent == 2
    }

    fn accepts_longer(&self) -> bool {
        self.callbacks.accept_longer != 0
    }

    fn is_writable(&self) -> bool {
        self.callbacks.lend_to_write.is_some()
    }

    fn change<'t>(&self, request: &Request<'_>, covered: bool, change: Change<'t>) -> Result<Taken<'t>> {
        let lend = self.callbacks.lend_to_write.ok_or(ErrorKind::ReadOnly)?;
        let mut loan = nczchunk_borrowed_chunk::new(request, covered);
        // SAFETY: the callback gets what is documented: its own pointer, and a loan with the fields that are the
        // library's.
        let status = unsafe { lend(self.callbacks.user, &raw mut loan) };
        match status {
            NOERR | EEMPTY | ENOOBJECT if loan.data.is_null() => return Err(ErrorKind::NoData.into()),
            NOERR | EEMPTY | ENOOBJECT => {}
            status => called(status)?,
        }
        let outcome = if isize::try_from(loan.nbytes).is_err() {
            Err(ErrorKind::LentLength(loan.nbytes).into())
        } else {
            // SAFETY: the callback has lent `nbytes` bytes to be changed, as documented, which stay valid until they
            // are released, which is below.
            let bytes = unsafe { std::slice::from_raw_parts_mut(loan.data.cast(), loan.nbytes) };
            change.give(if status == NOERR { BorrowedChunkMut::Chunk(bytes) } else { BorrowedChunkMut::New(bytes) })
        };
        self.give_back(&mut loan, outcome)
    }
}

/// The gap between ranges if the callbacks do not say: to fetch so many bytes more costs about as much as another
/// request to a local file.
const DEFAULT_GAP: usize = 16 << 10;

/// The number of requests in flight if the callbacks do not say.
const DEFAULT_IN_FLIGHT: usize = 64;

/// The most requests that any store may have in flight.
const MAX_IN_FLIGHT: usize = 1 << 16;

struct Filling {
    callbacks: Callbacks<nczchunk_reader_callbacks>,
}

impl Filling {
    /// A request for a chunk, with a buffer of so many bytes.
    fn request(request: &Request<'_>, buffer: *mut u8, size: usize) -> RawRequest {
        RawRequest {
            struct_size: size_of::<RawRequest>(),
            rank: request.chunk().len(),
            chunk_indices: request.chunk().as_ptr(),
            access: code(request.access()),
            chunk_bytes: request.chunk_bytes(),
            offset: request.offset(),
            buffer: buffer.cast(),
            size,
            nbytes: 0,
            status: 0,
            handle: ptr::null_mut(),
        }
    }

    /// Fetches a chunk by start and wait.
    fn start_and_wait(&self, request: &mut RawRequest) -> Result<c_int> {
        let request: *mut RawRequest = request;
        let mut flight = Flying::new(self, 1)?;
        // SAFETY: the request stays valid until it is given back, below.
        if !unsafe { flight.start(request) }? {
            return Ok(ENOOBJECT);
        }
        if !ptr::eq(flight.wait()?, request) {
            return Err(Error::from(NOT_IN_FLIGHT));
        }
        // SAFETY: it has been given back.
        Ok(unsafe { (*request).status } as c_int)
    }
}

impl ChunkReader for Filling {
    fn fill(&self, request: &Request<'_>, buffer: &mut Buffer<'_>) -> Result<Filled> {
        let size = buffer.capacity();
        let mut raw = Filling::request(request, buffer.as_mut_ptr(), size);
        let status = match self.callbacks.fill {
            // SAFETY: the callback gets what is documented; the buffer has room for `size` bytes.
            Some(fill) => unsafe { fill(self.callbacks.user, &raw mut raw) },
            None => self.start_and_wait(&mut raw)?,
        };
        let filled = outcome(status, raw.nbytes)?;
        if let Filled::Stored(stored) = filled {
            // SAFETY: the callback has written the chunk from the request's offset on, as documented, as far as there
            // is room.
            unsafe { buffer.set_filled(stored.min(size)) };
        }
        Ok(filled)
    }

    fn range_gap(&self) -> Option<usize> {
        let gap = if self.callbacks.gap == 0 { DEFAULT_GAP } else { self.callbacks.gap };
        (self.callbacks.ranges != 0).then_some(gap)
    }

    fn is_concurrent(&self) -> bool {
        self.callbacks.concurrent != 0
    }

    fn accepts_longer(&self) -> bool {
        self.callbacks.accept_longer != 0
    }

    fn is_writable(&self) -> bool {
        self.callbacks.store.is_some()
    }

    fn store(&self, request: &Request<'_>, bytes: &[u8]) -> Result<()> {
        let store = self.callbacks.store.ok_or(ErrorKind::ReadOnly)?;
        let mut raw = Filling::request(request, bytes.as_ptr().cast_mut(), bytes.len());
        // SAFETY: the callback gets what is documented; it only reads the bytes.
        called(unsafe { store(self.callbacks.user, &raw mut raw) })
    }

    fn in_flight(&self) -> Option<&dyn InFlight> {
        self.callbacks.start.is_some().then_some(self)
    }
}

impl InFlight for Filling {
    fn begin<'s, 'f: 's>(&'f self, sharing: &'s Sharing<'f>) -> Result<Box<dyn Flight + 's>> {
        Ok(try_box(Flying::new(self, sharing.of)?)?)
    }
}

/// The result of a request that ended with this status.
fn outcome(status: c_int, nbytes: usize) -> Result<Filled> {
    match status {
        EEMPTY | ENOOBJECT => Ok(Filled::Absent),
        status => called(status).map(|()| Filled::Stored(nbytes)),
    }
}

/// The requests of one transfer.
struct Flying<'f> {
    filling: &'f Filling,
    /// How many share what may be in flight.
    of: usize,
    waiter: Waiter,
}

impl<'f> Flying<'f> {
    fn new(filling: &'f Filling, of: usize) -> Result<Self> {
        Ok(Flying { filling, of, waiter: Waiter::new(filling)? })
    }
}

// SAFETY: the callbacks do what is documented.
unsafe impl Flight for Flying<'_> {
    fn limit(&self, _size: usize) -> usize {
        let in_flight = self.filling.callbacks.in_flight;
        let in_flight = if in_flight == 0 { DEFAULT_IN_FLIGHT } else { in_flight.min(MAX_IN_FLIGHT) };
        (in_flight / self.of).max(1)
    }

    unsafe fn start(&mut self, request: *mut RawRequest) -> Result<bool> {
        let start = self.filling.callbacks.start.ok_or(ErrorKind::Internal)?;
        self.waiter.check()?;
        // SAFETY: the request stays valid until it is given back, by the caller's promise.
        match unsafe { start(self.filling.callbacks.user, request) } {
            EEMPTY | ENOOBJECT => Ok(false),
            status => {
                called(status)?;
                self.waiter.started();
                Ok(true)
            }
        }
    }

    fn wait(&mut self) -> Result<*mut RawRequest> {
        let wait = self.filling.callbacks.wait.ok_or(ErrorKind::Internal)?;
        let mut done = ptr::null_mut();
        // SAFETY: the callback gets what is documented: its own pointer, and a place for the request.
        match called(unsafe { wait(self.filling.callbacks.user, &raw mut done) }) {
            Ok(()) => self.waiter.ended(),
            Err(error) => {
                self.waiter.all_ended();
                return Err(error);
            }
        }
        Ok(done)
    }

    unsafe fn cancel(&mut self, request: *mut RawRequest) {
        if let Some(cancel) = self.filling.callbacks.cancel {
            // SAFETY: the request is in flight, by the caller's promise.
            unsafe { cancel(self.filling.callbacks.user, request) };
        }
    }

    fn outcome(&mut self, status: c_int, nbytes: usize) -> Result<Filled> {
        outcome(status, nbytes)
    }
}

impl Drop for Flying<'_> {
    /// A panic may end a transfer that has requests in flight, whose memory is freed after this. Else there are none,
    /// unless the program has given back what it was not asked for: then it is not known whether there are.
    fn drop(&mut self) {
        while std::thread::panicking() && self.waiter.has_any() && self.wait().is_ok() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Asked {
        in_flight: Vec<*mut RawRequest>,
        num_waits: usize,
        /// The wait that fails.
        failing: usize,
    }

    unsafe extern "C" fn start(user: *mut c_void, request: *mut RawRequest) -> c_int {
        // SAFETY: the user pointer is that of the test, whose only reference this is now.
        unsafe { &mut *user.cast::<Asked>() }.in_flight.push(request);
        NOERR
    }

    unsafe extern "C" fn wait(user: *mut c_void, done: *mut *mut RawRequest) -> c_int {
        // SAFETY: as above.
        let asked = unsafe { &mut *user.cast::<Asked>() };
        asked.num_waits += 1;
        if asked.num_waits == asked.failing {
            asked.in_flight.clear();
            return 77;
        }
        // SAFETY: this is a place for a request.
        unsafe { *done = asked.in_flight.pop().expect("a request is in flight") };
        NOERR
    }

    /// No request is in flight any more when a panic has ended the transfer, nor is any waited for that is not.
    #[test]
    fn requests_in_flight_are_waited_for_after_a_panic() {
        for (num_started, failing, num_waits) in [(0, 0, 0), (1, 0, 1), (3, 0, 3), (3, 2, 2)] {
            let mut asked = Asked { failing, ..Asked::default() };
            // SAFETY: zeros are no callbacks.
            let mut callbacks: nczchunk_reader_callbacks = unsafe { std::mem::zeroed() };
            callbacks.start = Some(start);
            callbacks.wait = Some(wait);
            let filling = Filling { callbacks: Callbacks::new(callbacks, (&raw mut asked).cast(), None) };
            let chunk = Request::new(&[0], Access::Read, 4);
            let mut requests = [(); 3].map(|()| Filling::request(&chunk, ptr::null_mut(), 0));
            let mut flight = Flying::new(&filling, 1).unwrap();
            for request in &mut requests[..num_started] {
                // SAFETY: the requests are there until the flight is dropped.
                assert!(unsafe { flight.start(&raw mut *request) }.unwrap());
            }
            let panicking = std::panic::AssertUnwindSafe(|| {
                let _flight = flight;
                std::panic::resume_unwind(Box::new(()))
            });
            assert!(std::panic::catch_unwind::<_, ()>(panicking).is_err());
            assert_eq!((asked.num_waits, asked.in_flight.len()), (num_waits, 0));
        }
    }
}
