//! Zarr arrays: their metadata, as pure functions from texts to values and back, and their chunks as objects.
//!
//! ```text
//!   open.rs            from a name to metadata
//!   separator.rs       whether the chunks are named as the metadata say
//!   to_dataset.rs      from metadata to what every format comes to
//!   build.rs           from metadata to a variable and a store
//!   make.rs            from a codec's settings to the codec
//!   n5.rs              blocks of N5 as a codec
//!   chunks.rs          chunks that are objects
//!   shard/             chunks that are parts of objects
//!
//!   format.rs          the versions of Zarr, and their documents
//!   metadata.rs        what all versions' metadata come to               axes.rs                     and lists of axes
//!   v2.rs  v3.rs       .zarray and .zattrs, zarr.json: read              write_v2.rs  write_v3.rs    and written
//!   group.rs           groups, and the metadata that they consolidate
//!   nczarr.rs          what netCDF-C adds to Zarr v2
//!   codecs.rs          the codecs' names and configurations: read       write_codecs.rs             and written
//!   fill.rs            fill values: read                                write_fill.rs               and written
//!   attributes.rs      attributes as values of netCDF types: read        write_attributes.rs         and written
//!   dtype.rs           the types of elements as v2 spells them          data_type.rs                as v3 does
//!   base64.rs          what they say, as functions
//! ```
//!
//! An error names its place as a JSON path; the caller adds the document's name.

mod attributes;
mod axes;
mod base64;
mod build;
mod chunks;
mod codecs;
mod data_type;
mod dtype;
mod fill;
mod format;
mod group;
mod make;
mod metadata;
mod n5;
mod nczarr;
mod open;
mod separator;
mod shard;
mod to_dataset;
mod v2;
mod v3;
mod write_attributes;
mod write_codecs;
mod write_fill;
mod write_v2;
mod write_v3;

#[cfg(test)]
mod malformed_tests;
#[cfg(all(test, feature = "codecs"))]
mod vectors;

#[cfg(feature = "cfdb")]
pub(crate) use attributes::readable;
pub(crate) use attributes::{FILL_VALUE, attributes, check_attributes, told_fill_value};
pub(crate) use base64::{decode as base64, encode as base64_of};
pub use codecs::has_codec;
pub(crate) use codecs::{CodecSpec, Shards, codec_named};
pub(crate) use fill::is_same_fill_value;
pub(crate) use format::{DOCUMENTS, Format};
pub(crate) use group::{Node, consolidated_v2_of_value, group_v2_of_values, node_v3_of_value};
#[cfg(test)]
use group::{consolidated_v2, read_group_v2, read_node_v3};
pub(crate) use metadata::{KeyEncoding, Keys, Metadata};
pub(crate) use nczarr::{SCALAR_DIMENSION, keep_types, own_attributes};
pub(crate) use nczarr::{set_netcdf_array, set_netcdf_group, set_netcdf_superblock};
pub(crate) use open::{array_of_document, below, document, has_netcdf_group, is_there, open, told, why_nothing};
pub(crate) use to_dataset::{array_node, group_node, opened};
#[cfg(test)]
pub(crate) use v2::read_v2;
pub(crate) use v2::v2_of_values;
#[cfg(test)]
pub(crate) use v3::read_v3;
pub(crate) use v3::v3_of_value;
pub use write_attributes::AttributeValue;
pub(crate) use write_attributes::{is_number, remove_attribute, set_attribute, set_attributes_json};
pub(crate) use write_v2::{write_array_v2, write_attributes_v2};
pub(crate) use write_v3::write_v3;
