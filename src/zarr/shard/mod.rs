//! Shards: objects that hold several chunks each.
//!
//! A sharded array has two grids: it is read by the chunks, each of which is a range of a shard, and written by whole
//! shards.
//!
//! ```text
//!   layout.rs     the chunks of a shard and its index
//!   indices.rs    the indices that were read last
//!   merge.rs      which ranges of a shard are better read at once
//!   asked.rs      chunks that have been asked for
//!   flight.rs     chunks, many at a time, from a place that answers later
//!   reader.rs     chunks, read as ranges of shards
//!   codec.rs      whole shards, to be written, and read to be changed
//! ```

mod asked;
mod codec;
mod flight;
mod indices;
mod layout;
mod merge;
mod reader;

pub(crate) use codec::ShardCodec;
pub(crate) use layout::{IndexFormat, Layout};
pub(crate) use reader::ShardedChunks;
