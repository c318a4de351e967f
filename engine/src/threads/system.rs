//! How a thread is started and joined.

pub use platform::{Thread, start};

/// POSIX threads, because the standard library aborts if an allocation for a thread fails.
#[cfg(all(unix, not(miri)))]
mod platform {
    use std::ffi::{c_int, c_void};
    use std::mem::MaybeUninit;
    use std::ptr;

    use smallvec::SmallVec;

    use super::super::station::Station;
    use crate::cancel::CancelGuard;

    pub struct Thread(libc::pthread_t);

    impl Thread {
        pub fn join(self) {
            // SAFETY: it was begun, and is joined once.
            unsafe { libc::pthread_join(self.0, ptr::null_mut()) };
        }
    }

    extern "C" fn enter(station: *mut c_void) -> *mut c_void {
        // SAFETY: `start` passes a pointer to a station that stays there until this thread has ended.
        let station = unsafe { &*station.cast::<Station>() };
        let _held = CancelGuard::hold();
        station.serve();
        ptr::null_mut()
    }

    /// Starts threads for a station until there are so many, or the system refuses one.
    ///
    /// # Safety
    /// The station stays where it is until the threads have been joined.
    pub unsafe fn start(threads: &mut SmallVec<[Thread; 16]>, num: usize, station: &Station) {
        if threads.len() >= num {
            return;
        }
        let (_blocked, attributes) = (Signals::block(), Attributes::new());
        while threads.len() < num && threads.try_reserve(1).is_ok() {
            let mut thread = MaybeUninit::uninit();
            // SAFETY: the thread gets a pointer that is valid as long as it runs, by the caller's promise.
            let refused = unsafe {
                let station = ptr::from_ref(station).cast_mut().cast();
                libc::pthread_create(thread.as_mut_ptr(), attributes.as_ptr(), enter, station)
            };
            if refused != 0 {
                return;
            }
            // SAFETY: on success it is initialised.
            threads.push(Thread(unsafe { thread.assume_init() }));
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
    use std::thread::{Builder, JoinHandle};

    use smallvec::SmallVec;

    use super::super::station::Station;

    pub struct Thread(JoinHandle<()>);

    impl Thread {
        pub fn join(self) {
            // Panics end in what is offered.
            let _ = self.0.join();
        }
    }

    /// Starts threads for a station until there are so many, or the system refuses one.
    ///
    /// # Safety
    /// The station stays where it is until the threads have been joined.
    pub unsafe fn start(threads: &mut SmallVec<[Thread; 16]>, num: usize, station: &Station) {
        // SAFETY: the station is there as long as the threads run, by the caller's promise.
        let station: &'static Station = unsafe { &*std::ptr::from_ref(station) };
        while threads.len() < num && threads.try_reserve(1).is_ok() {
            match Builder::new().spawn(|| station.serve()) {
                Ok(thread) => threads.push(Thread(thread)),
                Err(_) => return,
            }
        }
    }
}
