//! # Lists of indices and points
//!
//! Read and write elements that no stride describes: along a dimension those of a list, or single elements.
//!
//! ```c
//! size_t rows[3] = {7, 0, 7};
//! const size_t *lists[2] = {rows, NULL};
//! size_t start[2] = {0, 10}, count[2] = {3, 20};
//! float of_rows[3][20];
//! int status = nczchunk_read_lists(var, store, start, count, NULL, lists, of_rows, NULL);
//!
//! size_t points[2][2] = {{9, 19}, {3, 2}};
//! float of_points[2];
//! if (!status) status = nczchunk_read_points(var, store, 2, &points[0][0], of_points, NULL);
//! ```
//!
//! Each touched chunk is asked for, decoded and stored once, however many of its elements are named, and however often;
//! and so it is with several threads, with a cache and with requests in flight. The library sorts lists and points for
//! that: a point takes up to 64 bytes of memory while it does, then 16, and an index of a list 16.

use super::prelude::*;
use nczchunk_engine::dims::try_collect;
use nczchunk_engine::hyperslab::Hyperslab;
use nczchunk_engine::transfer;
use nczchunk_engine::variable::Variable;

/// What C names one by one.
#[derive(Clone, Copy)]
pub(super) enum Chosen {
    Points { num_points: usize, points: *const usize },
    Lists { start: *const usize, count: *const usize, stride: *const isize, lists: *const *const usize },
}

impl Chosen {
    /// Does something with the request.
    ///
    /// # Safety
    /// The pointers are NULL or have as many entries as documented, which nobody changes meanwhile.
    pub(super) unsafe fn with<T>(
        self,
        variable: &Variable,
        body: impl FnOnce(&Hyperslab<'_>) -> Result<T>,
    ) -> Result<T> {
        const TOO_MANY: ErrorKind = ErrorKind::Argument("there are more indices than memory can hold");
        let rank = variable.rank();
        let fits = |len: &usize| *len <= isize::MAX as usize / size_of::<usize>();
        match self {
            Chosen::Points { num_points, points } => {
                let len = num_points.checked_mul(rank).filter(fits).ok_or(TOO_MANY)?;
                // SAFETY: it is NULL or has an index per dimension of each point by the caller's promise.
                body(&Hyperslab::points(num_points, unsafe { required(points, len, "points is NULL") }?))
            }
            Chosen::Lists { start, count, stride, lists } => {
                // SAFETY: each is NULL or has `rank` entries by the caller's promise.
                let (lists, counts) = unsafe { (optional(lists, rank), optional(count, rank)) };
                let list = |d: usize| lists.map(|lists| lists[d]).filter(|list| !list.is_null());
                if start.is_null() && (0..rank).any(|d| list(d).is_none()) {
                    return Err(ErrorKind::NoStart.into());
                }
                let indices = (0..rank).map(|d| {
                    let Some(list) = list(d) else { return Ok(None) };
                    let counts = counts.ok_or(ErrorKind::Argument("count is NULL, but a dimension has a list"))?;
                    let len = Some(counts[d]).filter(fits).ok_or(TOO_MANY)?;
                    // SAFETY: a list that is given has `count[d]` entries by the caller's promise.
                    Ok(unsafe { optional(list, len) })
                });
                let indices = try_collect(rank, indices)?;
                // SAFETY: as above.
                let (start, stride) = unsafe { (optional(start, rank), optional(stride, rank)) };
                body(&Hyperslab::from_lists(start, counts, stride).with_indices(&indices))
            }
        }
    }
}

/// Reads what is named one by one.
///
/// # Safety
/// As for [`Chosen::with`] and [`nczchunk_read_vars`](super::read::nczchunk_read_vars).
pub(super) unsafe fn read(
    var: *const nczchunk_var,
    store: *const nczchunk_chunk_store,
    chosen: Chosen,
    data: *mut c_void,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report_transfer(context, move |options, done| {
        let (var, store) = (handle(var, "var is NULL")?, handle(store, "store is NULL")?);
        chosen.with(&var.0, |slab| {
            transfer::read(&var.0, &store.0, slab, |len| destination(data.cast(), len), options, done)
        })
    }))
}

/// Writes what is named one by one.
///
/// # Safety
/// As for [`Chosen::with`] and [`nczchunk_write_vars`](super::write::nczchunk_write_vars).
pub(super) unsafe fn write(
    var: *const nczchunk_var,
    store: *const nczchunk_chunk_store,
    chosen: Chosen,
    data: *const c_void,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report_transfer(context, move |options, done| {
        let (var, store) = (handle(var, "var is NULL")?, handle(store, "store is NULL")?);
        chosen
            .with(&var.0, |slab| transfer::write(&var.0, &store.0, slab, |len| source(data.cast(), len), options, done))
    }))
}

/// Reads single elements. points has num_points * rank entries, one point after another: of each an index along every
/// dimension. The points may be in any order and may name an element several times. data has room for num_points
/// elements, in the order of the points. For a scalar, points is ignored.
///
/// Every chunk that has a point is asked for once, in row-major order of chunk indices; no other chunk is. For
/// num_points 0 nothing is read.
///
/// Errors found before any callback runs, with data untouched: NCZCHUNK_EINVAL (var or store is NULL; points is NULL
/// although there are indices; more than PTRDIFF_MAX bytes of points or elements), NCZCHUNK_EINVALCOORDS (an index
/// beyond its dimension), NCZCHUNK_ENOMEM, NCZCHUNK_EINVAL (data is NULL although elements are selected). Errors of a
/// chunk: those of nczchunk_read_vars.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_read_points(
    var: *const nczchunk_var,
    store: *const nczchunk_chunk_store,
    num_points: usize,
    points: *const usize,
    data: *mut c_void,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(read(var, store, Chosen::Points { num_points, points }, data, context))
}

/// Writes single elements: the arguments are those of nczchunk_read_points. data is only read. If several points are
/// the same element, it becomes what data has for the last of them.
///
/// Every chunk that has a point is stored once. It is fetched before, unless there are points at all of its elements
/// inside the dimensions. Errors found before any callback runs: those of nczchunk_read_points, then NCZCHUNK_EPERM
/// (the store is read-only). Errors of a chunk: those of nczchunk_write_vars.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_write_points(
    var: *const nczchunk_var,
    store: *const nczchunk_chunk_store,
    num_points: usize,
    points: *const usize,
    data: *const c_void,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(write(var, store, Chosen::Points { num_points, points }, data, context))
}

/// Reads a hyperslab that has a list of indices along some dimensions. lists has rank entries. Where lists[d] is NULL,
/// start, count and stride select along dimension d as for nczchunk_read_vars. Where it is not, it has count[d]
/// indices, in any order and with any repetitions, and start[d] and stride[d] are ignored. data has room for the
/// product of the counts: element (i, j, ...) is the one at the i-th index of the first dimension, the j-th of the
/// second, and so on.
///
/// lists NULL stands for no list. start may be NULL if every dimension has a list; count may be NULL, for the length of
/// each dimension, if none has.
///
/// Every touched chunk is asked for once, as for nczchunk_read_vars.
///
/// Errors found before any callback runs, with data untouched: those of nczchunk_read_vars, NCZCHUNK_EINVAL (count is
/// NULL although a dimension has a list), NCZCHUNK_EINVALCOORDS (an index beyond its dimension), NCZCHUNK_ENOMEM.
/// Errors of a chunk: those of nczchunk_read_vars.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_read_lists(
    var: *const nczchunk_var,
    store: *const nczchunk_chunk_store,
    start: *const usize,
    count: *const usize,
    stride: *const isize,
    lists: *const *const usize,
    data: *mut c_void,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(read(var, store, Chosen::Lists { start, count, stride, lists }, data, context))
}

/// Writes a hyperslab that has a list of indices along some dimensions: the arguments are those of nczchunk_read_lists.
/// data is only read. If a list has an index several times, the element becomes what data has for the last of them.
///
/// Every touched chunk is stored once, and fetched before unless it is covered. Errors found before any callback runs:
/// those of nczchunk_read_lists, then NCZCHUNK_EPERM (the store is read-only). Errors of a chunk: those of
/// nczchunk_write_vars.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_write_lists(
    var: *const nczchunk_var,
    store: *const nczchunk_chunk_store,
    start: *const usize,
    count: *const usize,
    stride: *const isize,
    lists: *const *const usize,
    data: *const c_void,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(write(var, store, Chosen::Lists { start, count, stride, lists }, data, context))
}
