//! That the new array and the source are apart: neither is within the other.

use std::path::Path;

use super::shown;
use crate::array::{Array, is_url};
use crate::error::{Error, ErrorKind, Result};
use crate::object::{Directory, Storage};

pub(super) const WITHIN: &str = "the new array would be the source, or within it; choose another path or name for it";
pub(super) const AROUND: &str = "the source is within what would be the new array; choose another path or name for it";

/// Refuses a path to the source or below it before anything is created there.
pub(super) fn check_path(source: &Array, path: &Path) -> Result<()> {
    let (from, from_name) = source.place();
    if is_url(path) || from.file_name().is_some() || from.joined().is_some() {
        return Ok(());
    }
    let path = std::path::absolute(path)?;
    let Some(there) = path.ancestors().find(|above| above.is_dir()) else { return Ok(()) };
    let Ok(there) = Directory::open(there) else { return Ok(()) };
    match is_at_or_below(&Storage::new(there)?, "", from, from_name) {
        true => Err(Error::from(ErrorKind::Argument(WITHIN)).in_object(path.display())),
        false => Ok(()),
    }
}

/// Refuses a new array at the source, below it or around it: each could take the other's objects for its own.
pub(super) fn check_apart(source: &Array, storage: &Storage, name: &str) -> Result<()> {
    let (from, from_name) = source.place();
    if from.file_name().is_some() || from.joined().is_some() {
        return Ok(());
    }
    let words = match () {
        () if is_at_or_below(storage, name, from, from_name) => WITHIN,
        () if is_at_or_below(from, from_name, storage, name) => AROUND,
        () => return Ok(()),
    };
    Err(Error::from(ErrorKind::Argument(words)).in_object(shown(name)))
}

/// Whether a name in a storage leads to where another one does, or below it, as far as both exist and are told.
fn is_at_or_below(storage: &Storage, name: &str, other: &Storage, other_name: &str) -> bool {
    let Ok(Some(location)) = other.location(other_name) else { return false };
    let ends = name.match_indices('/').map(|(slash, _)| slash).chain([name.len()]);
    let is_there = |prefix: &str| storage.location(prefix).is_ok_and(|found| found == Some(location));
    is_there("") || ends.into_iter().any(|end| is_there(&name[..end])) || storage.is_below(location).unwrap_or(false)
}
