//! Hyperslabs of chunked n-dimensional arrays: the engine under netCDF-style `(start, count, stride)` reads and writes.
//!
//! ```text
//!            (start, count, stride)          variable: dimension and chunk lengths, element size, byte order, fill value
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
//!     them in; zstd wraps it   then one loop per element size, byte swap included
//! ```
//!
//! Nothing calls upward. The C interface ([`ffi`], `include/nczchunk.h`) is a thin layer over this crate.
//!
//! # Example
//!
//! ```
//! use nczchunk::hyperslab::{Access, Hyperslab};
//! use nczchunk::plan::Plan;
//! use nczchunk::store::{Lend, Lent, Store};
//! use nczchunk::transfer;
//! use nczchunk::variable::Variable;
//!
//! /// 4 x 6 bytes in two chunks of 4 x 3.
//! struct Chunks([[u8; 12]; 2]);
//!
//! impl Lend for Chunks {
//!     fn lend(&self, chunk: &[isize]) -> nczchunk::error::Result<Lent<'_>> {
//!         Ok(Lent::Chunk(&self.0[chunk[1] as usize]))
//!     }
//! }
//!
//! let chunks = Chunks([[0, 1, 2, 10, 11, 12, 20, 21, 22, 30, 31, 32], [3, 4, 5, 13, 14, 15, 23, 24, 25, 33, 34, 35]]);
//! let store = Store::lending(chunks)?;
//! let variable = Variable::new(&[4, 6], &[4, 3], 1)?;
//! let slab = Hyperslab { start: Some(&[1, 0]), count: Some(&[2, 3]), stride: Some(&[2, 2]), both_ways: false };
//! let plan = Plan::new(&variable, &slab, Access::Read)?;
//! let mut out = vec![0; plan.selected_bytes()];
//! transfer::read(&variable, &plan, &store, &mut out)?;
//! assert_eq!(out, [10, 12, 14, 30, 32, 34]);
//! # Ok::<(), nczchunk::error::Error>(())
//! ```

mod alloc;
pub mod chunkshape;
pub mod classic;
pub mod copy;
pub mod dims;
pub mod error;
pub mod ffi;
pub mod hyperslab;
pub mod key;
pub mod odometer;
pub mod plan;
pub mod projection;
pub mod status;
pub mod store;
pub mod transfer;
pub mod variable;

/// The largest rank: netCDF's NC_MAX_VAR_DIMS.
pub const MAX_RANK: usize = 1024;
