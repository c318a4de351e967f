//! Which elements stand for no value.

use nczchunk::{Array, AttributeValues, ElementType};

use crate::element::{self, Number};

/// The elements of an array that stand for no value: those that are its fill value or that the attributes `_FillValue`
/// and `missing_value` tell. A fill value of zeros, which formats have by default, is a value unless they tell it.
#[derive(Debug)]
pub struct Missing {
    element: ElementType,
    /// The type as which elements are read: another one if `_Unsigned` says so.
    read_as: ElementType,
    values: Vec<Vec<u8>>,
    has_nan: bool,
}

impl Missing {
    /// No elements of an array.
    pub fn none(array: &Array) -> Self {
        let element = *array.element_type();
        Missing { element, read_as: element, values: Vec::new(), has_nan: false }
    }

    /// Those of an array whose elements are read as this type, which has as many bytes as the stored one.
    pub fn of(array: &Array, read_as: ElementType) -> Self {
        let element = *array.element_type();
        let mut missing = Missing { read_as, ..Missing::none(array) };
        // netCDF has no fill value of its own for bytes.
        let is_told = !(element.size() == 1 && array.format() == "netCDF classic");
        let fill_value = array.fill_value().filter(|value| is_told && value.len() == element.size());
        if let Some(value) = fill_value.filter(|value| value.iter().any(|byte| *byte != 0)) {
            missing.add(value.to_vec());
        }
        let is_named = |name: &str| name == "_FillValue" || name == "missing_value";
        for attribute in array.attributes().iter().filter(|attribute| is_named(attribute.name())) {
            if let AttributeValues::Bytes(bytes) = attribute.values() {
                let size = attribute.element_type().size().max(1);
                bytes.chunks_exact(size).for_each(|value| missing.add_number(*attribute.element_type(), value));
            }
        }
        missing
    }

    fn add_number(&mut self, of: ElementType, bytes: &[u8]) {
        let Some(number) = element::number(of, bytes) else { return };
        // An attribute may have the number of the stored type, or that of the values: -1 or 255.
        let encoded = element::encode(self.element, number).or_else(|| element::encode(self.read_as, number));
        if let Some(bytes) = encoded {
            self.add(bytes);
        }
    }

    fn add(&mut self, bytes: Vec<u8>) {
        self.has_nan |= self.is_nan(&bytes);
        self.values.push(bytes);
    }

    fn is_nan(&self, bytes: &[u8]) -> bool {
        matches!(element::number(self.element, bytes), Some(Number::Float(float)) if float.is_nan())
    }

    /// Whether an element is one of them.
    pub fn contains(&self, bytes: &[u8]) -> bool {
        self.values.iter().any(|value| value == bytes) || (self.has_nan && self.is_nan(bytes))
    }
}
