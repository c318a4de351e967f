//! Hyperslabs of chunked n-dimensional arrays.

pub mod copy;
pub mod dims;
pub mod error;
pub mod ffi;
pub mod hyperslab;
mod memory;
pub mod odometer;
pub mod plan;
pub mod projection;
pub mod status;
pub mod store;
pub mod transfer;
pub mod variable;

/// netCDF's NC_MAX_VAR_DIMS: no variable has more dimensions.
pub const MAX_RANK: usize = 1024;
