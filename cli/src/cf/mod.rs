//! Stored elements as the values that CF's attributes say they stand for: `scale_factor` and `add_offset`, `_FillValue`
//! and `missing_value`, `_Unsigned`, `units` and `calendar` of times.
//!
//! ```text
//!   times.rs       units such as `days since 1990-01-01`
//!   calendar.rs    dates and numbers of days
//! ```

mod calendar;
mod times;

use nczchunk::{Array, ElementType};

use crate::attribute;
use crate::element::{self, Number};
use crate::missing::Missing;
pub use calendar::{Date, of_gregorian};
use times::Times;

/// How elements become values.
#[derive(Debug)]
pub struct Decoding {
    /// The type as which elements are read.
    element: ElementType,
    missing: Missing,
    packing: Option<Packing>,
    times: Option<Times>,
    note: Option<String>,
}

/// `value = scale * element + offset`.
#[derive(Debug, Clone, Copy)]
struct Packing {
    scale: f64,
    offset: f64,
    /// Whether the values have 4 bytes, as the attributes have.
    is_single: bool,
}

impl Decoding {
    /// What the attributes of an array say.
    pub fn of(array: &Array) -> Self {
        let element = value_type(array);
        let text = |name| attribute::text(array.attributes(), name);
        let (mut times, mut note) = (None, None);
        if is_number(element) {
            match Times::parse(text("units").unwrap_or_default(), text("calendar").unwrap_or_default()) {
                Ok(found) => times = found,
                Err(why) => note = Some(format!("times are shown as stored numbers: {why}")),
            }
        }
        Decoding { element, missing: Missing::of(array, element), packing: Packing::of(array), times, note }
    }

    /// What is stored, as it is.
    pub fn raw(array: &Array) -> Self {
        let (element, missing) = (*array.element_type(), Missing::none(array));
        Decoding { element, missing, packing: None, times: None, note: None }
    }

    /// What the user has to know about the values.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// Whether values are dates.
    pub fn is_of_times(&self) -> bool {
        self.times.is_some()
    }

    /// Whether an element stands for no value.
    pub fn is_missing(&self, bytes: &[u8]) -> bool {
        self.missing.contains(bytes)
    }

    /// The value of an element as a number; `None` if it is none, or stands for no value.
    pub fn number(&self, bytes: &[u8]) -> Option<f64> {
        let number = element::number(self.element, bytes).filter(|_| !self.is_missing(bytes))?;
        let value = self.unpacked(number).as_f64();
        value.is_finite().then_some(value)
    }

    /// Adds the value of an element as text.
    pub fn push(&self, text: &mut String, bytes: &[u8]) {
        let number = element::number(self.element, bytes);
        match (number, self.packing, &self.times) {
            (Some(number), _, Some(times)) if times.push(text, self.unpacked(number)) => {}
            (Some(number), Some(packing), _) => packing.push(text, number),
            _ => element::push(text, self.element, bytes),
        }
    }

    /// What an axis shows for an element: a date, or a number to six digits; `None` if it is none.
    pub fn label(&self, bytes: &[u8]) -> Option<String> {
        let (value, mut text) = (self.number(bytes)?, String::new());
        match self.times {
            Some(_) => self.push(&mut text, bytes),
            None => push_rounded(&mut text, format!("{value:.5e}").parse().unwrap_or(value)),
        }
        Some(text)
    }

    fn unpacked(&self, number: Number) -> Number {
        self.packing.map_or(number, |packing| Number::Float(packing.value(number)))
    }
}

/// The type as which elements are read: the stored one, or that of integers of the same size with or without a sign, if
/// `_Unsigned` says so. Most netCDF classic files have no unsigned types.
fn value_type(array: &Array) -> ElementType {
    const PAIRS: [(ElementType, ElementType); 4] = [
        (ElementType::Byte, ElementType::UByte),
        (ElementType::Short, ElementType::UShort),
        (ElementType::Int, ElementType::UInt),
        (ElementType::Int64, ElementType::UInt64),
    ];
    let element = *array.element_type();
    let of_pair = |pair: &(ElementType, ElementType)| element == pair.0 || element == pair.1;
    match (PAIRS.iter().find(|pair| of_pair(pair)), attribute::text(array.attributes(), "_Unsigned")) {
        (Some((_, unsigned)), Some(text)) if text.eq_ignore_ascii_case("true") => *unsigned,
        (Some((signed, _)), Some(text)) if text.eq_ignore_ascii_case("false") => *signed,
        _ => element,
    }
}

/// Whether elements are integers or floating-point numbers that attributes may scale.
fn is_number(element: ElementType) -> bool {
    let zero = [0; 16];
    let is_one = zero.get(..element.size()).is_some_and(|zero| element::number(element, zero).is_some());
    is_one && !matches!(element, ElementType::Bool | ElementType::Char | ElementType::Time { .. })
}

impl Packing {
    fn of(array: &Array) -> Option<Packing> {
        let given = |name| attribute::number(array.attributes(), name);
        let (scale, offset) = (given("scale_factor"), given("add_offset"));
        if !is_number(*array.element_type()) || scale.is_none() && offset.is_none() {
            return None;
        }
        let is_single = [scale, offset].iter().flatten().all(|(_, element)| *element == ElementType::Float);
        let value = |given: Option<(f64, ElementType)>, default| given.map_or(default, |(value, _)| value);
        Some(Packing { scale: value(scale, 1.0), offset: value(offset, 0.0), is_single })
    }

    fn value(self, number: Number) -> f64 {
        number.as_f64() * self.scale + self.offset
    }

    fn push(self, text: &mut String, number: Number) {
        let value = self.value(number);
        match self.is_single {
            true => element::push(text, ElementType::Float, &(value as f32).to_ne_bytes()),
            false => push_rounded(text, value),
        }
    }
}

/// Adds a number that was computed, to the 15 digits that such a number has for certain.
fn push_rounded(text: &mut String, value: f64) {
    let rounded = format!("{value:.14e}").parse().unwrap_or(value);
    element::push(text, ElementType::Double, &f64::to_ne_bytes(rounded));
}
