//! The indices of shards that were read last.

use std::mem::size_of;

use super::layout::{Index, Layout};
use crate::dims::Dims;
use crate::error::Result;
use crate::lock::Lock;
use crate::shared::Shared;

/// The index of a shard, and how long the shard was when it was read.
pub(super) struct Opened {
    pub index: Index,
    pub shard_len: u64,
}

/// The indices of shards that were read last: as many as fit in 4 MiB, up to 64, and at least one.
pub(super) struct Indices {
    /// The one that was used last stands first.
    kept: Lock<Vec<(Dims<isize>, Shared<Opened>)>>,
    most: usize,
}

impl Indices {
    pub(super) fn new(layout: &Layout) -> Self {
        let bytes = layout.num_chunks().saturating_mul(size_of::<(u64, u64)>()).max(1);
        Indices { kept: Lock::new(Vec::new()), most: ((4 << 20) / bytes).clamp(1, 64) }
    }

    pub(super) fn get(&self, shard: &[isize]) -> Option<Shared<Opened>> {
        let mut kept = self.kept.lock()?;
        let i = kept.iter().position(|(indices, _)| indices[..] == *shard)?;
        kept[..=i].rotate_right(1);
        Some(kept[0].1.clone())
    }

    pub(super) fn keep(&self, shard: Dims<isize>, opened: &Shared<Opened>) -> Result<()> {
        let Some(mut kept) = self.kept.lock() else { return Ok(()) };
        kept.retain(|(indices, _)| *indices != shard);
        kept.truncate(self.most - 1);
        kept.try_reserve(1).map_err(|_| crate::error::ErrorKind::OutOfMemory)?;
        kept.insert(0, (shard, opened.clone()));
        Ok(())
    }

    pub(super) fn forget(&self, shard: &[isize]) {
        if let Some(mut kept) = self.kept.lock() {
            kept.retain(|(indices, _)| indices[..] != *shard);
        }
    }
}
