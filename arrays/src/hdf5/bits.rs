//! Integers of which only some bits have a meaning: their values are made of those.

use std::ops::Range;

use crate::buffer::Buffer;
use crate::codec::Codec;
use crate::element::ElementType;
use crate::error::{ErrorKind, Result};
use crate::variable::Endian;

/// What makes integers of their bits: the first codec of an array.
pub(super) struct Bits {
    size: usize,
    is_big: bool,
    /// Which bits they are, counted from the lowest.
    bits: Range<u32>,
    is_signed: bool,
}

impl Bits {
    pub(super) fn new(element: ElementType, endian: Endian, (first, end): (u32, u32)) -> Self {
        use ElementType::{Byte, Int, Int64, Short};
        let is_signed = matches!(element, Byte | Short | Int | Int64);
        Bits { size: element.size(), is_big: endian == Endian::Big, bits: first..end, is_signed }
    }

    /// Makes the bytes of an integer those of its value.
    pub(super) fn value(&self, bytes: &mut [u8]) {
        let number = |word: u64, byte: &u8| word << 8 | u64::from(*byte);
        let word = if self.is_big { bytes.iter().fold(0, number) } else { bytes.iter().rev().fold(0, number) };
        let high = word << (64 - self.bits.end);
        let down = 64 - (self.bits.end - self.bits.start);
        let value = if self.is_signed { (high as i64 >> down) as u64 } else { high >> down };
        let len = bytes.len();
        match self.is_big {
            true => bytes.copy_from_slice(&value.to_be_bytes()[8 - len..]),
            false => bytes.copy_from_slice(&value.to_le_bytes()[..len]),
        }
    }
}

impl Codec for Bits {
    fn name(&self) -> &str {
        "integers of some bits"
    }

    fn encoded_bound(&self, decoded_size: usize) -> usize {
        decoded_size
    }

    fn needed_encoded(&self, needed: Range<usize>, _: usize) -> Range<usize> {
        needed.start / self.size * self.size..needed.end.next_multiple_of(self.size)
    }

    fn decode(&self, encoded: &[u8], needed: Range<usize>, decoded: &mut Buffer<'_>) -> Result<()> {
        let end = encoded.len().min(needed.end.next_multiple_of(self.size)) / self.size * self.size;
        let begin = (needed.start / self.size * self.size).min(end);
        decoded.skip(begin);
        if !decoded.write(&encoded[begin..end]) {
            return Err(ErrorKind::DecodedLength { found: None, expected: decoded.capacity() }.into());
        }
        decoded.filled_mut()[begin..].chunks_exact_mut(self.size).for_each(|bytes| self.value(bytes));
        Ok(())
    }

    fn encode(&self, _: &[u8], _: &mut Buffer<'_>) -> Result<()> {
        Err(ErrorKind::ReadOnly.into())
    }

    fn can_encode(&self) -> bool {
        false
    }
}
