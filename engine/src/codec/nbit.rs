//! nbit: HDF5's filter 5, which leaves out the bits of numbers that have no meaning. It is decoded only.
//!
//! The source is H5Znbit.c. The parameters say what elements are made of: numbers, arrays, structures, or bytes that
//! are taken as they are. Of each number there are its bits alone, the highest first, and nothing between numbers.

use std::ops::Range;

use super::definition::{Definition, boxed};
use super::highest_first::HighestFirst;
use super::traits::{Codec, decoded_only, named};
use crate::alloc;
use crate::buffer::Buffer;
use crate::error::{ErrorKind, Result};

const NAME: &str = "nbit";

pub(super) const CODECS: &[Definition] = &[Definition { filter: Some((5, of_parameters)), ..Definition::DEFAULT }];

/// A number in an element.
#[derive(Debug)]
struct Field {
    /// Where its bytes are.
    bytes: Range<usize>,
    is_big: bool,
    /// Which of its bits there are, counted from the lowest.
    bits: Range<u32>,
}

/// The codec.
#[derive(Debug)]
struct Nbit {
    /// How many elements a chunk has, and how many bytes and bits an element.
    count: usize,
    size: usize,
    bits: usize,
    /// None if the bytes are stored as they are.
    fields: Vec<Field>,
}

/// Elements have so many parts at most, and these are within others so deep.
const MOST_PARTS: usize = 1 << 16;
const DEEPEST: usize = 32;

/// Their number, whether the bytes are as they are, how many elements there are, and what an element is.
fn of_parameters(parameters: &[u32]) -> Result<Option<Box<dyn Codec>>> {
    let [_, is_plain, count, class, of_class @ ..] = parameters else { return Ok(None) };
    let mut nbit = Nbit { count: *count as usize, size: 1, bits: 0, fields: Vec::new() };
    if *is_plain == 0 {
        let (mut rest, mut left) = (of_class, MOST_PARTS);
        match nbit.add(*class, &mut rest, 0, (&mut left, DEEPEST))? {
            Some(size) if nbit.fields.iter().all(|field| field.bytes.end <= size) => nbit.size = size,
            _ => return Ok(None),
        }
        let bits = nbit.fields.iter().try_fold(0u32, |bits, field| bits.checked_add(field.bits.end - field.bits.start));
        let Some(bits) = bits else { return Ok(None) };
        nbit.bits = bits as usize;
    }
    boxed(nbit).map(Some)
}

fn first<'p, const N: usize>(parameters: &mut &'p [u32]) -> Option<&'p [u32; N]> {
    let (first, rest) = parameters.split_first_chunk()?;
    *parameters = rest;
    Some(first)
}

impl Nbit {
    /// Adds what a part of an element has, of which the parameters are the next, and that begins at a byte. Returns how
    /// many bytes the part has; `None` for what the filter does not make.
    fn add(
        &mut self,
        class: u32,
        parameters: &mut &[u32],
        at: usize,
        (left, depth): (&mut usize, usize),
    ) -> Result<Option<usize>> {
        const NUMBER: u32 = 1;
        const ARRAY: u32 = 2;
        const STRUCTURE: u32 = 3;
        const PLAIN: u32 = 4;
        if *left == 0 || depth == 0 {
            return Ok(None);
        }
        *left -= 1;
        let Some([size]) = first(parameters) else { return Ok(None) };
        let size = *size as usize;
        let Some(end) = at.checked_add(size).filter(|_| size > 0) else { return Ok(None) };
        match class {
            NUMBER => {
                let Some([order, precision, offset]) = first(parameters) else { return Ok(None) };
                let bits = *offset..offset.saturating_add(*precision);
                if *order > 1 || bits.is_empty() || u64::from(bits.end) > 8 * size as u64 {
                    return Ok(None);
                }
                alloc::push(&mut self.fields, Field { bytes: at..end, is_big: *order == 1, bits })?;
            }
            ARRAY => {
                let Some([class]) = first(parameters) else { return Ok(None) };
                let of_one = *parameters;
                let mut begin = at;
                while begin < end {
                    *parameters = of_one;
                    let Some(len) = self.add(*class, parameters, begin, (left, depth - 1))? else { return Ok(None) };
                    begin += len;
                }
            }
            STRUCTURE => {
                let Some([count]) = first(parameters) else { return Ok(None) };
                for _ in 0..*count {
                    let Some([offset, class]) = first(parameters) else { return Ok(None) };
                    let at = at.saturating_add(*offset as usize);
                    if self.add(*class, parameters, at, (left, depth - 1))?.is_none() {
                        return Ok(None);
                    }
                }
            }
            PLAIN => {
                let Some(bits) = u32::try_from(size).ok().and_then(|size| size.checked_mul(8)) else { return Ok(None) };
                alloc::push(&mut self.fields, Field { bytes: at..end, is_big: true, bits: 0..bits })?;
            }
            _ => return Ok(None),
        }
        Ok(Some(size))
    }
}

impl Field {
    /// Takes the bits of a number to its bytes, which are zeros; `None` if there are too few.
    fn take(&self, from: &mut HighestFirst<'_>, to: &mut [u8]) -> Option<()> {
        let len = to.len();
        if len <= 8 {
            let number = from.take(self.bits.end - self.bits.start)? << self.bits.start;
            match self.is_big {
                true => to.copy_from_slice((number << (64 - 8 * len)).to_be_bytes().get(..len)?),
                false => to.copy_from_slice(number.to_le_bytes().get(..len)?),
            }
            return Some(());
        }
        for byte in (self.bits.start / 8..self.bits.end.div_ceil(8)).rev() {
            let (low, high) = (self.bits.start.max(8 * byte), self.bits.end.min(8 * byte + 8));
            let bits = from.take(high - low)? << (low - 8 * byte);
            let at = if self.is_big { len.checked_sub(1 + byte as usize)? } else { byte as usize };
            *to.get_mut(at)? = bits as u8;
        }
        Some(())
    }
}

impl Codec for Nbit {
    named!(NAME, says_too_little_room);

    /// The filter gives a byte more where the last bit is that of a byte.
    fn encoded_bound(&self, decoded_size: usize) -> usize {
        decoded_size.saturating_add(1)
    }

    fn decode(&self, encoded: &[u8], needed: Range<usize>, decoded: &mut Buffer<'_>) -> Result<()> {
        let too_many = ErrorKind::DecodedLength { found: None, expected: decoded.capacity() };
        if self.fields.is_empty() {
            return if decoded.write(encoded) { Ok(()) } else { Err(too_many.into()) };
        }
        let size = self.count.checked_mul(self.size).filter(|size| *size <= decoded.capacity()).ok_or(too_many)?;
        let end = needed.end.min(size).div_ceil(self.size);
        let begin = (needed.start / self.size).min(end);
        let early = || ErrorKind::Corrupt { codec: NAME, reason: "the data end early" };
        let bits = begin.checked_mul(self.bits).and_then(|at| HighestFirst::new(encoded, at));
        let mut bits = bits.ok_or_else(early)?;
        decoded.skip(begin * self.size);
        let to = decoded.zeros((end - begin) * self.size).ok_or(ErrorKind::Internal)?;
        for element in to.chunks_exact_mut(self.size) {
            for field in &self.fields {
                let to = element.get_mut(field.bytes.clone()).ok_or(ErrorKind::Internal)?;
                field.take(&mut bits, to).ok_or_else(early)?;
            }
        }
        Ok(())
    }

    decoded_only!(NAME, "it is decoded only");
}

#[cfg(test)]
#[allow(clippy::unusual_byte_groupings, reason = "bits are grouped by the numbers that they are")]
mod tests {
    use super::*;
    use crate::codec::of_filter;
    use crate::codec::testing::decoded;

    /// Two numbers of 5 bits from bit 2 on, the second big-endian in 2 bytes, in structures of 4 bytes.
    const STRUCTURES: [u32; 18] = [18, 0, 2, 3, 4, 2, 0, 1, 1, 0, 5, 2, 2, 1, 2, 1, 5, 2];

    #[test]
    fn bits_come_to_where_they_belong() {
        let codec = of_filter(5, &STRUCTURES).unwrap();
        let stored = [0b10001_010, 0b10_11111_0, 0b0001_0000];
        let due = [0b10001 << 2, 0, 0, 0b01010 << 2, 0b11111 << 2, 0, 0, 0b00001 << 2];
        assert_eq!(decoded(&*codec, &stored, 0..8, 8).unwrap(), due);
        assert_eq!(decoded(&*codec, &stored, 5..8, 8).unwrap()[4..], due[4..]);
        assert!(decoded(&*codec, &stored[..2], 0..8, 8).is_err());
        assert_eq!(decoded(&*codec, &stored[..2], 0..3, 8).unwrap()[..4], due[..4]);
        let kind = decoded(&*codec, &stored, 0..7, 7).unwrap_err().kind();
        assert_eq!(kind, ErrorKind::DecodedLength { found: None, expected: 7 });
    }

    #[test]
    fn parameters_that_lead_nowhere_are_refused() {
        for len in 0..STRUCTURES.len() {
            assert!(of_filter(5, &STRUCTURES[..len]).is_err(), "{len}");
        }
        // Bits beyond the bytes, no bits, a part beyond the whole, parts of no bytes, 2^32 bits and more, and too deep
        // or too many ones.
        let mut deep = vec![0, 0, 1, 2];
        deep.extend([8, 2].repeat(1000));
        let wide = [0, 0, 1, 3, u32::MAX, 2, 0, 4, u32::MAX / 8, u32::MAX / 8, 4, u32::MAX / 8];
        let many = [0, 0, 1, 2, u32::MAX, 1, 1, 0, 5, 2];
        for parameters in [
            &[0, 0, 1, 1, 1, 0, 5, 4][..],
            &[0, 0, 1, 1, 1, 0, 0, 4],
            &[0, 0, 1, 1, 1, 2, 5, 0],
            &[0, 0, 1, 3, 1, 1, 1, 1, 1, 0, 5, 0],
            &[0, 0, 1, 2, 8, 1, 0, 0, 5, 0],
            &[0, 0, 1, 3, 4, u32::MAX],
            &[0, 0, 1, 9, 1],
            &wide,
            &deep,
            &many,
        ] {
            assert!(of_filter(5, parameters).is_err(), "{parameters:?}");
        }
    }
}
