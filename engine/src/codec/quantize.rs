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

/// The numbers that are decoded, and their format.
fn of(settings: &Settings, elements: Elements) -> Result<(Numbers, FloatFormat)> {
    let decoded = settings.decoded_type(elements);
    let no_float = || Error::from(ErrorKind::ElementType).in_object(decoded.element);
    let numbers = Numbers::of(decoded)?;
    let encoded = Numbers::of(settings.encoded_type(elements))?;
    Ok((numbers, numbers.float_format().filter(|_| encoded.float_format().is_some()).ok_or_else(no_float)?))
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
        let scaled = rounded(self.format, self.format.to_f64(bits) * self.scale).round_ties_even();
        Ok(self.encoded.cast(Number::Float(rounded(self.format, scaled / self.scale))))
    }

    fn decode(&self, bits: u64) -> Result<u64, &'static str> {
        Ok(if self.decoded == self.encoded { bits } else { self.decoded.cast(self.encoded.value(bits)) })
    }
}
