//! The settings of codecs, and their ranges.
#![allow(dead_code, reason = "codecs and formats use it, and all of them can be left out")]

use std::fmt;

use crate::element::Elements;

/// Something that can be set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setting {
    pub name: &'static str,
    pub kind: Kind,
    /// Where it is written.
    pub v2: Written,
    pub v3: Written,
    /// Whether it has to be given.
    pub is_required: bool,
}

/// Whether a setting is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    Always,
    /// If it is not the default.
    IfSet,
    Never,
}

/// What a setting can be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// An integer. What is stored beyond the range counts as the nearest; what is to be written is refused.
    Integer { least: i64, most: i64, default: i64 },
    /// An integer of 0 or more; 0 stands for what the library takes.
    Size { most: i64 },
    /// True or false; false is the default.
    Flag,
    /// A number that may have a fraction.
    Number,
    /// A type as Zarr v2 spells it, with a byte order.
    Dtype,
    /// A type as Zarr v3 spells it.
    DataType,
    /// An element of what the codec is given, as Zarr v3 writes a fill value.
    Element,
    /// One of these words, or of their aliases; of the default the place. If the first has a number, those that follow
    /// have the next ones, and Zarr v2 has numbers.
    Word {
        words: &'static [&'static str],
        aliases: &'static [(&'static str, i64)],
        default: i64,
        first: Option<i64>,
        /// What is said of another word.
        unknown: &'static str,
    },
}

impl Setting {
    pub(crate) const fn new(name: &'static str, kind: Kind) -> Self {
        Setting { name, kind, v2: Written::Always, v3: Written::Always, is_required: false }
    }

    /// An integer from `least` to `most`.
    pub(crate) const fn integer(name: &'static str, least: i64, most: i64, default: i64) -> Self {
        Setting::new(name, Kind::Integer { least, most, default })
    }

    /// An integer from 0 to `most`, of which 0 stands for what the library takes.
    pub(crate) const fn size(name: &'static str, most: i64) -> Self {
        Setting::new(name, Kind::Size { most })
    }

    /// A number that may have a fraction.
    pub(crate) const fn number(name: &'static str) -> Self {
        Setting::new(name, Kind::Number)
    }

    /// An element of what the codec is given.
    pub(crate) const fn element(name: &'static str) -> Self {
        Setting::new(name, Kind::Element)
    }

    /// One of these words, of which the first is the default, and what is said of another one.
    pub(crate) const fn words(name: &'static str, words: &'static [&'static str], unknown: &'static str) -> Self {
        Setting::new(name, Kind::Word { words, aliases: &[], default: 0, first: None, unknown })
    }

    /// The type of what numcodecs decodes: by default that of the elements.
    pub(crate) const DTYPE: Self = Setting::new("dtype", Kind::Dtype);

    /// The type of what numcodecs encodes: by default the same.
    pub(crate) const ASTYPE: Self = Setting::new("astype", Kind::Dtype);

    pub(crate) const fn flag(name: &'static str) -> Self {
        Setting::new(name, Kind::Flag)
    }

    /// The same, written like this in Zarr v2 and in Zarr v3.
    pub(crate) const fn written(self, v2: Written, v3: Written) -> Self {
        Setting { v2, v3, ..self }
    }

    /// The same, which has to be given.
    pub(crate) const fn required(self) -> Self {
        Setting { is_required: true, ..self }
    }

    /// What it is unless it is set.
    pub fn default(&self) -> Given {
        match self.kind {
            Kind::Integer { default, .. } => Given::Integer(default),
            Kind::Size { .. } | Kind::Flag => Given::Integer(0),
            Kind::Word { default, .. } => Given::Integer(default),
            Kind::Number => Given::Number(0.0),
            Kind::Dtype | Kind::DataType => Given::Elements(None),
            Kind::Element => Given::Bytes(Vec::new()),
        }
    }
}

/// What is given for a setting.
#[derive(Debug, PartialEq)]
pub enum Given {
    /// A number, or of a word its place among the words.
    Integer(i64),
    Number(f64),
    Elements(Option<Elements>),
    Bytes(Vec<u8>),
}

/// The settings of a codec, as an error lists them.
#[derive(Clone, Copy, PartialEq)]
pub struct SettingNames(pub &'static [Setting]);

impl Eq for SettingNames {}

impl fmt::Display for SettingNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none");
        }
        for (i, setting) in self.0.iter().enumerate() {
            write!(f, "{}{}", if i == 0 { "" } else { ", " }, setting.name)?;
        }
        Ok(())
    }
}

impl fmt::Debug for SettingNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
