//! Fill values: what the metadata write, as the bytes of an element in native order.
//!
//! Zarr v2 leaves much open, and writers differ. What they are known to write is taken: `NaN` in any case, an integer
//! as `"0"`, `0.0` or `[0]`, a text as `0`. netCDF-C writes floating-point numbers with six digits, so that its default
//! fill value has to be known by those.

use std::ops::RangeInclusive;

use super::base64;
use super::format::Format;
use super::metadata::Metadata;
use crate::alloc;
use crate::element::{ElementType, Kind, native, native_word};
use crate::error::{Error, ErrorKind, Result};
use crate::float_format::FloatFormat;
use crate::json::{At, Value};

/// netCDF's `NC_FILL_DOUBLE` and `NC_FILL_FLOAT`, and what the six digits of `%g` make of it.
const NC_FILL: f64 = 9.969_209_968_386_869e36;
const NC_FILL_SIX_DIGITS: f64 = 9.969_21e36;

/// What the fill values of a document look like.
#[derive(Clone, Copy)]
pub(super) struct Dialect {
    pub(super) format: Format,
    /// Whether netCDF-C has written it, which writes texts as they are.
    pub(super) is_nczarr: bool,
}

impl Dialect {
    fn is_v2(self) -> bool {
        self.format == Format::V2
    }
}

/// The bytes of a fill value; `None` for `null`. Those of a variable-length string are its UTF-8 and a NUL.
pub(super) fn read(at: At<'_>, element: ElementType, dialect: Dialect) -> Result<Option<Vec<u8>>> {
    match (at.value(), element) {
        (Value::Null, _) => return Ok(None),
        (Value::List(items), _) if dialect.is_v2() && items.len() == 1 => {
            return at.items()?.next().map_or(Ok(None), |item| read(item, element, dialect));
        }
        _ => {}
    }
    let mut bytes = Vec::new();
    let size = element.size();
    match element.kind() {
        Kind::Signed(_) | Kind::Unsigned(_) => {
            let range = element.integers().ok_or(ErrorKind::Internal)?;
            append(integer(&at, dialect, range)?, size, &mut bytes)?;
        }
        Kind::Bool => append(boolean(&at, dialect)?, size, &mut bytes)?,
        Kind::Time => append(time(&at, dialect)?, size, &mut bytes)?,
        Kind::Char => append(character(&at, dialect)?, size, &mut bytes)?,
        Kind::Float(format) => float(&at, format, size, dialect, &mut bytes)?,
        Kind::Complex(format) => complex(at, format, size / 2, dialect, &mut bytes)?,
        Kind::Text | Kind::Opaque => {
            bytes = plain(&at, size, dialect, element)?;
            pad(&mut bytes, size)?;
        }
        Kind::Unicode => {
            for character in text(&at, dialect)?.chars() {
                u32::from(character).to_ne_bytes().append_to(&mut bytes)?;
            }
            if bytes.len() > size {
                return Err(at.malformed("the fill value is longer than an element"));
            }
            pad(&mut bytes, size)?;
        }
        Kind::String => {
            let text = text(&at, dialect)?;
            if text.contains('\0') {
                return Err(at.unsupported("a string contains a NUL, where C's strings end"));
            }
            text.append_to(&mut bytes)?;
            [0].append_to(&mut bytes)?;
        }
    }
    Ok(Some(bytes))
}

/// Whether two arrays of the same elements have the same fill value: NaNs are alike, whatever their bits are.
pub(crate) fn is_same_fill_value(one: &Metadata, other: &Metadata) -> bool {
    let element = one.element;
    let is_nan = |word: &[u8]| match element.kind() {
        Kind::Float(format) | Kind::Complex(format) => native(word).is_some_and(|bits| format.to_f64(bits).is_nan()),
        _ => false,
    };
    match (&one.fill_value, &other.fill_value) {
        (Some(one), Some(other)) if element != ElementType::String => {
            let word = element.word_size().max(1);
            let are_alike = |(one, other): (&[u8], &[u8])| one == other || is_nan(one) && is_nan(other);
            one.len() == other.len() && one.chunks(word).zip(other.chunks(word)).all(are_alike)
        }
        // A string may have a NUL behind it or not.
        (Some(one), Some(other)) => one.strip_suffix(&[0]).unwrap_or(one) == other.strip_suffix(&[0]).unwrap_or(other),
        (one, other) => one.is_none() && other.is_none(),
    }
}

/// Bytes that are added to others.
trait Append {
    fn append_to(&self, bytes: &mut Vec<u8>) -> Result<()>;
}

impl<T: AsRef<[u8]> + ?Sized> Append for T {
    fn append_to(&self, bytes: &mut Vec<u8>) -> Result<()> {
        Ok(alloc::extend(bytes, self.as_ref())?)
    }
}

/// Adds an integer as a word of so many bytes, from 1 to 8, in the machine's order.
fn append(integer: i128, size: usize, bytes: &mut Vec<u8>) -> Result<()> {
    native_word(integer as u64, size).get(..size).ok_or(ErrorKind::Internal)?.append_to(bytes)
}

/// Zeros behind the bytes, up to this length.
fn pad(bytes: &mut Vec<u8>, len: usize) -> Result<()> {
    bytes.try_reserve_exact(len.saturating_sub(bytes.len())).map_err(|_| alloc::Failed)?;
    bytes.resize(len, 0);
    Ok(())
}

fn out_of_range(at: &At<'_>) -> Error {
    at.malformed("the fill value is out of the type's range")
}

/// A number in this range that is an integer, however it is written.
fn integer(at: &At<'_>, dialect: Dialect, range: RangeInclusive<i128>) -> Result<i128> {
    let written = match at.value() {
        Value::Number(number) => Some(number.as_str()),
        Value::Text(number) if dialect.is_v2() => Some(number.trim()),
        _ => None,
    };
    let exact = written.and_then(|number| number.parse::<i128>().ok());
    // What is too large becomes the largest integer, which fits no type.
    let whole = || {
        let value = written?.parse::<f64>().ok()?;
        (value.trunc() == value).then_some(value as i128)
    };
    let value = exact.or_else(whole).ok_or_else(|| at.malformed("expected an integer in the type's range"))?;
    if range.contains(&value) { Ok(value) } else { Err(out_of_range(at)) }
}

fn boolean(at: &At<'_>, dialect: Dialect) -> Result<i128> {
    match at.value() {
        Value::Bool(value) => Ok(i128::from(*value)),
        _ if dialect.is_v2() => integer(at, dialect, 0..=1),
        _ => Err(at.malformed("expected true or false")),
    }
}

fn time(at: &At<'_>, dialect: Dialect) -> Result<i128> {
    match at.value() {
        Value::Text(text) if text.eq_ignore_ascii_case("NaT") => Ok(i64::MIN.into()),
        _ => integer(at, dialect, i64::MIN.into()..=i64::MAX.into()),
    }
}

/// Adds a floating-point number of this format in so many bytes.
fn float(at: &At<'_>, format: FloatFormat, size: usize, dialect: Dialect, bytes: &mut Vec<u8>) -> Result<()> {
    let written = match at.value() {
        Value::Number(number) => number.as_str(),
        Value::Text(text) => match text.strip_prefix("0x") {
            Some(digits) if !dialect.is_v2() => return hexadecimal(at, digits, size, bytes),
            _ => text.trim(),
        },
        _ => return Err(at.malformed("expected a floating-point number")),
    };
    let is_word = !written.bytes().any(|byte| byte.is_ascii_digit());
    let is_number = matches!(at.value(), Value::Number(_));
    let is_known = is_number || dialect.is_v2() || matches!(written, "NaN" | "Infinity" | "-Infinity");
    let value = written.parse::<f64>().ok().filter(|_| is_known);
    let mut value = value.ok_or_else(|| at.malformed("expected a floating-point number"))?;
    if dialect.is_v2() && value == NC_FILL_SIX_DIGITS {
        value = NC_FILL;
    }
    // A number that is written with digits and infinite as a value is too large for its type. Of NaN the sign is not
    // written.
    let value = Some(if value.is_nan() { f64::NAN } else { value }).filter(|value| !value.is_infinite() || is_word);
    append(value.and_then(|value| format.bits_of(value)).ok_or_else(|| out_of_range(at))?.into(), size, bytes)
}

/// Adds a number whose bits are written, the most significant first.
fn hexadecimal(at: &At<'_>, digits: &str, size: usize, bytes: &mut Vec<u8>) -> Result<()> {
    let is_whole = digits.len() == 2 * size && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let bits = u64::from_str_radix(digits, 16).ok().filter(|_| is_whole);
    let bits = bits.ok_or_else(|| at.malformed("expected the hexadecimal digits of the type's bytes"))?;
    append(bits.into(), size, bytes)
}

/// Adds a pair of numbers; in v2 also a real one alone.
fn complex(at: At<'_>, format: FloatFormat, size: usize, dialect: Dialect, bytes: &mut Vec<u8>) -> Result<()> {
    if dialect.is_v2() && at.value().as_list().is_none() {
        float(&at, format, size, dialect, bytes)?;
        return pad(bytes, 2 * size);
    }
    let parts = at.items()?;
    if parts.len() != 2 {
        return Err(at.malformed("expected a real and an imaginary part"));
    }
    for part in parts {
        float(&part, format, size, dialect, bytes)?;
    }
    Ok(())
}

/// A character of netCDF-C's, which is written as it is.
fn character(at: &At<'_>, dialect: Dialect) -> Result<i128> {
    match at.value() {
        Value::Text(text) => match text.as_bytes() {
            [] => Ok(0),
            [character] => Ok((*character).into()),
            _ => Err(at.malformed("the fill value is longer than an element")),
        },
        _ => integer(at, dialect, 0..=u8::MAX.into()),
    }
}

/// Whether it is the number 0, which some write for anything empty.
fn is_zero(at: &At<'_>, dialect: Dialect) -> bool {
    dialect.is_v2() && at.value().as_f64() == Some(0.0)
}

fn text<'a>(at: &At<'a>, dialect: Dialect) -> Result<&'a str> {
    if is_zero(at, dialect) { Ok("") } else { at.text() }
}

/// Bytes, at most `len`, written in base64, as a list of numbers (v3), or as they are (netCDF-C).
fn plain(at: &At<'_>, len: usize, dialect: Dialect, element: ElementType) -> Result<Vec<u8>> {
    if at.value().as_list().is_some() && !dialect.is_v2() {
        let byte = |item| integer(&item, dialect, 0..=u8::MAX.into()).map(|byte| byte as u8);
        let bytes = alloc::try_collected(at.items()?.map(byte))?;
        let is_whole = bytes.len() == len;
        return if is_whole { Ok(bytes) } else { Err(at.malformed("there must be one number for each byte")) };
    }
    let text = text(at, dialect)?;
    let is_text = dialect.is_v2() && matches!(element, ElementType::Text { .. });
    let decoded = if is_text && dialect.is_nczarr { None } else { base64::decode(text)? };
    // netCDF-C's pure Zarr has texts as they are too, and no sign of it.
    match decoded {
        Some(decoded) if decoded.len() <= len => Ok(decoded),
        _ if is_text && text.len() <= len => Ok(alloc::copied(text.as_bytes())?),
        Some(_) => Err(at.malformed("the fill value is longer than an element")),
        None if is_text => Err(at.malformed("the fill value is longer than an element")),
        None => Err(at.malformed("expected base64")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::TimeUnit;
    use crate::json::read as json;

    const V2: Dialect = Dialect { format: Format::V2, is_nczarr: false };
    const NCZARR: Dialect = Dialect { format: Format::V2, is_nczarr: true };
    const V3: Dialect = Dialect { format: Format::V3, is_nczarr: false };
    const TIME: ElementType = ElementType::Time { unit: TimeUnit::Day, count: 1, is_delta: false };

    fn fill(text: &str, element: ElementType, dialect: Dialect) -> Option<Vec<u8>> {
        read(At::root(&json(text.as_bytes()).unwrap()), element, dialect).unwrap()
    }

    fn refused(text: &str, element: ElementType, dialect: Dialect) {
        assert!(read(At::root(&json(text.as_bytes()).unwrap()), element, dialect).is_err(), "{text} {element}");
    }

    #[test]
    fn integers_are_exact_however_they_are_written() {
        for text in ["-32767", "-32767.0", "[-32767]", "\"-32767\"", "-3.2767e4"] {
            assert_eq!(fill(text, ElementType::Short, V2).unwrap(), (-32767i16).to_ne_bytes(), "{text}");
        }
        assert_eq!(fill("18446744073709551615", ElementType::UInt64, V3).unwrap(), u64::MAX.to_ne_bytes());
        assert_eq!(fill("0.0", ElementType::UByte, V2).unwrap(), [0]);
        assert_eq!(fill("null", ElementType::UByte, V2), None);
        for text in ["256", "-1", "0.5", "NaN", "\"x\"", "true", "[1,2]", "[]", "{}", "1e300", "\"\""] {
            refused(text, ElementType::UByte, V2);
        }
        refused("\"0\"", ElementType::Int, V3);
        refused("[0]", ElementType::Int, V3);
        refused("18446744073709551616", ElementType::UInt64, V2);
        refused(&"9".repeat(1000), ElementType::UInt64, V2);
    }

    #[test]
    fn floats_have_their_bits() {
        let single =
            |text, dialect| u32::from_ne_bytes(fill(text, ElementType::Float, dialect).unwrap().try_into().unwrap());
        for text in ["\"NaN\"", "\"nan\"", "NaN"] {
            assert_eq!(single(text, V2), 0x7fc0_0000);
        }
        assert_eq!((single("\"NaN\"", V3), single("\"0x7fc00001\"", V3)), (0x7fc0_0000, 0x7fc0_0001));
        assert_eq!((single("\"-Infinity\"", V3), single("\"-inf\"", V2)), (0xff80_0000, 0xff80_0000));
        assert_eq!(single("0.10000000149011612", V3), 0.1f32.to_bits());
        assert_eq!(fill("0.1", ElementType::Double, V3).unwrap(), 0.1f64.to_ne_bytes());
        assert_eq!(fill("\"0x7e01\"", ElementType::Half, V3).unwrap(), 0x7e01u16.to_ne_bytes());
        assert_eq!(fill("1.5", ElementType::Half, V2).unwrap(), 0x3e00u16.to_ne_bytes());
        for text in ["1e39", "-1e999", "true", "[]", "\"\"", "\"x\"", "\"0x7fc00000\""] {
            refused(text, ElementType::Float, V2);
        }
        for text in ["\"nan\"", "\"1.5\"", "\"0x7fc0\"", "\"0x+fc00000\"", "\"0x\"", "[1.0]"] {
            refused(text, ElementType::Float, V3);
        }
        refused("65520", ElementType::Half, V2);
        refused("1e309", ElementType::Double, V3);
    }

    #[test]
    fn bytes_that_are_refused_are_told_why() {
        let error = |text: &str, element, dialect| {
            read(At::root(&json(text.as_bytes()).unwrap()), element, dialect).unwrap_err().to_string()
        };
        let longer = |text: &str, element, dialect| error(text, element, dialect).contains("longer than an element");
        let (text, opaque) = (ElementType::Text { len: 2 }, ElementType::Opaque { len: 2 });
        assert!(longer("\"a-b\"", text, V2) && longer("\"YWJj\"", text, V2) && longer("\"abc\"", text, NCZARR));
        assert!(longer("\"YWJj\"", opaque, V2) && error("\"a-b\"", opaque, V2).contains("expected base64"));
    }

    #[test]
    fn the_default_of_netcdf_is_known_by_six_digits() {
        assert_eq!(fill("9.96921e+36", ElementType::Double, V2).unwrap(), NC_FILL.to_ne_bytes());
        assert_eq!(fill("9.96921e+36", ElementType::Float, NCZARR).unwrap(), (NC_FILL as f32).to_ne_bytes());
        assert_eq!(fill("9.96921e+36", ElementType::Double, V3).unwrap(), 9.96921e36f64.to_ne_bytes());
        assert_eq!(fill("1.23457e+20", ElementType::Double, NCZARR).unwrap(), 1.23457e20f64.to_ne_bytes());
    }

    #[test]
    fn other_numbers_have_their_forms() {
        for (text, value) in [("true", 1), ("false", 0), ("1", 1), ("0.0", 0)] {
            assert_eq!(fill(text, ElementType::Bool, V2).unwrap(), [value]);
        }
        refused("1", ElementType::Bool, V3);
        refused("2", ElementType::Bool, V2);
        assert_eq!(fill("\"NaT\"", TIME, V3).unwrap(), i64::MIN.to_ne_bytes());
        assert_eq!(fill("\"5\"", TIME, V2).unwrap(), 5i64.to_ne_bytes());
        refused("\"x\"", TIME, V2);
        assert_eq!(fill("-9223372036854775808", TIME, V2).unwrap(), i64::MIN.to_ne_bytes());
        let complex = ElementType::Complex { bytes: 8 };
        let pair = [f32::to_ne_bytes(1.0), f32::to_ne_bytes(f32::INFINITY)].concat();
        assert_eq!(fill("[1, \"Infinity\"]", complex, V3).unwrap(), pair);
        assert_eq!(fill("0", complex, V2).unwrap(), [0; 8]);
        refused("0", complex, V3);
        refused("[1,2,3]", complex, V2);
    }

    #[test]
    fn texts_and_bytes_are_padded() {
        let text = ElementType::Text { len: 5 };
        assert_eq!(fill("\"YWI=\"", text, V2).unwrap(), b"ab\0\0\0");
        assert_eq!(fill("\"YWI=\"", text, NCZARR).unwrap(), b"YWI=\0");
        assert_eq!(fill("\"abc\"", text, V2).unwrap(), b"abc\0\0");
        assert_eq!(fill("0", text, V2).unwrap(), [0; 5]);
        refused("\"YWJjZGVm\"", text, V2);
        refused("\"abc\"", text, V3);
        let raw = ElementType::Opaque { len: 2 };
        assert_eq!(fill("[1, 255]", raw, V3).unwrap(), [1, 255]);
        assert_eq!(fill("\"Af8=\"", raw, V3).unwrap(), [1, 255]);
        refused("[1]", raw, V3);
        refused("[1, 256]", raw, V3);
        let unicode = ElementType::Unicode { len: 2 };
        assert_eq!(fill("\"\u{e4}\"", unicode, V2).unwrap(), [0xe4u32.to_ne_bytes(), [0; 4]].concat());
        refused("\"abc\"", unicode, V2);
        assert_eq!(fill("\"hi\"", ElementType::String, V3).unwrap(), b"hi\0");
        refused("\"a\\u0000\"", ElementType::String, V3);
        assert_eq!(fill("0", ElementType::String, V2).unwrap(), b"\0");
        assert_eq!(fill("\"x\"", ElementType::Char, NCZARR).unwrap(), b"x");
        assert_eq!(fill("\"\"", ElementType::Char, V2).unwrap(), [0]);
        refused("\"xy\"", ElementType::Char, V2);
    }

    /// The bits are those of ml_dtypes.
    #[test]
    fn small_numbers_have_their_bits() {
        for (text, element, bits) in [
            ("1.5", ElementType::BFloat16, &0x3fc0u16.to_ne_bytes()[..]),
            ("\"NaN\"", ElementType::BFloat16, &0x7fc0u16.to_ne_bytes()),
            ("\"0x7fc1\"", ElementType::BFloat16, &0x7fc1u16.to_ne_bytes()),
            ("-0.5", ElementType::Float8E4M3, &[0xb0]),
            ("\"Infinity\"", ElementType::Float8E4M3, &[0x78]),
            ("\"NaN\"", ElementType::Float8E4M3Fn, &[0x7f]),
            ("\"0x7d\"", ElementType::Float8E5M2, &[0x7d]),
            ("3", ElementType::Float4E2M1Fn, &[5]),
            ("-8", ElementType::Int4, &[0xf8]),
            ("3", ElementType::UInt2, &[3]),
        ] {
            assert_eq!(fill(text, element, V3).unwrap(), bits, "{text} {element}");
        }
        refused("4", ElementType::UInt2, V3);
        refused("-9", ElementType::Int4, V3);
        refused("480", ElementType::Float8E4M3Fn, V3);
        refused("\"NaN\"", ElementType::Float4E2M1Fn, V3);
        refused("\"Infinity\"", ElementType::Float8E5M2FnUz, V3);
    }

    #[test]
    fn doubles_have_bits_and_characters_numbers() {
        let nan = fill("\"0x7ff8000000000001\"", ElementType::Double, V3);
        assert_eq!(nan.unwrap(), (0x7ff8 << 48 | 1u64).to_ne_bytes());
        refused("\"0x7ff800000000000\"", ElementType::Double, V3);
        assert_eq!(fill("65", ElementType::Char, NCZARR).unwrap(), [b'A']);
        refused("true", ElementType::Char, NCZARR);
    }
}
