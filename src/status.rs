//! # Status
//!
//! Functions that can fail return an int: 0 for success, one of netCDF's numbers below, a positive errno value, or a
//! status that a callback of yours returned.

use std::ffi::{c_char, c_int};

/// Returns the message for a status code: netCDF's message for netCDF's numbers, that of strerror for positive ones,
/// and "Unknown Error" for others. Do not free it.
#[unsafe(no_mangle)]
pub extern "C" fn nczchunk_strerror(status: c_int) -> *const c_char {
    nczchunk_engine::status::strerror(status)
}
