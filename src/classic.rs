//! # Classic files: the offset of a value
//!
//! Compute where a value is in a netCDF classic file (CDF-1, CDF-2, CDF-5). The offset follows from the shape of the
//! value's variable and two numbers of the header: the variable's begin, and the size of a record. Sizes and offsets
//! are in bytes. Only the first length may be 0: then the dimension is the file's record dimension.

use super::prelude::*;
use nczchunk_engine::classic::{self, ClassicVariable};

/// Computes the size of a variable, or of one record of it if it is a record variable.
///
/// dimlens has rank entries. typesize is the size of an element: 1, 2, 4 or 8. size receives the bytes that the values
/// take. padded receives the same number, rounded up to a multiple of 4. Each may be NULL. The header's vsize should be
/// the padded size, but is not in every file: rely on the shape.
///
/// Errors: NCZCHUNK_EINVAL (dimlens is NULL, unless rank is 0; another typesize), NCZCHUNK_EMAXDIMS (rank above
/// NCZCHUNK_MAX_RANK), NCZCHUNK_EDIMSIZE (a length of 0 that is not the first), NCZCHUNK_EVARSIZE (more than 2^63 - 1
/// bytes).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_classic_varsize(
    rank: usize,
    dimlens: *const usize,
    typesize: usize,
    size: *mut u64,
    padded: *mut u64,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        let variable = variable(rank, dimlens, typesize)?;
        for (out, bytes) in [(size, variable.size()), (padded, variable.padded_size())] {
            out.as_mut().into_iter().for_each(|out| *out = bytes);
        }
        Ok(())
    }))
}

/// Computes the size of one record of a file: the distance between a value and the same value in the next record.
///
/// sizes has nvars entries, one for each record variable of the file: the size from nczchunk_classic_varsize, not the
/// padded size. recsize receives the sum of the padded sizes. If there is exactly one record variable, its size is not
/// padded. recsize is 0 if nvars is 0.
///
/// Errors: NCZCHUNK_EINVAL (recsize is NULL; sizes is NULL, unless nvars is 0), NCZCHUNK_EVARSIZE (more than 2^63 - 1
/// bytes).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_classic_recsize(
    nvars: usize,
    sizes: *const u64,
    recsize: *mut u64,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        let (sizes, out) = (required(sizes, nvars, "sizes is NULL")?, handle_mut(recsize, "recsize is NULL")?);
        *out = classic::record_size(sizes)?;
        Ok(())
    }))
}

/// Computes the offset of a value in bytes from the beginning of the file.
///
/// dimlens and typesize are as for nczchunk_classic_varsize. begin is the variable's, from the header. recsize is the
/// result of nczchunk_classic_recsize, and is ignored unless this is a record variable. indices has rank entries: the
/// value's position. For a record variable the first index is the number of the record, which has no upper bound here.
///
/// Errors: NCZCHUNK_EINVALCOORDS (an index beyond its dimension), NCZCHUNK_EINVAL (offset is NULL; indices is NULL,
/// unless rank is 0; recsize below the variable's own size), NCZCHUNK_EVARSIZE (an offset above 2^63 - 1), and those of
/// nczchunk_classic_varsize.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_classic_offset(
    rank: usize,
    dimlens: *const usize,
    typesize: usize,
    begin: u64,
    recsize: u64,
    indices: *const usize,
    offset: *mut u64,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        let variable = variable(rank, dimlens, typesize)?;
        let (indices, out) = (required(indices, rank, "indices is NULL")?, handle_mut(offset, "offset is NULL")?);
        *out = variable.offset(begin, recsize, indices)?;
        Ok(())
    }))
}

/// The variable, after the rank.
///
/// # Safety
/// `dimlens` is NULL or points to `rank` readable lengths.
unsafe fn variable<'a>(rank: usize, dimlens: *const usize, typesize: usize) -> Result<ClassicVariable<'a>> {
    check_rank(rank)?;
    ClassicVariable::new(by_promise!(required(dimlens, rank, "dimlens is NULL"))?, typesize)
}
