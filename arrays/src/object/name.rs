//! Names of objects, put together without an allocation unless they are long.

use std::fmt::{self, Write};

use smallvec::SmallVec;

use crate::error::{ErrorKind, Result};

/// A text that is put together piece by piece.
pub struct Name(SmallVec<[u8; 128]>);

impl Name {
    /// What is displayed, as a name.
    ///
    /// # Errors
    /// `OutOfMemory`.
    #[doc(hidden)]
    pub fn of(what: fmt::Arguments<'_>) -> Result<Name> {
        let mut name = Name(SmallVec::new());
        name.write_fmt(what).map_err(|_| ErrorKind::OutOfMemory)?;
        Ok(name)
    }
}

impl std::ops::Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        // Only whole texts are written to it.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl Write for Name {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.try_reserve(text.len()).map_err(|_| fmt::Error)?;
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}
