//! lzf: LibLZF's format, as the filter of this name has it that comes with h5py. It is decoded only.
//!
//! The source is lzf_d.c of LibLZF. A first byte below 32 is followed by so many bytes and one more, as they are. Else
//! its upper 3 bits are the length of a match, less 2; 7 is added to by the next byte. The lower 5 bits and another
//! byte are its distance, less 1.

use std::ops::Range;

use super::definition::{Definition, boxed};
use super::traits::{Codec, decoded_only, named};
use crate::buffer::Buffer;
use crate::error::{ErrorKind, Result};

const NAME: &str = "lzf";

pub(super) const CODECS: &[Definition] =
    &[Definition { filter: Some((32000, |_| boxed(Lzf).map(Some))), ..Definition::DEFAULT }];

/// The codec lzf.
#[derive(Debug, Clone, Copy)]
struct Lzf;

fn corrupt(reason: &'static str) -> ErrorKind {
    ErrorKind::Corrupt { codec: NAME, reason }
}

/// Decodes to where `least` bytes are there. Returns how many are.
fn decode(encoded: &[u8], least: usize, to: &mut [u8]) -> Result<usize> {
    let (mut at, mut rest) = (0, encoded.iter());
    let too_many = ErrorKind::DecodedLength { found: None, expected: to.len() };
    while let Some(first) = rest.next().filter(|_| at < least || least == to.len()) {
        let mut next = || rest.next().map(|byte| usize::from(*byte)).ok_or(corrupt("the data end early"));
        let first = usize::from(*first);
        if first < 32 {
            let (literals, others) =
                rest.as_slice().split_at_checked(first + 1).ok_or(corrupt("the data end early"))?;
            to.get_mut(at..at + literals.len()).ok_or(too_many)?.copy_from_slice(literals);
            (at, rest) = (at + literals.len(), others.iter());
            continue;
        }
        let len = 2 + match first >> 5 {
            7 => 7 + next()?,
            len => len,
        };
        let distance = ((first & 31) << 8 | next()?) + 1;
        let from = at.checked_sub(distance).ok_or(corrupt("a match begins before the data"))?;
        let (before, room) = to.split_at_mut(at);
        let (before, room) = (&before[from..], room.get_mut(..len).ok_or(too_many)?);
        if distance >= len {
            room.copy_from_slice(&before[..len]);
        } else {
            // What is copied repeats itself.
            room.iter_mut().zip(before.iter().cycle()).for_each(|(to, from)| *to = *from);
        }
        at += len;
    }
    Ok(at)
}

impl Codec for Lzf {
    named!(NAME, says_too_little_room);

    /// All as it is, in pieces of 32 bytes.
    fn encoded_bound(&self, decoded_size: usize) -> usize {
        decoded_size.saturating_add(decoded_size / 32 + 1)
    }

    fn decode(&self, encoded: &[u8], needed: Range<usize>, decoded: &mut Buffer<'_>) -> Result<()> {
        let len = decode(encoded, needed.end, decoded.zeroed())?;
        decoded.truncate(len);
        Ok(())
    }

    decoded_only!(NAME, "it is decoded only");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::testing::decoded;

    #[test]
    fn literals_and_matches_are_decoded() {
        // `abc`, 6 bytes from 3 before, 4 from 1 before, and 270 from 1 before.
        let stored = [2, b'a', b'b', b'c', 4 << 5, 2, 2 << 5, 0, 7 << 5, 255, 0];
        let due = [&b"abcabcabc"[..], &[b'c'; 4 + 264]].concat();
        let all = decoded(&Lzf, &stored, 0..due.len(), due.len()).unwrap();
        assert_eq!(all, due);
        assert_eq!(decoded(&Lzf, &stored[..6], 0..9, due.len()).unwrap(), due[..9]);
        let kind = |stored: &[u8], size| decoded(&Lzf, stored, 0..size, size).unwrap_err().kind();
        let early = corrupt("the data end early");
        for (len, is_early) in [(1, true), (3, true), (4, false), (5, true), (9, true), (10, true)] {
            assert_eq!(decode(&stored[..len], 1000, &mut [0; 1000]).err().is_some(), is_early, "{len}");
        }
        assert_eq!((kind(&[3, 1], 9), kind(&[0xe0], 9)), (early, early));
        assert_eq!(kind(&[0, 7, 1 << 5, 1], 9), corrupt("a match begins before the data"));
        for size in [2, 8, 12, due.len() - 1] {
            assert_eq!(kind(&stored, size), ErrorKind::DecodedLength { found: None, expected: size });
        }
    }
}
