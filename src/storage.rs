//! # Storages
//!
//! Make a storage to open many arrays in it, to keep arrays in memory, or to fetch them by callbacks of your own. A
//! storage is a map from object names to bytes; an array's metadata and chunks are its objects. nczchunk_array_open
//! finds the storage itself if it is a directory or a zip file. The functions below make storages for
//! nczchunk_array_open_in:
//!
//! ```c
//! nczchunk_storage_callbacks callbacks = {.struct_size = sizeof callbacks, .read = get};
//! nczchunk_storage_new(&callbacks, &storage, NULL);
//! nczchunk_array_open_in(storage, "ocean/sst", NCZCHUNK_READ, &array, NULL);
//! ```
//!
//! A file that holds arrays, such as a netCDF classic file, is a storage, too. Its arrays are opened and listed like
//! those of other storages. The file is at a path, or it is an object of any storage:
//!
//! ```c
//! nczchunk_storage_file(storage, "2020/sst.nc", &file, NULL);
//! nczchunk_array_open_in(file, "SST", NCZCHUNK_READ, &array, NULL);
//! ```
//!
//! nczchunk_storage_create_zip makes a new zip file. nczchunk_storage_add_codec adds codecs that the library does not
//! have.
//!
//! A storage with latency has start and wait, instead of read or in addition to it. Then many reads are in flight at
//! the same time, without threads. Chunks of an array with shards are found by the shards' indices, and neighbouring
//! chunks are read at once. examples/http_array.c is such a storage over HTTP.

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::ptr;

use super::callbacks::Callbacks;
use super::prelude::*;
pub use nczchunk::object::ObjectRequest as nczchunk_object_request;
use nczchunk::object::{
    ByteRange, Entry, Flight, Limits, Memory, Name, ObjectRequest, ObjectStore, Storage, read_by_flight,
    write_by_flight,
};
use nczchunk::{concat, create_storage, open_storage};
use nczchunk_engine::alloc::Slot;
use nczchunk_engine::buffer::Buffer;
use nczchunk_engine::codec::{Codec, CodecUse};
use nczchunk_engine::limits::MemoryLimits;
use nczchunk_engine::open_object::{ObjectState, Versions};
use nczchunk_engine::status::{EEMPTY, EINVAL, ENOOBJECT};

/// Opens a storage at a path: a directory, a zip file, or a file that holds arrays. The first bytes of a file determine
/// its kind. If the library was built with NCZCHUNK_NETWORK, path may also be a URL of an object store or HTTP server.
/// Free the storage with nczchunk_storage_free.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument, a malformed URL), NCZCHUNK_ENOTFOUND (no such path), NCZCHUNK_ENOTNC (path
/// is something else), NCZCHUNK_ENOTBUILT (a file of a known kind that cannot be read; a URL of a kind that this build
/// does not support), NCZCHUNK_ENOMEM, and the system's errno values: EIO also for a server that does not respond, or
/// not correctly, and EACCES for one that refuses access.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_storage_open(
    path: *const c_char,
    storage: *mut *mut nczchunk_storage,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        let path = file_path(path)?;
        hand_over(storage, || Ok(nczchunk_storage(open_storage(path)?)))
    }))
}

/// Joins the arrays of several files or storages along a dimension: one storage, in which an array that has the
/// dimension consists of those at all paths, one after another. What does not have the dimension is that at the first
/// path, and so are attributes. Such a storage is only read. Free it with nczchunk_storage_free.
///
/// ```c
/// const char *paths[3] = {"sst-2020.nc", "sst-2021.nc", "sst-2022.nc"};
/// nczchunk_storage_concat(3, paths, "time", &years, NULL);
/// nczchunk_array_open_in(years, "sst", NCZCHUNK_READ, &sst, NULL);
/// ```
///
/// Chunks stay as they are stored, so a file may have any length: then the chunks of the array differ in length, and
/// nczchunk_var_chunk_extent tells where each lies. Codecs may differ from file to file. netCDF and HDF5 files are
/// opened when they are read, so that there may be any number of them.
///
/// An array is refused when it is opened, with NCZCHUNK_ENOTBUILT and the path in the message, if it is not like that
/// at the first path: another type, byte order or fill value, other dimensions, other lengths or chunks along another
/// dimension than the joined one, attributes that say what values mean (_FillValue, _Unsigned, add_offset, calendar,
/// missing_value, scale_factor, units) with other values; and if its elements are variable-length strings.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument, no paths), and those of nczchunk_storage_open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_storage_concat(
    num_paths: usize,
    paths: *const *const c_char,
    dimension: *const c_char,
    storage: *mut *mut nczchunk_storage,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        let dimension = utf8(text(dimension, "dimension is NULL")?)?;
        let paths = required(paths, num_paths, "paths is NULL")?.iter();
        let all = alloc::try_collected(paths.map(|path| file_path(*path)))?;
        hand_over(storage, || Ok(nczchunk_storage(concat(&all, dimension)?)))
    }))
}

/// Makes a storage of one file in another storage: an object, given by its name, that holds arrays. The file need not
/// exist yet. The other storage may be freed while this one is in use. Free the new storage with nczchunk_storage_free.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument; a name that no object can have), NCZCHUNK_ENOMEM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_storage_file(
    storage: *const nczchunk_storage,
    name: *const c_char,
    file: *mut *mut nczchunk_storage,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        let storage = handle(storage, "storage is NULL")?;
        let name = utf8(text(name, "name is NULL")?)?;
        hand_over(file, || Ok(nczchunk_storage(storage.0.file(name)?)))
    }))
}

/// Opens a storage at a path in which to create arrays: a directory, which is created if it does not exist. Free the
/// storage with nczchunk_storage_free.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument), NCZCHUNK_ENOTNC (path is a file that is not a zip file),
/// NCZCHUNK_ENOTBUILT (path does not exist and ends with .zip: see nczchunk_storage_create_zip), NCZCHUNK_ENOMEM, and
/// the system's errno values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_storage_create(
    path: *const c_char,
    storage: *mut *mut nczchunk_storage,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        let path = file_path(path)?;
        hand_over(storage, || Ok(nczchunk_storage(create_storage(path)?)))
    }))
}

/// Sets whether files that hold only a part of their arrays may be opened, such as cfdb files that are marked as copies
/// of remote ones. With 1 they are opened, and data that have not been fetched read as fill values. With 0, the
/// default, they are refused with NCZCHUNK_ENOTBUILT. Arrays that are open stay open.
///
/// Errors: NCZCHUNK_EINVAL (storage is NULL).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_storage_allow_partial(
    storage: *mut nczchunk_storage,
    allow: c_int,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        handle_mut(storage, "storage is NULL")?.0.allow_partial(allow != 0);
        Ok(())
    }))
}

/// Sets whether links of HDF5 files to other files (external links) are followed. With 1 they are; with 0, the default,
/// what they lead to is refused with NCZCHUNK_ENOTBUILT. Arrays that are open stay open.
///
/// In a file that was opened by its path, a link leads to the path that it says: from the directory of the file on if
/// that is relative, and otherwise to any file that this process may read. In a file at a URL, or in another object of
/// a storage, a link leads to an object of the same storage, from the file's name on, and nowhere else.
///
/// Errors: NCZCHUNK_EINVAL (storage is NULL).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_storage_allow_external_links(
    storage: *mut nczchunk_storage,
    allow: c_int,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        handle_mut(storage, "storage is NULL")?.0.allow_external_links(allow != 0);
        Ok(())
    }))
}

/// Reads each document of Zarr's metadata once from now on, and keeps it in memory as long as the storage or an array
/// of it is open; that there is no such document is kept, too. The storage becomes read-only. A group at a URL that is
/// listed, and whose arrays are opened, then costs one request for each document. Storages that are one file, and
/// joined ones, stay as they are. nczchunk_array_refresh finds no change of what is kept.
///
/// Errors: NCZCHUNK_EINVAL (storage is NULL), NCZCHUNK_ENOMEM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_storage_keep_metadata(
    storage: *mut nczchunk_storage,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || handle_mut(storage, "storage is NULL")?.0.keep_metadata()))
}

/// Limits on the memory for the contents of a storage, in addition to the memory that a read or write is given. The
/// limits keep small files from claiming all memory. A field of 0 stands for the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nczchunk_memory_limits {
    /// sizeof(nczchunk_memory_limits).
    pub struct_size: usize,
    /// The most bytes of a chunk: as it is stored, between two of its codecs, and decoded. Default 4 GiB.
    pub chunk_bytes: usize,
    /// The most bytes of a chunk of variable-length strings, stored or decoded. Each string takes a pointer in
    /// addition. Default 256 MiB.
    pub string_chunk_bytes: usize,
    /// The most bytes that the metadata in one document take while they are read: about twice the size of their text,
    /// plus 100 for each JSON value. The headers and trees of an HDF5 file and each Parquet file of references
    /// count as documents. Default 1 GiB.
    pub metadata_bytes: usize,
}
growing!(nczchunk_memory_limits, metadata_bytes: usize);

/// Sets the memory limits of a storage. They apply to metadata that are read from now on, and to the chunks of arrays
/// that are opened or created in the storage from now on. A call that would need more memory fails with
/// NCZCHUNK_ENOMEM, and the message in the context names the limit:
///
/// ```text
/// chunk (0): more bytes of memory are needed than the limit string_chunk_bytes = 268435456; raise it by
/// nczchunk_storage_set_memory_limits, or MemoryLimits in C++, Python and Rust
/// ```
///
/// To open an array by its path with other limits, open a storage at the path first:
///
/// ```c
/// nczchunk_memory_limits limits = NCZCHUNK_MEMORY_LIMITS_INIT;
/// limits.string_chunk_bytes = (size_t)2 << 30;
/// nczchunk_storage_open("texts.zarr", &storage, NULL);
/// nczchunk_storage_set_memory_limits(storage, &limits, NULL);
/// nczchunk_array_open_in(storage, "names", NCZCHUNK_READ, &array, NULL);
/// ```
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument; a struct_size of 0; a newer structure with fields in use that this library
/// does not know).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_storage_set_memory_limits(
    storage: *mut nczchunk_storage,
    limits: *const nczchunk_memory_limits,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
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
    }))
}

/// Creates a storage that writes a new zip file at a path. The entries are stored without zip compression, because
/// chunks are compressed already. Create arrays in it with nczchunk_array_create_in, and write and read them. An object
/// that is written twice leaves its first bytes in the file, unused, so write chunks whole.
///
/// nczchunk_storage_finish puts the file at its path, where it replaces an existing file. Until then the file is beside
/// the path and has the name `.<name>.<process>.<number>.partial`. If the storage is freed before, and all arrays in it
/// are closed, no file remains. Free the storage with nczchunk_storage_free. A forked child process can free it too,
/// without effect on the file; all other calls that use the storage fail there with NCZCHUNK_EINVAL.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument; a path that no file can have), NCZCHUNK_ENOTBUILT (the library was built
/// without zip files), NCZCHUNK_ENOMEM, and the system's errno values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_storage_create_zip(
    path: *const c_char,
    storage: *mut *mut nczchunk_storage,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        let path = file_path(path)?;
        hand_over(storage, || Ok(nczchunk_storage(new_zip(path)?)))
    }))
}

#[cfg(feature = "zip")]
fn new_zip(path: &Path) -> Result<Storage> {
    Storage::new(nczchunk::object::ZipWriter::create(path)?)
}

#[cfg(not(feature = "zip"))]
fn new_zip(_: &Path) -> Result<Storage> {
    Err(ErrorKind::Unsupported("zip files, which this build does not include").into())
}

/// Completes a storage after all data have been written. A new zip file gets its directory and its name, and cannot be
/// written to afterwards. For other storages the call does nothing. After a failure it can be called again.
///
/// Errors: NCZCHUNK_EINVAL (storage is NULL), NCZCHUNK_ENOMEM, and the system's errno values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_storage_finish(
    storage: *mut nczchunk_storage,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || handle(storage, "storage is NULL")?.0.finish()))
}

/// Creates an empty storage in memory. Free it with nczchunk_storage_free.
///
/// Any number of threads may use it at the same time. A forked child process can read it if no thread was writing to it
/// at the time of the fork. The child must not write to it, but can free it.
///
/// Errors: NCZCHUNK_EINVAL (storage is NULL), NCZCHUNK_ENOMEM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_storage_memory(
    storage: *mut *mut nczchunk_storage,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || hand_over(storage, || Ok(nczchunk_storage(Storage::new(Memory::new())?)))))
}

/// Frees a storage. Arrays that were opened in it can still use it. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_storage_free(storage: *mut nczchunk_storage) {
    by_promise!(take_back(storage))
}

/// Writes an object of nbytes bytes, or replaces the existing object.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument; a name that no object can have), NCZCHUNK_EPERM (the storage is
/// read-only), NCZCHUNK_ENOMEM, and those of the storage.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_storage_write(
    storage: *const nczchunk_storage,
    name: *const c_char,
    bytes: *const c_void,
    nbytes: usize,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        let storage = handle(storage, "storage is NULL")?;
        let name = utf8(text(name, "name is NULL")?)?;
        storage.0.write(name, required(bytes.cast::<u8>(), nbytes, "bytes is NULL")?)
    }))
}

/// A codec of yours as the metadata describe it, for make. All pointers are valid until make returns.
#[repr(C)]
pub struct nczchunk_codec_use {
    /// sizeof(nczchunk_codec_use) as the library knows it. There are no fields beyond it.
    pub struct_size: usize,
    /// The codec's name as written in the metadata, such as "mine" or "numcodecs.mine".
    pub name: *const c_char,
    /// The codec's configuration as a JSON object in a string, without blanks; "{}" if there is none. In Zarr v2 it
    /// consists of the members beside the id.
    pub configuration: *const c_char,
    /// The type of the array's elements: see nczchunk_array_type_name.
    pub type_name: *const c_char,
    /// The size of an element in bytes; 0 for variable-length strings.
    pub element_size: usize,
}
assert_can_grow!(nczchunk_codec_use, element_size: usize);

/// Adds a codec to a storage. make then makes each codec of this name in the metadata of the storage's arrays, even if
/// the library has a codec of the same name. A name without "numcodecs." also stands for the name with that prefix.
/// Arrays that are opened or created in the storage from then on know the codec; so does a listing of the storage.
/// examples/own_codec.c is an example.
///
/// make sets codec to a codec from nczchunk_codec_new, which the library takes over, and returns 0. Or it returns
/// another status, which ends the call that needs the codec. The library calls make when an array is opened, created or
/// resized, in the thread of that call; for an array in shards, more than once. user is passed to make.
///
/// destroy, unless it is NULL, is called once with user: after the storage has been freed and every array that was
/// opened or created in it has been closed. It runs in the thread that does the last of these. If this call fails,
/// destroy is not called.
///
/// The codec turns bytes into bytes. In Zarr v3, a codec before the codec "bytes" in the metadata, such as
/// "numcodecs.mine", also gets the bytes of the elements; these must then be in the machine's byte order. For
/// variable-length strings, capacity in nczchunk_coding is not the decoded length but a bound: the library tries again
/// with a larger one.
///
/// In HDF5 files a codec stands for the filter whose number follows "hdf5." in its name, such as "hdf5.32028". Its
/// configuration is {"parameters":[...]}, with the numbers that the file has for the filter.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument; an empty name; or one of "bytes", "n5_default", "reshape",
/// "sharding_indexed", "transpose" and "vlen-utf8", which define the layout of a chunk's elements), NCZCHUNK_ENOMEM.
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
    by_promise!(report(context, || {
        let storage = handle_mut(storage, "storage is NULL")?;
        let name = utf8(text(name, "name is NULL")?)?;
        let make = make.ok_or(ErrorKind::Argument("make is NULL"))?;
        storage.0.add_codec_with(name, || {
            let make = Callbacks::new(make, user, destroy);
            move |of: &CodecUse<'_>| make_codec(&make, of)
        })
    }))
}

type MakeCodec = unsafe extern "C" fn(*mut c_void, *const nczchunk_codec_use, *mut *mut nczchunk_codec) -> c_int;

/// Makes a codec by a function of the caller's.
fn make_codec(make: &Callbacks<MakeCodec>, of: &CodecUse<'_>) -> Result<Box<dyn Codec>> {
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
    let status = unsafe { make(make.user, &raw const of, &raw mut codec) };
    // SAFETY: what it has made, whatever it returns, is the library's to free.
    let codec = (!codec.is_null()).then(|| unsafe { Box::from_raw(codec) });
    called(status)?;
    Ok(codec.ok_or(ErrorKind::Argument("make returned 0 but created no codec"))?.0)
}

assert_can_grow!(ObjectRequest, version: u64);

/// The callbacks of a storage of your own. They return 0, or a status that ends the call.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nczchunk_storage_callbacks {
    /// sizeof(nczchunk_storage_callbacks).
    pub struct_size: usize,
    /// Passed to every callback.
    pub user: *mut c_void,
    /// Reads an object. Returns NCZCHUNK_ENOOBJECT for an object that does not exist. Do not return it for any other
    /// failure, because missing chunks read as the fill value. May be NULL if start and wait are not.
    pub read: Option<unsafe extern "C" fn(user: *mut c_void, request: *mut ObjectRequest) -> c_int>,
    /// Lists the objects and prefixes directly below a prefix, which is empty or a name. Calls found once for each,
    /// with the last part of its name. is_prefix is 1 for a prefix: the beginning of the names of objects further
    /// below. Pass the given argument to found. If found returns anything but 0, return that. Call found before list
    /// returns and in the same thread; otherwise it does nothing and returns NCZCHUNK_EINVAL. Names that no object can
    /// have, such as the empty one, are skipped. May be NULL: then nothing is listed.
    pub list: Option<
        unsafe extern "C" fn(
            user: *mut c_void,
            prefix: *const c_char,
            found: Option<unsafe extern "C" fn(argument: *mut c_void, name: *const c_char, is_prefix: c_int) -> c_int>,
            argument: *mut c_void,
        ) -> c_int,
    >,
    /// Writes a whole object of nbytes bytes, or replaces the existing object. The replacement must be atomic: a reader
    /// finds the old bytes or the new ones. May be NULL: then the storage is read-only, unless it has start_write.
    pub write: Option<
        unsafe extern "C" fn(user: *mut c_void, name: *const c_char, bytes: *const c_void, nbytes: usize) -> c_int,
    >,
    /// Removes an object. A missing object is not an error. May be NULL: then objects cannot be removed.
    pub remove: Option<unsafe extern "C" fn(user: *mut c_void, name: *const c_char) -> c_int>,
    /// Called once when the storage is no longer in use; may be NULL.
    pub destroy: Option<unsafe extern "C" fn(user: *mut c_void)>,
    /// 1 if the callbacks may run in several threads at the same time; 0 restricts a call to its own thread.
    pub concurrent: usize,
    /// Two ranges of an object are read by one request if fewer bytes than this lie between them. 0 stands for 16 KiB.
    /// With start, 0 leaves it to the library: it reads what lies between parts of an unencoded chunk if that is less
    /// than 64 KiB; between chunks it reads gaps below 4 KiB and, smallest first, gaps below 1 MiB that together have
    /// at most a tenth of the bytes needed of the object.
    pub gap: usize,
    /// For storages with latency, such as those over a network; used together with wait. Starts a read of an object, as
    /// read does, but returns immediately. A call keeps up to in_flight reads in flight, and starts the next ones while
    /// it decodes. If the call may use threads and concurrent is 1, each thread starts its share of the reads and waits
    /// for them. The request, its name and its buffer stay valid until wait returns the request. If start returns a
    /// status other than 0, the read has not begun and wait does not return it. start may report a missing object in
    /// this way.
    pub start: Option<unsafe extern "C" fn(user: *mut c_void, request: *mut ObjectRequest) -> c_int>,
    /// Waits until a read or write that the calling thread started has ended, and sets done to it. They may end in any
    /// order. The fields status, nbytes and object_size of the request report the outcome, as the result of read and
    /// the fields that read sets would. Retries after a transient failure are up to the callback. If wait itself
    /// returns a status other than 0, no read is in flight any more: the callback has ended all of them, and does not
    /// touch their buffers again. While reads are in flight, a callback may not call the library in the same thread to
    /// read from the storage: NCZCHUNK_EINVAL.
    pub wait: Option<unsafe extern "C" fn(user: *mut c_void, done: *mut *mut ObjectRequest) -> c_int>,
    /// Called when a read in flight is no longer needed, because the call is about to end; may be NULL. wait still
    /// returns the request, with any status.
    pub cancel: Option<unsafe extern "C" fn(user: *mut c_void, request: *mut ObjectRequest)>,
    /// With start: the largest number of reads in flight at the same time, in each call. 0 stands for 64.
    pub in_flight: usize,
    /// With start: the most bytes of memory for the buffers of all reads in flight, in each call. A single larger read
    /// is not refused. 0 stands for the bytes of in_flight chunks, but no less than largest.
    pub bytes_in_flight: usize,
    /// With start: chunks of one shard that are adjacent, or near each other as gap says, are read at once, up to this
    /// many bytes; with its index, if all or nearly all of the shard is needed. Then the read may have room for more
    /// bytes than the object has. 0 stands for 16 MiB.
    pub largest: usize,
    /// 1 if each read reports the object's version in the request. Then the index of a shard is kept from call to call,
    /// and the needed ranges of an unencoded chunk are read one by one. With 0, each call reads an index before the
    /// chunks and again after them, and reads a chunk in one range. So each chunk is of one state of its object; of an
    /// object that is replaced during the call, some chunks may be of the old state and some of the new one.
    pub versions: usize,
    /// For storages with latency; used together with start and wait. Starts to write a whole object: request->size
    /// bytes at request->buffer, which are only read. It returns immediately, and wait returns the request when the
    /// write has ended, with its status as write would return it. What write promises of readers and errors holds here,
    /// too. A call that writes keeps up to in_flight reads and writes in flight, with up to bytes_in_flight bytes, for
    /// which 0 stands for 256 MiB here. A write is never cancelled: the call waits for all that it started, so nothing
    /// is written after it has returned. If start_write returns a status other than 0, the write has not begun and wait
    /// does not return it. May be NULL: then objects are written by write, one at a time in each thread.
    pub start_write: Option<unsafe extern "C" fn(user: *mut c_void, request: *mut ObjectRequest) -> c_int>,
}
growing!(
    nczchunk_storage_callbacks,
    start_write: Option<unsafe extern "C" fn(*mut c_void, *mut ObjectRequest) -> c_int>
);

/// Creates a storage of your own. The callbacks are copied. Free it with nczchunk_storage_free.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument; both read and start are NULL; only one of start and wait is NULL;
/// start_write without start; a struct_size of 0; a newer structure with fields in use that this library does not
/// know), NCZCHUNK_ENOMEM. After an error destroy is not called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_storage_new(
    callbacks: *const nczchunk_storage_callbacks,
    storage: *mut *mut nczchunk_storage,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        let callbacks = read_growing(callbacks)?;
        if callbacks.start.is_some() != callbacks.wait.is_some() {
            return Err(ErrorKind::Argument("start and wait must be given together").into());
        }
        if callbacks.start_write.is_some() && callbacks.start.is_none() {
            return Err(ErrorKind::Argument("start_write is given without start").into());
        }
        if callbacks.read.is_none() && callbacks.start.is_none() {
            return Err(ErrorKind::Argument("the read callback is NULL").into());
        }
        let out = handle_mut(storage, "storage is NULL")?;
        // What is made first has no callback to be called if something fails.
        let outer = Slot::new()?;
        let inner = Storage::new_with(|| Custom(Callbacks::new(callbacks, callbacks.user, callbacks.destroy)))?;
        *out = Box::into_raw(outer.fill(nczchunk_storage(inner)));
        Ok(())
    }))
}

/// A storage that consists of callbacks.
struct Custom(Callbacks<nczchunk_storage_callbacks>);

/// A name as C takes it, with a NUL at its end.
fn c_name(name: &str) -> Result<Name> {
    if !name.is_empty() {
        nczchunk::object::check_name(name)?;
    }
    Name::of(format_args!("{name}\0"))
}

impl ObjectStore for Custom {
    fn read(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<u64>> {
        Ok(self.read_version(name, begin, buffer)?.map(|(len, _)| len))
    }

    fn read_version(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<ObjectState>> {
        let Some(read) = self.0.read else { return read_by_flight((self, ""), name, begin, buffer) };
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
        let status = unsafe { read(self.0.user, &raw mut request) };
        let answer = request.answer(status, begin, buffer.capacity()).map_err(|error| error.in_object(name))?;
        let Some(answer) = answer else { return Ok(None) };
        // SAFETY: the callback has written so many bytes, as documented, and there was room for them.
        unsafe { buffer.set_filled(answer.nbytes) };
        Ok(Some(answer.state()))
    }

    fn versions(&self) -> Versions {
        if self.0.versions == 0 { Versions::Unknown } else { Versions::Told }
    }

    fn list(&self, prefix: &str, one: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
        let Some(list) = self.0.list else { return Ok(()) };
        let c_prefix = c_name(prefix)?;
        let listing = Listing { one: RefCell::new(one), error: Cell::new(None), outer: LISTINGS.get() };
        let argument: *const Listing<'_> = &raw const listing;
        LISTINGS.set(argument.cast());
        // SAFETY: the callback gets what is documented.
        let status = unsafe { list(self.0.user, c_prefix.as_ptr().cast(), Some(found), argument.cast_mut().cast()) };
        LISTINGS.set(listing.outer);
        match listing.error.into_inner() {
            Some(error) => Err(error),
            None => called(status).map_err(|error| error.in_object(prefix)),
        }
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let Some(write) = self.0.write else {
            self.0.start_write.ok_or(ErrorKind::ReadOnly)?;
            return write_by_flight((self, ""), name, bytes);
        };
        let c_name = c_name(name)?;
        // SAFETY: the callback gets what is documented; it only reads the bytes.
        let status = unsafe { write(self.0.user, c_name.as_ptr().cast(), bytes.as_ptr().cast(), bytes.len()) };
        called(status).map_err(|error| error.in_object(name))
    }

    fn remove(&self, name: &str) -> Result<()> {
        let remove = self.0.remove.ok_or(ErrorKind::ReadOnly)?;
        let c_name = c_name(name)?;
        // SAFETY: the callback gets what is documented.
        called(unsafe { remove(self.0.user, c_name.as_ptr().cast()) }).map_err(|error| error.in_object(name))
    }

    fn is_writable(&self) -> bool {
        self.0.write.is_some() || self.0.start_write.is_some()
    }

    fn is_concurrent(&self) -> bool {
        self.0.concurrent != 0
    }

    fn gap(&self) -> usize {
        match *self.0 {
            nczchunk_storage_callbacks { gap: 0, start: None, .. } => 16 << 10,
            nczchunk_storage_callbacks { gap: 0, .. } => 1 << 20,
            nczchunk_storage_callbacks { gap, .. } => gap,
        }
    }

    fn flight(&self) -> Option<&dyn Flight> {
        self.0.start.map(|_| self as &dyn Flight)
    }
}

/// The most reads that any storage may have in flight.
const MAX_IN_FLIGHT: usize = 1 << 16;

// SAFETY: the callbacks do what is documented.
unsafe impl Flight for Custom {
    fn limits(&self) -> Limits {
        let nczchunk_storage_callbacks { in_flight, bytes_in_flight, largest, gap, .. } = *self.0;
        let given = |value: usize| (value > 0).then_some(value);
        let default = Limits::default();
        Limits {
            requests: given(in_flight).map_or(default.requests, |requests| requests.min(MAX_IN_FLIGHT)),
            bytes: given(bytes_in_flight),
            largest: given(largest).unwrap_or(default.largest),
            excess: default.excess.filter(|_| gap == 0),
        }
    }

    unsafe fn start(&self, request: *mut ObjectRequest) -> Result<bool> {
        let start = self.0.start.ok_or(ErrorKind::Internal)?;
        // SAFETY: the request stays valid until it is given back, by the caller's promise.
        match unsafe { start(self.0.user, request) } {
            ENOOBJECT | EEMPTY => Ok(false),
            status => called(status).map(|()| true),
        }
    }

    fn writes(&self) -> bool {
        self.0.start_write.is_some()
    }

    unsafe fn start_write(&self, request: *mut ObjectRequest) -> Result<()> {
        let start = self.0.start_write.ok_or(ErrorKind::Internal)?;
        // SAFETY: the request stays valid until it is given back, by the caller's promise.
        called(unsafe { start(self.0.user, request) })
    }

    unsafe fn wait(&self) -> Result<*mut ObjectRequest> {
        let wait = self.0.wait.ok_or(ErrorKind::Internal)?;
        let mut done = ptr::null_mut();
        // SAFETY: the callback gets what is documented: its own pointer, and a place for the request.
        called(unsafe { wait(self.0.user, &raw mut done) }).map(|()| done)
    }

    unsafe fn cancel(&self, request: *mut ObjectRequest) {
        if let Some(cancel) = self.0.cancel {
            // SAFETY: the read is in flight, by the caller's promise.
            unsafe { cancel(self.0.user, request) };
        }
    }
}

/// The function that is called for each name of a listing.
type One<'l> = dyn FnMut(&str, Entry) -> Result<()> + 'l;

/// The receiver of a listing, until the callback that lists returns.
struct Listing<'l> {
    one: RefCell<&'l mut One<'l>>,
    error: Cell<Option<Error>>,
    /// The listing within which this one was begun.
    outer: *const Listing<'static>,
}

thread_local! {
    /// The listing that was begun last in this thread and has not ended.
    static LISTINGS: Cell<*const Listing<'static>> = const { Cell::new(ptr::null()) };
}

/// The function that a list callback calls. If it is called too late, by another thread or from within itself, it
/// passes nothing on.
unsafe extern "C" fn found(argument: *mut c_void, name: *const c_char, is_prefix: c_int) -> c_int {
    let mut next = LISTINGS.get();
    // SAFETY: what is in the list is in flight, further out in this thread.
    while let Some(listing) = unsafe { next.as_ref() } {
        if !ptr::addr_eq(next, argument) {
            next = listing.outer;
            continue;
        }
        let tell = || {
            let mut one = listing
                .one
                .try_borrow_mut()
                .map_err(|_| ErrorKind::Argument("the callback found must not call itself"))?;
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
