//! A storage that several arrays share.

use std::ops::Deref;
use std::path::{Path, PathBuf};

use super::byte_range::ByteRange;
use super::file::OneFile;
use super::joined::{Joined, JoinedObjects, Part};
use super::metadata_kept::MetadataKept;
use super::paths;
use super::traits::{Entry, ObjectStore, check_name};
use crate::alloc::{self, Slot};
use crate::buffer::Buffer;
use crate::codec::{self, Codec, CodecRegistry, CodecUse};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::MemoryLimits;
use crate::shared::Shared;

/// A storage that several arrays share: a map from object names to bytes. Clones are the same storage.
///
/// Arrays are looked up by their names among the objects or, if the storage is [one file](Self::file), in that file.
#[derive(Clone)]
pub struct Storage {
    objects: Shared<Box<dyn ObjectStore>>,
    file: Option<Shared<String>>,
    joined: Option<Shared<Joined>>,
    codecs: CodecRegistry,
    allows_partial: bool,
    /// Whether links in files to other files are followed.
    follows_links: bool,
    /// Whether it was opened by a URL, at which there may be nothing.
    is_at_url: bool,
    /// The whole path of the file that it is in, if it was opened by that: links lead on from there. And what the file
    /// is known by, if the system has something.
    path: Option<Shared<(PathBuf, Option<u128>)>>,
    limits: MemoryLimits,
}

impl Storage {
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(objects: impl ObjectStore + 'static) -> Result<Self> {
        Storage::new_with(|| objects)
    }

    /// A storage that is made only once nothing can fail any more.
    #[doc(hidden)]
    pub fn new_with<O: ObjectStore + 'static>(make: impl FnOnce() -> O) -> Result<Self> {
        let (outer, inner) = (Shared::slot()?, Slot::new()?);
        let objects = Shared::fill(outer, inner.fill(make()) as Box<dyn ObjectStore>);
        Ok(Storage {
            objects,
            file: None,
            joined: None,
            codecs: CodecRegistry::default(),
            allows_partial: false,
            follows_links: false,
            is_at_url: false,
            path: None,
            limits: MemoryLimits::default(),
        })
    }

    /// One file of this storage, as a storage: an object that holds arrays, such as a netCDF classic file. Arrays are
    /// then opened and listed in that file. [`open_storage`](crate::open_storage) returns such a storage for the path
    /// of a file.
    ///
    /// ```
    /// # use nczchunk::object::{Memory, Storage};
    /// let ocean = Storage::new(Memory::new())?;
    /// let file = ocean.file("2020/sst.nc")?;
    /// assert_eq!(nczchunk::list(&file, "", true).unwrap_err().kind(), nczchunk::ErrorKind::NotFound("file"));
    /// # Ok::<(), nczchunk::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Argument` for a name that no object can have; `OutOfMemory`.
    pub fn file(&self, name: &str) -> Result<Self> {
        check_name(name).map_err(|error| error.in_object(name))?;
        let file = Some(Shared::new(alloc::text(name)?)?);
        Ok(Storage { file, joined: None, path: None, ..self.clone() })
    }

    /// The storages at these paths, joined along a dimension: see [`concat`](crate::concat()).
    pub(crate) fn joined_of(storages: Vec<(String, Storage)>, dimension: &str) -> Result<Self> {
        if storages.is_empty() {
            return Err(ErrorKind::Argument("there are no paths of what is to be joined").into());
        }
        let parts = alloc::collected(storages.into_iter().map(|(path, storage)| Part::new(path, storage)))?;
        let joined = Shared::new(Joined { dimension: alloc::text(dimension)?, parts })?;
        Ok(Storage { joined: Some(joined.clone()), ..Storage::new(JoinedObjects(joined))? })
    }

    /// What is joined, if the storage is one of several.
    pub(crate) fn joined(&self) -> Option<&Joined> {
        self.joined.as_deref()
    }

    /// Makes it the storage of the objects of all that is joined.
    pub(crate) fn forget_joined(&mut self) {
        self.joined = None;
    }

    /// The same storage with another one's codecs, if it has any, memory limits, and what that one allows.
    pub(crate) fn like(&self, other: &Storage) -> Self {
        let codecs = if other.codecs.is_empty() { &self.codecs } else { &other.codecs };
        let Storage { limits, follows_links, allows_partial, .. } = *other;
        Storage { codecs: codecs.clone(), limits, follows_links, allows_partial, ..self.clone() }
    }

    /// The same objects, which were looked for at a URL.
    #[cfg(feature = "network")]
    pub(crate) fn at_url(self) -> Self {
        Storage { is_at_url: true, ..self }
    }

    /// Whether they were looked for at a URL.
    pub(crate) fn is_at_url(&self) -> bool {
        self.is_at_url
    }

    /// The same storage, which is in a file that was opened by this path, and is known by this.
    pub(crate) fn at_path(self, path: &Path, identity: Option<u128>) -> Result<Self> {
        // Where the process is may have been removed, or be hidden from it.
        let path = match paths::whole(path) {
            Ok(path) => Some(Shared::new((path, identity))?),
            Err(error) if error.kind() == ErrorKind::OutOfMemory => return Err(error),
            Err(_) => None,
        };
        Ok(Storage { path, ..self })
    }

    /// The path of the file, if it was opened by that.
    #[cfg(feature = "hdf5")]
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_ref().map(|path| path.0.as_path())
    }

    /// The path of the file, if another one is there now than the one that was opened.
    pub(crate) fn replaced(&self) -> Option<&Path> {
        let (path, identity) = &**self.path.as_ref()?;
        let now = OneFile::open(path).ok()?.identity();
        (identity.is_some() && now.is_some() && now != *identity).then_some(path)
    }

    /// Sets whether files that hold only a part of their arrays may be opened, such as cfdb files that are marked as
    /// copies of remote ones. If so, data that have not been fetched read as fill values. If not, such files are
    /// refused.
    pub fn allow_partial(&mut self, allow: bool) {
        self.allows_partial = allow;
    }

    /// Sets whether links of HDF5 files to other files (external links) are followed. By default they are refused, so
    /// that a file leads to no other.
    ///
    /// A link in a file that was opened by its path leads to the path that it says: from the directory of the file on
    /// if that is relative, and otherwise to any file that this process may read. A link in a file at a URL, or in
    /// another object of a storage, leads to an object of the same storage, from the file's name on, and nowhere else.
    pub fn allow_external_links(&mut self, allow: bool) {
        self.follows_links = allow;
    }

    /// Whether links to other files are followed.
    #[cfg(feature = "hdf5")]
    pub(crate) fn follows_links(&self) -> bool {
        self.follows_links
    }

    /// From now on each document of Zarr's metadata is read once, and kept in memory as long as the storage or an
    /// array of it is open; so is that there is none. The storage becomes read-only. It is for servers: groups that
    /// are listed and whose arrays are opened then cost one request for each document. Files keep what they are.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn keep_metadata(&mut self) -> Result<()> {
        if self.file.is_none() && self.joined.is_none() {
            let kept = Storage::new_with(|| MetadataKept::new(self.clone()))?;
            // What is kept stays, whatever is at the path.
            (self.objects, self.path) = (kept.objects, None);
        }
        Ok(())
    }

    /// Sets the memory limits. They apply to metadata that are read from now on, and to the chunks of arrays that are
    /// opened or created from now on.
    pub fn set_memory_limits(&mut self, limits: MemoryLimits) {
        self.limits = limits;
    }

    /// The memory limits.
    pub fn memory_limits(&self) -> MemoryLimits {
        self.limits
    }

    /// Whether files are opened that hold only a part of their arrays.
    #[cfg(feature = "cfdb")]
    pub(crate) fn allows_partial(&self) -> bool {
        self.allows_partial
    }

    /// The name of the file, if the storage is one file.
    pub fn file_name(&self) -> Option<&str> {
        self.file.as_ref().map(|name| name.as_str())
    }

    /// Adds a codec. `make` then makes each codec of this name in the metadata of the storage's arrays, even if the
    /// library has a codec of the same name. A name without `numcodecs.` also stands for the name with that prefix.
    /// Arrays that are open already, and clones of the storage, do not know the codec.
    /// In HDF5 files a codec called `hdf5.32028` is the filter of that number, and its configuration is
    /// `{"parameters":[...]}`.
    ///
    /// The codec turns bytes into bytes. In Zarr v3, a codec before the codec `bytes` in the metadata also gets the
    /// bytes of the elements; these must then be in the machine's byte order.
    ///
    /// ```
    /// use nczchunk::object::{Memory, Storage};
    /// use nczchunk::{Array, Buffer, Codec, Description, ElementType, Hyperslab, Result};
    ///
    /// /// Stores what is the other way round.
    /// struct Not;
    ///
    /// impl Codec for Not {
    ///     fn name(&self) -> &str {
    ///         "not"
    ///     }
    ///     fn encoded_bound(&self, decoded_size: usize) -> usize {
    ///         decoded_size
    ///     }
    ///     fn decode(&self, encoded: &[u8], _: std::ops::Range<usize>, decoded: &mut Buffer<'_>) -> Result<()> {
    ///         encoded.iter().for_each(|byte| assert!(decoded.write(&[!byte])));
    ///         Ok(())
    ///     }
    ///     fn encode(&self, decoded: &[u8], encoded: &mut Buffer<'_>) -> Result<()> {
    ///         self.decode(decoded, 0..decoded.len(), encoded)
    ///     }
    /// }
    ///
    /// let mut storage = Storage::new(Memory::new())?;
    /// storage.add_codec("not", |of| {
    ///     assert_eq!((of.name, of.configuration, of.type_name), ("not", r#"{"really":true}"#, "uint8"));
    ///     Ok(Box::new(Not))
    /// })?;
    /// let description =
    ///     Description::new(&[3], ElementType::UByte).with_codecs(&[("not", r#"{"really": true}"#)]);
    /// let array = Array::create_in(&storage, "", &description)?;
    /// array.write(&Hyperslab::all(), &[1u8, 2, 3])?;
    /// assert_eq!(array.read::<u8>(&Hyperslab::all())?, [1, 2, 3]);
    /// # Ok::<(), nczchunk::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Argument` for an empty name, and for `bytes`, `n5_default`, `reshape`, `sharding_indexed`, `transpose` and
    /// `vlen-utf8`, which define the layout of a chunk's elements; `OutOfMemory`.
    pub fn add_codec(
        &mut self,
        name: &str,
        make: impl Fn(&CodecUse<'_>) -> Result<Box<dyn Codec>> + Send + Sync + 'static,
    ) -> Result<()> {
        self.add_codec_with(name, || make)
    }

    /// [`add_codec`](Self::add_codec) of a function that is made only once nothing can fail any more.
    #[doc(hidden)]
    pub fn add_codec_with<M>(&mut self, name: &str, begin: impl FnOnce() -> M) -> Result<()>
    where
        M: Fn(&CodecUse<'_>) -> Result<Box<dyn Codec>> + Send + Sync + 'static,
    {
        if codec::is_of_arrays(name) {
            let reason = "this codec lays out the chunks of an array and cannot be replaced";
            return Err(ErrorKind::Argument(reason).in_object(name));
        }
        self.codecs.add(name, begin)
    }

    /// The length of an object in bytes; `None` if it does not exist.
    ///
    /// # Errors
    /// Those of the objects.
    pub fn object_len(&self, name: &str) -> Result<Option<u64>> {
        self.objects.read(name, ByteRange::At(0), &mut Buffer::new(&mut []))
    }

    /// [`ObjectStore::list`], without names that no object can have, such as the empty one that object stores list if a
    /// key ends with a slash.
    ///
    /// # Errors
    /// Those of the objects, and of `one`.
    pub fn list(&self, prefix: &str, one: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
        self.list_all(prefix, &mut |last, entry| entry.map_or(Ok(()), |entry| one(last, entry)))
    }

    /// [`ObjectStore::list_all`], where what is listed as an object or a prefix has a name that objects can have.
    ///
    /// # Errors
    /// Those of the objects, and of `one`.
    pub fn list_all(&self, prefix: &str, one: &mut dyn FnMut(&str, Option<Entry>) -> Result<()>) -> Result<()> {
        // What fails ends the listing, whatever the objects make of it.
        let mut failed: Option<Error> = None;
        let listed = self.objects.list_all(prefix, &mut |last, entry| {
            if let Some(error) = &failed {
                return Err(error.clone());
            }
            let is_told = entry.is_none() || check_name(last).is_ok() && !last.contains('/');
            if is_told { one(last, entry).inspect_err(|error| failed = Some(error.clone())) } else { Ok(()) }
        });
        failed.map_or(listed, Err)
    }

    /// The codecs that were added.
    pub(crate) fn codecs(&self) -> &CodecRegistry {
        &self.codecs
    }
}

impl Deref for Storage {
    type Target = dyn ObjectStore;

    fn deref(&self) -> &Self::Target {
        &**self.objects
    }
}

#[cfg(all(test, feature = "codecs"))]
mod tests {
    use super::*;

    use crate::object::Memory;
    use crate::{Buffer, Description, ElementType};

    /// Stores what is the other way round.
    struct Not;

    impl Codec for Not {
        fn name(&self) -> &str {
            "not"
        }
        fn encoded_bound(&self, decoded_size: usize) -> usize {
            decoded_size
        }
        fn decode(&self, encoded: &[u8], _: std::ops::Range<usize>, decoded: &mut Buffer<'_>) -> Result<()> {
            assert!(encoded.iter().all(|byte| decoded.write(&[!byte])));
            Ok(())
        }
        fn encode(&self, decoded: &[u8], encoded: &mut Buffer<'_>) -> Result<()> {
            self.decode(decoded, 0..decoded.len(), encoded)
        }
    }

    #[test]
    fn a_codec_has_a_name_that_does_not_lay_out_chunks() {
        let mut storage = Storage::new(Memory::new()).unwrap();
        for (name, words) in [
            ("bytes", "bytes: this codec lays out the chunks of an array"),
            ("sharding_indexed", "sharding_indexed: this codec lays out"),
            ("", "a codec's name is empty"),
        ] {
            let error = storage.add_codec(name, |_| Ok(Box::new(Not))).unwrap_err().to_string();
            assert!(error.starts_with(words), "{error}");
        }
        storage.add_codec("not", |_| Ok(Box::new(Not))).unwrap();
        let description = Description::new(&[2], ElementType::UByte).with_codecs(&[("not", "")]);
        let array = crate::Array::create_in(&storage, "", &description).unwrap();
        array.write(&crate::Hyperslab::all(), &[1u8, 2]).unwrap();
        assert_eq!(crate::object::read_whole(&*storage, "c/0", 10).unwrap().unwrap(), [!1, !2]);
    }

    /// Whatever the version of the format, and whatever settings the library's codec has.
    #[test]
    fn a_codec_comes_before_the_librarys_of_the_same_name() {
        use crate::{Access, Array, ArrayFormat, Hyperslab};
        for format in [ArrayFormat::ZarrV2, ArrayFormat::ZarrV3] {
            for name in ["zstd", "zlib", "delta", "shuffle", "crc32c", "bitround"] {
                let mut storage = Storage::new(Memory::new()).unwrap();
                storage.add_codec(name, |_| Ok(Box::new(Not))).unwrap();
                let codecs = [(name, r#"{"mine":"yes"}"#)];
                let description = Description::new(&[2], ElementType::UByte).with_format(format).with_codecs(&codecs);
                let array = Array::create_in(&storage, "", &description).unwrap();
                array.write(&Hyperslab::all(), &[1u8, 2]).unwrap();
                let object = if format == ArrayFormat::ZarrV2 { "0" } else { "c/0" };
                assert_eq!(crate::object::read_whole(&*storage, object, 10).unwrap().unwrap(), [!1, !2], "{name}");
                let again = Array::open_in(&storage, "", Access::Read).unwrap();
                assert_eq!(again.read::<u8>(&Hyperslab::all()).unwrap(), [1, 2], "{name}");
                assert_eq!(again.codecs().unwrap(), [(name.to_owned(), r#"{"mine":"yes"}"#.to_owned())]);
                let listed = crate::list(&storage, "", true).unwrap();
                assert!(listed.iter().all(|node| node.error().is_none()));
            }
        }
    }
}
