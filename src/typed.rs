//! Reading and writing slices of numbers.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

use crate::copy::{Destination, Source};
use crate::error::{ErrorKind, Result};
use crate::grid::Access;
use crate::hyperslab::Hyperslab;
use crate::plan::Plan;
use crate::store::Store;
use crate::transfer::{self, Options};
use crate::variable::Variable;

/// A type that elements of its size can be read as.
///
/// # Safety
/// Any bytes are a valid value, and the type has no padding.
pub unsafe trait Element: Copy {}

macro_rules! elements {
    ($($type:ty),*) => {
        $(
            // SAFETY: a number of fixed width.
            unsafe impl Element for $type {}
        )*
    };
}
elements!(u8, i8, u16, i16, u32, i32, u64, i64, u128, i128, usize, isize, f32, f64);

// SAFETY: an array has no padding between its elements, nor behind them.
unsafe impl<T: Element, const N: usize> Element for [T; N] {}

/// Reads a hyperslab: its elements, row-major.
///
/// # Errors `Argument` if the variable's elements have not the size of a `T`, those of [`Plan::new`], those of
/// [`Plan::read`], and `OutOfMemory`.
pub fn read<T: Element>(variable: &Variable, store: &Store<'_>, hyperslab: &Hyperslab<'_>) -> Result<Vec<T>> {
    check_size::<T>(variable)?;
    let count = Plan::new(variable, hyperslab, Access::Read)?.num_elements();
    let mut values: Vec<T> = Vec::new();
    values.try_reserve_exact(count).map_err(|_| ErrorKind::OutOfMemory)?;
    read_uninit(variable, store, hyperslab, &mut values.spare_capacity_mut()[..count])?;
    // SAFETY: the read has written every one of them, and any bytes are a `T`.
    unsafe { values.set_len(count) };
    Ok(values)
}

/// Reads a hyperslab into a slice, row-major.
///
/// # Errors `Argument` if the variable's elements have not the size of a `T`, `Memory` if the slice has not as many
/// values as are selected, those of [`Plan::new`] and of [`Plan::read`].
pub fn read_into<T: Element>(
    variable: &Variable,
    store: &Store<'_>,
    hyperslab: &Hyperslab<'_>,
    out: &mut [T],
) -> Result<()> {
    check_size::<T>(variable)?;
    // SAFETY: reading writes bytes of chunks and fill values, which are initialised, and any bytes are a `T`.
    let out = unsafe { &mut *(std::ptr::from_mut(out) as *mut [MaybeUninit<T>]) };
    read_uninit(variable, store, hyperslab, out)
}

fn read_uninit<T: Element>(
    variable: &Variable,
    store: &Store<'_>,
    hyperslab: &Hyperslab<'_>,
    out: &mut [MaybeUninit<T>],
) -> Result<()> {
    let memory = |len| {
        check_len(size_of_val(out), len)?;
        // SAFETY: the slice has so many bytes, which are ours alone.
        Ok(unsafe { Destination::from_raw(out.as_mut_ptr().cast(), len) })
    };
    transfer::read(variable, store, hyperslab, memory, Options::default(), &mut 0)
}

/// Writes values, row-major, to a hyperslab.
///
/// # Errors `Argument` if the variable's elements have not the size of a `T`, `Memory` if there are not as many values
/// as are selected, those of [`Plan::new`] and of [`Plan::write`].
pub fn write<T: Element>(
    variable: &Variable,
    store: &Store<'_>,
    hyperslab: &Hyperslab<'_>,
    values: &[T],
) -> Result<()> {
    check_size::<T>(variable)?;
    let memory = |len| {
        check_len(size_of_val(values), len)?;
        // SAFETY: the slice has so many bytes, all of them initialised, which nobody changes.
        Ok(unsafe { Source::from_raw(values.as_ptr().cast(), len) })
    };
    transfer::write(variable, store, hyperslab, memory, Options::default(), &mut 0)
}

fn check_size<T>(variable: &Variable) -> Result<()> {
    variable.check_bytes()?;
    if size_of::<T>() == variable.element_size() {
        return Ok(());
    }
    Err(ErrorKind::Argument("the variable's elements are not of this type's size").into())
}

fn check_len(len: usize, expected: usize) -> Result<()> {
    if len == expected { Ok(()) } else { Err(ErrorKind::Memory { len }.into()) }
}
