//! The hyperslab that the user asks for: the text, and what it selects of an array.

use std::fmt::Display;
use std::str::FromStr;

use nczchunk::{Array, Hyperslab};

use crate::failure::{Failure, Result};

/// What `--help` says about hyperslabs.
pub const HELP: &str = "\
Hyperslabs are written as in numpy: one part for each dimension, with commas between them.
  7          one element; the dimension is dropped from the output
  10:30      elements 10 to 29
  ::3        every third element
  -12:       the last twelve
  ...        all elements of every dimension without a part of its own
Parts that are missing at the end select all. Steps are 1 or more. Unlike in numpy, a part beyond its dimension is \
refused.";

/// A hyperslab as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slab(Vec<Part>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Index(isize),
    Range {
        start: Option<isize>,
        stop: Option<isize>,
        step: isize,
    },
    /// `...`
    Rest,
}

const ALL: Part = Part::Range { start: None, stop: None, step: 1 };

impl FromStr for Slab {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Ok(Slab(Vec::new()));
        }
        let parts: Vec<Part> = text.split(',').map(|part| Part::parse(part.trim())).collect::<Result<_, _>>()?;
        if parts.iter().filter(|part| **part == Part::Rest).count() > 1 {
            return Err("'...' may be used only once".to_owned());
        }
        Ok(Slab(parts))
    }
}

impl Part {
    fn parse(text: &str) -> Result<Part, String> {
        let number = |text: &str| {
            let number = text.trim().parse();
            number.map_err(|_| format!("expected an index or start:stop:step, found '{text}'"))
        };
        let optional = |text: &str| if text.trim().is_empty() { Ok(None) } else { number(text).map(Some) };
        if text == "..." {
            return Ok(Part::Rest);
        }
        let fields: Vec<&str> = text.split(':').collect();
        let (start, stop, step) = match fields[..] {
            [index] => return Ok(Part::Index(number(index)?)),
            [start, stop] => (start, stop, ""),
            [start, stop, step] => (start, stop, step),
            _ => return Err(format!("expected at most start:stop:step, found '{text}'")),
        };
        let step = optional(step)?.unwrap_or(1);
        if step < 1 {
            return Err(format!("step {step} in '{text}': a step must be at least 1"));
        }
        Ok(Part::Range { start: optional(start)?, stop: optional(stop)?, step })
    }
}

/// What is selected of an array: along each dimension elements that are `stride` apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    pub start: Vec<usize>,
    pub count: Vec<usize>,
    pub stride: Vec<isize>,
    /// Whether the dimension is one of the result, too.
    pub is_kept: Vec<bool>,
}

impl Slab {
    /// What it selects of an array; all of it without a text.
    pub fn select(slab: Option<&Slab>, array: &Array) -> Result<Selection> {
        let shape = shape(array);
        let name = |d: usize| array.dimension_name(d).map(str::to_owned);
        slab.unwrap_or(&Slab(Vec::new())).of_shape(&shape, name).map_err(|failure| failure.of_option("--slab"))
    }

    fn of_shape(&self, shape: &[usize], name: impl Fn(usize) -> Option<String>) -> Result<Selection> {
        let mut selection = Selection { start: vec![], count: vec![], stride: vec![], is_kept: vec![] };
        for (d, (part, &len)) in self.parts(shape.len())?.into_iter().zip(shape).enumerate() {
            let wrong = |what: &dyn Display| {
                let name = name(d).map(|name| format!("{name}, ")).unwrap_or_default();
                Failure::usage(format_args!("dimension {d} ({name}length {len}): {what}"))
            };
            let (start, count, stride, is_kept) = match part {
                Part::Index(index) => (position(index, len, len, "index").map_err(|what| wrong(&what))?, 1, 1, false),
                Part::Range { start, stop, step } => {
                    let start = position(start.unwrap_or(0), len, len + 1, "start").map_err(|what| wrong(&what))?;
                    let stop = match stop {
                        Some(stop) => position(stop, len, len + 1, "stop").map_err(|what| wrong(&what))?,
                        None => len,
                    };
                    if start >= stop && len > 0 {
                        return Err(wrong(&format_args!("{start}:{stop} selects nothing")));
                    }
                    (start, (stop - start).div_ceil(step.unsigned_abs()), step, true)
                }
                Part::Rest => unreachable!("`parts` has replaced it"),
            };
            selection.start.push(start);
            selection.count.push(count);
            selection.stride.push(stride);
            selection.is_kept.push(is_kept);
        }
        Ok(selection)
    }

    /// One part for each dimension.
    fn parts(&self, rank: usize) -> Result<Vec<Part>> {
        let given = self.0.iter().filter(|part| **part != Part::Rest).count();
        let Some(missing) = rank.checked_sub(given) else {
            let has = match rank {
                0 => "no dimensions".to_owned(),
                1 => "one dimension".to_owned(),
                _ => format!("{rank} dimensions"),
            };
            return Err(Failure::usage(format_args!("the hyperslab has {given} parts, but the array has {has}")));
        };
        let at = self.0.iter().position(|part| *part == Part::Rest);
        let (before, after) = match at {
            Some(at) => (&self.0[..at], &self.0[at + 1..]),
            None => (&self.0[..], &[][..]),
        };
        Ok(before.iter().copied().chain(std::iter::repeat_n(ALL, missing)).chain(after.iter().copied()).collect())
    }
}

/// Where a number of the user's is in a dimension: below `end`, counted from the dimension's end if it is negative.
fn position(number: isize, len: usize, end: usize, what: &str) -> Result<usize, String> {
    let at = if number < 0 { len.checked_sub(number.unsigned_abs()) } else { Some(number.unsigned_abs()) };
    at.filter(|at| *at < end).ok_or_else(|| format!("{what} {number} is out of range"))
}

impl Selection {
    /// The request for it.
    pub fn hyperslab(&self) -> Hyperslab<'_> {
        Hyperslab::new(&self.start, &self.count).with_stride(&self.stride)
    }

    /// The number of dimensions of the array.
    pub fn rank(&self) -> usize {
        self.start.len()
    }

    /// The number of elements, or `usize::MAX` if there are more.
    pub fn num_elements(&self) -> usize {
        if self.count.contains(&0) { 0 } else { self.count.iter().fold(1, |all: usize, &len| all.saturating_mul(len)) }
    }

    /// The dimensions of the result.
    pub fn kept(&self) -> impl DoubleEndedIterator<Item = usize> + '_ {
        (0..self.rank()).filter(|&d| self.is_kept[d])
    }

    /// The lengths of the result's dimensions.
    pub fn shape(&self) -> Vec<usize> {
        self.kept().map(|d| self.count[d]).collect()
    }

    /// The index in the array of the k-th selected element along a dimension.
    pub fn index(&self, d: usize, k: usize) -> usize {
        self.start[d] + k * self.stride[d].unsigned_abs()
    }

    /// A part of it: `count` elements from the `first`-th on, along each dimension.
    pub fn part(&self, first: &[usize], count: &[usize]) -> Selection {
        Selection {
            start: (0..self.rank()).map(|d| self.index(d, first[d])).collect(),
            count: count.to_vec(),
            ..self.clone()
        }
    }

    /// The part with only every so many-th element along a dimension.
    pub fn thin(&mut self, d: usize, step: usize) {
        self.count[d] = self.count[d].div_ceil(step);
        self.stride[d] = self.stride[d].saturating_mul(isize::try_from(step).unwrap_or(isize::MAX));
    }
}

impl Display for Selection {
    /// As the user would write it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for d in 0..self.rank() {
            let comma = if d > 0 { ", " } else { "" };
            let (start, stride) = (self.start[d], self.stride[d]);
            let stop = if self.count[d] == 0 { start } else { self.index(d, self.count[d] - 1) + 1 };
            match (self.is_kept[d], if self.count[d] > 1 { stride } else { 1 }) {
                (false, _) => write!(f, "{comma}{start}")?,
                (true, 1) => write!(f, "{comma}{start}:{stop}")?,
                (true, _) => write!(f, "{comma}{start}:{stop}:{stride}")?,
            }
        }
        Ok(())
    }
}

/// The lengths of an array's dimensions.
pub fn shape(array: &Array) -> Vec<usize> {
    array.variable().dimensions().iter().map(nczchunk::Dimension::len).collect()
}

/// The dimension that the user names, by its name or its number.
pub fn dimension(array: &Array, wanted: &str) -> Result<usize> {
    let rank = array.variable().rank();
    let by_name = (0..rank).find(|&d| array.dimension_name(d) == Some(wanted));
    by_name.or_else(|| wanted.parse().ok().filter(|d| *d < rank)).ok_or_else(|| {
        let names: Vec<String> = (0..rank).map(|d| dimension_name(array, d)).collect();
        Failure::usage(format_args!("--dims: no such dimension {wanted}; the array has: {}", names.join(", ")))
    })
}

/// The name of a dimension, or one that is made up for it.
pub fn dimension_name(array: &Array, d: usize) -> String {
    array.dimension_name(d).map_or_else(|| format!("dim_{d}"), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn select(text: &str, shape: &[usize]) -> Result<Selection, String> {
        let slab: Slab = text.parse()?;
        slab.of_shape(shape, |d| (d == 0).then(|| "time".to_owned())).map_err(|failure| match failure {
            Failure::Usage(message) => message,
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn numpy_agrees() {
        for (text, start, count, stride, kept) in [
            ("", [0, 0, 0], [12, 90, 180], [1, 1, 1], [true; 3]),
            ("0,10:30,::3", [0, 10, 0], [1, 20, 60], [1, 1, 3], [false, true, true]),
            ("-1", [11, 0, 0], [1, 90, 180], [1, 1, 1], [false, true, true]),
            ("..., -12:", [0, 0, 168], [12, 90, 12], [1, 1, 1], [true; 3]),
            ("1:-1:4,...,5", [1, 0, 5], [3, 90, 1], [4, 1, 1], [true, true, false]),
            ("2:3,:,:", [2, 0, 0], [1, 90, 180], [1, 1, 1], [true; 3]),
            ("0:12:100,0,0", [0, 0, 0], [1, 1, 1], [100, 1, 1], [true, false, false]),
        ] {
            let expected =
                Selection { start: start.into(), count: count.into(), stride: stride.into(), is_kept: kept.into() };
            assert_eq!(select(text, &[12, 90, 180]).unwrap(), expected, "{text}");
        }
        assert_eq!(select("", &[]).unwrap().num_elements(), 1);
        assert_eq!(select(":", &[0]).unwrap().num_elements(), 0);
        assert_eq!(select("1:-1:4, 7", &[12, 90]).unwrap().to_string(), "1:10:4, 7");
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, words) in [
            ("12", "dimension 0 (time, length 12): index 12 is out of range"),
            ("-13", "dimension 0 (time, length 12): index -13 is out of range"),
            (":,:91", "dimension 1 (length 90): stop 91 is out of range"),
            (":,3:3", "dimension 1 (length 90): 3:3 selects nothing"),
            ("13:", "dimension 0 (time, length 12): start 13 is out of range"),
            ("1,2,3", "the hyperslab has 3 parts, but the array has 2 dimensions"),
            ("x", "expected an index or start:stop:step, found 'x'"),
            ("::0", "step 0 in '::0': a step must be at least 1"),
            ("::-1", "step -1 in '::-1': a step must be at least 1"),
            ("1:2:3:4", "expected at most start:stop:step, found '1:2:3:4'"),
            ("...,...", "'...' may be used only once"),
            ("0,", "expected an index or start:stop:step, found ''"),
        ] {
            assert_eq!(select(text, &[12, 90]).unwrap_err(), words);
        }
    }

    #[test]
    fn parts_and_thinning_stay_within() {
        let all = select("1:12:2,3", &[12, 90]).unwrap();
        let part = all.part(&[2, 0], &[3, 1]);
        assert_eq!((part.start.as_slice(), part.count.as_slice()), (&[5, 3][..], &[3, 1][..]));
        let mut thin = all.clone();
        thin.thin(0, 4);
        assert_eq!((thin.count[0], thin.stride[0]), (2, 8));
    }
}
