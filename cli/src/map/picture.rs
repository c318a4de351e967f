//! A map in characters: rows of values in a frame with labels.

use super::axis::Axis;
use super::scale::{Range, character, colour, push_colours, shown};
use crate::screen::Depth;

/// Rows of values; those that are none are not a number.
pub(super) struct Picture {
    pub rows: Vec<Vec<f64>>,
    /// The ends of the scale; `None` if no value is shown.
    pub range: Option<Range>,
}

/// About so many labels are beside the rows, and the columns between two labels below them.
const ROW_LABELS: usize = 6;
const BETWEEN: usize = 10;

impl Picture {
    /// Where a value is on the scale; `None` if it is none.
    pub(super) fn place(&self, value: f64) -> Option<f64> {
        self.range.filter(|_| !value.is_nan()).map(|range| range.place(value))
    }

    /// The map with its axes.
    pub(super) fn framed(&self, depth: Depth, down: &Axis, across: &Axis) -> Vec<String> {
        let together = rows_in_line(depth);
        let content: Vec<String> = match depth {
            Depth::Plain => self.rows.iter().map(|row| self.plain(row)).collect(),
            _ => self.rows.chunks(together).map(|pair| self.coloured(depth, &pair[0], pair.get(1))).collect(),
        };
        let step = content.len().div_ceil(ROW_LABELS).max(1);
        let is_labelled = |i: usize| i % step == 0;
        let margin = down.width();
        let mut lines = vec![down.title.clone()];
        for (i, line) in content.iter().enumerate() {
            let (label, tick) = if is_labelled(i) { (down.label(i * together), '┤') } else { ("", '│') };
            // Labels are at the right of their margin, whatever their characters are in bytes.
            let blank = " ".repeat(margin.saturating_sub(label.chars().count()));
            lines.push(format!("{blank}{label}{tick}{line}").trim_end().to_owned());
        }
        let blank = " ".repeat(margin);
        let columns = self.rows.first().map_or(0, Vec::len);
        let [border, labels] = below(across, columns);
        lines.extend([format!("{blank}└{border}"), format!("{blank} {labels}"), format!("{blank} {}", across.title)]);
        lines
    }

    fn plain(&self, row: &[f64]) -> String {
        row.iter().map(|&value| self.place(value).map_or(' ', character)).collect()
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

    /// The scale with its ends and units.
    pub(super) fn legend(&self, depth: Depth, units: &str) -> String {
        let Some(range) = self.range else { return "all missing".to_owned() };
        let [low, high] = range.ends();
        format!("{low} {} {high} {units}", shown(depth)).trim_end().to_owned()
    }
}

/// How many rows of elements a line has.
pub(super) fn rows_in_line(depth: Depth) -> usize {
    if depth == Depth::Plain { 1 } else { 2 }
}

/// The line below the map, and the labels of its ticks, none of which reaches beyond the map unless it is the first.
fn below(across: &Axis, columns: usize) -> [String; 2] {
    let between = BETWEEN.max(across.width() + 2);
    let (mut border, mut labels) = (String::new(), String::new());
    for column in 0..columns {
        let label = across.label(column);
        let is_tick = column % between == 0 && (column == 0 || column + label.chars().count() <= columns);
        border.push(if is_tick { '┬' } else { '─' });
        if is_tick {
            labels.extend(std::iter::repeat_n(' ', column - labels.chars().count().min(column)));
            labels.push_str(label);
        }
    }
    [border, labels]
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
        let lines = picture.framed(Depth::Plain, &Axis::of_indices("y", 0..2, 5), &Axis::of_indices("x", 0..6, 1));
        assert_eq!(lines, ["y", "0┤.:+ @@", "5┤", " └┬─────", "  0", "  x"]);
        assert_eq!(picture.legend(Depth::Plain, "m"), "0 .:-=+*#%@ 9 m");
    }

    #[test]
    fn a_line_has_two_rows_of_colours() {
        let picture = picture(&[&[0.0, f64::NAN, f64::NAN], &[9.0, 9.0, f64::NAN], &[0.0, f64::NAN, f64::NAN]]);
        let axes = (Axis::of_indices("y", 0..3, 1), Axis::of_indices("x", 0..3, 1));
        let lines = |depth| picture.framed(depth, &axes.0, &axes.1);
        assert_eq!(
            lines(Depth::True)[1..3],
            [
                "0┤\x1b[0;38;2;68;1;84;48;2;253;231;37m▀\x1b[0;38;2;253;231;37m▄\x1b[0m",
                "2┤\x1b[0;38;2;68;1;84m▀\x1b[0m"
            ]
        );
        assert_eq!(lines(Depth::Palette)[2], "2┤\x1b[0;38;5;53m▀\x1b[0m");
    }

    #[test]
    fn labels_stand_below_their_columns() {
        let [border, labels] = below(&Axis::of_indices("x", 0..25, 100), 25);
        assert_eq!(border, "┬─────────┬─────────┬────");
        assert_eq!(labels, "0         1000      2000");
        // What would reach beyond the map is left out.
        assert_eq!(below(&Axis::of_indices("x", 0..22, 100), 22)[0], "┬─────────┬───────────");
    }
}
