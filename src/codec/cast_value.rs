//! cast_value, of Zarr's extensions: elements as those of another type that have the same value, as near as it can be.
//! Rounding and what is out of range are settings, and hold in both directions, as in zarr-python.

use super::definition::{Definition, Elements, Kind, Setting, Settings, Stage, Written};
use super::numbers::{EachNumber, Number, Numbers, each};
use crate::element::Endian;
use crate::error::{Error, ErrorKind, Result};
use crate::float_format::FloatFormat;

const NAME: &str = "cast_value";

const ROUNDINGS: &[&str] = &["nearest-even", "towards-zero", "towards-positive", "towards-negative", "nearest-away"];

pub(super) const CODECS: &[Definition] = &[Definition {
    v3: NAME,
    stage: Stage::EachElement,
    settings: &[
        Setting::new("data_type", Kind::DataType).required(),
        Setting::words("rounding", ROUNDINGS, "there is no such rounding").written(Written::IfSet, Written::IfSet),
        Setting::words("out_of_range", &["error", "clamp", "wrap"], "it is error, clamp or wrap")
            .written(Written::IfSet, Written::IfSet),
    ],
    is_closed: true,
    check: |settings, elements| {
        real(elements)?;
        real(target(settings, elements)).map(drop)
    },
    encoded: target,
    make: |settings, elements, encoded| {
        let (decoded, encoded) = (Numbers::of(elements)?, Numbers::of(encoded)?);
        let map = CastValue {
            decoded,
            encoded,
            rounding: settings.word("rounding"),
            out_of_range: settings.word("out_of_range"),
        };
        each(map, decoded, encoded)
    },
    ..Definition::DEFAULT
}];

fn target(settings: &Settings, elements: Elements) -> Elements {
    let element = settings.elements("data_type").map_or(elements.element, |target| target.element);
    Elements { element, endian: Endian::Native }
}

/// Numbers that are no complex ones, nor truth values and times.
fn real(elements: Elements) -> Result<Numbers> {
    use crate::element::Kind;
    match elements.element.kind() {
        Kind::Signed(_) | Kind::Unsigned(_) | Kind::Float(_) => Numbers::of(elements),
        _ => Err(Error::from(ErrorKind::ElementType).in_object(elements.element)),
    }
}

struct CastValue {
    decoded: Numbers,
    encoded: Numbers,
    rounding: &'static str,
    out_of_range: &'static str,
}

const OUT_OF_RANGE: &str = "a value is out of the type's range";

impl CastValue {
    fn cast(&self, value: Number, to: Numbers) -> Result<u64, &'static str> {
        match (to.integers(), to.float_format(), value) {
            (Some(range), _, Number::Integer(value)) => self.in_range(value, &range),
            (Some(_), _, Number::Float(value)) if value.is_nan() => Err("NaN is no integer"),
            (Some(range), _, Number::Float(value)) => {
                if value.is_infinite() && self.out_of_range != "clamp" {
                    return Err(OUT_OF_RANGE);
                }
                // Beyond 2^127, where the cast stops, a value is out of every range; so it is taken modulo 2^64 first.
                let whole = self.rounded(value);
                let wrapped = if self.out_of_range == "wrap" { whole % 2f64.powi(64) } else { whole };
                self.in_range(wrapped as i128, &range)
            }
            (_, Some(format), value) => self.float(value, format),
            _ => Err(OUT_OF_RANGE),
        }
    }

    fn in_range(&self, value: i128, range: &std::ops::RangeInclusive<i128>) -> Result<u64, &'static str> {
        match self.out_of_range {
            _ if range.contains(&value) => Ok(value as u64),
            "clamp" => Ok(value.clamp(*range.start(), *range.end()) as u64),
            // Of what is stored only the bits of the type count.
            "wrap" => {
                let count = range.end() - range.start() + 1;
                Ok((range.start() + (value - range.start()).rem_euclid(count)) as u64)
            }
            _ => Err(OUT_OF_RANGE),
        }
    }

    fn rounded(&self, value: f64) -> f64 {
        match self.rounding {
            "towards-zero" => value.trunc(),
            "towards-positive" => value.ceil(),
            "towards-negative" => value.floor(),
            "nearest-away" => value.round(),
            _ => value.round_ties_even(),
        }
    }

    fn float(&self, value: Number, format: FloatFormat) -> Result<u64, &'static str> {
        let float = value.as_f64();
        let Some(bits) = format.bits_of(float) else {
            let largest = format.bits_of(f64::INFINITY.copysign(float)).or_else(|| format.largest(float < 0.0));
            return largest.filter(|_| self.out_of_range == "clamp" && !float.is_nan()).ok_or(OUT_OF_RANGE);
        };
        let nearest = format.to_f64(bits);
        // Integers of 8 bytes are between doubles themselves.
        let order = match value {
            Number::Integer(value) => (nearest as i128).cmp(&value),
            Number::Float(value) => nearest.partial_cmp(&value).unwrap_or(std::cmp::Ordering::Equal),
        };
        if order.is_eq() {
            return Ok(bits);
        }
        // The number on the other side. Bits are sizes, apart from the sign.
        let (is_larger, is_negative) = (order.is_gt(), float < 0.0);
        let other = || format.neighbour(bits, is_larger == is_negative).ok_or(OUT_OF_RANGE);
        match self.rounding {
            "towards-positive" if !is_larger => other(),
            "towards-negative" if is_larger => other(),
            "towards-zero" if is_larger != is_negative => other(),
            "nearest-away" if is_larger == is_negative => {
                let other = other()?;
                let is_tie = (format.to_f64(other) - float).abs() == (nearest - float).abs();
                Ok(if is_tie { other } else { bits })
            }
            _ => Ok(bits),
        }
    }
}

impl EachNumber for CastValue {
    const NAME: &'static str = NAME;

    fn encode(&self, bits: u64) -> Result<u64, &'static str> {
        self.cast(self.decoded.value(bits), self.encoded)
    }

    fn decode(&self, bits: u64) -> Result<u64, &'static str> {
        self.cast(self.encoded.value(bits), self.decoded)
    }
}
