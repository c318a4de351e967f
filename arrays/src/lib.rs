//! Reads and writes hyperslabs `(start, count, stride)` of chunked arrays: Zarr, NCZarr, netCDF, HDF5, cfdb, and chunks
//! that the program has.
//!
//! ```text
//!     rechunk      from an array to one with other chunks, within a limit of memory
//!       |
//!     array        opens, creates, lists: an Array is a variable and a chunk store that follow from metadata
//!       |
//!     zarr  netcdf  hdf5  cfdb      what a format says of arrays, and where each chunk is
//!       |
//!     fetch        one way from a chunk to its bytes, for all formats: one after the other or many in flight
//!       |
//!     object       storages of objects: a directory, a zip file, memory, a URL, the program's own
//!       |
//!     nczchunk_engine    plans, transfers, copies, codecs, the cache
//! ```
//!
//! Without the feature `arrays` this crate is the engine alone: a program describes a [`Variable`], gives its chunks to
//! a [`ChunkStore`], and reads and writes hyperslabs.
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

#[cfg(feature = "arrays")]
mod array;
#[cfg(feature = "cfdb")]
mod cfdb;
#[cfg(feature = "arrays")]
mod dataset;
#[cfg(feature = "arrays")]
mod fetch;
#[cfg(feature = "hdf5")]
mod hdf5;
#[cfg(feature = "arrays")]
mod json;
#[cfg(feature = "arrays")]
mod netcdf;
#[cfg(feature = "arrays")]
pub mod object;
#[cfg(feature = "arrays")]
mod rechunk;
#[cfg(feature = "arrays")]
mod zarr;

// The modules of the engine are named as if they were this crate's.
#[cfg(feature = "zip")]
use nczchunk_engine::zstream;
#[cfg(feature = "arrays")]
use nczchunk_engine::{
    alloc, buffer, cache, chunk_list, codec, copier, copy, dims, element, error, float_format, grid, hyperslab, limits,
    lock, open_object, plan, pool, projection, setting, shared, store, strings, threads, transfer, type_name, typed,
    variable, waiter,
};

#[cfg(feature = "arrays")]
pub use array::{
    Array, ArrayFormat, Description, concat, concat_document, consolidate, create_group, create_storage,
    group_dimensions, is_url, list, list_each, open_storage, references, remove_group_attribute, set_group_attribute,
    set_group_attributes_json, write_netcdf_groups, write_references,
};
// For the C interface.
#[cfg(feature = "arrays")]
#[doc(hidden)]
pub use array::{change_group_attribute, create_group_at, format_above, one_node};
// For the program.
#[cfg(feature = "arrays")]
#[doc(hidden)]
pub use array::{OTHER_LENGTH, RetypedAttributes, UnlimitedLengths, Unwritten};
#[cfg(feature = "arrays")]
pub use dataset::{Attribute, AttributeValues, GroupDimension, Node};
// For the program.
#[cfg(feature = "arrays")]
#[doc(hidden)]
pub use json::{ChangedMember, changed_members};
#[cfg(not(feature = "arrays"))]
#[doc(inline)]
pub use nczchunk_engine::codec::has as has_codec;
#[doc(inline)]
pub use nczchunk_engine::codec::public::*;
// For the program.
#[doc(hidden)]
pub use nczchunk_engine::element::{Kind, native_word};
#[doc(inline)]
pub use nczchunk_engine::open_object::{ObjectState, OpenObject, Opening, Versions};
#[doc(inline)]
pub use nczchunk_engine::threads::{Team, Threads};
#[doc(inline)]
pub use nczchunk_engine::{
    Access, BorrowedChunk, BorrowedChunkMut, Buffer, Cache, CacheStatistics, Change, ChunkExtent, ChunkLocation,
    ChunkReader, ChunkRun, ChunkState, ChunkStore, Dimension, Element, ElementType, Endian, Error, ErrorKind, Filled,
    Grid, Hyperslab, MAX_RANK, MemoryLimits, Odometer, Options, Plan, Prepared, Progress, ProgressFunction, Projection,
    Projections, ReadCost, Request, Result, SettingNames, Slice, TYPES, Take, Taken, TimeUnit, TypeRow, Variable,
    ZeroCopyReader, chunkshape, classic, in_flight, key, read, read_into, status, write,
};
#[cfg(feature = "arrays")]
#[doc(hidden)]
pub use rechunk::remove_rechunk_remains;
#[cfg(feature = "arrays")]
pub use rechunk::{RechunkOptions, RechunkPass, RechunkPlan, Rechunked, rechunk, rechunk_in, rechunk_plan};
#[cfg(feature = "arrays")]
pub use zarr::{AttributeValue, has_codec};
