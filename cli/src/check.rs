//! `nczchunk check`: every chunk fetched and decoded to its end.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use clap::Args;
use indicatif::ProgressBar;
use nczchunk::object::Place;
use nczchunk::{Access, Array, ElementType, Plan};

use crate::Session;
use crate::failure::{Failure, Result, words};
use crate::human;
use crate::pieces;
use crate::place;
use crate::progress;
use crate::screen::Tint;
use crate::slab::Selection;
use crate::storage::{self, Stored};

/// Fetches and decodes every chunk, and tests lengths and checksums
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 if no chunk is broken, 1 if one is or an array cannot be opened.")]
pub struct Check {
    /// A directory or zip file of Zarr or NCZarr, a netCDF classic file, or a cfdb file
    #[arg(value_name = "PLACE")]
    place: PathBuf,
    /// The array's name there; all arrays without it
    #[arg(value_name = "ARRAY")]
    array: Option<String>,
}

/// A chunk that is broken: its number, its name and what is wrong with it.
type Broken = (usize, String, String);

/// What was found in an array.
#[derive(Default)]
struct Found {
    stored: Stored,
    broken: Vec<Broken>,
}

impl Check {
    /// Prints the report.
    pub fn run(&self, session: &Session) -> Result<()> {
        let place = place::place(&self.place)?;
        let nodes;
        let names = match &self.array {
            Some(name) => vec![name.as_str()],
            None => {
                nodes = place::list(&self.place, &place, "", true)?;
                place::arrays(&nodes)
            }
        };
        let mut out = BufWriter::new(io::stdout().lock());
        let mut is_well = true;
        for name in &names {
            is_well &= self.check(&mut out, session, &place, name)?;
            out.flush()?;
        }
        if names.is_empty() {
            return Err(Failure::failed(format_args!("{}: there is no array in it", self.place.display())));
        }
        if is_well { Ok(()) } else { Err(Failure::Found) }
    }

    /// Checks one array; whether all is well.
    fn check(&self, out: &mut impl Write, session: &Session, place: &Place, name: &str) -> Result<bool> {
        let title = if name.is_empty() { self.place.display().to_string() } else { name.to_owned() };
        let title = session.screen.paint(Tint::Heading, &title);
        let mut array = match Array::open_in(place, name, Access::Read) {
            Ok(array) => array,
            Err(error) if self.array.is_some() => return Err(error.in_object(self.place.display()).into()),
            Err(error) => {
                let bad = session.screen.paint(Tint::Bad, "cannot be opened");
                writeln!(out, "{title}: {bad}: {}", place::reason(name, &error))?;
                return Ok(false);
            }
        };
        array.set_cache(None);
        array.set_verify(true);
        let Found { stored, broken } = found(&array, session.threads)?;
        let number = format!("{} broken", broken.len());
        let number = session.screen.paint(if broken.is_empty() { Tint::Good } else { Tint::Bad }, &number);
        let all = human::count(stored.present + stored.absent, "chunk");
        let whole = stored.present - broken.len() as u64;
        let bytes = human::bytes(stored.bytes);
        writeln!(out, "{title}: {all}, {bytes}: {whole} whole, {} absent, {number}", stored.absent)?;
        for (_, name, what) in &broken {
            writeln!(out, "  {} {name}: {what}", session.screen.paint(Tint::Bad, "broken"))?;
        }
        Ok(broken.is_empty())
    }
}

/// Checks all chunks of an array, with several threads if it can be read by several.
fn found(array: &Array, threads: usize) -> Result<Found> {
    let plan = storage::whole(array)?;
    let bar = progress::of_chunks(plan.num_chunks() as u64);
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Found::default());
    let failed = Mutex::new(None);
    let work = || {
        if let Err(failure) = check_chunks(array, &plan, &next, &bar, &found) {
            // Nobody begins another chunk.
            next.store(plan.num_chunks(), Relaxed);
            failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
        }
    };
    let threads = if array.store().is_concurrent() { threads.min(plan.num_chunks()) } else { 1 };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    bar.finish_and_clear();
    if let Some(failure) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(failure);
    }
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.broken.sort();
    Ok(found)
}

/// Checks chunks until there are no more.
fn check_chunks(
    array: &Array,
    plan: &Plan<'_>,
    next: &AtomicUsize,
    bar: &ProgressBar,
    found: &Mutex<Found>,
) -> Result<()> {
    loop {
        let i = next.fetch_add(1, Relaxed);
        if i >= plan.num_chunks() {
            return Ok(());
        }
        let (stored, wrong) = check_chunk(array, plan, i)?;
        let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
        match stored {
            Some(len) => {
                found.stored.present += 1;
                found.stored.bytes += len;
            }
            None => found.stored.absent += 1,
        }
        if let Some(what) = wrong {
            let indices = indices(&storage::chunk(plan, i)?);
            // The chunk is named before what is wrong.
            let what = what.strip_prefix(&format!("{indices}: ")).map(str::to_owned).unwrap_or(what);
            found.broken.push((i, name(array, plan, i)?, what));
        }
        drop(found);
        bar.inc(1);
    }
}

/// How many bytes are stored of a chunk, `None` if it is absent, and what is wrong with it.
fn check_chunk(array: &Array, plan: &Plan<'_>, i: usize) -> Result<(Option<u64>, Option<String>)> {
    let chunk = storage::chunk(plan, i)?;
    let len = match array.stored_chunk_len(&chunk) {
        Ok(None) => return Ok((None, None)),
        Ok(Some(len)) => len,
        Err(error) => return Ok((Some(0), Some(words(&error)))),
    };
    let wrong = match pieces::read(array, &inside(array, plan, i)?, 1) {
        Ok(_) => wrong_length(array, &chunk, len)?,
        Err(Failure::Failed(words)) => Some(words),
        Err(failure) => return Err(failure),
    };
    Ok((Some(len as u64), wrong))
}

/// What is wrong with the length of a chunk. One that is encoded has been decoded to its end; of one that is not, what
/// lies beyond the dimensions has not been read.
fn wrong_length(array: &Array, chunk: &[isize], len: usize) -> Result<Option<String>> {
    let due = array.variable().chunk_bytes();
    let is_as_it_is = array.chunk_object(chunk)?.is_some() && array.codecs()?.is_empty();
    if is_as_it_is && *array.element_type() != ElementType::String && len != due {
        return Ok(Some(format!("the stored chunk has {len} bytes where {due} are due")));
    }
    Ok(None)
}

/// The elements of a chunk that lie inside of the dimensions.
fn inside(array: &Array, plan: &Plan<'_>, i: usize) -> Result<Selection> {
    let projections = storage::projections(plan, i)?;
    let rank = array.variable().rank();
    Ok(Selection {
        start: projections.iter().map(|projection| projection.iopos).collect(),
        count: projections.iter().map(|projection| projection.iocount).collect(),
        stride: vec![1; rank],
        is_kept: vec![true; rank],
    })
}

/// The name of a chunk's object, and its indices.
fn name(array: &Array, plan: &Plan<'_>, i: usize) -> Result<String> {
    let chunk = storage::chunk(plan, i)?;
    let indices = indices(&chunk);
    Ok(match array.chunk_object(&chunk)? {
        Some(object) => format!("{object}, {indices}"),
        None => indices,
    })
}

/// A chunk, as the library names it.
fn indices(chunk: &[isize]) -> String {
    let indices: Vec<String> = chunk.iter().map(isize::to_string).collect();
    format!("chunk ({})", indices.join(", "))
}
