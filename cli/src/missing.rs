//! Which elements stand for no value.

use nczchunk::{Array, AttributeValues, ElementType};

use crate::element::{self, Number};

/// The elements of an array that stand for no value: those that are its fill value or that the attributes `_FillValue`
/// and `missing_value` tell. A fill value of zeros, which formats have by default, is a value unless they tell it.
#[derive(Debug)]
pub struct Missing {
    element: ElementType,
    values: Vec<Vec<u8>>,
    has_nan: bool,
}

impl Missing {
    /// No elements of an array.
    pub fn none(array: &Array) -> Self {
        Missing { element: *array.element_type(), values: Vec::new(), has_nan: false }
    }

    /// Those of an array.
    pub fn of(array: &Array) -> Self {
        let element = *array.element_type();
        let mut missing = Missing::none(array);
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
        let number = element::number(of, bytes);
        if let Some(bytes) = number.and_then(|number| element::encode(self.element, number)) {
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
