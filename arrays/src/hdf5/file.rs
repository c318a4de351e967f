//! A file: its superblock, and what is read of it while an array is opened or the file is listed.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use super::bytes::{Cursor, Sizes, malformed};
use super::header::{Header, SharedMessages, kind};
use super::heap::Collections;
use crate::alloc;
use crate::dataset::{HDF5_MAGIC, Head, block};
use crate::error::{ErrorKind, Result};
use crate::limits::Limit;
use crate::object::{ByteRange, ObjectStore, Storage, filled};

/// The file is read in blocks, of which so many bytes are kept.
const BLOCKS: usize = 4 << 20;

/// All that is read of a file's metadata is no more than so many times the file, and so many bytes: a file that leads
/// to the same bytes again and again ends with an error.
const TIMES: u64 = 64;
const MORE: u64 = 64 << 20;

/// What is said then. The object that is being read may be right.
pub(super) const USED_UP: ErrorKind = ErrorKind::Metadata("the file refers to the same structures in a cycle");

/// What is kept, and used again, counts for so much of that, so that following links has an end, too.
pub(super) const STEP: u64 = 64;

/// The flags of a file that a program writes to, and of one that others may read meanwhile (SWMR). They stay if the
/// program does not close the file.
const IS_WRITTEN: u8 = 1 | 1 << 2;

/// A file.
pub(super) struct File {
    /// Its number among those of the call.
    pub number: usize,
    pub storage: Storage,
    pub name: String,
    /// How many bytes the file has.
    pub len: u64,
    /// Where the superblock is, from which addresses are counted.
    pub base: u64,
    pub sizes: Sizes,
    /// The header of the root group, and that of what the superblock has no room for.
    pub root: u64,
    pub extension: Option<u64>,
    pub limit: Limit,
    /// The messages that objects share, once one was looked for.
    pub shared: RefCell<Option<Vec<SharedMessages>>>,
    /// What is kept of its global heap.
    pub collections: RefCell<Collections>,
    /// How many bytes a block has, and those that are kept.
    block: u64,
    blocks: RefCell<HashMap<u64, Vec<u8>>>,
    /// How many bytes may still be read.
    budget: Cell<u64>,
}

/// Where the superblock of a file of so many bytes may be: at its beginning, or behind a user's block.
pub(crate) fn superblocks(len: u64) -> impl Iterator<Item = u64> {
    std::iter::once(0).chain((9..63).map(|bits| 1 << bits)).take_while(move |at| *at < len)
}

/// Whether a file of so many bytes is one of HDF5's behind a user's block.
pub(super) fn has_user_block(objects: &dyn ObjectStore, name: &str, len: u64) -> Result<bool> {
    for at in superblocks(len).skip(1) {
        let (bytes, _) = filled(HDF5_MAGIC.len(), |buffer| objects.read(name, ByteRange::At(at), buffer))?;
        if bytes == HDF5_MAGIC {
            return Ok(true);
        }
    }
    Ok(false)
}

impl File {
    /// Reads the superblock of a file of a storage.
    pub(super) fn open(storage: &Storage, head: &Head<'_>, number: usize) -> Result<File> {
        let len = head.len;
        let sizes = Sizes { address: 8, length: 8 };
        let budget = Cell::new(len.saturating_mul(TIMES).saturating_add(MORE));
        let limit = storage.memory_limits().metadata();
        let mut file = File {
            number,
            storage: storage.clone(),
            name: alloc::text(head.name)?,
            len,
            base: 0,
            sizes,
            root: 0,
            extension: None,
            limit,
            shared: RefCell::new(None),
            collections: RefCell::new(Collections::default()),
            block: block(&**storage) as u64,
            blocks: RefCell::new(HashMap::new()),
            budget,
        };
        file.keep(0, alloc::copied(&head.bytes)?)?;
        for at in superblocks(len) {
            file.base = at;
            let begin = file.read_up_to(0, 128)?;
            if begin.starts_with(&HDF5_MAGIC) {
                file.superblock(&begin)?;
                file.check_extension()?;
                return Ok(file);
            }
        }
        Err(ErrorKind::UnknownFormat.into())
    }

    fn superblock(&mut self, bytes: &[u8]) -> Result<()> {
        let mut start = Cursor::new(bytes, self.sizes);
        start.skip(HDF5_MAGIC.len())?;
        let version = start.u8()?;
        match version {
            0 | 1 => {
                start.skip(4)?;
                self.sizes = sizes(&mut start)?;
                // What is reserved, the ranks of B-trees, which each of them records, and flags.
                start.skip(1 + 2 + 2 + 4 + if version == 1 { 4 } else { 0 })?;
                let mut rest = Cursor::new(bytes.get(start.position()..).unwrap_or_default(), self.sizes);
                // The base address, where the free space is, the file's end, the driver, and in the root group's entry
                // where its name is.
                rest.skip(4 * self.sizes.address + self.sizes.length)?;
                self.root = rest.address()?.ok_or_else(|| malformed("the file has no root group"))?;
            }
            2 | 3 => {
                self.sizes = sizes(&mut start)?;
                let flags = start.u8()?;
                let mut rest = Cursor::new(bytes, self.sizes);
                rest.skip(start.position())?;
                // The base address, the extension, and the file's end.
                rest.skip(self.sizes.address)?;
                self.extension = rest.address()?;
                rest.skip(self.sizes.address)?;
                self.root = rest.address()?.ok_or_else(|| malformed("the file has no root group"))?;
                rest.checksum()?;
                // Earlier versions have no such flags.
                if version == 3 && flags & IS_WRITTEN != 0 {
                    let reason =
                        "an HDF5 file that is open for writing, or was not closed (h5clear -s marks it as closed)";
                    return Err(ErrorKind::Unsupported(reason).into());
                }
            }
            _ => return Err(ErrorKind::Unsupported("an HDF5 file with a superblock of a version above 3").into()),
        }
        Ok(())
    }

    /// Refuses a file whose metadata are in an image of the cache of them: what is elsewhere is older.
    fn check_extension(&self) -> Result<()> {
        let Some(address) = self.extension else { return Ok(()) };
        match Header::read(self, address)?.has(kind::CACHE_IMAGE) {
            true => Err(ErrorKind::Unsupported("an HDF5 file with an image of the metadata cache").into()),
            false => Ok(()),
        }
    }

    /// Where an address is in the file, if so many bytes are there.
    pub(super) fn position(&self, address: u64, len: u64) -> Result<u64> {
        let begin = address.checked_add(self.base).ok_or(ErrorKind::Truncated)?;
        match begin.checked_add(len) {
            Some(end) if end <= self.len => Ok(begin),
            _ => Err(ErrorKind::Truncated.into()),
        }
    }

    /// So many bytes from an address on.
    pub(super) fn read(&self, address: u64, len: u64) -> Result<Vec<u8>> {
        let begin = self.position(address, len)?;
        let len = usize::try_from(len).map_err(|_| ErrorKind::OutOfMemory)?;
        self.limit.check(len.saturating_mul(2))?;
        self.charge(len as u64)?;
        let end = begin + len as u64;
        let block = self.block;
        if len as u64 > block {
            let bytes = self.read_from(begin, len)?;
            return if bytes.len() == len { Ok(bytes) } else { Err(ErrorKind::Changed.into()) };
        }
        let mut bytes = alloc::room(len)?;
        for number in begin / block..end.div_ceil(block) {
            if !self.blocks.borrow().contains_key(&number) {
                self.keep(number, self.read_from(number * block, block as usize)?)?;
            }
            let blocks = self.blocks.borrow();
            let kept = blocks.get(&number).ok_or(ErrorKind::Internal)?;
            let from = begin.saturating_sub(number * block).min(block) as usize;
            let to = (end - number * block).min(block) as usize;
            bytes.extend_from_slice(kept.get(from..to).ok_or(ErrorKind::Changed)?);
        }
        Ok(bytes)
    }

    /// Counts bytes that are made of what was read.
    pub(super) fn charge(&self, bytes: u64) -> Result<()> {
        let left = self.budget.get().checked_sub(bytes);
        self.budget.set(left.ok_or(USED_UP)?);
        Ok(())
    }

    /// The same, or fewer bytes at the end of the file.
    pub(super) fn read_up_to(&self, address: u64, len: u64) -> Result<Vec<u8>> {
        let begin = address.checked_add(self.base).ok_or(ErrorKind::Truncated)?;
        self.read(address, len.min(self.len.saturating_sub(begin)))
    }

    fn read_from(&self, begin: u64, len: usize) -> Result<Vec<u8>> {
        let (bytes, now) = filled(len, |buffer| self.storage.read(&self.name, ByteRange::At(begin), buffer))?;
        if now == Some(self.len) { Ok(bytes) } else { Err(ErrorKind::Changed.into()) }
    }

    /// Forgets what has been read of it.
    pub(super) fn forget(&self) {
        self.blocks.borrow_mut().clear();
        *self.shared.borrow_mut() = None;
        *self.collections.borrow_mut() = Collections::default();
    }

    fn keep(&self, number: u64, block: Vec<u8>) -> Result<()> {
        let mut blocks = self.blocks.borrow_mut();
        if blocks.len() >= BLOCKS / self.block as usize {
            blocks.clear();
        }
        blocks.try_reserve(1).map_err(|_| ErrorKind::OutOfMemory)?;
        blocks.insert(number, block);
        Ok(())
    }
}

fn sizes(cursor: &mut Cursor<'_>) -> Result<Sizes> {
    let (address, length) = (usize::from(cursor.u8()?), usize::from(cursor.u8()?));
    match [address, length].iter().all(|size| matches!(size, 2 | 4 | 8)) {
        true => Ok(Sizes { address, length }),
        false => Err(ErrorKind::Unsupported("an HDF5 file whose addresses do not have 2, 4 or 8 bytes").into()),
    }
}
