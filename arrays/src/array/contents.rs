//! What an array or a group that is to be overwritten consists of: its metadata documents, its chunks, and the arrays
//! and groups below it. Anything else that is found there belongs to somebody, and nothing is removed then.

use super::documents::{self, V2_ARRAY, V2_GROUP, V3, below};
use super::keys::Key;
use crate::alloc;
use crate::error::{ErrorKind, Result};
use crate::key::Separator;
use crate::object::{Entry, Storage};
use crate::zarr::{self, KeyEncoding, Keys};

/// How the chunks of an array are called.
pub(super) enum ChunkNames {
    /// By its metadata, for an array of so many dimensions.
    Of(Keys, usize),
    /// The same, and only those within a grid of so many chunks.
    Within(Keys, Vec<usize>),
    /// By any format's rules, for an array whose metadata cannot be read.
    Any,
}

impl ChunkNames {
    /// Whether this is the name of a chunk.
    fn is_chunk(&self, key: &str) -> Result<bool> {
        Ok(match self {
            ChunkNames::Of(keys, rank) => matches!(Key::read(key, *keys, *rank)?, Key::Whole(_)),
            ChunkNames::Within(keys, counts) => match Key::read(key, *keys, counts.len())? {
                Key::Whole(chunk) => {
                    let is_inside =
                        |(&index, &count): (&isize, &usize)| usize::try_from(index).is_ok_and(|index| index < count);
                    chunk.iter().zip(counts).all(is_inside)
                }
                _ => false,
            },
            ChunkNames::Any => {
                let key = key.strip_prefix("c/").or_else(|| key.strip_prefix("c.")).unwrap_or(key);
                key == "c" || key.split(['/', '.']).all(|part| !part.is_empty() && is_of_key(part) && part != "c")
            }
        })
    }

    /// Whether the names of chunks may begin with this.
    fn is_prefix(&self, key: &str) -> bool {
        let has_slashes = match self {
            ChunkNames::Of(keys, _) | ChunkNames::Within(keys, _) => keys.separator == Separator::Slash,
            ChunkNames::Any => true,
        };
        let is_v2 = |keys: &Keys| keys.style == KeyEncoding::V2;
        let numbers = match self {
            ChunkNames::Of(keys, _) | ChunkNames::Within(keys, _) if is_v2(keys) => Some(key),
            ChunkNames::Of(..) | ChunkNames::Within(..) if key == "c" => return has_slashes,
            ChunkNames::Of(..) | ChunkNames::Within(..) => key.strip_prefix("c/"),
            ChunkNames::Any => Some(key.strip_prefix("c/").unwrap_or(key)),
        };
        has_slashes && numbers.is_some_and(|numbers| numbers.split('/').all(is_of_key))
    }
}

/// Whether this can be a part of a chunk's key.
fn is_of_key(last: &str) -> bool {
    last == "c" || last.bytes().all(|byte| byte.is_ascii_digit())
}

/// What is to be removed.
#[derive(Default)]
pub(super) struct Contents {
    documents: Vec<String>,
    /// A symbolic link is removed as a link, and what it leads to is left alone.
    chunks: Vec<String>,
    /// Those within others come after them.
    prefixes: Vec<String>,
}

impl Contents {
    /// The array or group of this name, with all that it has below it.
    ///
    /// # Errors
    /// `Exists` about what is there and belongs to neither; nothing has been removed.
    pub(super) fn of_node(storage: &Storage, name: &str) -> Result<Self> {
        let mut contents = Contents::default();
        let mut nodes = Vec::new();
        alloc::push(&mut nodes, alloc::text(name)?)?;
        while let Some(node) = nodes.pop() {
            match chunk_names(storage, &node)? {
                Some(names) => contents.add_array(storage, &node, &names, &in_the_way)?,
                None => contents.add_group(storage, &node, &mut nodes)?,
            }
        }
        Ok(contents)
    }

    /// The chunks, and lone attributes, that an array of this name would take for its own.
    ///
    /// # Errors
    /// `Exists` about anything else, unless the name is empty: then other things may be beside the array.
    pub(super) fn of_nothing(storage: &Storage, name: &str, names: &ChunkNames) -> Result<Self> {
        Contents::but(storage, name, names, "")
    }

    /// The same, where the prefix `but` belongs to nobody else.
    ///
    /// # Errors
    /// Those of `of_nothing`.
    pub(super) fn but(storage: &Storage, name: &str, names: &ChunkNames, but: &str) -> Result<Self> {
        let mut contents = Contents::default();
        let other = |object: &str| if object == but { Ok(()) } else { in_the_way(object) };
        match contents.add_array(storage, name, names, &other) {
            Err(error) if name.is_empty() && error.kind() == ErrorKind::Exists => {
                let mut taken = Contents::default();
                taken.add_array(storage, name, names, &|_| Ok(()))?;
                if taken.documents.is_empty() && taken.chunks.is_empty() { Ok(Contents::default()) } else { Err(error) }
            }
            added => added.map(|()| contents),
        }
    }

    /// Whether there is anything but attributes, which are what is left of an attempt that was cut short.
    pub(super) fn is_array(&self) -> bool {
        let is_attributes = |name: &String| name.ends_with(documents::V2_ATTRIBUTES);
        !self.chunks.is_empty() || !self.documents.iter().all(is_attributes)
    }

    /// Whether the storage lists what is there.
    pub(super) fn is_empty(&self) -> bool {
        self.documents.is_empty() && self.chunks.is_empty() && self.prefixes.is_empty()
    }

    /// Adds the documents and chunks of an array, and calls `other` with what is neither.
    fn add_array(
        &mut self,
        storage: &Storage,
        name: &str,
        names: &ChunkNames,
        other: &dyn Fn(&str) -> Result<()>,
    ) -> Result<()> {
        let mut keys = Vec::new();
        alloc::push(&mut keys, String::new())?;
        while let Some(prefix) = keys.pop() {
            let full = if prefix.is_empty() { alloc::text(name)? } else { alloc::text(&below(name, &prefix)?)? };
            storage.list_all(&full, &mut |last, entry| {
                let key = below(&prefix, last)?;
                let object = alloc::text(&below(&full, last)?)?;
                match entry {
                    Some(Entry::Object) if prefix.is_empty() && zarr::DOCUMENTS.contains(&last) => {
                        alloc::push(&mut self.documents, object)?;
                    }
                    Some(Entry::Object) if names.is_chunk(&key)? => alloc::push(&mut self.chunks, object)?,
                    Some(Entry::Prefix) if names.is_prefix(&key) && storage.is_link(&object)? => {
                        alloc::push(&mut self.chunks, object)?;
                    }
                    // A link that leads nowhere.
                    None if names.is_chunk(&key)? && storage.is_link(&object)? => {
                        alloc::push(&mut self.chunks, object)?;
                    }
                    Some(Entry::Prefix) if names.is_prefix(&key) => {
                        alloc::push(&mut keys, alloc::text(&key)?)?;
                        alloc::push(&mut self.prefixes, object)?;
                    }
                    _ => other(&object)?,
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    fn add_group(&mut self, storage: &Storage, name: &str, nodes: &mut Vec<String>) -> Result<()> {
        storage.list_all(name, &mut |last, entry| {
            let full = alloc::text(&below(name, last)?)?;
            match entry {
                Some(Entry::Object) if zarr::DOCUMENTS.contains(&last) => alloc::push(&mut self.documents, full)?,
                Some(Entry::Object) | None => in_the_way(&full)?,
                Some(Entry::Prefix) if storage.is_link(&full)? => alloc::push(&mut self.chunks, full)?,
                Some(Entry::Prefix) => {
                    alloc::push(&mut self.prefixes, alloc::text(&full)?)?;
                    alloc::push(nodes, full)?;
                }
            }
            Ok(())
        })
    }

    /// Removes it: the documents first, for without them it is no array any more, whatever happens then.
    pub(super) fn remove(&self, storage: &Storage) -> Result<()> {
        self.documents.iter().rev().chain(&self.chunks).try_for_each(|object| storage.remove(object))?;
        self.prefixes.iter().rev().try_for_each(|prefix| storage.remove_empty(prefix))
    }
}

fn in_the_way(object: &str) -> Result<()> {
    Err(ErrorKind::Exists.in_object(object))
}

/// How the chunks of the array of this name are called; `None` if it is a group, or neither.
fn chunk_names(storage: &Storage, name: &str) -> Result<Option<ChunkNames>> {
    let mut is_node = false;
    for document in [V3, V2_ARRAY] {
        is_node |= documents::is_there(storage, name, document)?;
    }
    if !is_node {
        return Ok(None);
    }
    match zarr::open(storage, name) {
        Ok(metadata) => Ok(Some(ChunkNames::Of(metadata.keys, metadata.shape.len()))),
        Err(error) if matches!(error.kind(), ErrorKind::NotAnArray) => Ok(None),
        Err(error)
            if matches!(error.kind(), ErrorKind::OutOfMemory | ErrorKind::System(_) | ErrorKind::Callback(_)) =>
        {
            Err(error)
        }
        Err(_) => Ok(Some(ChunkNames::Any)),
    }
}

/// Whether an array or a group has this name.
pub(super) fn is_node(storage: &Storage, name: &str) -> Result<bool> {
    for document in [V3, V2_ARRAY, V2_GROUP] {
        if documents::is_there(storage, name, document)? {
            return Ok(true);
        }
    }
    Ok(false)
}
