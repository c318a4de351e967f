//! Codecs: values that turn a chunk's bytes into what is stored, and back. A store has a chain of them.
//!
//! A codec that is asked to decode is told which bytes of its result are needed, so that it can stop after the last of
//! them. It never decides how much memory is used: it decodes into a buffer of the size that is due.

#[cfg(feature = "blosc")]
mod blosc;
mod chain;
#[cfg(any(feature = "crc32c", feature = "fletcher32"))]
mod checksum;
mod contract;
#[cfg(any(feature = "gzip", feature = "zlib"))]
mod deflate;
mod filter;
#[cfg(feature = "lz4")]
mod lz4;
#[cfg(feature = "arrays")]
mod makers;
#[cfg(any(feature = "blosc", feature = "lz4"))]
mod matches;
mod parts;
#[cfg(any(feature = "blosc", feature = "shuffle"))]
mod planes;
#[cfg(feature = "shuffle")]
mod shuffle;
mod steps;
#[cfg(all(test, nczchunk_codecs))]
pub(crate) mod tests;
#[cfg(feature = "zstd")]
pub(crate) mod zstd;

#[cfg(feature = "blosc")]
pub use blosc::{Blosc, BloscShuffle};
pub(crate) use chain::{Between, Chain};
#[cfg(feature = "crc32c")]
pub use checksum::Crc32c;
#[cfg(feature = "fletcher32")]
pub use checksum::Fletcher32;
pub use contract::Codec;
#[cfg(feature = "gzip")]
pub use deflate::Gzip;
#[cfg(feature = "zlib")]
pub use deflate::Zlib;
#[cfg(any(feature = "arrays", not(feature = "zstd")))]
pub(crate) use filter::not_built_in;
pub(crate) use filter::of_filter;
#[cfg(feature = "lz4")]
pub use lz4::Lz4;
#[cfg(all(feature = "cfdb", feature = "lz4"))]
pub(crate) use lz4::frame::Lz4Frame;
#[cfg(all(test, not(miri), feature = "cfdb", feature = "lz4", feature = "shuffle", feature = "zstd"))]
pub(crate) use lz4::frame::testing::frame as lz4_frame;
#[cfg(feature = "arrays")]
pub use makers::CodecUse;
#[cfg(feature = "arrays")]
pub(crate) use makers::Makers;
#[cfg(feature = "shuffle")]
pub use shuffle::Shuffle;
#[cfg(feature = "zstd")]
pub use zstd::Zstd;

/// Whether the library was built with the codec of this name.
pub fn has(name: &str) -> bool {
    known().contains(&(name, true))
}

/// Whether it can be built with the codec of this name.
#[cfg(feature = "arrays")]
pub(crate) fn is_known(name: &str) -> bool {
    known().iter().any(|(known, _)| *known == name)
}

/// The library's codecs, and whether it was built with them.
fn known() -> [(&'static str, bool); 12] {
    [
        ("blosc", cfg!(feature = "blosc")),
        ("bytes", cfg!(feature = "arrays")),
        ("crc32c", cfg!(feature = "crc32c")),
        ("fletcher32", cfg!(feature = "fletcher32")),
        ("gzip", cfg!(feature = "gzip")),
        ("lz4", cfg!(feature = "lz4")),
        ("sharding_indexed", cfg!(feature = "arrays")),
        ("shuffle", cfg!(feature = "shuffle")),
        ("transpose", cfg!(feature = "arrays")),
        ("vlen-utf8", cfg!(feature = "arrays")),
        ("zlib", cfg!(feature = "zlib")),
        ("zstd", cfg!(feature = "zstd")),
    ]
}
