//! The attributes of an array or group as those of another one.

use super::description::ArrayFormat;
use crate::alloc;
use crate::dataset::{Attribute, Values as Stored, lossy_text};
use crate::element::ElementType;
use crate::error::Result;
use crate::zarr::{self, AttributeValue, FILL_VALUE};

/// The attributes of an array or group that are set one by one in a copy of it. In Zarr that is `_FillValue`: all
/// others are JSON there, and are copied as that. netCDF-C keeps the types of all, and knows no others.
pub struct RetypedAttributes<'a>(Vec<(&'a str, Values<'a>)>);

/// The values of an attribute.
enum Values<'a> {
    Text(String),
    Texts(Vec<&'a str>),
    Byte(Vec<i8>),
    Short(Vec<i16>),
    Int(Vec<i32>),
    Int64(Vec<i64>),
    UByte(Vec<u8>),
    UShort(Vec<u16>),
    UInt(Vec<u32>),
    UInt64(Vec<u64>),
    Float(Vec<f32>),
    Double(Vec<f64>),
}

impl<'a> RetypedAttributes<'a> {
    /// These attributes for an array or group in a format. `_FillValue` is a number in Zarr v2, and in Zarr v3 what
    /// xarray reads there.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(all: &'a [Attribute], format: ArrayFormat) -> Result<Self> {
        let mut list = Vec::new();
        for attribute in all.iter().filter(|attribute| format == ArrayFormat::NcZarr || attribute.name() == FILL_VALUE)
        {
            let values = match Values::of(attribute)? {
                Values::Float(values) if format == ArrayFormat::ZarrV3 => {
                    fill_text(values.first().copied().map_or(f64::NAN, f64::from))?
                }
                Values::Double(values) if format == ArrayFormat::ZarrV3 => {
                    fill_text(values.first().copied().unwrap_or(f64::NAN))?
                }
                values => values,
            };
            alloc::push(&mut list, (attribute.name(), values))?;
        }
        Ok(RetypedAttributes(list))
    }

    /// The attributes, as [`Description::with_attributes`](super::Description::with_attributes) takes them.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn values(&self) -> Result<Vec<(&str, AttributeValue<'_>)>> {
        Ok(alloc::collected(self.0.iter().map(|(name, values)| (*name, values.written())))?)
    }
}

impl<'a> Values<'a> {
    fn of(attribute: &'a Attribute) -> Result<Self> {
        let bytes = match &attribute.values {
            Stored::Texts(texts) => return Ok(Values::Texts(alloc::collected(texts.iter().map(String::as_str))?)),
            Stored::Bytes(bytes) => bytes,
        };
        Ok(match attribute.element {
            ElementType::Byte => Values::Byte(words(bytes, i8::from_ne_bytes)?),
            ElementType::Short => Values::Short(words(bytes, i16::from_ne_bytes)?),
            ElementType::Int => Values::Int(words(bytes, i32::from_ne_bytes)?),
            ElementType::Int64 => Values::Int64(words(bytes, i64::from_ne_bytes)?),
            ElementType::UByte => Values::UByte(alloc::copied(bytes)?),
            ElementType::UShort => Values::UShort(words(bytes, u16::from_ne_bytes)?),
            ElementType::UInt => Values::UInt(words(bytes, u32::from_ne_bytes)?),
            ElementType::UInt64 => Values::UInt64(words(bytes, u64::from_ne_bytes)?),
            ElementType::Float => Values::Float(words(bytes, f32::from_ne_bytes)?),
            ElementType::Double => Values::Double(words(bytes, f64::from_ne_bytes)?),
            _ => Values::Text(lossy_text(bytes)?),
        })
    }

    fn written(&self) -> AttributeValue<'_> {
        match self {
            Values::Text(text) => AttributeValue::Text(text),
            Values::Texts(texts) => AttributeValue::Texts(texts),
            Values::Byte(values) => AttributeValue::Byte(values),
            Values::Short(values) => AttributeValue::Short(values),
            Values::Int(values) => AttributeValue::Int(values),
            Values::Int64(values) => AttributeValue::Int64(values),
            Values::UByte(values) => AttributeValue::UByte(values),
            Values::UShort(values) => AttributeValue::UShort(values),
            Values::UInt(values) => AttributeValue::UInt(values),
            Values::UInt64(values) => AttributeValue::UInt64(values),
            Values::Float(values) => AttributeValue::Float(values),
            Values::Double(values) => AttributeValue::Double(values),
        }
    }
}

fn words<const N: usize, T>(bytes: &[u8], word: impl Fn([u8; N]) -> T) -> Result<Vec<T>> {
    let one = |bytes: &[u8]| {
        let mut own = [0; N];
        own.copy_from_slice(bytes);
        word(own)
    };
    Ok(alloc::collected(bytes.chunks_exact(N).map(one))?)
}

/// A fill value as xarray writes it in Zarr v3: the base64 of a little-endian double.
fn fill_text<'a>(value: f64) -> Result<Values<'a>> {
    Ok(Values::Text(zarr::base64_of(&value.to_le_bytes())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xarray_agrees() {
        // base64.standard_b64encode(struct.pack("<d", value))
        for (value, expected) in [(1.0, "AAAAAAAA8D8="), (-9.999999790214768e33, "AAAA4JvQ/sY="), (0.5, "AAAAAAAA4D8=")]
        {
            let Values::Text(text) = fill_text(value).unwrap() else { panic!() };
            assert_eq!(text, expected);
        }
    }
}
