//! Reading and writing slices of numbers.
#![allow(unsafe_code)]

use crate::copy::{Destination, Source};
use crate::element::{ElementType, Kind};
use crate::error::{ErrorKind, Result};
use crate::float_format::FloatFormat;
use crate::hyperslab::Hyperslab;
use crate::store::ChunkStore;
use crate::transfer::{self, Options};
use crate::variable::Variable;

/// A Rust type that elements can be read as. [`read`] accepts elements of its size, and
/// `Array::read` only elements that it [holds](Element::holds).
///
/// # Safety
/// Any bytes are a valid value, and the type has no padding.
pub unsafe trait Element: Copy {
    /// Whether the elements of an `Array` of this type can be read and written as the Rust type without
    /// conversion. By default, the sizes must be equal.
    fn holds(element: ElementType) -> bool {
        element.size() == size_of::<Self>()
    }
}

/// What a number of Rust's is.
#[derive(PartialEq)]
enum Number {
    Signed,
    Unsigned,
    Float,
}

impl Number {
    /// The kind of number that elements are read as. Those that Rust has no type for, such as half floats, booleans and
    /// characters, are read as the unsigned integers that have their bits.
    fn of(element: ElementType) -> Number {
        match element.kind() {
            Kind::Signed(_) | Kind::Time => Number::Signed,
            Kind::Float(FloatFormat::SINGLE | FloatFormat::DOUBLE) => Number::Float,
            _ => Number::Unsigned,
        }
    }
}

macro_rules! elements {
    ($($kind:ident: $($type:ty)*;)*) => {
        $($(
            // SAFETY: a number of fixed width.
            unsafe impl Element for $type {
                fn holds(element: ElementType) -> bool {
                    element.size() == size_of::<Self>() && Number::of(element) == Number::$kind
                }
            }
        )*)*
    };
}
elements! {
    Signed: i8 i16 i32 i64 i128 isize;
    Unsigned: u8 u16 u32 u64 u128 usize;
    Float: f32 f64;
}

// SAFETY: an array has no padding between its elements, nor behind them.
unsafe impl<T: Element, const N: usize> Element for [T; N] {
    /// Complex numbers are two floats, texts of characters are integers of 4 bytes; all others are arrays of bytes.
    fn holds(element: ElementType) -> bool {
        let item = match element {
            ElementType::Complex { bytes: 8 } => ElementType::Float,
            ElementType::Complex { bytes: 16 } => ElementType::Double,
            ElementType::Unicode { .. } => ElementType::UInt,
            _ => ElementType::UByte,
        };
        element.size() == size_of::<Self>() && (T::holds(item) || T::holds(ElementType::UByte))
    }
}

/// The bytes of values.
pub fn bytes_of<T: Element>(values: &[T]) -> &[u8] {
    // SAFETY: the slice has so many bytes, all of them initialised, which nobody changes.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// Reads a hyperslab in row-major order.
///
/// # Errors
/// `Argument` if the variable's elements do not have the size of `T`, those of
/// [`Plan::new`](crate::Plan::new) and of [`Plan::read`](crate::Plan::read), and `OutOfMemory`.
pub fn read<T: Element>(variable: &Variable, store: &ChunkStore<'_>, hyperslab: &Hyperslab<'_>) -> Result<Vec<T>> {
    check_size::<T>(variable)?;
    let (mut values, mut count): (Vec<T>, usize) = (Vec::new(), 0);
    let memory = |len: usize| {
        count = len / size_of::<T>();
        values.try_reserve_exact(count).map_err(|_| ErrorKind::OutOfMemory)?;
        // SAFETY: there is room for so many bytes, which are ours alone, and the list stays where it is.
        Ok(unsafe { Destination::from_raw(values.as_mut_ptr().cast(), len) })
    };
    transfer::read(variable, store, hyperslab, memory, &Options::default(), &mut 0)?;
    // SAFETY: the read has written every one of them, and any bytes are a `T`.
    unsafe { values.set_len(count) };
    Ok(values)
}

/// Reads a hyperslab into a slice, in row-major order.
///
/// # Errors
/// `Argument` if the variable's elements do not have the size of `T`, `Memory` if the slice does not
/// have as many values as are selected, those of [`Plan::new`](crate::Plan::new) and of
/// [`Plan::read`](crate::Plan::read).
pub fn read_into<T: Element>(
    variable: &Variable,
    store: &ChunkStore<'_>,
    hyperslab: &Hyperslab<'_>,
    out: &mut [T],
) -> Result<()> {
    check_size::<T>(variable)?;
    let memory = |len| {
        check_len(size_of_val(out), len)?;
        // SAFETY: the slice has so many bytes, which are ours alone. Reading writes bytes of chunks and fill values,
        // which are initialised, and any bytes are a `T`.
        Ok(unsafe { Destination::from_raw(out.as_mut_ptr().cast(), len) })
    };
    transfer::read(variable, store, hyperslab, memory, &Options::default(), &mut 0)
}

/// Writes values, in row-major order, to a hyperslab.
///
/// # Errors
/// `Argument` if the variable's elements do not have the size of `T`, `Memory` if `values` does not have as
/// many values as are selected, those of [`Plan::new`](crate::Plan::new) and of [`Plan::write`](crate::Plan::write).
pub fn write<T: Element>(
    variable: &Variable,
    store: &ChunkStore<'_>,
    hyperslab: &Hyperslab<'_>,
    values: &[T],
) -> Result<()> {
    check_size::<T>(variable)?;
    let memory = |len| {
        check_len(size_of_val(values), len)?;
        // SAFETY: the slice has so many bytes, all of them initialised, which nobody changes.
        Ok(unsafe { Source::from_raw(values.as_ptr().cast(), len) })
    };
    transfer::write(variable, store, hyperslab, memory, &Options::default(), &mut 0)
}

fn check_size<T>(variable: &Variable) -> Result<()> {
    variable.check_bytes()?;
    if size_of::<T>() == variable.element_size() {
        return Ok(());
    }
    Err(ErrorKind::Argument("the type's size must be the variable's element size").into())
}

fn check_len(len: usize, expected: usize) -> Result<()> {
    if len == expected { Ok(()) } else { Err(ErrorKind::Memory { len }.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::{TYPES, TimeUnit};

    #[test]
    fn each_type_has_one_kind_of_number_and_its_bytes() {
        let numbers = |element| {
            let holds = [
                ("i8", i8::holds(element)),
                ("u8", u8::holds(element)),
                ("i16", i16::holds(element)),
                ("u16", u16::holds(element)),
                ("i32", i32::holds(element)),
                ("u32", u32::holds(element)),
                ("i64", i64::holds(element)),
                ("u64", u64::holds(element)),
                ("f32", f32::holds(element)),
                ("f64", f64::holds(element)),
            ];
            holds.into_iter().filter(|(_, holds)| *holds).map(|(name, _)| name).collect::<Vec<_>>()
        };
        let time = ElementType::Time { unit: TimeUnit::Day, count: 1, is_delta: false };
        for (element, name) in [
            (ElementType::Byte, "i8"),
            (ElementType::Int4, "i8"),
            (ElementType::UByte, "u8"),
            (ElementType::Char, "u8"),
            (ElementType::Bool, "u8"),
            (ElementType::Float8E4M3, "u8"),
            (ElementType::Short, "i16"),
            (ElementType::Half, "u16"),
            (ElementType::Int, "i32"),
            (ElementType::Float, "f32"),
            (ElementType::Double, "f64"),
            (ElementType::UInt64, "u64"),
            (time, "i64"),
        ] {
            assert_eq!(numbers(element), [name], "{element}");
        }
        assert!(TYPES.iter().all(|row| row.size > 8 || row.size == 0 || numbers(row.element).len() == 1));
    }

    #[test]
    fn arrays_are_parts_or_bytes() {
        let complex = ElementType::Complex { bytes: 8 };
        assert!(<[f32; 2]>::holds(complex) && <[u8; 8]>::holds(complex) && !<[i32; 2]>::holds(complex));
        assert!(<[f64; 2]>::holds(ElementType::Complex { bytes: 16 }));
        let text = ElementType::Unicode { len: 3 };
        assert!(<[u32; 3]>::holds(text) && !<[f32; 3]>::holds(text) && !<[u32; 2]>::holds(text));
        assert!(<[u8; 5]>::holds(ElementType::Text { len: 5 }) && !<[i16; 2]>::holds(ElementType::Text { len: 4 }));
        assert!(<[u8; 4]>::holds(ElementType::Float) && !<[i32; 1]>::holds(ElementType::Float));
    }
}
