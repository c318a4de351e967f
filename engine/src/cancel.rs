//! Cancellation of POSIX threads: it is held off while the library runs.
//!
//! pthread_cancel ends a thread by unwinding its stack from a cancellation point, such as a read in a callback. That
//! would go through Rust's frames, which aborts the process, and would leave the call's workers behind. A worker can be
//! cancelled, too: by a callback that runs in it.
//!
//! To hold it off takes half the time of a small read, so that it is not done in a process with a single thread, where
//! nobody can cancel it. glibc tells whether that is so.
#![allow(unsafe_code)]

pub use system::CancelGuard;

#[cfg(all(target_os = "linux", not(miri)))]
mod system {
    // Of the core library, for models are of what threads do to each other, which a flag of the C library's is not.
    use core::sync::atomic::{AtomicPtr, AtomicU8, Ordering};
    use std::ffi::{c_char, c_int};
    use std::ptr;

    const PTHREAD_CANCEL_DISABLE: c_int = 1;

    unsafe extern "C" {
        fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
    }

    /// The calling thread cannot be cancelled as long as this lives. A request to cancel it is acted on later.
    pub struct CancelGuard {
        /// The state there was, if it was changed.
        before: Option<c_int>,
    }

    impl CancelGuard {
        #[inline]
        pub fn hold() -> Self {
            CancelGuard { before: (!has_one_thread()).then(disable) }
        }
    }

    impl Drop for CancelGuard {
        #[inline]
        fn drop(&mut self) {
            if let Some(before) = self.before {
                restore(before);
            }
        }
    }

    /// Holds off cancellation, and tells the state there was.
    fn disable() -> c_int {
        let mut before = 0;
        // SAFETY: the state is one of the two there are, and `before` is a place for the one there was.
        unsafe { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &raw mut before) };
        before
    }

    fn restore(before: c_int) {
        let mut disabled = 0;
        // SAFETY: the state is the one that the system gave.
        unsafe { pthread_setcancelstate(before, &raw mut disabled) };
    }

    /// Whether the process is known to have no other thread than this one: glibc's `__libc_single_threaded` (2.32 and
    /// newer).
    #[inline]
    fn has_one_thread() -> bool {
        // Nobody waits for the thread that looks first, least of all a child that is forked meanwhile.
        static FLAG: AtomicPtr<AtomicU8> = AtomicPtr::new(ptr::null_mut());
        let mut flag = FLAG.load(Ordering::Relaxed);
        if flag.is_null() {
            flag = find_flag();
            FLAG.store(flag, Ordering::Relaxed);
        }
        // SAFETY: it points to a variable that lives as long as the process, and that only atomic reads use here.
        unsafe { &*flag }.load(Ordering::Relaxed) != 0
    }

    #[cold]
    fn find_flag() -> *mut AtomicU8 {
        /// What stands for a flag that is not there.
        static NONE: AtomicU8 = AtomicU8::new(0);
        let name: *const c_char = c"__libc_single_threaded".as_ptr();
        // SAFETY: the name is a text with a NUL at its end. The variable, if there is one, is a char that lives as long
        // as the process, and that glibc changes while other threads may read it.
        let flag = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name) };
        if flag.is_null() { (&raw const NONE).cast_mut() } else { flag.cast() }
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
mod system {
    /// Elsewhere threads are not cancelled by unwinding, or the value of the state is not known.
    pub struct CancelGuard;

    impl CancelGuard {
        pub fn hold() -> Self {
            CancelGuard
        }
    }
}
