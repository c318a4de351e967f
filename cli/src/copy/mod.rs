//! `nczchunk copy`: an array or a hyperslab of it as a new array, in another format or with other codecs.

mod attributes;
mod codec;
mod destination;
mod staging;
mod transfer;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use nczchunk::key::Separator;
use nczchunk::{Access, Array, ArrayFormat, Description, ElementType, Endian};

use crate::Session;
use crate::failure::{Failure, Result};
use crate::human;
use crate::info::shard_shape;
use crate::interrupt;
use crate::place;
use crate::slab::{self, Selection, Slab};
use crate::storage;

use attributes::Attributes;
use codec::Codec;
use destination::Destination;

const HELP: &str = "\
DST is a directory, or a zip file if its name ends with .zip. If DST is a group already, or --format is nczarr, the \
new array is below it; else it is the array itself. Attributes, names of dimensions and the fill value are copied, and \
chunks of nothing but the fill value are left out. Nothing is left behind if the copy fails or is interrupted.";

/// Copies an array or a hyperslab of it to another codec or format
#[derive(Debug, Args)]
#[command(after_help = format!("{HELP}\n\n{}", slab::HELP), allow_missing_positional = true)]
pub struct Copy {
    /// What is copied from: a directory or zip file, a netCDF, HDF5 or cfdb file
    #[arg(value_name = "SRC")]
    source: PathBuf,
    /// The array's name there; may be left out if there is only one
    #[arg(value_name = "ARRAY")]
    array: Option<String>,
    /// Where the new array is to be
    #[arg(value_name = "DST")]
    destination: PathBuf,
    /// The hyperslab, such as '0,10:30,::3'; the whole array without it
    #[arg(short, long, value_name = "SLAB", allow_hyphen_values = true)]
    slab: Option<Slab>,
    /// The format of the new array
    #[arg(short, long, value_enum, default_value_t)]
    format: Format,
    /// The name of the new array below DST
    #[arg(short, long, value_name = "NAME")]
    name: Option<String>,
    /// A codec, such as zstd:3, shuffle, blosc:cname=lz4,clevel=5 or none; several in the order in which they encode.
    /// Without it those of a Zarr array are kept, and others get zstd
    #[arg(short, long = "codec", value_name = "CODEC")]
    codecs: Vec<Codec>,
    /// The lengths of chunks, such as 12,90,180; without it those of the source are kept
    #[arg(long, value_name = "LENGTHS", value_delimiter = ',', num_args = 1)]
    chunks: Option<Vec<usize>>,
    /// The lengths of shards, multiples of those of chunks; only zarr3 has shards
    #[arg(long, value_name = "LENGTHS", value_delimiter = ',', num_args = 1)]
    shards: Option<Vec<usize>>,
    /// The byte order of what is stored
    #[arg(long, value_enum, default_value_t)]
    endian: Order,
    /// What stands between the numbers in the names of chunks: . or /
    #[arg(long, value_name = "CHARACTER", value_parser = separator)]
    separator: Option<Separator>,
    /// Replaces an array that is there
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
        _ => Err("it is . or /".to_owned()),
    }
}

/// How the new array is cut into chunks, and these are put together to shards. `None` is the library's choice.
struct Chunks {
    chunk_shape: Option<Vec<usize>>,
    shard_shape: Option<Vec<usize>>,
}

impl Copy {
    /// Copies it.
    pub fn run(&self, session: &Session) -> Result<()> {
        let source = place::open(&self.source, self.array.as_deref())?;
        let selection = Slab::select(self.slab.as_ref(), &source)?;
        let name = self.name.clone().or_else(|| source.name().rsplit('/').next().map(str::to_owned));
        let name = name.filter(|name| !name.is_empty());
        interrupt::watch()?;
        let destination = Destination::new(&self.destination, &self.wish(name))?;
        let created = self.create(&source, &selection, &destination)?;
        transfer::transfer(&source, &selection, &created, session.threads)?;
        let words = told(&source, &selection, &created)?;
        destination.finish()?;
        println(&words)
    }

    fn wish(&self, name: Option<String>) -> destination::Wish {
        let is_named = self.name.is_some() || self.format == Format::Nczarr;
        destination::Wish { name, is_named, force: self.force, format: self.format.into() }
    }

    /// Creates the new array, without its elements.
    fn create(&self, source: &Array, selection: &Selection, destination: &Destination) -> Result<Array> {
        let shape = selection.shape();
        let names: Vec<&str> = selection.kept().map(|d| source.dimension_name(d).unwrap_or_default()).collect();
        let chunks = self.chunks(source, selection)?;
        let codecs = self.codecs(source)?;
        let codecs: Option<Vec<(&str, &str)>> =
            codecs.as_ref().map(|all| all.iter().map(|(name, configuration)| (&**name, &**configuration)).collect());
        let attributes = Attributes::of(source, self.format.into());
        let values = attributes.values();
        let json = source.own_attributes_json()?;

        let mut description = Description::new(&shape, *source.element_type())
            .with_format(self.format.into())
            .with_endian(self.endian.into());
        if names.iter().any(|name| !name.is_empty()) {
            description = description.with_dimension_names(&names);
        }
        if let Some(chunk_shape) = &chunks.chunk_shape {
            description = description.with_chunk_shape(chunk_shape);
        }
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
        if self.format != Format::Nczarr {
            description = description.with_attributes_json(&json);
        }
        description = description.with_attributes(&values);
        destination.create(&description)
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
        for (what, lengths) in [("--chunks", &self.chunks), ("--shards", &self.shards)] {
            if let Some(given) = lengths.as_ref().map(Vec::len).filter(|given| *given != rank) {
                return Err(Failure::usage(format_args!(
                    "{what} has {given} lengths, but the new array has rank {rank}"
                )));
            }
        }
        if self.chunks.is_some() || source.format() == "netCDF classic" {
            return Ok(Chunks { chunk_shape: self.chunks.clone(), shard_shape: self.shards.clone() });
        }
        let dimensions = source.variable().dimensions();
        let (mut chunk_shape, mut shard_shape) = (Vec::new(), Vec::new());
        let shards = shard_shape_of(self.format, source);
        for d in selection.kept() {
            let count = selection.count[d].max(1);
            let chunk = dimensions[d].chunklen().min(count);
            if let Some(shards) = &shards {
                let chunks = (shards[d] / dimensions[d].chunklen()).min(count.div_ceil(chunk));
                shard_shape.push(chunks * chunk);
            }
            chunk_shape.push(chunk);
        }
        let kept = shards.map(|_| shard_shape);
        Ok(Chunks { chunk_shape: Some(chunk_shape), shard_shape: self.shards.clone().or(kept) })
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

/// What was done, in words.
fn told(source: &Array, selection: &Selection, created: &Array) -> Result<String> {
    const ASKED: u128 = 100_000;
    let elements = selection.num_elements() as u64;
    let mut words = format!("copied {}", human::count(elements, "element"));
    let bytes = elements.saturating_mul(source.variable().element_size() as u64);
    let is_sized = *source.element_type() != ElementType::String;
    if is_sized {
        words.push_str(&format!(", {}", human::bytes(bytes)));
    }
    if storage::num_chunks(created) <= ASKED {
        let stored = storage::stored_of_all(created)?;
        words.push_str(&format!(", to {} in {}", human::bytes(stored.bytes), human::count(stored.present, "chunk")));
        if is_sized && bytes > 0 {
            words.push_str(&format!(", {:.1} %", stored.bytes as f64 / bytes as f64 * 100.0));
        }
    }
    Ok(format!("{words}\n{}, codecs: {}", created.format(), storage::codecs(created)?))
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
