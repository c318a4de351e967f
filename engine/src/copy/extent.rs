//! How far a box reaches on one side.

/// The bytes that a box reaches on one side: so many before the beginning of its first element, and so many after it.
/// Lengths that overflow saturate; such a box fits nowhere.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    before: usize,
    after: usize,
}

impl Extent {
    /// The extent of a box that fits nowhere.
    pub(super) const UNBOUNDED: Extent = Extent { before: 0, after: usize::MAX };

    /// The extent of a single element.
    #[inline]
    pub(super) fn of_element(size: usize) -> Self {
        Extent { before: 0, after: size }
    }

    /// Adds an axis of `count` positions (at least 1) at this distance.
    #[inline]
    pub(super) fn add_axis(&mut self, count: usize, distance: isize) {
        let reach = distance.unsigned_abs().saturating_mul(count - 1);
        let side = if distance < 0 { &mut self.before } else { &mut self.after };
        *side = side.saturating_add(reach);
    }

    /// Whether the box lies within `len` bytes when its first element is at `offset`.
    #[inline]
    pub(super) fn fits(&self, offset: usize, len: usize) -> bool {
        self.before <= offset && len.checked_sub(offset).is_some_and(|rest| self.after <= rest)
    }

    /// The first byte and the byte after the last, relative to the beginning of the first element.
    #[inline]
    pub(super) fn range(&self) -> (isize, isize) {
        (0isize.saturating_sub_unsigned(self.before), 0isize.saturating_add_unsigned(self.after))
    }
}
