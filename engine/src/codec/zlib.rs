//! zlib (RFC 1950): one stream. Bytes behind it are passed over.

use std::ops::Range;

use super::definition::{Definition, Setting, boxed};
use super::deflate::{self, Streams, bound, corrupt};
use super::steps::Steps;
use super::traits::{Codec, named};
use crate::buffer::Buffer;
use crate::error::Result;

const NAME: &str = "zlib";

pub(super) const CODECS: &[Definition] = &[Definition {
    v2: NAME,
    v3: "numcodecs.zlib",
    settings: &[Setting::integer("level", -1, 9, 1)],
    is_netcdfs: |_, _| true,
    // What is below 0 stands for zlib's default, which is 6.
    make: |settings, _, _| {
        let level = settings.integer("level");
        boxed(Zlib::new(if level < 0 { 6 } else { level as u32 }))
    },
    filter: Some((1, |parameters| match *parameters {
        [level @ 0..=9] => boxed(Zlib::new(level)).map(Some),
        _ => Ok(None),
    })),
    ..Definition::DEFAULT
}];

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
    if encoded.starts_with(&GZIP) { Err(corrupt(NAME, "the data is gzip, not zlib")) } else { Ok(()) }
}

impl Codec for Zlib {
    named!(NAME, in_numcodecs, says_too_little_room);

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

    fn working_memory(&self, _decoded_size: usize, _encodes: bool) -> usize {
        deflate::WORKING_MEMORY
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Buffer<'_>) -> Result<()> {
        self.0.deflate(decoded, encoded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::definition::{Elements, Given, Settings};
    use crate::codec::testing::encoded;

    #[test]
    fn levels_of_zlib_are_its_own() {
        let bytes: Vec<u8> = (0..20_000u32).map(|i| (i * i / 77 % 37) as u8).collect();
        let len = |level| {
            let mut settings = Settings::new(&CODECS[0]).unwrap();
            settings.set("level", Given::Integer(level));
            encoded(&*(CODECS[0].make)(&settings, Elements::BYTES, Elements::BYTES).unwrap(), &bytes).len()
        };
        assert!(len(0) > bytes.len() && len(1) < bytes.len() && len(1) > len(6));
        // What is below 0 stands for the default.
        assert_eq!(len(-1), len(6));
    }
}
