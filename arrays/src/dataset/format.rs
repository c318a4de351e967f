//! What reads the files of a format that hold arrays.

use super::{GroupDimension, Head, Node, Opened};
use crate::alloc;
use crate::error::{Error, ErrorKind, Result};
use crate::object::{ObjectStore, Storage};

/// What is called for each group or array that is found.
pub(crate) type OneNode<'o> = &'o mut dyn FnMut(Node) -> Result<()>;

/// What opens the array of a name that it is given.
pub(crate) type Opener<'s> = Box<dyn Fn(&str) -> Result<Opened> + 's>;

/// What reads the files of a format that hold arrays.
pub(crate) trait FileFormat: Sync {
    /// Opens the array of this name, which is not empty.
    ///
    /// # Errors
    /// `NotFound`, `NotAnArray`, those of what the file says, and those of the storage.
    fn open(&self, storage: &Storage, file: &Head<'_>, name: &str) -> Result<Opened>;

    /// What opens arrays one after another, as [`open`](Self::open) does. What is read for several of them may be read
    /// once, and of a file that changes meanwhile the state before. By default each is opened by itself.
    ///
    /// # Errors
    /// Those of `open`.
    fn opener<'s>(&'s self, storage: &'s Storage, file: Head<'s>) -> Result<Opener<'s>> {
        Ok(alloc::try_box(move |name: &str| self.open(storage, &file, name))?)
    }

    /// Calls `one` for the group or array of this name; for a group then for its members and, if `recursive`, for those
    /// of the groups in it. An empty name is the file itself, which is a group.
    ///
    /// # Errors
    /// Those of `one` and of `open`.
    fn list(&self, storage: &Storage, file: &Head<'_>, name: &str, recursive: bool, one: OneNode<'_>) -> Result<()>;

    /// The dimensions that the group of this name defines. By default the file is the only group, and defines none.
    ///
    /// # Errors
    /// Those of `open`.
    fn dimensions(&self, storage: &Storage, file: &Head<'_>, group: &str) -> Result<Vec<GroupDimension>> {
        let _ = (storage, file);
        only_group(group).map(|()| Vec::new())
    }

    /// Whether a file of so many bytes is of the format although it does not begin so.
    fn begins_later(&self, objects: &dyn ObjectStore, file: &str, len: u64) -> Result<bool> {
        let _ = (objects, file, len);
        Ok(false)
    }

    /// Whether an array may be shorter than an unlimited dimension of its file.
    fn has_shorter_arrays(&self) -> bool {
        false
    }

    /// Whether arrays are stored in chunks. If not, how they are cut into some follows from their lengths.
    fn has_chunks(&self) -> bool {
        true
    }

    /// Whether those who write such files lock them, so that readers do, too.
    fn is_locked(&self) -> bool {
        false
    }
}

/// Refuses names of groups in a file that is the only one.
pub(crate) fn only_group(name: &str) -> Result<()> {
    if name.is_empty() { Ok(()) } else { Err(Error::from(ErrorKind::NotFound("group"))) }
}
