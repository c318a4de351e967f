//! Copies and fills with non-temporal stores, which write whole cache lines without fetching them first.

use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};

use super::lines::{self, Row, are_aligned};
use crate::copy::portable;
use crate::copy::rows::{Kernel, LINE, Rows, Shape, Word};

/// The kernel for such rows, if the copy is streaming and there is one.
pub(in crate::copy) fn choose(shape: &Shape<'_>) -> Option<Kernel> {
    if !shape.volume.streams() {
        return None;
    }
    if shape.unit >= LINE {
        return Some(copy);
    }
    let row = shape.row?;
    let is_fill = row.source == 0 && row.destination == shape.unit as isize;
    if !is_fill || !has_whole_lines(shape) {
        return None;
    }
    match (shape.unit, shape.swap) {
        (1, _) => Some(fill::<u8>),
        (2, false) => Some(fill::<u16>),
        (4, false) => Some(fill::<u32>),
        (8, false) => Some(fill::<u64>),
        _ => None,
    }
}

/// Whether rows are long enough to contain whole lines.
pub(super) fn has_whole_lines(shape: &Shape<'_>) -> bool {
    shape.row.is_some_and(|row| shape.unit.saturating_mul(row.count) >= LINE)
}

/// Copies units of a line or more.
///
/// # Safety
/// See [`Kernel`]; a unit has at least `LINE` bytes.
unsafe fn copy(source: *const u8, destination: *mut u8, unit: usize, rows: &Rows) {
    let write_line = |from: *const u8, to: *mut u8| {
        let (from, to) = (from.cast::<__m128i>(), to.cast::<__m128i>());
        // SAFETY: SSE2 is part of x86-64. `copy_lines` passes a line of a unit, which is readable in the source and
        // writable in the destination, and in the destination it is a cache line, so it has the alignment that the
        // stores require.
        unsafe {
            let (a, b) = (_mm_loadu_si128(from), _mm_loadu_si128(from.add(1)));
            let (c, d) = (_mm_loadu_si128(from.add(2)), _mm_loadu_si128(from.add(3)));
            _mm_stream_si128(to, a);
            _mm_stream_si128(to.add(1), b);
            _mm_stream_si128(to.add(2), c);
            _mm_stream_si128(to.add(3), d);
        }
    };
    let write_part = |from: *const u8, to: *mut u8, bytes: usize| {
        // SAFETY: `copy_lines` passes a part of a unit, which is readable and writable and does not overlap.
        unsafe { to.copy_from_nonoverlapping(from, bytes) };
    };
    // SAFETY: the units are as the caller promises.
    unsafe { copy_lines(source, destination, unit, rows, write_line, write_part) };
}

/// Units of up to this length that consist of whole lines are copied one after another.
const FEW_LINES: usize = 4 * LINE;

/// Copies units of a line or more, line by line. The functions are those of [`lines::write`].
///
/// # Safety
/// See [`Kernel`]; `write_line` and `write_part` may read and write all units.
#[inline(always)]
pub(super) unsafe fn copy_lines(
    source: *const u8,
    destination: *mut u8,
    unit: usize,
    rows: &Rows,
    write_line: impl Fn(*const u8, *mut u8),
    write_part: impl Fn(*const u8, *mut u8, usize),
) {
    if unit <= FEW_LINES && unit % LINE == 0 && begin_with_lines(destination, rows) {
        return rows.for_each_unit(source, destination, |from, to| {
            for at in (0..unit).step_by(LINE) {
                write_line(from.wrapping_add(at), to.wrapping_add(at));
            }
        });
    }
    let row = Row { len: unit, stride: 1, word: 1 };
    rows.for_each_row(source, destination, |source, destination| {
        // SAFETY: the units of a row, as the caller promises; bytes have no alignment.
        unsafe { lines::write(source, destination, rows.row, row, &write_line, &write_part) };
    });
}

/// Whether every unit begins at the beginning of a cache line.
#[inline(always)]
fn begin_with_lines(destination: *mut u8, rows: &Rows) -> bool {
    let distances = rows.row.destination | rows.along.destination;
    (destination.addr() | distances as usize) % LINE == 0
}

/// Writes the same word over and over.
///
/// # Safety
/// See [`Kernel`]; a unit is a `W`, words are contiguous in the destination and one in the source.
unsafe fn fill<W: Word>(source: *const u8, destination: *mut u8, size: usize, rows: &Rows) {
    if !are_aligned(destination, rows, size) {
        // SAFETY: the portable kernel asks for nothing but what the caller promises.
        return unsafe { portable::words::<W, false>(source, destination, size, rows) };
    }
    let write_line = |from: *const u8, to: *mut u8| {
        // SAFETY: `from` is a word of the source, because all distances there are 0 along the row.
        let words = [unsafe { from.cast::<W>().read_unaligned() }; 16];
        for i in 0..LINE / 16 {
            // SAFETY: SSE2 is part of x86-64. Sixteen words have at least the 16 bytes that are loaded.
            // `lines::write` passes a cache line of the destination, which is writable and has the alignment that the
            // store requires.
            unsafe { _mm_stream_si128(to.cast::<__m128i>().add(i), _mm_loadu_si128(words.as_ptr().cast())) };
        }
    };
    let write_part = |from: *const u8, to: *mut u8, bytes: usize| {
        // SAFETY: `lines::write` passes a part of a row, of which the caller promises what the function asks for.
        unsafe { portable::word_row::<W, false>(from, to, rows.row.with_count(bytes / size)) };
    };
    let row = Row { len: rows.row.count * size, stride: 0, word: size };
    // SAFETY: the rows are as the caller promises, and they begin at multiples of the word.
    unsafe { lines::write(source, destination, rows.along, row, write_line, write_part) };
}
