//! A group or an array that was found.

use super::attribute::{Attribute, Attributes};
use super::dimension::Dimensions;
use super::element::ElementType;
use crate::alloc;
use crate::error::{Error, ErrorKind, Result};

/// A group or an array that was found.
#[derive(Debug)]
pub struct Node {
    name: String,
    attributes: Attributes,
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
    /// Its name, with those of the groups that it is in before it, such as `ocean/sst`; empty for the place itself.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is a group.
    pub fn is_group(&self) -> bool {
        matches!(self.what, What::Group)
    }

    /// Why it cannot be opened, if that is known: its metadata are malformed, or cannot be read. Then nothing else is
    /// known of it, either.
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

    /// The lengths of an array's chunks, by which it is read.
    pub fn chunk_shape(&self) -> &[usize] {
        self.array().map_or(&[], |array| &array.chunk_shape)
    }

    /// The lengths of an array's shards, by which it is written, if it has shards.
    pub fn shard_shape(&self) -> Option<&[usize]> {
        self.array()?.shard_shape.as_deref()
    }

    /// What an array's elements are; `None` for a group.
    pub fn element_type(&self) -> Option<ElementType> {
        self.array().map(|array| array.element)
    }

    /// The name of an array's dimension, if it has one.
    pub fn dimension_name(&self, d: usize) -> Option<&str> {
        self.array()?.dimensions.name(d)
    }

    /// Whether a dimension is said to be unlimited, which netCDF does.
    pub fn is_unlimited(&self, d: usize) -> bool {
        self.array().is_some_and(|array| array.dimensions.is_unlimited(d))
    }

    /// Its attributes.
    pub fn attributes(&self) -> &[Attribute] {
        &self.attributes.list
    }

    /// Its attributes as the text of a JSON object: as they are stored, if that is how they are stored.
    pub fn attributes_json(&self) -> &str {
        &self.attributes.json
    }

    /// The same by its name below a group.
    pub(crate) fn below(self, group: &str) -> Result<Self> {
        let mut name = alloc::text(group)?;
        if !self.name.is_empty() {
            alloc::push_text(&mut name, "/")?;
            alloc::push_text(&mut name, &self.name)?;
        }
        Ok(Node { name, ..self })
    }

    pub(crate) fn of_group(name: &str, attributes: Attributes) -> Result<Self> {
        Ok(Node { name: alloc::text(name)?, attributes, what: What::Group })
    }

    /// What was found by this name, or why it cannot be read.
    ///
    /// # Errors
    /// `OutOfMemory`; `NotFound` if there is nothing.
    pub(crate) fn found(name: &str, found: Result<Node>) -> Result<Self> {
        match found {
            Err(error) if !matches!(error.kind(), ErrorKind::OutOfMemory | ErrorKind::NotFound(_)) => {
                let attributes = Attributes { list: Vec::new(), json: alloc::text("{}")? };
                Ok(Node { name: alloc::text(name)?, attributes, what: What::Unreadable(error) })
            }
            found => found,
        }
    }

    pub(crate) fn of_array(name: &str, attributes: Attributes, array: NodeArray) -> Result<Self> {
        Ok(Node { name: alloc::text(name)?, attributes, what: What::Array(alloc::try_box(array)?) })
    }
}
