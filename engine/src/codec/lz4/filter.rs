//! lz4 as HDF5's filter 32004 stores it: the decoded size (8 bytes) and that of a block (4 bytes), then each block
//! behind its encoded size (4 bytes), all big-endian. A block whose encoded size is its own is stored as it is. It is
//! decoded only.
//!
//! The source is H5Zlz4.c.

use std::ops::Range;

use super::block::{self, NAME, corrupt};
use crate::buffer::Buffer;
use crate::codec::traits::{Codec, decoded_only, named};
use crate::error::{ErrorKind, Result};

/// The codec.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lz4Filter;

/// The first bytes as a number, and what follows.
fn number<const N: usize>(bytes: &[u8]) -> Result<([u8; N], &[u8])> {
    let (first, rest) = bytes.split_first_chunk().ok_or_else(|| corrupt("the data end early"))?;
    Ok((*first, rest))
}

impl Codec for Lz4Filter {
    named!(NAME, says_too_little_room);

    /// What blocks of one byte take.
    fn encoded_bound(&self, decoded_size: usize) -> usize {
        decoded_size.saturating_mul(5).saturating_add(12)
    }

    fn decode(&self, encoded: &[u8], needed: Range<usize>, decoded: &mut Buffer<'_>) -> Result<()> {
        let (size, rest) = number(encoded)?;
        let (block_size, mut rest) = number(rest)?;
        let (size, block_size) = (u64::from_be_bytes(size), u32::from_be_bytes(block_size) as usize);
        let expected = decoded.capacity();
        let size = usize::try_from(size).ok().filter(|size| *size <= expected);
        let size = size.ok_or(ErrorKind::DecodedLength { found: None, expected })?;
        if block_size == 0 && size > 0 {
            return Err(corrupt("its blocks are of no bytes"));
        }
        let least = size.min(needed.end);
        while decoded.filled().len() < least {
            let begin = decoded.filled().len();
            let len = block_size.min(size - begin);
            let (stored_len, behind) = number(rest)?;
            let block = behind.split_at_checked(u32::from_be_bytes(stored_len) as usize);
            let (block, behind) = block.ok_or_else(|| corrupt("the data end early"))?;
            rest = behind;
            if begin + len <= needed.start {
                decoded.skip(len);
            } else if block.len() == len {
                decoded.write(block);
            } else {
                let room = decoded.room().get_mut(..len).ok_or(ErrorKind::Internal)?;
                block::decode(block, room, false)?;
                // SAFETY: so many bytes behind those that were filled have been written.
                unsafe { decoded.set_filled(begin + len) };
            }
        }
        Ok(())
    }

    decoded_only!(NAME, "HDF5's filter is decoded only");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::testing::decoded;

    #[test]
    fn blocks_are_decoded_or_as_they_are() {
        // 8 zeros encoded, then 5 bytes as they are.
        let zeros = [0x12, 0, 1, 0];
        let stored = [&13u64.to_be_bytes()[..], &[0, 0, 0, 8, 0, 0, 0, 6], &zeros, &[0x10, 0], &[0, 0, 0, 5], b"abcde"];
        let (stored, due) = (stored.concat(), b"\0\0\0\0\0\0\0\0abcde");
        let found = decoded(&Lz4Filter, &stored, 0..13, 13);
        assert_eq!(found.unwrap(), due);
        assert_eq!(decoded(&Lz4Filter, &stored, 8..13, 13).unwrap()[8..], due[8..]);
        assert_eq!(decoded(&Lz4Filter, &stored[..22], 0..5, 13).unwrap(), due[..8]);
        for len in 0..stored.len() {
            assert!(decoded(&Lz4Filter, &stored[..len], 0..13, 13).is_err(), "{len}");
        }
        let kind = |stored: &[u8]| decoded(&Lz4Filter, stored, 0..12, 12).unwrap_err().kind();
        assert_eq!(kind(&stored), ErrorKind::DecodedLength { found: None, expected: 12 });
        assert!(matches!(kind(&[0, 0, 0, 0, 0, 0, 0, 12, 0, 0, 0, 0]), ErrorKind::Corrupt { .. }));
    }
}
