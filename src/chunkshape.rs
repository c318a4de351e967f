//! # Chunk shapes: advice, and the defaults of other libraries
//!
//! Compute the chunk lengths that cost least for the ways in which an array is read, and those that netCDF-C, h5py and
//! rechunkit choose for a variable by default.

use super::prelude::*;
use nczchunk_engine::chunkshape::{self, Costs, NETCDF_TARGET_BYTES, Pattern, RECHUNKIT_TARGET_BYTES};

/// Computes the chunk lengths that netCDF-C gives a netCDF-4 variable, as nc_inq_var_chunking reports them. All fixed
/// dimensions are shortened by the same factor, unlimited ones to 1.
///
/// dimlens has rank entries; 0 is an unlimited dimension. typesize is the size of an element in bytes. target_bytes is
/// the approximate size of a chunk in bytes; 0 stands for netCDF-C's default, 16 MiB. chunklens receives rank lengths,
/// and must not overlap dimlens.
///
/// Errors: NCZCHUNK_EINVAL (dimlens or chunklens is NULL, unless rank is 0; typesize 0 or above 4 GiB - 1),
/// NCZCHUNK_EMAXDIMS (rank above NCZCHUNK_MAX_RANK).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_chunkshape_netcdf(
    rank: usize,
    dimlens: *const usize,
    typesize: usize,
    target_bytes: usize,
    chunklens: *mut usize,
    context: *mut nczchunk_context,
) -> c_int {
    let choose = |dimlens: &[usize], chunklens: &mut [usize]| {
        chunkshape::netcdf(dimlens, typesize, or_default(target_bytes, NETCDF_TARGET_BYTES), chunklens)
    };
    by_promise!(chosen(rank, dimlens, chunklens, context, choose))
}

/// Computes the chunk lengths that h5py guesses for a dataset that gets a filter or may grow. (HDF5 itself has no
/// default.) Dimensions are halved in turn to a chunk of 8 KiB to 1 MiB, the more the larger the variable is.
///
/// dimlens has rank entries; 0 is an unlimited dimension without elements, for which h5py takes 1024. typesize is the
/// size of an element in bytes. chunklens receives rank lengths, and must not overlap dimlens.
///
/// Errors: NCZCHUNK_EINVAL (dimlens or chunklens is NULL, unless rank is 0; typesize 0), NCZCHUNK_EMAXDIMS (rank above
/// NCZCHUNK_MAX_RANK).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_chunkshape_h5py(
    rank: usize,
    dimlens: *const usize,
    typesize: usize,
    chunklens: *mut usize,
    context: *mut nczchunk_context,
) -> c_int {
    let choose = |dimlens: &[usize], chunklens: &mut [usize]| chunkshape::h5py(dimlens, typesize, chunklens);
    by_promise!(chosen(rank, dimlens, chunklens, context, choose))
}

/// Computes the chunk lengths that rechunkit guesses, which are cfdb's default. Dimensions are shortened in turn to
/// numbers with many divisors, until the chunk takes at most one and a half times the target.
///
/// dimlens has rank entries, none 0. typesize is the size of an element in bytes. target_bytes is the approximate size
/// of a chunk in bytes; 0 stands for rechunkit's default, 2 MiB. chunklens receives rank lengths, and must not overlap
/// dimlens.
///
/// Errors: NCZCHUNK_EINVAL (dimlens or chunklens is NULL, unless rank is 0; typesize 0), NCZCHUNK_EDIMSIZE (a length of
/// 0), NCZCHUNK_EMAXDIMS (rank above NCZCHUNK_MAX_RANK).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_chunkshape_rechunkit(
    rank: usize,
    dimlens: *const usize,
    typesize: usize,
    target_bytes: usize,
    chunklens: *mut usize,
    context: *mut nczchunk_context,
) -> c_int {
    let choose = |dimlens: &[usize], chunklens: &mut [usize]| {
        chunkshape::rechunkit(dimlens, typesize, or_default(target_bytes, RECHUNKIT_TARGET_BYTES), chunklens)
    };
    by_promise!(chosen(rank, dimlens, chunklens, context, choose))
}

/// Writes the chunk lengths that a function chooses for the lengths of the dimensions.
///
/// # Safety
/// `dimlens` and `chunklens` are NULL or point to `rank` lengths; those of `chunklens` are writable and used by nobody
/// else. `context` is NULL or a context that nobody else uses.
unsafe fn chosen(
    rank: usize,
    dimlens: *const usize,
    chunklens: *mut usize,
    context: *mut nczchunk_context,
    choose: impl FnOnce(&[usize], &mut [usize]) -> Result<()>,
) -> c_int {
    by_promise!(report(context, || {
        let (dimlens, chunklens) = lengths(rank, dimlens, chunklens)?;
        choose(dimlens, chunklens)
    }))
}

/// The lengths to read and those to write, after the rank.
///
/// # Safety
/// Each is NULL or points to `rank` lengths; those of `chunklens` are writable and used by nobody else.
unsafe fn lengths<'a>(
    rank: usize,
    dimlens: *const usize,
    chunklens: *mut usize,
) -> Result<(&'a [usize], &'a mut [usize])> {
    check_rank(rank)?;
    by_promise!(Ok((required(dimlens, rank, "dimlens is NULL")?, required_mut(chunklens, rank, "chunklens is NULL")?)))
}

fn or_default(target_bytes: usize, default: usize) -> usize {
    if target_bytes == 0 { default } else { target_bytes }
}

/// What reading costs, for nczchunk_advise. What is read takes per_request for each request and its stored bytes
/// divided by bandwidth on its way, and per_chunk for each chunk, its decoded bytes divided by decoding and the read
/// bytes divided by copying in the processor. With one request in flight a read takes the sum, and latency for each
/// request; with many, the longer of both and one latency: see docs/advice.md. Set struct_size. A field that is 0 has
/// its default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nczchunk_advise_costs {
    /// sizeof(nczchunk_advise_costs).
    pub struct_size: usize,
    /// The number of requests that are on their way at the same time. 0 for 1.
    pub in_flight: usize,
    /// The fewest bytes of a chunk, decoded. 0 for 64 KiB. Arrays that are smaller have smaller chunks.
    pub least_bytes: usize,
    /// The most bytes of a chunk, decoded. 0 for 64 MiB.
    pub most_bytes: usize,
    /// In steps of how many bytes a chunk is decoded, up to the last element that is read: 128 KiB as this library
    /// decodes zstd without other codecs. 0 if it is decoded as a whole.
    pub step_bytes: usize,
    /// How long a request takes until its first byte is there, in seconds. 0 for 0.0001.
    pub latency: f64,
    /// How many bytes a second arrive. 0 for 1e9.
    pub bandwidth: f64,
    /// How many decoded bytes a second the codecs give, with all threads together. 0 for 1e9.
    pub decoding: f64,
    /// How many bytes are stored for a decoded byte. 0 for 0.5.
    pub stored: f64,
    /// How long each request keeps the way busy, in seconds, whatever else is in flight: a server that answers so many
    /// a second takes the inverse. 0 for nothing.
    pub per_request: f64,
    /// How long a chunk takes besides decoding and copying, in seconds. 0 for 0.00001.
    pub per_chunk: f64,
    /// How many bytes a second are copied from decoded chunks to where they are wanted. 0 for 4e9.
    pub copying: f64,
}
growing!(nczchunk_advise_costs, copying: f64);

/// What a read of a pattern costs with a chunk shape, on average over all places. The structure will not change.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nczchunk_advise_cost_of_read {
    /// Requests, which are the chunks that are touched.
    pub requests: f64,
    /// Decoded bytes of these chunks.
    pub bytes: f64,
    /// Seconds.
    pub seconds: f64,
}

/// Computes the chunk lengths that cost least for the ways in which an array is read. A pattern is a box that is read
/// at any place of the array, all places being equally likely; its weight says how often, compared with the others.
///
/// dimlens has rank entries, none 0. typesize is the size of an element in bytes. patterns has num_patterns times rank
/// entries: for each pattern the lengths of its box, of which those beyond the dimension stand for all of it. weights
/// has num_patterns positive numbers. costs is NULL for all defaults. chunklens receives rank lengths, and must not
/// overlap dimlens. seconds receives the mean cost of a read (NULL: not wanted).
///
/// Looks at chunks that cut each dimension into equal parts or into powers of 2, and at those that
/// nczchunk_chunkshape_netcdf, nczchunk_chunkshape_h5py and nczchunk_chunkshape_rechunkit give.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument; typesize 0 or above 4 GiB - 1; no pattern; a length of 0 in a pattern; a
/// weight that is not positive; a negative number in costs; least_bytes above most_bytes), NCZCHUNK_EDIMSIZE (a length
/// of 0), NCZCHUNK_EMAXDIMS (rank above NCZCHUNK_MAX_RANK), NCZCHUNK_ENOMEM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_advise(
    rank: usize,
    dimlens: *const usize,
    typesize: usize,
    num_patterns: usize,
    patterns: *const usize,
    weights: *const f64,
    costs: *const nczchunk_advise_costs,
    chunklens: *mut usize,
    seconds: *mut f64,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        let (dimlens, chunklens) = lengths(rank, dimlens, chunklens)?;
        let num = num_patterns.checked_mul(rank).ok_or(ErrorKind::Argument("there are too many patterns"))?;
        let patterns = required(patterns, num, "patterns is NULL")?;
        let weights = required(weights, num_patterns, "weights is NULL")?;
        let mut list = Vec::new();
        for (i, &weight) in weights.iter().enumerate() {
            alloc::push(&mut list, Pattern { shape: &patterns[i * rank..][..rank], weight })?;
        }
        let mean = chunkshape::advise(dimlens, typesize, &list, &read_costs(costs)?, chunklens)?;
        if let Some(seconds) = seconds.as_mut() {
            *seconds = mean;
        }
        Ok(())
    }))
}

/// Computes what a read costs with a chunk shape: see nczchunk_advise. pattern and chunklens have rank entries, and
/// cost receives the result.
///
/// Errors: those of nczchunk_advise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_advise_cost(
    rank: usize,
    dimlens: *const usize,
    typesize: usize,
    chunklens: *const usize,
    pattern: *const usize,
    costs: *const nczchunk_advise_costs,
    cost: *mut nczchunk_advise_cost_of_read,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        check_rank(rank)?;
        let dimlens = required(dimlens, rank, "dimlens is NULL")?;
        let chunklens = required(chunklens, rank, "chunklens is NULL")?;
        let shape = required(pattern, rank, "pattern is NULL")?;
        let (costs, to) = (read_costs(costs)?, handle_mut(cost, "cost is NULL")?);
        let found = chunkshape::cost(dimlens, typesize, chunklens, &Pattern { shape, weight: 1.0 }, &costs)?;
        *to = nczchunk_advise_cost_of_read { requests: found.requests, bytes: found.bytes, seconds: found.seconds };
        Ok(())
    }))
}

/// # Safety
/// The pointer is NULL or points to a structure of the size that it says.
unsafe fn read_costs(costs: *const nczchunk_advise_costs) -> Result<Costs> {
    let mut to = Costs::default();
    if costs.is_null() {
        return Ok(to);
    }
    let from = by_promise!(read_growing(costs))?;
    for (number, to) in [
        (from.latency, &mut to.latency),
        (from.bandwidth, &mut to.bandwidth),
        (from.decoding, &mut to.decoding),
        (from.stored, &mut to.stored),
        (from.per_request, &mut to.per_request),
        (from.per_chunk, &mut to.per_chunk),
        (from.copying, &mut to.copying),
    ] {
        if !(number >= 0.0 && number.is_finite()) {
            return Err(ErrorKind::Argument("a number in costs is negative or not finite").into());
        }
        if number > 0.0 {
            *to = number;
        }
    }
    to.step_bytes = from.step_bytes;
    to.in_flight = or_default(from.in_flight, to.in_flight);
    let (least, most) = to.chunk_bytes;
    to.chunk_bytes = (or_default(from.least_bytes, least), or_default(from.most_bytes, most));
    Ok(to)
}
