//! `nczchunk dump`: the elements of a hyperslab.

mod csv;
mod npy;
mod text;

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use nczchunk::{Array, ElementType};

use crate::Session;
use crate::cf::Decoding;
use crate::element;
use crate::failure::{Failure, Result};
use crate::interrupt;
use crate::open_storage::{self, Source};
use crate::output::{self, Output};
use crate::pieces::{self, Values};
use crate::slab::{self, Selection, Slab};

/// Writes the elements of a hyperslab as text, CSV, npy or bytes
#[derive(Debug, Args)]
#[command(after_help = slab::HELP)]
pub struct Dump {
    #[command(flatten)]
    source: Source,
    /// The hyperslab, such as '0,10:30,::3' [default: the whole array]
    #[arg(short, long, value_name = "SLAB", allow_hyphen_values = true)]
    slab: Option<Slab>,
    /// The output format
    #[arg(short, long, value_enum, default_value_t)]
    format: Format,
    /// Writes stored values: without scale_factor and add_offset, dates and missing values
    #[arg(long)]
    raw: bool,
    /// The file to write to; '-' is the standard output, the default
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// How elements are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Format {
    /// As ncdump writes it; `_` stands for a missing value
    #[default]
    Text,
    /// A line for each element: its indices and its value, which is empty if missing
    Csv,
    /// A file that numpy.load reads, with the stored values
    Npy,
    /// The bytes of the elements, row-major, in the machine's byte order
    Raw,
}

/// What is dumped.
struct Dumped<'a> {
    array: &'a Array,
    selection: &'a Selection,
    element: ElementType,
    decoding: Decoding,
    title: String,
    threads: usize,
}

impl Dump {
    /// Writes them.
    pub fn run(&self, session: &Session) -> Result<()> {
        let array = self.source.open()?;
        let selection = Slab::select(self.slab.as_ref(), &array)?;
        let element = *array.element_type();
        if self.format == Format::Raw && element == ElementType::String {
            return Err(Failure::usage(
                "variable-length strings cannot be written as raw bytes; choose another format",
            ));
        }
        if self.output.is_some() {
            interrupt::watch()?;
        }
        let is_binary = matches!(self.format, Format::Npy | Format::Raw);
        let mut out = Output::new(self.output.as_deref(), Some(&self.source.storage), is_binary)?;
        let title = open_storage::title(&self.source.storage, &array);
        let decoding = if self.raw || is_binary { Decoding::raw(&array) } else { Decoding::of(&array) };
        if let Some(note) = decoding.note() {
            output::note(&title, note);
        }
        let (array, selection, threads) = (&array, &selection, session.threads);
        let dumped = Dumped { array, selection, element, decoding, title, threads };
        match self.format {
            Format::Text => text::write(&dumped, &mut out)?,
            Format::Csv => csv::write(&dumped, &mut out)?,
            Format::Npy => npy::write(&dumped, &mut out)?,
            Format::Raw => dumped.each_bytes(|bytes| Ok(out.write_all(bytes)?))?,
        }
        out.finish()
    }
}

impl Dumped<'_> {
    /// Calls `one` for the elements, in pieces.
    fn each(&self, mut one: impl FnMut(&Selection, &Values) -> Result<()>) -> Result<()> {
        for piece in pieces::pieces(self.array, self.selection) {
            interrupt::check()?;
            one(&piece, &pieces::read(self.array, &piece, self.threads)?)?;
        }
        Ok(())
    }

    /// Calls `one` for the bytes of elements that have some, in pieces.
    fn each_bytes(&self, mut one: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.each(|_, values| if let Values::Bytes { bytes, .. } = values { one(bytes) } else { Ok(()) })
    }

    /// Calls `one` for each element as text, in quotes by `quote` if it is one: its number in the selection, the text,
    /// and whether it stands for no value.
    fn each_text(
        &self,
        quote: impl Fn(&mut String, &str),
        mut one: impl FnMut(usize, &str, bool) -> Result<()>,
    ) -> Result<()> {
        let (mut i, mut plain, mut text) = (0, String::new(), String::new());
        let is_text = element::is_text(self.element);
        self.each(|_, values| {
            match values {
                Values::Texts(texts) => {
                    for value in texts {
                        text.clear();
                        quote(&mut text, value);
                        one(i, &text, false)?;
                        i += 1;
                    }
                }
                Values::Bytes { bytes, size } => {
                    for bytes in bytes.chunks_exact(*size) {
                        text.clear();
                        if is_text {
                            plain.clear();
                            element::push(&mut plain, self.element, bytes);
                            quote(&mut text, &plain);
                        } else {
                            self.decoding.push(&mut text, bytes);
                        }
                        one(i, &text, self.decoding.is_missing(bytes))?;
                        i += 1;
                    }
                }
            }
            Ok(())
        })
    }
}
