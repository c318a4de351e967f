//! Files that hold several arrays: which formats there are, and how a file of each is opened and listed.
//!
//! A file is known by its first bytes, whatever its name is. Such files are read only. A format has a module with two
//! functions: `open` gives an array of a file as an [`Opened`], and `list` tells the [`Node`]s that are in it.

use super::references;
use crate::alloc::Scratch;
use crate::buffer::Buffer;
#[cfg(feature = "cfdb")]
use crate::cfdb;
use crate::dataset::{CFDB_MAGIC, GroupDimension, HDF5_MAGIC, Node, Opened};
use crate::error::{Error, ErrorKind, Result};
#[cfg(feature = "hdf5")]
use crate::hdf5;
use crate::netcdf;
use crate::object::{ByteRange, ObjectStore, Storage};

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    /// A zip file: a storage for objects.
    Zip,
    /// A netCDF classic file, of any of its formats.
    Classic,
    /// A cfdb file.
    Cfdb,
    /// An HDF5 file, as netCDF-4 writes.
    Hdf5,
    /// A file of references: a storage for objects.
    References,
}

/// What files begin with.
const MAGIC: [(FileKind, &[u8]); 6] = [
    (FileKind::Zip, b"PK"),
    (FileKind::Classic, b"CDF\x01"),
    (FileKind::Classic, b"CDF\x02"),
    (FileKind::Classic, b"CDF\x05"),
    (FileKind::Cfdb, &CFDB_MAGIC),
    (FileKind::Hdf5, &HDF5_MAGIC),
];
/// What booklet calls files with values of one length.
const BOOKLET_FIXED: &[u8] = b"\x04\xd3\xb2\x94\xf2\x10\x41\x62\x95\x8d\x04\x00\x73\x8c\x9e\x0a";

/// How many bytes tell what a file is.
const MAGIC_BYTES: usize = 16;

impl FileKind {
    /// The format, in words.
    pub(super) fn name(self) -> &'static str {
        match self {
            FileKind::Zip => "zip",
            FileKind::Classic => "netCDF classic",
            FileKind::Cfdb => "cfdb",
            FileKind::Hdf5 => "HDF5",
            FileKind::References => "references",
        }
    }

    /// What an object of a storage is.
    ///
    /// # Errors
    /// `NotFound`, `UnknownFormat`, `Unsupported` for a file that is known but cannot be read, and those of the
    /// storage.
    pub(super) fn of(objects: &dyn ObjectStore, name: &str) -> Result<FileKind> {
        let mut scratch = Scratch::EMPTY;
        let mut buffer = Buffer::new(scratch.room(MAGIC_BYTES)?);
        let Some(len) = objects.read(name, ByteRange::At(0), &mut buffer)? else {
            return Err(ErrorKind::NotFound("file").into());
        };
        let first = buffer.filled();
        match MAGIC.iter().find(|(_, magic)| first.starts_with(magic)) {
            Some((kind, _)) => Ok(*kind),
            None if first.starts_with(BOOKLET_FIXED) => {
                Err(ErrorKind::Unsupported("a booklet file with values of fixed length, which cfdb does not write")
                    .into())
            }
            None if references::may_be(first) => Ok(FileKind::References),
            None if has_user_block(objects, name, len)? => Ok(FileKind::Hdf5),
            None => Err(ErrorKind::UnknownFormat.into()),
        }
    }
}

#[cfg(feature = "hdf5")]
use hdf5::has_user_block;

#[cfg(not(feature = "hdf5"))]
fn has_user_block(_: &dyn ObjectStore, _: &str, _: u64) -> Result<bool> {
    Ok(false)
}

const REFERENCES_WITHIN: ErrorKind =
    ErrorKind::Unsupported("a file of references that is an object of a storage; open it by its path or URL");
const ZIP_WITHIN: ErrorKind = ErrorKind::Unsupported("a zip file that is an object of a storage");
#[cfg(not(feature = "cfdb"))]
const CFDB: ErrorKind = ErrorKind::Unsupported("cfdb files, which this build does not include");
#[cfg(not(feature = "hdf5"))]
const HDF5: ErrorKind = ErrorKind::Unsupported("HDF5 (netCDF-4) files, which this build does not include");

/// Opens the array of this name in a file of a storage, and tells what the file is.
///
/// # Errors
/// `NotFound`, `NotAnArray` for an empty name, `UnknownFormat`, `Unsupported`, and those of the format and the storage.
pub(super) fn open(storage: &Storage, file: &str, name: &str) -> Result<(Opened, FileKind)> {
    let kind = FileKind::of(&**storage, file)?;
    if name.is_empty() {
        return Err(ErrorKind::NotAnArray.into());
    }
    let opened = match kind {
        FileKind::Classic => netcdf::open(storage, file, name)?,
        #[cfg(feature = "cfdb")]
        FileKind::Cfdb => cfdb::open(storage, file, name)?,
        #[cfg(not(feature = "cfdb"))]
        FileKind::Cfdb => return Err(CFDB.into()),
        #[cfg(feature = "hdf5")]
        FileKind::Hdf5 => hdf5::open(storage, file, name)?,
        #[cfg(not(feature = "hdf5"))]
        FileKind::Hdf5 => return Err(HDF5.into()),
        FileKind::Zip => return Err(ZIP_WITHIN.into()),
        FileKind::References => return Err(REFERENCES_WITHIN.into()),
    };
    Ok((opened, kind))
}

/// Calls `one` for what is in a file of a storage: if `name` is empty for the file itself, which is a group, and then
/// for its arrays; else for the array of that name.
///
/// # Errors
/// `NotFound`, `UnknownFormat`, `Unsupported`, and those of `one`, of the format and of the storage.
pub(super) fn list(
    storage: &Storage,
    file: &str,
    name: &str,
    recursive: bool,
    one: &mut dyn FnMut(Node) -> Result<()>,
) -> Result<()> {
    let _ = recursive;
    let kind = FileKind::of(&**storage, file)?;
    let one = &mut |node: Node| one(node.with_format(kind.name()));
    match kind {
        FileKind::Classic => netcdf::list(storage, file, name, one),
        #[cfg(feature = "cfdb")]
        FileKind::Cfdb => cfdb::list(storage, file, name, one),
        #[cfg(not(feature = "cfdb"))]
        FileKind::Cfdb => Err(CFDB.into()),
        #[cfg(feature = "hdf5")]
        FileKind::Hdf5 => hdf5::list(storage, file, name, recursive, one),
        #[cfg(not(feature = "hdf5"))]
        FileKind::Hdf5 => Err(HDF5.into()),
        FileKind::Zip => Err(ZIP_WITHIN.into()),
        FileKind::References => Err(REFERENCES_WITHIN.into()),
    }
}

/// The dimensions that a group of a file of a storage defines. An empty name is the file itself.
///
/// # Errors
/// `NotFound`, `UnknownFormat`, `Unsupported`, and those of the format and the storage.
pub(super) fn dimensions(storage: &Storage, file: &str, group: &str) -> Result<Vec<GroupDimension>> {
    let is_one_group = || if group.is_empty() { Ok(()) } else { Err(Error::from(ErrorKind::NotFound("group"))) };
    match FileKind::of(&**storage, file)? {
        FileKind::Classic => is_one_group().and_then(|()| netcdf::dimensions_of_file(storage, file)),
        #[cfg(feature = "cfdb")]
        FileKind::Cfdb => is_one_group().map(|()| Vec::new()),
        #[cfg(not(feature = "cfdb"))]
        FileKind::Cfdb => Err(CFDB.into()),
        #[cfg(feature = "hdf5")]
        FileKind::Hdf5 => hdf5::dimensions(storage, file, group),
        #[cfg(not(feature = "hdf5"))]
        FileKind::Hdf5 => Err(HDF5.into()),
        FileKind::Zip => Err(ZIP_WITHIN.into()),
        FileKind::References => Err(REFERENCES_WITHIN.into()),
    }
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
            FileKind::of(&memory, "f")
        };
        assert_eq!(kind(b"PK\x05\x06").unwrap(), FileKind::Zip);
        for version in [1, 2, 5] {
            assert_eq!(kind(&[b'C', b'D', b'F', version, 0]).unwrap(), FileKind::Classic);
        }
        for unknown in [&b"CDF\x03"[..], b"CDF", b"", b"PDF-"] {
            assert_eq!(kind(unknown).unwrap_err().kind(), ErrorKind::UnknownFormat);
        }
        assert_eq!(kind(b"\x89HDF\r\n\x1a\n\0").unwrap(), FileKind::Hdf5);
        assert_eq!(FileKind::of(&memory, "no").unwrap_err().kind(), ErrorKind::NotFound("file"));
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
