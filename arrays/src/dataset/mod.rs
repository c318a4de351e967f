//! What is said of arrays and groups, whatever the format that they are stored in.
//!
//! ```text
//!   attribute.rs  attributes: one by one with their types, and all as JSON text
//!   dimension.rs  the dimensions of an array and of a group
//!   format.rs     what reads the files of a format that hold arrays
//!   head.rs       the beginning of a file
//!   node.rs       a group or an array that was found
//!   opened.rs     an array that can be read
//! ```
//!
//! A format comes to these: it lists [`Node`]s, and opens an array as an [`Opened`], which is a variable and a store. A
//! format of files does both as a [`FileFormat`].

mod attribute;
mod dimension;
mod format;
mod head;
mod node;
mod parts;

#[cfg(feature = "cfdb")]
pub(crate) use attribute::float_as_json;
pub use attribute::{Attribute, AttributeValues};
pub(crate) use attribute::{Attributes, Values, lossy_text, numbers_as_json};
pub(crate) use dimension::Dimensions;
pub use dimension::GroupDimension;
pub(crate) use format::{FileFormat, OneNode, Opener, only_group};
pub(crate) use head::Head;
#[cfg(feature = "hdf5")]
pub(crate) use head::block;
pub use node::Node;
pub(crate) use node::NodeArray;
pub(crate) use parts::Opened;

/// What HDF5 files begin with, perhaps behind a user's block. They are known where they cannot be read, too.
pub(crate) const HDF5_MAGIC: [u8; 8] = *b"\x89HDF\r\n\x1a\n";

/// What cfdb files begin with: a booklet file with values of any length. They are known where they cannot be read, too.
pub(crate) const CFDB_MAGIC: [u8; 16] = *b"\x4f\x7e\x8a\x3f\xe7\x5c\x47\x50\xad\x43\x0a\x72\x8f\xe3\x1c\xfe";
