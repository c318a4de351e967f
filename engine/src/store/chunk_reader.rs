//! Readers that fill chunks into buffers.

use std::any::Any;
use std::ops::Range;

use super::flight::InFlight;
use super::located::ChunkLocation;
use super::request::{Filled, Request};
use crate::buffer::Buffer;
use crate::codec::Chain;
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
    fn tells_len(&self) -> bool {
        false
    }

    /// The codecs that were skipped when a chunk was stored, such as those of HDF5's filter mask: a bit for each, the
    /// lowest for the first in the order of encoding. It is asked after the chunk has been read.
    ///
    /// # Errors
    /// Any error; it ends the call.
    fn skipped_codecs(&self, chunk: &[isize]) -> Result<u32> {
        let _ = chunk;
        Ok(0)
    }

    /// The codecs of a chunk, if they differ from the store's; they are used instead. It is asked before the chunk is
    /// decoded.
    fn own_codecs(&self, chunk: &[isize]) -> Option<&Chain<'_>> {
        let _ = chunk;
        None
    }

    /// Takes the reader apart, for code that joins the readers of several arrays and knows readers of this kind.
    ///
    /// # Errors
    /// `Unsupported` for a reader that cannot be taken apart, which is the default.
    fn into_any(self: Box<Self>) -> Result<Box<dyn Any>>
    where
        Self: 'static,
    {
        Err(ErrorKind::Unsupported(NOT_IN_OBJECTS).into())
    }

    /// Verifies the object that holds a chunk by the checksum that the storage has of it, if there is one. It is called
    /// only if [`ChunkStore::set_verify`](crate::ChunkStore::set_verify) asked for that.
    ///
    /// # Errors
    /// `Corrupt` if the checksum does not match, and any other.
    fn verify(&self, request: &Request<'_>) -> Result<()> {
        let _ = request;
        Ok(())
    }

    /// Opens a chunk before several ranges of it are read. Ranges are then read from the open object, or by `fill` if
    /// this returns [`Opening::Nothing`].
    ///
    /// # Errors
    /// Any error; it ends the call.
    fn open(&self, request: &Request<'_>) -> Result<Opening<'_>> {
        let _ = request;
        Ok(Opening::Nothing)
    }

    /// Whether versions of chunks are known. Ranges of one chunk that are requested one by one must be of one version
    /// of it; by default the reader guarantees that.
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

    /// The interface for many requests in flight, if many chunks are better requested together: because requests take
    /// long, or because several chunks are read at once. [`fill`](Self::fill) and [`store`](Self::store) still serve
    /// one chunk and wait for it.
    fn in_flight(&self) -> Option<&dyn InFlight> {
        None
    }

    /// The interface by which requests are counted before they are made, if they can be: its flights count reads of
    /// chunks in [`Sharing::counted`](crate::in_flight::Sharing::counted), and do not make them.
    fn counting(&self) -> Option<&dyn InFlight> {
        None
    }

    /// Calls `one` for each chunk of a plan for reading, in its order, with the location of the stored chunk. For
    /// readers of objects; by default locations are not supported.
    ///
    /// # Errors
    /// Those of `one`, `Unsupported`, and any other.
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
