//! Allocations that report failure instead of aborting.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, dealloc};
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

/// An allocation failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failed;

/// A result of an allocation.
type Result<T> = std::result::Result<T, Failed>;

/// Memory for a `T`, allocated before there is one, so that what follows cannot fail.
pub struct Slot<T>(Box<MaybeUninit<T>>);

impl<T> Slot<T> {
    pub fn new() -> Result<Self> {
        let layout = Layout::new::<T>();
        if layout.size() == 0 {
            return Ok(Slot(Box::new(MaybeUninit::uninit())));
        }
        // SAFETY: the layout's size is not 0. A pointer that is not NULL is a block of a `T`'s layout from the global
        // allocator, which is what a box of `MaybeUninit<T>` owns and frees.
        unsafe {
            let pointer = alloc(layout).cast::<MaybeUninit<T>>();
            if pointer.is_null() { Err(Failed) } else { Ok(Slot(Box::from_raw(pointer))) }
        }
    }

    pub fn fill(self, value: T) -> Box<T> {
        let memory = Box::into_raw(self.0).cast::<T>();
        // SAFETY: the memory is a block of a `T`'s layout from the global allocator, which is ours alone; once the
        // value is written it is a box of one.
        unsafe {
            memory.write(value);
            Box::from_raw(memory)
        }
    }
}

/// A box, unless the allocation fails.
pub fn try_box<T>(value: T) -> Result<Box<T>> {
    Ok(Slot::new()?.fill(value))
}

/// An empty list with room for so many, unless the allocation fails.
pub fn room<T>(len: usize) -> Result<Vec<T>> {
    let mut list = Vec::new();
    list.try_reserve_exact(len).map_err(|_| Failed)?;
    Ok(list)
}

/// A copy of a list, unless the allocation fails.
pub fn copied<T: Copy>(values: &[T]) -> Result<Vec<T>> {
    let mut copy = room(values.len())?;
    copy.extend_from_slice(values);
    Ok(copy)
}

/// A list of what comes, unless the allocation fails.
pub fn collected<T>(values: impl Iterator<Item = T>) -> Result<Vec<T>> {
    let mut list = Vec::new();
    for value in values {
        push(&mut list, value)?;
    }
    Ok(list)
}

/// A list of what comes, up to the first error, or an allocation that fails.
pub fn try_collected<T>(values: impl IntoIterator<Item = crate::error::Result<T>>) -> crate::error::Result<Vec<T>> {
    let mut list = Vec::new();
    for value in values {
        push(&mut list, value?)?;
    }
    Ok(list)
}

/// A list of so many like this, unless the allocation fails.
pub fn filled<T: Clone>(len: usize, value: T) -> Result<Vec<T>> {
    let mut list = room(len)?;
    list.resize(len, value);
    Ok(list)
}

/// A copy of a text, unless the allocation fails.
pub fn text(text: &str) -> Result<String> {
    let mut copy = String::new();
    copy.try_reserve_exact(text.len()).map_err(|_| Failed)?;
    copy.push_str(text);
    Ok(copy)
}

/// A path of these parts, one below the other, unless the allocation fails. A part that is absolute is where it begins.
pub fn path(parts: &[&Path]) -> Result<PathBuf> {
    let mut path = PathBuf::new();
    // With a slash before each.
    let len = parts.iter().map(|part| 1 + part.as_os_str().len()).sum();
    path.try_reserve_exact(len).map_err(|_| Failed)?;
    path.extend(parts);
    Ok(path)
}

/// Adds a value to a list, unless the allocation fails.
pub fn push<T>(list: &mut Vec<T>, value: T) -> Result<()> {
    list.try_reserve(1).map_err(|_| Failed)?;
    list.push(value);
    Ok(())
}

/// Adds a value at a place of a list, which is at most its length, unless the allocation fails.
pub fn insert<T>(list: &mut Vec<T>, place: usize, value: T) -> Result<()> {
    list.try_reserve(1).map_err(|_| Failed)?;
    list.insert(place, value);
    Ok(())
}

/// Adds values to a list, unless the allocation fails.
pub fn extend<T: Copy>(list: &mut Vec<T>, values: &[T]) -> Result<()> {
    list.try_reserve(values.len()).map_err(|_| Failed)?;
    list.extend_from_slice(values);
    Ok(())
}

/// Adds a text to another, unless the allocation fails.
pub fn push_text(to: &mut String, text: &str) -> Result<()> {
    to.try_reserve(text.len()).map_err(|_| Failed)?;
    to.push_str(text);
    Ok(())
}

/// Every scratch buffer begins at a multiple of this many bytes: a cache line.
pub const ALIGNMENT: usize = 64;

/// A buffer that is kept between uses. It is one block: a header with the capacity, then the bytes.
pub struct Scratch(Option<NonNull<Header>>);

#[repr(align(64))]
struct Header {
    capacity: usize,
}

// SAFETY: the block belongs to the one value that points to it.
unsafe impl Send for Scratch {}
// SAFETY: through a shared reference only the header is read.
unsafe impl Sync for Scratch {}

impl Scratch {
    /// A buffer without memory.
    pub const EMPTY: Scratch = Scratch(None);

    fn layout(capacity: usize) -> Option<Layout> {
        Layout::from_size_align(size_of::<Header>().checked_add(capacity)?, ALIGNMENT).ok()
    }

    /// How many bytes it has.
    pub(crate) fn capacity(&self) -> usize {
        // SAFETY: the block is alive and begins with an initialised header.
        self.0.map_or(0, |block| unsafe { block.as_ref() }.capacity)
    }

    /// The first `len` bytes, aligned to [`ALIGNMENT`]. If the buffer is too small it is allocated anew; what it held
    /// is lost then.
    pub fn room(&mut self, len: usize) -> Result<&mut [MaybeUninit<u8>]> {
        if self.capacity() < len {
            *self = Scratch::EMPTY;
            let layout = Self::layout(len).ok_or(Failed)?;
            // SAFETY: the size is not 0, for it includes the header.
            let block = NonNull::new(unsafe { alloc(layout) }.cast::<Header>()).ok_or(Failed)?;
            // SAFETY: the block has the header's alignment and room for one.
            unsafe { block.write(Header { capacity: len }) };
            self.0 = Some(block);
        }
        let begin = match self.0 {
            // SAFETY: the bytes follow the header in the same block.
            Some(block) => unsafe { block.add(1) }.cast::<MaybeUninit<u8>>(),
            None => return Ok(&mut []),
        };
        // SAFETY: the block has at least `len` bytes behind its header, which need not be initialised; they are
        // borrowed from `self`, so nobody else uses them.
        Ok(unsafe { std::slice::from_raw_parts_mut(begin.as_ptr(), len) })
    }

    /// The first `len` bytes.
    ///
    /// # Safety
    /// They have been written since [`room`](Self::room) last gave them.
    pub unsafe fn filled(&self, len: usize) -> &[u8] {
        match self.0 {
            // SAFETY: the bytes follow the header, there are at least `len` because they were given, and they are
            // initialised by the caller's promise.
            Some(block) => unsafe { std::slice::from_raw_parts(block.add(1).cast::<u8>().as_ptr(), len) },
            None => &[],
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let layout = Self::layout(self.capacity());
        if let (Some(block), Some(layout)) = (self.0, layout) {
            // SAFETY: `room` allocated the block with this layout, and it is freed once.
            unsafe { dealloc(block.as_ptr().cast(), layout) };
        }
    }
}

/// A value that is one pointer, so that it can be kept in a single atomic word.
///
/// # Safety
/// `from_pointer` gives back what `into_pointer` took apart, and the pointer stands for the whole value meanwhile.
pub unsafe trait OnePointer: Send {
    /// The value as a pointer; `None` if there is nothing worth keeping.
    fn into_pointer(self) -> Option<NonNull<u8>>;

    /// # Safety
    /// The pointer came from `into_pointer`, and this is called once for it.
    unsafe fn from_pointer(pointer: NonNull<u8>) -> Self;
}

// SAFETY: the pointer to the block is all there is of a buffer.
unsafe impl OnePointer for Scratch {
    fn into_pointer(self) -> Option<NonNull<u8>> {
        std::mem::ManuallyDrop::new(self).0.map(NonNull::cast)
    }

    unsafe fn from_pointer(pointer: NonNull<u8>) -> Self {
        Scratch(Some(pointer.cast()))
    }
}

// SAFETY: the pointer to what is in the box is all there is of a box.
unsafe impl<T: Send> OnePointer for Box<T> {
    fn into_pointer(self) -> Option<NonNull<u8>> {
        NonNull::new(Box::into_raw(self).cast())
    }

    unsafe fn from_pointer(pointer: NonNull<u8>) -> Self {
        // SAFETY: the pointer came from a box of a `T`, which it stands for.
        unsafe { Box::from_raw(pointer.cast::<T>().as_ptr()) }
    }
}

/// Memory for so many bytes at an address, which is not looked at if there are none.
///
/// # Safety
/// There is room for so many bytes, which nobody else uses as long as the result is used.
pub unsafe fn room_at<'r>(address: *mut u8, size: usize) -> &'r mut [MaybeUninit<u8>] {
    match size {
        0 => &mut [],
        // SAFETY: the caller's promise.
        _ => unsafe { std::slice::from_raw_parts_mut(address.cast(), size) },
    }
}

/// The same bytes, as memory to be written to.
///
/// # Safety
/// Nothing but initialised bytes is written to it.
pub unsafe fn as_uninit(bytes: &mut [u8]) -> &mut [MaybeUninit<u8>] {
    // SAFETY: both types have the same layout, and the caller keeps the bytes initialised.
    unsafe { &mut *(std::ptr::from_mut(bytes) as *mut [MaybeUninit<u8>]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scratch_memory_is_aligned_and_kept() {
        let mut scratch = Scratch::EMPTY;
        assert!(scratch.room(0).unwrap().is_empty());
        for len in [1, 100, 1000, 10] {
            let room = scratch.room(len).unwrap();
            assert_eq!((room.len(), room.as_ptr().addr() % ALIGNMENT), (len, 0));
            room.fill(MaybeUninit::new(1));
        }
        assert_eq!(scratch.capacity(), 1000);
        assert!(scratch.room(usize::MAX).is_err() && scratch.room(10).is_ok());
    }
}
