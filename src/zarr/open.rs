//! From a name to metadata: which documents there are, and what they say together.

use super::group::{Node, read_group_v2, read_node_v3};
use super::metadata::Metadata;
use super::separator;
use super::v2::v2_of_values;
use crate::error::{Error, ErrorKind, Result};
use crate::json;
use crate::object::{Name, Place, check_name, read_whole};

/// No document is longer: those of real arrays have some kilobytes.
const LARGEST: usize = 16 << 20;

/// The metadata of the array with this name; an empty one is the place itself.
pub(crate) fn open(place: &Place, name: &str) -> Result<Metadata> {
    if !name.is_empty() {
        check_name(name)?;
    }
    if let Some(text) = document(place, name, "zarr.json")? {
        return match read_node_v3(&text)? {
            Node::Array(metadata) => metadata.check_codecs(place.codecs()).map(|()| *metadata),
            Node::Group(_) => Err(ErrorKind::NotAnArray.into()),
        };
    }
    let Some(text) = document(place, name, ".zarray")? else { return Err(why_not(place, name)?) };
    let attributes = document(place, name, ".zattrs")?;
    let array = json::read(&text).map_err(|error| error.in_object(".zarray"))?;
    let attributes = attributes.as_deref().map(json::read).transpose().map_err(|error| error.in_object(".zattrs"))?;
    let mut metadata = v2_of_values(&array, attributes.as_ref())?;
    metadata.check_codecs(place.codecs())?;
    separator::check(place, name, &array, metadata.shape.len())?;
    if metadata.is_nczarr {
        mark_unlimited(&mut metadata, place, name)?;
    }
    Ok(metadata)
}

/// Finds out from the groups above a NCZarr array which of its dimensions are unlimited.
fn mark_unlimited(metadata: &mut Metadata, place: &Place, name: &str) -> Result<()> {
    let mut group = name;
    while let Some((parent, _)) = group.rsplit_once('/').or((!group.is_empty()).then_some(("", group))) {
        group = parent;
        if let Some(text) = document(place, group, ".zgroup")? {
            let attributes = document(place, group, ".zattrs")?;
            metadata.mark_unlimited(&read_group_v2(&text, attributes.as_deref())?, Some(group));
        }
    }
    Ok(())
}

/// Whether netCDF-C keeps a list of what is in a group.
pub(crate) fn has_netcdf_group(place: &Place, name: &str) -> Result<bool> {
    let Some(text) = document(place, name, ".zgroup")? else { return Ok(false) };
    let attributes = document(place, name, ".zattrs")?;
    Ok(read_group_v2(&text, attributes.as_deref())?.is_nczarr)
}

/// Why there is no array of that name.
fn why_not(place: &Place, name: &str) -> Result<Error> {
    for group in [".zgroup", ".zattrs", ".nczarr", ".nczgroup"] {
        if document(place, name, group)?.is_some() {
            return Ok(ErrorKind::NotAnArray.into());
        }
    }
    // The draft of Zarr v3 of 2021 has its metadata elsewhere, and says so in the place itself.
    let root = if name.is_empty() { None } else { document(place, "", "zarr.json")? };
    if let Some(error) = root.and_then(|text| read_node_v3(&text).err()) {
        if let ErrorKind::Unsupported(_) | ErrorKind::OutOfMemory = error.kind() {
            return Ok(error);
        }
    }
    Ok(match name {
        "" => ErrorKind::UnknownFormat.into(),
        _ => ErrorKind::NotFound("array").into(),
    })
}

/// A document of an array or group.
pub(crate) fn document(place: &Place, name: &str, which: &'static str) -> Result<Option<Vec<u8>>> {
    let slash = if name.is_empty() { "" } else { "/" };
    read_whole(&**place, &Name::of(format_args!("{name}{slash}{which}"))?, LARGEST)
}
