//! The scale of a map: which character or colour stands for a value.

use std::fmt::Write as _;
use std::str::FromStr;

use crate::screen::Depth;

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
pub(super) struct Range {
    pub low: f64,
    pub high: f64,
}

impl FromStr for Range {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let ends =
            text.split_once(':').and_then(|(low, high)| Some((low.trim().parse().ok()?, high.trim().parse().ok()?)));
        match ends {
            Some((low, high)) if low < high => Ok(Range { low, high }),
            Some(_) => Err("the first value must be less than the second".to_owned()),
            None => Err("expected two numbers separated by a colon, such as -2:30".to_owned()),
        }
    }
}

impl Range {
    /// Where a value is on the scale, from 0 to 1.
    pub(super) fn place(&self, value: f64) -> f64 {
        if self.high > self.low { ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0) } else { 0.5 }
    }
}

impl Range {
    /// The ends as text, with so many digits that they differ.
    pub(super) fn ends(&self) -> [String; 2] {
        let largest = self.low.abs().max(self.high.abs());
        let is_plain = largest == 0.0 || (1.0..1e9).contains(&largest);
        [self.low, self.high].map(|end| match is_plain {
            true => format!("{}", (end * 1e4).round() / 1e4),
            false => format!("{end:.4e}"),
        })
    }
}

/// The scale as the terminal shows it.
pub(super) fn shown(depth: Depth) -> String {
    const LENGTH: usize = 30;
    if depth == Depth::Plain {
        return RAMP.iter().map(|&byte| char::from(byte)).collect();
    }
    let mut scale = String::new();
    for i in 0..LENGTH {
        push_colours(&mut scale, depth, (Some(colour(i as f64 / (LENGTH - 1) as f64)), None));
        scale.push('█');
    }
    scale.push_str("\x1b[0m");
    scale
}

/// The character for a place on the scale.
pub(super) fn character(place: f64) -> char {
    let last = RAMP.len() - 1;
    char::from(RAMP[((place * RAMP.len() as f64) as usize).min(last)])
}

/// The colour for a place on the scale.
pub(super) fn colour(place: f64) -> [u8; 3] {
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
pub(super) fn push_colours(line: &mut String, depth: Depth, (fore, back): (Option<[u8; 3]>, Option<[u8; 3]>)) {
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
