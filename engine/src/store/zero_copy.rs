//! Readers that keep chunks in memory and lend them.
//!
//! What a reader lends it gives to a [`Take`], which that uses up, and all it gets for it is a [`Taken`]; it cannot
//! succeed without one. So a chunk that counts as read has been taken, once and with success: the compiler sees to it.

use std::marker::PhantomData;

use super::chunk_reader::NOT_IN_OBJECTS;
use super::located::ChunkLocation;
use super::request::Request;
use crate::error::{ErrorKind, Result};
use crate::plan::Plan;

/// A chunk that a zero-copy reader gives.
#[derive(Debug, Clone, Copy)]
pub enum BorrowedChunk<'r> {
    /// The chunk is missing: it reads as the fill value.
    Absent,
    /// A stored chunk.
    Chunk(&'r [u8]),
    /// The chunk is missing. These are fill values in native byte order to use in its place.
    FillValues(&'r [u8]),
}

/// A chunk that a zero-copy reader gives to be changed.
#[derive(Debug)]
pub enum BorrowedChunkMut<'r> {
    /// A stored chunk. Its contents do not matter if the write covers the chunk.
    Chunk(&'r mut [u8]),
    /// A new chunk for one that was missing. Its contents do not matter: the library fills it with the fill value where
    /// it is not written.
    New(&'r mut [u8]),
}

/// The receiver of a chunk that a reader lends.
pub struct Take<'t>(&'t mut (dyn FnMut(BorrowedChunk<'_>) -> Result<()> + 't));

impl<'t> Take<'t> {
    /// Has `take` called with what a reader gives.
    #[inline]
    pub(crate) fn new(take: &'t mut (dyn FnMut(BorrowedChunk<'_>) -> Result<()> + 't)) -> Self {
        Take(take)
    }

    /// Gives a chunk, or reports that it is missing. When this returns, the chunk is no longer in use, and the reader
    /// may take it back.
    ///
    /// # Errors
    /// The chunk was not taken, for example because it has the wrong length. The reader passes the error on.
    #[inline]
    pub fn give(self, lent: BorrowedChunk<'_>) -> Result<Taken<'t>> {
        (self.0)(lent)?;
        Ok(Taken(PhantomData))
    }
}

/// The receiver of a chunk that a reader lends to be changed.
pub struct Change<'t>(&'t mut (dyn FnMut(BorrowedChunkMut<'_>) -> Result<()> + 't));

impl<'t> Change<'t> {
    /// Has `change` called with what a reader gives.
    pub(crate) fn new(change: &'t mut (dyn FnMut(BorrowedChunkMut<'_>) -> Result<()> + 't)) -> Self {
        Change(change)
    }

    /// Gives a chunk. When this returns, the chunk is changed.
    ///
    /// # Errors
    /// The chunk was not changed, or not all of it: its contents are unspecified. The reader passes the error on.
    pub fn give(self, borrowed: BorrowedChunkMut<'_>) -> Result<Taken<'t>> {
        (self.0)(borrowed)?;
        Ok(Taken(PhantomData))
    }
}

/// The proof that a chunk was taken or changed. Its lifetime is that of one [`Take`] or [`Change`] and of no other, so
/// a reader cannot return the proof for another chunk:
///
/// ```compile_fail
/// # use nczchunk::{ErrorKind, ZeroCopyReader, Request, Result, Take, Taken};
/// # use std::sync::Mutex;
/// struct Stale<'s>(Mutex<Option<Taken<'s>>>);
///
/// impl<'s> ZeroCopyReader for Stale<'s> {
///     fn lend<'t>(&self, _: &Request<'_>, _: Take<'t>) -> Result<Taken<'t>> {
///         self.0.lock().unwrap().take().ok_or(ErrorKind::NoData.into())
///     }
/// }
/// ```
///
/// Nor can it return without a proof, or have another thread give the chunk:
///
/// ```compile_fail,E0308
/// # use nczchunk::{ZeroCopyReader, BorrowedChunk, Request, Result, Take, Taken};
/// # struct Lazy;
/// # impl ZeroCopyReader for Lazy {
/// fn lend<'t>(&self, _: &Request<'_>, _: Take<'t>) -> Result<Taken<'t>> {
///     Ok(())
/// }
/// # }
/// ```
///
/// ```compile_fail,E0277
/// # use nczchunk::{ZeroCopyReader, BorrowedChunk, Request, Result, Take, Taken};
/// # struct Elsewhere;
/// # impl ZeroCopyReader for Elsewhere {
/// fn lend<'t>(&self, _: &Request<'_>, take: Take<'t>) -> Result<Taken<'t>> {
///     std::thread::scope(|scope| scope.spawn(move || take.give(BorrowedChunk::Absent)).join().unwrap())
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct Taken<'t>(PhantomData<fn(&'t ()) -> &'t ()>);

/// A reader that keeps chunks in memory and lends them.
///
/// ```
/// use nczchunk::{Hyperslab, ZeroCopyReader, BorrowedChunk, Request, Result, ChunkStore, Take, Taken, Variable};
///
/// struct Kept(Vec<Vec<u8>>);
///
/// impl ZeroCopyReader for Kept {
///     fn lend<'t>(&self, request: &Request<'_>, take: Take<'t>) -> Result<Taken<'t>> {
///         take.give(BorrowedChunk::Chunk(&self.0[request.chunk()[0] as usize]))
///     }
/// }
///
/// let store = ChunkStore::zero_copy(Kept(vec![vec![0, 1, 2], vec![3, 4, 0]]))?;
/// let variable = Variable::new(&[5], &[3], 1)?;
/// assert_eq!(nczchunk::read::<u8>(&variable, &store, &Hyperslab::all())?, [0, 1, 2, 3, 4]);
/// # Ok::<(), nczchunk::Error>(())
/// ```
pub trait ZeroCopyReader: Send + Sync {
    /// Lends a chunk: [gives](Take::give) it to `take`, returns what that returns, and may take the chunk back before.
    ///
    /// # Errors
    /// Those of `take`, and any other; it ends the call.
    fn lend<'t>(&self, request: &Request<'_>, take: Take<'t>) -> Result<Taken<'t>>;

    /// The number of bytes of a stored chunk; `None` for a missing one. By default the chunk is lent to be measured.
    ///
    /// # Errors
    /// Those of [`lend`](Self::lend).
    fn stored_len(&self, request: &Request<'_>) -> Result<Option<usize>> {
        let mut len = None;
        let mut measure = |lent: BorrowedChunk<'_>| {
            len = if let BorrowedChunk::Chunk(chunk) = lent { Some(chunk.len()) } else { None };
            Ok(())
        };
        self.lend(request, Take::new(&mut measure))?;
        Ok(len)
    }

    /// See [`ChunkReader::locate`](crate::ChunkReader::locate).
    ///
    /// # Errors
    /// Those of `one`, `Unsupported`, and any other.
    fn locate(&self, plan: &Plan<'_>, one: &mut dyn FnMut(&ChunkLocation<'_>) -> Result<()>) -> Result<()> {
        let _ = (plan, one);
        Err(ErrorKind::Unsupported(NOT_IN_OBJECTS).into())
    }

    /// Sets whether the objects that hold chunks are verified: see
    /// [`ChunkStore::set_verify`](crate::ChunkStore::set_verify). Readers without such objects need nothing here.
    fn set_verify(&mut self, verify: bool) {
        let _ = verify;
    }

    /// Whether several threads may use the reader at the same time, and more than one chunk may be borrowed. If not,
    /// each chunk is given back before the next request.
    fn is_concurrent(&self) -> bool {
        true
    }

    /// Whether lending a chunk may take any time, for example to fetch or decode it. Then the worthwhile number of
    /// threads is measured, as for readers that fill buffers, and not estimated from the bytes.
    fn takes_time(&self) -> bool {
        false
    }

    /// Whether chunks may be longer than expected. If so, their first bytes count, as in netCDF-C; if not, longer
    /// chunks are refused.
    fn accepts_longer(&self) -> bool {
        false
    }

    /// Whether chunks can be changed. If `true`, the reader implements `change`.
    fn is_writable(&self) -> bool {
        false
    }

    /// Lends a chunk to be changed: [gives](Change::give) it to `change`, keeps the changed chunk, and returns what
    /// `change` returned. If `covered`, every element inside the dimensions will be replaced, so the chunk need not be
    /// read.
    ///
    /// # Errors
    /// Those of `change`, and any other; it ends the call.
    fn change<'t>(&self, request: &Request<'_>, covered: bool, change: Change<'t>) -> Result<Taken<'t>> {
        let _ = (request, covered, change);
        Err(ErrorKind::ReadOnly.into())
    }
}

/// The part of a lent chunk that counts: all of it, or its first bytes if it may be longer than it should be.
#[inline]
pub fn due<'b>(lender: &dyn ZeroCopyReader, bytes: &'b [u8], expected: usize) -> Result<&'b [u8]> {
    match bytes.get(..expected) {
        Some(due) if bytes.len() == expected || lender.accepts_longer() => Ok(due),
        _ => Err(ErrorKind::StoredLength { found: bytes.len(), expected }.into()),
    }
}

/// [`due`] of a chunk that is lent to be changed.
pub fn due_mut<'b>(lender: &dyn ZeroCopyReader, bytes: &'b mut [u8], expected: usize) -> Result<&'b mut [u8]> {
    let found = bytes.len();
    match bytes.get_mut(..expected) {
        Some(due) if found == expected || lender.accepts_longer() => Ok(due),
        _ => Err(ErrorKind::StoredLength { found, expected }.into()),
    }
}
