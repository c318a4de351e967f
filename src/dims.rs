//! A list with one value per dimension: held in place up to rank 8, on the heap above, never aborting for want of memory.
#![allow(unsafe_code)]

use smallvec::SmallVec;

use crate::MAX_RANK;
use crate::error::{ErrorKind, Result};

/// Ranks up to this one need no heap.
pub const INLINE_RANK: usize = 8;

/// One value per dimension.
pub type Dims<T> = SmallVec<[T; INLINE_RANK]>;

/// Refuses a rank that no variable has, and no array of a caller's can be trusted to have.
pub(crate) fn check_rank(rank: usize) -> Result<()> {
    if rank > MAX_RANK { Err(ErrorKind::Rank(rank).into()) } else { Ok(()) }
}

/// Makes room for one value per dimension in a list that is to be filled anew. Lists are filled where they are, because
/// moving them costs more than a small read does.
pub(crate) fn reserve<T>(dims: &mut Dims<T>, rank: usize) -> Result<()> {
    dims.clear();
    Ok(dims.try_reserve_exact(rank).map_err(|_| ErrorKind::OutOfMemory)?)
}

/// Collects one value per dimension, or stops at the first error.
pub(crate) fn try_collect<T>(rank: usize, values: impl Iterator<Item = Result<T>>) -> Result<Dims<T>> {
    let mut dims = Dims::new();
    reserve(&mut dims, rank)?;
    for value in values.take(rank) {
        dims.push(value?);
    }
    Ok(dims)
}

/// Fills a list anew with the same value for each dimension.
#[inline]
pub(crate) fn fill<T: Copy>(dims: &mut Dims<T>, rank: usize, value: T) -> Result<()> {
    if rank <= INLINE_RANK {
        let values = dims.as_mut_ptr();
        // All there is room for in any list: quicker than counting.
        for d in 0..INLINE_RANK {
            // SAFETY: no list has less room.
            unsafe { values.add(d).write(value) };
        }
    } else {
        reserve(dims, rank)?;
        let values = dims.as_mut_ptr();
        for d in 0..rank {
            // SAFETY: there is room for `rank` values.
            unsafe { values.add(d).write(value) };
        }
    }
    // SAFETY: they have been written.
    unsafe { dims.set_len(rank) };
    Ok(())
}

/// The same for values that are there.
pub(crate) fn copied<T>(values: impl ExactSizeIterator<Item = T>) -> Result<Dims<T>> {
    try_collect(values.len(), values.map(Ok))
}
