//! The elements of a selection to a new array, which is there once it is complete.

use std::collections::BTreeSet;
use std::ffi::c_int;
use std::ops::Range;

use indicatif::ProgressBar;
use nczchunk::object::Storage;
use nczchunk::{
    Access, Array, Dimension, ElementType, ErrorKind, Hyperslab, Options, Progress, RechunkOptions, RechunkPlan,
    rechunk_in, rechunk_plan,
};

use super::new_array::{NewArray, Part};
use crate::failure::{Failure, Result};
use crate::interrupt;
use crate::progress;
use crate::slab::Selection;
use crate::storage::num_chunks;

/// How elements are transferred.
pub(super) struct How {
    threads: usize,
    memory: usize,
    /// Whether the memory may be exceeded where it is too little.
    is_wish: bool,
    temporary: Option<Storage>,
}

impl How {
    /// For a copy, which takes more memory only if a chunk needs it.
    pub(super) fn copy(threads: usize) -> Self {
        How { threads, memory: 256 << 20, is_wish: true, temporary: None }
    }

    /// Within so many bytes, and with temporary arrays elsewhere if there is a storage for them.
    pub(super) fn within(memory: usize, threads: usize, temporary: Option<Storage>) -> Self {
        How { threads, memory, is_wish: false, temporary }
    }

    fn options<'a>(&'a self, selection: &'a Selection, kept: &'a [usize]) -> RechunkOptions<'a> {
        let options = RechunkOptions::default()
            .with_memory(self.memory)
            .with_selection(selection.hyperslab(), kept)
            .with_longer_target()
            .with_transfer(Options::default().with_threads(self.threads));
        self.temporary.as_ref().map_or(options, |storage| options.with_temporary(storage))
    }

    /// The plan for an array, and the memory that there is for it.
    fn plan(&self, new: &NewArray, part: &Part<'_>) -> Result<(RechunkPlan, usize)> {
        let kept: Vec<usize> = part.selection.kept().collect();
        let with = |memory| {
            new.describe(part, |description| {
                let options = self.options(part.selection, &kept).with_memory(memory);
                Ok(rechunk_plan(part.source, description, &options).map(|plan| (plan, memory)))
            })
        };
        let planned = match with(self.memory)? {
            Err(error) => match error.kind() {
                ErrorKind::RechunkMemory { needed, .. } if self.is_wish => with(needed)?,
                _ => Err(error),
            },
            planned => planned,
        };
        planned.map_err(|error| match error.kind() {
            ErrorKind::RechunkMemory { .. } => error.into(),
            _ => new.refused(part.source.name(), &error),
        })
    }
}

/// How an array would be transferred.
pub(super) fn plan(new: &NewArray, part: &Part<'_>, how: &How) -> Result<RechunkPlan> {
    Ok(how.plan(new, part)?.0)
}

/// Makes a new array of a part of the source. The plan is that by which it was done; there is none for
/// variable-length strings, nor for an array that an earlier call has completed, which `is_continued` leaves as it is.
pub(super) fn transfer(
    new: &NewArray,
    part: &Part<'_>,
    (storage, name): (&Storage, &str),
    how: &How,
    is_continued: bool,
) -> Result<(Array, Option<(RechunkPlan, usize)>)> {
    let &Part { source, selection, .. } = part;
    if *source.element_type() == ElementType::String {
        return Ok((strings(new, part, (storage, name), is_continued)?, None));
    }
    let (plan, memory) = how.plan(new, part)?;
    let bar = progress::of_bytes(plan.num_bytes.saturating_mul(2 * plan.passes.len() as u64));
    let kept: Vec<usize> = selection.kept().collect();
    let tell = |at: Progress| tell(&bar, at);
    let transfer = Options::default().with_threads(how.threads).with_progress(&tell);
    let done = new.describe(part, |description| {
        let options = how.options(selection, &kept).with_memory(memory).with_transfer(transfer);
        Ok(rechunk_in(source, storage, name, description, &options))
    })?;
    bar.finish_and_clear();
    if is_continued && done.as_ref().is_err_and(is_of_written) {
        if let Ok(written) = Array::open_in(storage, name, Access::Write) {
            nczchunk::remove_rechunk_remains(storage, name)?;
            return Ok((written, None));
        }
    }
    let done = done.map_err(|error| match error.kind() {
        ErrorKind::NotOverwritten | ErrorKind::Exists | ErrorKind::Argument(_) | ErrorKind::Unsupported(_) => {
            new.refused(name, &error)
        }
        _ => error.into(),
    })?;
    interrupt::check()?;
    Ok((done.array, Some((done.plan, done.boxes_resumed))))
}

/// Whether an array may have been written by an earlier call, which may have listed it for netCDF-C.
fn is_of_written(error: &nczchunk::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotOverwritten | ErrorKind::Unsupported(_))
}

/// Shows how far it has come, and whether to go on.
fn tell(bar: &ProgressBar, at: Progress) -> c_int {
    bar.set_length(at.num_bytes as u64);
    bar.set_position(at.bytes_done as u64);
    c_int::from(interrupt::is_wished())
}

/// The same for variable-length strings, chunk by chunk. What is there of an array that is not complete is made again
/// if it `is_continued`.
fn strings(new: &NewArray, part: &Part<'_>, (storage, name): (&Storage, &str), is_continued: bool) -> Result<Array> {
    let &Part { source, selection, .. } = part;
    let begun = new.describe(part, |description| {
        let description = if is_continued { description.with_overwrite(true) } else { *description };
        Ok(Array::unwritten(storage, name, &description))
    })?;
    if is_continued && begun.as_ref().is_err_and(is_of_written) {
        if let Ok(written) = Array::open_in(storage, name, Access::Write) {
            return Ok(written);
        }
    }
    let begun = begun.map_err(|error| new.refused(name, &error))?;
    if is_continued && begun.is_written(storage, name)? {
        return Ok(Array::open_in(storage, name, Access::Write)?);
    }
    begun.make_room(storage, name).map_err(|error| new.refused(name, &error))?;
    let to = &begun.array;
    let dimensions = to.variable().grid(Access::Write).dimensions();
    let mut one = |chunk: &[usize]| -> Result<()> {
        interrupt::check()?;
        let (mut start, mut count) = (vec![0; dimensions.len()], vec![0; dimensions.len()]);
        for (d, dimension) in dimensions.iter().enumerate() {
            let extent = dimension.chunk(chunk[d] as isize);
            (start[d], count[d]) = extent.map_or((0, 0), |extent| (extent.start, extent.len));
        }
        let (mut first, mut of_source) = (vec![0; selection.rank()], selection.count.clone());
        for (i, d) in selection.kept().enumerate() {
            count[i] = count[i].min(selection.count[d].saturating_sub(start[i]));
            (first[d], of_source[d]) = (start[i], count[i]);
        }
        if count.contains(&0) {
            return Ok(());
        }
        let texts = source.read_strings(&selection.part(&first, &of_source).hyperslab())?;
        Ok(to.write_strings(&Hyperslab::new(&start, &count), &texts)?)
    };
    let num_chunks = num_chunks(to);
    if num_chunks <= MOST_CHUNKS {
        let all: Vec<Range<usize>> = dimensions.iter().map(|dimension| 0..dimension.num_chunks()).collect();
        each_chunk(&all, &mut one)?;
    } else if let Some(chunks) = with_stored(source, selection, dimensions)? {
        chunks.iter().try_for_each(|chunk| one(chunk))?;
    } else {
        return Err(Failure::failed(format_args!(
            "the new array has {num_chunks} chunks, too many to go through one by one; larger --chunks help"
        )));
    }
    begun.write(storage, name)?;
    Ok(begun.array)
}

/// The most chunks that are gone through whether anything is stored of them or not.
const MOST_CHUNKS: u128 = 1 << 28;

/// Calls a function with the indices of each chunk in a range along each dimension.
fn each_chunk(ranges: &[Range<usize>], one: &mut dyn FnMut(&[usize]) -> Result<()>) -> Result<()> {
    if ranges.iter().any(Range::is_empty) {
        return Ok(());
    }
    let mut chunk: Vec<usize> = ranges.iter().map(|range| range.start).collect();
    loop {
        one(&chunk)?;
        let Some(d) = (0..ranges.len()).rev().find(|&d| chunk[d] + 1 < ranges[d].end) else { return Ok(()) };
        chunk[d] += 1;
        (d + 1..ranges.len()).for_each(|after| chunk[after] = ranges[after].start);
    }
}

/// The chunks of a new array that have elements of which something is stored; `None` where what is stored cannot be
/// listed.
fn with_stored(source: &Array, selection: &Selection, new: &[Dimension]) -> Result<Option<BTreeSet<Vec<usize>>>> {
    let mut objects = Vec::new();
    let is_listed = source.each_stored_object(&mut |indices| {
        objects.push(indices.to_vec());
        Ok(())
    })?;
    let stored = source.variable().grid(Access::Write).dimensions();
    let mut chunks = BTreeSet::new();
    for object in objects {
        // The elements of the selection that the object has along each dimension.
        let inside: Vec<Range<usize>> = (0..selection.rank())
            .map(|d| {
                let (start, end) =
                    stored[d].chunk(object[d]).map_or((0, 0), |chunk| (chunk.start, chunk.start + chunk.len));
                let nth =
                    |at: usize| at.saturating_sub(selection.start[d]).div_ceil(selection.stride[d].unsigned_abs());
                nth(start)..nth(end).min(selection.count[d])
            })
            .collect();
        if inside.iter().any(Range::is_empty) {
            continue;
        }
        let along = |(new, d): (&Dimension, usize)| {
            new.num_chunks_of(inside[d].start + 1) - 1..new.num_chunks_of(inside[d].end)
        };
        let ranges: Vec<Range<usize>> = new.iter().zip(selection.kept()).map(along).collect();
        each_chunk(&ranges, &mut |chunk| {
            chunks.insert(chunk.to_vec());
            Ok(())
        })?;
    }
    Ok(is_listed.then_some(chunks))
}
