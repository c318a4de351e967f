//! What commands say, as JSON.

use std::fmt::{self, Display};

use nczchunk::{Array, ElementType};

use crate::element;
use crate::failure::Result;

/// A value of JSON.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Text(String),
    /// A text that is JSON already, such as a number.
    Raw(String),
    List(Vec<Json>),
    Object(Vec<(&'static str, Json)>),
}

impl Json {
    /// An integer.
    pub fn integer(number: impl Display) -> Self {
        Json::Raw(number.to_string())
    }

    /// A text.
    pub fn text(text: impl Display) -> Self {
        Json::Text(text.to_string())
    }

    /// What there is, or `null`.
    pub fn option<T>(what: Option<T>, one: impl FnOnce(T) -> Json) -> Self {
        what.map_or(Json::Null, one)
    }

    /// A list of integers.
    pub fn integers<T: Display>(numbers: impl IntoIterator<Item = T>) -> Self {
        Json::List(numbers.into_iter().map(Json::integer).collect())
    }

    /// The names of an array's dimensions, `null` for those that have none.
    pub fn dimension_names(array: &Array) -> Self {
        Json::List((0..array.variable().rank()).map(|d| Json::option(array.dimension_name(d), Json::text)).collect())
    }

    /// The text of a JSON object of the library's, which may have the numbers that Python writes and JSON lacks: these
    /// are texts here.
    pub fn of_library(text: &str) -> Self {
        let (mut json, mut rest, mut is_text) = (String::new(), text, false);
        while let Some(first) = rest.chars().next() {
            let lacking = ["NaN", "-Infinity", "Infinity"].iter().find(|word| !is_text && rest.starts_with(**word));
            let len = match (lacking, first) {
                (Some(word), _) => {
                    json.extend(["\"", word, "\""]);
                    rest = &rest[word.len()..];
                    continue;
                }
                // What is escaped ends no text.
                (None, '\\') => 1 + rest.chars().nth(1).map_or(0, char::len_utf8),
                (None, _) => first.len_utf8(),
            };
            is_text ^= first == '"';
            json.push_str(&rest[..len]);
            rest = &rest[len..];
        }
        Json::Raw(if json.is_empty() { "{}".to_owned() } else { json })
    }

    /// An element: a number or a boolean if it is one that JSON has, and else its text.
    pub fn element(element: ElementType, bytes: &[u8]) -> Self {
        let mut text = String::new();
        if element == ElementType::String {
            return Json::text(String::from_utf8_lossy(bytes));
        }
        element::push(&mut text, element, bytes);
        let is_raw = match element::number(element, bytes) {
            Some(_) if matches!(element, ElementType::Time { .. } | ElementType::Char) => false,
            Some(number) => number.as_f64().is_finite(),
            None => false,
        };
        if is_raw { Json::Raw(text) } else { Json::Text(text) }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, indent: usize) -> fmt::Result {
        match self {
            Json::Null => f.write_str("null"),
            Json::Bool(value) => write!(f, "{value}"),
            Json::Raw(text) => f.write_str(text),
            Json::Text(text) => {
                let mut quoted = String::new();
                element::push_quoted(&mut quoted, text);
                f.write_str(&quoted)
            }
            Json::List(list) if list.iter().all(|item| !matches!(item, Json::List(_) | Json::Object(_))) => {
                f.write_str("[")?;
                for (i, item) in list.iter().enumerate() {
                    f.write_str(if i > 0 { ", " } else { "" })?;
                    item.write(f, indent)?;
                }
                f.write_str("]")
            }
            Json::List(list) => lines(f, indent, ['[', ']'], list.iter(), |f, item, indent| item.write(f, indent)),
            Json::Object(members) => lines(f, indent, ['{', '}'], members.iter(), |f, (name, value), indent| {
                write!(f, "\"{name}\": ")?;
                value.write(f, indent)
            }),
        }
    }
}

/// Writes what is in brackets, a line for each item.
fn lines<T>(
    f: &mut fmt::Formatter<'_>,
    indent: usize,
    [open, close]: [char; 2],
    items: impl ExactSizeIterator<Item = T>,
    one: impl Fn(&mut fmt::Formatter<'_>, T, usize) -> fmt::Result,
) -> fmt::Result {
    if items.len() == 0 {
        return write!(f, "{open}{close}");
    }
    write!(f, "{open}")?;
    for (i, item) in items.enumerate() {
        write!(f, "{}\n{:2$}", if i > 0 { "," } else { "" }, "", indent + 2)?;
        one(f, item, indent + 2)?;
    }
    write!(f, "\n{:indent$}{close}", "")
}

impl Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 0)
    }
}

/// Prints a document.
pub fn print(document: &Json) -> Result<()> {
    use std::io::Write;
    Ok(writeln!(std::io::stdout(), "{document}")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_indented() {
        let document = Json::Object(vec![
            ("name", Json::text("a\"b")),
            ("shape", Json::integers([2, 3])),
            ("empty", Json::List(Vec::new())),
            ("none", Json::Null),
            ("nodes", Json::List(vec![Json::Object(vec![("is", Json::Bool(true))]), Json::Object(Vec::new())])),
        ]);
        let text = "{\n  \"name\": \"a\\\"b\",\n  \"shape\": [2, 3],\n  \"empty\": [],\n  \"none\": null,\n  \
                    \"nodes\": [\n    {\n      \"is\": true\n    },\n    {}\n  ]\n}";
        assert_eq!(document.to_string(), text);
        assert!(serde_json::from_str::<serde_json::Value>(text).is_ok());
    }

    #[test]
    fn numbers_that_json_lacks_are_texts() {
        let text = r#"{"a":NaN,"b":[-Infinity,Infinity,1],"NaN":"say \"NaN\\"}"#;
        let json = Json::of_library(text).to_string();
        assert_eq!(json, r#"{"a":"NaN","b":["-Infinity","Infinity",1],"NaN":"say \"NaN\\"}"#);
        assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok());
        assert_eq!(Json::of_library(""), Json::Raw("{}".to_owned()));
    }

    #[test]
    fn elements_are_numbers_where_json_has_them() {
        for (element, bytes, expected) in [
            (ElementType::Short, &(-3i16).to_ne_bytes()[..], "-3"),
            (ElementType::Float, &0.1f32.to_ne_bytes(), "0.1"),
            (ElementType::Float, &f32::NAN.to_ne_bytes(), "\"NaN\""),
            (ElementType::Bool, &[1], "true"),
            (ElementType::Char, b"7", "\"7\""),
            (ElementType::String, b"x", "\"x\""),
        ] {
            assert_eq!(Json::element(element, bytes).to_string(), expected);
        }
    }
}
