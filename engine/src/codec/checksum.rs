//! Checksums: 4 bytes behind the data or before them, little-endian.
//!
//! A checksum is verified whenever all the data are there. If only a part of a chunk is read, it cannot be.
#![allow(dead_code, reason = "codecs use it, and all of them can be left out")]

use std::marker::PhantomData;
use std::ops::Range;

use super::definition::boxed;
use super::steps::Steps;
use super::traits::{Codec, InNumcodecs, named, written};
use crate::buffer::Buffer;
use crate::error::{ErrorKind, Result};

/// How long a checksum is.
pub(super) const SUM: usize = 4;

/// A checksum's algorithm.
pub(super) trait Sum: Send + Sync {
    const NAME: &'static str;
    /// Whether numcodecs has the sum behind the data, too, and with no settings.
    const IS_NUMCODECS: bool = false;

    fn of(data: &[u8]) -> u32;

    fn is_valid(stored: u32, data: &[u8]) -> bool {
        stored == Self::of(data)
    }
}

/// The data before a checksum, which is compared.
fn verified<S: Sum>(encoded: &[u8]) -> Result<&[u8]> {
    compared::<S>(encoded.split_last_chunk::<SUM>())
}

/// The data behind a checksum, which is compared.
fn verified_first<S: Sum>(encoded: &[u8]) -> Result<&[u8]> {
    compared::<S>(encoded.split_first_chunk::<SUM>().map(|(sum, data)| (data, sum)))
}

fn compared<'e, S: Sum>(parts: Option<(&'e [u8], &[u8; SUM])>) -> Result<&'e [u8]> {
    let corrupt = |reason| ErrorKind::Corrupt { codec: S::NAME, reason };
    let (data, sum) = parts.ok_or(corrupt("the checksum is missing"))?;
    if !S::is_valid(u32::from_le_bytes(*sum), data) {
        return Err(corrupt("the checksum does not match the data").into());
    }
    Ok(data)
}

/// The data before a checksum, which there are up to `size` bytes of, as far as they reach. They are compared with it
/// if all of them are there.
pub(super) fn data<S: Sum>(encoded: &[u8], needed: Range<usize>, size: usize) -> Result<&[u8]> {
    let is_all = needed.start == 0 && needed.end >= size;
    // If only a part is needed the data may be all there nevertheless. What is before the part may be anything.
    if is_all || (needed.start == 0 && encoded.len() >= size.saturating_add(SUM)) {
        if encoded.len() > size.saturating_add(SUM) {
            return Err(ErrorKind::DecodedLength { found: None, expected: size }.into());
        }
        return verified::<S>(encoded);
    }
    let corrupt = ErrorKind::Corrupt { codec: S::NAME, reason: "the data is truncated" };
    Ok(encoded.get(..needed.end.min(size)).ok_or(corrupt)?)
}

/// A checksum that follows the data.
#[diagnostic::do_not_recommend]
impl<S: Sum> Codec for S {
    named!(Self::NAME, says_too_little_room);

    fn numcodecs(&self) -> Option<InNumcodecs> {
        Self::IS_NUMCODECS.then_some((Self::NAME, None))
    }

    fn encoded_bound(&self, decoded_size: usize) -> usize {
        decoded_size.saturating_add(SUM)
    }

    fn encoded_len(&self, decoded_size: usize) -> Option<usize> {
        decoded_size.checked_add(SUM)
    }

    fn needed_encoded(&self, needed: Range<usize>, _: usize) -> Range<usize> {
        needed
    }

    fn decoded_for(&self, _: Range<usize>) -> usize {
        0
    }

    fn decode(&self, encoded: &[u8], needed: Range<usize>, decoded: &mut Buffer<'_>) -> Result<()> {
        decoded.write(data::<Self>(encoded, needed, decoded.capacity())?);
        Ok(())
    }

    fn decoded_as_is(&self, encoded: &[u8], needed: Range<usize>, size: usize) -> Result<Option<usize>> {
        data::<Self>(encoded, needed, size).map(|data| Some(data.len()))
    }

    /// In one step. If not all is needed, data at the end and the checksum may be missing.
    fn decode_in_steps(&self, encoded: &[u8], steps: &mut Steps<'_, '_>) -> Result<bool> {
        let up_to_end = &encoded[..encoded.len().min(steps.size())];
        steps.give(if steps.is_to_end() { verified::<Self>(encoded)? } else { up_to_end })?;
        Ok(true)
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Buffer<'_>) -> Result<()> {
        written(encoded.write(decoded) && encoded.write(&Self::of(decoded).to_le_bytes()), Self::NAME)
    }
}

/// What is said of another place than the start and the end.
pub(super) const NO_PLACE: &str = "expected start or end";

/// The codec with its checksum at the `start` or at the `end`.
pub(super) fn at<S: Sum + Default + 'static>(place: &str) -> Result<Box<dyn Codec>> {
    if place == "start" { boxed(First::<S>(PhantomData)) } else { boxed(S::default()) }
}

/// A codec with a checksum before the data.
struct First<S>(PhantomData<S>);

impl<S: Sum> Codec for First<S> {
    named!(S::NAME, says_too_little_room);

    fn encoded_bound(&self, decoded_size: usize) -> usize {
        decoded_size.saturating_add(SUM)
    }

    fn encoded_len(&self, decoded_size: usize) -> Option<usize> {
        decoded_size.checked_add(SUM)
    }

    fn needed_encoded(&self, needed: Range<usize>, _: usize) -> Range<usize> {
        // From the first byte on the checksum is among them, for it may turn out that all the data are there.
        let start = if needed.start == 0 { 0 } else { needed.start.saturating_add(SUM) };
        start..needed.end.saturating_add(SUM)
    }

    fn decoded_for(&self, _: Range<usize>) -> usize {
        0
    }

    fn decode(&self, encoded: &[u8], needed: Range<usize>, decoded: &mut Buffer<'_>) -> Result<()> {
        let corrupt = |reason| ErrorKind::Corrupt { codec: S::NAME, reason };
        let data = encoded.get(SUM..).ok_or(corrupt("the checksum is missing"))?;
        let capacity = decoded.capacity();
        if data.len() > capacity {
            return Err(ErrorKind::DecodedLength { found: None, expected: capacity }.into());
        }
        // Of a part the checksum is not known, nor are the bytes before it.
        let is_whole = needed.start == 0 && (needed.end >= capacity || data.len() == capacity);
        if is_whole {
            verified_first::<S>(encoded)?;
        }
        let needed = if is_whole { 0..data.len() } else { needed };
        decoded.skip(needed.start.min(data.len()));
        let begin = decoded.filled().len();
        decoded.write(data.get(begin..needed.end).ok_or(corrupt("the data is truncated"))?);
        Ok(())
    }

    fn decode_in_steps(&self, encoded: &[u8], steps: &mut Steps<'_, '_>) -> Result<bool> {
        let is_verified = steps.is_to_end();
        let data = if is_verified { verified_first::<S>(encoded)? } else { encoded.get(SUM..).unwrap_or_default() };
        steps.give(data)?;
        Ok(true)
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Buffer<'_>) -> Result<()> {
        written(encoded.write(&S::of(decoded).to_le_bytes()) && encoded.write(decoded), S::NAME)
    }
}
