//! `nczchunk locate`: which bytes of which object each chunk is.

use std::io::{self, BufWriter, Write};

use clap::Args;
use nczchunk::{Array, ChunkState, ErrorKind};

use crate::failure::Result;
use crate::open_storage::Source;
use crate::screen::printable;
use crate::slab::{self, Slab};

/// Prints the object and the byte range of each chunk that a hyperslab touches
#[derive(Debug, Args)]
#[command(after_help = slab::HELP)]
pub struct Locate {
    #[command(flatten)]
    source: Source,
    /// The hyperslab, such as '0,10:30,::3' [default: the whole array]
    #[arg(short, long, value_name = "SLAB", allow_hyphen_values = true)]
    slab: Option<Slab>,
}

impl Locate {
    /// Prints a line for each chunk.
    pub fn run(&self) -> Result<()> {
        let array = self.source.open()?;
        let selection = Slab::select(self.slab.as_ref(), &array)?;
        let width = chunk_width(&array);
        let storage = self.source.storage.display().to_string();
        let mut out = BufWriter::new(io::stdout().lock());
        writeln!(out, "{:<width$}  {:>10}  {:>10}  object", "chunk", "offset", "bytes")?;
        let mut unwritten = Ok(());
        let located = array.locate(&selection.hyperslab(), &mut |chunk| {
            let indices: Vec<String> = chunk.indices.iter().map(isize::to_string).collect();
            let (offset, bytes) = match chunk.state {
                ChunkState::Stored { offset, len } => (offset.to_string(), len.to_string()),
                _ => ("-".to_owned(), "absent".to_owned()),
            };
            // A file that is the storage itself has no name in it.
            let object = if chunk.object.is_empty() { &storage } else { chunk.object };
            let object = printable(object);
            unwritten = writeln!(out, "{:<width$}  {offset:>10}  {bytes:>10}  {object}", indices.join(","));
            if unwritten.is_ok() { Ok(()) } else { Err(ErrorKind::Callback(1).into()) }
        });
        unwritten?;
        located?;
        out.flush()?;
        Ok(())
    }
}

/// How many characters the indices of any chunk of an array have at most.
fn chunk_width(array: &Array) -> usize {
    let dimensions = array.variable().dimensions();
    let digits = |number: isize| number.to_string().len();
    let widths = dimensions.iter().map(|dimension| {
        let first = dimension.origin().div_euclid(dimension.chunklen() as isize);
        digits(first).max(digits(first.saturating_add_unsigned(dimension.num_chunks().saturating_sub(1))))
    });
    (widths.sum::<usize>() + dimensions.len().saturating_sub(1)).max("chunk".len())
}
