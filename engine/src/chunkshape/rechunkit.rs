use super::check;
use crate::error::{Error, ErrorKind, Result};

/// The size rechunkit aims at unless told otherwise: 2 MiB.
pub const RECHUNKIT_TARGET_BYTES: usize = 1 << 21;

/// The lengths rechunkit cuts to, ascending. Most have more divisors than any smaller number.
const COMPOSITES: [usize; 41] = [
    1, 2, 4, 6, 12, 24, 36, 48, 60, 120, 180, 240, 360, 720, 840, 1260, 1680, 2520, 5040, 7560, 10080, 15120, 20160,
    25200, 27720, 45360, 50400, 55440, 83160, 110880, 166320, 221760, 277200, 332640, 498960, 554400, 665280, 720720,
    1081080, 1441440, 2162160,
];

/// rechunkit's guess of a chunk shape, which is cfdb's default.
///
/// The chunk is the whole variable at first. While it takes more than one and a half times the target, the dimensions
/// are shortened in turn, the first one first: each time to the greatest of a list of highly composite numbers that is
/// at most half the present length less 1, or to 1 where there is none. A variable that is small enough keeps its
/// lengths, composite or not. Source: `guess_chunk_shape` of rechunkit 0.6.0.
///
/// - `dimlens`: in elements, at least 1 each.
/// - `typesize`: the size of an element, in bytes.
/// - `target_bytes`: usually [`RECHUNKIT_TARGET_BYTES`].
/// - `chunklens`: as long as `dimlens`; receives the chunk lengths, in elements. Untouched after an error.
///
/// Errors: [`ErrorKind::Rank`]; [`ErrorKind::Argument`] for an element of 0 bytes; [`ErrorKind::DimensionLength`] for a
/// length of 0: rechunkit has no unlimited dimensions.
///
/// ```
/// use nczchunk::chunkshape::{RECHUNKIT_TARGET_BYTES, rechunkit};
///
/// let mut chunklens = [0; 3];
/// rechunkit(&[365, 721, 1440], 4, RECHUNKIT_TARGET_BYTES, &mut chunklens)?;
/// assert_eq!(chunklens, [60, 60, 120]);
/// # Ok::<(), nczchunk::Error>(())
/// ```
pub fn rechunkit(dimlens: &[usize], typesize: usize, target_bytes: usize, chunklens: &mut [usize]) -> Result<()> {
    check(dimlens, typesize, chunklens)?;
    if let Some(d) = dimlens.iter().position(|&dimlen| dimlen == 0) {
        return Err(Error::from(ErrorKind::DimensionLength(0)).in_dimension(d));
    }

    // rechunkit multiplies as floats, so that a target above 2^53 is rounded. The product of integers has no bound
    // there.
    let most_bytes = (target_bytes as f64 * 1.5) as u128;
    let rank = dimlens.len();
    let mut turns = (0..rank).cycle();
    chunklens.copy_from_slice(dimlens);
    while !fits(chunklens, typesize, most_bytes) {
        let Some(d) = turns.by_ref().take(rank).find(|&d| chunklens[d] > 1) else {
            break;
        };
        chunklens[d] = shorter(chunklens[d]);
    }
    Ok(())
}

/// Whether a chunk takes at most so many bytes. No length is 0, so that a product once above the bound stays there.
fn fits(chunklens: &[usize], typesize: usize, most_bytes: u128) -> bool {
    let within = |bytes: &u128| *bytes <= most_bytes;
    chunklens
        .iter()
        .try_fold(typesize as u128, |bytes, &chunklen| bytes.checked_mul(chunklen as u128).filter(within))
        .is_some_and(|bytes| within(&bytes))
}

/// The greatest composite number at most half of `len` less 1.
fn shorter(len: usize) -> usize {
    let most = (len / 2).saturating_sub(1);
    COMPOSITES.iter().rev().copied().find(|&composite| composite <= most).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status;

    fn shape(dimlens: &[usize], typesize: usize, target_bytes: usize) -> Vec<usize> {
        let mut chunklens = vec![0; dimlens.len()];
        rechunkit(dimlens, typesize, target_bytes, &mut chunklens).unwrap();
        chunklens
    }

    #[test]
    fn up_to_one_and_a_half_targets_a_variable_is_one_chunk() {
        assert_eq!(shape(&[786_432], 4, RECHUNKIT_TARGET_BYTES), [786_432]);
        assert_eq!(shape(&[786_433], 4, RECHUNKIT_TARGET_BYTES), [332_640]);
    }

    #[test]
    fn dimensions_are_shortened_in_turn() {
        assert_eq!(shape(&[1000, 1000], 8, RECHUNKIT_TARGET_BYTES), [360, 1000]);
        assert_eq!(shape(&[100_000, 3, 3], 8, RECHUNKIT_TARGET_BYTES), [45_360, 1, 3]);
    }

    #[test]
    fn hostile_sizes_have_a_shape_too() {
        assert_eq!(shape(&[], 8, RECHUNKIT_TARGET_BYTES), [0; 0]);
        assert_eq!(shape(&[1000, 1000], usize::MAX, 0), [1, 1]);
        assert!(shape(&[usize::MAX; 100], 8, RECHUNKIT_TARGET_BYTES).iter().all(|&chunklen| chunklen <= 4));
    }

    #[test]
    fn what_has_no_shape() {
        let refused = |dimlens: &[usize], typesize| {
            let mut chunklens = vec![7; dimlens.len()];
            let error = rechunkit(dimlens, typesize, RECHUNKIT_TARGET_BYTES, &mut chunklens).unwrap_err();
            assert_eq!(chunklens, vec![7; dimlens.len()]);
            (error.status(), error.dimension())
        };
        assert_eq!(refused(&[10, 0], 4), (status::EDIMSIZE, Some(1)));
        assert_eq!(refused(&[10, 10], 0), (status::EINVAL, None));
        assert_eq!(refused(&[10; 1025], 4), (status::EMAXDIMS, None));
    }
}
