//! A hyperslab on its grid of chunks, drawn in characters.
//!
//! A chunk is a box of some cells, each of which stands for some of its elements. Where there are too many chunks for
//! that a cell stands for some chunks. Beside the lines between chunks are the elements that chunks begin with; lines
//! between shards are double.

use std::io::Write;

use nczchunk::{Array, Dimension, Projections, Slice};

use crate::failure::Result;
use crate::human;
use crate::info::shard_shape;
use crate::screen::{Screen, Tint, printable};
use crate::slab::{self, Selection};

/// The most cells that a chunk has.
const MOST_COLUMNS: usize = 12;
const MOST_ROWS: usize = 4;
/// The most lines that are drawn.
const LINES: usize = 31;

/// A dimension, its chunks and what is selected of it.
#[derive(Debug)]
pub(super) struct Axis {
    pub name: String,
    pub len: usize,
    pub chunklen: usize,
    pub num_chunks: usize,
    /// The elements of a shard, if chunks are in shards.
    pub shardlen: Option<usize>,
    /// How much of the first chunk lies before the dimension.
    lead: usize,
    /// The dimension, if its chunks differ in length.
    listed: Option<Dimension>,
    pub start: usize,
    pub count: usize,
    pub stride: usize,
}

impl Axis {
    /// A dimension of an array.
    pub(super) fn new(array: &Array, selection: &Selection, d: usize) -> Self {
        let dimension = &array.variable().dimensions()[d];
        let chunklen = dimension.chunklen();
        let lead = isize::try_from(chunklen).map_or(0, |chunklen| dimension.origin().rem_euclid(chunklen));
        Axis {
            name: printable(&slab::dimension_name(array, d)),
            len: dimension.len(),
            chunklen,
            num_chunks: dimension.num_chunks(),
            shardlen: shard_shape(array.variable()).map(|lens| lens[d]),
            lead: lead.unsigned_abs(),
            listed: dimension.chunks().map(|_| dimension.clone()),
            start: selection.start[d],
            count: selection.count[d],
            stride: selection.stride[d].unsigned_abs(),
        }
    }

    /// A dimension of length 1, for the rows of an array that has only columns.
    fn one() -> Self {
        let (len, chunklen, num_chunks, count, stride) = (1, 1, 1, 1, 1);
        let (name, shardlen, lead, listed, start) = (String::new(), None, 0, None, 0);
        Axis { name, len, chunklen, num_chunks, shardlen, lead, listed, start, count, stride }
    }

    /// The elements at the positions `from..to`, which are counted from the beginning of the first chunk.
    fn elements(&self, from: usize, to: usize) -> (usize, usize) {
        let element = |position: usize| position.saturating_sub(self.lead).min(self.len);
        (element(from), element(to))
    }

    /// How many of the elements `from..to` are selected.
    fn selected(&self, (from, to): (usize, usize)) -> usize {
        let before = |element: usize| element.saturating_sub(self.start).div_ceil(self.stride).min(self.count);
        before(to) - before(from)
    }

    /// The elements of a chunk.
    pub(super) fn chunk(&self, c: usize) -> (usize, usize) {
        if let Some(dimension) = &self.listed {
            let extent = isize::try_from(c).ok().and_then(|c| dimension.chunk(c));
            return extent.map_or((self.len, self.len), |extent| (extent.start, extent.start + extent.len));
        }
        self.elements(c * self.chunklen, (c + 1) * self.chunklen)
    }

    /// Whether a chunk is the first one of a shard.
    pub(super) fn begins_shard(&self, c: usize) -> bool {
        self.shardlen.is_some_and(|shardlen| c.saturating_mul(self.chunklen) % shardlen.max(1) == 0)
    }

    /// Whether a chunk is touched.
    pub(super) fn is_touched(&self, c: usize) -> bool {
        self.selected(self.chunk(c)) > 0
    }

    /// How many of some chunks are touched, without a look at each: of selected elements that are a chunk or more apart
    /// each has a chunk of its own, and of others the chunks follow one another.
    fn num_touched(&self, chunks: std::ops::Range<usize>) -> usize {
        if let Some(dimension) = &self.listed {
            // Of a list, those that the elements before the chunk touch.
            let before = |c: usize| {
                let selected = self.selected((0, self.chunk(c).0));
                let slice = Slice::read(self.len, self.start.min(self.len), selected, self.stride as isize);
                slice.and_then(|slice| Projections::new(dimension, slice)).map_or(0, |touched| touched.len())
            };
            return before(chunks.end) - before(chunks.start);
        }
        let position = |i: usize| self.start + self.lead + i * self.stride;
        let before = |c: usize| {
            let selected = self.selected((0, self.elements(0, c.saturating_mul(self.chunklen)).1));
            match selected.checked_sub(1) {
                None => 0,
                Some(_) if self.stride >= self.chunklen => selected,
                Some(last) => position(last) / self.chunklen + 1 - position(0) / self.chunklen,
            }
        };
        before(chunks.end) - before(chunks.start)
    }

    /// The axis as cells that fit so many characters, with the lines between chunks.
    fn cells(&self, room: usize, most: usize) -> Vec<Cell> {
        let chunks = self.num_chunks.max(1);
        if chunks.saturating_mul(2) < room {
            let parts = ((room - 1) / chunks - 1).min(most).min(self.chunklen).max(1);
            return (0..chunks).flat_map(|c| (0..parts).map(move |part| self.part(c, part, parts))).collect();
        }
        let together = chunks.div_ceil(room.saturating_sub(2).max(1));
        (0..chunks.div_ceil(together)).map(|cell| self.group(cell * together, together, chunks)).collect()
    }

    /// A part of a chunk.
    fn part(&self, c: usize, part: usize, parts: usize) -> Cell {
        let position = |part: usize| c * self.chunklen + part * self.chunklen / parts;
        let (from, to) = match (&self.listed, self.chunk(c)) {
            (None, _) => self.elements(position(part), position(part + 1)),
            (_, (begin, end)) => (begin + part * (end - begin) / parts, begin + (part + 1) * (end - begin) / parts),
        };
        Cell {
            begins_chunk: part == 0,
            begins_shard: part == 0 && self.begins_shard(c),
            element: from,
            is_inside: to > from,
            is_touched: self.is_touched(c),
            share: self.share(from, to),
        }
    }

    /// How much of some elements is selected: the very part where there are few, else how dense the selection is, so
    /// that cells of which one happens to have an element more than the other look the same.
    fn share(&self, from: usize, to: usize) -> f64 {
        let inside = to.saturating_sub(from).max(1) as f64;
        if inside <= 2.0 || self.count == 0 {
            return self.selected((from, to)) as f64 / inside;
        }
        let end = self.start + self.count.saturating_mul(self.stride);
        let overlap = to.min(end).saturating_sub(from.max(self.start));
        overlap as f64 / inside / self.stride as f64
    }

    /// Several chunks.
    fn group(&self, first: usize, together: usize, chunks: usize) -> Cell {
        let group = first..(first + together).min(chunks);
        let touched = self.num_touched(group.clone());
        Cell {
            begins_chunk: first == 0,
            begins_shard: first == 0 && self.shardlen.is_some(),
            element: self.chunk(first).0,
            is_inside: true,
            is_touched: touched > 0,
            share: touched as f64 / group.len() as f64,
        }
    }

    /// What is said of it beside the drawing.
    pub(super) fn words(&self, direction: &str) -> String {
        let touched = self.num_touched(0..self.num_chunks);
        let (name, whole, chunks, len) = (&self.name, self.len, self.num_chunks, self.chunklen);
        let most = if self.listed.is_some() { "up to " } else { "" };
        let step = match self.stride {
            2.. if self.count > 1 => format!(", every {} element", human::ordinal(self.stride)),
            _ => String::new(),
        };
        let shards = self.shardlen.map(|len| format!(", in shards of {len}")).unwrap_or_default();
        format!("{direction} {name}, length {whole}{step}: {touched} of {chunks} chunks of {most}{len} touched{shards}")
    }
}

/// What a character stands for along one axis.
struct Cell {
    begins_chunk: bool,
    begins_shard: bool,
    /// Its first element.
    element: usize,
    is_inside: bool,
    is_touched: bool,
    /// The share of it that is selected, or of its chunks that are touched.
    share: f64,
}

/// Draws the grid of an array without rows, or with some.
pub(super) fn write(out: &mut impl Write, screen: &Screen, rows: Option<&Axis>, columns: &Axis) -> Result<()> {
    let one = Axis::one();
    let down = rows.unwrap_or(&one);
    // The elements that rows begin with stand before them, with a space behind.
    let margin = rows.map_or(0, |rows| rows.len.to_string().len() + 1);
    let across = columns.cells(screen.width - 2 - margin, MOST_COLUMNS);
    let lines = down.cells(LINES, MOST_ROWS);
    let label = |element: usize| if margin > 0 { format!("{element:>0$} ", margin - 1) } else { String::new() };
    let is_sharded = columns.shardlen.is_some();
    if rows.is_some() {
        writeln!(out, "  {}", down.name)?;
    }
    for (i, row) in lines.iter().enumerate() {
        if row.begins_chunk {
            let at = if i == 0 { Row::First } else { Row::Between };
            let begins_shard = row.begins_shard || (rows.is_none() && is_sharded);
            writeln!(out, "  {}{}", label(row.element), border(&across, at, begins_shard))?;
        }
        writeln!(out, "  {:margin$}{}", "", line(screen, row, &across, is_sharded))?;
    }
    writeln!(out, "  {}{}", label(down.len), border(&across, Row::Last, is_sharded))?;
    writeln!(out, "  {:margin$}{}", "", labels(&across, columns.len))?;
    writeln!(out, "  {:margin$}{}", "", columns.name)?;
    if rows.is_some() {
        writeln!(out, "  {}", down.words("down:"))?;
    }
    writeln!(out, "  {}", columns.words("across:"))?;
    let shards = if is_sharded { "  ═║ shards" } else { "" };
    writeln!(out, "  █ selected  ▓▒ partly selected  ░ touched{shards}")?;
    Ok(())
}

/// Which of the lines between rows it is.
#[derive(Debug, Clone, Copy)]
enum Row {
    First,
    Between,
    Last,
}

/// Where lines between rows meet those between columns: for lines that are both single, of which those between rows are
/// double, of which those between columns are double, and which are both double.
const JUNCTIONS: [[[char; 3]; 3]; 4] = [
    [['┌', '┬', '┐'], ['├', '┼', '┤'], ['└', '┴', '┘']],
    [['╒', '╤', '╕'], ['╞', '╪', '╡'], ['╘', '╧', '╛']],
    [['╓', '╥', '╖'], ['╟', '╫', '╢'], ['╙', '╨', '╜']],
    [['╔', '╦', '╗'], ['╠', '╬', '╣'], ['╚', '╩', '╝']],
];

/// A line between chunks, or between shards.
fn border(across: &[Cell], row: Row, is_double: bool) -> String {
    let is_sharded = across.first().is_some_and(|cell| cell.begins_shard);
    let junction =
        |column: usize, ends: bool| JUNCTIONS[usize::from(is_double) + 2 * usize::from(ends)][row as usize][column];
    let mut text = String::new();
    for (i, cell) in across.iter().enumerate() {
        if cell.begins_chunk {
            text.push(junction(usize::from(i > 0), cell.begins_shard));
        }
        text.push(if is_double { '═' } else { '─' });
    }
    text.push(junction(2, is_sharded));
    text
}

/// The elements that chunks begin with, below the lines before them, and the length behind the last one. What has no
/// room is left out.
fn labels(across: &[Cell], len: usize) -> String {
    let width = across.len() + across.iter().filter(|cell| cell.begins_chunk).count();
    let (mut text, mut column) = (String::new(), 0);
    for cell in across {
        if cell.begins_chunk {
            let label = cell.element.to_string();
            let is_free = text.is_empty() || text.len() < column;
            if is_free && (text.is_empty() || column + label.len() < width) {
                text.extend(std::iter::repeat_n(' ', column - text.len()));
                text.push_str(&label);
            }
            column += 1;
        }
        column += 1;
    }
    if text.len() < width {
        text.extend(std::iter::repeat_n(' ', width - text.len()));
        text.push_str(&len.to_string());
    }
    text
}

/// A line of cells. What follows each other in one colour is painted as one.
fn line(screen: &Screen, row: &Cell, across: &[Cell], is_sharded: bool) -> String {
    let (mut text, mut run, mut tint) = (String::new(), String::new(), None);
    for cell in across {
        if cell.begins_chunk {
            text.push_str(&painted(screen, tint, &std::mem::take(&mut run)));
            text.push(if cell.begins_shard { '║' } else { '│' });
        }
        let (character, its) = shade(row, cell);
        if its != tint {
            text.push_str(&painted(screen, tint, &std::mem::take(&mut run)));
            tint = its;
        }
        run.push(character);
    }
    text.push_str(&painted(screen, tint, &run));
    text.push(if is_sharded { '║' } else { '│' });
    text
}

/// What a character is drawn in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shade {
    Selected,
    Touched,
}

fn painted(screen: &Screen, shade: Option<Shade>, text: &str) -> String {
    match shade {
        None => text.to_owned(),
        Some(Shade::Selected) => screen.paint(Tint::Good, text),
        Some(Shade::Touched) => screen.paint(Tint::Touched, text),
    }
}

fn shade(row: &Cell, column: &Cell) -> (char, Option<Shade>) {
    let share = row.share * column.share;
    if !(row.is_inside && column.is_inside && row.is_touched && column.is_touched) {
        return (' ', None);
    }
    match share {
        1.0.. => ('█', Some(Shade::Selected)),
        0.4.. => ('▓', Some(Shade::Selected)),
        share if share > 0.0 => ('▒', Some(Shade::Selected)),
        _ => ('░', Some(Shade::Touched)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::Depth;

    fn axis(len: usize, chunklen: usize, (start, count, stride): (usize, usize, usize)) -> Axis {
        let num_chunks = len.div_ceil(chunklen);
        let name = "x".to_owned();
        Axis { name, len, chunklen, num_chunks, shardlen: None, lead: 0, listed: None, start, count, stride }
    }

    fn drawn(rows: Option<&Axis>, columns: &Axis, width: usize) -> Vec<String> {
        let mut out = Vec::new();
        write(&mut out, &Screen { depth: Depth::Plain, width }, rows, columns).unwrap();
        String::from_utf8(out).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn touched_chunks_are_counted_without_a_look_at_each() {
        for (len, chunklen) in [(40_usize, 7_usize), (40, 1), (40, 40), (41, 5)] {
            for (start, count, stride) in
                [(0, 40, 1), (3, 0, 1), (3, 1, 1), (2, 6, 6), (1, 5, 7), (5, 4, 9), (0, 13, 3)]
            {
                for lead in [0, chunklen - 1] {
                    let num_chunks = (len + lead).div_ceil(chunklen);
                    let axis = Axis { lead, num_chunks, ..axis(len, chunklen, (start, count, stride)) };
                    for begin in 0..=num_chunks {
                        for end in begin..=num_chunks {
                            let each = (begin..end).filter(|c| axis.is_touched(*c)).count();
                            assert_eq!(axis.num_touched(begin..end), each, "{axis:?} {begin}..{end}");
                        }
                    }
                }
            }
        }
        let long = axis(1 << 62, 1 << 20, (0, 1, 1));
        assert!(drawn(None, &long, 80).last().is_some_and(|line| line.contains("selected")));
    }

    #[test]
    fn chunks_are_boxes() {
        let rows = axis(5, 2, (0, 2, 1));
        let columns = axis(10, 4, (2, 4, 1));
        assert_eq!(
            drawn(Some(&rows), &columns, 80)[..13],
            [
                "  x",
                "  0 ┌────┬────┬────┐",
                "    │░░██│██░░│    │",
                "    │░░██│██░░│    │",
                "  2 ├────┼────┼────┤",
                "    │    │    │    │",
                "    │    │    │    │",
                "  4 ├────┼────┼────┤",
                "    │    │    │    │",
                "    │    │    │    │",
                "  5 └────┴────┴────┘",
                "    0    4    8    10",
                "    x",
            ]
        );
    }

    #[test]
    fn shards_have_double_lines() {
        let rows = Axis { shardlen: Some(2), ..axis(4, 1, (0, 1, 1)) };
        let columns = Axis { shardlen: Some(8), ..axis(12, 4, (0, 12, 5)) };
        let lines = drawn(Some(&rows), &columns, 80);
        assert_eq!(
            lines[1..11],
            [
                "  0 ╔════╤════╦════╗",
                "    ║█░░░│░█░░║░░█░║",
                "  1 ╟────┼────╫────╢",
                "    ║    │    ║    ║",
                "  2 ╠════╪════╬════╣",
                "    ║    │    ║    ║",
                "  3 ╟────┼────╫────╢",
                "    ║    │    ║    ║",
                "  4 ╚════╧════╩════╝",
                "    0    4    8    12",
            ]
        );
        assert_eq!(lines[13], "  across: x, length 12, every 5th element: 3 of 3 chunks of 4 touched, in shards of 8");
        assert!(lines[14].ends_with("═║ shards"));
    }

    #[test]
    fn labels_without_room_are_left_out() {
        let columns = axis(12_000, 1000, (0, 1, 1));
        assert_eq!(drawn(None, &columns, 40)[3], "  0  1000  3000  5000  7000  9000     12000");
    }

    #[test]
    fn strides_are_shades() {
        let columns = axis(48, 24, (0, 16, 3));
        assert_eq!(drawn(None, &columns, 22)[1], "  │▒▒▒▒▒▒▒▒│▒▒▒▒▒▒▒▒│");
        let sparse = axis(16, 2, (0, 3, 6));
        assert_eq!(drawn(None, &sparse, 80)[1], "  │█░│  │  │█░│  │  │█░│  │");
        assert!(drawn(None, &sparse, 80)[5].contains("3 of 8 chunks"));
    }

    #[test]
    fn many_chunks_share_a_cell() {
        let columns = axis(1_000_000, 10, (0, 500_000, 1));
        let lines = drawn(None, &columns, 42);
        assert_eq!(lines[1].chars().count(), 42);
        assert_eq!(lines[1].chars().filter(|character| *character == '█').count(), 18);
    }

    #[test]
    fn what_lies_before_an_origin_is_blank() {
        let mut columns = axis(6, 4, (0, 2, 1));
        (columns.lead, columns.num_chunks) = (3, 3);
        assert_eq!(drawn(None, &columns, 80)[1], "  │   █│█░░░│    │");
    }
}
