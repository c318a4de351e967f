//! Where a value lies in a netCDF classic file (CDF-1, CDF-2, CDF-5).
//!
//! A fixed variable is one row-major array at its `begin`. The record variables take turns: record n of each lies
//! `recsize` bytes after record n - 1, and in between lie the other variables' parts of a record. A variable is a
//! record variable if its first dimension is unlimited, which its length 0 says.
//!
//! - *size*: the product of the dimension lengths, without the record dimension, times the element size.
//! - *padded size*: the size rounded up to a multiple of 4, which is what the header's `vsize` should say. It cannot be
//!   trusted: writers differ, and it saturates at 2^32 - 1.
//! - *recsize*: the sum of the record variables' padded sizes; the size itself, not padded, where there is only one.
//! - *offset* of a value: `begin` + index of the record * recsize + inner product of the other indices with the product
//!   vector * element size. The product vector has for each dimension the product of the lengths to the right of it.
//!
//! File offsets are signed 64-bit numbers, so nothing here is above 2^63 - 1. Source: "Notes on Computing File Offsets"
//! in the netCDF classic format specification, corrected by what netCDF-C writes.

use crate::dims::check_rank;
use crate::error::{Error, ErrorKind, Result};

/// What the format rounds the size of a variable up to, in bytes.
const ALIGNMENT: u64 = 4;

/// A variable's shape, as the header of a classic file has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClassicVariable<'a> {
    dimlens: &'a [usize],
    typesize: u64,
    size: u64,
}

impl<'a> ClassicVariable<'a> {
    /// A variable with these dimension lengths, in elements, and elements of `typesize` bytes. A first length of 0
    /// means the record dimension.
    ///
    /// Errors: [`ErrorKind::Rank`]; [`ErrorKind::Argument`] for an element size other than 1, 2, 4 or 8;
    /// [`ErrorKind::DimensionLength`] for a length of 0 that is not the first; [`ErrorKind::VariableSize`] above
    /// 2^63 - 1 bytes.
    pub fn new(dimlens: &'a [usize], typesize: usize) -> Result<Self> {
        check_rank(dimlens.len())?;
        let typesize = match typesize {
            1 | 2 | 4 | 8 => typesize as u64,
            _ => return Err(ErrorKind::Argument("an element of a classic file must have 1, 2, 4 or 8 bytes").into()),
        };
        if let Some(d) = dimlens.iter().skip(1).position(|&dimlen| dimlen == 0) {
            return Err(Error::from(ErrorKind::DimensionLength(0)).in_dimension(d + 1));
        }
        let fixed = if dimlens.first() == Some(&0) { &dimlens[1..] } else { dimlens };
        let size = fixed.iter().try_fold(typesize, |size, &dimlen| in_file(size.checked_mul(dimlen as u64)))?;
        in_file(size.checked_next_multiple_of(ALIGNMENT))?;
        Ok(ClassicVariable { dimlens, typesize, size })
    }

    /// Whether the first dimension is the record dimension.
    pub fn is_record(&self) -> bool {
        self.dimlens.first() == Some(&0)
    }

    /// The bytes of one value.
    pub fn typesize(&self) -> u64 {
        self.typesize
    }

    /// The bytes its values take, those of one record for a record variable.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The size rounded up to a multiple of 4.
    pub fn padded_size(&self) -> u64 {
        self.size.next_multiple_of(ALIGNMENT)
    }

    /// The byte offset in the file of the value with these indices, one per dimension.
    ///
    /// `begin` is the variable's, from the header; `recsize` is [`record_size`]'s, and only looked at for a record
    /// variable. How many records the file has is not known here: any record will do.
    ///
    /// Errors: [`ErrorKind::Argument`] unless there is one index for each dimension, and for a `recsize` below the
    /// variable's own size; [`ErrorKind::Index`] beyond a dimension; [`ErrorKind::VariableSize`] for an offset above
    /// 2^63 - 1.
    ///
    /// ```
    /// use nczchunk::classic::ClassicVariable;
    ///
    /// // short v(time, x = 3), the only record variable: 6 bytes a record, without padding.
    /// let v = ClassicVariable::new(&[0, 3], 2)?;
    /// assert_eq!(v.offset(96, 6, &[6, 2])?, 96 + 6 * 6 + 2 * 2);
    /// # Ok::<(), nczchunk::Error>(())
    /// ```
    pub fn offset(&self, begin: u64, recsize: u64, indices: &[usize]) -> Result<u64> {
        if indices.len() != self.dimlens.len() {
            return Err(ErrorKind::Argument("there must be one index for each dimension").into());
        }
        let mut step = self.typesize;
        let mut offset = begin;
        for (d, (&index, &dimlen)) in indices.iter().zip(self.dimlens).enumerate().rev() {
            if d == 0 && self.is_record() {
                if recsize < self.size {
                    return Err(
                        ErrorKind::Argument("the record size is below the size of the variable's record").into()
                    );
                }
                step = recsize;
            } else if index >= dimlen {
                return Err(Error::from(ErrorKind::Index { index, len: dimlen }).in_dimension(d));
            }
            offset = in_file((index as u64).checked_mul(step).and_then(|bytes| bytes.checked_add(offset)))?;
            step = step.saturating_mul(dimlen as u64);
        }
        in_file(Some(offset))
    }
}

/// The bytes of one record of a file, from the [sizes](ClassicVariable::size) of all its record variables. 0 if there
/// are none.
///
/// Errors: [`ErrorKind::VariableSize`] above 2^63 - 1 bytes.
pub fn record_size(sizes: &[u64]) -> Result<u64> {
    if let [size] = sizes {
        return in_file(Some(*size));
    }
    sizes.iter().try_fold(0, |sum: u64, size| {
        in_file(size.checked_next_multiple_of(ALIGNMENT).and_then(|padded| padded.checked_add(sum)))
    })
}

/// The number, if a file can have it as a size or an offset.
fn in_file(bytes: Option<u64>) -> Result<u64> {
    bytes
        .filter(|&bytes| bytes <= i64::MAX as u64)
        .ok_or_else(|| ErrorKind::VariableSize("a size or an offset is above 2^63 - 1 bytes").into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status;

    fn variable(dimlens: &[usize], typesize: usize) -> ClassicVariable<'_> {
        ClassicVariable::new(dimlens, typesize).unwrap()
    }

    #[test]
    fn sizes_leave_the_record_dimension_out() {
        let sizes = |v: ClassicVariable| (v.size(), v.padded_size(), v.is_record());
        assert_eq!(sizes(variable(&[5, 3, 2, 7], 1)), (210, 212, false));
        assert_eq!(sizes(variable(&[0, 2, 9, 4], 1)), (72, 72, true));
        assert_eq!(sizes(variable(&[0], 2)), (2, 4, true));
        assert_eq!(sizes(variable(&[], 8)), (8, 8, false));
    }

    #[test]
    fn a_single_record_variable_is_not_padded() {
        assert_eq!(record_size(&[]), Ok(0));
        assert_eq!(record_size(&[6]), Ok(6));
        assert_eq!(record_size(&[6, 1]), Ok(12));
        assert_eq!(record_size(&[8, 4_800_000_000]), Ok(4_800_000_008));
    }

    #[test]
    fn offsets_follow_the_product_vector() {
        assert_eq!(variable(&[5, 3], 2).offset(300, 0, &[4, 2]), Ok(300 + (4 * 3 + 2) * 2));
        assert_eq!(variable(&[0, 5, 3], 4).offset(348, 84, &[2, 3, 1]), Ok(348 + 2 * 84 + (3 * 3 + 1) * 4));
        assert_eq!(variable(&[], 8).offset(332, 0, &[]), Ok(332));
        assert_eq!(variable(&[700_000_000], 8).offset(152, 0, &[699_999_999]), Ok(5_600_000_144));
    }

    #[test]
    fn an_index_stays_below_its_dimension_but_records_have_no_end() {
        let error = variable(&[5, 3], 2).offset(0, 0, &[4, 3]).unwrap_err();
        assert_eq!((error.status(), error.dimension()), (status::EINVALCOORDS, Some(1)));
        assert_eq!(variable(&[0, 3], 2).offset(0, 6 << 10, &[1 << 30, 0]), Ok(6 << 40));
        #[cfg(target_pointer_width = "64")]
        assert_eq!(variable(&[0, 3], 2).offset(0, 6, &[1 << 40, 0]), Ok(6 << 40));
    }

    #[test]
    fn what_no_file_can_hold() {
        let status = |result: Result<u64>| result.unwrap_err().status();
        let new = |dimlens: &[usize], typesize| ClassicVariable::new(dimlens, typesize).unwrap_err().status();
        assert_eq!(new(&[1 << 30, 1 << 30], 8), status::EVARSIZE);
        assert_eq!(new(&[usize::MAX; 3], 8), status::EVARSIZE);
        #[cfg(target_pointer_width = "64")]
        assert_eq!(new(&[i64::MAX as usize], 1), status::EVARSIZE);
        // 2^63 - 1 bytes, which the padding makes too many.
        assert_eq!(new(&[153_092_023, 92_737, 649_657], 1), status::EVARSIZE);
        assert_eq!(new(&[5, 0], 4), status::EDIMSIZE);
        assert_eq!(new(&[5], 3), status::EINVAL);
        assert_eq!(new(&[5; 1025], 4), status::EMAXDIMS);
        assert_eq!(status(record_size(&[u64::MAX])), status::EVARSIZE);
        assert_eq!(status(record_size(&[i64::MAX as u64, 1])), status::EVARSIZE);
        assert_eq!(status(variable(&[2], 8).offset(i64::MAX as u64 - 7, 0, &[1])), status::EVARSIZE);
        assert_eq!(status(variable(&[], 8).offset(u64::MAX, 0, &[])), status::EVARSIZE);
        assert_eq!(status(variable(&[0], 8).offset(0, 1 << 32, &[usize::MAX])), status::EVARSIZE);
        #[cfg(target_pointer_width = "64")]
        assert_eq!(status(variable(&[0], 8).offset(0, 8, &[usize::MAX])), status::EVARSIZE);
        assert_eq!(status(variable(&[0], 8).offset(0, 7, &[0])), status::EINVAL);
        assert_eq!(status(variable(&[5], 8).offset(0, 0, &[0, 0])), status::EINVAL);
    }
}
