//! Storages that are asked first and give the answer later, with several reads in flight.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{null, null_mut};

use nczchunk::status::*;
use nczchunk_c::{array::*, context::*, plan::*, storage::*};

/// Objects, reads in flight, and how the storage behaves.
#[derive(Default)]
struct Later {
    objects: BTreeMap<String, Vec<u8>>,
    requests_in_flight: VecDeque<*mut nczchunk_object_request>,
    most: usize,
    started: usize,
    cancelled: usize,
    is_backwards: bool,
    /// Whether it tells that every object has been written once.
    has_versions: bool,
    failing: Option<&'static str>,
    broken_after: Option<usize>,
    destroyed: usize,
}

unsafe extern "C" fn write(user: *mut c_void, name: *const c_char, bytes: *const c_void, nbytes: usize) -> c_int {
    // SAFETY: the storage passes what it documents, and `user` is a `Later`.
    unsafe {
        let bytes = std::slice::from_raw_parts(bytes.cast::<u8>(), nbytes);
        let name = CStr::from_ptr(name).to_str().unwrap();
        (*user.cast::<Later>()).objects.insert(name.into(), bytes.into());
    }
    NOERR
}

unsafe extern "C" fn start(user: *mut c_void, request: *mut nczchunk_object_request) -> c_int {
    // SAFETY: as above.
    unsafe {
        let (later, asked) = (&mut *user.cast::<Later>(), &mut *request);
        assert_eq!(asked.struct_size, size_of::<nczchunk_object_request>());
        assert!(asked.nbytes == 0 && asked.status == 0 && asked.handle.is_null());
        later.started += 1;
        asked.handle = std::ptr::without_provenance_mut(later.started);
        later.requests_in_flight.push_back(request);
        later.most = later.most.max(later.requests_in_flight.len());
    }
    NOERR
}

unsafe extern "C" fn wait(user: *mut c_void, done: *mut *mut nczchunk_object_request) -> c_int {
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
        let name = CStr::from_ptr(answer.name).to_str().unwrap();
        match later.objects.get(name) {
            _ if later.failing == Some(name) => answer.status = EIO as isize,
            None => answer.status = ENOOBJECT as isize,
            Some(object) => {
                let offset = (answer.offset as usize).min(object.len());
                let rest = &object[if answer.from_end == 1 { object.len() - offset } else { offset }..];
                answer.nbytes = rest.len().min(answer.size);
                answer.buffer.cast::<u8>().copy_from_nonoverlapping(rest.as_ptr(), answer.nbytes);
                answer.object_size = object.len() as u64;
                answer.version = u64::from(later.has_versions);
            }
        }
        *done = request;
    }
    NOERR
}

unsafe extern "C" fn cancel(user: *mut c_void, request: *mut nczchunk_object_request) {
    // SAFETY: as above.
    unsafe {
        let later = &mut *user.cast::<Later>();
        assert!(later.requests_in_flight.contains(&request));
        later.cancelled += 1;
    }
}

unsafe extern "C" fn destroy(user: *mut c_void) {
    // SAFETY: as above.
    unsafe { (*user.cast::<Later>()).destroyed += 1 };
}

/// 4 x 6 elements of two bytes in chunks of 2 x 2, which may be those of shards of 2 x 6.
fn metadata(is_sharded: bool) -> String {
    let bytes = r#"{"name": "bytes", "configuration": {"endian": "little"}}"#;
    let sharding = format!(
        r#"{{"name": "sharding_indexed", "configuration":
            {{"chunk_shape": [2, 2], "codecs": [{bytes}], "index_codecs": [{bytes}]}}}}"#
    );
    let (chunk, codec) = if is_sharded { ("[2, 6]", sharding.as_str()) } else { ("[2, 2]", bytes) };
    format!(
        r#"{{"zarr_format": 3, "node_type": "array", "shape": [4, 6], "data_type": "int16", "fill_value": -1,
            "chunk_grid": {{"name": "regular", "configuration": {{"chunk_shape": {chunk}}}}},
            "chunk_key_encoding": {{"name": "default"}}, "codecs": [{codec}]}}"#
    )
}

/// Writes all of an array and reads it so: the status, what was read, the chunks done, and what is left of the storage.
fn read(is_sharded: bool, later: Later, in_flight: usize) -> (c_int, [i16; 24], usize, Later) {
    let later = Box::into_raw(Box::new(later));
    let (mut storage, mut array, mut context, mut data) = (null_mut(), null_mut(), null_mut(), [0_i16; 24]);
    let (values, zeros): ([i16; 24], _) = (std::array::from_fn(|e| e as i16), [0_usize; 2]);
    // SAFETY: the callbacks are what the storage documents, and there is room for everything.
    unsafe {
        let broken_after = (*later).broken_after.take();
        (*later).objects.insert("a/zarr.json".into(), metadata(is_sharded).into());
        let callbacks = nczchunk_storage_callbacks {
            struct_size: size_of::<nczchunk_storage_callbacks>(),
            user: later.cast(),
            write: Some(write),
            start: Some(start),
            wait: Some(wait),
            cancel: Some(cancel),
            destroy: Some(destroy),
            in_flight,
            gap: 1,
            largest: 8,
            versions: usize::from((*later).has_versions),
            ..std::mem::zeroed()
        };
        assert_eq!(nczchunk_context_new(&raw mut context), NOERR);
        assert_eq!(nczchunk_storage_new(&raw const callbacks, &raw mut storage, context), NOERR);
        let name = c"a".as_ptr();
        assert_eq!(nczchunk_array_open_in(storage, name, NCZCHUNK_WRITE, &raw mut array, context), NOERR);
        let (from, to) = (values.as_ptr().cast(), data.as_mut_ptr().cast());
        assert_eq!(nczchunk_array_write(array, zeros.as_ptr(), null(), null(), from, context), NOERR);
        ((*later).started, (*later).most, (*later).broken_after) = (0, 0, broken_after);
        let status = nczchunk_array_read(array, zeros.as_ptr(), null(), null(), to, context);
        let done = nczchunk_context_chunks_done(context);
        nczchunk_array_close(array);
        nczchunk_storage_free(storage);
        nczchunk_context_free(context);
        let later = *Box::from_raw(later);
        assert!(later.requests_in_flight.is_empty() && later.destroyed == 1 && later.most <= in_flight.max(1));
        (status, data, done, later)
    }
}

#[test]
fn many_reads_are_under_way() {
    // Where no version is known, the index is read once more behind each chunk.
    for (is_sharded, has_versions, started) in [(false, false, 6), (true, true, 2 + 6), (true, false, 2 + 2 * 6)] {
        for in_flight in [1, 3, 100] {
            for is_backwards in [false, true] {
                let (status, data, done, later) =
                    read(is_sharded, Later { is_backwards, has_versions, ..Later::default() }, in_flight);
                assert_eq!((status, data, done), (NOERR, std::array::from_fn(|e| e as i16), 6));
                assert_eq!((later.started, later.cancelled), (started, 0));
            }
        }
    }
}

#[test]
fn a_failure_ends_all_reads() {
    for (is_sharded, failing) in [(false, "a/c/0/1"), (true, "a/c/1/0")] {
        for in_flight in [1, 3, 100] {
            let (status, _, done, _) =
                read(is_sharded, Later { failing: Some(failing), ..Later::default() }, in_flight);
            assert_eq!((status, done), (EIO, if is_sharded { 3 } else { 1 }));
            let later = Later { broken_after: Some(2), ..Later::default() };
            assert_eq!(read(is_sharded, later, in_flight).0, -299);
        }
    }
}
