//! The Rust interface as its users write against it.

use std::collections::HashMap;
use std::error::Error as _;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use nczchunk::status::{EBADCHUNK, EINVAL, EIO};
use nczchunk::{
    Access, BorrowedChunk, BorrowedChunkMut, Buffer, Change, ChunkReader, ChunkStore, Codec, Element, Error, ErrorKind,
    Filled, Hyperslab, Options, Plan, Prepared, Progress, Request, Result, Take, Taken, Variable, ZeroCopyReader,
};

/// 6 x 8 float32 in chunks of 4 x 3; element (i, j) is 10*i + j + 0.5.
fn variable() -> Result<Variable> {
    Variable::new(&[6, 8], &[4, 3], 4)
}

fn value(i: usize, j: usize) -> f32 {
    (10 * i + j) as f32 + 0.5
}

fn chunk(request: &Request<'_>) -> Vec<u8> {
    let [row, column] = [0, 1].map(|d| request.chunk()[d] as usize);
    (0..12).flat_map(|e| value(4 * row + e / 3, 3 * column + e % 3).to_ne_bytes()).collect()
}

fn fill(request: &Request<'_>, buffer: &mut Buffer<'_>) -> Result<Filled> {
    let chunk = chunk(request);
    buffer.write(&chunk);
    Ok(Filled::Stored(chunk.len()))
}

#[test]
fn typed_reads_by_a_closure() -> Result<()> {
    let (variable, asked) = (variable()?, AtomicUsize::new(0));
    let store = ChunkStore::new(|request: &Request<'_>, buffer: &mut Buffer<'_>| {
        asked.fetch_add(1, Ordering::Relaxed);
        fill(request, buffer)
    })?;
    let slab = Hyperslab::new(&[1, 2], &[2, 3]).with_stride(&[4, 1]);
    let values = nczchunk::read::<f32>(&variable, &store, &slab)?;
    assert_eq!(values, [value(1, 2), value(1, 3), value(1, 4), value(5, 2), value(5, 3), value(5, 4)]);
    assert_eq!(asked.load(Ordering::Relaxed), 4);

    // Rows from below; and the same bytes as another type of that size.
    let upwards = Hyperslab::new(&[5, 0], &[6, 1]).with_signed_stride(&[-1, 1]);
    assert_eq!(nczchunk::read::<f32>(&variable, &store, &upwards)?[..2], [value(5, 0), value(4, 0)]);
    assert_eq!(nczchunk::read::<[u8; 4]>(&variable, &store, &upwards)?[0], value(5, 0).to_ne_bytes());
    let mut out = [0.0_f32; 48];
    nczchunk::read_into(&variable, &store, &Hyperslab::all(), &mut out)?;
    assert!(out.iter().enumerate().all(|(e, &found)| found == value(e / 8, e % 8)));
    Ok(())
}

#[test]
fn points_and_lists_of_indices() -> Result<()> {
    let (variable, asked) = (variable()?, Mutex::new(Vec::new()));
    let store = ChunkStore::new(|request: &Request<'_>, buffer: &mut Buffer<'_>| {
        asked.lock().unwrap().push(request.chunk().to_vec());
        fill(request, buffer)
    })?;
    let points = Hyperslab::points(4, &[5, 7, 0, 0, 5, 6, 0, 0]);
    let expected = [value(5, 7), value(0, 0), value(5, 6), value(0, 0)];
    assert_eq!(nczchunk::read::<f32>(&variable, &store, &points)?, expected);
    assert_eq!(std::mem::take(&mut *asked.lock().unwrap()), [[0, 0], [1, 2]]);
    // Rows 4 and 1, of each every third column.
    let rows = [Some(&[4, 1][..]), None];
    let lists = Hyperslab::new(&[0, 1], &[0, 3]).with_stride(&[1, 3]).with_indices(&rows);
    let of_rows = [value(4, 1), value(4, 4), value(4, 7), value(1, 1), value(1, 4), value(1, 7)];
    assert_eq!(nczchunk::read::<f32>(&variable, &store, &lists)?, of_rows);
    assert_eq!(asked.lock().unwrap().len(), 6);

    // By plans that are kept, in parts, and into memory with gaps, backwards.
    let plan = |slab: &Hyperslab<'_>| Plan::new(&variable, slab, Access::Read);
    let bytes = |values: &[f32]| values.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<u8>>();
    for (slab, expected) in [(&points, &expected[..]), (&lists, &of_rows)] {
        let (kept, prepared) = (plan(slab)?.into_owned()?, Prepared::new(plan(slab)?)?);
        let mut out = [vec![0; 4 * expected.len()], vec![0; 4 * expected.len()]];
        for i in (0..kept.num_chunks()).rev() {
            kept.read_chunks(&store, i..i + 1, &mut out[0], Options::default())?;
            prepared.read_chunks(&store, i..i + 1, &mut out[1], Options::default().with_threads(2))?;
        }
        assert!(out.iter().all(|out| *out == bytes(expected)));
    }
    let mut out = [0; 32];
    plan(&points)?.with_memory(&[-8], 24, 32)?.read(&store, &mut out)?;
    assert_eq!(out, *bytes(&[value(0, 0), 0.0, value(5, 6), 0.0, value(0, 0), 0.0, value(5, 7), 0.0]));
    let mut out = [0; 24];
    plan(&lists)?.with_imap(&[1, 2])?.read(&store, &mut out)?;
    let transposed = [value(4, 1), value(1, 1), value(4, 4), value(1, 4), value(4, 7), value(1, 7)];
    assert_eq!(out, *bytes(&transposed));

    // Of plans of lists it is known whether they share chunks; of points it is not asked.
    assert_eq!(plan(&lists)?.shares_chunks(&plan(&Hyperslab::new(&[4, 0], &[1, 1]))?), Ok(true));
    let first = [Some(&[0, 3][..]), Some(&[7][..])];
    assert_eq!(
        plan(&Hyperslab::all().with_indices(&first))?.shares_chunks(&plan(&points)?).unwrap_err().status(),
        EINVAL
    );
    let status = |slab: &Hyperslab<'_>| plan(slab).map(|_| ()).unwrap_err().status();
    assert_eq!(status(&Hyperslab::points(1, &[1])), EINVAL);
    assert_eq!(status(&Hyperslab::all().with_indices(&rows[..1])), EINVAL);
    Ok(())
}

#[test]
fn types_and_lengths_are_checked() -> Result<()> {
    fn status<T: std::fmt::Debug>(result: Result<T>) -> i32 {
        result.unwrap_err().status()
    }
    let (variable, store, all) = (variable()?, ChunkStore::new(fill)?, Hyperslab::all());
    assert_eq!(status(nczchunk::read::<f64>(&variable, &store, &all)), EINVAL);
    assert_eq!(status(nczchunk::read::<[f32; 0]>(&variable, &store, &all)), EINVAL);
    assert_eq!(status(nczchunk::read_into(&variable, &store, &all, &mut [0_f32; 47])), EINVAL);
    assert_eq!(status(nczchunk::write(&variable, &store, &all, &[0_f32; 49])), EINVAL);
    assert_eq!(nczchunk::read::<f32>(&variable, &store, &Hyperslab::new(&[6, 0], &[0, 8]))?, [0.0; 0]);
    let error = nczchunk::read::<f32>(&variable, &store, &Hyperslab::new(&[0, 7], &[1, 2])).unwrap_err();
    assert_eq!(error.dimension(), Some(1));
    assert!(matches!(error.kind(), ErrorKind::Edge { start: 7, count: 2, stride: 1, dimlen: 8 }));
    Ok(())
}

/// Any type that is plain bytes can be an element.
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(C)]
struct Complex {
    re: f32,
    im: f32,
}

#[allow(unsafe_code)]
// SAFETY: two numbers without padding.
unsafe impl Element for Complex {}

/// Chunks in a map; they stand for files, objects or rows of a database.
#[derive(Default)]
struct Map(Mutex<HashMap<Vec<isize>, Vec<u8>>>);

impl ChunkReader for &Map {
    fn fill(&self, request: &Request<'_>, buffer: &mut Buffer<'_>) -> Result<Filled> {
        let map = self.0.lock().unwrap();
        let Some(bytes) = map.get(request.chunk()) else { return Ok(Filled::Absent) };
        buffer.write(&bytes[..bytes.len().min(buffer.capacity())]);
        Ok(Filled::Stored(bytes.len()))
    }

    fn is_writable(&self) -> bool {
        true
    }

    fn store(&self, request: &Request<'_>, bytes: &[u8]) -> Result<()> {
        self.0.lock().unwrap().insert(request.chunk().to_vec(), bytes.to_vec());
        Ok(())
    }
}

#[test]
fn what_is_written_is_read() -> Result<()> {
    let map = Map::default();
    let mut variable = Variable::new(&[5], &[2], 8)?;
    variable.set_word_size(4)?;
    let number = |k: usize| Complex { re: k as f32, im: -(k as f32) };
    {
        let store = ChunkStore::new(&map)?;
        nczchunk::write(&variable, &store, &Hyperslab::new(&[1], &[3]), &[number(1), number(2), number(3)])?;
        let zero = number(0);
        let read = nczchunk::read::<Complex>(&variable, &store, &Hyperslab::all())?;
        assert_eq!(read, [zero, number(1), number(2), number(3), zero]);
    }
    assert_eq!(map.0.into_inner().unwrap().len(), 2);
    Ok(())
}

#[test]
fn errors_keep_what_caused_them() -> Result<()> {
    let variable = variable()?;
    let store = ChunkStore::new(|request: &Request<'_>, _: &mut Buffer<'_>| match request.chunk() {
        // That there is no such file is number 2 on Windows, too.
        [0, _] => Err(std::io::Error::from_raw_os_error(2).into()),
        _ => Err(Error::caused_by(EIO, std::io::Error::other("the tape is torn"))),
    })?;
    let error = nczchunk::read::<f32>(&variable, &store, &Hyperslab::all()).unwrap_err();
    assert_eq!((error.status(), error.chunk()), (2, Some([0, 0].as_slice())));
    let source = error.source().and_then(|source| source.downcast_ref::<std::io::Error>());
    assert_eq!(source.and_then(std::io::Error::raw_os_error), Some(2));
    let error = nczchunk::read::<f32>(&variable, &store, &Hyperslab::new(&[4, 7], &[1, 1])).unwrap_err();
    assert_eq!((error.status(), error.chunk()), (EIO, Some([1, 2].as_slice())));
    assert_eq!(error.source().unwrap().to_string(), "the tape is torn");

    // A reader that gives too little is found out.
    let store = ChunkStore::new(|_: &Request<'_>, buffer: &mut Buffer<'_>| {
        buffer.write(&[0; 40]);
        Ok(Filled::Stored(48))
    })?;
    let error = nczchunk::read::<f32>(&variable, &store, &Hyperslab::all()).unwrap_err();
    assert_eq!(error.to_string(), "chunk (0, 0): the stored chunk has 40 bytes, expected 48");
    Ok(())
}

#[test]
fn threads_and_progress() -> Result<()> {
    let rows = 200;
    let variable = Variable::new(&[rows, 1000], &[1, 1000], 4)?;
    let store = ChunkStore::new(|request: &Request<'_>, buffer: &mut Buffer<'_>| {
        std::thread::sleep(std::time::Duration::from_micros(200));
        let bytes = (request.chunk()[0] as f32).to_ne_bytes().repeat(1000);
        buffer.write(&bytes);
        Ok(Filled::Stored(bytes.len()))
    })?;
    let plan = Plan::new(&variable, &Hyperslab::all(), Access::Read)?;
    let mut out = vec![0; plan.memory_bytes()];
    let seen = Mutex::new(Vec::new());
    let progress = |at: Progress| {
        seen.lock().unwrap().push(at.bytes_done as f64 / at.num_bytes as f64);
        0
    };
    let options = Options::default().with_threads(4).with_progress(&progress);
    plan.read_chunks(&store, 0..plan.num_chunks(), &mut out, options)?;
    assert!(out.chunks(4000).enumerate().all(|(i, row)| row == (i as f32).to_ne_bytes().repeat(1000)));
    let seen = seen.into_inner().unwrap();
    assert!(seen.is_sorted() && seen[0] == 0.0 && seen[seen.len() - 1] == 1.0);

    let asked_to_stop = |at: Progress| if at.chunks_done < 10 { 0 } else { 125 };
    let options = Options::default().with_progress(&asked_to_stop);
    let error = plan.read_chunks(&store, 0..plan.num_chunks(), &mut out, options).unwrap_err();
    assert_eq!((error.kind(), error.status()), (ErrorKind::Stopped(125), 125));
    Ok(())
}

/// A cache that counts who uses its chunks.
struct Cache {
    chunks: Vec<Mutex<Vec<u8>>>,
    copies: Vec<Vec<u8>>,
    users: Vec<AtomicUsize>,
    outcomes: Mutex<Vec<bool>>,
}

impl Cache {
    fn number(request: &Request<'_>) -> usize {
        (request.chunk()[0] * 3 + request.chunk()[1]) as usize
    }
}

impl ZeroCopyReader for &Cache {
    fn lend<'t>(&self, request: &Request<'_>, take: Take<'t>) -> Result<Taken<'t>> {
        let number = Cache::number(request);
        self.users[number].fetch_add(1, Ordering::Relaxed);
        let outcome = take.give(BorrowedChunk::Chunk(&self.copies[number]));
        // The loan is over.
        self.users[number].fetch_sub(1, Ordering::Relaxed);
        self.outcomes.lock().unwrap().push(outcome.is_ok());
        outcome
    }

    fn is_writable(&self) -> bool {
        true
    }

    fn change<'t>(&self, request: &Request<'_>, covered: bool, change: Change<'t>) -> Result<Taken<'t>> {
        assert_eq!(covered, request.chunk() == [0, 0]);
        change.give(BorrowedChunkMut::Chunk(&mut self.chunks[Cache::number(request)].lock().unwrap()))
    }
}

#[test]
fn a_lending_reader_knows_when_a_loan_is_over() -> Result<()> {
    let mut cache = Cache {
        chunks: (0..6).map(|_| Mutex::new(vec![0; 48])).collect(),
        copies: (0..6).map(|c| (0..12).flat_map(|e| ((100 * c + e) as f32).to_ne_bytes()).collect()).collect(),
        users: (0..6).map(|_| AtomicUsize::new(0)).collect(),
        outcomes: Mutex::default(),
    };
    let variable = variable()?;
    {
        let store = ChunkStore::zero_copy(&cache)?;
        let values = nczchunk::read::<f32>(&variable, &store, &Hyperslab::new(&[3, 2], &[2, 2]))?;
        assert_eq!(values, [11.0, 109.0, 302.0, 400.0]);
        nczchunk::write(&variable, &store, &Hyperslab::new(&[0, 0], &[4, 4]), &[1.0_f32; 16])?;
    }
    let ones = |chunk: &Mutex<Vec<u8>>| {
        let bytes = chunk.lock().unwrap();
        bytes.as_chunks().0.iter().filter(|&&bytes| f32::from_ne_bytes(bytes) == 1.0).count()
    };
    assert_eq!((ones(&cache.chunks[0]), ones(&cache.chunks[1])), (12, 4));
    // A chunk that is too short is given back too, with what became of it.
    cache.copies[0].pop();
    let store = ChunkStore::zero_copy(&cache)?;
    let error = nczchunk::read::<f32>(&variable, &store, &Hyperslab::all()).unwrap_err();
    assert_eq!(error.status(), EBADCHUNK);
    assert!(cache.users.iter().all(|users| users.load(Ordering::Relaxed) == 0));
    assert_eq!(*cache.outcomes.lock().unwrap(), [true, true, true, true, false]);
    Ok(())
}

/// Readers that say what they must and no more.
struct Least;

impl ZeroCopyReader for Least {
    fn lend<'t>(&self, request: &Request<'_>, take: Take<'t>) -> Result<Taken<'t>> {
        match request.chunk() {
            [0, 0] => take.give(BorrowedChunk::Chunk(&[1; 49])),
            [1, ..] => take.give(BorrowedChunk::FillValues(&2.0_f32.to_ne_bytes().repeat(12))),
            _ => take.give(BorrowedChunk::Absent),
        }
    }
}

/// Readers that say that they can be written to, and do not say how.
struct Forgetful;

impl ZeroCopyReader for Forgetful {
    fn lend<'t>(&self, request: &Request<'_>, take: Take<'t>) -> Result<Taken<'t>> {
        Least.lend(request, take)
    }

    fn is_writable(&self) -> bool {
        true
    }
}

impl ChunkReader for Forgetful {
    fn fill(&self, request: &Request<'_>, buffer: &mut Buffer<'_>) -> Result<Filled> {
        fill(request, buffer)
    }

    fn is_writable(&self) -> bool {
        true
    }
}

#[test]
fn what_a_reader_does_not_say_is_no() -> Result<()> {
    let (variable, lending) = (variable()?, ChunkStore::zero_copy(Least)?);
    // Chunks that are too long are refused; fill values that are lent are what is read.
    let error = nczchunk::read::<f32>(&variable, &lending, &Hyperslab::new(&[0, 0], &[1, 1])).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::StoredLength { found: 49, expected: 48 }));
    assert_eq!(nczchunk::read::<f32>(&variable, &lending, &Hyperslab::new(&[3, 4], &[2, 1]))?, [0.0, 2.0]);
    assert_eq!(nczchunk::read::<f32>(&variable, &lending, &Hyperslab::new(&[5, 7], &[1, 1]))?, [2.0]);
    for store in [lending, ChunkStore::zero_copy(Forgetful)?, ChunkStore::new(Forgetful)?, ChunkStore::new(fill)?] {
        let error = nczchunk::write(&variable, &store, &Hyperslab::all(), &[0.0_f32; 48]).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::ReadOnly), "{error}");
    }
    Ok(())
}

/// Runs of equal bytes as pairs of a length and a byte.
struct RunLengths;

impl Codec for RunLengths {
    fn name(&self) -> &str {
        "run lengths"
    }

    fn encoded_bound(&self, decoded_size: usize) -> usize {
        2 * decoded_size
    }

    fn decode(&self, encoded: &[u8], needed: Range<usize>, decoded: &mut Buffer<'_>) -> Result<()> {
        for run in encoded.chunks(2) {
            // What comes after the last byte that is needed may be left out.
            if decoded.filled().len() >= needed.end {
                break;
            }
            let &[len, byte] = run else {
                return Err(ErrorKind::Corrupt { codec: "run lengths", reason: "half a run" }.into());
            };
            if !decoded.write(&vec![byte; len.into()]) {
                return Err(ErrorKind::DecodedLength { found: None, expected: decoded.capacity() }.into());
            }
        }
        Ok(())
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Buffer<'_>) -> Result<()> {
        for run in decoded.chunk_by(|a, b| a == b).flat_map(|run| run.chunks(255)) {
            encoded.write(&[run.len() as u8, run[0]]);
        }
        Ok(())
    }
}

#[test]
fn a_codec_of_ones_own() -> Result<()> {
    let (map, variable) = (Map::default(), Variable::new(&[10, 100], &[5, 100], 1)?);
    let mut store = ChunkStore::new(&map)?;
    store.add_codec(RunLengths)?;
    let values: Vec<u8> = (0..1000_u32).map(|e| (e / 60) as u8).collect();
    nczchunk::write(&variable, &store, &Hyperslab::all(), &values)?;
    assert!(map.0.lock().unwrap().values().all(|bytes| bytes.len() < 30));
    assert_eq!(nczchunk::read::<u8>(&variable, &store, &Hyperslab::all())?, values);
    assert_eq!(nczchunk::read::<u8>(&variable, &store, &Hyperslab::new(&[6, 7], &[1, 90]))?, values[607..697]);

    // Decoding stops before the end, which is not whole any more.
    map.0.lock().unwrap().get_mut([1, 0].as_slice()).unwrap().pop();
    assert_eq!(nczchunk::read::<u8>(&variable, &store, &Hyperslab::new(&[6, 7], &[1, 90]))?, values[607..697]);
    let error = nczchunk::read::<u8>(&variable, &store, &Hyperslab::all()).unwrap_err();
    assert_eq!(error.to_string(), "chunk (1, 0): the chunk is corrupt: run lengths: half a run");
    store.set_verify(true);
    assert!(nczchunk::read::<u8>(&variable, &store, &Hyperslab::new(&[6, 7], &[1, 90])).is_err());
    Ok(())
}

#[test]
fn plans_that_are_looked_at_and_kept() -> Result<()> {
    let store = ChunkStore::new(fill)?;
    let prepared = {
        let variable = variable()?;
        let plan = Plan::new(&variable, &Hyperslab::new(&[0, 1], &[6, 3]), Access::Read)?;
        assert_eq!((plan.num_chunks(), plan.num_elements(), plan.selected_bytes()), (4, 18, 72));
        assert_eq!((plan.rank(), plan.access(), plan.grid_chunks()), (2, Access::Read, 6));
        let mut projections = vec![Default::default(); plan.rank()];
        plan.chunk(3, &mut projections)?;
        assert_eq!(projections.iter().map(|p| p.chunk_index).collect::<Vec<_>>(), [1, 1]);
        // Column by column in memory.
        Prepared::new(plan.with_imap(&[1, 6])?)?
    };
    for _ in 0..2 {
        let mut out = vec![0; prepared.memory_bytes()];
        prepared.read(&store, &mut out)?;
        let values: Vec<f32> = out.as_chunks().0.iter().map(|&bytes| f32::from_ne_bytes(bytes)).collect();
        assert!(values.iter().enumerate().all(|(e, &found)| found == value(e % 6, 1 + e / 6)));
    }
    Ok(())
}

/// A plan reads its own variable, into memory of its own length: no safe caller can pair it with another. So random
/// reads through plans give what plain arrays hold, and nothing panics.
#[test]
fn random_reads_by_plans_are_those_of_plain_arrays() {
    let seed = std::env::var("NCZCHUNK_SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().unwrap());
    println!("NCZCHUNK_SEED={seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    for _ in 0..if cfg!(miri) { 20 } else { 30_000 } {
        random_read(&mut rng);
    }
}

fn random_read(rng: &mut fastrand::Rng) {
    let rank = rng.usize(0..=3);
    let lens: Vec<usize> = (0..rank).map(|_| rng.usize(1..=12)).collect();
    let chunklens: Vec<usize> = (0..rank).map(|_| rng.usize(1..=6)).collect();
    let size = rng.choice([1, 2, 3, 4, 8, 12]).unwrap();
    let variable = Variable::new(&lens, &chunklens, size).unwrap();
    let byte = |indices: &[usize], place: usize| {
        indices.iter().fold(place, |mixed, &index| mixed.wrapping_mul(31).wrapping_add(index * 7 + 1)) as u8
    };
    let indices_of = |mut ordinal: usize, lens: &[usize]| {
        let mut indices = vec![0; lens.len()];
        for (index, len) in indices.iter_mut().zip(lens).rev() {
            *index = ordinal % len;
            ordinal /= len;
        }
        indices
    };
    let stored = |request: &Request<'_>| -> Vec<u8> {
        (0..chunklens.iter().product())
            .flat_map(|ordinal| {
                let within = indices_of(ordinal, &chunklens);
                let indices: Vec<usize> =
                    (0..rank).map(|d| request.chunk()[d] as usize * chunklens[d] + within[d]).collect();
                (0..size).map(move |storage| byte(&indices, storage)).collect::<Vec<_>>()
            })
            .collect()
    };
    let store = ChunkStore::new(|request: &Request<'_>, buffer: &mut Buffer<'_>| {
        let bytes = stored(request);
        buffer.write(&bytes);
        Ok(Filled::Stored(bytes.len()))
    })
    .unwrap();

    let stride: Vec<isize> = (0..rank).map(|_| if rng.bool() { rng.isize(1..=4) } else { -rng.isize(1..=4) }).collect();
    let start: Vec<usize> = lens.iter().map(|&len| rng.usize(0..len)).collect();
    let count: Vec<usize> = (0..rank)
        .map(|d| {
            let room = if stride[d] < 0 { start[d] } else { lens[d] - 1 - start[d] };
            rng.usize(0..=room / stride[d].unsigned_abs() + 1)
        })
        .collect();
    let slab = Hyperslab::new(&start, &count).with_signed_stride(&stride);
    let plan = Plan::new(&variable, &slab, Access::Read).unwrap();
    // Memory in any order of the dimensions, with a gap.
    let mut order: Vec<usize> = (0..rank).collect();
    rng.shuffle(&mut order);
    let (mut strides, mut extent) = (vec![0; rank], size + rng.usize(0..3));
    for &d in &order {
        strides[d] = extent as isize;
        extent *= count[d].max(1);
    }
    let plan = plan.with_memory(&strides, 0, extent).unwrap();
    let mut expected = vec![0xA7; extent];
    for ordinal in 0..count.iter().product() {
        let k = indices_of(ordinal, &count);
        let at: usize = (0..rank).map(|d| k[d] * strides[d] as usize).sum();
        let indices: Vec<usize> = (0..rank).map(|d| start[d].wrapping_add_signed(k[d] as isize * stride[d])).collect();
        (0..size).for_each(|storage| expected[at + storage] = byte(&indices, storage));
    }
    let options = Options::default().with_threads(2);
    let mut out = vec![0xA7; extent];
    plan.read_chunks(&store, 0..plan.num_chunks(), &mut out, options).unwrap();
    assert_eq!(out, expected, "{plan:?}");

    // Memory of another length is an error, and a range that is not there.
    let num_chunks = plan.num_chunks();
    for len in [extent - 1, extent + 1, 0] {
        let error = plan.read_chunks(&store, 0..num_chunks, &mut vec![0; len], options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Memory { len });
    }
    assert!(plan.read_chunks(&store, 0..num_chunks + 1, &mut out, options).is_err());
    assert!(plan.read_chunks(&store, num_chunks + 1..usize::MAX, &mut out, options).is_err());
    // A plan that is kept reads the variable as it was.
    let kept = Prepared::new(plan).unwrap();
    drop(variable);
    let mut again = vec![0xA7; extent];
    kept.read_chunks(&store, 0..num_chunks, &mut again, options).unwrap();
    assert_eq!(again, expected);
}
