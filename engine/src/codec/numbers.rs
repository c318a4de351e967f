//! Elements as numbers, for codecs that compute with them.
#![allow(dead_code, reason = "codecs use it, and all of them can be left out")]

use std::ops::Range;

use super::definition::{Elements, Settings, boxed};
use super::traits::Codec;
use crate::buffer::Buffer;
use crate::element::{Kind, native, native_word};
use crate::error::{Error, ErrorKind, Result};
use crate::float_format::FloatFormat;

/// The most bytes that a number has.
const LARGEST: usize = 8;

/// How many bytes are made of elements before they are written.
const BLOCK: usize = 1024;

/// How numbers lie in bytes: what they are, and whether in the machine's order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Numbers {
    kind: Kind,
    size: usize,
    is_foreign: bool,
}

/// A number's value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Number {
    Integer(i128),
    Float(f64),
}

impl Numbers {
    /// The numbers that these elements are, or of complex ones the parts.
    ///
    /// # Errors
    /// `ElementType` for elements that are no numbers.
    pub(super) fn of(elements: Elements) -> Result<Self> {
        let Elements { element, endian } = elements;
        let kind = match element.kind() {
            Kind::Complex(format) => Kind::Float(format),
            Kind::Time => Kind::Signed(64),
            kind @ (Kind::Signed(_) | Kind::Unsigned(_) | Kind::Float(_) | Kind::Bool) => kind,
            _ => return Err(Error::from(ErrorKind::ElementType).in_object(element)),
        };
        Ok(Numbers { kind, size: element.word_size(), is_foreign: endian.is_foreign() })
    }

    pub(super) fn size(self) -> usize {
        self.size
    }

    /// The format of floating-point numbers.
    pub(super) fn float_format(self) -> Option<FloatFormat> {
        if let Kind::Float(format) = self.kind { Some(format) } else { None }
    }

    /// The integers that there are; `None` for floating-point numbers.
    pub(super) fn integers(self) -> Option<std::ops::RangeInclusive<i128>> {
        match self.kind {
            Kind::Signed(bits) => Some(-1 << (bits - 1)..=(1 << (bits - 1)) - 1),
            Kind::Unsigned(bits) => Some(0..=(1 << bits) - 1),
            Kind::Bool => Some(0..=1),
            _ => None,
        }
    }

    /// The bits of a number, which has as many bytes as numbers have.
    pub(super) fn bits(self, bytes: &[u8]) -> u64 {
        let bits = native(bytes).unwrap_or(0);
        if self.is_foreign { bits.swap_bytes() >> (64 - 8 * self.size) } else { bits }
    }

    /// The bytes of a number: as many of these as numbers have.
    pub(super) fn bytes(self, bits: u64) -> [u8; LARGEST] {
        let bits = if self.is_foreign { bits.swap_bytes() >> (64 - 8 * self.size) } else { bits };
        native_word(bits, self.size)
    }

    /// The value that bits stand for.
    pub(super) fn value(self, bits: u64) -> Number {
        match self.kind {
            Kind::Float(format) => Number::Float(format.to_f64(bits)),
            Kind::Signed(len) => Number::Integer(((bits << (64 - len)) as i64 >> (64 - len)).into()),
            Kind::Unsigned(len) => Number::Integer((bits << (64 - len) >> (64 - len)).into()),
            _ => Number::Integer(bits.into()),
        }
    }

    /// The bits that numpy's cast makes of a value: a fraction is cut off, and what is too large wraps round or is
    /// infinite.
    pub(super) fn cast(self, value: Number) -> u64 {
        match (self.kind, value) {
            (Kind::Float(format), Number::Float(value)) => nearest(format, value),
            (Kind::Float(format), Number::Integer(value)) => nearest(format, value as f64),
            (Kind::Bool, Number::Integer(value)) => (value != 0).into(),
            (Kind::Bool, Number::Float(value)) => (value != 0.0).into(),
            (_, Number::Integer(value)) => value as u64,
            (_, Number::Float(value)) => value as i128 as u64,
        }
    }
}

impl Number {
    pub(super) fn as_f64(self) -> f64 {
        match self {
            Number::Integer(value) => value as f64,
            Number::Float(value) => value,
        }
    }
}

/// The bits of the nearest number; of what is too large those of infinity, or of NaN where there is none.
fn nearest(format: FloatFormat, value: f64) -> u64 {
    let too_large = || format.bits_of(f64::INFINITY.copysign(value)).or(format.nan()).unwrap_or(0);
    format.bits_of(value).unwrap_or_else(too_large)
}

/// Refuses types, of the elements and of what is stored, that are no numbers; those that are not set are the array's.
///
/// # Errors
/// `Unsupported`.
pub(super) fn check_types(settings: &mut Settings, elements: Elements) -> Result<()> {
    settings.set_types(elements);
    Numbers::of(settings.decoded_type(elements))?;
    Numbers::of(settings.encoded_type(elements)).map(drop)
}

/// The nearest number of a format.
pub(super) fn rounded(format: FloatFormat, value: f64) -> f64 {
    match format {
        FloatFormat::DOUBLE => value,
        FloatFormat::SINGLE => (value as f32).into(),
        _ => format.to_f64(nearest(format, value)),
    }
}

/// What makes a number of each number.
pub(super) trait EachNumber: Send + Sync + 'static {
    const NAME: &'static str;

    /// The bits of a number that is encoded, or why it cannot be.
    fn encode(&self, bits: u64) -> Result<u64, &'static str>;

    /// The bits of a number that is decoded, or why it cannot be.
    fn decode(&self, bits: u64) -> Result<u64, &'static str>;

    /// Why it cannot encode, if that is so.
    fn why_not_encoded(&self) -> Option<&'static str> {
        None
    }
}

/// A codec that makes a number of each number.
struct Each<M> {
    map: M,
    decoded: Numbers,
    encoded: Numbers,
}

/// A codec that makes a number of each number.
pub(super) fn each(map: impl EachNumber, decoded: Numbers, encoded: Numbers) -> Result<Box<dyn Codec>> {
    boxed(Each { map, decoded, encoded })
}

/// Makes numbers of numbers and writes them, behind what is there. Returns `None` if there is no room.
fn convert(
    (from, bytes): (Numbers, &[u8]),
    (to, buffer): (Numbers, &mut Buffer<'_>),
    map: impl Fn(u64) -> Result<u64, &'static str>,
) -> Result<Option<()>, &'static str> {
    let mut block = [0; BLOCK];
    for part in bytes.chunks(BLOCK / LARGEST * from.size) {
        let mut len = 0;
        for number in part.chunks_exact(from.size) {
            block[len..len + to.size].copy_from_slice(&to.bytes(map(from.bits(number))?)[..to.size]);
            len += to.size;
        }
        if !buffer.write(&block[..len]) {
            return Ok(None);
        }
    }
    Ok(Some(()))
}

impl<M: EachNumber> Codec for Each<M> {
    fn name(&self) -> &str {
        M::NAME
    }

    fn encoded_bound(&self, decoded_size: usize) -> usize {
        (decoded_size / self.decoded.size).saturating_mul(self.encoded.size)
    }

    fn encoded_len(&self, decoded_size: usize) -> Option<usize> {
        (decoded_size / self.decoded.size).checked_mul(self.encoded.size)
    }

    fn needed_encoded(&self, needed: Range<usize>, _: usize) -> Range<usize> {
        let numbers = needed.start / self.decoded.size..needed.end.div_ceil(self.decoded.size);
        numbers.start * self.encoded.size..numbers.end.saturating_mul(self.encoded.size)
    }

    fn decoded_for(&self, needed: Range<usize>) -> usize {
        needed.len()
    }

    fn decode(&self, encoded: &[u8], needed: Range<usize>, decoded: &mut Buffer<'_>) -> Result<()> {
        let capacity = decoded.capacity();
        if encoded.len() > self.encoded_bound(capacity) {
            return Err(ErrorKind::DecodedLength { found: None, expected: capacity }.into());
        }
        let bytes = self.needed_encoded(needed, capacity);
        let bytes = bytes.start.min(encoded.len())..bytes.end.min(encoded.len());
        decoded.skip(bytes.start / self.encoded.size * self.decoded.size);
        let corrupt = |reason| ErrorKind::Corrupt { codec: M::NAME, reason };
        let converted = convert((self.encoded, &encoded[bytes]), (self.decoded, decoded), |bits| self.map.decode(bits));
        converted.map_err(corrupt)?.ok_or(ErrorKind::DecodedLength { found: None, expected: capacity })?;
        Ok(())
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Buffer<'_>) -> Result<()> {
        let failed = |reason| ErrorKind::Encode { codec: M::NAME, reason };
        let converted = convert((self.decoded, decoded), (self.encoded, encoded), |bits| self.map.encode(bits));
        Ok(converted.map_err(failed)?.ok_or(failed("the output buffer is too small"))?)
    }

    fn can_encode(&self) -> bool {
        self.map.why_not_encoded().is_none()
    }

    fn why_not_encoded(&self) -> Option<&'static str> {
        self.map.why_not_encoded()
    }
}
