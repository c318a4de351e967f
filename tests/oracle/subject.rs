//! The library, through its C interface, held against the oracle: projections, plans and reads.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Mutex;

use nczchunk::ffi::{context::*, plan::*, projection::*, read::*, store::*, var::*};
use nczchunk::projection::Projection;

use super::cases::Dim;
use super::naive::{self, Touched};
use super::written;

/// What surrounds the output, and what no read may change.
const GUARD: usize = 16;
const UNTOUCHED: u8 = 0xA7;

/// Checks projections, plan, read and write of one case; the variant chooses element size, byte order, kind of store and whether
/// chunks are absent. Reads and writes may use so many threads.
pub fn check(dims: &[Dim], variant: usize, threads: usize) {
    let expected: Vec<Vec<Touched>> = dims.iter().map(|&dim| naive::projections(dim)).collect();
    for (&dim, expected) in dims.iter().zip(&expected) {
        check_projections(dim, expected);
    }
    let chunks = product(&expected);
    let mut source = Source::new(dims, variant, threads > 1);
    let context = Context::new(threads);
    check_plan(&source, &chunks);
    check_read(&mut source, &chunks, variant.is_multiple_of(2), &context);
    written::check(dims, &chunks, variant, &context);
}

/// The context for calls with so many threads; NULL for one.
pub struct Context {
    pub pointer: *mut nczchunk_context,
    pub threads: usize,
}

impl Context {
    fn new(threads: usize) -> Self {
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

pub fn check_projections(dim: Dim, expected: &[Touched]) {
    let Dim { len, chunklen, start, count, stride } = dim;
    let mut needed = usize::MAX;
    let mut list = vec![Projection::default(); expected.len() + 1];
    let stride = stride as isize;
    // SAFETY: `list` has room for as many as are said.
    let status = unsafe {
        nczchunk_projections(len, chunklen, start, count, stride, list.as_mut_ptr(), list.len(), &raw mut needed)
    };
    assert_eq!((status, needed), (0, expected.len()), "{dim:?}");
    for (p, expected) in expected.iter().enumerate() {
        assert_eq!(seen(&list[p]), *expected, "{dim:?}, projection {p}");
        let mut direct = Projection::default();
        // SAFETY: there is room for one.
        let status = unsafe { nczchunk_projection_at(len, chunklen, start, count, stride, p, &raw mut direct) };
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

fn check_plan(source: &Source<'_>, chunks: &[Vec<Touched>]) {
    let dims = source.dims;
    let mut plan = ptr::null_mut();
    let (start, count, stride) = source.request();
    // SAFETY: the arrays have an entry per dimension.
    let status = unsafe {
        nczchunk_plan_new(
            source.var,
            start.as_ptr(),
            count.as_ptr(),
            stride.as_ptr(),
            NCZCHUNK_READ,
            &raw mut plan,
            ptr::null_mut(),
        )
    };
    assert_eq!(status, 0, "{dims:?}");
    let (chunk_bytes, grid_chunks) = (0, 0);
    let mut totals =
        nczchunk_plan_totals { chunks: 0, covered_chunks: 0, elements: 0, selected_bytes: 0, chunk_bytes, grid_chunks };
    // SAFETY: the plan is alive and there is room for the totals.
    assert_eq!(unsafe { nczchunk_plan_get_totals(plan, &raw mut totals) }, 0);
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
        let status = unsafe { nczchunk_plan_chunk(plan, i, projections.as_mut_ptr(), &raw mut covered) };
        let got: Vec<Touched> = projections.iter().map(seen).collect();
        assert_eq!((status, &got), (0, expected), "{dims:?}, chunk {i}");
        let is_covered = expected.iter().all(|touched| touched.iocount == touched.limit);
        assert_eq!(covered, is_covered.into(), "{dims:?}, chunk {i}");
        mark(&mut times_written, &projections, &count);
    }
    assert!(times_written.iter().all(|&times| times == 1), "{dims:?}: not every element is written exactly once");
    // SAFETY: as above.
    assert_eq!(unsafe { nczchunk_plan_chunk(plan, chunks.len(), projections.as_mut_ptr(), ptr::null_mut()) }, -40);
    // SAFETY: the plan is freed once.
    unsafe { nczchunk_plan_free(plan) };
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

fn check_read(source: &mut Source<'_>, chunks: &[Vec<Touched>], lending: bool, context: &Context) {
    let dims = source.dims;
    let size = source.element_size;
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
    // SAFETY: the store is freed once.
    unsafe { nczchunk_store_free(store) };
    assert_eq!(status, 0, "{dims:?}");
    assert!(data == expected, "{dims:?}, {size} bytes, lending {lending}:\n   got {data:?}\nwanted {expected:?}");
    let asked = context.in_order(std::mem::take(source.asked.get_mut().unwrap()));
    let wanted = chunks.iter().map(|chunk| chunk.iter().map(|touched| touched.chunk_index as isize));
    assert!(
        asked.len() == chunks.len() && asked.iter().zip(wanted).all(|(got, wanted)| wanted.eq(got.iter().copied())),
        "{dims:?}: asked for {asked:?}"
    );
}

fn fill(place: usize) -> u8 {
    0xF0_u8.wrapping_add(place as u8)
}

/// A stored array whose chunks are made when they are asked for.
struct Source<'a> {
    dims: &'a [Dim],
    element_size: usize,
    word_size: usize,
    is_big_endian: bool,
    has_absent_chunks: bool,
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
        let is_big_endian = (variant / 2).is_multiple_of(3) && !matches!(element_size, 3 | 5);
        let dimlens: Vec<usize> = dims.iter().map(|dim| dim.len).collect();
        let chunklens: Vec<usize> = dims.iter().map(|dim| dim.chunklen).collect();
        let fill_value: Vec<u8> = (0..element_size).map(fill).collect();
        let mut var = ptr::null_mut();
        // SAFETY: the arrays have an entry per dimension; the fill value is one element.
        unsafe {
            let (dimlens, chunklens) = (dimlens.as_ptr(), chunklens.as_ptr());
            assert_eq!(
                nczchunk_var_new(dims.len(), dimlens, chunklens, element_size, &raw mut var, ptr::null_mut()),
                0
            );
            assert_eq!(nczchunk_var_set_fill_value(var, fill_value.as_ptr().cast()), 0);
            let endian = if is_big_endian { NCZCHUNK_ENDIAN_BIG } else { NCZCHUNK_ENDIAN_NATIVE };
            assert_eq!(nczchunk_var_set_endian(var, endian), 0);
        }
        let word_size = if is_big_endian { element_size.min(8) } else { 1 };
        let has_absent_chunks = variant / 2 % 5 == 1;
        let (asked, lent) = Default::default();
        Source { dims, element_size, word_size, is_big_endian, has_absent_chunks, var, concurrent, asked, lent }
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

    fn store(&self, lending: bool) -> *mut nczchunk_store {
        let user = ptr::from_ref(self).cast_mut().cast();
        let mut store = ptr::null_mut();
        // SAFETY: the callbacks are what the store documents, and `self` outlives it.
        let status = unsafe {
            if lending {
                let struct_size = size_of::<nczchunk_lending_callbacks>();
                let callbacks = nczchunk_lending_callbacks {
                    struct_size,
                    user,
                    lend: Some(lend),
                    concurrent: self.concurrent.into(),
                    ..std::mem::zeroed()
                };
                nczchunk_store_lending(&raw const callbacks, &raw mut store)
            } else {
                let struct_size = size_of::<nczchunk_filling_callbacks>();
                let callbacks = nczchunk_filling_callbacks {
                    struct_size,
                    user,
                    fill: Some(fill_in),
                    concurrent: self.concurrent.into(),
                    ..std::mem::zeroed()
                };
                nczchunk_store_filling(&raw const callbacks, &raw mut store)
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
            for (d, dim) in self.dims.iter().enumerate().rev() {
                indices[d] = chunk[d] as usize * dim.chunklen + rest % dim.chunklen;
                rest /= dim.chunklen;
            }
            let inside = indices.iter().zip(self.dims).all(|(&index, dim)| index < dim.len);
            for place in 0..self.element_size {
                let word = place / self.word_size * self.word_size;
                let stored = if self.is_big_endian { word + self.word_size - 1 - (place - word) } else { place };
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

unsafe extern "C" fn lend(
    user: *mut c_void,
    rank: usize,
    chunk_indices: *const isize,
    data: *mut *const c_void,
    nbytes: *mut usize,
) -> c_int {
    // SAFETY: the store passes what it documents, and `user` is the source.
    unsafe {
        let source = &*user.cast::<Source>();
        let Some(bytes) = source.make_chunk(std::slice::from_raw_parts(chunk_indices, rank)) else { return -139 };
        *data = bytes.as_ptr().cast();
        *nbytes = bytes.len();
        // It stays where it is.
        source.lent.lock().unwrap().push(bytes);
    }
    0
}

unsafe extern "C" fn fill_in(
    user: *mut c_void,
    rank: usize,
    chunk_indices: *const isize,
    buffer: *mut c_void,
    size: usize,
    nbytes: *mut usize,
) -> c_int {
    // SAFETY: as for `lend`; the buffer has room for `size` bytes.
    unsafe {
        let source = &*user.cast::<Source>();
        let Some(bytes) = source.make_chunk(std::slice::from_raw_parts(chunk_indices, rank)) else { return -141 };
        *nbytes = bytes.len();
        assert_eq!(size, bytes.len());
        ptr::copy_nonoverlapping(bytes.as_ptr(), buffer.cast(), size);
    }
    0
}
