//! Things that are dear to make and can be used again: taken for a while, put back after it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use smallvec::SmallVec;

/// What is not in use. Whoever finds it empty makes a thing, so there come to be as many as were ever in use at a time.
pub(crate) struct Pool<T> {
    idle: Mutex<SmallVec<[T; 2]>>,
}

impl<T> Pool<T> {
    pub(crate) fn new() -> Self {
        Pool { idle: Mutex::new(SmallVec::new()) }
    }

    /// What was put back last, if anything is idle.
    pub(crate) fn take(&self) -> Option<T> {
        self.lock().pop()
    }

    /// Keeps a thing for the next to take, if there is memory for that.
    pub(crate) fn put(&self, thing: T) {
        let mut idle = self.lock();
        if idle.try_reserve(1).is_ok() {
            idle.push(thing);
        }
    }

    fn lock(&self) -> MutexGuard<'_, SmallVec<[T; 2]>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
