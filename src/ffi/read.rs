//! # Reading a hyperslab

use std::ffi::{c_int, c_void};

use super::context::{nczchunk_context, report_chunks};
use super::handle;
use super::plan::hyperslab;
use super::store::nczchunk_store;
use super::var::nczchunk_var;
use crate::copy::Destination;
use crate::error::{ErrorKind, Result};
use crate::hyperslab::Access;
use crate::plan::Plan;
use crate::transfer::{Layout, Piece, Transfer};

/// Reads a hyperslab, as nc_get_vars does: along each dimension, count elements from start on, stride apart, into data.
///
/// start, count and stride have one entry per dimension. count NULL is the length of each dimension, whatever the start;
/// stride NULL is 1 everywhere. For a scalar all three are ignored. data has room for the product of the counts, in
/// elements of typesize bytes, row-major and without gaps, and comes out in native byte order; it must not overlap what
/// callbacks lend.
///
/// Every touched chunk is asked for once (for the one exception see nczchunk_filling_callbacks), in row-major order of chunk
/// indices if one thread does it, and no other chunk is. If any count is 0 nothing is read and no callback runs.
///
/// Errors, found before any callback runs and with data untouched, in this order:
/// NCZCHUNK_EINVAL (var or store is NULL), NCZCHUNK_EINVALCOORDS (start is NULL), NCZCHUNK_ESTRIDE (a stride below 1, in any
/// dimension), then dimension by dimension NCZCHUNK_EINVALCOORDS (start beyond the dimension, or at its end with count above
/// 0) and NCZCHUNK_EEDGE (the last element, start + (count - 1) * stride, beyond the dimension); NCZCHUNK_EINVAL (data NULL
/// though something is selected; more than PTRDIFF_MAX bytes).
///
/// Errors of a chunk, of which the first in order is returned and after which the contents of data are unspecified:
/// what a callback returned, NCZCHUNK_EBADCHUNK (a chunk of the wrong length), NCZCHUNK_EFILTER (one that does not decode),
/// NCZCHUNK_ENOMEM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_read_vars(
    var: *const nczchunk_var,
    store: *const nczchunk_store,
    start: *const usize,
    count: *const usize,
    stride: *const isize,
    data: *mut c_void,
    context: *mut nczchunk_context,
) -> c_int {
    let read = |threads, done: &mut usize| {
        // SAFETY: the header's general promise.
        let (var, store) = unsafe { (handle(var, "var is NULL")?, handle(store, "store is NULL")?) };
        // SAFETY: the three are NULL or have an entry per dimension, as documented.
        let slab = unsafe { hyperslab(&var.0, start, count, stride) };
        // SAFETY: data is NULL or has room for what is selected, as documented, and nobody else uses it meanwhile.
        let out = |len| unsafe { destination(data.cast(), len) };
        let mut piece = Piece::new(&var.0);
        if piece.find(&slab, Access::Read)? {
            return piece.read(&store.0, out(piece.selected_bytes())?, done);
        }
        let plan = Plan::new(&var.0, &slab, Access::Read)?;
        let out = out(plan.selected_bytes())?;
        let layout = Layout::dense(&plan)?;
        Transfer { variable: &var.0, plan: &plan, layout: &layout, store: &store.0, threads }.read(out, done)
    };
    // SAFETY: the header's general promise.
    unsafe { report_chunks(context, read) }
}

/// The caller's memory, to be read into.
///
/// # Safety
/// A pointer that is not NULL points to `len` bytes, of which nobody else uses those that are selected meanwhile.
pub(super) unsafe fn destination<'a>(data: *mut u8, len: usize) -> Result<Destination<'a>> {
    if data.is_null() && len > 0 {
        return Err(ErrorKind::Argument("data is NULL").into());
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { Destination::from_raw(data, len) })
}
