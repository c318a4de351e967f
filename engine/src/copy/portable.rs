//! The kernels that every processor has.

use super::rows::{Axis, Kernel, LINE, Rows, Shape, Word, maybe_swapped};

/// The kernel for such rows.
#[inline]
pub(super) fn choose(shape: &Shape<'_>) -> Kernel {
    match shape {
        Shape { row: None, .. } => choose_single(shape.unit, shape.swap),
        Shape { is_transposed: false, row: Some(row), .. } if row.destination != shape.unit as isize => {
            choose_scattered(shape.unit, shape.swap)
        }
        Shape { is_transposed: false, .. } => choose_rows(shape.unit, shape.swap),
        Shape { is_transposed: true, .. } => choose_transposed(shape.unit, shape.swap),
    }
}

/// Chooses among the instances of a kernel that is generic over the word. Sizes that are no integer's are arrays of
/// bytes.
macro_rules! instance {
    ($kernel:ident, $unit:expr, $swap:expr, [$($size:literal)*], $else:expr) => {
        match ($unit, $swap) {
            (1, _) => $kernel::<u8, false>,
            (2, false) => $kernel::<u16, false>,
            (4, false) => $kernel::<u32, false>,
            (8, false) => $kernel::<u64, false>,
            (2, true) => $kernel::<u16, true>,
            (4, true) => $kernel::<u32, true>,
            (8, true) => $kernel::<u64, true>,
            $(($size, _) => $kernel::<[u8; $size], false>,)*
            _ => $else,
        }
    };
}

/// The kernel for a single unit.
#[inline]
pub(super) fn choose_single(unit: usize, swap: bool) -> Kernel {
    instance!(single, unit, swap, [3 5 6 7 9 10 11 12 13 14 15 16 20 24 32], units)
}

/// The kernel for rows of a box that is not transposed.
fn choose_rows(unit: usize, swap: bool) -> Kernel {
    let other = if (16..=SHORT).contains(&unit) { short_units } else { units };
    instance!(
        words, unit, swap,
        [3 5 6 7 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 64 128],
        other
    )
}

/// The kernel for rows whose units are not contiguous in the destination.
fn choose_scattered(unit: usize, swap: bool) -> Kernel {
    instance!(scattered, unit, swap, [], choose_rows(unit, swap))
}

/// The kernel for rows of a transposed box.
fn choose_transposed(unit: usize, swap: bool) -> Kernel {
    instance!(transposed, unit, swap, [3 5 6 7 9 10 11 12 13 14 15 16], choose_rows(unit, swap))
}

/// The kernel for rows that are elements of a few words, if these are to be swapped.
pub(super) fn choose_elements(shape: &Shape<'_>) -> Option<Kernel> {
    match (shape.unit, shape.words_of_element()?) {
        (2, 2) => Some(swap_elements::<[u16; 2]>),
        (2, 3) => Some(swap_elements::<[u16; 3]>),
        (4, 2) => Some(swap_elements::<[u32; 2]>),
        (4, 3) => Some(swap_elements::<[u32; 3]>),
        (4, 4) => Some(swap_elements::<[u32; 4]>),
        (8, 2) => Some(swap_elements::<[u64; 2]>),
        (8, 3) => Some(swap_elements::<[u64; 3]>),
        (8, 4) => Some(swap_elements::<[u64; 4]>),
        _ => None,
    }
}

/// Copies units of any size.
///
/// # Safety
/// See [`Kernel`].
pub(super) unsafe fn units(source: *const u8, destination: *mut u8, unit: usize, rows: &Rows) {
    // SAFETY: these are the addresses of a unit, which is readable and writable and does not overlap itself.
    rows.for_each_unit(source, destination, |source, destination| unsafe {
        destination.copy_from_nonoverlapping(source, unit);
    });
}

/// The largest unit for which a call of memcpy was measured to cost more than [`short_units`].
const SHORT: usize = 256;

/// Copies units of 16 to [`SHORT`] bytes, 16 bytes at a time. The last 16 overlap those before unless the unit is a
/// multiple:
///
/// ```text
/// unit of 40 bytes   |<----- 16 ----->|<----- 16 ----->|        |
///                    |                         |<----- 16 ----->|
/// ```
///
/// # Safety
/// See [`Kernel`]; a unit has at least 16 bytes.
unsafe fn short_units(source: *const u8, destination: *mut u8, unit: usize, rows: &Rows) {
    type Piece = [u8; 16];
    let last = unit - size_of::<Piece>();
    rows.for_each_unit(source, destination, |source, destination| {
        let copy_piece = |at: usize| {
            // SAFETY: `at` is at most `last`, so the piece ends no later than the unit does.
            unsafe {
                let piece = source.add(at).cast::<Piece>().read_unaligned();
                destination.add(at).cast::<Piece>().write_unaligned(piece);
            }
        };
        let mut at = 0;
        while at < last {
            copy_piece(at);
            at += size_of::<Piece>();
        }
        copy_piece(last);
    });
}

/// Copies a single word.
///
/// # Safety
/// See [`Kernel`]; `rows` is a single unit, which is a `W`.
unsafe fn single<W: Word, const SWAP: bool>(source: *const u8, destination: *mut u8, _: usize, _: &Rows) {
    // SAFETY: these are the addresses of the unit.
    unsafe { copy_word::<W, SWAP>(source, destination) };
}

/// Copies words that are stored one by one. It has no loop for any particular distance, and so nothing to find out
/// before the first word.
///
/// # Safety
/// See [`Kernel`]; a unit is a `W`.
unsafe fn scattered<W: Word, const SWAP: bool>(source: *const u8, destination: *mut u8, _: usize, rows: &Rows) {
    // SAFETY: these are the addresses of a unit.
    rows.for_each_unit(source, destination, |source, destination| unsafe {
        copy_word::<W, SWAP>(source, destination);
    });
}

/// Copies one word.
///
/// # Safety
/// The word is readable and initialised in the source, writable in the destination, and does not overlap itself. No
/// alignment is assumed.
#[inline(always)]
unsafe fn copy_word<W: Word, const SWAP: bool>(source: *const u8, destination: *mut u8) {
    // SAFETY: as the caller promises.
    unsafe {
        let word = source.cast::<W>().read_unaligned();
        destination.cast::<W>().write_unaligned(maybe_swapped::<W, SWAP>(word));
    }
}

/// Copies units that are words.
///
/// # Safety
/// See [`Kernel`]; a unit is a `W`.
#[inline(always)]
pub(super) unsafe fn words<W: Word, const SWAP: bool>(
    mut source: *const u8,
    mut destination: *mut u8,
    _: usize,
    rows: &Rows,
) {
    let Rows { row, along } = *rows;
    // A closure, as `for_each_row` takes it, would not be compiled for the instructions that the caller is compiled
    // for.
    for _ in 0..along.count {
        // SAFETY: these are the first addresses of a row, whose units are as the caller promises.
        unsafe { word_row::<W, SWAP>(source, destination, row) };
        source = source.wrapping_offset(along.source);
        destination = destination.wrapping_offset(along.destination);
    }
}

/// Copies rows each of which is an element of several words, the bytes of each word reversed.
///
/// # Safety
/// See [`Kernel`]; a row is an `E`, without gaps.
unsafe fn swap_elements<E: Word>(source: *const u8, destination: *mut u8, _: usize, rows: &Rows) {
    // SAFETY: the rows are elements at a constant distance, which makes them a row of units that are `E`s.
    unsafe { word_row::<E, true>(source, destination, rows.along) };
}

/// Copies a transposed box in blocks whose edges are a cache line of units: all units of the source lines that a
/// block touches are used while the lines are in the cache, and each line of the destination is written at once.
///
/// # Safety
/// See [`Kernel`]; a unit is a `W`.
pub(super) unsafe fn transposed<W: Word, const SWAP: bool>(
    source: *const u8,
    destination: *mut u8,
    unit: usize,
    rows: &Rows,
) {
    let edge = (LINE / size_of::<W>()).max(1);
    rows.for_each_block(source, destination, [edge, edge], |source, destination, block| {
        // SAFETY: the units of the block are among those of `rows`, for which the caller promises the same.
        unsafe { words::<W, SWAP>(source, destination, unit, block) };
    });
}

/// Copies one row of words. The common distances have a loop of their own, in which the distance is a constant, so
/// that the compiler can vectorise it.
///
/// # Safety
/// As for [`Kernel`], for one row; a unit is a `W`.
#[inline(always)]
pub(super) unsafe fn word_row<W: Word, const SWAP: bool>(source: *const u8, destination: *mut u8, row: Axis) {
    let size = size_of::<W>() as isize;
    // Not `wrapping_offset`: the compiler vectorises more loops if it knows that addresses do not wrap around.
    let load = |i: isize, distance: isize| {
        // SAFETY: `i` is below the length of the row and `distance` is the row's, so this is one of its words. It is
        // part of the source, readable, and initialised, and no alignment is assumed.
        let word = unsafe { source.offset(i * distance).cast::<W>().read_unaligned() };
        maybe_swapped::<W, SWAP>(word)
    };
    let store = |i: isize, distance: isize, word: W| {
        // SAFETY: likewise, this is a word of the destination, which is writable.
        unsafe { destination.offset(i * distance).cast::<W>().write_unaligned(word) };
    };
    let indices = 0..row.count as isize;
    let is_dense = |distance: isize| distance == size && W::IS_VECTORISED;
    let is_dense_gather = |distance: isize| row.source == distance && is_dense(row.destination);
    if row.source == 0 && row.destination == size {
        if row.count > 0 {
            let word = load(0, 0);
            indices.for_each(|i| store(i, size, word));
        }
    } else if is_dense_gather(size) {
        indices.for_each(|i| store(i, size, load(i, size)));
    } else if is_dense_gather(2 * size) {
        indices.for_each(|i| store(i, size, load(i, 2 * size)));
    } else if is_dense_gather(3 * size) {
        indices.for_each(|i| store(i, size, load(i, 3 * size)));
    } else if is_dense_gather(4 * size) {
        indices.for_each(|i| store(i, size, load(i, 4 * size)));
    } else if is_dense(row.destination) {
        // No vector loads words that are so far apart, and an address that steps on takes no multiplication. The last
        // step may lead out of the source, so it wraps around; nothing is read there.
        let mut from = source;
        for i in indices {
            // SAFETY: this is `i * row.source` bytes behind `source`: a word of the source, as in `load`.
            let word = unsafe { from.cast::<W>().read_unaligned() };
            store(i, size, maybe_swapped::<W, SWAP>(word));
            from = from.wrapping_offset(row.source);
        }
    } else {
        indices.for_each(|i| store(i, row.destination, load(i, row.source)));
    }
}
