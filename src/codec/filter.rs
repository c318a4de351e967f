//! HDF5's filters by their numbers, with the parameters that nc_def_var_filter takes.

#[cfg(feature = "blosc")]
use super::blosc::{Blosc, BloscShuffle};
#[cfg(feature = "fletcher32")]
use super::checksum::Fletcher32;
use super::contract::Codec;
#[cfg(feature = "zlib")]
use super::deflate::Zlib;
#[cfg(feature = "shuffle")]
use super::shuffle::Shuffle;
#[cfg(feature = "zstd")]
use super::zstd::Zstd;
use crate::error::{Error, ErrorKind, Result};

/// The codec of a filter. It decodes nothing that the filter refuses.
pub(crate) fn of_filter(filter: u32, parameters: &[u32]) -> Result<Box<dyn Codec>> {
    let name = match (filter, parameters) {
        (1, [0..=9]) => "zlib",
        (2, [1..=u32::MAX]) => "shuffle",
        (3, _) => "fletcher32",
        (32001, [_, _, _, _, 0..=9, 0..=2, 0..=5]) => "blosc",
        (32015, [_]) => "zstd",
        (1 | 2 | 32001 | 32015, _) => {
            return Err(ErrorKind::Argument("parameters that the filter does not take").into());
        }
        _ => return Err(ErrorKind::Codec("the library has no such filter").into()),
    };
    match name {
        #[cfg(feature = "zlib")]
        "zlib" => boxed(Zlib::new(parameters[0])),
        #[cfg(feature = "shuffle")]
        "shuffle" => boxed(Shuffle::new(parameters[0] as usize)),
        #[cfg(feature = "fletcher32")]
        "fletcher32" => boxed(Fletcher32),
        #[cfg(feature = "blosc")]
        "blosc" => boxed(blosc(parameters)),
        #[cfg(feature = "zstd")]
        "zstd" => boxed(Zstd::new(parameters[0] as i32, true).of_known_size()),
        _ => Err(not_built_in(name)),
    }
}

/// What is said of a codec that the library can be built with, and was not.
pub(crate) fn not_built_in(name: &str) -> Error {
    Error::from(ErrorKind::Codec("the library was built without it")).in_object(name)
}

#[cfg(any(feature = "blosc", feature = "fletcher32", feature = "shuffle", feature = "zlib", feature = "zstd"))]
fn boxed(codec: impl Codec + 'static) -> Result<Box<dyn Codec>> {
    Ok(crate::alloc::try_box(codec)?)
}

/// The source is H5Zblosc.c and blosc.h.
#[cfg(feature = "blosc")]
fn blosc(parameters: &[u32]) -> Blosc {
    let shuffle = [BloscShuffle::None, BloscShuffle::Byte, BloscShuffle::Bit][parameters[5] as usize];
    let name = ["blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"][parameters[6] as usize];
    Blosc::new(name, parameters[4] as u8, shuffle, parameters[2] as usize, 0)
}

#[cfg(all(test, feature = "blosc", feature = "fletcher32", feature = "shuffle", feature = "zlib", feature = "zstd"))]
mod tests {
    use super::*;
    use crate::codec::tests::{decoded, encoded};

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
            assert_eq!(kind, ErrorKind::Argument("parameters that the filter does not take"), "{filter}");
        }
        let kind = of_filter(4, &[]).err().unwrap().kind();
        assert_eq!(kind, ErrorKind::Codec("the library has no such filter"));
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
        assert_eq!(kind, ErrorKind::Corrupt { codec: "zstd", reason: "the frame does not say its size" });
    }
}
