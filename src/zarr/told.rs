//! From an array's metadata, or a group's attributes, to what every format comes to.

use super::attributes::attributes;
use super::build::build;
use super::metadata::Metadata;
use crate::alloc;
use crate::dataset::{Dimensions, Node, NodeArray, Opened};
use crate::error::{Error, ErrorKind, Result};
use crate::json::Value;
use crate::object::Place;

/// The array whose objects have names that begin with this prefix, to be read and written.
pub(crate) fn opened(metadata: &Metadata, place: &Place, prefix: &str) -> Result<Opened> {
    let (variable, store) = build(metadata, place, prefix)?;
    let mut names = Vec::new();
    for name in &metadata.dimension_names {
        alloc::push(&mut names, name.as_deref().map(alloc::text).transpose()?)?;
    }
    let dimensions = Dimensions { names, unlimited: alloc::copied(&metadata.unlimited)? };
    let attributes = attributes(&metadata.attributes, Some(metadata.element))?;
    Ok(Opened { variable, store, element: metadata.element, dimensions, attributes })
}

/// An array of this name, or why it cannot be opened.
///
/// # Errors
/// Those that are not of what the metadata say, but of reading them.
pub(crate) fn array_node(name: &str, metadata: Result<Metadata>) -> Result<Node> {
    match metadata {
        Ok(metadata) => {
            let attributes = attributes(&metadata.attributes, Some(metadata.element))?;
            Node::of_array(name, attributes, array(metadata))
        }
        Err(error) if is_of_metadata(&error) => Node::unreadable(name, error),
        Err(error) => Err(error),
    }
}

/// A group of this name with these attributes.
pub(crate) fn group_node(name: &str, all: &Value) -> Result<Node> {
    Node::of_group(name, attributes(all, None)?)
}

/// What the metadata say. A scalar of netCDF-C's is shown without dimensions.
fn array(metadata: Metadata) -> NodeArray {
    let Metadata { element, mut shape, mut chunk_shape, shards, dimension_names, unlimited, is_scalar, .. } = metadata;
    let mut dimensions = Dimensions { names: dimension_names, unlimited };
    let mut shard_shape = shards.map(|shards| std::mem::replace(&mut chunk_shape, shards.inner));
    if is_scalar {
        (shape, chunk_shape, dimensions) = (Vec::new(), Vec::new(), Dimensions::default());
        shard_shape = shard_shape.map(|_| Vec::new());
    }
    NodeArray { element, shape, chunk_shape, shard_shape, dimensions }
}

/// Whether an error is one of what metadata say, and not of reading them.
pub(crate) fn is_of_metadata(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Metadata(_)
            | ErrorKind::Unsupported(_)
            | ErrorKind::Codec(_)
            | ErrorKind::ElementType
            | ErrorKind::Rank(_)
    )
}
