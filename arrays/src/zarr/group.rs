//! Groups: `.zgroup` with `.zattrs`, and the `zarr.json` of a group; and the metadata of what is in them that one
//! document has together.

use super::attributes::readable;
use super::metadata::Metadata;
use super::nczarr;
use super::v2::check_version;
use super::v3::{check_keys, is_array, v3_of_value};
use crate::alloc;
use crate::codec::CodecRegistry;
use crate::dataset::GroupDimension;
use crate::error::{Error, Result};
#[cfg(test)]
use crate::json;
use crate::json::{At, Member, Value};

/// A group.
#[derive(Debug)]
pub(crate) struct Group {
    /// An object, with all that is written there.
    pub(crate) attributes: Value,
    /// Why those that are stored cannot be read, if that is so.
    pub(crate) attributes_error: Option<Error>,
    /// The dimensions that netCDF-C says it has.
    pub(crate) dimensions: Vec<GroupDimension>,
    /// Whether netCDF-C's own keys are there.
    pub(crate) is_nczarr: bool,
    /// The documents of the arrays and groups below it, each with its path from the group, such as `a/b`; `None` if the
    /// group's document has none. A path is as it is written: it may be no name of an object's.
    pub(crate) consolidated: Option<Vec<Member>>,
}

/// What a `zarr.json` is about.
#[derive(Debug)]
pub(crate) enum Node {
    Array(Box<Metadata>),
    Group(Group),
}

impl Metadata {
    /// Marks the dimensions that are unlimited in the group `path`, which is `/` or `/a/b`. Where the array does not
    /// tell the group of a dimension, or the path is not known, the dimension's name decides.
    pub(crate) fn mark_unlimited(&mut self, group: &Group, path: Option<&str>) {
        for (d, unlimited) in self.unlimited.iter_mut().enumerate() {
            let reference = self.dimension_references.get(d).map(String::as_str);
            let Some(name) = reference.or_else(|| self.dimension_names.get(d)?.as_deref()) else { continue };
            let (parent, name) = name.rsplit_once('/').unwrap_or(("", name));
            let is_here = match (reference, path) {
                (Some(_), Some(path)) => parent.trim_matches('/') == path.trim_matches('/'),
                _ => true,
            };
            let dimension = group.dimensions.iter().find(|dimension| dimension.name == name);
            *unlimited |= is_here && dimension.is_some_and(|dimension| dimension.is_unlimited);
        }
    }
}

/// As [`group_v2_of_values`], from texts.
#[cfg(test)]
pub(crate) fn read_group_v2(group: &[u8], attributes: Option<&[u8]>) -> Result<Group> {
    let group = json::read(group).map_err(|error| error.in_object(".zgroup"))?;
    group_v2_of_values(&group, attributes.map(json::read).transpose())
}

/// Reads the documents `.zgroup`, and `.zattrs` if there is one.
///
/// # Errors
/// `Metadata` about a place in a document; `OutOfMemory`, and those of reading the attributes that are not of what they
/// say.
pub(crate) fn group_v2_of_values(group: &Value, attributes: Result<Option<Value>>) -> Result<Group> {
    let (attributes, attributes_error) = readable(attributes, ".zattrs")?;
    let attributes = attributes.unwrap_or_else(|| Value::Object(Vec::new()));
    check_version(&At::root(group)).map_err(|error| error.in_object(".zgroup"))?;
    let documents = [At::root(&attributes), At::root(group)];
    let (is_nczarr, dimensions) = nczarr::read_group(&documents).map_err(|error| error.in_object(".zattrs"))?;
    Ok(Group { attributes, attributes_error, dimensions, is_nczarr, consolidated: None })
}

/// As [`node_v3_of_value`], from a text.
#[cfg(test)]
pub(crate) fn read_node_v3(text: &[u8]) -> Result<Node> {
    node_v3_of_value(json::read(text).map_err(|error| error.in_object("zarr.json"))?, &CodecRegistry::default())
}

/// Reads the document `zarr.json`. The caller's `own` codecs come before the library's.
///
/// # Errors
/// As those of [`read_v3`](super::read_v3), but for groups.
pub(crate) fn node_v3_of_value(mut document: Value, own: &CodecRegistry) -> Result<Node> {
    let about = |error: Error| error.in_object("zarr.json");
    if is_array(&At::root(&document)).map_err(about)? {
        return Ok(Node::Array(alloc::try_box(v3_of_value(&document, own)?)?));
    }
    check_keys(&At::root(&document)).map_err(about)?;
    let attributes = document.take("attributes").filter(|attributes| *attributes != Value::Null);
    let (attributes, attributes_error) = readable(Ok(attributes), "zarr.json: $.attributes")?;
    let attributes = attributes.unwrap_or_else(|| Value::Object(Vec::new()));
    let (is_nczarr, dimensions) = nczarr::read_group(&[At::root(&attributes)]).map_err(about)?;
    let consolidated = inline(&mut document).map_err(about)?;
    Ok(Node::Group(Group { consolidated, attributes, attributes_error, dimensions, is_nczarr }))
}

/// The documents that a group of v3 has inline. Those of a kind that is not known are left out, for they are written so
/// that they need not be understood.
fn inline(document: &mut Value) -> Result<Option<Vec<Member>>> {
    let root = At::root(document);
    let Some(consolidated) = root.given("consolidated_metadata") else { return Ok(None) };
    if consolidated.value().get("kind").and_then(Value::as_str) != Some("inline") {
        return Ok(None);
    }
    consolidated.require("metadata")?.check_object()?;
    let metadata = document.take("consolidated_metadata").and_then(|mut value| value.take("metadata"));
    Ok(match metadata {
        Some(Value::Object(documents)) => Some(documents),
        _ => None,
    })
}

/// As [`consolidated_v2_of_value`], from a text.
#[cfg(test)]
pub(crate) fn consolidated_v2(text: &[u8]) -> Result<Vec<Member>> {
    consolidated_v2_of_value(json::read(text).map_err(|error| error.in_object(".zmetadata"))?)
}

/// Reads the document `.zmetadata`: the documents, each with its name from the group, such as `a/.zarray`.
///
/// # Errors
/// `Metadata` about a place in the document; `OutOfMemory`.
pub(crate) fn consolidated_v2_of_value(mut document: Value) -> Result<Vec<Member>> {
    let about = |error: Error| error.in_object(".zmetadata");
    let root = At::root(&document);
    let check = || {
        let version = root.require("zarr_consolidated_format")?;
        if version.usize()? != 1 {
            return Err(version.malformed("expected 1"));
        }
        root.require("metadata")?.check_object()
    };
    check().map_err(about)?;
    match document.take("metadata") {
        Some(Value::Object(documents)) => Ok(documents),
        _ => Ok(Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn a_group_of_netcdf_has_dimensions() {
        let attributes =
            br#"{"title": "hello", "_nczarr_group": {"dimensions": {"x": 4, "t": {"size": 2, "unlimited": 1}},
            "arrays": ["z"], "groups": []}, "_nczarr_superblock": {"version": "2.0.0"}}"#;
        let group = read_group_v2(br#"{"zarr_format": 2}"#, Some(attributes)).unwrap();
        let dimension = |name: &str, len, is_unlimited| GroupDimension { name: name.to_owned(), len, is_unlimited };
        assert_eq!(group.dimensions, [dimension("x", 4, false), dimension("t", 2, true)]);
        assert_eq!((group.is_nczarr, group.attributes.get("title").and_then(Value::as_str)), (true, Some("hello")));
        let old = br#"{"zarr_format": 2, "_NCZARR_GROUP": {"dims": {"x": 4}, "vars": [], "groups": []}}"#;
        assert_eq!(read_group_v2(old, None).unwrap().dimensions, [dimension("x", 4, false)]);
        assert!(read_group_v2(br#"{"zarr_format": 3}"#, None).is_err());
        // The error of the attributes is reported, and the group has none.
        for (text, about) in [("1", ".zattrs: $"), ("{", "line 1, column 2")] {
            let group = read_group_v2(br#"{"zarr_format": 2}"#, Some(text.as_bytes())).unwrap();
            assert_eq!(group.attributes_error.unwrap().about(), about);
            assert_eq!(group.attributes, Value::Object(Vec::new()));
        }
    }

    #[test]
    fn a_document_of_v3_is_a_group_or_an_array() {
        let text = r#"{"attributes":{"t":1},"zarr_format":3,"consolidated_metadata":{"kind":"inline","must_understand":
            false,"metadata":{"a":{"shape":[2],"data_type":"int8","chunk_grid":{"name":"regular","configuration":
            {"chunk_shape":[2]}},"chunk_key_encoding":"default","fill_value":0,"codecs":["bytes"],"attributes":{},
            "zarr_format":3,"node_type":"array"}}},"node_type":"group"}"#;
        let Node::Group(group) = read_node_v3(text.as_bytes()).unwrap() else { panic!() };
        let consolidated = group.consolidated.unwrap();
        assert_eq!((group.attributes.get("t").and_then(Value::as_i64), &*consolidated[0].0), (Some(1), "a"));
        assert_eq!(v3_of_value(&consolidated[0].1, &CodecRegistry::default()).unwrap().shape, [2]);
        let array = crate::json::compact(&consolidated[0].1).unwrap();
        assert!(matches!(read_node_v3(array.as_bytes()).unwrap(), Node::Array(_)));
        let error = read_node_v3(text.replace("\"metadata\":{", "\"metadata\":1,\"x\":{").as_bytes()).unwrap_err();
        assert_eq!(error.about(), "zarr.json: $.consolidated_metadata.metadata");
        let null = r#"{"zarr_format":3,"node_type":"group","consolidated_metadata":null}"#;
        let Node::Group(group) = read_node_v3(null.as_bytes()).unwrap() else { panic!() };
        assert!(group.consolidated.is_none());
    }

    #[test]
    fn consolidated_documents_of_v2_have_names() {
        let text = br#"{"metadata": {".zgroup": {"zarr_format": 2}, "a/.zarray": {"shape": [2]}},
            "zarr_consolidated_format": 1}"#;
        let documents = consolidated_v2(text).unwrap();
        let names: Vec<&str> = documents.iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, [".zgroup", "a/.zarray"]);
        let other = consolidated_v2(br#"{"metadata": {}, "zarr_consolidated_format": 2}"#).unwrap_err();
        assert_eq!(other.kind(), ErrorKind::Metadata("expected 1"));
        let error = consolidated_v2(br#"{"metadata": []}"#).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Metadata("it is missing"));
        assert_eq!(error.about(), ".zmetadata: $.zarr_consolidated_format");
    }
}
