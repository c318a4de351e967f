use std::sync::Mutex;

use std::time::{Duration, Instant};

use super::read::SKIPPED;
use super::*;
use crate::buffer::Buffer;
use crate::copy::{Fence, Volume};
use crate::open_object::Versions;
use crate::store::{
    BorrowedChunk, BorrowedChunkMut, Change, ChunkReader, Filled, Request, Take, Taken, ZeroCopyReader,
};
use crate::variable::Endian;

/// 5 x 4 two-byte big-endian elements, value 10*row + column, in chunks of 2 x 3; chunk (1, 1) is absent.
fn variable() -> Variable {
    let mut variable = Variable::new(&[5, 4], &[2, 3], 2).unwrap();
    variable.set_endian(Endian::Big).unwrap();
    variable.set_fill_value(Some(&(-1i16).to_ne_bytes())).unwrap();
    variable
}

fn chunk(indices: &[isize]) -> Option<Vec<u8>> {
    let value = |i: isize, j: isize| (10 * (2 * indices[0] + i) + 3 * indices[1] + j) as i16;
    (indices != [1, 1]).then(|| (0..2).flat_map(|i| (0..3).flat_map(move |j| value(i, j).to_be_bytes())).collect())
}

/// Gives a chunk that is there, or says that it is not.
fn give(chunk: Option<&[u8]>, buffer: &mut Buffer<'_>) -> Result<Filled> {
    let Some(bytes) = chunk else { return Ok(Filled::Absent) };
    buffer.write(&bytes[..bytes.len().min(buffer.capacity())]);
    Ok(Filled::Stored(bytes.len()))
}

fn fill(request: &Request<'_>, buffer: &mut Buffer<'_>) -> Result<Filled> {
    give(chunk(request.chunk()).as_deref(), buffer)
}

struct Lending(Vec<Option<Vec<u8>>>);

impl ZeroCopyReader for Lending {
    fn lend<'t>(&self, request: &Request<'_>, take: Take<'t>) -> Result<Taken<'t>> {
        let chunk = &self.0[(request.chunk()[0] * 2 + request.chunk()[1]) as usize];
        take.give(chunk.as_deref().map_or(BorrowedChunk::Absent, BorrowedChunk::Chunk))
    }
}

fn all_chunks() -> Vec<Option<Vec<u8>>> {
    (0..6).map(|i| chunk(&[i / 2, i % 2])).collect()
}

fn values(bytes: &[u8]) -> Vec<i16> {
    bytes.as_chunks().0.iter().map(|&bytes| i16::from_ne_bytes(bytes)).collect()
}

fn read_i16(store: &ChunkStore<'_>, start: [usize; 2], count: [usize; 2], stride: [isize; 2]) -> Result<Vec<i16>> {
    let variable = variable();
    let plan = Plan::new(&variable, &Hyperslab::new(&start, &count).with_stride(&stride), Access::Read)?;
    let mut out = vec![0; plan.selected_bytes()];
    plan.read(store, &mut out)?;
    Ok(values(&out))
}

#[test]
fn both_kinds_of_reader_give_the_same_values() {
    for store in [ChunkStore::new(fill).unwrap(), ChunkStore::zero_copy(Lending(all_chunks())).unwrap()] {
        assert_eq!(read_i16(&store, [1, 0], [2, 4], [2, 1]).unwrap(), [10, 11, 12, 13, 30, 31, 32, -1]);
        assert_eq!(read_i16(&store, [0, 0], [2, 3], [1, 1]).unwrap(), [0, 1, 2, 10, 11, 12]);
        assert_eq!(read_i16(&store, [2, 3], [2, 1], [1, 1]).unwrap(), [-1, -1]);
    }
}

/// Large pages are asked for where all of a large region is read, and nowhere else.
#[cfg(all(target_os = "linux", not(miri)))]
#[test]
fn large_reads_ask_for_large_pages() {
    use crate::pages;
    use std::ptr::NonNull;

    /// Whether they are asked for within new memory, which lies by itself.
    fn asked(mut read: impl FnMut(&mut [u8])) -> Option<bool> {
        let mut memory: Vec<u8> = Vec::with_capacity(48 << 20);
        memory.resize(40 << 20, 0);
        read(&mut memory);
        pages::are_large_asked_for(&raw const memory[5 << 20])
    }
    let advise = |memory: &mut [u8]| pages::ask_for_large(NonNull::from(&mut memory[0]), memory.len());
    if asked(|memory| advise(memory)) != Some(true) || asked(|_| ()) != Some(false) {
        return; // This system has none, or gives them to everybody.
    }
    let variable = Variable::new(&[40, 1 << 20], &[20, 1 << 20], 1).unwrap();
    let store = ChunkStore::new(|_: &Request<'_>, _: &mut Buffer<'_>| Ok(Filled::Absent)).unwrap();
    let plan = Plan::new(&variable, &Hyperslab::all(), Access::Read).unwrap();
    assert_eq!(asked(|memory| plan.read(&store, memory).unwrap()), Some(true));
    assert_eq!(asked(|memory| plan.read_chunks(&store, 0..1, memory, Options::default()).unwrap()), Some(false));
    let one = Variable::new(&[40 << 20], &[40 << 20], 1).unwrap();
    let read_one = |memory: &mut [u8]| {
        read(&one, &store, &Hyperslab::all(), |_| Ok(memory.into()), &Options::default(), &mut 0).unwrap();
    };
    assert_eq!(asked(read_one), Some(true));
}

#[test]
fn an_error_names_its_chunk() {
    let mut chunks = all_chunks();
    chunks[4] = Some(vec![0; 11]);
    let store = ChunkStore::zero_copy(Lending(chunks)).unwrap();
    let error = read_i16(&store, [0, 0], [5, 4], [1, 1]).unwrap_err();
    assert_eq!(error.to_string(), "chunk (2, 0): the stored chunk has 11 bytes, expected 12");
}

#[test]
fn a_plan_is_for_one_direction_and_one_length_of_memory() {
    let (variable, store) = (variable(), ChunkStore::new(fill).unwrap());
    let plan = Plan::new(&variable, &Hyperslab::all(), Access::Read).unwrap();
    assert_eq!(plan.read(&store, &mut [0; 39]).unwrap_err().kind(), ErrorKind::Memory { len: 39 });
    assert!(matches!(plan.write(&store, &[0; 40]).unwrap_err().kind(), ErrorKind::Argument(_)));
    let plan = Plan::new(&variable, &Hyperslab::all(), Access::Write).unwrap();
    assert!(matches!(plan.read(&store, &mut [0; 40]).unwrap_err().kind(), ErrorKind::Argument(_)));
    assert_eq!(plan.write(&store, &[0; 40]).unwrap_err().kind(), ErrorKind::ReadOnly);
}

/// Reads of some chunks leave the memory of the others alone, whatever the layout, and parts make up the whole.
#[test]
fn ranges_of_chunks_are_read_by_themselves() {
    let (variable, store) = (variable(), ChunkStore::zero_copy(Lending(all_chunks())).unwrap());
    let plan = |imap: &[isize]| Plan::new(&variable, &Hyperslab::all(), Access::Read).unwrap().with_imap(imap).unwrap();
    for imap in [[4, 1], [1, 5], [-4, 1], [9, 2]] {
        let (plan, prepared) = (plan(&imap), Prepared::new(plan(&imap)).unwrap());
        let untouched = vec![0xA7; plan.memory_bytes()];
        let mut whole = untouched.clone();
        plan.read(&store, &mut whole).unwrap();
        let options = Options::default();
        let (mut parts, mut prepared_parts) = (untouched.clone(), untouched.clone());
        for i in 0..plan.num_chunks() {
            let mut one = untouched.clone();
            plan.read_chunks(&store, i..i + 1, &mut one, options).unwrap();
            assert!(one.iter().zip(&whole).all(|(one, whole)| one == whole || *one == 0xA7));
            assert!(one.iter().filter(|&&byte| byte != 0xA7).count() <= 12);
            plan.read_chunks(&store, i..i + 1, &mut parts, options).unwrap();
            prepared.read_chunks(&store, i..i + 1, &mut prepared_parts, options).unwrap();
        }
        assert_eq!((&parts, &prepared_parts), (&whole, &whole));
        let mut out = untouched.clone();
        assert!(plan.read_chunks(&store, 3..3, &mut out, options).is_ok() && out == untouched);
        assert!(plan.read_chunks(&store, 6..6, &mut out, options).is_ok() && out == untouched);
        let kind = |range| plan.read_chunks(&store, range, &mut vec![0; whole.len()], options).unwrap_err().kind();
        assert_eq!(kind(7..7), ErrorKind::Index { index: 7, len: 6 });
        assert_eq!(kind(5..7), ErrorKind::ChunkRange { first: 5, num_chunks: 2, len: 6 });
    }
}

/// What a store that fills in chunks was asked for: the chunk, where from and how much, and what was stored.
#[derive(Default)]
struct Asked {
    fetched: Mutex<Vec<(Vec<isize>, usize, usize)>>,
    stored: Mutex<Vec<(Vec<isize>, Vec<u8>)>>,
}

/// Chunks of any rank in memory, which are filled in as a whole or, with a gap, in ranges; what is swapped of them in
/// parts, if there are any.
struct Filling<'a> {
    asked: &'a Asked,
    gap: Option<usize>,
    chunk: &'a (dyn Fn(&[isize]) -> Option<Vec<u8>> + Sync),
    swapped_part: Option<usize>,
    versions: Versions,
}

impl<'a> Filling<'a> {
    fn new(asked: &'a Asked, gap: Option<usize>, chunk: &'a (dyn Fn(&[isize]) -> Option<Vec<u8>> + Sync)) -> Self {
        Filling { asked, gap, chunk, swapped_part: None, versions: Versions::Constant }
    }
}

impl ChunkReader for Filling<'_> {
    fn fill(&self, request: &Request<'_>, buffer: &mut Buffer<'_>) -> Result<Filled> {
        let (indices, offset) = (request.chunk().to_vec(), request.offset());
        self.asked.fetched.lock().unwrap().push((indices, offset, buffer.capacity()));
        let chunk = (self.chunk)(request.chunk());
        give(chunk.as_deref().map(|chunk| &chunk[offset..]), buffer)
    }

    fn range_gap(&self) -> Option<usize> {
        self.gap
    }

    fn swapped_part(&self) -> Option<usize> {
        self.swapped_part
    }

    fn versions(&self) -> Versions {
        self.versions
    }

    fn is_writable(&self) -> bool {
        true
    }

    fn store(&self, request: &Request<'_>, bytes: &[u8]) -> Result<()> {
        assert_eq!((request.access(), bytes.len()), (Access::Write, request.chunk_bytes()));
        self.asked.stored.lock().unwrap().push((request.chunk().to_vec(), bytes.to_vec()));
        Ok(())
    }
}

/// Only what is needed of a raw chunk is fetched, in ranges that are at least the gap apart.
#[test]
fn ranges_of_a_chunk_are_fetched() {
    // One chunk of 8 rows of 16 two-byte elements, big-endian, value 16*row + column.
    let mut variable = Variable::new(&[8, 16], &[8, 16], 2).unwrap();
    variable.set_endian(Endian::Big).unwrap();
    let chunk = |_: &[isize]| Some((0..128u16).flat_map(u16::to_be_bytes).collect());
    let check = |start: [usize; 2], count: [usize; 2], stride: [isize; 2], gap, expected: &[(usize, usize)]| {
        let asked = Asked::default();
        let store = ChunkStore::new(Filling::new(&asked, Some(gap), &chunk)).unwrap();
        let slab = Hyperslab::new(&start, &count).with_stride(&stride);
        let plan = Plan::new(&variable, &slab, Access::Read).unwrap();
        for prepared in [None, Some(Prepared::new(Plan::new(&variable, &slab, Access::Read).unwrap()).unwrap())] {
            asked.fetched.lock().unwrap().clear();
            let mut out = vec![0xA7; plan.selected_bytes()];
            match &prepared {
                None => plan.read(&store, &mut out).unwrap(),
                Some(prepared) => prepared.read(&store, &mut out).unwrap(),
            }
            let element = |e: usize| {
                let (i, j) = (e / count[1], e % count[1]);
                (16 * (start[0] + i * stride[0] as usize) + start[1] + j * stride[1] as usize) as i16
            };
            assert_eq!(values(&out), (0..count[0] * count[1]).map(element).collect::<Vec<_>>());
            let fetched = asked.fetched.lock().unwrap();
            let ranges: Vec<_> = fetched.iter().map(|(_, offset, len)| (*offset, *len)).collect();
            assert_eq!(ranges, expected, "{slab:?}, gap {gap}");
        }
    };
    // Whole rows, which land in one piece; parts of rows, with a gap of 24 bytes; every other element.
    check([2, 0], [3, 16], [1, 1], 1, &[(64, 96)]);
    check([2, 0], [3, 16], [2, 1], 1, &[(64, 32), (128, 32), (192, 32)]);
    check([1, 3], [3, 4], [1, 1], 24, &[(38, 8), (70, 8), (102, 8)]);
    check([1, 3], [3, 4], [1, 1], 25, &[(38, 72)]);
    check([1, 3], [2, 3], [3, 2], 2, &[(38, 2), (42, 2), (46, 2), (134, 2), (138, 2), (142, 2)]);
    check([1, 3], [2, 3], [3, 2], 3, &[(38, 10), (134, 10)]);
    check([7, 15], [1, 1], [1, 1], 1, &[(254, 2)]);
    check([0, 0], [8, 16], [1, 1], 1, &[(0, 256)]);
    check([0, 0], [8, 8], [1, 2], 100, &[(0, 254)]);
}

/// A file as a chunk, which is kept open while its ranges are read. What the file has no bytes for is asked for.
#[cfg(not(miri))]
#[test]
fn a_chunk_is_opened_once_for_all_its_ranges() {
    use crate::open_object::Opening;

    struct InFile<'a> {
        filling: Filling<'a>,
        file: Option<std::fs::File>,
        times_opened: &'a Mutex<usize>,
    }

    impl ChunkReader for InFile<'_> {
        fn fill(&self, request: &Request<'_>, buffer: &mut Buffer<'_>) -> Result<Filled> {
            self.filling.fill(request, buffer)
        }

        fn range_gap(&self) -> Option<usize> {
            self.filling.range_gap()
        }

        fn open(&self, _: &Request<'_>) -> Result<Opening<'_>> {
            *self.times_opened.lock().unwrap() += 1;
            Ok(self.file.as_ref().map_or(Opening::Absent, |file| Opening::borrowed(file).behind(3)))
        }
    }

    let mut variable = Variable::new(&[8, 4], &[8, 4], 1).unwrap();
    variable.set_fill_value(Some(&[200])).unwrap();
    let chunk = |_: &[isize]| Some((100..132).collect());
    let path = std::env::temp_dir().join(format!("nczchunk-opened-{}", std::process::id()));
    std::fs::write(&path, [[90; 3].as_slice(), &(0..18).collect::<Vec<u8>>()].concat()).unwrap();
    let read = |file: Option<std::fs::File>, start: [usize; 2], count: [usize; 2]| {
        let (asked, times_opened) = (Asked::default(), Mutex::new(0));
        let filling = Filling::new(&asked, Some(1), &chunk);
        let store = ChunkStore::new(InFile { filling, file, times_opened: &times_opened }).unwrap();
        let values = crate::read::<u8>(&variable, &store, &Hyperslab::new(&start, &count)).unwrap();
        drop(store);
        let fetched: Vec<usize> = asked.fetched.lock().unwrap().iter().map(|(_, offset, _)| *offset).collect();
        (values, times_opened.into_inner().unwrap(), fetched)
    };
    let file = || std::fs::File::open(&path).ok();
    assert_eq!(read(file(), [1, 1], [3, 2]), (vec![5, 6, 9, 10, 13, 14], 1, vec![]));
    assert_eq!(read(file(), [3, 1], [2, 2]), (vec![13, 14, 117, 118], 1, vec![17]));
    assert_eq!(read(file(), [1, 1], [1, 2]), (vec![105, 106], 0, vec![5]));
    assert_eq!(read(None, [1, 1], [2, 2]), (vec![200; 4], 1, vec![]));
    std::fs::remove_file(&path).unwrap();
}

/// A chunk that is a file, which stays open while its ranges are read.
#[cfg(not(miri))]
struct OfFile {
    file: std::fs::File,
    gap: usize,
}

#[cfg(not(miri))]
impl ChunkReader for OfFile {
    fn fill(&self, request: &Request<'_>, buffer: &mut Buffer<'_>) -> Result<Filled> {
        let offset = request.offset() as u64;
        crate::open_object::read_at(&self.file, offset, buffer.capacity(), buffer)?;
        Ok(Filled::Stored((self.file.metadata()?.len() - offset) as usize))
    }

    fn range_gap(&self) -> Option<usize> {
        Some(self.gap)
    }

    fn open(&self, _: &Request<'_>) -> Result<crate::open_object::Opening<'_>> {
        Ok(crate::open_object::Opening::borrowed(&self.file))
    }

    fn versions(&self) -> Versions {
        Versions::Told
    }
}

/// A new file with these bytes, which has no name.
#[cfg(not(miri))]
fn file_of(name: &str, bytes: &[u8]) -> std::fs::File {
    let path = std::env::temp_dir().join(format!("nczchunk-{name}-{}", std::process::id()));
    std::fs::write(&path, bytes).unwrap();
    let file = std::fs::File::open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    file
}

/// Elements that lie far apart are read from the page cache one by one, though whoever waits for a disk reads what is
/// between them, too.
#[cfg(all(target_os = "linux", not(miri)))]
#[test]
fn elements_in_the_page_cache_are_read_without_what_is_between_them() {
    use crate::open_object::Opening;

    const ROW: usize = 12_000;
    let bytes: Vec<u8> = (0..100 * ROW).map(|i| (i / ROW + i % ROW) as u8).collect();
    let variable = Variable::new(&[100, ROW], &[100, ROW], 1).unwrap();
    let read = |len: usize, gap| {
        let reader = OfFile { file: file_of("far", &bytes[..len]), gap };
        let Opening::Object(object) = Opening::borrowed(&reader.file) else { unreachable!() };
        let is_cached = object.fill_at_once(0, &mut Buffer::new(&mut [MaybeUninit::uninit(); 9]));
        let store = ChunkStore::new(reader).unwrap();
        let bytes_read = || -> Option<u64> {
            let counts = std::fs::read_to_string("/proc/thread-self/io").ok()?;
            counts.lines().next()?.strip_prefix("rchar: ")?.parse().ok()
        };
        let before = bytes_read();
        let found = crate::read::<u8>(&variable, &store, &Hyperslab::new(&[0, 7], &[100, 1]));
        (found, bytes_read().zip(before).filter(|_| is_cached).map(|(now, before)| now - before))
    };
    let expected: Vec<u8> = (7..107).collect();
    for (gap, most) in [(1 << 14, 1000), (ROW - 1, 1000), (SKIPPED, 1000), (ROW, 1000)] {
        let (found, bytes_read) = read(bytes.len(), gap);
        assert_eq!(found.unwrap(), expected, "{gap}");
        assert!(bytes_read.is_none_or(|bytes_read| bytes_read < most), "{gap}: {bytes_read:?}");
    }
    // The last ones are not there.
    let error = read(50 * ROW, 1 << 14).0.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::StoredLength { .. }), "{error}");
}

/// What is left to be read of a large chunk in a file is shared by the threads, of which each reads a part.
#[cfg(not(miri))]
#[test]
fn a_large_chunk_of_a_file_is_read_by_threads() {
    // Rows of 1 MB, in the file's byte order and in memory's.
    let (rows, row) = (7, 500_000);
    let [bytes, due] = [u16::to_be_bytes, u16::to_ne_bytes]
        .map(|order| (0..rows * row).flat_map(|i| order((i as u16).wrapping_mul(7))).collect::<Vec<u8>>());
    let mut variable = Variable::new(&[rows, row], &[rows, row], 2).unwrap();
    variable.set_endian(Endian::Big).unwrap();
    let [whole, cut] = [bytes.len(), bytes.len() - 3].map(|len| file_of("large", &bytes[..len]));
    let read = |file: &std::fs::File, start: [usize; 2], count: [usize; 2], threads| {
        let reader = OfFile { file: file.try_clone().unwrap(), gap: 100 };
        let store = ChunkStore::new(reader).unwrap();
        let plan = Plan::new(&variable, &Hyperslab::new(&start, &count), Access::Read).unwrap();
        let mut out = vec![0; plan.selected_bytes()];
        let options = Options::default().with_threads(threads);
        let result = plan.read_chunks(&store, 0..1, &mut out, options);
        (result.map_err(|error| error.kind()), out)
    };
    for (start, count) in [([0, 0], [7, row]), ([2, 0], [5, row]), ([0, 3], [7, row - 50]), ([1, 1000], [6, 400_000])] {
        let rows = (start[0]..start[0] + count[0]).map(|i| i * row + start[1]);
        let expected = rows.map(|begin| &due[2 * begin..2 * (begin + count[1])]).collect::<Vec<_>>().concat();
        for threads in [1, 2, 3, 100] {
            let (result, out) = read(&whole, start, count, threads);
            assert!(result == Ok(()) && out == expected, "{start:?} {threads} {result:?}");
        }
    }
    let of_one = read(&cut, [0, 0], [7, row], 1).0;
    assert!(matches!(of_one, Err(ErrorKind::StoredLength { .. })), "{of_one:?}");
    assert_eq!(read(&cut, [0, 0], [7, row], 3).0, of_one);
}

/// A chunk that is absent is not asked for part by part.
#[test]
fn an_absent_chunk_in_parts_is_asked_for_once() {
    let mut variable = Variable::new(&[32], &[32], 4).unwrap();
    variable.set_endian(if cfg!(target_endian = "little") { Endian::Big } else { Endian::Little }).unwrap();
    variable.set_fill_value(Some(&7u32.to_ne_bytes())).unwrap();
    let asked = Asked::default();
    let store =
        ChunkStore::new(Filling { swapped_part: Some(44), ..Filling::new(&asked, Some(1), &|_| None) }).unwrap();
    assert_eq!(crate::read::<u32>(&variable, &store, &Hyperslab::all()).unwrap(), [7; 32]);
    assert_eq!(*asked.fetched.lock().unwrap(), [(vec![0], 0, 44)]);
}

/// What lands in memory in one piece is read in parts, each a number of elements, if its words are swapped; past the
/// cache or not.
#[test]
fn what_is_swapped_is_read_in_parts() {
    // Two chunks of 8 rows of 4 elements of 8 bytes, whose words have 4.
    let chunk =
        |indices: &[isize]| Some((0..64u32).flat_map(|i| (i + 100 * indices[0] as u32).to_be_bytes()).collect());
    let mut variable = Variable::new(&[16, 4], &[8, 4], 8).unwrap();
    variable.set_word_size(4).unwrap();
    use Volume::{Small, Streaming};
    for (endian, volume) in [(Endian::Big, Small), (Endian::Big, Streaming), (Endian::Little, Small)] {
        variable.set_endian(endian).unwrap();
        let asked = Asked::default();
        let store =
            ChunkStore::new(Filling { swapped_part: Some(44), ..Filling::new(&asked, Some(1), &chunk) }).unwrap();
        let mut out = vec![0; 14 * 32];
        let plan = Plan::new(&variable, &Hyperslab::new(&[2, 0], &[14, 4]), Access::Read).unwrap();
        let is_swapped = (endian == Endian::Big) == cfg!(target_endian = "little");
        let fence = Fence::new(volume);
        let destination = &mut Destination::from(&mut out[..]);
        let mut reading = read::Reading::new(&variable, &store, None, Threads::ONE);
        let mut walk = walk::Walk::new(&plan, volume);
        walk.go_to(0).unwrap();
        reading.piece(&walk.piece().unwrap(), destination).unwrap();
        walk.go_to(1).unwrap();
        reading.piece(&walk.piece().unwrap(), destination).unwrap();
        let due = |i: u32| if i < 48 { 16 + i } else { 100 + i - 48 };
        drop(fence);
        let bytes = |i: u32| if is_swapped { due(i).to_le_bytes() } else { due(i).to_be_bytes() };
        assert_eq!(out, (0..112).flat_map(bytes).collect::<Vec<u8>>());
        let fetched: Vec<_> = asked.fetched.lock().unwrap().iter().map(|(_, offset, len)| (*offset, *len)).collect();
        let parts = |begin: usize| (begin..256).step_by(40).map(move |at| (at, 40.min(256 - at)));
        let whole = vec![(64, 192), (0, 256)];
        assert_eq!(fetched, if is_swapped { parts(64).chain(parts(0)).collect() } else { whole });
    }
}

/// What could be replaced between two reads is read at once, though it is swapped.
#[test]
fn what_is_swapped_is_not_read_in_parts_that_may_be_of_two_versions() {
    let mut variable = Variable::new(&[32], &[32], 4).unwrap();
    let is_little = cfg!(target_endian = "little");
    variable.set_endian(if is_little { Endian::Big } else { Endian::Little }).unwrap();
    let chunk = |_: &[isize]| Some((0..32u32).flat_map(|i| i.swap_bytes().to_ne_bytes()).collect());
    let asked = Asked::default();
    let (swapped_part, versions) = (Some(44), Versions::Unknown);
    let reader = Filling { swapped_part, versions, ..Filling::new(&asked, Some(1), &chunk) };
    let store = ChunkStore::new(reader).unwrap();
    assert_eq!(crate::read::<u32>(&variable, &store, &Hyperslab::all()).unwrap(), Vec::from_iter(0..32));
    assert_eq!(*asked.fetched.lock().unwrap(), [(vec![0], 0, 128)]);
}

#[test]
fn ranges_of_an_absent_chunk_are_fill_value() {
    let (variable, asked) = (variable(), Asked::default());
    let store = ChunkStore::new(Filling::new(&asked, Some(1), &chunk)).unwrap();
    let slab = Hyperslab::new(&[0, 2], &[4, 2]);
    let mut out = vec![0; 16];
    Plan::new(&variable, &slab, Access::Read).unwrap().read(&store, &mut out).unwrap();
    assert_eq!(values(&out), [2, 3, 12, 13, 22, -1, 32, -1]);
    // Two ranges of each chunk that is there; the absent one is asked for once.
    let fetched = asked.fetched.lock().unwrap();
    assert_eq!((fetched.len(), fetched.iter().filter(|(indices, ..)| indices == &[1, 1]).count()), (7, 1));
}

/// A write goes by the write grid: the store is asked for shards, and only for those that are not covered.
#[test]
fn writes_go_by_the_write_grid() {
    // 10 x 6 elements of one byte, in chunks of 2 x 3 and shards of 4 x 6.
    let mut variable = Variable::new(&[10, 6], &[2, 3], 1).unwrap();
    variable.set_write_grid(Some(&[4, 6])).unwrap();
    variable.set_fill_value(Some(&[9])).unwrap();
    let asked = Asked::default();
    let shard = |indices: &[isize]| (indices[0] != 2).then(|| vec![50 + indices[0] as u8; 24]);
    let store = ChunkStore::new(Filling::new(&asked, Some(1), &shard)).unwrap();
    let plan = Plan::new(&variable, &Hyperslab::new(&[2, 0], &[7, 6]), Access::Write).unwrap();
    assert_eq!((plan.num_chunks(), plan.num_covered()), (3, 1));
    let data: Vec<u8> = (100..142).collect();
    for prepared in [false, true] {
        *asked.stored.lock().unwrap() = Vec::new();
        *asked.fetched.lock().unwrap() = Vec::new();
        if prepared {
            let plan = Plan::new(&variable, &Hyperslab::new(&[2, 0], &[7, 6]), Access::Write).unwrap();
            Prepared::new(plan).unwrap().write(&store, &data).unwrap();
        } else {
            plan.write(&store, &data).unwrap();
        }
        assert_eq!(*asked.fetched.lock().unwrap(), [(vec![0, 0], 0, 24), (vec![2, 0], 0, 24)]);
        let stored = asked.stored.lock().unwrap();
        let expected = [
            [vec![50; 12], data[..12].to_vec()].concat(),
            data[12..36].to_vec(),
            // An absent one: what is not written is fill value, inside the dimensions and outside.
            [data[36..].to_vec(), vec![9; 18]].concat(),
        ];
        assert_eq!(stored.len(), 3);
        for (i, (indices, bytes)) in stored.iter().enumerate() {
            assert_eq!((indices.as_slice(), bytes), ([i as isize, 0].as_slice(), &expected[i]));
        }
    }
    // A read goes by chunks as before.
    let plan = Plan::new(&variable, &Hyperslab::all(), Access::Read).unwrap();
    assert_eq!((plan.num_chunks(), plan.grid().chunk_bytes()), (10, 6));
}

/// At the end of the longest dimension there is, the cache forgets the chunks of a shard that is written.
#[test]
fn the_last_shard_of_the_longest_dimension_is_written() {
    let len = isize::MAX as usize + 1;
    let mut variable = Variable::new(&[len, 2], &[1, 2], 1).unwrap();
    variable.set_write_grid(Some(&[2, 2])).unwrap();
    let asked = Asked::default();
    let shard = |_: &[isize]| Some(vec![5; 4]);
    let mut store = ChunkStore::new(Filling::new(&asked, None, &shard)).unwrap();
    let cache = crate::Cache::new(1000).unwrap();
    store.set_cache(Some(&cache));
    let last = isize::MAX;
    let turn = store.cache().unwrap().begin();
    for chunk in [last - 2, last - 1, last] {
        assert!(store.cache().unwrap().keep(&[chunk, 0], 2, turn).unwrap().is_some_and(|mut loading| {
            loading.room(2).unwrap().fill(MaybeUninit::new(5));
            // SAFETY: both bytes have just been written.
            #[allow(unsafe_code)]
            unsafe { loading.finish(2, 0..2) }.is_ok()
        }));
    }
    let plan = Plan::new(&variable, &Hyperslab::new(&[len - 1, 1], &[1, 1]), Access::Write).unwrap();
    plan.write(&store, &[6]).unwrap();
    assert_eq!(*asked.stored.lock().unwrap(), [(vec![last / 2, 0], vec![5, 5, 5, 6])]);
    let is_kept = |chunk| store.cache().unwrap().ready(&[chunk, 0], &(0..2), 2, turn).unwrap().is_some();
    assert_eq!([last - 2, last - 1, last].map(is_kept), [true, false, false]);
}

/// Every order of a chunk's axes, read and written, against the elements one by one.
#[test]
fn chunks_in_any_order_of_axes() {
    const LENS: [usize; 3] = [5, 4, 6];
    const CHUNKS: [usize; 3] = [2, 3, 4];
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let mut variable = Variable::new(&LENS, &CHUNKS, 2).unwrap();
        variable.set_chunk_order(Some(&order)).unwrap();
        // The place of an element in a stored chunk: the last axis of the order is the fastest.
        let place = |within: [usize; 3]| order.iter().fold(0, |place, &d| place * CHUNKS[d] + within[d]);
        let value = |e: [usize; 3]| (100 * e[0] + 10 * e[1] + e[2]) as i16;
        let chunk = |indices: &[isize]| {
            let mut bytes = vec![0; 48];
            for i in 0..24 {
                let within = [i / 12, i / 4 % 3, i % 4];
                let e = [0, 1, 2].map(|d| indices[d] as usize * CHUNKS[d] + within[d]);
                bytes[2 * place(within)..][..2].copy_from_slice(&value(e).to_ne_bytes());
            }
            Some(bytes)
        };
        let asked = Asked::default();
        let (start, count, stride) = ([1, 0, 1], [2, 4, 3], [3, 1, 2]);
        for slab in [Hyperslab::all(), Hyperslab::new(&start, &count).with_stride(&stride)] {
            let plan = Plan::new(&variable, &slab, Access::Read).unwrap();
            let counts: Vec<_> = plan.dimensions().iter().map(|d| d.slice()).collect();
            let mut expected = Vec::new();
            for i in 0..counts[0].count() {
                for j in 0..counts[1].count() {
                    for k in 0..counts[2].count() {
                        let at = |d: usize, k: usize| counts[d].start() + k * counts[d].stride();
                        expected.push(value([at(0, i), at(1, j), at(2, k)]));
                    }
                }
            }
            for gap in [None, Some(1), Some(7)] {
                let store = ChunkStore::new(Filling::new(&asked, gap, &chunk)).unwrap();
                let mut out = vec![0; plan.selected_bytes()];
                plan.read(&store, &mut out).unwrap();
                assert_eq!(values(&out), expected, "{order:?}, gap {gap:?}");
            }
            let store = ChunkStore::new(Filling::new(&asked, None, &chunk)).unwrap();
            let plan = Plan::new(&variable, &slab, Access::Write).unwrap();
            asked.stored.lock().unwrap().clear();
            // What is written is what is there, so chunks come back as they are, but beyond the dimensions.
            let data: Vec<u8> = expected.iter().flat_map(|value| value.to_ne_bytes()).collect();
            plan.write(&store, &data).unwrap();
            for (indices, bytes) in asked.stored.lock().unwrap().iter() {
                let before = chunk(indices).unwrap();
                for i in 0..24 {
                    let within = [i / 12, i / 4 % 3, i % 4];
                    if (0..3).all(|d| indices[d] as usize * CHUNKS[d] + within[d] < LENS[d]) {
                        let at = 2 * place(within);
                        assert_eq!(bytes[at..at + 2], before[at..at + 2], "{order:?}, chunk {indices:?}");
                    }
                }
            }
        }
    }
}

/// Plans of up to 64 chunks are prepared, those of more are not; either way they read and write what a plan does, also
/// by several threads at the same time.
#[test]
fn prepared_plans_do_what_plans_do() {
    let rows = if cfg!(miri) { [6, 130] } else { [60, 1300] };
    for rows in rows {
        let variable = Variable::new(&[rows, 6], &[2, 4], 2).unwrap();
        let chunk = |indices: &[isize]| {
            (indices[0] % 3 != 1).then(|| (0..16).map(|i| (indices[0] * 7 + indices[1] * 5) as u8 ^ i).collect())
        };
        let asked = [Asked::default(), Asked::default()];
        let [store, other] =
            [0, 1].map(|i| ChunkStore::new(Filling::new(&asked[i], (i == 1).then_some(1), &chunk)).unwrap());
        let count = [rows - 1, 5];
        for slab in [Hyperslab::all(), Hyperslab::new(&[1, 1], &count)] {
            let read = || Plan::new(&variable, &slab, Access::Read).unwrap();
            let (plan, prepared) = (read(), Prepared::new(read()).unwrap());
            let mut expected = vec![0; plan.selected_bytes()];
            plan.read(&store, &mut expected).unwrap();
            std::thread::scope(|scope| {
                for thread in 0..3 {
                    let (prepared, expected, store) = (&prepared, &expected, if thread == 2 { &other } else { &store });
                    scope.spawn(move || {
                        for _ in 0..3 {
                            let mut out = vec![0xA7; prepared.memory_bytes()];
                            prepared.read(store, &mut out).unwrap();
                            assert!(out == *expected);
                        }
                    });
                }
            });
            let write = || Plan::new(&variable, &slab, Access::Write).unwrap();
            let data: Vec<u8> = (0..expected.len()).map(|i| (i * 3) as u8).collect();
            write().write(&store, &data).unwrap();
            let written = std::mem::take(&mut *asked[0].stored.lock().unwrap());
            Prepared::new(write()).unwrap().write(&store, &data).unwrap();
            assert!(written == std::mem::take(&mut *asked[0].stored.lock().unwrap()));
        }
    }
}

/// A prepared plan for one element has no other chunks than another plan has.
#[test]
fn a_prepared_plan_for_one_element_has_one_chunk() {
    let (variable, store) = (variable(), ChunkStore::zero_copy(Lending(all_chunks())).unwrap());
    let plan = Plan::new(&variable, &Hyperslab::new(&[3, 2], &[1, 1]), Access::Read).unwrap();
    let prepared = Prepared::new(plan).unwrap();
    let mut out = [0; 2];
    for (chunks, is_there) in [(0..0, true), (0..1, true), (1..1, true), (0..7, false), (5..9, false), (2..2, false)] {
        let result = prepared.read_chunks(&store, chunks.clone(), &mut out, Options::default());
        assert_eq!(result.is_ok(), is_there, "{chunks:?}");
    }
    assert_eq!(values(&out), [32]);
}

/// Threads and progress are asked for by options: the calling thread is told, and can end the transfer.
#[test]
fn options_are_for_threads_and_progress() {
    let rows = if cfg!(miri) { 20 } else { 400 };
    let variable = Variable::new(&[rows, 8], &[1, 8], 1).unwrap();
    let slow = |request: &Request<'_>, buffer: &mut Buffer<'_>| {
        std::thread::sleep(Duration::from_micros(100));
        buffer.zeroed().fill(request.chunk()[0] as u8);
        Ok(Filled::Stored(buffer.capacity()))
    };
    let store = ChunkStore::new(slow).unwrap();
    let plan = Plan::new(&variable, &Hyperslab::all(), Access::Read).unwrap();
    for threads in [0, 1, 4, 1000] {
        let (own, told) = (std::thread::current().id(), Mutex::new(Vec::new()));
        let progress = |at: Progress| {
            assert_eq!(std::thread::current().id(), own);
            assert_eq!((at.num_chunks, at.num_bytes), (rows - 2, (rows - 2) * 8));
            told.lock().unwrap().push((at.chunks_done, at.bytes_done));
            0
        };
        let options = Options::default().with_threads(threads).with_progress(&progress);
        let mut out = vec![0xA7; plan.memory_bytes()];
        plan.read_chunks(&store, 1..rows - 1, &mut out, options).unwrap();
        let row = |i: usize| if i == 0 || i == rows - 1 { 0xA7 } else { i as u8 };
        assert!(out.chunks(8).enumerate().all(|(i, bytes)| bytes.iter().all(|&byte| byte == row(i))));
        let told = told.into_inner().unwrap();
        assert_eq!((told[0], told[told.len() - 1]), ((0, 0), (rows - 2, (rows - 2) * 8)));
        assert!(told.is_sorted());
        assert!(threads > 1 || told.len() == rows - 1);

        let stop = |at: Progress| if at.chunks_done >= 3 { -7 } else { 0 };
        let options = Options::default().with_threads(threads).with_progress(&stop);
        let transfer = Transfer::new(&plan, None, &store, 0..rows, &options).unwrap();
        let mut done = 0;
        match transfer.read(out.as_mut_slice().into(), &mut done) {
            // Other threads may have done all the rest before this one came to it.
            Ok(()) => assert!(done == rows && threads > 1),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Stopped(-7));
                assert!(done < rows && (threads > 1 || done == 3));
            }
        }
    }
}

/// A panic of a reader in a thread of the transfer's ends the call with an error, in whichever of them it is.
#[test]
fn a_panic_of_a_reader_ends_the_call_with_an_error() {
    use std::sync::atomic::{AtomicBool, Ordering};

    let both_are_there =
        |are_there: &[AtomicBool; 2]| are_there.iter().all(|is_there| is_there.load(Ordering::Relaxed));
    let (caller, variable) = (std::thread::current().id(), variable());
    let plan = Plan::new(&variable, &Hyperslab::all(), Access::Read).unwrap();
    for panics_in_worker in [true, false] {
        let are_there = [false, true].map(|_| AtomicBool::new(false));
        let store = ChunkStore::new(|request: &Request<'_>, buffer: &mut Buffer<'_>| {
            // It takes long enough for threads, and the first chunk shows that.
            std::thread::sleep(Duration::from_millis(1));
            let is_worker = std::thread::current().id() != caller;
            if request.chunk() != [0, 0] {
                // Both have a chunk now.
                are_there[usize::from(is_worker)].store(true, Ordering::Relaxed);
                let begun = Instant::now();
                while !both_are_there(&are_there) && begun.elapsed() < Duration::from_secs(60) {
                    std::thread::yield_now();
                }
                assert_ne!(is_worker, panics_in_worker, "the reader has a fault");
            }
            fill(request, buffer)
        });
        let mut out = vec![0; plan.memory_bytes()];
        let options = Options::default().with_threads(2);
        let read = plan.read_chunks(&store.unwrap(), 0..plan.num_chunks(), &mut out, options);
        assert_eq!(read.unwrap_err().kind(), ErrorKind::Internal);
        assert!(both_are_there(&are_there));
    }
}

/// zstd is not written in Rust, so it is not for Miri.
#[cfg(all(not(miri), feature = "zstd"))]
mod compressed {
    use super::*;
    use crate::codec::public::Zstd;
    use crate::codec::testing::encoded;

    /// A chunk of 1 MiB.
    fn chunk() -> Vec<u8> {
        (0..1u32 << 18).flat_map(|i| (i.wrapping_mul(2_654_435_761) >> 20).to_le_bytes()).collect()
    }

    #[test]
    fn decoding_stops_after_what_is_needed() {
        let chunk = chunk();
        let frame = encoded(&Zstd::default(), &chunk);
        let mut damaged = frame.clone();
        let at = damaged.len() * 3 / 4;
        damaged[at..].fill(0x55);
        let variable = Variable::new(&[4, 1 << 18], &[4, 1 << 18], 1).unwrap();
        let read = |stored: &[u8], row: usize, verify: bool| {
            let stored = stored.to_vec();
            let mut store =
                ChunkStore::new(move |_: &Request<'_>, buffer: &mut Buffer<'_>| give(Some(&stored), buffer))?;
            store.add_codec(Zstd::default())?;
            store.set_verify(verify);
            let start = [row, 0];
            let plan = Plan::new(&variable, &Hyperslab::new(&start, &[1, 1 << 18]), Access::Read)?;
            let mut out = vec![0; 1 << 18];
            plan.read(&store, &mut out)?;
            assert!(out == chunk[row << 18..][..1 << 18]);
            Ok(())
        };
        for (row, verify) in [(0, false), (0, true), (3, false)] {
            assert!(read(&frame, row, verify).is_ok());
        }
        // The first rows of a damaged chunk, or of one that was cut off, can be read unless all of it is verified.
        for stored in [&damaged, &frame[..frame.len() * 3 / 4]] {
            assert!(read(stored, 0, false).is_ok());
            for (row, verify) in [(3, false), (0, true)] {
                let error: crate::Error = read(stored, row, verify).unwrap_err();
                assert!(matches!(error.kind(), ErrorKind::Corrupt { codec: "zstd", .. }), "{error}");
                assert_eq!((error.status(), error.chunk()), (crate::status::EIO, Some([0, 0].as_slice())));
            }
        }
        // A chunk that decodes to less than is due is not noticed where enough of it is there.
        let short = encoded(&Zstd::default(), &chunk[..3 << 18]);
        assert!(read(&short, 0, false).is_ok());
        for (row, verify) in [(3, false), (0, true)] {
            let error = read(&short, row, verify).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::DecodedLength { found: Some(3 << 18), expected: 1 << 20 });
        }
    }
}

/// Arrays large enough not to pass through the cache, with chunks and boxes that end anywhere in a line. Miri has no
/// such way, and little patience.
#[cfg(not(miri))]
mod large {
    use super::*;

    const LENS: [usize; 2] = [2311, 2011];
    const CHUNKS: [usize; 2] = [500, 307];
    const GRID: [usize; 2] = [5, 7];
    const FILL: u32 = 0xF111_F111;

    fn variable(endian: Endian) -> Variable {
        let mut variable = Variable::new(&LENS, &CHUNKS, 4).unwrap();
        variable.set_endian(endian).unwrap();
        variable.set_fill_value(Some(&FILL.to_ne_bytes())).unwrap();
        variable
    }

    /// Every third chunk is absent.
    fn value(place: [usize; 2]) -> u32 {
        let chunk = place[0] / CHUNKS[0] * GRID[1] + place[1] / CHUNKS[1];
        if chunk % 3 == 1 { FILL } else { (place[0] * LENS[1] + place[1]) as u32 }
    }

    fn to_bytes(value: u32, endian: Endian) -> [u8; 4] {
        if endian == Endian::Big { value.to_be_bytes() } else { value.to_ne_bytes() }
    }

    fn chunks(endian: Endian) -> Vec<Option<Vec<u8>>> {
        let chunk = |number: usize| {
            let base = [number / GRID[1] * CHUNKS[0], number % GRID[1] * CHUNKS[1]];
            let value = |i| value([base[0] + i / CHUNKS[1], base[1] + i % CHUNKS[1]]);
            (number % 3 != 1).then(|| (0..CHUNKS[0] * CHUNKS[1]).flat_map(|i| to_bytes(value(i), endian)).collect())
        };
        (0..GRID[0] * GRID[1]).map(chunk).collect()
    }

    fn number(request: &Request<'_>) -> usize {
        request.chunk()[0] as usize * GRID[1] + request.chunk()[1] as usize
    }

    /// Chunks on loan.
    struct Kept(Vec<Option<Vec<u8>>>);

    impl ZeroCopyReader for Kept {
        fn lend<'t>(&self, request: &Request<'_>, take: Take<'t>) -> Result<Taken<'t>> {
            take.give(self.0[number(request)].as_deref().map_or(BorrowedChunk::Absent, BorrowedChunk::Chunk))
        }
    }

    /// Chunks to be written, which were absent.
    struct Written(Mutex<Vec<Vec<u8>>>);

    impl ZeroCopyReader for &Written {
        fn lend<'t>(&self, _: &Request<'_>, take: Take<'t>) -> Result<Taken<'t>> {
            take.give(BorrowedChunk::Absent)
        }

        fn is_writable(&self) -> bool {
            true
        }

        fn change<'t>(&self, request: &Request<'_>, _: bool, change: Change<'t>) -> Result<Taken<'t>> {
            change.give(BorrowedChunkMut::New(&mut self.0.lock().unwrap()[number(request)]))
        }
    }

    #[test]
    fn reads_of_all_kinds() {
        let requests = [
            ([0, 0], [LENS[0], LENS[1]], [1, 1]),
            ([3, 5], [2300, 2003], [1, 1]),
            ([1, 0], [2311 - 1, 1005], [1, 2]),
            ([0, 1], [770, 2010], [3, 1]),
        ];
        for endian in [Endian::Native, Endian::Big] {
            let (variable, store) = (variable(endian), ChunkStore::zero_copy(Kept(chunks(endian))).unwrap());
            for (start, count, stride) in requests {
                let slab = Hyperslab::new(&start, &count).with_stride(&stride);
                let plan = Plan::new(&variable, &slab, Access::Read).unwrap();
                // Lines begin between elements, or within them.
                for offset in [4, 1] {
                    let mut out = vec![0; plan.selected_bytes() + offset];
                    plan.read(&store, &mut out[offset..]).unwrap();
                    for (e, bytes) in out[offset..].as_chunks().0.iter().enumerate() {
                        let at = |d: usize, k: usize| start[d] + k * stride[d] as usize;
                        let place = [at(0, e / count[1]), at(1, e % count[1])];
                        assert_eq!(u32::from_ne_bytes(*bytes), value(place), "{place:?} of {start:?} {stride:?}");
                    }
                }
            }
        }
    }

    /// Writes all of the array from memory of these strides and compares: place by place, the value that is expected
    /// there.
    fn check_write(endian: Endian, strides: [isize; 2], data: &[u32], expected: impl Fn([usize; 2]) -> u32) {
        let variable = variable(endian);
        let written = Written(Mutex::new(vec![vec![0; variable.chunk_bytes()]; GRID[0] * GRID[1]]));
        let store = ChunkStore::zero_copy(&written).unwrap();
        let data: Vec<u8> = data.iter().copied().flat_map(u32::to_ne_bytes).collect();
        let plan = Plan::new(&variable, &Hyperslab::all(), Access::Write).unwrap();
        plan.with_memory(&strides, 0, data.len()).unwrap().write(&store, &data).unwrap();
        for (number, chunk) in written.0.lock().unwrap().iter().enumerate() {
            for (i, bytes) in chunk.as_chunks().0.iter().enumerate() {
                let place =
                    [number / GRID[1] * CHUNKS[0] + i / CHUNKS[1], number % GRID[1] * CHUNKS[1] + i % CHUNKS[1]];
                let is_inside = place[0] < LENS[0] && place[1] < LENS[1];
                let expected = to_bytes(if is_inside { expected(place) } else { FILL }, endian);
                assert_eq!(*bytes, expected, "{place:?}, strides {strides:?}");
            }
        }
    }

    #[test]
    fn writes_to_chunks_on_loan() {
        for endian in [Endian::Native, Endian::Big] {
            let data: Vec<u32> = (0..LENS[0] * LENS[1]).map(|e| value([e / LENS[1], e % LENS[1]])).collect();
            check_write(endian, [4 * LENS[1] as isize, 4], &data, value);
            // Transposed; one value a row; one value a column.
            check_write(endian, [4, 4 * LENS[0] as isize], &data, |[i, j]| data[j * LENS[0] + i]);
            check_write(endian, [4, 0], &data[..LENS[0]], |[i, _]| data[i]);
            check_write(endian, [0, 4], &data[..LENS[1]], |[_, j]| data[j]);
        }
    }
}

#[test]
fn a_chunk_that_is_copied_by_itself_has_all_its_bytes() {
    let variable = variable();
    let plan = Plan::new(&variable, &Hyperslab::all(), Access::Read).unwrap();
    let mut out = vec![0; plan.memory_bytes()];
    for len in [0, 11, 13] {
        let error = plan.copy_from_chunk(0, &vec![0; len], Destination::from(&mut out[..])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StoredLength { found: len, expected: 12 });
    }
    plan.copy_from_chunk(0, &chunk(&[0, 0]).unwrap(), Destination::from(&mut out[..])).unwrap();
    assert_eq!(values(&out)[..4], [0, 1, 2, 0]);
}

/// Large reads go past the processor's cache if rows are whole lines, whatever the chunks' size.
#[test]
fn what_streams_is_large_and_in_whole_lines() {
    let volume = |row: usize, bytes: usize| {
        piece::volume(&Variable::new(&[8, row], &[1, row], 1).unwrap(), Access::Read, false, bytes)
    };
    let large = usize::MAX;
    assert!(matches!(volume(64, 1 << 10), Volume::Small));
    assert!(matches!(volume(65, large), Volume::Large));
    assert_eq!(matches!(volume(64, large), Volume::Streaming), crate::copy::stores_lines());
    assert!(matches!(volume(1 << 30, large), Volume::Streaming));
}

/// A reader that gives some bytes fewer than it says are stored, and one that says another length each time.
#[test]
fn a_reader_that_contradicts_itself_is_an_error() {
    struct Not;
    impl crate::Codec for Not {
        fn name(&self) -> &str {
            "not"
        }
        fn encoded_bound(&self, decoded_size: usize) -> usize {
            decoded_size
        }
        fn decode(&self, encoded: &[u8], _: std::ops::Range<usize>, decoded: &mut Buffer<'_>) -> Result<()> {
            assert!(encoded.iter().all(|byte| decoded.write(&[!byte])));
            Ok(())
        }
        fn encode(&self, decoded: &[u8], encoded: &mut Buffer<'_>) -> Result<()> {
            self.decode(decoded, 0..decoded.len(), encoded)
        }
    }
    let failure = |stored: &(dyn Fn(usize) -> usize + Sync)| {
        let mut store = ChunkStore::new(|_: &Request<'_>, buffer: &mut Buffer<'_>| {
            let stored = stored(buffer.capacity());
            buffer.write(&vec![0; buffer.capacity().min(10)]);
            Ok(Filled::Stored(stored))
        });
        store.as_mut().unwrap().add_codec(Not).unwrap();
        read_i16(&store.unwrap(), [0, 0], [1, 1], [1, 1]).unwrap_err()
    };
    let kind = ErrorKind::StoredLength { found: 10, expected: 12 };
    assert_eq!(failure(&|_| 12).kind(), kind);
    let error = failure(&|room| room + 1);
    assert_eq!(error.chunk(), Some(&[0, 0][..]));
    assert_eq!(error.kind(), ErrorKind::Changed);
}

/// A reader that does not tell the length of a stored chunk without its bytes is asked once for each chunk, also for
/// one that may be too large to be kept.
#[test]
#[cfg_attr(miri, ignore = "it takes too long")]
fn a_large_encoded_chunk_is_asked_for_once() {
    /// Zeros, as nothing.
    struct Zeros;
    impl crate::Codec for Zeros {
        fn name(&self) -> &str {
            "zeros"
        }
        fn encoded_bound(&self, _: usize) -> usize {
            1
        }
        fn decode(&self, _: &[u8], needed: std::ops::Range<usize>, decoded: &mut Buffer<'_>) -> Result<()> {
            decoded.zeros(needed.end).map(|_| ()).ok_or_else(|| ErrorKind::Internal.into())
        }
        fn encode(&self, _: &[u8], encoded: &mut Buffer<'_>) -> Result<()> {
            encoded.write(&[0]);
            Ok(())
        }
    }
    let asked = Mutex::new(Vec::new());
    let mut store = ChunkStore::new(|_: &Request<'_>, buffer: &mut Buffer<'_>| {
        asked.lock().unwrap().push(buffer.capacity());
        buffer.write(&[0]);
        Ok(Filled::Stored(1))
    })
    .unwrap();
    store.add_codec(Zeros).unwrap();
    let cache = crate::Cache::new(1 << 20).unwrap();
    store.set_cache(Some(&cache));
    let len = 65 << 20;
    let variable = Variable::new(&[len], &[len], 1).unwrap();
    let mut bytes = [1; 9];
    let plan = Plan::new(&variable, &Hyperslab::new(&[7], &[9]), Access::Read).unwrap();
    plan.read(&store, &mut bytes).unwrap();
    assert_eq!((bytes, &asked.lock().unwrap()[..]), ([0; 9], &[1][..]));
}

/// The length of a chunk on loan is that of what is lent.
#[test]
fn a_chunk_on_loan_is_measured() {
    let (variable, store) = (variable(), ChunkStore::zero_copy(Lending(all_chunks())).unwrap());
    let len = |chunk: &[isize]| store.stored_len(&Request::new(chunk, Access::Read, 12)).unwrap();
    assert_eq!((variable.grid(Access::Read).chunk_bytes(), len(&[0, 1]), len(&[1, 1])), (12, Some(12), None));
}
