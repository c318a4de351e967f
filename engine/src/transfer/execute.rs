//! The execution of a plan, as a whole or in part, by one thread or more.

use std::ops::Range;
use std::time::{Duration, Instant};

use super::flight;
use super::options::{MAX_THREADS, Options};
use super::piece::{self, Piece, check_store};
use super::prepared::Prepared;
use super::progress::{ProgressFunction, Tracker};
use super::queue::Queue;
use super::read::Reading;
use super::shards::Shards;
use super::walk::Walk;
use super::write::Writing;
use crate::cache::Fetching;
use crate::copy::{Destination, Fence, Source, Volume};
use crate::error::{ErrorKind, Result};
use crate::grid::Access;
use crate::lock::Lock;
use crate::plan::Plan;
use crate::store::{ChunkStore, InFlight, ReadCost};
use crate::threads::Threads;

/// How much work there has to be for each thread that is spawned, which takes 20 to 50 us. Miri has no patience for so
/// much, and is to see the threads.
const WORK_PER_THREAD: Duration = if cfg!(miri) { Duration::from_nanos(1) } else { Duration::from_micros(100) };

/// How many bytes of chunks there are for each thread at least that is spawned to read them together, where they are
/// there at once.
const BYTES_PER_HELPER: usize = if cfg!(miri) { 1 } else { 128 << 10 };

/// The same where the bytes are to be decoded or encoded, for the quickest codecs.
const CODED_BYTES_PER_HELPER: usize = if cfg!(miri) { 1 } else { 512 << 10 };

/// How many chunks there are for each thread at least that has requests in flight.
const CHUNKS_PER_WORKER: usize = 4;

pub(super) fn check_access(plan: &Plan<'_>, access: Access) -> Result<()> {
    if plan.access() == access {
        return Ok(());
    }
    Err(ErrorKind::Argument("the plan was made for reading and is used to write, or the reverse").into())
}

pub(super) fn check_memory(plan: &Plan<'_>, len: usize) -> Result<()> {
    if len == plan.memory_bytes() { Ok(()) } else { Err(ErrorKind::Memory { len }.into()) }
}

/// A plan, or a part of one, to be executed.
pub struct Transfer<'a> {
    plan: &'a Plan<'a>,
    prepared: Option<&'a Prepared>,
    store: &'a ChunkStore<'a>,
    chunks: Range<usize>,
    options: Options<'a>,
}

/// What all threads of a transfer share.
struct Job<'a> {
    plan: &'a Plan<'a>,
    prepared: Option<&'a Prepared>,
    volume: Volume,
    tracker: Tracker,
}

impl<'a> Transfer<'a> {
    /// A transfer of some chunks of a plan; `prepared` is the same plan, if it was prepared.
    ///
    /// # Errors
    /// `Index` and `ChunkRange` if there are no such chunks.
    #[inline]
    pub fn new(
        plan: &'a Plan<'a>,
        prepared: Option<&'a Prepared>,
        store: &'a ChunkStore<'a>,
        chunks: Range<usize>,
        options: Options<'a>,
    ) -> Result<Self> {
        let chunks = plan.chunk_range(chunks.start, chunks.end.saturating_sub(chunks.start))?;
        Ok(Transfer { plan, prepared, store, chunks, options })
    }

    /// Reads into memory that the plan is for, which need not be initialised. `done` receives the number of chunks that
    /// were read, in the plan's order.
    #[inline]
    pub fn read(&self, out: Destination<'_>, done: &mut usize) -> Result<()> {
        check_access(self.plan, Access::Read)?;
        check_memory(self.plan, out.len())?;
        check_store(self.plan.variable(), self.store, Access::Read)?;
        *done = 0;
        match (self.prepared, self.store.lender()) {
            (Some(prepared), Some(lender)) if prepared.is_ready() && self.options.is_default() => {
                let mut out = out;
                return prepared.read_lent(lender, self.chunks.clone(), &mut out, done);
            }
            _ => {}
        }
        out.expect_all_if(|| self.chunks.len() == self.plan.num_chunks() && self.plan.selected_bytes() == out.len());
        if let Some(reader) = self.store.in_flight().filter(|reader| self.chunks.len() > 1 || reader.has_latency()) {
            return self.read_in_flight(reader, &out, done);
        }
        let cache = self.store.cache().filter(|_| self.options.uses_cache);
        let turn = cache.map(|cache| cache.begin());
        let may_share = self.may_share();
        self.run(done, |threads| {
            // SAFETY: workers have different chunks, whose boxes share no memory: where two elements may, there is one
            // worker.
            #[allow(unsafe_code)]
            let mut out = unsafe { out.alias() };
            let mut reading = Reading::new(self.plan.variable(), self.store, turn);
            if may_share {
                reading.threads = threads;
            }
            move |piece: &Piece<'_>| reading.piece(piece, &mut out)
        })
    }

    /// Reads from a store that is asked for many chunks together.
    fn read_in_flight(&self, reader: &dyn InFlight, out: &Destination<'_>, done: &mut usize) -> Result<()> {
        let useful = match reader.has_latency() {
            true => Shards::threads(self.plan, self.chunks.len().div_ceil(CHUNKS_PER_WORKER)),
            false => 1 + self.bytes_of_chunk()?.saturating_mul(self.chunks.len()) / BYTES_PER_HELPER,
        };
        self.run_in_flight(reader, self.max_workers().min(useful).max(1), None, out, done)
    }

    /// How many bytes of each chunk there are to go through: all of it or, if parts are read, what lies between the
    /// first byte that is needed and the last, as in the chunk in the middle.
    fn bytes_of_chunk(&self) -> Result<usize> {
        if self.store.ranged().is_none() {
            return Ok(self.plan.grid().chunk_bytes());
        }
        self.with_piece(self.middle(), |piece| Ok(piece.needed().len()))
    }

    fn middle(&self) -> usize {
        self.chunks.start + self.chunks.len() / 2
    }

    /// What a function says of the piece of a chunk.
    fn with_piece<T>(&self, chunk: usize, function: impl FnOnce(&Piece<'_>) -> Result<T>) -> Result<T> {
        let (variable, bytes) = (self.plan.variable(), self.plan.selected_bytes());
        let mut walk = Walk::new(self.plan, piece::volume(variable, self.plan.access(), false, bytes));
        walk.begin(chunk)?;
        function(&walk.piece()?)
    }

    /// How many threads surely have enough to do, as far as that is known before anything is done: where chunks have
    /// to be decoded or encoded. If the cache has the first chunk, it may have others.
    fn coders(&self) -> Result<usize> {
        let access = self.plan.access();
        if !self.store.has_codecs(access) {
            return Ok(1);
        }
        let cache = self.store.cache().filter(|_| access == Access::Read && self.options.uses_cache);
        let is_cached = |piece: &Piece<'_>| cache.map_or(Ok(false), |cache| cache.has_any_of(piece.indices));
        if self.with_piece(self.chunks.start, is_cached)? {
            return Ok(1);
        }
        let bytes = self.with_piece(self.middle(), |piece| Ok(piece.needed().len()))?;
        Ok(1 + bytes.saturating_mul(self.chunks.len()) / CODED_BYTES_PER_HELPER)
    }

    /// Counts what it takes to read, with one thread, from a storage that gives nothing but lengths and indices. Of a
    /// chunk that the cache has it is counted, too.
    pub(super) fn read_cost(&self) -> Result<ReadCost> {
        check_access(self.plan, Access::Read)?;
        check_store(self.plan.variable(), self.store, Access::Read)?;
        let (reader, counted) = (self.store.counting()?, Lock::new(ReadCost::default()));
        let of = (self.plan, self.store, self.chunks.clone());
        let job = flight::Job::new(of, reader, self.tracker(), 1, None, (self.options, Some(&counted)))?;
        let nothing: &mut [u8] = &mut [];
        job.run(self.options.progress, &nothing.into());
        job.queue.finish(&mut 0)?;
        let cost = counted.lock().map(|cost| *cost);
        Ok(cost.ok_or(ErrorKind::Internal)?)
    }

    /// Reads into memory, or writes the data if there are any, with many requests in flight.
    fn run_in_flight(
        &self,
        reader: &dyn InFlight,
        workers: usize,
        data: Option<Source<'_>>,
        out: &Destination<'_>,
        done: &mut usize,
    ) -> Result<()> {
        let of = (self.plan, self.store, self.chunks.clone());
        let threads = self.options.threads();
        let data = data.map(|data| (data, threads.divided_by(workers)));
        let job = flight::Job::new(of, reader, self.tracker(), workers, data, (self.options, None))?;
        let (progress, is_fetching) = (self.options.progress, Fetching::is_under_way());
        if workers == 1 {
            job.run(progress, out);
        } else {
            threads.run(
                workers,
                &|| {
                    let _fetching = Fetching::inherited(is_fetching);
                    job.run(None, out);
                },
                || job.run(progress, out),
                &|| job.queue.fail_all(ErrorKind::Internal.into()),
            );
        }
        job.queue.finish(done)?;
        job.tracker.finish(progress);
        Ok(())
    }

    /// Writes from memory that the plan is for. `done` receives the number of chunks that were written, in the plan's
    /// order; the one after them failed. With one thread those after that were not tried, unless the store has several
    /// writes in flight.
    pub fn write(&self, data: Source<'_>, done: &mut usize) -> Result<()> {
        check_access(self.plan, Access::Write)?;
        check_memory(self.plan, data.len())?;
        if !self.chunks.is_empty() {
            check_store(self.plan.variable(), self.store, Access::Write)?;
        }
        *done = 0;
        if let Some(reader) = self.store.in_flight().filter(|reader| self.chunks.len() > 1 && reader.stores()) {
            let nothing: &mut [u8] = &mut [];
            return self.run_in_flight(reader, self.max_workers(), Some(data), &nothing.into(), done);
        }
        self.run(done, |threads| {
            let mut writing = Writing::new(self.plan.variable(), self.store, threads);
            move |piece: &Piece<'_>| writing.piece(piece, data)
        })
    }

    fn tracker(&self) -> Tracker {
        Tracker::of_plan(self.options.progress.is_some(), self.plan, &self.chunks)
    }

    /// How many threads may work, this one included.
    fn max_workers(&self) -> usize {
        if self.chunks.len() > 1 && self.may_share() { self.options.threads().most().min(self.chunks.len()) } else { 1 }
    }

    /// Whether several threads may do this.
    fn may_share(&self) -> bool {
        self.options.threads > 1
            && self.store.is_concurrent()
            && self.plan.variable().copier().is_none()
            && (self.plan.access() == Access::Write || self.plan.is_disjoint())
    }

    /// Does the pieces of all chunks: by `begin` each thread gets what it does for a piece, for which it may use so
    /// many threads. Counts the chunks done.
    #[inline]
    fn run<W>(&self, done: &mut usize, begin: impl Fn(Threads<'a>) -> W + Sync) -> Result<()>
    where
        W: FnMut(&Piece<'_>) -> Result<()>,
    {
        let (access, bytes) = (self.plan.access(), self.plan.selected_bytes());
        let lender = self.store.lender_of(self.plan.variable());
        let is_lending = lender.is_some();
        let volume = piece::volume(self.plan.variable(), access, is_lending, bytes);
        let job = Job { plan: self.plan, prepared: self.prepared, volume, tracker: self.tracker() };
        let is_quick = lender.is_some_and(|lender| !lender.takes_time());
        let is_small = || is_quick && helpers(self.lending_work()) == 0;
        let max_workers = if self.options.threads <= 1 || is_small() { 1 } else { self.max_workers() };
        if max_workers == 1 {
            job.do_in_order(self.chunks.clone(), self.options.progress, done, begin(self.options.threads()))?;
        } else {
            let queue = Queue::new(self.chunks.clone());
            self.share(&job, &queue, max_workers, is_quick, &begin)?;
            queue.finish(done)?;
        }
        job.tracker.finish(self.options.progress);
        Ok(())
    }

    /// Has the pieces done by up to so many threads. How that ends is told by the queue.
    ///
    /// # Errors
    /// `OutOfMemory`, and others that a piece would have; then none is begun.
    fn share<W>(
        &self,
        job: &Job<'_>,
        queue: &Queue,
        max_workers: usize,
        is_quick: bool,
        begin: &(impl Fn(Threads<'a>) -> W + Sync),
    ) -> Result<()>
    where
        W: FnMut(&Piece<'_>) -> Result<()>,
    {
        let progress = self.options.progress;
        let workers = match self.coders()? >= max_workers {
            true => max_workers,
            false => max_workers.min(1 + helpers(self.estimate(job, queue, is_quick, begin))),
        };
        let block = || Some(queue.block(workers));
        if workers == 1 {
            job.do_from(queue, block, progress, begin(self.options.threads()));
            return Ok(());
        }
        let (is_fetching, threads) = (Fetching::is_under_way(), self.options.threads());
        let each = threads.divided_by(workers);
        threads.run(
            workers,
            &|| {
                let _fetching = Fetching::inherited(is_fetching);
                job.do_from(queue, block, None, begin(each));
            },
            || job.do_from(queue, block, progress, begin(each)),
            &|| queue.fail_all(ErrorKind::Internal.into()),
        );
        Ok(())
    }

    /// How long one thread takes at least for chunks that are lent.
    fn lending_work(&self) -> Duration {
        /// What a transfer takes by chunk, in nanoseconds.
        const CHUNK: u64 = 30;
        const BYTES_PER_NANOSECOND: u64 = 8;
        let bytes = (self.plan.elements_before(self.chunks.end) - self.plan.elements_before(self.chunks.start))
            .saturating_mul(self.plan.variable().element_size());
        let chunks = (self.chunks.len() as u64).saturating_mul(CHUNK);
        Duration::from_nanos(chunks.saturating_add(bytes as u64 / BYTES_PER_NANOSECOND))
    }

    /// How long one thread will take for what is left to do. For a store that lends at once, that follows from the
    /// bytes; any other may take any time for a chunk, which is found out by doing some.
    fn estimate<W>(
        &self,
        job: &Job<'_>,
        queue: &Queue,
        is_quick: bool,
        begin: &(impl Fn(Threads<'a>) -> W + Sync),
    ) -> Duration
    where
        W: FnMut(&Piece<'_>) -> Result<()>,
    {
        if is_quick {
            return self.lending_work();
        }
        let (all, begun, mut elapsed, mut block) = (queue.num_waiting(), Instant::now(), Duration::ZERO, 1);
        let next = || {
            if queue.num_waiting() == all {
                return Some(block);
            }
            // Ever more at a time, so that a clock is looked at a few times only, and not where nothing is left.
            block *= if block < 16 { 4 } else { 2 };
            elapsed = if queue.num_waiting() > 0 { begun.elapsed() } else { WORK_PER_THREAD };
            (elapsed < WORK_PER_THREAD).then_some(block)
        };
        job.do_from(queue, next, self.options.progress, begin(self.options.threads()));
        let left = queue.num_waiting();
        let estimate = elapsed.as_secs_f64() * (left as f64 / (all - left).max(1) as f64);
        Duration::try_from_secs_f64(estimate).unwrap_or(Duration::MAX)
    }
}

/// How many threads are worth spawning for so much work, of as many as there may be.
fn helpers(work: Duration) -> usize {
    // As words, whose division is many times quicker than that of 128 bits.
    let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    (nanoseconds(work) / nanoseconds(WORK_PER_THREAD)).min(MAX_THREADS as u64) as usize
}

impl<'a> Job<'a> {
    /// Does `one` for the pieces of these chunks, one after another. An error names the chunk.
    #[inline]
    fn do_in_order(
        &self,
        chunks: Range<usize>,
        progress: Option<ProgressFunction<'_>>,
        done: &mut usize,
        mut one: impl FnMut(&Piece<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut pieces = Pieces::new(self);
        let _fence = Fence::new(self.volume);
        for chunk in chunks {
            self.tracker.ask(progress)?;
            pieces.with(chunk, &mut one)?;
            *done += 1;
        }
        Ok(())
    }

    /// Does `one` for the pieces of the chunks that the queue has for this thread, which takes as many at a time as
    /// `next_block` says, until that says none. An error names the chunk.
    fn do_from(
        &self,
        queue: &Queue,
        mut next_block: impl FnMut() -> Option<usize>,
        progress: Option<ProgressFunction<'_>>,
        mut one: impl FnMut(&Piece<'_>) -> Result<()>,
    ) {
        let mut pieces = Pieces::new(self);
        let _fence = Fence::new(self.volume);
        while let Some(block) = next_block().and_then(|block| queue.take(block)) {
            for chunk in block {
                if !queue.wants(chunk) {
                    return;
                }
                let result = self.tracker.ask(progress).and_then(|()| pieces.with(chunk, &mut one));
                if let Err(error) = result {
                    return queue.fail(chunk, error);
                }
            }
        }
    }
}

/// The pieces of a job, as one thread goes through them.
struct Pieces<'a> {
    job: &'a Job<'a>,
    /// Made when the first piece is wanted that was not prepared.
    walk: Option<Walk<'a>>,
}

impl<'a> Pieces<'a> {
    #[inline]
    fn new(job: &'a Job<'a>) -> Self {
        Pieces { job, walk: None }
    }

    /// Does `one` for the piece of a chunk. It is found quickest if the chunk is the one after the last.
    #[inline]
    fn with(&mut self, chunk: usize, one: &mut impl FnMut(&Piece<'_>) -> Result<()>) -> Result<()> {
        let job = self.job;
        if let Some(piece) = job.prepared.and_then(|prepared| prepared.piece(chunk)) {
            return job.one(&piece, one);
        }
        let walk = self.walk.get_or_insert_with(|| Walk::new(job.plan, job.volume));
        walk.go_to(chunk)?;
        job.one(&walk.piece()?, one)
    }
}

impl Job<'_> {
    #[inline(always)]
    fn one(&self, piece: &Piece<'_>, one: &mut impl FnMut(&Piece<'_>) -> Result<()>) -> Result<()> {
        one(piece).map_err(|error| error.in_chunk(piece.indices))?;
        self.tracker.add(|| piece.num_elements() * self.plan.variable().element_size());
        Ok(())
    }
}
