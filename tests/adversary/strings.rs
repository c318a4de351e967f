//! Elements that are more than bytes: variable-length strings, which are pointers where the library copies them. No
//! bytes are taken for such elements, nor such elements for bytes, and what they point to lives as long as they do.
#![forbid(unsafe_code)]

use std::cell::Cell;
use std::sync::Arc;

use nczchunk::object::{Memory, ObjectStore, Storage};
use nczchunk::{
    Array, BorrowedChunk, BorrowedChunkMut, Buffer, Change, ChunkReader, Description, ElementType, ErrorKind, Filled,
    Request, Result, Take, Taken, ZeroCopyReader,
};

use super::*;

const LEN: usize = 6;
const WORDS: [&str; LEN] = ["a", "", "\u{e4}\u{20ac}", "four", "5", "a longer one"];
/// The bytes that a pointer would have to such a string.
const POINTER: usize = size_of::<usize>();

fn description() -> Description<'static> {
    Description::new(&[LEN], ElementType::String)
        .with_chunk_shape(&[4])
        .with_fill_value(b"what absent elements read as")
        .with_codecs(&[])
}

fn storage() -> Storage {
    Storage::new(Memory::new()).unwrap()
}

fn is_argument<T: std::fmt::Debug>(result: Result<T>) -> bool {
    matches!(result.unwrap_err().kind(), ErrorKind::Argument(_))
}

/// Memory for bytes, in every way to read and write it, is none for strings.
#[test]
fn strings_are_no_bytes() {
    let array = Array::create_in(&storage(), "", &description()).unwrap();
    array.write_strings(&Hyperslab::all(), &WORDS).unwrap();
    let (variable, store) = (array.variable(), array.store());
    let mut out = vec![0x41; LEN * POINTER];
    for access in [Access::Read, Access::Write] {
        let plan = || Plan::new(variable, &Hyperslab::all(), access).unwrap();
        let prepared = Prepared::new(plan()).unwrap();
        let (options, chunks) = (Options::default().with_threads(2), 0..2);
        assert_eq!(plan().memory_bytes(), out.len());
        assert!(is_argument(plan().read(store, &mut out)) && is_argument(plan().write(store, &out)));
        assert!(is_argument(plan().read_chunks(store, chunks.clone(), &mut out, options)));
        assert!(is_argument(plan().write_chunks(store, chunks.clone(), &out, options)));
        assert!(is_argument(prepared.read(store, &mut out)) && is_argument(prepared.write(store, &out)));
        assert!(is_argument(prepared.read_chunks(store, chunks.clone(), &mut out, options)));
        assert!(is_argument(prepared.write_chunks(store, chunks.clone(), &out, options)));
    }
    assert!(is_argument(array.read::<usize>(&Hyperslab::all())));
    assert!(is_argument(array.read::<[u8; POINTER]>(&Hyperslab::all())));
    assert!(is_argument(array.read_into(&Hyperslab::all(), &mut [0usize; LEN])));
    assert!(is_argument(array.write(&Hyperslab::all(), &[0x4141_4141usize; LEN])));
    assert!(is_argument(nczchunk::write(variable, store, &Hyperslab::new(&[1], &[1]), &[[0x41u8; POINTER]])));
    assert!(out.iter().all(|&byte| byte == 0x41));
    assert_eq!(array.read_strings(&Hyperslab::all()).unwrap(), WORDS);
}

/// Nor are the chunks of such an array chunks of bytes, for a variable of as many.
#[test]
fn chunks_of_strings_are_no_chunks_of_bytes() {
    let array = Array::create_in(&storage(), "", &description()).unwrap();
    array.write_strings(&Hyperslab::all(), &WORDS).unwrap();
    let variable = Variable::new(&[LEN], &[4], POINTER).unwrap();
    for slab in [Hyperslab::all(), Hyperslab::new(&[1], &[1]), Hyperslab::new(&[4], &[2])] {
        let plan = |access| Plan::new(&variable, &slab, access).unwrap();
        let prepared = |access| Prepared::new(plan(access)).unwrap();
        let mut out = vec![0x41; plan(Access::Read).memory_bytes()];
        assert!(is_argument(nczchunk::read::<usize>(&variable, array.store(), &slab)));
        assert!(is_argument(plan(Access::Read).read(array.store(), &mut out)));
        assert!(is_argument(prepared(Access::Read).read(array.store(), &mut out)));
        assert!(is_argument(plan(Access::Write).write(array.store(), &out)));
        assert!(is_argument(prepared(Access::Write).write(array.store(), &out)));
        let numbers = vec![0x4141_4141usize; out.len() / POINTER];
        assert!(is_argument(nczchunk::write(&variable, array.store(), &slab, &numbers)));
    }
    assert_eq!(array.read_strings(&Hyperslab::all()).unwrap(), WORDS);
}

/// Bytes of an adversary's are no strings.
struct Bytes;

impl ZeroCopyReader for Bytes {
    fn lend<'t>(&self, _: &Request<'_>, take: Take<'t>) -> Result<Taken<'t>> {
        take.give(BorrowedChunk::Chunk(&[0x41; 4 * POINTER]))
    }

    fn is_writable(&self) -> bool {
        true
    }

    fn change<'t>(&self, _: &Request<'_>, _: bool, change: Change<'t>) -> Result<Taken<'t>> {
        change.give(BorrowedChunkMut::Chunk(&mut [0x41; 4 * POINTER]))
    }
}

impl ChunkReader for Bytes {
    fn fill(&self, _: &Request<'_>, buffer: &mut Buffer<'_>) -> Result<Filled> {
        buffer.write(&[0x41; 4 * POINTER]);
        Ok(Filled::Stored(4 * POINTER))
    }
}

#[test]
fn chunks_of_bytes_are_no_chunks_of_strings() {
    let array = Array::create_in(&storage(), "", &description()).unwrap();
    for store in [ChunkStore::zero_copy(Bytes).unwrap(), ChunkStore::new(Bytes).unwrap()] {
        for slab in [Hyperslab::all(), Hyperslab::new(&[1], &[1])] {
            for access in [Access::Read, Access::Write] {
                let plan = Plan::new(array.variable(), &slab, access).unwrap();
                let mut out = vec![0; plan.memory_bytes()];
                assert!(is_argument(plan.read(&store, &mut out)) && is_argument(plan.write(&store, &out)));
            }
            assert!(is_argument(nczchunk::read::<usize>(array.variable(), &store, &slab)));
        }
    }
}

/// A plan outlives the array that it was made for; so do copies of the variable that a resize makes.
#[test]
fn what_absent_strings_read_as_lives_as_long_as_what_refers_to_it() {
    let storage = storage();
    let mut array = Array::create_in(&storage, "", &description()).unwrap();
    let plan = Prepared::new(Plan::new(array.variable(), &Hyperslab::all(), Access::Read).unwrap()).unwrap();
    for len in [2, LEN, 9] {
        array.resize(&[len]).unwrap();
        assert_eq!(array.read_strings(&Hyperslab::all()).unwrap(), vec!["what absent elements read as"; len]);
    }
    drop(array);
    // What absent elements read as is a pointer here, whose bytes may be looked at.
    assert_eq!(plan.variable().fill_value().unwrap().len(), POINTER);
    let again = Prepared::new(Plan::new(plan.variable(), &Hyperslab::all(), Access::Read).unwrap()).unwrap();
    drop(plan);
    let other = Array::open_in(&storage, "", Access::Read).unwrap();
    assert!(is_argument(again.read(other.store(), &mut vec![0; again.memory_bytes()])));
}

/// Strings that are others each time they are asked for.
struct Wavering(Cell<usize>);

impl AsRef<str> for Wavering {
    fn as_ref(&self) -> &str {
        let asked = self.0.replace(self.0.get() + 1);
        WORDS[asked % LEN]
    }
}

#[test]
fn strings_that_waver_are_written_as_they_were_once() {
    let array = Array::create_in(&storage(), "", &description()).unwrap();
    for first in 0..LEN {
        let strings: Vec<_> = (0..LEN).map(|i| Wavering(Cell::new(first + i))).collect();
        array.write_strings(&Hyperslab::all(), &strings).unwrap();
        assert!(array.read_strings(&Hyperslab::all()).unwrap().iter().all(|word| WORDS.contains(&word.as_str())));
    }
    assert!(array.write_strings(&Hyperslab::all(), &["a"]).is_err());
    assert!(array.write_strings(&Hyperslab::all(), &["a\0b"; LEN]).is_err());
}

/// Chunks of strings with every length and number in them changed are read, or refused.
#[test]
fn chunks_of_strings_that_are_wrong() {
    let memory = Arc::new(Memory::new());
    let array = Array::create_in(&Storage::new(memory.clone()).unwrap(), "", &description()).unwrap();
    array.write_strings(&Hyperslab::all(), &WORDS).unwrap();
    let bytes = nczchunk::object::read_whole(&*memory, "c/0", 1000).unwrap().unwrap();
    for at in 0..bytes.len() {
        for byte in [0, 1, 4, 0x7F, 0xFF] {
            let mut wrong = bytes.clone();
            wrong[at] = byte;
            memory.write("c/0", &wrong).unwrap();
            if let Ok(words) = array.read_strings(&Hyperslab::all()) {
                assert_eq!(words.len(), LEN);
            }
            let _ = array.write_strings(&Hyperslab::new(&[1], &[1]), &["x"]);
        }
    }
}
