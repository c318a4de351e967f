//! `nczchunk concat`: a small file that stands for several files as one.

use std::path::PathBuf;

use clap::Args;

use crate::failure::{Failure, Result, words};
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
        let mut paths = Vec::new();
        for path in &self.paths {
            paths.push(match nczchunk::is_url(path) {
                true => path.clone(),
                false => std::fs::canonicalize(path).map_err(Failure::about(path.display()))?,
            });
        }
        output::check_document(&self.output, &paths)?;
        let failed = |error| Failure::Failed(words(&error));
        let storage = nczchunk::concat(&paths, &self.dimension).map_err(failed)?;
        let nodes = nczchunk::list(&storage, "", true).map_err(failed)?;
        let has_dimension = |node: &nczchunk::Node| {
            (0..node.shape().len()).any(|d| node.dimension_name(d) == Some(self.dimension.as_str()))
        };
        if let Some(error) = nodes.iter().find_map(nczchunk::Node::error) {
            return Err(Failure::Failed(words(error)));
        }
        if !nodes.iter().any(has_dimension) {
            return Err(Failure::usage(format_args!("no array has a dimension {}", self.dimension)));
        }
        let text = nczchunk::concat_document(&paths, &self.dimension).map_err(failed)?;
        output::write_text(&self.output, None, &format!("{text}\n"))
    }
}
