//! The attributes of an array or group as those of another one.

use super::Array;
use super::description::ArrayFormat;
use crate::alloc;
use crate::dataset::{Attribute, Values as Stored, lossy_text};
use crate::element::{ElementType, Kind};
use crate::error::Result;
use crate::json;
use crate::zarr::{self, AttributeValue, FILL_VALUE};

/// The attributes of an array or group for a copy of it: those that are JSON, and those that are set one by one then.
/// In Zarr that is `_FillValue` at most. netCDF-C keeps the types of all, and knows no others.
pub struct RetypedAttributes<'a> {
    json: String,
    list: Vec<(&'a str, Values<'a>)>,
}

/// The values of an attribute.
enum Values<'a> {
    Text(String),
    Texts(Vec<&'a str>),
    Numbers(ElementType, Vec<u8>),
}

/// The fill value of an array, if it marks missing elements as `_FillValue` does elsewhere. To xarray it does so in
/// Zarr v2, where xarray reads arrays whose dimensions have names.
pub(super) fn marking_fill_value(array: &Array) -> Option<&[u8]> {
    let mut dimensions = 0..array.variable().dimensions().len();
    let is_xarray_s =
        array.format() == zarr::Format::V2.name(false) && dimensions.all(|d| array.dimension_name(d).is_some());
    array.fill_value().filter(|_| is_xarray_s)
}

impl<'a> RetypedAttributes<'a> {
    /// The attributes of an array for one in a format. `_FillValue` is a number in Zarr v2, and in Zarr v3 what xarray
    /// reads there: a text that stands for a floating-point number, or an integer. Of texts, where xarray refuses it,
    /// only the metadata have the fill value.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn of(source: &'a Array, format: ArrayFormat) -> Result<Self> {
        if format == ArrayFormat::NcZarr {
            return RetypedAttributes::for_netcdf(source.attributes());
        }
        let (element, is_v3) = (*source.element_type(), format == ArrayFormat::ZarrV3);
        let is_left_out = is_v3 && matches!(element.kind(), Kind::Char | Kind::Text | Kind::Unicode | Kind::String);
        let own = zarr::own_attributes(&json::read(source.attributes_json().as_bytes())?)?;
        let own = own.copied_members(|name| !is_left_out || name != FILL_VALUE)?;
        let mut list = Vec::new();
        let told = source.attributes().iter().find(|attribute| attribute.name() == FILL_VALUE);
        let number = match told.filter(|_| !is_left_out) {
            Some(attribute) => fill_number(attribute, element, is_v3)?,
            None => match marking_fill_value(source).filter(|_| is_v3) {
                Some(bytes) => fill_as_v3(element, bytes, element)?,
                None => None,
            },
        };
        if let Some(number) = number {
            alloc::push(&mut list, (FILL_VALUE, number))?;
        }
        Ok(RetypedAttributes { json: json::compact(&own)?, list })
    }

    /// All the attributes of an array or a group with their types.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn for_netcdf(all: &'a [Attribute]) -> Result<Self> {
        let list = alloc::try_collected(all.iter().map(|one| Ok((one.name(), Values::of(one)?))))?;
        Ok(RetypedAttributes { json: String::new(), list })
    }

    /// The attributes that are JSON, as
    /// [`Description::with_attributes_json`](super::Description::with_attributes_json) takes them.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// The others, as [`Description::with_attributes`](super::Description::with_attributes) takes them.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn values(&self) -> Result<Vec<(&str, AttributeValue<'_>)>> {
        Ok(alloc::collected(self.list.iter().map(|(name, values)| (*name, values.written())))?)
    }
}

impl<'a> Values<'a> {
    fn of(attribute: &'a Attribute) -> Result<Self> {
        Ok(match &attribute.values {
            Stored::Texts(texts) => Values::Texts(alloc::collected(texts.iter().map(String::as_str))?),
            Stored::Bytes(bytes) if zarr::is_number(attribute.element) => {
                Values::Numbers(attribute.element, alloc::copied(bytes)?)
            }
            Stored::Bytes(bytes) => Values::Text(lossy_text(bytes)?),
        })
    }

    fn written(&self) -> AttributeValue<'_> {
        match self {
            Values::Text(text) => AttributeValue::Text(text),
            Values::Texts(texts) => AttributeValue::Texts(texts),
            Values::Numbers(element, bytes) => AttributeValue::Numbers(*element, bytes),
        }
    }
}

/// The fill value of an array with such elements, if it is a number and is another JSON there.
fn fill_number<'a>(attribute: &'a Attribute, element: ElementType, is_v3: bool) -> Result<Option<Values<'a>>> {
    let Stored::Bytes(bytes) = &attribute.values else { return Ok(None) };
    if is_v3 {
        return fill_as_v3(attribute.element, bytes, element);
    }
    if attribute.element.to_f64(bytes).is_some() { Values::of(attribute).map(Some) } else { Ok(None) }
}

/// A fill value of a type, if it is a number, as Zarr v3 has it for an array with such elements.
fn fill_as_v3<'a>(own: ElementType, bytes: &[u8], element: ElementType) -> Result<Option<Values<'a>>> {
    let Some(number) = own.to_f64(bytes) else { return Ok(None) };
    if matches!(element, ElementType::Half | ElementType::Float | ElementType::Double) {
        return fill_text(number).map(Some);
    }
    // What the elements cannot be stays as it is.
    let whole = own.to_integer(bytes).or(Some(number as i128).filter(|_| number.fract() == 0.0));
    let whole = whole.filter(|whole| element.integers().is_some_and(|all| all.contains(whole)));
    let integer = |whole: i128| {
        // A positive integer has the same bytes, signed or not.
        let kind = if i64::try_from(whole).is_ok() { ElementType::Int64 } else { ElementType::UInt64 };
        Ok(Values::Numbers(kind, alloc::copied(&(whole as u64).to_ne_bytes())?))
    };
    whole.map(integer).transpose()
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
