//! Variable-length strings: their chunks as pointers to texts, and texts that are read and written.
//!
//! An element is a pointer to a text of C's, in UTF-8. The engine copies it by a copier, so that each
//! text has one owner: a chunk, or whoever has read it.
//!
//! ```text
//!   owned.rs      texts with an owner each, and the copier
//!   kept.rs       texts that are read into a few blocks
//!   vlen.rs       the bytes of a chunk of texts
//!   chunks.rs     a reader that lends chunks of texts, which are stored as bytes
//!   transfer.rs   reading and writing hyperslabs
//! ```

mod chunks;
mod kept;
mod owned;
mod transfer;
mod vlen;

pub use chunks::TextChunks;
pub use kept::KeptTexts;
pub use owned::{ELEMENT, copier, free};
pub use transfer::{read, read_strings, write_strings};
