//! The interface of a storage.

use std::sync::Arc;

use super::byte_range::ByteRange;
use super::flight::{Flight, Limits};
use crate::buffer::Buffer;
use crate::error::{Error, ErrorKind, Result};
use crate::open_object::{ObjectState, Opening, Versions};

/// An entry in a listing of a storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// An object.
    Object,
    /// The beginning of the names of one or more objects, such as a directory.
    Prefix,
}

/// A storage: a map from object names to bytes.
///
/// A name is made of parts with `/` between them; no part is empty, `.` or `..`, and none contains a NUL or a
/// backslash. See [`check_name`].
pub trait ObjectStore: Send + Sync {
    /// Reads an object, from `begin` on, into an empty buffer: all its bytes, or as many as fit. Returns the length of
    /// the whole object in bytes, or `None` if the object does not exist. A buffer of size 0 requests only the length.
    ///
    /// # Errors
    /// Any error. Return `None` only for an object that does not exist.
    fn read(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<u64>>;

    /// Reads a part of an object, from a byte on, into an empty buffer: all its bytes, or as many as fit. Returns
    /// `false` if the object does not exist. Unlike [`read`](Self::read), it need not determine the object's length.
    ///
    /// # Errors
    /// Any error. Return `false` only for an object that does not exist.
    fn read_part(&self, name: &str, offset: u64, buffer: &mut Buffer<'_>) -> Result<bool> {
        Ok(self.read(name, ByteRange::At(offset), buffer)?.is_some())
    }

    /// [`read`](Self::read), which also returns the object's version. A version is known only if no other bytes of that
    /// name ever have the same version, before or later. A storage with versions also implements
    /// [`versions`](Self::versions).
    ///
    /// # Errors
    /// Those of `read`.
    fn read_version(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<ObjectState>> {
        Ok(self.read(name, begin, buffer)?.map(|len| (len, None)))
    }

    /// What tells an object, or the file that it is in, from what it was before and will be: a later program knows by
    /// it that it finds another one. `None` if that is unknown. By default the version of [`read_version`](
    /// Self::read_version).
    fn lasting_version(&self, name: &str) -> Option<u128> {
        let read = self.read_version(name, ByteRange::At(0), &mut Buffer::new(&mut []));
        read.ok().flatten().and_then(|(_, version)| version)
    }

    /// Whether versions of objects are known. If they are not, a chunk that several requests read may be read again.
    fn versions(&self) -> Versions {
        Versions::Unknown
    }

    /// Opens an object before several parts of it are read, if that is better than to open it for each part. By default
    /// each part is read by [`read_part`](Self::read_part).
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    fn open(&self, name: &str) -> Result<Opening<'_>> {
        let _ = name;
        Ok(Opening::Nothing)
    }

    /// Verifies an object by the checksum that the storage has of it. Succeeds if there is no checksum or no such
    /// object. An object that was verified once need not be verified again.
    ///
    /// # Errors
    /// `Corrupt` if the checksum does not match, and those of [`read`](Self::read).
    fn verify(&self, name: &str) -> Result<()> {
        let _ = name;
        Ok(())
    }

    /// Whether a prefix is a symbolic link, which [`remove`](Self::remove) removes as a link.
    ///
    /// # Errors
    /// Any error.
    fn is_link(&self, prefix: &str) -> Result<bool> {
        let _ = prefix;
        Ok(false)
    }

    /// A number for the location that a prefix leads to, which is the same for all prefixes that lead there. `None` if
    /// nothing can have two names. Listing a storage uses it to end where symbolic links form a circle.
    ///
    /// # Errors
    /// Any error.
    fn location(&self, prefix: &str) -> Result<Option<u128>> {
        let _ = prefix;
        Ok(None)
    }

    /// Whether the storage is below a [location](Self::location), such as a directory in a directory.
    ///
    /// # Errors
    /// Any error.
    fn is_below(&self, location: u128) -> Result<bool> {
        let _ = location;
        Ok(false)
    }

    /// Calls `one` with the name of an object in the source of the storage, such as the whole name of a zip file's
    /// entry. The name is empty for a file that is a storage by itself.
    ///
    /// # Errors
    /// Those of `one`.
    fn tell_name(&self, name: &str, one: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
        one(name)
    }

    /// Calls `one` with the last part of the name of each object and prefix directly below `prefix`, which is empty or
    /// a name, in any order and each once. Nothing is below a prefix that does not exist.
    ///
    /// # Errors
    /// Those of `one`, and any other.
    fn list(&self, prefix: &str, one: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()>;

    /// The same, which also calls `one`, with `None`, for everything else that is there and that a program could lose:
    /// what has a name that no object can have, such as one that is not Unicode, and what is no object, such as a pipe
    /// or a link that leads nowhere. The name is shown as well as a text can. What writers leave half written is left
    /// out, as in `list`. By default there is nothing else.
    ///
    /// # Errors
    /// Those of `list`.
    fn list_all(&self, prefix: &str, one: &mut dyn FnMut(&str, Option<Entry>) -> Result<()>) -> Result<()> {
        self.list(prefix, &mut |last, entry| one(last, Some(entry)))
    }

    /// Writes a whole object, or replaces the existing object atomically: a reader finds the old bytes or the new ones.
    ///
    /// # Errors
    /// Any error; then the old object is unchanged.
    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let _ = (name, bytes);
        Err(ErrorKind::ReadOnly.into())
    }

    /// Writes a whole object in place of the object in this state or, if `before` is `None`, of no object. A storage
    /// that [compares](Self::compares) refuses if the object is in another state; any other storage
    /// [writes](Self::write).
    ///
    /// # Errors
    /// `Conflict` if the object is in another state, and those of `write`.
    fn write_over(&self, name: &str, before: Option<ObjectState>, bytes: &[u8]) -> Result<()> {
        let _ = before;
        self.write(name, bytes)
    }

    /// Writes a whole object where there is none. Of several calls at the same time one succeeds, in memory, in a
    /// directory whose file system has hard links, and in a storage that [compares](Self::compares). Any other storage
    /// looks for the object first, so that calls at the same moment may all succeed.
    ///
    /// # Errors
    /// `Conflict` if the object exists, and those of `write`.
    fn write_new(&self, name: &str, bytes: &[u8]) -> Result<()> {
        if self.compares() {
            return self.write_over(name, None, bytes);
        }
        match self.read(name, ByteRange::At(0), &mut Buffer::new(&mut []))? {
            Some(_) => Err(Error::from(ErrorKind::Conflict).in_object(name)),
            None => self.write(name, bytes),
        }
    }

    /// Whether [`write_over`](Self::write_over) compares the state of the existing object.
    fn compares(&self) -> bool {
        false
    }

    /// Removes an object. A missing object is not an error.
    ///
    /// # Errors
    /// Any error.
    fn remove(&self, name: &str) -> Result<()> {
        let _ = name;
        Err(ErrorKind::ReadOnly.into())
    }

    /// Removes a prefix that has nothing below it any more, such as an empty directory, so that an object can have that
    /// name. Does nothing if something is below the prefix, or if prefixes do not exist by themselves.
    ///
    /// # Errors
    /// Any error.
    fn remove_empty(&self, prefix: &str) -> Result<()> {
        let _ = prefix;
        Ok(())
    }

    /// Removes what writers that were killed have left half written below a prefix, which is empty or a name. Does
    /// nothing in a storage whose writers leave nothing, and leaves what a writer may still be writing.
    ///
    /// # Errors
    /// Any error.
    fn remove_unfinished(&self, prefix: &str) -> Result<()> {
        let _ = prefix;
        Ok(())
    }

    /// Completes the storage after all data have been written. A storage that collects them, such as a new zip file,
    /// puts them where others find them, and may refuse writes from then on. A second call is not an error.
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

    /// Whether objects are entries of an archive, so that no path or URL leads to one of them.
    fn is_archive(&self) -> bool {
        false
    }

    /// Whether several threads may use the storage at the same time.
    fn is_concurrent(&self) -> bool {
        true
    }

    /// Two ranges of an object are read by one request if fewer bytes than this lie between them and, in a storage with
    /// latency, as long as [`Limits::excess`](super::Limits::excess) allows it.
    fn gap(&self) -> usize {
        16 << 10
    }

    /// The interface for reads in flight, if the storage has latency. Then a transfer keeps many reads in flight;
    /// [`read`](Self::read) still reads one object and waits for it.
    fn flight(&self) -> Option<&dyn Flight> {
        None
    }

    /// The beginning of names in the storage where reads are in flight: empty or, if this storage is a part of that
    /// one, a prefix there and a `/`.
    fn flight_prefix(&self) -> &str {
        ""
    }

    /// The limits on the reads in flight, if objects are in other storages of which one has latency, and this storage
    /// is none that has [reads in flight](Self::flight) itself. [`route`](Self::route) says where each object is.
    fn routed_limits(&self) -> Option<Limits> {
        None
    }

    /// Who reads an object, from `begin` on, into a buffer of this size.
    ///
    /// # Errors
    /// `Argument` for a name that no object can have, `OutOfMemory`, and those of the index, if the storage has one.
    fn route(&self, name: &str, begin: ByteRange, size: usize) -> Result<Route<'_>> {
        let _ = (name, begin, size);
        Ok(Route::Own)
    }

    /// Takes a part of an object out of bytes that were read of another storage, where [`route`](Self::route) has said
    /// [`Found::Packed`]: into an empty buffer, as [`read_version`](Self::read_version) does. `packed` are the bytes,
    /// and where they begin in the other object. Returns `None` if others are needed: then `route` says which.
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    fn unpack(
        &self,
        name: &str,
        begin: ByteRange,
        packed: (u64, &[u8]),
        buffer: &mut Buffer<'_>,
    ) -> Result<Option<ObjectState>> {
        let _ = (name, begin, packed, buffer);
        Err(ErrorKind::Internal.into())
    }
}

/// Who reads a part of an object.
pub enum Route<'r> {
    /// The storage itself.
    Own,
    /// The storage itself, from another one: nothing else of the thread's may be in flight meanwhile.
    Alone,
    /// Another storage.
    To {
        /// The other storage.
        store: &'r dyn ObjectStore,
        /// The name of the object that is read there.
        name: String,
        /// Where the read begins there.
        begin: ByteRange,
        /// The most bytes that are read.
        size: usize,
        /// What that object is to this one.
        found: Found,
    },
}

/// What an object is to the one that is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// It is the same.
    Same,
    /// It is the same, and has to be there.
    Due,
    /// As many bytes of it as are read have to be there. They belong to an object of this length.
    Part {
        /// In bytes.
        len: u64,
    },
    /// What is read is [unpacked](ObjectStore::unpack).
    Packed,
}

/// The limits on the reads in flight of a storage, if it has latency.
pub(crate) fn latency(objects: &dyn ObjectStore) -> Option<Limits> {
    objects.flight().map(|flight| flight.limits()).or_else(|| objects.routed_limits())
}

/// Refuses names that could lead out of the storage, or that no writer creates.
pub fn check_name(name: &str) -> Result<()> {
    let is_part = |part: &str| !part.is_empty() && part != "." && part != ".." && !part.contains(['\0', '\\']);
    if name.split('/').all(is_part) {
        Ok(())
    } else {
        Err(ErrorKind::Argument("this name is not valid for an object").into())
    }
}

/// Refuses what is neither empty nor a name.
pub(super) fn check_prefix(prefix: &str) -> Result<()> {
    if prefix.is_empty() { Ok(()) } else { check_name(prefix) }
}

/// Defines the named methods of a storage as calls of the same methods of another storage:
///
/// ```text
/// pass_on! { self => self.objects; list verify }   where verify is  self.objects.verify(name)
/// pass_on! { self.below; list verify }             where verify is  self.below(name, |to, name| to.verify(name))
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! pass_on {
    ($self:ident => $to:expr; $($method:ident)*) => {$( $crate::pass_on! { @$method [$self => $to] } )*};
    ($self:ident.$translate:ident; $($method:ident)*) => {$( $crate::pass_on! { @$method [$self.$translate] } )*};

    // The signature of each method.
    (@read $to:tt) => { $crate::pass_on! { @fn $to read(name: &str, begin: $crate::object::ByteRange,
        buffer: &mut $crate::Buffer<'_>) -> $crate::Result<Option<u64>> } };
    (@read_part $to:tt) => { $crate::pass_on! { @fn $to read_part(name: &str, offset: u64,
        buffer: &mut $crate::Buffer<'_>) -> $crate::Result<bool> } };
    (@read_version $to:tt) => { $crate::pass_on! { @fn $to read_version(name: &str, begin: $crate::object::ByteRange,
        buffer: &mut $crate::Buffer<'_>) -> $crate::Result<Option<$crate::ObjectState>> } };
    (@lasting_version $to:tt) => { $crate::pass_on! { @fn $to lasting_version(name: &str) -> Option<u128> } };
    (@versions $to:tt) => { $crate::pass_on! { @fn $to versions() -> $crate::Versions } };
    (@open $to:tt) => { $crate::pass_on! { @fn $to open(name: &str) -> $crate::Result<$crate::Opening<'_>> } };
    (@verify $to:tt) => { $crate::pass_on! { @fn $to verify(name: &str) -> $crate::Result<()> } };
    (@is_link $to:tt) => { $crate::pass_on! { @fn $to is_link(prefix: &str) -> $crate::Result<bool> } };
    (@location $to:tt) => { $crate::pass_on! { @fn $to location(prefix: &str) -> $crate::Result<Option<u128>> } };
    (@is_below $to:tt) => { $crate::pass_on! { @fn $to is_below(location: u128) -> $crate::Result<bool> } };
    (@tell_name $to:tt) => { $crate::pass_on! { @fn $to tell_name(name: &str,
        one: &mut dyn FnMut(&str) -> $crate::Result<()>) -> $crate::Result<()> } };
    (@list $to:tt) => { $crate::pass_on! { @fn $to list(prefix: &str,
        one: &mut dyn FnMut(&str, $crate::object::Entry) -> $crate::Result<()>) -> $crate::Result<()> } };
    (@list_all $to:tt) => { $crate::pass_on! { @fn $to list_all(prefix: &str,
        one: &mut dyn FnMut(&str, Option<$crate::object::Entry>) -> $crate::Result<()>) -> $crate::Result<()> } };
    (@write $to:tt) => { $crate::pass_on! { @fn $to write(name: &str, bytes: &[u8]) -> $crate::Result<()> } };
    (@write_over $to:tt) => { $crate::pass_on! { @fn $to write_over(name: &str,
        before: Option<$crate::ObjectState>, bytes: &[u8]) -> $crate::Result<()> } };
    (@write_new $to:tt) => { $crate::pass_on! { @fn $to write_new(name: &str, bytes: &[u8]) -> $crate::Result<()> } };
    (@compares $to:tt) => { $crate::pass_on! { @fn $to compares() -> bool } };
    (@remove $to:tt) => { $crate::pass_on! { @fn $to remove(name: &str) -> $crate::Result<()> } };
    (@remove_empty $to:tt) => { $crate::pass_on! { @fn $to remove_empty(prefix: &str) -> $crate::Result<()> } };
    (@remove_unfinished $to:tt) => {
        $crate::pass_on! { @fn $to remove_unfinished(prefix: &str) -> $crate::Result<()> }
    };
    (@finish $to:tt) => { $crate::pass_on! { @fn $to finish() -> $crate::Result<()> } };
    (@is_writable $to:tt) => { $crate::pass_on! { @fn $to is_writable() -> bool } };
    (@is_archive $to:tt) => { $crate::pass_on! { @fn $to is_archive() -> bool } };
    (@is_concurrent $to:tt) => { $crate::pass_on! { @fn $to is_concurrent() -> bool } };
    (@gap $to:tt) => { $crate::pass_on! { @fn $to gap() -> usize } };
    (@flight $to:tt) => { $crate::pass_on! { @fn $to flight() -> Option<&dyn $crate::object::Flight> } };
    (@flight_prefix $to:tt) => { $crate::pass_on! { @fn $to flight_prefix() -> &str } };
    (@routed_limits $to:tt) => { $crate::pass_on! { @fn $to routed_limits() -> Option<$crate::object::Limits> } };
    (@route $to:tt) => { $crate::pass_on! { @fn $to route(name: &str, begin: $crate::object::ByteRange, size: usize)
        -> $crate::Result<$crate::object::Route<'_>> } };
    (@unpack $to:tt) => { $crate::pass_on! { @fn $to unpack(name: &str, begin: $crate::object::ByteRange,
        packed: (u64, &[u8]), buffer: &mut $crate::Buffer<'_>) -> $crate::Result<Option<$crate::ObjectState>> } };

    // The method itself, in the two forms.
    (@fn [$self:ident => $to:expr] $method:ident($($name:ident: $type:ty),*) -> $result:ty) => {
        fn $method(&$self, $($name: $type),*) -> $result {
            $to.$method($($name),*)
        }
    };
    (@fn [$self:ident.$translate:ident] $method:ident($first:ident: &str$(, $name:ident: $type:ty)*)
        -> $result:ty) => {
        fn $method(&$self, $first: &str$(, $name: $type)*) -> $result {
            $self.$translate($first, |to, $first| to.$method($first $(, $name)*))
        }
    };
}

/// What points to a storage is that storage.
macro_rules! pointers {
    ($($pointer:ty),*) => {$(
        impl<O: ObjectStore + ?Sized> ObjectStore for $pointer {
            pass_on! { self => **self;
                read read_part read_version lasting_version versions open verify is_link location is_below tell_name
                list list_all write write_over write_new compares remove remove_empty remove_unfinished finish
                is_writable is_archive is_concurrent gap flight flight_prefix routed_limits route unpack
            }
        }
    )*};
}

pointers!(&O, Box<O>, Arc<O>);
