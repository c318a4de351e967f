//! # Groups
//!
//! Groups hold arrays and other groups, and have attributes. nczchunk_array_create creates the groups that an array
//! needs; create a group yourself to give it attributes:
//!
//! ```c
//! nczchunk_group_create("model.zarr", "ocean", 0, "{\"title\": \"Ocean\"}", NULL);
//! ```
//!
//! A group is not opened. The functions below take the storage that it is in and its path in the storage, which is NULL
//! or empty for the storage itself. nczchunk_list_node tells the attributes of a group, nczchunk_list its members, and
//! nczchunk_group_dimensions the dimensions that it defines.

use super::create::{format, texts, value};
use super::prelude::*;

/// Creates a group. path is a directory, which is created if it does not exist. name is the path of the group below it,
/// such as "ocean/deep", and is NULL or empty if path is to be the group. Missing groups on the way are created.
/// format is NCZCHUNK_ZARR_V3, NCZCHUNK_ZARR_V2 or NCZCHUNK_NCZARR; 0 for the version of the group that it is in, or
/// Zarr v3 if there is none. attributes_json has the attributes as a JSON object in a string; NULL for none. Attributes
/// that formats keep for themselves are left out.
///
/// Consolidated metadata of the groups above are removed: see nczchunk_array_create. Nothing is written before all
/// checks have passed.
///
/// Errors: NCZCHUNK_EEXIST (an array or group exists there, or name is below an array), NCZCHUNK_EINVAL (path is NULL;
/// an unknown format; the group above is of another version of Zarr; a name that groups cannot have, such as ".zgroup"
/// or, in Zarr v3, "__x"), NCZCHUNK_ENCZARR (attributes_json is not a JSON object), NCZCHUNK_EPERM (path is a zip
/// file), NCZCHUNK_ENOMEM, and the system's errno values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_group_create(
    path: *const c_char,
    name: *const c_char,
    format: usize,
    attributes_json: *const c_char,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        let format = if format == 0 { None } else { Some(self::format(format)?) };
        nczchunk::create_group_at(file_path(path)?, optional_text(name)?, format, optional_text(attributes_json)?)
    }))
}

/// Creates a group in a storage: see nczchunk_group_create.
///
/// Errors: those of nczchunk_group_create, NCZCHUNK_EPERM (the storage is read-only), and the status that a callback of
/// the storage returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_group_create_in(
    storage: *const nczchunk_storage,
    name: *const c_char,
    format: usize,
    attributes_json: *const c_char,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        let storage = &handle(storage, "storage is NULL")?.0;
        let name = optional_text(name)?;
        let format = if format == 0 { nczchunk::format_above(storage, name)? } else { self::format(format)? };
        nczchunk::create_group(storage, name, format, optional_text(attributes_json)?, &[])
    }))
}

/// Sets or adds an attribute of a group, immediately. type, num_values and values are as in
/// nczchunk_array_set_attribute. Consolidated metadata of the group and of those above are removed.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument; a name that attributes cannot have, such as those that the formats
/// reserve), NCZCHUNK_EBADTYPE (another type), NCZCHUNK_ENOTFOUND (no such group), NCZCHUNK_ENCZARR (malformed metadata
/// of the group), NCZCHUNK_EPERM (the storage is read-only), NCZCHUNK_ENOMEM, and those of the storage.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_group_set_attribute(
    storage: *const nczchunk_storage,
    group: *const c_char,
    name: *const c_char,
    r#type: c_int,
    num_values: usize,
    values: *const c_void,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        let storage = &handle(storage, "storage is NULL")?.0;
        let (group, name) = (optional_text(group)?, utf8(text(name, "name is NULL")?)?);
        let texts = texts(r#type, num_values, values)?;
        nczchunk::change_group_attribute(storage, group, name, Some(value(r#type, num_values, values, &texts)?))
    }))
}

/// Sets or adds several attributes of a group, immediately: each member of a JSON object, as it is. Members may be
/// nested. Other attributes stay as they are. See nczchunk_group_set_attribute.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument; a name that attributes cannot have), NCZCHUNK_ENCZARR (the string is not a
/// JSON object; malformed metadata of the group), NCZCHUNK_ENOTFOUND (no such group), NCZCHUNK_EPERM (the storage is
/// read-only), NCZCHUNK_ENOMEM, and those of the storage.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_group_set_attributes_json(
    storage: *const nczchunk_storage,
    group: *const c_char,
    attributes_json: *const c_char,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        let storage = &handle(storage, "storage is NULL")?.0;
        let attributes = utf8(text(attributes_json, "attributes_json is NULL")?)?;
        nczchunk::set_group_attributes_json(storage, optional_text(group)?, attributes)
    }))
}

/// Removes an attribute of a group, immediately: see nczchunk_group_set_attribute.
///
/// Errors: NCZCHUNK_ENOTATT (no attribute of that name), NCZCHUNK_EINVAL (a NULL argument), NCZCHUNK_ENOTFOUND (no such
/// group), NCZCHUNK_ENCZARR (malformed metadata of the group), NCZCHUNK_EPERM (the storage is read-only),
/// NCZCHUNK_ENOMEM, and those of the storage.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_group_remove_attribute(
    storage: *const nczchunk_storage,
    group: *const c_char,
    name: *const c_char,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        let storage = &handle(storage, "storage is NULL")?.0;
        let name = utf8(text(name, "name is NULL")?)?;
        nczchunk::change_group_attribute(storage, optional_text(group)?, name, None)
    }))
}

/// Consolidates a group: copies the metadata of all arrays and groups in it into its own metadata, as zarr-python does.
/// A reader then finds all of them with one request. Consolidated metadata of the groups in it are not used, and stay
/// as they are. Calls of the library that change any of the metadata remove the copies; other programs may not. Of a
/// member that changes during this call the copy may be the one before.
///
/// Errors: NCZCHUNK_EINVAL (storage is NULL), NCZCHUNK_ENOTFOUND (no such group), NCZCHUNK_ENCZARR (metadata in the
/// group that are not JSON), NCZCHUNK_ENOTBUILT (the storage cannot list its objects), the errno value EAGAIN (the
/// document that is written was changed, made or removed meanwhile, where the storage can tell), NCZCHUNK_EPERM (the
/// storage is read-only), NCZCHUNK_ENOMEM, and those of the storage.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_group_consolidate(
    storage: *const nczchunk_storage,
    group: *const c_char,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || nczchunk::consolidate(
        &handle(storage, "storage is NULL")?.0,
        optional_text(group)?
    )))
}

/// A dimension that a group defines. All pointers are valid until the callback returns.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nczchunk_dimension {
    /// sizeof(nczchunk_dimension) as the library knows it. There are no fields beyond it.
    pub struct_size: usize,
    /// Its name.
    pub name: *const c_char,
    /// Its length in elements.
    pub len: usize,
    /// 1 if it is unlimited, else 0.
    pub is_unlimited: usize,
}
assert_can_grow!(nczchunk_dimension, is_unlimited: usize);

/// Lists the dimensions that a group defines, in the order in which the format has them, whether an array has them or
/// not. Classic netCDF files, HDF5 files (netCDF-4) and groups of netCDF-C's NCZarr define dimensions; other groups of
/// Zarr and cfdb files have only those of their arrays, and found is not called. An array may also have dimensions of
/// the groups around its own. An unlimited dimension of HDF5 is as long as the longest array that has it, as netCDF
/// shows it; other arrays with the dimension may be shorter. To find it, the metadata of all arrays in the group and
/// below are read. If found returns anything but 0, the call ends with that status.
///
/// Errors: NCZCHUNK_EINVAL (storage or found is NULL), NCZCHUNK_ENOTFOUND (no such group), NCZCHUNK_ENCZARR (malformed
/// metadata of the group), NCZCHUNK_ENOMEM, the status that found returned, and those of the storage.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_group_dimensions(
    storage: *const nczchunk_storage,
    group: *const c_char,
    found: Option<unsafe extern "C" fn(user: *mut c_void, dimension: *const nczchunk_dimension) -> c_int>,
    user: *mut c_void,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        let storage = &handle(storage, "storage is NULL")?.0;
        let found = found.ok_or(ErrorKind::Argument("found is NULL"))?;
        for dimension in nczchunk::group_dimensions(storage, optional_text(group)?)? {
            let name = c_text(&*dimension.name)?;
            let told = nczchunk_dimension {
                struct_size: size_of::<nczchunk_dimension>(),
                name: name.as_ptr(),
                len: dimension.len,
                is_unlimited: usize::from(dimension.is_unlimited),
            };
            called(found(user, &raw const told))?;
        }
        Ok(())
    }))
}
