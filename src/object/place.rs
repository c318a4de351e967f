//! A place for objects that several arrays share.

use std::ops::Deref;

use super::contract::{Objects, check_name};
use crate::alloc::{self, Slot};
use crate::error::Result;
use crate::shared::Shared;

/// A place for objects that several arrays share. A copy is the same place.
///
/// Arrays are looked up by their names among the objects or, if the place is [one file](Self::file) of them, in that
/// file.
#[derive(Clone)]
pub struct Place {
    objects: Shared<Box<dyn Objects>>,
    file: Option<Shared<String>>,
    allows_partial: bool,
}

impl Place {
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(objects: impl Objects + 'static) -> Result<Self> {
        Place::new_with(|| objects)
    }

    /// A place that is made only once nothing can fail any more.
    pub(crate) fn new_with<O: Objects + 'static>(make: impl FnOnce() -> O) -> Result<Self> {
        let (outer, inner) = (Shared::slot()?, Slot::new()?);
        Ok(Place {
            objects: Shared::fill(outer, inner.fill(make()) as Box<dyn Objects>),
            file: None,
            allows_partial: false,
        })
    }

    /// One file of this place, as a place: an object that holds arrays, such as a netCDF classic file. Then what is
    /// opened and listed is in that file. A path to such a file is a place like this already.
    ///
    /// ```
    /// # use nczchunk::object::{Memory, Place};
    /// let ocean = Place::new(Memory::new())?;
    /// let file = ocean.file("2020/sst.nc")?;
    /// assert_eq!(nczchunk::list(&file, "", true).unwrap_err().kind(), nczchunk::ErrorKind::NotFound("file"));
    /// # Ok::<(), nczchunk::Error>(())
    /// ```
    ///
    /// # Errors
    /// A name that no object can have; `OutOfMemory`.
    pub fn file(&self, name: &str) -> Result<Self> {
        check_name(name).map_err(|error| error.in_object(name))?;
        Ok(Place { file: Some(Shared::new(alloc::text(name)?)?), ..self.clone() })
    }

    /// Sets whether files are opened that hold only a part of their arrays, as those of cfdb do that say that they are
    /// copies of remote ones: then what has not been fetched is read as fill values. Else they are refused.
    pub fn allow_partial(&mut self, allow: bool) {
        self.allows_partial = allow;
    }

    /// Whether files are opened that hold only a part of their arrays.
    #[cfg(feature = "cfdb")]
    pub(crate) fn allows_partial(&self) -> bool {
        self.allows_partial
    }

    /// The name of the file that the place is, if it is one.
    pub fn file_name(&self) -> Option<&str> {
        self.file.as_ref().map(|name| name.as_str())
    }
}

impl Deref for Place {
    type Target = dyn Objects;

    fn deref(&self) -> &Self::Target {
        &**self.objects
    }
}
