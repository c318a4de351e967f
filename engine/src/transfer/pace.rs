//! How long chunks and calls take, from which follows whether other threads are to help.

use std::cell::Cell;
use std::time::{Duration, Instant};

use super::options::MAX_THREADS;
use crate::clock::Tick;

/// How much work there has to be for each thread that is spawned, which takes 20 to 50 us. Miri has no patience for so
/// much, and is to see the threads.
const WORK_PER_THREAD: Duration = if cfg!(miri) { Duration::from_nanos(1) } else { Duration::from_micros(100) };

/// After how many calls that began in one tick the next ones are not timed.
const TIMED_CALLS: u32 = 256;

/// In how many ticks with calls all are timed after one that took long.
const TIMED_TICKS: u32 = 1000;

/// More than a tick takes.
const LONG_TICK: Duration = Duration::from_millis(20);

/// What the calls of a thread have taken lately.
///
/// To look at the time twice takes up to a quarter of a small call. So where hundreds of calls began within one tick of
/// the coarse clock, those that follow in it look at that clock alone, which takes a seventh. A long call among
/// them is done by one thread until it looks at the clock after the end of the tick: for about a tick, or longer if the
/// chunks up to the next look take longer. From then on calls are timed in the next thousand ticks, so this is rare.
struct Pace {
    tick: Cell<Option<Tick>>,
    calls: Cell<u32>,
    timed_ticks: Cell<u32>,
}

thread_local! {
    static PACE: Pace = const { Pace { tick: Cell::new(None), calls: Cell::new(0), timed_ticks: Cell::new(0) } };
}

impl Pace {
    /// Counts a call. Returns the tick if the call need not be timed.
    #[inline]
    fn next_call(&self) -> Option<Tick> {
        let tick = Tick::now()?;
        if self.tick.replace(Some(tick)) != Some(tick) {
            self.calls.set(0);
            self.timed_ticks.set(self.timed_ticks.get().saturating_sub(1));
        }
        self.calls.set(self.calls.get().saturating_add(1));
        (self.calls.get() > TIMED_CALLS && self.timed_ticks.get() == 0).then_some(tick)
    }
}

/// How long chunks take, any time each, which is found out by doing some.
pub(super) struct Sample {
    begun: Begun,
    num_chunks: usize,
    /// After how many of them the time is looked at, and how many come after that until it is again.
    pub(super) next: usize,
    block: usize,
    /// How many threads there is use for beside this one.
    pub(super) helpers: usize,
}

/// When a sample began.
enum Begun {
    /// At some time after this tick began.
    In(Tick),
    /// At this time, after so many chunks.
    At(Instant, usize),
}

impl Sample {
    /// A sample of so many chunks; none if there are so few that after the first there are none for others.
    #[inline]
    pub(super) fn new(num_chunks: usize) -> Option<Self> {
        if num_chunks <= 2 {
            return None;
        }
        let begun = match PACE.with(Pace::next_call) {
            Some(tick) => Begun::In(tick),
            None => Begun::At(Instant::now(), 0),
        };
        Some(Sample { begun, num_chunks, next: 1, block: 1, helpers: 0 })
    }

    /// Whether this thread does more after those before `next`; if not, what is left is worth it to have others help.
    #[inline]
    pub(super) fn goes_on(&mut self) -> bool {
        let (done, left) = (self.next, self.num_chunks.saturating_sub(self.next));
        // After ever more at a time, so that it is looked at a few times only.
        self.block *= if self.block == 1 { 8 } else { 2 };
        self.next = self.next.saturating_add(self.block);
        left <= 1 || self.is_short((done, left))
    }

    /// Whether what is left does not take long enough for another thread, as far as is known.
    #[inline]
    fn is_short(&mut self, (done, left): (usize, usize)) -> bool {
        match self.begun {
            Begun::In(tick) => match Tick::now() {
                Some(now) if now == tick => true,
                now => self.is_short_after_tick(tick, now, (done, left)),
            },
            Begun::At(begun, before) => self.is_short_for(begun.elapsed(), done - before, left),
        }
    }

    /// The same when the tick is over.
    #[cold]
    fn is_short_after_tick(&mut self, tick: Tick, now: Option<Tick>, (done, left): (usize, usize)) -> bool {
        self.begun = Begun::At(Instant::now(), done);
        (self.next, self.block) = (done + 1, 1);
        let at_least = now.map_or(Duration::ZERO, |now| now.after(tick)).saturating_sub(LONG_TICK);
        self.is_short_for(at_least, done, left)
    }

    /// The same where so many chunks took that time.
    #[inline]
    fn is_short_for(&mut self, elapsed: Duration, done: usize, left: usize) -> bool {
        if elapsed < WORK_PER_THREAD {
            return true;
        }
        PACE.with(|pace| pace.timed_ticks.set(TIMED_TICKS));
        let estimate = elapsed.as_secs_f64() * (left as f64 / done as f64);
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
