//! # Variable: the layout of the stored array
//!
//! Describe how an n-dimensional array is divided into chunks, and what its elements are. A variable holds no data.
//! Dimensions are listed slowest first, as in netCDF. A chunk is stored at full size, even if it reaches beyond the end
//! of a dimension. It is row-major unless nczchunk_var_set_chunk_order says otherwise.

use super::prelude::*;
use nczchunk_engine::chunk_list::ChunkRun;
use nczchunk_engine::copier::Copier;
use nczchunk_engine::grid::{ChunkExtent, Dimension};
use nczchunk_engine::variable::{Endian, Variable, check_element_size};

/// The largest rank: netCDF's NC_MAX_VAR_DIMS.
pub const NCZCHUNK_MAX_RANK: usize = 1024;

/// Stored words have this machine's byte order; netCDF's NC_ENDIAN_NATIVE.
pub const NCZCHUNK_ENDIAN_NATIVE: c_int = 0;
/// Stored words have the least significant byte first; netCDF's NC_ENDIAN_LITTLE.
pub const NCZCHUNK_ENDIAN_LITTLE: c_int = 1;
/// Stored words have the most significant byte first; netCDF's NC_ENDIAN_BIG.
pub const NCZCHUNK_ENDIAN_BIG: c_int = 2;

/// Creates a variable of rank dimensions. Its elements have element_size bytes in native byte order, and its fill value
/// is zeros. dimlens and chunklens have rank entries, in elements, and are copied. Rank 0 is a scalar: one element, in
/// one chunk; then both may be NULL. A dimension may have length 0; an unlimited one is given at its current length. A
/// chunk may be longer than its dimension. Free the variable with nczchunk_var_free.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument; element_size 0; a chunk length of 0; a chunk larger than PTRDIFF_MAX
/// bytes), NCZCHUNK_EMAXDIMS (rank above NCZCHUNK_MAX_RANK), NCZCHUNK_EDIMSIZE (a dimension longer than PTRDIFF_MAX +
/// 1), NCZCHUNK_ENOMEM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_var_new(
    rank: usize,
    dimlens: *const usize,
    chunklens: *const usize,
    element_size: usize,
    var: *mut *mut nczchunk_var,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || hand_over(var, || {
        if rank > 0 && (dimlens.is_null() || chunklens.is_null()) {
            return Err(ErrorKind::Argument("dimlens or chunklens is NULL").into());
        }
        check_element_size(element_size)?;
        check_rank(rank)?;
        let (dimlens, chunklens) = (required(dimlens, rank, "dimlens")?, required(chunklens, rank, "chunklens")?);
        Ok(nczchunk_var(Variable::new(dimlens, chunklens, element_size)?))
    })))
}

/// Frees a variable. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_var_free(var: *mut nczchunk_var) {
    by_promise!(take_back(var))
}

/// Changes a variable, and reports to the context.
///
/// # Safety
/// Both pointers are NULL or point to what their types say, which nobody else uses meanwhile.
unsafe fn change(
    var: *mut nczchunk_var,
    context: *mut nczchunk_context,
    change: impl FnOnce(&mut Variable) -> Result<()>,
) -> c_int {
    by_promise!(report(context, || change(&mut handle_mut(var, "var is NULL")?.0)))
}

/// Sets the fill value, as which missing chunks read: one element of element_size bytes, which are copied. It is in
/// native byte order for any byte order of the variable, and is never swapped. NULL stands for zeros.
///
/// Errors: NCZCHUNK_EINVAL (var is NULL), NCZCHUNK_ENOMEM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_var_set_fill_value(
    var: *mut nczchunk_var,
    fill_value: *const c_void,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(change(var, context, |var| {
        // The variable's own is what it has already.
        if var.fill_value().is_some_and(|own| own.as_ptr() == fill_value.cast()) {
            return Ok(());
        }
        var.set_fill_value(optional(fill_value.cast::<u8>(), var.element_size()))
    }))
}

/// Sets the byte order of the stored words: one of the NCZCHUNK_ENDIAN_ constants. Words are swapped between chunk and
/// memory as needed. Memory is always in native order.
///
/// Errors: NCZCHUNK_EINVAL (var is NULL; no such constant), NCZCHUNK_EBADTYPE (LITTLE or BIG for elements that have no
/// words, on every machine: see nczchunk_var_set_word_size).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_var_set_endian(
    var: *mut nczchunk_var,
    endian: c_int,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(change(var, context, |var| var.set_endian(self::endian(endian)?)))
}

/// The byte order that one of the constants stands for.
pub(super) fn endian(endian: impl TryInto<c_int>) -> Result<Endian> {
    match endian.try_into() {
        Ok(NCZCHUNK_ENDIAN_NATIVE) => Ok(Endian::Native),
        Ok(NCZCHUNK_ENDIAN_LITTLE) => Ok(Endian::Little),
        Ok(NCZCHUNK_ENDIAN_BIG) => Ok(Endian::Big),
        _ => Err(ErrorKind::Argument("endian must be one of the NCZCHUNK_ENDIAN_ constants").into()),
    }
}

/// Sets the size in bytes of the words that elements consist of: 1, 2, 4 or 8, and a divisor of element_size. By
/// default, an element of 1, 2, 4 or 8 bytes is one word, and one of 16 bytes is two words, as a complex number is. An
/// element of any other size has no words and no byte order. Set 4 for complex numbers of 8 bytes, and 1 for
/// fixed-length strings.
///
/// Errors: NCZCHUNK_EINVAL (var is NULL; an invalid word size).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_var_set_word_size(
    var: *mut nczchunk_var,
    word_size: usize,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(change(var, context, |var| var.set_word_size(word_size)))
}

/// Sets the order in which the elements of a chunk are stored. order has rank entries and names each dimension once,
/// from the slowest to the fastest: {0, 1, 2} is row-major, {2, 1, 0} is Fortran order (Zarr's order "F"), and any
/// other order is a transpose (Zarr's codec "transpose"). NULL stands for row-major. The order in memory does not
/// change.
///
/// Errors: NCZCHUNK_EINVAL (var is NULL; a dimension that is named twice or does not exist), NCZCHUNK_ENOMEM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_var_set_chunk_order(
    var: *mut nczchunk_var,
    order: *const usize,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(change(var, context, |var| var.set_chunk_order(optional(order, var.rank()))))
}

/// Sets a coarser grid for writing the variable, for chunks that are stored in shards: a shard can only be written as a
/// whole. write_chunklens has rank entries, in elements, each a multiple of the chunk's length. NULL stands for the
/// chunks themselves. Reads use the chunks as before. This grid applies to writes, to plans for writing, to the chunks
/// that they cover, to their parts, and to the check whether two plans share chunks. A store is asked to fetch and to
/// store chunks of this size.
///
/// Errors: NCZCHUNK_EINVAL (var is NULL; lengths that are not multiples; a chunk larger than PTRDIFF_MAX bytes),
/// NCZCHUNK_ENOMEM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_var_set_write_grid(
    var: *mut nczchunk_var,
    write_chunklens: *const usize,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(change(var, context, |var| var.set_write_grid(optional(write_chunklens, var.rank()))))
}

/// Sets the lengths of the chunks along a dimension, counted from 0, where they differ: chunk i of the dimension
/// contributes lengths[i] elements and is stored with, and decodes to, encoded_lengths[i] elements, which is no less.
/// Each chunk begins where the one before it ends. What a chunk decodes to beyond its length is never read, and is
/// written as fill values. encoded_lengths NULL stands for lengths. Both have num_chunks entries, which are copied.
/// They may reach beyond the end of the dimension, also by whole chunks, and bound how long nczchunk_var_set_dimlen can
/// make it. lengths NULL stands for chunks of one length again, that of nczchunk_var_chunklen.
///
/// So several files that were chunked alike are one variable along their first dimension, although their last chunks
/// hold fewer elements than they are stored with.
///
/// Errors: NCZCHUNK_EINVAL (var is NULL; num_chunks 0; a length of 0; an encoded length that is less than the length;
/// lengths whose sum is less than the dimension's; a chunk larger than PTRDIFF_MAX bytes; more elements than
/// PTRDIFF_MAX; a variable with a write grid), NCZCHUNK_EBADDIM (no such dimension), NCZCHUNK_EDIMSIZE (a dimension
/// with another origin than 0), NCZCHUNK_ENOMEM. After an error the chunks are as they were.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_var_set_chunk_lengths(
    var: *mut nczchunk_var,
    dimension: usize,
    num_chunks: usize,
    lengths: *const usize,
    encoded_lengths: *const usize,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(change(var, context, |var| {
        if lengths.is_null() {
            return var.set_chunk_runs(dimension, None);
        }
        let (lengths, encoded) = (required(lengths, num_chunks, "lengths")?, optional(encoded_lengths, num_chunks));
        // With no entries this is an empty list, too.
        let encoded = encoded.unwrap_or(lengths).iter();
        let chunks =
            lengths.iter().zip(encoded).map(|(&len, &encoded_len)| ChunkRun { num_chunks: 1, len, encoded_len });
        var.set_chunks(dimension, Some(chunks))
    }))
}

/// Changes the current length of a dimension, counted from 0, for example when an unlimited dimension has grown. Set
/// the current length before a write: the write ignores stored elements beyond the length, and may replace them by the
/// fill value.
///
/// Errors: NCZCHUNK_EINVAL (var is NULL; more than the chunks of nczchunk_var_set_chunk_lengths have), NCZCHUNK_EBADDIM
/// (no such dimension), NCZCHUNK_EDIMSIZE (dimlen above PTRDIFF_MAX + 1).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_var_set_dimlen(
    var: *mut nczchunk_var,
    dimension: usize,
    dimlen: usize,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(change(var, context, |var| var.set_dimlen(dimension, dimlen)))
}

/// Changes the origin of a dimension, counted from 0, as cfdb does when elements are prepended. Chunks are aligned to
/// multiples of their length in an index space in which the dimension's first element has the index origin, at first 0.
/// To prepend n elements, subtract n from the origin and add n to the length. With a negative origin some chunks have
/// negative indices, and the first one may hold elements only in its upper part.
///
/// Errors: NCZCHUNK_EINVAL (var is NULL), NCZCHUNK_EBADDIM (no such dimension), NCZCHUNK_EDIMSIZE (an origin that
/// leaves no room for the dimension, or for the chunk that holds its first element, in the range of ptrdiff_t).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_var_set_origin(
    var: *mut nczchunk_var,
    dimension: usize,
    origin: isize,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(change(var, context, |var| var.set_origin(dimension, origin)))
}

/// Sets a function that copies elements, for elements that own more than their bytes, such as pointers to strings that
/// must be duplicated. copier is called instead of copying bytes; NULL stands for copying bytes. It copies count
/// elements, which are contiguous on both sides: from memory to a chunk if writing is 1, from a chunk to memory if
/// writing is 0. source and destination have the alignment of the chunk and the memory at that element. When writing,
/// the copier frees the old contents of the destination. When reading, the destination holds nothing. The copier
/// returns 0, or a status that ends the call. Several threads that use the variable may call it at the same time; one
/// call of the library uses one thread.
///
/// With a copier no bytes are swapped, and chunks must be borrowed as they are. With a store that reads chunks into a
/// buffer, or that has codecs, reads and writes give NCZCHUNK_EINVAL. Missing chunks read as copies of the fill value.
/// Without a fill value they read as zero bytes, which are not passed to the copier. After an error, some elements of
/// memory, or of the chunk at which it happened, are copied and some are not. To find out which, set the memory to zero
/// before a read.
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
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(change(var, context, |var| {
        var.set_copier(copier.map(|copier| Copier::new(copier, user)));
        Ok(())
    }))
}

/// The answer of a variable to a question; `T::default()` for NULL.
///
/// # Safety
/// The pointer is NULL or points to a variable that nobody changes meanwhile.
unsafe fn ask<T: Default>(var: *const nczchunk_var, question: impl FnOnce(&Variable) -> T) -> T {
    by_promise!(var.as_ref().map_or_else(T::default, |var| question(&var.0)))
}

/// The answer of a dimension of a variable to a question; 0 if there is none.
///
/// # Safety
/// As for [`ask`].
unsafe fn ask_dimension<T: Default>(
    var: *const nczchunk_var,
    access: Access,
    dimension: usize,
    question: impl FnOnce(&Dimension) -> T,
) -> T {
    by_promise!(ask(var, |var| var.grid(access).dimensions().get(dimension).map_or_else(T::default, question)))
}

/// Returns the number of dimensions; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_var_rank(var: *const nczchunk_var) -> usize {
    by_promise!(ask(var, Variable::rank))
}

/// Returns the current length of a dimension, counted from 0, in elements. Returns 0 if the dimension does not exist,
/// and for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_var_dimlen(var: *const nczchunk_var, dimension: usize) -> usize {
    by_promise!(ask_dimension(var, Access::Read, dimension, Dimension::len))
}

/// Returns the length of a chunk along a dimension, counted from 0, in elements; where chunks differ
/// (nczchunk_var_set_chunk_lengths), the largest that one decodes to. Returns 0 if there is no such dimension, and for
/// NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_var_chunklen(var: *const nczchunk_var, dimension: usize) -> usize {
    by_promise!(ask_dimension(var, Access::Read, dimension, Dimension::chunklen))
}

/// Returns the length of a chunk of the write grid along a dimension, counted from 0, in elements. Without such a grid
/// it is that of nczchunk_var_chunklen. Returns 0 if the dimension does not exist, and for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_var_write_chunklen(var: *const nczchunk_var, dimension: usize) -> usize {
    by_promise!(ask_dimension(var, Access::Write, dimension, Dimension::chunklen))
}

/// Returns the number of chunks along a dimension, counted from 0, stored or absent. Returns 0 if there is no such
/// dimension, and for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_var_num_chunks(var: *const nczchunk_var, dimension: usize) -> usize {
    by_promise!(ask_dimension(var, Access::Read, dimension, Dimension::num_chunks))
}

/// Returns 1 if the chunks along a dimension, counted from 0, have one length, which is that of nczchunk_var_chunklen.
/// Returns 0 if they have a list of lengths (nczchunk_var_set_chunk_lengths), if there is no such dimension, and for
/// NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_var_is_regular(var: *const nczchunk_var, dimension: usize) -> c_int {
    by_promise!(ask_dimension(var, Access::Read, dimension, |dimension| c_int::from(dimension.chunks().is_none())))
}

/// Tells where the chunk with an index lies along a dimension, counted from 0, all in elements: start receives the
/// first element of the dimension that it holds, length how many it holds, and encoded_length how many it is stored
/// with and decodes to. Each may be NULL.
///
/// Errors: NCZCHUNK_EINVAL (var is NULL), NCZCHUNK_EBADDIM (no such dimension), NCZCHUNK_EINVALCOORDS (no such chunk).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_var_chunk_extent(
    var: *const nczchunk_var,
    dimension: usize,
    chunk_index: isize,
    start: *mut usize,
    length: *mut usize,
    encoded_length: *mut usize,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        let var = &handle(var, "var is NULL")?.0;
        let of = var.dimensions().get(dimension).ok_or(ErrorKind::NoDimension(dimension))?;
        let no_chunk = ErrorKind::Index { index: of.chunk_at(chunk_index), len: of.num_chunks() };
        let ChunkExtent { start: first, len, encoded_len } = of.chunk(chunk_index).ok_or(no_chunk)?;
        for (place, number) in [(start, first), (length, len), (encoded_length, encoded_len)] {
            if !place.is_null() {
                place.write(number);
            }
        }
        Ok(())
    }))
}

/// Returns the origin of a dimension, counted from 0. Returns 0 if the dimension does not exist, and for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_var_origin(var: *const nczchunk_var, dimension: usize) -> isize {
    by_promise!(ask_dimension(var, Access::Read, dimension, Dimension::origin))
}

/// Returns the size of an element in bytes; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_var_element_size(var: *const nczchunk_var) -> usize {
    by_promise!(ask(var, Variable::element_size))
}

/// Returns the size in bytes of the words that elements consist of; 0 for elements without words, and for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_var_word_size(var: *const nczchunk_var) -> usize {
    by_promise!(ask(var, Variable::word_size))
}

/// Returns the byte order of the stored words, one of the NCZCHUNK_ENDIAN_ constants; NCZCHUNK_ENDIAN_NATIVE for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_var_endian(var: *const nczchunk_var) -> c_int {
    match by_promise!(ask(var, Variable::endian)) {
        Endian::Native => NCZCHUNK_ENDIAN_NATIVE,
        Endian::Little => NCZCHUNK_ENDIAN_LITTLE,
        Endian::Big => NCZCHUNK_ENDIAN_BIG,
    }
}

/// Returns the size of a whole decoded chunk in bytes; where chunks differ (nczchunk_var_set_chunk_lengths), of one
/// that has the largest length along each dimension. Returns 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_var_chunk_bytes(var: *const nczchunk_var) -> usize {
    by_promise!(ask(var, Variable::chunk_bytes))
}

/// Returns the fill value: element_size bytes without alignment. Returns NULL if none is set, which stands for zeros or
/// empty strings, and for NULL. The fill value belongs to the variable and is valid until it is changed or the variable
/// is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_var_fill_value(var: *const nczchunk_var) -> *const c_void {
    let set = |var: &Variable| {
        let is_set = !var.has_texts() || var.fill_text().is_some();
        var.fill_value().filter(|_| is_set).map(<[u8]>::as_ptr)
    };
    let value = by_promise!(ask(var, set));
    value.map_or(std::ptr::null(), <*const u8>::cast)
}
