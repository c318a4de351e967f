//! The attributes of an array or a group: one by one with their types, and all as JSON text.

use crate::alloc;
use crate::element::ElementType;
use crate::error::{Error, ErrorKind, Result};
use crate::json::{self, Value};

/// An attribute.
#[derive(Debug)]
pub struct Attribute {
    pub(crate) name: String,
    /// A type that netCDF has.
    pub(crate) element: ElementType,
    pub(crate) values: Values,
}

/// The values of an attribute.
#[derive(Debug, PartialEq)]
pub(crate) enum Values {
    /// Elements in native byte order; of `char` a text.
    Bytes(Vec<u8>),
    /// Those of the type `string`.
    Texts(Vec<String>),
}

/// The values of an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttributeValues<'a> {
    /// Elements in native byte order. Those of [`ElementType::Char`] are one string, in UTF-8 unless an old netCDF file
    /// has another encoding.
    Bytes(&'a [u8]),
    /// Strings, of [`ElementType::String`].
    Texts(&'a [String]),
}

impl Attribute {
    /// The attribute's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The type of the values, which is one of netCDF's.
    pub fn element_type(&self) -> &ElementType {
        &self.element
    }

    /// The values.
    pub fn values(&self) -> AttributeValues<'_> {
        match &self.values {
            Values::Bytes(bytes) => AttributeValues::Bytes(bytes),
            Values::Texts(texts) => AttributeValues::Texts(texts),
        }
    }

    /// Its values as JSON: one alone, or a list. What is no UTF-8 in a text is replaced.
    fn json(&self) -> Result<Value> {
        let bytes = match &self.values {
            Values::Bytes(bytes) => bytes,
            Values::Texts(texts) if texts.len() == 1 => return Value::text(&texts[0]),
            Values::Texts(texts) => return Value::list(texts.iter().map(|text| Value::text(text))),
        };
        if self.element == ElementType::Char {
            return Ok(Value::Text(lossy_text(bytes)?.into()));
        }
        numbers_as_json(self.element, bytes)
    }
}

/// All attributes.
#[derive(Debug)]
pub struct Attributes {
    #[doc(hidden)]
    pub list: Vec<Attribute>,
    /// The text of an object.
    #[doc(hidden)]
    pub json: String,
    /// What is stored and not shown: an error about each attribute that is left out here, or is not all here, and one
    /// about nothing for what the type of an array's elements says.
    pub(crate) left_out: Vec<Error>,
    /// Why those that are stored cannot be read, if that is so. Then there are none here.
    pub(crate) error: Option<Error>,
}

impl Attributes {
    /// Attributes that are not stored as JSON. Their types are not in the text.
    pub(crate) fn of(list: Vec<Attribute>) -> Result<Self> {
        let mut all = Value::Object(Vec::new());
        for attribute in &list {
            all.push(&attribute.name, attribute.json()?)?;
        }
        Ok(Attributes { list, json: json::compact(&all)?, left_out: Vec::new(), error: None })
    }
}

/// A text of bytes that should be UTF-8. What is not is replaced.
pub(crate) fn lossy_text(bytes: &[u8]) -> Result<String> {
    let mut text = String::new();
    for part in bytes.utf8_chunks() {
        alloc::push_text(&mut text, part.valid())?;
        if !part.invalid().is_empty() {
            alloc::push_text(&mut text, "\u{fffd}")?;
        }
    }
    Ok(text)
}

/// Numbers in native byte order as JSON: one alone, or a list.
pub(crate) fn numbers_as_json(element: ElementType, bytes: &[u8]) -> Result<Value> {
    let number = |bytes: &[u8]| match (element.to_integer(bytes), element.to_f64(bytes)) {
        (Some(integer), _) => Value::number(integer),
        (None, number) => float_as_json(number.ok_or(ErrorKind::Internal)?),
    };
    let mut numbers = alloc::try_collected(bytes.chunks_exact(element.size().max(1)).map(number))?;
    if numbers.len() == 1 { Ok(numbers.swap_remove(0)) } else { Ok(Value::List(numbers)) }
}

/// A number as the shortest text that reads as the same double, the only type that readers of JSON have; what JSON
/// lacks is as Python writes it.
pub(crate) fn float_as_json(value: f64) -> Result<Value> {
    if value.is_nan() {
        Value::number("NaN")
    } else if value.is_infinite() {
        Value::number(if value > 0.0 { "Infinity" } else { "-Infinity" })
    } else {
        Value::number(format_args!("{value:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_values_are_json() {
        let one = |name: &str, element, bytes: &[u8]| {
            let (name, values) = (name.to_owned(), Values::Bytes(bytes.to_vec()));
            Attribute { name, element, values }
        };
        let numbers = |values: &[f32]| values.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<u8>>();
        let texts = Attribute {
            name: "texts".to_owned(),
            element: ElementType::String,
            values: Values::Texts(vec!["x".to_owned(), "y".to_owned()]),
        };
        let alone = Attribute {
            name: "alone".to_owned(),
            element: ElementType::String,
            values: Values::Texts(vec!["x".to_owned()]),
        };
        let all = Attributes::of(vec![
            one("text", ElementType::Char, b"a\"\xe4b"),
            one("byte", ElementType::Byte, &[255]),
            one("ubyte", ElementType::UByte, &[255, 1]),
            one("float", ElementType::Float, &numbers(&[0.1, f32::NAN])),
            one("none", ElementType::Int, &[]),
            one("short", ElementType::Short, &i16::MIN.to_ne_bytes()),
            one("int", ElementType::Int, &i32::MIN.to_ne_bytes()),
            one("int64", ElementType::Int64, &i64::MIN.to_ne_bytes()),
            one("ushort", ElementType::UShort, &u16::MAX.to_ne_bytes()),
            one("uint", ElementType::UInt, &u32::MAX.to_ne_bytes()),
            one("uint64", ElementType::UInt64, &u64::MAX.to_ne_bytes()),
            one("double", ElementType::Double, &f64::NEG_INFINITY.to_ne_bytes()),
            texts,
            alone,
        ]);
        let text = [
            r#"{"text":"a\"�b","byte":-1,"ubyte":[255,1],"float":[0.10000000149011612,NaN],"none":[],"#,
            r#""short":-32768,"int":-2147483648,"int64":-9223372036854775808,"ushort":65535,"uint":4294967295,"#,
            r#""uint64":18446744073709551615,"#,
            r#""double":-Infinity,"texts":["x","y"],"alone":"x"}"#,
        ];
        assert_eq!(all.unwrap().json, text.concat());
    }
}
