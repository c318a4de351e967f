//! Transposed boxes past the cache.

use std::arch::x86_64::{_mm_load_si128, _mm_stream_si128};
use std::mem::MaybeUninit;

use crate::copy::kernel::{self, Kernel, Word};
use crate::copy::{Axis, LINE, Rows};

/// Words of a row of the destination that are written at a time. Fewer write memory in pieces too short for it, more come from
/// too many pages at a time.
const EDGE: usize = 64;

/// Words along the edge of what compilers transpose in registers.
const TILE: usize = 8;

/// A part of the box, `EDGE` words of as many rows as a line of the source has words, as it is to be written.
#[repr(align(64))]
struct Block([MaybeUninit<u8>; EDGE * LINE]);

/// The kernel for such words, if there is one.
#[inline]
pub(super) fn choose(unit: usize, swap: bool) -> Option<Kernel> {
    match (unit, swap) {
        (2, false) => Some(copy::<u16, false>),
        (4, false) => Some(copy::<u32, false>),
        (8, false) => Some(copy::<u64, false>),
        (2, true) => Some(copy::<u16, true>),
        (4, true) => Some(copy::<u32, true>),
        (8, true) => Some(copy::<u64, true>),
        _ => None,
    }
}

/// Copies past the cache, if the rows' lines begin at the same words.
///
/// # Safety
/// See [`Kernel`].
unsafe fn copy<W: Word, const SWAP: bool>(source: *const u8, destination: *mut u8, unit: usize, rows: Rows) {
    let size = size_of::<W>();
    let is_contiguous = rows.row.destination == size as isize && rows.along.source == size as isize;
    let has_lines =
        destination.addr().is_multiple_of(size) && rows.along.destination.unsigned_abs().is_multiple_of(LINE);
    let head = if is_contiguous && has_lines {
        ((destination.addr().wrapping_neg() % LINE) / size).min(rows.row.count)
    } else {
        rows.row.count
    };
    // SAFETY: two parts of what the caller promised; the second begins with lines.
    unsafe {
        kernel::transposed::<W, SWAP>(
            source,
            destination,
            unit,
            Rows { row: Axis { count: head, ..rows.row }, ..rows },
        );
        let (source, destination) = rows.row.at(source, destination, head);
        lines::<W, SWAP>(source, destination, Rows { row: Axis { count: rows.row.count - head, ..rows.row }, ..rows });
    }
}

/// Copies block by block.
///
/// # Safety
/// See [`Kernel`]; words are contiguous along the row in the destination and along the other axis in the source, and every
/// row begins with a line of the memory's.
unsafe fn lines<W: Word, const SWAP: bool>(source: *const u8, destination: *mut u8, rows: Rows) {
    let size = size_of::<W>();
    let mut block = Block([MaybeUninit::uninit(); EDGE * LINE]);
    kernel::in_parts(source, destination, rows, [EDGE, LINE / size], |source, destination, part| {
        let block = block.0.as_mut_ptr().cast::<u8>();
        let collected = Axis { destination: (EDGE * size) as isize, ..part.along };
        // SAFETY: a part of what the caller promised; the block has room for it.
        unsafe { tiles::<W, SWAP>(source, block, Rows { row: part.row, along: collected }) };
        let len = part.row.count * size;
        let whole = len / LINE * LINE;
        for j in 0..part.along.count {
            let from = collected.at(source, block, j).1;
            let to = part.along.at(source, destination, j).1;
            // SAFETY: every x86-64 has these; the words were just collected, there is room for them, and lines are the memory's.
            unsafe {
                for at in (0..whole).step_by(16) {
                    _mm_stream_si128(to.add(at).cast(), _mm_load_si128(from.add(at).cast()));
                }
                to.add(whole).copy_from_nonoverlapping(from.add(whole), len - whole);
            }
        }
    });
}

/// Copies tile by tile.
///
/// # Safety
/// See [`lines`]; rows may begin anywhere.
unsafe fn tiles<W: Word, const SWAP: bool>(source: *const u8, destination: *mut u8, rows: Rows) {
    let in_order = |word: W| if SWAP { word.swapped() } else { word };
    let whole = |axis: Axis| Axis { count: axis.count / TILE * TILE, ..axis };
    let (row, along) = (whole(rows.row), whole(rows.along));
    kernel::in_parts(source, destination, Rows { row, along }, [TILE, TILE], |source, destination, _| {
        // SAFETY: all words are the caller's, and unaligned access is asked for.
        unsafe {
            let load = |i| row.at(source, destination, i).0.cast::<[W; TILE]>().read_unaligned().map(in_order);
            let tile: [[W; TILE]; TILE] = std::array::from_fn(load);
            let columns: [[W; TILE]; TILE] = std::array::from_fn(|j| std::array::from_fn(|i| tile[i][j]));
            for (j, column) in columns.into_iter().enumerate() {
                along.at(source, destination, j).1.cast::<[W; TILE]>().write_unaligned(column);
            }
        }
    });
    // What tiles leave: the ends of the rows, and the last rows.
    for j in 0..rows.along.count {
        let (source, destination) = along.at(source, destination, j);
        let done = if j < along.count { row.count } else { 0 };
        let (source, destination) = row.at(source, destination, done);
        // SAFETY: a part of what the caller promised.
        unsafe { kernel::word_row::<W, SWAP>(source, destination, Axis { count: rows.row.count - done, ..row }) };
    }
}
