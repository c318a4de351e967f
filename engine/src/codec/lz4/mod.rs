//! lz4 as numcodecs stores it: the decoded size, 4 bytes little-endian, then one LZ4 block.
//!
//! A decoded size of 0 is invalid, as in numcodecs, and sizes from 2^31 on are impossible.
//!
//! The decoder is our own: it stops after what is needed, and it is fast where a match overlaps itself, as runs do, of
//! which shuffled chunks are full. The encoder is lz4_flex. It allocates nothing:
//! without its feature `alloc` its table is on the stack (16 KiB).
#![allow(unsafe_code)]

pub(super) mod block;
mod filter;
pub(super) mod frame;
mod xxh32;

use std::ops::Range;

use lz4_flex::block::{compress_into, get_maximum_output_size};

use super::definition::{Definition, Setting, boxed};
use super::traits::{Codec, named, written};
use crate::buffer::Buffer;
use crate::error::{ErrorKind, Result};
use block::{NAME, corrupt};

pub(super) const CODECS: &[Definition] = &[Definition {
    v2: NAME,
    // What `lz4` alone would be in Zarr v3 has not been agreed on.
    v3: "numcodecs.lz4",
    is_read_bare: false,
    // The source is lz4.c: LZ4_ACCELERATION_MAX.
    settings: &[Setting::integer("acceleration", 1, 65_537, 1)],
    make: |_, _, _| boxed(Lz4),
    filter: Some((32004, |_| boxed(filter::Lz4Filter).map(Some))),
    ..Definition::DEFAULT
}];

/// How long the decoded size is, that precedes the block.
const SIZE: usize = 4;

/// The largest input of LZ4 (lz4.h, LZ4_MAX_INPUT_SIZE).
const LARGEST: usize = 0x7E00_0000;

/// The codec lz4.
#[derive(Debug, Default, Clone, Copy)]
pub struct Lz4;

impl Codec for Lz4 {
    named!(NAME, in_numcodecs, says_too_little_room);

    fn encoded_bound(&self, decoded_size: usize) -> usize {
        SIZE.saturating_add(block_bound(decoded_size))
    }

    fn decode(&self, encoded: &[u8], needed: Range<usize>, decoded: &mut Buffer<'_>) -> Result<()> {
        let capacity = decoded.capacity();
        let (size, block_bytes) = encoded.split_first_chunk().ok_or_else(|| corrupt("the decoded size is missing"))?;
        let size = u32::from_le_bytes(*size) as usize;
        if size == 0 || size > LARGEST {
            return Err(corrupt("the recorded decoded size is impossible"));
        }
        if size > capacity {
            return Err(ErrorKind::DecodedLength { found: None, expected: capacity }.into());
        }
        let least = size.min(needed.end);
        let room = decoded.room().get_mut(..least).ok_or(ErrorKind::Internal)?;
        block::decode(block_bytes, room, needed.end < size)?;
        // SAFETY: so many bytes of the empty buffer have been written.
        unsafe { decoded.set_filled(least) };
        Ok(())
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Buffer<'_>) -> Result<()> {
        let size = u32::try_from(decoded.len()).unwrap_or(u32::MAX);
        written(encoded.write(&size.to_le_bytes()), NAME)?;
        encode_block(decoded, encoded)
    }
}

/// The most bytes that a block of so many can take encoded; there is none of more than [`LARGEST`].
pub(super) fn block_bound(decoded_size: usize) -> usize {
    get_maximum_output_size(decoded_size.min(LARGEST))
}

/// Adds a block to a buffer that has room for [`block_bound`] bytes more.
pub(super) fn encode_block(decoded: &[u8], encoded: &mut Buffer<'_>) -> Result<()> {
    let begin = encoded.filled().len();
    let failed = |reason| ErrorKind::Encode { codec: NAME, reason };
    if decoded.len() > LARGEST {
        return Err(failed("more than 2113929216 bytes").into());
    }
    let room = encoded.zeros(block_bound(decoded.len())).ok_or(failed("the output buffer is too small"))?;
    let len = compress_into(decoded, room).map_err(|_| failed("the output buffer is too small"))?;
    // SAFETY: what was filled is made shorter: the encoder has written `len` bytes of the room behind `begin`.
    unsafe { encoded.set_filled(begin + len) };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::testing::decoded;
    use std::mem::MaybeUninit;

    #[test]
    fn sizes_that_cannot_be_are_refused() {
        let kind = |stored: &[u8], capacity| decoded(&Lz4, stored, 0..capacity, capacity).unwrap_err().kind();
        for stored in [&[][..], &[1, 0, 0], &[0, 0, 0, 0, 0], &[255, 255, 255, 255, 0], &[3, 0, 0, 0, 0x20, 1, 2]] {
            assert!(matches!(kind(stored, 100), ErrorKind::Corrupt { .. }), "{stored:?}");
        }
        let three = [3, 0, 0, 0, 0x30, 1, 2, 3];
        assert_eq!(decoded(&Lz4, &three, 0..3, 3).unwrap(), [1, 2, 3]);
        assert_eq!(decoded(&Lz4, &three, 0..2, 3).unwrap(), [1, 2]);
        assert_eq!(kind(&three, 2), ErrorKind::DecodedLength { found: None, expected: 2 });
        let more = [2, 0, 0, 0, 0x30, 1, 2, 3];
        assert!(matches!(kind(&more, 2), ErrorKind::Corrupt { .. }));
        let said = |size: usize| kind(&(size as u32).to_le_bytes(), 100);
        assert_eq!(said(LARGEST), ErrorKind::DecodedLength { found: None, expected: 100 });
        assert!(matches!(said(LARGEST + 1), ErrorKind::Corrupt { .. }));
    }

    /// The chunks are zeros that nobody looks at, so they take no memory.
    #[cfg(all(not(miri), target_pointer_width = "64"))]
    #[test]
    fn more_than_lz4_takes_is_not_encoded() {
        let kind = |len: usize| Lz4.encode(&vec![0; len], &mut Buffer::new(&mut [MaybeUninit::uninit(); 8]));
        let failed = |reason| Err(ErrorKind::Encode { codec: NAME, reason }.into());
        assert_eq!(kind(LARGEST), failed("the output buffer is too small"));
        assert_eq!(kind(LARGEST + 1), failed("more than 2113929216 bytes"));
        assert_eq!(Lz4.encoded_bound(usize::MAX), Lz4.encoded_bound(LARGEST));
        assert!(Lz4.encoded_bound(LARGEST) > LARGEST);
    }

    /// What a block decodes to; nothing may be written beyond it.
    fn block_decoded(stored: &[u8], len: usize, is_part: bool) -> Result<Vec<u8>> {
        let mut memory = vec![MaybeUninit::new(0xA5); len + 64];
        let result = block::decode(stored, &mut memory[..len], is_part);
        // SAFETY: all of the memory was initialised.
        let bytes: Vec<u8> = memory.iter().map(|byte| unsafe { byte.assume_init() }).collect();
        assert!(bytes[len..].iter().all(|byte| *byte == 0xA5));
        result.map(|()| bytes[..len].to_vec())
    }

    /// lz4_flex is the judge: of blocks as they are made, and of any that are spoilt.
    #[test]
    fn blocks_are_decoded_as_lz4_flex_does() {
        let mut random = fastrand::Rng::with_seed(1);
        for round in 0..if cfg!(miri) { 5 } else { 3000 } {
            let (mut chunk, len) = (Vec::new(), random.usize(1..3000));
            while chunk.len() < len {
                let (period, times) = (random.usize(1..40), random.usize(1..20));
                let bytes: Vec<u8> = (0..period).map(|_| random.u8(0..4)).collect();
                chunk.extend(bytes.repeat(times));
            }
            let mut block = vec![0; get_maximum_output_size(chunk.len())];
            let stored = compress_into(&chunk, &mut block).unwrap();
            block.truncate(stored);
            let mut due = vec![0; chunk.len()];
            assert!(block_decoded(&block, chunk.len(), false).unwrap() == chunk, "{round}");
            let least = random.usize(..chunk.len());
            assert!(block_decoded(&block, least, true).unwrap() == chunk[..least], "{round}");
            for _ in 0..10 {
                let mut spoilt = block.clone();
                spoilt[random.usize(..stored)] = random.u8(..);
                let is_good = lz4_flex::block::decompress_into(&spoilt, &mut due).is_ok_and(|len| len == due.len());
                let found = block_decoded(&spoilt, chunk.len(), false).ok();
                assert!(found == is_good.then(|| due.clone()), "{round}");
            }
        }
    }
}
