//! # Version
//!
//! The macros are the version that a program is compiled with. The functions return the version that it runs with.

use std::ffi::{c_char, c_int};

/// Returns the version of the library in use as a string, for example "0.3.0". The string is static and never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn nczchunk_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Returns the version of the library in use as a number to compare with NCZCHUNK_VERSION_NUMBER: major * 1000000 +
/// minor * 1000 + patch.
#[unsafe(no_mangle)]
pub extern "C" fn nczchunk_version_number() -> c_int {
    number(env!("CARGO_PKG_VERSION_MAJOR")) * 1_000_000
        + number(env!("CARGO_PKG_VERSION_MINOR")) * 1000
        + number(env!("CARGO_PKG_VERSION_PATCH"))
}

const fn number(digits: &str) -> c_int {
    let (mut value, mut i) = (0, 0);
    while i < digits.len() {
        value = value * 10 + (digits.as_bytes()[i] - b'0') as c_int;
        i += 1;
    }
    value
}
