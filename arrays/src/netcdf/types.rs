//! The types of values, and what stands where nothing was written.

use crate::dataset::{Attribute, Values};
use crate::element::ElementType;
use crate::error::{ErrorKind, Result};

const FILL_VALUE: &str = "_FillValue";

/// The type with this number. CDF-1 and CDF-2 have the first six.
pub(super) fn element(number: u32, is_cdf5: bool) -> Result<ElementType> {
    const UNKNOWN: ErrorKind = ErrorKind::Metadata("the type is not one of this format's");
    let most = if is_cdf5 { 11 } else { 6 };
    let number = i32::try_from(number).ok().filter(|number| *number <= most);
    Ok(number.and_then(ElementType::of_netcdf_type).ok_or(UNKNOWN)?)
}

/// What stands where nothing was written, in native byte order: the attribute `_FillValue` if it is one value of the
/// variable's type, else netCDF's default.
pub(super) fn fill_value(attributes: &[Attribute], element: ElementType) -> Result<&[u8]> {
    let attribute = attributes.iter().find(|attribute| attribute.name == FILL_VALUE);
    match attribute.filter(|attribute| attribute.element == element).map(|attribute| &attribute.values) {
        Some(Values::Bytes(bytes)) if bytes.len() == element.size() => Ok(bytes),
        _ => default_fill(element).ok_or_else(|| ErrorKind::Internal.into()),
    }
}

/// netCDF's default, in native byte order: NC_FILL_BYTE and so on.
fn default_fill(element: ElementType) -> Option<&'static [u8]> {
    const FLOAT: f32 = f32::from_bits(0x7cf0_0000);
    const DOUBLE: f64 = f64::from_bits(0x479e_0000_0000_0000);
    Some(match element {
        ElementType::Byte => const { &(-127i8).to_ne_bytes() },
        ElementType::Char => &[0],
        ElementType::Short => const { &(-32767i16).to_ne_bytes() },
        ElementType::Int => const { &(-2_147_483_647i32).to_ne_bytes() },
        ElementType::Float => const { &FLOAT.to_ne_bytes() },
        ElementType::Double => const { &DOUBLE.to_ne_bytes() },
        ElementType::UByte => &[u8::MAX],
        ElementType::UShort => const { &u16::MAX.to_ne_bytes() },
        ElementType::UInt => const { &u32::MAX.to_ne_bytes() },
        ElementType::Int64 => const { &(-9_223_372_036_854_775_806i64).to_ne_bytes() },
        ElementType::UInt64 => const { &18_446_744_073_709_551_614u64.to_ne_bytes() },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_written_has_the_values_of_netcdf() {
        for (element, bytes) in [
            (ElementType::Byte, (-127i8).to_ne_bytes().to_vec()),
            (ElementType::Char, vec![0]),
            (ElementType::Short, (-32767i16).to_ne_bytes().to_vec()),
            (ElementType::Int, (-2_147_483_647i32).to_ne_bytes().to_vec()),
            (ElementType::Float, 9.969_21e36f32.to_ne_bytes().to_vec()),
            (ElementType::Double, 9.969_209_968_386_869e36f64.to_ne_bytes().to_vec()),
            (ElementType::UByte, vec![255]),
            (ElementType::UShort, 65535u16.to_ne_bytes().to_vec()),
            (ElementType::UInt, 4_294_967_295u32.to_ne_bytes().to_vec()),
            (ElementType::Int64, (-9_223_372_036_854_775_806i64).to_ne_bytes().to_vec()),
            (ElementType::UInt64, 18_446_744_073_709_551_614u64.to_ne_bytes().to_vec()),
        ] {
            assert_eq!(fill_value(&[], element).unwrap(), bytes, "{element}");
        }
    }

    #[test]
    fn a_fill_value_is_one_value_of_the_type() {
        let of = |name: &str, element, bytes: &[u8]| {
            let attribute = Attribute { name: name.to_owned(), element, values: Values::Bytes(bytes.to_vec()) };
            fill_value(&[attribute], ElementType::Short).unwrap().to_vec()
        };
        let default = (-32767i16).to_ne_bytes();
        assert_eq!(of("_FillValue", ElementType::Short, &[1, 2]), [1, 2]);
        assert_eq!(of("_FillValue", ElementType::Short, &[1, 2, 3, 4]), default);
        assert_eq!(of("_FillValue", ElementType::Short, &[]), default);
        assert_eq!(of("_FillValue", ElementType::Char, &[1, 2]), default);
        assert_eq!(of("missing_value", ElementType::Short, &[1, 2]), default);
    }

    #[test]
    fn other_types_have_no_fill_value() {
        assert_eq!((default_fill(ElementType::String), default_fill(ElementType::Bool)), (None, None));
    }
}
