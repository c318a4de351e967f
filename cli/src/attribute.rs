//! Attributes as text.

use std::io::{self, Write};

use nczchunk::{Attribute, AttributeValues, ElementType, Error};

use crate::element;
use crate::failure::words;
use crate::json::Json;

/// Writes a line for each attribute of an array or a group: its values, or why it is left out; or why there are none.
pub fn write(
    out: &mut impl Write,
    attributes: &[Attribute],
    left_out: &[Error],
    error: Option<&Error>,
) -> io::Result<()> {
    for attribute in attributes {
        writeln!(out, "    {} = {}", attribute.name(), values(attribute))?;
    }
    left_out.iter().chain(error).try_for_each(|error| writeln!(out, "    {}", about(error)))
}

/// Why something that is stored is not shown. What is of no attribute is of the type.
pub fn about(error: &Error) -> String {
    let of_type = if error.about().is_empty() { "type of the elements: " } else { "" };
    format!("{of_type}{}", words(error))
}

/// Why some attributes are left out, or why there are none.
pub fn left_out(left_out: &[Error], error: Option<&Error>) -> Json {
    Json::List(left_out.iter().chain(error).map(|error| Json::Text(about(error))).collect())
}

/// The values of an attribute, with commas between them.
pub fn values(attribute: &Attribute) -> String {
    let mut text = String::new();
    let element = *attribute.element_type();
    match attribute.values() {
        AttributeValues::Bytes(bytes) if element == ElementType::Char => {
            element::push_quoted(&mut text, &String::from_utf8_lossy(bytes));
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
                element::push_quoted(&mut text, value);
            }
        }
    }
    text
}

/// The text of an attribute of an array, if it has one that is a text.
pub fn text<'a>(attributes: &'a [Attribute], name: &str) -> Option<&'a str> {
    let attribute = attributes.iter().find(|attribute| attribute.name() == name)?;
    match attribute.values() {
        AttributeValues::Bytes(bytes) if *attribute.element_type() == ElementType::Char => {
            std::str::from_utf8(bytes).ok()
        }
        AttributeValues::Texts([text]) => Some(text),
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
