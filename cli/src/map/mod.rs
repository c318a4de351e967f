//! `nczchunk map`: a 2-d hyperslab as a map in the terminal.
//!
//! In colours a character is two elements, one above the other; without colours it is one. What does not fit the width
//! is not read: the stride is made larger.

use std::fmt::Write as _;
use std::io::{self, BufWriter, Write};
use std::str::FromStr;

use clap::Args;
use nczchunk::{Array, ElementType};

use crate::Session;
use crate::attribute;
use crate::element;
use crate::failure::{Failure, Result};
use crate::missing::Missing;
use crate::pieces::{self, Values};
use crate::place::{self, Source};
use crate::screen::{Depth, Screen};
use crate::slab::{self, Selection, Slab};

/// Shows a 2-d hyperslab as a map, in colours on terminals that have some
#[derive(Debug, Args)]
#[command(after_help = slab::HELP)]
pub struct Map {
    #[command(flatten)]
    source: Source,
    /// The hyperslab, such as '0,10:30,::3'; the first plane of the array without it
    #[arg(short, long, value_name = "SLAB", allow_hyphen_values = true)]
    slab: Option<Slab>,
    /// Shows the last row first, such as the north where latitudes ascend
    #[arg(short, long)]
    flip: bool,
    /// The values at the ends of the scale; the least and the greatest that are shown without it
    #[arg(short, long, value_name = "LOW:HIGH", allow_hyphen_values = true)]
    range: Option<Range>,
}

/// Characters from the least value to the greatest.
const RAMP: &[u8] = b".:-=+*#%@";

/// Colours from the least value to the greatest: matplotlib's viridis.
const COLOURS: [[u8; 3]; 10] = [
    [68, 1, 84],
    [72, 40, 120],
    [62, 74, 137],
    [49, 104, 142],
    [38, 130, 142],
    [31, 158, 137],
    [53, 183, 121],
    [109, 205, 89],
    [180, 222, 44],
    [253, 231, 37],
];

/// The ends of the scale.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Range {
    low: f64,
    high: f64,
}

impl FromStr for Range {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let ends =
            text.split_once(':').and_then(|(low, high)| Some((low.trim().parse().ok()?, high.trim().parse().ok()?)));
        match ends {
            Some((low, high)) if low < high => Ok(Range { low, high }),
            Some(_) => Err("the first value has to be less than the second".to_owned()),
            None => Err("two numbers with a colon between them are due".to_owned()),
        }
    }
}

impl Range {
    /// Where a value is on the scale, from 0 to 1.
    fn place(&self, value: f64) -> f64 {
        if self.high > self.low { ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0) } else { 0.5 }
    }
}

/// Rows of values; those that are none are not a number.
struct Picture {
    rows: Vec<Vec<f64>>,
    range: Option<Range>,
}

impl Map {
    /// Prints the map.
    pub fn run(&self, session: &Session) -> Result<()> {
        let array = self.source.open()?;
        let (mut selection, down, across) = self.selection(&array)?;
        check_type(*array.element_type())?;
        thin(&mut selection, (down, across), &session.screen);
        let mut picture = read(&array, &selection, across, session.threads)?;
        if self.flip {
            picture.rows.reverse();
        }
        picture.range = self.range.or(picture.range);
        let mut out = BufWriter::new(io::stdout().lock());
        for line in picture.lines(session.screen.depth) {
            writeln!(out, "{line}")?;
        }
        let title = place::title(&self.source.place, &array);
        let units = attribute::text(array.attributes(), "units").unwrap_or_default();
        writeln!(out, "{}", picture.legend(session.screen.depth, units))?;
        writeln!(out, "{title}[{selection}]")?;
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
                Err(Failure::usage(format_args!("a map has two dimensions, and {shape} has not; choose with --slab")))
            }
        }
    }
}

fn check_type(element: ElementType) -> Result<()> {
    let zero = [0; 16];
    match zero.get(..element.size()).and_then(|zero| element::number(element, zero)) {
        Some(_) => Ok(()),
        None => Err(Failure::usage(format_args!("a map shows numbers, and elements of the type {element} are none"))),
    }
}

/// Leaves out what the width has no room for. Elements are shown as squares, or nearly so.
fn thin(selection: &mut Selection, (down, across): (usize, usize), screen: &Screen) {
    let step = selection.count[across].div_ceil(screen.width).max(1);
    let rows = if screen.depth == Depth::Plain { 2 * step } else { step };
    // What is very long is made less long.
    let rows = rows.max(selection.count[down].div_ceil(4 * screen.width));
    selection.thin(across, step);
    selection.thin(down, rows);
}

fn read(array: &Array, selection: &Selection, across: usize, threads: usize) -> Result<Picture> {
    let element = *array.element_type();
    let missing = Missing::of(array);
    let Values::Bytes { bytes, size } = pieces::read(array, selection, threads)? else {
        return Ok(Picture { rows: Vec::new(), range: None });
    };
    let value = |bytes: &[u8]| match element::number(element, bytes) {
        Some(number) if !missing.contains(bytes) && number.as_f64().is_finite() => number.as_f64(),
        _ => f64::NAN,
    };
    let values: Vec<f64> = bytes.chunks_exact(size).map(value).collect();
    let found = || values.iter().copied().filter(|value| !value.is_nan());
    let range = found().reduce(f64::min).zip(found().reduce(f64::max)).map(|(low, high)| Range { low, high });
    let rows = values.chunks(selection.count[across].max(1)).map(<[f64]>::to_vec).collect();
    Ok(Picture { rows, range })
}

impl Picture {
    fn lines(&self, depth: Depth) -> Vec<String> {
        match depth {
            Depth::Plain => self.rows.iter().map(|row| self.plain(row)).collect(),
            _ => self.rows.chunks(2).map(|pair| self.coloured(depth, &pair[0], pair.get(1))).collect(),
        }
    }

    fn plain(&self, row: &[f64]) -> String {
        let text: String = row.iter().map(|&value| self.place(value).map_or(' ', character)).collect();
        text.trim_end().to_owned()
    }

    /// Two rows in one line.
    fn coloured(&self, depth: Depth, upper: &[f64], lower: Option<&Vec<f64>>) -> String {
        let mut line = String::new();
        let mut last = (None, None);
        for (i, &upper) in upper.iter().enumerate() {
            let lower = lower.and_then(|row| self.place(row[i])).map(colour);
            let upper = self.place(upper).map(colour);
            // The foreground is that of the half that is drawn, the background that of the other.
            let (character, pair) = match (upper, lower) {
                (None, None) => (' ', (None, None)),
                (None, Some(_)) => ('▄', (lower, None)),
                (Some(_), _) => ('▀', (upper, lower)),
            };
            if pair != last {
                push_colours(&mut line, depth, pair);
                last = pair;
            }
            line.push(character);
        }
        if last != (None, None) {
            line.push_str("\x1b[0m");
        }
        line
    }

    fn place(&self, value: f64) -> Option<f64> {
        self.range.filter(|_| !value.is_nan()).map(|range| range.place(value))
    }

    fn legend(&self, depth: Depth, units: &str) -> String {
        const LENGTH: usize = 30;
        let Some(Range { low, high }) = self.range else { return "no values".to_owned() };
        let mut scale = String::new();
        if depth == Depth::Plain {
            scale.extend(RAMP.iter().map(|&byte| char::from(byte)));
        } else {
            for i in 0..LENGTH {
                push_colours(&mut scale, depth, (Some(colour(i as f64 / (LENGTH - 1) as f64)), None));
                scale.push('█');
            }
            scale.push_str("\x1b[0m");
        }
        let end = |value: f64| format!("{}", (value * 1e4).round() / 1e4);
        let (low, high) = if low.abs().max(high.abs()) < 1.0 || low.abs().max(high.abs()) >= 1e9 {
            (format!("{low:.4e}"), format!("{high:.4e}"))
        } else {
            (end(low), end(high))
        };
        format!("{low} {scale} {high} {units}").trim_end().to_owned()
    }
}

fn character(place: f64) -> char {
    let last = RAMP.len() - 1;
    char::from(RAMP[((place * RAMP.len() as f64) as usize).min(last)])
}

fn colour(place: f64) -> [u8; 3] {
    let at = place * (COLOURS.len() - 1) as f64;
    let below = (at as usize).min(COLOURS.len() - 2);
    let part = at - below as f64;
    let between = |i: usize| {
        let (one, other) = (f64::from(COLOURS[below][i]), f64::from(COLOURS[below + 1][i]));
        (one + (other - one) * part).round() as u8
    };
    [between(0), between(1), between(2)]
}

/// Adds what sets the foreground and the background; `None` is the terminal's own.
fn push_colours(line: &mut String, depth: Depth, (fore, back): (Option<[u8; 3]>, Option<[u8; 3]>)) {
    line.push_str("\x1b[0");
    for (kind, colour) in [(38, fore), (48, back)] {
        let Some([red, green, blue]) = colour else { continue };
        let _ = match depth {
            Depth::True => write!(line, ";{kind};2;{red};{green};{blue}"),
            _ => write!(line, ";{kind};5;{}", palette([red, green, blue])),
        };
    }
    line.push('m');
}

/// The nearest colour of the cube in the palette of 256.
fn palette(colour: [u8; 3]) -> u16 {
    const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let nearest = |value: u8| (0u16..6).min_by_key(|&i| LEVELS[usize::from(i)].abs_diff(value)).unwrap_or(0);
    let [red, green, blue] = colour.map(nearest);
    16 + 36 * red + 6 * green + blue
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(rows: &[&[f64]]) -> Picture {
        Picture { rows: rows.iter().map(|row| row.to_vec()).collect(), range: Some(Range { low: 0.0, high: 9.0 }) }
    }

    #[test]
    fn characters_are_denser_for_more() {
        let picture = picture(&[&[0.0, 1.0, 4.5, f64::NAN, 9.0, 99.0], &[f64::NAN; 6]]);
        assert_eq!(picture.lines(Depth::Plain), [".:+ @@", ""]);
        assert_eq!(picture.legend(Depth::Plain, "m"), "0 .:-=+*#%@ 9 m");
    }

    #[test]
    fn a_line_has_two_rows_of_colours() {
        let picture = picture(&[&[0.0, f64::NAN, f64::NAN], &[9.0, 9.0, f64::NAN], &[0.0, f64::NAN, f64::NAN]]);
        assert_eq!(
            picture.lines(Depth::True),
            ["\x1b[0;38;2;68;1;84;48;2;253;231;37m▀\x1b[0;38;2;253;231;37m▄\x1b[0m ", "\x1b[0;38;2;68;1;84m▀\x1b[0m  ",]
        );
        assert_eq!(picture.lines(Depth::Palette)[1], "\x1b[0;38;5;53m▀\x1b[0m  ");
    }

    #[test]
    fn ranges_are_two_numbers() {
        assert_eq!("-2:30.5".parse(), Ok(Range { low: -2.0, high: 30.5 }));
        assert!("3".parse::<Range>().is_err() && "3:2".parse::<Range>().is_err());
    }

    #[test]
    fn colours_of_the_palette_are_near() {
        assert_eq!((palette([0, 0, 0]), palette([255, 255, 255]), palette([100, 130, 255])), (16, 231, 69));
    }
}
