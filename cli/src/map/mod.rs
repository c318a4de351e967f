//! `nczchunk map`: a 2-d hyperslab as a map, in the terminal or in a PNG file.
//!
//! In colours a character is two elements, one above the other; without colours it is one. What has no room is not
//! read: the stride is made larger, along each axis by itself.
//!
//! ```text
//!   picture.rs    the map in characters         png.rs    the map in pixels
//!   scale.rs      values as characters and colours
//!   axis.rs       what rows and columns are labelled with
//! ```

mod axis;
mod picture;
mod png;
mod scale;

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use clap::Args;
use nczchunk::{Array, ElementType};

use crate::Session;
use crate::attribute;
use crate::cf::Decoding;
use crate::element;
use crate::failure::{Failure, Result};
use crate::open_storage::{self, Source};
use crate::output;
use crate::pieces::{self, Values};
use crate::screen::{Depth, Screen, printable};
use crate::slab::{self, Selection, Slab};

use axis::Axis;
use picture::{Picture, rows_in_line};
use scale::Range;

/// Draws a 2-d hyperslab as a map, in colours if the terminal has them
#[derive(Debug, Args)]
#[command(after_help = slab::HELP)]
pub struct Map {
    #[command(flatten)]
    source: Source,
    /// The hyperslab, such as '0,10:30,::3' [default: the first plane of the array]
    #[arg(short, long, value_name = "SLAB", allow_hyphen_values = true)]
    slab: Option<Slab>,
    /// Shows the last row at the top, for example the north if latitudes ascend
    #[arg(short, long)]
    flip: bool,
    /// The values at the ends of the colour scale [default: the least and the greatest that are shown]
    #[arg(short, long, value_name = "LOW:HIGH", allow_hyphen_values = true)]
    range: Option<Range>,
    /// Shows stored values: without scale_factor and add_offset and missing values
    #[arg(long)]
    raw: bool,
    /// Draws into a PNG file instead of the terminal
    #[arg(long, value_name = "FILE")]
    png: Option<PathBuf>,
}

impl Map {
    /// Prints the map.
    pub fn run(&self, session: &Session) -> Result<()> {
        let array = self.source.open()?;
        let (mut selection, down, across) = self.selection(&array)?;
        check_type(*array.element_type())?;
        let storage = open_storage::storage(&self.source.storage)?;
        let room = match &self.png {
            Some(_) => png::ROOM,
            None => Room::of_screen(&session.screen),
        };
        // Labels are read of what can be shown at most, so that long dimensions are not read whole.
        let whole = selection.clone();
        room.thin(&mut selection, (down, across));
        let mut rows = Axis::new(&storage, &array, &selection, down);
        if self.png.is_none() {
            // The labels of rows take columns from the map.
            selection = whole;
            let columns = room.columns.saturating_sub(rows.width() + 1).max(1);
            Room { columns, ..room }.thin(&mut selection, (down, across));
            rows = Axis::new(&storage, &array, &selection, down);
        }
        let columns = Axis::new(&storage, &array, &selection, across);
        let decoding = if self.raw { Decoding::raw(&array) } else { Decoding::of(&array) };
        let mut picture = read(&array, &selection, across, &decoding, session.threads)?;
        if self.flip {
            picture.rows.reverse();
            rows.flip();
        }
        picture.range = picture.range.map(|found| self.range.unwrap_or(found));
        let title = printable(&format!("{}[{selection}]", open_storage::title(&self.source.storage, &array)));
        let units = printable(attribute::text(array.attributes(), "units").unwrap_or_default());
        let mut out = BufWriter::new(io::stdout().lock());
        if let Some(path) = &self.png {
            let mut file = output::Output::new(Some(path), Some(&self.source.storage), true)?;
            png::draw(&mut file, &picture, (&rows, &columns), &title, &units)?;
            file.finish()?;
            if path.as_os_str() != "-" {
                writeln!(out, "{title} drawn to {}", printable(&path.to_string_lossy()))?;
            }
        } else {
            let depth = session.screen.depth;
            // Blank lines would show nothing.
            let lines = if picture.range.is_some() { picture.framed(depth, &rows, &columns) } else { Vec::new() };
            for line in lines {
                writeln!(out, "{line}")?;
            }
            writeln!(out, "{}\n{title}", picture.legend(depth, &units))?;
        }
        out.flush()?;
        Ok(())
    }

    /// What is shown, and the dimensions of the rows and of the columns.
    fn selection(&self, array: &Array) -> Result<(Selection, usize, usize)> {
        let mut selection = Slab::select(self.slab.as_ref(), array)?;
        let rank = selection.rank();
        if self.slab.is_none() {
            // The first plane.
            for d in 0..rank.saturating_sub(2) {
                (selection.count[d], selection.is_kept[d]) = (selection.count[d].min(1), false);
            }
        }
        // Of dimensions that are kept those of length 1 do no harm.
        let kept: Vec<usize> = selection.kept().collect();
        let long: Vec<usize> = kept.iter().copied().filter(|&d| selection.count[d] > 1).collect();
        let shown = if kept.len() > 2 { &long } else { &kept };
        match shown[..] {
            [down, across] => Ok((selection, down, across)),
            _ => {
                let shape = crate::human::shape(&selection.shape());
                Err(Failure::usage(format_args!(
                    "a map needs two dimensions, but this is {shape}; select two with --slab"
                )))
            }
        }
    }
}

fn check_type(element: ElementType) -> Result<()> {
    let zero = [0; 16];
    match zero.get(..element.size()).and_then(|zero| element::number(element, zero)) {
        Some(_) => Ok(()),
        None => Err(Failure::usage(format_args!("a map needs numbers, but the elements are {element}"))),
    }
}

/// How much of a map can be shown.
#[derive(Clone, Copy)]
struct Room {
    /// The most columns and rows.
    columns: usize,
    rows: usize,
    /// How many rows are as high as so many columns are wide.
    aspect: usize,
    /// The rows that are shown in any case, if there are as many.
    least_rows: usize,
}

impl Room {
    /// The room on a screen, whose characters are twice as high as they are wide.
    fn of_screen(screen: &Screen) -> Self {
        const LEAST_LINES: usize = 12;
        let (columns, together) = (screen.width, rows_in_line(screen.depth));
        let aspect = if screen.depth == Depth::Plain { 2 } else { 1 };
        Room { columns, rows: 4 * columns, aspect, least_rows: LEAST_LINES * together }
    }

    /// Leaves out what has no room, along each axis by itself. Elements are shown as squares, or nearly so, unless
    /// there would be few rows then.
    fn thin(self, selection: &mut Selection, (down, across): (usize, usize)) {
        let step = selection.count[across].div_ceil(self.columns).max(1);
        let most = (selection.count[down] / self.least_rows).max(1);
        let rows = (step * self.aspect).min(most).max(selection.count[down].div_ceil(self.rows));
        selection.thin(across, step);
        selection.thin(down, rows);
    }
}

fn read(array: &Array, selection: &Selection, across: usize, decoding: &Decoding, threads: usize) -> Result<Picture> {
    let Values::Bytes { bytes, size } = pieces::read(array, selection, threads)? else {
        return Ok(Picture { rows: Vec::new(), range: None });
    };
    let values: Vec<f64> = bytes.chunks_exact(size).map(|bytes| decoding.number(bytes).unwrap_or(f64::NAN)).collect();
    let found = || values.iter().copied().filter(|value| !value.is_nan());
    let range = found().reduce(f64::min).zip(found().reduce(f64::max)).map(|(low, high)| Range { low, high });
    let rows = values.chunks(selection.count[across].max(1)).map(<[f64]>::to_vec).collect();
    Ok(Picture { rows, range })
}
