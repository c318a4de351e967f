//! # Storages
//!
//! An array is metadata and chunks, and each of these is an object: named bytes in a storage. nczchunk_array_open finds
//! the storage by itself where it is a directory or a zip file; the functions below make one to be given to
//! nczchunk_array_open_in: such a storage once for many arrays, one in memory, or one of your own:
//!
//! ```c
//! nczchunk_storage_callbacks callbacks = {.struct_size = sizeof callbacks, .read = get};
//! nczchunk_storage_new(&callbacks, &storage, NULL);
//! nczchunk_array_open_in(storage, "ocean/sst", NCZCHUNK_READ, &array, NULL);
//! ```
//!
//! A file that holds arrays, such as a netCDF classic file, is a storage, too: what is opened and listed is in the
//! file. It is one at a path, or an object of any storage:
//!
//! ```c
//! nczchunk_storage_file(storage, "2020/sst.nc", &file, NULL);
//! nczchunk_array_open_in(file, "SST", NCZCHUNK_READ, &array, NULL);
//! ```
//!
//! A new zip file is made by nczchunk_storage_create_zip; codecs that the library does not have are added to a storage
//! by nczchunk_storage_add_codec.
//!
//! A storage with latency has start and wait instead of read, or beside it: then many reads are under way at the same
//! time, without threads. Chunks of an array with shards are found by the shards' indices, and neighbours among them
//! are read at once. examples/http_array.c is such a storage over HTTP.

use std::cell::{Cell, RefCell};
use std::ffi::{c_char, c_int, c_void};
use std::path::Path;
use std::ptr;

use super::array::{file_path, utf8};
use super::array_objects::{c_text, nczchunk_storage};
use super::context::report;
use super::growing::{Growing, assert_can_grow, read_growing};
use super::objects::{nczchunk_codec, nczchunk_context};
use super::pointers::{hand_over, handle, handle_mut, required, take_back, text};
use crate::alloc::Slot;
use crate::array::{create_storage, open_storage};
use crate::buffer::Buffer;
use crate::codec::{Codec, CodecUse};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::MemoryLimits;
pub use crate::object::ObjectRequest as nczchunk_object_request;
use crate::object::{
    ByteRange, Entry, Flight, Limits, Memory, Name, ObjectRequest, ObjectStore, Storage, read_by_flight,
};
use crate::open_object::{ObjectState, Versions};
use crate::status::{EEMPTY, EINVAL, ENOOBJECT, NOERR};

/// A storage at a path: a directory, a zip file, or a file that holds arrays, which its first bytes tell; or, where
/// the library was built with NCZCHUNK_NETWORK, at a URL of an object store or HTTP server. Free it with
/// nczchunk_storage_free.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument, a malformed URL), NCZCHUNK_ENOTFOUND (there is no such path),
/// NCZCHUNK_ENOTNC (it is something else), NCZCHUNK_ENOTBUILT (a file that is known but cannot be read, a URL that
/// the library was built without), NCZCHUNK_EIO (a server did not answer as it should), NCZCHUNK_ENOMEM, and the
/// system's own numbers: EACCES also for a server that refuses access.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_storage_open(
    path: *const c_char,
    storage: *mut *mut nczchunk_storage,
    context: *mut nczchunk_context,
) -> c_int {
    // SAFETY: path is NULL or a text, and storage NULL or a place for a pointer, by the header's general promise.
    unsafe {
        report(context, || {
            let path = file_path(path)?;
            hand_over(storage, || Ok(nczchunk_storage(open_storage(path)?)))
        })
    }
}

/// A storage that is one file of another storage: an object that holds arrays, by its name. The file need not be there
/// yet. It goes on using the other storage when that is freed. Free it with nczchunk_storage_free.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument; a name that no object can have), NCZCHUNK_ENOMEM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_storage_file(
    storage: *const nczchunk_storage,
    name: *const c_char,
    file: *mut *mut nczchunk_storage,
    context: *mut nczchunk_context,
) -> c_int {
    // SAFETY: the pointers are NULL or point to what their types say, by the header's general promise.
    unsafe {
        report(context, || {
            let storage = handle(storage, "storage is NULL")?;
            let name = utf8(text(name, "name is NULL")?)?;
            hand_over(file, || Ok(nczchunk_storage(storage.0.file(name)?)))
        })
    }
}

/// A storage at a path where something is to be created: a directory, which is made if there is none. Free it
/// with nczchunk_storage_free.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument), NCZCHUNK_ENOTNC (there is a file that is no zip file),
/// NCZCHUNK_ENOTBUILT (there is nothing, and the name ends with .zip: see nczchunk_storage_create_zip),
/// NCZCHUNK_ENOMEM, and the system's own numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_storage_create(
    path: *const c_char,
    storage: *mut *mut nczchunk_storage,
    context: *mut nczchunk_context,
) -> c_int {
    // SAFETY: path is NULL or a text, and storage NULL or a place for a pointer, by the header's general promise.
    unsafe {
        report(context, || {
            let path = file_path(path)?;
            hand_over(storage, || Ok(nczchunk_storage(create_storage(path)?)))
        })
    }
}

/// Sets whether files are opened that hold only a part of their arrays, as those of cfdb do that say that they are
/// copies of remote ones: 1 for yes, and then what has not been fetched is read as fill values; 0, which is how a
/// storage begins, for no, and then they are refused with NCZCHUNK_ENOTBUILT. Arrays that are open stay open.
///
/// Errors: NCZCHUNK_EINVAL (storage is NULL).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_storage_allow_partial(
    storage: *mut nczchunk_storage,
    allow: c_int,
    context: *mut nczchunk_context,
) -> c_int {
    // SAFETY: the pointers are NULL or alive, by the header's general promise.
    unsafe {
        report(context, || {
            handle_mut(storage, "storage is NULL")?.0.allow_partial(allow != 0);
            Ok(())
        })
    }
}

/// How much memory may be taken for what is stored in a storage, beside the memory that a read or write is given. It
/// keeps small files from claiming all memory. 0 leaves a limit as it is at first.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nczchunk_memory_limits {
    /// sizeof(nczchunk_memory_limits).
    pub struct_size: usize,
    /// The most bytes of a chunk: as it is stored, between two of its codecs, and of what is decoded of it. At first
    /// 4 GiB.
    pub chunk_bytes: usize,
    /// The most bytes of a chunk of strings of any length, stored or decoded; each string takes a pointer more. At
    /// first 256 MiB.
    pub string_chunk_bytes: usize,
    /// The most bytes that the metadata in one document take while they are read: about twice those of its text and 100
    /// for each JSON value. At first 1 GiB.
    pub metadata_bytes: usize,
}
assert_can_grow!(nczchunk_memory_limits, metadata_bytes: usize);
// SAFETY: a structure of C with words only, the first of which is its size.
unsafe impl Growing for nczchunk_memory_limits {}

/// Sets how much memory may be taken for what is stored in a storage: for metadata that are read from now on, and for
/// the chunks of arrays that are opened or created in it from now on. What would take more fails with NCZCHUNK_ENOMEM,
/// and the context's message names the limit, as in
///
/// ```text
/// chunk (0): more bytes of memory are needed than the limit string_chunk_bytes = 268435456; raise it by
/// nczchunk_storage_set_memory_limits, or MemoryLimits in C++, Python and Rust
/// ```
///
/// To open an array by its path with other limits, make a storage of it first:
///
/// ```c
/// nczchunk_memory_limits limits = NCZCHUNK_MEMORY_LIMITS_INIT;
/// limits.string_chunk_bytes = (size_t)2 << 30;
/// nczchunk_storage_open("texts.zarr", &storage, NULL);
/// nczchunk_storage_set_memory_limits(storage, &limits, NULL);
/// nczchunk_array_open_in(storage, "names", NCZCHUNK_READ, &array, NULL);
/// ```
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument; a struct_size of 0, or of a newer structure whose additions are in use).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_storage_set_memory_limits(
    storage: *mut nczchunk_storage,
    limits: *const nczchunk_memory_limits,
    context: *mut nczchunk_context,
) -> c_int {
    // SAFETY: the pointers are NULL or point to what their types say, by the header's general promise; limits is a
    // structure of the size that it says.
    unsafe {
        report(context, || {
            let storage = handle_mut(storage, "storage is NULL")?;
            let limits = read_growing(limits)?;
            let mut all = MemoryLimits::default();
            for (limit, given) in [
                (&mut all.chunk_bytes, limits.chunk_bytes),
                (&mut all.string_chunk_bytes, limits.string_chunk_bytes),
                (&mut all.metadata_bytes, limits.metadata_bytes),
            ] {
                if given > 0 {
                    *limit = given;
                }
            }
            storage.0.set_memory_limits(all);
            Ok(())
        })
    }
}

/// A storage that is written to a new zip file at a path. Its entries are stored as they are, for chunks are
/// compressed already. Arrays are created in it by nczchunk_array_create_in, written and read again; an object that is
/// written twice leaves its first bytes in the file, unused, so chunks are best written whole.
///
/// The file is there when nczchunk_storage_finish has been called, in place of the one there was. Until then it has the
/// name `.<name>.<process>.<number>.partial` beside the path. If the storage is freed before, and all arrays in it are
/// closed, nothing is left. Free it with nczchunk_storage_free. A child that is forked can do that, too, which leaves
/// the file alone; all calls that would use the storage fail there with NCZCHUNK_EINVAL.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument; a path that no file can have), NCZCHUNK_ENOTBUILT (the library was built
/// without zip files), NCZCHUNK_ENOMEM, and the system's own numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_storage_create_zip(
    path: *const c_char,
    storage: *mut *mut nczchunk_storage,
    context: *mut nczchunk_context,
) -> c_int {
    // SAFETY: path is NULL or a text, and storage NULL or a place for a pointer, by the header's general promise.
    unsafe {
        report(context, || {
            let path = file_path(path)?;
            hand_over(storage, || Ok(nczchunk_storage(new_zip(path)?)))
        })
    }
}

#[cfg(feature = "zip")]
fn new_zip(path: &Path) -> Result<Storage> {
    Storage::new(crate::object::ZipWriter::create(path)?)
}

#[cfg(not(feature = "zip"))]
fn new_zip(_: &Path) -> Result<Storage> {
    Err(ErrorKind::Unsupported("zip files, without which the library was built").into())
}

/// Says that all has been written to a storage. A new zip file gets its directory and its name, and cannot be written
/// to from then on; elsewhere there is nothing to do. After a failure it can be called again.
///
/// Errors: NCZCHUNK_EINVAL (storage is NULL), NCZCHUNK_ENOMEM, and the system's own numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_storage_finish(
    storage: *mut nczchunk_storage,
    context: *mut nczchunk_context,
) -> c_int {
    // SAFETY: storage is NULL or alive, by the header's general promise.
    unsafe { report(context, || handle(storage, "storage is NULL")?.0.finish()) }
}

/// A storage in memory, with nothing in it. Free it with nczchunk_storage_free.
///
/// Any number of threads may use it at the same time. A child that was forked meanwhile can read it if no thread was
/// writing to it then, and must not write to it; it can free it.
///
/// Errors: NCZCHUNK_EINVAL (storage is NULL), NCZCHUNK_ENOMEM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_storage_memory(
    storage: *mut *mut nczchunk_storage,
    context: *mut nczchunk_context,
) -> c_int {
    // SAFETY: storage is NULL or a place for a pointer, by the header's general promise.
    unsafe { report(context, || hand_over(storage, || Ok(nczchunk_storage(Storage::new(Memory::new())?)))) }
}

/// Frees a storage. Arrays that were opened in it go on using it. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_storage_free(storage: *mut nczchunk_storage) {
    // SAFETY: storage is NULL or came from one of the functions that make one, by the header's general promise.
    unsafe { take_back(storage) }
}

/// Writes an object of nbytes bytes, in place of the one there was.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument; a name that no object can have), NCZCHUNK_EPERM (the storage cannot be
/// written to), NCZCHUNK_ENOMEM, and those of the storage.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_storage_write(
    storage: *const nczchunk_storage,
    name: *const c_char,
    bytes: *const c_void,
    nbytes: usize,
    context: *mut nczchunk_context,
) -> c_int {
    // SAFETY: storage is NULL or alive, name NULL or a text, and bytes points to nbytes bytes, as documented.
    unsafe {
        report(context, || {
            let storage = handle(storage, "storage is NULL")?;
            let name = utf8(text(name, "name is NULL")?)?;
            storage.0.write(name, required(bytes.cast::<u8>(), nbytes, "bytes is NULL")?)
        })
    }
}

/// What metadata say of a codec of yours that is to be made. All that it points to is valid until make returns.
#[repr(C)]
pub struct nczchunk_codec_use {
    /// sizeof(nczchunk_codec_use) as the library knows it: fields beyond it do not exist.
    pub struct_size: usize,
    /// Its name as it is written, such as "mine" or "numcodecs.mine".
    pub name: *const c_char,
    /// Its configuration as the text of a JSON object, without blanks; "{}" if there is none. In Zarr v2 that is what
    /// stands beside the id.
    pub configuration: *const c_char,
    /// The type of the array's elements: see nczchunk_array_type_name.
    pub type_name: *const c_char,
    /// Bytes in an element; 0 for texts of any length.
    pub element_size: usize,
}
assert_can_grow!(nczchunk_codec_use, element_size: usize);

/// Has make make the codecs of this name that the metadata of arrays in the storage have, also where the library has
/// one of that name itself. A name without "numcodecs." stands for the same with it, too. Arrays that are opened or
/// created in the storage from then on know the codec; so does a listing of the storage. examples/own_codec.c is a
/// codec of its own.
///
/// make sets codec to one that nczchunk_codec_new has made, which the library takes over, and returns 0; or it returns
/// a status, which ends the call that needs the codec. It is called when an array is opened, created or resized, and
/// for an array in shards more than once, by the thread that does that. user is passed to it.
///
/// destroy, unless it is NULL, is called with user once: when the storage has been freed and every array is closed that
/// was opened or created in it, by the thread that does the last of these. If this call fails it is not called.
///
/// The codec turns bytes into bytes. What the metadata of Zarr v3 have before the codec "bytes", such as
/// "numcodecs.mine", gets the bytes of the elements as well; these cannot be in another byte order than the machine's
/// then. For texts of any length, capacity of nczchunk_coding is not what is due to be decoded, but a bound: it is
/// tried again with a larger one.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument; an empty name, or one of "bytes", "n5_default", "reshape",
/// "sharding_indexed", "transpose" and "vlen-utf8", which say how the elements of a chunk lie), NCZCHUNK_ENOMEM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_storage_add_codec(
    storage: *mut nczchunk_storage,
    name: *const c_char,
    make: Option<
        unsafe extern "C" fn(
            user: *mut c_void,
            of: *const nczchunk_codec_use,
            codec: *mut *mut nczchunk_codec,
        ) -> c_int,
    >,
    user: *mut c_void,
    destroy: Option<unsafe extern "C" fn(user: *mut c_void)>,
    context: *mut nczchunk_context,
) -> c_int {
    // SAFETY: storage is NULL or alive and nobody else uses it, and name is NULL or a text, by the header's general
    // promise.
    unsafe {
        report(context, || {
            let storage = handle_mut(storage, "storage is NULL")?;
            let name = utf8(text(name, "name is NULL")?)?;
            let make = make.ok_or(ErrorKind::Argument("make is NULL"))?;
            storage.0.add_codec_with(name, || {
                let maker = Maker { make, user, destroy };
                move |of: &CodecUse<'_>| maker.make(of)
            })
        })
    }
}

/// A function of the caller's that makes codecs.
struct Maker {
    make: unsafe extern "C" fn(*mut c_void, *const nczchunk_codec_use, *mut *mut nczchunk_codec) -> c_int,
    user: *mut c_void,
    destroy: Option<unsafe extern "C" fn(*mut c_void)>,
}

// SAFETY: the function is called by threads of the caller's, with a pointer that is for it.
unsafe impl Send for Maker {}
// SAFETY: as above.
unsafe impl Sync for Maker {}

impl Drop for Maker {
    fn drop(&mut self) {
        if let Some(destroy) = self.destroy {
            // SAFETY: nothing makes codecs with it any more.
            unsafe { destroy(self.user) };
        }
    }
}

impl Maker {
    fn make(&self, of: &CodecUse<'_>) -> Result<Box<dyn Codec>> {
        let (name, configuration, type_name) = (c_text(of.name)?, c_text(of.configuration)?, c_text(of.type_name)?);
        let of = nczchunk_codec_use {
            struct_size: size_of::<nczchunk_codec_use>(),
            name: name.as_ptr(),
            configuration: configuration.as_ptr(),
            type_name: type_name.as_ptr(),
            element_size: of.element_size,
        };
        let mut codec = std::ptr::null_mut();
        // SAFETY: the function gets what is documented.
        let status = unsafe { (self.make)(self.user, &raw const of, &raw mut codec) };
        // SAFETY: what it has made, whatever it returns, is the library's to free.
        let codec = (!codec.is_null()).then(|| unsafe { Box::from_raw(codec) });
        match (status, codec) {
            (NOERR, Some(codec)) => Ok(codec.0),
            (NOERR, None) => Err(ErrorKind::Argument("make has returned 0, but made no codec").into()),
            (status, _) => Err(ErrorKind::Callback(status).into()),
        }
    }
}

assert_can_grow!(ObjectRequest, version: u64);

/// A storage of your own. Callbacks return 0 or a status, which ends the call.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nczchunk_storage_callbacks {
    /// sizeof(nczchunk_storage_callbacks).
    pub struct_size: usize,
    /// Passed to every callback.
    pub user: *mut c_void,
    /// Reads an object. For one that does not exist it returns NCZCHUNK_ENOOBJECT; no other failure may be said to be
    /// that, for absent chunks read as fill values. May be NULL if start and wait are not.
    pub read: Option<unsafe extern "C" fn(user: *mut c_void, request: *mut ObjectRequest) -> c_int>,
    /// Calls found for the last part of the name of each object and prefix directly below a prefix, which is empty or a
    /// name, each once; is_prefix is 1 for what the names of objects further below begin with. found gets the argument
    /// that is given here; where it returns anything but 0, list returns that. It is called before list returns and by
    /// the same thread; else it does nothing and returns NCZCHUNK_EINVAL. Names that no object can have, such as the
    /// empty one, are passed over. May be NULL: then nothing is listed.
    pub list: Option<
        unsafe extern "C" fn(
            user: *mut c_void,
            prefix: *const c_char,
            found: Option<unsafe extern "C" fn(argument: *mut c_void, name: *const c_char, is_prefix: c_int) -> c_int>,
            argument: *mut c_void,
        ) -> c_int,
    >,
    /// Writes a whole object of nbytes bytes in place of the one there was. A reader has to find the old bytes or the
    /// new ones, nothing between. May be NULL: then the storage cannot be written to.
    pub write: Option<
        unsafe extern "C" fn(user: *mut c_void, name: *const c_char, bytes: *const c_void, nbytes: usize) -> c_int,
    >,
    /// Removes an object; one that does not exist is no error. May be NULL: then nothing can be removed.
    pub remove: Option<unsafe extern "C" fn(user: *mut c_void, name: *const c_char) -> c_int>,
    /// Called once when nobody uses the storage any more; may be NULL.
    pub destroy: Option<unsafe extern "C" fn(user: *mut c_void)>,
    /// 1 if the callbacks may run in several threads at the same time; 0 keeps a call to its own thread.
    pub concurrent: usize,
    /// How many bytes more are better read than asked for by another request; 0 stands for 16 KiB or, with start, for
    /// 1 MiB.
    pub gap: usize,
    /// With wait, for storages with latency, such as those over a network: begins to read an object as read does, but
    /// returns at once. A call then keeps up to in_flight reads under way, and starts the next ones while it decodes;
    /// if it may use threads, and concurrent is 1, each thread starts its share of them and waits for these. The
    /// request, its name and its buffer stay valid until wait gives the request back. If start returns a status other
    /// than 0, the read has not begun and will not be given back; so may an object be absent at once.
    pub start: Option<unsafe extern "C" fn(user: *mut c_void, request: *mut ObjectRequest) -> c_int>,
    /// Waits until a read that the calling thread started has ended, in any order, and sets done to it. The request's
    /// status, nbytes and object_size say how it ended, as the result of read and what read sets would. To try again
    /// after a failure that may pass is up to the callback. If wait itself returns a status other than 0, no read is
    /// under way any more: the callback has ended all of them, and does not touch their buffers again. While reads are
    /// under way, no callback may read from the storage by the library in the same thread: NCZCHUNK_EINVAL.
    pub wait: Option<unsafe extern "C" fn(user: *mut c_void, done: *mut *mut ObjectRequest) -> c_int>,
    /// Told that a read that was started is not needed any more, because the call is about to end; may be NULL. The
    /// request is still given back by wait, with any status.
    pub cancel: Option<unsafe extern "C" fn(user: *mut c_void, request: *mut ObjectRequest)>,
    /// With start: how many reads may be under way at the same time, in each call; 0 stands for 64.
    pub in_flight: usize,
    /// With start: how many bytes of memory their buffers may take together, in each call; a single read is not refused
    /// for that. 0 stands for as many as in_flight chunks take, but no less than largest.
    pub bytes_in_flight: usize,
    /// With start: chunks of one shard that are neighbours, or less than gap bytes apart, are read at once up to this
    /// many bytes; 0 stands for 16 MiB.
    pub largest: usize,
    /// 1 if what is read comes with the object's version, in the request. Then the index of a shard is kept from call
    /// to call, and of a chunk that is stored as it is the ranges that are needed are read one by one. If not, an index
    /// is read in each call, before the chunks and after them, and a chunk in one range, so that an object that is
    /// replaced meanwhile is found old or new.
    pub versions: usize,
}
assert_can_grow!(nczchunk_storage_callbacks, versions: usize);
// SAFETY: a structure of C with words and pointers only, the first of which is its size; zeros are no callbacks.
unsafe impl Growing for nczchunk_storage_callbacks {}

/// A storage of your own. The callbacks are copied. Free it with nczchunk_storage_free.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument; read is NULL and so is start; only one of start and wait is NULL; a
/// struct_size of 0, or of a newer structure whose additions are in use), NCZCHUNK_ENOMEM; then destroy is not called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_storage_new(
    callbacks: *const nczchunk_storage_callbacks,
    storage: *mut *mut nczchunk_storage,
    context: *mut nczchunk_context,
) -> c_int {
    let make = || {
        // SAFETY: callbacks is NULL or a structure of the size that it says, as documented.
        let callbacks = unsafe { read_growing(callbacks) }?;
        if callbacks.start.is_some() != callbacks.wait.is_some() {
            return Err(ErrorKind::Argument("of start and wait only one is given").into());
        }
        if callbacks.read.is_none() && callbacks.start.is_none() {
            return Err(ErrorKind::Argument("the read callback is NULL").into());
        }
        // SAFETY: storage is NULL or a place for a pointer, by the header's general promise.
        let out = unsafe { handle_mut(storage, "storage is NULL") }?;
        // What is made first has no callback to be called if something fails.
        let outer = Slot::new()?;
        let inner = Storage::new_with(|| Custom { callbacks })?;
        *out = Box::into_raw(outer.fill(nczchunk_storage(inner)));
        Ok(())
    };
    // SAFETY: the header's general promise.
    unsafe { report(context, make) }
}

/// A storage that callbacks make.
struct Custom {
    callbacks: nczchunk_storage_callbacks,
}

// SAFETY: the callbacks and their user pointer are used from several threads only if they say that they allow it, or if
// the caller's own threads do so, which is then the caller's responsibility.
unsafe impl Send for Custom {}
// SAFETY: as above.
unsafe impl Sync for Custom {}

fn result(status: c_int, name: &str) -> Result<()> {
    if status == NOERR { Ok(()) } else { Err(Error::from(ErrorKind::Callback(status)).in_object(name)) }
}

/// A name as C takes it, with a NUL at its end.
fn c_name(name: &str) -> Result<Name> {
    if !name.is_empty() {
        crate::object::check_name(name)?;
    }
    Name::of(format_args!("{name}\0"))
}

impl ObjectStore for Custom {
    fn read(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<u64>> {
        Ok(self.read_version(name, begin, buffer)?.map(|(len, _)| len))
    }

    fn read_version(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<ObjectState>> {
        let Some(read) = self.callbacks.read else { return read_by_flight((self, ""), name, begin, buffer) };
        let c_name = c_name(name)?;
        let (offset, from_end) = match begin {
            ByteRange::At(offset) => (offset, 0),
            ByteRange::BeforeEnd(offset) => (offset, 1),
        };
        let mut request = ObjectRequest {
            struct_size: size_of::<ObjectRequest>(),
            name: c_name.as_ptr().cast(),
            offset,
            from_end,
            buffer: buffer.as_mut_ptr().cast(),
            size: buffer.capacity(),
            nbytes: 0,
            object_size: 0,
            status: 0,
            handle: ptr::null_mut(),
            version: 0,
        };
        // SAFETY: the callback gets what is documented; the buffer has room for `size` bytes.
        let status = unsafe { read(self.callbacks.user, &raw mut request) };
        let answer = request.answer(status, begin, buffer.capacity()).map_err(|error| error.in_object(name))?;
        let Some(answer) = answer else { return Ok(None) };
        // SAFETY: the callback has written so many bytes, as documented, and there was room for them.
        unsafe { buffer.set_filled(answer.nbytes) };
        Ok(Some(answer.state()))
    }

    fn versions(&self) -> Versions {
        if self.callbacks.versions == 0 { Versions::Unknown } else { Versions::Told }
    }

    fn list(&self, prefix: &str, one: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
        let Some(list) = self.callbacks.list else { return Ok(()) };
        let c_prefix = c_name(prefix)?;
        let listing = Listing { one: RefCell::new(one), error: Cell::new(None), outer: LISTINGS.get() };
        let argument: *const Listing<'_> = &raw const listing;
        LISTINGS.set(argument.cast());
        // SAFETY: the callback gets what is documented.
        let status =
            unsafe { list(self.callbacks.user, c_prefix.as_ptr().cast(), Some(found), argument.cast_mut().cast()) };
        LISTINGS.set(listing.outer);
        match listing.error.into_inner() {
            Some(error) => Err(error),
            None => result(status, prefix),
        }
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let write = self.callbacks.write.ok_or(ErrorKind::ReadOnly)?;
        let c_name = c_name(name)?;
        // SAFETY: the callback gets what is documented; it only reads the bytes.
        result(unsafe { write(self.callbacks.user, c_name.as_ptr().cast(), bytes.as_ptr().cast(), bytes.len()) }, name)
    }

    fn remove(&self, name: &str) -> Result<()> {
        let remove = self.callbacks.remove.ok_or(ErrorKind::ReadOnly)?;
        let c_name = c_name(name)?;
        // SAFETY: the callback gets what is documented.
        result(unsafe { remove(self.callbacks.user, c_name.as_ptr().cast()) }, name)
    }

    fn is_writable(&self) -> bool {
        self.callbacks.write.is_some()
    }

    fn is_concurrent(&self) -> bool {
        self.callbacks.concurrent != 0
    }

    fn gap(&self) -> usize {
        match self.callbacks {
            nczchunk_storage_callbacks { gap: 0, start: None, .. } => 16 << 10,
            nczchunk_storage_callbacks { gap: 0, .. } => 1 << 20,
            nczchunk_storage_callbacks { gap, .. } => gap,
        }
    }

    fn flight(&self) -> Option<&dyn Flight> {
        self.callbacks.start.map(|_| self as &dyn Flight)
    }
}

/// No storage has more reads under way.
const MAX_IN_FLIGHT: usize = 1 << 16;

// SAFETY: the callbacks do what is documented.
unsafe impl Flight for Custom {
    fn limits(&self) -> Limits {
        let nczchunk_storage_callbacks { in_flight, bytes_in_flight, largest, .. } = self.callbacks;
        let given = |value: usize| (value > 0).then_some(value);
        let default = Limits::default();
        Limits {
            requests: given(in_flight).map_or(default.requests, |requests| requests.min(MAX_IN_FLIGHT)),
            bytes: given(bytes_in_flight),
            largest: given(largest).unwrap_or(default.largest),
        }
    }

    unsafe fn start(&self, request: *mut ObjectRequest) -> Result<bool> {
        let start = self.callbacks.start.ok_or(ErrorKind::Internal)?;
        // SAFETY: the request stays valid until it is given back, by the caller's promise.
        match unsafe { start(self.callbacks.user, request) } {
            ENOOBJECT | EEMPTY => Ok(false),
            NOERR => Ok(true),
            status => Err(ErrorKind::Callback(status).into()),
        }
    }

    unsafe fn wait(&self) -> Result<*mut ObjectRequest> {
        let wait = self.callbacks.wait.ok_or(ErrorKind::Internal)?;
        let mut done = ptr::null_mut();
        // SAFETY: the callback gets what is documented: its own pointer, and a storage for the request.
        match unsafe { wait(self.callbacks.user, &raw mut done) } {
            NOERR => Ok(done),
            status => Err(ErrorKind::Callback(status).into()),
        }
    }

    unsafe fn cancel(&self, request: *mut ObjectRequest) {
        if let Some(cancel) = self.callbacks.cancel {
            // SAFETY: the read is under way, by the caller's promise.
            unsafe { cancel(self.callbacks.user, request) };
        }
    }
}

impl Drop for Custom {
    fn drop(&mut self) {
        if let Some(destroy) = self.callbacks.destroy {
            // SAFETY: nobody uses the storage any more, which happens once.
            unsafe { destroy(self.callbacks.user) };
        }
    }
}

/// What is called for each name of a listing.
type One<'l> = dyn FnMut(&str, Entry) -> Result<()> + 'l;

/// Whom a listing is told to, until the callback that lists returns.
struct Listing<'l> {
    one: RefCell<&'l mut One<'l>>,
    error: Cell<Option<Error>>,
    /// The listing within which this one was begun.
    outer: *const Listing<'static>,
}

thread_local! {
    /// The listing that was begun last in this thread and is under way.
    static LISTINGS: Cell<*const Listing<'static>> = const { Cell::new(ptr::null()) };
}

/// What a list callback calls. Where it is called too late, by another thread or from within itself, nothing is told to
/// anybody.
unsafe extern "C" fn found(argument: *mut c_void, name: *const c_char, is_prefix: c_int) -> c_int {
    let mut next = LISTINGS.get();
    // SAFETY: what is in the list is under way, further out in this thread.
    while let Some(listing) = unsafe { next.as_ref() } {
        if !ptr::addr_eq(next, argument) {
            next = listing.outer;
            continue;
        }
        let tell = || {
            let mut one = listing.one.try_borrow_mut().map_err(|_| ErrorKind::Argument("found is called by itself"))?;
            // SAFETY: the callback gives a text, as documented.
            let name = utf8(unsafe { text(name, "a listed name is NULL") }?)?;
            one(name, if is_prefix != 0 { Entry::Prefix } else { Entry::Object })
        };
        return match super::pointers::guard(tell) {
            Ok(()) => NOERR,
            Err(error) => {
                let status = error.status();
                listing.error.set(Some(error));
                status
            }
        };
    }
    EINVAL
}
