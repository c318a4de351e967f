//! A file: its header, how many records it has, and which of its variables cannot be right.

use super::cursor::Stop;
use super::header::{DimensionHeader, Header, VariableHeader};
use super::layout::Layout;
use crate::alloc;
use crate::classic::{ClassicVariable, record_size};
use crate::dataset::{GroupDimension, Head};
use crate::error::{Error, ErrorKind, Result};
use crate::object::{ByteRange, Storage, read_more};

/// A file.
#[derive(Debug)]
pub(super) struct File {
    pub header: Header,
    /// How many bytes the file has.
    pub len: u64,
    num_records: usize,
    /// The bytes of one record of all variables.
    record_size: u64,
    /// For each variable whether its values share bytes with the header or with those of another variable.
    overlaps: Vec<bool>,
}

impl File {
    /// Reads the header of a file of a storage: as long as not all of it is there, as much again.
    pub(super) fn read(storage: &Storage, head: &Head<'_>) -> Result<File> {
        let (mut bytes, mut len, limit) = (alloc::copied(&head.bytes)?, head.len, storage.memory_limits().metadata());
        loop {
            match Header::read(&bytes, len) {
                Ok(header) => return File::of(header, len),
                Err(Stop::Refused(error)) => return Err(error),
                // What is read from it takes about as much again.
                Err(Stop::More) => limit.check(bytes.len().saturating_mul(2))?,
            }
            let known = bytes.len();
            let more = read_more(&**storage, head.name, ByteRange::At(known as u64), known.max(1), &mut bytes)?;
            len = more.ok_or(ErrorKind::NotFound("file"))?;
            if bytes.len() == known {
                return Err(ErrorKind::Truncated.into());
            }
        }
    }

    fn of(header: Header, len: u64) -> Result<File> {
        let mut sizes = Vec::new();
        for variable in &header.variables {
            let dimlens = dimlens(&header, variable)?;
            let is_of = |error: Error| error.in_object(&variable.name);
            let classic = ClassicVariable::new(&dimlens, variable.element.size()).map_err(is_of)?;
            if classic.is_record() {
                alloc::push(&mut sizes, classic.size())?;
            }
        }
        let record_size = record_size(&sizes)?;
        let mut file = File { header, len, num_records: 0, record_size, overlaps: Vec::new() };
        let extents = file.extents()?;
        let num_records = file.header.num_records.unwrap_or_else(|| complete_records(&extents, record_size, len));
        const TOO_MANY: ErrorKind = ErrorKind::VariableSize("the number of records is too large");
        file.num_records = usize::try_from(num_records).map_err(|_| TOO_MANY)?;
        file.overlaps = overlaps(extents, &file)?;
        Ok(file)
    }

    /// The number of the variable with this name.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.header.variables.iter().position(|variable| variable.name == name)
    }

    /// The name of a variable.
    pub(super) fn name(&self, i: usize) -> &str {
        self.header.variables.get(i).map_or("", |variable| &variable.name)
    }

    /// The dimensions of a variable, slowest first.
    pub(super) fn dimensions(&self, i: usize) -> impl Iterator<Item = &DimensionHeader> {
        let numbers = self.header.variables.get(i).map_or(&[][..], |variable| &variable.dimensions);
        numbers.iter().filter_map(|&number| self.header.dimensions.get(number))
    }

    /// All dimensions, used by a variable or not.
    pub(super) fn all_dimensions(self) -> Result<Vec<GroupDimension>> {
        let mut all = Vec::new();
        for dimension in self.header.dimensions {
            let is_unlimited = dimension.is_record();
            let len = if is_unlimited { self.num_records } else { dimension.len };
            alloc::push(&mut all, GroupDimension { name: dimension.name, len, is_unlimited })?;
        }
        Ok(all)
    }

    /// How a variable lies in the file.
    ///
    /// # Errors
    /// `Metadata` if its values cannot be where they should be; `VariableSize`, `OutOfMemory`.
    pub(super) fn layout(&self, i: usize) -> Result<Layout> {
        let variable = self.header.variables.get(i).ok_or(ErrorKind::Internal)?;
        if self.overlaps.get(i).is_none_or(|overlaps| *overlaps) {
            const OVERLAPS: ErrorKind =
                ErrorKind::Metadata("its values overlap those of another variable or the header");
            return Err(OVERLAPS.into());
        }
        let dimlens = dimlens(&self.header, variable)?;
        let classic = ClassicVariable::new(&dimlens, variable.element.size())?;
        Layout::new(&classic, &dimlens, self.num_records, variable.begin, self.record_size)
    }

    /// Where the values of each variable lie, or those of its first record.
    fn extents(&self) -> Result<Vec<Extent>> {
        let mut extents = Vec::new();
        for (i, variable) in self.header.variables.iter().enumerate() {
            let dimlens = dimlens(&self.header, variable)?;
            let classic = ClassicVariable::new(&dimlens, variable.element.size())?;
            let end = variable.begin.saturating_add(classic.size());
            alloc::push(&mut extents, Extent { begin: variable.begin, end, is_record: classic.is_record(), i })?;
        }
        Ok(extents)
    }
}

/// The lengths of a variable's dimensions, with 0 for the record dimension.
fn dimlens(header: &Header, variable: &VariableHeader) -> Result<Vec<usize>> {
    let len = |&number: &usize| Ok(header.dimensions.get(number).ok_or(ErrorKind::Internal)?.len);
    alloc::try_collected(variable.dimensions.iter().map(len))
}

/// The bytes that a variable or its first record takes.
#[derive(Clone, Copy)]
struct Extent {
    begin: u64,
    end: u64,
    is_record: bool,
    /// The variable's number.
    i: usize,
}

/// How many records of all variables a file of so many bytes has, the last of them perhaps without the bytes that fill
/// it up.
fn complete_records(extents: &[Extent], record_size: u64, len: u64) -> u64 {
    let records = |extent: &Extent| match len.checked_sub(extent.end) {
        Some(behind_first) => 1 + behind_first / record_size.max(1),
        None => 0,
    };
    extents.iter().filter(|extent| extent.is_record).map(records).min().unwrap_or(0)
}

/// Which variables share bytes with the header or with another variable. Fixed variables and records may come in any
/// order.
fn overlaps(mut extents: Vec<Extent>, file: &File) -> Result<Vec<bool>> {
    let mut overlaps = alloc::filled(extents.len(), false)?;
    let mut is_wrong = |i: usize| overlaps.get_mut(i).into_iter().for_each(|wrong| *wrong = true);
    if file.num_records == 0 {
        extents.retain(|extent| !extent.is_record);
    }
    extents.sort_unstable_by_key(|extent| extent.begin);
    let mut furthest = Extent { begin: 0, end: file.header.len, is_record: false, i: usize::MAX };
    for extent in &extents {
        if extent.begin < furthest.end {
            is_wrong(extent.i);
            is_wrong(furthest.i);
        }
        if extent.end > furthest.end {
            furthest = *extent;
        }
    }
    // The records lie behind each other if all of the first one lies within the size of one, and nothing else lies
    // between its beginning and the end of the last.
    let records = || extents.iter().filter(|extent| extent.is_record);
    let Some(first) = records().next().map(|extent| extent.begin) else { return Ok(overlaps) };
    let first_end = records().map(|extent| extent.end).max().unwrap_or(first);
    let behind = (file.num_records as u64 - 1).saturating_mul(file.record_size);
    let end = first_end.saturating_add(behind);
    let mut are_wrong = file.num_records > 1 && first_end - first > file.record_size;
    for extent in extents.iter().filter(|extent| !extent.is_record && extent.begin < end && extent.end > first) {
        is_wrong(extent.i);
        are_wrong = true;
    }
    if are_wrong {
        records().for_each(|extent| is_wrong(extent.i));
    }
    Ok(overlaps)
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::buffer::Buffer;
    use crate::object::{Entry, Memory, ObjectStore};

    /// A storage whose file has fewer bytes than it says.
    struct Short(&'static [u8]);

    impl ObjectStore for Short {
        fn read(&self, _: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<u64>> {
            begin.copy(self.0, buffer);
            Ok(Some(1000))
        }
        fn list(&self, _: &str, _: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_file_that_ends_while_its_header_is_read_is_truncated() {
        let kind = |storage: Result<Storage>| {
            let storage = storage.unwrap();
            Head::read(&*storage, "f").and_then(|head| File::read(&storage, &head)).err().unwrap().kind()
        };
        assert_eq!(kind(Storage::new(Short(b"CDF\x01\0\0"))), ErrorKind::Truncated);
        assert_eq!(kind(Storage::new(Short(b""))), ErrorKind::Truncated);
        assert_eq!(kind(Storage::new(Memory::new())), ErrorKind::NotFound("file"));
    }
}
