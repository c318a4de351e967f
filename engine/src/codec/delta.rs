//! delta: the first element, then the difference of each from the one before it. The source is numcodecs' Delta.

use std::ops::Range;

use super::definition::{Definition, Setting, Settings, Stage, boxed};
use super::numbers::{self, Number, Numbers, rounded};
use super::traits::Codec;
use crate::buffer::Buffer;
use crate::error::{ErrorKind, Result};
use crate::float_format::FloatFormat;

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
        boxed(Delta { decoded, encoded })
    },
    ..Definition::DEFAULT
}];

struct Delta {
    decoded: Numbers,
    encoded: Numbers,
}

impl Delta {
    /// The format in which numpy adds up; `None` for integers, which wrap round.
    fn sum_format(&self) -> Option<FloatFormat> {
        let formats = [self.decoded.float_format(), self.encoded.float_format()];
        formats.into_iter().flatten().max_by_key(|format| format.bits())
    }
}

/// The difference, or the sum, of numbers that are integers or of this format.
fn combined(
    format: Option<FloatFormat>,
    one: Number,
    other: Number,
    integers: fn(i128, i128) -> i128,
    floats: fn(f64, f64) -> f64,
) -> Number {
    match (format, one, other) {
        (None, Number::Integer(one), Number::Integer(other)) => Number::Integer(integers(one, other)),
        (format, ..) => {
            Number::Float(rounded(format.unwrap_or(FloatFormat::DOUBLE), floats(one.as_f64(), other.as_f64())))
        }
    }
}

impl Codec for Delta {
    fn name(&self) -> &str {
        NAME
    }

    fn encoded_bound(&self, decoded_size: usize) -> usize {
        (decoded_size / self.decoded.size()).saturating_mul(self.encoded.size())
    }

    fn encoded_len(&self, decoded_size: usize) -> Option<usize> {
        (decoded_size / self.decoded.size()).checked_mul(self.encoded.size())
    }

    fn needed_encoded(&self, needed: Range<usize>, _: usize) -> Range<usize> {
        0..needed.end.div_ceil(self.decoded.size()).saturating_mul(self.encoded.size())
    }

    fn decode(&self, encoded: &[u8], needed: Range<usize>, decoded: &mut Buffer<'_>) -> Result<()> {
        let capacity = decoded.capacity();
        if encoded.len() > self.encoded_bound(capacity) {
            return Err(ErrorKind::DecodedLength { found: None, expected: capacity }.into());
        }
        let (format, mut sum) = (self.sum_format(), None);
        for number in encoded.chunks_exact(self.encoded.size()).take(needed.end.div_ceil(self.decoded.size())) {
            let difference = self.encoded.value(self.encoded.bits(number));
            let next =
                sum.map_or(difference, |sum| combined(format, sum, difference, i128::wrapping_add, |a, b| a + b));
            sum = Some(next);
            decoded.write(&self.decoded.bytes(self.decoded.cast(next))[..self.decoded.size()]);
        }
        Ok(())
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Buffer<'_>) -> Result<()> {
        let mut before = None;
        for number in decoded.chunks_exact(self.decoded.size()) {
            let value = self.decoded.value(self.decoded.bits(number));
            let format = self.decoded.float_format();
            let difference = before.map_or(value, |before| {
                // The difference is one of the decoded type first.
                let difference = combined(format, value, before, |a, b| a - b, |a, b| a - b);
                self.decoded.value(self.decoded.cast(difference))
            });
            before = Some(value);
            if !encoded.write(&self.encoded.bytes(self.encoded.cast(difference))[..self.encoded.size()]) {
                return Err(ErrorKind::Encode { codec: NAME, reason: "the output buffer is too small" }.into());
            }
        }
        Ok(())
    }
}
