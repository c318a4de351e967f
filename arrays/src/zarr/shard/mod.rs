//! Shards: objects that hold several chunks each.
//!
//! A sharded array has two grids: it is read by the chunks, each of which is a range of a shard, and written by whole
//! shards.
//!
//! ```text
//!   layout.rs     the chunks of a shard and its index
//!   locate.rs     where chunks are: ranges of shards
//!   codec.rs      whole shards, to be written, and read to be changed
//! ```

mod codec;
mod layout;
mod locate;

pub(crate) use codec::ShardCodec;
pub(crate) use layout::{IndexFormat, Layout};
pub(crate) use locate::InShards;
