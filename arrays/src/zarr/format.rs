//! The versions of Zarr, and the documents that they keep metadata in.

/// The version of Zarr.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    V2,
    V3,
}

/// The documents of arrays and groups, in all versions of Zarr and NCZarr.
pub(crate) const DOCUMENTS: [&str; 10] = [
    "zarr.json",
    ".zarray",
    ".zgroup",
    ".zattrs",
    ".zmetadata",
    ".nczarr",
    ".nczarray",
    ".nczattr",
    ".nczattrs",
    ".nczgroup",
];
