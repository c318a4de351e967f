//! Where the chunks of a variable are that are parts of a file.

use super::layout::Layout;
use crate::alloc;
use crate::dims::Dims;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::{Locate, Location, Part};
use crate::object::Name;
use crate::store::Filled;

/// What lands in memory is read by so many bytes. A read of as many takes much longer than to ask for it.
const SWAPPED: usize = 128 << 10;

/// Where the chunks of a variable are.
pub(crate) struct InFile {
    /// The name of the file in the storage.
    file: String,
    /// The name of the variable in the file.
    variable: String,
    layout: Layout,
    /// Whether the file ends before the variable does.
    is_truncated: bool,
}

impl InFile {
    /// Of a variable in a file that had so many bytes when its header was read.
    pub(crate) fn new(file: &str, variable: &str, layout: Layout, file_len: u64) -> Result<Self> {
        let is_truncated = layout.end > file_len;
        Ok(InFile { file: alloc::text(file)?, variable: alloc::text(variable)?, layout, is_truncated })
    }
}

impl Locate for InFile {
    fn locate(&self, chunk: &[isize]) -> Result<Location> {
        let part = Part::Span { begin: self.layout.offset(chunk, 0)?, end: self.layout.end_of(chunk)? };
        Ok(Location { object: Dims::new(), part })
    }

    fn name(&self, _object: &[isize]) -> Result<Name> {
        Name::of(format_args!("{}", self.file))
    }

    fn missing(&self, _object: &[isize]) -> Result<Filled> {
        Err(ErrorKind::NotFound("file").into())
    }

    fn too_short(&self, _object: &[isize]) -> Error {
        ErrorKind::Truncated.in_object(&self.variable)
    }

    fn is_constant(&self) -> bool {
        true
    }

    fn tells_len(&self) -> bool {
        false
    }

    fn reads_no_gaps(&self) -> bool {
        self.is_truncated
    }

    fn swapped_part(&self) -> Option<usize> {
        Some(SWAPPED)
    }
}

#[cfg(all(test, not(miri)))]
mod tests;
