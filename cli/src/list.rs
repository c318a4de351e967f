//! `nczchunk list`: what is in a store or file.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use clap::Args;
use nczchunk::Node;

use crate::Session;
use crate::attribute;
use crate::failure::Result;
use crate::human;
use crate::json::{self, Json};
use crate::open_storage;
use crate::screen::{Screen, Tint, printable};

/// Lists the groups and arrays of a store or file
#[derive(Debug, Args)]
pub struct List {
    /// A directory or zip file of Zarr or NCZarr, or a netCDF, HDF5 or cfdb file
    #[arg(value_name = "PATH")]
    storage: PathBuf,
    /// The group to list; all of the storage if left out
    #[arg(value_name = "GROUP", default_value = "")]
    group: String,
    /// Also shows attributes
    #[arg(short, long)]
    attributes: bool,
    /// Lists only the direct members of the group
    #[arg(short, long)]
    shallow: bool,
    /// Prints one JSON document
    #[arg(long)]
    json: bool,
}

/// The columns of a line.
type Line = [String; 4];

impl List {
    /// Prints the list.
    pub fn run(&self, session: &Session) -> Result<()> {
        let storage = open_storage::storage(&self.storage)?;
        let nodes = open_storage::list(&self.storage, &storage, &self.group, !self.shallow)?;
        let entered = if self.shallow { nodes.get(..1).unwrap_or(&nodes) } else { &nodes };
        open_storage::note_left_out(&self.storage, &storage, entered);
        if self.json {
            let nodes = Json::List(nodes.iter().map(node_json).collect());
            return json::print(&Json::Object(vec![("path", Json::text(self.storage.display())), ("nodes", nodes)]));
        }
        let lines: Vec<Line> = nodes.iter().map(|node| line(node).map(|text| printable(&text))).collect();
        let mut widths = [0; 4];
        // Reasons why something cannot be opened are long, and stand alone.
        for (_, line) in nodes.iter().zip(&lines).filter(|(node, _)| node.error().is_none()) {
            widths.iter_mut().zip(line).for_each(|(width, text)| *width = (*width).max(text.chars().count()));
        }
        let mut out = BufWriter::new(io::stdout().lock());
        for (node, line) in nodes.iter().zip(&lines) {
            writeln!(out, "{}", columns(&session.screen, node, line, &widths))?;
            if self.attributes {
                attribute::write(&mut out, node.attributes(), node.left_out(), node.attributes_error())?;
            }
        }
        out.flush()?;
        Ok(())
    }
}

/// A group, an array, or what cannot be read and why.
fn node_json(node: &Node) -> Json {
    let mut members = vec![("name", Json::text(node.name()))];
    match (node.error(), node.element_type()) {
        (Some(error), _) => {
            members.extend([
                ("kind", Json::text("unreadable")),
                ("error", Json::text(open_storage::reason(node.name(), error))),
            ]);
            return Json::Object(members);
        }
        (None, None) => members.push(("kind", Json::text("group"))),
        (None, Some(element)) => {
            let dimensions = 0..node.shape().len();
            let names = dimensions.clone().map(|d| Json::option(node.dimension_name(d), Json::text)).collect();
            let unlimited = dimensions.map(|d| Json::Bool(node.is_unlimited(d))).collect();
            members.extend([
                ("kind", Json::text("array")),
                ("type", Json::text(element)),
                ("shape", Json::integers(node.shape())),
                ("dimensions", Json::List(names)),
                ("unlimited", Json::List(unlimited)),
                ("chunks", Json::integers(node.chunk_shape())),
                ("shards", Json::option(node.shard_shape(), Json::integers)),
            ]);
        }
    }
    members.extend([
        ("attributes", Json::of_library(node.attributes_json())),
        ("left_out", attribute::left_out(node.left_out(), node.attributes_error())),
    ]);
    Json::Object(members)
}

fn line(node: &Node) -> Line {
    let name = if node.name().is_empty() { "/".to_owned() } else { node.name().to_owned() };
    match (node.error(), node.element_type()) {
        (Some(error), _) => {
            let reason = open_storage::reason(&name, error);
            [name, "?".to_owned(), reason, String::new()]
        }
        (None, None) => {
            let attributes = human::count(node.attributes().len() as u64, "attribute");
            [name, "group".to_owned(), attributes, String::new()]
        }
        (None, Some(element)) => [name, element.to_string(), dimensions(node), chunks(node)],
    }
}

fn dimensions(node: &Node) -> String {
    let dimension = |(d, len): (usize, &usize)| {
        let name = node.dimension_name(d).map(|name| format!("{name}=")).unwrap_or_default();
        format!("{name}{len}{}", if node.is_unlimited(d) { " (unlimited)" } else { "" })
    };
    let texts: Vec<String> = node.shape().iter().enumerate().map(dimension).collect();
    human::shape(&texts)
}

fn chunks(node: &Node) -> String {
    if node.shape().is_empty() {
        return String::new();
    }
    let shards = node.shard_shape().map(|shape| format!(" in shards of {}", human::shape(shape))).unwrap_or_default();
    format!("in chunks of {}{shards}", human::shape(node.chunk_shape()))
}

/// The columns one under another, in colours.
fn columns(screen: &Screen, node: &Node, line: &Line, widths: &[usize; 4]) -> String {
    let tints = match (node.is_group(), node.error()) {
        (true, _) => [Some(Tint::Group), None, None, None],
        (false, Some(_)) => [Some(Tint::Bad), Some(Tint::Bad), Some(Tint::Bad), None],
        (false, None) => [Some(Tint::Heading), Some(Tint::Kind), None, None],
    };
    let mut text = String::new();
    for (i, (column, tint)) in line.iter().zip(tints).enumerate() {
        // Nothing is filled up behind the last column that there is.
        let is_last = line[i + 1..].iter().all(String::is_empty);
        text.push_str(&tint.map_or_else(|| column.clone(), |tint| screen.paint(tint, column)));
        if is_last {
            break;
        }
        text.extend(std::iter::repeat_n(' ', widths[i].saturating_sub(column.chars().count()) + 2));
    }
    text
}
