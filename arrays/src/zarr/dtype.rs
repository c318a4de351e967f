//! The types of elements as Zarr v2 spells them: numpy's, such as `<f4`.
//!
//! The source is numpy's array interface: a byte order (`<`, `>`, or `|` for none), a kind, the bytes in an element,
//! and for times a unit in brackets. A list of fields is a structure.

use crate::element::{ElementType, LARGEST, TYPES, TimeUnit};
use crate::error::{Error, ErrorKind, Result};
use crate::json::{At, Value};
use crate::type_name::time_unit;
use crate::variable::Endian;

/// The type of a `dtype`. `has_strings` says whether the filters make variable-length strings of objects (`|O`).
///
/// `>S1` is netCDF-C's spelling of a character; `|S1` is a text of one byte.
pub(super) fn read(at: At<'_>, has_strings: bool) -> Result<(ElementType, Endian)> {
    match at.value() {
        Value::Text(text) if text == "|O" && has_strings => Ok((ElementType::String, Endian::Native)),
        Value::Text(text) => parse(text).ok_or_else(|| unknown(&at, text)),
        Value::List(_) => Ok((ElementType::Opaque { len: structure(at)? }, Endian::Native)),
        _ => Err(at.malformed("expected a string or a list of fields")),
    }
}

fn unknown(at: &At<'_>, dtype: &str) -> Error {
    at.error(ErrorKind::ElementType.in_object(dtype))
}

/// The type that is spelt like this; `None` if there is none.
pub(super) fn parse(text: &str) -> Option<(ElementType, Endian)> {
    // A name alone, as TensorStore writes it where numpy has no spelling, is about little-endian words.
    if let Some(row) = TYPES.iter().find(|row| row.v2 == text && row.v2 == row.name) {
        return Some((row.element, if row.element.word_size() > 1 { Endian::Little } else { Endian::Native }));
    }
    let endian = match text.as_bytes().first()? {
        b'<' => Some(Endian::Little),
        b'>' => Some(Endian::Big),
        b'=' => Some(Endian::Native),
        b'|' => None,
        _ => return None,
    };
    let mut rest = text.get(1..)?.chars();
    let kind = rest.next()?;
    let rest = rest.as_str();
    let (digits, unit) = rest.split_at(rest.find('[').unwrap_or(rest.len()));
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let size: usize = digits.parse().ok().filter(|&size| size > 0)?;
    let has_order = matches!(endian, Some(Endian::Big | Endian::Little));
    let element = match (kind, size) {
        ('M' | 'm', 8) => {
            let (count, unit) = time_unit(unit)?;
            ElementType::Time { unit, count, is_delta: kind == 'm' }
        }
        ('S', 1) if has_order => ElementType::Char,
        ('S', len) => ElementType::Text { len },
        ('U', len) => ElementType::Unicode { len },
        ('V', len) => ElementType::Opaque { len },
        _ => TYPES.iter().find(|row| row.v2 == text.get(1..).unwrap_or_default())?.element,
    };
    if element.size() > LARGEST || (!unit.is_empty() && !matches!(element, ElementType::Time { .. })) {
        return None;
    }
    // What has more than one byte in a word has a byte order.
    let endian = if element.word_size() > 1 { endian? } else { Endian::Native };
    Some((element, endian))
}

/// The bytes of a structure. Its fields are taken as they are stored, so they must be stored as little-endian.
fn structure(at: At<'_>) -> Result<usize> {
    let mut size = 0usize;
    for field in at.items()? {
        let mut parts = field.items()?;
        let (Some(name), Some(dtype)) = (parts.next(), parts.next()) else {
            return Err(field.malformed("expected a field with a name and a dtype"));
        };
        name.text()?;
        let (element, endian) = read(dtype, false)?;
        if endian == Endian::Big {
            return Err(unknown(&dtype, "big-endian fields of structures"));
        }
        let mut bytes = element.size();
        if let Some(shape) = parts.next() {
            for len in shape.usizes()? {
                bytes = bytes.checked_mul(len).ok_or_else(|| shape.malformed("the field is too large"))?;
            }
        }
        size = size.checked_add(bytes).ok_or_else(|| field.malformed("the structure is too large"))?;
    }
    if size == 0 || size > LARGEST {
        return Err(at.malformed("a structure must have from 1 byte to 16 MiB"));
    }
    Ok(size)
}

/// The `dtype` of a type whose words are stored in this order.
pub(super) fn write(element: ElementType, endian: Endian) -> Result<Value> {
    let is_big = endian.is_foreign() != cfg!(target_endian = "big");
    let order = match element {
        ElementType::Char => '>',
        _ if element.word_size() <= 1 => '|',
        _ if is_big => '>',
        _ => '<',
    };
    match element {
        ElementType::Time { unit, count, is_delta } => {
            let kind = if is_delta { 'm' } else { 'M' };
            match (unit, count) {
                (TimeUnit::Generic, _) => Value::text_of(format_args!("{order}{kind}8")),
                (unit, 1) => Value::text_of(format_args!("{order}{kind}8[{}]", unit.as_str())),
                (unit, count) => Value::text_of(format_args!("{order}{kind}8[{count}{}]", unit.as_str())),
            }
        }
        ElementType::Unicode { len } => Value::text_of(format_args!("{order}U{len}")),
        ElementType::Text { len } => Value::text_of(format_args!("{order}S{len}")),
        ElementType::Opaque { len } => Value::text_of(format_args!("{order}V{len}")),
        _ => {
            let row = element.row().ok_or(ErrorKind::ElementType)?;
            if row.v2 != row.name {
                return Value::text_of(format_args!("{order}{}", row.v2));
            }
            if is_big && element.word_size() > 1 {
                return Err(ErrorKind::Unsupported("big-endian elements of this type in Zarr v2").in_object(row.name));
            }
            Value::text(row.v2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{compact, read as json};

    fn of(text: &str) -> Result<(ElementType, Endian)> {
        read(At::root(&json(text.as_bytes())?), false)
    }

    #[test]
    fn what_is_written_is_read() {
        for text in [
            "|b1", "|i1", "|u1", "<i2", ">i4", "<i8", "<u2", ">u4", "<u8", "<f2", ">f4", "<f8", "<c8", ">c16",
            "<M8[ns]", ">m8[10s]", "<M8", "|S5", "|S1", ">S1", "<U4", ">U1", "|V8",
        ] {
            let (element, endian) = parse(text).unwrap();
            assert_eq!(compact(&write(element, endian).unwrap()).unwrap(), format!("\"{text}\""));
        }
        assert_eq!(parse("bfloat16"), Some((ElementType::BFloat16, Endian::Little)));
        assert_eq!(parse("int4"), Some((ElementType::Int4, Endian::Native)));
        for (element, name) in [(ElementType::BFloat16, "bfloat16"), (ElementType::Float8E5M2, "float8_e5m2")] {
            assert_eq!(compact(&write(element, Endian::Little).unwrap()).unwrap(), format!("\"{name}\""));
        }
        assert_eq!(write(ElementType::BFloat16, Endian::Big).unwrap_err().about(), "bfloat16");
        assert_eq!(parse("=i4"), Some((ElementType::Int, Endian::Native)));
        assert_eq!(parse("|V16777216"), Some((ElementType::Opaque { len: LARGEST }, Endian::Native)));
        assert_eq!(parse("|V16777217"), None);
        assert_eq!(parse("<i1"), Some((ElementType::Byte, Endian::Native)));
        assert_eq!(parse(">S1"), Some((ElementType::Char, Endian::Native)));
        let nanoseconds = ElementType::Time { unit: TimeUnit::Nanosecond, count: 1, is_delta: false };
        assert_eq!(parse(">M8[ns]"), Some((nanoseconds, Endian::Big)));
    }

    #[test]
    fn others_are_refused_by_name() {
        for text in [
            "<",
            "<f",
            "f4",
            "|f4",
            "<i3",
            "<f16",
            "|O",
            "<M8[x]",
            "<M8[0s]",
            "<M8[s",
            "<M8s",
            "<i4[s]",
            "|S0",
            "<i+4",
            "<U18446744073709551615",
            "|S99999999999999999999",
            "\u{e4}f4",
            "<\u{e4}4",
            "|J0",
            "<bfloat16",
            "int32",
        ] {
            let error = of(&format!("\"{text}\"")).unwrap_err();
            assert_eq!((error.kind(), error.about()), (ErrorKind::ElementType, &*format!("$: {text}")));
        }
    }

    #[test]
    fn a_structure_is_its_bytes() {
        let structure = r#"[["a","<i4"],["b","<f8",[2,3]],["c",[["d","|u1"]]]]"#;
        assert_eq!(of(structure).unwrap(), (ElementType::Opaque { len: 53 }, Endian::Native));
        assert_eq!(of(r#"[["a",">i1"]]"#).unwrap().0, ElementType::Opaque { len: 1 });
        let largest = ElementType::Opaque { len: LARGEST };
        assert_eq!(of(r#"[["a","|u1",[16777215]],["b","|u1"]]"#).unwrap().0, largest);
        assert!(of(r#"[["a","|u1",[16777216]],["b","|u1"]]"#).is_err());
        let error = of(r#"[["a","<i4"],["b",">f8"]]"#).unwrap_err();
        assert_eq!(error.about(), "$[1][1]: big-endian fields of structures");
        for text in ["[]", "[[]]", "[[\"a\"]]", "3", r#"[["a","|u1",[18446744073709551615,2]]]"#, r#"[["a","|O"]]"#] {
            assert!(of(text).is_err(), "{text}");
        }
    }
}
