//! What the metadata of an array come to, whatever the version that they are written in.

use super::codecs::{CodecSpec, Shards};
use super::format::Format;
use crate::chunk_list::ChunkRun;
use crate::codec::CodecRegistry;
use crate::element::ElementType;
use crate::error::{Error, Result};
use crate::json::Value;
use crate::key::{KeyStyle, Separator};
use crate::variable::Endian;

/// An array.
#[derive(Debug)]
pub(crate) struct Metadata {
    pub(crate) format: Format,
    /// Whether netCDF-C's own keys are there.
    pub(crate) is_nczarr: bool,
    pub(crate) shape: Vec<usize>,
    /// Which dimensions are unlimited, as far as it is known: see [`mark_unlimited`](Self::mark_unlimited).
    pub(crate) unlimited: Vec<bool>,
    /// The grid of stored objects: of chunks, or of shards if there are any. Of chunks with a list of lengths it is the
    /// largest.
    pub(crate) chunk_shape: Vec<usize>,
    /// For each dimension the list of its chunks' lengths, which is empty if they have one length; nothing at all for a
    /// regular grid.
    pub(crate) chunk_runs: Vec<Vec<ChunkRun>>,
    pub(crate) element: ElementType,
    /// `Native` for elements without words of more than a byte.
    pub(crate) endian: Endian,
    /// The axes of a chunk, or of a chunk within a shard, from the slowest to the fastest; `None` for row-major, the
    /// only order of less than two.
    pub(crate) order: Option<Vec<usize>>,
    /// One element in native byte order, or a variable-length string in UTF-8 with a NUL behind it; `None` if it is not
    /// defined, which everybody reads as zeros, or as an empty text.
    pub(crate) fill_value: Option<Vec<u8>>,
    pub(crate) keys: Keys,
    /// What turns the bytes of a chunk into those of its object, in the order of encoding. If there are shards, these
    /// are the codecs of the shard as a whole, and with any of them the object has to be decoded whole before its index
    /// can be read.
    pub(crate) codecs: Vec<CodecSpec>,
    pub(crate) shards: Option<Shards>,
    pub(crate) dimension_names: Vec<Option<String>>,
    /// For each dimension the full name that netCDF-C knows it by, such as `/group/x`; empty if it has not told.
    pub(crate) dimension_references: Vec<String>,
    /// An object, with all that is written there: see
    /// [`is_internal_attribute`](super::is_internal_attribute).
    pub(crate) attributes: Value,
    /// Why those that are stored cannot be read, if that is so.
    pub(crate) attributes_error: Option<Error>,
    /// Whether the array is a scalar of netCDF-C's: its shape is `[1]`, and it is to be shown without dimensions.
    pub(crate) is_scalar: bool,
}

impl Metadata {
    /// How many chunks a dimension has, with those that lie behind its end.
    pub(crate) fn num_chunks(&self, d: usize) -> usize {
        match self.chunk_runs.get(d) {
            Some(runs) if !runs.is_empty() => runs.iter().map(|run| run.num_chunks).sum(),
            _ => self.shape[d].div_ceil(self.chunk_shape[d].max(1)),
        }
    }

    /// Refuses codecs that are neither the library's nor among these.
    pub(crate) fn check_codecs(&self, own: &CodecRegistry) -> Result<()> {
        let in_shards = self.shards.as_ref().map_or(&[][..], |shards| &shards.codecs);
        let document = if self.format == Format::V2 { ".zarray" } else { "zarr.json" };
        let check = |codecs: &[CodecSpec]| codecs.iter().try_for_each(|codec| codec.check(own));
        check(&self.codecs).and_then(|()| check(in_shards)).map_err(|error| error.in_object(document))
    }
}

/// How the objects of the chunks are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Keys {
    pub(crate) style: KeyEncoding,
    pub(crate) separator: Separator,
}

/// An encoding of chunk keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyEncoding {
    /// `1.0`: that of Zarr v2, and `v2` in Zarr v3.
    V2,
    /// `c/1/0`: `default` in Zarr v3.
    V3,
}

impl Keys {
    pub(crate) fn style(self) -> KeyStyle<'static> {
        match self.style {
            KeyEncoding::V2 => KeyStyle::ZarrV2(self.separator),
            KeyEncoding::V3 => KeyStyle::ZarrV3(self.separator),
        }
    }
}
