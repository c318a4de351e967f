//! Walking an n-dimensional box in row-major order, as netCDF-C's `nczodom_*` do.
//!
//! Wheel `d` runs through `start[d], start[d] + stride[d], ...` below `stop[d]`; the last wheel turns fastest. Where
//! netCDF-C looks only at the first wheel, an odometer here is at its end as soon as any wheel is empty, and one
//! without wheels has one position.

use crate::dims::{self, Dims};
use crate::error::{ErrorKind, Result};

#[derive(Debug, Clone, Copy)]
struct Wheel {
    start: usize,
    stop: usize,
    stride: usize,
    len: usize,
}

/// A position in an n-dimensional box.
#[derive(Debug, Clone)]
pub struct Odometer {
    wheels: Dims<Wheel>,
    indices: Dims<usize>,
    more: bool,
}

impl Odometer {
    /// An odometer at its first position. The arguments have one entry per wheel; `len` is the extent of the array that
    /// [`offset`](Self::offset) counts in.
    ///
    /// # Errors
    /// `Argument` for lists of different lengths, `Stride` for a stride of 0, `Start` for a start beyond its stop,
    /// `Edge` for a last position that does not lie below `len`.
    pub fn new(start: &[usize], stop: &[usize], stride: &[usize], len: &[usize]) -> Result<Self> {
        let rank = start.len();
        if [stop.len(), stride.len(), len.len()] != [rank; 3] {
            return Err(ErrorKind::Argument("start, stop, stride and len must have the same number of entries").into());
        }
        let wheels = (0..rank).map(|d| {
            let wheel = Wheel { start: start[d], stop: stop[d], stride: stride[d], len: len[d] };
            wheel.check().map_err(|e| e.in_dimension(d))?;
            Ok(wheel)
        });
        let (wheels, indices) = (dims::try_collect(rank, wheels)?, dims::copied(start.iter().copied())?);
        let mut odometer = Odometer { wheels, indices, more: false };
        odometer.reset();
        Ok(odometer)
    }

    /// Back to the first position.
    pub fn reset(&mut self) {
        for (index, wheel) in self.indices.iter_mut().zip(&self.wheels) {
            *index = wheel.start;
        }
        self.more = self.wheels.iter().all(|wheel| wheel.start < wheel.stop);
    }

    /// Whether there is a current position; false once the last one is passed.
    pub fn more(&self) -> bool {
        self.more
    }

    /// Moves to the next position. Past the end it does nothing.
    pub fn advance(&mut self) {
        if !self.more {
            return;
        }
        for (d, wheel) in self.wheels.iter().enumerate().rev() {
            let index = &mut self.indices[d];
            *index = index.saturating_add(wheel.stride);
            if *index < wheel.stop {
                return;
            }
            // The first wheel stays beyond its stop, as netCDF-C leaves it.
            if d > 0 {
                *index = wheel.start;
            }
        }
        self.more = false;
    }

    /// The current position, one index per wheel.
    pub fn indices(&self) -> &[usize] {
        &self.indices
    }

    /// The current position's row-major offset in an array of the extents `len`, in elements; `usize::MAX` if it is
    /// more than a `usize` holds.
    pub fn offset(&self) -> usize {
        let wheels = self.wheels.iter().zip(&self.indices);
        wheels.fold(0, |offset: usize, (wheel, &index)| offset.saturating_mul(wheel.len).saturating_add(index))
    }

    /// The length of a row: `stop - start` of the last wheel. With a stride of 1 that is the number of positions in a
    /// row. Without wheels, 1.
    pub fn avail(&self) -> usize {
        self.wheels.last().map_or(1, |wheel| wheel.stop - wheel.start)
    }

    /// Skips the rest of the row: the last wheel is set to its stop, and the next [`advance`](Self::advance) starts
    /// the following row.
    pub fn skip_avail(&mut self) {
        let Some(wheel) = self.wheels.last() else { return };
        let last = self.wheels.len() - 1;
        self.indices[last] = wheel.stop;
        if last == 0 {
            self.more = false;
        }
    }
}

impl Wheel {
    fn check(&self) -> Result<()> {
        if self.stride == 0 {
            return Err(ErrorKind::Stride(0).into());
        }
        if self.start > self.stop {
            return Err(ErrorKind::Start { start: self.start, dimlen: self.stop }.into());
        }
        if let Some(reach) = (self.stop - self.start).checked_sub(1) {
            let turns = reach / self.stride;
            if self.start + turns * self.stride >= self.len {
                let stride = isize::try_from(self.stride).unwrap_or(isize::MAX);
                return Err(ErrorKind::Edge { start: self.start, count: turns + 1, stride, dimlen: self.len }.into());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An odometer over the positions `0..counts[d]`.
    fn over<const N: usize>(counts: [usize; N]) -> Odometer {
        Odometer::new(&[0; N], &counts, &[1; N], &counts).unwrap()
    }

    fn positions(mut odometer: Odometer) -> Vec<(Vec<usize>, usize)> {
        let mut seen = Vec::new();
        while odometer.more() {
            seen.push((odometer.indices().to_vec(), odometer.offset()));
            odometer.advance();
        }
        seen
    }

    #[test]
    fn the_last_wheel_turns_fastest() {
        let odometer = Odometer::new(&[1, 0], &[3, 5], &[1, 3], &[4, 6]).unwrap();
        let expected = [([1, 0], 6), ([1, 3], 9), ([2, 0], 12), ([2, 3], 15)];
        assert_eq!(positions(odometer), expected.map(|(indices, offset)| (indices.to_vec(), offset)));
    }

    #[test]
    fn any_empty_wheel_ends_it_and_no_wheel_is_one_position() {
        for empty in 0..3 {
            let mut counts = [2; 3];
            counts[empty] = 0;
            assert_eq!(positions(over(counts)), []);
        }
        assert_eq!(positions(Odometer::new(&[], &[], &[], &[]).unwrap()), [(vec![], 0)]);
    }

    #[test]
    fn a_row_can_be_skipped() {
        let mut odometer = over([2, 3]);
        assert_eq!(odometer.avail(), 3);
        odometer.skip_avail();
        odometer.advance();
        assert_eq!(odometer.indices(), [1, 0]);
        odometer.skip_avail();
        odometer.advance();
        assert!(!odometer.more());
        odometer.reset();
        assert_eq!((odometer.indices(), odometer.more()), ([0, 0].as_slice(), true));
    }

    #[test]
    fn the_largest_numbers_do_not_overflow() {
        let max = usize::MAX;
        let mut odometer = Odometer::new(&[max - 1], &[max], &[max], &[max]).unwrap();
        assert!(odometer.more());
        odometer.advance();
        assert!(!odometer.more());
        let odometer = over([max, max]);
        assert!(odometer.more());
    }

    #[test]
    fn lists_of_different_lengths_are_refused() {
        for lens in [[1, 2, 2, 2], [2, 1, 2, 2], [2, 2, 1, 2], [2, 2, 2, 1]] {
            let [start, stop, stride, len] = lens.map(|len| &[1, 1][..len]);
            let error = Odometer::new(start, stop, stride, len).unwrap_err();
            assert_eq!(error.to_string(), "start, stop, stride and len must have the same number of entries");
        }
    }
}
