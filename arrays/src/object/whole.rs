//! Whole objects in memory of their own, such as metadata.
#![allow(unsafe_code)]

use super::byte_range::ByteRange;
use super::traits::ObjectStore;
use crate::buffer::Buffer;
use crate::error::{ErrorKind, Result};
use crate::limits::Limit;

/// How much room an object is first read with. Longer ones are read again.
const FIRST: usize = 16 << 10;
/// The same where another request takes longer than these bytes do.
const FIRST_WITH_LATENCY: usize = 512 << 10;

/// A whole object of at most `most` bytes, or `None` if there is none of that name.
///
/// # Errors
/// `Capacity` for a longer one, a failed allocation, and those of [`ObjectStore::read`].
pub fn read_whole(objects: &(impl ObjectStore + ?Sized), name: &str, most: usize) -> Result<Option<Vec<u8>>> {
    let mut room = if objects.flight().is_some() { FIRST_WITH_LATENCY } else { FIRST }.min(most);
    loop {
        let (bytes, len) = filled(room, |buffer| objects.read(name, ByteRange::At(0), buffer))?;
        let Some(len) = len else { return Ok(None) };
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        if len <= room {
            return Ok(Some(bytes));
        } else if len > most {
            return Err(ErrorKind::Capacity { needed: len, capacity: most }.in_object(name));
        }
        room = len;
    }
}

/// A whole object, of which the text and what is read from it are to be kept within a limit; `None` if there is none of
/// that name.
///
/// # Errors
/// `Limit`, and those of [`read_whole`].
pub(crate) fn read_text(objects: &(impl ObjectStore + ?Sized), name: &str, limit: Limit) -> Result<Option<Vec<u8>>> {
    read_whole(objects, name, limit.bytes / 2).map_err(|error| match error.kind() {
        ErrorKind::Capacity { needed, .. } => limit.exceeded(Some(needed.saturating_mul(2))).in_object(name),
        _ => error,
    })
}

/// Adds a part of an object to some bytes: as many as there are from `begin` on, but no more than so many. The result
/// is that of [`ObjectStore::read`].
pub(crate) fn read_more(
    objects: &(impl ObjectStore + ?Sized),
    name: &str,
    begin: ByteRange,
    most: usize,
    bytes: &mut Vec<u8>,
) -> Result<Option<u64>> {
    fill_more(bytes, most, |buffer| objects.read(name, begin, buffer))
}

/// What `fill` puts into a buffer of so many bytes, and its result.
pub(crate) fn filled<T>(room: usize, fill: impl FnOnce(&mut Buffer<'_>) -> Result<T>) -> Result<(Vec<u8>, T)> {
    let mut bytes = Vec::new();
    let result = fill_more(&mut bytes, room, fill)?;
    Ok((bytes, result))
}

/// Adds what `fill` puts into a buffer of so many bytes to some, and returns its result.
fn fill_more<T>(bytes: &mut Vec<u8>, room: usize, fill: impl FnOnce(&mut Buffer<'_>) -> Result<T>) -> Result<T> {
    bytes.try_reserve_exact(room).map_err(|_| ErrorKind::OutOfMemory)?;
    let mut all = Buffer::new(bytes.spare_capacity_mut());
    // There may be more than was asked for.
    let mut buffer = all.rest_up_to(room);
    let result = fill(&mut buffer)?;
    let added = buffer.filled().len();
    // SAFETY: the buffer over the spare memory says that so many bytes have been written.
    unsafe { bytes.set_len(bytes.len() + added) };
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Memory;

    #[test]
    fn objects_of_any_size_are_read_up_to_a_limit() {
        let memory = Memory::new();
        for len in [0, 1, FIRST, FIRST + 1, 100_000] {
            let bytes: Vec<u8> = (0..len).map(|i| i as u8).collect();
            memory.write("x", &bytes).unwrap();
            assert_eq!(read_whole(&memory, "x", 100_000), Ok(Some(bytes.clone())));
            assert_eq!(read_whole(&memory, "x", len), Ok(Some(bytes)));
            if len > 0 {
                let error = read_whole(&memory, "x", len - 1).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Capacity { needed: len, capacity: len - 1 });
            }
        }
        assert_eq!(read_whole(&memory, "y", 10), Ok(None));
    }
}
