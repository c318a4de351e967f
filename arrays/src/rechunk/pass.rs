//! One pass over all elements: box by box from one array to another.
//!
//! A lane is a thread that reads a box, with more threads if it has any, writes it, and takes the next. So one lane
//! reads while another writes. Chunks that are all fill value are not written.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use super::memory::Team;
use crate::alloc;
use crate::error::{Error, ErrorKind, Result};
use crate::grid::Access;
use crate::hyperslab::Hyperslab;
use crate::plan::Plan;
use crate::projection::Projection;
use crate::store::ChunkStore;
use crate::transfer::{Options, Progress};
use crate::variable::Variable;

/// An array as one side of a pass, and what is selected of it.
pub(super) struct Side<'a> {
    pub variable: &'a Variable,
    pub store: &'a ChunkStore<'a>,
    pub start: Vec<usize>,
    pub count: Vec<usize>,
    pub stride: Vec<isize>,
    /// The bytes that are kept of the index of its chunks.
    pub index_bytes: usize,
    /// The dimensions that both sides have. Of any other one element is selected.
    pub kept: Vec<usize>,
}

impl<'a> Side<'a> {
    /// All of an array.
    pub(super) fn all(variable: &'a Variable, store: &'a ChunkStore<'a>, access: Access) -> Self {
        let count: Vec<usize> = variable.grid(access).dimensions().iter().map(crate::grid::Dimension::len).collect();
        let rank = count.len();
        let (start, stride, kept) = (vec![0; rank], vec![1; rank], (0..rank).collect());
        Side { variable, store, start, count, stride, index_bytes: 0, kept }
    }

    /// The shape of what is selected.
    pub(super) fn shape(&self) -> Vec<usize> {
        self.kept.iter().map(|&d| self.count[d]).collect()
    }

    /// Where chunks begin along each dimension of the new array, and where the last one ends. If there are very many,
    /// several of them count as one.
    pub(super) fn bounds(&self, access: Access) -> Result<Vec<Vec<usize>>> {
        const MOST: usize = 1 << 16;
        let slab = Hyperslab::new(&self.start, &self.count).with_signed_stride(&self.stride);
        let plan = Plan::new(self.variable, &slab, access)?;
        let bounds = |&d: &usize| {
            let projections = &plan.dimensions()[d];
            let step = projections.len().div_ceil(MOST).max(1);
            let at = |p: usize| projections.get(p).map(|projection| projection.iopos);
            let mut bounds: Vec<usize> = (0..projections.len()).step_by(step).filter_map(at).collect();
            bounds.push(self.count[d]);
            bounds.sort_unstable();
            bounds.dedup();
            // Of chunks in descending order, the first that is counted may not be the one that holds the first element.
            match bounds.first_mut() {
                Some(first) if self.count[d] > 0 => *first = 0,
                _ => {}
            }
            bounds
        };
        Ok(self.kept.iter().map(bounds).collect())
    }

    /// The plan for a box of the new array.
    fn plan<'p>(
        &'p self,
        from: &[usize],
        lens: &[usize],
        access: Access,
        place: &'p mut (Vec<usize>, Vec<usize>),
    ) -> Result<Plan<'p>> {
        let (start, count) = place;
        start.clone_from(&self.start);
        count.clone_from(&self.count);
        for (i, &d) in self.kept.iter().enumerate() {
            let moved = (from[i] as isize).checked_mul(self.stride[d]).ok_or(ErrorKind::Internal)?;
            start[d] = start[d].checked_add_signed(moved).ok_or(ErrorKind::Internal)?;
            count[d] = lens[i];
        }
        Plan::new(self.variable, &Hyperslab::new(start, count).with_signed_stride(&self.stride), access)
    }

    /// The bytes of a chunk, of those that are largest.
    pub(super) fn chunk_bytes(&self, access: Access) -> usize {
        let dimensions = self.variable.grid(access).dimensions();
        dimensions.iter().fold(self.variable.element_size(), |bytes, d| bytes.saturating_mul(d.chunklen()))
    }

    /// How many chunks a box may touch.
    pub(super) fn chunks_in(&self, lens: &[usize], access: Access) -> usize {
        let dimensions = self.variable.grid(access).dimensions();
        let chunks = |(&d, len): (&usize, &usize)| {
            let reach = len.saturating_mul(self.stride[d].unsigned_abs());
            (reach / dimensions[d].chunklen().max(1)).saturating_add(2).min(*len).min(dimensions[d].num_chunks())
        };
        self.kept.iter().zip(lens).map(chunks).fold(1, usize::saturating_mul)
    }

    /// How many bytes of a chunk are asked for at a time for a box, where ranges are merged that are less than `gap`
    /// apart; none if they land in memory as they are. `None` stands for whole chunks.
    pub(super) fn range(&self, lens: &[usize], gap: Option<usize>) -> usize {
        /// What is read at a time of what lands as it is, but for its byte order.
        const PART: usize = 256 << 10;
        let chunk_bytes = self.chunk_bytes(Access::Read);
        let Some(gap) = gap.filter(|_| self.variable.chunk_order().is_none()) else { return chunk_bytes };
        let mut of = vec![1; self.count.len()];
        self.kept.iter().zip(lens).for_each(|(&d, len)| of[d] = *len);
        let (mut step, mut reach, mut is_whole) = (self.variable.element_size(), self.variable.element_size(), true);
        for (d, dimension) in self.variable.dimensions().iter().enumerate().rev() {
            let (chunk, stride) = (dimension.chunklen(), self.stride[d].unsigned_abs());
            let count = of[d].min(chunk.div_ceil(stride));
            let apart = step.saturating_mul(stride);
            if count > 1 {
                if apart.saturating_sub(reach) >= gap.max(1) {
                    break;
                }
                is_whole &= apart == reach && stride == 1;
                reach = reach.saturating_add((count - 1).saturating_mul(apart));
            }
            // Within a row that is not all of the chunk, the next one does not follow.
            is_whole &= d == 0 || (of[d] == self.count[d] && chunk >= self.count[d]);
            step = step.saturating_mul(chunk);
        }
        if is_whole { PART.min(chunk_bytes) } else { reach.min(chunk_bytes) }
    }

    /// Whether each chunk of such boxes lies in memory in one piece, as it is stored.
    pub(super) fn lies_whole(&self, lens: &[usize]) -> bool {
        let grid = self.variable.grid(Access::Write);
        let whole = |(d, dimension): (usize, &crate::grid::Dimension)| {
            let chunk = dimension.chunklen();
            dimension.chunks().is_none() && self.count[d] % chunk == 0 && (d == 0 || lens[d] == chunk)
        };
        self.variable.chunk_order().is_none() && grid.dimensions().iter().enumerate().all(whole)
    }
}

/// What is done of a call, of all its passes.
pub(super) struct Counters {
    pub boxes: AtomicUsize,
    pub num_boxes: usize,
    /// Bytes that were read from one array, and bytes that were written to another.
    pub bytes: AtomicUsize,
    pub num_bytes: usize,
}

impl Counters {
    fn progress(&self) -> Progress {
        let bytes = self.bytes.load(Relaxed).min(self.num_bytes);
        Progress::new((self.boxes.load(Relaxed), self.num_boxes), (bytes, self.num_bytes))
    }

    /// Tells the program, and asks it whether to go on.
    pub(super) fn ask(&self, options: Options<'_>) -> Result<()> {
        match options.progress().map_or(0, |progress| progress(self.progress())) {
            0 => Ok(()),
            status => Err(ErrorKind::Stopped(status).into()),
        }
    }
}

/// How many boxes there are between cuts along each dimension.
pub(super) fn num_boxes(cuts: &[Vec<usize>]) -> usize {
    cuts.iter().map(|cuts| cuts.len().saturating_sub(1)).fold(1, usize::saturating_mul)
}

/// A pass: boxes between cuts along each dimension, in row-major order.
pub(super) struct Pass<'a> {
    pub source: &'a Side<'a>,
    pub target: &'a Side<'a>,
    pub cuts: &'a [Vec<usize>],
    pub team: Team,
    pub bytes_in_flight: usize,
    pub counters: &'a Counters,
}

/// What is asked before a box, and between its reading and its writing, and told after it.
pub(super) trait Ledger: Sync {
    /// Whether it has to be done.
    fn is_due(&self, number: usize) -> bool;
    /// Whether what was read is what is there.
    fn check(&self) -> Result<()>;
    fn done(&self, number: usize) -> Result<()>;
}

/// What the lanes of a pass share.
struct Shared<'s> {
    next: AtomicUsize,
    has_failed: AtomicBool,
    error: Mutex<Option<Error>>,
    boxes: &'s dyn Ledger,
}

impl Shared<'_> {
    fn fail(&self, error: Error) {
        self.has_failed.store(true, Relaxed);
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
}

/// What ends a transfer of another lane than the one that failed.
const OTHER_LANE: c_int = -1;

impl Pass<'_> {
    pub(super) fn num_boxes(&self) -> usize {
        num_boxes(self.cuts)
    }

    /// Does the boxes that are due. The progress function of the options is called by this thread.
    pub(super) fn run(&self, options: Options<'_>, boxes: &dyn Ledger) -> Result<()> {
        let (next, has_failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        let shared = Shared { next, has_failed, error: Mutex::new(None), boxes };
        let lanes = self.team.lanes.min(self.num_boxes()).max(1);
        let quiet = || {
            if let Err(error) = self.lane(&shared, None) {
                shared.fail(error);
            }
        };
        let own = || {
            if let Err(error) = self.lane(&shared, Some(options)) {
                shared.fail(error);
            }
        };
        options.threads().run(lanes, &quiet, own, &|| shared.fail(ErrorKind::Internal.into()));
        match shared.error.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Does boxes as long as there are any.
    fn lane(&self, shared: &Shared<'_>, options: Option<Options<'_>>) -> Result<()> {
        let (counters, told) = (self.counters, AtomicUsize::new(0));
        let tell = |at: Progress| -> c_int {
            counters.bytes.fetch_add(at.bytes_done.saturating_sub(told.swap(at.bytes_done, Relaxed)), Relaxed);
            if shared.has_failed.load(Relaxed) {
                return OTHER_LANE;
            }
            let progress = options.and_then(|options| options.progress());
            progress.map_or(0, |progress| progress(counters.progress()))
        };
        let kept = crate::Team::new();
        let inner = Options::default()
            .with_threads(self.team.threads)
            .with_team(&kept)
            .with_bytes_in_flight(self.bytes_in_flight)
            .without_cache()
            .with_progress(&tell);
        let fill_value = fill_value(self.target.variable)?;
        let (mut buffer, mut places) = (Vec::new(), [(Vec::new(), Vec::new()), (Vec::new(), Vec::new())]);
        loop {
            let number = shared.next.fetch_add(1, Relaxed);
            if number >= self.num_boxes() || shared.has_failed.load(Relaxed) {
                return Ok(());
            }
            if !shared.boxes.is_due(number) {
                continue;
            }
            let (from, lens) = self.at(number);
            let [one, other] = &mut places;
            let read = self.source.plan(&from, &lens, Access::Read, one)?;
            let bytes = read.selected_bytes();
            if buffer.len() < bytes {
                buffer = Vec::new();
                let most = self.longest_box_bytes().max(bytes);
                buffer.try_reserve_exact(most).map_err(|_| alloc::Failed)?;
                buffer.resize(most, 0);
            }
            let memory = &mut buffer[..bytes];
            told.store(0, Relaxed);
            let stop = |error: Error| {
                let is_others = error.kind() == ErrorKind::Stopped(OTHER_LANE) && shared.has_failed.load(Relaxed);
                if is_others { Ok(()) } else { Err(error) }
            };
            if let Err(error) = read.read_chunks(self.source.store, 0..read.num_chunks(), memory, inner) {
                return stop(error.in_object("the source"));
            }
            shared.boxes.check()?;
            let written = self.target.plan(&from, &lens, Access::Write, other)?;
            if let Err(error) = self.write(&written, &lens, (memory, &fill_value), inner, &told) {
                return stop(error.in_object("the new array"));
            }
            shared.boxes.done(number)?;
            counters.boxes.fetch_add(1, Relaxed);
        }
    }

    /// Where a box begins, and its lengths.
    fn at(&self, mut number: usize) -> (Vec<usize>, Vec<usize>) {
        let (mut from, mut lens) = (vec![0; self.cuts.len()], vec![0; self.cuts.len()]);
        for (d, cuts) in self.cuts.iter().enumerate().rev() {
            let i = number % (cuts.len() - 1);
            number /= cuts.len() - 1;
            (from[d], lens[d]) = (cuts[i], cuts[i + 1] - cuts[i]);
        }
        (from, lens)
    }

    fn longest_box_bytes(&self) -> usize {
        let longest = |cuts: &Vec<usize>| cuts.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
        self.cuts.iter().map(longest).fold(self.target.variable.element_size(), usize::saturating_mul)
    }

    /// Writes a box, without the chunks that are fill values only.
    fn write(
        &self,
        plan: &Plan<'_>,
        lens: &[usize],
        (bytes, fill_value): (&[u8], &[u8]),
        options: Options<'_>,
        told: &AtomicUsize,
    ) -> Result<()> {
        let (mut begin, mut written) = (0, 0);
        let mut projections = vec![Projection::default(); plan.rank()];
        for i in 0..=plan.num_chunks() {
            if i < plan.num_chunks() {
                plan.chunk(i, &mut projections)?;
                if !is_all(&projections, lens, bytes, fill_value) {
                    continue;
                }
            }
            if begin < i {
                told.store(0, Relaxed);
                plan.write_chunks(self.target.store, begin..i, bytes, options)?;
                written += told.load(Relaxed);
            }
            begin = i + 1;
        }
        self.counters.bytes.fetch_add(bytes.len().saturating_sub(written), Relaxed);
        Ok(())
    }
}

/// The fill value as the bytes of an element.
fn fill_value(variable: &Variable) -> Result<Vec<u8>> {
    let mut zeros = Vec::new();
    zeros.try_reserve_exact(variable.element_size()).map_err(|_| alloc::Failed)?;
    zeros.resize(variable.element_size(), 0);
    if let Some(fill_value) = variable.fill_value() {
        zeros.copy_from_slice(fill_value);
    }
    Ok(zeros)
}

/// Whether all elements of a chunk of a box are the fill value.
fn is_all(projections: &[Projection], lens: &[usize], bytes: &[u8], fill_value: &[u8]) -> bool {
    let Some((last, others)) = projections.split_last() else { return bytes == fill_value };
    let size = fill_value.len();
    let row_len = last.iocount * size;
    let rows: usize = others.iter().map(|projection| projection.iocount).product();
    (0..rows).all(|row| {
        // The element of the box that the row begins with.
        let (mut rest, mut at, mut step) = (row, last.iopos, lens[others.len()]);
        for (d, projection) in others.iter().enumerate().rev() {
            at += (projection.iopos + rest % projection.iocount) * step;
            rest /= projection.iocount;
            step *= lens[d];
        }
        bytes[at * size..][..row_len].chunks_exact(size).all(|element| element == fill_value)
    })
}
