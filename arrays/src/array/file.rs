//! Files that hold several arrays: which formats there are, and how a file of each is opened and listed.
//!
//! A file is known by its first bytes, whatever its name is. Such files are read only. A format is a folder with a
//! [`FileFormat`] and a row in [`FORMATS`].

use super::references;
#[cfg(feature = "cfdb")]
use crate::cfdb::Cfdb;
use crate::dataset::{CFDB_MAGIC, FileFormat, GroupDimension, HDF5_MAGIC, Head, OneNode, Opened, Opener};
use crate::error::{ErrorKind, Result};
#[cfg(feature = "hdf5")]
use crate::hdf5::Hdf5;
use crate::netcdf::Classic;
use crate::object::{ByteRange, ObjectStore, Storage, filled};

/// What reads files of a format, or an error if this build does not include it.
type Reader = std::result::Result<&'static dyn FileFormat, ErrorKind>;

/// A format of files that hold arrays.
#[derive(Clone, Copy)]
pub(super) struct Row {
    /// Its name, in words.
    name: &'static str,
    /// What files begin with: one of these.
    magic: &'static [&'static [u8]],
    format: Reader,
}

const FORMATS: [Row; 3] = [
    Row { name: "netCDF classic", magic: &[b"CDF\x01", b"CDF\x02", b"CDF\x05"], format: Ok(&Classic) },
    Row { name: "cfdb", magic: &[&CFDB_MAGIC], format: CFDB },
    Row { name: "HDF5", magic: &[&HDF5_MAGIC], format: HDF5 },
];

#[cfg(feature = "cfdb")]
const CFDB: Reader = Ok(&Cfdb);
#[cfg(not(feature = "cfdb"))]
const CFDB: Reader = Err(ErrorKind::Unsupported("cfdb files, which this build does not include"));
#[cfg(feature = "hdf5")]
const HDF5: Reader = Ok(&Hdf5);
#[cfg(not(feature = "hdf5"))]
const HDF5: Reader = Err(ErrorKind::Unsupported("HDF5 (netCDF-4) files, which this build does not include"));

/// What a file is.
#[derive(Clone, Copy)]
pub(super) enum FileKind {
    /// A file that holds arrays.
    Arrays(Row),
    /// A zip file: a storage for objects.
    Zip,
    /// A file of references: a storage for objects.
    References,
}

/// What zip files begin with, if nothing is before them.
const ZIP: &[u8] = b"PK";
/// What booklet calls files with values of one length.
const BOOKLET_FIXED: &[u8] = b"\x04\xd3\xb2\x94\xf2\x10\x41\x62\x95\x8d\x04\x00\x73\x8c\x9e\x0a";

/// How many bytes tell what a file is. A few would do, but for a user block of HDF5 that is a JSON text: behind the
/// text it has zeros.
const MAGIC_BYTES: usize = 4096;

impl FileKind {
    /// The format, in words.
    pub(super) fn name(self) -> &'static str {
        match self {
            FileKind::Arrays(row) => row.name,
            FileKind::Zip => "zip",
            FileKind::References => "references",
        }
    }

    /// What an object of a storage is.
    ///
    /// # Errors
    /// `NotFound`, `UnknownFormat`, `Unsupported` for a file that is known but cannot be read, and those of the
    /// storage.
    pub(super) fn of(objects: &dyn ObjectStore, name: &str) -> Result<FileKind> {
        let (bytes, len) = filled(MAGIC_BYTES, |buffer| objects.read(name, ByteRange::At(0), buffer))?;
        FileKind::of_head(objects, &Head { name, bytes, len: len.ok_or(ErrorKind::NotFound("file"))? })
    }

    /// The same of one whose beginning was read.
    fn of_head(objects: &dyn ObjectStore, head: &Head<'_>) -> Result<FileKind> {
        let first = &*head.bytes;
        if let Some(row) = FORMATS.iter().find(|row| row.magic.iter().any(|magic| first.starts_with(magic))) {
            return Ok(FileKind::Arrays(*row));
        }
        if first.starts_with(ZIP) {
            return Ok(FileKind::Zip);
        }
        if first.starts_with(BOOKLET_FIXED) {
            const FIXED: &str = "a booklet file with values of fixed length, which cfdb does not write";
            return Err(ErrorKind::Unsupported(FIXED).into());
        }
        if references::may_be(first.get(..MAGIC_BYTES).unwrap_or(first)) {
            return Ok(FileKind::References);
        }
        for row in FORMATS {
            if let Ok(format) = row.format {
                if format.begins_later(objects, head.name, head.len)? {
                    return Ok(FileKind::Arrays(row));
                }
            }
        }
        Err(ErrorKind::UnknownFormat.into())
    }

    /// Whether it is a file of arrays that its writers lock, if `is_locked`, or one that they do not.
    pub(super) fn has_arrays(self, is_locked: bool) -> bool {
        matches!(self, FileKind::Arrays(Row { format: Ok(format), .. }) if format.is_locked() == is_locked)
    }

    /// Whether an array in such a file may be shorter than an unlimited dimension.
    pub(super) fn has_shorter_arrays(self) -> bool {
        matches!(self, FileKind::Arrays(Row { format: Ok(format), .. }) if format.has_shorter_arrays())
    }

    /// Whether arrays in such a file are stored in chunks.
    pub(super) fn has_chunks(self) -> bool {
        matches!(self, FileKind::Arrays(Row { format: Ok(format), .. }) if format.has_chunks())
    }

    /// What reads files that hold arrays.
    ///
    /// # Errors
    /// `Unsupported` for a file that holds objects, and for a format that this build does not include.
    fn format(self) -> Result<&'static dyn FileFormat> {
        const ZIP: &str = "a zip file that is an object of a storage";
        const REFERENCES: &str = "a file of references that is an object of a storage; open it by its path or URL";
        Ok(match self {
            FileKind::Arrays(row) => row.format?,
            FileKind::Zip => return Err(ErrorKind::Unsupported(ZIP).into()),
            FileKind::References => return Err(ErrorKind::Unsupported(REFERENCES).into()),
        })
    }
}

/// The beginning of a file of a storage, and what the file is.
fn begin<'f>(storage: &Storage, file: &'f str) -> Result<(Head<'f>, FileKind)> {
    let head = Head::read(&**storage, file)?;
    let kind = FileKind::of_head(&**storage, &head)?;
    Ok((head, kind))
}

/// Opens the array of this name in a file of a storage, and tells what the file is.
///
/// # Errors
/// `NotFound`, `NotAnArray` for an empty name, `UnknownFormat`, `Unsupported`, and those of the format and the storage.
pub(super) fn open(storage: &Storage, file: &str, name: &str) -> Result<(Opened, FileKind)> {
    let (head, kind) = begin(storage, file)?;
    if name.is_empty() {
        return Err(ErrorKind::NotAnArray.into());
    }
    Ok((kind.format()?.open(storage, &head, name)?, kind))
}

/// What opens arrays in a file of a storage one after another, whose names are not empty, and what the file is.
///
/// # Errors
/// Those of [`open`].
pub(super) fn opener<'s>(storage: &'s Storage, file: &'s str) -> Result<(Opener<'s>, FileKind)> {
    let (head, kind) = begin(storage, file)?;
    Ok((kind.format()?.opener(storage, head)?, kind))
}

/// Calls `one` for what is in a file of a storage: see [`FileFormat::list`].
///
/// # Errors
/// `NotFound`, `UnknownFormat`, `Unsupported`, and those of `one`, of the format and of the storage.
pub(super) fn list(storage: &Storage, file: &str, name: &str, recursive: bool, one: OneNode<'_>) -> Result<()> {
    let (head, kind) = begin(storage, file)?;
    kind.format()?.list(storage, &head, name, recursive, &mut |node| one(node.with_format(kind.name())))
}

/// The dimensions that a group of a file of a storage defines. An empty name is the file itself.
///
/// # Errors
/// `NotFound`, `UnknownFormat`, `Unsupported`, and those of the format and the storage.
pub(super) fn dimensions(storage: &Storage, file: &str, group: &str) -> Result<Vec<GroupDimension>> {
    let (head, kind) = begin(storage, file)?;
    kind.format()?.dimensions(storage, &head, group)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Memory;
    use crate::{Access, Array};

    #[test]
    fn files_are_known_by_their_first_bytes() {
        let memory = Memory::new();
        let kind = |bytes: &[u8]| {
            memory.write("f", bytes).unwrap();
            FileKind::of(&memory, "f").map(FileKind::name)
        };
        assert_eq!(kind(b"PK\x05\x06").unwrap(), "zip");
        for version in [1, 2, 5] {
            assert_eq!(kind(&[b'C', b'D', b'F', version, 0]).unwrap(), "netCDF classic");
        }
        for unknown in [&b"CDF\x03"[..], b"CDF", b"", b"PDF-"] {
            assert_eq!(kind(unknown).unwrap_err().kind(), ErrorKind::UnknownFormat);
        }
        assert_eq!(kind(b"\x89HDF\r\n\x1a\n\0").unwrap(), "HDF5");
        assert_eq!(kind(b" \n{\"version\": 1}").unwrap(), "references");
        #[cfg(feature = "hdf5")]
        for len in [500, 512, 1000] {
            let text = format!("{{{}}}", " ".repeat(len - 2));
            let block = [text.as_bytes(), &vec![0; len.next_power_of_two() - len]].concat();
            assert_eq!(kind(&[&block[..], b"\x89HDF\r\n\x1a\n\0"].concat()).unwrap(), "HDF5", "{len}");
        }
        assert_eq!(FileKind::of(&memory, "no").err().unwrap().kind(), ErrorKind::NotFound("file"));
    }

    #[test]
    fn a_file_is_only_read() {
        let storage = Storage::new(Memory::new()).unwrap();
        storage.write("a/f", b"CDF\x01").unwrap();
        let file = storage.file("a/f").unwrap();
        assert_eq!(Array::open_in(&file, "v", Access::Write).err().unwrap().kind(), ErrorKind::ReadOnly);
        assert_eq!(Array::open_in(&file, "", Access::Read).err().unwrap().kind(), ErrorKind::NotAnArray);
        let description = crate::Description::new(&[4], crate::ElementType::Int);
        assert_eq!(Array::create_in(&file, "v", &description).err().unwrap().kind(), ErrorKind::ReadOnly);
        assert!(storage.file("../f").is_err());
    }

    #[cfg(not(feature = "cfdb"))]
    #[test]
    fn a_format_that_was_left_out_is_named() {
        let storage = Storage::new(Memory::new()).unwrap();
        storage.write("f", &CFDB_MAGIC).unwrap();
        let file = storage.file("f").unwrap();
        let words = "not supported: cfdb files, which this build does not include";
        assert_eq!(crate::list(&file, "", true).unwrap_err().to_string(), words);
        assert_eq!(Array::open_in(&file, "v", Access::Read).err().unwrap().to_string(), format!("v: {words}"));
    }

    #[test]
    fn files_that_cannot_be_read_are_named() {
        let storage = Storage::new(Memory::new()).unwrap();
        let words = |bytes: &[u8]| {
            storage.write("f", bytes).unwrap();
            let file = storage.file("f").unwrap();
            let listed = crate::list(&file, "", true).unwrap_err().to_string();
            assert_eq!(Array::open_in(&file, "v", Access::Read).err().unwrap().to_string(), format!("v: {listed}"));
            listed
        };
        assert_eq!(words(b"PK\x03\x04"), "not supported: a zip file that is an object of a storage");
        let fixed = "not supported: a booklet file with values of fixed length, which cfdb does not write";
        assert_eq!(words(BOOKLET_FIXED), fixed);
    }
}
