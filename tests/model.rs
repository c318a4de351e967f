//! Random sequences of reads, writes, growth and prepends, against a plain array in memory.
//!
//! The model is a map from an element's global indices to its value. What no write has touched is the fill value, also
//! where it lay outside the array until that grew. A failure prints its seed, and `NCZCHUNK_SEED=n` repeats it.

// The tests are C callers in Rust.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::ptr;

use fastrand::Rng;
use nczchunk_c::{codec::*, layout::*, objects::*, store::*, var::*};

static FILL: i32 = -7;

/// What one dimension looks like, and what is asked of it.
#[derive(Debug, Clone, Copy)]
struct Dim {
    len: usize,
    chunklen: usize,
    origin: isize,
}

#[derive(Debug, Clone, Copy)]
struct Part {
    start: usize,
    count: usize,
    step: isize,
}

/// The chunks as stored: zstd-compressed or not, in foreign byte order or not, it is all bytes.
#[derive(Default)]
struct Chunks {
    bytes: HashMap<Vec<isize>, Vec<u8>>,
}

struct Array {
    dims: Vec<Dim>,
    model: HashMap<Vec<isize>, i32>,
    chunks: *mut Chunks,
    var: *mut nczchunk_var,
    store: *mut nczchunk_chunk_store,
}

#[test]
fn random_sequences_agree_with_a_plain_array() {
    let seed = match std::env::var("NCZCHUNK_SEED") {
        Ok(seed) => seed.parse().expect("NCZCHUNK_SEED is a number"),
        Err(_) => fastrand::u64(..),
    };
    println!("NCZCHUNK_SEED={seed}");
    let mut rng = Rng::with_seed(seed);
    for kind in 0..4000 {
        let mut array = Array::new(&mut rng, kind);
        for _ in 0..40 {
            match rng.u8(0..10) {
                0 => array.grow(&mut rng),
                1 => array.prepend(&mut rng),
                2..=5 => array.write(&mut rng),
                _ => array.read(&mut rng),
            }
        }
        array.read_all();
    }
}

impl Array {
    /// BorrowedChunk, filled in, or compressed; native or swapped.
    fn new(rng: &mut Rng, kind: usize) -> Self {
        let rank = rng.usize(0..=3);
        let dims: Vec<Dim> = (0..rank)
            .map(|_| Dim { len: rng.usize(0..=9), chunklen: rng.usize(1..=5), origin: rng.isize(-9..=9) })
            .collect();
        let dimlens: Vec<usize> = dims.iter().map(|dim| dim.len).collect();
        let chunklens: Vec<usize> = dims.iter().map(|dim| dim.chunklen).collect();
        let (mut var, mut store) = (ptr::null_mut(), ptr::null_mut());
        let chunks: *mut Chunks = Box::into_raw(Box::default());
        let user = chunks.cast();
        // SAFETY: the arrays have an entry per dimension, and the callbacks are what the stores document.
        unsafe {
            let made = nczchunk_var_new(rank, dimlens.as_ptr(), chunklens.as_ptr(), 4, &raw mut var, ptr::null_mut());
            assert_eq!(made, 0);
            assert_eq!(nczchunk_var_set_fill_value(var, (&raw const FILL).cast(), ptr::null_mut()), 0);
            assert_eq!(nczchunk_var_set_endian(var, (kind / 3 % 3) as c_int, ptr::null_mut()), 0);
            let mut order: Vec<usize> = (0..rank).collect();
            rng.shuffle(&mut order);
            assert_eq!(nczchunk_var_set_chunk_order(var, order.as_ptr(), ptr::null_mut()), 0);
            for (d, dim) in dims.iter().enumerate() {
                assert_eq!(nczchunk_var_set_origin(var, d, dim.origin, ptr::null_mut()), 0);
            }
            if kind.is_multiple_of(3) {
                let callbacks = nczchunk_zero_copy_callbacks {
                    struct_size: size_of::<nczchunk_zero_copy_callbacks>(),
                    user,
                    lend: Some(lend),
                    lend_to_write: Some(lend_to_write),
                    ..std::mem::zeroed()
                };
                assert_eq!(
                    nczchunk_chunk_store_new_zero_copy(&raw const callbacks, &raw mut store, ptr::null_mut()),
                    0
                );
                (*chunks).bytes.insert(Vec::new(), (chunklens.iter().product::<usize>() * 4).to_ne_bytes().to_vec());
            } else {
                let callbacks = nczchunk_reader_callbacks {
                    struct_size: size_of::<nczchunk_reader_callbacks>(),
                    user,
                    fill: Some(fill),
                    store: Some(keep),
                    // Of raw chunks some stores serve ranges, of any size.
                    ranges: rng.usize(0..2),
                    gap: rng.usize(0..20),
                    ..std::mem::zeroed()
                };
                assert_eq!(nczchunk_chunk_store_new(&raw const callbacks, &raw mut store, ptr::null_mut()), 0);
                if kind % 3 == 2 {
                    let mut codec = ptr::null_mut();
                    assert_eq!(nczchunk_codec_zstd(ptr::null(), &raw mut codec, ptr::null_mut()), 0);
                    assert_eq!(nczchunk_chunk_store_add_codec(store, codec, ptr::null_mut()), 0);
                }
            }
        }
        Array { dims, model: HashMap::new(), chunks, var, store }
    }

    fn grow(&mut self, rng: &mut Rng) {
        let Some(d) = rng.choice(0..self.dims.len()) else { return };
        self.dims[d].len += rng.usize(0..4);
        // SAFETY: the variable is alive.
        assert_eq!(unsafe { nczchunk_var_set_dimlen(self.var, d, self.dims[d].len, ptr::null_mut()) }, 0);
    }

    fn prepend(&mut self, rng: &mut Rng) {
        let Some(d) = rng.choice(0..self.dims.len()) else { return };
        let more = rng.usize(0..4);
        let dim = &mut self.dims[d];
        (dim.len, dim.origin) = (dim.len + more, dim.origin - more as isize);
        // SAFETY: the variable is alive.
        unsafe {
            assert_eq!(nczchunk_var_set_dimlen(self.var, d, dim.len, ptr::null_mut()), 0);
            assert_eq!(nczchunk_var_set_origin(self.var, d, dim.origin, ptr::null_mut()), 0);
        }
    }

    fn write(&mut self, rng: &mut Rng) {
        let parts = self.random_parts(rng);
        let layout = Layout::random(rng, &parts);
        let mut memory = vec![0; layout.size];
        let mut new = Vec::new();
        for_each(&parts, |k| {
            let value = rng.i32(..);
            memory[layout.at(k)..][..4].copy_from_slice(&value.to_ne_bytes());
            new.push((self.global(&parts, k), value));
        });
        let before = memory.clone();
        let (start, count, step) = columns(&parts);
        // SAFETY: the lists have an entry per dimension, and the memory has the size that is said.
        let status = unsafe {
            let (memory, strides) = (memory.as_ptr().cast(), layout.strides.as_ptr());
            let (start, count, step) = (start.as_ptr(), count.as_ptr(), step.as_ptr());
            let (size, first, none) = (layout.size, layout.first, ptr::null_mut());
            nczchunk_write_strided(self.var, self.store, start, count, step, memory, size, first, strides, none)
        };
        assert_eq!(status, 0, "{:?} {parts:?}", self.dims);
        assert_eq!(memory, before);
        self.model.extend(new);
    }

    fn read(&self, rng: &mut Rng) {
        let parts = self.random_parts(rng);
        self.check(&parts, &Layout::random(rng, &parts));
    }

    fn read_all(&self) {
        let parts: Vec<Part> = self.dims.iter().map(|dim| Part { start: 0, count: dim.len, step: 1 }).collect();
        self.check(&parts, &Layout::dense(&parts));
    }

    fn check(&self, parts: &[Part], layout: &Layout) {
        let mut memory = vec![0xA7_u8; layout.size];
        let mut expected = memory.clone();
        for_each(parts, |k| {
            let value = self.model.get(&self.global(parts, k)).unwrap_or(&FILL);
            expected[layout.at(k)..][..4].copy_from_slice(&value.to_ne_bytes());
        });
        let (start, count, step) = columns(parts);
        // SAFETY: as for writing.
        let status = unsafe {
            let (memory, strides) = (memory.as_mut_ptr().cast(), layout.strides.as_ptr());
            let (start, count, step) = (start.as_ptr(), count.as_ptr(), step.as_ptr());
            let (size, first, none) = (layout.size, layout.first, ptr::null_mut());
            nczchunk_read_strided(self.var, self.store, start, count, step, memory, size, first, strides, none)
        };
        assert_eq!(status, 0, "{:?} {parts:?}", self.dims);
        assert_eq!(memory, expected, "{:?} {parts:?}", self.dims);
    }

    /// A selection that fits, forwards or backwards.
    fn random_parts(&self, rng: &mut Rng) -> Vec<Part> {
        let part = |dim: &Dim| {
            if dim.len == 0 {
                return Part { start: 0, count: 0, step: 1 };
            }
            let (start, step) = (rng.usize(0..dim.len), rng.usize(1..=4));
            let backwards = rng.bool();
            let room = if backwards { start } else { dim.len - 1 - start };
            let count = rng.usize(0..=room / step + 1);
            Part { start, count, step: if backwards { -(step as isize) } else { step as isize } }
        };
        self.dims.iter().map(part).collect()
    }

    /// The global indices of the selected element k.
    fn global(&self, parts: &[Part], k: &[usize]) -> Vec<isize> {
        let one =
            |((part, dim), &k): ((&Part, &Dim), &usize)| dim.origin + part.start as isize + k as isize * part.step;
        parts.iter().zip(&self.dims).zip(k).map(one).collect()
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        // SAFETY: each is freed once.
        unsafe {
            nczchunk_chunk_store_free(self.store);
            nczchunk_var_free(self.var);
            drop(Box::from_raw(self.chunks));
        }
    }
}

fn columns(parts: &[Part]) -> (Vec<usize>, Vec<usize>, Vec<isize>) {
    let start = parts.iter().map(|part| part.start).collect();
    let count = parts.iter().map(|part| part.count).collect();
    (start, count, parts.iter().map(|part| part.step).collect())
}

/// Calls `visit` with the indices of every selected element.
fn for_each(parts: &[Part], mut visit: impl FnMut(&[usize])) {
    let mut k = vec![0; parts.len()];
    for ordinal in 0..parts.iter().map(|part| part.count).product() {
        let mut rest: usize = ordinal;
        for (k, part) in k.iter_mut().zip(parts).rev() {
            *k = rest % part.count;
            rest /= part.count;
        }
        visit(&k);
    }
}

/// Where the elements are in memory, in bytes.
struct Layout {
    strides: Vec<isize>,
    first: usize,
    size: usize,
}

impl Layout {
    fn dense(parts: &[Part]) -> Self {
        Layout::new(parts, &(0..parts.len()).collect::<Vec<_>>(), &vec![false; parts.len()], 0)
    }

    /// The dimensions in any order, forwards or backwards, with gaps.
    fn random(rng: &mut Rng, parts: &[Part]) -> Self {
        let mut order: Vec<usize> = (0..parts.len()).collect();
        rng.shuffle(&mut order);
        let backwards: Vec<bool> = parts.iter().map(|_| rng.bool()).collect();
        Layout::new(parts, &order, &backwards, rng.usize(0..3))
    }

    fn new(parts: &[Part], order: &[usize], backwards: &[bool], gap: usize) -> Self {
        let (mut strides, mut first, mut extent) = (vec![0; parts.len()], 0, 4);
        for &d in order.iter().rev() {
            let stride = extent + gap;
            let reach = stride * parts[d].count.saturating_sub(1);
            strides[d] = if backwards[d] { -(stride as isize) } else { stride as isize };
            first += if backwards[d] { reach } else { 0 };
            extent += reach;
        }
        Layout { strides, first, size: extent }
    }

    fn at(&self, k: &[usize]) -> usize {
        let offset: isize = k.iter().zip(&self.strides).map(|(&k, stride)| k as isize * stride).sum();
        self.first.checked_add_signed(offset).unwrap()
    }
}

/// # Safety
/// `user` is `Chunks` and there are `rank` indices.
unsafe fn find<'a>(user: *mut c_void, rank: usize, indices: *const isize) -> (&'a mut Chunks, Vec<isize>) {
    // SAFETY: the caller's promise. The key of a scalar's chunk is told from what lenders keep under the empty one.
    let indices = unsafe { std::slice::from_raw_parts(indices, rank) };
    let key = if rank == 0 { vec![isize::MIN] } else { indices.to_vec() };
    // SAFETY: the caller's promise.
    (unsafe { &mut *user.cast::<Chunks>() }, key)
}

unsafe extern "C" fn lend(user: *mut c_void, loan: *mut nczchunk_borrowed_chunk) -> c_int {
    // SAFETY: the store passes what it documents, and `user` is the chunks.
    unsafe {
        let loan = &mut *loan;
        let (chunks, key) = find(user, loan.rank, loan.chunk_indices);
        let Some(bytes) = chunks.bytes.get(&key) else { return -141 };
        (loan.data, loan.nbytes) = (bytes.as_ptr().cast_mut().cast(), bytes.len());
    }
    0
}

unsafe extern "C" fn lend_to_write(user: *mut c_void, loan: *mut nczchunk_borrowed_chunk) -> c_int {
    // SAFETY: as above.
    unsafe {
        let loan = &mut *loan;
        let (chunks, key) = find(user, loan.rank, loan.chunk_indices);
        let is_new = !chunks.bytes.contains_key(&key);
        let len = usize::from_ne_bytes(chunks.bytes[&Vec::new()].as_slice().try_into().unwrap());
        assert_eq!(len, loan.chunk_bytes);
        let bytes = chunks.bytes.entry(key).or_insert_with(|| vec![0xDD; len]);
        (loan.data, loan.nbytes) = (bytes.as_mut_ptr().cast(), bytes.len());
        if is_new { -139 } else { 0 }
    }
}

unsafe extern "C" fn fill(user: *mut c_void, request: *mut nczchunk_request) -> c_int {
    // SAFETY: as above; the buffer has room for `size` bytes.
    unsafe {
        let request = &mut *request;
        let (chunks, key) = find(user, request.rank, request.chunk_indices);
        let Some(bytes) = chunks.bytes.get(&key) else { return -139 };
        let bytes = &bytes[request.offset..];
        request.nbytes = bytes.len();
        request.buffer.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len().min(request.size));
    }
    0
}

unsafe extern "C" fn keep(user: *mut c_void, request: *mut nczchunk_request) -> c_int {
    // SAFETY: as above; the buffer holds `size` bytes.
    unsafe {
        let request = &*request;
        let (chunks, key) = find(user, request.rank, request.chunk_indices);
        chunks.bytes.insert(key, std::slice::from_raw_parts(request.buffer.cast(), request.size).to_vec());
    }
    0
}
