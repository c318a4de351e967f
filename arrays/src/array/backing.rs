//! How an array is stored: its format, its codecs, and what of it is in which object.

use super::documents::below;
use super::file::FileKind;
use crate::alloc;
use crate::dims;
use crate::error::{ErrorKind, Result};
use crate::grid::Access;
use crate::json;
use crate::object::Name;
use crate::store::{ChunkStore, Request};
use crate::variable::Variable;
use crate::zarr::Metadata;

/// How an array is stored.
pub(super) enum Stored {
    /// In objects of its own. The metadata are written again when the array changes.
    Zarr(Box<Metadata>),
    /// In a file, which is only read.
    File(FileKind),
    /// In several files, which are only read: so in the first of them.
    Joined(Box<Stored>),
}

impl Stored {
    /// The format, in words.
    pub(super) fn format(&self) -> &'static str {
        match self {
            Stored::File(kind) => kind.name(),
            Stored::Joined(first) => first.format(),
            Stored::Zarr(metadata) => metadata.format.name(metadata.is_nczarr),
        }
    }

    /// Whether it may be shorter than an unlimited dimension that it has.
    pub(super) fn may_be_shorter(&self) -> bool {
        match self {
            Stored::File(kind) => kind.has_shorter_arrays(),
            Stored::Joined(first) => first.may_be_shorter(),
            Stored::Zarr(_) => false,
        }
    }

    /// Whether it is in a file, or in several.
    pub(super) fn is_in_file(&self) -> bool {
        match self {
            Stored::File(_) => true,
            Stored::Joined(first) => first.is_in_file(),
            Stored::Zarr(_) => false,
        }
    }

    /// Whether it is stored in chunks, or cut into some as its lengths have it.
    pub(super) fn has_chunks(&self) -> bool {
        match self {
            Stored::File(kind) => kind.has_chunks(),
            Stored::Joined(first) => first.has_chunks(),
            Stored::Zarr(_) => true,
        }
    }

    /// The codecs of the chunks in the order of encoding, each a name and its configuration, which is a JSON object or,
    /// if the format does not tell it, empty.
    pub(super) fn codecs(&self, store: &ChunkStore<'_>) -> Result<Vec<(String, String)>> {
        match self {
            Stored::Joined(first) => first.codecs(store),
            Stored::File(_) => {
                alloc::try_collected(store.codec_names().map(|name| Ok((alloc::text(name)?, String::new()))))
            }
            Stored::Zarr(metadata) => {
                let codecs = metadata.shards.as_ref().map_or(&metadata.codecs, |shards| &shards.codecs);
                alloc::try_collected(codecs.iter().map(|codec| {
                    let configuration = json::compact(&codec.configuration(metadata.format)?)?;
                    Ok((alloc::text(codec.id())?, configuration))
                }))
            }
        }
    }

    /// The bytes of the fill value, or its text if elements are variable-length strings.
    pub(super) fn fill_value<'a>(&'a self, variable: &'a Variable) -> Option<&'a [u8]> {
        match self {
            Stored::Joined(first) => first.fill_value(variable),
            _ if variable.has_texts() => variable.fill_text(),
            _ => variable.fill_value(),
        }
    }

    /// How many bytes a chunk has as it is stored; `None` if it is absent.
    pub(super) fn len_of(&self, variable: &Variable, store: &ChunkStore<'_>, chunk: &[isize]) -> Result<Option<usize>> {
        let inside = inside_bytes(variable, chunk)?;
        if !matches!(self, Stored::Zarr(_)) && !store.tells_len() {
            // What reaches beyond a dimension is not there, and what lies between two records is not the variable's.
            return Ok(Some(inside));
        }
        let request = Request::new(chunk, Access::Read, variable.chunk_bytes_of(Access::Read, chunk));
        store.stored_len(&request).map_err(|error| error.in_chunk(chunk))
    }

    /// The name of the object that a chunk of the array of this name is in; `None` for an array in a file.
    pub(super) fn object_name(&self, variable: &Variable, name: &str, chunk: &[isize]) -> Result<Option<Name>> {
        inside_bytes(variable, chunk)?;
        let Stored::Zarr(metadata) = self else { return Ok(None) };
        // Chunks of a shard have the shard's object in common.
        let ratio = |d| variable.write_ratio(d).and_then(|ratio| isize::try_from(ratio).ok()).unwrap_or(1);
        let object = dims::copied(chunk.iter().enumerate().map(|(d, index)| index.div_euclid(ratio(d))))?;
        let key = Name::of(format_args!("{}", metadata.keys.style().key(&object)?))?;
        below(name, &key).map(Some)
    }
}

/// How many bytes the elements of a chunk have that lie inside of the dimensions.
///
/// # Errors
/// `Argument` if there is no such chunk.
fn inside_bytes(variable: &Variable, chunk: &[isize]) -> Result<usize> {
    const NO_CHUNK: ErrorKind = ErrorKind::Argument("the array has no chunk with these indices");
    if chunk.len() != variable.rank() {
        return Err(NO_CHUNK.into());
    }
    let mut bytes = variable.element_size();
    for (dimension, &index) in variable.dimensions().iter().zip(chunk) {
        let number = dimension.chunk_at(index);
        if number >= dimension.num_chunks() {
            return Err(NO_CHUNK.into());
        }
        // It is no more than a chunk has.
        bytes = bytes.saturating_mul(dimension.num_inside(number));
    }
    Ok(bytes)
}
