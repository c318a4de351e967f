//! The numbers and names of a header, as they follow each other. Of the file only the beginning may be there.

use crate::dataset::lossy_text;
use crate::error::{Error, ErrorKind, Result};

/// Why a header cannot be read on.
#[derive(Debug)]
pub(super) enum Stop {
    /// More of the file is needed.
    More,
    Refused(Error),
}

impl<E: Into<Error>> From<E> for Stop {
    fn from(error: E) -> Self {
        Stop::Refused(error.into())
    }
}

/// A position in the beginning of a file.
pub(super) struct Cursor<'b> {
    bytes: &'b [u8],
    at: usize,
    file_len: u64,
    /// Whether lengths and numbers of dimensions have 64 bits, as in CDF-5.
    pub has_long_counts: bool,
    /// Whether the beginnings of variables have 64 bits, as in all but CDF-1.
    pub has_long_offsets: bool,
}

impl<'b> Cursor<'b> {
    /// The first bytes of a file that has so many.
    pub(super) fn new(bytes: &'b [u8], file_len: u64) -> Self {
        Cursor { bytes, at: 0, file_len, has_long_counts: false, has_long_offsets: false }
    }

    /// How many bytes have been read.
    pub(super) fn position(&self) -> u64 {
        self.at as u64
    }

    pub(super) fn take(&mut self, len: usize) -> Result<&'b [u8], Stop> {
        let end = self.at.checked_add(len).filter(|&end| end as u64 <= self.file_len).ok_or(ErrorKind::Truncated)?;
        let taken = self.bytes.get(self.at..end).ok_or(Stop::More)?;
        self.at = end;
        Ok(taken)
    }

    /// So many bytes, and those that fill them up to a multiple of 4, which need not be zeros.
    pub(super) fn take_padded(&mut self, len: usize) -> Result<&'b [u8], Stop> {
        let taken = self.take(len)?;
        self.take(len.next_multiple_of(4) - len)?;
        Ok(taken)
    }

    pub(super) fn u32(&mut self) -> Result<u32, Stop> {
        let mut number = [0; 4];
        number.copy_from_slice(self.take(4)?);
        Ok(u32::from_be_bytes(number))
    }

    pub(super) fn u64(&mut self) -> Result<u64, Stop> {
        let mut number = [0; 8];
        number.copy_from_slice(self.take(8)?);
        Ok(u64::from_be_bytes(number))
    }

    /// A number that is not negative, of as many bits as the format has for those.
    pub(super) fn count(&mut self) -> Result<u64, Stop> {
        if self.has_long_counts { self.u64() } else { self.u32().map(u64::from) }
    }

    /// The number of things that follow, each of at least `least` bytes.
    pub(super) fn length(&mut self, least: u64) -> Result<usize, Stop> {
        let count = self.count()?;
        let left = self.file_len.saturating_sub(self.position());
        match usize::try_from(count) {
            Ok(length) if count.checked_mul(least).is_some_and(|bytes| bytes <= left) => Ok(length),
            _ => Err(ErrorKind::Metadata("a list of the header is longer than the file").into()),
        }
    }

    /// The tag and the length of a list, which is absent if both are zero.
    pub(super) fn list(&mut self, tag: u32, least: u64) -> Result<usize, Stop> {
        let found = self.u32()?;
        match self.length(least)? {
            0 if found == 0 || found == tag => Ok(0),
            length if found == tag => Ok(length),
            _ => Err(ErrorKind::Metadata("a list of the header has an unexpected tag").into()),
        }
    }

    /// A name. What is no UTF-8 in it is replaced.
    pub(super) fn name(&mut self) -> Result<String, Stop> {
        let len = self.length(1)?;
        Ok(lossy_text(self.take_padded(len)?)?)
    }
}
