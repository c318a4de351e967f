//! Another shape for an array: what is cut off is removed.
//!
//! A chunk (or shard) that lies outside of the new shape is removed. Of one that lies there in part the elements that
//! are cut off become fill values, so that an array which is made smaller and then larger again has fill values there.
//! Only what is stored is touched: it is found by listing.
//!
//! This is done before the metadata change. A failure in between leaves the shape as it was, and fill values in some of
//! what was to be cut off; done again, the change is completed.

use crate::alloc;
use crate::dims::{self, Dims};
use crate::error::{ErrorKind, Result};
use crate::grid::{Access, Grid};
use crate::hyperslab::Hyperslab;
use crate::key::Separator;
use crate::object::{Entry, Name, Place};
use crate::plan::Plan;
use crate::store::Store;
use crate::transfer::{Options, Transfer};
use crate::variable::Variable;
use crate::zarr::{KeyEncoding, Keys};

use super::documents::below;

/// Where the chunks of an array are.
pub(super) struct Stored<'a> {
    pub place: &'a Place,
    pub name: &'a str,
    pub keys: Keys,
}

/// Cuts off what lies outside of the shape, which has a length for each dimension of the variable.
pub(super) fn cut(variable: &Variable, store: &Store<'_>, stored: &Stored<'_>, shape: &[usize]) -> Result<()> {
    let grid = variable.grid(Access::Write);
    let cut = Cut { grid, shape };
    let (mut outside, mut partly) = (Vec::new(), Vec::new());
    let mut is_listed = false;
    stored.each(grid.rank(), &mut is_listed, &mut |indices, object| {
        if cut.is_outside(indices) {
            alloc::push(&mut outside, alloc::text(object)?)?;
        } else if cut.partly(indices).next().is_some() {
            alloc::push(&mut partly, dims::copied(indices.iter().copied())?)?;
        }
        Ok(())
    })?;
    if !is_listed {
        return Err(ErrorKind::Unsupported("making an array smaller in a place that cannot list its objects").into());
    }
    if !partly.is_empty() {
        let whole = in_whole_chunks(variable, shape)?;
        let zeros = zeros(variable)?;
        let fill_value = variable.fill_value().unwrap_or(&zeros);
        let strides = dims::copied(shape.iter().map(|_| 0))?;
        for indices in &partly {
            for d in cut.partly(indices) {
                let (start, count) = cut.hyperslab(indices, d)?;
                let plan = Plan::new(&whole, &Hyperslab::new(&start, &count), Access::Write)?;
                let plan = plan.with_memory(&strides, 0, fill_value.len())?;
                let chunks = 0..plan.num_chunks();
                Transfer::new(&plan, None, store, chunks, Options::default())?.write(fill_value.into(), &mut 0)?;
            }
        }
    }
    outside.iter().try_for_each(|object| stored.place.remove(object))
}

/// The variable with dimensions that end where their last chunks do, now or then, so that all of each chunk can be
/// written to.
fn in_whole_chunks(variable: &Variable, shape: &[usize]) -> Result<Variable> {
    let mut whole = variable.try_clone()?;
    for (d, (dimension, &len)) in variable.grid(Access::Write).dimensions().iter().zip(shape).enumerate() {
        let num_chunks = dimension.num_chunks().max(len.div_ceil(dimension.chunklen()));
        let len = num_chunks.checked_mul(dimension.chunklen());
        whole.set_dimlen(d, len.ok_or(ErrorKind::DimensionLength(dimension.len()))?)?;
    }
    Ok(whole)
}

/// An element that nothing was written to, if there is no fill value.
fn zeros(variable: &Variable) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(variable.element_size()).map_err(|_| alloc::Failed)?;
    bytes.resize(variable.element_size(), 0);
    Ok(bytes)
}

/// What is cut off of a grid of chunks.
struct Cut<'a> {
    grid: &'a Grid,
    shape: &'a [usize],
}

impl Cut<'_> {
    /// For each dimension its length now, that of its chunks, and its length then.
    fn lengths(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        let dimensions = self.grid.dimensions().iter();
        dimensions.zip(self.shape).map(|(dimension, &len)| (dimension.len(), dimension.chunklen(), len))
    }

    /// Whether a chunk has nothing inside the new shape.
    fn is_outside(&self, indices: &[isize]) -> bool {
        self.lengths().zip(indices).any(|((_, chunklen, new), &index)| {
            usize::try_from(index).is_ok_and(|index| index >= new.div_ceil(chunklen))
        })
    }

    /// The dimensions in which a part of a chunk, which is not outside, is cut off.
    fn partly(&self, indices: &[isize]) -> impl Iterator<Item = usize> {
        self.lengths().zip(indices).enumerate().filter_map(|(d, ((old, chunklen, new), &index))| {
            let is_last = usize::try_from(index).is_ok_and(|index| index == new / chunklen);
            (new < old && is_last && new % chunklen != 0).then_some(d)
        })
    }

    /// What is cut off of a chunk in one dimension: all of it that lies behind the new end.
    fn hyperslab(&self, indices: &[isize], cut: usize) -> Result<(Dims<usize>, Dims<usize>)> {
        let rank = self.shape.len();
        let (mut start, mut count) = (Dims::new(), Dims::new());
        dims::reserve(&mut start, rank)?;
        dims::reserve(&mut count, rank)?;
        for (d, ((_, chunklen, new), &index)) in self.lengths().zip(indices).enumerate() {
            let first = usize::try_from(index).ok().and_then(|index| index.checked_mul(chunklen));
            let first = first.ok_or(ErrorKind::Internal)?;
            let skipped = if d == cut { new % chunklen } else { 0 };
            start.push(first.checked_add(skipped).ok_or(ErrorKind::Internal)?);
            count.push(chunklen - skipped);
        }
        Ok((start, count))
    }
}

impl Stored<'_> {
    /// Calls `one` with the indices and the name of each object that is a chunk. `is_listed` becomes true if the place
    /// lists anything below the array, which has a document at least.
    fn each(&self, rank: usize, is_listed: &mut bool, one: &mut dyn FnMut(&[isize], &str) -> Result<()>) -> Result<()> {
        // What is to be listed below the array, each as what its name adds to the array's.
        let mut prefixes = Vec::new();
        alloc::push(&mut prefixes, String::new())?;
        while let Some(prefix) = prefixes.pop() {
            let in_place =
                if prefix.is_empty() { Name::of(format_args!("{}", self.name))? } else { self.full(&prefix)? };
            self.place.list(&in_place, &mut |last, entry| {
                *is_listed = true;
                let key = below(&prefix, last)?;
                match entry {
                    Entry::Prefix if self.keys.separator == Separator::Slash && is_of_key(last) => {
                        Ok(alloc::push(&mut prefixes, alloc::text(&key)?)?)
                    }
                    Entry::Prefix => Ok(()),
                    Entry::Object => match chunk_of_key(self.keys, &key, rank)? {
                        Some(indices) => one(&indices, &self.full(&key)?),
                        None => Ok(()),
                    },
                }
            })?;
        }
        Ok(())
    }

    fn full(&self, key: &str) -> Result<Name> {
        below(self.name, key)
    }
}

/// The indices of the chunk with this key; `None` if it is no chunk's.
pub(super) fn chunk_of_key(keys: Keys, key: &str, rank: usize) -> Result<Option<Dims<isize>>> {
    let separator = match keys.separator {
        Separator::Dot => '.',
        Separator::Slash => '/',
    };
    let mut indices = Dims::new();
    dims::reserve(&mut indices, rank)?;
    let rest = match keys.style {
        // A scalar has one chunk.
        KeyEncoding::V2 if rank == 0 => return Ok((key == "0").then_some(indices)),
        KeyEncoding::V3 if rank == 0 => return Ok((key == "c").then_some(indices)),
        KeyEncoding::V2 => Some(key),
        KeyEncoding::V3 => key.strip_prefix('c').and_then(|rest| rest.strip_prefix(separator)),
    };
    for number in rest.iter().flat_map(|rest| rest.split(separator)) {
        let is_number = number.bytes().all(|byte| byte.is_ascii_digit()) && (number == "0" || !number.starts_with('0'));
        match number.parse() {
            Ok(index) if is_number && indices.len() < rank => indices.push(index),
            _ => return Ok(None),
        }
    }
    Ok((indices.len() == rank).then_some(indices))
}

/// Whether this can be a part of a chunk's key.
pub(super) fn is_of_key(last: &str) -> bool {
    last == "c" || last.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Memory;

    fn found(keys: Keys, rank: usize, objects: &[&str]) -> Vec<Vec<isize>> {
        let place = Place::new(Memory::new()).unwrap();
        objects.iter().for_each(|name| place.write(name, b"").unwrap());
        let mut found = Vec::new();
        let mut is_listed = false;
        let stored = Stored { place: &place, name: "a/b", keys };
        let note = &mut |indices: &[isize], _: &str| {
            found.push(indices.to_vec());
            Ok(())
        };
        stored.each(rank, &mut is_listed, note).unwrap();
        assert_eq!(is_listed, objects.iter().any(|name| name.starts_with("a/b/")));
        found.sort();
        found
    }

    #[test]
    fn chunks_are_found_by_their_keys() {
        let keys = |style, separator| Keys { style, separator };
        let objects = ["a/b/0.10", "a/b/1.x", "a/b/.zarray", "a/b/1", "a/b/1.2.3", "a/b/01.1", "a/0.0", "a/b/c/0.1"];
        assert_eq!(found(keys(KeyEncoding::V2, Separator::Dot), 2, &objects), [[0, 10]]);
        let objects = ["a/b/0/10", "a/b/5/1", "a/b/x/0", "a/b/1/2/3", "a/b/0", "a/b/c/0/1"];
        assert_eq!(found(keys(KeyEncoding::V2, Separator::Slash), 2, &objects), [[0, 10], [5, 1]]);
        let objects = ["a/b/c/0/10", "a/b/c/5/1", "a/b/0/1", "a/b/zarr.json", "a/b/c/1"];
        assert_eq!(found(keys(KeyEncoding::V3, Separator::Slash), 2, &objects), [[0, 10], [5, 1]]);
        let objects = ["a/b/c.0.10", "a/b/0.1", "a/b/c.1"];
        assert_eq!(found(keys(KeyEncoding::V3, Separator::Dot), 2, &objects), [[0, 10]]);
        assert_eq!(found(keys(KeyEncoding::V3, Separator::Slash), 1, &[]), [[0isize; 1]; 0]);
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
