//! bitshuffle: HDF5's filter 32008. Blocks of elements, each of which has its bits in planes, and may be encoded with
//! lz4 or zstd. It is decoded only.
//!
//! The source is bshuf_h5filter.c and bitshuffle_core.c. Encoded data begin with the decoded size (8 bytes) and the
//! bytes of a block (4 bytes); each block is behind its encoded size (4 bytes), all big-endian. The last block has as
//! many elements as are left, of which those beyond a multiple of 8 are stored at the end as they are.
#![allow(unsafe_code)]

use std::ops::Range;

use super::definition::{Definition, boxed};
use super::planes::bits;
use super::traits::{Codec, decoded_only, named};
use crate::alloc::Scratch;
use crate::buffer::Buffer;
use crate::error::{ErrorKind, Result};

const NAME: &str = "bitshuffle";

pub(super) const CODECS: &[Definition] = &[Definition { filter: Some((32008, of_parameters)), ..Definition::DEFAULT }];

/// What blocks are encoded with.
enum Inner {
    Nothing,
    #[cfg(feature = "lz4")]
    Lz4,
    #[cfg(feature = "zstd")]
    Zstd(Box<super::zstd::Zstd>),
}

/// The codec.
struct Bitshuffle {
    /// Bytes in an element, and elements in a block where the data do not say it.
    size: usize,
    block: usize,
    inner: Inner,
}

/// Two versions, the size of an element, and if given elements in a block, what they are encoded with, and its level.
fn of_parameters(parameters: &[u32]) -> Result<Option<Box<dyn Codec>>> {
    let [_, _, size, rest @ ..] = parameters else { return Ok(None) };
    // Blocks are of multiples of 8 elements, whose size is a number with 32 bits, too.
    if *size == 0 || size.checked_mul(8).is_none() {
        return Ok(None);
    }
    let (size, given) = (*size as usize, rest.first().map_or(0, |block| *block as usize));
    let block = match given {
        0 => (8192 / size / 8 * 8).max(128),
        block if block % 8 == 0 => block,
        _ => return Ok(None),
    };
    let inner = match rest.get(1).copied().unwrap_or(0) {
        0 => Inner::Nothing,
        #[cfg(feature = "lz4")]
        2 => Inner::Lz4,
        #[cfg(feature = "zstd")]
        3 => Inner::Zstd(crate::alloc::try_box(super::zstd::Zstd::default())?),
        #[cfg(not(feature = "lz4"))]
        2 => return Err(super::not_built_in("lz4")),
        #[cfg(not(feature = "zstd"))]
        3 => return Err(super::not_built_in("zstd")),
        _ => return Ok(None),
    };
    boxed(Bitshuffle { size, block, inner }).map(Some)
}

fn corrupt(reason: &'static str) -> ErrorKind {
    ErrorKind::Corrupt { codec: NAME, reason }
}

/// What data consist of: bytes of elements, of those in a whole block, and what is left to be read.
struct Blocks<'e> {
    size: usize,
    block_size: usize,
    rest: &'e [u8],
}

impl<'e> Blocks<'e> {
    fn take(&mut self, len: usize) -> Result<&'e [u8]> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or(corrupt("the data end early"))?;
        self.rest = rest;
        Ok(taken)
    }

    fn number(&mut self) -> Result<usize> {
        let bytes = self.take(4)?.first_chunk().ok_or(ErrorKind::Internal)?;
        Ok(u32::from_be_bytes(*bytes) as usize)
    }

    /// What is stored of a block, behind its size.
    fn stored(&mut self) -> Result<&'e [u8]> {
        let len = self.number()?;
        self.take(len)
    }
}

impl Bitshuffle {
    /// What encoded data say of themselves; without an encoding they are all blocks.
    fn blocks<'e>(&self, encoded: &'e [u8], capacity: usize) -> Result<Blocks<'e>> {
        let too_many = ErrorKind::DecodedLength { found: None, expected: capacity };
        let block_size = self.block.saturating_mul(self.size);
        let mut blocks = Blocks { size: encoded.len(), block_size, rest: encoded };
        if !matches!(self.inner, Inner::Nothing) {
            let high = blocks.number()?;
            let low = blocks.number()?;
            blocks.size = if high == 0 { low } else { return Err(too_many.into()) };
            blocks.block_size = blocks.number()?;
            if blocks.block_size == 0 || blocks.block_size % (8 * self.size) != 0 {
                return Err(corrupt("its blocks have not a multiple of 8 elements").into());
            }
        }
        match (blocks.size % self.size, blocks.size <= capacity) {
            (0, true) => Ok(blocks),
            (_, false) => Err(too_many.into()),
            _ => Err(corrupt("there is a part of an element").into()),
        }
    }

    /// The bits of a block that decodes to so many bytes.
    fn planes<'p, 'e: 'p>(&self, blocks: &mut Blocks<'e>, len: usize, memory: &'p mut Scratch) -> Result<&'p [u8]> {
        if matches!(self.inner, Inner::Nothing) {
            return blocks.take(len);
        }
        match &self.inner {
            Inner::Nothing => {}
            #[cfg(feature = "lz4")]
            Inner::Lz4 => super::lz4::block::decode(blocks.stored()?, memory.room(len)?, false)?,
            #[cfg(feature = "zstd")]
            Inner::Zstd(zstd) => {
                let mut planes = Buffer::new(memory.room(len)?);
                zstd.decode(blocks.stored()?, 0..len, &mut planes)?;
                if planes.filled().len() != len {
                    return Err(corrupt("a block holds fewer bytes than it says").into());
                }
            }
        }
        // SAFETY: so many bytes have been written: a block of lz4 is decoded to all of the room or fails, and that of
        // zstd was found to be all.
        Ok(unsafe { memory.filled(len) })
    }
}

impl Codec for Bitshuffle {
    named!(NAME, says_too_little_room);

    /// What blocks of 8 bytes take, encoded with zstd.
    fn encoded_bound(&self, decoded_size: usize) -> usize {
        match self.inner {
            Inner::Nothing => decoded_size,
            #[cfg(any(feature = "lz4", feature = "zstd"))]
            _ => decoded_size.saturating_mul(12).saturating_add(12),
        }
    }

    fn decode(&self, encoded: &[u8], needed: Range<usize>, decoded: &mut Buffer<'_>) -> Result<()> {
        let mut blocks = self.blocks(encoded, decoded.capacity())?;
        let in_planes = blocks.size / (8 * self.size) * (8 * self.size);
        let least = needed.end.min(blocks.size);
        let mut memory = Scratch::EMPTY;
        while decoded.filled().len() < least.min(in_planes) {
            let begin = decoded.filled().len();
            let len = blocks.block_size.min(in_planes - begin);
            let mut ahead = Blocks { ..blocks };
            if begin + len <= needed.start {
                let is_plain = matches!(self.inner, Inner::Nothing);
                let skipped = if is_plain { ahead.take(len) } else { ahead.stored() };
                skipped?;
                decoded.skip(len);
            } else {
                let planes = self.planes(&mut ahead, len, &mut memory)?;
                let room = decoded.room().get_mut(..len).ok_or(ErrorKind::Internal)?;
                if !bits::gather(self.size, planes, room) {
                    return Err(ErrorKind::Internal.into());
                }
                // SAFETY: so many bytes behind those that were filled have been written.
                unsafe { decoded.set_filled(begin + len) };
            }
            blocks.rest = ahead.rest;
        }
        if decoded.filled().len() < least {
            decoded.write(blocks.take(blocks.size - in_planes)?);
        }
        Ok(())
    }

    decoded_only!(NAME, "it is decoded only");
}

#[cfg(test)]
mod tests {
    use crate::codec::of_filter;

    #[test]
    fn elements_too_large_to_count_the_bits_are_refused() {
        for (size, is_well) in [(0, false), (1, true), (0x1fff_ffff, true), (0x2000_0000, false), (u32::MAX, false)] {
            assert_eq!(of_filter(32008, &[0, 4, size]).is_ok(), is_well, "{size}");
        }
    }
}
