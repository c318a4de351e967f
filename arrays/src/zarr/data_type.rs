//! The types of elements as Zarr v3 spells them: the specification's names, and the extensions that zarr-python writes.

use super::fill::{self, Dialect};
use crate::alloc;
use crate::copy;
use crate::element::{ElementType, LARGEST, TYPES, TimeUnit};
use crate::error::{ErrorKind, Result};
use crate::json::{At, Value};

/// What a `data_type` says.
pub(super) struct DataType {
    pub(super) element: ElementType,
    /// Whether there are words of more than a byte in what is taken as opaque: a structure's fields.
    pub(super) has_hidden_words: bool,
    /// The fields of a structure, in the order in which they are stored.
    fields: Vec<(String, DataType)>,
}

impl DataType {
    /// The bytes of a fill value, as they are in memory; `None` for `null`. That of a structure may be an object with a
    /// value for each field. Its fields are taken as they are stored, which is little-endian.
    pub(super) fn fill_value(&self, at: At<'_>, dialect: Dialect) -> Result<Option<Vec<u8>>> {
        if self.fields.is_empty() || at.check_object().is_err() {
            return fill::read(at, self.element, dialect);
        }
        let mut bytes = Vec::new();
        for (name, field) in &self.fields {
            let value = at.require(name)?;
            let stored = field.fill_value(value, dialect)?;
            let mut stored = stored.ok_or_else(|| value.malformed("the field needs a value"))?;
            if cfg!(target_endian = "big") {
                copy::swap_in_place(&mut stored, field.element.word_size());
            }
            alloc::extend(&mut bytes, &stored)?;
        }
        Ok(Some(bytes))
    }
}

impl From<ElementType> for DataType {
    fn from(element: ElementType) -> Self {
        DataType { element, has_hidden_words: false, fields: Vec::new() }
    }
}

/// The type of a `data_type`, which is a name or an object with a name and a configuration.
pub(super) fn read(at: At<'_>) -> Result<DataType> {
    if let Some(name) = at.value().as_str() {
        return named(&at, name, None);
    }
    let name = at.require("name")?.text()?;
    named(&at, name, at.given("configuration"))
}

fn named(at: &At<'_>, name: &str, configuration: Option<At<'_>>) -> Result<DataType> {
    if let Some(row) = TYPES.iter().find(|row| row.v3.contains(&name)) {
        return Ok(row.element.into());
    }
    let raw = name.strip_prefix('r').filter(|bits| !bits.is_empty() && bits.bytes().all(|c| c.is_ascii_digit()));
    if let Some(bits) = raw {
        let bytes = bits.parse().ok().filter(|bits: &usize| *bits > 0 && bits % 8 == 0).map(|bits| bits / 8);
        let len = bytes
            .filter(|&len| len <= LARGEST)
            .ok_or_else(|| at.malformed("raw elements must have from 1 byte to 16 MiB"))?;
        return Ok(ElementType::Opaque { len }.into());
    }
    let unknown = || at.error(ErrorKind::ElementType.in_object(name));
    let configuration = configuration.ok_or_else(unknown)?;
    let element = match name {
        "numpy.datetime64" | "numpy.timedelta64" => {
            let unit = configuration.require("unit")?;
            let count = configuration.given("scale_factor").map_or(Ok(1), |count| {
                let small = count.usize()?.try_into().ok().filter(|&count: &u32| count > 0);
                small.ok_or_else(|| count.malformed("a scale factor must be from 1 to 2^32 - 1"))
            })?;
            let unit =
                TimeUnit::of(unit.text()?).ok_or_else(|| unit.malformed("the unit of time is unknown to numpy"))?;
            ElementType::Time { unit, count, is_delta: name == "numpy.timedelta64" }
        }
        "null_terminated_bytes" => ElementType::Text { len: length(configuration, 1)? },
        "raw_bytes" => ElementType::Opaque { len: length(configuration, 1)? },
        "fixed_length_utf32" => ElementType::Unicode { len: length(configuration, 4)? },
        "structured" | "struct" => return structure(configuration.require("fields")?),
        _ => return Err(unknown()),
    };
    Ok(element.into())
}

/// How many units of so many bytes `length_bytes` are.
fn length(configuration: At<'_>, unit: usize) -> Result<usize> {
    let length = configuration.require("length_bytes")?;
    let bytes = length.usize()?;
    if bytes == 0 || bytes % unit != 0 || bytes > LARGEST {
        return Err(
            length.malformed("an element must be a whole number of characters, at least one and at most 16 MiB")
        );
    }
    Ok(bytes / unit)
}

/// The bytes of a structure, whose fields are `["name", type]` or `{"name": .., "data_type": ..}`.
fn structure(fields: At<'_>) -> Result<DataType> {
    let (mut len, mut has_hidden_words, mut list) = (0usize, false, Vec::new());
    for field in fields.items()? {
        let (name, inner) = match field.value() {
            Value::List(_) => {
                let mut items = field.items()?;
                match (items.next(), items.next()) {
                    (Some(name), Some(inner)) => (name.text()?, read(inner)?),
                    _ => return Err(field.malformed("expected a field with a name and a data type")),
                }
            }
            _ => (field.require("name")?.text()?, read(field.require("data_type")?)?),
        };
        if inner.element == ElementType::String {
            return Err(field.error(ErrorKind::ElementType.in_object("string")));
        }
        has_hidden_words |= inner.has_hidden_words || inner.element.word_size() > 1;
        let size = inner.element.size();
        alloc::push(&mut list, (alloc::text(name)?, inner))?;
        len = len.checked_add(size).ok_or_else(|| field.malformed("the structure is too large"))?;
    }
    if len == 0 || len > LARGEST {
        return Err(fields.malformed("a structure must have from 1 byte to 16 MiB"));
    }
    Ok(DataType { element: ElementType::Opaque { len }, has_hidden_words, fields: list })
}

/// The `data_type` of a type.
pub(super) fn write(element: ElementType) -> Result<Value> {
    if let Some(name) = element.row().and_then(|row| row.v3.first()) {
        return Value::text(name);
    }
    let length = |name, bytes: usize| extension(name, Value::object([("length_bytes", Value::number(bytes)?)])?);
    match element {
        ElementType::Time { unit, count, is_delta } => {
            let name = if is_delta { "numpy.timedelta64" } else { "numpy.datetime64" };
            let unit = ("unit", Value::text(unit.as_str())?);
            extension(name, Value::object([unit, ("scale_factor", Value::number(count)?)])?)
        }
        ElementType::Unicode { .. } => length("fixed_length_utf32", element.size()),
        ElementType::Opaque { len } => length("raw_bytes", len),
        _ => length("null_terminated_bytes", element.size()),
    }
}

/// An object with a name and a configuration.
pub(super) fn extension(name: &str, configuration: Value) -> Result<Value> {
    Value::object([("name", Value::text(name)?), ("configuration", configuration)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{compact, read as json};

    fn of(text: &str) -> Result<ElementType> {
        Ok(read(At::root(&json(text.as_bytes())?))?.element)
    }

    #[test]
    fn what_is_written_is_read() {
        for text in [
            r#""int32""#,
            r#""complex64""#,
            r#""bfloat16""#,
            r#""float8_e4m3""#,
            r#""uint2""#,
            r#""string""#,
            r#"{"name":"numpy.datetime64","configuration":{"unit":"ns","scale_factor":1}}"#,
            r#"{"name":"numpy.timedelta64","configuration":{"unit":"s","scale_factor":10}}"#,
            r#"{"name":"null_terminated_bytes","configuration":{"length_bytes":5}}"#,
            r#"{"name":"fixed_length_utf32","configuration":{"length_bytes":16}}"#,
            r#"{"name":"raw_bytes","configuration":{"length_bytes":8}}"#,
        ] {
            assert_eq!(compact(&write(of(text).unwrap()).unwrap()).unwrap(), text);
        }
    }

    #[test]
    fn other_spellings_are_read() {
        assert_eq!(of(r#"{"name":"int8"}"#).unwrap(), ElementType::Byte);
        assert_eq!(of(r#""r16""#).unwrap(), ElementType::Opaque { len: 2 });
        let structure = r#"{"name":"structured","configuration":{"fields":[["a","int32"],["b","float64"]]}}"#;
        let structure = json(structure.as_bytes()).unwrap();
        let structure = read(At::root(&structure)).unwrap();
        assert_eq!((structure.element, structure.has_hidden_words), (ElementType::Opaque { len: 12 }, true));
        let fields = r#"[{"name":"a","data_type":"int8"},{"name":"b","data_type":"r16"}]"#;
        let structure = format!(r#"{{"name":"struct","configuration":{{"fields":{fields}}}}}"#);
        assert_eq!(of(&structure).unwrap(), ElementType::Opaque { len: 3 });
    }

    #[test]
    fn a_structure_is_filled_field_by_field() {
        let dialect = Dialect { format: super::super::format::Format::V3, is_nczarr: false };
        let inner = r#"{"name":"struct","configuration":{"fields":[{"name":"u","data_type":"bool"}]}}"#;
        let text = format!(
            r#"{{"name":"struct","configuration":{{"fields":[{{"name":"a","data_type":"int16"}},
            {{"name":"b","data_type":"float32"}},{{"name":"c","data_type":{inner}}}]}}}}"#
        );
        let value = json(text.as_bytes()).unwrap();
        let structure = read(At::root(&value)).unwrap();
        let fill = |text: &str| structure.fill_value(At::root(&json(text.as_bytes()).unwrap()), dialect);
        let bytes = [&258u16.to_le_bytes()[..], &1.5f32.to_le_bytes(), &[1]].concat();
        assert_eq!(fill(r#"{"c":{"u":true},"a":258,"b":1.5}"#).unwrap().unwrap(), bytes);
        assert_eq!(fill(r#""AgEAAMA/AQ==""#).unwrap().unwrap(), bytes);
        assert_eq!(fill("null").unwrap(), None);
        assert_eq!(fill(r#"{"a":258,"b":1.5}"#).unwrap_err().about(), "$.c");
        assert_eq!(fill(r#"{"c":{"u":true},"a":99999,"b":1.5}"#).unwrap_err().about(), "$.a");
        assert_eq!(fill(r#"{"c":{"u":null},"a":1,"b":1.5}"#).unwrap_err().about(), "$.c.u");
    }

    #[test]
    fn elements_have_up_to_16_mib() {
        for (len, is_read) in [(LARGEST, true), (LARGEST + 1, false)] {
            let raw = format!(r#"{{"name":"raw_bytes","configuration":{{"length_bytes":{len}}}}}"#);
            let structure = format!(r#"{{"name":"struct","configuration":{{"fields":[["a",{raw}]]}}}}"#);
            for text in [format!("\"r{}\"", 8 * len), raw, structure] {
                assert_eq!(of(&text).ok(), is_read.then_some(ElementType::Opaque { len }), "{text}");
            }
        }
    }

    #[test]
    fn bytes_have_no_order() {
        let hides = |fields: &str| {
            let text = format!(r#"{{"name":"struct","configuration":{{"fields":[{fields}]}}}}"#);
            read(At::root(&json(text.as_bytes()).unwrap())).unwrap().has_hidden_words
        };
        assert!(!hides(r#"["a","int8"],["b","r24"]"#) && hides(r#"["a","int8"],["b","int16"]"#));
    }

    #[test]
    fn others_are_refused_by_name() {
        for (text, about) in [
            (r#""float128""#, "$: float128"),
            (r#""numpy.datetime64""#, "$: numpy.datetime64"),
            (r#"{"name":"int3","configuration":{}}"#, "$: int3"),
            (r#"{"configuration":{}}"#, "$.name"),
            (r#""r12""#, "$"),
            (r#""r0""#, "$"),
            (
                r#"{"name":"numpy.datetime64","configuration":{"unit":"s","scale_factor":0}}"#,
                "$.configuration.scale_factor",
            ),
            (r#"{"name":"struct","configuration":{"fields":[]}}"#, "$.configuration.fields"),
            (r#"{"name":"raw_bytes","configuration":{"length_bytes":0}}"#, "$.configuration.length_bytes"),
            (r#"{"name":"fixed_length_utf32","configuration":{"length_bytes":6}}"#, "$.configuration.length_bytes"),
            (r#"{"name":"numpy.datetime64","configuration":{"unit":"x"}}"#, "$.configuration.unit"),
            (r#"{"name":"structured","configuration":{"fields":[["a"]]}}"#, "$.configuration.fields[0]"),
            (r#"{"name":"struct","configuration":{"fields":[{"name":"a"}]}}"#, "$.configuration.fields[0].data_type"),
            (r#"{"name":"struct","configuration":{"fields":[["a","string"]]}}"#, "$.configuration.fields[0]: string"),
        ] {
            assert_eq!(of(text).unwrap_err().about(), about);
        }
    }
}
