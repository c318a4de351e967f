//! Moving an n-dimensional box of elements between two strided layouts.
//!
//! A [`StridedCopy`] is prepared once and run for any number of boxes of the same shape. Preparing drops axes of length 1
//! and merges axes that are contiguous on both sides, so that what remains is `unit` bytes moved as one and the few axes
//! along which units are strided; running checks the box against both buffers and hands the rows to one kernel. A whole
//! chunk, a row and a scattered element are the same thing with ever shorter units.
//!
//! Filling is a copy from one element with strides of 0.
#![allow(unsafe_code)]

mod copier;
mod kernel;
mod region;
#[cfg(target_arch = "x86_64")]
mod x86;

use smallvec::SmallVec;

use crate::dims::{self, Dims};
use crate::error::{ErrorKind, Result};
use kernel::Kernel;

pub use copier::Copier;
pub use region::{Destination, Source};

/// The bytes that memory and caches exchange at a time.
const LINE: usize = 64;

/// One axis of a box: how many, and the distance in bytes between neighbours on either side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Axis {
    /// Length, at least 1.
    pub count: usize,
    /// Distance in bytes in the source.
    pub source: isize,
    /// Distance in bytes in the destination.
    pub destination: isize,
}

impl Axis {
    /// An axis of one.
    const ONE: Axis = Axis { count: 1, source: 0, destination: 0 };

    /// Where the i-th place along the axis is, if these are the first.
    #[inline(always)]
    fn at(&self, source: *const u8, destination: *mut u8, i: usize) -> (*const u8, *mut u8) {
        let i = i as isize;
        (
            source.wrapping_offset(i.wrapping_mul(self.source)),
            destination.wrapping_offset(i.wrapping_mul(self.destination)),
        )
    }

    /// The same axis in the opposite direction.
    #[must_use]
    pub fn reversed(self) -> Self {
        Axis { count: self.count, source: self.destination, destination: self.source }
    }
}

/// The bytes a box reaches on one side, relative to its first element: from `low` (at most 0) up to, not including, `high`.
#[derive(Debug, Clone, Copy)]
struct Extent {
    low: isize,
    high: isize,
}

impl Extent {
    fn add_axis(&mut self, count: usize, stride: isize) {
        let steps = isize::try_from(count - 1).unwrap_or(isize::MAX);
        let reach = stride.saturating_mul(steps);
        let side = if reach < 0 { &mut self.low } else { &mut self.high };
        *side = side.saturating_add(reach);
    }

    /// Whether the box lies within `len` bytes when its first element is at `offset`.
    fn fits(&self, offset: usize, len: usize) -> bool {
        offset.checked_add_signed(self.low).is_some()
            && offset.checked_add_signed(self.high).is_some_and(|end| end <= len)
    }
}

/// A prepared copy.
pub struct StridedCopy {
    element_size: usize,
    unit: usize,
    /// Innermost first: see `order_axes`.
    axes: SmallVec<[Axis; 9]>,
    is_transposed: bool,
    kernel: Kernel,
    stream: bool,
    source: Extent,
    destination: Extent,
}

impl Default for StridedCopy {
    /// A copy that is yet to be prepared.
    fn default() -> Self {
        let nowhere = Extent { low: 0, high: isize::MAX };
        StridedCopy {
            element_size: 1,
            unit: 0,
            axes: SmallVec::new(),
            is_transposed: false,
            kernel: kernel::copy,
            stream: false,
            source: nowhere,
            destination: nowhere,
        }
    }
}

impl StridedCopy {
    /// Prepares the copy of a box of elements of `element_size` bytes; `axes` come innermost first. With `swap`, the bytes
    /// of every word of that size are reversed on the way; an element is a whole number of words.
    ///
    /// # Errors
    /// `Internal` for an element without bytes, for words of other than 2, 4 or 8 bytes, and for an axis of none.
    pub fn new(element_size: usize, swap: Option<usize>, axes: impl Iterator<Item = Axis>) -> Result<Self> {
        let is_word = |word| matches!(word, 2 | 4 | 8) && element_size.is_multiple_of(word);
        if element_size == 0 || !swap.is_none_or(is_word) {
            return Err(ErrorKind::Internal.into());
        }
        let mut copy = StridedCopy::default();
        copy.prepare(element_size, swap, axes)?;
        Ok(copy)
    }

    /// [`new`](Self::new), streaming if this one is.
    pub(crate) fn like(
        &self,
        element_size: usize,
        swap: Option<usize>,
        axes: impl Iterator<Item = Axis>,
    ) -> Result<Self> {
        let mut copy = StridedCopy { stream: self.stream, ..StridedCopy::default() };
        copy.prepare(element_size, swap, axes)?;
        Ok(copy)
    }

    /// Says whether what is written is too much to stay in the cache, so that it should not pass through it. To be said
    /// before preparing.
    pub(crate) fn set_streaming(&mut self, stream: bool) {
        self.stream = stream;
    }

    /// [`new`](Self::new), in place of what the copy was.
    #[inline]
    pub(crate) fn prepare(
        &mut self,
        element_size: usize,
        swap: Option<usize>,
        axes: impl Iterator<Item = Axis>,
    ) -> Result<()> {
        self.element_size = element_size;
        self.unit = swap.unwrap_or(element_size);
        self.axes.clear();
        self.source = Extent { low: 0, high: 0 };
        self.destination = self.source;
        if axes.size_hint().1 == Some(0) && self.unit == element_size {
            // A single element, of which many may be read one by one: nothing of what follows is needed.
            let extent = Extent { low: 0, high: element_size as isize };
            (self.source, self.destination) = (extent, extent);
            self.is_transposed = false;
            self.kernel = kernel::choose(element_size, swap.is_some(), false, None, false);
            return Ok(());
        }
        if let Some(word) = swap {
            let stride = word as isize;
            self.push(Axis { count: element_size / word, source: stride, destination: stride }, false)?;
        }
        for axis in axes {
            if axis.count != 1 {
                self.push(axis, swap.is_none())?;
            }
        }
        self.is_transposed = self.axes.len() > 1 && self.order_axes();
        self.kernel = kernel::choose(self.unit, swap.is_some(), self.is_transposed, self.axes.first(), self.stream);
        for extent in [&mut self.source, &mut self.destination] {
            extent.high = extent.high.saturating_add_unsigned(self.unit);
        }
        Ok(())
    }

    /// Adds an axis outside those that are there: into the unit or the outermost axis if it continues them.
    #[inline]
    fn push(&mut self, axis: Axis, grow_unit: bool) -> Result<()> {
        match axis.count {
            0 => return Err(ErrorKind::Internal.into()),
            1 => return Ok(()),
            _ => {}
        }
        let continues = |length: isize, other: isize| axis.source == length && axis.destination == other;
        match self.axes.last_mut() {
            None if grow_unit && continues(self.unit as isize, self.unit as isize) => {
                self.unit = self.unit.saturating_mul(axis.count);
                return Ok(());
            }
            Some(last)
                if last.count.checked_mul(axis.count).is_some()
                    && continues(times(last.source, last.count), times(last.destination, last.count)) =>
            {
                self.source.add_axis(axis.count, axis.source);
                self.destination.add_axis(axis.count, axis.destination);
                last.count *= axis.count;
                return Ok(());
            }
            _ => {}
        }
        self.source.add_axis(axis.count, axis.source);
        self.destination.add_axis(axis.count, axis.destination);
        self.axes.try_reserve(1).map_err(|_| ErrorKind::OutOfMemory)?;
        self.axes.push(axis);
        Ok(())
    }

    /// Puts the axis along which units are closest in the destination first. If in the source they are closest along another,
    /// says so and puts that one second, so that the two can be gone through in blocks.
    fn order_axes(&mut self) -> bool {
        let axes = self.axes.as_mut_slice();
        let closest = |axes: &[Axis], distance: fn(&Axis) -> isize| {
            axes.iter().enumerate().min_by_key(|(_, axis)| distance(axis).unsigned_abs()).map_or(0, |(i, _)| i)
        };
        let first = closest(axes, |axis| axis.destination);
        axes[..=first].rotate_right(1);
        let second = closest(axes, |axis| axis.source);
        let distance = |axis: Axis| axis.source.unsigned_abs();
        let is_transposed = second > 0 && axes[second].source != 0 && distance(axes[second]) < distance(axes[0]);
        if is_transposed {
            axes[1..=second].rotate_right(1);
        }
        is_transposed
    }

    /// Whether the box is one piece of exactly `bytes` bytes on both sides.
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

    /// Copies one box; its first element is at `source_offset` and `destination_offset`, in bytes.
    ///
    /// # Errors
    /// `Internal` if the box does not lie within both regions; nothing is copied then.
    pub fn run(
        &self,
        source: Source<'_>,
        source_offset: usize,
        destination: &mut Destination<'_>,
        destination_offset: usize,
    ) -> Result<()> {
        self.for_each_rows(source, source_offset, destination, destination_offset, |source, destination, rows| {
            // SAFETY: `for_each_rows` gives pointers to the beginning of rows that lie within both regions, which do not
            // overlap, because the destination is exclusive; the kernel was chosen for the unit.
            unsafe { (self.kernel)(source, destination, self.unit, rows) };
            Ok(())
        })?;
        if self.stream {
            kernel::fence();
        }
        Ok(())
    }

    /// Copies one box as [`run`](Self::run) does, but leaves the elements to a copier of the caller's: it is given the
    /// number of elements, which are contiguous on both sides, and where they are. The copy was prepared without a swap.
    pub fn run_with(
        &self,
        source: Source<'_>,
        source_offset: usize,
        destination: &mut Destination<'_>,
        destination_offset: usize,
        copier: &mut dyn FnMut(usize, *const u8, *mut u8) -> Result<()>,
    ) -> Result<()> {
        let elements = self.unit / self.element_size;
        self.for_each_rows(source, source_offset, destination, destination_offset, |source, destination, rows| {
            let mut result = Ok(());
            rows.for_each_unit(source, destination, |from, to| {
                if result.is_ok() {
                    result = copier(elements, from, to);
                }
            });
            result
        })
    }

    /// Checks the box and walks all of its axes but the two innermost, which are the rows'.
    #[inline]
    fn for_each_rows(
        &self,
        source: Source<'_>,
        source_offset: usize,
        destination: &mut Destination<'_>,
        destination_offset: usize,
        mut one: impl FnMut(*const u8, *mut u8, Rows) -> Result<()>,
    ) -> Result<()> {
        // Every byte the box reaches lies within the region it is in, because the extents are the sums over all axes of the
        // steps taken below.
        if !self.source.fits(source_offset, source.len())
            || !self.destination.fits(destination_offset, destination.len())
        {
            return Err(ErrorKind::Internal.into());
        }
        let mut source = source.pointer().wrapping_add(source_offset);
        let mut destination = destination.pointer().wrapping_add(destination_offset);
        if self.axes.is_empty() {
            return one(source, destination, Rows::ONE);
        }
        let axis = |i: usize| self.axes.get(i).copied().unwrap_or(Axis::ONE);
        let rows = Rows { row: axis(0), along: axis(1) };
        let outer = self.axes.get(2..).unwrap_or_default();
        if outer.is_empty() {
            return one(source, destination, rows);
        }
        let mut indices: Dims<usize> = Dims::new();
        dims::fill(&mut indices, outer.len(), 0)?;
        loop {
            one(source, destination, rows)?;
            let mut turned = false;
            for (index, axis) in indices.iter_mut().zip(outer) {
                *index += 1;
                if *index < axis.count {
                    source = source.wrapping_offset(axis.source);
                    destination = destination.wrapping_offset(axis.destination);
                    turned = true;
                    break;
                }
                *index = 0;
                let back = 1 - axis.count as isize;
                source = source.wrapping_offset(axis.source.wrapping_mul(back));
                destination = destination.wrapping_offset(axis.destination.wrapping_mul(back));
            }
            if !turned {
                return Ok(());
            }
        }
    }
}

/// The two innermost axes of a box: a row of units, and rows along another axis.
#[derive(Clone, Copy)]
struct Rows {
    row: Axis,
    along: Axis,
}

impl Rows {
    /// A single row, of a single unit.
    const ONE: Rows = Rows { row: Axis::ONE, along: Axis::ONE };

    /// Calls `one` with the beginning of each row.
    #[inline(always)]
    fn for_each(self, mut source: *const u8, mut destination: *mut u8, mut one: impl FnMut(*const u8, *mut u8)) {
        for _ in 0..self.along.count {
            one(source, destination);
            source = source.wrapping_offset(self.along.source);
            destination = destination.wrapping_offset(self.along.destination);
        }
    }

    /// Calls `one` with the beginning of each unit.
    #[inline(always)]
    fn for_each_unit(self, source: *const u8, destination: *mut u8, mut one: impl FnMut(*const u8, *mut u8)) {
        self.for_each(source, destination, |source, destination| {
            Rows { row: Axis::ONE, along: self.row }.for_each(source, destination, &mut one);
        });
    }
}

/// Reverses the bytes of every word of a buffer that was filled in one piece.
pub fn swap_in_place(bytes: &mut [u8], word: usize) {
    match word {
        2 => bytes.as_chunks_mut::<2>().0.iter_mut().for_each(|word| word.reverse()),
        4 => bytes.as_chunks_mut::<4>().0.iter_mut().for_each(|word| word.reverse()),
        8 => bytes.as_chunks_mut::<8>().0.iter_mut().for_each(|word| word.reverse()),
        _ => bytes.chunks_exact_mut(word).for_each(<[u8]>::reverse),
    }
}

fn times(stride: isize, count: usize) -> isize {
    stride.saturating_mul(isize::try_from(count).unwrap_or(isize::MAX))
}

#[cfg(test)]
mod tests;
