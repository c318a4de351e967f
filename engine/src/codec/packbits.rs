//! packbits: elements that have fewer bits than a byte, or of which some bits are left out, one behind the other.
//!
//! There are two. numcodecs' PackBits has truth values, the first in the highest bit, and before them a byte with how
//! many bits of the last byte are none. That of Zarr's extensions has the bits of any number, the first element in the
//! lowest bits, as in zarrs.

use std::ops::Range;

use super::definition::{Definition, Elements, Given, Setting, Settings, Stage, Written, boxed};
use super::numbers::Numbers;
use super::traits::{Codec, named, written};
use crate::buffer::Buffer;
use crate::element::Kind;
use crate::error::{Error, ErrorKind, Result};

const NAME: &str = "packbits";

pub(super) const CODECS: &[Definition] = &[
    Definition {
        v2: NAME,
        v3: "numcodecs.packbits",
        is_read_bare: false,
        stage: Stage::Elements,
        is_compressor: false,
        check: |_, elements| match elements.element.kind() {
            Kind::Bool => Ok(()),
            _ => Err(Error::from(ErrorKind::ElementType).in_object(elements.element)),
        },
        encoded: |_, _| Elements::BYTES,
        make: |_, elements, _| {
            let numbers = Numbers::of(elements)?;
            boxed(PackBits { numbers, first: 0, kept: 1, padding: Padding::First, is_highest_first: true })
        },
        ..Definition::DEFAULT
    },
    Definition {
        v3: NAME,
        stage: Stage::ToBytes,
        settings: &[
            Setting::words(
                "padding_encoding",
                &["none", "first_byte", "last_byte"],
                "expected none, first_byte or last_byte",
            ),
            Setting::integer("first_bit", 0, 63, 0).written(Written::IfSet, Written::IfSet),
            Setting::integer("last_bit", 0, 63, ALL).written(Written::IfSet, Written::IfSet),
        ],
        check: |settings, elements| {
            let bits = i64::from(component_bits(elements)?);
            // The name that zarrs had once.
            let (first, last) = (settings.integer("first_bit"), settings.integer("last_bit"));
            if last == bits - 1 {
                settings.set("last_bit", Given::Integer(ALL));
            }
            if first >= bits || last >= bits || (last != ALL && last < first) {
                return Err(ErrorKind::Metadata("expected bits of the type, with first_bit not after last_bit").into());
            }
            Ok(())
        },
        encoded: |_, _| Elements::BYTES,
        make: |settings, elements, _| {
            let (numbers, first) = (Numbers::of(elements)?, settings.integer("first_bit") as u32);
            let kept = match settings.integer("last_bit") {
                ALL => component_bits(elements)? - first,
                last => last as u32 + 1 - first,
            };
            let padding = padding(settings);
            boxed(PackBits { numbers, first, kept, padding, is_highest_first: false })
        },
        ..Definition::DEFAULT
    },
];

/// What stands for the last bit of the type.
const ALL: i64 = -1;

/// How many bits an element has, or each part of a complex one.
fn component_bits(elements: Elements) -> Result<u32> {
    match elements.element.kind() {
        Kind::Bool => Ok(1),
        Kind::Signed(bits) | Kind::Unsigned(bits) => Ok(bits),
        Kind::Float(format) | Kind::Complex(format) => Ok(format.bits()),
        Kind::Time => Ok(64),
        _ => Err(Error::from(ErrorKind::ElementType).in_object(elements.element)),
    }
}

/// Where it says how many bits of the last byte are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Padding {
    Nowhere,
    First,
    Last,
}

fn padding(settings: &Settings) -> Padding {
    match settings.word("padding_encoding") {
        "first_byte" => Padding::First,
        "last_byte" => Padding::Last,
        _ => Padding::Nowhere,
    }
}

struct PackBits {
    numbers: Numbers,
    /// The first bit of a number that is kept, from the lowest on, and how many are.
    first: u32,
    kept: u32,
    padding: Padding,
    is_highest_first: bool,
}

impl PackBits {
    /// How many bytes so many numbers are packed in, without the padding.
    fn packed(&self, count: usize) -> usize {
        let (bytes, bits) = (count / 8, count % 8 * self.kept as usize);
        bytes.saturating_mul(self.kept as usize).saturating_add(bits.div_ceil(8))
    }

    /// How many bits of the last byte are none.
    fn unused(&self, count: usize) -> u8 {
        ((8 - count % 8 * self.kept as usize % 8) % 8) as u8
    }

    /// The bytes of a number of which these bits are kept.
    fn unpacked(&self, bits: u64) -> [u8; 8] {
        let value = bits << self.first;
        let top = self.first + self.kept;
        // A negative number has ones above what is kept.
        let is_negative =
            self.numbers.integers().is_some_and(|range| *range.start() < 0) && value >> (top - 1) & 1 == 1;
        let above = if is_negative { u64::MAX.checked_shl(top).unwrap_or(0) } else { 0 };
        self.numbers.bytes(value | above)
    }
}

/// Bits in bytes, from the first byte on.
struct Bits<'b> {
    bytes: std::slice::Iter<'b, u8>,
    is_highest_first: bool,
    rest: u8,
    left: u32,
}

impl Bits<'_> {
    /// The next bits as a number; `None` if there are not so many.
    fn take(&mut self, count: u32) -> Option<u64> {
        let (mut value, mut have) = (0, 0);
        while have < count {
            if self.left == 0 {
                let byte = *self.bytes.next()?;
                self.rest = if self.is_highest_first { byte.reverse_bits() } else { byte };
                self.left = 8;
            }
            let part = self.left.min(count - have);
            value |= (u64::from(self.rest) & ((1 << part) - 1)) << have;
            self.rest = self.rest.checked_shr(part).unwrap_or(0);
            (self.left, have) = (self.left - part, have + part);
        }
        Some(value)
    }
}

impl Codec for PackBits {
    named!(NAME);

    fn encoded_bound(&self, decoded_size: usize) -> usize {
        let padding = usize::from(self.padding != Padding::Nowhere);
        self.packed(decoded_size / self.numbers.size()).saturating_add(padding)
    }

    fn encoded_len(&self, decoded_size: usize) -> Option<usize> {
        Some(self.encoded_bound(decoded_size))
    }

    fn needed_encoded(&self, needed: Range<usize>, _: usize) -> Range<usize> {
        let padding = usize::from(self.padding == Padding::First);
        0..self.packed(needed.end.div_ceil(self.numbers.size())).saturating_add(padding)
    }

    fn decode(&self, encoded: &[u8], needed: Range<usize>, decoded: &mut Buffer<'_>) -> Result<()> {
        let (capacity, size) = (decoded.capacity(), self.numbers.size());
        let corrupt = |reason| ErrorKind::Corrupt { codec: NAME, reason };
        let is_all = needed.end >= capacity;
        let count = if is_all { capacity / size } else { needed.end.div_ceil(size) };
        let (padding, packed) = match self.padding {
            Padding::First => encoded.split_first().map(|(padding, packed)| (Some(*padding), packed)),
            Padding::Last if is_all => encoded.split_last().map(|(padding, packed)| (Some(*padding), packed)),
            _ => Some((None, encoded)),
        }
        .ok_or(corrupt("the data is truncated"))?;
        if packed.len() > self.packed(capacity / size) + usize::from(!is_all) {
            return Err(ErrorKind::DecodedLength { found: None, expected: capacity }.into());
        }
        if is_all && packed.len() == self.packed(count) && padding.is_some_and(|bits| bits != self.unused(count)) {
            return Err(corrupt("the recorded number of elements does not match").into());
        }
        let mut bits = Bits { bytes: packed.iter(), is_highest_first: self.is_highest_first, rest: 0, left: 0 };
        for _ in 0..count {
            // What ends early is shorter than is due, which is noticed by others.
            let Some(number) = bits.take(self.kept) else { break };
            decoded.write(&self.unpacked(number)[..size]);
        }
        Ok(())
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Buffer<'_>) -> Result<()> {
        let mut write = |byte: u8| written(encoded.write(&[byte]), NAME);
        let unused = self.unused(decoded.len() / self.numbers.size());
        if self.padding == Padding::First {
            write(unused)?;
        }
        let (mut byte, mut have) = (0u8, 0);
        for number in decoded.chunks_exact(self.numbers.size()) {
            let bits = self.numbers.bits(number);
            let bits = if self.numbers.is_bool() { u64::from(bits != 0) } else { bits };
            let (mut value, mut left) = (bits >> self.first, self.kept);
            while left > 0 {
                let part = left.min(8 - have);
                byte |= ((value & ((1 << part) - 1)) << have) as u8;
                (value, left, have) = (value >> part, left - part, have + part);
                if have == 8 {
                    write(if self.is_highest_first { byte.reverse_bits() } else { byte })?;
                    (byte, have) = (0, 0);
                }
            }
        }
        if have > 0 {
            write(if self.is_highest_first { byte.reverse_bits() } else { byte })?;
        }
        if self.padding == Padding::Last {
            write(unused)?;
        }
        Ok(())
    }
}

#[cfg(all(test, feature = "default"))]
mod tests {
    use super::super::numbers::testing::{little, made};
    use super::super::testing::encoded;
    use super::*;
    use crate::element::ElementType::Bool;

    /// As in numpy, whatever wrote them.
    #[test]
    fn any_byte_but_zero_is_true() {
        for definition in CODECS {
            let codec = made(definition, (little(Bool), Elements::BYTES), Vec::new()).unwrap();
            let packed = encoded(&*codec, &[0, 1, 2, 3, 4, 0xff, 0, 1]);
            assert_eq!(packed.last().map(|byte| byte.count_ones()), Some(6), "{packed:x?}");
        }
    }
}
