//! The engine of nczchunk: hyperslabs of chunked n-dimensional arrays, whose chunks come from wherever a program says.
//!
//! Programs use the crate [`nczchunk`](https://docs.rs/nczchunk), which is this one and what opens arrays above it.
//!
//! ```text
//!    (start, count, stride), lists, points   variable: grid of chunks, element size, byte order, fill value
//!                       \                    /
//!                      hyperslab    checked once, here and nowhere else
//!                           |
//!                     projection    one dimension, closed form: the p-th touched chunk at once
//!                           |
//!                         plan      the product: chunk i -> its indices, its box, its place in memory. No I/O
//!                           |
//!                       transfer    for each chunk of the plan: fetch it, move its box, store it if it was written to
//!                        /     \
//!                    store     copy
//!     lends chunks or fills    a strided n-dimensional copy: drop axes of length 1, merge contiguous ones,
//!     them in; codecs decode   then one loop per element size, byte swap included
//! ```
//!
//! There is no file here and no format. What is public and not shown on this page is for the crates of this project
//! alone: it may change in any version.

#[doc(hidden)]
pub mod alloc;
#[doc(hidden)]
pub mod buffer;
#[doc(hidden)]
pub mod cache;
#[doc(hidden)]
pub mod cancel;
#[doc(hidden)]
pub mod chunk_list;
pub mod chunkshape;
pub mod classic;
mod clock;
#[doc(hidden)]
pub mod codec;
#[doc(hidden)]
pub mod copier;
#[doc(hidden)]
pub mod copy;
#[doc(hidden)]
pub mod dims;
#[doc(hidden)]
pub mod element;
#[doc(hidden)]
pub mod error;
#[doc(hidden)]
pub mod float_format;
#[doc(hidden)]
pub mod grid;
#[doc(hidden)]
pub mod hyperslab;
pub mod key;
#[doc(hidden)]
pub mod layout;
#[doc(hidden)]
pub mod limits;
#[doc(hidden)]
pub mod lock;
#[doc(hidden)]
pub mod odometer;
#[doc(hidden)]
pub mod open_object;
pub mod owner;
mod pages;
#[doc(hidden)]
pub mod panic_guard;
#[doc(hidden)]
pub mod plan;
mod points;
#[doc(hidden)]
pub mod pool;
#[doc(hidden)]
pub mod projection;
#[doc(hidden)]
pub mod setting;
#[doc(hidden)]
pub mod shared;
pub mod status;
#[doc(hidden)]
pub mod store;
#[doc(hidden)]
pub mod strings;
#[doc(hidden)]
pub mod threads;
#[doc(hidden)]
pub mod transfer;
#[doc(hidden)]
pub mod type_name;
#[doc(hidden)]
pub mod typed;
#[doc(hidden)]
pub mod variable;
#[doc(hidden)]
pub mod waiter;
#[cfg(feature = "zstream")]
#[doc(hidden)]
pub mod zstream;

/// Requests for chunks in flight, for readers of chunks that have latency: see [`ChunkReader::in_flight`].
pub mod in_flight {
    pub use super::store::{Flight, InFlight, RawRequest, Sharing};
}

pub use buffer::Buffer;
pub use cache::{Cache, CacheStatistics};
pub use chunk_list::ChunkRun;
pub use codec::public::*;
pub use dims::MAX_RANK;
pub use element::{ElementType, TYPES, TimeUnit, TypeRow};
pub use error::{Error, ErrorKind, Result};
pub use grid::{Access, ChunkExtent, Dimension, Grid};
pub use hyperslab::{Hyperslab, Slice};
pub use limits::MemoryLimits;
pub use odometer::Odometer;
pub use plan::Plan;
pub use projection::{Projection, Projections};
pub use setting::SettingNames;
pub use store::{
    BorrowedChunk, BorrowedChunkMut, Change, ChunkLocation, ChunkReader, ChunkState, ChunkStore, Filled, ReadCost,
    Request, Take, Taken, ZeroCopyReader,
};
pub use transfer::{Options, Prepared, Progress, ProgressFunction};
pub use typed::{Element, read, read_into, write};
pub use variable::{Endian, Variable};
