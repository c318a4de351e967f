//! Writing, other layouts of memory, and copiers.

use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut};

use nczchunk::status::*;
use nczchunk_c::objects::*;
use nczchunk_c::{layout::*, plan::*, read::*, store::*, var::*, write::*};

use super::var;

/// The chunks of `var()` as they are kept: what writing changes.
#[derive(Default)]
struct Kept([Option<[i16; 4]>; 6]);

impl Kept {
    /// # Safety
    /// `user` is a `Kept` and there are two indices.
    unsafe fn find<'a>(user: *mut c_void, indices: *const isize) -> &'a mut Option<[i16; 4]> {
        // SAFETY: the caller's promise.
        unsafe { &mut (*user.cast::<Kept>()).0[(*indices * 3 + *indices.add(1)) as usize] }
    }

    unsafe extern "C" fn fill(user: *mut c_void, request: *mut nczchunk_request) -> c_int {
        // SAFETY: the store passes what it documents, and `user` is a `Kept`.
        unsafe {
            let request = &mut *request;
            let Some(chunk) = Kept::find(user, request.chunk_indices) else { return EEMPTY };
            request.buffer.cast::<u8>().copy_from_nonoverlapping(chunk.as_ptr().cast(), request.size);
            request.nbytes = 8;
        }
        NOERR
    }

    unsafe extern "C" fn store(user: *mut c_void, request: *mut nczchunk_request) -> c_int {
        // SAFETY: as above; a chunk is stored whole.
        unsafe {
            let request = &*request;
            assert_eq!((request.size, request.offset, request.access), (8, 0, NCZCHUNK_WRITE as usize));
            *Kept::find(user, request.chunk_indices) = Some(request.buffer.cast::<[i16; 4]>().read_unaligned());
        }
        NOERR
    }

    unsafe extern "C" fn lend(user: *mut c_void, loan: *mut nczchunk_borrowed_chunk) -> c_int {
        // SAFETY: as above.
        unsafe {
            let loan = &mut *loan;
            let Some(chunk) = Kept::find(user, loan.chunk_indices) else { return ENOOBJECT };
            (loan.data, loan.nbytes) = (chunk.as_mut_ptr().cast(), 8);
        }
        NOERR
    }

    unsafe extern "C" fn lend_to_write(user: *mut c_void, loan: *mut nczchunk_borrowed_chunk) -> c_int {
        // SAFETY: as above.
        unsafe {
            let loan = &mut *loan;
            assert_eq!(loan.access, NCZCHUNK_WRITE as usize);
            let chunk = Kept::find(user, loan.chunk_indices);
            let status = if chunk.is_some() { NOERR } else { EEMPTY };
            (loan.data, loan.nbytes) = (chunk.get_or_insert([-9; 4]).as_mut_ptr().cast(), 8);
            status
        }
    }

    fn stores(&mut self) -> [*mut nczchunk_chunk_store; 2] {
        let user = std::ptr::from_mut(self).cast();
        let mut stores = [null_mut(); 2];
        // SAFETY: structures of zeros are ones without callbacks, and the callbacks are what the stores document.
        unsafe {
            let lending = nczchunk_zero_copy_callbacks {
                struct_size: size_of::<nczchunk_zero_copy_callbacks>(),
                user,
                lend: Some(Kept::lend),
                lend_to_write: Some(Kept::lend_to_write),
                ..std::mem::zeroed()
            };
            let filling = nczchunk_reader_callbacks {
                struct_size: size_of::<nczchunk_reader_callbacks>(),
                user,
                fill: Some(Kept::fill),
                store: Some(Kept::store),
                ..std::mem::zeroed()
            };
            assert_eq!(nczchunk_chunk_store_new_zero_copy(&raw const lending, &raw mut stores[0], null_mut()), NOERR);
            assert_eq!(nczchunk_chunk_store_new(&raw const filling, &raw mut stores[1], null_mut()), NOERR);
        }
        stores
    }
}

#[test]
fn what_is_written_is_read_in_every_layout() {
    let var = var();
    for kind in 0..2 {
        let kept: *mut Kept = Box::into_raw(Box::default());
        // SAFETY: the objects are alive, the lists have two entries, and all elements lie within the memory.
        unsafe {
            let stores = (*kept).stores();
            let store = stores[kind];
            // Columns 0, 2 and 4 of rows 3 and 1, from a transposed array: memory[column][row].
            let memory = [31_i16, 11, 33, 13, 35, 15];
            let (start, count, step, strides) = ([3, 0], [2, 3], [-2, 2], [2, 4]);
            let (request, source) = ((start.as_ptr(), count.as_ptr(), step.as_ptr()), memory.as_ptr().cast());
            let (start, count, step) = request;
            let strided = nczchunk_write_strided;
            assert_eq!(strided(var, store, start, count, step, source, 12, 0, strides.as_ptr(), null_mut()), NOERR);
            assert_eq!(strided(var, store, start, count, step, source, 11, 0, strides.as_ptr(), null_mut()), EINVAL);
            assert_eq!(strided(var, store, start, count, step, source, 12, 0, null(), null_mut()), EINVAL);
            assert_eq!(strided(var, store, start, count, step, null(), 12, 0, strides.as_ptr(), null_mut()), EINVAL);

            // Row 1, backwards in memory through a map of -1.
            let mut row = [0_i16; 5];
            let (start, count, imap) = ([1, 0], [1, 5], [5, -1]);
            let last = row.as_mut_ptr().add(4).cast();
            let read = nczchunk_read_varm;
            let (start, count) = (start.as_ptr(), count.as_ptr());
            assert_eq!(read(var, store, start, count, null(), imap.as_ptr(), last, null_mut()), NOERR);
            assert_eq!(row, [15, 0, 13, 0, 11]);
            let imap = [1, isize::MAX];
            assert_eq!(read(var, store, start, count, null(), imap.as_ptr(), last, null_mut()), EINVAL);

            // All of it, plainly, after one more element through a map that is NULL.
            let one = [-1_i16];
            let (start, count) = ([0, 4], [1, 1]);
            let (start, count) = (start.as_ptr(), count.as_ptr());
            let status = nczchunk_write_varm(var, store, start, count, null(), null(), one.as_ptr().cast(), null_mut());
            assert_eq!(status, NOERR);
            let mut all = [0_i16; 20];
            let output = all.as_mut_ptr().cast();
            let status = nczchunk_read_vars(var, store, [0, 0].as_ptr(), null(), null(), output, null_mut());
            assert_eq!(status, NOERR);
            assert_eq!(all[..10], [0, 0, 0, 0, -1, 11, 0, 13, 0, 15]);
            assert_eq!(all[10..], [0, 0, 0, 0, 0, 31, 0, 33, 0, 35]);
            stores.into_iter().for_each(|store| nczchunk_chunk_store_free(store));
            drop(Box::from_raw(kept));
        }
    }
    // SAFETY: it is freed once.
    unsafe { nczchunk_var_free(var) };
}

#[test]
fn a_copier_copies_instead_of_the_library() {
    unsafe extern "C" fn negate(
        user: *mut c_void,
        writing: c_int,
        count: usize,
        source: *const c_void,
        destination: *mut c_void,
    ) -> c_int {
        // SAFETY: both sides hold as many elements, and `user` is a counter.
        unsafe {
            *user.cast::<usize>() += count;
            for i in 0..count {
                let value = source.cast::<i16>().add(i).read_unaligned();
                destination.cast::<i16>().add(i).write_unaligned(-value - writing as i16);
            }
        }
        NOERR
    }
    let (var, kept, mut copied) = (var(), Box::into_raw(Box::<Kept>::default()), 0_usize);
    let (data, mut all) = ([1_i16, 2, 3, 4], [0_i16; 20]);
    // SAFETY: the objects are alive, the lists have two entries, and there is room for what is selected.
    unsafe {
        assert_eq!(nczchunk_var_set_copier(null_mut(), None, null_mut(), null_mut()), EINVAL);
        assert_eq!(nczchunk_var_set_copier(var, Some(negate), (&raw mut copied).cast(), null_mut()), NOERR);
        let [lending, filling] = (*kept).stores();
        let (start, count) = ([0, 0], [2, 2]);
        let write = |store| {
            let (start, count) = (start.as_ptr(), count.as_ptr());
            nczchunk_write_vars(var, store, start, count, null(), data.as_ptr().cast(), null_mut())
        };
        assert_eq!((write(filling), write(lending)), (EINVAL, NOERR));
        assert_eq!((*kept).0[0], Some([-2, -3, -4, -5]));
        let output = all.as_mut_ptr().cast();
        let status = nczchunk_read_vars(var, lending, start.as_ptr(), null(), null(), output, null_mut());
        assert_eq!((status, all[0], all[6], copied), (NOERR, 2, 5, 8));
        nczchunk_chunk_store_free(lending);
        nczchunk_chunk_store_free(filling);
        nczchunk_var_free(var);
        drop(Box::from_raw(kept));
    }
}
