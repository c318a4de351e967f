//! The versions of Zarr, and the documents that they keep metadata in.

/// The version of Zarr.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    V2,
    V3,
}

impl Format {
    /// The format of arrays and groups, in words.
    pub(crate) fn name(self, is_nczarr: bool) -> &'static str {
        match self {
            Format::V3 => "Zarr v3",
            Format::V2 if is_nczarr => "NCZarr",
            Format::V2 => "Zarr v2",
        }
    }
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
