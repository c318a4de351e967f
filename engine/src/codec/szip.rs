//! szip: HDF5's filter 4, the extended Rice coder of CCSDS 121.0-B-3. It is decoded only.
//!
//! The source is the recommended standard, and how libaec lays out what szip stores: samples are those of a scan line,
//! which is filled up to whole blocks; elements of 4 and 8 bytes are coded as their bytes, the first of all elements
//! before the second of all.
//!
//! ```text
//! scan line: the first sample, if samples are predicted; then blocks, each of which is one of
//!     0 0 zeros 1          so many blocks of zeros
//!     0 1 zeros 1 ...      a number for each two samples
//!     k+1 zeros 1 ... bits the high bits of all samples, each as a number of zeros, and then k low bits of each
//!     1..1 bits            samples as they are
//! ```

use std::ops::Range;

use super::definition::{Definition, boxed};
use super::highest_first::{HighestFirst, mask};
use super::traits::{Codec, decoded_only, named};
use crate::buffer::Buffer;
use crate::error::{Error, ErrorKind, Result};

const NAME: &str = "szip";

pub(super) const CODECS: &[Definition] = &[Definition { filter: Some((4, of_parameters)), ..Definition::DEFAULT }];

/// The codec.
#[derive(Debug)]
struct Szip {
    /// How many bits a sample has.
    bits: u32,
    /// How many samples a block has, and a scan line without what it is filled up with.
    block: usize,
    line: usize,
    /// How many bytes an element has, whose bytes are samples; 1 for others.
    planes: usize,
    is_big: bool,
    is_predicted: bool,
}

/// A mask of options, the samples of a block, the bits of an element, the elements of a scan line.
fn of_parameters(parameters: &[u32]) -> Result<Option<Box<dyn Codec>>> {
    const BIG: u32 = 1 << 4;
    const PREDICTED: u32 = 1 << 5;
    let &[options, block, bits, line, ..] = parameters else { return Ok(None) };
    let (bits, planes) = match bits {
        1..=24 => (bits, 1),
        32 | 64 => (8, bits as usize / 8),
        _ => return Ok(None),
    };
    // A line that is filled up has a number of samples that has 32 bits, too.
    if !matches!(block, 2..=64) || line == 0 || line.checked_next_multiple_of(block).is_none() {
        return Ok(None);
    }
    let (is_big, is_predicted) = (options & BIG != 0, options & PREDICTED != 0);
    boxed(Szip { bits, block: block as usize, line: line as usize, planes, is_big, is_predicted }).map(Some)
}

/// Where samples go.
struct Samples<'s> {
    szip: &'s Szip,
    to: &'s mut [u8],
    /// How many samples there are, and how many bytes each has.
    count: usize,
    size: usize,
    /// Which line and which of its samples comes next.
    line: usize,
    column: usize,
    /// The sample before.
    last: u64,
}

impl Samples<'_> {
    /// Whether all that are wanted are there. What fills up the last line may be missing.
    fn are_all(&self) -> bool {
        self.line.saturating_mul(self.szip.line).saturating_add(self.column.min(self.szip.line)) >= self.count
    }

    /// How many a line has that is filled up.
    fn filled_line(&self) -> usize {
        self.szip.line.div_ceil(self.szip.block) * self.szip.block
    }

    /// Adds a sample, or how far it is from the one before.
    fn push(&mut self, coded: u64) {
        let mut value = coded;
        if self.szip.is_predicted && self.column > 0 {
            // What is no further than the nearer end of the range goes up and down in turns.
            let largest = mask(self.szip.bits);
            let folded = if self.last > largest / 2 { largest - self.last } else { self.last };
            value = if coded.div_ceil(2) > folded {
                if self.last > largest / 2 { largest.wrapping_sub(coded) } else { coded }
            } else if coded % 2 == 0 {
                self.last + coded / 2
            } else {
                self.last - coded.div_ceil(2)
            } & largest;
        }
        self.last = value;
        let number = self.line.saturating_mul(self.szip.line).saturating_add(self.column);
        if self.column < self.szip.line && number < self.count {
            let planes = self.szip.planes;
            let elements = self.count / planes;
            let at = match planes {
                1 => number * self.size,
                _ => number % elements * planes + number / elements,
            };
            let mut bytes = value.to_le_bytes();
            let bytes = &mut bytes[..self.size];
            if self.szip.is_big {
                bytes.reverse();
            }
            // Of the last sample there may be a part.
            let to = self.to.get_mut(at..).unwrap_or_default();
            to.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        }
        self.column += 1;
        if self.column == self.filled_line() {
            (self.line, self.column) = (self.line + 1, 0);
        }
    }
}

impl Szip {
    /// Decodes a block, or several that are zeros; `None` if the data end.
    fn block(&self, from: &mut HighestFirst<'_>, to: &mut Samples<'_>) -> Result<Option<()>> {
        /// So many zeros say that all of a segment are zeros, or what is left of it.
        const REST: u64 = 4;
        const SEGMENT: usize = 64;
        const LARGEST_PAIR: u64 = 90;
        let corrupt = |reason| Error::from(ErrorKind::Corrupt { codec: NAME, reason });
        let id_bits = match self.bits {
            ..=8 => 3,
            9..=16 => 4,
            _ => 5,
        };
        let first = usize::from(self.is_predicted && to.column == 0);
        let block_number = to.column / self.block;
        let Some(id) = from.take(id_bits) else { return Ok(None) };
        if id == mask(id_bits) {
            for _ in 0..self.block {
                let Some(value) = from.take(self.bits) else { return Ok(None) };
                to.push(value);
            }
            return Ok(Some(()));
        }
        let is_pairs = match id {
            0 => match from.take(1) {
                Some(bit) => bit == 1,
                None => return Ok(None),
            },
            _ => false,
        };
        if first == 1 {
            let Some(value) = from.take(self.bits) else { return Ok(None) };
            to.push(value);
        }
        if is_pairs {
            let mut i = first;
            while i < self.block {
                let Some(pair) = from.zeros() else { return Ok(None) };
                if pair > LARGEST_PAIR {
                    return Err(corrupt("a pair of samples is too large"));
                }
                let mut sum = 0;
                while (sum + 1) * (sum + 2) / 2 <= pair {
                    sum += 1;
                }
                let second = pair - sum * (sum + 1) / 2;
                if i % 2 == 0 {
                    to.push(sum - second);
                    i += 1;
                }
                if i < self.block {
                    to.push(second);
                    i += 1;
                }
            }
        } else if id == 0 {
            let left = to.filled_line() / self.block - block_number;
            let blocks = match from.zeros() {
                None => return Ok(None),
                Some(REST) => left.min(SEGMENT - block_number % SEGMENT),
                Some(zeros) => usize::try_from(if zeros < REST { zeros + 1 } else { zeros }).unwrap_or(usize::MAX),
            };
            if blocks > left {
                return Err(corrupt("a scan line is longer than it should be"));
            }
            (first..blocks * self.block).for_each(|_| to.push(0));
        } else {
            let low_bits = (id - 1) as u32;
            let mut values = [0u64; 64];
            let values = values.get_mut(first..self.block).ok_or(ErrorKind::Internal)?;
            for value in &mut *values {
                let Some(high) = from.zeros() else { return Ok(None) };
                if high > mask(32) {
                    return Err(corrupt("a sample is too large"));
                }
                *value = high << low_bits;
            }
            for value in values {
                let Some(low) = from.take(low_bits) else { return Ok(None) };
                to.push((*value | low) & mask(self.bits));
            }
        }
        Ok(Some(()))
    }
}

impl Codec for Szip {
    named!(NAME, says_too_little_room);

    fn encoded_bound(&self, decoded_size: usize) -> usize {
        decoded_size.saturating_add(decoded_size / 2 + 64)
    }

    fn decode(&self, encoded: &[u8], _: Range<usize>, decoded: &mut Buffer<'_>) -> Result<()> {
        let expected = decoded.capacity();
        let corrupt = |reason| Error::from(ErrorKind::Corrupt { codec: NAME, reason });
        let Some((len, encoded)) = encoded.split_first_chunk::<4>() else {
            return Err(corrupt("the data end early"));
        };
        // What comes before may give fewer bytes than it has room for, such as scaleoffset.
        let size = u32::from_le_bytes(*len) as usize;
        if size > expected {
            return Err(ErrorKind::DecodedLength { found: None, expected }.into());
        }
        let sample_size = match self.bits {
            ..=8 => 1,
            9..=16 => 2,
            _ => 4,
        };
        // libaec does not store a part of an element whose bytes are samples. It may have no meaning; else whatever
        // needs it finds it missing.
        let size = if self.planes > 1 { size / self.planes * self.planes } else { size };
        let to = decoded.zeros(size).ok_or(ErrorKind::Internal)?;
        let count = size.div_ceil(sample_size);
        let mut samples = Samples { szip: self, to, count, size: sample_size, line: 0, column: 0, last: 0 };
        let mut bits = HighestFirst::new(encoded, 0).ok_or(ErrorKind::Internal)?;
        while !samples.are_all() {
            self.block(&mut bits, &mut samples)?.ok_or_else(|| corrupt("the data end early"))?;
        }
        Ok(())
    }

    decoded_only!(NAME, "it is decoded only");
}

#[cfg(all(test, feature = "scaleoffset"))]
mod tests {
    use super::*;
    use crate::alloc::Scratch;
    use crate::codec::testing::decoded;
    use crate::codec::{Chain, of_filter};
    use crate::limits::Limit;

    /// What h5py has written of integers of 4 bits or 5, and the integers.
    #[test]
    fn a_filter_before_may_give_fewer_bytes() {
        let chunk = |stored: &[u8], parameters: [&[u32]; 2], size: usize| {
            let mut chain = Chain::default();
            for (filter, parameters) in [6, 4].into_iter().zip(parameters) {
                chain.reserve().unwrap();
                chain.push(of_filter(filter, parameters).unwrap());
            }
            let (mut room, mut one, mut other) = (Scratch::EMPTY, Scratch::EMPTY, Scratch::EMPTY);
            let mut chunk = Buffer::new(room.room(size).unwrap());
            let as_is = chain.decode(stored, 0..size, &mut chunk, [&mut one, &mut other], Limit::NONE);
            as_is.map(|_| chunk.filled().to_vec())
        };
        let fours = [
            32, 0, 0, 0, 96, 168, 236, 224, 0, 25, 222, 208, 217, 244, 112, 0, 7, 59, 96, 0, 222, 4, 0, 11, 1, 227, 0,
            0, 228, 49, 64,
        ];
        let due = [7, 7, 7, 7, 26, 26, 26, 26, 7, 7, 7, 7, 26, 26, 26, 9i32].map(i32::to_le_bytes);
        let parameters = [&[2, 5, 16, 0, 4, 1, 0, 1, 0][..], &[169, 4, 32, 16]];
        assert_eq!(chunk(&fours, parameters, 64).unwrap(), due.as_flattened());
        // A chunk has exactly its size.
        assert!(chunk(&fours, parameters, 63).is_err() && chunk(&fours, parameters, 65).is_err());
        let szip = of_filter(4, parameters[1]).unwrap();
        assert_eq!(decoded(&*szip, &fours, 0..32, 40).unwrap().len(), 32);
        let kind = decoded(&*szip, &fours, 0..31, 31).unwrap_err().kind();
        assert_eq!(kind, ErrorKind::DecodedLength { found: None, expected: 31 });
        // The last sample has one byte of two.
        let twos =
            [29, 0, 0, 0, 176, 0, 74, 32, 62, 17, 7, 131, 188, 2, 0, 0, 0, 0, 16, 1, 255, 238, 241, 0, 0, 8, 0, 0, 0];
        let due = [7, 7, 7, 7, 15, 15, 15, 15, 7, 7, 7, 7, 15, 15, 9];
        let parameters = [&[2, 4, 15, 0, 2, 1, 0, 1, 0][..], &[169, 4, 16, 15]];
        assert_eq!(chunk(&twos, parameters, 30).unwrap(), due.map(i16::to_le_bytes).as_flattened());
        let big = [29, 0, 0, 0, 192, 64, 10, 127, 248, 7, 1, 160, 183, 8, 0, 4, 124, 64, 7, 251, 185, 4, 64, 0, 0];
        let parameters = [&[2, 4, 15, 0, 2, 1, 1, 1, 0][..], &[177, 4, 16, 15]];
        assert_eq!(chunk(&big, parameters, 30).unwrap(), due.map(i16::to_be_bytes).as_flattened());
        // The last byte, which has the last number, was not stored.
        let lost =
            [29, 0, 0, 0, 96, 132, 102, 112, 0, 8, 143, 246, 143, 160, 16, 0, 111, 0, 128, 4, 104, 14, 15, 128, 0];
        let kind = chunk(&lost, [&[2, 4, 15, 0, 4, 1, 0, 1, 0], &[169, 4, 32, 15]], 60).unwrap_err().kind();
        assert_eq!(kind, ErrorKind::Corrupt { codec: "scaleoffset", reason: "the data end early" });
    }

    #[test]
    fn a_line_that_is_too_long_when_filled_up_is_refused() {
        for (line, is_well) in [(0, false), (u32::MAX - 63, true), (u32::MAX - 62, false), (u32::MAX, false)] {
            assert_eq!(of_filter(4, &[169, 64, 32, line]).is_ok(), is_well, "{line}");
        }
    }
}
