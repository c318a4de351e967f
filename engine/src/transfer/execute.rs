//! The execution of a plan, as a whole or in part, by one thread or more.

use std::ops::Range;
use std::time::Duration;

use super::flight;
use super::options::Options;
use super::pace::{Sample, helpers};
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
    options: &'a Options<'a>,
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
        options: &'a Options<'a>,
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
        let begin = |threads| {
            // SAFETY: workers have different chunks, whose boxes share no memory: where two elements may, there is one
            // worker.
            #[allow(unsafe_code)]
            let out = unsafe { out.alias() };
            let threads = if may_share { threads } else { Threads::ONE };
            (Reading::new(self.plan.variable(), self.store, turn, threads), out)
        };
        self.run(may_share, done, begin, |(reading, out), piece| reading.piece(piece, out))
    }

    /// Reads from a store that is asked for many chunks together.
    fn read_in_flight(&self, reader: &dyn InFlight, out: &Destination<'_>, done: &mut usize) -> Result<()> {
        let (most, has_latency) = (self.max_workers(self.may_share()), reader.has_latency());
        let useful = match has_latency {
            true => Shards::threads(self.plan, self.chunks.len().div_ceil(CHUNKS_PER_WORKER)),
            false => 1 + self.bytes_of_chunk()?.saturating_mul(self.chunks.len()) / BYTES_PER_HELPER,
        };
        let workers = most.min(useful).max(1);
        // Where the chunks of a shard are asked for by one thread, others decode them.
        let helpers = if has_latency && workers < most { most.min(self.coders()?).saturating_sub(workers) } else { 0 };
        self.run_in_flight(reader, (workers, helpers), None, out, done)
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
        let job = flight::Job::new(of, reader, self.tracker(), (1, 0), None, (*self.options, Some(&counted)))?;
        let nothing: &mut [u8] = &mut [];
        job.run_by(Threads::ONE, self.options.progress, &nothing.into());
        job.queue.finish(&mut 0)?;
        let cost = counted.lock().map(|cost| *cost);
        Ok(cost.ok_or(ErrorKind::Internal)?)
    }

    /// Reads into memory, or writes the data if there are any, with many requests in flight: by so many threads with
    /// requests, and so many that only decode.
    fn run_in_flight(
        &self,
        reader: &dyn InFlight,
        (workers, helpers): (usize, usize),
        data: Option<Source<'_>>,
        out: &Destination<'_>,
        done: &mut usize,
    ) -> Result<()> {
        let of = (self.plan, self.store, self.chunks.clone());
        let threads = self.options.threads();
        let data = data.map(|data| (data, threads.divided_by(workers)));
        let job = flight::Job::new(of, reader, self.tracker(), (workers, helpers), data, (*self.options, None))?;
        job.run_by(threads, self.options.progress, out);
        job.queue.finish(done)?;
        job.tracker.finish(self.options.progress);
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
            let workers = self.max_workers(self.may_share());
            return self.run_in_flight(reader, (workers, 0), Some(data), &nothing.into(), done);
        }
        let begin = |threads| Writing::new(self.plan.variable(), self.store, threads);
        self.run(self.may_share(), done, begin, |writing, piece| writing.piece(piece, data))
    }

    fn tracker(&self) -> Tracker {
        Tracker::of_plan(self.options.progress.is_some(), self.plan, &self.chunks)
    }

    /// How many threads may work, this one included, where several may or not.
    #[inline]
    fn max_workers(&self, may_share: bool) -> usize {
        if may_share { self.options.threads().most().min(self.chunks.len()).max(1) } else { 1 }
    }

    /// Whether several threads may do this.
    #[inline]
    fn may_share(&self) -> bool {
        self.options.threads > 1
            && self.store.is_concurrent()
            && self.plan.variable().copier().is_none()
            && (self.plan.access() == Access::Write || self.plan.is_disjoint())
    }

    /// Does `one` for the pieces of all chunks, by several threads if they may share them: by `begin` each thread gets
    /// what it needs for that, if it may use so many threads for a piece. Counts the chunks done.
    #[inline]
    fn run<W>(
        &self,
        may_share: bool,
        done: &mut usize,
        begin: impl Fn(Threads<'a>) -> W + Sync,
        one: impl Fn(&mut W, &Piece<'_>) -> Result<()> + Sync,
    ) -> Result<()> {
        let (access, bytes) = (self.plan.access(), self.plan.selected_bytes());
        let lender = self.store.lender_of(self.plan.variable());
        let is_lending = lender.is_some();
        let volume = piece::volume(self.plan.variable(), access, is_lending, bytes);
        let job = Job { plan: self.plan, prepared: self.prepared, volume, tracker: self.tracker() };
        let is_quick = lender.is_some_and(|lender| !lender.takes_time());
        let mut workers = self.max_workers(may_share);
        if workers > 1 && is_quick {
            workers = workers.min(1 + helpers(self.lending_work()));
        }
        let samples = workers > 1 && !is_quick && !self.has_work_for(workers)?;
        let mut sample = if samples { Sample::new(self.chunks.len()) } else { None };
        if workers == 1 || samples {
            let (threads, progress) = (self.options.threads(), self.options.progress);
            let mut own = begin(threads);
            let mut one = |piece: &Piece<'_>| one(&mut own, piece);
            job.do_in_order(self.chunks.clone(), progress, done, &mut one, &mut sample)?;
        }
        if *done < self.chunks.len() {
            let workers = sample.map_or(workers, |sample| workers.min(1 + sample.helpers));
            self.share(workers, done, &|queue, progress, threads| {
                let mut own = begin(threads);
                job.do_from(queue, workers, progress, |piece| one(&mut own, piece));
            })?;
        }
        job.tracker.finish(self.options.progress);
        Ok(())
    }

    /// Whether there surely is enough to do for so many threads.
    #[cold]
    fn has_work_for(&self, workers: usize) -> Result<bool> {
        Ok(self.coders()? >= workers)
    }

    /// Has the chunks after those that are done be done by so many threads, each of which does `work` for what a queue
    /// has for it.
    #[inline(never)]
    fn share(
        &self,
        workers: usize,
        done: &mut usize,
        work: &(impl Fn(&Queue, Option<ProgressFunction<'_>>, Threads<'a>) + Sync),
    ) -> Result<()> {
        let (before, is_fetching, threads) = (*done, Fetching::is_under_way(), self.options.threads());
        let (queue, each) = (Queue::new(self.chunks.start + before..self.chunks.end), threads.divided_by(workers));
        threads.run(
            workers,
            &|| {
                let _fetching = Fetching::inherited(is_fetching);
                work(&queue, None, each);
            },
            || work(&queue, self.options.progress, each),
            &|| queue.fail_all(ErrorKind::Internal.into()),
        );
        let result = queue.finish(done);
        *done += before;
        result
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
}

impl<'a> Job<'a> {
    /// Does `one` for the pieces of these chunks, one after another; with a sample until that says that others are to
    /// help. An error names the chunk.
    #[inline]
    fn do_in_order(
        &self,
        chunks: Range<usize>,
        progress: Option<ProgressFunction<'_>>,
        done: &mut usize,
        one: &mut impl FnMut(&Piece<'_>) -> Result<()>,
        sample: &mut Option<Sample>,
    ) -> Result<()> {
        let mut pieces = Pieces::new(self);
        let _fence = Fence::new(self.volume);
        loop {
            let until = sample.as_ref().map_or(chunks.len(), |sample| sample.next.min(chunks.len()));
            for chunk in chunks.start + *done..chunks.start + until {
                self.tracker.ask(progress)?;
                pieces.with(chunk, one)?;
                *done += 1;
            }
            if until == chunks.len() || sample.as_mut().is_some_and(|sample| !sample.goes_on()) {
                return Ok(());
            }
        }
    }

    /// Does `one` for the pieces of the chunks that the queue has for this thread, one of so many workers. An error
    /// names the chunk.
    fn do_from(
        &self,
        queue: &Queue,
        workers: usize,
        progress: Option<ProgressFunction<'_>>,
        mut one: impl FnMut(&Piece<'_>) -> Result<()>,
    ) {
        let mut pieces = Pieces::new(self);
        let _fence = Fence::new(self.volume);
        while let Some(block) = queue.take(queue.block(workers)) {
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
    /// To those that were not prepared.
    walk: Walk<'a>,
}

impl<'a> Pieces<'a> {
    #[inline]
    fn new(job: &'a Job<'a>) -> Self {
        Pieces { job, walk: Walk::new(job.plan, job.volume) }
    }

    /// Does `one` for the piece of a chunk. It is found quickest if the chunk is the one after the last.
    #[inline]
    fn with(&mut self, chunk: usize, one: &mut impl FnMut(&Piece<'_>) -> Result<()>) -> Result<()> {
        let job = self.job;
        if let Some(piece) = job.prepared.and_then(|prepared| prepared.piece(chunk)) {
            return job.one(&piece, one);
        }
        self.walk.go_to(chunk)?;
        job.one(&self.walk.piece()?, one)
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
