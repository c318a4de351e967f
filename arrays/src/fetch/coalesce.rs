//! Which ranges of an object are read by one request.
//!
//! A request costs time at the storage and on the way, though many are in flight at the same time; what lies between
//! two ranges costs as many bytes. So of the gaps between the ranges that are needed of an object
//!
//! - each below [`NEAR`] is read, for the headers of a request and of its answer have about a kilobyte,
//! - of the others the smallest are read, as many as together have at most `excess` percent of the bytes needed.
//!
//! Each gap that is read saves one request, however wide it is, so nothing else saves more requests for as many bytes.
//! No gap is read that has as many bytes as the storage's [`gap`](crate::object::ObjectStore::gap), and no request
//! brings more than `largest`, unless a single range does. Without a bound (`excess` is `None`) each gap below the
//! storage's is read: bytes of a file cost less than a system call, or the program has set a gap and knows why.
//!
//! By the same rule an object is read at once, with its index, before it is known where its chunks lie in it: all that
//! is not needed counts as one gap then, and each chunk as long as it may be.

use std::ops::Range;

use crate::alloc;
use crate::error::Result;
use crate::object::{self, Storage};

/// Gaps of fewer bytes are always read.
const NEAR: u64 = 4 << 10;

/// Wider gaps within a chunk that is stored as it is are not read, if there is a bound. Narrower ones are: to read the
/// whole chunk, as is done without ranges, is one request.
const WITHIN_CHUNK: usize = 64 << 10;

/// The gap between parts of a chunk from which on they are ranges of their own.
pub(super) fn gap_within_chunk(storage: &Storage) -> usize {
    let is_bounded = object::latency(&**storage).is_some_and(|limits| limits.excess.is_some());
    if is_bounded { storage.gap().min(WITHIN_CHUNK) } else { storage.gap() }
}

/// What decides it in one storage.
pub(super) struct Policy {
    pub gap: usize,
    pub largest: usize,
    pub excess: Option<usize>,
}

impl Policy {
    /// Whether an object is read at once of which chunks of so many bytes are needed, at most, and of so many not.
    pub(super) fn is_whole(&self, needed: usize, others: usize) -> bool {
        let is_little = |excess| others as u128 * 100 <= needed as u128 * excess as u128;
        others == 0 || others < self.gap && self.excess.is_none_or(is_little)
    }

    /// Which of some ranges of an object, sorted by their beginnings, are read together with the one before.
    pub(super) fn joined(&self, ranges: impl Iterator<Item = Range<u64>> + Clone) -> Result<Vec<bool>> {
        let (mut gaps, mut joined) = (Vec::new(), Vec::new());
        let (mut end, mut needed) = (None, 0u64);
        for range in ranges.clone() {
            let before = end.unwrap_or(0);
            let gap = range.start.saturating_sub(before);
            if end.is_some() && gap < self.gap.max(1) as u64 {
                alloc::push(&mut gaps, (gap, joined.len()))?;
            }
            alloc::push(&mut joined, false)?;
            needed = needed.saturating_add(range.end.saturating_sub(range.start.max(before)));
            end = Some(before.max(range.end));
        }
        let mut rest = u64::MAX;
        if let Some(excess) = self.excess {
            gaps.sort_unstable();
            rest = u64::try_from(u128::from(needed) * excess as u128 / 100).unwrap_or(u64::MAX);
        }
        for (gap, number) in gaps {
            match rest.checked_sub(if gap < NEAR || self.excess.is_none() { 0 } else { gap }) {
                Some(less) => (rest, joined[number]) = (less, true),
                None => break,
            }
        }
        let mut together = 0..0;
        for (range, joined) in ranges.zip(&mut joined) {
            let end = together.end.max(range.end);
            *joined &= end.saturating_sub(together.start) <= self.largest as u64;
            together = if *joined { together.start..end } else { range };
        }
        Ok(joined)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The requests for some ranges, each by its beginning and length: where they begin and how many bytes they bring.
    fn requests(policy: &Policy, ranges: &[(u64, u64)]) -> Vec<(u64, u64)> {
        let ranges = ranges.iter().map(|&(begin, len)| begin..begin.saturating_add(len));
        let joined = policy.joined(ranges.clone()).unwrap();
        let mut requests: Vec<Range<u64>> = Vec::new();
        for (range, joined) in ranges.zip(joined) {
            match requests.last_mut() {
                Some(last) if joined => last.end = last.end.max(range.end),
                _ => requests.push(range),
            }
        }
        requests.into_iter().map(|request| (request.start, request.end - request.start)).collect()
    }

    fn unbounded(gap: usize, largest: usize) -> Policy {
        Policy { gap, largest, excess: None }
    }

    #[test]
    fn neighbours_are_read_at_once() {
        let ranges = [(0, 10), (10, 10), (25, 5), (31, 4)];
        for (gap, largest, expected) in [
            (0, 1000, &[(0, 20), (25, 5), (31, 4)][..]),
            (5, 1000, &[(0, 20), (25, 10)]),
            (6, 1000, &[(0, 35)]),
            (6, 35, &[(0, 35)]),
            (6, 34, &[(0, 30), (31, 4)]),
            (6, 29, &[(0, 20), (25, 10)]),
            // One that is longer is read all the same.
            (6, 9, &[(0, 10), (10, 10), (25, 5), (31, 4)]),
        ] {
            assert_eq!(requests(&unbounded(gap, largest), &ranges), expected, "{gap} {largest}");
        }
        assert_eq!(requests(&unbounded(6, 9), &[]), []);
        assert_eq!(requests(&unbounded(6, 9), &[(1 << 40, 3)]), [(1 << 40, 3)]);
    }

    #[test]
    fn ranges_that_overlap_are_read_once() {
        let policy = unbounded(0, 1000);
        assert_eq!(requests(&policy, &[(0, 100), (0, 100), (50, 10), (99, 2)]), [(0, 101)]);
        assert_eq!(requests(&policy, &[(u64::MAX - 1, 9), (u64::MAX, 0)]), [(u64::MAX - 1, 1)]);
    }

    /// How few requests there can be, of which each brings at most `largest` bytes, and all together at most `most` in
    /// gaps that count: by trying all ways to join neighbours.
    fn fewest(ranges: &[(u64, u64)], policy: &Policy, most: u64) -> usize {
        let gaps: Vec<u64> = ranges.windows(2).map(|pair| pair[1].0 - (pair[0].0 + pair[0].1)).collect();
        let affordable = (0u32..1 << gaps.len()).filter(|joined| {
            let read = |i: &usize| joined >> i & 1 == 1;
            let cost = (0..gaps.len()).filter(read).map(|i| if gaps[i] < NEAR { 0 } else { gaps[i] }).sum::<u64>();
            cost <= most && (0..gaps.len()).filter(read).all(|i| gaps[i] < policy.gap.max(1) as u64)
        });
        affordable.map(|joined| ranges.len() - joined.count_ones() as usize).min().unwrap()
    }

    #[test]
    fn no_other_way_has_fewer_requests_for_as_many_bytes() {
        let mut seed = 1u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % below
        };
        let mut saved = 0;
        for round in 0..400 {
            let kib = |n: u64| n << 10;
            let (mut at, mut ranges) = (random(100), Vec::new());
            for _ in 0..1 + random(9) {
                let len = 1 + random(kib(64));
                ranges.push((at, len));
                // None, near, or as wide as a chunk; often several of the same width.
                at += len + [0, random(kib(4)), kib(4), kib(5), kib(16), random(kib(64))][random(6) as usize];
            }
            let needed = ranges.iter().map(|(_, len)| len).sum::<u64>();
            let excess = [0, 5, 10, 25, 100][round % 5];
            let policy = Policy { gap: kib(32) as usize, largest: usize::MAX, excess: Some(excess) };
            let most = needed * excess as u64 / 100;
            let found = requests(&policy, &ranges);
            assert_eq!(found.len(), fewest(&ranges, &policy, most), "{ranges:?} {excess}");
            let brought = found.iter().map(|(_, len)| len).sum::<u64>();
            assert!(brought - needed < most + ranges.len() as u64 * NEAR, "{ranges:?} {excess}");
            saved += usize::from(brought > needed && excess > 0);
        }
        assert!(saved > 100, "{saved}");
    }

    /// Chunks of 15 kB that lie in the order in which zarr-python writes those of a shard: a
    /// map has every other one.
    #[test]
    fn what_is_read_in_vain_is_a_share_of_what_is_needed() {
        let len = 15_000;
        let map: Vec<(u64, u64)> = (0..24).map(|i| (2 * i * len, len)).collect();
        let policy = |excess| Policy { gap: 1 << 20, largest: 16 << 20, excess };
        assert_eq!(requests(&policy(Some(10)), &map).len(), 22);
        assert_eq!(requests(&policy(Some(0)), &map).len(), 24);
        assert_eq!(requests(&policy(None), &map), [(0, 47 * len)]);
    }

    /// The chunks of a shard of 45 x 45 that a window of 9 x 9 needs, where they lie in the order in which zarr-python
    /// writes them: a satellite's scene as GDAL's issue 14018 has it. Each piece of neighbours is one range.
    fn window() -> Vec<(u64, u64)> {
        let z = |row: u64, column: u64| {
            (0..6).fold(0, |z, bit| z | (row >> bit & 1) << (2 * bit + 1) | (column >> bit & 1) << (2 * bit))
        };
        let mut chunks: Vec<_> = (0..45 * 45).map(|i| (z(i / 45, i % 45), i / 45 < 9 && i % 45 < 9)).collect();
        chunks.sort_unstable();
        let (len, mut pieces) = (80 << 10, Vec::new());
        for (at, _) in chunks.iter().enumerate().filter(|(_, (_, is_needed))| *is_needed) {
            match pieces.last_mut() {
                Some((begin, before)) if *begin + *before == at as u64 * len => *before += len,
                _ => pieces.push((at as u64 * len, len)),
            }
        }
        pieces
    }

    /// With the index, the window takes 8 requests for at most 1.1 of the bytes that it needs, and fewer are not
    /// possible. 5 requests, of which 4 are for the chunks, need 1.35 of them. So no rule gives both.
    #[test]
    fn a_window_of_a_scene_takes_eight_requests_or_a_third_more_bytes() {
        let window = window();
        assert_eq!((window.len(), window.iter().map(|(_, len)| len / (80 << 10)).sum::<u64>()), (13, 81));
        let needed = window.iter().map(|(_, len)| len).sum::<u64>();
        let policy = |excess| Policy { gap: 1 << 30, largest: usize::MAX, excess };
        let fewest = |percent| fewest(&window, &policy(None), needed * percent / 100);
        assert_eq!((requests(&policy(Some(10)), &window).len(), fewest(10)), (7, 7));
        assert_eq!((0..1000).find(|percent| fewest(*percent) <= 4), Some(35));
        assert_eq!(requests(&policy(Some(35)), &window).len(), 4);
    }

    #[test]
    fn an_object_is_read_at_once_if_little_of_it_is_not_needed() {
        let kib = |n: usize| n << 10;
        for (gap, excess, needed, others, expected) in [
            (1, Some(10), 0, 0, true),
            (0, Some(0), 1, 0, true),
            (kib(1024), Some(10), kib(1000), kib(100), true),
            (kib(1024), Some(10), kib(1000), kib(101), false),
            (kib(1024), Some(0), kib(1000), 1, false),
            (kib(100), Some(10), kib(1000), kib(100), false),
            (kib(1024), None, kib(1), kib(1023), true),
            (kib(1024), None, kib(1), kib(1024), false),
            (usize::MAX, Some(10), usize::MAX - 1, usize::MAX / 10, true),
            (usize::MAX, Some(10), usize::MAX / 2, usize::MAX / 10, false),
        ] {
            let policy = Policy { gap, largest: 1, excess };
            assert_eq!(policy.is_whole(needed, others), expected, "{gap} {excess:?} {needed} {others}");
        }
    }
}
