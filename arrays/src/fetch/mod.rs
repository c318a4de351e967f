//! Chunks that are objects or parts of objects in a storage: one way from a chunk to its bytes, for every format.
//!
//! A format is a [`Locate`]: it says where a chunk is, without reading anything. [`ObjectChunks`] reads what it says,
//! chunk by chunk or many at a time.
//!
//! ```text
//!   locate.rs    where a chunk is: what a format has to say
//!   indices.rs   the indices that were read last
//!   chunks.rs    chunks, read one by one and written
//!   coalesce.rs  which ranges of an object are better read at once
//!   joined.rs    where the chunks of several arrays are that are one
//!   pending.rs   chunks that have been asked for and are not given back yet
//!   reads.rs     the reads of one transfer, at once or in flight
//!   routed.rs    those of objects that are in other storages
//!   flight.rs    chunks, many at a time
//! ```

mod chunks;
mod coalesce;
mod flight;
mod indices;
mod joined;
mod locate;
mod pending;
mod reads;
mod routed;

pub(crate) use chunks::ObjectChunks;
pub(crate) use joined::{InPart, InParts};
pub(crate) use locate::{ABSENT, Index, Learned, Locate, Location, Part, Step};
