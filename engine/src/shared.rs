//! A value with several owners, made by an allocation that reports failure; the standard library's `Arc` aborts.
#![allow(unsafe_code)]

use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::alloc::{Failed, Slot};

/// A value with several owners; the last one drops it.
#[derive(Debug)]
pub struct Shared<T>(NonNull<Inner<T>>);

/// Memory for a value that will have several owners.
pub struct SharedSlot<T>(Slot<Inner<T>>);

/// Owners are not counted beyond this.
const MOST_COUNTED: usize = isize::MAX as usize;

struct Inner<T> {
    owners: AtomicUsize,
    value: T,
}

// SAFETY: owners in several threads share the value and the last one drops it, wherever it is.
unsafe impl<T: Send + Sync> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for Shared<T> {}

impl<T: PartialEq> PartialEq for Shared<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Eq> Eq for Shared<T> {}

impl<T> Shared<T> {
    pub fn new(value: T) -> Result<Self, Failed> {
        Ok(Shared::fill(Shared::slot()?, value))
    }

    /// Memory for a value that is yet to be made.
    pub fn slot() -> Result<SharedSlot<T>, Failed> {
        Ok(SharedSlot(Slot::new()?))
    }

    /// Puts a value into memory that was allocated before.
    pub fn fill(slot: SharedSlot<T>, value: T) -> Self {
        Shared(NonNull::from(Box::leak(slot.0.fill(Inner { owners: AtomicUsize::new(1), value }))))
    }

    fn inner(&self) -> &Inner<T> {
        // SAFETY: the value is alive as long as it has an owner, which `self` is.
        unsafe { self.0.as_ref() }
    }

    /// Orders what the other owners did with the value before what follows; for the last owner. A fence would do the
    /// same, but ThreadSanitizer knows of none.
    fn acquire(&self) {
        self.inner().owners.load(Ordering::Acquire);
    }

    /// The value, if there is no other owner.
    pub(crate) fn into_only(self) -> Option<T> {
        let this = std::mem::ManuallyDrop::new(self);
        if this.inner().owners.fetch_sub(1, Ordering::Release) != 1 {
            return None;
        }
        this.acquire();
        // SAFETY: this was the last owner, so nobody else uses the box that `new` has made, and it is taken back once.
        Some(unsafe { Box::from_raw(this.0.as_ptr()) }.value)
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        let owners = &self.inner().owners;
        // Owners that take memory are fewer than half of what can be counted. If there are more, others were forgotten
        // without being dropped, as `mem::forget` does: then the number never comes down to 0, with this owner or
        // without it, and must not overflow.
        if owners.fetch_add(1, Ordering::Relaxed) > MOST_COUNTED {
            owners.fetch_sub(1, Ordering::Relaxed);
        }
        Shared(self.0)
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inner().value
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        if self.inner().owners.fetch_sub(1, Ordering::Release) == 1 {
            self.acquire();
            // SAFETY: this was the last owner, so nobody else uses the box that `new` has made, and it is dropped once.
            drop(unsafe { Box::from_raw(self.0.as_ptr()) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_owner_drops_the_value() {
        let dropped = AtomicUsize::new(0);
        struct Value<'a>(&'a AtomicUsize);
        impl Drop for Value<'_> {
            fn drop(&mut self) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        let one = Shared::new(Value(&dropped)).unwrap();
        let (two, three) = (one.clone(), one.clone());
        std::thread::scope(|scope| {
            scope.spawn(move || drop(two));
        });
        drop(one);
        assert_eq!(dropped.load(Ordering::Relaxed), 0);
        assert!(three.into_only().is_some());
        assert_eq!(dropped.load(Ordering::Relaxed), 1);
    }

    /// What more forgotten owners than there are numbers would do.
    #[test]
    fn forgotten_owners_do_not_let_the_value_go() {
        let one = Shared::new(7).unwrap();
        for counted in [MOST_COUNTED, MOST_COUNTED + 1, usize::MAX] {
            one.inner().owners.store(counted, Ordering::Relaxed);
            let others: Vec<_> = (0..3).map(|_| one.clone()).collect();
            drop(others);
            assert!(one.inner().owners.load(Ordering::Relaxed) > 3, "{counted}");
        }
        one.inner().owners.store(1, Ordering::Relaxed);
        assert_eq!(one.into_only(), Some(7));
    }

    #[test]
    fn only_the_last_owner_gets_the_value() {
        let one = Shared::new(7).unwrap();
        let two = one.clone();
        assert_eq!((one.into_only(), *two), (None, 7));
        assert_eq!(two.into_only(), Some(7));
    }
}
