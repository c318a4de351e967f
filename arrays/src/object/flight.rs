//! Requests in flight: reads and writes of a storage with latency, which are started first and waited for later.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use super::byte_range::ByteRange;
use crate::alloc;
use crate::error::{Error, ErrorKind, Result};
use crate::open_object::ObjectState;
use crate::status::{EEMPTY, EIO, ENOOBJECT, NOERR};

/// A read of an object, or a write of a whole object. The library sets the fields up to size; the callback sets the
/// others. The fields and the buffer are valid until the callback returns or, for a request that start began, until
/// wait returns it.
#[repr(C)]
#[derive(Debug)]
pub struct ObjectRequest {
    /// sizeof(nczchunk_object_request) as the library knows it. There are no fields beyond it.
    pub struct_size: usize,
    /// The object's name, such as "ocean/sst/c/0/1".
    pub name: *const c_char,
    /// The position of the first byte (0 for a write): this many bytes after the object's beginning or, if from_end is
    /// 1, before its end. An object that is shorter than that is read from its beginning.
    pub offset: u64,
    /// 1 if offset counts from the end, else 0.
    pub from_end: usize,
    /// A read: the memory for the bytes. A write: the object's bytes, which the callback only reads.
    pub buffer: *mut c_void,
    /// A read: the size of the buffer in bytes; 0 requests only the object's length. A write: the length of the object
    /// in bytes.
    pub size: usize,
    /// Set by the callback for a read: the number of bytes that it has written to the buffer, which is size, or less if
    /// the object ends before. 0 at first.
    pub nbytes: usize,
    /// Set by the callback for a read: the length of the whole object in bytes. 0 at first.
    pub object_size: u64,
    /// Set by the callback for a request that start began: its outcome, as read or write would return it. 0 at first.
    pub status: isize,
    /// Set by the callback: a value of its choice, kept from start to wait. NULL at first.
    pub handle: *mut c_void,
    /// Set by the callback of a storage with versions, for a read: a number other than 0 that changes whenever the
    /// object's bytes change, such as a hash of its ETag. 0 if the version is unknown, and at first.
    pub version: u64,
}

/// What was read; of a write nothing counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// How many bytes have been written to the memory.
    pub nbytes: usize,
    /// How many the object has.
    pub object_size: u64,
    /// The object's version, if it is known.
    pub version: Option<u128>,
    /// Whether it is the version for later calls, too.
    pub is_lasting: bool,
}

impl Answer {
    /// So many bytes of an object in this state.
    pub(crate) fn new(nbytes: usize, (object_size, version): ObjectState) -> Self {
        Answer { nbytes, object_size, version, is_lasting: version.is_some() }
    }

    /// The length and the version.
    pub fn state(&self) -> ObjectState {
        (self.object_size, self.version)
    }
}

impl ObjectRequest {
    /// A request for nothing.
    pub(crate) const NONE: Self = ObjectRequest {
        struct_size: size_of::<ObjectRequest>(),
        name: ptr::null(),
        offset: 0,
        from_end: 0,
        buffer: ptr::null_mut(),
        size: 0,
        nbytes: 0,
        object_size: 0,
        status: 0,
        handle: ptr::null_mut(),
        version: 0,
    };

    /// Where a read begins.
    pub(crate) fn begin(&self) -> ByteRange {
        if self.from_end == 1 { ByteRange::BeforeEnd(self.offset) } else { ByteRange::At(self.offset) }
    }

    /// Says how a read has ended. The handle is then NULL, or the error: see [`take_error`](Self::take_error).
    pub(crate) fn set_outcome(&mut self, outcome: Result<Option<Answer>>) {
        self.handle = ptr::null_mut();
        match outcome {
            Ok(Some(Answer { nbytes, object_size, version, .. })) => {
                let version = version.and_then(|version| u64::try_from(version).ok());
                (self.nbytes, self.object_size, self.version) = (nbytes, object_size, version.unwrap_or(0));
                self.status = NOERR as isize;
            }
            Ok(None) => self.status = ENOOBJECT as isize,
            Err(error) => {
                self.status = EIO as isize;
                // If there is no memory for it, the status has to do.
                self.handle = alloc::try_box(error).map_or(ptr::null_mut(), |error| Box::into_raw(error).cast());
            }
        }
    }

    /// Why a request has failed.
    ///
    /// # Safety
    /// [`set_outcome`](Self::set_outcome) has said how it has ended, and the handle was not changed since.
    pub(crate) unsafe fn take_error(request: *mut ObjectRequest) -> Option<Error> {
        // SAFETY: the handle is NULL or the box that `set_outcome` has made, which is taken back once.
        unsafe {
            let handle = ptr::replace(&raw mut (*request).handle, ptr::null_mut());
            (!handle.is_null()).then(|| *Box::from_raw(handle.cast::<Error>()))
        }
    }

    /// What the callback answered that returned this status, to whom a read was given that begins there and for which
    /// there is room for `size` bytes. What the request itself says of these the callback may have changed.
    ///
    /// # Errors
    /// The callback's; [`ErrorKind::StoredLength`] if what it says of the object's length does not go together with
    /// how many bytes it has put into the buffer.
    #[doc(hidden)]
    pub fn answer(&self, status: c_int, begin: ByteRange, size: usize) -> Result<Option<Answer>> {
        let ObjectRequest { nbytes, object_size, version, .. } = *self;
        match status {
            NOERR => {}
            ENOOBJECT | EEMPTY => return Ok(None),
            status => return Err(ErrorKind::Callback(status).into()),
        }
        let there = object_size - begin.offset(object_size);
        let due = usize::try_from(there).unwrap_or(usize::MAX).min(size);
        if nbytes != due {
            return Err(ErrorKind::StoredLength { found: nbytes, expected: due }.into());
        }
        let version = (version != 0).then_some(version.into());
        Ok(Some(Answer::new(nbytes, (object_size, version))))
    }
}

/// Limits on the reads in flight at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The largest number of reads and writes; at least 1.
    pub requests: usize,
    /// The most bytes of memory for the buffers of all requests together; a single larger request is not refused.
    /// `None` stands for the bytes of `requests` chunks, but no less than `largest`; in a call that writes, for 256
    /// MiB.
    pub bytes: Option<usize>,
    /// Several parts of an object are read at once, up to this many bytes.
    pub largest: usize,
    /// How many bytes may be read between the parts of an object, in percent of those needed, so that there are fewer
    /// requests: besides gaps below 4 KiB, gaps below [`gap`](super::ObjectStore::gap), the smallest first. `None`
    /// stands for all gaps below that.
    pub excess: Option<usize>,
}

impl Limits {
    /// What one of so many has that share them.
    pub(crate) fn shared(self, by: usize) -> Self {
        let by = by.max(1);
        Limits { requests: (self.requests / by).max(1), bytes: self.bytes.map(|bytes| bytes / by), ..self }
    }
}

/// The most bytes of the writes in flight of one call, and of the reads for them, where the storage names none.
pub(crate) const BYTES_TO_WRITE: usize = 256 << 20;

impl Default for Limits {
    fn default() -> Self {
        Limits { requests: 64, bytes: None, largest: 16 << 20, excess: Some(10) }
    }
}

/// A storage whose reads are started first and waited for later, by pointers, as C has it. In Rust
/// [`AsyncStore`](super::AsyncStore) does the same without unsafe code.
///
/// Requests belong to the thread that starts them, and are returned to that thread.
///
/// # Safety
/// `wait` returns a request that was started and was not returned before; from then on the storage does not touch the
/// request or its buffer. If the status of a read is success, the first [`nbytes`](ObjectRequest::nbytes) bytes of the
/// buffer have been written. The buffer of a write is only read. After an error of `wait` the storage touches no
/// request of that thread's any more.
pub unsafe trait Flight {
    /// The limits on the reads in flight at the same time. The library observes them in each transfer.
    fn limits(&self) -> Limits;

    /// Starts a read; `false` if the object is known to be absent: then the read has not begun.
    ///
    /// # Errors
    /// Any error; then the read has not begun.
    ///
    /// # Safety
    /// The request and what it points to stay where they are, and nobody else uses them, until `wait` gives the request
    /// back.
    unsafe fn start(&self, request: *mut ObjectRequest) -> Result<bool>;

    /// Whether writes may be in flight, too.
    fn writes(&self) -> bool {
        false
    }

    /// Starts to write a whole object in place of the one there was. As for [`write`](super::ObjectStore::write), a
    /// reader finds the old bytes or the new ones, and after an error what there was is there still. What has been
    /// started is waited for, and is never cancelled: so nothing is written any more after the library has returned.
    ///
    /// # Errors
    /// Any error; then the write has not begun.
    ///
    /// # Safety
    /// As for [`start`](Self::start). The buffer is only read.
    unsafe fn start_write(&self, request: *mut ObjectRequest) -> Result<()> {
        let _ = request;
        Err(ErrorKind::ReadOnly.into())
    }

    /// Waits until one of this thread's requests has ended, in any order, and gives it back, with its status: that of
    /// [`NOERR`](crate::status::NOERR), of [`ENOOBJECT`](crate::status::ENOOBJECT) for a read, or any other.
    ///
    /// # Errors
    /// Any error; then no request of this thread's is in flight any more, and their buffers are not touched again.
    ///
    /// # Safety
    /// The thread has requests in flight, and all of them were started by whoever waits.
    unsafe fn wait(&self) -> Result<*mut ObjectRequest>;

    /// Says that a read is not needed any more. It is still given back by `wait`.
    ///
    /// # Safety
    /// The read is in flight.
    unsafe fn cancel(&self, request: *mut ObjectRequest) {
        let _ = request;
    }

    /// Why a request has failed, where more is known than its status.
    ///
    /// # Safety
    /// The request has been given back with the status of an error, and this was not called since.
    unsafe fn take_error(&self, request: *mut ObjectRequest) -> Option<Error> {
        let _ = request;
        None
    }
}
