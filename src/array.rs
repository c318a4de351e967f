//! # Opening and reading an array
//!
//! Open an array by its path, and read hyperslabs of it:
//!
//! ```c
//! nczchunk_array *array = NULL;
//! size_t start[3] = {0, 0, 0}, count[3] = {1, 90, 180};
//! float map[90][180];
//! int status = nczchunk_array_open("sst.zarr", NULL, NCZCHUNK_READ, &array, NULL);
//! if (status == NCZCHUNK_NOERR) status = nczchunk_array_read(array, start, count, NULL, map, NULL);
//! nczchunk_array_close(array);
//! ```
//!
//! The library opens arrays of Zarr v2 and v3 (with or without shards) and of NCZarr, in a directory or in a zip file.
//! It opens variables of netCDF, HDF5 and cfdb files for reading only. It refuses an array with an unsupported feature,
//! and the message in the context names that feature.

use std::ffi::CStr;
use std::path::Path;
use std::ptr;

use super::points::Chosen;
use super::prelude::*;
use super::read::nczchunk_read_vars;
use super::write::nczchunk_write_vars;
use nczchunk::Array;
use nczchunk_engine::strings::{self, KeptTexts};

/// Opens an array. path is a directory or a zip file. name is the array's path below it, such as "ocean/sst", and is
/// NULL or empty if path is the array itself. path may also be a file that holds arrays; then name is the array's name
/// in that file. mode is NCZCHUNK_READ, or NCZCHUNK_WRITE to read and write. Close the array with nczchunk_array_close.
///
/// If all entries of a zip file are in one directory, such as "data", that directory may be left out of a name:
/// "data/ocean/sst" and "ocean/sst" are the same array.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument, an unknown mode), NCZCHUNK_ENOTFOUND (no such path or array),
/// NCZCHUNK_ENOTVAR (the name is that of a group), NCZCHUNK_ENOTNC (path is something else), NCZCHUNK_ENCZARR
/// (malformed metadata), NCZCHUNK_ENOTBUILT (the metadata require an unsupported feature), NCZCHUNK_ENOFILTER (an
/// unknown codec), NCZCHUNK_EBADTYPE (an unsupported element type), NCZCHUNK_EPERM (NCZCHUNK_WRITE for a file),
/// NCZCHUNK_ENOMEM, and the system's errno values, which are positive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_open(
    path: *const c_char,
    name: *const c_char,
    mode: c_int,
    array: *mut *mut nczchunk_array,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        let path = file_path(path)?;
        let (name, access) = (optional_text(name)?, access(mode)?);
        hand_over(array, || nczchunk_array::new(Array::open(path, name, access)?))
    }))
}

/// Opens an array in a storage whose metadata you have already, from consolidated metadata or a catalogue: document is
/// the text of its zarr.json or .zarray. Only chunks are read from the storage, and no metadata need be stored there.
/// The .zarray of Zarr v2 has no attributes, so the array has none. nczchunk_array_resize, nczchunk_array_refresh and
/// the functions that change attributes use the metadata that are stored.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument; an unknown mode; a name that arrays cannot have), NCZCHUNK_ENOTVAR
/// (document is a group's), NCZCHUNK_ENCZARR (malformed metadata), NCZCHUNK_ENOTBUILT (the metadata require an
/// unsupported feature), NCZCHUNK_ENOFILTER (an unknown codec), NCZCHUNK_EBADTYPE (an unsupported element type),
/// NCZCHUNK_EPERM (NCZCHUNK_WRITE in a read-only storage; a storage of one file), NCZCHUNK_ENOMEM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_open_document(
    storage: *const nczchunk_storage,
    name: *const c_char,
    document: *const c_char,
    mode: c_int,
    array: *mut *mut nczchunk_array,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        let storage = &handle(storage, "storage is NULL")?.0;
        let (name, access) = (optional_text(name)?, access(mode)?);
        let document = utf8(text(document, "document is NULL")?)?;
        hand_over(array, || nczchunk_array::new(Array::open_document(storage, name, document, access)?))
    }))
}

/// Opens an array in a storage: see nczchunk_array_open. The array can still use the storage after
/// nczchunk_storage_free.
///
/// Errors: those of nczchunk_array_open, and the status that a callback of the storage returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_open_in(
    storage: *const nczchunk_storage,
    name: *const c_char,
    mode: c_int,
    array: *mut *mut nczchunk_array,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        let storage = handle(storage, "storage is NULL")?;
        let (name, access) = (optional_text(name)?, access(mode)?);
        hand_over(array, || nczchunk_array::new(Array::open_in(&storage.0, name, access)?))
    }))
}

/// Closes an array. Frees the array and everything that belongs to it, such as its variable, its store and its strings.
/// NULL is allowed. All written data are in the storage before this call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_close(array: *mut nczchunk_array) {
    by_promise!(take_back(array))
}

/// Reads a hyperslab of an array: nczchunk_read_vars with the array's variable and store.
///
/// An array of variable-length strings has the type name "string". Its elements are char *. Each element that is read
/// is a new UTF-8 string; free it with nczchunk_strings_free, nc_free_string or free. If the call fails, data is
/// untouched and there is nothing to free. (After a failure of nczchunk_read_vars, or of a plan with the array's
/// variable and store, the caller owns the strings that were read. So set all of data to NULL before such a call.) A
/// chunk that does not hold such strings gives NCZCHUNK_EIO; a string that contains a NUL gives NCZCHUNK_ENOTBUILT.
/// Chunks of strings are not cached, and one thread reads them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_read(
    array: *const nczchunk_array,
    start: *const usize,
    count: *const usize,
    stride: *const isize,
    data: *mut c_void,
    context: *mut nczchunk_context,
) -> c_int {
    // NULL for an array is NULL for what it lends.
    by_promise!(match array.as_ref() {
        Some(of_texts) if *of_texts.array.element_type() == ElementType::String => {
            let lists = ptr::null();
            read_texts(&of_texts.array, Chosen::Lists { start, count, stride, lists }, data, context)
        }
        _ => {
            let (var, store) = (nczchunk_array_var(array), nczchunk_array_store(array));
            nczchunk_read_vars(var, store, start, count, stride, data, context)
        }
    })
}

/// Reads strings. None is handed over before all are read.
///
/// # Safety
/// As for [`nczchunk_read_vars`] and [`Chosen::with`].
pub(super) unsafe fn read_texts(
    array: &Array,
    chosen: Chosen,
    data: *mut c_void,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report_transfer(context, move |options, done| {
        let variable = array.variable();
        let check = |len| destination(data.cast(), len).map(|_| ());
        let texts = chosen.with(variable, |slab| strings::read(variable, array.store(), slab, options, done, check))?;
        texts.hand_over(data);
        Ok(())
    }))
}

/// Reads a hyperslab of an array of variable-length strings into one block of memory, instead of one block for each
/// string. The block has nbytes bytes of UTF-8: the strings in row-major order, each followed by a NUL. After success
/// the caller owns the block; free it with nczchunk_strings_free, as one string, or with free.
///
/// ```c
/// size_t start = 0, nbytes;
/// char *block;
/// if (!nczchunk_array_read_strings(array, &start, NULL, NULL, &block, &nbytes, NULL)) {
///     for (char *string = block; string < block + nbytes; string += strlen(string) + 1) puts(string);
///     nczchunk_strings_free(1, &block);
/// }
/// ```
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument), NCZCHUNK_EBADTYPE (the elements are not variable-length strings), and
/// those of nczchunk_array_read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_read_strings(
    array: *const nczchunk_array,
    start: *const usize,
    count: *const usize,
    stride: *const isize,
    block: *mut *mut c_char,
    nbytes: *mut usize,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report_transfer(context, move |options, done| {
        let array = &handle(array, "array is NULL")?.array;
        let (block, nbytes) = (handle_mut(block, "block is NULL")?, handle_mut(nbytes, "nbytes is NULL")?);
        array.check_text()?;
        let slab = hyperslab(array.variable(), start, count, stride)?;
        let read = KeptTexts::read(array.variable(), array.store(), &slab, options, done)?;
        (*block, *nbytes) = read.into_block()?;
        Ok(())
    }))
}

/// Frees strings that were read, and sets their pointers to NULL. Pointers that are NULL are skipped.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_strings_free(num_strings: usize, strings: *mut *mut c_char) {
    by_promise!(drop(guard(|| {
        strings::free(required_mut(strings, num_strings, "strings is NULL")?);
        Ok(())
    })));
}

/// Writes a hyperslab of an array that was opened with NCZCHUNK_WRITE: nczchunk_write_vars with the array's variable
/// and store. Variable-length strings are written from char * in UTF-8, where NULL stands for an empty string. The
/// caller keeps them. Shards of such strings cannot be written: NCZCHUNK_ENOTBUILT.
///
/// Several threads and processes may write at the same time, each to its own chunks, or to its own shards if the array
/// has shards. Every chunk or shard is replaced atomically: a reader finds the old one or the new one. If several write
/// the same whole chunk or shard, the last one wins. If two change parts of the same chunk or shard, one may undo the
/// change of the other. A reader that keeps chunks in a cache does not see what other processes write to these chunks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_write(
    array: *const nczchunk_array,
    start: *const usize,
    count: *const usize,
    stride: *const isize,
    data: *const c_void,
    context: *mut nczchunk_context,
) -> c_int {
    // NULL for an array is NULL for what it lends.
    by_promise!(match array.as_ref().map(|array| array.array.check_writable()) {
        Some(Err(error)) => report(context, || Err(error)),
        _ => {
            let (var, store) = (nczchunk_array_var(array), nczchunk_array_store(array));
            nczchunk_write_vars(var, store, start, count, stride, data, context)
        }
    })
}

/// Returns the variable of an array: its rank, lengths, chunks and fill value. Plans are made for it. It belongs to the
/// array, and is valid until the array is closed or resized. Returns NULL for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_var(array: *const nczchunk_array) -> *const nczchunk_var {
    by_promise!(array.as_ref().map_or(ptr::null(), |array| nczchunk_var::lent(array.array.variable())))
}

/// Returns the store of an array, for the functions that take one. It belongs to the array, and is valid until the
/// array is closed. It is read-only if the array was opened with NCZCHUNK_READ. Returns NULL for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_store(array: *const nczchunk_array) -> *const nczchunk_chunk_store {
    by_promise!(array.as_ref().map_or(ptr::null(), |array| nczchunk_chunk_store::lent(array.array.store())))
}

/// Returns netCDF's number for the type of an array's elements, such as 5 for NC_FLOAT. Returns 0 for a type that
/// netCDF does not have, and for NULL. nczchunk_array_type_name names those types, too. It also distinguishes the two
/// kinds of NC_STRING (12): "string" for variable-length strings, whose elements are char *, and for example "S5" for
/// strings of 5 bytes, whose elements are these bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_type(array: *const nczchunk_array) -> c_int {
    by_promise!(array.as_ref().map_or(0, |array| array.array.element_type().netcdf_type()))
}

/// Returns numpy's name for the type of an array's elements, such as "float32", "datetime64[ns]" or "S5". The string
/// belongs to the array; it is empty for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_type_name(array: *const nczchunk_array) -> *const c_char {
    by_promise!(array.as_ref().map_or(c"".as_ptr(), |array| array.type_name.as_ptr()))
}

/// Returns the storage format of an array: "Zarr v2", "Zarr v3", "NCZarr", "netCDF classic", "cfdb", or "HDF5" (the
/// format of netCDF-4 files). The string belongs to the array; it is empty for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_format(array: *const nczchunk_array) -> *const c_char {
    by_promise!(array.as_ref().map_or(c"".as_ptr(), |array| array.format.as_ptr()))
}

/// Calls found for each codec of an array's chunks, in the order of encoding: with its name, such as "zstd", and its
/// configuration as a JSON object in a string, such as "{\"level\":3}". The configuration is empty if the format does
/// not record it. Codecs for whole shards are left out. The strings are valid until the callback returns. If found
/// returns anything but 0, the call ends with that status.
///
/// Errors: NCZCHUNK_EINVAL (array or found is NULL), the status that found returned, NCZCHUNK_ENOMEM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_codecs(
    array: *const nczchunk_array,
    found: Option<unsafe extern "C" fn(user: *mut c_void, name: *const c_char, configuration: *const c_char) -> c_int>,
    user: *mut c_void,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        let array = &handle(array, "array is NULL")?.array;
        let found = found.ok_or(ErrorKind::Argument("found is NULL"))?;
        for (name, configuration) in array.codecs()? {
            let (name, configuration) = (c_text(name)?, c_text(configuration)?);
            called(found(user, name.as_ptr(), configuration.as_ptr()))?;
        }
        Ok(())
    }))
}

/// Returns the name of dimension d of an array. It is empty if the dimension has no name, if there is no such
/// dimension, and for NULL. The string belongs to the array.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_dimname(array: *const nczchunk_array, d: usize) -> *const c_char {
    let names = by_promise!(array.as_ref()).map_or(&[][..], |array| &array.dimension_names);
    names.get(d).map_or(c"".as_ptr(), |name| name.as_ptr())
}

/// Keeps an array's decoded chunks in a cache of yours instead of its own. Its own cache keeps 64 MiB or one chunk,
/// whichever is more; it keeps a chunk from its second use on, and those that are used after it at once, while yours
/// keeps chunks at their first use. Of a chunk in a storage with requests in flight the array's own cache keeps what
/// is stored at the first use, so that it is requested once. NULL for cache disables caching of chunks. See
/// nczchunk_chunk_store_set_cache. The most recently used shard indices are kept in addition: up to 4 MiB, and at
/// least one.
///
/// Errors: NCZCHUNK_EINVAL (array is NULL).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_set_cache(
    array: *mut nczchunk_array,
    cache: *const nczchunk_cache,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        handle_mut(array, "array is NULL")?.array.set_cache(cache.as_ref().map(|cache| &cache.0));
        Ok(())
    }))
}

/// Sets whether every chunk is decoded completely: see nczchunk_chunk_store_set_verify.
///
/// Errors: NCZCHUNK_EINVAL (array is NULL).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_set_verify(
    array: *mut nczchunk_array,
    verify: c_int,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        handle_mut(array, "array is NULL")?.array.set_verify(verify != 0);
        Ok(())
    }))
}

fn access(mode: c_int) -> Result<Access> {
    match mode {
        super::plan::NCZCHUNK_READ => Ok(Access::Read),
        super::plan::NCZCHUNK_WRITE => Ok(Access::Write),
        _ => Err(ErrorKind::Argument("mode must be NCZCHUNK_READ or NCZCHUNK_WRITE").into()),
    }
}

/// A string that may be NULL, which stands for an empty one.
///
/// # Safety
/// As for [`text`].
pub(super) unsafe fn optional_text<'a>(pointer: *const c_char) -> Result<&'a str> {
    if pointer.is_null() { Ok("") } else { utf8(by_promise!(text(pointer, ""))?) }
}

/// The path behind a pointer: on Unix any bytes, elsewhere UTF-8.
///
/// # Safety
/// As for [`text`].
pub(super) unsafe fn file_path<'a>(pointer: *const c_char) -> Result<&'a Path> {
    let text = by_promise!(text(pointer, "path is NULL"))?;
    #[cfg(unix)]
    {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;
        Ok(Path::new(OsStr::from_bytes(text.to_bytes())))
    }
    #[cfg(not(unix))]
    {
        text.to_str().map(Path::new).map_err(|_| ErrorKind::Argument("path is not UTF-8").into())
    }
}

pub(super) fn utf8(text: &CStr) -> Result<&str> {
    text.to_str().map_err(|_| ErrorKind::Argument("a name is not UTF-8").into())
}
