//! scaleoffset: HDF5's filter 6, which stores numbers less their minimum, in as few bits as the largest takes. It is
//! decoded only.
//!
//! The source is H5Zscaleoffset.c. Data begin with how many bits a number has (4 bytes), how many bytes the minimum has
//! (1 byte, at most 8), and the minimum, little-endian. From byte 21 on there are the numbers, the highest bit first.
//! The largest number of so many bits stands for the fill value if there is one. Of floating-point numbers there are
//! integers that have to be divided by a power of ten.

use std::ops::Range;

use super::definition::{Definition, boxed};
use super::highest_first::{HighestFirst, mask};
use super::traits::{Codec, decoded_only, named};
use crate::buffer::Buffer;
use crate::error::{ErrorKind, Result};

const NAME: &str = "scaleoffset";

pub(super) const CODECS: &[Definition] = &[Definition { filter: Some((6, of_parameters)), ..Definition::DEFAULT }];

/// What comes before the numbers.
const HEADER: usize = 21;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Integers,
    /// Floating-point numbers, which were multiplied by this power of ten.
    Decimals(f64),
    /// The bytes are as they are.
    Plain,
}

/// The codec.
#[derive(Debug)]
struct ScaleOffset {
    kind: Kind,
    /// How many numbers a chunk has, and how many bytes a number.
    count: usize,
    size: usize,
    is_big: bool,
    fill_value: Option<u64>,
}

/// How numbers are scaled and by what, how many there are, whether they have a fraction, their size, whether they have
/// a sign, their order, whether there is a fill value, and that, 4 bytes each.
fn of_parameters(parameters: &[u32]) -> Result<Option<Box<dyn Codec>>> {
    const DECIMALS: u32 = 0;
    const INTEGERS: u32 = 2;
    let [how, factor, count, class, size, _, order, has_fill_value, fill_value @ ..] = parameters else {
        return Ok(None);
    };
    let kind = match (*how, *class) {
        (INTEGERS, 0) if u64::from(*factor) == 8 * u64::from(*size) => Kind::Plain,
        (INTEGERS, 0) if matches!(size, 1 | 2 | 4 | 8) => Kind::Integers,
        // The power is what C's pow gives, as in H5Zscaleoffset.c. That of `powi` differs from 10^33 on.
        (DECIMALS, 1) if matches!(size, 4 | 8) => Kind::Decimals(10f64.powf(f64::from(*factor as i32))),
        _ => return Ok(None),
    };
    if *order > 1 {
        return Ok(None);
    }
    let word = |i| u64::from(fill_value.get(i).copied().unwrap_or(0));
    let fill_value = (*has_fill_value != 0).then(|| (word(0) | word(1) << 32) & mask(8 * (*size).min(8)));
    let (count, size, is_big) = (*count as usize, *size as usize, *order == 1);
    boxed(ScaleOffset { kind, count, size, is_big, fill_value }).map(Some)
}

fn corrupt(reason: &'static str) -> ErrorKind {
    ErrorKind::Corrupt { codec: NAME, reason }
}

impl ScaleOffset {
    /// The bits of the number that an integer stands for.
    fn number(&self, bits: u64, minimum: u64) -> u64 {
        match (self.kind, self.size) {
            (Kind::Decimals(power), 4) => {
                u64::from((bits as i32 as f32 / power as f32 + f32::from_bits(minimum as u32)).to_bits())
            }
            (Kind::Decimals(power), _) => (bits as i64 as f64 / power + f64::from_bits(minimum)).to_bits(),
            _ => bits.wrapping_add(minimum),
        }
    }
}

impl Codec for ScaleOffset {
    named!(NAME, says_too_little_room);

    fn encoded_bound(&self, decoded_size: usize) -> usize {
        decoded_size.saturating_add(HEADER + 1)
    }

    fn decode(&self, encoded: &[u8], needed: Range<usize>, decoded: &mut Buffer<'_>) -> Result<()> {
        let too_many = ErrorKind::DecodedLength { found: None, expected: decoded.capacity() };
        if self.kind == Kind::Plain {
            return if decoded.write(encoded) { Ok(()) } else { Err(too_many.into()) };
        }
        let (header, numbers) = encoded.split_at_checked(HEADER).ok_or(corrupt("the data end early"))?;
        let [a, b, c, d, minimum_len, minimum @ ..] = header else { return Err(ErrorKind::Internal.into()) };
        let bits = u32::from_le_bytes([*a, *b, *c, *d]);
        let minimum = minimum.get(..usize::from(*minimum_len).min(8)).unwrap_or_default();
        let minimum = minimum.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
        if bits as usize > 8 * self.size {
            return Err(corrupt("its numbers have more bits than those of the array").into());
        }
        let size = self.count.checked_mul(self.size).filter(|size| *size <= decoded.capacity()).ok_or(too_many)?;
        let end = needed.end.min(size).div_ceil(self.size);
        let begin = (needed.start / self.size).min(end);
        let at = begin.checked_mul(bits as usize).and_then(|at| HighestFirst::new(numbers, at));
        let mut numbers = at.ok_or(corrupt("the data end early"))?;
        decoded.skip(begin * self.size);
        let (absent, is_plain) = (mask(bits), bits as usize == 8 * self.size);
        let to = decoded.zeros((end - begin) * self.size).ok_or(ErrorKind::Internal)?;
        for to in to.chunks_exact_mut(self.size) {
            let number = numbers.take(bits).ok_or(corrupt("the data end early"))?;
            let number = match self.fill_value {
                // These are as they are, in the order of the machine that has written them: few are big-endian.
                _ if is_plain => (number << (64 - bits)).swap_bytes(),
                Some(value) if number == absent => value,
                _ => self.number(number, minimum),
            };
            match self.is_big {
                true => to.copy_from_slice(number.to_be_bytes().get(8 - to.len()..).unwrap_or_default()),
                false => to.copy_from_slice(number.to_le_bytes().get(..to.len()).unwrap_or_default()),
            }
        }
        Ok(())
    }

    decoded_only!(NAME, "it is decoded only");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::of_filter;
    use crate::codec::testing::decoded;

    #[test]
    fn numbers_are_more_than_their_minimum() {
        // Three numbers of 2 bytes, big-endian, of which 7 stands where none was written.
        let codec = of_filter(6, &[2, 0, 3, 0, 2, 1, 1, 1, 0xfffe]).unwrap();
        let stored = |bits: u8, rest: &[u8]| {
            let mut header = vec![bits, 0, 0, 0, 8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
            header.resize(HEADER, 0);
            [&header[..], rest].concat()
        };
        let three = stored(3, &[0b0001_1101, 0]);
        assert_eq!(decoded(&*codec, &three, 0..6, 6).unwrap(), [0xff, 0xff, 0xff, 0xfe, 0, 1]);
        assert_eq!(decoded(&*codec, &three, 5..6, 6).unwrap()[4..], [0, 1]);
        assert_eq!(decoded(&*codec, &stored(16, &[1, 2, 3, 4, 5, 6]), 0..6, 6).unwrap(), [2, 1, 4, 3, 6, 5]);
        for stored in [stored(17, &[0; 9]), stored(3, &[0]), three[..20].to_vec()] {
            assert!(decoded(&*codec, &stored, 0..6, 6).is_err());
        }
        assert!(decoded(&*codec, &three, 0..5, 5).is_err());
    }

    #[test]
    fn decimals_are_divided_by_the_nearest_power_of_ten() {
        let mut stored = vec![8, 0, 0, 0, 8];
        stored.resize(HEADER, 0);
        stored.push(1);
        for (digits, due) in [(0, 1.0), (1, 1e-1), (65, 1.0 / 1e65), (78, 1.0 / 1e78), (100, 1.0 / 1e100)] {
            let codec = of_filter(6, &[0, digits, 1, 1, 8, 1, 0, 0]).unwrap();
            let found = decoded(&*codec, &stored, 0..8, 8).unwrap();
            assert_eq!(f64::from_le_bytes(found.try_into().unwrap()), due, "{digits}");
        }
        // 10^39 is infinite as a float of 4 bytes.
        for (digits, due) in [(2, 0.01f32), (38, 1.0 / 1e38), (39, 0.0)] {
            let codec = of_filter(6, &[0, digits, 1, 1, 4, 1, 0, 0]).unwrap();
            let found = decoded(&*codec, &stored, 0..4, 4).unwrap();
            assert_eq!(f32::from_le_bytes(found.try_into().unwrap()), due, "{digits}");
        }
    }

    #[test]
    fn other_parameters_are_refused() {
        for parameters in [
            &[2, 0, 3, 0, 2, 1, 1][..],
            &[2, 0, 3, 0, 3, 1, 1, 0],
            &[1, 0, 3, 1, 4, 1, 1, 0],
            &[0, 0, 3, 1, 2, 1, 1, 0],
            &[2, 0, 3, 0, 2, 1, 2, 0],
        ] {
            assert!(of_filter(6, parameters).is_err(), "{parameters:?}");
        }
        assert!(of_filter(6, &[2, u32::MAX, 3, 0, u32::MAX, 1, 1, 0]).is_err());
    }
}
