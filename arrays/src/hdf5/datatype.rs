//! What elements are.

use super::bytes::{Cursor, bytes_for, malformed};
use crate::alloc;
use crate::element::{ElementType, LARGEST};
use crate::error::{ErrorKind, Result};
use crate::variable::Endian;

/// What elements are, and how many bytes each has in the file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Datatype {
    pub what: What,
    pub size: usize,
    /// What texts end with.
    pub padding: Padding,
    /// What it says of elements that is not shown.
    pub left_out: Option<&'static str>,
}

/// What stands behind a text of a fixed length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Padding {
    /// A zero, and anything behind it.
    Terminated,
    Zeros,
    Spaces,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum What {
    Element(ElementType, Endian),
    /// Integers that use only these bits, counted from the lowest.
    Bits(ElementType, Endian, (u32, u32)),
    /// Variable-length strings, which are in a global heap.
    Texts,
    /// The addresses of objects.
    ObjectStore,
    /// Lists of addresses of objects, which are in a global heap.
    ObjectLists,
    /// What is refused, and how it is called.
    Refused(&'static str),
}

/// Types within types are looked into so deep.
const DEEPEST: usize = 32;

impl Datatype {
    /// The type that a message is.
    pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Datatype> {
        Datatype::within(cursor, DEEPEST)
    }

    /// What elements are, for those that can be read as such.
    ///
    /// # Errors
    /// `Unsupported`, `ElementType`.
    pub(super) fn element(&self) -> Result<(ElementType, Endian)> {
        match self.what {
            What::Element(element, _) if self.size > LARGEST => {
                Err(ErrorKind::Unsupported("elements of more than 16 MiB").in_object(element))
            }
            What::Element(element, endian) | What::Bits(element, endian, _) => Ok((element, endian)),
            What::Texts => Ok((ElementType::String, Endian::Native)),
            What::ObjectStore => Err(ErrorKind::Unsupported("references to objects of an HDF5 file").into()),
            What::ObjectLists => Err(ErrorKind::Unsupported("lists of references to objects of an HDF5 file").into()),
            What::Refused(how) => Err(ErrorKind::Unsupported(how).into()),
        }
    }

    fn within(cursor: &mut Cursor<'_>, depth: usize) -> Result<Datatype> {
        let depth = depth.checked_sub(1).ok_or_else(|| malformed("datatypes are nested too deeply"))?;
        let first = cursor.u8()?;
        let (version, bits, size) = (first >> 4, cursor.number(3)?, cursor.u32()? as usize);
        let endian = if bits & 1 == 0 { Endian::Little } else { Endian::Big };
        let (mut padding, mut left_out) = (Padding::Terminated, None);
        let what = match first & 15 {
            0 | 4 => {
                let is_signed = first & 15 == 0 && bits & 1 << 3 != 0;
                let (offset, precision) = (u32::from(cursor.u16()?), u32::from(cursor.u16()?));
                let element = match (size, is_signed) {
                    (1, true) => ElementType::Byte,
                    (1, false) => ElementType::UByte,
                    (2, true) => ElementType::Short,
                    (2, false) => ElementType::UShort,
                    (4, true) => ElementType::Int,
                    (4, false) => ElementType::UInt,
                    (8, true) => ElementType::Int64,
                    _ => ElementType::UInt64,
                };
                let bits = 8 * size.min(LARGEST) as u32;
                match (offset, precision) {
                    _ if !matches!(size, 1 | 2 | 4 | 8) => {
                        What::Refused("HDF5 integers of other sizes than 1, 2, 4 and 8 bytes")
                    }
                    (0, precision) if precision == bits => What::Element(element, endian),
                    (_, 1..) if offset + precision <= bits => What::Bits(element, endian, (offset, offset + precision)),
                    _ => return Err(malformed("integers whose bits are beyond their bytes")),
                }
            }
            1 => {
                let mut fields = [0; 6];
                fields[0] = cursor.u16()?;
                fields[1] = cursor.u16()?;
                for field in &mut fields[2..] {
                    *field = u16::from(cursor.u8()?);
                }
                let bias = cursor.u32()?;
                let sign = (bits >> 8) as usize & 0xff;
                let element = match (size, fields, bias) {
                    (2, [0, 16, 10, 5, 0, 10], 15) => Some(ElementType::Half),
                    (2, [0, 16, 7, 8, 0, 7], 127) => Some(ElementType::BFloat16),
                    (4, [0, 32, 23, 8, 0, 23], 127) => Some(ElementType::Float),
                    (8, [0, 64, 52, 11, 0, 52], 1023) => Some(ElementType::Double),
                    _ => None,
                };
                // The order of VAX has another bit, and numbers of IEEE 754 have a first digit that is not stored.
                match element.filter(|_| bits & 1 << 6 == 0 && bits >> 4 & 3 == 2 && sign + 1 == 8 * size) {
                    Some(element) => What::Element(element, endian),
                    None => What::Refused("HDF5 floating-point numbers that are not IEEE 754"),
                }
            }
            2 => {
                cursor.skip(2)?;
                What::Refused("HDF5's time datatype")
            }
            3 => {
                padding = match bits & 15 {
                    1 => Padding::Zeros,
                    2 => Padding::Spaces,
                    _ => Padding::Terminated,
                };
                match size {
                    0 => return Err(malformed("strings of 0 bytes")),
                    1 => What::Element(ElementType::Char, Endian::Native),
                    len => What::Element(ElementType::Text { len }, Endian::Native),
                }
            }
            5 => {
                left_out = (bits & 0xff != 0).then_some("the tag of an opaque type");
                cursor.skip((bits as usize & 0xff).next_multiple_of(8))?;
                What::Element(ElementType::Opaque { len: size }, Endian::Native)
            }
            6 => {
                let what = Datatype::compound(cursor, (version, bits as usize & 0xffff, size), depth)?;
                let is_opaque = matches!(what, What::Element(ElementType::Opaque { .. }, _));
                left_out = is_opaque.then_some("the names and types of a structure's members");
                what
            }
            7 if bits & 15 == 0 => What::ObjectStore,
            7 => What::Refused("HDF5's region and other references"),
            8 => {
                left_out = Some("the names of an enumeration's values");
                let base = Datatype::within(cursor, depth)?;
                let count = bits as usize & 0xffff;
                (0..count).try_for_each(|_| name(cursor, version).map(drop))?;
                cursor.skip(count.saturating_mul(base.size))?;
                match base.size == size {
                    true => base.what,
                    false => return Err(malformed("the sizes of an enumeration and its base type differ")),
                }
            }
            9 => {
                let base = Datatype::within(cursor, depth)?;
                match (bits & 15, base.what) {
                    (1, _) => What::Texts,
                    (_, What::ObjectStore) => What::ObjectLists,
                    _ => What::Refused("HDF5's variable-length sequences"),
                }
            }
            10 => {
                left_out = Some("the shape and type of an array type's elements");
                let rank = usize::from(cursor.u8()?);
                cursor.skip(if version < 3 { 3 } else { 0 })?;
                cursor.skip(4 * rank * if version < 3 { 2 } else { 1 })?;
                opaque(size, Datatype::within(cursor, depth)?.what)
            }
            11 => match Datatype::within(cursor, depth)?.what {
                What::Element(part, endian) if is_complex(size, part) => {
                    What::Element(ElementType::Complex { bytes: size }, endian)
                }
                what => opaque(size, what),
            },
            _ => return Err(ErrorKind::Unsupported("an HDF5 datatype of an unknown class").into()),
        };
        if size == 0 {
            return Err(malformed("elements of 0 bytes"));
        }
        Ok(Datatype { what, size, padding, left_out })
    }

    /// A structure: bytes, unless it is a complex number, as h5py writes it.
    fn compound(cursor: &mut Cursor<'_>, (version, count, size): (u8, usize, usize), depth: usize) -> Result<What> {
        let (mut all, mut parts) = (opaque(size, What::Element(ElementType::UByte, Endian::Native)), Vec::new());
        for _ in 0..count {
            let name = name(cursor, version)?;
            let offset = cursor.number(if version < 3 { 4 } else { bytes_for(size as u64) })?;
            // The first version has arrays in place, of up to four dimensions.
            cursor.skip(if version < 2 { 28 } else { 0 })?;
            let member = Datatype::within(cursor, depth)?;
            if !matches!(member.what, What::Element(..) | What::Bits(..)) {
                all = opaque(size, member.what);
            }
            if parts.len() < 3 {
                alloc::push(&mut parts, (name, offset, member.what))?;
            }
        }
        let [(b"r" | b"real", 0, what), (b"i" | b"imag", offset, other)] = parts.as_slice() else { return Ok(all) };
        Ok(match what {
            What::Element(part, endian) if what == other && is_complex(size, *part) && *offset == size as u64 / 2 => {
                What::Element(ElementType::Complex { bytes: size }, *endian)
            }
            _ => all,
        })
    }
}

/// Whether two such numbers without a gap are a complex number of this size.
fn is_complex(size: usize, part: ElementType) -> bool {
    matches!((part, size), (ElementType::Float, 8) | (ElementType::Double, 16))
}

/// What consists of these: bytes, unless they say where others are.
fn opaque(len: usize, of: What) -> What {
    match of {
        What::Element(..) | What::Bits(..) => What::Element(ElementType::Opaque { len }, Endian::Native),
        _ => What::Refused("HDF5 compounds with members of unsupported types"),
    }
}

/// The name of a member, which ends with a zero and is filled up in older versions.
fn name<'b>(cursor: &mut Cursor<'b>, version: u8) -> Result<&'b [u8]> {
    let mut ahead = cursor.clone();
    let mut len = 0;
    while ahead.u8()? != 0 {
        len += 1;
    }
    let name = cursor.take(len)?;
    let behind = if version < 3 { (len + 1).next_multiple_of(8) } else { len + 1 };
    cursor.skip(behind - len)?;
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hdf5::bytes::Sizes;

    /// What is said of the types that are handed on as bytes or integers.
    #[test]
    fn what_is_not_shown_is_known() {
        let integer = b"\x10\x08\0\0\x02\0\0\0\0\0\x10\0";
        let read = |head: &[u8], tail: &[u8]| {
            let bytes = [head, tail].concat();
            let read = Datatype::read(&mut Cursor::new(&bytes, Sizes { address: 8, length: 8 })).unwrap();
            (read.element().unwrap().0, read.left_out)
        };
        assert_eq!(read(integer, b""), (ElementType::Short, None));
        // One name, `a`, which is 7.
        let enumeration = read(b"\x38\x01\0\0\x02\0\0\0", &[integer, &b"a\0\x07\0"[..]].concat());
        assert_eq!(enumeration, (ElementType::Short, Some("the names of an enumeration's values")));
        // Three integers.
        let array = read(b"\x3a\0\0\0\x06\0\0\0\x01\x03\0\0\0", integer);
        assert_eq!(array, (ElementType::Opaque { len: 6 }, Some("the shape and type of an array type's elements")));
        let structure = read(b"\x36\x01\0\0\x02\0\0\0a\0\0", integer);
        let lost = "the names and types of a structure's members";
        assert_eq!(structure, (ElementType::Opaque { len: 2 }, Some(lost)));
        let tagged = read(b"\x15\x08\0\0\x04\0\0\0", b"JPEG\0\0\0\0");
        assert_eq!(tagged, (ElementType::Opaque { len: 4 }, Some("the tag of an opaque type")));
        assert_eq!(read(b"\x15\0\0\0\x04\0\0\0", b""), (ElementType::Opaque { len: 4 }, None));
    }

    /// Two numbers are a complex one only if nothing is between and behind them.
    #[test]
    fn complex_numbers_have_no_gaps() {
        let (float, double) = (
            b"\x11\x20\x1f\0\x04\0\0\0\0\0\x20\0\x17\x08\0\x17\x7f\0\0\0",
            b"\x11\x20\x3f\0\x08\0\0\0\0\0\x40\0\x34\x0b\0\x34\xff\x03\0\0",
        );
        let read = |bytes: &[u8]| {
            Datatype::read(&mut Cursor::new(bytes, Sizes { address: 8, length: 8 })).unwrap().element().unwrap().0
        };
        let structure = |size: u8, second: u8, part: &[u8]| {
            read(&[b"\x36\x02\0\0", &[size, 0, 0, 0][..], b"r\0\0", part, b"i\0", &[second], part].concat())
        };
        assert_eq!(structure(8, 4, float), ElementType::Complex { bytes: 8 });
        assert_eq!(structure(16, 8, double), ElementType::Complex { bytes: 16 });
        assert_eq!(structure(16, 8, float), ElementType::Opaque { len: 16 });
        assert_eq!(structure(8, 0, float), ElementType::Opaque { len: 8 });
        let complex = |size: u8, part: &[u8]| read(&[b"\x5b\0\0\0", &[size, 0, 0, 0][..], part].concat());
        assert_eq!(complex(8, float), ElementType::Complex { bytes: 8 });
        assert_eq!(complex(16, double), ElementType::Complex { bytes: 16 });
        assert_eq!(complex(16, float), ElementType::Opaque { len: 16 });
    }
}
