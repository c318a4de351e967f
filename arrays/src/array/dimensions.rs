//! The dimensions that groups define, and how long those are that are unlimited.

use super::documents::{V2_ATTRIBUTES, V2_GROUP, V3, groups_above};
use super::list::{clean_name, no_node};
use super::{file, joined};
use crate::alloc;
use crate::dataset::{GroupDimension, Node};
use crate::error::{Error, ErrorKind, Result};
use crate::object::Storage;
use crate::zarr;

/// The dimensions that a group of a storage defines, used by an array or not, in the order in which the format has
/// them; an empty name is the storage itself. Classic netCDF files, HDF5 files and groups of netCDF-C's NCZarr define
/// dimensions. Other groups of Zarr and cfdb files do not, so the list is empty: there, the names and lengths of
/// dimensions are those of the arrays.
///
/// An unlimited dimension of HDF5 has the length of its scale; arrays that have the dimension may be longer.
///
/// # Errors
/// `NotFound` if there is no such group, `Metadata`, `OutOfMemory`, and those of the storage.
pub fn group_dimensions(storage: &Storage, group: &str) -> Result<Vec<GroupDimension>> {
    let group = clean_name(group)?;
    if let Some(joined) = storage.joined() {
        return joined::dimensions(storage, joined, group);
    }
    if let Some(file) = storage.file_name() {
        return file::dimensions(storage, file, group);
    }
    if let Some(document) = zarr::document(storage, group, V2_GROUP)? {
        let attributes = zarr::document(storage, group, V2_ATTRIBUTES);
        return Ok(zarr::group_v2_of_values(&document, attributes)?.dimensions);
    }
    if let Some(document) = zarr::document(storage, group, V3)? {
        if let zarr::Node::Group(_) = zarr::node_v3_of_value(document, storage.codecs())? {
            return Ok(Vec::new());
        }
    }
    Err(no_node(storage, group))
}

/// How long the unlimited dimensions of arrays are for netCDF: as long as the longest array that has the dimension.
/// Arrays of HDF5 may be shorter, which netCDF shows with fill values up to there.
#[derive(Debug)]
pub struct UnlimitedLengths<'n> {
    /// The groups of arrays with unlimited dimensions, and those around them, each with the names of the dimensions
    /// that it defines, in order.
    groups: Vec<(&'n str, Vec<String>)>,
    /// Each dimension with its length, in order.
    lengths: Vec<(Unlimited<'n>, usize)>,
}

/// An unlimited dimension: the group that defines it, and its name.
type Unlimited<'n> = (&'n str, &'n str);

impl<'n> UnlimitedLengths<'n> {
    /// Those of the arrays among nodes of a storage. Arrays elsewhere in the storage do not count, nor dimensions that
    /// no group around the array defines.
    ///
    /// # Errors
    /// `Unsupported` for joined files with such arrays, in which elements may be missing anywhere; those of
    /// [`group_dimensions`].
    pub fn of(storage: &Storage, nodes: &'n [Node]) -> Result<Self> {
        let mut all = UnlimitedLengths { groups: Vec::new(), lengths: Vec::new() };
        let is_unlimited = |node: &Node| (0..node.shape().len()).any(|d| node.is_unlimited(d));
        for array in nodes.iter().filter(|node| is_unlimited(node)) {
            for group in groups_above(array.name()) {
                if let Err(place) = all.groups.binary_search_by_key(&group, |(name, _)| name) {
                    let mut names = Vec::new();
                    for dimension in group_dimensions(storage, group)? {
                        alloc::push(&mut names, dimension.name)?;
                    }
                    names.sort_unstable();
                    alloc::insert(&mut all.groups, place, (group, names))?;
                }
            }
            for (d, &len) in array.shape().iter().enumerate() {
                let Some(dimension) = all.dimension(array, d) else { continue };
                match all.lengths.binary_search_by_key(&dimension, |(other, _)| *other) {
                    Ok(place) => all.lengths[place].1 = all.lengths[place].1.max(len),
                    Err(place) => alloc::insert(&mut all.lengths, place, (dimension, len))?,
                }
            }
        }
        if storage.joined().is_some() {
            all.check_joined(nodes)?;
        }
        Ok(all)
    }

    fn check_joined(&self, nodes: &'n [Node]) -> Result<()> {
        const WORDS: &str =
            "joined files in which variables are shorter than their unlimited dimension: it is not known in which";
        for node in nodes {
            if let Some(d) = node.shape().iter().enumerate().position(|(d, &len)| len != self.len(node, d)) {
                return Err(Error::from(ErrorKind::Unsupported(WORDS)).in_dimension(d).in_object(node.name()));
            }
        }
        Ok(())
    }

    /// The length of an array's dimension as netCDF has it.
    pub fn len(&self, array: &'n Node, d: usize) -> usize {
        let place = self.dimension(array, d).map(|of| self.lengths.binary_search_by_key(&of, |(other, _)| *other));
        let longest = place.and_then(|place| Some(self.lengths.get(place.ok()?)?.1));
        longest.or(array.shape().get(d).copied()).unwrap_or_default()
    }

    /// The unlimited dimension that an array has as one of its own: that of the innermost group that defines one of
    /// this name.
    fn dimension(&self, array: &'n Node, d: usize) -> Option<Unlimited<'n>> {
        let name = array.dimension_name(d).filter(|_| array.is_unlimited(d))?;
        let defines = |group: &&str| {
            let place = self.groups.binary_search_by_key(group, |(name, _)| name);
            place.is_ok_and(|place| self.groups[place].1.binary_search_by_key(&name, String::as_str).is_ok())
        };
        Some((groups_above(array.name()).filter(defines).last()?, name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{Attributes, Dimensions, NodeArray};
    use crate::element::ElementType;
    use crate::object::Memory;

    /// Dimensions that are called alike are different ones where no group around the arrays defines them.
    #[test]
    fn only_dimensions_of_groups_around_arrays_have_several_lengths() {
        let storage = Storage::new(Memory::new()).unwrap();
        let of = |group: &str| {
            let dimensions = format!(r#"{{"_nczarr_group":{{"dimensions":{group},"arrays":[]}}}}"#);
            (r#"{"zarr_format":2}"#, dimensions)
        };
        let t = r#"{"t":{"size":2,"unlimited":1}}"#;
        for (name, dimensions) in [("", "{}"), ("a", "{}"), ("b", "{}"), ("c", t), ("c/d", "{}")] {
            let (group, attributes) = of(dimensions);
            let slash = if name.is_empty() { "" } else { "/" };
            storage.write(&format!("{name}{slash}.zgroup"), group.as_bytes()).unwrap();
            storage.write(&format!("{name}{slash}.zattrs"), attributes.as_bytes()).unwrap();
        }
        let array = |name: &str, len| {
            let dimensions = Dimensions { names: vec![Some("t".to_owned())], unlimited: vec![true] };
            let (shape, chunk_shape) = (vec![len], vec![1]);
            let array = NodeArray { element: ElementType::Int, shape, chunk_shape, shard_shape: None, dimensions };
            Node::of_array(name, Attributes::of(Vec::new()).unwrap(), array).unwrap()
        };
        let nodes = [array("a/v", 3), array("b/v", 9), array("c/v", 3), array("c/d/w", 5), array("c/d/x", 4)];
        let lengths = UnlimitedLengths::of(&storage, &nodes).unwrap();
        assert_eq!(nodes.each_ref().map(|node| lengths.len(node, 0)), [3, 9, 5, 5, 5]);
    }

    #[test]
    fn a_group_of_netcdf_c_has_dimensions_and_others_have_none() {
        let storage = Storage::new(Memory::new()).unwrap();
        let attributes = r#"{"_nczarr_group":{"dimensions":{"x":4,"t":{"size":2,"unlimited":1}},"arrays":[]}}"#;
        let array = r#"{"zarr_format":3,"node_type":"array","shape":[],"data_type":"int8","chunk_grid":{"name":
            "regular","configuration":{"chunk_shape":[]}},"chunk_key_encoding":"default","fill_value":0,
            "codecs":["bytes"]}"#;
        for (name, text) in [
            ("n/.zgroup", r#"{"zarr_format":2}"#),
            ("n/.zattrs", attributes),
            ("plain/.zgroup", r#"{"zarr_format":2}"#),
            ("g/zarr.json", r#"{"zarr_format":3,"node_type":"group"}"#),
            ("a/zarr.json", array),
        ] {
            storage.write(name, text.as_bytes()).unwrap();
        }
        let dimension = |name: &str, len, is_unlimited| GroupDimension { name: name.to_owned(), len, is_unlimited };
        let of = |group: &str| group_dimensions(&storage, group);
        assert_eq!(of("/n").unwrap(), [dimension("x", 4, false), dimension("t", 2, true)]);
        assert_eq!((of("plain").unwrap(), of("g").unwrap()), (Vec::new(), Vec::new()));
        for absent in ["a", "no", "n/x"] {
            assert_eq!(of(absent).unwrap_err().kind(), ErrorKind::NotFound("group"), "{absent}");
        }
        assert!(of("../n").is_err());
    }
}
