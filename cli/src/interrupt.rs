//! The user's wish to end, which is taken note of where something must not be left half done.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use crate::failure::{Failure, Result};

/// How often it was said.
static WISHES: AtomicUsize = AtomicUsize::new(0);

/// For how many reasons the program must not end at once.
static HOLDS: AtomicUsize = AtomicUsize::new(0);

/// As long as this is there, a wish to end does not end the program at once. The third one does: what the program waits
/// for may never come.
pub struct Hold(());

impl Hold {
    /// # Errors
    /// If the system does not let signals be handled.
    pub fn new() -> Result<Self> {
        const LAST: usize = 3;
        const EXIT_CODE: i32 = 130;
        static HANDLED: OnceLock<Option<String>> = OnceLock::new();
        HOLDS.fetch_add(1, SeqCst);
        let hold = Hold(());
        let handle = || {
            if WISHES.fetch_add(1, SeqCst) + 1 >= LAST || HOLDS.load(SeqCst) == 0 {
                std::process::exit(EXIT_CODE);
            }
        };
        match HANDLED.get_or_init(|| ctrlc::set_handler(handle).err().map(|error| error.to_string())) {
            Some(error) => Err(Failure::failed(error)),
            None => Ok(hold),
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        HOLDS.fetch_sub(1, SeqCst);
    }
}

/// From now on a wish to end does not end the program at once, as with a [`Hold`] that stays.
pub fn watch() -> Result<()> {
    Hold::new().map(std::mem::forget)
}

/// Whether the user wishes to end.
pub fn is_wished() -> bool {
    WISHES.load(SeqCst) > 0
}

/// # Errors
/// `Interrupted` if the user wishes to end.
pub fn check() -> Result<()> {
    if is_wished() { Err(Failure::Interrupted) } else { Ok(()) }
}
