//! The dimensions that groups define, and how long those are that are unlimited.

use super::documents::{V2_ATTRIBUTES, V2_GROUP, V3, groups_above};
use super::list::{clean_name, no_node};
use super::{file, joined};
use crate::alloc;
use crate::dataset::{GroupDimension, Node};
use crate::error::Result;
use crate::object::Storage;
use crate::zarr;

/// The dimensions that a group of a storage defines, used by an array or not, in the order in which the format has
/// them; an empty name is the storage itself. Classic netCDF files, HDF5 files and groups of netCDF-C's NCZarr define
/// dimensions. Other groups of Zarr and cfdb files do not, so the list is empty: there, the names and lengths of
/// dimensions are those of the arrays.
///
/// An unlimited dimension of HDF5 is as long as the longest array that has it, as netCDF shows it; other arrays with
/// the dimension may be shorter. To find it, the metadata of all arrays in the group and below are read.
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
    /// The groups of arrays with unlimited dimensions, and those around them, each with the dimensions that it defines;
    /// in order.
    groups: Vec<(&'n str, Vec<GroupDimension>)>,
}

impl<'n> UnlimitedLengths<'n> {
    /// Those of the arrays in a listing. An array that is listed alone keeps its own length.
    ///
    /// # Errors
    /// Those of [`group_dimensions`].
    pub fn of(storage: &Storage, nodes: &'n [Node]) -> Result<Self> {
        let mut groups: Vec<(&str, _)> = Vec::new();
        let nodes = if nodes.first().is_some_and(Node::is_group) { nodes } else { &[] };
        let is_unlimited = |node: &&Node| (0..node.shape().len()).any(|d| node.is_unlimited(d));
        for group in nodes.iter().filter(is_unlimited).flat_map(|array| groups_above(array.name())) {
            if let Err(place) = groups.binary_search_by_key(&group, |(name, _)| name) {
                alloc::insert(&mut groups, place, (group, group_dimensions(storage, group)?))?;
            }
        }
        Ok(UnlimitedLengths { groups })
    }

    /// The length of an array's dimension as netCDF has it. Where no group around the array defines the dimension, it
    /// is the array's own.
    pub fn len(&self, array: &'n Node, d: usize) -> usize {
        let own = array.shape().get(d).copied().unwrap_or_default();
        let Some(name) = array.dimension_name(d).filter(|_| array.is_unlimited(d)) else { return own };
        let defined = |group: &str| {
            let place = self.groups.binary_search_by_key(&group, |(name, _)| name).ok()?;
            self.groups[place].1.iter().find(|dimension| dimension.name == name)
        };
        // Unless the format says which, the innermost group that defines it counts.
        let dimension = match array.dimension_group(d) {
            Some(group) => defined(group),
            None => groups_above(array.name()).filter_map(defined).last(),
        };
        dimension.map_or(own, |dimension| dimension.len.max(own))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{Attributes, Dimensions, NodeArray};
    use crate::element::ElementType;
    use crate::error::ErrorKind;
    use crate::object::Memory;

    /// Dimensions that are called alike are different ones where no group around the arrays defines them.
    #[test]
    fn dimensions_are_those_of_groups_around_arrays() {
        let storage = Storage::new(Memory::new()).unwrap();
        let of = |group: &str| {
            let dimensions = format!(r#"{{"_nczarr_group":{{"dimensions":{group},"arrays":[]}}}}"#);
            (r#"{"zarr_format":2}"#, dimensions)
        };
        let t = r#"{"t":{"size":5,"unlimited":1}}"#;
        for (name, dimensions) in [("", "{}"), ("a", "{}"), ("b", "{}"), ("c", t), ("c/d", "{}")] {
            let (group, attributes) = of(dimensions);
            let slash = if name.is_empty() { "" } else { "/" };
            storage.write(&format!("{name}{slash}.zgroup"), group.as_bytes()).unwrap();
            storage.write(&format!("{name}{slash}.zattrs"), attributes.as_bytes()).unwrap();
        }
        let array = |name: &str, len| {
            let dimensions =
                Dimensions { names: vec![Some("t".to_owned())], unlimited: vec![true], groups: Vec::new() };
            let (shape, chunk_shape) = (vec![len], vec![1]);
            let array = NodeArray { element: ElementType::Int, shape, chunk_shape, shard_shape: None, dimensions };
            Node::of_array(name, Attributes::of(Vec::new()).unwrap(), array).unwrap()
        };
        let root = Node::of_group("", Attributes::of(Vec::new()).unwrap()).unwrap();
        let nodes = [root, array("a/v", 3), array("b/v", 9), array("c/v", 3), array("c/d/w", 5), array("c/d/x", 6)];
        let of = |nodes| {
            let lengths = UnlimitedLengths::of(&storage, nodes).unwrap();
            nodes.iter().map(|node| lengths.len(node, 0)).collect::<Vec<_>>()
        };
        assert_eq!(of(&nodes[..]), [0, 3, 9, 5, 5, 6]);
        assert_eq!(of(&nodes[3..4]), [3]);
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
