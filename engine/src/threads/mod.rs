//! The threads of a call.
//!
//! A call starts threads and joins them before it returns, so none outlives it. If the program has a [`Team`], they
//! stay there and wait for the next call.
//!
//!   station.rs   where threads wait for work and do it
//!   system.rs    how a thread is started and joined
#![allow(unsafe_code)]

mod station;
mod system;

use std::cell::UnsafeCell;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};

use smallvec::SmallVec;

use crate::alloc::{self, Failed};
use crate::cancel::CancelGuard;
use crate::panic_guard;
use station::Station;
use system::Thread;

/// How many threads a call may use, and the team that keeps them, if there is one.
#[derive(Clone, Copy)]
pub struct Threads<'t> {
    most: usize,
    team: Option<&'t Team>,
}

impl<'t> Threads<'t> {
    /// The calling thread alone.
    pub const ONE: Self = Threads { most: 1, team: None };

    /// Up to so many threads, the calling one included; at least one.
    pub fn new(most: usize, team: Option<&'t Team>) -> Self {
        Threads { most: most.max(1), team }
    }

    /// How many threads there may be, the calling one included.
    pub fn most(self) -> usize {
        self.most
    }

    /// How many each of so many threads may use.
    #[must_use]
    pub fn divided_by(self, threads: usize) -> Self {
        Threads::new(self.most / threads.max(1), self.team)
    }

    /// Runs `own` in this thread and, at the same time, `work` once in each of up to `threads - 1` others; returns when
    /// all have returned. Where the system refuses a thread, or one is not there before `own` returns, the others do
    /// its share. A panic in any of them ends there, and `failed` is called for it.
    pub fn run(self, threads: usize, work: &(dyn Fn() + Sync), own: impl FnOnce(), failed: &(dyn Fn() + Sync)) {
        let work = || {
            if panic_guard::catch(work).is_none() {
                failed();
            }
        };
        let own = || {
            if panic_guard::catch(own).is_none() {
                failed();
            }
        };
        let others = threads.saturating_sub(1);
        if others == 0 {
            return own();
        }
        let (mut entered, mut of_call) = (self.team.and_then(Team::enter), None);
        let (stay, crew) = match &mut entered {
            Some(entered) => (true, entered.crew()),
            None => (false, Crew::new().map(|crew| of_call.insert(crew))),
        };
        match crew {
            Ok(crew) => crew.run(others, stay, &work, own),
            Err(Failed) => own(),
        }
    }
}

/// Threads that stay between calls, and wait there for the next.
///
/// They are started when a call has use for them, up to the number that it may use, and end when the team is dropped,
/// which waits for them. One call at a time uses a team; another one at the same time starts threads of its own. In a
/// forked child, where the threads do not exist, the team is empty.
pub struct Team {
    is_in_use: AtomicBool,
    crew: UnsafeCell<Option<Crew>>,
}

// SAFETY: only who has set `is_in_use` uses the crew.
unsafe impl Sync for Team {}

impl Default for Team {
    fn default() -> Self {
        Team::new()
    }
}

impl Team {
    /// A team without threads.
    pub const fn new() -> Self {
        Team { is_in_use: AtomicBool::new(false), crew: UnsafeCell::new(None) }
    }

    /// The team for this call alone; `None` if another one uses it or, in a forked child, used it at the fork.
    fn enter(&self) -> Option<Entered<'_>> {
        let entered = self.is_in_use.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed);
        entered.is_ok().then(|| Entered(self))
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        // A call that uses it is one of another process, of which this one was forked. What it was changing is left.
        if *self.is_in_use.get_mut() {
            std::mem::forget(self.crew.get_mut().take());
        }
    }
}

/// A team that one call uses.
struct Entered<'t>(&'t Team);

impl Entered<'_> {
    fn crew(&mut self) -> Result<&mut Crew, Failed> {
        // SAFETY: as long as this lives nobody else uses the crew.
        let crew = unsafe { &mut *self.0.crew.get() };
        if crew.as_ref().is_none_or(|crew| !crew.is_here()) {
            *crew = Some(Crew::new()?);
        }
        crew.as_mut().ok_or(Failed)
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.0.is_in_use.store(false, Ordering::Release);
    }
}

/// Some threads, and where they wait. They are joined when this is dropped.
struct Crew {
    /// The process that the threads are in.
    process: u32,
    /// Where it is as long as there are threads.
    station: Box<Station>,
    threads: SmallVec<[Thread; 16]>,
    is_closed: bool,
}

impl Crew {
    fn new() -> Result<Self, Failed> {
        Ok(Crew {
            process: process::id(),
            station: alloc::try_box(Station::new())?,
            threads: SmallVec::new(),
            is_closed: false,
        })
    }

    /// Whether the threads are in this process, and not in the one that forked it.
    fn is_here(&self) -> bool {
        self.process == process::id()
    }

    /// Runs `own` here, and `work` in up to so many other threads. After that the threads end, unless they are to stay.
    fn run(&mut self, others: usize, stay: bool, work: &(dyn Fn() + Sync), own: impl FnOnce()) {
        let offer = self.station.offer(others, work, !stay);
        self.is_closed = !stay;
        // SAFETY: the station stays where it is until `drop` has joined the threads.
        unsafe { system::start(&mut self.threads, others, &self.station) };
        // If this was the only thread before, it could not be cancelled; now a callback in another one could do it.
        let _held = CancelGuard::hold();
        own();
        drop(offer);
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        // In a forked child nobody uses the station any more, and its lock may be held for ever.
        if !self.is_here() {
            return;
        }
        if !self.is_closed {
            self.station.close();
        }
        let _held = CancelGuard::hold();
        self.threads.drain(..).for_each(Thread::join);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::sync::atomic::AtomicUsize;
    use std::sync::{Barrier, Mutex};
    use std::thread;

    /// Has so many threads meet, and tells who was there.
    fn meet(threads: Threads<'_>, num: usize) -> HashSet<thread::ThreadId> {
        let (barrier, found) = (Barrier::new(num), Mutex::new(HashSet::new()));
        let work = || {
            found.lock().unwrap().insert(thread::current().id());
            barrier.wait();
        };
        threads.run(num, &work, work, &|| panic!("nothing fails"));
        found.into_inner().unwrap()
    }

    #[test]
    fn a_team_keeps_its_threads_and_a_call_without_keeps_none() {
        let team = Team::new();
        let kept = meet(Threads::new(3, Some(&team)), 3);
        assert_eq!(kept.len(), 3);
        // Of fewer there are some, of more there are all.
        assert!(meet(Threads::new(3, Some(&team)), 2).is_subset(&kept));
        assert!(meet(Threads::new(4, Some(&team)), 4).is_superset(&kept));
        let own = HashSet::from([thread::current().id()]);
        assert!(kept.intersection(&meet(Threads::new(3, None), 3)).eq(&own));
    }

    #[test]
    fn a_team_that_is_in_use_is_not_waited_for() {
        let team = Team::new();
        let threads = Threads::new(2, Some(&team));
        let found = Mutex::new(Vec::new());
        let within = || found.lock().unwrap().push(meet(threads, 2).len());
        threads.run(2, &within, within, &|| panic!("nothing fails"));
        // The other one may not have been there in time.
        let found = found.into_inner().unwrap();
        assert!(!found.is_empty() && found.iter().all(|&num| num == 2));
    }

    #[test]
    fn a_panic_ends_in_its_thread() {
        let (team, failed, barrier) = (Team::new(), AtomicUsize::new(0), Barrier::new(3));
        let work = || {
            barrier.wait();
            panic!("on purpose");
        };
        for threads in [Threads::new(3, Some(&team)), Threads::new(3, None)] {
            let fail = || _ = failed.fetch_add(1, Ordering::Relaxed);
            threads.run(3, &work, work, &fail);
        }
        assert_eq!(failed.into_inner(), 6);
        assert_eq!(meet(Threads::new(3, Some(&team)), 3).len(), 3);
    }

    /// As in a child, where the threads are not.
    #[test]
    fn another_process_has_a_team_of_its_own() {
        let mut team = Team::new();
        let before = meet(Threads::new(2, Some(&team)), 2);
        let crew = team.crew.get_mut().as_mut().unwrap();
        crew.station.close();
        crew.threads.drain(..).for_each(Thread::join);
        crew.process += 1;
        let after = meet(Threads::new(2, Some(&team)), 2);
        assert_eq!(before.intersection(&after).count(), 1);
        assert!(team.crew.get_mut().as_ref().unwrap().is_here());
    }
}
