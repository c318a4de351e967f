//! Groups, as they are created, changed and consolidated.

use std::path::Path;

use super::create::check_node_name;
use super::description::{ArrayFormat, all_attributes, attributes_of_text};
use super::documents::{self, V2_ARRAY, V2_ATTRIBUTES, V2_CONSOLIDATED, V2_GROUP, V3, V3_CONSOLIDATED};
use super::locate::create_storage;
use super::{contents, list};
use crate::error::{ErrorKind, Result};
use crate::json::{self, Value};
use crate::object::{Memory, Storage};
use crate::zarr::{self, AttributeValue, Format};

/// Creates a group with attributes. They are given as for an array: a JSON object in a string, or an empty string, and
/// those that are set one by one after it. An empty name is the storage itself. Missing groups above are created, and
/// their consolidated metadata are removed. Attributes that the formats reserve are left out.
///
/// # Errors
/// `Exists` if an array or group exists or the name is below an array, `Argument` for names of metadata documents,
/// names that Zarr v3 reserves, and a name below a group of another version of Zarr, `Metadata` for attributes that are
/// not an object, `ReadOnly`, `OutOfMemory`, and those of the storage.
pub fn create_group(
    storage: &Storage,
    name: &str,
    format: ArrayFormat,
    attributes_json: &str,
    attributes: &[(&str, AttributeValue<'_>)],
) -> Result<()> {
    documents::check_writable(storage)?;
    let name = name.trim_matches('/');
    let own = zarr::own_attributes(&attributes_of_text(attributes_json)?)?;
    let all = all_attributes(format, own, attributes)?;
    let version = format.version();
    if !name.is_empty() {
        check_node_name(name, version).map_err(|error| error.in_object(name))?;
    }
    if contents::is_node(storage, name)? {
        return Err(ErrorKind::Exists.in_object(documents::about(name)));
    }
    let missing = documents::missing_groups(storage, name, version)?;
    documents::forget_consolidated(storage, name)?;
    documents::make_missing(storage, &missing, version)?;
    documents::make_group(storage, name, version, all)
}

/// Creates a group below a path, as [`create_group`] does, of the format of the group that it is in unless one is
/// given. A directory is not made for what cannot be.
pub fn create_group_at(path: &Path, name: &str, format: Option<ArrayFormat>, attributes_json: &str) -> Result<()> {
    let tried = |format| create_group(&Storage::new(Memory::new())?, name, format, attributes_json, &[]);
    match format {
        Some(format) => tried(format)?,
        // What one format refuses, such as a name, the other may have.
        None => tried(ArrayFormat::ZarrV3).or_else(|error| tried(ArrayFormat::ZarrV2).map_err(|_| error))?,
    }
    let storage = create_storage(path)?;
    let format = match format {
        Some(format) => format,
        None => format_above(&storage, name)?,
    };
    create_group(&storage, name, format, attributes_json, &[])
}

/// The format of the nearest group above a name; of Zarr v3 if there is none.
pub fn format_above(storage: &Storage, name: &str) -> Result<ArrayFormat> {
    let mut format = ArrayFormat::ZarrV3;
    for group in documents::groups_above(name.trim_matches('/')) {
        if documents::is_there(storage, group, V3)? {
            format = ArrayFormat::ZarrV3;
        } else if documents::is_there(storage, group, V2_GROUP)? {
            format = ArrayFormat::ZarrV2;
        }
    }
    Ok(format)
}

/// Sets an attribute of a group, or adds it, at once: see [`Array::set_attribute`](crate::Array::set_attribute).
/// Metadata that the group and those above have consolidated are removed.
///
/// # Errors
/// `Argument` for a name that no attribute can have; `NotFound` if there is no such group; `Metadata` if its own are
/// malformed; `ReadOnly`, `OutOfMemory`, and those of the storage.
pub fn set_group_attribute<'v>(
    storage: &Storage,
    group: &str,
    name: &str,
    value: impl Into<AttributeValue<'v>>,
) -> Result<()> {
    change_attribute(storage, group, name, Some(value.into()))
}

/// Removes an attribute of a group, at once: see [`set_group_attribute`].
///
/// # Errors
/// `NoAttribute` if there is none of that name, and those of `set_group_attribute`.
pub fn remove_group_attribute(storage: &Storage, group: &str, name: &str) -> Result<()> {
    change_attribute(storage, group, name, None)
}

/// Sets an attribute of a group; `None` removes it.
pub fn change_attribute(storage: &Storage, group: &str, name: &str, value: Option<AttributeValue<'_>>) -> Result<()> {
    change_attributes(storage, group, |attributes| documents::change_attribute(attributes, name, value))
}

/// Sets several attributes of a group, or adds them, at once: each member of a JSON object as it is. Other attributes
/// stay as they are. See [`set_group_attribute`].
///
/// # Errors
/// `Metadata` if it is no JSON object, and those of `set_group_attribute`.
pub fn set_group_attributes_json(storage: &Storage, group: &str, attributes: &str) -> Result<()> {
    let given = json::read(attributes.as_bytes())?;
    change_attributes(storage, group, |all| zarr::set_attributes_json(all, &given))
}

fn change_attributes(storage: &Storage, group: &str, change: impl FnOnce(&mut Value) -> Result<()>) -> Result<()> {
    let (group, format) = writable_group(storage, group)?;
    if format == Format::V2 {
        documents::forget_v2(storage, group)?;
    }
    documents::change(storage, group, documents::of_attributes(format), V2_GROUP, |document| {
        if format == Format::V3 {
            documents::take_consolidated(document);
        }
        change(documents::attributes_mut(document, format)?)
    })
}

/// The name of a group without slashes around it, and its version of Zarr.
fn writable_group<'n>(storage: &Storage, group: &'n str) -> Result<(&'n str, Format)> {
    documents::check_writable(storage)?;
    let group = list::clean_name(group)?;
    let v3 = zarr::document(storage, group, V3).map_err(|error| error.in_object(group))?;
    let is_v3 = v3.is_some_and(|v3| v3.get("node_type").and_then(Value::as_str) == Some("group"));
    match is_v3 || documents::is_there(storage, group, V2_GROUP)? {
        true => Ok((group, if is_v3 { Format::V3 } else { Format::V2 })),
        false => Err(ErrorKind::NotFound("group").in_object(documents::about(group))),
    }
}

/// Puts the metadata of all arrays and groups in a group into the group's own, as zarr-python does, so that a reader
/// finds all of them with one request. What groups further down have consolidated is not believed, and stays. Whatever
/// changes the metadata through this library removes them again; nobody has to have them.
///
/// # Errors
/// `NotFound` if there is no such group; `Metadata` for a document that is no JSON; `Unsupported` if the storage cannot
/// list its objects, and as for changes of the group; `Conflict` if the document that is written was changed, made or
/// removed meanwhile, where the storage can tell (a member that changes meanwhile may be as it was before); `ReadOnly`,
/// `OutOfMemory`, and those of the storage, also of reading or listing a member: then nothing is written.
pub fn consolidate(storage: &Storage, group: &str) -> Result<()> {
    let (group, format) = writable_group(storage, group)?;
    // If this document is another one when it is written, another has changed the group, or what it had consolidated.
    let object = documents::below(group, if format == Format::V2 { V2_CONSOLIDATED } else { V3 })?;
    let before = documents::version(storage, &object)?;
    let mut found = Value::Object(Vec::new());
    list::walk(storage, group, true, false, &mut |node| {
        let name = node.name();
        if let Some(error) = list::unread(&node) {
            // What may be there would be missing from then on.
            return Err(error);
        }
        let path = name.strip_prefix(group).unwrap_or(name).trim_matches('/');
        let which: &[&'static str] = match format {
            Format::V3 if path.is_empty() => &[],
            Format::V3 => &[V3],
            Format::V2 => &[V2_GROUP, V2_ARRAY, V2_ATTRIBUTES],
        };
        for &which in which {
            let read = zarr::document(storage, name, which).map_err(|error| error.in_object(name))?;
            let Some(mut document) = read else { continue };
            if format == Format::V3 {
                documents::take_consolidated(&mut document);
                found.push(path, document)?;
            } else {
                found.push(&documents::below(path, which)?, document)?;
            }
        }
        Ok(())
    })?;
    if format == Format::V2 {
        let all = Value::object([("zarr_consolidated_format", Value::number(1)?), ("metadata", found)])?;
        return storage.write_over(&object, before, json::indented(&all)?.as_bytes());
    }
    let gone = || ErrorKind::NotFound("group").in_object(documents::about(group));
    let mut document = zarr::document(storage, group, V3)?.ok_or_else(gone)?;
    documents::take_consolidated(&mut document);
    let all = [("kind", Value::text("inline")?), ("must_understand", Value::Bool(false)), ("metadata", found)];
    document.push(V3_CONSOLIDATED, Value::object(all)?)?;
    storage.write_over(&object, before, json::indented(&document)?.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::list;
    use crate::buffer::Buffer;
    use crate::object::{ByteRange, Entry, ObjectStore, read_whole};
    use crate::{Array, Description, ElementType, ObjectState, pass_on};
    use std::collections::HashMap;
    use std::sync::{Arc, Mutex};

    /// What one format refuses the other may have: that of the group above counts.
    #[cfg(not(miri))]
    #[test]
    fn a_group_at_a_path_has_a_name_of_its_format() {
        let path = crate::object::testing::Temporary::new("group-at");
        create_group_at(&path, "old", Some(ArrayFormat::ZarrV2), "").unwrap();
        create_group_at(&path, "old/__x", None, "").unwrap();
        assert!(create_group_at(&path, "__x", Some(ArrayFormat::ZarrV3), "").is_err());
        assert!(create_group_at(&path, "a/../b", None, "").is_err());
    }

    #[test]
    fn groups_have_their_attributes_and_those_above() {
        for format in [ArrayFormat::ZarrV2, ArrayFormat::ZarrV3, ArrayFormat::NcZarr] {
            let storage = Storage::new(Memory::new()).unwrap();
            let json = r#"{"title":"x","nested":{"a":[1]},"_nczarr_attr":{"types":{}}}"#;
            let version = [("version", (&3i16).into())];
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
            assert_eq!((there.kind(), there.about()), (ErrorKind::Exists, "a"));
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

    /// A storage that compares versions. Another does something as soon as the members of the group `g` are listed.
    #[derive(Default)]
    struct Raced {
        memory: Memory,
        versions: Mutex<HashMap<String, u128>>,
        meanwhile: Mutex<Option<fn(&Storage)>>,
    }

    impl ObjectStore for Arc<Raced> {
        pass_on! { self => self.memory; read remove is_writable }

        fn read_version(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<ObjectState>> {
            let version = self.versions.lock().unwrap().get(name).copied();
            Ok(self.memory.read(name, begin, buffer)?.map(|len| (len, version)))
        }
        fn list(&self, prefix: &str, one: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
            let meanwhile = self.meanwhile.lock().unwrap().take_if(|_| prefix == "g");
            if let Some(meanwhile) = meanwhile {
                meanwhile(&Storage::new(self.clone())?);
            }
            self.memory.list(prefix, one)
        }
        fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
            *self.versions.lock().unwrap().entry(name.to_owned()).or_default() += 1;
            self.memory.write(name, bytes)
        }
        fn write_over(&self, name: &str, before: Option<ObjectState>, bytes: &[u8]) -> Result<()> {
            let now = self.read_version(name, ByteRange::At(0), &mut Buffer::new(&mut []))?;
            if now == before { self.write(name, bytes) } else { Err(ErrorKind::Conflict.in_object(name)) }
        }
        fn compares(&self) -> bool {
            true
        }
    }

    #[test]
    fn consolidating_undoes_nothing_that_another_changes_meanwhile() {
        for (format, document) in [(ArrayFormat::ZarrV2, "g/.zattrs"), (ArrayFormat::ZarrV3, "g/zarr.json")] {
            let raced = Arc::new(Raced::default());
            let storage = Storage::new(raced.clone()).unwrap();
            create_group(&storage, "g/h", format, "", &[]).unwrap();
            consolidate(&storage, "g").unwrap();
            *raced.meanwhile.lock().unwrap() = Some(|storage| set_group_attribute(storage, "g", "x", &7i32).unwrap());
            assert_eq!(consolidate(&storage, "g").unwrap_err().kind(), ErrorKind::Conflict);
            assert!(text(&storage, document).unwrap().contains("\"x\""));
            consolidate(&storage, "g").unwrap();
            assert!(text(&storage, document).unwrap().contains("\"x\""));
        }
    }

    fn text(storage: &Storage, name: &str) -> Option<String> {
        read_whole(&**storage, name, 10000).unwrap().map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn attributes_change_and_what_is_consolidated_goes() {
        for (format, consolidated) in [(ArrayFormat::ZarrV2, ".zmetadata"), (ArrayFormat::ZarrV3, "zarr.json")] {
            let storage = Storage::new(Memory::new()).unwrap();
            create_group(&storage, "a/b", format, r#"{"x":1}"#, &[]).unwrap();
            let four = Description::new(&[4], ElementType::Int).with_format(format);
            Array::create_in(&storage, "a/b/c", &four).unwrap();
            assert_eq!(format_above(&storage, "a/b/d").unwrap(), format);
            let tells = |group: &str, what: &str| {
                let name = documents::below(group, consolidated).unwrap();
                text(&storage, &name).is_some_and(|text| text.contains(what))
            };
            consolidate(&storage, "").unwrap();
            consolidate(&storage, "/a/b/").unwrap();
            assert!(tells("", "\"a/b/c") && tells("a/b", "\"c") && !tells("a", "\"b"));
            // Once more, of what is stored and not of what was consolidated.
            consolidate(&storage, "").unwrap();
            let num_documents = if format == ArrayFormat::ZarrV2 { 2 } else { 1 };
            assert_eq!(text(&storage, consolidated).unwrap().matches("\"a/b/c").count(), num_documents);
            set_group_attributes_json(&storage, "a/b", r#"{"y":{"z":[null]}}"#).unwrap();
            assert!(!tells("", "a/b/c") && !tells("a/b", "\"c"));
            set_group_attribute(&storage, "a/b", "w", 5i32.to_string().as_str()).unwrap();
            remove_group_attribute(&storage, "a/b", "x").unwrap();
            let mut json = String::new();
            list::one_node(&storage, "a/b", &mut |node| {
                json = node.attributes_json().to_owned();
                let due = if format == ArrayFormat::ZarrV2 { "Zarr v2" } else { "Zarr v3" };
                assert!(node.is_group() && node.format() == due);
                Ok(())
            })
            .unwrap();
            assert_eq!(json, r#"{"y":{"z":[null]},"w":"5"}"#);
            let gone = remove_group_attribute(&storage, "a/b", "x").unwrap_err();
            assert_eq!((gone.kind(), gone.about()), (ErrorKind::NoAttribute, "x"));
            for group in ["a/b/c", "a/none", "zarr.json"] {
                let error = set_group_attributes_json(&storage, group, "{}").unwrap_err();
                assert_eq!((error.kind(), error.about()), (ErrorKind::NotFound("group"), group));
            }
            let no_object = set_group_attributes_json(&storage, "", "[]").unwrap_err();
            assert!(matches!(no_object.kind(), ErrorKind::Metadata(_)));
            assert!(set_group_attributes_json(&storage, "", r#"{"_nczarr_attr":1}"#).is_err());
        }
    }

    #[test]
    fn a_document_that_is_no_json_is_not_consolidated() {
        let storage = Storage::new(Memory::new()).unwrap();
        create_group(&storage, "", ArrayFormat::ZarrV3, "", &[]).unwrap();
        storage.write("a/zarr.json", b"{").unwrap();
        let error = consolidate(&storage, "").unwrap_err();
        assert!(error.to_string().starts_with("a: "), "{error}");
        assert!(!text(&storage, "zarr.json").unwrap().contains("consolidated"));
        assert_eq!(consolidate(&storage, "a/b").unwrap_err().kind(), ErrorKind::NotFound("group"));
    }
}
