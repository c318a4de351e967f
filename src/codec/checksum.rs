//! Checksums: 4 bytes behind the data, little-endian.
//!
//! A checksum is verified whenever all the data are there. If only a part of a chunk is read, it cannot be.

use std::ops::Range;

use super::steps::Steps;
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

/// The data before a checksum, which is compared.
fn verified<S: Sum>(encoded: &[u8]) -> Result<&[u8]> {
    let corrupt = |reason| ErrorKind::Corrupt { codec: S::NAME, reason };
    let (data, sum) = encoded.split_last_chunk::<SUM>().ok_or(corrupt("there is no checksum"))?;
    if !S::is_valid(u32::from_le_bytes(*sum), data) {
        return Err(corrupt("the checksum does not match the data").into());
    }
    Ok(data)
}

/// Decodes with a checksum, in one step: all the data are there.
pub(super) fn give<S: Sum>(encoded: &[u8], steps: &mut Steps<'_, '_>) -> Result<bool> {
    let is_verified = steps.is_to_end();
    steps.give(if is_verified { verified::<S>(encoded)? } else { &encoded[..encoded.len().saturating_sub(SUM)] })?;
    Ok(true)
}

/// Decodes with a checksum.
pub(super) fn decode<S: Sum>(encoded: &[u8], needed: Range<usize>, decoded: &mut Buffer<'_>) -> Result<()> {
    let corrupt = |reason| ErrorKind::Corrupt { codec: S::NAME, reason };
    let capacity = decoded.capacity();
    let is_all = needed.start == 0 && needed.end >= capacity;
    // If only a part is needed the data may be all there nevertheless. What is before the part may be anything.
    let is_whole = is_all || (needed.start == 0 && encoded.len() >= capacity.saturating_add(SUM));
    let data = if is_whole {
        if encoded.len() > capacity.saturating_add(SUM) {
            return Err(ErrorKind::DecodedLength { found: None, expected: capacity }.into());
        }
        verified::<S>(encoded)?
    } else {
        encoded.get(..needed.end.min(capacity)).ok_or(corrupt("the data end early"))?
    };
    let begin = if is_whole { 0 } else { needed.start.min(data.len()) };
    decoded.skip(begin);
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
