//! The position at which a read of an object begins.

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
}
