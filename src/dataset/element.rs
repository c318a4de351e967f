//! The types of elements: those of netCDF, and those of Zarr and numpy beyond them.

use std::fmt;

/// The most bytes that an element may have. The fill value is an element, so this bounds what a number in the metadata
/// makes the library allocate.
pub(crate) const LARGEST: usize = 16 << 20;

/// What an element is.
///
/// Displayed it is the type's name as numpy spells it, such as `int32`, `datetime64[ns]` or `S5`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ElementType {
    /// A signed integer of 1 byte.
    Byte,
    /// A byte that is a character.
    Char,
    /// A signed integer of 2 bytes.
    Short,
    /// A signed integer of 4 bytes.
    Int,
    /// A floating-point number of 4 bytes.
    Float,
    /// A floating-point number of 8 bytes.
    Double,
    /// An unsigned integer of 1 byte.
    UByte,
    /// An unsigned integer of 2 bytes.
    UShort,
    /// An unsigned integer of 4 bytes.
    UInt,
    /// A signed integer of 8 bytes.
    Int64,
    /// An unsigned integer of 8 bytes.
    UInt64,
    /// A byte that is 0 or 1.
    Bool,
    /// A floating-point number of 2 bytes.
    Half,
    /// A complex number: the real part, then the imaginary part.
    Complex {
        /// The bytes of both: 8 or 16.
        bytes: usize,
    },
    /// A date and time, or a span of time: a signed integer of 8 bytes that counts units. -2^63 stands for none (NaT).
    Time {
        /// The unit.
        unit: TimeUnit,
        /// How many units the integer counts at a time.
        count: u32,
        /// Whether it is a span; a date and time counts from 1970.
        is_delta: bool,
    },
    /// Text of a fixed number of bytes, with zeros behind it if it is shorter.
    Text {
        /// The number of bytes.
        len: usize,
    },
    /// Text of a fixed number of characters of 4 bytes each, with zeros behind it if it is shorter.
    Unicode {
        /// The number of characters.
        len: usize,
    },
    /// Bytes of which nothing more is known, such as a structure's.
    Opaque {
        /// The number of bytes.
        len: usize,
    },
    /// Text of any length, in UTF-8.
    String,
}

/// A unit of time of numpy's.
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
    pub(crate) fn of(text: &str) -> Option<Self> {
        let text = if matches!(text, "\u{3bc}s" | "\u{b5}s") { "us" } else { text };
        TimeUnit::ALL.iter().find(|(_, spelt)| *spelt == text).map(|(unit, _)| *unit)
    }
}

impl ElementType {
    /// Bytes in an element; 0 stands for elements of different lengths.
    pub fn size(self) -> usize {
        match self {
            ElementType::Byte | ElementType::Char | ElementType::UByte | ElementType::Bool => 1,
            ElementType::Short | ElementType::UShort | ElementType::Half => 2,
            ElementType::Int | ElementType::UInt | ElementType::Float => 4,
            ElementType::Double | ElementType::Int64 | ElementType::UInt64 | ElementType::Time { .. } => 8,
            ElementType::Complex { bytes } => bytes,
            ElementType::Text { len } | ElementType::Opaque { len } => len,
            ElementType::Unicode { len } => len.saturating_mul(4),
            ElementType::String => 0,
        }
    }

    /// Bytes in each of the words that an element is made of, whose byte order may differ from the machine's; 0 stands
    /// for elements without words.
    pub fn word_size(self) -> usize {
        match self {
            ElementType::Text { .. } | ElementType::Opaque { .. } | ElementType::String => 0,
            ElementType::Complex { bytes } => bytes / 2,
            ElementType::Unicode { .. } => 4,
            _ => self.size(),
        }
    }

    /// netCDF's number of the type, of `NC_BYTE` = 1 to `NC_STRING` = 12; 0 if netCDF has no such type.
    pub fn netcdf_type(self) -> i32 {
        match self {
            ElementType::Byte => 1,
            ElementType::Char => 2,
            ElementType::Short => 3,
            ElementType::Int => 4,
            ElementType::Float => 5,
            ElementType::Double => 6,
            ElementType::UByte => 7,
            ElementType::UShort => 8,
            ElementType::UInt => 9,
            ElementType::Int64 => 10,
            ElementType::UInt64 => 11,
            ElementType::Text { .. } | ElementType::String => 12,
            _ => 0,
        }
    }

    /// The type with this number of netCDF's; `None` if there is none that an array can have.
    pub fn of_netcdf_type(number: i32) -> Option<Self> {
        Some(match number {
            1 => ElementType::Byte,
            2 => ElementType::Char,
            3 => ElementType::Short,
            4 => ElementType::Int,
            5 => ElementType::Float,
            6 => ElementType::Double,
            7 => ElementType::UByte,
            8 => ElementType::UShort,
            9 => ElementType::UInt,
            10 => ElementType::Int64,
            11 => ElementType::UInt64,
            12 => ElementType::String,
            _ => return None,
        })
    }

    /// The type's name without what makes it a particular one: `datetime64` whatever the unit.
    pub fn name(self) -> &'static str {
        match self {
            ElementType::Byte => "int8",
            ElementType::Char => "char",
            ElementType::Short => "int16",
            ElementType::Int => "int32",
            ElementType::Float => "float32",
            ElementType::Double => "float64",
            ElementType::UByte => "uint8",
            ElementType::UShort => "uint16",
            ElementType::UInt => "uint32",
            ElementType::Int64 => "int64",
            ElementType::UInt64 => "uint64",
            ElementType::Bool => "bool",
            ElementType::Half => "float16",
            ElementType::Complex { bytes: 8 } => "complex64",
            ElementType::Complex { .. } => "complex128",
            ElementType::Time { is_delta: false, .. } => "datetime64",
            ElementType::Time { is_delta: true, .. } => "timedelta64",
            ElementType::Text { .. } => "S",
            ElementType::Unicode { .. } => "U",
            ElementType::Opaque { .. } => "V",
            ElementType::String => "string",
        }
    }
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
}
