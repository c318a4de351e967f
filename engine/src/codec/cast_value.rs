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
        Setting::words(
            "rounding",
            ROUNDINGS,
            "expected nearest-even, towards-zero, towards-positive, towards-negative or nearest-away",
        )
        .written(Written::IfSet, Written::IfSet),
        Setting::words("out_of_range", &["error", "clamp", "wrap"], "expected error, clamp or wrap")
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

const OUT_OF_RANGE: &str = "a value is out of the range of the type";

impl CastValue {
    fn cast(&self, value: Number, to: Numbers) -> Result<u64, &'static str> {
        match (to.integers(), to.float_format(), value) {
            (Some(range), _, Number::Integer(value)) => self.in_range(value, &range),
            (Some(_), _, Number::Float(value)) if value.is_nan() => Err("NaN cannot be converted to an integer"),
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

    /// The number of a format that a value is rounded to, as if exponents had no limit; what is then beyond the largest
    /// number is out of range.
    fn float(&self, value: Number, format: FloatFormat) -> Result<u64, &'static str> {
        let float = value.as_f64();
        let is_negative = float < 0.0;
        let beyond = || {
            let infinite = format.bits_of(f64::INFINITY.copysign(float));
            let most = infinite.or_else(|| format.largest(is_negative));
            most.filter(|_| self.out_of_range == "clamp" && !float.is_nan()).ok_or(OUT_OF_RANGE)
        };
        let is_inward = match self.rounding {
            "towards-zero" => true,
            "towards-positive" => is_negative,
            "towards-negative" => !is_negative,
            _ => false,
        };
        let Some(bits) = format.bits_of(float) else {
            let largest = format.largest(is_negative).filter(|_| is_inward && float.is_finite());
            let before =
                |largest| Some(format.to_f64(largest) * 2.0 - format.to_f64(format.neighbour(largest, false)?));
            let is_nearly = |largest: &u64| before(*largest).is_some_and(|next| float.abs() < next.abs());
            return largest.filter(is_nearly).map_or_else(beyond, Ok);
        };
        let nearest = format.to_f64(bits);
        // Integers of 8 bytes are between doubles themselves.
        let order = match value {
            Number::Integer(value) => (nearest as i128).cmp(&value),
            Number::Float(value) => nearest.partial_cmp(&value).unwrap_or(std::cmp::Ordering::Equal),
        };
        // Bits are sizes, apart from the sign.
        let is_outward = order.is_gt() != is_negative;
        match self.rounding {
            _ if order.is_eq() => Ok(bits),
            "towards-positive" | "towards-negative" | "towards-zero" if is_inward == is_outward => {
                format.neighbour(bits, !is_outward).map_or_else(beyond, Ok)
            }
            // A tie is one that went inward.
            "nearest-away" if !is_outward => match format.neighbour(bits, true) {
                Some(other) if is_tie(value, nearest, format.to_f64(other)) => Ok(other),
                _ => Ok(bits),
            },
            _ => Ok(bits),
        }
    }
}

/// Whether a value is as far from one number as from the other.
fn is_tie(value: Number, one: f64, other: f64) -> bool {
    match value {
        Number::Integer(value) => value.abs_diff(one as i128) == value.abs_diff(other as i128),
        Number::Float(value) => (value - one).abs() == (other - value).abs(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::ElementType;

    /// What comes of a value, rounded in each of the ways in their order.
    fn cast(value: Number, to: ElementType, out_of_range: &'static str) -> Vec<Result<Number, &'static str>> {
        let of = |element| Numbers::of(Elements { element, endian: Endian::Native }).unwrap();
        let to = of(to);
        let each = |rounding: &&'static str| {
            let cast = CastValue { decoded: of(ElementType::Double), encoded: to, rounding, out_of_range };
            cast.cast(value, to).map(|bits| to.value(bits))
        };
        ROUNDINGS.iter().map(each).collect()
    }

    fn floats(values: [f64; 5]) -> Vec<Result<Number, &'static str>> {
        values.map(|value| if value.is_nan() { Err(OUT_OF_RANGE) } else { Ok(Number::Float(value)) }).to_vec()
    }

    /// The bits above those of a number are its sign or zeros, as whatever reads or compares elements has them.
    #[test]
    fn numbers_of_a_few_bits_wrap_round() {
        use ElementType::{Int2, Int4, UInt2, UInt4};
        for (element, value, due) in
            [(Int4, 12, 0xfc), (Int4, -9, 7), (Int4, -8, 0xf8), (Int2, 2, 0xfe), (UInt4, 17, 1), (UInt2, -1, 3)]
        {
            let numbers = Numbers::of(Elements { element, endian: Endian::Native }).unwrap();
            let cast = [Number::Integer(value), Number::Float(value as f64)].map(|value| numbers.cast(value) as u8);
            assert_eq!(cast, [due; 2], "{element} {value}");
        }
    }

    /// The numbers are those of cast-value-rs 0.5.
    #[test]
    fn values_near_the_largest_number_are_rounded_before_they_are_out_of_range() {
        let (inf, none) = (f64::INFINITY, f64::NAN);
        for (value, error, clamp) in [
            (65519.0, [65504.0, 65504.0, none, 65504.0, 65504.0], [65504.0, 65504.0, inf, 65504.0, 65504.0]),
            (65520.0, [none, 65504.0, none, 65504.0, none], [inf, 65504.0, inf, 65504.0, inf]),
            (65536.0, [none; 5], [inf; 5]),
            (-65535.0, [none, -65504.0, -65504.0, none, none], [-inf, -65504.0, -65504.0, -inf, -inf]),
            (2049.0, [2048.0, 2048.0, 2050.0, 2048.0, 2050.0], [2048.0, 2048.0, 2050.0, 2048.0, 2050.0]),
            (-2051.0, [-2052.0, -2050.0, -2050.0, -2052.0, -2052.0], [-2052.0, -2050.0, -2050.0, -2052.0, -2052.0]),
        ] {
            assert_eq!(cast(Number::Float(value), ElementType::Half, "error"), floats(error), "{value}");
            assert_eq!(cast(Number::Float(value), ElementType::Half, "clamp"), floats(clamp), "{value}");
        }
        let between = Number::Integer(108_613_547_753_115_816);
        let (below, above) = (108_613_547_753_115_808.0, 108_613_547_753_115_824.0);
        assert_eq!(cast(between, ElementType::Double, "error"), floats([below, below, above, below, above]));
    }
}
