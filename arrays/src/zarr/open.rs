//! From a name to metadata: which documents there are, and what they say together.

use super::attributes::readable;
use super::group::{Group, Node, group_v2_of_values, node_v3_of_value};
use super::metadata::Metadata;
use super::nczarr;
use super::separator;
use super::v2::v2_of_values;
use crate::buffer::Buffer;
use crate::codec::CodecRegistry;
use crate::error::{Error, ErrorKind, Result};
use crate::json::{self, Value};
use crate::object::{ByteRange, Name, Storage, check_name, read_text};

/// The metadata of the array with this name, whose chunks have the names that they say; an empty one is the storage
/// itself.
pub(crate) fn open(storage: &Storage, name: &str) -> Result<Metadata> {
    let (metadata, document) = read(storage, name)?;
    document.map_or(Ok(()), |array| separator::check(storage, name, &array, metadata.shape.len()))?;
    Ok(metadata)
}

/// The same whatever names the chunks have: they are not looked at.
pub(crate) fn told(storage: &Storage, name: &str) -> Result<Metadata> {
    Ok(read(storage, name)?.0)
}

/// The metadata of an array, and its document in Zarr v2.
fn read(storage: &Storage, name: &str) -> Result<(Metadata, Option<Value>)> {
    if !name.is_empty() {
        check_name(name)?;
    }
    if let Some(value) = document(storage, name, "zarr.json")? {
        return match node_v3_of_value(value, storage.codecs())? {
            Node::Array(metadata) => metadata.check_codecs(storage.codecs()).map(|()| (*metadata, None)),
            Node::Group(_) => Err(ErrorKind::NotAnArray.into()),
        };
    }
    let Some(mut array) = document(storage, name, ".zarray")? else { return Err(why_not(storage, name)?) };
    let (mut attributes, error) = readable(document(storage, name, ".zattrs"), ".zattrs")?;
    if nczarr::may_have_documents(&array, attributes.as_ref()) {
        add_documents(storage, name, &mut array, attributes.as_mut())?;
    }
    let mut metadata = v2_of_values(&array, attributes.as_ref(), storage.codecs())?;
    metadata.attributes_error = error;
    metadata.check_codecs(storage.codecs())?;
    if metadata.is_nczarr {
        mark_unlimited(&mut metadata, storage, name)?;
    }
    Ok((metadata, Some(array)))
}

/// The metadata of an array whose document this is: `zarr.json` or `.zarray`.
pub(crate) fn array_of_document(document: Value, own: &CodecRegistry) -> Result<Metadata> {
    let metadata = if document.get("zarr_format").and_then(Value::as_usize) == Some(2) {
        v2_of_values(&document, None, own)?
    } else {
        match node_v3_of_value(document, own)? {
            Node::Array(metadata) => *metadata,
            Node::Group(_) => return Err(ErrorKind::NotAnArray.into()),
        }
    };
    metadata.check_codecs(own)?;
    Ok(metadata)
}

/// Adds what the first version of NCZarr has in documents of its own to those that later ones have it in.
fn add_documents(storage: &Storage, name: &str, array: &mut Value, attributes: Option<&mut Value>) -> Result<()> {
    if !add_first(storage, name, &nczarr::ARRAY_DOCUMENTS, (nczarr::ARRAY[0], array))? {
        return Ok(());
    }
    if let Some(attributes) = attributes {
        add_first(storage, name, &nczarr::ATTRIBUTES_DOCUMENTS, (nczarr::ATTRIBUTES[0], attributes))?;
    }
    Ok(())
}

/// Adds the first of these documents that is there as a member of another; `false` if none is there.
fn add_first(storage: &Storage, name: &str, from: &[&'static str], (member, to): (&str, &mut Value)) -> Result<bool> {
    for which in from {
        if let Some(value) = document(storage, name, which)? {
            to.push(member, value)?;
            return Ok(true);
        }
    }
    Ok(false)
}

/// Finds out from the groups above a NCZarr array which of its dimensions are unlimited.
fn mark_unlimited(metadata: &mut Metadata, storage: &Storage, name: &str) -> Result<()> {
    let mut group = name;
    while let Some((parent, _)) = group.rsplit_once('/').or((!group.is_empty()).then_some(("", group))) {
        group = parent;
        if let Some(document) = document(storage, group, ".zgroup")? {
            metadata.mark_unlimited(&group_v2(storage, group, &document)?, Some(group));
        }
    }
    Ok(())
}

/// Whether netCDF-C keeps a list of what is in a group.
pub(crate) fn has_netcdf_group(storage: &Storage, name: &str) -> Result<bool> {
    let Some(document) = document(storage, name, ".zgroup")? else { return Ok(false) };
    Ok(is_there(storage, name, nczarr::GROUP_DOCUMENT)? || group_v2(storage, name, &document)?.is_nczarr)
}

/// A group whose `.zgroup` this is.
fn group_v2(storage: &Storage, name: &str, group: &Value) -> Result<Group> {
    group_v2_of_values(group, document(storage, name, ".zattrs"))
}

/// Why there is no array of that name.
fn why_not(storage: &Storage, name: &str) -> Result<Error> {
    for group in [".zgroup", ".zattrs", ".nczarr", nczarr::GROUP_DOCUMENT] {
        if is_there(storage, name, group)? {
            return Ok(ErrorKind::NotAnArray.into());
        }
    }
    // The draft of Zarr v3 of 2021 has its metadata elsewhere, and says so in the storage itself.
    let root = if name.is_empty() { Ok(None) } else { document(storage, "", "zarr.json") };
    if let Err(error) = root.and_then(|root| root.map(|root| node_v3_of_value(root, storage.codecs())).transpose()) {
        if let ErrorKind::Unsupported(_) | ErrorKind::OutOfMemory = error.kind() {
            return Ok(error);
        }
    }
    Ok(match name {
        "" => why_nothing(storage),
        _ => ErrorKind::NotFound("array").into(),
    })
}

/// Why a storage itself is neither an array nor a group: its objects are of another format, or there are none at its
/// URL, or not even a bucket.
pub(crate) fn why_nothing(storage: &Storage) -> Error {
    if !storage.is_at_url() {
        return ErrorKind::UnknownFormat.into();
    }
    match storage.list("", &mut |_, _| Ok(())) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound(_)) => error,
        _ => ErrorKind::NotFound("array or group, and no file of a known format").into(),
    }
}

/// A document of an array or group, as a value; `None` if there is none.
pub(crate) fn document(storage: &Storage, name: &str, which: &'static str) -> Result<Option<Value>> {
    let limit = storage.memory_limits().metadata();
    let Some(text) = read_text(&**storage, &below(name, which)?, limit)? else { return Ok(None) };
    json::read_within(&text, limit).map(Some).map_err(|error| error.in_object(which))
}

/// Whether there is such a document.
pub(crate) fn is_there(storage: &Storage, name: &str, which: &str) -> Result<bool> {
    Ok(storage.read(&below(name, which)?, ByteRange::At(0), &mut Buffer::new(&mut []))?.is_some())
}

/// The name of what is directly below another name.
pub(crate) fn below(name: &str, last: &str) -> Result<Name> {
    Name::of(format_args!("{name}{}{last}", if name.is_empty() { "" } else { "/" }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::ElementType;
    use crate::object::{Memory, ObjectStore};
    use crate::zarr::attributes::attribute;

    /// What netCDF-C 4.8.0 writes.
    #[test]
    fn documents_of_the_first_version_of_nczarr_are_read() {
        let memory = Memory::new();
        let write = |name: &str, text: &str| memory.write(name, text.as_bytes()).unwrap();
        let array = r#"{"zarr_format": 2, "shape": [1], "dtype": "<U1", "chunks": [1], "fill_value": "x", "order": "C",
            "compressor": null, "filters": null}"#;
        write("g/.zgroup", r#"{"zarr_format": 2}"#);
        write("g/.nczgroup", r#"{"dims": {"x": "3"}, "vars": ["v"], "groups": []}"#);
        write("g/v/.zarray", array);
        write("g/v/.nczarray", r#"{"dimrefs": [], "storage": "scalar"}"#);
        write("g/v/.zattrs", r#"{"level": 3}"#);
        write("g/v/.nczattr", r#"{"types": {"level": "<i2"}}"#);
        write("g/w/.zarray", &array.replace("[1]", "[3]").replace("<U1", "<i4").replace("\"x\"", "0"));
        write("g/w/.nczarray", r#"{"dimrefs": ["/g/x"], "storage": "chunked"}"#);
        write("plain/.zarray", array);
        write("plain/.zattrs", r#"{"level": 3}"#);
        write("wrong/.zarray", array);
        write("wrong/.nczarray", "{");
        let storage = Storage::new(memory).unwrap();
        let scalar = open(&storage, "g/v").unwrap();
        assert!(scalar.is_nczarr && scalar.is_scalar);
        assert_eq!(scalar.element, ElementType::Char);
        let level = attribute(&scalar.attributes, None, "level").unwrap().unwrap();
        assert_eq!(level.element, ElementType::Short);
        let vector = open(&storage, "g/w").unwrap();
        assert_eq!((vector.dimension_names, vector.is_scalar), (vec![Some("x".to_owned())], false));
        assert_eq!((has_netcdf_group(&storage, "g"), has_netcdf_group(&storage, "plain")), (Ok(true), Ok(false)));
        let plain = open(&storage, "plain").unwrap();
        assert_eq!((plain.element, plain.is_nczarr), (ElementType::Unicode { len: 1 }, false));
        assert_eq!(open(&storage, "wrong").unwrap_err().about(), ".nczarray: line 1, column 2");
        // An array that names its dimensions is of no version that has such a document.
        storage.write("wrong/.zattrs", br#"{"_ARRAY_DIMENSIONS":["x"]}"#).unwrap();
        assert_eq!(open(&storage, "wrong").unwrap().dimension_names, [Some("x".to_owned())]);
    }

    #[test]
    fn groups_above_tell_which_dimensions_are_unlimited() {
        let memory = Memory::new();
        let write = |name: &str, text: &str| memory.write(name, text.as_bytes()).unwrap();
        let group = |dimension: &str| {
            format!(
                r#"{{"zarr_format": 2, "_NCZARR_GROUP": {{"dims": {{"{dimension}": {{"size": 2, "unlimited": 1}}}}}}}}"#
            )
        };
        let array = r#"{"zarr_format": 2, "shape": [2, 2, 2], "dtype": "<i4", "chunks": [2, 2, 2], "fill_value": 0,
            "order": "C", "compressor": null, "filters": null, "dimension_separator": ".",
            "_NCZARR_ARRAY": {"dimrefs": ["/t", "/g/u", "/g/t"], "storage": "chunked"}}"#;
        write(".zgroup", &group("t"));
        write("g/.zgroup", &group("u"));
        write("v/.zarray", array);
        write("g/w/.zarray", array);
        let storage = Storage::new(memory).unwrap();
        assert_eq!(open(&storage, "v").unwrap().unlimited, [true, false, false]);
        assert_eq!(open(&storage, "g/w").unwrap().unlimited, [true, true, false]);
        // Of an array that is the storage itself no group is known.
        let memory = Memory::new();
        memory.write(".zarray", array.as_bytes()).unwrap();
        assert_eq!(open(&Storage::new(memory).unwrap(), "").unwrap().unlimited, [false; 3]);
    }

    #[test]
    fn what_is_not_there_is_told_apart() {
        let storage = Storage::new(Memory::new()).unwrap();
        assert_eq!(open(&storage, "").unwrap_err().kind(), ErrorKind::UnknownFormat);
        assert_eq!(open(&storage, "x").unwrap_err().kind(), ErrorKind::NotFound("array"));
        storage.write("x/.zgroup", b"{}").unwrap();
        assert_eq!(open(&storage, "x").unwrap_err().kind(), ErrorKind::NotAnArray);
    }

    #[test]
    fn what_is_no_array_is_told() {
        let storage = Storage::new(Memory::new()).unwrap();
        let kind = |name: &str| open(&storage, name).unwrap_err().kind();
        assert_eq!((kind(""), kind("v")), (ErrorKind::UnknownFormat, ErrorKind::NotFound("array")));
        storage.write("g/zarr.json", br#"{"zarr_format":3,"node_type":"group"}"#).unwrap();
        assert_eq!((kind("g"), kind("g/v")), (ErrorKind::NotAnArray, ErrorKind::NotFound("array")));
        // What is wrong with the storage itself does not matter, unless it says where the array is.
        for (root, expected) in [
            ("{", ErrorKind::NotFound("array")),
            (r#"{"zarr_format":3,"node_type":"group"}"#, ErrorKind::NotFound("array")),
            (r#"{"zarr_format":"https://purl.org/zarr/spec/protocol/core/3.0"}"#, ErrorKind::Unsupported("")),
        ] {
            storage.write("zarr.json", root.as_bytes()).unwrap();
            match (kind("v"), expected) {
                (ErrorKind::Unsupported(_), ErrorKind::Unsupported(_)) => {}
                (found, expected) => assert_eq!(found, expected, "{root}"),
            }
        }
    }
}
