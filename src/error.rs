//! What can go wrong, in words and as a netCDF status.
//!
//! An [`Error`] says what happened ([`ErrorKind`]), in which dimension and in which chunk. [`Error::status`] is the one
//! mapping to netCDF's numbers.

use std::ffi::c_int;
use std::fmt;

use crate::dims::Dims;
use crate::status;

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What happened. The message names the quantities involved, in elements unless it says bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An argument that nothing can be done with.
    #[error("{0}")]
    Argument(&'static str),
    /// A rank above [`MAX_RANK`](crate::MAX_RANK).
    #[error("rank {0} is above the maximum of 1024 dimensions")]
    Rank(usize),
    /// No start was given for a variable with dimensions.
    #[error("start is NULL, but the variable has dimensions")]
    NoStart,
    /// A start beyond its dimension.
    #[error("start {start} is outside the dimension, whose length is {dimlen}")]
    #[allow(missing_docs)]
    Start { start: usize, dimlen: usize },
    /// The last selected element lies beyond its dimension.
    #[error("start {start}, count {count}, stride {stride} reach beyond the dimension, whose length is {dimlen}")]
    #[allow(missing_docs)]
    Edge { start: usize, count: usize, stride: isize, dimlen: usize },
    /// A stride below 1.
    #[error("stride {0} is not positive")]
    Stride(isize),
    /// A dimension longer than 2^63 elements, or another length out of range.
    #[error("{0} is not a length this dimension can have")]
    DimensionLength(usize),
    /// A dimension the variable does not have.
    #[error("there is no dimension {0}")]
    NoDimension(usize),
    /// An origin that puts elements, or the beginnings of their chunks, where no index reaches.
    #[error("with origin {origin} the dimension, whose length is {dimlen}, has no place among the indices")]
    #[allow(missing_docs)]
    Origin { origin: isize, dimlen: usize },
    /// An index beyond its list.
    #[error("index {index} is beyond the last of {len}")]
    #[allow(missing_docs)]
    Index { index: usize, len: usize },
    /// A list longer than the room given for it.
    #[error("room for {capacity}, but {needed} are needed")]
    #[allow(missing_docs)]
    Capacity { needed: usize, capacity: usize },
    /// A byte order for elements that have none.
    #[error("elements of {0} bytes have no byte order; set a word size first")]
    ByteOrder(usize),
    /// Elements that do not lie in the memory they were said to lie in.
    #[error("the selection does not fit the {len} bytes of memory")]
    #[allow(missing_docs)]
    Memory { len: usize },
    /// A write to a store that cannot be written to.
    #[error("the store has no way to write")]
    ReadOnly,
    /// A variable that its file format cannot hold.
    #[error("{0}")]
    VariableSize(&'static str),
    /// Memory could not be had.
    #[error("out of memory")]
    OutOfMemory,
    /// A chunk of the wrong length.
    #[error("the stored chunk has {found} bytes where {expected} are due")]
    #[allow(missing_docs)]
    ChunkLength { found: usize, expected: usize },
    /// A compressed chunk of the wrong length.
    #[error("the chunk decodes to more than the {expected} bytes that are due")]
    #[allow(missing_docs)]
    DecodedLength { expected: usize },
    /// A reader lent more bytes than memory has.
    #[error("the reader lent {0} bytes, which cannot be")]
    LentLength(usize),
    /// A reader lent a chunk without saying where it is.
    #[error("the reader succeeded but lent no data")]
    NoData,
    /// A chunk that does not decode, or encode.
    #[error("zstd failed: {0}")]
    Zstd(&'static str),
    /// What a caller's callback returned, passed on as it is.
    #[error("the callback failed with status {0}: {words}", words = words(*.0))]
    Callback(c_int),
    /// A panic was caught at the C boundary.
    #[error("internal error")]
    Internal,
}

impl ErrorKind {
    /// netCDF's number for this kind of error.
    pub fn status(self) -> c_int {
        match self {
            ErrorKind::Argument(_) | ErrorKind::Memory { .. } => status::EINVAL,
            ErrorKind::ReadOnly => status::EPERM,
            ErrorKind::Rank(_) => status::EMAXDIMS,
            ErrorKind::NoStart | ErrorKind::Start { .. } | ErrorKind::Index { .. } => status::EINVALCOORDS,
            ErrorKind::Edge { .. } => status::EEDGE,
            ErrorKind::Stride(_) => status::ESTRIDE,
            ErrorKind::DimensionLength(_) | ErrorKind::Origin { .. } => status::EDIMSIZE,
            ErrorKind::NoDimension(_) => status::EBADDIM,
            ErrorKind::Capacity { .. } => status::ERANGE,
            ErrorKind::ByteOrder(_) => status::EBADTYPE,
            ErrorKind::VariableSize(_) => status::EVARSIZE,
            ErrorKind::OutOfMemory => status::ENOMEM,
            ErrorKind::ChunkLength { .. }
            | ErrorKind::DecodedLength { .. }
            | ErrorKind::LentLength(_)
            | ErrorKind::NoData => status::EBADCHUNK,
            ErrorKind::Zstd(_) => status::EFILTER,
            ErrorKind::Callback(code) => code,
            ErrorKind::Internal => status::EINTERNAL,
        }
    }
}

/// The words for a status, for messages. Nothing is allocated.
#[allow(unsafe_code)]
fn words(code: c_int) -> &'static str {
    // SAFETY: what strerror returns is a text that stays valid at least until this thread asks again, which is after the
    // message is written.
    unsafe { std::ffi::CStr::from_ptr(status::strerror(code)) }.to_str().unwrap_or("(no words)")
}

/// An error: what happened, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    dimension: Option<u16>,
    is_in_chunk: bool,
    chunk: Dims<isize>,
}

impl Error {
    /// What happened.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// netCDF's number for it.
    pub fn status(&self) -> c_int {
        self.kind.status()
    }

    /// The dimension it happened in, if it is a matter of one.
    pub fn dimension(&self) -> Option<usize> {
        self.dimension.map(usize::from)
    }

    /// The indices of the chunk it happened in, if it is a matter of one.
    pub fn chunk(&self) -> Option<&[isize]> {
        self.is_in_chunk.then_some(&self.chunk)
    }

    /// The same error, in this dimension.
    pub fn in_dimension(mut self, dimension: usize) -> Self {
        self.dimension = u16::try_from(dimension).ok();
        self
    }

    /// The same error, in this chunk. Where memory for the indices cannot be had they are left out.
    pub fn in_chunk(mut self, chunk: &[isize]) -> Self {
        if let Ok(chunk) = crate::dims::copied(chunk.iter().copied()) {
            self.chunk = chunk;
            self.is_in_chunk = true;
        }
        self
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Error { kind, dimension: None, is_in_chunk: false, chunk: Dims::new() }
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(chunk) = self.chunk() {
            // A rank beyond all measure should not hide what comes after.
            const SHOWN: usize = 16;
            f.write_str("chunk (")?;
            for (d, index) in chunk.iter().take(SHOWN).enumerate() {
                write!(f, "{}{index}", if d == 0 { "" } else { ", " })?;
            }
            f.write_str(if chunk.len() > SHOWN { ", ...): " } else { "): " })?;
        }
        if let Some(dimension) = self.dimension {
            write!(f, "dimension {dimension}: ")?;
        }
        self.kind.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_where_and_what() {
        let error = Error::from(ErrorKind::ChunkLength { found: 40, expected: 4000 }).in_chunk(&[1, -2]);
        assert_eq!(error.to_string(), "chunk (1, -2): the stored chunk has 40 bytes where 4000 are due");
        let error = Error::from(ErrorKind::Start { start: 11, dimlen: 10 }).in_dimension(1);
        assert_eq!(error.to_string(), "dimension 1: start 11 is outside the dimension, whose length is 10");
        assert_eq!((error.status(), error.dimension()), (-40, Some(1)));
    }
}
