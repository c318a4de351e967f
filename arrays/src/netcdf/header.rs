//! The header of a file: dimensions, attributes, variables. What a variable's `vsize` says is not used.

use super::cursor::{Cursor, Stop};
use super::types;
use crate::alloc;
use crate::copy;
use crate::dataset::{Attribute, Values};
use crate::element::ElementType;
use crate::error::ErrorKind;
use crate::variable::Endian;

/// A header.
#[derive(Debug)]
pub(super) struct Header {
    /// How many records there are; `None` if the file does not say, for it was written as a stream.
    pub num_records: Option<u64>,
    pub dimensions: Vec<DimensionHeader>,
    pub attributes: Vec<Attribute>,
    pub variables: Vec<VariableHeader>,
    /// How many bytes the header has.
    pub len: u64,
}

/// A dimension.
#[derive(Debug)]
pub(super) struct DimensionHeader {
    pub name: String,
    /// 0 for the record dimension.
    pub len: usize,
}

/// A variable.
#[derive(Debug)]
pub(super) struct VariableHeader {
    pub name: String,
    /// The numbers of its dimensions, slowest first. There are such dimensions.
    pub dimensions: Vec<usize>,
    pub attributes: Vec<Attribute>,
    pub element: ElementType,
    /// Where its values begin in the file.
    pub begin: u64,
}

const DIMENSIONS: u32 = 10;
const VARIABLES: u32 = 11;
const ATTRIBUTES: u32 = 12;

impl DimensionHeader {
    /// Whether it is the record dimension, the only one that can be unlimited.
    pub(super) fn is_record(&self) -> bool {
        self.len == 0
    }
}

impl Header {
    /// Reads a header from the first bytes of a file that has so many.
    ///
    /// # Errors
    /// `More` if they do not have all of it; `Metadata`, `Truncated`, `OutOfMemory`.
    pub(super) fn read(bytes: &[u8], file_len: u64) -> Result<Header, Stop> {
        let mut cursor = Cursor::new(bytes, file_len);
        let &[b'C', b'D', b'F', version @ (1 | 2 | 5)] = cursor.take(4)? else {
            return Err(ErrorKind::UnknownFormat.into());
        };
        cursor.has_long_counts = version == 5;
        cursor.has_long_offsets = version != 1;
        let num_records = cursor.count()?;
        let streaming = if version == 5 { u64::MAX } else { u32::MAX.into() };
        let dimensions = read_dimensions(&mut cursor)?;
        let attributes = read_attributes(&mut cursor)?;
        let variables = read_variables(&mut cursor, dimensions.len())?;
        let num_records = (num_records != streaming).then_some(num_records);
        Ok(Header { num_records, dimensions, attributes, variables, len: cursor.position() })
    }
}

fn read_dimensions(cursor: &mut Cursor<'_>) -> Result<Vec<DimensionHeader>, Stop> {
    let mut dimensions: Vec<DimensionHeader> = Vec::new();
    for _ in 0..cursor.list(DIMENSIONS, 8)? {
        let name = cursor.name()?;
        let len = usize::try_from(cursor.count()?).map_err(|_| ErrorKind::Metadata("a dimension is too long"))?;
        let dimension = DimensionHeader { name, len };
        if dimension.is_record() && dimensions.iter().any(DimensionHeader::is_record) {
            return Err(ErrorKind::Metadata("the file has more than one record dimension").into());
        }
        alloc::push(&mut dimensions, dimension)?;
    }
    Ok(dimensions)
}

fn read_attributes(cursor: &mut Cursor<'_>) -> Result<Vec<Attribute>, Stop> {
    let mut attributes = Vec::new();
    for _ in 0..cursor.list(ATTRIBUTES, 12)? {
        let name = cursor.name()?;
        let element = types::element(cursor.u32()?, cursor.has_long_counts)?;
        let num_values = cursor.length(element.size() as u64)?;
        // It is at most what is left of the file.
        let mut bytes = alloc::copied(cursor.take_padded(num_values.saturating_mul(element.size()))?)?;
        if Endian::Big.is_foreign() {
            copy::swap_in_place(&mut bytes, element.size());
        }
        alloc::push(&mut attributes, Attribute { name, element, values: Values::Bytes(bytes) })?;
    }
    Ok(attributes)
}

fn read_variables(cursor: &mut Cursor<'_>, num_dimensions: usize) -> Result<Vec<VariableHeader>, Stop> {
    let mut variables = Vec::new();
    for _ in 0..cursor.list(VARIABLES, 28)? {
        let name = cursor.name()?;
        let mut dimensions = Vec::new();
        for _ in 0..cursor.length(4)? {
            let dimension = usize::try_from(cursor.count()?).ok().filter(|&number| number < num_dimensions);
            const NO_SUCH: ErrorKind =
                ErrorKind::Metadata("a variable refers to a dimension that the file does not have");
            alloc::push(&mut dimensions, dimension.ok_or(NO_SUCH)?)?;
        }
        let attributes = read_attributes(cursor)?;
        let element = types::element(cursor.u32()?, cursor.has_long_counts)?;
        let _vsize = cursor.count()?;
        let begin = if cursor.has_long_offsets { cursor.u64()? } else { cursor.u32()?.into() };
        alloc::push(&mut variables, VariableHeader { name, dimensions, attributes, element, begin })?;
    }
    Ok(variables)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Result;

    /// A file with one dimension and one variable; these are the list of its attributes and its dimension's number.
    fn read(attributes: [u32; 2], dimension: u32) -> Result<Header> {
        let name = |letter| u32::from_be_bytes([letter, 0, 0, 0]);
        let numbers = [&[0, 10, 1, 1, name(b'x'), 2][..], &attributes, &[11, 1, 1, name(b'v'), 1, dimension, 0, 0]];
        let numbers = [&numbers.concat()[..], &[4, 8, 100]].concat();
        let bytes = [&b"CDF\x01"[..], &numbers.iter().flat_map(|number| number.to_be_bytes()).collect::<Vec<u8>>()];
        match Header::read(&bytes.concat(), 108) {
            Ok(header) => Ok(header),
            Err(Stop::Refused(error)) => Err(error),
            Err(Stop::More) => panic!(),
        }
    }

    #[test]
    fn a_list_is_absent_or_has_its_tag() {
        let header = read([0, 0], 0).unwrap();
        assert_eq!((header.attributes.len(), header.variables[0].begin, header.len), (0, 100, 80));
        assert_eq!(read([12, 0], 0).unwrap().attributes.len(), 0);
        for attributes in [[11, 0], [0, 1], [11, 1]] {
            let kind = ErrorKind::Metadata("a list of the header has an unexpected tag");
            assert_eq!(read(attributes, 0).unwrap_err().kind(), kind, "{attributes:?}");
        }
        // Each attribute has at least 12 bytes, and 72 follow.
        let kind = ErrorKind::Metadata("a list of the header is longer than the file");
        for num in [7, u32::MAX] {
            assert_eq!(read([12, num], 0).unwrap_err().kind(), kind);
        }
        assert_ne!(read([12, 6], 0).unwrap_err().kind(), kind);
    }

    #[test]
    fn dimensions_of_variables_are_those_of_the_file() {
        let kind = ErrorKind::Metadata("a variable refers to a dimension that the file does not have");
        for dimension in [1, u32::MAX] {
            assert_eq!(read([0, 0], dimension).unwrap_err().kind(), kind);
        }
    }

    #[test]
    fn other_files_have_no_header() {
        for first in [&b"CDF\x03"[..], b"HDF\x01", b"\0\0\0\0"] {
            let Err(Stop::Refused(error)) = Header::read(first, 100) else { panic!("this is no header") };
            assert_eq!(error.kind(), ErrorKind::UnknownFormat);
        }
    }
}
