//! Single elements of a variable, in the order of the chunks that they are in.
//!
//! Each point's chunk is one number, by which the points are sorted: digit by digit, so that it takes as many passes
//! over them as the largest number has digits of 11 bits. Points of one chunk stay in the order in which they are
//! given.

use crate::alloc;
use crate::copy::Place;
use crate::dims::{self, Dims};
use crate::error::{Error, ErrorKind, Result};
use crate::grid::{Access, Dimension, Grid};
use crate::variable::Variable;

/// Points, sorted by chunk.
#[derive(Debug)]
pub(crate) struct Points {
    /// Where each is in its chunk, in bytes, and which of the points it is.
    places: Vec<Place>,
    /// Where the places of each chunk begin.
    begins: Vec<usize>,
    /// The chunks' indices, one for each dimension.
    chunks: Vec<isize>,
    rank: usize,
}

/// A point: the number of its chunk, and where it is.
#[derive(Clone, Copy)]
struct Keyed {
    key: u64,
    place: Place,
}

/// As many bits of a number are a digit.
const DIGIT: u32 = 11;

impl Points {
    /// So many points, each of which has an index for each dimension.
    ///
    /// # Errors
    /// `Argument` if there are not as many indices; `Beyond`, with its dimension; `OutOfMemory`.
    pub(crate) fn new(variable: &Variable, access: Access, num_points: usize, coordinates: &[usize]) -> Result<Self> {
        let (grid, rank) = (variable.grid(access), variable.rank());
        if num_points.checked_mul(rank) != Some(coordinates.len()) {
            return Err(ErrorKind::Argument("each point must have an index for each dimension").into());
        }
        let mut keyed = alloc::room(num_points)?;
        let mut num_chunks = grid.dimensions().iter().map(|dimension| dimension.num_chunks() as u64);
        let most = num_chunks.try_fold(1u64, |product, num| product.checked_mul(num.max(1)));
        match rank {
            _ if most.is_none() || !grid.is_regular() => locate_each(&mut keyed, variable, access, coordinates)?,
            0 => {
                keyed.extend((0..num_points).map(|in_memory| Keyed { key: 0, place: Place { in_chunk: 0, in_memory } }))
            }
            // The same for all, but a rank that the compiler knows saves it the loop.
            1 => locate(&mut keyed, grid, 1, coordinates)?,
            2 => locate(&mut keyed, grid, 2, coordinates)?,
            3 => locate(&mut keyed, grid, 3, coordinates)?,
            4 => locate(&mut keyed, grid, 4, coordinates)?,
            rank => locate(&mut keyed, grid, rank, coordinates)?,
        }
        let (places, begins) = match most {
            Some(most) if most <= 1 << DIGIT => count(&keyed)?,
            Some(most) => {
                sort(&mut keyed, most - 1)?;
                cut(&keyed)?
            }
            None => {
                sort_by_indices(&mut keyed, grid, coordinates);
                cut(&keyed)?
            }
        };
        // No more than the coordinates.
        let mut chunks = alloc::room(begins.len() * rank)?;
        for &begin in &begins {
            chunks.extend(indices(grid, &coordinates[places[begin].in_memory * rank..][..rank]));
        }
        Ok(Points { places, begins, chunks, rank })
    }

    /// How many points are in each chunk.
    pub(crate) fn nums(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.begins.len()).map(|i| self.places(i).len())
    }

    /// The places of the points in the i-th chunk: in the chunk in bytes, in memory in elements.
    pub(crate) fn places(&self, i: usize) -> &[Place] {
        &self.places[self.begins[i]..self.begins.get(i + 1).copied().unwrap_or(self.places.len())]
    }

    /// The indices of the i-th chunk.
    pub(crate) fn chunk(&self, i: usize) -> &[isize] {
        &self.chunks[i * self.rank..][..self.rank]
    }

    /// The number of the chunk with these indices, if there are points in it.
    pub(crate) fn find(&self, chunk: &[isize]) -> Option<usize> {
        let (mut low, mut high) = (0, self.begins.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.chunk(middle) < chunk { low = middle + 1 } else { high = middle }
        }
        (low < self.begins.len() && self.chunk(low) == chunk).then_some(low)
    }

    /// How many elements of the i-th chunk, which has so many bytes, there are points at.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(crate) fn num_distinct(&self, i: usize, chunk_bytes: usize, element_size: usize) -> Result<usize> {
        let mut seen: Vec<u64> = alloc::room(chunk_bytes / element_size / 64 + 1)?;
        seen.resize(seen.capacity(), 0);
        for place in self.places(i) {
            // Elements begin at least as many bytes apart as they have.
            let element = place.in_chunk / element_size;
            seen[element / 64] |= 1 << (element % 64);
        }
        Ok(seen.iter().map(|bits| bits.count_ones() as usize).sum())
    }
}

/// The indices of a point's chunk.
fn indices<'g>(grid: &'g Grid, point: &'g [usize]) -> impl Iterator<Item = isize> + 'g {
    grid.dimensions().iter().zip(point).map(|(dimension, &index)| {
        let (chunk, _) = dimension.locate(dimension.position(index));
        dimension.chunk_index(chunk)
    })
}

/// The chunk of an index along a dimension, and the place in the chunk.
#[inline(always)]
fn locate_in(dimension: &Dimension, d: usize, index: usize) -> Result<(usize, usize)> {
    if index >= dimension.len() {
        return Err(beyond(index, dimension.len(), d));
    }
    Ok(dimension.regular_locate(dimension.position(index)))
}

#[cold]
fn beyond(index: usize, dimlen: usize, d: usize) -> Error {
    Error::from(ErrorKind::Beyond { index, dimlen }).in_dimension(d)
}

/// Locates points in chunks that have the same layout, and the numbers of which fit. There is room for all.
#[inline(always)]
fn locate(keyed: &mut Vec<Keyed>, grid: &Grid, rank: usize, coordinates: &[usize]) -> Result<()> {
    let mut nums: Dims<u64> = Dims::new();
    dims::fill(&mut nums, rank, 0)?;
    let (dimensions, strides, nums) = (&grid.dimensions()[..rank], &grid.strides()[..rank], &mut nums[..rank]);
    nums.iter_mut().zip(dimensions).for_each(|(num, dimension)| *num = dimension.num_chunks() as u64);
    for (in_memory, point) in coordinates.chunks_exact(rank).enumerate() {
        let (mut key, mut in_chunk) = (0, 0);
        for d in 0..rank {
            let (chunk, first) = locate_in(&dimensions[d], d, point[d])?;
            key = key * nums[d] + chunk as u64;
            in_chunk += first * strides[d] as usize;
        }
        keyed.push(Keyed { key, place: Place { in_chunk, in_memory } });
    }
    Ok(())
}

/// Locates points in chunks of any layout. The numbers wrap if there are too many.
#[cold]
fn locate_each(keyed: &mut Vec<Keyed>, variable: &Variable, access: Access, coordinates: &[usize]) -> Result<()> {
    let (grid, rank) = (variable.grid(access), variable.rank());
    let (mut chunk, mut places): (Dims<isize>, Dims<usize>) = (Dims::new(), Dims::new());
    dims::fill(&mut chunk, rank, 0)?;
    dims::fill(&mut places, rank, 0)?;
    for (in_memory, point) in coordinates.chunks_exact(rank).enumerate() {
        let mut key = 0u64;
        for (d, (dimension, &index)) in grid.dimensions().iter().zip(point).enumerate() {
            if index >= dimension.len() {
                return Err(beyond(index, dimension.len(), d));
            }
            let (number, first) = dimension.locate(dimension.position(index));
            (chunk[d], places[d]) = (dimension.chunk_index(number), first);
            key = key.wrapping_mul(dimension.num_chunks() as u64).wrapping_add(number as u64);
        }
        let layout = variable.chunk_layout_of(access, &chunk)?;
        let strides = layout.as_ref().map_or(grid.strides(), |layout| &layout.strides);
        let in_chunk = places.iter().zip(strides).map(|(&place, &stride)| place * stride as usize).sum();
        keyed.push(Keyed { key, place: Place { in_chunk, in_memory } });
    }
    Ok(())
}

/// Sorts by numbers of one digit, and tells where the points of each begin. Its counters are on the stack of this call
/// alone.
#[inline(never)]
fn count(keyed: &[Keyed]) -> Result<(Vec<Place>, Vec<usize>)> {
    let (mut nexts, mut begins) = ([0usize; 1 << DIGIT], Vec::new());
    keyed.iter().for_each(|point| nexts[point.key as usize] += 1);
    let mut begin = 0;
    for num in nexts.iter_mut().filter(|num| **num > 0) {
        alloc::push(&mut begins, begin)?;
        begin += std::mem::replace(num, begin);
    }
    let mut places = alloc::room(keyed.len())?;
    places.resize(keyed.len(), Place { in_chunk: 0, in_memory: 0 });
    for point in keyed {
        let next = &mut nexts[point.key as usize];
        places[*next] = point.place;
        *next += 1;
    }
    Ok((places, begins))
}

/// Where points that are sorted are, and where those of each number begin.
fn cut(keyed: &[Keyed]) -> Result<(Vec<Place>, Vec<usize>)> {
    let (mut places, mut begins) = (alloc::room(keyed.len())?, Vec::new());
    for (i, point) in keyed.iter().enumerate() {
        if i == 0 || keyed[i - 1].key != point.key {
            alloc::push(&mut begins, i)?;
        }
        places.push(point.place);
    }
    Ok((places, begins))
}

/// Sorts by numbers up to this one. Points with the same number stay in their order. The same holds for its counters.
#[inline(never)]
fn sort(keyed: &mut Vec<Keyed>, most: u64) -> Result<()> {
    if keyed.is_sorted_by_key(|keyed| keyed.key) {
        return Ok(());
    }
    let mut other: Vec<Keyed> = alloc::room(keyed.len())?;
    other.extend_from_slice(keyed);
    // As many bits as the points have: no more, where they are few.
    for low in (0..u64::BITS - most.leading_zeros()).step_by(DIGIT as usize) {
        let digit = |keyed: &Keyed| (keyed.key >> low) as usize & ((1 << DIGIT) - 1);
        let mut begins = [0usize; 1 << DIGIT];
        keyed.iter().for_each(|point| begins[digit(point)] += 1);
        let mut begin = 0;
        for num in &mut begins {
            begin += std::mem::replace(num, begin);
        }
        for point in &*keyed {
            let next = &mut begins[digit(point)];
            other[*next] = *point;
            *next += 1;
        }
        std::mem::swap(keyed, &mut other);
    }
    Ok(())
}

/// Sorts by the chunks' indices, where there are more chunks than a number counts, and numbers those with points.
#[cold]
fn sort_by_indices(keyed: &mut [Keyed], grid: &Grid, coordinates: &[usize]) {
    let rank = grid.rank();
    let of = |keyed: &Keyed| indices(grid, &coordinates[keyed.place.in_memory * rank..][..rank]);
    keyed.sort_unstable_by(|one, two| of(one).cmp(of(two)).then(one.place.in_memory.cmp(&two.place.in_memory)));
    for i in 1..keyed.len() {
        let is_same = of(&keyed[i - 1]).eq(of(&keyed[i]));
        keyed[i].key = keyed[i - 1].key.wrapping_add(u64::from(!is_same));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::EINVALCOORDS;
    use crate::{ChunkRun, Hyperslab, Plan, Projection};

    /// Each chunk of the points: its indices, and which of the points are in it.
    fn by_chunk(variable: &Variable, num_points: usize, coordinates: &[usize]) -> Vec<(Vec<isize>, Vec<usize>)> {
        let points = Points::new(variable, Access::Read, num_points, coordinates).unwrap();
        let numbers = |i: usize| points.places(i).iter().map(|place| place.in_memory).collect();
        let num = points.begins.len();
        assert!((0..num).all(|i| points.find(points.chunk(i)) == Some(i)));
        (0..num).map(|i| (points.chunk(i).to_vec(), numbers(i))).collect()
    }

    #[test]
    fn points_of_a_chunk_stay_in_order() {
        let variable = Variable::new(&[10, 9], &[4, 3], 8).unwrap();
        let coordinates = [9, 8, 0, 0, 3, 2, 9, 8, 0, 3, 8, 7];
        let found = by_chunk(&variable, 6, &coordinates);
        assert_eq!(found, [(vec![0, 0], vec![1, 2]), (vec![0, 1], vec![4]), (vec![2, 2], vec![0, 3, 5])]);
        let points = Points::new(&variable, Access::Read, 6, &coordinates).unwrap();
        let offsets: Vec<usize> = points.places(2).iter().map(|place| place.in_chunk).collect();
        assert_eq!((offsets, points.num_distinct(2, 96, 8)), (vec![40, 40, 8], Ok(2)));
        assert_eq!(points.find(&[1, 0]), None);
    }

    #[test]
    fn numbers_of_several_digits_are_sorted_as_any_others() {
        let mut variable = Variable::new(&[1 << 20, 1 << 20], &[1, 1], 1).unwrap();
        let num = if cfg!(miri) { 50 } else { 5000 };
        let random = |i: usize| ((i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 44) as usize;
        let coordinates: Vec<usize> = (0..2 * num).map(|i| random(i) & !0xff).collect();
        let mut expected: Vec<_> = coordinates.chunks(2).zip(0..).collect();
        expected.sort();
        let numbers = |variable: &Variable| -> Vec<_> {
            by_chunk(variable, num, &coordinates).into_iter().flat_map(|(_, numbers)| numbers).collect()
        };
        assert!(numbers(&variable).into_iter().eq(expected.iter().map(|(_, i)| *i)));
        // More chunks than can be numbered, and chunks with a list of lengths.
        let huge = Variable::new(&[1 << (usize::BITS - 2); 2], &[1, 1], 1).unwrap();
        assert!(numbers(&huge).into_iter().eq(expected.iter().map(|(_, i)| *i)));
        variable.set_chunk_runs(0, Some(&[ChunkRun::new(1 << 20, 1)])).unwrap();
        assert!(numbers(&variable).into_iter().eq(expected.iter().map(|(_, i)| *i)));
    }

    #[test]
    fn a_plan_of_points_tells_their_chunks() {
        let mut variable = Variable::new(&[10, 9], &[4, 3], 4).unwrap();
        let corner = [[0, 6], [0, 7], [0, 8], [1, 6], [1, 7], [1, 8], [9, 0], [1, 8]].concat();
        for is_listed in [false, true] {
            if is_listed {
                variable.set_chunk_runs(0, Some(&[ChunkRun::new(2, 4), ChunkRun::new(1, 2)])).unwrap();
            }
            let plan = Plan::new(&variable, &Hyperslab::points(8, &corner), Access::Write).unwrap();
            let mut found = [Projection::default(); 2];
            plan.chunk(0, &mut found).unwrap();
            assert_eq!(found.map(|p| (p.chunk_index, p.first, p.last, p.limit)), [(0, 0, 3, 4), (2, 0, 2, 3)]);
            assert_eq!((plan.num_chunks(), plan.num_elements(), plan.rank(), plan.num_covered()), (2, 8, 2, 0));
            assert_eq!((plan.find([2, 0]), plan.find([0, 0]), plan.memory_bytes()), (Some(1), None, 32));
            assert_eq!([0, 1, 2].map(|i| plan.elements_before(i)), [0, 7, 8]);
            assert_eq!(plan.chunk_bytes(), if is_listed { 48 + 24 } else { 96 });
        }
        let last: Vec<usize> = (8..10).flat_map(|y| (6..9).flat_map(move |x| [y, x])).collect();
        let plan = Plan::new(&variable, &Hyperslab::points(6, &last), Access::Write).unwrap();
        assert_eq!((plan.num_covered(), plan.num_chunks()), (1, 1));
    }

    #[test]
    fn points_that_do_not_exist_are_refused() {
        let variable = Variable::new(&[10, 9], &[4, 3], 4).unwrap();
        let refused = |num, coordinates: &[usize]| {
            let error = Points::new(&variable, Access::Read, num, coordinates).unwrap_err();
            (error.status(), error.dimension())
        };
        assert_eq!(refused(2, &[0, 0, 0, 9]), (EINVALCOORDS, Some(1)));
        assert_eq!(refused(1, &[usize::MAX, 0]), (EINVALCOORDS, Some(0)));
        assert_eq!(refused(2, &[0, 0]), (crate::status::EINVAL, None));
        assert_eq!(refused(usize::MAX, &[0, 0]), (crate::status::EINVAL, None));
        assert!(Plan::new(&variable, &Hyperslab::points(usize::MAX / 2, &[]), Access::Read).is_err());
        let scalar = Variable::new(&[], &[], 4).unwrap();
        let plan = |num| Plan::new(&scalar, &Hyperslab::points(num, &[]), Access::Read).map(|plan| plan.num_chunks());
        assert_eq!((plan(0), plan(3)), (Ok(0), Ok(1)));
        assert_eq!(plan(usize::MAX).unwrap_err().status(), crate::status::EINVAL);
    }
}
