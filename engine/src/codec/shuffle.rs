//! shuffle: the first bytes of all elements, then their second bytes, and so on, as HDF5's filter and numcodecs store
//! them. What remains beyond a multiple of the element size is copied at the end.
//!
//! The source is H5Zshuffle.c. numcodecs makes the same, and refuses data that are no multiple of the element size.
#![allow(unsafe_code)]

use std::ops::Range;

use super::definition::{Definition, Given, Setting, boxed};
use super::planes::bytes;
use super::traits::{Codec, EncodedRanges, InNumcodecs, named, written};
use crate::buffer::Buffer;
use crate::error::{ErrorKind, Result};

const NAME: &str = "shuffle";

/// The most planes of which only parts are decoded. No number has as many bytes, and of each a range is written down.
const MOST_PLANES: usize = 4096;

pub(super) const CODECS: &[Definition] = &[Definition {
    v2: NAME,
    v3: "numcodecs.shuffle",
    is_compressor: false,
    settings: &[Setting::size("elementsize", i32::MAX as i64)],
    // netCDF-C writes 0; it takes the type's size whatever is written.
    check: |settings, elements| {
        if settings.size("elementsize") == 0 {
            settings.set("elementsize", Given::Integer(elements.element.size().max(1) as i64));
        }
        Ok(())
    },
    is_netcdfs: |settings, element_size| settings.size("elementsize") == element_size,
    make: |settings, _, _| boxed(Shuffle::new(settings.size("elementsize"))),
    filter: Some((2, |parameters| match *parameters {
        [size @ 1..=u32::MAX] => boxed(Shuffle::new(size as usize)).map(Some),
        _ => Ok(None),
    })),
    ..Definition::DEFAULT
}];

/// The codec shuffle.
#[derive(Debug, Clone, Copy)]
pub struct Shuffle {
    size: usize,
}

impl Shuffle {
    /// A codec for elements of so many bytes; 0 and 1 shuffle nothing.
    pub fn new(element_size: usize) -> Self {
        Shuffle { size: element_size.max(1) }
    }

    /// How many whole elements so many bytes hold.
    fn count(&self, size: usize) -> usize {
        size / self.size
    }

    /// The elements that hold these bytes, as far as they are not in the rest at the end.
    fn elements(&self, bytes: &Range<usize>, count: usize) -> Range<usize> {
        let end = bytes.end.div_ceil(self.size).min(count);
        (bytes.start / self.size).min(end)..end
    }
}

impl Codec for Shuffle {
    named!(NAME, says_too_little_room);

    fn numcodecs(&self) -> Option<InNumcodecs> {
        Some(("shuffle", Some(self.size)))
    }

    fn encoded_bound(&self, decoded_size: usize) -> usize {
        decoded_size
    }

    fn encoded_len(&self, decoded_size: usize) -> Option<usize> {
        Some(decoded_size)
    }

    fn needed_encoded(&self, needed: Range<usize>, decoded_size: usize) -> Range<usize> {
        let count = self.count(decoded_size);
        let in_planes = count * self.size;
        if needed.is_empty() || needed.start >= in_planes {
            return needed;
        }
        // The first element that is needed comes first in the first plane, the last one last in the last plane.
        let elements = self.elements(&needed, count);
        let last = (self.size - 1) * count + elements.end;
        elements.start..last.max(needed.end)
    }

    fn encoded_ranges(&self, needed: Range<usize>, decoded_size: usize) -> Result<Option<EncodedRanges>> {
        if self.size > MOST_PLANES {
            return Ok(None);
        }
        let count = self.count(decoded_size);
        let (elements, in_planes) = (self.elements(&needed, count), count * self.size);
        let mut ranges = Vec::new();
        ranges.try_reserve_exact(self.size.saturating_add(1)).map_err(|_| ErrorKind::OutOfMemory)?;
        let mut stands_for = needed.clone();
        if !elements.is_empty() {
            ranges.extend((0..self.size).map(|plane| plane * count + elements.start..plane * count + elements.end));
            stands_for = elements.start * self.size..needed.end.max(elements.end * self.size);
        }
        // The rest at the end is stored where it was.
        if needed.end > in_planes {
            ranges.push(needed.start.max(in_planes)..needed.end);
        }
        Ok(Some((ranges, stands_for)))
    }

    fn decoded_for(&self, needed: Range<usize>) -> usize {
        needed.len()
    }

    fn decode(&self, encoded: &[u8], needed: Range<usize>, decoded: &mut Buffer<'_>) -> Result<()> {
        let capacity = decoded.capacity();
        if encoded.len() > capacity {
            return Err(ErrorKind::DecodedLength { found: None, expected: capacity }.into());
        }
        let is_all = needed.start == 0 && needed.end >= capacity;
        // Where the planes begin follows from the size of the whole. If only a part is needed that is what is due.
        let size = if is_all { encoded.len() } else { capacity };
        let needed = needed.start.min(size)..needed.end.min(size);
        if needed.is_empty() {
            return Ok(());
        }
        let count = self.count(size);
        let elements = self.elements(&needed, count);
        decoded.skip(elements.start * self.size);
        let (begin, len) = (decoded.filled().len(), elements.len() * self.size);
        let is_there = decoded.room().get_mut(..len).is_some_and(|to| {
            // With no elements needed, the planes need not be there.
            elements.is_empty() || bytes::gather(self.size, encoded, count, elements, to)
        });
        if !is_there {
            return Err(ErrorKind::Corrupt { codec: NAME, reason: "the data is truncated" }.into());
        }
        // SAFETY: `gather` has written all of the `len` bytes of room behind what was filled.
        unsafe { decoded.set_filled(begin + len) };
        // The rest at the end. If all that is needed lies in it, so far nothing but the planes was skipped.
        let rest = decoded.filled().len();
        let rest = encoded.get(rest..needed.end.max(rest));
        decoded.write(rest.ok_or(ErrorKind::Corrupt { codec: NAME, reason: "the data is truncated" })?);
        Ok(())
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Buffer<'_>) -> Result<()> {
        let (elements, rest) = decoded.split_at(self.count(decoded.len()) * self.size);
        let is_done =
            encoded.room().get_mut(..elements.len()).is_some_and(|to| bytes::scatter(self.size, elements, to));
        written(is_done, NAME)?;
        // SAFETY: `scatter` has written so many bytes at the beginning of the buffer, which was empty.
        unsafe { encoded.set_filled(elements.len()) };
        written(encoded.write(rest), NAME)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::testing::{decoded, encoded};

    /// So that an element size that a file claims takes no memory.
    #[test]
    fn many_planes_have_no_list_of_ranges() {
        let ranges = |size| Shuffle::new(size).encoded_ranges(0..1, 1 << 31).unwrap().map(|(ranges, _)| ranges.len());
        assert_eq!((ranges(MOST_PLANES), ranges(MOST_PLANES + 1), ranges(1 << 30)), (Some(MOST_PLANES), None, None));
    }

    #[test]
    fn needed_ranges_name_just_the_bytes_that_are_used() {
        let chunk: Vec<u8> = (0..103u8).collect();
        for size in [0, 1, 2, 4, 5, 8, 50, 103, 200] {
            let codec = Shuffle::new(size);
            let whole = encoded(&codec, &chunk);
            let step = if cfg!(miri) { 17 } else { 1 };
            for begin in (0..=chunk.len()).step_by(step) {
                for end in (begin..=chunk.len()).step_by(step) {
                    let there = codec.needed_encoded(begin..end, chunk.len());
                    // What is no part of the planes is stored where it was.
                    if begin == end || begin >= chunk.len() / codec.size * codec.size {
                        assert_eq!(there, begin..end, "{size}");
                    }
                    // What is before the needed bytes is spoilt, and what follows is missing.
                    let mut part = whole[..there.end].to_vec();
                    part[..there.start].fill(255);
                    let found = decoded(&codec, &part, begin..end, chunk.len()).unwrap();
                    assert_eq!(
                        found[begin.min(found.len())..][..end - begin],
                        chunk[begin..end],
                        "{size} {begin} {end}"
                    );
                    if end > begin && there.end < whole.len() {
                        let short = &part[..there.end - 1];
                        assert!(decoded(&codec, short, begin..end, chunk.len()).is_err(), "{size} {begin} {end}");
                    }
                }
            }
        }
    }
}
