//! # Attributes of an array
//!
//! Read the attributes of an array, one by one or all as JSON.

use super::prelude::*;

/// An attribute. Set struct_size before a call fills it in. The pointers belong to the array, and are valid until the
/// attributes are changed or the array is closed, resized or refreshed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nczchunk_attribute {
    /// sizeof(nczchunk_attribute).
    pub struct_size: usize,
    /// The attribute's name.
    pub name: *const c_char,
    /// netCDF's number for the type of the values: 2 (NC_CHAR) for one string, 12 (NC_STRING) for several.
    pub r#type: usize,
    /// The number of values; of one string, the number of bytes.
    pub num_values: usize,
    /// The values, in native byte order and aligned for their type. A string is UTF-8, unless an old netCDF file has
    /// another encoding. It is followed by a NUL, which num_values does not count. Several strings are pointers to such
    /// strings: const char *const *.
    pub values: *const c_void,
}
growing!(nczchunk_attribute, values: *const c_void);

/// Returns the number of an array's attributes, without those that the formats reserve. Returns 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_num_attributes(array: *const nczchunk_array) -> usize {
    by_promise!(array.as_ref().map_or(0, |array| array.attributes.len()))
}

/// Checks whether an array's attributes can be read. An array whose attributes alone are broken can be opened, and then
/// has no attributes. Its stored attributes stay as they are, because none can be set.
///
/// Errors: NCZCHUNK_EINVAL (array is NULL), NCZCHUNK_ENCZARR (their document is malformed), NCZCHUNK_ENOMEM (they take
/// more memory than the storage's limit).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_check_attributes(
    array: *const nczchunk_array,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || readable(handle(array, "array is NULL")?)))
}

/// Refuses attributes that cannot be read.
fn readable(array: &nczchunk_array) -> Result<()> {
    array.array.attributes_error().map_or(Ok(()), |error| Err(error.clone()))
}

/// Returns the attribute of this name.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument; struct_size is not set), NCZCHUNK_ENOTATT (no attribute of that name), and
/// those of nczchunk_array_check_attributes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_attribute(
    array: *const nczchunk_array,
    name: *const c_char,
    attribute: *mut nczchunk_attribute,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        let array = handle(array, "array is NULL")?;
        readable(array)?;
        let name = utf8(text(name, "name is NULL")?)?;
        let found = array.array.attributes().iter().position(|attribute| attribute.name() == name);
        let i = found.ok_or_else(|| Error::from(ErrorKind::NoAttribute).in_object(name))?;
        write_growing(attribute, told(&array.attributes[i]))
    }))
}

/// Returns the i-th attribute, in the order in which they are stored.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument; struct_size is not set), NCZCHUNK_EINVALCOORDS (i is not below the number
/// of attributes).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_attribute_at(
    array: *const nczchunk_array,
    i: usize,
    attribute: *mut nczchunk_attribute,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        let attributes = &handle(array, "array is NULL")?.attributes;
        let found = attributes.get(i).ok_or(ErrorKind::Index { index: i, len: attributes.len() })?;
        write_growing(attribute, told(found))
    }))
}

/// Returns all attributes as a JSON object in a string: unchanged, if they are stored in that form. The string belongs
/// to the array; it is "{}" for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_attributes_json(array: *const nczchunk_array) -> *const c_char {
    by_promise!(array.as_ref().map_or(c"{}".as_ptr(), |array| array.attributes_json.as_ptr()))
}

/// Calls found for each thing that is stored with an array and that the library does not show: a copy of the array does
/// not have it. name is that of an attribute that is missing, or of which a part is missing. It is empty for a part of
/// the type of the elements. reason says in words what is missing. HDF5 files may have attributes whose types netCDF
/// lacks, such as structures and references. The types of their arrays may say more than the elements show: the names
/// of an enumeration's values, the members of a structure, the tag of an opaque type, the shape of an array type. For
/// other formats found is not called. A name of more than 160 bytes is cut off. The strings are valid until the
/// callback returns. If found returns anything but 0, the call ends with that status. Any number of threads may make
/// this call for one array at the same time.
///
/// Attributes that cannot be read are not among these: see nczchunk_array_check_attributes.
///
/// Errors: NCZCHUNK_EINVAL (array or found is NULL), the status that found returned, NCZCHUNK_ENOMEM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_left_out(
    array: *const nczchunk_array,
    found: Option<unsafe extern "C" fn(user: *mut c_void, name: *const c_char, reason: *const c_char) -> c_int>,
    user: *mut c_void,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || tell_left_out(handle(array, "array is NULL")?.array.left_out(), found, user)))
}

/// Calls `found` for everything that is left out: with the name of the attribute, and the reason.
///
/// # Safety
/// `found` takes what is documented.
pub(super) unsafe fn tell_left_out(
    left_out: &[Error],
    found: Option<unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char) -> c_int>,
    user: *mut c_void,
) -> Result<()> {
    let found = found.ok_or(ErrorKind::Argument("found is NULL"))?;
    for error in left_out {
        let (name, reason) = (c_text(error.about())?, c_text(error.kind())?);
        called(by_promise!(found(user, name.as_ptr(), reason.as_ptr())))?;
    }
    Ok(())
}

/// An attribute as C gets it.
pub(super) fn told(attribute: &CAttribute) -> nczchunk_attribute {
    nczchunk_attribute {
        struct_size: 0,
        name: attribute.name.as_ptr(),
        r#type: attribute.netcdf_type as usize,
        num_values: attribute.num_values,
        values: attribute.values(),
    }
}
