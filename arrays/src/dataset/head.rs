//! The beginning of a file.

use crate::error::{ErrorKind, Result};
use crate::object::{ByteRange, ObjectStore, filled};

/// How many bytes are read of a file at a time while it is opened. Where each request takes long, more at a time are
/// fewer requests.
pub(crate) fn block(objects: &dyn ObjectStore) -> usize {
    if objects.flight().is_some() { 64 << 10 } else { 16 << 10 }
}

/// A file of a storage, and its first bytes: they tell what it is, and its format goes on from there.
pub(crate) struct Head<'f> {
    /// The name of the file in the storage.
    pub name: &'f str,
    /// As many bytes as [`block`] says, or all that there are.
    pub bytes: Vec<u8>,
    /// How many bytes the file has.
    pub len: u64,
}

impl<'f> Head<'f> {
    /// # Errors
    /// `NotFound`, and those of the storage.
    pub(crate) fn read(objects: &dyn ObjectStore, name: &'f str) -> Result<Self> {
        let (bytes, len) = filled(block(objects), |buffer| objects.read(name, ByteRange::At(0), buffer))?;
        Ok(Head { name, bytes, len: len.ok_or(ErrorKind::NotFound("file"))? })
    }
}
