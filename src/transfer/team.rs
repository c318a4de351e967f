//! Threads for the time of one call: begun by it and ended before it returns, so that none is left behind, after a fork
//! neither.
#![allow(unsafe_code)]

/// Runs `work` in this thread and in up to `threads - 1` others at the same time, and returns when all have returned. Where
/// the system refuses a thread, fewer do the work. `work` does not panic.
pub(super) fn run(threads: usize, work: &(dyn Fn() + Sync)) {
    if threads > 1 { platform::run(threads, work) } else { work() }
}

/// POSIX threads, because the standard library's abort where memory for them cannot be had.
#[cfg(all(unix, not(miri)))]
mod platform {
    use std::ffi::{c_int, c_void};
    use std::mem::MaybeUninit;
    use std::ptr;

    use smallvec::SmallVec;

    /// What a thread is told: a reference is wide, a pointer to one is not.
    struct Order<'w>(&'w (dyn Fn() + Sync));

    extern "C" fn enter(order: *mut c_void) -> *mut c_void {
        // SAFETY: `run` passes a pointer to its order, and does not return before this thread has ended.
        let order = unsafe { &*order.cast::<Order<'_>>() };
        (order.0)();
        ptr::null_mut()
    }

    pub(in super::super) fn run(threads: usize, work: &(dyn Fn() + Sync)) {
        let order = Order(work);
        let mut begun: SmallVec<[libc::pthread_t; 16]> = SmallVec::new();
        {
            let _blocked = Signals::block();
            while begun.len() + 1 < threads && begun.try_reserve(1).is_ok() {
                let mut thread = MaybeUninit::uninit();
                // SAFETY: the order outlives the thread, which is joined below.
                let refused = unsafe {
                    let order = ptr::from_ref(&order).cast_mut().cast();
                    libc::pthread_create(thread.as_mut_ptr(), ptr::null(), enter, order)
                };
                if refused != 0 {
                    break;
                }
                // SAFETY: on success it is initialised.
                begun.push(unsafe { thread.assume_init() });
            }
        }
        work();
        for thread in begun {
            // SAFETY: begun above and joined once.
            unsafe { libc::pthread_join(thread, ptr::null_mut()) };
        }
    }

    /// Signals blocked, and so in the threads begun meanwhile: the program's handlers run in the program's threads. Those of a
    /// fault stay as they are, for they come to the thread that made it, and blocked they end the program: a callback may
    /// lend a mapped file whose pages a handler provides.
    struct Signals(libc::sigset_t);

    const OF_FAULTS: [c_int; 6] =
        [libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGSEGV, libc::SIGSYS, libc::SIGTRAP];

    impl Signals {
        fn block() -> Self {
            // SAFETY: a set of signals is plain data, filled before it is used; blocking and unblocking signals of the
            // calling thread has no requirements.
            unsafe {
                let (mut signals, mut before) = std::mem::zeroed();
                libc::sigfillset(&raw mut signals);
                for signal in OF_FAULTS {
                    libc::sigdelset(&raw mut signals, signal);
                }
                libc::pthread_sigmask(libc::SIG_BLOCK, &raw const signals, &raw mut before);
                Signals(before)
            }
        }
    }

    impl Drop for Signals {
        fn drop(&mut self) {
            // SAFETY: as in `block`.
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, ptr::null_mut()) };
        }
    }
}

#[cfg(not(all(unix, not(miri))))]
mod platform {
    pub(in super::super) fn run(threads: usize, work: &(dyn Fn() + Sync)) {
        std::thread::scope(|scope| {
            for _ in 1..threads {
                // Refused, it is done by the others.
                let _ = std::thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
    }
}
