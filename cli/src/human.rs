//! Numbers for people.

use std::fmt::Display;

/// So many bytes, in units of which there are less than 1024.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} bytes");
    }
    let mut amount = bytes as f64 / 1024.0;
    let mut unit = 0;
    // What would be shown as 1024.0 is 1.0 of the next unit.
    while amount >= 1023.95 && unit + 1 < UNITS.len() {
        amount /= 1024.0;
        unit += 1;
    }
    format!("{amount:.1} {}", UNITS[unit])
}

/// The lengths with ` x ` between them; `scalar` if there are none.
pub fn shape<T: Display>(lengths: &[T]) -> String {
    let texts: Vec<String> = lengths.iter().map(T::to_string).collect();
    if texts.is_empty() { "scalar".to_owned() } else { texts.join(" x ") }
}

/// So many of something, with an `s` behind all but one.
pub fn count(number: impl Into<u128>, noun: &str) -> String {
    let number = number.into();
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// An ordinal number, such as 3rd.
pub fn ordinal(number: usize) -> String {
    let ending = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

/// How many times the one is the other.
pub fn times(many: u64, one: u64) -> String {
    let ratio = many as f64 / one.max(1) as f64;
    if ratio < 10.0 { format!("{ratio:.2}") } else { format!("{ratio:.1}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_units() {
        for (number, text) in [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (1024, "1.0 KiB"),
            (777_600, "759.4 KiB"),
            ((1 << 20) - 1, "1.0 MiB"),
            (3 << 40, "3.0 TiB"),
            (u64::MAX, "16.0 EiB"),
        ] {
            assert_eq!(bytes(number), text);
        }
    }

    #[test]
    fn ordinals_have_endings() {
        let numbers = [1, 2, 3, 4, 11, 12, 13, 21, 102, 113, 1003].map(ordinal);
        let expected = ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "102nd", "113th", "1003rd"];
        assert_eq!(numbers, expected);
    }

    #[test]
    fn shapes_and_counts() {
        assert_eq!(shape(&[2, 3]), "2 x 3");
        assert_eq!(shape::<usize>(&[]), "scalar");
        assert_eq!((count(1u8, "chunk"), count(2u8, "chunk")), ("1 chunk".to_owned(), "2 chunks".to_owned()));
        assert_eq!((times(5, 2), times(100, 3)), ("2.50".to_owned(), "33.3".to_owned()));
    }
}
