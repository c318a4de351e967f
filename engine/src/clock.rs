//! The system's clock of ticks: a few milliseconds each, which a program can ask for in a tenth of the time that it
//! takes to ask for nanoseconds.
#![allow(unsafe_code)]

use std::num::NonZeroU64;

/// A tick: between two that are equal a few milliseconds have passed at most.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Tick(NonZeroU64);

impl Tick {
    /// The current one; none where the system has no such clock.
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    #[inline]
    pub fn now() -> Option<Self> {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: -1 };
        // SAFETY: the function writes nothing but the time.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, &raw mut time) };
        // Where it failed, this is 0.
        let nanoseconds = (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64);
        NonZeroU64::new(nanoseconds.wrapping_add(1)).map(Tick)
    }

    /// The current one; none where the system has no such clock.
    #[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
    pub fn now() -> Option<Self> {
        None
    }
}
