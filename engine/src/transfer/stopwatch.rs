//! How long something has taken so far, roughly: to tell small transfers from large ones. To read the system's clock
//! takes 20 to 30 ns, which is as much as a small chunk takes.

use std::time::Duration;

pub(super) struct Stopwatch(clock::Instant);

impl Stopwatch {
    #[inline]
    pub(super) fn start() -> Self {
        Stopwatch(clock::Instant::now())
    }

    /// The time since the start, within a factor of two.
    #[inline]
    pub(super) fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

/// The processor's counter of time.
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod clock {
    #![allow(unsafe_code)]

    use std::arch::x86_64::_rdtsc;
    use std::time::Duration;

    /// Processors of today count 2 to 5 in each nanosecond.
    const PER_NANOSECOND: u64 = 3;

    pub(super) struct Instant(u64);

    impl Instant {
        #[inline]
        pub(super) fn now() -> Self {
            // SAFETY: every processor of this architecture has the instruction, which only reads a counter.
            Instant(unsafe { _rdtsc() })
        }

        #[inline]
        pub(super) fn elapsed(&self) -> Duration {
            // Where processors do not count alike, the counter may be lower in the one where the thread is now.
            Duration::from_nanos(Instant::now().0.saturating_sub(self.0) / PER_NANOSECOND)
        }
    }
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
use std::time as clock;

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn times_are_right_within_a_factor_of_two() {
        let ratio = || {
            let (watch, clock) = (Stopwatch::start(), std::time::Instant::now());
            thread::sleep(Duration::from_millis(5));
            watch.elapsed().as_secs_f64() / clock.elapsed().as_secs_f64()
        };
        // Another program may be running between the two.
        assert!((0..20).any(|_| (0.5..2.0).contains(&ratio())));
    }
}
