//! The documents of arrays and groups, as they are changed: read, edited as JSON so that unknown members stay, and
//! written.
//!
//! Consolidated metadata are a copy of the documents below a group. Before anything that they tell changes they are
//! removed, from each group above: nobody has to have them, and what is not there is not wrong.

use crate::alloc;
use crate::buffer::Buffer;
use crate::error::{ErrorKind, Result};
use crate::json::{self, Value};
use crate::object::{ByteRange, Storage};
use crate::open_object::ObjectState;
use crate::zarr::{self, AttributeValue, Format, document};
pub(super) use crate::zarr::{below, is_there};

pub(super) const V2_ARRAY: &str = ".zarray";
pub(super) const V2_ATTRIBUTES: &str = ".zattrs";
pub(super) const V2_GROUP: &str = ".zgroup";
pub(super) const V2_CONSOLIDATED: &str = ".zmetadata";
pub(super) const V3: &str = "zarr.json";
pub(super) const V3_CONSOLIDATED: &str = "consolidated_metadata";

/// The groups that an array or group of this name is in, from the storage itself downwards.
pub(super) fn groups_above(name: &str) -> impl Iterator<Item = &str> {
    let storage = if name.is_empty() { None } else { Some("") };
    storage.into_iter().chain(name.match_indices('/').map(|(slash, _)| name.get(..slash).unwrap_or_default()))
}

/// How messages call a group or an array.
pub(super) fn about(name: &str) -> &str {
    if name.is_empty() { "the storage" } else { name }
}

/// Refuses to create anything in a storage that is only read.
pub(super) fn check_writable(storage: &Storage) -> Result<()> {
    if storage.is_writable() && storage.file_name().is_none() { Ok(()) } else { Err(ErrorKind::ReadOnly.into()) }
}

/// Changes a document of an array or group, and removes the consolidated metadata that have it. `beside` is the
/// document that says that it is one: attributes of Zarr v2 that are missing beside it are an object without members
/// before the change.
///
/// # Errors
/// `NotFound` if it has been removed meanwhile, `Conflict` if another has changed the document meanwhile, where
/// the storage can tell, and any other.
pub(super) fn change(
    storage: &Storage,
    name: &str,
    which: &'static str,
    beside: &'static str,
    change: impl FnOnce(&mut Value) -> Result<()>,
) -> Result<()> {
    // If the object is another one already when it is read, that is found when it is written.
    let object = below(name, which)?;
    let before = version(storage, &object)?;
    let mut document = match document(storage, name, which)? {
        Some(document) => document,
        None if which == V2_ATTRIBUTES && is_there(storage, name, beside)? => Value::Object(Vec::new()),
        None => {
            let what = if beside == V2_GROUP { "group" } else { "array" };
            return Err(ErrorKind::NotFound(what).in_object(name));
        }
    };
    change(&mut document)?;
    let text = json::indented(&document)?;
    forget_consolidated(storage, name)?;
    storage.write_over(&object, before, text.as_bytes())
}

/// The version of an object, where the storage can tell.
pub(super) fn version(storage: &Storage, object: &str) -> Result<Option<ObjectState>> {
    match storage.compares() {
        true => storage.read_version(object, ByteRange::At(0), &mut Buffer::new(&mut [])),
        false => Ok(None),
    }
}

/// The document that says what an array is.
pub(super) fn of_array(format: Format) -> &'static str {
    match format {
        Format::V2 => V2_ARRAY,
        Format::V3 => V3,
    }
}

/// The document that attributes are in.
pub(super) fn of_attributes(format: Format) -> &'static str {
    match format {
        Format::V2 => V2_ATTRIBUTES,
        Format::V3 => V3,
    }
}

/// Sets an attribute, or removes it.
pub(super) fn change_attribute(attributes: &mut Value, name: &str, value: Option<AttributeValue<'_>>) -> Result<()> {
    match value {
        Some(value) => zarr::set_attribute(attributes, name, value),
        None if zarr::remove_attribute(attributes, name) => Ok(()),
        None => Err(ErrorKind::NoAttribute.in_object(name)),
    }
}

/// The attributes in a document of either version, which are an object.
pub(super) fn attributes_mut(document: &mut Value, format: Format) -> Result<&mut Value> {
    let attributes = match format {
        Format::V2 => document,
        Format::V3 => {
            if document.get("attributes").is_none_or(|attributes| *attributes == Value::Null) {
                document.set("attributes", Value::Object(Vec::new()))?;
            }
            document.get_mut("attributes").ok_or(ErrorKind::Internal)?
        }
    };
    zarr::check_attributes(attributes)?;
    Ok(attributes)
}

/// Takes what a group has consolidated out of its `zarr.json`; whether there was any.
pub(super) fn take_consolidated(document: &mut Value) -> bool {
    let mut is_told = false;
    while document.take(V3_CONSOLIDATED).is_some() {
        is_told = true;
    }
    is_told
}

/// Removes the consolidated metadata that tell an array of this name, of either version.
///
/// # Errors
/// `Conflict` if another has changed a group meanwhile, where the storage can tell, and any other.
pub(super) fn forget_consolidated(storage: &Storage, name: &str) -> Result<()> {
    for group in groups_above(name) {
        forget_v2(storage, group)?;
        let has_any = |document: Value| document.get(V3_CONSOLIDATED).is_some();
        if !document(storage, group, V3)?.is_some_and(has_any) {
            continue;
        }
        // The document is read again behind its version, which most groups are not asked for.
        let object = below(group, V3)?;
        let before = version(storage, &object)?;
        let Some(mut document) = document(storage, group, V3)? else { continue };
        if take_consolidated(&mut document) {
            storage.write_over(&object, before, json::indented(&document)?.as_bytes())?;
        }
    }
    Ok(())
}

/// Removes what a group of Zarr v2 has consolidated.
pub(super) fn forget_v2(storage: &Storage, group: &str) -> Result<()> {
    if is_there(storage, group, V2_CONSOLIDATED)? { storage.remove(&below(group, V2_CONSOLIDATED)?) } else { Ok(()) }
}

/// The groups above a name that are missing, from the storage itself downwards.
///
/// # Errors
/// `Exists` about an array that the name is below, `Argument` about a group of the other version of Zarr.
pub(super) fn missing_groups(storage: &Storage, name: &str, format: Format) -> Result<Vec<String>> {
    const OTHER: ErrorKind = ErrorKind::Argument("this is a group of another version of Zarr");
    let mut missing = Vec::new();
    for group in groups_above(name) {
        let refused = |kind: ErrorKind| Err(kind.in_object(about(group)));
        let v3 = document(storage, group, V3)?;
        let is_v2 = is_there(storage, group, V2_GROUP)?;
        let is_array = v3.as_ref().and_then(|v3| v3.get("node_type")).and_then(Value::as_str) == Some("array");
        if is_array || is_there(storage, group, V2_ARRAY)? {
            return refused(ErrorKind::Exists);
        }
        match (format, v3.is_some(), is_v2) {
            (Format::V3, true, _) | (Format::V2, _, true) => {}
            (_, false, false) => alloc::push(&mut missing, alloc::text(group)?)?,
            _ => return refused(OTHER),
        }
    }
    Ok(missing)
}

/// Makes groups that were [missing](missing_groups). One that another has made meanwhile is as good.
pub(super) fn make_missing(storage: &Storage, groups: &[String], format: Format) -> Result<()> {
    groups.iter().try_for_each(|group| {
        let made = make_group(storage, group, format, Value::Object(Vec::new()));
        made.or_else(|error| match error.kind() {
            ErrorKind::Conflict if is_group(storage, group, format)? => Ok(()),
            _ => Err(error),
        })
    })
}

/// Whether there is a group of this format.
fn is_group(storage: &Storage, name: &str, format: Format) -> Result<bool> {
    match format {
        Format::V2 => is_there(storage, name, V2_GROUP),
        Format::V3 => {
            let document = document(storage, name, V3)?;
            Ok(document.is_some_and(|document| document.get("node_type").and_then(Value::as_str) == Some("group")))
        }
    }
}

/// Makes a group with attributes, which are an object.
///
/// # Errors
/// `Conflict` if another has made something of this name meanwhile, where the storage can tell, and any other.
pub(super) fn make_group(storage: &Storage, name: &str, format: Format, attributes: Value) -> Result<()> {
    match format {
        Format::V2 => {
            let text = json::indented(&Value::object([("zarr_format", Value::number(2)?)])?)?;
            let (group, of_attributes) = (below(name, V2_GROUP)?, below(name, V2_ATTRIBUTES)?);
            let write_group = || storage.write_over(&group, None, text.as_bytes());
            if attributes.members().is_empty() {
                return write_group();
            }
            let attributes = json::indented(&attributes)?;
            if !storage.compares() {
                // The group is there when all of it is.
                storage.write(&of_attributes, attributes.as_bytes())?;
                return write_group();
            }
            // Whoever has the group, and no other, writes its attributes.
            let left = version(storage, &of_attributes)?;
            write_group()?;
            storage.write_over(&of_attributes, left, attributes.as_bytes()).inspect_err(|_| {
                let _ = storage.remove(&group);
            })
        }
        Format::V3 => {
            let (version, node) = (Value::number(3)?, Value::text("group")?);
            let group = Value::object([("zarr_format", version), ("node_type", node), ("attributes", attributes)])?;
            storage.write_over(&below(name, V3)?, None, json::indented(&group)?.as_bytes())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::{Memory, read_whole};

    fn storage(objects: &[(&str, &str)]) -> Storage {
        let storage = Storage::new(Memory::new()).unwrap();
        objects.iter().for_each(|(name, text)| storage.write(name, text.as_bytes()).unwrap());
        storage
    }

    #[test]
    fn groups_are_those_above() {
        assert_eq!(groups_above("a/b/c").collect::<Vec<_>>(), ["", "a", "a/b"]);
        assert_eq!(groups_above("a").collect::<Vec<_>>(), [""]);
        assert_eq!(groups_above("").count(), 0);
    }

    #[test]
    fn consolidated_metadata_are_removed_from_all_groups_above() {
        let group = r#"{"zarr_format":3,"node_type":"group","x":1,"consolidated_metadata":{"kind":"inline"}}"#;
        let storage =
            storage(&[(".zmetadata", "{}"), ("a/.zmetadata", "{}"), ("a/zarr.json", group), ("b/.zmetadata", "")]);
        forget_consolidated(&storage, "a/b").unwrap();
        assert!(
            !is_there(&storage, "", V2_CONSOLIDATED).unwrap() && !is_there(&storage, "a", V2_CONSOLIDATED).unwrap()
        );
        assert!(is_there(&storage, "b", V2_CONSOLIDATED).unwrap());
        let text = read_whole(&*storage, "a/zarr.json", 1000).unwrap().unwrap();
        assert_eq!(text, b"{\n  \"zarr_format\": 3,\n  \"node_type\": \"group\",\n  \"x\": 1\n}\n");
    }

    #[test]
    fn groups_that_are_missing_are_found() {
        let v2 = storage(&[("a/.zgroup", "{}"), ("a/x/.zarray", "{}")]);
        assert_eq!(missing_groups(&v2, "a/b/c", Format::V2).unwrap(), ["", "a/b"]);
        assert!(matches!(missing_groups(&v2, "a/b", Format::V3).unwrap_err().kind(), ErrorKind::Argument(_)));
        let error = missing_groups(&v2, "a/x/y", Format::V2).unwrap_err();
        assert_eq!((error.kind(), error.about()), (ErrorKind::Exists, "a/x"));
        let v3 = storage(&[("zarr.json", r#"{"node_type":"array"}"#)]);
        assert_eq!(missing_groups(&v3, "y", Format::V3).unwrap_err().kind(), ErrorKind::Exists);
    }
}
