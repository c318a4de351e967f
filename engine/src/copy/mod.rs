//! Copies n-dimensional boxes of elements between two strided layouts.
//!
//! A [`StridedCopy`] is prepared once and run for any number of boxes of the same shape. Preparation ignores axes of
//! length 1 and merges axes that are contiguous on both sides. A run checks that the box lies within both buffers and
//! passes it, two axes at a time, to the kernel that was chosen for its shape.
//!
//! What remains of a box is *units*, runs of bytes that are contiguous on both sides, and the axes from unit to unit.
//! For example, a box of 2 x 3 x 4 elements of 4 bytes, copied from a chunk of 8 x 3 x 6 elements to memory without
//! gaps, is
//!
//! ```text
//!                      count   source   destination
//! before:  innermost       4        4             4    in one run on both sides: merged into a unit of 16 bytes
//!                          3       24            16    becomes the row: 3 units
//!          outermost       2       72            48    = 3 times the axis before on both sides: merged into a row of 6
//!
//! after:   unit of 16 bytes, one axis { count: 6, source: 24, destination: 16 }
//! ```
//!
//! So a whole chunk, a row, and a scattered element differ only in the length of the unit. To fill a box, copy from a
//! single element: all distances in the source are 0.
//!
//! The imports within this folder lead one way: `mod` -> `kernel` (chooses) -> `x86` -> `portable`, `swap` (kernels) ->
//! `rows`.
#![allow(unsafe_code)]
#![allow(clippy::manual_is_multiple_of, reason = "`is_multiple_of` needs Rust 1.87, and this folder does not")]

mod extent;
mod gather;
mod kernel;
mod portable;
mod region;
mod rows;
mod swap;
#[cfg(target_arch = "x86_64")]
mod x86;

use smallvec::SmallVec;

use crate::error::{ErrorKind, Result};
use extent::Extent;
pub use gather::{List, Place, elements, for_each, for_each_of_box};
pub use kernel::{copies_past_cache, fence, stores_lines};
use rows::{Kernel, Rows, Shape};
pub use rows::{LINE, Volume};

pub use region::{Destination, Source};
pub use rows::Axis;

/// As many axes are held in place. Copies of more allocate memory.
const INLINE_AXES: usize = 9;

/// When it is dropped, the non-temporal stores that streaming copies have made before are ordered before all later
/// stores of this thread.
pub struct Fence {
    is_needed: bool,
}

impl Fence {
    /// A fence, if the copies of a transfer that writes so much need one.
    #[inline]
    pub(crate) fn new(volume: Volume) -> Self {
        Fence { is_needed: volume.streams() }
    }
}

impl Drop for Fence {
    #[inline]
    fn drop(&mut self) {
        if self.is_needed {
            fence();
        }
    }
}

/// A prepared copy.
pub struct StridedCopy {
    element_size: usize,
    unit: usize,
    swap: bool,
    /// From unit to unit, innermost first: see `order_axes`.
    axes: SmallVec<[Axis; INLINE_AXES]>,
    is_transposed: bool,
    volume: Volume,
    kernel: Kernel,
    source: Extent,
    destination: Extent,
}

/// Preparation.
impl StridedCopy {
    /// A copy that is not prepared yet, for a transfer that writes so much. It runs for no box.
    #[inline]
    pub(crate) fn unprepared(volume: Volume) -> Self {
        StridedCopy {
            element_size: 1,
            unit: 0,
            swap: false,
            axes: SmallVec::new(),
            is_transposed: false,
            volume,
            kernel: portable::units,
            source: Extent::UNBOUNDED,
            destination: Extent::UNBOUNDED,
        }
    }

    /// Prepares the copy of a box of elements of `element_size` bytes; `axes` come innermost first. With `swap`, the
    /// bytes of every word of that size are reversed during the copy; an element is a whole number of words.
    ///
    /// # Errors
    /// `Internal` for an element size of 0, for words of other than 2, 4 or 8 bytes, and for an axis of length 0.
    /// `OutOfMemory` if there are more than nine axes to keep and the allocation for them fails.
    pub fn new(element_size: usize, swap: Option<usize>, axes: impl Iterator<Item = Axis>) -> Result<Self> {
        let is_word = |word| matches!(word, 2 | 4 | 8) && element_size % word == 0;
        if element_size == 0 || !swap.is_none_or(is_word) {
            return Err(ErrorKind::Internal.into());
        }
        let mut copy = StridedCopy::unprepared(Volume::Small);
        copy.prepare(element_size, swap, axes)?;
        Ok(copy)
    }

    /// Prepares another copy, which is a part of the same transfer.
    pub fn like(&self, element_size: usize, swap: Option<usize>, axes: impl Iterator<Item = Axis>) -> Result<Self> {
        let mut copy = StridedCopy::unprepared(self.volume);
        copy.prepare(element_size, swap, axes)?;
        Ok(copy)
    }

    /// How much the transfer writes.
    #[inline]
    pub(crate) fn volume(&self) -> Volume {
        self.volume
    }

    /// Prepares this copy anew; the arguments are as for [`new`](Self::new), but not validated.
    #[inline]
    pub(crate) fn prepare(
        &mut self,
        element_size: usize,
        swap: Option<usize>,
        axes: impl Iterator<Item = Axis>,
    ) -> Result<()> {
        self.begin(element_size, swap);
        for axis in axes {
            self.push(axis)?;
        }
        self.finish();
        Ok(())
    }

    /// Begins to prepare this copy anew, for a single element. Axes are added by [`push`](Self::push);
    /// [`finish`](Self::finish) has to follow before the copy is run.
    #[inline]
    pub(crate) fn begin(&mut self, element_size: usize, swap: Option<usize>) {
        self.element_size = element_size;
        self.unit = element_size;
        self.swap = swap.is_some();
        self.axes.clear();
        let element = Extent::of_element(element_size);
        (self.source, self.destination) = (element, element);
        match swap {
            Some(word) if word < element_size => self.divide_into_words(word),
            _ => {}
        }
    }

    /// Makes the words of an element the units, and the first axis.
    fn divide_into_words(&mut self, word: usize) {
        let distance = word as isize;
        self.unit = word;
        // The list is empty and has room in place, so this does not allocate.
        self.axes.push(Axis { count: self.element_size / word, source: distance, destination: distance });
    }

    /// Adds an axis outside those that were added before. An axis of length 1 is ignored.
    ///
    /// # Errors
    /// `Internal` for an axis of length 0, `OutOfMemory` if there is no room for the axis and the allocation fails.
    #[inline]
    pub(crate) fn push(&mut self, axis: Axis) -> Result<()> {
        match axis.count {
            0 => return Err(ErrorKind::Internal.into()),
            1 => return Ok(()),
            _ => {}
        }
        self.source.add_axis(axis.count, axis.source);
        self.destination.add_axis(axis.count, axis.destination);
        if self.merge_into_unit(axis) || self.merge_into_last(axis) {
            return Ok(());
        }
        self.axes.try_reserve(1).map_err(|_| ErrorKind::OutOfMemory)?;
        self.axes.push(axis);
        Ok(())
    }

    /// Extends the unit by the axis, if units are contiguous along it on both sides. Words that are to be swapped
    /// remain units.
    #[inline]
    fn merge_into_unit(&mut self, axis: Axis) -> bool {
        let unit = self.unit as isize;
        let continues = self.axes.is_empty() && !self.swap && axis.source == unit && axis.destination == unit;
        if continues {
            self.unit = self.unit.saturating_mul(axis.count);
        }
        continues
    }

    /// Extends the outermost axis by this one, if each of its steps continues where the outermost axis ends.
    #[inline]
    fn merge_into_last(&mut self, axis: Axis) -> bool {
        let Some(last) = self.axes.last_mut() else { return false };
        let continues =
            axis.source == times(last.source, last.count) && axis.destination == times(last.destination, last.count);
        match last.count.checked_mul(axis.count) {
            Some(count) if continues => {
                last.count = count;
                true
            }
            _ => false,
        }
    }

    /// Ends the preparation: orders the axes and chooses the kernel.
    #[inline]
    pub(crate) fn finish(&mut self) {
        if self.axes.is_empty() && self.unit < LINE {
            // Many elements may be read one by one, so a single one must not cost more than it has to.
            self.is_transposed = false;
            self.kernel = portable::choose_single(self.unit, self.swap);
        } else {
            self.finish_box();
        }
    }

    /// What [`finish`](Self::finish) does for more than a single element.
    #[inline(never)]
    fn finish_box(&mut self) {
        self.is_transposed = self.axes.len() > 1 && self.order_axes();
        self.kernel = kernel::choose(&self.shape());
    }

    fn shape(&self) -> Shape<'_> {
        Shape {
            unit: self.unit,
            swap: self.swap,
            row: self.axes.first(),
            is_transposed: self.is_transposed,
            volume: self.volume,
        }
    }

    /// Makes the axis along which units are closest in the destination the first. If units are closest in the source
    /// along another axis, the box is transposed, and that axis becomes the second, so that a kernel can copy blocks
    /// of the two.
    fn order_axes(&mut self) -> bool {
        let axes = self.axes.as_mut_slice();
        let first = closest(axes, |axis| axis.destination);
        axes[..=first].rotate_right(1);
        let second = closest(axes, |axis| axis.source);
        let distance = axes[second].source.unsigned_abs();
        let is_transposed = 0 < distance && distance < axes[0].source.unsigned_abs();
        if is_transposed {
            axes[1..=second].rotate_right(1);
        }
        is_transposed
    }
}

/// The index of the axis along which units are closest; the first one if there are several.
fn closest(axes: &[Axis], distance: fn(&Axis) -> isize) -> usize {
    axes.iter().enumerate().min_by_key(|(_, axis)| distance(axis).unsigned_abs()).map_or(0, |(i, _)| i)
}

/// The length in bytes of so many steps.
fn times(distance: isize, count: usize) -> isize {
    distance.saturating_mul(isize::try_from(count).unwrap_or(isize::MAX))
}

/// Use of a prepared copy.
impl StridedCopy {
    /// Whether the box is one run of exactly `bytes` bytes on both sides.
    pub fn is_one_piece(&self, bytes: usize) -> bool {
        match self.axes.as_slice() {
            [] => self.unit == bytes,
            &[axis] => {
                let unit = self.unit as isize;
                axis.source == unit && axis.destination == unit && self.unit.checked_mul(axis.count) == Some(bytes)
            }
            _ => false,
        }
    }

    /// The bytes that the box reaches in the source, relative to its first element: from the first number (at most 0)
    /// up to, not including, the second.
    #[inline]
    pub fn source_reach(&self) -> (isize, isize) {
        self.source.range()
    }

    /// Whether the box lies within a source and a destination of these sizes, if its first element is at these offsets,
    /// all in bytes: each pair is an offset and a size.
    pub fn fits(&self, source: (usize, usize), destination: (usize, usize)) -> bool {
        self.source.fits(source.0, source.1) && self.destination.fits(destination.0, destination.1)
    }

    /// Copies one box. Its first element is at `source_offset` and `destination_offset`, in bytes.
    ///
    /// # Errors
    /// `Internal` if the box does not lie within both regions. Then nothing is copied.
    #[inline]
    pub fn run(
        &self,
        source: Source<'_>,
        source_offset: usize,
        destination: &mut Destination<'_>,
        destination_offset: usize,
    ) -> Result<()> {
        let (source, destination) = self.locate(source, source_offset, destination, destination_offset)?;
        let copy_rows = |source: *const u8, destination: *mut u8, rows: &Rows| {
            // SAFETY: `locate` has checked that the box lies within both regions, and these are rows of the box:
            // their bytes are readable in the source and writable in the destination. The regions do not overlap
            // because the destination is borrowed exclusively. The kernel was chosen for the unit and for the first
            // axis, which is `rows.row`.
            unsafe { (self.kernel)(source, destination, self.unit, rows) };
            Ok(())
        };
        if self.axes.is_empty() {
            copy_rows(source, destination, &Rows::ONE)?;
        } else {
            self.for_each_rows(source, destination, copy_rows)?;
        }
        Ok(())
    }

    /// Copies one box as [`run`](Self::run) does, but by a function of the caller's. It is passed the number of
    /// elements of a run that is contiguous on both sides, and where the run begins. The copy must have been prepared
    /// without a swap.
    ///
    /// # Errors
    /// As for [`run`](Self::run), and the first error of `copy_elements`, which ends the copy.
    pub fn run_with(
        &self,
        source: Source<'_>,
        source_offset: usize,
        destination: &mut Destination<'_>,
        destination_offset: usize,
        copy_elements: &mut dyn FnMut(usize, *const u8, *mut u8) -> Result<()>,
    ) -> Result<()> {
        let elements = self.unit / self.element_size;
        let (source, destination) = self.locate(source, source_offset, destination, destination_offset)?;
        self.for_each_rows(source, destination, |source, destination, rows| {
            let mut result = Ok(());
            rows.for_each_unit(source, destination, |from, to| {
                if result.is_ok() {
                    result = copy_elements(elements, from, to);
                }
            });
            result
        })
    }

    /// The addresses of the first element on both sides, if the box lies within both regions.
    #[inline]
    fn locate(
        &self,
        source: Source<'_>,
        source_offset: usize,
        destination: &mut Destination<'_>,
        destination_offset: usize,
    ) -> Result<(*const u8, *mut u8)> {
        // The extents are the sums over all axes of the steps that are taken, so no unit lies outside the regions.
        if !self.source.fits(source_offset, source.len())
            || !self.destination.fits(destination_offset, destination.len())
        {
            return Err(ErrorKind::Internal.into());
        }
        Ok((source.pointer().wrapping_add(source_offset), destination.pointer().wrapping_add(destination_offset)))
    }

    /// Calls `visit` for the two innermost axes at each position of the others.
    #[inline(never)]
    fn for_each_rows(
        &self,
        source: *const u8,
        destination: *mut u8,
        mut visit: impl FnMut(*const u8, *mut u8, &Rows) -> Result<()>,
    ) -> Result<()> {
        match self.axes.as_slice() {
            [] => visit(source, destination, &Rows::ONE),
            &[row] => visit(source, destination, &Rows { row, along: Axis::ONE }),
            &[row, along] => visit(source, destination, &Rows { row, along }),
            &[row, along, ref outer @ ..] => {
                let rows = Rows { row, along };
                for_each_position(outer, source, destination, &mut |from, to| visit(from, to, &rows))
            }
        }
    }
}

/// Calls `visit` at each position of a box with these axes, the first axis fastest, until it fails.
fn for_each_position(
    axes: &[Axis],
    source: *const u8,
    destination: *mut u8,
    visit: &mut impl FnMut(*const u8, *mut u8) -> Result<()>,
) -> Result<()> {
    let Some((outermost, inner)) = axes.split_last() else { return visit(source, destination) };
    for i in 0..outermost.count {
        let (source, destination) = outermost.at(source, destination, i);
        if inner.is_empty() {
            visit(source, destination)?;
        } else {
            for_each_position(inner, source, destination, visit)?;
        }
    }
    Ok(())
}

/// Copies a single element of `size` bytes, which lies at `offset` in the source, to the beginning of the destination.
/// With `swap`, the bytes of every word of that size are reversed.
///
/// # Errors
/// `Internal` if the element does not lie within both regions.
#[inline]
pub fn element(
    size: usize,
    swap: Option<usize>,
    (source, source_offset): (Source<'_>, usize),
    (destination, destination_offset): (&mut Destination<'_>, usize),
) -> Result<()> {
    // SAFETY: an element has no gaps, so all of its bytes are copied ones.
    let (source, destination) =
        unsafe { (source.piece(source_offset, size), destination.piece(destination_offset, size)) };
    let (Some(source), Some(destination)) = (source, destination) else { return Err(ErrorKind::Internal.into()) };
    let (from, to) = (source.as_ptr(), destination.as_mut_ptr().cast::<u8>());
    macro_rules! copy {
        ($word:ty) => {{
            // SAFETY: both pieces have as many bytes as the word, which need not be aligned.
            unsafe {
                let word = from.cast::<$word>().read_unaligned();
                to.cast::<$word>().write_unaligned(if swap.is_some() { word.swap_bytes() } else { word });
            }
            Ok(())
        }};
    }
    match size {
        1 => copy!(u8),
        2 if swap.is_none_or(|word| word == size) => copy!(u16),
        4 if swap.is_none_or(|word| word == size) => copy!(u32),
        8 if swap.is_none_or(|word| word == size) => copy!(u64),
        _ => {
            // SAFETY: both pieces have `size` bytes; they do not overlap, for the destination is borrowed exclusively.
            // What was written is initialised.
            let copied = unsafe {
                to.copy_from_nonoverlapping(from, size);
                std::slice::from_raw_parts_mut(to, size)
            };
            if let Some(word) = swap {
                swap_in_place(copied, word);
            }
            Ok(())
        }
    }
}

/// Reverses the bytes of every word of `word` bytes; 0 stands for elements without words. Bytes after the last whole
/// word remain as they are.
pub fn swap_in_place(bytes: &mut [u8], word: usize) {
    // A single word is no work for vectors.
    if bytes.len() == word {
        return swap::words(bytes, word);
    }
    #[cfg(target_arch = "x86_64")]
    if x86::swap_in_place(bytes, word) {
        return;
    }
    swap::words(bytes, word);
}

#[cfg(test)]
mod tests;
