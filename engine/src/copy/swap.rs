//! Swapping words where they are.

/// Reverses the bytes of every word; words of 0 or 1 bytes have no order. The compiler vectorises the loops, for the
/// processor that the caller is compiled for.
#[inline(always)]
pub(super) fn words(bytes: &mut [u8], word: usize) {
    match word {
        0 | 1 => {}
        2 => bytes.chunks_exact_mut(2).for_each(<[u8]>::reverse),
        4 => bytes.chunks_exact_mut(4).for_each(<[u8]>::reverse),
        8 => bytes.chunks_exact_mut(8).for_each(<[u8]>::reverse),
        _ => bytes.chunks_exact_mut(word).for_each(<[u8]>::reverse),
    }
}
