//! The chunks of a plan, shard by shard, so that all that is read of a shard is read while it is open: from one version
//! of it, and neighbours at once.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use crate::dims::{self, Dims};
use crate::error::Result;
use crate::plan::Plan;

/// The shards that a plan touches, which threads share.
pub(super) struct Shards<'p> {
    plan: &'p Plan<'p>,
    /// How many threads divide each shard; one if a shard is one thread's.
    dividing: usize,
    next: Mutex<Next>,
}

/// What has not been taken.
struct Next {
    /// The next shard, and what is left of it; `None` at the end.
    shard: Option<(Ranges, Shard)>,
    /// How many chunks there are in all.
    left: usize,
}

/// The chunks of a plan that are in one shard: along each dimension their numbers among those that the plan touches.
type Ranges = Dims<Range<usize>>;

/// Some or all of these chunks.
pub(super) struct Shard {
    ranges: Ranges,
    /// The next chunk; `None` at the end.
    at: Option<Dims<usize>>,
}

impl<'p> Shards<'p> {
    /// The shards of a plan, for so many threads. A shard is one thread's, unless there are so few of them that all can
    /// [stay open](Self::num_opened): then threads divide each.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(super) fn new(plan: &'p Plan<'p>, workers: usize) -> Result<Self> {
        let ranges = dims::copied((0..plan.rank()).map(|d| group(plan, d, 0)))?;
        let left = plan.num_chunks();
        let shard = match left {
            0 => None,
            _ => Some((dims::copied(ranges.iter().cloned())?, Shard::new(ranges)?)),
        };
        let dividing = if are_few(plan) { workers } else { 1 };
        Ok(Shards { plan, dividing, next: Mutex::new(Next { shard, left }) })
    }

    /// Whether there are shards of several chunks that the plan can be divided by: points are in no order of shards.
    pub(super) fn are_there(plan: &Plan<'_>) -> bool {
        !plan.is_of_points() && (0..plan.rank()).any(|d| plan.variable().write_ratio(d).is_some_and(|ratio| ratio > 1))
    }

    /// How many threads there is use for, of so many, where a shard is one thread's.
    pub(super) fn threads(plan: &Plan<'_>, most: usize) -> usize {
        if Shards::are_there(plan) { count(plan, most).clamp(1, most.max(1)) } else { most }
    }

    /// How many shards have to stay open until all are read, because threads divide them.
    pub(super) fn num_opened(&self) -> usize {
        if self.dividing > 1 { FEW } else { 0 }
    }

    /// The next shard or part of one, if its number of chunks suits, beside the number of all that are left.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(super) fn take_if(&self, suits: impl FnOnce(usize, usize) -> bool) -> Result<Option<Shard>> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let Next { shard, left } = &mut *next;
        let Some((all, rest)) = shard else { return Ok(None) };
        let taken = match self.dividing {
            1 => rest.first(usize::MAX)?,
            threads => rest.first(part(*left, threads))?,
        };
        if !suits(taken.len(), *left) {
            return Ok(None);
        }
        if !rest.remove(&taken)? {
            *shard = match self.after(all)? {
                Some(all) => Some((dims::copied(all.iter().cloned())?, Shard::new(all)?)),
                None => None,
            };
        }
        *left -= taken.len();
        Ok(Some(taken))
    }

    /// The first in the plan's order of the chunks that have not been taken. It need not be in the next shard or part
    /// of one.
    pub(super) fn first(&self) -> Option<usize> {
        let next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let (all, rest) = next.shard.as_ref()?;
        // All shards after that have later ones.
        self.first_after(all).into_iter().chain(rest.chunk(self.plan)).min()
    }

    /// The first chunk of the shard after this one.
    fn first_after(&self, all: &Ranges) -> Option<usize> {
        let dimensions = self.plan.dimensions();
        // As in `after`.
        let step = (0..all.len()).rev().find(|&d| all[d].end < dimensions[d].len())?;
        let at = |d: usize| match d.cmp(&step) {
            Ordering::Less => all[d].start,
            Ordering::Equal => all[d].end,
            Ordering::Greater => 0,
        };
        Some((0..all.len()).fold(0, |number, d| number * dimensions[d].len() + at(d)))
    }

    /// The shard after this one.
    fn after(&self, all: &Ranges) -> Result<Option<Ranges>> {
        let mut ranges = dims::copied(all.iter().cloned())?;
        // The last dimension that is not at its end steps on, and those behind it begin anew.
        for d in (0..ranges.len()).rev() {
            if ranges[d].end < self.plan.dimensions()[d].len() {
                ranges[d] = group(self.plan, d, ranges[d].end);
                return Ok(Some(ranges));
            }
            ranges[d] = group(self.plan, d, 0);
        }
        Ok(None)
    }
}

/// So many shards at most stay open, where threads divide them.
const FEW: usize = 16;

/// How many of the chunks that are left one of so many threads takes next. As the parts become ever smaller, no thread
/// waits for more than another's last chunk at the end.
pub(super) fn part(left: usize, threads: usize) -> usize {
    const PARTS: usize = 8;
    if threads <= 1 { left } else { left.div_ceil(threads.saturating_mul(PARTS)) }
}

/// Whether all shards that a plan touches can stay open.
fn are_few(plan: &Plan<'_>) -> bool {
    count(plan, FEW) <= FEW
}

/// How many shards a plan touches, or more than so many.
fn count(plan: &Plan<'_>, most: usize) -> usize {
    let mut num = 1;
    for d in 0..plan.rank() {
        let (mut groups, mut end) = (0, 0);
        while end < plan.dimensions()[d].len() && num * groups <= most {
            (groups, end) = (groups + 1, group(plan, d, end).end);
        }
        num *= groups;
    }
    num
}

/// Those of the chunks along a dimension, from this one on, that are in the same shard.
fn group(plan: &Plan<'_>, d: usize, first: usize) -> Range<usize> {
    let ratio = plan.variable().write_ratio(d).unwrap_or(1) as isize;
    let projections = &plan.dimensions()[d];
    let shard = |i: usize| projections.get(i).map(|projection| projection.chunk_index.div_euclid(ratio));
    let (of, mut low, mut high) = (shard(first), first + 1, projections.len().max(first + 1));
    while low < high {
        let middle = low + (high - low) / 2;
        if shard(middle) == of { low = middle + 1 } else { high = middle }
    }
    first..low
}

impl Shard {
    fn new(ranges: Ranges) -> Result<Self> {
        let at = dims::copied(ranges.iter().map(|range| range.start))?;
        Ok(Shard { ranges, at: Some(at) })
    }

    /// The first of its chunks, as many as may be: whole rows along the first dimension that has more than one.
    fn first(&self, most: usize) -> Result<Shard> {
        let mut ranges = dims::copied(self.ranges.iter().cloned())?;
        if let Some(range) = ranges.iter_mut().find(|range| range.len() > 1) {
            let row = self.len() / range.len();
            range.end = range.start + (most / row.max(1)).clamp(1, range.len());
        }
        Shard::new(ranges)
    }

    /// Takes these away, its first chunks; `false` if none is left.
    fn remove(&mut self, first: &Shard) -> Result<bool> {
        let mut ranges = dims::copied(self.ranges.iter().cloned())?;
        let mut both = ranges.iter_mut().zip(&first.ranges);
        let Some((range, taken)) = both.find(|(range, taken)| range.end > taken.end) else { return Ok(false) };
        range.start = taken.end;
        *self = Shard::new(ranges)?;
        Ok(true)
    }

    /// How many chunks it has.
    pub(super) fn len(&self) -> usize {
        self.ranges.iter().fold(1, |product, range| range.len().saturating_mul(product))
    }

    /// The number of the next chunk in the plan. They come in the plan's order.
    pub(super) fn chunk(&self, plan: &Plan<'_>) -> Option<usize> {
        let number =
            |at: &Dims<usize>| at.iter().zip(plan.dimensions()).fold(0, |number, (at, d)| number * d.len() + at);
        self.at.as_ref().map(number)
    }

    /// Goes to the next chunk.
    pub(super) fn advance(&mut self) {
        let Some(at) = &mut self.at else { return };
        for d in (0..at.len()).rev() {
            at[d] += 1;
            if at[d] < self.ranges[d].end {
                return;
            }
            at[d] = self.ranges[d].start;
        }
        self.at = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Access, Hyperslab, Variable};

    #[test]
    fn each_chunk_comes_once_and_shards_come_one_after_another() {
        let mut variable = Variable::new(&[30, 40], &[2, 3], 1).unwrap();
        variable.set_write_grid(Some(&[6, 12])).unwrap();
        for (start, count, stride) in [
            ([0, 0], [30, 40], [1, 1]),
            ([5, 7], [20, 3], [1, 11]),
            ([2, 0], [5, 4], [6, 10]),
            ([3, 3], [1, 1], [1, 1]),
            ([3, 3], [0, 1], [1, 1]),
        ] {
            let hyperslab = Hyperslab::new(&start, &count).with_stride(&stride);
            let plan = Plan::new(&variable, &hyperslab, Access::Read).unwrap();
            let shards = Shards::new(&plan, 1).unwrap();
            let (mut found, mut seen) = (Vec::new(), Vec::new());
            assert!(shards.take_if(|_, _| false).unwrap().is_none());
            while let Some(mut shard) = shards.take_if(|_, _| true).unwrap() {
                let mut num = 0;
                while let Some(chunk) = shard.chunk(&plan) {
                    let mut projections = [Default::default(); 2];
                    plan.chunk(chunk, &mut projections).unwrap();
                    let of = [0, 1].map(|d| projections[d].chunk_index.div_euclid([3, 4][d]));
                    if seen.last() != Some(&of) {
                        assert!(!seen.contains(&of));
                        seen.push(of);
                    }
                    found.push(chunk);
                    shard.advance();
                    num += 1;
                }
                assert_eq!(num, shard.len());
            }
            found.sort_unstable();
            assert!(found.into_iter().eq(0..plan.num_chunks()));
        }
    }

    #[test]
    fn threads_divide_shards_that_can_stay_open() {
        let mut variable = Variable::new(&[30, 40, 5], &[2, 3, 5], 1).unwrap();
        variable.set_write_grid(Some(&[6, 12, 5])).unwrap();
        // With 3 x 4 chunks in a shard.
        for (count, num_parts, longest) in [([30, 40, 5], 20, 12), ([30, 9, 5], 21, 3), ([6, 12, 5], 6, 4)] {
            let plan = Plan::new(&variable, &Hyperslab::new(&[0; 3], &count), Access::Read).unwrap();
            let shards = Shards::new(&plan, 2).unwrap();
            let (mut found, mut lens) = (Vec::new(), Vec::new());
            let missing = |found: &[usize]| (0..plan.num_chunks()).find(|chunk| !found.contains(chunk));
            while let Some(mut part) = shards.take_if(|_, _| true).unwrap() {
                lens.push(part.len());
                while let Some(chunk) = part.chunk(&plan) {
                    found.push(chunk);
                    part.advance();
                }
                assert_eq!(shards.first(), missing(&found));
            }
            assert_eq!((lens.len(), lens.into_iter().max()), (num_parts, Some(longest)));
            found.sort_unstable();
            assert!(found.into_iter().eq(0..plan.num_chunks()));
        }
    }
}
