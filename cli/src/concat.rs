//! `nczchunk concat`: a small file that stands for several files as one.

use std::path::PathBuf;

use clap::Args;

use crate::failure::{Failure, Result};
use crate::open_storage;
use crate::output;

/// Joins the arrays of several files along a dimension: writes a small file that stands for all
///
/// Every command, and every program with this library, opens that file as it opens the others. No data are copied.
#[derive(Debug, Args)]
pub struct Concat {
    /// The name of the dimension, such as time
    #[arg(value_name = "DIMENSION")]
    dimension: String,
    /// Files, directories or URLs, in the order in which they follow one another
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// The JSON file to be written, or - for standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

impl Concat {
    /// Writes the file, unless an array in it could not be opened.
    pub fn run(&self) -> Result<()> {
        let paths = self.paths.iter().map(|path| open_storage::full_path(path)).collect::<Result<Vec<_>>>()?;
        output::check_document(&self.output, &paths)?;
        let storage = nczchunk::concat(&paths, &self.dimension)?;
        let nodes = nczchunk::list(&storage, "", true)?;
        let has_dimension = |node: &nczchunk::Node| {
            (0..node.shape().len()).any(|d| node.dimension_name(d) == Some(self.dimension.as_str()))
        };
        if let Some(error) = nodes.iter().find_map(nczchunk::Node::error) {
            return Err(error.clone().into());
        }
        if !nodes.iter().any(has_dimension) {
            return Err(Failure::usage(format_args!("no array has a dimension {}", self.dimension)));
        }
        let text = nczchunk::concat_document(&paths, &self.dimension)?;
        output::write_text(&self.output, None, &format!("{text}\n"))
    }
}
