//! gzip (RFC 1952): one or more members in a row. Zeros may follow a member, and then nothing but another one.

use std::ops::Range;

use super::definition::{Definition, Setting, boxed};
use super::deflate::{self, Streams, bound, corrupt, ends_early};
use super::steps::Steps;
use super::traits::{Codec, named, written};
use crate::buffer::Buffer;
use crate::error::Result;
use crate::zstream::{crc32, crc32_of_more};

const NAME: &str = "gzip";

pub(super) const CODECS: &[Definition] = &[Definition {
    v2: NAME,
    v3: NAME,
    settings: &[Setting::integer("level", 0, 9, 1)],
    make: |settings, _, _| boxed(Gzip::new(settings.integer("level") as u32)),
    ..Definition::DEFAULT
}];

/// How a gzip member begins: the magic number and the only method, deflate.
const MAGIC: [u8; 3] = [0x1F, 0x8B, 8];

/// How long the fixed part of a gzip header is.
const HEADER: usize = 10;

/// How long what follows a gzip member's data is: a CRC and the length, modulo 2^32.
const TRAILER: usize = 8;

/// The codec gzip.
pub struct Gzip(Streams);

impl Gzip {
    /// A codec that encodes with this level, from 0 (stored) to 9; higher ones count as 9. zarr-python takes 5 if it is
    /// not told.
    pub fn new(level: u32) -> Self {
        Gzip(Streams::new(NAME, false, level))
    }
}

impl Default for Gzip {
    /// Level 5.
    fn default() -> Self {
        Gzip::new(5)
    }
}

impl Codec for Gzip {
    named!(NAME, in_numcodecs, says_too_little_room);

    fn encoded_bound(&self, decoded_size: usize) -> usize {
        bound(decoded_size)
    }

    fn decode(&self, encoded: &[u8], needed: Range<usize>, decoded: &mut Buffer<'_>) -> Result<()> {
        let mut rest = encoded;
        loop {
            let data = gzip_data(rest)?;
            let begin = decoded.filled().len();
            let Some(used) = self.0.inflate(data, needed.end, decoded)? else { return Ok(()) };
            let found = &decoded.filled()[begin..];
            rest = after_member(data.get(used..).unwrap_or_default(), (crc32(found), found.len()))?;
            if rest.is_empty() || (needed.end <= decoded.filled().len() && needed.end < decoded.capacity()) {
                return Ok(());
            }
        }
    }

    fn decode_in_steps(&self, encoded: &[u8], steps: &mut Steps<'_, '_>) -> Result<bool> {
        let mut rest = encoded;
        loop {
            let data = gzip_data(rest)?;
            let (mut crc, mut len) = (0, 0usize);
            let used = self.0.inflate_in_steps(data, |piece| {
                (crc, len) = (crc32_of_more(crc, piece), len.wrapping_add(piece.len()));
                steps.give(piece)?;
                Ok(steps.next().is_some())
            })?;
            let Some(used) = used else { return Ok(true) };
            rest = after_member(data.get(used..).unwrap_or_default(), (crc, len))?;
            if rest.is_empty() || steps.next().is_none() {
                return Ok(true);
            }
        }
    }

    fn working_memory(&self, _decoded_size: usize, _encodes: bool) -> usize {
        deflate::WORKING_MEMORY
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Buffer<'_>) -> Result<()> {
        // No flags, no time, no extra flags, an unknown system.
        let [a, b, c] = MAGIC;
        written(encoded.write(&[a, b, c, 0, 0, 0, 0, 0, 0, 255]), NAME)?;
        self.0.deflate(decoded, encoded)?;
        let (crc, len) = (crc32(decoded).to_le_bytes(), (decoded.len() as u32).to_le_bytes());
        written(encoded.write(&crc) && encoded.write(&len), NAME)
    }
}

/// What follows a gzip member, of which this follows the data, whose checksum and length are these.
fn after_member(after: &[u8], (crc, len): (u32, usize)) -> Result<&[u8]> {
    let (trailer, after) = after.split_first_chunk::<TRAILER>().ok_or_else(|| ends_early(NAME))?;
    let told = [[0, 1, 2, 3], [4, 5, 6, 7]].map(|at| u32::from_le_bytes(at.map(|i: usize| trailer[i])));
    if told != [crc, len as u32] {
        return Err(corrupt(NAME, "the checksum does not match the data"));
    }
    let zeros = after.iter().take_while(|byte| **byte == 0).count();
    Ok(&after[zeros..])
}

/// What follows the header of a gzip member.
fn gzip_data(member: &[u8]) -> Result<&[u8]> {
    const HAS_CRC: u8 = 1 << 1;
    const HAS_EXTRA: u8 = 1 << 2;
    const HAS_NAME: u8 = 1 << 3;
    const HAS_COMMENT: u8 = 1 << 4;
    const UNKNOWN: u8 = 0xE0;
    let end = || ends_early(NAME);
    // zlib's usual first byte, and a second that makes both a multiple of 31.
    if member.first() == Some(&0x78) && member.get(1).is_some_and(|second| (0x7800 + u16::from(*second)) % 31 == 0) {
        return Err(corrupt(NAME, "the data is zlib, not gzip"));
    }
    if member.iter().zip(MAGIC).any(|(byte, magic)| *byte != magic) {
        return Err(corrupt(NAME, "the gzip header is missing"));
    }
    let (header, mut rest) = member.split_first_chunk::<HEADER>().ok_or_else(end)?;
    let flags = header[3];
    if flags & UNKNOWN != 0 {
        return Err(corrupt(NAME, "the header has unknown flags"));
    }
    if flags & HAS_EXTRA != 0 {
        let (len, after) = rest.split_first_chunk().ok_or_else(end)?;
        rest = after.get(usize::from(u16::from_le_bytes(*len))..).ok_or_else(end)?;
    }
    for text in [HAS_NAME, HAS_COMMENT] {
        if flags & text != 0 {
            let len = rest.iter().position(|byte| *byte == 0).ok_or_else(end)?;
            rest = &rest[len + 1..];
        }
    }
    if flags & HAS_CRC != 0 {
        let (stored, after) = rest.split_first_chunk().ok_or_else(end)?;
        let crc = crc32(&member[..member.len() - rest.len()]);
        if u16::from_le_bytes(*stored) != (crc & 0xFFFF) as u16 {
            return Err(corrupt(NAME, "the checksum does not match the header"));
        }
        rest = after;
    }
    Ok(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::testing::{decoded, encoded};

    #[test]
    fn members_follow_one_another_and_headers_have_all_parts() {
        let codec = Gzip::default();
        let member = encoded(&codec, b"abc");
        let mut header = [0x1F, 0x8B, 8, 0x1E, 1, 2, 3, 4, 0, 3].to_vec();
        header.extend(b"\x03\x00xyzname\0comment\0");
        header.extend((crc32(&header) as u16).to_le_bytes());
        let full = [&header, &member[HEADER..]].concat();
        let stored = [&member[..], &full, &[0; 5], &member, &[0; 20]].concat();
        assert_eq!(decoded(&codec, &stored, 0..9, 9).unwrap(), b"abcabcabc");
        assert_eq!(decoded(&codec, &stored, 0..7, 9).unwrap()[..7], b"abcabca"[..]);
        for stored in [&[&member[..], b"x"].concat(), &[&member[..], &full[..full.len() - 1]].concat(), &header] {
            assert!(decoded(&codec, stored, 0..6, 6).is_err());
        }
        // What follows is not looked at if nothing of it is needed.
        let spoilt = [&member[..], b"x"].concat();
        assert_eq!(decoded(&codec, &spoilt, 0..3, 4).unwrap(), b"abc");
        assert!(decoded(&codec, &spoilt, 0..3, 3).is_err());
        header[20] ^= 1;
        assert!(decoded(&codec, &[&header, &member[HEADER..]].concat(), 0..3, 3).is_err());
    }
}
