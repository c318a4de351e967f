//! Encodes chunks, plainly: blocks of one size, none of them split, each block raw that does not become shorter, and a
//! mere copy if the chunk does not.
#![allow(unsafe_code)]

use super::header::{
    self, BIT_SHUFFLE, BYTE_SHUFFLE, FEWEST_SPLIT, INNER_VERSION, IS_COPY, IS_NOT_SPLIT, Inner, LARGEST, NAME, VERSION,
};
use super::state::{Blosc, BloscShuffle};
use crate::alloc::Scratch;
use crate::buffer::Buffer;
use crate::codec::planes::{bits, bytes};
use crate::codec::traits::written;
use crate::error::{Error, ErrorKind, Result};
use crate::pool::Lease;

/// The size of a block if none is asked for.
const BLOCK: usize = 256 << 10;

impl Blosc {
    pub(super) fn encode_blocks(&self, chunk: &[u8], encoded: &mut Buffer<'_>) -> Result<()> {
        let inner = self.inner.map_err(failed)?;
        if chunk.len() > LARGEST {
            return Err(failed("more than 2147483631 bytes"));
        }
        let block = self.block(chunk.len());
        let flags = (inner as u8) << 5 | self.shuffle_flag() | IS_NOT_SPLIT;
        // Shorter chunks c-blosc only copies.
        let is_encoded = self.level > 0
            && chunk.len() >= FEWEST_SPLIT
            && self.try_blocks(inner, chunk, block, encoded)?
            && encoded.filled().len() < chunk.len() + header::LEN;
        if !is_encoded {
            // SAFETY: nothing is said to be filled.
            unsafe { encoded.set_filled(0) };
            written(encoded.write(&[0; header::LEN]) && encoded.write(chunk), NAME)?;
        }
        let stored = encoded.filled().len();
        let flags = if is_encoded { flags } else { flags | IS_COPY };
        let (first, numbers) = encoded.filled_mut()[..header::LEN].split_at_mut(4);
        first.copy_from_slice(&[VERSION, INNER_VERSION, flags, self.type_size as u8]);
        for (place, number) in numbers.chunks_exact_mut(4).zip([chunk.len(), block, stored]) {
            place.copy_from_slice(&(number as u32).to_le_bytes());
        }
        Ok(())
    }

    fn shuffle_flag(&self) -> u8 {
        match self.shuffle {
            BloscShuffle::Bit => BIT_SHUFFLE,
            BloscShuffle::Auto if self.type_size == 1 => BIT_SHUFFLE,
            BloscShuffle::Byte | BloscShuffle::Auto if self.type_size > 1 => BYTE_SHUFFLE,
            _ => 0,
        }
    }

    /// How large the blocks of a chunk are: whole elements, and whole groups of 8 of them, of which bit planes are
    /// made.
    pub(super) fn block(&self, size: usize) -> usize {
        let asked = if self.block == 0 { BLOCK } else { self.block.max(FEWEST_SPLIT) };
        let group = 8 * self.type_size;
        if asked >= size { size.max(1) } else { (asked / group * group).max(group).min(size) }
    }

    /// Writes room for the header, where blocks begin, and the blocks. `false` if there is no room for them, which
    /// leaves some of it written.
    fn try_blocks(&self, inner: Inner, chunk: &[u8], block: usize, encoded: &mut Buffer<'_>) -> Result<bool> {
        let head = header::LEN + 4 * chunk.len().div_ceil(block);
        if encoded.zeros(head).is_none() {
            return Ok(false);
        }
        let mut planes = Lease::new(&self.scratch, || Ok::<_, Error>(Scratch::EMPTY))?;
        let mut stream = Lease::new(&self.scratch, || Ok::<_, Error>(Scratch::EMPTY))?;
        for (index, block) in chunk.chunks(block).enumerate() {
            let start = (encoded.filled().len() as u32).to_le_bytes();
            encoded.filled_mut()[header::LEN + 4 * index..][..4].copy_from_slice(&start);
            let block = self.rearranged(block, &mut planes)?;
            let mut to = Buffer::new(stream.room(self.stream_bound(inner, block.len()))?);
            self.encode_stream(inner, block, &mut to)?;
            let stream = if to.filled().len() < block.len() { to.filled() } else { block };
            if !(encoded.write(&(stream.len() as u32).to_le_bytes()) && encoded.write(stream)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// A block with its bytes or bits rearranged.
    fn rearranged<'b>(&self, block: &'b [u8], scratch: &'b mut Scratch) -> Result<&'b [u8]> {
        let (size, count) = (self.type_size, block.len() / self.type_size);
        let flag = self.shuffle_flag();
        if flag == 0 || (flag == BIT_SHUFFLE && count % 8 != 0) {
            return Ok(block);
        }
        let (elements, rest) = block.split_at(count * size);
        let (to, rest_of_to) = scratch.room(block.len())?.split_at_mut(elements.len());
        let is_done =
            if flag == BIT_SHUFFLE { bits::scatter(size, elements, to) } else { bytes::scatter(size, elements, to) };
        bytes::copy(rest, rest_of_to);
        if !is_done {
            return Err(ErrorKind::Internal.into());
        }
        // SAFETY: `scatter` and `copy` have just written as many bytes of the room as the block has.
        Ok(unsafe { scratch.filled(block.len()) })
    }

    fn stream_bound(&self, inner: Inner, size: usize) -> usize {
        match inner {
            #[cfg(feature = "lz4")]
            Inner::Lz4 => crate::codec::lz4::block_bound(size),
            #[cfg(feature = "zlib")]
            Inner::Zlib => crate::codec::traits::Codec::encoded_bound(&self.zlib, size),
            #[cfg(feature = "zstd")]
            Inner::Zstd => crate::codec::traits::Codec::encoded_bound(&self.zstd, size),
            _ => size,
        }
    }

    fn encode_stream(&self, inner: Inner, block: &[u8], to: &mut Buffer<'_>) -> Result<()> {
        match inner {
            #[cfg(feature = "lz4")]
            Inner::Lz4 => crate::codec::lz4::encode_block(block, to),
            #[cfg(feature = "zlib")]
            Inner::Zlib => crate::codec::traits::Codec::encode(&self.zlib, block, to),
            #[cfg(feature = "zstd")]
            Inner::Zstd => crate::codec::traits::Codec::encode(&self.zstd, block, to),
            // `Blosc::new` takes no other for encoding.
            _ => {
                let _ = (block, to);
                Err(failed("this compressor can only decode"))
            }
        }
    }
}

fn failed(reason: &'static str) -> Error {
    ErrorKind::Encode { codec: NAME, reason }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_shuffled_as_is_asked() {
        let flags = |shuffle| [1, 4].map(|size| Blosc::new("lz4", 5, shuffle, size, 0).shuffle_flag());
        assert_eq!(flags(BloscShuffle::None), [0, 0]);
        assert_eq!(flags(BloscShuffle::Byte), [0, BYTE_SHUFFLE]);
        assert_eq!(flags(BloscShuffle::Bit), [BIT_SHUFFLE, BIT_SHUFFLE]);
        assert_eq!(flags(BloscShuffle::Auto), [BIT_SHUFFLE, BYTE_SHUFFLE]);
    }

    #[test]
    fn the_largest_chunk_is_that_of_blosc() {
        assert_eq!(LARGEST, 2_147_483_631);
    }

    #[test]
    fn blocks_hold_groups_of_elements() {
        for (type_size, asked, size, expected) in [
            (1, 0, 0, 1),
            (4, 0, 1_000_000, 262_144),
            (3, 0, 1_000_000, 262_128),
            (4, 1, 1000, 128),
            (4, 1000, 1000, 1000),
            (4, 1000, 1001, 992),
            (255, 1, 5000, 2040),
            (255, 1, 1000, 1000),
        ] {
            let codec = Blosc::new("lz4", 5, BloscShuffle::None, type_size, asked);
            assert_eq!(codec.block(size), expected, "{type_size} {asked} {size}");
        }
    }

    /// Blocks of 200 bytes: zeros, and bytes of which more and more are the same.
    #[cfg(all(feature = "lz4", not(miri)))]
    #[test]
    fn what_does_not_become_shorter_is_stored_as_it_is() {
        use crate::codec::testing::{decoded, encoded};
        let codec = Blosc::new("lz4", 5, BloscShuffle::None, 1, 200);
        let mut random = fastrand::Rng::with_seed(5);
        let noise: Vec<u8> = (0..200).map(|_| random.u8(..)).collect();
        let length = |block: &[u8]| {
            let mut stream = Scratch::EMPTY;
            let mut stream = Buffer::new(stream.room(codec.stream_bound(Inner::Lz4, 200)).unwrap());
            codec.encode_stream(Inner::Lz4, block, &mut stream).unwrap();
            stream.filled().len()
        };
        let mut streams = Vec::new();
        for same in 0..=40 {
            let block = [&vec![7; same], &noise[same..]].concat();
            streams.push(length(&block));
            for chunk in [block.clone(), [vec![0; 200], block.clone()].concat()] {
                let blocks = chunk.chunks(200).map(|block| 8 + length(block).min(200));
                let len = header::LEN + blocks.sum::<usize>();
                let copy = header::LEN + chunk.len();
                let stored = encoded(&codec, &chunk);
                assert_eq!((stored.len(), stored[2] & IS_COPY != 0), (len.min(copy), len >= copy), "{same}");
                assert!(decoded(&codec, &stored, 0..chunk.len(), chunk.len()).unwrap() == chunk, "{same}");
            }
        }
        // That of a stream as long as its block, and that of a chunk as long as its copy.
        assert!(streams.contains(&200) && streams.contains(&192));
    }

    /// The chunks are zeros that nobody looks at, so they take no memory.
    #[cfg(all(feature = "lz4", not(miri), target_pointer_width = "64"))]
    #[test]
    fn more_than_blosc_takes_is_not_encoded() {
        let codec = Blosc::new("lz4", 0, BloscShuffle::None, 1, 0);
        let encode = |len: usize| codec.encode_blocks(&vec![0; len], &mut Buffer::new(&mut []));
        assert_eq!(encode(2_147_483_631), Err(failed("the output buffer is too small")));
        assert_eq!(encode(2_147_483_632), Err(failed("more than 2147483631 bytes")));
    }
}
