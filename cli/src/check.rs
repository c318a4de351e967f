//! `nczchunk check`: every chunk that is stored, fetched and decoded to its end.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use clap::Args;
use indicatif::ProgressBar;
use nczchunk::object::{Directory, Storage};
use nczchunk::{Access, Array, Dimension, ElementType, Error, ErrorKind};

use crate::Session;
use crate::failure::{Failure, Result, words};
use crate::human;
use crate::json::{self, Json};
use crate::open_storage;
use crate::pieces;
use crate::progress;
use crate::screen::{Tint, printable};
use crate::slab::Selection;
use crate::storage::{self, Candidates, Stored};

/// Fetches and decodes every stored chunk, and verifies lengths and checksums
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 if no chunk is broken, 1 if one is, an array cannot be opened, or not all \
chunks can be read and checked.")]
pub struct Check {
    /// A directory or zip file of Zarr or NCZarr, or a netCDF, HDF5 or cfdb file
    #[arg(value_name = "PATH")]
    storage: PathBuf,
    /// The name of the array in PATH; all arrays if left out
    #[arg(value_name = "ARRAY")]
    array: Option<String>,
    /// Removes temporary files of writers that were killed on this machine
    #[arg(long)]
    clean: bool,
    /// Prints one JSON document
    #[arg(long)]
    json: bool,
}

/// A chunk that is broken or cannot be read, or all of a shard: the first one's indices, their name and the reason.
type Named = (Vec<isize>, String, String);

/// Why a chunk is not whole.
struct Wrong {
    /// Whether what is stored is wrong. Otherwise the chunk could not be read, and may be whole.
    is_broken: bool,
    words: String,
}

impl Wrong {
    fn broken(words: String) -> Self {
        Wrong { is_broken: true, words }
    }

    /// What an error while a chunk is read says of the chunk.
    fn of(error: Error) -> Result<Self> {
        let is_broken = match error.kind() {
            ErrorKind::Stopped(_) => return Err(error.into()),
            ErrorKind::System(_)
            | ErrorKind::Callback(_)
            | ErrorKind::Network(_)
            | ErrorKind::Refused
            | ErrorKind::Conflict
            | ErrorKind::Busy
            | ErrorKind::Changed
            | ErrorKind::OutOfMemory
            | ErrorKind::Limit { .. }
            | ErrorKind::Unsupported(_)
            | ErrorKind::Codec(_)
            | ErrorKind::Internal => false,
            _ => true,
        };
        Ok(Wrong { is_broken, words: words(&error) })
    }
}

/// A file that a writer has left: its name, whether it was removed, and why it is one.
type Unfinished = (String, bool, String);

/// What is to be said of an array: what was found, and how many chunks it has, or why it cannot be opened.
type Report = std::result::Result<(Found, u128), String>;

/// What was found in an array.
#[derive(Default)]
struct Found {
    stored: Stored,
    num_broken: u128,
    broken: Vec<Named>,
    num_not_read: u128,
    not_read: Vec<Named>,
    /// How many chunks were not looked at.
    num_passed: u128,
}

impl Found {
    /// Whether all chunks were looked at, and all of them are whole or absent.
    fn is_well(&self) -> bool {
        self.num_broken == 0 && self.num_not_read == 0 && self.num_passed == 0
    }

    /// How many chunks are whole.
    fn whole(&self) -> u128 {
        self.stored.present - self.num_broken - self.num_not_read
    }

    /// Adds chunks that are not whole.
    fn add(&mut self, num_chunks: u128, first: Vec<isize>, name: String, wrong: Wrong) {
        let (number, list) = match wrong.is_broken {
            true => (&mut self.num_broken, &mut self.broken),
            false => (&mut self.num_not_read, &mut self.not_read),
        };
        *number += num_chunks;
        list.push((first, name, wrong.words));
    }
}

/// The most chunks that are asked for one by one where those that are stored cannot be listed.
const ASKED: u128 = 1 << 24;

/// The bytes of an entry in the index of a shard.
const INDEX_ENTRY: u128 = 16;

impl Check {
    /// Prints the report.
    pub fn run(&self, session: &Session) -> Result<()> {
        let storage = open_storage::storage(&self.storage)?;
        let nodes;
        let names = match &self.array {
            Some(name) => vec![name.as_str()],
            None => {
                nodes = open_storage::list(&self.storage, &storage, "", true)?;
                open_storage::note_left_out(&self.storage, &storage, &nodes);
                open_storage::arrays(&nodes)
            }
        };
        let mut out = BufWriter::new(io::stdout().lock());
        let (mut is_well, mut documents) = (true, Vec::new());
        for name in &names {
            let report = self.check(session, &storage, name)?;
            is_well &= matches!(&report, Ok((found, _)) if found.is_well());
            if self.json {
                documents.push(document(name, &report));
            } else {
                self.write(&mut out, session, name, &report)?;
                out.flush()?;
            }
        }
        if names.is_empty() {
            return Err(Failure::failed(format_args!("{}: no arrays found", self.storage.display())));
        }
        let unfinished = self.unfinished()?;
        if self.json {
            let unfinished = unfinished.into_iter().map(|(name, is_removed, why)| {
                let members =
                    [("name", Json::Text(name)), ("removed", Json::Bool(is_removed)), ("reason", Json::Text(why))];
                Json::Object(members.into())
            });
            json::print(&Json::Object(vec![
                ("path", Json::text(self.storage.display())),
                ("arrays", Json::List(documents)),
                ("unfinished", Json::List(unfinished.collect())),
            ]))?;
        } else {
            for (name, is_removed, why) in unfinished {
                let what = session.screen.paint(Tint::Bad, if is_removed { "removed" } else { "unfinished" });
                writeln!(out, "{what} {}: {why}", printable(&name))?;
            }
        }
        out.flush()?;
        if is_well { Ok(()) } else { Err(Failure::Found) }
    }

    /// The files that killed writers have left in a directory, which are removed if that is wished.
    fn unfinished(&self) -> Result<Vec<Unfinished>> {
        if !self.storage.is_dir() {
            return Ok(Vec::new());
        }
        let (mut all, mut found) = (Vec::new(), Vec::new());
        let name = self.array.as_deref().unwrap_or_default().trim_matches('/');
        Directory::open(&self.storage)?.each_unfinished(name, &mut |unfinished| {
            all.push(unfinished);
            Ok(())
        })?;
        all.sort();
        for unfinished in all {
            let (is_removed, why) = match (unfinished.is_written(), unfinished.process) {
                (Some(true), _) => continue,
                (Some(false), Some(process)) if self.clean => {
                    let path = self.storage.join(&unfinished.name);
                    let metadata = path.symlink_metadata().map_err(Failure::about(path.display()))?;
                    let removed = if metadata.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
                    removed.map_err(Failure::about(path.display()))?;
                    (true, format!("temporary file of process {process}, which has ended"))
                }
                (Some(false), Some(process)) => {
                    (false, format!("temporary file of process {process}, which has ended; --clean removes it"))
                }
                _ => (false, "temporary file of an unknown writer; remove it if no program is writing".to_owned()),
            };
            found.push((unfinished.name, is_removed, why));
        }
        Ok(found)
    }

    /// Checks one array.
    fn check(&self, session: &Session, storage: &Storage, name: &str) -> Result<Report> {
        let mut array = match Array::open_in(storage, name, Access::Read) {
            Ok(array) => array,
            Err(error) if self.array.is_some() => return Err(error.in_object(self.storage.display()).into()),
            Err(error) => return Ok(Err(open_storage::reason(name, &error))),
        };
        array.set_cache(None);
        array.set_verify(true);
        Ok(Ok((found(&array, storage, session.threads, ASKED)?, storage::num_chunks(&array))))
    }

    /// Writes what is to be said of an array.
    fn write(&self, out: &mut impl Write, session: &Session, name: &str, report: &Report) -> Result<()> {
        let title = if name.is_empty() { self.storage.display().to_string() } else { name.to_owned() };
        let title = session.screen.paint(Tint::Heading, &printable(&title));
        let (found, num_chunks) = match report {
            Ok((found, num_chunks)) => (found, *num_chunks),
            Err(why) => {
                let bad = session.screen.paint(Tint::Bad, "cannot be opened");
                return Ok(writeln!(out, "{title}: {bad}: {}", printable(why))?);
            }
        };
        let Found { stored, num_broken, broken, num_not_read, not_read, num_passed } = found;
        let number = format!("{num_broken} broken");
        let number = session.screen.paint(if *num_broken == 0 { Tint::Good } else { Tint::Bad }, &number);
        let all = human::count(num_chunks, "chunk");
        let bytes = human::bytes(stored.bytes);
        write!(out, "{title}: {all}, {bytes}: {} whole, {} absent, {number}", found.whole(), stored.absent)?;
        if *num_not_read > 0 {
            write!(out, ", {}", session.screen.paint(Tint::Bad, &format!("{num_not_read} not read")))?;
        }
        writeln!(out)?;
        for (kind, list) in [("broken", broken), ("not read", not_read)] {
            for (_, name, what) in list {
                let what = printable(&format!("{name}: {what}"));
                writeln!(out, "  {} {what}", session.screen.paint(Tint::Bad, kind))?;
            }
        }
        if *num_passed > 0 {
            let all = human::count(*num_passed, "chunk");
            let why = "too many chunks to request one by one where stored chunks cannot be listed";
            writeln!(out, "  {} {all}: {why}", session.screen.paint(Tint::Bad, "not checked"))?;
        }
        Ok(())
    }
}

/// What is to be said of an array, as JSON.
fn document(name: &str, report: &Report) -> Json {
    let mut members = vec![("name", Json::text(name))];
    match report {
        Err(why) => members.push(("error", Json::text(why))),
        Ok((found, num_chunks)) => {
            let named = |(chunk, name, why): &Named| {
                let members =
                    [("chunk", Json::integers(chunk)), ("name", Json::text(name)), ("reason", Json::text(why))];
                Json::Object(members.into())
            };
            members.extend([
                ("chunks", Json::integer(num_chunks)),
                ("bytes", Json::integer(found.stored.bytes)),
                ("whole", Json::integer(found.whole())),
                ("absent", Json::integer(found.stored.absent)),
                ("num_broken", Json::integer(found.num_broken)),
                ("broken", Json::List(found.broken.iter().map(named).collect())),
                ("num_not_read", Json::integer(found.num_not_read)),
                ("not_read", Json::List(found.not_read.iter().map(named).collect())),
                ("not_checked", Json::integer(found.num_passed)),
            ]);
        }
    }
    Json::Object(members)
}

/// Checks all chunks of an array that are stored, with several threads if it can be read by several. Where these cannot
/// be listed so many chunks are asked for at most.
fn found(array: &Array, storage: &Storage, threads: usize, most_asked: u128) -> Result<Found> {
    let mut found = Found::default();
    let candidates = Candidates::of(array, |object, num_chunks| {
        let Some((first, name, wrong)) = wrong_shard(array, storage, object, num_chunks)? else { return Ok(true) };
        found.stored.present += num_chunks;
        found.add(num_chunks, first, name, wrong);
        Ok(false)
    })?;
    let num_asked = if candidates.are_listed() { candidates.len() } else { candidates.len().min(most_asked) };
    found.num_passed = candidates.len() - num_asked;
    // More could not be gone through.
    let num_asked = u64::try_from(num_asked).unwrap_or(u64::MAX);
    let bar = progress::of_chunks(num_asked);
    let next = AtomicU64::new(0);
    let found = Mutex::new(found);
    let failed = Mutex::new(None);
    let work = || {
        if let Err(failure) = check_chunks(array, &candidates, num_asked, &next, &bar, &found) {
            // Nobody begins another chunk.
            next.store(num_asked, Relaxed);
            failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
        }
    };
    let most = usize::try_from(num_asked).unwrap_or(usize::MAX);
    let threads = if array.store().is_concurrent() { threads.min(most) } else { 1 };
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
    found.stored.absent =
        storage::num_chunks(array).saturating_sub(found.stored.present).saturating_sub(found.num_passed);
    found.broken.sort();
    found.not_read.sort();
    Ok(found)
}

/// What is wrong with a shard that is too short for its index, or whose length cannot be told: its first chunk, the
/// name of all, and the reason. Its chunks, of which there can be any number, are not asked for one by one then.
fn wrong_shard(
    array: &Array,
    storage: &Storage,
    shard: &[isize],
    num_chunks: u128,
) -> Result<Option<(Vec<isize>, String, Wrong)>> {
    let variable = array.variable();
    let lens = |access| variable.grid(access).dimensions().iter().map(Dimension::chunklen);
    let ratios = lens(Access::Write).zip(lens(Access::Read)).map(|(shard, chunk)| shard / chunk);
    let first: Vec<isize> = shard.iter().zip(ratios.clone()).map(|(index, ratio)| index * ratio as isize).collect();
    let entries = ratios.fold(1u128, |entries, ratio| entries.saturating_mul(ratio as u128));
    if entries == 1 {
        return Ok(None);
    }
    let Some(object) = array.chunk_object(&first)? else { return Ok(None) };
    let least = entries.saturating_mul(INDEX_ENTRY);
    let wrong = match storage.object_len(&object) {
        Ok(Some(len)) if u128::from(len) < least => {
            Wrong::broken(format!("the shard has {len} bytes, less than the {least} of its index"))
        }
        Ok(_) => return Ok(None),
        Err(error) => Wrong::of(error)?,
    };
    let others = if num_chunks > 1 { format!(" and {}", human::count(num_chunks - 1, "other")) } else { String::new() };
    let name = format!("{object}, {}{others}", indices(&first));
    Ok(Some((first, name, wrong)))
}

/// Checks chunks until there are no more.
fn check_chunks(
    array: &Array,
    candidates: &Candidates,
    num_asked: u64,
    next: &AtomicU64,
    bar: &ProgressBar,
    found: &Mutex<Found>,
) -> Result<()> {
    loop {
        let i = next.fetch_add(1, Relaxed);
        if i >= num_asked {
            return Ok(());
        }
        let chunk = candidates.chunk(i.into());
        let (stored, wrong) = check_chunk(array, &chunk)?;
        let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(len) = stored {
            found.stored.present += 1;
            found.stored.bytes += len;
        }
        if let Some(mut wrong) = wrong {
            let indices = indices(&chunk);
            // The chunk is named before what is wrong.
            if let Some(words) = wrong.words.strip_prefix(&format!("{indices}: ")) {
                wrong.words = words.to_owned();
            }
            let name = match array.chunk_object(&chunk)? {
                Some(object) => format!("{object}, {indices}"),
                None => indices,
            };
            found.add(1, chunk, name, wrong);
        }
        drop(found);
        bar.inc(1);
    }
}

/// How many bytes are stored of a chunk, `None` if it is absent, and what is wrong with it.
fn check_chunk(array: &Array, chunk: &[isize]) -> Result<(Option<u64>, Option<Wrong>)> {
    let len = match array.stored_chunk_len(chunk) {
        Ok(None) => return Ok((None, None)),
        Ok(Some(len)) => len,
        Err(error) => return Ok((Some(0), Some(Wrong::of(error)?))),
    };
    let wrong = match pieces::read(array, &inside(array, chunk), 1) {
        Ok(_) => wrong_length(array, chunk, len)?.map(Wrong::broken),
        Err(error) => Some(Wrong::of(error)?),
    };
    Ok((Some(len as u64), wrong))
}

/// What is wrong with the length of a chunk. One that is encoded has been decoded to its end; of one that is not, what
/// lies beyond the dimensions has not been read.
fn wrong_length(array: &Array, chunk: &[isize], len: usize) -> Result<Option<String>> {
    let variable = array.variable();
    let lens = variable.dimensions().iter().zip(chunk);
    let due = match variable.grid(Access::Read).is_regular() {
        true => variable.chunk_bytes(),
        false => lens.fold(variable.element_size(), |bytes, (dimension, &index)| {
            bytes * dimension.chunk(index).map_or(0, |extent| extent.encoded_len)
        }),
    };
    let is_as_it_is = array.chunk_object(chunk)?.is_some() && array.codecs()?.is_empty();
    if is_as_it_is && *array.element_type() != ElementType::String && len != due {
        return Ok(Some(format!("the stored chunk has {len} bytes, expected {due}")));
    }
    Ok(None)
}

/// The elements of a chunk that lie inside of the dimensions.
fn inside(array: &Array, chunk: &[isize]) -> Selection {
    let rank = array.variable().rank();
    let mut selection =
        Selection { start: Vec::new(), count: Vec::new(), stride: vec![1; rank], is_kept: vec![true; rank] };
    for (dimension, &index) in array.variable().dimensions().iter().zip(chunk) {
        let extent = dimension.chunk(index);
        selection.start.push(extent.map_or(0, |extent| extent.start));
        selection.count.push(extent.map_or(0, |extent| extent.len));
    }
    selection
}

/// A chunk, as the library names it.
fn indices(chunk: &[isize]) -> String {
    let indices: Vec<String> = chunk.iter().map(isize::to_string).collect();
    format!("chunk ({})", indices.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nczchunk::object::{ByteRange, Entry, Memory, ObjectStore};
    use nczchunk::{Buffer, Description, Hyperslab, pass_on};

    /// A storage that the system does not let read the objects whose names end with a text.
    struct Refusing(Memory, &'static str);

    impl Refusing {
        fn check(&self, name: &str) -> nczchunk::Result<()> {
            const EACCES: i32 = 13;
            if name.ends_with(self.1) { Err(ErrorKind::System(EACCES).in_object(name)) } else { Ok(()) }
        }
    }

    impl ObjectStore for Refusing {
        fn read(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> nczchunk::Result<Option<u64>> {
            self.check(name)?;
            self.0.read(name, begin, buffer)
        }

        pass_on! { self => self.0; list write is_writable }
    }

    #[test]
    fn what_the_system_refuses_is_not_broken() {
        for shards in [None, Some([2, 4])] {
            let memory = Memory::new();
            let plain = Description::new(&[4, 4], ElementType::UByte).with_chunk_shape(&[2, 2]).with_codecs(&[]);
            let shard_shape = shards.unwrap_or([1, 1]);
            let description = if shards.is_some() { plain.with_shard_shape(&shard_shape) } else { plain };
            let storage = Storage::new(Refusing(memory, if shards.is_some() { "c/1/0" } else { "c/1/1" })).unwrap();
            let array = Array::create_in(&storage, "", &description).unwrap();
            array.write(&Hyperslab::all(), &[1u8; 16]).unwrap();
            let found = found(&array, &storage, 2, ASKED).unwrap();
            let due = if shards.is_some() { 2 } else { 1 };
            assert_eq!((found.num_broken, found.num_not_read, found.whole()), (0, due, 4 - due));
            assert!(!found.is_well() && found.broken.is_empty() && found.not_read.len() == 1);
            assert!(found.not_read[0].2.contains("error 13"), "{:?}", found.not_read);
        }
    }

    /// A storage that cannot list.
    struct Mute(Memory);

    impl ObjectStore for Mute {
        pass_on! { self => self.0; read write is_writable }

        fn list(&self, _: &str, _: &mut dyn FnMut(&str, Entry) -> nczchunk::Result<()>) -> nczchunk::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn no_more_is_asked_for_than_a_bound_where_nothing_is_listed() {
        let storage = Storage::new(Mute(Memory::new())).unwrap();
        let description = Description::new(&[1 << 50, 2], ElementType::UByte).with_chunk_shape(&[1, 2]);
        let array = Array::create_in(&storage, "", &description).unwrap();
        array.write(&Hyperslab::new(&[1, 0], &[2, 2]), &[1u8; 4]).unwrap();
        for threads in [1, 3] {
            let Found { stored, num_broken, num_passed, .. } = found(&array, &storage, threads, 100).unwrap();
            assert_eq!((stored.present, stored.absent, num_broken, num_passed), (2, 98, 0, (1 << 50) - 100));
        }
    }
}
