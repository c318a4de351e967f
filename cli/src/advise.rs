//! `nczchunk advise`: which chunk shape costs least for the ways in which an array is read, beside those that others
//! choose and the one that it has.

mod measured;
mod picture;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use nczchunk::chunkshape::{
    self, Cost, Costs, NETCDF_TARGET_BYTES, Pattern as Reads, RECHUNKIT_TARGET_BYTES, advise, cost, survey,
};
use nczchunk::{Array, ElementType};

use crate::Session;
use crate::failure::{Failure, Result};
use crate::human;
use crate::info::shard_shape;
use crate::json::{self, Json};
use crate::lengths::{self, Lengths};
use crate::open_storage;
use crate::output;
use measured::{Measured, sample};

const HELP: &str = "\
A pattern is what is read at a time, at any place of the array: map (all of the last two dimensions), series (all of \
the first), row (all of the last), all, or lengths such as 24x100x100. Its weight says how often, compared with the \
others. A read takes latency x requests / in flight, stored bytes / bandwidth, decoded bytes / decoding speed and read \
bytes / copying speed, and what is in flight does not wait; each chunk that it touches is a request. With --trace the \
patterns are the hyperslabs that a program has read by the Python package or by netCDF-C's adapter: run it with \
NCZCHUNK_TRACE=FILE.";

/// Finds the chunk shape that costs least for the ways in which an array is read
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct Advise {
    /// A directory or zip file of Zarr or NCZarr, or a netCDF, HDF5 or cfdb file
    #[arg(value_name = "PATH", required_unless_present = "shape")]
    storage: Option<PathBuf>,
    /// The name of the array in PATH; may be left out if there is only one
    #[arg(value_name = "ARRAY")]
    array: Option<String>,
    /// The shape of an array that is not there yet, such as 8760x721x1440
    #[arg(long, value_name = "LENGTHS", conflicts_with = "storage")]
    shape: Option<Lengths>,
    /// The type of its elements
    #[arg(long, value_name = "TYPE", default_value = "float32", requires = "shape")]
    r#type: ElementType,
    /// Patterns with their weights, such as map=0.7,series=0.3; may be repeated
    #[arg(short, long = "pattern", value_name = "PATTERNS", value_delimiter = ',', required_unless_present = "trace")]
    patterns: Vec<Pattern>,
    /// A file with the hyperslabs that were read
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// How long a request takes until its first byte is there, such as 50ms [default: as measured if PATH is a file or
    /// a directory; else 100us]
    #[arg(long, value_name = "TIME", value_parser = time)]
    latency: Option<Duration>,
    /// How many bytes a second arrive, such as 100M [default: as measured if PATH is a file or a directory; else 1G]
    #[arg(long, value_name = "BYTES", value_parser = lengths::bytes)]
    bandwidth: Option<usize>,
    /// How many decoded bytes a second the codecs give [default: as measured on this machine]
    #[arg(long, value_name = "BYTES", value_parser = lengths::bytes)]
    decoding: Option<usize>,
    /// How many requests are on their way at the same time
    #[arg(long, value_name = "N", default_value_t = 1)]
    in_flight: usize,
    /// The fewest bytes of a chunk
    #[arg(long, value_name = "BYTES", value_parser = lengths::bytes, default_value = "64K")]
    least: usize,
    /// The most bytes of a chunk
    #[arg(long, value_name = "BYTES", value_parser = lengths::bytes, default_value = "64M")]
    most: usize,
    /// The most bytes of a shard: then shards of chunks are advised, too
    #[arg(long, value_name = "BYTES", value_parser = lengths::bytes)]
    shard: Option<usize>,
    /// Draws what reads cost with all the shapes that were compared
    #[arg(long, value_name = "FILE.svg")]
    svg: Option<PathBuf>,
    /// Prints a JSON document
    #[arg(long)]
    json: bool,
}

/// A pattern as the user writes it.
#[derive(Debug, Clone, PartialEq)]
struct Pattern {
    name: String,
    weight: f64,
}

impl FromStr for Pattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, weight) = text.split_once('=').unwrap_or((text, "1"));
        let weight = weight.trim().parse().ok().filter(|weight: &f64| *weight > 0.0 && weight.is_finite());
        match weight {
            Some(weight) => Ok(Pattern { name: name.trim().to_owned(), weight }),
            None => Err(format!("expected PATTERN=WEIGHT with a weight above 0, such as map=0.7, found '{text}'")),
        }
    }
}

impl Pattern {
    /// What is read of an array of this shape at a time.
    fn lens(&self, shape: &[usize]) -> Result<Vec<usize>> {
        let rank = shape.len();
        let all_of = |is_whole: &dyn Fn(usize) -> bool| -> Vec<usize> {
            (0..rank).map(|d| if is_whole(d) { shape[d] } else { 1 }).collect()
        };
        match &*self.name {
            "map" => Ok(all_of(&|d| d + 2 >= rank)),
            "series" => Ok(all_of(&|d| d == 0)),
            "row" => Ok(all_of(&|d| d + 1 == rank)),
            "all" => Ok(shape.to_vec()),
            other => match other.parse() {
                Ok(Lengths(lens)) if lens.len() == rank => {
                    Ok(lens.iter().zip(shape).map(|(len, all)| (*len).min(*all)).collect())
                }
                _ => Err(Failure::usage(format_args!(
                    "--pattern: expected map, series, row, all or {rank} lengths, found '{other}'"
                ))),
            },
        }
    }
}

/// A time, such as 50ms, 100us or 0.05 (seconds).
fn time(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let (number, unit) = [("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9), ("s", 1.0)]
        .iter()
        .find_map(|(name, unit)| Some((text.strip_suffix(name)?, *unit)))
        .unwrap_or((text, 1.0));
    let seconds = number.trim().parse::<f64>().ok().map(|number| number * unit);
    seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| format!("expected a time, such as 50ms, 100us or 0.05, found '{text}'"))
}

/// What is read: a name for it, what it is, and how often.
struct Read {
    name: String,
    lens: Vec<usize>,
    weight: f64,
}

/// The share that each has of the reads, by their weights.
fn shares(reads: &[Read]) -> Vec<f64> {
    // Compared with the largest, so that their sum is a number.
    let largest = reads.iter().map(|read| read.weight).fold(0.0, f64::max);
    let weights: f64 = reads.iter().map(|read| read.weight / largest).sum();
    reads.iter().map(|read| read.weight / largest / weights).collect()
}

/// A chunk shape, and what reads cost with it.
struct Row {
    name: &'static str,
    chunks: Vec<usize>,
    costs: Vec<Cost>,
    mean: f64,
}

impl Advise {
    /// Advises.
    pub fn run(&self, session: &Session) -> Result<()> {
        let array = match &self.storage {
            Some(path) => Some(open_storage::open(path, self.array.as_deref())?),
            None => None,
        };
        let (shape, size) = match (&array, &self.shape) {
            (Some(array), _) => (crate::slab::shape(array), array.variable().element_size()),
            (None, Some(Lengths(shape))) => (shape.clone(), self.r#type.size()),
            (None, None) => return Err(Failure::usage("name an array, or give --shape")),
        };
        let reads = self.reads(&shape, array.as_ref())?;
        let costs = self.costs(array.as_ref(), session.threads)?;
        let patterns: Vec<Reads<'_>> =
            reads.iter().map(|read| Reads { shape: &read.lens, weight: read.weight }).collect();
        let mut advised = vec![0; shape.len()];
        advise(&shape, size, &patterns, &costs, &mut advised)?;
        let mut shapes = vec![("advised", advised.clone())];
        if let Some(array) = &array {
            let dimensions = array.variable().dimensions();
            shapes.push(("present", dimensions.iter().map(nczchunk::Dimension::chunklen).collect()));
        }
        let mut of_others = vec![0; shape.len()];
        chunkshape::netcdf(&shape, size, NETCDF_TARGET_BYTES, &mut of_others)?;
        shapes.push(("netCDF-C", of_others.clone()));
        chunkshape::h5py(&shape, size, &mut of_others)?;
        shapes.push(("h5py", of_others.clone()));
        chunkshape::rechunkit(&shape, size, RECHUNKIT_TARGET_BYTES, &mut of_others)?;
        shapes.push(("rechunkit", of_others));
        let shares = shares(&reads);
        let mut rows = Vec::new();
        for (name, chunks) in shapes {
            let of_each: nczchunk::Result<Vec<Cost>> =
                patterns.iter().map(|pattern| cost(&shape, size, &chunks, pattern, &costs)).collect();
            let of_each = of_each?;
            let mean = of_each.iter().zip(&shares).map(|(cost, share)| cost.seconds * share).sum();
            rows.push(Row { name, chunks, costs: of_each, mean });
        }
        if let Some(path) = &self.svg {
            if shape.is_empty() {
                return Err(Failure::usage("--svg: a scalar has no chunk shapes to draw"));
            }
            let mut cells = picture::Cells::default();
            survey(&shape, size, &patterns, &costs, |chunks, mean| {
                cells.add(chunks, mean);
                Ok(())
            })?;
            let marks: Vec<_> = rows.iter().map(|row| (row.name, &*row.chunks, row.mean)).collect();
            let title = format!("What a read of {} costs on average, by the shape of chunks", human::shape(&shape));
            output::write_text(path, self.storage.as_deref(), &picture::draw(&title, &cells, &marks))?;
            if path.as_os_str() == "-" {
                return Ok(());
            }
        }
        let shards = self.shard.map(|most| shards(&shape, &advised, size, most));
        if self.json {
            return print_json(&shape, &reads, &costs, &rows, shards.as_deref());
        }
        print(&shape, size, &reads, &costs, &rows, shards.as_deref(), array.as_ref())
    }

    /// What is read, by the options or by a trace.
    fn reads(&self, shape: &[usize], array: Option<&Array>) -> Result<Vec<Read>> {
        let mut reads = Vec::new();
        for pattern in &self.patterns {
            reads.push(Read { name: pattern.name.clone(), lens: pattern.lens(shape)?, weight: pattern.weight });
        }
        let Some(path) = &self.trace else { return Ok(reads) };
        // Paths of other reads may not be UTF-8.
        let bytes = std::fs::read(path).map_err(Failure::about(path.display()))?;
        let text = String::from_utf8_lossy(&bytes);
        let traced = traced(&text, shape, self.storage.as_deref().zip(array.map(Array::name)));
        if traced.is_empty() && reads.is_empty() {
            return Err(Failure::failed(format_args!("{}: this has no reads of the array", path.display())));
        }
        reads.extend(traced);
        Ok(reads)
    }

    /// What is given, and of what is not, what was measured.
    fn costs(&self, array: Option<&Array>, threads: usize) -> Result<Costs> {
        let mut costs = Costs::default();
        (costs.in_flight, costs.chunk_bytes) = (self.in_flight.max(1), (self.least.min(self.most), self.most));
        let measured = match array {
            Some(array) => Some(Measured::of(array, costs.in_flight, threads)?),
            None if self.decoding.is_none() => Some(Measured::of(&sample()?, costs.in_flight, threads)?),
            None => None,
        };
        if let Some(measured) = &measured {
            (costs.decoding, costs.copying, costs.stored) = (measured.decoding, measured.copying, measured.stored);
            (costs.per_chunk, costs.step_bytes) = (measured.per_chunk, measured.step_bytes);
        }
        costs.decoding = self.decoding.map_or(costs.decoding, |given| given as f64);
        let file = self.storage.as_deref().filter(|path| !path.to_string_lossy().contains("://"));
        let of_files = measured.as_ref().and_then(|measured| measured.of_files(file?));
        (costs.latency, costs.bandwidth) = of_files.unwrap_or((costs.latency, costs.bandwidth));
        costs.latency = self.latency.map_or(costs.latency, |given| given.as_secs_f64());
        costs.bandwidth = self.bandwidth.map_or(costs.bandwidth, |given| given as f64);
        if let (Some(measured), Some(_), None) = (&measured, array, file) {
            costs.per_request = measured.per_request(&costs);
        }
        Ok(costs)
    }
}

/// The reads of a trace: a line for each, with a path, a name, counts and strides. Reads of other arrays than that of a
/// path and a name are left out, if one is given, and those of another rank.
fn traced(text: &str, shape: &[usize], array: Option<(&Path, &str)>) -> Vec<Read> {
    let wanted = array.map(|(path, name)| whole_path(path, name));
    let mut reads: BTreeMap<Vec<usize>, f64> = BTreeMap::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [at, of, count, stride] = fields[..] else { continue };
        let numbers = |text: &str| -> Option<Vec<usize>> {
            let absolute = |part: &str| part.parse::<isize>().ok().map(isize::unsigned_abs);
            if text.is_empty() { Some(Vec::new()) } else { text.split(',').map(absolute).collect() }
        };
        let (Some(count), Some(stride)) = (numbers(count), numbers(stride)) else { continue };
        let is_other = wanted.as_ref().is_some_and(|wanted| whole_path(Path::new(at), of) != *wanted);
        if is_other || count.len() != shape.len() || stride.len() != shape.len() || count.contains(&0) {
            continue;
        }
        // From the first element to the last, as far as chunks are concerned.
        let reach = |d: usize| ((count[d] - 1).saturating_mul(stride[d]).saturating_add(1)).min(shape[d]);
        *reads.entry((0..shape.len()).map(reach).collect()).or_default() += 1.0;
    }
    reads.into_iter().map(|(lens, weight)| Read { name: human::shape(&lens), lens, weight }).collect()
}

/// The path of an array with its name: programs open the same array by `s.zarr` and `ocean/sst`, by `s.zarr/ocean` and
/// `sst`, and by `s.zarr/ocean/sst`. The names of arrays in a file are no files themselves.
fn whole_path(path: &Path, name: &str) -> PathBuf {
    let name = name.trim_matches('/');
    let of_storage = || path.canonicalize().unwrap_or_else(|_| path.to_owned());
    path.join(name).canonicalize().unwrap_or_else(|_| of_storage().join(name))
}

/// Shards of so many bytes at most: as many chunks along each dimension as along the others, where that can be.
fn shards(shape: &[usize], chunks: &[usize], size: usize, most: usize) -> Vec<usize> {
    let mut times = vec![1usize; chunks.len()];
    loop {
        let bytes = |times: &[usize]| {
            times.iter().zip(chunks).fold(size, |bytes, (times, chunk)| bytes.saturating_mul(times * chunk))
        };
        let can_grow = |d: &usize| {
            let mut more = times.clone();
            more[*d] *= 2;
            times[*d] * chunks[*d] < shape[*d] && bytes(&more) <= most
        };
        match (0..chunks.len()).filter(can_grow).min_by_key(|&d| times[d]) {
            Some(d) => times[d] *= 2,
            None => return times.iter().zip(chunks).map(|(times, chunk)| times * chunk).collect(),
        }
    }
}

/// A time for people.
fn seconds(seconds: f64) -> String {
    match seconds {
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 1e-3 => format!("{:.2} ms", s * 1e3),
        s => format!("{:.1} us", s * 1e6),
    }
}

fn print(
    shape: &[usize],
    size: usize,
    reads: &[Read],
    costs: &Costs,
    rows: &[Row],
    shards: Option<&[usize]>,
    array: Option<&Array>,
) -> Result<()> {
    let bytes = |lens: &[usize]| lens.iter().fold(size as u64, |bytes, len| bytes.saturating_mul(*len as u64));
    let mut lines = vec![format!(
        "{} in chunks of {}, {} each",
        human::shape(shape),
        human::shape(&rows[0].chunks),
        human::bytes(bytes(&rows[0].chunks))
    )];
    lines.extend(
        shards.map(|shards| format!("in shards of {}, {} each", human::shape(shards), human::bytes(bytes(shards)))),
    );
    lines.push(format!(
        "  latency {}, {}/s, {}/s decoded, {} in flight, {:.0} % stored",
        seconds(costs.latency),
        human::bytes(costs.bandwidth as u64),
        human::bytes(costs.decoding as u64),
        costs.in_flight,
        costs.stored * 100.0
    ));
    lines.push(format!(
        "  {} for a request, {} for a chunk, {}/s copied",
        seconds(costs.per_request),
        seconds(costs.per_chunk),
        human::bytes(costs.copying as u64)
    ));
    if let Some(shards) = array.and_then(|array| shard_shape(array.variable())) {
        lines.push(format!("  present shards {}", human::shape(&shards)));
    }
    for (i, (read, share)) in reads.iter().zip(shares(reads)).enumerate() {
        lines.push(format!("{} ({}), {:.0} % of the reads", read.name, human::shape(&read.lens), share * 100.0));
        for row in rows {
            let cost = &row.costs[i];
            lines.push(format!(
                "  {:9}  {:>20}  {:>10.1} requests  {:>10}  {:>10}",
                row.name,
                human::shape(&row.chunks),
                cost.requests,
                human::bytes(cost.bytes as u64),
                seconds(cost.seconds)
            ));
        }
    }
    lines.push("mean".to_owned());
    for row in rows {
        lines.push(format!("  {:9}  {:>20}  {:>10}", row.name, human::shape(&row.chunks), seconds(row.mean)));
    }
    use std::io::Write;
    Ok(writeln!(std::io::stdout(), "{}", lines.join("\n"))?)
}

fn print_json(shape: &[usize], reads: &[Read], costs: &Costs, rows: &[Row], shards: Option<&[usize]>) -> Result<()> {
    let read = |read: &Read| {
        Json::Object(vec![
            ("name", Json::text(&read.name)),
            ("shape", Json::integers(&read.lens)),
            ("weight", Json::integer(read.weight)),
        ])
    };
    let cost = |cost: &Cost| {
        Json::Object(vec![
            ("requests", Json::integer(cost.requests)),
            ("bytes", Json::integer(cost.bytes)),
            ("seconds", Json::integer(cost.seconds)),
        ])
    };
    let row = |row: &Row| {
        Json::Object(vec![
            ("name", Json::text(row.name)),
            ("chunk_shape", Json::integers(&row.chunks)),
            ("mean_seconds", Json::integer(row.mean)),
            ("patterns", Json::List(row.costs.iter().map(cost).collect())),
        ])
    };
    json::print(&Json::Object(vec![
        ("shape", Json::integers(shape)),
        ("latency", Json::integer(costs.latency)),
        ("bandwidth", Json::integer(costs.bandwidth)),
        ("per_request", Json::integer(costs.per_request)),
        ("decoding", Json::integer(costs.decoding)),
        ("copying", Json::integer(costs.copying)),
        ("per_chunk", Json::integer(costs.per_chunk)),
        ("step_bytes", Json::integer(costs.step_bytes)),
        ("in_flight", Json::integer(costs.in_flight)),
        ("stored", Json::integer(costs.stored)),
        ("patterns", Json::List(reads.iter().map(read).collect())),
        ("shard_shape", Json::option(shards, Json::integers)),
        ("chunk_shapes", Json::List(rows.iter().map(row).collect())),
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_shapes() {
        let lens = |text: &str| text.parse::<Pattern>().unwrap().lens(&[30, 20, 10]);
        for (text, expected) in [
            ("map", [1, 20, 10]),
            ("series=3", [30, 1, 1]),
            ("row", [1, 1, 10]),
            ("all=0.1", [30, 20, 10]),
            ("2x3x99", [2, 3, 10]),
        ] {
            assert_eq!(lens(text).unwrap(), expected, "{text}");
        }
        for text in ["maps", "2x3", ""] {
            assert!(lens(text).is_err(), "{text}");
        }
        for text in ["map=", "map=0", "map=-1", "map=inf"] {
            assert!(text.parse::<Pattern>().is_err(), "{text}");
        }
    }

    #[test]
    fn times_have_units() {
        for (text, expected) in [("50ms", 50_000), ("100us", 100), ("0.05", 50_000), ("2 s", 2_000_000)] {
            assert_eq!(time(text).unwrap(), Duration::from_micros(expected), "{text}");
        }
        for text in ["", "ms", "-1", "5m"] {
            assert!(time(text).is_err(), "{text}");
        }
    }

    #[test]
    fn equal_reads_of_a_trace_count_together() {
        let text = "/a\tx\t1,20,10\t1,1,1\n/a\tx\t1,20,5\t1,1,-2\n/a\tx\t1,20,10\t1,1,1\n/b\tx\t1,1,1\t1,1,1\n\
                    /a\ty\t1,1,1\t1,1,1\n/a\tx\t1,1\t1,1\nnonsense\n/a\tx\t0,1,1\t1,1,1\n";
        let found = traced(text, &[30, 20, 10], Some(("/a".as_ref(), "x")));
        let found: Vec<_> = found.iter().map(|read| (read.lens.clone(), read.weight)).collect();
        assert_eq!(found, [(vec![1, 20, 9], 1.0), (vec![1, 20, 10], 2.0)]);
    }

    /// Programs open the same array by other parts of its path.
    #[test]
    fn reads_of_a_trace_are_those_of_the_array_by_any_path() {
        let directory = std::env::temp_dir().join(format!("nczchunk-cli-advise-{}", std::process::id()));
        let storage = directory.join("s.zarr");
        std::fs::create_dir_all(storage.join("ocean/sst")).unwrap();
        std::fs::write(directory.join("x.nc"), "").unwrap();
        let count = |of: (&str, &str), read: (&str, &str)| {
            let [of_path, read_path] = [of.0, read.0].map(|path| directory.join(path));
            let line = format!("{}\t{}\t5\t1\n", read_path.display(), read.1);
            traced(&line, &[10], Some((&of_path, of.1))).len()
        };
        let same =
            [("s.zarr", "ocean/sst"), ("s.zarr/ocean", "sst"), ("s.zarr/ocean/sst", ""), ("s.zarr", "/ocean/sst")];
        for of in same {
            for read in same {
                assert_eq!(count(of, read), 1, "{of:?} {read:?}");
            }
            for read in [("s.zarr", "sst"), ("s.zarr/ocean", "ocean/sst"), ("s.zarr/ocean", ""), ("x.nc", "ocean/sst")]
            {
                assert_eq!(count(of, read), 0, "{of:?} {read:?}");
            }
        }
        let file = ("s.zarr/../x.nc", "g/v");
        assert_eq!((count(("x.nc", "g/v"), file), count(("x.nc", "v"), file)), (1, 0));
        std::fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn shards_are_whole_chunks_and_no_larger() {
        assert_eq!(shards(&[100, 100, 100], &[10, 10, 10], 4, 4000 * 8), [20, 20, 20]);
        assert_eq!(shards(&[100, 100, 10], &[10, 10, 10], 4, 4000 * 8), [40, 20, 10]);
        assert_eq!(shards(&[10, 10], &[10, 10], 4, 1 << 30), [10, 10]);
        assert_eq!(shards(&[100], &[10], 4, 1), [10]);
    }
}
