//! Elements as numpy's files: a header that says what they are, and their bytes.
//!
//! The format is NEP 1's, version 1.0: `\x93NUMPY`, the version, the length of the header in 2 bytes, and the header,
//! which is a dictionary of Python's and filled up with spaces so that the elements begin at a multiple of 64 bytes.

use std::io::Write;

use nczchunk::{ElementType, TimeUnit};

use super::Dumped;
use crate::failure::{Failure, Result};
use crate::output::Output;
use crate::pieces::Values;

/// Writes the file.
pub(super) fn write(dumped: &Dumped<'_>, out: &mut Output) -> Result<()> {
    let shape = dumped.selection.shape();
    if dumped.element == ElementType::String {
        // numpy's texts have one length, which is that of the longest.
        let longest = longest(dumped)?;
        out.write_all(&header(&descr(ElementType::Unicode { len: longest })?, &shape))?;
        return write_texts(dumped, longest, out);
    }
    out.write_all(&header(&descr(dumped.element)?, &shape))?;
    dumped.each_bytes(|bytes| Ok(out.write_all(bytes)?))
}

/// How numpy calls the type.
fn descr(element: ElementType) -> Result<String> {
    let order = if element.word_size() < 2 { '|' } else { ['<', '>'][usize::from(cfg!(target_endian = "big"))] };
    let kind = match element {
        ElementType::Byte | ElementType::Short | ElementType::Int | ElementType::Int64 => "i",
        ElementType::UByte | ElementType::UShort | ElementType::UInt | ElementType::UInt64 => "u",
        ElementType::Half | ElementType::Float | ElementType::Double => "f",
        ElementType::Complex { .. } => "c",
        ElementType::Bool => "b",
        ElementType::Char => return Ok("|S1".to_owned()),
        ElementType::Text { len } => return Ok(format!("|S{len}")),
        ElementType::Opaque { len } => return Ok(format!("|V{len}")),
        ElementType::Unicode { len } => return Ok(format!("{order}U{len}")),
        ElementType::Time { unit, count, is_delta } => {
            let kind = if is_delta { 'm' } else { 'M' };
            let unit = match (unit, count) {
                (TimeUnit::Generic, _) => String::new(),
                (_, 1) => format!("[{}]", unit.as_str()),
                _ => format!("[{count}{}]", unit.as_str()),
            };
            return Ok(format!("{order}{kind}8{unit}"));
        }
        ElementType::String => return Err(Failure::failed("numpy has no type for variable-length strings")),
        // numpy itself does not have it: these are its bytes.
        other => return Ok(format!("|V{}", other.size())),
    };
    Ok(format!("{order}{kind}{}", element.size()))
}

/// What stands before the elements.
fn header(descr: &str, shape: &[usize]) -> Vec<u8> {
    const BEFORE: usize = 10;
    let lens: String = shape.iter().map(|len| format!("{len}, ")).collect();
    let lens = if shape.len() == 1 { lens.trim_end() } else { lens.trim_end_matches(", ") };
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({lens}), }}");
    // A newline ends it.
    let len = (BEFORE + text.len() + 1).next_multiple_of(64) - BEFORE;
    text.extend(std::iter::repeat_n(' ', len - 1 - text.len()));
    text.push('\n');
    // A header of up to 1024 dimensions, each with 20 digits and 2 characters between them, fits 65535 bytes.
    let len = u16::try_from(text.len()).unwrap_or(u16::MAX);
    [&b"\x93NUMPY\x01\x00"[..], &len.to_le_bytes(), text.as_bytes()].concat()
}

/// How many characters the longest text has; at least one, as numpy writes it.
fn longest(dumped: &Dumped<'_>) -> Result<usize> {
    let mut longest = 1;
    dumped.each(|_, values| {
        if let Values::Texts(texts) = values {
            longest = texts.iter().map(|text| text.chars().count()).fold(longest, usize::max);
        }
        Ok(())
    })?;
    Ok(longest)
}

/// Writes texts as so many characters of 4 bytes each.
fn write_texts(dumped: &Dumped<'_>, len: usize, out: &mut Output) -> Result<()> {
    dumped.each(|_, values| {
        let Values::Texts(texts) = values else { return Ok(()) };
        for text in texts {
            let characters = text.chars().map(u32::from).chain(std::iter::repeat(0)).take(len);
            let bytes: Vec<u8> = characters.flat_map(u32::to_ne_bytes).collect();
            out.write_all(&bytes)?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_what_numpy_writes() {
        for (shape, text) in [(&[][..], "()"), (&[3], "(3,)"), (&[2, 3], "(2, 3)")] {
            let header = header("<f4", shape);
            assert_eq!(header.len() % 64, 0);
            let expected = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {text}, }}");
            assert_eq!(&header[..10], b"\x93NUMPY\x01\x00\x76\x00");
            assert_eq!(String::from_utf8_lossy(&header[10..]).trim_end(), expected);
            assert_eq!(header.last(), Some(&b'\n'));
        }
    }

    #[test]
    fn types_are_what_numpy_calls_them() {
        let time = |unit, count, is_delta| ElementType::Time { unit, count, is_delta };
        for (element, expected) in [
            (ElementType::Byte, "|i1"),
            (ElementType::Bool, "|b1"),
            (ElementType::Char, "|S1"),
            (ElementType::UShort, "<u2"),
            (ElementType::Half, "<f2"),
            (ElementType::Complex { bytes: 16 }, "<c16"),
            (ElementType::Unicode { len: 7 }, "<U7"),
            (ElementType::Opaque { len: 3 }, "|V3"),
            (time(TimeUnit::Nanosecond, 1, false), "<M8[ns]"),
            (time(TimeUnit::Minute, 10, true), "<m8[10m]"),
            (time(TimeUnit::Generic, 1, true), "<m8"),
        ] {
            assert_eq!(descr(element).unwrap(), expected);
        }
    }
}
