//! The dimensions that a group defines.

use super::documents::{V2_ATTRIBUTES, V2_GROUP, V3};
use super::list::{clean_name, no_node};
use super::{file, joined};
use crate::dataset::GroupDimension;
use crate::error::Result;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::object::Memory;

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
