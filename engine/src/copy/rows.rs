//! What kernels work on: rows of units, and the words that units may be.
//!
//! A *unit* is a run of bytes that is contiguous on both sides. A *row* is a sequence of units at a constant
//! distance, and a kernel copies a sequence of rows, again at a constant distance ([`Rows`]). Distances are in bytes,
//! differ between the two sides, and may be negative or 0.

/// Bytes of a cache line.
pub const LINE: usize = 64;

/// One axis of a box: how many steps it has, and the distance in bytes between neighbours on either side.
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
    /// An axis of length 1.
    pub(super) const ONE: Axis = Axis { count: 1, source: 0, destination: 0 };

    /// The addresses of the i-th position along the axis, given those of the first.
    #[inline(always)]
    pub(super) fn at(&self, source: *const u8, destination: *mut u8, i: usize) -> (*const u8, *mut u8) {
        let i = i as isize;
        (
            source.wrapping_offset(i.wrapping_mul(self.source)),
            destination.wrapping_offset(i.wrapping_mul(self.destination)),
        )
    }

    /// The same axis with another length.
    #[inline(always)]
    pub(super) fn with_count(self, count: usize) -> Self {
        Axis { count, ..self }
    }

    /// The same axis for a copy in the opposite direction.
    #[must_use]
    #[inline]
    pub fn reversed(self) -> Self {
        Axis { count: self.count, source: self.destination, destination: self.source }
    }
}

/// The two innermost axes of a box: `row` leads from unit to unit, `along` from row to row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rows {
    pub(super) row: Axis,
    pub(super) along: Axis,
}

impl Rows {
    /// A single unit.
    pub(super) const ONE: Rows = Rows { row: Axis::ONE, along: Axis::ONE };

    /// Calls `visit` with the first addresses of each row.
    #[inline(always)]
    pub(super) fn for_each_row(
        &self,
        mut source: *const u8,
        mut destination: *mut u8,
        mut visit: impl FnMut(*const u8, *mut u8),
    ) {
        for _ in 0..self.along.count {
            visit(source, destination);
            source = source.wrapping_offset(self.along.source);
            destination = destination.wrapping_offset(self.along.destination);
        }
    }

    /// Calls `visit` with the addresses of each unit.
    #[inline(always)]
    pub(super) fn for_each_unit(
        &self,
        source: *const u8,
        destination: *mut u8,
        mut visit: impl FnMut(*const u8, *mut u8),
    ) {
        self.for_each_row(source, destination, |source, destination| {
            Rows { row: Axis::ONE, along: self.row }.for_each_row(source, destination, &mut visit);
        });
    }

    /// Divides the rows into blocks of at most `units` units of at most `rows` rows, and calls `visit` with each.
    #[inline(always)]
    pub(super) fn for_each_block(
        &self,
        source: *const u8,
        destination: *mut u8,
        [units, rows]: [usize; 2],
        mut visit: impl FnMut(*const u8, *mut u8, &Rows),
    ) {
        for i in (0..self.row.count).step_by(units) {
            let (source, destination) = self.row.at(source, destination, i);
            let row = self.row.with_count(units.min(self.row.count - i));
            for j in (0..self.along.count).step_by(rows) {
                let (source, destination) = self.along.at(source, destination, j);
                let along = self.along.with_count(rows.min(self.along.count - j));
                visit(source, destination, &Rows { row, along });
            }
        }
    }
}

/// Copies rows of units of `unit` bytes.
///
/// # Safety
/// Every unit of the source is readable and initialised, every unit of the destination is writable, and no unit of
/// one side overlaps a unit of the other. `unit` and `rows` are as in the [`Shape`] that the kernel was chosen for;
/// any length of the rows and any number of rows may be reduced, also to 0.
pub(super) type Kernel = unsafe fn(source: *const u8, destination: *mut u8, unit: usize, rows: &Rows);

/// How much the transfer writes that a copy is a part of, as far as the processor's caches are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Volume {
    /// It may all be in the caches.
    Small,
    /// It is more than the nearest caches hold, and worth being prefetched.
    Large,
    /// It is more than stays in any cache, so kernels use non-temporal stores, which a [`Fence`](super::Fence) has to
    /// order before others learn what was written.
    Streaming,
}

impl Volume {
    /// Whether kernels use non-temporal stores.
    #[inline]
    pub(crate) fn streams(self) -> bool {
        self == Volume::Streaming
    }
}

/// What the choice of a kernel depends on.
#[derive(Clone, Copy)]
pub(super) struct Shape<'a> {
    /// Bytes of a unit.
    pub(super) unit: usize,
    /// Whether a unit is a word whose bytes are to be reversed. The unit is then of 2, 4 or 8 bytes.
    pub(super) swap: bool,
    /// The axis from unit to unit; `None` if there is one unit in all.
    pub(super) row: Option<&'a Axis>,
    /// Whether units are closest along the row in the destination, but across the rows in the source.
    pub(super) is_transposed: bool,
    /// How much the transfer writes.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "other processors have no kernels for it"))]
    pub(super) volume: Volume,
}

impl Shape<'_> {
    /// How many words a row has, if it is a short run of words that are to be swapped. Usually these are the words of
    /// one element; without the swap, they would be one unit.
    pub(super) fn words_of_element(&self) -> Option<usize> {
        let size = self.unit as isize;
        let row = self.row?;
        let is_element = self.swap && row.source == size && row.destination == size && (2..=4).contains(&row.count);
        (is_element && !self.is_transposed).then_some(row.count)
    }
}

/// A unit that is moved as one value.
pub(super) trait Word: Copy {
    /// Whether compilers vectorise loops over such words. Only then are loops for particular strides worth their code.
    const IS_VECTORISED: bool;

    /// The word with its bytes in the opposite order.
    fn swapped(self) -> Self;
}

macro_rules! integers {
    ($($word:ty),*) => {
        $(impl Word for $word {
            const IS_VECTORISED: bool = true;

            #[inline(always)]
            fn swapped(self) -> Self {
                self.swap_bytes()
            }
        })*
    };
}

integers!(u8, u16, u32, u64);

/// Several words side by side, each of which is swapped by itself.
impl<W: Word, const COUNT: usize> Word for [W; COUNT] {
    const IS_VECTORISED: bool = false;

    #[inline(always)]
    fn swapped(self) -> Self {
        self.map(W::swapped)
    }
}

/// The word, swapped if `SWAP`.
#[inline(always)]
pub(super) fn maybe_swapped<W: Word, const SWAP: bool>(word: W) -> W {
    if SWAP { word.swapped() } else { word }
}
