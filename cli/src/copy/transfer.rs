//! The elements of a selection to a new array, which is there once it is complete.

use std::ffi::c_int;

use indicatif::ProgressBar;
use nczchunk::object::Storage;
use nczchunk::{
    Access, Array, ElementType, ErrorKind, Hyperslab, Options, Progress, RechunkOptions, RechunkPlan, rechunk_in,
    rechunk_plan,
};

use super::new_array::NewArray;
use crate::failure::Result;
use crate::interrupt;
use crate::progress;
use crate::slab::Selection;

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
            .with_transfer(Options::default().with_threads(self.threads));
        self.temporary.as_ref().map_or(options, |storage| options.with_temporary(storage))
    }

    /// The plan for an array, and the memory that there is for it.
    fn plan(&self, new: &NewArray, source: &Array, selection: &Selection) -> Result<(RechunkPlan, usize)> {
        let kept: Vec<usize> = selection.kept().collect();
        let with = |memory| {
            new.describe(source, selection, |description| {
                let options = self.options(selection, &kept).with_memory(memory);
                Ok(rechunk_plan(source, description, &options).map(|plan| (plan, memory)))
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
            _ => new.refused("", &error),
        })
    }
}

/// How an array would be transferred.
pub(super) fn plan(new: &NewArray, source: &Array, selection: &Selection, how: &How) -> Result<RechunkPlan> {
    Ok(how.plan(new, source, selection)?.0)
}

/// Makes a new array of the elements of a selection. The plan is that by which it was done; there is none for
/// variable-length strings, nor for an array that an earlier call has completed, which `is_continued` leaves as it is.
pub(super) fn transfer(
    new: &NewArray,
    source: &Array,
    selection: &Selection,
    (storage, name): (&Storage, &str),
    how: &How,
    is_continued: bool,
) -> Result<(Array, Option<(RechunkPlan, usize)>)> {
    if *source.element_type() == ElementType::String {
        return Ok((strings(new, source, selection, (storage, name), is_continued)?, None));
    }
    let (plan, memory) = how.plan(new, source, selection)?;
    let bar = progress::of_bytes(plan.num_bytes.saturating_mul(2 * plan.passes.len() as u64));
    let kept: Vec<usize> = selection.kept().collect();
    let tell = |at: Progress| tell(&bar, at);
    let transfer = Options::default().with_threads(how.threads).with_progress(&tell);
    let done = new.describe(source, selection, |description| {
        let options = how.options(selection, &kept).with_memory(memory).with_transfer(transfer);
        Ok(rechunk_in(source, storage, name, description, &options))
    })?;
    bar.finish_and_clear();
    if is_continued && done.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotOverwritten) {
        return Ok((Array::open_in(storage, name, Access::Write)?, None));
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

/// Shows how far it has come, and whether to go on.
fn tell(bar: &ProgressBar, at: Progress) -> c_int {
    bar.set_length(at.num_bytes as u64);
    bar.set_position(at.bytes_done as u64);
    c_int::from(interrupt::is_wished())
}

/// The same for variable-length strings, chunk by chunk. What is there of an array that is not complete is made again
/// if it `is_continued`.
fn strings(
    new: &NewArray,
    source: &Array,
    selection: &Selection,
    (storage, name): (&Storage, &str),
    is_continued: bool,
) -> Result<Array> {
    let begun = new.describe(source, selection, |description| {
        let description = if is_continued { description.with_overwrite(true) } else { *description };
        Array::unwritten(storage, name, &description).map_err(|error| new.refused(name, &error))
    })?;
    if is_continued && begun.is_written(storage, name)? {
        return Ok(Array::open_in(storage, name, Access::Write)?);
    }
    begun.make_room(storage, name).map_err(|error| new.refused(name, &error))?;
    let to = &begun.array;
    let dimensions = to.variable().grid(Access::Write).dimensions();
    let num_chunks: usize = dimensions.iter().map(nczchunk::Dimension::num_chunks).product();
    for number in 0..num_chunks {
        interrupt::check()?;
        let (mut rest, mut start, mut count) = (number, vec![0; dimensions.len()], vec![0; dimensions.len()]);
        for (d, dimension) in dimensions.iter().enumerate().rev() {
            let chunk = rest % dimension.num_chunks();
            rest /= dimension.num_chunks();
            let extent = dimension.chunk(chunk as isize);
            (start[d], count[d]) = extent.map_or((0, 0), |extent| (extent.start, extent.len));
        }
        let (mut first, mut of_source) = (vec![0; selection.rank()], selection.count.clone());
        for (i, d) in selection.kept().enumerate() {
            (first[d], of_source[d]) = (start[i], count[i]);
        }
        let texts = source.read_strings(&selection.part(&first, &of_source).hyperslab())?;
        to.write_strings(&Hyperslab::new(&start, &count), &texts)?;
    }
    begun.write(storage, name)?;
    Ok(begun.array)
}
