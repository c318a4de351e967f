//! The bytes of a chunk of texts: what numcodecs calls `vlen-utf8`.
//!
//! A number of texts (u32, little-endian), then for each its number of bytes (u32, little-endian) and its bytes.

use std::ffi::{CStr, c_char};
use std::ptr;

use crate::alloc;
use crate::error::{Error, ErrorKind, Result};

const NAME: &str = "vlen-utf8";

/// How long a number is.
const NUMBER: usize = 4;

fn corrupt(reason: &'static str) -> Error {
    ErrorKind::Corrupt { codec: NAME, reason }.into()
}

fn number(bytes: &[u8], at: usize) -> Result<usize> {
    let number =
        bytes.get(at..).and_then(<[u8]>::first_chunk::<NUMBER>).ok_or_else(|| corrupt("the data is truncated"))?;
    Ok(u32::from_le_bytes(*number) as usize)
}

/// The fewest bytes that a chunk of so many texts has.
pub(super) fn least(count: usize) -> usize {
    count.saturating_add(1).saturating_mul(NUMBER)
}

/// Finds the texts of a chunk, of which there are `count`, and ends each with a NUL where it is. What is returned is
/// where each begins; it is valid as long as the bytes are neither changed nor dropped.
pub(super) fn decode(bytes: &mut Vec<u8>, count: usize) -> Result<Vec<*const c_char>> {
    let len = bytes.len();
    if number(bytes, 0)? != count {
        return Err(corrupt("the number of strings is not the number of elements of a chunk"));
    }
    // A text takes at least the number before it, so the data bound what is allocated.
    if len < least(count) {
        return Err(corrupt("the data is truncated"));
    }
    let mut begins: Vec<*const c_char> = alloc::room(count)?;
    let mut at = NUMBER;
    for _ in 0..count {
        let (begin, text_len) = (at + NUMBER, number(bytes, at)?);
        let end = begin
            .checked_add(text_len)
            .filter(|end| *end <= len)
            .ok_or_else(|| corrupt("a string ends beyond the data"))?;
        let text = bytes.get(begin..end).ok_or(ErrorKind::Internal)?;
        std::str::from_utf8(text).map_err(|_| corrupt("a string is not UTF-8"))?;
        if text.contains(&0) {
            return Err(ErrorKind::Unsupported("a string contains a NUL, where C's strings end").into());
        }
        // The number has been read, so its place can be the end of the text before it.
        if let Some(end_of_last) = bytes.get_mut(at) {
            *end_of_last = 0;
        }
        begins.push(ptr::without_provenance(begin));
        at = end;
    }
    if at != len {
        return Err(corrupt("bytes follow the last string"));
    }
    bytes.try_reserve_exact(1).map_err(|_| ErrorKind::OutOfMemory)?;
    bytes.push(0);
    for begin in &mut begins {
        *begin = bytes.as_ptr().wrapping_add(begin.addr()).cast();
    }
    Ok(begins)
}

/// The bytes of a chunk of these texts.
pub(super) fn encode<'t>(texts: impl ExactSizeIterator<Item = &'t CStr>) -> Result<Vec<u8>> {
    const TOO_MUCH: ErrorKind =
        ErrorKind::Encode { codec: NAME, reason: "the chunk has more than 2^32 - 1 strings or bytes" };
    let number = |number: usize| u32::try_from(number).map(u32::to_le_bytes).map_err(|_| TOO_MUCH);
    let mut bytes = Vec::new();
    let mut push = |more: &[u8]| alloc::extend(&mut bytes, more);
    push(&number(texts.len())?)?;
    for text in texts {
        let text = text.to_str().map_err(|_| ErrorKind::Argument("a string is not UTF-8"))?;
        push(&number(text.len())?)?;
        push(text.as_bytes())?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXTS: [&CStr; 4] = [c"a", c"", c"\u{e4}\u{20ac}", c"end"];

    fn texts(mut bytes: Vec<u8>, count: usize) -> Result<Vec<String>> {
        let begins = decode(&mut bytes, count)?;
        // SAFETY: each is where a text begins in the bytes, which are there.
        #[allow(unsafe_code)]
        let text = |begin: *const c_char| unsafe { CStr::from_ptr(begin) }.to_str().unwrap().to_owned();
        Ok(begins.into_iter().map(text).collect())
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        let bytes = encode(TEXTS.into_iter()).unwrap();
        assert_eq!(bytes[..9], [4, 0, 0, 0, 1, 0, 0, 0, b'a']);
        assert_eq!(texts(bytes, 4).unwrap(), ["a", "", "\u{e4}\u{20ac}", "end"]);
        assert_eq!(texts(encode([].into_iter()).unwrap(), 0).unwrap(), [""; 0]);
    }

    #[test]
    fn what_is_corrupt_is_refused() {
        let bytes = encode(TEXTS.into_iter()).unwrap();
        for len in 0..bytes.len() {
            assert_eq!(texts(bytes[..len].to_vec(), 4).unwrap_err().status(), crate::status::EIO, "{len}");
        }
        let changed = |at: usize, byte: u8| {
            let mut bytes = bytes.clone();
            bytes[at] = byte;
            texts(bytes, 4).map_err(|error| error.kind())
        };
        let reason = |reason| Err(ErrorKind::Corrupt { codec: NAME, reason });
        assert_eq!(changed(0, 3), reason("the number of strings is not the number of elements of a chunk"));
        assert_eq!(changed(7, 0xff), reason("a string ends beyond the data"));
        assert_eq!(changed(8, 0xff), reason("a string is not UTF-8"));
        assert!(matches!(changed(8, 0), Err(ErrorKind::Unsupported(_))));
        let longer = [&bytes[..], b"x"].concat();
        assert_eq!(texts(longer, 4).map_err(|e| e.kind()), reason("bytes follow the last string"));
        // The number of texts is bounded by the data before anything is allocated for them.
        assert!(texts(u32::MAX.to_le_bytes().to_vec(), u32::MAX as usize).is_err());
    }

    #[test]
    fn texts_that_are_not_utf_8_are_not_encoded() {
        assert_eq!(encode([c"\xff"].into_iter()).unwrap_err().status(), crate::status::EINVAL);
    }
}
