//! Lengths that the user gives: one for each dimension.

use std::str::FromStr;

use nczchunk::{Access, Array};

use crate::slab::Selection;

/// Lengths with commas between them, or with `x` as the program prints shapes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lengths(pub Vec<usize>);

impl FromStr for Lengths {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let length = |part: &str| {
            let length = part.trim().parse().ok().filter(|length| *length > 0);
            length.ok_or_else(|| {
                format!("expected lengths of at least 1, such as 12x90x180 or 12,90,180, found '{part}'")
            })
        };
        text.split([',', 'x']).map(length).collect::<Result<_, _>>().map(Lengths)
    }
}

/// Lengths of all dimensions of an array, or of some by their names, as in `time=12,lat=90`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SomeLengths {
    All(Vec<usize>),
    Named(Vec<(String, usize)>),
}

impl SomeLengths {
    /// The lengths of chunks of a new array of this shape that is a selection of an array, by which it is read or
    /// written; `None` if it has none of the dimensions. Others have the lengths of the array's. None is longer than
    /// the new array.
    pub fn of(&self, array: &Array, selection: &Selection, shape: &[usize], access: Access) -> Option<Vec<usize>> {
        let named = match self {
            SomeLengths::All(lengths) => return Some(lengths.clone()),
            SomeLengths::Named(named) => named,
        };
        let grid = array.variable().grid(access).dimensions();
        let given =
            |d: usize| named.iter().find(|(name, _)| array.dimension_name(d) == Some(name)).map(|(_, len)| *len);
        let length = |(d, len): (usize, &usize)| given(d).unwrap_or(grid[d].chunklen()).min(*len).max(1);
        selection.kept().any(|d| given(d).is_some()).then(|| selection.kept().zip(shape).map(length).collect())
    }
}

impl FromStr for SomeLengths {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if !text.contains('=') {
            return text.parse().map(|Lengths(lengths)| SomeLengths::All(lengths));
        }
        let one = |part: &str| {
            let length = part.split_once('=').and_then(|(name, length)| {
                let length = length.trim().parse().ok().filter(|length| *length > 0)?;
                Some((name.trim().to_owned(), length))
            });
            length.ok_or_else(|| format!("expected NAME=LENGTH with a length of at least 1, found '{part}'"))
        };
        text.split(',').map(one).collect::<Result<_, _>>().map(SomeLengths::Named)
    }
}

/// A number of bytes, such as 268435456, 256M or 1.5GiB: K, M and G stand for powers of 1024.
pub fn bytes(text: &str) -> Result<usize, String> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let unit = match text[end..].trim().to_ascii_lowercase().trim_end_matches('b').trim_end_matches('i') {
        "" => Some(0),
        "k" => Some(10),
        "m" => Some(20),
        "g" => Some(30),
        "t" => Some(40),
        _ => None,
    };
    let number = text[..end].parse::<f64>().ok().filter(|number| *number > 0.0);
    match (number, unit) {
        (Some(number), Some(unit)) if number * (1u64 << unit) as f64 <= (1u64 << 53) as f64 => {
            Ok((number * (1u64 << unit) as f64) as usize)
        }
        _ => Err(format!("expected a number of bytes, such as 256M or 1.5G, found '{text}'")),
    }
}

/// A number of threads.
pub fn threads(text: &str) -> Result<std::num::NonZeroUsize, String> {
    text.trim().parse().map_err(|_| "expected a number of threads of at least 1".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_units() {
        for (text, expected) in
            [("1", 1), ("256M", 256 << 20), ("1.5GiB", 3 << 29), ("64 kb", 64 << 10), ("2g", 2 << 30), ("1T", 1 << 40)]
        {
            assert_eq!(bytes(text), Ok(expected), "{text}");
        }
        for text in ["", "M", "1X", "-1", "0", "1e9", "1MM", "99999999999T"] {
            assert!(bytes(text).unwrap_err().ends_with(&format!("found '{text}'")), "{text}");
        }
    }

    #[test]
    fn lengths_have_names() {
        let named = |pairs: &[(&str, usize)]| {
            SomeLengths::Named(pairs.iter().map(|(name, length)| ((*name).to_owned(), *length)).collect())
        };
        assert_eq!("time=12, lat=90".parse(), Ok(named(&[("time", 12), ("lat", 90)])));
        assert_eq!("1x2".parse(), Ok(SomeLengths::All(vec![1, 2])));
        for text in ["time=", "time=0", "time=1,2", "time=1x2"] {
            assert!(text.parse::<SomeLengths>().is_err(), "{text}");
        }
    }

    #[test]
    fn lengths_are_written_as_they_are_printed() {
        let lengths = Ok(Lengths(vec![1, 20, 300]));
        for text in ["1,20,300", "1x20x300", "1 x 20 x 300", " 1, 20, 300"] {
            assert_eq!(text.parse(), lengths, "{text}");
        }
        for (text, found) in
            [("", "''"), ("1,", "''"), ("0,2", "'0'"), ("1X2", "'1X2'"), ("-1", "'-1'"), ("1.5", "'1.5'")]
        {
            assert!(text.parse::<Lengths>().unwrap_err().ends_with(found), "{text}");
        }
    }
}
