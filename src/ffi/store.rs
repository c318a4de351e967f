//! # Store: where chunks come from and go to
//!
//! A store asks callbacks of yours for chunks, and only for chunks of which at least one element is selected; one at a time,
//! unless you allow more. A callback is told the chunk by its indices: along each dimension, chunk i holds the elements from
//! i * chunklen on (less the origin, in a dimension that has one). There are two ways to give a chunk:
//!
//! - lend it: return a pointer to a chunk that is in memory already; for writing, one to change;
//! - fill it in: write it into a buffer of the library's; for writing, take it from one. Whenever the chunk lies in the
//!   caller's memory in one piece, that buffer is the caller's memory, and nothing is copied.
//!
//! A callback returns 0. One that gives a chunk may return NCZCHUNK_EEMPTY or NCZCHUNK_ENOOBJECT instead: the chunk is absent
//! and reads as the fill value. Any other status ends the call, which returns it. A callback must not throw C++ exceptions or
//! longjmp through the library. It may call the library, but must not change, wrap or free what the running call uses.
//!
//! A store whose callbacks for writing are NULL is read-only.
//!
//! Structures of callbacks begin with their own size, so that they can grow: set struct_size to sizeof the structure and
//! everything you do not use to 0.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;

use super::{handle_mut, status, take_back};
use crate::alloc::Slot;
use crate::error::{ErrorKind, Result};
use crate::status::{EEMPTY, ENOOBJECT, NOERR};
use crate::store::{Borrowed, Buffer, Compression, Fill, Filled, Lend, Lent, Reader, Store};

/// Callbacks that lend chunks.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nczchunk_lending_callbacks {
    /// sizeof(nczchunk_lending_callbacks).
    pub struct_size: usize,
    /// Passed to every callback.
    pub user: *mut c_void,
    /// Lends the chunk with these rank indices: sets data to its first byte and nbytes to its length, which is the
    /// stored length and must be that of a full chunk (or, in a store that decodes, of the compressed chunk). The chunk
    /// must stay valid and unchanged until release is called for it or, without release, until lend or lend_to_write is
    /// called again, by whichever thread.
    ///
    /// With NCZCHUNK_EEMPTY, data may be set too: then it is a chunk of fill values in native byte order to be used
    /// instead of the variable's fill value. (A store that decodes does not use it.) A cache that keeps such a chunk
    /// returns NCZCHUNK_EEMPTY for it every time until it is told that it was changed: then it is in stored byte order.
    pub lend: Option<
        unsafe extern "C" fn(
            user: *mut c_void,
            rank: usize,
            chunk_indices: *const isize,
            data: *mut *const c_void,
            nbytes: *mut usize,
        ) -> c_int,
    >,
    /// Takes back a chunk; may be NULL. Called once for every pointer that lend set while returning 0 or NCZCHUNK_EEMPTY, or
    /// lend_to_write while returning 0, NCZCHUNK_EEMPTY or NCZCHUNK_ENOOBJECT, before the same thread of that call asks for
    /// another chunk.
    pub release: Option<unsafe extern "C" fn(user: *mut c_void, data: *const c_void)>,
    /// Called once when the store is freed; may be NULL.
    pub destroy: Option<unsafe extern "C" fn(user: *mut c_void)>,
    /// For writing; may be NULL. Lends the chunk with these rank indices to be changed, as lend does. covered is 1 if
    /// every element of it that lies inside the dimensions will be replaced: then it need not be read first, and what it
    /// holds does not matter. With NCZCHUNK_EEMPTY or NCZCHUNK_ENOOBJECT it is a new chunk, and what it holds does not
    /// matter either: the library fills it with the fill value where it is not written to.
    ///
    /// Elements with a copier are the exception, for what they hold is freed: a chunk with status 0 holds elements, one
    /// that is new holds zero bytes, covered or not.
    pub lend_to_write: Option<
        unsafe extern "C" fn(
            user: *mut c_void,
            rank: usize,
            chunk_indices: *const isize,
            covered: c_int,
            data: *mut *mut c_void,
            nbytes: *mut usize,
        ) -> c_int,
    >,
    /// Told that the chunk was changed, before it is released; may be NULL. It is not told of a chunk whose change failed.
    pub changed: Option<unsafe extern "C" fn(user: *mut c_void, rank: usize, chunk_indices: *const isize) -> c_int>,
    /// 1 if the callbacks may run in several threads at the same time, and a chunk that was lent stays valid until it is
    /// released or, without release, until the call of the library ends, whatever else is lent meanwhile. Then a call may
    /// use threads (nczchunk_context_set_threads), which are not the program's own: they have a stack of the system's
    /// default size, and thread-local variables as in any new thread. 0 keeps a call to its own thread; that no two threads
    /// of yours call at the same time is then up to you.
    pub concurrent: c_int,
}

/// Callbacks that fill in chunks.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nczchunk_filling_callbacks {
    /// sizeof(nczchunk_filling_callbacks).
    pub struct_size: usize,
    /// Passed to every callback.
    pub user: *mut c_void,
    /// Fetches the chunk with these rank indices into buffer, which has room for size bytes, and sets nbytes to the length
    /// of the stored chunk. size is the length of a full chunk; in a store that decodes, the most that such a chunk takes
    /// compressed in one go.
    ///
    /// A longer chunk is not written beyond size, and nbytes is still its length. It is an error or, in a store that
    /// decodes, where a chunk compressed in many small pieces can be longer, asked for once more with that much room.
    pub fill: Option<
        unsafe extern "C" fn(
            user: *mut c_void,
            rank: usize,
            chunk_indices: *const isize,
            buffer: *mut c_void,
            size: usize,
            nbytes: *mut usize,
        ) -> c_int,
    >,
    /// Called once when the store is freed; may be NULL.
    pub destroy: Option<unsafe extern "C" fn(user: *mut c_void)>,
    /// For writing; may be NULL. Stores the chunk with these rank indices, the nbytes bytes of data. Whether a reader may
    /// see half of it is up to the callback: one that puts a chunk in its place at once (by renaming a file) gives the old
    /// one or the new one.
    pub store: Option<
        unsafe extern "C" fn(
            user: *mut c_void,
            rank: usize,
            chunk_indices: *const isize,
            data: *const c_void,
            nbytes: usize,
        ) -> c_int,
    >,
    /// 1 if the callbacks may run in several threads at the same time: see nczchunk_lending_callbacks.
    pub concurrent: c_int,
}

/// A store. Between calls it keeps the memory it needed: a chunk, and with zstd a compressed chunk and zstd's contexts, for
/// each thread that used it at the same time. It may be used by several threads at the same time if its callbacks may.
pub struct nczchunk_store(pub(super) Store<'static>);

/// A new store whose chunks are lent. The callbacks are copied. Free it with nczchunk_store_free.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument; lend is NULL; a struct_size of 0, or of a newer structure whose additions are
/// in use), NCZCHUNK_ENOMEM; then destroy is not called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_store_lending(
    callbacks: *const nczchunk_lending_callbacks,
    store: *mut *mut nczchunk_store,
) -> c_int {
    status(|| {
        // SAFETY: the header's general promise. A structure of zeros is a structure without callbacks.
        let callbacks = unsafe { read_growing(callbacks) }?;
        let lend = callbacks.lend.ok_or(ErrorKind::Argument("the lend callback is NULL"))?;
        let slot = Slot::new()?;
        // SAFETY: the header's general promise.
        unsafe { hand_over(store, || Reader::Lending(slot.fill(Lending { callbacks, lend }))) }
    })
}

/// A new store whose chunks are filled in. The callbacks are copied. Free it with nczchunk_store_free.
///
/// Errors: as for nczchunk_store_lending.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_store_filling(
    callbacks: *const nczchunk_filling_callbacks,
    store: *mut *mut nczchunk_store,
) -> c_int {
    status(|| {
        // SAFETY: the header's general promise. A structure of zeros is a structure without callbacks.
        let callbacks = unsafe { read_growing(callbacks) }?;
        let fill = callbacks.fill.ok_or(ErrorKind::Argument("the fill callback is NULL"))?;
        let slot = Slot::new()?;
        // SAFETY: the header's general promise.
        unsafe { hand_over(store, || Reader::Filling(slot.fill(Filling { callbacks, fill }))) }
    })
}

/// How a store compresses what is written.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nczchunk_zstd_options {
    /// sizeof(nczchunk_zstd_options).
    pub struct_size: usize,
    /// The compression level; 0 is zstd's default, which is 3. What zstd does not know is taken for the nearest it does.
    pub level: c_int,
    /// 1 to leave out the checksum that follows the data.
    pub without_checksum: c_int,
}

/// Wraps whatever the store reads from and writes to in zstd: from now on, its callbacks give and take compressed chunks.
/// A chunk is decoded straight into the caller's memory where it lands there in one piece. options is for writing; NULL
/// stands for zeros.
///
/// The decoder trusts no size that the compressed data claims: it decodes into a buffer of a chunk's size, and data that do
/// not fill it exactly fail with NCZCHUNK_EBADCHUNK, data that do not decode with NCZCHUNK_EFILTER. To be written to, the
/// store must be one that fills in chunks.
///
/// Errors: NCZCHUNK_EINVAL (store is NULL; a struct_size of 0, or of a newer structure whose additions are in use),
/// NCZCHUNK_ENOMEM; then the store is as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_store_wrap_zstd(
    store: *mut nczchunk_store,
    options: *const nczchunk_zstd_options,
) -> c_int {
    status(|| {
        // SAFETY: the header's general promise.
        let store = unsafe { handle_mut(store, "store is NULL") }?;
        let mut compression = Compression::default();
        if !options.is_null() {
            // SAFETY: the header's general promise. A structure of zeros is one.
            let options = unsafe { read_growing(options) }?;
            compression = Compression { level: options.level, checksum: options.without_checksum == 0 };
        }
        store.0.wrap_zstd(compression)
    })
}

/// Frees a store and calls destroy. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_store_free(store: *mut nczchunk_store) {
    // SAFETY: the header's general promise.
    unsafe { take_back(store) }
}

/// Hands a store over. The reader, which runs `destroy` when dropped, is made only once nothing can fail any more.
///
/// # Safety
/// `out` is NULL or points to a place for a pointer.
unsafe fn hand_over(out: *mut *mut nczchunk_store, make: impl FnOnce() -> Reader<'static>) -> Result<()> {
    // SAFETY: the caller's promise.
    let out = unsafe { handle_mut(out, "store is NULL") }?;
    let slot = Slot::new()?;
    *out = Box::into_raw(slot.fill(nczchunk_store(Store::of(make()))));
    Ok(())
}

/// A structure that begins with its own size, as large as this library knows it: what the caller's lacks is zero, and
/// what it has beyond must be zero.
///
/// # Safety
/// The pointer is NULL or points to a `usize` that says how many readable bytes there are from it on, itself included. All
/// zeros are a valid `T`.
unsafe fn read_growing<T: Copy>(pointer: *const T) -> Result<T> {
    if pointer.is_null() {
        return Err(ErrorKind::Argument("the structure is NULL").into());
    }
    // SAFETY: the caller's promise. The structure need not be aligned for these accesses.
    let size = unsafe { pointer.cast::<usize>().read_unaligned() };
    // No structure will ever be longer, and none ends in the middle of a field: a size that was never set is found out, not
    // followed.
    if !(size_of::<usize>()..=4096).contains(&size) || !size.is_multiple_of(align_of::<usize>()) {
        return Err(ErrorKind::Argument("struct_size is not set").into());
    }
    // SAFETY: the caller's promise covers `size` bytes.
    let bytes = unsafe { std::slice::from_raw_parts(pointer.cast::<MaybeUninit<u8>>(), size) };
    let (known, beyond) = bytes.split_at(size.min(size_of::<T>()));
    // SAFETY: what lies beyond the known structure are the fields of a newer one, which its user has set.
    if beyond.iter().any(|byte| unsafe { byte.assume_init() } != 0) {
        return Err(ErrorKind::Argument("the structure asks for something newer than this library").into());
    }
    let mut value = MaybeUninit::<T>::zeroed();
    // SAFETY: `known` is no longer than a `T`, and does not overlap the new value; all zeros are a valid `T`, and so is
    // what the caller has set of one.
    unsafe {
        value.as_mut_ptr().cast::<MaybeUninit<u8>>().copy_from_nonoverlapping(known.as_ptr(), known.len());
        Ok(value.assume_init())
    }
}

type LendCallback = unsafe extern "C" fn(*mut c_void, usize, *const isize, *mut *const c_void, *mut usize) -> c_int;
type FillCallback = unsafe extern "C" fn(*mut c_void, usize, *const isize, *mut c_void, usize, *mut usize) -> c_int;

struct Lending {
    callbacks: nczchunk_lending_callbacks,
    lend: LendCallback,
}

// SAFETY: the callbacks and their user pointer are used from several threads only if the caller does so, who is told that
// the callbacks must then allow it.
unsafe impl Send for Lending {}
// SAFETY: as above.
unsafe impl Sync for Lending {}

impl Lend for Lending {
    fn lend(&self, chunk: &[isize]) -> Result<Lent<'_>> {
        let (mut data, mut nbytes) = (std::ptr::null(), 0);
        // SAFETY: the arguments are what the callback is documented to get.
        let status =
            unsafe { (self.lend)(self.callbacks.user, chunk.len(), chunk.as_ptr(), &raw mut data, &raw mut nbytes) };
        match status {
            NOERR if data.is_null() => return Err(ErrorKind::NoData.into()),
            EEMPTY if data.is_null() => return Ok(Lent::Absent),
            NOERR | EEMPTY => {}
            ENOOBJECT => return Ok(Lent::Absent),
            status => return Err(ErrorKind::Callback(status).into()),
        }
        if isize::try_from(nbytes).is_err() {
            self.give_back(data);
            return Err(ErrorKind::LentLength(nbytes).into());
        }
        // SAFETY: by its documentation the callback has lent `nbytes` bytes, which stay valid until they are released or
        // the next chunk is asked for; the library releases each chunk before it asks for the next.
        let bytes = unsafe { std::slice::from_raw_parts(data.cast(), nbytes) };
        Ok(if status == EEMPTY { Lent::FillValues(bytes) } else { Lent::Chunk(bytes) })
    }

    fn release(&self, bytes: &[u8]) {
        self.give_back(bytes.as_ptr().cast());
    }

    fn is_concurrent(&self) -> bool {
        self.callbacks.concurrent != 0
    }

    fn is_writable(&self) -> bool {
        self.callbacks.lend_to_write.is_some()
    }

    fn change(&self, chunk: &[isize], covered: bool, change: &mut dyn FnMut(Borrowed<'_>) -> Result<()>) -> Result<()> {
        let lend = self.callbacks.lend_to_write.ok_or(ErrorKind::ReadOnly)?;
        let (user, rank, indices) = (self.callbacks.user, chunk.len(), chunk.as_ptr());
        let (mut data, mut nbytes) = (std::ptr::null_mut(), 0);
        // SAFETY: the arguments are what the callback is documented to get.
        let status = unsafe { lend(user, rank, indices, covered.into(), &raw mut data, &raw mut nbytes) };
        match status {
            NOERR | EEMPTY | ENOOBJECT if data.is_null() => return Err(ErrorKind::NoData.into()),
            NOERR | EEMPTY | ENOOBJECT => {}
            status => return Err(ErrorKind::Callback(status).into()),
        }
        let result = if isize::try_from(nbytes).is_err() {
            Err(ErrorKind::LentLength(nbytes).into())
        } else {
            // SAFETY: by its documentation the callback has lent `nbytes` bytes to be changed, which stay valid until they are
            // released, which is below.
            let bytes = unsafe { std::slice::from_raw_parts_mut(data.cast(), nbytes) };
            change(if status == NOERR { Borrowed::Chunk(bytes) } else { Borrowed::New(bytes) })
        };
        let result = result.and_then(|()| match self.callbacks.changed {
            // SAFETY: the arguments are what the callback is documented to get.
            Some(changed) => match unsafe { changed(user, rank, indices) } {
                NOERR => Ok(()),
                status => Err(ErrorKind::Callback(status).into()),
            },
            None => Ok(()),
        });
        self.give_back(data);
        result
    }
}

impl Lending {
    fn give_back(&self, data: *const c_void) {
        if let Some(release) = self.callbacks.release {
            // SAFETY: the pointer is one that the callback has lent and not been given back.
            unsafe { release(self.callbacks.user, data) };
        }
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

struct Filling {
    callbacks: nczchunk_filling_callbacks,
    fill: FillCallback,
}

// SAFETY: as for `Lending`.
unsafe impl Send for Filling {}
// SAFETY: as for `Lending`.
unsafe impl Sync for Filling {}

impl Fill for Filling {
    fn fill(&self, chunk: &[isize], buffer: &mut Buffer<'_>) -> Result<Filled> {
        let (size, mut nbytes) = (buffer.capacity(), 0);
        let (user, rank, indices) = (self.callbacks.user, chunk.len(), chunk.as_ptr());
        // SAFETY: the arguments are what the callback is documented to get; the buffer has room for `size` bytes.
        match unsafe { (self.fill)(user, rank, indices, buffer.as_mut_ptr().cast(), size, &raw mut nbytes) } {
            NOERR => {}
            EEMPTY | ENOOBJECT => return Ok(Filled::Absent),
            status => return Err(ErrorKind::Callback(status).into()),
        }
        if nbytes <= size {
            // SAFETY: by its documentation the callback has written the chunk, which has `nbytes` bytes.
            unsafe { buffer.set_filled(nbytes) };
        }
        Ok(Filled::Stored(nbytes))
    }

    fn is_concurrent(&self) -> bool {
        self.callbacks.concurrent != 0
    }

    fn is_writable(&self) -> bool {
        self.callbacks.store.is_some()
    }

    fn store(&self, chunk: &[isize], bytes: &[u8]) -> Result<()> {
        let store = self.callbacks.store.ok_or(ErrorKind::ReadOnly)?;
        let (user, rank, indices) = (self.callbacks.user, chunk.len(), chunk.as_ptr());
        // SAFETY: the arguments are what the callback is documented to get.
        match unsafe { store(user, rank, indices, bytes.as_ptr().cast(), bytes.len()) } {
            NOERR => Ok(()),
            status => Err(ErrorKind::Callback(status).into()),
        }
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
