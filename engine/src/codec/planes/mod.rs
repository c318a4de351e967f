//! Byte planes and bit planes: the first bytes of all elements, then their second bytes, and so on; or the same with
//! bits.
//!
//! HDF5's shuffle filter and blosc store elements like this, for their like bytes are often similar. The functions are
//! safe loops that the compiler turns into vector instructions; on x86-64 they are compiled for AVX2 as well, which is
//! detected at run time.
//!
//! ```text
//!   bytes.rs    byte planes, of elements of any size
//!   bits.rs     bit planes, as the bitshuffle library makes them
//! ```
#![allow(dead_code, reason = "codecs use it, and all of them can be left out")]

#[cfg(any(feature = "bitshuffle", feature = "blosc"))]
pub(super) mod bits;
pub(super) mod bytes;
