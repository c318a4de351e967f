//! Kernels with 64-byte vectors. A vector is a cache line, and masks leave out what lies beyond a row.

mod gather;
mod units;
mod vectors;

use crate::copy::rows::{Kernel, Shape};

/// Whether the processor has what the kernels use.
pub(super) fn is_available() -> bool {
    is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw")
}

/// The kernel for such rows, if the processor has AVX-512 and there is one.
pub(super) fn choose(shape: &Shape<'_>) -> Option<Kernel> {
    if !is_available() {
        return None;
    }
    units::choose(shape).or_else(|| gather::choose(shape))
}
