//! Things that are costly to make and can be used again: taken for a while, put back afterwards.
//!
//! A pool never waits. It is a few atomic words, so a child process that was forked while another thread used the pool
//! can go on using it.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::alloc::OnePointer;

/// How many idle things a pool keeps.
const SLOTS: usize = 16;

/// What is not in use. Whoever finds the pool empty makes a new thing.
pub struct Pool<T: OnePointer> {
    /// Each is NULL or a thing, as a pointer, that belongs to whoever swaps it for NULL.
    idle: [AtomicPtr<u8>; SLOTS],
    /// Things are only moved in and out, so several threads may share a pool of what only one may use.
    things: PhantomData<fn(T) -> T>,
}

impl<T: OnePointer> Pool<T> {
    #[doc(hidden)]
    pub fn new() -> Self {
        Pool { idle: std::array::from_fn(|_| AtomicPtr::new(ptr::null_mut())), things: PhantomData }
    }

    /// A thing that was idle, if there is one.
    pub fn take(&self) -> Option<T> {
        self.idle.iter().find_map(|slot| {
            if slot.load(Ordering::Relaxed).is_null() {
                return None;
            }
            let pointer = NonNull::new(slot.swap(ptr::null_mut(), Ordering::Acquire))?;
            // SAFETY: `put` took a `T` apart into this pointer, and the swap has made it ours alone.
            Some(unsafe { T::from_pointer(pointer) })
        })
    }

    /// Keeps a thing for the next to take, or drops it if there is no room.
    pub(crate) fn put(&self, thing: T) {
        let Some(pointer) = thing.into_pointer() else { return };
        let is_kept = self.idle.iter().any(|slot| {
            slot.load(Ordering::Relaxed).is_null()
                && slot
                    .compare_exchange(ptr::null_mut(), pointer.as_ptr(), Ordering::Release, Ordering::Relaxed)
                    .is_ok()
        });
        if !is_kept {
            // SAFETY: it was just taken apart and is not in the pool.
            drop(unsafe { T::from_pointer(pointer) });
        }
    }
}

impl<T: OnePointer> Drop for Pool<T> {
    fn drop(&mut self) {
        for slot in &self.idle {
            if let Some(pointer) = NonNull::new(slot.load(Ordering::Relaxed)) {
                // SAFETY: `put` took a `T` apart into this pointer, and nobody takes it any more.
                drop(unsafe { T::from_pointer(pointer) });
            }
        }
    }
}

/// A thing from a pool, or a new one; it goes to the pool when dropped.
pub struct Lease<'p, T: OnePointer> {
    pool: &'p Pool<T>,
    thing: ManuallyDrop<T>,
}

impl<'p, T: OnePointer> Lease<'p, T> {
    /// A thing that was idle, or one that is made now.
    pub fn new<E>(pool: &'p Pool<T>, make: impl FnOnce() -> Result<T, E>) -> Result<Self, E> {
        Ok(Lease { pool, thing: ManuallyDrop::new(pool.take().map_or_else(make, Ok)?) })
    }
}

impl<T: OnePointer> Deref for Lease<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.thing
    }
}

impl<T: OnePointer> DerefMut for Lease<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.thing
    }
}

impl<T: OnePointer> Drop for Lease<'_, T> {
    fn drop(&mut self) {
        // SAFETY: the lease is being dropped, so the thing is not used after this.
        self.pool.put(unsafe { ManuallyDrop::take(&mut self.thing) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alloc::Scratch;

    #[test]
    fn what_is_put_back_is_taken_again() {
        let pool = Pool::new();
        assert!(pool.take().is_none());
        let mut scratch = Scratch::EMPTY;
        let place = scratch.room(100).unwrap().as_ptr().addr();
        pool.put(scratch);
        let mut scratch: Scratch = pool.take().unwrap();
        assert_eq!(scratch.room(100).unwrap().as_ptr().addr(), place);
        assert!(pool.take().is_none());
    }

    #[test]
    fn threads_share_a_pool() {
        let pool = Pool::new();
        std::thread::scope(|scope| {
            for thread in 0..4u8 {
                let pool = &pool;
                scope.spawn(move || {
                    for _ in 0..if cfg!(miri) { 20 } else { 2000 } {
                        let mut scratch = pool.take().unwrap_or(Scratch::EMPTY);
                        let room = scratch.room(64).unwrap();
                        room.fill(std::mem::MaybeUninit::new(thread));
                        // SAFETY: it was just filled.
                        assert!(room.iter().all(|byte| unsafe { byte.assume_init() } == thread));
                        pool.put(scratch);
                    }
                });
            }
        });
    }
}
