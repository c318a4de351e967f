//! Readers that keep chunks in memory and lend them.

use super::request::Request;
use crate::error::{ErrorKind, Result};

/// What a lending reader gives.
#[derive(Debug, Clone, Copy)]
pub enum Lent<'r> {
    /// There is no such chunk: it reads as the fill value.
    Absent,
    /// A stored chunk.
    Chunk(&'r [u8]),
    /// There is no such chunk, and these are fill values in native byte order to use in its place.
    FillValues(&'r [u8]),
}

/// A chunk that is lent to be changed.
#[derive(Debug)]
pub enum Borrowed<'r> {
    /// A stored chunk. What it holds does not matter if the write covers the chunk.
    Chunk(&'r mut [u8]),
    /// A chunk that was absent: the library fills it with the fill value where it is not written to. It may hold
    /// anything, but zeros if the variable has a copier.
    New(&'r mut [u8]),
}

/// A reader that keeps chunks in memory and lends them.
pub trait Lend: Send + Sync {
    /// Lends a chunk: gives it to `take`, once, and may take it back when that returns. What `take` returns is passed
    /// on.
    ///
    /// # Errors
    /// Those of `take`, and any other; it ends the call.
    fn lend(&self, request: &Request<'_>, take: &mut dyn FnMut(Lent<'_>) -> Result<()>) -> Result<()>;

    /// How many bytes a chunk has as it is stored; `None` for an absent one. Without this it is lent to be measured.
    #[doc(hidden)]
    fn stored_len(&self, request: &Request<'_>) -> Result<Option<usize>> {
        let mut len = None;
        self.lend(request, &mut |lent| {
            len = if let Lent::Chunk(chunk) = lent { Some(chunk.len()) } else { None };
            Ok(())
        })?;
        Ok(len)
    }

    /// Whether several threads may use the reader at the same time and more than one chunk may be on loan. If not, each
    /// chunk is given back before another is asked for.
    fn is_concurrent(&self) -> bool {
        true
    }

    /// Whether lending a chunk may take any time, as where it is fetched or decoded first. Then how many threads are
    /// worth while is measured, as with readers that fill, and not estimated from the bytes.
    fn takes_time(&self) -> bool {
        false
    }

    /// Whether chunks may be longer than they should be. Then their first bytes count, as in netCDF-C; if not, they are
    /// refused.
    fn accepts_longer(&self) -> bool {
        false
    }

    /// Whether chunks can be changed. A reader that can be written to says so and has `change`.
    fn is_writable(&self) -> bool {
        false
    }

    /// Has a chunk changed: gives it to `change`, once, and keeps what that made of it. If `covered`, every element of
    /// it that lies inside the dimensions will be replaced, so it need not be read. If `change` fails, its contents are
    /// unspecified, and the error is passed on.
    ///
    /// # Errors
    /// Any error; it ends the call.
    fn change(
        &self,
        request: &Request<'_>,
        covered: bool,
        change: &mut dyn FnMut(Borrowed<'_>) -> Result<()>,
    ) -> Result<()> {
        let _ = (request, covered, change);
        Err(ErrorKind::ReadOnly.into())
    }
}

/// The part of a lent chunk that counts: all of it, or its first bytes if it may be longer than it should be.
#[inline]
pub(crate) fn due<'b>(lender: &dyn Lend, bytes: &'b [u8], expected: usize) -> Result<&'b [u8]> {
    match bytes.get(..expected) {
        Some(due) if bytes.len() == expected || lender.accepts_longer() => Ok(due),
        _ => Err(ErrorKind::StoredLength { found: bytes.len(), expected }.into()),
    }
}

/// [`due`] of a chunk that is lent to be changed.
pub(crate) fn due_mut<'b>(lender: &dyn Lend, bytes: &'b mut [u8], expected: usize) -> Result<&'b mut [u8]> {
    let found = bytes.len();
    match bytes.get_mut(..expected) {
        Some(due) if found == expected || lender.accepts_longer() => Ok(due),
        _ => Err(ErrorKind::StoredLength { found, expected }.into()),
    }
}
