//! Where the chunks of an array are that are objects: each has a name, which follows from its indices.

use crate::alloc;
use crate::dims;
use crate::error::Result;
use crate::fetch::{Locate, Location, Part};
use crate::key::KeyStyle;
use crate::object::Name;

/// How the objects of an array are named.
pub(crate) struct Names {
    /// What all names begin with: nothing, or the array's own name and a slash.
    prefix: String,
    style: KeyStyle<'static>,
}

impl Names {
    pub(crate) fn new(prefix: &str, style: KeyStyle<'static>) -> Result<Self> {
        Ok(Names { prefix: alloc::text(prefix)?, style })
    }
}

impl Locate for Names {
    fn locate(&self, chunk: &[isize]) -> Result<Location> {
        Ok(Location { object: dims::copied(chunk.iter().copied())?, part: Part::Whole })
    }

    fn name(&self, object: &[isize]) -> Result<Name> {
        Name::of(format_args!("{}{}", self.prefix, self.style.key(object)?))
    }

    fn has_neighbours(&self) -> bool {
        false
    }

    fn is_writable(&self) -> bool {
        true
    }
}
