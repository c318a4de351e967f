//! Booklet files: the values of one, by their keys.
//!
//! ```text
//!   header     200 bytes
//!   index      a pointer of 6 bytes for each bucket: where the first block of its chain begins; 0 or 1 for none
//!   blocks     the key's hash 13, the next block of the chain 6, the key's length 2, the value's length 4,
//!              the time 7 if the file has times, the key, the value
//! ```
//!
//! All numbers are little-endian. A key's hash is BLAKE2s of 13 bytes, and its bucket the hash modulo the number of
//! buckets. The next block is 1 at the end of a chain; a block that says 0 is deleted, and the chain ends there. The
//! index may have been moved behind the blocks. The source is booklet 0.12, `utils.py`.
//!
//! Nothing is kept in memory: a value is found by reading its bucket's pointer and then one block after another, and
//! each length and offset is compared with the file's length before it is used.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

use blake2::digest::consts::U13;
use blake2::{Blake2s, Digest};
use smallvec::SmallVec;

use crate::alloc;
use crate::buffer::Buffer;
use crate::dataset::CFDB_MAGIC;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::{ABSENT, Index, Learned, Step};
use crate::object::{ByteRange, Entry, ObjectStore, Storage};

pub(super) const HEADER: usize = 200;
pub(super) const POINTER: usize = 6;
pub(super) const HASH: usize = 13;
/// What a block has before the time, the key and the value.
const BLOCK: usize = HASH + POINTER + 2 + 4;
const TIME: usize = 7;
/// How many bytes of a block are read on the stack; more only for keys that are longer than cfdb's ever are.
const ON_STACK: usize = 512;
/// The number of keys of a file that was not closed.
const NOT_CLOSED: u32 = u32::MAX;
/// What stands for no pointer in the headers of some old files.
const NO_POINTER: [u8; POINTER] = *b"000000";

#[cold]
fn corrupt(reason: &'static str) -> Error {
    ErrorKind::Corrupt { codec: "booklet", reason }.into()
}

/// A number of up to 8 bytes.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// The numbers at fixed places of a header or a block.
fn field(bytes: &[u8], at: usize, len: usize) -> u64 {
    number(bytes.get(at..at + len).unwrap_or_default())
}

/// A key's hash.
pub(super) fn hash(key: &[u8]) -> [u8; HASH] {
    Blake2s::<U13>::digest(key).into()
}

/// A booklet file, which is an object of a storage, as a storage for objects: each key is a name, and its value the
/// object.
pub(super) struct Booklet {
    storage: Storage,
    name: String,
    /// The file's length.
    len: u64,
    num_buckets: u64,
    index: u64,
    /// The bytes that a block has before its key.
    before_key: usize,
}

/// An index of one value.
fn index(span: (u64, u64)) -> Result<Index> {
    let mut spans = Vec::new();
    alloc::push(&mut spans, span)?;
    Ok(Index { spans })
}

/// Where a value is in the file.
struct Value {
    at: u64,
    len: u64,
}

impl Booklet {
    /// The storage, and the file's name in it.
    pub(super) fn file(&self) -> (&Storage, &str) {
        (&self.storage, &self.name)
    }

    /// Reads the header of a file.
    ///
    /// # Errors
    /// `UnknownFormat` for what is no booklet file; `Unsupported` for those of other versions or that were not closed;
    /// `Corrupt` for an index that the file is too short for; those of the storage.
    pub(super) fn new(storage: &Storage, name: &str) -> Result<Self> {
        let mut memory = [MaybeUninit::uninit(); HEADER];
        let mut buffer = Buffer::new(&mut memory);
        let len = storage.read(name, ByteRange::At(0), &mut buffer)?.ok_or(ErrorKind::NotFound("file"))?;
        let header = buffer.filled();
        if !header.starts_with(&CFDB_MAGIC) {
            return Err(ErrorKind::UnknownFormat.into());
        }
        if header.len() < HEADER {
            return Err(corrupt("the file ends within its header"));
        }
        let version = field(header, 16, 2);
        if !(3..=5).contains(&version) {
            return Err(ErrorKind::Unsupported("booklet files of a version other than 3 to 5").into());
        }
        if header.get(18..21) != Some(&[POINTER as u8, 2, 4]) {
            return Err(ErrorKind::Unsupported("booklet files with integers of other widths").into());
        }
        if field(header, 33, 4) == u64::from(NOT_CLOSED) {
            const HOW: &str = "a file that its writer did not close; opening it for writing with cfdb repairs it";
            return Err(ErrorKind::Unsupported(HOW).into());
        }
        let num_buckets = field(header, 21, 4);
        let has_times = version > 3 && field(header, 41, 1) != 0;
        let index = header.get(65..65 + POINTER).filter(|pointer| **pointer != NO_POINTER).map_or(0, number);
        let index = if index == 0 { HEADER as u64 } else { index };
        if num_buckets == 0 || index < HEADER as u64 || index.saturating_add(num_buckets * POINTER as u64) > len {
            return Err(corrupt("the index is not in the file"));
        }
        let (storage, name) = (storage.clone(), alloc::text(name)?);
        Ok(Booklet { storage, name, len, num_buckets, index, before_key: BLOCK + if has_times { TIME } else { 0 } })
    }

    /// Reads from the file at an offset into an empty buffer: as much as there is room for, or less at the file's end.
    fn fill(&self, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<()> {
        match self.storage.read(&self.name, begin, buffer)? {
            Some(len) if len == self.len => Ok(()),
            _ => Err(ErrorKind::Changed.into()),
        }
    }

    /// What is read first to find the value of a key: its bucket's pointer.
    pub(super) fn first_step(&self, key: &[u8]) -> Step {
        let bucket = hash(key).iter().rev().fold(0, |rest, byte| (rest << 8 | u64::from(*byte)) % self.num_buckets);
        let begin = ByteRange::At(self.index + bucket * POINTER as u64);
        Step { begin, len: POINTER, memory: [0; 3] }
    }

    /// What follows from a bucket's pointer or a block, in a file of so many bytes: the next block of the chain, or
    /// where the value of the key is, if there is one.
    ///
    /// # Errors
    /// `Corrupt`; `Changed` for a file of another length.
    pub(super) fn learn(&self, key: &[u8], step: &Step, bytes: &[u8], file_len: u64) -> Result<Learned> {
        if file_len != self.len {
            return Err(ErrorKind::Changed.into());
        }
        // The block that was read, how many there were before it, and one that was met; 0 at the bucket's pointer.
        let [at, hops, met] = step.memory;
        if at == 0 {
            // The file has all of them, or is shorter by now.
            let pointer = if bytes.len() == POINTER { number(bytes) } else { return Err(ErrorKind::Changed.into()) };
            return self.next(key, pointer, (0, 0));
        }
        if bytes.len() < self.before_key {
            return Err(corrupt("a block is not in the file"));
        }
        let next = field(bytes, HASH, POINTER);
        if next != 0 && bytes.starts_with(&hash(key)) {
            let Value { at, len } = self.value(at, bytes, key)?;
            return Ok(Learned::Index(index((at, len))?));
        }
        self.next(key, next, (hops, met))
    }

    /// The block at an offset, unless the chain ends there.
    fn next(&self, key: &[u8], at: u64, (hops, met): (u64, u64)) -> Result<Learned> {
        if at <= 1 {
            return Ok(Learned::Index(index(ABSENT)?));
        }
        // In a chain that leads back to one of its blocks, one that is a power of two from the first is met again.
        if at < HEADER as u64 || at == met {
            return Err(corrupt("a chain of blocks points outside the file"));
        }
        let hops = hops + 1;
        let met = if hops.is_power_of_two() { at } else { met };
        Ok(Learned::Next(Step { begin: ByteRange::At(at), len: self.before_key + key.len(), memory: [at, hops, met] }))
    }

    /// Finds a value; `None` if there is none with this key.
    fn find(&self, key: &[u8]) -> Result<Option<Value>> {
        let mut step = self.first_step(key);
        let mut memory = SmallVec::<[MaybeUninit<u8>; ON_STACK]>::new();
        loop {
            memory.try_reserve(step.len.saturating_sub(memory.len())).map_err(|_| ErrorKind::OutOfMemory)?;
            memory.resize(step.len, MaybeUninit::uninit());
            let mut buffer = Buffer::new(&mut memory);
            self.fill(step.begin, &mut buffer)?;
            match self.learn(key, &step, buffer.filled(), self.len)? {
                Learned::Next(next) => step = next,
                Learned::Kept => return Err(ErrorKind::Internal.into()),
                Learned::Index(index) => {
                    let span = index.spans.first().filter(|span| **span != ABSENT);
                    return Ok(span.map(|&(at, len)| Value { at, len }));
                }
            }
        }
    }

    /// The value of a block that has the hash of this key.
    fn value(&self, at: u64, block: &[u8], key: &[u8]) -> Result<Value> {
        let key_len = field(block, HASH + POINTER, 2);
        if key_len != key.len() as u64 || block.get(self.before_key..) != Some(key) {
            return Err(corrupt("the key of a block does not match its hash"));
        }
        let len = field(block, HASH + POINTER + 2, 4);
        let at = at + block.len() as u64;
        if at.saturating_add(len) > self.len {
            return Err(corrupt("a value is not in the file"));
        }
        Ok(Value { at, len })
    }
}

impl ObjectStore for Booklet {
    fn read(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<u64>> {
        let Some(Value { at, len }) = self.find(name.as_bytes())? else { return Ok(None) };
        let offset = begin.offset(len);
        let mut part = buffer.rest_up_to(usize::try_from(len - offset).unwrap_or(usize::MAX));
        self.fill(ByteRange::At(at + offset), &mut part)?;
        let (filled, wanted) = (part.filled().len(), part.capacity());
        if filled < wanted {
            return Err(ErrorKind::Changed.into());
        }
        // SAFETY: the buffer was empty, and so many bytes of its room have been written.
        unsafe { buffer.set_filled(filled) };
        Ok(Some(len))
    }

    fn list(&self, _: &str, _: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
        Err(ErrorKind::Unsupported("listing the keys of a booklet file").into())
    }

    fn is_concurrent(&self) -> bool {
        self.storage.is_concurrent()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cfdb::testing::{Writer, storage};
    use crate::object::read_whole;

    fn open(bytes: &[u8]) -> Result<Booklet> {
        Booklet::new(&storage(bytes), "f")
    }

    fn value(bytes: &[u8], key: &str) -> Result<Option<Vec<u8>>> {
        read_whole(&open(bytes)?, key, 1 << 20)
    }

    #[test]
    fn hashes_are_booklets() {
        let expected = [66, 126, 245, 9, 230, 239, 44, 191, 22, 110, 110, 130, 1];
        assert_eq!(hash(b"adb01ebc1ba3433eb043527"), expected);
    }

    #[test]
    fn values_are_found_by_their_keys() {
        // With one bucket all blocks are in one chain.
        for num_buckets in [1, 2, 7, 1000] {
            for has_times in [false, true] {
                let mut writer = Writer::new(num_buckets, has_times);
                for i in 0..50 {
                    writer.set(&format!("key {i}"), &vec![i; usize::from(i)]);
                }
                writer.set("key 7", b"another");
                writer.delete("key 8");
                writer.delete("key 49");
                for is_moved in [false, true] {
                    if is_moved {
                        writer.move_index(num_buckets + 3);
                    }
                    let bytes = writer.bytes();
                    for i in 0..50u8 {
                        let due = match i {
                            7 => Some(b"another".to_vec()),
                            8 | 49 => None,
                            _ => Some(vec![i; usize::from(i)]),
                        };
                        assert_eq!(value(&bytes, &format!("key {i}")), Ok(due), "{i}");
                    }
                    assert_eq!(value(&bytes, "none"), Ok(None));
                    assert_eq!(value(&bytes, &"long".repeat(1000)), Ok(None));
                }
            }
        }
    }

    #[test]
    fn blocks_may_be_where_the_index_was() {
        let key = "key 1";
        let mut bytes = Writer::new(1, false).bytes()[..HEADER].to_vec();
        bytes.extend(hash(key.as_bytes()));
        bytes.extend([1, 0, 0, 0, 0, 0, 5, 0, 3, 0, 0, 0]);
        bytes.extend(b"key 1one");
        bytes[65] = bytes.len() as u8;
        bytes.extend([HEADER as u8, 0, 0, 0, 0, 0]);
        assert_eq!((value(&bytes, key), value(&bytes, "none")), (Ok(Some(b"one".to_vec())), Ok(None)));
    }

    #[test]
    fn parts_of_values_are_read() {
        let mut writer = Writer::new(1, true);
        writer.set("key 1", b"0123456789");
        // The chain ends with a block that has neither a key nor a value.
        writer.set("", b"");
        let file = open(&writer.bytes()).unwrap();
        let part = |begin: ByteRange| {
            let mut room = [MaybeUninit::uninit(); 8];
            let mut buffer = Buffer::new(&mut room);
            assert_eq!(file.read("key 1", begin, &mut buffer), Ok(Some(10)));
            buffer.filled().to_vec()
        };
        assert_eq!(part(ByteRange::At(1)), b"12345678");
        assert_eq!(part(ByteRange::At(7)), b"789");
        assert_eq!(part(ByteRange::BeforeEnd(4)), b"6789");
        assert_eq!(part(ByteRange::At(10)), b"");
        assert_eq!(value(&writer.bytes(), "none"), Ok(None));
        assert!(matches!(file.list("", &mut |_, _| Ok(())).unwrap_err().kind(), ErrorKind::Unsupported(_)));
    }

    /// A storage that gives no more than so many bytes of its object, and tells its length all the same.
    struct Short(Vec<u8>, usize);

    impl ObjectStore for Short {
        fn read(&self, _: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<u64>> {
            let (len, begin) = (self.0.len() as u64, begin.offset(self.0.len() as u64) as usize);
            let rest = self.0.get(begin..self.1).unwrap_or_default();
            buffer.write(&rest[..rest.len().min(buffer.capacity())]);
            Ok(Some(len))
        }

        fn list(&self, _: &str, _: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
            Ok(())
        }

        fn is_concurrent(&self) -> bool {
            self.1 == self.0.len()
        }
    }

    #[test]
    fn a_value_that_is_given_in_part_is_an_error() {
        let mut writer = Writer::new(1, true);
        writer.set("key", b"value");
        let bytes = writer.bytes();
        let of = |missing: usize| {
            let storage = Storage::new(Short(bytes.clone(), bytes.len() - missing)).unwrap();
            Booklet::new(&storage, "f").unwrap()
        };
        assert_eq!(read_whole(&of(0), "key", 100), Ok(Some(b"value".to_vec())));
        assert_eq!(read_whole(&of(1), "key", 100).unwrap_err().kind(), ErrorKind::Changed);
        assert_eq!((of(0).is_concurrent(), of(1).is_concurrent()), (true, false));
        // Nor is what is not there an absent key.
        for given in [HEADER, HEADER + POINTER - 1] {
            assert_eq!(read_whole(&of(bytes.len() - given), "key", 100).unwrap_err().kind(), ErrorKind::Changed);
        }
    }

    #[test]
    fn files_of_other_kinds_are_named() {
        let mut writer = Writer::new(3, true);
        writer.set("key", b"value");
        let good = writer.bytes();
        let refused = |at: usize, bytes: &[u8]| {
            let mut other = good.clone();
            other[at..at + bytes.len()].copy_from_slice(bytes);
            open(&other).map(drop).unwrap_err()
        };
        for (at, bytes, words) in [
            (0, &b"x"[..], "the format is unknown"),
            (16, &[6], "version"),
            (16, &[2], "version"),
            (18, &[8], "widths"),
            (33, &[255; 4], "did not close"),
            (21, &[0; 4], "index"),
            (21, &[255; 4], "index"),
            (65, &[1], "index"),
            (65, &[255; 6], "index"),
        ] {
            let error = refused(at, bytes).to_string();
            assert!(error.contains(words), "{error}");
        }
        assert!(matches!(open(&good[..199]).err().unwrap().kind(), ErrorKind::Corrupt { .. }));
        let mut old = good.clone();
        old[65..77].copy_from_slice(b"000000000000");
        assert_eq!(value(&old, "key"), Ok(Some(b"value".to_vec())));
    }

    #[test]
    fn chains_that_lead_nowhere_are_errors() {
        let mut writer = Writer::new(1, false);
        let blocks: Vec<u64> = (0..5).map(|i| writer.set(&format!("key {i}"), b"value")).collect();
        let good = writer.bytes();
        let with_next = |block: u64, next: u64| {
            let mut bad = good.clone();
            bad[block as usize + HASH..][..POINTER].copy_from_slice(&next.to_le_bytes()[..POINTER]);
            bad
        };
        for (from, to) in [(4, 4), (4, 0), (4, 2), (2, 1)] {
            let bad = with_next(blocks[from], blocks[to]);
            assert!(matches!(value(&bad, "none").unwrap_err().kind(), ErrorKind::Corrupt { .. }), "{from} {to}");
        }
        for to in [2, 199, good.len() as u64, good.len() as u64 - 10, (1 << 48) - 1] {
            assert!(value(&with_next(blocks[4], to), "none").is_err(), "{to}");
        }
        // A block that is deleted ends its chain.
        assert_eq!(value(&with_next(blocks[1], 0), "key 1"), Ok(None));
        let mut bad = good.clone();
        bad[blocks[0] as usize + BLOCK] = b'K';
        assert!(value(&bad, "key 0").unwrap_err().to_string().contains("does not match its hash"));
    }
}
