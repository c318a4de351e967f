//! Chunks that are read in several ranges, many of them at the same time: which range is next, and when all have ended.

use super::ranges::Ranges;
use crate::alloc;
use crate::error::{ErrorKind, Result};

/// The chunks that are read in several ranges and are not complete.
#[derive(Default)]
pub(super) struct DividedChunks {
    /// The one whose ranges are being started.
    pub begun: Option<Begun>,
    list: Vec<Divided>,
}

/// A chunk whose ranges are being started, and the next of them.
pub(super) struct Begun {
    pub chunk: usize,
    pub ranges: Ranges,
    pub next: usize,
}

struct Divided {
    chunk: usize,
    /// How many ranges have not ended.
    left: usize,
    is_absent: bool,
    /// The version of the chunk that the first range came from, and whether all others came from the same.
    version: Option<Option<u128>>,
    is_mixed: bool,
}

/// Whether the ranges of a chunk have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    NotAll,
    All,
    /// All, but they are of several versions of the chunk, or it is not known that they are not.
    Mixed,
}

impl DividedChunks {
    /// Begins with a chunk.
    pub(super) fn begin(&mut self, chunk: usize, ranges: Ranges) -> Result<()> {
        alloc::push(
            &mut self.list,
            Divided { chunk, left: ranges.count(), is_absent: false, version: None, is_mixed: false },
        )?;
        self.begun = Some(Begun { chunk, ranges, next: 0 });
        Ok(())
    }

    /// Starts no more ranges of a chunk; tells how many there would have been.
    pub(super) fn stop(&mut self, chunk: usize) -> usize {
        self.begun.take_if(|begun| begun.chunk == chunk).map_or(0, |begun| begun.ranges.count() - begun.next)
    }

    /// Whether a range of the chunk was found to be absent.
    pub(super) fn is_absent(&self, chunk: usize) -> bool {
        self.list.iter().any(|divided| divided.chunk == chunk && divided.is_absent)
    }

    /// A range of a chunk was read from this version of it.
    pub(super) fn read_from(&mut self, chunk: usize, version: Option<u128>) {
        for divided in self.list.iter_mut().filter(|divided| divided.chunk == chunk) {
            divided.is_mixed |= version.is_none() || *divided.version.get_or_insert(version) != version;
        }
    }

    /// So many ranges of a chunk have ended, or will not be started, because it is absent.
    pub(super) fn absent(&mut self, chunk: usize, num_ended: usize) -> Result<Ended> {
        self.list.iter_mut().filter(|divided| divided.chunk == chunk).for_each(|divided| divided.is_absent = true);
        self.ended(chunk, num_ended)
    }

    /// So many ranges of a chunk have ended.
    pub(super) fn ended(&mut self, chunk: usize, num_ended: usize) -> Result<Ended> {
        let place = self.list.iter().position(|divided| divided.chunk == chunk).ok_or(ErrorKind::Internal)?;
        let divided = &mut self.list[place];
        divided.left = divided.left.saturating_sub(num_ended);
        if divided.left > 0 {
            return Ok(Ended::NotAll);
        }
        // An absent chunk is so as a whole, whatever was read of it before.
        let is_mixed = divided.is_mixed && !divided.is_absent;
        self.list.swap_remove(place);
        Ok(if is_mixed { Ended::Mixed } else { Ended::All })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::copy::Axis;

    #[test]
    fn a_chunk_is_complete_when_all_its_ranges_have_ended() {
        let ranges = || Ranges::new(&[Axis { count: 5, source: 100, destination: 4 }], 4, 1).unwrap();
        let mut divided = DividedChunks::default();
        divided.begin(7, ranges()).unwrap();
        divided.begun.as_mut().unwrap().next = 2;
        assert_eq!((divided.stop(8), divided.ended(7, 1)), (0, Ok(Ended::NotAll)));
        assert_eq!((divided.stop(7), divided.is_absent(7)), (3, false));
        assert_eq!((divided.absent(7, 3), divided.is_absent(7)), (Ok(Ended::NotAll), true));
        assert_eq!((divided.ended(7, 1), divided.ended(7, 1).is_err()), (Ok(Ended::All), true));
    }

    #[test]
    fn ranges_of_several_versions_of_a_chunk_are_noticed() {
        let ended = |versions: [Option<u128>; 3], is_absent: bool| {
            let ranges = Ranges::new(&[Axis { count: 3, source: 100, destination: 4 }], 4, 1).unwrap();
            let mut divided = DividedChunks::default();
            divided.begin(7, ranges).unwrap();
            versions.iter().for_each(|&version| divided.read_from(7, version));
            assert_eq!(divided.ended(7, 2), Ok(Ended::NotAll));
            if is_absent { divided.absent(7, 1) } else { divided.ended(7, 1) }
        };
        assert_eq!(ended([Some(1); 3], false), Ok(Ended::All));
        assert_eq!(ended([Some(1), Some(2), Some(1)], false), Ok(Ended::Mixed));
        assert_eq!(ended([Some(1), Some(1), None], false), Ok(Ended::Mixed));
        assert_eq!(ended([None; 3], false), Ok(Ended::Mixed));
        assert_eq!(ended([Some(1), Some(2), Some(1)], true), Ok(Ended::All));
    }
}
