//! # Opening and reading an array
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
//! What can be opened is an array of Zarr v2 or v3, sharded or not, or of NCZarr, in a directory or in a zip file; and
//! to read it, a variable of a netCDF, HDF5 or cfdb file. What is not supported is refused with the name of
//! what it is: ask the context.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::Path;
use std::ptr;

use super::array_objects::{nczchunk_array, nczchunk_storage};
use super::context::{report, report_transfer};
use super::objects::{nczchunk_cache, nczchunk_chunk_store, nczchunk_context, nczchunk_var};
use super::pointers::{destination, guard, hand_over, handle, handle_mut, hyperslab, required_mut, take_back, text};
use super::read::nczchunk_read_vars;
use super::write::nczchunk_write_vars;
use crate::array::Array;
use crate::element::ElementType;
use crate::error::{ErrorKind, Result};
use crate::grid::Access;
use crate::strings::{self, KeptTexts};

/// Opens an array. path is a directory or a zip file; name is where the array is below it, such as
/// "ocean/sst", and NULL or empty if path is the array itself. Or path is a file that holds arrays, and name is the
/// array's name in it. mode is NCZCHUNK_READ, or NCZCHUNK_WRITE to read and write. Close it with nczchunk_array_close.
///
/// If all entries of a zip file are in one directory, such as "data", names may begin with it or not: "data/ocean/sst"
/// is "ocean/sst" then.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument, another mode), NCZCHUNK_ENOTFOUND (there is no such path or array),
/// NCZCHUNK_ENOTVAR (it is a group), NCZCHUNK_ENOTNC (path is something else), NCZCHUNK_ENCZARR (malformed metadata),
/// NCZCHUNK_ENOTBUILT (metadata that ask for what the library does not have), NCZCHUNK_ENOFILTER (a codec that it does
/// not have), NCZCHUNK_EBADTYPE (elements that it does not have), NCZCHUNK_EPERM (NCZCHUNK_WRITE for a file),
/// NCZCHUNK_ENOMEM, and the system's own numbers, which are positive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_open(
    path: *const c_char,
    name: *const c_char,
    mode: c_int,
    array: *mut *mut nczchunk_array,
    context: *mut nczchunk_context,
) -> c_int {
    // SAFETY: the texts are NULL or end with a NUL, and array is NULL or a place for a pointer, by the header's
    // general promise.
    unsafe {
        report(context, || {
            let path = file_path(path)?;
            let (name, access) = (optional_text(name)?, access(mode)?);
            hand_over(array, || nczchunk_array::new(Array::open(path, name, access)?))
        })
    }
}

/// Opens an array among the objects of a storage: see nczchunk_array_open. The array goes on using the storage when
/// that is freed.
///
/// Errors: those of nczchunk_array_open, and what callbacks of the storage return.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_open_in(
    storage: *const nczchunk_storage,
    name: *const c_char,
    mode: c_int,
    array: *mut *mut nczchunk_array,
    context: *mut nczchunk_context,
) -> c_int {
    // SAFETY: as above; storage is NULL or alive.
    unsafe {
        report(context, || {
            let storage = handle(storage, "storage is NULL")?;
            let (name, access) = (optional_text(name)?, access(mode)?);
            hand_over(array, || nczchunk_array::new(Array::open_in(&storage.0, name, access)?))
        })
    }
}

/// Closes an array: frees it and all that was lent with it. NULL is allowed. Whatever was written is where it belongs
/// already.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_close(array: *mut nczchunk_array) {
    // SAFETY: array is NULL or came from one of the functions that open and create, by the header's general promise.
    unsafe { take_back(array) }
}

/// Reads a hyperslab of an array: nczchunk_read_vars with its variable and its store.
///
/// The elements of an array of texts of any length, whose type name is "string", are char *: each is a new text in
/// UTF-8, which nczchunk_strings_free frees, or nc_free_string, or free. If the call fails, data is untouched and
/// nothing is left to be freed. (After a failure of nczchunk_read_vars or of a plan with the array's variable and
/// store, those that were read are the caller's, so data should be NULL everywhere before.) A chunk that holds no such
/// texts is NCZCHUNK_EIO, one that has a text with a NUL in it NCZCHUNK_ENOTBUILT. Chunks of texts are not kept in a
/// cache, and one thread reads them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_read(
    array: *const nczchunk_array,
    start: *const usize,
    count: *const usize,
    stride: *const isize,
    data: *mut c_void,
    context: *mut nczchunk_context,
) -> c_int {
    // SAFETY: the promises about the arguments are the same, and NULL for an array is NULL for what it lends.
    unsafe {
        match array.as_ref() {
            Some(of_texts) if *of_texts.array.element_type() == ElementType::String => {
                read_texts(&of_texts.array, (start, count, stride), data, context)
            }
            _ => {
                let (var, store) = (nczchunk_array_var(array), nczchunk_array_store(array));
                nczchunk_read_vars(var, store, start, count, stride, data, context)
            }
        }
    }
}

/// Reads texts, all of them before any is handed over.
///
/// # Safety
/// As for [`nczchunk_read_vars`].
unsafe fn read_texts(
    array: &Array,
    (start, count, stride): (*const usize, *const usize, *const isize),
    data: *mut c_void,
    context: *mut nczchunk_context,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        report_transfer(context, |options, done| {
            let variable = array.variable();
            let slab = hyperslab(variable, start, count, stride)?;
            let check = |len| destination(data.cast(), len).map(|_| ());
            strings::read(variable, array.store(), &slab, options, done, check)?.hand_over(data);
            Ok(())
        })
    }
}

/// Reads a hyperslab of an array of strings of any length into one block of memory instead of as many blocks:
/// nbytes bytes of UTF-8, in which the strings follow one another in row-major order, each with a NUL behind it. If the
/// call succeeds the block is the caller's, to be freed by nczchunk_strings_free, as one string, or by free.
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
/// Errors: NCZCHUNK_EINVAL (a NULL argument), NCZCHUNK_EBADTYPE (an array of other elements), and those of
/// nczchunk_array_read.
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
    // SAFETY: the pointers are NULL or point to what their types say, by the header's general promise.
    unsafe {
        report_transfer(context, |options, done| {
            let array = &handle(array, "array is NULL")?.array;
            let (block, nbytes) = (handle_mut(block, "block is NULL")?, handle_mut(nbytes, "nbytes is NULL")?);
            array.check_text()?;
            let slab = hyperslab(array.variable(), start, count, stride)?;
            let read = KeptTexts::read(array.variable(), array.store(), &slab, options, done)?;
            (*block, *nbytes) = read.into_block()?;
            Ok(())
        })
    }
}

/// Frees texts that were read, and leaves NULL in their places. A NULL among them is passed over.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_strings_free(num_strings: usize, strings: *mut *mut c_char) {
    // SAFETY: strings is NULL or has so many, each of them NULL or the caller's own.
    let _ = guard(|| unsafe {
        strings::free(required_mut(strings, num_strings, "strings is NULL")?);
        Ok(())
    });
}

/// Writes a hyperslab of an array that was opened with NCZCHUNK_WRITE: nczchunk_write_vars with its variable and its
/// store. What is written to an array of texts of any length is char *, in UTF-8, of which NULL stands for an empty
/// text; they remain the caller's. Shards of such texts are not written: NCZCHUNK_ENOTBUILT.
///
/// Several threads and processes may write at the same time, each to chunks of its own, or to shards of its own if the
/// array has shards. Every chunk or shard is replaced at once: a reader finds the old one or the new one. Of several
/// that write the same whole chunk or shard, the last one wins; of two that change one in part, one may undo what the
/// other did. A reader that keeps chunks in a cache does not see what other processes write to these.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_write(
    array: *const nczchunk_array,
    start: *const usize,
    count: *const usize,
    stride: *const isize,
    data: *const c_void,
    context: *mut nczchunk_context,
) -> c_int {
    // SAFETY: array is NULL or alive, by the header's general promise.
    let writable = unsafe { array.as_ref() }.map_or(Ok(()), |array| array.array.check_writable());
    // SAFETY: the promises about the arguments are the same, and NULL for an array is NULL for what it lends.
    unsafe {
        if let Err(error) = writable {
            return report(context, || Err(error));
        }
        let (var, store) = (nczchunk_array_var(array), nczchunk_array_store(array));
        nczchunk_write_vars(var, store, start, count, stride, data, context)
    }
}

/// The variable of an array: its rank, lengths, chunks and fill value, and what plans are made for. It is the array's,
/// and valid until that is closed or resized. NULL for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_var(array: *const nczchunk_array) -> *const nczchunk_var {
    // SAFETY: array is NULL or alive, by the header's general promise.
    unsafe { array.as_ref() }.map_or(ptr::null(), |array| nczchunk_var::lent(array.array.variable()))
}

/// The store of an array, for the functions that take one. It is the array's, and valid until that is closed. If the
/// array was opened with NCZCHUNK_READ, it cannot be written to. NULL for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_store(array: *const nczchunk_array) -> *const nczchunk_chunk_store {
    // SAFETY: array is NULL or alive, by the header's general promise.
    unsafe { array.as_ref() }.map_or(ptr::null(), |array| nczchunk_chunk_store::lent(array.array.store()))
}

/// netCDF's number for the type of an array's elements, such as 5 for NC_FLOAT; 0 for a type that netCDF does not have,
/// and for NULL. nczchunk_array_type_name tells those, too, and the two kinds of NC_STRING (12) apart: "string" for
/// texts of any length, whose elements are char *, and for example "S5" for texts of 5 bytes, whose elements are these
/// bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_type(array: *const nczchunk_array) -> c_int {
    // SAFETY: array is NULL or alive, by the header's general promise.
    unsafe { array.as_ref() }.map_or(0, |array| array.array.element_type().netcdf_type())
}

/// The type of an array's elements as numpy spells it, such as "float32", "datetime64[ns]" or "S5". The text is the
/// array's; empty for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_type_name(array: *const nczchunk_array) -> *const c_char {
    // SAFETY: array is NULL or alive, by the header's general promise.
    unsafe { array.as_ref() }.map_or(c"".as_ptr(), |array| array.type_name.as_ptr())
}

/// The format that an array is stored in: "Zarr v2", "Zarr v3", "NCZarr", "netCDF classic", "cfdb" or "HDF5", which
/// netCDF-4 files have. The text is the array's; empty for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_format(array: *const nczchunk_array) -> *const c_char {
    // SAFETY: array is NULL or alive, by the header's general promise.
    unsafe { array.as_ref() }.map_or(c"".as_ptr(), |array| array.format.as_ptr())
}

/// The name of dimension d of an array; empty if it has none, if there is no such dimension, and for NULL. The text is
/// the array's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_dimname(array: *const nczchunk_array, d: usize) -> *const c_char {
    // SAFETY: array is NULL or alive, by the header's general promise.
    let names = unsafe { array.as_ref() }.map_or(&[][..], |array| &array.dimension_names);
    names.get(d).map_or(c"".as_ptr(), |name| name.as_ptr())
}

/// Has an array's decoded chunks kept in a cache of yours instead of its own, which keeps 64 MiB or, if that is more,
/// one chunk; NULL for cache has none kept. See nczchunk_chunk_store_set_cache. The indices of the shards that were
/// used last are kept besides: up to 4 MiB, and at least one.
///
/// Errors: NCZCHUNK_EINVAL (array is NULL).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_set_cache(
    array: *mut nczchunk_array,
    cache: *const nczchunk_cache,
    context: *mut nczchunk_context,
) -> c_int {
    // SAFETY: the pointers are NULL or alive, by the header's general promise.
    unsafe {
        report(context, || {
            handle_mut(array, "array is NULL")?.array.set_cache(cache.as_ref().map(|cache| &cache.0));
            Ok(())
        })
    }
}

/// Sets whether every chunk is decoded to its end: see nczchunk_chunk_store_set_verify.
///
/// Errors: NCZCHUNK_EINVAL (array is NULL).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_set_verify(
    array: *mut nczchunk_array,
    verify: c_int,
    context: *mut nczchunk_context,
) -> c_int {
    // SAFETY: the pointers are NULL or alive, by the header's general promise.
    unsafe {
        report(context, || {
            handle_mut(array, "array is NULL")?.array.set_verify(verify != 0);
            Ok(())
        })
    }
}

fn access(mode: c_int) -> Result<Access> {
    match mode {
        super::plan::NCZCHUNK_READ => Ok(Access::Read),
        super::plan::NCZCHUNK_WRITE => Ok(Access::Write),
        _ => Err(ErrorKind::Argument("the mode is neither NCZCHUNK_READ nor NCZCHUNK_WRITE").into()),
    }
}

/// A text that may be NULL, which stands for an empty one.
///
/// # Safety
/// As for [`text`].
pub(super) unsafe fn optional_text<'a>(pointer: *const c_char) -> Result<&'a str> {
    // SAFETY: the caller's promise is the same.
    if pointer.is_null() { Ok("") } else { utf8(unsafe { text(pointer, "") }?) }
}

/// The path behind a pointer: on Unix any bytes, elsewhere UTF-8.
///
/// # Safety
/// As for [`text`].
pub(super) unsafe fn file_path<'a>(pointer: *const c_char) -> Result<&'a Path> {
    // SAFETY: the caller's promise is the same.
    let text = unsafe { text(pointer, "path is NULL") }?;
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
