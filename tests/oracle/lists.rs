//! Chunks with a list of lengths, against the oracle: every element, one by one, looked up in the list.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Mutex;

use nczchunk::{Access, ChunkRun, Dimension, Hyperslab, Plan, Projections, Slice, Variable};
use nczchunk_c::{plan::*, read::*, store::*, var::*, write::*};

use super::cases::Dim;
use super::naive::{self, Touched};

const FILL: u8 = 0xF0;
const JUNK: u8 = 0xCC;

/// A dimension whose chunks have these lengths and encoded lengths, and what is selected of it.
#[derive(Debug, Clone)]
pub struct Listed {
    pub dim: Dim,
    pub lens: Vec<usize>,
    pub encoded: Vec<usize>,
}

impl Listed {
    /// Chunks of up to so many elements: most are like their neighbours, and some lie beyond the dimension.
    pub fn random(rng: &mut fastrand::Rng, num: usize, longest: usize) -> Self {
        let (mut lens, mut encoded) = (Vec::new(), Vec::new());
        for i in 0..rng.usize(1..=num) {
            if i > 0 && rng.u8(..) < 150 {
                lens.push(lens[i - 1]);
                encoded.push(encoded[i - 1]);
            } else {
                lens.push(rng.usize(1..=longest));
                encoded.push(lens[i] + if rng.bool() { 0 } else { rng.usize(0..=longest) });
            }
        }
        let all: usize = lens.iter().sum();
        let len = if rng.bool() { all } else { rng.usize(1..=all) };
        Listed { dim: Dim { len, chunklen: longest, start: 0, count: 0, stride: 1 }, lens, encoded }.selecting(rng)
    }

    /// The same chunks with another selection.
    pub fn selecting(&self, rng: &mut fastrand::Rng) -> Self {
        let Dim { len, chunklen: longest, .. } = self.dim;
        let start = rng.usize(0..len);
        let stride = rng.usize(1..=(2 * longest).min(len));
        let count = rng.usize(0..=(len - 1 - start) / stride + 1);
        Listed { dim: Dim { start, count, stride, ..self.dim }, lens: self.lens.clone(), encoded: self.encoded.clone() }
    }

    /// The chunk that an element is in, and where it begins.
    fn find(&self, element: usize) -> (usize, usize) {
        let (mut chunk, mut begin) = (0, 0);
        while element >= begin + self.lens[chunk] {
            begin += self.lens[chunk];
            chunk += 1;
        }
        (chunk, begin)
    }

    fn touched(&self) -> Vec<Touched> {
        let mut touched: Vec<Touched> = Vec::new();
        for k in 0..self.dim.count {
            let element = self.dim.start + k * self.dim.stride;
            let (chunk, begin) = self.find(element);
            let place = (element - begin) as u128;
            match touched.last_mut() {
                Some(last) if last.chunk_index == chunk as u128 => {
                    last.last = place;
                    last.iocount += 1;
                }
                _ => touched.push(Touched {
                    chunk_index: chunk as u128,
                    offset: begin as u128,
                    first: place,
                    last: place,
                    limit: self.lens[chunk].min(self.dim.len - begin) as u128,
                    iopos: k as u128,
                    iocount: 1,
                }),
            }
        }
        touched
    }

    fn slice(&self) -> Slice {
        let Dim { len, start, count, stride, .. } = self.dim;
        Slice::read(len, start, count, stride as isize).unwrap()
    }

    fn runs(&self) -> impl Iterator<Item = ChunkRun> {
        let lens = self.lens.iter().zip(&self.encoded);
        lens.map(|(&len, &encoded_len)| ChunkRun { num_chunks: 1, len, encoded_len })
    }

    /// Checks the projections, and what is said of all of them.
    pub fn check_projections(&self) {
        let expected = self.touched();
        let all = Projections::new(&Dimension::with_chunks(self.dim.len, self.runs()).unwrap(), self.slice()).unwrap();
        let found: Vec<Touched> = all
            .iter()
            .map(|p| Touched {
                chunk_index: p.chunk_index as u128,
                offset: p.offset as u128,
                first: p.first as u128,
                last: p.last as u128,
                limit: p.limit as u128,
                iopos: p.iopos as u128,
                iocount: p.iocount as u128,
            })
            .collect();
        assert_eq!(found, expected, "{self:?}");
        assert_eq!((all.len(), all.get(all.len())), (expected.len(), None), "{self:?}");
        for chunk in 0..self.encoded.len() + 1 {
            let there = expected.iter().position(|touched| touched.chunk_index == chunk as u128);
            assert_eq!(all.find(chunk as isize), there, "{self:?} {chunk}");
        }
        let covered = expected.iter().filter(|touched| touched.iocount == touched.limit).count();
        assert_eq!(all.num_covered(), covered, "{self:?}");
        assert_eq!(all.iter().filter(|projection| all.covers(projection)).count(), covered, "{self:?}");
        let decoded: usize = expected.iter().map(|touched| self.encoded[touched.chunk_index as usize]).sum();
        assert_eq!(all.encoded_len(), decoded, "{self:?}");
    }

    /// Checks whether two selections of the same chunks share one.
    pub fn check_shared(&self, other: &Listed) {
        let plan = |of: &Listed| {
            let mut variable = Variable::new(&[of.dim.len], &[1], 1).unwrap();
            variable.set_chunk_runs(0, Some(&of.runs().collect::<Vec<_>>())).unwrap();
            let (start, count, stride) = ([of.dim.start], [of.dim.count], [of.dim.stride as isize]);
            let slab = Hyperslab::new(&start, &count).with_stride(&stride);
            Plan::new(&variable, &slab, Access::Write).unwrap().into_owned().unwrap()
        };
        let touched = other.touched();
        let is_shared = |one: &Touched| touched.iter().any(|other| other.chunk_index == one.chunk_index);
        let expected = self.touched().iter().any(is_shared);
        assert_eq!(plan(self).shares_chunks(&plan(other)).unwrap(), expected, "{self:?} {other:?}");
    }
}

/// The chunks of an array, by their indices.
struct Chunks<'a> {
    dims: &'a [Listed],
    size: usize,
    /// The dimensions from the slowest to the fastest.
    order: Vec<usize>,
    stored: Mutex<BTreeMap<Vec<usize>, Vec<u8>>>,
    log: Mutex<Vec<(bool, Vec<usize>)>>,
}

impl Chunks<'_> {
    fn bytes(&self, chunk: &[usize]) -> usize {
        self.dims.iter().zip(chunk).fold(self.size, |bytes, (dim, &c)| bytes * dim.encoded[c])
    }

    /// An element's chunk, and where in that it begins.
    fn place(&self, indices: &[usize]) -> (Vec<usize>, usize) {
        let found: Vec<_> = self.dims.iter().zip(indices).map(|(dim, &index)| dim.find(index)).collect();
        let place =
            self.order.iter().fold(0, |place, &d| place * self.dims[d].encoded[found[d].0] + indices[d] - found[d].1);
        (found.into_iter().map(|(chunk, _)| chunk).collect(), place * self.size)
    }

    fn for_each_element(&self, mut visit: impl FnMut(&[usize])) {
        let whole = |listed: &Listed| Dim { start: 0, count: listed.dim.len, stride: 1, ..listed.dim };
        naive::for_each_selected(&self.dims.iter().map(whole).collect::<Vec<_>>(), |indices| visit(indices));
    }

    fn element(&self, indices: &[usize]) -> Vec<u8> {
        (0..self.size).map(|place| naive::byte(indices, place)).collect()
    }

    /// # Safety
    /// `user` is one of these, and there are as many indices as dimensions.
    unsafe fn of<'c>(user: *mut c_void, rank: usize, indices: *const isize) -> (&'c Chunks<'c>, Vec<usize>) {
        // SAFETY: the caller's promise.
        let (chunks, indices) = unsafe { (&*user.cast::<Chunks<'_>>(), std::slice::from_raw_parts(indices, rank)) };
        (chunks, indices.iter().map(|&index| index as usize).collect())
    }
}

/// Reads and writes a selection through the C interface, at once and by a kept plan. The variant chooses the element
/// size, the order of axes, how chunks are fetched and which are absent.
pub fn check(dims: &[Listed], variant: usize) {
    let mut order: Vec<usize> = (0..dims.len()).collect();
    fastrand::Rng::with_seed(variant as u64).shuffle(&mut order);
    let size = [4, 1, 3, 8][variant % 4];
    let (stored, log) = (Mutex::default(), Mutex::default());
    let chunks = Chunks { dims, size, order, stored, log };
    let is_absent = |chunk: &[usize]| variant % 3 == 0 && chunk.iter().sum::<usize>() % 3 == 1;
    chunks.for_each_element(|indices| {
        let (chunk, at) = chunks.place(indices);
        if !is_absent(&chunk) {
            let mut stored = chunks.stored.lock().unwrap();
            let len = chunks.bytes(&chunk);
            let bytes = stored.entry(chunk).or_insert_with(|| vec![JUNK; len]);
            bytes[at..at + size].copy_from_slice(&chunks.element(indices));
        }
    });
    let fill: Vec<u8> = (0..size).map(|place| FILL + place as u8).collect();
    let selected: Vec<Dim> = dims.iter().map(|listed| listed.dim).collect();
    let (mut expected, mut data) = (Vec::new(), Vec::new());
    naive::for_each_selected(&selected, |indices| {
        expected.extend(if is_absent(&chunks.place(indices).0) { fill.clone() } else { chunks.element(indices) });
        data.extend(chunks.element(indices).iter().map(|byte| byte ^ 0x5A));
    });
    // What a write makes of the chunks: one that it covers, or that is absent, is fill values where it writes nothing.
    let touched: Vec<_> = dims.iter().map(Listed::touched).collect();
    let mut after = chunks.stored.lock().unwrap().clone();
    let (mut asked, mut written) = (Vec::new(), Vec::new());
    let total: usize = touched.iter().map(Vec::len).product();
    for mut number in 0..total {
        let mut chunk: Vec<&Touched> = Vec::new();
        for of in touched.iter().rev() {
            chunk.insert(0, &of[number % of.len()]);
            number /= of.len();
        }
        let indices: Vec<usize> = chunk.iter().map(|touched| touched.chunk_index as usize).collect();
        let covered = chunk.iter().all(|touched| touched.iocount == touched.limit);
        asked.push((false, indices.clone()));
        if !covered {
            written.push((false, indices.clone()));
        }
        written.push((true, indices.clone()));
        if covered || !after.contains_key(&indices) {
            after.insert(indices.clone(), fill.repeat(chunks.bytes(&indices) / size));
        }
    }
    let mut elements = data.chunks_exact(size);
    naive::for_each_selected(&selected, |indices| {
        let (chunk, at) = chunks.place(indices);
        after.get_mut(&chunk).unwrap()[at..at + size].copy_from_slice(elements.next().unwrap());
    });

    let column = |pick: fn(&Dim) -> usize| selected.iter().map(pick).collect::<Vec<_>>();
    let (dimlens, start, count) = (column(|dim| dim.len), column(|dim| dim.start), column(|dim| dim.count));
    let stride: Vec<isize> = selected.iter().map(|dim| dim.stride as isize).collect();
    let before = chunks.stored.lock().unwrap().clone();
    let (rank, none) = (dims.len(), ptr::null_mut());
    let (mut var, mut store) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: all lists have the entries that they need, and the callbacks do what is documented.
    unsafe {
        assert_eq!(nczchunk_var_new(rank, dimlens.as_ptr(), vec![1; rank].as_ptr(), size, &raw mut var, none), 0);
        for (d, listed) in dims.iter().enumerate() {
            let (lens, encoded) = (listed.lens.as_ptr(), listed.encoded.as_ptr());
            assert_eq!(nczchunk_var_set_chunk_lengths(var, d, listed.lens.len(), lens, encoded, none), 0);
        }
        assert_eq!(nczchunk_var_set_fill_value(var, fill.as_ptr().cast(), none), 0);
        assert_eq!(nczchunk_var_set_chunk_order(var, chunks.order.as_ptr(), none), 0);
        let ranges = (variant % 2) as _;
        let callbacks = nczchunk_reader_callbacks {
            struct_size: size_of::<nczchunk_reader_callbacks>(),
            user: ptr::from_ref(&chunks).cast_mut().cast(),
            fill: Some(fill_chunk),
            store: Some(store_chunk),
            ranges,
            gap: 1,
            ..std::mem::zeroed()
        };
        assert_eq!(nczchunk_chunk_store_new(&raw const callbacks, &raw mut store, none), 0);
        let (start, count, stride) = (start.as_ptr(), count.as_ptr(), stride.as_ptr());
        for is_kept in [false, true] {
            let mut out = vec![0xEE; expected.len()];
            let (to, from) = (out.as_mut_ptr().cast(), data.as_ptr().cast());
            chunks.log.lock().unwrap().clear();
            if is_kept {
                let mut plan = ptr::null_mut();
                assert_eq!(nczchunk_plan_new(var, start, count, stride, NCZCHUNK_READ, &raw mut plan, none), 0);
                assert_eq!(nczchunk_plan_read(plan, store, 0, NCZCHUNK_ALL, to, none), 0);
                nczchunk_plan_free(plan);
            } else {
                assert_eq!(nczchunk_read_vars(var, store, start, count, stride, to, none), 0);
            }
            assert!(out == expected, "{dims:?}, variant {variant}:\n   got {out:?}\nwanted {expected:?}");
            let mut fetched = std::mem::take(&mut *chunks.log.lock().unwrap());
            // Of a chunk that is read in ranges, each is asked for.
            fetched.dedup();
            assert_eq!(fetched, asked, "{dims:?}, variant {variant}");

            if is_kept {
                let mut plan = ptr::null_mut();
                assert_eq!(nczchunk_plan_new(var, start, count, stride, NCZCHUNK_WRITE, &raw mut plan, none), 0);
                assert_eq!(nczchunk_plan_write(plan, store, 0, NCZCHUNK_ALL, from, none), 0);
                nczchunk_plan_free(plan);
            } else {
                assert_eq!(nczchunk_write_vars(var, store, start, count, stride, from, none), 0);
            }
            assert_eq!(*chunks.log.lock().unwrap(), written, "{dims:?}, variant {variant}");
            let now = std::mem::replace(&mut *chunks.stored.lock().unwrap(), before.clone());
            assert!(now == after, "{dims:?}, variant {variant}:\n   got {now:?}\nwanted {after:?}");
        }
        nczchunk_chunk_store_free(store);
        nczchunk_var_free(var);
    }
}

unsafe extern "C" fn fill_chunk(user: *mut c_void, request: *mut nczchunk_request) -> c_int {
    // SAFETY: the store passes what it documents, and `user` is what was stored; the buffer has room for `size` bytes.
    unsafe {
        let request = &mut *request;
        let (chunks, chunk) = Chunks::of(user, request.rank, request.chunk_indices);
        assert_eq!(request.chunk_bytes, chunks.bytes(&chunk), "{chunk:?}");
        let stored = chunks.stored.lock().unwrap();
        let bytes = stored.get(&chunk).map(|bytes| &bytes[request.offset..request.offset + request.size]);
        chunks.log.lock().unwrap().push((false, chunk));
        let Some(bytes) = bytes else { return -139 };
        request.nbytes = request.chunk_bytes - request.offset;
        ptr::copy_nonoverlapping(bytes.as_ptr(), request.buffer.cast(), bytes.len());
    }
    0
}

unsafe extern "C" fn store_chunk(user: *mut c_void, request: *mut nczchunk_request) -> c_int {
    // SAFETY: as above; the buffer holds `size` bytes.
    unsafe {
        let request = &*request;
        let (chunks, chunk) = Chunks::of(user, request.rank, request.chunk_indices);
        assert_eq!((request.chunk_bytes, request.size), (chunks.bytes(&chunk), chunks.bytes(&chunk)), "{chunk:?}");
        chunks.log.lock().unwrap().push((true, chunk.clone()));
        let bytes = std::slice::from_raw_parts(request.buffer.cast::<u8>(), request.size).to_vec();
        chunks.stored.lock().unwrap().insert(chunk, bytes);
    }
    0
}
