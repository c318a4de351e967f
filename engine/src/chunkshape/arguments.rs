//! What both rules ask of their arguments.

use crate::dims::check_rank;
use crate::error::{ErrorKind, Result};

/// Checks the arguments.
pub(super) fn check(dimlens: &[usize], typesize: usize, chunklens: &[usize]) -> Result<()> {
    check_rank(dimlens.len())?;
    if typesize == 0 {
        return Err(ErrorKind::Argument("the element size is 0").into());
    }
    if chunklens.len() != dimlens.len() {
        return Err(ErrorKind::Argument("there must be one chunk length for each dimension").into());
    }
    Ok(())
}
