//! fixedscaleoffset: `(x - offset) * scale`, rounded, in another type. The source is numcodecs' FixedScaleOffset, which
//! computes in numpy's types: floating-point and complex numbers in their own, integers in doubles. What is made of
//! integers with whole numbers as offset and scale is not rounded if it fits the other type, as numcodecs has it where
//! these are integers in the metadata. There the integers may wrap round, which they do not here.

use super::definition::{Definition, Setting, Settings, Stage};
use super::numbers::{self, EachNumber, Number, Numbers, each, rounded};
use crate::float_format::FloatFormat;

const NAME: &str = "fixedscaleoffset";

pub(super) const CODECS: &[Definition] = &[Definition {
    v2: NAME,
    v3: "numcodecs.fixedscaleoffset",
    stage: Stage::EachElement,
    is_compressor: false,
    settings: &[
        Setting::number("scale").required(),
        Setting::number("offset").required(),
        Setting::DTYPE,
        Setting::ASTYPE,
    ],
    check: numbers::check_types,
    encoded: Settings::encoded_type,
    make: |settings, elements, encoded| {
        let (decoded, encoded) = (Numbers::of(settings.decoded_type(elements))?, Numbers::of(encoded)?);
        let map =
            FixedScaleOffset { scale: settings.number("scale"), offset: settings.number("offset"), decoded, encoded };
        each(map, decoded, encoded)
    },
    ..Definition::DEFAULT
}];

struct FixedScaleOffset {
    scale: f64,
    offset: f64,
    decoded: Numbers,
    encoded: Numbers,
}

impl EachNumber for FixedScaleOffset {
    const NAME: &'static str = NAME;

    fn encode(&self, bits: u64) -> Result<u64, &'static str> {
        let value = self.decoded.value(bits);
        // Beyond 2^53 doubles have not all integers.
        if let (Number::Integer(value), Some(scale), Some(offset)) = (value, whole(self.scale), whole(self.offset)) {
            let scaled = (value - offset).checked_mul(scale);
            let fits = |scaled: &i128| self.encoded.integers().is_none_or(|all| all.contains(scaled));
            if let Some(scaled) = scaled.filter(fits) {
                return Ok(self.encoded.cast(Number::Integer(scaled)));
            }
        }
        let format = self.decoded.float_format().unwrap_or(FloatFormat::DOUBLE);
        let (scale, offset) = (rounded(format, self.scale), rounded(format, self.offset));
        let shifted = rounded(format, value.as_f64() - offset);
        Ok(self.encoded.cast(Number::Float(rounded(format, shifted * scale).round_ties_even())))
    }

    fn decode(&self, bits: u64) -> Result<u64, &'static str> {
        let format = self.encoded.float_format().unwrap_or(FloatFormat::DOUBLE);
        let (scale, offset) = (rounded(format, self.scale), rounded(format, self.offset));
        let divided = rounded(format, self.encoded.value(bits).as_f64() / scale);
        Ok(self.decoded.cast(Number::Float(rounded(format, divided + offset))))
    }

    /// The offset is of the real part. The scale is complex, too, and so are products: with 0 times the other part.
    fn encode_complex(&self, parts: [u64; 2]) -> Result<[u64; 2], &'static str> {
        let format = self.decoded.float_format().unwrap_or(FloatFormat::DOUBLE);
        let round = |value| rounded(format, value);
        let (scale, [real, imaginary]) = (round(self.scale), parts.map(|bits| self.decoded.value(bits).as_f64()));
        let real = round(real - round(self.offset));
        let product = [round(real * scale) - round(imaginary * 0.0), round(real * 0.0) + round(imaginary * scale)];
        Ok(product.map(|part| self.encoded.cast(Number::Float(round(part).round_ties_even()))))
    }

    /// numpy divides by a complex number as Smith does: it multiplies by the inverse.
    fn decode_complex(&self, parts: [u64; 2]) -> Result<[u64; 2], &'static str> {
        let format = self.encoded.float_format().unwrap_or(FloatFormat::DOUBLE);
        let round = |value| rounded(format, value);
        let (scale, [real, imaginary]) = (round(self.scale), parts.map(|bits| self.encoded.value(bits).as_f64()));
        let [real, imaginary] = if scale == 0.0 {
            [real / scale.abs(), imaginary / scale.abs()]
        } else {
            let (ratio, inverse) = (0.0 / scale, round(1.0 / scale));
            [(real + imaginary * ratio) * inverse, (imaginary - real * ratio) * inverse]
        };
        let sum = [round(real) + round(self.offset), round(imaginary) + 0.0];
        Ok(sum.map(|part| self.decoded.cast(Number::Float(round(part)))))
    }
}

/// The integer that a number is, unless no integer of 64 bits is as large.
fn whole(number: f64) -> Option<i128> {
    (number.fract() == 0.0 && number.abs() <= 2f64.powi(64)).then_some(number as i128)
}

#[cfg(all(test, feature = "default"))]
mod tests {
    use super::super::definition::Given;
    use super::super::numbers::testing::{C8, C16, big, hex, little, made};
    use super::super::testing::{decoded, encoded};
    use super::super::traits::Codec;
    use super::*;
    use crate::element::ElementType::{self, Double, Float, Int, Int64, Short, UInt64};
    use crate::element::Elements;
    use crate::error::{ErrorKind, Result};

    fn codec(types: (Elements, Elements), offset: f64, scale: f64) -> Result<Box<dyn Codec>> {
        made(&CODECS[0], types, vec![("offset", Given::Number(offset)), ("scale", Given::Number(scale))])
    }

    /// 1+10j, 2+20j, 3-1j and -0.1+0.3j, as numcodecs encodes and decodes them.
    #[test]
    fn the_offset_is_of_the_real_part() {
        let c8 = "0000803f00002041000000400000a04100004040000080bfcdccccbd9a99993e";
        let stored = "000070c1000092420000e0c000001243000000000000e0c00000b8c100000040";
        let big_c16 = "3ff0000000000000402400000000000040000000000000004034000000000000\
            4008000000000000bff0000000000000bfb999999999999a3fd3333333333333";
        let stored_c16 = "0000000000002ec000000000004052400000000000001cc00000000000406240\
            00000000000000000000000000001cc000000000000037c00000000000000040";
        for (types, elements, stored, back) in [
            ((little(C8), little(C8)), c8, stored, "fcf8713f0000204151a102400000a04100004040bd7a75bf204d1abe23468c3e"),
            (
                (big(C16), little(C8)),
                big_c16,
                stored,
                "3fee3f1f8000000040240000000000004000542a200000004034000000000000\
                4008000000000000bfeeaf57a0000000bfc349a4000000003fd188c460000000",
            ),
            (
                (little(C8), little(C16)),
                c8,
                stored_c16,
                "fcf8713f0000204151a102400000a04100004040bd7a75bf274d1abe23468c3e",
            ),
        ] {
            let (elements, stored, back) = (hex(elements), hex(stored), hex(back));
            let codec = codec(types, 3.0, 7.3).unwrap();
            assert_eq!(encoded(&*codec, &elements), stored, "{types:?}");
            assert_eq!(codec.encoded_len(elements.len()), Some(stored.len()));
            for begin in 0..back.len() {
                for end in begin + 1..=back.len() {
                    let there = codec.needed_encoded(begin..end, back.len());
                    let mut part = stored[..there.end].to_vec();
                    part[..there.start].fill(0x5A);
                    let found = decoded(&*codec, &part, begin..end, back.len()).unwrap();
                    assert_eq!(found[begin..end], back[begin..end], "{types:?} {begin}..{end}");
                }
            }
        }
    }

    /// As numcodecs encodes them on x86-64.
    #[test]
    fn what_does_not_fit_is_the_least_integer() {
        let values = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 1.25, 2.5, 5e9, -3e8, 1e300];
        let elements: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let stored = |element| encoded(&*codec((little(Double), little(element)), 0.0, 10.0).unwrap(), &elements);
        let least = i32::MIN;
        let ints = [least, least, least, 0, 12, 25, least, least, least];
        assert_eq!(stored(Int), ints.map(i32::to_le_bytes).concat());
        assert_eq!(stored(Short), [0, 0, 0, 0, 12, 25, 0, 0, 0i16].map(i16::to_le_bytes).concat());
        let (least, long) = (i64::MIN, [5e10 as i64, -3e9 as i64]);
        let longs = [least, least, least, 0, 12, 25, long[0], long[1], least];
        assert_eq!(stored(Int64), longs.map(i64::to_le_bytes).concat());
        let end = 1 << 63;
        let unsigned = [end, 0, end, 0, 12, 25, 50_000_000_000, (-3_000_000_000i64) as u64, 0];
        assert_eq!(stored(UInt64), unsigned.map(u64::to_le_bytes).concat());
    }

    /// As numcodecs encodes and decodes them. What it decodes is rounded to doubles.
    #[test]
    fn large_integers_are_not_rounded_before_they_are_encoded() {
        let (end, time) = (1 << 53, 1_700_000_000_000_000_000i64);
        let both = |encoded: ElementType, offset: f64, scale: f64, values: &[i64], stored: &[u8], back: &[i64]| {
            let codec = codec((little(Int64), little(encoded)), offset, scale).unwrap();
            let bytes = |values: &[i64]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
            assert_eq!(super::super::testing::encoded(&*codec, &bytes(values)), stored);
            assert_eq!(decoded(&*codec, stored, 0..8 * values.len(), 8 * values.len()).unwrap(), bytes(back));
        };
        let stored = [end + 2, end, (1 << 62), -(1 << 62) - 4].map(i64::to_le_bytes).concat();
        let values = [end + 3, end + 1, (1 << 62) + 1, -(1 << 62) - 3];
        both(Int64, 1.0, 1.0, &values, &stored, &[end + 4, end, 1 << 62, -(1 << 62)]);
        let stored = [3, 21, -3].map(i32::to_le_bytes).concat();
        both(Int, time as f64, 3.0, &[time + 1, time + 7, time - 1], &stored, &[time; 3]);
        // What does not fit is the least integer, with a scale that is whole as with any other.
        for scale in [2.0, 2.5] {
            let codec = codec((little(Int64), little(Int)), 0.0, scale).unwrap();
            let stored = super::super::testing::encoded(&*codec, &(1i64 << 40).to_le_bytes());
            assert_eq!(stored, i32::MIN.to_le_bytes());
        }
    }

    #[test]
    fn bytes_that_nobody_can_count_are_beyond_all() {
        let (codec, most) = (codec((little(Short), little(Double)), 0.0, 1.0).unwrap(), usize::MAX);
        assert_eq!(codec.needed_encoded(most - 3..most - 1, most), most..most);
    }

    #[test]
    fn types_of_which_one_alone_is_complex_are_refused() {
        for types in [(C8, Float), (C16, Int), (Double, C16), (Int, C8)] {
            let error = codec((little(types.0), little(types.1)), 0.0, 1.0).err().unwrap();
            assert!(matches!(error.kind(), ErrorKind::Unsupported(_)), "{error}");
        }
    }

    #[test]
    fn a_chunk_that_ends_within_an_element_is_not_encoded() {
        let codec = codec((little(C16), little(C8)), 0.0, 1.0).unwrap();
        let mut memory = [std::mem::MaybeUninit::uninit(); 64];
        let error = codec.encode(&[0; 24], &mut crate::buffer::Buffer::new(&mut memory)).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Encode { codec: NAME, .. }), "{error}");
    }
}
