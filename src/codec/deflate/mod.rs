//! gzip (RFC 1952) and zlib (RFC 1950): two wrappers round deflate (RFC 1951), decoded and encoded by zlib-rs.
//!
//! A chunk is one zlib stream, or one or more gzip members in a row. Checksums are verified when the end of a stream is
//! reached, so not if decoding stops early. What follows is judged as Python's modules and so numcodecs do: bytes
//! behind a zlib stream are passed over; behind a gzip member may be zeros, and then nothing but another member.
//!
//! The states of streams are kept between chunks.
#[cfg(feature = "gzip")]
mod gzip;
mod streams;
#[cfg(feature = "zlib")]
mod zlib;

#[cfg(feature = "gzip")]
pub use gzip::Gzip;
#[cfg(feature = "zlib")]
pub use zlib::Zlib;

#[cfg(all(test, feature = "gzip", feature = "zlib"))]
mod tests {
    use super::*;
    use crate::codec::Codec;
    use crate::codec::tests::{decoded, encoded};
    use crate::error::ErrorKind;

    pub(super) fn chunk() -> Vec<u8> {
        (0..100_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 29) as u8).collect()
    }

    #[test]
    fn the_bound_is_nine_bits_a_byte() {
        for codec in [&Zlib::default() as &dyn Codec, &Gzip::default()] {
            assert_eq!((codec.encoded_bound(80_000), codec.encoded_bound(usize::MAX)), (91_024, usize::MAX));
        }
    }

    #[test]
    pub(super) fn levels_come_back_and_decoding_stops_early() {
        let chunk = chunk();
        for level in 0..=9 {
            let codecs: [&dyn Codec; 2] = [&Zlib::new(level), &Gzip::new(level)];
            for codec in codecs {
                let stored = encoded(codec, &chunk);
                assert!(level == 0 || stored.len() < chunk.len() / 2);
                // The second time the state is one that was used before.
                for _ in 0..2 {
                    assert_eq!(decoded(codec, &stored, 0..chunk.len(), chunk.len()).unwrap(), chunk);
                }
                assert_eq!(decoded(codec, &stored[..stored.len() / 2], 0..1000, chunk.len()).unwrap(), chunk[..1000]);
                let least = chunk.len() - 1;
                let kind = decoded(codec, &stored, 0..least, least).unwrap_err().kind();
                assert_eq!(kind, ErrorKind::DecodedLength { found: None, expected: least });
            }
        }
    }

    #[test]
    pub(super) fn the_wrong_wrapper_is_named() {
        let reason = |codec: &dyn Codec, stored: &[u8]| match decoded(codec, stored, 0..3, 3).unwrap_err().kind() {
            ErrorKind::Corrupt { reason, .. } => reason,
            kind => panic!("{kind}"),
        };
        let (gzip, zlib) = (Gzip::default(), Zlib::default());
        assert_eq!(reason(&gzip, &encoded(&zlib, b"abc")), "this is zlib data, not gzip");
        assert_eq!(reason(&zlib, &encoded(&gzip, b"abc")), "this is gzip data, not zlib");
        assert_eq!(reason(&gzip, &[0x78, 0x02, 0, 0]), "there is no gzip header");
        assert_eq!(reason(&zlib, &[0x78, 0x20, 1, 2, 3, 4, 0, 0]), "it needs a dictionary");
        let mut spoilt = encoded(&zlib, b"abc");
        *spoilt.last_mut().unwrap() ^= 1;
        assert_eq!(reason(&zlib, &spoilt), "incorrect data check");
        assert_eq!(decoded(&zlib, &[&encoded(&zlib, b"abc")[..], b"xyz"].concat(), 0..3, 3).unwrap(), b"abc");
    }
}
