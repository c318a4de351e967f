//! Codecs: values that turn a chunk's bytes into what is stored, and back. A store has a chain of them.
//!
//! A codec that is asked to decode is told which bytes of its result are needed, so that it can stop after the last of
//! them. It never decides how much memory is used: it decodes into a buffer of the size that is due.
//!
//! A codec is a module of its own and a line in the list below. What its module has to say is in `definition.rs`.

mod chain;
mod checksum;
mod definition;
#[cfg(any(feature = "gzip", feature = "zlib"))]
mod deflate;
mod filter;
#[cfg(any(feature = "blosc", feature = "lz4"))]
mod matches;
mod numbers;
mod parts;
#[cfg(any(feature = "blosc", feature = "shuffle"))]
mod planes;
#[cfg(feature = "arrays")]
mod registry;
mod steps;
#[cfg(test)]
pub(crate) mod tests;
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
            pub use super::traits::Codec;
            pub use super::has as has_codec;
            #[cfg(feature = "arrays")]
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
    mod packbits; "packbits" =>,
    mod quantize; "quantize" =>,
    mod scale_offset; "scale_offset" =>,
    mod shuffle; "shuffle" => Shuffle,
    mod zlib; "zlib" => Zlib,
    mod zstd; "zstd" => Zstd,
    mod blosc; "blosc" => Blosc BloscShuffle,
}

pub(crate) use chain::{Between, Chain};
pub(crate) use definition::Definition;
#[cfg(feature = "arrays")]
pub(crate) use definition::{Given, Kind, Setting, Settings, Stage, Written};
#[cfg(all(feature = "cfdb", feature = "lz4"))]
pub(crate) use lz4::frame::Lz4Frame;
#[cfg(all(test, not(miri), feature = "cfdb", feature = "lz4", feature = "shuffle", feature = "zstd"))]
pub(crate) use lz4::frame::testing::frame as lz4_frame;
#[cfg(feature = "arrays")]
pub(crate) use registry::{CodecRegistry, CodecUse};
pub use traits::Codec;

use crate::error::Result;
#[cfg(any(feature = "arrays", not(feature = "zstd")))]
use crate::error::{Error, ErrorKind};

/// What is handled where the metadata of arrays are read, for it is about the array as a whole.
const OF_ARRAYS: [&str; 6] = ["bytes", "n5_default", "reshape", "sharding_indexed", "transpose", "vlen-utf8"];

/// Whether a codec of this name is about the array as a whole.
#[cfg(feature = "arrays")]
pub(crate) fn is_of_arrays(name: &str) -> bool {
    OF_ARRAYS.contains(&name)
}

/// Whether the library was built with the codec of this name.
pub fn has(name: &str) -> bool {
    KNOWN.contains(&(name, true)) || cfg!(feature = "arrays") && OF_ARRAYS.contains(&name)
}

/// Whether it can be built with the codec of this name.
#[cfg(feature = "arrays")]
pub(crate) fn is_known(name: &str) -> bool {
    KNOWN.iter().any(|(known, _)| *known == name) || OF_ARRAYS.contains(&name)
}

/// The codec of one of HDF5's filters: see [`filter`].
pub(crate) fn of_filter(number: u32, parameters: &[u32]) -> Result<Box<dyn Codec>> {
    filter::of_filter(built_in(), number, parameters)
}

/// The codecs that are built in.
pub(crate) fn built_in() -> impl Iterator<Item = &'static Definition> {
    BUILT_IN.iter().copied().flatten()
}

/// What is said of a codec that the library can be built with, and was not.
#[cfg(any(feature = "arrays", not(feature = "zstd")))]
pub(crate) fn not_built_in(name: &str) -> Error {
    Error::from(ErrorKind::Codec("the library was built without it")).in_object(name)
}
