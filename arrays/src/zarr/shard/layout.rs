//! What a shard consists of: chunks in a grid, an index that tells where each begins, and how both are encoded.
//!
//! The source is the specification of the codec sharding_indexed. A shard is the encoded chunks in any order, and an
//! index before or behind them. The index has two 64-bit numbers for each chunk, row-major: where its bytes begin in
//! the shard and how many they are. Both are 2^64 - 1 for an absent chunk. A CRC-32C may follow.

use crate::alloc;
use crate::codec;
use crate::dims::{self, Dims};
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::{ABSENT, Index};
use crate::object::ByteRange;
use crate::variable::Endian;

/// How the index is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IndexFormat {
    pub at_start: bool,
    pub endian: Endian,
    pub has_checksum: bool,
}

/// The chunks of a shard and its index.
pub(crate) struct Layout {
    /// Chunks in a shard along each of the array's dimensions.
    counts: Dims<usize>,
    /// The array's dimensions as the index has them, slowest first.
    order: Dims<usize>,
    num_chunks: usize,
    index: IndexFormat,
}

impl Layout {
    /// `order` tells the array's dimensions as the index has them, slowest first; `None` stands for the array's own
    /// order.
    ///
    /// # Errors
    /// `Metadata` for shards with more chunks than can be, `OutOfMemory`.
    pub(crate) fn new(counts: &[usize], order: Option<&[usize]>, index: IndexFormat) -> Result<Self> {
        // The index has to fit memory, and so have its lengths.
        let fits = |num: &usize| *num <= (isize::MAX as usize - 4) / 16;
        let product = counts.iter().try_fold(1usize, |product, &count| product.checked_mul(count)).filter(fits);
        let order = match order {
            Some(order) => dims::copied(order.iter().copied())?,
            None => dims::copied(0..counts.len())?,
        };
        Ok(Layout {
            counts: dims::copied(counts.iter().copied())?,
            order,
            num_chunks: product.ok_or(ErrorKind::Metadata("the shard has too many chunks"))?,
            index,
        })
    }

    pub(super) fn num_chunks(&self) -> usize {
        self.num_chunks
    }

    /// How many chunks of a shard lie within an array with so many along each dimension.
    pub(super) fn num_inside(&self, shard: &[isize], all: &[usize]) -> usize {
        shard.iter().zip(&self.counts).zip(all).fold(1, |num, ((&shard, &count), all)| {
            let before = usize::try_from(shard).unwrap_or(0).saturating_mul(count);
            num * all.saturating_sub(before).min(count)
        })
    }

    pub(super) fn index_is_at_start(&self) -> bool {
        self.index.at_start
    }

    /// The length of the index in bytes.
    pub(super) fn index_bytes(&self) -> usize {
        self.num_chunks * 16 + if self.index.has_checksum { 4 } else { 0 }
    }

    /// Where the index is in a shard.
    pub(super) fn index_begin(&self) -> ByteRange {
        if self.index.at_start { ByteRange::At(0) } else { ByteRange::BeforeEnd(self.index_bytes() as u64) }
    }

    /// The indices of the shard that a chunk is in, and the chunk's number in the shard's index.
    pub(super) fn locate(&self, chunk: &[isize]) -> Result<(Dims<isize>, usize)> {
        let shard = dims::copied(chunk.iter().zip(&self.counts).map(|(&c, &count)| c.div_euclid(count as isize)))?;
        let within = |d: usize| chunk[d].rem_euclid(self.counts[d] as isize) as usize;
        let number = self.order.iter().fold(0, |number, &d| number * self.counts[d] + within(d));
        Ok((shard, number))
    }

    /// The position of a chunk, by its number in the index, within its shard: along each of the array's dimensions.
    pub(super) fn position(&self, mut number: usize) -> Result<Dims<usize>> {
        let mut position = dims::copied(self.order.iter().map(|_| 0))?;
        for &d in self.order.iter().rev() {
            position[d] = number % self.counts[d];
            number /= self.counts[d];
        }
        Ok(position)
    }

    /// Reads the numbers of an index and verifies its checksum.
    pub(super) fn decode(&self, bytes: &[u8]) -> Result<Index> {
        if bytes.len() != self.index_bytes() {
            return Err(corrupt("the shard is shorter than its index"));
        }
        let (numbers, checksum) = bytes.split_at(self.num_chunks * 16);
        if self.index.has_checksum && checksum != crc32c(numbers)? {
            return Err(corrupt("the shard's index does not match its checksum"));
        }
        let mut spans = alloc::room(self.num_chunks)?;
        for pair in numbers.chunks_exact(16) {
            spans.push((self.number(&pair[..8]), self.number(&pair[8..])));
        }
        Ok(Index { spans })
    }

    /// Where a chunk is in a shard of `shard_len` bytes, by its index; `None` if it is absent.
    ///
    /// # Errors
    /// `Corrupt` for a span that is not within the shard.
    pub(super) fn storage_in(&self, index: &Index, number: usize, shard_len: u64) -> Result<Option<(u64, u64)>> {
        let span @ (offset, len) = *index.spans.get(number).ok_or(ErrorKind::Internal)?;
        if span == ABSENT {
            return Ok(None);
        }
        let index_bytes = self.index_bytes() as u64;
        let (first, end) = match self.index.at_start {
            true => (index_bytes, shard_len),
            false => (0, shard_len.saturating_sub(index_bytes)),
        };
        match offset.checked_add(len) {
            Some(last) if offset >= first && last <= end => Ok(Some(span)),
            _ => Err(corrupt("the index places a chunk outside of the shard")),
        }
    }

    /// Writes an index as it is stored.
    pub(super) fn encode(&self, index: &Index) -> Result<Vec<u8>> {
        let mut bytes = alloc::room(self.index_bytes())?;
        for &(offset, len) in &index.spans {
            for number in [offset, len] {
                let number = match self.index.endian {
                    Endian::Native => number.to_ne_bytes(),
                    Endian::Little => number.to_le_bytes(),
                    Endian::Big => number.to_be_bytes(),
                };
                bytes.extend_from_slice(&number);
            }
        }
        if self.index.has_checksum {
            bytes.extend_from_slice(&crc32c(&bytes)?);
        }
        Ok(bytes)
    }

    fn number(&self, bytes: &[u8]) -> u64 {
        let mut number = [0; 8];
        number.copy_from_slice(bytes);
        match self.index.endian {
            Endian::Native => u64::from_ne_bytes(number),
            Endian::Little => u64::from_le_bytes(number),
            Endian::Big => u64::from_be_bytes(number),
        }
    }
}

/// What is said of a shard that is another one each time it is read.
pub(super) const CHANGED: &str = "the shard was replaced during each attempt to read it";

pub(super) fn corrupt(reason: &'static str) -> Error {
    ErrorKind::Corrupt { codec: "sharding_indexed", reason }.into()
}

fn crc32c(bytes: &[u8]) -> Result<[u8; 4]> {
    Ok(codec::built_in::crc32c(bytes)?.to_le_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: IndexFormat = IndexFormat { at_start: false, endian: Endian::Little, has_checksum: false };

    #[test]
    fn a_chunk_is_found_by_its_indices() {
        let layout = Layout::new(&[2, 3], None, PLAIN).unwrap();
        let (shard, number) = layout.locate(&[5, 7]).unwrap();
        assert_eq!((&shard[..], number), (&[2, 2][..], 4));
        assert_eq!(layout.position(4).unwrap()[..], [1, 1]);
        // With an index whose columns come first.
        let layout = Layout::new(&[2, 3], Some(&[1, 0]), PLAIN).unwrap();
        assert_eq!(layout.locate(&[5, 7]).unwrap().1, 3);
        assert_eq!(layout.position(3).unwrap()[..], [1, 1]);
        assert_eq!(layout.position(2).unwrap()[..], [0, 1]);
        // Of 5 x 7 chunks.
        let inside = [[0, 0], [2, 0], [0, 2], [2, 2], [3, 0]].map(|shard| layout.num_inside(&shard, &[5, 7]));
        assert_eq!(inside, [6, 3, 2, 1, 0]);
    }

    #[test]
    fn an_index_is_what_it_was_and_storages_lie_within_the_shard() {
        let spans = [(0, 10), ABSENT, (10, 5), (u64::MAX, 1), (11, 5), (u64::MAX - 3, 10)];
        for at_start in [false, true] {
            for endian in [Endian::Little, Endian::Big] {
                let format = IndexFormat { at_start, endian, has_checksum: cfg!(feature = "codecs") };
                let layout = Layout::new(&[6], None, format).unwrap();
                let shift = if at_start { layout.index_bytes() as u64 } else { 0 };
                let moved = |&(o, l): &(u64, u64)| if o < 100 { (o + shift, l) } else { (o, l) };
                let bytes = layout.encode(&Index { spans: spans.iter().map(moved).collect() }).unwrap();
                let index = layout.decode(&bytes).unwrap();
                let shard_len = 15 + layout.index_bytes() as u64;
                let found: Vec<_> = (0..6).map(|i| layout.storage_in(&index, i, shard_len).ok()).collect();
                let (one, two) = (Some(Some((shift, 10))), Some(Some((10 + shift, 5))));
                assert_eq!(found, [one, Some(None), two, None, None, None]);
                assert!(layout.decode(&bytes[1..]).is_err());
            }
        }
    }

    #[test]
    #[cfg(feature = "codecs")]
    fn a_changed_index_is_noticed() {
        let layout = Layout::new(&[2], None, IndexFormat { has_checksum: true, ..PLAIN }).unwrap();
        let bytes = layout.encode(&Index { spans: vec![(0, 1), (1, 1)] }).unwrap();
        for (i, bit) in (0..bytes.len()).flat_map(|i| (0..8).map(move |bit| (i, bit))) {
            let mut changed = bytes.clone();
            changed[i] ^= 1 << bit;
            assert!(layout.decode(&changed).is_err());
        }
    }

    #[test]
    fn an_index_larger_than_memory_is_refused() {
        assert!(Layout::new(&[usize::MAX, 2], None, PLAIN).is_err());
        assert!(Layout::new(&[usize::MAX / 16 + 1], None, PLAIN).is_err());
    }
}
