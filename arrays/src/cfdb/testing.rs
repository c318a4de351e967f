//! Booklet files for the tests, written as booklet writes them.

use super::booklet::{HASH, HEADER, POINTER, hash};
use crate::dataset::CFDB_MAGIC;
use crate::object::{Memory, Storage};

/// A storage with one object, `f`.
pub(super) fn storage(bytes: &[u8]) -> Storage {
    let storage = Storage::new(Memory::new()).unwrap();
    storage.write("f", bytes).unwrap();
    storage
}

/// A booklet file that is written.
pub(super) struct Writer {
    bytes: Vec<u8>,
    num_buckets: u64,
    index: u64,
    has_times: bool,
}

impl Writer {
    pub(super) fn new(num_buckets: u64, has_times: bool) -> Self {
        let mut bytes = CFDB_MAGIC.to_vec();
        bytes.extend([5, 0, POINTER as u8, 2, 4]);
        bytes.extend((num_buckets as u32).to_le_bytes());
        bytes.resize(HEADER, 0);
        bytes[41] = u8::from(has_times);
        let mut writer = Writer { bytes, num_buckets, index: HEADER as u64, has_times };
        writer.add_index();
        writer
    }

    fn add_index(&mut self) {
        for _ in 0..self.num_buckets {
            self.bytes.extend([1, 0, 0, 0, 0, 0]);
        }
    }

    fn number(&self, at: u64) -> u64 {
        let mut bytes = [0; 8];
        bytes[..POINTER].copy_from_slice(&self.bytes[at as usize..][..POINTER]);
        u64::from_le_bytes(bytes)
    }

    fn set_number(&mut self, at: u64, number: u64) {
        self.bytes[at as usize..][..POINTER].copy_from_slice(&number.to_le_bytes()[..POINTER]);
    }

    /// Where the bucket of a hash has its pointer.
    fn bucket(&self, hash: &[u8]) -> u64 {
        let mut whole = [0; 16];
        whole[..HASH].copy_from_slice(hash);
        self.index + (u128::from_le_bytes(whole) % u128::from(self.num_buckets)) as u64 * POINTER as u64
    }

    /// Sets a key, as the last block of its chain. Returns where its block is.
    pub(super) fn set(&mut self, key: &str, value: &[u8]) -> u64 {
        self.delete(key);
        let hash = hash(key.as_bytes());
        let block = self.bytes.len() as u64;
        let mut last = self.bucket(&hash);
        while self.number(last) > 1 {
            last = self.number(last) + HASH as u64;
        }
        self.set_number(last, block);
        self.bytes.extend(hash);
        self.bytes.extend([1, 0, 0, 0, 0, 0]);
        self.bytes.extend((key.len() as u16).to_le_bytes());
        self.bytes.extend((value.len() as u32).to_le_bytes());
        if self.has_times {
            self.bytes.extend([9; 7]);
        }
        self.bytes.extend(key.as_bytes());
        self.bytes.extend(value);
        block
    }

    /// Takes a key out of its chain.
    pub(super) fn delete(&mut self, key: &str) {
        let hash = hash(key.as_bytes());
        let mut pointer = self.bucket(&hash);
        while self.number(pointer) > 1 {
            let (block, next) = (self.number(pointer), self.number(pointer) + HASH as u64);
            if self.bytes[block as usize..].starts_with(&hash) {
                let after = self.number(next);
                self.set_number(pointer, after);
                return self.set_number(next, 0);
            }
            pointer = next;
        }
    }

    /// Moves the index behind the blocks, with another number of buckets.
    pub(super) fn move_index(&mut self, num_buckets: u64) {
        let old: Vec<u64> = (0..self.num_buckets).map(|i| self.number(self.index + i * POINTER as u64)).collect();
        (self.index, self.num_buckets) = (self.bytes.len() as u64, num_buckets);
        self.add_index();
        for mut block in old {
            while block > 1 {
                let next = self.number(block + HASH as u64);
                let bucket = self.bucket(&self.bytes[block as usize..][..HASH]);
                self.set_number(block + HASH as u64, self.number(bucket));
                self.set_number(bucket, block);
                block = next;
            }
        }
        self.bytes[21..25].copy_from_slice(&(num_buckets as u32).to_le_bytes());
        self.set_number(65, self.index);
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        self.bytes.clone()
    }
}
