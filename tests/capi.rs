//! The C interface called with NULLs, edge arguments and ordinary ones, as Miri can follow it: every pointer a C caller
//! may get wrong, every callback, every object made and freed.

// The tests are C callers in Rust.
#![allow(unsafe_code)]

#[path = "capi/flight.rs"]
mod flight;
#[path = "capi/plans.rs"]
mod plans;
#[cfg(feature = "arrays")]
#[path = "capi/storage_flight.rs"]
mod storage_flight;
#[path = "capi/writing.rs"]
mod writing;

use std::ffi::{CStr, c_int, c_void};
use std::ptr::{null, null_mut};

use nczchunk::Projection;
use nczchunk::status::*;
use nczchunk_c::{codec::*, context::*, objects::*, odometer::*, plan::*, projection::*, read::*};
use nczchunk_c::{status::*, store::*, var::*, version::*};

/// 4 x 5 two-byte elements in chunks of 2 x 2; element (i, j) is 10 * i + j.
fn var() -> *mut nczchunk_var {
    let mut var = null_mut();
    // SAFETY: both lists have two entries.
    assert_eq!(unsafe { nczchunk_var_new(2, [4, 5].as_ptr(), [2, 2].as_ptr(), 2, &raw mut var, null_mut()) }, NOERR);
    var
}

const SIZE: usize = size_of::<Projection>();

#[derive(Default)]
struct Log {
    chunk: [i16; 4],
    lent: usize,
    released: usize,
    /// What release was told, and what it answers.
    outcome: c_int,
    answer: c_int,
    destroyed: usize,
    fail_at: Option<isize>,
    length: Option<usize>,
}

impl Log {
    fn make(&mut self, chunk: &[isize]) -> c_int {
        let base = 20 * chunk[0] as i16 + 2 * chunk[1] as i16;
        self.chunk = [base, base + 1, base + 10, base + 11];
        if self.fail_at == Some(chunk[1]) { EIO } else { NOERR }
    }
}

unsafe extern "C" fn lend(user: *mut c_void, loan: *mut nczchunk_borrowed_chunk) -> c_int {
    // SAFETY: the store passes what it documents, and `user` is a log.
    unsafe {
        let (log, loan) = (&mut *user.cast::<Log>(), &mut *loan);
        assert_eq!((loan.struct_size, loan.access), (size_of::<nczchunk_borrowed_chunk>(), NCZCHUNK_READ as usize));
        assert_eq!((loan.chunk_bytes, loan.covered, loan.nbytes), (8, 0, 0));
        assert!(loan.data.is_null() && loan.handle.is_null());
        log.lent += 1;
        let status = log.make(std::slice::from_raw_parts(loan.chunk_indices, loan.rank));
        loan.data = log.chunk.as_mut_ptr().cast();
        loan.nbytes = log.length.unwrap_or(8);
        loan.handle = std::ptr::without_provenance_mut(log.lent);
        status
    }
}

unsafe extern "C" fn release(user: *mut c_void, loan: *mut nczchunk_borrowed_chunk, status: c_int) -> c_int {
    // SAFETY: `user` is a log, and the loan is the one that was given.
    unsafe {
        let (log, loan) = (&mut *user.cast::<Log>(), &*loan);
        assert_eq!((loan.handle.addr(), loan.nbytes, loan.rank), (log.lent, log.length.unwrap_or(8), 2));
        assert_eq!(loan.data.addr(), log.chunk.as_ptr().addr());
        log.released += 1;
        log.outcome = status;
        log.answer
    }
}

unsafe extern "C" fn destroy(user: *mut c_void) {
    // SAFETY: `user` is a log.
    unsafe { (*user.cast::<Log>()).destroyed += 1 }
}

unsafe extern "C" fn fill(user: *mut c_void, request: *mut nczchunk_request) -> c_int {
    // SAFETY: as for `lend`; the buffer has room for `size` bytes, of which no more are written.
    unsafe {
        let (log, request) = (&mut *user.cast::<Log>(), &mut *request);
        assert_eq!((request.struct_size, request.access), (size_of::<nczchunk_request>(), NCZCHUNK_READ as usize));
        assert_eq!((request.offset, request.chunk_bytes, request.nbytes), (0, 8, 0));
        let status = log.make(std::slice::from_raw_parts(request.chunk_indices, request.rank));
        request.nbytes = log.length.unwrap_or(8);
        request.buffer.cast::<u8>().copy_from_nonoverlapping(log.chunk.as_ptr().cast(), request.size.min(8));
        status
    }
}

fn lending_callbacks(log: *mut Log) -> nczchunk_zero_copy_callbacks {
    nczchunk_zero_copy_callbacks {
        struct_size: size_of::<nczchunk_zero_copy_callbacks>(),
        user: log.cast(),
        lend: Some(lend),
        lend_to_write: None,
        release: Some(release),
        destroy: Some(destroy),
        concurrent: 0,
        accept_longer: 0,
    }
}

fn lending(log: *mut Log) -> *mut nczchunk_chunk_store {
    let (callbacks, mut store) = (lending_callbacks(log), null_mut());
    // SAFETY: the callbacks are what the store documents.
    assert_eq!(unsafe { nczchunk_chunk_store_new_zero_copy(&raw const callbacks, &raw mut store, null_mut()) }, NOERR);
    store
}

fn filling_callbacks(log: *mut Log) -> nczchunk_reader_callbacks {
    nczchunk_reader_callbacks {
        struct_size: size_of::<nczchunk_reader_callbacks>(),
        user: log.cast(),
        fill: Some(fill),
        store: None,
        destroy: Some(destroy),
        concurrent: 0,
        accept_longer: 0,
        ranges: 0,
        gap: 0,
        start: None,
        wait: None,
        cancel: None,
        in_flight: 0,
    }
}

fn filling(log: *mut Log) -> *mut nczchunk_chunk_store {
    let (callbacks, mut store) = (filling_callbacks(log), null_mut());
    // SAFETY: the callbacks are what the store documents.
    assert_eq!(unsafe { nczchunk_chunk_store_new(&raw const callbacks, &raw mut store, null_mut()) }, NOERR);
    store
}

#[test]
fn both_kinds_of_store_read_the_same() {
    for kind in [lending, filling] {
        let log: *mut Log = Box::into_raw(Box::default());
        let (var, store) = (var(), kind(log));
        // A strided box, a whole chunk (which lands in one piece), and everything.
        for (start, count, stride, expected) in [
            ([1, 0], [2, 3], [2, 2], vec![10, 12, 14, 30, 32, 34]),
            ([2, 2], [2, 2], [1, 1], vec![22, 23, 32, 33]),
            ([0, 0], [4, 5], [1, 1], (0..4).flat_map(|i| (0..5).map(move |j| 10 * i + j)).collect()),
        ] {
            let mut data = vec![-1_i16; expected.len()];
            // SAFETY: the lists have two entries, and there is room for what is selected.
            let status = unsafe {
                let output = data.as_mut_ptr().cast();
                nczchunk_read_vars(var, store, start.as_ptr(), count.as_ptr(), stride.as_ptr(), output, null_mut())
            };
            assert_eq!((status, data), (NOERR, expected));
        }
        // SAFETY: each is freed once, the log last.
        unsafe {
            nczchunk_chunk_store_free(store);
            nczchunk_var_free(var);
            let log = Box::from_raw(log);
            assert_eq!((log.lent, log.destroyed), (log.released, 1));
        }
    }
}

#[test]
fn errors_come_with_words_and_places() {
    let log: *mut Log = Box::into_raw(Box::default());
    let (var, store, mut context) = (var(), lending(log), null_mut());
    let mut data = [0_i16; 20];
    // SAFETY: the objects are alive, the lists have two entries, and there is room for everything.
    unsafe {
        assert_eq!(nczchunk_context_new(&raw mut context), NOERR);
        let mut read = |start: [usize; 2], count: [usize; 2]| {
            let output = data.as_mut_ptr().cast();
            nczchunk_read_vars(var, store, start.as_ptr(), count.as_ptr(), null(), output, context)
        };
        let message = || CStr::from_ptr(nczchunk_context_message(context)).to_str().unwrap();

        assert_eq!(read([0, 3], [1, 3]), EEDGE);
        assert_eq!(nczchunk_context_dimension(context), 1);
        assert!(nczchunk_context_chunk(context, null_mut()).is_null());
        assert!(message().starts_with("dimension 1: start 3, count 3"));

        (*log).fail_at = Some(1);
        assert_eq!(read([2, 0], [1, 5]), EIO);
        let mut rank = 0;
        let chunk = nczchunk_context_chunk(context, &raw mut rank);
        assert_eq!(std::slice::from_raw_parts(chunk, rank), [1, 1]);
        assert_eq!(message(), "chunk (1, 1): the callback failed with status -68: NetCDF: I/O failure");
        assert_eq!(((*log).lent, (*log).released, (*log).outcome), (2, 1, NOERR));
        assert_eq!(nczchunk_context_chunks_done(context), 1);

        (*log).fail_at = None;
        for length in [0, 7, usize::MAX] {
            (*log).length = Some(length);
            assert_eq!((read([0, 0], [1, 1]), (*log).outcome), (EBADCHUNK, EBADCHUNK));
        }
        assert_eq!((*log).lent, (*log).released + 1);

        // What release answers ends the call, unless it has failed already.
        (*log).answer = -277;
        for length in [7, usize::MAX] {
            (*log).length = Some(length);
            assert_eq!(read([0, 0], [1, 1]), EBADCHUNK);
        }
        (*log).length = None;
        assert_eq!((read([0, 0], [1, 1]), (*log).outcome), (-277, NOERR));
        (*log).answer = NOERR;
        assert_eq!((read([0, 0], [1, 1]), message(), nczchunk_context_status(context)), (NOERR, "", NOERR));

        nczchunk_context_free(context);
        nczchunk_chunk_store_free(store);
        nczchunk_var_free(var);
        drop(Box::from_raw(log));
    }
}

#[test]
fn a_filling_callback_that_lies_about_lengths_is_found_out() {
    let log: *mut Log = Box::into_raw(Box::default());
    let (var, store) = (var(), filling(log));
    let mut data = [0_i16; 20];
    for length in [0, 7, 9, usize::MAX] {
        // SAFETY: the objects are alive and there is room for everything.
        unsafe {
            (*log).length = Some(length);
            let output = data.as_mut_ptr().cast();
            let status = nczchunk_read_vars(var, store, [0, 0].as_ptr(), null(), null(), output, null_mut());
            assert_eq!(status, EBADCHUNK);
        }
    }
    // SAFETY: each is freed once, the log last.
    unsafe {
        nczchunk_chunk_store_free(store);
        nczchunk_var_free(var);
        drop(Box::from_raw(log));
    }
}

#[test]
fn null_is_an_error_or_nothing() {
    let (mut var_out, mut store_out, mut plan_out, mut odometer_out) = (null_mut(), null_mut(), null_mut(), null_mut());
    let one = [1_usize];
    let var = var();
    let log: *mut Log = Box::into_raw(Box::default());
    let store = lending(log);
    let mut data = [0_i16; 20];
    // SAFETY: NULL wherever it may be; all other pointers are to what they should be.
    unsafe {
        assert_eq!(nczchunk_var_new(1, null(), one.as_ptr(), 4, &raw mut var_out, null_mut()), EINVAL);
        assert_eq!(nczchunk_var_new(1, one.as_ptr(), null(), 4, &raw mut var_out, null_mut()), EINVAL);
        assert_eq!(nczchunk_var_new(1, one.as_ptr(), one.as_ptr(), 4, null_mut(), null_mut()), EINVAL);
        assert_eq!(nczchunk_var_new(1025, one.as_ptr(), one.as_ptr(), 4, &raw mut var_out, null_mut()), EMAXDIMS);
        assert_eq!(nczchunk_var_new(1025, one.as_ptr(), one.as_ptr(), 0, &raw mut var_out, null_mut()), EINVAL);
        assert_eq!(nczchunk_var_set_fill_value(null_mut(), null(), null_mut()), EINVAL);
        assert_eq!(nczchunk_var_set_fill_value(var, null(), null_mut()), NOERR);
        assert_eq!(nczchunk_var_set_endian(null_mut(), 0, null_mut()), EINVAL);
        assert_eq!(nczchunk_var_set_endian(var, 3, null_mut()), EINVAL);
        assert_eq!(nczchunk_var_set_word_size(null_mut(), 1, null_mut()), EINVAL);
        assert_eq!(nczchunk_var_set_dimlen(null_mut(), 0, 1, null_mut()), EINVAL);
        assert_eq!(nczchunk_var_set_dimlen(var, 2, 1, null_mut()), EBADDIM);

        assert_eq!(nczchunk_chunk_store_new_zero_copy(null(), &raw mut store_out, null_mut()), EINVAL);
        assert_eq!(nczchunk_chunk_store_new(null(), &raw mut store_out, null_mut()), EINVAL);
        let mut callbacks: nczchunk_zero_copy_callbacks = std::mem::zeroed();
        assert_eq!(nczchunk_chunk_store_new_zero_copy(&raw const callbacks, &raw mut store_out, null_mut()), EINVAL);
        callbacks.struct_size = size_of::<nczchunk_zero_copy_callbacks>();
        assert_eq!(nczchunk_chunk_store_new_zero_copy(&raw const callbacks, &raw mut store_out, null_mut()), EINVAL);
        callbacks.lend = Some(lend);
        assert_eq!(nczchunk_chunk_store_new_zero_copy(&raw const callbacks, null_mut(), null_mut()), EINVAL);
        let mut codec = null_mut();
        assert_eq!(nczchunk_codec_zstd(null(), null_mut(), null_mut()), EINVAL);
        assert_eq!(nczchunk_codec_zstd(null(), &raw mut codec, null_mut()), NOERR);
        assert_eq!(nczchunk_chunk_store_add_codec(null_mut(), codec, null_mut()), EINVAL);
        assert_eq!(nczchunk_chunk_store_add_codec(store, null_mut(), null_mut()), EINVAL);
        nczchunk_codec_free(codec);
        nczchunk_codec_free(null_mut());
        assert_eq!(nczchunk_codec_new(c"none".as_ptr(), null(), &raw mut codec, null_mut()), EINVAL);
        assert_eq!(nczchunk_chunk_store_set_verify(null_mut(), 1, null_mut()), EINVAL);

        let mut callbacks = filling_callbacks(log);
        callbacks.fill = None;
        assert_eq!(nczchunk_chunk_store_new(&raw const callbacks, &raw mut store_out, null_mut()), EINVAL);
        callbacks.wait = Some(flight::wait);
        assert_eq!(nczchunk_chunk_store_new(&raw const callbacks, &raw mut store_out, null_mut()), EINVAL);

        let zero = [0_usize; 2];
        let output: *mut c_void = data.as_mut_ptr().cast();
        assert_eq!(nczchunk_read_vars(null(), store, zero.as_ptr(), null(), null(), output, null_mut()), EINVAL);
        assert_eq!(nczchunk_read_vars(var, null(), zero.as_ptr(), null(), null(), output, null_mut()), EINVAL);
        assert_eq!(nczchunk_read_vars(var, store, null(), null(), null(), output, null_mut()), EINVALCOORDS);
        assert_eq!(nczchunk_read_vars(var, store, zero.as_ptr(), null(), null(), null_mut(), null_mut()), EINVAL);
        assert_eq!(nczchunk_read_vars(var, store, zero.as_ptr(), null(), null(), output, null_mut()), NOERR);
        assert_eq!(nczchunk_read_vars(var, store, zero.as_ptr(), zero.as_ptr(), null(), null_mut(), null_mut()), NOERR);

        assert_eq!(
            nczchunk_plan_new(null(), zero.as_ptr(), null(), null(), NCZCHUNK_READ, &raw mut plan_out, null_mut()),
            EINVAL
        );
        assert_eq!(
            nczchunk_plan_new(var, zero.as_ptr(), null(), null(), NCZCHUNK_READ, null_mut(), null_mut()),
            EINVAL
        );
        assert_eq!(
            nczchunk_plan_new(var, zero.as_ptr(), null(), null(), NCZCHUNK_READ, &raw mut plan_out, null_mut()),
            NOERR
        );
        assert_eq!(nczchunk_plan_totals(plan_out, null_mut(), null_mut()), EINVAL);
        let mut totals: nczchunk_totals = std::mem::zeroed();
        assert_eq!(nczchunk_plan_totals(plan_out, &raw mut totals, null_mut()), EINVAL);
        assert_eq!(nczchunk_plan_chunk(plan_out, 0, null_mut(), SIZE, null_mut(), null_mut()), EINVAL);
        assert_eq!(nczchunk_plan_chunk(null(), 0, null_mut(), SIZE, null_mut(), null_mut()), EINVAL);
        let mut two = [Projection::default(); 2];
        assert_eq!(nczchunk_plan_chunk(plan_out, 0, two.as_mut_ptr(), SIZE - 8, null_mut(), null_mut()), EINVAL);
        assert_eq!(nczchunk_plan_chunk(plan_out, 6, two.as_mut_ptr(), SIZE, null_mut(), null_mut()), EINVALCOORDS);
        let (mut first, mut number, mut shared) = (0, 0, -1);
        let part = nczchunk_plan_part;
        assert_eq!(part(null(), 0, 1, &raw mut first, &raw mut number, null_mut()), EINVAL);
        assert_eq!(part(plan_out, 0, 0, &raw mut first, &raw mut number, null_mut()), EINVAL);
        assert_eq!(part(plan_out, 0, 1, null_mut(), &raw mut number, null_mut()), EINVAL);
        assert_eq!(part(plan_out, 0, 1, &raw mut first, null_mut(), null_mut()), EINVAL);
        assert_eq!(part(plan_out, 1, 1, &raw mut first, &raw mut number, null_mut()), EINVALCOORDS);
        let shares = nczchunk_plan_shares_chunks;
        assert_eq!(shares(null(), plan_out, &raw mut shared, null_mut()), EINVAL);
        assert_eq!(shares(plan_out, null(), &raw mut shared, null_mut()), EINVAL);
        assert_eq!(shares(plan_out, plan_out, null_mut(), null_mut()), EINVAL);
        assert_eq!((shares(plan_out, plan_out, &raw mut shared, null_mut()), shared), (NOERR, 1));
        let (intersect, mut there) = (nczchunk_plan_intersect, 9);
        assert_eq!(intersect(null(), 0, plan_out, &raw mut there, null_mut()), EINVAL);
        assert_eq!(intersect(plan_out, 0, null(), &raw mut there, null_mut()), EINVAL);
        assert_eq!(intersect(plan_out, 0, plan_out, null_mut(), null_mut()), EINVAL);
        assert_eq!(intersect(plan_out, 6, plan_out, &raw mut there, null_mut()), EINVALCOORDS);
        assert_eq!((intersect(plan_out, 5, plan_out, &raw mut there, null_mut()), there), (NOERR, 5));
        let (owner, both) = (nczchunk_plan_owner, [plan_out.cast_const(), null()]);
        assert_eq!(owner(null(), 1, 0, 0, &raw mut there, null_mut()), EINVAL);
        assert_eq!(owner(both.as_ptr(), 2, 0, 0, &raw mut there, null_mut()), EINVAL);
        assert_eq!(owner(both.as_ptr(), 1, 0, 0, null_mut(), null_mut()), EINVAL);
        assert_eq!(owner(both.as_ptr(), 1, 1, 0, &raw mut there, null_mut()), EINVALCOORDS);
        assert_eq!(owner(null(), 0, 0, 0, &raw mut there, null_mut()), EINVALCOORDS);
        assert_eq!(owner(both.as_ptr(), 1, 0, 6, &raw mut there, null_mut()), EINVALCOORDS);
        assert_eq!((owner(both.as_ptr(), 1, 0, 5, &raw mut there, null_mut()), there), (NOERR, 0));
        assert_eq!(nczchunk_plan_read(null(), store, 0, NCZCHUNK_ALL, output, null_mut()), EINVAL);
        assert_eq!(nczchunk_plan_read(plan_out, null(), 0, NCZCHUNK_ALL, output, null_mut()), EINVAL);
        assert_eq!(nczchunk_plan_read(plan_out, store, 0, NCZCHUNK_ALL, null_mut(), null_mut()), EINVAL);
        assert_eq!(nczchunk_plan_write(plan_out, store, 0, NCZCHUNK_ALL, output, null_mut()), EINVAL);
        assert_eq!(nczchunk_plan_copy_chunk(null(), 0, output, 8, output, null_mut()), EINVAL);
        assert_eq!(nczchunk_plan_copy_chunk(plan_out, 0, null_mut(), 8, output, null_mut()), EINVAL);
        let mut chunk = [0_i16; 4];
        assert_eq!(nczchunk_plan_copy_chunk(plan_out, 0, chunk.as_mut_ptr().cast(), 8, null_mut(), null_mut()), EINVAL);
        nczchunk_plan_free(plan_out);

        let list = nczchunk_projections;
        assert_eq!(list(10, 4, 0, 10, 1, null_mut(), SIZE, 0, null_mut(), null_mut()), EINVAL);
        assert_eq!(nczchunk_projection_at(10, 4, 0, 10, 1, 0, null_mut(), SIZE, null_mut()), EINVAL);
        let mut needed = 0;
        assert_eq!(list(10, 4, 0, 10, 1, null_mut(), SIZE, 9, &raw mut needed, null_mut()), NOERR);
        assert_eq!(needed, 3);
        let mut short = [Projection::default(); 2];
        needed = 0;
        assert_eq!(list(10, 4, 0, 10, 1, short.as_mut_ptr(), SIZE, 2, &raw mut needed, null_mut()), EINVAL);
        assert_eq!((short, needed), ([Projection::default(); 2], 3));
        assert_eq!(list(10, 4, 0, 10, 1, short.as_mut_ptr(), 0, 2, &raw mut needed, null_mut()), EINVAL);
        assert_eq!(nczchunk_projection_at(10, 4, 0, 10, 1, 0, short.as_mut_ptr(), 8, null_mut()), EINVAL);

        let new = nczchunk_odometer_new;
        let ones = one.as_ptr();
        assert_eq!(new(1, null(), ones, ones, ones, &raw mut odometer_out, null_mut()), EINVAL);
        assert_eq!(new(0, null(), null(), null(), null(), null_mut(), null_mut()), EINVAL);
        assert_eq!(new(0, null(), null(), null(), null(), &raw mut odometer_out, null_mut()), NOERR);
        assert_eq!(nczchunk_odometer_more(odometer_out), 1);
        nczchunk_odometer_free(odometer_out);
        assert_eq!(nczchunk_odometer_more(null()), 0);
        assert_eq!((nczchunk_odometer_offset(null()), nczchunk_odometer_avail(null())), (0, 0));
        assert!(nczchunk_odometer_indices(null()).is_null());
        nczchunk_odometer_next(null_mut());
        nczchunk_odometer_skipavail(null_mut());
        nczchunk_odometer_reset(null_mut());

        assert_eq!(nczchunk_context_new(null_mut()), EINVAL);
        assert_eq!((nczchunk_context_status(null()), nczchunk_context_dimension(null())), (NOERR, -1));
        assert_eq!(CStr::from_ptr(nczchunk_context_message(null())), c"");
        assert!(nczchunk_context_chunk(null(), null_mut()).is_null());
        assert_eq!(nczchunk_context_chunks_done(null()), 0);
        assert_eq!(nczchunk_context_set_threads(null_mut(), 1), EINVAL);
        assert_eq!(nczchunk_context_set_uses_cache(null_mut(), 1), EINVAL);
        assert_eq!(nczchunk_context_set_keeps_threads(null_mut(), 1), EINVAL);
        assert_eq!(nczchunk_context_set_progress(null_mut(), None, null_mut()), EINVAL);

        nczchunk_odometer_free(null_mut());
        nczchunk_plan_free(null_mut());
        nczchunk_chunk_store_free(null_mut());
        nczchunk_var_free(null_mut());
        nczchunk_context_free(null_mut());
        assert!(var_out.is_null() && store_out.is_null());

        nczchunk_chunk_store_free(store);
        nczchunk_var_free(var);
        drop(Box::from_raw(log));
    }
}

#[test]
fn a_scalar_and_the_highest_rank_are_read() {
    // One chunk of one element each: the log's first.
    for rank in [0, 9, if cfg!(miri) { 40 } else { 1024 }] {
        unsafe extern "C" fn lend_one(_: *mut c_void, loan: *mut nczchunk_borrowed_chunk) -> c_int {
            static mut ONE: u64 = 1;
            // SAFETY: the store passes what it documents.
            unsafe {
                let loan = &mut *loan;
                let indices: &[isize] = match loan.rank {
                    0 => &[],
                    rank => std::slice::from_raw_parts(loan.chunk_indices, rank),
                };
                assert!(indices.iter().all(|&index| index == 0));
                (loan.data, loan.nbytes) = ((&raw mut ONE).cast(), 8);
            }
            NOERR
        }
        let (mut var, mut store, mut context, ones, zeros) =
            (null_mut(), null_mut(), null_mut(), vec![1_usize; rank], vec![0_usize; rank]);
        let mut value = 0_u64;
        // SAFETY: the lists have an entry per dimension, and there is room for one element.
        unsafe {
            assert_eq!(nczchunk_context_new(&raw mut context), NOERR);
            assert_eq!(nczchunk_var_new(rank, ones.as_ptr(), ones.as_ptr(), 8, &raw mut var, context), NOERR);
            let callbacks = nczchunk_zero_copy_callbacks {
                lend: Some(lend_one),
                release: None,
                destroy: None,
                ..lending_callbacks(null_mut())
            };
            assert_eq!(nczchunk_chunk_store_new_zero_copy(&raw const callbacks, &raw mut store, context), NOERR);
            let output = (&raw mut value).cast();
            assert_eq!(nczchunk_read_vars(var, store, zeros.as_ptr(), null(), null(), output, context), NOERR);
            assert_eq!(value, 1);
            if rank > 0 {
                assert_eq!(
                    nczchunk_read_vars(var, store, ones.as_ptr(), ones.as_ptr(), null(), output, context),
                    EINVALCOORDS
                );
                assert_eq!(nczchunk_context_dimension(context), 0);
            }
            nczchunk_chunk_store_free(store);
            nczchunk_var_free(var);
            nczchunk_context_free(context);
        }
    }
}

#[test]
fn structures_may_be_older_or_newer_than_the_library() {
    let log: *mut Log = Box::into_raw(Box::default());
    #[repr(C)]
    struct Newer {
        known: nczchunk_reader_callbacks,
        addition: usize,
    }
    let known = nczchunk_reader_callbacks { struct_size: size_of::<Newer>(), ..filling_callbacks(log) };
    let mut newer = Newer { known, addition: 0 };
    let mut store = null_mut();
    // SAFETY: each structure has the size that it says.
    unsafe {
        let create = |callbacks: *const Newer, store| nczchunk_chunk_store_new(callbacks.cast(), store, null_mut());
        assert_eq!(create(&raw const newer, &raw mut store), NOERR);
        nczchunk_chunk_store_free(store);
        newer.addition = 1;
        assert_eq!(create(&raw const newer, &raw mut store), EINVAL);
        // An older structure, without destroy and what follows it; what the caller has behind it is not looked at.
        newer.known.struct_size = std::mem::offset_of!(nczchunk_reader_callbacks, destroy);
        assert_eq!(create(&raw const newer, &raw mut store), NOERR);
        nczchunk_chunk_store_free(store);
        for absurd in [0, 7, 4097, usize::MAX] {
            newer.known.struct_size = absurd;
            assert_eq!(create(&raw const newer, &raw mut store), EINVAL);
        }
        assert_eq!((*log).destroyed, 1);
        drop(Box::from_raw(log));
    }
}

#[test]
fn version_and_words_are_text() {
    // SAFETY: both functions return texts.
    unsafe {
        assert_eq!(CStr::from_ptr(nczchunk_version()).to_str(), Ok(env!("CARGO_PKG_VERSION")));
        assert_eq!(CStr::from_ptr(nczchunk_strerror(EEDGE)), c"NetCDF: Start+count exceeds dimension bound");
    }
    assert!(nczchunk_version_number() > 0);
}

/// Elements of other sizes have no words, and so no byte order, on any machine.
#[test]
fn what_a_variable_is_made_of_is_told() {
    let (mut var, none) = (null_mut(), null_mut());
    // SAFETY: the lists have two entries, and the objects are alive.
    unsafe {
        assert_eq!(nczchunk_var_new(2, [9, 8].as_ptr(), [2, 3].as_ptr(), 12, &raw mut var, none), NOERR);
        assert_eq!(
            (nczchunk_var_word_size(var), nczchunk_var_set_endian(var, NCZCHUNK_ENDIAN_BIG, none)),
            (0, EBADTYPE)
        );
        assert_eq!(nczchunk_var_set_endian(var, NCZCHUNK_ENDIAN_LITTLE, none), EBADTYPE);
        assert_eq!(nczchunk_var_set_endian(var, NCZCHUNK_ENDIAN_NATIVE, none), NOERR);
        for word in [0, 3, 8, 12] {
            assert_eq!(nczchunk_var_set_word_size(var, word, none), EINVAL);
        }
        assert_eq!(nczchunk_var_set_word_size(var, 4, none), NOERR);
        assert_eq!(nczchunk_var_set_endian(var, NCZCHUNK_ENDIAN_BIG, none), NOERR);
        assert_eq!(nczchunk_var_set_origin(var, 1, -4, none), NOERR);
        assert!(nczchunk_var_fill_value(var).is_null());
        assert_eq!(nczchunk_var_set_fill_value(var, c"twelve bytes".as_ptr().cast(), none), NOERR);
        let fill_value = std::slice::from_raw_parts(nczchunk_var_fill_value(var).cast::<u8>(), 12);
        assert_eq!(fill_value, b"twelve bytes");
        assert_eq!(nczchunk_var_set_fill_value(var, nczchunk_var_fill_value(var), none), NOERR);
        assert_eq!(std::slice::from_raw_parts(nczchunk_var_fill_value(var).cast::<u8>(), 12), b"twelve bytes");
        let dimension = |d| (nczchunk_var_dimlen(var, d), nczchunk_var_chunklen(var, d), nczchunk_var_origin(var, d));
        assert_eq!([0, 1, 2].map(dimension), [(9, 2, 0), (8, 3, -4), (0, 0, 0)]);
        assert_eq!((nczchunk_var_rank(var), nczchunk_var_chunk_bytes(var)), (2, 72));
        assert_eq!((nczchunk_var_element_size(var), nczchunk_var_word_size(var)), (12, 4));
        assert_eq!(nczchunk_var_endian(var), NCZCHUNK_ENDIAN_BIG);
        // A coarser grid for writing, and the order of axes.
        for lens in [[2, 4], [0, 3], [3, 3]] {
            assert_eq!(nczchunk_var_set_write_grid(var, lens.as_ptr(), none), EINVAL);
        }
        assert_eq!(nczchunk_var_set_write_grid(var, [4, 3].as_ptr(), none), NOERR);
        assert_eq!((nczchunk_var_write_chunklen(var, 0), nczchunk_var_chunklen(var, 0)), (4, 2));
        assert_eq!(nczchunk_var_set_write_grid(var, null(), none), NOERR);
        assert_eq!(nczchunk_var_write_chunklen(var, 0), 2);
        for order in [[0, 0], [1, 2]] {
            assert_eq!(nczchunk_var_set_chunk_order(var, order.as_ptr(), none), EINVAL);
        }
        assert_eq!(nczchunk_var_set_chunk_order(var, [1, 0].as_ptr(), none), NOERR);
        assert_eq!(nczchunk_var_set_chunk_order(var, null(), none), NOERR);
        assert_eq!(
            (nczchunk_var_rank(null()), nczchunk_var_dimlen(null(), 0), nczchunk_var_origin(null(), 0)),
            (0, 0, 0)
        );
        assert!(nczchunk_var_fill_value(null()).is_null());
        nczchunk_var_free(var);
    }
}
