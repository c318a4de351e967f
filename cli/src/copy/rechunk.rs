//! `nczchunk rechunk`: an array or a whole group with other chunks, within a limit of memory, which is continued where
//! it was ended.

use std::path::PathBuf;

use clap::Args;
use nczchunk::object::{Directory, Memory, Storage, read_whole};
use nczchunk::{Array, RechunkPlan};

use super::destination::{self, Destination, is_zip};
use super::group::Group;
use super::new_array::{NewArray, Part};
use super::transfer::{self, How};
use super::{of_one, open_source, println};
use crate::Session;
use crate::failure::{Failure, Result, words};
use crate::human;
use crate::interrupt;
use crate::lengths::{self, SomeLengths};
use crate::output::{Partial, partial};
use crate::slab::Slab;

const HELP: &str = "\
The program takes no more memory than --memory, in addition to what it has when it starts; if that is too little, it \
says how much would do. It reads and writes boxes of whole chunks of the new array, in one pass, or in two through a \
temporary array if that moves fewer bytes. The new array exists once it is complete. If the program is ended in the \
middle, the same command continues; to give up, remove DST. Without ARRAY, or if ARRAY is a group, all arrays and \
groups in it are rechunked to a new DST; then --chunks names dimensions.";

/// The object that marks a group which is not complete.
const MARK: &str = ".nczchunk-rechunk-group";
/// It has a line for the command, and a number for each array.
const LONGEST_MARK: usize = 64 << 20;

/// Gives an array other chunks, within a limit of memory
#[derive(Debug, Args)]
#[command(after_help = HELP, allow_missing_positional = true)]
pub struct Rechunk {
    /// The source: a directory or zip file of Zarr or NCZarr, or a netCDF, HDF5 or cfdb file
    #[arg(value_name = "SRC")]
    source: PathBuf,
    /// The name of an array or group in SRC; the whole of SRC if left out
    #[arg(value_name = "ARRAY")]
    array: Option<String>,
    /// The destination: a directory, or a zip file if its name ends with .zip
    #[arg(value_name = "DST")]
    destination: PathBuf,
    #[command(flatten)]
    new: NewArray,
    /// The most memory to take, such as 64M or 1.5G
    #[arg(short, long, value_name = "BYTES", value_parser = lengths::bytes, default_value = "256M")]
    memory: usize,
    /// A directory for temporary arrays [default: DST]
    #[arg(long, value_name = "DIRECTORY")]
    temporary: Option<PathBuf>,
    /// Says what would be done, and does nothing
    #[arg(long)]
    dry_run: bool,
}

impl Rechunk {
    /// Rechunks it.
    pub fn run(&self, session: &Session) -> Result<()> {
        self.new.check_name(&self.destination)?;
        let temporary = match &self.temporary {
            Some(_) if self.dry_run => Some(Storage::new(Memory::new())?),
            Some(path) => Some(Storage::new(Directory::create(path)?)?),
            None => None,
        };
        if !nczchunk::is_url(&self.destination) {
            destination::check_apart(&self.source, self.array.as_deref(), &self.destination)?;
        }
        let is_one = self.new.is_of_one();
        let group = if is_one { None } else { Group::find(&self.source, self.array.as_deref())? };
        if let Some(group) = group {
            return self.group(&group, &How::within(self.memory, session.threads, temporary));
        }
        let source = open_source(&self.source, self.array.as_deref())?;
        let selection = Slab::select(None, &source)?;
        let part = Part::new(&source, &selection);
        if self.dry_run {
            let how = How::within(self.memory, session.threads, temporary);
            let plan = transfer::plan(&self.new, &part, &how)?;
            return println(&said(&plan));
        }
        interrupt::watch()?;
        if is_zip(&self.destination) {
            return self.zip(&part, session.threads, temporary);
        }
        let how = How::within(self.memory, session.threads, temporary);
        // What cannot be leaves nothing behind.
        if *source.element_type() != nczchunk::ElementType::String {
            transfer::plan(&self.new, &part, &how)?;
        }
        let name = self.name(&source)?;
        let storage = self.storage()?;
        let (created, done) = transfer::transfer(&self.new, &part, (&storage, &name), &how, false)?;
        let plan = done.map_or_else(String::new, |(plan, resumed)| format!("\n{}", said_of(&plan, resumed)));
        println(&format!("{}{plan}", of_one(&part, &created)?))
    }

    /// A new zip file, which is not continued, so that its temporary array is elsewhere and always removed.
    fn zip(&self, part: &Part<'_>, threads: usize, temporary: Option<Storage>) -> Result<()> {
        let wish = self.new.wish(self.new.name_of(part.source), false);
        let destination = Destination::new(&self.destination, &wish)?;
        let beside = Partial::new(partial(&self.destination.with_extension("temporary"))?);
        let temporary = match temporary {
            Some(storage) => storage,
            None => Storage::new(Directory::create(beside.path())?)?,
        };
        let how = How::within(self.memory, threads, Some(temporary));
        let place = (&destination.storage()?, destination.name());
        let (created, done) = transfer::transfer(&self.new, part, place, &how, false)?;
        let plan = done.map_or_else(String::new, |(plan, resumed)| format!("\n{}", said_of(&plan, resumed)));
        let words = of_one(part, &created)?;
        destination.finish()?;
        println(&format!("{words}{plan}"))
    }

    /// The name of the new array at the destination: none if that is new, or an array that is not complete.
    fn name(&self, source: &Array) -> Result<String> {
        let wish = self.new.wish(self.new.name_of(source), false);
        let there = nczchunk::open_storage(&self.destination).and_then(|storage| nczchunk::list(&storage, "", false));
        let is_group = there.as_ref().is_ok_and(|nodes| nodes.first().is_some_and(nczchunk::Node::is_group));
        match (&self.new.name, wish.is_named || is_group) {
            (_, false) => Ok(String::new()),
            (Some(name), _) => Ok(name.trim_matches('/').to_owned()),
            (None, _) if is_group => Err(Failure::failed(format_args!(
                "{}: this is a group; name the new array with --name",
                self.destination.display()
            ))),
            (None, _) => wish.name_of_new(),
        }
    }

    /// The storage at the destination.
    fn storage(&self) -> Result<Storage> {
        if !nczchunk::is_url(&self.destination) {
            destination::check_parent(&self.destination)?;
            destination::check_directory(&self.destination)?;
        }
        nczchunk::create_storage(&self.destination).map_err(|error| Failure::Failed(words(&error)))
    }

    /// A whole group. Its mark stays until all of it is there.
    fn group(&self, group: &Group, how: &How) -> Result<()> {
        if matches!(self.new.chunks, Some(SomeLengths::All(_))) || is_zip(&self.destination) {
            return Err(Failure::usage("a whole group is rechunked to a directory, and --chunks names its dimensions"));
        }
        if self.dry_run {
            return Err(Failure::usage("--dry-run: name one array of the group"));
        }
        let wish = format!("{:?} {:?} {:?}\n", self.source, self.array, self.new);
        let mark_of_it = format!("{wish}{:?}\n", group.versions());
        interrupt::watch()?;
        let is_url = nczchunk::is_url(&self.destination);
        let is_there = is_url || self.destination.symlink_metadata().is_ok();
        let mut is_new = !is_there || destination::is_empty(&self.destination).unwrap_or(false);
        if is_url {
            is_new = true;
            self.storage()?.list("", &mut |_, _| {
                is_new = false;
                Ok(())
            })?;
        }
        if is_new {
            group.check_plans(&self.new, how)?;
        }
        let storage = self.storage()?;
        match read_whole(&*storage, MARK, LONGEST_MARK)? {
            Some(mark) if mark == mark_of_it.as_bytes() => {}
            None if is_new => storage.write(MARK, mark_of_it.as_bytes())?,
            found => {
                let what = match found {
                    Some(mark) if mark.starts_with(wish.as_bytes()) => {
                        "the source has changed since the unfinished rechunking that is here"
                    }
                    Some(_) => "an unfinished rechunking of something else is here",
                    None => "this exists",
                };
                return Err(Failure::failed(format_args!(
                    "{}: {what}; a whole group can only be rechunked to a new directory",
                    self.destination.display()
                )));
            }
        }
        let words = group.copy(&self.new, &storage, how, true)?;
        // What cannot be listed or removed is in nobody's way.
        let _ = storage.remove_unfinished("");
        storage.remove(MARK)?;
        println(&words)
    }
}

/// How it is done, in words.
fn said(plan: &RechunkPlan) -> String {
    let mut words = match &plan.passes[..] {
        [] => "nothing to do".to_owned(),
        [_] => "1 pass".to_owned(),
        passes => format!("{} passes through a temporary array", passes.len()),
    };
    for pass in &plan.passes {
        words += &format!(
            "\n  {} of {}: {} read, {} written, at most {} of memory",
            human::count(pass.num_boxes as u64, "box").replace("boxs", "boxes"),
            human::shape(&pass.box_shape),
            human::count(pass.chunks_read as u64, "chunk"),
            pass.chunks_written,
            human::bytes(pass.memory as u64),
        );
    }
    words + &format!("\n  at least {} of memory would do", human::bytes(plan.least_memory as u64))
}

/// The same, and what was done before.
fn said_of(plan: &RechunkPlan, resumed: usize) -> String {
    let mut words = said(plan);
    if let Some(end) = words.rfind('\n') {
        words.truncate(end);
    }
    match resumed {
        0 => words,
        _ => {
            words
                + &format!("\n  {} had been done before", human::count(resumed as u64, "box").replace("boxs", "boxes"))
        }
    }
}
