//! # Where the chunks of an array are stored
//!
//! Find the object and the byte range of each chunk, to make an index of byte ranges, to fetch chunks with another
//! tool, or to inspect one with dd.
//!
//! ```c
//! static int print(void *user, const nczchunk_located *chunk)
//! {
//!     if (chunk->state == NCZCHUNK_STORED)
//!         printf("%s: %llu bytes from byte %llu on\n", chunk->object, (unsigned long long)chunk->len,
//!                (unsigned long long)chunk->offset);
//!     return 0;
//! }
//!
//! nczchunk_array_locate(array, NULL, NULL, NULL, print, NULL, NULL);
//! ```
//!
//! nczchunk_array_read_cost says how many requests and bytes a hyperslab costs, before it is read from a server.
//!
//! nczchunk_storage_write_references writes the same of whole files as references, which fsspec, Zarr and xarray read.

use super::prelude::*;
use nczchunk::write_references;
use nczchunk_engine::hyperslab::Hyperslab;
use nczchunk_engine::store::{ChunkLocation, ChunkState};

/// The chunk is missing: it reads as the fill value.
pub const NCZCHUNK_ABSENT: c_int = 0;
/// The chunk is stored.
pub const NCZCHUNK_STORED: c_int = 1;

/// The location of a chunk. All pointers are valid until the callback returns.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nczchunk_located {
    /// sizeof(nczchunk_located) as the library knows it. There are no fields beyond it.
    pub struct_size: usize,
    /// The number of the array's dimensions.
    pub rank: usize,
    /// The chunk's indices, one per dimension.
    pub chunk_indices: *const isize,
    /// The name of the object in the storage: a file below the path of a directory, or an entry of a zip file. In a zip
    /// file, offset and len count the bytes of the entry as it is extracted. Empty if the opened path is the file
    /// itself, such as a netCDF classic file. For a missing chunk it is the object that would hold the chunk.
    pub object: *const c_char,
    /// NCZCHUNK_STORED or NCZCHUNK_ABSENT.
    pub state: usize,
    /// The first byte of the chunk in the object, counted from 0; 0 for a missing chunk.
    pub offset: u64,
    /// The number of bytes of the chunk in the object, as encoded by its codecs; 0 for a missing chunk. In a netCDF
    /// classic file the bytes end with the last element inside the dimensions, or at the end of the file.
    pub len: u64,
}
assert_can_grow!(nczchunk_located, len: u64);

/// Locates the stored chunks of a hyperslab: calls found for each chunk that the hyperslab of an array touches, in
/// row-major order. start, count and stride are as for nczchunk_array_read, but start may be NULL, which stands for 0
/// in all dimensions. So NULL for all three selects all chunks of the array. If found returns anything but 0, the call
/// ends with that status.
///
/// The chunks are those by which the array is read; chunks within shards are reported one by one. Their bytes are not
/// read. For an object that is a chunk, the storage is asked for its length; for a shard, the shard's index is read.
///
/// Errors: NCZCHUNK_EINVAL (array or found is NULL), NCZCHUNK_ESTRIDE, NCZCHUNK_EINVALCOORDS and NCZCHUNK_EEDGE as for
/// nczchunk_array_read, the status that found returned, the status that a callback of the storage returned,
/// NCZCHUNK_EIO (the index of a shard is corrupt), NCZCHUNK_ENOMEM, and the system's errno values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_locate(
    array: *const nczchunk_array,
    start: *const usize,
    count: *const usize,
    stride: *const isize,
    found: Option<unsafe extern "C" fn(user: *mut c_void, chunk: *const nczchunk_located) -> c_int>,
    user: *mut c_void,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        let array = &handle(array, "array is NULL")?.array;
        let found = found.ok_or(ErrorKind::Argument("found is NULL"))?;
        let rank = array.variable().rank();
        let (start, count, stride) = (optional(start, rank), optional(count, rank), optional(stride, rank));
        array.locate(&Hyperslab::from_lists(start, count, stride), &mut |chunk| tell(chunk, found, user))
    }))
}

/// What it takes to read something from a storage. Set struct_size before a call fills it in.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nczchunk_read_cost {
    /// sizeof(nczchunk_read_cost).
    pub struct_size: usize,
    /// The number of requests to the storage; of a file, the number of reads.
    pub requests: u64,
    /// The number of bytes that they return, including gaps between chunks that are read together.
    pub bytes: u64,
    /// How many of the requests read only indices: of shards, or of chunks in a file.
    pub index_requests: u64,
    /// How many of the bytes are those of indices.
    pub index_bytes: u64,
}
growing!(nczchunk_read_cost, index_bytes: u64);

/// Returns what it takes to read a hyperslab with one thread: how many requests the storage gets, and for how many
/// bytes. start, count and stride are as for nczchunk_array_locate. No chunk is read. The storage is asked for the
/// indices of shards, which the array keeps, and for the length of each object that is a chunk. Indices that the array
/// has already are not counted; chunks that its cache has are.
///
/// ```c
/// nczchunk_read_cost cost = NCZCHUNK_READ_COST_INIT;
/// nczchunk_array_read_cost(array, start, count, NULL, &cost, NULL);
/// ```
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument; struct_size is not set), NCZCHUNK_ESTRIDE, NCZCHUNK_EINVALCOORDS and
/// NCZCHUNK_EEDGE as for nczchunk_array_read, NCZCHUNK_ENOTBUILT (variable-length strings), the status that a callback
/// of the storage returned, NCZCHUNK_EIO (the index of a shard is corrupt), NCZCHUNK_ENOMEM, and the system's errno
/// values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_read_cost(
    array: *const nczchunk_array,
    start: *const usize,
    count: *const usize,
    stride: *const isize,
    cost: *mut nczchunk_read_cost,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        let array = &handle(array, "array is NULL")?.array;
        let rank = array.variable().rank();
        let (start, count, stride) = (optional(start, rank), optional(count, rank), optional(stride, rank));
        size_of_growing(cost)?;
        let found = array.read_cost(&Hyperslab::from_lists(start, count, stride))?;
        let told = nczchunk_read_cost {
            struct_size: 0,
            requests: found.requests,
            bytes: found.bytes,
            index_requests: found.index_requests,
            index_bytes: found.index_bytes,
        };
        write_growing(cost, told)
    }))
}

/// # Safety
/// `found` takes what is documented.
unsafe fn tell(
    chunk: &ChunkLocation<'_>,
    found: unsafe extern "C" fn(*mut c_void, *const nczchunk_located) -> c_int,
    user: *mut c_void,
) -> Result<()> {
    let object = c_text(chunk.object)?;
    let (state, offset, len) = match chunk.state {
        ChunkState::Absent => (NCZCHUNK_ABSENT, 0, 0),
        ChunkState::Stored { offset, len } => (NCZCHUNK_STORED, offset, len),
    };
    let located = nczchunk_located {
        struct_size: size_of::<nczchunk_located>(),
        rank: chunk.indices.len(),
        chunk_indices: chunk.indices.as_ptr(),
        object: object.as_ptr(),
        state: state as usize,
        offset,
        len,
    };
    // What the structure points to is alive.
    called(by_promise!(found(user, &raw const located)))
}

/// Writes references to all chunks of an array, or of the arrays in a group and in those below it, as an object of the
/// storage to. An empty name stands for the whole storage. The object is JSON as kerchunk writes it, version 1: with
/// it, fsspec, Zarr and xarray read the arrays from where they are, as nczchunk_storage_open does. url is what the
/// storage is called in the references, a path or a URL; names of objects in it follow, after a "/". The attributes,
/// dimensions and types are those of Zarr v2; a dimension without a name is called phony_dim_0 and so on.
///
/// If the name of the object ends with .parq or .parquet, the references are written to Parquet files below that name
/// instead, as kerchunk and fsspec have them; the library must be built for that (NCZCHUNK_PARQUET=ON).
///
/// If this call fails, the storage to is unchanged, except that some of the Parquet files may have been written.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument; a name that no object can have), NCZCHUNK_ENOTFOUND (there is nothing of
/// this name), NCZCHUNK_ENOTBUILT and NCZCHUNK_ENOFILTER (an array with what Zarr v2 or numcodecs does not have, such
/// as variable-length strings, entries of a zip file, and chunks that some filters were left out of; Parquet files in a
/// build without them, and of an array without a name), NCZCHUNK_EPERM
/// (to is read-only), NCZCHUNK_ENOMEM, those of nczchunk_array_open_in and nczchunk_array_locate, and those of the
/// storages.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_storage_write_references(
    storage: *const nczchunk_storage,
    name: *const c_char,
    url: *const c_char,
    to: *const nczchunk_storage,
    object: *const c_char,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        let (storage, to) = (handle(storage, "storage is NULL")?, handle(to, "to is NULL")?);
        let (name, url) = (utf8(text(name, "name is NULL")?)?, utf8(text(url, "url is NULL")?)?);
        let object = utf8(text(object, "object is NULL")?)?;
        write_references(&storage.0, name, url, &to.0, object)
    }))
}
