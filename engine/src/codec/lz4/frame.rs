//! LZ4 frames, as cfdb stores them: a header, blocks one after another, an end mark. They are only read.
//!
//! The source is lz4_Frame_format.md of LZ4, version 1.6. Blocks may be linked: then they copy from what the blocks
//! before them decode to. The header's checksum and those of the blocks that are decoded are verified. The size of the
//! content, its checksum and that nothing follows the frame are verified if all of it is needed.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::ops::Range;

use super::block::{NAME, corrupt, decode_behind};
use super::xxh32::xxh32;
use crate::buffer::Buffer;
use crate::codec::traits::{Codec, decoded_only, named};
use crate::error::{ErrorKind, Result};

const MAGIC: [u8; 4] = 0x184D_2204u32.to_le_bytes();

/// The flags of a header: the version in two bits, which is 1, and what there is.
const VERSION: u8 = 0b1100_0000;
const VERSION_1: u8 = 0b0100_0000;
const INDEPENDENT: u8 = 0b0010_0000;
const BLOCK_CHECKSUMS: u8 = 0b0001_0000;
const CONTENT_SIZE: u8 = 0b0000_1000;
const CONTENT_CHECKSUM: u8 = 0b0000_0100;
const RESERVED: u8 = 0b0000_0010;
const DICTIONARY: u8 = 0b0000_0001;

/// The bit in a block's size that says that it is stored as it is.
const AS_IT_IS: u32 = 1 << 31;

/// The least that the blocks' largest size can be.
const LEAST_BLOCK: usize = 64 << 10;

/// The codec of LZ4 frames.
#[derive(Debug, Default, Clone, Copy)]
pub struct Lz4Frame;

/// What a frame's header says.
struct Header {
    flags: u8,
    largest_block: usize,
    content_size: Option<usize>,
}

/// What is left of a frame.
struct Input<'f>(&'f [u8]);

impl<'f> Input<'f> {
    fn take(&mut self, len: usize) -> Result<&'f [u8]> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or_else(|| corrupt("the data is truncated"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk().ok_or_else(|| corrupt("the data is truncated"))?;
        self.0 = rest;
        Ok(*taken)
    }

    /// Reads a checksum, and compares it.
    fn check(&mut self, bytes: &[u8]) -> Result<()> {
        let is_right = u32::from_le_bytes(self.array()?) == xxh32(bytes);
        if is_right { Ok(()) } else { Err(corrupt("a checksum does not match")) }
    }

    fn header(&mut self) -> Result<Header> {
        if self.array()? != MAGIC {
            return Err(corrupt("the data is not an LZ4 frame"));
        }
        let described = self.0;
        let [flags, block] = self.array()?;
        if flags & (VERSION | RESERVED) != VERSION_1 || block & 0b1000_1111 != 0 || block >> 4 < 4 {
            return Err(corrupt("the frame's version is unknown"));
        }
        if flags & DICTIONARY != 0 {
            return Err(corrupt("the frame needs a dictionary"));
        }
        let content_size = match flags & CONTENT_SIZE {
            0 => None,
            // What does not fit is more than there can be room for.
            _ => Some(usize::try_from(u64::from_le_bytes(self.array()?)).unwrap_or(usize::MAX)),
        };
        let described = described.get(..described.len() - self.0.len()).unwrap_or_default();
        let [checksum] = self.array()?;
        if checksum != xxh32(described).to_le_bytes()[1] {
            return Err(corrupt("the header's checksum does not match"));
        }
        Ok(Header { flags, largest_block: LEAST_BLOCK << (2 * (block >> 4) - 8), content_size })
    }

    /// Decodes the next block behind the first `at` bytes of `to`, and returns where it ends; `None` for the end mark.
    /// If `to` `is_part` of what is stored decoding stops at its end.
    ///
    /// # Safety
    /// The first `at` bytes have been written.
    unsafe fn block(
        &mut self,
        header: &Header,
        to: &mut [MaybeUninit<u8>],
        at: usize,
        is_part: bool,
    ) -> Result<Option<usize>> {
        let size = u32::from_le_bytes(self.array()?);
        if size == 0 {
            return Ok(None);
        }
        let len = (size & !AS_IT_IS) as usize;
        if len > header.largest_block {
            return Err(corrupt("a block is larger than the frame's maximum"));
        }
        let block = self.take(len)?;
        if header.flags & BLOCK_CHECKSUMS != 0 {
            self.check(block)?;
        }
        let left = to.len().saturating_sub(at);
        let is_part = is_part && left < header.largest_block;
        let begin = if header.flags & INDEPENDENT == 0 { 0 } else { at };
        let end = at + left.min(header.largest_block);
        let room = to.get_mut(begin..end).ok_or(ErrorKind::Internal)?;
        let before = at - begin;
        if size & AS_IT_IS == 0 {
            // SAFETY: the caller's promise, for `room` begins with the last `before` of the `at` bytes.
            return Ok(Some(begin + unsafe { decode_behind(block, room, before, is_part) }?));
        }
        if len > left && !is_part {
            return Err(corrupt("it decodes to more bytes than its header says"));
        }
        for (to, from) in room.iter_mut().skip(before).zip(block) {
            to.write(*from);
        }
        Ok(Some(at + len.min(left)))
    }
}

impl Codec for Lz4Frame {
    named!(NAME);

    /// What a frame takes of blocks that are stored as they are, with all checksums.
    fn encoded_bound(&self, decoded_size: usize) -> usize {
        const AROUND: usize = 4 + 2 + 8 + 1 + 4 + 4;
        decoded_size.saturating_add(decoded_size.div_ceil(LEAST_BLOCK).saturating_mul(8)).saturating_add(AROUND)
    }

    fn decode(&self, encoded: &[u8], needed: Range<usize>, decoded: &mut Buffer<'_>) -> Result<()> {
        let capacity = decoded.capacity();
        let mut input = Input(encoded);
        let header = input.header()?;
        let most = header.content_size.unwrap_or(capacity);
        if most > capacity {
            return Err(ErrorKind::DecodedLength { found: None, expected: capacity }.into());
        }
        let is_part = needed.end < most;
        let to = decoded.room().get_mut(..needed.end.min(most)).ok_or(ErrorKind::Internal)?;
        let mut at = 0;
        while !is_part || at < to.len() {
            // SAFETY: the blocks before have written the first `at` bytes.
            match unsafe { input.block(&header, to, at, is_part) }? {
                Some(end) => at = end,
                None => break,
            }
        }
        // SAFETY: so many bytes of the empty buffer have been written.
        unsafe { decoded.set_filled(at) };
        if is_part {
            return Ok(());
        }
        if header.content_size.is_some_and(|size| size != at) {
            return Err(corrupt("it decodes to fewer bytes than its header says"));
        }
        if header.flags & CONTENT_CHECKSUM != 0 {
            input.check(decoded.filled())?;
        }
        if input.0.is_empty() { Ok(()) } else { Err(corrupt("bytes follow the frame")) }
    }

    decoded_only!(NAME, "LZ4 frames can only be decoded");
}

#[cfg(any(test, feature = "testing"))]
pub mod testing {
    use super::*;
    use crate::codec::lz4::encode_block;

    /// A frame of independent blocks, with all checksums if `is_checked`, else with the size as cfdb's have it.
    pub fn frame(content: &[u8], is_checked: bool) -> Vec<u8> {
        let flags =
            VERSION_1 | INDEPENDENT | if is_checked { BLOCK_CHECKSUMS | CONTENT_CHECKSUM } else { CONTENT_SIZE };
        let mut described = vec![flags, 4 << 4];
        if !is_checked {
            described.extend((content.len() as u64).to_le_bytes());
        }
        let mut blocks: Vec<(Vec<u8>, bool)> = Vec::new();
        for part in content.chunks(LEAST_BLOCK) {
            let mut room = vec![MaybeUninit::uninit(); part.len() * 2 + 100];
            let mut buffer = Buffer::new(&mut room);
            encode_block(part, &mut buffer).unwrap();
            let is_shorter = buffer.filled().len() < part.len();
            blocks.push((if is_shorter { buffer.filled() } else { part }.to_vec(), is_shorter));
        }
        framed(&described, &blocks, content)
    }

    /// A frame with this header, of blocks that are encoded or not.
    pub(super) fn framed(described: &[u8], blocks: &[(Vec<u8>, bool)], content: &[u8]) -> Vec<u8> {
        let mut frame = MAGIC.to_vec();
        frame.extend(described);
        frame.push((xxh32(described) >> 8) as u8);
        for (block, is_encoded) in blocks {
            let size = block.len() as u32 | if *is_encoded { 0 } else { AS_IT_IS };
            frame.extend(size.to_le_bytes());
            frame.extend(block);
            if described[0] & BLOCK_CHECKSUMS != 0 {
                frame.extend(xxh32(block).to_le_bytes());
            }
        }
        frame.extend([0; 4]);
        if described[0] & CONTENT_CHECKSUM != 0 {
            frame.extend(xxh32(content).to_le_bytes());
        }
        frame
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{frame, framed};
    use super::*;
    use crate::codec::testing::decoded;

    fn content(len: usize) -> Vec<u8> {
        let mut random = fastrand::Rng::with_seed(7);
        (0..len).map(|i| if i % 90_000 < 60_000 { (i / 100) as u8 } else { random.u8(..) }).collect()
    }

    #[test]
    fn frames_are_decoded_as_far_as_is_needed() {
        let lens = [0, 1, 1000, LEAST_BLOCK, LEAST_BLOCK + 1, 200_000];
        for &len in &lens[..if cfg!(miri) { 3 } else { 6 }] {
            let content = content(len);
            for is_checked in [false, true] {
                let stored = frame(&content, is_checked);
                assert!(stored.len() <= Lz4Frame.encoded_bound(len));
                for end in [0, 1, 999, LEAST_BLOCK - 1, LEAST_BLOCK, LEAST_BLOCK + 1, 150_000, len] {
                    let end = end.min(len);
                    let found = decoded(&Lz4Frame, &stored, 0..end, len).unwrap();
                    assert!(found.len() >= end && content.starts_with(&found), "{len} {end}");
                }
                // Of a frame that ends early what there is can be read.
                let short = &stored[..stored.len() - 5];
                assert!(decoded(&Lz4Frame, short, 0..len, len).is_err());
                if len > 2 * LEAST_BLOCK {
                    assert!(decoded(&Lz4Frame, short, 0..1000, len).unwrap() == content[..1000]);
                }
            }
        }
    }

    /// The second block copies the first one, and a byte of its own.
    #[test]
    fn linked_blocks_copy_from_those_before() {
        let blocks = [(b"abcdefgh".to_vec(), false), (vec![0x03, 7, 0, 0x50, b'1', b'2', b'3', b'4', b'5'], true)];
        let content = b"abcdefghbcdefgh12345";
        let stored = framed(&[VERSION_1, 4 << 4], &blocks, content);
        assert_eq!(decoded(&Lz4Frame, &stored, 0..20, 20).unwrap(), content);
        assert_eq!(decoded(&Lz4Frame, &stored, 0..11, 20).unwrap(), content[..11]);
        let independent = framed(&[VERSION_1 | INDEPENDENT, 4 << 4], &blocks, content);
        assert!(decoded(&Lz4Frame, &independent, 0..20, 20).is_err());
    }

    /// What Python's lz4.frame makes of these texts.
    #[test]
    fn frames_of_liblz4_are_decoded() {
        let text = b"abcabcabcabcabcabcabcabcabc, and so on";
        let plain = vec![
            4, 34, 77, 24, 104, 64, 38, 0, 0, 0, 0, 0, 0, 0, 133, 19, 0, 0, 0, 63, 97, 98, 99, 3, 0, 5, 176, 44, 32,
            97, 110, 100, 32, 115, 111, 32, 111, 110, 0, 0, 0, 0,
        ];
        let checked = vec![
            4, 34, 77, 24, 116, 64, 189, 19, 0, 0, 0, 63, 97, 98, 99, 3, 0, 5, 176, 44, 32, 97, 110, 100, 32, 115, 111,
            32, 111, 110, 26, 9, 227, 53, 0, 0, 0, 0, 74, 203, 48, 223,
        ];
        for (stored, is_checked) in [(&plain, false), (&checked, true)] {
            assert_eq!(decoded(&Lz4Frame, stored, 0..text.len(), text.len()).unwrap(), text);
            for (at, bit) in (0..stored.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
                let mut bad = stored.clone();
                bad[at] ^= 1 << bit;
                assert!(decoded(&Lz4Frame, &bad, 0..text.len(), text.len()).is_err() || !is_checked, "{at}");
            }
        }
    }

    #[test]
    fn what_breaks_the_rules_is_refused() {
        let len = if cfg!(miri) { 700 } else { 70_000 };
        let content = content(len);
        let good = frame(&content, true);
        for (at, byte) in [(0, 5), (4, 0x24), (4, 0x66), (4, 0x65), (5, 0x30), (5, 0x41), (6, 0), (20, 0x99)] {
            let mut bad = good.clone();
            assert_ne!(bad[at], byte);
            bad[at] = byte;
            assert!(decoded(&Lz4Frame, &bad, 0..len, len).is_err(), "{at}");
        }
        for described in [
            [INDEPENDENT, 4 << 4],
            [VERSION, 4 << 4],
            [VERSION_1 | RESERVED, 4 << 4],
            [VERSION_1, 4 << 4 | 1],
            [VERSION_1, 1 << 7 | 4 << 4],
            [VERSION_1, 3 << 4],
        ] {
            let unknown = Err(corrupt("the frame's version is unknown"));
            assert_eq!(decoded(&Lz4Frame, &framed(&described, &[], &[]), 0..0, 0), unknown, "{described:?}");
        }
        let needy = framed(&[VERSION_1 | DICTIONARY, 4 << 4], &[], &[]);
        assert_eq!(decoded(&Lz4Frame, &needy, 0..0, 0), Err(corrupt("the frame needs a dictionary")));
        let mut longer = good.clone();
        longer.push(0);
        assert!(decoded(&Lz4Frame, &longer, 0..len, len).is_err());
        assert!(decoded(&Lz4Frame, &good, 0..len - 1, len - 1).is_err());
        assert_eq!(decoded(&Lz4Frame, &good, 0..len + 1, len + 1).map(|found| found.len()), Ok(len));
        let sized = frame(&content, false);
        let kind = decoded(&Lz4Frame, &sized, 0..len - 1, len - 1).unwrap_err().kind();
        assert_eq!(kind, ErrorKind::DecodedLength { found: None, expected: len - 1 });
        // Any byte may be another: what is decoded is an error, or as long as it should be.
        let mut random = fastrand::Rng::with_seed(3);
        for _ in 0..if cfg!(miri) { 3 } else { 2000 } {
            let mut bad = sized.clone();
            let at = random.usize(..bad.len());
            bad[at] = random.u8(..);
            let end = random.usize(..=len);
            if let Ok(found) = decoded(&Lz4Frame, &bad, 0..end, len) {
                assert!(found.len() <= len);
            }
        }
    }

    /// Blocks that are stored as they are, and one that decodes to more than it may.
    #[cfg(not(miri))]
    #[test]
    fn blocks_are_no_larger_than_the_header_says() {
        let reason = |stored: &[u8], end: usize, capacity: usize| {
            decoded(&Lz4Frame, stored, 0..end, capacity).map(|found| found.len()).map_err(|error| error.kind())
        };
        let failed = |reason| Err(ErrorKind::Corrupt { codec: NAME, reason });
        let of = |block: u8, lens: &[usize]| {
            let blocks: Vec<_> = lens.iter().map(|len| (content(*len), false)).collect();
            framed(&[VERSION_1 | INDEPENDENT, block << 4], &blocks, &[])
        };
        for (block, largest) in [(4, LEAST_BLOCK), (5, 4 * LEAST_BLOCK)] {
            let most = reason(&of(block, &[largest]), largest, largest);
            assert_eq!(
                (most, Lz4Frame.encoded_bound(largest)),
                (Ok(largest), largest + largest / LEAST_BLOCK * 8 + 23)
            );
            let more = reason(&of(block, &[largest + 1]), largest + 1, largest + 1);
            assert_eq!(more, failed("a block is larger than the frame's maximum"));
        }
        let two = of(4, &[LEAST_BLOCK, 100]);
        let whole = LEAST_BLOCK + 99;
        assert_eq!(reason(&two, whole, whole), failed("it decodes to more bytes than its header says"));
        // What follows the last block that is needed is not looked at.
        assert_eq!(reason(&two[..7 + 4 + LEAST_BLOCK], LEAST_BLOCK, 2 * LEAST_BLOCK), Ok(LEAST_BLOCK));

        let mut room = vec![MaybeUninit::uninit(); 2 * LEAST_BLOCK];
        let mut block = Buffer::new(&mut room);
        crate::codec::lz4::encode_block(&vec![7; LEAST_BLOCK + 1], &mut block).unwrap();
        let blocks = vec![(block.filled().to_vec(), true); 3];
        let larger = framed(&[VERSION_1 | INDEPENDENT, 4 << 4], &blocks, &[]);
        for end in [LEAST_BLOCK, LEAST_BLOCK + 1, 3 * LEAST_BLOCK] {
            let refused = failed("it decodes to more bytes than its header says");
            assert_eq!(reason(&larger, end, 4 * LEAST_BLOCK), refused, "{end}");
        }
        let sized = [&[VERSION_1 | INDEPENDENT | CONTENT_SIZE, 4 << 4][..], &9u64.to_le_bytes()].concat();
        let fewer = framed(&sized, &[(content(8), false)], &[]);
        assert_eq!(reason(&fewer, 9, 9), failed("it decodes to fewer bytes than its header says"));
    }

    #[test]
    fn frames_are_only_read() {
        let mut memory = [std::mem::MaybeUninit::uninit(); 100];
        let error = Lz4Frame.encode(b"x", &mut Buffer::new(&mut memory)).unwrap_err();
        assert_eq!((Lz4Frame.can_encode(), error.status()), (false, crate::status::EFILTER));
        assert!(error.to_string().contains("lz4") && Lz4Frame.name() == "lz4", "{error}");
    }
}
