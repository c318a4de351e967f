//! The library's part: a workload through the C interface, as a C program would call it.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

use nczchunk::ffi::context::{
    nczchunk_context, nczchunk_context_free, nczchunk_context_new, nczchunk_context_set_threads,
};
use nczchunk::ffi::layout::nczchunk_read_varm;
use nczchunk::ffi::read::nczchunk_read_vars;
use nczchunk::ffi::store::{
    nczchunk_lending_callbacks, nczchunk_store, nczchunk_store_free, nczchunk_store_lending, nczchunk_store_wrap_zstd,
};
use nczchunk::ffi::var::{
    NCZCHUNK_ENDIAN_BIG, nczchunk_var, nczchunk_var_free, nczchunk_var_new, nczchunk_var_set_endian,
    nczchunk_var_set_fill_value,
};
use nczchunk::ffi::write::nczchunk_write_vars;

use super::data::Chunks;
use super::workloads::{Array, Content, FILL_VALUE, Kind, Workload};

/// An array as the library knows it: a variable, and a store that lends the chunks.
pub struct Engine<'c> {
    var: *mut nczchunk_var,
    store: *mut nczchunk_store,
    context: *mut nczchunk_context,
    chunks: std::marker::PhantomData<&'c mut Chunks>,
}

impl<'c> Engine<'c> {
    /// The chunks stay where they are, and are read and written there.
    pub fn new(array: &Array, chunks: &'c mut Chunks, threads: usize) -> Self {
        let (mut var, mut store, mut context) = (null_mut(), null_mut(), null_mut());
        let rank = array.dimlens.len();
        let (dimlens, chunklens) = (array.dimlens.as_ptr(), array.chunklens.as_ptr());
        // SAFETY: both lists have an entry per dimension.
        check(unsafe { nczchunk_var_new(rank, dimlens, chunklens, array.kind.size(), &mut var, null_mut()) });
        if array.kind == Kind::I16Big {
            // SAFETY: var was made.
            check(unsafe { nczchunk_var_set_endian(var, NCZCHUNK_ENDIAN_BIG) });
        }
        if array.kind == Kind::F32 {
            // SAFETY: var was made, and its elements have this type.
            check(unsafe { nczchunk_var_set_fill_value(var, (&FILL_VALUE as *const f32).cast()) });
        }
        // SAFETY: a structure of zeros is one without callbacks.
        let mut callbacks: nczchunk_lending_callbacks = unsafe { MaybeUninit::zeroed().assume_init() };
        callbacks.struct_size = size_of::<nczchunk_lending_callbacks>();
        callbacks.user = std::ptr::from_mut(chunks).cast();
        callbacks.lend = Some(lend);
        callbacks.lend_to_write = Some(lend_to_write);
        callbacks.concurrent = 1;
        // SAFETY: the callbacks are what they say, and the chunks outlive the store.
        check(unsafe { nczchunk_store_lending(&callbacks, &mut store) });
        if matches!(array.content, Content::Compressed { .. }) {
            // SAFETY: the store was made.
            check(unsafe { nczchunk_store_wrap_zstd(store, null()) });
        }
        // SAFETY: context has room for one.
        check(unsafe { nczchunk_context_new(&mut context) });
        // SAFETY: it was made.
        check(unsafe { nczchunk_context_set_threads(context, threads) });
        Engine { var, store, context, chunks: std::marker::PhantomData }
    }

    /// Reads the workload's hyperslab.
    #[inline]
    pub fn read(&self, workload: &Workload, out: &mut [u8]) {
        self.read_at(workload.start, workload.count, workload.stride, out);
    }

    /// Reads the workload's hyperslab into memory where neighbours along each dimension are so many elements apart.
    pub fn read_mapped(&self, workload: &Workload, imap: &[isize], out: &mut [u8]) {
        let (start, count, stride) = (workload.start.as_ptr(), workload.count.as_ptr(), workload.stride.as_ptr());
        let (imap, out) = (imap.as_ptr(), out.as_mut_ptr().cast());
        // SAFETY: the lists have an entry per dimension, and the map leads to places within out.
        check(unsafe { nczchunk_read_varm(self.var, self.store, start, count, stride, imap, out, self.context) });
    }

    /// Reads single elements, one call each.
    pub fn read_elements(&self, workload: &Workload, positions: &[usize], out: &mut [u8]) {
        let rank = workload.count.len();
        let (ones, strides) = (vec![1; rank], vec![1; rank]);
        let elements = out.chunks_exact_mut(workload.array.kind.size());
        for (position, element) in positions.chunks_exact(rank).zip(elements) {
            self.read_at(position, &ones, &strides, element);
        }
    }

    #[inline]
    fn read_at(&self, start: &[usize], count: &[usize], stride: &[isize], out: &mut [u8]) {
        // The library is a shared one for most: it is not to be compiled into this loop.
        type Read = unsafe extern "C" fn(
            *const nczchunk_var,
            *const nczchunk_store,
            *const usize,
            *const usize,
            *const isize,
            *mut c_void,
            *mut nczchunk_context,
        ) -> c_int;
        let read: Read = black_box(nczchunk_read_vars);
        let (start, count, stride) = (start.as_ptr(), count.as_ptr(), stride.as_ptr());
        // SAFETY: the lists have an entry per dimension, and out room for what is selected.
        check(unsafe { read(self.var, self.store, start, count, stride, out.as_mut_ptr().cast(), self.context) });
    }

    /// Writes the workload's hyperslab.
    pub fn write(&mut self, workload: &Workload, data: &[u8]) {
        let (start, count, stride) = (workload.start.as_ptr(), workload.count.as_ptr(), workload.stride.as_ptr());
        let data = data.as_ptr().cast();
        // SAFETY: the lists have an entry per dimension, and data what is selected.
        check(unsafe { nczchunk_write_vars(self.var, self.store, start, count, stride, data, self.context) });
    }
}

impl Drop for Engine<'_> {
    fn drop(&mut self) {
        // SAFETY: each was made by `new` and is freed once.
        unsafe {
            nczchunk_context_free(self.context);
            nczchunk_store_free(self.store);
            nczchunk_var_free(self.var);
        }
    }
}

fn check(status: c_int) {
    assert_eq!(status, 0, "status of a call");
}

/// Lends a chunk where it is.
unsafe extern "C" fn lend(
    user: *mut c_void,
    rank: usize,
    indices: *const isize,
    data: *mut *const c_void,
    nbytes: *mut usize,
) -> c_int {
    // SAFETY: the library passes what it was given, rank indices, and places for the answer.
    let (chunks, indices) = unsafe { (&*user.cast::<Chunks>(), std::slice::from_raw_parts(indices, rank)) };
    let Some(place) = chunks.place(indices) else { return nczchunk::status::EEMPTY };
    // SAFETY: as above.
    unsafe {
        *data = chunks.bytes[place.clone()].as_ptr().cast();
        *nbytes = place.len();
    }
    0
}

/// Lends a chunk to be changed where it is.
unsafe extern "C" fn lend_to_write(
    user: *mut c_void,
    rank: usize,
    indices: *const isize,
    _covered: c_int,
    data: *mut *mut c_void,
    nbytes: *mut usize,
) -> c_int {
    // SAFETY: as for lend. Nothing else uses the chunks while the library does.
    let (chunks, indices) = unsafe { (&mut *user.cast::<Chunks>(), std::slice::from_raw_parts(indices, rank)) };
    let Some(place) = chunks.place(indices) else { return nczchunk::status::EEMPTY };
    // SAFETY: as above.
    unsafe {
        *nbytes = place.len();
        *data = chunks.bytes[place].as_mut_ptr().cast();
    }
    0
}
