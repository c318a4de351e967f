//! The chunks of a plan, shard by shard, so that all that is read of a shard is read while it is open: from one version
//! of it, and neighbours at once.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use crate::dims::{self, Dims};
use crate::error::Result;
use crate::plan::Plan;

/// The shards that a plan touches, which threads share.
pub(super) struct Shards<'p> {
    plan: &'p Plan<'p>,
    /// The next one; `None` at the end.
    next: Mutex<Option<Shard>>,
}

/// The chunks of a plan that are in one shard: along each dimension their numbers among those that the plan touches.
pub(super) struct Shard {
    ranges: Dims<Range<usize>>,
    /// The next chunk; `None` at the end.
    at: Option<Dims<usize>>,
}

impl<'p> Shards<'p> {
    /// The shards of a plan that touches chunks.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(super) fn new(plan: &'p Plan<'p>) -> Result<Self> {
        let ranges = dims::copied((0..plan.rank()).map(|d| group(plan, d, 0)))?;
        let next = (plan.num_chunks() > 0).then(|| Shard::new(ranges)).transpose()?;
        Ok(Shards { plan, next: Mutex::new(next) })
    }

    /// The next shard, if it suits.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(super) fn take_if(&self, suits: impl FnOnce(&Shard) -> bool) -> Result<Option<Shard>> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(shard) = next.take_if(|shard| suits(shard)) else { return Ok(None) };
        let mut ranges = dims::copied(shard.ranges.iter().cloned())?;
        // The last dimension that is not at its end steps on, and those behind it begin anew.
        for d in (0..ranges.len()).rev() {
            if ranges[d].end < self.plan.dimensions()[d].len() {
                ranges[d] = group(self.plan, d, ranges[d].end);
                *next = Some(Shard::new(ranges)?);
                break;
            }
            ranges[d] = group(self.plan, d, 0);
        }
        Ok(Some(shard))
    }
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
    fn new(ranges: Dims<Range<usize>>) -> Result<Self> {
        let at = dims::copied(ranges.iter().map(|range| range.start))?;
        Ok(Shard { ranges, at: Some(at) })
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
            let shards = Shards::new(&plan).unwrap();
            let (mut found, mut seen) = (Vec::new(), Vec::new());
            assert!(shards.take_if(|_| false).unwrap().is_none());
            while let Some(mut shard) = shards.take_if(|_| true).unwrap() {
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
}
