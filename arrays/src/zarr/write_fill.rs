//! Fill values: the bytes of an element in native order, as the metadata write them.

use super::base64;
use super::fill::Dialect;
use super::format::Format;
use crate::alloc;
use crate::element::{ElementType, Kind, native};
use crate::error::{ErrorKind, Result};
use crate::float_format::FloatFormat;
use crate::json::Value;

/// The value for a fill value's bytes, which are one element. None are `null` in v2; v3 needs a value, so it is that of
/// zeros.
pub(super) fn write(fill: Option<&[u8]>, element: ElementType, dialect: Dialect) -> Result<Value> {
    let format = dialect.format;
    const WRONG: ErrorKind = ErrorKind::Argument("the fill value must be exactly one element");
    let zeros;
    let bytes = match fill {
        Some(bytes) => bytes,
        None if format == Format::V2 => return Ok(Value::Null),
        None => {
            zeros = alloc::filled(element.size(), 0)?;
            &zeros
        }
    };
    if element != ElementType::String && bytes.len() != element.size() {
        return Err(WRONG.into());
    }
    match element.kind() {
        Kind::Bool => Ok(Value::Bool(bytes != [0])),
        Kind::Signed(_) | Kind::Unsigned(_) | Kind::Time => {
            Value::number(element.to_integer(bytes).ok_or(ErrorKind::Internal)?)
        }
        Kind::Float(of) => float(bytes, of, format),
        Kind::Complex(of) => Value::list(bytes.chunks_exact(element.word_size()).map(|part| float(part, of, format))),
        // netCDF-C takes what it finds for the character.
        Kind::Char if format == Format::V2 => match bytes {
            [character @ 1..=0x7f] => Value::text_of(char::from(*character)),
            _ => Value::text(""),
        },
        // Zeros behind a text are not its own.
        Kind::Char | Kind::Text => {
            let len = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
            let text = bytes.get(..len).unwrap_or_default();
            if dialect.is_nczarr && format == Format::V2 {
                return Value::text(std::str::from_utf8(text).map_err(|_| WRONG)?);
            }
            Ok(Value::Text(base64::encode(text)?.into()))
        }
        Kind::Opaque => Ok(Value::Text(base64::encode(bytes)?.into())),
        Kind::Unicode => {
            let mut text = String::new();
            for word in bytes.chunks_exact(4) {
                let character = match u32::from_ne_bytes(array(word)?) {
                    0 => continue,
                    word => char::from_u32(word).ok_or(WRONG)?,
                };
                alloc::push_text(&mut text, character.encode_utf8(&mut [0; 4]))?;
            }
            Ok(Value::Text(text.into()))
        }
        Kind::String => {
            let text = bytes.strip_suffix(&[0]).unwrap_or(bytes);
            Value::text(std::str::from_utf8(text).map_err(|_| WRONG)?)
        }
    }
}

/// The bytes as an array of as many.
fn array<const N: usize>(bytes: &[u8]) -> Result<[u8; N]> {
    bytes.try_into().map_err(|_| ErrorKind::Internal.into())
}

/// A floating-point number. v3 has the bits of a NaN that is not the usual one.
fn float(bytes: &[u8], of: FloatFormat, format: Format) -> Result<Value> {
    let bits = native(bytes).ok_or(ErrorKind::Internal)?;
    let value = of.to_f64(bits);
    if value.is_nan() {
        if format == Format::V3 && of.nan() != Some(bits) {
            return Value::text_of(format_args!("0x{bits:0digits$x}", digits = 2 * bytes.len()));
        }
        return Value::text("NaN");
    }
    if value.is_infinite() {
        return Value::text(if value.is_sign_negative() { "-Infinity" } else { "Infinity" });
    }
    // This is the shortest text that reads as the same double, with a point or an exponent.
    Value::number(format_args!("{value:?}"))
}

#[cfg(test)]
mod tests {
    use super::super::fill;
    use super::*;
    use crate::element::TimeUnit;
    use crate::json::{At, compact, read};

    const V2: Dialect = Dialect { format: Format::V2, is_nczarr: false };
    const V3: Dialect = Dialect { format: Format::V3, is_nczarr: false };

    fn is_written_as_it_was(text: &str, element: ElementType, dialect: Dialect) {
        let value = read(text.as_bytes()).unwrap();
        let bytes = fill::read(At::root(&value), element, dialect).unwrap();
        assert_eq!(compact(&write(bytes.as_deref(), element, dialect).unwrap()).unwrap(), text);
    }

    #[test]
    fn what_is_written_is_read_as_the_same_bytes() {
        let time = ElementType::Time { unit: TimeUnit::Day, count: 1, is_delta: false };
        for (element, text, format) in [
            (ElementType::Bool, "true", Format::V3),
            (ElementType::Byte, "-128", Format::V2),
            (ElementType::UInt64, "18446744073709551615", Format::V3),
            (time, "-9223372036854775808", Format::V2),
            (ElementType::Float, "0.10000000149011612", Format::V2),
            (ElementType::Float, "\"NaN\"", Format::V3),
            (ElementType::Float, "\"0xffc00001\"", Format::V3),
            (ElementType::Half, "\"0x7e01\"", Format::V3),
            (ElementType::Half, "65504.0", Format::V2),
            (ElementType::BFloat16, "\"0x7fc1\"", Format::V3),
            (ElementType::BFloat16, "-1.5", Format::V2),
            (ElementType::Float8E4M3, "\"NaN\"", Format::V3),
            (ElementType::Int2, "-2", Format::V3),
            (ElementType::Double, "9.969209968386869e36", Format::V2),
            (ElementType::Double, "\"-Infinity\"", Format::V2),
            (ElementType::Double, "\"Infinity\"", Format::V3),
            (ElementType::Double, "-0.0", Format::V3),
            (ElementType::Double, "5e-324", Format::V3),
            (ElementType::Complex { bytes: 16 }, "[1.0,\"NaN\"]", Format::V3),
            (ElementType::Text { len: 5 }, "\"YWI=\"", Format::V2),
            (ElementType::Opaque { len: 2 }, "\"AAA=\"", Format::V3),
            (ElementType::Unicode { len: 3 }, "\"x\u{e4}\"", Format::V3),
            (ElementType::String, "\"hi\"", Format::V2),
            (ElementType::Char, "\"x\"", Format::V2),
            (ElementType::Char, "\"\"", Format::V2),
        ] {
            is_written_as_it_was(text, element, Dialect { format, is_nczarr: false });
        }
    }

    #[test]
    fn texts_of_netcdf_are_written_as_they_are() {
        let nczarr = Dialect { format: Format::V2, is_nczarr: true };
        is_written_as_it_was("\"abcd\"", ElementType::Text { len: 5 }, nczarr);
    }

    #[test]
    fn a_character_is_bytes_in_v3() {
        let write = |character: u8| compact(&write(Some(&[character]), ElementType::Char, V3).unwrap()).unwrap();
        assert_eq!((&*write(b'x'), &*write(0)), ("\"eA==\"", "\"\""));
    }

    #[test]
    fn without_a_fill_value_there_is_null_or_zero() {
        assert_eq!(write(None, ElementType::Int, V2).unwrap(), Value::Null);
        for (element, text) in [
            (ElementType::Bool, "false"),
            (ElementType::Int, "0"),
            (ElementType::Double, "0.0"),
            (ElementType::Complex { bytes: 8 }, "[0.0,0.0]"),
            (ElementType::Text { len: 4 }, "\"\""),
            (ElementType::String, "\"\""),
        ] {
            assert_eq!(compact(&write(None, element, V3).unwrap()).unwrap(), text);
        }
        assert!(write(Some(&[0; 3]), ElementType::Int, V2).is_err());
    }
}
