//! Codecs: values that turn a chunk's bytes into what is stored, and back. A store has a chain of them.
//!
//! A codec that is asked to decode is told which bytes of its result are needed, so that it can stop after the last of
//! them. It never decides how much memory is used: it decodes into a buffer of the size that is due.

mod chain;
mod contract;
pub(crate) mod zstd;

pub(crate) use chain::{Between, Chain};
pub use contract::Codec;
pub use zstd::Zstd;
