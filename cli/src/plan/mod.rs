//! `nczchunk plan`: what a hyperslab touches.

mod grid;
mod svg;

use std::fmt::{self, Display};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use nczchunk::object::{Counted, Storage};
use nczchunk::{Access, Array, ElementType, Projections, ReadCost};

use crate::Session;
use crate::failure::{Failure, Result};
use crate::human;
use crate::info::shard_shape;
use crate::json::{self, Json};
use crate::open_storage::{self, Source};
use crate::output;
use crate::pieces;
use crate::screen::{Tint, printable};
use crate::slab::{self, Selection, Slab};
use crate::storage;

use grid::Axis;

/// Shows which chunks a hyperslab touches and the cost of reading it, and plots it on the grid of chunks
#[derive(Debug, Args)]
#[command(after_help = slab::HELP)]
pub struct Plan {
    #[command(flatten)]
    source: Source,
    /// The hyperslab, such as '0,10:30,::3' [default: the whole array]
    #[arg(short, long, value_name = "SLAB", allow_hyphen_values = true)]
    slab: Option<Slab>,
    /// The dimensions drawn downwards and to the right, by name or number [default: the last two]
    #[arg(short, long, value_name = "ROWS,COLUMNS", value_delimiter = ',', num_args = 1)]
    dims: Vec<String>,
    /// Draws into an SVG file instead of the terminal
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Also reads the hyperslab, and reports requests, bytes and time
    #[arg(long)]
    run: bool,
    /// Prints the numbers as one JSON document; draws only with --svg
    #[arg(long)]
    json: bool,
}

/// Up to so many chunks are asked for how long they are.
const ASKED: usize = 100_000;

impl Plan {
    /// Prints the plan.
    pub fn run(&self, session: &Session) -> Result<()> {
        let array = self.source.open()?;
        let selection = Slab::select(self.slab.as_ref(), &array)?;
        let drawn = self.drawn(&array)?;
        let heading = format!("{} [{selection}]", open_storage::heading(&self.source.storage, &array));
        // First, for what is asked for below is known then.
        let cost = cost(&array, &selection)?;
        let axis = |d: usize| Axis::new(&array, &selection, d);
        if let Some(path) = &self.svg {
            let Some((rows, columns)) = drawn else {
                return Err(Failure::usage("--svg: a scalar has no grid to draw"));
            };
            let text = svg::draw(&heading, rows.map(axis).as_ref(), &axis(columns));
            output::write_text(path, Some(&self.source.storage), &text)?;
            if path.as_os_str() == "-" {
                return Ok(());
            }
        }
        let measured = || self.measured(&array, &selection, session.threads);
        let measured = self.run.then(measured).transpose()?;
        if self.json {
            return json::print(&self.document(&array, &selection, cost, measured.as_ref())?);
        }
        let mut out = BufWriter::new(io::stdout().lock());
        writeln!(out, "{}", session.screen.paint(Tint::Heading, &heading))?;
        for (what, words) in lines(&array, &selection, cost)? {
            writeln!(out, "  {what:<10}{words}")?;
        }
        if let Some(measured) = measured {
            writeln!(out, "  {:<10}{measured}", "measured")?;
        }
        match (drawn, &self.svg) {
            (_, Some(path)) => writeln!(out, "  {:<10}{}", "drawn", printable(&path.to_string_lossy()))?,
            (Some((rows, columns)), None) => {
                writeln!(out)?;
                grid::write(&mut out, &session.screen, rows.map(axis).as_ref(), &axis(columns))?;
            }
            (None, None) => {}
        }
        out.flush()?;
        Ok(())
    }

    /// The dimensions that are drawn: that of the rows, if there is one, and that of the columns.
    fn drawn(&self, array: &Array) -> Result<Option<(Option<usize>, usize)>> {
        let rank = array.variable().rank();
        match &self.dims[..] {
            [] => Ok(rank.checked_sub(1).map(|last| (last.checked_sub(1), last))),
            [columns] => Ok(Some((None, slab::dimension(array, columns)?))),
            [rows, columns] => {
                let (rows, columns) = (slab::dimension(array, rows)?, slab::dimension(array, columns)?);
                if rows == columns {
                    return Err(Failure::usage("--dims: the two dimensions must be different"));
                }
                Ok(Some((Some(rows), columns)))
            }
            _ => Err(Failure::usage("--dims: expected at most two dimensions")),
        }
    }

    /// Reads the hyperslab, and tells what that has taken.
    fn measured(&self, array: &Array, selection: &Selection, threads: usize) -> Result<Measured> {
        let storage = open_storage::storage(&self.source.storage)?;
        let file = storage.file_name().map(str::to_owned);
        let counting = Arc::new(Counted::new(storage));
        let counted = Storage::new(counting.clone())?;
        let counted = if let Some(file) = file { counted.file(&file)? } else { counted };
        let array = Array::open_in(&counted, array.name(), Access::Read)?;
        let (reads, bytes) = counting.counts();
        let begin = Instant::now();
        pieces::read(&array, selection, threads)?;
        let took = begin.elapsed();
        let (all_reads, all_bytes) = counting.counts();
        Ok(Measured { requests: all_reads - reads, bytes: all_bytes - bytes, seconds: took.as_secs_f64(), threads })
    }

    fn document(
        &self,
        array: &Array,
        selection: &Selection,
        cost: Option<ReadCost>,
        measured: Option<&Measured>,
    ) -> Result<Json> {
        let plan = nczchunk::Plan::new(array.variable(), &selection.hyperslab(), Access::Read)?;
        let is_sized = *array.element_type() != ElementType::String;
        let bytes = |bytes: usize| if is_sized { Json::integer(bytes) } else { Json::Null };
        let stored =
            (plan.num_chunks() <= ASKED).then(|| storage::stored(array, &selection.hyperslab())).transpose()?;
        let shards = match shard_shape(array.variable()) {
            Some(_) => Json::integer(nczchunk::Plan::num_chunks(&shards_of(&plan)?)),
            None => Json::Null,
        };
        Ok(Json::Object(vec![
            ("path", Json::text(self.source.storage.display())),
            ("name", Json::text(array.name())),
            ("start", Json::integers(&selection.start)),
            ("count", Json::integers(&selection.count)),
            ("stride", Json::integers(&selection.stride)),
            ("elements", Json::integer(plan.num_elements())),
            ("bytes", bytes(plan.selected_bytes())),
            ("chunks", Json::integer(plan.grid_chunks())),
            ("touched", Json::integer(plan.num_chunks())),
            ("covered", Json::integer(covered(&plan))),
            ("touched_shards", shards),
            ("decoded_bytes", bytes(plan.chunk_bytes())),
            ("stored", Json::option(stored, storage::Stored::document)),
            ("cost", Json::option(cost, cost_document)),
            ("measured", Json::option(measured, Measured::document)),
        ]))
    }
}

/// What a read has taken.
struct Measured {
    requests: u64,
    bytes: u64,
    seconds: f64,
    threads: usize,
}

impl Measured {
    fn document(&self) -> Json {
        Json::Object(vec![
            ("requests", Json::integer(self.requests)),
            ("bytes", Json::integer(self.bytes)),
            ("seconds", Json::integer(self.seconds)),
            ("threads", Json::integer(self.threads)),
        ])
    }
}

impl Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let requests = human::count(self.requests, "request");
        let threads = human::count(self.threads as u64, "thread");
        write!(f, "{requests}, {}, {:.1} ms with {threads}", human::bytes(self.bytes), self.seconds * 1e3)
    }
}

/// How many of the chunks are covered by a plan.
fn covered(plan: &nczchunk::Plan<'_>) -> usize {
    plan.dimensions().iter().map(Projections::num_covered).product()
}

fn lines(array: &Array, selection: &Selection, cost: Option<ReadCost>) -> Result<Vec<(&'static str, String)>> {
    let plan = nczchunk::Plan::new(array.variable(), &selection.hyperslab(), Access::Read)?;
    let is_sized = *array.element_type() != ElementType::String;
    let (elements, bytes) = (plan.num_elements() as u64, plan.selected_bytes() as u64);
    let covered = covered(&plan);
    let size = if is_sized { format!(", {}", human::bytes(bytes)) } else { String::new() };
    let touched = plan.num_chunks() as u64;
    let amplification = |many: u64| match (is_sized, bytes) {
        (true, 1..) => format!(", read amplification {}", human::times(many, bytes)),
        _ => String::new(),
    };
    let whole = plan.chunk_bytes() as u64;
    let decoded = match is_sized {
        true => format!(", {} decoded{}", human::bytes(whole), amplification(whole)),
        false => String::new(),
    };
    let mut lines = vec![
        ("selected", format!("{}: {}{size}", human::shape(&selection.count), human::count(elements, "element"))),
        ("chunks", format!("{touched} of {} touched, {covered} covered{decoded}", plan.grid_chunks())),
    ];
    if plan.num_chunks() <= ASKED {
        let stored = storage::stored(array, &selection.hyperslab())?;
        let absent = if stored.absent > 0 { format!(" ({} absent)", stored.absent) } else { String::new() };
        let chunks = human::count(stored.present, "chunk");
        let fetched = human::bytes(stored.bytes);
        lines.push(("stored", format!("{fetched} in {chunks}{absent}{}", amplification(stored.bytes))));
    }
    lines.push(("requests", requests(cost, touched)));
    Ok(lines)
}

/// What it takes to read a selection; `None` for more chunks than are asked for, and for strings.
fn cost(array: &Array, selection: &Selection) -> Result<Option<ReadCost>> {
    let plan = nczchunk::Plan::new(array.variable(), &selection.hyperslab(), Access::Read)?;
    if plan.num_chunks() > ASKED || *array.element_type() == ElementType::String {
        return Ok(None);
    }
    Ok(Some(plan.read_cost(array.store())?))
}

fn cost_document(cost: ReadCost) -> Json {
    Json::Object(vec![
        ("requests", Json::integer(cost.requests)),
        ("bytes", Json::integer(cost.bytes)),
        ("index_requests", Json::integer(cost.index_requests)),
        ("index_bytes", Json::integer(cost.index_bytes)),
    ])
}

/// What a storage is asked for.
fn requests(cost: Option<ReadCost>, touched: u64) -> String {
    match cost {
        None => format!("{touched} or more"),
        Some(ReadCost { requests, bytes, index_requests: 0, .. }) => format!("{requests}, {}", human::bytes(bytes)),
        Some(ReadCost { requests, bytes, index_requests, index_bytes, .. }) => {
            let (all, index) = (human::bytes(bytes), human::bytes(index_bytes));
            format!("{requests}, {all}, of which {index_requests} for indices, {index}")
        }
    }
}

/// The plan of the shards in which the chunks of a plan are.
fn shards_of<'v>(plan: &'v nczchunk::Plan<'_>) -> Result<nczchunk::Plan<'v>> {
    let slices = plan.dimensions().iter().map(Projections::slice);
    let (mut start, mut count, mut stride) = (Vec::new(), Vec::new(), Vec::new());
    for slice in slices {
        start.push(slice.start());
        count.push(slice.count());
        stride.push(isize::try_from(slice.stride()).unwrap_or(isize::MAX));
    }
    let slab = nczchunk::Hyperslab::new(&start, &count).with_stride(&stride);
    Ok(nczchunk::Plan::new(plan.variable(), &slab, Access::Write)?)
}
