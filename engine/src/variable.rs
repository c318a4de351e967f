//! Variables: the grid of chunks, and the layout of the elements.

use smallvec::SmallVec;

use crate::alloc::{copied, try_box};
use crate::chunk_list::ChunkRun;
use crate::copier::{Copier, Elements, TextElement};
use crate::dims;
pub use crate::element::Endian;
use crate::error::{ErrorKind, Result};
use crate::grid::{Access, ChunkLayout, Dimension, Grid};

/// A chunked variable: the lengths of its dimensions, and the layout of a chunk. It holds no data.
///
/// A chunk is stored in row-major order, unless [another order](Self::set_chunk_order) is set, and at full size, even
/// if it reaches beyond the end of a dimension.
#[derive(Debug)]
pub struct Variable {
    grid: Grid,
    /// The coarser grid by which the variable is written, if it is another one.
    write_grid: Option<Box<Grid>>,
    /// The dimensions of a chunk from the slowest to the fastest; empty as long as that is row-major.
    chunk_order: Vec<usize>,
    element_size: usize,
    word_size: usize,
    endian: Endian,
    /// Empty as long as none is set, which stands for zeros.
    fill_value: SmallVec<[u8; 16]>,
    elements: Elements,
}

impl Variable {
    /// A variable of `dimlens.len()` dimensions with elements of `element_size` bytes, native byte order and a fill
    /// value of zeros. A variable without dimensions is a scalar: one element, in one chunk.
    ///
    /// # Errors
    /// `Argument` if the lists differ in length, for an element size or chunk length of 0 and for a chunk beyond
    /// `isize::MAX` bytes; `Rank`; `DimensionLength`.
    pub fn new(dimlens: &[usize], chunklens: &[usize], element_size: usize) -> Result<Self> {
        check_element_size(element_size)?;
        Ok(Variable {
            grid: Grid::new(dimlens, chunklens, element_size)?,
            write_grid: None,
            chunk_order: Vec::new(),
            element_size,
            word_size: default_word_size(element_size),
            endian: Endian::Native,
            fill_value: SmallVec::new(),
            elements: Elements::Bytes,
        })
    }

    /// A copy, unless an allocation fails.
    #[doc(hidden)]
    pub fn try_clone(&self) -> Result<Self> {
        let write_grid = match &self.write_grid {
            Some(grid) => Some(try_box(grid.try_clone()?)?),
            None => None,
        };
        let mut fill_value = SmallVec::new();
        set_bytes(&mut fill_value, &self.fill_value)?;
        Ok(Variable {
            grid: self.grid.try_clone()?,
            write_grid,
            chunk_order: copied(&self.chunk_order)?,
            fill_value,
            elements: self.elements.clone(),
            ..*self
        })
    }

    /// Sets the fill value, as which missing chunks read: the bytes of one element, in native byte order. `None` stands
    /// for zeros.
    ///
    /// # Errors
    /// `Argument` if the length is not that of one element, `OutOfMemory`.
    pub fn set_fill_value(&mut self, element: Option<&[u8]>) -> Result<()> {
        let element = element.unwrap_or_default();
        if !element.is_empty() && element.len() != self.element_size {
            return Err(ErrorKind::Argument("the fill value must be exactly one element").into());
        }
        set_bytes(&mut self.fill_value, element)
    }

    /// Sets the byte order of the stored words.
    ///
    /// # Errors
    /// `Endian` if the elements have no word size: see [`set_word_size`](Self::set_word_size).
    pub fn set_endian(&mut self, endian: Endian) -> Result<()> {
        if endian != Endian::Native && self.word_size == 0 {
            return Err(ErrorKind::Endian(self.element_size).into());
        }
        self.endian = endian;
        Ok(())
    }

    /// Sets the size of the words that elements consist of: 1, 2, 4 or 8 bytes. The bytes of each word are swapped if
    /// the byte order requires it. By default, an element of 1, 2, 4 or 8 bytes is one word, one of 16 bytes is two (a
    /// complex number), and any other has no words.
    ///
    /// # Errors
    /// `Argument` for any other word size, and for one that does not divide the element.
    pub fn set_word_size(&mut self, word_size: usize) -> Result<()> {
        if !matches!(word_size, 1 | 2 | 4 | 8) || self.element_size % word_size != 0 {
            return Err(ErrorKind::Argument(
                "a word must have 1, 2, 4 or 8 bytes, and an element a whole number of words",
            )
            .into());
        }
        self.word_size = word_size;
        Ok(())
    }

    /// Sets how elements are copied that are more than their bytes. `None` stands for bytes.
    #[doc(hidden)]
    pub fn set_copier(&mut self, copier: Option<Copier>) {
        self.elements = copier.map_or(Elements::Bytes, Elements::Copied);
    }

    /// Has pointers to texts copied by another copier.
    pub(crate) fn set_text_copier(&mut self, copier: Copier) {
        if let Elements::Texts(old, _) = &mut self.elements {
            *old = copier;
        }
    }

    /// Has elements be pointers to texts, which this copier copies; and sets the one that absent elements read as.
    #[doc(hidden)]
    pub fn set_texts(&mut self, copier: Copier, fill_value: TextElement) -> Result<()> {
        if self.element_size != fill_value.as_bytes().len() {
            return Err(ErrorKind::Internal.into());
        }
        self.elements = Elements::Texts(copier, fill_value);
        Ok(())
    }

    /// Sets the order in which a chunk's elements are stored: the dimensions from the slowest to the fastest. `None`
    /// stands for row-major, which is `[0, 1, .. rank - 1]`; the reverse is Fortran order.
    ///
    /// # Errors
    /// `Argument` unless each dimension is named once.
    pub fn set_chunk_order(&mut self, order: Option<&[usize]>) -> Result<()> {
        let rank = self.rank();
        let order = copied(order.unwrap_or_default())?;
        // Among `rank` dimensions, none twice and none beyond the last are all of them.
        let is_new = |(i, d): (usize, &usize)| *d < rank && !order[..i].contains(d);
        if !order.is_empty() && (order.len() != rank || !order.iter().enumerate().all(is_new)) {
            return Err(
                ErrorKind::Argument("the order of a chunk's dimensions must name each dimension exactly once").into()
            );
        }
        self.chunk_order = order;
        self.order_grids();
        Ok(())
    }

    /// Sets how many bytes lie from a step of a row-major chunk's slowest dimension to the next, where other things lie
    /// in between; for a variable that is only read.
    ///
    /// # Errors
    /// `Argument` for less than a step has, and for a chunk that then is larger than memory can hold.
    #[doc(hidden)]
    pub fn set_chunk_pitch(&mut self, pitch: usize) -> Result<()> {
        self.grid.set_pitch(pitch)
    }

    /// How many bytes lie from a step of a chunk's slowest dimension to the next, if others lie in between.
    #[doc(hidden)]
    pub fn chunk_pitch(&self) -> Option<usize> {
        self.grid.pitch()
    }

    /// Sets a coarser grid by which the variable is written, such as that of the shards in which its chunks are stored;
    /// `None` stands for the chunks themselves. Every length is a multiple of the chunk's. This grid applies to the
    /// chunks that a write covers, to the check whether two plans share chunks, and to the parts of a plan for writing.
    ///
    /// # Errors
    /// `Argument` if the lengths are not one per dimension, or not multiples of the chunk's, and for chunks with a list
    /// of lengths; `OutOfMemory`.
    pub fn set_write_grid(&mut self, write_chunklens: Option<&[usize]>) -> Result<()> {
        let Some(lens) = write_chunklens else {
            self.write_grid = None;
            return Ok(());
        };
        let dimensions = self.grid.dimensions();
        if !self.grid.is_regular() {
            return Err(ErrorKind::Argument("chunks with a list of lengths have no other grid for writing").into());
        }
        if lens.len() != dimensions.len() || lens.iter().zip(dimensions).any(|(len, d)| len % d.chunklen() != 0) {
            return Err(ErrorKind::Argument("the lengths of the write grid must be multiples of the chunk's").into());
        }
        let dimlens = dims::copied(dimensions.iter().map(Dimension::len))?;
        let mut grid = Grid::new(&dimlens, lens, self.element_size)?;
        for (d, dimension) in dimensions.iter().enumerate() {
            grid.set_dimension(d, grid.with_origin(d, dimension.origin())?);
        }
        self.write_grid = Some(try_box(grid)?);
        self.order_grids();
        Ok(())
    }

    /// Sets the lengths of the chunks along a dimension, from the first on: runs of chunks that are alike. Each chunk
    /// begins where the one before it ends, and may decode to more elements than it contributes: [`ChunkRun`]. `None`
    /// stands for chunks that all have the largest encoded length.
    ///
    /// ```
    /// use nczchunk::{ChunkRun, Variable};
    ///
    /// // Two files of 10 steps in chunks of 4, as one variable: the last chunk of each was stored at full size.
    /// let file = [ChunkRun::new(2, 4), ChunkRun { num_chunks: 1, len: 2, encoded_len: 4 }];
    /// let mut variable = Variable::new(&[20, 90], &[4, 90], 4)?;
    /// variable.set_chunk_runs(0, Some(&[file, file].concat()))?;
    /// # Ok::<(), nczchunk::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NoDimension`; `Argument` for chunks that end before the dimension does, for a length of 0, for an encoded
    /// length below the logical one, for a chunk that is larger than memory can hold, and for a variable that is
    /// written by another grid; `Origin` for a dimension with another origin than 0; `OutOfMemory`. After an error the
    /// chunks are as they were.
    pub fn set_chunk_runs(&mut self, d: usize, chunks: Option<&[ChunkRun]>) -> Result<()> {
        self.set_chunks(d, chunks.map(|chunks| chunks.iter().copied()))
    }

    /// [`set_chunk_runs`](Self::set_chunk_runs), one after another.
    #[doc(hidden)]
    pub fn set_chunks(&mut self, d: usize, chunks: Option<impl Iterator<Item = ChunkRun>>) -> Result<()> {
        if self.write_grid.is_some() && chunks.is_some() {
            return Err(ErrorKind::Argument("a variable with a write grid has chunks of one length").into());
        }
        let dimension = self.grid.with_chunks(d, chunks, self.element_size)?;
        self.grid.set_dimension(d, dimension);
        self.order_grids();
        Ok(())
    }

    fn order_grids(&mut self) {
        let rank = self.rank();
        for grid in [Some(&mut self.grid), self.write_grid.as_deref_mut()].into_iter().flatten() {
            match self.chunk_order.as_slice() {
                [] => grid.set_order(self.element_size, 0..rank),
                order => grid.set_order(self.element_size, order.iter().copied()),
            }
        }
    }

    /// Changes a dimension's current length, for example when an unlimited dimension has grown.
    ///
    /// # Errors
    /// `NoDimension`, `DimensionLength`, `Origin`; `Argument` for more than a list of chunk lengths has.
    pub fn set_dimlen(&mut self, d: usize, len: usize) -> Result<()> {
        self.change_dimension(d, |grid| grid.with_len(d, len))
    }

    /// Changes the global index of a dimension's first element, for example when elements have been prepended: see
    /// [`Dimension`]. It stays 0 where chunks have a list of lengths.
    ///
    /// # Errors
    /// `NoDimension`, `Origin`.
    pub fn set_origin(&mut self, d: usize, origin: isize) -> Result<()> {
        self.change_dimension(d, |grid| grid.with_origin(d, origin))
    }

    /// Changes a dimension in both grids, or in neither.
    fn change_dimension(&mut self, d: usize, changed: impl Fn(&Grid) -> Result<Dimension>) -> Result<()> {
        let dimension = changed(&self.grid)?;
        let in_write_grid = self.write_grid.as_deref().map(changed).transpose()?;
        self.grid.set_dimension(d, dimension);
        if let (Some(grid), Some(dimension)) = (&mut self.write_grid, in_write_grid) {
            grid.set_dimension(d, dimension);
        }
        Ok(())
    }

    /// How many chunks a chunk of the write grid has along a dimension; `None` if there is no other grid for writing.
    #[doc(hidden)]
    pub fn write_ratio(&self, d: usize) -> Option<usize> {
        let grid = self.write_grid.as_deref()?;
        Some(grid.dimensions().get(d)?.chunklen() / self.grid.dimensions()[d].chunklen())
    }

    /// The grid by which the variable is read or written.
    #[inline]
    pub fn grid(&self, access: Access) -> &Grid {
        match (access, &self.write_grid) {
            (Access::Write, Some(grid)) => grid,
            _ => &self.grid,
        }
    }

    /// The number of dimensions.
    #[inline]
    pub fn rank(&self) -> usize {
        self.grid.rank()
    }

    /// The dimensions, slowest first, with the chunks by which the variable is read.
    #[inline]
    pub fn dimensions(&self) -> &[Dimension] {
        self.grid.dimensions()
    }

    /// Bytes in an element.
    #[inline]
    pub fn element_size(&self) -> usize {
        self.element_size
    }

    /// Bytes in a word: see [`set_word_size`](Self::set_word_size). 0 stands for elements without words.
    pub fn word_size(&self) -> usize {
        self.word_size
    }

    /// The byte order of stored words.
    pub fn endian(&self) -> Endian {
        self.endian
    }

    /// Bytes in a chunk by which the variable is read; where chunks have a list of lengths, in one that has the largest
    /// length along each dimension.
    #[inline]
    pub fn chunk_bytes(&self) -> usize {
        self.grid.chunk_bytes()
    }

    /// Bytes in the chunk with these indices, which is one of the grid's.
    #[doc(hidden)]
    pub fn chunk_bytes_of(&self, access: Access, chunk: &[isize]) -> usize {
        self.grid(access).bytes_of(chunk, self.element_size)
    }

    /// The layout of the chunk with these indices, which is one of the grid's; `None` if all have the same.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(crate) fn chunk_layout_of(&self, access: Access, chunk: &[isize]) -> Result<Option<ChunkLayout>> {
        match self.chunk_order.as_slice() {
            [] => self.grid(access).layout_of(chunk, self.element_size, 0..self.rank()),
            order => self.grid(access).layout_of(chunk, self.element_size, order.iter().copied()),
        }
    }

    /// The dimensions of a chunk from the slowest to the fastest; `None` stands for row-major.
    pub fn chunk_order(&self) -> Option<&[usize]> {
        (!self.chunk_order.is_empty()).then_some(&self.chunk_order)
    }

    /// The bytes of the fill value, in native order; `None` stands for zeros. For an array of variable-length strings
    /// they are a pointer; `Array::fill_value` has the string.
    pub fn fill_value(&self) -> Option<&[u8]> {
        match &self.elements {
            Elements::Texts(_, fill_value) => Some(fill_value.as_bytes()),
            _ => (!self.fill_value.is_empty()).then_some(&self.fill_value),
        }
    }

    /// The fill value of variable-length strings, if there is one.
    #[doc(hidden)]
    pub fn fill_text(&self) -> Option<&[u8]> {
        match &self.elements {
            Elements::Texts(_, fill_value) => fill_value.text(),
            _ => None,
        }
    }

    /// How elements are copied that are more than their bytes.
    #[inline]
    pub(crate) fn copier(&self) -> Option<&Copier> {
        match &self.elements {
            Elements::Bytes => None,
            Elements::Copied(copier) | Elements::Texts(copier, _) => Some(copier),
        }
    }

    /// Whether elements are pointers to texts.
    #[inline]
    #[doc(hidden)]
    pub fn has_texts(&self) -> bool {
        matches!(self.elements, Elements::Texts(..))
    }

    /// Refuses elements that are more than their bytes, where bytes are read or written.
    ///
    /// # Errors
    /// `Argument`.
    #[inline]
    pub(crate) fn check_bytes(&self) -> Result<()> {
        match self.elements {
            Elements::Bytes => Ok(()),
            _ => Err(ErrorKind::Argument(
                "the elements are variable-length strings; use Array::read_strings and Array::write_strings",
            )
            .into()),
        }
    }

    /// The size of the words that are swapped between chunk and memory; `None` if nothing is swapped.
    #[inline]
    pub(crate) fn swapped_word(&self) -> Option<usize> {
        (self.endian.is_foreign() && self.word_size > 1 && self.copier().is_none()).then_some(self.word_size)
    }
}

/// Replaces bytes. If an allocation fails they stay as they were.
fn set_bytes(bytes: &mut SmallVec<[u8; 16]>, new: &[u8]) -> Result<()> {
    if bytes.spilled() || new.len() > bytes.inline_size() {
        let mut copy = SmallVec::new();
        copy.try_reserve_exact(new.len()).map_err(|_| ErrorKind::OutOfMemory)?;
        copy.extend_from_slice(new);
        *bytes = copy;
    } else {
        // Where they stay: to move a copy takes longer than to make it.
        bytes.clear();
        bytes.extend_from_slice(new);
    }
    Ok(())
}

pub fn check_element_size(element_size: usize) -> Result<()> {
    if element_size == 0 { Err(ErrorKind::Argument("the element size is 0").into()) } else { Ok(()) }
}

/// See [`Variable::set_word_size`]; 0 stands for none.
fn default_word_size(element_size: usize) -> usize {
    match element_size {
        1 | 2 | 4 | 8 => element_size,
        16 => 8,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dims::MAX_RANK;
    use crate::status::*;

    fn status<T>(result: Result<T>) -> i32 {
        result.map_or_else(|e| e.status(), |_| NOERR)
    }

    #[test]
    fn shapes_no_variable_can_have_are_refused() {
        assert_eq!(status(Variable::new(&[1], &[0], 4)), EINVAL);
        assert_eq!(status(Variable::new(&[1], &[1], 0)), EINVAL);
        assert_eq!(status(Variable::new(&[1], &[usize::MAX / 8 + 1], 4)), EINVAL);
        assert_eq!(status(Variable::new(&[usize::MAX], &[4], 4)), EDIMSIZE);
        assert_eq!(status(Variable::new(&[1; MAX_RANK + 1], &[1; MAX_RANK + 1], 4)), EMAXDIMS);
        assert_eq!(status(Variable::new(&[1; MAX_RANK], &[1; MAX_RANK], 4)), NOERR);
    }

    #[test]
    fn only_words_have_a_byte_order_on_every_machine() {
        for endian in [Endian::Little, Endian::Big] {
            let mut variable = Variable::new(&[], &[], 12).unwrap();
            assert_eq!(status(variable.set_endian(endian)), EBADTYPE);
            assert_eq!(status(variable.set_endian(Endian::Native)), NOERR);
            assert_eq!(status(variable.set_word_size(8)), EINVAL);
            assert_eq!(status(variable.set_word_size(4)), NOERR);
            assert_eq!(status(variable.set_endian(endian)), NOERR);
            assert_eq!(variable.swapped_word(), endian.is_foreign().then_some(4));
        }
    }

    #[test]
    fn what_a_copier_copies_is_not_swapped_and_a_chunk_may_have_a_pitch() {
        let mut variable = Variable::new(&[4, 5], &[2, 5], 8).unwrap();
        variable.set_endian(if Endian::Big.is_foreign() { Endian::Big } else { Endian::Little }).unwrap();
        variable.set_copier(Some(crate::strings::copier()));
        for v in [&variable, &variable.try_clone().unwrap()] {
            assert_eq!((v.copier().is_some(), v.swapped_word()), (true, None));
        }
        variable.set_copier(None);
        assert_eq!((variable.copier().is_some(), variable.swapped_word()), (false, Some(8)));
        assert_eq!(status(variable.set_chunk_pitch(39)), EINVAL);
        variable.set_chunk_pitch(64).unwrap();
        assert_eq!((variable.grid(Access::Read).strides(), variable.chunk_bytes()), (&[64, 8][..], 104));
        // The last one counts.
        variable.set_chunk_pitch(80).unwrap();
        assert_eq!((variable.grid(Access::Read).strides(), variable.chunk_bytes()), (&[80, 8][..], 120));
        variable.set_chunk_pitch(40).unwrap();
        assert_eq!((variable.chunk_pitch(), variable.chunk_bytes()), (None, 80));
    }

    #[test]
    fn a_chunks_axes_can_have_any_order() {
        let mut variable = Variable::new(&[9, 9, 9], &[2, 3, 4], 8).unwrap();
        assert_eq!(variable.grid(Access::Read).strides(), [96, 32, 8]);
        variable.set_chunk_order(Some(&[2, 0, 1])).unwrap();
        assert_eq!(variable.grid(Access::Read).strides(), [24, 8, 48]);
        for wrong in [&[0, 1][..], &[0, 1, 1], &[0, 1, 3]] {
            assert_eq!(status(variable.set_chunk_order(Some(wrong))), EINVAL);
        }
        variable.set_chunk_order(None).unwrap();
        assert_eq!(variable.grid(Access::Read).strides(), [96, 32, 8]);
    }

    #[test]
    fn a_write_grid_is_a_multiple_of_the_chunks() {
        let mut variable = Variable::new(&[10, 10], &[2, 3], 1).unwrap();
        assert_eq!(status(variable.set_write_grid(Some(&[4, 5]))), EINVAL);
        assert_eq!(status(variable.set_write_grid(Some(&[4, 0]))), EINVAL);
        assert_eq!(status(variable.set_write_grid(Some(&[4, 6]))), NOERR);
        let chunks = |variable: &Variable, access| variable.grid(access).dimensions()[0].num_chunks();
        assert_eq!((chunks(&variable, Access::Read), chunks(&variable, Access::Write)), (5, 3));
        variable.set_dimlen(0, 20).unwrap();
        assert_eq!((chunks(&variable, Access::Read), chunks(&variable, Access::Write)), (10, 5));
        assert_eq!(status(variable.set_origin(1, isize::MIN)), EDIMSIZE);
        let copy = variable.try_clone().unwrap();
        assert_eq!((chunks(&copy, Access::Read), chunks(&copy, Access::Write)), (10, 5));
        variable.set_write_grid(None).unwrap();
        assert_eq!(chunks(&variable, Access::Write), 10);
    }

    #[test]
    fn what_is_set_is_told_by_the_variable_and_its_copy() {
        let mut variable = Variable::new(&[10, 20], &[4, 5], 16).unwrap();
        let told = |v: &Variable| {
            (v.rank(), v.element_size(), v.word_size(), v.endian(), v.chunk_bytes(), v.fill_value().map(<[u8]>::to_vec))
        };
        assert_eq!(told(&variable), (2, 16, 8, Endian::Native, 320, None));
        assert_eq!((variable.chunk_order(), variable.write_ratio(0), variable.swapped_word()), (None, None, None));
        let word_size = |size| Variable::new(&[], &[], size).unwrap().word_size();
        assert_eq!([1, 2, 3, 4, 8, 12, 16, 32].map(word_size), [1, 2, 0, 4, 8, 0, 8, 0]);

        variable.set_word_size(4).unwrap();
        let foreign = if Endian::Big.is_foreign() { Endian::Big } else { Endian::Little };
        variable.set_endian(foreign).unwrap();
        assert_eq!(status(variable.set_fill_value(Some(&[7; 15]))), EINVAL);
        variable.set_fill_value(Some(&[7; 16])).unwrap();
        variable.set_chunk_order(Some(&[1, 0])).unwrap();
        variable.set_write_grid(Some(&[8, 15])).unwrap();
        variable.set_origin(1, -3).unwrap();
        for v in [&variable, &variable.try_clone().unwrap()] {
            assert_eq!(told(v), (2, 16, 4, foreign, 320, Some(vec![7; 16])));
            assert_eq!((v.chunk_order(), v.swapped_word()), (Some(&[1, 0][..]), Some(4)));
            assert_eq!([0, 1, 2].map(|d| v.write_ratio(d)), [Some(2), Some(3), None]);
            assert_eq!(v.dimensions().iter().map(Dimension::origin).collect::<Vec<_>>(), [0, -3]);
            assert_eq!(v.grid(Access::Read).strides(), [16, 64]);
            assert_eq!(v.grid(Access::Write).strides(), [16, 128]);
            assert_eq!(v.grid(Access::Write).dimensions()[1].origin(), -3);
        }
        assert_eq!(status(variable.set_write_grid(Some(&[8]))), EINVAL);
        assert_eq!(status(variable.set_dimlen(2, 1)), EBADDIM);
        variable.set_fill_value(None).unwrap();
        assert_eq!(variable.fill_value(), None);
        // Words of one byte are in every order.
        variable.set_word_size(1).unwrap();
        assert_eq!(variable.swapped_word(), None);
    }
}
