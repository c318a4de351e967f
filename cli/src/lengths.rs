//! Lengths that the user gives: one for each dimension.

use std::str::FromStr;

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

/// A number of threads.
pub fn threads(text: &str) -> Result<std::num::NonZeroUsize, String> {
    text.trim().parse().map_err(|_| "expected a number of threads of at least 1".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

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
