//! fletcher32, HDF5's filter (H5checksum.c): the sums of the bytes taken as big-endian words of 16 bits, an odd byte at
//! the end as the high half of a word. HDF5 before 1.6.3 stored the bytes of each half the wrong way round on
//! little-endian machines; such sums are accepted.

use super::checksum::Sum;
use super::definition::{Definition, boxed};

pub(super) const CODECS: &[Definition] = &[Definition {
    v2: Fletcher32::NAME,
    v3: "numcodecs.fletcher32",
    is_compressor: false,
    is_netcdfs: |_, _| true,
    make: |_, _, _| boxed(Fletcher32),
    filter: Some((3, |_| boxed(Fletcher32).map(Some))),
    ..Definition::DEFAULT
}];

/// The codec fletcher32.
#[derive(Debug, Default, Clone, Copy)]
pub struct Fletcher32;

impl Sum for Fletcher32 {
    const NAME: &'static str = "fletcher32";
    const IS_NUMCODECS: bool = true;

    fn of(data: &[u8]) -> u32 {
        fletcher32(data)
    }

    fn is_valid(stored: u32, data: &[u8]) -> bool {
        let sum = Self::of(data);
        let [a, b, c, d] = sum.to_le_bytes();
        stored == sum || stored == u32::from_le_bytes([b, a, d, c])
    }
}

/// How many sums are added up side by side, each of every `LANES`-th word.
const LANES: usize = 8;

/// How many words a sum takes up without a carry out of 32 bits: `WORDS * (WORDS + 1) / 2 * 65535 < 2^32`.
const WORDS: usize = 360;

/// The second sum is that of the first sums after each word. So in a block of `n` words the word `i` counts `n - i`
/// times in it. With `i = LANES * c + l`, that is `LANES * (n / LANES - c) - l`, of which the first part is the same
/// kind of sum in each lane.
fn fletcher32(data: &[u8]) -> u32 {
    /// The end-around carry: the sum modulo 65535, where only a sum of 0 gives 0.
    fn folded(sum: u64) -> u64 {
        if sum == 0 { 0 } else { (sum - 1) % 0xFFFF + 1 }
    }
    let (mut first, mut second) = (0, 0);
    let mut rows = data.chunks_exact(2 * LANES);
    loop {
        let (mut plain, mut summed, mut count) = ([0u32; LANES], [0u32; LANES], 0);
        for row in rows.by_ref().take(WORDS) {
            for l in 0..LANES {
                plain[l] += u32::from(u16::from_be_bytes([row[2 * l], row[2 * l + 1]]));
                summed[l] += plain[l];
            }
            count += 1;
        }
        if count == 0 {
            break;
        }
        let lanes = LANES as u64;
        let weighted: u64 =
            (0..).zip(plain).zip(summed).map(|((l, p), s)| lanes * u64::from(s) - l * u64::from(p)).sum();
        second = folded(second + count * lanes * first + weighted);
        first = folded(first + plain.into_iter().map(u64::from).sum::<u64>());
    }
    for word in rows.remainder().chunks(2) {
        let word = u16::from_be_bytes([word[0], word.get(1).copied().unwrap_or(0)]);
        first = folded(first + u64::from(word));
        second = folded(second + first);
    }
    // Neither has more than 16 bits.
    (second * 0x1_0000 + first) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::testing::decoded;

    /// The sums as H5checksum.c adds them up.
    fn slow(data: &[u8]) -> u32 {
        let fold = |sum: u32| (sum & 0xFFFF) + (sum >> 16);
        let (mut first, mut second) = (0, 0);
        for word in data.chunks(2) {
            first = fold(fold(first + (u32::from(word[0]) << 8 | u32::from(*word.get(1).unwrap_or(&0)))));
            second = fold(fold(second + first));
        }
        second << 16 | first
    }

    #[test]
    fn fletcher32_is_that_of_hdf5() {
        // The values are numcodecs'.
        assert_eq!(fletcher32(&[1, 2, 3]).to_le_bytes(), [0x02, 0x04, 0x04, 0x05]);
        assert_eq!(fletcher32(&[1, 2, 3, 4, 5, 6, 7, 8]).to_le_bytes(), [0x14, 0x10, 0x28, 0x1E]);
        let random: Vec<u8> = (0..20_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        for len in (0..20).chain(700..740).chain([1440, 4999, 5000, 5759, 5760, 5761, 11_523, 20_000]) {
            assert_eq!(fletcher32(&random[..len]), slow(&random[..len]), "{len}");
            assert_eq!(fletcher32(&vec![255; len]), slow(&vec![255; len]), "{len}");
        }
    }

    #[test]
    fn sums_of_old_hdf5_are_accepted() {
        for sum in [[0x02, 0x04, 0x04, 0x05], [0x04, 0x02, 0x05, 0x04]] {
            let stored = [&[1, 2, 3], &sum[..]].concat();
            assert_eq!(decoded(&Fletcher32, &stored, 0..3, 3).unwrap(), [1, 2, 3]);
        }
        assert!(decoded(&Fletcher32, &[1, 2, 3, 0x04, 0x05, 0x02, 0x04], 0..3, 3).is_err());
    }
}
