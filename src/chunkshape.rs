//! # Chunk shapes: the defaults of other libraries
//!
//! Compute the chunk lengths that netCDF-C and rechunkit choose for a variable by default.

use std::ffi::c_int;

use super::context::report;
use super::objects::nczchunk_context;
use super::pointers::{required, required_mut};
use nczchunk_engine::chunkshape::{self, NETCDF_TARGET_BYTES, RECHUNKIT_TARGET_BYTES};
use nczchunk_engine::dims::check_rank;
use nczchunk_engine::error::Result;

/// Computes the chunk lengths that netCDF-C gives a netCDF-4 variable, as nc_inq_var_chunking reports them. All fixed
/// dimensions are shortened by the same factor, unlimited ones to 1.
///
/// dimlens has rank entries; 0 is an unlimited dimension. typesize is the size of an element in bytes. target_bytes is
/// the approximate size of a chunk in bytes; 0 stands for netCDF-C's default, 16 MiB. chunklens receives rank lengths,
/// and must not overlap dimlens.
///
/// Errors: NCZCHUNK_EINVAL (dimlens or chunklens is NULL, unless rank is 0; typesize 0 or above 4 GiB - 1),
/// NCZCHUNK_EMAXDIMS (rank above NCZCHUNK_MAX_RANK).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_chunkshape_netcdf(
    rank: usize,
    dimlens: *const usize,
    typesize: usize,
    target_bytes: usize,
    chunklens: *mut usize,
    context: *mut nczchunk_context,
) -> c_int {
    let answer = || {
        // SAFETY: the header's general promise, and the two do not overlap, as documented.
        let (dimlens, chunklens) = unsafe { lengths(rank, dimlens, chunklens) }?;
        chunkshape::netcdf(dimlens, typesize, or_default(target_bytes, NETCDF_TARGET_BYTES), chunklens)
    };
    // SAFETY: context is NULL or a context that nobody else uses, by the header's general promise.
    unsafe { report(context, answer) }
}

/// Computes the chunk lengths that rechunkit guesses, which are cfdb's default. Dimensions are shortened in turn to
/// numbers with many divisors, until the chunk takes at most one and a half times the target.
///
/// dimlens has rank entries, none 0. typesize is the size of an element in bytes. target_bytes is the approximate size
/// of a chunk in bytes; 0 stands for rechunkit's default, 2 MiB. chunklens receives rank lengths, and must not overlap
/// dimlens.
///
/// Errors: NCZCHUNK_EINVAL (dimlens or chunklens is NULL, unless rank is 0; typesize 0), NCZCHUNK_EDIMSIZE (a length of
/// 0), NCZCHUNK_EMAXDIMS (rank above NCZCHUNK_MAX_RANK).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_chunkshape_rechunkit(
    rank: usize,
    dimlens: *const usize,
    typesize: usize,
    target_bytes: usize,
    chunklens: *mut usize,
    context: *mut nczchunk_context,
) -> c_int {
    let answer = || {
        // SAFETY: the header's general promise, and the two do not overlap, as documented.
        let (dimlens, chunklens) = unsafe { lengths(rank, dimlens, chunklens) }?;
        chunkshape::rechunkit(dimlens, typesize, or_default(target_bytes, RECHUNKIT_TARGET_BYTES), chunklens)
    };
    // SAFETY: context is NULL or a context that nobody else uses, by the header's general promise.
    unsafe { report(context, answer) }
}

/// The lengths to read and those to write, after the rank.
///
/// # Safety
/// Each is NULL or points to `rank` lengths; those of `chunklens` are writable and used by nobody else.
unsafe fn lengths<'a>(
    rank: usize,
    dimlens: *const usize,
    chunklens: *mut usize,
) -> Result<(&'a [usize], &'a mut [usize])> {
    check_rank(rank)?;
    // SAFETY: the caller's promise.
    unsafe { Ok((required(dimlens, rank, "dimlens is NULL")?, required_mut(chunklens, rank, "chunklens is NULL")?)) }
}

fn or_default(target_bytes: usize, default: usize) -> usize {
    if target_bytes == 0 { default } else { target_bytes }
}
