//! What netCDF-C adds to Zarr v2.
//!
//! netCDF-C from 4.9.3 on has `_nczarr_array`, `_nczarr_attr` and `_nczarr_group` among the attributes. Versions before
//! it have them, or `_NCZARR_ARRAY` and so on, in `.zarray` and `.zgroup` themselves. Some of those spell a character
//! `<U1`, and tell a scalar by its storage, or by a list of dimensions that is empty where the shape is not. The first
//! version of NCZarr, which 4.8.0 writes, has the same in documents of its own: `.nczarray`, `.nczattr` and
//! `.nczgroup`.

use crate::alloc;
use crate::dataset::GroupDimension;
use crate::element::ElementType;
use crate::error::Result;
use crate::json::{At, Value};
use crate::variable::Endian;

/// The attribute that names the dimensions, which xarray has introduced.
pub(super) const ARRAY_DIMENSIONS: &str = "_ARRAY_DIMENSIONS";
/// What netCDF-C calls the dimension of a scalar.
pub(crate) const SCALAR_DIMENSION: &str = "_scalar_";

pub(super) const ARRAY: [&str; 2] = ["_nczarr_array", "_NCZARR_ARRAY"];
pub(super) const ATTRIBUTES: [&str; 2] = ["_nczarr_attr", "_NCZARR_ATTR"];

/// The documents of the first version of NCZarr, one of which has two names.
pub(super) const ARRAY_DOCUMENTS: [&str; 1] = [".nczarray"];
pub(super) const ATTRIBUTES_DOCUMENTS: [&str; 2] = [".nczattr", ".nczattrs"];
pub(super) const GROUP_DOCUMENT: &str = ".nczgroup";

/// Whether there may be documents of the first version of NCZarr: what is in `.zarray` and `.zattrs` is none of a later
/// version's, and names no dimensions, which that version does not do there.
pub(super) fn may_have_documents(array: &Value, attributes: Option<&Value>) -> bool {
    let has = |name: &&str| array.get(name).is_some() || attributes.is_some_and(|all| all.get(name).is_some());
    !ARRAY.iter().chain(&ATTRIBUTES).chain(&[ARRAY_DIMENSIONS]).any(has)
}

const GROUP: [&str; 2] = ["_nczarr_group", "_NCZARR_GROUP"];

/// Whether an attribute is there for the format's sake, and not the user's.
pub(crate) fn is_internal_attribute(name: &str) -> bool {
    let is_nczarr = ["_nczarr_", "_NCZARR_"].iter().any(|prefix| name.starts_with(prefix));
    is_nczarr || matches!(name, ARRAY_DIMENSIONS | "_NCProperties" | "_nczarr")
}

/// The attributes that are the user's.
pub(crate) fn own_attributes(all: &Value) -> Result<Value> {
    all.copied_members(|name| !is_internal_attribute(name))
}

/// Adds the key that keeps the types of attributes, unless it is there.
pub(crate) fn keep_types(attributes: &mut Value) -> Result<()> {
    if ATTRIBUTES.iter().all(|name| attributes.get(name).is_none()) {
        attributes.push(ATTRIBUTES[0], Value::object([("types", Value::object([])?)])?)?;
    }
    Ok(())
}

/// The first of these documents' members that has one of the names.
pub(super) fn find<'a>(documents: &'a [At<'a>], names: &'a [&'static str]) -> Option<At<'a>> {
    documents.iter().find_map(|document| names.iter().find_map(|name| document.given(name)))
}

/// The type of what is spelt like a type of Zarr's.
pub(super) fn element(spelt: (ElementType, Endian)) -> (ElementType, Endian) {
    if let (ElementType::Unicode { len: 1 }, _) = spelt { (ElementType::Char, Endian::Native) } else { spelt }
}

/// What the keys say about an array.
pub(super) struct Array {
    pub(super) is_nczarr: bool,
    pub(super) is_scalar: bool,
    pub(super) dimension_names: Vec<Option<String>>,
    pub(super) dimension_references: Vec<String>,
}

/// Reads the keys in `.zarray` and `.zattrs`. Names of dimensions that are not one per dimension are not taken.
pub(super) fn read_array(documents: &[At<'_>], shape: &[usize]) -> Result<Array> {
    let array = find(documents, &ARRAY);
    let is_nczarr = array.is_some() || find(documents, &ATTRIBUTES).is_some();
    let mut dimension_references = Vec::new();
    let mut is_scalar = false;
    if let Some(array) = &array {
        is_scalar = array.value().get("scalar").is_some_and(|scalar| *scalar == Value::Bool(true) || is_one(scalar));
        is_scalar |= array.value().get("storage").and_then(Value::as_str) == Some("scalar");
        let references = ["dimension_references", "dimrefs"].into_iter().find_map(|name| array.given(name));
        for reference in references.iter().flat_map(|list| list.value().as_list().unwrap_or_default()) {
            if let Some(reference) = reference.as_str() {
                alloc::push(&mut dimension_references, alloc::text(reference)?)?;
            }
        }
    }
    if dimension_references.len() != shape.len() {
        dimension_references.clear();
    }
    let named = find(documents, &[ARRAY_DIMENSIONS]).map(|named| named.value());
    let names = named.and_then(Value::as_list).unwrap_or_default().iter().map(Value::as_str);
    let mut dimension_names = alloc::try_collected(names.map(|name| Ok(name.map(alloc::text).transpose()?)))?;
    // It is all that tells a scalar where netCDF-C writes pure Zarr.
    is_scalar |= matches!(dimension_names.as_slice(), [Some(name)] if name == SCALAR_DIMENSION);
    is_scalar |= named.and_then(Value::as_list).is_some_and(<[Value]>::is_empty);
    is_scalar &= *shape == [1];
    if dimension_names.len() != shape.len() {
        dimension_names = alloc::try_collected((0..shape.len()).map(|d| {
            let reference = dimension_references.get(d).and_then(|path| path.rsplit('/').next());
            Ok(reference.map(alloc::text).transpose()?)
        }))?;
    }
    Ok(Array { is_nczarr, is_scalar, dimension_names, dimension_references })
}

fn is_one(value: &Value) -> bool {
    value.as_i64() == Some(1)
}

/// The dimensions of a group, each a length, or an object with its `size` and whether it is `unlimited`; and whether
/// the keys are there.
pub(super) fn read_group(documents: &[At<'_>]) -> Result<(bool, Vec<GroupDimension>)> {
    let mut dimensions = Vec::new();
    let Some(group) = find(documents, &GROUP) else { return Ok((false, dimensions)) };
    if let Some(all) = ["dimensions", "dims"].into_iter().find_map(|name| group.given(name)) {
        for (name, at) in all.members()? {
            let (len, is_unlimited) = match at.value() {
                Value::Object(_) => {
                    let unlimited = at.value().get("unlimited");
                    (at.require("size")?.usize()?, unlimited.is_some_and(|u| *u == Value::Bool(true) || is_one(u)))
                }
                _ => (at.usize()?, false),
            };
            alloc::push(&mut dimensions, GroupDimension { name: alloc::text(name)?, len, is_unlimited })?;
        }
    }
    Ok((true, dimensions))
}

/// Sets what netCDF-C says about an array: the paths of its dimensions. It is a scalar if it has none.
pub(crate) fn set_netcdf_array(attributes: &mut Value, dimension_references: Vec<Value>) -> Result<()> {
    let is_scalar = dimension_references.is_empty();
    let mut array = Value::object([("dimension_references", Value::List(dimension_references))])?;
    if is_scalar {
        array.push("scalar", Value::number(1)?)?;
    }
    array.push("storage", Value::text("chunked")?)?;
    set_internal(attributes, ARRAY[0], array)
}

/// Sets what netCDF-C says about a group: its dimensions, and the names of the arrays and groups in it.
pub(crate) fn set_netcdf_group<'n>(
    attributes: &mut Value,
    dimensions: impl Iterator<Item = &'n GroupDimension>,
    arrays: impl Iterator<Item = &'n str>,
    groups: impl Iterator<Item = &'n str>,
) -> Result<()> {
    let mut all = Value::Object(Vec::new());
    for GroupDimension { name, len, is_unlimited } in dimensions {
        let len = Value::number(len)?;
        let unlimited = || Value::number(1);
        let is = if *is_unlimited { Value::object([("size", len), ("unlimited", unlimited()?)])? } else { len };
        all.push(name, is)?;
    }
    let (arrays, groups) = (Value::list(arrays.map(Value::text))?, Value::list(groups.map(Value::text))?);
    set_internal(attributes, GROUP[0], Value::object([("dimensions", all), ("arrays", arrays), ("groups", groups)])?)
}

/// Sets what netCDF-C says in the outermost group: the version of NCZarr.
pub(crate) fn set_netcdf_superblock(attributes: &mut Value) -> Result<()> {
    set_internal(attributes, "_nczarr_superblock", Value::object([("version", Value::text("2.0.0")?)])?)
}

/// Sets a key of netCDF-C's, and its type where types are kept.
fn set_internal(attributes: &mut Value, name: &str, value: Value) -> Result<()> {
    attributes.set(name, value)?;
    for names in ATTRIBUTES {
        if let Some(types) = attributes.get_mut(names).and_then(|keys| keys.get_mut("types")) {
            types.set(name, Value::text("|J0")?)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_is_not_so() {
        let read = |text: &str, shape: &[usize]| {
            let value = crate::json::read(text.as_bytes()).unwrap();
            read_array(&[At::root(&value)], shape).unwrap()
        };
        for (members, is_scalar) in [
            (r#""storage":"chunked""#, false),
            (r#""storage":"scalar""#, true),
            (r#""scalar":0"#, false),
            (r#""scalar":false"#, false),
            (r#""scalar":1"#, true),
            (r#""scalar":true"#, true),
        ] {
            let array = read(&format!(r#"{{"_nczarr_array":{{"dimrefs":["/x"],{members}}}}}"#), &[1]);
            assert_eq!(array.is_scalar, is_scalar, "{members}");
        }
        let unlimited = |text: &str| {
            let text = format!(r#"{{"_nczarr_group":{{"dims":{{"t":{{"size":2,"unlimited":{text}}}}}}}}}"#);
            let value = crate::json::read(text.as_bytes()).unwrap();
            read_group(&[At::root(&value)]).unwrap().1[0].is_unlimited
        };
        assert!(unlimited("1") && unlimited("true") && !unlimited("0") && !unlimited("false"));
    }

    #[test]
    fn internal_attributes_are_known() {
        for name in ["_ARRAY_DIMENSIONS", "_nczarr_array", "_NCZARR_ATTR", "_NCProperties", "_nczarr_default_maxstrlen"]
        {
            assert!(is_internal_attribute(name), "{name}");
        }
        for name in ["_FillValue", "units", "nczarr"] {
            assert!(!is_internal_attribute(name), "{name}");
        }
    }

    #[test]
    fn names_are_texts_and_what_keeps_types_is_there_once() {
        let value = crate::json::read(br#"{"_nczarr_array":{"dimrefs":[1,"/x"]}}"#).unwrap();
        assert_eq!(read_array(&[At::root(&value)], &[2]).unwrap().dimension_references, ["/x"]);
        for (text, kept) in [("{}", true), (r#"{"_NCZARR_ATTR":{"types":{}}}"#, false)] {
            let mut attributes = crate::json::read(text.as_bytes()).unwrap();
            keep_types(&mut attributes).unwrap();
            keep_types(&mut attributes).unwrap();
            assert_eq!((attributes.members().len(), attributes.get(ATTRIBUTES[0]).is_some()), (1, kept), "{text}");
        }
    }
}
