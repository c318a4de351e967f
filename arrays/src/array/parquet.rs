//! References in Parquet files, as kerchunk and fsspec write them: a directory with the documents of all arrays in
//! `.zmetadata`, and for each array files of so many references each, which are read when one of them is needed.
//!
//! The source is the text of fsspec's LazyReferenceMapper.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::record::Field;
use parquet::schema::parser::parse_message_type;

use super::documents::{V2_ARRAY, V2_CONSOLIDATED, V3, below, forget_v2};
use super::references::{OwnedOrigin, Targets};
use crate::alloc;
use crate::error::{Error, ErrorKind, Result};
use crate::json::{self, At, Value};
use crate::key::{KeyStyle, Separator};
use crate::limits::Limit;
use crate::lock::Lock;
use crate::object::{Entry, Name, ObjectStore, Records, Reference, References, Storage, read_whole};
use crate::shared::Shared;
use nczchunk_engine::panic_guard;

/// The storage that a directory of references stands for, given its document.
///
/// # Errors
/// `Metadata`, `Limit`, `OutOfMemory`, and those of the storage.
pub(super) fn open(storage: &Storage, document: &Value, place: OwnedOrigin) -> Result<Storage> {
    let root = At::root(document);
    let record_size = root.require("record_size")?.usize()?;
    if !(1..=LONGEST).contains(&record_size) {
        return Err(root.malformed("record_size is 1 to 16777216"));
    }
    let (mut objects, mut arrays) = (Vec::new(), Vec::new());
    let metadata = root.require("metadata")?;
    for (name, at) in metadata.members()? {
        let text = match at.value() {
            value if value.as_str().is_some() => alloc::text(value.as_str().unwrap_or_default())?,
            value => json::compact(value)?,
        };
        // Of these no chunk would be found.
        if name == V2_ARRAY || name.rsplit('/').next() == Some(V3) {
            let reason = "references in Parquet files to an array without a name, or of Zarr v3";
            return Err(ErrorKind::Unsupported(reason).in_object(name));
        }
        if let Some(array) = name.strip_suffix(V2_ARRAY).and_then(|name| name.strip_suffix('/')) {
            alloc::push(&mut arrays, Chunks::of(array, &text).map_err(|error| error.in_object(name))?)?;
        }
        let bytes = Shared::new(text.into_bytes())?;
        alloc::push(&mut objects, (alloc::text(name)?, Reference::Bytes(bytes)))?;
    }
    arrays.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    let known = Lock::new(Known::default());
    let stores = [const { OnceLock::new() }; STORES];
    let records = InFiles { storage: storage.clone(), place, record_size, arrays, known, stores };
    records.find_a_store();
    let records = alloc::try_box(records)?;
    Storage::new(References::new(objects, Some(records), Vec::new()))
}

/// The most references that a file has.
const LONGEST: usize = 1 << 24;

/// How many files are kept.
const KEPT: usize = 16;

/// So many files of an array are looked for to list its chunks.
const MOST_FILES: usize = 1 << 20;

/// From so many stores reads are in flight, which are those that are referred to first.
const STORES: usize = 16;

/// The chunks of an array.
struct Chunks {
    name: String,
    /// How many there are along each dimension.
    counts: Vec<usize>,
}

impl Chunks {
    fn of(name: &str, text: &str) -> Result<Self> {
        let document = json::read(text.as_bytes())?;
        let root = At::root(&document);
        let (shape, chunks) = (root.require("shape")?.usizes()?, root.require("chunks")?.usizes()?);
        if shape.len() != chunks.len() || chunks.contains(&0) {
            return Err(root.malformed("chunks has a length for each dimension"));
        }
        let counts = alloc::collected(shape.iter().zip(&chunks).map(|(len, chunk)| len.div_ceil(*chunk)))?;
        if counts.len() > 1 && document.get("dimension_separator").and_then(Value::as_str) == Some("/") {
            return Err(ErrorKind::Unsupported("references in Parquet files to chunks with keys like 0/1").into());
        }
        Ok(Chunks { name: alloc::text(name)?, counts })
    }

    /// The number of the chunk that has this key.
    fn number(&self, key: &str) -> Option<usize> {
        if self.counts.is_empty() {
            return (key == "0").then_some(0);
        }
        let (mut number, mut counts) = (0usize, self.counts.iter());
        for index in key.split('.') {
            let count = counts.next()?;
            let index = index.parse().ok().filter(|index| index < count)?;
            number = number.checked_mul(*count)?.checked_add(index)?;
        }
        counts.next().is_none().then_some(number)
    }

    /// How many there are.
    fn count(&self) -> Option<usize> {
        self.counts.iter().try_fold(1usize, |count, of_one| count.checked_mul(*of_one))
    }

    /// The key of the chunk of this number.
    fn key(&self, mut number: usize) -> Result<Name> {
        let mut indices = Vec::new();
        for count in self.counts.iter().rev() {
            alloc::push(&mut indices, (number % count) as isize)?;
            number /= count;
        }
        indices.reverse();
        Name::of(format_args!("{}", KeyStyle::ZarrV2(Separator::Dot).key(&indices)?))
    }
}

/// The references of all arrays.
struct InFiles {
    storage: Storage,
    place: OwnedOrigin,
    record_size: usize,
    arrays: Vec<Chunks>,
    known: Lock<Known>,
    /// The first of those that `known` has opened, which stay as long as this does.
    stores: [OnceLock<Shared<Box<dyn ObjectStore>>>; STORES],
}

/// The references of a file; `None` for a chunk that is not there.
type Read = Shared<Vec<Option<Reference>>>;

/// What has been read.
#[derive(Default)]
struct Known {
    targets: Targets,
    /// The files that were used last, by the numbers of their arrays and theirs.
    files: VecDeque<((usize, usize), Read)>,
}

impl InFiles {
    /// Reads the first file of an array, or of some until one has references that lead to an object, so that it is
    /// known before the first read whether that answers later. What is wrong with them is said when they are needed.
    fn find_a_store(&self) {
        let mut arrays = 0..self.arrays.len().min(KEPT);
        arrays.find(|array| self.file(*array, 0).is_ok() && self.stores.iter().any(|store| store.get().is_some()));
    }

    /// The references of a file.
    fn file(&self, array: usize, number: usize) -> Result<Read> {
        // In a child of the process nothing is kept.
        let (mut kept, mut own) = (self.known.lock(), Known::default());
        let is_kept = kept.is_some();
        let Known { targets, files } = kept.as_deref_mut().unwrap_or(&mut own);
        if let Some((_, read)) = files.iter().find(|(which, _)| *which == (array, number)) {
            return Ok(read.clone());
        }
        let name = &self.arrays.get(array).ok_or(ErrorKind::Internal)?.name;
        let name = Name::of(format_args!("{}refs.{number}.parq", &*below(name, "")?))?;
        let limit = self.storage.memory_limits().metadata();
        let mut references = Vec::new();
        if let Some(bytes) = read_whole(&*self.storage, &name, limit.bytes)? {
            let rows = rows(bytes, self.record_size, limit).map_err(|error| error.in_object(&*name))?;
            for Row { path, part, raw } in rows {
                let reference = match (raw, path) {
                    (Some(raw), _) => Some(Reference::Bytes(Shared::new(raw)?)),
                    (None, Some(path)) => {
                        let target = targets.find(&path, self.place.origin(), || Ok(alloc::text(&path)?))?;
                        Some(Reference::Target(target, (part != (0, 0)).then_some(part)))
                    }
                    (None, None) => None,
                };
                alloc::push(&mut references, reference)?;
            }
        }
        if is_kept {
            // Only who holds the lock fills a slot, so nobody waits for it, and a child of the process does not.
            for (slot, store) in self.stores.iter().zip(targets.stores()) {
                slot.get_or_init(|| store.clone());
            }
        }
        let read = Shared::new(references)?;
        files.truncate(KEPT - 1);
        files.try_reserve(1).map_err(|_| ErrorKind::OutOfMemory)?;
        files.push_front(((array, number), read.clone()));
        Ok(read)
    }
}

impl Records for InFiles {
    fn find(&self, name: &str) -> Result<Option<Reference>> {
        let Some((array, key)) = name.rsplit_once('/') else { return Ok(None) };
        let Ok(array) = self.arrays.binary_search_by(|chunks| chunks.name.as_str().cmp(array)) else { return Ok(None) };
        let Some(number) = self.arrays.get(array).and_then(|chunks| chunks.number(key)) else { return Ok(None) };
        let read = self.file(array, number / self.record_size)?;
        Ok(read.get(number % self.record_size).cloned().flatten())
    }

    fn stores(&self) -> &[OnceLock<Shared<Box<dyn ObjectStore>>>] {
        &self.stores
    }

    fn list(&self, prefix: &str, one: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
        let Ok(array) = self.arrays.binary_search_by(|chunks| chunks.name.as_str().cmp(prefix)) else { return Ok(()) };
        let chunks = self.arrays.get(array).ok_or(ErrorKind::Internal)?;
        let count = chunks.count().ok_or(ErrorKind::OutOfMemory)?;
        let num_files = count.div_ceil(self.record_size);
        if num_files > MOST_FILES {
            return Err(ErrorKind::Unsupported("a list of references that may be in more than 1048576 files").into());
        }
        for number in 0..num_files {
            for (row, reference) in self.file(array, number)?.iter().enumerate() {
                let chunk = number * self.record_size + row;
                if reference.is_some() && chunk < count {
                    one(&chunks.key(chunk)?, Entry::Object)?;
                }
            }
        }
        Ok(())
    }
}

/// A reference as a file has it.
#[derive(Default)]
struct Row {
    path: Option<String>,
    part: (u64, u64),
    raw: Option<Vec<u8>>,
}

/// The rows of a Parquet file, of which there are at most so many, and which take no more bytes than the limit.
///
/// # Errors
/// `Metadata` for a file that is none of references, `Limit`, `OutOfMemory`.
fn rows(bytes: Vec<u8>, most: usize, limit: Limit) -> Result<Vec<Row>> {
    let malformed = || Error::from(ErrorKind::Metadata("this is not a Parquet file of references"));
    // What is malformed has that crate panic here and there.
    let read = panic_guard::catch(|| {
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).map_err(|_| malformed())?;
        let mut columns = reader.metadata().row_groups().iter().flat_map(|group| group.columns());
        let add = |sum: usize, size| sum.checked_add(usize::try_from(size).ok()?);
        let num_bytes = columns.try_fold(0, |sum, column| add(sum, column.uncompressed_size()));
        let num_rows = reader.metadata().file_metadata().num_rows();
        if usize::try_from(num_rows).map_or(true, |rows| rows > most) {
            return Err(malformed());
        }
        limit.check(num_bytes.unwrap_or(usize::MAX))?;
        // A few bytes of a file may stand for many rows, each with the same long text.
        let (mut rows, mut taken) = (Vec::new(), 0usize);
        for row in reader.get_row_iter(None).map_err(|_| malformed())? {
            let (row, mut found) = (row.map_err(|_| malformed())?, Row::default());
            for (name, field) in row.get_column_iter() {
                let number = match field {
                    Field::Long(number) => u64::try_from(*number).ok(),
                    Field::Int(number) => u64::try_from(*number).ok(),
                    Field::ULong(number) => Some(*number),
                    Field::UInt(number) => Some((*number).into()),
                    Field::Null => Some(0),
                    _ => None,
                };
                match (name.as_str(), field) {
                    ("path", Field::Str(path)) => found.path = Some(alloc::text(path)?),
                    ("path", Field::Bytes(path)) => {
                        let path = std::str::from_utf8(path.data()).map_err(|_| malformed())?;
                        found.path = Some(alloc::text(path)?);
                    }
                    ("raw", Field::Bytes(raw)) => found.raw = Some(alloc::copied(raw.data())?),
                    ("raw", Field::Str(raw)) => found.raw = Some(alloc::copied(raw.as_bytes())?),
                    ("path" | "raw", Field::Null) => {}
                    ("offset", _) => found.part.0 = number.ok_or_else(malformed)?,
                    ("size", _) => found.part.1 = number.ok_or_else(malformed)?,
                    _ => return Err(malformed()),
                }
            }
            let len = found.path.as_ref().map_or(0, String::len) + found.raw.as_ref().map_or(0, Vec::len);
            taken = taken.saturating_add(size_of::<Row>() + len);
            limit.check(taken)?;
            alloc::push(&mut rows, found)?;
        }
        Ok(rows)
    });
    read.unwrap_or_else(|| Err(malformed()))
}

/// How many references a file has that is written, as kerchunk has it by default.
const RECORDS: usize = 10_000;

/// Writes what a document of references says to files below a name in a storage: first those of all arrays, at last the
/// document that tells of them.
///
/// # Errors
/// `Unsupported` for an array without a name; `OutOfMemory`, and those of the storage.
pub(super) fn write(references: &str, to: &Storage, directory: &str) -> Result<()> {
    let document = json::read(references.as_bytes())?;
    let root = At::root(&document);
    let (mut metadata, mut arrays) = (Value::Object(Vec::new()), Vec::new());
    let (refs, mut each) = (root.require("refs")?, Vec::new());
    for (name, at) in refs.members()? {
        let Some(text) = at.value().as_str() else {
            alloc::push(&mut each, (name, at))?;
            continue;
        };
        if let Some(array) = name.strip_suffix(V2_ARRAY) {
            let Some(array) = array.strip_suffix('/') else {
                return Err(ErrorKind::Unsupported("references in Parquet files to an array without a name").into());
            };
            alloc::push(&mut arrays, (Chunks::of(array, text)?, Vec::new()))?;
        }
        metadata.push(name, json::read(text.as_bytes())?)?;
    }
    let mut last = 0;
    for (name, at) in each {
        let (array, key) = name.rsplit_once('/').ok_or(ErrorKind::Internal)?;
        let is_it = |(chunks, _): &(Chunks, _)| chunks.name == array;
        // Those of an array follow one another.
        if !arrays.get(last).is_some_and(is_it) {
            last = arrays.iter().position(is_it).ok_or(ErrorKind::Internal)?;
        }
        let (chunks, rows) = arrays.get_mut(last).ok_or(ErrorKind::Internal)?;
        let (Some(number), Some([path, offset, len])) = (chunks.number(key), at.value().as_list()) else {
            return Err(ErrorKind::Internal.into());
        };
        let part = (offset.as_u64().ok_or(ErrorKind::Internal)?, len.as_u64().ok_or(ErrorKind::Internal)?);
        alloc::push(rows, (number, path.as_str().ok_or(ErrorKind::Internal)?, part))?;
    }
    // What another call has written is not told of any more, and no reference of it is left.
    forget_v2(to, directory)?;
    for (chunks, mut rows) in arrays {
        remove_files(to, &below(directory, &chunks.name)?)?;
        rows.sort_unstable_by_key(|(number, ..)| *number);
        let count = chunks.count().ok_or(ErrorKind::OutOfMemory)?;
        for of_file in rows.chunk_by(|(one, ..), (other, ..)| one / RECORDS == other / RECORDS) {
            let file = of_file.first().map_or(0, |(number, ..)| number / RECORDS);
            let first = file * RECORDS;
            let written = panic_guard::catch(|| file_of(of_file, first, RECORDS.min(count - first)));
            let bytes = written.and_then(|bytes| bytes.ok()).ok_or(ErrorKind::OutOfMemory)?;
            to.write(&Name::of(format_args!("{directory}/{}/refs.{file}.parq", chunks.name))?, &bytes)?;
        }
    }
    let all = Value::object([("metadata", metadata), ("record_size", Value::number(RECORDS)?)])?;
    to.write(&below(directory, V2_CONSOLIDATED)?, json::compact(&all)?.as_bytes())
}

/// Removes the files of references of an array.
fn remove_files(storage: &Storage, array: &str) -> Result<()> {
    let mut files = Vec::new();
    storage.list(array, &mut |name, entry| {
        if entry == Entry::Object && name.starts_with("refs.") && name.ends_with(".parq") {
            alloc::push(&mut files, below(array, name)?)?;
        }
        Ok(())
    })?;
    files.iter().try_for_each(|file| storage.remove(file))
}

/// The bytes of a Parquet file that has so many references from a number on, of which these are there.
fn file_of(rows: &[(usize, &str, (u64, u64))], first: usize, count: usize) -> Result<Vec<u8>, ParquetError> {
    let schema = "message references { optional binary path (UTF8); required int64 offset; required int64 size; \
                  optional binary raw; }";
    let (mut paths, mut is_there) = (Vec::new(), vec![0i16; count]);
    let (mut offsets, mut sizes) = (vec![0i64; count], vec![0i64; count]);
    for (number, path, (offset, size)) in rows {
        paths.push(ByteArray::from(*path));
        let row = number - first;
        (is_there[row], offsets[row], sizes[row]) = (1, *offset as i64, *size as i64);
    }
    let properties = WriterProperties::builder().set_compression(Compression::ZSTD(Default::default())).build();
    let mut bytes = Vec::new();
    let schema = Arc::new(parse_message_type(schema)?);
    let mut file = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    column::<ByteArrayType>(&mut group, &paths, Some(&is_there))?;
    column::<Int64Type>(&mut group, &offsets, None)?;
    column::<Int64Type>(&mut group, &sizes, None)?;
    column::<ByteArrayType>(&mut group, &[], Some(&vec![0; count]))?;
    group.close()?;
    file.close()?;
    Ok(bytes)
}

/// Writes the next column of a group.
fn column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, &mut Vec<u8>>,
    values: &[T::T],
    is_there: Option<&[i16]>,
) -> Result<(), ParquetError> {
    let ended = || ParquetError::General("there are fewer columns".to_owned());
    let mut column = group.next_column()?.ok_or_else(ended)?;
    column.typed::<T>().write_batch(values, is_there, None)?;
    column.close()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Memory;
    use crate::{Access, Array, ArrayFormat, Description, ElementType, Hyperslab, create_storage, write_references};

    /// What is written is read again, also of an array with missing chunks and more references than a file has.
    #[test]
    fn what_is_written_is_read_again() {
        let mut refs = String::from(
            r#"{"version":1,"refs":{".zgroup":"{\"zarr_format\":2}","g/x/.zarray":"{\"shape\":[25000],\"chunks\":[1]}",
               "s/.zarray":"{\"shape\":[],\"chunks\":[]}","s/0":["/a/b.nc",7,8]"#,
        );
        for number in (0..10_000).step_by(3).chain(20_005..20_007) {
            refs += &format!(r#","g/x/{number}":["/a/b{}.nc",{number},16]"#, number % 2);
        }
        refs += "}}";
        let storage = Storage::new(Memory::new()).unwrap();
        write(&refs, &storage, "r.parq").unwrap();
        let first = rows_at(&storage, "r.parq/g/x/refs.0.parq");
        assert_eq!(first.len(), RECORDS);
        for (number, row) in first.iter().enumerate() {
            let due = (number % 3 == 0).then(|| format!("/a/b{}.nc", number % 2));
            let part = if due.is_some() { (number as u64, 16) } else { (0, 0) };
            assert_eq!((&row.path, row.part, &row.raw), (&due, part, &None));
        }
        assert!(read_whole(&*storage, "r.parq/g/x/refs.1.parq", 1).unwrap().is_none());
        let last = rows_at(&storage, "r.parq/g/x/refs.2.parq");
        assert_eq!((last.len(), last[5].part, last[7].path.is_none()), (5000, (20_005, 16), true));
        assert_eq!(rows_at(&storage, "r.parq/s/refs.0.parq")[0].part, (7, 8));
        let document = json::read(&read_whole(&*storage, "r.parq/.zmetadata", 1 << 20).unwrap().unwrap()).unwrap();
        assert_eq!(document.get("record_size").and_then(Value::as_usize), Some(RECORDS));
        // Nothing is left of what another call has written.
        let fewer = r#"{"version":1,"refs":{"g/x/.zarray":"{\"shape\":[25000],\"chunks\":[1]}","g/x/1":["/c",0,9]}}"#;
        write(fewer, &storage, "r.parq").unwrap();
        assert_eq!(rows_at(&storage, "r.parq/g/x/refs.0.parq")[1].path.as_deref(), Some("/c"));
        assert!(read_whole(&*storage, "r.parq/g/x/refs.2.parq", 1).unwrap().is_none());
        let nameless = r#"{"version":1,"refs":{".zarray":"{\"shape\":[],\"chunks\":[]}"}}"#;
        assert!(matches!(write(nameless, &storage, "r").unwrap_err().kind(), ErrorKind::Unsupported(_)));
    }

    #[test]
    #[cfg_attr(miri, ignore = "it opens directories")]
    fn references_in_a_directory_are_replaced() {
        let directory = crate::object::testing::Temporary::new("parquet-twice");
        let arrays = Storage::new(Memory::new()).unwrap();
        let description = Description::new(&[4], ElementType::Int).with_format(ArrayFormat::ZarrV2).with_codecs(&[]);
        Array::create_in(&arrays, "v", &description).unwrap().write(&Hyperslab::all(), &[1, 2, 3, 4]).unwrap();
        let to = create_storage(&directory).unwrap();
        for _ in 0..2 {
            write_references(&arrays, "", "/a", &to, "r.parq").unwrap();
            assert_eq!(rows_at(&to, "r.parq/v/refs.0.parq")[0].path.as_deref(), Some("/a/v/0"));
        }
    }

    fn rows_at(storage: &Storage, name: &str) -> Vec<Row> {
        rows(read_whole(&**storage, name, 1 << 20).unwrap().unwrap(), RECORDS, limit(1 << 24)).unwrap()
    }

    #[test]
    fn chunks_have_numbers_in_row_major_order() {
        let chunks = Chunks::of("a", r#"{"shape":[5,7],"chunks":[2,3]}"#).unwrap();
        assert_eq!(chunks.count(), Some(9));
        for number in 0..9 {
            assert_eq!(chunks.number(&chunks.key(number).unwrap()), Some(number));
        }
        assert_eq!((&*chunks.key(5).unwrap(), chunks.number("1.2")), ("1.2", Some(5)));
        for none in ["", "1", "1.2.0", "3.0", "0.3", "1.-1", ".zarray", "1/2", "1.2 "] {
            assert_eq!(chunks.number(none), None, "{none}");
        }
        let scalar = Chunks::of("a", r#"{"shape":[],"chunks":[]}"#).unwrap();
        assert_eq!((scalar.number("0"), scalar.number("1"), &*scalar.key(0).unwrap()), (Some(0), None, "0"));
        assert!(Chunks::of("a", r#"{"shape":[5],"chunks":[0]}"#).is_err());
        assert!(Chunks::of("a", r#"{"shape":[5],"chunks":[]}"#).is_err());
    }

    /// Chunks that would not be found are no missing ones.
    #[test]
    fn arrays_whose_chunks_have_other_keys_are_refused() {
        let array = r#"{"shape":[5,7],"chunks":[2,3],"dimension_separator":"/"}"#;
        for (name, array) in [("x/.zarray", array), (".zarray", "{}"), ("x/zarr.json", "{}"), ("zarr.json", "{}")] {
            let document = format!(r#"{{"record_size":10,"metadata":{{"{name}":{array}}}}}"#);
            let storage = Storage::new(Memory::new()).unwrap();
            let place = OwnedOrigin::Directory(std::env::temp_dir());
            let error = open(&storage, &json::read(document.as_bytes()).unwrap(), place).err().unwrap();
            assert!(matches!(error.kind(), ErrorKind::Unsupported(_)) && error.about() == name, "{error}");
        }
    }

    #[test]
    fn what_is_no_parquet_file_is_refused() {
        for bytes in [&b""[..], b"PAR1", b"PAR1PAR1", b"PAR1\xff\xff\xff\xffPAR1", &[b'x'; 100]] {
            let error = rows(bytes.to_vec(), 10, limit(1 << 20)).err().unwrap();
            assert!(matches!(error.kind(), ErrorKind::Metadata(_)), "{error}");
        }
    }

    fn limit(bytes: usize) -> Limit {
        crate::MemoryLimits::default().with_metadata_bytes(bytes).metadata()
    }

    /// A small file may tell the same long path in each row.
    #[test]
    fn rows_are_within_the_limit() {
        let path = format!("/{}", "x".repeat(2000));
        let mut refs = String::from(r#"{"version":1,"refs":{"x/.zarray":"{\"shape\":[2000],\"chunks\":[1]}""#);
        (0..2000).for_each(|number| refs += &format!(r#","x/{number}":["{path}",{number},1]"#));
        let storage = Storage::new(Memory::new()).unwrap();
        write(&(refs + "}}"), &storage, "r").unwrap();
        let file = read_whole(&*storage, "r/x/refs.0.parq", 1 << 20).unwrap().unwrap();
        assert!(file.len() < 100_000, "{}", file.len());
        let error = rows(file.clone(), 2000, limit(2 << 20)).err().unwrap();
        assert!(matches!(error.kind(), ErrorKind::Limit { name: "metadata_bytes", .. }), "{error}");
        assert_eq!(rows(file, 2000, limit(8 << 20)).unwrap().len(), 2000);
    }

    /// A file that ends early, or of which a byte is another one, never ends the process.
    #[test]
    fn a_file_that_is_changed_is_read_or_refused() {
        let file = include_bytes!("../../../tests/vectors/refs.parq");
        let due = rows(file.to_vec(), 10, limit(1 << 20)).unwrap();
        let first = due.first().unwrap();
        assert_eq!((first.path.as_deref(), first.part, first.raw.as_deref()), (Some("data/a.nc"), (16817, 130), None));
        assert_eq!((due.len(), due[1].raw.as_deref(), due[2].path.as_deref()), (3, Some(&b"\x01\x02"[..]), None));
        assert!(rows(file.to_vec(), 2, limit(1 << 20)).is_err() && rows(file.to_vec(), 10, limit(10)).is_err());
        for len in 0..file.len() {
            assert!(rows(file[..len].to_vec(), 10, limit(1 << 20)).is_err(), "{len}");
        }
        for at in 0..file.len() {
            for bit in 0..8 {
                let mut changed = file.to_vec();
                changed[at] ^= 1 << bit;
                let _ = rows(changed, 10, limit(1 << 20));
            }
        }
    }

    /// Opens a directory with an array of one file of references, lists it and reads what is small of it.
    fn read_everything(metadata: &[u8], file: &[u8]) -> Result<Vec<i16>> {
        let directory = Storage::new(Memory::new())?;
        directory.write("x/refs.0.parq", file)?;
        let storage = open(&directory, &json::read(metadata)?, OwnedOrigin::Directory(std::env::temp_dir()))?;
        for node in crate::list(&storage, "", true)? {
            let _ = storage.list(node.name(), &mut |_, _| Ok(()));
        }
        let array = Array::open_in(&storage, "x", Access::Read)?;
        if array.variable().dimensions().first().is_some_and(|time| time.len() < 1000) {
            let _ = array.read::<i16>(&Hyperslab::all());
        }
        array.read(&Hyperslab::new(&[1], &[1]))
    }

    /// Documents and files that end early or are changed are read or refused, in little time.
    #[test]
    fn a_directory_that_is_changed_is_read_or_refused() {
        let metadata = br#"{"record_size":3,"metadata":{".zgroup":{"zarr_format":2},"x/.zarray":{"zarr_format":2,
            "shape":[3],"chunks":[1],"dtype":"<i2","compressor":null,"filters":null,"fill_value":0,"order":"C"}}}"#;
        let file = include_bytes!("../../../tests/vectors/refs.parq");
        assert_eq!(read_everything(metadata, file).unwrap(), [513]);
        for len in 0..metadata.len() {
            assert!(read_everything(&metadata[..len], file).is_err(), "{len}");
        }
        for bit in 0..8 * metadata.len() {
            let mut changed = *metadata;
            changed[bit / 8] ^= 1 << (bit % 8);
            let _ = read_everything(&changed, file);
        }
        for bit in (0..8 * file.len()).step_by(5) {
            let mut changed = *file;
            changed[bit / 8] ^= 1 << (bit % 8);
            let _ = read_everything(metadata, &changed);
        }
        let long = std::str::from_utf8(metadata).unwrap().replace("[3]", "[1000000000000000000]");
        let storage = Storage::new(Memory::new()).unwrap();
        let place = OwnedOrigin::Directory(std::env::temp_dir());
        let storage = open(&storage, &json::read(long.as_bytes()).unwrap(), place).unwrap();
        let error = storage.list("x", &mut |_, _| Ok(())).unwrap_err();
        assert!(error.to_string().contains("1048576 files"), "{error}");
    }
}
