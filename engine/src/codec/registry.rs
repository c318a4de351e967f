//! Codecs that callers add, by their names in metadata: the functions that make them.

use super::traits::Codec;
use crate::alloc::{self, Slot};
use crate::error::{ErrorKind, Result};
use crate::shared::Shared;

/// A codec to make, as the metadata describe it.
#[derive(Debug, Clone, Copy)]
pub struct CodecUse<'a> {
    /// The codec's name as written in the metadata, such as `mine` or `numcodecs.mine`.
    pub name: &'a str,
    /// The codec's configuration as a JSON object in a string; `{}` if there is none.
    pub configuration: &'a str,
    /// The name of the type of the array's elements, such as `float32`.
    pub type_name: &'a str,
    /// The size of an element in bytes; 0 for variable-length strings.
    pub element_size: usize,
}

/// A function that makes a codec.
pub type MakeCodec = Box<dyn Fn(&CodecUse<'_>) -> Result<Box<dyn Codec>> + Send + Sync>;

/// Functions that make codecs, by name. A copy has the same, and shares none that are added to one of them later.
#[derive(Clone, Default)]
pub struct CodecRegistry(Option<Shared<Maker>>);

struct Maker {
    name: String,
    make: MakeCodec,
    others: CodecRegistry,
}

impl CodecRegistry {
    /// Adds a function for a codec, which comes before another of the same name. `begin` gives it once nothing can fail
    /// any more.
    pub fn add<M>(&mut self, name: &str, begin: impl FnOnce() -> M) -> Result<()>
    where
        M: Fn(&CodecUse<'_>) -> Result<Box<dyn Codec>> + Send + Sync + 'static,
    {
        if name.is_empty() {
            return Err(ErrorKind::Argument("a codec's name is empty").into());
        }
        let (name, others, outer, inner) = (alloc::text(name)?, self.clone(), Shared::slot()?, Slot::new()?);
        self.0 = Some(Shared::fill(outer, Maker { name, make: inner.fill(begin()), others }));
        Ok(())
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The function for a name that metadata have: the name itself or, of `numcodecs.mine`, `mine`.
    pub fn find(&self, name: &str) -> Option<&MakeCodec> {
        let mut registry = self;
        while let Some(maker) = &registry.0 {
            if maker.name == name || name.strip_prefix("numcodecs.") == Some(&maker.name) {
                return Some(&maker.make);
            }
            registry = &maker.others;
        }
        None
    }
}
