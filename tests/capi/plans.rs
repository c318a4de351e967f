//! Plans that are kept, codecs and progress.

use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut};

use nczchunk::status::*;
use nczchunk_c::{codec::*, context::*, plan::*, progress::*, read::*, store::*, var::*};

use super::{Log, filling, lending, var};

#[test]
fn a_plan_is_executed_again_in_parts_and_after_its_variable() {
    for kind in [lending, filling] {
        let log: *mut Log = Box::into_raw(Box::default());
        let (var, store) = (var(), kind(log));
        let (mut plan, mut mapped, mut strided) = (null_mut(), null_mut(), null_mut());
        let expected: Vec<i16> = (0..4).flat_map(|i| (0..5).map(move |j| 10 * i + j)).collect();
        let (start, access, none) = ([0, 0], NCZCHUNK_READ, null_mut());
        // SAFETY: the lists have two entries, and the memory is what the plans are for.
        unsafe {
            let begin = start.as_ptr();
            assert_eq!(nczchunk_plan_new(var, begin, null(), null(), access, &raw mut plan, none), NOERR);
            // Backwards in memory along the columns; and transposed.
            let imap = [5, -1];
            let made = nczchunk_plan_new_varm(var, begin, null(), null(), imap.as_ptr(), access, &raw mut mapped, none);
            assert_eq!(made, NOERR);
            let (count, strides) = ([4, 5], [2, 8]);
            let new = nczchunk_plan_new_strided;
            let (count, strides) = (count.as_ptr(), strides.as_ptr());
            assert_eq!(new(var, begin, count, null(), 39, 0, strides, access, &raw mut strided, none), EINVAL);
            assert_eq!(new(var, begin, count, null(), 40, 0, strides, access, &raw mut strided, none), NOERR);
            assert_eq!(nczchunk_var_set_dimlen(var, 0, 1, none), NOERR);
            nczchunk_var_free(var);

            for _ in 0..2 {
                let mut data = [-1_i16; 20];
                let output = data.as_mut_ptr().cast();
                assert_eq!(nczchunk_plan_read(plan, store, 0, NCZCHUNK_ALL, output, none), NOERR);
                assert_eq!(data[..], expected);
            }
            let mut data = [-1_i16; 20];
            let output = data.as_mut_ptr().cast();
            for part in (0..4).rev() {
                let (mut first, mut number) = (0, 0);
                assert_eq!(nczchunk_plan_part(plan, part, 4, &raw mut first, &raw mut number, none), NOERR);
                assert_eq!(nczchunk_plan_read(plan, store, first, number, output, none), NOERR);
            }
            assert_eq!(data[..], expected);
            assert_eq!(nczchunk_plan_read(plan, store, 6, NCZCHUNK_ALL, output, none), NOERR);
            assert_eq!(nczchunk_plan_read(plan, store, 7, NCZCHUNK_ALL, output, none), EINVALCOORDS);
            assert_eq!(nczchunk_plan_read(plan, store, 5, 2, output, none), EEDGE);
            assert_eq!(nczchunk_plan_write(plan, store, 0, NCZCHUNK_ALL, output, none), EINVAL);

            let mut data = [-1_i16; 20];
            let output = data.as_mut_ptr().add(4).cast();
            assert_eq!(nczchunk_plan_read(mapped, store, 0, NCZCHUNK_ALL, output, none), NOERR);
            assert!((0..20).all(|e| data[e] == expected[e / 5 * 5 + 4 - e % 5]));
            let mut data = [-1_i16; 20];
            let output = data.as_mut_ptr().cast();
            assert_eq!(nczchunk_plan_read(strided, store, 0, NCZCHUNK_ALL, output, none), NOERR);
            assert!((0..20).all(|e| data[e] == expected[e % 4 * 5 + e / 4]));

            // A chunk of the caller's own, by each of them.
            let mut chunk = [100_i16, 101, 102, 103];
            let from = chunk.as_mut_ptr().cast();
            assert_eq!(nczchunk_plan_copy_chunk(strided, 1, from, 8, output, none), NOERR);
            assert_eq!([data[8], data[12], data[9], data[13]], chunk);
            assert_eq!(nczchunk_plan_copy_chunk(strided, 1, from, 7, output, none), EBADCHUNK);
            assert_eq!(nczchunk_plan_copy_chunk(strided, 6, from, 8, output, none), EINVALCOORDS);

            for plan in [plan, mapped, strided] {
                nczchunk_plan_free(plan);
            }
            nczchunk_chunk_store_free(store);
            drop(Box::from_raw(log));
        }
    }
}

/// Ends a call once two chunks are done.
unsafe extern "C" fn stop(user: *mut c_void, progress: *const nczchunk_progress) -> c_int {
    // SAFETY: what is told is alive, and `user` counts the calls.
    unsafe {
        let at = &*progress;
        assert_eq!((at.struct_size, at.num_chunks, at.num_bytes), (size_of::<nczchunk_progress>(), 6, 40));
        *user.cast::<usize>() += 1;
        if at.chunks_done == 2 { -242 } else { 0 }
    }
}

#[test]
fn progress_is_told_and_ends_a_call() {
    let log: *mut Log = Box::into_raw(Box::default());
    let (var, store, mut context, mut told, mut data) = (var(), lending(log), null_mut(), 0_usize, [0_i16; 20]);
    let (start, output) = ([0, 0], data.as_mut_ptr().cast());
    // SAFETY: the objects are alive, the list has two entries, and there is room for everything.
    unsafe {
        assert_eq!(nczchunk_context_new(&raw mut context), NOERR);
        assert_eq!(nczchunk_context_set_progress(context, Some(stop), (&raw mut told).cast()), NOERR);
        assert_eq!(nczchunk_read_vars(var, store, start.as_ptr(), null(), null(), output, context), -242);
        assert_eq!((nczchunk_context_chunks_done(context), told, (*log).lent), (2, 3, 2));
        assert!(nczchunk_context_chunk(context, null_mut()).is_null());
        assert_eq!(nczchunk_context_set_progress(context, None, null_mut()), NOERR);
        assert_eq!(nczchunk_context_set_threads(context, 0), EINVAL);
        assert_eq!(nczchunk_read_vars(var, store, start.as_ptr(), null(), null(), output, context), NOERR);
        assert_eq!((nczchunk_context_chunks_done(context), told), (6, 3));
        nczchunk_context_free(context);
        nczchunk_chunk_store_free(store);
        nczchunk_var_free(var);
        drop(Box::from_raw(log));
    }
}

/// Reverses all bytes.
unsafe extern "C" fn reverse(user: *mut c_void, coding: *mut nczchunk_coding) -> c_int {
    // SAFETY: the store passes what it documents, and `user` counts the calls.
    unsafe {
        let coding = &mut *coding;
        assert_eq!((coding.struct_size, coding.nbytes), (size_of::<nczchunk_coding>(), 0));
        assert!(coding.needed_offset + coding.needed_size <= coding.capacity);
        *user.cast::<usize>() += 1;
        for i in 0..coding.source_size.min(coding.capacity) {
            let byte = *coding.source.cast::<u8>().add(coding.source_size - 1 - i);
            coding.destination.cast::<u8>().add(i).write(byte);
        }
        coding.nbytes = coding.source_size;
    }
    NOERR
}

unsafe extern "C" fn gone(user: *mut c_void) {
    // SAFETY: `user` counts the calls.
    unsafe { *user.cast::<usize>() += 1000 }
}

#[test]
fn a_codec_of_ones_own_decodes() {
    for kind in [lending, filling] {
        for num_codecs in [1, 2, 3] {
            let log: *mut Log = Box::into_raw(Box::default());
            let (var, store, mut calls) = (var(), kind(log), 0_usize);
            let mut data = [0_i16; 4];
            // SAFETY: the callbacks are what is documented, and there is room for what is selected.
            unsafe {
                for _ in 0..num_codecs {
                    let callbacks = nczchunk_codec_callbacks {
                        struct_size: size_of::<nczchunk_codec_callbacks>(),
                        user: (&raw mut calls).cast(),
                        decode: Some(reverse),
                        encode: None,
                        encoded_bound: None,
                        destroy: Some(gone),
                        concurrent: 0,
                    };
                    let mut codec = null_mut();
                    let made =
                        nczchunk_codec_new(c"reverse".as_ptr(), &raw const callbacks, &raw mut codec, null_mut());
                    assert_eq!(made, NOERR);
                    assert_eq!(nczchunk_chunk_store_add_codec(store, codec, null_mut()), NOERR);
                }
                let (start, count, output) = ([2, 2], [2, 2], data.as_mut_ptr().cast());
                let (start, count) = (start.as_ptr(), count.as_ptr());
                assert_eq!(nczchunk_read_vars(var, store, start, count, null(), output, null_mut()), NOERR);
                let mut expected = [22_i16, 23, 32, 33];
                if num_codecs % 2 == 1 {
                    expected.reverse();
                    expected = expected.map(i16::swap_bytes);
                }
                assert_eq!((data, calls), (expected, num_codecs));
                // Too little is found out.
                (*log).length = Some(7);
                let status = nczchunk_read_vars(var, store, start, count, null(), output, null_mut());
                assert_eq!(status, EBADCHUNK);
                nczchunk_chunk_store_free(store);
                assert_eq!(calls / 1000, num_codecs);
                nczchunk_var_free(var);
                drop(Box::from_raw(log));
            }
        }
    }
}
