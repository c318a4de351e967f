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

pub(crate) use open::Cfdb;
