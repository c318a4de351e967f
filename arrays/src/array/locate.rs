//! From a path to a storage for objects.

use std::path::Path;

use super::documents;
use super::file::FileKind;
use super::joined::{self, Nesting};
#[cfg(feature = "parquet")]
use super::parquet;
#[cfg(not(feature = "network"))]
use super::references::WITHOUT_NETWORK;
use super::references::{self, Origin, OwnedOrigin};
use crate::error::{Error, ErrorKind, Result};
use crate::json;
use crate::limits::MemoryLimits;
#[cfg(feature = "cfdb")]
use crate::object::LockedFile;
#[cfg(feature = "network")]
use crate::object::{Content, Network, Service};
use crate::object::{Directory, ObjectStore, OneFile, Storage, Url, paths, read_text};
#[cfg(feature = "zip")]
use crate::object::{PrefixedStorage, Zip, only_prefix};

/// Opens the storage at a path: a directory, a zip file, or a [file that holds arrays](Storage::file). The first bytes
/// of a file determine its kind. If all entries of a zip file are in one directory, such as the one that was packed,
/// names of arrays and groups may begin with that directory or not, unless it contains an entry of the same name.
///
/// A file of references (JSON, as kerchunk writes it) is a storage, too, and so is a directory of them with a name that
/// ends with `.parq` or `.parquet` (with the feature `parquet`): its objects are parts of other files. It may
/// lead to any file that this process may read, and to any URL; one at a URL only to URLs. Relative paths are relative
/// to where the file of references is.
///
/// So is a file that names [joined](crate::concat()) ones, of [`concat_document`](crate::concat_document).
///
/// netCDF's form of a path, `file://PATH#mode=...`, is also accepted.
///
/// With the feature `network`, the path may be a URL that begins with `http://`, `https://`, `s3://`, `gs://` or
/// `az://`: the objects below it, or a file. If its name does not end with `.zarr`, a request determines which.
///
/// # Errors
/// `NotFound`, `UnknownFormat` for any other file, `Unsupported` for one that is known but cannot be read,
/// `OutOfMemory`, and those of the system.
pub fn open_storage(path: &Path) -> Result<Storage> {
    open_within(path, &mut Nesting::default())
}

/// As [`open_storage`], as one of the joined storages that these documents name.
pub(super) fn open_within(path: &Path, nesting: &mut Nesting) -> Result<Storage> {
    if let Some(url) = Url::of(path)? {
        let url = Url { is_of_document: nesting.is_of_document(), ..url };
        return at_url(&url, nesting).map_err(|error| error.in_object(url.text));
    }
    let path = without_scheme(path);
    let is_directory = paths::is_directory(path).map_err(|error| {
        let is_absent = error.kind() == std::io::ErrorKind::NotFound;
        let error = if is_absent { ErrorKind::NotFound("file or directory").into() } else { Error::from(error) };
        error.in_object(path.display())
    })?;
    if !is_directory {
        return file_at(path, nesting);
    }
    directory_of(Storage::new(Directory::open(path)?)?, path, || {
        let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Ok(OwnedOrigin::Directory(std::fs::canonicalize(above)?))
    })
}

/// Whether a path is a URL of an object store or HTTP server, whether or not this build can open it.
#[doc(hidden)]
pub fn is_url(path: &Path) -> bool {
    !matches!(Url::of(path), Ok(None))
}

#[cfg(feature = "network")]
fn at_url(url: &Url<'_>, nesting: &mut Nesting) -> Result<Storage> {
    let below = || {
        let storage = Storage::new(Network::open(url)?)?.at_url();
        directory_of(storage, Path::new(url.text.trim_end_matches('/')), || {
            let above = url.text.trim_end_matches('/').rsplit_once('/').map_or("", |(above, _)| above);
            Ok(OwnedOrigin::Below(format!("{above}/")))
        })
    };
    let Some((network, file)) = Network::open_file(url)? else { return below() };
    // A zip file has its directory at its end, and may have anything before it.
    let is_zip = url.content == Content::Zip || file.ends_with(".zip");
    let opened = match if is_zip { Ok(FileKind::Zip) } else { FileKind::of(&network, &file) } {
        Ok(FileKind::Zip) => zip_in(network, &file),
        Ok(FileKind::References) => {
            let begin = url.text.strip_suffix(&*file).or(url.text.rsplit_once('/').map(|(begin, _)| begin));
            let origin = Origin::Below(begin.unwrap_or_default());
            return references(&network, &file, origin, nesting);
        }
        Ok(_) => return Storage::new(network)?.file(&file),
        Err(error) => Err(error),
    };
    match opened {
        // Servers that have no object of this name say so in many ways, and some tell in a page what is below it.
        Err(error)
            if url.content == Content::Any
                && matches!(error.kind(), ErrorKind::NotFound(_) | ErrorKind::UnknownFormat | ErrorKind::Refused) =>
        {
            below()
        }
        opened => opened,
    }
}

#[cfg(feature = "network")]
fn for_url(url: &Url<'_>) -> Result<Storage> {
    if url.service == Service::Http {
        return Err(ErrorKind::Unsupported("writing to an HTTP server; HTTP is read-only").into());
    }
    if url.content == Content::File {
        return Err(ErrorKind::ReadOnly.into());
    }
    Storage::new(Network::open(url)?)
}

#[cfg(not(feature = "network"))]
fn at_url(_: &Url<'_>, _: &mut Nesting) -> Result<Storage> {
    Err(WITHOUT_NETWORK.into())
}

#[cfg(not(feature = "network"))]
fn for_url(_: &Url<'_>) -> Result<Storage> {
    Err(WITHOUT_NETWORK.into())
}

/// What a directory of this path is: itself or, if its name says that it has references in Parquet files, those.
fn directory_of(storage: Storage, path: &Path, origin: impl FnOnce() -> Result<OwnedOrigin>) -> Result<Storage> {
    if !references::may_be_parquet(path) {
        return Ok(storage);
    }
    let limit = storage.memory_limits().metadata();
    let Some(text) = read_text(&*storage, documents::V2_CONSOLIDATED, limit)? else { return Ok(storage) };
    let document = json::read_within(&text, limit)?;
    if document.get("record_size").is_none() {
        return Ok(storage);
    }
    #[cfg(feature = "parquet")]
    return parquet::open(&storage, &document, origin()?);
    #[cfg(not(feature = "parquet"))]
    {
        let _ = origin;
        Err(Error::from(references::WITHOUT_PARQUET).in_object(path.display()))
    }
}

/// The storage that a file is, or one that was opened by its path is now.
pub(super) fn file_at(path: &Path, nesting: &mut Nesting) -> Result<Storage> {
    let file = OneFile::open(path)?;
    let identity = file.identity();
    let storage = match FileKind::of(&file, OneFile::NAME) {
        Ok(FileKind::Zip) => zip_at(path),
        Ok(FileKind::References) => {
            references_at(path, &file, nesting).map_err(|error| error.in_object(path.display()))
        }
        #[cfg(feature = "cfdb")]
        Ok(kind) if kind.has_arrays(true) => {
            let file = LockedFile::open(path).map_err(|error| error.in_object(path.display()))?;
            Storage::new(file)?.file(OneFile::NAME)
        }
        Ok(_) => Storage::new(file)?.file(OneFile::NAME),
        // A zip file has its directory at its end, and may have anything before it.
        Err(error) if error.kind() == ErrorKind::UnknownFormat => zip_at(path),
        Err(error) => Err(error.in_object(path.display())),
    };
    storage?.at_path(path, identity)
}

/// The objects of a file of references, which are in other files.
fn references_at(path: &Path, file: &OneFile, nesting: &mut Nesting) -> Result<Storage> {
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
    let directory = std::fs::canonicalize(directory.unwrap_or(Path::new(".")))?;
    references(file, OneFile::NAME, Origin::Directory(&directory), nesting)
}

fn references(objects: &dyn ObjectStore, name: &str, origin: Origin<'_>, nesting: &mut Nesting) -> Result<Storage> {
    let limit = MemoryLimits::default().metadata();
    let text = read_text(objects, name, limit)?.ok_or(ErrorKind::NotFound("file"))?;
    let document = json::read_within(&text, limit)?;
    match joined::of_document(&document, origin, nesting)? {
        Some(joined) => Ok(joined),
        None => Storage::new(references::read(&document, origin)?),
    }
}

/// Opens a storage at a path in which to create arrays: a directory, which is created if nothing exists there.
///
/// # Errors
/// Those of [`open_storage`]; `Unsupported` for a zip file that does not exist: see
/// [`ZipWriter`](crate::object::ZipWriter).
pub fn create_storage(path: &Path) -> Result<Storage> {
    if let Some(url) = Url::of(path)? {
        return for_url(&url).map_err(|error| error.in_object(url.text));
    }
    let directory = without_scheme(path);
    if paths::is_there(directory).map_err(|error| Error::from(error).in_object(path.display()))? {
        return open_storage(path);
    }
    if directory.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("zip")) {
        const HOW: &str = "creating a zip file by its path; create a storage that writes one";
        return Err(ErrorKind::Unsupported(HOW).in_object(path.display()));
    }
    Storage::new(Directory::create(directory)?)
}

#[cfg(feature = "zip")]
fn zip_at(path: &Path) -> Result<Storage> {
    of_zip(Zip::open(path)?).map_err(|error| error.in_object(path.display()))
}

#[cfg(all(feature = "zip", feature = "network"))]
fn zip_in(network: Network, file: &str) -> Result<Storage> {
    of_zip(Zip::within(network, file)?)
}

#[cfg(all(not(feature = "zip"), feature = "network"))]
fn zip_in(_: Network, _: &str) -> Result<Storage> {
    Err(ErrorKind::Unsupported("zip files, which this build does not include").into())
}

/// The objects in a zip file, without the directory that all of them are in.
#[cfg(feature = "zip")]
fn of_zip<O: ObjectStore + 'static>(zip: Zip<O>) -> Result<Storage> {
    match only_prefix(&zip)? {
        Some(prefix) => Storage::new(PrefixedStorage::new(zip, &prefix)?.with_whole_names()?),
        None => Storage::new(zip),
    }
}

#[cfg(not(feature = "zip"))]
fn zip_at(path: &Path) -> Result<Storage> {
    Err(ErrorKind::UnknownFormat.in_object(path.display()))
}

/// The path in a name of netCDF's.
fn without_scheme(path: &Path) -> &Path {
    const MODE: &[u8] = b"#mode=";
    // Only ASCII is looked for, so a path in any encoding is cut between characters.
    let Some(rest) = path.as_os_str().as_encoded_bytes().strip_prefix(b"file://") else { return path };
    let end = rest.windows(MODE.len()).rposition(|window| window == MODE).unwrap_or(rest.len());
    of_bytes(&rest[..end]).unwrap_or(path)
}

/// The path that these bytes are; `None` where that takes UTF-8, and they are none.
fn of_bytes(bytes: &[u8]) -> Option<&Path> {
    #[cfg(unix)]
    {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;
        Some(Path::new(OsStr::from_bytes(bytes)))
    }
    #[cfg(not(unix))]
    {
        let text = std::str::from_utf8(bytes).ok()?;
        // Before a drive of Windows the slash is not part of the path.
        let has_drive = matches!(bytes, [b'/', drive, b':', ..] if drive.is_ascii_alphabetic());
        Some(Path::new(if cfg!(windows) && has_drive { &text[1..] } else { text }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A build without network storages says that it has none, and does not look for a file or make a directory.
    #[cfg(not(feature = "network"))]
    #[test]
    fn urls_are_refused_by_name() {
        for url in ["s3://bucket/a.zarr", "https://host/a.nc", "gs://bucket/a", "az://container/a#mode=zarr"] {
            let path = Path::new(url);
            assert!(is_url(path));
            for storage in [open_storage(path), create_storage(path)] {
                let error = storage.err().unwrap().to_string();
                let url = url.trim_end_matches("#mode=zarr");
                let words = format!("{url}: not supported: URLs, which this build does not include; build with");
                assert!(error.starts_with(&words), "{error}");
            }
        }
        assert!(!is_url(Path::new("a/s3:/b")));
    }

    #[test]
    fn netcdf_names_are_paths() {
        for (name, path) in [
            ("/a/b.zarr", "/a/b.zarr"),
            ("file:///a/b.zarr#mode=nczarr,file", "/a/b.zarr"),
            ("file:///a/b#c", "/a/b#c"),
            ("a#mode=zarr", "a#mode=zarr"),
            ("file:///c:/a#mode=zarr", if cfg!(windows) { "c:/a" } else { "/c:/a" }),
        ] {
            assert_eq!(without_scheme(Path::new(name)), Path::new(path));
        }
    }

    #[cfg(unix)]
    #[test]
    fn paths_need_not_be_utf8() {
        let path = |bytes| of_bytes(bytes).unwrap();
        assert_eq!(without_scheme(path(b"file:///gr\xfc\xdfe.zarr#mode=zarr")), path(b"/gr\xfc\xdfe.zarr"));
        assert_eq!(without_scheme(path(b"/\xff#mode=zarr")), path(b"/\xff#mode=zarr"));
    }
}
