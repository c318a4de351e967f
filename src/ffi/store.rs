//! # Stores of your own
//!
//! A store asks callbacks of yours for chunks, and only for chunks of which at least one element is selected; one at a
//! time, unless you allow more. Along each dimension, chunk i holds the elements from i * chunklen on (less the origin,
//! in a dimension that has one). There are two ways to give a chunk:
//!
//! - lend it: return a pointer to a chunk that is in memory already; for writing, one to change;
//! - fill it in: write it into a buffer of the library's; for writing, take it from one. Whenever the chunk lies in the
//!   caller's memory in one piece, that buffer is the caller's memory, and nothing is copied.
//!
//! A callback returns 0. One that gives a chunk may return NCZCHUNK_EEMPTY or NCZCHUNK_ENOOBJECT instead: the chunk is
//! absent and reads as the fill value. Any other status ends the call, which returns it. A callback must not leave by a
//! C++ exception, longjmp or pthread_exit. pthread_cancel is held off while the library runs, in a process that has
//! several threads when the call begins: a callback that makes the first other thread must not let it cancel its own. A
//! callback may call the library, but must not change or free what the running call uses, nor use its context (it may
//! ask the context).
//!
//! A store whose callbacks for writing are NULL is read-only.
//!
//! Structures of callbacks begin with their own size, so that they can grow: set struct_size to sizeof the structure
//! and everything you do not use to 0, as NCZCHUNK_ZERO_COPY_CALLBACKS_INIT and NCZCHUNK_READER_CALLBACKS_INIT do. What
//! callbacks are given is valid until they return, unless its description says otherwise.

use std::ffi::{c_int, c_void};
use std::ptr;

use super::context::report;
use super::growing::{Growing, assert_can_grow, read_growing};
use super::objects::{nczchunk_chunk_store, nczchunk_context};
use super::pointers::{handle_mut, take_back};
use crate::alloc::{Slot, try_box};
use crate::buffer::Buffer;
use crate::error::{Error, ErrorKind, Result};
use crate::grid::Access;
use crate::status::{EEMPTY, ENOOBJECT, NOERR};
pub use crate::store::RawRequest as nczchunk_request;
use crate::store::{
    BorrowedChunk, BorrowedChunkMut, Change, ChunkReader, ChunkStore, Filled, Flight, Memory, NOT_IN_FLIGHT,
    RawRequest, Reader, Request, Sharing, Take, Taken, ZeroCopyReader,
};
use crate::waiter::Waiter;

/// A chunk on loan: which one the library wants, and what the lender gives. The library sets the fields up to covered,
/// the callback the others. The callbacks get the same loan with the same fields when it is given back, at an address
/// that may be another one.
#[repr(C)]
pub struct nczchunk_borrowed_chunk {
    /// sizeof(nczchunk_borrowed_chunk) as the library knows it: fields beyond it do not exist.
    pub struct_size: usize,
    /// The number of chunk_indices.
    pub rank: usize,
    /// The chunk's indices, one per dimension; aligned as ptrdiff_t, and valid until the callback returns. NULL is
    /// possible only if rank is 0.
    pub chunk_indices: *const isize,
    /// NCZCHUNK_READ; or NCZCHUNK_WRITE for a chunk that is lent to be changed. A variable with a write grid is written
    /// by that grid: then the indices count its chunks.
    pub access: usize,
    /// The length of the whole chunk in bytes: decoded, if the store has codecs.
    pub chunk_bytes: usize,
    /// For writing: 1 if every element of the chunk that lies inside the dimensions will be replaced, else 0.
    pub covered: usize,
    /// The chunk's first byte. It is only read unless access is NCZCHUNK_WRITE. The library needs no alignment; a
    /// copier is given elements as they lie there. NULL at first.
    pub data: *mut c_void,
    /// The chunk's length in bytes. 0 at first.
    pub nbytes: usize,
    /// Whatever the lender wants to find in the loan when it is given back: its own name for what is on loan. NULL at
    /// first.
    pub handle: *mut c_void,
}
assert_can_grow!(nczchunk_borrowed_chunk, handle: *mut c_void);
assert_can_grow!(RawRequest, handle: *mut c_void);

/// Callbacks that lend chunks.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nczchunk_zero_copy_callbacks {
    /// sizeof(nczchunk_zero_copy_callbacks).
    pub struct_size: usize,
    /// Passed to every callback.
    pub user: *mut c_void,
    /// Lends a chunk: sets data to its first byte and nbytes to its length, which must be that of a full chunk (or, in
    /// a store with codecs, is that of the encoded chunk), and handle to whatever it likes. The chunk must stay valid
    /// and unchanged until release is called for it or, without release, until lend or lend_to_write is called again,
    /// by whichever thread.
    ///
    /// With NCZCHUNK_EEMPTY, data may be set too: then it is a chunk of fill values in native byte order to be used
    /// instead of the variable's fill value. (A store with codecs does not use it.) A cache that keeps such a chunk
    /// returns NCZCHUNK_EEMPTY for it every time until it is told that it was changed: then it is in stored byte order.
    pub lend: Option<unsafe extern "C" fn(user: *mut c_void, loan: *mut nczchunk_borrowed_chunk) -> c_int>,
    /// For writing; may be NULL. Lends a chunk to be changed, as lend does. If covered is 1 the chunk need not be read
    /// first, and what it holds does not matter. With NCZCHUNK_EEMPTY or NCZCHUNK_ENOOBJECT it is a new chunk, and what
    /// it holds does not matter either: the library fills it with the fill value where it is not written to.
    ///
    /// Elements with a copier are the exception, for what they hold is freed: a chunk with status 0 holds elements, one
    /// that is new holds zero bytes, covered or not.
    pub lend_to_write: Option<unsafe extern "C" fn(user: *mut c_void, loan: *mut nczchunk_borrowed_chunk) -> c_int>,
    /// Takes a chunk back; may be NULL. It is called once for every loan for which lend set data while returning 0 or
    /// NCZCHUNK_EEMPTY, or lend_to_write while returning 0, NCZCHUNK_EEMPTY or NCZCHUNK_ENOOBJECT, before the same
    /// thread of that call asks for another chunk. status is the outcome: 0 if the chunk was read or, with access
    /// NCZCHUNK_WRITE, changed as a whole; any other if that failed, and then the contents of a chunk that was to be
    /// changed are unspecified. If release itself returns a status other than 0 (because the change cannot be kept, for
    /// example), the call ends with it, unless it has failed already.
    pub release:
        Option<unsafe extern "C" fn(user: *mut c_void, loan: *mut nczchunk_borrowed_chunk, status: c_int) -> c_int>,
    /// Called once when the store is freed; may be NULL.
    pub destroy: Option<unsafe extern "C" fn(user: *mut c_void)>,
    /// 1 if the callbacks may run in several threads at the same time, and a chunk that was lent stays valid until it
    /// is released or, without release, until the call of the library ends, whatever else is lent meanwhile. Then a
    /// call may use threads (nczchunk_context_set_threads), which are not the program's own: they have a stack of the
    /// system's default size, but 2 MiB at least, and thread-local variables as in any new thread. 0 keeps a call to
    /// its own thread; that no two threads of yours call at the same time is then up to you. 2 is as 1, for callbacks
    /// that may take any time, to fetch or to decode a chunk: how many threads are worth while is then measured on the
    /// first chunks.
    pub concurrent: usize,
    /// 1 if a chunk may be longer than a full one: then its first bytes count, as in netCDF-C. 0 refuses it.
    pub accept_longer: usize,
}
assert_can_grow!(nczchunk_zero_copy_callbacks, accept_longer: usize);
// SAFETY: a structure of C with words and pointers only, the first of which is its size; zeros are no callbacks.
unsafe impl Growing for nczchunk_zero_copy_callbacks {}

/// Callbacks that fill in chunks.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nczchunk_reader_callbacks {
    /// sizeof(nczchunk_reader_callbacks).
    pub struct_size: usize,
    /// Passed to every callback.
    pub user: *mut c_void,
    /// Fetches a stored chunk into the request's buffer, which has room for size bytes, and sets nbytes to the length
    /// of the stored chunk. size is the length of a full chunk; in a store with codecs, the most that such a chunk
    /// takes encoded in one go. May be NULL if start and wait are not.
    ///
    /// A longer chunk is not written beyond size, and nbytes is still its length. It is an error or, in a store with
    /// codecs, where a chunk encoded in many small pieces can be longer, asked for once more with that much room.
    pub fill: Option<unsafe extern "C" fn(user: *mut c_void, request: *mut RawRequest) -> c_int>,
    /// For writing; may be NULL. Stores a chunk: the size bytes of the request's buffer, which it only reads. Whether a
    /// reader may see half of it is up to the callback: one that puts a chunk in its place at once (by renaming a file)
    /// gives the old one or the new one.
    pub store: Option<unsafe extern "C" fn(user: *mut c_void, request: *mut RawRequest) -> c_int>,
    /// Called once when the store is freed; may be NULL.
    pub destroy: Option<unsafe extern "C" fn(user: *mut c_void)>,
    /// 1 if the callbacks may run in several threads at the same time: see nczchunk_zero_copy_callbacks.
    pub concurrent: usize,
    /// 1 if a chunk may be longer than a full one: see nczchunk_zero_copy_callbacks.
    pub accept_longer: usize,
    /// 1 if fill serves ranges: then it may be asked for any part of a stored chunk, size bytes from byte offset on,
    /// unless the store has codecs. So of a large chunk that is stored as it is, only what is needed is fetched, in one
    /// or more requests. Of a part nobody checks whether the stored chunk is longer than it should be.
    pub ranges: usize,
    /// With ranges: two parts of a chunk are fetched by one request if fewer bytes than these lie between them. 0
    /// stands for 16384.
    pub gap: usize,
    /// With wait, for stores with latency, such as object stores: begins to fetch a chunk as fill does, but returns at
    /// once. A read then keeps up to in_flight requests under way, and starts the next ones while it decodes; if it may
    /// use threads, and concurrent is not 0, each thread starts its share of them and waits for these. The request, its
    /// indices and its buffer stay valid until wait gives the request back. If start returns a status other than 0, the
    /// request has not begun and will not be given back; so may a chunk be absent at once.
    pub start: Option<unsafe extern "C" fn(user: *mut c_void, request: *mut RawRequest) -> c_int>,
    /// Waits until a request that the calling thread started has ended, in any order, and sets done to it. The
    /// request's status and nbytes say how it ended, as the result of fill and its nbytes would. If wait itself returns
    /// a status other than 0, no request is under way any more: the callback has ended all of them, and does not touch
    /// their buffers again. While requests are under way, no callback may read by the store in the same thread:
    /// NCZCHUNK_EINVAL.
    pub wait: Option<unsafe extern "C" fn(user: *mut c_void, done: *mut *mut RawRequest) -> c_int>,
    /// Told that a request that was started is not needed any more, because the call is about to fail; may be NULL. The
    /// request is still given back by wait, with any status.
    pub cancel: Option<unsafe extern "C" fn(user: *mut c_void, request: *mut RawRequest)>,
    /// With start: how many requests may be under way at the same time. Each has a buffer of its own. 0 stands for 64.
    pub in_flight: usize,
}
assert_can_grow!(nczchunk_reader_callbacks, in_flight: usize);
// SAFETY: a structure of C with words and pointers only, the first of which is its size; zeros are no callbacks.
unsafe impl Growing for nczchunk_reader_callbacks {}

/// A new store whose chunks are lent. The callbacks are copied. Free it with nczchunk_chunk_store_free.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument; lend is NULL; a struct_size of 0, or of a newer structure whose additions
/// are in use), NCZCHUNK_ENOMEM; then destroy is not called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_chunk_store_new_zero_copy(
    callbacks: *const nczchunk_zero_copy_callbacks,
    store: *mut *mut nczchunk_chunk_store,
    context: *mut nczchunk_context,
) -> c_int {
    let make = || {
        // SAFETY: callbacks is NULL or a structure of the size that it says, as documented.
        let callbacks = unsafe { read_growing(callbacks) }?;
        let lend = callbacks.lend.ok_or(ErrorKind::Argument("the lend callback is NULL"))?;
        let slot = Slot::new()?;
        // SAFETY: store is NULL or a place for a pointer, by the header's general promise.
        unsafe { hand_over(store, None, || Reader::Lending(slot.fill(Lending { callbacks, lend }))) }
    };
    // SAFETY: the header's general promise.
    unsafe { report(context, make) }
}

/// A new store whose chunks are filled in. The callbacks are copied. Free it with nczchunk_chunk_store_free.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument; fill is NULL and so is start; only one of start and wait is NULL; a
/// struct_size of 0, or of a newer structure whose additions are in use), NCZCHUNK_ENOMEM; then destroy is not called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_chunk_store_new(
    callbacks: *const nczchunk_reader_callbacks,
    store: *mut *mut nczchunk_chunk_store,
    context: *mut nczchunk_context,
) -> c_int {
    let make = || {
        // SAFETY: callbacks is NULL or a structure of the size that it says, as documented.
        let callbacks = unsafe { read_growing(callbacks) }?;
        if callbacks.start.is_some() != callbacks.wait.is_some() {
            return Err(ErrorKind::Argument("of start and wait only one is given").into());
        }
        if callbacks.fill.is_none() && callbacks.start.is_none() {
            return Err(ErrorKind::Argument("the fill callback is NULL").into());
        }
        let (slot, memory) = (Slot::new()?, Memory::new()?);
        // SAFETY: store is NULL or a place for a pointer, by the header's general promise.
        unsafe { hand_over(store, Some(memory), || Reader::Filling(slot.fill(Filling { callbacks }))) }
    };
    // SAFETY: the header's general promise.
    unsafe { report(context, make) }
}

/// Sets whether every chunk that a store's codecs decode is decoded to its end: 1 or, at first, 0. If not, decoding
/// stops after the last byte that is needed, where the codec can do that. It is faster, and neither the rest of the
/// chunk nor a checksum behind it is verified then. A chunk of which the last element is needed is always decoded to
/// its end.
///
/// Of an array in a zip file 1 has the entries of the chunks that are read, or of their shards, compared with their
/// checksums as well, each once as long as the file is open. With 0 that is so for entries that are read whole; a part
/// of one, such as a chunk of a shard or some elements of a chunk that is stored as it is, is not verified.
///
/// Errors: NCZCHUNK_EINVAL (store is NULL).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_chunk_store_set_verify(
    store: *mut nczchunk_chunk_store,
    verify: c_int,
    context: *mut nczchunk_context,
) -> c_int {
    // SAFETY: the pointers are NULL or point to what their types say, by the header's general promise.
    unsafe {
        report(context, || {
            handle_mut(store, "store is NULL")?.0.set_verify(verify != 0);
            Ok(())
        })
    }
}

/// Frees a store and calls destroy. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_chunk_store_free(store: *mut nczchunk_chunk_store) {
    // SAFETY: store is NULL or came from one of the functions above, by the header's general promise.
    unsafe { take_back(store) }
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
    // SAFETY: a pointer that is not NULL points to a place for a pointer, by the caller's promise.
    let out = unsafe { handle_mut(out, "store is NULL") }?;
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

/// A callback's status as a result.
fn result(status: c_int) -> Result<()> {
    if status == NOERR { Ok(()) } else { Err(ErrorKind::Callback(status).into()) }
}

struct Lending {
    callbacks: nczchunk_zero_copy_callbacks,
    lend: unsafe extern "C" fn(*mut c_void, *mut nczchunk_borrowed_chunk) -> c_int,
}

// SAFETY: the callbacks and their user pointer are used from several threads only if the caller does so, who is told
// that the callbacks must then allow it.
unsafe impl Send for Lending {}
// SAFETY: as above.
unsafe impl Sync for Lending {}

impl nczchunk_borrowed_chunk {
    /// A loan that is asked for.
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
    /// Calls release, if there is one, and gives the outcome of the loan.
    #[inline(always)]
    fn give_back<'t>(&self, loan: &mut nczchunk_borrowed_chunk, outcome: Result<Taken<'t>>) -> Result<Taken<'t>> {
        let Some(release) = self.callbacks.release else { return outcome };
        let status = outcome.as_ref().map_or_else(|error| error.status(), |_| NOERR);
        // SAFETY: the loan is one that the callbacks gave and have not been given back, as documented.
        let released = result(unsafe { release(self.callbacks.user, &raw mut *loan, status) });
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
            status => return Err(ErrorKind::Callback(status).into()),
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
            status => return Err(ErrorKind::Callback(status).into()),
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

impl Drop for Lending {
    fn drop(&mut self) {
        if let Some(destroy) = self.callbacks.destroy {
            // SAFETY: the store is being freed, which happens once.
            unsafe { destroy(self.callbacks.user) };
        }
    }
}

/// The gap between ranges if the callbacks do not say: to fetch so many bytes more costs about as much as another
/// request to a local file.
const DEFAULT_GAP: usize = 16 << 10;

/// The number of requests under way if the callbacks do not say.
const DEFAULT_IN_FLIGHT: usize = 64;

/// No store has more requests under way.
const MAX_IN_FLIGHT: usize = 1 << 16;

struct Filling {
    callbacks: nczchunk_reader_callbacks,
}

// SAFETY: as for `Lending`.
unsafe impl Send for Filling {}
// SAFETY: as for `Lending`.
unsafe impl Sync for Filling {}

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
        result(unsafe { store(self.callbacks.user, &raw mut raw) })
    }

    fn has_latency(&self) -> bool {
        self.callbacks.start.is_some()
    }

    fn flight<'s, 'f: 's>(&'f self, sharing: &'s Sharing<'f>) -> Result<Box<dyn Flight + 's>> {
        Ok(try_box(Flying::new(self, sharing.of)?)?)
    }
}

/// The result of a request that ended with this status.
fn outcome(status: c_int, nbytes: usize) -> Result<Filled> {
    match status {
        NOERR => Ok(Filled::Stored(nbytes)),
        EEMPTY | ENOOBJECT => Ok(Filled::Absent),
        status => Err(ErrorKind::Callback(status).into()),
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

impl Flight for Flying<'_> {
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
                result(status)?;
                self.waiter.started();
                Ok(true)
            }
        }
    }

    fn wait(&mut self) -> Result<*mut RawRequest> {
        let wait = self.filling.callbacks.wait.ok_or(ErrorKind::Internal)?;
        let mut done = ptr::null_mut();
        // SAFETY: the callback gets what is documented: its own pointer, and a place for the request.
        match result(unsafe { wait(self.filling.callbacks.user, &raw mut done) }) {
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

impl Drop for Filling {
    fn drop(&mut self) {
        if let Some(destroy) = self.callbacks.destroy {
            // SAFETY: the store is being freed, which happens once.
            unsafe { destroy(self.callbacks.user) };
        }
    }
}
