//! A map as a PNG file: the elements, axes with labels, and the scale with its ends and units.

use std::io::Write;

use font8x8::{BASIC_FONTS, GREEK_FONTS, LATIN_FONTS, UnicodeFonts};

use super::Room;
use super::axis::Axis;
use super::picture::Picture;
use super::scale::colour;
use crate::failure::{Failure, Result};

/// An element is a pixel at least.
pub(super) const ROOM: Room = Room { columns: 1600, rows: 1200, aspect: 1, least_rows: 1200 };

/// The pixels that a map has at least along its longer and along its shorter axis, if that takes whole elements.
const LONG: usize = 800;
const SHORT: usize = 300;
/// A character's side, and the space around things.
const TEXT: usize = 16;
const SPACE: usize = 12;
const TICK: usize = 6;
const BAR: usize = 24;

const WHITE: [u8; 3] = [255; 3];
const BLACK: [u8; 3] = [0; 3];
/// What stands for no value.
const MISSING: [u8; 3] = [225; 3];

/// A picture of pixels.
struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<[u8; 3]>,
}

impl Canvas {
    /// Fills a rectangle, as far as it is in the picture.
    fn fill(&mut self, (x, y): (usize, usize), (width, height): (usize, usize), colour: [u8; 3]) {
        for row in y.min(self.height)..(y + height).min(self.height) {
            let (from, to) = (x.min(self.width), (x + width).min(self.width));
            self.pixels[row * self.width..][from..to].fill(colour);
        }
    }

    /// Draws a text whose upper left corner is there.
    fn text(&mut self, (x, y): (usize, usize), text: &str) {
        const DOT: usize = TEXT / 8;
        for (i, character) in text.chars().enumerate() {
            let fonts = [BASIC_FONTS.get(character), LATIN_FONTS.get(character), GREEK_FONTS.get(character)];
            let glyph = fonts.into_iter().flatten().next().or(BASIC_FONTS.get('?')).unwrap_or_default();
            for (row, bits) in glyph.iter().enumerate() {
                for column in (0..8).filter(|column| bits >> column & 1 == 1) {
                    self.fill((x + i * TEXT + column * DOT, y + row * DOT), (DOT, DOT), BLACK);
                }
            }
        }
    }
}

/// The columns that a text takes.
fn width(text: &str) -> usize {
    text.chars().count() * TEXT
}

/// Draws a map.
pub(super) fn draw(
    out: &mut impl Write,
    picture: &Picture,
    (down, across): (&Axis, &Axis),
    title: &str,
    units: &str,
) -> Result<()> {
    let canvas = drawn(picture, (down, across), title, units);
    let size = |pixels: usize| u32::try_from(pixels).unwrap_or(u32::MAX);
    let mut encoder = png::Encoder::new(out, size(canvas.width), size(canvas.height));
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let written = encoder.write_header().and_then(|mut writer| {
        writer.write_image_data(canvas.pixels.as_flattened())?;
        writer.finish()
    });
    written.map_err(|error| match error {
        png::EncodingError::IoError(error) => error.into(),
        other => Failure::failed(other),
    })
}

fn drawn(picture: &Picture, (down, across): (&Axis, &Axis), title: &str, units: &str) -> Canvas {
    let (rows, columns) = (picture.rows.len().max(1), picture.rows.first().map_or(1, Vec::len).max(1));
    // Elements are squares, unless the map would be very flat or very narrow.
    let cell = (LONG / rows.max(columns)).max(1);
    let (cell_width, cell_height) = (cell.max(SHORT / columns), cell.max(SHORT / rows));
    let (map_width, map_height) = (columns * cell_width, rows * cell_height);
    let ends = picture.range.map_or([String::new(), String::new()], |range| range.ends());
    let [low, high] = &ends;
    let bar_words = width(low).max(width(high)).max(width(units).saturating_sub(BAR));
    let left = SPACE + down.width() * TEXT + TICK + 2;
    let top = SPACE + 2 * (TEXT + SPACE);
    let right = left + map_width + 2 * SPACE;
    let canvas_width = (right + BAR + SPACE + bar_words).max(SPACE + width(title)) + SPACE;
    let canvas_height = top + map_height + TICK + 2 * (TEXT + SPACE) + SPACE;
    let pixels = vec![WHITE; canvas_width * canvas_height];
    let mut canvas = Canvas { width: canvas_width, height: canvas_height, pixels };

    canvas.text((SPACE, SPACE), title);
    canvas.text((SPACE, SPACE + TEXT + SPACE), &down.title);
    canvas.fill((left - 1, top - 1), (map_width + 2, map_height + 2), BLACK);
    for (i, row) in picture.rows.iter().enumerate() {
        for (k, &value) in row.iter().enumerate() {
            let pixels = picture.place(value).map_or(MISSING, colour);
            canvas.fill((left + k * cell_width, top + i * cell_height), (cell_width, cell_height), pixels);
        }
    }
    // A tick is at the middle of its element.
    let between = (4 * TEXT).div_ceil(cell_height);
    for i in (0..rows).step_by(between) {
        let (label, middle) = (down.label(i), top + i * cell_height + cell_height / 2);
        canvas.fill((left - 1 - TICK, middle), (TICK, 1), BLACK);
        canvas.text((left - 2 - TICK - width(label), middle.saturating_sub(TEXT / 2)), label);
    }
    let between = ((across.width() + 2) * TEXT).div_ceil(cell_width);
    let below = top + map_height + 1;
    for k in (0..columns).step_by(between) {
        let (label, middle) = (across.label(k), left + k * cell_width + cell_width / 2);
        canvas.fill((middle, below), (1, TICK), BLACK);
        canvas.text((middle.saturating_sub(width(label) / 2), below + TICK + SPACE / 2), label);
    }
    canvas.text((left, below + TICK + TEXT + SPACE), &across.title);
    // The greatest value is at the top.
    canvas.text((right, top - TEXT - SPACE), if picture.range.is_some() { units } else { "all missing" });
    if picture.range.is_some() {
        canvas.fill((right - 1, top - 1), (BAR + 2, map_height + 2), BLACK);
        for y in 0..map_height {
            let place = 1.0 - y as f64 / (map_height - 1).max(1) as f64;
            canvas.fill((right, top + y), (BAR, 1), colour(place));
        }
        canvas.text((right + BAR + SPACE / 2, top), high);
        canvas.text((right + BAR + SPACE / 2, top + map_height - TEXT), low);
    }
    canvas
}
