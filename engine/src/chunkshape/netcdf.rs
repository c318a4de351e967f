use super::check;
use crate::error::{ErrorKind, Result};

/// The size netCDF-C aims at when it is built with its defaults: 16 MiB. It is netCDF-C's `DEFAULT_CHUNK_SIZE`.
pub const NETCDF_TARGET_BYTES: usize = 16_777_216;

/// The most elements a one-dimensional variable without a fixed length is given, before they are divided by their size.
const MAX_SINGLE_UNLIMITED: usize = 4096;

/// HDF5 stores the size of a chunk in 32 bits.
const MAX_CHUNK_BYTES: u64 = u32::MAX as u64;

/// netCDF-C's default chunk shape of a netCDF-4 variable.
///
/// With rank r, u unlimited dimensions, N the product of the fixed lengths, T the target and S the element size in
/// bytes:
///
/// 1. A fixed dimension gets its own length times `(T / (N S))^(1 / (r - u))`, less one half, cut to a whole number, at
///    least 1 and at most the dimension: all fixed dimensions shrink, or grow, by the same factor. An unlimited one
///    gets 1.
/// 2. If all are unlimited, each gets `(T / S)^(1 / r)`; if there is but one, `min(T / S, 4096) / S`. Again cut to
///    whole numbers of at least 1.
/// 3. While the chunk is above 4 GiB - 1 byte all lengths are halved.
/// 4. Where the last chunk reaches beyond its dimension, the excess is shared out: with n chunks in the dimension the
///    length is lowered by excess / n, cut to a whole number.
///
/// N is a 32-bit float and the power a 64-bit one, as in netCDF-C: that decides the last digit. The chunk may be
/// somewhat larger than T where step 1 stops at a dimension's length or at 1. Source: `nc4_find_default_chunksizes2` of
/// netCDF-C 4.10.1; 4.9.0 also multiplies N by S as 32-bit floats, which tells only if S is no power of 2. The power is
/// the C library's: MinGW's is less exact in threads other than the first one, so that a length may be another by 1.
///
/// - `dimlens`: in elements; 0 means unlimited and still without elements.
/// - `typesize`: S, in bytes.
/// - `target_bytes`: T, usually [`NETCDF_TARGET_BYTES`].
/// - `chunklens`: as long as `dimlens`; receives the chunk lengths, in elements. Untouched after an error.
///
/// Errors: [`ErrorKind::Rank`]; [`ErrorKind::Argument`] for an element of 0 bytes or above 4 GiB - 1.
///
/// ```
/// use nczchunk::chunkshape::{NETCDF_TARGET_BYTES, netcdf};
///
/// let mut chunklens = [0; 3];
/// netcdf(&[365, 721, 1440], 4, NETCDF_TARGET_BYTES, &mut chunklens)?;
/// assert_eq!(chunklens, [73, 145, 288]);
/// # Ok::<(), nczchunk::Error>(())
/// ```
pub fn netcdf(dimlens: &[usize], typesize: usize, target_bytes: usize, chunklens: &mut [usize]) -> Result<()> {
    check(dimlens, typesize, chunklens)?;
    if typesize as u64 > MAX_CHUNK_BYTES {
        return Err(ErrorKind::Argument("an element is larger than the largest chunk, 4 GiB - 1").into());
    }

    let rule = Rule::new(dimlens, typesize, target_bytes);
    for (chunklen, &dimlen) in chunklens.iter_mut().zip(dimlens) {
        *chunklen = rule.chunklen(dimlen).max(1);
    }
    // Ends: when every length has come down to 1 the chunk is one element, and that is small enough.
    while bytes(chunklens, typesize) > MAX_CHUNK_BYTES as f64 {
        for chunklen in chunklens.iter_mut() {
            *chunklen = (*chunklen / 2).max(1);
        }
    }
    for (chunklen, &dimlen) in chunklens.iter_mut().zip(dimlens) {
        *chunklen = without_excess(dimlen, *chunklen);
    }
    Ok(())
}

/// Steps 1 and 2: a dimension's chunk length follows from its own length and what is known of the whole variable.
enum Rule {
    /// The chunk length of every unlimited dimension, where there are no others.
    Unlimited { chunklen: usize },
    /// The factor for fixed dimensions, where there are any.
    Fixed { factor: f64 },
}

impl Rule {
    fn new(dimlens: &[usize], typesize: usize, target_bytes: usize) -> Self {
        let rank = dimlens.len();
        let fixed = dimlens.iter().filter(|&&dimlen| dimlen > 0);
        let (typesize_f, target_f) = (typesize as f64, target_bytes as f64);
        match fixed.clone().count() {
            0 if rank == 1 => {
                let elements = target_bytes.checked_div(typesize).unwrap_or(0);
                Rule::Unlimited { chunklen: elements.clamp(1, MAX_SINGLE_UNLIMITED).checked_div(typesize).unwrap_or(0) }
            }
            0 => Rule::Unlimited { chunklen: (target_f / typesize_f).powf(1.0 / rank as f64) as usize },
            nfixed => {
                let nelems: f32 = fixed.map(|&dimlen| dimlen as f32).product();
                Rule::Fixed { factor: (target_f / (f64::from(nelems) * typesize_f)).powf(1.0 / nfixed as f64) }
            }
        }
    }

    /// The chunk length, 0 where it should be 1. A cast from a float cuts to a whole number and stops at the type's
    /// ends.
    fn chunklen(&self, dimlen: usize) -> usize {
        match *self {
            Rule::Unlimited { chunklen } => chunklen,
            Rule::Fixed { .. } if dimlen == 0 => 1,
            Rule::Fixed { factor } => ((factor * dimlen as f64 - 0.5) as usize).min(dimlen),
        }
    }
}

/// The size of a chunk, as a float because it has no bound yet.
fn bytes(chunklens: &[usize], typesize: usize) -> f64 {
    chunklens.iter().fold(typesize as f64, |bytes, &chunklen| bytes * chunklen as f64)
}

/// Step 4. The excess is below `chunklen`, so that at least 1 remains.
fn without_excess(dimlen: usize, chunklen: usize) -> usize {
    let excess = match dimlen % chunklen {
        0 => 0,
        last => chunklen - last,
    };
    let nchunks = dimlen.div_ceil(chunklen);
    chunklen - excess.checked_div(nchunks).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status;

    fn shape(dimlens: &[usize], typesize: usize, target_bytes: usize) -> Vec<usize> {
        let mut chunklens = vec![0; dimlens.len()];
        netcdf(dimlens, typesize, target_bytes, &mut chunklens).unwrap();
        chunklens
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri's powers are inexact")]
    fn fixed_dimensions_shrink_in_proportion() {
        assert_eq!(shape(&[1000, 1000], 4, NETCDF_TARGET_BYTES), [1000, 1000]);
        assert_eq!(shape(&[8760, 721, 1440], 2, NETCDF_TARGET_BYTES), [797, 66, 131]);
        assert_eq!(shape(&[0, 50, 721, 1440], 4, NETCDF_TARGET_BYTES), [1, 17, 241, 480]);
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri's powers are inexact")]
    fn unlimited_dimensions_have_nothing_to_be_in_proportion_to() {
        assert_eq!(shape(&[0], 8, NETCDF_TARGET_BYTES), [512]);
        assert_eq!(shape(&[0], 8192, NETCDF_TARGET_BYTES), [1]);
        assert_eq!(shape(&[0, 0], 4, NETCDF_TARGET_BYTES), [2048, 2048]);
        // Tests run in threads, where MinGW's powers are inexact.
        if !cfg!(all(windows, target_env = "gnu")) {
            assert_eq!(shape(&[0, 0, 0], 8, NETCDF_TARGET_BYTES), [127, 127, 127]);
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri's powers are inexact")]
    fn a_chunk_stays_below_4_gib() {
        assert_eq!(shape(&[0, 0], 1, u32::MAX as usize), [65535, 65535]);
        #[cfg(target_pointer_width = "64")]
        assert_eq!(shape(&[0, 0], 1, 1 << 32), [32768, 32768]);
    }

    #[test]
    fn hostile_sizes_have_a_shape_too() {
        assert_eq!(shape(&[], 4, NETCDF_TARGET_BYTES), [0; 0]);
        assert_eq!(shape(&[usize::MAX; 1024], 1, NETCDF_TARGET_BYTES), [1; 1024]);
        assert_eq!(shape(&[0; 1024], u32::MAX as usize, 0), [1; 1024]);
        let huge = shape(&[usize::MAX], 1, usize::MAX);
        assert!(0 < huge[0] && huge[0] <= u32::MAX as usize);
    }

    #[test]
    fn what_has_no_shape() {
        let refused = |rank, typesize| {
            let mut chunklens = vec![7; rank];
            let error = netcdf(&vec![10; rank], typesize, NETCDF_TARGET_BYTES, &mut chunklens).unwrap_err();
            assert_eq!(chunklens, vec![7; rank]);
            error.status()
        };
        assert_eq!(refused(2, 0), status::EINVAL);
        #[cfg(target_pointer_width = "64")]
        assert_eq!(refused(2, usize::MAX), status::EINVAL);
        assert_eq!(refused(1025, 4), status::EMAXDIMS);
        assert_eq!(netcdf(&[10, 10], 4, 1000, &mut [0]).unwrap_err().status(), status::EINVAL);
    }
}
