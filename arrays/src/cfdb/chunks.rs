//! Where the chunks of a variable are: they are values of a booklet file, whose keys are the variable's name and where
//! the chunks begin.

use super::booklet::Booklet;
use super::metadata::{Compression, VariableMetadata};
use crate::alloc;
use crate::codec::built_in;
use crate::dims;
use crate::error::{ErrorKind, Result};
use crate::fetch::{ABSENT, Index, Learned, Locate, Location, ObjectChunks, Part, Step};
use crate::key::KeyStyle;
use crate::object::Name;
use crate::store::{ChunkStore, Filled};

/// Where the chunks of a variable are. Each is found by its key, so each has an index of its own.
struct InBooklet {
    booklet: Booklet,
    name: String,
    chunk_shape: Vec<usize>,
}

impl InBooklet {
    fn key(&self, chunk: &[isize]) -> Result<Name> {
        let style = KeyStyle::Cfdb { var: &self.name, chunklens: &self.chunk_shape };
        Name::of(format_args!("{}", style.key(chunk)?))
    }
}

impl Locate for InBooklet {
    fn locate(&self, chunk: &[isize]) -> Result<Location> {
        Ok(Location { object: dims::copied(chunk.iter().copied())?, part: Part::Indexed { number: 0 } })
    }

    fn name(&self, _object: &[isize]) -> Result<Name> {
        Name::of(format_args!("{}", self.booklet.file().1))
    }

    fn is_one_object(&self) -> bool {
        true
    }

    fn first_step(&self, index: &[isize]) -> Result<Step> {
        Ok(self.booklet.first_step(self.key(index)?.as_bytes()))
    }

    fn learn(&self, index: &[isize], step: &Step, bytes: &[u8], object_len: u64) -> Result<Learned> {
        self.booklet.learn(self.key(index)?.as_bytes(), step, bytes, object_len)
    }

    fn span(&self, _object: &[isize], index: &Index, number: usize, _len: u64) -> Result<Option<(u64, u64)>> {
        // The file's length is what it was when the value was found to be within it.
        let span = *index.spans.get(number).ok_or(ErrorKind::Internal)?;
        Ok((span != ABSENT).then_some(span))
    }

    fn missing(&self, _object: &[isize]) -> Result<Filled> {
        Err(self.changed())
    }

    fn is_constant(&self) -> bool {
        true
    }
}

/// The chunks of a variable, as they are decoded.
///
/// # Errors
/// `Codec` for a compression that the library was built without.
pub(super) fn store(
    booklet: Booklet,
    name: &str,
    variable: &VariableMetadata,
    compression: Compression,
) -> Result<ChunkStore<'static>> {
    let chunk_shape = alloc::copied(&variable.chunk_shape)?;
    let storage = booklet.file().0.clone();
    let chunks = InBooklet { booklet, name: alloc::text(name)?, chunk_shape };
    let mut store = ChunkStore::new(ObjectChunks::new(storage, chunks))?;
    let size = variable.data_type.stored.size();
    if compression.is_shuffled && matches!(size, 2 | 4 | 8) {
        store.add_boxed_codec(built_in::shuffle(size)?)?;
    }
    store.add_boxed_codec(if compression.is_lz4 { built_in::lz4_frame()? } else { built_in::zstd(0, true)? })?;
    Ok(store)
}
