//! # Listing a group
//!
//! List the contents of a dataset, as ncdump -h does: its groups and arrays, with their shapes, types, dimensions and
//! attributes.
//!
//! ```c
//! static int print(void *user, const nczchunk_node *node)
//! {
//!     if (!node->is_group) printf("%s %s, rank %zu\n", node->type_name, node->name, node->rank);
//!     return 0;
//! }
//!
//! nczchunk_list("ocean.zarr", NULL, 1, print, NULL, NULL);
//! ```

use std::ffi::CString;

use super::attribute::{nczchunk_attribute, tell_left_out, told};
use super::prelude::*;
use nczchunk::{Node, open_storage};

/// A group or array in a listing. All pointers are valid until the callback returns.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nczchunk_node {
    /// sizeof(nczchunk_node) as the library knows it. There are no fields beyond it.
    pub struct_size: usize,
    /// Its path, as nczchunk_array_open takes it: its name after the names of its groups, such as "ocean/sst". Empty
    /// for the storage itself.
    pub name: *const c_char,
    /// 1 for a group, 0 for an array.
    pub is_group: usize,
    /// 0, or the status with which it cannot be opened, if its metadata show that. Then the fields after message are 0
    /// or empty.
    pub status: isize,
    /// The message for status; empty if status is 0.
    pub message: *const c_char,
    /// The type of an array's elements by netCDF's number; 0 if netCDF has no such type.
    pub r#type: usize,
    /// The type of an array's elements by name; empty for a group.
    pub type_name: *const c_char,
    /// The number of an array's dimensions.
    pub rank: usize,
    /// The lengths of the dimensions.
    pub shape: *const usize,
    /// The lengths of the chunks by which the array is read.
    pub chunk_shape: *const usize,
    /// The lengths of the shards by which the array is written; NULL if it has none.
    pub shard_shape: *const usize,
    /// The names of the dimensions; empty for one that has none.
    pub dimension_names: *const *const c_char,
    /// 1 for each dimension that the metadata mark as unlimited, as netCDF does; 0 for the others.
    pub is_unlimited: *const usize,
    /// The number of attributes: see nczchunk_node_attribute_at.
    pub num_attributes: usize,
    /// All attributes as a JSON object in a string: unchanged, if they are stored in that form.
    pub attributes_json: *const c_char,
    /// For the library's own use.
    pub attributes: *const c_void,
    /// 0, or the status with which the attributes cannot be read although the array or group can be opened.
    pub attributes_status: isize,
    /// The message for that status; empty if the status is 0.
    pub attributes_message: *const c_char,
    /// The format that it is stored in, as nczchunk_array_format returns it; empty if it cannot be opened.
    pub format: *const c_char,
}
growing!(nczchunk_node, format: *const c_char);

/// Lists a group. path is a directory or a zip file. group is the group's path below it, and is NULL or empty for path
/// itself. found is called for the group itself first, then for each group and array in it, ordered by name. If
/// recursive is 1, the contents of each group follow it. For an array, only the array itself is listed. If found
/// returns anything but 0, the call ends with that status.
///
/// For a file that holds arrays, the file itself is listed as a group, then its arrays in their order.
///
/// Groups and arrays that cannot be read are listed with their status. A symbolic link to a group is listed with the
/// contents of that group. Contents that several links lead to are listed only with the first link. A link to a group
/// that contains the link is left out. If the storage cannot list its objects, the group's consolidated metadata are
/// used.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument), NCZCHUNK_ENOTFOUND (no such path or group), NCZCHUNK_ENOTNC (path is
/// something else), NCZCHUNK_ENCZARR (malformed metadata of a group), NCZCHUNK_ENOTBUILT (the storage cannot list its
/// objects, and there are no consolidated metadata), NCZCHUNK_ENOMEM, and the system's errno values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_list(
    path: *const c_char,
    group: *const c_char,
    recursive: c_int,
    found: Option<unsafe extern "C" fn(user: *mut c_void, node: *const nczchunk_node) -> c_int>,
    user: *mut c_void,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        let path = file_path(path)?;
        let group = optional_text(group)?;
        let found = found.ok_or(ErrorKind::Argument("found is NULL"))?;
        let storage = open_storage(path)?;
        tell(found, user, |one| nczchunk::list_each(&storage, group, recursive != 0, one))
    }))
}

/// Lists a group of a storage: see nczchunk_list.
///
/// Errors: those of nczchunk_list, and the status that a callback of the storage returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_list_in(
    storage: *const nczchunk_storage,
    group: *const c_char,
    recursive: c_int,
    found: Option<unsafe extern "C" fn(user: *mut c_void, node: *const nczchunk_node) -> c_int>,
    user: *mut c_void,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        let storage = handle(storage, "storage is NULL")?;
        let group = optional_text(group)?;
        let found = found.ok_or(ErrorKind::Argument("found is NULL"))?;
        tell(found, user, |one| nczchunk::list_each(&storage.0, group, recursive != 0, one))
    }))
}

/// Calls found once, for the group or array of a storage that has this name: what nczchunk_list calls it with first.
/// name is NULL or empty for the storage itself. Its members are not looked at, so this is how to read a group's
/// attributes.
///
/// Errors: NCZCHUNK_EINVAL (storage or found is NULL), NCZCHUNK_ENOTFOUND (no such group or array), NCZCHUNK_ENOTNC
/// (the storage itself is neither), NCZCHUNK_ENCZARR (malformed metadata of a group), NCZCHUNK_ENOMEM, the status that
/// found returned, and those of the storage.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_list_node(
    storage: *const nczchunk_storage,
    name: *const c_char,
    found: Option<unsafe extern "C" fn(user: *mut c_void, node: *const nczchunk_node) -> c_int>,
    user: *mut c_void,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        let storage = handle(storage, "storage is NULL")?;
        let name = optional_text(name)?;
        let found = found.ok_or(ErrorKind::Argument("found is NULL"))?;
        tell(found, user, |one| nczchunk::one_node(&storage.0, name, one))
    }))
}

/// Returns the i-th attribute of a group or array in a listing. Its pointers are valid until the callback returns.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument; struct_size is not set), NCZCHUNK_EINVALCOORDS (i is not below the number
/// of attributes).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_node_attribute_at(
    node: *const nczchunk_node,
    i: usize,
    attribute: *mut nczchunk_attribute,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        let node = handle(node, "node is NULL")?;
        let attributes = &handle(node.attributes.cast::<CNode<'_>>(), NOT_PASSED)?.attributes;
        let found = attributes.get(i).ok_or(ErrorKind::Index { index: i, len: attributes.len() })?;
        write_growing(attribute, told(found))
    }))
}

/// Calls found for each thing that is stored with a group or array in a listing and that the library does not show: see
/// nczchunk_array_left_out. node is valid until the callback of the listing returns.
///
/// Errors: NCZCHUNK_EINVAL (node or found is NULL), the status that found returned, NCZCHUNK_ENOMEM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_node_left_out(
    node: *const nczchunk_node,
    found: Option<unsafe extern "C" fn(user: *mut c_void, name: *const c_char, reason: *const c_char) -> c_int>,
    user: *mut c_void,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        let node = handle(node, "node is NULL")?;
        tell_left_out(handle(node.attributes.cast::<CNode<'_>>(), NOT_PASSED)?.of.left_out(), found, user)
    }))
}

const NOT_PASSED: &str = "the node must be one that the library passed";

/// Calls `found` for each node that `each` finds.
///
/// # Safety
/// `found` takes what is documented.
unsafe fn tell(
    found: unsafe extern "C" fn(*mut c_void, *const nczchunk_node) -> c_int,
    user: *mut c_void,
    each: impl FnOnce(&mut dyn FnMut(Node) -> Result<()>) -> Result<()>,
) -> Result<()> {
    each(&mut |node| {
        let told = CNode::new(&node)?;
        let node = told.node();
        // What the node points to is alive.
        called(by_promise!(found(user, &raw const node)))
    })
}

/// A node as C knows it: what its structure points to.
struct CNode<'n> {
    of: &'n Node,
    name: CString,
    message: CString,
    attributes_message: CString,
    format: CString,
    type_name: CString,
    attributes_json: CString,
    _names: Vec<CString>,
    /// Pointers to the names.
    pointers: Vec<*const c_char>,
    is_unlimited: Vec<usize>,
    attributes: Vec<CAttribute>,
}

impl<'n> CNode<'n> {
    fn new(node: &'n Node) -> Result<Self> {
        let rank = node.shape().len();
        let names = alloc::try_collected((0..rank).map(|d| c_text(node.dimension_name(d).unwrap_or_default())))?;
        Ok(CNode {
            of: node,
            name: c_text(node.name())?,
            message: node.error().map_or_else(|| c_text(""), c_text)?,
            attributes_message: node.attributes_error().map_or_else(|| c_text(""), c_text)?,
            format: c_text(node.format())?,
            type_name: node.element_type().map_or_else(|| c_text(""), c_text)?,
            attributes_json: c_text(node.attributes_json())?,
            // The texts stay where they are when the list is moved.
            pointers: alloc::collected(names.iter().map(|name| name.as_ptr()))?,
            _names: names,
            is_unlimited: alloc::collected((0..rank).map(|d| usize::from(node.is_unlimited(d))))?,
            attributes: alloc::try_collected(node.attributes().iter().map(CAttribute::new))?,
        })
    }

    /// The structure, with pointers to data here and in the node.
    fn node(&self) -> nczchunk_node {
        let node = self.of;
        nczchunk_node {
            struct_size: size_of::<nczchunk_node>(),
            name: self.name.as_ptr(),
            is_group: usize::from(node.is_group()),
            status: node.error().map_or(0, |error| error.status() as isize),
            message: self.message.as_ptr(),
            r#type: node.element_type().map_or(0, |element| element.netcdf_type() as usize),
            type_name: self.type_name.as_ptr(),
            rank: node.shape().len(),
            shape: node.shape().as_ptr(),
            chunk_shape: node.chunk_shape().as_ptr(),
            shard_shape: node.shard_shape().map_or(std::ptr::null(), <[usize]>::as_ptr),
            dimension_names: self.pointers.as_ptr(),
            is_unlimited: self.is_unlimited.as_ptr(),
            num_attributes: self.attributes.len(),
            attributes_json: self.attributes_json.as_ptr(),
            attributes: (&raw const *self).cast(),
            attributes_status: node.attributes_error().map_or(0, |error| error.status() as isize),
            attributes_message: self.attributes_message.as_ptr(),
            format: self.format.as_ptr(),
        }
    }
}
