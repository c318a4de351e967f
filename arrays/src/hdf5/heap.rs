//! Heaps: fractal heaps, in which links and attributes are where there are many, and global heaps, in which what has
//! any length is.

use std::collections::HashMap;

use super::btree::Tree;
use super::bytes::{Cursor, Sizes, bytes_for, checksum, little_endian, malformed, verify};
use super::dataset::{self, Filter};
use super::file::{File, STEP};
use super::open::codec_of;
use crate::alloc::{self, Scratch};
use crate::buffer::Buffer;
use crate::codec::Chain;
use crate::element::ElementType;
use crate::error::{Error, ErrorKind, Result};
use crate::shared::Shared;

/// A fractal heap. It has to be asked with the file that it was read from.
pub(super) struct FractalHeap {
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
    /// What direct blocks and huge objects go through, and how the root is stored if it is a direct block.
    filters: Vec<Filter>,
    root_is_stored: Option<Filtered>,
    /// Direct blocks that were read, each with where it begins among the heap's bytes, in order.
    blocks: Vec<(u64, Vec<u8>)>,
    /// How many bytes they have.
    kept: usize,
}

/// How many bytes something has that has been through filters, and which of them it has not been through.
#[derive(Debug, Clone, Copy)]
struct Filtered {
    len: u64,
    skipped: u32,
}

/// When blocks, or the collections of a global heap, have more bytes than this they are forgotten.
const KEPT: usize = 8 << 20;

/// The most rows that a block of blocks has: each from the third on has blocks of twice the size.
const MOST_ROWS: u64 = 64;

impl FractalHeap {
    pub(super) fn read(file: &File, address: u64) -> Result<Self> {
        let sizes = file.sizes;
        let mut len = 22 + 12 * sizes.length + 3 * sizes.address;
        let filters_len = Cursor::new(file.read(address, 9)?.get(7..).unwrap_or_default(), sizes).u16()?;
        if filters_len > 0 {
            len += sizes.length + 4 + usize::from(filters_len);
        }
        let bytes = file.read(address, len as u64 + 4)?;
        let mut cursor = Cursor::new(bytes.get(..len).unwrap_or_default(), sizes);
        cursor.mark(b"FRHP")?;
        cursor.version(0)?;
        let (id_len, _, flags) = (usize::from(cursor.u16()?), cursor.u16()?, cursor.u8()?);
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
        let (mut filters, mut root_is_stored) = (Vec::new(), None);
        if filters_len > 0 {
            root_is_stored = Some(Filtered { len: cursor.length()?, skipped: cursor.u32()? });
            filters = dataset::filters(&mut cursor)?;
        }
        verify(&bytes, sizes)?;
        let are_powers = [width, first_block, largest_block].iter().all(|number| number.is_power_of_two());
        let fits = first_block <= largest_block && largest_block <= 1 << 32 && first_block.checked_mul(width).is_some();
        if !are_powers || !fits || bits > 64 || rows > MOST_ROWS {
            return Err(malformed("the blocks of a heap have size 0"));
        }
        let len_size = bytes_for(largest).min((largest_block.ilog2() as usize).div_ceil(8).max(1));
        Ok(FractalHeap {
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
            filters,
            root_is_stored,
            blocks: Vec::new(),
            kept: 0,
        })
    }

    /// Sorts numbers of objects by where these begin in the heap, so that each block is read once.
    pub(super) fn sort(&self, ids: &mut [Vec<u8>]) {
        let offset = |id: &[u8]| match id.split_first() {
            Some((first, rest)) if first >> 4 == 0 => little_endian(rest.get(..self.offset_size).unwrap_or_default()),
            _ => 0,
        };
        ids.sort_unstable_by(|one, other| (offset(one), one).cmp(&(offset(other), other)));
    }

    /// The object of this number.
    pub(super) fn object(&mut self, file: &File, id: &[u8]) -> Result<Vec<u8>> {
        let id = id.get(..self.id_len.min(id.len())).unwrap_or_default();
        let mut cursor = Cursor::new(id, file.sizes);
        let first = cursor.u8()?;
        match first >> 4 {
            0 => {
                let (offset, len) = (cursor.number(self.offset_size)?, cursor.number(self.len_size)?);
                if len > self.largest {
                    return Err(malformed("an object of a heap is longer than the maximum"));
                }
                self.managed(file, offset, len)
            }
            1 => self.huge(file, &mut cursor),
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

    fn huge(&self, file: &File, cursor: &mut Cursor<'_>) -> Result<Vec<u8>> {
        let Sizes { address, length } = file.sizes;
        let nowhere = || malformed("an object of a heap has no address");
        // Where an object is, what it is stored as, and how many bytes it has then.
        let place = |cursor: &mut Cursor<'_>| {
            let (at, len) = (cursor.address()?, cursor.length()?);
            Ok::<_, Error>(match self.filters.is_empty() {
                true => (at, None, len),
                false => (at, Some(Filtered { len, skipped: cursor.u32()? }), cursor.length()?),
            })
        };
        let mut found = None;
        if cursor.left() >= address + length + if self.filters.is_empty() { 0 } else { 4 + length } {
            found = Some(place(cursor)?);
        } else {
            let number = cursor.number(cursor.left().min(length))?;
            Tree::read(file, self.huge.ok_or_else(nowhere)?)?.each(file, &mut |record| {
                let mut record = Cursor::new(record, file.sizes);
                let place = place(&mut record)?;
                if record.length()? == number {
                    found = Some(place);
                }
                Ok(())
            })?;
        }
        let Some((Some(at), stored, len)) = found else { return Err(nowhere()) };
        self.read_stored(file, at, len, stored)
    }

    /// So many bytes from an address on, which may have been through filters.
    fn read_stored(&self, file: &File, address: u64, len: u64, stored: Option<Filtered>) -> Result<Vec<u8>> {
        let Some(Filtered { len: stored_len, skipped }) = stored else { return file.read(address, len) };
        let stored = file.read(address, stored_len)?;
        let len = usize::try_from(len).map_err(|_| ErrorKind::OutOfMemory)?;
        file.limit.check(len.saturating_mul(2))?;
        file.charge(len as u64)?;
        let mut codecs = Chain::default();
        for (i, filter) in self.filters.iter().enumerate() {
            if skipped.checked_shr(i as u32).unwrap_or(0) & 1 == 0 {
                codecs.reserve()?;
                codecs.push(codec_of(file, filter, (ElementType::UByte, 1))?);
            }
        }
        if codecs.is_empty() {
            return if stored.len() == len { Ok(stored) } else { Err(malformed("a block of a heap is too short")) };
        }
        let (mut whole, mut one, mut other) = (Scratch::EMPTY, Scratch::EMPTY, Scratch::EMPTY);
        let mut buffer = Buffer::new(whole.room(len)?);
        let as_is = codecs.decode(&stored, 0..len, &mut buffer, [&mut one, &mut other], file.limit)?;
        Ok(alloc::copied(as_is.unwrap_or(buffer.filled()))?)
    }

    fn managed(&mut self, file: &File, offset: u64, len: u64) -> Result<Vec<u8>> {
        let is_in = |(begin, block): &(u64, Vec<u8>)| {
            offset.checked_sub(*begin).is_some_and(|at| at.saturating_add(len) <= block.len() as u64)
        };
        let before = self.blocks.partition_point(|(begin, _)| *begin <= offset);
        let number = match before.checked_sub(1).filter(|number| self.blocks.get(*number).is_some_and(is_in)) {
            Some(number) => number,
            None => {
                let block = self.direct_block(file, offset)?;
                if self.kept > KEPT {
                    self.blocks.clear();
                    self.kept = 0;
                }
                self.kept = self.kept.saturating_add(block.1.len());
                let number = self.blocks.partition_point(|(begin, _)| *begin < block.0);
                alloc::insert(&mut self.blocks, number, block)?;
                number
            }
        };
        let (begin, block) = self.blocks.get(number).ok_or(ErrorKind::Internal)?;
        let at = usize::try_from(offset.saturating_sub(*begin)).unwrap_or(usize::MAX);
        let object = block.get(at..).and_then(|rest| rest.get(..usize::try_from(len).ok()?));
        let object = object.ok_or_else(|| malformed("an object of a heap is not in its block"))?;
        file.charge(len)?;
        Ok(alloc::copied(object)?)
    }

    /// The size of the blocks of a row.
    fn block_size(&self, row: u64) -> Option<u64> {
        self.first_block
            .checked_shl(u32::try_from(row.saturating_sub(1)).ok()?)
            .filter(|size| *size >= self.first_block)
    }

    /// The direct block that has this byte of the heap, and where it begins.
    fn direct_block(&self, file: &File, offset: u64) -> Result<(u64, Vec<u8>)> {
        let nowhere = || malformed("no block holds an object of a heap");
        let (mut begin, mut address) = (0u64, self.root.ok_or_else(nowhere)?);
        if self.rows == 0 {
            return self.read_direct(file, 0, (address, self.first_block, self.root_is_stored));
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
            let number = row * self.width + column;
            let (child, stored) = self.child(file, (address, begin), (rows, direct_rows), number)?;
            let child = child.ok_or_else(nowhere)?;
            begin = row_begin + column * size;
            if row < direct_rows {
                return self.read_direct(file, begin, (child, size, stored));
            }
            let below = u64::from(size.ilog2()).checked_sub(u64::from((self.first_block * self.width).ilog2()));
            let below = below.ok_or_else(nowhere)? + 1;
            if below >= rows {
                return Err(nowhere());
            }
            (address, rows) = (child, below);
        }
    }

    /// What a block has behind its beginning, which tells where it begins in the heap.
    fn block<'b>(&self, mark: &[u8; 4], bytes: &'b [u8], begin: u64, sizes: Sizes) -> Result<Cursor<'b>> {
        let mut cursor = Cursor::new(bytes, sizes);
        cursor.mark(mark)?;
        cursor.version(0)?;
        cursor.skip(sizes.address)?;
        match cursor.number(self.offset_size)? == begin {
            true => Ok(cursor),
            false => Err(malformed("the offset of a heap block does not match")),
        }
    }

    /// The address of a child of a block of blocks, and how it is stored if it has been through filters. Of the rows
    /// the first ones have direct blocks.
    fn child(
        &self,
        file: &File,
        (address, begin): (u64, u64),
        (rows, direct_rows): (u64, u64),
        number: u64,
    ) -> Result<(Option<u64>, Option<Filtered>)> {
        let sizes = file.sizes;
        let before = 5 + sizes.address + self.offset_size;
        // What is said of a direct block and of one of blocks.
        let of_filters = if self.filters.is_empty() { 0 } else { sizes.length + 4 };
        let num_direct = rows.min(direct_rows) * self.width;
        let position = |number: u64| number * sizes.address as u64 + number.min(num_direct) * of_filters as u64;
        let len = before as u64 + position(rows * self.width);
        let bytes = file.read(address, len + 4)?;
        let mut cursor = self.block(b"FHIB", &bytes, begin, sizes)?;
        verify(&bytes, sizes)?;
        cursor.skip(usize::try_from(position(number)).unwrap_or(usize::MAX))?;
        let child = cursor.address()?;
        let is_filtered = number < num_direct && of_filters > 0;
        let stored = match is_filtered {
            true => Some(Filtered { len: cursor.length()?, skipped: cursor.u32()? }),
            false => None,
        };
        Ok((child, stored))
    }

    /// A direct block that begins there in the heap: where it is, how long it is, and how it is stored.
    fn read_direct(
        &self,
        file: &File,
        begin: u64,
        (address, size, stored): (u64, u64, Option<Filtered>),
    ) -> Result<(u64, Vec<u8>)> {
        let mut bytes = self.read_stored(file, address, size, stored)?;
        let mut cursor = self.block(b"FHDB", &bytes, begin, file.sizes)?;
        if self.has_checksums {
            let at = cursor.position();
            let due = cursor.u32()?;
            // It is computed with zeros in its place.
            bytes.get_mut(at..at + 4).ok_or(ErrorKind::Internal)?.fill(0);
            if checksum(&bytes) != due {
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
        // What stands before an object is filled up like the object.
        while cursor.left() >= Collection::beginning(sizes).next_multiple_of(8) {
            let number = cursor.u16()?;
            cursor.skip(6)?;
            let len = cursor.length()?;
            cursor.pad();
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

/// The collections that were used last, by their addresses.
#[derive(Default)]
pub(super) struct Collections {
    kept: HashMap<u64, Shared<Collection>>,
    bytes: usize,
}

impl Collections {
    pub(super) fn get(&self, address: u64) -> Option<Shared<Collection>> {
        self.kept.get(&address).cloned()
    }

    pub(super) fn keep(&mut self, address: u64, collection: &Shared<Collection>) -> Result<()> {
        if self.bytes > KEPT {
            *self = Collections::default();
        }
        self.kept.try_reserve(1).map_err(|_| ErrorKind::OutOfMemory)?;
        self.bytes = self.bytes.saturating_add(collection.memory());
        self.kept.insert(address, collection.clone());
        Ok(())
    }
}

/// The collection of a global heap at an address. Attributes lead to the same ones again and again.
pub(super) fn collection(file: &File, address: u64) -> Result<Shared<Collection>> {
    if let Some(found) = file.collections.borrow().get(address) {
        file.charge(STEP)?;
        return Ok(found);
    }
    let beginning = file.read(address, Collection::beginning(file.sizes) as u64)?;
    let len = Collection::len(&beginning, file.sizes)?;
    let found = Shared::new(Collection::new(file.read(address, len)?, file.sizes)?)?;
    file.collections.borrow_mut().keep(address, &found)?;
    Ok(found)
}
