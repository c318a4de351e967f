//! A whole transfer by several threads: no chunk is two threads', the result is that of one, the first failure is told,
//! and no thread is left.

use std::sync::{Mutex, PoisonError};

use crate::Model;
use crate::buffer::Buffer;
use crate::cache::Cache;
use crate::error::{ErrorKind, Result};
use crate::grid::Access;
use crate::hyperslab::Hyperslab;
use crate::plan::Plan;
use crate::store::{ChunkReader, ChunkStore, Filled, Request};
use crate::transfer::Options;
use crate::variable::Variable;

use super::Exclusive;

pub(super) const MODELS: &[Model] = &[
    Model("transfer/read", Some(3), read),
    Model("transfer/read-with-cache", Some(3), read_with_cache),
    Model("transfer/first-failure", Some(3), first_failure),
    Model("transfer/panic", Some(3), a_panic_is_an_error),
    Model("transfer/write", Some(3), write),
];

const CHUNK: usize = 4;

/// Chunks that no two threads may use at the same time.
struct Chunks {
    chunks: Vec<Exclusive>,
    /// What becomes of chunks from this one on: an error, or a panic.
    failing: usize,
    panics: bool,
}

impl Chunks {
    fn new(chunks: usize) -> Self {
        Chunks { chunks: (0..chunks).map(|_| Exclusive::new()).collect(), failing: chunks, panics: false }
    }

    /// Uses a chunk, which is asked for once.
    fn get(&self, request: &Request<'_>) -> Result<usize> {
        let chunk = request.chunk()[0] as usize;
        assert_eq!(self.chunks[chunk].change(), 0);
        match chunk < self.failing {
            true => Ok(chunk),
            false if self.panics => panic!("as the model wants it"),
            false => Err(ErrorKind::Callback(100 + chunk as i32).into()),
        }
    }
}

impl ChunkReader for &Chunks {
    fn fill(&self, request: &Request<'_>, buffer: &mut Buffer<'_>) -> Result<Filled> {
        let chunk = self.get(request)?;
        buffer.write(&[chunk as u8; CHUNK]);
        Ok(Filled::Stored(CHUNK))
    }

    fn is_writable(&self) -> bool {
        true
    }

    fn store(&self, request: &Request<'_>, bytes: &[u8]) -> Result<()> {
        let chunk = self.get(request)?;
        assert_eq!(bytes, [chunk as u8 + 50; CHUNK]);
        Ok(())
    }
}

/// Reads every chunk, or a part of every chunk.
fn read_from(chunks: &Chunks, step: usize, threads: usize, cache: Option<&Cache>) -> Result<Vec<u8>> {
    let len = chunks.chunks.len() * CHUNK;
    let (count, stride) = ([len.div_ceil(step)], [step as isize]);
    let variable = Variable::new(&[len], &[CHUNK], 1)?;
    let slab = Hyperslab::new(&[0], &count).with_stride(&stride);
    let mut store = ChunkStore::new(chunks)?;
    store.set_cache(cache);
    let mut out = vec![0xEE; count[0]];
    let plan = Plan::new(&variable, &slab, Access::Read)?;
    let result = plan.read_chunks(&store, 0..plan.num_chunks(), &mut out, Options::default().with_threads(threads));
    assert_eq!(libc::threads_running(), 0);
    result.map(|()| out)
}

fn expected(chunks: usize, step: usize) -> Vec<u8> {
    (0..chunks * CHUNK).step_by(step).map(|at| (at / CHUNK) as u8).collect()
}

fn read() {
    assert_eq!(read_from(&Chunks::new(4), 1, 3, None).unwrap(), expected(4, 1));
}

fn read_with_cache() {
    let cache = Cache::new(2 * CHUNK).unwrap();
    assert_eq!(read_from(&Chunks::new(4), 2, 3, Some(&cache)).unwrap(), expected(4, 2));
}

fn first_failure() {
    let chunks = Chunks { failing: 2, ..Chunks::new(5) };
    let error = read_from(&chunks, 1, 3, None).unwrap_err();
    assert_eq!((error.status(), error.chunk()), (102, Some(&[2][..])));
}

fn a_panic_is_an_error() {
    let chunks = Chunks { failing: 2, panics: true, ..Chunks::new(4) };
    assert_eq!(read_from(&chunks, 1, 3, None).unwrap_err().kind(), ErrorKind::Internal);
}

fn write() {
    let chunks = Chunks::new(4);
    let variable = Variable::new(&[4 * CHUNK], &[CHUNK], 1).unwrap();
    let store = ChunkStore::new(&chunks).unwrap();
    let plan = Plan::new(&variable, &Hyperslab::all(), Access::Write).unwrap();
    let data: Vec<u8> = (0..4 * CHUNK).map(|at| (at / CHUNK) as u8 + 50).collect();
    plan.write_chunks(&store, 0..4, &data, Options::default().with_threads(3)).unwrap();
    assert_eq!(libc::threads_running(), 0);
    assert!(chunks.chunks.iter().all(|chunk| chunk.look() == 1));
}
