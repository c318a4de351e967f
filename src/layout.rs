//! # Other layouts of memory
//!
//! Read into and write from memory in Fortran order, transposed, flipped, or in a part of a larger array, without a
//! copy. nczchunk_read_vars and nczchunk_write_vars need memory that is row-major and without gaps. These functions
//! take any memory in which the distance from one element to the next is constant along each dimension.
//!
//! If elements overlap in memory (a stride of 0), a write uses the same values repeatedly, and a read leaves one of the
//! values there.

use super::plan::{mapped, read_plan, strided, write_plan};
use super::prelude::*;

/// Reads a hyperslab, as nc_get_varm does. It is nczchunk_read_vars, except that along dimension d the elements are
/// imap[d] elements apart in data. data points to the first element; imap may be negative. A NULL imap stands for
/// row-major without gaps. The library trusts that the memory at data is large enough; nczchunk_read_strided checks it.
///
/// Errors: those of nczchunk_read_vars; NCZCHUNK_EINVAL also for an imap that reaches beyond the address space.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_read_varm(
    var: *const nczchunk_var,
    store: *const nczchunk_chunk_store,
    start: *const usize,
    count: *const usize,
    stride: *const isize,
    imap: *const isize,
    data: *mut c_void,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report_transfer(context, move |options, done| {
        let (var, store) = (handle(var, "var is NULL")?, handle(store, "store is NULL")?);
        let plan = mapped(&var.0, start, count, stride, imap, Access::Read)?;
        read_plan(&plan, &store.0, data.cast(), options, done)
    }))
}

/// Writes a hyperslab, as nc_put_varm does. It is nczchunk_write_vars with an imap as for nczchunk_read_varm.
///
/// Errors: those of nczchunk_write_vars; NCZCHUNK_EINVAL also for an imap that reaches beyond the address space.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_write_varm(
    var: *const nczchunk_var,
    store: *const nczchunk_chunk_store,
    start: *const usize,
    count: *const usize,
    stride: *const isize,
    imap: *const isize,
    data: *const c_void,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report_transfer(context, move |options, done| {
        let (var, store) = (handle(var, "var is NULL")?, handle(store, "store is NULL")?);
        let plan = mapped(&var.0, start, count, stride, imap, Access::Write)?;
        write_plan(&plan, &store.0, data.cast(), options, done)
    }))
}

/// Reads a hyperslab into a part of a block of memory, forwards or backwards.
///
/// Along dimension d of the variable the elements are start[d] + k * stride[d], for k from 0 to count[d] - 1. stride
/// may be negative: then start is the last of these elements in the variable. A NULL stride stands for 1 everywhere;
/// count must not be NULL unless the rank is 0. In memory, element k along dimension d is memory_strides[d] * k bytes
/// from the first one. The first one is memory_offset bytes into memory. memory has memory_size bytes, and nothing
/// outside it is touched.
///
/// Errors: those of nczchunk_read_vars, with NCZCHUNK_ESTRIDE for a stride of 0 only, NCZCHUNK_EINVALCOORDS for a start
/// beyond the dimension and NCZCHUNK_EEDGE for a last element beyond either end of the dimension; NCZCHUNK_EINVAL if an
/// element does not lie within memory, or if memory_strides is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_read_strided(
    var: *const nczchunk_var,
    store: *const nczchunk_chunk_store,
    start: *const usize,
    count: *const usize,
    stride: *const isize,
    memory: *mut c_void,
    memory_size: usize,
    memory_offset: usize,
    memory_strides: *const isize,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report_transfer(context, move |options, done| {
        let (var, store) = (handle(var, "var is NULL")?, handle(store, "store is NULL")?);
        let place = (memory_size, memory_offset, memory_strides);
        let plan = strided(&var.0, start, count, stride, place, Access::Read)?;
        read_plan(&plan, &store.0, memory.cast(), options, done)
    }))
}

/// Writes a hyperslab from a part of a block of memory, forwards or backwards, with the arguments of
/// nczchunk_read_strided.
///
/// Errors: those of nczchunk_write_vars and nczchunk_read_strided.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_write_strided(
    var: *const nczchunk_var,
    store: *const nczchunk_chunk_store,
    start: *const usize,
    count: *const usize,
    stride: *const isize,
    memory: *const c_void,
    memory_size: usize,
    memory_offset: usize,
    memory_strides: *const isize,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report_transfer(context, move |options, done| {
        let (var, store) = (handle(var, "var is NULL")?, handle(store, "store is NULL")?);
        let place = (memory_size, memory_offset, memory_strides);
        let plan = strided(&var.0, start, count, stride, place, Access::Write)?;
        write_plan(&plan, &store.0, memory.cast(), options, done)
    }))
}
