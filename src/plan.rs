//! # Plans: transfers that are inspected, divided, and executed again
//!
//! Make a plan to learn what a read or write will do before it does it. A plan reports how many chunks it touches,
//! which chunks, how much of each, how many bytes it delivers, and the most bytes that it asks for. Its memory depends
//! on the rank, not on the number of chunks (up to 64 chunks are prepared for fast execution). It finds any chunk in
//! constant time. Every read and write above makes a plan and executes it. You can execute a plan of your own any
//! number of times, as a whole or in parts, in several threads at once:
//!
//! ```c
//! nczchunk_plan_new(var, start, count, stride, NCZCHUNK_READ, &plan, NULL);
//! for (;;) {
//!     nczchunk_plan_read(plan, store, 0, NCZCHUNK_ALL, data, NULL);        the same hyperslab, as often as needed
//!     ...
//! }
//! ```
//!
//! For a variable with a write grid, a plan for writing uses the chunks of that grid.

use super::growing::{check_element_size, write_element};
use super::prelude::*;
use nczchunk_engine::copy::{Destination, Source};
use nczchunk_engine::dims::{self, Dims};
use nczchunk_engine::plan::Plan;
use nczchunk_engine::projection::Projection;
use nczchunk_engine::store::ChunkStore;
use nczchunk_engine::transfer::{self, Options, Prepared, Transfer};
use nczchunk_engine::variable::Variable;

/// A plan for reading.
pub const NCZCHUNK_READ: c_int = 0;
/// A plan for writing. If any count is 0, the far end of no dimension is checked.
pub const NCZCHUNK_WRITE: c_int = 1;

/// The totals of a plan. Set struct_size before a call fills it in.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nczchunk_totals {
    /// sizeof(nczchunk_totals).
    pub struct_size: usize,
    /// Chunks touched.
    pub chunks: usize,
    /// Touched chunks that are covered: a write replaces every element inside the dimensions and needs no read.
    pub covered_chunks: usize,
    /// Elements selected.
    pub elements: usize,
    /// Bytes selected: the bytes that a read delivers.
    pub selected_bytes: usize,
    /// Bytes of the touched chunks at full size: before encoding, and as if no chunk were missing. SIZE_MAX if there
    /// are more.
    pub chunk_bytes: usize,
    /// Chunks of the whole variable, touched or not, stored or missing. SIZE_MAX if there are more.
    pub grid_chunks: usize,
}
growing!(nczchunk_totals, grid_chunks: usize);

/// Makes a plan for a hyperslab, with the arguments of nczchunk_read_vars and nczchunk_write_vars. access is
/// NCZCHUNK_READ or NCZCHUNK_WRITE. Free the plan with nczchunk_plan_free.
///
/// Errors: those that these functions find before any callback runs, except those of data and store; NCZCHUNK_EINVAL
/// (plan is NULL; an unknown access), NCZCHUNK_ENOMEM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_plan_new(
    var: *const nczchunk_var,
    start: *const usize,
    count: *const usize,
    stride: *const isize,
    access: c_int,
    plan: *mut *mut nczchunk_plan,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(nczchunk_plan_new_varm(var, start, count, stride, std::ptr::null(), access, plan, context))
}

/// Makes a plan for a hyperslab in memory with an imap, with the arguments of nczchunk_read_varm and
/// nczchunk_write_varm.
///
/// Errors: those of nczchunk_plan_new; NCZCHUNK_EINVAL also for an imap that reaches beyond the address space.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_plan_new_varm(
    var: *const nczchunk_var,
    start: *const usize,
    count: *const usize,
    stride: *const isize,
    imap: *const isize,
    access: c_int,
    plan: *mut *mut nczchunk_plan,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report_computed(context, || hand_over(plan, || {
        let var = handle(var, "var is NULL")?;
        let plan = mapped(&var.0, start, count, stride, imap, self::access(access)?)?;
        Ok(nczchunk_plan(Prepared::new(plan)?))
    })))
}

/// Makes a plan for a hyperslab in a part of a block of memory, forwards or backwards, with the arguments of
/// nczchunk_read_strided and nczchunk_write_strided.
///
/// Errors: those that these functions find before any callback runs, except those of memory and store; NCZCHUNK_EINVAL
/// (plan is NULL; an unknown access), NCZCHUNK_ENOMEM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_plan_new_strided(
    var: *const nczchunk_var,
    start: *const usize,
    count: *const usize,
    stride: *const isize,
    memory_size: usize,
    memory_offset: usize,
    memory_strides: *const isize,
    access: c_int,
    plan: *mut *mut nczchunk_plan,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report_computed(context, || hand_over(plan, || {
        let var = handle(var, "var is NULL")?;
        let place = (memory_size, memory_offset, memory_strides);
        let plan = strided(&var.0, start, count, stride, place, self::access(access)?)?;
        Ok(nczchunk_plan(Prepared::new(plan)?))
    })))
}

/// Frees a plan. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_plan_free(plan: *mut nczchunk_plan) {
    by_promise!(take_back(plan))
}

/// Returns the totals of a plan.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument; the struct_size of totals is not set).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_plan_totals(
    plan: *const nczchunk_plan,
    totals: *mut nczchunk_totals,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report_computed(context, || {
        let plan = &handle(plan, "plan is NULL")?.0;
        let found = nczchunk_totals {
            struct_size: 0,
            chunks: plan.num_chunks(),
            covered_chunks: plan.num_covered(),
            elements: plan.num_elements(),
            selected_bytes: plan.selected_bytes(),
            chunk_bytes: plan.chunk_bytes(),
            grid_chunks: plan.grid_chunks(),
        };
        write_growing(totals, found)
    }))
}

/// Returns the i-th chunk of a plan, counted from 0 in row-major order of chunk indices, which is the order of reading.
///
/// projections has room for one entry per dimension. Each entry has projection_size bytes: sizeof(nczchunk_projection).
/// For each dimension, the entry receives the chunk's index, the elements selected in the chunk (first, last, iocount:
/// a box with stride) and their position in memory (iopos, iocount: a box without gaps). covered (NULL: not wanted)
/// receives 1 if every element of the chunk inside the dimensions is selected, else 0.
///
/// Errors: NCZCHUNK_EINVAL (plan is NULL; projections is NULL and the rank is not 0; a smaller projection_size),
/// NCZCHUNK_EINVALCOORDS (i is beyond the last chunk), NCZCHUNK_ENOMEM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_plan_chunk(
    plan: *const nczchunk_plan,
    i: usize,
    projections: *mut Projection,
    projection_size: usize,
    covered: *mut c_int,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report_computed(context, || {
        let plan = &handle(plan, "plan is NULL")?.0;
        let rank = plan.rank();
        if rank > 0 && projections.is_null() {
            return Err(ErrorKind::Argument("projections is NULL").into());
        }
        check_element_size::<Projection>(projection_size)?;
        let mut found: Dims<Projection> = Dims::new();
        dims::fill(&mut found, rank, Projection::default())?;
        plan.chunk(i, &mut found)?;
        for (d, &projection) in found.iter().enumerate() {
            // SAFETY: there is room for one entry of projection_size bytes per dimension, as documented.
            unsafe { write_element(projections, d, projection_size, projection) };
        }
        if let Some(covered) = covered.as_mut() {
            *covered = plan.covers(&found).into();
        }
        Ok(())
    }))
}

/// Checks whether writes by two plans for the same variable would touch a chunk in common. shared receives 1 if so,
/// else 0. Writes may run at the same time if their plans share no chunk. For a variable with a write grid, the chunks
/// are those of that grid. The check takes about the same time for any number of chunks; where chunks have a list of
/// lengths (nczchunk_var_set_chunk_lengths), for any number of those that are alike and side by side. If both plans
/// have strides, it takes up to one step for each element that one plan has along a dimension, or two for each element
/// of a chunk, whichever is less.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument; plans for different ranks, chunk lengths or origins), NCZCHUNK_ENOMEM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_plan_shares_chunks(
    plan: *const nczchunk_plan,
    other: *const nczchunk_plan,
    shared: *mut c_int,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report_computed(context, || {
        let (plan, other) = (handle(plan, "plan is NULL")?, handle(other, "other is NULL")?);
        *handle_mut(shared, "shared is NULL")? = plan.0.shares_chunks(&other.0)?.into();
        Ok(())
    }))
}

/// Finds the i-th chunk of a plan in another plan for the same variable: other_i receives its number there, for
/// nczchunk_plan_chunk and the like, or SIZE_MAX if the other plan does not touch that chunk. Where several processes
/// have a plan each, this tells what one has that another needs. It takes about the same time for any number of chunks.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument; plans for different ranks, chunk lengths or origins),
/// NCZCHUNK_EINVALCOORDS (i is beyond the last chunk), NCZCHUNK_ENOMEM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_plan_intersect(
    plan: *const nczchunk_plan,
    i: usize,
    other: *const nczchunk_plan,
    other_i: *mut usize,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report_computed(context, || {
        let (plan, other) = (handle(plan, "plan is NULL")?, handle(other, "other is NULL")?);
        *handle_mut(other_i, "other_i is NULL")? = plan.0.intersect(i, &other.0)?.unwrap_or(usize::MAX);
        Ok(())
    }))
}

/// Tells which of several plans for the same variable owns the i-th chunk of the one with number plan: owner receives
/// the owner's number, counted from 0. If each process knows the plans of all, each applies the same rule and none has
/// to ask: the owner fetches and decodes the chunk, and sends the others what they need of it. nczchunk_mpi does so.
///
/// The owner is one of the plans that need most of the chunk: that select at least half as many of its elements as the
/// plan that selects the most. Chunks that several plans need so are divided among them in equal parts, of chunks that
/// lie side by side where that is possible. The order of the plans counts, so it must be the same everywhere.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument, or a NULL in plans; plans for different ranks, chunk lengths or origins),
/// NCZCHUNK_EINVALCOORDS (plan is not below num_plans; i is beyond its last chunk), NCZCHUNK_ENOMEM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_plan_owner(
    plans: *const *const nczchunk_plan,
    num_plans: usize,
    plan: usize,
    i: usize,
    owner: *mut usize,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report_computed(context, || {
        let (plans, owner) = (required(plans, num_plans, "plans is NULL")?, handle_mut(owner, "owner is NULL")?);
        if plans.iter().any(|plan| plan.is_null()) {
            return Err(ErrorKind::Argument("a plan is NULL").into());
        }
        // SAFETY: none is NULL, so all are alive.
        let all = plans.iter().map(|&plan| -> &Plan<'_> { unsafe { &(*plan).0 } });
        let asked = all.clone().nth(plan).ok_or(ErrorKind::Index { index: plan, len: num_plans })?;
        *owner = nczchunk_engine::owner::owner_of(all, asked, i)?;
        Ok(())
    }))
}

/// Returns one of num_parts parts of a plan, counted from 0, for as many threads or processes: num_chunks chunks from
/// number first_chunk on. The parts differ by at most one chunk in length, and together they are the whole plan. If
/// there are more parts than chunks, some are empty. Parts of a plan for writing touch different chunks (of the write
/// grid, if there is one), so they can be executed at the same time.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument; num_parts is 0), NCZCHUNK_EINVALCOORDS (part is not below num_parts).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_plan_part(
    plan: *const nczchunk_plan,
    part: usize,
    num_parts: usize,
    first_chunk: *mut usize,
    num_chunks: *mut usize,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report_computed(context, || {
        let chunks = handle(plan, "plan is NULL")?.0.part(part, num_parts)?;
        if first_chunk.is_null() || num_chunks.is_null() {
            return Err(ErrorKind::Argument("first_chunk or num_chunks is NULL").into());
        }
        first_chunk.write(chunks.start);
        num_chunks.write(chunks.len());
        Ok(())
    }))
}

/// As a number of chunks: all of the plan's that follow the first one.
pub const NCZCHUNK_ALL: usize = usize::MAX;

/// Executes a plan for reading, or a part of it: reads num_chunks of its chunks from number first_chunk on.
///
/// data depends on the function that made the plan. It points to room for the selected elements without gaps; with an
/// imap to the first element; for nczchunk_plan_new_strided to the beginning of the block of memory. It is the same for
/// every part, and only the elements of the part's chunks are written to. Several threads may execute different parts
/// at the same time with the same data, each with its own context, if several threads may use the store.
///
/// Errors: NCZCHUNK_EINVAL (plan or store is NULL; the plan is for writing; data is NULL although elements are
/// selected), NCZCHUNK_EINVALCOORDS (first_chunk is above the number of chunks), NCZCHUNK_EEDGE (first_chunk +
/// num_chunks is above the number of chunks, and num_chunks is not NCZCHUNK_ALL); errors of a chunk as for
/// nczchunk_read_vars.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_plan_read(
    plan: *const nczchunk_plan,
    store: *const nczchunk_chunk_store,
    first_chunk: usize,
    num_chunks: usize,
    data: *mut c_void,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report_transfer(context, move |options, done| {
        let (plan, store) = (&handle(plan, "plan is NULL")?.0, handle(store, "store is NULL")?);
        let chunks = plan.chunk_range(first_chunk, num_chunks)?;
        let out = memory_to_fill(plan, data.cast())?;
        transfer::read_prepared((plan, &store.0), chunks, out, options, done)
    }))
}

/// Executes a plan for writing, or a part of it, as nczchunk_plan_read does for reading. data is only read.
///
/// Errors: NCZCHUNK_EINVAL (plan or store is NULL; the plan is for reading; data is NULL although elements are
/// selected), NCZCHUNK_EINVALCOORDS and NCZCHUNK_EEDGE as for nczchunk_plan_read; NCZCHUNK_EPERM and errors of a chunk
/// as for nczchunk_write_vars.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_plan_write(
    plan: *const nczchunk_plan,
    store: *const nczchunk_chunk_store,
    first_chunk: usize,
    num_chunks: usize,
    data: *const c_void,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report_transfer(context, move |options, done| {
        let (plan, store) = (&handle(plan, "plan is NULL")?.0, handle(store, "store is NULL")?);
        let chunks = plan.chunk_range(first_chunk, num_chunks)?;
        let data = memory_to_take(plan, data.cast())?;
        Transfer::new(plan, Some(plan), &store.0, chunks, options)?.write(data, done)
    }))
}

/// Copies the elements of the plan's i-th chunk between data and the chunk, which is the caller's: from the chunk if
/// the plan is for reading, to the chunk if it is for writing. No store is needed. chunk has nbytes bytes, the length
/// of that chunk, decoded and in stored byte order. Elements that are not selected are not touched. data is as for
/// nczchunk_plan_read.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument), NCZCHUNK_EINVALCOORDS (i is beyond the last chunk), NCZCHUNK_EBADCHUNK
/// (nbytes is another number), the status that the variable's copier returned, NCZCHUNK_ENOMEM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_plan_copy_chunk(
    plan: *const nczchunk_plan,
    i: usize,
    chunk: *mut c_void,
    nbytes: usize,
    data: *mut c_void,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report_transfer(context, |_, done| {
        let plan = &handle(plan, "plan is NULL")?.0;
        let (chunk, data, largest) = (chunk.cast::<u8>(), data.cast(), plan.grid().chunk_bytes());
        if chunk.is_null() {
            return Err(ErrorKind::Argument("chunk is NULL").into());
        }
        // No slice is made of a length that no chunk has.
        if nbytes > largest {
            return Err(ErrorKind::StoredLength { found: nbytes, expected: largest }.into());
        }
        match plan.access() {
            Access::Read => {
                let chunk = required(chunk, nbytes, "chunk is NULL")?;
                plan.copy_from_chunk(i, chunk, memory_to_fill(plan, data)?)?;
            }
            Access::Write => plan.copy_to_chunk(i, memory_to_take(plan, data)?, destination(chunk, nbytes)?)?,
        }
        *done = 1;
        Ok(())
    }))
}

fn access(access: c_int) -> Result<Access> {
    match access {
        NCZCHUNK_READ => Ok(Access::Read),
        NCZCHUNK_WRITE => Ok(Access::Write),
        _ => Err(ErrorKind::Argument("access must be NCZCHUNK_READ or NCZCHUNK_WRITE").into()),
    }
}

/// The plan for a request with an imap.
///
/// # Safety
/// The lists are NULL or have one entry per dimension.
pub(super) unsafe fn mapped<'v>(
    variable: &'v Variable,
    start: *const usize,
    count: *const usize,
    stride: *const isize,
    imap: *const isize,
    access: Access,
) -> Result<Plan<'v>> {
    let (slab, imap) = by_promise!((hyperslab(variable, start, count, stride)?, optional(imap, variable.rank())));
    let plan = Plan::new(variable, &slab, access)?;
    match imap {
        Some(imap) if !imap.is_empty() => plan.with_imap(imap),
        _ => Ok(plan),
    }
}

/// The plan for a request whose strides may be negative, in memory of a size, with the first element at an offset, and
/// with strides, all in bytes.
///
/// # Safety
/// The lists are NULL or have one entry per dimension.
pub(super) unsafe fn strided<'v>(
    variable: &'v Variable,
    start: *const usize,
    count: *const usize,
    stride: *const isize,
    (memory_size, memory_offset, memory_strides): (usize, usize, *const isize),
    access: Access,
) -> Result<Plan<'v>> {
    let rank = variable.rank();
    by_promise!({
        required(count, rank, "count is NULL")?;
        let memory_strides = required(memory_strides, rank, "memory_strides is NULL")?;
        let slab = hyperslab(variable, start, count, stride)?.both_ways();
        Plan::new(variable, &slab, access)?.with_memory(memory_strides, memory_offset, memory_size)
    })
}

/// The beginning of the plan's memory, if the caller's pointer points to it.
///
/// # Errors
/// `Argument` for NULL, though something is selected.
#[inline]
fn beginning(plan: &Plan<'_>, data: *const u8) -> Result<*const u8> {
    if plan.num_elements() == 0 {
        return Ok(std::ptr::dangling());
    }
    if data.is_null() {
        return Err(ErrorKind::Argument("data is NULL").into());
    }
    Ok(data.wrapping_sub(plan.layout().pointer()))
}

/// The plan's memory, to be read into.
///
/// # Safety
/// `data` is NULL or points to the memory that the plan is for, of which nobody else uses the plan's elements
/// meanwhile.
#[inline]
unsafe fn memory_to_fill<'a>(plan: &Plan<'_>, data: *mut u8) -> Result<Destination<'a>> {
    let begin = beginning(plan, data)?.cast_mut();
    // SAFETY: from its beginning the memory has as many bytes as the plan says, by the caller's promise.
    Ok(unsafe { Destination::from_raw(begin, plan.memory_bytes()) })
}

/// The plan's memory, to be written from.
///
/// # Safety
/// `data` is NULL or points to the memory that the plan is for, which nobody changes meanwhile.
#[inline]
unsafe fn memory_to_take<'a>(plan: &Plan<'_>, data: *const u8) -> Result<Source<'a>> {
    let begin = beginning(plan, data)?;
    // SAFETY: from its beginning the memory has as many bytes as the plan says, by the caller's promise.
    Ok(unsafe { Source::from_raw(begin, plan.memory_bytes()) })
}

/// Executes a plan for reading.
///
/// # Safety
/// `data` is NULL or points to the memory that the plan is for, of which nobody else uses the plan's elements
/// meanwhile.
pub(super) unsafe fn read_plan(
    plan: &Plan<'_>,
    store: &ChunkStore<'_>,
    data: *mut u8,
    options: &Options<'_>,
    done: &mut usize,
) -> Result<()> {
    let out = by_promise!(memory_to_fill(plan, data))?;
    Transfer::new(plan, None, store, 0..plan.num_chunks(), options)?.read(out, done)
}

/// Executes a plan for writing.
///
/// # Safety
/// `data` is NULL or points to the memory that the plan is for, which nobody changes meanwhile.
pub(super) unsafe fn write_plan(
    plan: &Plan<'_>,
    store: &ChunkStore<'_>,
    data: *const u8,
    options: &Options<'_>,
    done: &mut usize,
) -> Result<()> {
    let data = by_promise!(memory_to_take(plan, data))?;
    Transfer::new(plan, None, store, 0..plan.num_chunks(), options)?.write(data, done)
}
