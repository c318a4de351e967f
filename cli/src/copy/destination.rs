//! Where the new array is to be. It is made under another name, and gets its own once it is complete. Nothing that is
//! there is changed before, and nothing is replaced unless that was decided before the first element was copied. At a
//! URL, where nothing can be renamed, it has its own name from the beginning, and nothing is replaced.

use std::path::{Path, PathBuf};
use std::{fs, io};

use nczchunk::object::{Directory, Storage, ZipWriter};
use nczchunk::{ArrayFormat, ErrorKind, Node};

use crate::failure::{Failure, Result, words};
use crate::output::{Partial, partial};

use super::staging::{self, Changes, Staging};

/// What the user wishes.
pub(super) struct Wish {
    /// The name of the new array in a group, if one is known.
    pub name: Option<String>,
    /// Whether the array is in a group, also if it is the only one there.
    pub is_named: bool,
    /// Whether an array that is there is replaced.
    pub force: bool,
    pub format: ArrayFormat,
}

/// A storage for the new array.
pub(super) enum Destination {
    /// Objects at a URL.
    Storage { storage: Storage, name: String },
    /// A zip file that is new, or replaces one that has an array in it.
    Zip { storage: Storage, name: String, partial: Partial, path: PathBuf, replaces: bool },
    /// A directory that is new, or replaces one that is an array or is empty.
    Whole { partial: Partial, name: String, path: PathBuf, replaces: bool },
    /// An array in a group that is there. The directory has it by its whole name until then.
    Within { group: PathBuf, name: String, format: ArrayFormat, partial: Partial, replaces: bool },
}

impl Destination {
    /// The destination at a path.
    pub(super) fn new(path: &Path, wish: &Wish) -> Result<Self> {
        let whole = |name: String, replaces: bool| {
            let partial = Partial::new(partial(path)?);
            Ok(Destination::Whole { partial, name, path: path.to_owned(), replaces })
        };
        if nczchunk::is_url(path) {
            return Destination::url(path, wish);
        }
        if is_zip(path) {
            let is_there = path.symlink_metadata().is_ok();
            if is_there && !wish.force {
                return Err(refused(path, "this exists; --force replaces it if it is a zip file with an array"));
            }
            return Destination::zip(path, wish, is_there);
        }
        let Ok(metadata) = path.symlink_metadata() else {
            check_parent(path)?;
            return whole(wish.name_of_new()?, false);
        };
        if !metadata.is_dir() && !path.is_dir() {
            return Err(refused(path, "this is a file, not a directory"));
        }
        match nczchunk::open_storage(path).and_then(|storage| nczchunk::list(&storage, "", false)).as_deref() {
            Ok([first, ..]) if first.is_group() => Destination::within(path, wish),
            Ok(_) if wish.is_named => Err(refused(path, "this is an array, not a group")),
            Ok(_) if wish.force => {
                check_replaced(path)?;
                whole(String::new(), true)
            }
            Ok(_) => Err(refused(path, "an array exists here; --force replaces it")),
            Err(error) if error.kind() == ErrorKind::UnknownFormat => match is_empty(path)? {
                true => whole(wish.name_of_new()?, false),
                false => Err(refused(path, "this directory is not empty and not a group")),
            },
            Err(error) => Err(error.clone().into()),
        }
    }

    /// The destination of a whole group, which is always a new one.
    pub(super) fn of_group(path: &Path, wish: &Wish) -> Result<Self> {
        if nczchunk::is_url(path) {
            return Destination::url(path, wish);
        }
        check_parent(path)?;
        if path.symlink_metadata().is_ok() && (is_zip(path) || !(path.is_dir() && is_empty(path)?)) {
            return Err(refused(path, "this exists; a whole group can only be copied to a new directory or zip file"));
        }
        if is_zip(path) {
            return Destination::zip(path, wish, false);
        }
        let partial = Partial::new(partial(path)?);
        Ok(Destination::Whole { partial, name: String::new(), path: path.to_owned(), replaces: false })
    }

    fn zip(path: &Path, wish: &Wish, replaces: bool) -> Result<Self> {
        check_parent(path)?;
        if replaces {
            check_replaced(path)?;
        }
        let (name, partial) = (wish.name_of_new()?, Partial::new(partial(path)?));
        let storage = Storage::new(ZipWriter::create(partial.path())?)?;
        Ok(Destination::Zip { storage, name, partial, path: path.to_owned(), replaces })
    }

    /// An array below a URL, or at it. If something is there, to create it fails.
    fn url(path: &Path, wish: &Wish) -> Result<Self> {
        if wish.force {
            return Err(refused(path, "--force cannot replace an array at a URL; remove the array first"));
        }
        let storage = nczchunk::create_storage(path)?;
        Ok(Destination::Storage { storage, name: wish.name_of_new()? })
    }

    /// The storage in which the array is to be created, or all of a group, before it gets its name.
    pub(super) fn storage(&self) -> Result<Storage> {
        Ok(match self {
            Destination::Storage { storage, .. } | Destination::Zip { storage, .. } => storage.clone(),
            Destination::Whole { partial, .. } => nczchunk::create_storage(partial.path())?,
            Destination::Within { group, name, partial, .. } => {
                let written = Storage::new(Directory::create(partial.path())?)?;
                Storage::new(Staging::new(nczchunk::open_storage(group)?, written, name))?
            }
        })
    }

    /// The name of the array in that storage.
    pub(super) fn name(&self) -> &str {
        match self {
            Destination::Storage { name, .. }
            | Destination::Zip { name, .. }
            | Destination::Whole { name, .. }
            | Destination::Within { name, .. } => name,
        }
    }

    /// A storage in the group at a path.
    fn within(group: &Path, wish: &Wish) -> Result<Self> {
        let name =
            wish.name.clone().ok_or_else(|| refused(group, "this is a group; name the new array with --name"))?;
        let name = name.trim_matches('/').to_owned();
        let path = group.join(&name);
        let replaces = path.symlink_metadata().is_ok();
        if replaces {
            let there = nczchunk::open_storage(group).and_then(|storage| nczchunk::list(&storage, &name, false));
            let is_array =
                there.as_deref().is_ok_and(|nodes| nodes.first().is_some_and(|node: &Node| !node.is_group()));
            match (is_array, wish.force) {
                (true, true) => check_replaced(&path)?,
                (true, false) => return Err(refused(&path, "an array exists here; --force replaces it")),
                (false, _) => return Err(refused(&path, "something other than an array exists here")),
            }
        }
        // On the same file system as what it is going to be in.
        let partial = Partial::new(partial(&group.join(missing(group, &name)))?);
        Ok(Destination::Within { group: group.to_owned(), name, format: wish.format, partial, replaces })
    }

    /// Gives the array its name.
    pub(super) fn finish(self) -> Result<()> {
        match self {
            Destination::Storage { storage, .. } => Ok(storage.finish()?),
            Destination::Zip { storage, partial, path, replaces, .. } => {
                storage.finish()?;
                put(&partial, partial.path(), &path, replaces)
            }
            Destination::Whole { partial, path, replaces, .. } => put(&partial, partial.path(), &path, replaces),
            Destination::Within { group, name, format, partial, replaces } => {
                let missing = missing(&group, &name);
                let changes = Changes::make(&nczchunk::open_storage(&group)?, &name, format, missing)?;
                put(&partial, &partial.path().join(missing), &group.join(missing), replaces)?;
                changes.keep();
                Ok(())
            }
        }
    }
}

impl Wish {
    /// The name in a storage that is new: none, unless the user wishes one.
    pub(super) fn name_of_new(&self) -> Result<String> {
        match &self.name {
            _ if !self.is_named => Ok(String::new()),
            Some(name) => Ok(name.clone()),
            None => Err(Failure::usage("--format nczarr: the array needs a name; give it one with --name")),
        }
    }
}

pub(super) fn is_zip(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("zip"))
}

/// Refuses a path below what is not there.
pub(super) fn check_parent(path: &Path) -> Result<()> {
    match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => parent.metadata().map(drop).map_err(Failure::about(parent.display())),
        None => Ok(()),
    }
}

/// Refuses a path within the source: what is made there would be a part of it.
pub(super) fn check_apart(source: &Path, array: Option<&str>, path: &Path) -> Result<()> {
    let above = path.parent().map(|above| if above.as_os_str().is_empty() { Path::new(".") } else { above });
    // A slash before the name of an array says nothing, but in a path it would say all.
    let source = source.join(array.unwrap_or_default().trim_start_matches('/')).canonicalize();
    match (source, above.and_then(|above| above.canonicalize().ok())) {
        (Ok(source), Some(above)) if above.starts_with(&source) => {
            Err(refused(path, "this is within the source, and would be a part of it; choose another destination"))
        }
        _ => Ok(()),
    }
}

/// Refuses a directory that is neither empty nor an array or group, complete or not.
pub(super) fn check_directory(path: &Path) -> Result<()> {
    let Ok(metadata) = path.metadata() else { return Ok(()) };
    if !metadata.is_dir() {
        return Err(refused(path, "this is a file, not a directory"));
    }
    let is_known = |entry: &fs::DirEntry| {
        let name = entry.file_name();
        let documents = ["zarr.json", ".zarray", ".zgroup", ".nczchunk-rechunk", ".nczchunk-rechunk-group"];
        documents.iter().any(|document| name == *document)
    };
    let mut entries = fs::read_dir(path).map_err(Failure::about(path.display()))?.peekable();
    if entries.peek().is_none() || entries.flatten().any(|entry| is_known(&entry)) {
        return Ok(());
    }
    Err(refused(path, "this directory is not empty, and not an array or group"))
}

fn refused(path: &Path, why: &str) -> Failure {
    Failure::failed(format_args!("{}: {why}", path.display()))
}

pub(super) fn is_empty(path: &Path) -> Result<bool> {
    let mut entries = fs::read_dir(path).map_err(Failure::about(path.display()))?;
    Ok(entries.next().is_none())
}

/// What a name begins with that is not there in a group, up to its next `/`; all of the name if it is there.
fn missing<'n>(group: &Path, name: &'n str) -> &'n str {
    let above = name.match_indices('/').map(|(slash, _)| &name[..slash]);
    above.into_iter().find(|above| group.join(above).symlink_metadata().is_err()).unwrap_or(name)
}

/// Refuses to replace what is at a path unless it is an array, or a zip file with one, in which everything belongs to
/// arrays and groups.
fn check_replaced(path: &Path) -> Result<()> {
    let is_dir = path.is_dir();
    let has_array = |storage: &Storage| {
        let nodes = nczchunk::list(storage, "", !is_dir).unwrap_or_default();
        match is_dir {
            true => nodes.first().is_some_and(|node| !node.is_group()),
            false => storage.is_archive() && nodes.iter().any(|node| !node.is_group()),
        }
    };
    match nczchunk::open_storage(path).ok().filter(has_array) {
        Some(storage) => staging::check_owned(storage).map_err(|error| refused(path, &words(&error))),
        None => Err(refused(path, "this exists and is no array, so it is not replaced")),
    }
}

/// Gives what is complete its name. What is there is replaced only if that was decided before.
fn put(partial: &Partial, complete: &Path, path: &Path, replaces: bool) -> Result<()> {
    if !replaces || path.symlink_metadata().is_err() || path.is_dir() && is_empty(path)? {
        return put_new(complete, path);
    }
    check_replaced(path)?;
    let about = || Failure::about(path.display());
    if !path.is_dir() {
        return fs::rename(complete, path).map_err(about());
    }
    // What is there is put aside first, and back if the other cannot have its name.
    let mut old = partial.path().as_os_str().to_owned();
    old.push(".old");
    let old = Partial::new(old.into());
    fs::rename(path, old.path()).map_err(about())?;
    put_new(complete, path).map_err(|error| match fs::rename(old.path(), path) {
        Ok(()) => error,
        Err(_) => {
            refused(path, &format!("this cannot be replaced any more; the old array is {}", old.keep().display()))
        }
    })
}

/// Gives what is complete a name that nothing has, or an empty directory.
fn put_new(complete: &Path, path: &Path) -> Result<()> {
    let taken = || refused(path, "this was created while the copy was made, so it is not replaced");
    if !complete.is_dir() {
        // Unlike a renamed file, a link takes nothing's place.
        match fs::hard_link(complete, path) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(taken()),
            // Not every file system has links.
            Err(_) => {}
        }
    }
    if path.symlink_metadata().is_ok() && !(complete.is_dir() && path.is_dir() && is_empty(path)?) {
        return Err(taken());
    }
    // A directory takes the place of nothing but an empty one.
    fs::rename(complete, path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotADirectory => taken(),
        _ => Failure::about(path.display())(error),
    })
}
