//! # Projections: one dimension
//!
//! Compute which chunks start, count and stride touch along one dimension, and which elements of each. All functions
//! above are based on this arithmetic. Only touched chunks are listed, each is found in constant time, and nothing is
//! allocated. So a dimension of 2^62 chunks with two selected elements costs two projections.

use super::growing::{check_element_size, write_element};
use super::prelude::*;
use nczchunk_engine::grid::Dimension;
use nczchunk_engine::hyperslab::Slice;
use nczchunk_engine::projection::{Projection, Projections};

/// Lists the projections of a slice (start, count, stride) of a dimension of dimlen elements onto its chunks of
/// chunklen elements.
///
/// needed receives the number of projections. They are written to projections, in ascending order of chunks, if there
/// is room: capacity is at least needed. Each takes projection_size bytes, which is sizeof(nczchunk_projection). With
/// projections NULL, or capacity 0, only needed is set.
///
/// Errors: NCZCHUNK_EINVAL (needed is NULL; chunklen 0; a smaller projection_size), NCZCHUNK_EDIMSIZE (dimlen above
/// PTRDIFF_MAX + 1), NCZCHUNK_ESTRIDE, NCZCHUNK_EINVALCOORDS and NCZCHUNK_EEDGE as for nczchunk_read_vars.
/// NCZCHUNK_EINVAL too if capacity is above 0 but below needed: then needed is set, and nothing is written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_projections(
    dimlen: usize,
    chunklen: usize,
    start: usize,
    count: usize,
    stride: isize,
    projections: *mut Projection,
    projection_size: usize,
    capacity: usize,
    needed: *mut usize,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report_computed(context, || {
        let is_wanted = !projections.is_null() && capacity > 0;
        if is_wanted {
            check_element_size::<Projection>(projection_size)?;
        }
        let all = project(dimlen, chunklen, start, count, stride)?;
        *handle_mut(needed, "needed is NULL")? = all.len();
        if !is_wanted {
            return Ok(());
        }
        if capacity < all.len() {
            return Err(ErrorKind::Capacity { needed: all.len(), capacity }.into());
        }
        for (p, projection) in all.iter().enumerate() {
            // SAFETY: p is below capacity, and there is room for as many of projection_size bytes, as documented.
            unsafe { write_element(projections, p, projection_size, projection) };
        }
        Ok(())
    }))
}

/// Returns the p-th of these projections, counted from 0, in constant time. projection has projection_size bytes:
/// sizeof(nczchunk_projection).
///
/// Errors: NCZCHUNK_EINVAL (projection is NULL; a smaller projection_size; chunklen 0), NCZCHUNK_EINVALCOORDS also for
/// p beyond the last; otherwise as for nczchunk_projections.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_projection_at(
    dimlen: usize,
    chunklen: usize,
    start: usize,
    count: usize,
    stride: isize,
    p: usize,
    projection: *mut Projection,
    projection_size: usize,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report_computed(context, || {
        if projection.is_null() {
            return Err(ErrorKind::Argument("projection is NULL").into());
        }
        check_element_size::<Projection>(projection_size)?;
        let all = project(dimlen, chunklen, start, count, stride)?;
        let found = all.get(p).ok_or(ErrorKind::Index { index: p, len: all.len() })?;
        // SAFETY: there is room for one of projection_size bytes, as documented.
        unsafe { write_element(projection, 0, projection_size, found) };
        Ok(())
    }))
}

fn project(dimlen: usize, chunklen: usize, start: usize, count: usize, stride: isize) -> Result<Projections> {
    let dimension = Dimension::new(dimlen, chunklen)?;
    Projections::new(&dimension, Slice::read(dimlen, start, count, stride)?)
}
