//! Limits on the memory for stored data, whatever sizes the data claim.

use crate::error::{Error, ErrorKind, Result};

/// Limits on the memory for the contents of a storage, in addition to the memory that a read
/// or write is given. A call that would need more fails with [`ErrorKind::Limit`], which names the limit.
///
/// ```
/// use nczchunk::MemoryLimits;
/// use nczchunk::object::{Memory, Storage};
///
/// let mut storage = Storage::new(Memory::new())?;
/// storage.set_memory_limits(MemoryLimits::default().with_string_chunk_bytes(1 << 30));
/// # Ok::<(), nczchunk::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryLimits {
    /// The most bytes of a chunk: as it is stored, between two of its codecs, and decoded. The default is 4 GiB.
    pub chunk_bytes: usize,
    /// The most bytes of a chunk of variable-length strings, stored or decoded. Each string takes 8 more bytes, and 24
    /// while it is read from an HDF5 file. The default is 256 MiB.
    pub string_chunk_bytes: usize,
    /// The most bytes that the metadata in one document take while they are read: about twice the size of its
    /// text, plus 100 for each JSON value. The headers and trees of an HDF5 file and each Parquet file of references
    /// count as documents. The default is 1 GiB.
    pub metadata_bytes: usize,
}

impl Default for MemoryLimits {
    fn default() -> Self {
        MemoryLimits {
            chunk_bytes: usize::try_from(4u64 << 30).unwrap_or(usize::MAX),
            string_chunk_bytes: 256 << 20,
            metadata_bytes: 1 << 30,
        }
    }
}

impl MemoryLimits {
    /// The same with another limit for chunks.
    #[must_use]
    pub fn with_chunk_bytes(self, bytes: usize) -> Self {
        MemoryLimits { chunk_bytes: bytes, ..self }
    }

    /// The same with another limit for chunks of strings.
    #[must_use]
    pub fn with_string_chunk_bytes(self, bytes: usize) -> Self {
        MemoryLimits { string_chunk_bytes: bytes, ..self }
    }

    /// The same with another limit for metadata.
    #[must_use]
    pub fn with_metadata_bytes(self, bytes: usize) -> Self {
        MemoryLimits { metadata_bytes: bytes, ..self }
    }

    #[doc(hidden)]
    pub fn chunk(&self) -> Limit {
        Limit { name: "chunk_bytes", bytes: self.chunk_bytes }
    }

    #[doc(hidden)]
    pub fn string_chunk(&self) -> Limit {
        Limit { name: "string_chunk_bytes", bytes: self.string_chunk_bytes }
    }

    #[doc(hidden)]
    pub fn metadata(&self) -> Limit {
        Limit { name: "metadata_bytes", bytes: self.metadata_bytes }
    }
}

/// One of the limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    name: &'static str,
    pub bytes: usize,
}

impl Limit {
    /// No limit: for stores and codecs whose sizes the caller has given.
    pub const NONE: Limit = Limit { name: "", bytes: usize::MAX };

    /// Refuses to take more bytes than the limit.
    pub fn check(&self, needed: usize) -> Result<()> {
        if needed <= self.bytes { Ok(()) } else { Err(self.exceeded(Some(needed))) }
    }

    /// The error that more bytes are needed than the limit; how many it is may not be known.
    #[cold]
    pub fn exceeded(&self, needed: Option<usize>) -> Error {
        ErrorKind::Limit { name: self.name, needed, limit: self.bytes }.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_limit() {
        let limits = MemoryLimits::default().with_chunk_bytes(100).with_string_chunk_bytes(50).with_metadata_bytes(7);
        assert_eq!(limits.chunk().check(100), Ok(()));
        let words = "101 bytes of memory are needed, above the limit chunk_bytes = 100; raise it by \
                     nczchunk_storage_set_memory_limits, or MemoryLimits in C++, Python and Rust";
        assert_eq!(limits.chunk().check(101).unwrap_err().to_string(), words);
        let words = "more bytes of memory are needed than the limit string_chunk_bytes = 50; raise it by \
                     nczchunk_storage_set_memory_limits, or MemoryLimits in C++, Python and Rust";
        let error = limits.string_chunk().exceeded(None);
        assert_eq!((error.to_string().as_str(), error.status()), (words, crate::status::ENOMEM));
        assert_eq!(limits.metadata().check(8).unwrap_err().status(), crate::status::ENOMEM);
        assert_eq!(Limit::NONE.check(usize::MAX), Ok(()));
    }
}
