//! What a new array is to be like that is made of another one.

use std::path::Path;

use clap::{Args, ValueEnum};
use nczchunk::key::Separator;
use nczchunk::{Access, Array, ArrayFormat, ChunkRun, Description, ElementType, Endian, Error, RetypedAttributes};

use super::codec::Codec;
use super::destination::Wish;
use crate::failure::{Failure, Result, words};
use crate::info::shard_shape;
use crate::lengths::SomeLengths;
use crate::slab::Selection;

/// What the user wishes of it.
#[derive(Debug, Args)]
pub struct NewArray {
    /// The format of the new array [default: zarr3]
    #[arg(short, long, value_enum)]
    format: Option<Format>,
    /// The name of the new array below DST
    #[arg(short, long, value_name = "NAME")]
    pub name: Option<String>,
    /// A codec, such as zstd:3, shuffle, blosc:cname=lz4,clevel=5 or none; may be repeated, in the order of encoding.
    /// Default: the codecs of a Zarr array, else zstd
    #[arg(short, long = "codec", value_name = "CODEC")]
    codecs: Vec<Codec>,
    /// The lengths of chunks, such as 12x90x180 or 12,90,180, or some by the names of their dimensions, such as
    /// time=12,lat=90 [default: those of the source]
    #[arg(long, value_name = "LENGTHS")]
    pub chunks: Option<SomeLengths>,
    /// The lengths of shards, multiples of the lengths of chunks; only for zarr3
    #[arg(long, value_name = "LENGTHS")]
    pub shards: Option<SomeLengths>,
    /// The byte order of the stored data
    #[arg(long, value_enum, default_value_t)]
    endian: Order,
    /// The chunk key separator: . or /
    #[arg(long, value_name = "CHARACTER", value_parser = separator)]
    separator: Option<Separator>,
    /// Leaves out arrays and attributes of a group that cannot be read, and reports them; otherwise nothing is copied
    #[arg(long)]
    pub skip_unreadable: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum Format {
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

/// What the new array has of the source.
pub(super) struct Part<'a> {
    pub source: &'a Array,
    pub selection: &'a Selection,
    /// The shape of the new array: that of the selection, or a longer one, with fill values beyond it.
    pub shape: Vec<usize>,
    /// Whether its lengths have been compared with those of the other arrays in its group.
    pub is_compared: bool,
}

impl<'a> Part<'a> {
    /// A new array of nothing but the selection.
    pub(super) fn new(source: &'a Array, selection: &'a Selection) -> Self {
        Part { source, selection, shape: selection.shape(), is_compared: false }
    }
}

/// How the new array is cut into chunks, and these are put together to shards. `None` is the library's choice.
struct Chunks {
    chunk_shape: Option<Vec<usize>>,
    /// For each dimension the lengths of chunks that differ, or nothing.
    chunk_runs: Vec<Vec<ChunkRun>>,
    shard_shape: Option<Vec<usize>>,
}

impl NewArray {
    pub(super) fn format(&self) -> Format {
        self.format.unwrap_or_default()
    }

    /// Refuses to make a directory that is called like a file of another format, unless a format is wished.
    pub(super) fn check_name(&self, destination: &Path) -> Result<()> {
        const FILES: [&str; 9] = ["nc", "nc3", "nc4", "cdf", "netcdf", "h5", "hdf5", "he5", "cfdb"];
        let extension = destination.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
        let is_file = extension.is_some_and(|extension| FILES.contains(&extension.as_str()));
        if !is_file || self.format.is_some() || destination.is_dir() {
            return Ok(());
        }
        Err(Failure::usage(format_args!(
            "{}: a copy is a Zarr directory or zip file, but this is the name of a netCDF, HDF5 or cfdb file; \
             choose another name, such as {}, or give --format to create a directory of this name",
            destination.display(),
            destination.with_extension("zarr").display()
        )))
    }

    /// Where it is to be.
    pub(super) fn wish(&self, name: Option<String>, force: bool) -> Wish {
        let is_named = self.name.is_some() || self.format() == Format::Nczarr;
        Wish { name, is_named, force, format: self.format().into() }
    }

    /// The name that the user wishes, or that of the source.
    pub(super) fn name_of(&self, source: &Array) -> Option<String> {
        let name = self.name.clone().or_else(|| source.name().rsplit('/').next().map(str::to_owned));
        name.filter(|name| !name.is_empty())
    }

    /// Whether it is one array that is meant, not a group.
    pub(super) fn is_of_one(&self) -> bool {
        let is_list = |lengths: &Option<SomeLengths>| matches!(lengths, Some(SomeLengths::All(_)));
        self.name.is_some() || is_list(&self.chunks) || is_list(&self.shards)
    }

    /// Calls a function with the description of the new array.
    pub(super) fn describe<T>(&self, part: &Part<'_>, make: impl FnOnce(&Description<'_>) -> Result<T>) -> Result<T> {
        let &Part { source, selection, ref shape, is_compared } = part;
        let format = self.format();
        let names: Vec<&str> = selection.kept().map(|d| source.dimension_name(d).unwrap_or_default()).collect();
        let chunks = self.chunks(part)?;
        let codecs = self.codecs(source)?;
        let codecs: Option<Vec<(&str, &str)>> =
            codecs.as_ref().map(|all| all.iter().map(|(name, configuration)| (&**name, &**configuration)).collect());
        let attributes = RetypedAttributes::of(source, format.into())?;
        let values = attributes.values()?;

        let mut description =
            Description::new(shape, element(source, format)).with_format(format.into()).with_endian(self.endian.into());
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
            description = if self.codecs.is_empty() {
                description.with_codecs_of_array(codecs)
            } else {
                description.with_codecs(codecs)
            };
        }
        if let Some(fill_value) = source.fill_value() {
            description = description.with_fill_value(fill_value);
        }
        if let Some(separator) = self.separator {
            description = description.with_separator(separator);
        }
        if is_compared {
            description = description.with_compared_lengths();
        }
        description = description.with_attributes_json(attributes.json()).with_attributes(&values);
        make(&description)
    }

    /// Why an array cannot be created.
    pub(super) fn refused(&self, name: &str, error: &Error) -> Failure {
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
    fn chunks(&self, &Part { source, selection, ref shape, .. }: &Part<'_>) -> Result<Chunks> {
        let rank = shape.len();
        let given = |lengths: &Option<SomeLengths>, access: Access| {
            lengths.as_ref().and_then(|lengths| lengths.of(source, selection, shape, access))
        };
        let (chunk_shape, shard_shape) = (given(&self.chunks, Access::Read), given(&self.shards, Access::Write));
        for (what, lengths) in [("--chunks", &chunk_shape), ("--shards", &shard_shape)] {
            if let Some(given) = lengths.as_ref().map(Vec::len).filter(|given| *given != rank) {
                return Err(Failure::usage(format_args!(
                    "{what} has {given} lengths, but the new array has rank {rank}"
                )));
            }
        }
        // Shards that are cut to the array's shape may end within a chunk.
        let cut = if matches!(self.shards, Some(SomeLengths::Named(_))) { &shape[..] } else { &[] };
        if chunk_shape.is_some() || source.format() == "netCDF classic" {
            return Chunks { chunk_shape, chunk_runs: Vec::new(), shard_shape }.checked(cut);
        }
        let dimensions = source.variable().dimensions();
        let (mut chunk_shape, mut chunk_runs, mut kept) = (Vec::new(), Vec::new(), Vec::new());
        let has_lists = self.format() == Format::Zarr3 && shard_shape.is_none();
        let shards = shard_shape_of(self.format(), source);
        for (d, &len) in selection.kept().zip(shape) {
            let count = len.max(1);
            let chunk = dimensions[d].chunklen().min(count);
            if let Some(shards) = &shards {
                let chunks = (shards[d] / dimensions[d].chunklen()).min(count.div_ceil(chunk));
                kept.push(chunks * chunk);
            }
            chunk_shape.push(chunk);
            let is_whole = selection.stride[d] == 1 && selection.count[d] == len && len == dimensions[d].len();
            let runs = dimensions[d].chunks().filter(|_| has_lists && is_whole).into_iter().flatten();
            chunk_runs.push(runs.map(|run| ChunkRun::new(run.num_chunks, run.len)).collect());
        }
        let kept = shards.map(|_| kept);
        Chunks { chunk_shape: Some(chunk_shape), chunk_runs, shard_shape: shard_shape.or(kept) }.checked(cut)
    }
}

impl Chunks {
    /// Refuses shards that are not made of whole chunks; those as long as `cut` along a dimension end with a chunk.
    fn checked(mut self, cut: &[usize]) -> Result<Self> {
        let lengths = self.chunk_shape.iter().flatten().zip(self.shard_shape.iter_mut().flatten());
        for ((chunk, shard), len) in lengths.zip(cut).filter(|((_, shard), len)| *shard == *len) {
            *shard = len.div_ceil(*chunk).saturating_mul(*chunk);
        }
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
