//! Readers that fill chunks into buffers.

use super::flight::Flight;
use super::request::{Filled, Request};
use crate::buffer::Buffer;
use crate::error::{ErrorKind, Result};
use crate::open_object::{Opening, Versions};

/// A reader that fills chunks into buffers. The buffer is the destination itself whenever the chunk lands there in one
/// piece.
pub trait Fill: Send + Sync {
    /// Fetches the stored bytes of a chunk, from the request's offset on, into the buffer.
    ///
    /// # Errors
    /// Any error; it ends the call.
    fn fill(&self, request: &Request<'_>, buffer: &mut Buffer<'_>) -> Result<Filled>;

    /// Whether the reader serves ranges of chunks: requests with any offset, for as many bytes as the buffer has room
    /// for. Then two parts of a chunk that are at least this many bytes apart are asked for one by one, where the chunk
    /// is stored as it is. `None` for a reader that only serves whole chunks.
    fn range_gap(&self) -> Option<usize> {
        None
    }

    /// With ranges: bytes that are to be swapped are best read in parts of about so many, for each of them is swapped
    /// while it is in the processor's cache. `None` for a reader whose chunks should be read at once, because they may
    /// be replaced meanwhile, or because every request takes long.
    fn swapped_part(&self) -> Option<usize> {
        None
    }

    /// Opens a chunk of which several ranges are going to be read. What cannot be read from a file that this gives,
    /// `fill` is asked for.
    #[doc(hidden)]
    fn open(&self, request: &Request<'_>) -> Result<Opening<'_>> {
        let _ = request;
        Ok(Opening::Nothing)
    }

    /// What is known of chunks that change. Ranges of one chunk that are asked for one by one have to be of one version
    /// of it: by default that is the reader's promise.
    #[doc(hidden)]
    fn versions(&self) -> Versions {
        Versions::Constant
    }

    /// Whether several threads may use the reader at the same time.
    fn is_concurrent(&self) -> bool {
        true
    }

    /// Whether chunks may be longer than they should be: see [`Lend::accepts_longer`](crate::Lend::accepts_longer).
    fn accepts_longer(&self) -> bool {
        false
    }

    /// Whether chunks can be stored. A reader that can be written to says so and has `store`.
    fn is_writable(&self) -> bool {
        false
    }

    /// Stores a whole chunk.
    ///
    /// # Errors
    /// Any error; it ends the call.
    fn store(&self, request: &Request<'_>, bytes: &[u8]) -> Result<()> {
        let _ = (request, bytes);
        Err(ErrorKind::ReadOnly.into())
    }

    /// Whether the reader is asked first and gives the answer later: see `flight`.
    #[doc(hidden)]
    fn has_latency(&self) -> bool {
        false
    }

    /// Begins a transfer of many requests in flight, if the reader has latency.
    #[doc(hidden)]
    fn flight(&self) -> Result<Box<dyn Flight + '_>> {
        Err(ErrorKind::Internal.into())
    }
}

impl<F> Fill for F
where
    F: Fn(&Request<'_>, &mut Buffer<'_>) -> Result<Filled> + Send + Sync,
{
    fn fill(&self, request: &Request<'_>, buffer: &mut Buffer<'_>) -> Result<Filled> {
        self(request, buffer)
    }
}

/// Checks what came into a buffer for a chunk or a part of it. `is_whole` says that the buffer has the size of what is
/// stored, which then must not be longer; nothing is known of what lies beyond a part.
pub(crate) fn check_filled(stored: usize, buffer: &Buffer<'_>, is_whole: bool, accepts_longer: bool) -> Result<()> {
    check_len(stored, (buffer.filled().len(), buffer.capacity()), is_whole, accepts_longer)
}

/// [`check_filled`] by how many bytes there are and how many were due.
pub(crate) fn check_len(
    stored: usize,
    (filled, expected): (usize, usize),
    is_whole: bool,
    accepts_longer: bool,
) -> Result<()> {
    if filled == expected && (stored == expected || (stored > expected && (!is_whole || accepts_longer))) {
        return Ok(());
    }
    // A reader that did not give what it says is stored has given only what is in the buffer.
    let found = if stored == expected { filled } else { stored };
    Err(ErrorKind::StoredLength { found, expected }.into())
}
