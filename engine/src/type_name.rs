//! The types of elements by the names that they are displayed with, which are numpy's.

use std::str::FromStr;

use crate::element::{ElementType, LARGEST, TYPES, TimeUnit};
use crate::error::{Error, ErrorKind, Result};

impl FromStr for ElementType {
    type Err = Error;

    /// The type with this name, such as `float32`, `datetime64[ns]` or `S5`. [`ErrorKind::ElementType`] if there is
    /// none.
    fn from_str(name: &str) -> Result<Self> {
        named(name).ok_or_else(|| Error::from(ErrorKind::ElementType).in_object(name))
    }
}

fn named(name: &str) -> Option<ElementType> {
    if let Some(row) = TYPES.iter().find(|row| row.name == name) {
        return Some(row.element);
    }
    for (prefix, is_delta) in [("datetime64", false), ("timedelta64", true)] {
        if let Some(brackets) = name.strip_prefix(prefix) {
            let (count, unit) = time_unit(brackets)?;
            return Some(ElementType::Time { unit, count, is_delta });
        }
    }
    let (kind, digits) = name.split_at_checked(1)?;
    let len = digits.parse().ok().filter(|&len: &usize| len > 0 && digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    let element = match kind {
        "S" => ElementType::Text { len },
        "U" => ElementType::Unicode { len },
        "V" => ElementType::Opaque { len },
        _ => return None,
    };
    Some(element).filter(|element| element.size() <= LARGEST)
}

/// What the brackets behind a time say.
pub fn time_unit(brackets: &str) -> Option<(u32, TimeUnit)> {
    if brackets.is_empty() {
        return Some((1, TimeUnit::Generic));
    }
    let inside = brackets.strip_prefix('[')?.strip_suffix(']')?;
    let unit = inside.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = inside.strip_suffix(unit)?;
    let count = if digits.is_empty() { 1 } else { digits.parse().ok().filter(|&count| count > 0)? };
    Some((count, TimeUnit::of(unit)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_found_by_the_name_it_has() {
        for name in [
            "int8",
            "char",
            "uint64",
            "bool",
            "float16",
            "complex64",
            "complex128",
            "string",
            "datetime64[ns]",
            "datetime64",
            "timedelta64[10s]",
            "S5",
            "U1",
            "V8",
            "bfloat16",
            "float8_e8m0fnu",
            "int4",
        ] {
            assert_eq!(name.parse::<ElementType>().unwrap().to_string(), name);
        }
        for name in
            ["", "float", "int3", "X5", "S", "S0", "S+1", "V99999999999", "datetime64[x]", "datetime64ns", "\u{e4}1"]
        {
            let error = name.parse::<ElementType>().unwrap_err();
            assert_eq!((error.kind(), error.about()), (ErrorKind::ElementType, name));
        }
    }
}
