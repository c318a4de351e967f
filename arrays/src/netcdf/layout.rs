//! A variable as chunks: how long they are, and where each begins in the file.
//!
//! A file has no chunks: a record, or a fixed variable, is one row-major piece. It is cut where it would be too long to
//! be read at once, and short records are taken together, so that what is needed of several is read at once if that is
//! better. What lies between two records, which are other variables' parts of them, is the chunk's *pitch*.

use crate::alloc;
use crate::classic::ClassicVariable;
use crate::dims::{self, Dims};
use crate::error::{ErrorKind, Result};

/// What follows each other is one chunk up to this many bytes.
const WHOLE: u64 = 16 << 20;

/// Several steps of a dimension are taken together up to this many bytes.
const TOGETHER: u64 = 1 << 20;

/// How a variable lies in a file.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) shape: Vec<usize>,
    pub(crate) chunk_shape: Vec<usize>,
    /// How many bytes lie from a step of a chunk's first dimension to the next, if there is something between them.
    pub pitch: Option<usize>,
    begin: u64,
    /// For each dimension the bytes from an element to the next.
    elements: Dims<u64>,
    /// The bytes of an element.
    size: u64,
    /// For each dimension the bytes from a chunk to the next.
    steps: Dims<u64>,
    /// The end of the variable's values.
    pub end: u64,
}

impl Layout {
    /// A variable with these lengths of dimensions, 0 for the record dimension.
    ///
    /// # Errors
    /// `VariableSize` if it does not fit a file, `OutOfMemory`.
    pub(super) fn new(
        classic: &ClassicVariable<'_>,
        dimlens: &[usize],
        num_records: usize,
        begin: u64,
        record_size: u64,
    ) -> Result<Self> {
        let is_record = classic.is_record();
        let mut shape = alloc::copied(dimlens)?;
        if is_record {
            shape[0] = num_records;
        }
        let last = dims::copied(shape.iter().map(|&len| len.saturating_sub(1)))?;
        let last_value = classic.offset(begin, record_size, &last)?;
        let size = classic.typesize();
        // The bytes of a step along each dimension: they fit, for the offset of the last value does.
        let mut steps = dims::copied(shape.iter().map(|_| 0u64))?;
        let mut step = size;
        for (d, &len) in shape.iter().enumerate().rev() {
            steps[d] = if is_record && d == 0 { record_size } else { step };
            step = step.saturating_mul(len as u64);
        }
        let chunk_shape = chunk_shape(&shape, &steps, is_record)?;
        let pitch = match (is_record, chunk_shape.first()) {
            (true, Some(&records)) if records > 1 && record_size > classic.size() => {
                Some(usize::try_from(record_size).map_err(|_| ErrorKind::VariableSize("a record is too large"))?)
            }
            _ => None,
        };
        let elements = dims::copied(steps.iter().copied())?;
        steps.iter_mut().zip(&chunk_shape).for_each(|(step, &len)| *step = step.saturating_mul(len as u64));
        let end = last_value.saturating_add(size);
        Ok(Layout { shape, chunk_shape, pitch, begin, elements, size, steps, end })
    }

    /// An array with these lengths of dimensions and elements of so many bytes, which is one piece.
    ///
    /// # Errors
    /// `VariableSize` if it does not fit a file, `OutOfMemory`.
    #[cfg(feature = "hdf5")]
    pub(crate) fn of_one_piece(shape: Vec<usize>, size: u64, begin: u64) -> Result<Self> {
        const TOO_LARGE: ErrorKind = ErrorKind::VariableSize("the array needs more bytes than a file can have");
        let mut steps = dims::copied(shape.iter().map(|_| 0u64))?;
        let mut step = size;
        for (d, &len) in shape.iter().enumerate().rev() {
            steps[d] = step;
            step = step.checked_mul(len as u64).ok_or(TOO_LARGE)?;
        }
        let end = begin.checked_add(step).ok_or(TOO_LARGE)?;
        let chunk_shape = chunk_shape(&shape, &steps, false)?;
        let elements = dims::copied(steps.iter().copied())?;
        steps.iter_mut().zip(&chunk_shape).for_each(|(step, &len)| *step = step.saturating_mul(len as u64));
        Ok(Layout { shape, chunk_shape, pitch: None, begin, elements, size, steps, end })
    }

    /// The same with one chunk.
    #[cfg(feature = "hdf5")]
    pub(crate) fn whole(self) -> Result<Self> {
        let mut chunk_shape = alloc::copied(&self.shape)?;
        chunk_shape.iter_mut().for_each(|len| *len = (*len).max(1));
        Ok(Layout { chunk_shape, ..self })
    }

    /// Where a byte of a chunk is in the file.
    pub(super) fn offset(&self, chunk: &[isize], offset: usize) -> Result<u64> {
        let mut at = self.begin.checked_add(offset as u64).ok_or(ErrorKind::Internal)?;
        for (&index, &step) in chunk.iter().zip(&self.steps) {
            let index = u64::try_from(index).map_err(|_| ErrorKind::Internal)?;
            let behind = index.checked_mul(step).ok_or(ErrorKind::Internal)?;
            at = at.checked_add(behind).ok_or(ErrorKind::Internal)?;
        }
        Ok(at)
    }

    /// Where a chunk ends in the file: behind its last element that lies inside of the dimensions.
    pub(super) fn end_of(&self, chunk: &[isize]) -> Result<u64> {
        let mut at = self.offset(chunk, 0)?;
        for (d, &index) in chunk.iter().enumerate() {
            let len = self.chunk_shape[d];
            // The chunk begins inside.
            let first = usize::try_from(index).ok().and_then(|index| index.checked_mul(len));
            let inside = first.and_then(|first| self.shape[d].checked_sub(first)).ok_or(ErrorKind::Internal)?;
            let last = inside.min(len).checked_sub(1).ok_or(ErrorKind::Internal)?;
            let behind = self.elements[d].checked_mul(last as u64).ok_or(ErrorKind::Internal)?;
            at = at.checked_add(behind).ok_or(ErrorKind::Internal)?;
        }
        at.checked_add(self.size).ok_or_else(|| ErrorKind::Internal.into())
    }
}

/// The lengths of chunks for a variable with these lengths, and so many bytes in a step along each dimension.
fn chunk_shape(shape: &[usize], steps: &[u64], is_record: bool) -> Result<Vec<usize>> {
    let mut chunk_shape = alloc::copied(shape)?;
    chunk_shape.iter_mut().for_each(|len| *len = (*len).max(1));
    // What follows each other as a whole: the dimensions from this one on.
    let bytes_from = |d: usize| match (shape.get(d), steps.get(d)) {
        (Some(&len), Some(step)) => step.saturating_mul(len as u64),
        _ => 0,
    };
    let first = usize::from(is_record);
    let whole = (first..shape.len()).find(|&d| bytes_from(d) <= WHOLE).unwrap_or(shape.len());
    if let Some((last, others)) = chunk_shape.get_mut(..whole).and_then(<[usize]>::split_last_mut) {
        others.fill(1);
        let step = steps.get(whole - 1).map_or(1, |step| *step).max(1);
        let together = usize::try_from(TOGETHER / step).unwrap_or(usize::MAX);
        *last = together.clamp(1, *last);
    }
    Ok(chunk_shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(dimlens: &[usize], num_records: usize, record_size: u64) -> Layout {
        let classic = ClassicVariable::new(dimlens, 4).unwrap();
        Layout::new(&classic, dimlens, num_records, 100, record_size).unwrap()
    }

    #[test]
    fn short_records_are_taken_together_and_long_ones_cut() {
        let shape = |dimlens: &[usize], record_size| {
            let layout = layout(dimlens, 10_000, record_size);
            (layout.chunk_shape, layout.pitch)
        };
        assert_eq!(shape(&[], 0), (vec![], None));
        assert_eq!(shape(&[0], 4), (vec![10_000], None));
        assert_eq!(shape(&[0], 1 << 10), (vec![1024], Some(1 << 10)));
        assert_eq!(shape(&[0, 10], 40), (vec![10_000, 10], None));
        assert_eq!(shape(&[0, 721, 1440], 5 << 20), (vec![1, 721, 1440], None));
        assert_eq!(shape(&[0, 100, 1000, 1000], 400 << 20), (vec![1, 1, 1000, 1000], None));
        assert_eq!(shape(&[721, 1440], 0), (vec![721, 1440], None));
        assert_eq!(shape(&[1 << 30], 0), (vec![1 << 18], None));
        assert_eq!(shape(&[5000, 1000], 0), (vec![262, 1000], None));
    }

    #[test]
    fn a_chunk_begins_where_its_first_value_is() {
        let layout = layout(&[0, 100, 1000, 1000], 3, 500 << 20);
        let classic = ClassicVariable::new(&[0, 100, 1000, 1000], 4).unwrap();
        assert_eq!(layout.offset(&[2, 7, 0, 0], 12).unwrap(), classic.offset(100, 500 << 20, &[2, 7, 0, 3]).unwrap());
        assert_eq!(layout.end, 100 + (1000 << 20) + 400_000_000);
        assert!(layout.offset(&[-1, 0, 0, 0], 0).is_err());
        #[cfg(target_pointer_width = "64")]
        assert!(layout.offset(&[isize::MAX, 0, 0, 0], 0).is_err());
        assert!(self::layout(&[0], 3, 1 << 34).offset(&[isize::MAX], 0).is_err());
        let dimlens = [0, 1 << 20];
        let classic = ClassicVariable::new(&dimlens, 4).unwrap();
        assert!(Layout::new(&classic, &dimlens, usize::MAX, 100, 1 << 33).is_err());
        #[cfg(target_pointer_width = "64")]
        assert!(Layout::new(&classic, &dimlens, usize::MAX, 100, 1 << 23).is_err());
    }
}
