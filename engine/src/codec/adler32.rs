//! adler32, the sum of zlib (RFC 1950), as numcodecs has it.

use super::checksum::{self, Sum};
use super::definition::{Definition, Setting, Written};

pub(super) const CODECS: &[Definition] = &[Definition {
    v2: Adler32::NAME,
    v3: "numcodecs.adler32",
    is_compressor: false,
    settings: &[
        Setting::words("location", &["start", "end"], checksum::NO_PLACE).written(Written::IfSet, Written::IfSet)
    ],
    make: |settings, _, _| checksum::at::<Adler32>(settings.word("location")),
    ..Definition::DEFAULT
}];

#[derive(Default)]
pub(super) struct Adler32;

impl Sum for Adler32 {
    const NAME: &'static str = "adler32";

    fn of(data: &[u8]) -> u32 {
        const MODULUS: u32 = 65_521;
        // So many bytes can be added up without a carry out of 32 bits (RFC 1950, NMAX).
        const MOST: usize = 5552;
        let (mut first, mut second) = (1, 0);
        for part in data.chunks(MOST) {
            for byte in part {
                first += u32::from(*byte);
                second += first;
            }
            (first, second) = (first % MODULUS, second % MODULUS);
        }
        second << 16 | first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sums are Python's.
    #[test]
    fn the_sum_is_that_of_zlib() {
        assert_eq!((Adler32::of(b""), Adler32::of(b"Wikipedia")), (1, 0x11e6_0398));
        assert_eq!(Adler32::of(&[255; 100_000]), 0x149a_302c);
    }
}
