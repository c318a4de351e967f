//! Where a read of an object begins.

/// Where in an object a read begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteRange {
    /// At this byte. An object that ends before it gives no bytes.
    At(u64),
    /// So many bytes before the object's end; at its first byte if it has fewer.
    BeforeEnd(u64),
}

impl ByteRange {
    /// Which byte that is in an object of `len` bytes: at most `len`, where no bytes are left.
    pub fn offset(self, len: u64) -> u64 {
        match self {
            ByteRange::At(offset) => offset.min(len),
            ByteRange::BeforeEnd(bytes) => len.saturating_sub(bytes),
        }
    }
}
