//! Reading and writing a file at a position, without a file pointer that threads would share.

use std::fs::File;
use std::io;

use super::byte_range::ByteRange;
use crate::buffer::Buffer;
use crate::error::{ErrorKind, Result};
use crate::open_object::{ObjectState, OpenObject, read_at};

/// Reads from a file of so many bytes into an empty buffer. If the file has become shorter meanwhile, what there is.
pub(super) fn read(file: &File, len: u64, begin: ByteRange, buffer: &mut Buffer<'_>) -> io::Result<()> {
    let offset = begin.offset(len);
    let wanted = usize::try_from(len - offset).unwrap_or(usize::MAX).min(buffer.capacity());
    read_at(file, offset, wanted, buffer)
}

/// Reads from an open object, and tells its state, as [`read_version`](super::ObjectStore::read_version) does.
pub(crate) fn read_opened(opened: &OpenObject<'_>, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<ObjectState> {
    let state = opened.state().ok_or(ErrorKind::Internal)?;
    opened.read(begin.offset(state.0), buffer)?;
    Ok(state)
}

/// Writes all bytes at a position.
#[cfg(all(unix, feature = "zip"))]
pub(super) fn write_at(file: &File, offset: u64, bytes: &[u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

/// Writes all bytes at a position.
#[cfg(all(windows, feature = "zip"))]
pub(super) fn write_at(file: &File, mut offset: u64, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_write(file, bytes, offset) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => (offset, bytes) = (offset + written as u64, bytes.get(written..).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
