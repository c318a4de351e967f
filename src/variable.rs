//! What is stored: a variable's dimensions, how they are cut into chunks, and what its elements are made of.

use smallvec::SmallVec;

use crate::MAX_RANK;
use crate::dims::{self, Dims};
use crate::error::{ErrorKind, Result};

/// The longest dimension: its chunk indices and positions fit a signed number.
const MAX_DIMLEN: usize = 1 << (usize::BITS - 1);

/// One dimension and its chunks. Lengths are in elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dimension {
    len: usize,
    chunklen: usize,
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
        Ok(Dimension { len, chunklen })
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

    /// How many chunks the dimension has.
    pub fn num_chunks(&self) -> usize {
        self.len.div_ceil(self.chunklen)
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
    element_size: usize,
    chunk_bytes: usize,
    word_size: usize,
    byte_order: ByteOrder,
    /// Empty as long as none is set: then it is zeros.
    fill_value: SmallVec<[u8; 16]>,
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
        if element_size == 0 {
            return Err(ErrorKind::Argument("the element size is 0").into());
        }
        if rank > MAX_RANK {
            return Err(ErrorKind::Rank(rank).into());
        }
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
        let word_size = default_word_size(element_size);
        let (byte_order, fill_value) = Default::default();
        Ok(Variable { dimensions, element_size, chunk_bytes, word_size, byte_order, fill_value })
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

    /// Changes a dimension's current length, as when an unlimited dimension has grown.
    pub fn set_dimlen(&mut self, dimension: usize, len: usize) -> Result<()> {
        let entry = self.dimensions.get_mut(dimension).ok_or(ErrorKind::NoDimension(dimension))?;
        *entry = Dimension::new(len, entry.chunklen).map_err(|e| e.in_dimension(dimension))?;
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

    /// The dimensions' lengths.
    pub fn dimlens(&self) -> impl ExactSizeIterator<Item = usize> + Clone + '_ {
        self.dimensions.iter().map(Dimension::len)
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

    /// The size of the words to swap on the way between chunk and memory, or `None` if nothing is.
    pub fn swapped_word(&self) -> Option<usize> {
        (self.byte_order.is_foreign() && self.word_size > 1).then_some(self.word_size)
    }
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
