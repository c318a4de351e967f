//! Things that are dear to make and can be used again: taken for a call, put back after it.

use std::sync::{Mutex, PoisonError};

/// A place for one thing not in use. Concurrent calls that find it empty make their own.
pub(crate) struct Pool<T> {
    idle: Mutex<Option<T>>,
}

impl<T> Pool<T> {
    pub(crate) const fn new() -> Self {
        Pool { idle: Mutex::new(None) }
    }

    /// What is idle, if anything is.
    pub(crate) fn take(&self) -> Option<T> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Keeps a thing for the next call.
    pub(crate) fn put(&self, thing: T) {
        let replaced = self.idle.lock().unwrap_or_else(PoisonError::into_inner).replace(thing);
        drop(replaced);
    }
}
