//! Elements as numbers, for codecs that compute with them.
#![allow(dead_code, reason = "codecs use it, and all of them can be left out")]

use std::ops::Range;

use super::definition::{Elements, Settings, boxed};
use super::traits::{Codec, named, written};
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
    /// How many numbers an element has: a complex one has two.
    parts: usize,
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
        let (kind, parts) = match element.kind() {
            Kind::Complex(format) => (Kind::Float(format), 2),
            kind @ (Kind::Signed(_) | Kind::Unsigned(_) | Kind::Float(_) | Kind::Bool | Kind::Time) => (kind, 1),
            _ => return Err(Error::from(ErrorKind::ElementType).in_object(element)),
        };
        Ok(Numbers { kind, size: element.word_size(), parts, is_foreign: endian.is_foreign() })
    }

    pub(super) fn size(self) -> usize {
        self.size
    }

    /// How many numbers an element has: those of a complex one are its real and its imaginary part.
    pub(super) fn parts(self) -> usize {
        self.parts
    }

    /// The bytes of an element.
    pub(super) fn element_size(self) -> usize {
        self.size * self.parts
    }

    /// The numbers in which numpy adds these and others up: its `result_type`, in the machine's order.
    pub(super) fn common(self, other: Self) -> Self {
        use Kind::{Bool, Float, Signed, Time, Unsigned};
        let kind = match (self.kind, other.kind) {
            (Bool, kind) | (kind, Bool) => kind,
            (Float(one), Float(other)) => Float(if other.bits() > one.bits() { other } else { one }),
            (Float(format), integers) | (integers, Float(format)) => {
                // Doubles stand for integers of 4 and of 8 bytes alike.
                let least = match integers {
                    Signed(..=8) | Unsigned(..=8) => FloatFormat::HALF,
                    Signed(..=16) | Unsigned(..=16) => FloatFormat::SINGLE,
                    _ => FloatFormat::DOUBLE,
                };
                Float(if least.bits() > format.bits() { least } else { format })
            }
            (Signed(one), Signed(other)) => Signed(one.max(other)),
            (Unsigned(one), Unsigned(other)) => Unsigned(one.max(other)),
            (Signed(signed), Unsigned(unsigned)) | (Unsigned(unsigned), Signed(signed)) => match unsigned {
                _ if unsigned < signed => Signed(signed),
                ..=32 => Signed(2 * unsigned),
                _ => Float(FloatFormat::DOUBLE),
            },
            _ => Time,
        };
        let size = match kind {
            Signed(bits) | Unsigned(bits) => bits.div_ceil(8) as usize,
            Float(format) => format.bits().div_ceil(8) as usize,
            _ => self.size.max(other.size),
        };
        Numbers { kind, size, parts: self.parts, is_foreign: false }
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
            Kind::Time => Some(i64::MIN.into()..=i64::MAX.into()),
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
            kind => Number::Integer(kind.integer(bits).unwrap_or(bits.into())),
        }
    }

    /// The bits that numpy's cast makes of a value on x86-64. Integers wrap round, those of 2 and 4 bits as ml_dtypes
    /// has them. Of a floating-point number the fraction is cut off, and what is too large for a floating-point type is
    /// infinite.
    pub(super) fn cast(self, value: Number) -> u64 {
        let cast = self.cast_to_bytes(value);
        match self.kind {
            Kind::Signed(bits @ ..8) => (((cast << (64 - bits)) as i64) >> (64 - bits)) as u64,
            Kind::Unsigned(bits @ ..8) => cast & ((1 << bits) - 1),
            _ => cast,
        }
    }

    fn cast_to_bytes(self, value: Number) -> u64 {
        match (self.kind, value) {
            (Kind::Float(format), Number::Float(value)) => nearest(format, value),
            // Rounded once, not to a double first.
            (Kind::Float(FloatFormat::SINGLE), Number::Integer(value)) => (value as f32).to_bits().into(),
            (Kind::Float(format), Number::Integer(value)) => nearest(format, value as f64),
            (Kind::Bool, Number::Integer(value)) => (value != 0).into(),
            (Kind::Bool, Number::Float(value)) => (value != 0.0).into(),
            (_, Number::Integer(value)) => value as u64,
            // The processor has 32 bits for types of up to 2 bytes and for `int`, and 64 bits for the others.
            (Kind::Signed(..=32) | Kind::Unsigned(..=16), Number::Float(value)) => integer(value, 32),
            (Kind::Unsigned(64), Number::Float(value)) if value >= 2f64.powi(63) => {
                integer(value - 2f64.powi(63), 64) ^ 1 << 63
            }
            (_, Number::Float(value)) => integer(value, 64),
        }
    }

    /// Whether these are numbers of which any but zero is true.
    pub(super) fn is_bool(self) -> bool {
        matches!(self.kind, Kind::Bool)
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

/// The bits of the integer of so many bits that is nearest towards zero; of NaN and of what is too large those of the
/// least one, as the instructions of x86 have it.
fn integer(value: f64, bits: i32) -> u64 {
    let end = 2f64.powi(bits - 1);
    let fits = value.trunc() >= -end && value.trunc() < end;
    (if fits { value } else { -end }) as i64 as u64
}

/// The bits of the nearest number; of what is too large those of infinity, or of NaN where there is none. A NaN of
/// `float` and `double` keeps its bits.
fn nearest(format: FloatFormat, value: f64) -> u64 {
    match format {
        FloatFormat::DOUBLE => return value.to_bits(),
        FloatFormat::SINGLE if value.is_nan() => return (value as f32).to_bits().into(),
        _ => {}
    }
    let too_large = || format.bits_of(f64::INFINITY.copysign(value)).or(format.nan()).unwrap_or(0);
    format.bits_of(value).unwrap_or_else(too_large)
}

/// Refuses types, of the elements and of what is stored, that are no numbers, and those of which one alone is complex;
/// those that are not set are the array's.
///
/// # Errors
/// `ElementType`; `Unsupported` if one alone is complex: numpy drops the imaginary parts.
pub(super) fn check_types(settings: &mut Settings, elements: Elements) -> Result<()> {
    settings.set_types(elements);
    let (decoded, encoded) = (settings.decoded_type(elements), settings.encoded_type(elements));
    if Numbers::of(decoded)?.parts != Numbers::of(encoded)?.parts {
        let mixed = ErrorKind::Unsupported("complex numbers that are encoded as real ones, or real ones as complex");
        return Err(Error::from(mixed).in_object(encoded.element));
    }
    Ok(())
}

/// Refuses bytes that end within an element, of which the last would be lost.
pub(super) fn check_whole(bytes: &[u8], numbers: Numbers) -> Result<(), &'static str> {
    let is_whole = bytes.len() % numbers.element_size() == 0;
    if is_whole { Ok(()) } else { Err("a chunk is no whole number of elements of the filter's type") }
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

    /// The same for the parts of a complex number, which are encoded by themselves unless this is another function.
    fn encode_complex(&self, [real, imaginary]: [u64; 2]) -> Result<[u64; 2], &'static str> {
        Ok([self.encode(real)?, self.encode(imaginary)?])
    }

    /// Likewise.
    fn decode_complex(&self, [real, imaginary]: [u64; 2]) -> Result<[u64; 2], &'static str> {
        Ok([self.decode(real)?, self.decode(imaginary)?])
    }

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

/// A codec that makes a number of each number; both kinds have as many in an element.
pub(super) fn each(map: impl EachNumber, decoded: Numbers, encoded: Numbers) -> Result<Box<dyn Codec>> {
    boxed(Each { map, decoded, encoded })
}

/// Makes numbers of numbers, those of an element at a time, and writes them, behind what is there. Returns `None` if
/// there is no room.
fn convert<const PARTS: usize>(
    (from, bytes): (Numbers, &[u8]),
    (to, buffer): (Numbers, &mut Buffer<'_>),
    map: impl Fn([u64; PARTS]) -> Result<[u64; PARTS], &'static str>,
) -> Result<Option<()>, &'static str> {
    let mut block = [0; BLOCK];
    for some in bytes.chunks(BLOCK / LARGEST / PARTS * PARTS * from.size) {
        let mut len = 0;
        for element in some.chunks_exact(PARTS * from.size) {
            for part in map(std::array::from_fn(|part| from.bits(&element[part * from.size..][..from.size])))? {
                block[len..len + to.size].copy_from_slice(&to.bytes(part)[..to.size]);
                len += to.size;
            }
        }
        if !buffer.write(&block[..len]) {
            return Ok(None);
        }
    }
    Ok(Some(()))
}

impl<M: EachNumber> Codec for Each<M> {
    named!(M::NAME);

    fn encoded_bound(&self, decoded_size: usize) -> usize {
        (decoded_size / self.decoded.element_size()).saturating_mul(self.encoded.element_size())
    }

    fn encoded_len(&self, decoded_size: usize) -> Option<usize> {
        (decoded_size / self.decoded.element_size()).checked_mul(self.encoded.element_size())
    }

    fn needed_encoded(&self, needed: Range<usize>, _: usize) -> Range<usize> {
        let (decoded, encoded) = (self.decoded.element_size(), self.encoded.element_size());
        (needed.start / decoded).saturating_mul(encoded)..needed.end.div_ceil(decoded).saturating_mul(encoded)
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
        decoded.skip(bytes.start / self.encoded.element_size() * self.decoded.element_size());
        let corrupt = |reason| ErrorKind::Corrupt { codec: M::NAME, reason };
        let (from, to) = ((self.encoded, &encoded[bytes]), (self.decoded, decoded));
        let converted = match self.decoded.parts {
            1 => convert(from, to, |[bits]| Ok([self.map.decode(bits)?])),
            _ => convert(from, to, |parts| self.map.decode_complex(parts)),
        };
        converted.map_err(corrupt)?.ok_or(ErrorKind::DecodedLength { found: None, expected: capacity })?;
        Ok(())
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Buffer<'_>) -> Result<()> {
        let failed = |reason| ErrorKind::Encode { codec: M::NAME, reason };
        check_whole(decoded, self.decoded).map_err(failed)?;
        let (from, to) = ((self.decoded, decoded), (self.encoded, encoded));
        let converted = match self.decoded.parts {
            1 => convert(from, to, |[bits]| Ok([self.map.encode(bits)?])),
            _ => convert(from, to, |parts| self.map.encode_complex(parts)),
        };
        written(converted.map_err(failed)?.is_some(), M::NAME)
    }

    fn why_not_encoded(&self) -> Option<&'static str> {
        self.map.why_not_encoded()
    }
}

#[cfg(all(test, feature = "default"))]
pub(super) mod testing {
    use super::super::definition::{Definition, Elements, Given, Settings};
    use super::super::traits::Codec;
    use crate::element::{ElementType, Endian};
    use crate::error::Result;

    pub(in super::super) const C8: ElementType = ElementType::Complex { bytes: 8 };
    pub(in super::super) const C16: ElementType = ElementType::Complex { bytes: 16 };

    pub(in super::super) fn little(element: ElementType) -> Elements {
        Elements { element, endian: Endian::Little }
    }

    pub(in super::super) fn big(element: ElementType) -> Elements {
        Elements { element, endian: Endian::Big }
    }

    /// The codec for elements of the first type, which it stores as those of the second.
    pub(in super::super) fn made(
        definition: &'static Definition,
        (decoded, encoded): (Elements, Elements),
        given: Vec<(&str, Given)>,
    ) -> Result<Box<dyn Codec>> {
        let mut settings = Settings::new(definition)?;
        for (name, given) in given {
            settings.set(name, given);
        }
        settings.set("astype", Given::Elements(Some(encoded)));
        (definition.check)(&mut settings, decoded)?;
        (definition.make)(&settings, decoded, (definition.encoded)(&settings, decoded))
    }

    /// The bytes that the digits stand for.
    pub(in super::super) fn hex(digits: &str) -> Vec<u8> {
        let digit = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
        (0..digits.len()).step_by(2).map(digit).collect()
    }
}
