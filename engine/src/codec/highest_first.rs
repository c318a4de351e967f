//! Numbers of any bits, one behind the other, each with its highest bit first, as HDF5's filters pack them.

/// Bits that are still to be read.
#[derive(Debug, Clone)]
pub(super) struct HighestFirst<'b> {
    bytes: &'b [u8],
    /// How many bits have been read.
    at: usize,
}

impl<'b> HighestFirst<'b> {
    /// The bits from this one on; `None` if there are none that could be counted.
    pub(super) fn new(bytes: &'b [u8], at: usize) -> Option<Self> {
        bytes.len().checked_mul(8).filter(|bits| at <= *bits).map(|_| HighestFirst { bytes, at })
    }

    /// How many zeros come before the next one, which is passed, too; `None` if there is none.
    #[inline]
    #[allow(dead_code, reason = "codecs use it that can be left out")]
    pub(super) fn zeros(&mut self) -> Option<u64> {
        let begin = self.at;
        loop {
            let (first, skipped) = (self.at / 8, (self.at % 8) as u32);
            let rest = self.bytes.get(first..)?;
            let word = match rest.first_chunk::<8>() {
                Some(word) => u64::from_be_bytes(*word),
                None => rest.iter().enumerate().fold(0, |word, (i, byte)| word | u64::from(*byte) << (56 - 8 * i)),
            } << skipped;
            if word != 0 {
                self.at += word.leading_zeros() as usize + 1;
                return Some((self.at - begin) as u64 - 1);
            }
            self.at += 8 * rest.len().min(8) - skipped as usize;
            if rest.len() <= 8 {
                return None;
            }
        }
    }

    /// The number that the next bits are, up to 64; `None` if there are fewer.
    #[inline]
    pub(super) fn take(&mut self, bits: u32) -> Option<u64> {
        let (first, skipped) = (self.at / 8, (self.at % 8) as u32);
        let end = self.at.checked_add(bits as usize)?;
        let number = match self.bytes.get(first..).and_then(|rest| rest.first_chunk::<8>()) {
            Some(word) if skipped + bits <= 64 => (u64::from_be_bytes(*word) << skipped).checked_shr(64 - bits),
            _ => {
                let bytes = self.bytes.get(first..end.div_ceil(8))?;
                let all = bytes.iter().fold(0u128, |all, byte| all << 8 | u128::from(*byte));
                Some((all >> (8 * bytes.len() - skipped as usize - bits as usize)) as u64 & mask(bits))
            }
        };
        self.at = end;
        // No bits are 0, by which alone a word cannot be shifted.
        Some(number.unwrap_or(0))
    }
}

/// The largest number of so many bits, at most 64.
pub(super) fn mask(bits: u32) -> u64 {
    u64::MAX.checked_shr(64 - bits).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_the_bits_that_follow() {
        let bytes: Vec<u8> = (0..40u8).map(|i| i.wrapping_mul(73) ^ 0x5a).collect();
        let bit = |at: usize| u64::from(bytes[at / 8] >> (7 - at % 8) & 1);
        for bits in [0, 1, 3, 7, 8, 9, 13, 31, 57, 63, 64] {
            for begin in 0..9 {
                let (mut read, mut at) = (HighestFirst::new(&bytes, begin).unwrap(), begin);
                while at + bits as usize <= 8 * bytes.len() && at < 300 {
                    let due = (at..at + bits as usize).fold(0, |number, at| number << 1 | bit(at));
                    assert_eq!(read.take(bits), Some(due), "{bits} from {at}");
                    at += bits.max(1) as usize;
                    read.at = at;
                }
                read.at = 8 * bytes.len();
                assert_eq!(read.take(bits), (bits == 0).then_some(0));
            }
        }
        assert!(HighestFirst::new(&bytes, 8 * bytes.len() + 1).is_none());
    }

    #[test]
    fn zeros_are_counted_up_to_the_next_one() {
        for len in 0..40 {
            for one in 0..8 * len {
                let mut bytes = vec![0; len];
                bytes[one / 8] = 0x80 >> (one % 8);
                for begin in 0..=one {
                    let mut read = HighestFirst::new(&bytes, begin).unwrap();
                    assert_eq!(read.zeros(), Some((one - begin) as u64));
                    assert_eq!((read.at, read.zeros()), (one + 1, None));
                }
            }
        }
    }
}
