//! zlib (RFC 1950): one stream. Bytes behind it are passed over.

use std::ops::Range;

use super::streams::{Streams, bound, corrupt};
use crate::buffer::Buffer;
use crate::codec::contract::Codec;
use crate::codec::steps::Steps;
use crate::error::Result;

const NAME: &str = "zlib";

/// How a gzip member begins.
const GZIP: [u8; 3] = [0x1F, 0x8B, 8];

/// The codec zlib.
pub struct Zlib(Streams);

impl Zlib {
    /// A codec that encodes with this level, from 0 (stored) to 9; higher ones count as 9. numcodecs takes 1 if it is
    /// not told.
    pub fn new(level: u32) -> Self {
        Zlib(Streams::new(NAME, true, level))
    }
}

impl Default for Zlib {
    /// Level 1.
    fn default() -> Self {
        Zlib::new(1)
    }
}

/// Refuses gzip.
fn check_header(encoded: &[u8]) -> Result<()> {
    if encoded.starts_with(&GZIP) { Err(corrupt(NAME, "this is gzip data, not zlib")) } else { Ok(()) }
}

impl Codec for Zlib {
    fn name(&self) -> &str {
        NAME
    }

    fn encoded_bound(&self, decoded_size: usize) -> usize {
        bound(decoded_size)
    }

    fn decode(&self, encoded: &[u8], needed: Range<usize>, decoded: &mut Buffer<'_>) -> Result<()> {
        check_header(encoded)?;
        self.0.inflate(encoded, needed.end, decoded)?;
        Ok(())
    }

    fn decode_in_steps(&self, encoded: &[u8], steps: &mut Steps<'_, '_>) -> Result<bool> {
        check_header(encoded)?;
        self.0.inflate_in_steps(encoded, |piece| {
            steps.give(piece)?;
            Ok(steps.next().is_some())
        })?;
        Ok(true)
    }

    fn says_too_little_room(&self) -> bool {
        true
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Buffer<'_>) -> Result<()> {
        self.0.deflate(decoded, encoded)
    }
}
