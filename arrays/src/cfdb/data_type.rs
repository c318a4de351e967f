//! The types of cfdb: what elements stand for, and how they are stored.
//!
//! Numbers and times can be packed in integers: what is stored is `(value - offset) * 10^precision`, rounded, and one
//! integer stands for no value. They are if the metadata say all that this needs, as in cfdb's `dtypes.py`: for
//! floating-point numbers the type that is stored, precision, offset and fill value; for integers and times, which have
//! no precision, the type and the offset.

use crate::alloc;
use crate::element::{ElementType, Kind as ByteKind, TYPES, TimeUnit, TypeRow, native_word};
use crate::error::{ErrorKind, Result};
use crate::json::{At, Value};

/// What a variable's elements are.
#[derive(Debug)]
pub(super) struct DataType {
    /// The type that is stored.
    pub(super) stored: ElementType,
    /// What an absent chunk holds: one element, in native byte order; `None` for zeros.
    pub(super) fill_value: Option<Vec<u8>>,
    /// What times count, if it can be told in the words of the CF conventions.
    pub(super) time_unit: Option<&'static str>,
    pub(super) packing: Option<Packing>,
}

/// How packed elements are turned into what they stand for: divided by the factor, plus the offset.
#[derive(Debug)]
pub(super) struct Packing {
    /// The name of the type that they stand for.
    pub(super) name: String,
    pub(super) factor: Option<f64>,
    pub(super) offset: Value,
    /// What stands for no value.
    pub(super) fill_value: Option<i128>,
}

/// The type that the metadata say.
///
/// # Errors
/// `Unsupported` for texts and geometries, `ElementType` for others that the library does not have, `Metadata`.
pub(super) fn data_type(at: &At<'_>) -> Result<DataType> {
    let name = at.require("name")?;
    let text = name.text()?;
    if text == "str" {
        return Err(name.unsupported("variable-length strings (str)"));
    }
    if ["point", "line", "linestring", "polygon"].iter().any(|geometry| text.eq_ignore_ascii_case(geometry)) {
        return Err(name.unsupported("geometries (Point, LineString, Polygon)"));
    }
    let element = element(text).ok_or_else(|| name.error(ErrorKind::ElementType))?;
    let packed = at.given("dtype_encoded").zip(at.given("offset"));
    let (precision, fill_value) = (at.given("precision"), at.given("fillvalue"));
    let time_unit = if let ElementType::Time { unit, count: 1, .. } = element { words(unit) } else { None };
    let (factor, fill_value) = match kind(element) {
        Kind::Float => match precision.zip(fill_value) {
            Some((precision, fill)) if packed.is_some() => (Some(factor(&precision)?), Some(integer(&fill)?)),
            _ => return Ok(DataType { stored: element, fill_value: nan(element)?, time_unit, packing: None }),
        },
        // cfdb takes 0 for no time, whatever the metadata say.
        Kind::Time => (None, Some(0)),
        Kind::Integer => (None, fill_value.map(|fill| integer(&fill)).transpose()?),
        Kind::Bool => return Ok(DataType { stored: element, fill_value: None, time_unit, packing: None }),
    };
    let Some((encoded, offset)) = packed else {
        return Ok(DataType { stored: element, fill_value: not_a_time(element)?, time_unit, packing: None });
    };
    let stored = self::element(encoded.text()?).filter(|element| matches!(kind(*element), Kind::Integer));
    let stored = stored.ok_or_else(|| encoded.unsupported("packed elements whose stored type is not an integer"))?;
    if offset.value().as_f64().is_none() {
        return Err(offset.malformed("expected a number"));
    }
    let fill_bytes = fill_value.map(|value| bytes(value, stored)).unwrap_or(Some(Ok(Vec::new())));
    let fill_bytes = fill_bytes.ok_or_else(|| at.malformed("the fill value does not fit the stored type"))??;
    let packing = Packing { name: alloc::text(text)?, factor, offset: offset.value().copied()?, fill_value };
    let fill_value = (!fill_bytes.is_empty()).then_some(fill_bytes);
    Ok(DataType { stored, fill_value, time_unit, packing: Some(packing) })
}

enum Kind {
    Bool,
    Integer,
    Float,
    Time,
}

fn kind(element: ElementType) -> Kind {
    match element.kind() {
        ByteKind::Bool => Kind::Bool,
        ByteKind::Float(_) => Kind::Float,
        ByteKind::Time => Kind::Time,
        _ => Kind::Integer,
    }
}

/// The type that numpy calls so, if cfdb has it.
fn element(name: &str) -> Option<ElementType> {
    let row = TYPES.iter().find(|row| row.name == name && row.v2 != row.name);
    let is_number = |row: &&TypeRow| !matches!(row.kind, ByteKind::Char | ByteKind::Complex(_) | ByteKind::String);
    row.filter(is_number).map(|row| row.element).or_else(|| time(name))
}

/// The type `datetime64[UNIT]`, with a count before the unit or none.
fn time(name: &str) -> Option<ElementType> {
    let unit = name.strip_prefix("datetime64[")?.strip_suffix(']')?;
    let letters = unit.find(|c: char| !c.is_ascii_digit())?;
    let (count, unit) = unit.split_at(letters);
    let count = if count.is_empty() { 1 } else { count.parse().ok().filter(|count| *count > 0)? };
    let unit = TimeUnit::of(unit).filter(|unit| *unit != TimeUnit::Generic)?;
    Some(ElementType::Time { unit, count, is_delta: false })
}

/// What a unit of time is called in the CF conventions.
fn words(unit: TimeUnit) -> Option<&'static str> {
    Some(match unit {
        TimeUnit::Month => "months",
        TimeUnit::Day => "days",
        TimeUnit::Hour => "hours",
        TimeUnit::Minute => "minutes",
        TimeUnit::Second => "seconds",
        TimeUnit::Millisecond => "milliseconds",
        TimeUnit::Microsecond => "microseconds",
        TimeUnit::Nanosecond => "nanoseconds",
        _ => return None,
    })
}

/// 10 to the power of a precision.
fn factor(precision: &At<'_>) -> Result<f64> {
    let factor = match (precision.value().as_i64(), precision.value().as_f64()) {
        (Some(power), _) => crate::object::Name::of(format_args!("1e{power}"))?.parse().ok(),
        (None, power) => power.map(|power| 10f64.powf(power)),
    };
    factor.filter(|factor: &f64| factor.is_normal()).ok_or_else(|| precision.malformed("the precision is invalid"))
}

fn integer(at: &At<'_>) -> Result<i128> {
    let number = at.value().as_number().and_then(|number| number.parse().ok());
    number.ok_or_else(|| at.malformed("expected an integer"))
}

/// An integer as an element of this type, in native byte order; `None` if it does not fit.
fn bytes(value: i128, element: ElementType) -> Option<Result<Vec<u8>>> {
    element.integers().filter(|range| range.contains(&value))?;
    let word = native_word(value as u64, element.size());
    Some(alloc::copied(word.get(..element.size())?).map_err(Into::into))
}

/// What numpy calls nan.
fn nan(element: ElementType) -> Result<Option<Vec<u8>>> {
    let ByteKind::Float(format) = element.kind() else { return Ok(None) };
    let word = native_word(format.nan().unwrap_or(0), element.size());
    Ok(Some(alloc::copied(word.get(..element.size()).ok_or(ErrorKind::Internal)?)?))
}

/// What numpy calls NaT; nothing for types that are no times.
fn not_a_time(element: ElementType) -> Result<Option<Vec<u8>>> {
    let is_time = matches!(kind(element), Kind::Time);
    Ok(is_time.then(|| alloc::copied(&i64::MIN.to_ne_bytes())).transpose()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    fn with<T>(text: &str, look: impl FnOnce(Result<DataType>) -> T) -> T {
        let value = json::read(text.as_bytes()).unwrap();
        look(data_type(&At::root(&value)))
    }

    #[test]
    fn types_are_packed_if_all_is_told() {
        let f = r#"{"name":"float32","precision":2,"dtype_encoded":"uint16","offset":-1.5,"fillvalue":7}"#;
        with(f, |found| {
            let found = found.unwrap();
            assert_eq!((found.stored, found.fill_value), (ElementType::UShort, Some(7u16.to_ne_bytes().to_vec())));
            let packing = found.packing.unwrap();
            assert_eq!((&packing.name[..], packing.factor, packing.fill_value), ("float32", Some(100.0), Some(7)));
            assert_eq!(packing.offset.as_f64(), Some(-1.5));
        });
        for without in [r#","fillvalue":7"#, r#""precision":2,"#, r#""offset":-1.5,"#, r#""dtype_encoded":"uint16","#] {
            with(&f.replace(without, ""), |found| {
                let found = found.unwrap();
                assert_eq!((found.stored, found.packing.is_none()), (ElementType::Float, true), "{without}");
                assert!(f32::from_ne_bytes(found.fill_value.unwrap().try_into().unwrap()).is_nan());
            });
        }
        let fill = |text: &str| with(text, |found| found.map(|found| (found.stored.to_string(), found.fill_value)));
        let of = |name: &str, bytes: &[u8]| Ok((name.to_owned(), (!bytes.is_empty()).then(|| bytes.to_vec())));
        assert_eq!(fill(r#"{"name":"int64","dtype_encoded":"uint8","offset":5}"#), of("uint8", &[]));
        assert_eq!(fill(r#"{"name":"int64","dtype_encoded":"uint8","offset":5,"fillvalue":3}"#), of("uint8", &[3]));
        assert_eq!(fill(r#"{"name":"int64","dtype_encoded":"uint8"}"#), of("int64", &[]));
        let time = r#"{"name":"datetime64[D]","dtype_encoded":"int16","offset":5,"fillvalue":3}"#;
        assert_eq!(fill(time), of("int16", &[0, 0]));
        assert_eq!(fill(r#"{"name":"datetime64[15m]"}"#), of("datetime64[15m]", &i64::MIN.to_ne_bytes()));
        assert_eq!(fill(r#"{"name":"bool","dtype_encoded":"int8","offset":1}"#), of("bool", &[]));
        assert_eq!(fill(r#"{"name":"float16"}"#), of("float16", &0x7e00u16.to_ne_bytes()));
    }

    #[test]
    fn what_cannot_be_read_is_refused_by_name() {
        let words = |text: &str| with(text, |found| found.unwrap_err().to_string());
        assert!(words(r#"{"name":"str"}"#).contains("str"));
        assert!(words(r#"{"name":"Point","precision":3}"#).contains("Point"));
        for name in ["float128", "complex64", "datetime64", "datetime64[]", "datetime64[0s]", "timedelta64[s]", ""] {
            assert!(words(&format!(r#"{{"name":"{name}"}}"#)).contains("$.name: elements of this type"), "{name}");
        }
        assert!(words("{}").contains("$.name"));
        for (encoded, offset, precision, fill) in [
            (r#""uint8""#, "0", "1", "256"),
            (r#""uint8""#, "0", "1", "1.5"),
            (r#""float32""#, "0", "1", "0"),
            (r#""uint8""#, "true", "1", "0"),
            (r#""uint8""#, "0", "400", "0"),
            ("8", "0", "1", "0"),
        ] {
            let text = format!(
                r#"{{"name":"float64","dtype_encoded":{encoded},"offset":{offset},
                "precision":{precision},"fillvalue":{fill}}}"#
            );
            assert!(with(&text, |found| found.is_err()), "{text}");
        }
    }

    #[test]
    fn fill_values_have_the_type_that_is_stored() {
        let fill = |encoded: &str, value: i128| {
            let text = format!(
                r#"{{"name":"float64","dtype_encoded":"{encoded}","offset":0,"precision":1,"fillvalue":{value}}}"#
            );
            with(&text, |found| found.ok().map(|found| found.fill_value.unwrap()))
        };
        macro_rules! check {
            ($($name:literal $type:ty),*) => {$(
                let (least, most) = (<$type>::MIN, <$type>::MAX);
                assert_eq!(fill($name, least.into()), Some(least.to_ne_bytes().to_vec()));
                assert_eq!(fill($name, most.into()), Some(most.to_ne_bytes().to_vec()));
                assert_eq!(fill($name, i128::from(most) + 1), None);
                assert_eq!(fill($name, i128::from(least) - 1), None);
            )*};
        }
        check!("int8" i8, "int16" i16, "int32" i32, "int64" i64, "uint8" u8, "uint16" u16, "uint32" u32, "uint64" u64);
        with(r#"{"name":"float64"}"#, |found| {
            assert_eq!(found.unwrap().fill_value, Some(0x7ff8_0000_0000_0000u64.to_ne_bytes().to_vec()));
        });
        let half = r#"{"name":"float64","dtype_encoded":"int8","offset":0,"precision":0.5,"fillvalue":0}"#;
        with(half, |found| assert_eq!(found.unwrap().packing.unwrap().factor, Some(10f64.sqrt())));
    }

    #[test]
    fn units_of_time_have_names_in_the_cf_conventions() {
        let named = ["M", "D", "h", "m", "s", "ms", "us", "ns", "Y"].map(|unit| words(TimeUnit::of(unit).unwrap()));
        let names = ["months", "days", "hours", "minutes", "seconds", "milliseconds", "microseconds", "nanoseconds"];
        assert_eq!(named[..8], names.map(Some));
        assert_eq!(named[8], None);
    }
}
