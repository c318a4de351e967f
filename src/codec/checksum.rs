//! Checksums: 4 bytes behind the data, little-endian.
//!
//! crc32c is the CRC of RFC 3720 and Zarr's codec of that name. fletcher32 is HDF5's filter (H5checksum.c): the sums of
//! the bytes taken as big-endian words of 16 bits, an odd byte at the end as the high half of a word. HDF5 before 1.6.3
//! stored the bytes of each half the wrong way round on little-endian machines; such sums are accepted.
//!
//! A checksum is verified whenever all the data are there. If only a part of a chunk is read, it cannot be.

use std::ops::Range;

use super::contract::Codec;
use super::steps::Steps;
use crate::buffer::Buffer;
use crate::error::{ErrorKind, Result};

/// How long a checksum is.
const SUM: usize = 4;

/// A checksum's algorithm.
trait Sum: Send + Sync {
    const NAME: &'static str;

    fn of(data: &[u8]) -> u32;

    fn is_valid(stored: u32, data: &[u8]) -> bool {
        stored == Self::of(data)
    }
}

/// The codec crc32c.
#[cfg(feature = "crc32c")]
#[derive(Debug, Default, Clone, Copy)]
pub struct Crc32c;

#[cfg(feature = "crc32c")]
impl Sum for Crc32c {
    const NAME: &'static str = "crc32c";

    fn of(data: &[u8]) -> u32 {
        crc32c::crc32c(data)
    }
}

/// The codec fletcher32.
#[cfg(feature = "fletcher32")]
#[derive(Debug, Default, Clone, Copy)]
pub struct Fletcher32;

#[cfg(feature = "fletcher32")]
impl Sum for Fletcher32 {
    const NAME: &'static str = "fletcher32";

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
#[cfg(feature = "fletcher32")]
const LANES: usize = 8;

/// How many words a sum takes up without a carry out of 32 bits: `WORDS * (WORDS + 1) / 2 * 65535 < 2^32`.
#[cfg(feature = "fletcher32")]
const WORDS: usize = 360;

/// The second sum is that of the first sums after each word. So in a block of `n` words the word `i` counts `n - i`
/// times in it. With `i = LANES * c + l`, that is `LANES * (n / LANES - c) - l`, of which the first part is the same
/// kind of sum in each lane.
#[cfg(feature = "fletcher32")]
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

/// The data before a checksum, which is compared.
fn verified<S: Sum>(encoded: &[u8]) -> Result<&[u8]> {
    let corrupt = |reason| ErrorKind::Corrupt { codec: S::NAME, reason };
    let (data, sum) = encoded.split_last_chunk::<SUM>().ok_or(corrupt("there is no checksum"))?;
    if !S::is_valid(u32::from_le_bytes(*sum), data) {
        return Err(corrupt("the checksum does not match the data").into());
    }
    Ok(data)
}

/// Decodes with either checksum, in one step: all the data are there.
fn give<S: Sum>(encoded: &[u8], steps: &mut Steps<'_, '_>) -> Result<bool> {
    let is_verified = steps.is_to_end();
    steps.give(if is_verified { verified::<S>(encoded)? } else { &encoded[..encoded.len().saturating_sub(SUM)] })?;
    Ok(true)
}

/// Decodes with either checksum.
fn decode<S: Sum>(encoded: &[u8], needed: Range<usize>, decoded: &mut Buffer<'_>) -> Result<()> {
    let corrupt = |reason| ErrorKind::Corrupt { codec: S::NAME, reason };
    let capacity = decoded.capacity();
    let is_all = needed.start == 0 && needed.end >= capacity;
    // If only a part is needed the data may be all there nevertheless. What is before the part may be anything.
    let is_whole = is_all || (needed.start == 0 && encoded.len() >= capacity.saturating_add(SUM));
    let data = if is_whole {
        if encoded.len() > capacity.saturating_add(SUM) {
            return Err(ErrorKind::DecodedLength { found: None, expected: capacity }.into());
        }
        verified::<S>(encoded)?
    } else {
        encoded.get(..needed.end.min(capacity)).ok_or(corrupt("the data end early"))?
    };
    decoded.skip(if is_whole { 0 } else { needed.start.min(data.len()) });
    let begin = decoded.filled().len();
    decoded.write(&data[begin..]);
    Ok(())
}

/// Encodes with either checksum.
fn encode<S: Sum>(decoded: &[u8], encoded: &mut Buffer<'_>) -> Result<()> {
    if encoded.write(decoded) && encoded.write(&S::of(decoded).to_le_bytes()) {
        Ok(())
    } else {
        Err(ErrorKind::Encode { codec: S::NAME, reason: "there is no room for it" }.into())
    }
}

#[cfg(feature = "crc32c")]
impl Codec for Crc32c {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn encoded_bound(&self, decoded_size: usize) -> usize {
        decoded_size.saturating_add(SUM)
    }

    fn encoded_len(&self, decoded_size: usize) -> Option<usize> {
        decoded_size.checked_add(SUM)
    }

    fn needed_encoded(&self, needed: Range<usize>, _: usize) -> Range<usize> {
        needed
    }

    fn decoded_for(&self, _: Range<usize>) -> usize {
        0
    }

    fn decode(&self, encoded: &[u8], needed: Range<usize>, decoded: &mut Buffer<'_>) -> Result<()> {
        decode::<Self>(encoded, needed, decoded)
    }

    fn decode_in_steps(&self, encoded: &[u8], steps: &mut Steps<'_, '_>) -> Result<bool> {
        give::<Self>(encoded, steps)
    }

    fn says_too_little_room(&self) -> bool {
        true
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Buffer<'_>) -> Result<()> {
        encode::<Self>(decoded, encoded)
    }
}

#[cfg(feature = "fletcher32")]
impl Codec for Fletcher32 {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn encoded_bound(&self, decoded_size: usize) -> usize {
        decoded_size.saturating_add(SUM)
    }

    fn encoded_len(&self, decoded_size: usize) -> Option<usize> {
        decoded_size.checked_add(SUM)
    }

    fn needed_encoded(&self, needed: Range<usize>, _: usize) -> Range<usize> {
        needed
    }

    fn decoded_for(&self, _: Range<usize>) -> usize {
        0
    }

    fn decode(&self, encoded: &[u8], needed: Range<usize>, decoded: &mut Buffer<'_>) -> Result<()> {
        decode::<Self>(encoded, needed, decoded)
    }

    fn decode_in_steps(&self, encoded: &[u8], steps: &mut Steps<'_, '_>) -> Result<bool> {
        give::<Self>(encoded, steps)
    }

    fn says_too_little_room(&self) -> bool {
        true
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Buffer<'_>) -> Result<()> {
        encode::<Self>(decoded, encoded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sums as H5checksum.c adds them up.
    #[cfg(feature = "fletcher32")]
    fn slow(data: &[u8]) -> u32 {
        let fold = |sum: u32| (sum & 0xFFFF) + (sum >> 16);
        let (mut first, mut second) = (0, 0);
        for word in data.chunks(2) {
            first = fold(fold(first + (u32::from(word[0]) << 8 | u32::from(*word.get(1).unwrap_or(&0)))));
            second = fold(fold(second + first));
        }
        second << 16 | first
    }

    #[cfg(feature = "fletcher32")]
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

    #[cfg(feature = "fletcher32")]
    #[test]
    fn sums_of_old_hdf5_are_accepted() {
        use crate::codec::tests::decoded;
        for sum in [[0x02, 0x04, 0x04, 0x05], [0x04, 0x02, 0x05, 0x04]] {
            let stored = [&[1, 2, 3], &sum[..]].concat();
            assert_eq!(decoded(&Fletcher32, &stored, 0..3, 3).unwrap(), [1, 2, 3]);
        }
        assert!(decoded(&Fletcher32, &[1, 2, 3, 0x04, 0x05, 0x02, 0x04], 0..3, 3).is_err());
    }

    #[cfg(feature = "crc32c")]
    #[test]
    fn a_part_is_served_unverified_and_the_whole_verified() {
        use crate::codec::tests::{decoded, encoded};
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
