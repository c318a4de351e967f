//! Reading and writing hyperslabs of texts.
#![allow(unsafe_code)]

use std::ffi::CString;

use super::kept::KeptTexts;
use super::owned::{ELEMENT, OwnedTexts};
use crate::alloc;
use crate::copy::{Destination, Source};
use crate::error::{ErrorKind, Result};
use crate::hyperslab::Hyperslab;
use crate::store::ChunkStore;
use crate::transfer::{self, Options};
use crate::variable::Variable;

/// Reads a hyperslab of texts. Before anything is read, `check` is called with the bytes that the elements have.
pub fn read(
    variable: &Variable,
    store: &ChunkStore<'_>,
    hyperslab: &Hyperslab<'_>,
    options: &Options<'_>,
    done: &mut usize,
    check: impl FnOnce(usize) -> Result<()>,
) -> Result<OwnedTexts> {
    let mut texts = OwnedTexts::new(0)?;
    let memory = |len| {
        check(len)?;
        texts = OwnedTexts::new(len / ELEMENT)?;
        let bytes = texts.as_bytes_mut();
        // SAFETY: the list has so many bytes, is not used before the read ends, and stays where it is.
        Ok(unsafe { Destination::from_raw(bytes.as_mut_ptr(), bytes.len()) })
    };
    transfer::read(variable, store, hyperslab, memory, options, done)?;
    Ok(texts)
}

/// Reads a hyperslab of texts.
pub fn read_strings(variable: &Variable, store: &ChunkStore<'_>, hyperslab: &Hyperslab<'_>) -> Result<Vec<String>> {
    let texts = KeptTexts::read(variable, store, hyperslab, &Options::default(), &mut 0)?;
    let mut strings = alloc::room(texts.iter().len())?;
    for text in texts.iter() {
        let text = text.strip_suffix(b"\0").and_then(|text| std::str::from_utf8(text).ok());
        strings.push(alloc::text(text.ok_or(ErrorKind::Internal)?)?);
    }
    Ok(strings)
}

/// Writes texts, row-major, to a hyperslab.
pub fn write_strings(
    variable: &Variable,
    store: &ChunkStore<'_>,
    hyperslab: &Hyperslab<'_>,
    values: &[impl AsRef<str>],
) -> Result<()> {
    let texts = alloc::try_collected(values.iter().map(|value| c_text(value.as_ref())))?;
    let pointers = alloc::collected(texts.iter().map(|text| text.as_ptr()))?;
    let memory = |len| {
        if len != size_of_val(pointers.as_slice()) {
            return Err(ErrorKind::Memory { len: size_of_val(pointers.as_slice()) }.into());
        }
        // SAFETY: the list has so many bytes, which nobody changes.
        Ok(unsafe { Source::from_raw(pointers.as_ptr().cast(), len) })
    };
    transfer::write(variable, store, hyperslab, memory, &Options::default(), &mut 0)
}

/// A text of C's.
fn c_text(text: &str) -> Result<CString> {
    let mut bytes = alloc::room(text.len() + 1)?;
    bytes.extend_from_slice(text.as_bytes());
    bytes.push(0);
    CString::from_vec_with_nul(bytes).map_err(|_| ErrorKind::Argument("a string contains a NUL").into())
}
