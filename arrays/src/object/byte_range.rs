//! The position at which a read of an object begins.

use crate::buffer::Buffer;

/// The position in an object at which a read begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteRange {
    /// At this byte. A read of an object that ends before it returns no bytes.
    At(u64),
    /// This many bytes before the object's end; at its first byte if it has fewer.
    BeforeEnd(u64),
}

impl ByteRange {
    /// The position in an object of `len` bytes, at most `len`.
    pub fn offset(self, len: u64) -> u64 {
        match self {
            ByteRange::At(offset) => offset.min(len),
            ByteRange::BeforeEnd(bytes) => len.saturating_sub(bytes),
        }
    }

    /// Reads an object of these bytes from the position on, into an empty buffer: all its bytes, or as many as fit.
    /// Returns the object's length.
    pub fn copy(self, object: &[u8], buffer: &mut Buffer<'_>) -> u64 {
        let len = object.len() as u64;
        // At most the length of a list.
        let rest = object.get(self.offset(len) as usize..).unwrap_or_default();
        buffer.write(&rest[..rest.len().min(buffer.capacity())]);
        len
    }
}
