//! Who fetches a chunk that several processes need: a rule that each of them applies for itself, without a message.
//!
//! Each process has a plan, and knows those of all others. The owner of a chunk is one of the plans that need most of
//! it: that select at least half as many of its elements as the plan that selects the most. If these are `k` plans,
//! the box of chunks that all of them reach is divided among them: of the `M` chunks of the box, in row-major order,
//! the `m`-th belongs to number `m * k / M` of the `k`. So plans that need the same chunks own equally many of them, or
//! one more, and those of each lie side by side, to be read together.

use crate::dims::{self, Dims};
use crate::error::{ErrorKind, Result};
use crate::plan::Plan;
use crate::projection::{Projection, Projections};

/// Which of several plans owns a chunk: its number among them. `None` if none of them touches the chunk. The order of
/// the plans counts: all who ask must give the same.
///
/// # Errors
/// `Argument` if the plans are for different grids of chunks, if one of them is of points, or if there is not one index
/// per dimension.
pub fn owner<'p>(plans: impl Iterator<Item = &'p Plan<'p>> + Clone, chunk_indices: &[isize]) -> Result<Option<usize>> {
    let Some(any) = plans.clone().next() else { return Ok(None) };
    if chunk_indices.len() != any.rank() {
        return Err(ErrorKind::Argument("there must be one chunk index for each dimension").into());
    }
    let mut most = 0;
    for plan in plans.clone() {
        any.check_grid(plan)?;
        plan.check_product()?;
        most = most.max(selected(plan, chunk_indices));
    }
    if most == 0 {
        return Ok(None);
    }
    let needs = |plan: &Plan<'_>| selected(plan, chunk_indices) >= most.div_ceil(2);

    // The box that all of them reach, from its first chunk to its last along each dimension.
    let (mut reached, mut num_owners): (Dims<(isize, isize)>, usize) = (Dims::new(), 0);
    dims::fill(&mut reached, chunk_indices.len(), (isize::MIN, isize::MAX))?;
    for plan in plans.clone().filter(|plan| needs(plan)) {
        num_owners += 1;
        for (reached, dimension) in reached.iter_mut().zip(plan.dimensions()) {
            let (first, last) = ends(dimension);
            *reached = (reached.0.max(first), reached.1.min(last));
        }
    }
    let (mut number, mut len) = (0u128, 1u128);
    for (&chunk, (first, last)) in chunk_indices.iter().zip(reached) {
        let along = last.abs_diff(first) as u128 + 1;
        // What does not fit into 64 bits is divided by its slowest dimensions alone.
        let Some(more) = len.checked_mul(along).filter(|&more| more <= 1 << 64) else { break };
        number = number * along + chunk.abs_diff(first) as u128;
        len = more;
    }
    let turn = (number * num_owners as u128 / len) as usize;
    Ok(plans.enumerate().filter(|(_, plan)| needs(plan)).nth(turn).map(|(owner, _)| owner))
}

/// [`owner`] of the i-th chunk of one of the plans.
///
/// # Errors
/// Those of `owner`; `Index` beyond the plan's last chunk; `OutOfMemory`.
pub fn owner_of<'p>(plans: impl Iterator<Item = &'p Plan<'p>> + Clone, plan: &Plan<'_>, i: usize) -> Result<usize> {
    let (mut projections, mut indices): (Dims<Projection>, Dims<isize>) = (Dims::new(), Dims::new());
    dims::fill(&mut projections, plan.rank(), Projection::default())?;
    plan.chunk(i, &mut projections)?;
    dims::reserve(&mut indices, plan.rank())?;
    indices.extend(projections.iter().map(|projection| projection.chunk_index));
    // The plan itself touches the chunk, if it is one of them.
    owner(plans, &indices)?.ok_or(ErrorKind::Argument("the plan is none of the plans").into())
}

/// How many elements of a chunk a plan selects.
fn selected(plan: &Plan<'_>, chunk_indices: &[isize]) -> usize {
    let mut elements = usize::from(plan.num_chunks() > 0);
    for (dimension, &index) in plan.dimensions().iter().zip(chunk_indices) {
        let projection = dimension.find(index).and_then(|p| dimension.get(p));
        // A chunk has fewer elements than a `usize` counts.
        elements *= projection.map_or(0, |projection| projection.iocount);
        if elements == 0 {
            break;
        }
    }
    elements
}

/// The indices of the first and the last chunk that are touched, of which there are some.
fn ends(dimension: &Projections) -> (isize, isize) {
    let at = |p| dimension.get(p).map_or(0, |projection| projection.chunk_index);
    (at(0), at(dimension.len().wrapping_sub(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Access;
    use crate::hyperslab::Hyperslab;
    use crate::variable::Variable;
    use std::collections::HashMap;

    type Slab<'a> = (&'a [usize], &'a [usize], &'a [isize]);

    fn plans<'v>(variable: &'v Variable, slabs: &[Slab<'_>]) -> Vec<Plan<'v>> {
        let plan = |&(start, count, stride): &Slab<'_>| {
            Plan::new(variable, &Hyperslab::new(start, count).with_signed_stride(stride), Access::Read).unwrap()
        };
        slabs.iter().map(plan).collect()
    }

    /// Each chunk of all plans, and how many of its elements each plan selects: element by element.
    fn by_force(variable: &Variable, slabs: &[Slab<'_>]) -> HashMap<Vec<isize>, Vec<usize>> {
        let mut found: HashMap<_, Vec<usize>> = HashMap::new();
        let dimensions = variable.dimensions();
        for (rank, &(start, count, stride)) in slabs.iter().enumerate() {
            for number in 0..count.iter().product() {
                let mut rest: usize = number;
                let mut chunk: Vec<_> = (0..count.len())
                    .rev()
                    .map(|d| {
                        let element = start[d] + rest % count[d] * stride[d] as usize;
                        rest /= count[d];
                        (element / dimensions[d].chunklen()) as isize
                    })
                    .collect();
                chunk.reverse();
                found.entry(chunk).or_insert_with(|| vec![0; slabs.len()])[rank] += 1;
            }
        }
        found
    }

    /// Checks the owners of all chunks; returns how many each plan owns.
    fn check(dimlens: &[usize], chunklens: &[usize], slabs: &[Slab<'_>]) -> Vec<usize> {
        let variable = Variable::new(dimlens, chunklens, 4).unwrap();
        let plans = plans(&variable, slabs);
        let expected = by_force(&variable, slabs);
        let mut owned = vec![0; slabs.len()];
        for (chunk, needs) in &expected {
            let owner = owner(plans.iter(), chunk).unwrap().unwrap();
            assert!(2 * needs[owner] >= *needs.iter().max().unwrap(), "{chunk:?} {needs:?} {owner}");
            owned[owner] += 1;
            for (plan, &need) in plans.iter().zip(needs) {
                assert_eq!(plan.find(chunk.iter().copied()).is_some(), need > 0);
            }
        }
        for (one, plan) in plans.iter().enumerate() {
            for i in 0..plan.num_chunks() {
                let mut projections = vec![Default::default(); dimlens.len()];
                plan.chunk(i, &mut projections).unwrap();
                let chunk: Vec<_> = projections.iter().map(|projection| projection.chunk_index).collect();
                for (two, other) in plans.iter().enumerate() {
                    let there = plan.intersect(i, other).unwrap();
                    assert_eq!(there.is_some(), expected[&chunk][two] > 0, "{one} {two}");
                    if let Some(there) = there {
                        assert_eq!(other.intersect(there, plan).unwrap(), Some(i));
                    }
                }
            }
        }
        let untouched = [1_000_000, 0, 0];
        assert_eq!(super::owner(plans.iter(), &untouched[..dimlens.len()]).unwrap(), None);
        owned
    }

    #[test]
    fn columns_share_all_chunks_equally() {
        let columns: [Slab<'_>; 3] = [
            (&[0, 0, 0], &[10, 6, 3], &[1; 3]),
            (&[0, 0, 3], &[10, 6, 3], &[1; 3]),
            (&[0, 0, 6], &[10, 6, 3], &[1; 3]),
        ];
        let owned = check(&[10, 6, 9], &[1, 6, 9], &columns);
        assert!(owned.iter().all(|&owned| owned == 3 || owned == 4), "{owned:?}");
    }

    #[test]
    fn a_halo_does_not_make_an_owner() {
        // Rows 0 to 8 and 7 to 15, in chunks of 4: each owns its half.
        assert_eq!(check(&[16, 8], &[4, 4], &[(&[0, 0], &[9, 8], &[1; 2]), (&[7, 0], &[9, 8], &[1; 2])]), [4, 4]);
        // A border within chunks: the chunks on it are divided.
        assert_eq!(check(&[12, 16], &[4, 4], &[(&[0, 0], &[6, 16], &[1; 2]), (&[6, 0], &[6, 16], &[1; 2])]), [6, 6]);
        // Who needs all of a chunk owns it.
        assert_eq!(check(&[8], &[4], &[(&[0], &[1], &[1]), (&[0], &[8], &[1])]), [0, 2]);
    }

    #[test]
    fn owners_at_random_need_much_of_their_chunks() {
        let mut rng = fastrand::Rng::with_seed(38);
        for _ in 0..300 {
            let rank = rng.usize(1..=3);
            let dimlens: Vec<_> = (0..rank).map(|_| rng.usize(1..12)).collect();
            let chunklens: Vec<_> = (0..rank).map(|_| rng.usize(1..6)).collect();
            let slabs: Vec<[Vec<usize>; 3]> = (0..rng.usize(1..5))
                .map(|_| {
                    let start: Vec<_> = dimlens.iter().map(|&len| rng.usize(0..len)).collect();
                    let stride: Vec<_> = dimlens.iter().map(|_| rng.usize(1..5)).collect();
                    let most = |d: usize| (dimlens[d] - start[d]).div_ceil(stride[d]);
                    let count = (0..rank).map(|d| rng.usize(0..=most(d))).collect();
                    [start, count, stride]
                })
                .collect();
            let strides: Vec<Vec<_>> = slabs.iter().map(|s| s[2].iter().map(|&s| s as isize).collect()).collect();
            let slabs: Vec<Slab<'_>> =
                slabs.iter().zip(&strides).map(|(s, stride)| (&s[0][..], &s[1][..], &stride[..])).collect();
            check(&dimlens, &chunklens, &slabs);
        }
    }

    #[test]
    fn other_grids_are_refused() {
        let one = Variable::new(&[8], &[4], 4).unwrap();
        let two = Variable::new(&[8], &[2], 4).unwrap();
        let plans = [&one, &two].map(|variable| Plan::new(variable, &Hyperslab::all(), Access::Read).unwrap());
        assert!(owner(plans.iter(), &[0]).is_err() && plans[0].intersect(0, &plans[1]).is_err());
        assert!(owner(plans[..1].iter(), &[]).is_err() && plans[0].intersect(2, &plans[0]).is_err());
        assert_eq!(owner([].into_iter(), &[0]).unwrap(), None);
        let scalar = Variable::new(&[], &[], 4).unwrap();
        let plan = Plan::new(&scalar, &Hyperslab::all(), Access::Read).unwrap();
        assert_eq!((owner([&plan, &plan].into_iter(), &[]).unwrap(), plan.find([])), (Some(0), Some(0)));
    }
}
