//! n5_default, of Zarr's extensions: blocks of N5. A header says how long the block is along each dimension, for blocks
//! at the far edge may end with the array; what is behind it are the elements of so many, in N5's order, which is the
//! reverse of Zarr's, and big-endian. Blocks are only read.

use std::ops::Range;

use smallvec::SmallVec;

use crate::alloc::Scratch;
use crate::buffer::Buffer;
use crate::codec::{Chain, Codec};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limit;

const NAME: &str = "n5_default";

const ONLY_READ: &str = "N5 blocks can only be decoded";

/// The codec for blocks.
pub(super) struct N5 {
    pub(super) chain: Chain<'static>,
    /// The lengths of a whole block, of the fastest dimension first.
    pub(super) lens: Vec<usize>,
    pub(super) element_size: usize,
}

fn corrupt(reason: &'static str) -> Error {
    ErrorKind::Corrupt { codec: NAME, reason }.into()
}

/// The next number of a header.
fn number<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N]> {
    let (number, rest) = bytes.split_first_chunk().ok_or_else(|| corrupt("the header ends early"))?;
    *bytes = rest;
    Ok(*number)
}

impl N5 {
    /// The lengths that a header says, and what is behind it.
    fn header<'b>(&self, mut bytes: &'b [u8]) -> Result<(SmallVec<[usize; 8]>, &'b [u8])> {
        if number(&mut bytes)? != [0; 2] {
            return Err(corrupt("the block is not in the default mode"));
        }
        if usize::from(u16::from_be_bytes(number(&mut bytes)?)) != self.lens.len() {
            return Err(corrupt("the number of dimensions of the block does not match"));
        }
        let mut lens = SmallVec::new();
        lens.try_reserve(self.lens.len()).map_err(|_| ErrorKind::OutOfMemory)?;
        for whole in &self.lens {
            let len = usize::try_from(u32::from_be_bytes(number(&mut bytes)?)).unwrap_or(usize::MAX);
            if len > *whole {
                return Err(corrupt("the block is longer than those of the array"));
            }
            lens.push(len);
        }
        Ok((lens, bytes))
    }

    fn decode_elements(&self, stored: &[u8], needed: Range<usize>, elements: &mut Buffer<'_>) -> Result<()> {
        if !self.chain.is_empty() {
            let (mut one, mut other) = (Scratch::EMPTY, Scratch::EMPTY);
            // The block itself is within the limit of memory, and its codecs take little more.
            let as_is = self.chain.decode(stored, needed, elements, [&mut one, &mut other], Limit::NONE)?;
            if let Some(bytes) = as_is {
                elements.write(bytes);
            }
            return Ok(());
        }
        let expected = elements.capacity();
        if stored.len() == expected && elements.write(stored) {
            return Ok(());
        }
        Err(ErrorKind::DecodedLength { found: Some(stored.len()), expected }.into())
    }

    /// Adds a block that is shorter than a whole one, with zeros where it has no elements.
    fn pad(&self, lens: &[usize], elements: &[u8], block: &mut Buffer<'_>) {
        let (row, whole_row) = match (lens.first(), self.lens.first()) {
            (Some(len), Some(whole)) => (len * self.element_size, whole * self.element_size),
            _ => return,
        };
        let mut rows = elements.chunks_exact(row.max(1));
        let num_rows: usize = self.lens[1..].iter().product();
        for i in 0..num_rows {
            // The indices of the row, from the fastest dimension on.
            let mut rest = i;
            let is_there = self.lens[1..].iter().zip(&lens[1..]).all(|(whole, len)| {
                let index = rest % whole;
                rest /= whole;
                index < *len
            });
            let there = if is_there { rows.next().unwrap_or_default() } else { &[] };
            block.write(there);
            for zeros in [0; 256].chunks(256).cycle().scan(whole_row - there.len(), |left, zeros| {
                let part = zeros.get(..(*left).min(zeros.len()))?;
                *left -= part.len();
                (!part.is_empty()).then_some(part)
            }) {
                block.write(zeros);
            }
        }
    }
}

impl Codec for N5 {
    fn name(&self) -> &str {
        NAME
    }

    fn encoded_bound(&self, decoded_size: usize) -> usize {
        self.chain.encoded_bound(decoded_size).saturating_add(4 + 4 * self.lens.len())
    }

    fn decode(&self, encoded: &[u8], needed: Range<usize>, decoded: &mut Buffer<'_>) -> Result<()> {
        let (lens, stored) = self.header(encoded)?;
        if lens[..] == self.lens[..] {
            return self.decode_elements(stored, needed, decoded);
        }
        // None of the lengths is more than that of a whole block, whose size is known to fit.
        let size = lens.iter().product::<usize>() * self.element_size;
        let mut scratch = Scratch::EMPTY;
        let mut elements = Buffer::new(scratch.room(size)?);
        if size > 0 {
            self.decode_elements(stored, 0..size, &mut elements)?;
        }
        self.pad(&lens, elements.filled(), decoded);
        Ok(())
    }

    fn encode(&self, _: &[u8], _: &mut Buffer<'_>) -> Result<()> {
        Err(ErrorKind::Encode { codec: NAME, reason: ONLY_READ }.into())
    }

    fn can_encode(&self) -> bool {
        false
    }

    fn why_not_encoded(&self) -> Option<&'static str> {
        Some(ONLY_READ)
    }

    fn is_concurrent(&self) -> bool {
        self.chain.is_concurrent()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::testing::decoded;

    fn block(mode: u16, lens: &[u32], elements: &[u8]) -> Vec<u8> {
        let mut bytes = [mode.to_be_bytes(), (lens.len() as u16).to_be_bytes()].concat();
        lens.iter().for_each(|len| bytes.extend(len.to_be_bytes()));
        bytes.extend(elements);
        bytes
    }

    #[test]
    fn blocks_may_end_with_the_array() {
        let codec = N5 { chain: Chain::default(), lens: vec![3, 2, 2], element_size: 1 };
        let of = |stored: &[u8]| decoded(&codec, stored, 0..12, 12);
        let whole: Vec<u8> = (1..=12).collect();
        assert_eq!(of(&block(0, &[3, 2, 2], &whole)).unwrap(), whole);
        assert_eq!(of(&block(0, &[2, 1, 2], &[1, 2, 3, 4])).unwrap(), [1, 2, 0, 0, 0, 0, 3, 4, 0, 0, 0, 0]);
        assert_eq!(of(&block(0, &[1, 2, 1], &[1, 2])).unwrap(), [1, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(of(&block(0, &[0, 2, 2], &[])).unwrap(), [0; 12]);
        let reason = |stored: &[u8]| of(stored).unwrap_err().kind();
        for stored in [
            block(1, &[3, 2, 2], &whole),
            block(0, &[3, 2], &whole),
            block(0, &[4, 2, 2], &whole),
            block(0, &[3, 2, 2], &whole)[..15].to_vec(),
            vec![0],
        ] {
            assert!(matches!(reason(&stored), ErrorKind::Corrupt { .. }), "{stored:?}");
        }
        for stored in [block(0, &[3, 2, 2], &whole[1..]), block(0, &[2, 1, 2], &[1, 2, 3])] {
            assert!(matches!(reason(&stored), ErrorKind::DecodedLength { .. }), "{stored:?}");
        }
    }
}
