//! A list with one value per dimension: in place up to rank 8, on the heap above. A failed allocation is an error.
#![allow(unsafe_code)]

use smallvec::SmallVec;

use crate::error::{ErrorKind, Result};

/// The largest rank: netCDF's NC_MAX_VAR_DIMS.
pub const MAX_RANK: usize = 1024;

/// Lists for ranks up to this one need no heap.
pub const INLINE_RANK: usize = 8;

/// One value per dimension.
pub type Dims<T> = SmallVec<[T; INLINE_RANK]>;

/// Refuses ranks above netCDF's maximum, for which the caller's lists cannot be trusted to have an entry per dimension.
pub fn check_rank(rank: usize) -> Result<()> {
    if rank > MAX_RANK { Err(ErrorKind::Rank(rank).into()) } else { Ok(()) }
}

/// Empties a list and makes room for one value per dimension. Lists are filled in place, because moving them costs more
/// than a small read does.
#[inline]
pub fn reserve<T>(dims: &mut Dims<T>, rank: usize) -> Result<()> {
    dims.clear();
    // A list always has the room it has in place.
    if rank <= INLINE_RANK {
        return Ok(());
    }
    Ok(dims.try_reserve_exact(rank).map_err(|_| ErrorKind::OutOfMemory)?)
}

/// Adds a value to a list, where it is made: to make it elsewhere and move it takes longer.
#[inline]
pub fn push<T>(dims: &mut Dims<T>, value: impl FnOnce() -> T) -> Result<()> {
    let len = dims.len();
    if len == dims.capacity() {
        dims.try_reserve(1).map_err(|_| ErrorKind::OutOfMemory)?;
    }
    // SAFETY: there is room for another value behind the last; it counts as one once it is written.
    unsafe {
        dims.as_mut_ptr().add(len).write(value());
        dims.set_len(len + 1);
    }
    Ok(())
}

/// Collects one value per dimension, or stops at the first error.
pub fn try_collect<T>(rank: usize, values: impl Iterator<Item = Result<T>>) -> Result<Dims<T>> {
    let mut dims = Dims::new();
    reserve(&mut dims, rank)?;
    for value in values.take(rank) {
        dims.push(value?);
    }
    Ok(dims)
}

/// Collects values that are known to exist.
pub fn copied<T>(values: impl ExactSizeIterator<Item = T>) -> Result<Dims<T>> {
    try_collect(values.len(), values.map(Ok))
}

/// Replaces what a list holds by the same value for each dimension.
#[inline]
pub fn fill<T: Copy>(dims: &mut Dims<T>, rank: usize, value: T) -> Result<()> {
    // A list always has the room it has in place; filling half or all of that, numbers that the compiler knows, is
    // quickest.
    const HALF: usize = INLINE_RANK / 2;
    if rank > INLINE_RANK {
        reserve(dims, rank)?;
    }
    let values = dims.as_mut_ptr();
    // SAFETY: a list's capacity is never below `INLINE_RANK`, and `reserve` has made it at least `rank`.
    let write = |d| unsafe { values.add(d).write(value) };
    if rank <= HALF {
        (0..HALF).for_each(write);
    } else if rank <= INLINE_RANK {
        (0..INLINE_RANK).for_each(write);
    } else {
        (0..rank).for_each(write);
    }
    // SAFETY: so many values have been written, or more.
    unsafe { dims.set_len(rank) };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dimension_gets_the_value() {
        for rank in [0, 1, INLINE_RANK - 1, INLINE_RANK, INLINE_RANK + 1, 40] {
            let mut dims: Dims<u64> = (0..3).collect();
            fill(&mut dims, rank, 7).unwrap();
            assert_eq!(dims.as_slice(), vec![7; rank]);
        }
    }

    #[test]
    fn values_are_added_in_place_and_beyond() {
        let mut dims = Dims::new();
        for d in 0..=2 * INLINE_RANK {
            push(&mut dims, || Box::new(d)).unwrap();
        }
        assert!(dims.into_iter().map(|d| *d).eq(0..=2 * INLINE_RANK));
    }

    #[test]
    fn what_is_collected_ends_at_the_rank_or_the_first_error() {
        let values =
            |limit: usize| (0..).map(move |d| if d < limit { Ok(d) } else { check_rank(MAX_RANK + d).map(|()| d) });
        assert_eq!(try_collect(3, values(3)).unwrap().as_slice(), [0, 1, 2]);
        assert_eq!(try_collect(3, values(2)).unwrap_err().kind(), ErrorKind::Rank(MAX_RANK + 2));
        assert_eq!(copied([4, 5].into_iter()).unwrap().as_slice(), [4, 5]);
        assert_eq!(check_rank(MAX_RANK), Ok(()));
    }
}
