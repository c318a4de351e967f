//! The plan of a transfer: which chunks a hyperslab touches, and which box of each goes to which box of memory. No I/O.
//!
//! Every dimension has its [`Projections`]; the touched chunks are their product. Chunk `i` of the plan, in row-major
//! order of chunk indices, is found by writing `i` in the mixed radix of the projections' numbers. A plan takes memory
//! for its rank, not for its chunks; one of lists or points takes memory for these.
//!
//! Points have one dimension: their list, sorted by chunk. It is a dimension whose chunks have a list of lengths, which
//! are how many points there are in each touched chunk; and its projections are those of the whole list.
//!
//! A plan keeps what it was made from, so it can only be executed for its own variable and layout of memory: see
//! [`transfer`](crate::transfer).

use std::ops::Range;

use crate::alloc::{self, try_box};
use crate::chunk_list::ChunkRun;
use crate::copy::Place;
use crate::dims::{self, Dims};
use crate::error::{ErrorKind, Result};
use crate::grid::{Access, Dimension, Grid};
use crate::hyperslab::{Chosen, Hyperslab, Slice};
use crate::layout::{Elements, Layout};
use crate::points::Points;
use crate::projection::{Projection, Projections};
use crate::variable::Variable;

/// The chunks of a variable that a hyperslab touches, and the positions of its elements in memory.
#[derive(Debug)]
pub struct Plan<'v> {
    variable: Kept<'v>,
    access: Access,
    /// Of points, the one dimension that they have.
    dimensions: Dims<Projections>,
    selection: Selection,
    num_chunks: usize,
    num_elements: usize,
    layout: Layout,
}

/// What selects the elements.
#[derive(Debug)]
enum Selection {
    Slices,
    /// A list along one dimension at least.
    Lists,
    Points(Box<Points>),
}

/// The variable that a plan was made for: its caller's, or a copy.
#[derive(Debug)]
enum Kept<'v> {
    Borrowed(&'v Variable),
    Owned(Box<Variable>),
}

impl Kept<'_> {
    fn get(&self) -> &Variable {
        match self {
            Kept::Borrowed(variable) => variable,
            Kept::Owned(variable) => variable,
        }
    }
}

impl<'v> Plan<'v> {
    /// The plan for a request, which is checked against the variable (see [`Hyperslab`]). The elements are row-major
    /// and without gaps in memory. A plan for writing uses the variable's [write grid](Variable::set_write_grid).
    ///
    /// # Errors
    /// `Stride`, `Start`, `Edge`, `Beyond`; `Argument` if the selection has more than `isize::MAX` bytes;
    /// `OutOfMemory`.
    pub fn new(variable: &'v Variable, hyperslab: &Hyperslab<'_>, access: Access) -> Result<Self> {
        let mut plan = Plan::of_nothing(variable, access);
        plan.select(hyperslab)?;
        Ok(plan)
    }

    /// A plan that selects nothing yet. It is made where it stays, for it is large.
    #[inline]
    pub(crate) fn of_nothing(variable: &'v Variable, access: Access) -> Self {
        let (variable, layout) = (Kept::Borrowed(variable), Layout::EMPTY);
        let (dimensions, selection) = (Dims::new(), Selection::Slices);
        Plan { variable, access, dimensions, selection, num_chunks: 0, num_elements: 0, layout }
    }

    /// Makes a plan of nothing one for a request: see [`new`](Self::new). After an error it is of no use.
    pub(crate) fn select(&mut self, hyperslab: &Hyperslab<'_>) -> Result<()> {
        let (variable, access, dimensions) = (self.variable.get(), self.access, &mut self.dimensions);
        let (grid, element_size) = (variable.grid(access), variable.element_size());
        // A count of 0 leaves nothing, however large the others are.
        let (mut num_elements, mut num_chunks) = (1usize, 1usize);
        match hyperslab.chosen() {
            Chosen::Nothing if grid.is_regular() => {
                dims::reserve(dimensions, grid.rank())?;
                let slice = hyperslab.slices::<false>(grid.dimensions(), access)?;
                for (d, dimension) in grid.dimensions().iter().enumerate() {
                    let slice = slice(d);
                    num_elements = num_elements.saturating_mul(slice.count());
                    let num = Projections::push_regular(dimensions, dimension, slice)?;
                    num_chunks = num_chunks.saturating_mul(num);
                }
            }
            Chosen::Nothing | Chosen::Indices(_) => {
                if matches!(hyperslab.chosen(), Chosen::Indices(_)) {
                    self.selection = Selection::Lists;
                }
                Plan::project(grid, hyperslab, access, dimensions)?;
                num_elements = product(dimensions.iter().map(|projections| projections.slice().count()));
                num_chunks = product(dimensions.iter().map(Projections::len));
            }
            Chosen::Points(num_points, coordinates) => {
                check_selected(num_points, element_size)?;
                let points = Plan::sort_points(variable, (num_points, coordinates), access, dimensions)?;
                self.selection = Selection::Points(points);
                (num_elements, num_chunks) = (num_points, dimensions.iter().map(Projections::len).sum());
            }
        }
        check_selected(num_elements, element_size)?;
        // Every touched chunk holds a selected element, so there are no more chunks than elements.
        self.layout = Layout::dense(Elements { dimensions, num_elements, element_size })?;
        (self.num_chunks, self.num_elements) = (num_chunks, num_elements);
        Ok(())
    }

    /// The projections of what may have lists of indices, onto chunks that may have lists of lengths.
    #[cold]
    fn project(
        grid: &Grid,
        hyperslab: &Hyperslab<'_>,
        access: Access,
        dimensions: &mut Dims<Projections>,
    ) -> Result<()> {
        dims::reserve(dimensions, grid.rank())?;
        let slice = hyperslab.slices::<true>(grid.dimensions(), access)?;
        for (d, dimension) in grid.dimensions().iter().enumerate() {
            dimensions.push(match hyperslab.indices(d) {
                Some(indices) => Projections::of_indices(dimension, slice(d), indices)?,
                None => Projections::new(dimension, slice(d))?,
            });
        }
        Ok(())
    }

    /// Points, sorted; the one dimension that they have is added.
    #[cold]
    fn sort_points(
        variable: &Variable,
        (num_points, coordinates): (usize, &[usize]),
        access: Access,
        dimensions: &mut Dims<Projections>,
    ) -> Result<Box<Points>> {
        let points = alloc::try_box(Points::new(variable, access, num_points, coordinates)?)?;
        let list = match num_points {
            0 => Dimension::new(0, 1)?,
            _ => Dimension::with_chunks(num_points, points.nums().map(|num| ChunkRun::new(1, num)))?,
        };
        dims::reserve(dimensions, 1)?;
        dimensions.push(Projections::new(&list, Slice::read(num_points, 0, num_points, 1)?)?);
        Ok(points)
    }

    /// The same plan with the elements anywhere in a block of memory of `size` bytes: the request's first one `offset`
    /// bytes into it, and each `strides[d]` bytes after the one before it along dimension `d`. Points have one
    /// dimension.
    ///
    /// # Errors
    /// `Argument` if there is not one stride per dimension; `Memory` if an element lies outside of the block.
    pub fn with_memory(self, strides: &[isize], offset: usize, size: usize) -> Result<Self> {
        Ok(Plan { layout: Layout::strided(self.elements(), strides, offset, size)?, ..self })
    }

    /// The same plan with netCDF's imap: along dimension `d` the elements are `imap[d]` elements apart in memory. The
    /// memory is as large as these elements need.
    ///
    /// # Errors
    /// `Argument` if there is not one entry per dimension, or if they reach beyond the address space.
    pub fn with_imap(self, imap: &[isize]) -> Result<Self> {
        Ok(Plan { layout: Layout::mapped(self.elements(), imap)?, ..self })
    }

    /// The same plan with a copy of the variable, so that the plan may outlive the variable.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn into_owned(self) -> Result<Plan<'static>> {
        let Plan { variable, access, dimensions, selection, num_chunks, num_elements, layout } = self;
        let variable = Kept::Owned(match variable {
            Kept::Borrowed(variable) => try_box(variable.try_clone()?)?,
            Kept::Owned(variable) => variable,
        });
        Ok(Plan { variable, access, dimensions, selection, num_chunks, num_elements, layout })
    }
}

impl Plan<'_> {
    /// The variable that the plan is for.
    pub fn variable(&self) -> &Variable {
        self.variable.get()
    }

    /// Whether the plan is for reading or writing. A plan for reading uses the variable's chunks, a plan for writing
    /// its write grid.
    pub fn access(&self) -> Access {
        self.access
    }

    /// The grid whose chunks the plan uses.
    pub fn grid(&self) -> &Grid {
        self.variable().grid(self.access)
    }

    #[doc(hidden)]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    pub(crate) fn elements(&self) -> Elements<'_> {
        let element_size = self.variable().element_size();
        Elements { dimensions: &self.dimensions, num_elements: self.num_elements, element_size }
    }

    /// Whether no two of the plan's elements may share a byte of memory.
    pub(crate) fn is_disjoint(&self) -> bool {
        self.layout.is_disjoint(self.elements())
    }

    /// The number of the variable's dimensions.
    pub fn rank(&self) -> usize {
        self.variable().rank()
    }

    /// The number of touched chunks.
    pub fn num_chunks(&self) -> usize {
        self.num_chunks
    }

    /// The number of selected elements.
    pub fn num_elements(&self) -> usize {
        self.num_elements
    }

    /// The number of bytes of the selected elements.
    pub fn selected_bytes(&self) -> usize {
        self.num_elements * self.variable().element_size()
    }

    /// The size of the memory that the plan is for in bytes, gaps between elements included.
    pub fn memory_bytes(&self) -> usize {
        self.layout.len()
    }

    /// The number of bytes of the touched chunks, each at full size; `usize::MAX` if it is more than a `usize` holds.
    pub fn chunk_bytes(&self) -> usize {
        if self.grid().is_regular() {
            return self.num_chunks.saturating_mul(self.grid().chunk_bytes());
        }
        if let Some(points) = self.points() {
            let bytes = |i| self.variable().chunk_bytes_of(self.access, points.chunk(i));
            return (0..self.num_chunks).map(bytes).fold(0, usize::saturating_add);
        }
        let lens = self.dimensions.iter().map(Projections::encoded_len);
        if self.num_chunks == 0 { 0 } else { lens.fold(self.variable().element_size(), usize::saturating_mul) }
    }

    /// The number of chunks of the whole variable, stored or missing; `usize::MAX` if it is more than a `usize` holds.
    pub fn grid_chunks(&self) -> usize {
        let lens = self.grid().dimensions().iter().map(Dimension::num_chunks);
        // A dimension without chunks leaves none, however many the others have.
        lens.clone().min().map_or(1, |least| if least == 0 { 0 } else { lens.fold(1, usize::saturating_mul) })
    }

    #[inline]
    fn points(&self) -> Option<&Points> {
        match &self.selection {
            Selection::Points(points) => Some(points),
            _ => None,
        }
    }

    /// Where the elements of the i-th chunk are, if the plan is one of points: in the chunk in bytes, in memory in
    /// steps.
    pub(crate) fn places(&self, i: usize) -> Option<&[Place]> {
        self.points().map(|points| points.places(i))
    }

    /// Whether the elements are points.
    pub(crate) fn is_of_points(&self) -> bool {
        self.points().is_some()
    }

    /// Whether the elements are points, or lists along any dimension select them.
    pub(crate) fn is_listed(&self) -> bool {
        !matches!(self.selection, Selection::Slices)
    }

    /// The projections of each dimension. Points have one dimension, which is their list, sorted by chunk: a projection
    /// tells how many points there are in a chunk, and before it.
    pub fn dimensions(&self) -> &[Projections] {
        &self.dimensions
    }

    /// The i-th chunk: its projection in every dimension, into `projections`, which has one entry per dimension. Of
    /// a list of indices, `first` and `last` are the least and the greatest in the chunk. Of points it is the whole
    /// chunk, with the number of points there as `iocount` in each dimension.
    ///
    /// # Errors
    /// `Index` beyond the last chunk, `Argument` if `projections` is not one per dimension.
    pub fn chunk(&self, i: usize, projections: &mut [Projection]) -> Result<()> {
        if i >= self.num_chunks {
            return Err(ErrorKind::Index { index: i, len: self.num_chunks }.into());
        }
        if projections.len() != self.rank() {
            return Err(ErrorKind::Argument("there must be one projection for each dimension").into());
        }
        if let Some(points) = self.points() {
            self.chunk_of_points(points, i, projections);
            return Ok(());
        }
        let mut rest = i;
        for (dimension, projection) in self.dimensions.iter().zip(projections).rev() {
            *projection = dimension.get(rest % dimension.len()).unwrap_or_default();
            rest /= dimension.len();
        }
        Ok(())
    }

    #[cold]
    fn chunk_of_points(&self, points: &Points, i: usize, projections: &mut [Projection]) {
        let of_list = self.dimensions.first().and_then(|list| list.get(i)).unwrap_or_default();
        let each = self.grid().dimensions().iter().zip(points.chunk(i)).zip(projections);
        for ((dimension, &chunk_index), projection) in each {
            let (offset, limit) = dimension.frame(dimension.chunk_at(chunk_index));
            *projection = Projection { chunk_index, offset, first: 0, last: limit - 1, limit, ..of_list };
        }
    }

    /// The number of the chunk with these indices, as [`chunk`](Self::chunk) counts; `None` if the plan does not touch
    /// it.
    pub fn find(&self, chunk_indices: impl IntoIterator<Item = isize>) -> Option<usize> {
        if let Some(points) = self.points() {
            let mut wanted = Dims::new();
            dims::reserve(&mut wanted, self.rank()).ok()?;
            wanted.extend(chunk_indices.into_iter().take(self.rank()));
            return points.find(&wanted);
        }
        let mut i = 0;
        for (dimension, index) in self.dimensions.iter().zip(chunk_indices) {
            i = i * dimension.len() + dimension.find(index)?;
        }
        (i < self.num_chunks).then_some(i)
    }

    /// The number that the i-th chunk of this plan has in another; `None` if the other does not touch it.
    ///
    /// # Errors
    /// `Index` beyond the last chunk, `Argument` if the plans are for different grids of chunks, `OutOfMemory`.
    pub fn intersect(&self, i: usize, other: &Plan<'_>) -> Result<Option<usize>> {
        self.check_grid(other)?;
        let mut projections: Dims<Projection> = Dims::new();
        dims::fill(&mut projections, self.rank(), Projection::default())?;
        self.chunk(i, &mut projections)?;
        Ok(other.find(projections.iter().map(|projection| projection.chunk_index)))
    }

    /// An error if another plan uses other chunks.
    pub(crate) fn check_grid(&self, other: &Plan<'_>) -> Result<()> {
        let [mine, others] = [self, other].map(|plan| plan.grid().dimensions());
        if mine.len() != others.len() || !mine.iter().zip(others).all(|(mine, others)| mine.is_cut_like(others)) {
            return Err(ErrorKind::Argument("the plans are for different grids of chunks").into());
        }
        Ok(())
    }

    /// An error if the touched chunks are not a product over the dimensions.
    pub(crate) fn check_product(&self) -> Result<()> {
        match self.points() {
            None => Ok(()),
            Some(_) => Err(ErrorKind::Argument("plans of points are not compared by their chunks").into()),
        }
    }

    /// How many elements are selected of the chunks before the i-th one, which may be one beyond the last.
    pub(crate) fn elements_before(&self, i: usize) -> usize {
        match i {
            0 => return 0,
            i if i >= self.num_chunks => return self.num_elements,
            _ => {}
        }
        // With row-major chunks: the elements of all chunks before this one along the first dimension, and of those
        // that are level with it in the first dimension, the elements of all before it along the second, and so on.
        let (mut rest, mut chunks, mut elements) = (i, self.num_chunks, self.num_elements);
        let (mut before, mut level) = (0, 1);
        for dimension in &self.dimensions {
            chunks /= dimension.len();
            elements /= dimension.slice().count();
            let projection = dimension.get(rest / chunks).unwrap_or_default();
            before += level * projection.iopos * elements;
            level *= projection.iocount;
            rest %= chunks;
        }
        before
    }

    /// The chunks from the first to the one before `first + num_chunks`; `usize::MAX` stands for all that follow the
    /// first.
    ///
    /// # Errors
    /// `Index` if the first is beyond the end of the plan, `ChunkRange` if the last is.
    pub fn chunk_range(&self, first: usize, num_chunks: usize) -> Result<Range<usize>> {
        let len = self.num_chunks;
        let after = len.checked_sub(first).ok_or(ErrorKind::Index { index: first, len })?;
        match num_chunks {
            usize::MAX => Ok(first..len),
            _ if num_chunks <= after => Ok(first..first + num_chunks),
            _ => Err(ErrorKind::ChunkRange { first, num_chunks, len }.into()),
        }
    }

    /// One of `num_parts` ranges of chunks, which differ by at most one chunk in length and together are the whole
    /// plan.
    ///
    /// # Errors
    /// `Argument` if there are no parts; `Index` if `part` is not below their number.
    pub fn part(&self, part: usize, num_parts: usize) -> Result<Range<usize>> {
        if num_parts == 0 {
            return Err(ErrorKind::Argument("the number of parts is 0").into());
        }
        if part >= num_parts {
            return Err(ErrorKind::Index { index: part, len: num_parts }.into());
        }
        // The quotient is at most the number of chunks.
        let begin = |part: usize| (part as u128 * self.num_chunks as u128 / num_parts as u128) as usize;
        Ok(begin(part)..begin(part + 1))
    }

    /// Whether the chunk with these projections is covered: every element of it that lies inside the dimensions is
    /// selected. A clipped chunk at the edge, and one of length 1 under any stride, are covered too.
    #[inline]
    pub fn covers(&self, projections: &[Projection]) -> bool {
        match self.points() {
            Some(points) => self.points_cover_chunk(points, projections),
            None => self.dimensions.iter().zip(projections).all(|(dimension, projection)| dimension.covers(projection)),
        }
    }

    #[cold]
    fn points_cover_chunk(&self, points: &Points, projections: &[Projection]) -> bool {
        let found = self.find(projections.iter().map(|projection| projection.chunk_index));
        found.is_some_and(|i| self.points_cover(points, i))
    }

    /// Whether there are points at all elements of the i-th chunk.
    fn points_cover(&self, points: &Points, i: usize) -> bool {
        let inside = self.grid().dimensions().iter().zip(points.chunk(i));
        let inside: usize = inside.map(|(dimension, &index)| dimension.num_inside(dimension.chunk_at(index))).product();
        let size = self.variable().element_size();
        let bytes = self.variable().chunk_bytes_of(self.access, points.chunk(i));
        // Without memory to find out, it is read.
        points.places(i).len() >= inside && points.num_distinct(i, bytes, size).is_ok_and(|num| num == inside)
    }

    /// The number of covered chunks, which a write need not read.
    pub fn num_covered(&self) -> usize {
        if let Some(points) = self.points() {
            return (0..self.num_chunks).filter(|&i| self.points_cover(points, i)).count();
        }
        if self.num_chunks == 0 { 0 } else { self.dimensions.iter().map(Projections::num_covered).product() }
    }

    /// Whether writes by this plan and by another for the same variable would touch a chunk in common; for a variable
    /// with a [write grid](Variable::set_write_grid), a chunk of that grid. They do if they share a chunk index in
    /// every dimension, because each touches all combinations of its indices.
    ///
    /// # Errors
    /// `Argument` if the plans are for different grids of chunks, or one of them is of points; `OutOfMemory` for chunks
    /// with a list of lengths and for lists of indices.
    pub fn shares_chunks(&self, other: &Plan<'_>) -> Result<bool> {
        self.check_product()?;
        other.check_product()?;
        let [mine, others] = [self, other].map(|plan| plan.variable().grid(Access::Write).dimensions());
        if mine.len() != others.len() || !mine.iter().zip(others).all(|(mine, others)| mine.is_cut_like(others)) {
            return Err(ErrorKind::Argument("the plans are for different grids of chunks").into());
        }
        // A scalar has no dimension to tell: both touch its one chunk.
        for ((mine, dimension), (others, others_dimension)) in
            self.dimensions.iter().zip(mine).zip(other.dimensions.iter().zip(others))
        {
            let [mine, others] = [(mine, dimension), (others, others_dimension)]
                .map(|(projections, dimension)| projections.onto(dimension));
            if !mine?.shares_chunk(&others?) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn product(numbers: impl Iterator<Item = usize>) -> usize {
    numbers.fold(1, usize::saturating_mul)
}

/// Refuses more elements than memory can hold.
fn check_selected(num_elements: usize, element_size: usize) -> Result<()> {
    let bytes = num_elements.checked_mul(element_size);
    if bytes.is_none_or(|bytes| isize::try_from(bytes).is_err()) {
        return Err(ErrorKind::Argument("the selection is larger than memory can hold").into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_plan<T>(
        dimlens: &[usize],
        chunklens: &[usize],
        slab: Hyperslab<'_>,
        body: impl FnOnce(Result<Plan<'_>>) -> T,
    ) -> T {
        let variable = Variable::new(dimlens, chunklens, 4).unwrap();
        body(Plan::new(&variable, &slab, Access::Read))
    }

    #[test]
    fn chunks_come_in_row_major_order() {
        let slab = Hyperslab::new(&[1, 0], &[3, 5]).with_stride(&[3, 2]);
        with_plan(&[10, 9], &[4, 2], slab, |plan| {
            let plan = plan.unwrap();
            assert_eq!((plan.num_chunks(), plan.selected_bytes(), plan.chunk_bytes()), (10, 60, 10 * 32));
            assert_eq!(plan.grid_chunks(), 15);
            let mut projections = [Projection::default(); 2];
            let mut indices = |i| plan.chunk(i, &mut projections).map(|()| projections.map(|p| p.chunk_index));
            assert_eq!([0, 1, 4, 5, 9].map(|i| indices(i).unwrap()), [[0, 0], [0, 1], [0, 4], [1, 0], [1, 4]]);
            assert!(indices(10).is_err());
        });
    }

    #[test]
    fn elements_are_counted_up_to_any_chunk() {
        let slab = Hyperslab::new(&[1, 0, 2], &[3, 7, 5]).with_stride(&[3, 1, 2]);
        with_plan(&[10, 9, 20], &[4, 2, 3], slab, |plan| {
            let plan = plan.unwrap();
            let mut projections = [Projection::default(); 3];
            let mut before = 0;
            for i in 0..plan.num_chunks() {
                assert_eq!(plan.elements_before(i), before);
                plan.chunk(i, &mut projections).unwrap();
                before += projections.iter().map(|projection| projection.iocount).product::<usize>();
            }
            assert_eq!((plan.elements_before(plan.num_chunks()), before), (before, plan.num_elements()));
        });
    }

    #[test]
    fn parts_are_the_whole_and_differ_by_one_chunk_at_most() {
        with_plan(&[10, 9], &[1, 1], Hyperslab::all(), |plan| {
            let plan = plan.unwrap();
            for num_parts in [1, 2, 7, 89, 90, 91, 1000, usize::MAX] {
                let parts = (0..num_parts.min(1000)).map(|part| plan.part(part, num_parts).unwrap());
                let mut end = 0;
                for part in parts {
                    assert_eq!(part.start, end);
                    assert!(part.len().abs_diff(90 / num_parts) <= 1);
                    end = part.end;
                }
                assert!(end == 90 || num_parts > 1000);
            }
            assert!(plan.part(0, 0).is_err() && plan.part(3, 3).is_err());
        });
    }

    #[test]
    fn a_scalar_is_one_covered_chunk() {
        with_plan(&[], &[], Hyperslab::all(), |plan| {
            let plan = plan.unwrap();
            assert_eq!((plan.num_chunks(), plan.selected_bytes(), plan.grid_chunks()), (1, 4, 1));
            assert!(plan.chunk(0, &mut []).is_ok() && plan.covers(&[]) && plan.num_covered() == 1);
        });
    }

    #[test]
    fn a_selection_beyond_memory_is_refused() {
        let huge = 1 << (usize::BITS / 2 + 8);
        let (dimlens, start) = ([huge, huge], [0, 0]);
        with_plan(&dimlens, &[1, 1], Hyperslab::new(&start, &[huge, huge]), |plan| {
            assert_eq!(plan.unwrap_err().status(), crate::status::EINVAL);
        });
        with_plan(&dimlens, &[1, 1], Hyperslab::new(&start, &[huge, 0]), |plan| {
            assert_eq!(plan.unwrap().num_chunks(), 0);
        });
    }

    #[test]
    fn shards_are_what_writes_share() {
        let mut variable = Variable::new(&[20], &[2], 4).unwrap();
        variable.set_write_grid(Some(&[10])).unwrap();
        let plan = |start, count, access| Plan::new(&variable, &Hyperslab::new(&[start], &[count]), access).unwrap();
        let (first, second) = (plan(0, 4, Access::Read), plan(6, 4, Access::Write));
        assert_eq!((first.num_chunks(), second.num_chunks()), (2, 1));
        assert_eq!((first.num_covered(), second.num_covered()), (2, 0));
        assert!(first.shares_chunks(&second).unwrap());
        assert!(!first.shares_chunks(&plan(10, 10, Access::Write)).unwrap());
    }

    #[test]
    fn a_plan_tells_what_it_was_made_for() {
        let mut variable = Variable::new(&[10, 9], &[2, 3], 4).unwrap();
        variable.set_write_grid(Some(&[4, 3])).unwrap();
        let slab = Hyperslab::new(&[0, 3], &[4, 3]);
        let plan = |access| Plan::new(&variable, &slab, access).unwrap();
        let told = |p: &Plan<'_>| (p.access(), p.num_chunks(), p.num_covered(), p.chunk_bytes(), p.grid_chunks());
        assert_eq!(told(&plan(Access::Read)), (Access::Read, 2, 2, 48, 15));
        assert_eq!(told(&plan(Access::Write).into_owned().unwrap()), (Access::Write, 1, 1, 48, 9));

        let read = || plan(Access::Read);
        let memory = |p: &Plan<'_>| (p.rank(), p.num_elements(), p.selected_bytes(), p.memory_bytes(), p.is_disjoint());
        assert_eq!(memory(&read()), (2, 12, 48, 48, true));
        assert_eq!(memory(&read().with_memory(&[24, 4], 8, 100).unwrap()), (2, 12, 48, 100, true));
        assert_eq!(memory(&read().with_imap(&[6, 1]).unwrap()), (2, 12, 48, 84, true));
        assert_eq!(memory(&read().with_imap(&[1, 1]).unwrap()), (2, 12, 48, 24, false));

        let mut projections = [Projection::default(); 2];
        let partly = Plan::new(&variable, &Hyperslab::new(&[0, 3], &[3, 3]), Access::Read).unwrap();
        let covers = [0, 1].map(|i| partly.chunk(i, &mut projections).map(|()| partly.covers(&projections)).unwrap());
        assert_eq!(covers, [true, false]);
        assert_eq!(partly.chunk(0, &mut projections[..1]).unwrap_err().status(), crate::status::EINVAL);

        let range = |first, num_chunks| read().chunk_range(first, num_chunks).map_err(|error| error.kind());
        assert_eq!([range(0, usize::MAX), range(1, 1), range(2, 0)], [Ok(0..2), Ok(1..2), Ok(2..2)]);
        assert_eq!(range(1, 2), Err(ErrorKind::ChunkRange { first: 1, num_chunks: 2, len: 2 }));
        assert_eq!(range(3, usize::MAX), Err(ErrorKind::Index { index: 3, len: 2 }));
    }

    #[test]
    fn a_plan_that_owns_its_variable_goes_on_owning_it() {
        let owned = with_plan(&[10], &[4], Hyperslab::all(), |plan| plan.unwrap().into_owned().unwrap());
        let again = owned.into_owned().unwrap();
        assert_eq!((again.num_chunks(), again.variable().dimensions()[0].len()), (3, 10));
    }
}
