//! The threads of POSIX as threads of loom.

use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_void};

use loom::thread::JoinHandle;

thread_local! {
    static RUNNING: RefCell<Vec<(usize, JoinHandle<()>)>> = const { RefCell::new(Vec::new()) };
    static NEXT: Cell<usize> = const { Cell::new(0) };
}

#[allow(non_camel_case_types)]
pub type pthread_t = usize;

/// What a thread is told; to whom it may be sent is for the caller to know, as with the real function.
struct Order(extern "C" fn(*mut c_void) -> *mut c_void, *mut c_void);

// SAFETY: whoever calls `pthread_create` says that the pointer may be used by the thread.
unsafe impl Send for Order {}

/// # Safety
/// As for the real function: `entry` may be called with the argument, by another thread.
pub unsafe fn pthread_create(
    thread: *mut pthread_t,
    _: *const libc::pthread_attr_t,
    entry: extern "C" fn(*mut c_void) -> *mut c_void,
    argument: *mut c_void,
) -> c_int {
    let order = Order(entry, argument);
    let handle = loom::thread::spawn(move || {
        let Order(entry, argument) = { order };
        entry(argument);
    });
    let number = NEXT.replace(NEXT.get() + 1);
    RUNNING.with_borrow_mut(|running| running.push((number, handle)));
    // SAFETY: it is the caller's, for this.
    unsafe { thread.write(number) };
    0
}

/// # Safety
/// None.
pub unsafe fn pthread_join(thread: pthread_t, _: *mut *mut c_void) -> c_int {
    let found = RUNNING.with_borrow_mut(|running| {
        let place = running.iter().position(|&(number, _)| number == thread)?;
        Some(running.swap_remove(place).1)
    });
    match found.map(JoinHandle::join) {
        Some(Ok(())) => 0,
        _ => libc::ESRCH,
    }
}

/// How many threads have been created and not joined.
pub fn threads_running() -> usize {
    RUNNING.with_borrow(Vec::len)
}
