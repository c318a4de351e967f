//! Arrays of several files that are one along a dimension.
//!
//! A storage of joined ones has what is in the first of them. An array with the dimension goes on in the others; one
//! without it is that of the first.

use std::path::Path;

use super::backing::Stored;
use super::documents::groups_above;
use super::file::FileKind;
use super::locate::open_within;
use super::references::Origin;
#[cfg(feature = "network")]
use super::references::is_below;
use super::{Array, group_dimensions, list};
use crate::alloc;
use crate::chunk_list::ChunkRun;
use crate::codec::Chain;
use crate::dataset::{Attribute, GroupDimension, Node, NodeArray, OneNode, Opened};
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::{InPart, InParts, Locate, ObjectChunks};
use crate::grid::{Access, Dimension};
use crate::json::{self, At, Value};
use crate::object::{Joined, OneFile, Part, ReopenedFile, Storage, paths};
#[cfg(feature = "network")]
use crate::object::{Network, Service, Url};
use crate::store::ChunkStore;
use crate::variable::Variable;

/// What a document that names joined storages has.
const MEMBER: &str = "nczchunk_concat";

/// Joins the arrays of several files or storages along a dimension: one storage, in which an array that has the
/// dimension consists of those of all paths, one after another. What does not have the dimension is that of the first
/// path, and so are attributes. Such a storage is only read.
///
/// Chunks stay as they are stored, so a file may have any length: the array has a list of chunk lengths then, of which
/// [`Dimension::chunks`](crate::Dimension::chunks) tells. Codecs may differ from file to file.
///
/// Files are opened when they are read, so that there may be any number of them.
///
/// ```no_run
/// let years = nczchunk::concat(&["sst-2020.nc", "sst-2021.nc", "sst-2022.nc"], "time")?;
/// let sst = nczchunk::Array::open_in(&years, "sst", nczchunk::Access::Read)?;
/// # Ok::<(), nczchunk::Error>(())
/// ```
///
/// # Errors
/// `Argument` for no paths, and those of [`open_storage`](crate::open_storage). An array is opened with the errors of
/// [`Array::open`](crate::Array::open) and with `Unsupported`, about the path, if it is not like that of the first:
/// another type, other dimensions, other chunks along another dimension than the joined one, another byte order or fill
/// value, attributes that say what values mean (such as `units`, `scale_factor` and `missing_value`) with other values;
/// if an array of netCDF-4 is shorter than its unlimited dimension in another file than the last, for what follows
/// would be at the wrong place; and for variable-length strings.
pub fn concat<P: AsRef<Path>>(paths: &[P], dimension: &str) -> Result<Storage> {
    concat_within(paths, dimension, &mut Nesting::default())
}

fn concat_within<P: AsRef<Path>>(paths: &[P], dimension: &str, nesting: &mut Nesting) -> Result<Storage> {
    nesting.enter(paths.len())?;
    let mut known = Known::default();
    let parts = alloc::try_collected(paths.iter().map(|path| part(path.as_ref(), &mut known, nesting)))?;
    nesting.depth -= 1;
    Storage::joined_of(parts, dimension)
}

/// What is known of documents that name others: they end, although one may name itself.
#[derive(Default)]
pub(super) struct Nesting {
    depth: usize,
    num_paths: usize,
    /// Whether a document is what names them.
    is_of_document: bool,
}

impl Nesting {
    /// Documents are within others so deep, and name so many paths together.
    const DEEPEST: usize = 4;
    const MOST_PATHS: usize = 1 << 20;

    /// Whether a document names what is opened.
    pub(super) fn is_of_document(&self) -> bool {
        self.is_of_document
    }

    fn enter(&mut self, num_paths: usize) -> Result<()> {
        self.depth += 1;
        self.num_paths = self.num_paths.saturating_add(num_paths);
        if self.depth > Nesting::DEEPEST {
            return Err(ErrorKind::Unsupported("joined files within joined files, more than 4 deep").into());
        }
        if self.num_paths > Nesting::MOST_PATHS {
            return Err(ErrorKind::Unsupported("more than 1048576 joined files").into());
        }
        Ok(())
    }
}

/// The text of a file that stands for the storage that [`concat()`] returns: to open it by its path is to join the same
/// files. Relative paths lead on from where the file is.
///
/// # Errors
/// `Argument` for a path that is not UTF-8; `OutOfMemory`.
pub fn concat_document<P: AsRef<Path>>(paths: &[P], dimension: &str) -> Result<String> {
    let texts = Value::list(paths.iter().map(|path| {
        let not_utf8 = || ErrorKind::Argument("a path that is not UTF-8").in_object(path.as_ref().display());
        Value::text(path.as_ref().to_str().ok_or_else(not_utf8)?)
    }))?;
    let all = Value::object([("dimension", Value::text(dimension)?), ("paths", texts)])?;
    json::compact(&Value::object([(MEMBER, all)])?)
}

/// The storage that a document says, if it names joined ones.
pub(super) fn of_document(document: &Value, origin: Origin<'_>, nesting: &mut Nesting) -> Result<Option<Storage>> {
    let root = At::root(document);
    let Some(all) = root.given(MEMBER) else { return Ok(None) };
    all.check_object()?;
    let dimension = all.require("dimension")?.text()?;
    let paths = alloc::try_collected(all.require("paths")?.items()?.map(|path| {
        let text = path.text()?;
        origin.path(text).map_err(|error| error.in_object(text))
    }))?;
    let before = std::mem::replace(&mut nesting.is_of_document, true);
    let joined = concat_within(&paths, dimension, nesting);
    nesting.is_of_document = before;
    joined.map(Some)
}

/// What files at several URLs are in.
#[derive(Default)]
struct Known {
    /// Servers and buckets, each with what the URLs of all their objects begin with.
    #[cfg(feature = "network")]
    servers: Vec<(Service, String, Storage)>,
}

impl Known {
    /// The file at a URL, which is an object of its server; `None` if something else is there.
    #[cfg(feature = "network")]
    fn at_server(&mut self, url: &Url<'_>) -> Result<Option<Storage>> {
        let is_it = |(of, begin, _): &&(Service, String, _)| *of == url.service && is_below(begin, url.text);
        let (storage, path) = match self.servers.iter().find(is_it) {
            Some((_, begin, storage)) => (storage.clone(), url.text.get(begin.len()..).unwrap_or_default()),
            None => {
                let (network, path) = Network::open_server(url, true)?;
                let storage = Storage::new(network)?;
                let begin = alloc::text(url.text.strip_suffix(path).unwrap_or_default())?;
                alloc::push(&mut self.servers, (url.service, begin, storage.clone()))?;
                (storage, path)
            }
        };
        let name = Network::object_name(url.service, path)?;
        match FileKind::of(&*storage, &name) {
            Ok(kind) if kind.has_arrays(false) => storage.file(&name).map(Some),
            _ => Ok(None),
        }
    }
}

/// What is at a path, by its full name. A file is not kept open, for there may be many of them.
fn part(path: &Path, known: &mut Known, nesting: &mut Nesting) -> Result<(String, Storage)> {
    let not_utf8 = ErrorKind::Unsupported("a path that is not UTF-8");
    #[cfg(not(feature = "network"))]
    let _ = known;
    if super::is_url(path) {
        #[cfg(feature = "network")]
        if let Some(url) = Url::of(path)? {
            let url = Url { is_of_document: nesting.is_of_document, ..url };
            if let Some(file) = known.at_server(&url)? {
                return Ok((alloc::text(url.text)?, file));
            }
        }
        return Ok((alloc::text(path.to_str().ok_or(not_utf8)?)?, open_within(path, nesting)?));
    }
    let Ok(full) = std::fs::canonicalize(path) else {
        return Ok((alloc::text(path.to_str().ok_or(not_utf8)?)?, open_within(path, nesting)?));
    };
    let text = alloc::text(full.to_str().ok_or(not_utf8)?)?;
    let is_directory = paths::is_directory(&full).map_err(|error| Error::from(error).in_object(path.display()))?;
    let opened = if is_directory { None } else { Some(OneFile::open(&full)?) }
        .filter(|file| FileKind::of(file, OneFile::NAME).is_ok_and(|kind| kind.has_arrays(false)));
    let Some(opened) = opened else { return Ok((text, open_within(path, nesting)?)) };
    let file = Storage::new(ReopenedFile::new(&full, &opened)?)?.file(OneFile::NAME)?;
    Ok((text, file.at_path(&full, None)?))
}

/// The dimensions that a group of joined storages defines: those of the first, of which the joined one is as long as
/// those of all together.
///
/// # Errors
/// See [`group_dimensions`].
pub(super) fn dimensions(storage: &Storage, joined: &Joined, group: &str) -> Result<Vec<GroupDimension>> {
    let (first, others) = joined.parts.split_first().ok_or(ErrorKind::Internal)?;
    let of =
        |part: &Part| group_dimensions(&part.storage.like(storage), group).map_err(|error| error.in_object(&part.path));
    let mut all = of(first)?;
    let is_joined = |dimension: &&mut GroupDimension| dimension.name == joined.dimension;
    if let Some(dimension) = all.iter_mut().find(is_joined) {
        for part in others {
            let other = of(part)?.iter_mut().find(is_joined).map_or(0, |other| other.len);
            dimension.len = dimension.len.checked_add(other).ok_or(TOO_LONG)?;
        }
    }
    Ok(all)
}

/// How long the joined dimension is in one of the storages for an array of this name, if a group around it defines it.
fn len_in(part: &Part, storage: &Storage, dimension: &str, name: &str) -> Result<Option<usize>> {
    let mut innermost = None;
    for group in groups_above(name) {
        let len = part.len_in(group, &mut || {
            let all = group_dimensions(&part.storage.like(storage), group);
            let mut all = all.map_err(|error| error.in_object(&part.path))?.into_iter();
            Ok(all.find(|defined| defined.name == dimension).map(|defined| defined.len))
        })?;
        innermost = len.or(innermost);
    }
    Ok(innermost)
}

/// Opens an array of joined storages.
///
/// # Errors
/// See [`concat()`].
pub(super) fn open(storage: &Storage, joined: &Joined, name: &str) -> Result<(Opened, Stored)> {
    let array = |number: usize| {
        let part = joined.parts.get(number).ok_or(ErrorKind::Internal)?;
        match Array::open_in(&part.storage.like(storage), name, Access::Read) {
            // Objects are called by the storages that are joined.
            Ok(array) if array.opened.is_elsewhere => {
                let reason = "joining arrays to which links of HDF5 files lead in other files";
                Err(ErrorKind::Unsupported(reason).in_object(name).in_object(&part.path))
            }
            opened => opened.map_err(|error| error.in_object(&part.path)),
        }
    };
    // How a joined array is cut tells where the next file begins, so none but the last may end early.
    let check_len = |number: usize, array: &Array, d: usize| {
        let (Some(part), true) = (joined.parts.get(number), number + 1 < joined.parts.len()) else { return Ok(()) };
        if !array.stored.may_be_shorter() || !array.is_unlimited(d) {
            return Ok(());
        }
        let len = array.variable().dimensions().get(d).map_or(0, Dimension::len);
        let whole = len_in(part, storage, &joined.dimension, name)?.unwrap_or_default();
        let kind = ErrorKind::Unsupported("joining an array that is shorter than its unlimited dimension");
        if len < whole { Err(kind.in_object(name).in_object(&part.path)) } else { Ok(()) }
    };
    let first = array(0)?;
    let rank = first.variable().rank();
    let mut dimensions = (0..rank).filter(|&d| first.dimension_name(d) == Some(&joined.dimension));
    let dimension = dimensions.next();
    if let Some(d) = dimensions.next() {
        let reason = "joining arrays along a dimension that they have twice";
        return Err(ErrorKind::Unsupported(reason).in_dimension(d).in_object(name));
    }
    if let Some(d) = dimension {
        check_len(0, &first, d)?;
    }
    if first.check_text().is_ok() {
        let kind = ErrorKind::Unsupported("joining variable-length strings");
        return match dimension {
            Some(_) => Err(kind.into()),
            None => Ok((first.opened, Stored::Joined(alloc::try_box(first.stored)?))),
        };
    }
    let mut building = Building { dimension, is_one_step: true, ..Building::default() };
    let Array { opened: Opened { mut variable, store, element, dimensions, attributes, .. }, stored, .. } = first;
    let has_codecs = store.has_codecs(Access::Read);
    building.add(&variable, store)?;
    for number in 1..if dimension.is_some() { joined.parts.len() } else { 1 } {
        let other = array(number)?;
        if let Some(d) = dimension {
            check_len(number, &other, d)?;
        }
        let other = other.opened;
        let path = &joined.parts.get(number).ok_or(ErrorKind::Internal)?.path;
        let is_like = |is: bool, why: &'static str| match is {
            true => Ok(()),
            false => Err(ErrorKind::Unsupported(why).in_object(name).in_object(path)),
        };
        is_like(other.element == element, "joining arrays of different types")?;
        is_like(
            other.variable.rank() == rank && (0..rank).all(|d| dimensions.name(d) == other.dimensions.name(d)),
            "joining arrays with different dimensions",
        )?;
        for (d, (one, other)) in variable.dimensions().iter().zip(other.variable.dimensions()).enumerate() {
            if Some(d) != dimension {
                is_like(one.len() == other.len(), "joining arrays that differ in length along another dimension")?;
                is_like(one.is_cut_like(other), "joining arrays with different chunks along another dimension")?;
            }
        }
        is_like(
            (variable.endian(), variable.word_size()) == (other.variable.endian(), other.variable.word_size()),
            "joining arrays of different byte orders",
        )?;
        is_like(
            variable.chunk_order() == other.variable.chunk_order(),
            "joining arrays with different orders of a chunk's elements",
        )?;
        is_like(
            value_or_zeros(&variable) == value_or_zeros(&other.variable),
            "joining arrays with different fill values",
        )?;
        for meaning in MEANING {
            let is_same = same_attribute(meaning, &attributes.list, &other.attributes.list);
            if !is_same {
                let reason = "joining arrays with different attributes that say what values mean";
                return Err(ErrorKind::Unsupported(reason).in_object(meaning).in_object(name).in_object(path));
            }
        }
        is_like(has_codecs == other.store.has_codecs(Access::Read), "joining arrays of which only some have codecs")?;
        building.add(&other.variable, other.store).map_err(|error| error.in_object(name).in_object(path))?;
    }
    let store = building.build(storage, &mut variable)?;
    let opened = Opened { variable, store, element, dimensions, attributes, is_elsewhere: false };
    Ok((opened, Stored::Joined(alloc::try_box(stored)?)))
}

/// The attributes that say what values mean, which are the same in all files therefore.
const MEANING: [&str; 7] =
    ["_FillValue", "_Unsigned", "add_offset", "calendar", "missing_value", "scale_factor", "units"];

fn same_attribute(name: &str, one: &[Attribute], other: &[Attribute]) -> bool {
    let find = |all: &[Attribute]| all.iter().position(|attribute| attribute.name == name);
    match (find(one).map(|i| &one[i]), find(other).map(|i| &other[i])) {
        (Some(one), Some(other)) => (one.element, &one.values) == (other.element, &other.values),
        (one, other) => one.is_none() && other.is_none(),
    }
}

/// The bytes of the fill value; none for zeros.
fn value_or_zeros(variable: &Variable) -> &[u8] {
    variable.fill_value().filter(|value| value.iter().any(|&byte| byte != 0)).unwrap_or_default()
}

const TOO_LONG: ErrorKind = ErrorKind::Argument("the joined array is longer than a dimension can be");

/// Bytes from a step of a chunk to the next: `Some(None)` if the chunks differ in it, `None` if no chunk has several
/// steps.
fn step(variable: &Variable) -> Result<Option<Option<usize>>> {
    let Some((slowest, others)) = variable.dimensions().split_first() else { return Ok(None) };
    let steps = match slowest.chunks() {
        Some(runs) => runs.map(|run| run.encoded_len).max().unwrap_or_default(),
        None => slowest.chunklen(),
    };
    if steps.min(slowest.len()) < 2 {
        return Ok(None);
    }
    if let Some(pitch) = variable.chunk_pitch() {
        return Ok(Some(Some(pitch)));
    }
    let is_one = |d: &Dimension| d.chunks().is_none_or(|mut runs| runs.all(|run| run.encoded_len == d.chunklen()));
    if !others.iter().all(is_one) {
        return Ok(Some(None));
    }
    let step = others.iter().try_fold(variable.element_size(), |bytes, d| bytes.checked_mul(d.chunklen()));
    Ok(Some(Some(step.ok_or(ErrorKind::OutOfMemory)?)))
}

/// What arrays come to, one after another.
#[derive(Default)]
struct Building {
    dimension: Option<usize>,
    len: usize,
    runs: Vec<ChunkRun>,
    num_chunks: usize,
    /// The first array's [`step`], if any has chunks of several steps; and whether all have the same.
    step: Option<Option<usize>>,
    is_one_step: bool,
    /// Whether other things lie between the steps of an array's chunks, so that all chunks have them as far apart.
    has_pitch: bool,
    parts: Vec<(InPart, Chain<'static>)>,
}

impl Building {
    fn add(&mut self, variable: &Variable, store: ChunkStore<'static>) -> Result<()> {
        let (reader, codecs) = store.into_parts()?;
        let locate = *reader.into_any()?.downcast::<Box<dyn Locate>>().map_err(|_| ErrorKind::Internal)?;
        let first_chunk = isize::try_from(self.num_chunks).map_err(|_| TOO_LONG)?;
        let part = InPart { first_chunk, locate, codecs: None, is_concurrent: codecs.is_concurrent() };
        alloc::push(&mut self.parts, (part, codecs))?;
        if let Some(step) = step(variable)? {
            self.is_one_step &= step.is_some() && *self.step.get_or_insert(step) == step;
            self.has_pitch |= variable.chunk_pitch().is_some();
        }
        if self.has_pitch && !self.is_one_step {
            return Err(ErrorKind::Unsupported("joining arrays with records of different lengths").into());
        }
        let Some(dimension) = self.dimension.and_then(|d| variable.dimensions().get(d)) else { return Ok(()) };
        if dimension.origin() != 0 {
            return Err(ErrorKind::Unsupported("joining arrays of which one begins within a chunk").into());
        }
        self.len = self.len.checked_add(dimension.len()).ok_or(TOO_LONG)?;
        self.num_chunks = self.num_chunks.checked_add(dimension.num_chunks()).ok_or(TOO_LONG)?;
        self.add_runs(dimension)
    }

    /// Adds the chunks of a dimension, of which the last contributes no more than the dimension has.
    fn add_runs(&mut self, dimension: &Dimension) -> Result<()> {
        let mut left = dimension.len();
        let mut add = |run: ChunkRun| {
            let num_chunks = run.num_chunks.min(left / run.len);
            left -= num_chunks * run.len;
            alloc::push(&mut self.runs, ChunkRun { num_chunks, ..run })?;
            if num_chunks < run.num_chunks && left > 0 {
                alloc::push(&mut self.runs, ChunkRun { num_chunks: 1, len: left, ..run })?;
                left = 0;
            }
            Ok(())
        };
        match dimension.chunks() {
            Some(mut runs) => runs.try_for_each(add),
            None => add(ChunkRun::new(usize::MAX, dimension.chunklen())),
        }
    }

    /// Whether all chunks contribute the same, but for the last; and that is stored with as much.
    fn is_regular(&self) -> bool {
        let all = || self.runs.iter().filter(|run| run.num_chunks > 0);
        let Some(first) = all().next() else { return true };
        let len = first.encoded_len;
        let last = all().count() - 1;
        all().enumerate().all(|(i, run)| {
            run.encoded_len == len && (run.len == len || i == last && run.num_chunks == 1 && run.len < len)
        })
    }

    /// The store of all, whose variable is made of the first one's.
    fn build(mut self, storage: &Storage, variable: &mut Variable) -> Result<ChunkStore<'static>> {
        variable.set_write_grid(None)?;
        if let Some(d) = self.dimension {
            match self.is_regular() {
                true => {
                    let len = self.runs.iter().find(|run| run.num_chunks > 0).map(|run| run.encoded_len);
                    // Chunks of an array without elements may have another length.
                    if len.is_some_and(|len| {
                        variable.dimensions()[d].chunks().is_some() || variable.dimensions()[d].chunklen() != len
                    }) {
                        variable.set_chunk_runs(d, Some(&self.runs))?;
                    }
                }
                false => variable.set_chunk_runs(d, Some(&self.runs))?,
            }
            variable.set_dimlen(d, self.len).map_err(|error| error.in_dimension(d))?;
        }
        if let (true, Some(Some(pitch))) = (self.has_pitch, self.step) {
            variable.set_chunk_pitch(pitch)?;
        }
        let (mut parts, mut first) = (Vec::new(), None);
        for (mut part, codecs) in self.parts.drain(..) {
            match first {
                None => first = Some(codecs),
                Some(_) => part.codecs = Some(codecs),
            }
            alloc::push(&mut parts, part)?;
        }
        let mut objects = storage.clone();
        objects.forget_joined();
        let mut store = ChunkStore::new(ObjectChunks::new(objects, InParts { dimension: self.dimension, parts }))?;
        store.set_codecs(first.unwrap_or_default());
        store.set_limit(storage.memory_limits().chunk());
        Ok(store)
    }
}

/// Calls `one` for what is in the first of joined storages, with arrays as long as they are in all.
pub(super) fn list_each(storage: &Storage, joined: &Joined, group: &str, all: bool, one: OneNode<'_>) -> Result<()> {
    let first = joined.parts.first().ok_or(ErrorKind::Internal)?;
    list::list_each(&first.storage.like(storage), group, all, &mut |node| {
        let is_joined = (0..node.shape().len()).any(|d| node.dimension_name(d) == Some(&joined.dimension));
        if !is_joined {
            return one(node);
        }
        let found = open(storage, joined, node.name()).and_then(|(opened, _)| {
            let (mut shape, mut chunk_shape) = (Vec::new(), Vec::new());
            for dimension in opened.variable.dimensions() {
                alloc::push(&mut shape, dimension.len())?;
                alloc::push(&mut chunk_shape, dimension.chunklen())?;
            }
            let Opened { element, dimensions, attributes, .. } = opened;
            Ok((attributes, NodeArray { element, shape, chunk_shape, shard_shape: None, dimensions }))
        });
        one(Node::found(node.name(), found)?.with_format(node.format()))
    })
}

#[cfg(all(test, feature = "codecs"))]
mod tests {
    #[cfg(not(miri))]
    use std::path::PathBuf;

    use super::*;
    use crate::object::delayed::DelayedStorage;
    use crate::object::{Entry, Memory, PrefixedStorage, read_whole};
    use crate::open_storage;
    use crate::store::ChunkState;
    use crate::{ArrayFormat, Description, ElementType, Hyperslab};

    /// A storage with an array of so many steps, of which the first has this value, and one without the dimension.
    fn year(first: i32, steps: usize, description: impl Fn(Description<'_>) -> Array) -> Storage {
        let shape = [steps, 3];
        let array = description(
            Description::new(&shape, ElementType::Int)
                .with_chunk_shape(&[4, 2])
                .with_dimension_names(&["time", "x"])
                .with_attributes_json(r#"{"units":"K"}"#),
        );
        let values: Vec<i32> = (0..).map(|i| first * 3 + i).take(steps * 3).collect();
        array.write(&Hyperslab::all(), &values).unwrap();
        let storage = array.storage.clone();
        let format = if array.format() == "Zarr v2" { ArrayFormat::ZarrV2 } else { ArrayFormat::ZarrV3 };
        let x = Description::new(&[3], ElementType::Int).with_dimension_names(&["x"]).with_format(format);
        Array::create_in(&storage, "x", &x).unwrap().write(&Hyperslab::all(), &[first; 3]).unwrap();
        storage
    }

    fn memory() -> Storage {
        Storage::new(Memory::new()).unwrap()
    }

    fn joined(storages: Vec<Storage>) -> Storage {
        let named = |(i, storage)| (format!("/{i}"), storage);
        Storage::joined_of(storages.into_iter().enumerate().map(named).collect(), "time").unwrap()
    }

    fn plain(description: Description<'_>) -> Array {
        Array::create_in(&memory(), "a", &description).unwrap()
    }

    #[test]
    fn files_of_any_length_and_codecs_are_one_array() {
        let with = |codecs: &'static [(&str, &str)]| {
            move |description: Description<'_>| plain(description.with_codecs(codecs))
        };
        let sharded = |description: Description<'_>| {
            let description = description.with_shard_shape(&[8, 4]).with_codecs(&[("zstd", "")]);
            Array::create_in(&memory(), "a", &description).unwrap()
        };
        let v2 = |description: Description<'_>| plain(description.with_format(ArrayFormat::ZarrV2));
        let all = joined(vec![
            year(0, 10, with(&[("zstd", ""), ("crc32c", "")])),
            year(10, 0, with(&[("gzip", "")])),
            year(10, 7, sharded),
            year(17, 8, v2),
            year(25, 1, with(&[("gzip", "")])),
        ]);
        let array = Array::open_in(&all, "a", Access::Read).unwrap();
        let time = &array.variable().dimensions()[0];
        assert_eq!((time.len(), time.num_chunks()), (26, 8));
        let lens = |run: ChunkRun| (run.num_chunks, run.len, run.encoded_len);
        let runs: Vec<_> = time.chunks().unwrap().map(lens).collect();
        assert_eq!(runs, [(2, 4, 4), (1, 2, 4), (1, 4, 4), (1, 3, 4), (2, 4, 4), (1, 1, 4)]);
        let expected: Vec<i32> = (0..26 * 3).collect();
        assert_eq!(array.read::<i32>(&Hyperslab::all()).unwrap(), expected);
        // Every box of some steps, with every stride.
        for start in 0..26 {
            for (count, stride) in (1..=26 - start).map(|count| (count, 1)).chain([(2, 3), (3, 2), (2, 11)]) {
                if start + (count - 1) * stride >= 26 {
                    continue;
                }
                let part =
                    array.read::<i32>(&Hyperslab::new(&[start, 1], &[count, 2]).with_stride(&[stride as isize, 1]));
                let due: Vec<i32> =
                    (0..count).flat_map(|i| [1, 2].map(|x| ((start + i * stride) * 3 + x) as i32)).collect();
                assert_eq!(part.unwrap(), due, "{start} {count} {stride}");
            }
        }
        let mut found = Vec::new();
        array
            .locate(&Hyperslab::new(&[9, 0], &[2, 1]), &mut |chunk| {
                found.push((chunk.indices.to_vec(), chunk.object.to_owned(), chunk.state != ChunkState::Absent));
                Ok(())
            })
            .unwrap();
        assert_eq!(found, [(vec![2, 0], "/0/a/c/2/0".to_owned(), true), (vec![3, 0], "/2/a/c/0/0".to_owned(), true)]);
        assert!(array.stored_chunk_len(&[7, 1]).unwrap().is_some());
        assert!(array.stored_chunk_len(&[8, 1]).is_err());
        let nodes = crate::list(&all, "", true).unwrap();
        let told: Vec<_> = nodes.iter().map(|node| (node.name(), node.shape(), node.format())).collect();
        assert_eq!(told, [("", &[][..], "Zarr v3"), ("a", &[26, 3], "Zarr v3"), ("x", &[3], "Zarr v3")]);
        let x = Array::open_in(&all, "x", Access::Read).unwrap();
        assert_eq!(x.read::<i32>(&Hyperslab::all()).unwrap(), [0; 3]);
        assert_eq!(Array::open_in(&all, "a", Access::Write).err().unwrap().kind(), ErrorKind::ReadOnly);
        assert!(crate::references(&all, "a", "").unwrap_err().to_string().contains("differ in length"));
    }

    /// Copies objects to where their names have this before them.
    fn copy(from: &Storage, prefix: &str, (to, before): (&DelayedStorage, &str)) {
        from.list(prefix, &mut |last, entry| {
            let name = if prefix.is_empty() { last.to_owned() } else { format!("{prefix}/{last}") };
            match entry {
                Entry::Object => to.put(&format!("{before}{name}"), &read_whole(&**from, &name, 1 << 20)?.unwrap()),
                Entry::Prefix => copy(from, &name, (to, before)),
            }
            Ok(())
        })
        .unwrap();
    }

    /// The same objects in a storage that answers later.
    fn later(storage: &Storage) -> std::sync::Arc<DelayedStorage> {
        let later = DelayedStorage::new();
        copy(storage, "", (&later, ""));
        std::sync::Arc::new(later)
    }

    /// What is joined may be in one storage, below prefixes: names of requests in flight begin with them.
    #[test]
    fn parts_of_one_storage_are_read_at_the_same_time() {
        let later = std::sync::Arc::new(DelayedStorage::new());
        let below = |(prefix, year): (&str, Storage)| {
            copy(&year, "", (&later, &format!("{prefix}/")));
            Storage::new(PrefixedStorage::new(later.clone(), prefix).unwrap()).unwrap()
        };
        let all = joined([("one", year(0, 8, plain)), ("other", year(8, 7, plain))].map(below).into());
        let array = Array::open_in(&all, "a", Access::Read).unwrap();
        later.reset();
        assert_eq!(array.read::<i32>(&Hyperslab::all()).unwrap(), (0..15 * 3).collect::<Vec<_>>());
        assert_eq!((later.most().0, later.requests_in_flight()), (8, 0));
        // Nothing of it is kept.
        let array = Array::open_in(&all, "a", Access::Read).unwrap();
        later.fail("other/a/c/1/0", 5);
        let error = array.read::<i32>(&Hyperslab::all()).unwrap_err();
        assert_eq!((error.status(), error.about()), (5, "other/a/c/1/0"));
    }

    /// Reads of several storages are in flight together, and one that fails leaves none behind.
    #[test]
    fn files_that_answer_later_are_read_at_the_same_time() {
        let sharded = |description: Description<'_>| {
            let description = description.with_shard_shape(&[8, 4]).with_codecs(&[("zstd", "")]);
            Array::create_in(&memory(), "a", &description).unwrap()
        };
        let years = [year(0, 10, plain), year(10, 7, sharded), year(17, 9, plain)];
        let later: Vec<_> = years.iter().map(later).collect();
        let mut storages: Vec<_> = later.iter().map(|one| Storage::new(one.clone()).unwrap()).collect();
        // One of them is there at once.
        storages.push(year(26, 5, plain));
        let all = joined(storages);
        let array = Array::open_in(&all, "a", Access::Read).unwrap();
        later.iter().for_each(|one| one.reset());
        assert_eq!(array.read::<i32>(&Hyperslab::all()).unwrap(), (0..31 * 3).collect::<Vec<_>>());
        // The chunks of the only shard are read at once.
        assert!(later[0].most().0 > 1 && later[1].most().0 == 1 && later[2].most().0 > 1);
        assert!(later.iter().all(|one| one.requests_in_flight() == 0));
        // A chunk that is missing reads as the fill value.
        let lone = Array::open_in(&joined(vec![Storage::new(later[0].clone()).unwrap()]), "a", Access::Read).unwrap();
        assert_eq!(lone.read::<i32>(&Hyperslab::new(&[9, 0], &[1, 3])).unwrap(), [27, 28, 29]);

        later[2].fail("a/c/1/0", 5);
        let array = Array::open_in(&all, "a", Access::Read).unwrap();
        let error = array.read::<i32>(&Hyperslab::all()).unwrap_err();
        assert_eq!((error.status(), error.about()), (5, "a/c/1/0"));
        assert!(later.iter().all(|one| one.requests_in_flight() == 0));
    }

    /// References name the files themselves, and are read as what they are of.
    #[test]
    fn whole_chunks_can_be_referred_to() {
        let v2 = |description: Description<'_>| plain(description.with_format(ArrayFormat::ZarrV2).with_codecs(&[]));
        let all = joined(vec![year(0, 8, v2), year(8, 3, v2)]);
        let array = Array::open_in(&all, "a", Access::Read).unwrap();
        assert!(array.variable().dimensions()[0].chunks().is_none());
        assert_eq!(array.read::<i32>(&Hyperslab::all()).unwrap(), (0..33).collect::<Vec<_>>());
        let text = crate::references(&all, "a", "/not/used").unwrap();
        assert!(text.contains(r#""a/1.1":["/0/a/1.1",0,32],"a/2.0":["/1/a/0.0",0,32]"#), "{text}");
    }

    #[test]
    fn arrays_that_are_not_alike_are_refused_by_name() {
        let first = || year(0, 4, plain);
        let words = |other: Storage| Array::open_in(&joined(vec![first(), other]), "a", Access::Read).err().unwrap();
        let of = |text: &str, description: &Description<'_>| {
            let storage = memory();
            Array::create_in(&storage, "a", description).unwrap();
            let words = words(storage).to_string();
            assert!(words.starts_with("/1: ") && words.contains(text), "{words}");
        };
        let shape = [4, 3];
        let int = Description::new(&shape, ElementType::Int)
            .with_dimension_names(&["time", "x"])
            .with_chunk_shape(&[4, 2])
            .with_attributes_json(r#"{"units":"K"}"#);
        of("different types", &Description::new(&shape, ElementType::Short).with_dimension_names(&["time", "x"]));
        of("different dimensions", &int.with_dimension_names(&["x", "time"]));
        of("different chunks along another", &int.with_chunk_shape(&[4, 3]));
        of("different fill values", &int.with_fill_value(&7i32.to_ne_bytes()));
        of("units", &int.with_attributes_json(r#"{"units":"degC"}"#));
        of("units", &int.with_attributes_json("{}"));
        let longer = Description::new(&[4, 5], ElementType::Int).with_dimension_names(&["time", "x"]);
        of("differ in length along another", &longer.with_chunk_shape(&[4, 2]));
        let other = if crate::Endian::Big.is_foreign() { crate::Endian::Big } else { crate::Endian::Little };
        of("byte orders", &int.with_endian(other));
        let nothing = words(memory());
        assert_eq!((nothing.kind(), nothing.about()), (ErrorKind::NotFound("array"), "/1: a"));
        assert!(concat(&[""; 0], "time").is_err());
        let missing = concat(&["/no/such/file"], "time").err().unwrap();
        assert_eq!(missing.kind(), ErrorKind::NotFound("file or directory"));
        assert_eq!(missing.about(), "/no/such/file");
    }

    /// Along another dimension than the first, the chunks of each file may have rows of a length of their own.
    #[test]
    fn columns_of_any_width_are_joined() {
        let (mut storages, mut expected, mut first) = (Vec::new(), vec![Vec::<i32>::new(); 9], 0);
        for width in [6_usize, 3, 11] {
            let shape = [9, width];
            let description = Description::new(&shape, ElementType::Int).with_dimension_names(&["y", "time"]);
            let array = plain(description.with_chunk_shape(&[2, width.min(4)]));
            let values: Vec<i32> = (first..).take(9 * width).collect();
            array.write(&Hyperslab::all(), &values).unwrap();
            values.chunks(width).zip(&mut expected).for_each(|(row, all)| all.extend(row));
            storages.push(array.storage.clone());
            first += 1000;
        }
        let array = Array::open_in(&joined(storages), "a", Access::Read).unwrap();
        assert_eq!(array.read::<i32>(&Hyperslab::all()).unwrap(), expected.concat());
        let some = [1, 5, 7].iter().flat_map(|&y| [4, 7, 10, 13, 16].map(|x| expected[y][x])).collect::<Vec<_>>();
        assert_eq!(array.read::<i32>(&Hyperslab::new(&[1, 4], &[1, 5]).with_stride(&[1, 3])).unwrap(), some[..5]);
        assert_eq!(array.read::<i32>(&Hyperslab::new(&[5, 4], &[2, 5]).with_stride(&[2, 3])).unwrap(), some[5..]);
    }

    /// A classic file of records with a variable `a(time, x)` of shorts 0, 1, 2 and so on, and maybe another one.
    #[cfg(not(miri))]
    fn classic(num_records: u32, has_other: bool) -> Vec<u8> {
        let mut file = b"CDF\x01".to_vec();
        let mut put = |words: &[u32]| words.iter().for_each(|word| file.extend(word.to_be_bytes()));
        let (a, b, time, x) = (0x61 << 24, 0x62 << 24, u32::from_be_bytes(*b"time"), 0x78 << 24);
        let num_variables = 1 + u32::from(has_other);
        // Behind all words of the header.
        let begin = 4 * (1 + 13 + 10 + 9 * u32::from(has_other));
        put(&[num_records, 10, 2, 4, time, 0, 1, x, 4, 0, 0, 11, num_variables]);
        put(&[1, a, 2, 0, 1, 0, 0, 3, 8, begin]);
        if has_other {
            put(&[1, b, 1, 0, 0, 0, 6, 8, begin + 8]);
        }
        file.resize(begin as usize, 0);
        for record in 0..num_records as u16 {
            (4 * record..4 * record + 4).for_each(|value| file.extend(value.to_be_bytes()));
            file.extend(&[0; 8][..if has_other { 8 } else { 0 }]);
        }
        file
    }

    /// Where the records of one file are apart and those of another are not, neither is read as the other.
    #[cfg(not(miri))]
    #[test]
    fn records_of_different_lengths_are_not_joined() {
        let directory = crate::object::testing::Temporary::new("records");
        let path = |num_records: u32, has_other: bool| {
            let path = directory.join(format!("{num_records}-{has_other}.nc"));
            std::fs::write(&path, classic(num_records, has_other)).unwrap();
            path
        };
        let read = |files: &[PathBuf]| -> Result<Vec<i16>> {
            Array::open_in(&concat(files, "time")?, "a", Access::Read)?.read(&Hyperslab::all())
        };
        let values = |lens: &[i16]| lens.iter().flat_map(|len| 0..4 * len).collect::<Vec<_>>();
        for has_other in [false, true] {
            assert_eq!(read(&[path(50, has_other), path(6, has_other)]).unwrap(), values(&[50, 6]));
            let files = [path(50, has_other), path(6, !has_other)];
            for files in [[files[0].clone(), files[1].clone()], [files[1].clone(), files[0].clone()]] {
                let error = read(&files).unwrap_err();
                assert!(error.to_string().ends_with("joining arrays with records of different lengths"), "{error}");
            }
            // A single record has no distance to the next.
            assert_eq!(read(&[path(50, has_other), path(1, !has_other)]).unwrap(), values(&[50, 1]));
            assert_eq!(read(&[path(1, !has_other), path(50, has_other)]).unwrap(), values(&[1, 50]));
        }
    }

    /// A file is opened again for each read, and must be what it was.
    #[cfg(not(miri))]
    #[test]
    fn a_file_that_is_replaced_is_not_read() {
        let directory = crate::object::testing::Temporary::new("replaced");
        let files = [50, 6].map(|num_records| {
            let path = directory.join(format!("{num_records}.nc"));
            std::fs::write(&path, classic(num_records, false)).unwrap();
            path
        });
        let all = concat(&files, "time").unwrap();
        let array = Array::open_in(&all, "a", Access::Read).unwrap();
        assert_eq!(array.read::<i16>(&Hyperslab::all()).unwrap().len(), 56 * 4);
        // Its records are of another length, which nothing in the bytes that are read would tell.
        std::fs::write(directory.join("other"), classic(50, true)).unwrap();
        std::fs::rename(directory.join("other"), &files[0]).unwrap();
        for slab in [Hyperslab::all(), Hyperslab::new(&[0, 0], &[20, 4])] {
            let error = array.read::<i16>(&slab).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Changed, "{error}");
            assert!(error.to_string().contains("50.nc"), "{error}");
        }
        assert_eq!(array.read::<i16>(&Hyperslab::new(&[50, 0], &[1, 4])).unwrap(), [0, 1, 2, 3]);
        // Nor is it opened as a part of what was joined before.
        assert_eq!(Array::open_in(&all, "a", Access::Read).err().unwrap().kind(), ErrorKind::Changed);
    }

    /// A document stands for what is joined, wherever the process is.
    #[cfg(not(miri))]
    #[test]
    fn a_document_names_what_is_joined() {
        let directory = crate::object::testing::Temporary::new("joined");
        let four = Description::new(&[4], ElementType::Int).with_chunk_shape(&[3]).with_dimension_names(&["time"]);
        for (name, first) in [("one", 0), ("two", 4)] {
            let array = Array::create(directory.join(name), "v", &four).unwrap();
            array.write(&Hyperslab::all(), &[first, first + 1, first + 2, first + 3]).unwrap();
        }
        let document = concat_document(&["one", "two"], "time").unwrap();
        assert_eq!(document, r#"{"nczchunk_concat":{"dimension":"time","paths":["one","two"]}}"#);
        std::fs::write(directory.join("all.json"), document).unwrap();
        let array = Array::open(directory.join("all.json"), "v", Access::Read).unwrap();
        assert_eq!(array.read::<i32>(&Hyperslab::all()).unwrap(), (0..8).collect::<Vec<_>>());
        // Documents may name documents, as long as there is an end.
        let write = |name: &str, paths: &[&str]| {
            std::fs::write(directory.join(name), concat_document(paths, "time").unwrap()).unwrap();
        };
        write("twice.json", &["all.json", "all.json"]);
        let array = Array::open(directory.join("twice.json"), "v", Access::Read).unwrap();
        assert_eq!(array.read::<i32>(&Hyperslab::all()).unwrap(), (0..8).chain(0..8).collect::<Vec<_>>());
        // What is opened after a document is not of that document.
        let mut nesting = Nesting::default();
        open_within(&directory.join("twice.json"), &mut nesting).unwrap();
        assert_eq!((nesting.depth, nesting.is_of_document), (0, false));
        write("itself.json", &["one", "itself.json"]);
        write("other.json", &["itself.json"; 100]);
        write("itself.json", &["one", "other.json"]);
        for endless in ["itself.json", "other.json"] {
            let error = open_storage(&directory.join(endless)).err().unwrap();
            assert!(error.to_string().ends_with("joined files within joined files, more than 4 deep"), "{error}");
        }
        let many = Nesting { depth: 1, num_paths: Nesting::MOST_PATHS - 1, ..Nesting::default() };
        assert!(Nesting { ..many }.enter(1).is_ok() && Nesting { ..many }.enter(2).is_err());
        for wrong in [r#"{"nczchunk_concat":1}"#, r#"{"nczchunk_concat":{"dimension":"time"}}"#] {
            std::fs::write(directory.join("all.json"), wrong).unwrap();
            assert!(matches!(open_storage(&directory.join("all.json")).err().unwrap().kind(), ErrorKind::Metadata(_)));
        }
    }
}
