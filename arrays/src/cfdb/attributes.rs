//! The attributes of a variable: those that the user has written, and what the metadata say of it, in the words of the
//! netCDF and CF conventions.
//!
//! | attribute | of | value |
//! |---|---|---|
//! | `scale_factor` | packed floating-point numbers | one over the factor that the values were multiplied with |
//! | `add_offset` | packed elements | the offset |
//! | `_FillValue` | packed elements | what stands for no value |
//! | `dtype_decoded` | packed elements | the type that they stand for, such as `float32` |
//! | `units`, `calendar` | times | `days since 1970-01-01`, `proleptic_gregorian` |
//! | `units`, `axis` | all | what the metadata say, if the user has not |
//!
//! Those of packed elements and of times say what the stored integers mean, so they take the place of the user's.

use super::data_type::Packing;
use super::metadata::VariableMetadata;
use crate::alloc;
use crate::dataset::float_as_json;
use crate::error::Result;
use crate::json::Value;

/// The attributes of a variable, of which the user has written these.
pub(super) fn attributes(mut all: Value, variable: &VariableMetadata) -> Result<Value> {
    if let Some(Packing { name, factor, offset, fill_value }) = &variable.data_type.packing {
        if let Some(scale) = factor.map(|factor| 1.0 / factor) {
            all.set("scale_factor", float_as_json(scale)?)?;
        }
        all.set("add_offset", offset.copied()?)?;
        if let Some(fill_value) = fill_value {
            all.set("_FillValue", Value::number(fill_value)?)?;
        }
        all.set("dtype_decoded", Value::text(name)?)?;
    }
    if let Some(unit) = variable.data_type.time_unit {
        all.set("units", Value::text_of(format_args!("{unit} since 1970-01-01"))?)?;
        all.set("calendar", Value::text("proleptic_gregorian")?)?;
    }
    for (name, text) in [("units", &variable.units), ("axis", &variable.axis)] {
        if let (Some(text), None) = (text, all.get(name)) {
            let mut text = alloc::text(text)?;
            if name == "axis" {
                text.make_ascii_uppercase();
            }
            all.push(name, Value::Text(text.into()))?;
        }
    }
    Ok(all)
}
