//! The library's part: a workload through the C interface, as a C program would call it.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

use nczchunk_c::codec::{nczchunk_chunk_store_add_codec, nczchunk_codec_zstd};
use nczchunk_c::context::{nczchunk_context_free, nczchunk_context_new, nczchunk_context_set_threads};
use nczchunk_c::layout::nczchunk_read_varm;
use nczchunk_c::objects::{nczchunk_chunk_store, nczchunk_context, nczchunk_plan, nczchunk_var};
use nczchunk_c::plan::{NCZCHUNK_ALL, NCZCHUNK_READ, nczchunk_plan_free, nczchunk_plan_new, nczchunk_plan_read};
use nczchunk_c::read::nczchunk_read_vars;
use nczchunk_c::store::{
    nczchunk_borrowed_chunk, nczchunk_chunk_store_free, nczchunk_chunk_store_new, nczchunk_chunk_store_new_zero_copy,
    nczchunk_reader_callbacks, nczchunk_request, nczchunk_zero_copy_callbacks,
};
use nczchunk_c::var::{
    NCZCHUNK_ENDIAN_BIG, nczchunk_var_free, nczchunk_var_new, nczchunk_var_set_endian, nczchunk_var_set_fill_value,
};
use nczchunk_c::write::nczchunk_write_vars;

use super::data::Chunks;
use super::workloads::{Content, FILL_VALUE, Kind, Workload};

/// An array as the library knows it: a variable, and a store that lends the chunks or fills them in.
pub struct Engine<'c> {
    var: *mut nczchunk_var,
    store: *mut nczchunk_chunk_store,
    context: *mut nczchunk_context,
    chunks: std::marker::PhantomData<&'c mut Chunks>,
}

impl<'c> Engine<'c> {
    /// The chunks stay where they are, and are read and written there.
    pub fn new(workload: &Workload, chunks: &'c mut Chunks, threads: usize) -> Self {
        let array = workload.array;
        let (mut var, mut store, mut context) = (null_mut(), null_mut(), null_mut());
        let rank = array.dimlens.len();
        let (dimlens, chunklens) = (array.dimlens.as_ptr(), array.chunklens.as_ptr());
        // SAFETY: both lists have an entry per dimension.
        check(unsafe { nczchunk_var_new(rank, dimlens, chunklens, array.kind.size(), &mut var, null_mut()) });
        if array.kind == Kind::I16Big {
            // SAFETY: var was made.
            check(unsafe { nczchunk_var_set_endian(var, NCZCHUNK_ENDIAN_BIG, null_mut()) });
        }
        if array.kind == Kind::F32 {
            // SAFETY: var was made, and its elements have this type.
            check(unsafe { nczchunk_var_set_fill_value(var, (&FILL_VALUE as *const f32).cast(), null_mut()) });
        }
        let user = std::ptr::from_mut(chunks).cast();
        if workload.filling {
            // SAFETY: a structure of zeros is one without callbacks.
            let mut callbacks: nczchunk_reader_callbacks = unsafe { MaybeUninit::zeroed().assume_init() };
            callbacks.struct_size = size_of::<nczchunk_reader_callbacks>();
            callbacks.user = user;
            callbacks.fill = Some(fill);
            callbacks.concurrent = 1;
            // SAFETY: the callbacks are what they say, and the chunks outlive the store.
            check(unsafe { nczchunk_chunk_store_new(&callbacks, &mut store, null_mut()) });
        } else {
            // SAFETY: as above.
            let mut callbacks: nczchunk_zero_copy_callbacks = unsafe { MaybeUninit::zeroed().assume_init() };
            callbacks.struct_size = size_of::<nczchunk_zero_copy_callbacks>();
            callbacks.user = user;
            callbacks.lend = Some(lend);
            callbacks.lend_to_write = Some(lend_to_write);
            callbacks.concurrent = 1;
            // SAFETY: as above.
            check(unsafe { nczchunk_chunk_store_new_zero_copy(&callbacks, &mut store, null_mut()) });
        }
        if matches!(array.content, Content::Compressed { .. }) {
            let mut codec = null_mut();
            // SAFETY: codec has room for one, and the store, which takes it over, was made.
            unsafe {
                check(nczchunk_codec_zstd(null(), &mut codec, null_mut()));
                check(nczchunk_chunk_store_add_codec(store, codec, null_mut()));
            }
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

    /// Makes a plan of the workload, to be executed again and again.
    pub fn keep(self, workload: &Workload) -> Kept<'c> {
        let (start, count, stride) = (workload.start.as_ptr(), workload.count.as_ptr(), workload.stride.as_ptr());
        let mut plan = null_mut();
        // SAFETY: the lists have an entry per dimension.
        check(unsafe { nczchunk_plan_new(self.var, start, count, stride, NCZCHUNK_READ, &mut plan, self.context) });
        Kept { engine: self, plan }
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
            *const nczchunk_chunk_store,
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
            nczchunk_chunk_store_free(self.store);
            nczchunk_var_free(self.var);
        }
    }
}

/// An array, and the plan of one read of it.
pub struct Kept<'c> {
    engine: Engine<'c>,
    plan: *mut nczchunk_plan,
}

impl Kept<'_> {
    /// Executes the plan.
    #[inline]
    pub fn read(&self, out: &mut [u8]) {
        type Read = unsafe extern "C" fn(
            *const nczchunk_plan,
            *const nczchunk_chunk_store,
            usize,
            usize,
            *mut c_void,
            *mut nczchunk_context,
        ) -> c_int;
        let read: Read = black_box(nczchunk_plan_read);
        let (store, context) = (self.engine.store, self.engine.context);
        // SAFETY: out has room for what the plan selects.
        check(unsafe { read(self.plan, store, 0, NCZCHUNK_ALL, out.as_mut_ptr().cast(), context) });
    }
}

impl Drop for Kept<'_> {
    fn drop(&mut self) {
        // SAFETY: it is freed once.
        unsafe { nczchunk_plan_free(self.plan) };
    }
}

fn check(status: c_int) {
    assert_eq!(status, 0, "status of a call");
}

/// Lends a chunk where it is.
unsafe extern "C" fn lend(user: *mut c_void, loan: *mut nczchunk_borrowed_chunk) -> c_int {
    // SAFETY: the library passes what it was given, and a loan with rank indices.
    let (chunks, loan) = unsafe { (&*user.cast::<Chunks>(), &mut *loan) };
    // SAFETY: as above.
    let indices = unsafe { std::slice::from_raw_parts(loan.chunk_indices, loan.rank) };
    let Some(place) = chunks.place(indices) else { return nczchunk::status::EEMPTY };
    loan.data = chunks.bytes[place.clone()].as_ptr().cast_mut().cast();
    loan.nbytes = place.len();
    0
}

/// Lends a chunk to be changed where it is.
unsafe extern "C" fn lend_to_write(user: *mut c_void, loan: *mut nczchunk_borrowed_chunk) -> c_int {
    // SAFETY: as for lend. Nothing else uses the chunks while the library does.
    let (chunks, loan) = unsafe { (&mut *user.cast::<Chunks>(), &mut *loan) };
    // SAFETY: as above.
    let indices = unsafe { std::slice::from_raw_parts(loan.chunk_indices, loan.rank) };
    let Some(place) = chunks.place(indices) else { return nczchunk::status::EEMPTY };
    loan.nbytes = place.len();
    loan.data = chunks.bytes[place].as_mut_ptr().cast();
    0
}

/// Copies a chunk.
unsafe extern "C" fn fill(user: *mut c_void, request: *mut nczchunk_request) -> c_int {
    // SAFETY: as for lend; the buffer has room for size bytes.
    unsafe {
        let (chunks, request) = (&*user.cast::<Chunks>(), &mut *request);
        let indices = std::slice::from_raw_parts(request.chunk_indices, request.rank);
        let Some(place) = chunks.place(indices) else { return nczchunk::status::EEMPTY };
        let bytes = &chunks.bytes[place];
        request.nbytes = bytes.len();
        request.buffer.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len().min(request.size));
    }
    0
}
