//! Panics that end in this library: they become errors, and nothing is printed.
//!
//! A panic is a fault of the library. Rust reports panics on standard error before they are caught; that is what the
//! hook here prevents, for panics that [`catch`] will catch and for no others.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook, take_hook};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

type Hook = Box<dyn Fn(&PanicHookInfo<'_>) + Sync + Send + 'static>;

thread_local! {
    /// Whether this thread is within `catch`.
    static IS_CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// The hook that was there before; it goes on reporting what is not caught here.
static BEFORE: OnceLock<Hook> = OnceLock::new();

/// Runs `body`; `None` if it panics. A panic beside the first call of all may be reported nevertheless.
#[inline]
pub fn catch<T>(body: impl FnOnce() -> T) -> Option<T> {
    // Nobody waits for the thread that installs the hook, least of all in a child that was forked meanwhile.
    static IS_BEGUN: AtomicBool = AtomicBool::new(false);
    if !IS_BEGUN.load(Ordering::Relaxed) && !IS_BEGUN.swap(true, Ordering::Relaxed) {
        install();
    }
    let before = IS_CAUGHT.replace(true);
    let result = catch_unwind(AssertUnwindSafe(body)).ok();
    IS_CAUGHT.set(before);
    result
}

#[cold]
fn install() {
    BEFORE.get_or_init(take_hook);
    // The closure captures nothing, so that its box needs no allocation, which could fail.
    set_hook(Box::new(|info| {
        if !IS_CAUGHT.get() {
            BEFORE.get().into_iter().for_each(|hook| hook(info));
        }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caught_panic_prints_nothing_and_another_is_reported() {
        // Tests share a process, whose output they capture, so that the panics are made in a process of their own.
        const PANIC: &str = "NCZCHUNK_TEST_PANIC";
        let name = "panic_guard::tests::a_caught_panic_prints_nothing_and_another_is_reported";
        match std::env::var(PANIC).as_deref() {
            Ok("caught") => assert_eq!(catch(|| panic!("caught")), None::<()>),
            Ok(_) => {
                assert_eq!(catch(|| 1), Some(1));
                panic!("reported");
            }
            Err(_) if cfg!(miri) => {}
            Err(_) => {
                let output = |kind: &str| {
                    let test = std::env::current_exe().unwrap();
                    let output = std::process::Command::new(test)
                        .args(["--exact", name, "--nocapture"])
                        .env(PANIC, kind)
                        .output()
                        .unwrap();
                    String::from_utf8(output.stderr).unwrap()
                };
                assert_eq!(output("caught"), "");
                assert!(output("reported").contains("reported"));
            }
        }
    }
}
