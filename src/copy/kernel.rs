//! The innermost loop of a copy: one row of units, by their size.

use super::Axis;

/// Copies `row.count` units of `unit` bytes.
///
/// # Safety
/// All units of the row lie within the buffers behind the pointers, and the buffers do not overlap. `unit` is the size the
/// kernel was chosen for.
pub(super) type Kernel = unsafe fn(source: *const u8, destination: *mut u8, unit: usize, row: Axis);

/// The kernel for units of this size.
pub(super) fn choose(unit: usize, swap: bool) -> Kernel {
    match (unit, swap) {
        (1, _) => words::<u8, false>,
        (2, false) => words::<u16, false>,
        (4, false) => words::<u32, false>,
        (8, false) => words::<u64, false>,
        (16, false) => words::<u128, false>,
        (2, true) => words::<u16, true>,
        (4, true) => words::<u32, true>,
        (8, true) => words::<u64, true>,
        _ => copy,
    }
}

/// Units of any size.
///
/// # Safety
/// See [`Kernel`].
pub(super) unsafe fn copy(mut source: *const u8, mut destination: *mut u8, unit: usize, row: Axis) {
    for _ in 0..row.count {
        // SAFETY: the caller's promise; the steps taken are those of the row.
        unsafe { destination.copy_from_nonoverlapping(source, unit) };
        source = source.wrapping_offset(row.source);
        destination = destination.wrapping_offset(row.destination);
    }
}

/// An unsigned integer as a carrier of bytes.
trait Word: Copy {
    fn swapped(self) -> Self;
}

macro_rules! words {
    ($($word:ty),*) => {
        $(impl Word for $word {
            fn swapped(self) -> Self {
                self.swap_bytes()
            }
        })*
    };
}

words!(u8, u16, u32, u64, u128);

/// Units that are words, swapped or not. Contiguous sides get a loop of their own, for the compiler to vectorise.
///
/// # Safety
/// See [`Kernel`].
unsafe fn words<W: Word, const SWAP: bool>(source: *const u8, destination: *mut u8, _: usize, row: Axis) {
    let size = size_of::<W>() as isize;
    // SAFETY: the caller's promise; `i * stride` stays within the row, and unaligned access is asked for.
    let step = |i: isize, source_stride: isize, destination_stride: isize| unsafe {
        let word = source.wrapping_offset(i * source_stride).cast::<W>().read_unaligned();
        let word = if SWAP { word.swapped() } else { word };
        destination.wrapping_offset(i * destination_stride).cast::<W>().write_unaligned(word);
    };
    let count = row.count as isize;
    match (row.source == size, row.destination == size) {
        (true, true) => (0..count).for_each(|i| step(i, size, size)),
        (false, true) if row.source == 0 => (0..count).for_each(|i| step(i, 0, size)),
        (false, true) => (0..count).for_each(|i| step(i, row.source, size)),
        (true, false) => (0..count).for_each(|i| step(i, size, row.destination)),
        (false, false) => (0..count).for_each(|i| step(i, row.source, row.destination)),
    }
}
