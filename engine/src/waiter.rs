//! Who waits for what a thread has in flight.
//!
//! A store or a place that is asked first and answers later gives back whichever request of the thread's has ended. So
//! as long as there are any, all of them have to be those of one transfer. Another one, which a callback of the first
//! would begin, could be given requests that are not its own, while its own are still being answered.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ptr;

use crate::error::{ErrorKind, Result};
use crate::shared::Shared;

thread_local! {
    /// Who waits in this thread, each for answers of somebody else; the last one first.
    static WAITERS: Cell<*const Waiting> = const { Cell::new(ptr::null()) };
}

/// A transfer that may have requests in flight, of one who answers them.
pub struct Waiter(Shared<Waiting>);

struct Waiting {
    answers: *const (),
    num_in_flight: Cell<usize>,
    before: Cell<*const Waiting>,
}

impl Waiter {
    /// A transfer without requests in flight. Who answers them is known by an address.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new<T: ?Sized>(answers: &T) -> Result<Self> {
        let (answers, num_in_flight) = (ptr::from_ref(answers).cast(), Cell::new(0));
        Ok(Waiter(Shared::new(Waiting { answers, num_in_flight, before: Cell::new(ptr::null()) })?))
    }

    /// Looks for one who waits in this thread.
    fn find(mut is_it: impl FnMut(&Waiting) -> bool) -> bool {
        let mut next = WAITERS.get();
        // SAFETY: who is in the list is this thread's, for a waiter cannot be sent, and leaves it before it is dropped.
        while let Some(waiting) = unsafe { next.as_ref() } {
            if is_it(waiting) {
                return true;
            }
            next = waiting.before.get();
        }
        false
    }

    /// Refuses to start a request while another transfer of this thread has requests in flight there.
    ///
    /// # Errors
    /// `Argument`.
    pub fn check(&self) -> Result<()> {
        let is_another = |other: &Waiting| other.answers == self.0.answers && !ptr::eq(other, &*self.0);
        if self.0.num_in_flight.get() == 0 && Waiter::find(is_another) {
            const REASON: &str = "a callback must not read while its thread has other reads in flight";
            return Err(ErrorKind::Argument(REASON).into());
        }
        Ok(())
    }

    /// Whether there are requests in flight.
    pub fn has_any(&self) -> bool {
        self.0.num_in_flight.get() > 0
    }

    /// Notes that a request has been started.
    pub fn started(&self) {
        if self.0.num_in_flight.replace(self.0.num_in_flight.get() + 1) == 0 {
            self.0.before.set(WAITERS.replace(&raw const *self.0));
        }
    }

    /// Notes that a request has ended.
    pub fn ended(&self) {
        match self.0.num_in_flight.get() {
            0 => {}
            1 => self.all_ended(),
            more => self.0.num_in_flight.set(more - 1),
        }
    }

    /// Notes that all have ended.
    pub fn all_ended(&self) {
        if self.0.num_in_flight.replace(0) == 0 {
            return;
        }
        let (this, before) = (&raw const *self.0, self.0.before.get());
        if WAITERS.get() == this {
            return WAITERS.set(before);
        }
        Waiter::find(|other| {
            let is_next = other.before.get() == this;
            if is_next {
                other.before.set(before);
            }
            is_next
        });
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        self.all_ended();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_waits_at_a_time() {
        let (here, there) = (1, 2);
        let [one, other, beside] = [&here, &here, &there].map(|answers| Waiter::new(answers).unwrap());
        let refused = || [&one, &other, &beside].map(|waiter| waiter.check().is_err());
        assert_eq!(refused(), [false; 3]);
        one.started();
        one.started();
        beside.started();
        assert_eq!(refused(), [false, true, false]);
        one.ended();
        assert_eq!(refused(), [false, true, false]);
        one.ended();
        one.ended();
        assert_eq!(refused(), [false; 3]);
        // In another order than they began.
        other.started();
        assert_eq!(refused(), [true, false, false]);
        drop(beside);
        other.all_ended();
        assert_eq!((one.check().is_ok(), WAITERS.get().is_null()), (true, true));
        one.started();
        std::thread::scope(|scope| {
            scope.spawn(|| assert!(WAITERS.get().is_null()));
        });
        drop(one);
        assert!(other.check().is_ok());
    }
}
