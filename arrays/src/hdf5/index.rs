//! The indices of chunks: which node is looked at next to find a chunk, and what it says. Nothing is read here.

use std::cmp::Ordering;

use super::btree::{Child, Tree};
use super::bytes::{Cursor, Sizes, malformed, verify};
use super::dataset::{ChunkedLayout, Dataspace, IndexMessage};
use super::file::File;
use crate::alloc;
use crate::error::{ErrorKind, Result};
use crate::limits::Limit;

/// A chunk that is stored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Record {
    /// Where it begins in the file, and how many bytes it has.
    pub begin: u64,
    pub len: u64,
    /// The filters that it has not been through.
    pub skipped: u32,
}

/// What is known of a chunk.
#[derive(Debug, PartialEq)]
pub(super) enum Found {
    /// Where it is, or that it is not stored.
    Chunk(Option<Record>),
    /// This node says more.
    Node(Wanted),
}

/// A node that has to be read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Wanted {
    /// Where it begins in the file.
    pub begin: u64,
    pub len: usize,
    /// What is known of it by what leads to it.
    pub memory: [u64; 2],
}

/// The index of an array's chunks.
pub(super) struct Index {
    sizes: Sizes,
    base: u64,
    file_len: u64,
    /// The most memory for a node.
    limit: Limit,
    chunk_shape: Vec<usize>,
    /// The bytes of a chunk.
    chunk_bytes: u64,
    /// How many chunks there may be along each dimension.
    counts: Vec<u64>,
    kind: Kind,
}

enum Kind {
    Nothing,
    Single(Record),
    Implicit(u64),
    Tree1(u64),
    FixedArray(FixedArray),
    ExtensibleArray(ExtensibleArray),
    Tree2(Tree),
}

/// Entries of an array: how many bytes each has, and whether it has a length and the filters that were left out.
#[derive(Clone, Copy)]
struct Entries {
    is_filtered: bool,
    size: usize,
}

struct FixedArray {
    entries: Entries,
    count: u64,
    /// The entries of a page. An array of no more has none.
    page: u64,
    /// The data block.
    data: Option<u64>,
}

struct ExtensibleArray {
    entries: Entries,
    /// How many numbers there are for entries: a power of two.
    bits: u32,
    /// How many entries the index block has.
    in_index: u64,
    /// How many the first data block has.
    first: u64,
    /// How many addresses of data blocks the first super block has.
    pointers: u64,
    page: u64,
    /// The dimension that has no limit.
    unlimited: usize,
    index: Option<u64>,
}

/// What a node of an array is.
mod stage {
    pub const DATA: u64 = 0;
    pub const PAGES: u64 = 1;
    pub const PAGE: u64 = 2;
    pub const INDEX: u64 = 3;
    pub const SUPER: u64 = 4;
}

/// The children that a node of a version 1 B-tree is first thought to have at most.
const CHILDREN: usize = 64;

/// A node with so many bits of entries would have more than a file.
const MOST_BITS: u8 = 32;

impl Index {
    pub(super) fn read(file: &File, layout: &ChunkedLayout, space: &Dataspace, element_size: usize) -> Result<Index> {
        let lens = layout.shape.iter().zip(&space.most);
        let counts = alloc::collected(lens.map(|(&len, most)| most.unwrap_or(0).div_ceil(len as u64)))?;
        let bytes = layout.shape.iter().try_fold(element_size as u64, |bytes, len| bytes.checked_mul(*len as u64));
        let mut index = Index {
            sizes: file.sizes,
            base: file.base,
            file_len: file.len,
            limit: file.limit,
            chunk_shape: alloc::copied(&layout.shape)?,
            chunk_bytes: bytes.ok_or_else(|| malformed("a chunk is larger than a file can be"))?,
            counts,
            kind: Kind::Nothing,
        };
        let Some(address) = layout.address else { return Ok(index) };
        let position = || Ok::<_, crate::error::Error>(address.checked_add(file.base).ok_or(ErrorKind::Truncated)?);
        index.kind = match layout.index {
            IndexMessage::Tree1 => Kind::Tree1(position()?),
            IndexMessage::Single(filtered) => {
                let (len, skipped) = filtered.unwrap_or((index.chunk_bytes, 0));
                Kind::Single(Record { begin: position()?, len, skipped })
            }
            IndexMessage::Implicit => Kind::Implicit(position()?),
            IndexMessage::FixedArray => Kind::FixedArray(FixedArray::read(file, address)?),
            IndexMessage::ExtensibleArray => Kind::ExtensibleArray(ExtensibleArray::read(file, address, space)?),
            IndexMessage::Tree2 => Kind::Tree2(index.tree(file, address)?),
        };
        Ok(index)
    }

    fn tree(&self, file: &File, address: u64) -> Result<Tree> {
        let tree = Tree::read(file, address)?;
        let coordinates = 8 * self.chunk_shape.len();
        let is_right = match tree.kind {
            10 => tree.record_size == self.sizes.address + coordinates,
            11 => {
                (self.sizes.address + 5..=self.sizes.address + 12).contains(&tree.record_size.wrapping_sub(coordinates))
            }
            _ => false,
        };
        if is_right { Ok(tree) } else { Err(malformed("the record type of a chunk B-tree is wrong")) }
    }

    /// What is known of a chunk before anything is read.
    pub(super) fn first(&self, chunk: &[isize]) -> Result<Found> {
        match &self.kind {
            Kind::Nothing => Ok(Found::Chunk(None)),
            Kind::Single(record) => self.stored(Some(*record)),
            Kind::Implicit(begin) => {
                let behind = self.number(chunk, None)?.checked_mul(self.chunk_bytes);
                let begin = behind.and_then(|behind| behind.checked_add(*begin)).ok_or(ErrorKind::Truncated)?;
                self.stored(Some(Record { begin, len: self.chunk_bytes, skipped: 0 }))
            }
            Kind::Tree1(root) => self.node1(*root, CHILDREN, [0, 0]),
            Kind::FixedArray(array) => {
                let number = self.number(chunk, None)?;
                if number >= array.count {
                    return Ok(Found::Chunk(None));
                }
                let (len, stage) = match array.pages() {
                    0 => (array.count * array.entries.size as u64, stage::DATA),
                    pages => (pages.div_ceil(8), stage::PAGES),
                };
                self.node(array.data, self.data_prefix() + len + 4, stage)
            }
            Kind::ExtensibleArray(array) => {
                let (blocks, supers) = array.in_index_block();
                let addresses = (blocks + supers) * self.sizes.address as u64;
                let len = self.data_prefix() + array.in_index * array.entries.size as u64 + addresses + 4;
                self.node(array.index, len, stage::INDEX)
            }
            Kind::Tree2(tree) => match tree.root.filter(|root| root.count > 0) {
                Some(root) => self.node2(tree, root),
                None => Ok(Found::Chunk(None)),
            },
        }
    }

    /// Refuses a node whose bytes are others than were written.
    pub(super) fn verify(&self, bytes: &[u8]) -> Result<()> {
        if matches!(self.kind, Kind::Tree1(_)) {
            return Ok(());
        }
        verify(bytes, self.sizes)
    }

    /// What is known of a chunk by a node that was wanted for it, and that has been verified.
    pub(super) fn next(&self, chunk: &[isize], wanted: &Wanted, bytes: &[u8]) -> Result<Found> {
        match &self.kind {
            Kind::Tree1(_) => self.next1(chunk, wanted, bytes),
            Kind::Tree2(tree) => self.next2(tree, chunk, wanted, bytes),
            Kind::FixedArray(array) => self.next_fixed(array, self.number(chunk, None)?, wanted, bytes),
            Kind::ExtensibleArray(array) => {
                self.next_extensible(array, self.number(chunk, Some(array.unlimited))?, wanted, bytes)
            }
            Kind::Nothing | Kind::Single(_) | Kind::Implicit(_) => Err(ErrorKind::Internal.into()),
        }
    }

    /// A chunk that has to be in the file.
    fn stored(&self, record: Option<Record>) -> Result<Found> {
        match record {
            Some(Record { begin, len, .. }) if begin.checked_add(len).is_none_or(|end| end > self.file_len) => {
                Err(ErrorKind::Truncated.into())
            }
            found => Ok(Found::Chunk(found)),
        }
    }

    /// A node at an address, which has to be in the file; if there is none, neither is the chunk.
    fn node(&self, address: Option<u64>, len: u64, stage: u64) -> Result<Found> {
        let Some(address) = address else { return Ok(Found::Chunk(None)) };
        let begin = address.checked_add(self.base).ok_or(ErrorKind::Truncated)?;
        self.node_at(begin, len, [stage, 0])
    }

    fn node_at(&self, begin: u64, len: u64, memory: [u64; 2]) -> Result<Found> {
        let is_inside = begin.checked_add(len).is_some_and(|end| end <= self.file_len);
        match usize::try_from(len) {
            Ok(len) if is_inside => {
                // It is read and then kept.
                self.limit.check(len.saturating_mul(2))?;
                Ok(Found::Node(Wanted { begin, len, memory }))
            }
            _ => Err(ErrorKind::Truncated.into()),
        }
    }

    /// The number of a chunk among those that there may be, row-major. A dimension without a limit comes first.
    fn number(&self, chunk: &[isize], unlimited: Option<usize>) -> Result<u64> {
        let first = unlimited.and_then(|d| Some((*chunk.get(d)?, 0)));
        let others = chunk.iter().zip(&self.counts).enumerate().filter(|(d, _)| Some(*d) != unlimited);
        let mut number = 0u64;
        for (index, count) in first.into_iter().chain(others.map(|(_, (index, count))| (*index, *count))) {
            let index = u64::try_from(index).map_err(|_| ErrorKind::Internal)?;
            let before = number.checked_mul(count).and_then(|before| before.checked_add(index));
            number = before.ok_or_else(|| malformed("the number of chunks is too large"))?;
        }
        Ok(number)
    }

    // --- Version 1 B-trees.

    fn key_size(&self) -> usize {
        8 + 8 * (self.chunk_shape.len() + 1)
    }

    /// A node that has so many children at most, as far as the file goes.
    fn node1(&self, begin: u64, children: usize, memory: [u64; 2]) -> Result<Found> {
        let len = 8 + 2 * self.sizes.address + children * (self.key_size() + self.sizes.address) + self.key_size();
        let left = self.file_len.checked_sub(begin).ok_or(ErrorKind::Truncated)?;
        self.node_at(begin, left.min(len as u64), memory)
    }

    fn next1(&self, chunk: &[isize], wanted: &Wanted, bytes: &[u8]) -> Result<Found> {
        let [due, is_whole] = wanted.memory;
        let mut cursor = Cursor::new(bytes, self.sizes);
        cursor.mark(b"TREE")?;
        let (kind, level, count) = (cursor.u8()?, u64::from(cursor.u8()?), usize::from(cursor.u16()?));
        // The levels go down to 0, so that no tree leads back to itself.
        if kind != 1 || due != 0 && due != level + 1 {
            return Err(malformed("a B-tree node belongs to another tree"));
        }
        cursor.skip(2 * self.sizes.address)?;
        let (key, entry) = (self.key_size(), self.key_size() + self.sizes.address);
        if cursor.left() < count * entry {
            if is_whole != 0 {
                return Err(ErrorKind::Truncated.into());
            }
            return self.node1(wanted.begin, count, [due, 1]);
        }
        let entries = cursor.take(count * entry)?;
        let compare = |entry: &[u8]| {
            let mut cursor = Cursor::new(entry, self.sizes);
            cursor.skip(8)?;
            for (&index, &len) in chunk.iter().zip(&self.chunk_shape) {
                let due = u64::try_from(index).ok().and_then(|index| index.checked_mul(len as u64));
                match cursor.number(8)?.cmp(&due.ok_or(ErrorKind::Internal)?) {
                    Ordering::Equal => {}
                    other => return Ok(other),
                }
            }
            Ok::<_, crate::error::Error>(Ordering::Equal)
        };
        // The last entry that does not lie behind the chunk.
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = low + (high - low) / 2;
            match compare(entries.get(middle * entry..).unwrap_or_default())? {
                Ordering::Greater => high = middle,
                _ => low = middle + 1,
            }
        }
        let Some(last) = low.checked_sub(1) else { return Ok(Found::Chunk(None)) };
        let found = entries.get(last * entry..).unwrap_or_default();
        let mut cursor = Cursor::new(found, self.sizes);
        let (len, skipped) = (u64::from(cursor.u32()?), cursor.u32()?);
        cursor.skip(key - 8)?;
        let address = cursor.address()?.ok_or_else(|| malformed("a B-tree node has no address"))?;
        let begin = address.checked_add(self.base).ok_or(ErrorKind::Truncated)?;
        if level > 0 {
            return self.node1(begin, CHILDREN, [level, 0]);
        }
        let is_it = compare(found)? == Ordering::Equal;
        self.stored(is_it.then_some(Record { begin, len, skipped }))
    }

    // --- Version 2 B-trees.

    fn node2(&self, tree: &Tree, child: Child) -> Result<Found> {
        let begin = child.address.checked_add(self.base).ok_or(ErrorKind::Truncated)?;
        self.node_at(begin, tree.len(child)? as u64, [u64::from(child.level), child.count as u64])
    }

    fn next2(&self, tree: &Tree, chunk: &[isize], wanted: &Wanted, bytes: &[u8]) -> Result<Found> {
        let [level, count] = wanted.memory;
        let parent = Child { address: 0, count: count as usize, level: level as u16 };
        let node = tree.node(parent, bytes)?;
        let before = tree.record_size - 8 * self.chunk_shape.len();
        let compare = |record: &[u8]| {
            let mut cursor = Cursor::new(record.get(before..).unwrap_or_default(), self.sizes);
            for &index in chunk {
                match cursor.number(8)?.cmp(&u64::try_from(index).map_err(|_| ErrorKind::Internal)?) {
                    Ordering::Equal => {}
                    other => return Ok(other),
                }
            }
            Ok::<_, crate::error::Error>(Ordering::Equal)
        };
        let (mut low, mut high) = (0, parent.count);
        while low < high {
            let middle = low + (high - low) / 2;
            let record = tree.record(&node, middle)?;
            match compare(record)? {
                Ordering::Greater => high = middle,
                Ordering::Less => low = middle + 1,
                Ordering::Equal => {
                    let entries = Entries { is_filtered: tree.kind == 11, size: before };
                    return self.entry(entries, 0, record);
                }
            }
        }
        match level {
            0 => Ok(Found::Chunk(None)),
            _ => self.node2(tree, tree.child(parent, &node, low)?),
        }
    }

    // --- Arrays.

    /// Mark, version, kind of entries, and where the header is.
    fn data_prefix(&self) -> u64 {
        6 + self.sizes.address as u64
    }

    /// The entry of this number in some bytes.
    fn entry(&self, entries: Entries, number: u64, bytes: &[u8]) -> Result<Found> {
        let at = usize::try_from(number).unwrap_or(usize::MAX).saturating_mul(entries.size);
        let mut cursor = Cursor::new(bytes, self.sizes);
        cursor.skip(at)?;
        let Some(address) = cursor.address()? else { return Ok(Found::Chunk(None)) };
        let (mut len, mut skipped) = (self.chunk_bytes, 0);
        if entries.is_filtered {
            len = cursor.number(entries.size.saturating_sub(self.sizes.address + 4).min(8))?;
            skipped = cursor.u32()?;
        }
        let begin = address.checked_add(self.base).ok_or(ErrorKind::Truncated)?;
        self.stored(Some(Record { begin, len, skipped }))
    }

    fn next_fixed(&self, array: &FixedArray, number: u64, wanted: &Wanted, bytes: &[u8]) -> Result<Found> {
        let mut cursor = Cursor::new(bytes, self.sizes);
        if wanted.memory[0] == stage::PAGE {
            return self.entry(array.entries, number % array.page, bytes);
        }
        cursor.mark(b"FADB")?;
        cursor.version(0)?;
        cursor.skip(1 + self.sizes.address)?;
        let rest = cursor.take(cursor.left())?;
        if wanted.memory[0] == stage::DATA {
            return self.entry(array.entries, number, rest);
        }
        let page = number / array.page;
        if !bit(rest, page) {
            return Ok(Found::Chunk(None));
        }
        let entries = array.page.min(array.count - page * array.page);
        let size = array.entries.size as u64;
        let begin = wanted.begin + bytes.len() as u64 + page * (array.page * size + 4);
        self.node_at(begin, entries * size + 4, [stage::PAGE, 0])
    }

    fn next_extensible(&self, array: &ExtensibleArray, number: u64, wanted: &Wanted, bytes: &[u8]) -> Result<Found> {
        let size = array.entries.size as u64;
        let stage = wanted.memory[0];
        if stage == stage::INDEX && number < array.in_index {
            let mut cursor = Cursor::new(bytes, self.sizes);
            cursor.mark(b"EAIB")?;
            cursor.skip(2 + self.sizes.address)?;
            return self.entry(array.entries, number, cursor.take(cursor.left())?);
        }
        let Some(place) = array.place(number) else { return Ok(Found::Chunk(None)) };
        let mut cursor = Cursor::new(bytes, self.sizes);
        let data_prefix = self.data_prefix() + array.offset_size();
        let is_paged = place.entries > array.page;
        match stage {
            stage::PAGE => self.entry(array.entries, place.entry % array.page, bytes),
            stage::DATA => {
                cursor.mark(b"EADB")?;
                cursor.skip(2 + self.sizes.address + array.offset_size() as usize)?;
                self.entry(array.entries, place.entry, cursor.take(cursor.left())?)
            }
            stage::INDEX => {
                cursor.mark(b"EAIB")?;
                cursor.skip(2 + self.sizes.address)?;
                let (blocks, _) = array.in_index_block();
                let before = array.in_index * size;
                let at = match place.super_block {
                    None => before + place.block * self.sizes.address as u64,
                    Some(i) => before + (blocks + i) * self.sizes.address as u64,
                };
                cursor.skip(usize::try_from(at).unwrap_or(usize::MAX))?;
                let address = cursor.address()?;
                match place.super_block {
                    None if is_paged => Err(malformed("a data block of the index has pages")),
                    None => self.node(address, data_prefix + place.entries * size + 4, stage::DATA),
                    Some(_) => {
                        let len = data_prefix + place.bitmap(array) + place.blocks * self.sizes.address as u64 + 4;
                        self.node(address, len, stage::SUPER)
                    }
                }
            }
            _ => {
                cursor.mark(b"EASB")?;
                cursor.skip(2 + self.sizes.address + array.offset_size() as usize)?;
                let pages = cursor.take(usize::try_from(place.bitmap(array)).unwrap_or(usize::MAX))?;
                let before = usize::try_from(place.block).unwrap_or(usize::MAX).saturating_mul(self.sizes.address);
                cursor.skip(before)?;
                let address = cursor.address()?;
                if !is_paged {
                    return self.node(address, data_prefix + place.entries * size + 4, stage::DATA);
                }
                let page = place.entry / array.page;
                if !bit(pages, place.block * (place.entries / array.page) + page) {
                    return Ok(Found::Chunk(None));
                }
                let behind = data_prefix + 4 + page * (array.page * size + 4);
                let address = address.map(|address| address.saturating_add(behind));
                self.node(address, array.page * size + 4, stage::PAGE)
            }
        }
    }
}

/// A bit of a list of bits, of which the first is a byte's highest.
fn bit(bits: &[u8], number: u64) -> bool {
    let byte = usize::try_from(number / 8).ok().and_then(|at| bits.get(at));
    byte.is_some_and(|byte| byte & 0x80 >> (number % 8) != 0)
}

/// The kind of entries that an array's header names, and how many bytes each has.
fn entries(cursor: &mut Cursor<'_>, sizes: Sizes) -> Result<Entries> {
    let (client, size) = (cursor.u8()?, usize::from(cursor.u8()?));
    match client {
        0 if size == sizes.address => Ok(Entries { is_filtered: false, size }),
        1 if (sizes.address + 5..=sizes.address + 12).contains(&size) => Ok(Entries { is_filtered: true, size }),
        _ => Err(malformed("the entry type of a chunk index is wrong")),
    }
}

impl FixedArray {
    fn read(file: &File, address: u64) -> Result<Self> {
        let bytes = file.read(address, (12 + file.sizes.length + file.sizes.address) as u64)?;
        let mut cursor = Cursor::new(&bytes, file.sizes);
        cursor.mark(b"FAHD")?;
        cursor.version(0)?;
        let entries = entries(&mut cursor, file.sizes)?;
        let bits = cursor.u8()?;
        let (count, data) = (cursor.length()?, cursor.address()?);
        cursor.checksum()?;
        if bits > MOST_BITS || count > file.len {
            return Err(malformed("a chunk index has more entries than a file can hold"));
        }
        Ok(FixedArray { entries, count, page: 1 << bits, data })
    }

    /// How many pages it has; 0 for one without.
    fn pages(&self) -> u64 {
        if self.count > self.page { self.count.div_ceil(self.page) } else { 0 }
    }
}

/// Where an entry of an extensible array is, which is not in its index block.
struct InArray {
    /// The super block that its data block is found by, unless that is the index block.
    super_block: Option<u64>,
    /// How many data blocks it has, and the number of this one in it, or in the index block.
    blocks: u64,
    block: u64,
    /// How many entries the data block has, and the number of this one.
    entries: u64,
    entry: u64,
}

impl InArray {
    /// How many bytes say which pages of a super block's data blocks have been written.
    fn bitmap(&self, array: &ExtensibleArray) -> u64 {
        if self.entries > array.page { self.blocks * (self.entries / array.page).div_ceil(8) } else { 0 }
    }
}

impl ExtensibleArray {
    fn read(file: &File, address: u64, space: &Dataspace) -> Result<Self> {
        let bytes = file.read(address, (16 + 6 * file.sizes.length + file.sizes.address) as u64)?;
        let mut cursor = Cursor::new(&bytes, file.sizes);
        cursor.mark(b"EAHD")?;
        cursor.version(0)?;
        let entries = entries(&mut cursor, file.sizes)?;
        let (bits, in_index, first, pointers) = (cursor.u8()?, cursor.u8()?, cursor.u8()?, cursor.u8()?);
        let page_bits = cursor.u8()?;
        cursor.skip(6 * file.sizes.length)?;
        let index = cursor.address()?;
        cursor.checksum()?;
        let unlimited = space.most.iter().position(Option::is_none);
        let unlimited =
            unlimited.ok_or_else(|| malformed("a chunk index is extensible, but no dimension is unlimited"))?;
        let are_powers = first.is_power_of_two() && pointers.is_power_of_two() && pointers > 1;
        if !are_powers || bits > 64 || page_bits > MOST_BITS || u32::from(bits) < first.ilog2() {
            return Err(malformed("the blocks of a chunk index have size 0"));
        }
        let (bits, page, first) = (u32::from(bits), 1 << page_bits, u64::from(first));
        let (in_index, pointers) = (u64::from(in_index), u64::from(pointers));
        Ok(ExtensibleArray { entries, bits, in_index, first, pointers, page, unlimited, index })
    }

    /// How many bytes tell where a block begins among the entries.
    fn offset_size(&self) -> u64 {
        u64::from(self.bits).div_ceil(8)
    }

    /// How many super blocks have their data blocks in the index block, and how many there are at all.
    fn super_blocks(&self) -> (u64, u64) {
        (2 * u64::from(self.pointers.ilog2()), u64::from(1 + self.bits - self.first.ilog2()))
    }

    /// How many addresses of data blocks and of super blocks the index block has.
    fn in_index_block(&self) -> (u64, u64) {
        let (within, all) = self.super_blocks();
        (2 * (self.pointers - 1), all.saturating_sub(within))
    }

    /// Where an entry is that is not in the index block; `None` for one beyond all.
    fn place(&self, number: u64) -> Option<InArray> {
        let number = number.checked_sub(self.in_index)?;
        let i = u64::from((number / self.first).saturating_add(1).ilog2());
        let (within, all) = self.super_blocks();
        if i >= all {
            return None;
        }
        // Each super block has as many entries as all before it, and one first block more.
        let begin = ((1u64 << i) - 1).checked_mul(self.first)?;
        let (blocks, entries) = (1u64 << (i / 2), (1u64 << i.div_ceil(2)).checked_mul(self.first)?);
        let (block, entry) = ((number - begin) / entries, (number - begin) % entries);
        let before = (0..i.min(within)).map(|i| 1u64 << (i / 2)).sum::<u64>();
        let is_within = i < within;
        let block = if is_within { before + block } else { block };
        Some(InArray { super_block: (!is_within).then(|| i - within), blocks, block, entries, entry })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_an_extensible_array_follow_each_other() {
        let entries = Entries { is_filtered: false, size: 8 };
        let (bits, in_index, first, pointers, page, unlimited) = (32, 4, 16, 4, 1024, 0);
        let array = ExtensibleArray { entries, bits, in_index, first, pointers, page, unlimited, index: None };
        assert_eq!((array.in_index_block(), array.super_blocks()), ((6, 25), (4, 29)));
        let mut due = (None, 0, 0);
        for number in 4..100_000 {
            let place = array.place(number).unwrap();
            let found = (place.super_block, place.block, place.entry);
            assert!(place.entry < place.entries && place.block < 6.max(place.blocks));
            if number > 4 {
                let (super_block, block, entry) = due;
                let follows = found == (super_block, block, entry + 1)
                    || found == (super_block, block + 1, 0)
                    || found.0 != super_block && (found.1, found.2) == (0, 0);
                assert!(follows, "{number}: {due:?} {found:?}");
            }
            due = found;
        }
        assert!(array.place(3).is_none() && array.place(u64::MAX).is_none());
    }

    #[test]
    fn bits_begin_with_a_bytes_highest() {
        assert_eq!([0, 7, 8, 9, 16].map(|number| bit(&[0x81, 0x40], number)), [true, true, false, true, false]);
    }
}
