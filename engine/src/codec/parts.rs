//! A part of a large chunk, which takes room for what is needed of it and not for the whole chunk.
#![allow(unsafe_code)]

use std::ops::Range;

use super::chain::{Between, Chain, Stage, check_decoded, decode_between};
use super::steps::Steps;
use super::traits::Codec;
use crate::alloc::Scratch;
use crate::buffer::Buffer;
use crate::error::{ErrorKind, Result};
use crate::limits::Limit;

impl Chain<'_> {
    /// Decodes the bytes `needed` of a stored chunk of `chunk_bytes` into an empty buffer that has room for just these.
    /// If they reach to the end, or `is_to_end` says so, the chunk is decoded to its end and has just these bytes.
    ///
    /// What the last codec to decode gives is not kept but for the needed bytes, if it is one that decodes in steps. So
    /// is what the last but one gives, if the last one only puts bytes elsewhere.
    ///
    /// Or nothing is copied, and what is returned are the bytes of the chunk from its first to the last that is needed,
    /// or more: see [`Codec::decoded_as_is`](super::traits::Codec::decoded_as_is).
    pub(crate) fn decode_part<'i>(
        &self,
        stored: &'i [u8],
        (needed, is_to_end): (Range<usize>, bool),
        chunk_bytes: usize,
        part: &mut Buffer<'_>,
        between: Between<'i>,
        limit: Limit,
    ) -> Result<Option<&'i [u8]>> {
        self.check_len(stored, chunk_bytes)?;
        let Some(first) = self.codecs.first() else { return Err(ErrorKind::Internal.into()) };
        // A checksum is compared then, for which nothing before may be left out.
        let is_to_end = is_to_end || needed.end == chunk_bytes;
        let stages = self.stages(chunk_bytes, &if is_to_end { 0..chunk_bytes } else { needed.clone() })?;
        let Some((ranges, stands_for)) = first.encoded_ranges(needed.clone(), chunk_bytes)? else {
            let (input, spare, _) = self.decode_down_to(1, stored, &stages, between, limit)?;
            let of = if is_to_end { 0..chunk_bytes } else { needed.clone() };
            let least = of.end;
            if let Some(len) = first.decoded_as_is(input, of, chunk_bytes)? {
                let bytes = input.get(..len).ok_or(ErrorKind::Internal)?;
                return check_decoded(bytes, least, chunk_bytes).map(|()| Some(bytes));
            }
            let stage = stages.first().ok_or(ErrorKind::Internal)?;
            return pick_from((&**first, stage), input, (&[needed], is_to_end), part, spare, limit).map(|()| None);
        };
        let (mut picked, mut moved) = (Scratch::EMPTY, Scratch::EMPTY);
        limit.check(stands_for.len())?;
        let mut encoded = Buffer::new(picked.room(ranges.iter().map(Range::len).sum())?);
        self.pick((1, &stages), stored, (&ranges, is_to_end), &mut encoded, between, limit)?;
        let mut decoded = Buffer::new(moved.room(stands_for.len())?);
        first.decode(encoded.filled(), 0..stands_for.len(), &mut decoded)?;
        let bytes = decoded.filled().get(needed.start - stands_for.start..needed.end - stands_for.start);
        part.write(bytes.ok_or(ErrorKind::Internal)?);
        Ok(None)
    }

    /// Decodes a stored chunk that some of the codecs were left out of, a bit for each, into an empty buffer that has
    /// room for the whole chunk or for the bytes `needed`, which are there afterwards.
    pub(crate) fn decode_without(
        &self,
        skipped: u32,
        stored: &[u8],
        (needed, chunk_bytes): (Range<usize>, usize),
        chunk: &mut Buffer<'_>,
        [mut spare, mut last]: Between<'_>,
        limit: Limit,
    ) -> Result<()> {
        let is_used = |i: usize| i >= 32 || skipped & 1 << i == 0;
        let used = || self.codecs.iter().enumerate().filter(|(i, _)| is_used(*i)).map(|(_, codec)| codec);
        // How many bytes of `last` the codec before has filled; `None` as long as there was none.
        let mut given = None;
        for before in (0..used().count()).rev() {
            let size = used().take(before).fold(chunk_bytes, |size, codec| codec.encoded_bound(size));
            let codec = used().nth(before).ok_or(ErrorKind::Internal)?;
            // SAFETY: the codec before has filled so many bytes of it.
            let input = given.map_or(stored, |len| unsafe { last.filled(len) });
            let (filled, _) = decode_between(&**codec, input, &Stage { size, needed: 0..size }, spare, limit)?;
            given = Some(filled);
            std::mem::swap(&mut spare, &mut last);
        }
        // SAFETY: as above.
        let bytes = given.map_or(stored, |len| unsafe { last.filled(len) });
        if bytes.len() != chunk_bytes {
            return Err(ErrorKind::DecodedLength { found: Some(bytes.len()), expected: chunk_bytes }.into());
        }
        let bytes = if chunk.capacity() < chunk_bytes { bytes.get(needed).ok_or(ErrorKind::Internal)? } else { bytes };
        if chunk.write(bytes) { Ok(()) } else { Err(ErrorKind::Internal.into()) }
    }

    /// Puts some ranges of what this codec decodes to into an empty buffer, one behind the other. If there is no such
    /// codec, they are those of what is stored.
    fn pick(
        &self,
        (codec, stages): (usize, &[Stage]),
        stored: &[u8],
        (ranges, is_to_end): (&[Range<usize>], bool),
        picked: &mut Buffer<'_>,
        between: Between<'_>,
        limit: Limit,
    ) -> Result<()> {
        let (Some(own), Some(stage)) = (self.codecs.get(codec), stages.get(codec)) else {
            let mut steps = Steps::new(ranges, stored.len(), is_to_end, picked);
            steps.give(stored)?;
            return steps.check();
        };
        let (input, spare, _) = self.decode_down_to(codec + 1, stored, stages, between, limit)?;
        pick_from((&**own, stage), input, (ranges, is_to_end), picked, spare, limit)
    }
}

/// Puts some ranges of what a codec decodes this input to into an empty buffer.
fn pick_from(
    (codec, stage): (&dyn Codec, &Stage),
    input: &[u8],
    (ranges, is_to_end): (&[Range<usize>], bool),
    picked: &mut Buffer<'_>,
    spare: &mut Scratch,
    limit: Limit,
) -> Result<()> {
    let mut steps = Steps::new(ranges, stage.size, is_to_end, picked);
    if !codec.decode_in_steps(input, &mut steps)? {
        let (filled, _) = decode_between(codec, input, stage, spare, limit)?;
        // SAFETY: so many bytes of it have just been filled.
        steps.give(unsafe { spare.filled(filled) })?;
    }
    steps.check()
}

#[cfg(all(test, feature = "default", not(miri)))]
// One range is a list of ranges.
#[allow(clippy::single_range_in_vec_init)]
mod tests {
    use super::*;
    use crate::codec::public::{Blosc, BloscShuffle, Codec, Crc32c, Lz4, Shuffle, Zlib, Zstd};
    use crate::threads::Threads;

    fn chain(codecs: Vec<Box<dyn Codec>>) -> Chain<'static> {
        let mut chain = Chain::default();
        for codec in codecs {
            chain.reserve().unwrap();
            chain.push(codec);
        }
        chain
    }

    fn chains() -> Vec<Chain<'static>> {
        let (zstd, zlib) = (|| Box::new(Zstd::new(1, true)), || Box::new(Zlib::default()));
        let (shuffle, crc32c, lz4) = (|size| Box::new(Shuffle::new(size)), || Box::new(Crc32c), || Box::new(Lz4));
        // Of several blocks.
        let blosc = || Box::new(Blosc::new("lz4", 5, BloscShuffle::None, 1, 512));
        vec![
            chain(vec![zstd()]),
            chain(vec![lz4()]),
            chain(vec![crc32c()]),
            chain(vec![shuffle(4)]),
            chain(vec![Box::new(Blosc::default())]),
            chain(vec![shuffle(4), zstd()]),
            chain(vec![shuffle(8), zlib(), crc32c()]),
            chain(vec![shuffle(7), lz4()]),
            chain(vec![shuffle(2), crc32c()]),
            chain(vec![crc32c(), zstd()]),
            chain(vec![zlib(), zstd(), crc32c()]),
            chain(vec![shuffle(4), crc32c(), zlib()]),
            chain(vec![shuffle(4), crc32c(), lz4()]),
            chain(vec![shuffle(4), crc32c(), crc32c(), zlib()]),
            chain(vec![crc32c(), blosc()]),
            chain(vec![shuffle(4), crc32c(), blosc()]),
            chain(vec![crc32c(), crc32c(), blosc()]),
        ]
    }

    /// What is decoded of these bytes.
    fn part(
        chain: &Chain<'_>,
        stored: &[u8],
        (needed, is_to_end): (Range<usize>, bool),
        chunk_bytes: usize,
        limit: Limit,
    ) -> Result<Vec<u8>> {
        let (mut one, mut other, mut room) = (Scratch::EMPTY, Scratch::EMPTY, Scratch::EMPTY);
        let mut part = Buffer::new(room.room(needed.len()).unwrap());
        let between = [&mut one, &mut other];
        let as_is = chain.decode_part(stored, (needed.clone(), is_to_end), chunk_bytes, &mut part, between, limit)?;
        Ok(as_is.map_or(part.filled(), |bytes| &bytes[needed]).to_vec())
    }

    fn stored(chain: &Chain<'_>, chunk: &[u8]) -> Vec<u8> {
        let (mut one, mut other) = (Scratch::EMPTY, Scratch::EMPTY);
        chain.encode(chunk, [&mut one, &mut other], Threads::ONE).unwrap().to_vec()
    }

    #[test]
    fn a_part_is_what_the_whole_has_there() {
        let chunk: Vec<u8> = (0..5003u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 28) as u8).collect();
        for chain in chains() {
            let stored = stored(&chain, &chunk);
            for begin in [0, 1, 700, 2501, 4990, 4999, 5002] {
                for end in [begin + 1, begin + 9, 4999, 5000, 5001, 5003] {
                    let needed = begin..end.clamp(begin + 1, chunk.len());
                    for is_to_end in [false, true] {
                        let found = part(&chain, &stored, (needed.clone(), is_to_end), chunk.len(), Limit::NONE);
                        let names: Vec<&str> = chain.names().collect();
                        assert_eq!(found.unwrap(), chunk[needed.clone()], "{names:?} {needed:?} {is_to_end}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_part_is_verified_if_that_is_asked_for() {
        let chunk: Vec<u8> = (0..300_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 28) as u8).collect();
        let size = chunk.len();
        let [zstd, summed] = [vec![Box::new(Zstd::new(1, true)) as _], vec![Box::new(Crc32c) as _]].map(chain);
        for chain in [zstd, summed] {
            let mut stored = stored(&chain, &chunk);
            *stored.last_mut().unwrap() ^= 1;
            assert_eq!(part(&chain, &stored, (7..9, false), size, Limit::NONE).unwrap(), chunk[7..9]);
            assert!(part(&chain, &stored, (7..9, true), size, Limit::NONE).is_err());
            assert!(part(&chain, &stored, (size - 2..size, false), size, Limit::NONE).is_err());
        }
    }

    /// What was stored as it is, with a checksum behind it, is used where it is.
    #[test]
    fn bytes_with_a_checksum_are_verified_and_not_copied() {
        let chunk: Vec<u8> = (0..1000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 28) as u8).collect();
        for codecs in [vec![Box::new(Crc32c) as Box<dyn Codec>], vec![Box::new(Crc32c), Box::new(Crc32c)]] {
            let chain = chain(codecs);
            let mut stored = stored(&chain, &chunk);
            for is_spoilt in [false, true] {
                stored[9] ^= u8::from(is_spoilt);
                for (needed, is_to_end, is_part) in [
                    (0..1000, false, false),
                    (0..500, false, false),
                    (500..600, false, false),
                    (500..600, false, true),
                    (500..600, true, true),
                    (999..1000, false, true),
                ] {
                    let is_verified = needed.start == 0 || (is_part && (is_to_end || needed.end == 1000));
                    let (mut one, mut other, mut room) = (Scratch::EMPTY, Scratch::EMPTY, Scratch::EMPTY);
                    let size = if is_part { needed.len() } else { 1000 };
                    let mut buffer = Buffer::new(room.room(size).unwrap());
                    let (between, end) = ([&mut one, &mut other], needed.end);
                    let bytes = if is_part {
                        chain.decode_part(&stored, (needed, is_to_end), 1000, &mut buffer, between, Limit::NONE)
                    } else {
                        chain.decode(&stored, needed, &mut buffer, between, Limit::NONE)
                    };
                    if is_spoilt && is_verified {
                        assert!(matches!(bytes.unwrap_err().kind(), ErrorKind::Corrupt { .. }));
                    } else {
                        let bytes = bytes.unwrap().unwrap();
                        assert!(std::ptr::eq(bytes, &stored[..bytes.len()]) && bytes.len() >= end);
                        assert!(buffer.filled().is_empty());
                    }
                }
            }
        }
    }

    /// A chunk that is not as long as it should be.
    #[test]
    fn a_part_is_of_a_chunk_with_the_right_length() {
        let chunk = vec![7; 5000];
        for chain in chains() {
            let stored = stored(&chain, &chunk);
            for size in [4992, 5008] {
                let names: Vec<&str> = chain.names().collect();
                let end = (size - 1..size, false);
                let error = part(&chain, &stored, end, size, Limit::NONE).unwrap_err();
                assert_eq!(error.status(), crate::status::EBADCHUNK, "{names:?} {size}: {error}");
            }
        }
    }

    /// Where something has to be decoded whole, it takes no more memory than the limit.
    #[test]
    fn memory_is_limited() {
        let limit = crate::limits::MemoryLimits::default().with_chunk_bytes(100_000).chunk();
        for (chain, is_whole) in chains().iter().zip([false, true, false, false, false, false, false, true]) {
            let stored = stored(chain, &vec![7; 1 << 20]);
            if stored.len() <= 100_000 {
                let found = part(chain, &stored, (9..11, false), 1 << 20, limit).map_err(|error| error.kind());
                let due = ErrorKind::Limit { name: "chunk_bytes", needed: None, limit: 100_000 };
                assert_eq!(found, if is_whole { Err(due) } else { Ok(vec![7; 2]) });
            }
        }
    }
}
