//! Where threads wait for work and do it.

use std::mem;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

pub struct Station {
    state: Mutex<State>,
    /// What the threads wait for.
    called: Condvar,
    /// What those wait for who have offered work.
    left: Condvar,
}

struct State {
    offered: Option<Work>,
    /// How many threads may still begin it.
    places: usize,
    /// The number of the offer: a thread does the work of each once.
    number: u64,
    /// How many threads do it.
    working: usize,
    is_closed: bool,
}

/// The work of an offer, which lives until nobody does it any more.
#[derive(Clone, Copy)]
struct Work(*const (dyn Fn() + Sync));

// SAFETY: it may be called from any thread, and the pointer is used as long as the offer lasts.
unsafe impl Send for Work {}

impl Station {
    pub fn new() -> Self {
        let state = State { offered: None, places: 0, number: 0, working: 0, is_closed: false };
        Station { state: Mutex::new(state), called: Condvar::new(), left: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No panic leaves the state half-changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has up to so many threads do the work once each, now or when they come, until the offer is dropped. If it is the
    /// last, the station is closed.
    pub fn offer<'s>(&'s self, threads: usize, work: &'s (dyn Fn() + Sync), is_last: bool) -> Offer<'s> {
        // SAFETY: the two types differ in the lifetime alone, and the work is not done after the offer.
        let work = unsafe { mem::transmute::<*const (dyn Fn() + Sync + 's), *const (dyn Fn() + Sync)>(work) };
        let mut state = self.state();
        (state.offered, state.places, state.is_closed) = (Some(Work(work)), threads, is_last);
        state.number = state.number.wrapping_add(1);
        drop(state);
        for _ in 0..threads {
            self.called.notify_one();
        }
        Offer(self)
    }

    /// Does what is offered, and waits for more until the station is closed. It is what a thread of the station does.
    pub fn serve(&self) {
        let (mut state, mut last) = (self.state(), 0);
        loop {
            match state.offered {
                Some(work) if state.places > 0 && state.number != last => {
                    last = state.number;
                    state.places -= 1;
                    state.working += 1;
                    drop(state);
                    // SAFETY: the offer waits until this is noted below.
                    unsafe { (*work.0)() };
                    state = self.state();
                    state.working -= 1;
                    if state.working == 0 {
                        self.left.notify_one();
                    }
                }
                _ if state.is_closed => return,
                _ => state = self.called.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    /// Has the threads leave: those that do something after that, and those that come later after they have done what
    /// is offered.
    pub fn close(&self) {
        self.state().is_closed = true;
        self.called.notify_all();
    }
}

/// Work that is offered. When it is dropped, no more threads begin it, and those that have begun are waited for.
#[must_use]
pub struct Offer<'s>(&'s Station);

impl Drop for Offer<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        (state.offered, state.places) = (None, 0);
        while state.working > 0 {
            state = self.0.left.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
