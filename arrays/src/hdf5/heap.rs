//! Heaps: fractal heaps, in which links and attributes are where there are many, and global heaps, in which what has
//! any length is.

use std::collections::HashMap;

use super::btree::Tree;
use super::bytes::{Cursor, Sizes, bytes_for, malformed};
use super::file::File;
use crate::alloc;
use crate::error::{ErrorKind, Result};

/// A fractal heap.
pub(super) struct FractalHeap<'f> {
    file: &'f File,
    id_len: usize,
    /// Whether direct blocks have checksums.
    has_checksums: bool,
    largest: u64,
    width: u64,
    first_block: u64,
    largest_block: u64,
    offset_size: usize,
    len_size: usize,
    root: Option<u64>,
    /// How many rows the root has; 0 if it is a direct block.
    rows: u64,
    huge: Option<u64>,
    /// The direct block that was read last, and where it begins among the heap's bytes.
    last: Option<(u64, Vec<u8>)>,
}

/// The most rows that a block of blocks has: each from the third on has blocks of twice the size.
const MOST_ROWS: u64 = 64;

impl<'f> FractalHeap<'f> {
    pub(super) fn read(file: &'f File, address: u64) -> Result<Self> {
        let sizes = file.sizes;
        let len = 22 + 12 * sizes.length + 3 * sizes.address;
        let bytes = file.read(address, len as u64 + 4)?;
        let mut cursor = Cursor::new(bytes.get(..len).unwrap_or_default(), sizes);
        cursor.mark(b"FRHP")?;
        cursor.version(0)?;
        let (id_len, filters, flags) = (usize::from(cursor.u16()?), cursor.u16()?, cursor.u8()?);
        if filters != 0 {
            return Err(ErrorKind::Unsupported("an HDF5 group or attributes in a compressed heap").into());
        }
        let largest = u64::from(cursor.u32()?);
        cursor.length()?;
        let huge = cursor.address()?;
        cursor.length()?;
        cursor.address()?;
        cursor.skip(8 * sizes.length)?;
        let width = u64::from(cursor.u16()?);
        let (first_block, largest_block, bits) = (cursor.length()?, cursor.length()?, cursor.u16()?);
        cursor.skip(2)?;
        let (root, rows) = (cursor.address()?, u64::from(cursor.u16()?));
        let mut all = Cursor::new(&bytes, sizes);
        all.skip(len)?;
        all.checksum()?;
        let are_powers = [width, first_block, largest_block].iter().all(|number| number.is_power_of_two());
        let fits = first_block <= largest_block && largest_block <= 1 << 32 && first_block.checked_mul(width).is_some();
        if !are_powers || !fits || bits > 64 || rows > MOST_ROWS {
            return Err(malformed("the blocks of a heap have size 0"));
        }
        let len_size = bytes_for(largest).min((largest_block.ilog2() as usize).div_ceil(8).max(1));
        Ok(FractalHeap {
            file,
            id_len,
            has_checksums: flags & 1 << 1 != 0,
            largest,
            width,
            first_block,
            largest_block,
            offset_size: usize::from(bits).div_ceil(8),
            len_size,
            root,
            rows,
            huge,
            last: None,
        })
    }

    /// The object of this number.
    pub(super) fn object(&mut self, id: &[u8]) -> Result<Vec<u8>> {
        let id = id.get(..self.id_len.min(id.len())).unwrap_or_default();
        let mut cursor = Cursor::new(id, self.file.sizes);
        let first = cursor.u8()?;
        match first >> 4 {
            0 => {
                let (offset, len) = (cursor.number(self.offset_size)?, cursor.number(self.len_size)?);
                if len > self.largest {
                    return Err(malformed("an object of a heap is longer than the maximum"));
                }
                self.managed(offset, len)
            }
            1 => self.huge(&mut cursor),
            2 => {
                // The length is one less, and has 12 bits where a byte more is there for it.
                let mut len = usize::from(first & 15) + 1;
                if self.id_len > 18 {
                    len = (usize::from(first & 15) << 8 | usize::from(cursor.u8()?)) + 1;
                }
                Ok(alloc::copied(cursor.take(len)?)?)
            }
            _ => Err(malformed("an object of a heap has an invalid kind")),
        }
    }

    fn huge(&self, cursor: &mut Cursor<'_>) -> Result<Vec<u8>> {
        let Sizes { address, length } = self.file.sizes;
        if cursor.left() >= address + length {
            let (at, len) = (cursor.address()?, cursor.length()?);
            return self.file.read(at.ok_or_else(|| malformed("an object of a heap has no address"))?, len);
        }
        let number = cursor.number(cursor.left().min(length))?;
        let huge = self.huge.ok_or_else(|| malformed("an object of a heap has no address"))?;
        let mut found = None;
        Tree::read(self.file, huge)?.each(self.file, &mut |record| {
            let mut record = Cursor::new(record, self.file.sizes);
            let (at, len) = (record.address()?, record.length()?);
            if record.length()? == number {
                found = at.map(|at| (at, len));
            }
            Ok(())
        })?;
        let (at, len) = found.ok_or_else(|| malformed("an object of a heap has no address"))?;
        self.file.read(at, len)
    }

    fn managed(&mut self, offset: u64, len: u64) -> Result<Vec<u8>> {
        let is_in = |(begin, block): &(u64, Vec<u8>)| {
            offset.checked_sub(*begin).is_some_and(|at| at.saturating_add(len) <= block.len() as u64)
        };
        if !self.last.as_ref().is_some_and(is_in) {
            self.last = Some(self.direct_block(offset)?);
        }
        let (begin, block) = self.last.as_ref().ok_or(ErrorKind::Internal)?;
        let at = usize::try_from(offset.saturating_sub(*begin)).unwrap_or(usize::MAX);
        let object = block.get(at..).and_then(|rest| rest.get(..usize::try_from(len).ok()?));
        Ok(alloc::copied(object.ok_or_else(|| malformed("an object of a heap is not in its block"))?)?)
    }

    /// The size of the blocks of a row.
    fn block_size(&self, row: u64) -> Option<u64> {
        self.first_block
            .checked_shl(u32::try_from(row.saturating_sub(1)).ok()?)
            .filter(|size| *size >= self.first_block)
    }

    /// The direct block that has this byte of the heap, and where it begins.
    fn direct_block(&self, offset: u64) -> Result<(u64, Vec<u8>)> {
        let nowhere = || malformed("no block holds an object of a heap");
        let (mut begin, mut address) = (0u64, self.root.ok_or_else(nowhere)?);
        if self.rows == 0 {
            return self.read_direct(0, address, self.first_block);
        }
        let direct_rows = u64::from(self.largest_block.ilog2() - self.first_block.ilog2()) + 2;
        let mut rows = self.rows;
        // Each block of blocks has fewer rows than the one that it is in.
        loop {
            let mut row_begin = begin;
            let mut found = None;
            for row in 0..rows {
                let size = self.block_size(row).ok_or_else(nowhere)?;
                let row_len = size.checked_mul(self.width).ok_or_else(nowhere)?;
                let behind = offset.checked_sub(row_begin).ok_or_else(nowhere)?;
                if behind < row_len {
                    found = Some((row, behind / size, size));
                    break;
                }
                row_begin = row_begin.checked_add(row_len).ok_or_else(nowhere)?;
            }
            let (row, column, size) = found.ok_or_else(nowhere)?;
            let child = self.child(address, begin, rows, row * self.width + column)?.ok_or_else(nowhere)?;
            begin = row_begin + column * size;
            if row < direct_rows {
                return self.read_direct(begin, child, size);
            }
            let below = u64::from(size.ilog2()).checked_sub(u64::from((self.first_block * self.width).ilog2()));
            let below = below.ok_or_else(nowhere)? + 1;
            if below >= rows {
                return Err(nowhere());
            }
            (address, rows) = (child, below);
        }
    }

    /// The address of a child of a block of blocks.
    fn child(&self, address: u64, begin: u64, rows: u64, number: u64) -> Result<Option<u64>> {
        let sizes = self.file.sizes;
        let before = 5 + sizes.address + self.offset_size;
        let len = before as u64 + rows * self.width * sizes.address as u64;
        let bytes = self.file.read(address, len + 4)?;
        let mut cursor = Cursor::new(&bytes, sizes);
        cursor.mark(b"FHIB")?;
        cursor.version(0)?;
        cursor.skip(sizes.address)?;
        if cursor.number(self.offset_size)? != begin {
            return Err(malformed("the offset of a heap block does not match"));
        }
        let mut all = Cursor::new(&bytes, sizes);
        all.skip(bytes.len().saturating_sub(4))?;
        all.checksum()?;
        cursor.skip(usize::try_from(number).unwrap_or(usize::MAX).saturating_mul(sizes.address))?;
        cursor.address()
    }

    fn read_direct(&self, begin: u64, address: u64, size: u64) -> Result<(u64, Vec<u8>)> {
        let mut bytes = self.file.read(address, size)?;
        let sizes = self.file.sizes;
        let mut cursor = Cursor::new(&bytes, sizes);
        cursor.mark(b"FHDB")?;
        cursor.version(0)?;
        cursor.skip(sizes.address)?;
        if cursor.number(self.offset_size)? != begin {
            return Err(malformed("the offset of a heap block does not match"));
        }
        if self.has_checksums {
            let at = cursor.position();
            let due = cursor.u32()?;
            // It is computed with zeros in its place.
            bytes.get_mut(at..at + 4).ok_or(ErrorKind::Internal)?.fill(0);
            if super::bytes::checksum(&bytes) != due {
                return Err(malformed("the checksum of a heap block does not match"));
            }
        }
        Ok((begin, bytes))
    }
}

/// Where something is in a global heap.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct HeapId {
    /// Of the collection.
    pub address: u64,
    pub number: u32,
}

/// A collection of a global heap: where the bytes of each object are in it.
pub(super) struct Collection {
    bytes: Vec<u8>,
    objects: HashMap<u32, std::ops::Range<usize>>,
}

impl Collection {
    /// How many bytes a collection has that begins like this.
    pub(super) fn len(beginning: &[u8], sizes: Sizes) -> Result<u64> {
        let mut cursor = Cursor::new(beginning, sizes);
        cursor.mark(b"GCOL")?;
        cursor.version(1)?;
        cursor.skip(3)?;
        cursor.length()
    }

    /// How many bytes tell the length.
    pub(super) fn beginning(sizes: Sizes) -> usize {
        8 + sizes.length
    }

    pub(super) fn new(bytes: Vec<u8>, sizes: Sizes) -> Result<Self> {
        let mut cursor = Cursor::new(&bytes, sizes);
        cursor.skip(Collection::beginning(sizes))?;
        cursor.pad();
        let mut objects = HashMap::new();
        while cursor.left() >= 8 + sizes.length {
            let number = cursor.u16()?;
            cursor.skip(6)?;
            let len = cursor.length()?;
            // What is free ends the collection.
            if number == 0 {
                break;
            }
            let begin = cursor.position();
            cursor.skip(usize::try_from(len).unwrap_or(usize::MAX))?;
            objects.try_reserve(1).map_err(|_| ErrorKind::OutOfMemory)?;
            objects.insert(u32::from(number), begin..cursor.position());
            cursor.pad();
        }
        Ok(Collection { bytes, objects })
    }

    pub(super) fn get(&self, number: u32) -> Result<&[u8]> {
        let range = self.objects.get(&number).cloned();
        range.and_then(|range| self.bytes.get(range)).ok_or_else(|| malformed("an object is missing in a global heap"))
    }

    /// How many bytes of memory it takes, about.
    pub(super) fn memory(&self) -> usize {
        self.bytes.len() + 64 * self.objects.len()
    }
}

/// The collection of a global heap at an address.
pub(super) fn collection(file: &File, address: u64) -> Result<Collection> {
    let beginning = file.read(address, Collection::beginning(file.sizes) as u64)?;
    let len = Collection::len(&beginning, file.sizes)?;
    Collection::new(file.read(address, len)?, file.sizes)
}
