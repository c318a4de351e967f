//! Another shape for an array: what is cut off is removed.
//!
//! A chunk (or shard) that lies outside of the new shape is removed. Of one that lies there in part the elements that
//! are cut off become fill values, so that an array which is made smaller and then larger again has fill values there.
//! Only what is stored is touched. It is found by listing, unless more is listed than there are chunks to be cut: then
//! each of these is asked for by its name. What others have left beyond the old shape and the new one stays.
//!
//! This is done before the metadata change. A failure in between leaves the shape as it was, and fill values in some of
//! what was to be cut off; done again, the change is completed.

use std::cmp::Ordering::{Equal, Greater, Less};

use super::keys::{Chunks, Look};
use crate::alloc;
use crate::dims::{self, Dims};
use crate::error::{ErrorKind, Result};
use crate::grid::{Access, Dimension, Grid};
use crate::hyperslab::Hyperslab;
use crate::plan::Plan;
use crate::store::ChunkStore;
use crate::transfer::{Options, Transfer};
use crate::variable::Variable;

/// Cuts off what lies outside of the shape, which has a length for each dimension of the variable.
pub(super) fn cut(variable: &Variable, store: &ChunkStore<'_>, chunks: &Chunks<'_>, shape: &[usize]) -> Result<()> {
    let cut = Cut { grid: variable.grid(Access::Write), shape };
    let found = Found::by(chunks, &cut)?;
    if !found.partly.is_empty() {
        let whole = in_whole_chunks(variable, shape)?;
        let zeros = alloc::filled(variable.element_size(), 0)?;
        let fill_value = variable.fill_value().unwrap_or(&zeros);
        let strides = dims::copied(shape.iter().map(|_| 0))?;
        for indices in &found.partly {
            for d in cut.partly(indices) {
                let (start, count) = cut.hyperslab(indices, d)?;
                let plan = Plan::new(&whole, &Hyperslab::new(&start, &count), Access::Write)?;
                let plan = plan.with_memory(&strides, 0, fill_value.len())?;
                let chunks = 0..plan.num_chunks();
                Transfer::new(&plan, None, store, chunks, &Options::default())?.write(fill_value.into(), &mut 0)?;
            }
        }
    }
    found.remove(chunks, &cut)
}

/// What is stored of the chunks that are cut.
struct Found<'a> {
    cut: &'a Cut<'a>,
    /// How many names have been listed, and how many are worth it.
    num_listed: u128,
    most_listed: u128,
    /// The names of those that lie outside; of symbolic links that lead to nothing else, the links'.
    outside: Vec<String>,
    /// The indices of those that lie inside in part.
    partly: Vec<Dims<isize>>,
}

impl<'a> Found<'a> {
    fn by(chunks: &Chunks<'_>, cut: &'a Cut<'a>) -> Result<Self> {
        let most_listed = cut.num_affected();
        let mut found = Found { cut, num_listed: 0, most_listed, outside: Vec::new(), partly: Vec::new() };
        match chunks.each(&mut found) {
            Err(_) if !found.is_listed() => {}
            listed => listed?,
        }
        if found.num_listed == 0 {
            let what = "making an array smaller needs a storage that can list its objects";
            return Err(ErrorKind::Unsupported(what).into());
        }
        if !found.is_listed() {
            (found.outside, found.partly) = (Vec::new(), Vec::new());
            cut.affected(|indices| {
                if !cut.is_outside(indices) && chunks.storage.object_len(&chunks.object(indices)?)?.is_some() {
                    alloc::push(&mut found.partly, dims::copied(indices.iter().copied())?)?;
                }
                Ok(())
            })?;
        }
        Ok(found)
    }

    /// Whether all has been listed.
    fn is_listed(&self) -> bool {
        self.num_listed <= self.most_listed
    }

    /// Removes those that lie outside.
    fn remove(&self, chunks: &Chunks<'_>, cut: &Cut<'_>) -> Result<()> {
        if self.is_listed() {
            return self.outside.iter().try_for_each(|object| chunks.storage.remove(object));
        }
        let mut above = String::new();
        cut.affected(|indices| {
            if !cut.is_outside(indices) {
                return Ok(());
            }
            let object = chunks.object(indices)?;
            let end = object.rfind('/').unwrap_or(0);
            if above != object[..end] {
                above = alloc::text(&object[..end])?;
                // A link below which all lies outside is removed, and not what others find where it leads.
                for known in 0..indices.len() {
                    if let Some(prefix) = chunks.prefix(&indices[..known])? {
                        if cut.is_outside(&indices[..known]) && chunks.storage.is_link(&prefix).unwrap_or(false) {
                            chunks.storage.remove(&prefix)?;
                        }
                    }
                }
            }
            chunks.storage.remove(&object)
        })
    }
}

impl Look for Found<'_> {
    fn listed(&mut self) -> Result<()> {
        self.num_listed += 1;
        // Any error ends the listing.
        if self.is_listed() { Ok(()) } else { Err(ErrorKind::Exists.into()) }
    }

    fn is_wanted(&self, first: &[isize]) -> bool {
        self.cut.is_known(first) && self.cut.reaches(first)
    }

    fn link(&mut self, first: &[isize], name: &str) -> Result<bool> {
        let is_outside = self.cut.is_outside(first);
        if is_outside {
            alloc::push(&mut self.outside, alloc::text(name)?)?;
        }
        Ok(!is_outside)
    }

    fn chunk(&mut self, indices: &[isize], name: &str) -> Result<()> {
        if !self.cut.is_known(indices) {
            return Ok(());
        }
        if self.cut.is_outside(indices) {
            alloc::push(&mut self.outside, alloc::text(name)?)?;
        } else if self.cut.partly(indices).next().is_some() {
            alloc::push(&mut self.partly, dims::copied(indices.iter().copied())?)?;
        }
        Ok(())
    }
}

/// The variable with dimensions that end where their last chunks do, now or then, so that all of each chunk can be
/// written to.
fn in_whole_chunks(variable: &Variable, shape: &[usize]) -> Result<Variable> {
    let mut whole = variable.try_clone()?;
    for (d, (dimension, &len)) in variable.grid(Access::Write).dimensions().iter().zip(shape).enumerate() {
        let len = dimension.len_of(dimension.num_chunks_of(dimension.len().max(len)));
        whole.set_dimlen(d, len.ok_or(ErrorKind::DimensionLength(dimension.len()))?)?;
    }
    Ok(whole)
}

/// What is cut off of a grid of chunks.
struct Cut<'a> {
    grid: &'a Grid,
    shape: &'a [usize],
}

impl Cut<'_> {
    /// Each dimension as it is now, and its length then.
    fn lengths(&self) -> impl ExactSizeIterator<Item = (&Dimension, usize)> {
        self.grid.dimensions().iter().zip(self.shape).map(|(dimension, &len)| (dimension, len))
    }

    /// For each dimension how many chunks are not touched by what is cut off of it, and how many there are, now or
    /// then.
    fn untouched(&self) -> impl ExactSizeIterator<Item = (usize, usize)> {
        self.lengths().map(|(old, new)| {
            let num_chunks = old.num_chunks_of(old.len().max(new));
            (if new < old.len() { old.locate(new).0 } else { num_chunks }, num_chunks)
        })
    }

    /// How many chunks there are of which something is cut off.
    fn num_affected(&self) -> u128 {
        let all = self.untouched().fold(1, |all: u128, (_, num_chunks)| all.saturating_mul(num_chunks as u128));
        let rest = self.untouched().fold(1, |rest: u128, (untouched, _)| rest.saturating_mul(untouched as u128));
        all - rest
    }

    /// Calls `one` for each chunk of which something is cut off.
    fn affected(&self, mut one: impl FnMut(&[isize]) -> Result<()>) -> Result<()> {
        // Of a dimension's chunks those that are cut, with those that are not in the dimensions before it and all of
        // those behind it.
        for cut in 0..self.shape.len() {
            let bounds =
                dims::copied(self.untouched().enumerate().map(|(d, (untouched, num_chunks))| match d.cmp(&cut) {
                    Less => (0, untouched),
                    Equal => (untouched, num_chunks),
                    Greater => (0, num_chunks),
                }))?;
            if bounds.iter().any(|(begin, end)| begin == end) {
                continue;
            }
            // An index is that of an object whose name is written, so it fits.
            let mut indices = dims::copied(bounds.iter().map(|(begin, _)| *begin as isize))?;
            loop {
                one(&indices)?;
                let next = (0..indices.len()).rev().find(|&d| (indices[d] as usize) + 1 < bounds[d].1);
                let Some(next) = next else { break };
                indices[next] += 1;
                (next + 1..indices.len()).for_each(|d| indices[d] = bounds[d].0 as isize);
            }
        }
        Ok(())
    }

    /// Whether something may be cut off of chunks whose indices begin like this.
    fn reaches(&self, first: &[isize]) -> bool {
        let is_cut = |(d, (old, new)): (usize, (&Dimension, usize))| match first.get(d) {
            Some(&index) if new < old.len() => index.unsigned_abs() >= old.locate(new).0,
            Some(&index) => index.unsigned_abs() >= old.num_chunks_of(new),
            None => new < old.len(),
        };
        self.lengths().enumerate().any(is_cut)
    }

    /// Whether there are chunks whose indices begin like this, now or then.
    fn is_known(&self, first: &[isize]) -> bool {
        let is_inside = |((_, num_chunks), &index): ((usize, usize), &isize)| index.unsigned_abs() < num_chunks;
        self.untouched().zip(first).all(is_inside)
    }

    /// Whether a chunk has nothing inside the new shape.
    fn is_outside(&self, indices: &[isize]) -> bool {
        self.lengths()
            .zip(indices)
            .any(|((old, new), &index)| usize::try_from(index).is_ok_and(|index| index >= old.num_chunks_of(new)))
    }

    /// The dimensions in which a part of a chunk, which is not outside, is cut off.
    fn partly(&self, indices: &[isize]) -> impl Iterator<Item = usize> {
        self.lengths().zip(indices).enumerate().filter_map(|(d, ((old, new), &index))| {
            let (last, place) = old.locate(new);
            let is_last = usize::try_from(index).is_ok_and(|index| index == last);
            (new < old.len() && is_last && place != 0).then_some(d)
        })
    }

    /// What is cut off of a chunk in one dimension: all of it that lies behind the new end.
    fn hyperslab(&self, indices: &[isize], cut: usize) -> Result<(Dims<usize>, Dims<usize>)> {
        let rank = self.shape.len();
        let (mut start, mut count) = (Dims::new(), Dims::new());
        dims::reserve(&mut start, rank)?;
        dims::reserve(&mut count, rank)?;
        for (d, ((old, new), &index)) in self.lengths().zip(indices).enumerate() {
            let index = usize::try_from(index).map_err(|_| ErrorKind::Internal)?;
            let [first, end] = [index, index + 1].map(|num_chunks| old.len_of(num_chunks).ok_or(ErrorKind::Internal));
            let first = if d == cut { new } else { first? };
            start.push(first);
            count.push(end?.checked_sub(first).ok_or(ErrorKind::Internal)?);
        }
        Ok((start, count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Those that may be cut are those that are, whatever is asked.
    #[test]
    fn chunks_that_are_cut_are_known_without_a_list() {
        for (old, new) in [
            ([10, 10], [5, 8]),
            ([10, 10], [10, 1]),
            ([10, 10], [12, 4]),
            ([10, 10], [0, 10]),
            ([10, 10], [10, 10]),
            ([0, 10], [0, 3]),
            ([9, 3], [8, 3]),
            ([10, 10], [5, 30]),
            ([0, 10], [9, 3]),
        ] {
            let grid = Grid::new(&old, &[4, 3], 1).unwrap();
            let cut = Cut { grid: &grid, shape: &new };
            let mut expected = Vec::new();
            for i in 0..old[0].max(new[0]).div_ceil(4) as isize {
                for j in 0..old[1].max(new[1]).div_ceil(3) as isize {
                    let is_cut = cut.is_outside(&[i, j]) || cut.partly(&[i, j]).next().is_some();
                    assert!(!is_cut || (cut.reaches(&[i, j]) && cut.reaches(&[i]) && cut.reaches(&[])));
                    if is_cut {
                        expected.push(vec![i, j]);
                    }
                }
            }
            let mut found = Vec::new();
            cut.affected(|indices| {
                found.push(indices.to_vec());
                Ok(())
            })
            .unwrap();
            found.sort();
            assert_eq!((cut.num_affected(), found), (expected.len() as u128, expected), "{old:?} {new:?}");
        }
        let grid = Grid::new(&[usize::MAX >> 1, usize::MAX >> 1], &[1, 1], 1).unwrap();
        let len = (usize::MAX >> 1) as u128;
        assert_eq!(Cut { grid: &grid, shape: &[(usize::MAX >> 1) - 1, usize::MAX >> 1] }.num_affected(), len);
    }

    #[test]
    fn what_is_cut_off_is_told_by_dimension() {
        let grid = Grid::new(&[10, 10], &[4, 4], 1).unwrap();
        let cut = Cut { grid: &grid, shape: &[5, 8] };
        assert!(cut.is_outside(&[2, 0]) && cut.is_outside(&[0, 2]) && !cut.is_outside(&[1, 1]));
        assert_eq!(cut.partly(&[1, 1]).collect::<Vec<_>>(), [0]);
        assert_eq!(cut.partly(&[0, 1]).count(), 0);
        let (start, count) = cut.hyperslab(&[1, 1], 0).unwrap();
        assert_eq!((&start[..], &count[..]), (&[5, 4][..], &[3, 4][..]));
        assert!(Cut { grid: &grid, shape: &[0, 10] }.is_outside(&[0, 0]));
    }
}
