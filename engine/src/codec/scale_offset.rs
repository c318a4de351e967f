//! scale_offset, of Zarr's extensions: `(x - offset) * scale`, in the type of the elements. Integers wrap round, and
//! are divided towards the smaller ones, as in zarr-python.

use super::definition::{Definition, Setting, Settings, Stage, Written};
use super::numbers::{EachNumber, Number, Numbers, each, rounded};
use crate::error::{Error, ErrorKind};
use crate::float_format::FloatFormat;

const NAME: &str = "scale_offset";

pub(super) const CODECS: &[Definition] = &[Definition {
    v3: NAME,
    stage: Stage::EachElement,
    settings: &[
        Setting::element("offset").written(Written::IfSet, Written::IfSet),
        Setting::element("scale").written(Written::IfSet, Written::IfSet),
    ],
    is_closed: true,
    check: |settings, elements| {
        let numbers = Numbers::of(elements)?;
        match (elements.element.word_size() == elements.element.size(), scale(settings, numbers)) {
            (false, _) => Err(Error::from(ErrorKind::ElementType).in_object(elements.element)),
            (true, Number::Integer(0)) => Err(ErrorKind::Metadata("the scale is 0").into()),
            _ => Ok(()),
        }
    },
    make: |settings, elements, encoded| {
        let numbers = Numbers::of(elements)?;
        let map = ScaleOffset { scale: scale(settings, numbers), offset: offset(settings, numbers), numbers };
        each(map, numbers, Numbers::of(encoded)?)
    },
    ..Definition::DEFAULT
}];

/// The value of an element in the machine's order.
fn value(bytes: &[u8], numbers: Numbers) -> Option<Number> {
    crate::element::native(bytes).filter(|_| !bytes.is_empty()).map(|bits| numbers.value(bits))
}

fn scale(settings: &Settings, numbers: Numbers) -> Number {
    let one = if numbers.float_format().is_some() { Number::Float(1.0) } else { Number::Integer(1) };
    value(settings.bytes("scale"), numbers).unwrap_or(one)
}

fn offset(settings: &Settings, numbers: Numbers) -> Number {
    let zero = if numbers.float_format().is_some() { Number::Float(0.0) } else { Number::Integer(0) };
    value(settings.bytes("offset"), numbers).unwrap_or(zero)
}

struct ScaleOffset {
    scale: Number,
    offset: Number,
    numbers: Numbers,
}

impl ScaleOffset {
    fn compute(
        &self,
        bits: u64,
        of_integers: fn(i128, i128, i128) -> i128,
        of_floats: fn(FloatFormat, f64, f64, f64) -> f64,
    ) -> u64 {
        let value = match (self.numbers.value(bits), self.scale, self.offset) {
            (Number::Integer(value), Number::Integer(scale), Number::Integer(offset)) => {
                Number::Integer(of_integers(value, scale, offset))
            }
            (value, scale, offset) => {
                let format = self.numbers.float_format().unwrap_or(FloatFormat::DOUBLE);
                Number::Float(of_floats(format, value.as_f64(), scale.as_f64(), offset.as_f64()))
            }
        };
        self.numbers.cast(value)
    }
}

impl EachNumber for ScaleOffset {
    const NAME: &'static str = NAME;

    fn encode(&self, bits: u64) -> Result<u64, &'static str> {
        Ok(self.compute(
            bits,
            |value, scale, offset| (value - offset).wrapping_mul(scale),
            |format, value, scale, offset| rounded(format, value - offset) * scale,
        ))
    }

    fn decode(&self, bits: u64) -> Result<u64, &'static str> {
        Ok(self.compute(
            bits,
            |value, scale, offset| {
                value.div_euclid(scale) - i128::from(scale < 0 && value.rem_euclid(scale) != 0) + offset
            },
            |format, value, scale, offset| rounded(format, value / scale) + offset,
        ))
    }
}
