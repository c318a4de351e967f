//! quantize: floating-point numbers that are rounded to so many decimal digits behind the point, to be compressed
//! better. The source is numcodecs' Quantize.

use super::definition::{Definition, Elements, Setting, Settings, Stage};
use super::numbers::{EachNumber, Number, Numbers, each, rounded};
use crate::error::{Error, ErrorKind, Result};
use crate::float_format::FloatFormat;

const NAME: &str = "quantize";

pub(super) const CODECS: &[Definition] = &[Definition {
    v2: NAME,
    v3: "numcodecs.quantize",
    stage: Stage::EachElement,
    is_compressor: false,
    settings: &[Setting::integer("digits", -300, 300, 0).required(), Setting::DTYPE, Setting::ASTYPE],
    check: |settings, elements| {
        settings.set_types(elements);
        of(settings, elements).map(drop)
    },
    encoded: Settings::encoded_type,
    make: |settings, elements, encoded| {
        let (decoded, format) = of(settings, elements)?;
        let bits = f64::from(settings.integer("digits") as i32);
        // numcodecs has the power of 10 from the logarithm of a rounded number.
        let exponent = 10f64.powf(-bits).log10();
        let exponent = if exponent < 0.0 { exponent.floor() } else { exponent.ceil() };
        let scale = 2f64.powf(10f64.powf(-exponent).log2().ceil());
        let encoded = Numbers::of(encoded)?;
        each(Quantize { scale: rounded(format, scale), format, decoded, encoded }, decoded, encoded)
    },
    ..Definition::DEFAULT
}];

/// The numbers that are decoded, and their format. They are no complex ones, which numcodecs refuses.
fn of(settings: &Settings, elements: Elements) -> Result<(Numbers, FloatFormat)> {
    let decoded = settings.decoded_type(elements);
    let format = |elements: Elements| {
        let numbers = Numbers::of(elements)?;
        let format = numbers.float_format().filter(|_| numbers.parts() == 1);
        format.ok_or_else(|| Error::from(ErrorKind::ElementType).in_object(elements.element))
    };
    let of_decoded = format(decoded)?;
    format(settings.encoded_type(elements))?;
    Ok((Numbers::of(decoded)?, of_decoded))
}

struct Quantize {
    scale: f64,
    format: FloatFormat,
    decoded: Numbers,
    encoded: Numbers,
}

impl EachNumber for Quantize {
    const NAME: &'static str = NAME;

    fn encode(&self, bits: u64) -> Result<u64, &'static str> {
        let value = self.format.to_f64(bits);
        if value.is_nan() && self.decoded == self.encoded {
            return Ok(bits);
        }
        let scaled = rounded(self.format, value * self.scale).round_ties_even();
        Ok(self.encoded.cast(Number::Float(rounded(self.format, scaled / self.scale))))
    }

    fn decode(&self, bits: u64) -> Result<u64, &'static str> {
        Ok(if self.decoded == self.encoded { bits } else { self.decoded.cast(self.encoded.value(bits)) })
    }
}

#[cfg(all(test, feature = "delta", feature = "fixedscaleoffset", feature = "quantize"))]
mod tests {
    use super::super::definition::Given;
    use super::super::numbers::testing::{C8, C16, little, made};
    use super::super::testing::encoded;
    use super::*;
    use crate::element::ElementType::{Double, Float, Half, Int};

    /// A NaN that stands for something is the same one afterwards.
    #[test]
    fn nans_keep_their_bits() {
        let digits = || vec![("digits", Given::Integer(2))];
        let doubles = [0x7ff8_0000_0000_07a2u64, 0xfff8_0000_0000_0000].map(u64::to_le_bytes).concat();
        let codec = made(&CODECS[0], (little(Double), little(Double)), digits()).unwrap();
        assert_eq!(encoded(&*codec, &doubles), doubles);
        let floats = [0x7fc0_07a2u32, 0xffc0_0000].map(u32::to_le_bytes).concat();
        let codec = made(&CODECS[0], (little(Float), little(Float)), digits()).unwrap();
        assert_eq!(encoded(&*codec, &floats), floats);
        let halves = [0x7e07u16, 0xfe01].map(u16::to_le_bytes).concat();
        let codec = made(&CODECS[0], (little(Half), little(Half)), digits()).unwrap();
        assert_eq!(encoded(&*codec, &halves), halves);
    }

    #[test]
    fn only_real_floating_point_numbers_are_rounded() {
        let quantize = |decoded, encoded| {
            made(&CODECS[0], (little(decoded), little(encoded)), vec![("digits", Given::Integer(2))])
        };
        assert!(quantize(Float, Double).is_ok());
        for (decoded, encoded) in [(C8, C8), (C16, C8), (C16, Double), (Float, C8), (Int, Float), (Float, Int)] {
            let error = quantize(decoded, encoded).err().unwrap();
            assert_eq!(error.kind(), ErrorKind::ElementType, "{error}");
        }
    }
}
