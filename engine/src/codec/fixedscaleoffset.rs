//! fixedscaleoffset: `(x - offset) * scale`, rounded, in another type. The source is numcodecs' FixedScaleOffset, which
//! computes in numpy's types: floating-point numbers in their own, integers in doubles.

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
        let format = self.decoded.float_format().unwrap_or(FloatFormat::DOUBLE);
        let (scale, offset) = (rounded(format, self.scale), rounded(format, self.offset));
        let shifted = rounded(format, self.decoded.value(bits).as_f64() - offset);
        Ok(self.encoded.cast(Number::Float(rounded(format, shifted * scale).round_ties_even())))
    }

    fn decode(&self, bits: u64) -> Result<u64, &'static str> {
        let format = self.encoded.float_format().unwrap_or(FloatFormat::DOUBLE);
        let (scale, offset) = (rounded(format, self.scale), rounded(format, self.offset));
        let divided = rounded(format, self.encoded.value(bits).as_f64() / scale);
        Ok(self.decoded.cast(Number::Float(rounded(format, divided + offset))))
    }
}
