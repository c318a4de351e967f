//! A list with one value per dimension: held in place up to rank 8, on the heap above, never aborting for want of memory.

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

/// Collects one value per dimension, or stops at the first error.
pub(crate) fn try_collect<T>(rank: usize, values: impl Iterator<Item = Result<T>>) -> Result<Dims<T>> {
    let mut dims = Dims::new();
    dims.try_reserve_exact(rank).map_err(|_| ErrorKind::OutOfMemory)?;
    for value in values.take(rank) {
        dims.push(value?);
    }
    Ok(dims)
}

/// A list of `rank` equal values.
pub(crate) fn filled<T: Copy>(rank: usize, value: T) -> Result<Dims<T>> {
    try_collect(rank, std::iter::repeat_n(value, rank).map(Ok))
}

/// A copy of a slice.
pub(crate) fn copied<T: Copy>(values: &[T]) -> Result<Dims<T>> {
    try_collect(values.len(), values.iter().copied().map(Ok))
}
