//! # Attributes of an array

use std::ffi::{c_char, c_int, c_void};

use super::array::utf8;
use super::array_objects::{CAttribute, nczchunk_array};
use super::context::report;
use super::growing::{Growing, assert_can_grow, write_growing};
use super::objects::nczchunk_context;
use super::pointers::{handle, text};
use crate::error::{Error, ErrorKind, Result};

/// An attribute. Set struct_size before it is filled in. What it points to is the array's, and valid until the
/// attributes are changed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nczchunk_attribute {
    /// sizeof(nczchunk_attribute).
    pub struct_size: usize,
    /// Its name.
    pub name: *const c_char,
    /// netCDF's number for the type of its values: 2 (NC_CHAR) for a text, 12 (NC_STRING) for several.
    pub r#type: usize,
    /// How many values there are; of a text, how many bytes.
    pub num_values: usize,
    /// The values, in native byte order and aligned for their type. A text is UTF-8, unless an old netCDF file has
    /// another encoding, and has a NUL behind it, which does not count; several texts are pointers to such texts: const
    /// char *const *.
    pub values: *const c_void,
}
assert_can_grow!(nczchunk_attribute, values: *const c_void);
// SAFETY: a structure of C with words and pointers only, the first of which is its size.
unsafe impl Growing for nczchunk_attribute {}

/// The number of an array's attributes, without those that formats keep for themselves. 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_num_attributes(array: *const nczchunk_array) -> usize {
    // SAFETY: array is NULL or alive, by the header's general promise.
    unsafe { array.as_ref() }.map_or(0, |array| array.attributes.len())
}

/// Whether an array's attributes can be read. An array of which only they are broken is opened, and is then one without
/// attributes; what is stored of them stays as it is, for none can be set.
///
/// Errors: NCZCHUNK_EINVAL (array is NULL), NCZCHUNK_ENCZARR (their document is malformed), NCZCHUNK_ENOMEM (it takes
/// more memory than the storage's limit).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_check_attributes(
    array: *const nczchunk_array,
    context: *mut nczchunk_context,
) -> c_int {
    // SAFETY: the pointers are NULL or alive, by the header's general promise.
    unsafe { report(context, || readable(handle(array, "array is NULL")?)) }
}

/// Refuses attributes that cannot be read.
fn readable(array: &nczchunk_array) -> Result<()> {
    array.array.attributes_error().map_or(Ok(()), |error| Err(error.clone()))
}

/// The attribute of this name.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument; struct_size is not set), NCZCHUNK_ENOTATT (there is none of that name),
/// and those of nczchunk_array_check_attributes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_attribute(
    array: *const nczchunk_array,
    name: *const c_char,
    attribute: *mut nczchunk_attribute,
    context: *mut nczchunk_context,
) -> c_int {
    // SAFETY: the pointers are NULL or point to what their types say, by the header's general promise.
    unsafe {
        report(context, || {
            let array = handle(array, "array is NULL")?;
            readable(array)?;
            let name = utf8(text(name, "name is NULL")?)?;
            let found = array.array.attributes().iter().position(|attribute| attribute.name() == name);
            let i = found.ok_or_else(|| Error::from(ErrorKind::NoAttribute).in_object(name))?;
            write_growing(attribute, told(&array.attributes[i]))
        })
    }
}

/// The i-th attribute, in the order in which they are stored.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument; struct_size is not set), NCZCHUNK_EINVALCOORDS (there are not so many).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_attribute_at(
    array: *const nczchunk_array,
    i: usize,
    attribute: *mut nczchunk_attribute,
    context: *mut nczchunk_context,
) -> c_int {
    // SAFETY: the pointers are NULL or point to what their types say, by the header's general promise.
    unsafe {
        report(context, || {
            let attributes = &handle(array, "array is NULL")?.attributes;
            let found = attributes.get(i).ok_or(ErrorKind::Index { index: i, len: attributes.len() })?;
            write_growing(attribute, told(found))
        })
    }
}

/// All attributes as the text of a JSON object: as they are stored, if that is how they are stored. The text is the
/// array's; "{}" for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_attributes_json(array: *const nczchunk_array) -> *const c_char {
    // SAFETY: array is NULL or alive, by the header's general promise.
    unsafe { array.as_ref() }.map_or(c"{}".as_ptr(), |array| array.attributes_json.as_ptr())
}

/// An attribute as C is told of it.
pub(super) fn told(attribute: &CAttribute) -> nczchunk_attribute {
    nczchunk_attribute {
        struct_size: 0,
        name: attribute.name.as_ptr(),
        r#type: attribute.netcdf_type as usize,
        num_values: attribute.num_values,
        values: attribute.values(),
    }
}
