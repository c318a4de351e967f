//! # Chunk keys: the names of chunks in a storage
//!
//! Compute the chunk key for a chunk's indices: `0.1` in Zarr v2, `c/0/1` in Zarr v3, `sst!0.90` in cfdb. A key is
//! written as a string with a NUL at its end. Each function also returns the key's length, so a first call without a
//! buffer finds the necessary size.

use std::io::Write;

use super::prelude::*;
use nczchunk_engine::key::{Key, KeyStyle, Separator};

/// Writes the key of a chunk in Zarr v2, and in Zarr v3 with the "v2" chunk key encoding: "2.1" or "2/1"; "0" for a
/// scalar. chunk_indices has rank entries, none negative. separator is '.' or '/'.
///
/// length receives the key's length in bytes without the NUL; it may be NULL. The key and a NUL are written to key if
/// there is room for them: capacity, in bytes, is above the length. With key NULL, or capacity 0, only length is set.
///
/// Errors: NCZCHUNK_EINVAL (chunk_indices is NULL, unless rank is 0; another separator; a negative index),
/// NCZCHUNK_EMAXDIMS (rank above NCZCHUNK_MAX_RANK). NCZCHUNK_EINVAL too if capacity is above 0 but too small: then
/// length is set, and nothing is written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_key_zarr_v2(
    rank: usize,
    chunk_indices: *const isize,
    separator: c_char,
    key: *mut c_char,
    capacity: usize,
    length: *mut usize,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report_computed(context, || {
        let chunk = chunk(rank, chunk_indices)?;
        let found = KeyStyle::ZarrV2(self::separator(separator)?).key(chunk)?;
        write_key(found, key, capacity, length)
    }))
}

/// Writes the key of a chunk in Zarr v3 with the "default" chunk key encoding: "c/2/1" or "c.2.1"; "c" for a scalar.
///
/// Arguments and errors: as for nczchunk_key_zarr_v2.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_key_zarr_v3(
    rank: usize,
    chunk_indices: *const isize,
    separator: c_char,
    key: *mut c_char,
    capacity: usize,
    length: *mut usize,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report_computed(context, || {
        let chunk = chunk(rank, chunk_indices)?;
        let found = KeyStyle::ZarrV3(self::separator(separator)?).key(chunk)?;
        write_key(found, key, capacity, length)
    }))
}

/// Writes the key of a chunk in cfdb: the variable's name, '!', and the chunk's first element in each dimension, with
/// dots between: "sst!180.90" for chunk (2, 1) with chunk lengths (90, 90).
///
/// var is the variable's name in UTF-8. chunklens and chunk_indices have rank entries. Chunks before the origin have
/// negative indices: element i lies in chunk floor((i + origin) / chunklen). For the other arguments see
/// nczchunk_key_zarr_v2.
///
/// Errors: NCZCHUNK_EINVAL (var, chunklens or chunk_indices is NULL, the latter two unless rank is 0; var is not UTF-8;
/// a chunk length of 0), and those of nczchunk_key_zarr_v2.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_key_cfdb(
    var: *const c_char,
    rank: usize,
    chunklens: *const usize,
    chunk_indices: *const isize,
    key: *mut c_char,
    capacity: usize,
    length: *mut usize,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report_computed(context, || {
        let var = text(var, "var is NULL")?.to_str().map_err(|_| ErrorKind::Argument("a name is not UTF-8"))?;
        // The rank is checked before the chunk lengths are looked at.
        let (chunk, chunklens) = (chunk(rank, chunk_indices)?, required(chunklens, rank, "chunklens is NULL")?);
        let found = KeyStyle::Cfdb { var, chunklens }.key(chunk)?;
        write_key(found, key, capacity, length)
    }))
}

/// The chunk indices, after the rank.
///
/// # Safety
/// `chunk_indices` is NULL or points to `rank` readable indices.
unsafe fn chunk<'a>(rank: usize, chunk_indices: *const isize) -> Result<&'a [isize]> {
    check_rank(rank)?;
    by_promise!(required(chunk_indices, rank, "chunk_indices is NULL"))
}

fn separator(character: c_char) -> Result<Separator> {
    Separator::try_from(char::from(character as u8))
}

/// Writes a key and its length where the caller wants them.
///
/// # Safety
/// `key` is NULL or points to `capacity` writable bytes; `length` is NULL or points to a place for a length.
unsafe fn write_key(found: Key<'_>, key: *mut c_char, capacity: usize, length: *mut usize) -> Result<()> {
    let needed = found.byte_len() + 1;
    if let Some(length) = by_promise!(length.as_mut()) {
        *length = needed - 1;
    }
    if key.is_null() || capacity == 0 {
        return Ok(());
    }
    if capacity < needed {
        return Err(ErrorKind::Capacity { needed, capacity }.into());
    }
    // SAFETY: the caller's promise; no more than capacity bytes are needed.
    let mut buffer = unsafe { required_mut(key.cast::<u8>(), needed, "key is NULL") }?;
    write!(buffer, "{found}\0").map_err(|_| ErrorKind::Internal.into())
}

#[cfg(test)]
mod tests {
    use std::ptr::{null, null_mut};

    use super::*;
    use nczchunk_engine::status::{EINVAL, EMAXDIMS, NOERR};

    const DOT: c_char = b'.' as c_char;

    fn v2(chunk: &[isize], key: &mut [c_char]) -> (c_int, usize) {
        let mut length = 99;
        // SAFETY: the slices have their lengths.
        let status = unsafe {
            nczchunk_key_zarr_v2(chunk.len(), chunk.as_ptr(), DOT, key.as_mut_ptr(), key.len(), &mut length, null_mut())
        };
        (status, length)
    }

    #[test]
    fn a_key_that_does_not_fit_leaves_the_buffer_alone() {
        let mut key = [b'x' as c_char; 6];
        assert_eq!(v2(&[2, 10], &mut []), (NOERR, 4));
        assert_eq!(v2(&[2, 10], &mut key[..4]), (EINVAL, 4));
        assert_eq!(key, [b'x' as c_char; 6]);
        assert_eq!(v2(&[2, 10], &mut key[..5]), (NOERR, 4));
        assert_eq!(key, b"2.10\0x".map(|byte| byte as c_char));
    }

    #[test]
    fn wrong_arguments_leave_the_length_alone() {
        let mut key = [0; 8];
        assert_eq!(v2(&[-1], &mut key), (EINVAL, 99));
        assert_eq!(v2(&[0; 1025], &mut key), (EMAXDIMS, 99));
        // SAFETY: NULL is looked for, and so is the rank before anything is read.
        unsafe {
            assert_eq!(nczchunk_key_zarr_v3(1, null(), DOT, null_mut(), 0, null_mut(), null_mut()), EINVAL);
            assert_eq!(nczchunk_key_zarr_v3(usize::MAX, &0, DOT, null_mut(), 0, null_mut(), null_mut()), EMAXDIMS);
            assert_eq!(nczchunk_key_zarr_v3(1, &0, b',' as c_char, null_mut(), 0, null_mut(), null_mut()), EINVAL);
            assert_eq!(nczchunk_key_cfdb(null(), 0, null(), null(), null_mut(), 0, null_mut(), null_mut()), EINVAL);
            assert_eq!(nczchunk_key_cfdb(c"v".as_ptr(), 1, null(), &0, null_mut(), 0, null_mut(), null_mut()), EINVAL);
            assert_eq!(nczchunk_key_cfdb(c"\xff".as_ptr(), 1, &4, &0, null_mut(), 0, null_mut(), null_mut()), EINVAL);
            assert_eq!(nczchunk_key_cfdb(c"v".as_ptr(), 1, &4, &0, null_mut(), 0, null_mut(), null_mut()), NOERR);
        }
    }
}
