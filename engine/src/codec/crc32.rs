//! crc32, the CRC of zlib and gzip, as numcodecs has it.

use super::checksum::{self, Sum};
use super::definition::{Definition, Setting, Written};

pub(super) const CODECS: &[Definition] = &[Definition {
    v2: Crc32::NAME,
    v3: "numcodecs.crc32",
    is_compressor: false,
    settings: &[
        Setting::words("location", &["start", "end"], checksum::NO_PLACE).written(Written::IfSet, Written::IfSet)
    ],
    make: |settings, _, _| checksum::at::<Crc32>(settings.word("location")),
    ..Definition::DEFAULT
}];

#[derive(Default)]
pub(super) struct Crc32;

impl Sum for Crc32 {
    const NAME: &'static str = "crc32";

    fn of(data: &[u8]) -> u32 {
        crc32fast::hash(data)
    }
}
