//! From the words of the user to an open array.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use clap::Args;
use nczchunk::object::{Storage, check_name};
use nczchunk::{Access, Array, Error, Node};

use crate::failure::{Failure, Result, words};
use crate::output;
use crate::screen::printable;

/// The array to be looked at.
#[derive(Debug, Args)]
pub struct Source {
    /// A directory or zip file of Zarr or NCZarr, or a netCDF, HDF5 or cfdb file
    #[arg(value_name = "PATH")]
    pub storage: PathBuf,
    /// The name of the array in PATH, such as ocean/sst; may be left out if there is only one
    #[arg(value_name = "ARRAY")]
    pub array: Option<String>,
}

impl Source {
    /// Opens the array to be read.
    pub fn open(&self) -> Result<Array> {
        open(&self.storage, self.array.as_deref())
    }
}

/// Whether links of HDF5 files to other files are followed, in all that this program opens.
static FOLLOWS_LINKS: AtomicBool = AtomicBool::new(false);

/// Sets whether links of HDF5 files to other files are followed.
pub fn allow_external_links(allow: bool) {
    FOLLOWS_LINKS.store(allow, Relaxed);
}

/// The whole path of what is at a path; a URL stays as it is.
pub fn full_path(path: &Path) -> Result<PathBuf> {
    if nczchunk::is_url(path) {
        return Ok(path.to_owned());
    }
    path.canonicalize().map_err(Failure::about(path.display()))
}

/// The storage at a path.
pub fn storage(path: &Path) -> Result<Storage> {
    let mut storage = nczchunk::open_storage(path)?;
    storage.allow_external_links(FOLLOWS_LINKS.load(Relaxed));
    Ok(storage)
}

/// Opens the array of this name at a path, or the only one that is there.
pub fn open(path: &Path, name: Option<&str>) -> Result<Array> {
    let storage = storage(path)?;
    let name = match name {
        Some(name) => name.to_owned(),
        None => only_array(path, &storage)?,
    };
    Array::open_in(&storage, &name, Access::Read).map_err(|error| {
        let error = error.in_object(path.display());
        match error.kind() {
            nczchunk::ErrorKind::NotFound("array" | "variable") => {
                Failure::failed(format_args!("{}{}", words(&error), there_are(&storage)))
            }
            _ => error.into(),
        }
    })
}

/// What is in a storage, by name.
pub fn list(path: &Path, storage: &Storage, group: &str, recursive: bool) -> Result<Vec<Node>> {
    nczchunk::list(storage, group, recursive).map_err(|error| error.in_object(path.display()).into())
}

/// Says of which members of groups nothing else is said, because no object can have their names: those that are no
/// Unicode, or have a backslash.
pub fn note_left_out(path: &Path, storage: &Storage, nodes: &[Node]) {
    // Only directories and zip files have such names, and only there listing a group once more costs little.
    if !path.is_dir() && !storage.is_archive() {
        return;
    }
    let mut noted = BTreeSet::new();
    for group in nodes.iter().filter(|node| node.is_group()).map(Node::name) {
        // The group was listed before. If it cannot be any more, nothing is said.
        let _ = storage.list_all(group, &mut |last, entry| {
            let is_name = check_name(last).is_ok() && !last.contains(char::REPLACEMENT_CHARACTER);
            if entry.is_none() && !is_name {
                noted.insert(if group.is_empty() { last.to_owned() } else { format!("{group}/{last}") });
            }
            Ok(())
        });
    }
    for name in noted {
        let path = path.display();
        output::note(&format!("{path}: {name}"), "this is left out, because no array or group can have such a name");
    }
}

/// The names of the arrays in a storage, those included that cannot be opened.
pub fn arrays(nodes: &[Node]) -> Vec<&str> {
    nodes.iter().filter(|node| !node.is_group()).map(Node::name).collect()
}

fn only_array(path: &Path, storage: &Storage) -> Result<String> {
    let nodes = list(path, storage, "", true)?;
    match arrays(&nodes)[..] {
        [name] => Ok(name.to_owned()),
        [] => Err(Failure::failed(format_args!("{}: no arrays found", path.display()))),
        _ => Err(Failure::usage(format_args!("{}: name the array{}", path.display(), there_are(storage)))),
    }
}

/// What arrays there are, as the end of a message.
fn there_are(storage: &Storage) -> String {
    const SHOWN: usize = 20;
    let Ok(nodes) = nczchunk::list(storage, "", true) else { return String::new() };
    let names = arrays(&nodes);
    if names.is_empty() {
        return String::new();
    }
    let more = if names.len() > SHOWN { ", ..." } else { "" };
    format!("; the arrays are: {}{more}", names[..names.len().min(SHOWN)].join(", "))
}

/// Why an array cannot be opened, without its name, which has been said.
pub fn reason(name: &str, error: &Error) -> String {
    let words = words(error);
    words.strip_prefix(&format!("{name}: ")).map(str::to_owned).unwrap_or(words)
}

/// What an array is called where it has no name: by the last part of its path.
pub fn title(path: &Path, array: &Array) -> String {
    let stem = || path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    match array.name().rsplit('/').next() {
        Some(name) if !name.is_empty() => name.to_owned(),
        _ => stem().unwrap_or_else(|| "array".to_owned()),
    }
}

/// The path and the name, for headings.
pub fn heading(path: &Path, array: &Array) -> String {
    let name = if array.name().is_empty() { String::new() } else { format!(" {}", array.name()) };
    printable(&format!("{}{name}", path.display()))
}
