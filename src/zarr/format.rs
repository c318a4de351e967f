//! The versions of Zarr.

/// The version of Zarr.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    V2,
    V3,
}
