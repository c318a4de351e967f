//! Worker threads for a single call. They are spawned when it starts and joined before it returns, so none outlives it
//! (nor survives into a forked child).
#![allow(unsafe_code)]

use crate::panic_guard;

/// Runs `own` in this thread and, at the same time, `work` in up to `threads - 1` others; returns when all have
/// returned. If the system refuses a thread, the remaining workers do its share. A panic in any of them ends there, and
/// `failed` is called for it.
pub fn run(threads: usize, work: &(dyn Fn() + Sync), own: impl FnOnce(), failed: &(dyn Fn() + Sync)) {
    let work = || {
        if panic_guard::catch(work).is_none() {
            failed();
        }
    };
    let own = || {
        if panic_guard::catch(own).is_none() {
            failed();
        }
    };
    platform::run(threads, &work, own);
}

/// POSIX threads, because the standard library aborts if an allocation for a thread fails.
#[cfg(all(unix, not(miri)))]
mod platform {
    use std::ffi::{c_int, c_void};
    use std::mem::MaybeUninit;
    use std::ptr;

    use smallvec::SmallVec;

    use crate::cancel::CancelGuard;

    /// What a thread receives. A thread gets a thin pointer; the reference to the work is a wide one.
    struct Order<'w>(&'w (dyn Fn() + Sync));

    extern "C" fn enter(order: *mut c_void) -> *mut c_void {
        // SAFETY: `run` passes a pointer to its order, and does not return before this thread has ended.
        let order = unsafe { &*order.cast::<Order<'_>>() };
        let _held = CancelGuard::hold();
        (order.0)();
        ptr::null_mut()
    }

    pub(super) fn run(threads: usize, work: &(dyn Fn() + Sync), own: impl FnOnce()) {
        let order = Order(work);
        let mut begun: SmallVec<[libc::pthread_t; 16]> = SmallVec::new();
        {
            let _blocked = Signals::block();
            let attributes = Attributes::new();
            while begun.len() + 1 < threads && begun.try_reserve(1).is_ok() {
                let mut thread = MaybeUninit::uninit();
                // SAFETY: the order outlives the thread, which is joined below.
                let refused = unsafe {
                    let order = ptr::from_ref(&order).cast_mut().cast();
                    libc::pthread_create(thread.as_mut_ptr(), attributes.as_ptr(), enter, order)
                };
                if refused != 0 {
                    break;
                }
                // SAFETY: on success it is initialised.
                begun.push(unsafe { thread.assume_init() });
            }
        }
        // If this was the only thread before, it could not be cancelled; now a callback in a worker could do it.
        let _held = CancelGuard::hold();
        own();
        for thread in begun {
            // SAFETY: begun above and joined once.
            unsafe { libc::pthread_join(thread, ptr::null_mut()) };
        }
    }

    /// What a thread is to have: a stack for callbacks, which may be used to that of the program's first thread,
    /// usually 8 MiB. glibc gives new threads as much; musl would give them 128 KiB, and macOS 512.
    struct Attributes(Option<libc::pthread_attr_t>);

    /// The least stack of a thread in bytes, which is that of threads of Rust's standard library.
    const STACK: usize = 2 << 20;

    impl Attributes {
        fn new() -> Self {
            let mut attributes = MaybeUninit::uninit();
            // SAFETY: this initialises the attributes, unless it fails.
            if unsafe { libc::pthread_attr_init(attributes.as_mut_ptr()) } != 0 {
                return Attributes(None);
            }
            // SAFETY: they have just been initialised.
            let mut attributes = unsafe { attributes.assume_init() };
            let mut stack = STACK;
            // SAFETY: as above. A size that the system does not take leaves the default.
            unsafe {
                libc::pthread_attr_getstacksize(&raw const attributes, &raw mut stack);
                if stack < STACK {
                    libc::pthread_attr_setstacksize(&raw mut attributes, STACK);
                }
            }
            Attributes(Some(attributes))
        }

        /// The attributes, or NULL for the default ones.
        fn as_ptr(&self) -> *const libc::pthread_attr_t {
            self.0.as_ref().map_or(ptr::null(), ptr::from_ref)
        }
    }

    impl Drop for Attributes {
        fn drop(&mut self) {
            if let Some(attributes) = &mut self.0 {
                // SAFETY: `new` has initialised them, and this is done once.
                unsafe { libc::pthread_attr_destroy(attributes) };
            }
        }
    }

    /// All signals are blocked as long as this lives, and remain blocked in the threads spawned meanwhile, so the
    /// program's handlers run in the program's own threads. Signals of faults are not blocked: they are delivered to
    /// the thread that caused them, and a blocked one would end the program. A callback may lend a mapped file whose
    /// pages a handler provides.
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
    pub(super) fn run(threads: usize, work: &(dyn Fn() + Sync), own: impl FnOnce()) {
        std::thread::scope(|scope| {
            for _ in 1..threads {
                // If the system refuses the thread, the others do its share.
                let _ = std::thread::Builder::new().spawn_scoped(scope, work);
            }
            own();
        });
    }
}
