//! HDF5 files, which netCDF-4's are, to be read.
//!
//! ```text
//!   open.rs         opening an array, and telling what there is
//!   files.rs        the file, and those that its links lead to
//!   text.rs         variable-length strings
//!   chunks.rs       where chunks are, by the nodes of the index that are kept
//!   kept.rs         what is kept of the index of an array's chunks
//!   index.rs        the indices of chunks: from node to node, without reading
//!   attribute.rs    attributes
//!   bits.rs         integers of which only some bits have a meaning
//!   dataset.rs      an array as its header says
//!   datatype.rs     what elements are
//!   group.rs        the links of a group
//!   heap.rs         fractal heaps, global heaps
//!   btree.rs        version 2 B-trees
//!   header.rs       object headers: messages
//!   file.rs         a file: its superblock, and what is read of its metadata
//!   bytes.rs        numbers, and the checksum
//! ```
//!
//! The source is the HDF5 File Format Specification, version 3.0, with what libhdf5 writes. What is read of metadata
//! while an array is opened is kept in blocks and then forgotten; an index of chunks is read by nodes as they are
//! needed. Every address and length is compared with the file's length before it is used, every structure that has a
//! checksum is compared with it, and what leads back to itself ends with an error.

mod attribute;
mod bits;
mod btree;
mod bytes;
mod chunks;
mod dataset;
mod datatype;
mod file;
mod files;
mod group;
mod header;
mod heap;
mod index;
mod kept;
mod open;
#[cfg(all(test, not(miri), feature = "codecs"))]
mod tests;
mod text;

use crate::alloc;
use crate::dataset::{FileFormat, GroupDimension, Node, Opened, Opener};
use crate::error::Result;
use crate::object::{ObjectStore, Storage};

/// The format.
pub(crate) struct Hdf5;

impl FileFormat for Hdf5 {
    fn open(&self, storage: &Storage, file: &str, name: &str) -> Result<Opened> {
        open::open(storage, file, name)
    }

    fn opener<'s>(&'s self, storage: &'s Storage, file: &'s str) -> Result<Opener<'s>> {
        Ok(alloc::try_box(open::opener(storage, file)?)?)
    }

    fn list(
        &self,
        storage: &Storage,
        file: &str,
        name: &str,
        recursive: bool,
        one: &mut dyn FnMut(Node) -> Result<()>,
    ) -> Result<()> {
        open::list(storage, file, name, recursive, one)
    }

    fn dimensions(&self, storage: &Storage, file: &str, group: &str) -> Result<Vec<GroupDimension>> {
        open::dimensions(storage, file, group)
    }

    fn begins_later(&self, objects: &dyn ObjectStore, file: &str, len: u64) -> Result<bool> {
        file::has_user_block(objects, file, len)
    }

    fn has_shorter_arrays(&self) -> bool {
        true
    }
}
