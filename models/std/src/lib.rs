//! The standard library and libc as the models have them: atomics, locks, threads, the clock and the number of the
//! process are replaced, and all else is what it is. The models' crate gives this the names `std` and `libc`, so that
//! the library's own files are compiled with it unchanged.

#![allow(ambiguous_glob_reexports, reason = "the names that both have are used of neither, or of the standard library")]

pub use libc::*;
pub use loom::thread_local;
pub use std::*;

pub mod sync {
    pub use loom::sync::{Condvar, Mutex, MutexGuard};
    pub use std::sync::*;

    /// Those that are used for statics only, whose values would outlive an execution, are the standard library's.
    pub mod atomic {
        pub use loom::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, fence};
        pub use std::sync::atomic::*;
    }
}

pub mod process {
    pub use std::process::*;

    use std::cell::Cell;

    thread_local! {
        static ID: Cell<u32> = const { Cell::new(1) };
    }

    /// The number of the process. A model is run by one thread of the system.
    pub fn id() -> u32 {
        ID.get()
    }

    /// Goes on as another process.
    pub fn set_id(id: u32) {
        ID.set(id);
    }
}

pub mod time {
    pub use std::time::*;

    use std::cell::Cell;

    thread_local! {
        static NOW: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    }

    /// The time, which is a millisecond later whenever somebody looks: so an execution can be repeated.
    #[derive(Clone, Copy)]
    pub struct Instant(Duration);

    impl Instant {
        pub fn now() -> Self {
            NOW.set(NOW.get() + Duration::from_millis(1));
            Instant(NOW.get())
        }

        pub fn elapsed(&self) -> Duration {
            Instant::now().0 - self.0
        }
    }
}

/// There is no coarse clock.
///
/// # Safety
/// None is needed.
pub unsafe fn clock_gettime(_: clockid_t, _: *mut timespec) -> c_int {
    -1
}

mod threads;

pub use threads::{pthread_create, pthread_join, pthread_t, threads_running};
