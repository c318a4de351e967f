//! A place for objects that several arrays share.
use std::ops::Deref;

use super::contract::Objects;
use crate::alloc::Slot;
use crate::error::Result;
use crate::shared::Shared;

/// A place for objects that several arrays share. A copy is the same place.
#[derive(Clone)]
pub struct Place(Shared<Box<dyn Objects>>);

impl Place {
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(objects: impl Objects + 'static) -> Result<Self> {
        Place::new_with(|| objects)
    }

    /// A place that is made only once nothing can fail any more.
    pub(crate) fn new_with<O: Objects + 'static>(make: impl FnOnce() -> O) -> Result<Self> {
        let (outer, inner) = (Shared::slot()?, Slot::new()?);
        Ok(Place(Shared::fill(outer, inner.fill(make()) as Box<dyn Objects>)))
    }
}

impl Deref for Place {
    type Target = dyn Objects;

    fn deref(&self) -> &Self::Target {
        &**self.0
    }
}
