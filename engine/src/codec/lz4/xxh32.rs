//! The checksum XXH32 with seed 0. The source is xxhash_spec.md of xxHash.

const PRIMES: [u32; 5] = [0x9E37_79B1, 0x85EB_CA77, 0xC2B2_AE3D, 0x27D4_EB2F, 0x1656_67B1];

/// The checksum of some bytes.
pub(super) fn xxh32(bytes: &[u8]) -> u32 {
    let [p1, p2, p3, p4, p5] = PRIMES;
    let stripes = bytes.chunks_exact(16);
    let words = stripes.remainder().chunks_exact(4);
    let mut hash = if bytes.len() < 16 {
        p5
    } else {
        let mut lanes = [p1.wrapping_add(p2), p2, 0, 0u32.wrapping_sub(p1)];
        for stripe in stripes {
            for (lane, word) in lanes.iter_mut().zip(stripe.chunks_exact(4)) {
                let sum = lane.wrapping_add(little(word).wrapping_mul(p2));
                *lane = sum.rotate_left(13).wrapping_mul(p1);
            }
        }
        lanes.iter().zip([1, 7, 12, 18]).fold(0u32, |hash, (lane, bits)| hash.wrapping_add(lane.rotate_left(bits)))
    };
    // The length counts modulo 2^32.
    hash = hash.wrapping_add(bytes.len() as u32);
    let rest = words.remainder();
    for word in words {
        hash = hash.wrapping_add(little(word).wrapping_mul(p3)).rotate_left(17).wrapping_mul(p4);
    }
    for byte in rest {
        hash = hash.wrapping_add(u32::from(*byte).wrapping_mul(p5)).rotate_left(11).wrapping_mul(p1);
    }
    hash = (hash ^ (hash >> 15)).wrapping_mul(p2);
    hash = (hash ^ (hash >> 13)).wrapping_mul(p3);
    hash ^ (hash >> 16)
}

/// A word of 4 bytes.
fn little(word: &[u8]) -> u32 {
    word.try_into().map_or(0, u32::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Those of Python's xxhash.
    #[test]
    fn checksums_are_as_xxhash_makes_them() {
        let bytes: Vec<u8> = (0..101u8).map(|i| i.wrapping_mul(7)).collect();
        let expected = [
            (0, 0x02CC_5D05),
            (1, 0xCF65_B03E),
            (3, 0x1474_4175),
            (4, 0xC8F6_0FC5),
            (15, 0x8807_D6B2),
            (16, 0xB59B_7E13),
            (17, 0x20DD_4529),
            (31, 0xDC5B_7443),
            (32, 0xD7F7_0F45),
            (63, 0xC7C2_1636),
            (101, 0xB9EA_00DC),
        ];
        for (len, expected) in expected {
            assert_eq!(xxh32(&bytes[..len]), expected, "{len}");
        }
    }
}
