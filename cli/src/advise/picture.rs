//! What reads cost with all chunk shapes that were compared, as a picture: the length of a chunk along the first
//! dimension from left to right, its elements along the others from bottom to top, and the cost as a colour.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::seconds;
use crate::human;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 480.0;
const LEFT: f64 = 96.0;
const ABOVE: f64 = 44.0;
const BELOW: f64 = 130.0;
const MARGIN: f64 = 16.0;
/// The least room between two labels along an axis.
const BETWEEN: (f64, f64) = (44.0, 16.0);

/// Colours of costs that are at most so many times the least, and their words.
const COLOURS: [(f64, &str, &str); 6] = [
    (1.1, "#fde725", "to 1.1 times the least"),
    (1.5, "#7ad151", "1.5"),
    (2.0, "#22a884", "2"),
    (4.0, "#2a788e", "4"),
    (10.0, "#414487", "10"),
    (f64::INFINITY, "#440154", "more"),
];

/// The cheapest shape of each cell of the picture, with what it costs in seconds: by the length along the first
/// dimension, and by the elements along the others in steps of half a power of 2.
#[derive(Default)]
pub(super) struct Cells(BTreeMap<(usize, usize), (f64, Vec<usize>)>);

impl Cells {
    pub(super) fn add(&mut self, chunks: &[usize], cost: f64) {
        let cell = self.0.entry(place(chunks)).or_insert_with(|| (f64::INFINITY, Vec::new()));
        if cost < cell.0 {
            *cell = (cost, chunks.to_vec());
        }
    }
}

/// The cell of a shape, which has a dimension.
fn place(chunks: &[usize]) -> (usize, usize) {
    let others: f64 = chunks[1..].iter().map(|&len| len as f64).product();
    (chunks[0], (others.log2() * 2.0).round() as usize)
}

/// Draws the cells, and marks some shapes by their names and what they cost.
pub(super) fn draw(title: &str, cells: &Cells, marks: &[(&str, &[usize], f64)]) -> String {
    let places = || cells.0.keys().copied().chain(marks.iter().map(|(_, chunks, _)| place(chunks)));
    // A mark between two columns is in the one after it.
    let mut columns: Vec<usize> = cells.0.keys().map(|(column, _)| *column).collect();
    columns.dedup();
    let (bottom, top) = places().fold((usize::MAX, 0), |(low, high), (_, row)| (low.min(row), high.max(row)));
    let (wide, high) = (WIDTH / columns.len().max(1) as f64, HEIGHT / (top.saturating_sub(bottom) + 1) as f64);
    let corner = |(column, row): (usize, usize)| {
        let x = columns.partition_point(|&other| other < column).min(columns.len().saturating_sub(1)) as f64 * wide;
        (x, HEIGHT - (row.saturating_sub(bottom) + 1) as f64 * high)
    };
    let least = cells.0.values().map(|(cost, _)| *cost).fold(f64::INFINITY, f64::min);
    let (w, h) = (WIDTH + LEFT + 2.0 * MARGIN, HEIGHT + ABOVE + BELOW + 20.0 * marks.len() as f64);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w:.0} {h:.0}\" font-family=\"sans-serif\" \
         font-size=\"13\">\n<rect width=\"{w:.0}\" height=\"{h:.0}\" fill=\"#ffffff\"/>\n<text x=\"{MARGIN}\" y=\"24\" \
         font-weight=\"bold\">{title}</text>\n<g transform=\"translate({LEFT} {ABOVE})\">\n"
    );
    for (&cell, (cost, chunks)) in &cells.0 {
        let ((x, y), colour) = (corner(cell), colour(cost / least));
        let _ = writeln!(
            svg,
            "<rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{wide:.2}\" height=\"{high:.2}\" fill=\"{colour}\"><title>{}: \
             {}</title></rect>",
            human::shape(chunks),
            seconds(*cost)
        );
    }
    axes(&mut svg, &columns, (wide, high), (bottom, top));
    // What is in the same cell is marked side by side.
    let mut drawn: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for (i, (_, chunks, _)) in marks.iter().enumerate() {
        let (cell, number) = (place(chunks), i + 1);
        let beside = drawn.entry(cell).or_default();
        let (x, y) = corner(cell);
        let (x, y) = (x + wide / 2.0 + 17.0 * *beside as f64, y + high / 2.0);
        *beside += 1;
        mark(&mut svg, x, y, number);
    }
    svg.push_str("</g>\n");
    let mut y = HEIGHT + ABOVE + 66.0;
    let mut x = LEFT;
    for (_, colour, words) in COLOURS {
        let _ = writeln!(
            svg,
            "<rect x=\"{x:.0}\" y=\"{:.0}\" width=\"14\" height=\"12\" fill=\"{colour}\"/>\n<text x=\"{:.0}\" \
             y=\"{y:.0}\">{words}</text>",
            y - 11.0,
            x + 20.0
        );
        x += 40.0 + 8.0 * words.len() as f64;
    }
    for (i, (name, chunks, cost)) in marks.iter().enumerate() {
        y += 24.0;
        mark(&mut svg, LEFT + 7.0, y - 5.0, i + 1);
        let words = format!("{name}: {}, {}", human::shape(chunks), seconds(*cost));
        let _ = writeln!(svg, "<text x=\"{:.0}\" y=\"{y:.0}\">{words}</text>", LEFT + 20.0);
    }
    svg.push_str("</svg>\n");
    svg
}

fn colour(times: f64) -> &'static str {
    COLOURS.iter().find(|(most, ..)| times <= *most).map_or(COLOURS[COLOURS.len() - 1].1, |(_, colour, _)| colour)
}

fn mark(svg: &mut String, x: f64, y: f64, number: usize) {
    let _ = writeln!(
        svg,
        "<circle cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"8\" fill=\"#ffffff\" stroke=\"#000000\"/><text x=\"{x:.2}\" \
         y=\"{:.2}\" font-size=\"11\" text-anchor=\"middle\">{number}</text>",
        y + 4.0
    );
}

/// The lengths and the elements that cells stand for, and the names of the axes.
fn axes(svg: &mut String, columns: &[usize], (wide, high): (f64, f64), (bottom, top): (usize, usize)) {
    svg.push_str("<g font-size=\"11\" fill=\"#333333\" text-anchor=\"middle\">\n");
    let mut free = f64::NEG_INFINITY;
    for (i, length) in columns.iter().enumerate() {
        let x = (i as f64 + 0.5) * wide;
        if x >= free {
            let _ = writeln!(svg, "<text x=\"{x:.2}\" y=\"{:.2}\">{length}</text>", HEIGHT + 16.0);
            free = x + BETWEEN.0;
        }
    }
    let (middle, below) = (WIDTH / 2.0, HEIGHT + 36.0);
    let _ = writeln!(svg, "<text x=\"{middle:.0}\" y=\"{below:.0}\" font-size=\"13\">first dimension</text>");
    svg.push_str("</g>\n<g font-size=\"11\" fill=\"#333333\" text-anchor=\"end\">\n");
    let mut free = f64::INFINITY;
    for row in bottom..=top {
        let y = HEIGHT - ((row - bottom) as f64 + 0.5) * high;
        if row % 2 == 0 && y <= free {
            let elements = 2f64.powf(row as f64 / 2.0);
            let _ = writeln!(svg, "<text x=\"-8\" y=\"{:.2}\">{elements:.0}</text>", y + 4.0);
            free = y - BETWEEN.1;
        }
    }
    let _ = writeln!(svg, "<text x=\"40\" y=\"-6\" font-size=\"13\">elements of the others</text>");
    svg.push_str("</g>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_keep_the_cheapest_shape() {
        let mut cells = Cells::default();
        for (chunks, cost) in [([1, 64], 3.0), ([1, 65], 2.0), ([1, 63], 5.0), ([4, 64], 30.0)] {
            cells.add(&chunks, cost);
        }
        assert_eq!(cells.0.len(), 2);
        let svg = draw("title", &cells, &[("advised", &[1, 65], 2.0), ("present", &[2, 1], 50.0)]);
        assert!(svg.contains("<title>1 x 65: 2.00 s</title>") && svg.contains("<title>4 x 64: 30.00 s</title>"));
        assert!(svg.contains("present: 2 x 1, 50.00 s") && svg.matches("<circle").count() == 4);
        assert_eq!((colour(1.0), colour(3.0), colour(99.0)), (COLOURS[0].1, COLOURS[3].1, COLOURS[5].1));
    }

    #[test]
    fn one_dimension_is_one_row() {
        let mut cells = Cells::default();
        cells.add(&[8], 1.0);
        assert_eq!(draw("", &cells, &[]).matches("<title>").count(), 1);
    }
}
