//! Arrays that are opened and created: their storage, their metadata and their chunks.
//!
//! ```text
//!   locate.rs       from a path to a storage for objects
//!   parquet.rs      references in Parquet files
//!   references.rs   files of references: of which files objects are parts
//!   file.rs         files that hold several arrays: which formats there are
//!   description.rs  what an array is to be like that is created
//!   documents.rs    the documents of arrays and groups, as they are changed
//!   joined.rs       arrays of several files that are one
//!   keys.rs         the chunks that are stored, by the names of their objects
//!   create.rs       writing the documents of a new array
//!   contents.rs     what an array or group that is overwritten consists of
//!   group.rs        groups: created, changed, consolidated
//!   nczarr.rs       netCDF-C's own metadata of groups
//!   resize.rs       removing what another shape cuts off
//!   retyped.rs      attributes as those of a copy
//!   list.rs         what is in a group
//!   dimensions.rs   the dimensions that a group defines
//!   backing.rs      how an array is stored
//! ```

mod backing;
mod contents;
mod create;
mod description;
mod dimensions;
mod documents;
mod file;
mod group;
mod joined;
mod keys;
mod list;
mod locate;
mod nczarr;
#[cfg(feature = "parquet")]
mod parquet;
mod references;
mod resize;
mod retyped;
mod write_references;

use std::any::type_name;
use std::path::Path;

use crate::alloc;
use crate::cache::Cache;
use crate::dataset::{Attribute, Attributes, Opened};
use crate::element::ElementType;
use crate::error::{Error, ErrorKind, Result};
use crate::grid::{Access, Dimension};
use crate::hyperslab::Hyperslab;
use crate::json::{self, Value};
use crate::object::{Memory, Storage, check_name};
use crate::plan::Plan;
use crate::store::{ChunkLocation, ChunkStore, ReadCost};
use crate::strings;
use crate::typed::{self, Element};
use crate::variable::Variable;
use crate::zarr::{self, AttributeValue, Metadata};

use backing::Stored;
pub use create::OTHER_LENGTH;
pub use description::{ArrayFormat, Description};
pub use dimensions::{UnlimitedLengths, group_dimensions};
pub use group::{change_attribute as change_group_attribute, create_group_at, format_above};
pub use group::{consolidate, create_group, remove_group_attribute, set_group_attribute, set_group_attributes_json};
pub use joined::{concat, concat_document};
pub use list::{list, list_each, one_node};
pub use locate::{create_storage, is_url, open_storage};
pub use nczarr::write_netcdf_groups;
pub use retyped::RetypedAttributes;
pub use write_references::{references, write_references};

/// An open array: its variable, its store, and its metadata.
///
/// Any number of threads may read it at the same time. Threads may write at the same time if each writes to its own
/// chunks, or to its own shards if the array has shards.
pub struct Array {
    opened: Opened,
    stored: Stored,
    storage: Storage,
    name: String,
    access: Access,
    cache: Option<Cache>,
    verify: bool,
}

/// An array that can be created, and what is to be written for it.
pub struct Unwritten {
    /// Its chunks can be written and read.
    pub array: Array,
    new: create::New,
}

impl Unwritten {
    /// The document that says what the array is.
    pub(crate) fn document(&self) -> &str {
        self.new.document()
    }

    /// Makes sure that nothing is where the array is to be.
    ///
    /// # Errors
    /// `NotOverwritten` and `Exists`; those of the storage.
    pub fn make_room(&self, storage: &Storage, name: &str) -> Result<()> {
        self.new.make_room(storage, name)
    }

    /// The same for an array of which other calls may write the chunks meanwhile: it is not overwritten, and what has
    /// the name `but` is not in the way.
    ///
    /// # Errors
    /// Those of `make_room`.
    pub(crate) fn check_room(&self, storage: &Storage, name: &str, but: &str) -> Result<()> {
        self.new.check_room(storage, name, but)
    }

    /// Whether there is this array, as it is written.
    ///
    /// # Errors
    /// Those of the storage.
    pub(crate) fn is_there(&self, storage: &Storage, name: &str) -> Result<bool> {
        self.new.is_there(storage, name)
    }

    /// Whether there is an array or group.
    ///
    /// # Errors
    /// Those of the storage.
    pub fn is_written(&self, storage: &Storage, name: &str) -> Result<bool> {
        contents::is_node(storage, name)
    }

    /// Writes the metadata of an array whose chunks are written.
    ///
    /// # Errors
    /// `Conflict` if another has written them; those of the storage.
    pub fn write(&self, storage: &Storage, name: &str) -> Result<()> {
        self.new.write_documents(storage, name, true)
    }
}

/// What opens the array of a name that it is given.
type ArrayOpener<'s> = Box<dyn Fn(&str) -> Result<Array> + 's>;

/// How many bytes of decoded chunks an array keeps by default: at least one chunk, of up to
/// `LARGEST_CHUNK` bytes.
const CACHE: usize = 64 << 20;
const LARGEST_CHUNK: usize = 512 << 20;

impl Array {
    /// Opens an array for reading, or for reading and writing. `path` is a directory or a zip file; `name` is the
    /// array's path below it, with `/` between the parts, or empty. Or `path` is a file that holds arrays, such as a
    /// netCDF classic file, and `name` is the array's name in it.
    ///
    /// # Errors
    /// `NotFound`, `NotAnArray`, `UnknownFormat`, `Metadata`, `Unsupported`, `Codec`, `ElementType`, `ReadOnly` for
    /// writing to a file, `Busy` for a cfdb file that is locked for writing, `OutOfMemory`, and those of the system.
    pub fn open(path: impl AsRef<Path>, name: &str, access: Access) -> Result<Array> {
        let path = path.as_ref();
        Array::open_in(&open_storage(path)?, name, access).map_err(|error| error.in_object(path.display()))
    }

    /// Opens an array in a storage.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn open_in(storage: &Storage, name: &str, access: Access) -> Result<Array> {
        if let Some(file) = storage.file_name() {
            if access == Access::Write {
                return Err(ErrorKind::ReadOnly.into());
            }
            let (opened, kind) = file::open(storage, file, name).map_err(|error| error.in_object(name))?;
            return Array::of(storage, name, access, opened, Stored::File(kind));
        }
        let name = name.trim_matches('/');
        if let Some(joined) = storage.joined() {
            if access == Access::Write {
                return Err(ErrorKind::ReadOnly.into());
            }
            let (opened, stored) = joined::open(storage, joined, name)?;
            return Array::of(storage, name, access, opened, stored);
        }
        let metadata = zarr::open(storage, name).map_err(|error| error.in_object(name))?;
        if access == Access::Write && !storage.is_writable() {
            return Err(ErrorKind::ReadOnly.into());
        }
        Array::of_zarr(storage, name, access, metadata)
    }

    /// What opens arrays of a storage to be read, one after another. In a file, what is said of several of them is read
    /// once.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    fn opener(storage: &Storage) -> Result<ArrayOpener<'_>> {
        let Some(file) = storage.file_name() else {
            return Ok(alloc::try_box(|name: &str| Array::open_in(storage, name, Access::Read))?);
        };
        let (open, kind) = file::opener(storage, file)?;
        Ok(alloc::try_box(move |name: &str| {
            let opened = open(name).map_err(|error| error.in_object(name))?;
            Array::of(storage, name, Access::Read, opened, Stored::File(kind))
        })?)
    }

    /// Creates an array, and opens it for reading and writing. `path` is a directory, which is created if it does not
    /// exist; `name` is the path of the new array below it, or empty. Missing groups on the way are created.
    ///
    /// Consolidated metadata of the groups above are removed, because they do not list the new array. (Those of a group
    /// above `path` are not found: pass the path of the outermost group, and a name.)
    ///
    /// Nothing is written before all checks have passed. Others can open the array once all its metadata are written;
    /// a failure before that leaves groups at most. If two calls create the same array at the same time, both may
    /// succeed, and the metadata are those of one of them.
    ///
    /// ```
    /// use nczchunk::{Array, Description, ElementType, Hyperslab};
    ///
    /// # let directory = std::env::temp_dir().join(format!("nczchunk-doc-create-{}", std::process::id()));
    /// # let path = &directory;
    /// let sst = Description::new(&[12, 90, 180], ElementType::Float)
    ///     .with_dimension_names(&["time", "lat", "lon"])
    ///     .with_chunk_shape(&[1, 90, 180]);
    /// let array = Array::create(path, "ocean/sst", &sst)?;
    /// array.write(&Hyperslab::new(&[0, 10, 10], &[1, 1, 3]), &[1.0f32, 2.0, 3.0])?;
    /// assert_eq!(array.read::<f32>(&Hyperslab::new(&[0, 10, 11], &[1, 1, 3]))?, [2.0, 3.0, 0.0]);
    /// # std::fs::remove_dir_all(directory).unwrap();
    /// # Ok::<(), nczchunk::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NotOverwritten` if an array or group exists, `Exists` if the name is below an array or something else exists;
    /// `Argument` also for names of metadata documents and names that Zarr v3 reserves; `ElementType`, `Codec`,
    /// `Metadata`, `Unsupported` and `Rank` for a description that the format does not support; `ReadOnly` for a file;
    /// `OutOfMemory`, and those of the system.
    pub fn create(path: impl AsRef<Path>, name: &str, description: &Description<'_>) -> Result<Array> {
        Array::create_as(path.as_ref(), name, description, Ok)
    }

    /// The same, of which the result is what is made of the array before anything is written, unless that fails.
    #[doc(hidden)]
    pub fn create_as<T>(
        path: &Path,
        name: &str,
        description: &Description<'_>,
        make: impl FnOnce(Array) -> Result<T>,
    ) -> Result<T> {
        // What cannot be does not leave an empty directory, so it is created nowhere first.
        Array::create_in(&Storage::new(Memory::new())?, name, description)?;
        Array::create_in_as(&locate::create_storage(path)?, name, description, make)
    }

    /// Creates an array in a storage: see [`create`](Self::create).
    ///
    /// # Errors
    /// Those of `create`.
    pub fn create_in(storage: &Storage, name: &str, description: &Description<'_>) -> Result<Array> {
        Array::create_in_as(storage, name, description, Ok)
    }

    /// The same, of which the result is what is made of the array before anything is written, unless that fails.
    #[doc(hidden)]
    pub fn create_in_as<T>(
        storage: &Storage,
        name: &str,
        description: &Description<'_>,
        make: impl FnOnce(Array) -> Result<T>,
    ) -> Result<T> {
        let name = name.trim_matches('/');
        let Unwritten { array, new } = Array::unwritten(storage, name, description)?;
        let made = make(array)?;
        new.write(storage, name)?;
        Ok(made)
    }

    /// An array that can be created, to which chunks may be written before its metadata.
    ///
    /// # Errors
    /// Those of [`create_in`](Self::create_in).
    #[doc(hidden)]
    pub fn unwritten(storage: &Storage, name: &str, description: &Description<'_>) -> Result<Unwritten> {
        let (metadata, new) = create::New::check(storage, name, description)?;
        let array = Array::of_zarr(storage, name, Access::Write, metadata)?;
        array.opened.store.check_writable().map_err(|error| match error.kind() {
            ErrorKind::ReadOnly => ErrorKind::Codec("one of the codecs can only decode").into(),
            _ => error,
        })?;
        Ok(Unwritten { array, new })
    }

    /// Calls a function with the description of an array like this one, of Zarr v3: its shape, type, fill value, names
    /// of dimensions and attributes and, if it is an array of Zarr, its codecs and chunks. Change what is to be
    /// different.
    ///
    /// ```
    /// # use nczchunk::{Array, Description, ElementType, object::{Memory, Storage}};
    /// # let storage = Storage::new(Memory::new())?;
    /// # let array = Array::create_in(&storage, "a", &Description::new(&[4, 6], ElementType::Int))?;
    /// let copy = array.describe(|same| Array::create_in(&storage, "b", &same.with_chunk_shape(&[2, 2])))?;
    /// assert_eq!(copy.variable().dimensions()[1].len(), 6);
    /// # Ok::<(), nczchunk::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of the function; `OutOfMemory`.
    pub fn describe<T>(&self, make: impl FnOnce(Description<'_>) -> Result<T>) -> Result<T> {
        self.describe_as(ArrayFormat::ZarrV3, make)
    }

    /// [`describe`](Self::describe) with another format, in which elements and attributes may keep types that Zarr v3
    /// does not have: characters, and in NCZarr the types of attributes.
    ///
    /// # Errors
    /// Those of `describe`.
    pub fn describe_as<T>(&self, format: ArrayFormat, make: impl FnOnce(Description<'_>) -> Result<T>) -> Result<T> {
        let mut lists: [Vec<usize>; 3] = Default::default();
        let mut names = Vec::new();
        let is_zarr = matches!(self.stored, Stored::Zarr(_));
        let own_codecs = if is_zarr { self.codecs()? } else { Vec::new() };
        let codecs = alloc::collected(own_codecs.iter().map(|(name, given)| (name.as_str(), given.as_str())))?;
        let variable = self.variable();
        for (d, dimension) in variable.dimensions().iter().enumerate() {
            alloc::push(&mut lists[0], dimension.len())?;
            alloc::push(&mut lists[1], dimension.chunklen())?;
            alloc::push(&mut lists[2], dimension.chunklen().saturating_mul(variable.write_ratio(d).unwrap_or(1)))?;
            alloc::push(&mut names, self.dimension_name(d).unwrap_or_default())?;
        }
        let retyped = RetypedAttributes::of(self, format)?;
        let attributes = retyped.values()?;
        let element = match *self.element_type() {
            // It has no characters.
            ElementType::Char if format == ArrayFormat::ZarrV3 => ElementType::Text { len: 1 },
            element => element,
        };
        let [shape, chunk_shape, shard_shape] = &lists;
        let mut description = Description::new(shape, element)
            .with_format(format)
            .with_attributes_json(retyped.json())
            .with_attributes(&attributes);
        if names.iter().any(|name| !name.is_empty()) {
            description = description.with_dimension_names(&names);
        }
        if let Some(fill_value) = self.fill_value() {
            description = description.with_fill_value(fill_value);
        }
        if is_zarr {
            description = description.with_codecs_of_array(&codecs).with_chunk_shape(chunk_shape);
            // Strings are not written to shards.
            if shard_shape != chunk_shape && element != ElementType::String {
                description = description.with_shard_shape(shard_shape);
            }
        }
        make(description)
    }

    /// Opens an array whose metadata are already there: its document, `zarr.json` or `.zarray`, as a text. Where the
    /// document comes from is up to the caller: consolidated metadata, a catalogue, another program that has the array
    /// open. The storage is asked for chunks only. The document of Zarr v2 has no attributes, so the array has none.
    ///
    /// What changes the array's metadata afterwards, and [`refresh`](Self::refresh), read those that are stored.
    ///
    /// ```
    /// # use nczchunk::{Access, Array, Hyperslab, object::{Memory, ObjectStore, Storage}};
    /// let storage = Storage::new(Memory::new())?;
    /// storage.write("a/0", &[1, 2, 3])?;
    /// let document = r#"{"zarr_format": 2, "shape": [3], "chunks": [3], "dtype": "|u1", "fill_value": 0,
    ///     "order": "C", "compressor": null, "filters": null}"#;
    /// let array = Array::open_document(&storage, "a", document, Access::Read)?;
    /// assert_eq!(array.read::<u8>(&Hyperslab::all())?, [1, 2, 3]);
    /// # Ok::<(), nczchunk::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NotAnArray` for the document of a group; `Metadata`, `Unsupported`, `Codec` and `ElementType` for what it says;
    /// `Argument` for a name that no array can have; `ReadOnly`, `OutOfMemory`.
    pub fn open_document(storage: &Storage, name: &str, document: &str, access: Access) -> Result<Array> {
        if access == Access::Write && !storage.is_writable() || storage.file_name().is_some() {
            return Err(ErrorKind::ReadOnly.into());
        }
        let name = name.trim_matches('/');
        if !name.is_empty() {
            check_name(name)?;
        }
        let document = json::read_within(document.as_bytes(), storage.memory_limits().metadata())?;
        Array::of_zarr(storage, name, access, zarr::array_of_document(document, storage.codecs())?)
    }

    fn of_zarr(storage: &Storage, name: &str, access: Access, metadata: Metadata) -> Result<Array> {
        let opened = zarr::opened(&metadata, storage, &documents::below(name, "")?)?;
        Array::of(storage, name, access, opened, Stored::Zarr(alloc::try_box(metadata)?))
    }

    fn of(storage: &Storage, name: &str, access: Access, mut opened: Opened, stored: Stored) -> Result<Array> {
        let largest = LARGEST_CHUNK.min(storage.memory_limits().chunk_bytes);
        let cache = Cache::from_second_use(CACHE.max(opened.variable.chunk_bytes().min(largest)))?;
        opened.store.set_cache(Some(&cache));
        if access == Access::Read {
            opened.store.set_read_only();
        }
        let (storage, name, cache) = (storage.clone(), alloc::text(name)?, Some(cache));
        Ok(Array { opened, stored, storage, name, access, cache, verify: false })
    }

    /// Reads the metadata again and drops cached chunks and shard indices, so that the next read returns what is stored
    /// now: the data that other handles and processes have written, and the shape and attributes that they have set. Of
    /// a file that was opened by its path, and has been replaced, the new one is opened, unless the file is one of
    /// several that are joined.
    ///
    /// # Errors
    /// `Argument` if the array was replaced by one with other chunks or another type: open it again. Those of
    /// [`open`](Self::open). After an error the array is as it was.
    pub fn refresh(&mut self) -> Result<()> {
        *self = self.reopened()?;
        Ok(())
    }

    /// The array as it is stored now.
    #[doc(hidden)]
    pub fn reopened(&self) -> Result<Array> {
        let storage = match self.storage.replaced() {
            Some(path) => locate::file_at(path, &mut joined::Nesting::default())?.like(&self.storage),
            None => self.storage.clone(),
        };
        let mut now = Array::open_in(&storage, &self.name, self.access)?;
        let (old, new) = (self.variable(), now.variable());
        let has_chunks = self.stored.has_chunks() || now.stored.has_chunks();
        let is_cut_like = |d: usize| !has_chunks || old.dimensions()[d].is_cut_like(&new.dimensions()[d]);
        let is_same = old.rank() == new.rank()
            && (0..old.rank()).all(|d| is_cut_like(d) && old.write_ratio(d) == new.write_ratio(d))
            && self.element_type() == now.element_type();
        if !is_same {
            let reason = "the array was replaced by one with other chunks or another type; open it again";
            return Err(ErrorKind::Argument(reason).in_object(&self.name));
        }
        // One that the array has made for itself is dropped with it, and one of the caller's goes on.
        now.set_cache(self.cache.as_ref());
        now.set_verify(self.verify);
        Ok(now)
    }

    /// Changes the shape of the array; the number of dimensions stays. Chunks (or shards) outside the new shape are
    /// removed. Where the new shape cuts through a chunk or shard, the part that is cut off becomes fill values. So
    /// reads return fill values there if the array grows again. (Data that another program left in a chunk beyond the
    /// end of a dimension, as zarr-python does when it makes an array smaller, are not looked for.)
    ///
    /// Consolidated metadata of the groups above are removed: see [`create`](Self::create). Other handles keep the old
    /// shape until they are [refreshed](Self::refresh), as this one is. If one of them has changed the shape, this
    /// call starts from that shape. A failure leaves the shape as it was, and may leave fill values in the part to be
    /// cut off.
    ///
    /// netCDF-C opens a group of NCZarr only if all its arrays have one length for a dimension of the same name: resize
    /// them all.
    ///
    /// # Errors
    /// `OpenedToRead`; `Argument` for another number of dimensions, for more than a list of chunk lengths has, or if
    /// the array was replaced by one with other chunks or another type; `DimensionLength`; `NotFound` if the array is
    /// gone; `Unsupported` for dimensions whose lengths netCDF-C keeps in their group, and for a smaller shape in a
    /// storage that cannot list its objects; `OutOfMemory`, and those of the storage, of opening and of writing.
    pub fn resize(&mut self, shape: &[usize]) -> Result<()> {
        self.check_writable()?;
        if shape.len() != self.variable().rank() {
            return Err(ErrorKind::Argument("there must be one length for each dimension").into());
        }
        // Another may have changed it meanwhile, or replaced it: what is cut off is what is stored now.
        let mut now = self.reopened()?;
        let resized = now.resize_reopened(shape);
        // What the handle remembers of shards and chunks that are removed, now or by another, is dropped with it.
        *self = now;
        resized
    }

    /// [`resize`](Self::resize) of an array that has just been [reopened](Self::reopened), of as many dimensions.
    #[doc(hidden)]
    pub fn resize_reopened(&mut self, shape: &[usize]) -> Result<()> {
        let Array { opened, stored: Stored::Zarr(metadata), storage, name, .. } = self else {
            return Err(ErrorKind::ReadOnly.into());
        };
        if !metadata.dimension_references.is_empty() {
            return Err(ErrorKind::Unsupported("resizing a dimension whose length netCDF-C keeps in its group").into());
        }
        if metadata.is_scalar {
            return Ok(());
        }
        let mut variable = opened.variable.try_clone()?;
        let mut shrinks = false;
        for (d, (&len, dimension)) in shape.iter().zip(opened.variable.dimensions()).enumerate() {
            shrinks |= len < dimension.len();
            variable.set_dimlen(d, len).map_err(|error| error.in_dimension(d))?;
        }
        let new_shape = alloc::copied(shape)?;
        if shrinks {
            let chunks = keys::Chunks { storage, name, keys: metadata.keys, rank: shape.len() };
            resize::cut(&opened.variable, &opened.store, &chunks, shape)?;
        }
        documents::change(storage, name, documents::of_array(metadata.format), documents::V2_ARRAY, |array| {
            array.set("shape", Value::numbers(shape)?)
        })?;
        (opened.variable, metadata.shape) = (variable, new_shape);
        Ok(())
    }

    /// Sets or adds an attribute, immediately: the metadata are written again. JSON has no types of numbers, so a
    /// `short` is read back as an `int`, unless netCDF-C's keys record the types, as in [`ArrayFormat::NcZarr`].
    ///
    /// Consolidated metadata of the groups above are removed: see [`create`](Self::create).
    ///
    /// `_FillValue` of an array of NCZarr is its fill value, which cannot be changed, neither by this nor by the calls
    /// below.
    ///
    /// ```no_run
    /// # let mut array = nczchunk::Array::open("sst.zarr", "", nczchunk::Access::Write)?;
    /// array.set_attribute("units", "K")?;
    /// array.set_attribute("valid_range", &[200.0f32, 330.0])?;
    /// # Ok::<(), nczchunk::Error>(())
    /// ```
    ///
    /// # Errors
    /// `OpenedToRead`; `Argument` for a name that attributes cannot have, and for another fill value; `NotFound` if the
    /// array is gone; `Metadata` if the metadata have become malformed meanwhile; `OutOfMemory`, and those of the
    /// storage.
    pub fn set_attribute<'v>(&mut self, name: &str, value: impl Into<AttributeValue<'v>>) -> Result<()> {
        self.change_attribute(name, Some(value.into()), |_| Ok(()))
    }

    /// Removes an attribute, immediately: see [`set_attribute`](Self::set_attribute).
    ///
    /// # Errors
    /// `NoAttribute` if there is no attribute of that name, and those of `set_attribute`.
    pub fn remove_attribute(&mut self, name: &str) -> Result<()> {
        self.change_attribute(name, None, |_| Ok(()))
    }

    /// Sets or adds several attributes, immediately: each member of a JSON object, unchanged. Members may be nested.
    /// The result of [`own_attributes_json`](Self::own_attributes_json) is such an object. Other attributes stay as
    /// they are.
    ///
    /// ```no_run
    /// # let mut array = nczchunk::Array::open("sst.zarr", "", nczchunk::Access::Write)?;
    /// array.set_attributes_json(r#"{"units": "K", "history": [{"by": "me", "is_final": true}]}"#)?;
    /// # Ok::<(), nczchunk::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Metadata` if the text is not a JSON object, and those of [`set_attribute`](Self::set_attribute).
    pub fn set_attributes_json(&mut self, attributes: &str) -> Result<()> {
        self.update_attributes(attributes, |_| Ok(()))
    }

    /// As [`set_attributes_json`](Self::set_attributes_json), with a result as of
    /// [`change_attribute`](Self::change_attribute).
    pub fn update_attributes<T>(&mut self, given: &str, make: impl FnOnce(&Attributes) -> Result<T>) -> Result<T> {
        let given = json::read(given.as_bytes())?;
        self.change_attributes(make, |attributes| zarr::set_attributes_json(attributes, &given))
    }

    /// Sets or removes an attribute. The result is what is made of all that there are then, before anything is written,
    /// unless that fails.
    #[doc(hidden)]
    pub fn change_attribute<T>(
        &mut self,
        name: &str,
        value: Option<AttributeValue<'_>>,
        make: impl FnOnce(&Attributes) -> Result<T>,
    ) -> Result<T> {
        self.change_attributes(make, |attributes| documents::change_attribute(attributes, name, value))
    }

    fn change_attributes<T>(
        &mut self,
        make: impl FnOnce(&Attributes) -> Result<T>,
        change: impl FnOnce(&mut Value) -> Result<()>,
    ) -> Result<T> {
        self.check_writable()?;
        let Array { opened, stored: Stored::Zarr(metadata), storage, name, .. } = self else {
            return Err(ErrorKind::ReadOnly.into());
        };
        let element = metadata.element;
        let mut changed = None;
        let format = metadata.format;
        documents::change(storage, name, documents::of_attributes(format), documents::V2_ARRAY, |document| {
            let attributes = documents::attributes_mut(document, format)?;
            let before = if metadata.is_nczarr { Some(attributes.copied()?) } else { None };
            change(attributes)?;
            let copy = attributes.copied()?;
            if let Some(before) = before {
                check_fill_value(storage, name, &before, &copy)?;
            }
            let attributes = zarr::attributes(&copy, Some(element))?;
            changed = Some((make(&attributes)?, attributes, copy));
            Ok(())
        })?;
        let Some((made, attributes, copy)) = changed else { return Err(ErrorKind::Internal.into()) };
        (opened.attributes, metadata.attributes) = (attributes, copy);
        Ok(made)
    }

    /// Whether a link in its file leads to another file, which it is in.
    fn is_elsewhere(&self) -> bool {
        self.opened.is_elsewhere
    }

    /// The array's variable: its dimensions, its chunks and the layout of its elements.
    pub fn variable(&self) -> &Variable {
        &self.opened.variable
    }

    /// The array's store, from which chunks are read and to which they are written.
    pub fn store(&self) -> &ChunkStore<'static> {
        &self.opened.store
    }

    /// The type of the elements.
    pub fn element_type(&self) -> &ElementType {
        &self.opened.element
    }

    /// The attributes.
    pub fn attributes(&self) -> &[Attribute] {
        &self.opened.attributes.list
    }

    /// The error if the attributes alone cannot be read. Then the array has no attributes, and none can be set.
    pub fn attributes_error(&self) -> Option<&Error> {
        self.opened.attributes.error.as_ref()
    }

    /// What is stored with the array and the library does not show: an error for each, which says what it is. Its
    /// [`about`](Error::about) is the name of the attribute that is not among [`attributes`](Array::attributes), or not
    /// all of it; it is empty for what the type of the elements says. An HDF5 file may have attributes whose types
    /// netCDF lacks, such as structures and references, and names for the values of an enumeration.
    pub fn left_out(&self) -> &[Error] {
        &self.opened.attributes.left_out
    }

    /// The attributes as a JSON object in a string: unchanged, if they are stored in that form.
    pub fn attributes_json(&self) -> &str {
        &self.opened.attributes.json
    }

    /// The attributes as a JSON object in a string, without those that the formats reserve, such as the names of
    /// dimensions. [`Description::with_attributes_json`] takes it to create an array with the same attributes.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn own_attributes_json(&self) -> Result<String> {
        json::compact(&zarr::own_attributes(&json::read(self.attributes_json().as_bytes())?)?)
    }

    /// The name of a dimension, if it has one.
    pub fn dimension_name(&self, d: usize) -> Option<&str> {
        self.opened.dimensions.name(d)
    }

    /// Whether the metadata mark a dimension as unlimited, as netCDF does.
    pub fn is_unlimited(&self, d: usize) -> bool {
        self.opened.dimensions.is_unlimited(d)
    }

    /// The array's name in the storage it was opened in; empty if the storage is the array.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What tells the array from others that are described alike, and from what was at its place before: a version of
    /// its metadata document, or of the file that it is in. Chunks below the same document may have changed
    /// nevertheless. `None` where the storage tells none.
    pub fn version(&self) -> Option<u128> {
        if let Some(file) = self.storage.file_name() {
            return self.storage.lasting_version(file);
        }
        let names = [documents::V3, documents::V2_ARRAY].map(|last| documents::below(&self.name, last).ok());
        names.into_iter().flatten().find_map(|object| self.storage.lasting_version(&object))
    }

    /// The most bytes that are kept of the index of its chunks while they are read.
    pub(crate) fn index_memory(&self) -> usize {
        /// What an HDF5 file keeps of it.
        const KEPT: usize = 8 << 20;
        let dimensions = self.variable().dimensions();
        let num_chunks = dimensions.iter().map(Dimension::num_chunks).fold(1, usize::saturating_mul);
        // An entry of a B-tree is a key with an offset for each dimension, and an address; nodes may be half full.
        let of_chunk = 2 * (8 * (dimensions.len() + 1) + 24);
        match (self.format(), &self.stored) {
            ("HDF5", Stored::Joined(_)) => num_chunks.saturating_mul(of_chunk),
            ("HDF5", _) => num_chunks.saturating_mul(of_chunk).min(KEPT),
            _ => 0,
        }
    }

    /// The storage that it is in, and its name there.
    pub(crate) fn place(&self) -> (&Storage, &str) {
        (&self.storage, &self.name)
    }

    /// The name of the storage format: `Zarr v2`, `Zarr v3`, `NCZarr`, `netCDF classic`, `cfdb` or `HDF5`.
    pub fn format(&self) -> &'static str {
        self.stored.format()
    }

    /// The codecs of the chunks in the order of encoding, as [`Description::with_codecs`] takes them: each has a name
    /// and a configuration, which is empty if the format does not record it. (Codecs for whole shards are not listed.)
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn codecs(&self) -> Result<Vec<(String, String)>> {
        self.stored.codecs(&self.opened.store)
    }

    /// The fill value, as which missing chunks read: the bytes of an element in native byte order, or UTF-8 if elements
    /// are [variable-length strings](ElementType::String), as [`Description::with_fill_value`] takes it. `None` stands
    /// for zeros, or an empty string.
    pub fn fill_value(&self) -> Option<&[u8]> {
        self.stored.fill_value(&self.opened.variable)
    }

    /// The number of bytes of a chunk as it is stored, after encoding; `None` if it is missing and reads as the fill
    /// value. The indices are those of the [variable's](Self::variable) chunks. The chunk is not read. For a chunk in a
    /// shard, the shard's index is read.
    ///
    /// ```
    /// # use nczchunk::{Array, Description, ElementType, Hyperslab, object::{Memory, Storage}};
    /// let description = Description::new(&[6], ElementType::Short).with_chunk_shape(&[4]).with_codecs(&[]);
    /// let array = Array::create_in(&Storage::new(Memory::new())?, "", &description)?;
    /// array.write(&Hyperslab::new(&[4], &[1]), &[7i16])?;
    /// assert_eq!((array.stored_chunk_len(&[0])?, array.stored_chunk_len(&[1])?), (None, Some(8)));
    /// # Ok::<(), nczchunk::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Argument` if the array has no such chunk; `Corrupt` for the index of a shard; those of the storage.
    pub fn stored_chunk_len(&self, chunk: &[isize]) -> Result<Option<usize>> {
        self.stored.len_of(&self.opened.variable, &self.opened.store, chunk)
    }

    /// Locates the stored chunks that a hyperslab touches: calls `one` for each, in row-major order, with the object
    /// that holds the chunk and the range of its bytes, or that the chunk is missing. The chunks are those by which the
    /// array is read; chunks within shards are reported one by one. Their bytes are not read. For an object that is a
    /// chunk, the storage is asked for its length. For a shard, the index is read, once for all of its chunks if the
    /// indices in use take no more than 4 MiB.
    ///
    /// ```
    /// # use nczchunk::{Array, ChunkState, Description, ElementType, Hyperslab, object::{Memory, Storage}};
    /// let description = Description::new(&[6], ElementType::Short).with_chunk_shape(&[4]).with_codecs(&[]);
    /// let array = Array::create_in(&Storage::new(Memory::new())?, "a", &description)?;
    /// array.write(&Hyperslab::new(&[4], &[1]), &[7i16])?;
    /// let mut found = Vec::new();
    /// array.locate(&Hyperslab::all(), &mut |chunk| {
    ///     found.push((chunk.indices.to_vec(), chunk.object.to_owned(), chunk.state));
    ///     Ok(())
    /// })?;
    /// assert_eq!(found[0], (vec![0], "a/c/0".to_owned(), ChunkState::Absent));
    /// assert_eq!(found[1], (vec![1], "a/c/1".to_owned(), ChunkState::Stored { offset: 0, len: 8 }));
    /// # Ok::<(), nczchunk::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of `one`, which end the call; those of [`Plan::new`](crate::Plan::new); `Corrupt` for the index of a
    /// shard; those of the storage.
    pub fn locate(&self, slab: &Hyperslab<'_>, one: &mut dyn FnMut(&ChunkLocation<'_>) -> Result<()>) -> Result<()> {
        self.store().locate(&Plan::new(self.variable(), slab, Access::Read)?, one)
    }

    /// What it takes to read a hyperslab: how many requests the storage gets, and for how many bytes. No chunk is read.
    /// The storage is asked for the indices of shards, which are kept, and for the length of each object that is a
    /// chunk. Reading takes the same with one thread, if no chunk is in the cache; indices that are known already are
    /// not counted. For files, requests are reads.
    ///
    /// ```
    /// # use nczchunk::{Array, Description, ElementType, Hyperslab, object::{Memory, Storage}};
    /// let description = Description::new(&[8], ElementType::Short).with_chunk_shape(&[1]).with_shard_shape(&[4]);
    /// let array = Array::create_in(&Storage::new(Memory::new())?, "a", &description.with_codecs(&[]))?;
    /// array.write(&Hyperslab::all(), &[1i16, 2, 3, 4, 5, 6, 7, 8])?;
    /// let cost = array.read_cost(&Hyperslab::new(&[1], &[2]))?;
    /// // The index of the shard, and both chunks at once.
    /// assert_eq!((cost.requests, cost.bytes), (2, 68 + 4));
    /// assert_eq!((cost.index_requests, cost.index_bytes), (1, 68));
    /// # Ok::<(), nczchunk::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Plan::new`](crate::Plan::new); `Unsupported` for variable-length strings; `Corrupt` for the index of
    /// a shard; those of the storage.
    pub fn read_cost(&self, hyperslab: &Hyperslab<'_>) -> Result<ReadCost> {
        Plan::new(self.variable(), hyperslab, Access::Read)?.read_cost(self.store())
    }

    /// Lists the stored objects of the array's chunks: calls `one` with the indices of each, in any order. The indices
    /// are those of the chunks or, if there are shards, of the shards, by which the array is
    /// [written](Variable::grid). Returns `false` if nothing can be listed, as for arrays in files and in storages that
    /// cannot list their objects.
    ///
    /// The time depends on the number of stored objects, not on the number of possible chunks. An object to which
    /// several symbolic links lead is listed once.
    ///
    /// # Errors
    /// Those of `one`, `OutOfMemory`, and those of the storage.
    pub fn each_stored_object(&self, one: &mut dyn FnMut(&[isize]) -> Result<()>) -> Result<bool> {
        let Stored::Zarr(metadata) = &self.stored else { return Ok(false) };
        let grid = self.opened.variable.grid(Access::Write);
        let chunks = keys::Chunks { storage: &self.storage, name: &self.name, keys: metadata.keys, rank: grid.rank() };
        let mut listed = keys::Inside::new(grid, one);
        chunks.each(&mut listed)?;
        Ok(listed.is_listed())
    }

    /// The name of the object in the array's storage that holds a chunk, or would hold it; `None` for an array in a
    /// file. Chunks of one shard have the same object.
    ///
    /// # Errors
    /// `Argument` if the array has no such chunk; `OutOfMemory`.
    pub fn chunk_object(&self, chunk: &[isize]) -> Result<Option<String>> {
        let name = self.stored.object_name(&self.opened.variable, &self.name, chunk)?;
        Ok(name.as_deref().map(alloc::text).transpose()?)
    }

    /// Refuses to write to an array that was opened to be read.
    #[doc(hidden)]
    pub fn check_writable(&self) -> Result<()> {
        if self.access == Access::Write { Ok(()) } else { Err(ErrorKind::OpenedToRead.in_object(&self.name)) }
    }

    /// Refuses a Rust type that does not hold the elements.
    fn check_holds<T: Element>(&self) -> Result<()> {
        let element = *self.element_type();
        if element == ElementType::String {
            return Err(ErrorKind::Argument("read strings with read_strings and write them with write_strings").into());
        }
        let wrong = ErrorKind::RustType { element, rust: type_name::<T>() };
        if T::holds(element) { Ok(()) } else { Err(wrong.in_object(&self.name)) }
    }

    /// Reads a hyperslab in row-major order. Values are not converted: `T` is the type of the elements.
    ///
    /// # Errors
    /// `RustType` if the elements are of another type than `T`, and those of [`read`](crate::read).
    pub fn read<T: Element>(&self, hyperslab: &Hyperslab<'_>) -> Result<Vec<T>> {
        self.check_holds::<T>()?;
        typed::read(&self.opened.variable, &self.opened.store, hyperslab)
    }

    /// Reads a hyperslab into a slice, in row-major order. Values are not converted.
    ///
    /// # Errors
    /// `RustType` if the elements are of another type than `T`, and those of [`read_into`](crate::read_into).
    pub fn read_into<T: Element>(&self, hyperslab: &Hyperslab<'_>, out: &mut [T]) -> Result<()> {
        self.check_holds::<T>()?;
        typed::read_into(&self.opened.variable, &self.opened.store, hyperslab, out)
    }

    /// Writes values, in row-major order, to a hyperslab of an array that was opened for writing. Values are not
    /// converted.
    ///
    /// # Errors
    /// `OpenedToRead`, `RustType` if the elements are of another type than `T`, and those of [`write`](crate::write).
    pub fn write<T: Element>(&self, hyperslab: &Hyperslab<'_>, values: &[T]) -> Result<()> {
        self.check_writable()?;
        self.check_holds::<T>()?;
        typed::write(&self.opened.variable, &self.opened.store, hyperslab, values)
    }

    /// Reads a hyperslab of an array of [variable-length strings](ElementType::String), in row-major order. Strings are
    /// not cached, and one thread reads them.
    ///
    /// # Errors
    /// `ElementType` for elements of another type, those of [`read`](crate::read), `Corrupt` for a chunk that does not
    /// hold such strings, `Unsupported` for a string that contains a NUL.
    pub fn read_strings(&self, hyperslab: &Hyperslab<'_>) -> Result<Vec<String>> {
        self.check_text()?;
        strings::read_strings(self.variable(), self.store(), hyperslab)
    }

    /// Writes strings, in row-major order, to a hyperslab of an array of
    /// [variable-length strings](ElementType::String) that was opened for writing.
    ///
    /// # Errors
    /// `OpenedToRead`, `ElementType` for elements of another type, `Argument` for a string that contains a NUL,
    /// `Unsupported` for an array in shards, and those of [`write`](crate::write).
    pub fn write_strings(&self, hyperslab: &Hyperslab<'_>, values: &[impl AsRef<str>]) -> Result<()> {
        self.check_writable()?;
        self.check_text()?;
        strings::write_strings(self.variable(), self.store(), hyperslab, values)
    }

    /// Refuses elements that are no variable-length strings.
    #[doc(hidden)]
    pub fn check_text(&self) -> Result<()> {
        match self.element_type() {
            ElementType::String => Ok(()),
            other => Err(ErrorKind::ElementType.in_object(other)),
        }
    }

    /// Sets the cache for decoded chunks; `None` for no cache.
    pub fn set_cache(&mut self, cache: Option<&Cache>) {
        self.opened.store.set_cache(cache);
        self.cache = cache.cloned();
    }

    /// Sets whether every chunk is decoded completely: see [`ChunkStore::set_verify`].
    pub fn set_verify(&mut self, verify: bool) {
        self.opened.store.set_verify(verify);
        self.verify = verify;
    }
}

/// Refuses attributes with which an array of NCZarr would have another fill value: chunks that are absent, and what was
/// cut off, would read as something else.
fn check_fill_value(storage: &Storage, name: &str, before: &Value, after: &Value) -> Result<()> {
    if before.get(zarr::FILL_VALUE) == after.get(zarr::FILL_VALUE) {
        return Ok(());
    }
    let missing = || ErrorKind::NotFound("array").in_object(name);
    let array = zarr::document(storage, name, documents::V2_ARRAY)?.ok_or_else(missing)?;
    let with = |attributes| zarr::v2_of_values(&array, Some(attributes), storage.codecs());
    match zarr::is_same_fill_value(&with(before)?, &with(after)?) {
        true => Ok(()),
        false => {
            let reason = "_FillValue is the fill value of an array of NCZarr, which cannot be changed";
            Err(ErrorKind::Argument(reason).into())
        }
    }
}

#[cfg(all(test, feature = "codecs"))]
mod tests;
