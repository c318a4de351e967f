//! bitround: floating-point numbers of which the last bits of the fraction are rounded away, to be compressed better.
//! What is decoded is what is encoded.
//!
//! The source is numcodecs' BitRound. Zarr's extension `bitround` rounds integers, too; those are only read. What is
//! written in Zarr v3 has the name that zarr-python knows.

use super::definition::{Definition, Setting, Stage};
use super::numbers::{EachNumber, Numbers, each};
use crate::float_format::FloatFormat;

const NAME: &str = "bitround";

pub(super) const CODECS: &[Definition] = &[Definition {
    v2: NAME,
    v3: "numcodecs.bitround",
    stage: Stage::EachElement,
    is_compressor: false,
    settings: &[Setting::integer("keepbits", 0, 52, 0).required()],
    check: |_, elements| Numbers::of(elements).map(drop),
    make: |settings, elements, encoded| {
        let numbers = Numbers::of(elements)?;
        let map = BitRound { format: numbers.float_format(), keep: settings.integer("keepbits") as u32 };
        each(map, numbers, Numbers::of(encoded)?)
    },
    ..Definition::DEFAULT
}];

struct BitRound {
    /// `None` for integers.
    format: Option<FloatFormat>,
    /// How many bits of the fraction are kept.
    keep: u32,
}

impl EachNumber for BitRound {
    const NAME: &'static str = NAME;

    /// Half of what is rounded away is added, ties to even; a carry goes to the exponent.
    fn encode(&self, bits: u64) -> Result<u64, &'static str> {
        let fraction = self.format.map_or(0, FloatFormat::fraction);
        let Some(away @ 1..) = fraction.checked_sub(self.keep) else { return Ok(bits) };
        let half = (1 << (away - 1)) - 1 + (bits >> away & 1);
        Ok(bits.wrapping_add(half) >> away << away)
    }

    fn decode(&self, bits: u64) -> Result<u64, &'static str> {
        Ok(bits)
    }

    fn why_not_encoded(&self) -> Option<&'static str> {
        self.format.is_none().then_some("encoding needs floating-point elements; integers can only be decoded")
    }
}
