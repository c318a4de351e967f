//! A lock that a forked child does not wait for.
//!
//! A child that was forked while another thread held a lock would wait for it forever, for that thread does not exist
//! in the child. So a lock belongs to the process that made it, and what it guards is out of reach in any other. If it
//! was held at that moment what it guards may be half changed, so the child does not drop it either.
#![allow(unsafe_code)]

use std::mem::ManuallyDrop;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError};

pub struct Lock<T> {
    process: u32,
    value: ManuallyDrop<Mutex<T>>,
    changed: Condvar,
}

impl<T> Lock<T> {
    pub fn new(value: T) -> Self {
        Lock { process: std::process::id(), value: ManuallyDrop::new(Mutex::new(value)), changed: Condvar::new() }
    }

    /// Waits for the value; `None` in a child of the process that made the lock.
    pub fn lock(&self) -> Option<MutexGuard<'_, T>> {
        if std::process::id() != self.process {
            return None;
        }
        // No panic leaves what is guarded half-changed: it is caught at the C boundary, and everything here can go on.
        Some(self.value.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits until another thread has called [`notify`](Self::notify), with the lock released meanwhile.
    pub fn wait<'g>(&'g self, guard: MutexGuard<'g, T>) -> MutexGuard<'g, T> {
        self.changed.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes all who wait.
    pub fn notify(&self) {
        self.changed.notify_all();
    }
}

impl<T> Drop for Lock<T> {
    fn drop(&mut self) {
        // The lock is ours alone, so only a thread that the process does not have can hold it.
        let is_held = matches!(self.value.try_lock(), Err(TryLockError::WouldBlock));
        if !is_held {
            // SAFETY: the value is dropped once, and not used after this.
            unsafe { ManuallyDrop::drop(&mut self.value) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn another_process_does_not_get_the_value() {
        let mut lock = Lock::new(1);
        *lock.lock().unwrap() += 1;
        assert_eq!(*lock.lock().unwrap(), 2);
        lock.process += 1;
        assert!(lock.lock().is_none());
    }

    /// As in a child, where the thread that held it at the fork is gone.
    #[test]
    fn what_a_vanished_thread_held_is_not_dropped() {
        struct Counted<'c>(&'c Cell<u32>);
        impl Drop for Counted<'_> {
            fn drop(&mut self) {
                self.0.set(self.0.get() + 1);
            }
        }
        let dropped = Cell::new(0);
        drop(Lock::new(Counted(&dropped)));
        assert_eq!(dropped.get(), 1);
        let held = Lock::new(Counted(&dropped));
        std::mem::forget(held.lock());
        drop(held);
        assert_eq!(dropped.get(), 1);
    }
}
