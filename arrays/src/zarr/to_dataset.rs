//! From an array's metadata, or a group's attributes, to what every format comes to.

use super::attributes::attributes;
use super::build::build;
use super::metadata::Metadata;
use crate::alloc;
use crate::dataset::{Dimensions, Node, NodeArray, Opened};
use crate::error::{Error, Result};
use crate::json::Value;
use crate::object::Storage;

/// The array whose objects have names that begin with this prefix, to be read and written.
pub(crate) fn opened(metadata: &Metadata, storage: &Storage, prefix: &str) -> Result<Opened> {
    let (variable, store) = build(metadata, storage, prefix)?;
    let name = |name: &Option<String>| Ok(name.as_deref().map(alloc::text).transpose()?);
    let names = alloc::try_collected(metadata.dimension_names.iter().map(name))?;
    let dimensions = Dimensions { names, unlimited: alloc::copied(&metadata.unlimited)?, groups: Vec::new() };
    let mut attributes = attributes(&metadata.attributes, Some(metadata.element))?;
    attributes.error.clone_from(&metadata.attributes_error);
    Ok(Opened { variable, store, element: metadata.element, dimensions, attributes, is_elsewhere: false })
}

/// An array of this name, or why it cannot be opened.
///
/// # Errors
/// Those that are not of what the metadata say, but of reading them.
pub(crate) fn array_node(storage: &Storage, name: &str, metadata: Result<Metadata>) -> Result<Node> {
    let mut format = "";
    let found = metadata.and_then(|mut metadata| {
        format = metadata.format.name(metadata.is_nczarr);
        metadata.check_codecs(storage.codecs())?;
        let mut attributes = attributes(&metadata.attributes, Some(metadata.element))?;
        attributes.error = metadata.attributes_error.take();
        Ok((attributes, array(metadata)))
    });
    Ok(Node::found(name, found)?.with_format(format))
}

/// A group of this name and format with these attributes, or why they cannot be read.
pub(crate) fn group_node(name: &str, format: &'static str, all: &Value, error: Option<Error>) -> Result<Node> {
    let mut attributes = attributes(all, None)?;
    attributes.error = error;
    Ok(Node::of_group(name, attributes)?.with_format(format))
}

/// What the metadata say. A scalar of netCDF-C's is shown without dimensions.
fn array(metadata: Metadata) -> NodeArray {
    let Metadata { element, mut shape, mut chunk_shape, shards, dimension_names, unlimited, is_scalar, .. } = metadata;
    let mut dimensions = Dimensions { names: dimension_names, unlimited, groups: Vec::new() };
    let shard_shape = shards.map(|shards| std::mem::replace(&mut chunk_shape, shards.inner));
    if is_scalar {
        (shape, chunk_shape, dimensions) = (Vec::new(), Vec::new(), Dimensions::default());
    }
    NodeArray { element, shape, chunk_shape, shard_shape, dimensions }
}
