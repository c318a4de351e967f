//! What a copy does not keep.

use std::collections::BTreeMap;
use std::fmt::{self, Display};

use nczchunk::{Array, Attribute, ElementType, Error, GroupDimension, Node};

use crate::attribute;
use crate::open_storage;
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
        self.compare_attributes(source.name(), source.attributes(), created.attributes());
        self.add_left_out(source.name(), source.left_out());
    }

    /// Compares a group with its copy.
    pub(super) fn compare_groups(&mut self, source: &Node, created: &Node) {
        self.compare_attributes(source.name(), source.attributes(), created.attributes());
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

    fn compare_attributes(&mut self, name: &str, source: &[Attribute], created: &[Attribute]) {
        for attribute in source.iter().filter(|attribute| attribute.name() != FILL_VALUE) {
            let same = created.iter().find(|created| created.name() == attribute.name());
            if same.is_some_and(|same| same.element_type() != attribute.element_type()) {
                self.add("types of attributes, which JSON lacks; --format nczarr keeps them".to_owned(), name);
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
            write!(f, "\nnot kept: {what} (in {}{more})", names[..names.len().min(SHOWN)].join(", "))?;
        }
        Ok(())
    }
}
