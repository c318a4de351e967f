//! Attributes as values of netCDF types.
//!
//! netCDF-C writes the types of the attributes beside them, in the dtypes of Zarr v2. Without those a type is taken
//! from the values, as netCDF-C does: a text is `char`, whole numbers are the first of `int`, `int64` and `uint64`
//! that has them all, other numbers are `double`, true and false are `ubyte`, and several texts are `string`. All else
//! is a text that is JSON.

use super::base64;
use super::dtype;
use super::fill::{self, Dialect};
use super::format::Format;
use super::nczarr;
use crate::alloc::{self, copied, extend};
use crate::dataset::{self, Attributes, Values};
use crate::element::{ElementType, native_word};
use crate::error::{Error, ErrorKind, Result};
use crate::json::{self, At, ByName, Value};

pub(crate) const FILL_VALUE: &str = "_FillValue";

/// The values of an attribute with their type.
#[derive(Debug, PartialEq)]
pub(crate) struct Typed {
    /// A type that netCDF has.
    pub(crate) element: ElementType,
    pub(crate) values: Values,
}

/// The attributes of an array with such elements or of a group, without those that formats keep among them for
/// themselves.
pub(crate) fn attributes(all: &Value, element: Option<ElementType>) -> Result<Attributes> {
    let root = [At::root(all)];
    let types = ByName::new(written_types(&root).map_or(&[], Value::members))?;
    let mut list: Vec<dataset::Attribute> = Vec::new();
    for (name, value) in ByName::new(all.members())?.distinct() {
        if !nczarr::is_internal_attribute(name) {
            let Typed { element, values } = typed((name, value), types.get(name), element)?;
            alloc::push(&mut list, dataset::Attribute { name: alloc::text(name)?, element, values })?;
        }
    }
    Ok(Attributes { list, json: json::compact(all)?, left_out: Vec::new(), error: None })
}

/// Refuses attributes that are no object.
pub(crate) fn check_attributes(all: &Value) -> Result<()> {
    At::root(all).check_object()
}

/// Attributes as they were read from a document or, if the document is broken, none, and why they cannot be read.
///
/// # Errors
/// Those that are not of what the document says.
pub(crate) fn readable(read: Result<Option<Value>>, document: &str) -> Result<(Option<Value>, Option<Error>)> {
    let read = read.and_then(|attributes| match &attributes {
        Some(all) => check_attributes(all).map_err(|error| error.in_object(document)).map(|()| attributes),
        None => Ok(None),
    });
    match read {
        Ok(attributes) => Ok((attributes, None)),
        Err(error) if matches!(error.kind(), ErrorKind::Metadata(_) | ErrorKind::Limit { .. }) => {
            Ok((None, Some(error)))
        }
        Err(error) => Err(error),
    }
}

/// The fill value that the attributes of an array with such elements tell; `None` if they do not.
pub(crate) fn told_fill_value(attributes: &Value, element: ElementType) -> Result<Option<Vec<u8>>> {
    let value = attributes.get(FILL_VALUE).filter(|_| has_numbers(element));
    value.map_or(Ok(None), |value| fill_value(value, element))
}

/// Whether elements are numbers that netCDF has.
fn has_numbers(element: ElementType) -> bool {
    element.netcdf_type() > 0 && element.word_size() > 0
}

/// The types of attributes, by their names, if netCDF-C has written them.
fn written_types<'v>(root: &'v [At<'v>]) -> Option<&'v Value> {
    nczarr::find(root, &nczarr::ATTRIBUTES).and_then(|at| at.value().get("types"))
}

/// An attribute of an array with such elements or of a group, of which these are all; `None` if there is none of that
/// name.
#[cfg(test)]
pub(super) fn attribute(attributes: &Value, element: Option<ElementType>, name: &str) -> Result<Option<Typed>> {
    let root = [At::root(attributes)];
    let written = written_types(&root).and_then(|types| types.get(name));
    attributes.get(name).map(|value| typed((name, value), written, element)).transpose()
}

/// An attribute of an array with such elements or of a group, and the type that is written of it. The `_FillValue` of
/// an array is an element, if it can be one and netCDF has the type or a wider one.
fn typed((name, value): (&str, &Value), written: Option<&Value>, element: Option<ElementType>) -> Result<Typed> {
    let element = if element == Some(ElementType::Half) { Some(ElementType::Float) } else { element };
    if let Some(element) = element.filter(|element| name == FILL_VALUE && has_numbers(*element)) {
        if let Some(bytes) = fill_value(value, element)? {
            return Ok(Typed { element, values: Values::Bytes(bytes) });
        }
    }
    let written = written.and_then(Value::as_str);
    let one = std::slice::from_ref(value);
    let items = value.as_list().unwrap_or(one);
    let element = match written {
        Some("|J0") => None,
        Some(dtype) => dtype::parse(dtype).map(|spelt| nczarr::element(spelt).0),
        None => inferred(value, items),
    };
    match element.map_or(Ok(None), |element| read(items, element))? {
        Some(attribute) => Ok(attribute),
        // What is written does not fit its type, or has none that netCDF knows.
        None => match inferred(value, items).filter(|_| written.is_some_and(|written| written != "|J0")) {
            Some(element) => read(items, element)?.map_or_else(|| text_of(value), Ok),
            None => text_of(value),
        },
    }
}

/// The fill value that the attribute `_FillValue` has, as an element; `None` if it is none.
///
/// In Zarr v3 xarray writes floating-point numbers there as the base64 of a little-endian double.
fn fill_value(value: &Value, element: ElementType) -> Result<Option<Vec<u8>>> {
    let is_float = matches!(element, ElementType::Float | ElementType::Double);
    let decoded = if is_float { value.as_str().map_or(Ok(None), base64::decode)? } else { None };
    if let Some(double) = decoded.and_then(|bytes| bytes.try_into().ok()).map(f64::from_le_bytes) {
        let bytes = match element {
            ElementType::Float => copied(&(double as f32).to_ne_bytes())?,
            _ => copied(&double.to_ne_bytes())?,
        };
        return Ok(Some(bytes));
    }
    let dialect = Dialect { format: Format::V2, is_nczarr: true };
    match fill::read(At::root(value), element, dialect) {
        Err(error) if error.kind() == ErrorKind::OutOfMemory => Err(error),
        read => Ok(read.unwrap_or_default()),
    }
}

/// The value as a text that is JSON.
fn text_of(value: &Value) -> Result<Typed> {
    Ok(Typed { element: ElementType::Char, values: Values::Bytes(json::compact(value)?.into_bytes()) })
}

/// The type that the values have.
fn inferred(value: &Value, items: &[Value]) -> Option<ElementType> {
    if value.as_str().is_some() || (items.is_empty() && value.as_list().is_some()) {
        return Some(ElementType::Char);
    }
    let all = |is: fn(&Value) -> bool| items.iter().all(is);
    if all(|item| item.as_str().is_some()) {
        return Some(ElementType::String);
    }
    if all(|item| item.as_bool().is_some()) {
        return Some(ElementType::UByte);
    }
    if all(|item| item.as_i64().is_some_and(|value| i32::try_from(value).is_ok())) {
        return Some(ElementType::Int);
    }
    if all(|item| item.as_i64().is_some()) {
        return Some(ElementType::Int64);
    }
    if all(|item| item.as_u64().is_some()) {
        return Some(ElementType::UInt64);
    }
    all(|item| item.as_number().is_some()).then_some(ElementType::Double)
}

/// The values as a type; `None` if they do not fit it.
fn read(items: &[Value], element: ElementType) -> Result<Option<Typed>> {
    if let ElementType::Char = element {
        let mut bytes = Vec::new();
        for item in items {
            let Some(text) = item.as_str() else { return Ok(None) };
            extend(&mut bytes, text.as_bytes())?;
        }
        return Ok(Some(Typed { element, values: Values::Bytes(bytes) }));
    }
    if matches!(element, ElementType::Text { .. } | ElementType::String | ElementType::Unicode { .. }) {
        let mut texts = Vec::new();
        for item in items {
            let Some(text) = item.as_str() else { return Ok(None) };
            alloc::push(&mut texts, alloc::text(text)?)?;
        }
        return Ok(Some(Typed { element: ElementType::String, values: Values::Texts(texts) }));
    }
    // netCDF has no floating-point numbers of 2 bytes; those of 4 have them all.
    let element = match element {
        ElementType::Half => ElementType::Float,
        ElementType::Bool => ElementType::UByte,
        element => element,
    };
    let mut bytes = Vec::new();
    for item in items {
        if !number(item, element, &mut bytes)? {
            return Ok(None);
        }
    }
    Ok(Some(Typed { element, values: Values::Bytes(bytes) }))
}

/// Adds a number; false if it does not fit the type. A number that does not belong among JSON's may be a text.
fn number(item: &Value, element: ElementType, bytes: &mut Vec<u8>) -> Result<bool> {
    if let ElementType::Float | ElementType::Double = element {
        let word = item.as_str().filter(|text| matches!(*text, "NaN" | "Infinity" | "-Infinity"));
        let Some(value) = item.as_f64().or_else(|| word?.parse().ok()) else { return Ok(false) };
        match element {
            ElementType::Float => extend(bytes, &(value as f32).to_ne_bytes())?,
            _ => extend(bytes, &value.to_ne_bytes())?,
        }
        return Ok(true);
    }
    // What is too large becomes the largest integer, which fits no type.
    let whole = || item.as_f64().filter(|value| value.trunc() == *value).map(|value| value as i128);
    let exact = item.as_number().and_then(|text| text.parse::<i128>().ok());
    let Some(value) = item.as_bool().map(i128::from).or(exact).or_else(whole) else { return Ok(false) };
    let range = element.integers().filter(|_| element.netcdf_type() > 0);
    let fits = range.is_some_and(|range| range.contains(&value));
    if fits {
        extend(bytes, &native_word(value as u64, element.size())[..element.size()])?;
    }
    Ok(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, name: &str) -> (ElementType, Values) {
        let attributes = json::read(text.as_bytes()).unwrap();
        let attribute = attribute(&attributes, None, name).unwrap().unwrap();
        (attribute.element, attribute.values)
    }

    fn bytes<const N: usize>(parts: &[[u8; N]]) -> Values {
        Values::Bytes(parts.concat())
    }

    fn chars(text: &str) -> (ElementType, Values) {
        (ElementType::Char, Values::Bytes(text.as_bytes().to_vec()))
    }

    /// Twice as many take about twice as long.
    #[test]
    fn there_may_be_many_attributes() {
        let count = if cfg!(miri) { 100 } else { 100_000 };
        let texts = |value: &str| (0..count).map(|i| format!(r#""a{i}":{value}"#)).collect::<Vec<_>>().join(",");
        let types = texts(r#""<i8""#);
        let text = format!(r#"{{{},"a7":8,"_nczarr_attr":{{"types":{{{types}}}}}}}"#, texts("1"));
        let all = attributes(&json::read(text.as_bytes()).unwrap(), None).unwrap();
        assert_eq!((all.list.len(), all.list[7].name.as_str()), (count, "a7"));
        assert_eq!(all.list[7].values, bytes(&[8i64.to_ne_bytes()]));
    }

    #[test]
    fn types_follow_from_values() {
        let text = r#"{"a":"m","b":[1,2],"c":[1,3000000000],"d":18446744073709551615,"e":[1,2.5],"f":["x","yz"],"g":NaN,
            "h":[],"i":{"k":[1]},"j":true,"k":[1,"x"],"l":null}"#;
        assert_eq!(of(text, "a"), chars("m"));
        assert_eq!(of(text, "b"), (ElementType::Int, bytes(&[1i32.to_ne_bytes(), 2i32.to_ne_bytes()])));
        assert_eq!(of(text, "c"), (ElementType::Int64, bytes(&[1i64.to_ne_bytes(), 3_000_000_000i64.to_ne_bytes()])));
        assert_eq!(of(text, "d"), (ElementType::UInt64, bytes(&[u64::MAX.to_ne_bytes()])));
        assert_eq!(of(text, "e"), (ElementType::Double, bytes(&[1f64.to_ne_bytes(), 2.5f64.to_ne_bytes()])));
        assert_eq!(of(text, "f"), (ElementType::String, Values::Texts(vec!["x".to_owned(), "yz".to_owned()])));
        assert_eq!(of(text, "g"), (ElementType::Double, bytes(&[f64::NAN.to_ne_bytes()])));
        assert_eq!(of(text, "h"), chars(""));
        assert_eq!(of(text, "i"), chars("{\"k\":[1]}"));
        assert_eq!(of(text, "j"), (ElementType::UByte, Values::Bytes(vec![1])));
        assert_eq!(of(text, "k"), chars("[1,\"x\"]"));
        assert_eq!(of(text, "l"), chars("null"));
        assert_eq!(attribute(&Value::Null, None, "x").unwrap(), None);
    }

    #[test]
    fn written_types_are_taken() {
        let text = r#"{"text": "", "old": "m",
            "strs": ["a","bc"], "one": 7, "d": [1,2], "ch": "x", "s": [1,2], "f": 1.5,
            "u": [256], "j": [1], "n": "NaN", "_nczarr_attr": {"types": {"text": ">S1", "old": "<U1", "strs": "|S128",
            "one": "<i8", "d": "<f8",
            "ch": ">S1", "s": "<i2", "f": "<f4", "u": "<u1", "j": "|J0", "n": "<f4"}}}"#;
        assert_eq!(of(text, "text"), chars(""));
        assert_eq!(of(text, "old"), chars("m"));
        assert_eq!(of(text, "strs"), (ElementType::String, Values::Texts(vec!["a".to_owned(), "bc".to_owned()])));
        assert_eq!(of(text, "one"), (ElementType::Int64, bytes(&[7i64.to_ne_bytes()])));
        assert_eq!(of(text, "d"), (ElementType::Double, bytes(&[1f64.to_ne_bytes(), 2f64.to_ne_bytes()])));
        assert_eq!(of(text, "s"), (ElementType::Short, bytes(&[1i16.to_ne_bytes(), 2i16.to_ne_bytes()])));
        assert_eq!(of(text, "f"), (ElementType::Float, bytes(&[1.5f32.to_ne_bytes()])));
        assert_eq!(of(text, "n"), (ElementType::Float, bytes(&[f32::NAN.to_ne_bytes()])));
        assert_eq!(of(text, "j"), chars("[1]"));
        let numbers = |dtype: &str, value: &str| {
            let text = format!(r#"{{"x": {value}, "_nczarr_attr": {{"types": {{"x": "{dtype}"}}}}}}"#);
            of(&text, "x")
        };
        for (dtype, element, least) in [
            ("|i1", ElementType::Byte, bytes(&[(-128i8).to_ne_bytes()])),
            ("<i2", ElementType::Short, bytes(&[(-128i16).to_ne_bytes()])),
            ("<i4", ElementType::Int, bytes(&[(-128i32).to_ne_bytes()])),
            ("<i8", ElementType::Int64, bytes(&[(-128i64).to_ne_bytes()])),
            ("|u1", ElementType::UByte, bytes(&[200u8.to_ne_bytes()])),
            ("<u2", ElementType::UShort, bytes(&[200u16.to_ne_bytes()])),
            ("<u4", ElementType::UInt, bytes(&[200u32.to_ne_bytes()])),
            ("<u8", ElementType::UInt64, bytes(&[200u64.to_ne_bytes()])),
        ] {
            for value in if dtype.contains('i') { ["-128", "-128.0"] } else { ["200", "200.0"] } {
                let (found, values) = numbers(dtype, value);
                assert!(found == element && values == least, "{dtype} {value}");
            }
            assert_eq!(numbers(dtype, "0.5").0, ElementType::Double);
            assert_eq!(numbers(dtype, "1e300").0, ElementType::Double);
        }
        // What does not fit its type has the one that follows from its values.
        assert_eq!(of(text, "u"), (ElementType::Int, bytes(&[256i32.to_ne_bytes()])));
    }

    #[test]
    fn a_fill_value_may_be_an_attribute() {
        let fill = |text: &str, element| {
            json::read(text.as_bytes()).unwrap().get(FILL_VALUE).and_then(|value| fill_value(value, element).unwrap())
        };
        let nan = r#"{"_FillValue": "AAAAAAAA+H8="}"#;
        assert_eq!(fill(nan, ElementType::Double).unwrap(), f64::NAN.to_ne_bytes());
        assert_eq!(fill(nan, ElementType::Float).unwrap(), f32::NAN.to_ne_bytes());
        assert_eq!(fill(nan, ElementType::Int), None);
        assert_eq!(fill(r#"{"_FillValue": [-999]}"#, ElementType::Short).unwrap(), (-999i16).to_ne_bytes());
        assert_eq!(fill(r#"{"_FillValue": NaN}"#, ElementType::Float).unwrap(), f32::NAN.to_ne_bytes());
        assert_eq!(fill("{}", ElementType::Float), None);
    }

    #[test]
    fn the_fill_value_of_texts_is_an_attribute_like_others() {
        let attributes = json::read(br#"{"_FillValue":"x"}"#).unwrap();
        for element in [ElementType::String, ElementType::Text { len: 2 }, ElementType::Unicode { len: 1 }] {
            let found = attribute(&attributes, Some(element), "_FillValue").unwrap().unwrap();
            assert_eq!((found.element, found.values), chars("x"));
        }
        let attributes = json::read(br#"{"_FillValue":7}"#).unwrap();
        let found = attribute(&attributes, Some(ElementType::Half), "_FillValue").unwrap().unwrap();
        assert_eq!((found.element, found.values), (ElementType::Float, bytes(&[7f32.to_ne_bytes()])));
        for element in [ElementType::Bool, ElementType::Complex { bytes: 8 }] {
            let found = attribute(&attributes, Some(element), "_FillValue").unwrap().unwrap();
            assert_eq!(found.element, ElementType::Int);
        }
    }

    #[test]
    fn the_fill_value_of_an_array_has_its_type() {
        let of = |dtype: &str, fill: &str| {
            let text = format!(
                r#"{{"zarr_format":2,"shape":[1],"chunks":[1],"dtype":"{dtype}","fill_value":null,"compressor":null}}"#
            );
            let attributes = format!(r#"{{"_FillValue":{fill},"x":-1}}"#);
            let array = super::super::read_v2(text.as_bytes(), Some(attributes.as_bytes())).unwrap();
            let named = |name: &str| attribute(&array.attributes, Some(array.element), name).unwrap().unwrap();
            assert_eq!(named("x").element, ElementType::Int);
            named(FILL_VALUE)
        };
        let short = Typed { element: ElementType::Short, values: bytes(&[(-1i16).to_ne_bytes()]) };
        assert_eq!(of(">i2", "-1"), short);
        let nan = Typed { element: ElementType::Float, values: bytes(&[f32::NAN.to_ne_bytes()]) };
        assert_eq!(of("<f4", "\"AAAAAAAA+H8=\""), nan);
        // A number of 2 bytes is one of 4, which netCDF has.
        assert_eq!(of("<f2", "\"AAAAAAAA+H8=\""), nan);
        // What the type does not have stays as it is, and so does what netCDF does not have.
        for (dtype, fill) in [("<i2", "70000"), ("<M8[s]", "5"), ("|S2", "5")] {
            assert_eq!(of(dtype, fill).element, ElementType::Int, "{dtype}");
        }
    }

    #[test]
    fn types_that_netcdf_has_not_are_those_that_the_values_have() {
        let text = r#"{"a":1,"_nczarr_attr":{"types":{"a":"<c8"}}}"#;
        assert_eq!(of(text, "a"), (ElementType::Int, bytes(&[1i32.to_ne_bytes()])));
    }
}
