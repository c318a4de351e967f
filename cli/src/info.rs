//! `nczchunk info`: what is to be said of an array.

use std::io::{self, BufWriter, Write};

use clap::Args;
use nczchunk::{Access, Array, ElementType, Endian, Variable};

use crate::Session;
use crate::attribute;
use crate::element;
use crate::failure::Result;
use crate::human;
use crate::json::{self, Json};
use crate::open_storage::{self, Source};
use crate::screen::{Tint, printable};
use crate::slab::shape;
use crate::storage::{self, Stored};

/// Shows the shape, chunks, codecs, fill value, attributes and stored bytes of an array
#[derive(Debug, Args)]
pub struct Info {
    #[command(flatten)]
    source: Source,
    /// Counts stored bytes even if there are more than 100000 chunks
    #[arg(long)]
    stored: bool,
    /// Prints one JSON document
    #[arg(long)]
    json: bool,
}

/// Up to so many chunks are asked for how long they are without being told to.
const ASKED: u128 = 100_000;

impl Info {
    /// Prints it.
    pub fn run(&self, session: &Session) -> Result<()> {
        let array = self.source.open()?;
        if self.json {
            return json::print(&self.document(&array)?);
        }
        let mut out = BufWriter::new(io::stdout().lock());
        let heading = open_storage::heading(&self.source.storage, &array);
        writeln!(out, "{}", session.screen.paint(Tint::Heading, &heading))?;
        for (what, words) in self.lines(&array)? {
            writeln!(out, "  {what:<12}{}", printable(&words))?;
        }
        let (all, left_out, error) = (array.attributes(), array.left_out(), array.attributes_error());
        if !all.is_empty() || !left_out.is_empty() || error.is_some() {
            writeln!(out, "  attributes")?;
        }
        attribute::write(&mut out, all, left_out, error)?;
        out.flush()?;
        Ok(())
    }

    fn lines(&self, array: &Array) -> Result<Vec<(&'static str, String)>> {
        let variable = array.variable();
        let mut lines = vec![
            ("format", array.format().to_owned()),
            ("type", type_name(array)),
            ("shape", whole_shape(array)),
            ("chunks", chunks(variable, array.element_type())),
        ];
        if let Some(shards) = shard_shape(variable) {
            lines.push(("shards", human::shape(&shards)));
        }
        lines.push(("codecs", storage::codecs(array)?));
        lines.push(("fill value", fill_value(array)));
        lines.push(match self.counted(array)? {
            Some(counted) => ("stored", stored(array, counted)),
            None => ("stored", "not counted; use --stored to count them".to_owned()),
        });
        Ok(lines)
    }

    /// What is stored, unless there are so many chunks that it is counted by request only.
    fn counted(&self, array: &Array) -> Result<Option<Stored>> {
        let is_counted = self.stored || storage::num_chunks(array) <= ASKED;
        is_counted.then(|| storage::stored_of_all(array)).transpose()
    }

    fn document(&self, array: &Array) -> Result<Json> {
        let (variable, element) = (array.variable(), *array.element_type());
        let codec = |(name, configuration): (String, String)| {
            Json::Object(vec![("name", Json::Text(name)), ("configuration", Json::of_library(&configuration))])
        };
        let unlimited = (0..variable.rank()).map(|d| Json::Bool(array.is_unlimited(d))).collect();
        let zeros = vec![0; element.size()];
        Ok(Json::Object(vec![
            ("path", Json::text(self.source.storage.display())),
            ("name", Json::text(array.name())),
            ("format", Json::text(array.format())),
            ("type", Json::text(element)),
            ("byte_order", Json::option(byte_order(array), Json::text)),
            ("shape", Json::integers(shape(array))),
            ("dimensions", Json::dimension_names(array)),
            ("unlimited", Json::List(unlimited)),
            ("chunks", Json::integers(variable.dimensions().iter().map(nczchunk::Dimension::chunklen))),
            ("chunk_lengths", Json::option(chunk_lengths(variable), Json::List)),
            ("shards", Json::option(shard_shape(variable), Json::integers)),
            ("codecs", Json::List(array.codecs()?.into_iter().map(codec).collect())),
            ("fill_value", Json::element(element, array.fill_value().unwrap_or(&zeros))),
            ("stored", Json::option(self.counted(array)?, Stored::document)),
            ("attributes", Json::of_library(array.attributes_json())),
            ("left_out", attribute::left_out(array.left_out(), array.attributes_error())),
        ]))
    }
}

/// The byte order of the stored data, if elements have one.
fn byte_order(array: &Array) -> Option<&'static str> {
    let is_big = match array.variable().endian() {
        Endian::Native => cfg!(target_endian = "big"),
        Endian::Big => true,
        Endian::Little => false,
    };
    let has_one = *array.element_type() != ElementType::String && array.variable().word_size() > 1;
    has_one.then_some(if is_big { "big" } else { "little" })
}

fn type_name(array: &Array) -> String {
    let order = byte_order(array).map(|order| format!(", {order}-endian")).unwrap_or_default();
    format!("{}{order}", array.element_type())
}

fn whole_shape(array: &Array) -> String {
    let dimension = |(d, len): (usize, usize)| {
        let name = array.dimension_name(d).map(|name| format!("{name}=")).unwrap_or_default();
        format!("{name}{len}{}", if array.is_unlimited(d) { " (unlimited)" } else { "" })
    };
    let shape = shape(array);
    let texts: Vec<String> = shape.iter().copied().enumerate().map(dimension).collect();
    let elements = num_elements(&shape);
    let size = match array.element_type() {
        ElementType::String => String::new(),
        element => format!(", {}", human::bytes(elements.saturating_mul(element.size() as u64))),
    };
    format!("{}: {}{size}", human::shape(&texts), human::count(elements, "element"))
}

fn num_elements(shape: &[usize]) -> u64 {
    if shape.contains(&0) { 0 } else { shape.iter().fold(1, |all: u64, &len| all.saturating_mul(len as u64)) }
}

fn chunks(variable: &Variable, element: &ElementType) -> String {
    let is_regular = variable.grid(Access::Read).is_regular();
    let lens: Vec<usize> = variable.dimensions().iter().map(nczchunk::Dimension::chunklen).collect();
    let grid: Vec<usize> = variable.dimensions().iter().map(nczchunk::Dimension::num_chunks).collect();
    let size = match element {
        ElementType::String => String::new(),
        _ if is_regular => format!(", {} each", human::bytes(variable.chunk_bytes() as u64)),
        _ => format!(", {} at most", human::bytes(variable.chunk_bytes() as u64)),
    };
    let most = if is_regular { "" } else { "up to " };
    let order = match variable.chunk_order() {
        Some(order) => format!(", dimensions in the order {order:?}"),
        None => String::new(),
    };
    let number = human::count(num_elements(&grid), "chunk");
    let grid = if grid.len() > 1 { format!(" in a grid of {}", human::shape(&grid)) } else { String::new() };
    format!("{most}{}{size}{order}: {number}{grid}", human::shape(&lens))
}

/// Of chunks that differ in length: for each dimension a list of lengths and how many chunks in a row have them, or
/// null for one length.
fn chunk_lengths(variable: &Variable) -> Option<Vec<Json>> {
    let run = |run: nczchunk::ChunkRun| Json::integers([run.len, run.num_chunks]);
    let lists = variable
        .dimensions()
        .iter()
        .map(|dimension| Json::option(dimension.chunks(), |runs| Json::List(runs.map(run).collect())));
    (!variable.grid(Access::Read).is_regular()).then(|| lists.collect())
}

/// The lengths of the shards, if there are any.
pub fn shard_shape(variable: &Variable) -> Option<Vec<usize>> {
    let lens = |access| -> Vec<usize> {
        variable.grid(access).dimensions().iter().map(nczchunk::Dimension::chunklen).collect()
    };
    // With shards of one chunk each the grids are the same, but are two.
    let is_sharded = !std::ptr::eq(variable.grid(Access::Read), variable.grid(Access::Write));
    is_sharded.then(|| lens(Access::Write))
}

fn fill_value(array: &Array) -> String {
    let element = *array.element_type();
    let zeros = vec![0; element.size()];
    let bytes = array.fill_value().unwrap_or(&zeros);
    let mut text = String::new();
    element::push(&mut text, element, bytes);
    if !element::is_text(element) {
        return text;
    }
    let mut quoted = String::new();
    let text = if element == ElementType::String { String::from_utf8_lossy(bytes).into_owned() } else { text };
    element::push_quoted(&mut quoted, &text);
    quoted
}

fn stored(array: &Array, stored: Stored) -> String {
    let Stored { present, absent, bytes } = stored;
    let whole = num_elements(&shape(array)).saturating_mul(array.variable().element_size() as u64);
    let part = match array.element_type() {
        _ if whole == 0 => String::new(),
        ElementType::String => String::new(),
        _ => format!(", {:.1} % of the elements' bytes", bytes as f64 / whole as f64 * 100.0),
    };
    let absent = if absent > 0 { format!(", {absent} absent") } else { String::new() };
    format!("{} in {}{absent}{part}", human::bytes(bytes), human::count(present, "chunk"))
}
