//! Decoding in steps: a codec gives what it decodes piece by piece, and only the bytes that are needed are kept.

use std::ops::Range;

use crate::buffer::Buffer;
use crate::error::{ErrorKind, Result};

/// Takes decoded bytes from a codec, from the first on, and keeps those in some ranges, one behind the other. See
/// [`Codec::decode_in_steps`](crate::Codec::decode_in_steps).
pub struct Steps<'s, 'b> {
    /// Ascending, none of them empty.
    ranges: &'s [Range<usize>],
    /// Where the next byte is.
    at: usize,
    /// How many bytes there may be.
    size: usize,
    is_to_end: bool,
    kept: &'s mut Buffer<'b>,
}

// Which of these are used is up to the codecs that are built in.
#[allow(dead_code)]
impl<'s, 'b> Steps<'s, 'b> {
    /// Keeps the bytes in these ranges of `size` in the buffer, which has room for just these. If `is_to_end`, all is
    /// decoded to its end, so that it is verified.
    pub(crate) fn new(ranges: &'s [Range<usize>], size: usize, is_to_end: bool, kept: &'s mut Buffer<'b>) -> Self {
        Steps { ranges, at: 0, size, is_to_end, kept }
    }

    /// The position of the next byte that must be given; `None` if all have been given.
    pub fn next(&self) -> Option<usize> {
        let range = self.ranges.iter().find(|range| range.end > self.at);
        range.map(|range| range.start.max(self.at)).or(self.is_to_end.then_some(self.at))
    }

    /// The position of the next byte that [`give`](Self::give) takes.
    pub fn at(&self) -> usize {
        self.at
    }

    /// The decoded length in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Whether the codec must decode to the end, to verify what it decodes, although the last bytes are not needed.
    pub fn is_to_end(&self) -> bool {
        self.is_to_end
    }

    /// Skips bytes up to a position before the [next](Self::next) needed byte.
    pub fn skip_to(&mut self, at: usize) {
        self.at = self.at.max(at);
    }

    /// Takes the next decoded bytes, and keeps those that are needed.
    ///
    /// # Errors
    /// `DecodedLength` if they go beyond the decoded length.
    pub fn give(&mut self, bytes: &[u8]) -> Result<()> {
        let (begin, end) = (self.at, self.at.saturating_add(bytes.len()));
        if end > self.size {
            return Err(ErrorKind::DecodedLength { found: None, expected: self.size }.into());
        }
        while let Some((range, others)) = self.ranges.split_first().filter(|(range, _)| range.start < end) {
            let part = range.start.max(begin) - begin..range.end.min(end) - begin;
            if !self.kept.write(bytes.get(part).unwrap_or_default()) {
                return Err(ErrorKind::Internal.into());
            }
            if range.end > end {
                break;
            }
            self.ranges = others;
        }
        self.at = end;
        Ok(())
    }

    /// Checks at the end that all needed bytes have been given, and all bytes if the codec had to decode to the end.
    ///
    /// # Errors
    /// `DecodedLength` if some are missing.
    pub fn check(&self) -> Result<()> {
        if self.ranges.is_empty() && (!self.is_to_end || self.at == self.size) {
            return Ok(());
        }
        Err(ErrorKind::DecodedLength { found: Some(self.at), expected: self.size }.into())
    }
}

#[cfg(test)]
// One range is a list of ranges.
#[allow(clippy::single_range_in_vec_init)]
mod tests {
    use super::*;
    use crate::alloc::Scratch;

    /// What is kept of the bytes 0 to 9, given so many at a time, and where the next is due after each.
    fn kept(ranges: &[Range<usize>], step: usize, is_to_end: bool) -> (Vec<u8>, Vec<Option<usize>>, bool) {
        let bytes: Vec<u8> = (0..10).collect();
        let mut scratch = Scratch::EMPTY;
        let len = ranges.iter().map(Range::len).sum();
        let mut kept = Buffer::new(scratch.room(len).unwrap());
        let mut steps = Steps::new(ranges, 10, is_to_end, &mut kept);
        let mut next = vec![steps.next()];
        for piece in bytes.chunks(step) {
            if steps.next().is_none() {
                break;
            }
            steps.give(piece).unwrap();
            next.push(steps.next());
        }
        let is_well = steps.check().is_ok();
        (kept.filled().to_vec(), next, is_well)
    }

    #[test]
    fn what_is_needed_is_kept() {
        for step in 1..11 {
            for is_to_end in [false, true] {
                assert_eq!(kept(&[2..4, 4..5, 8..10], step, is_to_end).0, [2, 3, 4, 8, 9], "{step}");
                assert_eq!(kept(&[0..1], step, is_to_end).0, [0]);
            }
        }
        assert_eq!(kept(&[2..4], 3, false).1, [Some(2), Some(3), None]);
        assert_eq!(kept(&[2..4], 3, true).1, [Some(2), Some(3), Some(6), Some(9), Some(10)]);
        assert!(kept(&[2..4], 3, false).2 && kept(&[2..4], 3, true).2);
    }

    #[test]
    fn too_much_and_too_little_are_told() {
        let mut scratch = Scratch::EMPTY;
        let mut kept = Buffer::new(scratch.room(2).unwrap());
        let range = [3..5];
        let mut steps = Steps::new(&range, 6, false, &mut kept);
        steps.skip_to(2);
        steps.give(&[2, 3]).unwrap();
        let short = ErrorKind::DecodedLength { found: Some(4), expected: 6 };
        assert_eq!(steps.check().unwrap_err().kind(), short);
        let long = ErrorKind::DecodedLength { found: None, expected: 6 };
        assert_eq!(steps.give(&[4, 5, 6]).unwrap_err().kind(), long);
        steps.give(&[4]).unwrap();
        assert_eq!((steps.check(), kept.filled()), (Ok(()), &[3, 4][..]));
    }
}
