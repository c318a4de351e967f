//! Codecs one after another: what the first makes of a chunk is encoded by the second, and so on.
#![allow(unsafe_code)]

use std::ops::Range;

use smallvec::SmallVec;

use super::traits::{Codec, InNumcodecs};
use crate::alloc::Scratch;
use crate::buffer::Buffer;
use crate::error::{ErrorKind, Result};
use crate::limits::Limit;
use crate::threads::Threads;

/// Codecs in the order of encoding.
#[derive(Default)]
pub struct Chain<'c> {
    pub(super) codecs: Vec<Box<dyn Codec + 'c>>,
}

/// What a codec decodes to: how many bytes at most, and which of them are needed.
pub(super) struct Stage {
    pub(super) size: usize,
    pub(super) needed: Range<usize>,
}

impl Stage {
    fn is_all(&self) -> bool {
        self.needed == (0..self.size)
    }
}

/// Memory for what lies between two codecs: what one gives and what the next takes.
pub type Between<'s> = [&'s mut Scratch; 2];

impl<'c> Chain<'c> {
    /// Makes room for one more codec.
    pub fn reserve(&mut self) -> Result<()> {
        Ok(self.codecs.try_reserve(1).map_err(|_| ErrorKind::OutOfMemory)?)
    }

    /// Adds a codec at the end: it encodes what the others have made. There is [room](Self::reserve) for it.
    pub fn push(&mut self, codec: Box<dyn Codec + 'c>) {
        self.codecs.push(codec);
    }

    pub fn is_empty(&self) -> bool {
        self.codecs.is_empty()
    }

    /// The codecs' names in their order, and what numcodecs calls them: see [`Codec::numcodecs`].
    pub(crate) fn numcodecs(&self) -> impl Iterator<Item = (&str, Option<InNumcodecs>)> {
        self.codecs.iter().map(|codec| (codec.name(), codec.numcodecs()))
    }

    /// The codecs' names in their order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.codecs.iter().map(|codec| codec.name())
    }

    pub fn is_concurrent(&self) -> bool {
        self.codecs.iter().all(|codec| codec.is_concurrent())
    }

    pub fn can_encode(&self) -> bool {
        self.codecs.iter().all(|codec| codec.can_encode())
    }

    /// Which codec's settings are the reason that it cannot encode, and why.
    pub fn why_not_encoded(&self) -> Option<(&str, &'static str)> {
        self.codecs.iter().find_map(|codec| Some((codec.name(), codec.why_not_encoded()?)))
    }

    /// The most bytes that a chunk can take encoded by all codecs in one go.
    pub fn encoded_bound(&self, chunk_bytes: usize) -> usize {
        self.codecs.iter().fold(chunk_bytes, |size, codec| codec.encoded_bound(size))
    }

    /// The most bytes of memory that so many threads take to encode or decode one chunk: what lies between the codecs,
    /// if it is encoded also what the last one makes, and what the codecs take themselves in each thread.
    pub fn working_memory(&self, chunk_bytes: usize, encodes: bool, threads: usize) -> usize {
        let (mut size, mut largest, mut own) = (chunk_bytes, 0, 0usize);
        for codec in &self.codecs {
            own = own.saturating_add(codec.working_memory(size, encodes));
            size = codec.encoded_bound(size);
            largest = size.max(largest);
        }
        let buffers = self.codecs.len().saturating_sub(usize::from(!encodes)).min(2);
        largest.saturating_mul(buffers).saturating_add(own.saturating_mul(threads))
    }

    /// How many bytes a chunk takes encoded, if that does not depend on what they are.
    fn encoded_len(&self, chunk_bytes: usize) -> Option<usize> {
        self.codecs.iter().try_fold(chunk_bytes, |size, codec| codec.encoded_len(size))
    }

    /// What each codec decodes to: that of the first is the chunk.
    pub(super) fn stages(&self, chunk_bytes: usize, needed: &Range<usize>) -> Result<SmallVec<[Stage; 4]>> {
        let mut stages = SmallVec::new();
        stages.try_reserve(self.codecs.len()).map_err(|_| ErrorKind::OutOfMemory)?;
        let mut stage = Stage { size: chunk_bytes, needed: needed.clone() };
        for codec in &self.codecs {
            let (size, is_all) = (codec.encoded_bound(stage.size), stage.is_all());
            let mut needed = if is_all { 0..size } else { codec.needed_encoded(stage.needed.clone(), stage.size) };
            // What reaches to the end of a chunk may be verified by what follows there.
            needed.end = if stage.needed.end >= stage.size { size } else { needed.end.min(size) };
            needed.start = needed.start.min(needed.end);
            stages.push(std::mem::replace(&mut stage, Stage { size, needed }));
        }
        Ok(stages)
    }

    /// Whether one of the codecs decodes three quarters or more to have these bytes of a chunk.
    pub(crate) fn decodes_most(&self, chunk_bytes: usize, needed: &Range<usize>) -> Result<bool> {
        let mut stages = self.codecs.iter().zip(self.stages(chunk_bytes, needed)?);
        Ok(stages.any(|(codec, Stage { size, needed })| codec.decoded_for(needed) >= size - size / 4))
    }

    /// Decodes a stored chunk into an empty buffer of a chunk's size. The bytes `needed` are there afterwards, with all
    /// before them; if they reach to the end, the chunk has exactly the size of the buffer. Or nothing is copied, and
    /// what is returned are the bytes, as they belong into the buffer: see [`Codec::decoded_as_is`].
    pub fn decode<'i>(
        &self,
        stored: &'i [u8],
        needed: Range<usize>,
        chunk: &mut Buffer<'_>,
        between: Between<'i>,
        limit: Limit,
    ) -> Result<Option<&'i [u8]>> {
        self.check_len(stored, chunk.capacity())?;
        let least = needed.end;
        let as_is = self.decode_stages(stored, needed, chunk, between, limit)?;
        check_decoded(as_is.unwrap_or(chunk.filled()), least, chunk.capacity())?;
        Ok(as_is)
    }

    /// Refuses a chunk that is stored with a length that it cannot have.
    pub(super) fn check_len(&self, stored: &[u8], chunk_bytes: usize) -> Result<()> {
        match self.encoded_len(chunk_bytes) {
            Some(expected) if expected != stored.len() => {
                Err(ErrorKind::StoredLength { found: stored.len(), expected }.into())
            }
            _ => Ok(()),
        }
    }

    /// Decodes all of a stored chunk, whatever its length, into an empty buffer that has room for it; else the error is
    /// `DecodedLength`.
    pub(crate) fn decode_any_length(
        &self,
        stored: &[u8],
        chunk: &mut Buffer<'_>,
        between: Between<'_>,
        limit: Limit,
    ) -> Result<()> {
        let capacity = chunk.capacity();
        if let Some(bytes) = self.decode_stages(stored, 0..capacity, chunk, between, limit)? {
            chunk.write(bytes);
        }
        Ok(())
    }

    /// Decodes with one codec after another: into the buffer, or to what is returned.
    fn decode_stages<'i>(
        &self,
        stored: &'i [u8],
        needed: Range<usize>,
        chunk: &mut Buffer<'_>,
        between: Between<'i>,
        limit: Limit,
    ) -> Result<Option<&'i [u8]>> {
        let stages = self.stages(chunk.capacity(), &needed)?;
        let Some(first) = self.codecs.first() else { return Err(ErrorKind::Internal.into()) };
        let (input, _, has_gaps) = self.decode_down_to(1, stored, &stages, between, limit)?;
        chunk.set_gaps(has_gaps);
        let as_is = first.decoded_as_is(input, needed.clone(), chunk.capacity())?;
        match as_is {
            Some(len) => Ok(Some(input.get(..len).ok_or(ErrorKind::Internal)?)),
            None => first.decode(input, needed, chunk).map(|()| None),
        }
    }

    /// Decodes with the codecs from the last one down to this, and gives what it decodes to, memory that is left, and
    /// whether something before what is needed was left out.
    pub(super) fn decode_down_to<'i, 's: 'i>(
        &self,
        codec: usize,
        mut stored: &'i [u8],
        stages: &[Stage],
        [mut spare, mut last]: Between<'s>,
        limit: Limit,
    ) -> Result<(&'i [u8], &'s mut Scratch, bool)> {
        // How many bytes of `last` the codec before has filled; `None` as long as there was none.
        let mut given = None;
        let mut has_gaps = false;
        for (codec, stage) in self.codecs.iter().zip(stages).skip(codec).rev() {
            // SAFETY: the codec before has filled so many bytes of it.
            let input = given.map_or(stored, |len| unsafe { last.filled(len) });
            if let Some(len) = codec.decoded_as_is(input, stage.needed.clone(), stage.size)? {
                match &mut given {
                    Some(given) => *given = len.min(*given),
                    None => stored = stored.get(..len).ok_or(ErrorKind::Internal)?,
                }
                continue;
            }
            let (filled, gaps) = decode_between(&**codec, input, stage, spare, limit)?;
            has_gaps |= gaps;
            given = Some(filled);
            std::mem::swap(&mut spare, &mut last);
        }
        // SAFETY: as above.
        Ok((given.map_or(stored, |len| unsafe { last.filled(len) }), spare, has_gaps))
    }

    /// Encodes a chunk with all codecs, by up to so many threads.
    pub fn encode<'s>(&self, chunk: &[u8], between: Between<'s>, threads: Threads<'_>) -> Result<&'s [u8]> {
        let [mut spare, mut last] = between;
        let mut given = None;
        for codec in &self.codecs {
            // SAFETY: the codec before has filled so many bytes of it.
            let input = given.map_or(chunk, |len| unsafe { last.filled(len) });
            let mut encoded = Buffer::new(spare.room(codec.encoded_bound(input.len()))?);
            codec.encode_by_threads(input, &mut encoded, threads)?;
            given = Some(encoded.filled().len());
            std::mem::swap(&mut spare, &mut last);
        }
        let len = given.ok_or(ErrorKind::Internal)?;
        // SAFETY: the last codec has filled so many bytes of it.
        Ok(unsafe { last.filled(len) })
    }
}

/// Refuses a chunk that decodes to less than is needed of it.
pub(super) fn check_decoded(bytes: &[u8], least: usize, chunk_bytes: usize) -> Result<()> {
    if bytes.len() < least {
        return Err(ErrorKind::DecodedLength { found: Some(bytes.len()), expected: chunk_bytes }.into());
    }
    Ok(())
}

/// So much room is taken for what lies between two codecs, whatever it decodes to.
const FIRST: usize = 64 << 20;

/// Decodes what lies between two codecs: how many bytes it is, and whether something was left out. The room grows as
/// more turns out to be decoded, so that it is not taken for what metadata claim.
pub(super) fn decode_between(
    codec: &dyn Codec,
    input: &[u8],
    stage: &Stage,
    room: &mut Scratch,
    limit: Limit,
) -> Result<(usize, bool)> {
    let most = stage.size.min(limit.bytes);
    let grows = codec.says_too_little_room();
    let mut size = if grows { most.min(input.len().saturating_mul(16).max(FIRST)) } else { stage.size };
    limit.check(size)?;
    loop {
        let mut decoded = Buffer::new(room.room(size)?);
        match codec.decode(input, stage.needed.clone(), &mut decoded) {
            Ok(()) => return Ok((decoded.filled().len(), decoded.has_gaps())),
            Err(error) if !grows || size == stage.size => return Err(error),
            Err(error) if !matches!(error.kind(), ErrorKind::DecodedLength { .. }) => return Err(error),
            Err(_) if size == most => return Err(limit.exceeded(None)),
            Err(_) => size = size.saturating_mul(4).min(most),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Stores bytes as they are, and more behind them, and tells what of them it was asked for.
    struct Told<'t> {
        asked: &'t Mutex<Vec<Range<usize>>>,
        more: usize,
        skips: bool,
        is_concurrent: bool,
    }

    impl Codec for Told<'_> {
        fn name(&self) -> &str {
            "told"
        }

        fn encoded_bound(&self, decoded_size: usize) -> usize {
            decoded_size + self.more
        }

        fn needed_encoded(&self, needed: Range<usize>, _: usize) -> Range<usize> {
            needed
        }

        fn decode(&self, encoded: &[u8], needed: Range<usize>, decoded: &mut Buffer<'_>) -> Result<()> {
            self.asked.lock().unwrap().push(needed.clone());
            decoded.skip(if self.skips { needed.start } else { 0 });
            let begin = decoded.filled().len();
            decoded.write(&encoded[begin..needed.end.min(encoded.len())]);
            Ok(())
        }

        fn encode(&self, decoded: &[u8], encoded: &mut Buffer<'_>) -> Result<()> {
            encoded.write(decoded);
            encoded.write(&vec![0; self.more]);
            Ok(())
        }

        fn is_concurrent(&self) -> bool {
            self.is_concurrent
        }
    }

    #[test]
    fn each_codec_is_asked_for_what_the_one_before_needs() {
        let asked = Mutex::new(Vec::new());
        let mut chain = Chain::default();
        for (more, skips) in [(4, false), (0, true)] {
            chain.reserve().unwrap();
            assert!(chain.codecs.capacity() > chain.codecs.len());
            chain.push(Box::new(Told { asked: &asked, more, skips, is_concurrent: true }));
        }
        let (mut one, mut other) = (Scratch::EMPTY, Scratch::EMPTY);
        let stored = chain.encode(b"0123456789", [&mut one, &mut other], Threads::ONE).unwrap().to_vec();
        assert_eq!((&stored[..], chain.encoded_bound(10)), (&b"0123456789\0\0\0\0"[..], 14));
        let mut decoded = |stored: &[u8], needed: Range<usize>| {
            let mut room = Scratch::EMPTY;
            let mut chunk = Buffer::new(room.room(10).unwrap());
            let result = chain.decode(stored, needed, &mut chunk, [&mut one, &mut other], Limit::NONE).map(|_| ());
            let asked = std::mem::take(&mut *asked.lock().unwrap());
            (result, asked, chunk.has_gaps(), chunk.filled().to_vec())
        };
        // All that is stored, with what is behind the chunk.
        assert_eq!(decoded(&stored, 0..10), (Ok(()), vec![0..14, 0..10], false, b"0123456789".to_vec()));
        assert_eq!(decoded(&stored, 0..5), (Ok(()), vec![0..5, 0..5], false, b"01234".to_vec()));
        assert_eq!(decoded(&stored, 2..5), (Ok(()), vec![2..5, 2..5], true, b"\0\x00234".to_vec()));
        for (needed, found) in [(2..5, 4), (0..10, 9)] {
            let too_few = Err(ErrorKind::DecodedLength { found: Some(found), expected: 10 }.into());
            assert_eq!(decoded(&stored[..found], needed).0, too_few);
        }
    }

    #[test]
    fn a_chain_is_concurrent_if_all_its_codecs_are() {
        let asked = Mutex::new(Vec::new());
        let mut chain = Chain::default();
        for is_concurrent in [true, false, true] {
            chain.push(Box::new(Told { asked: &asked, more: 0, skips: false, is_concurrent }));
            assert_eq!(chain.is_concurrent(), chain.codecs.len() == 1);
        }
        assert_eq!(chain.names().collect::<Vec<_>>(), ["told"; 3]);
    }
}
