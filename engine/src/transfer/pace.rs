//! How long chunks and calls take, from which follows whether other threads are to help.

use std::time::{Duration, Instant};

use super::options::MAX_THREADS;
use crate::clock::Tick;

/// How much work there has to be for each thread that is spawned, which takes 20 to 50 us. Miri has no patience for so
/// much, and is to see the threads.
const WORK_PER_THREAD: Duration = if cfg!(miri) { Duration::from_nanos(1) } else { Duration::from_micros(100) };

/// After how many calls in one tick of the clock, which is 1 to 10 ms, their time is no longer measured in nanoseconds:
/// none of them can have taken long, and to look at that clock takes a tenth of a call.
const CALLS_IN_TICK: u32 = 256;

/// How closely the calls of a program follow each other.
#[derive(Clone, Default)]
pub struct Pace {
    tick: Option<Tick>,
    calls: u32,
}

impl Pace {
    /// Counts a call. If there have been many in this tick, returns that.
    #[inline]
    pub fn next_call(&mut self) -> Option<Tick> {
        let tick = Tick::now()?;
        if self.tick != Some(tick) {
            *self = Pace { tick: Some(tick), calls: 0 };
        }
        self.calls = self.calls.saturating_add(1);
        (self.calls > CALLS_IN_TICK).then_some(tick)
    }
}

/// How long chunks take, any time each, which is found out by doing some.
pub(super) struct Sample {
    since: Since,
    num_chunks: usize,
    /// After how many of them the time is looked at, and how many come after that until it is again.
    pub(super) next: usize,
    block: usize,
    /// How many threads there is use for beside this one.
    pub(super) helpers: usize,
}

/// When a sample began.
enum Since {
    /// There are so few chunks that after those that are timed there are none for others.
    Never,
    /// In a tick of many calls. What takes long goes on after it.
    Tick(Tick),
    /// Then, after so many chunks.
    Time(Instant, usize),
}

impl Sample {
    /// A sample of so many chunks, in a tick of many calls or not.
    pub(super) fn new(num_chunks: usize, tick: Option<Tick>) -> Self {
        let (since, next) = match tick {
            None if num_chunks > 2 => (Since::Time(Instant::now(), 0), 1),
            // One chunk to see that the tick is over, and one to see how long it takes.
            Some(tick) if num_chunks > 3 => (Since::Tick(tick), 1),
            _ => (Since::Never, num_chunks),
        };
        Sample { since, num_chunks, next, block: 1, helpers: 0 }
    }

    /// Whether this thread does more after those before `next`; if not, what is left is worth it to have others help.
    pub(super) fn goes_on(&mut self) -> bool {
        let (done, left) = (self.next, self.num_chunks.saturating_sub(self.next));
        // After ever more at a time, so that it is looked at a few times only.
        self.block *= if self.block == 1 { 8 } else { 2 };
        self.next = self.next.saturating_add(self.block);
        if left <= 1 {
            return true;
        }
        let (elapsed, sampled) = match self.since {
            Since::Never => return true,
            Since::Tick(tick) if Tick::now() == Some(tick) => return true,
            Since::Tick(_) => {
                self.since = Since::Time(Instant::now(), done);
                (self.next, self.block) = (done + 1, 1);
                return true;
            }
            Since::Time(begun, before) => (begun.elapsed(), done - before),
        };
        if elapsed < WORK_PER_THREAD {
            return true;
        }
        let estimate = elapsed.as_secs_f64() * (left as f64 / sampled as f64);
        self.helpers = helpers(Duration::try_from_secs_f64(estimate).unwrap_or(Duration::MAX));
        self.helpers == 0
    }
}

/// How many threads are worth spawning for so much work, of as many as there may be.
pub(super) fn helpers(work: Duration) -> usize {
    // As words, whose division is many times quicker than that of 128 bits.
    let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    (nanoseconds(work) / nanoseconds(WORK_PER_THREAD)).min(MAX_THREADS as u64) as usize
}
