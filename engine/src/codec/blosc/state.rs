//! The codec and what it keeps between chunks.

use super::header::Inner;
use crate::alloc::Scratch;
#[cfg(feature = "zlib")]
use crate::codec::zlib::Zlib;
#[cfg(feature = "zstd")]
use crate::codec::zstd::Zstd;
use crate::pool::Pool;

/// The codec blosc, with the memory that it keeps between chunks.
pub struct Blosc {
    /// What to encode with, or why that cannot be.
    pub(super) inner: Result<Inner, &'static str>,
    pub(super) level: u8,
    pub(super) shuffle: BloscShuffle,
    pub(super) type_size: usize,
    pub(super) block: usize,
    pub(super) scratch: Pool<Scratch>,
    #[cfg(feature = "zlib")]
    pub(super) zlib: Zlib,
    #[cfg(feature = "zstd")]
    pub(super) zstd: Zstd,
}

/// What blosc does to the elements before they are encoded.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum BloscShuffle {
    /// Nothing.
    None,
    /// Puts like bytes together.
    #[default]
    Byte,
    /// Puts like bits together.
    Bit,
    /// `Bit` for elements of one byte, `Byte` for others.
    Auto,
}

impl Blosc {
    /// A codec that encodes elements of `type_size` bytes with the codec of this name, `"lz4"`, `"lz4hc"` (which is
    /// encoded as lz4), `"zlib"` or `"zstd"`, and a level from 0 (a copy) to 9, in blocks of `block` bytes; 0 leaves
    /// their size to the library. Elements of more than 255 bytes count as single bytes, as in c-blosc.
    ///
    /// Any name will do for a codec that only decodes.
    pub fn new(name: &str, level: u8, shuffle: BloscShuffle, type_size: usize, block: usize) -> Self {
        let inner = match name {
            "lz4" | "lz4hc" if cfg!(feature = "lz4") => Ok(Inner::Lz4),
            "zlib" if cfg!(feature = "zlib") => Ok(Inner::Zlib),
            "zstd" if cfg!(feature = "zstd") => Ok(Inner::Zstd),
            "blosclz" => Err("blosclz can only be decoded; lz4, lz4hc, zlib and zstd can be encoded"),
            "snappy" => Err("snappy is not supported; lz4, lz4hc, zlib and zstd can be encoded"),
            _ => Err("this build does not include the compressor"),
        };
        let level = level.min(9);
        Blosc {
            inner,
            level,
            shuffle,
            type_size: if (1..=255).contains(&type_size) { type_size } else { 1 },
            block,
            scratch: Pool::new(),
            #[cfg(feature = "zlib")]
            zlib: Zlib::new(level.into()),
            // The levels of c-blosc (blosc.c, zstd_wrap_compress); 22 is zstd's highest.
            #[cfg(feature = "zstd")]
            zstd: Zstd::new(if level < 9 { (i32::from(level) * 2 - 1).max(1) } else { 22 }, false),
        }
    }
}

impl Default for Blosc {
    /// zarr-python's defaults for 8-byte elements, of which the type size matters only to encode: lz4, level 5.
    fn default() -> Self {
        Blosc::new("lz4", 5, BloscShuffle::Byte, 8, 0)
    }
}
