//! A group with all that is in it.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use nczchunk::object::Storage;
use nczchunk::{Access, Array, ElementType, Error, ErrorKind, Node, RetypedAttributes, UnlimitedLengths};

use super::kept::Lost;
use super::new_array::{NewArray, Part};
use super::transfer::{self, How};
use super::{Copied, Format};
use crate::failure::{Failure, Result, words};
use crate::open_storage;
use crate::slab::{Selection, Slab};

/// A group that is to be copied.
pub(super) struct Group {
    storage: Storage,
    /// The group itself, and what is in it, each after the groups that it is in.
    nodes: Vec<Node>,
}

impl Group {
    /// The group of this name, or all that is at a path; `None` if that is an array.
    pub(super) fn find(path: &Path, name: Option<&str>) -> Result<Option<Group>> {
        let storage = open_storage::storage(path)?;
        let name = name.unwrap_or_default();
        if !name.is_empty() {
            let opened = Array::open_in(&storage, name, Access::Read);
            if !opened.is_err_and(|error| error.kind() == ErrorKind::NotAnArray) {
                return Ok(None);
            }
        }
        let nodes = open_storage::list(path, &storage, name, true)?;
        open_storage::note_left_out(path, &storage, &nodes);
        Ok(nodes.first().is_some_and(Node::is_group).then_some(Group { storage, nodes }))
    }

    /// Copies it; returns what is to be said. If another call may have begun with it, what is there already stays.
    pub(super) fn copy(&self, new: &NewArray, storage: &Storage, how: &How, is_continued: bool) -> Result<String> {
        if !new.skip_unreadable {
            self.check()?;
        }
        let format = new.format();
        let (mut copied, mut lost) = (Copied::default(), Lost::default());
        let (mut unlimited, mut dimensions) = (BTreeSet::new(), Vec::new());
        // A dimension has one length in the copy, too.
        let lengths = UnlimitedLengths::of(&self.storage, &self.nodes)?;
        self.compare(new, &lengths)?;
        for node in &self.nodes {
            let name = self.relative(node);
            let about = |error: Error| Failure::failed(format_args!("{}: {}", shown(node), words(&error)));
            if let Some(error) = unreadable(node) {
                lost.add_unreadable(node.name(), error);
            }
            if node.error().is_some() {
                continue;
            }
            if node.is_group() {
                match self.create(node, format, storage, name) {
                    Err(error)
                        if is_continued && matches!(error.kind(), ErrorKind::NotOverwritten | ErrorKind::Exists) => {}
                    created => created.map_err(about)?,
                }
                lost.compare_groups(node, &nczchunk::list(storage, name, false)?[0]);
                let defined = nczchunk::group_dimensions(&self.storage, node.name()).map_err(about)?;
                if format == Format::Nczarr {
                    dimensions.extend(defined.into_iter().map(|dimension| (name, dimension)));
                } else {
                    let unused = defined.iter().filter(|dimension| !self.has_array_with(node, &dimension.name));
                    unused.for_each(|dimension| lost.add_dimension(node, dimension));
                }
                continue;
            }
            let source = Array::open_in(&self.storage, node.name(), Access::Read).map_err(about)?;
            let selection = Slab::select(None, &source)?;
            let part = part(node, &source, &selection, &lengths);
            let (created, _) = transfer::transfer(new, &part, (storage, name), how, is_continued)?;
            copied.add(&source, &selection, &created)?;
            unlimited.extend((0..node.shape().len()).filter(|&d| node.is_unlimited(d)).map(|d| (name, d)));
            // Dimensions are unlimited once netCDF-C's metadata have been written, when all arrays are there.
            lost.compare(&source, &selection, &created, format == Format::Nczarr);
        }
        if format == Format::Nczarr && !(unlimited.is_empty() && dimensions.is_empty()) {
            nczchunk::write_netcdf_groups(storage, &|name, d| unlimited.contains(&(name, d)), dimensions)?;
        }
        Ok(format!("{copied}{lost}"))
    }

    /// That there is memory enough for each array, and that the lengths of dimensions suit the format.
    pub(super) fn check_plans(&self, new: &NewArray, how: &How) -> Result<()> {
        let lengths = UnlimitedLengths::of(&self.storage, &self.nodes)?;
        self.compare(new, &lengths)?;
        for node in self.nodes.iter().filter(|node| !node.is_group() && node.error().is_none()) {
            let source = Array::open_in(&self.storage, node.name(), Access::Read)?;
            if *source.element_type() != ElementType::String {
                let selection = Slab::select(None, &source)?;
                transfer::plan(new, &part(node, &source, &selection, &lengths), how)?;
            }
        }
        Ok(())
    }

    /// What tells its arrays from those that were there before, and from others.
    pub(super) fn versions(&self) -> Vec<Option<u128>> {
        let arrays = self.nodes.iter().filter(|node| !node.is_group());
        let opened = arrays.map(|node| Array::open_in(&self.storage, node.name(), Access::Read));
        opened.map(|array| array.ok().and_then(|array| array.version())).collect()
    }

    /// That all of it can be read.
    fn check(&self) -> Result<()> {
        let Some((node, error)) = self.nodes.iter().find_map(|node| Some((node, unreadable(node)?))) else {
            return Ok(());
        };
        let reason = open_storage::reason(node.name(), error);
        Err(Failure::failed(format_args!("{}: {reason}; --skip-unreadable copies the rest", shown(node))))
    }

    /// That netCDF-C can read a copy for it: it has one length for a dimension in a group.
    fn compare<'n>(&'n self, new: &NewArray, lengths: &UnlimitedLengths<'n>) -> Result<()> {
        if new.format() != Format::Nczarr {
            return Ok(());
        }
        let mut known = HashMap::new();
        for node in self.nodes.iter().filter(|node| node.error().is_none()) {
            let group = node.name().rsplit_once('/').map_or("", |(group, _)| group);
            for d in 0..node.shape().len() {
                let Some(name) = node.dimension_name(d) else { continue };
                let len = lengths.len(node, d);
                let (first, other, at) = *known.entry((group, name)).or_insert((len, node, d));
                if first != len {
                    let error = Error::from(nczchunk::OTHER_LENGTH).in_dimension(at).in_object(self.relative(other));
                    return Err(new.refused(self.relative(node), &error));
                }
            }
        }
        Ok(())
    }

    /// The name of what is in the group as the copy has it.
    fn relative<'n>(&self, node: &'n Node) -> &'n str {
        let group = self.nodes.first().map_or("", Node::name);
        node.name().strip_prefix(group).unwrap_or_default().trim_start_matches('/')
    }

    /// Whether an array in a group, or in a group in it, has a dimension of this name.
    fn has_array_with(&self, group: &Node, dimension: &str) -> bool {
        self.nodes.iter().any(|array| {
            let below = array.name().strip_prefix(group.name()).unwrap_or_default();
            let is_within = group.name().is_empty() || below.starts_with('/');
            is_within && (0..array.shape().len()).any(|d| array.dimension_name(d) == Some(dimension))
        })
    }

    fn create(&self, node: &Node, format: Format, storage: &Storage, name: &str) -> nczchunk::Result<()> {
        // netCDF-C knows no others than those that have types.
        if format == Format::Nczarr {
            let attributes = RetypedAttributes::for_netcdf(node.attributes())?;
            return nczchunk::create_group(storage, name, format.into(), "", &attributes.values()?);
        }
        nczchunk::create_group(storage, name, format.into(), node.attributes_json(), &[])
    }
}

/// All of an array, as long as its unlimited dimensions.
fn part<'a, 'n>(node: &'n Node, source: &'a Array, selection: &'a Selection, lens: &UnlimitedLengths<'n>) -> Part<'a> {
    let shape = (0..node.shape().len()).map(|d| lens.len(node, d)).collect();
    Part { source, selection, shape, is_compared: true }
}

/// Why a group or an array cannot be read, or its attributes alone.
fn unreadable(node: &Node) -> Option<&Error> {
    node.error().or(node.attributes_error())
}

/// The name of a group or an array, in messages.
fn shown(node: &Node) -> &str {
    if node.name().is_empty() { "/" } else { node.name() }
}
