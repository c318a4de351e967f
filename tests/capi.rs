//! The C interface called with NULLs, edge arguments and ordinary ones, as Miri can follow it: every pointer a C caller
//! may get wrong, every callback, every object made and freed.

// The tests are C callers in Rust.
#![allow(unsafe_code)]

#[path = "capi/writing.rs"]
mod writing;

use std::ffi::{CStr, c_int, c_void};
use std::ptr::{null, null_mut};

use nczchunk::ffi::{context::*, odometer::*, plan::*, projection::*, read::*};
use nczchunk::ffi::{status::*, store::*, var::*, version::*};
use nczchunk::projection::Projection;
use nczchunk::status::*;

/// 4 x 5 two-byte elements in chunks of 2 x 2; element (i, j) is 10 * i + j.
fn var() -> *mut nczchunk_var {
    let mut var = null_mut();
    // SAFETY: both lists have two entries.
    assert_eq!(unsafe { nczchunk_var_new(2, [4, 5].as_ptr(), [2, 2].as_ptr(), 2, &raw mut var, null_mut()) }, NOERR);
    var
}

#[derive(Default)]
struct Log {
    chunk: [i16; 4],
    lent: usize,
    released: usize,
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

unsafe extern "C" fn lend(
    user: *mut c_void,
    rank: usize,
    indices: *const isize,
    data: *mut *const c_void,
    nbytes: *mut usize,
) -> c_int {
    // SAFETY: the store passes what it documents, and `user` is a log.
    unsafe {
        let log = &mut *user.cast::<Log>();
        log.lent += 1;
        let status = log.make(std::slice::from_raw_parts(indices, rank));
        *data = log.chunk.as_ptr().cast();
        *nbytes = log.length.unwrap_or(8);
        status
    }
}

unsafe extern "C" fn release(user: *mut c_void, _: *const c_void) {
    // SAFETY: `user` is a log.
    unsafe { (*user.cast::<Log>()).released += 1 }
}

unsafe extern "C" fn destroy(user: *mut c_void) {
    // SAFETY: `user` is a log.
    unsafe { (*user.cast::<Log>()).destroyed += 1 }
}

unsafe extern "C" fn fill(
    user: *mut c_void,
    rank: usize,
    indices: *const isize,
    buffer: *mut c_void,
    size: usize,
    nbytes: *mut usize,
) -> c_int {
    // SAFETY: as for `lend`; the buffer has room for `size` bytes, of which no more are written.
    unsafe {
        let log = &mut *user.cast::<Log>();
        let status = log.make(std::slice::from_raw_parts(indices, rank));
        *nbytes = log.length.unwrap_or(8);
        buffer.cast::<u8>().copy_from_nonoverlapping(log.chunk.as_ptr().cast(), size.min(8));
        status
    }
}

fn lending(log: *mut Log) -> *mut nczchunk_store {
    let callbacks = nczchunk_lending_callbacks {
        struct_size: size_of::<nczchunk_lending_callbacks>(),
        user: log.cast(),
        lend: Some(lend),
        release: Some(release),
        destroy: Some(destroy),
        lend_to_write: None,
        changed: None,
        concurrent: 0,
    };
    let mut store = null_mut();
    // SAFETY: the callbacks are what the store documents.
    assert_eq!(unsafe { nczchunk_store_lending(&raw const callbacks, &raw mut store) }, NOERR);
    store
}

fn filling(log: *mut Log) -> *mut nczchunk_store {
    let callbacks = nczchunk_filling_callbacks {
        struct_size: size_of::<nczchunk_filling_callbacks>(),
        user: log.cast(),
        fill: Some(fill),
        destroy: Some(destroy),
        store: None,
        concurrent: 0,
    };
    let mut store = null_mut();
    // SAFETY: the callbacks are what the store documents.
    assert_eq!(unsafe { nczchunk_store_filling(&raw const callbacks, &raw mut store) }, NOERR);
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
            nczchunk_store_free(store);
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
        assert_eq!(((*log).lent, (*log).released), (2, 1));

        (*log).fail_at = None;
        for length in [0, 7, usize::MAX] {
            (*log).length = Some(length);
            assert_eq!(read([0, 0], [1, 1]), EBADCHUNK);
        }
        assert_eq!((*log).lent, (*log).released + 1);
        (*log).length = None;
        assert_eq!((read([0, 0], [1, 1]), message(), nczchunk_context_status(context)), (NOERR, "", NOERR));

        nczchunk_context_free(context);
        nczchunk_store_free(store);
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
        nczchunk_store_free(store);
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
        assert_eq!(nczchunk_var_set_fill_value(null_mut(), null()), EINVAL);
        assert_eq!(nczchunk_var_set_fill_value(var, null()), NOERR);
        assert_eq!(nczchunk_var_set_endian(null_mut(), 0), EINVAL);
        assert_eq!(nczchunk_var_set_endian(var, 3), EINVAL);
        assert_eq!(nczchunk_var_set_word_size(null_mut(), 1), EINVAL);
        assert_eq!(nczchunk_var_set_dimlen(null_mut(), 0, 1), EINVAL);
        assert_eq!(nczchunk_var_set_dimlen(var, 2, 1), EBADDIM);

        assert_eq!(nczchunk_store_lending(null(), &raw mut store_out), EINVAL);
        assert_eq!(nczchunk_store_filling(null(), &raw mut store_out), EINVAL);
        let mut callbacks: nczchunk_lending_callbacks = std::mem::zeroed();
        assert_eq!(nczchunk_store_lending(&raw const callbacks, &raw mut store_out), EINVAL);
        callbacks.struct_size = size_of::<nczchunk_lending_callbacks>();
        assert_eq!(nczchunk_store_lending(&raw const callbacks, &raw mut store_out), EINVAL);
        callbacks.lend = Some(lend);
        assert_eq!(nczchunk_store_lending(&raw const callbacks, null_mut()), EINVAL);
        assert_eq!(nczchunk_store_wrap_zstd(null_mut(), null()), EINVAL);

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
        assert_eq!(nczchunk_plan_get_totals(plan_out, null_mut()), EINVAL);
        assert_eq!(nczchunk_plan_chunk(plan_out, 0, null_mut(), null_mut()), EINVAL);
        assert_eq!(nczchunk_plan_chunk(null(), 0, null_mut(), null_mut()), EINVAL);
        nczchunk_plan_free(plan_out);

        assert_eq!(nczchunk_projections(10, 4, 0, 10, 1, null_mut(), 0, null_mut()), EINVAL);
        assert_eq!(nczchunk_projection_at(10, 4, 0, 10, 1, 0, null_mut()), EINVAL);
        let mut needed = 0;
        assert_eq!(nczchunk_projections(10, 4, 0, 10, 1, null_mut(), 9, &raw mut needed), NOERR);
        assert_eq!(needed, 3);
        let mut short = [Projection::default(); 2];
        assert_eq!(nczchunk_projections(10, 4, 0, 10, 1, short.as_mut_ptr(), 2, &raw mut needed), ERANGE);
        assert_eq!(short, [Projection::default(); 2]);

        let new = nczchunk_odometer_new;
        assert_eq!(new(1, null(), one.as_ptr(), one.as_ptr(), one.as_ptr(), &raw mut odometer_out), EINVAL);
        assert_eq!(new(0, null(), null(), null(), null(), null_mut()), EINVAL);
        assert_eq!(new(0, null(), null(), null(), null(), &raw mut odometer_out), NOERR);
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

        nczchunk_odometer_free(null_mut());
        nczchunk_plan_free(null_mut());
        nczchunk_store_free(null_mut());
        nczchunk_var_free(null_mut());
        nczchunk_context_free(null_mut());
        assert!(var_out.is_null() && store_out.is_null());

        nczchunk_store_free(store);
        nczchunk_var_free(var);
        drop(Box::from_raw(log));
    }
}

#[test]
fn a_scalar_and_the_highest_rank_are_read() {
    // One chunk of one element each: the log's first.
    for rank in [0, 9, 1024] {
        unsafe extern "C" fn lend_one(
            _: *mut c_void,
            rank: usize,
            indices: *const isize,
            data: *mut *const c_void,
            nbytes: *mut usize,
        ) -> c_int {
            static ONE: u64 = 1;
            // SAFETY: the store passes what it documents.
            unsafe {
                assert!(std::slice::from_raw_parts(indices, rank).iter().all(|&index| index == 0));
                *data = (&raw const ONE).cast();
                *nbytes = 8;
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
            let callbacks = nczchunk_lending_callbacks {
                struct_size: size_of::<nczchunk_lending_callbacks>(),
                user: null_mut(),
                lend: Some(lend_one),
                release: None,
                destroy: None,
                lend_to_write: None,
                changed: None,
                concurrent: 0,
            };
            assert_eq!(nczchunk_store_lending(&raw const callbacks, &raw mut store), NOERR);
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
            nczchunk_store_free(store);
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
        known: nczchunk_filling_callbacks,
        addition: usize,
    }
    let known = nczchunk_filling_callbacks {
        struct_size: size_of::<Newer>(),
        user: log.cast(),
        fill: Some(fill),
        destroy: Some(destroy),
        store: None,
        concurrent: 0,
    };
    let mut newer = Newer { known, addition: 0 };
    let mut store = null_mut();
    // SAFETY: each structure has the size that it says.
    unsafe {
        let create = |callbacks: *const Newer, store| nczchunk_store_filling(callbacks.cast(), store);
        assert_eq!(create(&raw const newer, &raw mut store), NOERR);
        nczchunk_store_free(store);
        newer.addition = 1;
        assert_eq!(create(&raw const newer, &raw mut store), EINVAL);
        // An older structure, without destroy and store.
        newer.known.struct_size = std::mem::offset_of!(nczchunk_filling_callbacks, destroy);
        assert_eq!(create(&raw const newer, &raw mut store), NOERR);
        nczchunk_store_free(store);
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
