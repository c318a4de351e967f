//! Default chunk shapes: what two libraries choose when nobody says how a variable is to be cut.
//!
//! Both take the dimension lengths, the size of an element and a number of bytes that a chunk should come near to, and
//! both answer one chunk length per dimension. [`netcdf`] keeps the proportions of the variable; [`rechunkit`] keeps to
//! lengths with many divisors, which makes a later change of chunk shape cheap.
//!
//! [`advise`](fn@advise) finds the shape that costs least for the ways in which an array is read.

mod advise;
mod arguments;
mod netcdf;
mod rechunkit;

pub use advise::{Cost, Costs, Pattern, advise, cost, survey};
pub use netcdf::{NETCDF_TARGET_BYTES, netcdf};
pub use rechunkit::{RECHUNKIT_TARGET_BYTES, rechunkit};
