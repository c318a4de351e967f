//! # The strided copy
//!
//! Copy a box of elements between two blocks of memory with any strides. All functions above use this copy.

use super::pointers;
use super::prelude::*;
use nczchunk_engine::copy::{Axis, StridedCopy};
use nczchunk_engine::dims;
use nczchunk_engine::variable::check_element_size;

/// Copies a box of elements between two blocks of memory, each with its own strides. All functions above use it to copy
/// elements between chunks and memory.
///
/// Along dimension d there are count[d] elements of element_size bytes. In the source, element k along dimension d is
/// source_strides[d] * k bytes from the first one. The first one is source_offset bytes into source, a block of
/// source_size bytes. The same holds for the destination, which must not overlap the source. Strides may have either
/// sign. If elements overlap in the destination (a stride of 0), one of the values remains there. If both strides of a
/// dimension are 0, its count is taken as 1. The three lists have rank entries. If a count is 0, nothing is copied.
/// word_size is 0 or, to reverse the bytes of each word during the copy, the size of a word: 2, 4 or 8, and a divisor
/// of element_size. Neither block needs an alignment.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument although elements are copied; element_size 0; another word_size; an element
/// that does not lie within its block: then nothing is copied), NCZCHUNK_EMAXDIMS (rank above NCZCHUNK_MAX_RANK),
/// NCZCHUNK_ENOMEM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_copy_strided(
    rank: usize,
    count: *const usize,
    element_size: usize,
    word_size: usize,
    source: *const c_void,
    source_size: usize,
    source_offset: usize,
    source_strides: *const isize,
    destination: *mut c_void,
    destination_size: usize,
    destination_offset: usize,
    destination_strides: *const isize,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        check_rank(rank)?;
        check_element_size(element_size)?;
        let swap = match word_size {
            0 => None,
            2 | 4 | 8 if element_size % word_size == 0 => Some(word_size),
            _ => {
                return Err(
                    ErrorKind::Argument("a word to swap must have 2, 4 or 8 bytes and divide the element").into()
                );
            }
        };
        let count = required(count, rank, "count is NULL")?;
        let (from, to) = (
            required(source_strides, rank, "source_strides is NULL")?,
            required(destination_strides, rank, "destination_strides is NULL")?,
        );
        if count.contains(&0) {
            return Ok(());
        }
        let place = |pointer: *const c_void, size: usize| -> Result<()> {
            if pointer.is_null() || isize::try_from(size).is_err() {
                return Err(ErrorKind::Argument("source or destination is NULL or larger than memory").into());
            }
            Ok(())
        };
        place(source, source_size)?;
        place(destination, destination_size)?;
        let axis = |d: usize| {
            // The same element for the same place is copied once, whatever the count.
            let count = if from[d] == 0 && to[d] == 0 { 1 } else { count[d] };
            Ok(Axis { count, source: from[d], destination: to[d] })
        };
        let axes = dims::try_collect(rank, (0..rank).rev().map(axis))?;
        let copy = StridedCopy::new(element_size, swap, axes.iter().copied())?;
        if !copy.fits((source_offset, source_size), (destination_offset, destination_size)) {
            return Err(ErrorKind::Memory { len: source_size.min(destination_size) }.into());
        }
        let mut out = pointers::destination(destination.cast(), destination_size)?;
        copy.run(pointers::source(source.cast(), source_size)?, source_offset, &mut out, destination_offset)
    }))
}
