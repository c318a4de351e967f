//! The ranges of bytes of a chunk that hold what is needed of it.

use crate::copy::Axis;
use crate::dims::{self, Dims};
use crate::error::Result;

/// A box of a chunk as ranges of bytes, all of the same length: its outer axes step from range to range, and its inner
/// ones stay within one.
pub(super) struct Ranges {
    /// The length of a range in bytes.
    pub len: usize,
    /// The box's axes, innermost first.
    axes: Dims<Axis>,
    /// How many of them stay within a range.
    num_inner: usize,
}

impl Ranges {
    /// Divides a box wherever at least `gap` bytes lie between what is needed.
    pub(super) fn new(axes: &[Axis], element_size: usize, gap: usize) -> Result<Self> {
        let mut axes = dims::copied(axes.iter().copied())?;
        axes.retain(|axis| axis.count > 1);
        axes.sort_unstable_by_key(|axis| axis.source);
        let (mut len, mut num_inner) = (element_size, 0);
        for axis in &axes {
            // Along a chunk's axes no stride is negative, and each steps over all that the smaller ones reach.
            let stride = axis.source.unsigned_abs();
            if stride.saturating_sub(len) >= gap.max(1) {
                break;
            }
            len += (axis.count - 1) * stride;
            num_inner += 1;
        }
        Ok(Ranges { len, axes, num_inner })
    }

    /// The axes that stay within a range.
    pub(super) fn inner(&self) -> impl ExactSizeIterator<Item = Axis> {
        self.axes[..self.num_inner].iter().copied()
    }

    /// The axes that step from range to range.
    fn outer(&self) -> &[Axis] {
        &self.axes[self.num_inner..]
    }

    /// Whether all bytes of a range are needed, and in memory in the order they have in the chunk.
    pub(super) fn land_whole(&self, element_size: usize) -> bool {
        let mut len = Some(element_size);
        for axis in self.inner() {
            let follows = axis.source == axis.destination && len == Some(axis.source.unsigned_abs());
            len = len.filter(|_| follows).and_then(|len| len.checked_mul(axis.count));
        }
        len == Some(self.len)
    }

    /// How many ranges there are.
    pub(super) fn count(&self) -> usize {
        // They are elements of one chunk, or fewer.
        self.outer().iter().map(|axis| axis.count).product()
    }

    /// The distance of a range from the first one, in the chunk and in memory.
    pub(super) fn at(&self, mut number: usize) -> (isize, isize) {
        let (mut in_chunk, mut in_memory) = (0isize, 0isize);
        for axis in self.outer() {
            let index = (number % axis.count) as isize;
            number /= axis.count;
            in_chunk += index * axis.source;
            in_memory = in_memory.wrapping_add(index.wrapping_mul(axis.destination));
        }
        (in_chunk, in_memory)
    }

    /// Calls `one` with the distance of each range from the first one, in the chunk and in memory, until it says that
    /// the chunk is absent; tells whether it did.
    pub(super) fn for_each(&self, mut one: impl FnMut(isize, isize) -> Result<bool>) -> Result<bool> {
        let mut indices: Dims<usize> = Dims::new();
        dims::fill(&mut indices, self.outer().len(), 0)?;
        let (mut in_chunk, mut in_memory) = (0isize, 0isize);
        loop {
            if !one(in_chunk, in_memory)? {
                return Ok(true);
            }
            let mut has_next = false;
            for (index, axis) in indices.iter_mut().zip(self.outer()) {
                let steps = if *index + 1 < axis.count { 1 } else { -(*index as isize) };
                *index = index.wrapping_add_signed(steps);
                in_chunk += steps * axis.source;
                in_memory = in_memory.wrapping_add(steps.wrapping_mul(axis.destination));
                if steps == 1 {
                    has_next = true;
                    break;
                }
            }
            if !has_next {
                return Ok(false);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(count: usize, source: isize) -> Axis {
        Axis { count, source, destination: 0 }
    }

    #[test]
    fn a_box_is_divided_where_the_gaps_are_wide() {
        // 10 planes of 20 rows of 30 elements of 4 bytes, each row 30 bytes of a chunk with 1000 bytes a row.
        let axes = [axis(10, 100_000), axis(1, 0), axis(20, 1000), axis(30, 4)];
        let ranges = |gap| {
            let ranges = Ranges::new(&axes, 4, gap).unwrap();
            let mut offsets = Vec::new();
            ranges
                .for_each(|offset, _| {
                    offsets.push(offset);
                    Ok(true)
                })
                .unwrap();
            let one_by_one: Vec<isize> = (0..ranges.count()).map(|number| ranges.at(number).0).collect();
            assert_eq!(one_by_one, offsets);
            (ranges.len, offsets.len(), offsets.last().copied())
        };
        assert_eq!(ranges(0), (120, 200, Some(9 * 100_000 + 19 * 1000)));
        assert_eq!(ranges(880), (120, 200, Some(9 * 100_000 + 19 * 1000)));
        assert_eq!(ranges(881), (19 * 1000 + 120, 10, Some(9 * 100_000)));
        assert_eq!(ranges(100_000), (9 * 100_000 + 19 * 1000 + 120, 1, Some(0)));
    }

    #[test]
    fn ranges_land_whole_where_memory_has_the_same_order_without_gaps() {
        let land_whole = |row: (isize, isize), plane: (isize, isize), gap| {
            let axis = |count, (source, destination)| Axis { count, source, destination };
            Ranges::new(&[axis(5, plane), axis(3, row)], 4, gap).unwrap().land_whole(4)
        };
        assert!(land_whole((4, 4), (12, 12), 1) && land_whole((20, 20), (4, 4), 1));
        // Each row is a range.
        assert!(land_whole((4, 4), (100, 500), 1) && land_whole((4, 4), (100, -12), 1));
        // Each element is one.
        assert!(land_whole((8, -40), (100, 4), 1));
        assert!(!land_whole((4, 4), (100, 12), 1000) && !land_whole((4, 4), (12, 100), 1));
        assert!(!land_whole((8, 4), (100, 12), 10) && !land_whole((4, 8), (100, 12), 1));
        assert!(!land_whole((4, -4), (12, 12), 1));
    }
}
