//! gzip (RFC 1952) and zlib (RFC 1950): two wrappers round deflate (RFC 1951).
//!
//! A chunk is one zlib stream, or one or more gzip members in a row. Checksums are verified when the end of a stream is
//! reached, so not if decoding stops early. What follows is judged as Python's modules and so numcodecs do: bytes
//! behind a zlib stream are passed over; behind a gzip member may be zeros, and then nothing but another member.
//!
//! The states of streams are kept between chunks.

use super::traits::written;
use crate::alloc::Scratch;
use crate::buffer::Buffer;
use crate::error::{Error, ErrorKind, Result};
use crate::pool::{Lease, Pool};
use crate::zstream::{Deflater, Inflater, WholeInflater};

/// The most bytes of memory that a stream takes: 268 KiB to deflate with the largest window (zlib's zconf.h), as much
/// again for what zlib-rs adds to it, and less to inflate.
pub(super) const WORKING_MEMORY: usize = 768 << 10;

/// What both codecs have: a level and the states that are kept between chunks.
pub(super) struct Streams {
    name: &'static str,
    /// Whether streams have a zlib header.
    has_header: bool,
    level: u8,
    inflaters: Pool<Box<Inflater>>,
    whole_inflaters: Pool<Box<WholeInflater>>,
    deflaters: Pool<Box<Deflater>>,
}

/// The most bytes that either codec makes: 9 bits for each byte at level 1 (zlib-rs follows zlib-ng, deflate_quick) and
/// the wrapper. Some room more is for the headers of others, for this is also what a codec before may be given.
pub(super) fn bound(decoded_size: usize) -> usize {
    decoded_size.saturating_add(decoded_size / 8).saturating_add(1024)
}

impl Streams {
    pub(super) fn new(name: &'static str, has_header: bool, level: u32) -> Self {
        // At most 9.
        let level = level.min(9) as u8;
        let (inflaters, whole_inflaters, deflaters) = (Pool::new(), Pool::new(), Pool::new());
        Streams { name, has_header, level, inflaters, whole_inflaters, deflaters }
    }

    /// Inflates one stream, behind what is in the buffer, until that has `least` bytes; to the end of the stream if
    /// that is all there is room for. Returns how many bytes the stream has, or `None` if it was not read to its end.
    pub(super) fn inflate(&self, stream: &[u8], least: usize, decoded: &mut Buffer<'_>) -> Result<Option<usize>> {
        let capacity = decoded.capacity();
        // Where so much is needed, all of it takes no longer, and the checksum is compared. Of shuffled numbers the
        // last quarter, which is signs and exponents, is decoded in no time.
        let least = if least >= capacity / 4 * 3 { capacity } else { least };
        // Miri cannot call libdeflate.
        if least == capacity && !cfg!(miri) {
            let mut inflater = Lease::new(&self.whole_inflaters, WholeInflater::new)?;
            if let Some(len) = inflater.inflate(stream, self.has_header, decoded) {
                return Ok(Some(len));
            }
        }
        self.inflate_until(stream, least, decoded)
    }

    /// The same by a decoder that stops there.
    fn inflate_until(&self, stream: &[u8], least: usize, decoded: &mut Buffer<'_>) -> Result<Option<usize>> {
        let mut inflater = Lease::new(&self.inflaters, Inflater::new)?;
        inflater.begin(self.has_header);
        let capacity = decoded.capacity();
        let is_part = least < capacity;
        let mut rest = stream;
        loop {
            let room = if is_part { least } else { capacity }.saturating_sub(decoded.filled().len());
            let step = if room > 0 {
                inflater.step(rest, decoded, room)
            } else if is_part {
                return Ok(None);
            } else {
                // The stream has to end. If it does not, it will write here.
                let mut beyond = [std::mem::MaybeUninit::uninit()];
                let step = inflater.step(rest, &mut Buffer::new(&mut beyond), 1);
                if step.written > 0 {
                    return Err(ErrorKind::DecodedLength { found: None, expected: capacity }.into());
                }
                step
            };
            rest = rest.get(step.taken..).unwrap_or_default();
            match step.ended {
                Ok(true) => return Ok(Some(stream.len() - rest.len())),
                Ok(false) if step.taken == 0 && step.written == 0 => return Err(ends_early(self.name)),
                Ok(false) => {}
                Err(reason) => return Err(corrupt(self.name, reason)),
            }
        }
    }

    /// Inflates one stream in pieces, each of which is given to `give`, as long as that returns `true`. Returns how
    /// many bytes the stream has, or `None` if it was not read to its end.
    pub(super) fn inflate_in_steps(
        &self,
        stream: &[u8],
        mut give: impl FnMut(&[u8]) -> Result<bool>,
    ) -> Result<Option<usize>> {
        /// How many bytes a piece has at most.
        const PIECE: usize = 64 << 10;
        let mut inflater = Lease::new(&self.inflaters, Inflater::new)?;
        inflater.begin(self.has_header);
        let (mut rest, mut memory) = (stream, Scratch::EMPTY);
        loop {
            let mut piece = Buffer::new(memory.room(PIECE)?);
            let step = inflater.step(rest, &mut piece, PIECE);
            rest = rest.get(step.taken..).unwrap_or_default();
            let goes_on = give(piece.filled())?;
            match step.ended {
                Ok(true) => return Ok(Some(stream.len() - rest.len())),
                Ok(false) if !goes_on => return Ok(None),
                Ok(false) if step.taken == 0 && step.written == 0 => return Err(ends_early(self.name)),
                Ok(false) => {}
                Err(reason) => return Err(corrupt(self.name, reason)),
            }
        }
    }

    /// Adds a stream to the buffer.
    pub(super) fn deflate(&self, decoded: &[u8], encoded: &mut Buffer<'_>) -> Result<()> {
        let mut deflater = Lease::new(&self.deflaters, || Deflater::new(self.level, self.has_header))?;
        written(deflater.deflate(decoded, encoded), self.name)
    }
}

pub(super) fn corrupt(codec: &'static str, reason: &'static str) -> Error {
    ErrorKind::Corrupt { codec, reason }.into()
}

pub(super) fn ends_early(codec: &'static str) -> Error {
    corrupt(codec, "the data is truncated")
}

#[cfg(all(test, feature = "gzip", feature = "zlib"))]
mod tests {
    use super::*;
    use crate::codec::Codec;
    use crate::codec::public::{Gzip, Zlib};
    use crate::codec::testing::{decoded, encoded};

    pub(in crate::codec) fn chunk() -> Vec<u8> {
        (0..100_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 29) as u8).collect()
    }

    #[test]
    fn the_bound_is_nine_bits_a_byte() {
        for codec in [&Zlib::default() as &dyn Codec, &Gzip::default()] {
            assert_eq!((codec.encoded_bound(80_000), codec.encoded_bound(usize::MAX)), (91_024, usize::MAX));
        }
    }

    #[test]
    pub(in crate::codec) fn levels_come_back_and_decoding_stops_early() {
        let chunk = chunk();
        for level in 0..=9 {
            let codecs: [&dyn Codec; 2] = [&Zlib::new(level), &Gzip::new(level)];
            for codec in codecs {
                let stored = encoded(codec, &chunk);
                assert!(level == 0 || stored.len() < chunk.len() / 2);
                // The second time the state is one that was used before.
                for _ in 0..2 {
                    assert_eq!(decoded(codec, &stored, 0..chunk.len(), chunk.len()).unwrap(), chunk);
                }
                assert_eq!(decoded(codec, &stored[..stored.len() / 2], 0..1000, chunk.len()).unwrap(), chunk[..1000]);
                let least = chunk.len() - 1;
                let kind = decoded(codec, &stored, 0..least, least).unwrap_err().kind();
                assert_eq!(kind, ErrorKind::DecodedLength { found: None, expected: least });
            }
        }
    }

    /// Whatever is wrong with a stream, and whatever room there is: the decoder of whole streams changes nothing.
    #[test]
    fn whole_streams_and_what_is_wrong_with_them_are_decoded_as_in_steps() {
        let (chunk, mut random) = (chunk(), fastrand::Rng::with_seed(1));
        let num = if cfg!(miri) { 20 } else { 3000 };
        for (has_header, level) in [(true, 0), (true, 1), (true, 6), (false, 1), (false, 9)] {
            let streams = Streams::new("zlib", has_header, level);
            let mut memory = Scratch::EMPTY;
            let mut buffer = Buffer::new(memory.room(bound(chunk.len())).unwrap());
            let decoded = &chunk[..3000 + level as usize * 1000];
            streams.deflate(decoded, &mut buffer).unwrap();
            let whole = buffer.filled();
            for i in 0..num {
                let mut stream = whole.to_vec();
                match i % 5 {
                    0 => {}
                    1 => stream.truncate(random.usize(..whole.len())),
                    2 => stream.extend([0, 1, 2, 3]),
                    _ => stream[random.usize(..whole.len().min(400))] ^= 1 << random.u32(..8),
                }
                let capacity = decoded.len() + [0, 0, 1, 0, 400][i % 5] - if i % 7 == 6 { 500 } else { 0 };
                let least = if random.bool() { capacity } else { capacity - random.usize(..capacity / 3) };
                let due_least = if least >= capacity / 4 * 3 { capacity } else { least };
                type Inflate = fn(&Streams, &[u8], usize, &mut Buffer<'_>) -> Result<Option<usize>>;
                let ways: [(Inflate, usize); 2] = [(Streams::inflate, least), (Streams::inflate_until, due_least)];
                let [found, due] = ways.map(|(inflate, asked)| {
                    let mut memory = Scratch::EMPTY;
                    let mut buffer = Buffer::new(memory.room(capacity).unwrap());
                    let len = inflate(&streams, &stream, asked, &mut buffer).map_err(|error| error.kind())?;
                    Ok::<_, ErrorKind>((len, buffer.filled()[..least.min(buffer.filled().len())].to_vec()))
                });
                match (found, due) {
                    // What is not needed may be left out.
                    (Ok((_, bytes)), Ok((None, due))) => assert_eq!(bytes, due),
                    (Ok(found), Ok(due)) => assert_eq!(found, due),
                    // Codes that zlib refuses, though nothing uses them, are let through if the checksum is right,
                    // which is gzip's to compare without a header.
                    (Ok((_, bytes)), Err(_)) => assert!(!has_header || decoded.starts_with(&bytes)),
                    (Err(found), due) => assert_eq!(Err(found), due),
                }
            }
        }
    }

    #[test]
    pub(in crate::codec) fn the_wrong_wrapper_is_named() {
        let reason = |codec: &dyn Codec, stored: &[u8]| match decoded(codec, stored, 0..3, 3).unwrap_err().kind() {
            ErrorKind::Corrupt { reason, .. } => reason,
            kind => panic!("{kind}"),
        };
        let (gzip, zlib) = (Gzip::default(), Zlib::default());
        assert_eq!(reason(&gzip, &encoded(&zlib, b"abc")), "the data is zlib, not gzip");
        assert_eq!(reason(&zlib, &encoded(&gzip, b"abc")), "the data is gzip, not zlib");
        assert_eq!(reason(&gzip, &[0x78, 0x02, 0, 0]), "the gzip header is missing");
        assert_eq!(reason(&zlib, &[0x78, 0x20, 1, 2, 3, 4, 0, 0]), "the data needs a preset dictionary");
        let mut spoilt = encoded(&zlib, b"abc");
        *spoilt.last_mut().unwrap() ^= 1;
        assert_eq!(reason(&zlib, &spoilt), "incorrect data check");
        assert_eq!(decoded(&zlib, &[&encoded(&zlib, b"abc")[..], b"xyz"].concat(), 0..3, 3).unwrap(), b"abc");
    }
}
