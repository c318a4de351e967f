//! The numbers of a structure as they follow each other, and the checksum that newer structures end with.

use crate::error::{Error, ErrorKind, Result};

/// What is said of a structure that breaks the rules of the format.
#[cold]
pub(super) fn malformed(reason: &'static str) -> Error {
    ErrorKind::Metadata(reason).into()
}

/// Whether an error is about what a file says, and not of the storage or of memory.
pub(super) fn is_of_the_file(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Metadata(_)
            | ErrorKind::Unsupported(_)
            | ErrorKind::Codec(_)
            | ErrorKind::ElementType
            | ErrorKind::Rank(_)
            | ErrorKind::Limit { .. }
            | ErrorKind::Truncated
            | ErrorKind::NotFound(_)
            | ErrorKind::Argument(_)
            | ErrorKind::VariableSize(_)
            | ErrorKind::DimensionLength(_)
    )
}

/// How many bytes the file's addresses and lengths have: 2, 4 or 8 each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sizes {
    pub address: usize,
    pub length: usize,
}

/// A position in the bytes of a structure.
#[derive(Clone)]
pub(super) struct Cursor<'b> {
    bytes: &'b [u8],
    at: usize,
    sizes: Sizes,
}

impl<'b> Cursor<'b> {
    pub(super) fn new(bytes: &'b [u8], sizes: Sizes) -> Self {
        Cursor { bytes, at: 0, sizes }
    }

    /// How many bytes have been read.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// How many bytes are left.
    pub(super) fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    pub(super) fn take(&mut self, len: usize) -> Result<&'b [u8]> {
        let end = self.at.checked_add(len).ok_or_else(ends_early)?;
        let taken = self.bytes.get(self.at..end).ok_or_else(ends_early)?;
        self.at = end;
        Ok(taken)
    }

    pub(super) fn skip(&mut self, len: usize) -> Result<()> {
        self.take(len).map(drop)
    }

    /// Goes on to the next multiple of 8, or to the end if that comes before.
    pub(super) fn pad(&mut self) {
        self.at = self.at.next_multiple_of(8).min(self.bytes.len());
    }

    /// A number of so many bytes, at most 8.
    pub(super) fn number(&mut self, len: usize) -> Result<u64> {
        Ok(little_endian(self.take(len)?))
    }

    pub(super) fn u8(&mut self) -> Result<u8> {
        Ok(self.number(1)? as u8)
    }

    pub(super) fn u16(&mut self) -> Result<u16> {
        Ok(self.number(2)? as u16)
    }

    pub(super) fn u32(&mut self) -> Result<u32> {
        Ok(self.number(4)? as u32)
    }

    /// An address in the file; `None` for the one that stands for nothing.
    pub(super) fn address(&mut self) -> Result<Option<u64>> {
        let bytes = self.take(self.sizes.address)?;
        Ok(bytes.iter().any(|byte| *byte != 0xff).then(|| little_endian(bytes)))
    }

    pub(super) fn length(&mut self) -> Result<u64> {
        self.number(self.sizes.length)
    }

    /// A length; `None` for the one that stands for no limit.
    pub(super) fn length_or_none(&mut self) -> Result<Option<u64>> {
        let bytes = self.take(self.sizes.length)?;
        Ok(bytes.iter().any(|byte| *byte != 0xff).then(|| little_endian(bytes)))
    }

    /// The mark that a structure begins with.
    pub(super) fn mark(&mut self, mark: &[u8; 4]) -> Result<()> {
        match self.take(4)? == mark {
            true => Ok(()),
            false => Err(malformed("a structure of the file does not begin with its signature")),
        }
    }

    /// A byte that says which version a structure has, where there is only one.
    pub(super) fn version(&mut self, version: u8) -> Result<()> {
        match self.u8()? == version {
            true => Ok(()),
            false => Err(ErrorKind::Unsupported("a structure of an HDF5 file of an unknown version").into()),
        }
    }

    /// The checksum of all that comes before it.
    pub(super) fn checksum(&mut self) -> Result<()> {
        let due = checksum(self.bytes.get(..self.at).unwrap_or_default());
        match self.u32()? == due {
            true => Ok(()),
            false => Err(malformed("the checksum of a structure of the file does not match")),
        }
    }
}

/// Refuses a structure whose bytes are others than were written: the last are the checksum of those before them.
pub(super) fn verify(bytes: &[u8], sizes: Sizes) -> Result<()> {
    let mut cursor = Cursor::new(bytes, sizes);
    cursor.skip(bytes.len().saturating_sub(4))?;
    cursor.checksum()
}

#[cold]
fn ends_early() -> Error {
    malformed("a structure of the file is truncated")
}

/// A number of up to 8 bytes.
pub(super) fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// How many bytes a number takes that is at most this one.
pub(super) fn bytes_for(most: u64) -> usize {
    most.checked_ilog2().unwrap_or(0) as usize / 8 + 1
}

/// Bob Jenkins' lookup3, `hashlittle` with 0 to begin with: also what names are sorted by.
pub(super) fn checksum(bytes: &[u8]) -> u32 {
    let begin = 0xdead_beef_u32.wrapping_add(bytes.len() as u32);
    let (mut a, mut b, mut c) = (begin, begin, begin);
    let word =
        |bytes: &[u8], i: usize| little_endian(bytes.get(4 * i..bytes.len().min(4 * i + 4)).unwrap_or(&[])) as u32;
    let mut rest = bytes;
    while let Some((block, behind)) = rest.split_at_checked(12).filter(|(_, behind)| !behind.is_empty()) {
        (a, b, c) = (a.wrapping_add(word(block, 0)), b.wrapping_add(word(block, 1)), c.wrapping_add(word(block, 2)));
        for (turn, which) in [(4, 0), (6, 1), (8, 2), (16, 0), (19, 1), (4, 2)] {
            let [x, y, z] = match which {
                0 => [&mut a, &mut b, &mut c],
                1 => [&mut b, &mut c, &mut a],
                _ => [&mut c, &mut a, &mut b],
            };
            *x = x.wrapping_sub(*z) ^ z.rotate_left(turn);
            *z = z.wrapping_add(*y);
        }
        rest = behind;
    }
    if rest.is_empty() {
        return c;
    }
    let part = |i: usize| if 4 * i < rest.len() { word(rest, i) } else { 0 };
    (a, b, c) = (a.wrapping_add(part(0)), b.wrapping_add(part(1)), c.wrapping_add(part(2)));
    for (turn, which) in [(14, 0), (11, 1), (25, 2), (16, 0), (4, 1), (14, 2), (24, 0)] {
        let (x, y) = match which {
            0 => (&mut c, b),
            1 => (&mut a, c),
            _ => (&mut b, a),
        };
        *x = (*x ^ y).wrapping_sub(y.rotate_left(turn));
    }
    c
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_lookup3s() {
        // The driver of lookup3.c prints the second.
        assert_eq!(checksum(b""), 0xdead_beef);
        assert_eq!(checksum(b"Four score and seven years ago"), 0x1777_0551);
    }

    #[test]
    fn numbers_end_where_the_bytes_do() {
        let sizes = Sizes { address: 4, length: 2 };
        let mut cursor = Cursor::new(&[1, 2, 3, 0xff, 0xff, 0xff, 0xff, 5, 6, 7], sizes);
        assert_eq!((cursor.u8().unwrap(), cursor.u16().unwrap()), (1, 0x302));
        assert_eq!((cursor.address().unwrap(), cursor.length().unwrap(), cursor.left()), (None, 0x605, 1));
        assert!(cursor.u16().is_err() && cursor.take(usize::MAX).is_err());
        assert_eq!([0, 1, 255, 256, u64::MAX].map(bytes_for), [1, 1, 1, 2, 8]);
    }
}
