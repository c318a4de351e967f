//! crc32c, the CRC of RFC 3720, which Zarr has as a codec.

use super::checksum::{self, Sum};
use super::definition::{Definition, Setting, Written};

pub(super) const CODECS: &[Definition] = &[Definition {
    v2: Crc32c::NAME,
    v3: Crc32c::NAME,
    is_compressor: false,
    settings: &[
        Setting::words("location", &["end", "start"], checksum::NO_PLACE).written(Written::IfSet, Written::IfSet)
    ],
    make: |settings, _, _| checksum::at::<Crc32c>(settings.word("location")),
    ..Definition::DEFAULT
}];

/// The codec crc32c.
#[derive(Debug, Default, Clone, Copy)]
pub struct Crc32c;

impl Sum for Crc32c {
    const NAME: &'static str = "crc32c";

    fn of(data: &[u8]) -> u32 {
        ::crc32c::crc32c(data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::testing::{decoded, encoded};

    #[test]
    fn a_part_is_served_unverified_and_the_whole_verified() {
        let chunk: Vec<u8> = (0..50).collect();
        let mut stored = encoded(&Crc32c, &chunk);
        assert_eq!(decoded(&Crc32c, &stored[..20], 10..20, 50).unwrap()[10..], chunk[10..20]);
        assert_eq!(decoded(&Crc32c, &stored, 0..20, 50).unwrap()[..20], chunk[..20]);
        stored[49] ^= 1;
        assert_eq!(decoded(&Crc32c, &stored[..20], 0..20, 50).unwrap(), chunk[..20]);
        assert!(decoded(&Crc32c, &stored, 0..50, 50).is_err());
        assert!(decoded(&Crc32c, &stored, 0..20, 50).is_err());
        assert!(decoded(&Crc32c, &stored[..19], 0..20, 50).is_err());
    }
}
