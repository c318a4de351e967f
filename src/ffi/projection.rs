//! # Projections: one dimension
//!
//! The arithmetic under it all: which chunks does start, count, stride touch along one dimension, and which elements of
//! each? Only touched chunks are listed, each is found in constant time, and nothing is allocated, so a dimension of 2^62
//! chunks with two elements selected costs two projections.

use std::ffi::c_int;

use super::{handle_mut, status};
use crate::error::{ErrorKind, Result};
use crate::hyperslab::Slice;
use crate::projection::{Projection, Projections};
use crate::variable::Dimension;

/// Lists the projections of a slice (start, count, stride) of a dimension of dimlen elements onto its chunks of chunklen.
///
/// needed receives their number. They are written to projections, in ascending order of chunks, if there is room: capacity
/// is at least needed. With projections NULL, or capacity 0, only needed is set.
///
/// Errors: NCZCHUNK_EINVAL (needed is NULL; chunklen 0), NCZCHUNK_EDIMSIZE (dimlen above PTRDIFF_MAX + 1), NCZCHUNK_ESTRIDE,
/// NCZCHUNK_EINVALCOORDS and NCZCHUNK_EEDGE as for nczchunk_read_vars; NCZCHUNK_ERANGE (capacity above 0 but below needed:
/// needed is set, nothing is written).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_projections(
    dimlen: usize,
    chunklen: usize,
    start: usize,
    count: usize,
    stride: isize,
    projections: *mut Projection,
    capacity: usize,
    needed: *mut usize,
) -> c_int {
    status(|| {
        let all = project(dimlen, chunklen, start, count, stride)?;
        // SAFETY: the header's general promise.
        *unsafe { handle_mut(needed, "needed is NULL") }? = all.len();
        if projections.is_null() || capacity == 0 {
            return Ok(());
        }
        if capacity < all.len() {
            return Err(ErrorKind::Capacity { needed: all.len(), capacity }.into());
        }
        for (p, projection) in all.iter().enumerate() {
            // SAFETY: p is below capacity, and by the header's general promise there is room for as many.
            unsafe { projections.add(p).write(projection) };
        }
        Ok(())
    })
}

/// The p-th of these projections, counted from 0, in constant time.
///
/// Errors: NCZCHUNK_EINVAL (projection is NULL; chunklen 0), NCZCHUNK_EINVALCOORDS also for p beyond the last; otherwise
/// as for nczchunk_projections.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_projection_at(
    dimlen: usize,
    chunklen: usize,
    start: usize,
    count: usize,
    stride: isize,
    p: usize,
    projection: *mut Projection,
) -> c_int {
    status(|| {
        // SAFETY: the header's general promise.
        let out = unsafe { handle_mut(projection, "projection is NULL") }?;
        let all = project(dimlen, chunklen, start, count, stride)?;
        *out = all.get(p).ok_or(ErrorKind::Index { index: p, len: all.len() })?;
        Ok(())
    })
}

fn project(dimlen: usize, chunklen: usize, start: usize, count: usize, stride: isize) -> Result<Projections> {
    let dimension = Dimension::new(dimlen, chunklen)?;
    Ok(Projections::new(dimension, Slice::read(dimlen, start, count, stride)?))
}
