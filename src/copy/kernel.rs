//! The innermost loops of a copy: rows of units, by the size of the unit.

use super::{Axis, LINE, Rows};

/// Copies rows of units of `unit` bytes.
///
/// # Safety
/// All units lie within the buffers behind the pointers, and the buffers do not overlap. `unit` is the size the kernel was
/// chosen for.
pub(super) type Kernel = unsafe fn(source: *const u8, destination: *mut u8, unit: usize, rows: Rows);

/// The kernel for units of this size in rows of this kind; without a row there is one unit in all. In a transposed box units
/// are closest along the row in the destination, and across rows in the source. With `stream`, what is written is not read
/// again soon.
#[inline]
pub(super) fn choose(unit: usize, swap: bool, is_transposed: bool, row: Option<&Axis>, stream: bool) -> Kernel {
    #[cfg(target_arch = "x86_64")]
    if let Some(kernel) = super::x86::choose(unit, swap, is_transposed, row, stream) {
        return kernel;
    }
    let _ = stream;
    portable(unit, swap, is_transposed, row.is_some())
}

/// To be called after kernels that were chosen with `stream`.
#[inline]
pub(super) fn fence() {
    #[cfg(target_arch = "x86_64")]
    super::x86::fence();
}

/// The kernel that every processor has.
#[inline]
pub(super) fn portable(unit: usize, swap: bool, is_transposed: bool, has_row: bool) -> Kernel {
    macro_rules! of_words {
        ($kernel:ident) => {
            match (unit, swap) {
                (1, _) => $kernel::<u8, false>,
                (2, false) => $kernel::<u16, false>,
                (4, false) => $kernel::<u32, false>,
                (8, false) => $kernel::<u64, false>,
                (16, false) => $kernel::<u128, false>,
                (2, true) => $kernel::<u16, true>,
                (4, true) => $kernel::<u32, true>,
                (8, true) => $kernel::<u64, true>,
                (32, _) => sized::<32>,
                (64, _) => sized::<64>,
                (128, _) => sized::<128>,
                (17..=256, _) => short,
                _ => copy,
            }
        };
    }
    match (has_row, is_transposed) {
        (false, _) => of_words!(word),
        (true, false) => of_words!(words),
        (true, true) => of_words!(transposed),
    }
}

/// Units of any size.
///
/// # Safety
/// See [`Kernel`].
pub(super) unsafe fn copy(source: *const u8, destination: *mut u8, unit: usize, rows: Rows) {
    // SAFETY: the caller's promise.
    rows.for_each_unit(source, destination, |source, destination| unsafe {
        destination.copy_from_nonoverlapping(source, unit);
    });
}

/// Units of a size that rows of small chunks often have.
///
/// # Safety
/// See [`Kernel`].
unsafe fn sized<const UNIT: usize>(source: *const u8, destination: *mut u8, _: usize, rows: Rows) {
    // SAFETY: the caller's promise.
    rows.for_each_unit(source, destination, |source, destination| unsafe {
        destination.cast::<[u8; UNIT]>().write_unaligned(source.cast::<[u8; UNIT]>().read_unaligned());
    });
}

/// Units of 17 to 256 bytes, for which a call of memcpy costs more than the copy: 16 bytes at a time, the last of them
/// overlapping those before.
///
/// # Safety
/// See [`Kernel`].
pub(super) unsafe fn short(source: *const u8, destination: *mut u8, unit: usize, rows: Rows) {
    type Piece = [u8; 16];
    let last = unit - size_of::<Piece>();
    // SAFETY: the caller's promise; all pieces lie within the unit.
    rows.for_each_unit(source, destination, |source, destination| unsafe {
        let piece = |at: usize| {
            let bytes = source.add(at).cast::<Piece>().read_unaligned();
            destination.add(at).cast::<Piece>().write_unaligned(bytes);
        };
        let mut at = 0;
        while at < last {
            piece(at);
            at += size_of::<Piece>();
        }
        piece(last);
    });
}

/// An unsigned integer as a carrier of bytes.
pub(super) trait Word: Copy {
    fn swapped(self) -> Self;
}

macro_rules! words {
    ($($word:ty),*) => {
        $(impl Word for $word {
            #[inline(always)]
            fn swapped(self) -> Self {
                self.swap_bytes()
            }
        })*
    };
}

words!(u8, u16, u32, u64, u128);

/// A single word, swapped or not.
///
/// # Safety
/// See [`Kernel`].
unsafe fn word<W: Word, const SWAP: bool>(source: *const u8, destination: *mut u8, _: usize, _: Rows) {
    // SAFETY: the caller's promise, and unaligned access is asked for.
    unsafe {
        let word = source.cast::<W>().read_unaligned();
        destination.cast::<W>().write_unaligned(if SWAP { word.swapped() } else { word });
    }
}

/// Units that are words, swapped or not. Contiguous sides get a loop of their own, for the compiler to vectorise.
///
/// # Safety
/// See [`Kernel`].
#[inline(always)]
pub(super) unsafe fn words<W: Word, const SWAP: bool>(source: *const u8, destination: *mut u8, _: usize, rows: Rows) {
    let (mut source, mut destination) = (source, destination);
    // Not by `for_each`: its closure would not be compiled for the instructions that the caller is compiled for.
    for _ in 0..rows.along.count {
        // SAFETY: the caller's promise, for each row.
        unsafe { word_row::<W, SWAP>(source, destination, rows.row) };
        source = source.wrapping_offset(rows.along.source);
        destination = destination.wrapping_offset(rows.along.destination);
    }
}

/// Calls `one` with the parts of a box, which have so many words along the row and so many along the other axis.
#[inline(always)]
pub(super) fn in_parts(
    source: *const u8,
    destination: *mut u8,
    rows: Rows,
    [row_words, along_words]: [usize; 2],
    mut one: impl FnMut(*const u8, *mut u8, Rows),
) {
    let part = |axis: Axis, i: usize, words: usize| Axis { count: words.min(axis.count - i), ..axis };
    for i in (0..rows.row.count).step_by(row_words) {
        let (source, destination) = rows.row.at(source, destination, i);
        let row = part(rows.row, i, row_words);
        for j in (0..rows.along.count).step_by(along_words) {
            let (source, destination) = rows.along.at(source, destination, j);
            one(source, destination, Rows { row, along: part(rows.along, j, along_words) });
        }
    }
}

/// Copies in blocks of lines: of the source lines that a block begins with, all words are used while they are in the cache, and
/// each line of the destination is written in one go.
///
/// # Safety
/// See [`Kernel`].
pub(super) unsafe fn transposed<W: Word, const SWAP: bool>(
    source: *const u8,
    destination: *mut u8,
    unit: usize,
    rows: Rows,
) {
    let line = LINE / size_of::<W>();
    in_parts(source, destination, rows, [line, line], |source, destination, part| {
        // SAFETY: a part of what the caller promised.
        unsafe { words::<W, SWAP>(source, destination, unit, part) };
    });
}

/// One row of words.
///
/// # Safety
/// As for [`Kernel`], of one row.
#[inline(always)]
pub(super) unsafe fn word_row<W: Word, const SWAP: bool>(source: *const u8, destination: *mut u8, row: Axis) {
    let size = size_of::<W>() as isize;
    let load = |i: isize, stride: isize| {
        // SAFETY: `i * stride` stays within the row, and unaligned access is asked for.
        let word = unsafe { source.wrapping_offset(i * stride).cast::<W>().read_unaligned() };
        if SWAP { word.swapped() } else { word }
    };
    // SAFETY: as above.
    let store = |i: isize, stride: isize, word: W| unsafe {
        destination.wrapping_offset(i * stride).cast::<W>().write_unaligned(word);
    };
    let count = row.count as isize;
    match (row.source == size, row.destination == size) {
        (true, true) => (0..count).for_each(|i| store(i, size, load(i, size))),
        (false, true) if row.source == 0 => {
            let word = load(0, 0);
            (0..count).for_each(|i| store(i, size, word));
        }
        // A stride that the compiler knows is a permutation of vectors.
        (false, true) if row.source == 2 * size => (0..count).for_each(|i| store(i, size, load(i, 2 * size))),
        (false, true) if row.source == 3 * size => (0..count).for_each(|i| store(i, size, load(i, 3 * size))),
        (false, true) if row.source == 4 * size => (0..count).for_each(|i| store(i, size, load(i, 4 * size))),
        (false, true) => (0..count).for_each(|i| store(i, size, load(i, row.source))),
        (true, false) => (0..count).for_each(|i| store(i, row.destination, load(i, size))),
        (false, false) => (0..count).for_each(|i| store(i, row.destination, load(i, row.source))),
    }
}
