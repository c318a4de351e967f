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

use super::definition::{Definition, Given, Kind, Setting, Written, boxed};
use super::steps::Steps;
use super::traits::{Codec, named};
use crate::buffer::Buffer;
use crate::error::Result;
use header::NAME;

/// What compresses within blosc, in the order of the numbers that HDF5's filter has for them. numcodecs' default is
/// lz4.
const COMPRESSORS: &[&str] = &["blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"];

/// From numcodecs' -1 on, which leaves it to blosc. GDAL writes the words in capitals.
const SHUFFLES: Kind = Kind::Word {
    words: &["autoshuffle", "noshuffle", "shuffle", "bitshuffle"],
    aliases: &[("NONE", 1), ("BYTE", 2), ("BIT", 3)],
    default: 2,
    first: Some(-1),
    unknown: "expected noshuffle, shuffle, bitshuffle or autoshuffle, or a number from -1 to 2",
};

pub(super) const CODECS: &[Definition] = &[Definition {
    v2: NAME,
    v3: NAME,
    settings: &[
        Setting::new(
            "cname",
            Kind::Word {
                words: COMPRESSORS,
                aliases: &[],
                default: 1,
                first: None,
                unknown: "expected lz4, lz4hc, zlib or zstd, or to read blosclz",
            },
        ),
        Setting::integer("clevel", 0, 9, 5),
        Setting::new("shuffle", SHUFFLES),
        Setting::size("blocksize", i32::MAX as i64),
        // numcodecs takes it from the dtype in Zarr v2, and others refuse it there.
        Setting::size("typesize", LARGEST_TYPE).written(Written::Never, Written::Always),
    ],
    check: |settings, elements| {
        if settings.integer("typesize") == 0 {
            settings.set("typesize", Given::Integer(elements.element.size() as i64));
        }
        if !(1..=LARGEST_TYPE).contains(&settings.integer("typesize")) {
            settings.set("typesize", Given::Integer(1));
        }
        if settings.word("shuffle") == "autoshuffle" {
            let place = if settings.integer("typesize") == 1 { 3 } else { 2 };
            settings.set("shuffle", Given::Integer(place));
        }
        Ok(())
    },
    is_netcdfs: |_, _| true,
    make: |settings, _, _| {
        let shuffle = match settings.word("shuffle") {
            "noshuffle" => BloscShuffle::None,
            "bitshuffle" => BloscShuffle::Bit,
            _ => BloscShuffle::Byte,
        };
        let level = settings.integer("clevel") as u8;
        let (type_size, block) = (settings.size("typesize"), settings.size("blocksize"));
        boxed(Blosc::new(settings.word("cname"), level, shuffle, type_size, block))
    },
    // The source is H5Zblosc.c and blosc.h.
    filter: Some((32001, |parameters| match *parameters {
        [_, _, type_size, _, level @ 0..=9, shuffle @ 0..=2, compressor @ 0..=5] => {
            let shuffle = [BloscShuffle::None, BloscShuffle::Byte, BloscShuffle::Bit][shuffle as usize];
            let name = COMPRESSORS[compressor as usize];
            boxed(Blosc::new(name, level as u8, shuffle, type_size as usize, 0)).map(Some)
        }
        _ => Ok(None),
    })),
    ..Definition::DEFAULT
}];

/// blosc's largest type; beyond it bytes are taken for elements.
const LARGEST_TYPE: i64 = 255;

impl Codec for Blosc {
    named!(NAME, in_numcodecs, says_too_little_room);

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

    fn working_memory(&self, decoded_size: usize, encodes: bool) -> usize {
        let block = self.block(decoded_size);
        #[cfg(feature = "zstd")]
        let inner = self.zstd.working_memory(block, encodes);
        #[cfg(not(feature = "zstd"))]
        let inner: usize = if encodes { 1 << 20 } else { 256 << 10 };
        inner.saturating_add(block.saturating_mul(4))
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Buffer<'_>) -> Result<()> {
        self.encode_blocks(decoded, encoded)
    }

    fn why_not_encoded(&self) -> Option<&'static str> {
        self.inner.err()
    }
}
