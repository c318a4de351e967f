//! Where chunks come from: readers that lend a chunk or fill a buffer, and decoders wrapped round them.
//!
//! A [`Store`] holds one reader of either kind. Whatever the kind, a reader is asked for one chunk at a time, by its
//! indices, and may answer that the chunk is absent.

mod buffer;
mod pool;
pub(crate) mod zstd;

pub use buffer::Buffer;
pub use zstd::Compression;

use crate::alloc::{Scratch, Slot};
use crate::error::{ErrorKind, Result};
use pool::Pool;

/// A chunk that a lending reader gives.
#[derive(Debug, Clone, Copy)]
pub enum Lent<'r> {
    /// There is none: it reads as the fill value.
    Absent,
    /// A stored chunk.
    Chunk(&'r [u8]),
    /// There is none, and these are fill values in native byte order to use in its place.
    FillValues(&'r [u8]),
}

/// What a filling reader did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filled {
    /// There is no such chunk: it reads as the fill value.
    Absent,
    /// The stored chunk has this many bytes. They are in the buffer, unless they are more than it has room for.
    Stored(usize),
}

/// A chunk that is lent to be changed.
#[derive(Debug)]
pub enum Borrowed<'r> {
    /// A stored chunk. What it holds does not matter if the write covers the chunk.
    Chunk(&'r mut [u8]),
    /// A chunk that was absent: it is filled with the fill value where it is not written to. It may hold anything, but zeros
    /// if the variable has a copier.
    New(&'r mut [u8]),
}

/// A reader that keeps chunks in memory and lends them.
pub trait Lend: Send + Sync {
    /// Lends a chunk.
    fn lend(&self, chunk: &[isize]) -> Result<Lent<'_>>;

    /// Takes back what `lend` gave as `Chunk` or `FillValues`; called once for each.
    fn release(&self, bytes: &[u8]) {
        let _ = bytes;
    }

    /// Whether the reader allows threads to use it at the same time and more than one chunk to be on loan. If not, each
    /// chunk is given back before another is asked for.
    fn is_concurrent(&self) -> bool {
        true
    }

    /// Whether chunks can be changed. A reader that can be written to says so and has `change`.
    fn is_writable(&self) -> bool {
        false
    }

    /// Has a chunk changed: gives it to `change`, once, and keeps what that made of it. If `covered`, every element of it
    /// that lies inside the dimensions will be replaced, so it need not be read. Where `change` fails, its error is passed on.
    fn change(&self, chunk: &[isize], covered: bool, change: &mut dyn FnMut(Borrowed<'_>) -> Result<()>) -> Result<()> {
        let _ = (chunk, covered, change);
        Err(ErrorKind::ReadOnly.into())
    }
}

/// A reader that fetches chunks into a buffer it is given.
///
/// The buffer is the destination itself whenever the chunk lands there in one piece.
pub trait Fill: Send + Sync {
    /// Fetches a chunk into the buffer.
    fn fill(&self, chunk: &[isize], buffer: &mut Buffer<'_>) -> Result<Filled>;

    /// Whether the reader allows threads to use it at the same time.
    fn is_concurrent(&self) -> bool {
        true
    }

    /// Whether chunks can be stored. A reader that can be written to says so and has `store`.
    fn is_writable(&self) -> bool {
        false
    }

    /// Stores a whole chunk.
    fn store(&self, chunk: &[isize], bytes: &[u8]) -> Result<()> {
        let _ = (chunk, bytes);
        Err(ErrorKind::ReadOnly.into())
    }
}

/// Either kind of reader.
pub(crate) enum Reader<'r> {
    Lending(Box<dyn Lend + 'r>),
    Filling(Box<dyn Fill + 'r>),
}

impl Reader<'_> {
    pub(crate) fn is_writable(&self) -> bool {
        match self {
            Reader::Lending(lender) => lender.is_writable(),
            Reader::Filling(filler) => filler.is_writable(),
        }
    }

    pub(crate) fn is_concurrent(&self) -> bool {
        match self {
            Reader::Lending(lender) => lender.is_concurrent(),
            Reader::Filling(filler) => filler.is_concurrent(),
        }
    }
}

/// A source of chunks, with the memory it needs between calls.
pub struct Store<'r> {
    pub(crate) reader: Reader<'r>,
    /// Chunk-sized buffers for chunks that do not land in the destination in one piece.
    scratch: Pool<Scratch>,
}

impl<'r> Store<'r> {
    /// A store whose chunks are lent.
    pub fn lending(reader: impl Lend + 'r) -> Result<Self> {
        Ok(Store::of(Reader::Lending(Slot::new()?.fill(reader))))
    }

    /// A store whose chunks are fetched into buffers.
    pub fn filling(reader: impl Fill + 'r) -> Result<Self> {
        Ok(Store::of(Reader::Filling(Slot::new()?.fill(reader))))
    }

    /// Whether one call may use the store from several threads.
    pub fn is_concurrent(&self) -> bool {
        self.reader.is_concurrent()
    }

    pub(crate) fn of(reader: Reader<'r>) -> Self {
        Store { reader, scratch: Pool::new() }
    }

    /// Runs `body` with scratch memory, which is kept for the next call.
    pub(crate) fn with_scratch<T>(&self, body: impl FnOnce(&mut Scratch) -> T) -> T {
        let mut scratch = self.scratch.take().unwrap_or_default();
        let result = body(&mut scratch);
        if scratch.capacity() > 0 {
            self.scratch.put(scratch);
        }
        result
    }

    /// Wraps the store's reader in zstd: from now on, what the reader gives and takes is a compressed chunk.
    ///
    /// The decoder takes the chunk's size from the variable, never from the compressed data, and refuses data that does
    /// not fill a chunk exactly. On an error the store is as it was.
    pub fn wrap_zstd(&mut self, compression: Compression) -> Result<()> {
        let slot = Slot::new()?;
        let inner = std::mem::replace(&mut self.reader, Reader::Filling(Box::new(Nothing)));
        self.reader = Reader::Filling(slot.fill(zstd::Zstd::new(inner, compression)));
        Ok(())
    }
}

/// A reader without chunks, in a store's place of one while it is being wrapped.
struct Nothing;

impl Fill for Nothing {
    fn fill(&self, _: &[isize], _: &mut Buffer<'_>) -> Result<Filled> {
        Ok(Filled::Absent)
    }
}

/// A chunk on loan, given back when dropped.
pub(crate) struct Loan<'r> {
    lender: &'r dyn Lend,
    pub(crate) lent: Lent<'r>,
}

impl<'r> Loan<'r> {
    pub(crate) fn take(lender: &'r dyn Lend, chunk: &[isize]) -> Result<Self> {
        Ok(Loan { lender, lent: lender.lend(chunk)? })
    }
}

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        if let Lent::Chunk(bytes) | Lent::FillValues(bytes) = self.lent {
            self.lender.release(bytes);
        }
    }
}

/// Fetches a chunk that fills the whole buffer; `false` stands for an absent chunk.
pub(crate) fn fetch(filler: &dyn Fill, chunk: &[isize], buffer: &mut Buffer<'_>) -> Result<bool> {
    let Filled::Stored(stored) = filler.fill(chunk, buffer)? else {
        return Ok(false);
    };
    let (filled, expected) = (buffer.filled().len(), buffer.capacity());
    if stored == expected && filled == expected {
        return Ok(true);
    }
    // A reader that did not put there what it says is stored has given only what it put there.
    let found = if stored == expected { filled } else { stored };
    Err(ErrorKind::ChunkLength { found, expected }.into())
}
