//! cfdb files: labelled arrays in chunks, which are the values of a booklet file.
//!
//! ```text
//!   open.rs          opening a variable, and telling what there is
//!   chunks.rs        chunks that are values of a booklet file
//!   attributes.rs    the attributes: what is written, and what the metadata say
//!   metadata.rs      the metadata: variables, their shapes and origins
//!   data_type.rs     what elements are, and how they are packed
//!   booklet.rs       booklet files: a value by its key
//! ```
//!
//! Files are only read. Packed elements stay packed. docs/cfdb.md tells what is read and how.

mod attributes;
mod booklet;
mod chunks;
mod data_type;
mod metadata;
mod open;
#[cfg(test)]
mod testing;
#[cfg(all(test, not(miri), feature = "codecs"))]
mod tests;

use crate::dataset::{FileFormat, Node, Opened};
use crate::error::Result;
use crate::object::Storage;

/// The format.
pub(crate) struct Cfdb;

impl FileFormat for Cfdb {
    fn open(&self, storage: &Storage, file: &str, name: &str) -> Result<Opened> {
        open::open(storage, file, name)
    }

    fn list(
        &self,
        storage: &Storage,
        file: &str,
        name: &str,
        _: bool,
        one: &mut dyn FnMut(Node) -> Result<()>,
    ) -> Result<()> {
        open::list(storage, file, name, one)
    }

    fn is_locked(&self) -> bool {
        true
    }
}
