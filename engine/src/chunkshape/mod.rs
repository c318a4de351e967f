//! Default chunk shapes: what three libraries choose when nobody says how a variable is to be cut.
//!
//! All take the dimension lengths and the size of an element, and answer one chunk length per dimension. [`netcdf`] and
//! [`rechunkit`] take a number of bytes, too, that a chunk should come near to: the former keeps the proportions of the
//! variable, the latter keeps to lengths with many divisors, which makes a later change of chunk shape cheap. [`h5py`]
//! halves the dimensions to chunks of 8 KiB to 1 MiB, by the size of the variable.
//!
//! [`advise`](fn@advise) finds the shape that costs least for the ways in which an array is read.

mod advise;
mod h5py;
mod netcdf;
mod rechunkit;

pub use advise::{Cost, Costs, Pattern, advise, cost, survey};
pub use h5py::h5py;
pub use netcdf::{NETCDF_TARGET_BYTES, netcdf};
pub use rechunkit::{RECHUNKIT_TARGET_BYTES, rechunkit};

use crate::dims::check_rank;
use crate::error::{ErrorKind, Result};

/// Checks what all of them are given.
fn check(dimlens: &[usize], typesize: usize, chunklens: &[usize]) -> Result<()> {
    check_rank(dimlens.len())?;
    if typesize == 0 {
        return Err(ErrorKind::Argument("the element size is 0").into());
    }
    if chunklens.len() != dimlens.len() {
        return Err(ErrorKind::Argument("there must be one chunk length for each dimension").into());
    }
    Ok(())
}
