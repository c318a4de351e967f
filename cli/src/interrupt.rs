//! The user's wish to end, which is taken note of where something must not be left half done.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::failure::{Failure, Result};

/// How often it was said.
static WISHES: AtomicUsize = AtomicUsize::new(0);

/// From now on a wish to end does not end the program at once. The third one does: what the program waits for may never
/// come.
pub fn watch() -> Result<()> {
    const LAST: usize = 3;
    const EXIT_CODE: i32 = 130;
    let handle = || {
        if WISHES.fetch_add(1, Relaxed) + 1 >= LAST {
            std::process::exit(EXIT_CODE);
        }
    };
    ctrlc::set_handler(handle).map_err(Failure::failed)
}

/// Whether the user wishes to end.
pub fn is_wished() -> bool {
    WISHES.load(Relaxed) > 0
}

/// # Errors
/// `Interrupted` if the user wishes to end.
pub fn check() -> Result<()> {
    if is_wished() { Err(Failure::Interrupted) } else { Ok(()) }
}
