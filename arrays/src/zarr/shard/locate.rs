//! Where the chunks within shards are: each is a range of an object, which the shard's index tells.

use super::layout::{CHANGED, Layout, corrupt};
use crate::error::{Error, Result};
use crate::fetch::{Index, Learned, Locate, Location, Part, Step};
use crate::object::Name;
use crate::shared::Shared;
use crate::zarr::chunks::Names;

/// Where the chunks of an array are that is stored in shards. Chunks are read one by one; shards are written as a
/// whole, and read so to be changed.
pub(crate) struct InShards {
    shards: Names,
    layout: Shared<Layout>,
}

impl InShards {
    pub(crate) fn new(shards: Names, layout: Shared<Layout>) -> Self {
        InShards { shards, layout }
    }
}

impl Locate for InShards {
    fn locate(&self, chunk: &[isize]) -> Result<Location> {
        let (object, number) = self.layout.locate(chunk)?;
        Ok(Location { object, part: Part::Indexed { number } })
    }

    fn name(&self, object: &[isize]) -> Result<Name> {
        self.shards.name(object)
    }

    fn first_step(&self, _index: &[isize]) -> Result<Step> {
        Ok(Step { begin: self.layout.index_begin(), len: self.layout.index_bytes(), memory: [0; 3] })
    }

    fn learn(&self, _index: &[isize], _step: &Step, bytes: &[u8], _object_len: u64) -> Result<Learned> {
        self.layout.decode(bytes).map(Learned::Index)
    }

    fn index_len(&self) -> usize {
        self.layout.num_chunks()
    }

    fn most_chunks(&self, object: &[isize], counts: &[usize]) -> Option<usize> {
        Some(self.layout.num_inside(object, counts))
    }

    fn span(&self, _object: &[isize], index: &Index, number: usize, object_len: u64) -> Result<Option<(u64, u64)>> {
        self.layout.storage_in(index, number, object_len)
    }

    fn changed(&self) -> Error {
        corrupt(CHANGED)
    }

    fn is_writable(&self) -> bool {
        true
    }
}
