//! The user's wish to end, which is taken note of where something must not be left half done.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::failure::{Failure, Result};

static IS_WISHED: AtomicBool = AtomicBool::new(false);

/// From now on a wish to end does not end the program at once.
pub fn watch() -> Result<()> {
    ctrlc::set_handler(|| IS_WISHED.store(true, Relaxed)).map_err(Failure::failed)
}

/// Whether the user wishes to end.
pub fn is_wished() -> bool {
    IS_WISHED.load(Relaxed)
}

/// # Errors
/// `Interrupted` if the user wishes to end.
pub fn check() -> Result<()> {
    if is_wished() { Err(Failure::Interrupted) } else { Ok(()) }
}
