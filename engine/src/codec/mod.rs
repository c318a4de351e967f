//! Codecs: values that turn a chunk's bytes into what is stored, and back. A store has a chain of them.
//!
//! A codec is called with the range of its result that is needed, so that it can stop after the last needed byte. It
//! never decides how much memory is used: it decodes into a buffer of the expected size.
//!
//! A codec is a module of its own and a line in the list below. `definition.rs` has what its module defines.

pub mod built_in;
mod chain;
mod checksum;
mod definition;
#[cfg(any(feature = "gzip", feature = "zlib"))]
mod deflate;
mod filter;
#[cfg(any(feature = "nbit", feature = "scaleoffset", feature = "szip"))]
mod highest_first;
#[cfg(feature = "blosc")]
mod matches;
mod numbers;
mod parts;
#[cfg(any(feature = "bitshuffle", feature = "blosc", feature = "shuffle"))]
mod planes;
mod registry;
mod steps;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
mod traits;

macro_rules! codecs {
    ($(mod $module:ident; $feature:literal => $($type:ident)*,)*) => {
        $(#[cfg(feature = $feature)] mod $module;)*

        /// The codecs that are built in.
        static BUILT_IN: &[&[Definition]] = &[$(#[cfg(feature = $feature)] $module::CODECS),*];

        /// The codecs by the features that they are, and whether they are built in.
        static KNOWN: &[(&str, bool)] = &[$(($feature, cfg!(feature = $feature))),*];

        /// What programs in Rust are to see.
        pub mod public {
            $(
                #[cfg(feature = $feature)]
                #[allow(unused_imports, reason = "some are made by their names alone")]
                pub use super::$module::{$($type),*};
            )*
            pub use super::steps::Steps;
            pub use super::traits::{Codec, EncodedRanges, InNumcodecs};
            pub use super::registry::CodecUse;
        }
    };
}

// The module, the feature that it is, and its types that programs in Rust are to see. One may use those before it.
codecs! {
    mod adler32; "adler32" =>,
    mod bitround; "bitround" =>,
    mod bz2; "bz2" => Bz2,
    mod cast_value; "cast_value" =>,
    mod crc32; "crc32" =>,
    mod crc32c; "crc32c" => Crc32c,
    mod delta; "delta" =>,
    mod fixedscaleoffset; "fixedscaleoffset" =>,
    mod fletcher32; "fletcher32" => Fletcher32,
    mod gzip; "gzip" => Gzip,
    mod lz4; "lz4" => Lz4,
    mod lzf; "lzf" =>,
    mod nbit; "nbit" =>,
    mod packbits; "packbits" =>,
    mod quantize; "quantize" =>,
    mod scale_offset; "scale_offset" =>,
    mod scaleoffset; "scaleoffset" =>,
    mod shuffle; "shuffle" => Shuffle,
    mod szip; "szip" =>,
    mod zlib; "zlib" => Zlib,
    mod zstd; "zstd" => Zstd,
    mod bitshuffle; "bitshuffle" =>,
    mod blosc; "blosc" => Blosc BloscShuffle,
}

pub use chain::{Between, Chain};
pub use definition::{Definition, Given, Kind, Setting, Settings, Stage, Written};
#[cfg(feature = "lz4")]
pub use lz4::frame::Lz4Frame;
pub use registry::{CodecRegistry, CodecUse, MakeCodec};
pub use traits::{Codec, InNumcodecs};

use crate::error::{Error, ErrorKind, Result};

/// The codecs that lay out the chunks of an array, which only what reads the metadata of arrays can do.
const OF_ARRAYS: [&str; 6] = ["bytes", "n5_default", "reshape", "sharding_indexed", "transpose", "vlen-utf8"];

/// Whether the codec of this name lays out the chunks of an array.
pub fn is_of_arrays(name: &str) -> bool {
    OF_ARRAYS.contains(&name)
}

/// Whether the library was built with the codec of this name.
pub fn has(name: &str) -> bool {
    KNOWN.contains(&(name, true))
}

/// Whether it can be built with the codec of this name.
pub fn is_known(name: &str) -> bool {
    KNOWN.iter().any(|(known, _)| *known == name)
}

/// The codec of one of HDF5's filters.
pub fn of_filter(number: u32, parameters: &[u32]) -> Result<Box<dyn Codec>> {
    filter::of_filter(definitions(), number, parameters)
}

/// The definitions of the codecs that are built in.
pub fn definitions() -> impl Iterator<Item = &'static Definition> {
    BUILT_IN.iter().copied().flatten()
}

/// What is said of a codec that the library can be built with, and was not.
pub fn not_built_in(name: &str) -> Error {
    Error::from(ErrorKind::Codec("this build does not include the codec")).in_object(name)
}
