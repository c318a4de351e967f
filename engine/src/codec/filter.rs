//! HDF5's filters by their numbers, with the parameters that nc_def_var_filter takes.

use super::definition::Definition;
use super::traits::Codec;
use crate::error::{ErrorKind, Result};

/// The codec among these that is a filter. It decodes nothing that the filter refuses.
pub(super) fn of_filter(
    mut codecs: impl Iterator<Item = &'static Definition>,
    number: u32,
    parameters: &[u32],
) -> Result<Box<dyn Codec>> {
    let make = codecs.find_map(|codec| codec.filter.filter(|(of_codec, _)| *of_codec == number).map(|(_, make)| make));
    let make = make.ok_or(ErrorKind::Codec("this build does not include the filter"))?;
    Ok(make(parameters)?.ok_or(ErrorKind::Argument("the filter's parameters are invalid"))?)
}

#[cfg(all(test, feature = "default"))]
mod tests {
    use super::*;
    use crate::codec::of_filter;
    use crate::codec::public::Zstd;
    use crate::codec::testing::{decoded, encoded};

    #[test]
    fn filters_come_back() {
        let chunk: Vec<u8> = (0..4000u32).flat_map(|i| (i / 7).to_le_bytes()).collect();
        let filters: [(u32, &[u32]); 5] =
            [(1, &[6]), (2, &[4]), (3, &[]), (32001, &[2, 2, 4, 0, 5, 1, 5]), (32015, &[3])];
        for (filter, parameters) in filters {
            let codec = of_filter(filter, parameters).unwrap();
            let stored = encoded(&*codec, &chunk);
            assert_ne!(stored, chunk, "{filter}");
            assert_eq!(decoded(&*codec, &stored, 0..chunk.len(), chunk.len()).unwrap(), chunk, "{filter}");
        }
    }

    /// The flags and the type size in a chunk's header.
    #[test]
    fn blosc_has_the_parameters_of_its_filter() {
        let header = |parameters: &[u32]| {
            let stored = encoded(&*of_filter(32001, parameters).unwrap(), &[7; 4000]);
            [stored[2], stored[3]]
        };
        assert_eq!(header(&[2, 2, 4, 0, 5, 1, 5]), [4 << 5 | 1 << 4 | 1, 4]);
        assert_eq!(header(&[2, 2, 8, 0, 1, 2, 1]), [1 << 5 | 1 << 4 | 1 << 2, 8]);
        assert_eq!(header(&[2, 2, 2, 0, 5, 0, 4]), [3 << 5 | 1 << 4, 2]);
        assert_eq!(header(&[2, 2, 2, 0, 0, 0, 1]), [1 << 5 | 1 << 4 | 1 << 1, 2]);
    }

    #[test]
    fn other_parameters_and_filters_are_refused() {
        let refused: [(u32, &[u32]); 8] = [
            (1, &[]),
            (1, &[10]),
            (2, &[]),
            (2, &[0]),
            (32001, &[2, 2, 4, 0, 5, 1, 6]),
            (32001, &[2, 2]),
            (32015, &[]),
            (32015, &[1, 2]),
        ];
        for (filter, parameters) in refused {
            let kind = of_filter(filter, parameters).err().unwrap().kind();
            assert_eq!(kind, ErrorKind::Argument("the filter's parameters are invalid"), "{filter}");
        }
        let kind = of_filter(305, &[]).err().unwrap().kind();
        assert_eq!(kind, ErrorKind::Codec("this build does not include the filter"));
    }

    /// What H5Zzstd.c refuses: it asks the first frame for the size of all.
    #[test]
    fn zstd_is_one_frame_that_says_its_size() {
        let codec = of_filter(32015, &[3]).unwrap();
        let (one, other) = (encoded(&*codec, b"one"), encoded(&*codec, b"other"));
        let several = [&one[..], &other].concat();
        let skipped = [&[0x50, 0x2A, 0x4D, 0x18, 0, 0, 0, 0], &one[..]].concat();
        // Its header has a window and no size, and its one block is raw and the last.
        let unsized_frame = [0x28, 0xB5, 0x2F, 0xFD, 0, 0, 3 << 3 | 1, 0, 0, b'o', b'n', b'e'];
        let refused: [(&[u8], usize); 3] = [(&several, 8), (&skipped, 3), (&unsized_frame, 3)];
        for (stored, size) in refused {
            assert!(decoded(&Zstd::default(), stored, 0..size, size).is_ok());
            assert!(decoded(&*codec, stored, 0..size, size).is_err());
        }
        assert_eq!(decoded(&*codec, &one, 0..3, 3).unwrap(), b"one");
        let kind = decoded(&*codec, b"no frame", 0..3, 3).unwrap_err().kind();
        assert_eq!(kind, ErrorKind::Corrupt { codec: "zstd", reason: "the frame does not record its decoded size" });
    }
}
