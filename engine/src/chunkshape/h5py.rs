use super::check;
use crate::error::Result;

/// What h5py takes an unlimited dimension without elements for.
const UNLIMITED: usize = 1024;

/// The target of a variable of 1 MiB, and the least and the most that a target may be, in bytes.
const BASE: f64 = 16_384.0;
const LEAST: f64 = 8_192.0;
const MOST: f64 = 1_048_576.0;

/// h5py's guess of a chunk shape, for a dataset that gets a filter or may grow and has no chunk shape of its own. HDF5
/// itself has no default: a program must say how a dataset is cut.
///
/// The target is `16 KiB * 2^log10(bytes of the variable / 1 MiB)`, at least 8 KiB and at most 1 MiB. The chunk is the
/// whole variable at first. Its dimensions are halved in turn, the first one first, lengths being rounded up, until the
/// chunk is smaller than the target, or not half as large again, and below 1 MiB; or is a single element. Source:
/// `guess_chunk` of h5py 3.16.0.
///
/// - `dimlens`: in elements; 0 means unlimited and still without elements, for which h5py takes 1024.
/// - `typesize`: the size of an element, in bytes.
/// - `chunklens`: as long as `dimlens`; receives the chunk lengths, in elements. Untouched after an error.
///
/// Errors: [`ErrorKind::Rank`]; [`ErrorKind::Argument`] for an element of 0 bytes.
///
/// [`ErrorKind::Rank`]: crate::error::ErrorKind::Rank
/// [`ErrorKind::Argument`]: crate::error::ErrorKind::Argument
///
/// ```
/// use nczchunk::chunkshape::h5py;
///
/// let mut chunklens = [0; 3];
/// h5py(&[365, 721, 1440], 4, &mut chunklens)?;
/// assert_eq!(chunklens, [12, 46, 90]);
/// # Ok::<(), nczchunk::Error>(())
/// ```
pub fn h5py(dimlens: &[usize], typesize: usize, chunklens: &mut [usize]) -> Result<()> {
    check(dimlens, typesize, chunklens)?;
    for (chunklen, &dimlen) in chunklens.iter_mut().zip(dimlens) {
        *chunklen = if dimlen == 0 { UNLIMITED } else { dimlen };
    }
    // As h5py does, in floats: the product of integers has no bound.
    let elements = |lens: &[usize]| lens.iter().fold(1.0, |elements, &len| elements * len as f64);
    let target = (BASE * 2f64.powf((elements(chunklens) * typesize as f64 / MOST).log10())).clamp(LEAST, MOST);
    for d in (0..chunklens.len()).cycle() {
        let elements = elements(chunklens);
        let bytes = elements * typesize as f64;
        if (bytes < 1.5 * target && bytes < MOST) || elements == 1.0 {
            break;
        }
        chunklens[d] = (chunklens[d] as f64 / 2.0).ceil() as usize;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status;

    fn shape(dimlens: &[usize], typesize: usize) -> Vec<usize> {
        let mut chunklens = vec![0; dimlens.len()];
        h5py(dimlens, typesize, &mut chunklens).unwrap();
        chunklens
    }

    #[test]
    fn dimensions_are_halved_in_turn() {
        // Within the target, which is 8 KiB here.
        assert_eq!(shape(&[3000], 4), [3000]);
        assert_eq!(shape(&[3072], 4), [1536]);
        assert_eq!(shape(&[1000, 1000], 8), [63, 63]);
        assert_eq!(shape(&[0, 1000], 8), [64, 63]);
    }

    #[test]
    fn hostile_sizes_have_a_shape_too() {
        assert_eq!(shape(&[], 4), [0; 0]);
        assert_eq!(shape(&[5, 5], usize::MAX), [1, 1]);
        assert_eq!(shape(&[usize::MAX; 20], usize::MAX), [1; 20]);
        assert!(shape(&[usize::MAX], 1)[0] < 1 << 20);
    }

    #[test]
    fn what_has_no_shape() {
        let refused = |rank, typesize| {
            let mut chunklens = vec![7; rank];
            let error = h5py(&vec![10; rank], typesize, &mut chunklens).unwrap_err();
            assert_eq!(chunklens, vec![7; rank]);
            error.status()
        };
        assert_eq!(refused(2, 0), status::EINVAL);
        assert_eq!(refused(1025, 4), status::EMAXDIMS);
    }
}
