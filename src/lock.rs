//! A lock that a forked child does not wait for.
//!
//! A child that was forked while another thread held a lock would wait for it forever, for that thread does not exist
//! in the child. So a lock belongs to the process that made it, and what it guards is out of reach in any other.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

pub(crate) struct Lock<T> {
    process: u32,
    value: Mutex<T>,
    changed: Condvar,
}

impl<T> Lock<T> {
    pub(crate) fn new(value: T) -> Self {
        Lock { process: std::process::id(), value: Mutex::new(value), changed: Condvar::new() }
    }

    /// Waits for the value; `None` in a child of the process that made the lock.
    pub(crate) fn lock(&self) -> Option<MutexGuard<'_, T>> {
        if std::process::id() != self.process {
            return None;
        }
        // No panic leaves what is guarded half-changed: it is caught at the C boundary, and everything here can go on.
        Some(self.value.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits until another thread has called [`notify`](Self::notify), with the lock released meanwhile.
    pub(crate) fn wait<'g>(&'g self, guard: MutexGuard<'g, T>) -> MutexGuard<'g, T> {
        self.changed.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes all who wait.
    pub(crate) fn notify(&self) {
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_process_does_not_get_the_value() {
        let mut lock = Lock::new(1);
        *lock.lock().unwrap() += 1;
        assert_eq!(*lock.lock().unwrap(), 2);
        lock.process += 1;
        assert!(lock.lock().is_none());
    }
}
