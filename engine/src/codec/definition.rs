//! What the library knows of a codec: its names, its settings and their ranges, and how it is made.
//!
//! A codec's own file has its [`Definition`]; reading, checking and writing settings follow from it.
#![allow(dead_code, reason = "codecs and formats use it, and all of them can be left out")]

use std::fmt;

use super::traits::Codec;
use crate::alloc;
pub use crate::element::Elements;
use crate::error::Result;
#[allow(unused_imports, reason = "codecs use them")]
pub use crate::setting::{Given, Kind, Setting, Written};

/// A codec of the library's.
pub struct Definition {
    /// The `id` that numcodecs and so Zarr v2 has; empty if Zarr v2 has no such codec. If both names are empty, it is
    /// one of HDF5's filters alone.
    pub v2: &'static str,
    /// The name that is written in Zarr v3, where `numcodecs.` with the `id` is read, too.
    pub v3: &'static str,
    /// Whether the `id` alone is read in Zarr v3, though another name is written.
    pub(crate) is_read_bare: bool,
    pub stage: Stage,
    /// Whether Zarr v2 has it as a compressor rather than as a filter.
    pub is_compressor: bool,
    /// What can be set. A number in the place of a configuration is the first of these that is one.
    pub settings: &'static [Setting],
    /// Whether settings that are not known are refused where they are read, too.
    pub is_closed: bool,
    /// Refuses settings that do not go together or not with the elements, or replaces what stands for a default.
    pub check: fn(&mut Settings, Elements) -> Result<()>,
    /// What the elements are encoded to.
    pub encoded: fn(&Settings, Elements) -> Elements,
    /// Whether netCDF-C reads it from NCZarr, with these settings and elements of so many bytes.
    pub is_netcdfs: fn(&Settings, usize) -> bool,
    /// The codec with these settings, for elements that are given like this and encoded to such.
    pub make: fn(&Settings, Elements, Elements) -> Result<Box<dyn Codec>>,
    /// HDF5's filter that does the same: its number, and how it is made of parameters that nc_def_var_filter takes;
    /// `None` if it does not take these.
    pub(crate) filter: Option<(u32, OfParameters)>,
}

/// Makes a codec of a filter's parameters.
pub type OfParameters = fn(&[u32]) -> Result<Option<Box<dyn Codec>>>;

/// Where a codec stands among others: what it makes of what. In Zarr v2 all make bytes of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
pub enum Stage {
    /// Elements of elements, one by one.
    EachElement,
    /// Elements of elements, which depend on those before them.
    Elements,
    /// Bytes of elements.
    ToBytes,
    /// Bytes of bytes.
    Bytes,
}

impl Stage {
    /// Whether it makes elements of elements.
    pub fn is_of_elements(self) -> bool {
        matches!(self, Stage::EachElement | Stage::Elements)
    }
}

impl Definition {
    /// A compressor without settings that only numcodecs has, and netCDF-C does not read. Its names and how it is made
    /// have to be given.
    pub(crate) const DEFAULT: Definition = Definition {
        v2: "",
        v3: "",
        is_read_bare: true,
        stage: Stage::Bytes,
        is_compressor: true,
        settings: &[],
        is_closed: false,
        check: |_, _| Ok(()),
        encoded: |_, elements| elements,
        is_netcdfs: |_, _| false,
        make: |_, _, _| Err(crate::error::ErrorKind::Internal.into()),
        filter: None,
    };

    /// Whether a name of Zarr v3's is this codec's.
    pub fn has_v3(&self, name: &str) -> bool {
        let id = name.strip_prefix("numcodecs.");
        !name.is_empty() && self.v3 == name
            || !self.v2.is_empty() && (id == Some(self.v2) || self.is_read_bare && self.v2 == name)
    }

    /// Its name in messages and lists.
    pub fn name(&self) -> &'static str {
        if self.v2.is_empty() { self.v3 } else { self.v2 }
    }

    /// The place of a setting.
    pub fn setting(&self, name: &str) -> Option<usize> {
        self.settings.iter().position(|setting| setting.name == name)
    }
}

impl PartialEq for Definition {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl fmt::Debug for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A codec in a box.
pub(super) fn boxed(codec: impl Codec + 'static) -> Result<Box<dyn Codec>> {
    Ok(alloc::try_box(codec)?)
}

/// What is given for all of a codec's settings, in their order.
#[derive(Debug, PartialEq)]
pub struct Settings {
    definition: &'static Definition,
    given: Vec<Given>,
}

impl Settings {
    /// Defaults only.
    pub fn new(definition: &'static Definition) -> Result<Self> {
        Ok(Settings { definition, given: alloc::collected(definition.settings.iter().map(Setting::default))? })
    }

    pub fn definition(&self) -> &'static Definition {
        self.definition
    }

    /// The settings with what is given for them.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Setting, &Given)> {
        self.definition.settings.iter().zip(&self.given)
    }

    pub fn set(&mut self, name: &str, given: Given) {
        if let Some(place) = self.definition.setting(name).and_then(|place| self.given.get_mut(place)) {
            *place = given;
        }
    }

    fn get(&self, name: &str) -> Option<&Given> {
        self.given.get(self.definition.setting(name)?)
    }

    /// A number, or the place of a word; 0 if there is no such setting.
    pub(crate) fn integer(&self, name: &str) -> i64 {
        if let Some(Given::Integer(value)) = self.get(name) { *value } else { 0 }
    }

    /// A number that may have a fraction.
    pub(crate) fn number(&self, name: &str) -> f64 {
        if let Some(Given::Number(value)) = self.get(name) { *value } else { 0.0 }
    }

    /// A type; `None` as long as it is the default.
    pub(crate) fn elements(&self, name: &str) -> Option<Elements> {
        if let Some(Given::Elements(elements)) = self.get(name) { *elements } else { None }
    }

    /// What one of numcodecs' codecs is given: these elements, unless another type is set.
    pub(crate) fn decoded_type(&self, elements: Elements) -> Elements {
        self.elements("dtype").unwrap_or(elements)
    }

    /// What it makes of them.
    pub(crate) fn encoded_type(&self, elements: Elements) -> Elements {
        self.elements("astype").unwrap_or_else(|| self.decoded_type(elements))
    }

    /// Sets both types, which are written.
    pub(crate) fn set_types(&mut self, elements: Elements) {
        let (decoded, encoded) = (self.decoded_type(elements), self.encoded_type(elements));
        self.set("dtype", Given::Elements(Some(decoded)));
        self.set("astype", Given::Elements(Some(encoded)));
    }

    /// The bytes of an element, in the machine's order.
    pub(crate) fn bytes(&self, name: &str) -> &[u8] {
        if let Some(Given::Bytes(bytes)) = self.get(name) { bytes } else { &[] }
    }

    /// A number of 0 or more.
    pub(crate) fn size(&self, name: &str) -> usize {
        usize::try_from(self.integer(name)).unwrap_or(0)
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        self.integer(name) != 0
    }

    /// One of the setting's words.
    pub fn word(&self, name: &str) -> &'static str {
        let setting = self.definition.setting(name).map(|place| self.definition.settings[place].kind);
        match setting {
            Some(Kind::Word { words, .. }) => words.get(self.size(name)).copied().unwrap_or_default(),
            _ => "",
        }
    }
}
