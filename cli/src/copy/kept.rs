//! What a copy does not keep.

use std::collections::BTreeMap;
use std::fmt::{self, Display};

use nczchunk::{Array, Attribute, AttributeValues, ElementType, Error, GroupDimension, Node};

use crate::attribute;
use crate::element::{self, Number};
use crate::open_storage;
use crate::screen::printable;
use crate::slab::{self, Selection};

/// The attribute that formats know.
const FILL_VALUE: &str = "_FillValue";

/// What is lost, each with the names of what had it, in the order in which it is said.
#[derive(Debug, Default)]
pub(super) struct Lost(BTreeMap<String, Vec<String>>);

impl Lost {
    /// Compares an array with its copy, in which dimensions may be unlimited or not.
    pub(super) fn compare(&mut self, source: &Array, selection: &Selection, created: &Array, keeps_unlimited: bool) {
        for d in selection.kept().filter(|&d| source.is_unlimited(d) && !keeps_unlimited) {
            let name = slab::dimension_name(source, d);
            let how = "copy the whole group with --format nczarr to keep it";
            self.add(format!("unlimited dimension {name}; {how}"), source.name());
        }
        if source.element_type() != created.element_type() && *source.element_type() == ElementType::Char {
            self.add("characters, which are strings of 1 byte in Zarr v3".to_owned(), source.name());
        }
        for (i, d) in selection.kept().enumerate() {
            if let Some(name) = source.dimension_name(d).filter(|name| created.dimension_name(i) != Some(name)) {
                self.add(format!("name of dimension {name}; --format zarr3 keeps it"), source.name());
            }
        }
        let attributes = [source.attributes(), created.attributes()];
        self.compare_attributes(source.name(), attributes, [source.attributes_json(), created.attributes_json()]);
        self.compare_fill_values(source, created);
        self.add_left_out(source.name(), source.left_out());
    }

    /// Compares the attribute that formats have in types and words of their own or, of texts, in the metadata alone.
    fn compare_fill_values(&mut self, source: &Array, created: &Array) {
        let Some(told) = fill_value(source) else { return };
        let how = match fill_value(created) {
            Some(copied) if is_same_fill(told, copied, *created.element_type()) => return,
            Some(_) => "which has another value in the copy",
            None if Some(attribute::values(told)) == text_of_fill(created) => return,
            None => "which the copy does not have",
        };
        self.add(format!("attribute {FILL_VALUE}, {how}"), source.name());
    }

    /// Compares a group with its copy.
    pub(super) fn compare_groups(&mut self, source: &Node, created: &Node) {
        let attributes = [source.attributes(), created.attributes()];
        self.compare_attributes(source.name(), attributes, [source.attributes_json(), created.attributes_json()]);
        self.add_left_out(source.name(), source.left_out());
    }

    /// Adds what the source has and the library does not show, each with the reason.
    fn add_left_out(&mut self, name: &str, left_out: &[Error]) {
        for error in left_out {
            let attribute = if error.about().is_empty() { "" } else { "attribute " };
            self.add(format!("{attribute}{}", attribute::about(error)), name);
        }
    }

    /// Adds an array or a group that cannot be read.
    pub(super) fn add_unreadable(&mut self, name: &str, error: &Error) {
        self.add(open_storage::reason(name, error), name);
    }

    /// Adds a dimension of a group that no array has.
    pub(super) fn add_dimension(&mut self, group: &Node, GroupDimension { name, len, .. }: &GroupDimension) {
        self.add(format!("dimension {name} = {len}, which no array has; --format nczarr keeps it"), group.name());
    }

    /// Compares attributes, and all of them as JSON, with those of the copy.
    fn compare_attributes(&mut self, name: &str, [source, created]: [&[Attribute]; 2], [json, copied]: [&str; 2]) {
        for attribute in source.iter().filter(|attribute| attribute.name() != FILL_VALUE) {
            let Some(same) = created.iter().find(|created| created.name() == attribute.name()) else { continue };
            if same.element_type() != attribute.element_type() {
                self.add("types of attributes, which JSON lacks; --format nczarr keeps them".to_owned(), name);
            }
            // As JSON both have the same in the place of what is no UTF-8.
            if is_broken_text(attribute) && same.values() != attribute.values() {
                self.add(format!("attribute {}, a text that is not UTF-8", attribute.name()), name);
            }
        }
        // Both are the library's own texts.
        for changed in nczchunk::changed_members(json, copied).unwrap_or_default() {
            let how =
                if changed.is_missing { "which the copy does not have" } else { "which has another value in the copy" };
            if is_of_user(&changed.name) {
                self.add(format!("attribute {}, {how}", changed.name), name);
            }
        }
    }

    fn add(&mut self, what: String, name: &str) {
        let names = self.0.entry(what).or_default();
        let name = if name.is_empty() { "/" } else { name };
        if names.last().is_none_or(|last| last != name) {
            names.push(name.to_owned());
        }
    }
}

impl Display for Lost {
    /// A line for each, after a line feed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 5;
        for (what, names) in &self.0 {
            let more = if names.len() > SHOWN { ", ..." } else { "" };
            let names = names[..names.len().min(SHOWN)].join(", ");
            write!(f, "\nnot kept: {}", printable(&format!("{what} (in {names}{more})")))?;
        }
        Ok(())
    }
}

/// The attribute that formats know.
fn fill_value(array: &Array) -> Option<&Attribute> {
    array.attributes().iter().find(|attribute| attribute.name() == FILL_VALUE)
}

/// Whether fill values are the same, those that are numbers as elements of this type.
fn is_same_fill(one: &Attribute, other: &Attribute, element: ElementType) -> bool {
    let is_same = |(one, other): (&f64, &f64)| match element {
        ElementType::Half | ElementType::Float => *one as f32 == *other as f32,
        _ => one == other,
    } || one.is_nan() && other.is_nan();
    match (numbers(one), numbers(other)) {
        (Some(one), Some(other)) => one.len() == other.len() && one.iter().zip(&other).all(is_same),
        _ => attribute::values(one) == attribute::values(other),
    }
}

/// The numbers that an attribute has, if it has no texts.
fn numbers(attribute: &Attribute) -> Option<Vec<f64>> {
    let (element, AttributeValues::Bytes(bytes)) = (*attribute.element_type(), attribute.values()) else { return None };
    let number = |bytes| element::number(element, bytes).map(Number::as_f64);
    bytes.chunks_exact(element.size().max(1)).map(number).collect()
}

/// The fill value of an array of texts, as an attribute is shown.
fn text_of_fill(array: &Array) -> Option<String> {
    let (element, bytes) = (*array.element_type(), array.fill_value().unwrap_or_default());
    let mut text = String::new();
    match element {
        ElementType::String => text.push_str(&String::from_utf8_lossy(bytes)),
        _ if element::is_text(element) => element::push(&mut text, element, bytes),
        _ => return None,
    }
    let mut quoted = String::new();
    element::push_quoted(&mut quoted, &text);
    Some(quoted)
}

/// Whether an attribute is a text that is not UTF-8.
fn is_broken_text(attribute: &Attribute) -> bool {
    let AttributeValues::Bytes(bytes) = attribute.values() else { return false };
    *attribute.element_type() == ElementType::Char && std::str::from_utf8(bytes).is_err()
}

/// Whether an attribute is the user's, and is kept as it is. Others are there for the sake of formats.
fn is_of_user(name: &str) -> bool {
    let is_nczarr = name.starts_with("_nczarr_") || name.starts_with("_NCZARR_");
    !is_nczarr && !["_ARRAY_DIMENSIONS", "_NCProperties", "_nczarr", FILL_VALUE].contains(&name)
}
