//! `nczchunk copy`: an array, a hyperslab of it or a whole group, in another format or with other codecs.
//!
//! ```text
//!   group.rs          a group with all that is in it
//!   kept.rs           what the copy does not keep
//!   attributes.rs     attributes as those of the copy
//!   codec.rs          codecs as the user writes them
//!   destination.rs    where the copy is made, and gets its name when it is complete
//!   staging.rs        a new array in a group that is there
//!   transfer.rs       the elements
//! ```

mod attributes;
mod codec;
mod destination;
mod group;
mod kept;
mod staging;
mod transfer;

use std::fmt::{self, Display};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use nczchunk::key::Separator;
use nczchunk::object::Storage;
use nczchunk::{Access, Array, ArrayFormat, ChunkRun, Description, ElementType, Endian, Error};

use crate::Session;
use crate::failure::{Failure, Result, words};
use crate::human;
use crate::info::shard_shape;
use crate::interrupt;
use crate::lengths::Lengths;
use crate::open_storage;
use crate::slab::{self, Selection, Slab};
use crate::storage;

use attributes::{Attributes, FILL_VALUE};
use codec::Codec;
use destination::Destination;
use group::Group;
use kept::Lost;

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
    /// The format of the copy [default: zarr3]
    #[arg(short, long, value_enum)]
    format: Option<Format>,
    /// The name of the new array below DST
    #[arg(short, long, value_name = "NAME")]
    name: Option<String>,
    /// A codec, such as zstd:3, shuffle, blosc:cname=lz4,clevel=5 or none; may be repeated, in the order of encoding.
    /// Default: the codecs of a Zarr array, else zstd
    #[arg(short, long = "codec", value_name = "CODEC")]
    codecs: Vec<Codec>,
    /// The lengths of chunks, such as 12x90x180 or 12,90,180 [default: those of the source]
    #[arg(long, value_name = "LENGTHS")]
    chunks: Option<Lengths>,
    /// The lengths of shards, multiples of the lengths of chunks; only for zarr3
    #[arg(long, value_name = "LENGTHS")]
    shards: Option<Lengths>,
    /// The byte order of the stored data
    #[arg(long, value_enum, default_value_t)]
    endian: Order,
    /// The chunk key separator: . or /
    #[arg(long, value_name = "CHARACTER", value_parser = separator)]
    separator: Option<Separator>,
    /// Replaces an existing array
    #[arg(long)]
    force: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Format {
    /// Zarr v2
    Zarr2,
    /// Zarr v3
    #[default]
    Zarr3,
    /// Zarr v2 that netCDF-C reads
    Nczarr,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Order {
    /// The machine's
    #[default]
    Native,
    Little,
    Big,
}

fn separator(text: &str) -> Result<Separator, String> {
    match text {
        "." => Ok(Separator::Dot),
        "/" => Ok(Separator::Slash),
        _ => Err("expected . or /".to_owned()),
    }
}

/// How the new array is cut into chunks, and these are put together to shards. `None` is the library's choice.
struct Chunks {
    chunk_shape: Option<Vec<usize>>,
    /// For each dimension the lengths of chunks that differ, or nothing.
    chunk_runs: Vec<Vec<ChunkRun>>,
    shard_shape: Option<Vec<usize>>,
}

impl Copy {
    /// Copies it.
    pub fn run(&self, session: &Session) -> Result<()> {
        self.check_name()?;
        if let Some(group) = self.group()? {
            return group.copy(self, session.threads);
        }
        let source = open_storage::open(&self.source, self.array.as_deref())?;
        let selection = Slab::select(self.slab.as_ref(), &source)?;
        let name = self.name.clone().or_else(|| source.name().rsplit('/').next().map(str::to_owned));
        let name = name.filter(|name| !name.is_empty());
        interrupt::watch()?;
        let destination = Destination::new(&self.destination, &self.wish(name))?;
        let created = self.create(&source, &selection, &destination.storage()?, destination.name())?;
        transfer::transfer(&source, &selection, &created, session.threads)?;
        let mut copied = Copied::default();
        copied.add(&source, &selection, &created)?;
        let mut lost = Lost::default();
        lost.compare(&source, &selection, &created, false);
        destination.finish()?;
        println(&format!("{copied}\n{}, codecs: {}{lost}", created.format(), storage::codecs(&created)?))
    }

    fn format(&self) -> Format {
        self.format.unwrap_or_default()
    }

    /// Refuses to make a directory that is called like a file of another format, unless a format is wished.
    fn check_name(&self) -> Result<()> {
        const FILES: [&str; 9] = ["nc", "nc3", "nc4", "cdf", "netcdf", "h5", "hdf5", "he5", "cfdb"];
        let extension = self.destination.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
        let is_file = extension.is_some_and(|extension| FILES.contains(&extension.as_str()));
        if !is_file || self.format.is_some() || self.destination.is_dir() {
            return Ok(());
        }
        Err(Failure::usage(format_args!(
            "{}: a copy is a Zarr directory or zip file, but this is the name of a netCDF, HDF5 or cfdb file; \
             choose another name, such as {}, or give --format to create a directory of this name",
            self.destination.display(),
            self.destination.with_extension("zarr").display()
        )))
    }

    /// The group that is to be copied; `None` if it is one array.
    fn group(&self) -> Result<Option<Group>> {
        // These are of one array.
        let is_one = self.slab.is_some() || self.name.is_some() || self.chunks.is_some() || self.shards.is_some();
        if is_one { Ok(None) } else { Group::find(&self.source, self.array.as_deref()) }
    }

    fn wish(&self, name: Option<String>) -> destination::Wish {
        let is_named = self.name.is_some() || self.format() == Format::Nczarr;
        destination::Wish { name, is_named, force: self.force, format: self.format().into() }
    }

    /// Creates the new array, without its elements.
    fn create(&self, source: &Array, selection: &Selection, storage: &Storage, name: &str) -> Result<Array> {
        let format = self.format();
        let shape = selection.shape();
        let names: Vec<&str> = selection.kept().map(|d| source.dimension_name(d).unwrap_or_default()).collect();
        let chunks = self.chunks(source, selection)?;
        let codecs = self.codecs(source)?;
        let codecs: Option<Vec<(&str, &str)>> =
            codecs.as_ref().map(|all| all.iter().map(|(name, configuration)| (&**name, &**configuration)).collect());
        let attributes = Attributes::of(source.attributes(), format.into(), |name| name == FILL_VALUE);
        let values = attributes.values();
        let json = source.own_attributes_json()?;

        let mut description = Description::new(&shape, element(source, format))
            .with_format(format.into())
            .with_endian(self.endian.into());
        if names.iter().any(|name| !name.is_empty()) {
            description = description.with_dimension_names(&names);
        }
        if let Some(chunk_shape) = &chunks.chunk_shape {
            description = description.with_chunk_shape(chunk_shape);
        }
        let chunk_runs: Vec<&[ChunkRun]> = chunks.chunk_runs.iter().map(Vec::as_slice).collect();
        description = description.with_chunk_runs(&chunk_runs);
        if let Some(shard_shape) = &chunks.shard_shape {
            description = description.with_shard_shape(shard_shape);
        }
        if let Some(codecs) = &codecs {
            description = description.with_codecs(codecs);
        }
        if let Some(fill_value) = source.fill_value() {
            description = description.with_fill_value(fill_value);
        }
        if let Some(separator) = self.separator {
            description = description.with_separator(separator);
        }
        if format != Format::Nczarr {
            description = description.with_attributes_json(&json);
        }
        description = description.with_attributes(&values);
        Array::create_in(storage, name, &description).map_err(|error| self.refused(name, &error))
    }

    /// Why an array cannot be created.
    fn refused(&self, name: &str, error: &Error) -> Failure {
        if self.codecs.iter().any(|codec| codec.is_meant(error)) {
            // The user has written no JSON.
            return Failure::usage(format_args!("--codec: {}", words(error).replace(": $.", ": ")));
        }
        let shown = if name.is_empty() { "the new array" } else { name };
        Failure::failed(format_args!("{shown} cannot be created: {}", words(error)))
    }

    fn codecs(&self, source: &Array) -> Result<Option<Vec<(String, String)>>> {
        if !self.codecs.is_empty() {
            return Ok(Some(self.codecs.iter().filter_map(Codec::named).collect()));
        }
        let is_zarr = !matches!(source.format(), "netCDF classic" | "cfdb" | "HDF5");
        Ok(if is_zarr { Some(source.codecs()?) } else { None })
    }

    /// The lengths that are asked for, or those of the source as far as they fit.
    fn chunks(&self, source: &Array, selection: &Selection) -> Result<Chunks> {
        let rank = selection.shape().len();
        let given = |lengths: &Option<Lengths>| lengths.as_ref().map(|Lengths(lengths)| lengths.clone());
        let (chunk_shape, shard_shape) = (given(&self.chunks), given(&self.shards));
        for (what, lengths) in [("--chunks", &chunk_shape), ("--shards", &shard_shape)] {
            if let Some(given) = lengths.as_ref().map(Vec::len).filter(|given| *given != rank) {
                return Err(Failure::usage(format_args!(
                    "{what} has {given} lengths, but the new array has rank {rank}"
                )));
            }
        }
        if chunk_shape.is_some() || source.format() == "netCDF classic" {
            return Chunks { chunk_shape, chunk_runs: Vec::new(), shard_shape }.checked();
        }
        let dimensions = source.variable().dimensions();
        let (mut chunk_shape, mut chunk_runs, mut kept) = (Vec::new(), Vec::new(), Vec::new());
        let has_lists = self.format() == Format::Zarr3 && shard_shape.is_none();
        let shards = shard_shape_of(self.format(), source);
        for d in selection.kept() {
            let count = selection.count[d].max(1);
            let chunk = dimensions[d].chunklen().min(count);
            if let Some(shards) = &shards {
                let chunks = (shards[d] / dimensions[d].chunklen()).min(count.div_ceil(chunk));
                kept.push(chunks * chunk);
            }
            chunk_shape.push(chunk);
            let is_whole = selection.stride[d] == 1 && count == dimensions[d].len();
            let runs = dimensions[d].chunks().filter(|_| has_lists && is_whole).into_iter().flatten();
            chunk_runs.push(runs.map(|run| ChunkRun::new(run.num_chunks, run.len)).collect());
        }
        let kept = shards.map(|_| kept);
        Chunks { chunk_shape: Some(chunk_shape), chunk_runs, shard_shape: shard_shape.or(kept) }.checked()
    }
}

impl Chunks {
    /// Refuses shards that are not made of whole chunks.
    fn checked(self) -> Result<Self> {
        let (chunks, shards) = (self.chunk_shape.iter().flatten(), self.shard_shape.iter().flatten());
        match chunks.zip(shards).enumerate().find(|(_, (chunk, shard))| *shard % *chunk != 0) {
            Some((d, (chunk, shard))) => Err(Failure::usage(format_args!(
                "--shards: the length {shard} of dimension {d} must be a multiple of the chunk length {chunk}"
            ))),
            None => Ok(self),
        }
    }
}

/// What the elements of the copy are. Zarr v3 has no characters, but texts of one byte.
fn element(source: &Array, format: Format) -> ElementType {
    match *source.element_type() {
        ElementType::Char if format == Format::Zarr3 => ElementType::Text { len: 1 },
        element => element,
    }
}

/// The lengths of the source's shards, if the new array can have some.
fn shard_shape_of(format: Format, source: &Array) -> Option<Vec<usize>> {
    if format == Format::Zarr3 { shard_shape(source.variable()) } else { None }
}

impl From<Format> for ArrayFormat {
    fn from(format: Format) -> Self {
        match format {
            Format::Zarr2 => ArrayFormat::ZarrV2,
            Format::Zarr3 => ArrayFormat::ZarrV3,
            Format::Nczarr => ArrayFormat::NcZarr,
        }
    }
}

impl From<Order> for Endian {
    fn from(order: Order) -> Self {
        match order {
            Order::Native => Endian::Native,
            Order::Little => Endian::Little,
            Order::Big => Endian::Big,
        }
    }
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

/// The grid by which an array is written.
fn write_lens(array: &Array) -> Vec<usize> {
    let grid = array.variable().grid(Access::Write);
    grid.dimensions().iter().map(nczchunk::Dimension::chunklen).collect()
}
