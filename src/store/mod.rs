//! Stores: where chunks come from and go to.
//!
//! A [`Store`] has a reader that either lends chunks ([`Lend`]) or fills them into buffers ([`Fill`]), and a chain of
//! codecs, which may be empty. It is asked for one chunk at a time, by its indices, and may answer that the chunk is
//! absent.
//!
//! ```text
//!   lend.rs      a reader that keeps chunks in memory and lends them
//!   fill.rs      a reader that fills chunks, or ranges of them, into buffers
//!   located.rs   where a reader's chunks are stored
//!   flight.rs    one that is asked first and gives the answer later
//!   base.rs      a store: its reader, its codecs, its memory
//!   fetch.rs     a whole chunk, decoded, into a buffer
//!   any_length.rs  and one whose length is not known before
//! ```

#[cfg(feature = "arrays")]
mod any_length;
mod base;
mod fetch;
mod fill;
mod flight;
mod lend;
mod located;
mod memory;
mod request;

pub(crate) use base::Reader;
pub use base::Store;
pub(crate) use fetch::Fetched;
pub use fill::Fill;
pub(crate) use fill::check_part;
pub(crate) use flight::NOT_IN_FLIGHT;
pub use flight::{Flight, RawRequest, Sharing};
pub use lend::{Borrowed, Change, Lend, Lent, Take, Taken};
pub(crate) use lend::{due, due_mut};
pub use located::{ChunkLocation, ChunkState};
pub(crate) use memory::{Encoded, Memory, Workspace};
pub use request::{Filled, Request};
