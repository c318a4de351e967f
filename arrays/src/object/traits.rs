//! What a storage does.

use std::sync::Arc;

use super::byte_range::ByteRange;
use super::flight::Flight;
use crate::buffer::Buffer;
use crate::error::{ErrorKind, Result};
use crate::open_object::{ObjectState, Opening, Versions};

/// What is found in a storage for objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// An object.
    Object,
    /// What the names of one or more objects begin with, such as a directory.
    Prefix,
}

/// A storage for objects: named bytes.
///
/// A name is made of parts with `/` between them; no part is empty, `.` or `..`, and none contains a NUL or a
/// backslash. See [`check_name`].
pub trait ObjectStore: Send + Sync {
    /// Reads an object, from `begin` on, into an empty buffer: as many bytes as there are or as there is room for. The
    /// result is the length of the whole object in bytes, or `None` if there is none of that name. With a buffer that
    /// has no room the length is all that is asked for.
    ///
    /// # Errors
    /// Any error; only what is not there is absent.
    fn read(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<u64>>;

    /// Reads a part of an object, from a byte on, into an empty buffer: as many bytes as there are or as there is room
    /// for; `false` if there is no object of that name. Unlike [`read`](Self::read) it need not find out how long the
    /// object is.
    ///
    /// # Errors
    /// Any error; only what is not there is absent.
    fn read_part(&self, name: &str, offset: u64, buffer: &mut Buffer<'_>) -> Result<bool> {
        Ok(self.read(name, ByteRange::At(offset), buffer)?.is_some())
    }

    /// [`read`](Self::read), and the object's version beside its length. A version is known only if no other bytes of
    /// that name can have the same one, whatever was replaced or changed before and will be later.
    #[doc(hidden)]
    fn read_version(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<ObjectState>> {
        Ok(self.read(name, begin, buffer)?.map(|len| (len, None)))
    }

    /// What is known of objects that change or are replaced.
    #[doc(hidden)]
    fn versions(&self) -> Versions {
        Versions::Unknown
    }

    /// Opens an object of which several parts are going to be read, where that is better than to open it for each.
    #[doc(hidden)]
    fn open(&self, name: &str) -> Result<Opening<'_>> {
        let _ = name;
        Ok(Opening::Nothing)
    }

    /// Compares an object with the checksum that the storage has of it; where it has none, or there is no such object,
    /// all is well. What was compared once need not be again.
    ///
    /// # Errors
    /// `Corrupt` if it is another one, and those of [`read`](Self::read).
    fn verify(&self, name: &str) -> Result<()> {
        let _ = name;
        Ok(())
    }

    /// Whether a prefix is a symbolic link, which [`remove`](Self::remove) removes as such.
    #[doc(hidden)]
    fn is_link(&self, prefix: &str) -> Result<bool> {
        let _ = prefix;
        Ok(false)
    }

    /// What a prefix leads to, as a number that is the same for all prefixes that lead there. `None` where nothing has
    /// two names.
    #[doc(hidden)]
    fn location(&self, prefix: &str) -> Result<Option<u128>> {
        let _ = prefix;
        Ok(None)
    }

    /// Calls `one` with the name that an object has where the storage has it from: of an entry of a zip file its whole
    /// name there. It is empty for a file that is a storage by itself.
    #[doc(hidden)]
    fn tell_name(&self, name: &str, one: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
        one(name)
    }

    /// Calls `one` with the last part of the name of each object and prefix directly below `prefix`, which is empty or
    /// a name, in any order and each once. A prefix that is not there has nothing below it.
    ///
    /// # Errors
    /// Those of `one`, and any other.
    fn list(&self, prefix: &str, one: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()>;

    /// Writes a whole object in place of the one there was. A reader finds the old bytes or the new ones, nothing
    /// between.
    ///
    /// # Errors
    /// Any error; then what there was is there still.
    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let _ = (name, bytes);
        Err(ErrorKind::ReadOnly.into())
    }

    /// Writes a whole object in place of the one in this state or, if that is `None`, of none. A storage that
    /// [compares](Self::compares) refuses if there is another one; any other storage [writes](Self::write).
    ///
    /// # Errors
    /// `Conflict` if there is another object, and those of `write`.
    #[doc(hidden)]
    fn write_over(&self, name: &str, before: Option<ObjectState>, bytes: &[u8]) -> Result<()> {
        let _ = before;
        self.write(name, bytes)
    }

    /// Whether [`write_over`](Self::write_over) looks at what is there.
    #[doc(hidden)]
    fn compares(&self) -> bool {
        false
    }

    /// Removes an object. One that is not there is no error.
    ///
    /// # Errors
    /// Any error.
    fn remove(&self, name: &str) -> Result<()> {
        let _ = name;
        Err(ErrorKind::ReadOnly.into())
    }

    /// Removes what is left of a prefix that has nothing below it any more, such as an empty directory, so that an
    /// object can have that name. Where prefixes are nothing by themselves there is nothing to do, and so if something
    /// is below it.
    ///
    /// # Errors
    /// Any error.
    fn remove_empty(&self, prefix: &str) -> Result<()> {
        let _ = prefix;
        Ok(())
    }

    /// Says that all has been written. A storage that gathers what is written, such as a new zip file, puts it where
    /// others find it now, and may refuse to be written to from then on. To say it twice is no error.
    ///
    /// # Errors
    /// Any error.
    fn finish(&self) -> Result<()> {
        Ok(())
    }

    /// Whether objects can be written and removed.
    fn is_writable(&self) -> bool {
        false
    }

    /// Whether several threads may use the storage at the same time.
    fn is_concurrent(&self) -> bool {
        true
    }

    /// How many bytes more are better read than asked for by another request.
    fn gap(&self) -> usize {
        16 << 10
    }

    /// The storage as one that is asked first and gives the answer later, if it is one. Then a transfer keeps many
    /// reads on their way; [`read`](Self::read) still reads one object and waits for it.
    fn flight(&self) -> Option<&dyn Flight> {
        None
    }

    /// What names begin with where reads are in flight: nothing or, if that is another storage of which this one is a
    /// part, a prefix there and a `/`.
    fn flight_prefix(&self) -> &str {
        ""
    }
}

/// Refuses names that could lead out of the storage they are looked up in, or that no writer makes.
pub fn check_name(name: &str) -> Result<()> {
    let is_part = |part: &str| !part.is_empty() && part != "." && part != ".." && !part.contains(['\0', '\\']);
    if name.split('/').all(is_part) {
        Ok(())
    } else {
        Err(ErrorKind::Argument("this is not a name that an object can have").into())
    }
}

/// Refuses what is neither empty nor a name.
pub(super) fn check_prefix(prefix: &str) -> Result<()> {
    if prefix.is_empty() { Ok(()) } else { check_name(prefix) }
}

/// What points to a storage is that storage.
macro_rules! forward {
    ($($pointer:ty),*) => {$(
        impl<O: ObjectStore + ?Sized> ObjectStore for $pointer {
            fn read(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<u64>> {
                (**self).read(name, begin, buffer)
            }

            fn read_part(&self, name: &str, offset: u64, buffer: &mut Buffer<'_>) -> Result<bool> {
                (**self).read_part(name, offset, buffer)
            }

            fn read_version(
                &self,
                name: &str,
                begin: ByteRange,
                buffer: &mut Buffer<'_>,
            ) -> Result<Option<ObjectState>> {
                (**self).read_version(name, begin, buffer)
            }

            fn versions(&self) -> Versions {
                (**self).versions()
            }

            fn open(&self, name: &str) -> Result<Opening<'_>> {
                (**self).open(name)
            }

            fn verify(&self, name: &str) -> Result<()> {
                (**self).verify(name)
            }

            fn is_link(&self, prefix: &str) -> Result<bool> {
                (**self).is_link(prefix)
            }

            fn location(&self, prefix: &str) -> Result<Option<u128>> {
                (**self).location(prefix)
            }

            fn tell_name(&self, name: &str, one: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
                (**self).tell_name(name, one)
            }

            fn list(&self, prefix: &str, one: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
                (**self).list(prefix, one)
            }

            fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
                (**self).write(name, bytes)
            }

            fn write_over(&self, name: &str, before: Option<ObjectState>, bytes: &[u8]) -> Result<()> {
                (**self).write_over(name, before, bytes)
            }

            fn compares(&self) -> bool {
                (**self).compares()
            }

            fn remove(&self, name: &str) -> Result<()> {
                (**self).remove(name)
            }

            fn remove_empty(&self, prefix: &str) -> Result<()> {
                (**self).remove_empty(prefix)
            }

            fn finish(&self) -> Result<()> {
                (**self).finish()
            }

            fn is_writable(&self) -> bool {
                (**self).is_writable()
            }

            fn is_concurrent(&self) -> bool {
                (**self).is_concurrent()
            }

            fn gap(&self) -> usize {
                (**self).gap()
            }

            fn flight(&self) -> Option<&dyn Flight> {
                (**self).flight()
            }

            fn flight_prefix(&self) -> &str {
                (**self).flight_prefix()
            }
        }
    )*};
}

forward!(&O, Box<O>, Arc<O>);
