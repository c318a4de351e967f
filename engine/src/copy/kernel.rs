//! The choice of the kernel: one for this processor if there is a better one, else a portable one.

use super::portable;
use super::rows::{Kernel, Shape};
#[cfg(target_arch = "x86_64")]
use super::x86;

/// The kernel for such rows.
pub(super) fn choose(shape: &Shape<'_>) -> Kernel {
    if let Some(kernel) = portable::choose_elements(shape) {
        return kernel;
    }
    #[cfg(target_arch = "x86_64")]
    if let Some(kernel) = x86::choose(shape) {
        return kernel;
    }
    portable::choose(shape)
}

/// Whether a line of the processor's cache is stored by one non-temporal instruction.
pub fn stores_lines() -> bool {
    #[cfg(all(target_arch = "x86_64", nczchunk_avx512))]
    return x86::stores_lines();
    #[cfg(not(all(target_arch = "x86_64", nczchunk_avx512)))]
    false
}

/// Whether it is quicker to decode a chunk in the processor's cache and to copy it past the cache than to decode it in
/// memory that is not in the cache.
pub fn copies_past_cache() -> bool {
    #[cfg(all(target_arch = "x86_64", nczchunk_avx512))]
    return x86::copies_past_cache();
    #[cfg(not(all(target_arch = "x86_64", nczchunk_avx512)))]
    false
}

/// Orders the non-temporal stores of a kernel before all later stores. To be called after kernels that were chosen for
/// streaming.
#[inline]
pub fn fence() {
    #[cfg(target_arch = "x86_64")]
    x86::fence();
}
