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
    let corrupt = ErrorKind::Corrupt { codec: S::NAME, reason: "the data end early" };
    Ok(encoded.get(..needed.end.min(size)).ok_or(corrupt)?)
}

/// Decodes with a checksum.
pub(super) fn decode<S: Sum>(encoded: &[u8], needed: Range<usize>, decoded: &mut Buffer<'_>) -> Result<()> {
    decoded.write(data::<S>(encoded, needed, decoded.capacity())?);
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
