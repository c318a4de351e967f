//! Rechunking: the elements of an array as a new array with other chunks, within a limit of memory.
//!
//! ```text
//!   apart.rs     that the new array and the source are apart
//!   decision.rs  what is done for the arguments of a call
//!   plan.rs      which boxes, and whether in one pass or in two
//!   memory.rs    what memory boxes take
//!   pass.rs      box by box from one array to another
//!   place.rs     where the journal and the temporary array are
//!   journal.rs   what is done, so that a call that was ended is continued
//! ```

mod apart;
mod decision;
mod journal;
mod memory;
mod pass;
mod place;
mod plan;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::array::{Array, Description, Unwritten, create_storage};
use crate::element::ElementType;
use crate::error::{Error, ErrorKind, Result};
use crate::grid::Access;
use crate::hyperslab::Hyperslab;
use crate::object::{Memory, Storage};
use crate::transfer::Options;

use apart::{check_apart, check_path};
use decision::{Decision, temporary};
use journal::Record;
use memory::Needs;
use pass::{Counters, Pass, Side};
use place::{Boxes, Place, remove_below, work_of};

/// How an array is rechunked.
#[derive(Clone, Copy)]
#[must_use]
pub struct RechunkOptions<'a> {
    memory: usize,
    transfer: Options<'a>,
    temporary: Option<&'a Storage>,
    selection: Option<(Hyperslab<'a>, &'a [usize])>,
    may_be_longer: bool,
}

impl Default for RechunkOptions<'_> {
    /// 256 MiB, one thread, all of the source.
    fn default() -> Self {
        RechunkOptions {
            memory: 256 << 20,
            transfer: Options::default(),
            temporary: None,
            selection: None,
            may_be_longer: false,
        }
    }
}

impl<'a> RechunkOptions<'a> {
    /// The same with another limit on the memory, in bytes, that the call takes in addition to what the program has.
    /// Storages that keep what is written in memory, and clients of networks, are not counted.
    pub fn with_memory(self, bytes: usize) -> Self {
        RechunkOptions { memory: bytes, ..self }
    }

    /// The same with threads and a progress callback, which may end the call. Progress counts boxes as chunks, and as
    /// bytes those that are read and those that are written, in all passes. The calling thread calls it.
    pub fn with_transfer(self, transfer: Options<'a>) -> Self {
        RechunkOptions { transfer, ..self }
    }

    /// The same with another storage for the temporary array, such as a local disk. The default is the storage of the
    /// new array, below the array. Several calls may use one storage at the same time. A call that continues another
    /// needs the same storage; what a call that is never continued has left there is to be removed.
    pub fn with_temporary(self, storage: &'a Storage) -> Self {
        RechunkOptions { temporary: Some(storage), ..self }
    }

    /// The same for a hyperslab of the source. `kept` are the dimensions that the new array has, in ascending order; of
    /// each other one the hyperslab selects one element.
    pub fn with_selection(self, hyperslab: Hyperslab<'a>, kept: &'a [usize]) -> Self {
        RechunkOptions { selection: Some((hyperslab, kept)), ..self }
    }

    /// The same for a new array that may be longer than what is selected, along any dimension: the elements of the
    /// selection are the first ones, and those beyond read as the fill value. Default: the new array has the shape of
    /// what is selected.
    pub fn with_longer_target(self) -> Self {
        RechunkOptions { may_be_longer: true, ..self }
    }
}

/// One pass over all elements.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RechunkPass {
    /// The lengths of a box, which is read, held in memory and written; those at the end may be shorter.
    pub box_shape: Vec<usize>,
    /// How many boxes there are.
    pub num_boxes: usize,
    /// How many boxes are in memory at the same time.
    pub boxes_at_once: usize,
    /// How many chunks are read, each as often as it is.
    pub chunks_read: usize,
    /// How many chunks or shards are written.
    pub chunks_written: usize,
    /// Decoded bytes of the chunks that are read.
    pub bytes_read: u64,
    /// The most bytes of memory that it takes.
    pub memory: usize,
}

/// How an array is going to be rechunked.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RechunkPlan {
    /// One pass, or two through a temporary array; none for an array without elements.
    pub passes: Vec<RechunkPass>,
    /// Bytes of the new array, decoded. Each pass writes as many.
    pub num_bytes: u64,
    /// The least memory with which it can be done.
    pub least_memory: usize,
}

/// What a call has done.
#[non_exhaustive]
pub struct Rechunked {
    /// The new array, open for reading and writing.
    pub array: Array,
    /// How it was done.
    pub plan: RechunkPlan,
    /// How many boxes an earlier call had done, in all passes.
    pub boxes_resumed: usize,
}

const OTHER: &str = "an unfinished rechunking from or to another array is here; \
                     make the same call as before to continue it, or remove it";

/// Writes the elements of an array to a new array with other chunks, codecs or another format, within a limit of
/// memory. `path` and `name` are those of [`Array::create`]; `description` says what the new array is to be like, and
/// has the shape of what is selected, or a [longer](RechunkOptions::with_longer_target) one, and the type of the
/// source's elements.
///
/// The elements are read and written in boxes, so that each chunk of the new array is written once. If chunks of the
/// source would have to be read so often that it is better, two passes are made through a temporary array, which is
/// below the new one and is removed afterwards; it takes the disk space of all elements without codecs.
///
/// The new array exists once it is complete. A call that was ended in the middle, by an error, the progress callback or
/// a kill, leaves what is done; the same call continues there, as long as the source is unchanged. To give up, remove
/// the directory. In a zip file, which exists once it is complete, nothing is continued.
///
/// Nothing is overwritten, whatever the description says: remove an array that is there first. The new array can be
/// neither below the source nor around it.
///
/// ```
/// use nczchunk::{Array, Description, ElementType, Hyperslab, RechunkOptions, rechunk};
///
/// # let directory = std::env::temp_dir().join(format!("nczchunk-doc-rechunk-{}", std::process::id()));
/// let maps = Description::new(&[8, 6, 6], ElementType::Short).with_chunk_shape(&[1, 6, 6]);
/// let source = Array::create(&directory, "maps", &maps)?;
/// source.write(&Hyperslab::all(), &(0..288i16).collect::<Vec<_>>())?;
///
/// let options = RechunkOptions::default().with_memory(64 << 20);
/// let series = source.describe(|same| {
///     rechunk(&source, &directory, "series", &same.with_chunk_shape(&[8, 2, 2]), &options)
/// })?;
/// let of_one_place = Hyperslab::new(&[0, 3, 3], &[8, 1, 1]);
/// assert_eq!(series.array.read::<i16>(&of_one_place)?, source.read::<i16>(&of_one_place)?);
/// assert_eq!((series.plan.passes.len(), series.plan.passes[0].chunks_written), (1, 9));
/// # std::fs::remove_dir_all(directory).unwrap();
/// # Ok::<(), nczchunk::Error>(())
/// ```
///
/// # Errors
/// `RechunkMemory`, which names the least memory that would do; `Argument` if shape, selection or type do not suit the
/// source, and for what is left there of another call; `Unsupported` for variable-length strings; `Conflict` if another
/// process has completed the array meanwhile; those of [`Array::create`], of reading and of writing.
pub fn rechunk(
    source: &Array,
    path: impl AsRef<Path>,
    name: &str,
    description: &Description<'_>,
    options: &RechunkOptions<'_>,
) -> Result<Rechunked> {
    let path = path.as_ref();
    // What cannot be does not leave an empty directory.
    rechunk_plan(source, description, options)?;
    check_path(source, path)?;
    rechunk_in(source, &create_storage(path)?, name, description, options)
}

/// [`rechunk`] for an array in a storage.
///
/// # Errors
/// Those of `rechunk`.
pub fn rechunk_in(
    source: &Array,
    storage: &Storage,
    name: &str,
    description: &Description<'_>,
    options: &RechunkOptions<'_>,
) -> Result<Rechunked> {
    let name = name.trim_matches('/');
    let new = Array::unwritten(storage, name, description)?;
    let version = source.version();
    let side = side_of(source, options)?;
    let target = target_of(source, &side, &new.array, options)?;
    check_apart(source, storage, name)?;
    let of = of(source, version, &side, &new);
    let mut place = Place::new(storage, name, options)?.checked()?;
    let begun = begin(&mut place, (&side, &target), &new, (of, version), options)?;
    let (record, decision) = match begun {
        Begun::Now(record, decision) => (record, decision),
        Begun::Complete(record, decision) => {
            // It was ended when nothing was left to do but this.
            let resumed = decision.plan.passes.iter().map(|pass| pass.num_boxes).fold(0, usize::saturating_add);
            place.clean(&place.journal(record))?;
            let array = Array::open_in(storage, name, Access::Write)?;
            return Ok(Rechunked { array, plan: decision.plan, boxes_resumed: resumed });
        }
    };
    let resumed = run(&side, &target, &place, record, &decision, options, &|| new.write(storage, name))
        .inspect_err(|_| place.give_up())?;
    Ok(Rechunked { array: new.array, plan: decision.plan, boxes_resumed: resumed })
}

/// Removes what is temporary below an array that is complete, whoever has left it.
///
/// # Errors
/// Those of the storage.
#[doc(hidden)]
pub fn remove_rechunk_remains(storage: &Storage, name: &str) -> Result<()> {
    remove_below(storage, &work_of(name.trim_matches('/'))?)
}

/// How an array is going to be rechunked: what [`rechunk`] does with the same arguments. Nothing is read or written.
///
/// # Errors
/// Those of `rechunk` that are about the arguments.
pub fn rechunk_plan(
    source: &Array,
    description: &Description<'_>,
    options: &RechunkOptions<'_>,
) -> Result<RechunkPlan> {
    let nowhere = Storage::new(Memory::new())?;
    // Arrays for netCDF-C are in a group, and have a name there.
    let new = Array::unwritten(&nowhere, "array", description)?;
    let side = side_of(source, options)?;
    let target = target_of(source, &side, &new.array, options)?;
    let place = Place::new(&nowhere, "array", options)?;
    Ok(Decision::new(&side, &target, &place, options)?.plan)
}

/// Where a call begins.
enum Begun {
    /// With the boxes that are left.
    Now(Record, Decision),
    /// Nowhere: an earlier one has written all of the array.
    Complete(Record, Decision),
}

/// How often it is looked for a journal again that another call has made at the same moment.
const ATTEMPTS: usize = 8;

/// Finds what another call has done for the same array, or makes the journal of a new one.
fn begin(
    place: &mut Place<'_>,
    (side, target): (&Side<'_>, &Side<'_>),
    new: &Unwritten,
    (of, version): (String, Option<u128>),
    options: &RechunkOptions<'_>,
) -> Result<Begun> {
    let (name, about) = (place.name, shown(place.name));
    let Some(storage) = place.journal else {
        let decision = Decision::new(side, target, place, options)?;
        new.check_room(place.storage, name, &place.work)?;
        let record = Record::new(&place.id, of, version, decision.chunks.clone());
        if decision.cuts.len() == 2 {
            place.begin_temporary()?;
        }
        return Ok(Begun::Now(record, decision));
    };
    for _ in 0..ATTEMPTS {
        let Some(record) = Record::read(storage, &place.journal_name)? else {
            place.id = journal::new_id();
            let decision = Decision::new(side, target, place, options)?;
            new.check_room(storage, name, &place.work)?;
            // What a killed call has left half written here.
            let _ = storage.remove_unfinished(&place.work);
            let record = Record::new(&place.id, of.clone(), version, decision.chunks.clone());
            match place.journal(record.clone()).create() {
                // Another call has just begun.
                Err(error) if error.kind() == ErrorKind::Conflict => continue,
                created => created?,
            }
            place.prepare(new, &decision, &record).inspect_err(|error| {
                // Something was put there since it was looked for.
                if matches!(error.kind(), ErrorKind::NotOverwritten | ErrorKind::Exists) {
                    let _ = place.journal(record.clone()).withdraw();
                }
            })?;
            return Ok(Begun::Now(record, decision));
        };
        if !record.suits(&of, version) {
            return Err(Error::from(ErrorKind::Argument(OTHER)).in_object(about));
        }
        place.id = record.id.clone();
        let decision = Decision::resumed(side, target, place, &record, options)?;
        if new.is_written(storage, name)? {
            // Anything else is not this call's.
            return match record.is_complete(&decision) && new.is_there(storage, name)? {
                true => Ok(Begun::Complete(record, decision)),
                false => Err(Error::from(ErrorKind::NotOverwritten).in_object(about)),
            };
        }
        place.prepare(new, &decision, &record)?;
        return Ok(Begun::Now(record, decision));
    }
    Err(Error::from(ErrorKind::Conflict).in_object(&*place.journal_name))
}

/// The source as a side of a pass.
fn side_of<'a>(source: &'a Array, options: &RechunkOptions<'_>) -> Result<Side<'a>> {
    let all = Side::all(source.variable(), source.store(), Access::Read);
    let all = Side { index_bytes: source.index_memory(), ..all };
    if *source.element_type() == ElementType::String {
        let words = "rechunking variable-length strings, whose memory is not known before they are read";
        return Err(ErrorKind::Unsupported(words).into());
    }
    let Some((hyperslab, kept)) = &options.selection else { return Ok(all) };
    let plan = crate::plan::Plan::new(source.variable(), hyperslab, Access::Read)?;
    let mut side = Side { kept: kept.to_vec(), ..all };
    for (d, projections) in plan.dimensions().iter().enumerate() {
        let slice = projections.slice();
        let step = isize::try_from(slice.stride()).map_err(|_| ErrorKind::Stride(0))?;
        let descends = slice.descends();
        let first = if descends { slice.last().unwrap_or(slice.start()) } else { slice.start() };
        (side.start[d], side.count[d], side.stride[d]) = (first, slice.count(), if descends { -step } else { step });
    }
    let are_ascending = kept.windows(2).all(|pair| pair[0] < pair[1]);
    let are_dimensions = kept.iter().all(|&d| d < side.count.len());
    if !are_ascending || !are_dimensions || (0..side.count.len()).any(|d| !kept.contains(&d) && side.count[d] != 1) {
        let words = "the kept dimensions must ascend, and of each other one the hyperslab must select one element";
        return Err(ErrorKind::Argument(words).into());
    }
    Ok(side)
}

/// The new array as a side of a pass: that part of it which what is selected goes to.
fn target_of<'a>(source: &Array, side: &Side<'_>, new: &'a Array, options: &RechunkOptions<'_>) -> Result<Side<'a>> {
    let target = Side::all(new.variable(), new.store(), Access::Write);
    let count = side.shape();
    let has_room = count.len() == target.count.len() && count.iter().zip(&target.count).all(|(len, all)| len <= all);
    if count != target.count && !(options.may_be_longer && has_room) {
        return Err(ErrorKind::Argument("the new array must have the shape of what is selected of the source").into());
    }
    // Zarr v3 has no characters.
    let alike = |element| if element == ElementType::Char { ElementType::Text { len: 1 } } else { element };
    if alike(*new.element_type()) != alike(*source.element_type()) {
        return Err(ErrorKind::Argument("the new array must have elements of the source's type").into());
    }
    Ok(Side { count, ..target })
}

/// What a call rechunks, and to what: another call with the same can continue it.
fn of(source: &Array, version: Option<u128>, side: &Side<'_>, new: &Unwritten) -> String {
    let dimensions = source.variable().dimensions();
    let lens: Vec<(usize, usize)> = dimensions.iter().map(|d| (d.len(), d.chunklen())).collect();
    let (Side { start, count, stride, kept, .. }, size) = (side, source.variable().element_size());
    // One that has a version may be opened by other names.
    let name = if version.is_none() { source.name() } else { "" };
    let selected = format!("{count:?} from {start:?} by {stride:?} along {kept:?}");
    format!("{name:?}, {lens:?} of {size} bytes, {selected}, to {}", new.document())
}

fn shown(name: &str) -> &str {
    if name.is_empty() { "the storage" } else { name }
}

/// Does what is left to do; returns how many boxes there were done before.
fn run(
    source: &Side<'_>,
    target: &Side<'_>,
    place: &Place<'_>,
    record: Record,
    decision: &Decision,
    options: &RechunkOptions<'_>,
    complete: &dyn Fn() -> Result<()>,
) -> Result<usize> {
    let passes = &decision.plan.passes;
    let num_boxes: usize = passes.iter().map(|pass| pass.num_boxes).fold(0, usize::saturating_add);
    let bytes = usize::try_from(decision.plan.num_bytes).unwrap_or(usize::MAX);
    let done_before = passes.iter().take(record.pass).map(|pass| pass.num_boxes).sum::<usize>() + record.num_done();
    let num_bytes = bytes.saturating_mul(2 * passes.len());
    let counters = Counters {
        boxes: AtomicUsize::new(done_before),
        num_boxes,
        bytes: AtomicUsize::new((num_bytes as f64 * (done_before as f64 / num_boxes.max(1) as f64)) as usize),
        num_bytes,
    };
    let first = record.pass;
    let journal = place.journal(record);
    for pass in first..passes.len() {
        let cuts = &decision.cuts[pass];
        journal.change(|record| record.begin(pass, passes[pass].num_boxes))?;
        // One handle for each pass, so that the memory of one is not kept in the other.
        let between = match (&decision.cuts[..], place.temporary) {
            ([one, two], Some(storage)) => Some(temporary((storage, place), target, one, two)?),
            _ => None,
        };
        let side = |access| between.as_ref().map(|array| Side::all(array.variable(), array.store(), access));
        let (reads, writes) = (side(Access::Read), side(Access::Write));
        let is_last = pass + 1 == passes.len();
        let from = if pass == 0 { source } else { reads.as_ref().ok_or(ErrorKind::Internal)? };
        let to = if is_last { target } else { writes.as_ref().ok_or(ErrorKind::Internal)? };
        let team = decision.teams[pass];
        let needs = Needs { source: Some(from), target: Some(to), team, limit: options.memory };
        let bytes_in_flight = needs.in_flight();
        let running = Pass { source: from, target: to, cuts, team, bytes_in_flight, counters: &counters };
        let temporary = if pass == 0 { None } else { Some(place) };
        let done = running.run(options.transfer, &Boxes { journal: &journal, temporary });
        if let Err(error) = done {
            // Whoever goes on finds all that is done, unless another has done it all. What has failed first is told.
            if error.kind() != ErrorKind::Conflict {
                let _ = journal.change(|_| Ok(()));
            }
            let _ = journal.withdraw_if_late();
            return Err(error);
        }
        source.store.free_memory();
    }
    journal.change(|_| Ok(()))?;
    journal.withdraw_if_late()?;
    complete()?;
    place.clean(&journal)?;
    target.store.free_memory();
    // There is nothing left that the answer could end.
    counters.bytes.store(num_bytes, Relaxed);
    let _ = counters.ask(options.transfer);
    Ok(done_before)
}

#[cfg(all(test, feature = "codecs"))]
mod tests;
