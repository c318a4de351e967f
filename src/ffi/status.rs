//! # Status
//!
//! Functions that can fail return an int: 0, one of netCDF's numbers below or, passed on from a callback of yours,
//! whatever it returned. Positive numbers are errno values.

use std::ffi::{c_char, c_int};

/// The words for a status: netCDF's for netCDF's numbers, strerror's for positive ones, "Unknown Error" for others.
/// Not to be freed.
#[unsafe(no_mangle)]
pub extern "C" fn nczchunk_strerror(status: c_int) -> *const c_char {
    crate::status::strerror(status)
}
