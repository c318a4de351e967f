//! Writing, held against the oracle: what every chunk holds afterwards, and which chunks were read and written on the way.

use std::ffi::{c_int, c_void};
use std::ptr;

use nczchunk::ffi::{store::*, var::*, write::*};

use super::cases::Dim;
use super::naive::{self, Touched};

const FILL: u8 = 0xF0;
/// What lies in stored chunks outside the array.
const JUNK: u8 = 0xCC;

/// Checks one write; the variant chooses element size, byte order, kind of store and whether chunks are absent.
pub fn check(dims: &[Dim], chunks: &[Vec<Touched>], variant: usize) {
    let lending = variant.is_multiple_of(2);
    let shape = Shape::new(dims, variant / 2);
    let mut stored = Stored::new(&shape);
    let before = stored.chunks.clone();
    let mut data = Vec::new();
    naive::for_each_selected(dims, |indices| data.extend((0..shape.size).map(|place| new_byte(indices, place))));
    let data_before = data.clone();

    write(&shape, &mut stored, lending, &data);
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
    assert!(stored.chunks == expected, "{dims:?}, variant {variant}:\n   got {:?}\nwanted {expected:?}", stored.chunks);
    assert_eq!(stored.written, written.iter().map(|(number, _)| *number).collect::<Vec<_>>(), "{dims:?}");
    if lending {
        assert_eq!(stored.lent, written, "{dims:?}");
        assert_eq!(stored.released, written.len(), "{dims:?}");
    } else {
        assert_eq!(stored.fetched, fetched, "{dims:?}");
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
}

/// The stored chunks by their number, and what was done with them.
struct Stored {
    chunks: Vec<Option<Vec<u8>>>,
    grid: Vec<usize>,
    blank_len: usize,
    fetched: Vec<usize>,
    written: Vec<usize>,
    lent: Vec<(usize, bool)>,
    released: usize,
}

impl Stored {
    fn new(shape: &Shape<'_>) -> Self {
        let count: usize = shape.grid.iter().product();
        let blank_len = shape.chunk_elements() * shape.size;
        let mut chunks: Vec<Option<Vec<u8>>> = (0..count)
            .map(|number| (!shape.has_absent_chunks || number % 3 != 1).then(|| vec![JUNK; blank_len]))
            .collect();
        let mut indices = vec![0; shape.dims.len()];
        for ordinal in 0..shape.dims.iter().map(|dim| dim.len).product() {
            let mut rest = ordinal;
            for (index, dim) in indices.iter_mut().zip(shape.dims).rev() {
                *index = rest % dim.len;
                rest /= dim.len;
            }
            let (number, at) = shape.place(&indices);
            if let Some(chunk) = &mut chunks[number] {
                (0..shape.size).for_each(|place| chunk[at + shape.stored_place(place)] = naive::byte(&indices, place));
            }
        }
        let (fetched, written, lent) = Default::default();
        Stored { chunks, grid: shape.grid.clone(), blank_len, fetched, written, lent, released: 0 }
    }

    /// # Safety
    /// `user` is a `Stored` and there are `rank` indices.
    unsafe fn find<'a>(user: *mut c_void, rank: usize, indices: *const isize) -> (&'a mut Stored, usize) {
        // SAFETY: the caller's promise.
        let (stored, indices) = unsafe { (&mut *user.cast::<Stored>(), std::slice::from_raw_parts(indices, rank)) };
        let number = indices.iter().zip(&stored.grid).fold(0, |number, (&index, len)| number * len + index as usize);
        (stored, number)
    }
}

fn write(shape: &Shape<'_>, stored: &mut Stored, lending: bool, data: &[u8]) {
    let column = |pick: fn(&Dim) -> usize| shape.dims.iter().map(pick).collect::<Vec<_>>();
    let (dimlens, chunklens) = (column(|dim| dim.len), column(|dim| dim.chunklen));
    let (start, count) = (column(|dim| dim.start), column(|dim| dim.count));
    let stride: Vec<isize> = shape.dims.iter().map(|dim| dim.stride as isize).collect();
    let fill_value: Vec<u8> = (0..shape.size).map(|place| FILL.wrapping_add(place as u8)).collect();
    let user = ptr::from_mut(stored).cast();
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
                concurrent: 0,
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
                concurrent: 0,
            };
            nczchunk_store_filling(&raw const callbacks, &raw mut store)
        };
        assert_eq!(made, 0);
        let (start, count, stride) = (start.as_ptr(), count.as_ptr(), stride.as_ptr());
        let status = nczchunk_write_vars(var, store, start, count, stride, data.as_ptr().cast(), ptr::null_mut());
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
        stored.lent.push((number, covered == 1));
        let is_new = stored.chunks[number].is_none();
        let chunk = stored.chunks[number].get_or_insert_with(|| vec![0xDD; stored.blank_len]);
        *data = chunk.as_mut_ptr().cast();
        *nbytes = chunk.len();
        if is_new { -139 } else { 0 }
    }
}

unsafe extern "C" fn changed(user: *mut c_void, rank: usize, indices: *const isize) -> c_int {
    // SAFETY: as above.
    let (stored, number) = unsafe { Stored::find(user, rank, indices) };
    stored.written.push(number);
    0
}

unsafe extern "C" fn release(user: *mut c_void, _: *const c_void) {
    // SAFETY: `user` is what was stored.
    unsafe { (*user.cast::<Stored>()).released += 1 }
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
        stored.fetched.push(number);
        let Some(chunk) = &stored.chunks[number] else { return -139 };
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
        stored.written.push(number);
        stored.chunks[number] = Some(std::slice::from_raw_parts(data.cast(), nbytes).to_vec());
    }
    0
}
