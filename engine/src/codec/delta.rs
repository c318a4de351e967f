//! delta: the first element, then the difference of each from the one before it. The source is numcodecs' Delta, which
//! subtracts in numpy's type of the elements, and adds up in the one that numpy has for both types together. The parts
//! of complex numbers are numbers by themselves.

use std::ops::Range;

use super::definition::{Definition, Setting, Settings, Stage, boxed};
use super::numbers::{self, Number, Numbers, check_whole, rounded};
use super::traits::{Codec, named, written};
use crate::buffer::Buffer;
use crate::error::{ErrorKind, Result};

const NAME: &str = "delta";

pub(super) const CODECS: &[Definition] = &[Definition {
    v2: NAME,
    v3: "numcodecs.delta",
    stage: Stage::Elements,
    is_compressor: false,
    settings: &[Setting::DTYPE, Setting::ASTYPE],
    check: numbers::check_types,
    encoded: Settings::encoded_type,
    make: |settings, elements, encoded| {
        let (decoded, encoded) = (Numbers::of(settings.decoded_type(elements))?, Numbers::of(encoded)?);
        boxed(Delta { decoded, encoded, sums: decoded.common(encoded) })
    },
    ..Definition::DEFAULT
}];

struct Delta {
    decoded: Numbers,
    encoded: Numbers,
    /// In what is added up.
    sums: Numbers,
}

/// The difference, or the sum, of two of these numbers, which is one of them: integers wrap round.
fn combined(
    numbers: Numbers,
    one: Number,
    other: Number,
    integers: fn(i128, i128) -> i128,
    floats: fn(f64, f64) -> f64,
) -> Number {
    match (numbers.float_format(), one, other) {
        (Some(format), ..) => Number::Float(rounded(format, floats(one.as_f64(), other.as_f64()))),
        (None, Number::Integer(one), Number::Integer(other)) => {
            numbers.value(numbers.cast(Number::Integer(integers(one, other))))
        }
        (None, ..) => numbers.value(numbers.cast(Number::Float(floats(one.as_f64(), other.as_f64())))),
    }
}

impl Codec for Delta {
    named!(NAME);

    fn encoded_bound(&self, decoded_size: usize) -> usize {
        (decoded_size / self.decoded.element_size()).saturating_mul(self.encoded.element_size())
    }

    fn encoded_len(&self, decoded_size: usize) -> Option<usize> {
        (decoded_size / self.decoded.element_size()).checked_mul(self.encoded.element_size())
    }

    fn needed_encoded(&self, needed: Range<usize>, _: usize) -> Range<usize> {
        0..needed.end.div_ceil(self.decoded.element_size()).saturating_mul(self.encoded.element_size())
    }

    fn decode(&self, encoded: &[u8], needed: Range<usize>, decoded: &mut Buffer<'_>) -> Result<()> {
        let capacity = decoded.capacity();
        if encoded.len() > self.encoded_bound(capacity) {
            return Err(ErrorKind::DecodedLength { found: None, expected: capacity }.into());
        }
        // Of complex numbers there are two sums, in turn.
        let (mut sum, mut other) = (None, None);
        let are_floats = self.sums.float_format().is_some();
        for number in encoded.chunks_exact(self.encoded.size()).take(needed.end.div_ceil(self.decoded.size())) {
            let stored = self.encoded.value(self.encoded.bits(number));
            let difference = if are_floats { Number::Float(stored.as_f64()) } else { stored };
            let next = sum.map_or(difference, |sum| combined(self.sums, sum, difference, |a, b| a + b, |a, b| a + b));
            sum = Some(next);
            decoded.write(&self.decoded.bytes(self.decoded.cast(next))[..self.decoded.size()]);
            if self.decoded.parts() > 1 {
                std::mem::swap(&mut sum, &mut other);
            }
        }
        Ok(())
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Buffer<'_>) -> Result<()> {
        check_whole(decoded, self.decoded).map_err(|reason| ErrorKind::Encode { codec: NAME, reason })?;
        // Of complex numbers the part before, and the one before that, in turn.
        let (mut before, mut other) = (None, None);
        for number in decoded.chunks_exact(self.decoded.size()) {
            let value = self.decoded.value(self.decoded.bits(number));
            // The difference is one of the decoded type first.
            let difference =
                before.map_or(value, |before| combined(self.decoded, value, before, |a, b| a - b, |a, b| a - b));
            before = Some(value);
            let bytes = self.encoded.bytes(self.encoded.cast(difference));
            written(encoded.write(&bytes[..self.encoded.size()]), NAME)?;
            if self.decoded.parts() > 1 {
                std::mem::swap(&mut before, &mut other);
            }
        }
        Ok(())
    }
}

#[cfg(all(test, feature = "default"))]
mod tests {
    use super::super::numbers::testing::{C8, C16, big, hex, little, made};
    use super::super::testing::{decoded, encoded};
    use super::*;
    use crate::element::ElementType::{Bool, Byte, Double, Float, Half, Int, Int64, Short, UInt, UInt64};
    use crate::element::{ElementType, Elements};

    fn delta(types: (Elements, Elements)) -> Result<Box<dyn Codec>> {
        made(&CODECS[0], types, Vec::new())
    }

    /// What it decodes to, of bytes of the machine's order.
    fn sums<const SIZE: usize>(types: (ElementType, ElementType), stored: Vec<u8>) -> Vec<[u8; SIZE]> {
        let native = |element| Elements { element, endian: crate::element::Endian::Native };
        let codec = delta((native(types.0), native(types.1))).unwrap();
        let size = stored.len() / types.1.size() * SIZE;
        let all = decoded(&*codec, &stored, 0..size, size).unwrap();
        all.chunks_exact(SIZE).map(|number| number.try_into().unwrap()).collect()
    }

    /// 1+10j, 2+20j, 4-1j and 0.1+0.3j, as numcodecs encodes and decodes them.
    #[test]
    fn complex_numbers_are_subtracted_from_complex_numbers() {
        let c8 = "0000803f00002041000000400000a04100008040000080bfcdcccc3d9a99993e";
        let c8_back = "0000803f00002041000000400000a04100008040000080bfc0cccc3d9899993e";
        let differences = "0000803f000020410000803f00002041000000400000a8c19a9979c06666a63f";
        let big_differences = "3ff000000000000040240000000000003ff00000000000004024000000000000\
            4000000000000000c035000000000000c00f3333400000003ff4ccccc0000000";
        let big_c16 = "3ff0000000000000402400000000000040000000000000004034000000000000\
            4010000000000000bff00000000000003fb999999999999a3fd3333333333333";
        let big_c16_back = "3ff0000000000000402400000000000040000000000000004034000000000000\
            4010000000000000bff00000000000003fb99998000000003fd3333300000000";
        for (types, elements, stored, back) in [
            ((little(C8), little(C8)), c8, differences, c8_back),
            ((big(C16), little(C8)), big_c16, differences, big_c16_back),
            (
                (little(C8), big(C16)),
                c8,
                big_differences,
                "0000803f00002041000000400000a04100008040000080bfc0cccc3d9899993e",
            ),
        ] {
            let (elements, stored, back) = (hex(elements), hex(stored), hex(back));
            let codec = delta(types).unwrap();
            assert_eq!(encoded(&*codec, &elements), stored, "{types:?}");
            assert_eq!(codec.encoded_len(elements.len()), Some(stored.len()));
            for end in 1..=back.len() {
                let there = codec.needed_encoded(0..end, back.len());
                let found = decoded(&*codec, &stored[there], 0..end, back.len()).unwrap();
                assert_eq!(found[..end], back[..end], "{types:?} {end}");
            }
        }
    }

    #[test]
    fn types_of_which_one_alone_is_complex_are_refused() {
        for (decoded, encoded) in [(C8, Float), (C16, C8), (Double, C16), (Int, C8), (Float, Float)] {
            let is_mixed = (decoded == C8 || decoded == C16) != (encoded == C8 || encoded == C16);
            match delta((little(decoded), little(encoded))) {
                Ok(_) => assert!(!is_mixed),
                Err(error) => assert!(is_mixed && matches!(error.kind(), ErrorKind::Unsupported(_)), "{error}"),
            }
        }
    }

    /// Integers that are stored as shorter floating-point numbers: numpy adds up in a type that holds both.
    #[test]
    fn sums_are_of_the_type_that_numpy_adds_up_in() {
        let differences = [100_000f32, 1.0, 1.0, 30_000_000.0, 7.0, 5.0, 3.0];
        let singles = || differences.iter().flat_map(|number| number.to_ne_bytes()).collect::<Vec<u8>>();
        let due = [100_000i32, 100_001, 100_002, 30_100_002, 30_100_009, 30_100_014, 30_100_017];
        assert_eq!(sums((Int, Float), singles()), due.map(i32::to_ne_bytes));
        assert_eq!(sums((UInt, Float), singles()), due.map(i32::to_ne_bytes));
        assert_eq!(sums((Int64, Float), singles()), due.map(|sum| i64::from(sum).to_ne_bytes()));
        // 2000, 1, 1, 100, 1, 1 and 3: in a half, 2102 and 1 are 2104.
        let halves = || [0x67d0u16, 0x3c00, 0x3c00, 0x5640, 0x3c00, 0x3c00, 0x4200].map(u16::to_ne_bytes).concat();
        let due = [2000i16, 2001, 2002, 2102, 2103, 2104, 2107];
        assert_eq!(sums((Short, Half), halves()), due.map(i16::to_ne_bytes));
        // Between floating-point numbers the larger type is that of the sums: what is decoded is rounded alone.
        let due: [u16; 7] = [0x67d0, 0x67d1, 0x67d2, 0x681b, 0x681c, 0x681c, 0x681e];
        let singles = [2000f32, 1.0, 1.0, 100.0, 1.0, 1.0, 3.0].map(f32::to_ne_bytes).concat();
        assert_eq!(sums((Half, Float), singles), due.map(u16::to_ne_bytes));
        // No integers hold both these types, so doubles do.
        let large = [(1u64 << 53) + 1, 0, 1].map(u64::to_ne_bytes).concat();
        assert_eq!(sums((Int64, UInt64), large), [1u64 << 53; 3].map(u64::to_ne_bytes));
        // Integers wrap round in their own type: 256 are 0, which is false.
        let truths = sums::<1>((Bool, Byte), vec![1; 257]);
        assert_eq!((truths[254], truths[255], truths[256]), ([1], [0], [1]));
    }

    /// 2^60 + 2^36 + 1 is nearer to the next single than to the one that the nearest double is rounded to.
    #[test]
    fn integers_are_rounded_once() {
        let codec = delta((little(Int64), little(Float))).unwrap();
        let chunk = ((1i64 << 60) + (1 << 36) + 1).to_le_bytes();
        assert_eq!(encoded(&*codec, &chunk), f32::from_bits(0x5d80_0001).to_le_bytes());
    }

    #[test]
    fn a_chunk_that_ends_within_an_element_is_not_encoded() {
        let codec = delta((little(C8), little(C8))).unwrap();
        let mut memory = [std::mem::MaybeUninit::uninit(); 64];
        let error = codec.encode(&[0; 12], &mut Buffer::new(&mut memory)).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Encode { codec: NAME, .. }), "{error}");
    }
}
