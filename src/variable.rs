//! What is stored: a variable's dimensions, how they are cut into chunks, and what its elements are made of.

use smallvec::SmallVec;

use crate::copy::Copier;
use crate::dims::{self, Dims};
use crate::error::{ErrorKind, Result};

/// The longest dimension: its chunk indices and positions fit a signed number.
const MAX_DIMLEN: usize = 1 << (usize::BITS - 1);

/// One dimension and its chunks. Lengths are in elements.
///
/// The chunks are aligned to multiples of their length in the dimension's global index space, in which the first element
/// has the index `origin`. That is 0 until elements are prepended; then it is negative, and so are chunk indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dimension {
    len: usize,
    chunklen: usize,
    /// The chunk that holds the first element: floor(origin / chunklen).
    first_chunk: isize,
    /// How far into that chunk it lies: origin - first_chunk * chunklen.
    lead: usize,
}

impl Dimension {
    /// A dimension of `len` elements, at most 2^63, in chunks of `chunklen`, at least 1. The last chunk may reach beyond
    /// the end; a chunk longer than the dimension is one that does.
    pub fn new(len: usize, chunklen: usize) -> Result<Self> {
        if chunklen == 0 {
            return Err(ErrorKind::Argument("the chunk length is 0").into());
        }
        if len > MAX_DIMLEN {
            return Err(ErrorKind::DimensionLength(len).into());
        }
        Ok(Dimension { len, chunklen, first_chunk: 0, lead: 0 })
    }

    /// The same dimension with its first element at the global index `origin`.
    ///
    /// # Errors
    /// `Origin` if a global index of an element, or of the beginning of its chunk, does not fit an `isize`.
    pub fn with_origin(self, origin: isize) -> Result<Self> {
        let refused = ErrorKind::Origin { origin, dimlen: self.len };
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
        let origin = self.origin();
        Dimension::new(len, self.chunklen)?.with_origin(origin)
    }

    /// The dimension's length; that of an unlimited dimension is its current one.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the dimension has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The chunks' length.
    pub fn chunklen(&self) -> usize {
        self.chunklen
    }

    /// The global index of the first element.
    pub fn origin(&self) -> isize {
        // Exact modulo 2^64, and known to fit.
        self.first_chunk.wrapping_mul(self.chunklen as isize).wrapping_add_unsigned(self.lead)
    }

    /// How many chunks the dimension has.
    pub fn num_chunks(&self) -> usize {
        if self.len == 0 { 0 } else { (self.lead + (self.len - 1)) / self.chunklen + 1 }
    }

    /// The index of the chunk that holds the first element.
    pub(crate) fn first_chunk(&self) -> isize {
        self.first_chunk
    }

    /// How many elements of the dimension the chunk with this index, which is one of the dimension's, has.
    pub(crate) fn inside(&self, chunk: isize) -> usize {
        let base = (chunk.wrapping_sub(self.first_chunk) as usize).wrapping_mul(self.chunklen);
        let end = self.chunklen.min(self.lead + self.len - base);
        end - if base == 0 { self.lead } else { 0 }
    }

    /// The position of the first element in its chunk.
    pub(crate) fn lead(&self) -> usize {
        self.lead
    }
}

/// The order of bytes in a stored word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ByteOrder {
    /// This machine's.
    #[default]
    Native,
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

impl ByteOrder {
    /// Whether words in this order must be swapped to be read here.
    pub fn is_foreign(self) -> bool {
        match self {
            ByteOrder::Native => false,
            ByteOrder::Little => cfg!(target_endian = "big"),
            ByteOrder::Big => cfg!(target_endian = "little"),
        }
    }
}

/// A chunked variable. It holds no data and no reference to any: it says what a chunk looks like.
///
/// A chunk is stored row-major and at full size, also where it reaches beyond the end of a dimension.
#[derive(Debug, Clone)]
pub struct Variable {
    dimensions: Dims<Dimension>,
    chunk_strides: Dims<isize>,
    element_size: usize,
    chunk_bytes: usize,
    word_size: usize,
    byte_order: ByteOrder,
    /// Empty as long as none is set: then it is zeros.
    fill_value: SmallVec<[u8; 16]>,
    copier: Option<Copier>,
}

impl Variable {
    /// A variable of `dimlens.len()` dimensions with elements of `element_size` bytes, native byte order and a fill value
    /// of zeros. No dimensions make a scalar: one element, in one chunk.
    ///
    /// # Errors
    /// `Rank`; `Argument` for an element size or chunk length of 0 and for a chunk beyond `isize::MAX` bytes;
    /// `DimensionLength`.
    pub fn new(dimlens: &[usize], chunklens: &[usize], element_size: usize) -> Result<Self> {
        let rank = dimlens.len();
        if chunklens.len() != rank {
            return Err(ErrorKind::Argument("dimension and chunk lengths differ in number").into());
        }
        check_element_size(element_size)?;
        dims::check_rank(rank)?;
        let dimensions = dimlens.iter().zip(chunklens).enumerate();
        let dimensions = dims::try_collect(
            rank,
            dimensions.map(|(d, (&len, &chunklen))| Dimension::new(len, chunklen).map_err(|e| e.in_dimension(d))),
        )?;
        let chunk_bytes = chunklens
            .iter()
            .try_fold(element_size, |bytes, &chunklen| bytes.checked_mul(chunklen))
            .filter(|&bytes| isize::try_from(bytes).is_ok())
            .ok_or(ErrorKind::Argument("a chunk is larger than memory can hold"))?;
        // Each length is at most the whole chunk's.
        let mut chunk_strides = dims::copied(chunklens.iter().map(|&chunklen| chunklen as isize))?;
        let mut stride = element_size as isize;
        for place in chunk_strides.iter_mut().rev() {
            stride *= std::mem::replace(place, stride);
        }
        let word_size = default_word_size(element_size);
        let (byte_order, fill_value, copier) = Default::default();
        Ok(Variable { dimensions, chunk_strides, element_size, chunk_bytes, word_size, byte_order, fill_value, copier })
    }

    /// Sets what absent chunks read as: the bytes of one element, in native byte order. `None` stands for zeros.
    pub fn set_fill_value(&mut self, element: Option<&[u8]>) -> Result<()> {
        let element = element.unwrap_or_default();
        if !element.is_empty() && element.len() != self.element_size {
            return Err(ErrorKind::Argument("the fill value is not one element").into());
        }
        let mut value = SmallVec::new();
        value.try_reserve_exact(element.len()).map_err(|_| ErrorKind::OutOfMemory)?;
        value.extend_from_slice(element);
        self.fill_value = value;
        Ok(())
    }

    /// Sets the byte order of the stored words.
    ///
    /// # Errors
    /// `ByteOrder` if the elements have no word size: see [`set_word_size`](Self::set_word_size).
    pub fn set_byte_order(&mut self, order: ByteOrder) -> Result<()> {
        if order.is_foreign() && self.word_size == 0 {
            return Err(ErrorKind::ByteOrder(self.element_size).into());
        }
        self.byte_order = order;
        Ok(())
    }

    /// Sets what the elements are made of: words of 1, 2, 4 or 8 bytes, each swapped as one where the byte order asks for
    /// it. Unset, an element of 1, 2, 4 or 8 bytes is one word, one of 16 is two (a complex number), and any other has none.
    pub fn set_word_size(&mut self, word_size: usize) -> Result<()> {
        if !matches!(word_size, 1 | 2 | 4 | 8) || !self.element_size.is_multiple_of(word_size) {
            return Err(
                ErrorKind::Argument("a word has 1, 2, 4 or 8 bytes, and an element a whole number of words").into()
            );
        }
        self.word_size = word_size;
        Ok(())
    }

    /// Sets how elements are copied that are more than their bytes, such as pointers to text. `None` stands for bytes.
    pub fn set_copier(&mut self, copier: Option<Copier>) {
        self.copier = copier;
    }

    /// Changes a dimension's current length, as when an unlimited dimension has grown.
    pub fn set_dimlen(&mut self, dimension: usize, len: usize) -> Result<()> {
        let entry = self.dimensions.get_mut(dimension).ok_or(ErrorKind::NoDimension(dimension))?;
        *entry = entry.with_len(len).map_err(|e| e.in_dimension(dimension))?;
        Ok(())
    }

    /// Changes the global index of a dimension's first element, as when elements have been prepended: see [`Dimension`].
    pub fn set_origin(&mut self, dimension: usize, origin: isize) -> Result<()> {
        let entry = self.dimensions.get_mut(dimension).ok_or(ErrorKind::NoDimension(dimension))?;
        *entry = entry.with_origin(origin).map_err(|e| e.in_dimension(dimension))?;
        Ok(())
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.dimensions.len()
    }

    /// The dimensions, slowest first.
    pub fn dimensions(&self) -> &[Dimension] {
        &self.dimensions
    }

    /// Bytes from an element of a stored chunk to the next, along each dimension.
    pub(crate) fn chunk_strides(&self) -> &[isize] {
        &self.chunk_strides
    }

    /// Bytes in an element.
    pub fn element_size(&self) -> usize {
        self.element_size
    }

    /// Bytes in a stored chunk.
    pub fn chunk_bytes(&self) -> usize {
        self.chunk_bytes
    }

    /// The bytes of the fill value, in native order; `None` stands for zeros.
    pub fn fill_value(&self) -> Option<&[u8]> {
        (!self.fill_value.is_empty()).then_some(&self.fill_value)
    }

    /// How elements are copied that are more than their bytes.
    pub fn copier(&self) -> Option<&Copier> {
        self.copier.as_ref()
    }

    /// The size of the words to swap on the way between chunk and memory, or `None` if nothing is.
    pub fn swapped_word(&self) -> Option<usize> {
        (self.copier.is_none() && self.byte_order.is_foreign() && self.word_size > 1).then_some(self.word_size)
    }
}

pub(crate) fn check_element_size(element_size: usize) -> Result<()> {
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
    use crate::MAX_RANK;
    use crate::status::*;

    fn status<T>(result: Result<T>) -> i32 {
        result.map_or_else(|e| e.status(), |_| NOERR)
    }

    #[test]
    fn shapes_no_variable_can_have_are_refused() {
        assert_eq!(status(Variable::new(&[1], &[0], 4)), EINVAL);
        assert_eq!(status(Variable::new(&[1], &[1], 0)), EINVAL);
        assert_eq!(status(Variable::new(&[1], &[1 << 61], 4)), EINVAL);
        assert_eq!(status(Variable::new(&[usize::MAX], &[4], 4)), EDIMSIZE);
        assert_eq!(status(Variable::new(&[1; MAX_RANK + 1], &[1; MAX_RANK + 1], 4)), EMAXDIMS);
        assert_eq!(status(Variable::new(&[1; MAX_RANK], &[1; MAX_RANK], 4)), NOERR);
    }

    #[test]
    fn an_origin_moves_the_chunks() {
        let dimension = |origin| Dimension::new(9, 4).unwrap().with_origin(origin).unwrap();
        let seen = [0, -1, -4, -5, 3, 4].map(|origin| {
            let d = dimension(origin);
            assert_eq!(d.origin(), origin);
            (d.first_chunk(), d.lead(), d.num_chunks())
        });
        assert_eq!(seen, [(0, 0, 3), (-1, 3, 3), (-1, 0, 3), (-2, 3, 3), (0, 3, 3), (1, 0, 3)]);
        let longest = Dimension::new(1 << 63, 1).unwrap();
        assert_eq!(status(longest.with_origin(1)), EDIMSIZE);
        assert_eq!(status(longest.with_origin(isize::MIN)), NOERR);
        assert_eq!(status(Dimension::new(9, 5).unwrap().with_origin(isize::MIN)), EDIMSIZE);
        assert_eq!(status(Dimension::new(9, usize::MAX).unwrap().with_origin(-1)), EDIMSIZE);
        assert_eq!(status(Dimension::new(9, usize::MAX).unwrap().with_origin(0)), NOERR);
    }

    #[test]
    fn only_words_have_a_byte_order() {
        let foreign = if cfg!(target_endian = "little") { ByteOrder::Big } else { ByteOrder::Little };
        let mut variable = Variable::new(&[], &[], 12).unwrap();
        assert_eq!(status(variable.set_byte_order(foreign)), EBADTYPE);
        assert_eq!(status(variable.set_word_size(8)), EINVAL);
        assert_eq!(status(variable.set_word_size(4)), NOERR);
        assert_eq!(status(variable.set_byte_order(foreign)), NOERR);
        assert_eq!(variable.swapped_word(), Some(4));
    }
}
