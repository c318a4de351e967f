//! The library, through its C interface, held against the oracle: projections, plans and reads.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Mutex;

use nczchunk::Projection;
use nczchunk_c::{context::*, objects::*, plan::*, projection::*, read::*, store::*, var::*};

use super::cases::Dim;
use super::naive::{self, Touched};
use super::written;

/// The byte order that this machine does not have: stored in it, every word has its bytes reversed.
pub const FOREIGN: c_int = if cfg!(target_endian = "little") { NCZCHUNK_ENDIAN_BIG } else { NCZCHUNK_ENDIAN_LITTLE };

/// What surrounds the output, and what no read may change.
const GUARD: usize = 16;
const UNTOUCHED: u8 = 0xA7;

/// Checks projections, plan, read and write of one case; the variant chooses element size, byte order, the order of a
/// chunk's axes, kind of store, whether chunks are absent, and how a kept plan is divided. Reads and writes may use so
/// many threads.
pub fn check(dims: &[Dim], variant: usize, threads: usize) {
    let expected: Vec<Vec<Touched>> = dims.iter().map(|&dim| naive::projections(dim)).collect();
    for (&dim, expected) in dims.iter().zip(&expected) {
        check_projections(dim, expected);
    }
    let chunks = product(&expected);
    let source = Source::new(dims, variant, threads > 1);
    let context = Context::new(threads);
    let plan = source.plan(NCZCHUNK_READ);
    check_plan(&source, &plan, &chunks);
    check_read(&source, &plan, &chunks, variant, &context);
    written::check(dims, &chunks, variant, &context);
}

/// A plan that is freed in the end.
pub struct Plan(pub *mut nczchunk_plan);

impl Drop for Plan {
    fn drop(&mut self) {
        // SAFETY: the plan is freed once.
        unsafe { nczchunk_plan_free(self.0) }
    }
}

/// Whether a case is also executed by a plan that is kept. One in eight is, of all variants: the choice has nothing in
/// common with theirs.
pub fn is_kept(variant: usize) -> bool {
    (variant as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 61 == 0
}

/// How a kept plan is executed: as a whole, or in ranges of its chunks, which come in this order.
pub fn division(plan: &Plan, num_chunks: usize, variant: usize) -> Vec<(usize, usize)> {
    match variant / 3 % 4 {
        0 => vec![(0, NCZCHUNK_ALL)],
        1 => vec![(0, num_chunks)],
        2 => {
            // Parts, the last of them first; with few chunks some are empty.
            let num_parts = variant / 12 % 4 + 1;
            let part = |part| {
                let (mut first, mut number) = (usize::MAX, usize::MAX);
                // SAFETY: the plan is alive, and there are places for both numbers.
                let status = unsafe {
                    nczchunk_plan_part(plan.0, part, num_parts, &raw mut first, &raw mut number, ptr::null_mut())
                };
                assert_eq!(status, 0);
                (first, number)
            };
            (0..num_parts).rev().map(part).collect()
        }
        _ => {
            let mut rng = fastrand::Rng::with_seed(variant as u64);
            let begin = rng.usize(0..=num_chunks);
            let end = rng.usize(begin..=num_chunks);
            vec![(begin, end - begin), (end, NCZCHUNK_ALL), (0, begin)]
        }
    }
}

/// The dimensions in an order that the variant chooses; none, which stands for row-major, for every other.
pub fn chunk_order(rank: usize, variant: usize) -> Option<Vec<usize>> {
    let mut order: Vec<usize> = (0..rank).collect();
    fastrand::Rng::with_seed(variant as u64).shuffle(&mut order);
    (variant % 4 > 1).then_some(order)
}

/// The context for calls with so many threads; NULL for one.
pub struct Context {
    pub pointer: *mut nczchunk_context,
    pub threads: usize,
}

impl Context {
    pub fn new(threads: usize) -> Self {
        let mut pointer = ptr::null_mut();
        if threads > 1 {
            // SAFETY: there is a place for the context.
            unsafe {
                assert_eq!(nczchunk_context_new(&raw mut pointer), 0);
                assert_eq!(nczchunk_context_set_threads(pointer, threads), 0);
            }
        }
        Context { pointer, threads }
    }

    /// Puts what callbacks noted into the plan's order, if they did not run in it.
    pub fn in_order<T: Ord>(&self, mut noted: Vec<T>) -> Vec<T> {
        if self.threads > 1 {
            noted.sort();
        }
        noted
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the context is freed once.
        unsafe { nczchunk_context_free(self.pointer) }
    }
}

const SIZE: usize = size_of::<Projection>();

pub fn check_projections(dim: Dim, expected: &[Touched]) {
    let Dim { len, chunklen, start, count, stride } = dim;
    let mut needed = usize::MAX;
    let mut list = vec![Projection::default(); expected.len() + 1];
    let stride = stride as isize;
    // SAFETY: `list` has room for as many as are said.
    let status = unsafe {
        let (list, capacity, context) = (list.as_mut_ptr(), list.len(), ptr::null_mut());
        nczchunk_projections(len, chunklen, start, count, stride, list, SIZE, capacity, &raw mut needed, context)
    };
    assert_eq!((status, needed), (0, expected.len()), "{dim:?}");
    for (p, expected) in expected.iter().enumerate() {
        assert_eq!(seen(&list[p]), *expected, "{dim:?}, projection {p}");
        let mut direct = Projection::default();
        // SAFETY: there is room for one.
        let status = unsafe {
            let context = ptr::null_mut();
            nczchunk_projection_at(len, chunklen, start, count, stride, p, &raw mut direct, SIZE, context)
        };
        assert_eq!((status, direct), (0, list[p]), "{dim:?}, projection {p}");
    }
    assert_eq!(list[expected.len()], Projection::default(), "{dim:?}: more was written than was needed");
}

fn seen(projection: &Projection) -> Touched {
    Touched {
        chunk_index: projection.chunk_index as u128,
        offset: projection.offset as u128,
        first: projection.first as u128,
        last: projection.last as u128,
        limit: projection.limit as u128,
        iopos: projection.iopos as u128,
        iocount: projection.iocount as u128,
    }
}

/// The touched chunks, each as its projections, in row-major order.
fn product(dimensions: &[Vec<Touched>]) -> Vec<Vec<Touched>> {
    dimensions.iter().fold(vec![vec![]], |chunks, touched| {
        chunks
            .iter()
            .flat_map(|chunk| touched.iter().map(move |&next| chunk.iter().copied().chain([next]).collect()))
            .collect()
    })
}

fn check_plan(source: &Source<'_>, plan: &Plan, chunks: &[Vec<Touched>]) {
    let (dims, plan) = (source.dims, plan.0);
    let (_, count, _) = source.request();
    // SAFETY: all zeros are totals.
    let mut totals: nczchunk_totals = unsafe { std::mem::zeroed() };
    totals.struct_size = size_of::<nczchunk_totals>();
    // SAFETY: the plan is alive and there is room for the totals.
    assert_eq!(unsafe { nczchunk_plan_totals(plan, &raw mut totals, ptr::null_mut()) }, 0);
    let elements: usize = count.iter().product();
    assert_eq!(totals.chunks, chunks.len(), "{dims:?}");
    let covered = chunks.iter().filter(|chunk| chunk.iter().all(|touched| touched.iocount == touched.limit)).count();
    assert_eq!(totals.covered_chunks, covered, "{dims:?}");
    assert_eq!(totals.elements, elements, "{dims:?}");
    assert_eq!(totals.selected_bytes, elements * source.element_size, "{dims:?}");
    assert_eq!(totals.chunk_bytes, chunks.len() * source.chunk_bytes(), "{dims:?}");
    let grid_chunks: usize = dims.iter().map(|dim| (0..dim.len).step_by(dim.chunklen).count()).product();
    assert_eq!(totals.grid_chunks, grid_chunks, "{dims:?}");

    let mut times_written = vec![0; elements];
    let mut projections = vec![Projection::default(); dims.len()];
    for (i, expected) in chunks.iter().enumerate() {
        let mut covered = -1;
        // SAFETY: the plan is alive, and there is room for a projection per dimension.
        let status =
            unsafe { nczchunk_plan_chunk(plan, i, projections.as_mut_ptr(), SIZE, &raw mut covered, ptr::null_mut()) };
        let got: Vec<Touched> = projections.iter().map(seen).collect();
        assert_eq!((status, &got), (0, expected), "{dims:?}, chunk {i}");
        let is_covered = expected.iter().all(|touched| touched.iocount == touched.limit);
        assert_eq!(covered != 0, is_covered, "{dims:?}, chunk {i}");
        mark(&mut times_written, &projections, &count);
    }
    assert!(times_written.iter().all(|&times| times == 1), "{dims:?}: not every element is written exactly once");
    // SAFETY: as above.
    let beyond = unsafe {
        let (projections, covered) = (projections.as_mut_ptr(), ptr::null_mut());
        nczchunk_plan_chunk(plan, chunks.len(), projections, SIZE, covered, ptr::null_mut())
    };
    assert_eq!(beyond, -40);
}

/// Counts the elements of a box in memory.
fn mark(times_written: &mut [u32], projections: &[Projection], shape: &[usize]) {
    let total: usize = projections.iter().map(|projection| projection.iocount).product();
    for ordinal in 0..total {
        let (mut rest, mut position, mut extent) = (ordinal, 0, 1);
        for (projection, &len) in projections.iter().zip(shape).rev() {
            position += (projection.iopos + rest % projection.iocount) * extent;
            rest /= projection.iocount;
            extent *= len;
        }
        times_written[position] += 1;
    }
}

fn check_read(source: &Source<'_>, plan: &Plan, chunks: &[Vec<Touched>], variant: usize, context: &Context) {
    let (dims, size, lending) = (source.dims, source.element_size, variant.is_multiple_of(2));
    let mut expected = vec![UNTOUCHED; GUARD];
    naive::for_each_selected(dims, |indices| {
        let chunk: Vec<isize> = indices.iter().zip(dims).map(|(&index, dim)| (index / dim.chunklen) as isize).collect();
        let absent = source.is_absent(&chunk);
        expected.extend((0..size).map(|place| if absent { fill(place) } else { naive::byte(indices, place) }));
    });
    expected.extend([UNTOUCHED; GUARD]);

    let (start, count, stride) = source.request();
    let var = source.var;
    let store = source.store(lending);
    let mut data = vec![UNTOUCHED; expected.len()];
    // SAFETY: the arrays have an entry per dimension, and behind the guard there is room for what is selected.
    let status = unsafe {
        let output = data.as_mut_ptr().add(GUARD).cast();
        nczchunk_read_vars(var, store, start.as_ptr(), count.as_ptr(), stride.as_ptr(), output, context.pointer)
    };
    assert_eq!(status, 0, "{dims:?}");
    assert!(data == expected, "{dims:?}, {size} bytes, variant {variant}:\n   got {data:?}\nwanted {expected:?}");
    source.check_asked(chunks, context);

    // The same by a plan that is kept: what it reads so far is there, and nothing else.
    let mut read = vec![false; chunks.len()];
    let division = if is_kept(variant) { division(plan, chunks.len(), variant) } else { Vec::new() };
    if !division.is_empty() {
        data.fill(UNTOUCHED);
    }
    for (first, number) in division {
        let range = first..if number == NCZCHUNK_ALL { chunks.len() } else { first + number };
        // SAFETY: the objects are alive, and behind the guard there is room for what is selected.
        let status = unsafe {
            let output = data.as_mut_ptr().add(GUARD).cast();
            nczchunk_plan_read(plan.0, store, first, number, output, context.pointer)
        };
        assert_eq!(status, 0, "{dims:?}, chunks {range:?}");
        source.check_asked(&chunks[range.clone()], context);
        read[range].fill(true);
        if read.iter().any(|&read| !read) {
            let so_far = of_chunks(&expected, size, chunks, &read, &count);
            assert!(data == so_far, "{dims:?}, variant {variant}:\n   got {data:?}\nwanted {so_far:?}");
        }
    }
    assert!(data == expected, "{dims:?}, variant {variant}:\n   got {data:?}\nwanted {expected:?}");
    // SAFETY: the store is freed once.
    unsafe { nczchunk_chunk_store_free(store) };
}

/// What is expected between the guards once only these chunks have been read.
fn of_chunks(expected: &[u8], size: usize, chunks: &[Vec<Touched>], read: &[bool], count: &[usize]) -> Vec<u8> {
    let mut times = vec![0; expected.len() / size + 1];
    for (chunk, _) in chunks.iter().zip(read).filter(|(_, read)| **read) {
        let projection = |touched: &Touched| {
            let (iopos, iocount) = (touched.iopos as usize, touched.iocount as usize);
            Projection { iopos, iocount, ..Projection::default() }
        };
        mark(&mut times, &chunk.iter().map(projection).collect::<Vec<_>>(), count);
    }
    let mut so_far = vec![UNTOUCHED; expected.len()];
    for (at, _) in times.iter().enumerate().filter(|(_, times)| **times > 0) {
        let place = GUARD + at * size..GUARD + (at + 1) * size;
        so_far[place.clone()].copy_from_slice(&expected[place]);
    }
    so_far
}

fn fill(place: usize) -> u8 {
    0xF0_u8.wrapping_add(place as u8)
}

/// A stored array whose chunks are made when they are asked for.
struct Source<'a> {
    dims: &'a [Dim],
    element_size: usize,
    word_size: usize,
    is_foreign: bool,
    has_absent_chunks: bool,
    /// The axes of a chunk, slowest first.
    order: Vec<usize>,
    /// Below which distance two ranges of a chunk are asked for as one; 0 for whole chunks.
    gap: usize,
    var: *mut nczchunk_var,
    /// Whether several threads may ask at the same time. If not, a chunk is lent until the next one is asked for.
    concurrent: bool,
    asked: Mutex<Vec<Vec<isize>>>,
    lent: Mutex<Vec<Vec<u8>>>,
}

impl<'a> Source<'a> {
    fn new(dims: &'a [Dim], variant: usize, concurrent: bool) -> Self {
        // Lengths of 2, 3 and 5 in turn, so that all combinations come up.
        let element_size = [1, 2, 3, 4, 8, 16, 5][variant / 2 % 7];
        let is_foreign = (variant / 2).is_multiple_of(3) && !matches!(element_size, 3 | 5);
        let dimlens: Vec<usize> = dims.iter().map(|dim| dim.len).collect();
        let chunklens: Vec<usize> = dims.iter().map(|dim| dim.chunklen).collect();
        let fill_value: Vec<u8> = (0..element_size).map(fill).collect();
        let order = chunk_order(dims.len(), variant);
        let mut var = ptr::null_mut();
        // SAFETY: the arrays have an entry per dimension; the fill value is one element.
        unsafe {
            let (dimlens, chunklens) = (dimlens.as_ptr(), chunklens.as_ptr());
            assert_eq!(
                nczchunk_var_new(dims.len(), dimlens, chunklens, element_size, &raw mut var, ptr::null_mut()),
                0
            );
            assert_eq!(nczchunk_var_set_fill_value(var, fill_value.as_ptr().cast(), ptr::null_mut()), 0);
            let endian = if is_foreign { FOREIGN } else { NCZCHUNK_ENDIAN_NATIVE };
            assert_eq!(nczchunk_var_set_endian(var, endian, ptr::null_mut()), 0);
            if let Some(order) = &order {
                assert_eq!(nczchunk_var_set_chunk_order(var, order.as_ptr(), ptr::null_mut()), 0);
            }
        }
        let word_size = if is_foreign { element_size.min(8) } else { 1 };
        let has_absent_chunks = variant / 2 % 5 == 1;
        let (asked, lent) = Default::default();
        let order = order.unwrap_or_else(|| (0..dims.len()).collect());
        let gap = [0, 0, 1, 0, 0, 3, 0, 0, 0, 40, 0][variant / 4 % 11];
        Source {
            dims,
            element_size,
            word_size,
            is_foreign,
            has_absent_chunks,
            order,
            gap,
            var,
            concurrent,
            asked,
            lent,
        }
    }

    fn plan(&self, access: c_int) -> Plan {
        let (start, count, stride) = self.request();
        let mut plan = ptr::null_mut();
        // SAFETY: the arrays have an entry per dimension.
        let status = unsafe {
            let (start, count, stride) = (start.as_ptr(), count.as_ptr(), stride.as_ptr());
            nczchunk_plan_new(self.var, start, count, stride, access, &raw mut plan, ptr::null_mut())
        };
        assert_eq!(status, 0, "{:?}", self.dims);
        Plan(plan)
    }

    /// Checks that just these chunks were asked for, each of them once or in several ranges, and forgets them.
    fn check_asked(&self, chunks: &[Vec<Touched>], context: &Context) {
        let mut asked = context.in_order(std::mem::take(&mut *self.asked.lock().unwrap()));
        if self.gap > 0 {
            asked.dedup();
        }
        let wanted = chunks.iter().map(|chunk| chunk.iter().map(|touched| touched.chunk_index as isize));
        assert!(
            asked.len() == chunks.len() && asked.iter().zip(wanted).all(|(got, wanted)| wanted.eq(got.iter().copied())),
            "{:?}: asked for {asked:?}",
            self.dims
        );
    }

    fn request(&self) -> (Vec<usize>, Vec<usize>, Vec<isize>) {
        (
            self.dims.iter().map(|dim| dim.start).collect(),
            self.dims.iter().map(|dim| dim.count).collect(),
            self.dims.iter().map(|dim| dim.stride as isize).collect(),
        )
    }

    fn chunk_bytes(&self) -> usize {
        self.dims.iter().map(|dim| dim.chunklen).product::<usize>() * self.element_size
    }

    fn is_absent(&self, chunk: &[isize]) -> bool {
        self.has_absent_chunks && chunk.iter().sum::<isize>() % 3 == 1
    }

    fn store(&self, lending: bool) -> *mut nczchunk_chunk_store {
        let user = ptr::from_ref(self).cast_mut().cast();
        let mut store = ptr::null_mut();
        // SAFETY: the callbacks are what the store documents, and `self` outlives it.
        let status = unsafe {
            if lending {
                let struct_size = size_of::<nczchunk_zero_copy_callbacks>();
                let callbacks = nczchunk_zero_copy_callbacks {
                    struct_size,
                    user,
                    lend: Some(lend),
                    concurrent: self.concurrent.into(),
                    ..std::mem::zeroed()
                };
                nczchunk_chunk_store_new_zero_copy(&raw const callbacks, &raw mut store, ptr::null_mut())
            } else {
                let struct_size = size_of::<nczchunk_reader_callbacks>();
                let callbacks = nczchunk_reader_callbacks {
                    struct_size,
                    user,
                    fill: Some(fill_in),
                    concurrent: self.concurrent.into(),
                    ranges: (self.gap > 0).into(),
                    gap: self.gap,
                    ..std::mem::zeroed()
                };
                nczchunk_chunk_store_new(&raw const callbacks, &raw mut store, ptr::null_mut())
            }
        };
        assert_eq!(status, 0);
        store
    }

    /// The stored bytes of a chunk. What lies outside the array is noise.
    fn make_chunk(&self, chunk: &[isize]) -> Option<Vec<u8>> {
        self.asked.lock().unwrap().push(chunk.to_vec());
        if !self.concurrent {
            self.lent.lock().unwrap().clear();
        }
        if self.is_absent(chunk) {
            return None;
        }
        let elements: usize = self.dims.iter().map(|dim| dim.chunklen).product();
        let mut bytes = Vec::with_capacity(elements * self.element_size);
        let mut indices = vec![0; self.dims.len()];
        for ordinal in 0..elements {
            let mut rest = ordinal;
            for &d in self.order.iter().rev() {
                let chunklen = self.dims[d].chunklen;
                indices[d] = chunk[d] as usize * chunklen + rest % chunklen;
                rest /= chunklen;
            }
            let inside = indices.iter().zip(self.dims).all(|(&index, dim)| index < dim.len);
            for place in 0..self.element_size {
                let word = place / self.word_size * self.word_size;
                let stored = if self.is_foreign { word + self.word_size - 1 - (place - word) } else { place };
                bytes.push(if inside { naive::byte(&indices, stored) } else { 0xCC });
            }
        }
        Some(bytes)
    }
}

impl Drop for Source<'_> {
    fn drop(&mut self) {
        // SAFETY: the variable is freed once.
        unsafe { nczchunk_var_free(self.var) }
    }
}

unsafe extern "C" fn lend(user: *mut c_void, loan: *mut nczchunk_borrowed_chunk) -> c_int {
    // SAFETY: the store passes what it documents, and `user` is the source.
    unsafe {
        let (source, loan) = (&*user.cast::<Source>(), &mut *loan);
        let indices = std::slice::from_raw_parts(loan.chunk_indices, loan.rank);
        let Some(mut bytes) = source.make_chunk(indices) else { return -139 };
        loan.data = bytes.as_mut_ptr().cast();
        loan.nbytes = bytes.len();
        // It stays where it is.
        source.lent.lock().unwrap().push(bytes);
    }
    0
}

unsafe extern "C" fn fill_in(user: *mut c_void, request: *mut nczchunk_request) -> c_int {
    // SAFETY: as for `lend`; the buffer has room for `size` bytes.
    unsafe {
        let (source, request) = (&*user.cast::<Source>(), &mut *request);
        let indices = std::slice::from_raw_parts(request.chunk_indices, request.rank);
        let Some(bytes) = source.make_chunk(indices) else { return -141 };
        assert_eq!(request.chunk_bytes, bytes.len());
        let bytes = if source.gap > 0 { &bytes[request.offset..] } else { &bytes };
        assert!(source.gap > 0 || request.offset == 0 && request.size == bytes.len());
        request.nbytes = bytes.len();
        ptr::copy_nonoverlapping(bytes[..request.size].as_ptr(), request.buffer.cast(), request.size);
    }
    0
}
