//! Lists of the axes of an array.

use crate::alloc;
use crate::error::{ErrorKind, Result};

/// Axes of an array, which `axes` lists for those of something else.
pub(super) fn placed(list: &[usize], axes: &[usize]) -> Result<Vec<usize>> {
    alloc::try_collected(list.iter().map(|&axis| Ok(*axes.get(axis).ok_or(ErrorKind::Internal)?)))
}

/// Lengths along the axes of an array, which `axes` lists for those of something else.
pub(super) fn spread(lens: &[usize], axes: &[usize]) -> Result<Vec<usize>> {
    let mut spread = alloc::copied(lens)?;
    for (&axis, &len) in axes.iter().zip(lens) {
        *spread.get_mut(axis).ok_or(ErrorKind::Internal)? = len;
    }
    Ok(spread)
}

/// An order of axes, `None` if it is row-major.
pub(super) fn order_of(axes: Vec<usize>) -> Option<Vec<usize>> {
    let is_row_major = axes.iter().enumerate().all(|(i, &axis)| i == axis);
    (!is_row_major).then_some(axes)
}

/// The axes `0, 1, .. rank - 1`.
pub(super) fn row_major(rank: usize) -> Result<Vec<usize>> {
    Ok(alloc::collected(0..rank)?)
}
