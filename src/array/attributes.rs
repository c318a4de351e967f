//! The attributes of an array or a group: one by one with their types, and all as JSON text.

use crate::alloc;
use crate::error::Result;
use crate::json::{self, Value};
use crate::zarr::{self, ElementType, Values};

/// An attribute.
#[derive(Debug)]
pub struct Attribute {
    name: String,
    element: ElementType,
    values: Values,
}

/// The values of an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AttributeValues<'a> {
    /// Elements in native byte order; those of [`ElementType::Char`] are a text in UTF-8.
    Bytes(&'a [u8]),
    /// Texts, of [`ElementType::String`].
    Texts(&'a [String]),
}

impl Attribute {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The type of its values: one that netCDF has.
    pub fn element_type(&self) -> &ElementType {
        &self.element
    }

    /// Its values.
    pub fn values(&self) -> AttributeValues<'_> {
        match &self.values {
            Values::Bytes(bytes) => AttributeValues::Bytes(bytes),
            Values::Texts(texts) => AttributeValues::Texts(texts),
        }
    }
}

/// All attributes.
#[derive(Debug)]
pub(super) struct Attributes {
    pub list: Vec<Attribute>,
    pub json: String,
}

impl Attributes {
    /// Those that are the user's, of an array with such elements or of a group: what formats keep among them for
    /// themselves is left out of the list.
    pub(super) fn new(all: &Value, element: Option<ElementType>) -> Result<Self> {
        let mut list: Vec<Attribute> = Vec::new();
        for (name, _) in all.members() {
            // Of several members with one name the last counts, and is found by it.
            if zarr::is_internal_attribute(name) || list.iter().any(|attribute| attribute.name == *name) {
                continue;
            }
            if let Some(zarr::Attribute { element, values }) = zarr::attribute(all, element, name)? {
                alloc::push(&mut list, Attribute { name: alloc::text(name)?, element, values })?;
            }
        }
        Ok(Attributes { list, json: json::compact(all)? })
    }
}
