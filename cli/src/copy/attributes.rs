//! The attributes of an array or group as those of another one.

use nczchunk::{ArrayFormat, Attribute, AttributeValue, AttributeValues, ElementType};

/// The attribute that formats know.
pub(super) const FILL_VALUE: &str = "_FillValue";

/// Attributes that are written one by one. Of Zarr arrays these are all that the library has values of its own for: all
/// others are JSON there, and are copied as that.
pub(super) struct Attributes<'a>(Vec<(&'a str, Values<'a>)>);

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

impl<'a> Attributes<'a> {
    /// These attributes, for an array or group in this format. netCDF-C keeps the types of all attributes, and knows no
    /// other attributes than these; in other formats those are set that `is_set` names. `_FillValue` is a number in
    /// Zarr v2, and in Zarr v3 what xarray reads there.
    pub(super) fn of(all: &'a [Attribute], format: ArrayFormat, is_set: impl Fn(&str) -> bool) -> Self {
        let wanted = all.iter().filter(|attribute| format == ArrayFormat::NcZarr || is_set(attribute.name()));
        let values = |attribute: &'a Attribute| match Values::of(attribute) {
            Values::Float(values) if format == ArrayFormat::ZarrV3 => fill_text(values.first().copied().map(f64::from)),
            Values::Double(values) if format == ArrayFormat::ZarrV3 => fill_text(values.first().copied()),
            values => values,
        };
        Attributes(wanted.map(|attribute| (attribute.name(), values(attribute))).collect())
    }

    /// The attributes.
    pub(super) fn values(&self) -> Vec<(&str, AttributeValue<'_>)> {
        self.0.iter().map(|(name, values)| (*name, values.written())).collect()
    }
}

impl<'a> Values<'a> {
    fn of(attribute: &'a Attribute) -> Self {
        let bytes = match attribute.values() {
            AttributeValues::Texts(texts) => return Values::Texts(texts.iter().map(String::as_str).collect()),
            AttributeValues::Bytes(bytes) => bytes,
        };
        match attribute.element_type() {
            ElementType::Byte => Values::Byte(words(bytes, i8::from_ne_bytes)),
            ElementType::Short => Values::Short(words(bytes, i16::from_ne_bytes)),
            ElementType::Int => Values::Int(words(bytes, i32::from_ne_bytes)),
            ElementType::Int64 => Values::Int64(words(bytes, i64::from_ne_bytes)),
            ElementType::UByte => Values::UByte(bytes.to_vec()),
            ElementType::UShort => Values::UShort(words(bytes, u16::from_ne_bytes)),
            ElementType::UInt => Values::UInt(words(bytes, u32::from_ne_bytes)),
            ElementType::UInt64 => Values::UInt64(words(bytes, u64::from_ne_bytes)),
            ElementType::Float => Values::Float(words(bytes, f32::from_ne_bytes)),
            ElementType::Double => Values::Double(words(bytes, f64::from_ne_bytes)),
            _ => Values::Text(String::from_utf8_lossy(bytes).into_owned()),
        }
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

fn words<const N: usize, T>(bytes: &[u8], word: impl Fn([u8; N]) -> T) -> Vec<T> {
    let one = |bytes: &[u8]| {
        let mut own = [0; N];
        own.copy_from_slice(bytes);
        word(own)
    };
    bytes.chunks_exact(N).map(one).collect()
}

/// A fill value as xarray writes it in Zarr v3: the base64 of a little-endian double.
fn fill_text<'a>(value: Option<f64>) -> Values<'a> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bytes = value.unwrap_or(f64::NAN).to_le_bytes();
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let byte = |i: usize| u32::from(three.get(i).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for i in 0..=three.len() {
            text.push(char::from(DIGITS[(bits >> (18 - 6 * i) & 63) as usize]));
        }
        text.extend(std::iter::repeat_n('=', 3 - three.len()));
    }
    Values::Text(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xarray_agrees() {
        // base64.standard_b64encode(struct.pack("<d", value))
        for (value, expected) in [(1.0, "AAAAAAAA8D8="), (-9.999999790214768e33, "AAAA4JvQ/sY="), (0.5, "AAAAAAAA4D8=")]
        {
            let Values::Text(text) = fill_text(Some(value)) else { panic!() };
            assert_eq!(text, expected);
        }
    }
}
