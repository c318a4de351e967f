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
}

impl DividedChunks {
    /// Begins with a chunk.
    pub(super) fn begin(&mut self, chunk: usize, ranges: Ranges) -> Result<()> {
        alloc::push(&mut self.list, Divided { chunk, left: ranges.count(), is_absent: false })?;
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

    /// So many ranges of a chunk have ended, or will not be started, because it is absent; tells whether they are the
    /// last.
    pub(super) fn absent(&mut self, chunk: usize, num_ended: usize) -> Result<bool> {
        self.list.iter_mut().filter(|divided| divided.chunk == chunk).for_each(|divided| divided.is_absent = true);
        self.ended(chunk, num_ended)
    }

    /// So many ranges of a chunk have ended; tells whether they are the last.
    pub(super) fn ended(&mut self, chunk: usize, num_ended: usize) -> Result<bool> {
        let place = self.list.iter().position(|divided| divided.chunk == chunk).ok_or(ErrorKind::Internal)?;
        let divided = &mut self.list[place];
        divided.left = divided.left.saturating_sub(num_ended);
        let is_complete = divided.left == 0;
        if is_complete {
            self.list.swap_remove(place);
        }
        Ok(is_complete)
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
        assert_eq!((divided.stop(8), divided.ended(7, 1)), (0, Ok(false)));
        assert_eq!((divided.stop(7), divided.is_absent(7)), (3, false));
        assert_eq!((divided.absent(7, 3), divided.is_absent(7)), (Ok(false), true));
        assert_eq!((divided.ended(7, 1), divided.ended(7, 1).is_err()), (Ok(true), true));
    }
}
