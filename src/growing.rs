//! Structures that begin with their own size, so that later versions can add fields at their end.

use std::mem::MaybeUninit;

use nczchunk_engine::error::{ErrorKind, Result};

/// Asserts at compile time that a structure begins with its size and does not end in padding: a field added later would
/// take the padding's place and leave the size as it was.
macro_rules! assert_can_grow {
    ($type:ty, $last:ident : $last_type:ty) => {
        const _: () = {
            assert!(std::mem::offset_of!($type, struct_size) == 0);
            assert!(std::mem::offset_of!($type, $last) + size_of::<$last_type>() == size_of::<$type>());
        };
    };
}
pub(super) use assert_can_grow;

/// Makes a structure of C's that can grow, which consists of words, numbers, pointers and optional functions, one that
/// callers fill in or have filled in.
macro_rules! growing {
    ($type:ty, $last:ident : $last_type:ty) => {
        assert_can_grow!($type, $last: $last_type);
        // SAFETY: zeros are a number, NULL and no function; the rest is asserted.
        unsafe impl $crate::growing::Growing for $type {}
    };
}
pub(super) use growing;

/// A structure that begins with its own size as a `usize`.
///
/// # Safety
/// The structure has the layout of C, its first field is `struct_size: usize`, all zeros are a valid value of it, and
/// it has no padding at its end.
pub(super) unsafe trait Growing: Copy {}

/// A structure of the caller's, as large as this library knows it: what the caller's lacks is zero, and what it has
/// beyond must be zero.
///
/// # Safety
/// The pointer is NULL or points to a `usize` that says how many readable bytes there are from it on, itself included.
pub(super) unsafe fn read_growing<T: Growing>(pointer: *const T) -> Result<T> {
    // SAFETY: the caller promises what `size_of_growing` requires.
    let size = unsafe { size_of_growing(pointer) }?;
    // SAFETY: the caller's structure has `size` bytes.
    let bytes = unsafe { std::slice::from_raw_parts(pointer.cast::<MaybeUninit<u8>>(), size) };
    let (known, beyond) = bytes.split_at(size.min(size_of::<T>()));
    // SAFETY: what lies beyond the known structure are the fields of a newer one, which its user has set.
    if beyond.iter().any(|byte| unsafe { byte.assume_init() } != 0) {
        return Err(ErrorKind::Argument("the structure sets a field that is newer than this library").into());
    }
    let mut value = MaybeUninit::<T>::zeroed();
    // SAFETY: `known` is no longer than a `T`, and does not overlap the new value; all zeros are a valid `T`, and so is
    // what the caller has set of one.
    unsafe {
        value.as_mut_ptr().cast::<MaybeUninit<u8>>().copy_from_nonoverlapping(known.as_ptr(), known.len());
        Ok(value.assume_init())
    }
}

/// Fills in a structure of the caller's, but for its size: as many fields as it has, and zeros beyond those that this
/// library knows.
///
/// # Safety
/// The pointer is NULL or points to a `usize` that says how many writable bytes there are from it on, itself included.
pub(super) unsafe fn write_growing<T: Growing>(pointer: *mut T, value: T) -> Result<()> {
    // SAFETY: the caller promises what `size_of_growing` requires.
    let size = unsafe { size_of_growing(pointer) }?;
    let head = size_of::<usize>();
    let known = size.min(size_of::<T>()) - head;
    // SAFETY: both structures have `known` bytes behind their heads, and the caller's has `size` bytes in all; a
    // structure of C without padding at its end may be copied in part.
    unsafe {
        let (to, from) = (pointer.cast::<u8>().add(head), (&raw const value).cast::<u8>().add(head));
        to.copy_from_nonoverlapping(from, known);
        to.add(known).write_bytes(0, size - head - known);
    }
    Ok(())
}

/// The size that a structure of the caller's says it has.
///
/// # Safety
/// The pointer is NULL or points to a `usize`.
pub(super) unsafe fn size_of_growing<T: Growing>(pointer: *const T) -> Result<usize> {
    if pointer.is_null() {
        return Err(ErrorKind::Argument("the structure is NULL").into());
    }
    // SAFETY: the pointer is not NULL, and so points to a `usize` by the caller's promise; it need not be aligned.
    let size = unsafe { pointer.cast::<usize>().read_unaligned() };
    // No structure will ever be longer, and none ends in the middle of a word: a size that was never set is found out,
    // not followed.
    if !(size_of::<usize>()..=4096).contains(&size) || size % align_of::<usize>() != 0 {
        return Err(ErrorKind::Argument("struct_size is not set; initialize the structure with its _INIT macro").into());
    }
    Ok(size)
}

/// The stride of a list of structures that may grow. The elements do not hold their size; the caller passes it once.
///
/// # Errors
/// `Argument` unless it is the size of the structure as this library knows it, or a larger one's.
pub(super) fn check_element_size<T>(size: usize) -> Result<()> {
    if size < size_of::<T>() || size > 4096 || size % align_of::<T>() != 0 {
        return Err(ErrorKind::Argument("projection_size must be sizeof(nczchunk_projection)").into());
    }
    Ok(())
}

/// Writes the i-th structure of a list whose elements have `size` bytes; what this library does not know of it is zero.
///
/// # Safety
/// There is room for it, and [`check_element_size`] has accepted the size. `T` is a structure of words without padding.
pub(super) unsafe fn write_element<T: Copy>(list: *mut T, i: usize, size: usize, value: T) {
    // SAFETY: the caller promises it; the size is a multiple of the alignment and no smaller than a `T`.
    unsafe {
        let storage = list.byte_add(i * size);
        storage.write(value);
        storage.add(1).cast::<u8>().write_bytes(0, size - size_of::<T>());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(C)]
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Three {
        struct_size: usize,
        a: usize,
        b: usize,
    }
    growing!(Three, b: usize);

    #[test]
    fn shorter_and_longer_structures_are_understood() {
        // SAFETY: the first word is the size, of no more bytes than the list has.
        let read = |words: &[usize]| unsafe { read_growing(words.as_ptr().cast::<Three>()) };
        let word = size_of::<usize>();
        assert_eq!(read(&[2 * word, 7]).unwrap(), Three { struct_size: 2 * word, a: 7, b: 0 });
        assert_eq!(read(&[4 * word, 7, 8, 0]).unwrap(), Three { struct_size: 4 * word, a: 7, b: 8 });
        assert!(read(&[4 * word, 7, 8, 1]).is_err() && read(&[0]).is_err() && read(&[word + 1, 0]).is_err());

        // SAFETY: as above.
        let write = |words: &mut [usize]| unsafe {
            write_growing(words.as_mut_ptr().cast::<Three>(), Three { struct_size: 0, a: 7, b: 8 })
        };
        let mut longer = [5 * word, 1, 1, 1, 1];
        write(&mut longer).unwrap();
        assert_eq!(longer, [5 * word, 7, 8, 0, 0]);
        let mut shorter = [2 * word, 1, 1];
        write(&mut shorter).unwrap();
        assert_eq!(shorter, [2 * word, 7, 1]);
        assert_eq!(std::mem::offset_of!(Three, a), word);
    }
}
