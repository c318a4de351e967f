//! Attributes, written: from values of netCDF types to JSON.
//!
//! JSON has no types of numbers, so that a number that is read again has the type that follows from its value. Only
//! where netCDF-C's own keys are among the attributes the types are written beside them, and kept.

use super::{dtype, nczarr};
use crate::dataset::numbers_as_json;
use crate::element::{ElementType, Kind};
use crate::error::{ErrorKind, Result};
use crate::json::{At, ByName, Value};
use crate::typed::bytes_of;
use crate::variable::Endian;

const NO_SUCH_NAME: &str = "this name is reserved by the format";

/// The values of an attribute to write.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum AttributeValue<'a> {
    /// A string.
    Text(&'a str),
    /// Several strings.
    Texts(&'a [&'a str]),
    /// Numbers of a type that netCDF has, as bytes in native order. A list of Rust's numbers, or one, is made into it
    /// by `into`, as in `(&[1.5f32, 2.0]).into()`.
    Numbers(ElementType, &'a [u8]),
}

impl<'a> From<&'a str> for AttributeValue<'a> {
    fn from(text: &'a str) -> Self {
        AttributeValue::Text(text)
    }
}

impl<'a> From<&'a [&'a str]> for AttributeValue<'a> {
    fn from(texts: &'a [&'a str]) -> Self {
        AttributeValue::Texts(texts)
    }
}

macro_rules! from_numbers {
    ($($type:ty => $element:ident),*) => {$(
        impl<'a> From<&'a [$type]> for AttributeValue<'a> {
            fn from(values: &'a [$type]) -> Self {
                AttributeValue::Numbers(ElementType::$element, bytes_of(values))
            }
        }

        impl<'a, const N: usize> From<&'a [$type; N]> for AttributeValue<'a> {
            fn from(values: &'a [$type; N]) -> Self {
                values.as_slice().into()
            }
        }

        impl<'a> From<&'a $type> for AttributeValue<'a> {
            fn from(value: &'a $type) -> Self {
                std::slice::from_ref(value).into()
            }
        }
    )*};
}
from_numbers!(
    i8 => Byte, i16 => Short, i32 => Int, i64 => Int64, u8 => UByte, u16 => UShort, u32 => UInt, u64 => UInt64,
    f32 => Float, f64 => Double
);

/// Whether attributes can be numbers of a type.
pub(crate) fn is_number(element: ElementType) -> bool {
    element.netcdf_type() != 0 && matches!(element.kind(), Kind::Signed(_) | Kind::Unsigned(_) | Kind::Float(_))
}

impl AttributeValue<'_> {
    /// The values as JSON: one alone, or a list.
    fn json(self) -> Result<Value> {
        match self {
            AttributeValue::Text(text) => Value::text(text),
            AttributeValue::Texts(texts) => Value::list(texts.iter().map(|text| Value::text(text))),
            AttributeValue::Numbers(element, _) if !is_number(element) => {
                Err(ErrorKind::ElementType.in_object(element))
            }
            AttributeValue::Numbers(element, bytes) if bytes.len() % element.size() != 0 => {
                Err(ErrorKind::Argument("an attribute's bytes must be those of whole numbers").into())
            }
            AttributeValue::Numbers(element, bytes) => numbers_as_json(element, bytes),
        }
    }

    /// The type as netCDF-C writes it beside the attributes.
    fn dtype(self) -> Result<Value> {
        match self {
            AttributeValue::Text(_) => Value::text(">S1"),
            AttributeValue::Texts(texts) => {
                let longest = texts.iter().map(|text| text.len()).max().unwrap_or_default();
                Value::text_of(format_args!("|S{}", longest.max(1)))
            }
            AttributeValue::Numbers(element, _) => dtype::write(element, Endian::Little),
        }
    }
}

/// Sets an attribute among all of them, and its type where types are kept.
///
/// # Errors
/// `Argument` for an empty name and one that formats keep for themselves; `OutOfMemory`.
pub(crate) fn set_attribute(attributes: &mut Value, name: &str, value: AttributeValue<'_>) -> Result<()> {
    if name.is_empty() || nczarr::is_internal_attribute(name) {
        return Err(ErrorKind::Argument(NO_SUCH_NAME).into());
    }
    attributes.set(name, value.json()?)?;
    for names in nczarr::ATTRIBUTES {
        if let Some(types) = attributes.get_mut(names).and_then(|keys| keys.get_mut("types")) {
            types.set(name, value.dtype()?)?;
        }
    }
    Ok(())
}

/// Sets each member of a JSON object as an attribute, as it is. The type of such an attribute follows from its value:
/// none is kept beside it.
///
/// # Errors
/// `Metadata` for JSON that is no object, `Argument` as for [`set_attribute`]; `OutOfMemory`.
pub(crate) fn set_attributes_json(attributes: &mut Value, given: &Value) -> Result<()> {
    At::root(given).check_object()?;
    for (name, _) in given.members() {
        if name.is_empty() || !name.is_unicode() || nczarr::is_internal_attribute(name) {
            return Err(ErrorKind::Argument(NO_SUCH_NAME).in_object(&**name));
        }
    }
    let by_name = ByName::new(given.members())?;
    for names in nczarr::ATTRIBUTES {
        if let Some(types) = attributes.get_mut(names).and_then(|keys| keys.get_mut("types")) {
            *types = types.copied_members(|name| by_name.get(name).is_none())?;
        }
    }
    attributes.update(given)
}

/// Removes an attribute, and its type where types are kept; `false` if there is none of that name.
pub(crate) fn remove_attribute(attributes: &mut Value, name: &str) -> bool {
    let mut is_there = false;
    if nczarr::is_internal_attribute(name) {
        return false;
    }
    while attributes.take(name).is_some() {
        is_there = true;
    }
    for names in nczarr::ATTRIBUTES {
        if let Some(types) = attributes.get_mut(names).and_then(|keys| keys.get_mut("types")) {
            while types.take(name).is_some() {}
        }
    }
    is_there
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Values;
    use crate::json::{compact, read};
    use crate::zarr::attributes::attribute;

    fn set(attributes: &str, name: &str, value: AttributeValue<'_>) -> String {
        let mut attributes = read(attributes.as_bytes()).unwrap();
        set_attribute(&mut attributes, name, value).unwrap();
        compact(&attributes).unwrap()
    }

    #[test]
    fn values_are_json() {
        assert_eq!(set("{}", "a", "m\n".into()), r#"{"a":"m\n"}"#);
        assert_eq!(set(r#"{"a":1,"b":2}"#, "a", (&[1i16, -2]).into()), r#"{"a":[1,-2],"b":2}"#);
        assert_eq!(set("{}", "a", (&0.1f32).into()), r#"{"a":0.10000000149011612}"#);
        assert_eq!(set("{}", "a", (&[f64::NAN, 1e300, -f64::INFINITY]).into()), r#"{"a":[NaN,1e300,-Infinity]}"#);
        assert_eq!(set("{}", "a", (&u64::MAX).into()), r#"{"a":18446744073709551615}"#);
        assert_eq!(set("{}", "a", AttributeValue::Texts(&["x"])), r#"{"a":["x"]}"#);
        assert_eq!(set("{}", "a", AttributeValue::Numbers(ElementType::Double, &[])), r#"{"a":[]}"#);
        let mut attributes = Value::Object(Vec::new());
        for name in ["", "_ARRAY_DIMENSIONS", "_nczarr_attr"] {
            assert!(set_attribute(&mut attributes, name, "x".into()).is_err());
        }
        let mut refused = |element, bytes| {
            set_attribute(&mut attributes, "a", AttributeValue::Numbers(element, bytes)).unwrap_err().kind()
        };
        for element in [ElementType::Half, ElementType::Char, ElementType::String, ElementType::Text { len: 2 }] {
            assert_eq!(refused(element, &[0; 2]), ErrorKind::ElementType);
        }
        assert!(matches!(refused(ElementType::Int, &[0; 6]), ErrorKind::Argument(_)));
    }

    #[test]
    fn types_are_kept_where_there_is_a_key_for_them() {
        let text = set(r#"{"_nczarr_attr":{"types":{"s":"<i4"}}}"#, "s", (&[7i16]).into());
        let mut attributes = read(text.as_bytes()).unwrap();
        let found = attribute(&attributes, None, "s").unwrap().unwrap();
        assert_eq!((found.element, found.values), (ElementType::Short, Values::Bytes(7i16.to_ne_bytes().to_vec())));
        assert!(remove_attribute(&mut attributes, "s") && !remove_attribute(&mut attributes, "s"));
        assert!(!remove_attribute(&mut attributes, "_nczarr_attr"));
        assert_eq!(compact(&attributes).unwrap(), r#"{"_nczarr_attr":{"types":{}}}"#);
    }

    #[test]
    fn json_is_set_as_it_is() {
        let set = |before: &str, given: &str| {
            let mut attributes = read(before.as_bytes()).unwrap();
            let given = read(given.as_bytes()).unwrap();
            set_attributes_json(&mut attributes, &given).map(|()| compact(&attributes).unwrap())
        };
        let given = r#"{"a":{"b":[true,null,1.50,{}]},"c":123456789012345678901234567890,"d":[]}"#;
        assert_eq!(set("{}", given).unwrap(), given);
        assert_eq!(set(r#"{"x":1,"a":2,"y":3}"#, r#"{"n":4,"a":[5]}"#).unwrap(), r#"{"x":1,"a":[5],"y":3,"n":4}"#);
        assert_eq!(set(r#"{"\ud800":1}"#, r#"{"n":1,"n":2}"#).unwrap(), r#"{"\ud800":1,"n":2}"#);
        // A name that is only read like another is none of its members.
        assert_eq!(set(r#"{"\ud800":1}"#, "{\"\u{fffd}\":6}").unwrap(), "{\"\\ud800\":1,\"\u{fffd}\":6}");
        let both = "{\"\u{fffd}\":2,\"\\ud800\":1}";
        assert_eq!(set(both, "{\"\u{fffd}\":6}").unwrap(), both.replace('2', "6"));
        // The type that is written of an attribute is that of its former value.
        let typed = r#"{"_nczarr_attr":{"types":{"a":"<i2","b":"<i4"}},"a":1}"#;
        let due = r#"{"_nczarr_attr":{"types":{"b":"<i4"}},"a":true}"#;
        assert_eq!(set(typed, r#"{"a":true}"#).unwrap(), due);
        for wrong in [r#"{"":1}"#, r#"{"_ARRAY_DIMENSIONS":1}"#, r#"{"_nczarr_attr":1}"#, r#"{"\ud800":1}"#, "[]", "1"]
        {
            assert!(set("{}", wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn each_type_of_numbers_is_told_beside_them() {
        fn check<'a, T>(values: &'a [T], dtype: &str, json: &str)
        where
            AttributeValue<'a>: From<&'a [T]>,
        {
            let text = set(r#"{"_nczarr_attr":{"types":{}}}"#, "a", values.into());
            assert_eq!(text, format!(r#"{{"_nczarr_attr":{{"types":{{"a":"{dtype}"}}}},"a":{json}}}"#));
        }
        check(&[i8::MIN, 2], "|i1", "[-128,2]");
        check(&[i16::MIN, 2], "<i2", "[-32768,2]");
        check(&[i32::MIN], "<i4", "-2147483648");
        check(&[i64::MIN], "<i8", "-9223372036854775808");
        check(&[u8::MAX], "|u1", "255");
        check(&[u16::MAX], "<u2", "65535");
        check(&[u32::MAX, 0], "<u4", "[4294967295,0]");
        check(&[u64::MAX], "<u8", "18446744073709551615");
        check(&[0.5f32], "<f4", "0.5");
        check(&[0.25f64], "<f8", "0.25");
        check(&["ab", "c"], "|S2", r#"["ab","c"]"#);
    }
}
