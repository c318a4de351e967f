//! Stores that are asked first and give the answer later, with several requests in flight.

use std::collections::VecDeque;
use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut};

use nczchunk::status::*;
use nczchunk_c::{context::*, plan::*, read::*, store::*, var::*};

use super::var;

/// Requests in flight, and how the store behaves.
#[derive(Default)]
struct Later {
    requests_in_flight: VecDeque<*mut nczchunk_request>,
    most: usize,
    started: usize,
    cancelled: usize,
    /// Answers come in the opposite order.
    is_backwards: bool,
    /// The chunk that is absent at once, the one that is found to be later, and the one that fails.
    absent_at_once: Option<isize>,
    absent: Option<isize>,
    failing: Option<isize>,
    /// Waiting itself fails once so many requests have been started.
    broken_after: Option<usize>,
}

fn number(request: &nczchunk_request) -> isize {
    // SAFETY: there are two indices, which stay as long as the request is in flight.
    unsafe { *request.chunk_indices * 3 + *request.chunk_indices.add(1) }
}

unsafe extern "C" fn start(user: *mut c_void, request: *mut nczchunk_request) -> c_int {
    // SAFETY: the store passes what it documents, and `user` is a `Later`.
    unsafe {
        let later = &mut *user.cast::<Later>();
        let asked = &mut *request;
        assert_eq!((asked.struct_size, asked.rank, asked.chunk_bytes), (size_of::<nczchunk_request>(), 2, 8));
        assert!(asked.nbytes == 0 && asked.status == 0 && asked.handle.is_null());
        if later.absent_at_once == Some(number(asked)) {
            return EEMPTY;
        }
        later.started += 1;
        asked.handle = std::ptr::without_provenance_mut(later.started);
        later.requests_in_flight.push_back(request);
        later.most = later.most.max(later.requests_in_flight.len());
    }
    NOERR
}

pub(super) unsafe extern "C" fn wait(user: *mut c_void, done: *mut *mut nczchunk_request) -> c_int {
    // SAFETY: as above; what is in flight stays where it is.
    unsafe {
        let later = &mut *user.cast::<Later>();
        if later.broken_after.is_some_and(|after| later.started >= after) {
            later.requests_in_flight.clear();
            return -299;
        }
        let next =
            if later.is_backwards { later.requests_in_flight.pop_back() } else { later.requests_in_flight.pop_front() };
        let request = next.expect("something is in flight");
        let answer = &mut *request;
        assert!(!answer.handle.is_null());
        let number = number(answer);
        if later.failing == Some(number) {
            answer.status = EIO as isize;
        } else if later.absent == Some(number) {
            answer.status = ENOOBJECT as isize;
        } else {
            let base = 20 * (number / 3) as i16 + 2 * (number % 3) as i16;
            let chunk = [base, base + 1, base + 10, base + 11];
            let bytes = chunk.as_ptr().cast::<u8>().add(answer.offset);
            answer.buffer.cast::<u8>().copy_from_nonoverlapping(bytes, answer.size);
            answer.nbytes = 8 - answer.offset;
        }
        *done = request;
    }
    NOERR
}

unsafe extern "C" fn cancel(user: *mut c_void, request: *mut nczchunk_request) {
    // SAFETY: as above.
    unsafe {
        let later = &mut *user.cast::<Later>();
        assert!(later.requests_in_flight.contains(&request));
        later.cancelled += 1;
    }
}

/// Reads all of `var()` so: the status, what was read, the chunks done, and what is left of the store's state.
fn read(later: Later, in_flight: usize, ranges: usize) -> (c_int, [i16; 20], usize, Later) {
    let (var, later, mut store, mut context) = (var(), Box::into_raw(Box::new(later)), null_mut(), null_mut());
    let mut data = [0_i16; 20];
    // SAFETY: the callbacks are what the store documents, and there is room for everything.
    unsafe {
        let callbacks = nczchunk_reader_callbacks {
            struct_size: size_of::<nczchunk_reader_callbacks>(),
            user: later.cast(),
            start: Some(start),
            wait: Some(wait),
            cancel: Some(cancel),
            in_flight,
            ranges,
            gap: ranges,
            ..std::mem::zeroed()
        };
        let fill_value = -1_i16;
        assert_eq!(nczchunk_var_set_fill_value(var, (&raw const fill_value).cast(), null_mut()), NOERR);
        assert_eq!(nczchunk_chunk_store_new(&raw const callbacks, &raw mut store, null_mut()), NOERR);
        assert_eq!(nczchunk_context_new(&raw mut context), NOERR);
        let output = data.as_mut_ptr().cast();
        let mut plan = null_mut();
        assert_eq!(
            nczchunk_plan_new(var, [0, 0].as_ptr(), null(), null(), NCZCHUNK_READ, &raw mut plan, null_mut()),
            NOERR
        );
        let by_plan = nczchunk_plan_read(plan, store, 0, 0, output, context);
        assert_eq!((by_plan, (*later).started), (NOERR, 0));
        let status = nczchunk_read_vars(var, store, [0, 0].as_ptr(), null(), null(), output, context);
        let done = nczchunk_context_chunks_done(context);
        nczchunk_plan_free(plan);
        nczchunk_context_free(context);
        nczchunk_chunk_store_free(store);
        nczchunk_var_free(var);
        assert!((*later).requests_in_flight.is_empty());
        (status, data, done, *Box::from_raw(later))
    }
}

fn expected() -> [i16; 20] {
    std::array::from_fn(|e| 10 * (e / 5) as i16 + (e % 5) as i16)
}

#[test]
fn many_requests_are_under_way() {
    for (in_flight, most) in
        [(1, 1), (2, 2), (4, 4), (0, 64), (100, 100)].into_iter().step_by(if cfg!(miri) { 2 } else { 1 })
    {
        for (is_backwards, ranges) in [(false, 0), (true, 0), (false, 1), (true, 1)] {
            let (status, data, done, later) = read(Later { is_backwards, ..Later::default() }, in_flight, ranges);
            assert_eq!((status, data, done), (NOERR, expected(), 6));
            let started = if ranges == 1 { 8 } else { 6 };
            assert_eq!((later.most, later.started, later.cancelled), (most.min(started), started, 0));
        }
    }
}

#[test]
fn absent_chunks_are_so_at_once_or_later() {
    let mut with_hole = expected();
    for (i, j) in [(0, 2), (0, 3), (1, 2), (1, 3)] {
        with_hole[5 * i + j] = -1;
    }
    for in_flight in [1, 3, 100] {
        for is_backwards in [false, true] {
            let later = Later { absent: Some(1), is_backwards, ..Later::default() };
            let (status, data, done, later) = read(later, in_flight, 0);
            assert_eq!((status, data, done, later.started), (NOERR, with_hole, 6, 6));
            let later = Later { absent_at_once: Some(1), is_backwards, ..Later::default() };
            let (status, data, done, later) = read(later, in_flight, 0);
            assert_eq!((status, data, done, later.started), (NOERR, with_hole, 6, 5));
        }
    }
}

#[test]
fn the_first_failure_is_told_and_the_rest_given_back() {
    for failing in (0..6).step_by(if cfg!(miri) { 3 } else { 1 }) {
        for (in_flight, is_backwards) in [(1, false), (3, false), (3, true), (100, false), (100, true)] {
            let later = Later { failing: Some(failing), is_backwards, ..Later::default() };
            let (status, data, done, later) = read(later, in_flight, 0);
            assert_eq!((status, done), (EIO, failing as usize));
            assert!(later.cancelled < in_flight);
            if failing >= 3 {
                assert_eq!(data[..10], expected()[..10]);
            }
        }
    }
}

#[test]
fn a_wait_that_fails_ends_everything() {
    for in_flight in [1, 3, 100] {
        let (status, _, done, _) = read(Later { broken_after: Some(3), ..Later::default() }, in_flight, 0);
        assert_eq!(status, -299);
        assert!(done < 6);
    }
}
