//! One dimension: which chunks a slice touches, and which of their elements.
//!
//! Of a dimension of `D` elements in chunks of `C`, a slice selects the elements `s + k*t` for `k` in `0..n`; the last
//! one is `L = s + (n-1)*t`, less than `D`. Chunk `c` begins at `base = c*C`, and the `k` that land in it are
//!
//! ```text
//! k0 = max(0, ceil((base - s) / t))        k1 = min(n - 1, floor((base + C - 1 - s) / t))
//! ```
//!
//! - `t <= C` (a *dense* slice): it touches every chunk from `s/C` to `L/C`, so there are `L/C - s/C + 1` projections
//!   and the p-th is that of chunk `s/C + p`.
//! - `t > C` (a *sparse* slice): no two elements share a chunk, so there are `n` projections and the p-th holds the one
//!   element `s + p*t`.
//!
//! Either way the p-th projection is found at once, and chunks that are not touched cost nothing.
//!
//! In a dimension with an origin, element `i` has the position `lead + i`, counted from the beginning of the first
//! chunk, where `lead` is how much of that chunk lies before the dimension ([`Dimension`]). All of the above holds with
//! `lead + s` for `s`, and with chunks counted from the dimension's first.
//!
//! Chunks with a list of lengths are runs of chunks that are alike. Each run is a dimension in which all of the above
//! holds, and the projections are those onto the runs, one after another. Which run the p-th is in is found by
//! bisection: at once if the slice touches every chunk between its ends, which it does if no chunk is shorter than
//! `t`; else of the numbers of chunks that it touches in the runs, which are counted before.
//!
//! A list of indices is sorted, and cut where the chunk changes. Then the p-th projection is that of the p-th part.

use crate::alloc;
use crate::chunk_list::{ChunkList, Run};
use crate::copy::Place;
use crate::dims::{self, Dims};
use crate::error::Result;
use crate::grid::Dimension;
use crate::hyperslab::Slice;

/// The part of a slice that lies in one chunk, along one dimension. All lengths and positions are in elements.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Projection {
    /// The chunk's index along the dimension. Signed, because a dimension that grew at its front has chunks below 0.
    pub chunk_index: isize,
    /// The chunk's beginning in the index space that the origin refers to: chunk_index * chunklen, or the sum of the
    /// lengths of the chunks before it.
    pub offset: isize,
    /// The first selected element, counted from the beginning of the chunk.
    pub first: usize,
    /// The last selected element, counted from the beginning of the chunk.
    pub last: usize,
    /// The end of the dimension, counted from the beginning of the chunk: chunklen, or less in the last chunk.
    pub limit: usize,
    /// The position of the first selected element in memory, along this dimension.
    pub iopos: usize,
    /// The number of selected elements: first, first + stride, ... last.
    pub iocount: usize,
}

/// The projections of one slice onto the chunks it touches, in ascending order: a list that is computed, not stored. Or
/// those of a list of indices, sorted.
#[derive(Debug)]
pub struct Projections {
    dimension: Dimension,
    slice: Slice,
    /// The position of the slice's start.
    start: usize,
    /// The first touched chunk.
    first_chunk: usize,
    len: usize,
    /// What is stored all the same, if anything is.
    stored: Option<Box<Stored>>,
}

/// What cannot be computed.
#[derive(Debug)]
enum Stored {
    /// Of chunks with a list of lengths, of which not every one between the slice's ends is touched.
    Counts(Counts),
    /// The indices, if no slice selects the elements.
    Indices(Indices),
}

/// A list of indices.
#[derive(Debug)]
struct Indices {
    /// In ascending order; of those that are the same, the last one is the last. The place in the chunk is counted from
    /// its beginning, that in memory is the one in the list.
    places: Vec<Place>,
    /// The touched chunks, counted from the dimension's first, and where the places of each begin.
    chunks: Vec<(usize, usize)>,
}

impl Indices {
    /// Indices that were checked against the dimension.
    fn new(dimension: &Dimension, indices: impl ExactSizeIterator<Item = usize>) -> Result<Self> {
        let (mut places, mut chunks) = (alloc::room(indices.len())?, Vec::new());
        places.extend(indices.enumerate().map(|(in_memory, index)| Place { in_chunk: index, in_memory }));
        places.sort_unstable_by_key(|place| (place.in_chunk, place.in_memory));
        for (i, place) in places.iter_mut().enumerate() {
            let (chunk, first) = dimension.locate(dimension.position(place.in_chunk));
            place.in_chunk = first;
            if chunks.last().is_none_or(|&(last, _)| last != chunk) {
                alloc::push(&mut chunks, (chunk, i))?;
            }
        }
        Ok(Indices { places, chunks })
    }

    /// The places in the p-th chunk, which is one of these.
    fn of(&self, p: usize) -> &[Place] {
        &self.places[self.chunks[p].1..self.chunks.get(p + 1).map_or(self.places.len(), |&(_, end)| end)]
    }
}

/// How many chunks are touched of all runs up to each, from the slice's first run to its last.
#[derive(Debug)]
struct Counts {
    first_run: usize,
    ends: Vec<usize>,
}

impl Projections {
    /// The projections of a slice that was checked against the dimension.
    ///
    /// # Errors
    /// `OutOfMemory`, for chunks with a list of lengths only.
    #[inline]
    pub fn new(dimension: &Dimension, slice: Slice) -> Result<Self> {
        match dimension.list() {
            None => Ok(Projections::regular(dimension, slice)),
            Some(list) => Projections::of_list(dimension, list, slice),
        }
    }

    /// Adds the [projections](Self::new) of a slice onto chunks without a list to those of other dimensions, and
    /// returns their number. They are made where they stay, for to move them takes longer.
    ///
    /// # Errors
    /// `OutOfMemory`, if no room was made before.
    #[inline]
    pub(crate) fn push_regular(all: &mut Dims<Projections>, dimension: &Dimension, slice: Slice) -> Result<usize> {
        let mut num = 0;
        dims::push(all, || {
            let projections = Projections::regular(dimension, slice);
            num = projections.len;
            projections
        })?;
        Ok(num)
    }

    /// The projections onto chunks without a list.
    #[inline]
    fn regular(dimension: &Dimension, slice: Slice) -> Self {
        let start = dimension.position(slice.start());
        let first_chunk = dimension.regular_locate(start).0;
        let len = match slice.last() {
            None => 0,
            Some(last) if slice.stride() <= dimension.regular_chunklen() => {
                dimension.regular_locate(dimension.position(last)).0 - first_chunk + 1
            }
            Some(_) => slice.count(),
        };
        Projections { dimension: dimension.regular_copy(), slice, start, first_chunk, len, stored: None }
    }

    #[inline]
    fn counts(&self) -> Option<&Counts> {
        match self.stored.as_deref()? {
            Stored::Counts(counts) => Some(counts),
            Stored::Indices(_) => None,
        }
    }

    #[inline]
    fn indices(&self) -> Option<&Indices> {
        match self.stored.as_deref()? {
            Stored::Indices(indices) => Some(indices),
            Stored::Counts(_) => None,
        }
    }

    /// The projections of a list of indices, which were checked against the dimension, and of which the slice tells how
    /// many they are; or of nothing, if that is none.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(crate) fn of_indices(dimension: &Dimension, slice: Slice, indices: &[usize]) -> Result<Self> {
        Projections::chosen(dimension, slice, indices.iter().take(slice.count()).copied())
    }

    #[cold]
    fn chosen(dimension: &Dimension, slice: Slice, indices: impl ExactSizeIterator<Item = usize>) -> Result<Self> {
        let indices = Indices::new(dimension, indices)?;
        let (dimension, len) = (dimension.clone(), indices.chunks.len());
        let stored = Some(alloc::try_box(Stored::Indices(indices))?);
        Ok(Projections { dimension, slice, start: 0, first_chunk: 0, len, stored })
    }

    /// The projections of the same elements onto other chunks of the dimension.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(crate) fn onto(&self, dimension: &Dimension) -> Result<Self> {
        let Some(indices) = self.indices() else { return Projections::new(dimension, self.slice) };
        // As long as it is not asked for places, the order of the list does not matter.
        let mut found = alloc::room(indices.places.len())?;
        for (p, &(chunk, _)) in indices.chunks.iter().enumerate() {
            let (begin, before) = (self.dimension.extent(chunk).0, self.dimension.position(0));
            found.extend(indices.of(p).iter().map(|place| begin + place.in_chunk - before));
        }
        Projections::chosen(dimension, self.slice, found.into_iter())
    }

    /// Where the elements of one of these projections are that a list of indices selects, in the chunk and in memory;
    /// `None` if a slice selects them.
    #[inline]
    pub(crate) fn places(&self, of: &Projection) -> Option<&[Place]> {
        self.indices()?.places.get(of.iopos..of.iopos.checked_add(of.iocount)?)
    }

    /// Whether a list of indices selects the elements.
    pub(crate) fn are_listed(&self) -> bool {
        self.indices().is_some()
    }

    #[cold]
    fn of_list(dimension: &Dimension, list: &ChunkList, slice: Slice) -> Result<Self> {
        let (start, dimension) = (slice.start(), dimension.clone());
        let first_chunk = list.locate(start).0;
        let mut all = Projections { dimension, slice, start, first_chunk, len: 0, stored: None };
        let Some(last) = slice.last() else { return Ok(all) };
        if slice.count() == 1 || slice.stride() <= list.shortest() {
            all.len = list.locate(last).0 - first_chunk + 1;
            return Ok(all);
        }
        let mut counts = Counts { first_run: list.run_at(start), ends: Vec::new() };
        for run in all.runs(list) {
            all.len += all.within(run).0.len;
            alloc::push(&mut counts.ends, all.len)?;
        }
        all.stored = Some(alloc::try_box(Stored::Counts(counts))?);
        Ok(all)
    }

    /// The runs of a list from the slice's first element to its last.
    fn runs<'l>(&self, list: &'l ChunkList) -> &'l [Run] {
        match self.slice.last() {
            Some(last) => &list.runs()[list.run_at(self.start)..=list.run_at(last)],
            None => &[],
        }
    }

    /// The projections onto the chunks of a run, whose numbers are counted from the run's first; and how many elements
    /// are selected before it.
    fn within(&self, run: &Run) -> (Projections, usize) {
        let (slice, before) = self.slice.within(run.begin..run.begin + run.len());
        (Projections::regular(&self.dimension.part(run), slice), before)
    }

    /// The number of touched chunks.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no chunk is touched.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The dimension whose chunks these are projections onto.
    pub fn dimension(&self) -> &Dimension {
        &self.dimension
    }

    /// The slice that these are projections of.
    pub fn slice(&self) -> Slice {
        self.slice
    }

    /// Whether the chunks have no list, and the slice touches every one between its ends.
    fn is_dense(&self) -> bool {
        self.slice.stride() <= self.dimension.regular_chunklen()
    }

    /// The p-th projection, or `None` beyond the last.
    #[inline]
    pub fn get(&self, p: usize) -> Option<Projection> {
        if p >= self.len {
            return None;
        }
        if let Some(indices) = self.indices() {
            return self.listed(indices, p);
        }
        let (stride, chunklen) = (self.slice.stride(), self.dimension.regular_chunklen());
        Some(if self.is_dense() {
            let chunk = self.first_chunk + p;
            let base = chunk * chunklen;
            let k0 = if base <= self.start { 0 } else { div_ceil(base - self.start, stride) };
            self.projection(chunk, self.start + k0 * stride - base, k0)
        } else if let Some(list) = self.dimension.list() {
            self.in_list(list, p)?
        } else {
            let (chunk, first) = self.dimension.regular_locate(self.start + p * stride);
            self.projection(chunk, first, p)
        })
    }

    /// The p-th projection of a list of indices.
    #[cold]
    fn listed(&self, indices: &Indices, p: usize) -> Option<Projection> {
        let (&(chunk, iopos), places) = (indices.chunks.get(p)?, indices.of(p));
        let (offset, limit) = self.dimension.frame(chunk);
        Some(Projection {
            chunk_index: self.dimension.chunk_index(chunk),
            offset,
            first: places.first()?.in_chunk,
            last: places.last()?.in_chunk,
            limit,
            iopos,
            iocount: places.len(),
        })
    }

    /// The p-th projection, onto chunks with a list of lengths.
    #[cold]
    fn in_list(&self, list: &ChunkList, p: usize) -> Option<Projection> {
        let (run, p) = match self.counts() {
            None => {
                let chunk = self.first_chunk + p;
                let run = &list.runs()[list.run_of(chunk)];
                (run, chunk - run.first_chunk.max(self.first_chunk))
            }
            Some(counts) => {
                let run = counts.ends.partition_point(|&end| end <= p);
                let before = run.checked_sub(1).map_or(0, |last| counts.ends[last]);
                (&list.runs()[counts.first_run + run], p - before)
            }
        };
        let (part, before) = self.within(run);
        let found = part.get(p)?;
        Some(Projection {
            // It fits, because a list has no more chunks or elements than an `isize` counts.
            chunk_index: found.chunk_index + run.first_chunk as isize,
            offset: found.offset + run.begin as isize,
            iopos: found.iopos + before,
            ..found
        })
    }

    /// The number of the projection onto the chunk with this index; `None` if the slice does not touch that chunk.
    pub fn find(&self, chunk_index: isize) -> Option<usize> {
        let chunk = self.dimension.chunk_at(chunk_index);
        if let Some(indices) = self.indices() {
            return indices.chunks.binary_search_by_key(&chunk, |&(chunk, _)| chunk).ok();
        }
        let Some(list) = self.dimension.list() else { return self.regular_find(chunk) };
        // Before an index of another chunk is looked up, and wraps.
        if self.is_empty() || chunk >= self.dimension.num_chunks() {
            return None;
        }
        let at = list.run_of(chunk);
        let run = &list.runs()[at];
        let found = self.within(run).0.regular_find(chunk - run.first_chunk)?;
        Some(match self.counts() {
            None => chunk - self.first_chunk,
            Some(counts) => match at.checked_sub(counts.first_run)? {
                0 => found,
                before => counts.ends.get(before - 1)? + found,
            },
        })
    }

    /// The same of chunks without a list, of which this is one or one beyond the last.
    fn regular_find(&self, chunk: usize) -> Option<usize> {
        let p = if self.is_dense() {
            chunk.checked_sub(self.first_chunk)?
        } else {
            // The first element that is not before the chunk.
            let begin = chunk.checked_mul(self.dimension.regular_chunklen())?;
            let p = begin.saturating_sub(self.start).div_ceil(self.slice.stride());
            let position = self.start.checked_add(p.checked_mul(self.slice.stride())?)?;
            (self.dimension.regular_locate(position).0 == chunk).then_some(p)?
        };
        (p < self.len).then_some(p)
    }

    /// The projection after this one, which is one of these and not the last, onto chunks without a list.
    #[inline]
    pub(crate) fn after(&self, previous: &Projection) -> Projection {
        let k0 = previous.iopos + previous.iocount;
        let chunk = self.dimension.chunk_at(previous.chunk_index) + 1;
        // The next element, counted from the beginning of the next chunk.
        let first = previous.last + self.slice.stride() - self.dimension.regular_chunklen();
        if self.is_dense() {
            self.projection(chunk, first, k0)
        } else {
            let (skipped, first) = self.dimension.regular_locate(first);
            self.projection(chunk + skipped, first, k0)
        }
    }

    /// The projection onto a chunk whose first selected element is the k0-th one and lies at `first` in the chunk.
    #[inline]
    fn projection(&self, chunk: usize, first: usize, k0: usize) -> Projection {
        let (stride, chunklen) = (self.slice.stride(), self.dimension.regular_chunklen());
        let room = if self.is_dense() { div(chunklen - 1 - first, stride) + 1 } else { 1 };
        let iocount = room.min(self.slice.count() - k0);
        let chunk_index = self.dimension.chunk_index(chunk);
        Projection {
            chunk_index,
            // It fits, because the dimension has checked the first chunk's and no element's index exceeds an `isize`.
            offset: chunk_index.wrapping_mul(chunklen as isize),
            first,
            last: first + (iocount - 1) * stride,
            limit: self.dimension.regular_limit(chunk),
            iopos: k0,
            iocount,
        }
    }

    /// Whether a projection of these covers its chunk: every element of the chunk that lies inside the dimension is
    /// selected.
    pub fn covers(&self, projection: &Projection) -> bool {
        let chunk = self.dimension.chunk_at(projection.chunk_index);
        let num_selected = match self.indices() {
            Some(_) => self.num_distinct(projection),
            None => projection.iocount,
        };
        num_selected == self.dimension.inside(chunk, projection.limit)
    }

    /// How many elements a list of indices selects of a chunk, each of which counts once.
    #[cold]
    fn num_distinct(&self, projection: &Projection) -> usize {
        let places = self.places(projection).unwrap_or_default();
        1 + places.windows(2).filter(|two| two[0].in_chunk != two[1].in_chunk).count()
    }

    /// The number of covered chunks.
    ///
    /// Between the first touched chunk and the last, a chunk lies inside the dimension as a whole, so it is covered if
    /// every element is selected: the stride is 1, or a chunk has one element.
    pub fn num_covered(&self) -> usize {
        if self.are_listed() {
            return self.iter().filter(|projection| self.covers(projection)).count();
        }
        if let Some(list) = self.dimension.list() {
            return self.runs(list).iter().map(|run| self.within(run).0.num_covered()).sum();
        }
        let covers = |p| self.get(p).is_some_and(|projection| self.covers(&projection));
        let between = if self.slice.stride() == 1 || self.dimension.regular_chunklen() == 1 {
            self.len.saturating_sub(2)
        } else {
            0
        };
        between + usize::from(covers(0)) + usize::from(self.len > 1 && covers(self.len - 1))
    }

    /// How many elements the touched chunks decode to, along this dimension; `usize::MAX` where that is more than a
    /// `usize` holds.
    pub fn encoded_len(&self) -> usize {
        match self.dimension.list() {
            None => self.len.saturating_mul(self.dimension.regular_chunklen()),
            Some(_) if self.are_listed() => self.iter().fold(0, |sum: usize, projection| {
                sum.saturating_add(self.dimension.encoded_len(projection.chunk_index))
            }),
            Some(list) => self.runs(list).iter().fold(0, |sum: usize, run| {
                sum.saturating_add(self.within(run).0.len.saturating_mul(run.chunks.encoded_len))
            }),
        }
    }

    /// Whether these and others of the same dimension touch a chunk in common.
    pub fn shares_chunk(&self, others: &Projections) -> bool {
        if self.is_empty() || others.is_empty() {
            return false;
        }
        for (listed, others) in [(self, others), (others, self)] {
            if listed.are_listed() {
                return listed.iter().any(|projection| others.find(projection.chunk_index).is_some());
            }
        }
        if let Some(list) = self.dimension.list() {
            return self.runs(list).iter().any(|run| self.within(run).0.shares_chunk(&others.within(run).0));
        }
        match (self.is_dense(), others.is_dense()) {
            (true, true) => {
                self.first_chunk < others.first_chunk + others.len && others.first_chunk < self.first_chunk + self.len
            }
            (true, false) => others.touches_any(self.first_chunk, self.len),
            (false, true) => self.touches_any(others.first_chunk, others.len),
            (false, false) => {
                shared::share_a_chunk(self.progression(), others.progression(), self.dimension.regular_chunklen())
            }
        }
    }

    /// Whether a sparse slice has an element in one of these chunks, which lie side by side.
    fn touches_any(&self, first_chunk: usize, num_chunks: usize) -> bool {
        let (stride, chunklen) = (self.slice.stride() as u128, self.dimension.regular_chunklen() as u128);
        let begin = first_chunk as u128 * chunklen;
        let end = begin + num_chunks as u128 * chunklen;
        let k = begin.saturating_sub(self.start as u128).div_ceil(stride);
        k < self.slice.count() as u128 && self.start as u128 + k * stride < end
    }

    /// The positions of the selected elements.
    fn progression(&self) -> shared::Progression {
        shared::Progression {
            start: self.start as i128,
            step: self.slice.stride() as i128,
            count: self.slice.count() as i128,
        }
    }

    /// All projections, in order.
    pub fn iter(&self) -> impl Iterator<Item = Projection> + '_ {
        (0..self.len).map_while(|p| self.get(p))
    }
}

/// Division where the divisor is most often 1.
#[inline]
fn div(a: usize, b: usize) -> usize {
    if b == 1 { a } else { a / b }
}

/// Division, rounded up, where the divisor is most often 1.
#[inline]
fn div_ceil(a: usize, b: usize) -> usize {
    if b == 1 { a } else { a.div_ceil(b) }
}

/// Whether two arithmetic progressions have elements in the same chunk.
///
/// Elements `x` and `y` in one chunk differ by less than its length `C`, and differences are `d = x - y`, all alike
/// modulo `g`, the steps' greatest common divisor. So at most `2*C/g` differences are possible. For each, the pairs
/// `(x, y)` with that difference form one progression again, whose step is the steps' least common multiple; a pair
/// shares a chunk if `x mod C` is neither too small nor too large for its `y`. Whether a progression ever comes into
/// such a range modulo `C` is found as by Euclid's algorithm. Where the progressions have fewer elements than there are
/// differences, those are tried.
mod shared {
    /// `start + k*step` for `k` in `0..count`. No element exceeds 2^64.
    #[derive(Clone, Copy)]
    pub(super) struct Progression {
        pub start: i128,
        pub step: i128,
        pub count: i128,
    }

    pub(super) fn share_a_chunk(a: Progression, b: Progression, chunklen: usize) -> bool {
        let chunklen = chunklen as i128;
        let (g, inverse) = gcd(a.step, b.step);
        if a.count.min(b.count) < 2 * chunklen / g {
            let (few, many) = if a.count < b.count { (a, b) } else { (b, a) };
            return (0..few.count).any(|k| {
                let base = (few.start + k * few.step).div_euclid(chunklen) * chunklen;
                let next = (base - many.start).max(0).div_euclid(many.step);
                // The element before the chunk, or its first; then the one after it.
                (next..next + 2)
                    .any(|k| k < many.count && (base..base + chunklen).contains(&(many.start + k * many.step)))
            });
        }
        let offset = (b.start - a.start).rem_euclid(g);
        // The differences that are -offset modulo g, from above -C on.
        let least = -(chunklen - 1);
        let first = least + (-offset - least).rem_euclid(g);
        (0..).map(|i| first + i * g).take_while(|&d| d < chunklen).any(|d| has_pair(a, b, d, g, inverse, chunklen))
    }

    /// Whether `x - y == d` for an `x` of one and a `y` of the other in the same chunk. `inverse * a.step == g` modulo
    /// `b.step`.
    fn has_pair(a: Progression, b: Progression, d: i128, g: i128, inverse: i128, chunklen: i128) -> bool {
        // a.start + i*a.step - b.start - j*b.step == d
        let period = b.step / g;
        let i = ((d + b.start - a.start) / g % period * (inverse % period)).rem_euclid(period);
        let j_of = |i: i128| (a.start + i * a.step - b.start - d) / b.step;
        // The least i of the residue class for which j is not negative, and how often both can take a step from there.
        let lacking = (-j_of(i)).max(0);
        let i = i + period * div_ceil(lacking, a.step / g);
        let j = j_of(i);
        if i >= a.count || j >= b.count {
            return false;
        }
        let num_pairs = ((a.count - 1 - i) / period).min((b.count - 1 - j) / (a.step / g)) + 1;
        // Both lie in one chunk if x mod C is from max(0, d) to C - 1 + min(0, d).
        let (low, high) = (d.max(0), chunklen - 1 + d.min(0));
        let x = a.start + i * a.step;
        let step = (period % chunklen * (a.step % chunklen)) % chunklen;
        first_in_range(step, x.rem_euclid(chunklen), chunklen, low, high).is_some_and(|m| m < num_pairs)
    }

    /// The least `m` for which `(start + m*step) mod modulus` lies in `low..=high`.
    fn first_in_range(step: i128, start: i128, modulus: i128, low: i128, high: i128) -> Option<i128> {
        if (low..=high).contains(&start) {
            return Some(0);
        }
        let (low, high) = ((low - start).rem_euclid(modulus), (high - start).rem_euclid(modulus));
        // 0 is not in the range, so it does not wrap.
        first_multiple_in_range(step, modulus, low, high)
    }

    /// The least `m` for which `m*step mod modulus` lies in `low..=high`; 0 < low <= high < modulus.
    fn first_multiple_in_range(step: i128, modulus: i128, low: i128, high: i128) -> Option<i128> {
        if step == 0 {
            return None;
        }
        let m = div_ceil(low, step);
        if m * step <= high {
            return Some(m);
        }
        // No multiple of the step lies in the range, so the multiples must wrap first: m*step - w*modulus is in the
        // range for the least w for which w*modulus mod step lies in -high..=-low, modulo the step.
        let w = first_multiple_in_range(modulus % step, step, (-high).rem_euclid(step), (-low).rem_euclid(step))?;
        Some(div_ceil(low + w * modulus, step))
    }

    /// The greatest common divisor `g`, and an `x` for which `x*a == g` modulo `b`.
    fn gcd(a: i128, b: i128) -> (i128, i128) {
        let (mut g, mut x, mut next, mut next_x) = (a, 1, b, 0);
        while next != 0 {
            let quotient = g / next;
            (g, next) = (next, g - quotient * next);
            (x, next_x) = (next_x, x - quotient * next_x);
        }
        (g, x)
    }

    fn div_ceil(a: i128, b: i128) -> i128 {
        (a + b - 1).div_euclid(b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn projections(len: usize, chunklen: usize, start: usize, count: usize, stride: isize) -> Projections {
        let dimension = Dimension::new(len, chunklen).unwrap();
        Projections::new(&dimension, Slice::read(len, start, count, stride).unwrap()).unwrap()
    }

    #[test]
    fn a_dense_slice_touches_every_chunk_between_its_ends() {
        let all = projections(10, 4, 1, 3, 4);
        assert_eq!(all.len(), 3);
        let last = all.get(2).unwrap();
        assert_eq!(last, Projection { chunk_index: 2, offset: 8, first: 1, last: 1, limit: 2, iopos: 2, iocount: 1 });
        assert_eq!(all.get(3), None);
    }

    #[test]
    fn a_sparse_slice_touches_one_chunk_an_element() {
        let last = isize::MAX / 2;
        let all = projections(last as usize + 1, 1, 0, 2, last);
        assert_eq!(all.len(), 2);
        assert_eq!(all.get(1).unwrap().chunk_index, last);
    }

    #[test]
    fn every_touched_chunk_is_found_and_no_other() {
        for (len, chunklen, start, count, stride) in [
            (30, 4, 3, 9, 3),
            (30, 4, 3, 5, 6),
            (30, 1, 0, 30, 1),
            (30, 7, 0, 0, 1),
            (30, 4, 29, 1, 1),
            (40, 3, 1, 5, 9),
        ] {
            for origin in [0, 5, -7] {
                let dimension = Dimension::new(len, chunklen).unwrap().with_origin(origin).unwrap();
                let slice = Slice::read(len, start, count, stride).unwrap();
                let all = Projections::new(&dimension, slice).unwrap();
                let touched: Vec<_> = all.iter().map(|projection| projection.chunk_index).collect();
                for chunk in (-20..20).chain([isize::MIN, isize::MAX]) {
                    assert_eq!(
                        all.find(chunk),
                        touched.iter().position(|&touched| touched == chunk),
                        "{chunk} {all:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_largest_sizes_do_not_overflow() {
        let len = 1 << (usize::BITS - 1);
        assert_eq!(projections(len, len, 0, len, 1).get(0).unwrap().iocount, len);
        assert_eq!(projections(len, usize::MAX, len - 1, 1, isize::MAX).get(0).unwrap().first, len - 1);
        assert_eq!(projections(len, 1, len - 1, 1, 1).get(0).unwrap().chunk_index, isize::MAX);
        let two = projections(len, 3, 0, 2, isize::MAX);
        assert_eq!(two.get(1).unwrap().offset, isize::MAX - isize::MAX % 3);
        assert_eq!(two.after(&two.get(0).unwrap()), two.get(1).unwrap());
    }

    #[test]
    fn a_prepended_dimension_has_chunks_below_zero() {
        let dimension = Dimension::new(12, 4).unwrap().with_origin(-5).unwrap();
        let all = Projections::new(&dimension, Slice::read(12, 0, 12, 1).unwrap()).unwrap();
        let seen: Vec<_> = all.iter().map(|p| (p.chunk_index, p.offset, p.first, p.last, p.limit, p.iopos)).collect();
        assert_eq!(seen, [(-2, -8, 3, 3, 4, 0), (-1, -4, 0, 3, 4, 1), (0, 0, 0, 3, 4, 5), (1, 4, 0, 2, 3, 9)]);
        assert!(all.iter().all(|projection| all.covers(&projection)));
        assert_eq!(all.num_covered(), 4);
    }

    #[test]
    fn lists_in_order_and_what_two_of_them_share() {
        let all = |chunklen: usize, origin: isize| -> Vec<Projections> {
            let dimension = Dimension::new(9, chunklen).unwrap().with_origin(origin).unwrap();
            let requests = (0..9).flat_map(|start| (0..5).flat_map(move |n| (1..7).map(move |t| (start, n, t))));
            requests
                .filter_map(|(start, count, stride)| Slice::read(9, start, count, stride).ok())
                .map(|slice| Projections::new(&dimension, slice).unwrap())
                .collect()
        };
        for (chunklen, origin) in [(1, 0), (2, 0), (3, -4), (4, 1)] {
            let step = if cfg!(miri) { 17 } else { 1 }; // Miri has little patience
            let all: Vec<Projections> = all(chunklen, origin).into_iter().step_by(step).collect();
            for one in &all {
                let each = (1..one.len()).map(|p| (one.get(p - 1).unwrap(), one.get(p).unwrap()));
                each.for_each(|(previous, next)| assert_eq!(one.after(&previous), next, "{one:?}"));
                let covered = one.iter().filter(|projection| one.covers(projection)).count();
                assert_eq!(one.num_covered(), covered, "{one:?}");
            }
            for (one, other) in all.iter().flat_map(|one| all.iter().map(move |other| (one, other))) {
                let expected = one.iter().any(|mine| other.iter().any(|theirs| mine.chunk_index == theirs.chunk_index));
                assert_eq!(one.shares_chunk(other), expected, "{one:?} and {other:?}");
            }
        }
    }

    #[test]
    fn nothing_selected_touches_nothing() {
        assert_eq!(projections(10, 4, 10, 0, 1).len(), 0);
        assert_eq!(projections(0, 4, 0, 0, 1).len(), 0);
    }

    #[test]
    fn sparse_slices_share_a_chunk_or_do_not() {
        // Small enough to compare with the definition, with every relation of strides and chunk length.
        let dimlen = 60;
        let step = if cfg!(miri) { 7 } else { 1 };
        for chunklen in [1, 2, 3, 5, 6, 8] {
            let all: Vec<Projections> = (0..12)
                .flat_map(|start| [2, 3, 5].map(|count| (start, count)))
                .flat_map(|(start, count)| (chunklen as isize + 1..20).map(move |stride| (start, count, stride)))
                .filter_map(|(start, count, stride)| Slice::read(dimlen, start, count, stride).ok())
                .map(|slice| Projections::new(&Dimension::new(dimlen, chunklen).unwrap(), slice).unwrap())
                .step_by(step)
                .collect();
            for (one, other) in all.iter().flat_map(|one| all.iter().map(move |other| (one, other))) {
                let expected = one.iter().any(|mine| other.iter().any(|theirs| mine.chunk_index == theirs.chunk_index));
                assert_eq!(one.shares_chunk(other), expected, "{one:?} and {other:?}");
            }
        }
    }

    #[test]
    fn sharing_among_very_many_chunks_is_decided_at_once() {
        let len = isize::MAX as usize;
        let count = len / 8 - 1;
        let even = projections(len, 1, 0, count, 6);
        let odd = projections(len, 1, 1, count, 6);
        assert!(!even.shares_chunk(&odd) && even.shares_chunk(&projections(len, 1, 4, count, 8)));
        // Strides of 10 and 15 in chunks of 5: elements 0, 10, .. and 5, 20, .. meet in the chunk that begins at 20.
        let tens = projections(len, 5, 0, len / 16, 10);
        assert!(tens.shares_chunk(&projections(len, 5, 5, len / 16, 15)));
        assert!(!tens.shares_chunk(&projections(len, 5, 5, len / 16, 10)));
    }

    #[test]
    fn projections_tell_what_they_are_of() {
        let all = projections(10, 4, 1, 3, 4);
        assert_eq!(
            (all.dimension(), all.slice().start(), all.slice().count()),
            (&Dimension::new(10, 4).unwrap(), 1, 3)
        );
        assert_eq!((all.dimension().is_empty(), projections(0, 4, 0, 0, 1).dimension().is_empty()), (false, true));
    }
}
