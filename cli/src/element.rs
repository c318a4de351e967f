//! Elements of every type: as text, and as numbers.

use std::fmt::Write;

use nczchunk::{ElementType, Kind, native_word};

use crate::screen;
use crate::time;

/// What a number is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    Integer(i128),
    Float(f64),
}

impl Number {
    /// The number as a floating-point one.
    pub fn as_f64(self) -> f64 {
        match self {
            Number::Integer(integer) => integer as f64,
            Number::Float(float) => float,
        }
    }
}

/// The first bytes, of which there are enough.
fn first<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut all = [0; N];
    all.copy_from_slice(&bytes[..N]);
    all
}

/// An element, which has the bytes of its type in native order, as a number; `None` if it is none.
pub fn number(element: ElementType, bytes: &[u8]) -> Option<Number> {
    match element.to_integer(bytes) {
        Some(integer) if matches!(element, ElementType::Time { .. }) && integer == time::NOT_A_TIME.into() => {
            Some(Number::Float(f64::NAN))
        }
        Some(integer) => Some(Number::Integer(integer)),
        None => element.to_f64(bytes).map(Number::Float),
    }
}

/// The bytes of an element that is this number, or the nearest one to it that the type has; `None` if there is none.
pub fn encode(element: ElementType, number: Number) -> Option<Vec<u8>> {
    let integer = match number {
        Number::Integer(integer) => Some(integer),
        Number::Float(float) if float.fract() == 0.0 && float.abs() < 1e20 => Some(float as i128),
        Number::Float(_) => None,
    };
    let bits = match (element, element.kind()) {
        (ElementType::Half | ElementType::Float | ElementType::Double, Kind::Float(format)) => {
            let value = number.as_f64();
            format.bits_of(value).or_else(|| format.bits_of(f64::INFINITY.copysign(value)))?
        }
        (_, Kind::Time) => i64::try_from(integer?).ok()? as u64,
        (_, Kind::Signed(8..) | Kind::Unsigned(8..)) => {
            integer.filter(|integer| element.integers().is_some_and(|all| all.contains(integer)))? as u64
        }
        _ => return None,
    };
    Some(native_word(bits, element.size())[..element.size()].to_vec())
}

/// Adds an element as text: numbers with as few digits as tell them from others, texts as they are.
pub fn push(text: &mut String, element: ElementType, bytes: &[u8]) {
    // Writing to a text does not fail.
    let _ = match element {
        ElementType::Bool => write!(text, "{}", bytes[0] != 0),
        ElementType::Half => return push_half(text, u16::from_ne_bytes(first(bytes))),
        ElementType::Float => return push_float(text, &format!("{:?}", f32::from_ne_bytes(first(bytes)))),
        ElementType::Double => return push_float(text, &format!("{:?}", f64::from_ne_bytes(first(bytes)))),
        ElementType::Complex { bytes: size } => return push_complex(text, size, bytes),
        ElementType::Time { unit, count, is_delta } => match i64::from_ne_bytes(first(bytes)) {
            time::NOT_A_TIME => write!(text, "NaT"),
            value if is_delta => write!(text, "{}", i128::from(value) * i128::from(count)),
            value => return time::push(text, value, unit, count),
        },
        ElementType::Char | ElementType::Text { .. } => {
            write!(text, "{}", String::from_utf8_lossy(without_padding(bytes)))
        }
        ElementType::Unicode { .. } => return push_unicode(text, bytes),
        ElementType::Opaque { .. } => {
            text.push_str("0x");
            bytes.iter().try_for_each(|byte| write!(text, "{byte:02x}"))
        }
        _ => match number(element, bytes) {
            Some(Number::Integer(integer)) => write!(text, "{integer}"),
            Some(Number::Float(float)) => return push_float(text, &format!("{float:?}")),
            None => Ok(()),
        },
    };
}

/// The bytes of a text without the zeros at its end.
pub fn without_padding(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    &bytes[..end]
}

/// Whether elements are texts, which are quoted where values are separated by commas.
pub fn is_text(element: ElementType) -> bool {
    matches!(element, ElementType::Char | ElementType::Text { .. } | ElementType::Unicode { .. } | ElementType::String)
}

/// Adds a text in quotes, as C writes it.
pub fn push_quoted(text: &mut String, value: &str) {
    text.push('"');
    for character in value.chars() {
        match character {
            '"' | '\\' => text.extend(['\\', character]),
            other => screen::push_printable(text, other),
        }
    }
    text.push('"');
}

/// Adds a float that Rust has written with the fewest digits that tell it; a whole number has no `.0`.
fn push_float(text: &mut String, shown: &str) {
    text.push_str(shown.strip_suffix(".0").unwrap_or(shown));
}

fn push_complex(text: &mut String, size: usize, bytes: &[u8]) {
    let part = if size == 8 { ElementType::Float } else { ElementType::Double };
    let (real, imaginary) = bytes.split_at(size / 2);
    push(text, part, real);
    let begin = text.len();
    push(text, part, imaginary);
    if !text[begin..].starts_with('-') {
        text.insert(begin, '+');
    }
    text.push('j');
}

fn push_unicode(text: &mut String, bytes: &[u8]) {
    let characters: Vec<u32> = bytes.chunks_exact(4).map(|word| u32::from_ne_bytes(first(word))).collect();
    let end = characters.iter().rposition(|character| *character != 0).map_or(0, |last| last + 1);
    text.extend(characters[..end].iter().map(|&code| char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)));
}

/// The value of a floating-point number of 2 bytes.
fn half(bits: u16) -> f64 {
    ElementType::Half.to_f64(&bits.to_ne_bytes()).unwrap_or(f64::NAN)
}

/// Adds the number with the fewest digits that is nearer to it than to its neighbours.
fn push_half(text: &mut String, bits: u16) {
    let value = half(bits);
    let magnitude = bits & 0x7fff;
    if !value.is_finite() || magnitude == 0 {
        return push_float(text, &format!("{value:?}"));
    }
    // Beyond the largest one the distance goes on as before it.
    let next = if magnitude == 0x7bff { 65_536.0 } else { half(magnitude + 1) };
    let (low, high) = ((half(magnitude - 1) + value.abs()) / 2.0, (next + value.abs()) / 2.0);
    let nearest = (0..17).find_map(|digits| {
        let rounded: f64 = format!("{value:.digits$e}").parse().ok()?;
        (low < rounded.abs() && rounded.abs() < high).then_some(rounded)
    });
    push_float(text, &format!("{:?}", nearest.unwrap_or(value)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use nczchunk::TimeUnit;

    fn shown(element: ElementType, bytes: &[u8]) -> String {
        let mut text = String::new();
        push(&mut text, element, bytes);
        text
    }

    #[test]
    fn floats_have_the_fewest_digits() {
        for (value, text) in [(0.1f32, "0.1"), (1.0, "1"), (-1e34, "-1e34"), (16_777_216.0, "16777216"), (1e-7, "1e-7")]
        {
            assert_eq!(shown(ElementType::Float, &value.to_ne_bytes()), text);
        }
        assert_eq!(shown(ElementType::Double, &(0.1f64 + 0.2).to_ne_bytes()), "0.30000000000000004");
        assert_eq!(shown(ElementType::Double, &f64::NAN.to_ne_bytes()), "NaN");
        assert_eq!(shown(ElementType::Double, &f64::NEG_INFINITY.to_ne_bytes()), "-inf");
        for (bits, text) in
            [(0x2e66u16, "0.1"), (0x3c00, "1"), (0xc000, "-2"), (0x7bff, "65500"), (1, "6e-8"), (0, "0")]
        {
            assert_eq!(shown(ElementType::Half, &bits.to_ne_bytes()), text);
        }
        assert_eq!(shown(ElementType::Half, &0x7c00u16.to_ne_bytes()), "inf");
    }

    #[test]
    fn every_half_is_read_back() {
        for bits in 1..0x7c00u16 {
            let text = shown(ElementType::Half, &bits.to_ne_bytes());
            let value: f64 = text.parse().unwrap();
            let distance = |bits: u16| (half(bits) - value).abs();
            assert!(distance(bits) < distance(bits - 1) && distance(bits) < distance(bits + 1), "{bits:#x} {text}");
        }
    }

    #[test]
    fn all_types_are_shown() {
        let complex: Vec<u8> = [1.5f32, -2.0].iter().flat_map(|part| part.to_ne_bytes()).collect();
        let unicode: Vec<u8> = [0xe4u32, 0x20ac, 0].iter().flat_map(|word| word.to_ne_bytes()).collect();
        let day = ElementType::Time { unit: TimeUnit::Day, count: 1, is_delta: false };
        let span = ElementType::Time { unit: TimeUnit::Second, count: 10, is_delta: true };
        for (element, bytes, text) in [
            (ElementType::Byte, &[255][..], "-1"),
            (ElementType::UByte, &[255], "255"),
            (ElementType::Bool, &[1], "true"),
            (ElementType::Char, b"x", "x"),
            (ElementType::Short, &(-300i16).to_ne_bytes(), "-300"),
            (ElementType::UShort, &65_535u16.to_ne_bytes(), "65535"),
            (ElementType::Int, &i32::MIN.to_ne_bytes(), "-2147483648"),
            (ElementType::UInt, &u32::MAX.to_ne_bytes(), "4294967295"),
            (ElementType::Int64, &i64::MIN.to_ne_bytes(), "-9223372036854775808"),
            (ElementType::UInt64, &u64::MAX.to_ne_bytes(), "18446744073709551615"),
            (ElementType::Complex { bytes: 8 }, &complex, "1.5-2j"),
            (ElementType::Text { len: 4 }, b"ab\0\0", "ab"),
            (ElementType::Unicode { len: 3 }, &unicode, "\u{e4}\u{20ac}"),
            (ElementType::Opaque { len: 2 }, &[1, 0xff], "0x01ff"),
            (day, &18_321i64.to_ne_bytes(), "2020-02-29"),
            (day, &i64::MIN.to_ne_bytes(), "NaT"),
            (span, &3i64.to_ne_bytes(), "30"),
        ] {
            assert_eq!(shown(element, bytes), text);
        }
    }

    #[test]
    fn numbers_are_encoded() {
        let fill = encode(ElementType::Float, Number::Float(-1e34));
        assert_eq!(fill, Some((-1e34f32).to_ne_bytes().to_vec()));
        assert_eq!(encode(ElementType::Short, Number::Float(-9999.0)), Some((-9999i16).to_ne_bytes().to_vec()));
        assert_eq!(encode(ElementType::UByte, Number::Integer(256)), None);
        assert_eq!(encode(ElementType::Int, Number::Float(0.5)), None);
    }

    #[test]
    fn numbers_are_encoded_in_2_bytes() {
        let encoded = |value: f64| {
            let bytes = encode(ElementType::Half, Number::Float(value)).unwrap();
            u16::from_ne_bytes(first(&bytes))
        };
        for bits in (0..=0xffffu16).filter(|bits| !half(*bits).is_nan()) {
            assert_eq!(encoded(half(bits)), bits);
        }
        // Between two numbers the nearer one is taken, and in the middle the even one.
        for bits in 0..0x7bffu16 {
            let (low, high) = (half(bits), half(bits + 1));
            let step = high - low;
            let middle = low + step / 2.0;
            assert_eq!(encoded(middle), bits + bits % 2, "{bits:#x}");
            assert_eq!((encoded(middle - step / 8.0), encoded(-middle - step / 8.0)), (bits, 0x8000 | (bits + 1)));
        }
        assert_eq!((encoded(65_519.0), encoded(65_520.0), encoded(-1e300)), (0x7bff, 0x7c00, 0xfc00));
        assert!(half(encoded(f64::NAN)).is_nan());
        assert_eq!(encode(ElementType::Half, Number::Integer(-2)), Some(0xc000u16.to_ne_bytes().to_vec()));
    }

    #[test]
    fn quotes_are_escaped() {
        let mut text = String::new();
        push_quoted(&mut text, "a\"b\\\n\u{1}");
        assert_eq!(text, r#""a\"b\\\n\u0001""#);
    }
}
