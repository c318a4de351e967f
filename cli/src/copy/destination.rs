//! Where the new array is to be. It is made under another name, and gets its own once it is complete. Nothing that is
//! there is changed before. At a URL, where nothing can be renamed, it has its own name from the beginning, and nothing
//! is replaced.

use std::fs;
use std::path::{Path, PathBuf};

use nczchunk::object::{Directory, Storage, ZipWriter};
use nczchunk::{ArrayFormat, ErrorKind, Node};

use crate::failure::{Failure, Result, words};
use crate::output::{Partial, partial};

use super::staging::{Changes, Staging};

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
    /// A new zip file, or objects at a URL.
    Storage { storage: Storage, name: String },
    /// A directory that is new, or replaces one that is an array or is empty.
    Whole { partial: Partial, name: String, path: PathBuf },
    /// An array in a group that is there. The directory has it by its whole name until then.
    Within { group: PathBuf, name: String, format: ArrayFormat, partial: Partial },
}

impl Destination {
    /// The destination at a path.
    pub(super) fn new(path: &Path, wish: &Wish) -> Result<Self> {
        let whole = |name: String| {
            let partial = Partial::new(partial(path)?);
            Ok(Destination::Whole { partial, name, path: path.to_owned() })
        };
        if nczchunk::is_url(path) {
            return Destination::url(path, wish);
        }
        if is_zip(path) {
            return Destination::zip(path, wish);
        }
        let Ok(metadata) = path.symlink_metadata() else {
            check_parent(path)?;
            return whole(wish.name_of_new()?);
        };
        if !metadata.is_dir() && !path.is_dir() {
            return Err(refused(path, "this is a file, not a directory"));
        }
        match nczchunk::open_storage(path).and_then(|storage| nczchunk::list(&storage, "", false)).as_deref() {
            Ok([first, ..]) if first.is_group() => Destination::within(path, wish),
            Ok(_) if wish.is_named => Err(refused(path, "this is an array, not a group")),
            Ok(_) if wish.force => whole(String::new()),
            Ok(_) => Err(refused(path, "an array exists here; --force replaces it")),
            Err(error) if error.kind() == ErrorKind::UnknownFormat => match is_empty(path)? {
                true => whole(wish.name_of_new()?),
                false => Err(refused(path, "this directory is not empty and not a group")),
            },
            Err(error) => Err(Failure::Failed(words(error))),
        }
    }

    /// The destination of a whole group, which is always a new one.
    pub(super) fn of_group(path: &Path, wish: &Wish) -> Result<Self> {
        if nczchunk::is_url(path) {
            return Destination::url(path, wish);
        }
        if is_zip(path) {
            return Destination::zip(path, wish);
        }
        check_parent(path)?;
        if path.symlink_metadata().is_ok() && !(path.is_dir() && is_empty(path)?) {
            return Err(refused(path, "this exists; a whole group can only be copied to a new directory or zip file"));
        }
        let partial = Partial::new(partial(path)?);
        Ok(Destination::Whole { partial, name: String::new(), path: path.to_owned() })
    }

    fn zip(path: &Path, wish: &Wish) -> Result<Self> {
        if path.symlink_metadata().is_ok() && !wish.force {
            return Err(refused(path, "this exists; --force replaces it"));
        }
        Ok(Destination::Storage { storage: Storage::new(ZipWriter::create(path)?)?, name: wish.name_of_new()? })
    }

    /// An array below a URL, or at it. If something is there, to create it fails.
    fn url(path: &Path, wish: &Wish) -> Result<Self> {
        if wish.force {
            return Err(refused(path, "--force cannot replace an array at a URL; remove the array first"));
        }
        let storage = nczchunk::create_storage(path).map_err(|error| Failure::Failed(words(&error)))?;
        Ok(Destination::Storage { storage, name: wish.name_of_new()? })
    }

    /// The storage in which the array is to be created, or all of a group, before it gets its name.
    pub(super) fn storage(&self) -> Result<Storage> {
        Ok(match self {
            Destination::Storage { storage, .. } => storage.clone(),
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
            Destination::Storage { name, .. } | Destination::Whole { name, .. } | Destination::Within { name, .. } => {
                name
            }
        }
    }

    /// A storage in the group at a path.
    fn within(group: &Path, wish: &Wish) -> Result<Self> {
        let name =
            wish.name.clone().ok_or_else(|| refused(group, "this is a group; name the new array with --name"))?;
        let name = name.trim_matches('/').to_owned();
        let path = group.join(&name);
        if path.symlink_metadata().is_ok() {
            let there = nczchunk::open_storage(group).and_then(|storage| nczchunk::list(&storage, &name, false));
            let is_array =
                there.as_deref().is_ok_and(|nodes| nodes.first().is_some_and(|node: &Node| !node.is_group()));
            match (is_array, wish.force) {
                (true, true) => {}
                (true, false) => return Err(refused(&path, "an array exists here; --force replaces it")),
                (false, _) => return Err(refused(&path, "something other than an array exists here")),
            }
        }
        // On the same file system as what it is going to be in.
        let partial = Partial::new(partial(&group.join(missing(group, &name)))?);
        Ok(Destination::Within { group: group.to_owned(), name, format: wish.format, partial })
    }

    /// Gives the array its name.
    pub(super) fn finish(self) -> Result<()> {
        match self {
            Destination::Storage { storage, .. } => Ok(storage.finish()?),
            Destination::Whole { partial, path, .. } => replace(&partial, partial.path(), &path),
            Destination::Within { group, name, format, partial } => {
                let missing = missing(&group, &name);
                let changes = Changes::make(&nczchunk::open_storage(&group)?, &name, format, missing)?;
                replace(&partial, &partial.path().join(missing), &group.join(missing))?;
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

fn is_zip(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("zip"))
}

/// Refuses a path below what is not there.
pub(super) fn check_parent(path: &Path) -> Result<()> {
    match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => parent.metadata().map(drop).map_err(Failure::about(parent.display())),
        None => Ok(()),
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

/// Puts what is complete in the place of what is there. That is put aside first, and back if the other cannot have its
/// name.
fn replace(partial: &Partial, complete: &Path, path: &Path) -> Result<()> {
    let about = || Failure::about(path.display());
    if path.symlink_metadata().is_err() || is_empty(path)? {
        return fs::rename(complete, path).map_err(about());
    }
    let mut old = partial.path().as_os_str().to_owned();
    old.push(".old");
    let old = Partial::new(old.into());
    fs::rename(path, old.path()).map_err(about())?;
    fs::rename(complete, path).map_err(|error| {
        let _ = fs::rename(old.path(), path);
        about()(error)
    })
}
