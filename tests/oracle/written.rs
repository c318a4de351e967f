//! Writing, held against the oracle: what every chunk holds afterwards, and which chunks were read and written on the
//! way.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Mutex;

use nczchunk_c::{plan::*, store::*, var::*, write::*};

use super::cases::Dim;
use super::naive::{self, Touched};
use super::subject::{Context, FOREIGN, Plan, chunk_order, division, is_kept};

const FILL: u8 = 0xF0;
/// What lies in stored chunks outside the array.
const JUNK: u8 = 0xCC;

/// Checks one write, at once and by a kept plan; the variant chooses element size, byte order, the order of a chunk's
/// axes, kind of store and whether chunks are absent.
pub fn check(dims: &[Dim], chunks: &[Vec<Touched>], variant: usize, context: &Context) {
    let shape = Shape::new(dims, variant);
    let before = shape.stored();
    let mut data = Vec::new();
    naive::for_each_selected(dims, |indices| data.extend((0..shape.size).map(|place| new_byte(indices, place))));

    let mut expected = before.clone();
    let mut written = Vec::new();
    for chunk in chunks {
        let number = shape.number(chunk);
        let covered = chunk.iter().all(|touched| touched.iocount == touched.limit);
        written.push((number, covered));
        let contents = expected[number].get_or_insert_with(|| shape.blank());
        if covered {
            *contents = shape.blank();
        }
    }
    naive::for_each_selected(dims, |indices| {
        let (number, at) = shape.place(indices);
        let contents = expected[number].as_mut().unwrap();
        for place in 0..shape.size {
            contents[at + shape.stored_place(place)] = new_byte(indices, place);
        }
    });
    for kept in [false, true].into_iter().take(1 + usize::from(is_kept(variant))) {
        let stored = Stored::new(&shape, before.clone());
        let data_before = data.clone();
        let division = write(&shape, &stored, &data, chunks.len(), kept, context);
        assert!(data == data_before, "{dims:?}: the caller's data was changed");
        // What was written, in the order in which it should have been.
        let wanted: Vec<_> = division.iter().flat_map(|range| &written[range.clone()]).copied().collect();
        stored.check(&shape, &expected, wanted, context);
    }
}

fn new_byte(indices: &[usize], place: usize) -> u8 {
    naive::byte(indices, place) ^ 0x5A
}

/// How the array and its elements are stored.
struct Shape<'a> {
    dims: &'a [Dim],
    grid: Vec<usize>,
    size: usize,
    word: usize,
    is_foreign: bool,
    has_absent_chunks: bool,
    variant: usize,
    order: Option<Vec<usize>>,
    /// In a chunk as it is stored: elements from one to the next along each dimension.
    steps: Vec<usize>,
}

impl<'a> Shape<'a> {
    fn new(dims: &'a [Dim], case: usize) -> Self {
        let variant = case / 2;
        let order = chunk_order(dims.len(), case);
        let (mut steps, mut step) = (vec![0; dims.len()], 1);
        for d in order.clone().unwrap_or_else(|| (0..dims.len()).collect()).into_iter().rev() {
            steps[d] = step;
            step *= dims[d].chunklen;
        }
        let size = [4, 1, 2, 3, 8, 16, 5][variant % 7];
        let is_foreign = variant.is_multiple_of(3) && !matches!(size, 3 | 5);
        Shape {
            dims,
            grid: dims.iter().map(|dim| dim.len.div_ceil(dim.chunklen)).collect(),
            size,
            word: if is_foreign { size.min(8) } else { 1 },
            is_foreign,
            has_absent_chunks: variant % 5 < 2,
            variant: case,
            order,
            steps,
        }
    }

    fn is_lending(&self) -> bool {
        self.variant.is_multiple_of(2)
    }

    fn number(&self, chunk: &[Touched]) -> usize {
        chunk.iter().zip(&self.grid).fold(0, |number, (touched, len)| number * len + touched.chunk_index as usize)
    }

    fn chunk_elements(&self) -> usize {
        self.dims.iter().map(|dim| dim.chunklen).product()
    }

    /// An element's chunk, and where in that it begins.
    fn place(&self, indices: &[usize]) -> (usize, usize) {
        let (mut number, mut at) = (0, 0);
        for (d, (index, dim)) in indices.iter().zip(self.dims).enumerate() {
            number = number * self.grid[d] + index / dim.chunklen;
            at += index % dim.chunklen * self.steps[d];
        }
        (number, at * self.size)
    }

    /// Where the byte at a place of an element is stored.
    fn stored_place(&self, place: usize) -> usize {
        let word = place / self.word * self.word;
        if self.is_foreign { word + self.word - 1 - (place - word) } else { place }
    }

    /// A chunk of fill values, whose bytes in native order are FILL, FILL + 1, ...
    fn blank(&self) -> Vec<u8> {
        let mut element = vec![0; self.size];
        for place in 0..self.size {
            element[self.stored_place(place)] = FILL.wrapping_add(place as u8);
        }
        element.repeat(self.chunk_elements())
    }

    /// The array's chunks by their number.
    fn stored(&self) -> Vec<Option<Vec<u8>>> {
        let count: usize = self.grid.iter().product();
        let blank_len = self.chunk_elements() * self.size;
        let mut chunks: Vec<Option<Vec<u8>>> = (0..count)
            .map(|number| (!self.has_absent_chunks || number % 3 != 1).then(|| vec![JUNK; blank_len]))
            .collect();
        let mut indices = vec![0; self.dims.len()];
        for ordinal in 0..self.dims.iter().map(|dim| dim.len).product() {
            let mut rest = ordinal;
            for (index, dim) in indices.iter_mut().zip(self.dims).rev() {
                *index = rest % dim.len;
                rest /= dim.len;
            }
            let (number, at) = self.place(&indices);
            if let Some(chunk) = &mut chunks[number] {
                (0..self.size).for_each(|place| chunk[at + self.stored_place(place)] = naive::byte(&indices, place));
            }
        }
        chunks
    }
}

/// The stored chunks by their number, and what was done with them.
struct Stored {
    chunks: Vec<Mutex<Option<Vec<u8>>>>,
    grid: Vec<usize>,
    blank_len: usize,
    log: Mutex<Log>,
}

#[derive(Default)]
struct Log {
    fetched: Vec<usize>,
    written: Vec<usize>,
    lent: Vec<(usize, bool)>,
}

impl Stored {
    fn new(shape: &Shape<'_>, chunks: Vec<Option<Vec<u8>>>) -> Self {
        let (chunks, log) = (chunks.into_iter().map(Mutex::new).collect(), Mutex::default());
        Stored { chunks, grid: shape.grid.clone(), blank_len: shape.chunk_elements() * shape.size, log }
    }

    /// # Safety
    /// `user` is a `Stored` and there are `rank` indices.
    unsafe fn find<'a>(user: *mut c_void, rank: usize, indices: *const isize) -> (&'a Stored, usize) {
        // SAFETY: the caller's promise.
        let (stored, indices) = unsafe { (&*user.cast::<Stored>(), std::slice::from_raw_parts(indices, rank)) };
        let number = indices.iter().zip(&stored.grid).fold(0, |number, (&index, len)| number * len + index as usize);
        (stored, number)
    }

    /// Notes something.
    fn note(&self, what: impl FnOnce(&mut Log)) {
        what(&mut self.log.lock().unwrap());
    }

    /// Checks what the chunks hold, and that just these were written and, if they are not covered, fetched.
    fn check(self, shape: &Shape<'_>, expected: &[Option<Vec<u8>>], wanted: Vec<(usize, bool)>, context: &Context) {
        let (dims, variant) = (shape.dims, shape.variant);
        let chunks: Vec<_> = self.chunks.into_iter().map(|chunk| chunk.into_inner().unwrap()).collect();
        assert!(chunks == expected, "{dims:?}, variant {variant}:\n   got {chunks:?}\nwanted {expected:?}");
        let wanted = context.in_order(wanted);
        let log = self.log.into_inner().unwrap();
        let numbers: Vec<_> = wanted.iter().map(|(number, _)| *number).collect();
        assert_eq!(context.in_order(log.written), numbers, "{dims:?}");
        if shape.is_lending() {
            assert_eq!(context.in_order(log.lent), wanted, "{dims:?}");
        } else {
            let fetched: Vec<_> = wanted.iter().filter(|(_, covered)| !covered).map(|(number, _)| *number).collect();
            assert_eq!(context.in_order(log.fetched), fetched, "{dims:?}");
        }
    }
}

/// Writes, at once or by a kept plan; tells which ranges of the plan's chunks were written, one after the other.
fn write(
    shape: &Shape<'_>,
    stored: &Stored,
    data: &[u8],
    num_chunks: usize,
    kept: bool,
    context: &Context,
) -> Vec<std::ops::Range<usize>> {
    let column = |pick: fn(&Dim) -> usize| shape.dims.iter().map(pick).collect::<Vec<_>>();
    let (dimlens, chunklens) = (column(|dim| dim.len), column(|dim| dim.chunklen));
    let (start, count) = (column(|dim| dim.start), column(|dim| dim.count));
    let stride: Vec<isize> = shape.dims.iter().map(|dim| dim.stride as isize).collect();
    let fill_value: Vec<u8> = (0..shape.size).map(|place| FILL.wrapping_add(place as u8)).collect();
    let user = ptr::from_ref(stored).cast_mut().cast();
    let concurrent = (context.threads > 1).into();
    let (mut var, mut store, none) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    // SAFETY: the arrays have an entry per dimension, the fill value is one element, the data are what is selected, and
    // the callbacks are what the store documents.
    unsafe {
        let rank = dimlens.len();
        assert_eq!(nczchunk_var_new(rank, dimlens.as_ptr(), chunklens.as_ptr(), shape.size, &raw mut var, none), 0);
        assert_eq!(nczchunk_var_set_fill_value(var, fill_value.as_ptr().cast(), none), 0);
        let endian = if shape.is_foreign { FOREIGN } else { NCZCHUNK_ENDIAN_NATIVE };
        assert_eq!(nczchunk_var_set_endian(var, endian, none), 0);
        if let Some(order) = &shape.order {
            assert_eq!(nczchunk_var_set_chunk_order(var, order.as_ptr(), none), 0);
        }
        let made = if shape.is_lending() {
            let callbacks = nczchunk_zero_copy_callbacks {
                struct_size: size_of::<nczchunk_zero_copy_callbacks>(),
                user,
                lend: Some(never_lend),
                lend_to_write: Some(lend_to_write),
                release: Some(release),
                concurrent,
                ..std::mem::zeroed()
            };
            nczchunk_chunk_store_new_zero_copy(&raw const callbacks, &raw mut store, none)
        } else {
            let callbacks = nczchunk_reader_callbacks {
                struct_size: size_of::<nczchunk_reader_callbacks>(),
                user,
                fill: Some(fill),
                store: Some(keep),
                concurrent,
                // A write needs whole chunks.
                ranges: 1,
                gap: 1,
                ..std::mem::zeroed()
            };
            nczchunk_chunk_store_new(&raw const callbacks, &raw mut store, none)
        };
        assert_eq!(made, 0);
        let (start, count, stride) = (start.as_ptr(), count.as_ptr(), stride.as_ptr());
        let data = data.as_ptr().cast();
        let mut written = Vec::new();
        if kept {
            let mut plan = ptr::null_mut();
            assert_eq!(nczchunk_plan_new(var, start, count, stride, NCZCHUNK_WRITE, &raw mut plan, none), 0);
            // It refers to nothing of the variable's.
            nczchunk_var_free(var);
            let plan = Plan(plan);
            for (first, number) in division(&plan, num_chunks, shape.variant) {
                let status = nczchunk_plan_write(plan.0, store, first, number, data, context.pointer);
                assert_eq!(status, 0, "{:?}", shape.dims);
                written.push(first..if number == NCZCHUNK_ALL { num_chunks } else { first + number });
            }
        } else {
            let status = nczchunk_write_vars(var, store, start, count, stride, data, context.pointer);
            assert_eq!(status, 0, "{:?}", shape.dims);
            nczchunk_var_free(var);
            written.push(0..num_chunks);
        }
        nczchunk_chunk_store_free(store);
        written
    }
}

unsafe extern "C" fn never_lend(_: *mut c_void, _: *mut nczchunk_borrowed_chunk) -> c_int {
    panic!("a write asked to read")
}

unsafe extern "C" fn lend_to_write(user: *mut c_void, loan: *mut nczchunk_borrowed_chunk) -> c_int {
    // SAFETY: the store passes what it documents, and `user` is what was stored.
    unsafe {
        let loan = &mut *loan;
        let (stored, number) = Stored::find(user, loan.rank, loan.chunk_indices);
        stored.note(|log| log.lent.push((number, loan.covered == 1)));
        let mut chunk = stored.chunks[number].lock().unwrap();
        let is_new = chunk.is_none();
        let chunk = chunk.get_or_insert_with(|| vec![0xDD; stored.blank_len]);
        loan.data = chunk.as_mut_ptr().cast();
        loan.nbytes = chunk.len();
        loan.handle = ptr::without_provenance_mut(number + 1);
        if is_new { -139 } else { 0 }
    }
}

/// A chunk that comes back from a write has been changed.
unsafe extern "C" fn release(user: *mut c_void, loan: *mut nczchunk_borrowed_chunk, status: c_int) -> c_int {
    // SAFETY: as above.
    unsafe {
        let loan = &*loan;
        let (stored, number) = Stored::find(user, loan.rank, loan.chunk_indices);
        assert_eq!((status, loan.access, loan.handle.addr()), (0, NCZCHUNK_WRITE as usize, number + 1));
        assert_eq!((loan.nbytes, loan.chunk_bytes), (stored.blank_len, stored.blank_len));
        stored.note(|log| log.written.push(number));
    }
    0
}

unsafe extern "C" fn fill(user: *mut c_void, request: *mut nczchunk_request) -> c_int {
    // SAFETY: as above; the buffer has room for `size` bytes.
    unsafe {
        let request = &mut *request;
        let (stored, number) = Stored::find(user, request.rank, request.chunk_indices);
        assert_eq!((request.access, request.offset), (NCZCHUNK_WRITE as usize, 0));
        stored.note(|log| log.fetched.push(number));
        let chunk = stored.chunks[number].lock().unwrap();
        let Some(chunk) = chunk.as_ref() else { return -139 };
        assert_eq!(request.size, chunk.len());
        request.nbytes = request.size;
        request.buffer.cast::<u8>().copy_from_nonoverlapping(chunk.as_ptr(), request.size);
    }
    0
}

unsafe extern "C" fn keep(user: *mut c_void, request: *mut nczchunk_request) -> c_int {
    // SAFETY: as above; the buffer holds `size` bytes.
    unsafe {
        let request = &*request;
        let (stored, number) = Stored::find(user, request.rank, request.chunk_indices);
        stored.note(|log| log.written.push(number));
        let bytes = std::slice::from_raw_parts(request.buffer.cast(), request.size).to_vec();
        *stored.chunks[number].lock().unwrap() = Some(bytes);
    }
    0
}
