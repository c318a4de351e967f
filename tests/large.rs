//! Large transfers at random against plain arrays: what small ones never come to passes by the cache, by other kernels.
//!
//! Elements of all sizes and byte orders, strides on either side, memory in any order, with gaps and beginning
//! anywhere, by one thread and by several. A failure prints its seed.

use std::sync::Mutex;

use fastrand::Rng;
use nczchunk::{
    Access, BorrowedChunk, BorrowedChunkMut, Change, ChunkStore, Endian, Hyperslab, Options, Plan, Request, Result,
    Take, Taken, Variable, ZeroCopyReader,
};

/// Enough to pass by the cache.
const BYTES: usize = 17 << 20;

/// An array, as it is and in chunks.
struct Array {
    size: usize,
    is_foreign: bool,
    lens: [usize; 2],
    chunklens: [usize; 2],
    elements: Vec<u8>,
}

impl Array {
    fn random(rng: &mut Rng) -> Self {
        let size = rng.choice([1, 2, 4, 8, 12, 64]).unwrap();
        // Twice as much as is selected with a stride of 2.
        let rows = rng.usize(700..3000);
        let lens = [rows, 2 * BYTES / size / rows + 20];
        let chunklens = lens.map(|len| if rng.bool() { rng.usize(300..900) } else { 16 * rng.usize(20..50) }.min(len));
        let elements = std::iter::repeat_with(|| rng.u64(..).to_ne_bytes()).flatten();
        let elements = elements.take(lens[0] * lens[1] * size).collect();
        Array { size, is_foreign: matches!(size, 2..=8) && rng.bool(), lens, chunklens, elements }
    }

    fn grid(&self) -> [usize; 2] {
        [0, 1].map(|d| self.lens[d].div_ceil(self.chunklens[d]))
    }

    fn place(&self, [i, j]: [usize; 2]) -> std::ops::Range<usize> {
        let e = i * self.lens[1] + j;
        e * self.size..(e + 1) * self.size
    }

    /// Calls `one` with each element's place in the array, its chunk, and where it is in that.
    fn for_each(&self, mut one: impl FnMut(std::ops::Range<usize>, usize, std::ops::Range<usize>)) {
        let [rows, columns] = self.chunklens;
        for i in 0..self.lens[0] {
            for j in 0..self.lens[1] {
                let within = (i % rows * columns + j % columns) * self.size;
                one(self.place([i, j]), i / rows * self.grid()[1] + j / columns, within..within + self.size);
            }
        }
    }

    fn copy(&self, from: &[u8], to: &mut [u8]) {
        to.copy_from_slice(from);
        if self.is_foreign {
            to.reverse();
        }
    }

    fn chunks(&self) -> Vec<Vec<u8>> {
        let [rows, columns] = self.grid();
        let mut chunks = vec![vec![0xEE; self.chunklens[0] * self.chunklens[1] * self.size]; rows * columns];
        self.for_each(|place, chunk, within| self.copy(&self.elements[place], &mut chunks[chunk][within]));
        chunks
    }
}

/// Chunks that are written each under a lock of its own.
struct Stored<'a> {
    chunks: &'a [Vec<u8>],
    written: &'a [Mutex<Vec<u8>>],
    columns: usize,
}

impl Stored<'_> {
    fn number(&self, indices: &[isize]) -> usize {
        indices[0] as usize * self.columns + indices[1] as usize
    }
}

impl ZeroCopyReader for Stored<'_> {
    fn lend<'t>(&self, request: &Request<'_>, take: Take<'t>) -> Result<Taken<'t>> {
        take.give(BorrowedChunk::Chunk(&self.chunks[self.number(request.chunk())]))
    }

    fn is_writable(&self) -> bool {
        true
    }

    fn is_concurrent(&self) -> bool {
        true
    }

    fn change<'t>(&self, request: &Request<'_>, _: bool, change: Change<'t>) -> Result<Taken<'t>> {
        change.give(BorrowedChunkMut::Chunk(&mut self.written[self.number(request.chunk())].lock().unwrap()))
    }
}

fn check(seed: u64) {
    let mut rng = Rng::with_seed(seed);
    let mut array = Array::random(&mut rng);
    let size = array.size;
    let mut variable = Variable::new(&array.lens, &array.chunklens, size).unwrap();
    if array.is_foreign {
        variable.set_endian(if cfg!(target_endian = "little") { Endian::Big } else { Endian::Little }).unwrap();
    }

    // Of the two dimensions only one has steps, so that there is enough to select.
    let mut stride = [1, 1];
    stride[rng.usize(..2)] = rng.choice([1, 1, 2]).unwrap();
    let start = [rng.usize(..9), rng.usize(..9)];
    let count = [0, 1].map(|d| (array.lens[d] - start[d] - 1) / stride[d] as usize + 1);
    let slab = Hyperslab::new(&start, &count).with_stride(&stride);

    // Memory in one order or the other.
    let inner = rng.usize(..2);
    let row = (count[inner] * size + rng.choice([0, 8, 24]).unwrap()).next_multiple_of(rng.choice([1, 64]).unwrap());
    let (mut strides, first) = ([row as isize; 2], rng.choice([0, 4, 16, 33]).unwrap());
    strides[inner] = size as isize;
    let len = first + row * count[1 - inner];
    let selected = || (0..count[0]).flat_map(|i| (0..count[1]).map(move |j| [i, j]));
    let pair = |[i, j]: [usize; 2]| {
        let at = first + i * strides[0] as usize + j * strides[1] as usize;
        (at..at + size, [start[0] + i * stride[0] as usize, start[1] + j * stride[1] as usize])
    };

    let chunks = array.chunks();
    let written: Vec<_> = chunks.iter().cloned().map(Mutex::new).collect();
    let store = ChunkStore::zero_copy(Stored { chunks: &chunks, written: &written, columns: array.grid()[1] }).unwrap();
    let options = Options::default().with_threads(rng.usize(1..4));

    let plan = |access| Plan::new(&variable, &slab, access).unwrap().with_memory(&strides, first, len).unwrap();
    let mut memory = vec![0xA7; len];
    let mut expected = memory.clone();
    for (at, place) in selected().map(pair) {
        expected[at].copy_from_slice(&array.elements[array.place(place)]);
    }
    let read = plan(Access::Read);
    read.read_chunks(&store, 0..read.num_chunks(), &mut memory, options).unwrap();
    assert!(memory == expected, "read, seed {seed}");

    memory.iter_mut().for_each(|byte| *byte ^= 0x5A);
    for (at, place) in selected().map(pair) {
        let place = array.place(place);
        array.elements[place].copy_from_slice(&memory[at]);
    }
    let write = plan(Access::Write);
    write.write_chunks(&store, 0..write.num_chunks(), &memory, options).unwrap();
    let (expected, mut differing) = (array.chunks(), 0);
    let written: Vec<_> = written.iter().map(|chunk| chunk.lock().unwrap()).collect();
    array.for_each(|_, chunk, within| {
        differing += usize::from(written[chunk][within.clone()] != expected[chunk][within]);
    });
    assert_eq!(differing, 0, "elements differ after a write, seed {seed}");
}

#[test]
fn large_transfers_at_random() {
    (1..9).for_each(check);
}
