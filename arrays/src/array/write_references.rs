//! References to the chunks of arrays, written as kerchunk's JSON: fsspec reads it, and with it Zarr and xarray.
//!
//! What arrays and groups are is said by documents of Zarr v2, which are made in memory as for new arrays. A chunk is a
//! range of the object that it is in.

use std::mem::MaybeUninit;
use std::path::Path;

use super::documents::{V2_ARRAY, V2_ATTRIBUTES, below};
#[cfg(not(feature = "parquet"))]
use super::references::WITHOUT_PARQUET;
use super::references::may_be_parquet;
use super::retyped::marking_fill_value;
use super::{Array, ArrayFormat, Description, UnlimitedLengths, create_group, list};
use crate::alloc;
use crate::buffer::Buffer;
use crate::dataset::{AttributeValues, Node};
use crate::dims::{self, Dims};
use crate::element::ElementType;
use crate::error::{Error, ErrorKind, Result};
use crate::grid::{Access, Dimension};
use crate::hyperslab::Hyperslab;
use crate::json::{self, Value};
use crate::object::{ByteRange, Entry, Memory, Name, Storage, check_name, read_whole};
use crate::store::ChunkState;
use crate::zarr::FILL_VALUE;

/// The text of references to all chunks of an array, or of the arrays in a group and in those below it; an empty name
/// is the storage itself. `url` is what the storage is called in them, a path or a URL; names of objects in it follow.
///
/// An array of HDF5 that is shorter than others with its unlimited dimension gets the length of the dimension, as
/// netCDF has it, where its chunks end there; the rest reads as the fill value.
///
/// Dimensions without a name are called `phony_dim_0` and so on, for xarray needs names.
///
/// # Errors
/// `Unsupported` and `Codec`, about the array, for what numcodecs or Zarr v2 does not have; those of listing the
/// storage, of opening its arrays and of [`Array::locate`]. Of [joined](crate::concat()) files `url` is not used:
/// their own paths and URLs are.
pub fn references(storage: &Storage, name: &str, url: &str) -> Result<String> {
    if storage.is_archive() {
        return Err(
            ErrorKind::Unsupported("references to entries of a zip file, and to what references lead to").into()
        );
    }
    let documents = Storage::new(Memory::new())?;
    let nodes = list(storage, name, true)?;
    let lengths = UnlimitedLengths::of(storage, &nodes)?;
    let open = Array::opener(storage)?;
    let chunks = Value::Object(Vec::new());
    let mut writing = Writing { storage, open: &*open, url, documents, unnamed: Vec::new(), chunks };
    for node in &nodes {
        writing
            .node(node, &lengths)
            .map_err(|error| error.in_object(if node.name().is_empty() { "/" } else { node.name() }))?;
    }
    let mut all = Value::Object(Vec::new());
    writing.add_documents("", &mut all)?;
    all.append(writing.chunks)?;
    json::compact(&Value::object([("version", Value::number(1)?), ("refs", all)])?)
}

/// Writes what [`references`] says as an object of a storage: JSON, or Parquet files below the name of the object if
/// that ends with `.parq` or `.parquet` (with the feature `parquet`), as kerchunk and fsspec have them.
///
/// # Errors
/// Those of [`references`], `Unsupported` for Parquet in a build without it and for an array without a name, and those
/// of the storage that is written to; `Exists` if the object is there and is no JSON, such as the file itself. JSON is
/// written as a whole or not at all.
pub fn write_references(storage: &Storage, name: &str, url: &str, to: &Storage, object: &str) -> Result<()> {
    let mut room = [const { MaybeUninit::uninit() }; 512];
    let mut begin = Buffer::new(&mut room);
    let is_json = !may_be_parquet(Path::new(object));
    let is_there = is_json && to.read(object, ByteRange::At(0), &mut begin)?.is_some();
    if is_there && begin.filled().trim_ascii_start().first() != Some(&b'{') {
        return Err(ErrorKind::Exists.in_object(object));
    }
    let text = references(storage, name, url)?;
    if is_json {
        return to.write(object, text.as_bytes());
    }
    #[cfg(feature = "parquet")]
    return super::parquet::write(&text, to, object);
    #[cfg(not(feature = "parquet"))]
    Err(Error::from(WITHOUT_PARQUET).in_object(object))
}

/// What has been written.
struct Writing<'w> {
    storage: &'w Storage,
    /// What opens the arrays.
    open: &'w dyn Fn(&str) -> Result<Array>,
    url: &'w str,
    /// The documents of arrays and groups.
    documents: Storage,
    /// The lengths of dimensions without a name, and how many before it in its array are as long.
    unnamed: Vec<(usize, usize)>,
    chunks: Value,
}

/// A chunk that is stored: its indices, its object, and which bytes of it.
struct Chunk {
    indices: Dims<isize>,
    object: String,
    offset: u64,
    len: u64,
}

/// How the chunks of an array are said to lie.
struct Chunks {
    shape: Vec<usize>,
    stored: Vec<Chunk>,
    has_absent: bool,
}

impl Writing<'_> {
    fn node<'n>(&mut self, node: &'n Node, lengths: &UnlimitedLengths<'n>) -> Result<()> {
        if let Some(error) = node.error() {
            return Err(error.kind().into());
        }
        if node.is_group() {
            return create_group(&self.documents, node.name(), ArrayFormat::ZarrV2, node.attributes_json(), &[]);
        }
        let shape = alloc::collected((0..node.shape().len()).map(|d| lengths.len(node, d)))?;
        self.array(&(self.open)(node.name())?, shape)
    }

    /// Adds an array; for netCDF it has this shape, with fill values beyond its own.
    fn array(&mut self, array: &Array, longest: Vec<usize>) -> Result<()> {
        let (variable, store) = (array.variable(), array.store());
        if *array.element_type() == ElementType::String {
            return Err(ErrorKind::Unsupported("references to variable-length strings").into());
        }
        if !variable.grid(Access::Read).is_regular() {
            return Err(ErrorKind::Unsupported("references to chunks that differ in length").into());
        }
        if variable.chunk_order().is_some() {
            return Err(ErrorKind::Unsupported("references to chunks in another order than the row-major one").into());
        }
        if variable.dimensions().iter().any(|dimension| dimension.origin() != 0) {
            let reason = "references to an array that was extended or cut at its beginning";
            return Err(ErrorKind::Unsupported(reason).into());
        }
        let mut codecs = Vec::new();
        for codec in store.numcodecs() {
            let (name, numcodecs) = codec;
            let Some((id, number)) = numcodecs else {
                return Err(ErrorKind::Codec("numcodecs has no such codec").in_object(name));
            };
            let number = number.map_or(Ok(String::new()), |number| {
                Ok::<_, Error>(alloc::text(&Name::of(format_args!("{number}"))?)?)
            })?;
            alloc::push(&mut codecs, (id, number))?;
        }
        let mut chunks = chunks(array, EACH)?;
        let names = self.dimension_names(array)?;
        let mut shape = Vec::new();
        for ((dimension, len), chunk) in variable.dimensions().iter().zip(longest).zip(&chunks.shape) {
            // What a chunk that is cut off has behind its end may be anything.
            let is_cut = dimension.len() % chunk != 0;
            alloc::push(&mut shape, if is_cut { dimension.len() } else { dimension.len().max(len) })?;
            chunks.has_absent |= !is_cut && dimension.len() < len;
        }
        let zeros = alloc::copied(&[0; 16])?;
        let own = variable.fill_value().or(zeros.get(..variable.element_size()));
        // Whether it is needed, so that nothing else may be in its place.
        let is_needed = chunks.has_absent || marking_fill_value(array).is_some();
        let marks = marks_missing(array).filter(|marks| !is_needed || Some(*marks) == own);
        let fill_value = marks.or(own);
        let (codecs, names): (Vec<_>, Vec<_>) = (
            codecs.iter().map(|(id, number)| (*id, number.as_str())).collect(),
            names.iter().map(String::as_str).collect(),
        );
        let mut description = Description::new(&shape, *array.element_type())
            .with_format(ArrayFormat::ZarrV2)
            .with_endian(variable.endian())
            .with_chunk_shape(&chunks.shape)
            .with_codecs(&codecs)
            .with_dimension_names(&names)
            .with_attributes_json(array.attributes_json());
        if let Some(fill_value) = fill_value {
            description = description.with_fill_value(fill_value);
        }
        Array::create_in(&self.documents, array.name(), &description)?;
        self.write_as_kerchunk(array.name(), is_needed || marks.is_some(), marks.is_some())?;
        let prefix = below(array.name(), "")?;
        for chunk in chunks.stored {
            let mut key = alloc::text(&prefix)?;
            for (d, index) in chunk.indices.iter().enumerate() {
                alloc::push_text(&mut key, &Name::of(format_args!("{}{index}", if d > 0 { "." } else { "" }))?)?;
            }
            if chunk.indices.is_empty() {
                alloc::push_text(&mut key, "0")?;
            }
            let within = if chunk.object.is_empty() { "" } else { "/" };
            // What is joined, and what links lead to, names its files itself.
            let is_whole =
                self.storage.joined().is_some() || array.is_elsewhere() && check_name(&chunk.object).is_err();
            let (url, within) = if is_whole { ("", "") } else { (self.url, within) };
            let object = Value::text_of(format_args!("{url}{within}{}", chunk.object));
            self.chunks.push(&key, Value::list([object, Value::number(chunk.offset), Value::number(chunk.len)])?)?;
        }
        Ok(())
    }

    /// The names of an array's dimensions, each of which has one here.
    fn dimension_names(&mut self, array: &Array) -> Result<Vec<String>> {
        let (mut names, mut lens) = (Vec::new(), Vec::new());
        for (d, dimension) in array.variable().dimensions().iter().enumerate() {
            if let Some(name) = array.dimension_name(d) {
                alloc::push(&mut names, alloc::text(name)?)?;
                continue;
            }
            let unnamed = (dimension.len(), lens.iter().filter(|len| **len == dimension.len()).count());
            alloc::push(&mut lens, dimension.len())?;
            let number = match self.unnamed.iter().position(|other| *other == unnamed) {
                Some(number) => number,
                None => {
                    alloc::push(&mut self.unnamed, unnamed)?;
                    self.unnamed.len() - 1
                }
            };
            alloc::push(&mut names, alloc::text(&Name::of(format_args!("phony_dim_{number}"))?)?)?;
        }
        Ok(names)
    }

    /// Changes the documents of an array to what kerchunk writes. The compressor is the last filter, for VirtualiZarr
    /// reads no other. For xarray the fill value marks missing elements, so an array of another format has none unless
    /// chunks are absent, or it stands for `_FillValue`: of that, VirtualiZarr reads no floating-point numbers.
    fn write_as_kerchunk(&self, array: &str, has_fill_value: bool, is_attribute: bool) -> Result<()> {
        if is_attribute {
            let name = below(array, V2_ATTRIBUTES)?;
            let text = read_whole(&*self.documents, &name, usize::MAX)?.ok_or(ErrorKind::Internal)?;
            let mut attributes = json::read(&text)?;
            attributes.take(FILL_VALUE);
            self.documents.write(&name, json::compact(&attributes)?.as_bytes())?;
        }
        let name = below(array, V2_ARRAY)?;
        let text = read_whole(&*self.documents, &name, usize::MAX)?.ok_or(ErrorKind::Internal)?;
        let mut document = json::read(&text)?;
        if !has_fill_value {
            document.set("fill_value", Value::Null)?;
        }
        if let Some(compressor @ Value::Object(_)) = document.take("compressor") {
            match document.get_mut("filters") {
                Some(Value::List(filters)) => alloc::push(filters, compressor)?,
                _ => document.set("filters", Value::list([Ok(compressor)])?)?,
            }
        }
        document.set("compressor", Value::Null)?;
        self.documents.write(&name, json::compact(&document)?.as_bytes())
    }

    /// Adds the documents below a prefix.
    fn add_documents(&self, prefix: &str, to: &mut Value) -> Result<()> {
        let mut names = Vec::new();
        self.documents.list(prefix, &mut |last, entry| {
            Ok(alloc::push(&mut names, (alloc::text(&below(prefix, last)?)?, entry))?)
        })?;
        for (name, entry) in names {
            if entry == Entry::Prefix {
                self.add_documents(&name, to)?;
                continue;
            }
            let text = read_whole(&*self.documents, &name, usize::MAX)?.ok_or(ErrorKind::Internal)?;
            let text = std::str::from_utf8(&text).map_err(|_| ErrorKind::Internal)?;
            to.push(&name, Value::text(text)?)?;
        }
        Ok(())
    }
}

/// The element that marks what is missing, of floating-point numbers: their `_FillValue`, if it is one of them.
fn marks_missing(array: &Array) -> Option<&[u8]> {
    let element = *array.element_type();
    let attribute = array.attributes().iter().find(|attribute| attribute.name() == FILL_VALUE)?;
    let AttributeValues::Bytes(bytes) = attribute.values() else { return None };
    let is_one = matches!(element, ElementType::Half | ElementType::Float | ElementType::Double)
        && *attribute.element_type() == element
        && bytes.len() == element.size();
    is_one.then_some(bytes)
}

/// An array of up to so many chunks is asked for each of them. Where there are more, the stored objects are listed, so
/// that the time is that of what is stored, whatever shape the metadata claim.
const EACH: usize = 1 << 24;

/// The same of an array in a file, which tells where most chunks are without a request, and lists nothing.
const EACH_IN_FILE: usize = 1 << 30;

/// Calls `one` with the hyperslab of each stored object of an array. Returns `false` if they cannot be listed.
fn each_stored(array: &Array, one: &mut dyn FnMut(&Hyperslab<'_>) -> Result<()>) -> Result<bool> {
    let dimensions = array.variable().grid(Access::Write).dimensions();
    array.each_stored_object(&mut |indices| {
        let extent =
            |(dimension, &index): (&Dimension, &isize)| dimension.chunk(index).ok_or(ErrorKind::Internal.into());
        let extents = dims::try_collect(indices.len(), dimensions.iter().zip(indices).map(extent))?;
        let start = dims::copied(extents.iter().map(|extent| extent.start))?;
        one(&Hyperslab::new(&start, &dims::copied(extents.iter().map(|extent| extent.len))?))
    })
}

/// The chunks of an array that are stored, each of them whole. `each`: see [`EACH`].
fn chunks(array: &Array, each: usize) -> Result<Chunks> {
    let variable = array.variable();
    let shape = alloc::collected(variable.dimensions().iter().map(Dimension::chunklen))?;
    let mut chunks = Chunks { shape, stored: Vec::new(), has_absent: false };
    let mut locate = |hyperslab: &Hyperslab<'_>| {
        array.locate(hyperslab, &mut |chunk| {
            let ChunkState::Stored { offset, len } = chunk.state else {
                chunks.has_absent = true;
                return Ok(());
            };
            let indices = dims::copied(chunk.indices.iter().copied())?;
            let object = alloc::text(chunk.object)?;
            Ok(alloc::push(&mut chunks.stored, Chunk { indices, object, offset, len })?)
        })
    };
    let count = variable.dimensions().iter().try_fold(1usize, |count, d| count.checked_mul(d.num_chunks()));
    let most = if array.stored.is_in_file() { EACH_IN_FILE } else { each };
    if count.is_none_or(|count| count > each) && each_stored(array, &mut locate)? {
        chunks.has_absent = count != Some(chunks.stored.len());
        chunks.stored.sort_unstable_by(|one, other| one.indices.cmp(&other.indices));
    } else if count.is_some_and(|count| count <= most) {
        locate(&Hyperslab::all())?;
    } else {
        return Err(ErrorKind::Unsupported("references to more chunks than can be looked for one by one").into());
    }
    let unsupported = |what, chunk: &Chunk| Error::from(ErrorKind::Unsupported(what)).in_chunk(&chunk.indices);
    for chunk in &chunks.stored {
        if !array.store().numcodecs_of(&chunk.indices).eq(array.store().numcodecs()) {
            return Err(unsupported("references to chunks with different codecs", chunk));
        }
        if array.store().skipped_codecs(&chunk.indices)? != 0 {
            return Err(unsupported("references to chunks that some filters were left out of", chunk));
        }
    }
    if let Some(pitch) = variable.chunk_pitch() {
        return records(&chunks, array, pitch as u64);
    }
    let chunk_bytes = variable.chunk_bytes() as u64;
    if array.store().has_codecs(Access::Read) || chunks.stored.iter().all(|chunk| chunk.len == chunk_bytes) {
        return Ok(chunks);
    }
    // Pieces of what is stored in one, of which the last is shorter: Zarr v2 has no such chunks.
    let lens = || variable.dimensions().iter().map(|dimension| dimension.len());
    for apart in 0..=variable.rank().min(1) {
        let bytes =
            lens().skip(apart).fold(variable.element_size() as u64, |bytes, len| bytes.saturating_mul(len as u64));
        if let Some(stored) = joined(&chunks, apart, bytes)? {
            let shape = lens().enumerate().map(|(d, len)| if d < apart { 1 } else { len.max(1) });
            let shape = alloc::collected(shape)?;
            return divided(Chunks { shape, stored, has_absent: chunks.has_absent }, apart, bytes);
        }
    }
    Err(ErrorKind::Unsupported("references to chunks that are not stored whole").into())
}

/// A chunk for each record, where a chunk is several of them with those of other variables between.
fn records(chunks: &Chunks, array: &Array, pitch: u64) -> Result<Chunks> {
    let mut each = Chunks { shape: Vec::new(), stored: Vec::new(), has_absent: chunks.has_absent };
    let (mut record, mut is_whole) = (array.variable().element_size() as u64, true);
    for (d, dimension) in array.variable().dimensions().iter().enumerate() {
        alloc::push(&mut each.shape, if d == 0 { 1 } else { dimension.len().max(1) })?;
        record = record.saturating_mul(if d == 0 { 1 } else { dimension.len() as u64 });
        is_whole &= d == 0 || dimension.len() == dimension.chunklen();
    }
    let (Some(first), true) = (array.variable().dimensions().first(), is_whole) else {
        return Err(ErrorKind::Unsupported("references to parts of large records").into());
    };
    for chunk in &chunks.stored {
        let begin = chunk.indices.first().map_or(0, |index| *index as usize * first.chunklen());
        for row in 0..first.chunklen().min(first.len() - begin) {
            let within = (row as u64).saturating_mul(pitch);
            if within.saturating_add(record) > chunk.len {
                return Err(ErrorKind::Unsupported("references to records that the file ends within").into());
            }
            let index = |d: usize| if d == 0 { (begin + row) as isize } else { 0 };
            let indices = dims::copied((0..chunk.indices.len()).map(index))?;
            let (object, offset) = (alloc::text(&chunk.object)?, chunk.offset.saturating_add(within));
            alloc::push(&mut each.stored, Chunk { indices, object, offset, len: record })?;
        }
    }
    Ok(each)
}

/// The chunks with those joined that have the same first `apart` indices, if they follow one another and have so many
/// bytes together.
fn joined(chunks: &Chunks, apart: usize, bytes: u64) -> Result<Option<Vec<Chunk>>> {
    if chunks.has_absent {
        return Ok(None);
    }
    let mut all = Vec::<Chunk>::new();
    for chunk in &chunks.stored {
        let first = chunk.indices.get(..apart).unwrap_or_default();
        match all.last_mut().filter(|last| last.indices.get(..apart) == Some(first)) {
            Some(last) if last.object == chunk.object && last.offset.checked_add(last.len) == Some(chunk.offset) => {
                last.len = last.len.saturating_add(chunk.len);
            }
            Some(_) => return Ok(None),
            None => {
                let index = |(d, index): (usize, &isize)| if d < apart { *index } else { 0 };
                let indices = dims::copied(chunk.indices.iter().enumerate().map(index))?;
                let (object, offset, len) = (alloc::text(&chunk.object)?, chunk.offset, chunk.len);
                alloc::push(&mut all, Chunk { indices, object, offset, len })?;
            }
        }
    }
    Ok(all.iter().all(|chunk| chunk.len == bytes).then_some(all))
}

/// A whole that is large in equal pieces along its first dimension.
fn divided(mut chunks: Chunks, apart: usize, bytes: u64) -> Result<Chunks> {
    const LARGEST: u64 = 16 << 20;
    const SMALLEST: u64 = 64 << 10;
    let Some(rows) = chunks.shape.get_mut(apart).filter(|_| bytes > LARGEST) else { return Ok(chunks) };
    let (len, row) = (*rows as u64, bytes / *rows as u64);
    // The fewest pieces of the same length that are small enough; if all such are tiny, it stays one.
    let most = (bytes / SMALLEST).min(len);
    let Some(pieces) = (bytes.div_ceil(LARGEST)..=most).find(|pieces| len % pieces == 0) else { return Ok(chunks) };
    *rows = (len / pieces) as usize;
    let mut stored = Vec::new();
    for chunk in &chunks.stored {
        for piece in 0..pieces {
            let mut indices = dims::copied(chunk.indices.iter().copied())?;
            if let Some(index) = indices.get_mut(apart) {
                *index = piece as isize;
            }
            let len = row * (len / pieces);
            let (object, offset) = (alloc::text(&chunk.object)?, chunk.offset.saturating_add(piece * len));
            alloc::push(&mut stored, Chunk { indices, object, offset, len })?;
        }
    }
    chunks.stored = stored;
    Ok(chunks)
}

#[cfg(all(test, feature = "codecs"))]
mod tests {
    use super::*;

    /// What is listed is what is found one by one, also where nothing is absent, and in shards.
    #[test]
    fn listed_chunks_are_those_that_are_found_one_by_one() {
        let plain =
            Description::new(&[8, 6], ElementType::Short).with_chunk_shape(&[2, 3]).with_codecs(&[("zstd", "")]);
        for description in [plain, plain.with_shard_shape(&[4, 6])] {
            let array = Array::create_in(&Storage::new(Memory::new()).unwrap(), "a", &description).unwrap();
            for rows in [0, 3, 8] {
                let values: Vec<i16> = (1..=rows as i16 * 6).collect();
                array.write(&Hyperslab::new(&[0, 0], &[rows, 6]), &values).unwrap();
                let found = [EACH, 0].map(|each| {
                    let found = chunks(&array, each).unwrap();
                    let place = |chunk: Chunk| (chunk.indices, chunk.object, chunk.offset, chunk.len);
                    (found.has_absent, found.stored.into_iter().map(place).collect::<Vec<_>>())
                });
                assert_eq!(found[0], found[1]);
                assert_eq!((found[0].0, found[0].1.len()), (rows < 8, rows.div_ceil(2) * 2));
            }
        }
    }
}
