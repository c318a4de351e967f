//! Writing, held against the oracle: what every chunk holds afterwards, and which chunks were read and written on the way.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Mutex;

use nczchunk::ffi::{store::*, var::*, write::*};

use super::cases::Dim;
use super::naive::{self, Touched};
use super::subject::Context;

const FILL: u8 = 0xF0;
/// What lies in stored chunks outside the array.
const JUNK: u8 = 0xCC;

/// Checks one write; the variant chooses element size, byte order, kind of store and whether chunks are absent.
pub fn check(dims: &[Dim], chunks: &[Vec<Touched>], variant: usize, context: &Context) {
    let lending = variant.is_multiple_of(2);
    let shape = Shape::new(dims, variant / 2);
    let before = shape.stored();
    let stored = Stored::new(&shape, before.clone());
    let mut data = Vec::new();
    naive::for_each_selected(dims, |indices| data.extend((0..shape.size).map(|place| new_byte(indices, place))));
    let data_before = data.clone();

    write(&shape, &stored, lending, &data, context);
    assert!(data == data_before, "{dims:?}: the caller's data was changed");

    let mut expected = before;
    let (mut fetched, mut written) = (Vec::new(), Vec::new());
    for chunk in chunks {
        let number = shape.number(chunk);
        let covered = chunk.iter().all(|touched| touched.iocount == touched.limit);
        written.push((number, covered));
        if !covered {
            fetched.push(number);
        }
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
    let stored_chunks: Vec<_> = stored.chunks.into_iter().map(|chunk| chunk.into_inner().unwrap()).collect();
    assert!(stored_chunks == expected, "{dims:?}, variant {variant}:\n   got {stored_chunks:?}\nwanted {expected:?}");
    let log = stored.log.into_inner().unwrap();
    let numbers: Vec<_> = written.iter().map(|(number, _)| *number).collect();
    assert_eq!(context.in_order(log.written), numbers, "{dims:?}");
    if lending {
        assert_eq!(log.released, written.len(), "{dims:?}");
        assert_eq!(context.in_order(log.lent), written, "{dims:?}");
    } else {
        assert_eq!(context.in_order(log.fetched), fetched, "{dims:?}");
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
    is_big_endian: bool,
    has_absent_chunks: bool,
}

impl<'a> Shape<'a> {
    fn new(dims: &'a [Dim], variant: usize) -> Self {
        let size = [4, 1, 2, 3, 8, 16, 5][variant % 7];
        let is_big_endian = variant.is_multiple_of(3) && !matches!(size, 3 | 5);
        Shape {
            dims,
            grid: dims.iter().map(|dim| dim.len.div_ceil(dim.chunklen)).collect(),
            size,
            word: if is_big_endian { size.min(8) } else { 1 },
            is_big_endian,
            has_absent_chunks: variant % 5 < 2,
        }
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
        for ((index, dim), grid) in indices.iter().zip(self.dims).zip(&self.grid) {
            number = number * grid + index / dim.chunklen;
            at = at * dim.chunklen + index % dim.chunklen;
        }
        (number, at * self.size)
    }

    /// Where the byte at a place of an element is stored.
    fn stored_place(&self, place: usize) -> usize {
        let word = place / self.word * self.word;
        if self.is_big_endian { word + self.word - 1 - (place - word) } else { place }
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
    released: usize,
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
}

fn write(shape: &Shape<'_>, stored: &Stored, lending: bool, data: &[u8], context: &Context) {
    let column = |pick: fn(&Dim) -> usize| shape.dims.iter().map(pick).collect::<Vec<_>>();
    let (dimlens, chunklens) = (column(|dim| dim.len), column(|dim| dim.chunklen));
    let (start, count) = (column(|dim| dim.start), column(|dim| dim.count));
    let stride: Vec<isize> = shape.dims.iter().map(|dim| dim.stride as isize).collect();
    let fill_value: Vec<u8> = (0..shape.size).map(|place| FILL.wrapping_add(place as u8)).collect();
    let user = ptr::from_ref(stored).cast_mut().cast();
    let concurrent = (context.threads > 1).into();
    let (mut var, mut store) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: the arrays have an entry per dimension, the fill value is one element, the data are what is selected, and the
    // callbacks are what the store documents.
    unsafe {
        let rank = dimlens.len();
        assert_eq!(
            nczchunk_var_new(rank, dimlens.as_ptr(), chunklens.as_ptr(), shape.size, &raw mut var, ptr::null_mut()),
            0
        );
        assert_eq!(nczchunk_var_set_fill_value(var, fill_value.as_ptr().cast()), 0);
        let endian = if shape.is_big_endian { NCZCHUNK_ENDIAN_BIG } else { NCZCHUNK_ENDIAN_NATIVE };
        assert_eq!(nczchunk_var_set_endian(var, endian), 0);
        let made = if lending {
            let callbacks = nczchunk_lending_callbacks {
                struct_size: size_of::<nczchunk_lending_callbacks>(),
                user,
                lend: Some(never_lend),
                release: Some(release),
                destroy: None,
                lend_to_write: Some(lend_to_write),
                changed: Some(changed),
                concurrent,
            };
            nczchunk_store_lending(&raw const callbacks, &raw mut store)
        } else {
            let struct_size = size_of::<nczchunk_filling_callbacks>();
            let callbacks = nczchunk_filling_callbacks {
                struct_size,
                user,
                fill: Some(fill),
                destroy: None,
                store: Some(keep),
                concurrent,
            };
            nczchunk_store_filling(&raw const callbacks, &raw mut store)
        };
        assert_eq!(made, 0);
        let (start, count, stride) = (start.as_ptr(), count.as_ptr(), stride.as_ptr());
        let status = nczchunk_write_vars(var, store, start, count, stride, data.as_ptr().cast(), context.pointer);
        assert_eq!(status, 0, "{:?}", shape.dims);
        nczchunk_store_free(store);
        nczchunk_var_free(var);
    }
}

unsafe extern "C" fn never_lend(
    _: *mut c_void,
    _: usize,
    _: *const isize,
    _: *mut *const c_void,
    _: *mut usize,
) -> c_int {
    panic!("a write asked to read")
}

unsafe extern "C" fn lend_to_write(
    user: *mut c_void,
    rank: usize,
    indices: *const isize,
    covered: c_int,
    data: *mut *mut c_void,
    nbytes: *mut usize,
) -> c_int {
    // SAFETY: the store passes what it documents, and `user` is what was stored.
    unsafe {
        let (stored, number) = Stored::find(user, rank, indices);
        stored.note(|log| log.lent.push((number, covered == 1)));
        let mut chunk = stored.chunks[number].lock().unwrap();
        let is_new = chunk.is_none();
        let chunk = chunk.get_or_insert_with(|| vec![0xDD; stored.blank_len]);
        *data = chunk.as_mut_ptr().cast();
        *nbytes = chunk.len();
        if is_new { -139 } else { 0 }
    }
}

unsafe extern "C" fn changed(user: *mut c_void, rank: usize, indices: *const isize) -> c_int {
    // SAFETY: as above.
    let (stored, number) = unsafe { Stored::find(user, rank, indices) };
    stored.note(|log| log.written.push(number));
    0
}

unsafe extern "C" fn release(user: *mut c_void, _: *const c_void) {
    // SAFETY: `user` is what was stored.
    unsafe { (*user.cast::<Stored>()).note(|log| log.released += 1) }
}

unsafe extern "C" fn fill(
    user: *mut c_void,
    rank: usize,
    indices: *const isize,
    buffer: *mut c_void,
    size: usize,
    nbytes: *mut usize,
) -> c_int {
    // SAFETY: as above; the buffer has room for `size` bytes.
    unsafe {
        let (stored, number) = Stored::find(user, rank, indices);
        stored.note(|log| log.fetched.push(number));
        let chunk = stored.chunks[number].lock().unwrap();
        let Some(chunk) = chunk.as_ref() else { return -139 };
        assert_eq!(size, chunk.len());
        *nbytes = size;
        buffer.cast::<u8>().copy_from_nonoverlapping(chunk.as_ptr(), size);
    }
    0
}

unsafe extern "C" fn keep(
    user: *mut c_void,
    rank: usize,
    indices: *const isize,
    data: *const c_void,
    nbytes: usize,
) -> c_int {
    // SAFETY: as above; the data have `nbytes` bytes.
    unsafe {
        let (stored, number) = Stored::find(user, rank, indices);
        stored.note(|log| log.written.push(number));
        *stored.chunks[number].lock().unwrap() = Some(std::slice::from_raw_parts(data.cast(), nbytes).to_vec());
    }
    0
}
