//! A whole chunk, decoded, into a buffer of its size; and the way back.
#![allow(unsafe_code)]

use std::ops::Range;

use super::base::{ChunkStore, Reader};
use super::chunk_reader::{ChunkReader, check_part};
use super::memory::Encoded;
use super::request::{Filled, Request};
use super::zero_copy::{BorrowedChunk, Take};
use crate::alloc::Scratch;
use crate::buffer::Buffer;
use crate::codec::Between;
use crate::error::{ErrorKind, Result};
use crate::grid::Access;
use crate::threads::Threads;

/// What was fetched of a chunk.
pub enum Fetched<'e> {
    /// There is no such chunk.
    Absent,
    /// It is in the buffer.
    Filled,
    /// These are its bytes from the first on. Nothing was copied.
    Bytes(&'e [u8]),
}

impl Fetched<'_> {
    /// Puts the bytes into the buffer, which has the chunk's size, unless they are there; `false` for an absent chunk.
    pub(crate) fn fill(self, chunk: &mut Buffer<'_>) -> Result<bool> {
        match self {
            Fetched::Absent => return Ok(false),
            Fetched::Bytes(bytes) if !chunk.write(bytes) => return Err(ErrorKind::Internal.into()),
            Fetched::Filled | Fetched::Bytes(_) => {}
        }
        Ok(true)
    }
}

impl ChunkStore<'_> {
    /// Fetches a chunk into an empty buffer of the chunk's size, or tells where its bytes are already. The bytes
    /// `needed` are there afterwards, with all before them; the rest may be missing, unless they reach to the end. Of a
    /// chunk with codecs the buffer may be as large as these bytes: then these alone are put there.
    #[doc(hidden)]
    pub fn fetch<'e>(
        &self,
        request: &Request<'_>,
        needed: Range<usize>,
        chunk: &mut Buffer<'_>,
        encoded: &'e mut Encoded<'_>,
    ) -> Result<Fetched<'e>> {
        let (access, chunk_bytes) = (request.access(), request.chunk_bytes());
        self.verify_stored(request)?;
        match &self.reader {
            Reader::LendingTexts(_) => Err(ErrorKind::Internal.into()),
            Reader::Lending(lender) => {
                let mut fetched = Fetched::Absent;
                let mut take = |lent: BorrowedChunk<'_>| {
                    let BorrowedChunk::Chunk(stored) = lent else { return Ok(()) };
                    let from = needed.start;
                    // What is on loan has to be copied.
                    if let Fetched::Bytes(bytes) =
                        self.decode(request, stored, needed.clone(), chunk, encoded.between())?
                    {
                        let begin = if chunk.capacity() < chunk_bytes { from } else { 0 };
                        let end = bytes.len().min(begin + chunk.capacity());
                        if !chunk.write(bytes.get(begin..end).ok_or(ErrorKind::Internal)?) {
                            return Err(ErrorKind::Internal.into());
                        }
                    }
                    fetched = Fetched::Filled;
                    Ok(())
                };
                lender.lend(request, Take::new(&mut take))?;
                Ok(fetched)
            }
            Reader::Filling(filler) if self.codecs(access).is_empty() => match filler.fill(request, chunk)? {
                Filled::Absent => Ok(Fetched::Absent),
                Filled::Stored(stored) => {
                    let size = chunk.capacity();
                    check_part(&**filler, 0..size, size, (stored, chunk.filled().len()))?;
                    Ok(Fetched::Filled)
                }
            },
            Reader::Filling(filler) => {
                let room = self.first_size(access, chunk_bytes);
                let check = |len| self.check_stored(access, chunk_bytes, len);
                let len = fetch_stored(&**filler, request, (room, check), &mut encoded.stored)?;
                let Some(len) = len else { return Ok(Fetched::Absent) };
                let Encoded { stored, between: [one, other] } = encoded;
                // SAFETY: `fetch_stored` has filled so many bytes.
                let stored = unsafe { stored.filled(len) };
                self.decode(request, stored, needed, chunk, [one, other])
            }
        }
    }

    /// Decodes a stored chunk: see [`fetch`](Self::fetch).
    pub(crate) fn decode<'e>(
        &self,
        request: &Request<'_>,
        stored: &'e [u8],
        needed: Range<usize>,
        chunk: &mut Buffer<'_>,
        between: Between<'e>,
    ) -> Result<Fetched<'e>> {
        let (mut codecs, chunk_bytes) = (self.codecs(request.access()), request.chunk_bytes());
        if let Reader::Filling(filler) = &self.reader {
            codecs = filler.own_codecs(request.chunk()).unwrap_or(codecs);
            let skipped = filler.skipped_codecs(request.chunk())?;
            if skipped != 0 {
                codecs.decode_without(skipped, stored, (needed, chunk_bytes), chunk, between, self.limit)?;
                return Ok(Fetched::Filled);
            }
        }
        let bytes = if chunk.capacity() < chunk_bytes {
            codecs.decode_part(stored, (needed, self.verify), chunk_bytes, chunk, between, self.limit)?
        } else {
            let needed = if self.verify { 0..chunk_bytes } else { needed };
            codecs.decode(stored, needed, chunk, between, self.limit)?
        };
        Ok(bytes.map_or(Fetched::Filled, Fetched::Bytes))
    }

    /// Whether to decode these bytes of a chunk that is read takes nearly as long as to decode all of it.
    pub(crate) fn decodes_most(&self, chunk_bytes: usize, needed: &Range<usize>) -> Result<bool> {
        self.codecs(Access::Read).decodes_most(chunk_bytes, needed)
    }

    /// What is stored of a chunk: the chunk itself where there are no codecs, or what up to so many threads encode.
    pub(crate) fn encode<'e>(
        &self,
        access: Access,
        chunk: &'e [u8],
        encoded: &'e mut Encoded<'_>,
        threads: Threads<'_>,
    ) -> Result<&'e [u8]> {
        let codecs = self.codecs(access);
        if codecs.is_empty() { Ok(chunk) } else { codecs.encode(chunk, encoded.between(), threads) }
    }

    /// Stores what was encoded of a chunk.
    pub(crate) fn put(&self, request: &Request<'_>, encoded: &[u8]) -> Result<()> {
        let Reader::Filling(filler) = &self.reader else { return Err(ErrorKind::ReadOnly.into()) };
        filler.store(request, encoded)
    }
}

/// Fetches what is stored into memory, `room` bytes at first, and tells how many bytes it is; `None` for an absent
/// chunk. Before more memory is taken, `check` is asked whether it may be.
pub(super) fn fetch_stored(
    filler: &dyn ChunkReader,
    request: &Request<'_>,
    (mut room, check): (usize, impl Fn(usize) -> Result<()>),
    memory: &mut Scratch,
) -> Result<Option<usize>> {
    // There is room for any chunk that was encoded in one go. A chunk that was encoded in many small pieces can need
    // more: then the reader says so, and is asked once more.
    let mut num_asked = 0;
    loop {
        num_asked += 1;
        let mut buffer = Buffer::new(memory.room(room)?);
        let Filled::Stored(stored) = filler.fill(request, &mut buffer)? else { return Ok(None) };
        let found = buffer.filled().len();
        if stored == found {
            return Ok(Some(found));
        }
        if stored <= room {
            return Err(ErrorKind::StoredLength { found, expected: stored }.into());
        }
        room = room_again(num_asked, stored, &check)?;
    }
}

/// How often a chunk is asked for that is longer each time, because it is replaced meanwhile.
const ATTEMPTS: usize = 8;

/// With how much room a chunk is asked for once more, which has been asked for so many times and was found to be stored
/// in so many bytes, for which there was no room. `check` is asked whether so much memory may be taken.
///
/// # Errors
/// `Changed` if that was often enough; those of `check`.
pub(crate) fn room_again(num_asked: usize, stored: usize, check: impl Fn(usize) -> Result<()>) -> Result<usize> {
    if num_asked >= ATTEMPTS {
        return Err(ErrorKind::Changed.into());
    }
    check(stored)?;
    // One that was replaced by a longer one may be a little longer still the next time.
    let more = stored.saturating_add(stored / 8);
    Ok(if num_asked > 1 && check(more).is_ok() { more } else { stored })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use super::*;
    use crate::limits::MemoryLimits;

    /// A chunk that is longer each time it is asked for, up to a length.
    #[test]
    fn a_chunk_that_is_replaced_by_longer_ones_is_read() {
        let limit = MemoryLimits::default().with_chunk_bytes(1000).chunk();
        let fetched = |most: usize| {
            let num_asked = AtomicUsize::new(0);
            let reader = |_: &Request<'_>, buffer: &mut Buffer<'_>| {
                let len = (100 * (num_asked.fetch_add(1, Relaxed) + 1)).min(most);
                buffer.write(&vec![7; len.min(buffer.capacity())]);
                Ok(Filled::Stored(len))
            };
            let (request, mut memory) = (Request::new(&[0], Access::Read, 10), Scratch::EMPTY);
            let len = fetch_stored(&reader, &request, (10, |len| limit.check(len)), &mut memory);
            (len.map_err(|error| error.kind()), num_asked.into_inner())
        };
        assert_eq!(fetched(10), (Ok(Some(10)), 1));
        assert_eq!(fetched(100), (Ok(Some(100)), 2));
        assert_eq!(fetched(700), (Ok(Some(700)), 8));
        assert_eq!(fetched(900), (Err(ErrorKind::Changed), 8));
        // The memory that may be taken is the limit's whatever the chunk does.
        let limit = MemoryLimits::default().with_chunk_bytes(250).chunk();
        assert_eq!(room_again(2, 240, |len| limit.check(len)), Ok(240));
        assert_eq!(room_again(2, 200, |len| limit.check(len)), Ok(225));
        assert_eq!(room_again(2, 300, |len| limit.check(len)).unwrap_err(), limit.exceeded(Some(300)));
    }
}
