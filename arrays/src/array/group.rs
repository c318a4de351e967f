//! Groups that are created.

use super::contents;
use super::create::check_node_name;
use super::description::{ArrayFormat, all_attributes, attributes_of_text};
use super::documents;
use crate::error::{Error, ErrorKind, Result};
use crate::json::Value;
use crate::object::Storage;
use crate::zarr::{self, AttributeValue};

/// Creates a group with attributes. They are given as for an array: a JSON object in a string, or an empty string, and
/// those that are set one by one after it. An empty name is the storage itself. Missing groups above are created, and
/// their consolidated metadata are removed. Attributes that the formats reserve are left out.
///
/// # Errors
/// `NotOverwritten` if an array or group exists, `Exists` if the name is below an array, `Argument` for names of
/// metadata documents, names that Zarr v3 reserves, and a name below a group of another version of Zarr, `Metadata` for
/// attributes that are not an object, `ReadOnly`, `OutOfMemory`, and those of the storage.
pub fn create_group(
    storage: &Storage,
    name: &str,
    format: ArrayFormat,
    attributes_json: &str,
    attributes: &[(&str, AttributeValue<'_>)],
) -> Result<()> {
    if !storage.is_writable() || storage.file_name().is_some() {
        return Err(ErrorKind::ReadOnly.into());
    }
    let name = name.trim_matches('/');
    let own = zarr::own_attributes(&attributes_of_text(attributes_json)?)?;
    let all = all_attributes(format, own, attributes)?;
    let version = format.version();
    if !name.is_empty() {
        check_node_name(name, version).map_err(|error| error.in_object(name))?;
    }
    if contents::is_node(storage, name)? {
        let about = if name.is_empty() { "the storage" } else { name };
        return Err(Error::from(ErrorKind::NotOverwritten).in_object(about));
    }
    let missing = documents::missing_groups(storage, name, version)?;
    documents::forget_consolidated(storage, name)?;
    for group in &missing {
        documents::make_group(storage, group, version, Value::Object(Vec::new()))?;
    }
    documents::make_group(storage, name, version, all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::list;
    use crate::object::{Memory, read_whole};

    #[test]
    fn groups_have_their_attributes_and_those_above() {
        for format in [ArrayFormat::ZarrV2, ArrayFormat::ZarrV3, ArrayFormat::NcZarr] {
            let storage = Storage::new(Memory::new()).unwrap();
            let json = r#"{"title":"x","nested":{"a":[1]},"_nczarr_attr":{"types":{}}}"#;
            let version = [("version", AttributeValue::Short(&[3]))];
            create_group(&storage, "a/b", format, json, &version).unwrap();
            let nodes = list(&storage, "", true).unwrap();
            assert_eq!(
                nodes.iter().map(|node| (node.name(), node.is_group())).collect::<Vec<_>>(),
                [("", true), ("a", true), ("a/b", true)]
            );
            let found = nodes[2].attributes().iter().find(|attribute| attribute.name() == "version").unwrap();
            // Types are kept where netCDF-C reads them.
            let is_kept = *found.element_type() == crate::ElementType::Short;
            assert_eq!(is_kept, format == ArrayFormat::NcZarr);
            assert!(nodes[2].attributes_json().contains(r#""nested":{"a":[1]}"#), "{}", nodes[2].attributes_json());
            assert!(nodes[2].attributes_json().contains("_nczarr_attr") == is_kept);
            let there = create_group(&storage, "a", format, "", &[]).unwrap_err();
            assert_eq!((there.kind(), there.about()), (ErrorKind::NotOverwritten, "a"));
        }
    }

    #[test]
    fn what_is_no_group_is_refused_before_anything_is_written() {
        let storage = Storage::new(Memory::new()).unwrap();
        for (name, json) in [("zarr.json", ""), ("a/__b", ""), ("a", "[1]"), ("a", "{")] {
            assert!(create_group(&storage, name, ArrayFormat::ZarrV3, json, &[]).is_err(), "{name} {json}");
        }
        assert!(read_whole(&*storage, "zarr.json", 1000).unwrap().is_none());
        create_group(&storage, "", ArrayFormat::ZarrV3, "", &[]).unwrap();
        let text = read_whole(&*storage, "zarr.json", 1000).unwrap().unwrap();
        assert_eq!(text, b"{\n  \"zarr_format\": 3,\n  \"node_type\": \"group\",\n  \"attributes\": {}\n}\n");
        let other = create_group(&storage, "v2", ArrayFormat::ZarrV2, "", &[]).unwrap_err();
        assert!(other.to_string().contains("another version"), "{other}");
    }
}
