//! Checksums: 4 bytes behind the data or before them, little-endian.
//!
//! A checksum is verified whenever all the data are there. If only a part of a chunk is read, it cannot be.
#![allow(dead_code, reason = "codecs use it, and all of them can be left out")]

use std::marker::PhantomData;
use std::ops::Range;

use super::contract::Codec;
use super::definition::boxed;
use crate::buffer::Buffer;
use crate::error::{ErrorKind, Result};

/// How long a checksum is.
pub(super) const SUM: usize = 4;

/// A checksum's algorithm.
pub(super) trait Sum: Send + Sync {
    const NAME: &'static str;

    fn of(data: &[u8]) -> u32;

    fn is_valid(stored: u32, data: &[u8]) -> bool {
        stored == Self::of(data)
    }
}

/// Decodes with a checksum.
pub(super) fn decode<S: Sum>(encoded: &[u8], needed: Range<usize>, decoded: &mut Buffer<'_>) -> Result<()> {
    let corrupt = |reason| ErrorKind::Corrupt { codec: S::NAME, reason };
    let capacity = decoded.capacity();
    let is_all = needed.start == 0 && needed.end >= capacity;
    // If only a part is needed the data may be all there nevertheless. What is before the part may be anything.
    let is_whole = is_all || (needed.start == 0 && encoded.len() >= capacity.saturating_add(SUM));
    let data = if is_whole {
        let (data, sum) = encoded.split_last_chunk::<SUM>().ok_or(corrupt("there is no checksum"))?;
        if data.len() > capacity {
            return Err(ErrorKind::DecodedLength { found: None, expected: capacity }.into());
        }
        if !S::is_valid(u32::from_le_bytes(*sum), data) {
            return Err(corrupt("the checksum does not match the data").into());
        }
        data
    } else {
        encoded.get(..needed.end.min(capacity)).ok_or(corrupt("the data end early"))?
    };
    decoded.skip(if is_whole { 0 } else { needed.start.min(data.len()) });
    let begin = decoded.filled().len();
    decoded.write(&data[begin..]);
    Ok(())
}

/// Encodes with a checksum.
pub(super) fn encode<S: Sum>(decoded: &[u8], encoded: &mut Buffer<'_>) -> Result<()> {
    if encoded.write(decoded) && encoded.write(&S::of(decoded).to_le_bytes()) {
        Ok(())
    } else {
        Err(ErrorKind::Encode { codec: S::NAME, reason: "there is no room for it" }.into())
    }
}

/// What is said of another place than the start and the end.
pub(super) const NO_PLACE: &str = "a checksum is at the start or at the end";

/// The codec with its checksum at the `start` or at the `end`.
pub(super) fn at<S: Sum + 'static>(place: &str) -> Result<Box<dyn Codec>> {
    boxed(Checksum::<S> { is_first: place == "start", sum: PhantomData })
}

/// A codec with a checksum before or behind the data.
struct Checksum<S> {
    is_first: bool,
    sum: PhantomData<S>,
}

impl<S: Sum> Codec for Checksum<S> {
    fn name(&self) -> &str {
        S::NAME
    }

    fn encoded_bound(&self, decoded_size: usize) -> usize {
        decoded_size.saturating_add(SUM)
    }

    fn needed_encoded(&self, needed: Range<usize>, _: usize) -> Range<usize> {
        let before = if self.is_first { SUM } else { 0 };
        // From the first byte on the checksum is among them, for it may turn out that all the data are there.
        let start = if needed.start == 0 { 0 } else { needed.start.saturating_add(before) };
        start..needed.end.saturating_add(before)
    }

    fn decoded_for(&self, _: Range<usize>) -> usize {
        0
    }

    fn decode(&self, encoded: &[u8], needed: Range<usize>, decoded: &mut Buffer<'_>) -> Result<()> {
        if !self.is_first {
            return decode::<S>(encoded, needed, decoded);
        }
        let corrupt = |reason| ErrorKind::Corrupt { codec: S::NAME, reason };
        let (sum, data) = encoded.split_first_chunk::<SUM>().ok_or(corrupt("there is no checksum"))?;
        let capacity = decoded.capacity();
        if data.len() > capacity {
            return Err(ErrorKind::DecodedLength { found: None, expected: capacity }.into());
        }
        // Of a part the checksum is not known, nor are the bytes before it.
        let is_whole = needed.start == 0 && (needed.end >= capacity || data.len() == capacity);
        if is_whole && !S::is_valid(u32::from_le_bytes(*sum), data) {
            return Err(corrupt("the checksum does not match the data").into());
        }
        let needed = if is_whole { 0..data.len() } else { needed };
        decoded.skip(needed.start.min(data.len()));
        let begin = decoded.filled().len();
        decoded.write(data.get(begin..needed.end).ok_or(corrupt("the data end early"))?);
        Ok(())
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Buffer<'_>) -> Result<()> {
        if !self.is_first {
            return encode::<S>(decoded, encoded);
        }
        if encoded.write(&S::of(decoded).to_le_bytes()) && encoded.write(decoded) {
            Ok(())
        } else {
            Err(ErrorKind::Encode { codec: S::NAME, reason: "there is no room for it" }.into())
        }
    }
}
