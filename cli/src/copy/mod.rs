//! `nczchunk copy`: an array, a hyperslab of it or a whole group, in another format or with other codecs. And `nczchunk
//! rechunk`, which does the same within a limit of memory, and is continued where it was ended.
//!
//! ```text
//!   rechunk.rs        the command `rechunk`
//!   new_array.rs      what the user wishes of a new array
//!   group.rs          a group with all that is in it
//!   kept.rs           what the copy does not keep
//!   codec.rs          codecs as the user writes them
//!   destination.rs    where the copy is made, and gets its name when it is complete
//!   staging.rs        a new array in a group that is there
//!   transfer.rs       the elements
//! ```

mod codec;
mod destination;
mod group;
mod kept;
mod new_array;
mod rechunk;
mod staging;
mod transfer;

use std::fmt::{self, Display};
use std::path::{Path, PathBuf};

use clap::Args;
use nczchunk::{Array, ElementType};

use crate::Session;
use crate::failure::Result;
use crate::human;
use crate::interrupt;
use crate::open_storage;
use crate::slab::{self, Selection, Slab};
use crate::storage;

use destination::Destination;
use group::Group;
use kept::Lost;
use new_array::{Format, NewArray, Part};
pub use rechunk::Rechunk;
use transfer::How;

const HELP: &str = "\
Without ARRAY, or if ARRAY is a group, the program copies all arrays and groups in it to a new DST. One array \
becomes DST itself; if DST is an existing group, or with --format nczarr, it goes below DST. The copy has the \
attributes, the names of the dimensions and the fill value. Chunks of nothing but the fill value are left out. The \
program reports what the format cannot keep; a whole group with --format nczarr keeps unlimited dimensions. If the \
copy fails or is interrupted, it leaves nothing behind.";

/// Copies a file, a group, an array or a hyperslab of it to another codec or format
#[derive(Debug, Args)]
#[command(after_help = format!("{HELP}\n\n{}", slab::HELP), allow_missing_positional = true)]
pub struct Copy {
    /// The source: a directory or zip file of Zarr or NCZarr, or a netCDF, HDF5 or cfdb file
    #[arg(value_name = "SRC")]
    source: PathBuf,
    /// The name of an array or group in SRC; the whole of SRC if left out
    #[arg(value_name = "ARRAY")]
    array: Option<String>,
    /// The destination: a directory, or a zip file if its name ends with .zip
    #[arg(value_name = "DST")]
    destination: PathBuf,
    /// The hyperslab, such as '0,10:30,::3' [default: the whole array]
    #[arg(short, long, value_name = "SLAB", allow_hyphen_values = true)]
    slab: Option<Slab>,
    #[command(flatten)]
    new: NewArray,
    /// Replaces an existing array
    #[arg(long)]
    force: bool,
}

impl Copy {
    /// Copies it.
    pub fn run(&self, session: &Session) -> Result<()> {
        self.new.check_name(&self.destination)?;
        let how = How::copy(session.threads);
        if let Some(group) = self.group()? {
            interrupt::watch()?;
            let whole = destination::Wish { is_named: false, ..self.new.wish(None, self.force) };
            let destination = Destination::of_group(&self.destination, &whole)?;
            let words = group.copy(&self.new, &destination.storage()?, &how, false)?;
            destination.finish()?;
            return println(&words);
        }
        let source = open_source(&self.source, self.array.as_deref())?;
        let selection = Slab::select(self.slab.as_ref(), &source)?;
        interrupt::watch()?;
        let destination = Destination::new(&self.destination, &self.new.wish(self.new.name_of(&source), self.force))?;
        let (storage, name) = (destination.storage()?, destination.name());
        let part = Part::new(&source, &selection);
        let (created, _) = transfer::transfer(&self.new, &part, (&storage, name), &how, false)?;
        let words = of_one(&part, &created)?;
        destination.finish()?;
        println(&words)
    }

    /// The group that is to be copied; `None` if it is one array.
    fn group(&self) -> Result<Option<Group>> {
        let is_one = self.slab.is_some() || self.new.is_of_one();
        if is_one { Ok(None) } else { Group::find(&self.source, self.array.as_deref()) }
    }
}

/// Opens an array that is to be copied, with its attributes.
fn open_source(path: &Path, name: Option<&str>) -> Result<Array> {
    let source = open_storage::open(path, name)?;
    match source.attributes_error() {
        Some(error) => Err(error.clone().in_object(path.display()).into()),
        None => Ok(source),
    }
}

/// What is said of one array that was copied.
fn of_one(part: &Part<'_>, created: &Array) -> Result<String> {
    let &Part { source, selection, .. } = part;
    let (mut copied, mut lost) = (Copied::default(), Lost::default());
    copied.add(source, selection, created)?;
    lost.compare(source, selection, created, false);
    Ok(format!("{copied}\n{}, codecs: {}{lost}", created.format(), storage::codecs(created)?))
}

/// What was copied.
#[derive(Default)]
struct Copied {
    elements: u64,
    /// The bytes of elements that have a size.
    bytes: u64,
    /// What is stored of them; `None` where there are so many chunks that it is not counted.
    stored: Option<(u64, u128)>,
    num_arrays: u64,
    is_sized: bool,
}

impl Copied {
    /// Adds an array.
    fn add(&mut self, source: &Array, selection: &Selection, created: &Array) -> Result<()> {
        const ASKED: u128 = 100_000;
        let elements = selection.num_elements() as u64;
        let is_sized = *source.element_type() != ElementType::String;
        let bytes = if is_sized { elements.saturating_mul(source.variable().element_size() as u64) } else { 0 };
        let before = if self.num_arrays == 0 { Some((0, 0)) } else { self.stored };
        self.stored = match before.filter(|_| storage::num_chunks(created) <= ASKED) {
            Some((bytes, chunks)) => {
                let stored = storage::stored_of_all(created)?;
                Some((bytes + stored.bytes, chunks + stored.present))
            }
            None => None,
        };
        self.is_sized = is_sized && (self.is_sized || self.num_arrays == 0);
        self.elements = self.elements.saturating_add(elements);
        self.bytes = self.bytes.saturating_add(bytes);
        self.num_arrays += 1;
        Ok(())
    }
}

impl Display for Copied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("copied ")?;
        if self.num_arrays != 1 {
            write!(f, "{}, ", human::count(self.num_arrays, "array"))?;
        }
        f.write_str(&human::count(self.elements, "element"))?;
        if self.is_sized {
            write!(f, ", {}", human::bytes(self.bytes))?;
        }
        let Some((bytes, chunks)) = self.stored else { return Ok(()) };
        write!(f, ", to {} in {}", human::bytes(bytes), human::count(chunks, "chunk"))?;
        if self.is_sized && self.bytes > 0 {
            write!(f, ", {:.1} %", bytes as f64 / self.bytes as f64 * 100.0)?;
        }
        Ok(())
    }
}

fn println(words: &str) -> Result<()> {
    use std::io::Write;
    Ok(writeln!(std::io::stdout(), "{words}")?)
}
