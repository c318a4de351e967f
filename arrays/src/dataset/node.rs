//! A group or array in a listing.

use super::attribute::{Attribute, Attributes};
use super::dimension::Dimensions;
use crate::alloc;
use crate::element::ElementType;
use crate::error::{Error, ErrorKind, Result};

/// A group or array in a listing.
#[derive(Debug)]
pub struct Node {
    name: String,
    attributes: Attributes,
    format: &'static str,
    what: What,
}

#[derive(Debug)]
enum What {
    Group,
    Array(Box<NodeArray>),
    /// It is there, but what it is cannot be told.
    Unreadable(Error),
}

/// What is said of an array without opening it.
#[derive(Debug)]
pub(crate) struct NodeArray {
    pub(crate) element: ElementType,
    pub(crate) shape: Vec<usize>,
    /// The lengths of the chunks by which it is read.
    pub(crate) chunk_shape: Vec<usize>,
    pub(crate) shard_shape: Option<Vec<usize>>,
    pub(crate) dimensions: Dimensions,
}

impl Node {
    /// Its path: its name after the names of its groups, such as `ocean/sst`; empty for the storage itself.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is a group.
    pub fn is_group(&self) -> bool {
        matches!(self.what, What::Group)
    }

    /// The name of the storage format, as [`Array::format`](crate::Array::format) returns it; empty if the node cannot
    /// be opened.
    pub fn format(&self) -> &'static str {
        self.format
    }

    /// The error with which it cannot be opened, if its metadata show that. Then nothing else about it is known.
    pub fn error(&self) -> Option<&Error> {
        if let What::Unreadable(error) = &self.what { Some(error) } else { None }
    }

    fn array(&self) -> Option<&NodeArray> {
        if let What::Array(array) = &self.what { Some(array) } else { None }
    }

    /// The lengths of an array's dimensions; empty for a group.
    pub fn shape(&self) -> &[usize] {
        self.array().map_or(&[], |array| &array.shape)
    }

    /// The lengths of the chunks by which an array is read.
    pub fn chunk_shape(&self) -> &[usize] {
        self.array().map_or(&[], |array| &array.chunk_shape)
    }

    /// The lengths of the shards by which an array is written, if it has shards.
    pub fn shard_shape(&self) -> Option<&[usize]> {
        self.array()?.shard_shape.as_deref()
    }

    /// The type of an array's elements; `None` for a group.
    pub fn element_type(&self) -> Option<ElementType> {
        self.array().map(|array| array.element)
    }

    /// The name of an array's dimension, if it has one.
    pub fn dimension_name(&self, d: usize) -> Option<&str> {
        self.array()?.dimensions.name(d)
    }

    /// The path of the group that defines an array's dimension, where it is known.
    pub(crate) fn dimension_group(&self, d: usize) -> Option<&str> {
        self.array()?.dimensions.group(d)
    }

    /// Whether the metadata mark a dimension as unlimited, as netCDF does.
    pub fn is_unlimited(&self, d: usize) -> bool {
        self.array().is_some_and(|array| array.dimensions.is_unlimited(d))
    }

    /// The attributes.
    pub fn attributes(&self) -> &[Attribute] {
        &self.attributes.list
    }

    /// The error if the attributes alone cannot be read. Then it is listed without attributes.
    pub fn attributes_error(&self) -> Option<&Error> {
        self.attributes.error.as_ref()
    }

    /// What is stored and not shown, as [`Array::left_out`] does.
    ///
    /// [`Array::left_out`]: crate::Array::left_out
    pub fn left_out(&self) -> &[Error] {
        &self.attributes.left_out
    }

    /// The attributes as a JSON object in a string: unchanged, if they are stored in that form.
    pub fn attributes_json(&self) -> &str {
        &self.attributes.json
    }

    pub(crate) fn of_group(name: &str, attributes: Attributes) -> Result<Self> {
        Ok(Node { name: alloc::text(name)?, attributes, format: "", what: What::Group })
    }

    /// The same, of this format if it can be opened.
    pub(crate) fn with_format(mut self, format: &'static str) -> Self {
        self.format = if self.error().is_none() { format } else { "" };
        self
    }

    /// An array of this name and what is said of it, or why it cannot be opened.
    ///
    /// # Errors
    /// Those that are not of what the metadata say, but of reading them.
    pub(crate) fn found(name: &str, found: Result<(Attributes, NodeArray)>) -> Result<Self> {
        match found {
            Ok((attributes, array)) => Node::of_array(name, attributes, array),
            Err(error) if is_of_metadata(&error) => Node::unreadable(name, error),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn of_array(name: &str, attributes: Attributes, array: NodeArray) -> Result<Self> {
        Ok(Node { name: alloc::text(name)?, attributes, format: "", what: What::Array(alloc::try_box(array)?) })
    }

    /// Something that cannot be opened, and why.
    pub(crate) fn unreadable(name: &str, error: Error) -> Result<Self> {
        let attributes = Attributes::of(Vec::new())?;
        Ok(Node { name: alloc::text(name)?, attributes, format: "", what: What::Unreadable(error) })
    }
}

/// Whether an error is one of what metadata say, and not of reading them.
fn is_of_metadata(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Metadata(_)
            | ErrorKind::Unsupported(_)
            | ErrorKind::Codec(_)
            | ErrorKind::ElementType
            | ErrorKind::Rank(_)
            | ErrorKind::Limit { .. }
    )
}
