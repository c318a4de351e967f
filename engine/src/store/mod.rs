//! Stores: the sources and destinations of chunks.
//!
//! A [`ChunkStore`] has a reader that either lends chunks ([`ZeroCopyReader`]) or fills them into buffers
//! ([`ChunkReader`]), and a chain of codecs, which may be empty. Chunks are requested one at a time, by their indices.
//! A reader may report that a chunk is missing.
//!
//! ```text
//!   zero_copy.rs     a reader that keeps chunks in memory and lends them
//!   chunk_reader.rs  a reader that fills chunks, or ranges of them, into buffers
//!   request.rs       what readers are asked for, and what they answer
//!   located.rs       where a reader's chunks are stored
//!   flight.rs        one that is asked first and gives the answer later
//!   base.rs          a store: its reader, its codecs
//!   memory.rs        and the memory that it keeps between calls
//!   fetch.rs         a whole chunk, decoded, into a buffer
//!   any_length.rs    and one whose length is not known before
//! ```

mod any_length;
mod base;
mod chunk_reader;
mod fetch;
mod flight;
mod located;
mod memory;
mod request;
mod zero_copy;

pub use base::{ChunkStore, Reader};
pub use chunk_reader::{ChunkReader, check_part};
pub use fetch::Fetched;
pub(crate) use fetch::room_again;
pub use flight::{Flight, InFlight, NOT_IN_FLIGHT, RawRequest, ReadCost, Sharing};
pub use located::{ChunkLocation, ChunkState};
pub use memory::{Encoded, Memory, Workspace};
pub use request::{Filled, Request};
pub use zero_copy::{BorrowedChunk, BorrowedChunkMut, Change, Take, Taken, ZeroCopyReader, due, due_mut};
