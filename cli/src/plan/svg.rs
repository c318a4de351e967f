//! A hyperslab on its grid of chunks, as a picture.

use std::fmt::Write;

use super::grid::Axis;

/// The width of the grid, and the most and the least that its height is.
const WIDTH: f64 = 720.0;
const HEIGHTS: (f64, f64) = (40.0, 720.0);
const MARGIN: f64 = 16.0;
/// The room beside the grid for the elements that rows begin with, above it, and below it: ticks, the name of the axis,
/// two lines of words and the legend.
const LEFT: f64 = 80.0;
const ABOVE: f64 = 64.0;
const BELOW: f64 = 130.0;
/// More lines, chunks or selected pieces are not drawn along an axis: then what lies side by side is one.
const MOST: usize = 400;
/// The least room between two labels along an axis.
const BETWEEN: (f64, f64) = (48.0, 18.0);

const INSIDE: &str = "#f2f2f2";
const TOUCHED: &str = "#f6c26b";
const SELECTED: &str = "#1f6f8b";

/// Pieces along an axis: where each begins and ends, in elements.
type Pieces = Vec<(f64, f64)>;

/// Draws the grid of an array without rows, or with some.
pub(super) fn draw(title: &str, rows: Option<&Axis>, columns: &Axis) -> String {
    let height = rows.map_or(HEIGHTS.0, |rows| {
        let height = WIDTH * rows.len.max(1) as f64 / columns.len.max(1) as f64;
        height.clamp(HEIGHTS.0 * 3.0, HEIGHTS.1)
    });
    let across = Scale::new(columns, WIDTH);
    let down = rows.map(|rows| Scale::new(rows, height));
    let [inside, touched, selected] = match &down {
        Some(rows) => [rows.inside(), rows.touched(), rows.selected()],
        None => std::array::from_fn(|_| vec![(0.0, height)]),
    };
    let (w, h) = (WIDTH + LEFT + 2.0 * MARGIN, height + ABOVE + BELOW);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w:.0} {h:.0}\" font-family=\"sans-serif\" \
         font-size=\"13\">\n<rect width=\"{w:.0}\" height=\"{h:.0}\" fill=\"#ffffff\"/>\n<text x=\"{MARGIN}\" y=\"24\" \
         font-weight=\"bold\">{}</text>\n<g transform=\"translate({LEFT} {ABOVE})\">\n",
        escaped(title)
    );
    rectangles(&mut svg, &inside, &across.inside(), INSIDE);
    rectangles(&mut svg, &touched, &across.touched(), TOUCHED);
    rectangles(&mut svg, &selected, &across.selected(), SELECTED);
    let rows = |of: fn(&Scale) -> Vec<f64>| down.as_ref().map_or_else(|| vec![0.0, height], of);
    lines(&mut svg, &across.borders(), &rows(|down| down.borders()), height, "0.7");
    let is_sharded = columns.shardlen.is_some();
    if is_sharded {
        lines(&mut svg, &across.shards(), &rows(|down| down.shards()), height, "2.4");
    }
    ticks(&mut svg, &across, down.as_ref(), height);
    svg.push_str("</g>\n");
    let below = height + ABOVE + 66.0;
    let mut words = vec![columns.words("across:")];
    words.extend(down.as_ref().map(|down| down.axis.words("down:")));
    for (i, words) in words.iter().enumerate() {
        let y = below + 20.0 * i as f64;
        let _ = writeln!(svg, "<text x=\"{LEFT}\" y=\"{y:.0}\">{}</text>", escaped(words));
    }
    legend(&mut svg, below + 46.0, is_sharded);
    svg.push_str("</svg>\n");
    svg
}

/// The elements that chunks begin with, and the names of the axes.
fn ticks(svg: &mut String, across: &Scale<'_>, down: Option<&Scale<'_>>, height: f64) {
    svg.push_str("<g font-size=\"11\" fill=\"#333333\" text-anchor=\"middle\">\n");
    for (x, element) in across.labels(BETWEEN.0) {
        let _ = writeln!(svg, "<path stroke=\"#333333\" d=\"M{x:.2} {height:.2}v5\"/>");
        let _ = writeln!(svg, "<text x=\"{x:.2}\" y=\"{:.2}\">{element}</text>", height + 18.0);
    }
    let middle = WIDTH / 2.0;
    let name = escaped(&across.axis.name);
    let _ = writeln!(svg, "<text x=\"{middle:.0}\" y=\"{:.2}\" font-size=\"13\">{name}</text>", height + 36.0);
    svg.push_str("</g>\n<g font-size=\"11\" fill=\"#333333\" text-anchor=\"end\">\n");
    for (y, element) in down.iter().flat_map(|down| down.labels(BETWEEN.1)) {
        let _ = writeln!(svg, "<path stroke=\"#333333\" d=\"M-5 {y:.2}h5\"/>");
        let _ = writeln!(svg, "<text x=\"-8\" y=\"{:.2}\">{element}</text>", y + 4.0);
    }
    svg.push_str("</g>\n");
    if let Some(down) = down {
        let name = escaped(&down.axis.name);
        let _ = writeln!(svg, "<text x=\"{:.0}\" y=\"-14\">{name}</text>", MARGIN - LEFT);
    }
}

/// What colours and lines stand for.
fn legend(svg: &mut String, y: f64, is_sharded: bool) {
    let mut x = LEFT;
    for (colour, words) in [(SELECTED, "selected"), (TOUCHED, "touched"), (INSIDE, "not touched")] {
        let top = y - 11.0;
        let _ = writeln!(
            svg,
            "<rect x=\"{x:.0}\" y=\"{top:.0}\" width=\"14\" height=\"12\" stroke=\"#555555\" stroke-width=\"0.7\" \
             fill=\"{colour}\"/>\n<text x=\"{:.0}\" y=\"{y:.0}\">{words}</text>",
            x + 20.0
        );
        x += 130.0;
    }
    let borders = [("0.7", "chunks"), ("2.4", "shards")];
    for (width, words) in borders.into_iter().take(1 + usize::from(is_sharded)) {
        let middle = y - 5.0;
        let _ = writeln!(
            svg,
            "<path stroke=\"#555555\" stroke-width=\"{width}\" d=\"M{x:.0} {middle:.0}h14\"/>\n\
             <text x=\"{:.0}\" y=\"{y:.0}\">{words}</text>",
            x + 20.0
        );
        x += 90.0;
    }
}

/// An axis and how long an element is.
struct Scale<'a> {
    axis: &'a Axis,
    element: f64,
}

impl<'a> Scale<'a> {
    fn new(axis: &'a Axis, length: f64) -> Self {
        Scale { axis, element: length / axis.len.max(1) as f64 }
    }

    fn piece(&self, from: usize, to: usize) -> (f64, f64) {
        (from as f64 * self.element, to as f64 * self.element)
    }

    fn inside(&self) -> Pieces {
        vec![self.piece(0, self.axis.len)]
    }

    /// The chunks that are touched. Those side by side are one piece.
    fn touched(&self) -> Pieces {
        let mut pieces: Vec<(usize, usize)> = Vec::new();
        for c in (0..self.axis.num_chunks).filter(|c| self.axis.is_touched(*c)) {
            let (from, to) = self.axis.chunk(c);
            match pieces.last_mut() {
                Some(last) if last.1 == from || pieces_are_many(self.axis) => last.1 = to,
                _ => pieces.push((from, to)),
            }
        }
        pieces.iter().map(|&(from, to)| self.piece(from, to)).collect()
    }

    fn selected(&self) -> Pieces {
        let Axis { start, count, stride, .. } = *self.axis;
        if count == 0 {
            return Vec::new();
        }
        if stride == 1 || count > MOST {
            return vec![self.piece(start, start + (count - 1) * stride + 1)];
        }
        (0..count).map(|k| self.piece(start + k * stride, start + k * stride + 1)).collect()
    }

    /// Where chunks begin and end.
    fn borders(&self) -> Vec<f64> {
        let end = self.axis.len as f64 * self.element;
        if self.axis.num_chunks > MOST {
            return vec![0.0, end];
        }
        let begins = (0..self.axis.num_chunks).map(|c| self.axis.chunk(c).0 as f64 * self.element);
        begins.chain([end]).collect()
    }
}

impl Scale<'_> {
    /// Where shards begin and end.
    fn shards(&self) -> Vec<f64> {
        let end = self.axis.len as f64 * self.element;
        let chunks = self.axis.shardlen.map_or(1, |len| len / self.axis.chunklen).max(1);
        let begins = (0..self.axis.num_chunks).step_by(chunks);
        let mut borders: Vec<f64> = begins.take(MOST + 1).map(|c| self.axis.chunk(c).0 as f64 * self.element).collect();
        // Too many would be a block of lines.
        borders.truncate(if borders.len() > MOST { 1 } else { MOST });
        borders.push(end);
        borders
    }

    /// Where the labels of the axis are, with the elements: those that chunks begin with, and the end, as far as there
    /// is room for them.
    fn labels(&self, between: f64) -> Vec<(f64, usize)> {
        let (len, end) = (self.axis.len, self.axis.len as f64 * self.element);
        let mut labels: Vec<(f64, usize)> = Vec::new();
        let most = if self.axis.num_chunks > MOST { 1 } else { self.axis.num_chunks };
        for element in (0..most).map(|c| self.axis.chunk(c).0) {
            let at = element as f64 * self.element;
            if labels.last().is_none_or(|(last, _)| last + between <= at) && (element == 0 || at + between <= end) {
                labels.push((at, element));
            }
        }
        labels.push((end, len));
        labels
    }
}

fn pieces_are_many(axis: &Axis) -> bool {
    axis.num_chunks > MOST && axis.count > MOST
}

fn rectangles(svg: &mut String, down: &Pieces, across: &Pieces, colour: &str) {
    let _ = writeln!(svg, "<g fill=\"{colour}\">");
    for (top, bottom) in down {
        for (left, right) in across {
            let (width, height) = (right - left, bottom - top);
            let _ = writeln!(svg, "<rect x=\"{left:.2}\" y=\"{top:.2}\" width=\"{width:.2}\" height=\"{height:.2}\"/>");
        }
    }
    svg.push_str("</g>\n");
}

fn lines(svg: &mut String, across: &[f64], down: &[f64], height: f64, width: &str) {
    let _ = write!(svg, "<path fill=\"none\" stroke=\"#555555\" stroke-width=\"{width}\" d=\"");
    for x in across {
        let _ = write!(svg, "M{x:.2} 0V{height:.2}");
    }
    for y in down {
        let _ = write!(svg, "M0 {y:.2}H{WIDTH:.2}");
    }
    svg.push_str("\"/>\n");
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
