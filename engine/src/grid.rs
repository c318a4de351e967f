//! The grid of chunks: a variable's dimensions, how they are cut into chunks, and where an element lies in its chunk.

use crate::chunk_list::{ChunkList, ChunkRun, Run};
use crate::dims::{self, Dims};
use crate::error::{ErrorKind, Result};
use crate::shared::Shared;

/// The longest dimension: its chunk indices and positions fit a signed number.
const MAX_DIMLEN: usize = 1 << (usize::BITS - 1);

/// Where a chunk lies along one dimension. All in elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkExtent {
    /// The first element of the dimension that it holds.
    pub start: usize,
    /// How many elements of the dimension it holds.
    pub len: usize,
    /// How many elements it is stored with and decodes to.
    pub encoded_len: usize,
}

/// Reading or writing. netCDF checks the arguments of writes less strictly than those of reads, and a variable whose
/// chunks are stored in shards is read by chunk and written by shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reading.
    Read,
    /// Writing.
    Write,
}

/// One dimension and its chunks. Lengths are in elements.
///
/// The chunks are aligned to multiples of their length in the dimension's global index space, in which the first
/// element has the index `origin`. The origin is 0 until elements are prepended; then it is negative, and so are chunk
/// indices.
///
/// Inside this crate chunks are mostly counted from the dimension's first one, and positions from the beginning of that
/// chunk: element `e` has the position `lead + e`, where `lead` is how much of the first chunk lies before the
/// dimension.
///
/// Or the chunks have a list of lengths ([`ChunkRun`]). Then the origin is 0, each chunk begins where the one before it
/// ends, and each may decode to more elements than it contributes. All that depends on how long a chunk is is asked
/// here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dimension {
    len: usize,
    /// 0 stands for the list.
    chunklen: usize,
    /// The index of the chunk that holds the first element: floor(origin / chunklen).
    first_chunk: isize,
    /// The position of the first element: origin - first_chunk * chunklen.
    lead: usize,
    /// 2^64 / chunklen, rounded up: see `locate`. 0 for chunks of 1 element or of more than 2^32, and for a list.
    reciprocal: u64,
    list: Option<Shared<ChunkList>>,
}

impl Dimension {
    /// A dimension of `len` elements, at most 2^63, in chunks of `chunklen`, at least 1. The last chunk may reach
    /// beyond the end of the dimension, and so does a chunk that is longer than the dimension.
    ///
    /// # Errors
    /// `Argument` for a chunk length of 0, `DimensionLength`.
    pub fn new(len: usize, chunklen: usize) -> Result<Self> {
        if chunklen == 0 {
            return Err(ErrorKind::Argument("the chunk length is 0").into());
        }
        if len > MAX_DIMLEN {
            return Err(ErrorKind::DimensionLength(len).into());
        }
        Ok(Dimension::regular(len, chunklen))
    }

    fn regular(len: usize, chunklen: usize) -> Self {
        let is_short = chunklen > 1 && u32::try_from(chunklen).is_ok();
        let reciprocal = if is_short { u64::MAX / chunklen as u64 + 1 } else { 0 };
        Dimension { len, chunklen, first_chunk: 0, lead: 0, reciprocal, list: None }
    }

    /// A dimension of `len` elements whose chunks are these, the first ones first. They may reach beyond its end, also
    /// by whole chunks.
    ///
    /// # Errors
    /// `Argument` for chunks that end before the dimension does or that no dimension can have: none, a length of 0, an
    /// encoded length below the logical one, more than can be counted; `OutOfMemory`.
    pub fn with_chunks(len: usize, chunks: impl IntoIterator<Item = ChunkRun>) -> Result<Self> {
        let list = Shared::new(ChunkList::new(chunks.into_iter())?)?;
        Dimension { len: 0, chunklen: 0, first_chunk: 0, lead: 0, reciprocal: 0, list: Some(list) }.with_len(len)
    }

    /// The same dimension with its first element at the global index `origin`.
    ///
    /// # Errors
    /// `Origin` if the global index of an element, or of the beginning of its chunk, does not fit an `isize`.
    pub fn with_origin(self, origin: isize) -> Result<Self> {
        let refused = ErrorKind::Origin { origin, dimlen: self.len };
        if self.list.is_some() {
            return if origin == 0 { Ok(self) } else { Err(refused.into()) };
        }
        let Ok(chunklen) = isize::try_from(self.chunklen) else {
            return if origin == 0 { Dimension::new(self.len, self.chunklen) } else { Err(refused.into()) };
        };
        let first_chunk = origin.div_euclid(chunklen);
        let begin = first_chunk.checked_mul(chunklen).ok_or(refused)?;
        let last = self.len.saturating_sub(1);
        if origin.checked_add_unsigned(last).is_none() {
            return Err(refused.into());
        }
        Ok(Dimension { first_chunk, lead: origin.abs_diff(begin), ..self })
    }

    /// The same dimension and origin with another length.
    fn with_len(self, len: usize) -> Result<Self> {
        match &self.list {
            Some(list) if len > list.len() => {
                Err(ErrorKind::Argument("the list of chunk lengths ends before the dimension does").into())
            }
            Some(_) => Ok(Dimension { len, ..self }),
            None => Dimension::new(len, self.chunklen)?.with_origin(self.origin()),
        }
    }

    /// The dimension's length; that of an unlimited dimension is its current one.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the dimension has no elements.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The chunks' length; of a list the largest encoded one.
    pub fn chunklen(&self) -> usize {
        self.list().map_or(self.chunklen, ChunkList::longest)
    }

    /// The chunks, if they have a list of lengths.
    pub fn chunks(&self) -> Option<impl ExactSizeIterator<Item = ChunkRun>> {
        self.list().map(|list| list.runs().iter().map(|run| run.chunks))
    }

    /// Where the chunk with this index lies; `None` if there is none.
    pub fn chunk(&self, chunk_index: isize) -> Option<ChunkExtent> {
        let chunk = self.chunk_at(chunk_index);
        if chunk >= self.num_chunks() {
            return None;
        }
        let (begin, _, encoded_len) = self.extent(chunk);
        Some(ChunkExtent { start: begin.saturating_sub(self.lead), len: self.num_inside(chunk), encoded_len })
    }

    pub(crate) fn list(&self) -> Option<&ChunkList> {
        self.list.as_deref()
    }

    /// A copy of a dimension without a list.
    #[inline]
    pub(crate) fn regular_copy(&self) -> Self {
        Dimension { list: None, ..*self }
    }

    /// The chunks' length; 0 stands for a list.
    #[inline]
    pub(crate) fn regular_chunklen(&self) -> usize {
        self.chunklen
    }

    /// A run of this dimension's chunks as a dimension of its own, which ends where this one does.
    pub(crate) fn part(&self, run: &Run) -> Dimension {
        Dimension::regular(run.len().min(self.len.saturating_sub(run.begin)), run.chunks.len)
    }

    /// Whether another dimension has the same chunks, whatever its length.
    #[doc(hidden)]
    pub fn is_cut_like(&self, other: &Dimension) -> bool {
        (self.chunklen, self.origin(), &self.list) == (other.chunklen, other.origin(), &other.list)
    }

    /// The global index of the first element.
    pub fn origin(&self) -> isize {
        // `with_origin` has checked that the sum fits; the product alone may not, and wraps back with the sum.
        self.first_chunk.wrapping_mul(self.chunklen as isize).wrapping_add_unsigned(self.lead)
    }

    /// How many chunks the dimension has.
    pub fn num_chunks(&self) -> usize {
        if self.len == 0 { 0 } else { self.locate(self.lead + (self.len - 1)).0 + 1 }
    }

    /// The position of element `e`, which is at most the dimension's length.
    #[inline]
    pub(crate) fn position(&self, e: usize) -> usize {
        self.lead + e
    }

    /// The chunk that holds a position, and the place in the chunk.
    #[doc(hidden)]
    pub fn locate(&self, position: usize) -> (usize, usize) {
        self.list().map_or_else(|| self.regular_locate(position), |list| list.locate(position))
    }

    /// The same, of a dimension without a list.
    #[inline]
    pub(crate) fn regular_locate(&self, position: usize) -> (usize, usize) {
        // Division takes longer than all the rest. A position p below 2^32 needs none: with the reciprocal r = 2^64 / C
        // rounded up, r*C - 2^64 < C <= 2^32, so p*r / 2^64 exceeds p/C by less than 1/C, and its floor is the same.
        let chunk = if self.reciprocal != 0 && position as u64 >> 32 == 0 {
            ((position as u128 * u128::from(self.reciprocal)) >> 64) as usize
        } else {
            position / self.chunklen
        };
        (chunk, position - chunk * self.chunklen)
    }

    /// How many chunks a dimension of this length would have.
    #[doc(hidden)]
    pub fn num_chunks_of(&self, len: usize) -> usize {
        if len == 0 { 0 } else { self.locate(len - 1).0 + 1 }
    }

    /// How many elements so many chunks have, from the first on, as if the dimension did not end within the last.
    #[doc(hidden)]
    pub fn len_of(&self, num_chunks: usize) -> Option<usize> {
        match self.list() {
            None => num_chunks.checked_mul(self.chunklen),
            Some(list) => {
                let (begin, last) = list.chunk(num_chunks.saturating_sub(1));
                Some(if num_chunks == 0 { 0 } else { begin + last.len })
            }
        }
    }

    /// The index of a chunk.
    #[inline]
    pub(crate) fn chunk_index(&self, chunk: usize) -> isize {
        self.first_chunk.wrapping_add_unsigned(chunk)
    }

    /// The chunk with this index.
    #[inline]
    #[doc(hidden)]
    pub fn chunk_at(&self, chunk_index: isize) -> usize {
        chunk_index.wrapping_sub(self.first_chunk) as usize
    }

    /// Where the dimension, which has no list, ends in a chunk: the chunk's length, or less in the last one.
    #[inline]
    pub(crate) fn regular_limit(&self, chunk: usize) -> usize {
        self.chunklen.min(self.lead + self.len - chunk * self.chunklen)
    }

    /// The position at which a chunk begins, its length, and its encoded length.
    pub(crate) fn extent(&self, chunk: usize) -> (usize, usize, usize) {
        match self.list() {
            Some(list) => {
                let (begin, ChunkRun { len, encoded_len, .. }) = list.chunk(chunk);
                (begin, len, encoded_len)
            }
            None => (chunk * self.chunklen, self.chunklen, self.chunklen),
        }
    }

    /// The beginning of a chunk in the index space that the origin refers to, and the end of the dimension, counted
    /// from there: the chunk's length, or less in the last one.
    pub(crate) fn frame(&self, chunk: usize) -> (isize, usize) {
        let (begin, len, _) = self.extent(chunk);
        let offset = match self.list() {
            Some(_) => begin as isize,
            None => self.chunk_index(chunk).wrapping_mul(len as isize),
        };
        (offset, len.min(self.lead + self.len - begin))
    }

    /// How many elements the chunk with this index decodes to.
    pub(crate) fn encoded_len(&self, chunk_index: isize) -> usize {
        self.extent(self.chunk_at(chunk_index)).2
    }

    /// How many elements of the dimension a chunk holds.
    #[doc(hidden)]
    pub fn num_inside(&self, chunk: usize) -> usize {
        self.inside(chunk, self.frame(chunk).1)
    }

    /// The same of a chunk in which the dimension ends there.
    #[inline]
    pub(crate) fn inside(&self, chunk: usize, limit: usize) -> usize {
        limit - if chunk == 0 { self.lead } else { 0 }
    }
}

/// The dimensions of a variable and the layout of a chunk, which is stored at full size, also where it reaches beyond
/// the end of a dimension. Where a dimension has a list of chunk lengths, each chunk has a layout of its own.
#[derive(Debug)]
pub struct Grid {
    dimensions: Dims<Dimension>,
    /// Of a chunk, or of one that has the largest length along each dimension.
    layout: ChunkLayout,
    /// Bytes from a step of a chunk's slowest dimension to the next, if other things lie in between.
    pitch: Option<usize>,
    /// Whether no dimension has a list of chunk lengths.
    is_regular: bool,
}

/// How a chunk's elements lie.
#[derive(Debug)]
pub struct ChunkLayout {
    /// Bytes from an element to the next, along each dimension.
    pub strides: Dims<isize>,
    /// Bytes in the chunk.
    pub bytes: usize,
}

impl ChunkLayout {
    /// The layout of a chunk of these lengths; `order` has each dimension once, from the slowest to the fastest.
    fn set(
        &mut self,
        element_size: usize,
        order: impl DoubleEndedIterator<Item = usize>,
        len: impl Fn(usize) -> usize,
    ) {
        // No product exceeds the largest chunk's bytes, which fit.
        self.bytes = element_size;
        for d in order.rev() {
            self.strides[d] = self.bytes as isize;
            self.bytes *= len(d);
        }
    }
}

impl Grid {
    /// A grid of row-major chunks.
    ///
    /// # Errors
    /// `Argument` if the lists differ in length, for a chunk length of 0 and for a chunk beyond `isize::MAX` bytes;
    /// `Rank`; `DimensionLength`.
    #[doc(hidden)]
    pub fn new(dimlens: &[usize], chunklens: &[usize], element_size: usize) -> Result<Self> {
        let rank = dimlens.len();
        if chunklens.len() != rank {
            return Err(ErrorKind::Argument("the numbers of dimension lengths and chunk lengths differ").into());
        }
        dims::check_rank(rank)?;
        // The lists are filled where they stay: to move them takes longer.
        let layout = ChunkLayout { strides: Dims::new(), bytes: 0 };
        let mut grid = Grid { dimensions: Dims::new(), layout, pitch: None, is_regular: true };
        dims::reserve(&mut grid.dimensions, rank)?;
        for (d, (&len, &chunklen)) in dimlens.iter().zip(chunklens).enumerate() {
            grid.dimensions.push(Dimension::new(len, chunklen).map_err(|error| error.in_dimension(d))?);
        }
        grid.layout.bytes = bytes_in_chunk(chunklens.iter().copied(), element_size)?;
        dims::fill(&mut grid.layout.strides, rank, 0)?;
        grid.set_order(element_size, 0..rank);
        Ok(grid)
    }

    /// Orders the axes of a chunk; `order` has each dimension once, from the slowest to the fastest.
    pub(crate) fn set_order(&mut self, element_size: usize, order: impl DoubleEndedIterator<Item = usize>) {
        self.layout.set(element_size, order, |d| self.dimensions[d].chunklen());
        self.pitch = None;
    }

    /// The layout of the chunk with these indices, whose axes have this order; `None` if all chunks have the same.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(crate) fn layout_of(
        &self,
        chunk: &[isize],
        element_size: usize,
        order: impl DoubleEndedIterator<Item = usize>,
    ) -> Result<Option<ChunkLayout>> {
        if self.is_regular() {
            return Ok(None);
        }
        let mut layout = ChunkLayout { strides: dims::copied(self.layout.strides.iter().copied())?, bytes: 0 };
        layout.set(element_size, order, |d| self.dimensions[d].encoded_len(chunk[d]));
        if let Some(pitch) = self.pitch {
            layout.strides[0] = pitch as isize;
            layout.bytes = self.bytes_of(chunk, element_size);
        }
        Ok(Some(layout))
    }

    /// Bytes in the chunk with these indices.
    pub(crate) fn bytes_of(&self, chunk: &[isize], element_size: usize) -> usize {
        if self.is_regular() {
            return self.layout.bytes;
        }
        let bytes = |from: usize| {
            (from..chunk.len()).fold(element_size, |all, d| all * self.dimensions[d].encoded_len(chunk[d]))
        };
        match self.pitch {
            // No chunk is larger than the largest, of which this was computed.
            Some(pitch) => (self.dimensions[0].encoded_len(chunk[0]) - 1) * pitch + bytes(1),
            None => bytes(0),
        }
    }

    /// Whether all chunks have the same layout.
    #[inline]
    pub fn is_regular(&self) -> bool {
        self.is_regular
    }

    /// Sets how many bytes lie from a step of a row-major chunk's slowest dimension to the next, where other things lie
    /// in between.
    ///
    /// # Errors
    /// `Argument` for less than a step has, and for a chunk that then is larger than memory can hold.
    pub(crate) fn set_pitch(&mut self, pitch: usize) -> Result<()> {
        let Some(dimension) = self.dimensions.first() else { return Ok(()) };
        let step = match self.pitch {
            Some(before) => self.layout.bytes - (dimension.chunklen() - 1) * before,
            None => self.layout.bytes / dimension.chunklen(),
        };
        if pitch < step {
            return Err(ErrorKind::Argument("strides make elements of a chunk overlap").into());
        }
        let chunk_bytes = (dimension.chunklen() - 1).checked_mul(pitch).and_then(|bytes| bytes.checked_add(step));
        let fits = |bytes: &usize| isize::try_from(*bytes).is_ok() && isize::try_from(pitch).is_ok();
        self.layout.bytes = chunk_bytes.filter(fits).ok_or(TOO_LARGE)?;
        self.layout.strides[0] = pitch as isize;
        // Steps that follow one another are a chunk without a gap, and so is a single one.
        self.pitch = (dimension.chunklen() > 1 && pitch != step).then_some(pitch);
        Ok(())
    }

    /// How many bytes lie from a step of a chunk's slowest dimension to the next, if [others](Self::set_pitch) lie in
    /// between.
    pub(crate) fn pitch(&self) -> Option<usize> {
        self.pitch
    }

    pub(crate) fn try_clone(&self) -> Result<Self> {
        let strides = dims::copied(self.layout.strides.iter().copied())?;
        Ok(Grid {
            dimensions: dims::copied(self.dimensions.iter().cloned())?,
            layout: ChunkLayout { strides, bytes: self.layout.bytes },
            pitch: self.pitch,
            is_regular: self.is_regular,
        })
    }

    /// One dimension of this grid with another length.
    pub(crate) fn with_len(&self, d: usize, len: usize) -> Result<Dimension> {
        let dimension = self.dimensions.get(d).ok_or(ErrorKind::NoDimension(d))?;
        dimension.clone().with_len(len).map_err(|e| e.in_dimension(d))
    }

    /// One dimension of this grid with another origin.
    pub(crate) fn with_origin(&self, d: usize, origin: isize) -> Result<Dimension> {
        let dimension = self.dimensions.get(d).ok_or(ErrorKind::NoDimension(d))?;
        dimension.clone().with_origin(origin).map_err(|e| e.in_dimension(d))
    }

    /// One dimension of this grid with these chunks; `None` stands for chunks of one length, the largest there is.
    ///
    /// # Errors
    /// Those of [`Dimension::with_chunks`]; `Argument` for a chunk that is larger than memory can hold.
    pub(crate) fn with_chunks(
        &self,
        d: usize,
        chunks: Option<impl Iterator<Item = ChunkRun>>,
        element_size: usize,
    ) -> Result<Dimension> {
        let dimension = self.dimensions.get(d).ok_or(ErrorKind::NoDimension(d))?;
        let changed = match chunks {
            Some(chunks) => Dimension::with_chunks(dimension.len, chunks)
                .and_then(|changed| changed.with_origin(dimension.origin()))
                .map_err(|e| e.in_dimension(d))?,
            None if dimension.list.is_none() => dimension.clone(),
            None => Dimension::new(dimension.len, dimension.chunklen())?,
        };
        let chunklens = self.dimensions.iter().enumerate().map(|(other, dimension)| match other == d {
            true => changed.chunklen(),
            false => dimension.chunklen(),
        });
        bytes_in_chunk(chunklens, element_size)?;
        Ok(changed)
    }

    /// Puts another dimension in the place of one. One with other chunks has been made by
    /// [`with_chunks`](Self::with_chunks), and the order of axes is set anew.
    pub(crate) fn set_dimension(&mut self, d: usize, dimension: Dimension) {
        self.dimensions[d] = dimension;
        self.is_regular = self.dimensions.iter().all(|dimension| dimension.list.is_none());
    }

    /// The number of dimensions.
    #[inline]
    pub fn rank(&self) -> usize {
        self.dimensions.len()
    }

    /// The dimensions, slowest first.
    #[inline]
    pub fn dimensions(&self) -> &[Dimension] {
        &self.dimensions
    }

    /// Bytes in a chunk; where chunks differ, in one that has the largest length along each dimension.
    #[inline]
    pub fn chunk_bytes(&self) -> usize {
        self.layout.bytes
    }

    /// Bytes from an element of a chunk to the next, along each dimension, where all chunks have the same layout.
    #[inline]
    pub(crate) fn strides(&self) -> &[isize] {
        &self.layout.strides
    }
}

const TOO_LARGE: ErrorKind = ErrorKind::Argument("a chunk is larger than memory can hold");

/// Bytes in a chunk of these lengths.
fn bytes_in_chunk(mut lens: impl Iterator<Item = usize>, element_size: usize) -> Result<usize> {
    let bytes = lens.try_fold(element_size, |bytes, len| bytes.checked_mul(len));
    Ok(bytes.filter(|&bytes| isize::try_from(bytes).is_ok()).ok_or(TOO_LARGE)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::*;

    fn status<T>(result: Result<T>) -> i32 {
        result.map_or_else(|e| e.status(), |_| NOERR)
    }

    #[test]
    fn an_origin_moves_the_chunks() {
        let dimension = |origin| Dimension::new(9, 4).unwrap().with_origin(origin).unwrap();
        let seen = [0, -1, -4, -5, 3, 4].map(|origin| {
            let d = dimension(origin);
            assert_eq!(d.origin(), origin);
            (d.chunk_index(0), d.position(0), d.num_chunks())
        });
        assert_eq!(seen, [(0, 0, 3), (-1, 3, 3), (-1, 0, 3), (-2, 3, 3), (0, 3, 3), (1, 0, 3)]);
        let longest = Dimension::new(MAX_DIMLEN, 1).unwrap();
        assert_eq!(status(longest.clone().with_origin(1)), EDIMSIZE);
        assert_eq!(status(longest.with_origin(isize::MIN)), NOERR);
        assert_eq!(status(Dimension::new(9, 5).unwrap().with_origin(isize::MIN)), EDIMSIZE);
        assert_eq!(status(Dimension::new(9, usize::MAX).unwrap().with_origin(-1)), EDIMSIZE);
        assert_eq!(status(Dimension::new(9, usize::MAX).unwrap().with_origin(0)), NOERR);
    }

    #[test]
    fn a_chunk_holds_what_lies_inside_the_dimension() {
        let dimension = Dimension::new(9, 4).unwrap().with_origin(-1).unwrap();
        assert_eq!([0, 1, 2].map(|chunk| dimension.num_inside(chunk)), [1, 4, 4]);
        let dimension = Dimension::new(9, 4).unwrap();
        assert_eq!([0, 1, 2].map(|chunk| dimension.num_inside(chunk)), [4, 4, 1]);
        assert_eq!(dimension.locate(9), (2, 1));
        assert_eq!(Dimension::new(9, usize::MAX).unwrap().num_inside(0), 9);
    }

    #[test]
    fn steps_of_a_chunk_may_lie_apart() {
        let mut grid = Grid::new(&[9, 5], &[3, 5], 2).unwrap();
        grid.set_pitch(32).unwrap();
        assert_eq!((grid.strides(), grid.chunk_bytes()), (&[32isize, 2][..], 74));
        assert_eq!(status(grid.set_pitch(9)), EINVAL);
        assert_eq!(status(grid.set_pitch(usize::MAX / 4)), EINVAL);
        assert_eq!(grid.try_clone().unwrap().chunk_bytes(), 74);
    }

    #[test]
    fn a_place_is_found_as_by_division() {
        let large = u32::MAX as usize;
        for chunklen in [1, 2, 3, 5, 7, 100, 641, 65_535, 65_536, 1 << 31, large - 1, large] {
            let dimension = Dimension::new(MAX_DIMLEN, chunklen).unwrap();
            let multiples = [0, 1, 2, 1000, large / chunklen, (large / chunklen).saturating_add(1)]
                .map(|n| n.saturating_mul(chunklen));
            let positions = multiples.into_iter().flat_map(|p| [p.saturating_sub(1), p, p.saturating_add(1)]);
            for position in positions.chain([large - 1, large, isize::MAX as usize]) {
                assert_eq!(dimension.locate(position), (position / chunklen, position % chunklen), "{chunklen}");
            }
        }
    }

    #[test]
    fn a_grid_has_one_chunk_length_a_dimension() {
        let error = Grid::new(&[4, 5], &[2], 1).unwrap_err();
        assert_eq!(error.to_string(), "the numbers of dimension lengths and chunk lengths differ");
        assert_eq!(error.status(), EINVAL);
    }
}
