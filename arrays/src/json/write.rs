//! The JSON writer.

use super::value::{Text, Value};
use crate::alloc::push_text;
use crate::error::Result;

/// The value as a text without spaces.
pub(crate) fn compact(value: &Value) -> Result<String> {
    let mut text = String::new();
    write(value, None, &mut text)?;
    Ok(text)
}

/// The value as a text with a member or an item on each line, indented by two spaces. A list of numbers and texts is
/// one line.
pub(crate) fn indented(value: &Value) -> Result<String> {
    let mut text = String::new();
    write(value, Some(0), &mut text)?;
    push_text(&mut text, "\n")?;
    Ok(text)
}

/// Writes the value; `level` says how far it is indented, if it is.
fn write(value: &Value, level: Option<usize>, text: &mut String) -> Result<()> {
    match value {
        Value::Null => push_text(text, "null")?,
        Value::Bool(true) => push_text(text, "true")?,
        Value::Bool(false) => push_text(text, "false")?,
        Value::Number(number) => push_text(text, number)?,
        Value::Text(string) => write_string(string, text)?,
        Value::List(items) => {
            let is_nested = items.iter().any(|item| matches!(item, Value::List(_) | Value::Object(_)));
            let inner = level.filter(|_| is_nested).map(|level| level + 1);
            push_text(text, "[")?;
            for (i, item) in items.iter().enumerate() {
                let separator = if level.is_some() && !is_nested { ", " } else { "," };
                push_text(text, if i > 0 { separator } else { "" })?;
                line(inner, text)?;
                write(item, inner, text)?;
            }
            line(level.filter(|_| is_nested), text)?;
            push_text(text, "]")?;
        }
        Value::Object(members) => {
            let inner = level.map(|level| level + 1);
            push_text(text, "{")?;
            for (i, (name, member)) in members.iter().enumerate() {
                push_text(text, if i > 0 { "," } else { "" })?;
                line(inner, text)?;
                write_string(name, text)?;
                push_text(text, if level.is_some() { ": " } else { ":" })?;
                write(member, inner, text)?;
            }
            line(level.filter(|_| !members.is_empty()), text)?;
            push_text(text, "}")?;
        }
    }
    Ok(())
}

/// Begins a line, indented so far, if there are lines.
fn line(level: Option<usize>, text: &mut String) -> Result<()> {
    if let Some(level) = level {
        push_text(text, "\n")?;
        for _ in 0..level {
            push_text(text, "  ")?;
        }
    }
    Ok(())
}

fn write_string(string: &Text, text: &mut String) -> Result<()> {
    push_text(text, "\"")?;
    match string.escaped() {
        Some(escaped) => push_text(text, escaped)?,
        None => write_escaped(string, text)?,
    }
    push_text(text, "\"")?;
    Ok(())
}

fn write_escaped(string: &str, text: &mut String) -> Result<()> {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut rest = string;
    while let Some(plain) = rest.bytes().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f)) {
        let (before, from) = rest.split_at(plain);
        push_text(text, before)?;
        // What is escaped is ASCII, a byte each.
        let (escaped, after) = from.split_at(1);
        match escaped.as_bytes() {
            b"\n" => push_text(text, "\\n")?,
            b"\t" => push_text(text, "\\t")?,
            b"\r" => push_text(text, "\\r")?,
            [code @ 0..=0x1f] => {
                push_text(text, "\\u00")?;
                for digit in [code >> 4, code & 15] {
                    push_text(text, char::from(DIGITS[usize::from(digit)]).encode_utf8(&mut [0; 4]))?;
                }
            }
            _ => {
                push_text(text, "\\")?;
                push_text(text, escaped)?;
            }
        }
        rest = after;
    }
    Ok(push_text(text, rest)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::read;

    #[test]
    fn indented_text_reads_as_the_same_value() {
        let value = read(br#"{"a":[1,2],"b":{"c":[{"d":[]},{}]},"e":"\u001f"}"#).unwrap();
        let text = indented(&value).unwrap();
        let expected = "{\n  \"a\": [1, 2],\n  \"b\": {\n    \"c\": [\n      {\n        \"d\": []\n      },\n      \
                        {}\n    ]\n  },\n  \"e\": \"\\u001f\"\n}\n";
        assert_eq!(text, expected);
        assert_eq!(read(text.as_bytes()).unwrap(), value);
    }
}
