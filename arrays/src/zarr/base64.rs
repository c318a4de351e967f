//! base64, in which metadata write bytes: RFC 4648, section 4.

use crate::alloc::{push, push_text};
use crate::error::Result;

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The bytes that a text stands for; `None` if it is not base64 with its padding.
pub(crate) fn decode(text: &str) -> Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    let groups = text.as_bytes().chunks(4);
    let last = groups.len();
    for (i, group) in groups.enumerate() {
        let padding = group.iter().rev().take_while(|&&c| c == b'=').count();
        if group.len() < 4 || padding > 2 || (padding > 0 && i + 1 < last) {
            return Ok(None);
        }
        let mut bits = 0u32;
        for &c in group.iter().take(4 - padding) {
            let Some(digit) = DIGITS.iter().position(|&digit| digit == c) else { return Ok(None) };
            bits = bits << 6 | digit as u32;
        }
        let [_, decoded @ ..] = (bits << (6 * padding)).to_be_bytes();
        for &byte in decoded.iter().take(3 - padding) {
            push(&mut bytes, byte)?;
        }
    }
    Ok(Some(bytes))
}

/// The text for bytes, with padding.
pub(crate) fn encode(bytes: &[u8]) -> Result<String> {
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits = (0..3).fold(0, |bits, i| bits << 8 | u32::from(group.get(i).copied().unwrap_or(0)));
        for i in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * i) & 63) as usize];
            let digit = if i > group.len() { '=' } else { char::from(digit) };
            push_text(&mut text, digit.encode_utf8(&mut [0; 4]))?;
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_rfc_hold() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(encode(bytes.as_bytes()).unwrap(), text);
            assert_eq!(decode(text).unwrap().as_deref(), Some(bytes.as_bytes()));
        }
        assert_eq!(decode("+/8=").unwrap(), Some(vec![0xfb, 0xff]));
        for text in ["Z", "Zg", "Zg=", "Zg==Zg==", "Z===", "====", "Zm9!", "Zm=v"] {
            assert_eq!(decode(text).unwrap(), None, "{text}");
        }
    }
}
