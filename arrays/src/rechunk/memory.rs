//! How much memory a pass takes at most: the boxes, what each thread needs to decode and to encode, what is on its way
//! from and to a storage with latency, what is kept of the index of the source's chunks, and a reserve for all that is
//! small.

use super::pass::Side;
use crate::grid::Access;

/// What is always left for small allocations, stacks of threads, and the program's own code and data as it is used.
const RESERVE: usize = 8 << 20;
const RESERVE_OF_THREAD: usize = 256 << 10;

/// What part of the memory may be on its way in a storage with latency, each for reading and for writing.
const IN_FLIGHT: usize = 8;

/// How a pass works: so many boxes at the same time, each by so many threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Team {
    pub lanes: usize,
    pub threads: usize,
}

impl Team {
    /// The teams of so many threads, from one box for each thread down to one box for all of them.
    pub(super) fn all(threads: usize) -> Vec<Team> {
        let mut teams = vec![Team { lanes: threads, threads: 1 }];
        if threads > 3 {
            teams.push(Team { lanes: 2, threads: threads / 2 });
        }
        if threads > 1 {
            teams.push(Team { lanes: 1, threads });
            // Fewer threads need less.
            teams.push(Team { lanes: 1, threads: 1 });
        }
        teams
    }
}

/// The memory of a pass from one array to another.
pub(super) struct Needs<'a> {
    /// `None` stands for a temporary array of which nothing is known yet.
    pub source: Option<&'a Side<'a>>,
    pub target: Option<&'a Side<'a>>,
    pub team: Team,
    /// All that there is.
    pub limit: usize,
}

impl Needs<'_> {
    /// How many bytes may be on their way in each lane.
    pub(super) fn in_flight(&self) -> usize {
        self.limit / IN_FLIGHT / self.team.lanes
    }

    /// The most bytes that a pass takes with boxes of these lengths, one for each dimension of the new array.
    pub(super) fn bytes(&self, lens: &[usize]) -> usize {
        let Team { lanes, threads } = self.team;
        let one = self.source.or(self.target).map_or(1, |side| side.variable.element_size());
        let bytes = lens.iter().fold(one, |product, len| product.saturating_mul(*len));
        let reads = self.source.map_or(0, |side| self.reading(side, lens));
        let writes = self.target.map_or(0, |side| self.writing(side, lens));
        let lane = bytes.saturating_add(reads).saturating_add(writes);
        let reserve = RESERVE.saturating_add((lanes * threads).saturating_mul(RESERVE_OF_THREAD));
        let index = self.source.map_or(0, |side| side.index_bytes);
        lane.saturating_mul(lanes).saturating_add(reserve).saturating_add(index)
    }

    /// What a lane needs to read.
    fn reading(&self, side: &Side<'_>, lens: &[usize]) -> usize {
        let readers = self.team.threads.min(side.chunks_in(lens, Access::Read)).max(1);
        let one = side.store.read_memory(side.chunk_bytes(Access::Read), side.range(lens, side.store.gap()));
        let flying = if side.store.is_in_flight(Access::Read) { self.in_flight() } else { 0 };
        readers.saturating_mul(one).saturating_add(flying)
    }

    /// What a lane needs to write.
    fn writing(&self, side: &Side<'_>, lens: &[usize]) -> usize {
        let threads = self.team.threads;
        let writers = threads.min(side.chunks_in(lens, Access::Write)).max(1);
        let chunk_bytes = side.chunk_bytes(Access::Write);
        let one = side.store.write_memory(chunk_bytes, !side.lies_whole(lens), (threads / writers).max(1));
        let flying = if side.store.is_in_flight(Access::Write) { self.in_flight().max(one) } else { 0 };
        writers.saturating_mul(one).saturating_add(flying)
    }
}
