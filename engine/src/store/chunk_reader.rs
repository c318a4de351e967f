//! Readers that fill chunks into buffers.

use std::ops::Range;

use super::flight::{Flight, Sharing};
use super::located::ChunkLocation;
use super::request::{Filled, Request};
use crate::buffer::Buffer;
use crate::error::{ErrorKind, Result};
use crate::open_object::{Opening, Versions};
use crate::plan::Plan;

/// A reader that fills chunks into buffers. The buffer is the destination itself whenever the chunk lands there in one
/// piece.
pub trait ChunkReader: Send + Sync {
    /// Fetches the stored bytes of a chunk, from the request's offset on, into the buffer.
    ///
    /// # Errors
    /// Any error; it ends the call.
    fn fill(&self, request: &Request<'_>, buffer: &mut Buffer<'_>) -> Result<Filled>;

    /// Whether the reader serves ranges of chunks: requests with any offset, for as many bytes as the buffer can hold.
    /// Then two parts of an unencoded chunk that are at least this many bytes apart are requested one by one. `None`
    /// for a reader that only serves whole chunks.
    fn range_gap(&self) -> Option<usize> {
        None
    }

    /// With ranges: bytes that are to be swapped are best read in parts of about so many, for each of them is swapped
    /// while it is in the processor's cache. `None` for a reader whose chunks should be read at once, because they may
    /// be replaced meanwhile, or because every request takes long.
    fn swapped_part(&self) -> Option<usize> {
        None
    }

    /// Whether the answer to a request for a part reports how many bytes the stored chunk has from there on. Then an
    /// unencoded chunk must have all of its bytes, whatever part of it is needed.
    #[doc(hidden)]
    fn tells_len(&self) -> bool {
        false
    }

    /// The codecs that a chunk which has been read did not go through when it was stored: a bit for each, the lowest
    /// for the first in the order of encoding.
    #[doc(hidden)]
    fn skipped_codecs(&self, chunk: &[isize]) -> Result<u32> {
        let _ = chunk;
        Ok(0)
    }

    /// Verifies the object that a chunk is stored in by the checksum that the storage has of it, if there is one.
    #[doc(hidden)]
    fn verify(&self, request: &Request<'_>) -> Result<()> {
        let _ = request;
        Ok(())
    }

    /// Opens a chunk before several ranges of it are read. `fill` reads the ranges that the returned file cannot.
    #[doc(hidden)]
    fn open(&self, request: &Request<'_>) -> Result<Opening<'_>> {
        let _ = request;
        Ok(Opening::Nothing)
    }

    /// Whether versions of chunks are known. Ranges of one chunk that are requested one by one must be of one version
    /// of it; by default the reader guarantees that.
    #[doc(hidden)]
    fn versions(&self) -> Versions {
        Versions::Constant
    }

    /// Whether several threads may use the reader at the same time.
    fn is_concurrent(&self) -> bool {
        true
    }

    /// Whether chunks may be longer than they should be: see
    /// [`ZeroCopyReader::accepts_longer`](crate::ZeroCopyReader::accepts_longer).
    fn accepts_longer(&self) -> bool {
        false
    }

    /// Whether chunks can be stored. If `true`, the reader implements `store`.
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

    /// Whether requests are started first and waited for later: see `flight`.
    #[doc(hidden)]
    fn has_latency(&self) -> bool {
        false
    }

    /// Whether `flight` stores chunks as well: then several objects are written at the same time.
    #[doc(hidden)]
    fn stores_later(&self) -> bool {
        false
    }

    /// Whether many chunks are better requested together, by `flight`: because the reader has latency, or because it
    /// reads several of them at once.
    #[doc(hidden)]
    fn reads_many(&self) -> bool {
        self.has_latency()
    }

    /// Begins the requests of one thread of a transfer, if the reader reads many.
    #[doc(hidden)]
    fn flight<'s, 'f: 's>(&'f self, sharing: &'s Sharing<'f>) -> Result<Box<dyn Flight + 's>> {
        let _ = sharing;
        Err(ErrorKind::Internal.into())
    }

    /// Whether `flight` counts reads instead of making them, if it is told to.
    #[doc(hidden)]
    fn counts_reads(&self) -> bool {
        false
    }

    /// Calls `one` for each chunk of a plan for reading, in its order, with the location of the stored chunk.
    #[doc(hidden)]
    fn locate(&self, plan: &Plan<'_>, one: &mut dyn FnMut(&ChunkLocation<'_>) -> Result<()>) -> Result<()> {
        let _ = (plan, one);
        Err(ErrorKind::Unsupported(NOT_IN_OBJECTS).into())
    }
}

/// What is said of chunks whose reader does not say where they are.
pub(super) const NOT_IN_OBJECTS: &str = "locating chunks that are not objects of a storage";

/// What is said of reads that cannot be counted before they are made.
pub(super) const NOT_COUNTED: &str = "the cost of reading variable-length strings, or chunks of a callback";

impl<F> ChunkReader for F
where
    F: Fn(&Request<'_>, &mut Buffer<'_>) -> Result<Filled> + Send + Sync,
{
    fn fill(&self, request: &Request<'_>, buffer: &mut Buffer<'_>) -> Result<Filled> {
        self(request, buffer)
    }
}

/// Checks what came for these bytes of a chunk of `chunk_bytes`, which is stored as it is: `filled` of them, of a chunk
/// that has `stored` from the first of them on. If the reader does not [tell](ChunkReader::tells_len) that of a part,
/// nothing is known of what lies beyond it.
pub fn check_part(
    reader: &dyn ChunkReader,
    part: Range<usize>,
    chunk_bytes: usize,
    (stored, filled): (usize, usize),
) -> Result<()> {
    let is_known = reader.tells_len() || part == (0..chunk_bytes);
    let expected = if is_known { chunk_bytes.saturating_sub(part.start) } else { part.len() };
    let is_longer = stored > expected && (!is_known || reader.accepts_longer());
    if filled == part.len() && (stored == expected || is_longer) {
        return Ok(());
    }
    // A reader that did not give what it says is stored has given only what is in the buffer.
    let found = if stored == expected { filled } else { stored };
    // Of a chunk that ends before the part it is not known where.
    let before = if is_known && stored > 0 { part.start } else { 0 };
    Err(ErrorKind::StoredLength { found: before.saturating_add(found), expected: before + expected }.into())
}
