//! # Objects
//!
//! Opaque types, in addition to those of nczchunk.h.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fmt::Display;

use nczchunk::object::{Name, Storage};
use nczchunk::{Array, Attribute, AttributeValue, AttributeValues};
use nczchunk_engine::alloc::{self, try_box};
use nczchunk_engine::error::{ErrorKind, Result};

/// An open array. Any number of threads may read it at the same time if its storage allows that; every built-in storage
/// does.
pub struct nczchunk_array {
    pub(super) array: Array,
    pub(super) type_name: CString,
    pub(super) format: CString,
    pub(super) dimension_names: Vec<CString>,
    pub(super) attributes: Vec<CAttribute>,
    pub(super) attributes_json: CString,
}

/// A storage: a map from object names to bytes. Built-in storages are the files of a directory, the entries of a zip
/// file, and memory. Your own storage consists of callbacks.
pub struct nczchunk_storage(pub(super) Storage);

impl nczchunk_array {
    /// An array as C knows it, whose strings end with a NUL.
    pub(super) fn new(array: Array) -> Result<Self> {
        let dimension_name = |d| c_text(array.dimension_name(d).unwrap_or_default());
        let dimension_names = alloc::try_collected((0..array.variable().rank()).map(dimension_name))?;
        let (attributes, attributes_json) = c_attributes(array.attributes(), array.attributes_json())?;
        Ok(nczchunk_array {
            type_name: c_text(array.element_type())?,
            format: c_text(array.format())?,
            attributes_json,
            dimension_names,
            attributes,
            array,
        })
    }

    /// The same in memory of its own.
    pub(super) fn boxed(array: Array) -> Result<Box<Self>> {
        Ok(try_box(nczchunk_array::new(array)?)?)
    }

    /// Sets an attribute, or removes it. Nothing of this object changes unless all of that succeeds.
    pub(super) fn change_attribute(&mut self, name: &str, value: Option<AttributeValue<'_>>) -> Result<()> {
        (self.attributes, self.attributes_json) =
            self.array.change_attribute(name, value, |all| c_attributes(&all.list, &all.json))?;
        Ok(())
    }

    /// Sets the members of a JSON object as attributes; as [`change_attribute`](Self::change_attribute).
    pub(super) fn update_attributes(&mut self, given: &str) -> Result<()> {
        (self.attributes, self.attributes_json) =
            self.array.update_attributes(given, |all| c_attributes(&all.list, &all.json))?;
        Ok(())
    }
}

/// Attributes as C knows them, one by one and as one string.
fn c_attributes(list: &[Attribute], json: &str) -> Result<(Vec<CAttribute>, CString)> {
    Ok((alloc::try_collected(list.iter().map(CAttribute::new))?, c_text(json)?))
}

/// An attribute as C knows it.
pub(super) struct CAttribute {
    pub(super) name: CString,
    pub(super) netcdf_type: c_int,
    pub(super) num_values: usize,
    /// Words, so that the values are aligned for any type.
    values: Vec<u64>,
    texts: Vec<CString>,
    /// Pointers to the strings.
    pointers: Vec<*const c_char>,
}

// SAFETY: the pointers are to texts of its own, which nobody changes.
unsafe impl Send for CAttribute {}
// SAFETY: as above.
unsafe impl Sync for CAttribute {}

impl CAttribute {
    pub(super) fn new(attribute: &Attribute) -> Result<Self> {
        let mut one = CAttribute {
            name: c_text(attribute.name())?,
            netcdf_type: attribute.element_type().netcdf_type(),
            num_values: 0,
            values: Vec::new(),
            texts: Vec::new(),
            pointers: Vec::new(),
        };
        match attribute.values() {
            AttributeValues::Bytes(bytes) => {
                one.num_values = bytes.len() / attribute.element_type().size().max(1);
                // One word more than is needed, so that a text has a NUL behind it.
                one.values.try_reserve_exact(bytes.len() / 8 + 1).map_err(|_| ErrorKind::OutOfMemory)?;
                for word in bytes.chunks(8) {
                    let mut padded = [0; 8];
                    padded[..word.len()].copy_from_slice(word);
                    one.values.push(u64::from_ne_bytes(padded));
                }
                if bytes.len() % 8 == 0 {
                    one.values.push(0);
                }
            }
            AttributeValues::Texts(texts) => {
                one.num_values = texts.len();
                one.texts = alloc::try_collected(texts.iter().map(c_text))?;
                // The texts stay where they are when the attribute is moved.
                one.pointers = alloc::collected(one.texts.iter().map(|text| text.as_ptr()))?;
            }
        }
        Ok(one)
    }

    /// The values, or the pointers to the strings.
    pub(super) fn values(&self) -> *const c_void {
        match self.texts.as_slice() {
            [] => self.values.as_ptr().cast(),
            _ => self.pointers.as_ptr().cast(),
        }
    }
}

/// What is displayed, as a C string: up to the first NUL, if there is one in it.
pub(super) fn c_text(what: impl Display) -> Result<CString> {
    let name = Name::of(format_args!("{what}\0"))?;
    let text = CStr::from_bytes_until_nul(name.as_bytes()).map_err(|_| ErrorKind::Internal)?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(text.count_bytes() + 1).map_err(|_| ErrorKind::OutOfMemory)?;
    bytes.extend_from_slice(text.to_bytes_with_nul());
    CString::from_vec_with_nul(bytes).map_err(|_| ErrorKind::Internal.into())
}
