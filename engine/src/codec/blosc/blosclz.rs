//! blosclz, the codec of blosc's own, to decode: a descendant of FastLZ. The source of the format is blosclz.c of
//! c-blosc.
//!
//! ```text
//!   c < 32     c + 1 bytes follow that are copied
//!   c >= 32    a match of c / 32 + 2 bytes; if c / 32 is 7, bytes follow that are added to it, up to one that is not
//!              255. Then a byte d: the match is (c % 32) * 256 + d + 1 bytes back; if that makes 8192, two bytes
//!              follow, the high one first, that are added
//! ```
//!
//! Of the first byte only the lowest 5 bits count, so that the data begin with bytes to be copied.

use super::header::corrupt;
use crate::codec::matches::{literals, repeat};
use crate::error::{Error, Result};

/// The distance from which on two bytes more follow.
const FAR: usize = 8192;

/// Decodes to just the length of `to`.
pub(super) fn decode(from: &[u8], to: &mut [u8]) -> Result<()> {
    let mut input = Input(from);
    let mut at = 0;
    let mut code = usize::from(input.byte()? & 31);
    loop {
        if code < 32 {
            let len = code + 1;
            if !literals(to, at, input.0, len) {
                return Err(if len > input.0.len() { ends_early() } else { beyond() });
            }
            at += len;
            input.bytes(len)?;
        } else {
            let mut len = (code >> 5) + 2;
            if code >> 5 == 7 {
                loop {
                    let more = usize::from(input.byte()?);
                    len = len.checked_add(more).ok_or_else(beyond)?;
                    if more < 255 {
                        break;
                    }
                }
            }
            let mut distance = ((code & 31) << 8) + usize::from(input.byte()?) + 1;
            if distance == FAR {
                distance += usize::from(input.byte()?) << 8;
                distance += usize::from(input.byte()?);
            }
            if !repeat(to, at, distance, len) {
                return Err(if len > to.len() - at { beyond() } else { corrupt("a match begins before the data") });
            }
            at += len;
        }
        match input.0.split_first() {
            Some((next, rest)) => (code, input.0) = (usize::from(*next), rest),
            None => break,
        }
    }
    if at == to.len() { Ok(()) } else { Err(corrupt("a block decodes to fewer bytes than expected")) }
}

#[cold]
fn ends_early() -> Error {
    corrupt("a block ends early")
}

#[cold]
fn beyond() -> Error {
    corrupt("a block decodes to more bytes than expected")
}

/// What has not been read yet.
struct Input<'i>(&'i [u8]);

impl<'i> Input<'i> {
    fn byte(&mut self) -> Result<u8> {
        self.bytes(1).map(|bytes| bytes[0])
    }

    fn bytes(&mut self, len: usize) -> Result<&'i [u8]> {
        let (bytes, rest) = self.0.split_at_checked(len).ok_or_else(ends_early)?;
        self.0 = rest;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn literals_and_matches_are_as_the_format_says() {
        let decoded = |from: &[u8], len| {
            let mut to = vec![0; len];
            decode(from, &mut to).map(|()| to)
        };
        assert_eq!(decoded(&[0x22, 1, 2, 3], 3).unwrap(), [1, 2, 3]);
        // 4 bytes from 3 back, then 2 literals.
        assert_eq!(decoded(&[2, 1, 2, 3, 0x40, 2, 1, 8, 9], 9).unwrap(), [1, 2, 3, 1, 2, 3, 1, 8, 9]);
        // A run of 9 + 255 + 1 bytes.
        assert_eq!(decoded(&[0, 7, 0xE0, 255, 1, 0], 266).unwrap(), [7; 266]);
        // The shortest match.
        assert_eq!(decoded(&[0, 1, 0x20, 0], 4).unwrap(), [1; 4]);
        // A far match, 8192 + 256 + 44 back.
        let mut due: Vec<u8> = (0..32 * 270).map(|i: u32| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let mut far: Vec<u8> = due.chunks(32).flat_map(|bytes| [&[31], bytes].concat()).collect();
        far.extend([0x3F, 255, 1, 44]);
        due.extend_from_within(due.len() - 8492..due.len() - 8489);
        assert!(decoded(&far, due.len()).unwrap() == due);
        let reason = |from: &[u8], len| match decoded(from, len).unwrap_err().kind() {
            ErrorKind::Corrupt { reason, .. } => reason,
            kind => panic!("{kind}"),
        };
        let early: [&[u8]; 6] = [&[], &[1, 1], &[0, 1, 0x20], &[0, 1, 0xE0, 255], &[0, 1, 0x3F, 255, 0], &[3, 1, 2, 3]];
        for wrong in early {
            assert_eq!(reason(wrong, 4), "a block ends early", "{wrong:?}");
        }
        for (wrong, len) in [(&[0, 1, 0x20, 0][..], 3), (&[2, 1, 2, 3], 2), (&[1, 1, 2, 0x20, 0], 4)] {
            assert_eq!(reason(wrong, len), "a block decodes to more bytes than expected", "{wrong:?}");
        }
        assert_eq!(reason(&[0, 1, 0x20, 1], 4), "a match begins before the data");
        assert_eq!(reason(&[0, 1, 0x20, 0], 5), "a block decodes to fewer bytes than expected");
    }
}
