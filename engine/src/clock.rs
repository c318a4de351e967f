//! The system's coarse clock. It goes in ticks, of 4 ms on most systems, and to look at it takes a fraction of the time
//! that it takes to look at one of nanoseconds.
#![allow(unsafe_code)]

use std::num::NonZeroU64;
use std::time::Duration;

/// When the current tick began, as the coarse clock has it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Tick(NonZeroU64);

impl Tick {
    /// None where the system has no such clock.
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

    /// None where the system has no such clock.
    #[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
    pub fn now() -> Option<Self> {
        None
    }

    /// How much later it is than another one.
    pub fn after(self, other: Self) -> Duration {
        Duration::from_nanos(self.0.get().saturating_sub(other.0.get()))
    }
}
