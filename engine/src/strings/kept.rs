//! Texts that are read and stay together: not each of them has memory of its own, but all have a few blocks.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

use super::owned::ELEMENT;
use crate::alloc;
use crate::copier::Copier;
use crate::copy::Destination;
use crate::error::{ErrorKind, Result};
use crate::hyperslab::Hyperslab;
use crate::status;
use crate::store::ChunkStore;
use crate::transfer::{self, Options};
use crate::variable::Variable;

/// Texts that have been read, row-major.
pub struct KeptTexts {
    /// Each is in one of the blocks.
    pointers: Vec<*const c_char>,
    _blocks: Vec<Vec<u8>>,
}

/// How many bytes a block has at least.
const BLOCK: usize = 1 << 20;

/// How many bytes the length of a text takes, which is before it.
const LENGTH: usize = size_of::<usize>();

/// Adds a text to the blocks: its length, which counts the NUL behind it, and the text. Blocks never grow, so that what
/// is in them stays where it is.
fn keep(blocks: &mut Vec<Vec<u8>>, text: &CStr) -> Result<*const c_char> {
    let bytes = text.to_bytes_with_nul();
    let len = LENGTH + bytes.len();
    if blocks.last().is_none_or(|last| last.capacity() - last.len() < len) {
        alloc::push(blocks, alloc::room(len.max(BLOCK))?)?;
    }
    let block = blocks.last_mut().ok_or(ErrorKind::Internal)?;
    let begin = block.len() + LENGTH;
    block.extend_from_slice(&bytes.len().to_ne_bytes());
    block.extend_from_slice(bytes);
    Ok(block.as_ptr().wrapping_add(begin).cast())
}

/// A text that was kept, with its NUL.
///
/// # Safety
/// [`keep`] has given it, and the blocks are there.
unsafe fn kept<'b>(text: *const c_char) -> &'b [u8] {
    // SAFETY: its length is before the text.
    unsafe {
        let len = text.byte_sub(LENGTH).cast::<usize>().read_unaligned();
        std::slice::from_raw_parts(text.cast(), len)
    }
}

/// What copies elements from a chunk: `blocks` are those of the read.
unsafe extern "C" fn copy(
    blocks: *mut c_void,
    _: c_int,
    count: usize,
    source: *const c_void,
    destination: *mut c_void,
) -> c_int {
    let (source, destination) = (source.cast::<*const c_char>(), destination.cast::<*const c_char>());
    // SAFETY: the copier was made for these, and is used as long as they are there.
    let blocks = unsafe { &*blocks.cast::<RefCell<Vec<Vec<u8>>>>() };
    let Ok(mut blocks) = blocks.try_borrow_mut() else { return status::EINTERNAL };
    for i in 0..count {
        // SAFETY: both have so many elements, which need not be aligned. Those of the chunk are NULL or texts.
        let kept = unsafe {
            let from = source.add(i).read_unaligned();
            let text = if from.is_null() { c"" } else { CStr::from_ptr(from) };
            keep(&mut blocks, text).map(|kept| destination.add(i).write_unaligned(kept))
        };
        if kept.is_err() {
            return status::ENOMEM;
        }
    }
    status::NOERR
}

impl KeptTexts {
    /// Reads a hyperslab of texts, by this thread alone.
    pub fn read(
        variable: &Variable,
        store: &ChunkStore<'_>,
        hyperslab: &Hyperslab<'_>,
        options: &Options<'_>,
        done: &mut usize,
    ) -> Result<Self> {
        let blocks = RefCell::new(Vec::new());
        let mut variable = variable.try_clone()?;
        // SAFETY: a variable with a copier is read by one thread, this one; and the blocks are there as long as this
        // variable.
        variable.set_text_copier(unsafe { Copier::new(copy, (&raw const blocks).cast_mut().cast()) });
        let mut pointers: Vec<*const c_char> = Vec::new();
        let memory = |len: usize| {
            let count = len / ELEMENT;
            pointers.try_reserve_exact(count).map_err(|_| ErrorKind::OutOfMemory)?;
            pointers.resize(count, ptr::null());
            // SAFETY: the list has so many bytes, is not used before the read ends, and stays where it is.
            Ok(unsafe { Destination::from_raw(pointers.as_mut_ptr().cast(), len) })
        };
        transfer::read(&variable, store, hyperslab, memory, options, done)?;
        drop(variable);
        Ok(KeptTexts { pointers, _blocks: blocks.into_inner() })
    }

    /// The texts, each with its NUL.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        // SAFETY: what is not NULL is a text in one of the blocks, which do not change.
        self.pointers.iter().map(|&text| if text.is_null() { b"\0" } else { unsafe { kept(text) } })
    }

    /// The texts in one block of C's `malloc`, each with a NUL behind it, and how many bytes these are.
    pub fn into_block(self) -> Result<(*mut c_char, usize)> {
        let len = self.iter().map(<[u8]>::len).sum::<usize>();
        // SAFETY: the size is not 0.
        let block = unsafe { libc::malloc(len.max(1)) }.cast::<c_char>();
        if block.is_null() {
            return Err(ErrorKind::OutOfMemory.into());
        }
        let mut end = block;
        for bytes in self.iter() {
            // SAFETY: the block has room for all texts, of which those before this one end here.
            unsafe {
                ptr::copy_nonoverlapping(bytes.as_ptr().cast(), end, bytes.len());
                end = end.add(bytes.len());
            }
        }
        Ok((block, len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_stay_where_they_are() {
        let mut blocks = Vec::new();
        let texts: Vec<_> = (0..300).map(|i| std::ffi::CString::new("x".repeat(i * 37 % 9000)).unwrap()).collect();
        let kept: Vec<_> = texts.iter().map(|text| keep(&mut blocks, text).unwrap()).collect();
        assert!(blocks.len() > 1);
        for (text, place) in texts.iter().zip(kept) {
            // SAFETY: it is a text in one of the blocks.
            assert_eq!(unsafe { super::kept(place) }, text.as_bytes_with_nul());
        }
    }
}
