//! Transposed boxes, written with non-temporal stores.
//!
//! In a transposed box, neighbours in the destination lie in different lines of the source. The box is divided into
//! blocks: `EDGE` words of as many rows as a line of the source has words. For words of 8 bytes:
//!
//! ```text
//!      source                          buffer in the cache               destination
//!      64 lines, each from another     8 rows of 64 words,               8 runs of 8 whole lines
//!      place: 8 words of 8 rows        transposed in tiles of 8 x 8      by non-temporal stores
//! ```

use std::arch::x86_64::{_mm_load_si128, _mm_stream_si128};
use std::mem::MaybeUninit;

use crate::copy::portable;
use crate::copy::rows::{Axis, Kernel, LINE, Rows, Shape, Word, maybe_swapped};

/// Words of a row that are written at a time. With fewer, the runs are too short for the memory; with more, the
/// source lines come from too many pages at a time.
const EDGE: usize = 64;

/// Words along the edge of the square that the compiler transposes in registers.
const TILE: usize = 8;

/// A block of the box, in the order of the destination.
#[repr(align(64))]
struct Block([MaybeUninit<u8>; EDGE * LINE]);

/// The kernel for such words, if there is one.
pub(super) fn choose(shape: &Shape<'_>) -> Option<Kernel> {
    match (shape.unit, shape.swap) {
        (2, false) => Some(copy::<u16, false>),
        (4, false) => Some(copy::<u32, false>),
        (8, false) => Some(copy::<u64, false>),
        (2, true) => Some(copy::<u16, true>),
        (4, true) => Some(copy::<u32, true>),
        (8, true) => Some(copy::<u64, true>),
        _ => None,
    }
}

/// Copies with non-temporal stores if all rows have the same alignment to cache lines, else with the portable kernel.
///
/// # Safety
/// See [`Kernel`]; a unit is a `W`.
unsafe fn copy<W: Word, const SWAP: bool>(source: *const u8, destination: *mut u8, unit: usize, rows: &Rows) {
    let head = rows.row.with_count(words_before_lines::<W>(destination, rows).min(rows.row.count));
    let (source_of_lines, lines) = rows.row.at(source, destination, head.count);
    let after_head = rows.row.with_count(rows.row.count - head.count);
    // SAFETY: both are parts of the box, for which the caller promises what the functions ask for. In the second
    // part, if it has any words, the rows begin with whole lines and words are contiguous, as `words_before_lines`
    // says.
    unsafe {
        portable::transposed::<W, SWAP>(source, destination, unit, &Rows { row: head, ..*rows });
        copy_blocks::<W, SWAP>(source_of_lines, lines, &Rows { row: after_head, ..*rows });
    }
}

/// How many words precede the first line boundary in each row of the destination; `usize::MAX` if that differs from
/// row to row, or if words are not contiguous where [`copy_blocks`] needs it.
fn words_before_lines<W>(destination: *mut u8, rows: &Rows) -> usize {
    let size = size_of::<W>();
    let is_contiguous = rows.row.destination == size as isize && rows.along.source == size as isize;
    let is_aligned = destination.addr() % size == 0 && rows.along.destination.unsigned_abs() % LINE == 0;
    if is_contiguous && is_aligned { destination.addr().wrapping_neg() % LINE / size } else { usize::MAX }
}

/// Copies block by block.
///
/// # Safety
/// See [`Kernel`]; a unit is a `W`. Words are contiguous along the row in the destination and across the rows in the
/// source, and every row of the destination begins with a cache line.
unsafe fn copy_blocks<W: Word, const SWAP: bool>(source: *const u8, destination: *mut u8, rows: &Rows) {
    let size = size_of::<W>();
    let mut block = Block([MaybeUninit::uninit(); EDGE * LINE]);
    let block = block.0.as_mut_ptr().cast::<u8>();
    rows.for_each_block(source, destination, [EDGE, LINE / size], |source, destination, part| {
        let in_block = Axis { destination: (EDGE * size) as isize, ..part.along };
        // SAFETY: the words of `part` are readable. The block has room for `LINE / size` rows of `EDGE` words.
        unsafe { transpose::<W, SWAP>(source, block, &Rows { row: part.row, along: in_block }) };
        for j in 0..part.along.count {
            let row_in_block = in_block.at(source, block, j).1;
            let row = part.along.at(source, destination, j).1;
            // SAFETY: `transpose` has initialised as many words of each row of the block, and there is room for them
            // in the destination. Blocks begin with cache lines in both: `EDGE` words are a multiple of a line.
            unsafe { write_row(row_in_block, row, part.row.count * size) };
        }
    });
}

/// Writes so many bytes, whole lines by non-temporal stores.
///
/// # Safety
/// The bytes are readable and writable, do not overlap, and begin with a cache line on both sides.
#[inline(always)]
unsafe fn write_row(source: *const u8, destination: *mut u8, len: usize) {
    let lines = len / LINE * LINE;
    // SAFETY: SSE2 is part of x86-64; all addresses are within the row, and those of vectors are multiples of 16 as the
    // instructions require.
    unsafe {
        for at in (0..lines).step_by(16) {
            _mm_stream_si128(destination.add(at).cast(), _mm_load_si128(source.add(at).cast()));
        }
        destination.add(lines).copy_from_nonoverlapping(source.add(lines), len - lines);
    }
}

/// Copies in tiles of `TILE` x `TILE` words, and the rest word by word.
///
/// # Safety
/// See [`Kernel`]; a unit is a `W`. Words are contiguous along the row in the destination and across the rows in the
/// source.
unsafe fn transpose<W: Word, const SWAP: bool>(source: *const u8, destination: *mut u8, rows: &Rows) {
    let in_tiles = |axis: Axis| axis.with_count(axis.count / TILE * TILE);
    let (row, along) = (in_tiles(rows.row), in_tiles(rows.along));
    Rows { row, along }.for_each_block(source, destination, [TILE, TILE], |source, destination, _| {
        let load_column = |i| {
            // SAFETY: the words are contiguous across the rows, and `TILE` of them are readable at each word of the
            // row.
            let words = unsafe { row.at(source, destination, i).0.cast::<[W; TILE]>().read_unaligned() };
            words.map(maybe_swapped::<W, SWAP>)
        };
        let columns: [[W; TILE]; TILE] = std::array::from_fn(load_column);
        // Not by `map` on arrays: the compiler transposes in registers only what is indexed.
        let words: [[W; TILE]; TILE] = std::array::from_fn(|j| std::array::from_fn(|i| columns[i][j]));
        for (j, words) in words.into_iter().enumerate() {
            // SAFETY: the words are contiguous along the row, and `TILE` of them are writable in each row.
            unsafe { along.at(source, destination, j).1.cast::<[W; TILE]>().write_unaligned(words) };
        }
    });
    // Outside the tiles are the ends of the rows and the last rows.
    for j in 0..rows.along.count {
        let done = if j < along.count { row.count } else { 0 };
        let (source, destination) = rows.along.at(source, destination, j);
        let (source, destination) = row.at(source, destination, done);
        // SAFETY: these are the words of the row that no tile has, and the caller promises that they can be copied.
        unsafe { portable::word_row::<W, SWAP>(source, destination, row.with_count(rows.row.count - done)) };
    }
}
