//! Attributes as text.

use std::io::{self, Write};

use nczchunk::{Attribute, AttributeValues, ElementType, Error};

use crate::element;
use crate::failure::words;
use crate::json::Json;
use crate::screen::printable;

/// Writes a line for each attribute of an array or a group: its values, or why it is left out; or why there are none.
pub fn write(out: &mut impl Write, all: &[Attribute], left_out: &[Error], error: Option<&Error>) -> io::Result<()> {
    for attribute in all {
        writeln!(out, "    {} = {}", printable(attribute.name()), values(attribute))?;
    }
    reasons(left_out, error).try_for_each(|reason| writeln!(out, "    {}", printable(&reason)))
}

/// Why something that is stored is not shown. What is of no attribute is of the type.
pub fn about(error: &Error) -> String {
    let of_type = if error.about().is_empty() { "type of the elements: " } else { "" };
    format!("{of_type}{}", words(error))
}

/// What is left out, or why there are no attributes.
pub fn left_out(left_out: &[Error], error: Option<&Error>) -> Json {
    Json::List(reasons(left_out, error).map(Json::Text).collect())
}

fn reasons(left_out: &[Error], error: Option<&Error>) -> impl Iterator<Item = String> {
    left_out.iter().map(about).chain(error.map(words))
}

/// The values of an attribute, with commas between them. Many files have a zero at the end of a text, as C has.
pub fn values(attribute: &Attribute) -> String {
    let mut text = String::new();
    let element = *attribute.element_type();
    match attribute.values() {
        AttributeValues::Bytes(bytes) if element == ElementType::Char => {
            element::push_quoted(&mut text, &String::from_utf8_lossy(element::without_padding(bytes)));
        }
        AttributeValues::Bytes(bytes) => {
            for (i, value) in bytes.chunks_exact(element.size().max(1)).enumerate() {
                text.push_str(if i > 0 { ", " } else { "" });
                element::push(&mut text, element, value);
            }
        }
        AttributeValues::Texts(texts) => {
            for (i, value) in texts.iter().enumerate() {
                text.push_str(if i > 0 { ", " } else { "" });
                element::push_quoted(&mut text, value.trim_end_matches('\0'));
            }
        }
    }
    text
}

/// The text of an attribute of an array, if it has one that is a text, without zeros at its end.
pub fn text<'a>(attributes: &'a [Attribute], name: &str) -> Option<&'a str> {
    let attribute = attributes.iter().find(|attribute| attribute.name() == name)?;
    match attribute.values() {
        AttributeValues::Bytes(bytes) if *attribute.element_type() == ElementType::Char => {
            std::str::from_utf8(element::without_padding(bytes)).ok()
        }
        AttributeValues::Texts([text]) => Some(text.trim_end_matches('\0')),
        _ => None,
    }
}

/// The number that an attribute of an array is, and its type, if it is one number.
pub fn number(attributes: &[Attribute], name: &str) -> Option<(f64, ElementType)> {
    let attribute = attributes.iter().find(|attribute| attribute.name() == name)?;
    let element = *attribute.element_type();
    let AttributeValues::Bytes(bytes) = attribute.values() else { return None };
    let number =
        element::number(element, bytes).filter(|_| bytes.len() == element.size() && element != ElementType::Char);
    number.map(|number| (number.as_f64(), element))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nczchunk::ErrorKind;

    /// Only what is left out and is of no attribute is of the type; why there are no attributes may be about nothing.
    #[test]
    fn what_is_left_out_is_not_taken_for_why_there_are_none() {
        let reason = || Error::from(ErrorKind::Unsupported("this"));
        let all = [reason(), reason().in_object("units")];
        let mut out = Vec::new();
        write(&mut out, &[], &all, Some(&reason())).unwrap();
        let due =
            "    type of the elements: not supported: this\n    units: not supported: this\n    not supported: this\n";
        assert_eq!(String::from_utf8(out).unwrap(), due);
    }
}
