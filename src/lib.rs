//! Hyperslabs of chunked n-dimensional arrays: the engine under netCDF-style `(start, count, stride)` reads and writes.
//!
//! ```text
//!            (start, count, stride)          variable: grid of chunks, element size, byte order, fill value
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
//! Above this engine, with the feature `arrays`, is what opens arrays: [`Array`] is a variable and a store that follow
//! from metadata (`zarr`), whose chunks are objects in a storage ([`object`]): a directory, a zip file, memory. Or they
//! follow from what a file says of itself (`netcdf`, `cfdb`), of which its chunks are parts. Each of these formats says
//! where a chunk is, and one fetcher (`fetch`) reads it.
//!
//! Nothing calls upward. The C interface (`include/*.h`) is a thin layer over this crate.
//!
//! # Example
//!
//! ```
//! use nczchunk::{Buffer, Filled, Hyperslab, Request, ChunkStore, Variable};
//!
//! // 4 x 6 bytes in two chunks of 4 x 3.
//! let chunks = [[0, 1, 2, 10, 11, 12, 20, 21, 22, 30, 31, 32], [3, 4, 5, 13, 14, 15, 23, 24, 25, 33, 34, 35]];
//! let fill = |request: &Request, buffer: &mut Buffer| {
//!     let chunk: &[u8] = &chunks[request.chunk()[1] as usize];
//!     buffer.write(chunk);
//!     Ok(Filled::Stored(chunk.len()))
//! };
//!
//! let variable = Variable::new(&[4, 6], &[4, 3], 1)?;
//! let store = ChunkStore::new(fill)?;
//! let slab = Hyperslab::new(&[1, 0], &[2, 3]).with_stride(&[2, 2]);
//! let values = nczchunk::read::<u8>(&variable, &store, &slab)?;
//! assert_eq!(values, [10, 12, 14, 30, 32, 34]);
//! # Ok::<(), nczchunk::Error>(())
//! ```

mod alloc;
#[cfg(feature = "arrays")]
mod array;
mod buffer;
mod cache;
mod cancel;
#[cfg(feature = "cfdb")]
mod cfdb;
pub mod chunkshape;
pub mod classic;
mod codec;
mod copier;
mod copy;
#[cfg(feature = "arrays")]
mod dataset;
mod dims;
mod element;
mod error;
#[cfg(feature = "arrays")]
mod fetch;
#[doc(hidden)]
pub mod ffi;
mod float_format;
mod grid;
#[cfg(feature = "hdf5")]
mod hdf5;
mod hyperslab;
#[cfg(feature = "arrays")]
mod json;
pub mod key;
mod layout;
mod limits;
mod lock;
#[cfg(feature = "arrays")]
mod netcdf;
#[cfg(feature = "arrays")]
pub mod object;
mod odometer;
mod open_object;
mod panic_guard;
mod plan;
mod pool;
mod projection;
mod setting;
mod shared;
pub mod status;
mod store;
#[cfg(feature = "arrays")]
mod strings;
mod transfer;
mod typed;
mod variable;
mod waiter;
#[cfg(feature = "arrays")]
mod zarr;
#[cfg(any(feature = "gzip", feature = "zip", feature = "zlib"))]
mod zstream;

#[cfg(feature = "arrays")]
pub use array::{Array, ArrayFormat, Description, create_group, create_storage, is_url, list, open_storage};
pub use buffer::Buffer;
pub use cache::{Cache, CacheStatistics};
pub use codec::public::*;
#[cfg(feature = "arrays")]
pub use dataset::{Attribute, AttributeValues, Node};
pub use dims::MAX_RANK;
pub use element::{ElementType, TYPES, TimeUnit, TypeRow};
pub use error::{Error, ErrorKind, Result};
pub use grid::{Access, Dimension, Grid};
pub use hyperslab::{Hyperslab, Slice};
#[cfg(feature = "arrays")]
pub use limits::MemoryLimits;
pub use odometer::Odometer;
#[doc(hidden)]
pub use open_object::{ObjectState, OpenObject, Opening, Versions};
pub use plan::Plan;
pub use projection::{Projection, Projections};
pub use setting::SettingNames;
pub use store::{
    BorrowedChunk, BorrowedChunkMut, Change, ChunkLocation, ChunkReader, ChunkState, ChunkStore, Filled, Request, Take,
    Taken, ZeroCopyReader,
};
pub use transfer::{Options, Prepared, Progress, ProgressFunction};
pub use typed::{Element, read, read_into, write};
pub use variable::{Endian, Variable};
#[cfg(feature = "arrays")]
pub use zarr::AttributeValue;
