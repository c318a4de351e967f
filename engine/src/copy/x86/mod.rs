//! Kernels with instructions of x86-64 processors. Every such processor has SSE2; what it has beyond that is detected
//! at run time.

#[cfg(nczchunk_avx512)]
mod avx512;
mod cached;
mod lines;
mod non_temporal;
mod transposed;

use std::arch::x86_64::_mm_sfence;

use super::rows::{Kernel, LINE, Shape, Volume};
use super::swap;
#[cfg(test)]
pub(super) use non_temporal::choose as choose_non_temporal;

/// The kernel for such rows, if there is one that is better than the portable ones.
pub(super) fn choose(shape: &Shape<'_>) -> Option<Kernel> {
    // Miri does not know non-temporal stores.
    let most = if cfg!(miri) { Volume::Large } else { Volume::Streaming };
    let shape = &Shape { volume: shape.volume.min(most), ..*shape };
    if shape.is_transposed && shape.unit < LINE {
        return if shape.volume.streams() { transposed::choose(shape) } else { None };
    }
    #[cfg(nczchunk_avx512)]
    if let Some(kernel) = avx512::choose(shape) {
        return Some(kernel);
    }
    non_temporal::choose(shape).or_else(|| cached::choose(shape))
}

/// Whether a line of the processor's cache is stored by one non-temporal instruction.
#[cfg(nczchunk_avx512)]
pub(super) fn stores_lines() -> bool {
    avx512::is_available()
}

/// Whether stores to memory that is not in the processor's cache take a decoder longer than it takes to copy past the
/// cache what it has stored there. Measured with zstd and blosc: so it is with processors of Intel (Sapphire Rapids,
/// 0.84 to 0.92 of the time), and the reverse with those of AMD (Zen 5, 1.03 to 1.15).
#[cfg(nczchunk_avx512)]
pub(super) fn copies_past_cache() -> bool {
    use std::arch::x86_64::__cpuid;
    use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

    const UNKNOWN: u8 = 2;
    static IS_INTEL: AtomicU8 = AtomicU8::new(UNKNOWN);
    let mut is_intel = IS_INTEL.load(Relaxed);
    if is_intel == UNKNOWN {
        // Where a hypervisor answers, the instruction takes many microseconds.
        // SAFETY: every x86-64 processor has it. In newer versions of Rust the function is safe.
        #[allow(unused_unsafe)]
        let vendor = || unsafe { __cpuid(0) }.ebx;
        is_intel = u8::from(!cfg!(miri) && vendor() == u32::from_le_bytes(*b"Genu"));
        IS_INTEL.store(is_intel, Relaxed);
    }
    is_intel == 1 && avx512::is_available()
}

/// Swaps words where they are; `false` if there is nothing better for that than the portable way.
pub(super) fn swap_in_place(bytes: &mut [u8], word: usize) -> bool {
    /// The portable way, compiled for AVX2.
    ///
    /// # Safety
    /// The processor has the feature.
    #[target_feature(enable = "avx2")]
    unsafe fn words_avx2(bytes: &mut [u8], word: usize) {
        swap::words(bytes, word);
    }

    let is_available = is_x86_feature_detected!("avx2");
    if is_available {
        // SAFETY: the processor has the feature.
        unsafe { words_avx2(bytes, word) };
    }
    is_available
}

/// Orders non-temporal stores before all later stores. Other stores need no such fence on x86-64.
#[inline]
pub(super) fn fence() {
    // Under Miri there are no non-temporal stores.
    if !cfg!(miri) {
        // SAFETY: the instruction is part of SSE, which every x86-64 processor has.
        unsafe { _mm_sfence() };
    }
}
