//! A hyperslab on its grid of chunks, as a picture.

use std::fmt::Write;

use super::grid::Axis;

/// The width of the grid, and the most and the least that its height is.
const WIDTH: f64 = 720.0;
const HEIGHTS: (f64, f64) = (40.0, 720.0);
const MARGIN: f64 = 16.0;
const ABOVE: f64 = 44.0;
const BELOW: f64 = 56.0;
/// More lines, chunks or selected pieces are not drawn along an axis: then what lies side by side is one.
const MOST: usize = 400;

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
    let (w, h) = (WIDTH + 2.0 * MARGIN, height + ABOVE + BELOW);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w:.0} {h:.0}\" font-family=\"sans-serif\" \
         font-size=\"13\">\n<rect width=\"{w:.0}\" height=\"{h:.0}\" fill=\"#ffffff\"/>\n<text x=\"{MARGIN}\" y=\"24\" \
         font-weight=\"bold\">{}</text>\n<g transform=\"translate({MARGIN} {ABOVE})\">\n",
        escaped(title)
    );
    rectangles(&mut svg, &inside, &across.inside(), "#f2f2f2");
    rectangles(&mut svg, &touched, &across.touched(), "#f6c26b");
    rectangles(&mut svg, &selected, &across.selected(), "#1f6f8b");
    lines(&mut svg, &across.borders(), &down.as_ref().map_or_else(|| vec![0.0, height], Scale::borders), height);
    svg.push_str("</g>\n");
    let words = |axis: &Axis, direction: &str| {
        let step = if axis.stride > 1 { format!(", every {}th", axis.stride) } else { String::new() };
        let (name, len, count) = (escaped(&axis.name), axis.len, axis.count);
        format!("{direction} {name}: {count} of {len}{step}, in chunks of {}", axis.chunklen)
    };
    let below = height + ABOVE + 22.0;
    let _ = writeln!(svg, "<text x=\"{MARGIN}\" y=\"{below:.0}\">{}</text>", words(columns, "across:"));
    if let Some(rows) = rows {
        let _ = writeln!(svg, "<text x=\"{MARGIN}\" y=\"{:.0}\">{}</text>", below + 20.0, words(rows, "down:"));
    }
    svg.push_str("</svg>\n");
    svg
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

fn lines(svg: &mut String, across: &[f64], down: &[f64], height: f64) {
    svg.push_str("<path fill=\"none\" stroke=\"#555555\" stroke-width=\"0.7\" d=\"");
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
