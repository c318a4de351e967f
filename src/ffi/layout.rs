//! # Other layouts of memory
//!
//! The functions above take memory that is row-major and without gaps. These take any memory in which the step from an
//! element to the next is the same all along a dimension: Fortran order, a transpose, a part of a larger array, an array
//! that is to be flipped. No copy is made.
//!
//! Where elements overlap in memory (a step of 0), a write takes the same values again and again; what a read leaves there
//! is one of the values.

use std::ffi::{c_int, c_void};

use super::context::{nczchunk_context, report_chunks};
use super::plan::hyperslab;
use super::read::destination;
use super::store::nczchunk_store;
use super::var::nczchunk_var;
use super::write::source;
use super::{handle, optional, required};
use crate::dims;
use crate::error::{ErrorKind, Result};
use crate::hyperslab::{Access, Hyperslab};
use crate::plan::Plan;
use crate::transfer::{Layout, Transfer};
use crate::variable::Variable;

/// Reads a hyperslab as nc_get_varm does: as nczchunk_read_vars, but along dimension d the elements are imap[d] elements
/// apart in data, which points to the first one; imap may be negative. imap NULL is row-major without gaps. What data points
/// to is trusted to be large enough: nczchunk_read_strided checks.
///
/// Errors: those of nczchunk_read_vars; NCZCHUNK_EINVAL also for steps that reach beyond the address space.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_read_varm(
    var: *const nczchunk_var,
    store: *const nczchunk_store,
    start: *const usize,
    count: *const usize,
    stride: *const isize,
    imap: *const isize,
    data: *mut c_void,
    context: *mut nczchunk_context,
) -> c_int {
    let read = |threads, done: &mut usize| {
        // SAFETY: the header's general promise.
        let (var, store) = unsafe { (handle(var, "var is NULL")?, handle(store, "store is NULL")?) };
        // SAFETY: the four are NULL or have an entry per dimension, as documented.
        let (plan, layout) = unsafe { mapped(&var.0, start, count, stride, imap, Access::Read) }?;
        let memory = data.cast::<u8>();
        // SAFETY: data is NULL or the map leads to room for what is selected, as documented.
        let out = unsafe { destination(beginning(memory, &layout), layout.len()) }?;
        Transfer { variable: &var.0, plan: &plan, layout: &layout, store: &store.0, threads }.read(out, done)
    };
    // SAFETY: the header's general promise.
    unsafe { report_chunks(context, read) }
}

/// Writes a hyperslab as nc_put_varm does: as nczchunk_write_vars, with imap as for nczchunk_read_varm.
///
/// Errors: those of nczchunk_write_vars; NCZCHUNK_EINVAL also for steps that reach beyond the address space.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_write_varm(
    var: *const nczchunk_var,
    store: *const nczchunk_store,
    start: *const usize,
    count: *const usize,
    stride: *const isize,
    imap: *const isize,
    data: *const c_void,
    context: *mut nczchunk_context,
) -> c_int {
    let write = |threads, done: &mut usize| {
        // SAFETY: the header's general promise.
        let (var, store) = unsafe { (handle(var, "var is NULL")?, handle(store, "store is NULL")?) };
        // SAFETY: the four are NULL or have an entry per dimension, as documented.
        let (plan, layout) = unsafe { mapped(&var.0, start, count, stride, imap, Access::Write) }?;
        let memory = data.cast::<u8>().cast_mut();
        // SAFETY: data is NULL or the map leads to what is selected, as documented.
        let data = unsafe { source(beginning(memory, &layout), layout.len()) }?;
        Transfer { variable: &var.0, plan: &plan, layout: &layout, store: &store.0, threads }.write(data, done)
    };
    // SAFETY: the header's general promise.
    unsafe { report_chunks(context, write) }
}

/// Reads a hyperslab into a part of a block of memory, forwards or backwards.
///
/// Along dimension d of the variable the elements are start[d] + k * step[d], for k from 0 to count[d] - 1. step may be
/// negative: then start is the last of them in the variable. step NULL is 1 everywhere; count is not NULL unless the rank
/// is 0. In memory, element k along dimension d is memory_strides[d] * k bytes from the first one, which is memory_offset
/// bytes into memory. memory has memory_size bytes, and nothing outside of it is touched.
///
/// Errors: those of nczchunk_read_vars, with NCZCHUNK_ESTRIDE for a step of 0 only, NCZCHUNK_EINVALCOORDS for a start beyond
/// the dimension and NCZCHUNK_EEDGE for a last element beyond either of its ends; NCZCHUNK_EINVAL if an element does not lie
/// within memory, or if memory_strides is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_read_strided(
    var: *const nczchunk_var,
    store: *const nczchunk_store,
    start: *const usize,
    count: *const usize,
    step: *const isize,
    memory: *mut c_void,
    memory_size: usize,
    memory_offset: usize,
    memory_strides: *const isize,
    context: *mut nczchunk_context,
) -> c_int {
    let read = |threads, done: &mut usize| {
        // SAFETY: the header's general promise.
        let (var, store) = unsafe { (handle(var, "var is NULL")?, handle(store, "store is NULL")?) };
        // SAFETY: the lists are NULL or have an entry per dimension, as documented.
        let request = unsafe { Request::new(&var.0, start, count, step, memory_strides) }?;
        let (plan, layout) = request.plan(&var.0, memory_size, memory_offset, Access::Read)?;
        let memory = if plan.num_elements() > 0 { memory.cast() } else { std::ptr::dangling_mut() };
        // SAFETY: memory is NULL or has memory_size bytes, as documented.
        let out = unsafe { destination(memory, layout.len()) }?;
        Transfer { variable: &var.0, plan: &plan, layout: &layout, store: &store.0, threads }.read(out, done)
    };
    // SAFETY: the header's general promise.
    unsafe { report_chunks(context, read) }
}

/// Writes a hyperslab from a part of a block of memory, forwards or backwards, with the arguments of nczchunk_read_strided.
///
/// Errors: those of nczchunk_write_vars and nczchunk_read_strided.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_write_strided(
    var: *const nczchunk_var,
    store: *const nczchunk_store,
    start: *const usize,
    count: *const usize,
    step: *const isize,
    memory: *const c_void,
    memory_size: usize,
    memory_offset: usize,
    memory_strides: *const isize,
    context: *mut nczchunk_context,
) -> c_int {
    let write = |threads, done: &mut usize| {
        // SAFETY: the header's general promise.
        let (var, store) = unsafe { (handle(var, "var is NULL")?, handle(store, "store is NULL")?) };
        // SAFETY: the lists are NULL or have an entry per dimension, as documented.
        let request = unsafe { Request::new(&var.0, start, count, step, memory_strides) }?;
        let (plan, layout) = request.plan(&var.0, memory_size, memory_offset, Access::Write)?;
        let memory = if plan.num_elements() > 0 { memory.cast() } else { std::ptr::dangling() };
        // SAFETY: memory is NULL or has memory_size bytes, as documented.
        let data = unsafe { source(memory, layout.len()) }?;
        Transfer { variable: &var.0, plan: &plan, layout: &layout, store: &store.0, threads }.write(data, done)
    };
    // SAFETY: the header's general promise.
    unsafe { report_chunks(context, write) }
}

/// The plan and the layout for a request with an imap, which is in elements.
///
/// # Safety
/// The lists are NULL or have one entry per dimension.
unsafe fn mapped(
    variable: &Variable,
    start: *const usize,
    count: *const usize,
    stride: *const isize,
    imap: *const isize,
    access: Access,
) -> Result<(Plan, Layout)> {
    // SAFETY: the caller's promise.
    let plan = Plan::new(variable, &unsafe { hyperslab(variable, start, count, stride) }, access)?;
    // SAFETY: the caller's promise.
    let Some(imap) = (unsafe { optional(imap, variable.rank()) }) else {
        let layout = Layout::dense(&plan)?;
        return Ok((plan, layout));
    };
    let size = variable.element_size() as isize;
    let refused = ErrorKind::Argument("imap reaches beyond the address space");
    let counts = plan.dimensions().iter().map(|dimension| dimension.slice().count());
    // Where there is no next element it does not matter how far it is.
    let strides = imap.iter().zip(counts).map(|(&step, count)| {
        if plan.num_elements() == 0 || count == 1 { Ok(0) } else { step.checked_mul(size).ok_or(refused.into()) }
    });
    let layout = Layout::reaching(&plan, &dims::try_collect(imap.len(), strides)?)?;
    Ok((plan, layout))
}

/// Where the layout's memory begins, if its first element is where `data` points to.
fn beginning(data: *mut u8, layout: &Layout) -> *mut u8 {
    if data.is_null() { data } else { data.wrapping_sub(layout.first()) }
}

/// A request whose steps may be negative.
struct Request<'a> {
    start: Option<&'a [usize]>,
    count: &'a [usize],
    step: Option<&'a [isize]>,
    memory_strides: &'a [isize],
}

impl<'a> Request<'a> {
    /// # Safety
    /// The lists are NULL or have one entry per dimension.
    unsafe fn new(
        variable: &Variable,
        start: *const usize,
        count: *const usize,
        step: *const isize,
        memory_strides: *const isize,
    ) -> Result<Self> {
        let rank = variable.rank();
        // SAFETY: the caller's promise.
        unsafe {
            Ok(Request {
                start: optional(start, rank),
                count: required(count, rank, "count is NULL")?,
                step: optional(step, rank),
                memory_strides: required(memory_strides, rank, "memory_strides is NULL")?,
            })
        }
    }

    /// The plan, and the layout of its elements in memory.
    fn plan(&self, variable: &Variable, size: usize, offset: usize, access: Access) -> Result<(Plan, Layout)> {
        let slab = Hyperslab { start: self.start, count: Some(self.count), stride: self.step, both_ways: true };
        let plan = Plan::new(variable, &slab, access)?;
        let layout = Layout::strided(&plan, self.memory_strides, offset, size)?;
        Ok((plan, layout))
    }
}
