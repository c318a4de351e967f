//! The types of elements: those of netCDF, and those of Zarr and numpy beyond them.
//!
//! [`TYPES`] is the one table of them. A type that is one more row is read and written by all that follows from a row:
//! Zarr v2 and v3, fill values, the headers, the program. Types with parameters, such as the length of a string, are
//! variants of [`ElementType`] below the table, and have no rows.
#![allow(dead_code, reason = "codecs and formats use it, and all of them can be left out")]

use std::fmt;
use std::ops::RangeInclusive;

use crate::float_format::FloatFormat;

/// The most bytes that an element may have. The fill value is an element, so this bounds what a number in the metadata
/// makes the library allocate.
pub const LARGEST: usize = 16 << 20;

/// A row of the table: a type without parameters.
#[derive(Debug)]
#[non_exhaustive]
pub struct TypeRow {
    /// The type.
    pub element: ElementType,
    /// A description, as a sentence without a full stop.
    pub meaning: &'static str,
    /// Its name, which is numpy's.
    pub name: &'static str,
    /// The bytes of an element.
    pub size: usize,
    /// What its bytes are.
    #[doc(hidden)]
    pub kind: Kind,
    /// netCDF's number and the name of the constant for it, without the prefix: 5 and `FLOAT` for `NC_FLOAT`.
    pub netcdf: Option<(i32, &'static str)>,
    /// How Zarr v2 spells it: numpy's kind and size, or its name alone if that says all.
    #[doc(hidden)]
    pub v2: &'static str,
    /// The names that Zarr v3 has for it. The first is written.
    #[doc(hidden)]
    pub v3: &'static [&'static str],
}

/// What the bytes of an element are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A signed integer of so many bits.
    Signed(u32),
    /// An unsigned one.
    Unsigned(u32),
    Float(FloatFormat),
    /// Two of these.
    Complex(FloatFormat),
    Bool,
    Char,
    Time,
    Text,
    Unicode,
    Opaque,
    String,
}

impl Kind {
    /// The integer that bits stand for, of an integer, a boolean or a time. Bits beyond the type's are passed over.
    pub(crate) fn integer(self, bits: u64) -> Option<i128> {
        match self {
            Kind::Signed(len) => Some(((bits << (64 - len)) as i64 >> (64 - len)).into()),
            Kind::Unsigned(len) => Some((bits << (64 - len) >> (64 - len)).into()),
            Kind::Bool => Some(bits.into()),
            Kind::Time => Some((bits as i64).into()),
            _ => None,
        }
    }
}

macro_rules! types {
    ($($(#[doc = $meaning:literal])+ $variant:ident = $name:literal, $kind:expr, $size:literal, $v2:literal,
        [$($v3:literal),*] $(, $number:literal $constant:ident)?;)*) => {
        /// The type of an element.
        ///
        /// `Display` writes numpy's name for it, such as `int32`, `datetime64[ns]` or `S5`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum ElementType {
            $($(#[doc = $meaning])+ $variant,)*
            /// A complex number: the real part, then the imaginary part.
            Complex {
                /// The bytes of both: 8 or 16.
                bytes: usize,
            },
            /// A date and time, or a duration: a signed integer of 8 bytes that counts units. -2^63 stands for a
            /// missing value (NaT).
            Time {
                /// The unit.
                unit: TimeUnit,
                /// The number of units in one count.
                count: u32,
                /// Whether it is a duration. A date and time counts from 1970.
                is_delta: bool,
            },
            /// A string of a fixed number of bytes, padded with zeros.
            Text {
                /// The number of bytes.
                len: usize,
            },
            /// A string of a fixed number of characters of 4 bytes each, padded with zeros.
            Unicode {
                /// The number of characters.
                len: usize,
            },
            /// Bytes without further meaning, such as those of a structure.
            Opaque {
                /// The number of bytes.
                len: usize,
            },
        }

        /// The types without parameters.
        pub static TYPES: &[TypeRow] = &[
            $(TypeRow {
                element: ElementType::$variant,
                meaning: concat!($($meaning),+),
                name: $name,
                size: $size,
                kind: $kind,
                netcdf: first(&[$(Some(($number, stringify!($constant))),)? None]),
                v2: $v2,
                v3: &[$($v3),*],
            },)*
            TypeRow {
                element: ElementType::Complex { bytes: 8 },
                meaning: "A complex number of two floats",
                name: "complex64",
                size: 8,
                kind: Kind::Complex(FloatFormat::SINGLE),
                netcdf: None,
                v2: "c8",
                v3: &["complex64", "complex_float32"],
            },
            TypeRow {
                element: ElementType::Complex { bytes: 16 },
                meaning: "A complex number of two doubles",
                name: "complex128",
                size: 16,
                kind: Kind::Complex(FloatFormat::DOUBLE),
                netcdf: None,
                v2: "c16",
                v3: &["complex128", "complex_float64"],
            },
        ];
    };
}

/// The first of a list that has one item or two.
const fn first<T: Copy>(list: &[T]) -> T {
    list[0]
}

types! {
    // Name, kind, bytes, Zarr v2, Zarr v3, netCDF.
    /// A signed integer of 1 byte
    Byte = "int8", Kind::Signed(8), 1, "i1", ["int8"], 1 BYTE;
    /// A byte that is a character
    Char = "char", Kind::Char, 1, "S1", [], 2 CHAR;
    /// A signed integer of 2 bytes
    Short = "int16", Kind::Signed(16), 2, "i2", ["int16"], 3 SHORT;
    /// A signed integer of 4 bytes
    Int = "int32", Kind::Signed(32), 4, "i4", ["int32"], 4 INT;
    /// A floating-point number of 4 bytes
    Float = "float32", Kind::Float(FloatFormat::SINGLE), 4, "f4", ["float32"], 5 FLOAT;
    /// A floating-point number of 8 bytes
    Double = "float64", Kind::Float(FloatFormat::DOUBLE), 8, "f8", ["float64"], 6 DOUBLE;
    /// An unsigned integer of 1 byte
    UByte = "uint8", Kind::Unsigned(8), 1, "u1", ["uint8"], 7 UBYTE;
    /// An unsigned integer of 2 bytes
    UShort = "uint16", Kind::Unsigned(16), 2, "u2", ["uint16"], 8 USHORT;
    /// An unsigned integer of 4 bytes
    UInt = "uint32", Kind::Unsigned(32), 4, "u4", ["uint32"], 9 UINT;
    /// A signed integer of 8 bytes
    Int64 = "int64", Kind::Signed(64), 8, "i8", ["int64"], 10 INT64;
    /// An unsigned integer of 8 bytes
    UInt64 = "uint64", Kind::Unsigned(64), 8, "u8", ["uint64"], 11 UINT64;
    /// A variable-length string
    String = "string", Kind::String, 0, "O", ["string", "variable_length_utf8"], 12 STRING;
    /// A byte that is 0 or 1
    Bool = "bool", Kind::Bool, 1, "b1", ["bool"];
    /// A floating-point number of 2 bytes
    Half = "float16", Kind::Float(FloatFormat::HALF), 2, "f2", ["float16"];
    /// A floating-point number of 2 bytes, of which 8 bits are the exponent
    BFloat16 = "bfloat16", Kind::Float(FloatFormat::BFLOAT16), 2, "bfloat16", ["bfloat16"];
    /// A floating-point number of 1 byte: 3 bits of exponent, 4 of fraction, infinity
    Float8E3M4 = "float8_e3m4", Kind::Float(FloatFormat::E3M4), 1, "float8_e3m4", ["float8_e3m4"];
    /// A floating-point number of 1 byte: 4 bits of exponent, 3 of fraction, infinity
    Float8E4M3 = "float8_e4m3", Kind::Float(FloatFormat::E4M3), 1, "float8_e4m3", ["float8_e4m3"];
    /// A floating-point number of 1 byte: 4 bits of exponent, 3 of fraction, no infinity
    Float8E4M3Fn = "float8_e4m3fn", Kind::Float(FloatFormat::E4M3FN), 1, "float8_e4m3fn", ["float8_e4m3fn"];
    /// A floating-point number of 1 byte: 4 bits of exponent, 3 of fraction, no infinity, one zero
    Float8E4M3FnUz = "float8_e4m3fnuz", Kind::Float(FloatFormat::E4M3FNUZ), 1, "float8_e4m3fnuz", ["float8_e4m3fnuz"];
    /// A floating-point number of 1 byte: 4 bits of exponent with the bias 11, 3 of fraction, no infinity, one zero
    Float8E4M3B11FnUz = "float8_e4m3b11fnuz", Kind::Float(FloatFormat::E4M3B11FNUZ), 1, "float8_e4m3b11fnuz",
        ["float8_e4m3b11fnuz"];
    /// A floating-point number of 1 byte: 5 bits of exponent, 2 of fraction, infinity
    Float8E5M2 = "float8_e5m2", Kind::Float(FloatFormat::E5M2), 1, "float8_e5m2", ["float8_e5m2"];
    /// A floating-point number of 1 byte: 5 bits of exponent, 2 of fraction, no infinity, one zero
    Float8E5M2FnUz = "float8_e5m2fnuz", Kind::Float(FloatFormat::E5M2FNUZ), 1, "float8_e5m2fnuz", ["float8_e5m2fnuz"];
    /// A power of two in 1 byte, all of which is the exponent
    Float8E8M0FnU = "float8_e8m0fnu", Kind::Float(FloatFormat::E8M0FNU), 1, "float8_e8m0fnu", ["float8_e8m0fnu"];
    /// A floating-point number of 6 bits in 1 byte: 2 bits of exponent, 3 of fraction
    Float6E2M3Fn = "float6_e2m3fn", Kind::Float(FloatFormat::E2M3FN), 1, "float6_e2m3fn", ["float6_e2m3fn"];
    /// A floating-point number of 6 bits in 1 byte: 3 bits of exponent, 2 of fraction
    Float6E3M2Fn = "float6_e3m2fn", Kind::Float(FloatFormat::E3M2FN), 1, "float6_e3m2fn", ["float6_e3m2fn"];
    /// A floating-point number of 4 bits in 1 byte: 2 bits of exponent, 1 of fraction
    Float4E2M1Fn = "float4_e2m1fn", Kind::Float(FloatFormat::E2M1FN), 1, "float4_e2m1fn", ["float4_e2m1fn"];
    /// A signed integer of 2 bits in 1 byte
    Int2 = "int2", Kind::Signed(2), 1, "int2", ["int2"];
    /// A signed integer of 4 bits in 1 byte
    Int4 = "int4", Kind::Signed(4), 1, "int4", ["int4"];
    /// An unsigned integer of 2 bits in 1 byte
    UInt2 = "uint2", Kind::Unsigned(2), 1, "uint2", ["uint2"];
    /// An unsigned integer of 4 bits in 1 byte
    UInt4 = "uint4", Kind::Unsigned(4), 1, "uint4", ["uint4"];
}

/// A unit of time, as in numpy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum TimeUnit {
    Generic,
    Year,
    Month,
    Week,
    Day,
    Hour,
    Minute,
    Second,
    Millisecond,
    Microsecond,
    Nanosecond,
    Picosecond,
    Femtosecond,
    Attosecond,
}

impl TimeUnit {
    const ALL: [(TimeUnit, &'static str); 14] = [
        (TimeUnit::Generic, "generic"),
        (TimeUnit::Year, "Y"),
        (TimeUnit::Month, "M"),
        (TimeUnit::Week, "W"),
        (TimeUnit::Day, "D"),
        (TimeUnit::Hour, "h"),
        (TimeUnit::Minute, "m"),
        (TimeUnit::Second, "s"),
        (TimeUnit::Millisecond, "ms"),
        (TimeUnit::Microsecond, "us"),
        (TimeUnit::Nanosecond, "ns"),
        (TimeUnit::Picosecond, "ps"),
        (TimeUnit::Femtosecond, "fs"),
        (TimeUnit::Attosecond, "as"),
    ];

    /// The unit as numpy spells it, such as `ns`.
    pub fn as_str(self) -> &'static str {
        TimeUnit::ALL.iter().find(|(unit, _)| *unit == self).map_or("generic", |(_, text)| text)
    }

    /// The unit that numpy spells like this; also `μs`, as the registered v3 type allows.
    #[doc(hidden)]
    pub fn of(text: &str) -> Option<Self> {
        let text = if matches!(text, "\u{3bc}s" | "\u{b5}s") { "us" } else { text };
        TimeUnit::ALL.iter().find(|(_, spelt)| *spelt == text).map(|(unit, _)| *unit)
    }
}

impl ElementType {
    /// The row of the table; `None` for a type with parameters.
    #[doc(hidden)]
    pub fn row(self) -> Option<&'static TypeRow> {
        TYPES.iter().find(|row| row.element == self)
    }

    /// What the bytes of an element are.
    #[doc(hidden)]
    pub fn kind(self) -> Kind {
        match self {
            ElementType::Time { .. } => Kind::Time,
            ElementType::Text { .. } => Kind::Text,
            ElementType::Unicode { .. } => Kind::Unicode,
            ElementType::Opaque { .. } => Kind::Opaque,
            // Complex numbers of other sizes there are none.
            _ => self.row().map_or(Kind::Opaque, |row| row.kind),
        }
    }

    /// Bytes in an element; 0 stands for elements of different lengths.
    pub fn size(self) -> usize {
        match self {
            ElementType::Time { .. } => 8,
            ElementType::Complex { bytes } => bytes,
            ElementType::Text { len } | ElementType::Opaque { len } => len,
            ElementType::Unicode { len } => len.saturating_mul(4),
            _ => self.row().map_or(0, |row| row.size),
        }
    }

    /// The size in bytes of the words that an element consists of, whose byte order may differ from the machine's; 0
    /// for elements without words.
    pub fn word_size(self) -> usize {
        match self.kind() {
            Kind::Text | Kind::Opaque | Kind::String => 0,
            Kind::Complex(_) => self.size() / 2,
            Kind::Unicode => 4,
            _ => self.size(),
        }
    }

    /// netCDF's number of the type, of `NC_BYTE` = 1 to `NC_STRING` = 12; 0 if netCDF has no such type.
    pub fn netcdf_type(self) -> i32 {
        match self {
            ElementType::Text { .. } => ElementType::String.netcdf_type(),
            _ => self.row().and_then(|row| row.netcdf).map_or(0, |(number, _)| number),
        }
    }

    /// The type with this number in netCDF; `None` if there is none, or none that an array can have.
    pub fn of_netcdf_type(number: i32) -> Option<Self> {
        TYPES.iter().find(|row| row.netcdf.is_some_and(|(of_row, _)| of_row == number)).map(|row| row.element)
    }

    /// The type's name without parameters: `datetime64` for any unit.
    pub fn name(self) -> &'static str {
        match self {
            ElementType::Time { is_delta: false, .. } => "datetime64",
            ElementType::Time { is_delta: true, .. } => "timedelta64",
            ElementType::Text { .. } => "S",
            ElementType::Unicode { .. } => "U",
            ElementType::Opaque { .. } => "V",
            _ => self.row().map_or("complex", |row| row.name),
        }
    }

    /// The value of an element as the nearest floating-point number, for integers, floating-point numbers, booleans and
    /// times. `bytes` are in the machine's order. `None` for other types, and for another number of bytes.
    ///
    /// ```
    /// use nczchunk::ElementType;
    ///
    /// assert_eq!(ElementType::Half.to_f64(&0x3e00u16.to_ne_bytes()), Some(1.5));
    /// assert_eq!(ElementType::Char.to_f64(b"x"), None);
    /// ```
    pub fn to_f64(self, bytes: &[u8]) -> Option<f64> {
        let bits = native(bytes).filter(|_| bytes.len() == self.size())?;
        match self.kind() {
            Kind::Float(format) => Some(format.to_f64(bits)),
            kind => kind.integer(bits).map(|integer| integer as f64),
        }
    }

    /// The value of an element as an integer, for integers, booleans and times. `bytes` are in the machine's order.
    /// `None` for other types, and for another number of bytes.
    pub fn to_integer(self, bytes: &[u8]) -> Option<i128> {
        self.kind().integer(native(bytes).filter(|_| bytes.len() == self.size())?)
    }

    /// The integers that an element can be; `None` if it is none.
    #[doc(hidden)]
    pub fn integers(self) -> Option<RangeInclusive<i128>> {
        match self.kind() {
            Kind::Signed(bits) => Some(-1 << (bits - 1)..=(1 << (bits - 1)) - 1),
            Kind::Unsigned(bits) => Some(0..=(1 << bits) - 1),
            _ => None,
        }
    }
}

/// The order of bytes in a stored word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Endian {
    /// This machine's.
    #[default]
    Native,
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

impl Endian {
    /// Whether words in this order must be swapped to be read on this machine.
    pub fn is_foreign(self) -> bool {
        match self {
            Endian::Native => false,
            Endian::Little => cfg!(target_endian = "big"),
            Endian::Big => cfg!(target_endian = "little"),
        }
    }
}

/// Elements as they are stored: what they are, and the byte order of their words.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Elements {
    pub element: ElementType,
    pub endian: Endian,
}

impl Elements {
    /// Bytes that are just that.
    pub(crate) const BYTES: Elements = Elements { element: ElementType::UByte, endian: Endian::Native };
}

/// A word of `size` bytes, from 1 to 8, in the machine's order: the first of these.
pub fn native_word(word: u64, size: usize) -> [u8; 8] {
    if cfg!(target_endian = "big") { (word << (64 - 8 * size)).to_be_bytes() } else { word.to_le_bytes() }
}

/// At most 8 bytes in the machine's order as the bits of a word.
pub fn native(bytes: &[u8]) -> Option<u64> {
    let mut word = [0; 8];
    let begin = if cfg!(target_endian = "big") { word.len().checked_sub(bytes.len())? } else { 0 };
    word.get_mut(begin..begin + bytes.len())?.copy_from_slice(bytes);
    Some(u64::from_ne_bytes(word))
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match *self {
            ElementType::Time { unit: TimeUnit::Generic, .. } => Ok(()),
            ElementType::Time { unit, count: 1, .. } => write!(f, "[{}]", unit.as_str()),
            ElementType::Time { unit, count, .. } => write!(f, "[{count}{}]", unit.as_str()),
            ElementType::Text { len } | ElementType::Unicode { len } | ElementType::Opaque { len } => {
                write!(f, "{len}")
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_names_and_sizes() {
        let time = ElementType::Time { unit: TimeUnit::Second, count: 10, is_delta: true };
        assert_eq!((time.to_string().as_str(), time.size(), time.word_size()), ("timedelta64[10s]", 8, 8));
        let text = ElementType::Unicode { len: 3 };
        assert_eq!((text.to_string().as_str(), text.size(), text.word_size()), ("U3", 12, 4));
        let complex = ElementType::Complex { bytes: 16 };
        assert_eq!((complex.name(), complex.word_size(), complex.netcdf_type()), ("complex128", 8, 0));
        assert_eq!((ElementType::UInt64.netcdf_type(), ElementType::String.netcdf_type()), (11, 12));
        for number in 1..=12 {
            assert_eq!(ElementType::of_netcdf_type(number).unwrap().netcdf_type(), number);
        }
        assert_eq!((ElementType::of_netcdf_type(0), ElementType::of_netcdf_type(13)), (None, None));
        assert_eq!(TimeUnit::of("\u{3bc}s"), Some(TimeUnit::Microsecond));
    }

    /// Names and spellings lead to one type, and what a row says of its size fits what it says of its bytes.
    #[test]
    fn rows_do_not_contradict() {
        for (i, row) in TYPES.iter().enumerate() {
            let bits = match row.kind {
                Kind::Signed(bits) | Kind::Unsigned(bits) => bits,
                Kind::Float(format) => format.bits(),
                Kind::Complex(format) => 2 * format.bits(),
                Kind::String => 0,
                _ => 8,
            };
            assert_eq!((row.element.row().unwrap().name, bits.div_ceil(8) as usize), (row.name, row.size));
            assert!(row.v2.contains(char::is_numeric) || row.v2 == row.name || row.element == ElementType::String);
            for other in &TYPES[i + 1..] {
                assert!(row.name != other.name && row.v2 != other.v2, "{} {}", row.name, other.name);
                assert!(row.v3.iter().all(|name| !other.v3.contains(name)), "{} {}", row.name, other.name);
                assert!(row.netcdf.is_none() || row.netcdf != other.netcdf);
            }
        }
    }

    #[test]
    fn elements_are_numbers() {
        assert_eq!(ElementType::Short.to_integer(&(-3i16).to_ne_bytes()), Some(-3));
        assert_eq!(ElementType::UInt64.to_integer(&u64::MAX.to_ne_bytes()), Some(u64::MAX.into()));
        assert_eq!(ElementType::Bool.to_f64(&[1]), Some(1.0));
        assert_eq!(ElementType::Float.to_f64(&0.1f32.to_ne_bytes()), Some(0.1f32.into()));
        let time = ElementType::Time { unit: TimeUnit::Day, count: 1, is_delta: false };
        assert_eq!((time.to_integer(&(-5i64).to_ne_bytes()), time.to_f64(&5i64.to_ne_bytes())), (Some(-5), Some(5.0)));
        for (element, bytes) in [
            (ElementType::Int, &[0; 3][..]),
            (ElementType::Char, &[1]),
            (ElementType::Text { len: 2 }, &[1, 2]),
            (ElementType::Complex { bytes: 16 }, &[0; 16]),
        ] {
            assert_eq!((element.to_integer(bytes), element.to_f64(bytes)), (None, None), "{element}");
        }
        assert_eq!(ElementType::Float.to_integer(&[0; 4]), None);
    }
}
