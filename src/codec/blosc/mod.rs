//! blosc, version 1 of its chunks: blocks of elements whose bytes or bits are rearranged and then encoded by one of
//! several codecs. The source is README_CHUNK_FORMAT.rst and blosc.c of c-blosc 1.21.
//!
//! Of a chunk only the blocks are decoded that hold needed bytes. A chunk's header rules, not what the codec was made
//! with. Of the codecs within, blosclz is always there to decode; lz4, zlib and zstd are there if the library was built
//! with the features of these names; snappy is not.
//!
//! ```text
//!   header.rs     the header of a chunk
//!   state.rs      the codec and what it keeps between chunks
//!   decode.rs     blocks to bytes
//!   encode.rs     bytes to blocks, plainly
//!   blosclz.rs    the decoder of blosc's own codec
//! ```

mod blosclz;
mod decode;
mod encode;
mod header;
mod state;

use std::ops::Range;

pub use state::{Blosc, BloscShuffle};

use super::contract::Codec;
use super::steps::Steps;
use crate::buffer::Buffer;
use crate::error::Result;
use header::NAME;

impl Codec for Blosc {
    fn name(&self) -> &str {
        NAME
    }

    fn encoded_bound(&self, decoded_size: usize) -> usize {
        decoded_size.saturating_add(header::LEN)
    }

    fn decoded_for(&self, needed: Range<usize>) -> usize {
        needed.len()
    }

    fn decode(&self, encoded: &[u8], needed: Range<usize>, decoded: &mut Buffer<'_>) -> Result<()> {
        self.decode_blocks(encoded, needed, decoded)
    }

    fn decode_in_steps(&self, encoded: &[u8], steps: &mut Steps<'_, '_>) -> Result<bool> {
        self.give_blocks(encoded, steps)?;
        Ok(true)
    }

    fn says_too_little_room(&self) -> bool {
        true
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Buffer<'_>) -> Result<()> {
        self.encode_blocks(decoded, encoded)
    }

    fn can_encode(&self) -> bool {
        self.inner.is_some()
    }
}
