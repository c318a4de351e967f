//! The header of a blosc 1 chunk, and what follows from it. The source is README_CHUNK_FORMAT.rst of c-blosc.
//!
//! ```text
//!   0 version (2)     1 version of the inner codec (1)     2 flags     3 type size
//!   4 decoded bytes   8 bytes of a block   12 stored bytes, with the header        u32, little-endian
//!   16 where each block begins: u32
//! ```

use crate::error::{Error, ErrorKind, Result};

/// The codec's name.
pub(super) const NAME: &str = "blosc";

/// The largest chunk (blosc.h, BLOSC_MAX_BUFFERSIZE).
pub(super) const LARGEST: usize = i32::MAX as usize - LEN;

/// How long a number is.
const NUMBER: usize = 4;

pub(super) fn corrupt(reason: &'static str) -> Error {
    ErrorKind::Corrupt { codec: NAME, reason }.into()
}

/// How long a header is.
pub(super) const LEN: usize = 16;

/// The version of the format.
pub(super) const VERSION: u8 = 2;

/// The version of each of the inner codecs.
pub(super) const INNER_VERSION: u8 = 1;

pub(super) const BYTE_SHUFFLE: u8 = 1;
pub(super) const IS_COPY: u8 = 1 << 1;
pub(super) const BIT_SHUFFLE: u8 = 1 << 2;
const RESERVED: u8 = 1 << 3;
pub(super) const IS_NOT_SPLIT: u8 = 1 << 4;

/// The largest number of streams that a block is split into (c-blosc, MAX_SPLITS).
const MOST_SPLITS: usize = 16;

/// The fewest elements of a block that is split (c-blosc, MIN_BUFFERSIZE).
pub(super) const FEWEST_SPLIT: usize = 128;

/// The codecs within blosc, with their numbers in the flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inner {
    BloscLz = 0,
    Lz4 = 1,
    Zlib = 3,
    Zstd = 4,
}

/// How elements are rearranged in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arranged {
    Not,
    Bytes,
    Bits,
}

/// A header that was checked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Header {
    /// `None` for a chunk that is a mere copy.
    pub(super) inner: Option<Inner>,
    pub(super) arranged: Arranged,
    pub(super) type_size: usize,
    /// Decoded bytes.
    pub(super) size: usize,
    /// Bytes of a block but the last, which may have fewer. Not 0 unless the chunk is a copy.
    pub(super) block: usize,
    /// Stored bytes, at least the header and no more than there are.
    pub(super) stored: usize,
    is_split: bool,
}

impl Header {
    /// The header of a chunk that decodes to at most `capacity` bytes.
    pub(super) fn read(chunk: &[u8], capacity: usize) -> Result<Self> {
        let bytes = chunk.first_chunk::<LEN>().ok_or_else(|| corrupt("the data is truncated"))?;
        let [version, inner_version, flags, type_size, ..] = *bytes;
        let number = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]) as usize;
        let (size, block, stored) = (number(4), number(8), number(12));
        if version != VERSION {
            return Err(corrupt("the format's version is not 2"));
        }
        if flags & RESERVED != 0 || type_size == 0 {
            return Err(corrupt("the header is invalid"));
        }
        if stored < LEN || stored > chunk.len() {
            return Err(corrupt("the data is truncated"));
        }
        if size > capacity {
            return Err(ErrorKind::DecodedLength { found: None, expected: capacity }.into());
        }
        let is_copy = flags & IS_COPY != 0;
        if is_copy && stored - LEN != size {
            return Err(corrupt("a stored block has a length other than its header says"));
        }
        if !is_copy && size > 0 && (block == 0 || block > size || inner_version != INNER_VERSION) {
            return Err(corrupt("the header is invalid"));
        }
        let inner = match flags >> 5 {
            _ if is_copy => None,
            0 => Some(Inner::BloscLz),
            1 => Some(Inner::Lz4),
            2 => return Err(corrupt("the compressor snappy is not supported")),
            3 => Some(Inner::Zlib),
            4 => Some(Inner::Zstd),
            _ => return Err(corrupt("the compressor is unknown")),
        };
        let type_size = usize::from(type_size);
        let arranged = match flags & (BYTE_SHUFFLE | BIT_SHUFFLE) {
            0 => Arranged::Not,
            BIT_SHUFFLE if block >= type_size => Arranged::Bits,
            BIT_SHUFFLE => Arranged::Not,
            _ if type_size > 1 => Arranged::Bytes,
            // Single bytes are not shuffled; then the other flag counts.
            _ if flags & BIT_SHUFFLE != 0 => Arranged::Bits,
            _ => Arranged::Not,
        };
        Ok(Header { inner, arranged, type_size, size, block, stored, is_split: flags & IS_NOT_SPLIT == 0 })
    }

    /// How many blocks there are.
    pub(super) fn blocks(&self) -> usize {
        self.size.div_ceil(self.block.max(1))
    }

    /// Where the blocks begin, of a chunk that is no copy.
    pub(super) fn starts<'c>(&self, chunk: &'c [u8]) -> Result<&'c [u8]> {
        let starts = || chunk.get(LEN..self.stored)?.get(..self.blocks().checked_mul(NUMBER)?);
        starts().ok_or_else(|| corrupt("the data is truncated"))
    }

    /// The stored bytes from the beginning of a block on.
    pub(super) fn block_at<'c>(&self, chunk: &'c [u8], starts: &[u8], number: usize) -> Result<&'c [u8]> {
        let start = starts.get(number * NUMBER..).and_then(<[u8]>::first_chunk::<NUMBER>).ok_or(ErrorKind::Internal)?;
        let block = chunk.get(..self.stored).and_then(|chunk| chunk.get(u32::from_le_bytes(*start) as usize..));
        block.ok_or_else(|| corrupt("a block begins beyond the data"))
    }

    /// How many streams a block of so many bytes consists of, all of the same length.
    pub(super) fn splits(&self, block: usize) -> Result<usize> {
        let is_split = self.is_split
            && block == self.block
            && self.type_size <= MOST_SPLITS
            && block / self.type_size >= FEWEST_SPLIT;
        match (is_split, block % self.type_size) {
            (true, 0) => Ok(self.type_size),
            (true, _) => Err(corrupt("a block does not hold whole elements")),
            (false, _) => Ok(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header with 1000 bytes of 4-byte elements in blocks of 600, of 500 bytes with the header.
    fn bytes() -> Vec<u8> {
        let mut bytes = vec![VERSION, INNER_VERSION, BYTE_SHUFFLE | 1 << 5, 4];
        [1000u32, 600, 500].iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        bytes.resize(500, 0);
        bytes
    }

    #[test]
    fn a_header_is_checked() {
        let header = Header::read(&bytes(), 1000).unwrap();
        assert_eq!((header.inner, header.arranged, header.blocks()), (Some(Inner::Lz4), Arranged::Bytes, 2));
        assert_eq!((header.splits(600).unwrap(), header.splits(400).unwrap()), (4, 1));
        assert!(Header::read(&bytes(), 999).is_err() && Header::read(&bytes()[..499], 1000).is_err());
        assert_eq!(Header { block: 508, ..header }.splits(508).unwrap(), 1);
        assert_eq!(Header { block: 512, ..header }.splits(512).unwrap(), 4);
        // Bytes that nobody accounts for may follow.
        assert!(Header::read(&[&bytes()[..], &[0; 16]].concat(), 1000).is_ok());
        for (at, value) in [(0, 1), (0, 3), (1, 2), (2, 0x41), (2, 0xE1), (2, 0x29), (2, 0x23), (3, 0), (9, 16)] {
            let mut bytes = bytes();
            bytes[at] = value;
            assert!(Header::read(&bytes, 1000).is_err(), "{at} {value}");
        }
        // A chunk that holds nothing has no blocks, and is not shorter than its header.
        let mut empty = [&bytes()[..4], &[0; 8], &[16, 0, 0, 0]].concat();
        assert_eq!(Header::read(&empty, 0).unwrap().blocks(), 0);
        empty[12] = 15;
        assert_eq!(Header::read(&empty, 0).unwrap_err(), corrupt("the data is truncated"));
    }

    #[test]
    fn flags_say_what_was_done_to_elements() {
        let read = |flags: u8, type_size: u8, block: u32| {
            let mut bytes = bytes();
            (bytes[2], bytes[3]) = (flags, type_size);
            bytes[4..8].copy_from_slice(&484u32.to_le_bytes());
            bytes[8..12].copy_from_slice(&block.to_le_bytes());
            Header::read(&bytes, 484)
        };
        let arranged = |flags, type_size, block| read(flags, type_size, block).unwrap().arranged;
        for (flags, of_one, of_four) in [
            (0, Arranged::Not, Arranged::Not),
            (BYTE_SHUFFLE, Arranged::Not, Arranged::Bytes),
            (BIT_SHUFFLE, Arranged::Bits, Arranged::Bits),
            (BYTE_SHUFFLE | BIT_SHUFFLE, Arranged::Bits, Arranged::Bytes),
        ] {
            assert_eq!((arranged(flags, 1, 100), arranged(flags, 4, 100)), (of_one, of_four), "{flags}");
        }
        assert_eq!((arranged(BIT_SHUFFLE, 100, 100), arranged(BIT_SHUFFLE, 101, 100)), (Arranged::Bits, Arranged::Not));
        let inner = |flags| read(flags, 4, 100).map(|header| header.inner);
        let known = [(0, Inner::BloscLz), (1, Inner::Lz4), (3, Inner::Zlib), (4, Inner::Zstd)];
        for (number, codec) in known {
            assert_eq!(inner(number << 5), Ok(Some(codec)));
            assert_eq!(inner(number << 5 | IS_COPY), Ok(None));
        }
        assert_eq!(inner(2 << 5), Err(corrupt("the compressor snappy is not supported")));
        assert_eq!(inner(5 << 5), Err(corrupt("the compressor is unknown")));
    }

    #[test]
    fn a_block_that_is_split_holds_whole_elements() {
        let mut bytes = bytes();
        bytes[8..12].copy_from_slice(&602u32.to_le_bytes());
        let header = Header::read(&bytes, 1000).unwrap();
        assert!(header.splits(602).is_err() && header.splits(398).is_ok());
    }
}
