//! # Variable: what is stored
//!
//! A variable says how an n-dimensional array is cut into chunks and what its elements are. It holds no data. Dimensions
//! are given slowest first, as in netCDF; a chunk is stored row-major and at full size, also where it reaches beyond the
//! end of a dimension.

use std::ffi::{c_int, c_void};

use super::context::{nczchunk_context, report};
use super::{check_rank, hand_over, handle_mut, required, status, take_back};
use crate::copy::Copier;
use crate::error::ErrorKind;
use crate::variable::{ByteOrder, Variable, check_element_size};

/// The largest rank: netCDF's NC_MAX_VAR_DIMS.
pub const NCZCHUNK_MAX_RANK: usize = 1024;

/// Stored words have this machine's byte order; netCDF's NC_ENDIAN_NATIVE.
pub const NCZCHUNK_ENDIAN_NATIVE: c_int = 0;
/// Stored words have the least significant byte first; netCDF's NC_ENDIAN_LITTLE.
pub const NCZCHUNK_ENDIAN_LITTLE: c_int = 1;
/// Stored words have the most significant byte first; netCDF's NC_ENDIAN_BIG.
pub const NCZCHUNK_ENDIAN_BIG: c_int = 2;

/// A variable. Any number of threads may use one at the same time, as long as none changes it.
pub struct nczchunk_var(pub(super) Variable);

/// A new variable of rank dimensions, with elements of typesize bytes in native byte order and a fill value of zeros.
/// dimlens and chunklens have rank entries, in elements, and are copied. Rank 0 is a scalar: one element, in one chunk;
/// then both may be NULL. A dimension may have length 0; an unlimited one is given at its current length. A chunk may be
/// longer than its dimension. Free it with nczchunk_var_free.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument; typesize 0; a chunk length of 0; a chunk larger than PTRDIFF_MAX bytes),
/// NCZCHUNK_EMAXDIMS (rank above NCZCHUNK_MAX_RANK), NCZCHUNK_EDIMSIZE (a dimension longer than PTRDIFF_MAX + 1),
/// NCZCHUNK_ENOMEM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_var_new(
    rank: usize,
    dimlens: *const usize,
    chunklens: *const usize,
    typesize: usize,
    var: *mut *mut nczchunk_var,
    context: *mut nczchunk_context,
) -> c_int {
    let make = || {
        if rank > 0 && (dimlens.is_null() || chunklens.is_null()) {
            return Err(ErrorKind::Argument("dimlens or chunklens is NULL").into());
        }
        check_element_size(typesize)?;
        check_rank(rank)?;
        // SAFETY: neither is NULL, and by the header's general promise both have rank entries.
        let (dimlens, chunklens) =
            unsafe { (required(dimlens, rank, "dimlens")?, required(chunklens, rank, "chunklens")?) };
        Ok(nczchunk_var(Variable::new(dimlens, chunklens, typesize)?))
    };
    // SAFETY: the header's general promise.
    unsafe { report(context, || hand_over(var, make)) }
}

/// Frees a variable. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_var_free(var: *mut nczchunk_var) {
    // SAFETY: the header's general promise.
    unsafe { take_back(var) }
}

/// Sets what absent chunks read as: one element, typesize bytes, which are copied. It is in native byte order whatever
/// the variable's, and is never swapped. NULL stands for zeros.
///
/// Errors: NCZCHUNK_EINVAL (var is NULL), NCZCHUNK_ENOMEM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_var_set_fill_value(var: *mut nczchunk_var, fill_value: *const c_void) -> c_int {
    status(|| {
        // SAFETY: the header's general promise.
        let var = unsafe { handle_mut(var, "var is NULL") }?;
        // SAFETY: NULL, or typesize bytes, as documented.
        let element = unsafe { super::optional(fill_value.cast::<u8>(), var.0.element_size()) };
        var.0.set_fill_value(element)
    })
}

/// Sets the byte order of the stored words: one of the NCZCHUNK_ENDIAN_ constants. Words are swapped between chunk and
/// memory as needed; memory is always in native order.
///
/// Errors: NCZCHUNK_EINVAL (var is NULL; no such constant), NCZCHUNK_EBADTYPE (elements that have no words: see
/// nczchunk_var_set_word_size).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_var_set_endian(var: *mut nczchunk_var, endian: c_int) -> c_int {
    status(|| {
        let order = match endian {
            NCZCHUNK_ENDIAN_NATIVE => ByteOrder::Native,
            NCZCHUNK_ENDIAN_LITTLE => ByteOrder::Little,
            NCZCHUNK_ENDIAN_BIG => ByteOrder::Big,
            _ => return Err(ErrorKind::Argument("endian is none of the NCZCHUNK_ENDIAN_ constants").into()),
        };
        // SAFETY: the header's general promise.
        unsafe { handle_mut(var, "var is NULL") }?.0.set_byte_order(order)
    })
}

/// Sets the size in bytes of the words that elements are made of: 1, 2, 4 or 8, and a divisor of typesize. Unset, an
/// element of 1, 2, 4 or 8 bytes is one word and one of 16 bytes is two, as a complex number is; an element of any other
/// size has no words and no byte order. Set it to 4 for complex numbers of 8 bytes, to 1 for text of fixed length.
///
/// Errors: NCZCHUNK_EINVAL (var is NULL; no such word size).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_var_set_word_size(var: *mut nczchunk_var, word_size: usize) -> c_int {
    // SAFETY: the header's general promise.
    status(|| unsafe { handle_mut(var, "var is NULL") }?.0.set_word_size(word_size))
}

/// Sets how elements are copied that are more than their bytes: pointers to text that are to be duplicated, for example.
/// copier is called instead of copying bytes; NULL stands for bytes. It copies count elements, which are contiguous on both
/// sides: from memory to a chunk if writing is 1, from a chunk to memory if it is 0. What the destination held before it
/// frees when writing; when reading that is nothing. It returns 0 or a status, which ends the call. Several threads that use
/// the variable may call it at the same time.
///
/// Nothing is swapped then, and chunks must be lent: with a store that fills in chunks reads and writes give NCZCHUNK_EINVAL.
/// Absent chunks read as copies of the fill value or, without one, as zero bytes, which are not passed to the copier. After
/// an error some elements are copied and some are not, in memory or in the chunk at which it happened: zero the memory before
/// a read, to know which.
///
/// Errors: NCZCHUNK_EINVAL (var is NULL).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_var_set_copier(
    var: *mut nczchunk_var,
    copier: Option<
        unsafe extern "C" fn(
            user: *mut c_void,
            writing: c_int,
            count: usize,
            source: *const c_void,
            destination: *mut c_void,
        ) -> c_int,
    >,
    user: *mut c_void,
) -> c_int {
    status(|| {
        // SAFETY: the header's general promise.
        let var = unsafe { handle_mut(var, "var is NULL") }?;
        // SAFETY: the function is what is documented, and the caller answers for the threads that use the variable.
        var.0.set_copier(copier.map(|copier| unsafe { Copier::new(copier, user) }));
        Ok(())
    })
}

/// Changes the current length of a dimension, counted from 0, as when an unlimited dimension has grown. A write needs the
/// length to be current: it takes what lies beyond for nothing, and may replace it by the fill value.
///
/// Errors: NCZCHUNK_EINVAL (var is NULL), NCZCHUNK_EBADDIM (no such dimension), NCZCHUNK_EDIMSIZE (dimlen above
/// PTRDIFF_MAX + 1).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_var_set_dimlen(var: *mut nczchunk_var, dimension: usize, dimlen: usize) -> c_int {
    // SAFETY: the header's general promise.
    status(|| unsafe { handle_mut(var, "var is NULL") }?.0.set_dimlen(dimension, dimlen))
}

/// Changes the origin of a dimension, counted from 0, as cfdb does when elements are prepended: the chunks are aligned to
/// multiples of their length in an index space in which the dimension's first element has the index origin, at first 0.
/// To prepend n elements, subtract n from the origin and add n to the length. With a negative origin there are chunks with
/// negative indices, and the first one may hold elements only in its upper part.
///
/// Errors: NCZCHUNK_EINVAL (var is NULL), NCZCHUNK_EBADDIM (no such dimension), NCZCHUNK_EDIMSIZE (an origin that leaves no
/// room for the dimension, or the chunk that holds its first element, among the values of ptrdiff_t).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_var_set_origin(var: *mut nczchunk_var, dimension: usize, origin: isize) -> c_int {
    // SAFETY: the header's general promise.
    status(|| unsafe { handle_mut(var, "var is NULL") }?.0.set_origin(dimension, origin))
}
