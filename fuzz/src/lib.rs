//! What the fuzz targets share: an input that is taken apart, and an array that is read in all ways.
//!
//! A target is a function of bytes. What is read from them must be an error or a value: a panic, an access beyond
//! memory, an overflow, a hang, or an allocation out of proportion ends the run, and so does any `assert` of a target.

mod all;
mod input;

pub use all::{read_all, read_everything};
pub use input::Input;

/// The largest chunk, in bytes, that is read from what the input describes. The metadata of an array may say that its
/// chunks are enormous, and then a reader needs as much memory.
pub const LARGEST_CHUNK: usize = 1 << 16;

/// The most elements that are read at once.
pub const MOST_ELEMENTS: usize = 1 << 12;
